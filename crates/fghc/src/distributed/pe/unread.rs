//! Thrown goals that have come and wait, as they came, until this PE has nothing else to do.
//!
//! A PE that is sent many goals at once would keep them all in its heap, where every collection moves them, and where what
//! it works on would no longer fit into the processor's cache. Only goals of the default priority wait, beside others of that
//! priority, and never for long: see [`PATIENCE`].

use std::collections::VecDeque;

use super::Pe;
use crate::distributed::message::{Malformed, Reader};
use crate::distributed::report::End;
use crate::distributed::value::{self, max_words};
use crate::engine::DEFAULT_PRIORITY;

/// Steps after which a goal is started though there are others: some of those may never end.
const PATIENCE: u32 = 64;

/// Messages without their kind, one after the other.
#[derive(Default)]
pub struct Unread {
    bytes: Vec<u8>,
    lengths: VecDeque<usize>,
    /// Where the first begins.
    first: usize,
    /// Steps since one was started.
    steps: u32,
}

impl Unread {
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.lengths.capacity() * size_of::<usize>()
    }

    fn add(&mut self, message: &[u8]) {
        self.bytes.extend_from_slice(message);
        self.lengths.push_back(message.len());
    }

    fn passed(&mut self, bytes: usize) {
        self.first += bytes;
        // Moved rarely, and never more than has been read since.
        if self.first * 2 >= self.bytes.len() {
            self.bytes.drain(..self.first);
            self.first = 0;
        }
    }
}

impl Pe {
    /// Whether thrown goals may wait while there are others. Not where what a message costs is charged when it comes.
    pub fn put_off_goals(&mut self, may: bool) {
        self.puts_off = may;
    }

    /// Whether there are goals to work on.
    pub fn has_goals(&self) -> bool {
        self.engine.has_goals() || !self.unread.is_empty()
    }

    /// A goal of the default priority waits; any other is started.
    pub(super) fn put_off(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let message = reader.rest();
        self.node_name(reader)?;
        let (_weight, _predicate) = (reader.number()?, reader.small()?);
        let priority = reader.signed()?;
        for _ in 0..reader.index()? {
            value::skip(reader)?;
        }
        let message = &message[..message.len() - reader.left()];
        if priority != i64::from(DEFAULT_PRIORITY) {
            return self.thrown(&mut Reader::new(message));
        }
        self.unread.add(message);
        Ok(())
    }

    /// Starts the goal that has waited longest; false where there is none.
    pub(super) fn start_unread(&mut self) -> bool {
        self.unread.steps = 0;
        let Some(length) = self.unread.lengths.pop_front() else { return false };
        let bytes = std::mem::take(&mut self.unread.bytes);
        let first = self.unread.first;
        let has_space = self.engine.reserve_words(max_words(length));
        let result = if has_space { self.thrown(&mut Reader::new(&bytes[first..first + length])) } else { Ok(()) };
        self.coming = None;
        self.unread.bytes = bytes;
        self.unread.passed(length);
        if let Err(malformed) = result {
            self.ends(End::Problem { pe: self.me, message: malformed.to_string() });
        }
        // Without room the engine has noted the problem, and its next step says so.
        true
    }

    pub(super) fn start_all_unread(&mut self) {
        // Where there is no room for one there is none for the others.
        while !self.engine.has_problem() && self.start_unread() {}
    }

    /// A step begins.
    pub(super) fn attend_to_unread(&mut self) {
        self.unread.steps += 1;
        if self.unread.steps >= PATIENCE {
            self.start_unread();
        }
    }
}
