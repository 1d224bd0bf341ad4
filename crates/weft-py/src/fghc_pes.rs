//! Running programs in FGHC on many processing elements.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use weft_fghc::distributed::{End, Kind, Outcome, Run, RunOptions, StuckGoal};
use weft_fghc::engine::Loaded;

use crate::errors::{RunError, UsageError, launch_error};
use crate::fghc::checked;
use crate::mpi::with_world;

/// Time between two looks at signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(5);

/// What a program writes, kept.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Checks and loads a program, and reads the options that `fghc_run` takes, with `slice` and `copy_levels`.
fn program(sources_json: &str, goal: &str, options_json: &str, kept: Option<&Kept>) -> PyResult<Run> {
    let wanted: serde_json::Value =
        serde_json::from_str(options_json).map_err(|error| UsageError::new_err(error.to_string()))?;
    let checked = checked(sources_json, Some(goal))?;
    let Some(program) = checked.program.clone() else {
        return Err(RunError::new_err(format!("the program has errors\n{}", checked.render(false))));
    };
    let loaded = Loaded::new(program, false).map_err(|error| UsageError::new_err(error.to_string()))?;
    let loaded = if wanted["interpret"].as_bool().unwrap_or(false) { loaded } else { loaded.translate() };
    let mut options = RunOptions { seed: wanted["seed"].as_u64(), ..RunOptions::default() };
    options.collect_every = wanted["collect_every"].as_u64();
    if let Some(bytes) = wanted["heap"].as_u64() {
        options.heap = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    if let Some(arguments) = wanted["arguments"].as_array() {
        options.arguments = arguments.iter().filter_map(|argument| argument.as_str().map(str::to_string)).collect();
    }
    if let Some(kept) = kept.cloned() {
        options.output = Arc::new(move |_| Box::new(kept.clone()));
    }
    Ok(Run { loaded, options })
}

/// Runs a goal on processing elements that are threads of this process. Arguments and result as those of `fghc_run`.
/// Raises UsageError, RunError.
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
    let kept = capture.then(Kept::default);
    let mut run = py.detach(|| program(sources_json, goal, options_json, kept.as_ref()))?;
    let interrupt = Arc::new(AtomicBool::new(false));
    run.options.interrupt = interrupt.clone();
    let working = std::thread::spawn(move || weft_launch::run_fghc_threads(&run, pes));
    while !working.is_finished() {
        py.detach(|| std::thread::sleep(BETWEEN_SIGNALS));
        if let Err(error) = py.check_signals() {
            interrupt.store(true, Ordering::Relaxed);
            if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return Err(error);
            }
        }
    }
    let outcome = working.join().map_err(|_| RunError::new_err("a defect of weft: the run panicked"))?;
    Ok(result(&outcome.map_err(launch_error)?, kept).to_string())
}

/// Runs this process's processing element of an MPI job; the result of the whole on the first rank, as that of
/// `fghc_run`. Raises UsageError, RunError.
#[pyfunction]
pub fn fghc_run_mpi(
    py: Python<'_>,
    sources_json: &str,
    goal: &str,
    options_json: &str,
    default_library: &str,
) -> PyResult<Option<String>> {
    let run = py.detach(|| program(sources_json, goal, options_json, None))?;
    with_world(py, default_library, |world| {
        let outcome = weft_launch::run_fghc_mpi(world, &run).map_err(launch_error)?;
        Ok(outcome.map(|outcome| result(&outcome, None).to_string()))
    })
}

fn waiting(goals: &[StuckGoal]) -> Vec<serde_json::Value> {
    goals
        .iter()
        .map(|goal| json!({"goal": format!("PE {}: {}", goal.pe, goal.goal), "variables": goal.variables}))
        .collect()
}

fn result(outcome: &Outcome, kept: Option<Kept>) -> serde_json::Value {
    let (status, message, exit_code, ready, left) = match &outcome.end {
        End::Finished => ("done", String::new(), None, Vec::new(), Vec::new()),
        End::Suspended(goals) => ("suspended", String::new(), None, Vec::new(), waiting(goals)),
        End::Problem { pe, message } => ("failed", format!("PE {pe}: {message}"), None, Vec::new(), Vec::new()),
        End::Exit(code) => ("exit", String::new(), Some(*code), Vec::new(), Vec::new()),
        End::Interrupted(left) => ("interrupted", String::new(), None, left.ready.clone(), waiting(&left.waiting)),
    };
    let pes: Vec<_> = outcome
        .pes
        .iter()
        .map(|pe| {
            json!({
                "pe": pe.pe,
                "reductions": pe.reductions,
                "suspensions": pe.suspensions,
                "resumptions": pe.resumptions,
                "collections": pe.collections,
                "work_s": pe.work,
                "idle_s": pe.idle,
                "messages": pe.messages(),
                "throw_goal": pe.sent[Kind::ThrowGoal as usize],
            })
        })
        .collect();
    json!({
        "status": status,
        "message": message,
        "exit_code": exit_code,
        "answers": outcome.answers,
        "output": kept.map(|kept| {
            let bytes = kept.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            String::from_utf8_lossy(&bytes).into_owned()
        }),
        "waiting": left,
        "ready": ready,
        "failures": Vec::<String>::new(),
        "counts": json!(null),
        "pes": pes,
        "seconds": outcome.elapsed,
    })
}
