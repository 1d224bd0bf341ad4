//! Message passing by wormhole routing over pools of logical channels (section 4.3 of Feldmann, Stricker and Warfel 1993).
//!
//! A message's header takes a channel of every link of its route, one link after another, and waits where none is free,
//! keeping those it has. Routes go axis by axis; on a torus a message changes from the first pool to the second where it
//! crosses the line between the last coordinate and the first, so that no ring of channels can wait for itself (Dally
//! and Seitz 1987). Senders are buffered: a send costs its processor the overhead, and a node's transmitter sends what is
//! in the buffer in the background, one message after another. A processor that finds messages takes them, one after another in the order
//! in which their headers have come, before it sends its next (the programming precaution of section 4.3: what is not
//! taken promptly blocks others); until it is a message's turn the message stays in the network and keeps its channels. Channels of different pools share a
//! link word by word, as [`fair`](crate::fair) has it.
//!
//! A channel holds a few words. A message that is short enough lies in the last channels that its header has taken, and
//! those before are free again; a longer one keeps its whole route until, as it is taken, the rest fits in fewer.
//! `tests/word_by_word_messages.rs` holds the model against one that moves single words.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use weft_base::{Interrupt, Picos};
use weft_machine::{Machine, Switching, Topology};

use crate::fair::{FairShares, Use};
use crate::table::Table;

mod routes;
#[cfg(test)]
mod tests;

use routes::{Pool, route};

/// What messages cost on a machine that passes them through pools of logical channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledCost {
    /// Processor time of a send, s.
    pub send_overhead: f64,
    /// Processor time of a receive, s, besides taking the words.
    pub receive_overhead: f64,
    /// Bytes of header and trailer.
    pub envelope_bytes: u64,
    /// Of a link for a byte, s/B.
    pub link_byte_time: f64,
    /// Of the sender's access to the network for a byte, s/B.
    pub send_byte_time: f64,
    /// Of the receiver's processor to take a byte, s/B.
    pub receive_byte_time: f64,
    /// Processor time to copy a byte to a buffer before it is sent, s/B.
    pub copy_byte_time: f64,
    /// Of the header to pass a link and the node behind it, s.
    pub hop_time: f64,
    /// Channels of every link in each pool.
    pub channels: u32,
    /// Bytes that a channel holds behind each link.
    pub channel_bytes: u64,
}

/// Reservation pools that the channels for messages are divided into (Feldmann, Stricker and Warfel 1993, section 5).
const POOLS: u32 = 3;

/// Words that a logical channel holds. An estimate: the paper does not say; queues of this length let a stream go on
/// at full speed over the round of all channels of a link.
const CHANNEL_WORDS: u64 = 8;

impl PooledCost {
    /// What the file of `machine` says, if it passes messages by wormhole routing over logical channels.
    ///
    /// As many channels serve messages as would serve connections; every pool has an equal share of them in each
    /// direction, at least one.
    pub fn of(machine: &Machine) -> Option<PooledCost> {
        let connections = machine.connections.as_ref().filter(|_| machine.switching == Switching::Wormhole)?;
        let protocol = machine.protocol(u64::MAX);
        let directions = (machine.topology.links() / machine.nodes().max(1)).max(1) as u32;
        let channels = connections.node_channels.map_or(1, |channels| channels / (POOLS * directions));
        Some(PooledCost {
            send_overhead: protocol.send_overhead,
            receive_overhead: protocol.receive_overhead,
            envelope_bytes: 0,
            link_byte_time: protocol.byte_time,
            send_byte_time: connections.access_byte_time,
            receive_byte_time: connections.access_byte_time.max(protocol.receive_byte_time),
            copy_byte_time: protocol.send_byte_time,
            hop_time: protocol.hop_time,
            channels: channels.max(1),
            channel_bytes: CHANNEL_WORDS * connections.word_bytes,
        })
    }

    /// The same for programs that copy element by element into the message, and scatter element by element out of it, at
    /// these seconds a byte.
    pub fn by_element(self, gather_byte_time: f64, scatter_byte_time: f64) -> PooledCost {
        PooledCost {
            copy_byte_time: self.copy_byte_time.max(gather_byte_time),
            receive_byte_time: self.receive_byte_time.max(scatter_byte_time),
            ..self
        }
    }
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PooledMessage {
    pub from: usize,
    pub to: usize,
    pub bytes: u64,
    /// A node sends its messages of a round when it has received all that come to it in the rounds before, as the stages of
    /// a butterfly need what the stage before has brought.
    pub round: u32,
}

/// Message passing in virtual time.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageTimes {
    /// When each message was received.
    pub received: Vec<Picos>,
    /// When each node had sent and received all of its messages; as many nodes as were said to be ready.
    pub finished: Vec<Picos>,
    /// When all nodes had.
    pub end: Picos,
    /// How long headers waited for channels, of all messages together.
    pub blocked: Picos,
}

