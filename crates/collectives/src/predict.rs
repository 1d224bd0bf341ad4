//! What a stage takes, by latency, overhead and bandwidth, and the number of chunks that is best by it.
//!
//! All trees work at once, and a tree sends its range in `chunks` pieces. The first piece of a tree crosses it as in the LogP
//! model (Culler and others 1993): a rank sends it to one rank after another, each an overhead later and when the links are
//! free of what it has sent before; it is there after the latency of the links and its bytes at the pace of the
//! slowest of them, and an overhead later it is received. Of `message_seconds` each end has half. What a link carries beside
//! one piece of one rank, and what a rank's processor does beside one piece of one tree, is added: the pipeline of Sanders, Speck and Träff
//! (2009) with shared links.

use crate::fabric::Fabric;
use crate::merge::{Merged, merge};
use crate::schedule::{Exchange, Stage, Transfer, Tree};
use crate::translation::{most_of_kind, with_movements};

/// More chunks than this are not tried: each is a message of its own.
const MAX_CHUNKS: u64 = 1 << 14;

/// Seconds of the stage with its number of chunks; `None` where it is merged and its messages wait for each other.
pub fn seconds(fabric: &Fabric, stage: &Stage) -> Option<f64> {
    if stage.merged { merged_seconds(fabric, stage) } else { Some(Pipeline::of(fabric, stage).seconds(stage.chunks)) }
}

/// Seconds of merged messages. No link is faster than all that it carries.
fn merged_seconds(fabric: &Fabric, stage: &Stage) -> Option<f64> {
    let (messages, rounds) = merge(stage)?;
    let load = link_bytes(fabric, stage).into_iter().zip(&fabric.links).map(|(bytes, link)| bytes / link.bandwidth);
    Some(load.chain(arrivals(fabric, &messages, &rounds)).fold(0.0, f64::max))
}

/// When each merged message arrives. A rank sends those of a round one after another, each an overhead of its own later, and
/// goes on when all have left: after as long as the fullest link of their paths takes for all of the round's bytes on it. What a
/// later message waits for comes an overhead, a latency and those bytes after it was begun.
pub fn arrivals(fabric: &Fabric, messages: &[Merged], rounds: &[Vec<usize>]) -> Vec<f64> {
    let (mut arrival, mut free) = (vec![0.0f64; messages.len()], vec![0.0f64; fabric.ranks.len()]);
    let mut carried = vec![0.0f64; fabric.links.len()];
    for round in rounds {
        let links =
            || round.iter().flat_map(|&number| messages[number].links.iter().map(move |&link| (number, link as usize)));
        links().for_each(|(_, link)| carried[link] = 0.0);
        links().for_each(|(number, link)| carried[link] += messages[number].bytes() as f64);
        let before = free.clone();
        let mut begun = vec![0.0f64; fabric.ranks.len()];
        let mut received = begun.clone();
        for &number in round {
            let message = &messages[number];
            let path = || message.links.iter().map(|&link| link as usize);
            let transmission = path().map(|link| carried[link] / fabric.links[link].bandwidth).fold(0.0, f64::max);
            let from = message.from;
            let ready = before[from] + begun[from];
            begun[from] += fabric.message_seconds / 2.0;
            let start = message.waits.iter().map(|&before| arrival[before]).fold(ready, f64::max);
            free[from] = free[from].max(start + fabric.message_seconds / 2.0 + transmission);
            let latency: f64 = path().map(|link| fabric.links[link].latency).sum();
            // Its receiver takes one message after another.
            received[message.to] += fabric.message_seconds / 2.0;
            arrival[number] = start + fabric.message_seconds / 2.0 + latency + transmission + received[message.to];
        }
    }
    arrival
}

