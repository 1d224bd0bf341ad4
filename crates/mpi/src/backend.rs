//! The life of MPI in a process, and the runs of programs in it.

use std::ffi::c_int;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weft_comm::prepared::Device;
use weft_comm::{Blocked, Call, CommError, Program, RunError, block_on};

use crate::abort::{Abort, write_error};
use crate::activity::{Doing, Mark, Snapshot};
use crate::board::{Board, Reader};
use crate::comm::MpiComm;
use crate::context::{Context, VIRTUAL_VARIABLE, in_virtual_time};
use crate::diagnosis::{Collective, Diagnosis, Event, Report};
use crate::guard::{self, WATCHED_VARIABLE};
use crate::launcher;
use crate::library::{AbiKind, Handle, Library};
use crate::locate::{Locate, Locator};
use crate::panics;
use crate::tags::TagMap;
use crate::watchdog::{Notice, Watchdog, Watcher};

/// The environment variable for the longest time, in seconds, that an unwatched rank may be blocked in one call;
/// 0 for no limit.
pub const LIMIT_VARIABLE: &str = "WEFT_BLOCKED_LIMIT";

/// Who notices that a run cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The process that started the ranks: a rank blocked for longer than `after` writes a report.
    Reporting { after: Duration },
    /// Nobody: ranks of one computer judge themselves, and a rank blocked for longer than `limit` says where and ends the
    /// whole run.
    Alone { limit: Option<Duration> },
}

impl Watch {
    /// How long a rank of a watched run is blocked before it reports.
    pub const REPORT_AFTER: Duration = Duration::from_secs(5);
    /// How long a rank of an unwatched run is blocked before it tells the ranks beside it.
    pub const TELL_AFTER: Duration = Duration::from_secs(2);
    /// How long a rank of an unwatched run may be blocked.
    pub const LIMIT: Duration = Duration::from_secs(300);

    /// What [`WATCHED_VARIABLE`] and [`LIMIT_VARIABLE`] ask for.
    ///
    /// # Errors
    /// A message when the limit is no number of seconds.
    pub fn of_environment() -> Result<Watch, RunError> {
        Watch::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Watch, RunError> {
        if variable(VIRTUAL_VARIABLE).is_some() {
            return Ok(Watch::Alone { limit: None });
        }
        if variable(WATCHED_VARIABLE).is_some() {
            return Ok(Watch::Reporting { after: Watch::REPORT_AFTER });
        }
        let Some(text) = variable(LIMIT_VARIABLE) else { return Ok(Watch::Alone { limit: Some(Watch::LIMIT) }) };
        let seconds = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let seconds = seconds.ok_or_else(|| {
            RunError::Setup(format!("{LIMIT_VARIABLE} is '{text}'; expected seconds, e.g. 300, or 0 for no limit"))
        })?;
        Ok(Watch::Alone { limit: Some(seconds).filter(|seconds| !seconds.is_zero()) })
    }
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The MPI library to use where neither `WEFT_MPI_LIBRARY` nor the process names one.
    pub library: Option<PathBuf>,
    /// The number of ranks that the caller started, where it knows.
    pub ranks: Option<usize>,
    pub watch: Watch,
    /// Whether a rank that fails ends the whole run, so that no other rank waits for it. A run of one rank only returns
    /// the error.
    pub abort_on_failure: bool,
    /// Whether several threads of a rank call MPI at one time (`MPI_THREAD_MULTIPLE`): the library then locks, which
    /// makes every call slower.
    pub threads: bool,
}

impl Options {
    /// The usual: the watch of the environment, and a failure ends the run.
    ///
    /// # Errors
    /// As [`Watch::of_environment`].
    pub fn of_environment(library: Option<PathBuf>) -> Result<Options, RunError> {
        Ok(Options { library, ranks: None, watch: Watch::of_environment()?, abort_on_failure: true, threads: false })
    }
}

/// Which MPI library is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryInfo {
    /// The file, as it was given to the loader.
    pub path: PathBuf,
    pub abi: AbiKind,
    /// What the library calls itself.
    pub version: String,
}

