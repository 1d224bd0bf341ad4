//! Where each connection is, what every phase has, and what one more connection would eject.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use weft_machine::Access;

use crate::bounds::Demand;
use crate::compile::candidates::Compilation;
use crate::compile::negotiate::routes::{Boxes, Prices, UNREACHED, shortest_signs};
use crate::compile::plan::{Placed, Plan};
use crate::network::{Grid, Network};

/// The price of a node, of a connection that is there already, and of one that has to leave: so much less each that what
/// comes first decides, and what comes later among equals.
const NODE: u32 = 64;
const USED: u32 = 2;
const EJECTED: u32 = 2048;

/// Steps that a node of a box of routes takes, and one connection more besides.
const STEPS: usize = 6;
const STEPS_EACH: usize = 300;

/// A connection counts for no more than so many that were easy to place.
const MAX_PENALTY: u32 = 1 << 11;

/// What a late arrival costs at most, on one link or access.
const MAX_LATE: u32 = 1 << 17;

/// Links of a route whose price may be added up.
pub const MAX_HOPS: u32 = UNREACHED / (EJECTED * MAX_PENALTY + MAX_LATE + 2 * NODE) - 2;

/// How many connections are put into phases without fewer being left than ever before, until a search is given up.
const PATIENCE: usize = 60_000;

/// What has to be through an access or a link in a phase: latency, seconds, and connection, what has the farthest to go first.
#[derive(Clone, Default)]
struct Timetable {
    users: Vec<(f64, f64, u32)>,
    seconds: f64,
}

impl Timetable {
    /// Seconds until all has arrived, with one more.
    #[inline]
    fn arrival_with(&self, latency: f64, seconds: f64, enough: f64) -> f64 {
        let farthest = self.users.first().map_or(latency, |user| latency.max(user.0));
        let most = self.seconds + seconds + farthest;
        if most <= enough { most } else { self.exactly_with(latency, seconds) }
    }

    fn exactly_with(&self, latency: f64, seconds: f64) -> f64 {
        let (mut sent, mut arrival, mut is_in) = (0.0, 0.0f64, false);
        for &(other, more, _) in &self.users {
            if !is_in && other <= latency {
                sent += seconds;
                arrival = arrival.max(sent + latency);
                is_in = true;
            }
            sent += more;
            arrival = arrival.max(sent + other);
        }
        if is_in { arrival } else { arrival.max(sent + seconds + latency) }
    }

    fn add(&mut self, user: (f64, f64, u32)) {
        let index = self.users.partition_point(|other| other.0 > user.0);
        self.users.insert(index, user);
        self.count();
    }

    fn remove(&mut self, connection: u32) {
        self.users.retain(|user| user.2 != connection);
        self.count();
    }

    /// Added up anew each time, so that nothing is left of what has gone.
    fn count(&mut self) {
        self.seconds = self.users.iter().map(|user| user.1).sum();
    }
}

/// The phase and the route of each connection.
pub type Placements = Vec<Option<(usize, Vec<u32>)>>;

pub struct State<'a> {
    demand: &'a Demand<'a>,
    grid: &'a Grid,
    /// Of each node.
    channels: usize,
    /// Seconds of each connection with nothing in its way.
    alone: Vec<f64>,
    /// Seconds that each phase may take until all has arrived.
    pub limits: Vec<f64>,
    pub placements: Placements,
    waiting: VecDeque<u32>,
    penalties: Vec<u32>,
    /// By phase and node: the connections that have a channel there, and what one more costs.
    users: Vec<Vec<u32>>,
    prices: Vec<u32>,
    /// By phase and row: accesses, then links.
    timetables: Vec<Timetable>,
    rows: usize,
    boxes: Boxes,
    random: Xoshiro256PlusPlus,
    steps: usize,
}

/// Where a connection goes for the least price.
struct Chosen {
    price: u32,
    phase: usize,
    route: Vec<u32>,
}

/// The prices of one phase for a connection.
struct Opening<'a> {
    network: &'a Network,
    prices: &'a [u32],
    /// Those of links.
    timetables: &'a [Timetable],
    limit: f64,
    latency: f64,
    /// Seconds of its words on a link of one wire.
    seconds: f64,
}

