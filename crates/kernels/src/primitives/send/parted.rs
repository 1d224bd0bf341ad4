//! Sends on several threads to destinations that are in a cache, but not in a near one: each thread delivers what is sent to
//! a range of them, in the order of the senders.

use weft_simd::on_threads;

use crate::Stop;

use super::super::combination::Combine;
use super::super::element::Element;
use super::super::indices::{BLOCK, Block, Index, IndexRange, PORTION, SharedIndices};
use super::super::parallel::part;
use super::collisions::count_marks;
use super::combine;
use super::values::Values;

/// Destinations of fewer bytes are in a near cache: to look for those of a range takes longer then than to serve all.
const NEAR: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// Each thread looks at all indices, so that more than these gain nothing.
const MAX_THREADS: usize = 8;

/// Whether threads are worth it for destinations of so many bytes.
pub(super) fn pay(threads: usize, destination_bytes: usize) -> bool {
    threads > 1 && destination_bytes > NEAR
}

/// Where destinations begin; each thread uses those of its range.
pub(super) struct Destinations<T>(pub(super) *mut T);
// SAFETY: as said there.
unsafe impl<T: Send> Sync for Destinations<T> {}

/// Delivers all elements to the destinations of the range, which `out` has, but those that are beyond it; whether there are
/// none of these.
pub(super) fn deliver<T: Element, I: Index, C: Combine<T>>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    range: IndexRange,
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    assert!(x.len() == index.len() && range.low <= range.high && range.high < out.len());
    let threads = threads.min(MAX_THREADS);
    let destinations = Destinations(out.as_mut_ptr());
    let delivered = on_threads(threads, |number| {
        let destinations = &destinations;
        let own = part(range.high - range.low + 1, 1, number, threads);
        let low = range.low + own.start;
        // SAFETY: the range is within `out`, and its parts are disjoint.
        let out = unsafe { std::slice::from_raw_parts_mut(destinations.0.add(low), own.len()) };
        deliver_range::<T, I, C>(x, index, low, out, stop)
    });
    delivered.into_iter().sum::<usize>() == x.len() || stop.is_requested()
}

/// Whether all indices are below `extent` and no two are the same: each thread marks what is sent to a range, so that no line
/// of marks goes from one processor to another.
pub(super) fn are_distinct<I: Index>(
    index: SharedIndices<'_, I>,
    extent: usize,
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    let threads = threads.min(MAX_THREADS);
    let marked = on_threads(threads, |number| {
        let own = part(extent, 1, number, threads);
        let mut marks = vec![0_u8; own.len()];
        let marked = mark_range(index, own.start, &mut marks, stop);
        (count_marks(&marks) == marked).then_some(marked)
    });
    marked.into_iter().sum::<Option<usize>>() == Some(index.len())
}

/// Marks those of the destinations from `low` on, of which each has a mark, that something is sent to; how much is.
#[inline(never)]
fn mark_range<I: Index>(index: SharedIndices<'_, I>, low: usize, marks: &mut [u8], stop: Stop<'_>) -> usize {
    let mut block = Block::new();
    let mut marked = 0;
    for start in (0..index.len()).step_by(BLOCK) {
        if start.is_multiple_of(PORTION) && stop.is_requested() {
            return marked;
        }
        let end = index.len().min(start + BLOCK);
        let copied = index.copy_within(start..end, [low, marks.len()], &mut block);
        marked += copied.len();
        copied.for_each(|_, index| {
            // SAFETY: indices of the copy are below the number of marks.
            unsafe { *marks.get_unchecked_mut(index) = 1 };
        });
    }
    marked
}

/// Delivers what is sent to the destinations from `low` on that are in `out`; how many elements these are.
#[inline(never)]
fn deliver_range<T: Element, I: Index, C: Combine<T>>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    low: usize,
    out: &mut [T],
    stop: Stop<'_>,
) -> usize {
    let mut block = Block::new();
    let mut delivered = 0;
    for start in (0..x.len()).step_by(BLOCK) {
        if start.is_multiple_of(PORTION) && stop.is_requested() {
            return delivered;
        }
        let end = x.len().min(start + BLOCK);
        let x = x.part(start..end);
        let copied = index.copy_within(start..end, [low, out.len()], &mut block);
        delivered += copied.len();
        copied.for_each(|element, index| {
            // SAFETY: elements are of the block, and so far above `low` `out` has an element.
            unsafe { combine::<T, C>(x, element, out, index) };
        });
    }
    delivered
}
