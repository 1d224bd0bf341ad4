//! Running programs in FGHC, on one processing element and on many.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde_json::json;
use weft_launch::{FghcOptions, FghcRan, FghcRequest, LaunchError, load_fghc};

use crate::errors::{UsageError, launch_error};
use crate::fghc::sources;
use crate::interruptible::{RANK_GRACE, interruptibly};
use crate::launch::write_whole;
use crate::leaving::interrupt_by;
use crate::machine::PyMachine;
use crate::mpi::with_backend;

fn request(sources_json: &str, goal: &str, options_json: &str, keeps_output: bool) -> PyResult<FghcRequest> {
    let wrong = |error: serde_json::Error| UsageError::new_err(format!("options of a run in FGHC: {error}"));
    // An object only: a list would be taken for values in the order of the fields.
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(options_json).map_err(wrong)?;
    let options: FghcOptions = serde_json::from_value(fields.into()).map_err(wrong)?;
    let interrupt = Arc::new(AtomicBool::new(false));
    Ok(FghcRequest { sources: sources(sources_json)?, goal: goal.to_owned(), options, keeps_output, interrupt })
}

/// Runs a request in a thread of its own, and writes its timeline where one was asked for.
fn result(
    py: Python<'_>,
    request: FghcRequest,
    title: &str,
    run: impl FnOnce(FghcRequest) -> Result<FghcRan, LaunchError> + Send + 'static,
) -> PyResult<String> {
    let interrupt = request.interrupt.clone();
    let trace = request.options.trace.clone();
    let ran = interruptibly(py, &interrupt, move || run(request))?.map_err(launch_error)?;
    if let (Some(path), Some(timeline)) = (trace, &ran.timeline) {
        write_whole(Path::new(&path), |out| timeline.write_chrome(title, out))
            .map_err(|error| PyOSError::new_err(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(json(&ran.result))
}

fn json(result: &weft_launch::FghcResult) -> String {
    serde_json::to_string(result).expect("a result is plain data")
}

/// Runs a goal on one processing element. Programs as for `fghc_check`; options as JSON, those of `FghcOptions` that have
/// a meaning on one PE. What the program writes goes to standard output or, with `capture`, into the result, which is
/// `FghcResult` as JSON. Ctrl-C ends the run, which is a result, or raises KeyboardInterrupt where it does not end. Raises
/// UsageError, also for options that are unknown or of a wrong type, and RunError.
#[pyfunction]
#[pyo3(signature = (sources_json, goal, options_json, capture = false))]
pub fn fghc_run(py: Python<'_>, sources_json: &str, goal: &str, options_json: &str, capture: bool) -> PyResult<String> {
    result(py, request(sources_json, goal, options_json, capture)?, goal, FghcRequest::alone)
}

/// Runs a goal on processing elements that are threads of this process. Arguments and result as those of `fghc_run`.
/// Raises UsageError, RunError, KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (sources_json, goal, pes, options_json, capture = false))]
pub fn fghc_run_threads(
    py: Python<'_>,
    sources_json: &str,
    goal: &str,
    pes: usize,
    options_json: &str,
    capture: bool,
) -> PyResult<String> {
    let request = request(sources_json, goal, options_json, capture)?;
    result(py, request, goal, move |request| request.on_threads(pes))
}

/// Runs a goal on processing elements of a described machine in virtual time. Arguments and result as those of `fghc_run`;
/// the result also has `assumed`, a line for every cost that nothing gave, `packets` and `reduction_time`. Raises
/// UsageError, RunError, KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (sources_json, goal, machine, pes, options_json, capture = false))]
pub fn fghc_simulate(
    py: Python<'_>,
    sources_json: &str,
    goal: &str,
    machine: &PyMachine,
    pes: usize,
    options_json: &str,
    capture: bool,
) -> PyResult<String> {
    let request = request(sources_json, goal, options_json, capture)?;
    let machine = machine.0.clone();
    let title = format!("{goal} on {}", machine.title);
    result(py, request, &title, move |request| request.simulated(&machine, pes))
}

/// Every goal with a pragma of a program, as the counts of a run number them: `[file, line, text]`. Raises UsageError,
/// RunError, KeyboardInterrupt.
#[pyfunction]
pub fn fghc_sites(py: Python<'_>, sources_json: &str, goal: &str) -> PyResult<String> {
    let sources = sources(sources_json)?;
    let goal = goal.to_owned();
    let options = FghcOptions { interpret: true, ..FghcOptions::default() };
    interruptibly(py, &AtomicBool::new(false), move || {
        let loaded = load_fghc(sources, &goal, &options)?;
        let sources = &loaded.program.sources;
        let lines: Vec<_> = sources.iter().map(weft_fghc::ir::Source::lines).collect();
        let named = loaded.code.starts.iter().map(|start| {
            let Some(span) = start.span else { return json!(["", 0, ""]) };
            let source = &sources[span.source as usize];
            let text = source.text.get(span.start as usize..span.end as usize).unwrap_or_default();
            json!([
                source.name,
                lines[span.source as usize].line_and_column(source, span.start).0,
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            ])
        });
        Ok(serde_json::Value::Array(named.collect()).to_string())
    })?
    .map_err(launch_error)
}

/// Runs this process's processing element of an MPI job; the result of the whole on the first rank, as that of
/// `fghc_run`. `signals` is a socket, which is detached, from which the numbers of signals come, SIGINT for Ctrl-C, until its other
/// end is closed. Raises UsageError, RunError.
#[pyfunction]
pub fn fghc_run_mpi(
    py: Python<'_>,
    sources_json: &str,
    goal: &str,
    options_json: &str,
    default_library: &str,
    signals: &Bound<'_, PyAny>,
) -> PyResult<Option<String>> {
    let request = request(sources_json, goal, options_json, false)?;
    interrupt_by(signals, request.interrupt.clone(), RANK_GRACE)?;
    with_backend(py, default_library, |backend| {
        Ok(request.as_rank(backend).map_err(launch_error)?.map(|result| json(&result)))
    })
}
