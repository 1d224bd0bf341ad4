//! How a call is done: on how many threads, and until when.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a call is to be given up, which whoever started it says from another thread.
///
/// Long calls look at it every few microseconds to milliseconds. What they were to write holds anything afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop<'a>(Option<&'a AtomicBool>);

impl<'a> Stop<'a> {
    /// The call is done to its end.
    pub const NEVER: Stop<'static> = Stop(None);

    /// The call is given up once the flag is set.
    pub fn when(flag: &'a AtomicBool) -> Stop<'a> {
        Stop(Some(flag))
    }

    /// Whether to give up.
    #[inline(always)]
    pub fn is_requested(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// How a call is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution<'a> {
    /// How many threads it may use; None chooses by size.
    pub threads: Option<usize>,
    /// Until when.
    pub stop: Stop<'a>,
}

impl From<Option<usize>> for Execution<'_> {
    fn from(threads: Option<usize>) -> Self {
        Execution { threads, stop: Stop::NEVER }
    }
}
