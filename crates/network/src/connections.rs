//! Phases of connections over logical channels (the ConSet model of Feldmann, Stricker and Warfel 1993).
//!
//! A connection is a chain of logical channels: once its phase is instantiated, words flow along it without any header.
//! Links are shared word by word among the channels that wait, the access of a node to the network among its connections
//! in use; both as max-min fair rates ([`fair`](crate::fair)), so that a phase costs an event for every transfer that
//! begins or ends, not one for every word.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use weft_base::{Interrupt, Picos};
use weft_machine::{Access, Machine, Topology};

use crate::fair::Use;
use crate::shares::KeptShares;
use crate::table::Table;
use crate::wires::Wires;

/// What transfers over connections cost on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionCost {
    /// Of a link for a byte, s/B.
    pub link_byte_time: f64,
    /// Of a node's program to send a byte, s/B: access to the network, and gathering where it is done on the way.
    pub send_byte_time: f64,
    /// Of a node's program to receive a byte, s/B.
    pub receive_byte_time: f64,
    /// Whether a node's program sends and receives at once (on iWarp with long instruction words) or either.
    pub overlapped: bool,
    /// Of a word to pass a link and the node behind it, s.
    pub hop_time: f64,
    /// Of synchronising all nodes, s: before a phase is instantiated, and when the last one is left.
    pub synchronisation: f64,
    /// Of instantiating a phase, s.
    pub initialisation: f64,
}

impl ConnectionCost {
    /// What the file of `machine` says, if it can keep connections open.
    pub fn of(machine: &Machine) -> Option<ConnectionCost> {
        let connections = machine.connections.as_ref()?;
        Some(ConnectionCost {
            link_byte_time: connections.link_byte_time,
            send_byte_time: connections.access_byte_time,
            receive_byte_time: connections.access_byte_time,
            overlapped: connections.access == Access::Separate,
            hop_time: machine.protocol(u64::MAX).hop_time,
            synchronisation: connections.synchronisation_time,
            initialisation: connections.phase_time,
        })
    }

    /// The same for programs that gather and scatter element by element, at these seconds a byte, and do either at a time.
    pub fn by_element(self, gather_byte_time: f64, scatter_byte_time: f64) -> ConnectionCost {
        ConnectionCost {
            send_byte_time: self.send_byte_time.max(gather_byte_time),
            receive_byte_time: self.receive_byte_time.max(scatter_byte_time),
            overlapped: false,
            ..self
        }
    }
}

/// A transfer over a connection of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionTransfer {
    /// The sending node,
    pub from: usize,
    /// the receiving one,
    pub to: usize,
    /// and how much.
    pub bytes: u64,
    /// Directed links from the one to the other.
    pub route: Vec<u32>,
}

/// How a node's program uses its connections within a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arbitration {
    /// One after another, in the order of the list of transfers; it begins the next when it is through with one.
    #[default]
    InOrder,
    /// All of them at once, an element of each in turn.
    Interleaved,
    /// All of them at once, always the one that is furthest behind: long transfers get more of them, so that all are
    /// through together, when the busiest link or program is. A program that was compiled for its transfers knows their
    /// lengths, and takes no more of a link than they need.
    Proportional,
}

/// The transfers of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionPhase {
    pub transfers: Vec<ConnectionTransfer>,
    pub arbitration: Arbitration,
    /// Whether its connections are open since the phase before: it begins when that is through, nothing is switched.
    pub continues: bool,
}

/// When a transfer began and when its last word was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: Picos,
    pub end: Picos,
}

/// One phase in virtual time.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseTimes {
    /// When its connections could be used.
    pub instantiated: Picos,
    /// When the last node was through.
    pub end: Picos,
    /// Of every transfer, in the order of the list.
    pub transfers: Vec<Span>,
}

/// Phases in virtual time, one after another from time 0.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeTimes {
    pub phases: Vec<PhaseTimes>,
    /// When all nodes know that all are through.
    pub end: Picos,
}