/// Seconds of an exchange. A rank begins a round when all has come that it gets in the rounds before, and all has left that
/// it sends in them. Its n-th message of the round is begun n of its own overheads later, and its last byte leaves the fullest
/// link of its path after all that this link carries in the round. Its processor sends and receives one message at a time. Where some links are slower than others, ranks may be in
/// different rounds at the same time; no link is faster than all that it carries in all rounds.
pub fn exchange_seconds(fabric: &Fabric, exchange: &Exchange) -> f64 {
    let own_overhead = fabric.message_seconds / 2.0;
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
        let mut occupied = ready.clone();
        for message in &round.messages {
            let Transfer(from, to, _) = exchange.routes[message.0 as usize];
            let path = || exchange.links_of(message);
            let busy = path().map(|link| carried[link]).fold(0.0, f64::max);
            let slowest = path().map(|link| fabric.links[link].bandwidth).fold(f64::INFINITY, f64::min);
            let latency: f64 = path().map(|link| fabric.links[link].latency).sum();
            let own = message.2 as f64 / slowest;
            let waited = begun[from].max(busy - own);
            begun[from] += own_overhead;
            let left = ready[from] + waited + own_overhead + own;
            next[from] = next[from].max(left);
            next[to] = next[to].max(left + latency + own_overhead);
            occupied[from] += own_overhead;
            occupied[to] += own_overhead;
        }
        next.iter_mut().zip(occupied).for_each(|(next, occupied)| *next = next.max(occupied));
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
    let mut pipeline = Pipeline::of(fabric, stage).with_memories();
    let longest = stage.trees.iter().map(|tree| tree.bytes / element_bytes).max().unwrap_or(1);
    let mut best = (f64::INFINITY, 1);
    for chunks in (0..).map(|power| 1 << power).take_while(|&chunks| chunks <= longest.clamp(1, MAX_CHUNKS)) {
        let seconds = pipeline.seconds(chunks);
        if seconds < best.0 {
            best = (seconds, chunks);
        }
        // Where more pieces cost that much, still more of them do.
        if seconds > 2.0 * best.0 {
            break;
        }
    }
    best.1
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

/// A stage as a pipeline of pieces.
struct Pipeline<'a> {
    fabric: &'a Fabric,
    stage: &'a Stage,
    /// Of each link the seconds of all bytes that it carries, and of those that one rank puts on it in one tree, at most.
    loads: Vec<(f64, f64)>,
    /// Of each member the overheads for a piece of every tree, and for one of the tree in which it has most messages.
    overheads: Vec<(f64, f64)>,
    /// Of each rank the seconds that its memory has to do with all bytes, and with those of one tree, at most, where memories
    /// take fewer messages at a time than links bring; and what it waits with a piece of every tree until that is on its way.
    memories: Vec<(f64, f64, f64)>,
    /// Until when each link is busy with the piece in hand, the number of that piece, and who has put it on the link.
    busy: Vec<(f64, usize, usize)>,
    piece: usize,
    /// Of each member when it can send the first byte of the piece in hand, and when it has the last one; 0 between pieces.
    clocks: Vec<(f64, f64)>,
}

