//! What loads registers, builds values and unifies.

use super::{Interpreter, Step, cell_value};
use crate::engine::instruction::{Building, Operand, Register, role};
use crate::heap::Word;
use crate::heap::word::{REF, UNBOUND};

impl<const ONE: bool> Building for Interpreter<'_, ONE> {
    #[inline(always)]
    fn cell(&mut self, target: Register, source: Register, index: u16) -> Step {
        // SAFETY: a test before has seen that there is such a cell.
        let value = unsafe { cell_value(self.get(source).pointer().add(index as usize)) };
        self.set(target, value);
        self.next()
    }

    #[inline(always)]
    fn r#move(&mut self, target: Register, source: Register) -> Step {
        self.set(target, self.get(source));
        self.next()
    }

    #[inline(always)]
    fn load(&mut self, target: Register, constant: role::Constant) -> Step {
        self.set(target, self.word(constant));
        self.next()
    }

    #[inline(always)]
    fn load_boxed(&mut self, target: Register, constant: role::Boxed) -> Step {
        self.save();
        let value = self.engine.load_boxed(constant);
        self.set(target, value);
        self.restore();
        self.next()
    }

    #[inline(always)]
    fn variable(&mut self, target: Register) -> Step {
        let cell = self.allocate(1);
        // SAFETY: the cell is a new one.
        unsafe { *cell = Word::FREE };
        self.set(target, Word::reference(cell));
        self.next()
    }

    #[inline(always)]
    fn cons(&mut self, target: Register, head: Register, tail: Register) -> Step {
        let cells = self.allocate(2);
        // SAFETY: both cells are new ones.
        unsafe {
            *cells = self.get(head);
            *cells.add(1) = self.get(tail);
        }
        self.set(target, Word::list(cells));
        self.next()
    }

    #[inline(always)]
    fn cons_variable(&mut self, target: Register, head: Register, tail: Register) -> Step {
        let list = self.list_with_variable(head, tail);
        self.set(target, list);
        self.next()
    }

    #[inline(always)]
    fn build(&mut self, target: Register, build: role::Build) -> Step {
        // SAFETY: the code stays within its tables.
        let build = unsafe { self.code.builds.get_unchecked(build as usize) };
        let object = self.allocate(1 + build.cells.len());
        let mut cell = object;
        // SAFETY: as many cells are new as are written.
        unsafe {
            *object = build.header;
            for operand in build.cells.iter() {
                cell = cell.add(1);
                *cell = match *operand {
                    Operand::Register(register) => self.get(register),
                    Operand::Constant(word) => word,
                    Operand::Variable(register) => {
                        self.set(register, Word::reference(cell));
                        Word::FREE
                    }
                };
            }
        }
        self.set(target, Word::object(object));
        self.next()
    }

    #[inline(always)]
    fn unify(&mut self, left: Register, right: Register) -> Step {
        let right = self.get(right);
        self.unify_value(left, right)
    }

    #[inline(always)]
    fn unify_cons_variable(&mut self, left: Register, head: Register, tail: Register) -> Step {
        let variable = self.get(left);
        let list = self.list_with_variable(head, tail);
        self.unify_values(variable, list)
    }

    #[inline(always)]
    fn unify_constant(&mut self, left: Register, constant: role::Constant) -> Step {
        let right = self.word(constant);
        self.unify_value(left, right)
    }
}

impl<const ONE: bool> Interpreter<'_, ONE> {
    /// A list of a register and a new variable, which `tail` then refers to.
    #[inline(always)]
    fn list_with_variable(&mut self, head: Register, tail: Register) -> Word {
        let cells = self.allocate(2);
        // SAFETY: both cells are new ones.
        unsafe {
            *cells = self.get(head);
            *cells.add(1) = Word::FREE;
            self.set(tail, Word::reference(cells.add(1)));
        }
        Word::list(cells)
    }

    #[inline(always)]
    fn unify_value(&mut self, left: Register, right: Word) -> Step {
        self.unify_values(self.get(left), right)
    }

    /// Active unification: here where a variable for which nothing waits is bound to what is none, else by the engine.
    #[inline(always)]
    fn unify_values(&mut self, mut left: Word, right: Word) -> Step {
        while left.tag() == REF {
            let cell = left.pointer();
            // SAFETY: a reference of this heap leads to a cell of it.
            let content = unsafe { *cell };
            if content.0 == UNBOUND && right.tag() != REF {
                // SAFETY: a reference of this heap leads to a cell of it.
                unsafe { *cell = right };
                return self.next();
            }
            if content.tag() == UNBOUND {
                break;
            }
            left = content;
        }
        self.save();
        if !self.engine.unify(left, right) {
            return Step::Break(self.engine.unification_failed(left, right));
        }
        self.restore();
        self.next()
    }
}
