//! From instructions to Cranelift's intermediate form. Every function below says what one instruction becomes.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Signature, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use rustc_hash::FxHashMap;

use super::helpers;
use crate::engine::instruction::{
    Calculation, Code, Guard, Instruction, Label, NOWHERE, Operand, Register, Role, Type as ValueType,
};
use crate::engine::registers::Registers;
use crate::engine::{Exit, interpret};
use crate::heap::Word;
use crate::heap::goal::{ARGUMENTS, LINK, PREDICATE_SHIFT, goal_header, state};
use crate::heap::word::{ATOM, INT, LIST, OBJECT, REF, TAG_MASK, UNBOUND};
use crate::ir::{BinaryOperation, Comparison};

/// Arguments that are passed in processor registers; the others are in the engine's.
const PASSED: usize = 3;
/// Predicates with more instructions than this note variables by a call that looks for room.
const MANY_INSTRUCTIONS: u32 = 200;
const WORD: Type = types::I64;

/// Code of a program: what keeps its memory, the entry of each predicate for goals, and how it is entered.
pub type Program = (JITModule, Vec<*const u8>, *const u8);

struct Names {
    main: Vec<FuncId>,
    goal: Vec<FuncId>,
    helpers: FxHashMap<&'static str, FuncId>,
}

/// Translates a program; `None` where the processor is not known.
pub fn program(code: &Code) -> Option<Program> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        // Tail calls need them.
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ] {
        flags.set(name, value).ok()?;
    }
    let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    let all = helpers::all();
    for (name, address, _) in &all {
        builder.symbol(*name, *address);
    }
    let mut module = JITModule::new(builder);
    let mut names = Names { main: Vec::new(), goal: Vec::new(), helpers: FxHashMap::default() };
    for (name, _, arguments) in &all {
        let signature = signature(CallConv::triple_default(module.isa().triple()), 1 + arguments);
        names.helpers.insert(name, module.declare_function(name, Linkage::Import, &signature).ok()?);
    }
    for (number, predicate) in code.predicates.iter().enumerate() {
        let main = signature(CallConv::Tail, 3 + usize::from(predicate.arity).min(PASSED));
        let goal = signature(CallConv::Tail, 4);
        names.main.push(module.declare_function(&format!("p{number}"), Linkage::Local, &main).ok()?);
        names.goal.push(module.declare_function(&format!("g{number}"), Linkage::Local, &goal).ok()?);
    }
    let mut context = module.make_context();
    let mut frontend = FunctionBuilderContext::new();
    for number in 0..code.predicates.len() {
        for from_goal in [false, true] {
            let id = if from_goal { names.goal[number] } else { names.main[number] };
            context.func.signature = module.declarations().get_function_decl(id).signature.clone();
            let function = Function::new(&mut context.func, &mut frontend, &mut module, &names, code, number as u32);
            if from_goal {
                function.goal();
            } else {
                function.main();
            }
            module.define_function(id, &mut context).ok()?;
            module.clear_context(&mut context);
        }
    }
    let enter = enter(&mut module, &mut context, &mut frontend)?;
    module.finalize_definitions().ok()?;
    let entries = names.goal.iter().map(|id| module.get_finalized_function(*id)).collect();
    let enter = module.get_finalized_function(enter);
    Some((module, entries, enter))
}

fn signature(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(std::iter::repeat_n(AbiParam::new(WORD), parameters));
    signature.returns.push(AbiParam::new(WORD));
    signature
}

fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

macro_rules! field {
    ($name:ident) => {
        std::mem::offset_of!(Registers, $name) as i32
    };
}

/// The function that the engine calls: it takes the first goal of the queue.
fn enter(
    module: &mut JITModule,
    context: &mut cranelift_codegen::Context,
    frontend: &mut FunctionBuilderContext,
) -> Option<FuncId> {
    let convention = CallConv::triple_default(module.isa().triple());
    let id = module.declare_function("enter", Linkage::Local, &signature(convention, 1)).ok()?;
    context.func.signature = signature(convention, 1);
    let mut builder = FunctionBuilder::new(&mut context.func, frontend);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let registers = builder.block_params(block)[0];
    let goal = builder.ins().load(WORD, flags(), registers, field!(ready));
    let next = builder.ins().load(WORD, flags(), goal, LINK as i32 * 8);
    builder.ins().store(flags(), next, registers, field!(ready));
    let header = builder.ins().load(WORD, flags(), goal, 0);
    let predicate = builder.ins().ushr_imm_s(header, PREDICATE_SHIFT as i64);
    let entries = builder.ins().load(WORD, flags(), registers, field!(entries));
    let offset = builder.ins().ishl_imm_s(predicate, 3);
    let place = builder.ins().iadd(entries, offset);
    let function = builder.ins().load(WORD, flags(), place, 0);
    let free = builder.ins().load(WORD, flags(), registers, field!(free));
    let budget = builder.ins().load(WORD, flags(), registers, field!(budget));
    let tail = builder.import_signature(signature(CallConv::Tail, 4));
    let call = builder.ins().call_indirect(tail, function, &[registers, free, budget, goal]);
    let result = builder.inst_results(call)[0];
    builder.ins().return_(&[result]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, context).ok()?;
    module.clear_context(context);
    Some(id)
}

