//! Short slabs by full lines.
//!
//! Turning rows of a hundred bytes piece by piece spends its time on where pieces end. Seen from the destination there
//! are no pieces: each byte comes from the source at one fixed distance, or, where it has come in at an edge, from
//! another (circular) or from a constant (end-off). Which it is repeats after the least common multiple of slab and
//! line; so the masks of one such period are worked out once, and a line is two loads under a mask and its complement; where
//! it keeps whole lanes, it is put together from whole lines of the source, each of which is loaded once.
//! Needs AVX-512 F and BW.

use std::arch::x86_64::*;
use std::ops::Range;

use weft_simd::CACHE_LINE as LINE;

use super::description::{Buffers, Piece, SlabEdge, SlabShift, pieces};
use super::pieces::copy_piece;
use super::short::ShortSlabs;
use super::writer::{GROUP, LookAhead};

/// The longest period whose masks are worked out, in bytes.
const LONGEST: usize = 16 << 10;

/// Longer slabs have so many full lines that their ends do not matter.
const MAX_SLAB: usize = 4 << 10;

/// Masks go on for about so many bytes, so that a loop over them is long.
const MASKED: usize = 4 << 10;

/// Arrays shorter than this many periods are not worth it.
const PERIODS: usize = 4;

/// One shift within short slabs, and how far it is; by non-temporal stores if `STREAM`.
#[derive(Debug)]
pub(super) struct Period<'a, const STREAM: bool> {
    shift: &'a SlabShift,
    /// Bytes after which masks are the same again.
    period: usize,
    /// For each line of one period or more, the bytes that come from `kept`.
    masks: Vec<u64>,
    /// From a byte of the destination to where it comes from, if it was in the slab.
    kept: isize,
    /// From a byte of the destination to where it comes from, if it came in at the edge; None for a constant.
    wrapped: Option<isize>,
    /// The constant, in lines that start where the destination has its first one.
    constant: __m512i,
    /// Where the next byte of the destination goes.
    next: usize,
    /// Where the first full line of the destination starts.
    aligned: usize,
    ahead: LookAhead,
}

impl<'a, const STREAM: bool> ShortSlabs<'a> for Period<'a, STREAM> {
    fn new(shift: &'a SlabShift, buffers: Buffers<'_>, from: usize, to: usize) -> Option<Self> {
        let period = least_common_multiple(shift.slab, GROUP * LINE);
        if shift.slab > MAX_SLAB || period > LONGEST || to - from < PERIODS * period {
            return None;
        }
        let start = buffers.outputs[shift.target].wrapping_add(from) as usize;
        let phase = start.next_multiple_of(LINE) - start;
        let (slab, distance) = (shift.slab as isize, shift.distance as isize);
        let kept = if shift.upwards { -distance } else { distance };
        let (wrapped, constant) = match shift.edge {
            SlabEdge::Circular => (Some(if shift.upwards { kept + slab } else { kept - slab }), [0; LINE]),
            SlabEdge::Fill { input, bytes, item } if LINE.is_multiple_of(item) && bytes >= item => {
                // SAFETY: an element of the constant is at `input`.
                (None, std::array::from_fn(|byte| unsafe { *buffers.inputs[input].add((phase + byte) % item) }))
            }
            _ => return None,
        };
        Some(Self {
            shift,
            period,
            masks: masks(shift, phase, period).repeat((MASKED / period).max(1)),
            kept,
            wrapped,
            // SAFETY: 64 bytes are read; this type is used only where the processor has AVX-512.
            constant: unsafe { _mm512_loadu_si512(constant.as_ptr().cast()) },
            next: from,
            aligned: from + phase,
            ahead: LookAhead::new(std::ptr::null(), usize::MAX),
        })
    }

    fn look_ahead(&mut self, next: LookAhead) {
        self.ahead = next;
    }

    #[inline(always)]
    unsafe fn advance(&mut self, buffers: Buffers<'_>, end: usize) {
        // SAFETY: inputs and outputs are as `run` asks; lines are within the slabs up to `end`, and so is what they
        // come from, but where masks leave it out.
        unsafe {
            if self.next < self.aligned && self.aligned <= end {
                self.pieces_until(buffers, self.aligned);
            }
            loop {
                let whole = end.saturating_sub(self.next) / self.period * self.period;
                let bytes = whole.min(self.masks.len() * LINE);
                if bytes == 0 {
                    return;
                }
                let kept = buffers.inputs[self.shift.source].wrapping_add(self.next).wrapping_offset(self.kept);
                let target = buffers.outputs[self.shift.target].add(self.next);
                let lines = bytes / LINE;
                let source = buffers.inputs[self.shift.source] as usize;
                let source = source..source + buffers.length;
                match self.wrapped {
                    Some(wrapped) => {
                        let other = kept.wrapping_offset(wrapped - self.kept);
                        self.lines::<true>(target, kept, other, lines, source);
                    }
                    None => self.lines::<false>(target, kept, kept, lines, source),
                }
                self.next += bytes;
            }
        }
    }

    unsafe fn finish(&mut self, buffers: Buffers<'_>, to: usize) {
        // SAFETY: inputs and outputs are as `run` asks, and `to` is the end of the slabs that this was made for.
        unsafe { self.pieces_until(buffers, to) };
    }
}

