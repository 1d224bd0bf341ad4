//! The paper's partitioner and router APR (Feldmann, Stricker and Warfel 1993, section 4.4.1), as the baseline.
//!
//! Sequential routing by shortest paths: connections are ordered, node costs start at 1, each connection takes a shortest
//! path and raises the costs of the nodes on it; then some routes are ripped up and routed again, a fixed number of times.
//! Several phases are copies of the graph: a path is searched for in all of them, and the shortest is taken. A node whose
//! channels are all taken cannot be passed.
//!
//! The paper leaves open how connections are ordered (here longest first, which it notes matters), by how much costs rise
//! (here by 1), and which routes are ripped up (here, per round, a tenth of them at random, so that what was not routable is
//! tried again first).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use weft_base::generator;

use super::control::Control;
use super::plan::{Placed, Plan};
use crate::network::Network;
use crate::pattern::ConnectionSet;
use crate::resources::Resources;

/// Rounds of ripping up and routing again for each number of phases.
const ROUNDS: usize = 10;

struct Router<'a> {
    set: &'a ConnectionSet,
    network: &'a Network,
    resources: &'a Resources,
    nodes: Vec<Vec<u32>>,
    links: Vec<Vec<u32>>,
    starts: Vec<Vec<u32>>,
    ends: Vec<Vec<u32>>,
    placements: Vec<Option<(usize, Vec<u32>)>>,
    /// Vertices that may still be looked at.
    steps: usize,
    search: Search,
}

/// What a search for a path knows of vertices; of others than this search has seen it knows nothing.
struct Search {
    seen: Vec<u32>,
    number: u32,
    least: Vec<u32>,
    from: Vec<u32>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Search {
    fn new(vertices: usize) -> Search {
        let (seen, least, from) = (vec![0; vertices], vec![0; vertices], vec![0; vertices]);
        Search { seen, number: 0, least, from, queue: BinaryHeap::new() }
    }

    fn begin(&mut self) {
        self.queue.clear();
        if self.number == u32::MAX {
            self.seen.fill(0);
            self.number = 0;
        }
        self.number += 1;
    }

    fn least(&self, vertex: usize) -> u32 {
        if self.seen[vertex] == self.number { self.least[vertex] } else { u32::MAX }
    }

    fn reach(&mut self, vertex: usize, least: u32, from: u32) {
        self.seen[vertex] = self.number;
        (self.least[vertex], self.from[vertex]) = (least, from);
        self.queue.push(Reverse((least, vertex as u32)));
    }
}

/// A plan with the fewest phases for which the rounds are enough, of those from the one number to the other; none when
/// interrupted before, or when paths have been searched for over `steps` vertices.
pub fn route(
    set: &ConnectionSet,
    resources: &Resources,
    network: &Network,
    hops: &[u32],
    (least, most): (usize, usize),
    steps: usize,
    control: &Control,
) -> Option<Plan> {
    let mut steps = steps;
    let mut random = generator(control.seed, 77);
    let ranks = set.ranks().unwrap_or_default();
    let mut order: Vec<usize> = (0..set.connections.len()).collect();
    order.sort_by_key(|&c| (ranks.get(c).copied().unwrap_or(0), Reverse(hops[c])));
    for phases in least..=most {
        control.report(&format!("APR with {phases} phases"), None);
        let mut router = Router::new(set, network, resources, phases, steps);
        let mut failed = router.route_all(&order, control)?;
        for _ in 0..ROUNDS {
            if failed.is_empty() {
                break;
            }
            let mut again = failed;
            again.extend(router.rip_up(&mut random));
            failed = router.route_all(&again, control)?;
        }
        if failed.is_empty() {
            return Some(router.plan());
        }
        steps = router.steps;
    }
    None
}

impl<'a> Router<'a> {
    fn new(
        set: &'a ConnectionSet,
        network: &'a Network,
        resources: &'a Resources,
        phases: usize,
        steps: usize,
    ) -> Router<'a> {
        Router {
            set,
            network,
            resources,
            nodes: vec![vec![0; network.vertices]; phases],
            links: vec![vec![0; network.links()]; phases],
            starts: vec![vec![0; network.nodes]; phases],
            ends: vec![vec![0; network.nodes]; phases],
            placements: vec![None; set.connections.len()],
            steps,
            search: Search::new(network.vertices),
        }
    }

    /// Routes connections one by one; those that found no way. None when interrupted, or without steps.
    fn route_all(&mut self, order: &[usize], control: &Control) -> Option<Vec<usize>> {
        let mut failed = Vec::new();
        for &connection in order {
            if control.is_interrupted() || self.steps == 0 {
                return None;
            }
            let (low, high) = self.window(connection);
            let mut shortest: Option<(u32, Vec<u32>, usize)> = None;
            for phase in low..=high {
                // Only a shorter one than those found is of use.
                let below = shortest.as_ref().map_or(u32::MAX, |(least, ..)| *least);
                if let Some((cost, route)) = self.shortest(phase, connection, below) {
                    shortest = Some((cost, route, phase));
                }
            }
            match shortest {
                Some((_, route, phase)) => self.take(connection, phase, route),
                None => failed.push(connection),
            }
        }
        Some(failed)
    }

