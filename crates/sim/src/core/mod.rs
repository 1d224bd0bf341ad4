//! The state of a run: ranks, messages, events.

mod caching;
mod exchanging;
pub mod files;
mod looking;
mod matching;
mod packets;
pub mod remote;
pub mod rounds;
mod sending;
mod waiting;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;
use weft_base::{Interrupt, Operation, Picos};
use weft_comm::matching::{Envelope, MatchQueues, Pattern};
use weft_comm::{Blocked, Buffer, Call, CollectiveKind, Tag};
use weft_machine::{Completion, Machine, ShortMessages, Switching, Vertex, line_time};
use weft_network::{Network, Table, Traffic};

use crate::costs::{Costs, MessageCost};
use crate::mismatched::{MismatchedElements, Mismatches};
use crate::options::Options;
use crate::placement::Placement;
use crate::prefetch::{prefetch, prefetch_bytes};
use crate::queue::EventQueue;
use crate::request::{MaybeKey, MaybeTime, Message, MessageKey, Packet, Receive, ReceiveKey, Send, SendKey, Taken};
use crate::trace::{Trace, TraceEvent, TraceKind};
use crate::unreceived::Unreceived;
use files::Io;

/// A rank with this many messages that have not entered the network waits with its next send: it may run ahead of the
/// others, but not without end.
const RUN_AHEAD: u32 = 4096;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A message enters the network (the request of one, for a rendezvous).
    Enter(MessageKey),
    /// A rendezvous has found its receive: the clearance leaves the receiver.
    Clear(MessageKey),
    /// The clearance has come: the message itself enters the network.
    Transfer(MessageKey),
    /// A packet is whole at a node.
    Packet(u32),
    /// Messages have arrived at a rank that has wildcard receives posted.
    Settle(u32),
    /// A rank has asked to be woken.
    Wake(u32),
    /// A look of a rank at what may have come is at its end.
    Look(u32),
    /// A request to a file has come to its next stage.
    Io(u32),
    /// A request to another rank's memory has come to its next stage.
    Remote(u32),
    /// The next message that a rank has sent in a collective of all ranks together enters the network.
    Round(u32),
}

/// One rank.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Rank {
    /// How far it has got.
    pub clock: Picos,
    queues: MatchQueues<ReceiveKey, MessageKey>,
    /// Wildcard receives posted and not matched.
    wildcards: u32,
    /// Messages that have not entered the network.
    unentered: u32,
    is_ready: bool,
    /// Its program looks, at times, whether something has come.
    notices: bool,
    /// Where its program keeps its state; only ever a hint of what will be read soon.
    program: usize,
    /// Collectives entered on the communicator of all ranks.
    pub sequence: u32,
    /// The outermost collective the rank is in, with the context of its communicator, and how many it is in.
    collective: Option<(u32, (CollectiveKind, u32))>,
    collective_depth: u32,
}

/// Bytes of what is known of a rank before it does anything.
pub(crate) const RANK_BYTES: usize = size_of::<Rank>();

/// The processor of a node, as far as routing takes from it.
#[derive(Clone, Copy, Debug, Default)]
struct Forwarding {
    busy_until: Picos,
    stolen: Picos,
}

/// A rank that wants to know when nothing can happen any more: how often ranks had been told so before it asked, and
/// whether it is told.
#[derive(Clone, Copy, Debug)]
struct AwaitsQuiet {
    since: u64,
    is_notified: bool,
}

/// A serial resource with a startup and a byte time: memory copies and the host's link.
#[derive(Clone, Copy, Debug)]
struct Line {
    startup: f64,
    byte_time: f64,
    short: Option<ShortMessages>,
}

impl Line {
    fn time(self, bytes: u64) -> Picos {
        Picos::from_seconds(line_time(self.startup, self.byte_time, self.short, bytes))
    }
}

