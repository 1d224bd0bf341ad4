//! Exchanges of connection sets, and the solver above them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_base::Interrupt;
use weft_launch::{ExchangeRequest, ExchangeResult, SolveRequest};

use crate::conset::{PyConnectionSet, PySchedule};
use crate::errors::{launch_error, usage};
use crate::interruptible::interruptible;
use crate::launch::write_trace;
use crate::machine::PyMachine;
use crate::mpi::with_backend;

/// An exchange to be run: the phases of a schedule, or the messages of a connection set.
#[pyclass(name = "ExchangeRequest", module = "weft._core", frozen)]
pub struct PyExchangeRequest(Arc<ExchangeRequest>);

#[pymethods]
impl PyExchangeRequest {
    #[new]
    #[pyo3(signature = (connections, schedule = None, *, random = None, elements = None, word_bytes = None,
        iterations = 1, warmup = 0, phantom = true))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of Python
    fn new(
        connections: &PyConnectionSet,
        schedule: Option<&PySchedule>,
        random: Option<u64>,
        elements: Option<(f64, f64)>,
        word_bytes: Option<u64>,
        iterations: usize,
        warmup: usize,
        phantom: bool,
    ) -> PyExchangeRequest {
        PyExchangeRequest(Arc::new(ExchangeRequest {
            schedule: schedule.map(|schedule| schedule.0.clone()),
            set: connections.0.clone(),
            random,
            word_bytes,
            elements: elements.map(Into::into),
            iterations,
            warmup,
            phantom,
        }))
    }

    /// The request that `to_json` wrote. Raises UsageError.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyExchangeRequest> {
        read(text).map(|request| PyExchangeRequest(Arc::new(request)))
    }

    /// The request as JSON, as ranks of MPI are handed it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let request = self.0.clone();
        interruptible(py, move |_| written(&*request))
    }

    fn __repr__(&self) -> String {
        let phases = self.0.schedule.as_ref().map(|schedule| schedule.phases.len());
        let how = phases.map_or("messages".to_owned(), |phases| format!("{phases} phases"));
        format!("<weft exchange of {}: {how}>", self.0.set.name)
    }
}

/// Seconds of every timed exchange, ranks, phases.
type Timing = (Vec<f64>, usize, usize);

fn timing(result: ExchangeResult) -> Timing {
    (result.seconds, result.ranks, result.phases)
}

fn read<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| usage(format!("the request is malformed: {error}")))
}

fn written(result: &impl Serialize) -> String {
    serde_json::to_string(result).expect("results are plain data")
}

/// Runs an exchange in virtual time: seconds of every timed exchange, ranks, phases. `before_writing` is called with the
/// length of the timeline in bytes. Raises UsageError, RunError, and what `before_writing` raises.
#[pyfunction]
#[pyo3(signature = (machine, request, trace_path = None, before_writing = None))]
pub fn simulate_exchange(
    py: Python<'_>,
    machine: &PyMachine,
    request: &PyExchangeRequest,
    trace_path: Option<PathBuf>,
    before_writing: Option<Py<PyAny>>,
) -> PyResult<Timing> {
    let request = request.0.clone();
    let title = format!("{} on {}", request.set.name, machine.0.title);
    let machine = machine.0.clone();
    let is_traced = trace_path.is_some();
    let simulate =
        move |interrupt: &Interrupt| weft_launch::simulate_exchange(&machine, &request, is_traced, interrupt);
    let (result, trace) = interruptible(py, simulate)?.map_err(launch_error)?;
    if let (Some(path), Some(trace)) = (trace_path, trace) {
        write_trace(py, &path, &trace, &title, before_writing)?;
    }
    Ok(timing(result))
}

/// Runs an exchange with ranks as threads: seconds of every timed exchange, ranks, phases. Raises UsageError, RunError.
#[pyfunction]
pub fn exchange_threads(py: Python<'_>, request: &PyExchangeRequest) -> PyResult<Timing> {
    let request = &request.0;
    py.detach(|| weft_launch::exchange_threads(request)).map_err(launch_error).map(timing)
}

/// Runs an exchange as one rank of an MPI job; the result as JSON on the first rank. Raises UsageError, RunError.
#[pyfunction]
pub fn exchange_mpi_rank(py: Python<'_>, request_json: &str, default_library: &str) -> PyResult<Option<String>> {
    let request: ExchangeRequest = read(request_json)?;
    with_backend(py, default_library, |backend| {
        let result = weft_launch::exchange_mpi_rank(backend, &request).map_err(launch_error)?;
        Ok(result.map(|result| written(&result)))
    })
}

/// Solves a partitioned system in virtual time; the solution as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn solve_simulated(
    py: Python<'_>,
    machine: &PyMachine,
    exchange: &PyExchangeRequest,
    problem_json: &str,
) -> PyResult<String> {
    let request = SolveRequest { exchange: exchange.0.clone(), problem: read(problem_json)? };
    let machine = machine.0.clone();
    let solution =
        interruptible(py, move |interrupt: &Interrupt| weft_launch::solve_simulated(&machine, &request, interrupt))?;
    solution.map_err(launch_error).map(|solution| written(&solution))
}

/// Solves a partitioned system with ranks as threads; the solution as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn solve_threads(py: Python<'_>, exchange: &PyExchangeRequest, problem_json: &str) -> PyResult<String> {
    let request = SolveRequest { exchange: exchange.0.clone(), problem: read(problem_json)? };
    py.detach(|| weft_launch::solve_threads(&request)).map_err(launch_error).map(|solution| written(&solution))
}

/// Solves a partitioned system as one rank of an MPI job; the solution as JSON on the first rank. Raises UsageError,
/// RunError.
#[pyfunction]
pub fn solve_mpi_rank(py: Python<'_>, request_json: &str, default_library: &str) -> PyResult<Option<String>> {
    let request: SolveRequest = read(request_json)?;
    with_backend(py, default_library, |backend| {
        let solution = weft_launch::solve_mpi_rank(backend, &request).map_err(launch_error)?;
        Ok(solution.map(|solution| written(&solution)))
    })
}
