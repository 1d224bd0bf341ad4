//! Rows of stencils with constant coefficients that reach at most one column to either side.
//!
//! The sum over neighbours is taken by columns: for each of the three columns a weighted sum over the rows, at the same
//! place; then the sums of the outer columns are moved by one lane and added. Every row is loaded once and at its own
//! alignment, however many columns the stencil has, and each column's sum of a vector serves three results: this is the
//! rotation through registers along the row. Rows whose coefficients agree in all columns are added before they are
//! multiplied, and where the two outer columns have the same coefficients their sum is formed once: a symmetric 27-point
//! stencil takes 14 additions and 6 products instead of 27 of each.
//!
//! Rows that are no whole number of vectors are computed as one long row where they follow one another (`flat`), or by twos
//! with results put together anew by cache lines (`results`).
//!
//! Order of summation: rows of a class in the order of memory; classes of one row with all three columns,
//! then others, then single rows with a centre only, each in the order of their first rows; `(centre + before) + after` at
//! last.

mod flat;
mod joined;
mod pairs;
mod results;

use self::results::{Results, RowResults};
use super::lanes::Lanes;
use super::scalar::Scalar;
use super::scratch::Scratch;
use super::span::{Lookup, Row};

/// How the sum over a row's neighbours is taken.
#[derive(Clone, Debug)]
pub struct Columns<T> {
    /// Classes by kind, so that no kernel asks within a row what a class has; pointers to rows come in this order.
    whole: Vec<[T; 3]>,
    several: Vec<Class<T>>,
    centres: Vec<T>,
    /// The stencil's row for every row of the classes, in order.
    order: Vec<usize>,
    symmetric: bool,
    /// Whether pointers come in threes of neighbouring rows, all with three columns.
    threes: bool,
    /// The classes that have a coefficient in column -1, and those that have one in column 1.
    sides: [Vec<Side<T>>; 2],
}

/// Rows with the same coefficients.
#[derive(Clone, Copy, Debug)]
struct Class<T> {
    /// How many rows; they follow those of the class before.
    rows: usize,
    /// Whether columns -1, 0 and 1 have a coefficient.
    has: [bool; 3],
    coefficients: [T; 3],
}

/// A class as one outer column sees it: its rows and its coefficient there.
#[derive(Clone, Copy, Debug)]
struct Side<T> {
    first: usize,
    end: usize,
    coefficient: T,
}

