//! Two neighbouring rows of results at once, where each row of the source serves both.
//!
//! A cube's row of results needs three rows of each plane, the next one two of the same and one more: together four instead
//! of six. With half the accesses left out, the products decide how long it takes, wherever rows begin within a cache line.
//! The order of summation of each row is that of [`columns`](super), and so are the bits.

use super::super::lanes::{Lanes, Store};
use super::super::scalar::Scalar;
use super::super::span::{End, Row};
use super::results::{Realigned, Results, RowResults};
use super::{Carry, Columns, Opening, Position, Sums, accumulate, complete, end_with, flat, full_and_rest, one_row};

/// Rows of one plane that a row of results needs.
const THREE: usize = 3;

/// Rows of one plane that two rows of results need.
const FOUR: usize = 4;

/// Planes of a stencil in four axes that reaches one site.
const MAX_PLANES: usize = 9;

/// Whether rows of the source, by their offsets in all axes but the last, come in threes that follow one another along the
/// axis before the last, which is not the first.
pub(super) fn are_threes(offsets: &[&[isize]]) -> bool {
    let follows = |one: &[isize], next: &[isize]| match (one.split_last(), next.split_last()) {
        (Some((last, outer)), Some((next, next_outer))) => outer == next_outer && last + 1 == *next,
        _ => false,
    };
    let threes = offsets.chunks(THREE);
    offsets.first().is_some_and(|offset| offset.len() > 1)
        && threes.len() <= MAX_PLANES
        && threes.clone().all(|three| three.len() == THREE && three.windows(2).all(|pair| follows(pair[0], pair[1])))
}

/// Whether rows are computed by twos.
#[inline(always)]
pub(super) fn fits<V: Lanes>(columns: &Columns<V::Scalar>, row: &Row<'_, V::Scalar>) -> bool {
    V::PAIRS && columns.is_threes() && row.repeat > 1 && row.span.to - row.span.from >= V::LANES
}

/// The sums of the three columns over the `U` vectors that `load` takes from each row, for each of two rows of results; the
/// first column's equals the last's where `SYMMETRIC`.
#[inline(always)]
unsafe fn sums<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    coefficients: &[[V::Scalar; 3]],
    fours: &[[*const V::Scalar; FOUR]],
    load: impl Fn(*const V::Scalar) -> [V; U],
    ahead: impl Fn(usize, usize),
) -> [Sums<V, U>; 2] {
    // SAFETY: `load` is called with rows of the fours only; the rest is registers.
    unsafe {
        let zero = [V::splat(V::Scalar::ZERO); U];
        let mut pair = [(zero, zero, zero); 2];
        for (plane, (three, four)) in coefficients.chunks_exact(THREE).zip(fours).enumerate() {
            for (number, &row) in four.iter().enumerate() {
                ahead(plane, number);
                let value = load(row);
                for (behind, (before, centre, after)) in pair.iter_mut().enumerate() {
                    if number < behind || number - behind >= THREE {
                        continue;
                    }
                    let coefficients = three[number - behind];
                    accumulate(centre, &value, coefficients[1]);
                    accumulate(after, &value, coefficients[2]);
                    if !SYMMETRIC {
                        accumulate(before, &value, coefficients[0]);
                    }
                }
            }
        }
        pair.map(|(before, centre, after)| (if SYMMETRIC { after } else { before }, centre, after))
    }
}

/// Two rows of results, of which one begins `start` elements after the first of `row`, and the other a row later.
struct Pair<'a, 'b, V: Lanes> {
    columns: &'a Columns<V::Scalar>,
    row: &'a Row<'b, V::Scalar>,
    fours: &'a [[*const V::Scalar; FOUR]],
    start: usize,
}

impl<V: Lanes> Pair<'_, '_, V> {
    /// Prefetches what `U` vectors from element `at` of both rows will need.
    #[inline(always)]
    fn prefetch_ahead<const U: usize>(&self, at: usize, plane: usize, number: usize) {
        if number != 1 && number != 2 {
            return;
        }
        if let Some(row) = self.row.ahead.get(plane) {
            for vector in 0..U {
                let address = row.wrapping_add(at + vector * V::LANES + (number - 1) * self.row.span.extent);
                // SAFETY: hints: any address will do.
                unsafe { V::prefetch(address) };
            }
        }
    }

