//! The network, cycle by cycle.
//!
//! In cycle `t` a router first takes what arrives, then allocates channels and switch from the state before, then computes
//! routes. A flit that is granted the switch in `t` crosses it in `t + 1` and the link in `t + 2`, and is in the next buffer
//! in `t + 3`, where it may be granted the switch at once if its channel is known. Its own buffer's credit leaves in `t`,
//! crosses the link in `t + 1`, and may be used from `t + 2` and the credit delay on. A node takes every flit that arrives.

use rand_xoshiro::Xoshiro256PlusPlus;
use weft_base::generator;
use weft_machine::Topology;

use crate::allocation::Bits;
use crate::graph::{End, Graph, GraphError};
use crate::routing::{Algorithm, Heading, Routing, is_injection};
use crate::sources::Sources;
use crate::traffic::Traffic;

/// Cycles of a head from the buffer of one router to that of the next: routing, two allocations, traversal and link.
pub const HOP_CYCLES: u64 = 5;
/// Cycles of a head from a node to its router, and from the buffer of the last router to its node.
pub const NODE_CYCLES: u64 = 7;
/// Cycles from the grant of the switch to the buffer of the next router: traversal, link, arrival.
pub(crate) const TO_NEXT: u64 = 3;
/// Cycles from a node to the buffer of its router.
const TO_ROUTER: u64 = 2;
/// Cycles of a credit over a link, from the grant that frees a buffer.
pub(crate) const OF_CREDIT: u64 = 2;
/// Cycles for which events are kept ahead; a power of two.
const SLOTS: usize = 32;
/// The largest credit delay that fits.
const MAX_CREDIT_DELAY: u32 = 16;
const MAX_BUFFER: usize = 128;
const MAX_PACKET: u32 = 1 << 16;
/// Nobody owns a channel.
pub(crate) const NOBODY: u8 = u8::MAX;

/// What routers have, and what goes through them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Virtual channels of every port.
    pub channels: usize,
    /// Flits of the buffer of a virtual channel.
    pub buffer: usize,
    /// Whether an output channel is given to another packet only after the credit of the last one's tail is back; else as
    /// soon as the tail has left.
    pub tail_credit: bool,
    /// Cycles a router takes to process a credit that has arrived.
    pub credit_delay: u32,
    pub algorithm: Algorithm,
    /// Flits of a packet.
    pub packet: u32,
    /// Flits that a node makes in a cycle.
    pub load: f64,
    pub seed: u64,
}

/// An input channel of a router.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Input {
    /// Output channels that its packet may take.
    pub(crate) wanted: u64,
    /// The one that it has.
    pub(crate) output: u8,
    /// Where its buffer begins, and how many flits are in it.
    pub(crate) head: u8,
    pub(crate) length: u8,
}

/// What a router has to do, as bits of its input channels, and its busy output channels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Router {
    /// Packets whose head has come to the front.
    pub(crate) routing: u64,
    /// Packets that wait for an output channel.
    pub(crate) waiting: u64,
    /// Packets with an output channel and a flit at the front.
    pub(crate) ready: u64,
    /// Packets with an output channel that has a credit.
    pub(crate) credited: u64,
    pub(crate) busy: u64,
    pub(crate) tail_sent: u64,
    /// Whether a packet that waits may have got a chance: one came, or an output channel was given free.
    pub(crate) retry: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) destination: u32,
    pub(crate) created: u64,
    pub(crate) heading: Heading,
}

/// A flit: number of the packet, whether it is a tail, whether it is a head.
pub(crate) type Flit = u32;
pub(crate) const HEAD: Flit = 1;
pub(crate) const TAIL: Flit = 2;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The cycle in which it was created.
    pub created: u64,
    /// Cycles from then until its tail was with the node.
    pub latency: u64,
}

/// Packets on their way, in places that are used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    pub(crate) packets: Vec<Packet>,
    pub(crate) free: Vec<u32>,
}

impl Packets {
    /// Frees the entry of a packet that has arrived; when it was created.
    fn remove(&mut self, entry: u32) -> u64 {
        self.free.push(entry);
        std::mem::replace(&mut self.packets[entry as usize].created, u64::MAX)
    }

    fn add(&mut self, packet: Packet) -> u32 {
        if let Some(entry) = self.free.pop() {
            self.packets[entry as usize] = packet;
            return entry;
        }
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }
}

