//! Store-and-forward: packets that nodes and switches pass on.

use super::*;

impl Core {
    pub(super) fn enter_packets(&mut self, now: Picos, key: MessageKey) {
        let bytes = self.messages[key as usize].bytes;
        let count = self.costs.packets(bytes) as u32;
        self.messages[key as usize].packets_left = count;
        let at_once = if self.costs.acknowledged() { 1 } else { count };
        for index in 0..at_once {
            self.enter_packet(now, key, index);
        }
    }

    pub(super) fn enter_packet(&mut self, ready: Picos, key: MessageKey, index: u32) {
        let message = &self.messages[key as usize];
        let bytes = self.costs.packet(message.bytes, u64::from(index)).expect("the message has this packet");
        let at = Vertex::Node(self.placement.node(message.from as usize));
        let packet = Packet { message: key, index, at, cost: self.costs.message(bytes), bytes };
        let packet = self.packets.insert(packet) as u32;
        self.queue.push(ready, Event::Packet(packet));
    }

    /// A packet is whole at a node or a switch: at its destination it is done, elsewhere it is passed on.
    pub(super) fn forward(&mut self, now: Picos, key: u32) {
        let packet = self.packets[key as usize];
        let message = &self.messages[packet.message as usize];
        let ends = (self.placement.node(message.from as usize), self.placement.node(message.to as usize));
        let at = packet.at;
        if at == Vertex::Node(ends.1) {
            self.packets.remove(key as usize);
            self.packet_arrived(now, packet);
            return;
        }
        let is_source = at == Vertex::Node(ends.0);
        let ready = match at {
            Vertex::Node(node) if !is_source => self.route_by_processor(now, node, packet.bytes),
            _ => now,
        };
        let (next, passage) = self.network.forward(ready, at, ends, packet.cost.link);
        self.packets[key as usize].at = next;
        self.queue.push(passage.arrived, Event::Packet(key));
        let last = self.messages[packet.message as usize].packets_left == 1 || !self.costs.acknowledged();
        if is_source
            && last
            && let Some(send) = self.messages[packet.message as usize].send.take()
        {
            self.complete_send(send, passage.left);
        }
    }

    /// The processor of a node on the way passes a packet on, one at a time; that time is lost to the node's program.
    pub(super) fn route_by_processor(&mut self, now: Picos, node: usize, bytes: u64) -> Picos {
        let cost = &self.machine.node;
        let taken = Picos::from_seconds(cost.forward_overhead + cost.forward_byte_time * bytes as f64);
        let forwarding = &mut self.forwarding[node];
        let start = now.max(forwarding.busy_until);
        forwarding.busy_until = start + taken;
        forwarding.stolen += taken;
        start
    }

    pub(super) fn packet_arrived(&mut self, now: Picos, packet: Packet) {
        let key = packet.message;
        let message = &mut self.messages[key as usize];
        message.packets_left -= 1;
        if message.packets_left > 0 {
            if self.costs.acknowledged() {
                let next = packet.index + 1;
                let bytes = self.costs.packet(message.bytes, u64::from(next)).expect("a packet is left");
                let send = self.costs.message(bytes).send;
                self.enter_packet(now + packet.cost.receive + send, key, next);
            }
            return;
        }
        if self.costs.acknowledged() {
            message.receive_time = packet.cost.receive;
        }
        let (to, bytes) = (message.to, message.bytes);
        self.arrive(key, now, now);
        self.record_flight(key, now, now, bytes);
        if self.ranks[to as usize].wildcards > 0 {
            self.settle(now, to);
        }
        self.wake_probe(to, now);
    }

    /// Processor time that routing has taken from the program of `rank`'s node so far; `None` where hardware routes.
    pub fn stolen(&self, rank: u32) -> Option<Picos> {
        let takes = self.machine.node.forward_overhead > 0.0 || self.machine.node.forward_byte_time > 0.0;
        if !takes || self.is_host(rank) {
            return None;
        }
        let node = self.placement.node(rank as usize);
        (node < self.forwarding.len()).then(|| self.forwarding[node].stolen)
    }
}
