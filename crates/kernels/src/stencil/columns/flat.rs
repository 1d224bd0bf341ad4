//! Rows that follow one another in memory, computed as one long row.
//!
//! Rows that are no whole number of vectors begin anywhere within a cache line, and end with a part of a vector. Taken one by
//! one, each has its beginning and its end, and no non-temporal store fills a line where a row ends. But as rows follow one
//! another in the source and in the result alike, what is a neighbour within a row is one across its ends too: only the
//! results beside an end need another value than the one that is there. So vectors go through all rows from the first
//! line of the result to its last, and where a row ends the sums of its outer columns get one lane each from what lies
//! beyond. The order of summation is that of [`columns`](super), and so are the bits.

use super::super::lanes::{Lanes, MAX_LANES, Store, misplaced};
use super::super::scalar::Scalar;
use super::super::span::Row;
use super::results::RowResults;
use super::{Carry, Columns, Position, Sums, complete, sums, sums_of};

/// Whether rows are computed as one: where they are no whole number of vectors or begin at no multiple of one, and none is
/// shorter than a vector.
#[inline(always)]
pub(super) fn fits<V: Lanes>(row: &Row<'_, V::Scalar>) -> bool {
    let span = &row.span;
    let length = span.to - span.from;
    let is_even = length.is_multiple_of(V::LANES) && row.store != Store::StreamLines;
    !is_even && length >= V::LANES
}

/// Where the next row begins, and what its first column and the one before it lack.
struct Boundary<T> {
    /// Elements from the first of the run; beyond its end where there is no other row.
    at: usize,
    /// Rows that have begun.
    begun: usize,
    /// The sum of the column after the last of the row that ends there.
    high: T,
}

/// A run of rows.
struct Run<'a, 'b, V: Lanes> {
    columns: &'a Columns<V::Scalar>,
    row: &'a Row<'b, V::Scalar>,
    /// Element of the rows with which it begins.
    first: usize,
    /// How many rows.
    count: usize,
    /// Elements of a row.
    length: usize,
}

impl<V: Lanes> Run<'_, '_, V> {
    /// Puts what lies beyond the ends of rows into sums of the vectors from element `at` on.
    #[inline(always)]
    unsafe fn end_rows<const U: usize>(
        &self,
        at: usize,
        (before, _, after): &mut Sums<V, U>,
        boundary: &mut Boundary<V::Scalar>,
        carry: &mut Carry<V>,
    ) {
        while boundary.at < at + U * V::LANES {
            let lane = boundary.at - at;
            // SAFETY: the row that begins is one of those for which the rows are valid (this function's condition).
            let (low, high) = unsafe {
                self.columns.beside::<V>(self.row, self.first + boundary.begun * self.length - self.row.span.from)
            };
            for u in 0..U {
                // SAFETY: registers only, and lanes of a vector.
                unsafe {
                    if lane / V::LANES == u {
                        after[u] = after[u].with_lane(lane % V::LANES, boundary.high);
                    }
                    if lane > 0 && (lane - 1) / V::LANES == u {
                        before[u] = before[u].with_lane((lane - 1) % V::LANES, low);
                    }
                }
            }
            if lane == 0 {
                // SAFETY: registers only.
                carry.before = unsafe { carry.before.with_lane(V::LANES - 1, low) };
            }
            boundary.begun += 1;
            boundary.high = high;
            boundary.at = if boundary.begun < self.count { boundary.begun * self.length } else { usize::MAX };
        }
    }

    /// `U` vectors from element `at`.
    #[inline(always)]
    unsafe fn block<const U: usize, const SYMMETRIC: bool>(
        &self,
        at: usize,
        is_first: bool,
        boundary: &mut Boundary<V::Scalar>,
        carry: &mut Carry<V>,
    ) {
        let column = self.first + at;
        // SAFETY: every row and `out` have U vectors from there, and `out` the one before where this is not the run's first
        // block (this function's condition).
        unsafe {
            self.row.prefetch_ahead::<V, U>(column);
            let mut sums = sums::<V, U, SYMMETRIC>(self.columns, self.row.rows, column);
            self.end_rows::<U>(at, &mut sums, boundary, carry);
            complete(
                &mut RowResults::of(self.row),
                column,
                if is_first { Position::First } else { Position::Later },
                sums,
                carry,
            );
        }
    }

