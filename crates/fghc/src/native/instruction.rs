//! What each instruction becomes: a method of [`Translator`], which the table of instructions asks for.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::function::Function;
use super::names::{WORD, field};
use crate::engine::instruction::{
    self, Building, Control, Goals, Guard, Instruction, Label, Machine, Operand, Register, Tests, Type, role,
};
use crate::engine::interpret;
use crate::engine::thrown;
use crate::heap::Word;
use crate::heap::goal::{ARGUMENTS, LINK, goal_header, state};
use crate::heap::word::{ATOM, INT, LIST, OBJECT, REF, TAG_MASK, UNBOUND};
use crate::ir::{BinaryOperation, Comparison};

/// Adds the code of one instruction to a function, where the function's builder stands.
struct Translator<'f, 'a> {
    function: &'f mut Function<'a>,
    instruction: Instruction,
}

impl Machine for Translator<'_, '_> {
    type Step = ();
}

impl Function<'_> {
    /// Translates one instruction.
    pub(super) fn translate(&mut self, instruction: Instruction) {
        instruction::dispatch(&mut Translator { function: self, instruction }, &instruction);
    }

    pub(super) fn allocate(&mut self, words: usize) -> Value {
        let free = self.b.use_var(self.free);
        let next = self.b.ins().iadd_imm_s(free, words as i64 * 8);
        self.b.def_var(self.free, next);
        free
    }

    pub(super) fn operand(&mut self, operand: &Operand, address: Value) -> Value {
        match *operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(word) => self.constant(word.0),
            Operand::Variable(register) => {
                let reference = self.tagged(address, REF);
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

    /// Whether a value is of a type: 0 where it is not, or is a variable.
    fn is_of_type(&mut self, kind: Type, value: Value) -> Value {
        match kind {
            Type::Integer => self.has_tag(value, INT),
            Type::Atom => self.has_tag(value, ATOM),
            Type::List => self.has_tag(value, LIST),
            Type::Any => {
                let reference = self.has_tag(value, REF);
                self.b.ins().bxor_imm_s(reference, 1)
            }
            kind => {
                // Variables are of no type; the helper looks at values only.
                let reference = self.has_tag(value, REF);
                let (ask, done) = (self.b.create_block(), self.b.create_block());
                let answer = self.b.append_block_param(done, WORD);
                let no = self.constant(0);
                self.b.ins().brif(reference, done, &[BlockArg::Value(no)], ask, &[]);
                self.b.switch_to_block(ask);
                let kind = self.constant(kind as u64);
                let is = self.call("is_of_type", &[value, kind]);
                self.b.ins().jump(done, &[BlockArg::Value(is)]);
                self.b.switch_to_block(done);
                answer
            }
        }
    }
}

impl Tests for Translator<'_, '_> {
    fn list(&mut self, register: Register, unbound: Label, other: Label) {
        self.function.test(register, unbound, other, |function, value| function.has_tag(value, LIST));
    }

    fn list_parts(&mut self, register: Register, head: Register, tail: Register, unbound: Label, other: Label) {
        let function = &mut *self.function;
        let value = function.test(register, unbound, other, |function, value| function.has_tag(value, LIST));
        function.parts(value, head, tail);
    }

    fn constant(&mut self, register: Register, constant: role::Constant, unbound: Label, other: Label) {
        let function = &mut *self.function;
        let wanted = function.code.constants[constant as usize].0;
        function.list_first(register, other);
        function.test(register, unbound, other, |function, value| {
            let wanted = function.constant(wanted);
            function.b.ins().icmp(IntCC::Equal, value, wanted)
        });
    }

    fn header(&mut self, register: Register, header: role::Constant, unbound: Label, other: Label) {
        let function = &mut *self.function;
        let value = function.test(register, unbound, other, |function, value| function.has_tag(value, OBJECT));
        let wanted = function.constant(function.code.constants[header as usize].0);
        let present = function.load(value, -(OBJECT as i32));
        function.compare(Comparison::Equal, present, wanted, other);
    }

    fn boxed(&mut self, register: Register, constant: role::Boxed, unbound: Label, other: Label) {
        let function = &mut *self.function;
        let value = function.test(register, unbound, other, |function, value| function.has_tag(value, OBJECT));
        let constant = function.constant(u64::from(constant));
        let equal = function.call("equals_boxed", &[value, constant]);
        let (yes, other) = (function.b.create_block(), function.label(other));
        function.b.ins().brif(equal, yes, &[], other, &[]);
        function.b.switch_to_block(yes);
    }

    fn r#type(&mut self, kind: Type, register: Register, unbound: Label, other: Label) {
        self.function.test(register, unbound, other, |function, value| function.is_of_type(kind, value));
    }

    fn switch(&mut self, register: Register, table: role::Table) {
        self.function.switch(register, table);
    }

    fn compare(&mut self, comparison: Comparison, left: Register, right: Register, unbound: Label, other: Label) {
        let function = &mut *self.function;
        function.integers(&[left, right], unbound);
        let (left, right) = (function.get(left), function.get(right));
        function.compare(comparison, left, right, other);
    }

    fn compare_constant(&mut self, comparison: Comparison, left: Register, right: i16, unbound: Label, other: Label) {
        let function = &mut *self.function;
        function.integers(&[left], unbound);
        let (left, right) = (function.get(left), function.constant(Word::small(i64::from(right)).0));
        function.compare(comparison, left, right, other);
    }

    fn calculate(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: Register,
        unbound: Label,
        other: Label,
    ) {
        self.function.guard_calculate(operation, target, left, Ok(right), (unbound, other));
    }

    fn calculate_constant(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: i16,
        unbound: Label,
        other: Label,
    ) {
        self.function.guard_calculate(operation, target, left, Err(right), (unbound, other));
    }

    fn guard(&mut self, guard: role::Guard, unbound: Label, other: Label) {
        let function = &mut *self.function;
        let reads: Vec<Register> = match &function.code.guards[guard as usize] {
            Guard::Compare(_, _, left, right) | Guard::Binary(_, _, _, left, right) => vec![*left, *right],
            Guard::Unary(_, _, _, operand) => vec![*operand],
            Guard::Builtin(_, inputs, _) => inputs.to_vec(),
        };
        function.spill(reads);
        function.save();
        let number = function.constant(u64::from(guard));
        let answer = function.call("guard", &[number]);
        function.restore();
        function.answer(answer, unbound, other);
        let mut writes = Vec::new();
        self.instruction.writes(function.code, &mut |register| writes.push(register));
        function.fill(writes);
    }

    fn same(&mut self, left: Register, right: Register, unbound: Label, other: Label) {
        let function = &mut *self.function;
        function.save();
        let (left, right) = (function.get(left), function.get(right));
        let answer = function.call("same", &[left, right]);
        function.restore();
        function.answer(answer, unbound, other);
    }
}

