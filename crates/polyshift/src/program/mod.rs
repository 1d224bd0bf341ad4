//! Programs that do exchanges: the same source on every backend.

mod case;
mod check;

pub use case::Case;
pub use check::{Check, check};
