//! Stores past the caches, for outputs that are larger than those.

use super::super::shift::last_level_cache;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Whether what a call touches is so large that its output should not go through the caches.
pub(super) fn passes_caches(bytes: usize) -> bool {
    bytes > last_level_cache()
}

/// Elements before the first one that begins a line; 0 where none does.
pub(super) fn before_line(pointer: *const u8, item: usize) -> usize {
    let bytes = (LINE - pointer as usize % LINE) % LINE;
    if bytes.is_multiple_of(item) { bytes / item } else { 0 }
}

/// Copies bytes, full lines of the target past the caches. [`fence`] is needed before others read them.
///
/// # Safety
///
/// `source` is readable and `target` writable for `length` bytes, and the two do not overlap.
#[inline(always)]
pub(super) unsafe fn store_past_caches(source: *const u8, target: *mut u8, length: usize) {
    let head = ((LINE - target as usize % LINE) % LINE).min(length);
    let lines = (length - head) / LINE;
    let tail = length - head - lines * LINE;
    // SAFETY: all within `length` bytes, as the caller vouches; lines are aligned.
    unsafe {
        if head > 0 {
            std::ptr::copy_nonoverlapping(source, target, head);
        }
        store_lines(source.add(head), target.add(head), lines);
        if tail > 0 {
            std::ptr::copy_nonoverlapping(source.add(length - tail), target.add(length - tail), tail);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn store_lines(source: *const u8, target: *mut u8, lines: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let (source, target) = (source.cast::<__m128i>(), target.cast::<__m128i>());
    for quarter in 0..4 * lines {
        // SAFETY: the caller's; every x86-64 has these.
        unsafe { _mm_stream_si128(target.add(quarter), _mm_loadu_si128(source.add(quarter))) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn store_lines(source: *const u8, target: *mut u8, lines: usize) {
    // SAFETY: the caller's.
    unsafe { std::ptr::copy_nonoverlapping(source, target, lines * LINE) };
}

/// Makes stores past the caches visible to others.
#[inline(always)]
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has it.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// Room in the first-level cache for a block of results.
#[repr(C, align(64))]
pub(super) struct Scratch<const BYTES: usize>(std::mem::MaybeUninit<[u8; BYTES]>);

impl<const BYTES: usize> Scratch<BYTES> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self(std::mem::MaybeUninit::uninit())
    }

    #[inline(always)]
    pub(super) fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
