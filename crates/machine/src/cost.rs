//! What messages cost on an idle machine, in closed form.

use crate::description::{Completion, Machine, Protocol, Switching, line_time};

impl Machine {
    /// Seconds from the call of the send to the end of the receive of a message of `bytes` bytes over `hops` links,
    /// nothing else being under way and the receive being posted.
    ///
    /// The formula of [`Machine`] holds for a message of one packet, padded to the smallest packet where there is one.
    /// Of several packets, acknowledged ones cost what as many messages cost. Others pay the overheads once; with
    /// store-and-forward switching they follow each other over the links, so that `k` packets of time `t` a link and a
    /// last one of time `u` take `(k + hops - 1) t + u`, and otherwise they cross the links as one train.
    ///
    /// A rendezvous takes [`Machine::handshake_time`] more.
    ///
    /// No hops is a message of a node to itself: [`Machine::self_time`].
    ///
    /// # Examples
    /// ```
    /// let machine = weft_machine::find("ipsc860").unwrap();
    /// // With circuit switching each further link costs the time of the header alone, whatever the length.
    /// let further = machine.message_time(8192, 3) - machine.message_time(8192, 2);
    /// assert!((further - machine.protocol(8192).hop_time).abs() < 1e-12);
    /// // A message of a node to itself crosses no link.
    /// assert_eq!(machine.message_time(8192, 0), machine.self_time(8192));
    /// ```
    pub fn message_time(&self, bytes: u64, hops: usize) -> f64 {
        if hops == 0 {
            return self.self_time(bytes);
        }
        self.handshake_time(bytes, hops) + self.transfer_time(bytes, hops)
    }

    /// Seconds for which a message of `bytes` bytes waits until its request has crossed `hops` links and the clearance
    /// has come back: twice the headers' time if it is sent by rendezvous, 0 otherwise. Neither has bytes that count.
    pub fn handshake_time(&self, bytes: u64, hops: usize) -> f64 {
        let protocol = self.protocol(bytes);
        match protocol.completion {
            Completion::Rendezvous => 2.0 * hops as f64 * protocol.hop_time,
            Completion::Buffered | Completion::Injected => 0.0,
        }
    }

    /// [`Machine::message_time`] over one link or more without the handshake of a rendezvous: what a message takes that
    /// asks for no receive, such as one to the memory of another rank.
    pub fn transfer_time(&self, bytes: u64, hops: usize) -> f64 {
        let protocol = self.protocol(bytes);
        let Some(packets) = &self.packets else {
            return overhead(protocol, bytes) + self.path_time(protocol, bytes, hops);
        };
        let full = bytes.saturating_sub(1) / packets.bytes;
        let last = (bytes - full * packets.bytes).max(packets.minimum);
        if packets.acknowledged {
            let packet_time = |bytes| overhead(protocol, bytes) + self.path_time(protocol, bytes, hops);
            return full as f64 * packet_time(packets.bytes) + packet_time(last);
        }
        let sent = full * packets.bytes + last;
        let path = match self.switching {
            Switching::StoreAndForward if full > 0 => {
                let link_time = |bytes: u64| protocol.hop_time + protocol.byte_time * bytes as f64;
                (full as f64 + hops as f64 - 1.0) * link_time(packets.bytes) + link_time(last)
            }
            _ => self.path_time(protocol, sent, hops),
        };
        overhead(protocol, sent) + path
    }

    /// Seconds of a message of `bytes` bytes from a node to itself.
    pub fn self_time(&self, bytes: u64) -> f64 {
        let own = &self.self_message;
        line_time(own.startup, own.byte_time, own.short, bytes)
    }

    /// Seconds of a message of `bytes` bytes between node 0 and the host, if the machine has one.
    pub fn host_time(&self, bytes: u64) -> Option<f64> {
        self.host.as_ref().map(|host| line_time(host.startup, host.byte_time, host.short, bytes))
    }

    /// Seconds of one packet of `bytes` bytes on `hops` links.
    fn path_time(&self, protocol: &Protocol, bytes: u64, hops: usize) -> f64 {
        let (hops, transmission) = (hops as f64, protocol.byte_time * bytes as f64);
        match self.switching {
            Switching::StoreAndForward => hops * (protocol.hop_time + transmission),
            Switching::Circuit | Switching::Wormhole | Switching::CutThrough | Switching::Flit => {
                hops * protocol.hop_time + transmission
            }
        }
    }
}

/// Seconds of both processors.
fn overhead(protocol: &Protocol, bytes: u64) -> f64 {
    protocol.send_overhead
        + protocol.receive_overhead
        + (protocol.send_byte_time + protocol.receive_byte_time) * bytes as f64
}
