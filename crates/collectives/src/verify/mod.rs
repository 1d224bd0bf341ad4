//! Whether a schedule is right, by code that shares nothing with the compiler but the form of the file.
//!
//! Every range of bytes is sent to each rank exactly once, or each rank's part is added exactly once; transfers happen in
//! an order in which they can; paths are links that follow each other; the rates and times are what the links allow; and
//! the cut of the bound is counted again, link by link.

mod blocks;
mod exchange;
mod movement;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::CollectiveError;
use crate::fabric::{Fabric, InNetwork};
use crate::schedule::{Collective, Operation, Schedule, Stage, Transfer, Tree};
use movement::Kinds;

/// Figures that were computed in another order may differ by this part.
const TOLERANCE: f64 = 1e-9;

/// Checks everything that a schedule says.
///
/// # Errors
/// With the first rule that is broken.
pub fn verify(schedule: &Schedule) -> Result<(), CollectiveError> {
    schedule.fabric.check()?;
    let ranks = schedule.fabric.ranks.len();
    let expect = |holds: bool, what: String| if holds { Ok(()) } else { Err(CollectiveError::new(what)) };
    expect(ranks >= 2, format!("the group has {ranks} ranks, expected two or more"))?;
    let element = schedule.element_bytes;
    expect(
        element > 0 && schedule.bytes > 0 && schedule.bytes.is_multiple_of(element),
        format!("{} bytes are no whole elements of {element} bytes", schedule.bytes),
    )?;
    let roots: Vec<usize> = match (schedule.collective, schedule.root) {
        (Collective::Broadcast | Collective::Reduce, Some(root)) if root < ranks => vec![root],
        (Collective::Broadcast | Collective::Reduce, root) => {
            return Err(CollectiveError::new(format!("the root is {root:?}, expected one of {ranks} ranks")));
        }
        (_, None) => (0..ranks).collect(),
        (collective, Some(root)) => {
            return Err(CollectiveError::new(format!("{} has no root, found {root}", collective.name())));
        }
    };
    let has_blocks = schedule.collective == Collective::AllToAll;
    expect(schedule.blocks.is_none() || has_blocks, "lengths of blocks are of an all-to-all".into())?;
    if let Some(exchange) = &schedule.exchange {
        expect(schedule.stages.is_empty(), "it has stages of trees and an exchange, expected one of both".into())?;
        return exchange::check(schedule, exchange);
    }
    let stages = match schedule.collective {
        Collective::Allgather | Collective::Broadcast | Collective::AllToAll => vec![Operation::Copy],
        Collective::ReduceScatter | Collective::Reduce => vec![Operation::Reduce],
        Collective::Allreduce => vec![Operation::Reduce, Operation::Copy],
    };
    let operations: Vec<Operation> = schedule.stages.iter().map(|stage| stage.operation).collect();
    let is_both = schedule.collective == Collective::Allreduce && operations == [Operation::ReduceBroadcast];
    expect(operations == stages || is_both, format!("the stages are {operations:?}, expected {stages:?}"))?;
    schedule.stages.iter().enumerate().try_for_each(|(number, stage)| {
        let fabric = &schedule.fabric;
        let checker = Checker { schedule, fabric, stage, roots: &roots, paths: Paths::of(fabric), kinds: None };
        checker
            .with_kinds()
            .and_then(|checker| checker.check())
            .map_err(|error| CollectiveError::new(format!("stage {number}: {error}")))
    })
}

/// Sender and receiver of a merged message.
type Pair = (usize, usize);

struct Checker<'a> {
    schedule: &'a Schedule,
    fabric: &'a Fabric,
    stage: &'a Stage,
    roots: &'a [usize],
    paths: Paths<'a>,
    /// Where the trees of rank 0 stand for those of all, the kinds of links.
    kinds: Option<Kinds>,
}

/// What paths may be on a network.
struct Paths<'a> {
    fabric: &'a Fabric,
    is_rank: Vec<bool>,
}

