//! Rows of stars that reach one column to either side: the vectors beside an element are those of one row, moved by a lane.
//!
//! How many terms there are is known when it is compiled, so that coefficients and rows stay in registers, as in a loop
//! that is written for one stencil: rows of a few vectors cost little more than their vectors. Rows that follow one another
//! are one long row, whatever their length: where one ends within a vector, the lanes beside its end get what lies beyond.
//! The order of summation is that of [`runs`](super::runs), and so are the bits.

use super::super::lanes::{Lanes, Store, misplaced};
use super::super::scalar::Scalar;
use super::super::span::{End, Row};
use super::Terms;
use super::runs::MIN_VECTORS;

/// Terms of the columns before and after.
const SIDES: usize = 2;

/// The most terms of an element's own column: a star in four axes.
const MAX_OWN: usize = 7;

/// Vectors of a row that is computed as a whole: 64 doubles, of which arrays in four axes often have rows.
const WHOLE: usize = 8;

/// The most rows that whole rows prefetch.
const MAX_PREFETCHED: usize = 3;

/// Whether terms are those of a star with constants that reaches one column to either side.
#[inline(always)]
fn is_star<T>(terms: &Terms<T>) -> bool {
    let Some([before, after]) = terms.constant.get(terms.own_constant..) else { return false };
    (before.group, before.offset, after.offset) == (after.group, -1, 1)
        && terms.varying.is_empty()
        && (1..=MAX_OWN).contains(&terms.own_constant)
}

/// Whether whole rows of `extent` elements are computed here, by vectors of `lanes`, which are written through the caches
/// or by lines, and beyond whose ends is `low` and `high`.
#[inline(always)]
pub(in crate::stencil) fn takes<T: Scalar>(
    terms: &Terms<T>,
    (low, high): (End<T>, End<T>),
    extent: usize,
    is_cached: bool,
    lanes: usize,
) -> bool {
    let is_known = |end: End<T>| matches!(end, End::Wrap | End::Value(_));
    is_star(terms) && is_known(low) && is_known(high) && (is_cached || extent >= lanes)
}

/// Whether the rows are computed here.
#[inline(always)]
pub(super) fn fits<V: Lanes>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>) -> bool {
    let span = &row.span;
    (span.from, span.to) == (0, span.extent)
        && takes(terms, (span.low, span.high), span.extent, row.store == Store::Cached, V::LANES)
}

/// A star: rows of an element's own column with their coefficients, and the row whose neighbours are taken.
struct Star<'a, 'b, V: Lanes, const OWN: usize> {
    row: &'a Row<'b, V::Scalar>,
    rows: [*const V::Scalar; OWN],
    factors: [V; OWN],
    centre: *const V::Scalar,
    sides: [V; SIDES],
}

impl<V: Lanes, const OWN: usize> Star<'_, '_, V, OWN> {
    /// Results of a vector, of whose rows `load` takes vectors, beside the vectors before and after it.
    #[inline(always)]
    unsafe fn sum(&self, (before, after): (V, V), load: impl Fn(*const V::Scalar) -> V) -> V {
        // SAFETY: registers only, but for what `load` reads.
        unsafe {
            let mut sum = V::splat(V::Scalar::ZERO);
            for (&row, &factor) in self.rows.iter().zip(&self.factors) {
                sum = load(row).multiply_add(factor, sum);
            }
            sum = before.multiply_add(self.sides[0], sum);
            after.multiply_add(self.sides[1], sum)
        }
    }

    /// A whole vector of results.
    #[inline(always)]
    unsafe fn whole<const STREAM: bool>(&self, at: usize, beside: (V, V)) {
        // SAFETY: rows and `out` have a vector at `at` (this function's condition), which fills a line where it is
        // streamed.
        unsafe {
            if STREAM {
                self.row.prefetch_ahead::<V, 1>(at);
            }
            let sum = self.sum(beside, |row| V::load(row.add(at)));
            let to = self.row.out.add(at);
            if STREAM { sum.stream(to) } else { sum.store(to) }
        }
    }

