//! The thread that ends this process when those it belongs to are gone.
//!
//! A rank belongs to the launcher's process that started it, to the process that started the launcher and watches
//! ([`WATCHED_VARIABLE`]), if it is on this computer, and to the other ranks. Launchers end the
//! ranks of one that dies, but not all of them, not before MPI has started, and not when they are killed themselves.
//! Each rank watches one other, so that the effort does not grow with their number; ranks of other computers are left to
//! the launcher there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::abort::{Abort, write_error};
use crate::board::Board;
use crate::life::{self, ErrorStream, Process, State, Watched};

/// The time between two looks, in milliseconds.
const STEP: i32 = 250;
/// Looks at a stopped rank before the run is ended: a terminal stops and continues all ranks at one time, but not at the
/// same moment. Looks are counted, not seconds, for a rank that was stopped itself has seen nothing.
const MAX_LOOKS_AT_STOPPED: u32 = 40;
/// Looks at too few ranks before MPI has started until one counts as lost: a launcher may still be starting them.
const MAX_LOOKS_AT_MISSING: u32 = 12;
/// Looks until a rank ends that another rank's verdict has not ended.
const MAX_LOOKS_AFTER_VERDICT: u32 = 12;

const ADVICE: &str = "the run ends here; see its output above for what ended the process (memory, a signal, the \
                      program itself), and start it again";

/// What the guard shares with MPI's life in this process.
#[derive(Default)]
pub struct Shared {
    /// Set once MPI has started.
    pub abort: OnceLock<Abort>,
    /// Whether this rank has ended MPI in order: from then on others may do so too.
    pub over: AtomicBool,
}

/// The other ranks of this run on this computer.
pub struct Others {
    pub board: Arc<Board>,
    pub rank: usize,
    /// The ranks that the launcher has started, here and elsewhere.
    pub ranks: usize,
    /// Those here, where the launcher tells.
    pub here: Option<usize>,
}

/// The environment variable with which the process that starts the ranks says that it reads their reports and judges
/// them with a [`Diagnosis`](crate::Diagnosis): any value but the empty one. `HOST PID START` names that process, its
/// start in ticks since boot: ranks on the same computer end when it is gone.
pub const WATCHED_VARIABLE: &str = "WEFT_WATCHED";

