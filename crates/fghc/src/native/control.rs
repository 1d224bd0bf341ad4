//! How reductions begin, go on and wait.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::function::Function;
use super::helpers;
use super::names::{STATE, WORD, field, in_registers, signature};
use crate::engine::Exit;
use crate::engine::instruction::{Instruction, Register};
use crate::engine::thrown;
use crate::heap::goal::{ARGUMENTS, LINK, PREDICATE_SHIFT, RECORD_WORDS, goal_header, state};
use crate::heap::word::{INT, REF, UNBOUND};
use cranelift_codegen::isa::CallConv;

impl Function<'_> {
    pub(super) fn add_to_budget(&mut self, value: i64) -> Value {
        let budget = self.b.use_var(self.budget);
        let budget = self.b.ins().iadd_imm_s(budget, value);
        self.b.def_var(self.budget, budget);
        budget
    }

    /// A reduction begins: one less is granted. Granted is what there is memory for.
    pub(super) fn count_reduction(&mut self) {
        let budget = self.add_to_budget(-1);
        let (go, pause) = (self.b.create_block(), self.cold());
        let spent = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, budget, 0);
        self.b.ins().brif(spent, pause, &[], go, &[]);
        self.b.switch_to_block(pause);
        self.spill(self.arguments());
        self.save();
        let predicate = self.constant(u64::from(self.predicate));
        let result = self.call("pause", &[predicate]);
        self.leave_unless_going_on(result);
        self.restore();
        self.fill(self.arguments());
        self.b.ins().jump(go, &[]);
        self.b.switch_to_block(go);
    }

    /// A predicate that is a builtin.
    pub(super) fn builtin(&mut self) {
        self.at = self.code.predicates[self.predicate as usize].entry;
        let again = self.b.create_block();
        self.b.ins().jump(again, &[]);
        self.b.switch_to_block(again);
        self.count_reduction();
        self.spill(self.arguments());
        self.add_to_budget(1);
        self.save();
        let predicate = self.constant(u64::from(self.predicate));
        let result = self.call("builtin_goal", &[predicate]);
        self.leave_unless_going_on(result);
        self.restore();
        self.proceed();
    }

    /// A predicate that the interpreter runs: one goal, then the next of the queue.
    pub(super) fn interpreted(&mut self) {
        self.at = self.code.predicates[self.predicate as usize].entry;
        let again = self.b.create_block();
        self.b.ins().jump(again, &[]);
        self.b.switch_to_block(again);
        self.count_reduction();
        self.spill(self.arguments());
        self.save();
        let predicate = self.constant(u64::from(self.predicate));
        let result = self.call("interpret_goal", &[predicate]);
        self.leave_unless_going_on(result);
        self.restore();
        self.proceed();
    }

    pub(super) fn execute(&mut self, predicate: u32) {
        if predicate == self.predicate {
            let facts = self.facts().iter().filter(|(register, _)| usize::from(*register) < self.arity);
            let facts = facts.copied().collect();
            let block = self.version(facts);
            self.b.ins().jump(block, &[]);
            return;
        }
        self.write_count();
        let arity = usize::from(self.code.predicates[predicate as usize].arity);
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        let mut arguments = vec![free, budget];
        let passed = in_registers(arity);
        for index in 0..passed {
            arguments.push(self.get(index as Register));
        }
        if passed < arity {
            self.spill(passed as Register..arity as Register);
            let x = self.x();
            arguments.push(self.b.ins().iadd_imm_s(x, passed as i64 * 8));
        }
        let function = self.function(self.names.main[predicate as usize]);
        self.b.ins().return_call(function, &arguments);
    }

    /// The next goal of the queue.
    pub(super) fn proceed(&mut self) {
        self.write_count();
        self.next_goal();
    }

    fn next_goal(&mut self) {
        let goal = self.load_field(field!(ready));
        let (some, none) = (self.b.create_block(), self.cold());
        self.b.ins().brif(goal, some, &[], none, &[]);
        self.b.switch_to_block(none);
        self.save_registers();
        let empty = self.b.ins().iconst(WORD, helpers::number(Exit::Empty));
        self.exit(empty);
        self.b.switch_to_block(some);
        let next = self.load(goal, LINK as i32 * 8);
        self.store_field(next, field!(ready));
        let header = self.load(goal, 0);
        let predicate = self.b.ins().ushr_imm_s(header, PREDICATE_SHIFT as i64);
        let entries = self.load_field(field!(entries));
        let offset = self.b.ins().ishl_imm_s(predicate, 3);
        let address = self.b.ins().iadd(entries, offset);
        let function = self.load(address, 0);
        let tail = self.b.import_signature(signature(CallConv::Tail, STATE + 1));
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        self.b.ins().return_call_indirect(tail, function, &[free, budget, goal]);
    }

    /// The goal waits: code that all places of the function share.
    pub(super) fn suspend(&mut self) {
        let b = &mut self.b;
        let block = *self.suspension.get_or_insert_with(|| b.create_block());
        self.b.ins().jump(block, &[]);
    }

    /// Writes the code that [`Function::suspend`] goes to.
    pub(super) fn suspension(&mut self) {
        let Some(block) = self.suspension else { return };
        self.b.switch_to_block(block);
        self.is_open = true;
        if self.arity + RECORD_WORDS <= self.code.words {
            self.suspend_for_one();
        }
        self.spill(self.arguments());
        // The reduction was none.
        self.add_to_budget(1);
        self.is_open = false;
        self.save();
        let predicate = self.constant(u64::from(self.predicate));
        let result = self.call("suspend", &[predicate]);
        self.leave_unless_going_on(result);
        self.restore();
        self.proceed();
    }

    /// What a stream does all the time: the goal waits for one variable for which nothing else waits. Goes on in a block
    /// for anything else. The memory granted for the reduction that was none is used.
    fn suspend_for_one(&mut self) {
        let (one, alone, other) = (self.b.create_block(), self.b.create_block(), self.cold());
        let count = self.load_field(field!(noted_count));
        let is_one = self.b.ins().icmp_imm_s(IntCC::Equal, count, 1);
        self.b.ins().brif(is_one, one, &[], other, &[]);
        self.b.switch_to_block(one);
        let variable = self.load_field(field!(noted));
        let content = self.load(variable, -(REF as i32));
        let free = self.b.ins().icmp_imm_s(IntCC::Equal, content, UNBOUND as i64);
        self.b.ins().brif(free, alone, &[], other, &[]);
        self.b.switch_to_block(alone);
        let goal = self.allocate(self.arity + RECORD_WORDS);
        let queue = self.load_field(field!(queue_bits));
        let header = goal_header(self.predicate, self.arity, state::SUSPENDED, 0).0;
        let header = self.b.ins().bor_imm_s(queue, header as i64);
        self.store(header, goal, 0);
        let none = self.constant(0);
        self.store(none, goal, LINK as i32 * 8);
        for register in self.arguments() {
            let value = self.get(register);
            self.store(value, goal, (ARGUMENTS as i32 + i32::from(register)) * 8);
        }
        let suspended = self.load_field(field!(suspended));
        self.store(suspended, goal, (ARGUMENTS + self.arity) as i32 * 8);
        self.store_field(goal, field!(suspended));
        let record = self.tagged(goal, UNBOUND);
        self.store(record, variable, -(REF as i32));
        self.store_field(none, field!(noted_count));
        self.add_in_memory(field!(waiting), 1);
        self.add_in_memory(field!(rest), 1);
        self.count(field!(suspensions));
        self.proceed();
        self.b.switch_to_block(other);
    }

    /// A goal for another PE: written down where the record of [`thrown`] is open and the place is a PE, and that another.
    pub(super) fn throw(&mut self, instruction: &Instruction, start: u32, target: Register) {
        let pe = self.get(target);
        let [whole, there, other, append] = std::array::from_fn(|_| self.b.create_block());
        let (slow, done) = (self.cold(), self.b.create_block());
        let is_integer = self.has_tag(pe, INT);
        self.b.ins().brif(is_integer, whole, &[], slow, &[]);
        self.b.switch_to_block(whole);
        // Negative ones are large without a sign.
        let nodes = self.load_field(field!(nodes));
        let is_there = self.b.ins().icmp(IntCC::UnsignedLessThan, pe, nodes);
        self.b.ins().brif(is_there, there, &[], slow, &[]);
        self.b.switch_to_block(there);
        let node = self.load_field(field!(node));
        let is_here = self.b.ins().icmp(IntCC::Equal, pe, node);
        self.b.ins().brif(is_here, slow, &[], other, &[]);
        self.b.switch_to_block(other);
        let (next, end) = (self.load_field(field!(thrown)), self.load_field(field!(thrown_end)));
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        self.b.ins().brif(fits, append, &[], slow, &[]);
        self.b.switch_to_block(append);
        let first = self.b.ins().ishl_imm_s(pe, i64::from(thrown::PE_SHIFT));
        let first = self.b.ins().bor_imm_s(first, i64::from(start));
        self.store(first, next, 0);
        let operands = &self.code.starts[start as usize].call.arguments;
        for (index, operand) in operands.iter().enumerate() {
            let value = self.operand(operand, next);
            self.store(value, next, (1 + index as i32) * 8);
        }
        let next = self.b.ins().iadd_imm_s(next, (1 + operands.len() as i64) * 8);
        self.store_field(next, field!(thrown));
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(slow);
        self.in_body(instruction, "start_site", start);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// A helper for something in a body: its registers in memory, and what it leaves there.
    pub(super) fn in_body(&mut self, instruction: &Instruction, helper: &'static str, number: u32) {
        let mut reads = Vec::new();
        instruction.reads(self.code, &mut |register| reads.push(register));
        self.spill(reads);
        self.save();
        let number = self.constant(u64::from(number));
        let result = self.call(helper, &[number]);
        self.leave_unless_going_on(result);
        self.restore();
        let mut writes = Vec::new();
        instruction.writes(self.code, &mut |register| writes.push(register));
        self.fill(writes);
    }
}
