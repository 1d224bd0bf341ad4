//! One predicate: its versions, its registers as values, and what every instruction needs.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, Value};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use rustc_hash::FxHashMap;

use super::facts::{self, Fact, Facts};
use super::helpers;
use super::names::{Names, STATE, WORD, field, flags, in_registers};
use crate::engine::instruction::{Code, Instruction, Label, NOWHERE, Register, Role};
use crate::engine::registers::COUNTED;
use crate::heap::goal::ARGUMENTS;
use crate::heap::word::TAG_MASK;

/// Predicates with more instructions than this have one version, and one function that begins with arguments in registers.
pub(super) const MANY_INSTRUCTIONS: u32 = 200;
/// Whether a predicate has few instructions.
pub(super) fn is_small(code: &Code, predicate: u32) -> bool {
    let predicate = &code.predicates[predicate as usize];
    predicate.end - predicate.entry <= MANY_INSTRUCTIONS
}

/// Predicates with more instructions than this are interpreted: what translating takes grows faster than they do.
const MAX_TRANSLATED: u32 = 2000;

/// Whether a predicate is left to the interpreter.
pub(super) fn is_interpreted(code: &Code, predicate: u32) -> bool {
    let predicate = &code.predicates[predicate as usize];
    predicate.end - predicate.entry > MAX_TRANSLATED
}

/// Most versions of a predicate.
const MAX_VERSIONS: usize = 4;

pub(super) struct Function<'a> {
    pub(super) b: FunctionBuilder<'a>,
    pub(super) module: &'a mut JITModule,
    pub(super) names: &'a Names,
    pub(super) code: &'a Code,
    pub(super) predicate: u32,
    pub(super) arity: usize,
    /// Where the goal waits, if it may.
    pub(super) suspension: Option<Block>,
    /// The engine's registers as the present block has them.
    registers: Option<(Block, Value)>,
    pub(super) free: Variable,
    pub(super) budget: Variable,
    /// Where commitments are counted by predicate and a call of this one by itself is a loop: what the budget was when they
    /// were last written down. Those since then are what the budget has lost, so that the loop counts nothing.
    counted: Option<Variable>,
    /// A reduction has begun, and no clause has committed yet.
    pub(super) is_open: bool,
    pub(super) variables: FxHashMap<Register, Variable>,
    pub(super) blocks: FxHashMap<Label, Block>,
    pub(super) functions: FxHashMap<FuncId, FuncRef>,
    /// The predicate again and again, for arguments of which so much is known: where each begins.
    pub(super) versions: Vec<(Facts, Block)>,
    /// What is known before each instruction of the present version, from `entry` on.
    pub(super) known: Vec<Option<Facts>>,
    pub(super) entry: Label,
    pub(super) at: Label,
}

impl<'a> Function<'a> {
    pub(super) fn new(
        function: &'a mut cranelift_codegen::ir::Function,
        frontend: &'a mut FunctionBuilderContext,
        module: &'a mut JITModule,
        names: &'a Names,
        code: &'a Code,
        predicate: u32,
    ) -> Self {
        let mut b = FunctionBuilder::new(function, frontend);
        let block = b.create_block();
        b.append_block_params_for_function_params(block);
        b.switch_to_block(block);
        let free = b.declare_var(WORD);
        let budget = b.declare_var(WORD);
        let parameters = b.block_params(block).to_vec();
        b.def_var(free, parameters[0]);
        b.def_var(budget, parameters[1]);
        let arity = usize::from(code.predicates[predicate as usize].arity);
        Function {
            b,
            module,
            names,
            code,
            predicate,
            arity,
            suspension: None,
            registers: None,
            free,
            budget,
            counted: None,
            is_open: false,
            variables: FxHashMap::default(),
            blocks: FxHashMap::default(),
            functions: FxHashMap::default(),
            versions: Vec::new(),
            known: Vec::new(),
            entry: 0,
            at: 0,
        }
    }

    fn finish(mut self) {
        self.b.seal_all_blocks();
        self.b.finalize(self.module.target_config());
    }