impl<'a> Pipeline<'a> {
    fn of(fabric: &'a Fabric, stage: &'a Stage) -> Pipeline<'a> {
        let bytes = link_bytes(fabric, stage);
        let mut largest = vec![0.0f64; fabric.links.len()];
        let mut overheads = vec![(0.0f64, 0.0f64); fabric.members()];
        let mut of_rank = vec![(0.0, 0, 0); fabric.links.len()];
        let mut messages = vec![0.0; fabric.members()];
        for (number, tree) in stage.trees.iter().filter(|tree| tree.bytes > 0).enumerate() {
            let (reductions, copies) = tree.halves(stage.operation);
            let from_near =
                reductions.iter().rev().map(|sent| (sent.1, sent)).chain(copies.iter().map(|sent| (sent.0, sent)));
            for (near, Transfer(from, to, links)) in from_near {
                for &link in links {
                    let (sum, tree_of, rank_of) = &mut of_rank[link as usize];
                    if (*tree_of, *rank_of) != (number + 1, near) {
                        (*sum, *tree_of, *rank_of) = (0.0, number + 1, near);
                    }
                    *sum += tree.bytes as f64 / fabric.links[link as usize].bandwidth;
                    largest[link as usize] = largest[link as usize].max(*sum);
                }
                messages[*from] += fabric.own_seconds(*from);
                messages[*to] += fabric.own_seconds(*to);
            }
            for rank in tree.transfers.iter().flat_map(|transfer| [transfer.0, transfer.1]) {
                let added = std::mem::take(&mut messages[rank]);
                overheads[rank] = (overheads[rank].0 + added, overheads[rank].1.max(added));
            }
        }
        if stage.translated.is_some() {
            // Every transfer is moved to where each rank is its sender, and its receiver.
            let all = overheads.iter().map(|overhead| overhead.0).sum();
            overheads = vec![(all, overheads.iter().map(|overhead| overhead.1).fold(0.0, f64::max))];
        }
        let loads = fabric.links.iter().zip(bytes).zip(most_of_kind(fabric, stage, largest));
        let loads = loads.map(|((link, bytes), largest)| (bytes / link.bandwidth, largest)).collect();
        let (busy, clocks) = (vec![(0.0, 0, 0); fabric.links.len()], vec![(0.0, 0.0); fabric.members()]);
        Pipeline { fabric, stage, loads, overheads, memories: Vec::new(), busy, piece: 0, clocks }
    }

    /// The same with what a described machine has beside its links: a file of a schedule does not say what memories take.
    fn with_memories(mut self) -> Pipeline<'a> {
        let machine = self.fabric.routes.as_ref().map(|routes| routes.machine());
        let Some(channels) = machine.and_then(|machine| machine.node.memory_channels) else { return self };
        let each = 1.0 / f64::from(channels);
        let mut memories = vec![(0.0f64, 0.0f64, 0.0f64); self.fabric.ranks.len()];
        let mut of_tree = vec![0.0f64; self.fabric.ranks.len()];
        for tree in self.stage.trees.iter().filter(|tree| tree.bytes > 0) {
            for Transfer(from, to, links) in &tree.transfers {
                let links = || links.iter().map(|&link| &self.fabric.links[link as usize]);
                let slowest = links().map(|link| link.bandwidth).fold(f64::INFINITY, f64::min);
                let latency: f64 = links().map(|link| link.latency).sum();
                for rank in [*from, *to] {
                    of_tree[rank] += tree.bytes as f64 / slowest * each;
                    memories[rank].2 += latency * each;
                }
            }
            for (memory, seconds) in memories.iter_mut().zip(&mut of_tree) {
                let seconds = std::mem::take(seconds);
                (memory.0, memory.1) = (memory.0 + seconds, memory.1.max(seconds));
            }
        }
        self.memories = memories;
        self
    }

    fn seconds(&mut self, chunks: u64) -> f64 {
        let chunks = chunks as f64;
        let stage = self.stage;
        let crossings = stage.trees.iter().filter(|tree| tree.bytes > 0);
        let first = crossings.map(|tree| self.crossing(tree, chunks)).fold(0.0, f64::max);
        let links = self.loads.iter().map(|(all, of_tree)| all - of_tree / chunks);
        let memories = self.memories.iter().map(|(all, of_tree, each)| all - of_tree / chunks + each * chunks);
        let processors = self.overheads.iter().map(|(all, of_tree)| chunks * all - of_tree);
        first + links.chain(memories).chain(processors).fold(0.0, f64::max)
    }

    /// Seconds until a piece of a tree has reached all ranks, or the root; where both are done, there and back.
    fn crossing(&mut self, tree: &Tree, chunks: f64) -> f64 {
        let bytes = tree.bytes as f64 / chunks;
        let (reductions, copies) = tree.halves(self.stage.operation);
        let there = self.below_root(bytes, || reductions.iter().rev().map(|sent| (sent.1, sent.0, &sent.2[..])));
        there + self.below_root(bytes, || copies.iter().map(|sent| (sent.0, sent.1, &sent.2[..])))
    }

    /// Seconds until all have a piece, by transfers from near to far. Sums come as copies go, backwards.
    fn below_root<'b, T: Iterator<Item = (usize, usize, &'b [u32])>>(
        &mut self,
        bytes: f64,
        transfers: impl Fn() -> T,
    ) -> f64 {
        let Pipeline { fabric, busy, piece, clocks, .. } = self;
        *piece += 1;
        let mut last = 0.0f64;
        for (near, far, links) in transfers() {
            clocks[near].0 += fabric.own_seconds(near);
            let path = || links.iter().map(|&link| (link as usize, &fabric.links[link as usize]));
            // What others put on a link is not in the order of time here, and counted with what it carries in all.
            let free = |(until, of, by)| if (of, by) == (*piece, near) { until } else { 0.0 };
            let start = path().map(|(link, _)| free(busy[link])).fold(clocks[near].0, f64::max);
            let latency: f64 = path().map(|(_, link)| link.latency).sum();
            let slowest = path().map(|(_, link)| link.bandwidth).fold(f64::INFINITY, f64::min);
            path().for_each(|(link, of)| busy[link] = (start + bytes / of.bandwidth, *piece, near));
            let whole = f64::max(start + latency + bytes / slowest, clocks[near].1 + latency) + fabric.own_seconds(far);
            // A switch passes bytes on as they come, a rank when all are there.
            let ready = if fabric.switch(far).is_some() { start + latency } else { whole };
            clocks[far] = (ready, whole);
            last = last.max(whole);
        }
        transfers().for_each(|(near, far, _)| (clocks[near], clocks[far]) = ((0.0, 0.0), (0.0, 0.0)));
        last
    }
}