/// A compiled kernel. Safety: see [`columns_row`].
pub type ColumnsKernel<T> = unsafe fn(&Columns<T>, &Row<'_, T>, &mut Scratch<T>);

/// Rows with their coefficients of columns -1, 0, 1.
type Kind<T> = ([Option<T>; 3], Vec<usize>);

/// The classes that have a coefficient in a column.
fn side<T: Scalar>(kinds: &[Kind<T>], column: usize) -> Vec<Side<T>> {
    let mut first = 0;
    let mut sides = Vec::new();
    for (coefficients, members) in kinds {
        let end = first + members.len();
        sides.extend(coefficients[column].map(|coefficient| Side { first, end, coefficient }));
        first = end;
    }
    sides
}

impl<T: Scalar> Columns<T> {
    /// From the coefficients of columns -1, 0, 1 of each row, and its offsets in all axes but the last.
    pub fn new(rows: &[[Option<T>; 3]], offsets: &[&[isize]]) -> Columns<T> {
        let mut kinds: Vec<Kind<T>> = Vec::new();
        for (row, coefficients) in rows.iter().enumerate() {
            match kinds.iter_mut().find(|(known, _)| known == coefficients) {
                Some((_, members)) => members.push(row),
                None => kinds.push((*coefficients, vec![row])),
            }
        }
        // A sort that keeps the order of equals: first single rows with all three columns, at last single centres.
        kinds.sort_by_key(|(coefficients, members)| match (coefficients, members.len()) {
            ([Some(_), Some(_), Some(_)], 1) => 0,
            ([None, Some(_), None], 1) => 2,
            _ => 1,
        });
        let mut columns = Columns {
            whole: Vec::new(),
            several: Vec::new(),
            centres: Vec::new(),
            symmetric: kinds.iter().all(|(coefficients, _)| coefficients[0] == coefficients[2]),
            order: kinds.iter().flat_map(|(_, members)| members.iter().copied()).collect(),
            threes: false,
            sides: [side(&kinds, 0), side(&kinds, 2)],
        };
        for (coefficients, members) in &kinds {
            match (*coefficients, members.len()) {
                ([Some(before), Some(centre), Some(after)], 1) => columns.whole.push([before, centre, after]),
                ([None, Some(centre), None], 1) => columns.centres.push(centre),
                _ => columns.several.push(Class {
                    rows: members.len(),
                    has: coefficients.map(|coefficient| coefficient.is_some()),
                    coefficients: coefficients.map(|coefficient| coefficient.unwrap_or(T::ZERO)),
                }),
            }
        }
        let ordered: Vec<&[isize]> = columns.order.iter().map(|&row| offsets[row]).collect();
        columns.threes = columns.whole.len() == rows.len() && pairs::are_threes(&ordered);
        columns
    }

    /// The stencil's row for each pointer that a kernel is given.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// How many classes of rows there are.
    pub fn classes(&self) -> usize {
        self.whole.len() + self.several.len() + self.centres.len()
    }

    /// Whether one row has both outer columns and no other has one.
    pub(super) fn is_star(&self) -> bool {
        let has_sides = |class: &Class<T>| class.rows == 1 && class.has[0] && class.has[2];
        match (&self.whole[..], &self.several[..]) {
            ([_], []) => true,
            ([], [class]) => has_sides(class),
            _ => false,
        }
    }

    /// The coefficients of rows that have all three columns and share them with no other.
    pub(super) fn whole(&self) -> &[[T; 3]] {
        &self.whole
    }

    /// Whether pointers come in threes of neighbouring rows, all with three columns.
    pub(super) fn is_threes(&self) -> bool {
        self.threes
    }

    /// Products and sums of a vector of results.
    pub fn operations(&self) -> usize {
        let columns = if self.symmetric { 1..3 } else { 0..3 };
        let products = |class: &Class<T>| class.has[columns.clone()].iter().filter(|&&has| has).count();
        let several: usize = self.several.iter().map(|class| class.rows - 1 + products(class)).sum();
        self.whole.len() * columns.len() + several + self.centres.len()
    }

    /// The sums of the outer columns beside a row's first and last columns, which may lie beyond its ends.
    #[inline(always)]
    pub(super) unsafe fn beside<V: Lanes<Scalar = T>>(&self, row: &Row<'_, T>, start: usize) -> (T, T) {
        // SAFETY: the row is as `Row` says for a stencil that has these outer columns, so that the columns beside its
        // span are in the row, or in memory where the span goes on there.
        unsafe {
            (
                sum_at::<V>(&self.sides[0], row, start, row.span.from as isize - 1),
                sum_at::<V>(&self.sides[1], row, start, row.span.to as isize),
            )
        }
    }

    /// Whether both outer columns share one sum.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }
}

/// Sums of `U` vectors, for the column before, the centre and the column after.
pub(super) type Sums<V, const U: usize> = ([V; U], [V; U], [V; U]);

/// The sums of the three columns over `U` vectors from column `at`; the first equals the last where `SYMMETRIC`.
#[inline(always)]
pub(super) unsafe fn sums<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    rows: &[*const V::Scalar],
    at: usize,
) -> Sums<V, U> {
    // SAFETY: every row has U vectors from `at` (this function's condition), and `load` is called with rows of `rows`
    // only.
    unsafe {
        sums_of::<V, U, SYMMETRIC>(columns, rows, |row| std::array::from_fn(|u| V::load(row.add(at + u * V::LANES))))
    }
}

/// The same of what `load` takes from each row.
#[inline(always)]
unsafe fn sums_of<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    rows: &[*const V::Scalar],
    load: impl Fn(*const V::Scalar) -> [V; U],
) -> Sums<V, U> {
    // SAFETY: there is a row for each of the classes.
    unsafe {
        let zero = V::splat(V::Scalar::ZERO);
        let (mut before, mut centre, mut after) = ([zero; U], [zero; U], [zero; U]);
        let mut row = rows.as_ptr();
        for coefficients in &columns.whole {
            let value = load(*row);
            row = row.add(1);
            accumulate(&mut centre, &value, coefficients[1]);
            accumulate(&mut after, &value, coefficients[2]);
            if !SYMMETRIC {
                accumulate(&mut before, &value, coefficients[0]);
            }
        }
        for class in &columns.several {
            let mut value = load(*row);
            row = row.add(1);
            for _ in 1..class.rows {
                for (value, more) in value.iter_mut().zip(load(*row)) {
                    *value = value.add(more);
                }
                row = row.add(1);
            }
            if class.has[1] {
                accumulate(&mut centre, &value, class.coefficients[1]);
            }
            if class.has[2] {
                accumulate(&mut after, &value, class.coefficients[2]);
            }
            if !SYMMETRIC && class.has[0] {
                accumulate(&mut before, &value, class.coefficients[0]);
            }
        }
        for &coefficient in &columns.centres {
            accumulate(&mut centre, &load(*row), coefficient);
            row = row.add(1);
        }
        (if SYMMETRIC { after } else { before }, centre, after)
    }
}