    /// The first `count` lanes of a vector of results, through the caches.
    #[inline(always)]
    unsafe fn part(&self, at: usize, count: usize, beside: (V, V)) {
        // SAFETY: rows and `out` have so many elements at `at` (this function's condition).
        unsafe {
            let sum = self.sum(beside, |row| V::load_first(row.add(at), count));
            sum.store_first(count, self.row.out.add(at));
        }
    }

    /// What lies beyond the ends of the row that begins at an element.
    #[inline(always)]
    unsafe fn beyond(&self, start: usize) -> (V::Scalar, V::Scalar) {
        let of = |end: End<V::Scalar>, at: usize| match end {
            End::Value(value) => value,
            // SAFETY: an element of the row (this function's condition).
            _ => unsafe { *self.centre.add(at) },
        };
        let span = &self.row.span;
        (of(span.low, start + span.extent - 1), of(span.high, start))
    }

    /// The elements from `at` on of the row with neighbours, as many of a vector's as there are before `end`.
    #[inline(always)]
    unsafe fn load_until(&self, at: usize, end: usize) -> V {
        // SAFETY: the rows have elements up to `end` (this function's condition).
        unsafe {
            if at + V::LANES <= end {
                V::load(self.centre.add(at))
            } else if at < end {
                V::load_first(self.centre.add(at), end - at)
            } else {
                V::splat(V::Scalar::ZERO)
            }
        }
    }

    /// A row shorter than a vector.
    #[inline(always)]
    unsafe fn short(&self, start: usize) {
        let extent = self.row.span.extent;
        // SAFETY: rows and `out` have the row that begins there (this function's condition).
        unsafe {
            let (low, high) = self.beyond(start);
            let value = V::load_first(self.centre.add(start), extent);
            let after = with_lane(value.before(value), extent - 1, high);
            self.part(start, extent, (value.after(V::splat(low)), after));
        }
    }

    /// `count` rows that are no shorter than a vector, of which the first begins at an element.
    #[inline(always)]
    unsafe fn run<const STREAM: bool>(&self, start: usize, count: usize) {
        let extent = self.row.span.extent;
        let behind = start + count * extent;
        let begin = misplaced::<V>(self.row.out.wrapping_add(start));
        // SAFETY: rows and `out` are valid for all rows (this function's condition), whose elements end before `behind`;
        // behind a part of a vector up to a line, vectors of results begin with lines.
        unsafe {
            let (low, mut high) = self.beyond(start);
            let (mut at, mut row_end) = (start, start + extent);
            let (mut previous, mut current) = (V::splat(low), V::load(self.centre.add(start)));
            if begin > 0 && (STREAM || count * extent >= MIN_VECTORS * V::LANES) {
                let part = V::LANES - begin;
                self.part(at, part, (current.after(previous), current.before(current)));
                // Its last lane holds what is before the next vector.
                previous = current.join(current, part);
                at += part;
                current = self.load_until(at, behind);
            }
            while at + V::LANES <= behind {
                while at + V::LANES < row_end && at + 2 * V::LANES <= behind {
                    let next = V::load(self.centre.add(at + V::LANES));
                    self.whole::<STREAM>(at, (current.after(previous), current.before(next)));
                    (previous, current) = (current, next);
                    at += V::LANES;
                }
                if at + V::LANES > behind {
                    break;
                }
                let next = self.load_until(at + V::LANES, behind);
                let (mut before, mut after) = (current.after(previous), current.before(next));
                previous = current;
                if row_end <= at + V::LANES {
                    let lane = row_end - at;
                    after = with_lane(after, lane - 1, high);
                    if row_end < behind {
                        let (next_low, next_high) = self.beyond(row_end);
                        high = next_high;
                        if lane < V::LANES {
                            before = with_lane(before, lane, next_low);
                        } else {
                            previous = V::splat(next_low);
                        }
                    }
                    row_end += extent;
                }
                self.whole::<STREAM>(at, (before, after));
                current = next;
                at += V::LANES;
            }
            if at < behind {
                let after = with_lane(current.before(current), behind - at - 1, high);
                self.part(at, behind - at, (current.after(previous), after));
            }
        }
    }
}