    /// Phases that the orders leave to a connection.
    fn window(&self, connection: usize) -> (usize, usize) {
        let (mut low, mut high) = (0, self.nodes.len() - 1);
        for order in &self.set.orders {
            if order.after as usize == connection
                && let Some((phase, _)) = self.placements[order.before as usize]
            {
                low = low.max(phase);
            }
            if order.before as usize == connection
                && let Some((phase, _)) = self.placements[order.after as usize]
            {
                high = high.min(phase);
            }
        }
        (low, high)
    }

    fn is_full(&self, phase: usize, node: usize) -> bool {
        node < self.network.nodes && self.resources.node_channels.is_some_and(|limit| self.nodes[phase][node] >= limit)
    }

    /// Vertices of a path from one vertex to another, or to its end, at least.
    fn fewest_vertices(&self, from: usize, to: usize) -> u32 {
        self.network.grid.as_ref().map_or(u32::from(from != to), |grid| grid.distance(from, to) as u32)
    }

    /// The cost and the route of a shortest path in one copy of the graph, if there is one that costs less than `below`.
    fn shortest(&mut self, phase: usize, connection: usize, below: u32) -> Option<(u32, Vec<u32>)> {
        let c = self.set.connections[connection];
        let (source, destination) = (c.source as usize, c.destination as usize);
        let ports_taken = |counts: &[u32], node: usize| self.resources.ports.is_some_and(|limit| counts[node] >= limit);
        if self.is_full(phase, source)
            || self.is_full(phase, destination)
            || ports_taken(&self.starts[phase], source)
            || ports_taken(&self.ends[phase], destination)
            || self.fewest_vertices(source, destination) + 1 >= below
        {
            return None;
        }
        self.search.begin();
        self.search.reach(source, 1 + self.nodes[phase][source], u32::MAX);
        while let Some(Reverse((so_far, at))) = self.search.queue.pop() {
            let at = at as usize;
            self.steps = self.steps.saturating_sub(1);
            if at == destination {
                break;
            }
            let ends_here = self.network.vertices > self.network.nodes && at < self.network.nodes && at != source;
            if so_far > self.search.least(at) || ends_here {
                continue;
            }
            for link in self.network.out(at) {
                let to = self.network.to[link] as usize;
                let wires = self.network.multiplicity[link];
                let link_full =
                    self.resources.link_channels.is_some_and(|limit| self.links[phase][link] >= limit * wires);
                let next = so_far + 1 + self.nodes[phase][to];
                let helps = next < self.search.least(to) && next + self.fewest_vertices(to, destination) < below;
                if helps && !self.is_full(phase, to) && !link_full {
                    self.search.reach(to, next, at as u32);
                }
            }
        }
        let least = self.search.least(destination);
        if least == u32::MAX {
            return None;
        }
        let mut route = vec![destination as u32];
        while route[route.len() - 1] as usize != source {
            route.push(self.search.from[route[route.len() - 1] as usize]);
        }
        route.reverse();
        Some((least, route))
    }

    fn count(&mut self, phase: usize, route: &[u32], adds: bool) {
        let change = |count: &mut u32| *count = if adds { *count + 1 } else { *count - 1 };
        for &vertex in route {
            change(&mut self.nodes[phase][vertex as usize]);
        }
        for pair in route.windows(2) {
            change(&mut self.links[phase][self.network.link(pair[0], pair[1])]);
        }
        change(&mut self.starts[phase][route[0] as usize]);
        change(&mut self.ends[phase][route[route.len() - 1] as usize]);
    }

    fn take(&mut self, connection: usize, phase: usize, route: Vec<u32>) {
        self.count(phase, &route, true);
        self.placements[connection] = Some((phase, route));
    }

    /// Takes out a tenth of the routes; their connections.
    fn rip_up(&mut self, random: &mut Xoshiro256PlusPlus) -> Vec<usize> {
        let mut ripped = Vec::new();
        for connection in 0..self.placements.len() {
            if random.next_u64().is_multiple_of(10)
                && let Some((phase, route)) = self.placements[connection].take()
            {
                self.count(phase, &route, false);
                ripped.push(connection);
            }
        }
        ripped
    }

    fn plan(self) -> Plan {
        let mut plan: Plan = vec![Vec::new(); self.nodes.len()];
        for (connection, placement) in self.placements.into_iter().enumerate() {
            let (phase, route) = placement.expect("every connection is routed");
            let words = self.set.connections[connection].words;
            plan[phase].push(Placed { connection: connection as u32, words, route });
        }
        plan
    }
}