impl<'a> Paths<'a> {
    fn of(fabric: &'a Fabric) -> Paths<'a> {
        let mut is_rank = vec![false; fabric.vertices.len()];
        fabric.ranks.iter().for_each(|&vertex| is_rank[vertex] = true);
        Paths { fabric, is_rank }
    }

    /// The links lead from one rank to the other and through no third.
    fn check(&self, from: usize, to: usize, links: &[u32]) -> Result<(), String> {
        match (self.fabric.ranks.get(from), self.fabric.ranks.get(to)) {
            (Some(&start), Some(&end)) => self.check_links(start, end, to, links),
            _ => Err(format!("from rank {from} to rank {to}, which there are not both")),
        }
    }

    /// As [`Paths::check`], where switches that copy or add may be at both ends.
    fn check_of_members(&self, from: usize, to: usize, links: &[u32]) -> Result<(), String> {
        let ranks = self.fabric.ranks.len();
        let vertex = |member: usize| match member.checked_sub(ranks) {
            None => Some(self.fabric.ranks[member]),
            Some(switch) => self.fabric.in_network.get(switch).map(|switch| switch.vertex),
        };
        match (vertex(from), vertex(to)) {
            (Some(start), Some(end)) => self.check_links(start, end, to, links),
            _ => Err(format!("from rank {from} to rank {to}, which there are not both")),
        }
    }

    fn check_links(&self, start: usize, end: usize, to: usize, links: &[u32]) -> Result<(), String> {
        let mut at = start;
        for (position, &number) in links.iter().enumerate() {
            let Some(link) = self.fabric.links.get(number as usize) else {
                return Err(format!("there is no link {number}"));
            };
            if link.from != at {
                return Err(format!(
                    "link {number} starts at '{}', not '{}'",
                    self.fabric.vertices[link.from], self.fabric.vertices[at]
                ));
            }
            at = link.to;
            if position + 1 < links.len() && !self.fabric.forwards && self.is_rank[at] {
                return Err(format!("it passes through the rank on '{}'", self.fabric.vertices[at]));
            }
        }
        if links.is_empty() || at != end {
            return Err(format!("its links do not lead to rank {to}"));
        }
        Ok(())
    }
}

impl Checker<'_> {
    /// With the kinds of links, where trees are moved: those of rank 0 are written, and no messages are merged.
    fn with_kinds(self) -> Result<Self, CollectiveError> {
        let Some(extents) = &self.stage.translated else { return Ok(self) };
        let wrong = |what: &str| Err(CollectiveError::new(format!("its trees are moved to all ranks, {what}")));
        if self.stage.merged {
            return wrong("so its messages cannot be merged");
        }
        if self.roots.len() != self.fabric.ranks.len() {
            return wrong("but not all ranks are roots");
        }
        if let Some(tree) = self.stage.trees.iter().find(|tree| tree.root != 0) {
            return wrong(&format!("so those of rank 0 are written; one has root {}", tree.root));
        }
        match Kinds::of(self.fabric, extents) {
            Ok(kinds) => Ok(Checker { kinds: Some(kinds), ..self }),
            Err(what) => wrong(&what),
        }
    }

    /// The roots whose trees are written.
    fn written_roots(&self) -> &[usize] {
        if self.kinds.is_some() { &self.roots[..1] } else { self.roots }
    }

    /// What trees put on links, with all that those stand for that are written.
    fn with_movements<T: std::iter::Sum<T> + Copy>(&self, written: Vec<T>) -> Vec<T> {
        match &self.kinds {
            Some(kinds) => kinds.spread(&written),
            None => written,
        }
    }

    fn check(&self) -> Result<(), CollectiveError> {
        if self.stage.chunks == 0 || self.stage.parts <= 0 {
            return Err(CollectiveError::new("expected chunks and parts above 0"));
        }
        if self.is_both() && (self.stage.merged || self.kinds.is_some()) {
            return Err(CollectiveError::new("trees that reduce and copy are neither merged nor moved"));
        }
        if self.is_of_blocks() {
            if self.kinds.is_some() {
                return Err(CollectiveError::new("the paths of blocks are not moved to other ranks"));
            }
            blocks::check(self.schedule, self.stage, &self.paths)?;
            self.check_rate()?;
            return self.check_seconds();
        }
        if self.stage.form.is_some() || !self.stage.bound.prices.is_empty() {
            return Err(CollectiveError::new("a form and prices are of an all-to-all"));
        }
        for (number, tree) in self.stage.trees.iter().enumerate() {
            self.check_tree(tree).map_err(|error| CollectiveError::new(format!("tree {number}: {error}")))?;
        }
        self.check_ranges()?;
        self.check_rate()?;
        self.check_bound()?;
        self.check_seconds()
    }

