//! Writers: runs of destination bytes, put together from pieces.
//!
//! A non-temporal store must fill a whole line, and a line of a destination may come from several pieces
//! (where a row ends, or where a circular shift wraps). So a writer keeps the line it is at and stores it when full.

use weft_simd::CACHE_LINE as LINE;

use super::pieces::copy_piece;

/// Lines that are loaded before they are stored: arrays often start at the same offset of a page, and a load that is
/// close above an unfinished store modulo 4096 is made to wait for it.
#[cfg(target_arch = "x86_64")]
pub(super) const GROUP: usize = 4;

/// Lines of the next block, fetched while outputs of this one are written: one for every so many lines written, so that
/// memory reads all the time and not only while the first output is.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookAhead {
    next: *const u8,
    every: usize,
    written: usize,
}

impl LookAhead {
    /// From `next` on, a line for every `every` lines written.
    pub(super) fn new(next: *const u8, every: usize) -> Self {
        Self { next, every, written: 0 }
    }

    /// So many lines are being written.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn advance(&mut self, lines: usize) {
        self.written += lines;
        while self.written >= self.every {
            self.written -= self.every;
            weft_simd::prefetch(self.next);
            self.next = self.next.wrapping_add(LINE);
        }
    }
}

/// Something that is given the bytes of a destination in order.
///
/// # Safety of all methods
///
/// Every place from where the writer starts up to where its pieces end is writable, every piece is readable, and pieces
/// do not overlap destinations.
pub(super) trait Writer: Sized {
    /// Whether destinations are best written from their first byte to their last, whatever that means for the source:
    /// where sources are read from memory, it is the other way round.
    const IN_ORDER: bool;
    /// A writer that starts at `target`.
    unsafe fn at(target: *mut u8) -> Self;
    /// Where the next byte goes.
    fn position(&self) -> *mut u8;
    /// The next `length` bytes.
    unsafe fn push(&mut self, source: *const u8, length: usize);
    /// Stores what is not yet a full line.
    unsafe fn flush(&mut self);
    /// Makes all stores visible to others.
    unsafe fn fence();
    /// What will be read next, for writers that wait for memory.
    fn look_ahead(&mut self, _next: LookAhead) {}

    /// Goes on at `target`.
    #[inline(always)]
    unsafe fn seek(&mut self, target: *mut u8) {
        if self.position() != target {
            // SAFETY: what was pushed may be flushed, and `target` is where the next bytes are to go, as whoever seeks
            // says of the output.
            unsafe {
                self.flush();
                *self = Self::at(target);
            }
        }
    }
}

/// Stores at once, through the caches.
pub(super) struct Plain(*mut u8);

impl Writer for Plain {
    const IN_ORDER: bool = true;

    #[inline(always)]
    unsafe fn at(target: *mut u8) -> Self {
        Self(target)
    }

    #[inline(always)]
    fn position(&self) -> *mut u8 {
        self.0
    }

    #[inline(always)]
    unsafe fn push(&mut self, source: *const u8, length: usize) {
        // SAFETY: `length` bytes are readable at `source` and writable at the writer's position, apart from each other
        // (conditions of `push`).
        unsafe {
            copy_piece(source, self.0, length);
            self.0 = self.0.add(length);
        }
    }

    #[inline(always)]
    unsafe fn flush(&mut self) {}

    #[inline(always)]
    unsafe fn fence() {}
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Lines256, Lines512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{GROUP, LINE, LookAhead, Writer, copy_piece};

    /// The line that a writer is at.
    #[derive(Clone, Copy)]
    struct Line {
        start: *mut u8,
        /// The bytes `first..filled` of the line are gathered.
        first: usize,
        filled: usize,
    }

    impl Line {
        /// The line that holds `target`, from there on.
        #[inline(always)]
        fn at(target: *mut u8) -> Self {
            let within = target as usize % LINE;
            Self { start: target.wrapping_sub(within), first: within, filled: within }
        }

