//! Whether an all-to-all takes every block to where it belongs, and whether its bound holds.
//!
//! Every range leads from its sender from rank to rank to the block's owner; the ranges of a block divide it without a gap;
//! and by the prices of the bound, what all bytes pay on cheapest paths is added up again.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::CollectiveError;
use crate::fabric::Fabric;
use crate::schedule::{Bound, Exchange, Message, Operation, Schedule, Stage, Transfer, Tree};
use crate::verify::{Paths, TOLERANCE, near};

/// Checks the paths, what they carry, and the bound.
pub(super) fn check(schedule: &Schedule, stage: &Stage, paths: &Paths) -> Result<(), CollectiveError> {
    let wrong = |what: String| Err(CollectiveError::new(what));
    if u64::try_from(stage.parts) != Ok(schedule.bytes) {
        return wrong(format!("its parts are the {} bytes of a buffer, found {}", schedule.bytes, stage.parts));
    }
    let blocks = Blocks::of(schedule).map_err(CollectiveError::new)?;
    let mut ranges: BTreeMap<(usize, usize), Vec<(u64, u64)>> = BTreeMap::new();
    for (number, tree) in stage.trees.iter().enumerate() {
        let destination =
            check_path(&blocks, tree, paths).map_err(|what| CollectiveError::new(format!("path {number}: {what}")))?;
        ranges.entry((tree.root, destination)).or_default().push((tree.start, tree.bytes));
    }
    let ranks = schedule.fabric.ranks.len();
    for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))).filter(|ends| ends.0 != ends.1) {
        let mut of_block = ranges.remove(&(from, to)).unwrap_or_default();
        of_block.sort_unstable();
        let (mut at, bytes) = blocks.block(from, to);
        let end = at + bytes;
        for (start, length) in of_block {
            if start != at || length == 0 || length > end - at || !length.is_multiple_of(schedule.element_bytes) {
                return wrong(format!(
                    "the block of rank {from} for rank {to}: a path has the {length} bytes from {start}, expected whole \
                     elements from {at}, before {end}"
                ));
            }
            at += length;
        }
        if at != end {
            let missing = end - at;
            return wrong(format!("the block of rank {from} for rank {to}: no path has the {missing} bytes from {at}"));
        }
    }
    check_bound(schedule, &stage.bound, &blocks)?;
    if stage.rate > stage.bound.rate * (1.0 + TOLERANCE) {
        return wrong(format!("bound: the rate {:.9e} is above it", stage.rate));
    }
    Ok(())
}

/// A range that a rank has of another's buffer: its first byte, its end, and the round after which it is there.
type Held = (u64, u64, usize);

/// Checks the rounds of messages, each of which has a range of one block, and the bound.
pub(super) fn check_exchange(schedule: &Schedule, exchange: &Exchange) -> Result<(), CollectiveError> {
    let wrong = |what: String| Err(CollectiveError::new(what));
    let blocks = Blocks::of(schedule).map_err(CollectiveError::new)?;
    let ranks = blocks.starts.len();
    let mut held: BTreeMap<(usize, usize), Vec<Held>> = BTreeMap::new();
    for (number, round) in exchange.rounds.iter().enumerate() {
        if round.operation != Operation::Copy {
            return wrong(format!("round {number}: blocks are copied, found a reduction"));
        }
        for Message(route, start, bytes) in &round.messages {
            let Transfer(from, to, _) = &exchange.routes[*route as usize];
            let source = (start / schedule.bytes) as usize;
            let end = start + bytes;
            let is_there = held.get(&(*from, source)).is_some_and(|ranges| {
                ranges.iter().any(|&(first, last, since)| (first, last) == (*start, end) && since < number)
            });
            if *from != source && !is_there {
                return wrong(format!(
                    "round {number}: rank {from} passes on the {bytes} bytes from {start}, which it has not got as they are"
                ));
            }
            if end > (source as u64 + 1) * schedule.bytes {
                return wrong(format!("round {number}: the bytes from {start} are of more than one rank"));
            }
            held.entry((*to, source)).or_default().push((*start, end, number));
        }
    }
    for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))).filter(|ends| ends.0 != ends.1) {
        let (mut at, bytes) = blocks.block(from, to);
        let end = at + bytes;
        let mut ranges = held.remove(&(to, from)).unwrap_or_default();
        ranges.sort_unstable();
        for (first, last, _) in ranges {
            if first <= at {
                at = at.max(last);
            }
        }
        if at < end {
            return wrong(format!("rank {to} has not the bytes from {at} of its block of rank {from}"));
        }
    }
    check_bound(schedule, &exchange.bound, &blocks)
}

/// Where the blocks of each rank start in its buffer, by destination, and where the last one ends.
struct Blocks {
    bytes: u64,
    starts: Vec<Vec<u64>>,
}

