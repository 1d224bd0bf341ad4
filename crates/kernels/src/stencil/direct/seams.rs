//! Where vectors of rows that follow one another meet the ends of rows, and what is beyond them.

use super::super::lanes::{Lanes, MAX_LANES};
use super::super::scalar::Scalar;
use super::super::span::{End, Span};
use super::Reach;

/// For every distance along a row, the lanes of a vector whose neighbour at that distance lies beyond an end of its row.
///
/// Masks are kept for vectors that begin near the ends of a row only: those elsewhere meet none.
#[derive(Clone, Debug, Default)]
pub struct Seams {
    /// Elements of a row.
    row: usize,
    reach: Reach,
    /// Columns for which there are masks.
    entries: usize,
    /// Columns in the middle of a row without masks.
    skipped: usize,
    /// Masks of one distance after those of another, and after each of them one without lanes.
    masks: Vec<u16>,
}

/// The bit of a lane whose neighbour at a distance is beyond an end of the row.
fn mask(row: usize, column: usize, distance: isize) -> u16 {
    let is_beyond = |lane: &usize| {
        let neighbour = ((column + lane) % row) as isize + distance;
        neighbour < 0 || neighbour >= row as isize
    };
    (0..MAX_LANES).filter(is_beyond).map(|lane| 1 << lane).sum()
}

impl Seams {
    /// For rows of so many elements, and neighbours at these distances from an element.
    pub(in crate::stencil) fn new(row: usize, reach: Reach, distances: &[isize]) -> Seams {
        let entries = row.min(reach.low + MAX_LANES + reach.high);
        let skipped = row - entries;
        let column = |entry: usize| if entry < reach.low { entry } else { entry + skipped };
        let of = |by: isize| (0..entries).map(move |entry| mask(row, column(entry), by)).chain([0]);
        let masks = distances.iter().flat_map(|&by| of(by));
        Seams { row, reach, entries, skipped, masks: masks.collect() }
    }

    /// How far terms reach.
    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Whether nothing is further away than a row is long.
    pub(in crate::stencil) fn reach_within(&self) -> bool {
        self.reach.low.max(self.reach.high) <= self.row
    }

    /// Whether rows may be computed with these masks: nothing is further away than a row is long, and what is beyond an end
    /// is the same for all elements of a site.
    pub(super) fn fit<T: Scalar>(&self, span: &Span<T>) -> bool {
        let is_known = |end: End<T>| matches!(end, End::Wrap | End::Value(_) | End::Memory);
        self.row == span.extent && self.reach_within() && is_known(span.low) && is_known(span.high)
    }

    /// Whether some of so many elements from a column on have neighbours beyond an end.
    #[inline(always)]
    pub(super) fn meets(&self, column: usize, elements: usize) -> bool {
        column < self.reach.low || column + elements + self.reach.high > self.row
    }

    /// The number of the masks of a vector that begins at a column.
    #[inline(always)]
    pub(super) fn entry(&self, column: usize, lanes: usize) -> usize {
        let entry = if column < self.reach.low { column } else { column.saturating_sub(self.skipped) };
        if self.meets(column, lanes) { entry } else { self.entries }
    }

    /// The lanes that are beyond an end, of the distance with this number.
    ///
    /// # Safety
    /// There is a distance with this number, and `entry` is that of a column of the row.
    #[inline(always)]
    pub(super) unsafe fn mask(&self, number: usize, entry: usize) -> u32 {
        // SAFETY: there are masks for all entries, and one more for none, of each distance (this function's condition).
        u32::from(unsafe { *self.masks.get_unchecked(number * (self.entries + 1) + entry) })
    }
}

/// What lies beyond one end of a row, for vectors of neighbours.
#[derive(Clone, Copy)]
pub(super) struct Beyond<V> {
    /// The elements so many later in memory, if no values: the other end of the row.
    later: isize,
    /// These.
    values: Option<V>,
    /// Lanes that are taken from there; none where memory goes on.
    lanes: u32,
}

impl<V: Lanes> Beyond<V> {
    #[inline(always)]
    pub(super) unsafe fn of(end: End<V::Scalar>, distance: isize) -> Beyond<V> {
        let none = Beyond { later: 0, values: None, lanes: 0 };
        match end {
            End::Wrap => Beyond { later: distance, lanes: u32::MAX, ..none },
            // SAFETY: registers only.
            End::Value(value) => Beyond { values: Some(unsafe { V::splat(value) }), lanes: u32::MAX, ..none },
            _ => none,
        }
    }

    /// The vector at `from`, of whose lanes those in `mask` are beyond the end, and only those in `live` are read.
    #[inline(always)]
    pub(super) unsafe fn load(self, from: *const V::Scalar, mask: u32, live: u32) -> V {
        let mask = mask & self.lanes;
        // SAFETY: the lanes in `live` can be read where they are in the row, and where they are taken from if they are
        // not (this function's condition).
        unsafe {
            let here = V::load_masked(from, live & !mask);
            match self.values {
                Some(values) => here.replace(values, mask),
                None => here.load_over(from.wrapping_offset(self.later), live & mask),
            }
        }
    }
}
