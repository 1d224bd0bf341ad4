//! Threads for one call.

use std::ops::Range;

use weft_simd::{MAX_THREADS, on_threads, processors};

/// Below this many bytes moved a call stays on the thread it came on: to wake another one and to wait for it takes some
/// microseconds, and what each has in its caches is parted (benchmark `sharing`).
const WORTH_THREADS: usize = 2 << 20;

/// The same where bytes are read and written one after another with little to do for each.
const WORTH_THREADS_PASSING: usize = 4 << 20;

/// How many threads a call that moves so many bytes is given: what was asked for, or all processors for large arrays.
pub(super) fn threads_for(requested: Option<usize>, bytes: usize) -> usize {
    threads_from(WORTH_THREADS, requested, bytes)
}

/// [`threads_for`] a call that passes over its arrays.
pub(super) fn threads_for_passing(requested: Option<usize>, bytes: usize) -> usize {
    threads_from(WORTH_THREADS_PASSING, requested, bytes)
}

fn threads_from(worth: usize, requested: Option<usize>, bytes: usize) -> usize {
    match requested {
        Some(count) => count.clamp(1, MAX_THREADS),
        None if bytes < worth => 1,
        None => processors(),
    }
}

/// The elements of part `number` of `parts`; all parts but the last end at multiples of `grain`.
pub(super) fn part(length: usize, grain: usize, number: usize, parts: usize) -> Range<usize> {
    let grains = length.div_ceil(grain);
    let end = |number: usize| (grains * number / parts * grain).min(length);
    end(number)..end(number + 1)
}

/// Runs `work` on the parts of an array, one a thread.
pub(super) fn in_parts(length: usize, grain: usize, threads: usize, work: impl Fn(Range<usize>) + Sync) {
    if threads <= 1 || length <= grain {
        return work(0..length);
    }
    on_threads(threads, |number| work(part(length, grain, number, threads)));
}
