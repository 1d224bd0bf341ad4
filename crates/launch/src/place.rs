//! Which rank runs on which node, so that a benchmark means what it says.

use weft_machine::{Machine, Topology};
use weft_sim::Placement;
use weft_suite::{Benchmark, Group, Request};

use crate::error::LaunchError;

/// The distance of the echo whose routing is measured (Dunigan 1991, section 4.2).
const ROUTED_HOPS: u32 = 2;

/// The nodes of the ranks, and the request with what the machine decides where it says nothing.
pub(crate) fn place(
    machine: &Machine,
    request: &Request,
    benchmark: &Benchmark,
) -> Result<(Placement, Request), LaunchError> {
    let mut request = request.clone();
    let ranks = request.ranks.unwrap_or_else(|| default_ranks(machine, benchmark));
    let placement = match benchmark.name {
        "ring" => ring(machine, ranks)?,
        "routing-echo" | "routing-compute" => across_routing_nodes(machine, &request)?,
        "fan-in" | "fan-out" => among_neighbours(machine, &mut request, benchmark)?,
        _ if !request.hops.is_empty() => at_distances(machine, &request)?,
        _ => Placement::identity(ranks),
    };
    Ok((if benchmark.parameters.host { placement.with_host() } else { placement }, request))
}

fn default_ranks(machine: &Machine, benchmark: &Benchmark) -> usize {
    match benchmark.group {
        // A smaller machine runs a program on all of its nodes.
        Group::Program | Group::Files => benchmark.parameters.default_ranks.min(machine.nodes()),
        _ => benchmark.parameters.default_ranks,
    }
}

/// Rank 0 on node 0, rank 1 two hops away, further ranks on the nodes of the routes there and back, then on all others.
fn across_routing_nodes(machine: &Machine, request: &Request) -> Result<Placement, LaunchError> {
    let (name, topology) = (&machine.name, &machine.topology);
    if !topology.is_direct() {
        return Err(LaunchError::Usage(format!(
            "{}: on {name}, a {}, messages pass through switches, so no node routes those of others",
            request.benchmark,
            topology.kind()
        )));
    }
    let far = topology.at_distance(0, ROUTED_HOPS as usize).ok_or_else(|| too_far(machine, ROUTED_HOPS))?;
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
fn among_neighbours(machine: &Machine, request: &mut Request, benchmark: &Benchmark) -> Result<Placement, LaunchError> {
    let neighbours = machine.topology.neighbours(0);
    if let Some(wanted) = request.neighbours.iter().find(|&&wanted| wanted as usize > neighbours.len()) {
        let (name, most) = (&machine.name, neighbours.len());
        return Err(LaunchError::Usage(format!(
            "{} with {wanted} neighbours: on {name}, a {}, node 0 has {most}",
            benchmark.name,
            machine.topology.kind()
        )));
    }
    if request.neighbours.is_empty() {
        let defaults = benchmark.parameters.neighbours.iter().copied();
        request.neighbours = defaults.filter(|&count| has_room(request, neighbours.len(), count as usize)).collect();
    }
    let needed = request.neighbours.iter().max().map_or(1, |&most| most as usize);
    let ranks = request.ranks.unwrap_or(1 + needed);
    let nodes = std::iter::once(0).chain(neighbours).take(ranks).collect();
    Ok(filled(machine, nodes, Some(ranks)))
}

/// Whether so many neighbours are there, and have a rank.
fn has_room(request: &Request, neighbours: usize, count: usize) -> bool {
    count <= neighbours && request.ranks.is_none_or(|ranks| count < ranks)
}

/// The first ranks on `first`, further ones on the other nodes by number; as many as asked for, or those of `first`.
fn filled(machine: &Machine, first: Vec<usize>, ranks: Option<usize>) -> Placement {
    let ranks = ranks.unwrap_or(first.len());
    if ranks > machine.nodes() {
        return Placement::identity(ranks);
    }
    let others = (0..machine.nodes()).filter(|node| !first.contains(node));
    let nodes: Vec<usize> = first.iter().copied().chain(others).take(ranks).collect();
    Placement::listed(&nodes)
}

/// Rank 0 on node 0 and a rank at each distance asked for; with a number of ranks given, rank r on node r.
fn at_distances(machine: &Machine, request: &Request) -> Result<Placement, LaunchError> {
    let mut nodes = vec![0];
    for &hops in &request.hops {
        let node = machine.topology.at_distance(0, hops as usize).ok_or_else(|| too_far(machine, hops))?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    Ok(match request.ranks {
        Some(ranks) => Placement::identity(ranks),
        None => Placement::listed(&nodes),
    })
}

fn too_far(machine: &Machine, hops: u32) -> LaunchError {
    let (name, nodes, diameter) = (&machine.name, machine.nodes(), machine.topology.diameter());
    LaunchError::Usage(format!(
        "{hops} hops: on {name}, with {nodes} nodes, no node is more than {diameter} hops from node 0"
    ))
}

/// Consecutive ranks on neighbouring nodes: a ring of the smallest subcube, or of the whole machine.
fn ring(machine: &Machine, ranks: usize) -> Result<Placement, LaunchError> {
    if ranks > machine.nodes() {
        return Ok(Placement::identity(ranks));
    }
    let topology = match &machine.topology {
        Topology::Hypercube { .. } => Topology::Hypercube { dimension: ranks.next_power_of_two().trailing_zeros() },
        other => other.clone(),
    };
    let nodes: Vec<usize> = topology.ring_order().into_iter().take(ranks).collect();
    Ok(Placement::listed(&nodes))
}
