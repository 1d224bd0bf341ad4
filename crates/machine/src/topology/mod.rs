//! The graphs that nodes, switches and links form, and the deterministic route between any two nodes.
//!
//! A [`Topology`] is a few numbers; whatever it is asked it computes from them, so a description of a machine stays
//! small and can be compared and printed. A [`Router`] is built from it once where routes are asked for millions of
//! times.
//!
//! Links are directed and numbered densely from 0, so a simulator keeps what it knows of them in plain arrays. Nodes
//! and switches are numbered from 0, each for themselves.

mod crossbar;
mod dragonfly;
mod embedding;
mod fat_tree;
pub mod gray;
mod grid;
mod hypercube;
mod router;
#[cfg(test)]
mod tests;
mod validate;

pub use embedding::{Embedding, EmbeddingError};
pub use router::Router;
pub use validate::{MAX_NODES, TopologyError};

use dragonfly::Dragonfly;
use grid::Grid;

/// A machine's topology. Nodes are numbered from 0; directed links from 0 to [`Topology::links`].
///
/// Every method but [`Topology::validate`] takes a valid topology for granted.
///
/// # Examples
/// ```
/// use weft_machine::Topology;
///
/// let cube = Topology::Hypercube { dimension: 4 };
/// assert_eq!((cube.nodes(), cube.links(), cube.diameter()), (16, 64, 4));
/// // Two levels of switches: nodes under one switch are two links apart, all others four.
/// let tree = Topology::FatTree { children: vec![4, 4], parents: vec![1, 4] };
/// assert_eq!((tree.nodes(), tree.hops(0, 3), tree.hops(0, 4)), (16, 2, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// 2^dimension nodes; nodes whose numbers differ in one bit are linked. Routes are e-cube: lowest bit first.
    Hypercube { dimension: u32 },
    /// Node numbers count the last axis fastest. Routes go axis by axis, first axis first, the shorter way round
    /// (towards higher coordinates where both ways are equally long).
    Torus { extents: Vec<usize> },
    /// As a torus without the links around.
    Mesh { extents: Vec<usize> },
    /// Extended generalised fat tree: level by level from the nodes, the children of a switch and the parents of what
    /// is below it. A k-ary n-tree has children `[k; n]` and parents `[1, k, k, …]`; fewer parents oversubscribe a
    /// level.
    FatTree { children: Vec<usize>, parents: Vec<usize> },
    /// Groups of fully connected routers; groups fully connected by global links. Routes take at most one global link.
    Dragonfly { groups: usize, routers_per_group: usize, nodes_per_router: usize, global_links_per_router: usize },
    /// Every node has a link into one non-blocking switch and a link out of it: every route is those two links.
    Crossbar { nodes: usize },
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vertex {
    Node(usize),
    Switch(usize),
}

