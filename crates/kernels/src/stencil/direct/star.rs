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

    /// The row that begins at an element.
    #[inline(always)]
    unsafe fn compute<const STREAM: bool>(&self, start: usize) {
        let Span { extent, low, high, .. } = self.row.span;
        let beyond = |end: End<V::Scalar>, at: usize| match end {
            End::Value(value) => value,
            // SAFETY: an element of the row, for which it is valid (this function's condition).
            _ => unsafe { *self.centre.add(at) },
        };
        // SAFETY: rows and `out` are valid for the row that begins there (this function's condition); whole vectors end
        // before `behind`, and no more than `rest` elements are read and written from there.
        unsafe {
            let (low, high) = (beyond(low, start + extent - 1), beyond(high, start));
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

/// Computes `repeat` rows of a star with `OWN` terms of an element's own column.
#[inline(always)]
unsafe fn of<V: Lanes, const OWN: usize>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>) {
    let sides = &terms.constant[OWN..];
    // SAFETY: registers only, and rows as for [`rows`].
    unsafe {
        let star = Star::<V, OWN> {
            row,
            rows: std::array::from_fn(|number| terms.constant[number].row),
            factors: std::array::from_fn(|number| V::splat(terms.constant[number].factor)),
            centre: sides[0].row,
            sides: [V::splat(sides[0].factor), V::splat(sides[1].factor)],
            rest: row.span.extent % V::LANES,
        };
        if row.store == Store::Cached {
            (0..row.repeat).for_each(|number| star.compute::<false>(number * row.span.extent));
        } else {
            (0..row.repeat).for_each(|number| star.compute::<true>(number * row.span.extent));
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
