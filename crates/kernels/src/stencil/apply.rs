//! Applies plans to whole arrays.

use crate::Stop;

use super::arrays::{Source, Target};
use super::element::Element;
use super::error::StencilError;
use super::plan::Plan;
use super::steps;

impl<T: Element> Plan<T> {
    /// Applies the stencil to a contiguous array, as many steps as the plan has. Raises [`StencilError::Call`].
    pub fn apply_slices(&self, source: &[T], target: &mut [T]) -> Result<(), StencilError> {
        let elements = self.elements();
        for (name, length) in [("source", source.len()), ("target", target.len())] {
            if elements == 0 && length == 0 {
                continue;
            }
            if elements == 0 || length == 0 || length % elements != 0 || length != source.len() {
                return Err(StencilError::Call(format!(
                    "the {name} has {length} elements; arrays of {:?} sites with {} components have {elements}, and source \
                     and target must be as many arrays",
                    self.extents, self.options.components
                )));
            }
        }
        let count = source.len().checked_div(elements).unwrap_or(0);
        let layout = self.contiguous();
        let (source, target) = (source.as_ptr(), target.as_mut_ptr());
        // SAFETY: both are whole arrays of the plan's shape, and a mutable slice overlaps no other.
        unsafe {
            self.apply(&Source { base: source, layout: &layout }, &Target { base: target, layout: &layout }, count)
        }
        Ok(())
    }

    /// Applies the stencil to `count` right-hand sides, as many steps as the plan has.
    ///
    /// # Safety
    /// `source` and `target` are valid for every site of every right-hand side, and do not overlap. Strides have one entry
    /// for each axis but the last. Borrowed coefficients are not written meanwhile.
    pub unsafe fn apply(&self, source: &Source<'_, T>, target: &Target<'_, T>, count: usize) {
        // SAFETY: source and target are valid and do not overlap, and strides are those of the plan's axes (this
        // function's conditions), which is all that `apply_until` asks.
        unsafe { self.apply_until(source, target, count, Stop::NEVER) };
    }

    /// As [`apply`](Self::apply), unless `stop` is asked for meanwhile: between the planes of axis 0 of every sweep, when
    /// `target` holds anything afterwards. Whether it was done to its end.
    ///
    /// # Safety
    /// As for [`apply`](Self::apply).
    pub unsafe fn apply_until(
        &self,
        source: &Source<'_, T>,
        target: &Target<'_, T>,
        count: usize,
        stop: Stop<'_>,
    ) -> bool {
        if count > 0 && self.elements() > 0 {
            // SAFETY: source and target are valid for every site of every right-hand side, and do not overlap (this
            // function's conditions).
            unsafe { steps::run(self, source, target, count, stop) }
        }
        !stop.is_requested()
    }
}
