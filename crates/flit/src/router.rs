//! One cycle of one router: channels and switch are allocated from the state before the cycle, then routes are computed.

use crate::allocation::{Bits, after, first_from, islip};
use crate::simulation::{Flit, NOBODY, OF_CREDIT, Simulation, TAIL, TO_NEXT, slot};

impl Simulation {
    #[inline]
    pub(crate) fn run(&mut self, router: usize) {
        let state = self.routers[router];
        let (bidding, waiting) = (state.ready & state.credited, state.waiting);
        if waiting != 0 && state.retry {
            self.allocate_channels(router, waiting);
        }
        if state.routing != 0 {
            self.route(router, state.routing);
        }
        if bidding != 0 {
            self.allocate_switch(router, bidding);
        }
    }

    fn allocate_channels(&mut self, router: usize, waiting: u64) {
        let (base, free) = (router << self.shift, !self.routers[router].busy);
        let range = base..base + self.width;
        let [of_input, of_output] = &mut self.channel_pointers;
        self.routers[router].retry = false;
        if waiting.is_power_of_two() {
            let input = waiting.trailing_zeros() as usize;
            let wanted = self.inputs[base + input].wanted & free;
            if wanted != 0 {
                let output = first_from(wanted, of_input[base + input]);
                of_input[base + input] = after(output, self.width);
                of_output[base + output] = after(input, self.width);
                self.own(router, input, output);
            }
            return;
        }
        for input in Bits(waiting) {
            self.requests[input] = self.inputs[base + input].wanted & free;
        }
        let pointers = (&mut of_input[range.clone()], &mut of_output[range]);
        let mut matched = std::mem::take(&mut self.matched);
        islip(waiting, &self.requests, &mut self.granted, pointers, &mut matched);
        Bits(waiting).for_each(|input| self.requests[input] = 0);
        // Who was refused may have a chance still.
        self.routers[router].retry = !matched.is_empty();
        for (input, output) in matched.drain(..) {
            self.own(router, input, output);
        }
        self.matched = matched;
    }

    /// Gives an output channel to an input channel.
    fn own(&mut self, router: usize, input: usize, output: usize) {
        let base = router << self.shift;
        self.inputs[base + input].output = output as u8;
        self.owners[base + output] = input as u8;
        let credited = u64::from(self.credits[base + output] > 0);
        let state = &mut self.routers[router];
        state.waiting &= !(1 << input);
        state.ready |= 1 << input;
        state.credited |= credited << input;
        state.busy |= 1 << output;
    }

    fn route(&mut self, router: usize, heads: u64) {
        for channel in Bits(heads) {
            let index = router << self.shift | channel;
            let flit = self.front(index);
            let packet = &mut self.packets.packets[(flit >> 2) as usize];
            let escaped = self.escaped[router] >> channel & 1 == 1;
            let destination = packet.destination as usize;
            self.inputs[index].wanted =
                self.routing.wanted(router, destination, escaped, &mut packet.heading, &mut self.random);
        }
        let state = &mut self.routers[router];
        state.routing &= !heads;
        state.waiting |= heads;
        state.retry = true;
    }

    /// The first flit of an input channel.
    #[inline]
    fn front(&self, index: usize) -> Flit {
        self.buffers[index << self.buffer_shift | usize::from(self.inputs[index].head)]
    }

    fn allocate_switch(&mut self, router: usize, bidding: u64) {
        if bidding.is_power_of_two() {
            self.grant(router, bidding.trailing_zeros() as usize);
            return;
        }
        let mut requesters = 0;
        for channel in Bits(bidding) {
            let output = self.inputs[router << self.shift | channel].output;
            let (port, output): (usize, usize) =
                (self.port_of[channel].into(), self.port_of[usize::from(output)].into());
            requesters |= 1 << port;
            self.bid(router, channel, port, output);
        }
        let range = router * self.ports..(router + 1) * self.ports;
        let [of_input, of_output] = &mut self.switch_pointers;
        let pointers = (&mut of_input[range.clone()], &mut of_output[range]);
        let mut matched = std::mem::take(&mut self.matched);
        islip(requesters, &self.requests, &mut self.granted, pointers, &mut matched);
        Bits(requesters).for_each(|port| self.requests[port] = 0);
        for (port, output) in matched.drain(..) {
            self.leave(router, self.bids[port * self.ports + output].into());
        }
        self.matched = matched;
    }