    /// The first `count` results, fewer than a vector's, through the caches.
    #[inline(always)]
    unsafe fn head<const SYMMETRIC: bool>(&self, count: usize, carry: &mut Carry<V>) {
        let column = self.first;
        let mut lanes = [V::Scalar::ZERO; MAX_LANES];
        // SAFETY: no row is shorter than a vector, and `out` has `count` results (this function's condition).
        unsafe {
            let (before, centre, after) = sums::<V, 1, SYMMETRIC>(self.columns, self.row.rows, column);
            let result = centre[0].add(before[0].after(carry.before)).add(after[0].before(after[0]));
            result.store_first(count, self.row.out.add(column));
            before[0].store(lanes.as_mut_ptr());
            carry.before = V::splat(lanes[count - 1]);
        }
    }

    /// The last `count` results, fewer than a vector's, through the caches, and the vector before them.
    #[inline(always)]
    unsafe fn tail<const SYMMETRIC: bool>(
        &self,
        at: usize,
        count: usize,
        is_first: bool,
        boundary: &mut Boundary<V::Scalar>,
        carry: &mut Carry<V>,
    ) {
        let Row { rows, out, store, .. } = *self.row;
        let column = self.first + at;
        // SAFETY: rows and `out` have `count` elements from there, and `out` a vector before where this is not the run's
        // first (this function's condition).
        unsafe {
            let zero = V::splat(V::Scalar::ZERO);
            let mut last = ([zero], [zero], [zero]);
            if count > 0 {
                self.row.prefetch_ahead::<V, 1>(column);
                let load = |row: *const V::Scalar| [V::load_first(row.add(column), count)];
                last = sums_of::<V, 1, SYMMETRIC>(self.columns, rows, load);
                self.end_rows::<1>(at, &mut last, boundary, carry);
            }
            let (before, centre, after) = (last.0[0], last.1[0], last.2[0].with_lane(count, boundary.high));
            if !is_first {
                carry.pending.add(carry.after.before(after)).put(out.add(column - V::LANES), store);
            }
            if count > 0 {
                centre.add(before.after(carry.before)).add(after.before(zero)).store_first(count, out.add(column));
            }
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
    if row.span.to - row.span.from == row.span.extent {
        // SAFETY: the rows are as `Row` says and fit (this function's conditions), and whole rows follow one another.
        return unsafe { run::<V, U, SYMMETRIC>(columns, row, 0, row.repeat) };
    }
    for number in 0..row.repeat {
        // SAFETY: this is one of the `repeat` rows.
        unsafe { run::<V, U, SYMMETRIC>(columns, row, number * row.span.extent, 1) };
    }
}

/// Computes `count` rows, the first `start` elements after the first of `row`.
///
/// # Safety
/// As for [`rows`]; several rows are whole.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    start: usize,
    count: usize,
) {
    let length = row.span.to - row.span.from;
    let (first, total) = (start + row.span.from, count * length);
    let streams = row.store == Store::StreamLines;
    let aligned = Row { store: if streams { Store::StreamVector } else { row.store }, ..*row };
    let run = Run::<V> { columns, row: &aligned, first, count, length };
    let begin = misplaced::<V>(row.out.wrapping_add(first));
    let mut at = if streams && begin > 0 { V::LANES - begin } else { 0 };
    // SAFETY: rows and `out` are valid for all `count` rows, which follow one another and are no shorter than a vector
    // (this function's conditions); every block ends at `total` or before.
    unsafe {
        let (low, high) = columns.beside::<V>(row, start);
        let mut carry = Carry::begin(low);
        let mut boundary = Boundary { at: if count > 1 { length } else { usize::MAX }, begun: 1, high };
        if at > 0 {
            run.head::<SYMMETRIC>(at, &mut carry);
        }
        let mut is_first = true;
        while at + U * V::LANES <= total {
            run.block::<U, SYMMETRIC>(at, is_first, &mut boundary, &mut carry);
            at += U * V::LANES;
            is_first = false;
        }
        while at + V::LANES <= total {
            run.block::<1, SYMMETRIC>(at, is_first, &mut boundary, &mut carry);
            at += V::LANES;
            is_first = false;
        }
        run.tail::<SYMMETRIC>(at, total - at, is_first, &mut boundary, &mut carry);
    }
}
