//! Routes asked for millions of times.
//!
//! A route on a torus costs a division or two for every axis when it is computed from the extents alone. A router looks
//! coordinates and lines up instead: eight bytes for each node and axis, 16 KiB for a 32x32 torus, never a table of
//! pairs. Where that is more than [`MAX_POSITIONS`], it is computed.

use super::dragonfly::Dragonfly;
use super::grid::{step, walk};
use super::{Topology, crossbar, fat_tree, hypercube};

/// The most entries of a table: a machine of millions of nodes must not cost more than what is done on it.
const MAX_POSITIONS: usize = 1 << 20;

/// Routes on one topology, the same as [`Topology::route`] gives, from small tables.
///
/// # Examples
/// ```
/// use weft_machine::Topology;
///
/// let torus = Topology::Torus { extents: vec![4, 6] };
/// let (router, mut links, mut expected) = (torus.router(), Vec::new(), Vec::new());
/// router.route(1, 21, |link| links.push(link));
/// torus.route(1, 21, |link| expected.push(link));
/// assert_eq!((&links, links.len()), (&expected, 3));
/// ```
#[derive(Clone, Debug)]
pub struct Router {
    topology: Topology,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Grid(GridRouter),
    Dragonfly(Dragonfly),
    /// Computed from the topology: nothing to look up.
    Direct,
}

#[derive(Clone, Debug)]
struct GridRouter {
    wraps: bool,
    axes: Vec<AxisTable>,
    /// For each node, for each axis.
    positions: Vec<Position>,
}

#[derive(Clone, Copy, Debug)]
struct AxisTable {
    extent: u32,
    stride: u32,
    /// From the first link of a line upwards to the first downwards.
    down: u32,
}

/// Where a node lies on an axis: its coordinate, and the first link of its line towards higher coordinates.
#[derive(Clone, Copy, Debug)]
struct Position {
    coordinate: u32,
    up: u32,
}

impl Router {
    pub fn new(topology: &Topology) -> Router {
        let kind = match topology {
            Topology::Torus { extents } | Topology::Mesh { extents }
                if topology.nodes().saturating_mul(extents.len()) <= MAX_POSITIONS =>
            {
                Kind::Grid(GridRouter::new(topology))
            }
            Topology::Dragonfly { .. } => Kind::Dragonfly(topology.dragonfly()),
            _ => Kind::Direct,
        };
        Router { topology: topology.clone(), kind }
    }

    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// As [`Topology::route`].
    #[inline]
    pub fn route(&self, from: usize, to: usize, visit: impl FnMut(usize)) {
        match (&self.kind, &self.topology) {
            (Kind::Grid(grid), _) => grid.route(from, to, visit),
            (Kind::Dragonfly(dragonfly), _) => dragonfly.route(from, to, visit),
            (_, Topology::Hypercube { dimension }) => hypercube::route(*dimension, from, to, visit),
            (_, Topology::FatTree { children, parents }) => fat_tree::route(children, parents, from, to, visit),
            (_, Topology::Crossbar { nodes }) => crossbar::route(*nodes, from, to, visit),
            (_, topology) => topology.route(from, to, visit),
        }
    }

    /// As [`Topology::next_hop`].
    #[inline]
    pub fn next_hop(&self, at: usize, to: usize) -> Option<(usize, usize)> {
        match &self.kind {
            Kind::Grid(grid) => grid.next_hop(at, to),
            _ => self.topology.next_hop(at, to),
        }
    }

    /// As [`Topology::hops`].
    #[inline]
    pub fn hops(&self, from: usize, to: usize) -> usize {
        match &self.kind {
            Kind::Grid(grid) => grid.hops(from, to),
            Kind::Dragonfly(dragonfly) => dragonfly.hops(from, to),
            Kind::Direct => self.topology.hops(from, to),
        }
    }
}

impl GridRouter {
    fn new(topology: &Topology) -> GridRouter {
        let grid = topology.grid();
        let axes: Vec<_> = grid.axes().filter(|axis| axis.extent > 1).collect();
        let mut positions = Vec::with_capacity(grid.nodes() * axes.len());
        for node in 0..grid.nodes() {
            positions.extend(axes.iter().map(|axis| Position {
                coordinate: (node / axis.stride % axis.extent) as u32,
                up: (axis.up + axis.line(node) * axis.line_links) as u32,
            }));
        }
        let axes = axes
            .iter()
            .map(|axis| AxisTable {
                extent: axis.extent as u32,
                stride: axis.stride as u32,
                down: (axis.down - axis.up) as u32,
            })
            .collect();
        GridRouter { wraps: grid.wraps, axes, positions }
    }

    #[inline]
    fn positions(&self, node: usize) -> &[Position] {
        &self.positions[node * self.axes.len()..][..self.axes.len()]
    }

    #[inline]
    fn route(&self, from: usize, to: usize, mut visit: impl FnMut(usize)) {
        let (sources, targets) = (self.positions(from), self.positions(to));
        let mut at = from;
        for (index, axis) in self.axes.iter().enumerate() {
            let (x, y) = (sources[index].coordinate as usize, targets[index].coordinate as usize);
            if x != y {
                let up = self.positions(at)[index].up as usize;
                walk(self.wraps, axis.extent as usize, x, y, up, up + axis.down as usize, &mut visit);
                at = at + y * axis.stride as usize - x * axis.stride as usize;
            }
        }
    }

    #[inline]
    fn next_hop(&self, at: usize, to: usize) -> Option<(usize, usize)> {
        let (positions, targets) = (self.positions(at), self.positions(to));
        let index =
            positions.iter().zip(targets).position(|(position, target)| position.coordinate != target.coordinate)?;
        let (axis, position) = (&self.axes[index], positions[index]);
        let (x, y, up) = (position.coordinate as usize, targets[index].coordinate as usize, position.up as usize);
        let (link, next) = step(self.wraps, axis.extent as usize, x, y, up, up + axis.down as usize);
        Some((link, at + next * axis.stride as usize - x * axis.stride as usize))
    }

    #[inline]
    fn hops(&self, from: usize, to: usize) -> usize {
        let pairs = self.positions(from).iter().zip(self.positions(to)).zip(&self.axes);
        pairs
            .map(|((x, y), axis)| {
                let direct = x.coordinate.abs_diff(y.coordinate);
                (if self.wraps { direct.min(axis.extent - direct) } else { direct }) as usize
            })
            .sum()
    }
}
