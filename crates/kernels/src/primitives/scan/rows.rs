//! Scans along the last axis.
//!
//! The array is one row of elements; where it has several rows, each begins a segment. Threads take chunks in order. Of a
//! chunk, each cell is folded first, which needs nothing of what comes before; then what is carried into each cell is
//! known as soon as it is known for the chunk, and is passed on; then the cells are scanned, several at once, since in one
//! of them each element waits for the one before it.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_simd::{Dispatched, dispatch_to_masks, on_threads};

use crate::Stop;

use super::super::element::{Bool8, Element};
use super::super::lines::{self, Ahead, Hint, LINE, Scratch};
use super::super::view::Selection;
use super::cells::{CELL, Cells, LANES, ROW};
#[cfg(target_arch = "x86_64")]
use super::lanes::{self, InLanes};
#[cfg(target_arch = "x86_64")]
use super::prefix;
use super::{Accumulate, Work};

/// Cells that are scanned at once, one element of each after another.
const ABREAST: usize = 4;

/// Buffer for the results of all cells that are scanned at once.
type Buffer = Scratch<{ LANES * ROW * 8 }>;

/// Cells of a chunk; with 8-byte elements a chunk fits the second-level cache.
const CELLS: usize = 32;

const CHUNK: usize = CELL * CELLS;

/// Iterations of waiting for another thread before the processor is offered to others: to that thread, if it has none.
/// A chunk takes some microseconds, and so do these iterations.
const PATIENCE: usize = 100;

/// What is carried from chunk to chunk.
struct Carry<S> {
    /// The chunk that may read and write `state`, in the order of the scan.
    next: AtomicUsize,
    state: UnsafeCell<S>,
}

// SAFETY: the state is used by the thread whose turn it is only.
unsafe impl<S: Send> Sync for Carry<S> {}

pub(super) fn scan<T: Element, A: Accumulate<T>>(work: &Work<'_>) {
    let length = work.out.length;
    let chunks = length.div_ceil(CHUNK);
    #[cfg(target_arch = "x86_64")]
    if work.threads.min(chunks) == 1 && is_one_run::<T, A>(work) {
        // One thread has no need to know what a chunk comes to before it scans it.
        let mut state = A::EMPTY;
        for start in (0..length).step_by(CHUNK).take_while(|_| !work.stop.is_requested()) {
            let (x, out) = (work.source::<T>().wrapping_add(start), work.target::<T>().wrapping_add(start));
            let count = CHUNK.min(length - start);
            // SAFETY: `is_one_run` has asked whether it fits; the elements are some of the arrays, of which the output is the
            // input or apart from it.
            state = unsafe { prefix::scan::<T, A>(x, out, count, state, work.order.exclusive) };
        }
        return;
    }
    let next = AtomicUsize::new(0);
    let carry = Carry { next: AtomicUsize::new(0), state: UnsafeCell::new(A::EMPTY) };
    on_threads(work.threads.min(chunks), |_| {
        let carry = &carry;
        let mut flags = Vec::new();
        let mut buffer = Buffer::new();
        let chunk_at = |number: usize| if work.order.downward { chunks - 1 - number } else { number };
        let mut number = next.fetch_add(1, Ordering::Relaxed);
        while number < chunks {
            let start = chunk_at(number) * CHUNK;
            let chunk = Chunk::<T>::new(work, start..length.min(start + CHUNK), &mut flags);
            let folds = chunk.folds::<A>(chunks > 1);
            if !wait_for(&carry.next, number, work.stop) {
                break;
            }
            // SAFETY: it is this chunk's turn.
            let states = unsafe {
                let state = &mut *carry.state.get();
                chunk.carried::<A>(&folds, state)
            };
            carry.next.store(number + 1, Ordering::Release);
            number = next.fetch_add(1, Ordering::Relaxed);
            let mut ahead =
                if number < chunks { ahead_of::<T>(work, chunk_at(number) * CHUNK) } else { Ahead::NOTHING };
            // SAFETY: chunks are disjoint, and a chunk is read before it is written where the output is the input.
            unsafe { chunk.scan::<A>(&states, &mut buffer, &mut ahead) };
        }
        lines::fence();
    });
}

/// Whether all elements are combined one after another, and by [`prefix`].
#[cfg(target_arch = "x86_64")]
fn is_one_run<T: Element, A: Accumulate<T>>(work: &Work<'_>) -> bool {
    let is_plain = work.segments.is_none() && work.selection.0.is_none() && work.axis.extent == work.out.length;
    is_plain && !work.order.downward && !work.streaming && prefix::fit::<T, A>()
}

/// What is read of the chunk that begins at `start`, to be fetched while another one is stored.
fn ahead_of<T: Element>(work: &Work<'_>, start: usize) -> Ahead {
    let ahead = |flags: Option<&[Bool8]>| match flags {
        Some(flags) => (flags[start..].as_ptr().cast(), LINE / size_of::<T>()),
        None => (std::ptr::null(), 0),
    };
    let x = work.source::<T>().wrapping_add(start).cast();
    Ahead::new(&[(x, LINE), ahead(work.segments), ahead(work.selection.0)], Hint::Second)
}