/// All that a run knows.
#[derive(Debug)]
pub(crate) struct Core {
    queue: EventQueue<Event>,
    network: Network,
    costs: Costs,
    placement: Placement,
    machine: Machine,
    ranks: Vec<Rank>,
    messages: Slab<Message>,
    receives: Slab<Receive>,
    sends: Slab<Send>,
    packets: Slab<Packet>,
    ready: VecDeque<u32>,
    /// Ranks that run before anything happens whose order with what they do could matter.
    deferred: Vec<u32>,
    /// What ranks wait for in a probe.
    probing: FxHashMap<u32, Pattern>,
    /// The wakes that are in the queue: a rank that asks for one each time it is woken must not have more and more.
    wakes: FxHashSet<(u32, Picos)>,
    /// Ranks that want to know when nothing can happen any more.
    quiet: BTreeMap<u32, AwaitsQuiet>,
    /// How often a rank was told so.
    quiet_notices: u64,
    looks: looking::Looks,
    forwarding: Table<Forwarding>,
    /// No host, no shared nodes, no packets, no store-and-forward, nothing degraded: nearly every message takes the short way through [`Core::enter`].
    is_plain: bool,
    /// How many ranks there are on the node of each; empty where none shares one.
    sharers: Vec<u32>,
    self_copy: Line,
    host: Option<Line>,
    host_free: Picos,
    /// Contexts of communicators made by `split`, by parent, number of the collective and index of the color.
    contexts: FxHashMap<(u32, u32, u32), u32>,
    entered: u64,
    /// Size of a program's state.
    program_bytes: usize,
    /// What the caches of ranks hold, where the machine says what leaving them costs.
    caching: Option<caching::Caching>,
    exchanging: exchanging::Exchanging,
    joints: rounds::Joints,
    pub io: Io,
    remote: remote::Remote,
    pub trace: Option<Trace>,
    pub mismatches: Mismatches,
    /// Asked by what takes long within one event.
    interrupt: Interrupt,
    /// Requests are looked at, not waited for, and when the first of them will be complete.
    looks_only: bool,
    next_known: Picos,
    /// Numbers given to communicators so far.
    last_context: u32,
}

impl Core {
    /// About the bytes of what is kept of every link and node of a machine, before a message has crossed any.
    pub fn network_bytes(machine: &Machine, options: &Options) -> usize {
        let links = Table::<()>::unwritten_bytes(machine.topology.links());
        let nodes = Table::<()>::unwritten_bytes(machine.nodes());
        links * if options.traffic { 2 } else { 1 } + 2 * nodes
    }

    /// For so many ranks of `placement`.
    pub fn new(machine: &Machine, placement: &Placement, ranks: usize, options: &Options) -> Core {
        let mut network = Network::new(machine);
        if options.traffic {
            network.record_traffic();
        }
        let steals = machine.switching == Switching::StoreAndForward;
        Core {
            queue: EventQueue::new(),
            network,
            costs: Costs::new(machine),
            placement: placement.clone(),
            machine: machine.clone(),
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
            messages: Slab::new(),
            receives: Slab::new(),
            sends: Slab::new(),
            packets: Slab::new(),
            ready: VecDeque::new(),
            deferred: Vec::new(),
            probing: FxHashMap::default(),
            wakes: FxHashSet::default(),
            quiet: BTreeMap::new(),
            quiet_notices: 0,
            looks: looking::Looks::default(),
            is_plain: !steals
                && machine.packets.is_none()
                && placement.host_rank().is_none()
                && !placement.shares_nodes()
                && machine.degradation.is_none(),
            forwarding: Table::new(if steals { machine.nodes() } else { 0 }),
            sharers: if placement.shares_nodes() { placement.sharers() } else { Vec::new() },
            self_copy: Line {
                startup: machine.self_message.startup,
                byte_time: machine.self_message.byte_time,
                short: machine.self_message.short,
            },
            host: machine.host.as_ref().map(|host| Line {
                startup: host.startup,
                byte_time: host.byte_time,
                short: host.short,
            }),
            host_free: Picos::ZERO,
            contexts: FxHashMap::default(),
            entered: 0,
            program_bytes: 0,
            caching: machine.cache.as_ref().map(|cache| caching::Caching::new(cache, ranks)),
            exchanging: exchanging::Exchanging::default(),
            joints: rounds::Joints::default(),
            io: Io::new(machine),
            remote: remote::Remote::default(),
            trace: options.trace.then(Trace::default),
            mismatches: Mismatches::default(),
            interrupt: options.interrupt.clone(),
            looks_only: false,
            next_known: Picos::MAX,
            last_context: 0,
        }
    }

