//! Ranks that run by themselves for long without a call: the others go on beside them.
//!
//! The rank whose turn it is, is waited for: what it calls comes at its clock, before all that the others do later. But a
//! program may wait there for what another rank does outside of MPI, such as to set a flag in memory or to write a file,
//! and the other would never have its turn. So a rank that has not called for long is absent: the others have their
//! turns, and its next call comes at the time that they have reached by then. It may have waited that long for them.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use weft_sim::SimComm;

use super::children;

/// How long a rank that has been absent before runs without a call before it is so again: it waits, and may do that again
/// and again.
const LATER_PATIENCE: Duration = Duration::from_millis(100);

/// While a rank is absent, a rank that has not been is waited for this part of the time: both may wait for each other, and
/// for ranks that have no turn before. What all wait for is the sum over ranks, where each is waited for in full.
const BESIDE_ABSENT: u32 = 10;

/// Between two looks at a rank, at most.
const MAX_INTERVAL: Duration = Duration::from_secs(1);

/// Before its first call a program loads what it needs, which may take long on a busy computer.
const STARTING: u32 = 4;

/// A process that is asleep and used less than this part of the time waits, though it may look around now and then as event
/// loops do. One that computes and is kept waiting for a processor is not asleep.
const IDLE: u32 = 4;

/// As many times the patience is needed where others do nothing but look whether something has come.
const LOOKING: u32 = 10;

/// Between two looks at absent ranks for which the hub waits.
const INTERVAL: Duration = Duration::from_millis(1);

/// What a look of another rank takes here while a rank is absent, and where nothing else can happen: little virtual time
/// is to pass by looks, since it is not known that the absent rank waits.
const LOOK_TIME: Duration = Duration::from_millis(1);
const IDLE_LOOK_TIME: Duration = Duration::from_millis(50);

/// What is known of a rank that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// It has not called so far.
    Starting,
    /// It has been absent before.
    WasAbsent,
    /// It has not, and others are.
    BesideAbsent,
    /// It has called, and no rank is absent.
    Called,
}

/// How long a rank has run without a call.
#[derive(Debug)]
pub struct Patience {
    process: libc::pid_t,
    limit: Duration,
    /// The process's time at the look before, and what it has spent since the first.
    before: Option<Duration>,
    spent: Duration,
}

impl Patience {
    /// With a rank's process, which is absent after so long without a call: processor time, and time for which it sleeps.
    pub fn new(process: libc::pid_t, limit: Duration, history: History) -> Patience {
        let limit = match history {
            History::Starting => limit.saturating_mul(STARTING),
            History::WasAbsent => LATER_PATIENCE.min(limit),
            History::BesideAbsent => limit / BESIDE_ABSENT,
            History::Called => limit,
        };
        Patience { process, limit, before: None, spent: Duration::ZERO }
    }

    /// Between two looks.
    pub fn interval(&self) -> Duration {
        (self.limit / 5).min(MAX_INTERVAL)
    }

    /// Looks at the process, an interval after the look before; whether others are to go on, who can do something, or
    /// else only look.
    pub fn is_over(&mut self, others_do: impl FnOnce() -> bool) -> bool {
        let Some(time) = processor_time(self.process) else { return false };
        if let Some(before) = self.before.replace(time) {
            let used = time.saturating_sub(before);
            self.spent += used;
            if used < self.interval() / IDLE && is_asleep(self.process) {
                self.spent += self.interval();
            }
        }
        self.spent >= self.limit && (others_do() || self.spent >= self.limit.saturating_mul(LOOKING))
    }
}

/// The processor time of a process with all its threads.
fn processor_time(process: libc::pid_t) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write where they are told.
    let is_known = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    is_known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Whether a process waits for something that the system gives it.
fn is_asleep(process: libc::pid_t) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program, in brackets, may contain anything.
    status.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('S'))
}

/// Whether the process of an absent rank has called or ended.
type HasNews = Box<dyn Fn() -> bool>;

/// The ranks that are absent.
#[derive(Default)]
pub struct Absent(RefCell<Vec<(SimComm, HasNews)>>);

impl Absent {
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub fn add(&self, endpoint: SimComm, has_news: impl Fn() -> bool + 'static) {
        self.0.borrow_mut().push((endpoint, Box::new(has_news)));
    }

    /// Makes those ready whose process has called or ended; whether there were any.
    fn bring_back(&self) -> bool {
        let mut ranks = self.0.borrow_mut();
        let before = ranks.len();
        ranks.retain(|(endpoint, has_news)| {
            let is_back = has_news();
            if is_back {
                endpoint.make_ready();
            }
            !is_back
        });
        ranks.len() < before
    }

    /// As [`Absent::bring_back`]; if `waits`, until there are some, until `other` has something to do, or until the run
    /// shall end.
    pub fn wait(&self, waits: bool, other: impl Fn() -> bool) {
        while !self.bring_back() && !other() && waits && !children::is_interrupted() {
            std::thread::sleep(INTERVAL);
        }
    }

    /// A rank that is not absent looks in vain: takes time if others are, unless one comes back.
    pub fn delay_look(&self, others_do: impl FnOnce() -> bool) {
        if self.is_empty() {
            return;
        }
        let end = Instant::now() + if others_do() { LOOK_TIME } else { IDLE_LOOK_TIME };
        while Instant::now() < end && !self.bring_back() && !children::is_interrupted() {
            std::thread::sleep(INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_waited_for_by_what_is_known_of_it() {
        let limit = |history| Patience::new(1, Duration::from_secs(20), history).limit.as_secs_f64();
        let histories = [History::Starting, History::Called, History::BesideAbsent, History::WasAbsent];
        assert_eq!(histories.map(limit), [80.0, 20.0, 2.0, 0.1]);
    }
}
