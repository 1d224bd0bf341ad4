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

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use weft_base::generator;

use super::control::Control;
use super::plan::{Placed, Plan};
use crate::network::{Distances, Network};
use crate::pattern::ConnectionSet;
use crate::resources::Resources;

/// Rounds of ripping up and routing again for each number of phases.
const ROUNDS: usize = 10;

/// How long the baseline goes on.
#[derive(Clone, Copy)]
pub struct Limits {
    /// From how many phases to how many.
    pub phases: (usize, usize),
    /// Vertices over which paths may be searched for.
    pub steps: usize,
    /// Seconds that the plan is to be below, where it is of no use otherwise: of many connections a number of phases is given
    /// up as soon as the longest of its phases take as long, and when ripping up leaves more unrouted than before.
    pub seconds: Option<f64>,
}

/// Connections up to which all rounds are tried, whatever they leave unrouted and however long their phases take.
const MAX_PATIENT: usize = 1024;

struct Router<'a> {
    set: &'a ConnectionSet,
    network: &'a Network,
    resources: &'a Resources,
    nodes: Vec<Vec<u32>>,
    links: Vec<Vec<u32>>,
    starts: Vec<Vec<u32>>,
    ends: Vec<Vec<u32>>,
    placements: Vec<Option<(usize, Vec<u32>)>>,
    /// For each phase how many vertices have each number of connections up to the highest that one has had, and the lowest
    /// that one has.
    levels: Vec<Vec<u32>>,
    lowest: Vec<u32>,
    /// What the longest connection of each phase takes alone, and the phases together at least, s.
    longest: Vec<f64>,
    together: f64,
    seconds: f64,
    /// Vertices that may still be looked at.
    steps: usize,
    search: Search,
    distances: Distances,
    /// Phases that a connection may be in, by what a path costs at least.
    waiting: Vec<(u32, usize)>,
}

/// What vertices before the destination cost at least, and the destination.
#[derive(Clone, Copy)]
struct Further {
    each: u32,
    last: u32,
}

impl Further {
    /// Of a path over so many more vertices, the destination among them.
    #[inline]
    fn least(self, vertices: u32) -> u32 {
        match vertices {
            0 => 0,
            vertices => (vertices - 1) * self.each + self.last,
        }
    }
}

/// What a search for a path knows of vertices; of others than this search has seen it knows nothing.
///
/// Vertices are looked at in the order of what a path through them costs at least (Hart, Nilsson and Raphael 1968), from
/// buckets of those that cost as much (Dial 1969). One that is reached for less than before is queued again.
struct Search {
    reached: Vec<Reached>,
    number: u32,
    /// By cost, modulo their number, which is a power of two above what one vertex adds to it; a bit for each that is not empty.
    buckets: Vec<Vec<Waiting>>,
    occupied: Vec<u64>,
}

/// A vertex that is to be looked at, and for what it had been reached then.
#[derive(Clone, Copy)]
struct Waiting {
    vertex: u32,
    least: u32,
}

/// In which search a vertex was reached, what that costs at least, and from where.
#[derive(Clone, Copy, Default)]
struct Reached {
    search: u32,
    least: u32,
    from: u32,
}

impl Search {
    fn new(vertices: usize) -> Search {
        let reached = vec![Reached::default(); vertices];
        Search { reached, number: 0, buckets: Vec::new(), occupied: Vec::new() }
    }

    /// Forgets all; from one vertex to the next the cost of a path grows by `highest` at most.
    fn begin(&mut self, highest: u32) {
        for word in 0..self.occupied.len() {
            while self.occupied[word] != 0 {
                self.buckets[64 * word + self.occupied[word].trailing_zeros() as usize].clear();
                self.occupied[word] &= self.occupied[word] - 1;
            }
        }
        let buckets = (highest as usize + 1).next_power_of_two().max(64);
        if buckets > self.buckets.len() {
            self.buckets.resize(buckets, Vec::new());
            self.occupied.resize(buckets / 64, 0);
        }
        if self.number == u32::MAX {
            self.reached.fill(Reached::default());
            self.number = 0;
        }
        self.number += 1;
    }

