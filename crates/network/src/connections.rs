//! Phases of connections over logical channels (the ConSet model of Feldmann, Stricker and Warfel 1993).
//!
//! A connection is a chain of logical channels: once its phase is instantiated, words flow along it without any header.
//! Links are shared word by word among the channels that wait, the access of a node to the network among its connections
//! in use; both as max-min fair rates ([`fair`](crate::fair)), so that a phase costs an event for every transfer that
//! begins or ends, not one for every word.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_base::{Begins, Interrupt, Picos};
use weft_machine::{Access, Machine, Topology};

use crate::arrival::{Arrivals, Flow};
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
pub struct ConnectionTransfer<'a> {
    /// The sending node,
    pub from: usize,
    /// the receiving one,
    pub to: usize,
    /// and how much.
    pub bytes: u64,
    /// Directed links from the one to the other. Whoever has the routes of many transfers lends them.
    pub route: Cow<'a, [u32]>,
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
    /// All of them at once, so that the last words of all arrive together: those that have far to go get more than their
    /// lengths say, and are through sooner. A program that was compiled for its transfers knows their routes, too.
    Punctual,
}

/// The transfers of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionPhase<'a> {
    pub transfers: Vec<ConnectionTransfer<'a>>,
    pub arbitration: Arbitration,
    pub begins: Begins,
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
    /// When all was sent.
    pub sent: Picos,
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
    wires: Wires,
    /// Seconds that a phase takes of each resource.
    busy: Table<f64>,
    /// Where phases that arrive together are worked out, once there is one.
    arrivals: Option<Arrivals>,
}

impl LogicalChannels {
    /// Of a machine with `nodes` nodes and `links` directed links.
    pub fn new(nodes: usize, links: usize, cost: ConnectionCost) -> LogicalChannels {
        LogicalChannels {
            nodes,
            links,
            cost,
            wires: Wires::default(),
            busy: Table::new(links + 2 * nodes),
            arrivals: None,
        }
    }

    /// Of a machine of this topology, whose parallel links connections share.
    pub fn of(topology: &Topology, cost: ConnectionCost) -> LogicalChannels {
        LogicalChannels { wires: Wires::of(topology), ..LogicalChannels::new(topology.nodes(), topology.links(), cost) }
    }

    /// Of a machine with `nodes` nodes whose links stand for so many parallel ones each.
    pub fn of_counts(nodes: usize, counts: &[u32], cost: ConnectionCost) -> LogicalChannels {
        LogicalChannels { wires: Wires::of_counts(counts), ..LogicalChannels::new(nodes, counts.len(), cost) }
    }