    /// Whether its trees are paths of blocks.
    fn is_of_blocks(&self) -> bool {
        self.schedule.collective == Collective::AllToAll
    }

    /// Whether trees reduce and copy at the same time.
    fn is_both(&self) -> bool {
        self.stage.operation == Operation::ReduceBroadcast
    }

    fn check_tree(&self, tree: &Tree) -> Result<(), CollectiveError> {
        let wrong = |what: String| Err(CollectiveError::new(what));
        let members = self.fabric.ranks.len() + self.fabric.in_network.len();
        let last = if self.is_both() { members } else { self.fabric.ranks.len() };
        if tree.root >= last || tree.weight <= 0 {
            return wrong(format!("root {} and weight {}: no such rank or nothing to send", tree.root, tree.weight));
        }
        for (number, transfer) in tree.transfers.iter().enumerate() {
            // Switches take part piece by piece, and are not moved to others.
            let has_switches = !self.stage.merged && self.kinds.is_none();
            let check = if has_switches { Paths::check_of_members } else { Paths::check };
            if let Err(what) = check(&self.paths, transfer.0, transfer.1, &transfer.2) {
                return wrong(format!("transfer {number}: {what}"));
            }
        }
        if tree.reductions.is_some_and(|count| !self.is_both() || count > tree.transfers.len()) {
            return wrong("it says how many of its transfers reduce, which it cannot have or need not say".into());
        }
        match self.stage.operation {
            Operation::Copy => self.check_copies(tree.root, &tree.transfers),
            Operation::Reduce => self.check_sums(tree.root, &tree.transfers),
            Operation::ReduceBroadcast => {
                let (there, back) = tree.transfers.split_at(self.reductions(tree));
                self.check_sums(tree.root, there)?;
                self.check_copies(tree.root, back).map_err(|error| CollectiveError::new(format!("back: {error}")))
            }
        }
    }

    /// Who can neither copy nor add may not be sent what it would have to.
    fn check_switch(
        &self,
        member: usize,
        number: usize,
        is_able: fn(&InNetwork) -> bool,
    ) -> Result<(), CollectiveError> {
        match member.checked_sub(self.fabric.ranks.len()).map(|switch| &self.fabric.in_network[switch]) {
            Some(switch) if !is_able(switch) => {
                let name = &self.fabric.vertices[switch.vertex];
                Err(CollectiveError::new(format!("transfer {number}: '{name}' cannot do what it is to do")))
            }
            _ => Ok(()),
        }
    }

    fn check_copies(&self, root: usize, transfers: &[Transfer]) -> Result<(), CollectiveError> {
        let ranks = self.fabric.ranks.len();
        let mut has = vec![false; ranks + self.fabric.in_network.len()];
        let mut sends = has.clone();
        has[root] = true;
        for (number, transfer) in transfers.iter().enumerate() {
            self.check_switch(transfer.0, number, |switch| switch.multicast)?;
            if !has[transfer.0] {
                let what = format!("transfer {number}: rank {} sends what it does not have yet", transfer.0);
                return Err(CollectiveError::new(what));
            }
            if has[transfer.1] {
                let what = format!("transfer {number}: rank {} receives what it has already", transfer.1);
                return Err(CollectiveError::new(what));
            }
            has[transfer.1] = true;
            sends[transfer.0] = true;
        }
        if let Some(switch) = (ranks..has.len()).find(|&member| has[member] && !sends[member]) {
            let name = &self.fabric.vertices[self.fabric.in_network[switch - ranks].vertex];
            return Err(CollectiveError::new(format!("'{name}' has it and sends it to nobody")));
        }
        match has[..ranks].iter().position(|&has| !has) {
            Some(rank) => Err(CollectiveError::new(format!("rank {rank} never receives it"))),
            None => Ok(()),
        }
    }

