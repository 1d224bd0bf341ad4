//! Rows of any stencil: every term is loaded where it lies and multiplied by a constant or by its own coefficients.
//!
//! Rows are computed as one where they follow one another (`runs`), and where a term would reach beyond an end of its row,
//! lanes of its vector are taken from what is there (`seams`). Where that does not do, as with ends that differ within a
//! site, vectors near the ends of a row are put together first; the arithmetic is the same.
//!
//! What comes from memory is prefetched where most coefficients are constants. Where most come from memory too, the
//! processor's own prefetching keeps up with the streams, and hints to it only take the slots of what is under way.
//!
//! Order of summation: terms with one coefficient for the row, then terms with coefficients along the row; in each, those
//! of an element's own column before the others, from left to right, else in the order in which rows lie in memory.

mod runs;
mod seams;
mod short;
pub(super) mod star;
mod sums;

pub use self::seams::Seams;
use super::lanes::{Lanes, MAX_LANES, Store, misplaced};
use super::scalar::Scalar;
use super::scratch::{Copies, Scratch};
use super::span::{Lookup, Row, Span};

/// One row's terms: a pointer to column 0 of each neighbour's row, its offset in columns, and its coefficients.
#[derive(Clone, Debug)]
pub struct Terms<T> {
    /// Terms with one coefficient for the row.
    pub constant: Vec<ConstantTerm<T>>,
    /// Terms with coefficients along the row.
    pub varying: Vec<VaryingTerm<T>>,
    /// How many of the first are of an element's own column; the others follow them.
    pub own_constant: usize,
    /// How many of the second.
    pub own_varying: usize,
}

/// `factor * row[column + offset]`.
#[derive(Clone, Copy, Debug)]
pub struct ConstantTerm<T> {
    /// Column 0 of the neighbour's row.
    pub row: *const T,
    /// Which of the plan's rows that is.
    pub group: usize,
    /// Columns to the right.
    pub offset: isize,
    /// The number of that distance, where it is not 0.
    pub distance: usize,
    /// The coefficient.
    pub factor: T,
}

/// `factors[column] * row[column + offset]`.
#[derive(Clone, Copy, Debug)]
pub struct VaryingTerm<T> {
    /// Column 0 of the neighbour's row.
    pub row: *const T,
    /// Which of the plan's rows that is.
    pub group: usize,
    /// Columns to the right.
    pub offset: isize,
    /// The number of that distance, where it is not 0.
    pub distance: usize,
    /// Column 0 of the coefficients.
    pub factors: *const T,
}

// SAFETY: the pointers are written before they are read within each call; nothing is shared.
unsafe impl<T: Send> Send for Terms<T> {}

/// A compiled kernel. Safety: see [`direct_row`].
pub type DirectKernel<T> = unsafe fn(&Terms<T>, &Seams, &Row<'_, T>, &mut Scratch<T>);

/// How far the terms of a stencil reach along a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Columns to the left, not negative.
    pub low: usize,
    /// Columns to the right, not negative.
    pub high: usize,
}

/// Adds the terms of a slice to `U` vectors of sums from column `at`, in order.
#[inline(always)]
unsafe fn add_constant<V: Lanes, const U: usize>(sum: &mut [V; U], terms: &[ConstantTerm<V::Scalar>], at: usize) {
    for term in terms {
        // SAFETY: the terms' rows have U vectors from `at` plus the term's offset (this function's condition).
        unsafe {
            let (from, factor) = (term.row.offset(term.offset + at as isize), V::splat(term.factor));
            for (u, sum) in sum.iter_mut().enumerate() {
                *sum = V::load(from.add(u * V::LANES)).multiply_add(factor, *sum);
            }
        }
    }
}

/// The same for terms with coefficients along the row.
#[inline(always)]
unsafe fn add_varying<V: Lanes, const U: usize>(sum: &mut [V; U], terms: &[VaryingTerm<V::Scalar>], at: usize) {
    for term in terms {
        // SAFETY: the terms' rows have U vectors from `at` plus the term's offset, and their coefficients U vectors
        // from `at` (this function's condition).
        unsafe {
            let (from, factors) = (term.row.offset(term.offset + at as isize), term.factors.add(at));
            for (u, sum) in sum.iter_mut().enumerate() {
                let factor = V::load(factors.add(u * V::LANES));
                *sum = V::load(from.add(u * V::LANES)).multiply_add(factor, *sum);
            }
        }
    }
}

/// The sum of `U` vectors from column `at`.
#[inline(always)]
unsafe fn sum<V: Lanes, const U: usize>(terms: &Terms<V::Scalar>, at: usize) -> [V; U] {
    // SAFETY: all terms can be read for U vectors from `at` (this function's condition).
    unsafe {
        let mut sum = [V::splat(V::Scalar::ZERO); U];
        add_constant(&mut sum, &terms.constant, at);
        add_varying(&mut sum, &terms.varying, at);
        sum
    }
}

