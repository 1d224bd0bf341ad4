//! What a stage takes, by latency, overhead and bandwidth, and the number of chunks that is best by it.
//!
//! All trees work at once, and a tree sends its range in `chunks` pieces. With L the time of the link that has most to
//! carry, and O the overheads of the rank that has most messages a piece, all pieces have left their roots after
//! `max(L, chunks O)`. The last one then crosses the deepest tree, and every transfer of it takes the message overhead, the
//! latency of the links, and one piece at the pace of the path's slowest link: the pipeline of Sanders, Speck and Träff
//! (2009) with shared links.

use crate::fabric::Fabric;
use crate::merge::merge;
use crate::schedule::{Exchange, Operation, Stage, Transfer, Tree};
use crate::translation::with_movements;

/// More chunks than this are not tried: each is a message of its own.
const MAX_CHUNKS: u64 = 1 << 14;

/// Seconds of the stage with its number of chunks; `None` where it is merged and its messages wait for each other.
pub fn seconds(fabric: &Fabric, stage: &Stage) -> Option<f64> {
    if stage.merged { merged_seconds(fabric, stage) } else { Some(Terms::of(fabric, stage).seconds(stage.chunks)) }
}

/// Seconds of merged messages. A rank sends those of a round one after another, each for as long as its overhead or the
/// fullest link of its path takes for all of the round's bytes on it; what a later message waits for comes an overhead, a
/// latency and those bytes after it was begun. No link is faster than all that it carries.
fn merged_seconds(fabric: &Fabric, stage: &Stage) -> Option<f64> {
    let (messages, rounds) = merge(stage)?;
    let (mut arrival, mut free) = (vec![0.0f64; messages.len()], vec![0.0f64; fabric.ranks.len()]);
    let mut carried = vec![0.0f64; fabric.links.len()];
    for round in rounds {
        let links =
            || round.iter().flat_map(|&number| messages[number].links.iter().map(move |&link| (number, link as usize)));
        links().for_each(|(_, link)| carried[link] = 0.0);
        links().for_each(|(number, link)| carried[link] += messages[number].bytes() as f64);
        for &number in &round {
            let message = &messages[number];
            let path = || message.links.iter().map(|&link| link as usize);
            let transmission = path().map(|link| carried[link] / fabric.links[link].bandwidth).fold(0.0, f64::max);
            let start = message.waits.iter().map(|&before| arrival[before]).fold(free[message.from], f64::max);
            free[message.from] = start + transmission.max(fabric.message_seconds);
            let latency: f64 = path().map(|link| fabric.links[link].latency).sum();
            arrival[number] = start + fabric.message_seconds + latency + transmission;
        }
    }
    let load = link_bytes(fabric, stage).into_iter().zip(&fabric.links).map(|(bytes, link)| bytes / link.bandwidth);
    Some(load.chain(arrival).fold(0.0, f64::max))
}

/// Seconds of an exchange. A rank begins a round when all has come that it gets in the rounds before, and all has left that
/// it sends in them. Its n-th message of the round is begun n overheads later, and its last byte leaves the fullest link of
/// its path after all that this link carries in the round. Where some links are slower than others, ranks may be in
/// different rounds at the same time; no link is faster than all that it carries in all rounds.
pub fn exchange_seconds(fabric: &Fabric, exchange: &Exchange) -> f64 {
    let mut ready = vec![0.0f64; fabric.ranks.len()];
    let mut carried = vec![0.0f64; fabric.links.len()];
    let mut all_carried = carried.clone();
    for round in &exchange.rounds {
        let links = || {
            round.messages.iter().flat_map(|message| exchange.links_of(message).map(|link| (link, message.2 as f64)))
        };
        links().for_each(|(link, bytes)| carried[link] += bytes / fabric.links[link].bandwidth);
        let mut next = ready.clone();
        let mut begun = vec![0.0f64; fabric.ranks.len()];
        for message in &round.messages {
            let Transfer(from, to, _) = exchange.routes[message.0 as usize];
            let path = || exchange.links_of(message);
            let busy = path().map(|link| carried[link]).fold(0.0, f64::max);
            let slowest = path().map(|link| fabric.links[link].bandwidth).fold(f64::INFINITY, f64::min);
            let latency: f64 = path().map(|link| fabric.links[link].latency).sum();
            let own = message.2 as f64 / slowest;
            let waited = begun[from].max(busy - own);
            begun[from] += fabric.message_seconds;
            let left = ready[from] + waited + fabric.message_seconds + own;
            next[from] = next[from].max(ready[from] + begun[from]).max(left);
            next[to] = next[to].max(left + latency);
        }
        // A link may be on several paths, and is added once.
        for (link, _) in links() {
            all_carried[link] += std::mem::take(&mut carried[link]);
        }
        ready = next;
    }
    ready.into_iter().chain(all_carried).fold(0.0, f64::max)
}