    fn check_sums(&self, root: usize, transfers: &[Transfer]) -> Result<(), CollectiveError> {
        let ranks = self.fabric.ranks.len();
        let mut summed = vec![1usize; ranks];
        summed.resize(ranks + self.fabric.in_network.len(), 0);
        let mut has_sent = vec![false; summed.len()];
        for (number, transfer) in transfers.iter().enumerate() {
            let wrong = |what: String| Err(CollectiveError::new(format!("transfer {number}: {what}")));
            self.check_switch(transfer.1, number, |switch| switch.reduction)?;
            if has_sent[transfer.0] || transfer.0 == root {
                return wrong(format!("rank {} sends its sum a second time, or is the root", transfer.0));
            }
            if has_sent[transfer.1] || transfer.0 == transfer.1 {
                return wrong(format!("rank {} receives after it has sent its sum", transfer.1));
            }
            if summed[transfer.0] == 0 {
                return wrong(format!("member {} sends a sum of nothing", transfer.0));
            }
            has_sent[transfer.0] = true;
            summed[transfer.1] += summed[transfer.0];
        }
        if summed[root] != self.fabric.ranks.len() {
            let (count, ranks) = (summed[root], self.fabric.ranks.len());
            return Err(CollectiveError::new(format!("the root's sum is of {count} ranks, expected all {ranks}")));
        }
        Ok(())
    }

    /// The trees of each root divide its bytes without a gap and in proportion to their weights.
    fn check_ranges(&self) -> Result<(), CollectiveError> {
        if self.is_both() {
            return self.check_ranges_of_buffer();
        }
        let element = self.schedule.element_bytes;
        let elements = self.schedule.bytes / element;
        let count = self.roots.len() as u64;
        let mut start = 0;
        for (index, &root) in self.written_roots().iter().enumerate() {
            let bytes = (elements / count + u64::from((index as u64) < elements % count)) * element;
            let mut trees: Vec<&Tree> = self.stage.trees.iter().filter(|tree| tree.root == root).collect();
            trees.sort_by_key(|tree| (tree.start, tree.bytes));
            let mut at = start;
            for tree in &trees {
                let fair = bytes as f64 * tree.weight as f64 / self.stage.parts as f64;
                let is_even = (tree.bytes as f64 - fair).abs() <= element as f64 * (1.0 + TOLERANCE);
                if tree.start != at || !is_even || !tree.bytes.is_multiple_of(element) {
                    return Err(CollectiveError::new(format!(
                        "root {root}: a tree has the {} bytes from {}, expected some {fair:.0} from {at}",
                        tree.bytes, tree.start
                    )));
                }
                at += tree.bytes;
            }
            let weights: i128 = trees.iter().map(|tree| i128::from(tree.weight)).sum();
            if at != start + bytes || weights != i128::from(self.stage.parts) {
                return Err(CollectiveError::new(format!(
                    "root {root}: its trees have {} of {bytes} bytes and {weights} of {} parts",
                    at - start,
                    self.stage.parts
                )));
            }
            start += bytes;
        }
        match self.stage.trees.iter().find(|tree| !self.roots.contains(&tree.root)) {
            Some(tree) => Err(CollectiveError::new(format!("rank {} has a tree and is no root", tree.root))),
            None => Ok(()),
        }
    }

    /// As [`Checker::check_ranges`], of the whole buffer, whoever has the roots.
    fn check_ranges_of_buffer(&self) -> Result<(), CollectiveError> {
        let (bytes, element) = (self.schedule.bytes, self.schedule.element_bytes);
        let mut trees: Vec<&Tree> = self.stage.trees.iter().collect();
        trees.sort_by_key(|tree| (tree.start, tree.bytes));
        let (mut at, mut weights) = (0, 0i128);
        for tree in trees {
            let fair = bytes as f64 * tree.weight as f64 / self.stage.parts as f64;
            let is_even = (tree.bytes as f64 - fair).abs() <= element as f64 * (1.0 + TOLERANCE);
            if tree.start != at || !is_even || !tree.bytes.is_multiple_of(element) || tree.bytes > bytes - at {
                return Err(CollectiveError::new(format!(
                    "a tree has the {} bytes from {}, expected some {fair:.0} from {at}",
                    tree.bytes, tree.start
                )));
            }
            at += tree.bytes;
            weights += i128::from(tree.weight);
        }
        if at != bytes || weights != i128::from(self.stage.parts) {
            let parts = self.stage.parts;
            return Err(CollectiveError::new(format!(
                "its trees have {at} of {bytes} bytes and {weights} of {parts} parts"
            )));
        }
        Ok(())
    }

