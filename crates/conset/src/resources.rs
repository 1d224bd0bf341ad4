//! What connections take of a machine, and what there is of it.

use serde::{Deserialize, Serialize};
use weft_machine::{Access, Machine, Topology};

/// The resources a schedule is made for: the topology, what may be open at once, and what time things take.
///
/// It is written into every schedule, so that a schedule can be checked without the machine file it was made with.
///
/// * `node_channels`: a connection takes a logical channel at each node of its route, so one of d hops takes d + 1, both
///   ends included (Feldmann, Stricker and Warfel 1993, sections 4.1.2 and 4.4.1; the only reading that gives the paper's
///   one phase of the Gray-mapped hypercube with 16 channels and two with 12). Switches have no such limit.
/// * `link_channels`: a connection takes one of the channels of each link it crosses.
/// * `ports`: how many circuits a node may start, and as many end, at once (a phase is then a b-matching).
/// * A word takes `access_seconds` at its source and at its destination, one connection at a time (`access` says whether
///   a node sends and receives at once), and `link_seconds` of each link it crosses, which connections share.
/// * A word needs `hop_seconds` for each link of its route besides, so that a phase ends when its last word has arrived.
/// * Every phase costs `synchronisation_seconds + phase_seconds` before its transfers start, and leaving the last one
///   `leaving_seconds`, because no node may give its channels away before all are through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    #[serde(with = "TopologyWords")]
    pub topology: Topology,
    pub node_channels: Option<u32>,
    pub link_channels: Option<u32>,
    pub ports: Option<u32>,
    #[serde(with = "AccessWords")]
    pub access: Access,
    /// Bytes of a word.
    pub word_bytes: u64,
    /// s a word.
    pub access_seconds: f64,
    /// s a word.
    pub link_seconds: f64,
    /// s a phase.
    pub synchronisation_seconds: f64,
    /// s a phase.
    pub phase_seconds: f64,
    /// s a hop. Schedules of before it was considered have none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hop_seconds: f64,
    /// s, once. As `hop_seconds`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub leaving_seconds: f64,
}

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// How a topology is written into a schedule: as in a machine file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Topology", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum TopologyWords {
    Hypercube {
        dimension: u32,
    },
    Torus {
        extents: Vec<usize>,
    },
    Mesh {
        extents: Vec<usize>,
    },
    FatTree {
        children: Vec<usize>,
        parents: Vec<usize>,
    },
    #[serde(rename_all = "snake_case")]
    Dragonfly {
        groups: usize,
        routers_per_group: usize,
        nodes_per_router: usize,
        global_links_per_router: usize,
    },
    Crossbar {
        nodes: usize,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Access", rename_all = "kebab-case")]
enum AccessWords {
    Separate,
    Shared,
}

/// A machine whose file does not say what connections take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{machine} has no connections: its file has no table [connections] (see machines/iwarp64.toml for one); \
     machines with connections: {others}"
)]
pub struct NoConnections {
    pub machine: String,
    pub others: String,
}

impl Resources {
    /// What the machine file says.
    ///
    /// # Errors
    /// For a machine without a table `[connections]`.
    ///
    /// # Examples
    /// ```
    /// use weft_conset::Resources;
    ///
    /// let iwarp = Resources::of(&weft_machine::find("iwarp64").unwrap()).unwrap();
    /// assert_eq!((iwarp.word_bytes, iwarp.topology.nodes()), (4, 64));
    /// let error = Resources::of(&weft_machine::find("ipsc860").unwrap()).unwrap_err();
    /// assert!(error.to_string().starts_with("ipsc860 has no connections: "));
    /// ```
    pub fn of(machine: &Machine) -> Result<Resources, NoConnections> {
        let Some(connections) = &machine.connections else {
            let known = weft_machine::Catalogue::built_in();
            let able = known.machines().iter().filter(|other| other.connections.is_some());
            let others = able.map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(NoConnections { machine: machine.name.clone(), others });
        };
        let word = connections.word_bytes as f64;
        Ok(Resources {
            topology: machine.topology.clone(),
            node_channels: connections.node_channels,
            link_channels: connections.link_channels,
            ports: connections.ports,
            access: connections.access,
            word_bytes: connections.word_bytes,
            access_seconds: connections.access_byte_time * word,
            link_seconds: connections.link_byte_time * word,
            synchronisation_seconds: connections.synchronisation_time,
            phase_seconds: connections.phase_time,
            hop_seconds: machine.protocol(u64::MAX).hop_time,
            leaving_seconds: connections.synchronisation_time,
        })
    }

    /// Seconds that a phase costs besides its transfers.
    pub fn switch_seconds(&self) -> f64 {
        self.synchronisation_seconds + self.phase_seconds
    }

    /// Seconds of latency of a word over `links` links.
    pub fn latency_seconds(&self, links: usize) -> f64 {
        self.hop_seconds * links as f64
    }

    /// Seconds of phases that take `phases` seconds together, from when all nodes are ready until all know that all are
    /// through; no phases take no time.
    pub fn exchange_seconds(&self, phases: impl ExactSizeIterator<Item = f64>) -> f64 {
        let leaving = if phases.len() > 0 { self.leaving_seconds } else { 0.0 };
        phases.sum::<f64>() + leaving
    }

    /// Seconds of `words` words over `links` links with nothing in their way, until the last has arrived.
    pub fn alone_seconds(&self, words: u64, links: usize) -> f64 {
        words as f64 * self.word_seconds() + self.latency_seconds(links)
    }

    /// Seconds that each word of one connection takes on its own.
    pub fn word_seconds(&self) -> f64 {
        self.access_seconds.max(self.link_seconds)
    }
}
