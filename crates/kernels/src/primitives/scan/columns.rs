//! Scans along other axes than the last: many lines at once, as their elements lie next to each other.

use std::sync::atomic::{AtomicUsize, Ordering};

use weft_simd::{Dispatched, dispatch, on_threads};

use super::super::element::{Bool8, Element};
use super::super::lines::{self, Ahead, Hint, LINE};
use super::{Accumulate, Work};

/// Lines that are scanned at once; what is carried along them stays in the first-level cache.
const COLUMNS: usize = 1024;

pub(super) fn scan<T: Element, A: Accumulate<T>>(work: &Work<'_>) {
    let strips = work.axis.after.div_ceil(COLUMNS);
    let tasks = work.axis.before * strips;
    let next = AtomicUsize::new(0);
    on_threads(work.threads.min(tasks), |_| {
        let mut states = [A::EMPTY; COLUMNS];
        let mut buffer = [T::SMALLEST; COLUMNS];
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks || work.stop.is_requested() {
                break;
            }
            let first = task % strips * COLUMNS;
            let width = COLUMNS.min(work.axis.after - first);
            // SAFETY: tasks have elements of their own.
            unsafe { strip::<T, A>(work, task / strips, first, &mut states[..width], &mut buffer[..width]) };
        }
        lines::fence();
    });
}

/// The lines from `first` on, as many as there are states, under one index of the axes before.
unsafe fn strip<T: Element, A: Accumulate<T>>(
    work: &Work<'_>,
    before: usize,
    first: usize,
    states: &mut [A::State],
    buffer: &mut [T],
) {
    let width = states.len();
    states.fill(A::EMPTY);
    let extent = work.axis.extent;
    let stride = (work.axis.after * size_of::<T>()) as isize * if work.order.downward { -1 } else { 1 };
    for step in 0..extent {
        if work.stop.is_requested() {
            return;
        }
        let index = if work.order.downward { extent - 1 - step } else { step };
        let start = (before * extent + index) * work.axis.after + first;
        let flags = work.segments.map(|flags| &flags[start..start + width]);
        let mask = work.selection.part(start, start + width).0;
        // SAFETY: the row is within the arrays; it is written after it has been read.
        unsafe {
            let x = std::slice::from_raw_parts(work.source::<T>().add(start), width);
            let out = work.target::<T>().add(start);
            let old = std::slice::from_raw_parts(out.cast_const(), width);
            let states = &mut *states;
            let results = &mut *buffer;
            let (downward, exclusive) = (work.order.downward, work.order.exclusive);
            dispatch(Row::<T, A> { x, old, results, states, flags, mask, downward, exclusive });
            let bytes = width * size_of::<T>();
            if work.streaming {
                // The next row of the strip.
                let next = work.source::<T>().wrapping_add(start).cast::<u8>().wrapping_offset(stride);
                let mut ahead = Ahead::new(&[(next, LINE)], Hint::First);
                lines::store_and_fetch(buffer.as_ptr().cast(), out.cast(), bytes, &mut ahead);
            } else {
                std::ptr::copy_nonoverlapping(buffer.as_ptr(), out, width);
            }
        }
    }
}

struct Row<'a, T: Element, A: Accumulate<T>> {
    x: &'a [T],
    old: &'a [T],
    results: &'a mut [T],
    states: &'a mut [A::State],
    flags: Option<&'a [Bool8]>,
    mask: Option<&'a [Bool8]>,
    downward: bool,
    exclusive: bool,
}

impl<T: Element, A: Accumulate<T>> Dispatched for Row<'_, T, A> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Row { x, old, results, states, flags, mask, downward, exclusive } = self;
        if let (Some(flags), false) = (flags, downward) {
            begin::<T, A>(states, flags);
        }
        match mask {
            None => {
                for ((&x, result), state) in x.iter().zip(results).zip(states.iter_mut()) {
                    let with = A::step(*state, x, true);
                    *result = A::value(if exclusive { *state } else { with });
                    *state = with;
                }
            }
            Some(mask) => {
                for ((((&x, result), state), flag), &old) in
                    x.iter().zip(results).zip(states.iter_mut()).zip(mask).zip(old)
                {
                    let with = A::step(*state, x, flag.holds());
                    let shown = A::value(if exclusive { *state } else { with });
                    *result = if flag.holds() { shown } else { old };
                    *state = with;
                }
            }
        }
        if let (Some(flags), true) = (flags, downward) {
            begin::<T, A>(states, flags);
        }
    }
}

/// Forgets what is carried where a segment begins.
#[inline(always)]
fn begin<T: Element, A: Accumulate<T>>(states: &mut [A::State], flags: &[Bool8]) {
    for (state, flag) in states.iter_mut().zip(flags) {
        *state = A::begun(*state, flag.holds());
    }
}
