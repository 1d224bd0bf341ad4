//! Sends that refuse collisions, found out by what they leave: elements are stored among copies of a value that is none of
//! them, and as many destinations as nothing is sent to have it afterwards, unless two elements are sent to one. So no more is
//! written for each element than where others are overwritten, and all else passes over arrays from one end to the other.

use weft_simd::{Dispatched, dispatch, on_threads};

use crate::Stop;

use super::super::element::Element;
use super::super::indices::{BLOCK, Index, IndexRange, SharedIndices};
use super::super::parallel::part;
use super::parted::{self, Destinations};
use super::values::Values;
use super::{Last, unselected};

/// Each byte of the value that stands for a vacancy.
const BYTE: u8 = 0x9B;

/// Types of elements to be stored.
pub(super) trait Stored: Element + PartialEq {
    /// A value that few arrays have. None where a type has so few values that many arrays have them all.
    const RARE: Option<Self>;

    /// How many of some values, a [`BLOCK`] at most, are this one.
    fn count(values: &[Self], one: Self) -> usize;
}

macro_rules! stored {
    ($($type:ident: $is_wide:expr,)*) => {$(
        impl Stored for $type {
            const RARE: Option<Self> = if $is_wide { Some(Self::from_ne_bytes([BYTE; size_of::<Self>()])) } else { None };

            #[inline(always)]
            fn count(values: &[Self], one: Self) -> usize {
                // By counters of the type of the values, so that there are as many in a register.
                values.iter().map(|&value| Self::from(value == one)).fold(0, Self::wrapping_add) as usize
            }
        }
    )*};
}

stored! { u8: false, u16: false, u32: true, u64: true, }

/// Makes all of an output vacant.
///
/// # Safety
///
/// So many elements are writable.
pub(super) unsafe fn vacate<T: Stored>(out: *mut T, length: usize) {
    // SAFETY: so many elements are writable (this function's condition).
    unsafe { out.write_bytes(BYTE, length) };
}

/// Stores each element of `x` at its destination, whatever `out` holds. False, with anything stored, where an index is not
/// below the length of `out`, or where two may be the same.
pub(super) fn deliver<T: Stored, I: Index>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    if T::RARE.is_none() {
        return false;
    }
    let threads = if parted::pay(threads, size_of_val(out)) { threads } else { 1 };
    // SAFETY: the run is of an array.
    in_runs(out, threads, |run| unsafe {
        vacate(run.as_mut_ptr(), run.len());
        0
    });
    deliver_vacated(x, index, out, threads, stop)
}

/// The same to an output that is vacant.
pub(super) fn deliver_vacated<T: Stored, I: Index>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    let (Some(rare), Some(last)) = (T::RARE, out.len().checked_sub(1)) else { return false };
    let range = IndexRange { low: 0, high: last };
    if !unselected::<T, I, Last>(x, index, out, range, threads, stop) {
        return false;
    }
    let vacant = in_runs(out, threads, |run| dispatch(Count { values: run, one: rare }));
    // Each sender beyond the first to one destination leaves one more vacant, and each rare element looks like one.
    vacant + x.len() == out.len()
}

/// Gives `out` what was delivered, and leaves it where nothing was.
pub(super) fn fill<T: Stored>(delivered: &[T], out: &mut [T]) {
    if let Some(rare) = T::RARE {
        dispatch(Fill { delivered, rare, out });
    }
}

/// The sum of what `work` comes to for a run of the output on each thread.
fn in_runs<T: Element>(out: &mut [T], threads: usize, work: impl Fn(&mut [T]) -> usize + Sync) -> usize {
    if threads <= 1 {
        return work(out);
    }
    let (length, start) = (out.len(), Destinations(out.as_mut_ptr()));
    let results = on_threads(threads, |number| {
        let (start, own) = (&start, part(length, 1, number, threads));
        // SAFETY: the runs are of the output, and disjoint.
        work(unsafe { std::slice::from_raw_parts_mut(start.0.add(own.start), own.len()) })
    });
    results.into_iter().sum()
}

/// How many of some values are this one.
struct Count<'a, T> {
    values: &'a [T],
    one: T,
}

impl<T: Stored> Dispatched for Count<'_, T> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        self.values.chunks(BLOCK).map(|some| T::count(some, self.one)).sum()
    }
}

struct Fill<'a, T> {
    delivered: &'a [T],
    rare: T,
    out: &'a mut [T],
}

impl<T: Stored> Dispatched for Fill<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (out, &delivered) in self.out.iter_mut().zip(self.delivered) {
            *out = if delivered == self.rare { *out } else { delivered };
        }
    }
}
