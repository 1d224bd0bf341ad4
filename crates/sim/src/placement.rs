//! On which node each rank runs.

use rustc_hash::FxHashMap;
use weft_machine::Machine;

/// The node of every rank, and whether a last rank runs on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    nodes: Nodes,
    ranks: usize,
    host: bool,
    shares_nodes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Nodes {
    /// Rank r on node r.
    Identity,
    /// As listed.
    Listed(Vec<u32>),
}

/// A placement the machine cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    #[error("{ranks} ranks do not fit on {machine}: it has {nodes} nodes")]
    TooManyRanks { machine: String, ranks: usize, nodes: usize },
    #[error("a run needs at least one rank")]
    NoRanks,
    #[error("rank {rank} is placed on node {node}, but {machine} has nodes 0 to {last}")]
    NoSuchNode { machine: String, rank: usize, node: usize, last: usize },
    #[error("ranks {first} and {second} are both placed on node {node}")]
    NodeTaken { first: usize, second: usize, node: usize },
    #[error("{machine} has no host")]
    NoHost { machine: String },
}

impl Placement {
    /// Rank r on node r, for `ranks` ranks.
    pub fn identity(ranks: usize) -> Placement {
        Placement { nodes: Nodes::Identity, ranks, host: false, shares_nodes: false }
    }

    /// Rank r on node `nodes[r]`.
    ///
    /// # Examples
    /// ```
    /// # use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag};
    /// # #[derive(Clone)]
    /// # struct OneMessage;
    /// # impl Program for OneMessage {
    /// #     type Output = f64;
    /// #     async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
    /// #         if comm.rank() == 0 {
    /// #             comm.send(1, Tag::User(0), Payload::Phantom(64)).await?;
    /// #         } else {
    /// #             comm.recv(Source::Rank(0), Tag::User(0).into(), Payload::Phantom(64)).await?;
    /// #         }
    /// #         Ok(comm.wtime())
    /// #     }
    /// # }
    /// use weft_sim::{Options, Placement, run};
    ///
    /// let machine = weft_machine::find("ipsc860").unwrap();
    /// let seconds = |nodes: &[usize]| {
    ///     run(&machine, &Placement::listed(nodes), &OneMessage, &Options::default()).unwrap().outputs[1]
    /// };
    /// // Node 127 is seven links away from node 0, node 1 is one link away.
    /// assert!((seconds(&[0, 127]) - seconds(&[0, 1]) - 6.0 * machine.protocol(64).hop_time).abs() < 1e-9);
    /// ```
    pub fn listed(nodes: &[usize]) -> Placement {
        let listed = nodes.iter().map(|&node| u32::try_from(node).unwrap_or(u32::MAX)).collect();
        Placement { nodes: Nodes::Listed(listed), ranks: nodes.len(), host: false, shares_nodes: false }
    }

    /// Several ranks may run on one node, each on an equal part of its processors. A message between two of them takes
    /// what a self-message takes, a copy by its sender; the links of the node are shared by all.
    pub fn with_shared_nodes(mut self) -> Placement {
        self.shares_nodes = true;
        self
    }

    /// Whether several ranks may run on one node.
    pub fn shares_nodes(&self) -> bool {
        self.shares_nodes
    }

    /// How many ranks run on the node of each rank.
    pub(crate) fn sharers(&self) -> Vec<u32> {
        let mut on_node = FxHashMap::<usize, u32>::default();
        for rank in 0..self.ranks {
            *on_node.entry(self.node(rank)).or_default() += 1;
        }
        (0..self.ranks).map(|rank| on_node[&self.node(rank)]).collect()
    }

    /// With one more rank, the last, on the machine's host.
    pub fn with_host(mut self) -> Placement {
        self.host = true;
        self
    }

    /// The number of ranks, the host's included.
    pub fn ranks(&self) -> usize {
        self.ranks + usize::from(self.host)
    }

    /// The rank on the host, if there is one.
    pub fn host_rank(&self) -> Option<usize> {
        self.host.then_some(self.ranks)
    }

    /// The node of `rank`; of the host's rank, the node that the host is attached to.
    #[inline]
    pub fn node(&self, rank: usize) -> usize {
        if rank == self.ranks {
            return 0;
        }
        match &self.nodes {
            Nodes::Identity => rank,
            Nodes::Listed(nodes) => nodes[rank] as usize,
        }
    }

    /// Whether `machine` can hold it.
    ///
    /// # Errors
    /// [`PlacementError`], saying what does not fit.
    pub fn check(&self, machine: &Machine) -> Result<(), PlacementError> {
        let name = || machine.name.clone();
        if self.ranks == 0 {
            return Err(PlacementError::NoRanks);
        }
        if self.ranks > machine.nodes() && !self.shares_nodes {
            return Err(PlacementError::TooManyRanks { machine: name(), ranks: self.ranks, nodes: machine.nodes() });
        }
        if self.host && machine.host.is_none() {
            return Err(PlacementError::NoHost { machine: name() });
        }
        let Nodes::Listed(nodes) = &self.nodes else {
            return Ok(());
        };
        let mut taken = FxHashMap::default();
        for (rank, &node) in nodes.iter().enumerate() {
            let node = node as usize;
            if node >= machine.nodes() {
                return Err(PlacementError::NoSuchNode { machine: name(), rank, node, last: machine.nodes() - 1 });
            }
            if let Some(first) = taken.insert(node, rank).filter(|_| !self.shares_nodes) {
                return Err(PlacementError::NodeTaken { first, second: rank, node });
            }
        }
        Ok(())
    }
}
