//! Rows of few vectors of a star, each by itself: vectors begin where rows do, and only the last one meets their end.
//!
//! Where every second to fifth vector of one long row has an end of a row, what is done about ends takes longer than the
//! sums. Rows by themselves have loads that cross lines more often, and fewer of them: along the axis on which rows follow
//! one another, the neighbours of a row are those that the rows before have loaded. Terms are summed in the order of
//! [`star`](super::star), and so are the bits.

use super::super::lanes::Lanes;
use super::super::scalar::Scalar;
use super::super::span::{End, Segment};
use super::sums::Star;

/// The most vectors of a row with so many terms of an element's own column: three rows and all coefficients are in registers.
const fn most_vectors(own: usize) -> usize {
    if own > 3 { 5 } else { 8 }
}

/// Whether rows of so many elements are computed here, with `OWN` terms of an element's own column. One long row is better
/// where no load of it crosses a line and most of them are of rows that are not in registers.
#[inline(always)]
pub(super) fn takes<V: Lanes, const OWN: usize>(extent: usize) -> bool {
    let is_whole = OWN > 5 && extent.is_multiple_of(V::LANES);
    V::JOINS && extent <= most_vectors(OWN) * V::LANES && !is_whole
}

/// Rows of `VECTORS` vectors.
struct Short<'a, 'b, V: Lanes, const OWN: usize, const VECTORS: usize> {
    star: &'a Star<'a, 'b, V, OWN>,
    extent: usize,
    /// The lanes of the last vector that the row has.
    live: u32,
    /// The last of these.
    end: u32,
}

impl<V: Lanes, const OWN: usize, const VECTORS: usize> Short<'_, '_, V, OWN, VECTORS> {
    /// The term of the row before along the axis on which rows follow one another, where there is one of each side: terms of
    /// an element's own column are in the order of their rows.
    const BEFORE: usize = (OWN / 2).saturating_sub(1);
    /// The term of the row behind.
    const BEHIND: usize = OWN / 2 + OWN % 2;

    /// A vector of a row.
    #[inline(always)]
    unsafe fn load(&self, row: *const V::Scalar, number: usize) -> V {
        // SAFETY: the row has all elements but those of the last vector's dead lanes (this function's condition).
        unsafe {
            let from = row.add(number * V::LANES);
            if number + 1 < VECTORS { V::load(from) } else { V::load_masked(from, self.live) }
        }
    }

    /// All vectors of a row.
    #[inline(always)]
    unsafe fn whole(&self, row: *const V::Scalar) -> [V; VECTORS] {
        // SAFETY: registers, and this function's condition.
        unsafe {
            let mut values = [V::splat(V::Scalar::ZERO); VECTORS];
            for (number, value) in values.iter_mut().enumerate() {
                *value = self.load(row, number);
            }
            values
        }
    }

    /// What lies beyond an end of a row, or the element that follows in a circular one.
    #[inline(always)]
    unsafe fn beyond(end: &End<V::Scalar>, next: *const V::Scalar) -> V {
        // SAFETY: the row has the element (this function's condition).
        unsafe {
            match end {
                End::Value(value) => V::splat(*value),
                _ => V::splat(*next),
            }
        }
    }

