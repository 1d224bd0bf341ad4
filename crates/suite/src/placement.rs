//! Which rank runs on which node of a described machine, so that a benchmark means what it says.

use weft_machine::{Machine, Topology};

use crate::description::{Description, Nodes};
use crate::request::Request;
use crate::usage::UsageError;

/// The distance of the echo whose routing is measured (Dunigan 1991, section 4.2).
const ROUTED_HOPS: u32 = 2;

/// Rank r on node r; where distances are asked for and no number of ranks, rank 0 on node 0 and a rank at each distance.
pub(crate) fn by_distance(machine: &Machine, request: &Request, ranks: usize) -> Result<Nodes, UsageError> {
    let mut nodes = vec![0];
    for &hops in &request.hops {
        let node = machine.topology.at_distance(0, hops as usize).ok_or_else(|| nobody_there(machine, hops))?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let has_listed = request.ranks.is_none() && !request.hops.is_empty();
    Ok(if has_listed { Nodes::Listed(nodes) } else { Nodes::ByNumber(ranks) })
}

/// Why no node is so far from node 0: it is beyond the machine, or routes through switches have other lengths.
fn nobody_there(machine: &Machine, hops: u32) -> UsageError {
    let (name, nodes, diameter) = (&machine.name, machine.nodes(), machine.topology.diameter());
    let links = if hops == 1 { "1 hop" } else { &format!("{hops} hops") };
    if hops as usize > diameter {
        return UsageError(format!(
            "{links}: on {name}, with {nodes} nodes, no node is more than {diameter} hops from node 0"
        ));
    }
    let known: Vec<String> = (1..=diameter)
        .filter(|&distance| machine.topology.at_distance(0, distance).is_some())
        .map(|distance| distance.to_string())
        .collect();
    UsageError(format!(
        "{links}: on {name}, a {}, no node is that far from node 0; there are nodes at {} hops",
        machine.topology.kind(),
        known.join(", ")
    ))
}

/// Consecutive ranks on neighbouring nodes: a ring of the smallest subcube, or of the whole machine.
pub(crate) fn around_ring(machine: &Machine, ranks: usize) -> Nodes {
    if ranks > machine.nodes() {
        return Nodes::ByNumber(ranks);
    }
    let topology = match &machine.topology {
        Topology::Hypercube { .. } => Topology::Hypercube { dimension: ranks.next_power_of_two().trailing_zeros() },
        other => other.clone(),
    };
    Nodes::Listed(topology.ring_order().into_iter().take(ranks).collect())
}

/// Rank 0 on node 0, rank 1 two hops away, further ranks on the nodes of the routes there and back, then on all others.
pub(crate) fn across_routing_nodes(machine: &Machine, request: &Request) -> Result<Nodes, UsageError> {
    let (name, topology) = (&machine.name, &machine.topology);
    if !topology.is_direct() {
        return Err(UsageError(format!(
            "{}: on {name}, a {}, messages pass through switches, so no node routes those of others",
            request.benchmark,
            topology.kind()
        )));
    }
    let far = topology.at_distance(0, ROUTED_HOPS as usize).ok_or_else(|| nobody_there(machine, ROUTED_HOPS))?;
    let mut nodes = vec![0, far];
    nodes.extend(between(topology, 0, far));
    let back = between(topology, far, 0);
    nodes.extend(back.into_iter().filter(|node| !nodes.contains(node)).collect::<Vec<usize>>());
    Ok(filled(machine, nodes, request.ranks))
}

/// The nodes that the route from one node to another passes.
fn between(topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    let next = |&at: &usize| topology.next_hop(at, to).map(|(_, next)| next);
    std::iter::successors(Some(from), next).skip(1).take_while(|&node| node != to).collect()
}

/// Rank 0 on node 0, the next ranks on the nodes nearest to it, then on all others. Neighbours that the request leaves
/// open are those that node 0 has.
pub(crate) fn among_neighbours(
    machine: &Machine,
    request: &mut Request,
    benchmark: &Description,
) -> Result<Nodes, UsageError> {
    let neighbours = machine.topology.neighbours(0);
    if let Some(wanted) = request.neighbours.iter().find(|&&wanted| wanted as usize > neighbours.len()) {
        let (name, most) = (&machine.name, neighbours.len());
        return Err(UsageError(format!(
            "{} with {wanted} neighbours: on {name}, a {}, node 0 has {most}",
            benchmark.name,
            machine.topology.kind()
        )));
    }
    if request.neighbours.is_empty() {
        let has_rank = |count: usize| request.ranks.is_none_or(|ranks| count < ranks);
        let defaults = benchmark.default("neighbours").iter().map(|&count| count as usize);
        let possible = defaults.filter(|&count| count <= neighbours.len() && has_rank(count));
        request.neighbours = possible.map(|count| count as u32).collect();
    }
    let needed = request.neighbours.iter().max().map_or(1, |&most| most as usize);
    let ranks = request.ranks.unwrap_or(1 + needed);
    let nodes = std::iter::once(0).chain(neighbours).take(ranks).collect();
    Ok(filled(machine, nodes, Some(ranks)))
}

/// The first ranks on `first`, further ones on the other nodes by number; as many as asked for, or those of `first`.
fn filled(machine: &Machine, first: Vec<usize>, ranks: Option<usize>) -> Nodes {
    let ranks = ranks.unwrap_or(first.len());
    if ranks > machine.nodes() {
        return Nodes::ByNumber(ranks);
    }
    let others = (0..machine.nodes()).filter(|node| !first.contains(node));
    Nodes::Listed(first.iter().copied().chain(others).take(ranks).collect())
}
