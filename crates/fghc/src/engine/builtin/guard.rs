//! Operations of guards: a wrong type or an index out of range is a failure.

use std::cmp::Ordering;

use super::super::Engine;
use super::super::arithmetic::compare;
use super::super::array;
use super::super::instruction::{Guard, Register, Role};
use super::super::interpret::Answer;
use super::super::unify::{float_value, string_bytes};
use super::{Calculated, is_object};
use crate::builtins::{GuardBuiltin, Mode};
use crate::heap::word::{LIST, OBJECT, dereference};
use crate::heap::{Kind, Word};
use crate::ir::{Number, atoms};

impl Engine {
    pub(super) fn guard_goal(&mut self, guard: &Guard) -> Answer {
        match guard {
            Guard::Compare(number, comparison, left, right) => {
                let (left, right) = (self.register(*left), self.register(*right));
                if self.note_unbound(&[left, right]) {
                    return Answer::Unbound;
                }
                let holds = match number {
                    Number::Float if is_object(left, Kind::Float) && is_object(right, Kind::Float) => {
                        // SAFETY: both are floats.
                        let (left, right) = unsafe { (float_value(left.pointer()), float_value(right.pointer())) };
                        compare(*comparison, left, right)
                    }
                    _ => false,
                };
                if holds { Answer::True } else { Answer::False }
            }
            Guard::Unary(number, operation, target, operand) => {
                let operands = [self.register(*operand)];
                self.guard_number(Role::Unary(*number, *operation), &operands, *target)
            }
            Guard::Binary(number, operation, target, left, right) => {
                let operands = [self.register(*left), self.register(*right)];
                self.guard_number(Role::Binary(*number, *operation), &operands, *target)
            }
            Guard::Builtin(builtin, inputs, outputs) => self.guard_builtin(*builtin, inputs, outputs),
        }
    }

    fn register(&self, register: Register) -> Word {
        // SAFETY: the compiler's registers hold values of this heap.
        unsafe { dereference(*self.registers.x.add(register as usize)) }
    }

    fn set(&mut self, register: Register, value: Word) {
        // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each holds
        // a value of this heap from the start.
        unsafe { *self.registers.x.add(register as usize) = value }
    }

    fn note_unbound(&mut self, values: &[Word]) -> bool {
        let mut unbound = false;
        for value in values {
            if value.is_variable() {
                self.registers.note(*value);
                unbound = true;
            }
        }
        unbound
    }

    fn guard_number(&mut self, role: Role, operands: &[Word], target: Register) -> Answer {
        match self.number(role, operands) {
            Calculated::Value(value) => {
                self.set(target, value);
                Answer::True
            }
            Calculated::Unbound => Answer::Unbound,
            Calculated::Fails(_) => Answer::False,
            Calculated::Problem => Answer::Problem,
        }
    }

