//! Queues of goals, and those of them that have goals, by priority.

use std::collections::VecDeque;

use crate::heap::Word;

/// The ready goals of one node at one priority.
pub struct Queue {
    pub node: u32,
    pub priority: i32,
    /// First goal, or null; that of the queue that runs is in the registers.
    pub head: *mut Word,
    /// A late goal of the queue, null or of a time before that many collections: where the search for the last begins.
    pub late: (*mut Word, u64),
    /// Whether it is among the runnable ones.
    pub listed: bool,
    /// Nothing uses it: its number is free for another.
    pub is_free: bool,
}

impl Queue {
    pub fn new(node: u32, priority: i32) -> Queue {
        Queue {
            node,
            priority,
            head: std::ptr::null_mut(),
            late: (std::ptr::null_mut(), 0),
            listed: false,
            is_free: false,
        }
    }
}

/// Queues with goals, by priority, and in the order in which they take turns.
#[derive(Default)]
pub struct Runnable {
    /// The only one, where there is one: there are no levels then.
    only: Option<(i32, u32)>,
    /// By rising priority; none is empty.
    levels: Vec<(i32, VecDeque<u32>)>,
    /// Empty, for their memory.
    spare: Vec<VecDeque<u32>>,
}

impl Runnable {
    pub fn push(&mut self, priority: i32, queue: u32) {
        if self.is_empty() {
            self.only = Some((priority, queue));
            return;
        }
        if let Some((priority, queue)) = self.only.take() {
            self.push_to_level(priority, queue);
        }
        self.push_to_level(priority, queue);
    }

    fn push_to_level(&mut self, priority: i32, queue: u32) {
        let level = match self.levels.last() {
            // Mostly the only one.
            Some((last, _)) if *last == priority => Ok(self.levels.len() - 1),
            None => Err(0),
            Some(_) => self.levels.binary_search_by_key(&priority, |(priority, _)| *priority),
        };
        let level = level.unwrap_or_else(|level| {
            self.levels.insert(level, (priority, self.spare.pop().unwrap_or_default()));
            level
        });
        self.levels[level].1.push_back(queue);
    }

    /// Takes the queue that is next.
    pub fn pop(&mut self) -> Option<u32> {
        if let Some((_, queue)) = self.only.take() {
            return Some(queue);
        }
        let (_, queues) = self.levels.last_mut()?;
        let queue = queues.pop_front();
        if queues.is_empty()
            && let Some((_, empty)) = self.levels.pop()
        {
            self.spare.push(empty);
        }
        queue
    }

    pub fn is_empty(&self) -> bool {
        self.only.is_none() && self.levels.is_empty()
    }

    pub fn priorities(&self) -> impl Iterator<Item = i32> {
        self.levels.iter().map(|(priority, _)| *priority).chain(self.only.map(|(priority, _)| priority))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a map of queues.
        #[test]
        fn the_highest_priority_goes_first_and_each_in_turn(steps in prop::collection::vec(prop::option::of((-3i32..4, 0u32..50)), 0..200)) {
            let mut runnable = Runnable::default();
            let mut plain: BTreeMap<i32, VecDeque<u32>> = BTreeMap::new();
            for step in steps {
                match step {
                    Some((priority, queue)) => {
                        runnable.push(priority, queue);
                        plain.entry(priority).or_default().push_back(queue);
                    }
                    None => {
                        let wanted = plain.values_mut().next_back().and_then(VecDeque::pop_front);
                        plain.retain(|_, queues| !queues.is_empty());
                        prop_assert_eq!(runnable.pop(), wanted);
                    }
                }
                prop_assert_eq!(runnable.is_empty(), plain.is_empty());
                prop_assert_eq!(runnable.priorities().collect::<Vec<_>>(), plain.keys().copied().collect::<Vec<_>>());
            }
        }
    }
}
