//! Scans along an axis.
//!
//! Along the last axis ([`rows`]) elements are combined in cells of 512 by index: what comes into a cell is the
//! combination of the cells before it, one after another; within a cell one element follows another, whether cells are
//! scanned one by one or in the lanes of vector registers. Sums and bits of integers, which come to the same however they
//! are grouped, are scanned by one register after another (`prefix`). Along other axes ([`columns`]) one element follows
//! another, for many lines at once. So results do not depend on the number of threads.

mod accumulate;
mod cells;
mod columns;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod prefix;
mod rows;

use crate::{Execution, Stop};

use accumulate::{Accumulate, By, First};

use super::combination::{Combine, Combining, with_combination};
use super::element::{Bool8, Element};
use super::parallel::threads_for;
use super::view::Selection;
use super::{Axis, Combination, ElementType, PrimitiveError, View, finished, lines};

/// What a scan does with the elements before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Combines them.
    Combine(Combination),
    /// Takes the first.
    Copy,
}

impl Scan {
    /// The scan of this name.
    pub fn parse(name: &str) -> Result<Self, PrimitiveError> {
        if name == "copy" { Ok(Self::Copy) } else { Combination::parse(name, &["copy"]).map(Self::Combine) }
    }
}

/// Which elements come before others in a scan, and whether an element counts itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// From high to low indices.
    pub downward: bool,
    /// Without the element itself.
    pub exclusive: bool,
}

/// Gives each element of `out` the combination of the elements of `x` up to it along the axis.
///
/// `segments` has a true value at the first element (lowest index) of each segment, whichever way the scan goes; no element
/// beyond its segment is counted. Flags count whether their element is selected or not. Elements that are not selected
/// are not counted and keep what `out` holds. Where an exclusive scan counts nothing the result is 0, all bits, or the
/// smallest or largest value of the type (minus or plus infinity), as the combination asks.
///
/// # Errors
///
/// A type without the combination, arrays of other types or lengths, arrays that overlap without being the same, and an
/// exclusive copy, which has nothing to begin with.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
///
/// # Examples
/// ```
/// use weft_kernels::primitives::{Axis, Combination, ElementType, Order, Scan, View, scan};
///
/// let (mut x, mut sums) = ([1_i32, 2, 3, 4, 5], [0_i32; 5]);
/// let mut begins = [true, false, false, true, false];
/// let view = |pointer: *mut u8, kind| View { kind, pointer, length: 5 };
/// let (x, out) = (x.as_mut_ptr().cast(), sums.as_mut_ptr().cast());
/// let (x, out) = (view(x, ElementType::Int32), view(out, ElementType::Int32));
/// let segments = view(begins.as_mut_ptr().cast(), ElementType::Bool);
/// let (axis, order) = (Axis::of(&[5], 0).unwrap(), Order::default());
/// // SAFETY: the views are of arrays that outlive the call.
/// unsafe { scan(x, out, Scan::Combine(Combination::Add), axis, Some(&segments), None, order, Some(1)) }.unwrap();
/// assert_eq!(sums, [1, 3, 6, 4, 9]);
/// ```
#[allow(clippy::too_many_arguments)] // arrays, what to do, and under which selection
pub unsafe fn scan<'a>(
    x: View,
    out: View,
    what: Scan,
    axis: Axis,
    segments: Option<&View>,
    selection: Option<&View>,
    order: Order,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    x.check_length("x", axis.length())?;
    out.check_length("out", axis.length())?;
    out.check_type("out", x.kind)?;
    if x.overlaps(&out) && !x.is_same(&out) {
        return Err(PrimitiveError::Overlap { one: "x", other: "out" });
    }
    // SAFETY: the selection's memory is what `View` says (this function's condition).
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    let segments = match segments {
        None => None,
        Some(view) => {
            view.check_type("segments", ElementType::Bool)?;
            view.check_length("segments", out.length)?;
            view.check_apart("segments", &out, "out")?;
            // SAFETY: the segments' memory is what `View` says (this function's condition), and they are of bool.
            Some(unsafe { view.slice::<Bool8>() })
        }
    };
    let bytes = x.bytes() + out.bytes();
    let streaming = lines::passes_caches(bytes);
    let work = Work { x, out, axis, segments, selection, order, threads: threads_for(threads, bytes), streaming, stop };
    match what {
        Scan::Combine(combination) => with_combination(x.kind, combination, work)?,
        Scan::Copy if order.exclusive => {
            return Err(PrimitiveError::Meaningless(
                "a copy has nothing to begin with, so it cannot be exclusive: shift the result of an inclusive one",
            ));
        }
        // What is copied need not be understood.
        Scan::Copy => match x.kind.size() {
            1 => work.accumulated::<u8, First>(),
            2 => work.accumulated::<u16, First>(),
            4 => work.accumulated::<u32, First>(),
            _ => work.accumulated::<u64, First>(),
        },
    }
    finished(stop)
}

/// A scan whose arrays have been checked.
struct Work<'a> {
    x: View,
    out: View,
    axis: Axis,
    segments: Option<&'a [Bool8]>,
    selection: Selection<'a>,
    order: Order,
    threads: usize,
    streaming: bool,
    stop: Stop<'a>,
}

impl Combining for Work<'_> {
    type Output = ();
    fn run<T: Element, C: Combine<T>>(self) {
        self.accumulated::<T, By<C>>();
    }
}

impl Work<'_> {
    fn accumulated<T: Element, A: Accumulate<T>>(&self) {
        if self.out.length == 0 {
            return;
        }
        if self.axis.after == 1 {
            rows::scan::<T, A>(self);
        } else {
            columns::scan::<T, A>(self);
        }
    }

    fn source<T>(&self) -> *const T {
        self.x.pointer.cast_const().cast()
    }

    fn target<T>(&self) -> *mut T {
        self.out.pointer.cast()
    }
}
