//! Stencils of distributed arrays: only faces move, and they travel while the interior is computed.
//!
//! What George, Brickner and Johnsson (1994, section 7) ask of a library that consumes shifted data where it lies, over ranks:
//! a block and the ghosts around it are an array of their own ([`Block`]), which a plan of `weft_kernels` computes region by
//! region ([`Stepper`]). Where the whole array ends, the block has no ghosts, and the plan's boundary comes in on the fly;
//! so results are those of the undivided array.

mod block;
mod stepper;

pub use block::{Block, ghosts, halo};
pub use stepper::{Computation, Memory, Stepper};
