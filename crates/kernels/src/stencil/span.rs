//! One row to compute: where it and its neighbours are, and what lies beyond their ends.

use weft_simd::CACHE_LINE;

use super::lanes::{Lanes, Store};
use super::scalar::Scalar;

/// What a column beyond an end of the row holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End<T> {
    /// Memory there belongs to the array: read on.
    Memory,
    /// The row begins again (circular).
    Wrap,
    /// This value (end-off).
    Value(T),
    /// These values, one for each element of a site (end-off).
    Site {
        /// The first of them.
        values: *const T,
        /// How many there are.
        components: usize,
    },
}

/// The columns `from..to` of a row of `extent` columns; `from` is a multiple of every vector length or 0.
#[derive(Clone, Copy, Debug)]
pub struct Span<T> {
    /// First column to compute.
    pub from: usize,
    /// One past the last column to compute.
    pub to: usize,
    /// Columns of the row.
    pub extent: usize,
    /// What lies before column 0.
    pub low: End<T>,
    /// What lies after the last column.
    pub high: End<T>,
}

/// Where a column of a row is found.
pub(super) enum Lookup<T> {
    /// At this distance from column 0.
    At(isize),
    /// Nowhere; it has this value.
    Value(T),
}

/// The column that a column beyond the ends is congruent to; nearly always the row is as long as the stencil's reach, and a
/// division, which takes longer than the rest of an end, is not needed.
#[inline(always)]
pub(super) fn wrapped(column: isize, extent: isize) -> isize {
    let index = if column < 0 { column + extent } else { column - extent };
    if (0..extent).contains(&index) { index } else { column.rem_euclid(extent) }
}

impl<T: Scalar> Span<T> {
    /// Resolves a column that may lie beyond the ends.
    #[inline(always)]
    pub(super) fn find(&self, column: isize) -> Lookup<T> {
        let extent = self.extent as isize;
        let end = if column < 0 {
            self.low
        } else if column >= extent {
            self.high
        } else {
            return Lookup::At(column);
        };
        match end {
            End::Memory => Lookup::At(column),
            End::Wrap => Lookup::At(wrapped(column, extent)),
            End::Value(value) => Lookup::Value(value),
            End::Site { values, components } => {
                // SAFETY: whoever made the span has `components` values there, which outlive the row's computation.
                Lookup::Value(unsafe { *values.offset(column.rem_euclid(components as isize)) })
            }
        }
    }

    /// The columns that can be read as they are: everything in the row, and beyond ends of memory.
    #[inline(always)]
    pub(super) fn readable(&self) -> (isize, isize) {
        let low = if matches!(self.low, End::Memory) { isize::MIN / 2 } else { 0 };
        let high = if matches!(self.high, End::Memory) { isize::MAX / 2 } else { self.extent as isize };
        (low, high)
    }
}

/// The most terms of an element's own column of a star that has a kernel: one in four axes.
pub(super) const MAX_OWN: usize = 7;

/// Some of the rows that follow one another in the result, whose neighbours do in the source.
#[derive(Clone, Copy, Debug)]
pub struct Segment<T> {
    /// For each term of an element's own column, where its row would begin if it had all of the rows.
    pub rows: [*const T; MAX_OWN],
    /// Elements of all rows up to the last of these.
    pub end: usize,
}

impl<T> Default for Segment<T> {
    fn default() -> Segment<T> {
        Segment { rows: [std::ptr::null(); MAX_OWN], end: 0 }
    }
}

/// One row to compute.
///
/// Kernels rely on this: `rows` are valid for the columns that the span and the stencil make them read; `out` is valid for
/// the span and overlaps no row; `store` fits the address of the span's first column in `out`.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, T> {
    /// Column 0 of each neighbour's row.
    pub rows: &'a [*const T],
    /// Rows that will be needed soon: prefetched while this one is computed.
    pub ahead: &'a [*const T],
    /// Which columns, and what lies beyond the row.
    pub span: Span<T>,
    /// Column 0 of the result.
    pub out: *mut T,
    /// How to write it.
    pub store: Store,
    /// So many rows like this follow one another, each beginning where the last ends, in all of these arrays.
    pub repeat: usize,
    /// The rows of an element's own column where they change from one of these rows to the next; none where all follow
    /// from `rows`.
    pub segments: &'a [Segment<T>],
}

impl<T: Scalar> Row<'_, T> {
    /// Prefetches as many cache lines as `U` vectors from column `at` take, of each row that will be needed soon.
    #[inline(always)]
    pub(super) unsafe fn prefetch_ahead<V: Lanes<Scalar = T>, const U: usize>(&self, at: usize) {
        for &row in self.ahead {
            for line in 0..(U * V::LANES * size_of::<T>()).div_ceil(CACHE_LINE) {
                // SAFETY: a hint: any address will do.
                unsafe { V::prefetch(row.wrapping_add(at).wrapping_byte_add(line * CACHE_LINE)) };
            }
        }
    }
}
