//! Flat GHC as in KL1: the language, its engine, and its execution on many processing elements (PEs).

pub mod builtins;
pub mod check;
mod compile;
pub mod diagnostics;
pub mod disassembly;
pub mod distributed;
pub mod engine;
pub mod explain;
pub mod heap;
pub mod ir;
mod library;
#[cfg(feature = "native")]
mod native;
pub mod syntax;
mod translation;

pub use compile::CompileError;