/// The links and accesses of a machine whose nodes are joined by logical channels.
#[derive(Clone, Debug)]
pub struct LogicalChannels {
    nodes: usize,
    links: usize,
    cost: ConnectionCost,
    wires: Arc<Wires>,
    /// Seconds that a phase takes of each resource.
    busy: Table<f64>,
}

impl LogicalChannels {
    /// Of a machine with `nodes` nodes and `links` directed links.
    pub fn new(nodes: usize, links: usize, cost: ConnectionCost) -> LogicalChannels {
        LogicalChannels { nodes, links, cost, wires: Arc::default(), busy: Table::new(links + 2 * nodes) }
    }

    /// Of a machine of this topology, whose parallel links connections share.
    pub fn of(topology: &Topology, cost: ConnectionCost) -> LogicalChannels {
        LogicalChannels {
            wires: Arc::new(Wires::of(topology)),
            ..LogicalChannels::new(topology.nodes(), topology.links(), cost)
        }
    }

    /// Runs phases one after another, all nodes being ready at time 0.
    ///
    /// Every phase costs a synchronisation and its initialisation (section 4.2.1); leaving the last one costs a
    /// synchronisation, because no node may give its channels away before all are through. No phases cost nothing.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Topology;
    /// use weft_network::{ConnectionCost, ConnectionPhase, ConnectionTransfer, LogicalChannels, Arbitration};
    ///
    /// let ring = Topology::Torus { extents: vec![8] };
    /// let transfer = |from, to| {
    ///     let mut route = Vec::new();
    ///     ring.route(from, to, |link| route.push(link as u32));
    ///     ConnectionTransfer { from, to, bytes: 1000, route }
    /// };
    /// let cost = ConnectionCost::of(&weft_machine::find("iwarp64").unwrap()).unwrap();
    /// let mut end = |transfers| {
    ///     let phase = ConnectionPhase { transfers, arbitration: Arbitration::InOrder, continues: false };
    ///     let phase = LogicalChannels::new(8, ring.links(), cost).exchange(&[phase]).phases.remove(0);
    ///     (phase.end - phase.instantiated).seconds()
    /// };
    /// // Two transfers that share the link from node 1 to node 2 have half of its rate each.
    /// let (alone, both) = (end(vec![transfer(0, 2)]), end(vec![transfer(0, 2), transfer(1, 3)]));
    /// assert!(both > 1.9 * alone && both < 2.0 * alone, "{alone} s, {both} s");
    /// ```
    pub fn exchange(&mut self, phases: &[ConnectionPhase]) -> ExchangeTimes {
        self.exchange_until(phases, &Interrupt::NEVER).expect("nobody interrupts it")
    }

    /// As [`LogicalChannels::exchange`]; `None` where it was interrupted.
    pub fn exchange_until(&mut self, phases: &[ConnectionPhase], interrupt: &Interrupt) -> Option<ExchangeTimes> {
        let synchronisation = Picos::from_seconds(self.cost.synchronisation);
        let switch = synchronisation + Picos::from_seconds(self.cost.initialisation);
        let mut at = Picos::ZERO;
        let mut times = Vec::with_capacity(phases.len());
        for ConnectionPhase { transfers, arbitration, continues } in phases {
            let phase =
                self.phase_until(transfers, *arbitration, if *continues { at } else { at + switch }, interrupt)?;
            at = phase.end;
            times.push(phase);
        }
        let end = if phases.is_empty() { at } else { at + synchronisation };
        Some(ExchangeTimes { phases: times, end })
    }

    /// Runs one phase whose connections can be used from `instantiated` on.
    ///
    /// # Panics
    /// When a transfer names a node or link that the machine does not have.
    pub fn phase(
        &mut self,
        transfers: &[ConnectionTransfer],
        arbitration: Arbitration,
        instantiated: Picos,
    ) -> PhaseTimes {
        self.phase_until(transfers, arbitration, instantiated, &Interrupt::NEVER).expect("nobody interrupts it")
    }

