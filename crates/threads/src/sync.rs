//! What ranks synchronise with: the standard library, or the model checker that stands in for it (`--cfg loom`).
//!
//! Lanes, mailboxes and fences name these types only, so that the model checker runs the code that ranks run.

#[cfg(not(all(loom, test)))]
mod chosen {
    pub use std::sync::atomic::{AtomicBool, AtomicU64, fence};
    pub use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};

    /// A value that is changed through shared references; whoever does so sees to it that nobody else looks.
    pub struct SharedCell<T>(std::cell::UnsafeCell<T>);

    impl<T> SharedCell<T> {
        pub fn new(value: T) -> SharedCell<T> {
            SharedCell(std::cell::UnsafeCell::new(value))
        }

        /// Calls `change` with a pointer to the value.
        #[inline(always)]
        pub fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
            change(self.0.get())
        }
    }

    /// Between an announcement and the look at another rank's: both are sequentially consistent, which needs nothing more.
    #[inline(always)]
    pub fn between_sequential_accesses() {}
}

#[cfg(all(loom, test))]
mod chosen {
    pub use loom::cell::UnsafeCell as SharedCell;
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, fence};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    use std::sync::atomic::Ordering;

    /// The checker takes sequentially consistent accesses for acquiring and releasing ones; fences it knows.
    pub fn between_sequential_accesses() {
        fence(Ordering::SeqCst);
    }

    /// The standard library's, whose synchronisation the checker sees by a flag beside it. Only one thread ever sets it.
    pub struct OnceLock<T> {
        value: std::sync::OnceLock<T>,
        is_set: AtomicBool,
    }

    impl<T> OnceLock<T> {
        pub fn new() -> OnceLock<T> {
            OnceLock { value: std::sync::OnceLock::new(), is_set: AtomicBool::new(false) }
        }

        pub fn get(&self) -> Option<&T> {
            if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
        }

        pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            let value = self.value.get_or_init(make);
            self.is_set.store(true, Ordering::Release);
            value
        }
    }
}

pub use chosen::*;
