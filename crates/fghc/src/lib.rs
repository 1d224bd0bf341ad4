//! Flat GHC as in KL1: the language, its engine, and its execution on many processing elements (PEs).

pub mod builtins;
pub mod check;
mod compile;
pub mod diagnostics;
pub mod distributed;
pub mod engine;
pub mod explain;
pub mod heap;
pub mod ir;
mod library;
mod native;
pub mod syntax;

pub use compile::CompileError;
