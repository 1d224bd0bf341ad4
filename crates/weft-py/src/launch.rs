//! Requests of the suite in virtual time and on threads.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use weft_launch::{SimulateOptions, Trace};
use weft_suite::{Request, Row};

use crate::errors::{launch_error, usage};
use crate::interruptible::interruptible;
use crate::leaving::Temporary;
use crate::machine::PyMachine;

/// Reads a request.
pub fn request(json: &str) -> PyResult<Request> {
    Request::from_json(json).map_err(usage)
}

/// Rows as JSON.
pub fn rows_json(rows: &[Row]) -> String {
    serde_json::to_string(rows).expect("rows are plain data")
}

/// Every benchmark as a JSON list.
#[pyfunction]
pub fn benchmarks() -> String {
    serde_json::to_string(&weft_suite::catalogue()).expect("the catalogue is plain data")
}

/// Every parameter as a JSON list, and the names of those that all benchmarks of messages take.
#[pyfunction]
pub fn parameters() -> (String, Vec<&'static str>) {
    let table = serde_json::to_string(weft_suite::parameters::TABLE).expect("the table is plain data");
    (table, weft_suite::COMMON.iter().map(|takes| takes.name).collect())
}

/// The bytes of the messages that each rank sends in one exchange of ghosts of blocks of this shape. Raises UsageError.
#[pyfunction]
pub fn halo_messages(shape: Vec<u64>, ranks: usize) -> PyResult<Vec<u64>> {
    weft_suite::halo_messages(&shape, ranks).map_err(usage)
}

/// Checks all of a request that can be checked without a machine. Raises UsageError.
#[pyfunction]
pub fn check_request(request_json: &str) -> PyResult<()> {
    request(request_json).map(drop)
}

/// Runs a request in virtual time; rows as JSON. `before_writing` is called with the length of the timeline in bytes. Rows
/// of a machine with routers have `waiting`, how many times what they would have taken alone the run's messages took.
/// Raises UsageError, RunError, and what `before_writing` raises.
#[pyfunction]
#[pyo3(signature = (machine, request_json, trace_path = None, seed = 0, before_writing = None))]
pub fn simulate(
    py: Python<'_>,
    machine: &PyMachine,
    request_json: &str,
    trace_path: Option<PathBuf>,
    seed: u64,
    before_writing: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut request = request(request_json)?;
    if seed != 0 {
        request.seed = seed;
    }
    let trace = trace_path.is_some();
    let title = format!("{} on {}", request.benchmark, machine.0.title);
    let machine = machine.0.clone();
    let run = move |interrupt: &weft_base::Interrupt| {
        weft_launch::simulate(&machine, &request, &SimulateOptions { trace, interrupt: interrupt.clone() })
    };
    let simulated = interruptible(py, run)?.map_err(launch_error)?;
    if let (Some(path), Some(trace)) = (trace_path, &simulated.trace) {
        write_trace(py, &path, trace, &title, before_writing)?;
    }
    let Some(waiting) = simulated.waiting else { return Ok(rows_json(&simulated.rows)) };
    let mut rows = serde_json::to_value(&simulated.rows).expect("rows are plain data");
    for row in rows.as_array_mut().into_iter().flatten() {
        row["waiting"] = waiting.into();
    }
    Ok(rows.to_string())
}

/// The columns of `simulate_pairs`: sender, receiver, bytes, seconds, of every pair in each direction.
type PairColumns = (Vec<u32>, Vec<u32>, Vec<u64>, Vec<f64>);

/// Runs the benchmark `pairs` in virtual time; its columns, and the virtual seconds that it took. For machines whose
/// pairs are too many to be rows of text. Raises UsageError, RunError.
#[pyfunction]
#[pyo3(signature = (machine, request_json, seed = 0))]
pub fn simulate_pairs(
    py: Python<'_>,
    machine: &PyMachine,
    request_json: &str,
    seed: u64,
) -> PyResult<(PairColumns, f64)> {
    let mut request = request(request_json)?;
    if seed != 0 {
        request.seed = seed;
    }
    let machine = machine.0.clone();
    let run = move |interrupt: &weft_base::Interrupt| {
        let options = SimulateOptions { trace: false, interrupt: interrupt.clone() };
        weft_launch::simulate(&machine, &request, &options)
    };
    let simulated = interruptible(py, run)?.map_err(launch_error)?;
    let mut columns = PairColumns::default();
    for row in &simulated.rows {
        let (Some(sender), Some(receiver)) = (row.sender, row.receiver) else { continue };
        columns.0.push(sender);
        columns.1.push(receiver);
        columns.2.push(row.bytes.unwrap_or(0));
        columns.3.push(row.seconds);
    }
    Ok((columns, simulated.makespan))
}

/// Writes a timeline, after its length in bytes has been told to `before_writing`.
pub fn write_trace(
    py: Python<'_>,
    path: &Path,
    trace: &Trace,
    title: &str,
    before_writing: Option<Py<PyAny>>,
) -> PyResult<()> {
    if let Some(tell) = before_writing {
        tell.call1(py, (trace.chrome_bytes(title),))?;
    }
    write_whole(path, |out| trace.write_chrome(title, out))
        .map_err(|error| PyOSError::new_err(format!("cannot write {}: {error}", path.display())))
}

/// Writes a file whole or not at all: under another name first, then renamed.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let partial = path.with_file_name(name);
    let _removed_at_the_end = Temporary::new(&partial);
    let written = File::create(&partial).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    let renamed = written.and_then(|()| std::fs::rename(&partial, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    renamed
}

/// Runs a request with ranks as threads of this process; rows as JSON. Raises UsageError, RunError.
#[pyfunction]
pub fn run_threads(py: Python<'_>, request_json: &str) -> PyResult<String> {
    let request = request(request_json)?;
    let rows = py.detach(|| weft_launch::run_threads(&request)).map_err(launch_error)?;
    Ok(rows_json(&rows))
}

/// What each rank does in one step of a stencil: bytes of its messages, bytes copied into messages and otherwise, sites that
/// need no ghosts, and the others. Raises UsageError.
#[pyfunction]
pub fn stencil_work(shape: Vec<u64>, ranks: usize) -> PyResult<(Vec<u64>, [u64; 2], u64, u64)> {
    let work = weft_suite::stencil_work(&shape, ranks).map_err(usage)?;
    Ok((work.messages, work.copied, work.interior, work.rim))
}
