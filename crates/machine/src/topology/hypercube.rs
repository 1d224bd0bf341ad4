//! Hypercube: 2^dimension nodes, linked where their numbers differ in one bit; e-cube routes, lowest bit first.
//!
//! The link out of node `n` that flips bit `b` is `n * dimension + b`.

use super::Vertex;

pub(super) fn nodes(dimension: u32) -> usize {
    1 << dimension
}

pub(super) fn links(dimension: u32) -> usize {
    (dimension as usize) << dimension
}

#[inline]
pub(super) fn route(dimension: u32, from: usize, to: usize, mut visit: impl FnMut(usize)) {
    let (mut at, mut differing) = (from, from ^ to);
    while differing != 0 {
        let bit = differing.trailing_zeros() as usize;
        visit(at * dimension as usize + bit);
        at ^= 1 << bit;
        differing &= differing - 1;
    }
}

pub(super) fn hops(from: usize, to: usize) -> usize {
    (from ^ to).count_ones() as usize
}

/// The next link and node on the e-cube route.
#[inline]
pub(super) fn next_hop(dimension: u32, at: usize, to: usize) -> (usize, usize) {
    let bit = (at ^ to).trailing_zeros() as usize;
    (at * dimension as usize + bit, at ^ (1 << bit))
}

pub(super) fn link_ends(dimension: u32, link: usize) -> (Vertex, Vertex) {
    let (node, bit) = (link / dimension as usize, link % dimension as usize);
    (Vertex::Node(node), Vertex::Node(node ^ (1 << bit)))
}

pub(super) fn neighbours(dimension: u32, node: usize) -> Vec<usize> {
    (0..dimension).map(|bit| node ^ (1 << bit)).collect()
}

/// The node with the lowest `hops` bits flipped, as in the echo tests of Dunigan 1991.
pub(super) fn at_distance(dimension: u32, from: usize, hops: usize) -> Option<usize> {
    (hops <= dimension as usize).then(|| from ^ ((1 << hops) - 1))
}
