//! Records in the heap that make goals run, wait and wake.
//!
//! ```text
//! goal   header(arity, state, queue, predicate) · link · arguments … · (suspended goals only) next suspended goal
//! hook   header · link · goal
//! watch  header(number) · link
//! external  header(number) · link
//! ```
//! The link of a ready goal is the next goal of its queue. The link of everything that waits for a variable is the next
//! record that waits for the same one. Links are bare addresses, zero at the end.
//!
//! A goal that waits for one variable is itself the record in that variable's list; one that waits for several has a
//! hook in each. The first binding wakes it: its state changes, and the other hooks find that it no longer waits.

use super::word::{Kind, Word};

/// Index of the link in every record.
pub const LINK: usize = 1;
/// Index of a goal's first argument.
pub const ARGUMENTS: usize = 2;
/// Index of the goal in a hook.
pub const HOOKED_GOAL: usize = 2;
/// Words of a goal that waits for one variable, beside its arguments.
pub const RECORD_WORDS: usize = 3;
/// Words of a hook.
pub const HOOK_WORDS: usize = 3;
/// Words of a watch or an external record.
pub const WATCH_WORDS: usize = 2;
/// Largest number of arguments of a goal.
pub const MAX_ARITY: usize = 255;
/// Largest number of queues in one engine.
pub const MAX_QUEUES: u64 = 1 << 22;
/// Largest number of predicates in one program.
pub const MAX_PREDICATES: usize = 1 << 24;

const STATE_SHIFT: u64 = 16;
/// Where the queue's number begins in a goal's header.
pub const QUEUE_SHIFT: u64 = 18;
/// Where the predicate's number begins in a goal's header.
pub const PREDICATE_SHIFT: u64 = 40;

/// What becomes of a goal record.
pub mod state {
    /// In a queue, never suspended; without the word that links suspended goals.
    pub const READY: u64 = 0;
    /// Waiting for a variable.
    pub const SUSPENDED: u64 = 1;
    /// Was suspended, is in a queue again or gone.
    pub const WOKEN: u64 = 2;
    /// Was suspended, nothing can wake it, and that has been reported: the next collection drops it.
    pub const LOST: u64 = 3;
}

/// Header of a goal record.
#[inline(always)]
pub const fn goal_header(predicate: u32, arity: usize, state: u64, queue: u32) -> Word {
    Word(
        (predicate as u64) << PREDICATE_SHIFT
            | (queue as u64) << QUEUE_SHIFT
            | state << STATE_SHIFT
            | (arity as u64) << 8
            | (Kind::Goal as u64) << 3
            | super::word::HEADER,
    )
}

#[inline(always)]
pub fn goal_arity(header: Word) -> usize {
    ((header.0 >> 8) & 0xff) as usize
}

#[inline(always)]
pub fn goal_state(header: Word) -> u64 {
    (header.0 >> STATE_SHIFT) & 3
}

#[inline(always)]
pub fn with_state(header: Word, state: u64) -> Word {
    Word(header.0 & !(3 << STATE_SHIFT) | state << STATE_SHIFT)
}

#[inline(always)]
pub fn goal_queue(header: Word) -> u32 {
    ((header.0 >> QUEUE_SHIFT) & (MAX_QUEUES - 1)) as u32
}

#[inline(always)]
pub fn goal_predicate(header: Word) -> u32 {
    (header.0 >> PREDICATE_SHIFT) as u32
}

/// Words of a goal record.
#[inline(always)]
pub fn goal_words(header: Word) -> usize {
    ARGUMENTS + goal_arity(header) + usize::from(goal_state(header) != state::READY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_a_goal_header_says_comes_back(
            predicate in 0u32..1 << 24, arity in 0usize..=MAX_ARITY, queue in 0u32..1 << 22, before in 0u64..4, after in 0u64..4,
        ) {
            let header = with_state(goal_header(predicate, arity, before, queue), after);
            prop_assert_eq!(Kind::of(header), Kind::Goal);
            prop_assert_eq!(
                (goal_predicate(header), goal_arity(header), goal_queue(header), goal_state(header)),
                (predicate, arity, queue, after)
            );
        }
    }
}