/// MPI, started in this process.
///
/// There may be one at a time; after MPI has been finalised there can be none again, which is MPI's rule. Programs run
/// on the thread that started it.
pub struct Backend {
    context: Rc<Context>,
    options: Options,
    /// Whether MPI is ours to finalise.
    initialised_here: bool,
    guarded: Arc<guard::Shared>,
    /// What the ranks of this computer say of themselves, where nobody watches them.
    board: Option<Arc<Board>>,
    locate: Arc<Mutex<Option<Locate>>>,
    watchdog: Option<Watchdog>,
}

impl Backend {
    /// Loads the MPI library and initialises it, unless the process has done so before.
    ///
    /// # Errors
    /// [`RunError::Setup`]: no library, a library that cannot be used, one that does not belong to the launcher.
    pub fn start(options: Options) -> Result<Backend, RunError> {
        let watch = options.watch;
        Backend::try_start(options).inspect_err(|error| {
            if let Watch::Reporting { .. } = watch {
                write_error(&Report::of_error(launcher::launched_rank(), 0, error).line());
            }
        })
    }

    fn try_start(options: Options) -> Result<Backend, RunError> {
        let guarded = Arc::<guard::Shared>::default();
        let board = begin_guard(options.watch, &guarded);
        let library = Library::load(options.library.as_deref()).map_err(|error| RunError::Setup(error.to_string()))?;
        let initialised_here = initialise(&library, options.threads)?;
        let (rank, ranks) = ranks_of(&library, &options).inspect_err(|_| finalize(&library, initialised_here))?;
        let tags = TagMap::new(largest_tag(&library));
        let context = Rc::new(Context::new(library, rank, ranks, tags, options.threads && initialised_here));
        let _ = guarded.abort.set(Abort::of(&context));
        let locate = Arc::default();
        let mut backend = Backend { context, options, initialised_here, guarded, board, locate, watchdog: None };
        backend.announce();
        backend.watchdog = backend.start_watchdog()?;
        Ok(backend)
    }

    /// This rank.
    pub fn rank(&self) -> usize {
        self.context.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.context.ranks
    }

    pub fn library(&self) -> LibraryInfo {
        let library = &self.context.library;
        LibraryInfo { path: library.path().to_owned(), abi: library.abi.kind, version: library.version().to_owned() }
    }

    /// From now on messages may lie in the memory of this device, if the library takes its addresses.
    pub fn set_device(&self, device: Rc<dyn Device>) {
        *self.context.device.borrow_mut() = Some(device);
    }

    /// Runs this rank of a program; all ranks of the run must call it.
    ///
    /// # Errors
    /// What the program returns, a panic, or a future that nothing can wake. With
    /// [`Options::abort_on_failure`] the process ends instead, after a message on standard error, with code 1.
    pub fn run<P: Program>(&self, program: &P) -> Result<P::Output, RunError> {
        let outcome = self.attempt(program);
        match &outcome {
            Ok(_) => self.context.settle(),
            Err(error) => self.fail(error),
        }
        outcome
    }

    /// A communicator of all ranks, for a caller that drives its exchanges itself. Collective.
    ///
    /// # Errors
    /// What the library says.
    pub fn communicator(&self) -> Result<MpiComm, CommError> {
        MpiComm::of_comm_world(&self.context)
    }

    /// A communicator of the ranks of one that the caller has made with this MPI library, by its handle. Collective over
    /// those ranks.
    ///
    /// # Errors
    /// What the library says.
    ///
    /// # Safety
    /// The handle must be one of a live communicator of this library.
    pub unsafe fn communicator_of(&self, handle: Handle) -> Result<MpiComm, CommError> {
        // SAFETY: the handle is one of a live communicator of this library (this function's condition), whose functions
        // the context calls.
        unsafe { MpiComm::of_handle(&self.context, handle) }
    }

    fn attempt<P: Program>(&self, program: &P) -> Result<P::Output, RunError> {
        // Ranks that come early wait here for those still in the program before.
        self.context.activity.enter(Mark::IDLE);
        let comm = MpiComm::of_comm_world(&self.context);
        self.context.activity.leave();
        let comm = comm?;
        let program = program.clone();
        match panics::catch(|| block_on(program.run(comm))) {
            Ok(Some(output)) => Ok(output?),
            Ok(None) => {
                let blocked = Blocked { rank: self.rank(), call: Call::Unknown, collective: None };
                Err(RunError::of_blocked(self.size(), vec![blocked]))
            }
            Err(message) => Err(RunError::Panicked { rank: self.rank(), message }),
        }
    }