        #[inline(always)]
        fn position(&self) -> *mut u8 {
            self.start.wrapping_add(self.filled)
        }

        /// How many of the next `length` bytes belong to this line.
        #[inline(always)]
        fn remaining(&self, length: usize) -> usize {
            length.min(LINE - self.filled)
        }

        /// Goes to the start of the next line.
        #[inline(always)]
        fn next(&mut self) {
            *self = Self { start: self.start.wrapping_add(LINE), first: 0, filled: 0 };
        }

        /// Goes on by full lines that were stored at once.
        #[inline(always)]
        fn skip(&mut self, lines: usize) {
            self.start = self.start.wrapping_add(lines * LINE);
        }
    }

    /// Full lines from a register of 64 bytes, by non-temporal stores if `STREAM`. Needs AVX-512 F and BW.
    pub(in super::super) struct Lines512<const STREAM: bool> {
        gathered: __m512i,
        line: Line,
        ahead: LookAhead,
    }

    /// Ones for `count` bytes from `start` on; `count` is 1 to 64.
    #[inline(always)]
    fn mask(start: usize, count: usize) -> u64 {
        (u64::MAX >> (LINE - count)) << start
    }

    impl<const STREAM: bool> Writer for Lines512<STREAM> {
        const IN_ORDER: bool = !STREAM;

        #[inline(always)]
        unsafe fn at(target: *mut u8) -> Self {
            // SAFETY: the processor has AVX-512, or this type is not used.
            let gathered = unsafe { _mm512_setzero_si512() };
            let ahead = LookAhead::new(std::ptr::null(), usize::MAX);
            Self { gathered, line: Line::at(target), ahead }
        }

        #[inline(always)]
        fn position(&self) -> *mut u8 {
            self.line.position()
        }

        #[inline(always)]
        fn look_ahead(&mut self, next: LookAhead) {
            self.ahead = next;
        }

        #[inline(always)]
        unsafe fn seek(&mut self, target: *mut u8) {
            if self.position() != target {
                // SAFETY: what was pushed may be flushed, `target` is where the next bytes are to go, and the processor
                // has the writer's instructions, without which there is none.
                unsafe {
                    self.flush();
                    *self = Self { ahead: self.ahead, ..Self::at(target) };
                }
            }
        }

        #[inline(always)]
        unsafe fn push(&mut self, mut source: *const u8, mut length: usize) {
            // SAFETY: masked loads touch the bytes of the piece only; stores are full lines of the destination.
            unsafe {
                if self.line.filled > 0 {
                    let taken = self.line.remaining(length);
                    if taken == 0 {
                        return;
                    }
                    let from = source.wrapping_sub(self.line.filled).cast();
                    self.gathered = _mm512_mask_loadu_epi8(self.gathered, mask(self.line.filled, taken), from);
                    self.line.filled += taken;
                    if self.line.filled < LINE {
                        return;
                    }
                    if self.line.first == 0 {
                        Self::store(self.line.start, self.gathered);
                    } else {
                        let bytes = u64::MAX << self.line.first;
                        _mm512_mask_storeu_epi8(self.line.start.cast(), bytes, self.gathered);
                    }
                    self.line.next();
                    (source, length) = (source.add(taken), length - taken);
                }
                let mut line = self.line.start;
                while length >= GROUP * LINE {
                    if STREAM {
                        self.ahead.advance(GROUP);
                    }
                    let first = _mm512_loadu_si512(source.cast());
                    let second = _mm512_loadu_si512(source.add(LINE).cast());
                    let third = _mm512_loadu_si512(source.add(2 * LINE).cast());
                    let fourth = _mm512_loadu_si512(source.add(3 * LINE).cast());
                    Self::store(line, first);
                    Self::store(line.add(LINE), second);
                    Self::store(line.add(2 * LINE), third);
                    Self::store(line.add(3 * LINE), fourth);
                    line = line.add(GROUP * LINE);
                    source = source.add(GROUP * LINE);
                    length -= GROUP * LINE;
                }
                while length >= LINE {
                    if STREAM {
                        self.ahead.advance(1);
                    }
                    Self::store(line, _mm512_loadu_si512(source.cast()));
                    line = line.add(LINE);
                    source = source.add(LINE);
                    length -= LINE;
                }
                self.line.start = line;
                if length > 0 {
                    self.gathered = _mm512_maskz_loadu_epi8(mask(0, length), source.cast());
                    self.line.filled = length;
                }
            }
        }

