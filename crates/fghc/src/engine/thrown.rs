//! Goals for other PEs that native code writes down by itself: the number of the goal with a pragma and the PE in one word,
//! then its arguments.
//!
//! The first goal for another PE always comes to the engine, which sees to it that the slice ends soon and opens this
//! record. It is closed, and what is in it told like the first, before anything else of the engine may change that what was
//! thrown depends on: the queue that runs, the order of what is told, the heap.

use super::Engine;
#[cfg(feature = "native")]
use super::instruction::{Operand, PlacementKind, Start};
use super::outgoing::{Outgoing, Throw};
use crate::heap::Word;

/// Most arguments of a goal that native code writes down.
const MAX_ARGUMENTS: usize = 12;
/// Words of the record.
const WORDS: usize = 2048;
/// Where the PE begins in the first word. Integers of the language begin at bit 3 of theirs.
pub const PE_SHIFT: u32 = 32;

/// Whether native code may write a goal down: it says only on which PE, and nothing of it has to be made first.
#[cfg(feature = "native")]
pub fn is_plain(start: &Start) -> bool {
    let arguments = &start.call.arguments;
    matches!(start.placement, Some((PlacementKind::Node, _)))
        && start.priority.is_none()
        && arguments.len() <= MAX_ARGUMENTS
        && !arguments.iter().any(|operand| matches!(operand, Operand::Variable(_)))
}

impl Engine {
    /// Tells others something, after all that was thrown before.
    pub(super) fn tell(&mut self, outgoing: Outgoing) {
        self.take_thrown();
        self.outgoing_goals += 1;
        self.outgoing.push(outgoing);
    }

    /// Has native code write down the goals that come next.
    pub(super) fn open_thrown(&mut self) {
        if self.backend.is_none() {
            return;
        }
        if self.thrown.is_empty() {
            self.thrown = vec![Word::NIL; WORDS].into_boxed_slice();
        }
        let words = self.thrown.as_mut_ptr_range();
        self.registers.thrown = words.start;
        // SAFETY: the array was just made longer than one goal with the most arguments, so that the end of what may
        // begin lies within it.
        self.registers.thrown_end = unsafe { words.end.sub(1 + MAX_ARGUMENTS) };
    }

    /// Tells the goals that native code has written down; it writes no more.
    #[inline]
    pub(super) fn take_thrown(&mut self) {
        if !self.registers.thrown.is_null() {
            self.take_all_thrown();
        }
    }

    fn take_all_thrown(&mut self) {
        let code = self.shared_code();
        let entry = &self.queues[self.current as usize];
        let (parent, priority) = (entry.node, entry.priority);
        // SAFETY: native code has advanced the one within the other.
        let filled = unsafe { self.registers.thrown.offset_from(self.thrown.as_ptr()) } as usize;
        (self.registers.thrown, self.registers.thrown_end) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut rest = &self.thrown[..filled];
        let mut count = 0;
        self.outgoing_values.reserve(filled);
        while let Some(&first) = rest.first() {
            let (site, node) = (first.0 as u32, (first.0 >> PE_SHIFT) as usize >> 3);
            let call = &code.starts[site as usize].call;
            let begin = self.outgoing_values.len();
            let mut goals = 0;
            // All that the same goal of the program threw to the same PE.
            while let Some((next, others)) = rest.split_first()
                && *next == first
            {
                let (values, others) = others.split_at(call.arguments.len());
                // So few that a call to copy them would cost more.
                for &value in values {
                    self.outgoing_values.push(value);
                }
                goals += 1;
                rest = others;
            }
            let arguments = begin..self.outgoing_values.len();
            let predicate = call.predicate;
            self.outgoing.push(Outgoing::Throw(Throw { node, predicate, goals, arguments, priority, parent, site }));
            count += goals;
        }
        self.outgoing_goals += count;
        self.add_elsewhere(parent, count as u64);
    }
}
