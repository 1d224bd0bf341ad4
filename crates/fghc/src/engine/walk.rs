//! Walks through two values at once, or through one: they end where values are cyclic or share parts, they stop on Ctrl-C,
//! and what they remember counts towards the limit of memory.
//!
//! A cyclic value is a rational tree: a walk that comes to what it has met before has nothing new to see there. To look up
//! every pair would cost more than to compare it, so a walk remembers one pair, moved on at ever longer intervals (Brent,
//! 1980), which finds every cycle that it goes round; and only a walk that is longer than any without shared parts could be
//! remembers all that it meets.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Engine;
use super::array::Cells;
use super::report::{Problem, ProblemKind};
use crate::heap::Word;

/// Steps between two looks at the interrupt and at the memory that a walk takes.
const BETWEEN_LOOKS: usize = 1 << 14;
/// Steps before a walk remembers what it meets, beside those that a heap of its size explains.
const MIN_STEPS: usize = 1 << 16;
/// Rows of more cells than this are walked along, not laid down as a whole.
const LONG_ROW: usize = 64;
/// Bytes of an entry of a hash table, with the share of it that is empty.
const ENTRY_BYTES: usize = 40;

/// What a walk finds at a pair of compound values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// It must be looked into.
    New,
    /// It has been looked into, or is being so.
    Known,
    /// The walk must end: see [`Engine::problem`].
    Stop,
}

/// What is held equal while a walk goes on.
enum Memory {
    /// Classes of values that are equal if the walk ends well: for each value another of its class. What follows from two
    /// pairs need not be looked at as a third, so their number is that of the values.
    Classes(FxHashMap<u64, u64>),
    /// The pairs themselves, where the first difference counts and not only whether there is one.
    Pairs(FxHashSet<(u64, u64)>),
}

impl Memory {
    fn len(&self) -> usize {
        match self {
            Memory::Classes(classes) => classes.len(),
            Memory::Pairs(pairs) => pairs.len(),
        }
    }

    /// Whether both were known to be one; they are from now on.
    fn join(&mut self, left: Word, right: Word) -> bool {
        match self {
            Memory::Classes(classes) => {
                let (left, right) = (class_of(classes, left.0), class_of(classes, right.0));
                if left != right {
                    classes.insert(left, right);
                }
                left == right
            }
            Memory::Pairs(pairs) => !pairs.insert((left.0, right.0)),
        }
    }
}

fn class_of(classes: &mut FxHashMap<u64, u64>, mut value: u64) -> u64 {
    while let Some(&next) = classes.get(&value) {
        let Some(&after) = classes.get(&next) else { return next };
        classes.insert(value, after);
        value = after;
    }
    value
}

enum Step {
    Pair(Word, Word),
    Row(Box<(Cells, Cells)>, usize),
}

/// Pairs of values that are still to be looked at, the first on top.
pub(crate) struct Walk {
    steps: Vec<Step>,
    count: usize,
    next_look: usize,
    remember_from: usize,
    known: (Word, Word),
    move_at: usize,
    memory: Memory,
}

impl Walk {
    /// A walk through two values, for whether they are equal.
    pub fn equality(engine: &Engine) -> Walk {
        Walk::new(engine, Memory::Classes(FxHashMap::default()))
    }

    /// A walk through two values in their order, or through one with itself.
    pub fn ordered(engine: &Engine) -> Walk {
        Walk::new(engine, Memory::Pairs(FxHashSet::default()))
    }

    fn new(engine: &Engine, memory: Memory) -> Walk {
        Walk {
            steps: Vec::new(),
            count: 0,
            next_look: BETWEEN_LOOKS,
            // A pair of cells of a list takes four words.
            remember_from: MIN_STEPS + engine.words_in_use() / 4,
            known: (Word::NIL, Word::NIL),
            move_at: 1,
            memory,
        }
    }

