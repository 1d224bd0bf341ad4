//! Ranks of real MPI, and the judgement over them.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use weft_comm::prepared::Device;
use weft_mpi::{Backend, Diagnosis, Options};
use weft_suite::Description;

use crate::errors::{RunError, launch_error};
use crate::launch::{request, rows_json};

thread_local! {
    /// MPI can be started once in a process, so Python's thread keeps it until the interpreter ends.
    static BACKEND: RefCell<Option<Backend>> = const { RefCell::new(None) };
}

/// Does something in the MPI backend of this process, which is started for it at first.
pub fn with_backend<T>(py: Python<'_>, library: &str, use_it: impl FnOnce(&Backend) -> PyResult<T>) -> PyResult<T> {
    with_backend_for(py, library, false, use_it)
}

/// The same; where it is started, for calls of several threads at one time or not.
fn with_backend_for<T>(
    py: Python<'_>,
    library: &str,
    threads: bool,
    use_it: impl FnOnce(&Backend) -> PyResult<T>,
) -> PyResult<T> {
    let is_started = BACKEND.with_borrow(Option::is_some);
    if !is_started {
        let library = Some(library).filter(|library| !library.is_empty()).map(PathBuf::from);
        let options = Options::of_environment(library).map(|options| Options { threads, ..options });
        let started = options.and_then(Backend::start);
        let backend = started.map_err(|error| RunError::new_err(error.to_string()))?;
        BACKEND.set(Some(backend));
        let end = wrap_pyfunction!(end_backend, py)?;
        py.import("atexit")?.call_method1("register", (end,))?;
    }
    BACKEND.with_borrow(|backend| use_it(backend.as_ref().expect("it was started above")))
}

/// Finalises MPI if it was started here; Python calls it at its end.
#[pyfunction]
fn end_backend() {
    drop(BACKEND.take());
}

/// Has this process end when the one that watches its run, as the environment names it, or its launcher's is gone.
#[pyfunction]
pub fn guard_process() {
    weft_mpi::guard_process();
}

/// Tells the other ranks that this one's program has ended in this way; nothing without MPI.
#[pyfunction]
pub fn rank_left(how: &str) {
    BACKEND.with_borrow(|backend| backend.iter().for_each(|backend| backend.left(how)));
}

/// Whether this rank is the one that says why the run ends: no other one does.
#[pyfunction]
pub fn claim_end() -> bool {
    BACKEND.with_borrow(|backend| backend.as_ref().is_none_or(Backend::claim_end))
}

/// From now on a rank that is blocked for long knows the file and the line of the caller outside of a folder. `signal` has
/// this thread write where it is to `descriptor`, which does not block. Nothing without MPI.
#[pyfunction]
pub fn locate_calls(folder: &str, signal: i32, descriptor: i32) {
    BACKEND.with_borrow(|backend| backend.iter().for_each(|backend| backend.locate_calls(folder, signal, descriptor)));
}

/// Runs a request as one rank of an MPI job; rows as JSON on the first rank. `device` is the memory that messages on a
/// device lie in. Raises UsageError, RunError.
#[pyfunction]
#[pyo3(signature = (request_json, default_library, device = None))]
pub fn run_mpi_rank(
    py: Python<'_>,
    request_json: &str,
    default_library: &str,
    device: Option<Py<PyAny>>,
) -> PyResult<Option<String>> {
    let request = request(request_json)?;
    let threads = weft_suite::find(&request.benchmark).is_ok_and(Description::calls_from_threads);
    with_backend_for(py, default_library, threads, |backend| {
        if let Some(device) = device {
            backend.set_device(Rc::new(PyDevice(device)));
        }
        let rows = weft_launch::run_mpi_rank(backend, &request).map_err(launch_error)?;
        Ok(rows.map(|rows| rows_json(&rows)))
    })
}

/// Memory of a device, by an object of Python.
struct PyDevice(Py<PyAny>);

impl PyDevice {
    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, String> {
        Python::attach(|py| call(self.0.bind(py)).map_err(|error| error.value(py).to_string()))
    }
}

impl Device for PyDevice {
    fn allocate(&self, bytes: usize) -> Result<usize, String> {
        self.call(|device| device.call_method1("allocate", (bytes,))?.extract())
    }

    fn free(&self, address: usize) {
        // A device that cannot let go of memory says so when there is no more of it.
        let _ = self.call(|device| device.call_method1("free", (address,)).map(drop));
    }

    fn write(&self, address: usize, bytes: &[u8]) -> Result<(), String> {
        self.call(|device| device.call_method1("write", (address, PyBytes::new(device.py(), bytes))).map(drop))
    }

    fn read(&self, address: usize, bytes: &mut [u8]) -> Result<(), String> {
        self.call(|device| {
            let content = device.call_method1("read", (address, bytes.len()))?;
            let content = content.cast::<PyBytes>()?.as_bytes();
            if content.len() != bytes.len() {
                let what = format!("{} bytes were read of {}", content.len(), bytes.len());
                return Err(PyRuntimeError::new_err(what));
            }
            bytes.copy_from_slice(content);
            Ok(())
        })
    }
}

/// What the MPI library says of itself, as JSON. Raises RunError.
#[pyfunction]
pub fn mpi_version(py: Python<'_>, default_library: &str) -> PyResult<String> {
    with_backend(py, default_library, |backend| {
        let library = backend.library();
        let abi = format!("{:?}", library.abi);
        Ok(json!({"path": library.path, "abi": abi, "version": library.version, "ranks": backend.size()}).to_string())
    })
}

/// Tells a deadlock or a mismatch from slowness by what the ranks of a job say of themselves.
#[pyclass(module = "weft._core")]
#[derive(Default)]
pub struct MpiDiagnosis(Diagnosis);

#[pymethods]
impl MpiDiagnosis {
    #[new]
    fn new() -> MpiDiagnosis {
        MpiDiagnosis::default()
    }

    /// One line of a job's output that came at `now` (s, any clock that goes forward); whether it is a report.
    fn feed(&mut self, line: &str, now: f64) -> bool {
        self.0.feed(line, now)
    }

    /// Why the job must be ended, if that is certain at `now`.
    fn verdict(&self, now: f64) -> Option<String> {
        self.0.verdict(now).map(|error| error.to_string())
    }

    /// The processes of the ranks that have started: rank, process number, host.
    fn processes(&self) -> Vec<(usize, u32, String)> {
        self.0.processes().map(|(rank, pid, host)| (rank, pid, host.to_owned())).collect()
    }

    /// The process of this rank was seen to end at `now`, in this way if the system told.
    #[pyo3(signature = (rank, now, how=None))]
    fn died(&mut self, rank: usize, now: f64, how: Option<String>) {
        self.0.died(rank, now, how);
    }

    /// Why a job failed whose launcher ended with this code.
    fn ended(&self, exit_code: i32) -> String {
        self.0.ended(exit_code).to_string()
    }
}
