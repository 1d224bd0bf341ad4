//! What weft has found out about the processor.

use pyo3::prelude::*;
use weft_simd::Level;

use crate::guard::checked_level;

/// The level of vector instructions in force, those that this processor has, and whether WEFT_SIMD forces it. Raises
/// UsageError.
#[pyfunction]
pub fn simd() -> PyResult<(&'static str, Vec<&'static str>, bool)> {
    checked_level()?;
    let available = Level::available().into_iter().map(Level::word).collect();
    Ok((weft_simd::level().word(), available, weft_simd::is_forced()))
}
