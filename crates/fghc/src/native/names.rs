//! What translated functions agree on: names, parameters, fields of the engine's registers.

use cranelift_codegen::ir::{AbiParam, MemFlagsData, Signature, Type, types};
use cranelift_codegen::isa::CallConv;
use cranelift_module::FuncId;
use rustc_hash::FxHashMap;

/// Parameters of every predicate: free pointer and budget. The engine's registers are in a processor register of their own.
pub(super) const STATE: usize = 2;
/// Parameters of a predicate beside those: its arguments, or, where there are more, the first of them and the address of the
/// others. As many as processors pass in registers.
pub(super) const PASSED: usize = 4;
pub(super) const WORD: Type = types::I64;

/// Functions by predicate, and helpers by name.
pub(super) struct Names {
    pub main: Vec<FuncId>,
    pub goal: Vec<FuncId>,
    pub helpers: FxHashMap<&'static str, FuncId>,
    /// Whether suspensions and resumptions are counted.
    pub counts: bool,
    /// The predicate whose commitments are not counted.
    pub left_out: Option<u32>,
}

/// How many arguments are passed in processor registers.
pub(super) fn in_registers(arity: usize) -> usize {
    if arity <= PASSED { arity } else { PASSED - 1 }
}

pub(super) fn signature(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(std::iter::repeat_n(AbiParam::new(WORD), parameters));
    signature.returns.push(AbiParam::new(WORD));
    signature
}

pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

macro_rules! field {
    ($name:ident) => {
        std::mem::offset_of!($crate::engine::registers::Registers, $name) as i32
    };
}
pub(super) use field;
