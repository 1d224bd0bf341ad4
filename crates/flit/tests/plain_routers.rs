//! Curves of latency against load, compared with routers written a second time.
//!
//! The second simulation shares no code with the first, and looks at every channel of every router in every cycle: a torus
//! of 8 x 8 in dimension order with two classes of channels, allocators of one iteration of iSLIP, and packets that nodes
//! make by chance. Each has random numbers of its own, so that curves agree within chance.

use std::collections::{BTreeMap, VecDeque};

use rand::RngExt;
use weft_base::{Interrupt, generator};
use weft_flit::{Algorithm, Options, Pattern, Plan, Simulation, Traffic, measure};
use weft_machine::Topology;

const SIDE: usize = 8;
const NODES: usize = SIDE * SIDE;
/// Ports 0 to 3 lead to neighbours, two for each axis, and port 4 to the node.
const PORTS: usize = 5;
const LOCAL: usize = 4;
const FLITS: u32 = 8;
const CREDIT_DELAY: u64 = 1;

#[derive(Clone, Copy)]
struct Flit {
    packet: usize,
    number: u32,
}

/// What an input channel knows of the packet at its front, and since which cycle.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    New,
    Routed { port: usize, since: u64 },
    Allocated { port: usize, channel: usize, since: u64 },
}

struct Input {
    flits: VecDeque<Flit>,
    stage: Stage,
}

#[derive(Clone, Copy)]
struct Output {
    is_taken: bool,
    tail_is_out: bool,
    credits: usize,
}

struct Packet {
    to: usize,
    created: u64,
    /// The axis that it has last turned into, the port it takes there and its class.
    heading: Option<(usize, usize, usize)>,
}

struct Source {
    queue: VecDeque<usize>,
    sent: u32,
    channel: Option<usize>,
    last: usize,
    outputs: Vec<Output>,
}

/// What comes in a later cycle.
enum Event {
    Flit { router: usize, port: usize, channel: usize, flit: Flit },
    Credit { router: usize, port: usize, channel: usize },
    CreditOfSource { node: usize, channel: usize },
    Received { flit: Flit },
}

struct Torus {
    channels: usize,
    buffer: usize,
    tail_credit: bool,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    sources: Vec<Source>,
    packets: Vec<Packet>,
    events: BTreeMap<u64, Vec<Event>>,
    /// Round-robin pointers of the allocators: of channels, of ports, and of the channels of a port.
    pointers: [Vec<usize>; 5],
    received: Vec<(u64, u64)>,
    flits_received: u64,
}

impl Torus {
    fn new(channels: usize, buffer: usize, tail_credit: bool) -> Torus {
        let output = Output { is_taken: false, tail_is_out: false, credits: buffer };
        let of_router = PORTS * channels;
        let source =
            || Source { queue: VecDeque::new(), sent: 0, channel: None, last: 0, outputs: vec![output; channels] };
        Torus {
            channels,
            buffer,
            tail_credit,
            inputs: (0..NODES * of_router).map(|_| Input { flits: VecDeque::new(), stage: Stage::New }).collect(),
            outputs: vec![output; NODES * of_router],
            sources: (0..NODES).map(|_| source()).collect(),
            packets: Vec::new(),
            events: BTreeMap::new(),
            pointers: [
                vec![0; NODES * of_router],
                vec![0; NODES * of_router],
                vec![0; NODES * PORTS],
                vec![0; NODES * PORTS],
                vec![0; NODES * PORTS],
            ],
            received: Vec::new(),
            flits_received: 0,
        }
    }

    fn at(&self, router: usize, port: usize, channel: usize) -> usize {
        (router * PORTS + port) * self.channels + channel
    }

    fn after(&mut self, cycle: u64, event: Event) {
        self.events.entry(cycle).or_default().push(event);
    }

    /// The router that a port leads to, and the port there.
    fn neighbour(router: usize, port: usize) -> (usize, usize) {
        let (row, column) = (router / SIDE, router % SIDE);
        let step = |coordinate: usize| (coordinate + if port.is_multiple_of(2) { 1 } else { SIDE - 1 }) % SIDE;
        let to = if port < 2 { step(row) * SIDE + column } else { row * SIDE + step(column) };
        (to, port ^ 1)
    }

