//! A program as functions of native code, and how it is entered.

use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use rustc_hash::{FxHashMap, FxHashSet};

use super::function::{Function, is_small};
use super::names::{Names, PASSED, STATE, WORD, field, flags, signature};
use super::{Translation, flow, helpers, placement};
use crate::engine::instruction::{Code, Instruction};
use crate::heap::goal::{LINK, PREDICATE_SHIFT};

/// Code of a program.
pub struct Program {
    /// What keeps its memory.
    pub module: JITModule,
    /// The entry of each predicate for goals.
    pub entries: Vec<*const u8>,
    /// How it is entered.
    pub enter: *const u8,
    /// The predicate whose commitments are not counted, where those of all others are.
    pub left_out: Option<u32>,
}

/// Translates a program; `None` where the processor is not known.
pub fn program(code: &Code, translation: &Translation) -> Option<Program> {
    // The second time, if a program is larger than instructions usually become.
    [1, 16].into_iter().find_map(|factor| translated(code, translation, factor))
}

fn translated(code: &Code, translation: &Translation, factor: usize) -> Option<Program> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return None;
    }
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        // The engine's registers.
        ("enable_pinned_reg", "true"),
        // Tail calls need them.
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ] {
        flags.set(name, value).ok()?;
    }
    let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    builder.memory_provider(placement::memory(code.instructions.len(), factor, translation.placement));
    let all = helpers::all();
    for (name, address, _) in &all {
        builder.symbol(*name, *address);
    }
    let mut module = JITModule::new(builder);
    let left_out = flow::most_counted(code);
    let mut names = Names {
        main: Vec::new(),
        goal: Vec::new(),
        helpers: FxHashMap::default(),
        counts: translation.counters,
        left_out,
    };
    let mut imported = Vec::new();
    for (name, _, arguments) in &all {
        let signature = signature(CallConv::triple_default(module.isa().triple()), 1 + arguments);
        imported.push((*name, module.declare_function(name, Linkage::Import, &signature).ok()?, *arguments));
    }
    for (number, predicate) in code.predicates.iter().enumerate() {
        let main = signature(CallConv::Tail, STATE + usize::from(predicate.arity).min(PASSED));
        let goal = signature(CallConv::Tail, STATE + 1);
        names.main.push(module.declare_function(&format!("p{number}"), Linkage::Local, &main).ok()?);
        names.goal.push(module.declare_function(&format!("g{number}"), Linkage::Local, &goal).ok()?);
    }
    let mut context = module.make_context();
    let mut frontend = FunctionBuilderContext::new();
    for (name, helper, arguments) in imported {
        let id = trampoline(&mut module, &mut context, &mut frontend, (name, helper, arguments))?;
        names.helpers.insert(name, id);
    }
    let called = called(code);
    for number in 0..code.predicates.len() {
        for from_goal in [false, true] {
            if !from_goal && !called.contains(&(number as u32)) {
                continue;
            }
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
    Some(Program { module, entries, enter, left_out })
}

/// Predicates that are called with arguments in processor registers.
fn called(code: &Code) -> FxHashSet<u32> {
    let mut called: FxHashSet<u32> =
        (0..code.predicates.len() as u32).filter(|number| !is_small(code, *number)).collect();
    for (number, predicate) in code.predicates.iter().enumerate() {
        for instruction in &code.instructions[predicate.entry as usize..predicate.end as usize] {
            if let Instruction::Execute { predicate, .. } = instruction
                && *predicate as usize != number
            {
                called.insert(*predicate);
            }
        }
    }
    called
}

/// A helper as native code calls it: it leaves every register of the processor as it was, and its answer in memory. Calls are rare; were registers lost in them, predicates would save and restore some every time.
fn trampoline(
    module: &mut JITModule,
    context: &mut cranelift_codegen::Context,
    frontend: &mut FunctionBuilderContext,
    (name, helper, arguments): (&str, FuncId, usize),
) -> Option<FuncId> {
    let mut own = Signature::new(CallConv::PreserveAll);
    own.params.extend(std::iter::repeat_n(AbiParam::new(WORD), arguments));
    let id = module.declare_function(&format!("preserving_{name}"), Linkage::Local, &own).ok()?;
    context.func.signature = own;
    let mut builder = FunctionBuilder::new(&mut context.func, frontend);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let registers = builder.ins().get_pinned_reg(WORD);
    let mut all = vec![builder.ins().load(WORD, flags(), registers, field!(engine))];
    all.extend_from_slice(builder.block_params(block));
    let function = module.declare_func_in_func(helper, builder.func);
    let call = builder.ins().call(function, &all);
    let answer = builder.inst_results(call)[0];
    builder.ins().store(flags(), answer, registers, field!(answer));
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, context).ok()?;
    module.clear_context(context);
    Some(id)
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
    let before = builder.ins().get_pinned_reg(WORD);
    builder.ins().set_pinned_reg(registers);
    let goal = builder.ins().load(WORD, flags(), registers, field!(ready));
    let next = builder.ins().load(WORD, flags(), goal, LINK as i32 * 8);
    builder.ins().store(flags(), next, registers, field!(ready));
    let header = builder.ins().load(WORD, flags(), goal, 0);
    let predicate = builder.ins().ushr_imm_s(header, PREDICATE_SHIFT as i64);
    let entries = builder.ins().load(WORD, flags(), registers, field!(entries));
    let offset = builder.ins().ishl_imm_s(predicate, 3);
    let address = builder.ins().iadd(entries, offset);
    let function = builder.ins().load(WORD, flags(), address, 0);
    let free = builder.ins().load(WORD, flags(), registers, field!(free));
    let budget = builder.ins().load(WORD, flags(), registers, field!(budget));
    let tail = builder.import_signature(signature(CallConv::Tail, STATE + 1));
    let call = builder.ins().call_indirect(tail, function, &[free, budget, goal]);
    let result = builder.inst_results(call)[0];
    builder.ins().set_pinned_reg(before);
    builder.ins().return_(&[result]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, context).ok()?;
    module.clear_context(context);
    Some(id)
}
