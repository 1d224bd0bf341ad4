//! Gets: each element from where its index says.

use super::element::Element;
use super::indices::{Index, Indexing, check_indices, with_indices};
use super::view::Selection;
use super::{PrimitiveError, View};

/// Gives each selected element of `out` the element of `x` with the flat index in `index`; several may take the same one.
///
/// # Errors
///
/// An index of a selected element that `x` does not have (nothing is written then), an `index` of another length than
/// `out` or not of int32 or int64, an `out` of another type than `x`, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn gather(
    x: View,
    index: View,
    out: View,
    selection: Option<&View>,
    threads: Option<usize>,
) -> Result<(), PrimitiveError> {
    index.check_length("index", out.length)?;
    out.check_type("out", x.kind)?;
    x.check_apart("x", &out, "out")?;
    index.check_apart("index", &out, "out")?;
    // SAFETY: the caller's.
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    let _ = threads;
    with_indices(&index, Work { x, index, out, selection })
}

struct Work<'a> {
    x: View,
    index: View,
    out: View,
    selection: Selection<'a>,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index + Element>(self) -> Result<(), PrimitiveError> {
        // SAFETY: `gather` was promised readable views.
        let index = unsafe { self.index.slice::<I>() };
        check_indices(index, self.selection, self.x.length, "source")?;
        let item = self.x.kind.size();
        for (element, index) in index.iter().enumerate() {
            if self.selection.holds(element) {
                // SAFETY: the index was checked.
                unsafe {
                    let from = self.x.pointer.add(index.place() * item);
                    std::ptr::copy_nonoverlapping(from, self.out.pointer.add(element * item), item);
                }
            }
        }
        Ok(())
    }
}