impl Building for Translator<'_, '_> {
    fn cell(&mut self, target: Register, source: Register, index: u16) {
        let function = &mut *self.function;
        let base = function.get(source);
        // The tag is not known here: take it away.
        let base = function.b.ins().band_imm_s(base, !(TAG_MASK as i64));
        let value = function.cell(base, i32::from(index) * 8);
        function.set(target, value);
    }

    fn r#move(&mut self, target: Register, source: Register) {
        let value = self.function.get(source);
        self.function.set(target, value);
    }

    fn load(&mut self, target: Register, constant: role::Constant) {
        let value = self.function.constant(self.function.code.constants[constant as usize].0);
        self.function.set(target, value);
    }

    fn load_boxed(&mut self, target: Register, constant: role::Boxed) {
        let function = &mut *self.function;
        function.save();
        let constant = function.constant(u64::from(constant));
        let value = function.call("load_boxed", &[constant]);
        function.restore();
        function.set(target, value);
    }

    fn variable(&mut self, target: Register) {
        let function = &mut *self.function;
        let cell = function.allocate(1);
        let free = function.constant(UNBOUND);
        function.store(free, cell, 0);
        let reference = function.tagged(cell, REF);
        function.set(target, reference);
    }

    fn cons(&mut self, target: Register, head: Register, tail: Register) {
        let function = &mut *self.function;
        let (head, tail) = (function.get(head), function.get(tail));
        let list = function.cons(head, tail);
        function.set(target, list);
    }

    fn cons_variable(&mut self, target: Register, head: Register, tail: Register) {
        let function = &mut *self.function;
        let head = function.get(head);
        let (list, rest) = function.cons_variable(head);
        function.set(tail, rest);
        function.set(target, list);
    }

    fn build(&mut self, target: Register, build: role::Build) {
        let function = &mut *self.function;
        let build = &function.code.builds[build as usize];
        let object = function.allocate(1 + build.cells.len());
        let header = function.constant(build.header.0);
        function.store(header, object, 0);
        for (index, operand) in build.cells.iter().enumerate() {
            let offset = (index as i32 + 1) * 8;
            let address = function.b.ins().iadd_imm_s(object, i64::from(offset));
            let value = function.operand(operand, address);
            function.store(value, object, offset);
        }
        let value = function.tagged(object, OBJECT);
        function.set(target, value);
    }

    fn unify(&mut self, left: Register, right: Register) {
        let function = &mut *self.function;
        let (left, right) = (function.get(left), function.get(right));
        function.unify(left, right, false);
    }

    fn unify_cons_variable(&mut self, left: Register, head: Register, tail: Register) {
        let function = &mut *self.function;
        let head = function.get(head);
        let (list, rest) = function.cons_variable(head);
        function.bind(left, list);
        function.set(tail, rest);
    }

    fn unify_constant(&mut self, left: Register, constant: role::Constant) {
        let right = self.function.constant(self.function.code.constants[constant as usize].0);
        self.function.bind(left, right);
    }
}