    fn is_seen(&self, vertex: usize) -> bool {
        self.reached[vertex].search == self.number
    }

    /// A vertex is reached for `least`, on a path that costs `total` at least.
    fn reach(&mut self, vertex: usize, least: u32, from: u32, total: u32) {
        self.reached[vertex] = Reached { search: self.number, least, from };
        let bucket = total as usize & (self.buckets.len() - 1);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.buckets[bucket].push(Waiting { vertex: vertex as u32, least });
    }

    /// The least cost from `cost` on of which there are vertices.
    fn next(&self, cost: u32) -> Option<u32> {
        let (count, first) = (self.occupied.len(), cost as usize & (self.buckets.len() - 1));
        for step in 0..=count {
            let word = (first / 64 + step) % count;
            let bits = match step {
                0 => self.occupied[word] & (u64::MAX << (first % 64)),
                _ => self.occupied[word],
            };
            if bits != 0 {
                let bucket = 64 * word + bits.trailing_zeros() as usize;
                let further = bucket.wrapping_sub(first) & (self.buckets.len() - 1);
                return Some(cost + further as u32);
            }
        }
        None
    }

    /// One of the vertices of a cost that [`Search::next`] names.
    fn take(&mut self, cost: u32) -> Option<Waiting> {
        let bucket = cost as usize & (self.buckets.len() - 1);
        let waiting = self.buckets[bucket].pop();
        if self.buckets[bucket].is_empty() {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
        waiting
    }
}

/// A plan with the fewest phases for which the rounds are enough, within the limits; none when interrupted before.
pub fn route(
    set: &ConnectionSet,
    resources: &Resources,
    network: &Network,
    hops: &[u32],
    limits: Limits,
    control: &Control,
) -> Option<Plan> {
    let mut steps = limits.steps;
    let mut random = generator(control.seed, 77);
    let ranks = set.ranks().unwrap_or_default();
    let mut order: Vec<usize> = (0..set.connections.len()).collect();
    order.sort_by_key(|&c| (ranks.get(c).copied().unwrap_or(0), Reverse(hops[c])));
    let limits = Limits { seconds: limits.seconds.filter(|_| order.len() > MAX_PATIENT), ..limits };
    for phases in limits.phases.0..=limits.phases.1 {
        control.report(&format!("APR with {phases} phases"), None);
        let mut router = Router::new(set, network, resources, phases, Limits { steps, ..limits });
        let mut failed = router.route_all(&order, control)?;
        for _ in 0..ROUNDS {
            if failed.is_empty() || router.is_hopeless() {
                break;
            }
            let before = failed.len();
            let mut again = failed;
            again.extend(router.rip_up(&mut random));
            failed = router.route_all(&again, control)?;
            if limits.seconds.is_some() && failed.len() > before {
                break;
            }
        }
        if failed.is_empty() && !router.is_hopeless() {
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
        limits: Limits,
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
            levels: vec![vec![network.vertices as u32]; phases],
            lowest: vec![0; phases],
            longest: vec![0.0; phases],
            together: resources.exchange_seconds((0..phases).map(|_| resources.switch_seconds())),
            seconds: limits.seconds.unwrap_or(f64::INFINITY),
            steps: limits.steps,
            search: Search::new(network.vertices),
            distances: Distances::new(network),
            waiting: Vec::new(),
        }
    }

    /// Whether the phases take too long already. Ripping up could make them shorter, but takes routes at random.
    fn is_hopeless(&self) -> bool {
        self.together >= self.seconds
    }

    /// Routes connections one by one, as long as there is hope; those that found no way. None when interrupted, or without
    /// steps.
    fn route_all(&mut self, order: &[usize], control: &Control) -> Option<Vec<usize>> {
        let mut failed = Vec::new();
        for &connection in order {
            if control.is_interrupted() || self.steps == 0 {
                return None;
            }
            if self.is_hopeless() {
                break;
            }
            let (low, high) = self.window(connection);
            self.distances.aim(self.set.connections[connection].destination as usize);
            match self.shortest_of(low..=high, connection) {
                Some((_, route, phase)) => self.take(connection, phase, route),
                None => failed.push(connection),
            }
        }
        Some(failed)
    }

    /// The cost, the route and the phase of a shortest path in any of the copies: of equal ones in the first.
    fn shortest_of(
        &mut self,
        phases: std::ops::RangeInclusive<usize>,
        connection: usize,
    ) -> Option<(u32, Vec<u32>, usize)> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.clear();
        waiting.extend(phases.filter_map(|phase| Some((self.least_cost(phase, connection)?, phase))));
        // Those that may be cheap first: they leave little to look for in the others.
        waiting.sort_unstable();
        let mut shortest: Option<(u32, Vec<u32>, usize)> = None;
        for &(least, phase) in &waiting {
            let below = match &shortest {
                Some((cost, _, known)) => cost + u32::from(phase < *known),
                None => u32::MAX,
            };
            if least >= below {
                continue;
            }
            if let Some((cost, route)) = self.shortest(phase, connection, below) {
                shortest = Some((cost, route, phase));
            }
        }
        self.waiting = waiting;
        shortest
    }

