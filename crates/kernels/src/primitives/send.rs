//! Sends: each element to where its index says, with combining.

use super::combination::{Combine, Combining, with_combination};
use super::element::Element;
use super::indices::{Index, Indexing, check_indices, with_indices};
use super::view::Selection;
use super::{Combination, PrimitiveError, View};

/// What happens where several elements are sent to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collisions {
    /// They are combined with each other and with what is there, in the order of the senders.
    Combine(Combination),
    /// The last sender's replaces what is there.
    Overwrite,
    /// It is an error; one alone replaces what is there.
    Refuse,
}

impl Collisions {
    /// By name; none: an error.
    pub fn parse(given: Option<&str>) -> Result<Self, PrimitiveError> {
        match given {
            None => Ok(Self::Refuse),
            Some("overwrite") => Ok(Self::Overwrite),
            Some(name) => Combination::parse(name, &["overwrite"]).map(Self::Combine),
        }
    }
}

/// Sends each selected element of `x` to the element of `out` with the flat index in `index`. Elements of `out` that
/// nothing is sent to keep what they hold.
///
/// # Errors
///
/// An index of a selected element that `out` does not have and, where collisions are refused, two selected elements with
/// the same index (nothing is written in either case); an `index` of another length than `x` or not of int32 or int64, an
/// `out` of another type than `x`, a type without the combination, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn send(
    x: View,
    index: View,
    out: View,
    collisions: Collisions,
    selection: Option<&View>,
    threads: Option<usize>,
) -> Result<(), PrimitiveError> {
    index.check_length("index", x.length)?;
    out.check_type("out", x.kind)?;
    x.check_apart("x", &out, "out")?;
    index.check_apart("index", &out, "out")?;
    // SAFETY: the caller's.
    let selection = unsafe { Selection::checked(selection, x.length, None)? };
    let _ = threads;
    with_indices(&index, Work { x, index, out, collisions, selection })
}

struct Work<'a> {
    x: View,
    index: View,
    out: View,
    collisions: Collisions,
    selection: Selection<'a>,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index + Element>(self) -> Result<(), PrimitiveError> {
        // SAFETY: `send` was promised readable views.
        let index = unsafe { self.index.slice::<I>() };
        check_indices(index, self.selection, self.out.length, "destination")?;
        let item = self.x.kind.size();
        if self.collisions == Collisions::Refuse {
            let mut senders = vec![usize::MAX; self.out.length];
            for (element, index) in index.iter().enumerate().filter(|(element, _)| self.selection.holds(*element)) {
                let first = std::mem::replace(&mut senders[index.place()], element);
                if first != usize::MAX {
                    return Err(PrimitiveError::Collision { first, second: element, destination: index.place() });
                }
            }
        }
        if let Collisions::Combine(combination) = self.collisions {
            return with_combination(
                self.x.kind,
                combination,
                Combined { index, x: self.x, out: self.out, selection: self.selection },
            );
        }
        for (element, index) in index.iter().enumerate().filter(|(element, _)| self.selection.holds(*element)) {
            // SAFETY: the index was checked.
            unsafe {
                let to = self.out.pointer.add(index.place() * item);
                std::ptr::copy_nonoverlapping(self.x.pointer.add(element * item), to, item);
            }
        }
        Ok(())
    }
}

struct Combined<'a, I> {
    index: &'a [I],
    x: View,
    out: View,
    selection: Selection<'a>,
}

impl<I: Index> Combining for Combined<'_, I> {
    type Output = ();
    fn run<T: Element, C: Combine<T>>(self) {
        // SAFETY: `send` was promised such views, and found their types.
        let (x, out) = unsafe { (self.x.slice::<T>(), self.out.slice_mut::<T>()) };
        for (element, (&x, index)) in x.iter().zip(self.index).enumerate() {
            if self.selection.holds(element) {
                let to = &mut out[index.place()];
                *to = C::combine(*to, x);
            }
        }
    }
}