impl Goals for Translator<'_, '_> {
    fn body_calculate(&mut self, operation: BinaryOperation, target: Register, left: Register, right: Register) {
        self.function.body_calculate(operation, target, left, right);
    }

    fn body_number(&mut self, calculation: role::Calculation) {
        self.function.in_body(&self.instruction, "body_number", calculation);
    }

    fn builtin(&mut self, call: role::Call) {
        self.function.in_body(&self.instruction, "builtin_inline", call);
    }

    fn push(&mut self, call: role::Call) {
        let function = &mut *self.function;
        let site = &function.code.calls[call as usize];
        let goal = function.allocate(ARGUMENTS + site.arguments.len());
        let header = goal_header(site.predicate, site.arguments.len(), state::READY, 0);
        let header = function.constant(header.0);
        function.store(header, goal, 0);
        let ready = function.load_field(field!(ready));
        function.store(ready, goal, LINK as i32 * 8);
        for (index, operand) in site.arguments.iter().enumerate() {
            let value = function.operand(operand, goal);
            function.store(value, goal, (ARGUMENTS + index) as i32 * 8);
        }
        function.store_field(goal, field!(ready));
    }

    fn start(&mut self, start: role::Start) {
        let function = &mut *self.function;
        let site = &function.code.starts[start as usize];
        match site.placement {
            Some((_, placement)) if thrown::is_plain(site) => function.throw(&self.instruction, start, placement),
            _ => function.in_body(&self.instruction, "start_site", start),
        }
    }

    fn metacall(&mut self, metacall: role::Metacall) {
        self.function.in_body(&self.instruction, "metacall_site", metacall);
    }
}

impl Control for Translator<'_, '_> {
    fn jump(&mut self, to: Label) {
        let to = self.function.label(to);
        self.function.b.ins().jump(to, &[]);
    }

    fn forget(&mut self) {
        let none = self.function.constant(0);
        self.function.store_field(none, field!(noted_count));
    }

    fn suspend(&mut self, _: role::Predicate) {
        self.function.suspend();
    }

    fn otherwise(&mut self, _: role::Predicate, to: Label) {
        let function = &mut *self.function;
        let noted = function.load_field(field!(noted_count));
        let (to, wait) = (function.label(to), function.cold());
        function.b.ins().brif(noted, wait, &[], to, &[]);
        function.b.switch_to_block(wait);
        function.suspend();
    }

    fn count(&mut self, predicate: role::Predicate) {
        debug_assert_eq!(predicate, self.function.predicate);
        self.function.commit();
    }

    fn ensure(&mut self, words: role::Words, predicate: role::Predicate) {
        let function = &mut *self.function;
        // Memory for this and for all reductions that are granted.
        let (free, budget) = (function.b.use_var(function.free), function.b.use_var(function.budget));
        let granted = function.b.ins().imul_imm_s(budget, function.code.words as i64 * 8);
        let top = function.b.ins().iadd(free, granted);
        let top = function.b.ins().iadd_imm_s(top, (i64::from(words) + function.code.words as i64) * 8);
        let limit = function.load_field(field!(limit));
        let full = function.b.ins().icmp(IntCC::UnsignedGreaterThan, top, limit);
        let (collect, done) = (function.cold(), function.b.create_block());
        function.b.ins().brif(full, collect, &[], done, &[]);
        function.b.switch_to_block(collect);
        function.spill(function.arguments());
        function.save();
        let (predicate, words) = (function.constant(u64::from(predicate)), function.constant(u64::from(words)));
        let result = function.call("reserve_words", &[predicate, words]);
        function.leave_unless_going_on(result);
        function.restore();
        function.fill(function.arguments());
        function.b.ins().jump(done, &[]);
        function.b.switch_to_block(done);
    }

    fn execute(&mut self, predicate: role::Goal, _: role::Entry) {
        self.function.execute(predicate);
    }

    fn proceed(&mut self) {
        self.function.proceed();
    }

    fn builtin_entry(&mut self, _: role::Predicate) {
        self.function.proceed();
    }
}

// The answers of guards are numbers in native code; should they change, so must `Function::answer`.
const _: () = assert!(interpret::Answer::Problem as u8 == 3);
