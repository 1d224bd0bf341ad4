//! Programs held in this process: ranks that take turns on one thread, each on a stack of its own.
//!
//! The stacks are Python's: the interpreter that loaded this library keeps one greenlet a rank, and one, the hub, that
//! calls [`weft_run`]. A rank that waits switches to the hub, within which the simulator runs; the simulator switches to
//! the rank that can go on. Python is reached by the addresses of a few functions of its own, so that the library needs
//! none to be loaded.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::future::poll_fn;
use std::path::PathBuf;
use std::rc::Rc;
use std::task::Poll;

use serde::{Deserialize, Serialize};
use weft_comm::{CommError, RunError};
use weft_machine::Machine;
use weft_sim::{Options, Outcome, Placement, SimComm, run_with};

use crate::joint::{Described, Key, Ledger};
use crate::link::Link;
use crate::meter::Compute;
use crate::outcome::{Leftovers, Timeline, Unfreed, remarks};
use crate::rank::{Host, Rank, Setting, set_current};
use crate::remark::{Notes, Remarks, Subject};

/// What the interpreter hands in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Interface {
    /// `PyGILState_Ensure` and `PyGILState_Release`.
    ensure: unsafe extern "C" fn() -> c_int,
    release: unsafe extern "C" fn(c_int),
    /// `PyObject_CallNoArgs`, `Py_IncRef` and `Py_DecRef`.
    call: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    hold: unsafe extern "C" fn(*mut c_void),
    free: unsafe extern "C" fn(*mut c_void),
    /// Switches to the hub.
    park: *mut c_void,
    /// Switches to a rank, one for each, with all that is its own in the interpreter.
    resume: *const *mut c_void,
    /// What a switch is made of where ranks differ in their main module alone.
    direct: Direct,
    /// Ends the process: rank, exit code, what to say.
    abort: unsafe extern "C" fn(c_int, c_int, *const c_char),
    /// Takes the result of the run.
    report: unsafe extern "C" fn(*const c_char),
    /// Takes the bytes of a timeline before it is written.
    announce: extern "C" fn(u64),
}

/// A switch without a function of the interpreter's language around it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Direct {
    /// Whether ranks differ in their main module alone, as long as the first byte there is not zero.
    is_enough: *const u8,
    /// The rank whose modules are the interpreter's; a negative number for none.
    current: *mut i64,
    /// Switch to a rank and do nothing else, one for each.
    switch: *const *mut c_void,
    /// `PyDict_SetItem`, the interpreter's modules, and the name of the main module there.
    set_item: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> c_int,
    modules: *mut c_void,
    main: *mut c_void,
    /// Main modules, one for each rank.
    mains: *const *mut c_void,
}

/// What is to be run.
#[derive(Deserialize)]
struct RunRequest {
    /// Text of a machine file, and what it is called in messages.
    machine: String,
    path: String,
    ranks: usize,
    /// The node of each rank; rank r on node r where it is missing.
    nodes: Option<Vec<u32>>,
    /// The factor on processor time measured here; computation takes no time where it is missing.
    compute: Option<f64>,
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
    /// Ranks that cannot go on, with the call that they are in.
    blocked: Vec<(usize, String)>,
    remarks: Remarks,
    #[serde(flatten)]
    leftovers: Leftovers,
    #[serde(flatten)]
    timeline: Timeline,
}

struct Interpreter {
    interface: Interface,
    notes: Rc<Notes>,
    joint: RefCell<Ledger>,
}

impl Interpreter {
    fn call(&self, callable: *mut c_void) -> bool {
        // SAFETY: the interpreter handed in its own functions and objects that live as long as the run.
        unsafe {
            let result = (self.interface.call)(callable);
            let succeeded = !result.is_null();
            if succeeded {
                (self.interface.free)(result);
            }
            succeeded
        }
    }

    /// Switches to a rank, with what is its own in the interpreter; false if the program was interrupted.
    fn resume(&self, rank: usize) -> bool {
        let direct = &self.interface.direct;
        // SAFETY: the interpreter, whose lock is held, keeps what it handed in: there is one of everything for each rank.
        let callable = unsafe {
            if *direct.is_enough == 0 {
                *self.interface.resume.add(rank)
            } else {
                if direct.current.replace(rank as i64) != rank as i64
                    && (direct.set_item)(direct.modules, direct.main, *direct.mains.add(rank)) != 0
                {
                    return false;
                }
                *direct.switch.add(rank)
            }
        };
        self.call(callable)
    }
}