#[inline(always)]
pub(super) unsafe fn accumulate<V: Lanes, const U: usize>(sum: &mut [V; U], value: &[V; U], coefficient: V::Scalar) {
    // SAFETY: registers only.
    unsafe {
        let factor = V::splat(coefficient);
        for (sum, value) in sum.iter_mut().zip(value) {
            *sum = value.multiply_add(factor, *sum);
        }
    }
}

/// The sum of one outer column at a column that may lie beyond the row's ends.
#[inline(always)]
unsafe fn sum_at<V: Lanes>(
    side: &[Side<V::Scalar>],
    row: &Row<'_, V::Scalar>,
    start: usize,
    column: isize,
) -> V::Scalar {
    let mut sum = V::Scalar::ZERO;
    match row.span.find(column) {
        Lookup::At(column) => {
            let column = column + start as isize;
            for class in side {
                let members = &row.rows[class.first..class.end];
                // SAFETY: `find` gives columns of the row, or beyond where the caller has memory.
                let mut value = unsafe { *members[0].offset(column) };
                for member in &members[1..] {
                    // SAFETY: every row of the stencil has the columns that `find` gives, this one of the class like
                    // its first.
                    value = value + unsafe { *member.offset(column) };
                }
                // SAFETY: registers only.
                sum = unsafe { V::multiply_add_one(value, class.coefficient, sum) };
            }
        }
        Lookup::Value(beyond) => {
            for class in side {
                let value = (class.first + 1..class.end).fold(beyond, |value, _| value + beyond);
                // SAFETY: registers only.
                sum = unsafe { V::multiply_add_one(value, class.coefficient, sum) };
            }
        }
    }
    sum
}

/// What is carried from one block of vectors to the next.
pub(super) struct Carry<V> {
    /// The last vector of the sum of the column before.
    before: V,
    /// The last result, which still lacks what comes after it.
    pending: V,
    /// The last vector of the sum of the column after.
    after: V,
}

impl<V: Lanes> Carry<V> {
    /// At the start of a row, with the sum of the column before its first.
    #[inline(always)]
    pub(super) unsafe fn begin(low: V::Scalar) -> Carry<V> {
        // SAFETY: registers only.
        unsafe {
            let zero = V::splat(V::Scalar::ZERO);
            Carry { before: V::splat(low), pending: zero, after: zero }
        }
    }
}

/// The first vector of a row whose first column follows its last, which is stored when the last has been computed.
pub(super) struct Opening<V> {
    before: V,
    centre: V,
    after: V,
    /// The sum of the column after, by which the last vector is completed.
    first_after: V,
}

impl<V: Lanes> Opening<V> {
    #[inline(always)]
    pub(super) unsafe fn empty() -> Opening<V> {
        // SAFETY: registers only.
        unsafe {
            let zero = V::splat(V::Scalar::ZERO);
            Opening { before: zero, centre: zero, after: zero, first_after: zero }
        }
    }

    /// Ends a row that wraps, whose full vectors are done but for the first and the last: `last` are the sums of the `rest`
    /// columns behind them, and the row begins at element `start`.
    #[inline(always)]
    unsafe fn close(
        &self,
        (start, full, rest): (usize, usize, usize),
        last: &Sums<V, 1>,
        carry: &Carry<V>,
        results: &mut impl Results<V>,
    ) {
        let behind = start + full;
        // SAFETY: results have the row (this function's condition), of which these are the first vector, the last full one
        // and the `rest` columns behind it.
        unsafe {
            let zero = V::splat(V::Scalar::ZERO);
            let (before, centre, after) = (last.0[0], last.1[0], last.2[0]);
            let (mut last_before, mut next_after) = (carry.before, self.first_after);
            let mut result = zero;
            if rest > 0 {
                // The lanes of what is behind, moved to the end of a vector.
                last_before = before.join(before, rest);
                next_after = after.join(after, rest).join(self.first_after, V::LANES - rest);
                result = centre.add(before.after(carry.before)).add(next_after.before(zero));
            }
            results.put(behind - V::LANES, carry.pending.add(carry.after.before(next_after)));
            results.put_last(behind, result, rest);
            results.put_first(start, self.centre.add(self.before.after(last_before)).add(self.after));
        }
    }
}