    /// The predicate with its arguments from a goal record.
    pub(super) fn goal(mut self) {
        let block = self.b.current_block().expect("begun in `new`");
        let goal = self.b.block_params(block)[STATE];
        if is_small(self.code, self.predicate) {
            for index in 0..self.arity {
                let value = self.load(goal, (ARGUMENTS + index) as i32 * 8);
                self.set(index as Register, value);
            }
            return self.predicate();
        }
        // Not twice: it goes on with the other.
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        let mut arguments = vec![free, budget];
        let passed = in_registers(self.arity);
        for index in 0..passed {
            arguments.push(self.load(goal, (ARGUMENTS + index) as i32 * 8));
        }
        if passed < self.arity {
            arguments.push(self.b.ins().iadd_imm_s(goal, (ARGUMENTS + passed) as i64 * 8));
        }
        let function = self.function(self.names.main[self.predicate as usize]);
        self.b.ins().return_call(function, &arguments);
        self.finish();
    }

    /// The predicate with its first arguments in processor registers.
    pub(super) fn main(mut self) {
        let block = self.b.current_block().expect("begun in `new`");
        let parameters = self.b.block_params(block).to_vec();
        let (passed, parameters) = (in_registers(self.arity), &parameters[STATE..]);
        for (index, value) in parameters.iter().take(passed).enumerate() {
            self.set(index as Register, *value);
        }
        for index in passed..self.arity {
            let value = self.load(parameters[passed], (index - passed) as i32 * 8);
            self.set(index as Register, value);
        }
        self.predicate();
    }

    /// The predicate, now that its arguments are there.
    fn predicate(mut self) {
        let predicate = &self.code.predicates[self.predicate as usize];
        if predicate.role != Role::Program {
            self.builtin();
            self.finish();
            return;
        }
        if is_interpreted(self.code, self.predicate) {
            self.interpreted();
            self.finish();
            return;
        }
        self.count_in_loop();
        let first = self.version(Facts::new());
        self.b.ins().jump(first, &[]);
        let mut next = 0;
        // Each may ask for others.
        while let Some((facts, block)) = self.versions.get(next).cloned() {
            self.body(&facts, block);
            next += 1;
        }
        self.suspension();
        self.finish();
    }

    /// Commitments are found from the budget where each turn of a loop would count one.
    fn count_in_loop(&mut self) {
        let predicate = &self.code.predicates[self.predicate as usize];
        let instructions = &self.code.instructions[predicate.entry as usize..predicate.end as usize];
        let counts = instructions.iter().any(|instruction| matches!(instruction, Instruction::Count { .. }));
        let is_loop = instructions.iter().any(
            |instruction| matches!(instruction, Instruction::Execute { predicate, .. } if *predicate == self.predicate),
        );
        if counts && is_loop && !self.is_left_out() {
            let counted = self.b.declare_var(WORD);
            let budget = self.b.use_var(self.budget);
            self.b.def_var(counted, budget);
            self.counted = Some(counted);
        }
    }

    /// Writes down the commitments since the last time, where they are found from the budget. What comes next must not go
    /// on without [`Function::count_from_here`].
    pub(super) fn write_count(&mut self) {
        let Some(counted) = self.counted else { return };
        let (before, now) = (self.b.use_var(counted), self.b.use_var(self.budget));
        let since = self.b.ins().isub(before, now);
        let since = self.b.ins().iadd_imm_s(since, -i64::from(self.is_open));
        self.add_to_count(since);
    }

    /// All commitments so far are written down, and the budget may have changed.
    fn count_from_here(&mut self) {
        let Some(counted) = self.counted else { return };
        let budget = self.b.use_var(self.budget);
        let budget = self.b.ins().iadd_imm_s(budget, i64::from(self.is_open));
        self.b.def_var(counted, budget);
    }

    /// A clause commits.
    pub(super) fn commit(&mut self) {
        self.is_open = false;
        if self.counted.is_none() && !self.is_left_out() {
            let one = self.constant(1);
            self.add_to_count(one);
        }
    }

