//! Crossbar: every node has a link into one non-blocking switch (link `n` of node `n`) and a link out of it (`nodes +
//! n`).

use super::Vertex;

#[inline]
pub(super) fn route(nodes: usize, from: usize, to: usize, mut visit: impl FnMut(usize)) {
    if from != to {
        visit(from);
        visit(nodes + to);
    }
}

pub(super) fn link_ends(nodes: usize, link: usize) -> (Vertex, Vertex) {
    if link < nodes { (Vertex::Node(link), Vertex::Switch(0)) } else { (Vertex::Switch(0), Vertex::Node(link - nodes)) }
}