/// Where a block lies in its row.
pub(super) enum Position<'a, V> {
    /// At its start, after the column that the carry has.
    First,
    /// At its start, which is completed with the row: only for blocks of more than one vector.
    Opening(&'a mut Opening<V>),
    /// After other blocks.
    Later,
}

/// Completes and stores the vector before `U` vectors from column `at` and all but the last of these, which is carried.
#[inline(always)]
pub(super) unsafe fn complete<V: Lanes, const U: usize>(
    results: &mut impl Results<V>,
    at: usize,
    position: Position<'_, V>,
    (before, centre, after): Sums<V, U>,
    carry: &mut Carry<V>,
) {
    // SAFETY: `results` have U vectors from `at`, and the one before where the block is not the row's first (this
    // function's condition).
    unsafe {
        let mut first = 0;
        let mut previous = carry.before;
        match position {
            Position::First => {}
            Position::Opening(opening) => {
                *opening = Opening {
                    before: before[0],
                    centre: centre[0],
                    after: after[0].before(after[1 % U]),
                    first_after: after[0],
                };
                previous = before[0];
                first = 1;
            }
            Position::Later => results.put(at - V::LANES, carry.pending.add(carry.after.before(after[0]))),
        }
        for u in 0..U {
            let pending = centre[u].add(before[u].after(previous));
            previous = before[u];
            if u + 1 < U {
                if u >= first {
                    results.put(at + u * V::LANES, pending.add(after[u].before(after[u + 1])));
                }
            } else {
                carry.pending = pending;
            }
        }
        carry.before = previous;
        carry.after = after[U - 1];
    }
}

/// `U` vectors from column `at`.
#[inline(always)]
unsafe fn block<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    at: usize,
    first: bool,
    carry: &mut Carry<V>,
) {
    // SAFETY: every row and `out` have U vectors from `at`, and `out` the one before where this is not the row's first
    // block (this function's condition).
    unsafe {
        row.prefetch_ahead::<V, U>(at);
        let position = if first { Position::First } else { Position::Later };
        complete(&mut RowResults::of(row), at, position, sums::<V, U, SYMMETRIC>(columns, row.rows, at), carry);
    }
}

/// Computes a span of one row.
///
/// # Safety
/// The processor has the instructions of `V`. `row` has a pointer for each of [`Columns::order`]; see [`Row`].
#[inline(always)]
unsafe fn columns_row<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    scratch: &mut Scratch<V::Scalar>,
) {
    if flat::fits::<V>(row) {
        // SAFETY: the row is as `Row` says and the processor has the instructions of `V` (this function's conditions),
        // and the rows fit.
        return unsafe { flat::rows::<V, U, SYMMETRIC>(columns, row) };
    }
    if joined::fits::<V>(row) {
        // SAFETY: the row is as `Row` says and the processor has the instructions of `V` (this function's conditions),
        // and the rows fit.
        return unsafe { joined::rows::<V, U, SYMMETRIC>(columns, row, scratch) };
    }
    for number in 0..row.repeat {
        // SAFETY: the row is as `Row` says, with `repeat` rows one after the other of which this is one, and the
        // processor has the instructions of `V` (this function's conditions).
        unsafe { one_row::<V, U, SYMMETRIC>(columns, row, number * row.span.extent) }
    }
}

/// Computes the row that begins `start` elements after the first.
#[inline(always)]
pub(super) unsafe fn one_row<V: Lanes, const U: usize, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    start: usize,
) {
    let span = &row.span;
    // SAFETY: rows and `out` are valid for the span from `start` on (this function's condition), of which each block
    // takes vectors that end at `full` or before.
    unsafe {
        let (low, high) = columns.beside::<V>(row, start);
        let mut carry = Carry::begin(low);
        let full = span.from + (span.to - span.from) / V::LANES * V::LANES;
        let mut at = span.from;
        while at + U * V::LANES <= full {
            block::<V, U, SYMMETRIC>(columns, row, start + at, at == span.from, &mut carry);
            at += U * V::LANES;
        }
        while at < full {
            block::<V, 1, SYMMETRIC>(columns, row, start + at, at == span.from, &mut carry);
            at += V::LANES;
        }
        end_row::<V, SYMMETRIC>(columns, row, start, &carry, high, &mut RowResults::of(row));
    }
}