    /// No link has more than its bandwidth at the rate that is claimed, and one is full.
    fn check_rate(&self) -> Result<(), CollectiveError> {
        let rate = self.stage.rate;
        let mut shares = vec![0i128; self.fabric.links.len()];
        for tree in &self.stage.trees {
            for transfer in &tree.transfers {
                transfer.2.iter().for_each(|&link| shares[link as usize] += i128::from(tree.weight));
            }
        }
        let shares = self.with_movements(shares);
        let mut fullest = 0.0f64;
        for (number, (link, share)) in self.fabric.links.iter().zip(shares).enumerate() {
            let used = rate * share as f64 / self.stage.parts as f64 / link.bandwidth;
            if used.is_nan() || used > 1.0 + TOLERANCE {
                return Err(CollectiveError::new(format!(
                    "link {number} would carry {used:.6} times its bandwidth at {rate:.6e} B/s a root"
                )));
            }
            fullest = fullest.max(used);
        }
        if fullest < 1.0 - TOLERANCE {
            return Err(CollectiveError::new(format!(
                "the rate is {rate:.6e} B/s, the links allow {fullest:.6} of it"
            )));
        }
        Ok(())
    }

    fn check_bound(&self) -> Result<(), CollectiveError> {
        let bound = &self.stage.bound;
        let wrong = |what: String| Err(CollectiveError::new(format!("bound: {what}")));
        if self.is_both() {
            exchange::check_bound(self.schedule, bound)?;
            let most = self.schedule.bytes as f64 / bound.seconds;
            if self.stage.rate > most * (1.0 + TOLERANCE) {
                return wrong(format!("the rate {:.9e} is above {most:.9e}", self.stage.rate));
            }
            return Ok(());
        }
        if !bound.others.is_empty() {
            return wrong("a stage is limited by one cut, found others beside it".into());
        }
        let mut inside = vec![false; self.fabric.vertices.len()];
        for &vertex in &bound.cut {
            match inside.get_mut(vertex) {
                Some(inside) => *inside = true,
                None => return wrong(format!("there is no vertex {vertex}")),
            }
        }
        let mut crossing = 0.0;
        for link in &self.fabric.links {
            let (near, far) = match self.stage.operation {
                Operation::Reduce => (link.to, link.from),
                _ => (link.from, link.to),
            };
            if inside[near] && !inside[far] {
                crossing += link.bandwidth;
            }
        }
        let (elements, count) = (self.schedule.bytes / self.schedule.element_bytes, self.roots.len() as u64);
        let (mut roots, mut bytes) = (0u64, 0u64);
        for (index, &root) in self.roots.iter().enumerate() {
            if inside[self.fabric.ranks[root]] {
                roots += 1;
                bytes +=
                    (elements / count + u64::from((index as u64) < elements % count)) * self.schedule.element_bytes;
            }
        }
        if self.fabric.ranks.iter().all(|&vertex| inside[vertex]) || roots == 0 {
            return wrong("its cut has all ranks or no root, so nothing has to leave it".into());
        }
        let (rate, seconds) = (crossing / roots as f64, bytes as f64 / crossing);
        if !near(bound.rate, rate) || !near(bound.seconds, seconds) {
            return wrong(format!(
                "{:.9e} B/s and {:.9e} s, but its cut gives {rate:.9e} and {seconds:.9e}",
                bound.rate, bound.seconds
            ));
        }
        if self.stage.rate > rate * (1.0 + TOLERANCE) {
            return wrong(format!("the rate {:.9e} is above it", self.stage.rate));
        }
        Ok(())
    }

    /// The prediction again: the fullest link or busiest processor, and the way of the last chunk.
    fn check_seconds(&self) -> Result<(), CollectiveError> {
        let seconds = if self.stage.merged { self.merged_seconds()? } else { self.pipelined_seconds() };
        if !near(self.stage.seconds, seconds) {
            return Err(CollectiveError::new(format!(
                "its time is {:.9e} s, its transfers take {seconds:.9e} s",
                self.stage.seconds
            )));
        }
        Ok(())
    }

