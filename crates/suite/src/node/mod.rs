//! Node computation: what one node's processor and memory do, without messages.
//!
//! The benchmarks are those of section 3 of Dunigan 1991 (tables 3 to 5, figure 1), with STREAM, the peak of fused
//! multiply-adds and the latency of memory, which matter more now. One file is one benchmark.
//!
//! # How the work is kept
//! A compiler of today removes work whose result nobody reads, does once what is repeated with equal operands, and
//! sums in closed form. Every benchmark therefore
//!
//! - takes its operands through [`std::hint::black_box`] once, before the clock starts, so that no value is known;
//! - makes every repetition depend on the one before it or on data declared changed, so that none can be left out; how
//!   is written at the head of each file;
//! - computes a result that depends on the number of repetitions where the benchmark allows, compares it with a
//!   reference found in another way, and refuses to report when it is wrong ([`NodeError::WrongResult`]).
//!
//! Nothing is made slower by that: barriers are empty instructions on registers or stand outside the innermost loop.
//! Loops that gain from vectors are compiled for several vector widths and the widest that the processor has is taken
//! (`simd.rs`), as a compiler told to use the machine at hand would. [`linearity()`] reports how the time grows with
//! the count.
//!
//! In virtual time the same quantities come from a machine's operation times: see [`work()`].

mod arithmetic;
mod catalogue;
mod dhrystone;
mod dot;
mod error;
mod floatmath;
mod fma;
mod latency;
mod linearity;
mod linpack;
mod livermore;
mod measure;
mod memory;
mod request;
mod row;
mod sieve;
mod simd;
mod stream;
mod system;
mod whetstone;
mod work;

pub use catalogue::{NodeBenchmark, catalogue, run};
pub use error::NodeError;
pub use linearity::{Linearity, linearity};
pub use request::NodeRequest;
pub use row::NodeRow;
pub use system::available_memory;
pub use work::{megaflops, work};
