//! What all of weft says of memory and of input, for Python.

use pyo3::prelude::*;
use weft_base::{memory, quoting};

use crate::errors::usage;

/// A piece of input as messages show it: control characters escaped, at most 80 characters of it.
#[pyfunction]
pub fn shown(text: &str) -> String {
    quoting::shown(text)
}

/// A whole message fit to be printed: line ends stay, other control characters are escaped, lines cut after 1000 characters.
#[pyfunction]
pub fn message(text: &str) -> String {
    quoting::message(text)
}

/// Bytes that this process may still take, and what sets the limit; None where that cannot be found out.
#[pyfunction]
pub fn available_memory() -> Option<(u64, &'static str)> {
    memory::available().map(|available| (available.bytes, available.limit))
}

/// Refuses what takes about `needed` bytes where so much cannot be had: `what` needs it, `advice` says what to do. Raises
/// UsageError.
#[pyfunction]
pub fn require_memory(needed: u64, what: &str, advice: &str) -> PyResult<()> {
    memory::require(needed, what, advice).map_err(usage)
}
