//! What every reduction reads and writes, laid out so that native code can, too.

use crate::heap::Word;

/// Largest number of variables that are noted for one goal; a goal that meets more waits for these first.
pub const MAX_NOTED: usize = 255;

/// Commitments to the predicates with the first numbers are counted where one instruction of the processor does it.
pub const COUNTED: usize = 512;

/// The registers of an engine.
#[repr(C)]
pub struct Registers {
    /// First free word of the heap.
    pub free: *mut Word,
    /// Where a reduction must not begin any more without a collection.
    pub limit: *mut Word,
    /// Reductions for which there is memory for sure; negative when [`super::Engine::pause`] must be asked.
    pub budget: i64,
    /// Reductions of the slice beyond those.
    pub rest: i64,
    /// Words that one reduction may take: see [`super::instruction::Code::words`].
    pub words: u64,
    /// First goal of the queue that runs, or null.
    pub ready: *mut Word,
    /// First of all suspended goals, or null.
    pub suspended: *mut Word,
    /// Argument and other registers.
    pub x: *mut Word,
    /// Number of the queue that runs, where it stands in a goal's header.
    pub queue_bits: u64,
    /// Suspended goals of the node that runs.
    pub waiting: i64,
    /// Times that a goal suspended.
    pub suspensions: u64,
    /// Times that a goal woke.
    pub resumptions: u64,
    /// How many variables are noted.
    pub noted_count: u64,
    /// References to the variables that tests of the present goal met unbound.
    pub noted: [Word; MAX_NOTED],
    /// Commitments by predicate, where the program was loaded to count them.
    pub counts: [u64; COUNTED],
    /// Those of predicates with higher numbers.
    pub more_counts: *mut u64,
    /// Where native code writes down the next goal for another PE, see [`super::thrown`]; both null where it must not.
    pub thrown: *mut Word,
    /// Where no goal may begin any more.
    pub thrown_end: *mut Word,
    /// Which PE this is, and how many there are, as integers of the language.
    pub node: Word,
    pub nodes: Word,
    /// Place of the instruction that left reductions for something slower.
    pub at: u64,
    /// The engine that these registers belong to, while native code runs.
    pub engine: *mut super::Engine,
    /// What a helper of native code answered.
    pub answer: i64,
    /// Native code by predicate, for goals in the heap.
    pub entries: *const *const u8,
}

impl Registers {
    /// Reductions left of the slice.
    #[inline(always)]
    pub fn left(&self) -> i64 {
        self.budget + self.rest
    }

    /// Reductions left of the slice, of which as many are granted as there is memory for. `wanted` words are needed
    /// beside that for the reduction that has begun.
    #[inline(always)]
    pub fn grant(&mut self, left: i64, wanted: usize) {
        let free_words = (self.limit as i64 - self.free as i64) / 8 - wanted as i64;
        let granted = (free_words / self.words as i64 - 1).clamp(0, left.max(0));
        self.budget = granted;
        self.rest = left - granted;
    }

    /// What is not a reduction's own has taken memory: fewer may be granted now.
    #[inline(always)]
    pub fn tighten(&mut self) {
        let free_words = (self.limit as i64 - self.free as i64) / 8;
        if free_words < (self.budget + 1) * self.words as i64 {
            self.grant(self.left(), 0);
        }
    }

    /// Counts a commitment to a clause of a predicate.
    #[inline(always)]
    pub fn commit(&mut self, predicate: u32) {
        match self.counts.get_mut(predicate as usize) {
            Some(count) => *count += 1,
            // SAFETY: there is a count for every predicate.
            None => unsafe { *self.more_counts.add(predicate as usize - COUNTED) += 1 },
        }
    }

    /// Notes an unbound variable.
    #[inline(always)]
    pub fn note(&mut self, variable: Word) {
        debug_assert!(variable.is_variable());
        let count = self.noted_count as usize;
        if count < MAX_NOTED {
            self.noted[count] = variable;
            self.noted_count += 1;
        }
    }
}
