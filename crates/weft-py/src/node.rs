//! The node suite: what one processor and its memory do, without messages.

use pyo3::prelude::*;
use serde_json::json;
use weft_comm::Work;
use weft_suite::node::{NodeError, NodeRequest};

use crate::errors::{RunError, usage};

/// Every benchmark of the node suite as a JSON list.
#[pyfunction]
pub fn node_benchmarks() -> String {
    let entries: Vec<_> = weft_suite::node::catalogue()
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name, "summary": entry.summary, "variants": entry.rows, "takes": entry.takes,
                "aliases": entry.aliases,
            })
        })
        .collect();
    serde_json::to_string(&entries).expect("the catalogue is plain data")
}

/// The operations that one unit of a row of the node suite is made of: name and count; None where operation times do
/// not determine it.
#[pyfunction]
#[pyo3(signature = (benchmark, variant, size = None))]
pub fn node_work(benchmark: &str, variant: &str, size: Option<u64>) -> Option<(&'static str, u64)> {
    match weft_suite::node::work(benchmark, variant, size)? {
        Work::Operations { operation, count } => Some((operation.name(), count)),
        _ => None,
    }
}

/// Runs a benchmark of the node suite in this process; rows as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn run_node(py: Python<'_>, benchmark: &str, request_json: &str) -> PyResult<String> {
    crate::guard::checked_level()?;
    let request: NodeRequest =
        serde_json::from_str(request_json).map_err(|error| usage(format!("the request is malformed: {error}")))?;
    let rows = py.detach(|| weft_suite::node::run(benchmark, &request, &mut |_| {})).map_err(node_error)?;
    Ok(serde_json::to_string(&rows).expect("rows are plain data"))
}

/// What the caller can put right is usage; the rest is a failure.
fn node_error(error: NodeError) -> PyErr {
    match error {
        NodeError::UnknownBenchmark { .. }
        | NodeError::UnknownVariant { .. }
        | NodeError::BadLength { .. }
        | NodeError::BadRequest { .. } => usage(error),
        _ => RunError::new_err(error.to_string()),
    }
}