/// For each line of a period that starts at byte `phase` of the slabs, the bytes that were in the slab before.
fn masks(shift: &SlabShift, phase: usize, period: usize) -> Vec<u64> {
    let mut masks = vec![u64::MAX; period / LINE];
    let edge = if shift.upwards { 0 } else { shift.slab - shift.distance };
    // Where what comes in starts, slab by slab; the first may have started before the period.
    let first = edge as isize - (phase % shift.slab) as isize;
    for start in (first..period as isize).step_by(shift.slab) {
        let (mut from, to) =
            (start.max(0) as usize, (start + shift.distance as isize).clamp(0, period as isize) as usize);
        while from < to {
            let (line, within) = (from / LINE, from % LINE);
            let count = (LINE - within).min(to - from);
            masks[line] &= !((u64::MAX >> (LINE - count)) << within);
            from += count;
        }
    }
    masks
}

/// The bytes of the source that lines of the destination keep, line by line.
trait KeptLines {
    /// The next line; bytes that are not under the mask may be anything.
    ///
    /// # Safety
    ///
    /// Bytes under the mask are of the source.
    unsafe fn next(&mut self, mask: u64) -> __m512i;
}

/// From wherever they are, by their masks.
struct Loaded(*const u8);

impl KeptLines for Loaded {
    #[inline(always)]
    unsafe fn next(&mut self, mask: u64) -> __m512i {
        let from = self.0;
        self.0 = from.wrapping_add(LINE);
        // SAFETY: only bytes under the mask are touched.
        unsafe {
            if mask == u64::MAX { _mm512_loadu_si512(from.cast()) } else { _mm512_maskz_loadu_epi8(mask, from.cast()) }
        }
    }
}

/// By whole lines of the source, of which two make one: a load that touches two lines is two, and masks cost as much.
struct Joined {
    /// The line that was loaded last.
    last: __m512i,
    next: *const u8,
    /// The lanes of both lines that make one.
    lanes: __m512i,
}

/// Bytes of a lane.
const LANE: usize = 8;

impl Joined {
    /// From `kept` on, a whole number of lanes after the start of a line of the source.
    #[inline(always)]
    unsafe fn at(kept: *const u8) -> Self {
        let within = kept as usize % LINE;
        let start = kept.wrapping_sub(within);
        // SAFETY: the line is of the source.
        unsafe {
            let first = _mm512_set1_epi64((within / LANE) as i64);
            Self {
                last: _mm512_load_si512(start.cast()),
                next: start.wrapping_add(LINE),
                lanes: _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), first),
            }
        }
    }
}

impl KeptLines for Joined {
    #[inline(always)]
    unsafe fn next(&mut self, _mask: u64) -> __m512i {
        // SAFETY: the line is of the source.
        unsafe {
            let line = _mm512_load_si512(self.next.cast());
            let joined = _mm512_permutex2var_epi64(self.last, self.lanes, line);
            (self.last, self.next) = (line, self.next.wrapping_add(LINE));
            joined
        }
    }
}

