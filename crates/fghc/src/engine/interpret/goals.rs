//! What a body does beside building: calculations, builtins, goals.

use super::{Interpreter, Step, both_integers, follow};
use crate::engine::Exit;
use crate::engine::arithmetic;
use crate::engine::instruction::{Goals, Operand, Register, role};
use crate::heap::Word;
use crate::heap::goal::{ARGUMENTS, LINK, goal_header, state};
use crate::ir::BinaryOperation;

impl<const ONE: bool> Goals for Interpreter<'_, ONE> {
    #[inline(always)]
    fn body_calculate(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: Register,
    ) -> Step {
        let (a, b) = (follow(self.get(left)), follow(self.get(right)));
        if both_integers(a, b)
            && let Ok(value) = arithmetic::integers(operation, a, b)
        {
            self.set(target, value);
            return self.next();
        }
        self.save();
        let Some(value) = self.engine.body_integers(operation, a, b) else { return Step::Break(Exit::Problem) };
        self.set(target, value);
        self.restore();
        self.next()
    }

    #[inline(always)]
    fn body_number(&mut self, calculation: role::Calculation) -> Step {
        self.aside(|engine| engine.body_number(calculation))?;
        self.next()
    }

    #[inline(always)]
    fn builtin(&mut self, call: role::Call) -> Step {
        self.aside(|engine| engine.builtin_inline(call))?;
        self.next()
    }

    #[inline(always)]
    fn push(&mut self, call: role::Call) -> Step {
        // SAFETY: the code stays within its tables.
        let site = unsafe { self.code.calls.get_unchecked(call as usize) };
        let goal = self.allocate(ARGUMENTS + site.arguments.len());
        // SAFETY: as many words are new as are written; arguments of goals are no variables in place.
        unsafe {
            *goal = goal_header(site.predicate, site.arguments.len(), state::READY, 0);
            *goal.add(LINK) = Word(self.engine.registers.ready as u64);
            let mut to = goal.add(ARGUMENTS);
            for operand in site.arguments.iter() {
                *to = match *operand {
                    Operand::Register(register) => self.get(register),
                    Operand::Constant(word) => word,
                    Operand::Variable(_) => std::hint::unreachable_unchecked(),
                };
                to = to.add(1);
            }
        }
        self.engine.registers.ready = goal;
        self.next()
    }

    #[inline(always)]
    fn start(&mut self, start: role::Start) -> Step {
        self.aside(|engine| engine.start_site(start))?;
        self.next()
    }

    #[inline(always)]
    fn metacall(&mut self, metacall: role::Metacall) -> Step {
        self.save();
        self.engine.metacall_site(metacall);
        self.restore();
        self.next()
    }
}