    /// How many packets a message of `bytes` bytes is cut into.
    pub fn packets_of(&self, bytes: u64) -> u64 {
        self.costs.packets(bytes)
    }

    /// The length of the longest message of at most so many packets.
    pub fn longest_message(&self, packets: u64) -> u64 {
        self.costs.longest(packets)
    }

    /// The length of the longest message whose send is complete without its receive.
    pub fn longest_eager(&self) -> u64 {
        self.costs.longest_eager()
    }

    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// What every link of the topology has carried, if it was recorded; those of I/O nodes are none of it.
    pub fn traffic(&self) -> Option<Vec<Traffic>> {
        let mut carried = self.network.traffic()?.to_vec();
        carried.truncate(self.machine.topology.links());
        Some(carried)
    }

    /// How long messages have waited, as [`Network::waiting`] has it.
    pub fn waiting(&self) -> Option<f64> {
        self.network.waiting()
    }

    /// Messages that have entered the network so far.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    pub fn rank(&mut self, rank: u32) -> &mut Rank {
        &mut self.ranks[rank as usize]
    }

    /// Tells where the program of each rank keeps its state, `bytes` long: it is prefetched before it is needed.
    pub fn set_programs(&mut self, addresses: impl Iterator<Item = usize>, bytes: usize) {
        self.program_bytes = bytes;
        for (rank, address) in self.ranks.iter_mut().zip(addresses) {
            rank.program = address;
        }
    }

    pub fn clock(&self, rank: u32) -> Picos {
        self.ranks[rank as usize].clock
    }

    /// Messages that no receive has taken, receiver by receiver.
    pub fn unreceived(&self) -> Vec<Unreceived> {
        let arrived = self.ranks.iter().flat_map(|rank| rank.queues.unexpected());
        let unreceived = arrived.map(|(envelope, key)| {
            let message = &self.messages[*key as usize];
            let (from, to) = (message.from as usize, message.to as usize);
            Unreceived { from, to, tag: envelope.tag(), bytes: message.bytes }
        });
        unreceived.collect()
    }

    /// How far all ranks have got in the global order of events.
    pub fn now(&self) -> Picos {
        self.queue.now()
    }

    /// The rank that [`Core::next_ready`] takes.
    pub fn first_ready(&self) -> Option<u32> {
        self.ready.front().copied()
    }

    /// The next rank to run at this moment.
    pub fn next_ready(&mut self) -> Option<u32> {
        let rank = self.ready.pop_front()?;
        self.ranks[rank as usize].is_ready = false;
        Some(rank)
    }

    /// Makes `rank` run.
    pub fn make_ready(&mut self, rank: u32) {
        if !std::mem::replace(&mut self.ranks[rank as usize].is_ready, true) {
            self.ready.push_back(rank);
        }
    }

    /// Makes `rank` run before anything happens whose order with what the rank does could matter.
    pub fn defer(&mut self, rank: u32) {
        self.deferred.push(rank);
    }

    /// Makes deferred ranks run, unless the next event does nothing but complete a receive; whether there were any.
    #[inline]
    pub fn release_deferred(&mut self) -> bool {
        if self.deferred.is_empty() || self.next_only_completes_a_receive() {
            return false;
        }
        for rank in std::mem::take(&mut self.deferred) {
            self.make_ready(rank);
        }
        true
    }

    /// Whether the next event is of this moment and a message whose entry into the network adds no event, and lets
    /// only a rank go on that waits to receive.
    fn next_only_completes_a_receive(&self) -> bool {
        let Some(Event::Enter(key)) = self.queue.of_this_moment(0) else { return false };
        let message = &self.messages[key as usize];
        self.is_plain
            && message.from != message.to
            && message.completion == Completion::Buffered
            && message.send.get().is_none()
            && self.ranks[message.to as usize].wildcards == 0
            && !self.ranks[message.to as usize].notices
            && self.probing.is_empty()
    }

    /// Makes `rank` run at `time`.
    pub fn wake_at(&mut self, rank: u32, time: Picos) {
        let time = time.max(self.queue.now());
        if self.wakes.insert((rank, time)) {
            self.queue.push(time, Event::Wake(rank));
        }
    }

    fn wake(&mut self, now: Picos, rank: u32) {
        self.wakes.remove(&(rank, now));
        self.make_ready(rank);
    }

    /// Whether `rank` wants to know when nothing can happen any more.
    pub fn await_quiet(&mut self, rank: u32, waits: bool) {
        if waits {
            self.quiet.insert(rank, AwaitsQuiet { since: self.quiet_notices, is_notified: false });
        } else {
            self.quiet.remove(&rank);
        }
    }

    /// Whether `rank` is told that nothing can happen any more.
    pub fn take_quiet(&mut self, rank: u32) -> bool {
        self.quiet.get_mut(&rank).is_some_and(|waits| std::mem::take(&mut waits.is_notified))
    }

    /// Nothing can happen any more: tells one rank that wants to know; false where none does. All that want to are told
    /// before one of them is told again: what each does then may concern the others.
    pub fn tell_quiet(&mut self) -> bool {
        let Some((&rank, waits)) = self.quiet.iter_mut().min_by_key(|(rank, waits)| (waits.since, **rank)) else {
            return false;
        };
        waits.is_notified = true;
        self.quiet_notices += 1;
        self.make_ready(rank);
        true
    }

    /// Takes the next event; false when there is none.
    pub fn step(&mut self) -> bool {
        let Some((now, event)) = self.queue.pop() else {
            return false;
        };
        self.prefetch_next();
        match event {
            Event::Enter(message) => self.enter(now, message),
            Event::Clear(message) => self.clear(now, message),
            Event::Transfer(message) => self.transfer(now, message),
            Event::Packet(packet) => self.forward(now, packet),
            Event::Settle(rank) => self.settle(now, rank),
            Event::Wake(rank) => self.wake(now, rank),
            Event::Look(rank) => self.look_ends(rank),
            Event::Io(request) => self.step_io(now, request),
            Event::Remote(request) => self.step_remote(now, request),
            Event::Round(rank) => self.enter_round(now, rank),
        }
        true
    }

    /// Prefetches the memory of messages that will enter the network soon: first the message, then its receiver, then
    /// what the receiver will run, each while an event before it is handled.
    #[inline]
    fn prefetch_next(&self) {
        // SAFETY: an event of entry is queued once, when its message is made, and a message is removed only after it
        // has arrived, which it does after its entry has left the queue.
        let message = |key: MessageKey| unsafe { self.messages.get_unchecked(key as usize) };
        let Some(next) = self.queue.of_this_moment(0) else {
            if let Some(Event::Enter(key)) = self.queue.of_a_later_moment() {
                prefetch(message(key));
            }
            return;
        };
        if let Some(Event::Enter(key)) = self.queue.of_this_moment(2) {
            prefetch(message(key));
        }
        if let Some(Event::Enter(key)) = self.queue.of_this_moment(1) {
            prefetch(&self.ranks[message(key).to as usize]);
        }
        if let Event::Enter(key) = next {
            let to = &self.ranks[message(key).to as usize];
            prefetch_bytes(to.program, self.program_bytes);
        }
    }

    /// A request to a file comes to its next stage at `time`.
    pub fn push_io(&mut self, time: Picos, request: u32) {
        self.queue.push(time.max(self.queue.now()), Event::Io(request));
    }

    /// When a message of `bytes` that enters the network now is whole at node `to`.
    pub fn carry(&mut self, now: Picos, from: usize, to: usize, bytes: u64) -> Picos {
        if from == to {
            return now;
        }
        self.network.pass(now, from, to, self.costs.message(bytes).link).arrived
    }

    /// Processor time of sending and of receiving a message of `bytes`.
    pub fn overheads(&mut self, bytes: u64) -> (Picos, Picos) {
        let cost = self.costs.message(bytes);
        (cost.send, cost.receive)
    }

    /// When `bytes` have passed between a node and the host, whose own part takes `more`: one request at a time.
    pub fn through_host(&mut self, now: Picos, node: usize, bytes: u64, more: Picos) -> Picos {
        let link = self.host.map_or(Picos::ZERO, |link| link.time(bytes));
        let hops = self.machine.topology.hops(node, 0) as u64;
        self.host_free = now.max(self.host_free) + link + more;
        self.host_free + self.costs.message(bytes).link.hop * hops
    }

    /// What the program of `rank` is charged for `count` operations; nothing if the machine file gives no time. Ranks
    /// that share a node have equal parts of its rate.
    pub fn operations(&self, rank: u32, operation: Operation, count: u64) -> Picos {
        let seconds = self.machine.charged_time(operation).unwrap_or(0.0);
        let sharers = self.sharers.get(rank as usize).copied().unwrap_or(1);
        Picos::from_seconds(seconds * count as f64 * f64::from(sharers))
    }

    pub fn enter_collective(&mut self, rank: u32, context: u32, kind: CollectiveKind, sequence: u32) {
        let state = &mut self.ranks[rank as usize];
        if state.collective_depth == 0 {
            state.collective = Some((context, (kind, sequence)));
        }
        state.collective_depth += 1;
    }

    pub fn leave_collective(&mut self, rank: u32) {
        let state = &mut self.ranks[rank as usize];
        state.collective_depth -= 1;
        if state.collective_depth == 0 {
            state.collective = None;
        }
    }

    /// The context of the communicator made by a split, known by the parent's context, the number of the collective
    /// and the index of the color.
    pub fn split_context(&mut self, key: (u32, u32, u32)) -> u32 {
        let last_context = &mut self.last_context;
        *self.contexts.entry(key).or_insert_with(|| {
            *last_context += 1;
            *last_context
        })
    }

    /// A context that no communicator has.
    pub fn new_context(&mut self) -> u32 {
        self.last_context += 1;
        self.last_context
    }

    /// Whether ranks of one communicator are in different collectives of it.
    pub fn collectives_differ(&self) -> bool {
        let mut known = FxHashMap::default();
        let mut inside = self.ranks.iter().filter_map(|state| state.collective);
        inside.any(|(context, collective)| *known.entry(context).or_insert(collective) != collective)
    }

    /// What each rank that has not finished is blocked in.
    pub fn blocked(&self, finished: impl Fn(usize) -> bool) -> Vec<Blocked> {
        let mut calls: Vec<Option<Call>> = vec![None; self.size()];
        for (_, receive) in self.receives.iter().filter(|(_, receive)| receive.awaited && receive.complete.is_none()) {
            let call = Call::Receive { from: receive.pattern.source(), tag: receive.pattern.tag() };
            calls[receive.rank as usize].get_or_insert(call);
        }
        for (_, send) in self.sends.iter().filter(|(_, send)| send.awaited && send.complete.is_none()) {
            let call = Call::Send { to: send.to as usize, tag: send.tag, bytes: send.bytes as usize };
            calls[send.rank as usize].get_or_insert(call);
        }
        for (rank, call) in self.awaited_rounds() {
            calls[rank as usize].get_or_insert(call);
        }
        let ranks = self.ranks.iter().zip(calls).enumerate().filter(|(rank, _)| !finished(*rank));
        ranks
            .map(|(rank, (state, call))| {
                let probe = self
                    .probing
                    .get(&(rank as u32))
                    .map(|pattern| Call::Probe { from: pattern.source(), tag: pattern.tag() });
                let exchange = self.waits_in_exchange(rank).map(|there| Call::Exchange { there, ranks: self.size() });
                Blocked {
                    rank,
                    call: call.or(probe).or(exchange).unwrap_or(Call::Unknown),
                    collective: state.collective.map(|(_, collective)| collective),
                }
            })
            .collect()
    }

    #[inline]
    pub fn record(&mut self, rank: u32, start: Picos, end: Picos, kind: TraceKind) {
        if let Some(trace) = &mut self.trace {
            trace.events.push(TraceEvent { start, end, rank, kind });
        }
    }

    fn record_flight(&mut self, key: MessageKey, start: Picos, end: Picos, bytes: u64) {
        if self.trace.is_some() {
            let (from, to) = (self.messages[key as usize].from, self.messages[key as usize].to);
            self.record(from, start, end, TraceKind::Message { to, bytes });
        }
    }
}
