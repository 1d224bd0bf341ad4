//! The interpreter: takes one instruction after the other.
//!
//! What an instruction does is a method of [`Interpreter`], which the table of instructions asks for: [`tests`] tell
//! clauses apart, [`building`] makes and unifies values, [`goals`] calculates, calls builtins and starts goals, and
//! [`control`] commits, waits and goes on.

mod building;
mod control;
mod goals;
mod tests;

use std::ops::ControlFlow;

use super::instruction::{self, Code, Instruction, Label, NOWHERE, Register};
use super::{Engine, Exit};
use crate::heap::Word;
use crate::heap::word::{INT, OBJECT, TAG_MASK, UNBOUND, dereference};

#[cfg(feature = "native")]
pub(crate) use tests::has_type;

/// What guards and bodies do beside their own instructions answers so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    True,
    False,
    /// Variables have been noted.
    Unbound,
    /// The engine has a problem to report.
    Problem,
}

/// Whether the interpreter goes on after an instruction.
type Step = ControlFlow<Exit>;

/// Where the interpreter begins: with the next goal.
static PROCEED: [Instruction; 1] = [Instruction::Proceed];

impl Engine {
    /// Runs goals of the present queue until it is empty, the budget is spent or something must be reported.
    pub(crate) fn interpret(&mut self) -> Exit {
        self.interpret_from::<false>(PROCEED.as_ptr())
    }

    /// Runs the goal in registers 0 and up, whose reduction has been counted; what it goes on with becomes the next goal of
    /// the queue. [`Exit::Empty`] when that is done.
    #[cfg(feature = "native")]
    pub(crate) fn interpret_goal(&mut self, predicate: u32) -> Exit {
        let code = self.shared_code();
        let entry = code.predicates[predicate as usize].entry;
        self.interpret_from::<true>(&code.instructions[entry as usize])
    }

    /// Runs from an instruction on, with `ONE` to the end of one reduction.
    ///
    /// Kept out of its callers: the processor's registers are all for the interpreter.
    #[inline(never)]
    fn interpret_from<const ONE: bool>(&mut self, begin: *const Instruction) -> Exit {
        let code = self.shared_code();
        let mut interpreter = Interpreter::<ONE> {
            code,
            base: code.instructions.as_ptr(),
            x: self.registers.x,
            free: self.registers.free,
            budget: self.registers.budget,
            at: begin,
            engine: self,
        };
        loop {
            // SAFETY: `at` is the address of an instruction: the compiler ends every block.
            let instruction = unsafe { &*interpreter.at };
            if let ControlFlow::Break(exit) = instruction::dispatch(&mut interpreter, instruction) {
                return exit;
            }
        }
    }

    pub(crate) fn note_both(&mut self, left: Word, right: Word) {
        if left.is_variable() {
            self.registers.note(left);
        }
        if right.is_variable() && right != left {
            self.registers.note(right);
        }
    }
}

/// An engine while its code is interpreted, to the end of one reduction with `ONE`.
///
/// Free pointer and budget are here and not in the engine's registers, which have them only between
/// [`Interpreter::save`] and [`Interpreter::restore`]. All methods that an instruction needs every time are inlined into
/// one loop, in which the fields are registers of the processor.
///
/// What the `unsafe` blocks of these methods rely on holds from [`Engine::interpret_from`] on and for every instruction:
/// the compiler makes code that stays within registers and tables, ends every block, and allocates no more between two
/// looks at the limit than the reserve; values in registers are values of this heap.
struct Interpreter<'e, const ONE: bool> {
    engine: &'e mut Engine,
    code: &'e Code,
    /// The first instruction of the code.
    base: *const Instruction,
    /// Register 0.
    x: *mut Word,
    /// First free word of the heap.
    free: *mut Word,
    /// Reductions for which there is memory for sure.
    budget: i64,
    /// The present instruction.
    at: *const Instruction,
}

impl<const ONE: bool> instruction::Machine for Interpreter<'_, ONE> {
    type Step = Step;
}

