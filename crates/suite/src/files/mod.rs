//! Benchmarks of files, and what all programs that use files share.

mod scratch;
mod transfer;

pub(crate) use scratch::{Scratch, file_system};
pub(crate) use transfer::MAX_REAL_BYTES;
pub use transfer::{FileHost, FileRead, FileWrite};
