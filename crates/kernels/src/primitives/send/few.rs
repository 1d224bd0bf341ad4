//! Sends to few destinations: into a copy of them, which takes the place of the destinations in the end. So indices need
//! not be looked at before they are used, and threads can have a copy each.

use weft_simd::on_threads;

use crate::Stop;

use super::super::View;
use super::super::combination::{Add, Combine};
use super::super::element::Element;
use super::super::indices::{Index, SharedIndices};
use super::super::lines::Scratch;
use super::super::parallel::part;
use super::collisions::count_marks;
use super::vacancies::{self, Stored};
use super::values::Values;
use super::{direct, repeated};

/// Bytes of all destinations, at most: two copies are in the first-level cache.
const FEW: usize = 16 << 10;

/// The same where no two may be sent to one: of what else there is, marks of such destinations are in the first-level cache.
const FEW_APART: usize = 32 << 10;

/// Senders below which destinations are not copied by several threads.
const GRAIN: usize = if cfg!(test) { 100 } else { 64 << 10 };

/// Whether a copy costs less than to look at the indices first, or to mark destinations first where `refuse`.
pub(super) fn pay(senders: usize, out: &View, refuse: bool) -> bool {
    if refuse {
        out.bytes() <= FEW_APART && out.length / 2 <= senders
    } else {
        out.bytes() <= FEW && out.length * 4 <= senders
    }
}

/// Whether several threads have a copy each, where how senders are parted makes no difference.
pub(super) fn is_shared(senders: usize, threads: usize) -> bool {
    threads > 1 && senders >= 2 * GRAIN
}

/// Sends each element of `x` to its destination, one after another. False, with nothing sent, where an index is not below
/// the length of `out`.
pub(super) fn deliver<T: Element, I: Index, C: Combine<T>>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    debug_assert!(size_of_val(out) <= FEW && x.len() == index.len());
    if is_shared(x.len(), threads) {
        if C::ASSOCIATIVE {
            return combined::<T, I, C>(x, index, out, threads, stop);
        }
        let counted = x.one().and_then(|x| counted::<T, I, C>(x, index, out, threads, stop));
        if let Some(is_fine) = counted {
            return is_fine;
        }
    }
    let mut copy = Scratch::<FEW>::new();
    // SAFETY: the copy has room for all destinations, and begins at a line; all of its elements are written.
    let copy = unsafe {
        let start = copy.pointer().cast::<T>();
        start.copy_from_nonoverlapping(out.as_ptr(), out.len());
        std::slice::from_raw_parts_mut(start, out.len())
    };
    let is_fine = direct::<T, I, C>(x, index, copy, stop);
    if is_fine {
        out.copy_from_slice(copy);
    }
    is_fine
}

/// Stores each element of `x` at its destination. False, with nothing stored, where an index is not below the length of
/// `out`, or where two are the same.
pub(super) fn deliver_apart<T: Stored, I: Index>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    stop: Stop<'_>,
) -> bool {
    debug_assert!(size_of_val(out) <= FEW_APART && x.len() == index.len());
    let mut copy = Scratch::<FEW_APART>::new();
    // SAFETY: there are bytes for all destinations, from the beginning of a line on; all of them are written here.
    let copy = unsafe {
        let start = copy.pointer().cast::<T>();
        vacancies::vacate(start, out.len());
        std::slice::from_raw_parts_mut(start, out.len())
    };
    if vacancies::deliver_vacated(x, index, copy, 1, stop) {
        vacancies::fill(copy, out);
        return true;
    }
    mark(x, index, copy, out, stop)
}

/// Stores elements in a copy of `out` and marks destinations; false, with nothing stored in `out`, where an index is beyond
/// it, or as many destinations are not marked as elements are sent.
#[inline(never)]
fn mark<T: Element, I: Index>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    copy: &mut [T],
    out: &mut [T],
    stop: Stop<'_>,
) -> bool {
    copy.copy_from_slice(out);
    let mut marks = Scratch::<FEW_APART>::new();
    // SAFETY: there is a byte for each destination; all of them are written here.
    let marks = unsafe {
        marks.pointer().write_bytes(0, out.len());
        std::slice::from_raw_parts_mut(marks.pointer(), out.len())
    };
    let below = (0..x.len()).step_by(x.portion()).take_while(|_| !stop.is_requested()).all(|start| {
        let end = x.len().min(start + x.portion());
        let x = x.part(start..end);
        index.part(start..end).all_below::<8>(0..x.len(), copy.len(), |element, index| {
            // SAFETY: there are as many elements as indices, and as many destinations as marks, which have the index.
            unsafe {
                *copy.get_unchecked_mut(index) = *x.get_unchecked(element);
                *marks.get_unchecked_mut(index) = 1;
            }
        })
    });
    let are_apart = below && count_marks(marks) == x.len();
    if are_apart {
        out.copy_from_slice(copy);
    }
    are_apart
}

/// Each thread combines a run of the senders into a copy of its own, the first one into what `out` holds, the others into
/// what changes nothing; the copies are combined in the order of the runs. For combinations of which the order of the
/// senders, but not where they are parted, decides.
fn combined<T: Element, I: Index, C: Combine<T>>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    let held = &*out;
    let copies = on_threads(threads, |number| {
        let run = part(x.len(), GRAIN, number, threads);
        let mut copy = if number == 0 { held.to_vec() } else { vec![C::IDENTITY; held.len()] };
        direct::<T, I, C>(x.run(run.clone()), index.part(run), &mut copy, stop).then_some(copy)
    });
    let Some(copies) = copies.into_iter().collect::<Option<Vec<_>>>() else { return false };
    let (first, others) = copies.split_first().expect("there is a first thread");
    out.copy_from_slice(first);
    for copy in others {
        for (one, &other) in out.iter_mut().zip(copy) {
            *one = C::combine(*one, other);
        }
    }
    true
}

/// Each thread counts how often a run of the senders sends one element to each destination, which tells what that comes to
/// where no sum is rounded. None, with nothing sent, where that is not so.
fn counted<T: Element, I: Index, C: Combine<T>>(
    x: T,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    threads: usize,
    stop: Stop<'_>,
) -> Option<bool> {
    // So that no count overflows, and, before anything is counted, whether usual counts would do.
    let senders = u32::try_from(index.len()).ok()?;
    let usual = senders / u32::try_from(out.len().max(1)).ok()?;
    if !out.iter().all(|&held| C::combine_times(held, x, usual).is_some()) {
        return None;
    }
    let destinations = out.len();
    let counts = on_threads(threads, |number| {
        let run = part(index.len(), GRAIN, number, threads);
        let mut counts = vec![0_u32; destinations];
        repeated::<u32, I, Add>(1, index.part(run), &mut counts, stop).then_some(counts)
    });
    let Some(counts) = counts.into_iter().collect::<Option<Vec<_>>>() else { return Some(false) };
    let total = |destination: usize| counts.iter().map(|counts| counts[destination]).sum();
    let sums: Option<Vec<T>> =
        out.iter().enumerate().map(|(destination, &held)| C::combine_times(held, x, total(destination))).collect();
    out.copy_from_slice(&sums?);
    Some(true)
}
