//! What tells clauses apart.

use super::{Answer, Interpreter, Step, both_integers, cell_value, follow, has_header};
use crate::engine::Exit;
use crate::engine::arithmetic::{self, Wrong, compare};
use crate::engine::instruction::{Label, Register, Tests, Type, role};
use crate::heap::word::{INT, LIST, OBJECT, REF};
use crate::heap::{Kind, Word};
use crate::ir::{BinaryOperation, Comparison};

impl<const ONE: bool> Tests for Interpreter<'_, ONE> {
    #[inline(always)]
    fn list(&mut self, register: Register, unbound: Label, other: Label) -> Step {
        let value = self.value(register);
        if value.tag() == LIST { self.next() } else { self.unlike(value, unbound, other) }
    }

    #[inline(always)]
    fn list_parts(&mut self, register: Register, head: Register, tail: Register, unbound: Label, other: Label) -> Step {
        let value = follow(self.get(register));
        if value.tag() == LIST {
            let cells = value.pointer();
            // SAFETY: a list of this heap has two cells.
            let (first, rest) = unsafe { (cell_value(cells), cell_value(cells.add(1))) };
            self.set(register, value);
            self.set(head, first);
            self.set(tail, rest);
            return self.next();
        }
        self.set(register, value);
        self.unlike(value, unbound, other)
    }

    #[inline(always)]
    fn constant(&mut self, register: Register, constant: role::Constant, unbound: Label, other: Label) -> Step {
        let value = self.value(register);
        if value == self.word(constant) { self.next() } else { self.unlike(value, unbound, other) }
    }

    #[inline(always)]
    fn header(&mut self, register: Register, header: role::Constant, unbound: Label, other: Label) -> Step {
        let value = self.value(register);
        if has_header(value, self.word(header)) { self.next() } else { self.unlike(value, unbound, other) }
    }

    #[inline(always)]
    fn boxed(&mut self, register: Register, constant: role::Boxed, unbound: Label, other: Label) -> Step {
        let value = self.value(register);
        if value.tag() == REF {
            return self.unbound(value, unbound);
        }
        // SAFETY: a bound value of this heap, and a constant of the code.
        let equals = unsafe { self.engine.equals_boxed(value, constant) };
        self.next_if(equals, other)
    }

    #[inline(always)]
    fn r#type(&mut self, kind: Type, register: Register, unbound: Label, other: Label) -> Step {
        let value = self.value(register);
        if value.tag() == REF {
            return self.unbound(value, unbound);
        }
        // SAFETY: a bound value of this heap.
        let holds = unsafe { has_type(value, kind) };
        self.next_if(holds, other)
    }

    #[inline(always)]
    fn switch(&mut self, register: Register, table: role::Table) -> Step {
        let value = self.value(register);
        // SAFETY: the code stays within its tables.
        let table = unsafe { self.code.tables.get_unchecked(table as usize) };
        match value.tag() {
            REF => self.unbound(value, table.unbound),
            LIST => self.goto(table.list),
            // SAFETY: the pointer of an object is that of its header.
            OBJECT => self.goto(*table.headers.get(unsafe { &*value.pointer() }).unwrap_or(&table.other)),
            _ => self.goto(*table.constants.get(&value).unwrap_or(&table.other)),
        }
    }

    #[inline(always)]
    fn compare(
        &mut self,
        comparison: Comparison,
        left: Register,
        right: Register,
        unbound: Label,
        other: Label,
    ) -> Step {
        let Some((a, b)) = self.integers(left, right) else { return self.goto(unbound) };
        self.next_if(compare(comparison, a.0 as i64, b.0 as i64), other)
    }

    #[inline(always)]
    fn compare_constant(
        &mut self,
        comparison: Comparison,
        left: Register,
        right: i16,
        unbound: Label,
        other: Label,
    ) -> Step {
        let Some(a) = self.integer(left) else { return self.goto(unbound) };
        let b = Word::small(i64::from(right));
        self.next_if(compare(comparison, a.0 as i64, b.0 as i64), other)
    }

    #[inline(always)]
    fn calculate(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: Register,
        unbound: Label,
        other: Label,
    ) -> Step {
        let Some((a, b)) = self.integers(left, right) else { return self.goto(unbound) };
        self.guard_result(operation, target, a, b, other)
    }

    #[inline(always)]
    fn calculate_constant(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: i16,
        unbound: Label,
        other: Label,
    ) -> Step {
        let Some(a) = self.integer(left) else { return self.goto(unbound) };
        self.guard_result(operation, target, a, Word::small(i64::from(right)), other)
    }

    #[inline(always)]
    fn guard(&mut self, guard: role::Guard, unbound: Label, other: Label) -> Step {
        self.save();
        let answer = self.engine.guard(guard);
        self.answer(answer, unbound, other)
    }

    #[inline(always)]
    fn same(&mut self, left: Register, right: Register, unbound: Label, other: Label) -> Step {
        self.save();
        let (left, right) = (self.get(left), self.get(right));
        let answer = self.engine.same(left, right);
        self.answer(answer, unbound, other)
    }
}