impl Host for Interpreter {
    fn park(&self, rank: usize) {
        // SAFETY: a program that is in a call of MPI is on a thread that the interpreter knows.
        let state = unsafe { (self.interface.ensure)() };
        let went_on = match next_rank(rank) {
            Some(next) if next.number() == rank => true,
            Some(next) => {
                set_current(next);
                self.resume(next.number())
            }
            None => self.call(self.interface.park),
        };
        // SAFETY: the state is that of the call before.
        unsafe { (self.interface.release)(state) };
        if !went_on {
            self.abort(rank, 1, "the program was interrupted while it waited");
        }
    }

    fn hold(&self, object: *mut c_void) {
        // SAFETY: the object is the interpreter's, whose lock is held meanwhile.
        unsafe {
            let state = (self.interface.ensure)();
            (self.interface.hold)(object);
            (self.interface.release)(state);
        }
    }

    fn note_joint(&self, rank: usize, size: u32, key: Key, call: &'static str, described: Described) {
        if let Some(remark) = self.joint.borrow_mut().note((rank as u32, size), key, call.into(), described) {
            self.notes.add(Subject::Collectives, remark);
        }
    }

    fn remark(&self, subject: Subject, remark: &str) {
        self.notes.add(subject, remark.to_owned());
    }

    fn abort(&self, rank: usize, code: c_int, message: &str) -> ! {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: a program in a call of MPI is on a thread that the interpreter knows; the function ends the process.
        unsafe {
            (self.interface.ensure)();
            (self.interface.abort)(rank as c_int, code, message.as_ptr());
        }
        std::process::exit(code)
    }
}

thread_local! {
    /// Whether each rank has finished.
    static FINISHED: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
    /// Every rank that has started.
    static RANKS: RefCell<Vec<Option<&'static Rank>>> = const { RefCell::new(Vec::new()) };
}

/// A rank that has started.
fn started(number: usize) -> Option<&'static Rank> {
    RANKS.with_borrow(|ranks| ranks.get(number).copied().flatten())
}

/// The rank that goes on while `rank` waits, where it can be switched to directly: it has started and not finished.
fn next_rank(rank: usize) -> Option<&'static Rank> {
    let may = |number| started(number).is_some() && !FINISHED.with_borrow(|finished| finished[number]);
    let endpoint = started(rank)?.endpoint.simulated()?;
    loop {
        let next = endpoint.next_rank(may).and_then(started)?;
        if next.goes_on() {
            return Some(next);
        }
    }
}

/// Says that the program of `rank` has come to its end.
#[unsafe(no_mangle)]
pub extern "C" fn weft_finished(rank: c_int) {
    FINISHED.with_borrow_mut(|finished| finished[rank as usize] = true);
    if let Some(endpoint) = started(rank as usize).and_then(|rank| rank.endpoint.simulated()) {
        // The run learns it when it asks, whichever rank the hub had let go on.
        endpoint.make_ready();
    }
}

/// Says that each rank initializes MPI by a call of its own: the module that all share was loaded without.
#[unsafe(no_mangle)]
pub extern "C" fn weft_each_initializes() {
    let any = RANKS.with_borrow(|ranks| ranks.iter().copied().flatten().next());
    if let Some(rank) = any {
        rank.shared.each_initializes.set(true);
    }
}

/// Runs the programs that the interpreter holds; the report is JSON.
///
/// # Safety
/// The request is a string of JSON, and the interface that of the interpreter on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_run(request: *const c_char, interface: *const Interface) {
    // SAFETY: the interpreter hands in a string that ends with zero and a whole interface.
    let (request, interface) = unsafe { (CStr::from_ptr(request), *interface) };
    let report = match serde_json::from_slice(request.to_bytes()) {
        Ok(request) => run(&request, interface),
        Err(error) => Report { error: Some(format!("the request cannot be read: {error}")), ..Report::default() },
    };
    let report = serde_json::to_string(&report).unwrap_or_default();
    let report = CString::new(report).unwrap_or_default();
    // SAFETY: the function is the interpreter's, and copies the string.
    unsafe { (interface.report)(report.as_ptr()) };
}