/// What happens at cycles to come.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// Flits for input channels.
    pub(crate) arriving: Vec<Vec<(u32, Flit)>>,
    /// Flits for nodes.
    pub(crate) ejecting: Vec<Vec<Flit>>,
    /// Credits for output channels of routers, then for channels of nodes.
    pub(crate) credits: Vec<Vec<u32>>,
}

pub(crate) fn slot(cycle: u64) -> usize {
    cycle as usize % SLOTS
}

/// A network of routers with traffic.
///
/// # Examples
/// ```
/// use weft_flit::{Algorithm, Options, Pattern, Simulation, Traffic};
/// use weft_machine::Topology;
///
/// let torus = Topology::Torus { extents: vec![4, 4] };
/// let traffic = Traffic::new(Pattern::Neighbour, &torus).unwrap();
/// let options = Options {
///     channels: 2, buffer: 8, tail_credit: false, credit_delay: 0, algorithm: Algorithm::Deterministic, packet: 1,
///     load: 0.001, seed: 1,
/// };
/// let mut network = Simulation::new(&torus, traffic, options).unwrap();
/// while network.deliveries().is_empty() {
///     network.step();
/// }
/// // Two links of five cycles, and seven cycles to, through and from the last router.
/// assert_eq!(network.deliveries()[0].latency, 17);
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(crate) options: Options,
    pub(crate) routing: Routing,
    pub(crate) traffic: Traffic,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) cycle: u64,
    pub(crate) ports: usize,
    /// Channels of a router, and the distance of the first ones of two routers: a power of two.
    pub(crate) width: usize,
    pub(crate) shift: u32,
    pub(crate) routers: Vec<Router>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) buffers: Vec<Flit>,
    pub(crate) buffer_shift: u32,
    pub(crate) credits: Vec<u8>,
    pub(crate) owners: Vec<u8>,
    /// What flits of an output channel come to: an input channel, or a node behind all of these.
    pub(crate) downstream: Vec<u32>,
    /// Whose credits an input channel gives: an output channel, or a node's channel behind all of these.
    pub(crate) upstream: Vec<u32>,
    /// The first input channel of each node.
    pub(crate) injection: Vec<u32>,
    /// Input channels of each router that are kept for deterministic routes.
    pub(crate) escaped: Vec<u64>,
    pub(crate) channel_pointers: [Vec<u8>; 2],
    pub(crate) switch_pointers: [Vec<u8>; 2],
    /// The channel of each input port that is preferred for an output.
    pub(crate) preferred: Vec<u8>,
    pub(crate) port_of: [u8; 64],
    /// Workspace of the allocators: what is requested, granted (0 between uses) and matched, and who bids for a port.
    pub(crate) requests: Vec<u64>,
    pub(crate) granted: Vec<u64>,
    pub(crate) matched: Vec<(usize, usize)>,
    pub(crate) bids: Vec<u8>,
    pub(crate) packets: Packets,
    pub(crate) sources: Sources,
    pub(crate) events: Events,
    pub(crate) active: Vec<u64>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) ejected: u64,
    pub(crate) link_hops: u64,
}

impl Simulation {
    /// An empty network.
    ///
    /// # Errors
    /// [`GraphError`] for options that no router has: more than 64 channels on all ports of a router, a buffer of none or
    /// more than 128 flits, a load outside 0 to 1 packet a cycle.
    pub fn new(topology: &Topology, traffic: Traffic, options: Options) -> Result<Simulation, GraphError> {
        let graph = Graph::new(topology)?;
        check(&options, &graph)?;
        let routing = Routing::new(topology, &graph, options.channels, options.algorithm)?;
        let mut random = generator(options.seed, 0);
        let width = graph.ports * options.channels;
        let shift = width.next_power_of_two().trailing_zeros();
        let total = graph.routers << shift;
        let buffer = options.buffer as u8;
        let probability = options.load / f64::from(options.packet);
        let sources =
            Sources::new(graph.nodes, options.channels, buffer, options.tail_credit, probability, &mut random);
        let (downstream, upstream) = wiring(&graph, options.channels, shift);
        let mut port_of = [0; 64];
        (0..width).for_each(|channel| port_of[channel] = (channel / options.channels) as u8);
        let buffer_shift = options.buffer.next_power_of_two().trailing_zeros();
        let of_ports = graph.routers * graph.ports;
        Ok(Simulation {
            escaped: escaped(&graph, options.channels, routing.escapes),
            routing,
            traffic,
            random,
            cycle: 0,
            ports: graph.ports,
            width,
            shift,
            routers: vec![Router::default(); graph.routers],
            inputs: vec![Input::default(); total],
            buffers: vec![0; total << buffer_shift],
            buffer_shift,
            credits: vec![buffer; total],
            owners: vec![NOBODY; total],
            injection: injection(&graph, options.channels, shift),
            downstream,
            upstream,
            channel_pointers: [vec![0; total], vec![0; total]],
            switch_pointers: [vec![0; of_ports], vec![0; of_ports]],
            preferred: vec![0; of_ports],
            port_of,
            requests: vec![0; width],
            granted: vec![0; width],
            matched: Vec::new(),
            bids: vec![0; graph.ports * graph.ports],
            packets: Packets::default(),
            sources,
            events: Events {
                arriving: vec![Vec::new(); SLOTS],
                ejecting: vec![Vec::new(); SLOTS],
                credits: vec![Vec::new(); SLOTS],
            },
            active: vec![0; graph.routers.div_ceil(64)],
            deliveries: Vec::new(),
            ejected: 0,
            link_hops: 0,
            options,
        })
    }

