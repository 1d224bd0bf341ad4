//! Tests before commitment: what registers hold.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};
use cranelift_frontend::Switch;
use rustc_hash::FxHashMap;

use super::facts::Fact;
use super::function::Function;
use super::helpers;
use super::names::{WORD, field};
use crate::engine::Exit;
use crate::engine::instruction::{Instruction, Label, NOWHERE, Register};
use crate::engine::registers::MAX_NOTED;
use crate::heap::Word;
use crate::heap::word::{INT, LIST, OBJECT, REF, TAG_MASK, UNBOUND};
use crate::ir::Comparison;

impl Function<'_> {
    /// Notes an unbound variable. No instruction meets more than two.
    pub(super) fn note(&mut self, variable: Value) {
        let predicate = &self.code.predicates[self.predicate as usize];
        if (predicate.end - predicate.entry) as usize > MAX_NOTED / 2 {
            self.call("note", &[variable]);
            return;
        }
        let count = self.load_field(field!(noted_count));
        let offset = self.b.ins().ishl_imm_s(count, 3);
        let registers = self.registers();
        let address = self.b.ins().iadd(registers, offset);
        self.store(variable, address, field!(noted));
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.store_field(count, field!(noted_count));
    }

    /// Tests what a register holds once references are followed; goes on where `holds` of the value is not zero.
    pub(super) fn test(
        &mut self,
        register: Register,
        unbound: Label,
        other: Label,
        holds: impl Fn(&mut Self, Value) -> Value,
    ) -> Value {
        let value = self.get(register);
        let other = self.label(other);
        let (check, yes) = (self.b.create_block(), self.b.create_block());
        let parameter = self.b.append_block_param(check, WORD);
        self.b.ins().jump(check, &[BlockArg::Value(value)]);
        self.b.switch_to_block(check);
        let answer = holds(self, parameter);
        if unbound == NOWHERE {
            self.set(register, parameter);
            self.b.ins().brif(answer, yes, &[], other, &[]);
            self.b.switch_to_block(yes);
            return parameter;
        }
        let no = self.b.create_block();
        self.b.ins().brif(answer, yes, &[], no, &[]);
        self.b.switch_to_block(no);
        let different = self.b.create_block();
        self.look_through(register, parameter, check, different, unbound);
        self.b.switch_to_block(different);
        self.set(register, parameter);
        self.b.ins().jump(other, &[]);
        self.b.switch_to_block(yes);
        self.set(register, parameter);
        parameter
    }

    /// Goes to `bound` with what is no reference, to `check` with what a reference holds, and to `unbound` with a variable,
    /// which is noted and kept in the register.
    fn look_through(&mut self, register: Register, parameter: Value, check: Block, bound: Block, unbound: Label) {
        let follow = self.cold();
        let reference = self.has_tag(parameter, REF);
        self.b.ins().brif(reference, follow, &[], bound, &[]);
        self.b.switch_to_block(follow);
        let content = self.load(parameter, -(REF as i32));
        let free = self.has_tag(content, UNBOUND);
        let open = self.cold();
        self.b.ins().brif(free, open, &[], check, &[BlockArg::Value(content)]);
        self.b.switch_to_block(open);
        self.set(register, parameter);
        self.note(parameter);
        let unbound = self.label(unbound);
        self.b.ins().jump(unbound, &[]);
    }

    /// A test for a constant comes, and where it fails one for a list: a list is what is there most of the time, so that is
    /// asked before.
    pub(super) fn list_first(&mut self, register: Register, other: Label) {
        if other == NOWHERE || other <= self.at {
            return;
        }
        let Instruction::ListParts { register: tested, head, tail, .. } = self.code.instructions[other as usize] else {
            return;
        };
        if tested != register {
            return;
        }
        let value = self.get(register);
        let is_list = self.has_tag(value, LIST);
        let (list, another) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(is_list, list, &[], another, &[]);
        self.b.switch_to_block(list);
        self.parts(value, head, tail);
        let behind = self.label(other + 1);
        self.b.ins().jump(behind, &[]);
        self.b.switch_to_block(another);
    }

    /// Both parts of a list.
    pub(super) fn parts(&mut self, list: Value, head: Register, tail: Register) {
        let first = self.cell(list, -(LIST as i32));
        let rest = self.cell(list, 8 - LIST as i32);
        self.set(head, first);
        self.set(tail, rest);
    }

    /// The content of a cell as a value: `base` and an offset that takes its tag away.
    pub(super) fn cell(&mut self, base: Value, offset: i32) -> Value {
        let content = self.load(base, offset);
        let free = self.has_tag(content, UNBOUND);
        let (open, done) = (self.cold(), self.b.create_block());
        let value = self.b.append_block_param(done, WORD);
        self.b.ins().brif(free, open, &[], done, &[BlockArg::Value(content)]);
        self.b.switch_to_block(open);
        let reference = self.b.ins().iadd_imm_s(base, i64::from(offset) + REF as i64);
        self.b.ins().jump(done, &[BlockArg::Value(reference)]);
        self.b.switch_to_block(done);
        value
    }

    pub(super) fn switch(&mut self, register: Register, table: u32) {
        let table = &self.code.tables[table as usize];
        let value = self.get(register);
        let (check, bound) = (self.b.create_block(), self.b.create_block());
        let parameter = self.b.append_block_param(check, WORD);
        self.b.ins().jump(check, &[BlockArg::Value(value)]);
        self.b.switch_to_block(check);
        self.look_through(register, parameter, check, bound, table.unbound);
        self.b.switch_to_block(bound);
        self.set(register, parameter);
        let (list, other) = (self.label(table.list), self.label(table.other));
        let tag = self.b.ins().band_imm_s(parameter, TAG_MASK as i64);
        let (objects, constants) = (self.b.create_block(), self.b.create_block());
        let mut by_tag = Switch::new();
        by_tag.set_entry(u128::from(LIST), list);
        by_tag.set_entry(u128::from(OBJECT), objects);
        by_tag.emit(&mut self.b, tag, constants);
        self.b.switch_to_block(objects);
        let header = self.load(parameter, -(OBJECT as i32));
        self.dispatch(header, &table.headers, other);
        self.b.switch_to_block(constants);
        self.dispatch(parameter, &table.constants, other);
    }

    pub(super) fn dispatch(&mut self, value: Value, labels: &FxHashMap<Word, Label>, other: Block) {
        let mut switch = Switch::new();
        // In order, so that the code is the same every time.
        let mut sorted: Vec<(u64, Label)> = labels.iter().map(|(word, label)| (word.0, *label)).collect();
        sorted.sort_unstable();
        for (word, label) in sorted {
            let block = self.label(label);
            switch.set_entry(u128::from(word), block);
        }
        switch.emit(&mut self.b, value, other);
    }

    /// Makes sure that registers hold integers, or goes to `unbound`, whether that is or they are of a wrong type.
    pub(super) fn integers(&mut self, registers: &[Register], unbound: Label) {
        if unbound == NOWHERE {
            return;
        }
        let open = |register: &&Register| !self.facts().contains(&(**register, Fact::Integer));
        let mut open: Vec<Register> = registers.iter().filter(open).copied().collect();
        open.dedup();
        let Some(wrong) = self.any_tag(&open) else { return };
        let (slow, done) = (self.cold(), self.b.create_block());
        self.b.ins().brif(wrong, slow, &[], done, &[]);
        self.b.switch_to_block(slow);
        for register in &open {
            self.follow(*register);
        }
        let ask = self.cold();
        let wrong = self.any_tag(&open).expect("some are open");
        self.b.ins().brif(wrong, ask, &[], done, &[]);
        self.b.switch_to_block(ask);
        for register in &open {
            let value = self.get(*register);
            let (note, next) = (self.cold(), self.cold());
            let reference = self.has_tag(value, REF);
            // A variable that is noted twice is found out when the goal suspends.
            self.b.ins().brif(reference, note, &[], next, &[]);
            self.b.switch_to_block(note);
            self.note(value);
            self.b.ins().jump(next, &[]);
            self.b.switch_to_block(next);
        }
        let unbound = self.label(unbound);
        self.b.ins().jump(unbound, &[]);
        self.b.switch_to_block(done);
    }

    /// Not zero unless all of these registers hold integers.
    fn any_tag(&mut self, registers: &[Register]) -> Option<Value> {
        const { assert!(INT == 0) };
        let mut all = None;
        for register in registers {
            let value = self.get(*register);
            all = Some(match all {
                None => value,
                Some(before) => self.b.ins().bor(before, value),
            });
        }
        all.map(|all| self.b.ins().band_imm_s(all, TAG_MASK as i64))
    }

    /// Follows references from a register to a value or an unbound variable.
    fn follow(&mut self, register: Register) {
        let value = self.get(register);
        let blocks = [self.cold(), self.cold(), self.cold()];
        let parameter = self.followed(value, blocks);
        self.set(register, parameter);
    }

    pub(super) fn compare(&mut self, comparison: Comparison, left: Value, right: Value, other: Label) {
        let condition = match comparison {
            Comparison::Less => IntCC::SignedLessThan,
            Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
            Comparison::Greater => IntCC::SignedGreaterThan,
            Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
            Comparison::Equal => IntCC::Equal,
            Comparison::NotEqual => IntCC::NotEqual,
        };
        let holds = self.b.ins().icmp(condition, left, right);
        let (yes, other) = (self.b.create_block(), self.label(other));
        self.b.ins().brif(holds, yes, &[], other, &[]);
        self.b.switch_to_block(yes);
    }

    /// Goes where a guard's answer says.
    pub(super) fn answer(&mut self, answer: Value, unbound: Label, other: Label) {
        let (yes, rest) = (self.b.create_block(), self.b.create_block());
        let holds = self.b.ins().icmp_imm_s(IntCC::Equal, answer, 1);
        self.b.ins().brif(holds, yes, &[], rest, &[]);
        self.b.switch_to_block(rest);
        let (rest, problem) = (self.cold(), self.cold());
        let (unbound, other) = (self.label(unbound), self.label(other));
        self.b.ins().brif(answer, rest, &[], other, &[]);
        self.b.switch_to_block(rest);
        let open = self.b.ins().icmp_imm_s(IntCC::Equal, answer, 2);
        self.b.ins().brif(open, unbound, &[], problem, &[]);
        self.b.switch_to_block(problem);
        let result = self.b.ins().iconst(WORD, helpers::number(Exit::Problem));
        self.exit(result);
        self.b.switch_to_block(yes);
    }
}