    /// One message for each pair of ranks. A message can be sent when all that are in it have come: in some order all are.
    fn merged_seconds(&self) -> Result<f64, CollectiveError> {
        if self.stage.chunks != 1 {
            return Err(CollectiveError::new("merged messages are sent whole, expected 1 chunk"));
        }
        let mut messages: BTreeMap<Pair, (f64, &[u32], BTreeSet<Pair>)> = BTreeMap::new();
        for tree in self.stage.trees.iter().filter(|tree| tree.bytes > 0) {
            let mut before: BTreeMap<usize, Vec<Pair>> = BTreeMap::new();
            for Transfer(from, to, links) in &tree.transfers {
                let waits = before.get(from).cloned().unwrap_or_default();
                let message = messages.entry((*from, *to)).or_insert((0.0, links, BTreeSet::new()));
                if message.1 != links.as_slice() {
                    let what = format!("ranks {from} and {to}: a merged message has one path, found two");
                    return Err(CollectiveError::new(what));
                }
                message.0 += tree.bytes as f64;
                message.2.extend(waits);
                before.entry(*to).or_default().push((*from, *to));
            }
        }
        let mut carried = vec![0.0; self.fabric.links.len()];
        let mut arrived: BTreeMap<Pair, f64> = BTreeMap::new();
        let mut free = vec![0.0f64; self.fabric.ranks.len()];
        let mut waiting: Vec<Pair> = messages.keys().copied().collect();
        let mut last = 0.0f64;
        while !waiting.is_empty() {
            // All that can be sent now, by sender and receiver; what they bring is there afterwards.
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.iter().partition(|pair| messages[pair].2.iter().all(|needed| arrived.contains_key(needed)));
            if now.is_empty() {
                let (from, to) = later[0];
                let what = format!("the merged message from rank {from} to rank {to} waits for one that waits for it");
                return Err(CollectiveError::new(what));
            }
            let mut here = Vec::new();
            let mut crossing: BTreeMap<u32, f64> = BTreeMap::new();
            for (bytes, links, _) in now.iter().map(|pair| &messages[pair]) {
                links.iter().for_each(|&link| *crossing.entry(link).or_default() += bytes);
            }
            for (&link, bytes) in &crossing {
                carried[link as usize] += bytes / self.fabric.links[link as usize].bandwidth;
            }
            let earlier = free.clone();
            let mut sent: BTreeMap<usize, u32> = BTreeMap::new();
            let mut received: BTreeMap<usize, u32> = BTreeMap::new();
            for pair in now {
                let (_, links, needed) = &messages[&pair];
                let number = sent.entry(pair.0).or_default();
                let begin = earlier[pair.0] + f64::from(*number) * 0.5 * self.fabric.message_seconds;
                *number += 1;
                let ready = needed.iter().map(|needed| arrived[needed]).fold(begin, f64::max);
                let (mut latency, mut busy) = (self.fabric.message_seconds, 0.0f64);
                for link in links.iter() {
                    latency += self.fabric.links[*link as usize].latency;
                    busy = busy.max(crossing[link] / self.fabric.links[*link as usize].bandwidth);
                }
                free[pair.0] = free[pair.0].max(ready + 0.5 * self.fabric.message_seconds + busy);
                let before = received.entry(pair.1).or_default();
                let there = ready + latency + busy + f64::from(*before) * 0.5 * self.fabric.message_seconds;
                *before += 1;
                last = last.max(there);
                here.push((pair, there));
            }
            arrived.extend(here);
            waiting = later;
        }
        Ok(carried.into_iter().fold(last, f64::max))
    }