    /// Runs phases one after another, all nodes being ready at time 0.
    ///
    /// Every phase costs a synchronisation and its initialisation (section 4.2.1); leaving the last one costs a
    /// synchronisation, because no node may give its channels away before all are through. No phases cost nothing.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Topology;
    /// use weft_network::{Arbitration, Begins, ConnectionCost, ConnectionPhase, ConnectionTransfer, LogicalChannels};
    ///
    /// let ring = Topology::Torus { extents: vec![8] };
    /// let transfer = |from, to| {
    ///     let mut route = Vec::new();
    ///     ring.route(from, to, |link| route.push(link as u32));
    ///     ConnectionTransfer { from, to, bytes: 1000, route: route.into() }
    /// };
    /// let cost = ConnectionCost::of(&weft_machine::find("iwarp64").unwrap()).unwrap();
    /// let mut end = |transfers| {
    ///     let phase = ConnectionPhase { transfers, arbitration: Arbitration::InOrder, begins: Begins::Switched };
    ///     let phase = LogicalChannels::new(8, ring.links(), cost).exchange(&[phase]).phases.remove(0);
    ///     (phase.end - phase.instantiated).seconds()
    /// };
    /// // Two transfers that share the link from node 1 to node 2 have half of its rate each.
    /// let (alone, both) = (end(vec![transfer(0, 2)]), end(vec![transfer(0, 2), transfer(1, 3)]));
    /// assert!(both > 1.9 * alone && both < 2.0 * alone, "{alone} s, {both} s");
    /// ```
    pub fn exchange(&mut self, phases: &[ConnectionPhase<'_>]) -> ExchangeTimes {
        self.exchange_until(phases, &Interrupt::NEVER).expect("nobody interrupts it")
    }

    /// As [`LogicalChannels::exchange`]; `None` where it was interrupted.
    pub fn exchange_until(&mut self, phases: &[ConnectionPhase<'_>], interrupt: &Interrupt) -> Option<ExchangeTimes> {
        let synchronisation = Picos::from_seconds(self.cost.synchronisation);
        let switch = synchronisation + Picos::from_seconds(self.cost.initialisation);
        let (mut at, mut sent) = (Picos::ZERO, Picos::ZERO);
        let mut times = Vec::with_capacity(phases.len());
        for ConnectionPhase { transfers, arbitration, begins } in phases {
            let start = match begins {
                Begins::Switched => at + switch,
                Begins::Arrived => at,
                Begins::Sent => sent,
            };
            let phase = self.phase_until(transfers, *arbitration, start, interrupt)?;
            sent = phase.sent;
            at = at.max(phase.end);
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
        transfers: &[ConnectionTransfer<'_>],
        arbitration: Arbitration,
        instantiated: Picos,
    ) -> PhaseTimes {
        self.phase_until(transfers, arbitration, instantiated, &Interrupt::NEVER).expect("nobody interrupts it")
    }

    fn phase_until(
        &mut self,
        transfers: &[ConnectionTransfer<'_>],
        arbitration: Arbitration,
        instantiated: Picos,
        interrupt: &Interrupt,
    ) -> Option<PhaseTimes> {
        match arbitration {
            Arbitration::Proportional => Some(self.together(transfers, instantiated)),
            Arbitration::Punctual => Some(self.punctual(transfers, instantiated)),
            _ => self.round_robin(transfers, arbitration, instantiated, interrupt),
        }
    }

    /// All transfers flow until the busiest resource is through.
    fn together(&mut self, transfers: &[ConnectionTransfer<'_>], instantiated: Picos) -> PhaseTimes {
        let mut longest = 0.0f64;
        let mut busy = std::mem::replace(&mut self.busy, Table::new(0));
        let mut used = Vec::new();
        for transfer in transfers {
            let bytes = transfer.bytes as f64;
            longest = longest.max(self.alone(transfer) * bytes);
            self.each_use(transfer).for_each(|Use { resource, byte_time }| {
                let busy = &mut busy[resource as usize];
                if *busy == 0.0 {
                    used.push(resource);
                }
                *busy += byte_time * bytes;
                longest = longest.max(*busy);
            });
        }
        used.into_iter().for_each(|resource| busy[resource as usize] = 0.0);
        self.busy = busy;
        let through = instantiated + Picos::from_seconds(longest);
        let end = |transfer: &ConnectionTransfer<'_>| through + self.latency(transfer);
        let spans: Vec<Span> =
            transfers.iter().map(|transfer| Span { start: instantiated, end: end(transfer) }).collect();
        let end = spans.iter().map(|span| span.end).max().unwrap_or(instantiated);
        PhaseTimes { instantiated, sent: through, end, transfers: spans }
    }

    /// All transfers flow so that their last words arrive at the same time.
    fn punctual(&mut self, transfers: &[ConnectionTransfer<'_>], instantiated: Picos) -> PhaseTimes {
        let mut arrivals = self.arrivals.take().unwrap_or_else(|| Arrivals::new(self.resources()));
        let flow = |index: usize| {
            let transfer: &ConnectionTransfer = &transfers[index];
            let latency = self.cost.hop_time * transfer.route.len() as f64;
            Flow { latency, alone: self.alone(transfer) * transfer.bytes as f64 }
        };
        let uses = |index: usize| {
            let bytes = transfers[index].bytes as f64;
            self.each_use(&transfers[index]).map(move |used| (used.resource, used.byte_time * bytes))
        };
        let end = instantiated + Picos::from_seconds(arrivals.earliest(transfers.len(), flow, uses));
        self.arrivals = Some(arrivals);
        let spans = vec![Span { start: instantiated, end }; transfers.len()];
        let sent = |transfer: &ConnectionTransfer<'_>| end - self.latency(transfer);
        let sent = transfers.iter().map(sent).max().unwrap_or(instantiated);
        PhaseTimes { instantiated, sent, end, transfers: spans }
    }

    /// Of a word from the first to the last link.
    fn latency(&self, transfer: &ConnectionTransfer<'_>) -> Picos {
        Picos::from_seconds(self.cost.hop_time * transfer.route.len() as f64)
    }

    fn round_robin(
        &mut self,
        transfers: &[ConnectionTransfer<'_>],
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
        let sent = instantiated + Picos::from_seconds(flowing.now);
        Some(PhaseTimes { instantiated, sent, end, transfers: spans })
    }

    /// The links of a transfer, and the program of its two nodes, with what a byte takes of them. Where links have others
    /// beside them, the transfer has also a resource of its own, the one link that it crosses.
    fn uses(&self, index: usize, transfer: &ConnectionTransfer<'_>) -> Vec<Use> {
        let mut uses: Vec<Use> = Vec::with_capacity(transfer.route.len() + 3);
        self.each_use(transfer).for_each(|each| add(&mut uses, each));
        if !self.wires.are_single() {
            uses.push(Use { resource: (self.resources() + index) as u32, byte_time: self.alone(transfer) });
        }
        uses
    }

    /// Seconds that a byte takes of any one link that is not shared.
    fn alone(&self, transfer: &ConnectionTransfer<'_>) -> f64 {
        if transfer.route.is_empty() { 0.0 } else { self.cost.link_byte_time }
    }

    /// The links of a transfer as often as its route comes over them, and the program of its two nodes, with what a byte
    /// takes of them.
    fn each_use<'a>(&'a self, transfer: &'a ConnectionTransfer<'a>) -> impl Iterator<Item = Use> + use<'a> {
        let &ConnectionTransfer { from, to, ref route, .. } = transfer;
        let (nodes, links, cost, wires) = (self.nodes, self.links, self.cost, &self.wires);
        assert!(from < nodes && to < nodes, "a transfer from node {from} to {to} of {nodes} nodes");
        let links = route.iter().map(move |&link| {
            assert!((link as usize) < links, "link {link} of {links} links");
            let (resource, parallel) = wires.shared(link);
            Use { resource, byte_time: cost.link_byte_time / f64::from(parallel) }
        });
        let sending = Use { resource: self.sending(from), byte_time: cost.send_byte_time };
        let receiving = Use { resource: self.receiving(to), byte_time: cost.receive_byte_time };
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
    fn new(transfers: &[ConnectionTransfer<'_>]) -> Flowing {
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
    fn new(channels: &LogicalChannels, transfers: &[ConnectionTransfer<'_>], arbitration: Arbitration) -> Queues {
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
mod tests;
