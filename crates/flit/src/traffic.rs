//! Who sends to whom.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_machine::Topology;

/// Where the packets of a node go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every node with the same probability, the sender too.
    Uniform,
    /// Node 0 takes a tenth of all packets more than its share.
    HotSpot,
    /// The halves of the bits of a node's number change places.
    Transpose,
    /// Every bit of a node's number is inverted.
    BitComplement,
    /// The bits of a node's number in reverse.
    BitReverse,
    /// The bits of a node's number move up by one, the first of them to the end.
    Shuffle,
    /// Almost half way round on every axis: ceil(k/2) - 1 nodes on.
    Tornado,
    /// The next node on every axis.
    Neighbour,
}

impl Pattern {
    pub const ALL: [Pattern; 8] = [
        Pattern::Uniform,
        Pattern::HotSpot,
        Pattern::Transpose,
        Pattern::BitComplement,
        Pattern::BitReverse,
        Pattern::Shuffle,
        Pattern::Tornado,
        Pattern::Neighbour,
    ];

    /// As people ask for it.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::HotSpot => "hot-spot",
            Pattern::Transpose => "transpose",
            Pattern::BitComplement => "bit-complement",
            Pattern::BitReverse => "bit-reverse",
            Pattern::Shuffle => "shuffle",
            Pattern::Tornado => "tornado",
            Pattern::Neighbour => "neighbour",
        }
    }
}

/// The share of hot-spot traffic that goes to the hot spot besides uniform traffic.
const HOT_SHARE: f64 = 0.1;

/// A pattern on the nodes of a network.
#[derive(Clone, Debug)]
pub struct Traffic {
    nodes: usize,
    /// What node 0 takes besides uniform traffic.
    hot: f64,
    /// Where each node sends, where that is always the same.
    fixed: Option<Vec<u32>>,
}

impl Traffic {
    /// `pattern` on the nodes of `topology`; on one that is neither torus nor mesh all nodes are one axis.
    ///
    /// # Errors
    /// What is wrong, for patterns of bits where the number of nodes is no power of two (of four for `transpose`).
    ///
    /// # Examples
    /// ```
    /// use weft_flit::{Pattern, Traffic};
    /// use weft_machine::Topology;
    ///
    /// let torus = Topology::Torus { extents: vec![8, 8] };
    /// let to = |pattern| Traffic::new(pattern, &torus).unwrap().fixed().unwrap()[10];
    /// // Row 1, column 2 sends to row 2, column 1; or three nodes on along both axes; or to the number 001010 as 010100.
    /// assert_eq!((to(Pattern::Transpose), to(Pattern::Tornado), to(Pattern::Shuffle)), (17, 37, 20));
    /// ```
    pub fn new(pattern: Pattern, topology: &Topology) -> Result<Traffic, String> {
        let nodes = topology.nodes();
        let hot = if pattern == Pattern::HotSpot { HOT_SHARE } else { 0.0 };
        let fixed = match pattern {
            Pattern::Uniform | Pattern::HotSpot => None,
            Pattern::Transpose | Pattern::BitComplement | Pattern::BitReverse | Pattern::Shuffle => {
                Some(by_bits(pattern, nodes)?)
            }
            Pattern::Tornado | Pattern::Neighbour => Some(by_axes(pattern, topology)),
        };
        Ok(Traffic { nodes, hot, fixed })
    }

    /// Where a packet of `node` goes.
    pub fn destination(&self, node: usize, random: &mut Xoshiro256PlusPlus) -> usize {
        match &self.fixed {
            Some(fixed) => fixed[node] as usize,
            None if self.hot > 0.0 && random.random::<f64>() < self.hot => 0,
            None => random.random_range(0..self.nodes),
        }
    }

    /// Where each node always sends; `None` where chance decides.
    pub fn fixed(&self) -> Option<&[u32]> {
        self.fixed.as_deref()
    }
}

fn by_bits(pattern: Pattern, nodes: usize) -> Result<Vec<u32>, String> {
    let bits = nodes.trailing_zeros();
    if !nodes.is_power_of_two() || (pattern == Pattern::Transpose && bits % 2 == 1) {
        let power = if pattern == Pattern::Transpose { "four" } else { "two" };
        return Err(format!("{} is of bits of a node's number: {nodes} nodes are no power of {power}", pattern.name()));
    }
    let to = |node: usize| match pattern {
        Pattern::Transpose => (node >> (bits / 2)) | (node << (bits / 2) & (nodes - 1)),
        Pattern::BitComplement => !node & (nodes - 1),
        Pattern::Shuffle => (node << 1 | node >> (bits.max(1) - 1)) & (nodes - 1),
        _ => (0..bits).fold(0, |reverse, bit| reverse << 1 | (node >> bit & 1)),
    };
    Ok((0..nodes).map(|node| to(node) as u32).collect())
}

fn by_axes(pattern: Pattern, topology: &Topology) -> Vec<u32> {
    let extents = match topology {
        Topology::Torus { extents } | Topology::Mesh { extents } => extents.clone(),
        _ => vec![topology.nodes()],
    };
    let moved = |extent: usize, at: usize| {
        let by = if pattern == Pattern::Tornado { extent.div_ceil(2) - 1 } else { 1 };
        (at + by) % extent
    };
    let to = |node: usize| {
        let (mut rest, mut stride, mut to) = (node, 1, 0);
        for &extent in extents.iter().rev() {
            to += moved(extent, rest % extent) * stride;
            (rest, stride) = (rest / extent, stride * extent);
        }
        to as u32
    };
    (0..topology.nodes()).map(to).collect()
}
