//! One axis of an array, and the others.

use super::PrimitiveError;

/// An axis of an array: how many elements have the axes before it together, it itself, and the axes after it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub before: usize,
    pub extent: usize,
    pub after: usize,
}

impl Axis {
    /// Axis `axis` of a shape.
    ///
    /// # Errors
    ///
    /// A shape without such an axis.
    pub fn of(shape: &[usize], axis: usize) -> Result<Self, PrimitiveError> {
        if axis >= shape.len() {
            let last = shape.len() as isize - 1;
            return Err(PrimitiveError::Range { what: "axis", value: axis, last });
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
