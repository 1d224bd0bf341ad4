//! Non-temporal stores, for outputs that are larger than those.

pub(super) use weft_simd::{CACHE_LINE as LINE, store_fence as fence};
use weft_simd::{Level, last_level_cache, level, prefetch, prefetch_to_second};

/// Whether what a call touches is so large that its output should not go through the caches.
pub(super) fn passes_caches(bytes: usize) -> bool {
    #[cfg(test)]
    if STREAMING.get() {
        return true;
    }
    bytes > last_level_cache()
}

#[cfg(test)]
thread_local! {
    /// Small outputs are written by non-temporal stores too.
    static STREAMING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
pub(super) fn with_streaming<R>(always: bool, work: impl FnOnce() -> R) -> R {
    STREAMING.set(always);
    let result = work();
    STREAMING.set(false);
    result
}

/// Elements before the first one that begins a line; 0 where none does.
pub(super) fn before_line(pointer: *const u8, item: usize) -> usize {
    let bytes = (LINE - pointer as usize % LINE) % LINE;
    if bytes.is_multiple_of(item) { bytes / item } else { 0 }
}

/// What will be read next, fetched while lines are stored: memory is read all the time then, and not only between stores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    streams: [Stream; 3],
    hint: Hint,
}

/// Which cache lines are fetched into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    First,
    Second,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    next: *const u8,
    /// Bytes that are fetched for each line that is stored.
    pace: usize,
    due: usize,
}

impl Stream {
    const NOTHING: Self = Self { next: std::ptr::null(), pace: 0, due: 0 };
}

impl Ahead {
    /// Nothing is fetched.
    pub(super) const NOTHING: Self = Self { streams: [Stream::NOTHING; 3], hint: Hint::First };

    /// Up to three arrays, from these addresses on, of which so many bytes are read for each line that is stored. They
    /// need not be readable.
    pub(super) fn new(arrays: &[(*const u8, usize)], hint: Hint) -> Self {
        let mut ahead = Self { hint, ..Self::NOTHING };
        for (stream, &(next, pace)) in ahead.streams.iter_mut().zip(arrays) {
            *stream = Stream { next, pace, due: 0 };
        }
        ahead
    }

    /// A line is being stored, or whatever else the pace is counted by.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        for stream in &mut self.streams {
            stream.due += stream.pace;
            while stream.due >= LINE {
                stream.due -= LINE;
                match self.hint {
                    Hint::First => prefetch(stream.next),
                    Hint::Second => prefetch_to_second(stream.next),
                }
                stream.next = stream.next.wrapping_add(LINE);
            }
        }
    }
}

/// Copies bytes, full lines of the target by non-temporal stores. [`fence`] is needed before others read them.
///
/// # Safety
///
/// `source` is readable and `target` writable for `length` bytes, and the two do not overlap.
#[inline(always)]
pub(super) unsafe fn store_past_caches(source: *const u8, target: *mut u8, length: usize) {
    // SAFETY: `source` is readable and `target` writable for `length` bytes, and they do not overlap (this function's
    // condition).
    unsafe { store_and_fetch(source, target, length, &mut { Ahead::NOTHING }) }
}

/// As [`store_past_caches`], while what is read next is fetched.
///
/// # Safety
///
/// As there.
#[inline(always)]
pub(super) unsafe fn store_and_fetch(source: *const u8, target: *mut u8, length: usize, ahead: &mut Ahead) {
    let head = ((LINE - target as usize % LINE) % LINE).min(length);
    let lines = (length - head) / LINE;
    let tail = length - head - lines * LINE;
    // SAFETY: `source` is readable and `target` writable for `length` bytes (this function's condition), of which head,
    // lines and tail are the parts; the lines begin at a line of the target.
    unsafe {
        if head > 0 {
            std::ptr::copy_nonoverlapping(source, target, head);
        }
        store_lines(source.add(head), target.add(head), lines, ahead);
        if tail > 0 {
            std::ptr::copy_nonoverlapping(source.add(length - tail), target.add(length - tail), tail);
        }
    }
}

/// Copies so many lines; the target is aligned.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn store_lines(source: *const u8, target: *mut u8, lines: usize, ahead: &mut Ahead) {
    // SAFETY: `lines` lines are readable and writable and the target is aligned (conditions that `store_and_fetch` has
    // seen to), and the level says that the processor has AVX-512.
    unsafe {
        if level() == Level::Avx512 {
            store_lines_512(source, target, lines, ahead);
        } else {
            for line in 0..lines {
                ahead.advance();
                store_line(source.add(line * LINE), target.add(line * LINE));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn store_lines_512(source: *const u8, target: *mut u8, lines: usize, ahead: &mut Ahead) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for line in 0..lines {
        ahead.advance();
        // SAFETY: the line is one of those that are readable and writable, and the target is aligned to lines
        // (conditions that `store_and_fetch` has seen to).
        unsafe {
            _mm512_stream_si512(target.add(line * LINE).cast(), _mm512_loadu_si512(source.add(line * LINE).cast()))
        };
    }
}

/// Copies one line by non-temporal stores; the target is aligned.
///
/// # Safety
///
/// `source` is readable and `target` writable for a line, and the two do not overlap.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn store_line(source: *const u8, target: *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let (source, target) = (source.cast::<__m128i>(), target.cast::<__m128i>());
    for quarter in 0..4 {
        // SAFETY: `source` is readable and `target` writable for a line, and aligned (this function's conditions), of
        // which this is a quarter; every x86-64 has these instructions.
        unsafe { _mm_stream_si128(target.add(quarter), _mm_loadu_si128(source.add(quarter))) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn store_lines(source: *const u8, target: *mut u8, lines: usize, _: &mut Ahead) {
    // SAFETY: `lines` lines are readable and writable (conditions that `store_and_fetch` has seen to), and do not
    // overlap.
    unsafe { std::ptr::copy_nonoverlapping(source, target, lines * LINE) };
}

/// Copies one line.
///
/// # Safety
///
/// `source` is readable and `target` writable for a line, and the two do not overlap.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) unsafe fn store_line(source: *const u8, target: *mut u8) {
    // SAFETY: `source` is readable and `target` writable for a line, and the two do not overlap (this function's
    // condition).
    unsafe { std::ptr::copy_nonoverlapping(source, target, LINE) };
}

/// A buffer in the first-level cache for a block of results.
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
