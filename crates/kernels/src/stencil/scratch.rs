//! Memory that one thread's kernels reuse from row to row.

use super::element::Element;

/// Buffers of one thread.
#[derive(Debug)]
pub struct Scratch<T> {
    values: Vec<T>,
    row: Vec<T>,
    pointers: Vec<*const T>,
}

// SAFETY: the pointers are written before they are read within each call; nothing is shared.
unsafe impl<T: Send> Send for Scratch<T> {}

impl<T: Element> Scratch<T> {
    /// Empty; grows when it is used.
    pub fn new() -> Scratch<T> {
        Scratch { values: Vec::new(), row: Vec::new(), pointers: Vec::new() }
    }

    /// `count` vectors of `lanes` elements, each a pointer to memory that may be written; unspecified content.
    #[inline(always)]
    pub(super) fn vectors(&mut self, count: usize, lanes: usize) -> &[*const T] {
        if self.values.len() < count * lanes {
            self.values.resize(count * lanes, T::ZERO);
        }
        self.pointers.clear();
        let start = self.values.as_mut_ptr();
        // SAFETY: within `values`.
        self.pointers.extend((0..count).map(|number| unsafe { start.add(number * lanes) }.cast_const()));
        &self.pointers
    }

    /// A row of `length` elements that begins with a cache line; unspecified content.
    #[inline(always)]
    pub(super) fn row(&mut self, length: usize) -> *mut T {
        let room = CACHE_LINE / size_of::<T>();
        if self.row.len() < length + room {
            self.row.resize(length + room, T::ZERO);
        }
        let start = self.row.as_mut_ptr();
        start.wrapping_add(start.align_offset(CACHE_LINE))
    }
}

const CACHE_LINE: usize = 64;

/// Zeros, in huge pages where the system gives them on request and the array is large: numpy asks for its arrays too.
pub(super) fn array<T: Element>(length: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(length);
    #[cfg(target_os = "linux")]
    if length * size_of::<T>() >= LARGE {
        let start = (values.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let bytes = (length * size_of::<T>()).saturating_sub(PAGE);
        // SAFETY: whole pages of memory that is ours; the advice changes nothing of what is there, and may be refused.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes / PAGE * PAGE, libc::MADV_HUGEPAGE) };
    }
    values.resize(length, T::ZERO);
    values
}

/// Bytes from which it is worth asking, and those of an ordinary page.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;
#[cfg(target_os = "linux")]
const PAGE: usize = 4096;