/// The number of chunks, a power of two, that takes least; no chunk is shorter than an element.
pub fn best_chunks(fabric: &Fabric, stage: &Stage, element_bytes: u64) -> u64 {
    let terms = Terms::of(fabric, stage);
    let longest = stage.trees.iter().map(|tree| tree.bytes / element_bytes).max().unwrap_or(1);
    let counts = (0..).map(|power| 1 << power).take_while(|&chunks| chunks <= longest.clamp(1, MAX_CHUNKS));
    counts.min_by(|&a, &b| terms.seconds(a).total_cmp(&terms.seconds(b))).unwrap_or(1)
}

/// Bytes that each link carries. Where trees are moved to all ranks, as if everybody had as many bytes as rank 0.
pub fn link_bytes(fabric: &Fabric, stage: &Stage) -> Vec<f64> {
    let mut bytes = vec![0.0; fabric.links.len()];
    for tree in &stage.trees {
        tree.transfers
            .iter()
            .flat_map(|transfer| &transfer.2)
            .for_each(|&link| bytes[link as usize] += tree.bytes as f64);
    }
    with_movements(fabric, stage, bytes)
}

/// Bytes a second of each root that the fullest link lets through, or of the buffer where trees reduce and copy.
pub fn rate(fabric: &Fabric, stage: &Stage) -> f64 {
    let mut weight = vec![0i64; fabric.links.len()];
    for tree in &stage.trees {
        tree.transfers.iter().flat_map(|transfer| &transfer.2).for_each(|&link| weight[link as usize] += tree.weight);
    }
    let weight = with_movements(fabric, stage, weight);
    let used = fabric.links.iter().zip(weight).filter(|(_, weight)| *weight > 0);
    used.map(|(link, weight)| link.bandwidth * stage.parts as f64 / weight as f64).fold(f64::INFINITY, f64::min)
}

/// The parts of the time that do not depend on the number of chunks.
struct Terms {
    load: f64,
    overhead: f64,
    /// Latency of a path from a root, and the seconds that all bytes of its tree take on it one transfer after another.
    paths: Vec<(f64, f64)>,
}

impl Terms {
    fn of(fabric: &Fabric, stage: &Stage) -> Terms {
        let bytes = link_bytes(fabric, stage);
        let load = fabric.links.iter().zip(bytes).map(|(link, bytes)| bytes / link.bandwidth).fold(0.0, f64::max);
        let transfers = || stage.trees.iter().filter(|tree| tree.bytes > 0).flat_map(|tree| &tree.transfers);
        let messages = if stage.translated.is_some() {
            // Every transfer is moved to where each rank is its sender.
            transfers().count() as u64
        } else {
            let mut messages = vec![0u64; fabric.ranks.len()];
            transfers().for_each(|transfer| messages[transfer.0] += 1);
            messages.into_iter().max().unwrap_or(0)
        };
        let overhead = messages as f64 * fabric.message_seconds;
        let mut paths: Vec<(f64, f64)> = Vec::new();
        stage.trees.iter().for_each(|tree| add_paths(fabric, stage.operation, tree, &mut paths));
        Terms { load, overhead, paths: undominated(paths) }
    }

    fn seconds(&self, chunks: u64) -> f64 {
        let chunks = chunks as f64;
        let fill = self.paths.iter().map(|&(latency, bytes)| latency + bytes / chunks).fold(0.0, f64::max);
        self.load.max(chunks * self.overhead) + fill
    }
}

/// Only what no other path exceeds in both can be the longest for some number of chunks.
fn undominated(mut paths: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    paths.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut most = f64::NEG_INFINITY;
    paths.retain(|path| {
        let is_longer = path.1 > most;
        most = most.max(path.1);
        is_longer
    });
    paths
}

/// Adds the latency and the time of the bytes from the root to every rank, or to the root; where both are done, there and
/// back.
fn add_paths(fabric: &Fabric, operation: Operation, tree: &Tree, paths: &mut Vec<(f64, f64)>) {
    if tree.bytes == 0 {
        return;
    }
    let (reductions, copies) = tree.halves(operation);
    let there = below_root(fabric, tree.bytes, reductions.iter().rev().map(|sent| (sent.1, sent.0, &sent.2[..])));
    let back = below_root(fabric, tree.bytes, copies.iter().map(|sent| (sent.0, sent.1, &sent.2[..])));
    let both = |&(latency, seconds): &(f64, f64)| {
        back.iter().map(move |other: &(f64, f64)| (latency + other.0, seconds + other.1)).collect::<Vec<_>>()
    };
    paths.append(&mut undominated(there.iter().flat_map(both).collect()));
}

/// Latencies and times of the bytes from the root to ranks below it, by transfers from near to far; no shorter ones.
fn below_root<'a>(
    fabric: &Fabric,
    bytes: u64,
    transfers: impl Iterator<Item = (usize, usize, &'a [u32])>,
) -> Vec<(f64, f64)> {
    let mut depth = vec![(0.0f64, 0.0f64); fabric.ranks.len()];
    for (near, far, links) in transfers {
        let path = || links.iter().map(|&link| &fabric.links[link as usize]);
        let latency = fabric.message_seconds + path().map(|link| link.latency).sum::<f64>();
        let slowest = path().map(|link| link.bandwidth).fold(f64::INFINITY, f64::min);
        depth[far] = (depth[near].0 + latency, depth[near].1 + bytes as f64 / slowest);
    }
    undominated(depth)
}