    fn guard_builtin(&mut self, builtin: GuardBuiltin, inputs: &[Register], outputs: &[Register]) -> Answer {
        let mut values = [Word::NIL; 4];
        for (value, register) in values.iter_mut().zip(inputs) {
            *value = self.register(*register);
        }
        let values = &values[..inputs.len()];
        let modes = builtin.modes().iter().filter(|mode| **mode != Mode::Output);
        let deep = modes.clone().any(|mode| *mode == Mode::Deep);
        if !deep && self.note_unbound(values) {
            return Answer::Unbound;
        }
        let answer = |holds: bool| if holds { Answer::True } else { Answer::False };
        match builtin {
            GuardBuiltin::Fail => Answer::False,
            GuardBuiltin::Different => match self.same(values[0], values[1]) {
                Answer::True => Answer::False,
                Answer::False => Answer::True,
                answer => answer,
            },
            GuardBuiltin::Less | GuardBuiltin::LessOrEqual | GuardBuiltin::Greater | GuardBuiltin::GreaterOrEqual => {
                match self.order(values[0], values[1]) {
                    None => self.undecided(),
                    Some(order) => answer(match builtin {
                        GuardBuiltin::Less => order == Ordering::Less,
                        GuardBuiltin::LessOrEqual => order != Ordering::Greater,
                        GuardBuiltin::Greater => order == Ordering::Greater,
                        _ => order != Ordering::Less,
                    }),
                }
            }
            GuardBuiltin::Compare => match self.order(values[0], values[1]) {
                None => self.undecided(),
                Some(order) => self.results(outputs, &[Word::small(order as i64)]),
            },
            GuardBuiltin::Hash => match self.hash(values[0]) {
                None => self.undecided(),
                Some(hash) => self.results(outputs, &[Word::small(hash)]),
            },
            GuardBuiltin::StringLess | GuardBuiltin::StringNotLess => {
                if !is_object(values[0], Kind::String) || !is_object(values[1], Kind::String) {
                    return Answer::False;
                }
                // SAFETY: both are strings.
                let less = unsafe { string_bytes(values[0].pointer()) < string_bytes(values[1].pointer()) };
                answer(less == (builtin == GuardBuiltin::StringLess))
            }
            GuardBuiltin::CurrentPriority => {
                let priority = self.queues[self.current as usize].priority;
                self.results(outputs, &[Word::small(i64::from(priority))])
            }
            GuardBuiltin::CurrentNode => {
                self.results(outputs, &[Word::small(self.node as i64), Word::small(self.pes as i64)])
            }
            GuardBuiltin::Vector if is_object(values[0], Kind::Vector) => self.guard_size(values[0], outputs),
            GuardBuiltin::String if is_object(values[0], Kind::String) => {
                // SAFETY: a string.
                let size = unsafe { (*values[0].pointer()).payload() };
                self.results(outputs, &[Word::small(size as i64), Word::small(8)])
            }
            GuardBuiltin::Size if is_object(values[0], Kind::Vector) || is_object(values[0], Kind::String) => {
                self.guard_size(values[0], outputs)
            }
            GuardBuiltin::Arity if is_object(values[0], Kind::Predicate) => {
                // SAFETY: a predicate.
                let predicate = unsafe { (*values[0].pointer()).payload() };
                let arity = self.code.predicates[predicate as usize].arity;
                self.results(outputs, &[Word::small(i64::from(arity))])
            }
            GuardBuiltin::Functor => {
                let (name, arity) = self.functor(values[0]);
                self.results(outputs, &[name, Word::small(arity as i64)])
            }
            GuardBuiltin::VectorElement | GuardBuiltin::StringElement | GuardBuiltin::Element => {
                let fits = match builtin {
                    GuardBuiltin::VectorElement => is_object(values[0], Kind::Vector),
                    GuardBuiltin::StringElement => is_object(values[0], Kind::String),
                    _ => true,
                };
                match self.element(values[0], values[1]) {
                    Some(element) if fits => self.results(outputs, &[element]),
                    _ => Answer::False,
                }
            }
            GuardBuiltin::Argument => match self.argument(values[0], values[1]) {
                Some(argument) => self.results(outputs, &[argument]),
                None => Answer::False,
            },
            // Type tests are instructions; of the others nothing but a wrong type is left.
            _ => Answer::False,
        }
    }

    /// Something had no answer: because of variables that were noted, or of a problem.
    fn undecided(&self) -> Answer {
        if self.has_problem() { Answer::Problem } else { Answer::Unbound }
    }

    fn guard_size(&mut self, value: Word, outputs: &[Register]) -> Answer {
        // SAFETY: a vector or string.
        let size = unsafe { (*value.pointer()).payload() };
        self.results(outputs, &[Word::small(size as i64)])
    }

    fn results(&mut self, outputs: &[Register], values: &[Word]) -> Answer {
        for (register, value) in outputs.iter().zip(values) {
            self.set(*register, *value);
        }
        Answer::True
    }

    /// Name and number of arguments.
    pub(super) fn functor(&self, value: Word) -> (Word, usize) {
        if value.tag() == LIST {
            return (Word::atom(atoms::DOT.0), 2);
        }
        if is_object(value, Kind::Structure) {
            // SAFETY: a structure.
            let header = unsafe { *value.pointer() };
            return (Word::atom(header.name()), header.arity());
        }
        (value, 0)
    }

    /// The element of a vector or the byte of a string.
    pub(super) fn element(&mut self, value: Word, index: Word) -> Option<Word> {
        if !index.is_integer() || value.tag() != OBJECT {
            return None;
        }
        let index = usize::try_from(index.value()).ok()?;
        // SAFETY: an object of this heap.
        unsafe {
            let header = value.pointer();
            match Kind::of(*header) {
                Kind::Vector if index < (*header).payload() as usize => {
                    Some(dereference(Word::reference(header.add(1 + index))))
                }
                Kind::Array if index < (*header).payload() as usize => {
                    let (element, versions) = array::element(header, index);
                    self.spend(versions);
                    Some(element)
                }
                Kind::String => string_bytes(header).get(index).map(|byte| Word::small(i64::from(*byte))),
                _ => None,
            }
        }
    }

    /// The argument of a structure or list cell; position and structure in either order.
    pub(super) fn argument(&self, first: Word, second: Word) -> Option<Word> {
        let (index, value) = if first.is_integer() { (first, second) } else { (second, first) };
        if !index.is_integer() {
            return None;
        }
        let index = usize::try_from(index.value()).ok()?.checked_sub(1)?;
        let (_, arity) = self.functor(value);
        if index >= arity {
            return None;
        }
        // SAFETY: a list cell or a structure with so many arguments.
        unsafe {
            let first = if value.tag() == LIST { value.pointer() } else { value.pointer().add(1) };
            Some(dereference(Word::reference(first.add(index))))
        }
    }
}