    /// The first piece of the tree that it takes longest to cross, and behind it all that a link or a processor still has to
    /// do for the other pieces and trees.
    fn pipelined_seconds(&self) -> f64 {
        let chunks = self.stage.chunks as f64;
        let (links, ranks) = (self.fabric.links.len(), self.fabric.ranks.len() + self.fabric.in_network.len());
        let (mut carried, mut largest) = (vec![0.0f64; links], vec![0.0f64; links]);
        let (mut handled, mut most) = (vec![0.0f64; ranks], vec![0.0f64; ranks]);
        let mut first = 0.0f64;
        for tree in self.stage.trees.iter().filter(|tree| tree.bytes > 0) {
            let mut ends: BTreeMap<usize, f64> = BTreeMap::new();
            // Who put what on a link last, and how much since somebody else did.
            let mut last: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
            let (sums, copies) = tree.transfers.split_at(self.reductions(tree));
            let outwards = sums.iter().rev().map(|sum| (sum.1, sum)).chain(copies.iter().map(|copy| (copy.0, copy)));
            for (near, Transfer(sender, receiver, path)) in outwards {
                *ends.entry(*sender).or_default() += self.half(*sender);
                *ends.entry(*receiver).or_default() += self.half(*receiver);
                for link in path {
                    let seconds = tree.bytes as f64 / self.fabric.links[*link as usize].bandwidth;
                    carried[*link as usize] += seconds;
                    let before = last.get(link).filter(|(rank, _)| *rank == near).map_or(0.0, |(_, before)| *before);
                    last.insert(*link, (near, before + seconds));
                    largest[*link as usize] = largest[*link as usize].max(before + seconds);
                }
            }
            for (rank, seconds) in ends {
                handled[rank] += seconds;
                most[rank] = most[rank].max(seconds);
            }
            first = first.max(self.first_piece(tree));
        }
        let mut behind = 0.0f64;
        if let Some(kinds) = &self.kinds {
            largest = kinds.most(&largest);
        }
        for (carried, largest) in self.with_movements(carried).into_iter().zip(largest) {
            behind = behind.max(carried - largest / chunks);
        }
        if self.kinds.is_some() {
            // A transfer is moved once to where each rank is its sender, and once to where it is its receiver.
            let most = most.into_iter().fold(0.0, f64::max);
            behind = behind.max(handled.into_iter().sum::<f64>() * chunks - most);
        } else {
            for (handled, most) in handled.into_iter().zip(most) {
                behind = behind.max(handled * chunks - most);
            }
        }
        first + behind
    }

    /// How many transfers of a tree reduce, which are the first ones.
    fn reductions(&self, tree: &Tree) -> usize {
        match self.stage.operation {
            Operation::Copy => 0,
            Operation::Reduce => tree.transfers.len(),
            Operation::ReduceBroadcast => tree.reductions.unwrap_or(tree.transfers.len() / 2),
        }
    }

    /// Half of what a message costs its ends' processors, which switches have not.
    fn half(&self, member: usize) -> f64 {
        if member < self.fabric.ranks.len() { 0.5 * self.fabric.message_seconds } else { 0.0 }
    }

    /// When the last rank has a piece that nothing else is in the way of, or the root has its sum. Sums take as long as copies
    /// would the other way.
    fn first_piece(&self, tree: &Tree) -> f64 {
        let bytes = tree.bytes as f64 / self.stage.chunks as f64;
        let ranks = self.fabric.ranks.len();
        let spread = |transfers: &mut dyn Iterator<Item = (usize, usize, &Vec<u32>)>| {
            let mut until: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
            let mut clock = BTreeMap::<usize, f64>::new();
            // When the last byte is in a switch, which has sent the first ones on by then.
            let mut all_there = BTreeMap::<usize, f64>::new();
            let mut end = 0.0f64;
            for (near, far, path) in transfers {
                let sent = clock.entry(near).or_default();
                *sent += self.half(near);
                let mut begin = *sent;
                let (mut latency, mut pace) = (0.0f64, 0.0f64);
                for link in path {
                    let own = until.get(link).filter(|(rank, _)| *rank == near);
                    begin = begin.max(own.map_or(0.0, |(_, end)| *end));
                    latency += self.fabric.links[*link as usize].latency;
                    pace = pace.max(1.0 / self.fabric.links[*link as usize].bandwidth);
                }
                for link in path {
                    until.insert(*link, (near, begin + bytes / self.fabric.links[*link as usize].bandwidth));
                }
                let behind = all_there.get(&near).map_or(0.0, |there| there + latency);
                let there = behind.max(begin + latency + bytes * pace);
                if far < ranks {
                    let received = there + self.half(far);
                    clock.insert(far, received);
                    end = end.max(received);
                } else {
                    clock.insert(far, begin + latency);
                    all_there.insert(far, there);
                }
            }
            end
        };
        let (sums, copies) = tree.transfers.split_at(self.reductions(tree));
        spread(&mut sums.iter().rev().map(|Transfer(sender, receiver, path)| (*receiver, *sender, path)))
            + spread(&mut copies.iter().map(|Transfer(sender, receiver, path)| (*sender, *receiver, path)))
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * b.abs()
}
