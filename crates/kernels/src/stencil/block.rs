//! Blocks with halos: the part of a distributed array that one rank holds.

use crate::Stop;

use super::arrays::{Ends, Job, OUTER, View};
use super::description::Boundary;
use super::element::Element;
use super::error::StencilError;
use super::plan::Plan;

/// Sites that a block has beyond its own, below and above along each axis.
pub type Halo = [(usize, usize)];

/// Sites of a block, its halo not counted: first and one past the last along each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// For each axis.
    pub ranges: Vec<(usize, usize)>,
}

impl Region {
    /// All of a block.
    pub fn whole(extents: &[usize]) -> Region {
        Region { ranges: extents.iter().map(|&extent| (0, extent)).collect() }
    }

    /// How many sites it has.
    pub fn sites(&self) -> usize {
        self.ranges.iter().map(|&(start, end)| end.saturating_sub(start)).product()
    }
}

/// Splits a block into the sites that need nothing from beyond the sides in `waiting` (sites that the stencil reaches
/// across a side whose halo is still on its way, 0 across others), and the rest in pieces that do not overlap. Compute the
/// first while faces travel, the second when they are there. Empty pieces are left out; a block too small for an interior
/// is one piece of rim.
pub fn interior_and_rim(extents: &[usize], waiting: &Halo) -> (Region, Vec<Region>) {
    let mut ranges: Vec<(usize, usize)> = extents.iter().map(|&extent| (0, extent)).collect();
    let mut rim = Vec::new();
    for (axis, &(low, high)) in waiting.iter().enumerate().take(extents.len()) {
        let extent = extents[axis];
        let start = low.min(extent);
        let end = extent.saturating_sub(high).max(start);
        for piece in [(0, start), (end, extent)] {
            let mut piece_ranges = ranges.clone();
            piece_ranges[axis] = piece;
            let piece = Region { ranges: piece_ranges };
            if piece.sites() > 0 {
                rim.push(piece);
            }
        }
        ranges[axis] = (start, end);
    }
    (Region { ranges }, rim)
}

impl<T: Element> Plan<T> {
    /// Applies one step of the stencil to a region of a padded block.
    ///
    /// The plan is made for the block's own extents. `padded` is a C-contiguous array with `halo` more sites on each side of
    /// each axis (elements of a site together, as in [`super::Options::components`]); `output` is a C-contiguous array of the
    /// block's own extents, of which only the region is written. A side whose halo is at least as wide as the stencil
    /// reaches is read from memory; a side without a halo gets the plan's boundary on the fly (an axis that is not
    /// distributed, or an end of the whole array), also at sites that lie in the halo of a later axis. Raises [`StencilError::Call`] for a halo in between, a region outside
    /// the block, slices of other lengths, more than one step.
    pub fn apply_block(
        &self,
        padded: &[T],
        halo: &Halo,
        output: &mut [T],
        region: &Region,
    ) -> Result<(), StencilError> {
        let components = self.options().components;
        if halo.len() == self.extents().len() {
            let sites: usize =
                self.extents().iter().zip(halo).map(|(&extent, &(low, high))| low + extent + high).product();
            if padded.len() != sites * components || output.len() != self.elements() {
                return Err(StencilError::Call(format!(
                    "a block of {:?} sites with a halo of {halo:?} has {} elements and a result of {}; got {} and {}",
                    self.extents(),
                    sites * components,
                    self.elements(),
                    padded.len(),
                    output.len()
                )));
            }
        }
        // SAFETY: both slices have every site that the check in `apply_block_raw` lets the kernels reach.
        unsafe { self.apply_block_raw(padded.as_ptr(), halo, output.as_mut_ptr(), region) }
    }

