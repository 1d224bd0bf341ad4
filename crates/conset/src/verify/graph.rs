//! The topology as the verifier sees it: link by link.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use weft_base::{Interrupt, memory};
use weft_machine::Vertex;

use super::{ASKED_EVERY, Fault, go_on};
use crate::resources::Resources;

/// Vertices and how many links lead from each to each other.
pub struct Graph {
    pub nodes: usize,
    pub vertices: usize,
    pub direct: bool,
    /// From each vertex: the vertex a link leads to and how many do, by number.
    pub links: Vec<Vec<(u32, u32)>>,
    /// The number of the first link from each vertex, and last how many there are; parallel ones count as one.
    first: Vec<usize>,
}

/// The links from one vertex to another.
pub struct Link {
    pub number: usize,
    /// How many there are.
    pub parallel: u32,
}

impl Graph {
    pub fn of(resources: &Resources, interrupt: &Interrupt) -> Result<Graph, Fault> {
        let topology = &resources.topology;
        topology.validate().map_err(|error| Fault::Resources(format!("{}: expected {}", error.key, error.expected)))?;
        let limits = [resources.node_channels, resources.link_channels, resources.ports];
        if limits.contains(&Some(0)) {
            return Err(Fault::Resources("no channels at all: nothing could be open".into()));
        }
        let times = [
            resources.access_seconds,
            resources.link_seconds,
            resources.synchronisation_seconds,
            resources.phase_seconds,
            resources.hop_seconds,
            resources.leaving_seconds,
        ];
        if times.iter().any(|time| !time.is_finite() || *time < 0.0) {
            return Err(Fault::Resources("times must be finite and not negative".into()));
        }
        let nodes = topology.nodes();
        let vertices = nodes + topology.switches();
        let number = |vertex| match vertex {
            Vertex::Node(node) => node,
            Vertex::Switch(switch) => nodes + switch,
        };
        // A list for each vertex, which grows by doubling from room for four links.
        let needed = vertices as u64 * 88 + topology.links() as u64 * 16;
        memory::require(needed, format!("the check of a schedule on {nodes} nodes"), "check it on a larger machine")?;
        let mut links: Vec<Vec<(u32, u32)>> = vec![Vec::new(); vertices];
        for link in 0..topology.links() {
            if link.is_multiple_of(ASKED_EVERY) {
                go_on(interrupt)?;
            }
            let (from, to) = topology.link_ends(link);
            let (from, to) = (number(from), number(to) as u32);
            match links[from].iter_mut().find(|(there, _)| *there == to) {
                Some((_, count)) => *count += 1,
                None => links[from].push((to, 1)),
            }
        }
        let mut first = Vec::with_capacity(vertices + 1);
        first.push(0);
        for own in &links {
            first.push(first[first.len() - 1] + own.len());
        }
        Ok(Graph { nodes, vertices, direct: topology.is_direct(), links, first })
    }

    pub fn link(&self, from: u32, to: u32) -> Option<Link> {
        let own = self.links.get(from as usize)?;
        let index = own.iter().position(|(there, _)| *there == to)?;
        Some(Link { number: self.first[from as usize] + index, parallel: own[index].1 })
    }

    /// Links from one vertex to another, parallel ones counted once.
    pub fn link_count(&self) -> usize {
        self.first[self.vertices]
    }

    /// Both ends of every link and how many are parallel, by number.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.links
            .iter()
            .enumerate()
            .flat_map(|(from, own)| own.iter().map(move |&(to, parallel)| (from as u32, to, parallel)))
    }

    /// Both ends of a link.
    pub fn link_ends(&self, number: usize) -> (u32, u32) {
        let from = self.first.partition_point(|&first| first <= number) - 1;
        (from as u32, self.links[from][number - self.first[from]].0)
    }

    pub fn name(&self, vertex: u32) -> String {
        if (vertex as usize) < self.nodes {
            format!("node {vertex}")
        } else {
            format!("switch {}", vertex as usize - self.nodes)
        }
    }

    /// The fewest links of a path from `from` to every vertex.
    pub fn breadth_first(&self, from: usize) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.vertices];
        hops[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for &(to, _) in &self.links[at] {
                if hops[to as usize] == u32::MAX {
                    hops[to as usize] = hops[at] + 1;
                    queue.push_back(to as usize);
                }
            }
        }
        hops
    }

    /// The least weight of a path from `from` to every vertex: of the vertices on it, both ends included, and its links.
    pub fn lightest(&self, from: usize, vertex: &dyn Fn(usize) -> u64, link: &dyn Fn(u32, u32) -> u64) -> Vec<u64> {
        let mut least = vec![u64::MAX; self.vertices];
        least[from] = vertex(from);
        let mut queue = BinaryHeap::from([Reverse((least[from], from))]);
        while let Some(Reverse((weight, at))) = queue.pop() {
            if weight > least[at] {
                continue;
            }
            for &(to, _) in &self.links[at] {
                let there = weight + link(at as u32, to) + vertex(to as usize);
                if there < least[to as usize] {
                    least[to as usize] = there;
                    queue.push(Reverse((there, to as usize)));
                }
            }
        }
        least
    }
}
