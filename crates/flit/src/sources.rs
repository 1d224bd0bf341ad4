//! Nodes that make packets at random and hand them to the network flit by flit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// None of the virtual channels.
const NONE: u8 = u8::MAX;

/// One node: what it sends, and what it knows of the buffers of its router's input port.
#[derive(Clone, Debug)]
struct Source {
    /// When its next packet is created.
    next: u64,
    packet: u32,
    /// Flits of the packet that are still here.
    left: u32,
    channel: u8,
    last: u8,
    /// Channels that belong to a packet, and those of them whose tail is on its way.
    busy: u64,
    tail_sent: u64,
}

/// All nodes. Each makes a packet in a cycle with the same probability (Bernoulli), in a queue without end.
#[derive(Clone, Debug)]
pub struct Sources {
    sources: Vec<Source>,
    /// Credits of each channel, node by node.
    credits: Vec<u8>,
    channels: usize,
    buffer: u8,
    tail_credit: bool,
    /// Nodes with something to send, and the others by when they will have.
    active: Vec<u32>,
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    /// ln(1 - p): intervals are drawn at once, not a cycle at a time.
    log_never: f64,
}

/// A flit that a node hands over.
pub struct Injected {
    pub node: usize,
    pub channel: usize,
    pub packet: u32,
    pub head: bool,
    pub tail: bool,
}

impl Sources {
    /// Nodes that make a packet in a cycle with the given probability.
    pub fn new(
        nodes: usize,
        channels: usize,
        buffer: u8,
        tail_credit: bool,
        probability: f64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Sources {
        let source = Source { next: 0, packet: 0, left: 0, channel: NONE, last: 0, busy: 0, tail_sent: 0 };
        let mut sources = Sources {
            sources: vec![source; nodes],
            credits: vec![buffer; nodes * channels],
            channels,
            buffer,
            tail_credit,
            active: Vec::new(),
            waiting: BinaryHeap::new(),
            log_never: (-probability).ln_1p(),
        };
        for node in 0..nodes {
            let next = sources.interval(random) - 1;
            sources.sources[node].next = next;
            sources.waiting.push(Reverse((next, node as u32)));
        }
        sources
    }

    /// Cycles from one packet to the next: 1 and more, geometrically distributed.
    fn interval(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let uniform = 1.0 - random.random::<f64>();
        // A conversion to integers saturates: a load of nothing waits for ever.
        1_u64.saturating_add((uniform.ln() / self.log_never) as u64)
    }

    /// Whether every packet that was created before `cycle` has left its source's queue.
    pub fn are_past(&self, cycle: u64) -> bool {
        self.sources.iter().all(|source| source.next >= cycle)
    }

    /// A buffer of a router is free again.
    #[inline]
    pub fn credit(&mut self, index: usize) {
        self.credits[index] += 1;
        if self.tail_credit && self.credits[index] == self.buffer {
            let (node, channel) = (index / self.channels, index % self.channels);
            let source = &mut self.sources[node];
            let done = source.tail_sent & 1 << channel;
            source.busy &= !done;
            source.tail_sent &= !done;
        }
    }

    /// What every node does in a cycle: `make` is called for a packet of a node that was created at a cycle, `inject` for each
    /// flit that leaves.
    pub fn step(
        &mut self,
        cycle: u64,
        length: u32,
        random: &mut Xoshiro256PlusPlus,
        mut make: impl FnMut(usize, u64, &mut Xoshiro256PlusPlus) -> u32,
        mut inject: impl FnMut(Injected),
    ) {
        while let Some(&Reverse((next, node))) = self.waiting.peek()
            && next <= cycle
        {
            self.waiting.pop();
            self.active.push(node);
        }
        let mut index = 0;
        while index < self.active.len() {
            let node = self.active[index] as usize;
            if self.sources[node].left == 0 {
                let created = self.sources[node].next;
                let packet = make(node, created, random);
                let next = created.saturating_add(self.interval(random));
                let source = &mut self.sources[node];
                (source.packet, source.left, source.channel, source.next) = (packet, length, NONE, next);
            }
            self.send(node, length, &mut inject);
            let source = &self.sources[node];
            if source.left == 0 && source.next > cycle + 1 {
                self.waiting.push(Reverse((source.next, node as u32)));
                self.active.swap_remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn send(&mut self, node: usize, length: u32, inject: &mut impl FnMut(Injected)) {
        let (source, first) = (&mut self.sources[node], node * self.channels);
        let head = source.channel == NONE;
        if head {
            // The next free channel behind the one that was used last.
            let free = (1..=self.channels)
                .map(|step| (usize::from(source.last) + step) % self.channels)
                .find(|&channel| source.busy >> channel & 1 == 0 && self.credits[first + channel] > 0);
            let Some(channel) = free else { return };
            (source.channel, source.last) = (channel as u8, channel as u8);
            source.busy |= 1 << channel;
        }
        let channel = usize::from(source.channel);
        if self.credits[first + channel] == 0 {
            return;
        }
        self.credits[first + channel] -= 1;
        source.left -= 1;
        let tail = source.left == 0;
        if tail && self.tail_credit {
            source.tail_sent |= 1 << channel;
        } else if tail {
            source.busy &= !(1 << channel);
        }
        debug_assert!(head == (source.left + 1 == length));
        inject(Injected { node, channel, packet: source.packet, head, tail });
    }
}