impl Opening<'_> {
    fn price(timetable: &Timetable, latency: f64, seconds: f64, limit: f64) -> u32 {
        let enough = limit * (1.0 + 1e-9);
        let arrival = timetable.arrival_with(latency, seconds, enough);
        match arrival <= enough {
            true => (timetable.seconds / limit * 2.0) as u32,
            false => (f64::from(EJECTED) * (1.0 + 3.0 * (arrival / limit - 1.0))).min(f64::from(MAX_LATE)) as u32,
        }
    }
}

impl Prices for Opening<'_> {
    const MIN_NODE: u32 = NODE;

    #[inline]
    fn node(&self, vertex: usize) -> u32 {
        self.prices[vertex]
    }

    #[inline]
    fn link(&self, link: usize) -> u32 {
        let seconds = self.seconds / f64::from(self.network.multiplicity[link]);
        Opening::price(&self.timetables[link], self.latency, seconds, self.limit)
    }
}

impl<'a> State<'a> {
    pub fn new(
        demand: &'a Demand<'a>,
        grid: &'a Grid,
        channels: u32,
        alone: Vec<f64>,
        limits: Vec<f64>,
        random: Xoshiro256PlusPlus,
    ) -> State<'a> {
        let (connections, network) = (demand.set.connections.len(), demand.network);
        let (phases, rows) = (limits.len(), 2 * network.nodes + network.links());
        State {
            demand,
            grid,
            channels: channels as usize,
            alone,
            limits,
            placements: vec![None; connections],
            waiting: VecDeque::new(),
            penalties: vec![1; connections],
            users: vec![Vec::new(); phases * network.nodes],
            prices: vec![NODE; phases * network.nodes],
            timetables: vec![Timetable::default(); phases * rows],
            rows,
            boxes: Boxes::default(),
            random,
            steps: 0,
        }
    }

    /// Whether a connection is in time in a phase if nothing is in its way.
    pub fn is_in_time(&self, connection: u32, phase: usize) -> bool {
        self.alone[connection as usize] <= self.limits[phase] * (1.0 + 1e-9)
    }

    /// All that is in no phase waits, what few phases have time for first.
    pub fn wait(&mut self) {
        let is_out = |connection: &u32| self.placements[*connection as usize].is_none();
        let mut waiting: Vec<u32> = (0..self.placements.len() as u32).filter(is_out).collect();
        waiting.sort_by_cached_key(|&connection| {
            let phases = (0..self.limits.len()).filter(|&phase| self.is_in_time(connection, phase));
            (phases.count(), Reverse(self.demand.hops[connection as usize]))
        });
        self.waiting = waiting.into();
    }

    /// The rows of the accesses of a connection's ends.
    fn ends(&self, connection: u32) -> [usize; 2] {
        let ends = self.demand.set.connections[connection as usize];
        let receiving = match self.demand.resources.access {
            Access::Separate => self.demand.network.nodes,
            Access::Shared => 0,
        };
        [ends.source as usize, receiving + ends.destination as usize]
    }

    /// The timetables that a route takes time of, and how many seconds of each.
    fn takes(&self, connection: u32, phase: usize, route: &[u32]) -> Vec<(usize, f64)> {
        let Demand { set, resources, network, .. } = *self.demand;
        let words = set.connections[connection as usize].words as f64;
        let first = phase * self.rows;
        let ends = self.ends(connection).map(|row| (first + row, words * resources.access_seconds));
        let links = route.windows(2).map(|pair| {
            let link = network.link(pair[0], pair[1]);
            let seconds = words * resources.link_seconds / f64::from(network.multiplicity[link]);
            (first + 2 * network.nodes + link, seconds)
        });
        ends.into_iter().chain(links).collect()
    }

    /// Seconds that the last word of a connection is on its way.
    fn latency(&self, connection: u32) -> f64 {
        self.demand.resources.latency_seconds(self.demand.hops[connection as usize] as usize)
    }

    fn put(&mut self, connection: u32, phase: usize, route: Vec<u32>) {
        let latency = self.latency(connection);
        for (index, seconds) in self.takes(connection, phase, &route) {
            self.timetables[index].add((latency, seconds, connection));
        }
        for &node in &route {
            let index = phase * self.demand.network.nodes + node as usize;
            self.users[index].push(connection);
            self.price(index);
        }
        self.placements[connection as usize] = Some((phase, route));
    }

    fn take(&mut self, connection: u32) {
        let Some((phase, route)) = self.placements[connection as usize].take() else { return };
        for (index, _) in self.takes(connection, phase, &route) {
            self.timetables[index].remove(connection);
        }
        for &node in &route {
            let index = phase * self.demand.network.nodes + node as usize;
            self.users[index].retain(|&other| other != connection);
            self.price(index);
        }
        self.waiting.push_back(connection);
    }

    /// What one more connection through a node costs.
    fn price(&mut self, index: usize) {
        let users = &self.users[index];
        let penalty = |&user: &u32| self.penalties[user as usize].min(MAX_PENALTY);
        let ejected = if users.len() < self.channels { 0 } else { users.iter().map(penalty).min().unwrap_or(0) };
        self.prices[index] = NODE + USED * users.len() as u32 + EJECTED * ejected;
    }

    /// Puts what waits into phases, until nothing does, or the fewest that waited at any time have not become fewer for long.
    pub fn settle(&mut self, compilation: &Compilation, end: f64) -> bool {
        let control = compilation.control;
        let (mut least, mut since) = (usize::MAX, 0);
        for round in 0.. {
            let Some(connection) = self.waiting.pop_front() else { return true };
            if round % 64 == 0 {
                control.spend(std::mem::take(&mut self.steps));
                if control.is_over() || control.steps() >= end {
                    return false;
                }
            }
            let Some(chosen) = self.cheapest(connection) else { return false };
            self.insert(connection, chosen);
            since = if self.waiting.len() < least { 0 } else { since + 1 };
            least = least.min(self.waiting.len());
            if since > PATIENCE {
                return false;
            }
        }
        false
    }

    /// Where a connection ejects least, beginning with a phase by chance; of those where it ejects none, the first.
    fn cheapest(&mut self, connection: u32) -> Option<Chosen> {
        let in_time = |&phase: &usize| self.is_in_time(connection, phase);
        let phases: Vec<usize> = (0..self.limits.len()).filter(in_time).collect();
        let first = (self.random.next_u64() % phases.len().max(1) as u64) as usize;
        let mut boxes = std::mem::take(&mut self.boxes);
        let chosen = self.cheapest_of(connection, phases[first..].iter().chain(&phases[..first]), &mut boxes);
        self.boxes = boxes;
        chosen
    }

    fn cheapest_of<'p>(
        &mut self,
        connection: u32,
        phases: impl Iterator<Item = &'p usize> + Clone,
        boxes: &mut Boxes,
    ) -> Option<Chosen> {
        let Demand { set, resources, network, hops } = *self.demand;
        let asked = set.connections[connection as usize];
        let hops = hops[connection as usize];
        let latency = resources.latency_seconds(hops as usize);
        let access = asked.words as f64 * resources.access_seconds;
        let free = NODE * (hops + 1) + EJECTED;
        let mut best: Option<Chosen> = None;
        for signs in shortest_signs(self.grid, asked.source as usize, asked.destination as usize) {
            boxes.prepare(self.grid, network, asked.source as usize, &signs, true);
            for &phase in phases.clone() {
                let limit = self.limits[phase];
                let timetables = &self.timetables[phase * self.rows..(phase + 1) * self.rows];
                let known = best.as_ref().map_or(UNREACHED, |best| best.price);
                let of_end = |row: usize| Opening::price(&timetables[row], latency, access, limit);
                let ends: u32 = self.ends(connection).map(of_end).iter().sum();
                if ends >= known {
                    continue;
                }
                let opening = Opening {
                    network,
                    prices: &self.prices[phase * network.nodes..(phase + 1) * network.nodes],
                    timetables: &timetables[2 * network.nodes..],
                    limit,
                    latency,
                    seconds: asked.words as f64 * resources.link_seconds,
                };
                self.steps += STEPS * boxes.nodes.len();
                let price = ends + boxes.walk(&opening, &signs, true);
                if price < known {
                    best = Some(Chosen { price, phase, route: boxes.route(&opening, &signs, true) });
                    if price < free {
                        return best;
                    }
                }
            }
        }
        best
    }

    /// Puts a connection where it was found to go, and what is in its way out.
    fn insert(&mut self, connection: u32, chosen: Chosen) {
        self.steps += STEPS_EACH;
        let Chosen { phase, route, .. } = chosen;
        let before = self.waiting.len();
        for &node in &route {
            let index = phase * self.demand.network.nodes + node as usize;
            while self.users[index].len() >= self.channels {
                let users = self.users[index].clone();
                self.eject(users.iter().copied());
            }
        }
        let (latency, enough) = (self.latency(connection), self.limits[phase] * (1.0 + 1e-9));
        for (index, seconds) in self.takes(connection, phase, &route) {
            while !self.timetables[index].users.is_empty()
                && self.timetables[index].arrival_with(latency, seconds, enough) > enough
            {
                let users = self.timetables[index].users.clone();
                self.eject(users.iter().map(|user| user.2));
            }
        }
        if self.waiting.len() > before {
            self.penalties[connection as usize] += 1;
        }
        self.put(connection, phase, route);
    }

    /// Takes out the one that was the easiest to place, of several by chance.
    fn eject(&mut self, users: impl Iterator<Item = u32>) {
        let chance = self.random.next_u64();
        let order = |user: &u32| (self.penalties[*user as usize], u64::from(*user).wrapping_mul(chance | 1));
        if let Some(user) = users.min_by_key(order) {
            self.take(user);
        }
    }

    /// Gives phases other limits: what does not keep them waits.
    pub fn limit(&mut self, limits: Vec<f64>) {
        self.limits = limits;
        self.waiting.clear();
        for connection in 0..self.placements.len() as u32 {
            let Some((phase, route)) = &self.placements[connection as usize] else { continue };
            let enough = self.limits[*phase] * (1.0 + 1e-9);
            let is_late = |(index, _): (usize, f64)| {
                let timetable: &Timetable = &self.timetables[index];
                timetable.arrival_with(f64::NEG_INFINITY, 0.0, enough) > enough
            };
            let is_short = self.is_in_time(connection, *phase);
            if !is_short || self.takes(connection, *phase, route).into_iter().any(is_late) {
                self.take(connection);
            }
        }
    }

    pub fn plan(&self) -> Plan {
        let mut plan: Plan = vec![Vec::new(); self.limits.len()];
        for (connection, placement) in self.placements.iter().enumerate() {
            if let Some((phase, route)) = placement {
                let words = self.demand.set.connections[connection].words;
                plan[*phase].push(Placed { connection: connection as u32, words, route: route.clone() });
            }
        }
        plan.retain(|phase| !phase.is_empty());
        plan
    }

    /// Goes back to where everything was.
    pub fn restore(&mut self, placements: &Placements) {
        for connection in 0..placements.len() as u32 {
            if self.placements[connection as usize] != placements[connection as usize] {
                self.take(connection);
            }
        }
        for (connection, placement) in placements.iter().enumerate() {
            if let (None, Some((phase, route))) = (&self.placements[connection], placement) {
                self.put(connection as u32, *phase, route.clone());
            }
        }
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The last arrival is that of the farthest first, whatever came when, and none of another order is sooner.
        #[test]
        fn arrivals_are_those_of_the_farthest_first(users in proptest::collection::vec((0u32..9, 1u32..20), 1..6)) {
            let mut timetable = Timetable::default();
            for (index, &(latency, seconds)) in users.iter().enumerate().skip(1) {
                timetable.add((f64::from(latency), f64::from(seconds), index as u32));
            }
            let (latency, seconds) = (f64::from(users[0].0), f64::from(users[0].1));
            let arrival = timetable.arrival_with(latency, seconds, 0.0);
            // All orders, by rotations of the rest.
            fn least(sent: u32, left: &[(u32, u32)]) -> u32 {
                let of = |index: usize| {
                    let mut rest = left.to_vec();
                    let (latency, seconds) = rest.remove(index);
                    (sent + seconds + latency).max(least(sent + seconds, &rest))
                };
                (0..left.len()).map(of).min().unwrap_or(0)
            }
            prop_assert_eq!(arrival, f64::from(least(0, &users)));
            prop_assert!(timetable.arrival_with(latency, seconds, arrival) <= arrival);
            for index in 1..users.len() {
                timetable.remove(index as u32);
            }
            prop_assert_eq!(timetable.arrival_with(latency, seconds, 0.0), latency + seconds);
        }
    }
}