/// Whether it has become that number's turn: not where the scan is given up.
fn wait_for(next: &AtomicUsize, number: usize, stop: Stop<'_>) -> bool {
    let mut waited = 0;
    while next.load(Ordering::Acquire) != number {
        if stop.is_requested() {
            return false;
        }
        waited += 1;
        if waited > PATIENCE { std::thread::yield_now() } else { spin_loop() }
    }
    !stop.is_requested()
}

/// A range of the array; indices within it count from its start.
struct Chunk<'a, T> {
    x: *const T,
    out: *mut T,
    length: usize,
    /// Firsts of segments.
    flags: Option<&'a [Bool8]>,
    selection: Selection<'a>,
    downward: bool,
    exclusive: bool,
    streaming: bool,
}

impl<'a, T: Element> Chunk<'a, T> {
    fn new(work: &Work<'a>, own: Range<usize>, buffer: &'a mut Vec<Bool8>) -> Self {
        let row = work.axis.extent;
        let segments = work.segments.map(|flags| &flags[own.clone()]);
        let flags = if row == work.out.length {
            segments
        } else {
            buffer.clear();
            match segments {
                Some(flags) => buffer.extend_from_slice(flags),
                None => buffer.resize(own.len(), Bool8::new(false)),
            }
            for first in (own.start.next_multiple_of(row)..own.end).step_by(row) {
                buffer[first - own.start] = Bool8::new(true);
            }
            Some(buffer.as_slice())
        };
        Self {
            x: work.source::<T>().wrapping_add(own.start),
            out: work.target::<T>().wrapping_add(own.start),
            length: own.len(),
            flags,
            selection: work.selection.part(own.start, own.end),
            downward: work.order.downward,
            exclusive: work.order.exclusive,
            streaming: work.streaming,
        }
    }

    fn cells(&self) -> usize {
        self.length.div_ceil(CELL)
    }

    fn cell(&self, number: usize) -> Range<usize> {
        number * CELL..self.length.min((number + 1) * CELL)
    }

    /// For each cell what it comes to after the last segment began in it, and whether one did.
    fn folds<A: Accumulate<T>>(&self, far: bool) -> [(A::State, bool); CELLS] {
        let mut folds = [(A::EMPTY, false); CELLS];
        for (number, fold) in folds.iter_mut().enumerate().take(self.cells()) {
            let cell = self.cell(number);
            let (rest, begun) = match self.flags {
                None => (cell, false),
                Some(flags) if self.downward => match first_flag(&flags[cell.clone()]) {
                    None => (cell, false),
                    Some(offset) => (cell.start..cell.start + offset, true),
                },
                Some(flags) => match last_flag(&flags[cell.clone()]) {
                    None => (cell, false),
                    Some(offset) => (cell.start + offset..cell.end, true),
                },
            };
            // SAFETY: cells are within the array, and nobody has written this one yet.
            let x = unsafe { std::slice::from_raw_parts(self.x.add(rest.start), rest.len()) };
            *fold = (A::fold(x, self.selection.part(rest.start, rest.end), self.downward, far), begun);
        }
        folds
    }

    /// For each cell what is carried into it; `state` becomes what is carried out of the chunk.
    fn carried<A: Accumulate<T>>(&self, folds: &[(A::State, bool)], state: &mut A::State) -> [A::State; CELLS] {
        let mut states = [A::EMPTY; CELLS];
        let cells = self.cells();
        for step in 0..cells {
            let number = if self.downward { cells - 1 - step } else { step };
            states[number] = *state;
            let (fold, begun) = folds[number];
            *state = if begun { fold } else { A::join(*state, fold) };
        }
        states
    }

    unsafe fn scan<A: Accumulate<T>>(&self, states: &[A::State; CELLS], buffer: &mut Buffer, ahead: &mut Ahead) {
        #[cfg(target_arch = "x86_64")]
        if self.flags.is_none()
            && self.selection.0.is_none()
            && !self.downward
            && !self.streaming
            && prefix::fit::<T, A>()
        {
            // SAFETY: it fits, and the elements are those of the chunk, which is read before it is written.
            unsafe { prefix::scan::<T, A>(self.x, self.out, self.length, states[0], self.exclusive) };
            return;
        }
        let full = self.length / CELL;
        #[cfg(target_arch = "x86_64")]
        let in_lanes = self.streaming && self.selection.0.is_none() && lanes::fit::<T, A>();
        #[cfg(not(target_arch = "x86_64"))]
        let in_lanes = false;
        let mut number = 0;
        while number < self.cells() {
            let count = match full - number.min(full) {
                LANES.. if in_lanes => LANES,
                ABREAST.. => ABREAST,
                _ => 1,
            };
            let block = number * CELL..self.cell(number + count - 1).end;
            let out = self.out.wrapping_add(block.start);
            let target = if self.streaming { buffer.pointer().cast() } else { out };
            // SAFETY: cells are within the array; the scratch room has this many.
            unsafe {
                match count {
                    #[cfg(target_arch = "x86_64")]
                    LANES => {
                        self.in_lanes::<A>(number, &states[number..], target);
                        lanes::store_past_caches(buffer.pointer(), out.cast(), ahead);
                        number += count;
                        continue;
                    }
                    ABREAST => self.several::<A, ABREAST>(number, &states[number..], target),
                    _ => self.several::<A, 1>(number, &states[number..], target),
                }
                if self.streaming {
                    lines::store_and_fetch(buffer.pointer(), out.cast(), block.len() * size_of::<T>(), ahead);
                }
            }
            number += count;
        }
    }

