//! Array kernels at memory speed, in one process: what shifts, stencils and data-parallel primitives are made of.
//!
//! No communication, no Python; one module a primitive. A kernel is given plain slices or pointers with strides that its
//! caller has checked.

mod execution;
pub mod primitives;
pub mod shift;
pub mod stencil;

pub use execution::{Execution, Stop};
