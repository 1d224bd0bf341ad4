//! Plans: which connections are in which phase over which route, before there are times.

use serde::{Deserialize, Serialize};
use weft_machine::Access;
use weft_network::{Arrivals, Flow};

use crate::network::{ASKED_EVERY, Network};
use crate::pattern::ConnectionSet;
use crate::resources::Resources;

/// A connection, or part of its words, with its route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    pub connection: u32,
    pub words: u64,
    pub route: Vec<u32>,
}

impl Placed {
    pub fn source(&self) -> usize {
        self.route[0] as usize
    }

    pub fn destination(&self) -> usize {
        self.route[self.route.len() - 1] as usize
    }

    /// Links of its route.
    pub fn hops(&self) -> usize {
        self.route.len() - 1
    }
}

/// Phases of placed connections.
pub type Plan = Vec<Vec<Placed>>;

/// Why a plan that was kept is none of a set on a network: every connection has all its words, over routes of links.
pub fn fault(plan: &Plan, set: &ConnectionSet, network: &Network) -> Option<String> {
    let mut words = vec![0u64; set.connections.len()];
    for placed in plan.iter().flatten() {
        let connection = placed.connection;
        let Some(asked) = set.connections.get(connection as usize) else {
            return Some(format!("it has a connection {connection}"));
        };
        if placed.route.first() != Some(&asked.source) || placed.route.last() != Some(&asked.destination) {
            return Some(format!("connection {connection} has other ends"));
        }
        let linked = |pair: &[u32]| {
            (pair[0] as usize) < network.vertices && network.to[network.out(pair[0] as usize)].contains(&pair[1])
        };
        if !placed.route.windows(2).all(linked) {
            return Some(format!("connection {connection} goes over a link that is not there"));
        }
        words[connection as usize] = words[connection as usize].saturating_add(placed.words);
    }
    let other = words.iter().zip(&set.connections).position(|(&words, asked)| words != asked.words);
    other.map(|connection| format!("connection {connection} has {} words", words[connection]))
}

/// What a phase takes of each resource.
pub struct Load {
    /// Connections that pass through, start or end at each node.
    pub channels: Vec<u32>,
    /// Connections on each link.
    pub links: Vec<u32>,
    /// Words on each link.
    pub link_words: Vec<u64>,
    pub sent: Vec<u64>,
    pub received: Vec<u64>,
    pub starts: Vec<u32>,
    pub ends: Vec<u32>,
}

impl Load {
    pub fn new(network: &Network) -> Load {
        let (nodes, links) = (network.nodes, network.links());
        Load {
            channels: vec![0; nodes],
            links: vec![0; links],
            link_words: vec![0; links],
            sent: vec![0; nodes],
            received: vec![0; nodes],
            starts: vec![0; nodes],
            ends: vec![0; nodes],
        }
    }

    pub fn add(&mut self, placed: &Placed, network: &Network) {
        for &vertex in &placed.route {
            if let Some(channels) = self.channels.get_mut(vertex as usize) {
                *channels += 1;
            }
        }
        for pair in placed.route.windows(2) {
            let link = network.link(pair[0], pair[1]);
            self.links[link] += 1;
            self.link_words[link] += placed.words;
        }
        self.sent[placed.source()] += placed.words;
        self.received[placed.destination()] += placed.words;
        self.starts[placed.source()] += 1;
        self.ends[placed.destination()] += 1;
    }

    pub fn of(phase: &[Placed], network: &Network) -> Load {
        Load::of_until(phase, network, &|| false).expect("nobody interrupts it")
    }

    /// As [`Load::of`]; `None` where `stop` says so before all is added.
    pub fn of_until(phase: &[Placed], network: &Network, stop: &dyn Fn() -> bool) -> Option<Load> {
        let mut load = Load::new(network);
        for part in phase.chunks(ASKED_EVERY) {
            if stop() {
                return None;
            }
            part.iter().for_each(|placed| load.add(placed, network));
        }
        Some(load)
    }

    /// Whether the phase can be open at once.
    pub fn fits(&self, resources: &Resources, network: &Network) -> bool {
        let within = |counts: &[u32], limit: Option<u32>| limit.is_none_or(|limit| counts.iter().all(|&c| c <= limit));
        within(&self.channels, resources.node_channels)
            && within(&self.starts, resources.ports)
            && within(&self.ends, resources.ports)
            && resources.link_channels.is_none_or(|limit| {
                self.links.iter().zip(&network.multiplicity).all(|(&count, &wires)| count <= limit * wires)
            })
    }

    /// Seconds of the phase's transfers where all flow at once, each at the rate that lets all end together: the busiest
    /// access or link decides.
    pub fn seconds(&self, resources: &Resources, network: &Network) -> f64 {
        let access = match resources.access {
            Access::Separate => self.sent.iter().chain(&self.received).copied().max().unwrap_or(0),
            Access::Shared => self.sent.iter().zip(&self.received).map(|(&a, &b)| a + b).max().unwrap_or(0),
        };
        let link = self
            .link_words
            .iter()
            .zip(&network.multiplicity)
            .map(|(&words, &wires)| words as f64 / f64::from(wires))
            .fold(0.0, f64::max);
        (access as f64 * resources.access_seconds).max(link * resources.link_seconds)
    }

    /// Seconds of the transfers of the phase whose load this is, the longest transfer on its own included.
    pub fn phase_seconds(&self, phase: &[Placed], resources: &Resources, network: &Network) -> f64 {
        let longest = phase.iter().map(|placed| placed.words).max().unwrap_or(0) as f64 * resources.word_seconds();
        self.seconds(resources, network).max(longest)
    }

    /// Most connections on one link, parallel links sharing evenly.
    pub fn largest_link_load(&self, network: &Network) -> u32 {
        self.links.iter().zip(&network.multiplicity).map(|(&count, &wires)| count.div_ceil(wires)).max().unwrap_or(0)
    }
}

/// Seconds of a phase's transfers, the longest transfer on its own included.
pub fn phase_seconds(phase: &[Placed], resources: &Resources, network: &Network) -> f64 {
    Load::of(phase, network).phase_seconds(phase, resources, network)
}

/// Seconds until the last word of a phase has arrived, all transfers beginning together and arriving together.
pub fn arrival_seconds(phase: &[Placed], resources: &Resources, network: &Network) -> f64 {
    let nodes = network.nodes;
    let receiving = match resources.access {
        Access::Separate => nodes,
        Access::Shared => 0,
    };
    let flow = |index: usize| {
        let placed: &Placed = &phase[index];
        let latency = resources.latency_seconds(placed.hops());
        Flow { latency, alone: placed.words as f64 * resources.word_seconds() }
    };
    let uses = |index: usize| {
        let placed: &Placed = &phase[index];
        let words = placed.words as f64;
        let access = |row: usize| (row as u32, words * resources.access_seconds);
        let ends = [access(placed.source()), access(receiving + placed.destination())];
        let links = placed.route.windows(2).map(move |pair| {
            let link = network.link(pair[0], pair[1]);
            let seconds = words * resources.link_seconds / f64::from(network.multiplicity[link]);
            ((2 * nodes + link) as u32, seconds)
        });
        ends.into_iter().chain(links)
    };
    Arrivals::new(2 * nodes + network.links()).earliest(phase.len(), flow, uses)
}