    /// Scans N cells of one length; the results of the first cell begin at `target`.
    unsafe fn several<A: Accumulate<T>, const N: usize>(&self, first: usize, states: &[A::State], target: *mut T) {
        let cells = self.abreast::<A, N>(first, states, target);
        match (self.flags.is_some(), self.selection.0.is_some()) {
            (false, false) => dispatch_to_masks(Flagged::<_, false, false>(cells)),
            (false, true) => dispatch_to_masks(Flagged::<_, false, true>(cells)),
            (true, false) => dispatch_to_masks(Flagged::<_, true, false>(cells)),
            (true, true) => dispatch_to_masks(Flagged::<_, true, true>(cells)),
        }
    }

    /// As [`Self::several`], of full cells that [`lanes`] has code for; rows of results are [`ROW`] elements apart.
    #[cfg(target_arch = "x86_64")]
    unsafe fn in_lanes<A: Accumulate<T>>(&self, first: usize, states: &[A::State], target: *mut T) {
        let cells = self.abreast::<A, LANES>(first, states, target);
        match (self.flags.is_some(), self.downward) {
            (false, false) => dispatch_to_masks(InLanes::<_, false, false>(cells)),
            (false, true) => dispatch_to_masks(InLanes::<_, false, true>(cells)),
            (true, false) => dispatch_to_masks(InLanes::<_, true, false>(cells)),
            (true, true) => dispatch_to_masks(InLanes::<_, true, true>(cells)),
        }
    }

    fn abreast<A: Accumulate<T>, const N: usize>(
        &self,
        first: usize,
        states: &[A::State],
        target: *mut T,
    ) -> Cells<T, A, N> {
        let start = first * CELL;
        let mut abreast = [A::EMPTY; N];
        abreast.copy_from_slice(&states[..N]);
        let count = self.cell(first).len();
        Cells {
            x: self.x.wrapping_add(start),
            old: self.out.wrapping_add(start),
            target,
            flags: self.flags.map_or(std::ptr::null(), |flags| flags[start..].as_ptr()),
            mask: self.selection.0.map_or(std::ptr::null(), |mask| mask[start..].as_ptr()),
            states: abreast,
            count,
            downward: self.downward,
            exclusive: self.exclusive,
        }
    }
}

/// With segments, and with a selection.
struct Flagged<C, const SEGMENTS: bool, const SELECTION: bool>(C);

impl<T, A, const N: usize, const SEGMENTS: bool, const SELECTION: bool> Dispatched
    for Flagged<Cells<T, A, N>, SEGMENTS, SELECTION>
where
    T: Element,
    A: Accumulate<T>,
{
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Cells { x, old, target, flags, mask, mut states, count, downward, exclusive } = self.0;
        let (first, step) = if downward { (count - 1, -1) } else { (0, 1) };
        // The element before which a segment begins in the order of the scan: itself, or going down the one just left.
        let begins = usize::from(downward);
        // SAFETY: `Chunk::several` has so many cells of this length.
        unsafe {
            if SEGMENTS && !downward {
                for (cell, state) in states.iter_mut().enumerate() {
                    *state = A::begun(*state, (*flags.add(cell * CELL)).holds());
                }
            }
            let mut offset = first;
            for number in 0..count {
                for (cell, state) in states.iter_mut().enumerate() {
                    let offset = cell * CELL + offset;
                    let mut before = *state;
                    if SEGMENTS && number > 0 {
                        before = A::begun(before, (*flags.add(offset + begins)).holds());
                    }
                    let selected = !SELECTION || (*mask.add(offset)).holds();
                    let with = A::step(before, *x.add(offset), selected);
                    let shown = A::value(if exclusive { before } else { with });
                    *target.add(offset) = if SELECTION && !selected { *old.add(offset) } else { shown };
                    *state = with;
                }
                offset = offset.wrapping_add_signed(step);
            }
        }
    }
}

/// Flags that are looked at together.
const TOGETHER: usize = 64;

fn any(flags: &[Bool8]) -> bool {
    flags.iter().fold(false, |any, flag| any | flag.holds())
}

fn first_flag(flags: &[Bool8]) -> Option<usize> {
    let portion = flags.chunks(TOGETHER).position(any)? * TOGETHER;
    flags[portion..].iter().position(|flag| flag.holds()).map(|offset| portion + offset)
}

fn last_flag(flags: &[Bool8]) -> Option<usize> {
    let mut end = flags.len();
    for portion in flags.rchunks(TOGETHER) {
        if any(portion) {
            return flags[..end].iter().rposition(|flag| flag.holds());
        }
        end -= portion.len();
    }
    None
}