impl Blocks {
    /// Those that the schedule says, or as many elements for everybody, one more for the first ones where they do not divide a
    /// buffer evenly.
    fn of(schedule: &Schedule) -> Result<Blocks, String> {
        let (element, ranks) = (schedule.element_bytes, schedule.fabric.ranks.len());
        let (each, more) = (schedule.bytes / element / ranks as u64, schedule.bytes / element % ranks as u64);
        let even = || (0..ranks as u64).map(|rank| (each + u64::from(rank < more)) * element).collect::<Vec<u64>>();
        if let Some(rows) = schedule.blocks.as_ref().map(Vec::len).filter(|&rows| rows != ranks) {
            return Err(format!("{rows} ranks have lengths of blocks, there are {ranks} ranks"));
        }
        let mut starts = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            let lengths = match &schedule.blocks {
                Some(blocks) => blocks[rank].clone(),
                None => even(),
            };
            let mut row = vec![0u64];
            for length in &lengths {
                match row[row.len() - 1].checked_add(*length) {
                    Some(end) if end <= schedule.bytes && length.is_multiple_of(element) => row.push(end),
                    _ => return Err(format!("rank {rank} has blocks beyond its buffer, or of no whole elements")),
                }
            }
            if row.len() != ranks + 1 {
                return Err(format!("rank {rank} has lengths of {} blocks, there are {ranks} ranks", row.len() - 1));
            }
            starts.push(row);
        }
        Ok(Blocks { bytes: schedule.bytes, starts })
    }

    /// First byte and bytes of a block, where ranks' buffers count one after another.
    fn block(&self, from: usize, to: usize) -> (u64, u64) {
        let row = &self.starts[from];
        (from as u64 * self.bytes + row[to], row[to + 1] - row[to])
    }
}

/// The rank that a path ends at: the one that its bytes are for.
fn check_path(blocks: &Blocks, tree: &Tree, paths: &Paths) -> Result<usize, String> {
    let ranks = blocks.starts.len();
    if tree.root >= ranks || u64::try_from(tree.weight) != Ok(tree.bytes) || tree.reductions.is_some() {
        return Err(format!(
            "rank {} sends {} bytes of weight {}: no such rank, or bytes and weight differ",
            tree.root, tree.bytes, tree.weight
        ));
    }
    let (mut at, mut passed) = (tree.root, BTreeSet::from([tree.root]));
    for (number, transfer) in tree.transfers.iter().enumerate() {
        if transfer.0 != at {
            return Err(format!("transfer {number} starts at rank {}, the bytes are at rank {at}", transfer.0));
        }
        paths.check(transfer.0, transfer.1, &transfer.2).map_err(|what| format!("transfer {number}: {what}"))?;
        at = transfer.1;
        if !passed.insert(at) {
            return Err(format!("transfer {number} leads back to rank {at}"));
        }
    }
    let (start, bytes) = blocks.block(tree.root, at);
    if at == tree.root || tree.start < start || tree.start >= start + bytes {
        return Err(format!("it takes the bytes from {} to rank {at}, which they are not for", tree.start));
    }
    Ok(at)
}

fn check_bound(schedule: &Schedule, bound: &Bound, blocks: &Blocks) -> Result<(), CollectiveError> {
    let fabric = &schedule.fabric;
    let wrong = |what: String| Err(CollectiveError::new(format!("bound: {what}")));
    if !bound.cut.is_empty() || !bound.others.is_empty() {
        return wrong("an all-to-all is limited by prices of links, found a cut".into());
    }
    let mut prices = vec![0u64; fabric.links.len()];
    for &(link, price) in &bound.prices {
        match prices.get_mut(link as usize) {
            Some(known @ 0) if price <= MAX_PRICE => *known = price,
            Some(_) => return wrong(format!("link {link} has two prices, or one above {MAX_PRICE}")),
            None => return wrong(format!("there is no link {link}")),
        }
    }
    let earned: f64 = fabric.links.iter().zip(&prices).map(|(link, &price)| link.bandwidth * price as f64).sum();
    let mut paid = 0u128;
    for (from, &vertex) in fabric.ranks.iter().enumerate() {
        let cheapest = cheapest(fabric, &prices, vertex);
        for (to, &vertex) in fabric.ranks.iter().enumerate() {
            let Some(each) = cheapest[vertex] else { return wrong(format!("no path from rank {from} to rank {to}")) };
            paid += u128::from(blocks.block(from, to).1) * u128::from(each);
        }
    }
    let seconds = paid as f64 / earned;
    let rate = schedule.bytes as f64 / seconds;
    if !near(bound.seconds, seconds) || !near(bound.rate, rate) {
        return wrong(format!(
            "{:.9e} B/s and {:.9e} s, but its prices give {rate:.9e} and {seconds:.9e}",
            bound.rate, bound.seconds
        ));
    }
    Ok(())
}

/// No path of 65,536 links costs more than a number can hold.
const MAX_PRICE: u64 = 1 << 40;

/// What the cheapest path to each vertex costs: the nearest vertex that is not settled is, and its links are looked at.
fn cheapest(fabric: &Fabric, prices: &[u64], start: usize) -> Vec<Option<u64>> {
    let mut out: Vec<Vec<(usize, u64)>> = vec![Vec::new(); fabric.vertices.len()];
    fabric.links.iter().zip(prices).for_each(|(link, &price)| out[link.from].push((link.to, price)));
    let mut costs: Vec<Option<u64>> = vec![None; fabric.vertices.len()];
    let mut waiting = BTreeSet::from([(0u64, start)]);
    while let Some((cost, vertex)) = waiting.pop_first() {
        if costs[vertex].is_some() {
            continue;
        }
        costs[vertex] = Some(cost);
        waiting
            .extend(out[vertex].iter().filter(|(to, _)| costs[*to].is_none()).map(|&(to, price)| (cost + price, to)));
    }
    costs
}