    /// `U` vectors from column `at` of both.
    #[inline(always)]
    unsafe fn block<const U: usize, const SYMMETRIC: bool>(
        &self,
        at: usize,
        positions: [Position<'_, V>; 2],
        carries: &mut [Carry<V>; 2],
        results: &mut [impl Results<V>; 2],
    ) {
        let at = self.start + at;
        let [one, other] = carries;
        let [position, position_below] = positions;
        let [results, results_below] = results;
        // SAFETY: rows and `out` have U vectors from `at`, and as many a row later (this function's condition: it is a
        // pair).
        unsafe {
            let prefetch = |plane, number| self.prefetch_ahead::<U>(at, plane, number);
            let load = |row: *const V::Scalar| std::array::from_fn(|u| V::load(row.add(at + u * V::LANES)));
            let [first, second] = sums::<V, U, SYMMETRIC>(self.columns.whole(), self.fours, load, prefetch);
            complete(results, at, position, first, one);
            complete(results_below, at + self.row.span.extent, position_below, second, other);
        }
    }

    /// The sums of the `rest` columns from element `at` on of both, which are fewer than a vector.
    #[inline(always)]
    unsafe fn rest<const SYMMETRIC: bool>(&self, at: usize, rest: usize) -> [Sums<V, 1>; 2] {
        // SAFETY: rows have so many elements there, as those of a row later (this function's condition).
        unsafe {
            if rest == 0 {
                let zero = [V::splat(V::Scalar::ZERO)];
                return [(zero, zero, zero); 2];
            }
            let prefetch = |plane, number| self.prefetch_ahead::<1>(at, plane, number);
            let load = |row: *const V::Scalar| [V::load_first(row.add(at), rest)];
            sums::<V, 1, SYMMETRIC>(self.columns.whole(), self.fours, load, prefetch)
        }
    }

    /// All of both rows.
    #[inline(always)]
    unsafe fn compute<const U: usize, const SYMMETRIC: bool>(&self) {
        let row = self.row;
        // SAFETY: rows and `out` have both rows of the pair (this function's condition), and lines are those of `out`.
        unsafe {
            if row.store == Store::StreamLines {
                let first = self.start + row.span.from;
                let results = [Realigned::of(row.out, first), Realigned::of(row.out, first + row.span.extent)];
                self.compute_into::<U, SYMMETRIC>(results);
            } else {
                self.compute_into::<U, SYMMETRIC>([RowResults::of(row), RowResults::of(row)]);
            }
        }
    }

    /// The same, into results of each row.
    #[inline(always)]
    unsafe fn compute_into<const U: usize, const SYMMETRIC: bool>(&self, results: [impl Results<V>; 2]) {
        // SAFETY: rows and results have both rows of the pair (this function's condition).
        unsafe {
            if self.wraps::<U>() {
                self.around::<U, SYMMETRIC>(results.map(Results::waiting));
            } else {
                self.between_ends::<U, SYMMETRIC>(results);
            }
        }
    }

    /// Whether rows begin again where they end, and are so long that their first vectors can wait for their last.
    #[inline(always)]
    fn wraps<const U: usize>(&self) -> bool {
        let span = &self.row.span;
        (span.from, span.to) == (0, span.extent)
            && (span.low, span.high) == (End::Wrap, End::Wrap)
            && span.extent >= U * V::LANES
    }

    /// Rows that [wrap](Self::wraps): the sums beside one are those of its own ends.
    #[inline(always)]
    unsafe fn around<const U: usize, const SYMMETRIC: bool>(&self, mut results: [impl Results<V>; 2]) {
        let Pair { row, start, .. } = *self;
        let below = start + row.span.extent;
        let (full, rest) = full_and_rest::<V>(row);
        // SAFETY: both rows of the pair are among the `repeat` rows for which rows and `out` are valid (this function's
        // condition); each block ends at `full` or before.
        unsafe {
            let zero = V::Scalar::ZERO;
            let mut carries = [Carry::begin(zero), Carry::begin(zero)];
            let mut openings = [Opening::empty(), Opening::empty()];
            let mut at = 0;
            while at + U * V::LANES <= full {
                let [one, other] = &mut openings;
                let positions = match at {
                    0 => [Position::Opening(one), Position::Opening(other)],
                    _ => [Position::Later, Position::Later],
                };
                self.block::<U, SYMMETRIC>(at, positions, &mut carries, &mut results);
                at += U * V::LANES;
            }
            while at < full {
                self.block::<1, SYMMETRIC>(at, [Position::Later, Position::Later], &mut carries, &mut results);
                at += V::LANES;
            }
            let [last, last_below] = self.rest::<SYMMETRIC>(start + full, rest);
            let [results, results_below] = &mut results;
            openings[0].close((start, full, rest), &last, &carries[0], results);
            openings[1].close((below, full, rest), &last_below, &carries[1], results_below);
        }
    }

    /// Rows beside whose ends are other elements than their own, or that are stored from their first vector to their last.
    #[inline(always)]
    unsafe fn between_ends<const U: usize, const SYMMETRIC: bool>(&self, mut results: [impl Results<V>; 2]) {
        let Pair { columns, row, start, .. } = *self;
        let span = &row.span;
        let below = start + span.extent;
        let (full, rest) = full_and_rest::<V>(row);
        // SAFETY: both rows of the pair are among the `repeat` rows for which rows and `out` are valid for the span
        // (this function's condition); each block ends at `full` or before.
        unsafe {
            let (low, high) = columns.beside::<V>(row, start);
            let (low_below, high_below) = columns.beside::<V>(row, below);
            let mut carries = [Carry::begin(low), Carry::begin(low_below)];
            let mut at = span.from;
            while at + U * V::LANES <= full {
                let is_first = at == span.from;
                let position = || if is_first { Position::First } else { Position::Later };
                self.block::<U, SYMMETRIC>(at, [position(), position()], &mut carries, &mut results);
                at += U * V::LANES;
            }
            while at < full {
                let is_first = at == span.from;
                let position = || if is_first { Position::First } else { Position::Later };
                self.block::<1, SYMMETRIC>(at, [position(), position()], &mut carries, &mut results);
                at += V::LANES;
            }
            let [last, last_below] = self.rest::<SYMMETRIC>(start + full, rest);
            let [results, results_below] = &mut results;
            let what = (full > span.from, rest);
            end_with(start + full, what, last, &carries[0], high, results);
            end_with(below + full, what, last_below, &carries[1], high_below, results_below);
        }
    }
}

/// Computes the rows.
///
/// # Safety
/// As for a kernel of [`columns`](super), and the rows [fit](fits).
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    row: &Row<'_, V::Scalar>,
) {
    let mut fours = [[std::ptr::null(); FOUR]; MAX_PLANES];
    for (four, three) in fours.iter_mut().zip(row.rows.chunks_exact(THREE)) {
        four[..THREE].copy_from_slice(three);
        four[THREE] = three[THREE - 1].wrapping_add(row.span.extent);
    }
    for number in (0..row.repeat).step_by(2) {
        let start = number * row.span.extent;
        // SAFETY: the row is as `Row` says and fits (this function's conditions), and one row or the pair are among its
        // `repeat` rows; the fourth row of each plane is the third of the next result.
        unsafe {
            if number + 1 < row.repeat {
                Pair::<V> { columns, row, fours: &fours, start }.compute::<U, SYMMETRIC>();
            } else if row.store == Store::StreamLines {
                flat::run::<V, U, SYMMETRIC>(columns, row, start, 1);
            } else {
                one_row::<V, U, SYMMETRIC>(columns, row, start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::stencil::{Boundary, Coefficient, Element, Level, Options, Plan, Point, Source, Stencil, Target};

    /// A cube of three or four axes with a different coefficient at every point, or the same in both outer columns.
    fn cube<T: Element>(axes: usize, symmetric: bool, reversed: bool) -> Vec<Point<T>> {
        let offset = |n: isize| (0..axes).rev().map(|axis| n / 3isize.pow(axis as u32) % 3 - 1).collect::<Vec<_>>();
        let mut points: Vec<Point<T>> = (0..3isize.pow(axes as u32))
            .map(|n| {
                let column = if symmetric { 7 * (n % 3 - 1).abs() } else { 5 * (n % 3) };
                let weight = (17 * (n / 3) % 83 + column - 40) as f64;
                Point { offset: offset(n), coefficient: Coefficient::Constant(T::from_f64(weight)) }
            })
            .collect();
        if reversed {
            points.reverse();
        }
        points
    }

    /// Whole numbers, which sums of products keep exact, or thirds of them, whose sums depend on their order.
    fn source<T: Element>(sites: usize, exact: bool) -> Vec<T> {
        let value = |site: usize| ((site * 7919 + site / 13) % 31) as f64 - 15.0;
        (0..sites).map(|site| T::from_f64(if exact { value(site) } else { value(site) / 3.0 })).collect()
    }

    /// The result for a source that begins so many elements after a cache line.
    fn result<T: Element>(plan: &Plan<T>, values: &[T], begin: usize) -> Vec<T> {
        let mut held = vec![T::from_f64(f64::NAN); values.len() + 64];
        let start = held.as_ptr().align_offset(64) + begin;
        held[start..start + values.len()].copy_from_slice(values);
        let mut target = vec![T::from_f64(f64::NAN); values.len()];
        let layout = plan.contiguous();
        // SAFETY: both have as many sites.
        unsafe {
            let source = Source { base: held.as_ptr().add(start), layout: &layout };
            plan.apply(&source, &Target { base: target.as_mut_ptr(), layout: &layout }, 1);
        }
        target
    }

    /// The sum over points at every site, one site after another.
    fn expected(extents: &[usize], points: &[Point<f64>], beyond: Option<f64>, values: &[f64]) -> Vec<f64> {
        let neighbour = |site: usize, offset: &[isize]| {
            let (mut rest, mut position, mut step) = (site, 0, 1);
            for (axis, &extent) in extents.iter().enumerate().rev() {
                let index = (rest % extent) as isize + offset[axis];
                rest /= extent;
                if let (Some(beyond), false) = (beyond, (0..extent as isize).contains(&index)) {
                    return beyond;
                }
                position += index.rem_euclid(extent as isize) as usize * step;
                step *= extent;
            }
            values[position]
        };
        let term = |site: usize, point: &Point<f64>| match point.coefficient {
            Coefficient::Constant(weight) => weight * neighbour(site, &point.offset),
            _ => f64::NAN,
        };
        (0..values.len()).map(|site| points.iter().map(|point| term(site, point)).sum()).collect()
    }

    fn plan<T: Element>(
        extents: &[usize],
        points: Vec<Point<T>>,
        beyond: Option<f64>,
        instructions: Level,
        streaming: bool,
    ) -> Plan<T> {
        let boundary = || beyond.map_or(Boundary::Circular, |value| Boundary::Value(T::from_f64(value)));
        let options = Options {
            instructions: Some(instructions),
            streaming_from: if streaming { 0 } else { usize::MAX },
            ..Options::default()
        };
        let stencil = Stencil::new(extents.len(), points).unwrap();
        Plan::new(&stencil, extents, (0..extents.len()).map(|_| boundary()).collect(), options).unwrap()
    }

    /// Processors that fuse products and sums round alike, with vectors of any length.
    fn fused() -> Vec<Level> {
        Level::available().into_iter().filter(|&level| level != Level::Portable).collect()
    }

    fn every_instruction_set_agrees<T: Element>(
        extents: &[usize],
        symmetric: bool,
        beyond: Option<f64>,
        begin: usize,
        streaming: bool,
    ) -> Result<(), TestCaseError> {
        let values = source::<T>(extents.iter().product(), false);
        let results: Vec<Vec<T>> = fused()
            .into_iter()
            .flat_map(|level| [false, true].map(|reversed| (level, reversed)))
            .map(|(level, reversed)| {
                let points = cube::<T>(extents.len(), symmetric, reversed);
                result(&plan(extents, points, beyond, level, streaming), &values, begin)
            })
            .collect();
        for other in results.iter().skip(1) {
            prop_assert_eq!(other, &results[0]);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn rows_by_twos_are_the_sums_over_points(
            outer in [1usize..4, 1usize..4, 1usize..9], columns in 1usize..90, axes in 3usize..5, circular: bool,
            symmetric: bool, begin in 0usize..8, streaming: bool,
        ) {
            let mut extents = outer[4 - axes..].to_vec();
            extents.push(columns);
            let beyond = (!circular).then_some(3.0);
            let values = source::<f64>(extents.iter().product(), true);
            let sums = expected(&extents, &cube(axes, symmetric, false), beyond, &values);
            for level in Level::available() {
                let plan = plan(&extents, cube(axes, symmetric, false), beyond, level, streaming);
                prop_assert_eq!(&result(&plan, &values, begin), &sums, "{:?}", level);
            }
        }

        #[test]
        fn rows_by_twos_are_those_of_one_at_a_time_to_the_last_bit(
            outer in [1usize..3, 1usize..5, 1usize..12], columns in 1usize..150, axes in 3usize..5, whole: bool,
            circular: bool, symmetric: bool, begin in 0usize..16, streaming: bool,
        ) {
            let mut extents = outer[4 - axes..].to_vec();
            extents.push(if whole { columns.next_multiple_of(16) } else { columns });
            let beyond = (!circular).then_some(2.5);
            every_instruction_set_agrees::<f64>(&extents, symmetric, beyond, begin, streaming)?;
            every_instruction_set_agrees::<f32>(&extents, symmetric, beyond, begin, streaming)?;
        }
    }

    #[test]
    fn a_plan_says_that_it_computes_rows_by_twos() {
        for level in Level::available() {
            let text = plan::<f64>(&[8, 8, 64], cube(3, false, true), None, level, false).explain();
            assert_eq!(text.contains("two rows of results at once"), level == Level::Avx512, "{text}");
            let star = cube::<f64>(3, false, false).into_iter().filter(|point| point.offset.contains(&0)).collect();
            let text = plan(&[8, 8, 64], star, None, level, false).explain();
            assert!(!text.contains("two rows"), "{text}");
            let square = Stencil::new(2, cube::<f64>(2, false, false)).unwrap();
            let options = Options { instructions: Some(level), ..Options::default() };
            let square = Plan::new(&square, &[64, 64], vec![Boundary::Circular, Boundary::Circular], options).unwrap();
            assert!(!square.explain().contains("two rows"));
        }
    }
}
