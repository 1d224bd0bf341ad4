//! Parts of arrays: the sites of a region, from an array that holds whatever they need.

use weft_simd::{MAX_THREADS, on_threads};

use crate::Stop;

use super::arrays::{Job, OUTER, Source, Target};
use super::block::Region;
use super::description::Boundary;
use super::element::Element;
use super::error::StencilError;
use super::plan::Plan;
use super::steps;

/// Bytes of a region's row below which results are written by cached stores: there would be no whole lines for
/// non-temporal ones.
const SHORT_ROW: usize = 256;

impl<T: Element> Plan<T> {
    /// Applies the stencil to the sites of a region, for `count` right-hand sides.
    ///
    /// The plan is made for arrays that hold the region and all that the stencil reaches from it: a block of a distributed
    /// array with its ghosts. Beyond their ends the plan's boundary comes in, as for whole arrays, so that an axis has ghosts
    /// on the sides where the array goes on elsewhere and none where it ends, and a boundary array has values for ghosts of
    /// the other axes. Sites outside of the region are neither written nor, beyond the stencil's reach, read; coefficient
    /// arrays are read at the region's sites only. A plan of several steps takes them in one sweep, and reads as many times
    /// as far: rows and indices along the third axis are then either whole or that far from the ends of a circular axis.
    /// Raises [`StencilError::Call`] for a region outside of the plan's extents, and for several steps that are not taken in
    /// one sweep ([`Plan::steps_in_a_sweep`]).
    ///
    /// # Safety
    /// As for [`Plan::apply`], of the sites that are read and written; borrowed coefficients are valid for the region.
    pub unsafe fn apply_region(
        &self,
        source: &Source<'_, T>,
        target: &Target<'_, T>,
        count: usize,
        region: &Region,
    ) -> Result<(), StencilError> {
        self.check_region(region)?;
        if count == 0 || region.sites() == 0 {
            return Ok(());
        }
        let components = self.options().components;
        let (outer, last) = region.ranges.split_at(self.axes - 1);
        let columns = (last[0].0 * components, last[0].1 * components);
        let mut ranges = [(0, 1); OUTER];
        for (range, &(from, to)) in ranges.iter_mut().zip(outer) {
            *range = (from as isize, to as isize);
        }
        let is_short = (columns.1 - columns.0) * size_of::<T>() < SHORT_ROW;
        let from_memory = self.streams(count);
        let job = Job {
            input: self.view(source.base.cast_mut(), source.layout),
            output: self.view(target.base, target.layout),
            ranges,
            columns,
            count,
            streaming: from_memory && !is_short,
            from_memory,
        };
        let parts = self.parts(&job);
        // SAFETY: memory is valid for the region and what the stencil reaches (this function's condition), of which each
        // part is one, and parts write different rows.
        on_threads(parts.len(), |number| unsafe { self.part(&parts[number]) });
        Ok(())
    }

    /// The parts of a job that threads do, cut along the first axis that is not the row.
    fn parts(&self, job: &Job<T>) -> Vec<Job<T>> {
        let (from, to) = job.ranges[0];
        let threads = self.options().threads.min(MAX_THREADS) as isize;
        if self.axes == 1 || threads < 2 || to - from < 2 {
            return vec![*job];
        }
        let length = (to - from).div_euclid(threads) + isize::from((to - from) % threads != 0);
        let starts = (from..to).step_by(length as usize);
        let of = |start: isize| {
            let mut part = *job;
            part.ranges[0] = (start, (start + length).min(to));
            part
        };
        starts.map(of).collect()
    }

    /// # Safety
    /// See [`apply_region`](Plan::apply_region).
    unsafe fn part(&self, job: &Job<T>) {
        let mut work = self.work();
        // SAFETY: the part is one of a region for which memory and coefficients are valid (this function's condition).
        unsafe { steps::run_part(self, job, self.options().steps, &mut work, Stop::NEVER) };
        self.give_back(work);
    }