    fn fail(&self, error: &RunError) {
        self.context.abandon();
        let ends_the_run = self.options.abort_on_failure && self.size() > 1;
        match self.options.watch {
            Watch::Reporting { .. } => write_error(&Report::of_error(self.rank(), self.size(), error).line()),
            Watch::Alone { .. } if ends_the_run => write_error(&format!("weft: {error}\n")),
            Watch::Alone { .. } => {}
        }
        if ends_the_run {
            Abort::of(&self.context).now();
        }
    }

    /// Tells a watching process which process this rank is.
    fn announce(&self) {
        self.tell(Event::Started { pid: std::process::id(), host: launcher::host() });
    }

    fn tell(&self, event: Event) {
        let report = Report { rank: self.rank(), ranks: self.size(), event };
        match (self.options.watch, &self.board) {
            (Watch::Reporting { .. }, _) => write_error(&report.line()),
            (Watch::Alone { .. }, Some(board)) => board.say(&report),
            (Watch::Alone { .. }, None) => {}
        }
    }

    /// From now on reports of long calls say where in the Python program of this thread they are, outside of the files of
    /// `folder`. `signal` has the thread write its frames to `descriptor`, which does not block.
    pub fn locate_calls(&self, folder: &str, signal: c_int, descriptor: c_int) {
        let locate = Locator::of_this_thread(folder, signal, descriptor).boxed();
        *self.locate.lock().unwrap_or_else(PoisonError::into_inner) = Some(locate);
    }

    /// The caller's program has ended, or is about to, in this way: others that wait for this rank are told so.
    pub fn left(&self, how: &str) {
        self.tell(Event::Left { how: how.to_owned() });
    }

    /// Whether nobody has said yet why this run ends: the caller then does, and ends its process.
    pub fn claim_end(&self) -> bool {
        let Some(board) = &self.board else { return true };
        let claimed = board.claim();
        if claimed {
            board.remove();
        }
        claimed
    }

    fn start_watchdog(&self) -> Result<Option<Watchdog>, RunError> {
        let (rank, ranks) = (self.rank(), self.size());
        let (abort, locate, board) = (Abort::of(&self.context), self.locate.clone(), self.board.clone());
        let located =
            move || locate.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|locate| locate());
        let activity = self.context.activity.clone();
        let watchdog = match (self.options.watch, board) {
            (Watch::Reporting { after }, _) => {
                let mut watcher = Watcher::new(after.as_secs_f64());
                Watchdog::start(activity, move |now, snapshot| {
                    if let Some(notice) = watcher.look(now, snapshot) {
                        write_error(&Report { rank, ranks, event: event_of(notice, &located) }.line());
                    }
                })
            }
            (Watch::Alone { limit }, None) => {
                let Some(mut limit) = limit.map(|limit| Watcher::new(limit.as_secs_f64())) else { return Ok(None) };
                Watchdog::start(activity, move |now, snapshot| {
                    if let Some(notice) = limit.look(now, snapshot) {
                        give_up(rank, ranks, notice, &located, &abort);
                    }
                })
            }
            (Watch::Alone { limit }, Some(board)) => {
                let mut limit = limit.map(|limit| Watcher::new(limit.as_secs_f64()));
                let mut judge = Judge::new(board, rank, ranks);
                Watchdog::start(activity, move |now, snapshot| {
                    judge.look(now, snapshot, &located, &abort);
                    if let Some(notice) = limit.as_mut().and_then(|limit| limit.look(now, snapshot)) {
                        give_up(rank, ranks, notice, &located, &abort);
                    }
                })
            }
        };
        watchdog.map(Some).map_err(|error| RunError::Setup(format!("cannot start the watchdog's thread: {error}")))
    }
}