    /// The port that the packet takes, its class being kept from where it turned.
    fn route(&mut self, router: usize, packet: usize, random: &mut impl rand::Rng) -> usize {
        let to = self.packets[packet].to;
        let axes = [(router / SIDE, to / SIDE), (router % SIDE, to % SIDE)];
        let Some(axis) = axes.iter().position(|(from, to)| from != to) else { return LOCAL };
        if let Some((of_axis, port, _)) = self.packets[packet].heading
            && of_axis == axis
        {
            return port;
        }
        let (from, to) = axes[axis];
        let ahead = (to + SIDE - from) % SIDE;
        let up = if 2 * ahead == SIDE { random.random() } else { 2 * ahead < SIDE };
        let port = 2 * axis + usize::from(!up);
        self.packets[packet].heading = Some((axis, port, usize::from(to < from)));
        port
    }

    fn step(&mut self, cycle: u64, load: f64, random: &mut impl rand::Rng) {
        for event in self.events.remove(&cycle).unwrap_or_default() {
            match event {
                Event::Flit { router, port, channel, flit } => {
                    let index = self.at(router, port, channel);
                    self.inputs[index].flits.push_back(flit);
                    assert!(self.inputs[index].flits.len() <= self.buffer, "a buffer is overrun");
                }
                Event::Credit { router, port, channel } => {
                    let index = self.at(router, port, channel);
                    Self::credit(&mut self.outputs[index], self.buffer);
                }
                Event::CreditOfSource { node, channel } => {
                    Self::credit(&mut self.sources[node].outputs[channel], self.buffer);
                }
                Event::Received { flit } => {
                    self.flits_received += 1;
                    if flit.number + 1 == FLITS {
                        let created = self.packets[flit.packet].created;
                        self.received.push((created, cycle - created));
                    }
                }
            }
        }
        for node in 0..NODES {
            self.inject(node, cycle, load, random);
        }
        for router in 0..NODES {
            self.allocate_channels(router, cycle);
            self.route_all(router, cycle, random);
            self.allocate_switch(router, cycle);
        }
    }

    fn credit(output: &mut Output, buffer: usize) {
        output.credits += 1;
        if output.tail_is_out && output.credits == buffer {
            (output.is_taken, output.tail_is_out) = (false, false);
        }
    }

    /// A flit has gone out by a channel.
    fn spend(output: &mut Output, is_tail: bool, tail_credit: bool) {
        output.credits -= 1;
        output.tail_is_out = is_tail && tail_credit;
        output.is_taken = !is_tail || tail_credit;
    }

    fn inject(&mut self, node: usize, cycle: u64, load: f64, random: &mut impl rand::Rng) {
        if random.random_bool(load / f64::from(FLITS)) {
            let to = random.random_range(0..NODES);
            self.packets.push(Packet { to, created: cycle, heading: None });
            self.sources[node].queue.push_back(self.packets.len() - 1);
        }
        let (channels, tail_credit) = (self.channels, self.tail_credit);
        let source = &mut self.sources[node];
        let Some(&packet) = source.queue.front() else { return };
        if source.channel.is_none() {
            let next = (1..=channels).map(|step| (source.last + step) % channels);
            source.channel = next
                .into_iter()
                .find(|&channel| !source.outputs[channel].is_taken && source.outputs[channel].credits > 0);
        }
        let Some(channel) = source.channel else { return };
        source.last = channel;
        if source.outputs[channel].credits == 0 {
            return;
        }
        let flit = Flit { packet, number: source.sent };
        source.sent += 1;
        let is_tail = source.sent == FLITS;
        Self::spend(&mut source.outputs[channel], is_tail, tail_credit);
        if is_tail {
            (source.sent, source.channel) = (0, None);
            source.queue.pop_front();
        }
        self.after(cycle + 2, Event::Flit { router: node, port: LOCAL, channel, flit });
    }

    fn route_all(&mut self, router: usize, cycle: u64, random: &mut impl rand::Rng) {
        for index in self.at(router, 0, 0)..self.at(router + 1, 0, 0) {
            if self.inputs[index].stage == Stage::New
                && let Some(&Flit { packet, .. }) = self.inputs[index].flits.front()
            {
                let port = self.route(router, packet, random);
                self.inputs[index].stage = Stage::Routed { port, since: cycle };
            }
        }
    }

