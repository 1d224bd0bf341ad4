//! Ctrl-C while Rust computes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use weft_base::Interrupt;

/// How often Python is asked whether there was a signal: often enough for people, too seldom to be felt.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Computes without Python's lock; `work` is told by its [`Interrupt`] when a signal has raised an exception, and returns
/// soon after. The exception comes with what it returns.
pub fn watched<T: Send>(py: Python<'_>, work: impl FnOnce(&Interrupt) -> T + Send) -> (T, Option<PyErr>) {
    py.detach(|| {
        let raised: Rc<RefCell<Option<PyErr>>> = Rc::default();
        let asked = Cell::new(Instant::now());
        let keep = raised.clone();
        let interrupt = Interrupt::new(move || {
            if keep.borrow().is_some() {
                return true;
            }
            if asked.get().elapsed() < ASKED_EVERY {
                return false;
            }
            asked.set(Instant::now());
            *keep.borrow_mut() = Python::attach(|py| py.check_signals().err());
            keep.borrow().is_some()
        });
        let found = work(&interrupt);
        (found, raised.take())
    })
}

/// As [`watched`], for work whose result is worth nothing when it was interrupted. Raises what the signal raised.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Interrupt) -> T + Send) -> PyResult<T> {
    match watched(py, work) {
        (_, Some(raised)) => Err(raised),
        (found, None) => Ok(found),
    }
}