    /// Whether commitments of this predicate are found from those of all others.
    fn is_left_out(&self) -> bool {
        self.names.left_out == Some(self.predicate)
    }

    fn add_to_count(&mut self, value: Value) {
        let number = self.predicate as usize;
        let (base, displacement) = match number < COUNTED {
            true => (self.registers(), field!(counts) + number as i32 * 8),
            false => (self.load_field(field!(more_counts)), (number - COUNTED) as i32 * 8),
        };
        let count = self.load(base, displacement);
        let count = self.b.ins().iadd(count, value);
        self.store(count, base, displacement);
    }

    /// The whole predicate, begun in a block, for arguments of which so much is known.
    pub(super) fn body(&mut self, facts: &Facts, block: Block) {
        let predicate = &self.code.predicates[self.predicate as usize];
        let (entry, end) = (predicate.entry, predicate.end);
        self.known = facts::analyse(self.code, entry, end, facts);
        self.entry = entry;
        self.blocks.clear();
        self.b.switch_to_block(block);
        self.is_open = true;
        self.count_reduction();
        for at in entry..end {
            for label in self.code.instructions[at as usize].labels(self.code) {
                self.label(label);
            }
        }
        let first = self.label(entry);
        self.b.ins().jump(first, &[]);
        let mut open = false;
        for at in entry..end {
            if let Some(&block) = self.blocks.get(&at) {
                if open {
                    self.b.ins().jump(block, &[]);
                }
                self.b.switch_to_block(block);
                open = true;
            }
            if open {
                self.at = at;
                let instruction = self.code.instructions[at as usize];
                self.translate(instruction);
                open = !instruction.ends_block();
                // Bodies go straight on from where a clause commits, and to no other place of the predicate.
                self.is_open |= !open;
            }
        }
        if let Some(&nowhere) = self.blocks.get(&NOWHERE) {
            self.b.switch_to_block(nowhere);
            self.b.set_cold_block(nowhere);
            self.b.ins().trap(cranelift_codegen::ir::TrapCode::unwrap_user(1));
        }
    }

    /// What is known before the present instruction.
    pub(super) fn facts(&self) -> &Facts {
        const NOTHING: &Facts = &Facts::new();
        self.known[(self.at - self.entry) as usize].as_ref().unwrap_or(NOTHING)
    }

    /// Whether a register is known to refer to a variable that is unbound and for which nothing waits.
    pub(super) fn is_new(&self, register: Register) -> bool {
        self.facts().contains(&(register, Fact::New))
    }

    /// Where the predicate begins for arguments of which at least so much is known.
    pub(super) fn version(&mut self, facts: Facts) -> Block {
        if let Some((_, block)) = self.versions.iter().find(|(known, _)| *known == facts) {
            return *block;
        }
        if self.versions.is_empty() || is_small(self.code, self.predicate) && self.versions.len() < MAX_VERSIONS {
            let block = self.b.create_block();
            self.versions.push((facts, block));
            return block;
        }
        let fits = self.versions.iter().filter(|(known, _)| known.is_subset(&facts));
        fits.max_by_key(|(known, _)| known.len()).expect("the first knows nothing").1
    }

    // ---- values ---------------------------------------------------------------------------------------------------

    pub(super) fn label(&mut self, label: Label) -> Block {
        let b = &mut self.b;
        *self.blocks.entry(label).or_insert_with(|| b.create_block())
    }

    pub(super) fn cold(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    pub(super) fn function(&mut self, id: FuncId) -> FuncRef {
        let (module, b) = (&mut *self.module, &mut self.b);
        *self.functions.entry(id).or_insert_with(|| module.declare_func_in_func(id, b.func))
    }

    pub(super) fn variable(&mut self, register: Register) -> Variable {
        let b = &mut self.b;
        *self.variables.entry(register).or_insert_with(|| b.declare_var(WORD))
    }

    pub(super) fn get(&mut self, register: Register) -> Value {
        let variable = self.variable(register);
        self.b.use_var(variable)
    }

    pub(super) fn set(&mut self, register: Register, value: Value) {
        let variable = self.variable(register);
        self.b.def_var(variable, value);
    }

    pub(super) fn load(&mut self, base: Value, offset: i32) -> Value {
        self.b.ins().load(WORD, flags(), base, offset)
    }

    pub(super) fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.b.ins().store(flags(), value, base, offset);
    }

