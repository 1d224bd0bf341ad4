//! Running programs in FGHC on many processing elements.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::json;
use weft_fghc::distributed::{End, Kind, Outcome, Recorder, Run, RunOptions, SiteCounts, StuckGoal};
use weft_fghc::engine::Loaded;
use weft_launch::{GivenCosts, enlarged, pe_costs};

use crate::errors::{RunError, UsageError, launch_error};
use crate::fghc::checked;
use crate::kept::Kept;
use crate::launch::write_whole;
use crate::machine::PyMachine;
use crate::mpi::with_world;

/// Time between two looks at signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(5);

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
    if let Some(slice) = wanted["slice"].as_u64() {
        options.slice = slice;
    }
    if wanted["trace"].is_string() {
        options.recorder = Some(Arc::default());
    }
    if let Some(arguments) = wanted["arguments"].as_array() {
        options.arguments = arguments.iter().filter_map(|argument| argument.as_str().map(str::to_string)).collect();
    }
    if let Some(kept) = kept.cloned() {
        options.output = Arc::new(move |_| Box::new(kept.clone()));
    }
    Ok(Run { loaded, options })
}

/// Writes the timeline that was kept, to the file that the options name.
fn write_timeline(options_json: &str, recorder: Option<&Recorder>, title: &str) -> PyResult<()> {
    let wanted: serde_json::Value =
        serde_json::from_str(options_json).map_err(|error| UsageError::new_err(error.to_string()))?;
    let (Some(path), Some(recorder)) = (wanted["trace"].as_str(), recorder) else { return Ok(()) };
    write_whole(&PathBuf::from(path), |out| recorder.write_chrome(title, out))
        .map_err(|error| PyOSError::new_err(format!("cannot write {path}: {error}")))
}

/// Runs a goal on processing elements of a described machine in virtual time. Arguments and result as those of
/// `fghc_run`; options also `slice` (reductions between two looks for messages), `reduction_time`, `step_time` (seconds),
/// `enlarge` (more PEs than the machine has nodes) and `trace` (file of a timeline). The result has `assumed`, a line for
/// every cost that nothing gave, and `packets`. Raises UsageError, RunError.
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
    let wanted: serde_json::Value =
        serde_json::from_str(options_json).map_err(|error| UsageError::new_err(error.to_string()))?;
    let kept = capture.then(Kept::default);
    let mut run = py.detach(|| program(sources_json, goal, options_json, kept.as_ref()))?;
    let given = GivenCosts { reduction: wanted["reduction_time"].as_f64(), step: wanted["step_time"].as_f64() };
    let charged = pe_costs(&machine.0, given).map_err(launch_error)?;
    let machine = match wanted["enlarge"].as_bool() {
        Some(true) => enlarged(&machine.0, pes).map_err(launch_error)?,
        _ => machine.0.clone(),
    };
    (run.options.costs, run.options.copy) = (Some(charged.costs.clone()), charged.copy);
    if wanted["slice"].is_null() {
        run.options.slice = 1;
    }
    let interrupt = Arc::new(AtomicBool::new(false));
    run.options.interrupt = interrupt.clone();
    let recorder = run.options.recorder.clone();
    let title = format!("{goal} on {}", machine.title);
    let working = std::thread::spawn(move || weft_launch::simulate_fghc(&machine, &run, pes));
    until_finished(py, &working, &interrupt)?;
    let simulated = working.join().map_err(|_| RunError::new_err("a defect of weft: the run panicked"))?;
    let simulated = simulated.map_err(launch_error)?;
    write_timeline(options_json, recorder.as_deref(), &title)?;
    let mut result = result(&simulated.outcome, kept);
    result["assumed"] = json!(charged.assumed);
    result["packets"] = json!(simulated.packets);
    result["reduction_time"] = json!(charged.costs.reduction);
    Ok(result.to_string())
}

/// Every goal with a pragma of a program, as the counts of a run number them: `[file, line, text]`. Raises UsageError,
/// RunError.
#[pyfunction]
pub fn fghc_sites(sources_json: &str, goal: &str) -> PyResult<String> {
    let run = program(sources_json, goal, r#"{"interpret": true}"#, None)?;
    let sources = &run.loaded.program.sources;
    let named = run.loaded.code.starts.iter().map(|start| {
        let Some(span) = start.span else { return json!(["", 0, ""]) };
        let source = &sources[span.source as usize];
        let text = source.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        json!([
            source.name,
            source.line_and_column(span.start).0,
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        ])
    });
    Ok(serde_json::Value::Array(named.collect()).to_string())
}

/// Lets a run go on in its thread; Ctrl-C ends it as soon as it can.
fn until_finished<T>(py: Python<'_>, working: &std::thread::JoinHandle<T>, interrupt: &AtomicBool) -> PyResult<()> {
    while !working.is_finished() {
        py.detach(|| std::thread::sleep(BETWEEN_SIGNALS));
        if let Err(error) = py.check_signals() {
            interrupt.store(true, Ordering::Relaxed);
            if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Runs a goal on processing elements that are threads of this process. Arguments and result as those of `fghc_run`;
/// options also `slice` and `trace`, as those of `fghc_simulate`. Raises UsageError, RunError.
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
    let recorder = run.options.recorder.clone();
    let working = std::thread::spawn(move || weft_launch::run_fghc_threads(&run, pes));
    until_finished(py, &working, &interrupt)?;
    let outcome = working.join().map_err(|_| RunError::new_err("a defect of weft: the run panicked"))?;
    let outcome = outcome.map_err(launch_error)?;
    write_timeline(options_json, recorder.as_deref(), goal)?;
    Ok(result(&outcome, kept).to_string())
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

fn by_kind(counts: &[u64]) -> serde_json::Value {
    Kind::ALL.iter().zip(counts).map(|(kind, count)| (kind.name().to_owned(), json!(count))).collect()
}

/// What each goal with a pragma sent, on all PEs together.
fn sites(outcome: &Outcome) -> Vec<serde_json::Value> {
    let count = outcome.pes.iter().map(|pe| pe.sites.len()).max().unwrap_or(0);
    (0..count)
        .map(|site| {
            let of = |look: fn(&SiteCounts) -> u64| -> u64 {
                outcome.pes.iter().filter_map(|pe| pe.sites.get(site)).map(look).sum()
            };
            json!({
                "throws": of(|counts| counts.throws),
                "words": of(|counts| counts.words),
                "references": of(|counts| counts.references),
                "reads": of(|counts| counts.reads),
                "unifications": of(|counts| counts.unifications),
                "messages": of(SiteCounts::messages),
            })
        })
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
                "communication_s": pe.communication,
                "sent": by_kind(&pe.sent),
                "received": by_kind(&pe.received),
            })
        })
        .collect();
    json!({
        "status": status,
        "message": message,
        "exit_code": exit_code,
        "answers": outcome.answers,
        "output": kept.map(|kept| kept.text()),
        "waiting": left,
        "ready": ready,
        "failures": Vec::<String>::new(),
        "counts": json!(null),
        "pes": pes,
        "sites": sites(outcome),
        "seconds": outcome.elapsed,
    })
}
