//! Trees of as few messages one after another as a network allows, for networks that are the same nowhere.
//!
//! They are there at once, whatever the network: for data so short that the depth of a tree counts, and for who cannot wait
//! for better ones.

use crate::bound::Edge;
use crate::packing::PackedTree;
use crate::symmetric::{Moved, Paths};

/// One tree at every root, breadth first; who can be reached from several is sent to by the one that sends least so far.
/// `None` where somebody is not reached.
pub fn trees(paths: &Paths, edges: &[Edge], ranks: &[usize], roots: &[usize]) -> Option<Moved> {
    let of_root = |&root: &usize| {
        let start = ranks.iter().position(|&rank| rank == root)?;
        Some(PackedTree { root, weight: 1, edges: tree(paths, ranks, start)? })
    };
    Some(Moved::whole(roots.iter().map(of_root).collect::<Option<_>>()?, edges))
}

fn tree(paths: &Paths, ranks: &[usize], root: usize) -> Option<Vec<(usize, usize, Vec<u32>)>> {
    let mut is_reached = vec![false; ranks.len()];
    is_reached[root] = true;
    let mut sent = vec![0u32; ranks.len()];
    let (mut tree, mut layer) = (Vec::with_capacity(ranks.len() - 1), vec![root]);
    let mut from: Vec<Option<usize>> = vec![None; ranks.len()];
    while tree.len() + 1 < ranks.len() {
        let mut next = Vec::new();
        for &rank in &layer {
            for (to, _) in paths.from(rank).iter().filter(|(to, _)| !is_reached[*to as usize]) {
                let to = *to as usize;
                match from[to] {
                    None => next.push(to),
                    Some(known) if sent[known] <= sent[rank] => continue,
                    Some(known) => sent[known] -= 1,
                }
                sent[rank] += 1;
                from[to] = Some(rank);
            }
        }
        if next.is_empty() {
            return None;
        }
        for &to in &next {
            let rank = from[to].expect("who is met is met from somewhere");
            is_reached[to] = true;
            tree.push((ranks[rank], ranks[to], paths.get(rank, to)?.to_vec()));
        }
        layer = next;
    }
    Some(tree)
}