impl Topology {
    /// The word for the kind of topology, as in a machine file.
    pub fn kind(&self) -> &'static str {
        match self {
            Topology::Hypercube { .. } => "hypercube",
            Topology::Torus { .. } => "torus",
            Topology::Mesh { .. } => "mesh",
            Topology::FatTree { .. } => "fat-tree",
            Topology::Dragonfly { .. } => "dragonfly",
            Topology::Crossbar { .. } => "crossbar",
        }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Topology::Hypercube { dimension } => hypercube::nodes(*dimension),
            Topology::Torus { extents } | Topology::Mesh { extents } => extents.iter().product(),
            Topology::FatTree { children, .. } => children.iter().product(),
            Topology::Dragonfly { groups, routers_per_group, nodes_per_router, .. } => {
                groups * routers_per_group * nodes_per_router
            }
            Topology::Crossbar { nodes } => *nodes,
        }
    }

    /// The number of switches that are no nodes, numbered from 0.
    pub fn switches(&self) -> usize {
        match self {
            Topology::Hypercube { .. } | Topology::Torus { .. } | Topology::Mesh { .. } => 0,
            Topology::FatTree { children, parents } => fat_tree::switches(children, parents),
            Topology::Dragonfly { groups, routers_per_group, .. } => groups * routers_per_group,
            Topology::Crossbar { .. } => 1,
        }
    }

    /// The number of directed links, numbered from 0.
    pub fn links(&self) -> usize {
        match self {
            Topology::Hypercube { dimension } => hypercube::links(*dimension),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().links(),
            Topology::FatTree { children, parents } => fat_tree::links(children, parents),
            Topology::Dragonfly { .. } => self.dragonfly().links(),
            Topology::Crossbar { nodes } => 2 * nodes,
        }
    }

    /// Whether links join nodes to nodes, so that messages pass through the nodes on their way.
    pub fn is_direct(&self) -> bool {
        self.switches() == 0
    }

    /// Calls `visit` with each link of the route from node `from` to node `to`, in order. Nothing when they are the
    /// same.
    #[inline]
    pub fn route(&self, from: usize, to: usize, visit: impl FnMut(usize)) {
        match self {
            Topology::Hypercube { dimension } => hypercube::route(*dimension, from, to, visit),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().route(from, to, visit),
            Topology::FatTree { children, parents } => fat_tree::route(children, parents, from, to, visit),
            Topology::Dragonfly { .. } => self.dragonfly().route(from, to, visit),
            Topology::Crossbar { nodes } => crossbar::route(*nodes, from, to, visit),
        }
    }

    /// The links of the route from node `from` to node `to`.
    pub fn hops(&self, from: usize, to: usize) -> usize {
        match self {
            Topology::Hypercube { .. } => hypercube::hops(from, to),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().hops(from, to),
            Topology::FatTree { children, .. } => fat_tree::hops(children, from, to),
            Topology::Dragonfly { .. } => self.dragonfly().hops(from, to),
            Topology::Crossbar { .. } => 2 * usize::from(from != to),
        }
    }

    /// The links of the longest route.
    pub fn diameter(&self) -> usize {
        match self {
            Topology::Hypercube { dimension } => *dimension as usize,
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().diameter(),
            Topology::FatTree { children, .. } => fat_tree::diameter(children),
            Topology::Dragonfly { .. } => self.dragonfly().diameter(),
            Topology::Crossbar { nodes } => 2 * usize::from(*nodes > 1),
        }
    }

    /// The next link of the route from node `at` to node `to`, and the node it leads to. `None` at the destination, and
    /// on topologies whose messages pass through switches ([`Topology::is_direct`]).
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Topology;
    ///
    /// // Routes on a torus go along the first axis first, the shorter way round.
    /// let torus = Topology::Torus { extents: vec![4, 4] };
    /// let mut visited = vec![0];
    /// while let Some((_, next)) = torus.next_hop(*visited.last().unwrap(), 14) {
    ///     visited.push(next);
    /// }
    /// assert_eq!(visited, [0, 12, 13, 14]);
    /// ```
    #[inline]
    pub fn next_hop(&self, at: usize, to: usize) -> Option<(usize, usize)> {
        match self {
            _ if at == to => None,
            Topology::Hypercube { dimension } => Some(hypercube::next_hop(*dimension, at, to)),
            Topology::Torus { .. } | Topology::Mesh { .. } => Some(self.grid().next_hop(at, to)),
            Topology::FatTree { .. } | Topology::Dragonfly { .. } | Topology::Crossbar { .. } => None,
        }
    }

    /// Where `link` starts and ends.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn link_ends(&self, link: usize) -> (Vertex, Vertex) {
        assert!(link < self.links(), "link {link} of a topology with {} links", self.links());
        match self {
            Topology::Hypercube { dimension } => hypercube::link_ends(*dimension, link),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().link_ends(link),
            Topology::FatTree { children, parents } => fat_tree::link_ends(children, parents, link),
            Topology::Dragonfly { .. } => self.dragonfly().link_ends(link),
            Topology::Crossbar { nodes } => crossbar::link_ends(*nodes, link),
        }
    }

    /// The nodes nearest to `node`: one link away on a direct network, under the same switch (or the nearest that are)
    /// on others. Each is named once.
    pub fn neighbours(&self, node: usize) -> Vec<usize> {
        match self {
            Topology::Hypercube { dimension } => hypercube::neighbours(*dimension, node),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().neighbours(node),
            Topology::FatTree { .. } | Topology::Dragonfly { .. } | Topology::Crossbar { .. } => {
                let others = || (0..self.nodes()).filter(|&other| other != node);
                let nearest = others().map(|other| self.hops(node, other)).min();
                others().filter(|&other| Some(self.hops(node, other)) == nearest).collect()
            }
        }
    }

    /// A node whose route from `from` has exactly `hops` links, if there is one: on a hypercube the one whose lowest
    /// `hops` bits differ (Dunigan 1991), elsewhere the one that fills the last axis or the lowest numbers first.
    pub fn at_distance(&self, from: usize, hops: usize) -> Option<usize> {
        match self {
            Topology::Hypercube { dimension } => hypercube::at_distance(*dimension, from, hops),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().at_distance(from, hops),
            Topology::FatTree { children, .. } => fat_tree::at_distance(children, from, hops),
            Topology::Dragonfly { .. } | Topology::Crossbar { .. } => {
                (0..self.nodes()).map(|step| (from + step) % self.nodes()).find(|&to| self.hops(from, to) == hops)
            }
        }
    }

    /// Every node once, consecutive ones as near as the topology allows: neighbours on direct networks (the Gray code
    /// on a hypercube, a snake on tori and meshes), by number elsewhere. The last and the first are neighbours too on
    /// every hypercube and torus, and on a mesh of an even number of nodes with two axes longer than one node.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Topology;
    ///
    /// // The Gray code: each node is a neighbour of the next one, and the last of the first.
    /// let cube = Topology::Hypercube { dimension: 3 };
    /// assert_eq!(cube.ring_order(), [0, 1, 3, 2, 6, 7, 5, 4]);
    /// ```
    pub fn ring_order(&self) -> Vec<usize> {
        match self {
            Topology::Hypercube { .. } => (0..self.nodes()).map(gray::encode).collect(),
            Topology::Torus { .. } | Topology::Mesh { .. } => self.grid().ring_order(),
            Topology::FatTree { .. } | Topology::Dragonfly { .. } | Topology::Crossbar { .. } => {
                (0..self.nodes()).collect()
            }
        }
    }

    /// A router for many routes on this topology.
    pub fn router(&self) -> Router {
        Router::new(self)
    }

    fn grid(&self) -> Grid<'_> {
        match self {
            Topology::Torus { extents } => Grid { extents, wraps: true },
            Topology::Mesh { extents } => Grid { extents, wraps: false },
            _ => unreachable!("only tori and meshes are grids"),
        }
    }

    fn dragonfly(&self) -> Dragonfly {
        match *self {
            Topology::Dragonfly { groups, routers_per_group, nodes_per_router, global_links_per_router } => {
                Dragonfly::new(groups, routers_per_group, nodes_per_router, global_links_per_router)
            }
            _ => unreachable!("only a dragonfly is one"),
        }
    }
}