    fn phase_until(
        &mut self,
        transfers: &[ConnectionTransfer],
        arbitration: Arbitration,
        instantiated: Picos,
        interrupt: &Interrupt,
    ) -> Option<PhaseTimes> {
        match arbitration {
            Arbitration::Proportional => Some(self.together(transfers, instantiated)),
            _ => self.round_robin(transfers, arbitration, instantiated, interrupt),
        }
    }

    /// All transfers flow until the busiest resource is through.
    fn together(&mut self, transfers: &[ConnectionTransfer], instantiated: Picos) -> PhaseTimes {
        let mut longest = 0.0f64;
        for transfer in transfers {
            longest = longest.max(self.alone(transfer) * transfer.bytes as f64);
            for Use { resource, byte_time } in self.each_use(transfer) {
                let busy = &mut self.busy[resource as usize];
                *busy += byte_time * transfer.bytes as f64;
                longest = longest.max(*busy);
            }
        }
        for transfer in transfers {
            for Use { resource, .. } in self.each_use(transfer) {
                self.busy[resource as usize] = 0.0;
            }
        }
        let through = instantiated + Picos::from_seconds(longest);
        let end = |transfer: &ConnectionTransfer| through + self.latency(transfer);
        let spans: Vec<Span> =
            transfers.iter().map(|transfer| Span { start: instantiated, end: end(transfer) }).collect();
        let end = spans.iter().map(|span| span.end).max().unwrap_or(instantiated);
        PhaseTimes { instantiated, end, transfers: spans }
    }

    /// Of a word from the first to the last link.
    fn latency(&self, transfer: &ConnectionTransfer) -> Picos {
        Picos::from_seconds(self.cost.hop_time * transfer.route.len() as f64)
    }

    fn round_robin(
        &mut self,
        transfers: &[ConnectionTransfer],
        arbitration: Arbitration,
        instantiated: Picos,
        interrupt: &Interrupt,
    ) -> Option<PhaseTimes> {
        let own = |(index, transfer)| self.uses(index, transfer);
        let uses: Vec<Vec<Use>> = transfers.iter().enumerate().map(own).collect();
        let mut queues = Queues::new(self, transfers, arbitration);
        let mut shares = KeptShares::new(self.resources() + transfers.len(), &uses);
        let mut flowing = Flowing::new(transfers);
        let mut spans = vec![Span { start: instantiated, end: instantiated }; transfers.len()];
        let (mut ended, mut begun) = (Vec::new(), queues.begin());
        loop {
            if interrupt.is_requested() {
                return None;
            }
            shares.change(&ended, &begun, |transfer, before, rate| flowing.goes_on(transfer, before, rate));
            ended = flowing.next();
            let time = instantiated + Picos::from_seconds(flowing.now);
            begun.clear();
            for &transfer in &ended {
                spans[transfer].end = time + self.latency(&transfers[transfer]);
                queues.finish(transfer, |next| begun.push(next));
            }
            begun.iter().for_each(|&transfer| spans[transfer].start = time);
            if ended.is_empty() {
                break;
            }
        }
        let end = spans.iter().map(|span| span.end).max().unwrap_or(instantiated);
        Some(PhaseTimes { instantiated, end, transfers: spans })
    }

    /// The links of a transfer, and the program of its two nodes, with what a byte takes of them. Where links have others
    /// beside them, the transfer has also a resource of its own, the one link that it crosses.
    fn uses(&self, index: usize, transfer: &ConnectionTransfer) -> Vec<Use> {
        let mut uses: Vec<Use> = Vec::with_capacity(transfer.route.len() + 3);
        self.each_use(transfer).for_each(|each| add(&mut uses, each));
        if !self.wires.are_single() {
            uses.push(Use { resource: (self.resources() + index) as u32, byte_time: self.alone(transfer) });
        }
        uses
    }

    /// Seconds that a byte takes of any one link that is not shared.
    fn alone(&self, transfer: &ConnectionTransfer) -> f64 {
        if transfer.route.is_empty() { 0.0 } else { self.cost.link_byte_time }
    }

