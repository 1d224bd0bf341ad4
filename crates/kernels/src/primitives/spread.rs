//! Spreads: the elements at one index of an axis, at every index of it.

use super::elementwise::blend;
use super::parallel::threads_for;
use super::view::Selection;
use super::{PrimitiveError, View};

/// An axis of an array: how many elements have the axes before it together, it itself, and the axes after it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub before: usize,
    pub extent: usize,
    pub after: usize,
}

impl Axis {
    /// Axis `axis` of a shape. Raises an error where the shape has no such axis.
    pub fn of(shape: &[usize], axis: usize) -> Result<Self, PrimitiveError> {
        if axis >= shape.len() {
            let last = shape.len() as isize - 1;
            return Err(PrimitiveError::Range { what: "axis", given: axis, last });
        }
        Ok(Self {
            before: shape[..axis].iter().product(),
            extent: shape[axis],
            after: shape[axis + 1..].iter().product(),
        })
    }

    pub(super) fn length(self) -> usize {
        self.before * self.extent * self.after
    }
}

/// Gives every element of `out` the element of `x` that has `index` along the axis and the same place otherwise. Elements
/// of `out` that are not selected keep what they hold; what is spread need not be selected.
///
/// # Errors
///
/// An index beyond the axis, arrays of other types or lengths, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn spread(
    x: View,
    out: View,
    axis: Axis,
    index: usize,
    selection: Option<&View>,
    threads: Option<usize>,
) -> Result<(), PrimitiveError> {
    x.check_length("x", axis.length())?;
    out.check_length("out", axis.length())?;
    out.check_type("out", x.kind)?;
    x.check_apart("x", &out, "out")?;
    // SAFETY: the caller's.
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    if index >= axis.extent {
        return Err(PrimitiveError::Range { what: "index", given: index, last: axis.extent as isize - 1 });
    }
    let _ = threads_for(threads, out.bytes());
    let item = x.kind.size();
    let row = axis.after * item;
    for before in 0..axis.before {
        let source = unsafe { x.pointer.add((before * axis.extent + index) * row) };
        for place in 0..axis.extent {
            let first = (before * axis.extent + place) * axis.after;
            // SAFETY: the caller's; rows are within the arrays.
            unsafe {
                let target = out.pointer.add(first * item);
                match selection.0 {
                    None => std::ptr::copy_nonoverlapping(source, target, row),
                    Some(truths) => blend(source, target, &truths[first..first + axis.after], item),
                }
            }
        }
    }
    Ok(())
}