/// The same with another element in one lane.
#[inline(always)]
unsafe fn with_lane<V: Lanes>(vector: V, lane: usize, value: V::Scalar) -> V {
    // SAFETY: registers only.
    unsafe { vector.replace(V::splat(value), 1 << lane) }
}

/// Rows of [`WHOLE`] vectors that begin again where they end, whose results are written by non-temporal stores: all of
/// a row is in registers at once, and nothing is prefetched while it is computed.
struct Whole<'a, V: Lanes, const OWN: usize> {
    star: &'a Star<'a, 'a, V, OWN>,
    prefetched: [*const V::Scalar; MAX_PREFETCHED],
    prefetched_rows: usize,
}

impl<'a, V: Lanes, const OWN: usize> Whole<'a, V, OWN> {
    /// Whether rows are such: of four axes, with all that is read from memory.
    #[inline(always)]
    fn fits(row: &Row<'_, V::Scalar>) -> bool {
        V::JOINS
            && OWN + 1 >= MAX_OWN
            && row.span.extent == WHOLE * V::LANES
            && misplaced::<V>(row.out) == 0
            && (row.span.low, row.span.high) == (End::Wrap, End::Wrap)
            && (1..=MAX_PREFETCHED).contains(&row.ahead.len())
    }

    /// For rows that [fit](Self::fits).
    #[inline(always)]
    fn of(star: &'a Star<'a, 'a, V, OWN>) -> Self {
        let ahead = star.row.ahead;
        let mut prefetched = [ahead[0]; MAX_PREFETCHED];
        for (prefetched, &row) in prefetched.iter_mut().zip(ahead) {
            *prefetched = row;
        }
        Whole { star, prefetched, prefetched_rows: ahead.len() }
    }

    /// Prefetches one line of what will be needed soon: more of them at once than there is room for among what is under
    /// way would stop what comes after.
    #[inline(always)]
    unsafe fn prefetch(&self, at: usize) {
        // SAFETY: hints: any address will do.
        unsafe {
            V::prefetch(self.prefetched[0].wrapping_add(at));
            if self.prefetched_rows > 1 {
                V::prefetch(self.prefetched[1].wrapping_add(at));
            }
            if self.prefetched_rows > 2 {
                V::prefetch(self.prefetched[2].wrapping_add(at));
            }
        }
    }

    /// The row that begins at an element.
    #[inline(always)]
    unsafe fn compute(&self, start: usize) {
        let star = &self.star;
        // SAFETY: rows are of WHOLE vectors, and `start` begins one of those for which rows and `out` are valid, with
        // `out` aligned to vectors (this function's condition).
        unsafe {
            let load = |row: *const V::Scalar| -> [V; WHOLE] {
                std::array::from_fn(|vector| V::load(row.add(start + vector * V::LANES)))
            };
            let mut sums = [V::splat(V::Scalar::ZERO); WHOLE];
            for (line, (&row, &factor)) in star.rows.iter().zip(&star.factors).enumerate() {
                for (sum, value) in sums.iter_mut().zip(load(row)) {
                    *sum = value.multiply_add(factor, *sum);
                }
                self.prefetch(start + line * V::LANES);
            }
            let value = load(star.centre);
            for (vector, sum) in sums.into_iter().enumerate() {
                if OWN + vector < WHOLE {
                    self.prefetch(start + (OWN + vector) * V::LANES);
                }
                let before = value[vector].after(value[(vector + WHOLE - 1) % WHOLE]);
                let after = value[vector].before(value[(vector + 1) % WHOLE]);
                let result = after.multiply_add(star.sides[1], before.multiply_add(star.sides[0], sum));
                result.stream(star.row.out.add(start + vector * V::LANES));
            }
        }
    }
}