/// Runs the messages of a pattern on an idle machine: every node, from when it is ready on, sends its messages in the
/// order of the list and receives what is sent to it. `ready` is empty when all are ready at time 0.
///
/// # Panics
/// When a message names a node that there is not, or goes from a node to itself.
pub fn pass_messages(
    topology: &Topology,
    cost: &PooledCost,
    messages: &[PooledMessage],
    ready: &[Picos],
) -> MessageTimes {
    pass_messages_until(topology, cost, messages, ready, &Interrupt::NEVER).expect("nobody interrupts it")
}

/// As [`pass_messages`]; `None` where it was interrupted.
pub fn pass_messages_until(
    topology: &Topology,
    cost: &PooledCost,
    messages: &[PooledMessage],
    ready: &[Picos],
    interrupt: &Interrupt,
) -> Option<MessageTimes> {
    // Where it is said when nodes are ready, those at the end that are not spoken of have nothing to do.
    let named = messages.iter().map(|message| 1 + message.from.max(message.to)).max().unwrap_or(0);
    let taking_part = if ready.is_empty() { topology.nodes() } else { ready.len().max(named) };
    let mut passing = Passing::new(topology, cost, messages, taking_part);
    for node in 0..taking_part {
        let at = ready.get(node).copied().unwrap_or(Picos::ZERO);
        passing.nodes[node].is_busy = true;
        passing.times.finished[node] = at;
        passing.push(at, Event::Ready(node as u32));
    }
    passing.run(interrupt)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A node is ready.
    Ready(u32),
    /// The message is in its sender's buffer.
    Sent(u32),
    /// The header has passed a link and wants the next, or is there.
    Header(u32),
    /// The receiver's processor begins to take the words.
    Draining(u32),
    /// The tail of a short message has passed the link of this number on its route.
    Passed(u32, u32),
    /// Some message may be through, or its tail a link further; counted, because rates may have changed since.
    Through(u32),
}

struct Passing<'a> {
    cost: &'a PooledCost,
    messages: &'a [PooledMessage],
    /// Of each message, its links and pools.
    routes: Vec<Vec<(u32, Pool)>>,
    uses: Vec<Vec<Use>>,
    /// How many pools its header has.
    taken: Vec<u32>,
    /// When its header took each,
    taken_at: Vec<Vec<Picos>>,
    /// how many its tail has left,
    left: Vec<u32>,
    /// and in how many it lies at most.
    span: Vec<u32>,
    /// Since when its header waits.
    waits_since: Vec<Picos>,
    /// Of each pool: how many of its channels are taken, and the messages that wait for one.
    busy: Table<u32>,
    waiting: Table<VecDeque<u32>>,
    nodes: Table<Node>,
    draining: Vec<Flow>,
    rates: Vec<f64>,
    shares: FairShares,
    /// When the rates were computed, and how often.
    since: Picos,
    version: u32,
    queue: BinaryHeap<Reverse<(Picos, u64, Event)>>,
    pushed: u64,
    times: MessageTimes,
}

#[derive(Clone, Debug, Default)]
struct Node {
    is_busy: bool,
    /// Messages to be sent, round by round, and how many have not come yet of each round.
    sends: VecDeque<u32>,
    missing: Vec<u32>,
    /// Those that have come.
    arrived: VecDeque<u32>,
    /// Messages in the sender's buffer, and whether one is leaving it.
    buffered: VecDeque<u32>,
    transmits: bool,
}

impl Node {
    /// One more message comes in a round.
    fn expect(&mut self, round: u32) {
        let round = round as usize;
        if self.missing.len() <= round {
            self.missing.resize(round + 1, 0);
        }
        self.missing[round] += 1;
    }

    /// The next message to be sent, if all has come that it needs.
    fn next_send(&mut self, messages: &[PooledMessage]) -> Option<u32> {
        let round = messages[*self.sends.front()? as usize].round as usize;
        let is_ready = self.missing.iter().take(round).all(|&missing| missing == 0);
        if is_ready { self.sends.pop_front() } else { None }
    }
}

struct Flow {
    message: u32,
    /// Bytes.
    left: f64,
}

