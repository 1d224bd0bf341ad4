//! What each instruction becomes.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::function::Function;
use super::names::{WORD, field};
use crate::engine::instruction::{Calculation, Guard, Instruction, Operand, Register, Type as ValueType};
use crate::engine::interpret;
use crate::engine::thrown;
use crate::heap::Word;
use crate::heap::goal::{ARGUMENTS, LINK, goal_header, state};
use crate::heap::word::{ATOM, INT, LIST, OBJECT, REF, TAG_MASK, UNBOUND};
use crate::ir::Comparison;

impl Function<'_> {
    /// One instruction; false when it ends the block.
    pub(super) fn instruction(&mut self, instruction: Instruction) -> bool {
        match instruction {
            Instruction::List { register, unbound, other } => {
                self.test(register, unbound, other, |function, value| function.has_tag(value, LIST));
            }
            Instruction::ListParts { register, head, tail, unbound, other } => {
                let value = self.test(register, unbound, other, |function, value| function.has_tag(value, LIST));
                self.parts(value, head, tail);
            }
            Instruction::Constant { register, constant, unbound, other } => {
                let wanted = self.code.constants[constant as usize].0;
                self.list_first(register, other);
                self.test(register, unbound, other, |function, value| {
                    let wanted = function.constant(wanted);
                    function.b.ins().icmp(IntCC::Equal, value, wanted)
                });
            }
            Instruction::Header { register, header, unbound, other } => {
                let value = self.test(register, unbound, other, |function, value| function.has_tag(value, OBJECT));
                let wanted = self.constant(self.code.constants[header as usize].0);
                let found = self.load(value, -(OBJECT as i32));
                self.compare(Comparison::Equal, found, wanted, other);
            }
            Instruction::Boxed { register, constant, unbound, other } => {
                let value = self.test(register, unbound, other, |function, value| function.has_tag(value, OBJECT));
                let constant = self.constant(u64::from(constant));
                let equal = self.call("equals_boxed", &[value, constant]);
                let (yes, other) = (self.b.create_block(), self.label(other));
                self.b.ins().brif(equal, yes, &[], other, &[]);
                self.b.switch_to_block(yes);
            }
            Instruction::Type { kind, register, unbound, other } => {
                self.test(register, unbound, other, |function, value| match kind {
                    ValueType::Integer => function.has_tag(value, INT),
                    ValueType::Atom => function.has_tag(value, ATOM),
                    ValueType::List => function.has_tag(value, LIST),
                    ValueType::Any => {
                        let reference = function.has_tag(value, REF);
                        function.b.ins().bxor_imm_s(reference, 1)
                    }
                    kind => {
                        // Variables are of no type; the helper looks at values only.
                        let reference = function.has_tag(value, REF);
                        let (ask, done) = (function.b.create_block(), function.b.create_block());
                        let answer = function.b.append_block_param(done, WORD);
                        let no = function.constant(0);
                        function.b.ins().brif(reference, done, &[BlockArg::Value(no)], ask, &[]);
                        function.b.switch_to_block(ask);
                        let kind = function.constant(kind as u64);
                        let is = function.call("is_of_type", &[value, kind]);
                        function.b.ins().jump(done, &[BlockArg::Value(is)]);
                        function.b.switch_to_block(done);
                        answer
                    }
                });
            }
            Instruction::Switch { register, table } => {
                self.switch(register, table);
                return false;
            }
            Instruction::Cell { target, source, index } => {
                let base = self.get(source);
                // The tag is not known here: take it away.
                let base = self.b.ins().band_imm_s(base, !(TAG_MASK as i64));
                let value = self.cell(base, i32::from(index) * 8);
                self.set(target, value);
            }
            Instruction::Compare { comparison, left, right, unbound, other } => {
                self.integers(&[left, right], unbound);
                let (left, right) = (self.get(left), self.get(right));
                self.compare(comparison, left, right, other);
            }
            Instruction::CompareConstant { comparison, left, right, unbound, other } => {
                self.integers(&[left], unbound);
                let (left, right) = (self.get(left), self.constant(Word::small(i64::from(right)).0));
                self.compare(comparison, left, right, other);
            }
            Instruction::Calculate { operation, target, left, right, unbound, other } => {
                self.guard_calculate(operation, target, left, Ok(right), (unbound, other));
            }
            Instruction::CalculateConstant { operation, target, left, right, unbound, other } => {
                self.guard_calculate(operation, target, left, Err(right), (unbound, other));
            }
            Instruction::Guard { guard, unbound, other } => {
                let reads: Vec<Register> = match &self.code.guards[guard as usize] {
                    Guard::Compare(_, _, left, right) | Guard::Binary(_, _, _, left, right) => vec![*left, *right],
                    Guard::Unary(_, _, _, operand) => vec![*operand],
                    Guard::Builtin(_, inputs, _) => inputs.to_vec(),
                };
                self.spill(reads);
                self.save();
                let number = self.constant(u64::from(guard));
                let answer = self.call("guard", &[number]);
                self.restore();
                self.answer(answer, unbound, other);
                let mut writes = Vec::new();
                instruction.writes(self.code, &mut |register| writes.push(register));
                self.fill(writes);
            }
            Instruction::Same { left, right, unbound, other } => {
                self.save();
                let (left, right) = (self.get(left), self.get(right));
                let answer = self.call("same", &[left, right]);
                self.restore();
                self.answer(answer, unbound, other);
            }
            Instruction::Jump { to } => {
                let to = self.label(to);
                self.b.ins().jump(to, &[]);
                return false;
            }
            Instruction::Forget => {
                let none = self.constant(0);
                self.store_field(none, field!(noted_count));
            }
            Instruction::Suspend { .. } => {
                self.suspend();
                return false;
            }
            Instruction::Otherwise { to, .. } => {
                let noted = self.load_field(field!(noted_count));
                let (to, wait) = (self.label(to), self.cold());
                self.b.ins().brif(noted, wait, &[], to, &[]);
                self.b.switch_to_block(wait);
                self.suspend();
                return false;
            }
            Instruction::Count { predicate } => {
                debug_assert_eq!(predicate, self.predicate);
                self.commit();
            }
            Instruction::Move { target, source } => {
                let value = self.get(source);
                self.set(target, value);
            }
            Instruction::Load { target, constant } => {
                let value = self.constant(self.code.constants[constant as usize].0);
                self.set(target, value);
            }
            Instruction::LoadBoxed { target, constant } => {
                self.save();
                let constant = self.constant(u64::from(constant));
                let value = self.call("load_boxed", &[constant]);
                self.restore();
                self.set(target, value);
            }
            Instruction::Variable { target } => {
                let cell = self.allocate(1);
                let free = self.constant(UNBOUND);
                self.store(free, cell, 0);
                let reference = self.tagged(cell, REF);
                self.set(target, reference);
            }
            Instruction::Cons { target, head, tail } => {
                let (head, tail) = (self.get(head), self.get(tail));
                let list = self.cons(head, tail);
                self.set(target, list);
            }
            Instruction::ConsVariable { target, head, tail } => {
                let head = self.get(head);
                let (list, rest) = self.cons_variable(head);
                self.set(tail, rest);
                self.set(target, list);
            }
            Instruction::Build { target, build } => {
                let build = &self.code.builds[build as usize];
                let object = self.allocate(1 + build.cells.len());
                let header = self.constant(build.header.0);
                self.store(header, object, 0);
                for (index, operand) in build.cells.iter().enumerate() {
                    let offset = (index as i32 + 1) * 8;
                    let place = self.b.ins().iadd_imm_s(object, i64::from(offset));
                    let value = self.operand(operand, place);
                    self.store(value, object, offset);
                }
                let value = self.tagged(object, OBJECT);
                self.set(target, value);
            }
            Instruction::Unify { left, right } => {
                let (left, right) = (self.get(left), self.get(right));
                self.unify(left, right, false);
            }
            Instruction::UnifyConsVariable { left, head, tail } => {
                let head = self.get(head);
                let (list, rest) = self.cons_variable(head);
                self.bind(left, list);
                self.set(tail, rest);
            }
            Instruction::UnifyConstant { left, constant } => {
                let right = self.constant(self.code.constants[constant as usize].0);
                self.bind(left, right);
            }
            Instruction::BodyCalculate { operation, target, left, right } => {
                self.body_calculate(operation, target, left, right);
            }
            Instruction::BodyNumber { calculation } => {
                debug_assert!(matches!(
                    self.code.calculations[calculation as usize],
                    Calculation::Unary(..) | Calculation::Binary(..)
                ));
                self.in_body(&instruction, "body_number", calculation);
            }
            Instruction::Builtin { call } => self.in_body(&instruction, "builtin_in_place", call),
            Instruction::Start { start } => {
                let site = &self.code.starts[start as usize];
                match site.place {
                    Some((_, place)) if thrown::is_plain(site) => self.throw(&instruction, start, place),
                    _ => self.in_body(&instruction, "start_site", start),
                }
            }
            Instruction::Metacall { metacall } => self.in_body(&instruction, "metacall_site", metacall),
            Instruction::Push { call } => {
                let site = &self.code.calls[call as usize];
                let goal = self.allocate(ARGUMENTS + site.arguments.len());
                let header = goal_header(site.predicate, site.arguments.len(), state::READY, 0);
                let header = self.constant(header.0);
                self.store(header, goal, 0);
                let ready = self.load_field(field!(ready));
                self.store(ready, goal, LINK as i32 * 8);
                for (index, operand) in site.arguments.iter().enumerate() {
                    let value = self.operand(operand, goal);
                    self.store(value, goal, (ARGUMENTS + index) as i32 * 8);
                }
                self.store_field(goal, field!(ready));
            }
            Instruction::Execute { predicate, .. } => {
                self.execute(predicate);
                return false;
            }
            Instruction::Proceed | Instruction::BuiltinEntry { .. } => {
                self.proceed();
                return false;
            }
            Instruction::Ensure { words, predicate } => {
                // Memory for this and for all reductions that are granted.
                let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
                let granted = self.b.ins().imul_imm_s(budget, self.code.words as i64 * 8);
                let top = self.b.ins().iadd(free, granted);
                let top = self.b.ins().iadd_imm_s(top, (i64::from(words) + self.code.words as i64) * 8);
                let limit = self.load_field(field!(limit));
                let full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, top, limit);
                let (collect, done) = (self.cold(), self.b.create_block());
                self.b.ins().brif(full, collect, &[], done, &[]);
                self.b.switch_to_block(collect);
                self.spill(self.arguments());
                self.save();
                let (predicate, words) = (self.constant(u64::from(predicate)), self.constant(u64::from(words)));
                let result = self.call("make_room", &[predicate, words]);
                self.leave_unless_going_on(result);
                self.restore();
                self.fill(self.arguments());
                self.b.ins().jump(done, &[]);
                self.b.switch_to_block(done);
            }
        }
        true
    }

    pub(super) fn allocate(&mut self, words: usize) -> Value {
        let free = self.b.use_var(self.free);
        let next = self.b.ins().iadd_imm_s(free, words as i64 * 8);
        self.b.def_var(self.free, next);
        free
    }

    pub(super) fn operand(&mut self, operand: &Operand, place: Value) -> Value {
        match *operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(word) => self.constant(word.0),
            Operand::Variable(register) => {
                let reference = self.tagged(place, REF);
                self.set(register, reference);
                self.constant(UNBOUND)
            }
        }
    }

    pub(super) fn cons(&mut self, head: Value, tail: Value) -> Value {
        let cells = self.allocate(2);
        self.store(head, cells, 0);
        self.store(tail, cells, 8);
        self.tagged(cells, LIST)
    }

    /// A list of `head` and a new variable, and a reference to that.
    pub(super) fn cons_variable(&mut self, head: Value) -> (Value, Value) {
        let cells = self.allocate(2);
        let free = self.constant(UNBOUND);
        self.store(head, cells, 0);
        self.store(free, cells, 8);
        let rest = self.b.ins().iadd_imm_s(cells, 8 + REF as i64);
        (self.tagged(cells, LIST), rest)
    }
}

// The answers of guards are numbers in native code; should they change, so must `Function::answer`.
const _: () = assert!(interpret::Answer::Problem as u8 == 3);
