//! Goals that are thrown one after the other, by the same goal of the program to the same PE: what they have in common is
//! written and read once. The packets are the same as without.

use super::Pe;
use crate::distributed::message::{Kind, Malformed, Reader};
use crate::distributed::tables::WEIGHT;
use crate::distributed::value;
use crate::engine::Outgoing;
use crate::heap::Word;

/// Longest beginning of a message that is kept.
const LONGEST: usize = 32;

/// How a message begins: its kind, and what comes before the arguments of its goal.
#[derive(Clone, Copy)]
pub struct Beginning {
    bytes: [u8; LONGEST],
    /// Ones where a byte counts.
    counts: [u128; 2],
    length: usize,
}

impl Beginning {
    /// `None` for one that is too long.
    pub fn of(message: &[u8]) -> Option<Beginning> {
        let (mut bytes, mut counts) = ([0; LONGEST], [0; LONGEST]);
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        counts[..message.len()].fill(u8::MAX);
        Some(Beginning { bytes, counts: halves(&counts), length: message.len() })
    }

    #[inline]
    fn write(&self, packet: &mut Vec<u8>) {
        packet.reserve(LONGEST);
        // SAFETY: there is room for all bytes, of which `length` count. To copy a number of bytes that is known takes no call.
        unsafe {
            packet.as_mut_ptr().add(packet.len()).cast::<[u8; LONGEST]>().write_unaligned(self.bytes);
            packet.set_len(packet.len() + self.length);
        }
    }

    /// Passes over the beginning of a message where it is this one.
    #[inline]
    fn pass(&self, reader: &mut Reader<'_>) -> bool {
        let rest = reader.rest();
        let same = match rest.first_chunk() {
            // By halves; what is beyond the end does not count.
            Some(next) => {
                let (next, bytes) = (halves(next), halves(&self.bytes));
                (0..2).all(|half| (next[half] ^ bytes[half]) & self.counts[half] == 0)
            }
            None => rest.starts_with(&self.bytes[..self.length]),
        };
        if same {
            reader.pass(self.length);
        }
        same
    }
}

#[inline]
fn halves(bytes: &[u8; LONGEST]) -> [u128; 2] {
    let (mut first, mut second) = ([0; LONGEST / 2], [0; LONGEST / 2]);
    first.copy_from_slice(&bytes[..LONGEST / 2]);
    second.copy_from_slice(&bytes[LONGEST / 2..]);
    [first, second].map(u128::from_le_bytes)
}

/// A goal that was thrown: others of which all this is the same begin with the same bytes.
#[derive(Clone, Copy)]
pub struct Leaving {
    pub to: usize,
    pub parent: u32,
    pub predicate: u32,
    pub priority: i32,
    pub arity: usize,
    /// The packet in the outbox.
    pub place: usize,
    pub beginning: Beginning,
}

/// A goal that came from a node elsewhere: where those go that begin with the same bytes.
#[derive(Clone, Copy)]
pub struct Coming {
    pub beginning: Beginning,
    pub foster: u64,
    pub weight: u64,
    pub predicate: u32,
    pub arity: usize,
    pub queue: u32,
}

impl Pe {
    /// Throws a goal that begins as the last one did; false where it does not.
    #[inline]
    pub(super) fn throw_again(&mut self, outgoing: &Outgoing, values: &[Word]) -> bool {
        let (Outgoing::Throw { node, predicate, arguments, priority, parent, site }, Some(leaving)) =
            (outgoing, &self.leaving)
        else {
            return false;
        };
        let arguments = &values[arguments.clone()];
        if *parent != leaving.parent
            || *node != leaving.to
            || *predicate != leaving.predicate
            || *priority != leaving.priority
            || arguments.len() != leaving.arity
        {
            return false;
        }
        let place = leaving.place;
        let packet = self.outbox.packet(place);
        leaving.beginning.write(packet);
        // Of the weight that leaves, the engine has lent one already.
        self.engine.lent(*parent, WEIGHT - 1);
        self.sent[Kind::ThrowGoal as usize] += 1;
        let before = self.parts;
        let mut rest = arguments;
        while let Some((&argument, others)) = rest.split_first() {
            if !value::write_atomic(&self.loaded, self.outbox.packet(place), argument) {
                break;
            }
            self.parts.words_out += 1;
            rest = others;
        }
        if !rest.is_empty() {
            self.throwing = Some(*site);
            let mut packet = std::mem::take(self.outbox.packet(place));
            rest.iter().for_each(|&argument| self.write_value(&mut packet, argument));
            *self.outbox.packet(place) = packet;
            self.throwing = None;
        }
        self.count_throw(*site, before);
        true
    }

    /// Starts a goal that begins as the last one did; false, and nothing read, where it does not.
    #[inline]
    pub(super) fn thrown_again(&mut self, reader: &mut Reader<'_>) -> Result<bool, Malformed> {
        let Some(coming) = &self.coming else { return Ok(false) };
        if !coming.beginning.pass(reader) {
            return Ok(false);
        }
        let Coming { foster, weight, predicate, arity, queue, .. } = *coming;
        self.received[Kind::ThrowGoal as usize] += 1;
        let mut arguments = std::mem::take(&mut self.arguments);
        arguments.clear();
        let mut read = Ok(());
        for _ in 0..arity {
            match self.read_in(reader) {
                Ok(argument) => arguments.push(argument),
                Err(malformed) => {
                    read = Err(malformed);
                    break;
                }
            }
        }
        if read.is_ok() {
            if let Some(foster) = self.fosters.get(foster) {
                foster.weight += weight;
            }
            self.engine.start_goal_in(queue, predicate, &arguments);
        }
        self.arguments = arguments;
        read.map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_beginning_is_passed_where_it_stands_and_nowhere_else(
            message in prop::collection::vec(any::<u8>(), 0..=LONGEST), behind in prop::collection::vec(any::<u8>(), 0..80),
            other in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let beginning = Beginning::of(&message).expect("short enough");
            let mut packet = vec![1, 2, 3];
            beginning.write(&mut packet);
            prop_assert_eq!(&packet[3..], &message[..]);
            packet.extend_from_slice(&behind);
            let mut reader = Reader::new(&packet[3..]);
            prop_assert!(beginning.pass(&mut reader));
            prop_assert_eq!(reader.rest(), &behind[..]);
            if !message.is_empty() {
                packet[3 + other.index(message.len())] ^= 1 << bit;
                let mut reader = Reader::new(&packet[3..]);
                prop_assert!(!beginning.pass(&mut reader));
                prop_assert_eq!(reader.left(), packet.len() - 3);
                let mut short = Reader::new(&message[..message.len() - 1]);
                prop_assert!(!beginning.pass(&mut short));
            }
        }

        #[test]
        fn a_beginning_that_is_too_long_is_none(more in 1usize..50) {
            prop_assert!(Beginning::of(&vec![0; LONGEST + more]).is_none());
        }
    }
}
