//! Goals that are thrown one after the other, by the same goal of the program to the same PE: what they have in common is
//! written and read once. The packets are the same as without.

use super::Pe;
use crate::distributed::message::{Kind, MAX_NUMBER, Malformed, Reader};
use crate::distributed::tables::WEIGHT;
use crate::distributed::value;
use crate::engine::Throw;
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

    /// Appends the beginning, and the first of these arguments that are small integers; returns how many.
    #[inline]
    fn write(&self, packet: &mut Vec<u8>, arguments: &[Word]) -> usize {
        packet.reserve(LONGEST + arguments.len() * MAX_NUMBER);
        let mut written = 0;
        // SAFETY: there is room for all bytes, of which some count. To copy a number of bytes that is known takes no call.
        unsafe {
            let begin = packet.as_mut_ptr();
            let mut end = begin.add(packet.len());
            end.cast::<[u8; LONGEST]>().write_unaligned(self.bytes);
            end = end.add(self.length);
            while let Some((word, length)) = arguments.get(written).and_then(|&value| value::small_integer(value)) {
                end.cast::<[u8; 8]>().write_unaligned(word.to_le_bytes());
                end = end.add(length);
                written += 1;
            }
            packet.set_len(end.offset_from(begin) as usize);
        }
        written
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
    pub slot: usize,
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

impl Leaving {
    /// Whether these goals begin with the same bytes.
    pub fn is_like(&self, throw: &Throw, arity: usize) -> bool {
        self.parent == throw.parent
            && self.to == throw.node
            && self.predicate == throw.predicate
            && self.priority == throw.priority
            && self.arity == arity
    }
}

impl Pe {
    /// Throws goals that begin as the last one did.
    pub(super) fn throw_again(&mut self, goals: usize, values: &[Word]) {
        let Some(leaving) = self.leaving else { return };
        let count = goals as u64;
        // Of the weight that leaves, the engine has lent one already.
        self.engine.add_elsewhere(leaving.parent, count * (WEIGHT - 1));
        self.sent[Kind::ThrowGoal as usize] += count;
        let mut packet = std::mem::take(self.outbox.packet(leaving.slot));
        let mut rest = values;
        for _ in 0..goals {
            let arguments;
            (arguments, rest) = rest.split_at(leaving.arity);
            let written = leaving.beginning.write(&mut packet, arguments);
            self.parts.words_out += written as u64;
            for &argument in &arguments[written..] {
                self.write_value(&mut packet, argument);
            }
        }
        *self.outbox.packet(leaving.slot) = packet;
    }

    /// Starts the goals that begin as the last one did; nothing is read where none does.
    #[inline]
    pub(super) fn thrown_again(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let Some(coming) = self.coming else { return Ok(()) };
        let Coming { foster, weight, predicate, arity, queue, .. } = coming;
        let mut goals = 0;
        let mut result = Ok(());
        while coming.beginning.pass(reader) {
            goals += 1;
            let arguments = reader.rest();
            let begun = self.engine.start_goal_from(queue, predicate, arity, || value::read_integer(reader)?.ok());
            if begun {
                self.parts.words_in += arity as u64;
                continue;
            }
            *reader = Reader::new(arguments);
            result = self.start_with_any(reader, &coming);
            if result.is_err() {
                break;
            }
        }
        self.received[Kind::ThrowGoal as usize] += goals;
        if let Some(foster) = self.fosters.get(foster) {
            foster.weight += goals * weight;
        }
        result
    }

    /// Starts a goal with arguments of any kind.
    fn start_with_any(&mut self, reader: &mut Reader<'_>, coming: &Coming) -> Result<(), Malformed> {
        let mut arguments = std::mem::take(&mut self.arguments);
        arguments.clear();
        let read = (0..coming.arity).try_for_each(|_| {
            arguments.push(self.read_in(reader)?);
            Ok(())
        });
        if read.is_ok() {
            self.engine.start_goal_in(coming.queue, coming.predicate, &arguments);
        }
        self.arguments = arguments;
        read
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
            beginning.write(&mut packet, &[]);
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
