//! Ranks that look again and again whether something has come, and do nothing else.
//!
//! A look takes some time. Were each of them carried out, a wait of a second would be a million looks. A rank that has
//! looked often enough waits in its look instead, until something happens to it or for a part of the time for which it
//! has looked already: what it finds it finds no later, and the number of looks grows with the logarithm of the wait.

use super::*;

/// After so many looks in a row of which each is all that happens in the run, ranks that want to know when nothing can
/// happen any more are told: those that look may do so for ever.
const IDLE_LOOKS: u32 = 1 << 12;

/// What is known of looks in a run.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// Ends of looks that are in the queue.
    queued: usize,
    /// Looks in a row beside which nothing could happen.
    idle: u32,
}

impl Core {
    /// A look of `rank` ends at `time`, if nothing happens to the rank before.
    pub fn end_look_at(&mut self, rank: u32, time: Picos) {
        self.looks.queued += 1;
        self.queue.push(time.max(self.queue.now()), Event::Look(rank));
    }

    pub(super) fn look_ends(&mut self, rank: u32) {
        self.looks.queued -= 1;
        self.make_ready(rank);
        let is_idle = self.queue.len() == self.looks.queued && self.ready.len() == 1 && self.deferred.is_empty();
        self.looks.idle = if is_idle { self.looks.idle + 1 } else { 0 };
        if self.looks.idle > IDLE_LOOKS {
            self.looks.idle = 0;
            self.tell_quiet();
        }
    }

    /// Whether anything can happen but that ranks look.
    pub fn can_happen(&self) -> bool {
        self.queue.len() > self.looks.queued || !self.ready.is_empty() || !self.deferred.is_empty()
    }

    /// From now on `rank` is woken by whatever happens to it.
    pub fn begin_noticing(&mut self, rank: u32) {
        self.ranks[rank as usize].notices = true;
    }

    /// At `time` something happens to `rank` that its program may look for.
    #[inline]
    pub(super) fn notice(&mut self, rank: u32, time: Picos) {
        if self.ranks[rank as usize].notices {
            self.wake_at(rank, time);
        }
    }
}
