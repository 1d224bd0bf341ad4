//! The processes of the ranks: starting them, noticing that one has ended, and leaving none behind.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::client::{HUB_VARIABLE, RANK_VARIABLE};
use super::shared::Watched;

// Handlers of signals reach nothing but statics; a process is the hub of one run.
static WATCHED: Watched = Watched::new();
static CHANGES: AtomicU32 = AtomicU32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn child_changed(_: libc::c_int) {
    CHANGES.fetch_add(1, Ordering::SeqCst);
    WATCHED.disturb();
}

extern "C" fn interrupted(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::SeqCst);
    WATCHED.disturb();
}

/// Whether somebody wants the run to end.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// What the hub's waits are ended by.
pub fn watched() -> &'static Watched {
    &WATCHED
}

/// Signals that the hub hears while it runs ranks; as before once this is dropped.
pub struct Signals(Vec<(libc::c_int, libc::sigaction)>);

impl Signals {
    pub fn listen() -> Signals {
        INTERRUPTED.store(false, Ordering::SeqCst);
        let handlers = [(libc::SIGCHLD, child_changed as extern "C" fn(_)), (libc::SIGINT, interrupted)];
        Signals(handlers.into_iter().map(|(signal, handler)| (signal, set(signal, handler))).collect())
    }
}

fn set(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> libc::sigaction {
    // SAFETY: both are whole; the handlers touch atomics only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        libc::sigaction(signal, &raw const action, &raw mut before);
        before
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in &self.0 {
            // SAFETY: the action is the one that was there before.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
}

impl End {
    fn of(status: libc::c_int) -> End {
        if libc::WIFSIGNALED(status) {
            End::Signalled(libc::WTERMSIG(status))
        } else {
            End::Exited(libc::WEXITSTATUS(status))
        }
    }

    /// The exit code that shells show.
    pub fn code(self) -> i32 {
        match self {
            End::Exited(code) => code,
            End::Signalled(signal) => 128 + signal,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exited(code) => write!(f, "ended with exit code {code}"),
            End::Signalled(signal) => write!(f, "was ended by signal {signal}{}", name_of(*signal)),
        }
    }
}

fn name_of(signal: libc::c_int) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV, a wrong address)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGFPE => " (SIGFPE, wrong arithmetic)",
        libc::SIGILL => " (SIGILL, an instruction that this processor has not)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGKILL => " (SIGKILL, as when memory runs out)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        _ => "",
    }
}

/// Whether a variable of the environment tells a process which rank of a launcher's job it is.
fn is_of_launcher(name: &OsStr) -> bool {
    let starts =
        ["OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MPI_LOCAL", "MV2_COMM_WORLD_", "PALS_", "SLURM_STEP_", "SLURM_PROCID"];
    name.to_str().is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
}

/// Which rank of a run a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub rank: usize,
    pub ranks: usize,
    /// Among the ranks of its node.
    pub local_rank: usize,
    pub local_ranks: usize,
}

impl Standing {
    /// Of a rank whose node is the one at its index, or its own.
    pub fn new(rank: usize, ranks: usize, nodes: Option<&[u32]>) -> Standing {
        let is_beside = |other: &usize| nodes.is_some_and(|nodes| nodes.get(*other) == nodes.get(rank));
        let local_rank = (0..rank).filter(is_beside).count();
        let local_ranks = local_rank + 1 + (rank + 1..ranks).filter(is_beside).count();
        Standing { rank, ranks, local_rank, local_ranks }
    }

    /// What a launcher tells its ranks, and programs ask for before they initialize MPI, or instead of it: Hydra's
    /// variables, and Open MPI's for its programs.
    fn variables(&self, library: &str) -> Vec<(&'static str, usize)> {
        let Standing { rank, ranks, local_rank, local_ranks } = *self;
        if library.ends_with(OPEN_MPI) {
            vec![
                ("OMPI_COMM_WORLD_RANK", rank),
                ("OMPI_COMM_WORLD_SIZE", ranks),
                ("OMPI_COMM_WORLD_LOCAL_RANK", local_rank),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", local_ranks),
            ]
        } else {
            vec![
                ("PMI_RANK", rank),
                ("PMI_SIZE", ranks),
                ("MPI_LOCALRANKID", local_rank),
                ("MPI_LOCALNRANKS", local_ranks),
            ]
        }
    }
}

