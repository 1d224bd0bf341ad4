//! Extended generalised fat tree XGFT(h; m1..mh; w1..wh) of Öhring, Ibel, Das and Kumar (1995), nodes at level 0.
//!
//! A vertex of level i-1 has w_i parents at level i; a switch of level i has m_i children. With M_i = m1..mi and
//! W_i = w1..wi, a vertex of level i is named by x (of nodes/M_i) and Y < W_i; its parents have x/m_(i+1) and each Y'
//! with Y' mod W_i = Y. Routes climb to the lowest common ancestor, and the parent is chosen by the destination
//! (Y = destination mod W_i, D-mod-K), which spreads the destinations of a leaf evenly over its up links.
//!
//! The edge from the vertex (x, Y mod W_(i-1)) to its parent with Y has number x W_i + Y within its level. Links are
//! numbered level by level from the nodes, in each level first all up links, then all down links, by edge.

use super::Vertex;

/// Numbers of one level's links and vertices.
struct Level {
    /// m1..m(i-1), nodes below a vertex under the links.
    below: usize,
    /// m_i.
    children: usize,
    /// w1..w(i-1).
    lower_width: usize,
    /// w1..wi.
    width: usize,
    /// Edges between level i-1 and level i.
    edges: usize,
    /// The first up link; down links start `edges` later.
    first_link: usize,
    /// The first switch of level i-1 (meaningless for nodes) and of level i.
    lower_switch: usize,
    upper_switch: usize,
}

fn levels<'a>(children: &'a [usize], parents: &'a [usize]) -> impl Iterator<Item = Level> + 'a {
    let nodes: usize = children.iter().product();
    let (mut below, mut lower_width, mut first_link) = (1, 1, 0);
    let (mut lower_switch, mut upper_switch) = (0, 0);
    children.iter().zip(parents).map(move |(&children, &parents)| {
        let width = lower_width * parents;
        let edges = nodes / below * width;
        let level = Level { below, children, lower_width, width, edges, first_link, lower_switch, upper_switch };
        below *= children;
        lower_width = width;
        first_link += 2 * edges;
        lower_switch = upper_switch;
        upper_switch += nodes / below * width;
        level
    })
}

pub(super) fn links(children: &[usize], parents: &[usize]) -> usize {
    levels(children, parents).map(|level| 2 * level.edges).sum()
}

pub(super) fn switches(children: &[usize], parents: &[usize]) -> usize {
    levels(children, parents).map(|level| level.edges / level.children).sum()
}

/// The level of the lowest common ancestor.
#[inline]
fn meeting_level(children: &[usize], from: usize, to: usize) -> usize {
    let (mut from, mut to, mut level) = (from, to, 0);
    while from != to {
        from /= children[level];
        to /= children[level];
        level += 1;
    }
    level
}

#[inline]
pub(super) fn route(children: &[usize], parents: &[usize], from: usize, to: usize, mut visit: impl FnMut(usize)) {
    let top = meeting_level(children, from, to);
    // The link of each level's edge is known only when climbing; coming down walks the levels backwards.
    let mut down = [0usize; MAX_LEVELS];
    for (index, level) in levels(children, parents).take(top).enumerate() {
        let lane = to % level.width;
        visit(level.first_link + from / level.below * level.width + lane);
        down[index] = level.first_link + level.edges + to / level.below * level.width + lane;
    }
    down[..top].iter().rev().copied().for_each(visit);
}

/// The most levels a fat tree may have: 2^24 nodes of arity two.
pub(super) const MAX_LEVELS: usize = 24;

pub(super) fn hops(children: &[usize], from: usize, to: usize) -> usize {
    2 * meeting_level(children, from, to)
}

pub(super) fn diameter(children: &[usize]) -> usize {
    2 * children.iter().rposition(|&count| count > 1).map_or(0, |level| level + 1)
}

pub(super) fn link_ends(children: &[usize], parents: &[usize], link: usize) -> (Vertex, Vertex) {
    let (index, level) = levels(children, parents)
        .enumerate()
        .find(|(_, level)| link < level.first_link + 2 * level.edges)
        .expect("a link of the fat tree");
    let offset = link - level.first_link;
    let edge = offset % level.edges;
    let (x, lane) = (edge / level.width, edge % level.width);
    let lower = x * level.lower_width + lane % level.lower_width;
    let lower = if index == 0 { Vertex::Node(lower) } else { Vertex::Switch(level.lower_switch + lower) };
    let upper = Vertex::Switch(level.upper_switch + x / level.children * level.width + lane);
    if offset < level.edges { (lower, upper) } else { (upper, lower) }
}

/// A node whose lowest common ancestor with `from` is `hops / 2` levels up.
pub(super) fn at_distance(children: &[usize], from: usize, hops: usize) -> Option<usize> {
    let level = hops / 2;
    if hops == 0 {
        return Some(from);
    }
    if hops % 2 == 1 || level > children.len() || children[level - 1] < 2 {
        return None;
    }
    let below: usize = children[..level - 1].iter().product();
    let digit = from / below % children[level - 1];
    Some(from - digit * below + (digit + 1) % children[level - 1] * below)
}
