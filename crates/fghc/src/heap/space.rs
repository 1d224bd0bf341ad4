//! A stretch of memory that words are allocated from, one after the other.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use super::word::Word;

/// Uninitialised words; what lies in them is up to the heap.
pub struct Space {
    start: NonNull<Word>,
    words: usize,
}

// A space is owned memory; nothing in it belongs to a thread.
// SAFETY: a space owns its memory, which is not bound to the thread that allocated it, and it is reached through this
// one owner.
unsafe impl Send for Space {}

impl Space {
    /// `None` when the system has no such amount of memory.
    pub fn new(words: usize) -> Option<Space> {
        let layout = Layout::array::<Word>(words.max(1)).ok()?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc(layout) };
        Some(Space { start: NonNull::new(start.cast())?, words: words.max(1) })
    }

    pub fn words(&self) -> usize {
        self.words
    }

    pub fn start(&self) -> *mut Word {
        self.start.as_ptr()
    }

    pub fn end(&self) -> *mut Word {
        // SAFETY: one past the end of the allocation.
        unsafe { self.start.as_ptr().add(self.words) }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let layout = Layout::array::<Word>(self.words).expect("was a layout when it was allocated");
        // SAFETY: allocated by `new` with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), layout) }
    }
}
