//! Trees for networks that are too large to pack exactly and the same nowhere: each as flat as what links have left allows.
//!
//! Every tree grows breadth first, and a rank is reached over the path that is least full. In further rounds each tree
//! is taken out and grown again among the others, as in routing by negotiation; the best round counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_base::Interrupt;

use crate::logical::Logical;
use crate::packing::PackedTree;

const ROUNDS: usize = 6;

/// Paths times trees that are looked at in all rounds, at most: some seconds.
const MAX_WORK: usize = 3_000_000_000;

/// A path from one rank to another, and what of it is used.
struct Channel {
    from: usize,
    to: usize,
    path: Vec<u32>,
    capacity: f64,
    load: u32,
}

/// Trees at all of `roots`, `parts` each, and the most of a path's `weight / capacity` for one tree a root. `None` where
/// there are too many paths, or nobody waits for the first round to end.
pub fn grow(logical: &Logical, roots: &[usize], parts: usize, interrupt: &Interrupt) -> Option<(Vec<PackedTree>, f64)> {
    let mut channels: Vec<Channel> = logical
        .pieces()
        .into_iter()
        .map(|(from, to, piece)| Channel {
            from,
            to,
            path: piece.path.clone(),
            capacity: piece.amount as f64 * parts as f64,
            load: 0,
        })
        .collect();
    if channels.len().saturating_mul(roots.len() * parts * ROUNDS) > MAX_WORK {
        return None;
    }
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); logical.vertices()];
    channels.iter().enumerate().for_each(|(number, channel)| out[channel.from].push(number as u32));
    let mut trees: Vec<Vec<u32>> = vec![Vec::new(); roots.len() * parts];
    let mut best: Option<(f64, Vec<Vec<u32>>)> = None;
    let mut target = f64::INFINITY;
    'rounds: for _ in 0..ROUNDS {
        for number in 0..trees.len() {
            if interrupt.is_requested() {
                break 'rounds;
            }
            trees[number].iter().for_each(|&channel| channels[channel as usize].load -= 1);
            trees[number] = one(roots[number % roots.len()], &mut channels, &out, roots.len(), target)?;
        }
        let fullest = channels.iter().map(|channel| f64::from(channel.load) / channel.capacity).fold(0.0, f64::max);
        if best.as_ref().is_none_or(|(known, _)| fullest < *known) {
            best = Some((fullest, trees.clone()));
        }
        target = fullest * 0.999;
    }
    let (fullest, trees) = best?;
    let edge = |&number: &u32| {
        let channel = &channels[number as usize];
        (channel.from, channel.to, channel.path.clone())
    };
    let packed = |(number, tree): (usize, &Vec<u32>)| PackedTree {
        root: roots[number % roots.len()],
        weight: 1,
        edges: tree.iter().map(edge).collect(),
    };
    Some((trees.iter().enumerate().map(packed).collect(), fullest))
}

/// Channels over the target, the least full first: fullness is not negative, so that its bits are in its order.
type Waiting = BinaryHeap<Reverse<(u64, u32)>>;

/// One tree, layer by layer. A path that would be fuller than `target` is taken only where nothing else leads on.
fn one(root: usize, channels: &mut [Channel], out: &[Vec<u32>], ranks: usize, target: f64) -> Option<Vec<u32>> {
    let mut is_reached = vec![false; out.len()];
    is_reached[root] = true;
    let (mut tree, mut layer) = (Vec::with_capacity(ranks - 1), vec![root]);
    let mut best: Vec<Option<(f64, u32)>> = vec![None; out.len()];
    let mut waiting = Waiting::new();
    while tree.len() + 1 < ranks {
        // Whoever is reached is in one layer only: what leads on from there below the target is taken at once, and what is
        // above it does not get emptier while this tree grows.
        let mut met = Vec::new();
        for &number in layer.iter().flat_map(|&vertex| &out[vertex]) {
            let channel = &channels[number as usize];
            let full = f64::from(channel.load + 1) / channel.capacity;
            if is_reached[channel.to] {
                continue;
            }
            if full > target {
                waiting.push(Reverse((full.to_bits(), number)));
                continue;
            }
            if best[channel.to].is_none() {
                met.push(channel.to);
            }
            if best[channel.to].is_none_or(|known| full < known.0) {
                best[channel.to] = Some((full, number));
            }
        }
        if met.is_empty() {
            let least = loop {
                let Reverse((_, number)) = waiting.pop()?;
                if !is_reached[channels[number as usize].to] {
                    break number;
                }
            };
            let to = channels[least as usize].to;
            best[to] = Some((0.0, least));
            met.push(to);
        }
        for &vertex in &met {
            let (_, number) = best[vertex].take().expect("a path to everybody who was met");
            channels[number as usize].load += 1;
            is_reached[vertex] = true;
            tree.push(number);
        }
        layer = met;
    }
    Some(tree)
}
