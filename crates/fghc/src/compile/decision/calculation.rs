//! Tests that calculate: arithmetic, comparisons of numbers, and guards that are calls.

use crate::builtins::GuardBuiltin;
use crate::engine::instruction::{Guard, Instruction, NOWHERE, Register, Type};
use crate::ir::{BinaryOperation, Comparison, Number, Span};

use super::super::clause::{Value, ValueId};
use super::body;
use super::{Block, Fact, Question, State, Tree};

impl Tree<'_> {
    pub(super) fn make_compute(&mut self, state: &mut State, value: ValueId, block: &mut Block) {
        let learn_undecided = |next: &mut State| {
            next.facts.insert(value, Fact::Undecided);
        };
        let learn_failed = |next: &mut State| {
            next.facts.insert(value, Fact::Failed);
        };
        match self.values.list[value as usize].clone() {
            Value::Binary(Number::Integer, operation, left, right) => {
                let span = self.guard_span(state);
                let known = self.is_integer(state, left) && self.is_integer(state, right);
                let immediate = self.immediate(right);
                let left_register = self.load(state, left, block);
                let unbound = if known { NOWHERE } else { self.without_first(state, true, learn_undecided) };
                let other = match operation {
                    BinaryOperation::Divide
                    | BinaryOperation::Modulo
                    | BinaryOperation::ShiftLeft
                    | BinaryOperation::ShiftRight => self.without_first(state, false, learn_failed),
                    _ => NOWHERE,
                };
                let instruction = match immediate {
                    Some(right) => {
                        let target = self.new_register(state);
                        state.registers.insert(value, target);
                        Instruction::CalculateConstant { operation, target, left: left_register, right, unbound, other }
                    }
                    None => {
                        let right = self.load(state, right, block);
                        let target = self.new_register(state);
                        state.registers.insert(value, target);
                        Instruction::Calculate { operation, target, left: left_register, right, unbound, other }
                    }
                };
                block.push(instruction, span);
                for operand in [left, right] {
                    self.learn_integer(state, operand);
                }
                state.facts.insert(value, Fact::Type(Type::Integer));
            }
            Value::Binary(number, operation, left, right) => {
                let left = self.load(state, left, block);
                let right = self.load(state, right, block);
                let target = self.new_register(state);
                let guard = self.guard(Guard::Binary(number, operation, target, left, right));
                self.make_guard(state, value, guard, block, &[(value, target)]);
                state.facts.insert(value, Fact::Type(Type::Float));
            }
            Value::Unary(number, operation, operand) => {
                let operand = self.load(state, operand, block);
                let target = self.new_register(state);
                let guard = self.guard(Guard::Unary(number, operation, target, operand));
                self.make_guard(state, value, guard, block, &[(value, target)]);
                state.facts.insert(value, Fact::Not(Vec::new()));
            }
            Value::Output(builtin, inputs, _) => {
                let registers = inputs.iter().map(|input| self.load(state, *input, block)).collect();
                let mut outputs = Vec::new();
                for (number, other) in self.values.list.iter().enumerate() {
                    if let Value::Output(same, same_inputs, index) = other
                        && *same == builtin
                        && *same_inputs == inputs
                    {
                        outputs.push((*index, number as ValueId));
                    }
                }
                outputs.sort_unstable();
                let targets: Vec<(ValueId, Register)> =
                    outputs.iter().map(|(_, number)| (*number, self.new_register(state))).collect();
                let guard = self.guard(Guard::Builtin(
                    builtin,
                    registers,
                    targets.iter().map(|(_, register)| *register).collect(),
                ));
                self.make_guard(state, value, guard, block, &targets);
                if matches!(builtin, GuardBuiltin::Size | GuardBuiltin::Compare | GuardBuiltin::Hash) {
                    state.facts.insert(value, Fact::Type(Type::Integer));
                }
            }
            Value::Built(clause, number) => {
                let (term, variables) = self.values.built[number as usize].clone();
                let register = body::build_in_guard(self, state, clause as usize, &term, &variables, block);
                state.registers.insert(value, register);
            }
            Value::Argument(_) | Value::Cell(..) | Value::Constant(_) | Value::Boxed(_) => {}
        }
    }

    fn guard_span(&self, state: &State) -> Option<Span> {
        state.clauses.first().map(|(index, _)| self.predicate.clauses[self.prepared[*index].clause].span)
    }

    pub(super) fn make_guard(
        &mut self,
        state: &mut State,
        value: ValueId,
        guard: u32,
        block: &mut Block,
        targets: &[(ValueId, Register)],
    ) {
        let unbound = self.without_first(state, true, |next| {
            next.facts.insert(value, Fact::Undecided);
        });
        let other = self.without_first(state, false, |next| {
            next.facts.insert(value, Fact::Failed);
        });
        let span = self.guard_span(state);
        block.push(Instruction::Guard { guard, unbound, other }, span);
        state.registers.extend(targets.iter().copied());
    }

    /// An integer that fits into an instruction.
    fn immediate(&self, value: ValueId) -> Option<i16> {
        match &self.values.list[value as usize] {
            Value::Constant(word) if word.is_integer() => i16::try_from(word.value()).ok(),
            _ => None,
        }
    }

    fn learn_integer(&self, state: &mut State, value: ValueId) {
        if !matches!(self.values.list[value as usize], Value::Constant(_))
            && !matches!(state.facts.get(&value), Some(Fact::Shape(_)))
        {
            state.facts.insert(value, Fact::Type(Type::Integer));
        }
    }

    pub(super) fn make_compare(
        &mut self,
        state: &mut State,
        (number, comparison, left, right): (Number, Comparison, ValueId, ValueId),
        block: &mut Block,
    ) {
        let (question, same) = question(number, comparison, left, right);
        let learn_false = |next: &mut State| {
            if number == Number::Integer || question.1 {
                next.answers.insert(question, !same);
            }
        };
        let left_register = self.load(state, left, block);
        if number == Number::Float {
            let right_register = self.load(state, right, block);
            let unbound = self.without_first(state, true, |_| {});
            // A wrong type ends here too, so nothing is learnt.
            let other = self.without_first(state, false, |_| {});
            let guard = self.guard(Guard::Compare(number, comparison, left_register, right_register));
            block.push(Instruction::Guard { guard, unbound, other }, None);
            state.answers.insert(question, same);
            return;
        }
        let known = self.is_integer(state, left) && self.is_integer(state, right);
        let immediate = self.immediate(right);
        let right_register = if immediate.is_none() { self.load(state, right, block) } else { 0 };
        let unbound = if known { NOWHERE } else { self.without_first(state, true, |_| {}) };
        for operand in [left, right] {
            self.learn_integer(state, operand);
        }
        let other = self.without_first(state, false, learn_false);
        block.push(
            match immediate {
                Some(right) => Instruction::CompareConstant { comparison, left: left_register, right, unbound, other },
                None => Instruction::Compare { comparison, left: left_register, right: right_register, unbound, other },
            },
            None,
        );
        state.answers.insert(question, same);
    }
}

/// A comparison as a question and the answer that makes it true.
pub(super) fn question(number: Number, comparison: Comparison, left: ValueId, right: ValueId) -> (Question, bool) {
    let float = number == Number::Float;
    let equal = (float, false, left.min(right), left.max(right));
    match (comparison, number) {
        (Comparison::Less, _) => ((float, true, left, right), true),
        (Comparison::Greater, _) => ((float, true, right, left), true),
        (Comparison::GreaterOrEqual, Number::Integer) => ((float, true, left, right), false),
        (Comparison::LessOrEqual, Number::Integer) => ((float, true, right, left), false),
        (Comparison::Equal, _) => (equal, true),
        (Comparison::NotEqual, _) => (equal, false),
        // With floats that are no numbers neither side of these is the negation of the other: a question of its own.
        (Comparison::GreaterOrEqual, Number::Float) => ((float, false, left, ValueId::MAX - right), true),
        (Comparison::LessOrEqual, Number::Float) => ((float, false, right, ValueId::MAX - left), true),
    }
}
