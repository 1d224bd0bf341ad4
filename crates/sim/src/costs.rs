//! A machine's message costs, in picoseconds.

use weft_base::Picos;
use weft_machine::{Completion, Machine, Protocol};
use weft_network::LinkCost;

/// The costs of messages of one length.
#[derive(Clone, Copy, Debug)]
pub struct MessageCost {
    /// Processor time of the sender.
    pub send: Picos,
    /// Processor time of the receiver.
    pub receive: Picos,
    /// On each link.
    pub link: LinkCost,
    pub completion: Completion,
}

/// The pieces of a machine's protocols and its packets.
#[derive(Clone, Debug)]
pub struct Costs {
    protocols: Vec<Protocol>,
    packets: Option<Packets>,
    /// The length asked for last and its cost: programs repeat lengths.
    last: (u64, MessageCost),
}

#[derive(Clone, Copy, Debug)]
struct Packets {
    bytes: u64,
    minimum: u64,
    acknowledged: bool,
}

impl Costs {
    /// The message costs of `machine`.
    pub fn new(machine: &Machine) -> Costs {
        let protocols = machine.protocols.clone();
        let packets = machine.packets.as_ref().map(|packets| Packets {
            bytes: packets.bytes,
            minimum: packets.minimum,
            acknowledged: packets.acknowledged,
        });
        let last = (0, cost_by(machine.protocol(0), 0));
        Costs { protocols, packets, last }
    }

    /// What a message of `bytes` bytes costs.
    #[inline]
    pub fn message(&mut self, bytes: u64) -> MessageCost {
        if self.last.0 != bytes {
            self.last = (bytes, self.compute(bytes));
        }
        self.last.1
    }

    fn compute(&self, bytes: u64) -> MessageCost {
        let limit = |protocol: &&Protocol| protocol.up_to.is_none_or(|limit| bytes <= limit);
        let protocol = self.protocols.iter().find(limit).expect("the last protocol has no limit");
        cost_by(protocol, bytes)
    }

    /// How many packets a message of `bytes` bytes is cut into.
    pub fn packets(&self, bytes: u64) -> u64 {
        self.packets.map_or(1, |packets| bytes.div_ceil(packets.bytes).max(1))
    }

    /// The length of the longest message that is cut into at most so many packets, in bytes.
    pub fn longest(&self, packets: u64) -> u64 {
        self.packets.map_or(u64::MAX, |each| each.bytes.saturating_mul(packets))
    }

    /// The length of the longest message whose send is complete without its receive, in bytes: all longer ones wait.
    pub fn longest_eager(&self) -> u64 {
        let eager = |protocol: &&Protocol| protocol.completion != Completion::Rendezvous;
        self.protocols.iter().rfind(eager).map_or(0, |protocol| protocol.up_to.unwrap_or(u64::MAX))
    }

    /// Bytes on the wire of packet number `index` of a message of `bytes` bytes, or `None` when there is no such packet.
    pub fn packet(&self, bytes: u64, index: u64) -> Option<u64> {
        let Some(packets) = self.packets else {
            return (index == 0).then_some(bytes);
        };
        let sent = index.saturating_mul(packets.bytes);
        if index > 0 && sent >= bytes {
            return None;
        }
        Some((bytes - sent).min(packets.bytes).max(packets.minimum))
    }

    /// Whether a packet waits until the one before has been received.
    pub fn acknowledged(&self) -> bool {
        self.packets.is_some_and(|packets| packets.acknowledged)
    }
}

fn cost_by(protocol: &Protocol, bytes: u64) -> MessageCost {
    let time = |startup: f64, byte_time: f64| Picos::from_seconds(startup + byte_time * bytes as f64);
    let hop = Picos::from_seconds(protocol.hop_time);
    MessageCost {
        send: time(protocol.send_overhead, protocol.send_byte_time),
        receive: time(protocol.receive_overhead, protocol.receive_byte_time),
        link: LinkCost { hop, transmission: time(0.0, protocol.byte_time), bytes },
        completion: protocol.completion,
    }
}
