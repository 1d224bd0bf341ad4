//! Shifts of arrays at memory speed: many outputs from one pass over the input.
//!
//! A shift moves elements and computes nothing, so the kernels know bytes and no types. Three of them share the work:
//!
//! - [`slabs`]: arrays that are dense in the same order. In such an array a shift along an axis turns each *slab* (the
//!   bytes under one index of the axes before it) by a number of bytes. A block of the source is read once and all that
//!   is made of it is written while it is in the first-level cache; where the arrays are larger than the last cache,
//!   full cache lines are written by non-temporal stores.
//! - [`lines`]: the same for arrays so small that finding out what to do takes longer than doing it: every line of the
//!   outputs with where its bytes come from, worked out once.
//! - [`boxes`]: anything else with strides.
//!
//! After W. George, R. G. Brickner, S. L. Johnsson, "POLYSHIFT Communications Software for the Connection Machine System
//! CM-200", Scientific Programming 3 (1994): the moves within a node (section 3, step 1) and at its boundaries (step 3).

pub mod boxes;
mod description;
pub mod lines;
#[cfg(target_arch = "x86_64")]
mod periods;
mod pieces;
mod short;
pub mod slabs;
mod writer;

pub use description::{Buffers, Piece, SlabEdge, SlabShift, pieces};
pub use pieces::copy_piece;