    /// Something to look at next.
    #[inline]
    pub fn push(&mut self, left: Word, right: Word) {
        self.steps.push(Step::Pair(left, right));
    }

    /// All cells of two values, the first of them next; both have as many.
    ///
    /// # Safety
    /// The heap stays as it is while the walk lasts.
    #[inline]
    pub unsafe fn push_cells(&mut self, left: Cells, right: Cells) {
        if left.len() > LONG_ROW {
            self.steps.push(Step::Row(Box::new((left, right)), 0));
            return;
        }
        // The first is taken first, so the stack does not grow along a list.
        for index in (0..left.len()).rev() {
            // SAFETY: the index is below the number of cells, whose heap stays as it is (this function's condition).
            unsafe { self.steps.push(Step::Pair(left.get(index), right.get(index))) };
        }
    }

    /// The next pair.
    ///
    /// # Safety
    /// As for [`Walk::push_cells`].
    #[inline]
    pub unsafe fn pop(&mut self) -> Option<(Word, Word)> {
        match self.steps.pop()? {
            Step::Pair(left, right) => Some((left, right)),
            Step::Row(row, index) => {
                // SAFETY: the index is below the number of cells, whose heap stays as it is while the walk lasts (the
                // condition of `push_cells`).
                let pair = unsafe { (row.0.get(index), row.1.get(index)) };
                if index + 1 < row.0.len() {
                    self.steps.push(Step::Row(row, index + 1));
                }
                Some(pair)
            }
        }
    }

    /// Called for every pair of compound values, dereferenced.
    #[inline]
    pub fn meet(&mut self, engine: &mut Engine, left: Word, right: Word) -> Meeting {
        if (left, right) == self.known {
            return Meeting::Known;
        }
        self.count += 1;
        if self.count == self.move_at {
            self.known = (left, right);
            self.move_at *= 2;
        }
        if self.count < self.next_look && self.count < self.remember_from {
            return Meeting::New;
        }
        self.meet_longer(engine, left, right)
    }

    #[cold]
    fn meet_longer(&mut self, engine: &mut Engine, left: Word, right: Word) -> Meeting {
        if self.count >= self.next_look {
            self.next_look = self.count + BETWEEN_LOOKS;
            let bytes = self.memory.len() * ENTRY_BYTES + self.steps.capacity() * std::mem::size_of::<Step>();
            if !engine.may_go_on(BETWEEN_LOOKS) || !engine.has_memory_for("comparing large values", bytes) {
                return Meeting::Stop;
            }
        }
        if self.count >= self.remember_from && self.memory.join(left, right) {
            return Meeting::Known;
        }
        Meeting::New
    }
}

impl Engine {
    /// Counts work that is no reduction, and looks at the interrupt from time to time: when it is set, the slice ends. False,
    /// with [`Engine::problem`] set, where what is being done must end at once.
    pub(crate) fn may_go_on(&mut self, steps: usize) -> bool {
        self.steps += steps;
        if self.steps < BETWEEN_LOOKS {
            return true;
        }
        self.steps = 0;
        if self.interrupted() {
            self.problem = Some(Box::new(Problem::new(ProblemKind::Interrupted)));
            return false;
        }
        true
    }

    /// Counts work of an operation that is never long by itself: after much of it the slice ends where Ctrl-C came.
    #[inline]
    pub(crate) fn spend(&mut self, steps: usize) {
        self.steps += steps;
        if self.steps >= BETWEEN_LOOKS {
            self.steps = 0;
            if self.interrupted() {
                self.preempt();
            }
        }
    }

    /// Whether so many bytes that something needs for a moment are within the limit; otherwise the problem is set.
    pub(crate) fn has_memory_for(&mut self, what: &'static str, bytes: usize) -> bool {
        let limit = self.heap.limit_bytes();
        if bytes <= limit {
            return true;
        }
        self.problem = Some(Box::new(Problem::new(ProblemKind::MemoryExhausted { what, needed: bytes, limit })));
        false
    }
}
