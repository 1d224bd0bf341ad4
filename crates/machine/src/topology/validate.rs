//! Which parameters describe a topology.

use super::{Topology, fat_tree};

/// The most nodes a topology may have, so that every link number fits in 32 bits.
pub const MAX_NODES: usize = 1 << 24;

/// The most pairs of opposite links: numbers of links, and of the two ends of nodes behind them, fit in 32 bits.
const MAX_EDGES: usize = u32::MAX as usize / 2 - MAX_NODES;

/// Why a topology cannot be: the parameter at fault and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: expected {expected}")]
pub struct TopologyError {
    /// The parameter, as in a machine file.
    pub key: &'static str,
    pub expected: String,
}

fn fail(key: &'static str, expected: impl Into<String>) -> Result<(), TopologyError> {
    Err(TopologyError { key, expected: expected.into() })
}

impl Topology {
    /// Whether the parameters describe a topology of at most [`MAX_NODES`] nodes and as many links as fit in 32 bits.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Topology;
    ///
    /// assert!(Topology::Mesh { extents: vec![8, 8] }.validate().is_ok());
    /// assert_eq!(Topology::Hypercube { dimension: 99 }.validate().unwrap_err().key, "dimension");
    /// ```
    pub fn validate(&self) -> Result<(), TopologyError> {
        match self {
            Topology::Hypercube { dimension } => hypercube(*dimension),
            Topology::Torus { extents } | Topology::Mesh { extents } => grid(extents),
            Topology::FatTree { children, parents } => fat_tree(children, parents),
            Topology::Dragonfly { groups, routers_per_group, nodes_per_router, global_links_per_router } => {
                dragonfly(*groups, *routers_per_group, *nodes_per_router, *global_links_per_router)
            }
            Topology::Crossbar { nodes: 0 } => fail("nodes", "at least 1"),
            Topology::Crossbar { nodes } => not_too_many("nodes", &[*nodes]),
        }
    }
}

fn not_too_many(key: &'static str, factors: &[usize]) -> Result<(), TopologyError> {
    let nodes = factors.iter().try_fold(1usize, |product, factor| product.checked_mul(*factor));
    match nodes {
        Some(nodes) if nodes <= MAX_NODES => Ok(()),
        _ => fail(key, format!("at most {MAX_NODES} nodes in all")),
    }
}

fn hypercube(dimension: u32) -> Result<(), TopologyError> {
    let most = MAX_NODES.ilog2();
    if dimension > most { fail("dimension", format!("0 to {most} (at most {MAX_NODES} nodes)")) } else { Ok(()) }
}

fn grid(extents: &[usize]) -> Result<(), TopologyError> {
    if extents.is_empty() || extents.len() > 16 {
        return fail("extents", "1 to 16 numbers of nodes, one for each axis");
    }
    if extents.contains(&0) {
        return fail("extents", "at least 1 node on every axis");
    }
    not_too_many("extents", extents)
}

fn fat_tree(children: &[usize], parents: &[usize]) -> Result<(), TopologyError> {
    if children.is_empty() || children.len() > fat_tree::MAX_LEVELS {
        return fail("children", format!("1 to {} numbers, one for each level", fat_tree::MAX_LEVELS));
    }
    if children.contains(&0) {
        return fail("children", "at least 1 child at every level");
    }
    if parents.len() != children.len() {
        return fail("parents", format!("{} numbers, as many as children", children.len()));
    }
    if parents.contains(&0) {
        return fail("parents", "at least 1 parent at every level");
    }
    not_too_many("children", children)?;
    let (mut below, mut width, mut edges) = (children.iter().product::<usize>(), 1usize, 0usize);
    for (&children, &parents) in children.iter().zip(parents) {
        width = width.saturating_mul(parents);
        edges = edges.saturating_add(below.saturating_mul(width));
        below /= children;
    }
    if edges > MAX_EDGES { fail("parents", format!("at most {} links in all", 2 * MAX_EDGES)) } else { Ok(()) }
}

fn dragonfly(groups: usize, routers: usize, nodes: usize, global_links: usize) -> Result<(), TopologyError> {
    let counts = [("groups", groups), ("routers_per_group", routers), ("nodes_per_router", nodes)];
    if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
        return fail(key, "at least 1");
    }
    not_too_many("groups", &counts.map(|(_, count)| count))?;
    let per_group = routers.saturating_mul(global_links);
    if per_group < groups - 1 {
        let needed = (groups - 1).div_ceil(routers);
        let reason = format!("so that each of the {groups} groups is linked to every other");
        return fail("global_links_per_router", format!("at least {needed}, {reason}"));
    }
    let links = groups.saturating_mul(per_group.saturating_add(routers * routers));
    if links > MAX_EDGES { fail("routers_per_group", format!("at most {MAX_EDGES} links in all")) } else { Ok(()) }
}