    /// The links of a transfer as often as its route comes over them, and the program of its two nodes, with what a byte
    /// takes of them.
    fn each_use<'a>(&self, transfer: &'a ConnectionTransfer) -> impl Iterator<Item = Use> + use<'a> {
        let ConnectionTransfer { from, to, route, .. } = transfer;
        let (nodes, links, cost, wires) = (self.nodes, self.links, self.cost, self.wires.clone());
        assert!(*from < nodes && *to < nodes, "a transfer from node {from} to {to} of {nodes} nodes");
        let links = route.iter().map(move |&link| {
            assert!((link as usize) < links, "link {link} of {links} links");
            let (resource, parallel) = wires.shared(link);
            Use { resource, byte_time: cost.link_byte_time / f64::from(parallel) }
        });
        let sending = Use { resource: self.sending(*from), byte_time: cost.send_byte_time };
        let receiving = Use { resource: self.receiving(*to), byte_time: cost.receive_byte_time };
        links.chain([sending, receiving])
    }

    fn resources(&self) -> usize {
        self.links + 2 * self.nodes
    }

    fn sending(&self, node: usize) -> u32 {
        (self.links + node) as u32
    }

    fn receiving(&self, node: usize) -> u32 {
        (self.links + node + if self.cost.overlapped { self.nodes } else { 0 }) as u32
    }
}

/// A route may come over a link twice.
fn add(uses: &mut Vec<Use>, more: Use) {
    match uses.iter_mut().find(|each| each.resource == more.resource) {
        Some(found) => found.byte_time += more.byte_time,
        None => uses.push(more),
    }
}

/// Transfers that have begun and are not through.
struct Flowing {
    now: f64,
    /// Bytes of each transfer that were left when its rate last changed,
    left: Vec<f64>,
    /// when that was,
    since: Vec<f64>,
    /// and how often it has.
    version: Vec<u32>,
    /// When transfers are through at their rates, as bits, which are in the order of the times; of a transfer whose rate
    /// has changed only the last counts.
    ends: BinaryHeap<Reverse<(u64, u32, usize)>>,
}

impl Flowing {
    fn new(transfers: &[ConnectionTransfer]) -> Flowing {
        let count = transfers.len();
        let left = transfers.iter().map(|transfer| transfer.bytes as f64).collect();
        Flowing { now: 0.0, left, since: vec![0.0; count], version: vec![0; count], ends: BinaryHeap::new() }
    }

    /// A transfer goes on at another rate.
    fn goes_on(&mut self, transfer: usize, before: f64, rate: f64) {
        let moved = if before > 0.0 { before * (self.now - self.since[transfer]) } else { 0.0 };
        self.left[transfer] = (self.left[transfer] - moved).max(0.0);
        self.since[transfer] = self.now;
        self.version[transfer] += 1;
        let end = self.now + self.left[transfer] / rate;
        self.ends.push(Reverse((end.to_bits(), self.version[transfer], transfer)));
    }

    /// The transfers that are through next; none where nothing is under way.
    fn next(&mut self) -> Vec<usize> {
        let (mut through, mut until) = (Vec::new(), f64::INFINITY);
        while let Some(&Reverse((bits, version, transfer))) = self.ends.peek() {
            let end = f64::from_bits(bits);
            if version == self.version[transfer] {
                if end > until {
                    break;
                }
                if through.is_empty() {
                    // What ends within a part in 10^9 of the step ends with it: rounding must not make an event of its own.
                    until = end + (end - self.now) * 1e-9;
                    self.now = end;
                }
                through.push(transfer);
            }
            self.ends.pop();
        }
        through
    }
}

/// Which transfers nodes are at. The list of transfers gives every node its order; its first transfer that is not
/// through is first at both of its ends, so the nodes never wait for each other in a circle.
struct Queues {
    /// Of every sending and receiving program, its transfers from the last to the first.
    waiting: Table<Vec<usize>>,
    /// The two programs of every transfer.
    ends: Vec<[usize; 2]>,
    all_at_once: bool,
}

