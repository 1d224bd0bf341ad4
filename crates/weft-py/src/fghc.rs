//! Programs in FGHC: what the checker says of them, and how an engine sees them.

use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use serde_json::json;
use weft_fghc::check::check;
use weft_fghc::disassembly::disassemble;
use weft_fghc::engine::Loaded;
use weft_fghc::explain::explain;
use weft_fghc::ir::Source;

use crate::errors::{RunError, UsageError};
use crate::interruptible::interruptibly;

/// Reads a JSON list of `[name, text]`.
pub fn sources(sources_json: &str) -> PyResult<Vec<Source>> {
    let sources: Vec<(String, String)> = serde_json::from_str(sources_json)
        .map_err(|error| UsageError::new_err(format!("programs in FGHC, a list of names and texts: {error}")))?;
    Ok(sources.into_iter().map(|(name, text)| Source { name, text }).collect())
}

/// Checks programs; findings as JSON, and as text with excerpts. Raises UsageError, KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (sources_json, goal = None, color = false))]
pub fn fghc_check(py: Python<'_>, sources_json: &str, goal: Option<&str>, color: bool) -> PyResult<String> {
    let (sources, goal) = (sources(sources_json)?, goal.map(str::to_owned));
    interruptibly(py, &AtomicBool::new(false), move || {
        let checked = check(sources, goal.as_deref());
        json!({
            "errors": checked.diagnostics.errors(),
            "warnings": checked.diagnostics.warnings(),
            "findings": checked.diagnostics.findings(&checked.sources),
            "text": checked.render(color),
        })
        .to_string()
    })
}

/// A program in normal form with dispatch, suspension and pragma sites, or, with `code`, the instructions that it is
/// compiled to. Raises UsageError, RunError, KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (sources_json, library = false, code = false))]
pub fn fghc_explain(py: Python<'_>, sources_json: &str, library: bool, code: bool) -> PyResult<String> {
    let sources = sources(sources_json)?;
    interruptibly(py, &AtomicBool::new(false), move || {
        let mut checked = check(sources, None);
        match checked.program.take() {
            Some(program) if code => Loaded::new(program, false)
                .map(|loaded| disassemble(&loaded, library))
                .map_err(|error| error.to_string()),
            Some(program) => Ok(explain(&program, library)),
            None => Err(format!("the program has errors\n{}", checked.render(false))),
        }
    })?
    .map_err(RunError::new_err)
}
