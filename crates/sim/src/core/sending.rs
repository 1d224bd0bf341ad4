//! The way of a message from its sender into the network and out of it.

use super::*;

impl Core {
    /// Starts a send; returns the request to wait for, if the send is not complete already.
    pub fn send(
        &mut self,
        (from, to): (u32, u32),
        envelope: Envelope,
        to_in_group: u32,
        bytes: u64,
        data: Option<Box<Buffer>>,
    ) -> Option<SendKey> {
        let cost = self.message_cost(from, to, bytes);
        self.send_at_cost((from, to), envelope, to_in_group, bytes, data, cost)
    }

    /// As [`Core::send`], complete only when a receive has been found, whatever the machine does with such a length.
    pub fn send_synchronously(
        &mut self,
        (from, to): (u32, u32),
        envelope: Envelope,
        to_in_group: u32,
        bytes: u64,
        data: Option<Box<Buffer>>,
    ) -> Option<SendKey> {
        let cost = MessageCost { completion: Completion::Rendezvous, ..self.message_cost(from, to, bytes) };
        self.send_at_cost((from, to), envelope, to_in_group, bytes, data, cost)
    }

    #[inline(always)]
    fn send_at_cost(
        &mut self,
        (from, to): (u32, u32),
        envelope: Envelope,
        to_in_group: u32,
        bytes: u64,
        data: Option<Box<Buffer>>,
        cost: MessageCost,
    ) -> Option<SendKey> {
        let rank = &mut self.ranks[from as usize];
        let start = rank.clock;
        rank.clock += cost.send;
        let entering = rank.clock;
        let runs_ahead = rank.unentered >= RUN_AHEAD;
        rank.unentered += 1;
        let send = (cost.completion != Completion::Buffered || runs_ahead).then(|| {
            let complete = None;
            let send = Send {
                rank: from,
                to: to_in_group,
                tag: envelope.tag(),
                bytes,
                complete,
                awaited: false,
                dropped: false,
            };
            self.sends.insert(send) as SendKey
        });
        let message = Message {
            envelope,
            from,
            to,
            bytes,
            data,
            receive_time: cost.receive,
            completion: cost.completion,
            send: MaybeKey::from(send),
            receive: MaybeKey::NONE,
            visible: MaybeTime::NONE,
            arrived: MaybeTime::NONE,
            packets_left: 0,
        };
        let key = self.messages.insert(message) as MessageKey;
        self.queue.push(entering, Event::Enter(key));
        self.record(from, start, entering, TraceKind::Send { to, bytes });
        send
    }

    /// The costs of a message between two ranks: those of the network, of a copy within the node, or of the host's link.
    #[inline]
    pub(super) fn message_cost(&mut self, from: u32, to: u32, bytes: u64) -> MessageCost {
        if self.is_plain && from != to {
            return self.costs.message(bytes);
        }
        self.special_cost(from, to, bytes)
    }

    #[inline(never)]
    pub(super) fn special_cost(&mut self, from: u32, to: u32, bytes: u64) -> MessageCost {
        let mut cost = match self.costs.packet(bytes, 0) {
            Some(first) if self.costs.acknowledged() => self.costs.message(first),
            _ => self.costs.message(bytes),
        };
        if self.is_local(from, to) {
            cost.send = self.self_copy.time(bytes);
            cost.receive = Picos::ZERO;
            cost.completion = Completion::Buffered;
        } else if self.is_host(from) || self.is_host(to) {
            cost.send = Picos::ZERO;
            cost.receive = Picos::ZERO;
            cost.completion = Completion::Buffered;
        } else if !self.machine.degradation.is_none() {
            self.degrade(from, to, &mut cost);
        }
        cost
    }

    /// Both processors take longer by the noise of their pair, and by what each lacks of its speed.
    fn degrade(&self, from: u32, to: u32, cost: &mut MessageCost) {
        let degradation = &self.machine.degradation;
        let (from, to) = (self.placement.node(from as usize), self.placement.node(to as usize));
        let noise = degradation.noise_of(from, to);
        let slower = |time: Picos, node| Picos::from_seconds(time.seconds() * noise / degradation.of_node(node));
        cost.send = slower(cost.send, from);
        cost.receive = slower(cost.receive, to);
    }

    /// Whether a message stays within a node: a self-message, or one to another rank there.
    #[inline]
    pub(super) fn is_local(&self, from: u32, to: u32) -> bool {
        from == to || (self.placement.shares_nodes() && self.share_node(from, to))
    }

    fn share_node(&self, from: u32, to: u32) -> bool {
        let with_host = self.is_host(from) || self.is_host(to);
        !with_host && self.placement.node(from as usize) == self.placement.node(to as usize)
    }

    pub(super) fn is_host(&self, rank: u32) -> bool {
        self.placement.host_rank() == Some(rank as usize)
    }

