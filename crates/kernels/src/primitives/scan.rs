//! Scans along an axis.

use super::combination::{Combine, Combining, with_combination};
use super::element::{Element, Truth};
use super::view::Selection;
use super::{Axis, Combination, ElementType, PrimitiveError, View};

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
    pub fn parse(given: &str) -> Result<Self, PrimitiveError> {
        if given == "copy" { Ok(Self::Copy) } else { Combination::parse(given, &["copy"]).map(Self::Combine) }
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
#[allow(clippy::too_many_arguments)] // arrays, what to do, and under which selection
pub unsafe fn scan(
    x: View,
    out: View,
    what: Scan,
    axis: Axis,
    segments: Option<&View>,
    selection: Option<&View>,
    order: Order,
    threads: Option<usize>,
) -> Result<(), PrimitiveError> {
    x.check_length("x", axis.length())?;
    out.check_length("out", axis.length())?;
    out.check_type("out", x.kind)?;
    if x.overlaps(&out) && !x.is_same(&out) {
        return Err(PrimitiveError::Overlap { one: "x", other: "out" });
    }
    // SAFETY: the caller's.
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    let segments = match segments {
        None => Selection(None),
        Some(view) => {
            view.check_type("segments", ElementType::Bool)?;
            view.check_length("segments", out.length)?;
            view.check_apart("segments", &out, "out")?;
            // SAFETY: the caller's.
            Selection(Some(unsafe { view.slice::<Truth>() }))
        }
    };
    let _ = threads;
    let work = Work { x, out, axis, segments, selection, order };
    match what {
        Scan::Combine(combination) => with_combination(x.kind, combination, work),
        Scan::Copy if order.exclusive => Err(PrimitiveError::Meaningless(
            "a copy has nothing to begin with, so it cannot be exclusive: shift the result of an inclusive one",
        )),
        Scan::Copy => {
            macro_rules! copied {
                ($($kind:ident $type:ident)*) => { match x.kind { $(ElementType::$kind => work.copied::<$type>(),)* } };
            }
            copied! {
                Bool Truth Int8 i8 Int16 i16 Int32 i32 Int64 i64 Uint8 u8 Uint16 u16 Uint32 u32 Uint64 u64
                Float32 f32 Float64 f64
            }
            Ok(())
        }
    }
}

struct Work<'a> {
    x: View,
    out: View,
    axis: Axis,
    segments: Selection<'a>,
    selection: Selection<'a>,
    order: Order,
}

impl Combining for Work<'_> {
    type Output = ();
    fn run<T: Element, C: Combine<T>>(self) {
        let (x, out) = (self.x.pointer.cast::<T>(), self.out.pointer.cast::<T>());
        self.lines(|place, state: &mut Option<T>| {
            // SAFETY: places are within the arrays.
            let value = unsafe { *x.add(place) };
            let before = state.unwrap_or(C::IDENTITY);
            let with = C::combine(before, value);
            *state = Some(with);
            unsafe { *out.add(place) = if self.order.exclusive { before } else { with } };
        });
    }
}

impl Work<'_> {
    fn copied<T: Element>(&self) {
        let (x, out) = (self.x.pointer.cast::<T>(), self.out.pointer.cast::<T>());
        self.lines(|place, state: &mut Option<T>| {
            // SAFETY: places are within the arrays.
            unsafe { *out.add(place) = *state.get_or_insert(*x.add(place)) };
        });
    }

    fn lines<T>(&self, mut step: impl FnMut(usize, &mut Option<T>)) {
        let Axis { before, extent, after } = self.axis;
        for line in 0..before * after {
            let (outer, inner) = (line / after, line % after);
            let mut state = None;
            for number in 0..extent {
                let index = if self.order.downward { extent - 1 - number } else { number };
                let place = (outer * extent + index) * after + inner;
                let flagged = self.segments.0.is_some_and(|flags| flags[place].holds());
                if flagged && !self.order.downward {
                    state = None;
                }
                if self.selection.holds(place) {
                    step(place, &mut state);
                }
                if flagged && self.order.downward {
                    state = None;
                }
            }
        }
    }
}
