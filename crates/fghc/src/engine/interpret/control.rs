//! Where a goal goes on, and how it commits, waits and ends.

use super::{Interpreter, Step};
use crate::engine::Exit;
use crate::engine::instruction::{Control, Label, role};
use crate::heap::goal::{ARGUMENTS, LINK, goal_arity, goal_predicate};

impl<const ONE: bool> Control for Interpreter<'_, ONE> {
    #[inline(always)]
    fn jump(&mut self, to: Label) -> Step {
        self.goto(to)
    }

    #[inline(always)]
    fn forget(&mut self) -> Step {
        self.engine.registers.noted_count = 0;
        self.next()
    }

    #[inline(always)]
    fn suspend(&mut self, predicate: role::Predicate) -> Step {
        // Not committed: no reduction.
        self.budget += 1;
        self.save();
        if !self.engine.suspend(predicate) {
            return Step::Break(self.engine.reduction_failed(predicate));
        }
        self.restore();
        self.proceed()
    }

    #[inline(always)]
    fn otherwise(&mut self, predicate: role::Predicate, to: Label) -> Step {
        if self.engine.registers.noted_count == 0 {
            return self.goto(to);
        }
        self.budget += 1;
        self.save();
        self.engine.suspend(predicate);
        self.restore();
        self.proceed()
    }

    #[inline(always)]
    fn count(&mut self, predicate: role::Predicate) -> Step {
        self.engine.registers.commit(predicate);
        self.next()
    }

    #[inline(always)]
    fn ensure(&mut self, words: role::Words, predicate: role::Predicate) -> Step {
        self.aside(|engine| engine.ensure(predicate, words as usize))?;
        self.next()
    }

    #[inline(always)]
    fn execute(&mut self, predicate: role::Goal, entry: role::Entry) -> Step {
        if ONE {
            self.save();
            self.engine.put_first(predicate);
            return Step::Break(Exit::Empty);
        }
        self.budget -= 1;
        if self.budget < 0 {
            self.save();
            match self.engine.pause(predicate) {
                Some(exit) => return Step::Break(exit),
                None => self.restore(),
            }
        }
        self.goto(entry)
    }

    #[inline(always)]
    fn proceed(&mut self) -> Step {
        let goal = self.engine.registers.ready;
        if ONE || goal.is_null() {
            self.engine.registers.free = self.free;
            self.engine.registers.budget = self.budget;
            return Step::Break(Exit::Empty);
        }
        // SAFETY: goals of the queue are records of this heap, of predicates of the code.
        let predicate = unsafe {
            self.engine.registers.ready = (*goal.add(LINK)).pointer();
            let header = *goal;
            let mut from = goal.add(ARGUMENTS);
            let mut to = self.x;
            let end = from.add(goal_arity(header));
            while from < end {
                *to = *from;
                from = from.add(1);
                to = to.add(1);
            }
            goal_predicate(header)
        };
        // SAFETY: goals are of predicates of the code.
        let entry = unsafe { self.code.predicates.get_unchecked(predicate as usize).entry };
        self.execute(predicate, entry)
    }

    #[inline(always)]
    fn builtin_entry(&mut self, predicate: role::Predicate) -> Step {
        // Builtins are no reductions.
        self.budget += 1;
        self.aside(|engine| {
            let well = engine.builtin_goal(predicate);
            engine.pass_round();
            well
        })?;
        self.proceed()
    }
}
