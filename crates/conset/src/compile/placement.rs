//! Placement: which node each part of a program is on.

use rand_xoshiro::rand_core::Rng;
use weft_base::generator;
use weft_machine::Topology;

use super::control::Control;
use crate::network::Network;
use crate::pattern::{Connection, ConnectionSet};

/// A node for each part so that the words times the hops they cross are few, and the same set between those nodes.
///
/// Parts exchange places as long as that helps, with simulated annealing at the start; the identity is where it begins.
pub fn assign_nodes(set: &ConnectionSet, topology: &Topology, control: &Control) -> (Vec<u32>, ConnectionSet) {
    let parts = set.nodes as usize;
    let nodes = topology.nodes();
    if parts > nodes || !(2..=4096).contains(&nodes) {
        return ((0..set.nodes).collect(), set.clone());
    }
    let network = Network::new(topology);
    let hops: Vec<Vec<u32>> = (0..nodes).map(|node| network.hops_from(node)).collect();
    let mut partners: Vec<Vec<(usize, f64)>> = vec![Vec::new(); nodes];
    for c in &set.connections {
        // Both ways: what matters is the distance, which is the same on every topology of the catalogue.
        partners[c.source as usize].push((c.destination as usize, c.words as f64));
        partners[c.destination as usize].push((c.source as usize, c.words as f64));
    }
    let mut node_of: Vec<usize> = (0..nodes).collect();
    let cost = |node_of: &[usize], part: usize| -> f64 {
        partners[part].iter().map(|&(other, words)| words * f64::from(hops[node_of[part]][node_of[other]])).sum()
    };
    let average = set.connections.iter().map(|c| c.words as f64).sum::<f64>() / (set.connections.len().max(1) as f64);
    let mut random = generator(control.seed, 5);
    let mut total: f64 = (0..nodes).map(|part| cost(&node_of, part)).sum::<f64>() / 2.0;
    let mut best = (total, node_of.clone());
    let moves = 400 * nodes * nodes.ilog2() as usize;
    for step in 0..moves {
        if step % 1024 == 0 && control.is_interrupted() {
            break;
        }
        let heat = 3.0 * average * (1.0 - step as f64 / moves as f64).powi(2);
        let (a, b) = ((random.next_u64() % nodes as u64) as usize, (random.next_u64() % nodes as u64) as usize);
        if a == b {
            continue;
        }
        let before = cost(&node_of, a) + cost(&node_of, b);
        node_of.swap(a, b);
        let change = cost(&node_of, a) + cost(&node_of, b) - before;
        let draw = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if change <= 0.0 || draw < (-change / heat.max(1e-12)).exp() {
            total += change;
            if total < best.0 * (1.0 - 1e-12) {
                best = (total, node_of.clone());
            }
        } else {
            node_of.swap(a, b);
        }
    }
    control.spend(moves * 4);
    let node_of: Vec<u32> = best.1.iter().take(parts).map(|&node| node as u32).collect();
    let moved = |c: &Connection| Connection {
        source: node_of[c.source as usize],
        destination: node_of[c.destination as usize],
        words: c.words,
    };
    let connections = set.connections.iter().map(moved).collect();
    let placed = ConnectionSet { connections, nodes: nodes as u32, ..set.clone() };
    (node_of, placed)
}
