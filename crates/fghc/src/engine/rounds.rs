//! Goals that run one reduction at a time, first come first served, and whose arguments are counted: what execution
//! systems did that interpreted goals out of a ready queue. Goals are interpreted here too: a round is a slice of one
//! reduction, and what it has put on top of the queue goes to the end afterwards.

use super::{Engine, NodeState};
use crate::heap::Word;
use crate::heap::goal::{LINK, goal_arity};

/// In which order goals run. By default a goal's first body goal goes on, for as long as there are reductions in the slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// New and woken goals go to the end of their queue.
    pub breadth_first: bool,
    /// Arguments of reduced goals are counted.
    pub counts_arguments: bool,
}

impl Rounds {
    /// Whether slices are of one reduction.
    pub fn are_single(self) -> bool {
        self.breadth_first || self.counts_arguments
    }
}

/// A reduction that is being made.
pub(super) struct Round {
    queue: u32,
}

impl Engine {
    /// Notes what runs, and where the rest of its queue begins.
    pub(super) fn begin_round(&mut self) -> Round {
        let goal = self.registers.ready;
        let (arity, second) = if goal.is_null() {
            (0, std::ptr::null_mut())
        } else {
            // SAFETY: goals of a queue are records of this heap.
            unsafe { (goal_arity(*goal), (*goal.add(LINK)).pointer()) }
        };
        self.second = second;
        self.round_arity = arity;
        self.in_round = true;
        Round { queue: self.current }
    }

    /// What ran was no reduction, and the next goal of the queue runs in the same round.
    pub(crate) fn pass_round(&mut self) {
        if !self.in_round {
            return;
        }
        let next = self.registers.ready;
        // SAFETY: goals of a queue are records of this heap.
        let rest: *mut Word = if next.is_null() { next } else { unsafe { (*next.add(LINK)).pointer() } };
        if rest.is_null() {
            // The last goal runs in this round.
            self.queues[self.current as usize].late = (std::ptr::null_mut(), 0);
        }
        if next.is_null() {
            return;
        }
        // SAFETY: the next goal is a record of this heap.
        self.round_arity = unsafe { goal_arity(*next) };
        if next == self.second {
            self.second = rest;
        }
    }

    /// Counts what was reduced; where goals run breadth first, moves what came on top of the queue to its end.
    pub(super) fn end_round(&mut self, round: &Round, done: i64) {
        self.in_round = false;
        let second = std::mem::replace(&mut self.second, std::ptr::null_mut());
        if done > 0 {
            self.reduced_arguments += self.round_arity as u64;
        }
        if !self.rounds.breadth_first || self.current != round.queue {
            return;
        }
        let queue = &mut self.queues[round.queue as usize];
        let first = self.registers.ready;
        if second.is_null() || first.is_null() {
            // All that is left is new, and in its order.
            queue.late = (std::ptr::null_mut(), 0);
            return;
        }
        if first == second || self.nodes[queue.node as usize].state == NodeState::Done {
            return;
        }
        // SAFETY: goals of a queue are records of this heap, linked by their second word, and the last link is null.
        // `second` is one of them: collections keep it up to date.
        unsafe {
            let mut last = first;
            loop {
                let next = (*last.add(LINK)).pointer();
                if next == second {
                    break;
                }
                if next.is_null() {
                    // Nothing is new: where a goal ends, the second is taken up and put back as another record.
                    if self.queues[round.queue as usize].late.0 == second {
                        self.queues[round.queue as usize].late = (std::ptr::null_mut(), 0);
                    }
                    return;
                }
                last = next;
            }
            self.registers.ready = second;
            self.append(round.queue, first, last);
        }
    }

    /// Appends the goals from `first` to `last`, linked in between, to a queue that has goals.
    ///
    /// # Safety
    /// They are goal records of this heap that are in no queue.
    pub(super) unsafe fn append(&mut self, queue: u32, first: *mut Word, last: *mut Word) {
        let entry = &mut self.queues[queue as usize];
        let head = if queue == self.current { self.registers.ready } else { entry.head };
        let (late, age) = entry.late;
        // SAFETY: a late goal of before the last collection is one of the queue still: goals leave it at its head, where
        // the last one to leave clears it.
        unsafe {
            let mut end = if late.is_null() || age != self.collections { head } else { late };
            loop {
                let next: *mut Word = (*end.add(LINK)).pointer();
                if next.is_null() {
                    break;
                }
                end = next;
            }
            *end.add(LINK) = Word(first as u64);
            *last.add(LINK) = Word(std::ptr::null::<Word>() as u64);
        }
        entry.late = (last, self.collections);
    }
}
