//! Stencils over arrays: weighted sums of neighbours, without moving anything first.
//!
//! A stencil is what a polyshift is used for (George, Brickner, Johnsson 1994, figures 5 and 7): shifted copies of an array,
//! multiplied and added. Their conclusion is that moving whole copies within a node dominates for all but small arrays, and
//! that a library which consumes neighbours where they lie removes it. This module is that library for one process: each
//! row of the result is computed from pointers to rows of the source; only a pointer changes where an axis is circular, and
//! what lies beyond an end is put in on the fly.
//!
//! * [`Stencil`] says what is summed, [`Boundary`] what lies beyond the array.
//! * [`Plan`] is made once for an array's shape: rows are grouped, a kernel is chosen, tiles are cut. [`Plan::apply`] runs it
//!   on whole arrays, for one or several time steps, on one or several threads.
//! * [`Plan::apply_block`] runs it on a region of a block with halos, for arrays that are distributed: [`interior_and_rim`]
//!   separates what can be computed while faces travel. [`Plan::apply_region`] does the same in arrays that hold blocks and
//!   ghosts as they are.
//!
//! Kernels are chosen by what a stencil is, not by its name: `columns` where coefficients are constant and no point is more
//! than one column away, `direct` for everything else.

mod apply;
mod arrays;
mod block;
mod columns;
mod description;
mod direct;
mod element;
mod error;
mod kernel;
mod lanes;
mod plan;
mod prepare;
mod region;
mod scalar;
mod scratch;
mod span;
mod steps;
mod sweep;
#[cfg(test)]
mod tests;
mod tiles;
mod traversal;
mod work;

pub use arrays::{Layout, Source, Target};
pub use block::{Halo, Region, interior_and_rim};
pub use description::{Array, Boundary, Coefficient, Face, MAX_AXES, Point, Stencil};
pub use element::Element;
pub use error::StencilError;
pub use plan::{Options, Plan};
pub use scalar::Scalar;
pub use weft_simd::Level;
