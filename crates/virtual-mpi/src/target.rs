//! What other ranks reach of a rank in a window: its memory, and its lock.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use weft_sim::{RemoteKey, Reply};

use crate::conflicts::Accesses;
use crate::memory::Memory;
use crate::remark::Notes;

/// Who holds a lock, and who waits for it.
#[derive(Debug, Default)]
pub struct Lock {
    holders: usize,
    is_exclusive: bool,
    waiting: VecDeque<(RemoteKey, bool)>,
}

impl Lock {
    /// Asks for the lock; those that get it now.
    pub fn acquire(&mut self, request: RemoteKey, exclusive: bool) -> Vec<Reply> {
        self.waiting.push_back((request, exclusive));
        self.grant()
    }

    /// Whether one rank has it alone.
    pub fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Gives it back; those that get it now.
    pub fn release(&mut self) -> Vec<Reply> {
        self.holders = self.holders.saturating_sub(1);
        if self.holders == 0 {
            self.is_exclusive = false;
        }
        self.grant()
    }

    /// Grants are in the order of requests: none is passed by others without end.
    fn grant(&mut self) -> Vec<Reply> {
        let mut granted = Vec::new();
        while let Some(&(request, exclusive)) = self.waiting.front() {
            if self.is_exclusive || (exclusive && self.holders > 0) {
                break;
            }
            self.waiting.pop_front();
            self.holders += 1;
            self.is_exclusive = exclusive;
            granted.push(Reply { request, bytes: 0 });
        }
        granted
    }
}

/// What the other ranks of a window reach of a rank, besides its memory itself.
pub struct Target {
    pub memory: Rc<dyn Memory>,
    pub lock: RefCell<Lock>,
    /// Its rank of the run.
    pub rank: u32,
    /// What others have asked for and may not be complete.
    pub accesses: RefCell<Accesses>,
    pub notes: Rc<Notes>,
    /// Memory attached to a dynamic window: sizes by address.
    pub attached: RefCell<BTreeMap<usize, usize>>,
}

impl Target {
    pub fn new(rank: u32, memory: Rc<dyn Memory>, notes: Rc<Notes>) -> Target {
        Target {
            rank,
            memory,
            notes,
            lock: RefCell::default(),
            accesses: RefCell::default(),
            attached: RefCell::default(),
        }
    }

    /// Whether a range is attached as a whole.
    pub fn has_attached(&self, address: usize, bytes: usize) -> bool {
        let attached = self.attached.borrow();
        let region = attached.range(..=address).next_back();
        region.is_some_and(|(&start, &size)| bytes <= size && address - start <= size - bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SameProcess;

    const NOBODY: [RemoteKey; 0] = [];

    fn granted(replies: &[Reply]) -> Vec<RemoteKey> {
        replies.iter().map(|reply| reply.request).collect()
    }

    #[test]
    fn locks_are_granted_in_order_and_exclusive_ones_alone() {
        let mut lock = Lock::default();
        assert_eq!(granted(&lock.acquire(1, false)), [1]);
        assert_eq!(granted(&lock.acquire(2, false)), [2], "shared locks go together");
        assert_eq!(granted(&lock.acquire(3, true)), NOBODY);
        assert_eq!(granted(&lock.acquire(4, false)), NOBODY, "it came after one that waits");
        assert_eq!(granted(&lock.release()), NOBODY);
        assert_eq!(granted(&lock.release()), [3]);
        assert_eq!(granted(&lock.acquire(5, false)), NOBODY);
        assert_eq!(granted(&lock.release()), [4, 5]);
    }

    #[test]
    fn attached_ranges_hold_what_lies_in_one_of_them_as_a_whole() {
        let target = Target::new(0, Rc::new(SameProcess), Rc::default());
        target.attached.borrow_mut().extend([(100, 50), (150, 10)]);
        let known =
            [(100, 50), (120, 30), (155, 5), (100, 0)].map(|(address, bytes)| target.has_attached(address, bytes));
        assert_eq!(known, [true; 4]);
        let unknown =
            [(99, 2), (120, 31), (155, 6), (161, 1)].map(|(address, bytes)| target.has_attached(address, bytes));
        assert_eq!(unknown, [false; 4]);
    }
}
