//! Programs in FGHC: what the checker says of them, and how an engine sees them.

use pyo3::prelude::*;
use serde_json::json;
use weft_fghc::check::{Checked, check};
use weft_fghc::explain::explain;
use weft_fghc::ir::Source;

use crate::errors::{RunError, UsageError};

/// Reads a JSON list of `[name, text]` and checks the modules in them.
pub fn checked(sources_json: &str, goal: Option<&str>) -> PyResult<Checked> {
    let sources: Vec<(String, String)> =
        serde_json::from_str(sources_json).map_err(|error| UsageError::new_err(error.to_string()))?;
    let sources = sources.into_iter().map(|(name, text)| Source { name, text }).collect();
    Ok(check(sources, goal))
}

/// Checks programs; findings as JSON, and as text with excerpts. Raises UsageError.
#[pyfunction]
#[pyo3(signature = (sources_json, goal = None, color = false))]
pub fn fghc_check(py: Python<'_>, sources_json: &str, goal: Option<&str>, color: bool) -> PyResult<String> {
    py.detach(|| {
        let checked = checked(sources_json, goal)?;
        Ok(json!({
            "errors": checked.diagnostics.errors(),
            "warnings": checked.diagnostics.warnings(),
            "findings": checked.diagnostics.findings(&checked.sources),
            "text": checked.render(color),
        })
        .to_string())
    })
}

/// A program in normal form with dispatch, suspension and pragma sites. Raises UsageError, RunError.
#[pyfunction]
#[pyo3(signature = (sources_json, library = false))]
pub fn fghc_explain(py: Python<'_>, sources_json: &str, library: bool) -> PyResult<String> {
    py.detach(|| {
        let checked = checked(sources_json, None)?;
        match &checked.program {
            Some(program) => Ok(explain(program, library)),
            None => Err(RunError::new_err(format!("the program has errors\n{}", checked.render(false)))),
        }
    })
}