/// Where ranks run: several may share a node that is listed more than once.
pub(crate) fn placement(ranks: usize, nodes: Option<&[u32]>) -> Placement {
    let Some(nodes) = nodes else { return Placement::identity(ranks) };
    let listed: Vec<usize> = nodes.iter().map(|&node| node as usize).collect();
    let is_shared = listed.iter().collect::<BTreeSet<_>>().len() < listed.len();
    let placement = Placement::listed(&listed);
    if is_shared { placement.with_shared_nodes() } else { placement }
}

fn run(request: &RunRequest, interface: Interface) -> Report {
    let failed = |error: String| Report { error: Some(error), ..Report::default() };
    let machine = match Machine::parse(&request.machine, &request.path) {
        Ok(machine) => machine,
        Err(error) => return failed(error.to_string()),
    };
    let placement = placement(request.ranks, request.nodes.as_deref());
    let ranks = request.ranks;
    FINISHED.with_borrow_mut(|finished| *finished = vec![false; ranks]);
    RANKS.with_borrow_mut(|known| *known = vec![None; ranks]);
    let compute = request.compute.map_or(Compute::None, |scale| Compute::Measured { scale });
    let notes = Rc::new(Notes::default());
    let host = Rc::new(Interpreter { interface, notes: notes.clone(), joint: RefCell::default() });
    let setting = Setting::new(host.clone(), &notes, compute, &machine.name, request.nodes.as_deref());
    let start = |endpoint: SimComm| host_rank(endpoint, setting.clone(), host.clone());
    let options = Options { trace: request.trace.is_some(), ..Options::default() };
    match run_with(&machine, &placement, start, &options) {
        Ok(outcome) => report_of(&outcome, request, interface, &notes),
        Err(error) => {
            let blocked = if matches!(error, RunError::Deadlock { .. } | RunError::MismatchedCollective { .. }) {
                blocked_ranks()
            } else {
                Vec::new()
            };
            Report { blocked, remarks: notes.remarks(), ..failed(error.to_string()) }
        }
    }
}

/// The program of one rank: each poll lets it go on until it waits.
async fn host_rank(endpoint: SimComm, setting: Setting, host: Rc<Interpreter>) -> Result<(), CommError> {
    let rank: &'static Rank = Box::leak(Box::new(Rank::new(Link::Simulated(endpoint), &setting)));
    let number = rank.number();
    RANKS.with_borrow_mut(|known| known[number] = Some(rank));
    let started = Cell::new(false);
    poll_fn(|_| {
        if FINISHED.with_borrow(|finished| finished[number]) {
            return Poll::Ready(Ok(()));
        }
        if !rank.goes_on() {
            return Poll::Pending;
        }
        set_current(rank);
        if !started.replace(true) {
            rank.leave();
        }
        let went_on = host.resume(number);
        set_current(std::ptr::null());
        match (went_on, FINISHED.with_borrow(|finished| finished[number])) {
            (true, false) => Poll::Pending,
            (true, true) => Poll::Ready(Ok(())),
            (false, _) => Poll::Ready(Err(CommError::program(number, "the program was interrupted"))),
        }
    })
    .await
}

/// What each rank had not freed.
fn unfreed() -> Vec<(usize, Unfreed)> {
    let of = |(number, rank): (usize, &Option<&'static Rank>)| {
        (number, rank.map_or(Unfreed::default(), |rank| rank.unfreed.get()))
    };
    RANKS.with_borrow(|ranks| ranks.iter().enumerate().map(of).collect())
}

fn report_of(outcome: &Outcome<()>, request: &RunRequest, interface: Interface, notes: &Notes) -> Report {
    Report {
        makespan: outcome.makespan,
        finished: outcome.finished.clone(),
        messages: outcome.messages,
        leftovers: Leftovers::of(outcome, unfreed().into_iter()),
        remarks: remarks(outcome, notes),
        timeline: Timeline::write(request.trace.as_deref(), outcome, interface.announce),
        ..Report::default()
    }
}

/// The ranks that have not finished, with their calls.
fn blocked_ranks() -> Vec<(usize, String)> {
    let finished = FINISHED.with_borrow(Clone::clone);
    RANKS.with_borrow(|ranks| {
        let waiting = ranks.iter().enumerate().filter(|(number, _)| !finished[*number]);
        waiting.map(|(number, rank)| (number, rank.map_or("", |rank| rank.call.get()).to_owned())).collect()
    })
}
