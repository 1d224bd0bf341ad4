//! Which node a rank of a grid of ranks is placed on.

use super::{Topology, gray};

/// How neighbouring ranks are placed on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Embedding {
    /// Rank r on node r.
    #[default]
    Identity,
    /// Neighbouring ranks on neighbouring nodes. On a hypercube the Gray code, on each axis of the grid of ranks for
    /// itself; on tori and meshes the ring order of a line of ranks. The same as [`Embedding::Identity`] where every
    /// node is behind a switch.
    Gray,
}

/// A grid of ranks that a topology cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    #[error("{ranks} ranks do not fit on {nodes} nodes")]
    TooManyRanks { ranks: usize, nodes: usize },
    #[error("the Gray embedding needs a power of two of ranks on every axis, not {0}")]
    NoPowerOfTwo(usize),
    #[error("no Gray embedding of {ranks:?} ranks on {nodes:?} nodes is known: use one axis of ranks or the identity")]
    OtherGrid { ranks: Vec<usize>, nodes: Vec<usize> },
}

impl Embedding {
    /// The word for it in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Embedding::Identity => "identity",
            Embedding::Gray => "gray",
        }
    }

    /// The node of each rank of a grid of ranks with the given extents, the last axis fastest (a ring has one axis).
    ///
    /// On a hypercube a line of ranks of any length may use the Gray code; its ends are neighbours when the length is a
    /// power of two.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::{Embedding, Topology};
    ///
    /// // Every two neighbours of a 2 by 4 grid of ranks are on nodes whose numbers differ in one bit.
    /// let nodes = Embedding::Gray.embed(&Topology::Hypercube { dimension: 3 }, &[2, 4]).unwrap();
    /// assert_eq!(nodes, [0, 1, 3, 2, 4, 5, 7, 6]);
    /// ```
    pub fn embed(self, topology: &Topology, shape: &[usize]) -> Result<Vec<usize>, EmbeddingError> {
        let nodes = topology.nodes();
        let ranks = shape.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent)).unwrap_or(usize::MAX);
        if ranks > nodes {
            return Err(EmbeddingError::TooManyRanks { ranks, nodes });
        }
        match (self, topology) {
            (Embedding::Gray, Topology::Hypercube { .. }) => gray_grid(shape, ranks),
            (Embedding::Gray, Topology::Torus { extents } | Topology::Mesh { extents }) => {
                if let [_] = shape {
                    Ok(topology.ring_order().into_iter().take(ranks).collect())
                } else if shape == extents {
                    Ok((0..ranks).collect())
                } else {
                    Err(EmbeddingError::OtherGrid { ranks: shape.to_vec(), nodes: extents.clone() })
                }
            }
            _ => Ok((0..ranks).collect()),
        }
    }
}

/// The Gray code of each coordinate in bits of its own: neighbours on the grid, wrapped around or not, differ in one
/// bit.
fn gray_grid(shape: &[usize], ranks: usize) -> Result<Vec<usize>, EmbeddingError> {
    if let [_] = shape {
        return Ok((0..ranks).map(gray::encode).collect());
    }
    if let Some(extent) = shape.iter().find(|extent| !extent.is_power_of_two()) {
        return Err(EmbeddingError::NoPowerOfTwo(*extent));
    }
    let node = |rank: usize| {
        let (mut rest, mut node, mut shift) = (rank, 0, 0);
        for extent in shape.iter().rev() {
            node |= gray::encode(rest % extent) << shift;
            rest /= extent;
            shift += extent.ilog2();
        }
        node
    };
    Ok((0..ranks).map(node).collect())
}
