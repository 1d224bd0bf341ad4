//! Long work that Ctrl-C ends, whatever it is doing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::RunError;

/// Time between two looks at signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);
/// How long what was interrupted may take to end by itself, and to say what it was doing.
const GRACE: Duration = Duration::from_millis(1000);
/// Stack of the thread that works: terms of the language are nested as deep as its parser allows.
const STACK: usize = 64 << 20;

/// Does something in a thread of its own while Python's thread looks at signals. Ctrl-C sets `interrupt`; what has not ended
/// soon after that, or when Ctrl-C comes again, is left to itself, and KeyboardInterrupt is raised: it may wait for input, or be in
/// the middle of something that does not look.
///
/// Raises RunError where the system gives no thread, and for a defect of weft; what a signal handler raises.
pub fn interruptibly<T: Send + 'static>(
    py: Python<'_>,
    interrupt: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, told) = channel();
    let working = thread::Builder::new()
        .name("fghc".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody listens any more where it was left to itself.
            let _ = tell.send(work());
        })
        .map_err(|error| RunError::new_err(format!("the system gives no thread to work in: {error}")))?;
    let mut interrupted: Option<Instant> = None;
    // A receiver of this thread only; the closure that waits runs on this very thread.
    let told = std::sync::Mutex::new(told);
    loop {
        let came = py.detach(|| {
            let told = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            told.recv_timeout(BETWEEN_SIGNALS)
        });
        match came {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Disconnected) => {
                let panic = py.detach(|| working.join()).err();
                let message = panic.as_ref().and_then(|panic| {
                    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied())
                });
                let message = message.unwrap_or("it ended without a result");
                return Err(RunError::new_err(format!("a defect of weft: {message}")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            interrupt.store(true, Ordering::Relaxed);
            if interrupted.is_some() || !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return Err(error);
            }
            interrupted = Some(Instant::now());
        }
        if interrupted.is_some_and(|since| since.elapsed() > GRACE) {
            return Err(PyKeyboardInterrupt::new_err(()));
        }
    }
}
