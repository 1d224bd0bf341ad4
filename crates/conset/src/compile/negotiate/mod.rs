//! Negotiated congestion with the number of phases fixed.
//!
//! Every phase is a copy of the network. Connections are placed one by one into the copy and over the route that costs
//! least; overused nodes and links are allowed at first and become dearer from round to round, and remember that they were
//! overused, until nobody shares what cannot be shared. The idea is that of PathFinder (McMurchie and Ebeling 1995) for
//! field-programmable gate arrays, there with one copy.
//!
//! Besides what limits what is open at once, a phase may have a limit of words for each link and each access: that is how
//! the time of transfers is negotiated together with the number of phases.

pub mod routes;

use std::cmp::Reverse;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use weft_base::generator;
use weft_machine::Access;

use super::control::Control;
use super::plan::{Placed, Plan};
use crate::network::{Grid, Network};
use crate::pattern::ConnectionSet;
use crate::resources::Resources;
use routes::{Boxes, Finder, UNREACHED, shortest_signs};

/// What is negotiated: `parts` are connections, or shares of their words.
pub struct Problem<'a> {
    pub set: &'a ConnectionSet,
    pub resources: &'a Resources,
    pub network: &'a Network,
    /// Connection and words of each part.
    pub parts: &'a [(u32, u64)],
    /// Seconds that the transfers of each phase may take; their number is the number of phases.
    pub limits: &'a [f64],
    /// The phase of each part, where only routes are to be found.
    pub fixed: Option<&'a [u32]>,
    /// The last phase that each part may be in.
    pub latest: Option<&'a [u32]>,
    /// Rounds before giving up.
    pub rounds: usize,
}

const PLAIN: u32 = 16;

/// Parts up to which negotiation goes on though more than half of them are in each other's way after the first round.
/// Patterns of 1,024 nodes get a phase fewer that way; at 65,536 connections it took eight times as long for 2%.
const MAX_OVERLOADED: usize = 20_000;

/// Rounds of so small a share of the parts take hardly any time, and go on when the effort is spent.
const SMALL: usize = 100;

/// The occupancy and the prices of one phase.
pub struct Copy {
    node_used: Vec<u32>,
    node_cost: Vec<u32>,
    node_history: Vec<u32>,
    link_used: Vec<u32>,
    link_words: Vec<u64>,
    link_cost: Vec<u32>,
    link_history: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    sent: Vec<u64>,
    received: Vec<u64>,
    end_history: Vec<u32>,
    /// Words that a link and an access can transfer within the phase's limit.
    link_limit: u64,
    access_limit: u64,
}

struct State<'a> {
    problem: &'a Problem<'a>,
    copies: Vec<Copy>,
    /// Where each part is: its phase and route.
    placements: Vec<Option<(u32, Vec<u32>)>>,
    pressure: u32,
    count_links: bool,
    count_words: bool,
    /// Typical words of a part: overuse is counted in these.
    unit: u64,
    random: Xoshiro256PlusPlus,
    after: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    boxes: Boxes,
    finder: Finder,
}

