//! Trees in which switches copy or add, between ranks alone: what is executed where no switch does so.
//!
//! A rank stands in for every switch. On the way to the root it is the one that the switch sends its sum to, on the way back
//! the one that the switch has its copy from; for a switch that is the root itself it is a rank whose sum comes to the root
//! over switches only, so that nothing is added twice.

use crate::schedule::{Operation, Transfer, Tree};

/// The transfers of a tree between ranks, sender and receiver: those that reduce, and those that copy.
pub fn between_ranks(tree: &Tree, operation: Operation, ranks: usize) -> [(Operation, Vec<(usize, usize)>); 2] {
    let (reductions, copies) = tree.halves(operation);
    let root = of_root(tree.root, reductions, ranks);
    [
        (Operation::Reduce, summed(tree.root, root, reductions, ranks)),
        (Operation::Copy, copied(tree.root, root, copies, ranks)),
    ]
}

/// The rank that is the root, or stands in for it.
fn of_root(root: usize, reductions: &[Transfer], ranks: usize) -> usize {
    let mut near = root;
    while near >= ranks {
        let Some(below) = reductions.iter().find(|transfer| transfer.1 == near) else { break };
        near = below.0;
    }
    near
}

fn summed(root: usize, rank: usize, reductions: &[Transfer], ranks: usize) -> Vec<(usize, usize)> {
    let mut stands_in = StandsIn::of(root, rank);
    let mut pairs = Vec::with_capacity(reductions.len());
    for Transfer(from, to, _) in reductions.iter().rev() {
        let to = stands_in.rank(*to);
        if *from >= ranks {
            stands_in.0.push((*from, to));
        } else if *from != to {
            pairs.push((*from, to));
        }
    }
    pairs.reverse();
    pairs
}

fn copied(root: usize, rank: usize, copies: &[Transfer], ranks: usize) -> Vec<(usize, usize)> {
    let mut stands_in = StandsIn::of(root, rank);
    let mut pairs = Vec::with_capacity(copies.len());
    for Transfer(from, to, _) in copies {
        let from = stands_in.rank(*from);
        if *to >= ranks {
            stands_in.0.push((*to, from));
        } else if *to != rank {
            pairs.push((from, *to));
        }
    }
    pairs
}

/// Switches, each with the rank that stands in for it.
struct StandsIn(Vec<(usize, usize)>);

impl StandsIn {
    fn of(root: usize, rank: usize) -> StandsIn {
        StandsIn(if root == rank { Vec::new() } else { vec![(root, rank)] })
    }

    fn rank(&self, member: usize) -> usize {
        self.0.iter().find(|(switch, _)| *switch == member).map_or(member, |(_, rank)| *rank)
    }
}
