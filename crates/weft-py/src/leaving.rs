//! The end of a command whatever Python's thread is doing: when Ctrl-C comes a second time, or while that thread computes
//! in Rust for a rank.

use std::io::{ErrorKind, Read};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::{RunError, UsageError};

/// The exit code of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;
/// One press of the keys comes as several signals where whoever started the process passes its own on.
const ONE_PRESS: Duration = Duration::from_millis(20);
/// The same where a launcher passes a press on to its ranks, which MPICH's does once to each rank's group of processes and
/// once more to the rank itself, over a network at worst.
const ONE_PRESS_PASSED_ON: Duration = Duration::from_millis(250);
/// What is about to end is left to do so.
const ABOUT_TO_END: Duration = Duration::from_millis(20);

/// Files that are being written under another name, which are worth nothing to anyone before they are renamed.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is removed where the process ends in the middle of writing it.
pub struct Temporary<'a>(&'a Path);

impl<'a> Temporary<'a> {
    /// To be made before the file is.
    pub fn new(path: &'a Path) -> Temporary<'a> {
        begin(path.to_owned());
        Temporary(path)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        end(self.0);
    }
}

fn begin(path: PathBuf) {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner).push(path);
}

fn end(path: &Path) {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != path);
}

/// A file is being written that is to be removed where the process ends meanwhile.
#[pyfunction]
pub fn temporary_begins(path: PathBuf) {
    begin(path);
}

/// A file is no longer being written.
#[pyfunction]
pub fn temporary_ends(path: PathBuf) {
    end(&path);
}

/// Ends the process soon after Ctrl-C has come twice, whatever it is doing. `signals` is a socket, which is detached: to its
/// other end Python writes the numbers of signals (`signal.set_wakeup_fd`). Raises UsageError for anything else, RunError
/// where the system gives no thread.
#[pyfunction]
pub fn end_when_interrupted_twice(signals: &Bound<'_, PyAny>) -> PyResult<()> {
    watch(signals, |mut signals| {
        let mut first: Option<Instant> = None;
        while next_interrupt(&mut signals) == Some(true) {
            if first.get_or_insert_with(Instant::now).elapsed() > ONE_PRESS {
                thread::sleep(ABOUT_TO_END);
                leave();
            }
        }
    })
}

/// Sets `interrupt` when Ctrl-C comes to a rank, for work that must run on Python's thread. `signals` is detached, as above;
/// its other end is closed after the work. What has not ended after `grace`, or when Ctrl-C comes again, ends with the process.
///
/// Raises as above.
pub fn interrupt_by(signals: &Bound<'_, PyAny>, interrupt: Arc<AtomicBool>, grace: Duration) -> PyResult<()> {
    watch(signals, move |mut signals| {
        if next_interrupt(&mut signals) == Some(true) {
            interrupt.store(true, Ordering::Relaxed);
            if must_leave(&mut signals, grace) {
                leave();
            }
        }
    })
}

/// Whether Ctrl-C comes again within `grace`, or nothing ends until then.
fn must_leave(signals: &mut UnixStream, grace: Duration) -> bool {
    let first = Instant::now();
    loop {
        let left = grace.saturating_sub(first.elapsed());
        if left.is_zero() {
            return true;
        }
        if signals.set_read_timeout(Some(left)).is_err() {
            return false;
        }
        match next_interrupt(signals) {
            None => return false,
            Some(true) if first.elapsed() <= ONE_PRESS_PASSED_ON => {}
            Some(_) => return true,
        }
    }
}

fn watch(signals: &Bound<'_, PyAny>, work: impl FnOnce(UnixStream) + Send + 'static) -> PyResult<()> {
    let class = signals.py().import("socket")?.getattr("socket")?;
    if !signals.is_instance(&class)? {
        return Err(UsageError::new_err("signals must be a socket"));
    }
    let descriptor: RawFd = signals.call_method0("detach")?.extract()?;
    if descriptor < 0 {
        return Err(UsageError::new_err("signals is a socket that was closed or detached"));
    }
    // SAFETY: the socket had the descriptor, which is open, and has given it away.
    let signals = UnixStream::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let started = thread::Builder::new().name("weft-signals".to_owned()).spawn(move || work(signals));
    let refused = |error| RunError::new_err(format!("the system gives no thread to watch signals in: {error}"));
    started.map(drop).map_err(refused)
}

/// Waits for Ctrl-C: whether it has come or there was no more time; `None` once there will be none.
fn next_interrupt(signals: &mut UnixStream) -> Option<bool> {
    let mut number = [0];
    loop {
        match signals.read(&mut number) {
            Ok(0) => return None,
            Ok(_) if i32::from(number[0]) == libc::SIGINT => return Some(true),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(false),
            Err(_) => return None,
        }
    }
}

/// Ends the process without anything that Python or a library does at its end.
fn leave() -> ! {
    let temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporaries.iter() {
        let _ = std::fs::remove_file(path);
    }
    // SAFETY: it ends the process, and nothing else. The lock is still held, so that no file is renamed to its name that
    // was just removed, and none is begun.
    unsafe { libc::_exit(INTERRUPTED) }
}
