//! Memory that one thread's kernels reuse from row to row.

use weft_simd::CACHE_LINE;

use super::scalar::Scalar;

/// Buffers of one thread.
#[derive(Debug)]
pub struct Scratch<T> {
    values: Vec<T>,
    pointers: Vec<*const T>,
    copied: Vec<*const T>,
}

/// Copies of rows, each of which is made once.
pub(super) struct Copies<'a, T> {
    copied: &'a mut Vec<*const T>,
    memory: *mut T,
    length: usize,
    most: usize,
}

impl<T: Scalar> Copies<'_, T> {
    /// The copy of a row, which is filled where there is none yet. There may be as many as there is memory for.
    #[inline(always)]
    pub(super) fn of(&mut self, row: *const T, fill: impl FnOnce(*mut T)) -> *const T {
        let known = self.copied.iter().position(|&other| other == row);
        let number = known.unwrap_or(self.copied.len());
        assert!(number < self.most, "there is memory for {} copies of rows", self.most);
        let copy = self.memory.wrapping_add(number * self.length);
        if known.is_none() {
            self.copied.push(row);
            fill(copy);
        }
        copy
    }
}

// SAFETY: the pointers are written before they are read within each call; nothing is shared.
unsafe impl<T: Send> Send for Scratch<T> {}

impl<T: Scalar> Scratch<T> {
    /// Empty; grows when it is used.
    pub fn new() -> Scratch<T> {
        Scratch { values: Vec::new(), pointers: Vec::new(), copied: Vec::new() }
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

    /// Memory for copies of at most so many rows, of `length` elements each; unspecified content.
    #[inline(always)]
    pub(super) fn copies(&mut self, most: usize, length: usize) -> Copies<'_, T> {
        if self.values.len() < most * length {
            self.values.resize(most * length, T::ZERO);
        }
        self.copied.clear();
        Copies { copied: &mut self.copied, memory: self.values.as_mut_ptr(), length, most }
    }
}

/// Elements that an allocation needs more so that a cache line begins where its elements do.
#[inline(always)]
pub(super) fn alignment<T>() -> usize {
    CACHE_LINE / size_of::<T>()
}

/// The first cache line of an allocation.
#[inline(always)]
pub(super) fn aligned<T>(start: *mut T) -> *mut T {
    start.wrapping_add(start.align_offset(CACHE_LINE))
}

/// Zeros, in huge pages where the system gives them on request and the array is large: numpy asks for its arrays too.
pub(super) fn array<T: Scalar>(length: usize) -> Vec<T> {
    let mut values: Vec<T> = Vec::with_capacity(length);
    if length * size_of::<T>() >= LARGE {
        weft_simd::advise_huge_pages(values.as_mut_ptr().cast(), length * size_of::<T>());
    }
    values.resize(length, T::ZERO);
    values
}

/// Bytes from which it is worth asking.
const LARGE: usize = 4 << 20;