impl<const STREAM: bool> Period<'_, STREAM> {
    /// As many lines, from the start of a period on.
    #[inline(always)]
    unsafe fn lines<const CIRCULAR: bool>(
        &mut self,
        target: *mut u8,
        kept: *const u8,
        other: *const u8,
        lines: usize,
        source: Range<usize>,
    ) {
        let within = kept as usize % LINE;
        let read = kept as usize - within..kept as usize - within + (lines + 1) * LINE;
        // SAFETY: `lines` lines of the target are within the slabs (this function's condition); lines that are loaded
        // whole are of the source, others are loaded under masks.
        unsafe {
            if within != 0 && within.is_multiple_of(LANE) && source.start <= read.start && read.end <= source.end {
                self.lines_of::<CIRCULAR>(Joined::at(kept), target, other, lines);
            } else {
                self.lines_of::<CIRCULAR>(Loaded(kept), target, other, lines);
            }
        }
    }

    #[inline(always)]
    unsafe fn lines_of<const CIRCULAR: bool>(
        &mut self,
        mut kept: impl KeptLines,
        mut target: *mut u8,
        mut other: *const u8,
        lines: usize,
    ) {
        let mut ahead = self.ahead;
        for masks in self.masks[..lines].chunks_exact(GROUP) {
            if STREAM {
                ahead.advance(GROUP);
            }
            // SAFETY: bytes under masks are of the source, lines of the destination.
            unsafe {
                let first = self.line::<CIRCULAR>(masks[0], kept.next(masks[0]), other);
                let second = self.line::<CIRCULAR>(masks[1], kept.next(masks[1]), other.wrapping_add(LINE));
                let third = self.line::<CIRCULAR>(masks[2], kept.next(masks[2]), other.wrapping_add(2 * LINE));
                let fourth = self.line::<CIRCULAR>(masks[3], kept.next(masks[3]), other.wrapping_add(3 * LINE));
                Self::store(target, first);
                Self::store(target.wrapping_add(LINE), second);
                Self::store(target.wrapping_add(2 * LINE), third);
                Self::store(target.wrapping_add(3 * LINE), fourth);
            }
            target = target.wrapping_add(GROUP * LINE);
            other = other.wrapping_add(GROUP * LINE);
        }
        self.ahead = ahead;
    }

    /// A line whose bytes under the mask are `kept`.
    #[inline(always)]
    unsafe fn line<const CIRCULAR: bool>(&self, mask: u64, kept: __m512i, other: *const u8) -> __m512i {
        // SAFETY: only bytes under masks are touched.
        unsafe {
            if mask == u64::MAX {
                kept
            } else if CIRCULAR {
                _mm512_mask_loadu_epi8(kept, !mask, other.cast())
            } else {
                _mm512_mask_blend_epi8(mask, self.constant, kept)
            }
        }
    }

    #[inline(always)]
    unsafe fn store(line: *mut u8, value: __m512i) {
        // SAFETY: a full line of the destination, aligned.
        unsafe { if STREAM { _mm512_stream_si512(line.cast(), value) } else { _mm512_store_si512(line.cast(), value) } }
    }

    unsafe fn pieces_until(&mut self, buffers: Buffers<'_>, to: usize) {
        let slab = self.shift.slab;
        while self.next < to {
            let base = self.next / slab * slab;
            let end = to.min(base + slab);
            for piece in window(&pieces(self.shift, slab), self.next - base, end - self.next) {
                let input = buffers.inputs[piece.input];
                let from = if piece.input == self.shift.source { input.wrapping_add(base) } else { input };
                // SAFETY: pieces of the slab at `base`.
                unsafe {
                    let target = buffers.outputs[self.shift.target].add(self.next);
                    copy_piece(from.wrapping_add(piece.offset), target, piece.length);
                }
                self.next += piece.length;
            }
        }
    }
}

/// The pieces of `length` bytes after the first `skipped`.
fn window(all: &[Piece], skipped: usize, length: usize) -> Vec<Piece> {
    let (mut skipped, mut left) = (skipped, length);
    let mut chosen = Vec::new();
    for piece in all {
        let before = skipped.min(piece.length);
        let taken = left.min(piece.length - before);
        skipped -= before;
        left -= taken;
        if taken > 0 {
            chosen.push(Piece { offset: piece.offset + before, length: taken, ..*piece });
        }
    }
    chosen
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut larger, mut smaller) = (a, b);
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    a / larger * b
}