    fn check_region(&self, region: &Region) -> Result<(), StencilError> {
        let refuse = |message: String| Err(StencilError::Call(message));
        let steps = self.options().steps;
        if steps != self.steps_in_a_sweep() {
            return refuse(format!(
                "a region is computed in one sweep; this plan takes its {steps} steps {} at a time",
                self.steps_in_a_sweep()
            ));
        }
        if region.ranges.len() != self.axes {
            return refuse(format!("a region of {} axes in arrays of {}", region.ranges.len(), self.axes));
        }
        for (axis, (&(from, to), &extent)) in region.ranges.iter().zip(self.extents()).enumerate() {
            if from > to || to > extent {
                return refuse(format!("the region {from}..{to} along axis {axis} is not within 0..{extent}"));
            }
            let (low, high) = self.reach()[axis];
            let further = |reach: usize| (steps - 1) * reach;
            let is_inner = from >= further(low) && to + further(high) <= extent;
            let wraps = matches!(self.boundaries[axis], Boundary::Circular);
            let is_streamed = axis < 2 && axis + 1 < self.axes;
            if wraps && !is_streamed && (from, to) != (0, extent) && !is_inner {
                return refuse(format!(
                    "{steps} steps of the region {from}..{to} along axis {axis} reach around the end at {extent}; take the \
                     whole axis or one step at a time"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Boundary, Coefficient, Options, Point, Stencil};
    use super::*;

    /// A stencil of three axes.
    fn plan(extents: &[usize], threads: usize, boundary: u8, star: bool) -> Plan<f64> {
        stepping(extents, boundary, star, Options { threads, ..Options::default() })
    }

    fn stepping(extents: &[usize], boundary: u8, star: bool, options: Options) -> Plan<f64> {
        let offsets: Vec<Vec<isize>> = (0..27)
            .map(|number| vec![number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1])
            .filter(|offset: &Vec<isize>| !star || offset.iter().filter(|&&by| by != 0).count() < 2)
            .collect();
        let points = offsets
            .into_iter()
            .enumerate()
            .map(|(number, offset)| Point { offset, coefficient: Coefficient::Constant(number as f64 - 9.5) });
        let stencil = Stencil::new(3, points.collect()).unwrap();
        let boundaries = (0..3)
            .map(|axis| match boundary {
                0 => Boundary::Circular,
                1 => Boundary::Value(3.0),
                _ => {
                    let length: usize = (0..3).filter(|&other| other != axis).map(|other| extents[other]).product();
                    Boundary::Array((0..length).map(|number| (number % 11) as f64).collect())
                }
            })
            .collect();
        Plan::new(&stencil, extents, boundaries, options).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn a_region_is_that_part_of_the_whole_and_nothing_else(
            extents in proptest::collection::vec(1usize..9, 3), cuts in proptest::collection::vec((0usize..9, 0usize..9), 3),
            threads in 1usize..4, boundary in 0u8..3, star: bool, count in 1usize..3,
        ) {
            let plan = plan(&extents, threads, boundary, star);
            let elements: usize = extents.iter().product();
            let source: Vec<f64> = (0..elements * count).map(|number| ((number * 7919) % 101) as f64).collect();
            let mut whole = vec![0.0; source.len()];
            plan.apply_slices(&source, &mut whole).unwrap();
            let ranges: Vec<(usize, usize)> = cuts
                .iter()
                .zip(&extents)
                .map(|(&(a, b), &extent)| (a.min(b).min(extent), a.max(b).min(extent)))
                .collect();
            let region = Region { ranges: ranges.clone() };
            let mut actual = vec![-1.0; source.len()];
            let layout = plan.contiguous();
            // SAFETY: both are whole arrays of the plan's shape.
            unsafe {
                let source = Source { base: source.as_ptr(), layout: &layout };
                let target = Target { base: actual.as_mut_ptr(), layout: &layout };
                plan.apply_region(&source, &target, count, &region).unwrap();
            }
            for (number, (&actual, &whole)) in actual.iter().zip(&whole).enumerate() {
                let site = number % elements;
                let index = [site / (extents[1] * extents[2]), site / extents[2] % extents[1], site % extents[2]];
                let is_inside = index.iter().zip(&ranges).all(|(at, &(from, to))| (from..to).contains(at));
                prop_assert_eq!(actual, if is_inside { whole } else { -1.0 }, "at {:?}", index);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn several_steps_of_a_region_are_that_part_of_the_whole(
            extents in proptest::collection::vec(1usize..14, 3),
            cuts in proptest::collection::vec((0usize..14, 0usize..14), 3),
            steps in 2usize..5, threads in 1usize..3, boundary in 0u8..3, star: bool,
        ) {
            let options = Options { threads, steps, steps_at_once: Some(steps), ..Options::default() };
            let plan = stepping(&extents, boundary, star, options);
            prop_assert_eq!(plan.steps_in_a_sweep(), steps);
            let elements: usize = extents.iter().product();
            let source: Vec<f64> = (0..elements).map(|number| ((number * 7919) % 101) as f64).collect();
            let mut whole = vec![0.0; elements];
            plan.apply_slices(&source, &mut whole).unwrap();
            let mut ranges: Vec<(usize, usize)> = cuts
                .iter()
                .zip(&extents)
                .map(|(&(a, b), &extent)| (a.min(b).min(extent), a.max(b).min(extent)))
                .collect();
            // Rows that end near the end of a circular axis are whole.
            let (from, to) = ranges[2];
            if boundary == 0 && (from < steps - 1 || to + steps - 1 > extents[2]) {
                ranges[2] = (0, extents[2]);
            }
            let region = Region { ranges: ranges.clone() };
            let mut actual = vec![-1.0; elements];
            let layout = plan.contiguous();
            // SAFETY: both are whole arrays of the plan's shape.
            unsafe {
                let source = Source { base: source.as_ptr(), layout: &layout };
                let target = Target { base: actual.as_mut_ptr(), layout: &layout };
                plan.apply_region(&source, &target, 1, &region).unwrap();
            }
            for (site, (&actual, &whole)) in actual.iter().zip(&whole).enumerate() {
                let index = [site / (extents[1] * extents[2]), site / extents[2] % extents[1], site % extents[2]];
                let is_inside = index.iter().zip(&ranges).all(|(at, &(from, to))| (from..to).contains(at));
                prop_assert_eq!(actual.to_bits(), if is_inside { whole } else { -1.0 }.to_bits(), "at {:?}", index);
            }
        }
    }

    #[test]
    fn several_steps_that_reach_around_are_refused() {
        let options = Options { steps: 3, steps_at_once: Some(3), ..Options::default() };
        let plan = stepping(&[4, 4, 8], 0, true, options);
        let (layout, source, mut target) = (plan.contiguous(), vec![0.0; 128], vec![0.0; 128]);
        let region = Region { ranges: vec![(0, 4), (0, 4), (1, 5)] };
        // SAFETY: both are whole arrays of the plan's shape.
        let refused = unsafe {
            let source = Source { base: source.as_ptr(), layout: &layout };
            let target = Target { base: target.as_mut_ptr(), layout: &layout };
            plan.apply_region(&source, &target, 1, &region).unwrap_err().to_string()
        };
        assert!(refused.starts_with("3 steps of the region 1..5 along axis 2 reach around the end at 8"), "{refused}");
    }

    #[test]
    fn regions_outside_are_refused() {
        let plan = plan(&[4, 4, 4], 1, 0, true);
        let refused = |ranges: Vec<(usize, usize)>| {
            let layout = plan.contiguous();
            let (source, mut target) = (vec![0.0; 64], vec![0.0; 64]);
            // SAFETY: both are whole arrays of the plan's shape.
            unsafe {
                let source = Source { base: source.as_ptr(), layout: &layout };
                let target = Target { base: target.as_mut_ptr(), layout: &layout };
                plan.apply_region(&source, &target, 1, &Region { ranges }).unwrap_err().to_string()
            }
        };
        assert_eq!(refused(vec![(0, 4), (0, 5), (0, 4)]), "the region 0..5 along axis 1 is not within 0..4");
        assert_eq!(refused(vec![(0, 4)]), "a region of 1 axes in arrays of 3");
    }
}

#[cfg(test)]
mod long_rows {
    use crate::stencil::{Boundary, Coefficient, Options, Plan, Point, Region, Source, Stencil, Target};

    const OUTER: [usize; 2] = [5, 6];

    /// The points of a star or a box of three axes, with coefficients that are whole numbers, so that sums are exact.
    fn points(star: bool) -> Vec<(Vec<isize>, f64)> {
        let offsets = (0..27).map(|n: isize| vec![n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1]);
        let offsets = offsets.filter(|offset| !star || offset.iter().filter(|&&by| by != 0).count() < 2);
        offsets.enumerate().map(|(number, offset)| (offset, (3 * number % 11) as f64 - 4.0)).collect()
    }

    fn value(site: usize) -> f64 {
        (site * 7919 % 1013) as f64
    }

    /// Applies the stencil to rows from one column to another, of an array that begins so many elements after a line.
    fn check(star: bool, row: usize, columns: (usize, usize), begin: usize) {
        let points = points(star);
        let described = points.iter().map(|(offset, weight)| {
            let coefficient = Coefficient::Constant(*weight);
            Point { offset: offset.clone(), coefficient }
        });
        let stencil = Stencil::new(3, described.collect()).unwrap();
        let extents = [OUTER[0], OUTER[1], row];
        let options = Options { streaming_from: 0, ..Options::default() };
        let plan = Plan::new(&stencil, &extents, vec![Boundary::Circular; 3], options).unwrap();
        let sites: usize = extents.iter().product();
        let source: Vec<f64> = (0..sites).map(value).collect();
        let mut target = vec![-1.0; sites + 16];
        let start = target.as_ptr().align_offset(64) + begin;
        let region = Region { ranges: vec![(1, OUTER[0] - 1), (1, OUTER[1] - 1), columns] };
        let layout = plan.contiguous();
        // SAFETY: both have all sites.
        unsafe {
            let source = Source { base: source.as_ptr(), layout: &layout };
            let target = Target { base: target.as_mut_ptr().add(start), layout: &layout };
            plan.apply_region(&source, &target, 1, &region).unwrap();
        }
        for site in 0..sites {
            let index = [site / row / OUTER[1], site / row % OUTER[1], site % row];
            let is_inner = index.iter().zip(&region.ranges).all(|(&at, &(from, to))| at >= from && at < to);
            let expected: f64 = points
                .iter()
                .map(|(offset, weight)| {
                    let neighbour = (0..3).fold(0, |sum, axis| {
                        sum * extents[axis]
                            + (index[axis] + extents[axis]).wrapping_add_signed(offset[axis]) % extents[axis]
                    });
                    weight * value(neighbour)
                })
                .sum();
            let actual = target[start + site];
            let expected = if is_inner { expected } else { -1.0 };
            assert_eq!(actual, expected, "star {star}, rows of {row}, columns {columns:?}, begin {begin}, {index:?}");
        }
    }

    /// Rows of a block with ghosts on both sides are whole vectors that begin elsewhere in each row.
    #[test]
    fn long_rows_of_a_region_are_right_wherever_they_begin() {
        for star in [true, false] {
            for row in [34, 36, 38, 40, 41, 50, 130] {
                for columns in [(1, row - 1), (2, row), (2, 34), (0, 32), (0, row)] {
                    for begin in 0..8 {
                        check(star, row, columns, begin);
                    }
                }
            }
        }
    }
}