impl Queues {
    fn new(channels: &LogicalChannels, transfers: &[ConnectionTransfer], arbitration: Arbitration) -> Queues {
        let program = |resource: u32| resource as usize - channels.links;
        let ends: Vec<[usize; 2]> = transfers
            .iter()
            .map(|transfer| [program(channels.sending(transfer.from)), program(channels.receiving(transfer.to))])
            .collect();
        let mut waiting: Table<Vec<usize>> = Table::new(2 * channels.nodes);
        for (transfer, ends) in ends.iter().enumerate().rev() {
            waiting[ends[0]].push(transfer);
            if ends[1] != ends[0] {
                waiting[ends[1]].push(transfer);
            }
        }
        Queues { waiting, ends, all_at_once: arbitration != Arbitration::InOrder }
    }

    /// The transfers to begin with.
    fn begin(&mut self) -> Vec<usize> {
        (0..self.ends.len()).filter(|&transfer| self.all_at_once || self.is_first(transfer)).collect()
    }

    fn is_first(&self, transfer: usize) -> bool {
        self.ends[transfer].iter().all(|&end| self.waiting[end].last() == Some(&transfer))
    }

    /// A transfer is through; `begun` gets those that can begin now.
    fn finish(&mut self, transfer: usize, mut begun: impl FnMut(usize)) {
        if self.all_at_once {
            return;
        }
        let [sending, receiving] = self.ends[transfer];
        self.waiting[sending].pop();
        if receiving != sending {
            self.waiting[receiving].pop();
        }
        let sends = self.waiting[sending].last().copied();
        let receives = self.waiting[receiving].last().copied().filter(|_| receiving != sending);
        let is_new = |next: Option<usize>| next.filter(|&next| self.is_first(next));
        let (sends, receives) = (is_new(sends), is_new(receives).filter(|_| receives != sends));
        sends.into_iter().chain(receives).for_each(&mut begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A byte a nanosecond everywhere.
    const COST: ConnectionCost = ConnectionCost {
        link_byte_time: 1e-9,
        send_byte_time: 1e-9,
        receive_byte_time: 1e-9,
        overlapped: true,
        hop_time: 0.0,
        synchronisation: 0.0,
        initialisation: 0.0,
    };

    fn transfer(from: usize, to: usize, bytes: u64, route: &[u32]) -> ConnectionTransfer {
        ConnectionTransfer { from, to, bytes, route: route.to_vec() }
    }

    fn ends(cost: ConnectionCost, arbitration: Arbitration, transfers: &[ConnectionTransfer]) -> Vec<u64> {
        let times = LogicalChannels::new(8, 8, cost).phase(transfers, arbitration, Picos::ZERO);
        times.transfers.iter().map(|span| span.end.0 / 1000).collect()
    }

    #[test]
    fn channels_share_a_link_and_use_what_others_leave() {
        // Both cross link 0; the shorter ends when each has had half of the link, the longer then has all of it.
        let both = [transfer(0, 1, 100, &[0]), transfer(2, 3, 300, &[0])];
        assert_eq!(ends(COST, Arbitration::Interleaved, &both), [200, 400]);
        assert_eq!(ends(COST, Arbitration::InOrder, &both), [200, 400], "different nodes do not wait for each other");
    }

    #[test]
    fn a_node_is_at_one_transfer_or_takes_turns() {
        let both = [transfer(0, 1, 100, &[0]), transfer(0, 2, 100, &[1])];
        assert_eq!(ends(COST, Arbitration::InOrder, &both), [100, 200]);
        assert_eq!(ends(COST, Arbitration::Interleaved, &both), [200, 200]);
    }

    #[test]
    fn a_node_that_knows_lengths_is_through_with_all_together() {
        // Node 0 sends 300 and 100 bytes, node 2 another 100 to the receiver of the long one. By turns alone the long one
        // loses time to both; in proportion nothing is lost.
        let three = [transfer(0, 1, 300, &[0]), transfer(0, 3, 100, &[1]), transfer(2, 1, 100, &[2])];
        assert_eq!(ends(COST, Arbitration::Interleaved, &three), [400, 200, 200]);
        assert_eq!(ends(COST, Arbitration::Proportional, &three), [400, 400, 400]);
    }

    #[test]
    fn a_node_sends_and_receives_at_once_or_either() {
        let both = [transfer(0, 1, 100, &[0]), transfer(1, 0, 100, &[1])];
        assert_eq!(ends(COST, Arbitration::InOrder, &both), [100, 100]);
        let either = ConnectionCost { overlapped: false, ..COST };
        assert_eq!(ends(either, Arbitration::InOrder, &both), [100, 200]);
        assert_eq!(ends(either, Arbitration::Interleaved, &both), [200, 200]);
    }

    #[test]
    fn a_slow_program_leaves_the_link_to_others() {
        let slow = ConnectionCost { send_byte_time: 10e-9, ..COST };
        let three = [transfer(0, 4, 100, &[0]), transfer(1, 5, 100, &[0]), transfer(2, 6, 100, &[0])];
        assert_eq!(ends(slow, Arbitration::InOrder, &three), [1000, 1000, 1000], "congestion of three is invisible");
    }

    #[test]
    fn phases_are_paid_for_and_left_together() {
        let cost = ConnectionCost { hop_time: 5e-9, synchronisation: 300e-9, initialisation: 200e-9, ..COST };
        let phase = |transfer| ConnectionPhase { transfers: vec![transfer], ..ConnectionPhase::default() };
        let mut phases = [phase(transfer(0, 1, 100, &[0])), phase(transfer(1, 2, 50, &[1, 2]))];
        let times = LogicalChannels::new(8, 8, cost).exchange(&phases);
        assert_eq!(times.phases[0].end.0, 605_000);
        assert_eq!(times.phases[1].instantiated.0, 1_105_000);
        assert_eq!(times.end.0, 1_465_000);
        phases[1].continues = true;
        let times = LogicalChannels::new(8, 8, cost).exchange(&phases);
        assert_eq!((times.phases[1].instantiated.0, times.end.0), (605_000, 965_000));
        assert_eq!(LogicalChannels::new(8, 8, cost).exchange(&[]).end, Picos::ZERO);
    }

    #[test]
    fn nothing_to_send_takes_no_time() {
        assert_eq!(ends(COST, Arbitration::InOrder, &[transfer(0, 1, 0, &[0]), transfer(0, 2, 7, &[1])]), [0, 7]);
    }

    #[test]
    fn parallel_links_are_shared_evenly_and_used_by_one_at_its_speed() {
        let topology = Topology::Torus { extents: vec![2, 4] };
        let cost = ConnectionCost { send_byte_time: 0.0, receive_byte_time: 0.0, ..COST };
        let route = |from, to| {
            let mut route = Vec::new();
            topology.route(from, to, |link| route.push(link as u32));
            transfer(from, to, 600, &route)
        };
        // Two links lead from node 0 to node 4: three transfers have two thirds of one each, one alone no more than one.
        for arbitration in [Arbitration::Interleaved, Arbitration::Proportional] {
            let mut channels = LogicalChannels::of(&topology, cost);
            let mut end = |transfers: &[_]| channels.phase(transfers, arbitration, Picos::ZERO).end.0 / 1000;
            assert_eq!((end(&[route(0, 4)]), end(&vec![route(0, 4); 3])), (600, 900), "{arbitration:?}");
        }
    }

    /// Fair rates of all computed anew whenever a transfer ends.
    fn simple_ends(cost: ConnectionCost, arbitration: Arbitration, transfers: &[ConnectionTransfer]) -> Vec<f64> {
        let channels = LogicalChannels::new(8, 8, cost);
        let uses: Vec<Vec<Use>> = transfers.iter().map(|transfer| channels.uses(0, transfer)).collect();
        let mut queues = Queues::new(&channels, transfers, arbitration);
        let mut left: Vec<f64> = transfers.iter().map(|transfer| transfer.bytes as f64).collect();
        let (mut active, mut rates, mut now) = (queues.begin(), Vec::new(), 0.0);
        let mut ends = vec![0.0; transfers.len()];
        while !active.is_empty() {
            let flows: Vec<&[Use]> = active.iter().map(|&transfer| &uses[transfer][..]).collect();
            crate::fair::FairShares::new(24).rates(&flows, &mut rates);
            let step = active.iter().zip(&rates).map(|(&at, rate)| left[at] / rate).fold(f64::INFINITY, f64::min);
            now += step;
            let mut next = Vec::new();
            for (&transfer, rate) in active.iter().zip(&rates) {
                left[transfer] -= rate * step;
                if left[transfer] > 1e-7 {
                    next.push(transfer);
                    continue;
                }
                ends[transfer] = now * 1e9;
                queues.finish(transfer, |begun| next.push(begun));
            }
            active = next;
        }
        ends
    }

    fn transfers() -> impl Strategy<Value = Vec<ConnectionTransfer>> {
        let one = (0usize..8, 0usize..8, 0u64..500, proptest::collection::btree_set(0u32..8, 1..5));
        let between_nodes = one.prop_filter_map("to itself", |(from, to, bytes, route)| {
            (from != to).then(|| transfer(from, to, bytes, &route.into_iter().collect::<Vec<_>>()))
        });
        proptest::collection::vec(between_nodes, 1..25)
    }

    proptest! {
        /// Rates that are kept give the ends of rates that are computed anew.
        #[test]
        fn kept_rates_are_as_good_as_new_ones(
            transfers in transfers(), overlapped: bool, interleaved: bool,
        ) {
            let cost = ConnectionCost { overlapped, ..COST };
            let arbitration = if interleaved { Arbitration::Interleaved } else { Arbitration::InOrder };
            let times = LogicalChannels::new(8, 8, cost).phase(&transfers, arbitration, Picos::ZERO);
            for (span, end) in times.transfers.iter().zip(simple_ends(cost, arbitration, &transfers)) {
                prop_assert!((span.end.0 as f64 / 1000.0 - end).abs() < 0.01, "{span:?} {end}");
            }
        }

        /// Every transfer ends; none is faster than alone, and no resource is used more than all of the time.
        #[test]
        fn phases_end_within_their_bounds(
            transfers in transfers(), overlapped: bool,
            arbitration in proptest::sample::select(vec![Arbitration::InOrder, Arbitration::Interleaved, Arbitration::Proportional]),
        ) {
            let cost = ConnectionCost { overlapped, ..COST };
            let times = LogicalChannels::new(8, 8, cost).phase(&transfers, arbitration, Picos(7000));
            let total: u64 = transfers.iter().map(|transfer| transfer.bytes).sum();
            let mut busy = [0u64; 24];
            for (transfer, span) in transfers.iter().zip(&times.transfers) {
                prop_assert!(span.end.0 + 10 >= span.start.0 + 1000 * transfer.bytes, "{span:?} {transfer:?}");
                prop_assert!(span.end <= times.end);
                transfer.route.iter().for_each(|&link| busy[link as usize] += transfer.bytes);
                busy[8 + transfer.from] += transfer.bytes;
                busy[8 + transfer.to + if overlapped { 8 } else { 0 }] += transfer.bytes;
            }
            let bound = 7000 + 1000 * busy.iter().max().copied().unwrap_or(0);
            let slack = 100;
            prop_assert!(times.end.0 + slack >= bound);
            // In proportion, whoever has most to do is busy all the time.
            prop_assert!(arbitration != Arbitration::Proportional || times.end.0 <= bound + slack, "{times:?}");
            // Some resource is always exhausted while transfers are left, and each is so for what it carries.
            prop_assert!(times.end.0 <= 7000 + 1000 * total + slack);
            prop_assert_eq!(&times, &LogicalChannels::new(8, 8, cost).phase(&transfers, arbitration, Picos(7000)));
        }
    }
}
