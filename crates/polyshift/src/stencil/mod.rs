//! Stencils of distributed arrays: only faces move, and they travel while the interior is computed.
//!
//! What George, Brickner and Johnsson (1994, section 7) ask of a library that consumes shifted data where it lies, over ranks:
//! a block and the ghosts around it are an array of their own ([`Block`]), which a plan of `weft_kernels` computes region by
//! region ([`Stepper`]). Where the whole array ends, the block has no ghosts, and the plan's boundary comes in on the fly;
//! so results are those of the undivided array.
//!
//! An exchange may serve several steps: its ghosts are as many times as deep, and what later steps need of them is computed
//! on both sides ([`Superstep`]). That trades arithmetic at the edges of blocks for the startup of messages.

mod block;
mod stepper;

pub use block::{Block, Superstep, deep, ghosts, halo};
pub use stepper::{Computation, Lying, Memory, Stepper};
