//! The thread that looks now and then at what its rank is doing.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::activity::{Activity, Doing, Snapshot};

/// The time between two looks: rare enough not to be seen in timings, often enough for people.
const STEP: Duration = Duration::from_millis(250);

/// What a [`Watcher`] has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// The rank has been at this for `seconds`.
    Long { doing: Doing, counter: u64, seconds: f64 },
    /// What was told to be long is over.
    Over { counter: u64 },
}

/// Finds calls that take long; the part of the watchdog without a clock or a thread.
#[derive(Debug)]
pub struct Watcher {
    /// A call that takes longer than this is long, in seconds.
    threshold: f64,
    /// The call under way and when it was first seen.
    current: Option<(u64, f64)>,
    /// The call that was told to be long.
    announced: Option<u64>,
}

impl Watcher {
    pub fn new(threshold: f64) -> Watcher {
        Watcher { threshold, current: None, announced: None }
    }

    /// A look at `now` seconds.
    pub fn look(&mut self, now: f64, snapshot: Snapshot) -> Option<Notice> {
        let Snapshot { counter, doing } = snapshot;
        let over = self.announced.take_if(|announced| *announced != counter).map(|_| Notice::Over { counter });
        let since = match self.current {
            Some((seen, since)) if seen == counter => since,
            _ => now,
        };
        self.current = Some((counter, since));
        let seconds = now - since;
        if doing != Doing::Running && self.announced.is_none() && seconds >= self.threshold {
            self.announced = Some(counter);
            return Some(Notice::Long { doing, counter, seconds });
        }
        over
    }
}

/// The running thread; it ends when this is dropped.
pub struct Watchdog {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts to watch; `look` is called in the watchdog's thread now and then, with the seconds since the start and what
    /// the rank is doing.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        activity: Arc<Activity>,
        mut look: impl FnMut(f64, Snapshot) + Send + 'static,
    ) -> std::io::Result<Watchdog> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = stop.clone();
        let watch = move || {
            let start = Instant::now();
            while !wait(&stopped) {
                look(start.elapsed().as_secs_f64(), activity.snapshot());
            }
        };
        let thread = std::thread::Builder::new().name("weft-watchdog".into()).spawn(watch)?;
        Ok(Watchdog { stop, thread: Some(thread) })
    }
}

/// Waits for the next look; `true` when the watchdog is to end.
fn wait(stop: &(Mutex<bool>, Condvar)) -> bool {
    let (stopped, condition) = stop;
    let stopped = stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match condition.wait_timeout_while(stopped, STEP, |stopped| !*stopped) {
        Ok((stopped, _)) => *stopped,
        Err(poisoned) => *poisoned.into_inner().0,
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A watchdog that panicked has said so; there is nothing left to do about it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_comm::Call;

    fn calling(counter: u64) -> Snapshot {
        let doing = Doing::Calling { call: Call::Unknown, collective: None, moving_bytes: 0 };
        Snapshot { counter, doing }
    }

    #[test]
    fn a_long_call_is_told_once_and_its_end_too() {
        let mut watcher = Watcher::new(5.0);
        assert_eq!(watcher.look(0.0, calling(1)), None);
        assert_eq!(watcher.look(4.9, calling(1)), None);
        assert!(matches!(watcher.look(5.0, calling(1)), Some(Notice::Long { counter: 1, seconds: 5.0, .. })));
        assert_eq!(watcher.look(60.0, calling(1)), None);
        assert_eq!(watcher.look(61.0, calling(3)), Some(Notice::Over { counter: 3 }));
        assert!(matches!(watcher.look(66.0, calling(3)), Some(Notice::Long { counter: 3, .. })));
    }

    #[test]
    fn many_short_calls_and_long_computation_are_not_long_calls() {
        let mut watcher = Watcher::new(5.0);
        for look in 0..100 {
            assert_eq!(watcher.look(f64::from(look), calling(2 * look as u64 + 1)), None);
        }
        for look in 100..200 {
            assert_eq!(watcher.look(f64::from(look), Snapshot { counter: 500, doing: Doing::Running }), None);
        }
    }

    #[test]
    fn the_thread_ends_at_once() {
        let start = Instant::now();
        drop(Watchdog::start(Arc::default(), |_, _| ()).unwrap());
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