    /// A message enters the network.
    pub(super) fn enter(&mut self, now: Picos, key: MessageKey) {
        self.entered += 1;
        let message = &self.messages[key as usize];
        let (from, to, completion, bytes) = (message.from, message.to, message.completion, message.bytes);
        prefetch(&self.ranks[to as usize]);
        self.ranks[from as usize].unentered -= 1;
        if self.is_plain && from != to && completion != Completion::Rendezvous {
            self.cross(now, key, (from, to), bytes);
        } else {
            self.enter_specially(now, key);
        }
        self.deliver(now, key);
    }

    /// The message crosses the network at once.
    #[inline]
    pub(super) fn cross(&mut self, now: Picos, key: MessageKey, (from, to): (u32, u32), bytes: u64) {
        let (from, to) = (self.placement.node(from as usize), self.placement.node(to as usize));
        let passage = self.network.pass(now, from, to, self.costs.message(bytes).link);
        self.arrive(key, passage.left, passage.arrived);
        self.record_flight(key, now, passage.arrived, bytes);
    }

    #[inline(never)]
    pub(super) fn enter_specially(&mut self, now: Picos, key: MessageKey) {
        let message = &self.messages[key as usize];
        let (from, to, completion, bytes) = (message.from, message.to, message.completion, message.bytes);
        let is_local = self.is_local(from, to);
        if is_local && completion == Completion::Rendezvous {
            self.messages[key as usize].visible = now.into();
        } else if is_local {
            self.arrive(key, now, now);
        } else if self.is_host(from) || self.is_host(to) {
            self.cross_to_host(now, key);
        } else if completion == Completion::Rendezvous {
            let (from, to) = (self.placement.node(from as usize), self.placement.node(to as usize));
            let visible = self.cross_uncontended(now, from, to, bytes);
            self.messages[key as usize].visible = visible.into();
        } else if self.network.switching() == Switching::StoreAndForward {
            self.enter_packets(now, key);
        } else {
            self.cross(now, key, (from, to), bytes);
        }
    }

    /// Requests and clearances of a rendezvous are too short to hold a link.
    pub(super) fn cross_uncontended(&mut self, now: Picos, from: usize, to: usize, bytes: u64) -> Picos {
        let hops = self.machine.topology.hops(from, to) as u64;
        now + self.costs.message(bytes).link.hop * hops
    }

    pub(super) fn clear(&mut self, now: Picos, key: MessageKey) {
        let message = &self.messages[key as usize];
        let (from, to) = (self.placement.node(message.from as usize), self.placement.node(message.to as usize));
        let bytes = message.bytes;
        let cleared = self.cross_uncontended(now, to, from, bytes);
        self.queue.push(cleared, Event::Transfer(key));
    }

    pub(super) fn transfer(&mut self, now: Picos, key: MessageKey) {
        let message = &self.messages[key as usize];
        let (from, to, bytes) = (message.from, message.to, message.bytes);
        if self.is_local(from, to) {
            self.arrive(key, now, now);
        } else if self.network.switching() == Switching::StoreAndForward {
            self.enter_packets(now, key);
        } else {
            self.cross(now, key, (from, to), bytes);
        }
    }

    /// The host's link is one resource, shared by both directions; nodes other than the one it is attached to reach it
    /// over the network, whose links are not held for that.
    pub(super) fn cross_to_host(&mut self, now: Picos, key: MessageKey) {
        let message = &self.messages[key as usize];
        let bytes = message.bytes;
        let node = self.placement.node(if self.is_host(message.from) { message.to } else { message.from } as usize);
        let hops = self.machine.topology.hops(node, self.placement.node(self.size() - 1)) as u64;
        let link = self.host.expect("a placement with a host was checked against the machine");
        let start = now.max(self.host_free);
        self.host_free = start + link.time(bytes);
        let arrived = self.host_free + self.costs.message(bytes).link.hop * hops;
        self.arrive(key, self.host_free, arrived);
        self.record_flight(key, now, arrived, bytes);
    }

    /// A message has left its sender at `left` and will be whole at its receiver at `arrived`.
    pub(super) fn arrive(&mut self, key: MessageKey, left: Picos, arrived: Picos) {
        let message = &mut self.messages[key as usize];
        message.arrived = arrived.into();
        if message.visible.get().is_none() {
            message.visible = arrived.into();
        }
        if let Some(send) = message.send.take() {
            self.complete_send(send, left);
        }
        let message = &self.messages[key as usize];
        if let Some(receive) = message.receive.get() {
            self.complete_receive(receive, key);
        }
    }

    pub(super) fn complete_send(&mut self, key: SendKey, left: Picos) {
        let send = &mut self.sends[key as usize];
        if send.dropped {
            self.sends.remove(key as usize);
            return;
        }
        send.complete = Some(left);
        let (rank, awaited) = (send.rank, send.awaited);
        if awaited {
            self.make_ready(rank);
        }
        self.notice(rank, left);
    }
}