/// Bytes ahead that coefficients are prefetched: from 1.5 to 3 KiB are alike, with rows of as much; less is too late.
const FACTOR_BYTES_AHEAD: usize = 2048;

/// Prefetches coefficients: processors follow fewer streams than a stencil may have arrays.
#[inline(always)]
unsafe fn prefetch_factors<V: Lanes, const U: usize>(terms: &[VaryingTerm<V::Scalar>], at: usize) {
    for term in terms {
        let from = term.factors.wrapping_add(at).wrapping_byte_add(FACTOR_BYTES_AHEAD);
        for line in 0..U {
            // SAFETY: a hint: any address will do.
            unsafe { V::prefetch(from.wrapping_add(line * V::LANES)) };
        }
    }
}

/// Prefetches all that comes from memory, as much as `U` vectors from column `at` take.
#[inline(always)]
unsafe fn prefetch<V: Lanes, const U: usize>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>, at: usize) {
    if !row.ahead.is_empty() {
        // SAFETY: hints.
        unsafe {
            row.prefetch_ahead::<V, U>(at);
            prefetch_factors::<V, U>(&terms.varying, at);
        }
    }
}

/// Columns near an end of a row, and what the stencil reaches beside them.
struct Edge<'a, T> {
    span: &'a Span<T>,
    reach: &'a Reach,
    /// First column.
    at: usize,
    /// How many.
    count: usize,
}

impl<T: Scalar> Edge<'_, T> {
    /// The columns, moved by `offset`, of a row: as they lie in memory, or from its copy.
    ///
    /// # Safety
    /// The row is as [`Row`] says, and `copies` have memory for another row's.
    #[inline(always)]
    unsafe fn load<V: Lanes<Scalar = T>>(&self, row: *const T, offset: isize, copies: &mut Copies<'_, T>) -> V {
        let (low, high) = self.span.readable();
        let from = self.at as isize + offset;
        // SAFETY: the columns are memory, or the copy has them and what a whole vector reads beyond; it is filled where it
        // is new.
        unsafe {
            if from >= low && from + self.count as isize <= high {
                return load_part(row.offset(from), self.count);
            }
            let copy = copies.of(row, |copy| self.copy(row, copy));
            V::load(copy.offset(self.reach.low as isize + offset))
        }
    }

    /// Copies a row's columns from as many before the first as are reached to as many after the last, whatever is there.
    ///
    /// # Safety
    /// The row is as [`Row`] says, and `copy` has memory for them.
    #[inline(never)]
    unsafe fn copy(&self, row: *const T, copy: *mut T) {
        let first = self.at as isize - self.reach.low as isize;
        let end = (self.at + self.count + self.reach.high) as isize;
        let (low, high) = self.span.readable();
        let (inner_first, inner_end) = (first.max(low), end.min(high));
        // SAFETY: columns from `low` to `high` are memory; the rest is resolved by `find`.
        unsafe {
            if inner_first < inner_end {
                let length = (inner_end - inner_first) as usize;
                std::ptr::copy_nonoverlapping(row.offset(inner_first), copy.offset(inner_first - first), length);
            }
            for column in (first..inner_first.min(end)).chain(inner_end.max(inner_first).max(first)..end) {
                *copy.offset(column - first) = match self.span.find(column) {
                    Lookup::At(index) => *row.offset(index),
                    Lookup::Value(value) => value,
                };
            }
        }
    }
}

/// The first `count` lanes of a vector, of which no more are read.
#[inline(always)]
unsafe fn load_part<V: Lanes>(from: *const V::Scalar, count: usize) -> V {
    // SAFETY: so many elements can be read (this function's condition).
    unsafe { if count == V::LANES { V::load(from) } else { V::load_first(from, count) } }
}

/// One vector, or its first `count` lanes, near an end of the row.
#[inline(always)]
unsafe fn edge<V: Lanes>(
    terms: &Terms<V::Scalar>,
    reach: &Reach,
    row: &Row<'_, V::Scalar>,
    at: usize,
    count: usize,
    scratch: &mut Scratch<V::Scalar>,
) {
    let Row { ref span, out, store, .. } = *row;
    let edge = Edge { span, reach, at, count };
    // SAFETY: coefficients and `out` are valid for `count` columns from `at` (this function's condition), and no more
    // rows are copied than there are terms.
    unsafe {
        prefetch::<V, 1>(terms, row, at);
        let mut copies = scratch.copies(terms.constant.len() + terms.varying.len(), reach.low + V::LANES + reach.high);
        let mut sum = V::splat(V::Scalar::ZERO);
        for term in &terms.constant {
            let value = edge.load::<V>(term.row, term.offset, &mut copies);
            sum = value.multiply_add(V::splat(term.factor), sum);
        }
        for term in &terms.varying {
            let value = edge.load::<V>(term.row, term.offset, &mut copies);
            sum = value.multiply_add(load_part(term.factors.add(at), count), sum);
        }
        if count == V::LANES {
            sum.put(out.add(at), store);
        } else {
            sum.store_first(count, out.add(at));
        }
    }
}