/// Ends the row that begins `start` elements after the first, whose full vectors are done but for the last: the sum of the
/// column after its last is `high`.
#[inline(always)]
pub(super) unsafe fn end_row<V: Lanes, const SYMMETRIC: bool>(
    columns: &Columns<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    start: usize,
    carry: &Carry<V>,
    high: V::Scalar,
    results: &mut impl Results<V>,
) {
    let (full, rest) = full_and_rest::<V>(row);
    let at = start + full;
    // SAFETY: rows and results are valid for the span from `start` on (this function's condition), of which no more than
    // the `rest` columns behind its full vectors are read.
    unsafe {
        let zero = [V::splat(V::Scalar::ZERO)];
        let mut last = (zero, zero, zero);
        if rest > 0 {
            row.prefetch_ahead::<V, 1>(at);
            let load = |row: *const V::Scalar| [V::load_first(row.add(at), rest)];
            last = sums_of::<V, 1, SYMMETRIC>(columns, row.rows, load);
        }
        end_with(at, (full > row.span.from, rest), last, carry, high, results);
    }
}

/// The column behind a row's full vectors, and how many columns are left.
#[inline(always)]
pub(super) fn full_and_rest<V: Lanes>(row: &Row<'_, V::Scalar>) -> (usize, usize) {
    let span = &row.span;
    let full = span.from + (span.to - span.from) / V::LANES * V::LANES;
    (full, span.to - full)
}

/// Ends a row behind whose full vectors, if it has any, `rest` columns are left with the sums `last`, from element `at` on.
#[inline(always)]
pub(super) unsafe fn end_with<V: Lanes>(
    at: usize,
    (has_full, rest): (bool, usize),
    last: Sums<V, 1>,
    carry: &Carry<V>,
    high: V::Scalar,
    results: &mut impl Results<V>,
) {
    let (before, centre, after) = (last.0[0], last.1[0], last.2[0]);
    // SAFETY: results have the last full vector and the `rest` columns behind it (this function's condition).
    unsafe {
        let zero = V::splat(V::Scalar::ZERO);
        if rest == 0 {
            if has_full {
                results.put(at - V::LANES, carry.pending.add(carry.after.before(V::splat(high))));
            }
            return results.put_last(at, zero, 0);
        }
        if has_full {
            results.put(at - V::LANES, carry.pending.add(carry.after.before(after)));
        }
        let after = after.with_lane(rest, high);
        let result = centre.add(before.after(carry.before)).add(after.before(zero));
        results.put_last(at, result, rest);
    }
}

macro_rules! compiled {
    ($name:ident, $pairs:ident, $unroll:literal $(, $features:literal)?) => {
        /// Safety: see [`columns_row`].
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn $name<V: Lanes, const SYMMETRIC: bool>(
            columns: &Columns<V::Scalar>,
            row: &Row<'_, V::Scalar>,
            scratch: &mut Scratch<V::Scalar>,
        ) {
            // SAFETY: the plan has chosen a kernel for the instructions that this processor has, with which this
            // function and `V` are compiled, and gives it a row that is as `Row` says.
            unsafe {
                if pairs::fits::<V>(columns, row) {
                    return $pairs::<V, SYMMETRIC>(columns, row);
                }
                columns_row::<V, $unroll, SYMMETRIC>(columns, row, scratch)
            }
        }

        /// Not part of the other, whose registers it would take. Safety: see [`pairs::rows`].
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        unsafe fn $pairs<V: Lanes, const SYMMETRIC: bool>(columns: &Columns<V::Scalar>, row: &Row<'_, V::Scalar>) {
            // SAFETY: the caller is compiled for the same instructions, and has found that the rows, which are as `Row`
            // says, fit.
            unsafe { pairs::rows::<V, $unroll, SYMMETRIC>(columns, row) }
        }
    };
}

compiled!(columns_portable, pairs_portable, 2);
#[cfg(target_arch = "x86_64")]
compiled!(columns_avx2, pairs_avx2, 2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compiled!(columns_avx512, pairs_avx512, 4, "avx512f,avx512vl,avx512dq,avx2,fma");