/// What a rank that is blocked for long makes of what all ranks of this computer say.
struct Judge {
    board: Arc<Board>,
    rank: usize,
    ranks: usize,
    watcher: Watcher,
    /// Whether this rank waits: then it reads what the others say.
    waits: bool,
    reader: Reader,
    diagnosis: Diagnosis,
}

impl Judge {
    fn new(board: Arc<Board>, rank: usize, ranks: usize) -> Judge {
        let watcher = Watcher::new(Watch::TELL_AFTER.as_secs_f64());
        let (reader, diagnosis) = (Reader::default(), Diagnosis::default());
        Judge { board, rank, ranks, watcher, waits: false, reader, diagnosis }
    }

    fn look(&mut self, now: f64, snapshot: Snapshot, located: impl Fn() -> Option<String>, abort: &Abort) {
        let &mut Judge { rank, ranks, .. } = self;
        if let Some(notice) = self.watcher.look(now, snapshot) {
            // One that has left its program cannot end the run from within MPI_Finalize.
            self.waits = matches!(notice, Notice::Long { doing: Doing::Calling { .. }, .. });
            self.board.say(&Report { rank, ranks, event: event_of(notice, located) });
        }
        if !self.waits {
            return;
        }
        for line in self.board.news(&mut self.reader) {
            self.diagnosis.feed(&line, now);
        }
        if let Some(error) = self.diagnosis.verdict(now)
            && self.board.claim()
        {
            write_error(&format!("weft: {error}\n"));
            self.board.remove();
            abort.now();
        }
    }
}

/// Starts the guard of a rank that nobody watches: a watched one has it from its first moment, before it knows of MPI.
fn begin_guard(watch: Watch, shared: &Arc<guard::Shared>) -> Option<Arc<Board>> {
    let Watch::Alone { .. } = watch else { return None };
    if in_virtual_time() {
        return None;
    }
    let launched = launcher::launched().filter(|launched| launched.ranks > 1)?;
    let board = Arc::new(Board::open(crate::life::launcher()?, launched.rank)?);
    let others =
        guard::Others { board: board.clone(), rank: launched.rank, ranks: launched.ranks, here: launched.here };
    guard::start(None, Some(others), shared.clone());
    Some(board)
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.tell(Event::Ended);
        self.context.activity.enter(Mark::IDLE);
        self.context.release_all();
        self.context.free_windows();
        self.context.finalized.set(self.initialised_here);
        if !self.initialised_here {
            // Whoever started MPI ends it, after this thread's watchdog: that may wait for ranks that wait for this one.
            self.tell(Event::Idle { counter: self.context.activity.snapshot().counter });
        }
        finalize(&self.context.library, self.initialised_here);
        self.context.activity.leave();
        self.guarded.over.store(true, Ordering::Release);
        if let Some(board) = &self.board {
            board.leave();
        }
    }
}

/// Starts MPI, runs this rank of one program, and ends MPI again if it was started here.
///
/// # Errors
/// As [`Backend::start`] and [`Backend::run`].
pub fn run<P: Program>(program: &P, options: Options) -> Result<P::Output, RunError> {
    Backend::start(options)?.run(program)
}

/// Initialises MPI if nobody has; whether it was done here.
fn initialise(library: &Library, threads: bool) -> Result<bool, RunError> {
    let functions = &library.functions;
    if functions.flag(functions.finalized) {
        let text = "MPI was finalised in this process and cannot be started again: run everything within one Backend";
        return Err(RunError::Setup(text.to_owned()));
    }
    if functions.flag(functions.initialized) {
        return Ok(false);
    }
    let mut provided: c_int = 0;
    let level = if threads { library.abi.thread_multiple } else { library.abi.thread_funneled };
    // SAFETY: MPI allows null for both arguments of main.
    let code = unsafe { (functions.init_thread)(std::ptr::null_mut(), std::ptr::null_mut(), level, &mut provided) };
    if code != 0 {
        let text = functions.error_text(code);
        return Err(RunError::Setup(format!("MPI_Init_thread of {} failed: {text}", library.path().display())));
    }
    // SAFETY: the handles are constants of the library's ABI.
    unsafe { (functions.comm_set_errhandler)(library.abi.comm_world, library.abi.errors_return) };
    Ok(true)
}

