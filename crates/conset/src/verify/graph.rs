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
        let needed = vertices as u64 * 80 + topology.links() as u64 * 16;
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
        Ok(Graph { nodes, vertices, direct: topology.is_direct(), links })
    }

    pub fn count(&self, from: u32, to: u32) -> Option<u32> {
        self.links.get(from as usize)?.iter().find(|(there, _)| *there == to).map(|&(_, count)| count)
    }

    pub fn name(&self, vertex: u32) -> String {
        if (vertex as usize) < self.nodes {
            format!("node {vertex}")
        } else {
            format!("switch {}", vertex as usize - self.nodes)
        }
    }

    /// The fewest links of a way from `from` to every vertex.
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

    /// The least weight of a way from `from` to every vertex: of the vertices on it, both ends included, and its links.
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