struct Function<'a> {
    b: FunctionBuilder<'a>,
    module: &'a mut JITModule,
    names: &'a Names,
    code: &'a Code,
    predicate: u32,
    arity: usize,
    registers: Value,
    free: Variable,
    budget: Variable,
    variables: FxHashMap<Register, Variable>,
    blocks: FxHashMap<Label, Block>,
    functions: FxHashMap<FuncId, FuncRef>,
    /// Where a call of the predicate by itself goes on.
    again: Option<Block>,
    /// The argument that is a new variable whenever certain calls of the predicate by itself are made, and where those
    /// go on: nothing can have bound it, so binding it needs no test.
    growing: Option<(Growing, Block)>,
    /// Whether the argument is such a variable now.
    grows: bool,
    at: Label,
}

impl<'a> Function<'a> {
    fn new(
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
        let registers = b.block_params(block)[0];
        let free = b.declare_var(WORD);
        let budget = b.declare_var(WORD);
        let parameters = b.block_params(block).to_vec();
        b.def_var(free, parameters[1]);
        b.def_var(budget, parameters[2]);
        let arity = usize::from(code.predicates[predicate as usize].arity);
        Function {
            b,
            module,
            names,
            code,
            predicate,
            arity,
            registers,
            free,
            budget,
            variables: FxHashMap::default(),
            blocks: FxHashMap::default(),
            functions: FxHashMap::default(),
            again: None,
            growing: None,
            grows: false,
            at: 0,
        }
    }

    fn finish(mut self) {
        self.b.seal_all_blocks();
        self.b.finalize(self.module.target_config());
    }

    /// Arguments from a goal record, then the predicate itself.
    fn goal(mut self) {
        let block = self.b.current_block().expect("begun in `new`");
        let goal = self.b.block_params(block)[3];
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        let mut arguments = vec![self.registers, free, budget];
        let x = self.x();
        for index in 0..self.arity {
            let value = self.load(goal, (ARGUMENTS + index) as i32 * 8);
            if index < PASSED {
                arguments.push(value);
            } else {
                self.store(value, x, index as i32 * 8);
            }
        }
        let function = self.function(self.names.main[self.predicate as usize]);
        self.b.ins().return_call(function, &arguments);
        self.finish();
    }

    /// The predicate with its first arguments in processor registers.
    fn main(mut self) {
        let block = self.b.current_block().expect("begun in `new`");
        let parameters = self.b.block_params(block).to_vec();
        for (index, value) in parameters.iter().skip(3).enumerate() {
            self.set(index as Register, *value);
        }
        if self.arity > PASSED {
            let x = self.x();
            for index in PASSED..self.arity {
                let value = self.load(x, index as i32 * 8);
                self.set(index as Register, value);
            }
        }
        let predicate = &self.code.predicates[self.predicate as usize];
        if predicate.role != Role::Program {
            self.builtin();
            self.finish();
            return;
        }
        let (entry, end) = (predicate.entry, predicate.end);
        let again = self.b.create_block();
        self.b.ins().jump(again, &[]);
        self.again = Some(again);
        if let Some(growing) = Growing::find(self.code, self.predicate) {
            self.growing = Some((growing, self.b.create_block()));
        }
        self.body(again, entry, end);
        if let Some((_, block)) = self.growing {
            self.grows = true;
            self.blocks.clear();
            self.body(block, entry, end);
        }
        self.finish();
    }