fn finalize(library: &Library, initialised_here: bool) {
    if initialised_here {
        // SAFETY: MPI is initialised and no call is under way.
        unsafe { (library.functions.finalize)() };
    }
}

/// This rank and the number of ranks, checked against what the launcher said.
fn ranks_of(library: &Library, options: &Options) -> Result<(usize, usize), RunError> {
    let (functions, comm) = (&library.functions, library.abi.comm_world);
    let (mut rank, mut ranks): (c_int, c_int) = (0, 0);
    // SAFETY: the pointers are to live integers.
    let codes = unsafe { [(functions.comm_rank)(comm, &mut rank), (functions.comm_size)(comm, &mut ranks)] };
    let name = format!("{} ({})", library.path().display(), library.version());
    if codes != [0, 0] {
        return Err(RunError::Setup(format!("{name} does not tell this process's rank")));
    }
    launcher::check_size(ranks as usize, options.ranks, &name).map_err(RunError::Setup)?;
    Ok((rank as usize, ranks as usize))
}

/// The library's largest tag, or the smallest that MPI allows it to have.
fn largest_tag(library: &Library) -> c_int {
    let mut value: *mut c_int = std::ptr::null_mut();
    let mut is_set: c_int = 0;
    // SAFETY: the pointers are to live values; the attribute's value is a pointer to an integer.
    unsafe {
        let key = library.abi.tag_upper_bound;
        let code = (library.functions.comm_get_attr)(library.abi.comm_world, key, &mut value, &mut is_set);
        if code == 0 && is_set != 0 && !value.is_null() { *value } else { 32767 }
    }
}

fn event_of(notice: Notice, located: impl Fn() -> Option<String>) -> Event {
    match notice {
        Notice::Over { counter } => Event::Resumed { counter },
        Notice::Long { doing: Doing::Calling { call, collective, moving_bytes }, counter, seconds } => {
            let collective = collective.map(Collective::of);
            Event::Blocked { call, collective, seconds, counter, moving_bytes, at: located() }
        }
        Notice::Long { counter, .. } => Event::Idle { counter },
    }
}

/// Ends a run that nobody watches when this rank has been blocked for too long.
fn give_up(rank: usize, ranks: usize, notice: Notice, located: impl Fn() -> Option<String>, abort: &Abort) {
    let Notice::Long { doing, seconds, .. } = notice else { return };
    let Some(blocked) = doing.blocked(rank) else { return };
    let location = located().map(|location| format!(", called at {location}")).unwrap_or_default();
    write_error(&format!(
        "weft: blocked for {seconds:.0} s ({ranks} ranks): {blocked}{location}; ending the run. If a rank may compute for so \
         long, set {LIMIT_VARIABLE} to more seconds, or to 0 for no limit\n"
    ));
    abort.now();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(variables: &[(&str, &str)]) -> Result<Watch, RunError> {
        Watch::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_environment_says_who_watches() {
        let limit = |seconds| Watch::Alone { limit: Some(Duration::from_secs(seconds)) };
        assert_eq!(watch(&[]), Ok(limit(300)));
        assert_eq!(watch(&[(LIMIT_VARIABLE, "20")]), Ok(limit(20)));
        assert_eq!(watch(&[(LIMIT_VARIABLE, "0")]), Ok(Watch::Alone { limit: None }));
        assert_eq!(watch(&[(VIRTUAL_VARIABLE, "3"), (LIMIT_VARIABLE, "20")]), Ok(Watch::Alone { limit: None }));
        let reporting = Watch::Reporting { after: Duration::from_secs(5) };
        assert_eq!(watch(&[(WATCHED_VARIABLE, "1"), (LIMIT_VARIABLE, "20")]), Ok(reporting));
    }

    #[test]
    fn a_limit_that_is_no_time_is_refused() {
        for bad in ["soon", "-1", "nan", "inf"] {
            let text = watch(&[(LIMIT_VARIABLE, bad)]).unwrap_err().to_string();
            assert_eq!(text, format!("WEFT_BLOCKED_LIMIT is '{bad}'; expected seconds, e.g. 300, or 0 for no limit"));
        }
    }
}
