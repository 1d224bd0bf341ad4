//! Shares of connections in phases: what each takes, and what is over its limit.

use weft_machine::Access;

use crate::bounds::Demand;
use crate::compile::negotiate::routes::{Finder, Prices, UNREACHED};
use crate::compile::plan::{Placed, Plan};
use crate::compile::staged::Staged;
use crate::resources::Resources;

/// The price of a node with a free channel, in [`State::route`].
const STEP: u32 = 16;

/// How much more than its shortest path a route may cost, in steps, where that has free channels.
const MAX_DETOUR: u32 = 16;

/// What a channel too many counts, beside words that are an eighth of the limit too many, which count 2.
const CHANNEL: f32 = 0.5;

/// Some of the words of a connection, in a phase over a route.
#[derive(Clone)]
pub struct Share {
    pub connection: u32,
    pub phase: usize,
    pub words: u64,
    /// Words of a row within the time of its phase that it takes as much as: more than its own where it has far to go.
    pub load: u64,
    pub route: Vec<u32>,
    /// The rows that its words take time of: the accesses of its ends, then the links of its route.
    pub rows: Vec<u32>,
    /// The rows that it takes a channel of.
    pub channel_rows: Vec<u32>,
}

/// What a key has, and may have: all that a change of it needs is together in memory.
#[derive(Clone, Copy)]
struct Key {
    /// Words, or channels.
    words: i64,
    /// Those within the time of its phase.
    limit: i64,
    /// The reciprocal of the overuse that counts as much as the weight.
    scale: f32,
    weight: f32,
}

impl Key {
    const UNLIMITED: Key = Key { words: 0, limit: i64::MAX / 4, scale: 0.0, weight: 1.0 };

    fn penalty(self, over: i64) -> f64 {
        let over = over.max(0) as f64 * f64::from(self.scale);
        over * (over + 1.0)
    }
}

/// The shares of all connections. Ports and channels of links are never overused; channels of a node, and the words of an
/// access or a link, may be over their limits.
///
/// A *row* is an access, a link or the channels of a node; a *key* is a row in a phase. Keys that stay over their limits
/// weigh more from time to time, so that the search leaves where it is stuck (Morris 1993, the breakout method).
///
/// All shares of a phase arrive together: one whose last word arrives l seconds after it is sent has that much less time
/// than the phase, and takes as much of a row as one with D / (D - l) times its words that has no way to go.
#[derive(Clone)]
pub struct State<'a> {
    demand: &'a Demand<'a>,
    pub phases: usize,
    rows: usize,
    pub shares: Vec<Share>,
    /// The shares of each connection, and those of each key.
    pub of_connection: Vec<Vec<u32>>,
    pub of_key: Vec<Vec<u32>>,
    keys: Vec<Key>,
    /// Seconds that each phase may take until all has arrived.
    seconds: Vec<f64>,
    link_channels: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// Keys over their limits, and where each key is among them.
    pub over: Vec<u32>,
    over_index: Vec<u32>,
    finder: Finder,
    pub steps: usize,
}

