//! Parts of arrays: the sites of a region, from an array that holds whatever they need.

use super::block::Region;
use super::element::Element;
use super::error::StencilError;
use super::plan::{OUTER, Plan, Source, Target};
use super::sweep::{Job, View};

/// Bytes of a region's row below which results are written through the caches: there would be no whole lines to send past
/// them.
const SHORT_ROW: usize = 256;

impl<T: Element> Plan<T> {
    /// Applies one step of the stencil to the sites of a region, for `count` right-hand sides.
    ///
    /// The plan is made for arrays that hold the region and all that the stencil reaches from it: a block of a distributed
    /// array with its ghosts. Beyond their ends the plan's boundary comes in, as for whole arrays, so that an axis has ghosts
    /// on the sides where the array goes on elsewhere and none where it ends, and a boundary array has values for ghosts of
    /// the other axes. Sites outside of the region are neither written nor, beyond the stencil's reach, read; coefficient
    /// arrays are read at the region's sites only. Raises [`StencilError::Call`] for a region outside of the plan's extents
    /// and for a plan of several steps.
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
        let Some((own, others)) = parts.split_first() else { return Ok(()) };
        std::thread::scope(|scope| {
            for part in others {
                // SAFETY: the caller's; parts write different rows.
                scope.spawn(|| unsafe { self.part(part) });
            }
            // SAFETY: as above.
            unsafe { self.part(own) }
        });
        Ok(())
    }

    /// The parts of a job that threads do, cut along the first axis that is not the row.
    fn parts(&self, job: &Job<T>) -> Vec<Job<T>> {
        let (from, to) = job.ranges[0];
        let threads = self.options().threads as isize;
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
        if self.has_varying() {
            // Right-hand sides that share coefficients along rows are computed row by row, so that these are read once.
            // SAFETY: the caller's.
            unsafe { self.step(job, &mut work) };
        } else {
            let side = |view: &View<T>, side: usize| View {
                base: view.base.wrapping_offset(side as isize * view.between),
                ..*view
            };
            for number in 0..job.count {
                let one = Job { input: side(&job.input, number), output: side(&job.output, number), count: 1, ..*job };
                // SAFETY: the caller's.
                unsafe { self.step(&one, &mut work) };
            }
        }
        self.give_back(work);
    }

    fn check_region(&self, region: &Region) -> Result<(), StencilError> {
        let refuse = |message: String| Err(StencilError::Call(message));
        if self.options().steps != 1 {
            return refuse(format!(
                "a region is computed one step at a time; this plan has {} steps, between which ghosts must travel",
                self.options().steps
            ));
        }
        if region.ranges.len() != self.axes {
            return refuse(format!("a region of {} axes in arrays of {}", region.ranges.len(), self.axes));
        }
        for (axis, (&(from, to), &extent)) in region.ranges.iter().zip(self.extents()).enumerate() {
            if from > to || to > extent {
                return refuse(format!("the region {from}..{to} along axis {axis} is not within 0..{extent}"));
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

    /// A stencil of three axes and arrays for it.
    fn plan(extents: &[usize], threads: usize, boundary: u8, star: bool) -> Plan<f64> {
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
        Plan::new(&stencil, extents, boundaries, Options { threads, ..Options::default() }).unwrap()
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
            let mut found = vec![-1.0; source.len()];
            let layout = plan.contiguous();
            // SAFETY: both are whole arrays of the plan's shape.
            unsafe {
                let source = Source { base: source.as_ptr(), layout: &layout };
                let target = Target { base: found.as_mut_ptr(), layout: &layout };
                plan.apply_region(&source, &target, count, &region).unwrap();
            }
            for (number, (&found, &whole)) in found.iter().zip(&whole).enumerate() {
                let place = number % elements;
                let index = [place / (extents[1] * extents[2]), place / extents[2] % extents[1], place % extents[2]];
                let is_inside = index.iter().zip(&ranges).all(|(at, &(from, to))| (from..to).contains(at));
                prop_assert_eq!(found, if is_inside { whole } else { -1.0 }, "at {:?}", index);
            }
        }
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