        #[inline(always)]
        unsafe fn flush(&mut self) {
            let Line { start, first, filled } = self.line;
            if filled > first {
                // SAFETY: only gathered bytes are stored.
                unsafe { _mm512_mask_storeu_epi8(start.cast(), mask(first, filled - first), self.gathered) };
                self.line.first = filled;
            }
        }

        #[inline(always)]
        unsafe fn fence() {
            if STREAM {
                weft_simd::store_fence();
            }
        }
    }

    impl<const STREAM: bool> Lines512<STREAM> {
        #[inline(always)]
        unsafe fn store(line: *mut u8, value: __m512i) {
            // SAFETY: `line` is a full line of the destination, aligned.
            unsafe {
                if STREAM { _mm512_stream_si512(line.cast(), value) } else { _mm512_store_si512(line.cast(), value) }
            };
        }
    }

    #[repr(align(64))]
    struct Buffer([u8; LINE]);

    /// Full lines by non-temporal stores of registers of 32 bytes. Needs AVX2.
    pub(in super::super) struct Lines256 {
        gathered: Buffer,
        line: Line,
    }

    impl Writer for Lines256 {
        const IN_ORDER: bool = false;

        #[inline(always)]
        unsafe fn at(target: *mut u8) -> Self {
            Self { gathered: Buffer([0; LINE]), line: Line::at(target) }
        }

        #[inline(always)]
        fn position(&self) -> *mut u8 {
            self.line.position()
        }

        #[inline(always)]
        unsafe fn push(&mut self, mut source: *const u8, mut length: usize) {
            // SAFETY: pieces are readable, and stores are full lines of the destination or gathered bytes of one.
            unsafe {
                if self.line.filled > 0 {
                    let taken = self.line.remaining(length);
                    copy_piece(source, self.gathered.0.as_mut_ptr().add(self.line.filled), taken);
                    self.line.filled += taken;
                    if self.line.filled < LINE {
                        return;
                    }
                    if self.line.first == 0 {
                        stream256(self.line.start, self.gathered.0.as_ptr());
                    } else {
                        self.flush();
                    }
                    self.line.next();
                    (source, length) = (source.add(taken), length - taken);
                }
                while length >= LINE {
                    stream256(self.line.start, source);
                    self.line.skip(1);
                    source = source.add(LINE);
                    length -= LINE;
                }
                copy_piece(source, self.gathered.0.as_mut_ptr(), length);
                self.line.filled = length;
            }
        }

        #[inline(always)]
        unsafe fn flush(&mut self) {
            let Line { start, first, filled } = self.line;
            if filled > first {
                // SAFETY: only gathered bytes are stored.
                unsafe { copy_piece(self.gathered.0.as_ptr().add(first), start.add(first), filled - first) };
                self.line.first = filled;
            }
        }

        #[inline(always)]
        unsafe fn fence() {
            weft_simd::store_fence();
        }
    }

    #[inline(always)]
    unsafe fn stream256(line: *mut u8, source: *const u8) {
        // SAFETY: `line` is a full line of the destination, aligned; 64 bytes are readable at `source`.
        unsafe {
            let low = _mm256_loadu_si256(source.cast());
            let high = _mm256_loadu_si256(source.add(32).cast());
            _mm256_stream_si256(line.cast(), low);
            _mm256_stream_si256(line.add(32).cast(), high);
        }
    }
}
