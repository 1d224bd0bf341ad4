//! What data-parallel programs do with whole arrays, at memory speed: elementwise operations, reductions, scans, spreads,
//! ranks, gets and sends with combining, all under a selection.
//!
//! Arrays are dense in C order. A selection is an array of booleans of the same shape; elements that are not selected take
//! no part, and keep what they hold where they would be given something.
//!
//! Results do not depend on the number of threads, of floating-point numbers neither: the order of combination is fixed
//! by the indices of the elements. Where outputs are larger than the caches, full lines of them are written by
//! non-temporal stores.
//!
//! A call takes a number of threads or an [`Execution`](crate::Execution), which may also give it up:
//! [`PrimitiveError::Interrupted`].
//!
//! After the operations that M.-Y. Wu and W. Shu, "Performance Study on the Connection Machine" (1989) measure: section 3,
//! tables 1 to 12.

mod addresses;
mod axis;
mod choose;
mod combination;
mod density;
mod element;
mod elementwise;
mod error;
mod functions;
mod gather;
mod indices;
mod lines;
mod operand;
mod parallel;
mod partition;
mod pointwise;
mod rank;
mod reduce;
mod reduce_axis;
mod scan;
mod send;
mod spread;
#[cfg(test)]
mod tests;
mod view;
mod windows;

pub use addresses::{Along, addresses};
pub use axis::Axis;
pub use choose::choose;
pub use combination::Combination;
pub use element::{ElementType, Scalar};
pub use elementwise::elementwise;
pub use error::PrimitiveError;
pub use gather::gather;
pub use partition::{Division, partition};
pub use pointwise::Pointwise;
pub use rank::rank;
pub use reduce::reduce;
pub use reduce_axis::reduce_axis;
pub use scan::{Order, Scan, scan};
pub use send::{Collisions, send, send_workspace_bytes};
pub use spread::spread;
pub use view::View;

/// What an output holds after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// What it held: all indices are looked at before the first element is moved.
    Keep,
    /// Anything, which spares passes over the indices: for an output that nobody has seen yet.
    Clobber,
}

/// An error where a call was given up.
fn finished(stop: crate::Stop<'_>) -> Result<(), PrimitiveError> {
    if stop.is_requested() { Err(PrimitiveError::Interrupted) } else { Ok(()) }
}