/// Computes a span of one row.
///
/// # Safety
/// The processor has the instructions of `V`. The rows of the terms are as [`Row`] says, and their coefficients are valid
/// for the span.
#[inline(always)]
unsafe fn direct_row<V: Lanes, const U: usize>(
    terms: &Terms<V::Scalar>,
    seams: &Seams,
    row: &Row<'_, V::Scalar>,
    scratch: &mut Scratch<V::Scalar>,
) {
    const { assert!(V::LANES <= MAX_LANES) };
    if star::fits(terms, row) {
        // SAFETY: the rows are as `Row` says and the processor has the instructions of `V` (this function's conditions),
        // and the rows fit.
        return unsafe { star::rows::<V>(terms, row) };
    }
    debug_assert!(row.segments.is_empty(), "segments are for stars");
    if seams.fit(&row.span) {
        // SAFETY: the rows are as `Row` says and the processor has the instructions of `V` (this function's conditions),
        // and the masks fit.
        return unsafe { runs::rows::<V, U>(terms, seams, row) };
    }
    let reach = seams.reach();
    let Row { span, out, store, .. } = *row;
    let (store, begin) = match store {
        Store::StreamLines => (Store::StreamVector, misplaced::<V>(out.wrapping_add(span.from))),
        _ => (store, 0),
    };
    let row = &Row { store, ..*row };
    let (low, high) = span.readable();
    let first_inner = low.saturating_add(reach.low as isize);
    let end_inner = high.saturating_sub(reach.high as isize).min(span.to as isize);
    let mut at = span.from;
    // SAFETY: the rows are as `Row` says and the coefficients valid for the span (this function's conditions); between
    // `first_inner` and `end_inner` every term's vectors lie within what can be read, and at the edges `edge` sees to
    // it.
    unsafe {
        if begin > 0 && at < span.to {
            let count = (V::LANES - begin).min(span.to - at);
            edge::<V>(terms, reach, row, at, count, scratch);
            at += count;
        }
        while (at as isize) < first_inner && at + V::LANES <= span.to {
            edge::<V>(terms, reach, row, at, V::LANES, scratch);
            at += V::LANES;
        }
        at = blocks::<V, U>(terms, row, at, end_inner);
        // What is left is less than a block: taken in as few pieces as can be, since the sum of one vector is a chain of
        // products each of which waits for the one before.
        if U > 4 {
            at = blocks::<V, 4>(terms, row, at, end_inner);
        }
        at = blocks::<V, 2>(terms, row, at, end_inner);
        at = blocks::<V, 1>(terms, row, at, end_inner);
        while at + V::LANES <= span.to {
            edge::<V>(terms, reach, row, at, V::LANES, scratch);
            at += V::LANES;
        }
        if at < span.to {
            edge::<V>(terms, reach, row, at, span.to - at, scratch);
        }
    }
}

/// All blocks of `U` vectors from column `at` whose terms end before `end`. Returns the column after the last.
#[inline(always)]
unsafe fn blocks<V: Lanes, const U: usize>(
    terms: &Terms<V::Scalar>,
    row: &Row<'_, V::Scalar>,
    mut at: usize,
    end: isize,
) -> usize {
    while (at + U * V::LANES) as isize <= end {
        // SAFETY: terms can be read and `out` written for U vectors from `at` (this function's condition).
        unsafe {
            prefetch::<V, U>(terms, row, at);
            for (u, sum) in sum::<V, U>(terms, at).iter().enumerate() {
                sum.put(row.out.add(at + u * V::LANES), row.store);
            }
        }
        at += U * V::LANES;
    }
    at
}

macro_rules! compiled {
    ($name:ident, $unroll:literal $(, $features:literal)?) => {
        /// Safety: see [`direct_row`].
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn $name<V: Lanes>(
            terms: &Terms<V::Scalar>,
            seams: &Seams,
            row: &Row<'_, V::Scalar>,
            scratch: &mut Scratch<V::Scalar>,
        ) {
            // SAFETY: the plan has chosen a kernel for the instructions that this processor has, with which this
            // function and `V` are compiled, and gives it terms and a row as `direct_row` asks.
            unsafe { direct_row::<V, $unroll>(terms, seams, row, scratch) }
        }
    };
}

compiled!(direct_portable, 2);
#[cfg(target_arch = "x86_64")]
compiled!(direct_avx2, 4, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compiled!(direct_avx512, 8, "avx512f,avx512vl,avx512dq,avx2,fma");