    /// Computes the row that begins at an element, of which its own vectors and, where `FOLLOWS`, those of the rows beside it
    /// are known.
    #[inline(always)]
    unsafe fn row<const FOLLOWS: bool>(
        &self,
        rows: &[*const V::Scalar; OWN],
        begin: usize,
        [previous, current, next]: [&[V; VECTORS]; 3],
    ) {
        let row = self.star.row;
        // SAFETY: all rows have this one's elements (this function's condition).
        unsafe {
            let centre = self.star.centre.add(begin);
            let low = Self::beyond(&row.span.low, centre.add(self.extent - 1));
            let high = Self::beyond(&row.span.high, centre);
            for number in 0..VECTORS {
                let before = current[number].after(if number == 0 { low } else { current[number - 1] });
                let behind = if number + 1 < VECTORS {
                    current[number].before(current[number + 1])
                } else {
                    current[number].before(high).replace(high, self.end)
                };
                let mut own = [before; OWN];
                for (term, value) in own.iter_mut().enumerate() {
                    *value = if FOLLOWS && term == Self::BEFORE {
                        previous[number]
                    } else if FOLLOWS && term == Self::BEHIND {
                        next[number]
                    } else if FOLLOWS && OWN % 2 == 1 && term == OWN / 2 {
                        current[number]
                    } else {
                        self.load(rows[term].wrapping_add(begin), number)
                    };
                }
                let sum = self.star.sum(own, (before, behind));
                let to = row.out.add(begin + number * V::LANES);
                if number + 1 < VECTORS { sum.store(to) } else { sum.store_masked(to, self.live) }
            }
        }
    }

    /// Computes the rows of a segment from an element on.
    #[inline(always)]
    unsafe fn segment(&self, mut begin: usize, segment: &Segment<V::Scalar>) {
        let centre = self.star.centre;
        let mut rows = [centre; OWN];
        rows.copy_from_slice(&segment.rows[..OWN]);
        let follows = OWN > 1
            && rows[Self::BEFORE] == centre.wrapping_sub(self.extent)
            && rows[Self::BEHIND] == centre.wrapping_add(self.extent)
            && (OWN.is_multiple_of(2) || rows[OWN / 2] == centre);
        // SAFETY: the rows of all terms have the elements of the segment (this function's condition), and so has that of
        // which columns beside an element are taken.
        unsafe {
            if !follows {
                while begin < segment.end {
                    let current = self.whole(centre.add(begin));
                    self.row::<false>(&rows, begin, [&current; 3]);
                    begin += self.extent;
                }
                return;
            }
            let mut current = self.whole(centre.add(begin));
            let mut previous = self.whole(rows[Self::BEFORE].wrapping_add(begin));
            while begin < segment.end {
                let next = self.whole(rows[Self::BEHIND].wrapping_add(begin));
                self.row::<true>(&rows, begin, [&previous, &current, &next]);
                (previous, current) = (current, next);
                begin += self.extent;
            }
        }
    }
}

/// Computes rows of `VECTORS` vectors.
#[inline(always)]
unsafe fn of<V: Lanes, const OWN: usize, const VECTORS: usize>(
    star: &Star<'_, '_, V, OWN>,
    segments: &[Segment<V::Scalar>],
) {
    let extent = star.row.span.extent;
    let lanes = extent - (VECTORS - 1) * V::LANES;
    let live = ((1u64 << lanes) - 1) as u32;
    let short = Short::<V, OWN, VECTORS> { star, extent, live, end: 1 << (lanes - 1) };
    let mut begin = 0;
    for segment in segments {
        // SAFETY: rows and `out` are valid for the elements of all segments (this function's condition).
        unsafe { short.segment(begin, segment) };
        begin = segment.end;
    }
}

/// Computes the rows of segments, which are [taken](takes).
///
/// # Safety
/// As for [`star::rows`](super::star::rows); the result is written through the caches.
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes, const OWN: usize>(star: &Star<'_, '_, V, OWN>, segments: &[Segment<V::Scalar>]) {
    // SAFETY: this function's conditions.
    unsafe {
        match star.row.span.extent.div_ceil(V::LANES) {
            1 => of::<V, OWN, 1>(star, segments),
            2 => of::<V, OWN, 2>(star, segments),
            3 => of::<V, OWN, 3>(star, segments),
            4 => of::<V, OWN, 4>(star, segments),
            _ if const { most_vectors(OWN) == 5 } => of::<V, OWN, 5>(star, segments),
            5 => of::<V, OWN, 5>(star, segments),
            6 => of::<V, OWN, 6>(star, segments),
            7 => of::<V, OWN, 7>(star, segments),
            _ => of::<V, OWN, 8>(star, segments),
        }
    }
}