    /// The cycle that comes next.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Packets that have arrived since the last [`clear_deliveries`](Simulation::clear_deliveries).
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    pub fn clear_deliveries(&mut self) {
        self.deliveries.clear();
    }

    /// Flits that nodes have taken out of the network so far.
    pub fn ejected(&self) -> u64 {
        self.ejected
    }

    /// Links between routers that flits have crossed so far.
    pub fn link_hops(&self) -> u64 {
        self.link_hops
    }

    pub fn nodes(&self) -> usize {
        self.injection.len()
    }

    /// Flits of a packet.
    pub fn packet(&self) -> u32 {
        self.options.packet
    }

    /// Packets that were created before `cycle`, have been taken from the queues of their sources and have not arrived.
    pub fn created_before(&self, cycle: u64) -> usize {
        self.packets.packets.iter().filter(|packet| packet.created < cycle).count()
    }

    /// Whether the queues of the sources have no packet that was created before `cycle`.
    pub fn sources_are_past(&self, cycle: u64) -> bool {
        self.sources.are_past(cycle)
    }

    /// One cycle.
    pub fn step(&mut self) {
        self.eject();
        self.arrive();
        self.take_credits();
        self.inject();
        for word in 0..self.active.len() {
            for bit in Bits(self.active[word]) {
                let router = word * 64 + bit;
                self.run(router);
                let state = &self.routers[router];
                let waits = if state.retry { state.waiting } else { 0 };
                if state.routing | waits | (state.ready & state.credited) == 0 {
                    self.active[word] &= !(1 << bit);
                }
            }
        }
        self.cycle += 1;
    }

    fn eject(&mut self) {
        let mut flits = std::mem::take(&mut self.events.ejecting[slot(self.cycle)]);
        self.ejected += flits.len() as u64;
        for flit in flits.drain(..) {
            if flit & TAIL != 0 {
                let created = self.packets.remove(flit >> 2);
                self.deliveries.push(Delivery { created, latency: self.cycle - created });
            }
        }
        self.events.ejecting[slot(self.cycle)] = flits;
    }

    fn arrive(&mut self) {
        let mut flits = std::mem::take(&mut self.events.arriving[slot(self.cycle)]);
        for (index, flit) in flits.drain(..) {
            let (router, channel) = self.locate(index);
            let input = &mut self.inputs[index as usize];
            let at = usize::from(input.head.wrapping_add(input.length)) & ((1 << self.buffer_shift) - 1);
            self.buffers[(index as usize) << self.buffer_shift | at] = flit;
            input.length += 1;
            if input.length == 1 {
                let state = &mut self.routers[router];
                *(if flit & HEAD != 0 { &mut state.routing } else { &mut state.ready }) |= 1 << channel;
                self.active[router / 64] |= 1 << (router % 64);
            }
        }
        self.events.arriving[slot(self.cycle)] = flits;
    }

    /// Router and channel of an index over all routers.
    #[inline]
    fn locate(&self, index: u32) -> (usize, usize) {
        ((index >> self.shift) as usize, index as usize & ((1 << self.shift) - 1))
    }