    /// What a path in one copy of the graph costs at least, if its ends can be open.
    fn least_cost(&self, phase: usize, connection: usize) -> Option<u32> {
        let c = self.set.connections[connection];
        let (source, destination) = (c.source as usize, c.destination as usize);
        let ports_taken = |counts: &[u32], node: usize| self.resources.ports.is_some_and(|limit| counts[node] >= limit);
        let is_closed = self.is_full(phase, source)
            || self.is_full(phase, destination)
            || ports_taken(&self.starts[phase], source)
            || ports_taken(&self.ends[phase], destination);
        let further = self.further(phase, destination);
        (!is_closed).then(|| 1 + self.nodes[phase][source] + further.least(self.distances.of(source)))
    }

    /// What is known of the vertices before a destination in one copy of the graph.
    fn further(&self, phase: usize, destination: usize) -> Further {
        Further { each: 1 + self.lowest[phase], last: 1 + self.nodes[phase][destination] }
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

    /// The cost and the route of a shortest path in one copy of the graph, if there is one that costs less than `below`.
    fn shortest(&mut self, phase: usize, connection: usize, below: u32) -> Option<(u32, Vec<u32>)> {
        let least = self.least_cost(phase, connection).filter(|least| *least < below)?;
        let c = self.set.connections[connection];
        let (source, destination) = (c.source as usize, c.destination as usize);
        let further = self.further(phase, destination);
        self.search.begin(2 * self.levels[phase].len() as u32);
        self.search.reach(source, 1 + self.nodes[phase][source], u32::MAX, least);
        let mut so_far = least;
        // All that is on a path as short is looked at, so that of several always the same is taken.
        while let Some(cost) = self.search.next(so_far)
            && (!self.search.is_seen(destination) || cost <= self.search.reached[destination].least)
        {
            so_far = cost;
            let Some(Waiting { vertex, least }) = self.search.take(cost) else { break };
            let at = vertex as usize;
            self.steps = self.steps.saturating_sub(1);
            let ends_here = self.network.vertices > self.network.nodes && at < self.network.nodes && at != source;
            // What was reached for less in the meantime has been looked at.
            let is_current = self.search.reached[at].least == least;
            if !ends_here && is_current && at != destination {
                self.go_on(phase, at, below, further);
            }
        }
        if !self.search.is_seen(destination) {
            return None;
        }
        let mut route = vec![destination as u32];
        while route[route.len() - 1] as usize != source {
            route.push(self.search.reached[route[route.len() - 1] as usize].from);
        }
        route.reverse();
        Some((self.search.reached[destination].least, route))
    }

    /// Reaches the neighbours of a vertex from it; of several that reach one for as much, the first is kept.
    fn go_on(&mut self, phase: usize, at: usize, below: u32, further: Further) {
        let Router { network, resources, search, distances, .. } = self;
        let (nodes, links) = (&self.nodes[phase][..], &self.links[phase][..]);
        let most = resources.node_channels.unwrap_or(u32::MAX);
        let so_far = search.reached[at].least;
        let out = network.out(at);
        for (link, &to) in out.clone().zip(&network.to[out]) {
            let to = to as usize;
            let used = nodes[to];
            let next = so_far + 1 + used;
            let known = search.reached[to];
            let is_seen = known.search == search.number;
            let is_worse = next > known.least || next == known.least && known.from <= at as u32;
            if is_seen && is_worse || used >= most && to < network.nodes {
                continue;
            }
            if resources.link_channels.is_some_and(|limit| links[link] >= limit * network.multiplicity[link]) {
                continue;
            }
            if is_seen && next == known.least {
                search.reached[to].from = at as u32;
                continue;
            }
            let total = next + further.least(distances.of(to));
            if total < below {
                search.reach(to, next, at as u32, total);
            }
        }
    }

    fn count(&mut self, phase: usize, route: &[u32], adds: bool) {
        let change = |count: &mut u32| *count = if adds { *count + 1 } else { *count - 1 };
        let levels = &mut self.levels[phase];
        for &vertex in route {
            let count = &mut self.nodes[phase][vertex as usize];
            levels[*count as usize] -= 1;
            change(count);
            if levels.len() <= *count as usize {
                levels.push(0);
            }
            levels[*count as usize] += 1;
            self.lowest[phase] = self.lowest[phase].min(*count);
        }
        while levels[self.lowest[phase] as usize] == 0 {
            self.lowest[phase] += 1;
        }
        for pair in route.windows(2) {
            change(&mut self.links[phase][self.network.link(pair[0], pair[1])]);
        }
        change(&mut self.starts[phase][route[0] as usize]);
        change(&mut self.ends[phase][route[route.len() - 1] as usize]);
    }

    fn take(&mut self, connection: usize, phase: usize, route: Vec<u32>) {
        self.count(phase, &route, true);
        let seconds = self.alone(connection, &route);
        if seconds > self.longest[phase] {
            self.together += seconds - self.longest[phase];
            self.longest[phase] = seconds;
        }
        self.placements[connection] = Some((phase, route));
    }

    /// Seconds of a connection on its own, until its last word has arrived.
    fn alone(&self, connection: usize, route: &[u32]) -> f64 {
        self.resources.alone_seconds(self.set.connections[connection].words, route.len() - 1)
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
        self.measure();
        ripped
    }

    /// What the longest connections of all phases take, of those that are routed.
    fn measure(&mut self) {
        self.longest.fill(0.0);
        for (connection, placement) in self.placements.iter().enumerate() {
            if let Some((phase, route)) = placement {
                self.longest[*phase] = self.longest[*phase].max(self.alone(connection, route));
            }
        }
        let seconds = self.longest.iter().map(|longest| self.resources.switch_seconds() + longest);
        self.together = self.resources.exchange_seconds(seconds);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weft_machine::Topology;

    use super::*;
    use crate::named::named;
    use crate::pattern::Connection;

    fn resources(topology: Topology) -> Resources {
        let machine = weft_machine::find("iwarp64").unwrap();
        Resources { topology, node_channels: Some(12), ..Resources::of(&machine).unwrap() }
    }

    /// The least cost of a path over vertices that are not full, by relaxing all links until nothing changes.
    fn by_relaxing(network: &Network, used: &[u32], source: usize, destination: usize) -> Option<u32> {
        let mut cost = vec![u32::MAX; network.vertices];
        cost[source] = 1 + used[source];
        for _ in 0..network.vertices {
            for at in (0..network.vertices).filter(|&at| at < network.nodes || network.nodes == network.vertices) {
                for to in network.out(at).map(|link| network.to[link] as usize).filter(|&to| used[to] < 12) {
                    cost[to] = cost[to].min(cost[at].saturating_add(1 + used[to]));
                }
            }
        }
        (cost[destination] != u32::MAX && used[source] < 12 && used[destination] < 12).then_some(cost[destination])
    }

    proptest! {
        /// The path is one, costs what is said, and no path costs less; below its cost there is none.
        #[test]
        fn no_path_is_shorter(
            used in proptest::collection::vec(0u32..14, 20), (source, apart) in (0usize..20, 1usize..20),
            is_torus: bool,
        ) {
            let (extents, destination) = (vec![4, 5], (source + apart) % 20);
            let resources = resources(if is_torus { Topology::Torus { extents } } else { Topology::Mesh { extents } });
            let network = Network::new(&resources.topology);
            let connection = Connection { source: source as u32, destination: destination as u32, words: 1 };
            let set = ConnectionSet::new("one", 20, vec![connection]).unwrap();
            let limits = Limits { phases: (1, 1), steps: usize::MAX, seconds: None };
            let mut router = Router::new(&set, &network, &resources, 1, limits);
            for (vertex, &count) in used.iter().enumerate() {
                (0..count).for_each(|_| router.count(0, &[vertex as u32], true));
            }
            prop_assert_eq!(&router.nodes[0], &used);
            prop_assert_eq!(Some(&router.lowest[0]), used.iter().min());
            router.distances.aim(destination);
            let least = by_relaxing(&network, &used, source, destination);
            let path = router.shortest(0, 0, u32::MAX);
            prop_assert_eq!(path.as_ref().map(|path| path.0), least);
            if let Some((cost, route)) = path {
                let sum: u32 = route.iter().map(|&vertex| 1 + used[vertex as usize]).sum();
                prop_assert_eq!((cost, route[0] as usize, route[route.len() - 1] as usize), (sum, source, destination));
                let links = |pair: &[u32]| network.to[network.out(pair[0] as usize)].contains(&pair[1]);
                prop_assert!(route.windows(2).all(links));
                prop_assert_eq!(router.shortest(0, 0, cost + 1), Some((cost, route)));
                prop_assert_eq!(router.shortest(0, 0, cost), None);
            }
        }
    }

    /// Work, not time: vertices that are looked at while all connections are routed once.
    #[test]
    fn a_search_looks_at_what_is_nearer_than_the_best_phase_only() {
        let resources = resources(Topology::Torus { extents: vec![16, 16] });
        let network = Network::new(&resources.topology);
        let set = named("random:6", &resources.topology, 1, 0).unwrap();
        let (steps, phases) = (usize::MAX, 6);
        let limits = Limits { phases: (phases, phases), steps, seconds: None };
        let mut router = Router::new(&set, &network, &resources, phases, limits);
        let order: Vec<usize> = (0..set.connections.len()).collect();
        let failed = router.route_all(&order, &Control::new(0.0, 0, &|| false, &|_| ())).unwrap();
        let all = order.len() * phases * network.vertices;
        assert!(failed.is_empty());
        assert!(2 * (steps - router.steps) < all, "{} of {all}", steps - router.steps);
    }

    /// What can be no better is not routed to its end.
    #[test]
    fn phases_whose_longest_connections_take_as_long_are_given_up() {
        let resources = resources(Topology::Torus { extents: vec![16, 16] });
        let network = Network::new(&resources.topology);
        let set = named("random:6", &resources.topology, 1, 0).unwrap();
        let hops: Vec<u32> = set
            .connections
            .iter()
            .map(|c| network.grid.as_ref().unwrap().distance(c.source as usize, c.destination as usize) as u32)
            .collect();
        let control = Control::new(0.0, 0, &|| false, &|_| ());
        let route = |phases: (usize, usize), seconds: Option<f64>| {
            route(&set, &resources, &network, &hops, Limits { phases, steps: usize::MAX, seconds }, &control)
        };
        let plan = route((6, 6), None).expect("six phases are enough");
        let longest = |phase: &Vec<Placed>| {
            let alone = |placed: &Placed| {
                placed.words as f64 * resources.word_seconds() + resources.latency_seconds(placed.hops())
            };
            resources.switch_seconds() + phase.iter().map(alone).fold(0.0, f64::max)
        };
        let least = resources.exchange_seconds(plan.iter().map(longest));
        assert_eq!(route((6, 6), Some(least * (1.0 + 1e-9))), Some(plan));
        assert_eq!(route((6, 6), Some(least * (1.0 - 1e-9))), None);
    }
}