impl<const ONE: bool> Interpreter<'_, ONE> {
    /// A variable in a register that a test met: noted, and on where the test says.
    #[inline(always)]
    fn unbound(&mut self, value: Word, unbound: Label) -> Step {
        self.engine.registers.note(value);
        self.goto(unbound)
    }

    /// A value that is not what a test asks for, or not yet.
    #[inline(always)]
    fn unlike(&mut self, value: Word, unbound: Label, other: Label) -> Step {
        if value.tag() == REF { self.unbound(value, unbound) } else { self.goto(other) }
    }

    /// The integer in a register; `None`, after noting it, where that holds a variable.
    #[inline(always)]
    fn integer(&mut self, register: Register) -> Option<Word> {
        let mut value = self.get(register);
        if value.tag() != INT {
            value = follow(value);
            if value.tag() != INT {
                self.engine.note_both(value, value);
                return None;
            }
            self.set(register, value);
        }
        Some(value)
    }

    /// The integers in two registers; `None`, after noting them, where there are variables.
    #[inline(always)]
    fn integers(&mut self, left: Register, right: Register) -> Option<(Word, Word)> {
        let (mut a, mut b) = (self.get(left), self.get(right));
        if !both_integers(a, b) {
            a = follow(a);
            b = follow(b);
            if !both_integers(a, b) {
                self.engine.note_both(a, b);
                return None;
            }
            self.set(left, a);
            self.set(right, b);
        }
        Some((a, b))
    }

    /// The result of a calculation in a guard, which fails where there is none.
    #[inline(always)]
    fn guard_result(&mut self, operation: BinaryOperation, target: Register, a: Word, b: Word, other: Label) -> Step {
        match arithmetic::integers(operation, a, b) {
            Ok(value) => {
                self.set(target, value);
                self.next()
            }
            Err(Wrong::Division) => self.goto(other),
            Err(Wrong::Overflow) => {
                self.save();
                Step::Break(self.engine.overflow(operation, a, b))
            }
        }
    }

    /// Goes where a guard's answer says.
    #[inline(always)]
    fn answer(&mut self, answer: Answer, unbound: Label, other: Label) -> Step {
        self.restore();
        match answer {
            Answer::True => self.next(),
            Answer::False => self.goto(other),
            Answer::Unbound => self.goto(unbound),
            Answer::Problem => Step::Break(Exit::Problem),
        }
    }
}

/// Whether a bound value is of a type.
///
/// # Safety
/// `value` is a bound value of a live heap.
pub(crate) unsafe fn has_type(value: Word, kind: Type) -> bool {
    // SAFETY: the value is a bound one of a live heap (this function's condition), and the pointer of an object is that
    // of a header.
    let object = |wanted: Kind| value.tag() == OBJECT && unsafe { Kind::of(*value.pointer()) } == wanted;
    match kind {
        Type::Any => true,
        Type::Integer => value.is_integer(),
        Type::Atom => value.is_atom(),
        Type::Float => object(Kind::Float),
        Type::Atomic => value.is_integer() || value.is_atom() || object(Kind::Float),
        Type::List => value.tag() == LIST,
        Type::Structure => object(Kind::Structure),
        Type::Vector => object(Kind::Vector) || object(Kind::Array),
        Type::String => object(Kind::String),
        Type::Predicate => object(Kind::Predicate),
    }
}