/// A plan within the limits, if the rounds are enough.
pub fn negotiate(problem: &Problem, control: &Control, stream: u64) -> Option<Plan> {
    let mut state = State::new(problem, control.seed, stream);
    let mut order = state.first_order();
    let mut stuck = 0;
    let mut least = usize::MAX;
    let mut history: Vec<usize> = Vec::new();
    for round in 0..problem.rounds {
        // Paths that are not shortest, for the few that shortest paths leave over.
        let detours = round > 3 && round % 4 == 0 && order.len() * 20 < problem.parts.len().max(2000);
        for (index, &part) in order.iter().enumerate() {
            if index % 16 == 0 && control.is_interrupted() {
                return None;
            }
            state.remove(part);
            // The first connections find room everywhere.
            let quick = round == 0 && index * 2 < order.len();
            let steps = state.insert(part, detours, quick);
            control.spend(steps);
        }
        if control.is_interrupted() {
            return None;
        }
        let over = state.overused();
        if over.is_empty() {
            return Some(state.plan());
        }
        let is_small = over.len() * SMALL <= problem.parts.len();
        if control.is_interrupted() || control.is_over() && round > 8 && !is_small {
            return None;
        }
        // Much too much in the same places: this is not going to end well.
        history.push(over.len());
        if round == 0 && over.len() * 2 > problem.parts.len() && problem.parts.len() > MAX_OVERLOADED {
            return None;
        }
        if round >= 3 && over.len() * 5 > problem.parts.len() && over.len() * 10 > history[round - 3] * 9 {
            return None;
        }
        if over.len() < least {
            (least, stuck) = (over.len(), 0);
        } else {
            stuck += 1;
            if stuck > problem.rounds / 3 + 8 {
                return None;
            }
        }
        state.raise_prices();
        order = over;
        state.shuffle(&mut order);
    }
    None
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem<'a>, seed: u64, stream: u64) -> State<'a> {
        let (network, resources) = (problem.network, problem.resources);
        let (nodes, links) = (network.nodes, network.links());
        let count_words = problem.limits.iter().any(|limit| limit.is_finite());
        let count_links = resources.link_channels.is_some() || count_words;
        let copies = problem
            .limits
            .iter()
            .map(|&limit| {
                let words = |seconds: f64| {
                    if limit.is_finite() && seconds > 0.0 {
                        (limit / seconds * (1.0 + 1e-9)) as u64
                    } else {
                        u64::MAX / 4
                    }
                };
                Copy {
                    node_used: vec![0; nodes],
                    node_cost: vec![PLAIN; network.vertices],
                    node_history: vec![0; nodes],
                    link_used: vec![0; links],
                    link_words: vec![0; links],
                    link_cost: vec![0; links],
                    link_history: vec![0; links],
                    starts: vec![0; nodes],
                    ends: vec![0; nodes],
                    sent: vec![0; nodes],
                    received: vec![0; nodes],
                    end_history: vec![0; nodes],
                    link_limit: words(resources.link_seconds),
                    access_limit: words(resources.access_seconds),
                }
            })
            .collect();
        let mut state = State {
            problem,
            copies,
            placements: vec![None; problem.parts.len()],
            pressure: PLAIN,
            count_links,
            count_words,
            unit: problem.parts.iter().map(|part| part.1).max().unwrap_or(1).max(1),
            random: generator(seed, stream),
            after: Vec::new(),
            before: Vec::new(),
            boxes: Boxes::default(),
            finder: Finder::default(),
        };
        state.note_orders();
        for phase in 0..state.copies.len() {
            for node in 0..nodes {
                state.price_node(phase, node);
            }
            if state.count_links {
                for link in 0..links {
                    state.price_link(phase, link);
                }
            }
        }
        state
    }

    /// Which parts wait for which.
    fn note_orders(&mut self) {
        let set = self.problem.set;
        if set.orders.is_empty() {
            return;
        }
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); set.connections.len()];
        for (part, &(connection, _)) in self.problem.parts.iter().enumerate() {
            parts[connection as usize].push(part as u32);
        }
        self.after = vec![Vec::new(); self.problem.parts.len()];
        self.before = vec![Vec::new(); self.problem.parts.len()];
        for order in &set.orders {
            for &first in &parts[order.before as usize] {
                for &second in &parts[order.after as usize] {
                    self.after[first as usize].push(second);
                    self.before[second as usize].push(first);
                }
            }
        }
    }

    /// Longest first, equals in random order; with orders, what others wait for before them.
    fn first_order(&mut self) -> Vec<usize> {
        let problem = self.problem;
        let ranks = problem.set.ranks().unwrap_or_default();
        let pairs: Vec<(u32, u32)> = problem
            .parts
            .iter()
            .map(|&(c, _)| {
                let connection = problem.set.connections[c as usize];
                (connection.source, connection.destination)
            })
            .collect();
        let hops = problem.network.shortest(&pairs);
        let mut order: Vec<usize> = (0..problem.parts.len()).collect();
        self.shuffle(&mut order);
        let rank = |part: usize| ranks.get(problem.parts[part].0 as usize).copied().unwrap_or(0);
        order.sort_by_key(|&part| (rank(part), Reverse((hops[part].unwrap_or(0), problem.parts[part].1))));
        order
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            order.swap(last, (self.random.next_u64() % (last as u64 + 1)) as usize);
        }
    }

    /// What one more connection through the node costs.
    #[inline]
    fn price_node(&mut self, phase: usize, node: usize) {
        let copy = &mut self.copies[phase];
        let used = copy.node_used[node];
        let over = match self.problem.resources.node_channels {
            Some(limit) => (used + 1).saturating_sub(limit),
            None => 0,
        };
        copy.node_cost[node] = PLAIN + copy.node_history[node] + over * self.pressure;
    }

    #[inline]
    fn price_link(&mut self, phase: usize, link: usize) {
        let wires = self.problem.network.multiplicity[link];
        let unit = self.unit;
        let copy = &mut self.copies[phase];
        let mut over = match self.problem.resources.link_channels {
            Some(limit) => (copy.link_used[link] + 1).saturating_sub(limit * wires),
            None => 0,
        };
        if self.count_words {
            let limit = copy.link_limit.saturating_mul(wires.into());
            let words = (copy.link_words[link] + unit).saturating_sub(limit);
            over += u32::try_from(words.div_ceil(unit)).unwrap_or(1 << 10).min(1 << 10);
        }
        copy.link_cost[link] = copy.link_history[link] + over * self.pressure;
    }

    /// What the ends cost in this phase, wherever the route goes.
    fn price_ends(&self, phase: usize, source: usize, destination: usize, words: u64) -> u32 {
        let copy = &self.copies[phase];
        let resources = self.problem.resources;
        let mut over = 0u64;
        if let Some(ports) = resources.ports {
            over += u64::from((copy.starts[source] + 1).saturating_sub(ports));
            over += u64::from((copy.ends[destination] + 1).saturating_sub(ports));
        }
        let mut cost = copy.end_history[source] + copy.end_history[destination];
        if self.count_words {
            let beyond = |now: u64| (now + words).saturating_sub(copy.access_limit).div_ceil(self.unit.div_ceil(16));
            let sixteenths = match resources.access {
                Access::Separate => beyond(copy.sent[source]) + beyond(copy.received[destination]),
                Access::Shared => {
                    beyond(copy.sent[source] + copy.received[source])
                        + beyond(copy.sent[destination] + copy.received[destination])
                }
            };
            cost += (sixteenths.min(1 << 12) as u32 * self.pressure / 16).min(1 << 20);
        }
        cost + over.min(64) as u32 * self.pressure
    }

    fn ends_of(&self, part: usize) -> (usize, usize) {
        let connection = self.problem.set.connections[self.problem.parts[part].0 as usize];
        (connection.source as usize, connection.destination as usize)
    }

    fn apply(&mut self, part: usize, phase: usize, route: &[u32], adds: bool) {
        let words = self.problem.parts[part].1;
        let nodes = self.problem.network.nodes;
        for &vertex in route {
            let vertex = vertex as usize;
            if vertex < nodes {
                let used = &mut self.copies[phase].node_used[vertex];
                *used = if adds { *used + 1 } else { *used - 1 };
                self.price_node(phase, vertex);
            }
        }
        if self.count_links {
            for pair in route.windows(2) {
                let link = self.problem.network.link(pair[0], pair[1]);
                let copy = &mut self.copies[phase];
                if adds {
                    copy.link_used[link] += 1;
                    copy.link_words[link] += words;
                } else {
                    copy.link_used[link] -= 1;
                    copy.link_words[link] -= words;
                }
                self.price_link(phase, link);
            }
        }
        let (source, destination) = self.ends_of(part);
        let copy = &mut self.copies[phase];
        if adds {
            copy.starts[source] += 1;
            copy.ends[destination] += 1;
            copy.sent[source] += words;
            copy.received[destination] += words;
        } else {
            copy.starts[source] -= 1;
            copy.ends[destination] -= 1;
            copy.sent[source] -= words;
            copy.received[destination] -= words;
        }
    }

    fn remove(&mut self, part: usize) {
        if let Some((phase, route)) = self.placements[part].take() {
            self.apply(part, phase as usize, &route, false);
        }
    }

    /// Phases that the orders leave to a part.
    fn window(&self, part: usize) -> (usize, usize) {
        if let Some(fixed) = self.problem.fixed {
            return (fixed[part] as usize, fixed[part] as usize);
        }
        let last = self.problem.latest.map_or(self.copies.len() - 1, |latest| latest[part] as usize);
        if self.after.is_empty() {
            return (0, last);
        }
        let phase = |other: &u32| self.placements[*other as usize].as_ref().map(|placement| placement.0 as usize);
        let low = self.before[part].iter().filter_map(phase).max().unwrap_or(0);
        let high = self.after[part].iter().filter_map(phase).min().unwrap_or(last);
        (low, high.max(low))
    }

    /// Puts a part where it costs least; the steps that took.
    fn insert(&mut self, part: usize, detours: bool, quick: bool) -> usize {
        let (source, destination) = self.ends_of(part);
        let words = self.problem.parts[part].1;
        let (low, high) = self.window(part);
        let network = self.problem.network;
        let mut best: Option<(u32, usize, Vec<u32>)> = None;
        let mut steps = 0;
        // Long connections come first; together in the first phases, they leave the others short. Where words are limited
        // they are spread.
        let is_together = quick && !self.count_words;
        let skipped = if is_together { 0 } else { (self.random.next_u64() % (high - low + 1) as u64) as usize };
        let phases = (low..=high).cycle().skip(skipped).take(high - low + 1);
        if let Some(grid) = network.grid.as_ref().filter(|_| quick && !self.count_links)
            && let Some((phase, route)) = self.free_corner(grid, part, phases.clone())
        {
            let hops = route.len();
            self.apply(part, phase, &route, true);
            self.placements[part] = Some((phase as u32, route));
            return hops;
        }
        match &network.grid {
            Some(grid) if !detours => 'search: {
                for signs in shortest_signs(grid, source, destination) {
                    let mut boxes = std::mem::take(&mut self.boxes);
                    boxes.prepare(grid, network, source, &signs, self.count_links);
                    for phase in phases.clone() {
                        let ends = self.price_ends(phase, source, destination, words);
                        if best.as_ref().is_some_and(|(cost, ..)| ends >= *cost) {
                            continue;
                        }
                        let cost = ends + boxes.walk(&self.copies[phase], &signs, self.count_links);
                        steps += boxes.nodes.len();
                        if best.as_ref().is_none_or(|(known, ..)| cost < *known) {
                            let route = boxes.route(&self.copies[phase], &signs, self.count_links);
                            let free = cost == PLAIN * route.len() as u32;
                            best = Some((cost, phase, route));
                            if free {
                                self.boxes = boxes;
                                break 'search;
                            }
                        }
                    }
                    self.boxes = boxes;
                }
            }
            _ => {
                for phase in phases {
                    let ends = self.price_ends(phase, source, destination, words);
                    let limit = best.as_ref().map_or(UNREACHED, |(cost, ..)| *cost);
                    if ends >= limit {
                        continue;
                    }
                    let copy = &self.copies[phase];
                    let (cheapest, visited) =
                        self.finder.cheapest(network, copy, self.count_links, (source, destination), limit - ends);
                    steps += 4 * visited;
                    if let Some((cost, route)) = cheapest {
                        best = Some((cost + ends, phase, route));
                    }
                }
            }
        }
        let Some((_, phase, route)) = best else { return steps };
        self.apply(part, phase, &route, true);
        self.placements[part] = Some((phase as u32, route));
        steps
    }

    /// A way of one straight line an axis, the axes upwards or downwards, that costs nothing beyond its length: quick to
    /// look for, and most connections have one in some phase.
    fn free_corner(&self, grid: &Grid, part: usize, phases: impl Iterator<Item = usize>) -> Option<(usize, Vec<u32>)> {
        let (source, destination) = self.ends_of(part);
        let words = self.problem.parts[part].1;
        let axes = grid.extents.len();
        let steps: Vec<i32> = (0..axes).map(|axis| grid.offset(source, destination, axis)).collect();
        let corner = |upwards: bool| {
            let mut at = source;
            let mut route = vec![at as u32];
            for step in 0..axes {
                let axis = if upwards { step } else { axes - 1 - step };
                for _ in 0..steps[axis].unsigned_abs() {
                    at = grid.step(at, axis, steps[axis] > 0);
                    route.push(at as u32);
                }
            }
            route
        };
        let routes = [corner(true), corner(false)];
        let straight = steps.iter().filter(|&&steps| steps != 0).count() < 2;
        for phase in phases {
            if self.price_ends(phase, source, destination, words) > 0 {
                continue;
            }
            let copy = &self.copies[phase];
            for (index, route) in routes.iter().enumerate().take(if straight { 1 } else { 2 }) {
                // The other corner first for every other connection.
                let route = if straight || part.is_multiple_of(2) { route } else { &routes[1 - index] };
                if route.iter().all(|&node| copy.node_cost[node as usize] == PLAIN) {
                    return Some((phase, route.clone()));
                }
            }
        }
        None
    }

    fn node_over(&self, copy: &Copy, node: usize) -> bool {
        self.problem.resources.node_channels.is_some_and(|limit| copy.node_used[node] > limit)
    }

    fn link_over(&self, copy: &Copy, link: usize) -> bool {
        let wires = self.problem.network.multiplicity[link];
        let count = self.problem.resources.link_channels;
        count.is_some_and(|limit| copy.link_used[link] > limit * wires)
            || (self.count_words && copy.link_words[link] > copy.link_limit.saturating_mul(wires.into()))
    }

    fn end_over(&self, copy: &Copy, node: usize, sends: bool) -> bool {
        let resources = self.problem.resources;
        let count = if sends { copy.starts[node] } else { copy.ends[node] };
        let words = match resources.access {
            Access::Separate if sends => copy.sent[node],
            Access::Separate => copy.received[node],
            Access::Shared => copy.sent[node] + copy.received[node],
        };
        resources.ports.is_some_and(|ports| count > ports) || (self.count_words && words > copy.access_limit)
    }

    /// The parts that use what is overused.
    fn overused(&self) -> Vec<usize> {
        let network = self.problem.network;
        let uses = |part: usize| {
            let Some((phase, route)) = &self.placements[part] else { return true };
            let copy = &self.copies[*phase as usize];
            let (source, destination) = self.ends_of(part);
            route.iter().any(|&v| (v as usize) < network.nodes && self.node_over(copy, v as usize))
                || self.end_over(copy, source, true)
                || self.end_over(copy, destination, false)
                || (self.count_links
                    && route.windows(2).any(|pair| self.link_over(copy, network.link(pair[0], pair[1]))))
        };
        (0..self.placements.len()).filter(|&part| uses(part)).collect()
    }

    fn raise_prices(&mut self) {
        self.pressure = (self.pressure + self.pressure / 4).min(1 << 14);
        let (nodes, links) = (self.problem.network.nodes, self.problem.network.links());
        for phase in 0..self.copies.len() {
            for node in 0..nodes {
                if self.node_over(&self.copies[phase], node) {
                    self.copies[phase].node_history[node] += PLAIN / 2;
                }
                let copy = &self.copies[phase];
                if self.end_over(copy, node, true) || self.end_over(copy, node, false) {
                    self.copies[phase].end_history[node] += PLAIN / 2;
                }
                self.price_node(phase, node);
            }
            if self.count_links {
                for link in 0..links {
                    if self.link_over(&self.copies[phase], link) {
                        self.copies[phase].link_history[link] += PLAIN / 2;
                    }
                    self.price_link(phase, link);
                }
            }
        }
    }

    fn plan(self) -> Plan {
        let mut plan: Plan = vec![Vec::new(); self.copies.len()];
        for (part, placement) in self.placements.into_iter().enumerate() {
            let (phase, route) = placement.expect("every part is placed");
            let (connection, words) = self.problem.parts[part];
            plan[phase as usize].push(Placed { connection, words, route });
        }
        plan
    }
}