    /// The output channels, of those of the router, that an input channel waits for.
    fn wanted(&self, router: usize, input: usize, cycle: u64) -> Vec<usize> {
        let input = &self.inputs[self.at(router, 0, input)];
        let Stage::Routed { port, since } = input.stage else { return Vec::new() };
        if since == cycle {
            return Vec::new();
        }
        let of_class = if port == LOCAL {
            0..self.channels
        } else {
            let (_, _, class) = self.packets[input.flits[0].packet].heading.expect("it has turned into an axis");
            let half = self.channels / 2;
            if class == 0 { 0..half } else { half..self.channels }
        };
        let numbers = of_class.map(|channel| port * self.channels + channel);
        numbers.filter(|&number| !self.outputs[self.at(router, 0, number)].is_taken).collect()
    }

    fn allocate_channels(&mut self, router: usize, cycle: u64) {
        let count = PORTS * self.channels;
        let wanted: Vec<Vec<usize>> = (0..count).map(|input| self.wanted(router, input, cycle)).collect();
        let first = self.at(router, 0, 0);
        let [of_inputs, of_outputs, ..] = &mut self.pointers;
        let range = first..first + count;
        for (input, output) in matching(&wanted, &mut of_inputs[range.clone()], &mut of_outputs[range]) {
            let (port, channel) = (output / self.channels, output % self.channels);
            self.outputs[first + output].is_taken = true;
            self.inputs[first + input].stage = Stage::Allocated { port, channel, since: cycle };
        }
    }

    fn allocate_switch(&mut self, router: usize, cycle: u64) {
        let mut bids = vec![vec![None; PORTS]; PORTS];
        for (input_port, bids) in bids.iter_mut().enumerate() {
            let preferred = self.pointers[4][router * PORTS + input_port];
            for step in 0..self.channels {
                let number = (preferred + step) % self.channels;
                let input = &self.inputs[self.at(router, input_port, number)];
                let Stage::Allocated { port, channel, since } = input.stage else { continue };
                let has_credit = self.outputs[self.at(router, port, channel)].credits > 0;
                if since < cycle && has_credit && !input.flits.is_empty() && bids[port].is_none() {
                    bids[port] = Some(number);
                }
            }
        }
        let wanted: Vec<Vec<usize>> =
            bids.iter().map(|bids| (0..PORTS).filter(|&port| bids[port].is_some()).collect()).collect();
        let range = router * PORTS..(router + 1) * PORTS;
        let [_, _, of_inputs, of_outputs, _] = &mut self.pointers;
        for (input_port, port) in matching(&wanted, &mut of_inputs[range.clone()], &mut of_outputs[range.clone()]) {
            let number = bids[input_port][port].expect("it has bid");
            self.pointers[4][router * PORTS + input_port] = (number + 1) % self.channels;
            self.leave(router, input_port, number, cycle);
        }
    }

    fn leave(&mut self, router: usize, input_port: usize, number: usize, cycle: u64) {
        let from = self.at(router, input_port, number);
        let Stage::Allocated { port, channel, .. } = self.inputs[from].stage else { unreachable!("it has bid") };
        let flit = self.inputs[from].flits.pop_front().expect("it has bid");
        let is_tail = flit.number + 1 == FLITS;
        if is_tail {
            self.inputs[from].stage = Stage::New;
        }
        let output = self.at(router, port, channel);
        Self::spend(&mut self.outputs[output], is_tail, self.tail_credit);
        if input_port == LOCAL {
            self.after(cycle + 2, Event::CreditOfSource { node: router, channel: number });
        } else {
            let (before, its_port) = Self::neighbour(router, input_port);
            self.after(cycle + 2 + CREDIT_DELAY, Event::Credit { router: before, port: its_port, channel: number });
        }
        if port == LOCAL {
            self.after(cycle + 3, Event::Received { flit });
            self.after(cycle + 5 + CREDIT_DELAY, Event::Credit { router, port, channel });
        } else {
            let (next, its_port) = Self::neighbour(router, port);
            self.after(cycle + 3, Event::Flit { router: next, port: its_port, channel, flit });
        }
    }
}

