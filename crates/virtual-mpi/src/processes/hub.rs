//! A run whose ranks have a process each, from its start to its report.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_base::Interrupt;
use weft_comm::{Communicator as _, RunError};
use weft_machine::Machine;
use weft_sim::{Options, Outcome, Placement, SimComm, run_beside, run_with};

use crate::hosting::placement;
use crate::outcome::{Leftovers, Timeline, Unfreed, remarks};
use crate::remark::Remarks;

use super::children::{self, Child, Signals, Standing};
use super::codec::Setup;
use super::serve::{Aborted, Process, Run, Served};
use super::shared::{self, Slot};

/// What is to be run.
#[derive(Deserialize)]
struct Request {
    /// The program and its arguments.
    program: Vec<String>,
    /// Path of the library that stands in for MPI.
    library: String,
    /// Text of a machine file, and what it is called in messages.
    machine: String,
    path: String,
    ranks: usize,
    /// Bytes of memory that a rank's process takes at least.
    each: u64,
    /// The node of each rank; rank r on node r where it is missing.
    nodes: Option<Vec<u32>>,
    /// The factor on processor time measured here; computation takes no time where it is missing.
    compute: Option<f64>,
    /// Seconds that a rank runs without a call before the others go on without it; they wait for ever where it is missing.
    patience: Option<f64>,
    /// Where a timeline is written.
    trace: Option<PathBuf>,
}

/// What a run came to.
#[derive(Default, Serialize)]
struct Report {
    makespan: f64,
    finished: Vec<f64>,
    messages: u64,
    error: Option<String>,
    /// The exit code where the run failed.
    code: i32,
    /// The exit codes of the processes.
    codes: Vec<i32>,
    /// Ranks that cannot go on, with the call that they are in.
    blocked: Vec<(usize, String)>,
    remarks: Remarks,
    #[serde(flatten)]
    leftovers: Leftovers,
    #[serde(flatten)]
    timeline: Timeline,
}

/// Runs a program whose ranks have a process each; `report` is called once, with JSON, and `announce` with the bytes of a
/// timeline before it is written.
///
/// # Safety
/// The request is a string of JSON; the function copies the string that it is handed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_serve(
    request: *const c_char,
    report: extern "C" fn(*const c_char),
    announce: extern "C" fn(u64),
) {
    // SAFETY: the caller hands in a string that ends with zero.
    let request = unsafe { CStr::from_ptr(request) };
    let outcome = match serde_json::from_slice::<Request>(request.to_bytes()) {
        Ok(request) => run(&request, announce).unwrap_or_else(|report| *report),
        Err(error) => failed(format!("the request cannot be read: {error}")),
    };
    let text = CString::new(serde_json::to_string(&outcome).unwrap_or_default()).unwrap_or_default();
    report(text.as_ptr());
}

fn failed(error: String) -> Report {
    Report { error: Some(error), code: 1, ..Report::default() }
}

fn run(request: &Request, announce: extern "C" fn(u64)) -> Result<Report, Box<Report>> {
    let machine = Machine::parse(&request.machine, &request.path).map_err(|error| failed(error.to_string()))?;
    let placement = placement(request.ranks, request.nodes.as_deref());
    let signals = Signals::listen();
    let options = Options {
        interrupt: Interrupt::new(children::is_interrupted),
        trace: request.trace.is_some(),
        ..Options::default()
    };
    let run = start(request, &machine)?;
    let outcome = run_beside(&machine, &placement, |endpoint: SimComm| Served::new(endpoint, &run), &options, &*run);
    let report = match outcome {
        Ok(outcome) => finish(&run, request, &outcome, announce),
        Err(error) => why(&run, error),
    };
    for process in &run.processes {
        process.borrow_mut().child.kill();
    }
    drop(signals);
    Ok(report)
}