/// How the path of the library with Open MPI's interface ends.
const OPEN_MPI: &str = "libmpi.so.40";

/// A rank's process.
#[derive(Debug)]
pub struct Child {
    process: libc::pid_t,
    /// How many changes of children were there when it was looked at last.
    seen: u32,
    end: Option<End>,
}

impl Child {
    /// Starts `program` as a rank whose hub has this memory.
    pub fn start(program: &[String], standing: Standing, memory: &File, library: &str) -> io::Result<Child> {
        let (name, arguments) = program.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
        let hub = std::process::id();
        let mut command = Command::new(name);
        command.args(arguments);
        command.env(HUB_VARIABLE, format!("/proc/{hub}/fd/{}", memory.as_raw_fd()));
        command.env(RANK_VARIABLE, standing.rank.to_string());
        command.env("LD_PRELOAD", preloaded(library));
        // Nothing of a launcher above this run holds for its ranks.
        for (variable, _) in std::env::vars_os().filter(|(name, _)| is_of_launcher(name)) {
            command.env_remove(variable);
        }
        for (variable, number) in standing.variables(library) {
            command.env(variable, number.to_string());
        }
        if standing.rank > 0 {
            command.stdin(Stdio::null());
        }
        // SAFETY: between fork and exec only calls are made that are safe there.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // The hub may have ended before the signal was asked for.
                if libc::getppid() != hub as libc::pid_t { Err(io::Error::other("the hub has ended")) } else { Ok(()) }
            });
        }
        let child = command.spawn()?;
        Ok(Child {
            process: child.id() as libc::pid_t,
            seen: CHANGES.load(Ordering::SeqCst).wrapping_sub(1),
            end: None,
        })
    }

    /// The number of the process.
    pub fn process(&self) -> libc::pid_t {
        self.process
    }

    /// How the process has ended, if it has.
    pub fn ended(&mut self) -> Option<End> {
        let changes = CHANGES.load(Ordering::SeqCst);
        if self.end.is_none() && self.seen != changes {
            self.seen = changes;
            self.end = self.wait(libc::WNOHANG);
        }
        self.end
    }

    /// Waits until the process ends, unless somebody wants the run to end.
    pub fn finish(&mut self) -> Option<End> {
        while self.end.is_none() && !is_interrupted() {
            self.end = self.wait(0);
        }
        self.end
    }

    fn wait(&self, options: libc::c_int) -> Option<End> {
        let mut status = 0;
        // SAFETY: the status is written where it is told.
        let waited = unsafe { libc::waitpid(self.process, &raw mut status, options) };
        (waited == self.process).then(|| End::of(status))
    }

    /// Ends the process.
    pub fn kill(&mut self) {
        if self.end.is_none() {
            // SAFETY: the process was not waited for, so that its number is no other's.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
            while self.end.is_none() {
                self.end = self.wait(0);
                if self.end.is_none() && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
                    self.end = Some(End::Signalled(libc::SIGKILL));
                }
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What is loaded before all else, in the order in which functions are looked for.
///
/// What the user wants loaded may wrap functions of MPI (`PMPI_`), and comes before the library that has them. Another
/// library of MPI comes after it.
fn preloaded(library: &str) -> String {
    let wanted = std::env::var("LD_PRELOAD").unwrap_or_default();
    let (others, mut names): (Vec<&str>, Vec<&str>) =
        wanted.split([':', ' ']).filter(|name| !name.is_empty()).partition(|name| is_mpi(name));
    names.push(library);
    names.extend(others);
    names.join(":")
}

/// Whether a library is MPI itself, by its file's name.
fn is_mpi(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["libmpi.so", "libmpich.so", "libmpi_abi.so"].iter().any(|start| name.starts_with(start))
}