impl<'a> State<'a> {
    pub fn new(demand: &'a Demand<'a>, plan: &Plan) -> State<'a> {
        let network = demand.network;
        let (nodes, links, phases) = (network.nodes, network.links(), plan.len());
        let rows = 3 * nodes + links;
        let mut state = State {
            demand,
            phases,
            rows,
            shares: Vec::new(),
            of_connection: vec![Vec::new(); demand.set.connections.len()],
            of_key: vec![Vec::new(); phases * rows],
            keys: vec![Key::UNLIMITED; phases * rows],
            seconds: vec![f64::INFINITY; phases],
            link_channels: vec![0; phases * links],
            starts: vec![0; phases * nodes],
            ends: vec![0; phases * nodes],
            over: Vec::new(),
            over_index: vec![u32::MAX; phases * rows],
            finder: Finder::default(),
            steps: 0,
        };
        for (phase, placed) in plan.iter().enumerate() {
            for Placed { connection, words, route } in placed {
                state.open(*connection, phase, *words, route.clone());
            }
        }
        state
    }

    /// What `words` over so many links take of a row within the time of a phase, in words. More than a row has where they do
    /// not arrive in time on their own.
    pub fn load(&self, phase: usize, hops: usize, words: u64) -> u64 {
        let resources = self.demand.resources;
        let (all, latency) = (self.seconds[phase], resources.latency_seconds(hops));
        if latency == 0.0 || all.is_infinite() || words == 0 {
            return words;
        }
        let (left, alone) = (all - latency, words as f64 * resources.word_seconds());
        if left * (1.0 + 1e-9) < alone {
            return words + (all / resources.word_seconds()).ceil() as u64;
        }
        let load = words as f64 * all / left;
        // Rounded up: the function of the standard library is a call where the processor may be an old one.
        load as u64 + u64::from((load as u64 as f64) < load)
    }

    /// Words whose load is `load`, about, where their way is of so many links.
    pub fn words_of(&self, phase: usize, hops: usize, load: u64) -> u64 {
        let latency = self.demand.resources.latency_seconds(hops);
        if latency == 0.0 || self.seconds[phase].is_infinite() {
            return load;
        }
        (load as f64 * (1.0 - latency / self.seconds[phase]).max(0.0)) as u64
    }

    /// Whether words of a connection arrive in time over so many links, if nothing is in their way.
    pub fn is_in_time(&self, phase: usize, hops: usize, words: u64) -> bool {
        let alone = self.demand.resources.alone_seconds(words, hops);
        alone <= self.seconds[phase] * (1.0 + 1e-9)
    }

    /// Gives each phase so many seconds.
    pub fn limit(&mut self, seconds: &[f64]) {
        let resources = self.demand.resources;
        let unlimited = Key::UNLIMITED.limit;
        let words =
            |seconds: f64, each: f64| if each > 0.0 { (seconds / each * (1.0 + 1e-9)) as i64 } else { unlimited };
        for key in 0..self.keys.len() {
            let (phase, row) = self.phase_and_row(key);
            let limit = match self.word_seconds(row) {
                Some(each) => words(seconds[phase], each),
                None => resources.node_channels.map_or(unlimited, i64::from),
            };
            let is_channels = self.is_channels(row);
            let unit = if is_channels { 1.0 } else { limit as f32 / 8.0 + 1.0 };
            let weight = if is_channels { CHANNEL } else { 1.0 };
            self.keys[key] = Key { limit, scale: 1.0 / unit, weight, ..self.keys[key] };
        }
        self.seconds = seconds.to_vec();
        for share in 0..self.shares.len() {
            let Share { phase, words, load, ref route, .. } = self.shares[share];
            let (before, now) = (load as i64, self.load(phase, route.len() - 1, words) as i64);
            for index in 0..self.shares[share].rows.len() {
                let key = self.key(phase, self.shares[share].rows[index]);
                self.keys[key].words += now - before;
            }
            self.shares[share].load = now as u64;
        }
        self.over.clear();
        self.over_index.fill(u32::MAX);
        for key in 0..self.keys.len() {
            self.note(key);
        }
    }

    pub fn key(&self, phase: usize, row: u32) -> usize {
        phase * self.rows + row as usize
    }

    pub fn phase_and_row(&self, key: usize) -> (usize, usize) {
        (key / self.rows, key % self.rows)
    }

    pub fn is_access(&self, row: usize) -> bool {
        row < 2 * self.demand.network.nodes
    }

    pub fn is_channels(&self, row: usize) -> bool {
        row + self.demand.network.nodes >= self.rows
    }

    /// Seconds that a word takes of an access or a link.
    fn word_seconds(&self, row: usize) -> Option<f64> {
        let Demand { resources, network, .. } = *self.demand;
        match row.checked_sub(2 * network.nodes) {
            None => Some(resources.access_seconds),
            Some(link) => network.multiplicity.get(link).map(|&wires| resources.link_seconds / f64::from(wires)),
        }
    }

    /// Makes a key weigh more.
    pub fn weigh(&mut self, key: usize) {
        self.keys[key].weight *= 1.2;
    }

    /// Whether no node has too many channels open.
    pub fn is_plan(&self) -> bool {
        !self.over.iter().any(|&key| self.is_channels(key as usize % self.rows))
    }

    /// Words of a key beyond its limit.
    pub fn excess(&self, key: usize) -> u64 {
        let Key { words, limit, .. } = self.keys[key];
        (words - limit).max(0) as u64
    }

    /// Words that a key can have besides.
    pub fn slack(&self, key: usize) -> u64 {
        let Key { words, limit, .. } = self.keys[key];
        (limit - words).max(0) as u64
    }

    /// How much worse the overuse of a key is with `more` words: a little overuse counts little, but not nothing.
    #[inline]
    pub fn change(&self, key: usize, more: i64) -> f64 {
        let key = self.keys[key];
        let over = key.words - key.limit;
        if over.max(over + more) <= 0 {
            return 0.0;
        }
        (key.penalty(over + more) - key.penalty(over)) * f64::from(key.weight)
    }

    /// The change where all rows of a share get `more` words.
    #[inline]
    pub fn change_of(&self, phase: usize, rows: &[u32], more: i64) -> f64 {
        rows.iter().map(|&row| self.change(self.key(phase, row), more)).sum()
    }

    /// The whole overuse, each key for itself.
    pub fn overuse(&self) -> f64 {
        let of = |&key: &u32| self.excess(key as usize) as f64 * f64::from(self.keys[key as usize].scale);
        self.over.iter().map(of).sum()
    }

    fn note(&mut self, key: usize) {
        let over = self.keys[key].words > self.keys[key].limit;
        let index = self.over_index[key];
        if over && index == u32::MAX {
            self.over_index[key] = self.over.len() as u32;
            self.over.push(key as u32);
        } else if !over && index != u32::MAX {
            self.over_index[key] = u32::MAX;
            self.over.swap_remove(index as usize);
            if let Some(&moved) = self.over.get(index as usize) {
                self.over_index[moved as usize] = index;
            }
        }
    }

    /// The rows of the accesses of a connection's ends.
    pub fn end_rows(&self, connection: u32) -> [u32; 2] {
        let ends = self.demand.set.connections[connection as usize];
        let receiving = match self.demand.resources.access {
            Access::Separate => self.demand.network.nodes as u32,
            Access::Shared => 0,
        };
        [ends.source, receiving + ends.destination]
    }

    /// The rows of a connection over a route.
    pub fn rows_of(&self, connection: u32, route: &[u32]) -> Vec<u32> {
        let network = self.demand.network;
        let links = route.windows(2).map(|pair| (2 * network.nodes + network.link(pair[0], pair[1])) as u32);
        self.end_rows(connection).into_iter().chain(links).collect()
    }

    /// The rows of the channels along a route.
    pub fn channel_rows(&self, route: &[u32]) -> Vec<u32> {
        let nodes = self.demand.network.nodes;
        let first = (self.rows - nodes) as u32;
        route.iter().filter(|&&vertex| (vertex as usize) < nodes).map(|&vertex| first + vertex).collect()
    }

    pub fn share_in(&self, connection: u32, phase: usize) -> Option<u32> {
        let shares = &self.of_connection[connection as usize];
        shares.iter().copied().find(|&share| self.shares[share as usize].phase == phase)
    }

    /// Links of a shortest path of a connection.
    pub fn hops(&self, connection: u32) -> usize {
        self.demand.hops[connection as usize] as usize
    }

    /// How much a share's load changes with more words, or fewer.
    pub fn load_change(&self, share: u32, more: i64) -> i64 {
        let Share { phase, words, load, ref route, .. } = self.shares[share as usize];
        self.load(phase, route.len() - 1, words.strict_add_signed(more)) as i64 - load as i64
    }

    /// Gives a share more words, or fewer.
    pub fn resize(&mut self, share: u32, more: i64) {
        let Share { phase, .. } = self.shares[share as usize];
        let change = self.load_change(share, more);
        let own = &mut self.shares[share as usize];
        (own.words, own.load) = (own.words.strict_add_signed(more), own.load.strict_add_signed(change));
        for index in 0..self.shares[share as usize].rows.len() {
            let key = self.key(phase, self.shares[share as usize].rows[index]);
            self.keys[key].words += change;
            self.note(key);
        }
    }

    fn count(&mut self, phase: usize, route: &[u32], more: i32) {
        let network = self.demand.network;
        let (nodes, links) = (network.nodes, network.links());
        for pair in route.windows(2) {
            let channels = &mut self.link_channels[phase * links + network.link(pair[0], pair[1])];
            *channels = channels.strict_add_signed(more);
        }
        let (first, last) = (route[0] as usize, route[route.len() - 1] as usize);
        for count in [&mut self.starts[phase * nodes + first], &mut self.ends[phase * nodes + last]] {
            *count = count.strict_add_signed(more);
        }
    }

    /// Opens a connection for some of its words.
    pub fn open(&mut self, connection: u32, phase: usize, words: u64, route: Vec<u32>) {
        self.count(phase, &route, 1);
        let (rows, channel_rows) = (self.rows_of(connection, &route), self.channel_rows(&route));
        let (share, load) = (self.shares.len() as u32, self.load(phase, route.len() - 1, words));
        let takes = rows.iter().map(|&row| (row, load)).chain(channel_rows.iter().map(|&row| (row, 1)));
        for (row, load) in takes {
            let key = self.key(phase, row);
            self.of_key[key].push(share);
            self.keys[key].words += load as i64;
            self.note(key);
        }
        self.of_connection[connection as usize].push(share);
        self.shares.push(Share { connection, phase, words, load, route, rows, channel_rows });
    }

    /// Closes a share; the last one gets its number.
    pub fn close(&mut self, share: u32) -> Share {
        let words = self.shares[share as usize].words;
        self.resize(share, -(words as i64));
        let last = self.shares.len() as u32 - 1;
        let moved = self.shares[last as usize].clone();
        let closed = Share { words, ..self.shares.swap_remove(share as usize) };
        self.count(closed.phase, &closed.route, -1);
        for &row in closed.rows.iter().chain(&closed.channel_rows) {
            let key = self.key(closed.phase, row);
            self.of_key[key].retain(|&other| other != share);
        }
        for &row in &closed.channel_rows {
            let key = self.key(closed.phase, row);
            self.keys[key].words -= 1;
            self.note(key);
        }
        self.of_connection[closed.connection as usize].retain(|&other| other != share);
        if share != last {
            let renumber = |list: &mut Vec<u32>| {
                list.iter_mut().filter(|other| **other == last).for_each(|other| *other = share);
            };
            for &row in moved.rows.iter().chain(&moved.channel_rows) {
                let key = self.key(moved.phase, row);
                renumber(&mut self.of_key[key]);
            }
            renumber(&mut self.of_connection[moved.connection as usize]);
        }
        closed
    }

    /// The cheapest route of a connection that has no share in the phase; `None` too where it is longer than the phase allows.
    pub fn route(&mut self, connection: u32, phase: usize, words: u64) -> Option<Vec<u32>> {
        let Demand { set, resources, network, hops } = *self.demand;
        let ends = set.connections[connection as usize];
        let (source, destination) = (ends.source as usize, ends.destination as usize);
        let (nodes, links) = (network.nodes, network.links());
        let taken = |count: u32| resources.ports.is_some_and(|ports| count >= ports);
        if taken(self.starts[phase * nodes + source]) || taken(self.ends[phase * nodes + destination]) {
            return None;
        }
        if !self.is_in_time(phase, hops[connection as usize] as usize, words) {
            return None;
        }
        let keys = phase * self.rows..(phase + 1) * self.rows;
        let open = Open {
            resources,
            multiplicity: &network.multiplicity,
            nodes,
            link_channels: &self.link_channels[phase * links..(phase + 1) * links],
            keys: &self.keys[keys],
            load: self.load(phase, hops[connection as usize] as usize, words) as i64,
        };
        let most = STEP * (hops[connection as usize] + MAX_DETOUR);
        let (cheapest, visited) = self.finder.cheapest(network, &open, true, (source, destination), most);
        self.steps += 8 * visited;
        cheapest.map(|(_, route)| route).filter(|route| self.is_in_time(phase, route.len() - 1, words))
    }

    /// Seconds until all of each phase has arrived.
    pub fn arrivals(&self) -> Vec<f64> {
        let Demand { resources, network, .. } = *self.demand;
        self.plan().iter().map(|phase| Staged::arrival_seconds(phase, resources, network)).collect()
    }

    pub fn plan(&self) -> Plan {
        let mut plan: Plan = vec![Vec::new(); self.phases];
        for Share { connection, phase, words, route, .. } in &self.shares {
            plan[*phase].push(Placed { connection: *connection, words: *words, route: route.clone() });
        }
        for phase in &mut plan {
            phase.sort_by_key(|placed| placed.connection);
        }
        plan.retain(|phase| !phase.is_empty());
        plan
    }
}