/// The process that watches this run, of what [`WATCHED_VARIABLE`] says: `HOST PID START`.
/// `None` where it is on another computer, or not told.
pub fn watcher(value: &str, host: &str) -> Option<Process> {
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    let [at, pid, start] = words[..] else { return None };
    (at == host).then_some(Process { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

/// Has this process end when the one that watches its run, as the environment names it, or its launcher's is gone. For
/// what a launch starts, as early as possible: ranks, and processes without MPI.
pub fn guard_process() {
    let value = std::env::var(WATCHED_VARIABLE).unwrap_or_default();
    start(watcher(&value, &crate::launcher::host()), None, Arc::default());
}

/// Starts the guard of this process, which goes on until the process ends.
pub fn start(watcher: Option<Process>, others: Option<Others>, shared: Arc<Shared>) {
    let launcher = life::launcher();
    if watcher.is_none() && launcher.is_none() {
        return;
    }
    let parent = launcher.and_then(Process::parent);
    let errors = parent.filter(|parent| is_mpiexec(*parent) && others.is_some()).and_then(ErrorStream::of);
    let counts = Counts::default();
    let mut guard = Guard { watcher, launcher, parent, errors, others, shared, next: None, counts };
    // Without a thread nobody guards, as on systems where nothing is known of processes.
    let _ = std::thread::Builder::new().name(life::GUARD.into()).spawn(move || {
        // A launcher that hears of the same death ends this rank within a moment.
        life::run_first();
        loop {
            guard.look();
            guard.wait();
        }
    });
}

struct Guard {
    watcher: Option<Process>,
    launcher: Option<Process>,
    /// What started the launcher's process here: `mpiexec` itself, where that is on this computer.
    parent: Option<Process>,
    others: Option<Others>,
    shared: Arc<Shared>,
    /// Where `mpiexec` writes its errors: what a rank writes has to pass through processes that may be gone or stopped,
    /// or kill it before they have passed it on.
    errors: Option<ErrorStream>,
    /// The rank that this one watches.
    next: Option<(usize, Watched)>,
    counts: Counts,
}

/// Looks at which something was not as it should be.
#[derive(Default)]
struct Counts {
    stopped: u32,
    launcher_stopped: u32,
    missing: u32,
    claimed: u32,
}

fn is_mpiexec(process: Process) -> bool {
    process.name().starts_with("mpiexec")
}

impl Guard {
    fn wait(&mut self) {
        match &mut self.next {
            Some((_, next)) => next.wait(STEP),
            None => std::thread::sleep(std::time::Duration::from_millis(STEP as u64)),
        }
    }

    fn look(&mut self) {
        if self.watcher.is_some_and(|watcher| watcher.state() == State::Gone) {
            self.leave();
        }
        if let Some(launcher) = self.launcher {
            self.look_at_launcher(launcher);
        }
        self.look_at_others();
    }

    fn look_at_launcher(&mut self, launcher: Process) {
        let state = launcher.state();
        let is_stopped = state == State::Stopped && self.others.is_some();
        self.counts.launcher_stopped = if is_stopped { self.counts.launcher_stopped + 1 } else { 0 };
        let pid = launcher.pid;
        if state == State::Gone {
            self.say(&format!("the launcher's process {pid}, which started this rank, is gone; {ADVICE}"));
        } else if self.counts.launcher_stopped > MAX_LOOKS_AT_STOPPED {
            self.say(&format!(
                "the launcher's process {pid} is stopped (signal SIGSTOP or SIGTSTP) and is gone now; {ADVICE}"
            ));
            // SAFETY: sends a signal to the launcher of this run, which is the same process as when the run started.
            unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
        } else {
            return;
        }
        self.end_launcher();
        self.leave();
    }

    fn look_at_others(&mut self) {
        let (Some(others), Some(launcher)) = (&self.others, self.launcher) else { return };
        if self.shared.over.load(Ordering::Acquire) {
            self.next = None;
            return;
        }
        if others.board.is_claimed() {
            self.counts.claimed += 1;
            if self.counts.claimed > MAX_LOOKS_AFTER_VERDICT {
                self.leave();
            }
            return std::thread::sleep(std::time::Duration::from_millis(STEP as u64));
        }
        let Some((rank, next)) = &self.next else { return self.choose(launcher) };
        match next.state() {
            State::Lives => self.counts.stopped = 0,
            State::Stopped => {
                self.counts.stopped += 1;
                if self.counts.stopped > MAX_LOOKS_AT_STOPPED {
                    let (rank, pid) = (*rank, next.process.pid);
                    let signal = "is stopped (signal SIGSTOP or SIGTSTP)";
                    self.end(&format!("rank {rank}: the process {pid} {signal} and the others wait for it; {ADVICE}"));
                }
            }
            State::Gone if others.board.has_ended(*rank) => self.next = None,
            State::Gone => {
                let how = next.how().unwrap_or_else(|| "ended".to_owned());
                self.end(&format!("rank {rank}: the process {how} before the run was over; {ADVICE}"));
            }
        }
    }

    /// Finds the next rank to watch; before MPI has started also whether there are as many as there should be.
    fn choose(&mut self, launcher: Process) {
        let Some(others) = &self.others else { return };
        let ranks = life::ranks_under(launcher);
        let live = ranks.iter().filter(|(rank, _)| *rank != others.rank && !others.board.has_ended(*rank));
        let next = live.clone().find(|(rank, _)| *rank > others.rank).or(live.clone().next()).copied();
        let starts = self.shared.abort.get().is_none();
        if let Some(here) = others.here.filter(|here| starts && ranks.len() < *here) {
            self.counts.missing += 1;
            if self.counts.missing > MAX_LOOKS_AT_MISSING {
                let lost =
                    (0..others.ranks).find(|rank| here == others.ranks && ranks.iter().all(|(there, _)| there != rank));
                let lost = lost.map_or("one of the ranks".to_owned(), |rank| format!("rank {rank}"));
                self.end(&format!("{lost}: the process ended before it had started MPI; {ADVICE}"));
            }
            return;
        }
        self.counts.missing = 0;
        self.next = next.map(|(rank, process)| (rank, Watched::new(process, &others.board.pipe(rank))));
    }

    /// Hydra's `mpiexec` waits for ever where its own helper was killed.
    fn end_launcher(&self) {
        let Some(parent) = self.parent.filter(|parent| parent.state() != State::Gone) else { return };
        if is_mpiexec(parent) {
            // SAFETY: sends a signal to the launcher of this run, which is the same process as when the run started.
            unsafe { libc::kill(parent.pid as libc::pid_t, libc::SIGTERM) };
        }
    }

    /// Ends the whole run, and says why if no other rank has.
    fn end(&self, why: &str) -> ! {
        self.say(why);
        self.others.iter().for_each(|others| others.board.remove());
        match self.shared.abort.get() {
            Some(abort) => abort.now(),
            None => self.leave(),
        }
    }

    /// Says why the run ends, if no other rank has.
    fn say(&self, why: &str) {
        if !self.others.as_ref().is_some_and(|others| others.board.claim()) {
            return;
        }
        let text = format!("weft: {why}\n");
        if !self.errors.as_ref().is_some_and(|errors| errors.write(&text)) {
            write_error(&text);
        }
    }

    /// Ends this process, whose run is over.
    fn leave(&self) -> ! {
        self.others.iter().for_each(|others| others.board.remove());
        // SAFETY: ends the process.
        unsafe { libc::_exit(Abort::CODE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watcher_is_a_process_of_this_computer() {
        assert_eq!(watcher("vm 40 1234", "vm"), Some(Process { pid: 40, start: 1234 }));
        for value in ["1", "", "elsewhere 40 1234", "vm 40", "vm x 1", "vm 40 1234 5"] {
            assert_eq!(watcher(value, "vm"), None, "{value}");
        }
    }
}
