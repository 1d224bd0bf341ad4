//! Running programs in FGHC.

use std::io::Write;
use std::time::Instant;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use weft_fghc::engine::{DEFAULT_HEAP, Engine, Loaded, Options, Stop};

use crate::errors::{RunError, UsageError};
use crate::fghc::checked;
use crate::kept::Kept;

/// Reductions between two looks at signals: some tenths of a second at the slowest.
const BETWEEN_SIGNALS: u64 = 5_000_000;
/// Goals shown of a program that is interrupted.
const SHOWN_GOALS: usize = 10;

/// Options of the engine, whether reductions are counted by predicate, and whether they are interpreted.
fn options(options_json: &str, kept: Option<&Kept>) -> PyResult<(Options, bool, bool)> {
    let wanted: serde_json::Value =
        serde_json::from_str(options_json).map_err(|error| UsageError::new_err(error.to_string()))?;
    let arguments = wanted["arguments"]
        .as_array()
        .map(|all| all.iter().filter_map(|argument| argument.as_str().map(str::to_string)).collect::<Vec<_>>());
    let output: Box<dyn Write + Send> = match kept {
        Some(kept) => Box::new(kept.clone()),
        None => Box::new(std::io::stdout()),
    };
    let options = Options {
        heap: wanted["heap"].as_u64().map_or(DEFAULT_HEAP, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        seed: wanted["seed"].as_u64(),
        collect_every: wanted["collect_every"].as_u64(),
        arguments: arguments.unwrap_or_default(),
        output,
        ..Options::default()
    };
    let truth = |name: &str| wanted[name].as_bool().unwrap_or(false);
    Ok((options, truth("counts"), truth("interpret")))
}

/// Runs a goal on one processing element. Programs as for `fghc_check`; options as JSON: `heap` (bytes), `seed`,
/// `collect_every` (reductions), `arguments`, `counts`, `interpret` (no native code). What the program writes goes to standard output or, with
/// `capture`, into the result. The result as JSON: `status` (`done`, `suspended`, `failed`, `exit`, `interrupted`),
/// `message`, `exit_code`, `answers`, `output`, `waiting`, `failures`, `counts`, `pes` and `seconds`. Raises UsageError
/// and RunError.
#[pyfunction]
#[pyo3(signature = (sources_json, goal, options_json, capture = false))]
pub fn fghc_run(py: Python<'_>, sources_json: &str, goal: &str, options_json: &str, capture: bool) -> PyResult<String> {
    let kept = capture.then(Kept::default);
    let (options, counts, interpret) = options(options_json, kept.as_ref())?;
    let checked = py.detach(|| checked(sources_json, Some(goal)))?;
    let Some(program) = checked.program.clone() else {
        return Err(RunError::new_err(format!("the program has errors\n{}", checked.render(false))));
    };
    let loaded = py.detach(|| Loaded::new(program, counts)).map_err(|error| UsageError::new_err(error.to_string()))?;
    let loaded = if interpret { loaded } else { py.detach(|| loaded.translate()) };
    let limit = options.heap;
    let Some(mut engine) = Engine::new(&loaded, options) else {
        return Err(RunError::new_err(format!("there is no memory for a heap (limit {limit} bytes)")));
    };
    engine.start();
    let begin = Instant::now();
    let stop = loop {
        match py.detach(|| engine.run(BETWEEN_SIGNALS)) {
            Stop::Budget => {
                if let Err(error) = py.check_signals() {
                    if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                        return Err(error);
                    }
                    break Stop::Interrupted;
                }
            }
            stop => break stop,
        }
    };
    let seconds = begin.elapsed().as_secs_f64();
    engine.flush();
    Ok(result(&engine, &stop, seconds, counts, kept).to_string())
}

fn result(engine: &Engine, stop: &Stop, seconds: f64, counts: bool, kept: Option<Kept>) -> serde_json::Value {
    let (status, message, exit_code) = match stop {
        Stop::Idle if engine.finished() => ("done", String::new(), None),
        Stop::Idle | Stop::Budget => ("suspended", String::new(), None),
        Stop::Problem(problem) => ("failed", problem.to_string(), None),
        Stop::Interrupted => ("interrupted", String::new(), None),
        Stop::Exit(code) => ("exit", String::new(), Some(*code)),
    };
    let waiting: Vec<_> = if matches!(status, "suspended" | "interrupted") {
        engine.waiting().into_iter().map(|goal| json!({"goal": goal.goal, "variables": goal.variables})).collect()
    } else {
        engine.lost().iter().map(|goal| json!({"goal": goal.goal, "variables": goal.variables})).collect()
    };
    let counters = engine.counters();
    json!({
        "status": status,
        "message": message,
        "exit_code": exit_code,
        "answers": engine.answers(),
        "output": kept.map(|kept| kept.text()),
        "waiting": waiting,
        "ready": if status == "interrupted" { engine.ready_goals(SHOWN_GOALS) } else { Vec::new() },
        "failures": engine.failures().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "counts": if counts { json!(engine.counts()) } else { json!(null) },
        "pes": [{
            "pe": engine.node(),
            "reductions": counters.reductions,
            "suspensions": counters.suspensions,
            "resumptions": counters.resumptions,
            "collections": counters.collections,
            "work_s": seconds,
            "idle_s": 0.0,
            "messages": 0,
            "throw_goal": 0,
            "communication_s": 0.0,
            "sent": {},
            "received": {},
        }],
        "sites": [],
        "seconds": seconds,
    })
}