/// One iteration of iSLIP: outputs grant, inputs accept, each the first from its pointer on, and pointers move on past what
/// was accepted.
fn matching(wanted: &[Vec<usize>], of_inputs: &mut [usize], of_outputs: &mut [usize]) -> Vec<(usize, usize)> {
    let (inputs, outputs) = (of_inputs.len(), of_outputs.len());
    let mut granted = vec![Vec::new(); inputs];
    let mut asked: Vec<usize> = wanted.concat();
    asked.sort_unstable();
    asked.dedup();
    for output in asked {
        let mut from_pointer = (0..inputs).map(|step| (of_outputs[output] + step) % inputs);
        if let Some(input) = from_pointer.find(|&input| wanted[input].contains(&output)) {
            granted[input].push(output);
        }
    }
    let mut matched = Vec::new();
    for input in 0..inputs {
        let mut from_pointer = (0..outputs).map(|step| (of_inputs[input] + step) % outputs);
        if let Some(output) = from_pointer.find(|output| granted[input].contains(output)) {
            (of_inputs[input], of_outputs[output]) = ((output + 1) % outputs, (input + 1) % inputs);
            matched.push((input, output));
        }
    }
    matched
}

/// Mean latency and accepted load by the plain routers.
fn plain(channels: usize, buffer: usize, tail_credit: bool, load: f64, (warmup, cycles): (u64, u64)) -> (f64, f64) {
    let mut torus = Torus::new(channels, buffer, tail_credit);
    let mut random = generator(2026, channels as u64);
    let mut before = 0;
    for cycle in 0..warmup + cycles {
        if cycle == warmup {
            before = torus.flits_received;
        }
        torus.step(cycle, load, &mut random);
    }
    let accepted = (torus.flits_received - before) as f64 / (NODES as u64 * cycles) as f64;
    for cycle in warmup + cycles..warmup + cycles + 1000 {
        torus.step(cycle, load, &mut random);
    }
    let counted = torus.received.iter().filter(|(created, _)| (warmup..warmup + cycles).contains(created));
    let (sum, count) = counted.fold((0, 0), |(sum, count), &(_, latency)| (sum + latency, count + 1));
    (sum as f64 / f64::from(count), accepted)
}

fn ours(channels: usize, buffer: usize, tail_credit: bool, load: f64, (warmup, cycles): (u64, u64)) -> (f64, f64) {
    let topology = Topology::Torus { extents: vec![SIDE, SIDE] };
    let traffic = Traffic::new(Pattern::Uniform, &topology).unwrap();
    let options = Options {
        channels,
        buffer,
        tail_credit,
        credit_delay: CREDIT_DELAY as u32,
        algorithm: Algorithm::Deterministic,
        packet: FLITS,
        load,
        seed: 1,
    };
    let mut network = Simulation::new(&topology, traffic, options).unwrap();
    let measured = measure(&mut network, Plan { warmup, cycles }, &Interrupt::NEVER).unwrap();
    (measured.latency, measured.accepted)
}

/// Channels and their buffers, whether a channel is kept until its tail's credit is back, and loads below saturation.
const ROUTERS: [(usize, usize, bool, &[f64]); 4] =
    [(2, 4, true, &[0.08]), (2, 4, false, &[0.1, 0.18]), (4, 8, true, &[0.15, 0.25]), (4, 8, false, &[0.2, 0.3])];

#[test]
fn latencies_below_saturation_are_those_of_plain_routers() {
    for (channels, buffer, tail_credit, loads) in ROUTERS {
        for &load in loads {
            let run = (1000, 5000);
            let ((expected, _), (latency, _)) =
                (plain(channels, buffer, tail_credit, load, run), ours(channels, buffer, tail_credit, load, run));
            println!("{channels} {buffer} {tail_credit} {load}: {latency:.2}, plain {expected:.2}");
            assert!((latency / expected - 1.0).abs() < 0.03, "{channels} x {buffer} {load}: {latency} {expected}");
        }
    }
}

#[test]
fn plain_routers_are_saturated_at_the_same_load() {
    for (channels, buffer, tail_credit, _) in ROUTERS {
        let run = (2000, 4000);
        let ((_, expected), (_, accepted)) =
            (plain(channels, buffer, tail_credit, 0.9, run), ours(channels, buffer, tail_credit, 0.9, run));
        println!("{channels} {buffer} {tail_credit}: {accepted:.4}, plain {expected:.4}");
        assert!((accepted / expected - 1.0).abs() < 0.03, "{channels} x {buffer}: {accepted} {expected}");
    }
}
