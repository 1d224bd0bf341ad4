//! Native code: the engine's instructions translated for this processor when a program is loaded (Cranelift).
//!
//! The interpreter is the meaning, this is the speed: every program gives the same answers and the same counts either
//! way. A predicate becomes two functions: one takes its arguments in registers, one from a goal record. They call each
//! other by tail calls, with the free pointer of the heap, the budget and the first arguments in processor registers; a
//! call of a predicate by itself is a loop. What is rare is left to the engine, see [`helpers`].

mod calculate;
mod control;
mod examine;
mod facts;
mod flow;
mod function;
mod helpers;
mod instruction;
mod names;
mod placement;
mod program;
mod unify;

use std::sync::Arc;

use cranelift_jit::JITModule;

use crate::engine::backend::Backend;
use crate::engine::instruction::Code;
use crate::engine::registers::Registers;
use crate::engine::{Engine, Exit, Translation};

type Enter = extern "C" fn(*mut Registers) -> i64;

/// Native code of a program; `None` where there is no translation for this processor.
pub(crate) fn translated(code: &Code, translation: &Translation) -> Option<Arc<dyn Backend>> {
    Native::new(code, translation).map(|native| Arc::new(native) as Arc<dyn Backend>)
}

/// Native code of a program.
struct Native {
    entries: Vec<*const u8>,
    enter: Enter,
    left_out: Option<u32>,
    // Holds the memory of the code; never called after it is made.
    module: Option<JITModule>,
}

// SAFETY: finished code is only read.
unsafe impl Send for Native {}
// SAFETY: finished code and the table of its entries are only read, from whichever threads.
unsafe impl Sync for Native {}

impl Native {
    /// Translates a program; `None` where this processor is not one that can be translated for.
    fn new(code: &Code, translation: &Translation) -> Option<Native> {
        let program::Program { module, entries, enter, left_out } = program::program(code, translation)?;
        // SAFETY: `program::program` has translated the entry with the signature of `Enter`, and `module` keeps its
        // memory.
        let enter = unsafe { std::mem::transmute::<*const u8, Enter>(enter) };
        Some(Native { entries, enter, left_out, module: Some(module) })
    }
}

impl Backend for Native {
    fn uncounted_predicate(&self) -> Option<usize> {
        self.left_out.map(|predicate| predicate as usize)
    }

    fn entries(&self) -> *const *const u8 {
        self.entries.as_ptr()
    }

    fn run(&self, engine: &mut Engine) -> Exit {
        if engine.registers.ready.is_null() {
            return Exit::Empty;
        }
        let registers: *mut Registers = &mut *engine.registers;
        engine.registers.engine = engine;
        helpers::exit((self.enter)(registers))
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: nothing runs this code any more: engines hold what owns it.
            unsafe { module.free_memory() };
        }
    }
}