/// Computes `repeat` rows of a star with `OWN` terms of an element's own column.
#[inline(always)]
unsafe fn of<V: Lanes, const OWN: usize>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>) {
    let sides = &terms.constant[OWN..];
    let extent = row.span.extent;
    let [first, last] = row.edges;
    let inner = (usize::from(first.is_some()), row.repeat - usize::from(last.is_some()));
    let parts = [(first, 0, inner.0), (None, inner.0, inner.1), (last, inner.1, row.repeat)];
    // SAFETY: rows and `out` are valid for `repeat` rows, which fit (this function's conditions); the rest is registers.
    unsafe {
        let factors = std::array::from_fn(|number| V::splat(terms.constant[number].factor));
        let sides_factors = [V::splat(sides[0].factor), V::splat(sides[1].factor)];
        // Loops, not calls with closures: these are not compiled for the instructions of the kernel where they are not
        // part of it.
        for (edge, from, to) in parts {
            if from == to {
                continue;
            }
            let start = from * extent;
            // The neighbours of an edge are those of its own first element.
            let neighbour = |group: usize, row: *const V::Scalar| match edge {
                Some(rows) => rows[group].wrapping_sub(start),
                None => row,
            };
            let star = Star::<V, OWN> {
                row,
                rows: std::array::from_fn(|number| neighbour(terms.constant[number].group, terms.constant[number].row)),
                factors,
                centre: neighbour(sides[0].group, sides[0].row),
                sides: sides_factors,
            };
            if extent < V::LANES {
                for number in from..to {
                    star.short(number * extent);
                }
            } else if row.store == Store::Cached {
                star.run::<false>(start, to - from);
            } else if Whole::<V, OWN>::fits(row) {
                let whole = Whole::of(&star);
                for number in from..to {
                    whole.compute(number * extent);
                }
            } else {
                star.run::<true>(start, to - from);
            }
        }
    }
}

