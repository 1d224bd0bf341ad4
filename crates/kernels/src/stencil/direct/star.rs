//! Rows of stars that reach one column to either side: the vectors beside an element are those of one row, moved by a lane.
//!
//! How many terms there are is known when it is compiled, so that coefficients and rows stay in registers, as in a loop
//! that is written for one stencil: rows of a few vectors cost little more than their vectors. The order of summation is
//! that of [`runs`](super::runs), and so are the bits.

use super::super::lanes::{Lanes, Store, misplaced};
use super::super::scalar::Scalar;
use super::super::span::{End, Row, Span};
use super::Terms;

/// Terms of the columns before and after.
const SIDES: usize = 2;

/// The most terms of an element's own column: a star in four axes.
const MAX_OWN: usize = 7;

/// Vectors of a row that is computed as a whole: 64 doubles, of which arrays in four axes often have rows.
const WHOLE: usize = 8;

/// The most rows that whole rows prefetch.
const MAX_PREFETCHED: usize = 3;

/// Whether the rows are computed here: a star with constants, whole rows, and stores that need not fill lines.
#[inline(always)]
pub(super) fn fits<V: Lanes>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>) -> bool {
    let span = &row.span;
    let is_known = |end: End<V::Scalar>| matches!(end, End::Wrap | End::Value(_));
    let Some([before, after]) = terms.constant.get(terms.own_constant..) else { return false };
    (before.group, before.offset, after.offset) == (after.group, -1, 1)
        && terms.varying.is_empty()
        && (1..=MAX_OWN).contains(&terms.own_constant)
        && (span.from, span.to) == (0, span.extent)
        && is_known(span.low)
        && is_known(span.high)
        && (row.store == Store::Cached || fills_lines::<V>(row.out, span))
}

/// Whether rows of results are whole vectors at multiples of one.
#[inline(always)]
fn fills_lines<V: Lanes>(out: *const V::Scalar, span: &Span<V::Scalar>) -> bool {
    span.extent.is_multiple_of(V::LANES) && misplaced::<V>(out) == 0
}

/// A star: rows of an element's own column with their coefficients, and the row whose neighbours are taken.
struct Star<'a, 'b, V: Lanes, const OWN: usize> {
    row: &'a Row<'b, V::Scalar>,
    rows: [*const V::Scalar; OWN],
    factors: [V; OWN],
    centre: *const V::Scalar,
    sides: [V; SIDES],
    /// Elements of a row behind its whole vectors.
    rest: usize,
}

impl<V: Lanes, const OWN: usize> Star<'_, '_, V, OWN> {
    /// Results of the vector at an element, of whose rows `load` takes vectors.
    #[inline(always)]
    unsafe fn sum(&self, (previous, current, next): (V, V, V), load: impl Fn(*const V::Scalar) -> V) -> V {
        // SAFETY: registers only, but for what `load` reads.
        unsafe {
            let mut sum = V::splat(V::Scalar::ZERO);
            for (&row, &factor) in self.rows.iter().zip(&self.factors) {
                sum = load(row).multiply_add(factor, sum);
            }
            sum = current.after(previous).multiply_add(self.sides[0], sum);
            current.before(next).multiply_add(self.sides[1], sum)
        }
    }

    /// A whole vector of results.
    #[inline(always)]
    unsafe fn whole<const STREAM: bool>(&self, at: usize, around: (V, V, V)) {
        // SAFETY: rows and `out` have a vector at `at` (this function's condition).
        unsafe {
            if STREAM {
                self.row.prefetch_ahead::<V, 1>(at);
            }
            let sum = self.sum(around, |row| V::load(row.add(at)));
            let to = self.row.out.add(at);
            if STREAM { sum.stream(to) } else { sum.store(to) }
        }
    }

    /// The elements of the row with neighbours behind its whole vectors, and what lies beyond its end.
    #[inline(always)]
    unsafe fn last(&self, at: usize, high: V::Scalar) -> V {
        // SAFETY: the row has so many elements (this function's condition).
        unsafe {
            match self.rest {
                0 => V::splat(high),
                rest => V::load_first(self.centre.add(at), rest).with_lane(rest, high),
            }
        }
    }

    /// What lies beyond an end, which is the element at `at` where the row begins again.
    #[inline(always)]
    unsafe fn beyond(&self, end: End<V::Scalar>, at: usize) -> V::Scalar {
        match end {
            End::Value(value) => value,
            // SAFETY: an element of the row (this function's condition).
            _ => unsafe { *self.centre.add(at) },
        }
    }

    /// The row that begins at an element.
    #[inline(always)]
    unsafe fn compute<const STREAM: bool>(&self, start: usize) {
        let Span { extent, low, high, .. } = self.row.span;
        // SAFETY: rows and `out` are valid for the row that begins there (this function's condition); whole vectors end
        // before `behind`, and no more than `rest` elements are read and written from there.
        unsafe {
            let (low, high) = (self.beyond(low, start + extent - 1), self.beyond(high, start));
            let (mut at, behind) = (start, start + extent - self.rest);
            let mut previous = V::splat(low);
            let mut current;
            if at < behind {
                current = V::load(self.centre.add(at));
                while at + V::LANES < behind {
                    let next = V::load(self.centre.add(at + V::LANES));
                    self.whole::<STREAM>(at, (previous, current, next));
                    (previous, current) = (current, next);
                    at += V::LANES;
                }
                let next = self.last(behind, high);
                self.whole::<STREAM>(at, (previous, current, next));
                (previous, current) = (current, next);
            } else {
                current = self.last(behind, high);
            }
            if self.rest > 0 {
                let load = |row: *const V::Scalar| V::load_first(row.add(behind), self.rest);
                self.sum((previous, current, current), load).store_first(self.rest, self.row.out.add(behind));
            }
        }
    }
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
    // SAFETY: rows and `out` are valid for `repeat` rows, which fit (this function's conditions); the rest is registers.
    unsafe {
        let star = Star::<V, OWN> {
            row,
            rows: std::array::from_fn(|number| terms.constant[number].row),
            factors: std::array::from_fn(|number| V::splat(terms.constant[number].factor)),
            centre: sides[0].row,
            sides: [V::splat(sides[0].factor), V::splat(sides[1].factor)],
            rest: row.span.extent % V::LANES,
        };
        let starts = (0..row.repeat * row.span.extent).step_by(row.span.extent);
        // Loops, not calls with closures: these are not compiled for the instructions of the kernel where they are not
        // part of it.
        if row.store == Store::Cached {
            for start in starts {
                star.compute::<false>(start);
            }
        } else if Whole::<V, OWN>::fits(row) {
            let whole = Whole::of(&star);
            for start in starts {
                whole.compute(start);
            }
        } else {
            for start in starts {
                star.compute::<true>(start);
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
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
