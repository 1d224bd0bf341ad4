//! What stands between Python and code that trusts what it is given: numbers of threads, the level of vector
//! instructions, memory that stays where it is, and Ctrl-C during long calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use numpy::npyffi::{PyArray_Check, objects::_PyArray_GET_ITEM_DATA};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyWeakrefReference};
use weft_kernels::Stop;
use weft_simd::MAX_THREADS;

use crate::errors::UsageError;

/// Calls that touch more bytes than this are done by a thread of their own, while the one that Python called on looks for
/// signals: they take tens of milliseconds at least, of which starting a thread is a hundredth at most.
const LONG: usize = 256 << 20;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// A number of threads that can be meant, and a level of instructions that the processor has. Raises UsageError.
pub fn checked_threads(threads: Option<usize>) -> PyResult<Option<usize>> {
    checked_level()?;
    match threads {
        Some(count) if !(1..=MAX_THREADS).contains(&count) => {
            Err(UsageError::new_err(format!("threads is {count}: expected 1 to {MAX_THREADS}")))
        }
        _ => Ok(threads),
    }
}

/// Raises UsageError where the environment asks for vector instructions that there are not.
#[inline]
pub fn checked_level() -> PyResult<()> {
    static FINE: OnceLock<()> = OnceLock::new();
    if FINE.get().is_none() {
        weft_simd::chosen().map_err(|error| UsageError::new_err(error.to_string()))?;
        let _ = FINE.set(());
    }
    Ok(())
}

/// Asks whether the system would give so many bytes, of elements of some size; what is taken afterwards where it would not
/// ends the process. Raises MemoryError.
pub fn check_memory(factors: impl IntoIterator<Item = usize>, what: &str) -> PyResult<()> {
    let bytes = factors.into_iter().try_fold(1_usize, |product, factor| product.checked_mul(factor));
    let there = bytes.is_some_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if there { Ok(()) } else { Err(PyMemoryError::new_err(format!("there is no memory for {what}"))) }
}

/// Keeps the memory of arrays where it is. numpy's arrays can be resized in place whoever refers to their memory
/// (`x.resize(n, refcheck=False)`), but not while there is a weak reference to them.
pub struct Pinned {
    _references: Vec<Py<PyWeakrefReference>>,
}

impl Pinned {
    /// Of these objects; those that know no weak references are not numpy's, and watch over their buffers themselves.
    pub fn new<'a, 'py: 'a>(objects: impl IntoIterator<Item = &'a Bound<'py, PyAny>>) -> Pinned {
        let mut references = Vec::new();
        for object in objects {
            let mut held = object.clone();
            loop {
                if let Ok(reference) = PyWeakrefReference::new(&held) {
                    references.push(reference.unbind());
                }
                match owner(&held) {
                    Some(owner) => held = owner,
                    None => break,
                }
            }
        }
        Pinned { _references: references }
    }
}

/// Whose memory an array looks into: another array's, directly or by way of a memoryview.
fn owner<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = object.py();
    // SAFETY: the object is alive and this thread is attached.
    if unsafe { PyArray_Check(py, object.as_ptr()) } == 0 {
        return object.cast::<PyMemoryView>().ok()?.getattr("obj").ok().filter(|owner| !owner.is_none());
    }
    // SAFETY: it is an array; its base is an object that it keeps alive, or null.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, (*_PyArray_GET_ITEM_DATA(object.as_ptr().cast())).base) }
}

/// Looks for signals now and then in a loop on the thread that Python called on.
pub struct Signals {
    looked: Instant,
    error: Option<PyErr>,
}

impl Signals {
    /// None so far.
    pub fn new() -> Signals {
        Signals { looked: Instant::now(), error: None }
    }

    /// Whether no signal's exception wants the loop to end.
    pub fn goes_on(&mut self) -> bool {
        if self.error.is_none() && self.looked.elapsed() >= LOOK {
            self.error = Python::attach(|py| py.check_signals()).err();
            self.looked = Instant::now();
        }
        self.error.is_none()
    }

    /// Raises the signal's exception, if there was one.
    pub fn raised(self) -> PyResult<()> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Does what touches so many bytes without holding up other threads of Python. Long work is given up when a signal asks for
/// that, and its exception raised: KeyboardInterrupt after Ctrl-C.
pub fn detached<R: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce(Stop<'_>) -> R + Send) -> PyResult<R> {
    if bytes < LONG {
        return Ok(py.detach(|| work(Stop::NEVER)));
    }
    let flag = AtomicBool::new(false);
    let (result, signal) = py.detach(|| watched(&flag, work));
    match signal {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Does the work on another thread, and sets the flag when a signal's exception wants the call to end. Where the system
/// gives no thread the work is done here, and signals wait.
fn watched<R: Send>(flag: &AtomicBool, work: impl FnOnce(Stop<'_>) -> R + Send) -> (R, Option<PyErr>) {
    let pending = Mutex::new(Some(work));
    let take_pending = || pending.lock().unwrap_or_else(PoisonError::into_inner).take();
    let done = std::thread::scope(|scope| {
        let (end, ended) = sync_channel::<()>(1);
        let worker = Builder::new().spawn_scoped(scope, move || {
            // Dropped when the work is done, also by a panic, which is what the other side waits for.
            let _end = end;
            take_pending().map(|work| work(Stop::when(flag)))
        });
        let worker = worker.ok()?;
        let mut signal = None;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
            if signal.is_none()
                && let Err(error) = Python::attach(|py| py.check_signals())
            {
                flag.store(true, Ordering::Relaxed);
                signal = Some(error);
            }
        }
        let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Some((result, signal))
    });
    done.unwrap_or_else(|| {
        let work = pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        (work.expect("no thread has taken it")(Stop::NEVER), None)
    })
}
