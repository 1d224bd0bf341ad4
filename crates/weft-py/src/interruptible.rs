//! Long work that Ctrl-C ends, whatever it is doing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use weft_base::{Interrupt, memory};

use crate::errors::{RunError, usage};

/// Time between two looks at signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);
/// How long what was interrupted may take to end by itself, and to say what it was doing.
const GRACE: Duration = Duration::from_millis(1000);
/// The same for a rank of an MPI job, whose state the first rank asks for, on processors that may have other work.
pub const RANK_GRACE: Duration = Duration::from_secs(5);
/// Stack of the thread that works, as the first thread of a process has it.
const STACK: usize = 8 << 20;
/// Stack of one that works on terms of the language, which are nested as deep as its parser allows.
const DEEP_STACK: usize = 64 << 20;
/// What a thread takes beside its stack, and small results take that are not estimated.
const BESIDE_STACK: usize = 8 << 20;

/// What the thread that works says.
enum Message<P, T> {
    Progress(P),
    Result(T),
}

/// Does something in a thread of its own while Python's thread looks at signals. Ctrl-C sets `interrupt`; what has not ended
/// soon after that, or when Ctrl-C comes again, is left to itself, and KeyboardInterrupt is raised: it may wait for input, or
/// be in the middle of something that does not look. A result that comes in time is kept.
///
/// Raises UsageError where there is no memory for a thread, RunError where the system gives none, and for a defect of weft;
/// what a signal handler raises.
pub fn interruptibly<T: Send + 'static>(
    py: Python<'_>,
    interrupt: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (value, _) = supervised(py, interrupt, DEEP_STACK, |_: &dyn Fn(())| work(), |()| Ok(()))?;
    Ok(value)
}

/// As [`interruptibly`], for work that asks an [`Interrupt`] and whose result is worth nothing when it was interrupted.
///
/// Raises as that does, and KeyboardInterrupt also where the work ended by itself.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> T + Send + 'static,
) -> PyResult<T> {
    match with_progress(py, |interrupt, _: &dyn Fn(())| work(interrupt), |()| Ok(()))? {
        (_, Some(raised)) => Err(raised),
        (value, None) => Ok(value),
    }
}

/// As [`interruptibly`], for work that asks an [`Interrupt`] and says how far it is, which `show` is called with on Python's
/// thread. A KeyboardInterrupt that is raised there counts as one from a signal. With the result comes what was raised.
pub fn with_progress<P: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt, &dyn Fn(P)) -> T + Send + 'static,
    show: impl FnMut(P) -> PyResult<()>,
) -> PyResult<(T, Option<PyErr>)> {
    let flag = Arc::new(AtomicBool::new(false));
    let asked = flag.clone();
    let work = move |tell: &dyn Fn(P)| {
        let interrupt = Interrupt::new(move || asked.load(Ordering::Relaxed));
        work(&interrupt, tell)
    };
    supervised(py, &flag, STACK, work, show)
}

fn supervised<P: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    interrupt: &AtomicBool,
    stack: usize,
    work: impl FnOnce(&dyn Fn(P)) -> T + Send + 'static,
    mut show: impl FnMut(P) -> PyResult<()>,
) -> PyResult<(T, Option<PyErr>)> {
    // Where a thread is all that can be had, its first allocation would end the process.
    memory::require((stack + BESIDE_STACK) as u64, "a thread to work in", "raise the limit, or free some")
        .map_err(usage)?;
    let (sender, receiver) = channel();
    let working = thread::Builder::new()
        .name("weft".to_owned())
        .stack_size(stack)
        .spawn(move || {
            // Nobody listens any more where it was left to itself.
            let tell = |progress| drop(sender.send(Message::Progress(progress)));
            let value = work(&tell);
            let _ = sender.send(Message::Result(value));
        })
        .map_err(|error| RunError::new_err(format!("the system gives no thread to work in: {error}")))?;
    let mut interrupted: Option<(Instant, PyErr)> = None;
    // A receiver of this thread only; the closure that waits runs on this very thread.
    let receiver = Mutex::new(receiver);
    loop {
        let message = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv_timeout(BETWEEN_SIGNALS)
        });
        let shown = match message {
            Ok(Message::Result(value)) => return Ok((value, interrupted.map(|(_, raised)| raised))),
            // What was on its way when the interruption came would count as another one where showing it raises.
            Ok(Message::Progress(_)) if interrupted.is_some() => Ok(()),
            Ok(Message::Progress(progress)) => show(progress),
            Err(RecvTimeoutError::Disconnected) => return Err(defect(&py.detach(|| working.join()))),
            Err(RecvTimeoutError::Timeout) => Ok(()),
        };
        if let Err(error) = shown.and_then(|()| py.check_signals()) {
            interrupt.store(true, Ordering::Relaxed);
            if interrupted.is_some() || !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return Err(error);
            }
            interrupted = Some((Instant::now(), error));
        }
        if let Some((_, raised)) = interrupted.take_if(|(since, _)| since.elapsed() > GRACE) {
            return Err(raised);
        }
    }
}

/// What a thread that ended without a result is reported as.
fn defect(joined: &thread::Result<()>) -> PyErr {
    let message = joined
        .as_ref()
        .err()
        .and_then(|panic| panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()));
    let message = message.unwrap_or("it ended without a result");
    RunError::new_err(format!("a defect of weft: {message}"))
}