/// The prices of one phase for a share that is to be opened.
struct Open<'a> {
    resources: &'a Resources,
    multiplicity: &'a [u32],
    nodes: usize,
    link_channels: &'a [u32],
    /// Of the rows of the phase.
    keys: &'a [Key],
    /// Of the share that is to be opened, over its shortest path.
    load: i64,
}

impl Prices for Open<'_> {
    const MIN_NODE: u32 = STEP;

    #[inline]
    fn node(&self, vertex: usize) -> u32 {
        if vertex >= self.nodes {
            return STEP;
        }
        let key = self.keys[self.keys.len() - self.nodes + vertex];
        let over = key.words + 1 - key.limit;
        if over <= 0 {
            return STEP;
        }
        STEP + (over as f32 * key.weight / CHANNEL * (4 * STEP) as f32).min(1e6) as u32
    }

    #[inline]
    fn link(&self, link: usize) -> u32 {
        let wires = self.multiplicity[link];
        if self.resources.link_channels.is_some_and(|limit| self.link_channels[link] >= limit * wires) {
            return UNREACHED;
        }
        let key = self.keys[2 * self.nodes + link];
        let over = key.words + self.load - key.limit;
        if over <= 0 {
            return 0;
        }
        (over as f32 * key.scale * key.weight * (8 * STEP) as f32).min(1e6) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::plan::Load;
    use crate::network::Network;
    use crate::pattern::{Connection, ConnectionSet};
    use proptest::prelude::*;
    use weft_machine::Topology;

    const PHASES: usize = 3;

    /// Words of an access or a link in each phase.
    const LIMITS: [u64; PHASES] = [150, 160, 200];

    /// Ten connections from nodes of a torus of 4 x 4 to their neighbours' neighbours, all words in the first phase.
    fn connections() -> ConnectionSet {
        let connection =
            |node: u32| Connection { source: node, destination: (node + 2) % 16, words: 100 + u64::from(node) };
        ConnectionSet::new("test", 16, (0..10).map(connection).collect()).unwrap()
    }

    #[test]
    fn routes_are_no_longer_than_their_phase_has_time_for() {
        let machine = weft_machine::find("iwarp64").unwrap();
        let resources =
            Resources { topology: Topology::Torus { extents: vec![4, 4] }, ..Resources::of(&machine).unwrap() };
        let (set, network) = (connections(), Network::new(&resources.topology));
        let hops = vec![2; set.connections.len()];
        let demand = Demand { set: &set, resources: &resources, network: &network, hops: &hops };
        let mut state = State::new(&demand, &vec![Vec::new(); PHASES]);
        let alone =
            |words: u64, links: usize| words as f64 * resources.word_seconds() + resources.latency_seconds(links);
        state.limit(&[alone(10, 2), alone(10, 1), 1.0]);
        assert_eq!(state.route(0, 0, 10).map(|route| route.len()), Some(3));
        assert_eq!(state.route(0, 0, 11), None);
        assert_eq!(state.route(0, 1, 10), None);
        assert_eq!(state.route(0, 2, 10).map(|route| route.len()), Some(3));
        // All of the time is theirs, though a part of it is latency.
        assert_eq!(state.load(0, 2, 10), (alone(10, 2) / resources.word_seconds()).ceil() as u64);
        assert!(state.load(0, 2, 11) > state.load(0, 2, 10) && state.load(0, 0, 10) == 10);
    }

    proptest! {
        /// After any moves each key has what a count of the whole plan says, and is over its limit if that is more.
        #[test]
        fn keys_have_what_their_shares_take(
            moves in proptest::collection::vec((0u32..10, 0usize..PHASES, 1u64..120), 0..60), latency: bool,
        ) {
            let machine = weft_machine::find("iwarp64").unwrap();
            let topology = Topology::Torus { extents: vec![4, 4] };
            let hop_seconds = if latency { 2e-7 } else { 0.0 };
            let resources = Resources { topology, node_channels: Some(3), hop_seconds, ..Resources::of(&machine).unwrap() };
            let (set, network) = (connections(), Network::new(&resources.topology));
            let hops: Vec<u32> = set.connections.iter().map(|_| 2).collect();
            let demand = Demand { set: &set, resources: &resources, network: &network, hops: &hops };
            let mut state = State::new(&demand, &vec![Vec::new(); PHASES]);
            state.limit(&LIMITS.map(|words| words as f64 * resources.access_seconds));
            for (connection, ends) in set.connections.iter().enumerate() {
                let route = state.route(connection as u32, 0, ends.words).unwrap();
                state.open(connection as u32, 0, ends.words, route);
            }
            for (connection, phase, words) in moves {
                let share = state.of_connection[connection as usize][0];
                let words = words.min(state.shares[share as usize].words);
                state.resize(share, -(words as i64));
                match state.share_in(connection, phase) {
                    Some(there) => state.resize(there, words as i64),
                    // Around what others have, a route may be longer than its phase has time for.
                    None => match state.route(connection, phase, words) {
                        Some(route) => state.open(connection, phase, words, route),
                        None => state.resize(share, words as i64),
                    },
                }
                if state.shares[share as usize].words == 0 {
                    state.close(share);
                }
            }
            let mut expected = Vec::new();
            for (phase, &limit) in LIMITS.iter().enumerate() {
                // A share with far to go counts as more words.
                let words = |share: &Share| {
                    let seconds = limit as f64 * resources.access_seconds;
                    let left = seconds - resources.latency_seconds(share.route.len() - 1);
                    if latency { (share.words as f64 * seconds / left).ceil() as u64 } else { share.words }
                };
                let shares = state.shares.iter().filter(|share| share.phase == phase);
                let placed: Vec<Placed> = shares
                    .map(|s| Placed { connection: s.connection, words: words(s), route: s.route.clone() })
                    .collect();
                let load = Load::of(&placed, &network);
                expected.extend(load.sent);
                expected.extend(load.received);
                expected.extend(load.link_words);
                expected.extend(load.channels.iter().map(|&channels| u64::from(channels)));
            }
            let words: Vec<u64> = state.keys.iter().map(|key| key.words as u64).collect();
            prop_assert_eq!(&words, &expected);
            let mut over: Vec<u32> = state.over.clone();
            over.sort_unstable();
            let limit =
                |key: usize| if state.is_channels(key % state.rows) { 3 } else { LIMITS[key / state.rows] };
            let expected: Vec<u32> = (0..expected.len()).filter(|&k| expected[k] > limit(k)).map(|k| k as u32).collect();
            prop_assert_eq!(over, expected);
            for (connection, asked) in set.connections.iter().enumerate() {
                let shares = &state.of_connection[connection];
                let words: u64 = shares.iter().map(|&share| state.shares[share as usize].words).sum();
                prop_assert_eq!(words, asked.words);
            }
        }
    }
}