    pub(super) fn constant(&mut self, value: u64) -> Value {
        self.b.ins().iconst(WORD, value as i64)
    }

    /// The engine's registers.
    pub(super) fn registers(&mut self) -> Value {
        // Once a block: to copy them is cheap, to keep them takes a processor register.
        let block = self.b.current_block().expect("begun in `new`");
        if let Some((known, registers)) = self.registers
            && known == block
        {
            return registers;
        }
        let registers = self.b.ins().get_pinned_reg(WORD);
        self.registers = Some((block, registers));
        registers
    }

    pub(super) fn load_field(&mut self, offset: i32) -> Value {
        let registers = self.registers();
        self.load(registers, offset)
    }

    pub(super) fn store_field(&mut self, value: Value, offset: i32) {
        let registers = self.registers();
        self.store(value, registers, offset);
    }

    pub(super) fn x(&mut self) -> Value {
        self.load_field(field!(x))
    }

    pub(super) fn has_tag(&mut self, value: Value, tag: u64) -> Value {
        let tag_bits = match tag {
            0 => value,
            tag => self.b.ins().iadd_imm_s(value, -(tag as i64)),
        };
        let tag_bits = self.b.ins().band_imm_s(tag_bits, TAG_MASK as i64);
        self.b.ins().icmp_imm_s(IntCC::Equal, tag_bits, 0)
    }

    pub(super) fn tagged(&mut self, pointer: Value, tag: u64) -> Value {
        self.b.ins().iadd_imm_s(pointer, tag as i64)
    }

    pub(super) fn arguments(&self) -> std::ops::Range<Register> {
        0..self.arity as Register
    }

    /// Writes what helpers read: free pointer, budget, and where we are.
    pub(super) fn save(&mut self) {
        self.save_registers();
        self.write_count();
        self.count_from_here();
    }

    pub(super) fn save_registers(&mut self) {
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        self.store_field(free, field!(free));
        self.store_field(budget, field!(budget));
        let at = self.constant(u64::from(self.at));
        self.store_field(at, field!(at));
    }

    pub(super) fn restore(&mut self) {
        let free = self.load_field(field!(free));
        let budget = self.load_field(field!(budget));
        self.b.def_var(self.free, free);
        self.b.def_var(self.budget, budget);
        self.count_from_here();
    }

    /// Writes some registers to memory.
    pub(super) fn spill(&mut self, registers: impl IntoIterator<Item = Register>) {
        let x = self.x();
        for register in registers {
            let value = self.get(register);
            self.store(value, x, i32::from(register) * 8);
        }
    }

    /// Reads some registers from memory.
    pub(super) fn fill(&mut self, registers: impl IntoIterator<Item = Register>) {
        let x = self.x();
        for register in registers {
            let value = self.load(x, i32::from(register) * 8);
            self.set(register, value);
        }
    }

    // ---- calls of helpers -----------------------------------------------------------------------------------------

    pub(super) fn call(&mut self, helper: &'static str, arguments: &[Value]) -> Value {
        let function = self.function(self.names.helpers[helper]);
        self.b.ins().call(function, arguments);
        self.load_field(field!(answer))
    }

    pub(super) fn exit(&mut self, result: Value) {
        self.b.ins().return_(&[result]);
    }

    /// Leaves with a helper's result unless that is to go on.
    pub(super) fn leave_unless_going_on(&mut self, result: Value) {
        let going_on = self.b.ins().icmp_imm_s(IntCC::Equal, result, helpers::GO_ON);
        let (on, leave) = (self.b.create_block(), self.cold());
        self.b.ins().brif(going_on, on, &[], leave, &[]);
        self.b.switch_to_block(leave);
        self.exit(result);
        self.b.switch_to_block(on);
    }
}
