//! Packets that are being filled: only those for PEs for which there is something, however many PEs there are.

use rustc_hash::FxHashMap;

/// So many packets are looked through one by one; more are found by a table.
const FEW: usize = 8;
/// How many packets' memory is kept for others.
const KEPT: usize = 8;

/// Packets for other PEs, one for each.
#[derive(Default)]
pub struct Outbox {
    packets: Vec<(usize, Vec<u8>)>,
    /// Where the packet of each PE is, once there are more than a few.
    slots: FxHashMap<usize, usize>,
    /// Empty, for their memory.
    spare: Vec<Vec<u8>>,
}

impl Outbox {
    /// The place of the packet for a PE, an empty one if there was none.
    #[inline]
    pub fn slot(&mut self, to: usize) -> usize {
        // Mostly the one before.
        if let Some((last, _)) = self.packets.last()
            && *last == to
        {
            return self.packets.len() - 1;
        }
        self.other_slot(to)
    }

    fn other_slot(&mut self, to: usize) -> usize {
        let known = if self.packets.len() <= FEW {
            self.packets.iter().position(|(pe, _)| *pe == to)
        } else {
            if self.slots.is_empty() {
                self.slots.extend(self.packets.iter().enumerate().map(|(slot, (pe, _))| (*pe, slot)));
            }
            self.slots.get(&to).copied()
        };
        known.unwrap_or_else(|| {
            let slot = self.packets.len();
            let packet = self.spare.pop().unwrap_or_default();
            self.packets.push((to, packet));
            if !self.slots.is_empty() {
                self.slots.insert(to, slot);
            }
            slot
        })
    }

    /// The packet at a place.
    #[inline]
    pub fn packet(&mut self, slot: usize) -> &mut Vec<u8> {
        &mut self.packets[slot].1
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> usize {
        self.packets.iter().map(|(_, packet)| packet.len()).sum()
    }

    /// All packets, by PE, behind what is in `packets`; none is left.
    pub fn take_into(&mut self, packets: &mut Vec<(usize, Vec<u8>)>) {
        self.slots.clear();
        self.packets.sort_unstable_by_key(|(pe, _)| *pe);
        packets.append(&mut self.packets);
    }

    /// Keeps the memory of a packet that is no longer needed.
    pub fn keep(&mut self, mut packet: Vec<u8>) {
        if self.spare.len() < KEPT {
            packet.clear();
            self.spare.push(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn every_pe_has_one_packet(rounds in prop::collection::vec(prop::collection::vec((0usize..40, any::<u8>()), 0..120), 1..4)) {
            let mut outbox = Outbox::default();
            for round in rounds {
                let mut wanted: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
                for &(to, byte) in &round {
                    wanted.entry(to).or_default().push(byte);
                    let slot = outbox.slot(to);
                    outbox.packet(slot).push(byte);
                }
                prop_assert_eq!(outbox.bytes(), round.len());
                let mut packets = Vec::new();
                outbox.take_into(&mut packets);
                prop_assert_eq!(&packets, &wanted.into_iter().collect::<Vec<_>>());
                prop_assert_eq!(outbox.bytes(), 0);
                packets.into_iter().for_each(|(_, packet)| outbox.keep(packet));
            }
        }
    }
}