    fn take_credits(&mut self) {
        let mut credits = std::mem::take(&mut self.events.credits[slot(self.cycle)]);
        for index in credits.drain(..) {
            let (router, channel) = self.locate(index);
            if router >= self.routers.len() {
                self.sources.credit(index as usize - self.credits.len());
                continue;
            }
            self.credits[index as usize] += 1;
            let (state, owner) = (&mut self.routers[router], self.owners[index as usize]);
            if owner != NOBODY {
                state.credited |= 1 << owner;
                self.active[router / 64] |= 1 << (router % 64);
            } else if usize::from(self.credits[index as usize]) == self.options.buffer {
                let done = state.tail_sent & 1 << channel;
                state.busy &= !done;
                state.tail_sent &= !done;
                if done != 0 {
                    state.retry = true;
                    self.active[router / 64] |= 1 << (router % 64);
                }
            }
        }
        self.events.credits[slot(self.cycle)] = credits;
    }

    fn inject(&mut self) {
        let cycle = self.cycle;
        let arriving = &mut self.events.arriving[slot(cycle + TO_ROUTER)];
        let (packets, traffic, injection) = (&mut self.packets, &self.traffic, &self.injection);
        self.sources.step(
            cycle,
            self.options.packet,
            &mut self.random,
            |node, created, random| {
                let destination = traffic.destination(node, random) as u32;
                packets.add(Packet { destination, created, heading: Heading::default() })
            },
            |flit| {
                let ends = (HEAD * u32::from(flit.head)) | (TAIL * u32::from(flit.tail));
                arriving.push((injection[flit.node] + flit.channel as u32, flit.packet << 2 | ends));
            },
        );
    }
}

fn check(options: &Options, graph: &Graph) -> Result<(), GraphError> {
    let wrong = |text: String| Err(GraphError(text));
    let Options { channels, buffer, credit_delay, packet, load, .. } = *options;
    if channels == 0 || graph.ports * channels > 64 {
        let most = 64 / graph.ports;
        return wrong(format!(
            "{channels} virtual channels on each of {} ports: a router here has 1 to {most} a port, 64 in all",
            graph.ports
        ));
    }
    if !(1..=MAX_BUFFER).contains(&buffer) {
        return wrong(format!("a buffer of {buffer} flits: expected 1 to {MAX_BUFFER}"));
    }
    if credit_delay > MAX_CREDIT_DELAY {
        return wrong(format!("a credit delay of {credit_delay} cycles: expected 0 to {MAX_CREDIT_DELAY}"));
    }
    if packet == 0 || packet > MAX_PACKET {
        return wrong(format!("packets of {packet} flits: expected 1 to {MAX_PACKET}"));
    }
    if !(load > 0.0 && load <= f64::from(packet)) {
        return wrong(format!(
            "a load of {load} flits a node and cycle: expected more than 0 and at most {packet}, a packet a cycle"
        ));
    }
    Ok(())
}

fn injection(graph: &Graph, channels: usize, shift: u32) -> Vec<u32> {
    let mut first = vec![0; graph.nodes];
    for (entry, end) in graph.inputs.iter().enumerate() {
        if let End::Node(node) = *end {
            first[node] = index(graph, channels, shift, entry);
        }
    }
    first
}

/// The first channel of a port, of all routers' channels.
fn index(graph: &Graph, channels: usize, shift: u32, entry: usize) -> u32 {
    (((entry / graph.ports) << shift) | (entry % graph.ports * channels)) as u32
}

/// What output channels come to, and whose credits input channels give.
fn wiring(graph: &Graph, channels: usize, shift: u32) -> (Vec<u32>, Vec<u32>) {
    let total = graph.routers << shift;
    let wired = |ends: &[End], of_node: &dyn Fn(usize, usize) -> usize| {
        let mut wires = vec![0; total];
        for (entry, end) in ends.iter().enumerate() {
            let from = index(graph, channels, shift, entry) as usize;
            for channel in 0..channels {
                wires[from + channel] = match *end {
                    End::Router { router, port } => {
                        index(graph, channels, shift, router * graph.ports + port) + channel as u32
                    }
                    End::Node(node) => (total + of_node(node, channel)) as u32,
                    End::Nothing => 0,
                };
            }
        }
        wires
    };
    (wired(&graph.outputs, &|node, _| node), wired(&graph.inputs, &|node, channel| node * channels + channel))
}

/// Input channels that are kept for deterministic routes: the first ones of ports that come from routers.
fn escaped(graph: &Graph, channels: usize, escapes: usize) -> Vec<u64> {
    let kept = |port: usize, end: End| if is_injection(end) { 0 } else { ((1 << escapes) - 1) << (port * channels) };
    let of_router = |ends: &[End]| ends.iter().enumerate().fold(0, |mask, (port, &end)| mask | kept(port, end));
    graph.inputs.chunks(graph.ports).map(of_router).collect()
}