/// Computes `repeat` rows.
///
/// # Safety
/// As for [`direct_row`](super::direct_row), and the rows [fit](fits).
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>) {
    // SAFETY: this function's conditions.
    unsafe {
        match terms.own_constant {
            1 => of::<V, 1>(terms, row),
            2 => of::<V, 2>(terms, row),
            3 => of::<V, 3>(terms, row),
            4 => of::<V, 4>(terms, row),
            5 => of::<V, 5>(terms, row),
            6 => of::<V, 6>(terms, row),
            _ => of::<V, MAX_OWN>(terms, row),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::stencil::{Boundary, Coefficient, Element, Level, Options, Plan, Point, Source, Stencil, Target};

    /// A star with a different coefficient at every point.
    fn star<T: Element>(axes: usize, has_centre: bool) -> Stencil<T> {
        let mut points = Vec::new();
        for axis in 0..axes {
            for by in [-1, 1] {
                let mut offset = vec![0; axes];
                offset[axis] = by;
                let weight = 0.1 + 0.013 * axis as f64 + 0.0017 * by as f64;
                points.push(Point { offset, coefficient: Coefficient::Constant(T::from_f64(weight)) });
            }
        }
        if has_centre {
            points.push(Point { offset: vec![0; axes], coefficient: Coefficient::Constant(T::from_f64(0.31)) });
        }
        Stencil::new(axes, points).unwrap()
    }

    /// With a source that is taken to come from memory, or to be in cache.
    fn options(from_memory: bool) -> Options {
        Options { streaming_from: if from_memory { 0 } else { usize::MAX }, ..Options::default() }
    }

    /// The result for a source that begins so many elements after a cache line.
    fn result<T: Element>(
        extents: &[usize],
        has_centre: bool,
        boundaries: Vec<Boundary<T>>,
        begin: usize,
        options: Options,
    ) -> Vec<T> {
        let plan = Plan::new(&star::<T>(extents.len(), has_centre), extents, boundaries, options).unwrap();
        let sites: usize = extents.iter().product();
        let mut source = vec![T::from_f64(f64::NAN); sites + 64];
        let start = source.as_ptr().align_offset(64) + begin;
        for (site, value) in source[start..start + sites].iter_mut().enumerate() {
            *value = T::from_f64(((site * 7919) % 1013) as f64 * 0.37 - 100.0);
        }
        let mut target = vec![T::from_f64(f64::NAN); sites];
        let layout = plan.contiguous();
        // SAFETY: both have as many sites.
        unsafe {
            let source = Source { base: source.as_ptr().add(start), layout: &layout };
            plan.apply(&source, &Target { base: target.as_mut_ptr(), layout: &layout }, 1);
        }
        target
    }

    fn is_the_same_from_memory<T: Element>(
        extents: &[usize],
        has_centre: bool,
        boundaries: &[Boundary<T>],
        begin: usize,
    ) -> Result<(), TestCaseError> {
        let of = |memory: bool| result(extents, has_centre, boundaries.to_vec(), begin, options(memory));
        let [one, other] = [false, true].map(of);
        prop_assert_eq!(one, other);
        Ok(())
    }

    /// What lies beyond the ends of an axis: its other end, a number, or a number for every index of the other axes.
    fn boundary(kind: u8, extents: &[usize], axis: usize) -> Boundary<f64> {
        let others: usize = extents.iter().enumerate().filter(|&(other, _)| other != axis).map(|(_, n)| n).product();
        match kind {
            0 => Boundary::Circular,
            1 => Boundary::Value(3.0),
            _ => Boundary::Array((0..others).map(|number| (number % 13) as f64 - 6.0).collect()),
        }
    }

    /// The neighbour of a site, looked up by its indices.
    fn neighbour(
        extents: &[usize],
        boundaries: &[Boundary<f64>],
        values: &[f64],
        site: usize,
        offset: &[isize],
    ) -> f64 {
        let mut index = vec![0; extents.len()];
        let mut rest = site;
        for (axis, &extent) in extents.iter().enumerate().rev() {
            index[axis] = (rest % extent) as isize;
            rest /= extent;
        }
        for (axis, &extent) in extents.iter().enumerate() {
            let moved = index[axis] + offset[axis];
            if (0..extent as isize).contains(&moved) {
                index[axis] = moved;
                continue;
            }
            let others = |other: &usize| *other != axis;
            let row = (0..extents.len()).filter(others).fold(0, |row, at| row * extents[at] + index[at] as usize);
            match &boundaries[axis] {
                Boundary::Circular => index[axis] = moved.rem_euclid(extent as isize),
                Boundary::Value(value) => return *value,
                Boundary::Array(array) => return array[row],
            }
        }
        values[index.iter().zip(extents).fold(0, |at, (&index, &extent)| at * extent + index as usize)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80))]
        #[test]
        fn stars_are_the_sums_over_points_at_every_size_and_alignment(
            outer in [1usize..6, 1usize..6, 1usize..6], columns in 1usize..70, axes in 2usize..5, has_centre: bool,
            kinds in [0u8..3, 0u8..3, 0u8..3, 0u8..3], begins in [0usize..8, 0usize..8], streaming: bool,
        ) {
            let mut extents = outer[4 - axes..].to_vec();
            extents.push(columns);
            let boundaries: Vec<_> = (0..axes).map(|axis| boundary(kinds[axis], &extents, axis)).collect();
            let along = |n: usize, axis: usize| if axis == n / 2 { n as isize % 2 * 2 - 1 } else { 0 };
            let mut offsets = vec![vec![0; axes]];
            offsets.extend((0..2 * axes).map(|n| (0..axes).map(|axis| along(n, axis)).collect()));
            let offsets = offsets.into_iter().skip(usize::from(!has_centre));
            let points: Vec<(Vec<isize>, f64)> =
                offsets.zip(1..).map(|(offset, n)| (offset, f64::from(n * n % 7 - 3))).collect();
            let sites: usize = extents.iter().product();
            let values: Vec<f64> = (0..sites).map(|site| (site * 7919 % 1013) as f64).collect();
            let value = |site: usize, offset: &[isize]| neighbour(&extents, &boundaries, &values, site, offset);
            let sum = |site: usize| points.iter().map(|(offset, by)| by * value(site, offset)).sum::<f64>();
            let expected: Vec<f64> = (0..sites).map(sum).collect();
            let described = points.iter().map(|(offset, by)| {
                let coefficient = Coefficient::Constant(*by);
                Point { offset: offset.clone(), coefficient }
            });
            let stencil = Stencil::new(axes, described.collect()).unwrap();
            for level in Level::available() {
                let options = Options { instructions: Some(level), ..options(streaming) };
                let plan = Plan::new(&stencil, &extents, boundaries.clone(), options).unwrap();
                let mut held = [vec![f64::NAN; sites + 64], vec![f64::NAN; sites + 64]];
                let starts = [0, 1].map(|number| held[number].as_ptr().align_offset(64) + begins[number]);
                held[0][starts[0]..starts[0] + sites].copy_from_slice(&values);
                let layout = plan.contiguous();
                // SAFETY: both have all sites from where they start.
                unsafe {
                    let source = Source { base: held[0].as_ptr().add(starts[0]), layout: &layout };
                    plan.apply(&source, &Target { base: held[1].as_mut_ptr().add(starts[1]), layout: &layout }, 1);
                }
                let [before, behind] = [&held[1][..starts[1]], &held[1][starts[1] + sites..]];
                prop_assert!(before.iter().chain(behind).all(|value| value.is_nan()), "written outside, {:?}", level);
                prop_assert_eq!(&held[1][starts[1]..starts[1] + sites], &expected[..], "{:?}", level);
            }
        }

        #[test]
        fn stars_from_memory_and_in_cache_agree_to_the_last_bit(
            outer in [1usize..5, 1usize..5, 1usize..7], columns in 1usize..90, axes in 2usize..5, whole: bool,
            circular in [any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()], has_centre: bool, begin in 0usize..16,
        ) {
            let mut extents = outer[4 - axes..].to_vec();
            extents.push(if whole { columns.next_multiple_of(16) } else { columns });
            let boundaries = |value: f64| -> Vec<Option<f64>> {
                circular[..axes].iter().map(|&circular| (!circular).then_some(value)).collect()
            };
            let of = |value: Option<f64>| value.map_or(Boundary::Circular, Boundary::Value);
            let double: Vec<Boundary<f64>> = boundaries(2.5).into_iter().map(of).collect();
            let of = |value: Option<f64>| value.map_or(Boundary::Circular, |value| Boundary::Value(value as f32));
            let single: Vec<Boundary<f32>> = boundaries(2.5).into_iter().map(of).collect();
            is_the_same_from_memory(&extents, has_centre, &double, begin)?;
            is_the_same_from_memory(&extents, has_centre, &single, begin)?;
        }

        #[test]
        fn planes_that_are_computed_together_change_no_bit(
            first in 1usize..11, second in 9usize..14, third in 1usize..5, vectors in 7usize..10, part in 0usize..2,
            circular in [any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()], has_centre: bool, begin in 0usize..8,
            threads in 1usize..4,
        ) {
            let extents = [first, second, third, 8 * vectors - part];
            // Room for what a bundle holds, and not for three planes.
            let pitch = third * extents[3] * size_of::<f64>();
            let bundled = Options { step_cache: 24 * pitch, threads, ..options(true) };
            let boundaries = circular.map(|circular| if circular { Boundary::Circular } else { Boundary::Value(2.5) });
            let stencil = star::<f64>(4, has_centre);
            let text = Plan::new(&stencil, &extents, boundaries.to_vec(), bundled).unwrap().explain();
            prop_assert_eq!(text.contains("planes of axis 0: 4 together"), weft_simd::level() == Level::Avx512);
            let together = result(&extents, has_centre, boundaries.to_vec(), begin, bundled);
            prop_assert_eq!(together, result(&extents, has_centre, boundaries.to_vec(), begin, options(false)));
        }
    }
}
