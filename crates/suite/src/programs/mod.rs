//! Whole programs, for what a machine makes of its computation and its communication together.
//!
//! Each gives its right answer wherever its messages carry data, and checks it; with phantoms, in virtual time only, it
//! charges the same operations and sends messages of the same lengths.

pub mod cholesky;
pub mod jacobi;
mod real;
pub mod slalom;
pub(crate) mod timing;

pub use real::{Precision, Real};

use crate::request::Request;
use crate::usage::{UsageError, refuse_if};

/// What programs compute in.
pub(crate) const PRECISIONS: &[&str] = &["single", "double"];

/// The largest extent: a matrix of it still fits a large memory.
const MAX_EXTENT: u64 = 65_536;

/// Checks what programs take instead of lengths.
pub(crate) fn check_extents(request: &Request) -> Result<(), UsageError> {
    match request.extent.iter().find(|n| !(1..=MAX_EXTENT).contains(n)) {
        Some(n) => refuse_if(true, || {
            format!("{} with an extent of {n}: it must be between 1 and {MAX_EXTENT}", request.benchmark)
        }),
        None => Ok(()),
    }
}