    /// [`apply_block`](Self::apply_block) on memory that others may write meanwhile: the halo, while the interior is
    /// computed. Raises the same errors.
    ///
    /// # Safety
    /// `padded` is valid for a block with this halo, and `output` for a block without; they do not overlap. Nobody writes
    /// the sites that the region and the stencil's reach make this read, nor touches the region in `output`.
    pub unsafe fn apply_block_raw(
        &self,
        padded: *const T,
        halo: &Halo,
        output: *mut T,
        region: &Region,
    ) -> Result<(), StencilError> {
        self.check_block(halo, region)?;
        if self.elements() == 0 || region.sites() == 0 {
            return Ok(());
        }
        let components = self.options().components;
        let extents = self.extents();
        let mut ends = Ends::default();
        let mut strides = [0; OUTER];
        let (mut step, mut start) = (components as isize, 0);
        for axis in (0..self.axes).rev() {
            let (low, high) = halo[axis];
            let slot = if axis + 1 == self.axes { OUTER } else { axis };
            ends.low[slot] = low > 0;
            ends.high[slot] = high > 0;
            start += low as isize * step;
            if axis + 1 < self.axes {
                strides[axis] = step;
            }
            step *= (low + extents[axis] + high) as isize;
        }
        let base = padded.wrapping_offset(start).cast_mut();
        let input = View { base, strides, between: 0, ring: None, origin: 0, ends };
        let mut ranges = [(0, 1); OUTER];
        for (range, wanted) in ranges.iter_mut().zip(&region.ranges[..self.axes - 1]) {
            *range = (wanted.0 as isize, wanted.1 as isize);
        }
        let columns = region.ranges[self.axes - 1];
        let columns = (columns.0 * components, columns.1 * components);
        let output = self.view(output, &self.contiguous());
        let job =
            Job { input, output, ranges, columns, count: 1, streaming: self.streams(1), from_memory: self.streams(1) };
        let mut work = self.work();
        // SAFETY: the padded block and the output are valid for the region (this function's condition), and halos reach
        // as far as the stencil where they are read, which was checked.
        unsafe { self.step(&job, &mut work, Stop::NEVER) };
        self.give_back(work);
        Ok(())
    }

    fn check_block(&self, halo: &Halo, region: &Region) -> Result<(), StencilError> {
        let refuse = |message: String| Err(StencilError::Call(message));
        let extents = self.extents();
        if halo.len() != self.axes || region.ranges.len() != self.axes {
            return refuse(format!(
                "a block of {} axes needs a halo and a range for each; got {} and {}",
                self.axes,
                halo.len(),
                region.ranges.len()
            ));
        }
        if self.options().steps != 1 {
            return refuse(format!(
                "a block is computed one step at a time; this plan has {} steps, between which halos must travel",
                self.options().steps
            ));
        }
        for (axis, &(start, end)) in region.ranges.iter().enumerate() {
            if start > end || end > extents[axis] {
                return refuse(format!(
                    "the region {start}..{end} along axis {axis} is not within 0..{}",
                    extents[axis]
                ));
            }
        }
        for (axis, (&(low, high), &(reach_low, reach_high))) in halo.iter().zip(self.reach()).enumerate() {
            for (side, width, reach) in [("below", low, reach_low), ("above", high, reach_high)] {
                if width > 0 && width < reach {
                    return refuse(format!(
                        "the halo {side} axis {axis} has {width} sites, the stencil reaches {reach}: give at least as many, or \
                         none to use the plan's boundary"
                    ));
                }
            }
        }
        self.check_boundary_arrays(halo)
    }

    /// A boundary array has no values for sites of another axis' halo.
    fn check_boundary_arrays(&self, halo: &Halo) -> Result<(), StencilError> {
        let has_halo = |axis: usize| halo[axis].0 > 0 || halo[axis].1 > 0;
        for (axis, boundary) in self.boundaries.iter().enumerate() {
            let (reach_low, reach_high) = self.reach()[axis];
            let on_the_fly = (halo[axis].0 == 0 && reach_low > 0) || (halo[axis].1 == 0 && reach_high > 0);
            if !matches!(boundary, Boundary::Array(_)) || !on_the_fly {
                continue;
            }
            for later in axis + 1..self.axes {
                if has_halo(later) && self.has_diagonal(axis, later) {
                    return Err(StencilError::Call(format!(
                        "axis {axis} has a boundary array, which has no values for the halo of axis {later} that diagonal \
                         points reach: fill a halo of axis {axis} with it instead"
                    )));
                }
            }
        }
        Ok(())
    }
}