    /// The whole predicate, begun in a block.
    fn body(&mut self, again: Block, entry: Label, end: Label) {
        self.b.switch_to_block(again);
        self.check_budget_and_heap();
        for at in entry..end {
            let mut copy = self.code.instructions[at as usize];
            let mut labels = Vec::new();
            copy.for_each_label(|label| labels.push(*label));
            if let Instruction::Switch { table, .. } = copy {
                let table = &self.code.tables[table as usize];
                labels.extend([table.unbound, table.other, table.list]);
                labels.extend(table.constants.values().chain(table.headers.values()));
            }
            for label in labels {
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
                open = self.instruction(self.code.instructions[at as usize]);
            }
        }
        if let Some(&nowhere) = self.blocks.get(&NOWHERE) {
            self.b.switch_to_block(nowhere);
            self.b.set_cold_block(nowhere);
            self.b.ins().trap(cranelift_codegen::ir::TrapCode::unwrap_user(1));
        }
    }

    fn label(&mut self, label: Label) -> Block {
        let b = &mut self.b;
        *self.blocks.entry(label).or_insert_with(|| b.create_block())
    }

    fn function(&mut self, id: FuncId) -> FuncRef {
        let (module, b) = (&mut *self.module, &mut self.b);
        *self.functions.entry(id).or_insert_with(|| module.declare_func_in_func(id, b.func))
    }

    fn variable(&mut self, register: Register) -> Variable {
        let b = &mut self.b;
        *self.variables.entry(register).or_insert_with(|| b.declare_var(WORD))
    }

    fn get(&mut self, register: Register) -> Value {
        let variable = self.variable(register);
        self.b.use_var(variable)
    }

    fn set(&mut self, register: Register, value: Value) {
        let variable = self.variable(register);
        self.b.def_var(variable, value);
    }

    fn load(&mut self, base: Value, offset: i32) -> Value {
        self.b.ins().load(WORD, flags(), base, offset)
    }

    fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.b.ins().store(flags(), value, base, offset);
    }

    fn constant(&mut self, value: u64) -> Value {
        self.b.ins().iconst(WORD, value as i64)
    }

    fn x(&mut self) -> Value {
        self.load(self.registers, field!(x))
    }

    fn cold(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    fn has_tag(&mut self, value: Value, tag: u64) -> Value {
        let found = self.b.ins().band_imm_s(value, TAG_MASK as i64);
        self.b.ins().icmp_imm_s(IntCC::Equal, found, tag as i64)
    }

    /// Writes what helpers read: free pointer, budget, and where we are.
    fn save(&mut self) {
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        self.store(free, self.registers, field!(free));
        self.store(budget, self.registers, field!(budget));
        let at = self.constant(u64::from(self.at));
        self.store(at, self.registers, field!(at));
    }

    fn restore(&mut self) {
        let free = self.load(self.registers, field!(free));
        let budget = self.load(self.registers, field!(budget));
        self.b.def_var(self.free, free);
        self.b.def_var(self.budget, budget);
    }

    /// Writes some registers to memory.
    fn spill(&mut self, registers: impl IntoIterator<Item = Register>) {
        let x = self.x();
        for register in registers {
            let value = self.get(register);
            self.store(value, x, i32::from(register) * 8);
        }
    }

    /// Reads some registers from memory.
    fn fill(&mut self, registers: impl IntoIterator<Item = Register>) {
        let x = self.x();
        for register in registers {
            let value = self.load(x, i32::from(register) * 8);
            self.set(register, value);
        }
    }

    fn arguments(&self) -> std::ops::Range<Register> {
        0..self.arity as Register
    }

    fn call(&mut self, helper: &'static str, arguments: &[Value]) -> Value {
        let function = self.function(self.names.helpers[helper]);
        let engine = self.load(self.registers, field!(engine));
        let all: Vec<Value> = std::iter::once(engine).chain(arguments.iter().copied()).collect();
        let call = self.b.ins().call(function, &all);
        self.b.inst_results(call)[0]
    }

    fn exit(&mut self, result: Value) {
        self.b.ins().return_(&[result]);
    }

    /// Leaves with a helper's result unless that is to go on.
    fn leave_unless_going_on(&mut self, result: Value) {
        let going_on = self.b.ins().icmp_imm_s(IntCC::Equal, result, helpers::GO_ON);
        let (on, leave) = (self.b.create_block(), self.cold());
        self.b.ins().brif(going_on, on, &[], leave, &[]);
        self.b.switch_to_block(leave);
        self.exit(result);
        self.b.switch_to_block(on);
    }

    fn add_to_budget(&mut self, value: i64) -> Value {
        let budget = self.b.use_var(self.budget);
        let budget = self.b.ins().iadd_imm_s(budget, value);
        self.b.def_var(self.budget, budget);
        budget
    }

    /// A reduction begins: one less is left, and there must be memory for it.
    fn check_budget_and_heap(&mut self) {
        let budget = self.add_to_budget(-1);
        let (second, go, pause) = (self.b.create_block(), self.b.create_block(), self.cold());
        let spent = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, budget, 0);
        self.b.ins().brif(spent, pause, &[], second, &[]);
        self.b.switch_to_block(second);
        let free = self.b.use_var(self.free);
        let limit = self.load(self.registers, field!(limit));
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, free, limit);
        self.b.ins().brif(full, pause, &[], go, &[]);
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

    /// The next goal of the queue.
    fn proceed(&mut self) {
        let goal = self.load(self.registers, field!(ready));
        let (some, none) = (self.b.create_block(), self.cold());
        self.b.ins().brif(goal, some, &[], none, &[]);
        self.b.switch_to_block(none);
        self.save();
        let empty = self.b.ins().iconst(WORD, helpers::number(Exit::Empty));
        self.exit(empty);
        self.b.switch_to_block(some);
        let next = self.load(goal, LINK as i32 * 8);
        self.store(next, self.registers, field!(ready));
        let header = self.load(goal, 0);
        let predicate = self.b.ins().ushr_imm_s(header, PREDICATE_SHIFT as i64);
        let entries = self.load(self.registers, field!(entries));
        let offset = self.b.ins().ishl_imm_s(predicate, 3);
        let place = self.b.ins().iadd(entries, offset);
        let function = self.load(place, 0);
        let tail = self.b.import_signature(signature(CallConv::Tail, 4));
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        self.b.ins().return_call_indirect(tail, function, &[self.registers, free, budget, goal]);
    }

    /// A predicate that is a builtin.
    fn builtin(&mut self) {
        self.at = self.code.predicates[self.predicate as usize].entry;
        let again = self.b.create_block();
        self.b.ins().jump(again, &[]);
        self.b.switch_to_block(again);
        self.check_budget_and_heap();
        self.spill(self.arguments());
        self.add_to_budget(1);
        self.save();
        let predicate = self.constant(u64::from(self.predicate));
        let result = self.call("builtin_goal", &[predicate]);
        self.leave_unless_going_on(result);
        self.restore();
        self.proceed();
    }

    fn note(&mut self, variable: Value) {
        let predicate = &self.code.predicates[self.predicate as usize];
        if predicate.end - predicate.entry > MANY_INSTRUCTIONS {
            self.call("note", &[variable]);
            return;
        }
        let count = self.load(self.registers, field!(noted_count));
        let offset = self.b.ins().ishl_imm_s(count, 3);
        let place = self.b.ins().iadd(self.registers, offset);
        self.store(variable, place, field!(noted));
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.store(count, self.registers, field!(noted_count));
    }

    /// Tests what a register holds once references are followed; goes on where `holds` of the value is not zero.
    fn test(
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
        let (follow, different) = (self.cold(), self.b.create_block());
        let reference = self.has_tag(parameter, REF);
        self.b.ins().brif(reference, follow, &[], different, &[]);
        self.b.switch_to_block(follow);
        let content = self.load(parameter, 0);
        let free = self.has_tag(content, UNBOUND);
        let open = self.cold();
        self.b.ins().brif(free, open, &[], check, &[BlockArg::Value(content)]);
        self.b.switch_to_block(open);
        self.set(register, parameter);
        self.note(parameter);
        let unbound = self.label(unbound);
        self.b.ins().jump(unbound, &[]);
        self.b.switch_to_block(different);
        self.set(register, parameter);
        self.b.ins().jump(other, &[]);
        self.b.switch_to_block(yes);
        self.set(register, parameter);
        parameter
    }

    /// The content of a cell as a value: `base` and an offset that takes its tag away.
    fn cell(&mut self, base: Value, offset: i32) -> Value {
        let content = self.load(base, offset);
        let free = self.has_tag(content, UNBOUND);
        let (open, done) = (self.cold(), self.b.create_block());
        let value = self.b.append_block_param(done, WORD);
        self.b.ins().brif(free, open, &[], done, &[BlockArg::Value(content)]);
        self.b.switch_to_block(open);
        let reference = self.b.ins().iadd_imm_s(base, i64::from(offset));
        self.b.ins().jump(done, &[BlockArg::Value(reference)]);
        self.b.switch_to_block(done);
        value
    }

    fn allocate(&mut self, words: usize) -> Value {
        let free = self.b.use_var(self.free);
        let next = self.b.ins().iadd_imm_s(free, words as i64 * 8);
        self.b.def_var(self.free, next);
        free
    }

    fn tagged(&mut self, pointer: Value, tag: u64) -> Value {
        self.b.ins().iadd_imm_s(pointer, tag as i64)
    }

    fn operand(&mut self, operand: &Operand, place: Value) -> Value {
        match *operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(word) => self.constant(word.0),
            Operand::Variable(register) => {
                self.set(register, place);
                self.constant(UNBOUND)
            }
        }
    }

    /// Active unification; `bound`: `right` is known to be no variable.
    fn unify(&mut self, left: Value, right: Value, bound: bool) {
        let (check, follow, slow) = (self.b.create_block(), self.b.create_block(), self.cold());
        let (bind, next, done) = (self.b.create_block(), self.cold(), self.b.create_block());
        let parameter = self.b.append_block_param(check, WORD);
        self.b.ins().jump(check, &[BlockArg::Value(left)]);
        self.b.switch_to_block(check);
        let reference = self.has_tag(parameter, REF);
        self.b.ins().brif(reference, follow, &[], slow, &[]);
        self.b.switch_to_block(follow);
        let content = self.load(parameter, 0);
        let free = self.b.ins().icmp_imm_s(IntCC::Equal, content, UNBOUND as i64);
        self.b.ins().brif(free, bind, &[], next, &[]);
        self.b.switch_to_block(next);
        let open = self.has_tag(content, UNBOUND);
        self.b.ins().brif(open, slow, &[], check, &[BlockArg::Value(content)]);
        self.b.switch_to_block(bind);
        if bound {
            self.store(right, parameter, 0);
            self.b.ins().jump(done, &[]);
        } else {
            let (store, reference) = (self.b.create_block(), self.has_tag(right, REF));
            self.b.ins().brif(reference, slow, &[], store, &[]);
            self.b.switch_to_block(store);
            self.store(right, parameter, 0);
            self.b.ins().jump(done, &[]);
        }
        self.b.switch_to_block(slow);
        self.save();
        let result = self.call("unify", &[parameter, right]);
        self.leave_unless_going_on(result);
        self.restore();
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Goes where a guard's answer says.
    fn answer(&mut self, answer: Value, unbound: Label, other: Label) {
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

    /// Makes sure that registers hold integers, or goes to `unbound`, whether that is or they are of a wrong type.
    fn integers(&mut self, registers: &[Register], unbound: Label) {
        if unbound == NOWHERE {
            return;
        }
        let mut wrong = None;
        for register in registers {
            let value = self.get(*register);
            let bits = self.b.ins().bxor_imm_s(value, INT as i64);
            wrong = Some(match wrong {
                None => bits,
                Some(before) => self.b.ins().bor(before, bits),
            });
        }
        let Some(wrong) = wrong else { return };
        let wrong = self.b.ins().band_imm_s(wrong, TAG_MASK as i64);
        let (slow, done) = (self.cold(), self.b.create_block());
        self.b.ins().brif(wrong, slow, &[], done, &[]);
        self.b.switch_to_block(slow);
        self.spill(registers.iter().copied());
        let at = self.constant(u64::from(self.at));
        let right = self.call("operands", &[at]);
        self.fill(registers.iter().copied());
        let unbound = self.label(unbound);
        self.b.ins().brif(right, done, &[], unbound, &[]);
        self.b.switch_to_block(done);
    }

    /// Result of two integers, and blocks that are gone to (cold) on an overflow and where there is no result.
    fn calculate(
        &mut self,
        operation: BinaryOperation,
        left: Value,
        right: Value,
        overflow: Block,
        none: Block,
    ) -> Value {
        let done = self.b.create_block();
        let result = match operation {
            BinaryOperation::Add | BinaryOperation::Subtract | BinaryOperation::Multiply => {
                let (value, wrong) = match operation {
                    BinaryOperation::Multiply => {
                        let left = self.b.ins().iadd_imm_s(left, -(INT as i64));
                        let right = self.b.ins().sshr_imm_s(right, 3);
                        let (value, wrong) = self.b.ins().smul_overflow(left, right);
                        (self.b.ins().iadd_imm_s(value, INT as i64), wrong)
                    }
                    _ => {
                        let right = self.b.ins().iadd_imm_s(right, -(INT as i64));
                        match operation {
                            BinaryOperation::Add => self.b.ins().sadd_overflow(left, right),
                            _ => self.b.ins().ssub_overflow(left, right),
                        }
                    }
                };
                self.b.ins().brif(wrong, overflow, &[], done, &[]);
                value
            }
            _ => {
                let value = self.b.append_block_param(done, WORD);
                let slow = self.b.create_block();
                if matches!(operation, BinaryOperation::Divide | BinaryOperation::Modulo) {
                    // Neither 0 nor -1: the processor's division gives the result.
                    let divisor = self.b.ins().sshr_imm_s(right, 3);
                    let dividend = self.b.ins().sshr_imm_s(left, 3);
                    let shifted = self.b.ins().iadd_imm_s(divisor, 1);
                    let plain = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, shifted, 1);
                    let fast = self.b.create_block();
                    self.b.set_cold_block(slow);
                    self.b.ins().brif(plain, fast, &[], slow, &[]);
                    self.b.switch_to_block(fast);
                    let whole = match operation {
                        BinaryOperation::Divide => self.b.ins().sdiv(dividend, divisor),
                        _ => self.b.ins().srem(dividend, divisor),
                    };
                    let shifted = self.b.ins().ishl_imm_s(whole, 3);
                    let tagged = self.tagged(shifted, INT);
                    self.b.ins().jump(done, &[BlockArg::Value(tagged)]);
                } else {
                    self.b.ins().jump(slow, &[]);
                }
                self.b.switch_to_block(slow);
                let at = self.constant(u64::from(self.at));
                let found = self.call("integers", &[at, left, right]);
                let whole = self.has_tag(found, INT);
                let wrong = self.cold();
                self.b.ins().brif(whole, done, &[BlockArg::Value(found)], wrong, &[]);
                self.b.switch_to_block(wrong);
                let too_large = self.b.ins().icmp_imm_s(IntCC::Equal, found, 1);
                self.b.ins().brif(too_large, overflow, &[], none, &[]);
                value
            }
        };
        self.b.switch_to_block(done);
        result
    }

    fn guard_calculate(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: Result<Register, i16>,
        (unbound, other): (Label, Label),
    ) {
        let operands: Vec<Register> = std::iter::once(left).chain(right.ok()).collect();
        self.integers(&operands, unbound);
        let a = self.get(left);
        let b = match right {
            Ok(register) => self.get(register),
            Err(value) => self.constant(Word::small(i64::from(value)).0),
        };
        let (overflow, other) = (self.cold(), self.label(other));
        let value = self.calculate(operation, a, b, overflow, other);
        let done = self.b.create_block();
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(overflow);
        self.spill(operands.iter().copied());
        self.spill(self.arguments());
        self.save();
        let at = self.constant(u64::from(self.at));
        let result = self.call("overflow", &[at]);
        self.exit(result);
        self.b.switch_to_block(done);
        self.set(target, value);
    }

    fn compare(&mut self, comparison: Comparison, left: Value, right: Value, other: Label) {
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

    fn suspend(&mut self) {
        self.spill(self.arguments());
        self.add_to_budget(1);
        self.save();
        let predicate = self.constant(u64::from(self.predicate));
        let result = self.call("suspend", &[predicate]);
        self.leave_unless_going_on(result);
        self.restore();
        self.proceed();
    }

    /// A helper for something in a body: its registers in memory, and what it leaves there.
    fn in_body(&mut self, instruction: &Instruction, helper: &'static str, number: u32) {
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

    fn execute(&mut self, predicate: u32) {
        if let (true, Some(again)) = (predicate == self.predicate, self.again) {
            let again = match self.growing {
                Some((growing, block)) if growing.calls(self.code, self.at) => block,
                _ => again,
            };
            self.b.ins().jump(again, &[]);
            return;
        }
        let arity = usize::from(self.code.predicates[predicate as usize].arity);
        let (free, budget) = (self.b.use_var(self.free), self.b.use_var(self.budget));
        let mut arguments = vec![self.registers, free, budget];
        for index in 0..arity.min(PASSED) {
            arguments.push(self.get(index as Register));
        }
        if arity > PASSED {
            self.spill(PASSED as Register..arity as Register);
        }
        let function = self.function(self.names.main[predicate as usize]);
        self.b.ins().return_call(function, &arguments);
    }

    fn switch(&mut self, register: Register, table: u32) {
        let table = &self.code.tables[table as usize];
        let value = self.get(register);
        let (check, bound) = (self.b.create_block(), self.b.create_block());
        let parameter = self.b.append_block_param(check, WORD);
        self.b.ins().jump(check, &[BlockArg::Value(value)]);
        self.b.switch_to_block(check);
        let follow = self.cold();
        let reference = self.has_tag(parameter, REF);
        self.b.ins().brif(reference, follow, &[], bound, &[]);
        self.b.switch_to_block(follow);
        let content = self.load(parameter, 0);
        let free = self.has_tag(content, UNBOUND);
        let open = self.cold();
        self.b.ins().brif(free, open, &[], check, &[BlockArg::Value(content)]);
        self.b.switch_to_block(open);
        self.set(register, parameter);
        self.note(parameter);
        let unbound = self.label(table.unbound);
        self.b.ins().jump(unbound, &[]);
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

    fn dispatch(&mut self, value: Value, labels: &FxHashMap<Word, Label>, other: Block) {
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

    /// One instruction; false when it ends the block.
    fn instruction(&mut self, instruction: Instruction) -> bool {
        match instruction {
            Instruction::List { register, unbound, other } => {
                self.test(register, unbound, other, |function, value| function.has_tag(value, LIST));
            }
            Instruction::ListParts { register, head, tail, unbound, other } => {
                let value = self.test(register, unbound, other, |function, value| function.has_tag(value, LIST));
                let first = self.cell(value, -(LIST as i32));
                let rest = self.cell(value, 8 - LIST as i32);
                self.set(head, first);
                self.set(tail, rest);
            }
            Instruction::Constant { register, constant, unbound, other } => {
                let wanted = self.code.constants[constant as usize].0;
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
                self.store(none, self.registers, field!(noted_count));
            }
            Instruction::Suspend { .. } => {
                self.suspend();
                return false;
            }
            Instruction::Otherwise { to, .. } => {
                let noted = self.load(self.registers, field!(noted_count));
                let (to, wait) = (self.label(to), self.cold());
                self.b.ins().brif(noted, wait, &[], to, &[]);
                self.b.switch_to_block(wait);
                self.suspend();
                return false;
            }
            Instruction::Count { predicate } => {
                let counts = self.load(self.registers, field!(counts));
                let count = self.load(counts, predicate as i32 * 8);
                let count = self.b.ins().iadd_imm_s(count, 1);
                self.store(count, counts, predicate as i32 * 8);
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
                self.set(target, cell);
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
                let new = self.is_new(left);
                let (left, head) = (self.get(left), self.get(head));
                let (list, rest) = self.cons_variable(head);
                if new {
                    self.store(list, left, 0);
                } else {
                    self.unify(left, list, true);
                }
                self.set(tail, rest);
            }
            Instruction::UnifyConstant { left, constant } => {
                let new = self.is_new(left);
                let left = self.get(left);
                let right = self.constant(self.code.constants[constant as usize].0);
                if new {
                    self.store(right, left, 0);
                } else {
                    self.unify(left, right, true);
                }
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
            Instruction::Start { start } => self.in_body(&instruction, "start_site", start),
            Instruction::Metacall { metacall } => self.in_body(&instruction, "metacall_site", metacall),
            Instruction::Push { call } => {
                let site = &self.code.calls[call as usize];
                let goal = self.allocate(ARGUMENTS + site.arguments.len());
                let header = goal_header(site.predicate, site.arguments.len(), state::READY, 0);
                let header = self.constant(header.0);
                self.store(header, goal, 0);
                let ready = self.load(self.registers, field!(ready));
                self.store(ready, goal, LINK as i32 * 8);
                for (index, operand) in site.arguments.iter().enumerate() {
                    let value = self.operand(operand, goal);
                    self.store(value, goal, (ARGUMENTS + index) as i32 * 8);
                }
                self.store(goal, self.registers, field!(ready));
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
                let free = self.b.use_var(self.free);
                let top = self.b.ins().iadd_imm_s(free, i64::from(words) * 8);
                let limit = self.load(self.registers, field!(limit));
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

    /// Whether a register holds a new variable in this version of the code.
    fn is_new(&self, register: Register) -> bool {
        self.grows && self.growing.is_some_and(|(growing, _)| growing.register == register)
    }

    fn cons(&mut self, head: Value, tail: Value) -> Value {
        let cells = self.allocate(2);
        self.store(head, cells, 0);
        self.store(tail, cells, 8);
        self.tagged(cells, LIST)
    }

    fn cons_variable(&mut self, head: Value) -> (Value, Value) {
        let cells = self.allocate(2);
        let free = self.constant(UNBOUND);
        self.store(head, cells, 0);
        self.store(free, cells, 8);
        let rest = self.b.ins().iadd_imm_s(cells, 8);
        (self.tagged(cells, LIST), rest)
    }

    fn body_calculate(&mut self, operation: BinaryOperation, target: Register, left: Register, right: Register) {
        let (a, b) = (self.get(left), self.get(right));
        let (whole, slow, done) = (self.b.create_block(), self.cold(), self.b.create_block());
        let result = self.b.append_block_param(done, WORD);
        let first = self.b.ins().bxor_imm_s(a, INT as i64);
        let second = self.b.ins().bxor_imm_s(b, INT as i64);
        let wrong = self.b.ins().bor(first, second);
        let wrong = self.b.ins().band_imm_s(wrong, TAG_MASK as i64);
        self.b.ins().brif(wrong, slow, &[], whole, &[]);
        self.b.switch_to_block(whole);
        let value = self.calculate(operation, a, b, slow, slow);
        self.b.ins().jump(done, &[BlockArg::Value(value)]);
        self.b.switch_to_block(slow);
        self.save();
        let at = self.constant(u64::from(self.at));
        let value = self.call("body_integers", &[at, a, b]);
        let (right, problem) = (self.b.create_block(), self.cold());
        self.b.ins().brif(value, right, &[], problem, &[]);
        self.b.switch_to_block(problem);
        let exit = self.b.ins().iconst(WORD, helpers::number(Exit::Problem));
        self.exit(exit);
        self.b.switch_to_block(right);
        self.restore();
        self.b.ins().jump(done, &[BlockArg::Value(value)]);
        self.b.switch_to_block(done);
        self.set(target, result);
    }
}

/// An argument through which a predicate builds a list as it goes: `p(..., [X|Rest]) :- ... | p(..., Rest)`.
#[derive(Clone, Copy)]
struct Growing {
    register: Register,
}

impl Growing {
    /// The argument, if the predicate has one that no test looks at and that is a new variable in some call of the
    /// predicate by itself.
    fn find(code: &Code, predicate: u32) -> Option<Growing> {
        let entry = &code.predicates[predicate as usize];
        let range = entry.entry..entry.end;
        (0..Register::from(entry.arity)).map(|register| Growing { register }).find(|growing| {
            range.clone().any(|at| growing.calls(code, at))
                && range.clone().all(|at| growing.keeps(code, at, entry.entry))
        })
    }

    /// Whether an instruction leaves the argument as the call brought it, or is the first of its clause that can bind
    /// any variable: another one might, through some other term, have bound this one.
    fn keeps(self, code: &Code, at: Label, entry: Label) -> bool {
        let instruction = &code.instructions[at as usize];
        let (mut reads, mut writes) = (false, false);
        instruction.reads(code, &mut |register| reads |= register == self.register);
        instruction.writes(code, &mut |register| writes |= register == self.register);
        if instruction.is_test() {
            return !reads && !writes && !matches!(instruction, Instruction::Guard { .. });
        }
        match instruction {
            Instruction::UnifyConsVariable { left, tail, .. } => {
                let binds = *left == self.register;
                (binds || *tail != self.register) && (!binds || Self::binds_first(code, at, entry))
            }
            Instruction::UnifyConstant { left, .. } => *left != self.register || Self::binds_first(code, at, entry),
            _ => !writes,
        }
    }

    /// Whether no instruction between the last test and this one can bind a variable.
    fn binds_first(code: &Code, at: Label, entry: Label) -> bool {
        for instruction in code.instructions[entry as usize..at as usize].iter().rev() {
            if instruction.is_test() {
                return true;
            }
            use Instruction::*;
            let harmless = matches!(
                instruction,
                Cell { .. }
                    | Move { .. }
                    | Load { .. }
                    | LoadBoxed { .. }
                    | Variable { .. }
                    | Cons { .. }
                    | ConsVariable { .. }
                    | Build { .. }
                    | Push { .. }
                    | Count { .. }
                    | Forget
                    | BodyCalculate { .. }
            );
            if !harmless {
                // Where another clause ends, this one begins.
                return matches!(instruction, Execute { .. } | Proceed);
            }
        }
        true
    }

    /// Whether this is a call of the predicate by itself right after the argument became a new variable.
    fn calls(self, code: &Code, at: Label) -> bool {
        let Instruction::Execute { .. } = code.instructions[at as usize] else { return false };
        for instruction in code.instructions[..at as usize].iter().rev() {
            match instruction {
                Instruction::UnifyConsVariable { tail, .. } => return *tail == self.register,
                Instruction::Move { target, .. } | Instruction::Load { target, .. } if *target != self.register => {}
                _ => return false,
            }
        }
        false
    }
}

// The answers of guards are numbers in native code; should they change, so must `Function::answer`.
const _: () = assert!(interpret::Answer::Problem as u8 == 3);