impl<'a> Passing<'a> {
    /// `taking_part` nodes have a time in the result.
    fn new(
        topology: &Topology,
        cost: &'a PooledCost,
        messages: &'a [PooledMessage],
        taking_part: usize,
    ) -> Passing<'a> {
        let (nodes, links) = (topology.nodes(), topology.links());
        let mut routes = Vec::with_capacity(messages.len());
        let mut uses = Vec::with_capacity(messages.len());
        let mut span = Vec::with_capacity(messages.len());
        let mut of_nodes: Table<Node> = Table::new(nodes);
        for (index, message) in messages.iter().enumerate() {
            let PooledMessage { from, to, round, .. } = *message;
            assert!(from < nodes && to < nodes && from != to, "a message from node {from} to {to} of {nodes} nodes");
            of_nodes[from].sends.push_back(index as u32);
            of_nodes[to].expect(round);
            let route = route(topology, from, to);
            let channels = (message.bytes + cost.envelope_bytes).div_ceil(cost.channel_bytes.max(1)).max(1);
            let is_short = cost.channel_bytes > 0 && channels <= route.len() as u64;
            let lies_in = if is_short { channels as usize } else { route.len() };
            let mut used: Vec<Use> = Vec::with_capacity(lies_in + 2);
            let last = &route[route.len() - lies_in..];
            used.extend(last.iter().map(|&(link, _)| Use { resource: link, byte_time: cost.link_byte_time }));
            if !is_short {
                used.push(Use { resource: (links + from) as u32, byte_time: cost.send_byte_time });
            }
            span.push(lies_in as u32);
            used.push(Use { resource: (links + nodes + to) as u32, byte_time: cost.receive_byte_time });
            routes.push(route);
            uses.push(used);
        }
        Passing {
            cost,
            messages,
            routes,
            uses,
            taken: vec![0; messages.len()],
            taken_at: vec![Vec::new(); messages.len()],
            left: vec![0; messages.len()],
            span,
            waits_since: vec![Picos::ZERO; messages.len()],
            busy: Table::new(2 * links),
            waiting: Table::new(2 * links),
            nodes: of_nodes,
            draining: Vec::new(),
            rates: Vec::new(),
            shares: FairShares::new(links + 2 * nodes),
            since: Picos::ZERO,
            version: 0,
            queue: BinaryHeap::new(),
            pushed: 0,
            times: MessageTimes {
                received: vec![Picos::ZERO; messages.len()],
                finished: vec![Picos::ZERO; taking_part],
                end: Picos::ZERO,
                blocked: Picos::ZERO,
            },
        }
    }

    fn push(&mut self, time: Picos, event: Event) {
        self.queue.push(Reverse((time, self.pushed, event)));
        self.pushed += 1;
    }

    fn run(mut self, interrupt: &Interrupt) -> Option<MessageTimes> {
        while let Some(Reverse((now, _, event))) = self.queue.pop() {
            if interrupt.is_requested() {
                return None;
            }
            match event {
                Event::Ready(node) => self.go_on(now, node as usize),
                Event::Sent(message) => {
                    let from = self.messages[message as usize].from;
                    self.go_on(now, from);
                    self.nodes[from].buffered.push_back(message);
                    if !self.nodes[from].transmits {
                        self.transmit(now, from);
                    }
                }
                Event::Header(message) => self.advance(now, message),
                Event::Draining(message) => self.drain(now, message),
                Event::Passed(message, link) if link == self.left[message as usize] => self.free_next(now, message),
                Event::Passed(..) => {}
                Event::Through(version) if version == self.version => self.settle(now),
                Event::Through(_) => {}
            }
        }
        debug_assert!(self.routes.iter().zip(&self.taken).all(|(route, &taken)| taken as usize == route.len()));
        self.times.end = self.times.finished.iter().copied().max().unwrap_or(Picos::ZERO);
        Some(self.times)
    }

    /// The processor of `node` is through with what it did: it takes the next message that has come, or sends the next.
    fn go_on(&mut self, now: Picos, node: usize) {
        let state = &mut self.nodes[node];
        state.is_busy = true;
        self.times.finished[node] = now;
        if let Some(message) = state.arrived.pop_front() {
            self.push(now + Picos::from_seconds(self.cost.receive_overhead), Event::Draining(message));
        } else if let Some(message) = state.next_send(self.messages) {
            let copy = self.cost.copy_byte_time * self.messages[message as usize].bytes as f64;
            self.push(now + Picos::from_seconds(self.cost.send_overhead + copy), Event::Sent(message));
        } else {
            state.is_busy = false;
        }
    }

    /// The transmitter of `node` turns to the next message in the buffer.
    fn transmit(&mut self, now: Picos, node: usize) {
        let next = self.nodes[node].buffered.pop_front();
        self.nodes[node].transmits = next.is_some();
        if let Some(message) = next {
            self.ask(now, message);
        }
    }

    /// The header wants the channel of its next link.
    fn ask(&mut self, now: Picos, message: u32) {
        let (_, pool) = self.routes[message as usize][self.taken[message as usize] as usize];
        self.waits_since[message as usize] = now;
        if self.busy[pool as usize] < self.cost.channels.max(1) {
            self.busy[pool as usize] += 1;
            self.take(now, message);
        } else {
            self.waiting[pool as usize].push_back(message);
        }
    }

    fn take(&mut self, now: Picos, message: u32) {
        let index = message as usize;
        self.times.blocked += now - self.waits_since[index];
        self.taken_at[index].push(now);
        if self.taken[index] >= self.span[index] {
            // The words follow the header as fast as links allow, and what is behind is free when they have passed.
            let link = self.taken[index] - self.span[index];
            let bytes = self.messages[index].bytes + self.cost.envelope_bytes;
            let passes = Picos::from_seconds(self.cost.link_byte_time.max(self.cost.send_byte_time) * bytes as f64);
            self.push(now.max(self.taken_at[index][link as usize] + passes), Event::Passed(message, link));
        }
        self.taken[index] += 1;
        self.push(now + Picos::from_seconds(self.cost.hop_time), Event::Header(message));
    }

    fn advance(&mut self, now: Picos, message: u32) {
        if (self.taken[message as usize] as usize) < self.routes[message as usize].len() {
            return self.ask(now, message);
        }
        let to = self.messages[message as usize].to;
        self.nodes[to].arrived.push_back(message);
        if !self.nodes[to].is_busy {
            self.go_on(now, to);
        }
    }

    fn drain(&mut self, now: Picos, message: u32) {
        self.move_words(now);
        let bytes = self.messages[message as usize].bytes + self.cost.envelope_bytes;
        self.draining.push(Flow { message, left: bytes as f64 });
        self.share(now);
    }

    /// Words move at the rates that hold since they were computed.
    fn move_words(&mut self, now: Picos) {
        let elapsed = (now - self.since).seconds();
        for (flow, rate) in self.draining.iter_mut().zip(&self.rates) {
            flow.left -= rate * elapsed;
        }
        self.since = now;
    }

    /// Shares links and accesses anew.
    fn share(&mut self, now: Picos) {
        let flows: Vec<&[Use]> = self.draining.iter().map(|flow| &self.uses[flow.message as usize][..]).collect();
        self.shares.rates(&flows, &mut self.rates);
        self.version += 1;
        let next =
            self.draining.iter().zip(&self.rates).map(|(flow, rate)| (flow.left - self.fits(flow)).max(0.0) / rate);
        if let Some(next) = next.reduce(f64::min) {
            self.push(now + Picos::from_seconds(next), Event::Through(self.version));
        }
    }

    /// What must be left of a message, in bytes, for its tail to leave the first channel it still has: a message whose
    /// receiver was busy has filled its channels, and as they empty its tail comes after.
    fn fits(&self, flow: &Flow) -> f64 {
        let message = flow.message as usize;
        let behind = self.routes[message].len().saturating_sub(self.left[message] as usize + 1);
        (behind as u64 * self.cost.channel_bytes) as f64
    }

    /// Frees channels that tails have left, and takes the messages that are through out of the network.
    fn settle(&mut self, now: Picos) {
        self.move_words(now);
        // Times are whole picoseconds: what is left of a message that is through is what passes in one of them.
        let slack: Vec<f64> = self.rates.iter().map(|rate| rate * 2e-12).collect();
        for (index, slack) in slack.iter().enumerate() {
            let message = self.draining[index].message;
            let last = self.routes[message as usize].len() as u32 - 1;
            while self.left[message as usize] < last
                && self.draining[index].left <= self.fits(&self.draining[index]) + slack
            {
                self.free_next(now, message);
            }
        }
        let is_through: Vec<bool> = self.draining.iter().zip(&slack).map(|(flow, slack)| flow.left <= *slack).collect();
        let mut through = is_through.iter();
        let mut ended = Vec::new();
        self.draining.retain(|flow| {
            let is_through = *through.next().expect("one for each");
            if is_through {
                ended.push(flow.message);
            }
            !is_through
        });
        self.share(now);
        for message in ended {
            self.leave(now, message);
        }
    }

    /// A message is through: its channels are free, and the processor turns to its next message.
    fn leave(&mut self, now: Picos, message: u32) {
        let PooledMessage { from, to, round, .. } = self.messages[message as usize];
        self.nodes[to].missing[round as usize] -= 1;
        self.times.received[message as usize] = now;
        self.times.finished[from] = self.times.finished[from].max(now);
        while (self.left[message as usize] as usize) < self.routes[message as usize].len() {
            self.free_next(now, message);
        }
        self.go_on(now, to);
    }
}

impl Passing<'_> {
    /// The tail has left the next of a message's channels: it goes to the header that waits for it longest.
    fn free_next(&mut self, now: Picos, message: u32) {
        let (_, pool) = self.routes[message as usize][self.left[message as usize] as usize];
        self.left[message as usize] += 1;
        match self.waiting[pool as usize].pop_front() {
            Some(next) => self.take(now, next),
            None => self.busy[pool as usize] -= 1,
        }
        if self.left[message as usize] == 1 {
            self.transmit(now, self.messages[message as usize].from);
        }
    }
}
