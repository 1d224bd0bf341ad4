//! Routes over channels: axis by axis, with a second pool from the dateline of an axis on.

use weft_machine::{Topology, Vertex};

/// A channel of a link in a pool: what is taken one header at a time.
pub(super) type Pool = u64;

/// Whether a link joins the last coordinate of its axis to the first.
fn is_dateline(topology: &Topology, link: usize) -> bool {
    let Topology::Torus { extents } = topology else { return false };
    let (Vertex::Node(from), Vertex::Node(to)) = topology.link_ends(link) else { return false };
    coordinates(extents, from).into_iter().zip(coordinates(extents, to)).any(|(x, y)| x.abs_diff(y) > 1)
}

fn coordinates(extents: &[usize], node: usize) -> Vec<usize> {
    let mut rest = node;
    let mut coordinates: Vec<usize> = extents
        .iter()
        .rev()
        .map(|extent| {
            let coordinate = rest % extent;
            rest /= extent;
            coordinate
        })
        .collect();
    coordinates.reverse();
    coordinates
}

/// The links of a message with their pools: the second from the dateline to the end of the axis.
pub(super) fn route(topology: &Topology, from: usize, to: usize) -> Vec<(u32, Pool)> {
    let mut route = Vec::new();
    let (mut axis, mut second) = (None, false);
    topology.route(from, to, |link| {
        let here = axis_of(topology, link);
        if axis != here {
            (axis, second) = (here, false);
        }
        second |= is_dateline(topology, link);
        route.push((link as u32, 2 * link as u64 + u64::from(second)));
    });
    route
}

/// The axis that a link of a torus lies along.
fn axis_of(topology: &Topology, link: usize) -> Option<usize> {
    let Topology::Torus { extents } = topology else { return None };
    let (Vertex::Node(from), Vertex::Node(to)) = topology.link_ends(link) else { return None };
    let (from, to) = (coordinates(extents, from), coordinates(extents, to));
    from.iter().zip(&to).position(|(x, y)| x != y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_pool_begins_at_the_dateline_and_ends_with_the_axis() {
        let topology = Topology::Torus { extents: vec![4, 4] };
        let of = |from, to| -> Vec<u64> { route(&topology, from, to).iter().map(|(_, pool)| pool % 2).collect() };
        assert_eq!(of(0, 5), [0, 0]);
        assert_eq!(of(3 * 4, 4), [1, 1], "over the line and one more");
        assert_eq!(of(2 * 4 + 3, 0), [0, 1, 1], "down to the line of one axis, then over that of the other");
        assert_eq!(of(3 * 4, 2), [1, 0, 0]);
    }
}