impl<const ONE: bool> Interpreter<'_, ONE> {
    // ---- registers and memory -------------------------------------------------------------------------------------

    #[inline(always)]
    fn get(&self, register: Register) -> Word {
        // SAFETY: the code stays within registers.
        unsafe { *self.x.add(register as usize) }
    }

    #[inline(always)]
    fn set(&mut self, register: Register, value: Word) {
        // SAFETY: the code stays within registers.
        unsafe { *self.x.add(register as usize) = value }
    }

    /// The value of a register once references are followed, which the register keeps.
    #[inline(always)]
    fn value(&mut self, register: Register) -> Word {
        let value = follow(self.get(register));
        self.set(register, value);
        value
    }

    #[inline(always)]
    fn word(&self, constant: u32) -> Word {
        // SAFETY: the code stays within its tables.
        unsafe { *self.code.constants.get_unchecked(constant as usize) }
    }

    /// New words of the heap, which the caller writes before anything reads them.
    #[inline(always)]
    fn allocate(&mut self, words: usize) -> *mut Word {
        let cells = self.free;
        // SAFETY: there is memory for all that a reduction may take.
        self.free = unsafe { cells.add(words) };
        cells
    }

    // ---- where it goes on -----------------------------------------------------------------------------------------

    #[inline(always)]
    fn next(&mut self) -> Step {
        // SAFETY: every block is ended by an instruction that does not come here.
        self.at = unsafe { self.at.add(1) };
        Step::Continue(())
    }

    #[inline(always)]
    fn goto(&mut self, label: Label) -> Step {
        debug_assert!(label != NOWHERE);
        // SAFETY: labels are instructions of the code.
        self.at = unsafe { self.base.add(label as usize) };
        Step::Continue(())
    }

    /// To the next instruction if a test holds, elsewhere if not.
    #[inline(always)]
    fn next_if(&mut self, holds: bool, other: Label) -> Step {
        if holds { self.next() } else { self.goto(other) }
    }

    // ---- beside the interpreter -----------------------------------------------------------------------------------

    /// Lets the engine see what is kept here.
    #[inline(always)]
    fn save(&mut self) {
        self.engine.registers.free = self.free;
        self.engine.registers.budget = self.budget;
        // SAFETY: both are addresses of instructions of the code.
        self.engine.registers.at = unsafe { self.at.offset_from(self.base) } as u64;
    }

    /// Takes over what the engine has changed.
    #[inline(always)]
    fn restore(&mut self) {
        self.engine.registers.tighten();
        self.free = self.engine.registers.free;
        self.budget = self.engine.registers.budget;
    }

    /// Does what the engine has a function for, and ends where that meets a problem.
    #[inline(always)]
    fn aside(&mut self, action: impl FnOnce(&mut Engine) -> bool) -> Step {
        self.save();
        if !action(self.engine) {
            return Step::Break(Exit::Problem);
        }
        self.restore();
        Step::Continue(())
    }
}

#[inline(always)]
fn follow(value: Word) -> Word {
    // SAFETY: values in registers are values of this heap.
    unsafe { dereference(value) }
}

#[inline(always)]
fn both_integers(left: Word, right: Word) -> bool {
    ((left.0 ^ INT) | (right.0 ^ INT)) & TAG_MASK == 0
}

/// Whether a value is an object with this header.
#[inline(always)]
fn has_header(value: Word, header: Word) -> bool {
    // SAFETY: the pointer of an object is that of its header.
    value.tag() == OBJECT && unsafe { *value.pointer() } == header
}

/// The content of a cell as a value: a reference to the cell where it is unbound.
///
/// # Safety
/// The cell is one of a live heap.
#[inline(always)]
unsafe fn cell_value(cell: *mut Word) -> Word {
    // SAFETY: the cell is one of a live heap (this function's condition), and cells are written when they are
    // allocated.
    let content = unsafe { *cell };
    if content.tag() == UNBOUND { Word::reference(cell) } else { content }
}
