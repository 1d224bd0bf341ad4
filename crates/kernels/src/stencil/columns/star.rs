//! Rows of stars: one row has neighbours in the columns before and after, of every other the same column is taken.
//!
//! Vectors of that one row are moved by a lane, and not sums, so that nothing is carried along a row and what lies beside it
//! are two of its elements: rows of a few vectors, as arrays in four axes have them, cost little more than their vectors. The
//! order of summation is that of [`columns`](super), and so are the bits.

use super::super::lanes::{Lanes, Store};
use super::super::scalar::Scalar;
use super::super::span::{End, Lookup, Row};
use super::accumulate;

/// The coefficients of a star; pointers to rows come in this order.
#[derive(Clone, Debug)]
pub(super) struct Star<T> {
    /// Of the columns before and after.
    pub(super) sides: [T; 2],
    /// Of that row's own column.
    pub(super) centre: Option<T>,
    /// Of the other rows.
    pub(super) others: Vec<T>,
}

/// Vectors of a row that is computed as a whole: 64 doubles, of which arrays in four axes often have rows.
const WHOLE: usize = 8;

/// Other rows of a star in four axes.
const OTHERS: usize = 6;

/// The most rows that whole rows prefetch.
const MAX_PREFETCHED: usize = 3;

/// Whether the row is computed here: whole vectors, which move by a lane in one instruction.
#[inline(always)]
pub(super) fn fits<V: Lanes>(row: &Row<'_, V::Scalar>) -> bool {
    let columns = row.span.to - row.span.from;
    V::JOINS && columns > 0 && columns.is_multiple_of(V::LANES)
}

/// What a column beside the row that begins `start` elements after the first holds.
#[inline(always)]
unsafe fn beside<T: Scalar>(row: &Row<'_, T>, start: usize, column: isize) -> T {
    match row.span.find(column) {
        // SAFETY: `find` gives columns of the row, or beyond where the caller has memory.
        Lookup::At(column) => unsafe { *row.rows[0].offset(column + start as isize) },
        Lookup::Value(value) => value,
    }
}

/// Results of `U` vectors from element `at`, with the vectors before and after them. Returns the last vector of the row with
/// neighbours.
#[inline(always)]
unsafe fn block<V: Lanes, const U: usize>(
    star: &Star<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    at: usize,
    previous: V,
    next: Option<V>,
) -> V {
    // SAFETY: the rows have U vectors from `at`, the first another where none is given, and `out` has U (this
    // function's condition).
    unsafe {
        row.prefetch_ahead::<V, U>(at);
        let load = |row: *const V::Scalar| -> [V; U] { std::array::from_fn(|u| V::load(row.add(at + u * V::LANES))) };
        let zero = V::splat(V::Scalar::ZERO);
        let mut centre = [zero; U];
        let value = load(row.rows[0]);
        if let Some(factor) = star.centre {
            accumulate(&mut centre, &value, factor);
        }
        for (&row, &factor) in row.rows[1..].iter().zip(&star.others) {
            accumulate(&mut centre, &load(row), factor);
        }
        let next = match next {
            Some(next) => next,
            None => V::load(row.rows[0].add(at + U * V::LANES)),
        };
        let sides = star.sides.map(|factor| V::splat(factor));
        for u in 0..U {
            let before = value[u].after(if u == 0 { previous } else { value[u - 1] });
            let after = value[u].before(if u + 1 == U { next } else { value[u + 1] });
            let result = centre[u].add(before.multiply_add(sides[0], zero)).add(after.multiply_add(sides[1], zero));
            result.put(row.out.add(at + u * V::LANES), row.store);
        }
        value[U - 1]
    }
}

/// Rows of [`WHOLE`] vectors that begin again where they end, whose results are written by non-temporal stores: all of
/// a row is in registers at once, and nothing is prefetched while it is computed.
struct Whole<'a, V: Lanes> {
    star: &'a Star<V::Scalar>,
    centre: *const V::Scalar,
    others: [(*const V::Scalar, V::Scalar); OTHERS],
    prefetched: [*const V::Scalar; MAX_PREFETCHED],
    prefetched_rows: usize,
    out: *mut V::Scalar,
}

