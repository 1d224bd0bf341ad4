//! Phases of circuits: with ports on a switch that joins any sender to any receiver, a phase is a b-matching.

use weft_machine::Topology;

use super::plan::{Placed, Plan};
use crate::pattern::ConnectionSet;

/// The fewest phases: a bipartite multigraph of degree D has D disjoint matchings that cover it (König 1916), and `ports`
/// of them make a phase. `route` gives the way between two nodes.
pub fn matchings(set: &ConnectionSet, ports: usize, route: &dyn Fn(u32, u32) -> Vec<u32>) -> Plan {
    let colours = colour(set);
    let count = colours.iter().max().map_or(0, |&last| last as usize + 1);
    // Matchings of long transfers together: a phase takes as long as its longest.
    let mut longest = vec![0u64; count];
    for (connection, &colour) in set.connections.iter().zip(&colours) {
        longest[colour as usize] = longest[colour as usize].max(connection.words);
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&colour| std::cmp::Reverse(longest[colour]));
    let mut phase_of = vec![0; count];
    for (index, &colour) in order.iter().enumerate() {
        phase_of[colour] = index / ports;
    }
    let mut plan: Plan = vec![Vec::new(); count.div_ceil(ports)];
    for (index, (c, &colour)) in set.connections.iter().zip(&colours).enumerate() {
        let placed = Placed { connection: index as u32, words: c.words, route: route(c.source, c.destination) };
        plan[phase_of[colour as usize]].push(placed);
    }
    plan
}

/// A colour for every connection so that those that share a sender or a receiver differ, with as few colours as the
/// largest degree: connections are coloured one by one, longest first, and where the free colours of both ends differ the
/// alternating path between the two colours is exchanged.
fn colour(set: &ConnectionSet) -> Vec<u32> {
    let mut order: Vec<usize> = (0..set.connections.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(set.connections[index].words));
    let pairs: Vec<(usize, usize)> =
        order.iter().map(|&i| (set.connections[i].source as usize, set.connections[i].destination as usize)).collect();
    let mut colours = vec![0; pairs.len()];
    for (colour, index) in colour_pairs(&pairs, set.nodes as usize).into_iter().zip(order) {
        colours[index] = colour;
    }
    colours
}

/// The same for pairs of senders and receivers, in their order.
fn colour_pairs(pairs: &[(usize, usize)], nodes: usize) -> Vec<u32> {
    const FREE: u32 = u32::MAX;
    let mut degree = vec![0usize; 2 * nodes];
    for &(sender, receiver) in pairs {
        degree[sender] += 1;
        degree[nodes + receiver] += 1;
    }
    let colours = degree.into_iter().max().unwrap_or(0);
    // at[vertex * colours + colour]: the connection of that colour at a sender or receiver.
    let mut at = vec![FREE; 2 * nodes * colours];
    let mut colour_of = vec![FREE; pairs.len()];
    for (index, &(sender, receiver)) in pairs.iter().enumerate() {
        let receiver = nodes + receiver;
        let free = |at: &[u32], vertex: usize| {
            (0..colours).find(|colour| at[vertex * colours + colour] == FREE).expect("a degree is at most the largest")
        };
        let both = (0..colours).find(|x| at[sender * colours + x] == FREE && at[receiver * colours + x] == FREE);
        let chosen = both.unwrap_or_else(|| {
            let (a, b) = (free(&at, sender), free(&at, receiver));
            // From the receiver along a, b, a, …: exchanged, a is free there. The path cannot come to the sender, whose a
            // is free and which could only be entered by it.
            let mut path = Vec::new();
            let (mut vertex, mut colour) = (receiver, a);
            while at[vertex * colours + colour] != FREE {
                let edge = at[vertex * colours + colour] as usize;
                path.push(edge);
                let (s, r) = (pairs[edge].0, nodes + pairs[edge].1);
                vertex = if vertex == s { r } else { s };
                colour = if colour == a { b } else { a };
            }
            for &edge in &path {
                for vertex in [pairs[edge].0, nodes + pairs[edge].1] {
                    at[vertex * colours + colour_of[edge] as usize] = FREE;
                }
            }
            for &edge in &path {
                let exchanged = if colour_of[edge] as usize == a { b } else { a };
                colour_of[edge] = exchanged as u32;
                for vertex in [pairs[edge].0, nodes + pairs[edge].1] {
                    at[vertex * colours + exchanged] = edge as u32;
                }
            }
            a
        });
        colour_of[index] = chosen as u32;
        at[sender * colours + chosen] = index as u32;
        at[receiver * colours + chosen] = index as u32;
    }
    colour_of
}

/// Long transfers with long ones: connections by descending length, each into the first phase where both ends have a
/// free port. Often more phases than [`matchings`], but less time where lengths differ and switching is cheap.
pub fn longest_first(set: &ConnectionSet, ports: u32, route: &dyn Fn(u32, u32) -> Vec<u32>) -> Plan {
    let nodes = set.nodes as usize;
    let mut order: Vec<usize> = (0..set.connections.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(set.connections[index].words));
    let mut used: Vec<Vec<u32>> = Vec::new();
    let mut plan = Plan::new();
    for index in order {
        let c = set.connections[index];
        let (sender, receiver) = (c.source as usize, nodes + c.destination as usize);
        let free = used.iter().position(|used| used[sender] < ports && used[receiver] < ports);
        let phase = free.unwrap_or_else(|| {
            used.push(vec![0; 2 * nodes]);
            plan.push(Vec::new());
            used.len() - 1
        });
        used[phase][sender] += 1;
        used[phase][receiver] += 1;
        plan[phase].push(Placed { connection: index as u32, words: c.words, route: route(c.source, c.destination) });
    }
    plan
}

/// The fewest phases on a fat tree of two levels with at least as many links up as down at every leaf, a connection a link:
/// matchings of nodes, each then routed over spines by colouring the leaves' connections, which is a Clos network's
/// rearrangement. `None` for other topologies.
pub fn clos(set: &ConnectionSet, topology: &Topology) -> Option<Plan> {
    let Topology::FatTree { children, parents } = topology else { return None };
    let (&[down, leaves], &[1, spines]) = (&children[..], &parents[..]) else { return None };
    if spines < down {
        return None;
    }
    let nodes = set.nodes;
    let leaf = |node: u32| node as usize / down;
    let mut plan = matchings(set, 1, &|from, to| vec![from, to]);
    for phase in &mut plan {
        let across: Vec<usize> =
            (0..phase.len()).filter(|&i| leaf(phase[i].route[0]) != leaf(phase[i].route[1])).collect();
        let pairs: Vec<(usize, usize)> =
            across.iter().map(|&i| (leaf(phase[i].route[0]), leaf(phase[i].route[1]))).collect();
        let mut spine = vec![None; phase.len()];
        for (&index, colour) in across.iter().zip(colour_pairs(&pairs, leaves)) {
            spine[index] = Some(nodes + leaves as u32 + colour);
        }
        for (placed, spine) in phase.iter_mut().zip(spine) {
            let (from, to) = (placed.route[0], placed.route[1]);
            let leaf = |node: u32| nodes + leaf(node) as u32;
            placed.route = match spine {
                Some(spine) => vec![from, leaf(from), spine, leaf(to), to],
                None => vec![from, leaf(from), to],
            };
        }
    }
    Some(plan)
}