/// Starts the ranks' processes.
fn start(request: &Request, machine: &Machine) -> Result<Rc<Run>, Box<Report>> {
    let unable = |what: &str, error: &dyn std::fmt::Display| failed(format!("{what}: {error}"));
    let advice = "ask for fewer ranks, or run a script of Python without --isolate";
    let what = format!("{} processes", request.ranks);
    weft_base::memory::require(request.each * request.ranks as u64, what, advice)
        .map_err(|error| failed(error.to_string()))?;
    let setup = setup(request, machine).map_err(|error| failed(error.to_string()))?;
    let header = serde_json::to_vec(&setup).map_err(|error| unable("the run cannot be described", &error))?;
    let memory =
        shared::create(request.ranks, &header).map_err(|error| unable("no memory to share with ranks", &error))?;
    let mut processes = Vec::with_capacity(request.ranks);
    for rank in 0..request.ranks {
        let slot = Slot::open(&memory, rank).map_err(|error| unable("no memory to share with a rank", &error))?;
        slot.begin();
        let standing = Standing::new(rank, request.ranks, request.nodes.as_deref());
        let child = Child::start(&request.program, standing, &memory, &request.library)
            .map_err(|error| unable(&format!("rank {rank} of {} cannot be started", request.program[0]), &error))?;
        processes.push(Rc::new(RefCell::new(Process {
            slot: Rc::new(slot),
            child,
            call: String::new(),
            may_end: true,
            left: false,
            unfreed: Unfreed::default(),
        })));
    }
    // The ranks open the memory by this process's descriptor: it stays open as long as the run.
    let _ = std::os::fd::IntoRawFd::into_raw_fd(memory);
    let patience = request.patience.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(Rc::new(Run::new(processes, patience.unwrap_or(Duration::MAX))))
}

/// What ranks are told; from a run of nobody, which knows the machine's costs.
fn setup(request: &Request, machine: &Machine) -> Result<Setup, RunError> {
    let learn = |endpoint: SimComm| async move {
        let longest = (endpoint.longest_message(), endpoint.longest_eager());
        Ok((longest, endpoint.look_time().0, !endpoint.file_systems().is_empty()))
    };
    let learned = run_with(machine, &Placement::identity(1), learn, &Options::default())?;
    let ((longest, longest_eager), look, has_files) = learned.outputs[0];
    Ok(Setup {
        ranks: request.ranks,
        machine: machine.name.clone(),
        compute: request.compute,
        nodes: request.nodes.clone(),
        longest,
        longest_eager,
        look,
        has_files,
        hub: std::process::id() as i32,
    })
}

/// Waits for the processes, which communicate no more, and reports.
fn finish(run: &Run, request: &Request, outcome: &Outcome<()>, announce: extern "C" fn(u64)) -> Report {
    let codes =
        run.processes.iter().map(|process| process.borrow_mut().child.finish().map_or(130, children::End::code));
    let codes: Vec<i32> = codes.collect();
    let unfreed = run.processes.iter().map(|process| process.borrow().unfreed).enumerate();
    if children::is_interrupted() {
        return Report { code: 130, ..failed("the run was interrupted".to_owned()) };
    }
    Report {
        makespan: outcome.makespan,
        finished: outcome.finished.clone(),
        messages: outcome.messages,
        codes,
        leftovers: Leftovers::of(outcome, unfreed),
        remarks: remarks(outcome, &run.notes),
        timeline: Timeline::write(request.trace.as_deref(), outcome, announce),
        ..Report::default()
    }
}

/// Why a run has failed.
fn why(run: &Run, error: RunError) -> Report {
    if children::is_interrupted() {
        let blocked = calls(run);
        return Report { code: 130, blocked, ..failed("the run was interrupted".to_owned()) };
    }
    if let Some(Aborted { code }) = *run.aborted.borrow() {
        return Report { code, ..failed(error.to_string()) };
    }
    let is_blocked = matches!(error, RunError::Deadlock { .. } | RunError::MismatchedCollective { .. });
    let blocked = if is_blocked { calls(run) } else { Vec::new() };
    Report { blocked, remarks: run.notes.remarks(), ..failed(error.to_string()) }
}

/// The calls of MPI that ranks are in which have not come to their end.
fn calls(run: &Run) -> Vec<(usize, String)> {
    let processes = run.processes.iter().enumerate();
    let waiting = processes.filter(|(_, process)| !process.borrow().left);
    waiting.map(|(rank, process)| (rank, process.borrow().call.clone())).collect()
}