impl<'a, V: Lanes> Whole<'a, V> {
    /// The rows, where they are such.
    #[inline(always)]
    fn of(star: &'a Star<V::Scalar>, row: &Row<'_, V::Scalar>) -> Option<Whole<'a, V>> {
        let span = &row.span;
        let is_whole = (span.from, span.to, span.extent) == (0, WHOLE * V::LANES, WHOLE * V::LANES)
            && (span.low, span.high) == (End::Wrap, End::Wrap)
            && row.store == Store::StreamVector
            && star.others.len() == OTHERS
            && (1..=MAX_PREFETCHED).contains(&row.ahead.len());
        is_whole.then(|| Whole {
            star,
            centre: row.rows[0],
            others: std::array::from_fn(|number| (row.rows[number + 1], star.others[number])),
            prefetched: std::array::from_fn(|number| row.ahead[number.min(row.ahead.len() - 1)]),
            prefetched_rows: row.ahead.len(),
            out: row.out,
        })
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

    /// The row that begins `start` elements after the first.
    #[inline(always)]
    unsafe fn compute(&self, start: usize) {
        // SAFETY: `Whole::of` has found rows of WHOLE vectors, and `start` begins one of the `repeat` rows for which
        // rows and `out` are valid, with `out` aligned to vectors, as its store says.
        unsafe {
            let load = |row: *const V::Scalar| -> [V; WHOLE] {
                std::array::from_fn(|vector| V::load(row.add(start + vector * V::LANES)))
            };
            let zero = V::splat(V::Scalar::ZERO);
            let mut centre = [zero; WHOLE];
            let value = load(self.centre);
            if let Some(factor) = self.star.centre {
                accumulate(&mut centre, &value, factor);
            }
            for (line, &(row, factor)) in self.others.iter().enumerate() {
                accumulate(&mut centre, &load(row), factor);
                self.prefetch(start + line * V::LANES);
            }
            let sides = self.star.sides.map(|factor| V::splat(factor));
            for vector in 0..WHOLE {
                if OTHERS + vector < WHOLE {
                    self.prefetch(start + (OTHERS + vector) * V::LANES);
                }
                let before = value[vector].after(value[(vector + WHOLE - 1) % WHOLE]);
                let after = value[vector].before(value[(vector + 1) % WHOLE]);
                let result = centre[vector].add(before.multiply_add(sides[0], zero));
                result.add(after.multiply_add(sides[1], zero)).stream(self.out.add(start + vector * V::LANES));
            }
        }
    }
}

/// Computes the rows.
///
/// # Safety
/// As for a kernel of [`columns`](super), and the rows [fit](fits).
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes, const U: usize>(star: &Star<V::Scalar>, row: &Row<'_, V::Scalar>) {
    let span = &row.span;
    if let Some(whole) = Whole::<V>::of(star, row) {
        for number in 0..row.repeat {
            // SAFETY: the row is as `Row` says (this function's condition), and this is one of its `repeat` rows.
            unsafe { whole.compute(number * span.extent) };
        }
        return;
    }
    for number in 0..row.repeat {
        let start = number * span.extent;
        let (first, end) = (start + span.from, start + span.to);
        // SAFETY: the row is as `Row` says and its span a whole number of vectors (this function's conditions), from
        // `first` to `end`, and the last block is given the vector behind it.
        unsafe {
            let high = V::splat(beside(row, start, span.to as isize));
            let mut previous = V::splat(beside(row, start, span.from as isize - 1));
            let mut at = first;
            while at + U * V::LANES <= end {
                let after = at + U * V::LANES;
                previous = block::<V, U>(star, row, at, previous, (after == end).then_some(high));
                at = after;
            }
            while at < end {
                let after = at + V::LANES;
                previous = block::<V, 1>(star, row, at, previous, (after == end).then_some(high));
                at = after;
            }
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
