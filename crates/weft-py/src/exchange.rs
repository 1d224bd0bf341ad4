//! Exchanges of connection sets, and the solver above them.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_base::Interrupt;
use weft_launch::{ExchangeRequest, SolveRequest};

use crate::errors::{launch_error, usage};
use crate::interruptible::interruptible;
use crate::launch::write_trace;
use crate::machine::PyMachine;
use crate::mpi::with_world;

fn read<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| usage(format!("the request is malformed: {error}")))
}

fn written(result: &impl Serialize) -> String {
    serde_json::to_string(result).expect("results are plain data")
}

/// Runs an exchange in virtual time; the result as JSON. Raises UsageError, RunError.
#[pyfunction]
#[pyo3(signature = (machine, request_json, trace_path = None))]
pub fn simulate_exchange(
    py: Python<'_>,
    machine: &PyMachine,
    request_json: &str,
    trace_path: Option<PathBuf>,
) -> PyResult<String> {
    let request: ExchangeRequest = read(request_json)?;
    let title = format!("{} on {}", request.set.name, machine.0.title);
    let machine = machine.0.clone();
    let is_traced = trace_path.is_some();
    let simulate =
        move |interrupt: &Interrupt| weft_launch::simulate_exchange(&machine, &request, is_traced, interrupt);
    let (result, trace) = interruptible(py, simulate)?.map_err(launch_error)?;
    if let (Some(path), Some(trace)) = (trace_path, trace) {
        write_trace(&path, &trace, &title)?;
    }
    Ok(written(&result))
}

/// Runs an exchange with ranks as threads; the result as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn exchange_threads(py: Python<'_>, request_json: &str) -> PyResult<String> {
    let request: ExchangeRequest = read(request_json)?;
    py.detach(|| weft_launch::exchange_threads(&request)).map_err(launch_error).map(|result| written(&result))
}

/// Runs an exchange as one rank of an MPI job; the result as JSON on the first rank. Raises UsageError, RunError.
#[pyfunction]
pub fn exchange_mpi_rank(py: Python<'_>, request_json: &str, default_library: &str) -> PyResult<Option<String>> {
    let request: ExchangeRequest = read(request_json)?;
    with_world(py, default_library, |world| {
        let result = weft_launch::exchange_mpi_rank(world, &request).map_err(launch_error)?;
        Ok(result.map(|result| written(&result)))
    })
}

/// Solves a partitioned system in virtual time; the solution as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn solve_simulated(py: Python<'_>, machine: &PyMachine, request_json: &str) -> PyResult<String> {
    let request: SolveRequest = read(request_json)?;
    let machine = machine.0.clone();
    let solution =
        interruptible(py, move |interrupt: &Interrupt| weft_launch::solve_simulated(&machine, &request, interrupt))?;
    solution.map_err(launch_error).map(|found| written(&found))
}

/// Solves a partitioned system with ranks as threads; the solution as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn solve_threads(py: Python<'_>, request_json: &str) -> PyResult<String> {
    let request: SolveRequest = read(request_json)?;
    py.detach(|| weft_launch::solve_threads(&request)).map_err(launch_error).map(|found| written(&found))
}

/// Solves a partitioned system as one rank of an MPI job; the solution as JSON on the first rank. Raises UsageError,
/// RunError.
#[pyfunction]
pub fn solve_mpi_rank(py: Python<'_>, request_json: &str, default_library: &str) -> PyResult<Option<String>> {
    let request: SolveRequest = read(request_json)?;
    with_world(py, default_library, |world| {
        let solution = weft_launch::solve_mpi_rank(world, &request).map_err(launch_error)?;
        Ok(solution.map(|found| written(&found)))
    })
}