    /// The only one that bids has the switch, as iSLIP would decide.
    fn grant(&mut self, router: usize, channel: usize) {
        let output = self.inputs[router << self.shift | channel].output;
        let (port, output) = (self.port_of[channel].into(), self.port_of[usize::from(output)].into());
        let first = router * self.ports;
        self.switch_pointers[0][first + port] = after(output, self.ports);
        self.switch_pointers[1][first + output] = after(port, self.ports);
        self.leave(router, channel);
    }

    /// Of the channels of a port that bid for the same output, one does so for the port.
    fn bid(&mut self, router: usize, channel: usize, port: usize, output: usize) {
        let bid = port * self.ports + output;
        let is_second = self.requests[port] >> output & 1 == 1;
        if !is_second || self.is_preferred(router, port, channel, self.bids[bid].into()) {
            self.bids[bid] = channel as u8;
        }
        self.requests[port] |= 1 << output;
    }

    /// Whether of two channels of an input port the first is nearer behind the one that was granted last.
    fn is_preferred(&self, router: usize, port: usize, channel: usize, other: usize) -> bool {
        let (channels, first) = (self.options.channels, port * self.options.channels);
        let offset = usize::from(self.preferred[router * self.ports + port]);
        let behind = |channel: usize| {
            let behind = channel - first + channels - offset;
            if behind < channels { behind } else { behind - channels }
        };
        behind(channel) < behind(other)
    }

    /// The first flit of an input channel leaves: its credit goes back, and a tail gives the output channel free.
    fn leave(&mut self, router: usize, channel: usize) {
        let index = router << self.shift | channel;
        let flit = self.front(index);
        let mask = (1_u8 << self.buffer_shift).wrapping_sub(1);
        let input = &mut self.inputs[index];
        input.head = input.head.wrapping_add(1) & mask;
        input.length -= 1;
        let (is_empty, output) = (input.length == 0, usize::from(input.output));
        let port = usize::from(self.port_of[channel]);
        let next = channel - port * self.options.channels;
        self.preferred[router * self.ports + port] = after(next, self.options.channels);
        let to = router << self.shift | output;
        self.credits[to] -= 1;
        let state = &mut self.routers[router];
        if self.credits[to] == 0 {
            state.credited &= !(1 << channel);
        }
        if flit & TAIL != 0 {
            self.owners[to] = NOBODY;
            state.credited &= !(1 << channel);
            state.ready &= !(1 << channel);
            state.routing |= u64::from(!is_empty) << channel;
            if self.options.tail_credit {
                state.tail_sent |= 1 << output;
            } else {
                state.busy &= !(1 << output);
                state.retry = true;
            }
        } else if is_empty {
            state.ready &= !(1 << channel);
        }
        self.pass_on(index, to, flit);
    }

    /// The flit to what the output channel leads to, and the credit to where it came from.
    fn pass_on(&mut self, from: usize, to: usize, flit: Flit) {
        let (total, delay) = (self.credits.len() as u32, u64::from(self.options.credit_delay));
        let (upstream, downstream) = (self.upstream[from], self.downstream[to]);
        let credit_delay = if upstream < total { delay } else { 0 };
        self.events.credits[slot(self.cycle + OF_CREDIT + credit_delay)].push(upstream);
        if downstream < total {
            self.link_hops += 1;
            self.events.arriving[slot(self.cycle + TO_NEXT)].push((downstream, flit));
        } else {
            self.events.ejecting[slot(self.cycle + TO_NEXT)].push(flit);
            self.events.credits[slot(self.cycle + TO_NEXT + OF_CREDIT + delay)].push(to as u32);
        }
    }
}
