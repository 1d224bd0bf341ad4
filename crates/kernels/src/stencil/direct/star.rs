//! Rows of stars that reach one column to either side: the vectors beside an element are those of one row, moved by a lane.
//!
//! How many terms there are is known when it is compiled, so that coefficients and rows stay in registers, as in a loop
//! that is written for one stencil. Rows that follow one another are one long row, whatever their length: where one ends
//! within a vector, the lanes beside its end get what lies beyond. They need not follow one another in the source too: where
//! an axis ends, the rows of the terms along it are others for a segment, and a vector may have lanes of two of them.
//!
//! Vectors begin with lines of the source, of which a term each is read, and not with those of the result, of which one is
//! written: a load that crosses a line takes twice as long. Where the two lie differently, vectors of results are joined
//! of two before they are stored. The order of summation is that of [`runs`](super::runs), and so are the bits.

use super::super::lanes::{Lanes, Store, misplaced};
use super::super::scalar::Scalar;
use super::super::span::{End, MAX_OWN, Row, Segment, Span};
use super::sums::Star;
use super::{Terms, short};

/// Whether terms are those of a star with constants that reaches one column to either side.
#[inline(always)]
fn is_star<T>(terms: &Terms<T>) -> bool {
    let Some([before, after]) = terms.constant.get(terms.own_constant..) else { return false };
    (before.group, before.offset, after.offset) == (after.group, -1, 1)
        && terms.varying.is_empty()
        && (1..=MAX_OWN).contains(&terms.own_constant)
}

/// Whether whole rows beyond whose ends is `low` and `high` are computed here.
#[inline(always)]
pub(in crate::stencil) fn takes<T: Scalar>(terms: &Terms<T>, (low, high): (End<T>, End<T>)) -> bool {
    let is_known = |end: End<T>| matches!(end, End::Wrap | End::Value(_));
    is_star(terms) && is_known(low) && is_known(high)
}

/// Whether the rows are computed here.
#[inline(always)]
pub(super) fn fits<T: Scalar>(terms: &Terms<T>, row: &Row<'_, T>) -> bool {
    let span = &row.span;
    (span.from, span.to) == (0, span.extent) && takes(terms, (span.low, span.high))
}

/// The most terms of an element's own column of a star in two axes.
const PLANAR: usize = 3;

/// The rows of an element's own column, from one element on.
struct Own<'a, T, const OWN: usize> {
    rows: [*const T; OWN],
    /// The first element with others.
    end: isize,
    later: &'a [Segment<T>],
}

impl<T: Scalar, const OWN: usize> Own<'_, T, OWN> {
    /// Those of the elements behind.
    #[inline(always)]
    fn go_on(&mut self) {
        if let [next, later @ ..] = self.later {
            self.rows = std::array::from_fn(|number| next.rows[number]);
            self.end = next.end as isize;
            self.later = later;
        }
    }
}

/// The lanes from one up to another.
#[inline(always)]
fn lanes_between(from: isize, to: isize) -> u32 {
    ((1u64 << to) - (1u64 << from)) as u32
}

impl<V: Lanes, const OWN: usize> Star<'_, '_, V, OWN> {
    const LANES: isize = V::LANES as isize;
    /// Whether rows are prefetched too where results stay in the caches.
    const LOOKS_AHEAD: bool = OWN <= PLANAR;

    /// The elements from `at` on of the row with neighbours, as many of a vector's as there are among the first `end`.
    #[inline(always)]
    unsafe fn load_within(&self, at: isize, end: isize) -> V {
        // SAFETY: the row has elements up to `end` (this function's condition).
        unsafe {
            if at >= 0 && at + Self::LANES <= end {
                V::load(self.centre.offset(at))
            } else if at < end {
                let live = lanes_between((-at).max(0), (end - at).min(Self::LANES));
                V::load_masked(self.centre.wrapping_offset(at), live)
            } else {
                V::splat(V::Scalar::ZERO)
            }
        }
    }

    /// The vectors of an element's own column. `CENTRE`: the one in the middle is `current`, which has been loaded.
    #[expect(clippy::needless_range_loop, reason = "with an iterator or a branch values are not kept in registers")]
    #[inline(always)]
    unsafe fn whole<const CENTRE: bool>(&self, own: &Own<'_, V::Scalar, OWN>, at: isize, current: V) -> [V; OWN] {
        let after = OWN / 2 + usize::from(CENTRE);
        let mut values = [current; OWN];
        // SAFETY: all rows have a vector there (this function's condition).
        unsafe {
            for number in 0..OWN / 2 {
                values[number] = V::load(own.rows[number].offset(at));
            }
            for number in after..OWN {
                values[number] = V::load(own.rows[number].offset(at));
            }
        }
        values
    }

    /// The vectors of an element's own column, of which there are those among the first `end`, and whose rows may change
    /// within.
    #[inline(always)]
    unsafe fn mixed(&self, own: &mut Own<'_, V::Scalar, OWN>, at: isize, end: isize) -> [V; OWN] {
        let (mut from, to) = ((-at).max(0), (end - at).min(Self::LANES));
        // SAFETY: the rows have the elements that they are for (this function's condition).
        unsafe {
            let mut values = [V::splat(V::Scalar::ZERO); OWN];
            loop {
                if own.end <= at + from {
                    own.go_on();
                }
                let until = (own.end - at).min(to);
                for (value, row) in values.iter_mut().zip(own.rows) {
                    *value = value.load_over(row.wrapping_offset(at), lanes_between(from, until));
                }
                if until == to {
                    return values;
                }
                from = until;
            }
        }
    }

    /// The same of a whole vector whose rows change once.
    #[inline(always)]
    unsafe fn changing(&self, own: &mut Own<'_, V::Scalar, OWN>, at: isize) -> [V; OWN] {
        let lanes = lanes_between(0, own.end - at);
        // SAFETY: the rows have the elements that they are for (this function's condition).
        unsafe {
            let mut values = [V::splat(V::Scalar::ZERO); OWN];
            for (value, row) in values.iter_mut().zip(own.rows) {
                *value = V::load_masked(row.wrapping_offset(at), lanes);
            }
            own.go_on();
            for (value, row) in values.iter_mut().zip(own.rows) {
                *value = value.load_over(row.wrapping_offset(at), !lanes);
            }
            values
        }
    }

    /// Stores the vector of results that begins at an element, as far as it is among the first `end`.
    #[inline(always)]
    unsafe fn put<const STREAM: bool>(&self, results: V, at: isize, end: isize) {
        let out = self.row.out;
        // SAFETY: `out` has `end` elements, and whole vectors of them fill lines where they are streamed (this function's
        // conditions).
        unsafe {
            if at >= 0 && at + Self::LANES <= end {
                let to = out.offset(at);
                return if STREAM { results.stream(to) } else { results.store(to) };
            }
            let (from, to) = ((-at).max(0), (end - at).min(Self::LANES));
            if from < to {
                let results = if from == 0 { results } else { results.join(results, from as usize) };
                results.store_first((to - from) as usize, out.offset(at + from));
            }
        }
    }

    /// All rows, by vectors of which the first has `skipped` lanes before the first element; those of the result begin
    /// `by` lanes behind the vector before. `CENTRE`: as [`whole`](Self::whole).
    #[inline(always)]
    unsafe fn run<const STREAM: bool, const JOIN: bool, const CENTRE: bool>(
        &self,
        mut own: Own<'_, V::Scalar, OWN>,
        skipped: usize,
        by: usize,
    ) {
        let lanes = Self::LANES;
        let extent = self.row.span.extent as isize;
        let end = self.row.repeat as isize * extent;
        // Vectors behind which there is another, each with one end of a row at most.
        let last_whole = if extent >= lanes { end - 2 * lanes } else { isize::MIN };
        let first_whole = if JOIN { lanes } else { 0 };
        // SAFETY: rows and `out` are valid for all rows (this function's condition), whose elements end before `end`.
        unsafe {
            let mut ends = Ends::of(&self.row.span, self.centre);
            let ahead = Leading::of(self.row.ahead);
            let zero = V::splat(V::Scalar::ZERO);
            let mut at = -(skipped as isize);
            let (mut previous, mut current, mut results) = (zero, self.load_within(at, end), zero);
            if skipped == 0 {
                previous = V::splat(*ends.low.at(0));
                ends.go_on();
            }
            while at < end {
                if at >= first_whole && at <= last_whole {
                    let plain_to = |ends: &Ends<V::Scalar>, own: &Own<'_, V::Scalar, OWN>| {
                        (ends.next - 1).min(own.end).min(last_whole + lanes) - lanes
                    };
                    let mut plain = plain_to(&ends, &own);
                    while at <= last_whole {
                        while at <= plain {
                            let next = V::load(self.centre.offset(at + lanes));
                            let beside = (current.after(previous), current.before(next));
                            let sum = self.sum(self.whole::<CENTRE>(&own, at, current), beside);
                            self.store::<STREAM, JOIN>(at, results, sum, by, &ahead);
                            (previous, current, results) = (current, next, sum);
                            at += lanes;
                        }
                        if at > last_whole {
                            break;
                        }
                        let next = V::load(self.centre.offset(at + lanes));
                        let mut beside = (current.after(previous), current.before(next));
                        previous = current;
                        if ends.next <= at + lanes {
                            ends.replace(&mut beside, &mut previous, at);
                        }
                        let values = if own.end >= at + lanes {
                            self.whole::<CENTRE>(&own, at, current)
                        } else {
                            self.changing(&mut own, at)
                        };
                        plain = plain_to(&ends, &own);
                        let sum = self.sum(values, beside);
                        self.store::<STREAM, JOIN>(at, results, sum, by, &ahead);
                        (current, results) = (next, sum);
                        at += lanes;
                    }
                    continue;
                }
                let next = self.load_within(at + lanes, end);
                let mut beside = (current.after(previous), current.before(next));
                previous = current;
                while ends.next <= at + lanes && ends.next <= end {
                    if ends.next == 0 || ends.next == end {
                        ends.replace_half(&mut beside, at);
                    } else {
                        ends.replace(&mut beside, &mut previous, at);
                    }
                }
                if STREAM || Self::LOOKS_AHEAD {
                    ahead.prefetch::<V>(at);
                }
                let sum = self.sum(self.mixed(&mut own, at, end), beside);
                if JOIN {
                    self.put::<STREAM>(results.join(sum, by), at - lanes + by as isize, end);
                } else {
                    self.put::<STREAM>(sum, at, end);
                }
                (current, results) = (next, sum);
                at += lanes;
            }
            if JOIN {
                self.put::<STREAM>(results.join(results, by), at - lanes + by as isize, end);
            }
        }
    }

    /// [`run`](Self::run), through the caches or not, and with results that are joined or not.
    #[inline(always)]
    unsafe fn run_by<const CENTRE: bool>(
        &self,
        (is_cached, joins): (bool, bool),
        own: Own<'_, V::Scalar, OWN>,
        skipped: usize,
        by: usize,
    ) {
        // SAFETY: this function's condition, which is that of `run`.
        unsafe {
            match (is_cached, joins) {
                (true, false) => self.run::<false, false, CENTRE>(own, skipped, by),
                (true, true) => self.run::<false, true, CENTRE>(own, skipped, by),
                (false, false) => self.run::<true, false, CENTRE>(own, skipped, by),
                (false, true) => self.run::<true, true, CENTRE>(own, skipped, by),
            }
        }
    }

    /// Stores a vector of results at `at`, or where they are joined with those before `by` lanes behind these;
    /// prefetches as much of what will be needed soon.
    #[inline(always)]
    unsafe fn store<const STREAM: bool, const JOIN: bool>(
        &self,
        at: isize,
        results: V,
        sum: V,
        by: usize,
        ahead: &Leading<'_, V::Scalar>,
    ) {
        // SAFETY: `out` has the vector, which fills a line where it is streamed (this function's condition).
        unsafe {
            let (to, sum) = if JOIN { (at - Self::LANES + by as isize, results.join(sum, by)) } else { (at, sum) };
            let to = self.row.out.offset(to);
            if STREAM || Self::LOOKS_AHEAD {
                ahead.prefetch::<V>(at);
            }
            if STREAM { sum.stream(to) } else { sum.store(to) }
        }
    }
}

/// Rows that will be needed soon, of which there is mostly one: its address stays in a register.
struct Leading<'a, T> {
    /// Null where there are none.
    first: *const T,
    others: &'a [*const T],
}

impl<'a, T: Scalar> Leading<'a, T> {
    #[inline(always)]
    fn of(rows: &'a [*const T]) -> Leading<'a, T> {
        match rows {
            [first, others @ ..] => Leading { first: *first, others },
            [] => Leading { first: std::ptr::null(), others: rows },
        }
    }

    /// Prefetches the line at an element of each.
    #[inline(always)]
    unsafe fn prefetch<V: Lanes<Scalar = T>>(&self, at: isize) {
        if self.first.is_null() {
            return;
        }
        // SAFETY: hints: any address will do.
        unsafe {
            V::prefetch(self.first.wrapping_offset(at));
            for row in self.others {
                V::prefetch(row.wrapping_offset(at));
            }
        }
    }
}

/// What lies beyond the ends of rows on one side.
struct Beyond<T> {
    /// What is there for a row that begins at the first element.
    first: *const T,
    /// The bits of how far behind it a row begins by which that of the row is later: all or none.
    moves: isize,
}

impl<T: Scalar> Beyond<T> {
    /// A value, or the element of the row itself that is so far from where the row begins.
    #[inline(always)]
    fn of(end: &End<T>, centre: *const T, distance: isize) -> Beyond<T> {
        match end {
            End::Value(value) => Beyond { first: std::ptr::from_ref(value), moves: 0 },
            _ => Beyond { first: centre.wrapping_offset(distance), moves: -1 },
        }
    }

    /// For a row that begins at an element.
    #[inline(always)]
    fn at(&self, begin: isize) -> *const T {
        self.first.wrapping_offset(begin & self.moves)
    }
}

/// Where rows end, and what lies beyond.
struct Ends<T> {
    /// Where the next row begins whose neighbours are not yet in vectors.
    next: isize,
    /// Elements of a row.
    extent: isize,
    /// What lies before that row.
    low: Beyond<T>,
    /// What lies behind the row before.
    high: Beyond<T>,
}

impl<T: Scalar> Ends<T> {
    /// The ends of the rows of a span, of which the elements beside are of the row that begins at `centre`.
    #[inline(always)]
    fn of(span: &Span<T>, centre: *const T) -> Ends<T> {
        let extent = span.extent as isize;
        let (low, high) = (Beyond::of(&span.low, centre, extent - 1), Beyond::of(&span.high, centre, -extent));
        Ends { next: 0, extent, low, high }
    }

    /// Goes on to the next row.
    #[inline(always)]
    fn go_on(&mut self) {
        self.next += self.extent;
    }

    /// Replaces what is beside the end of a row and the beginning of the next in the vectors before and after one at `at`;
    /// `previous` is that vector where it is before the next.
    #[inline(always)]
    unsafe fn replace<V: Lanes<Scalar = T>>(&mut self, (before, after): &mut (V, V), previous: &mut V, at: isize) {
        let lane = (self.next - at) as usize;
        // SAFETY: there are rows on both sides of the end (this function's condition).
        unsafe {
            *after = with_lane(*after, lane - 1, *self.high.at(self.next));
            if lane < V::LANES {
                *before = with_lane(*before, lane, *self.low.at(self.next));
            } else {
                *previous = V::splat(*self.low.at(self.next));
            }
        }
        self.go_on();
    }

    /// The same where the first row begins, or the last one ends.
    #[inline(always)]
    unsafe fn replace_half<V: Lanes<Scalar = T>>(&mut self, (before, after): &mut (V, V), at: isize) {
        let lane = (self.next - at) as usize;
        // SAFETY: there is a row on one side of the end (this function's condition).
        unsafe {
            if self.next == 0 {
                *before = with_lane(*before, lane, *self.low.at(0));
            } else {
                *after = with_lane(*after, lane - 1, *self.high.at(self.next));
            }
        }
        self.go_on();
    }
}

/// The same with another element in one lane.
#[inline(always)]
unsafe fn with_lane<V: Lanes>(vector: V, lane: usize, value: V::Scalar) -> V {
    // SAFETY: registers only.
    unsafe { vector.replace(V::splat(value), 1 << lane) }
}

/// Computes the rows of a star with `OWN` terms of an element's own column.
#[inline(always)]
unsafe fn of<V: Lanes, const OWN: usize>(terms: &Terms<V::Scalar>, row: &Row<'_, V::Scalar>) {
    let (own, sides) = terms.constant.split_at(OWN);
    let (centre, mut segment) = (sides[0].row, Segment::default());
    for (to, term) in segment.rows.iter_mut().zip(own) {
        *to = term.row;
    }
    segment.end = row.repeat * row.span.extent;
    let whole = [segment];
    let segments = if row.segments.is_empty() { &whole } else { row.segments };
    let begins = misplaced::<V>(row.out);
    // Terms of an element's own column are in the order of their rows.
    let has_centre = OWN % 2 == 1 && own[OWN / 2].group == sides[0].group;
    debug_assert!(!has_centre || segments.iter().all(|segment| segment.rows[OWN / 2] == centre), "a row of its own");
    // SAFETY: rows and `out` are valid for `repeat` rows, which fit (this function's conditions); the rest is registers.
    unsafe {
        let star = Star::<V, OWN> {
            row,
            factors: std::array::from_fn(|number| V::splat(own[number].factor)),
            centre,
            sides: [V::splat(sides[0].factor), V::splat(sides[1].factor)],
        };
        if row.store == Store::Cached && short::takes::<V, OWN>(row.span.extent) {
            return short::rows(&star, segments);
        }
        let mut own = Own { rows: [centre; OWN], end: 0, later: segments };
        own.go_on();
        let skipped = if V::JOINS { misplaced::<V>(centre) } else { begins };
        let by = (V::LANES + skipped - begins - 1) % V::LANES + 1;
        let how = (row.store == Store::Cached, V::JOINS && by < V::LANES);
        if has_centre {
            star.run_by::<true>(how, own, skipped, by);
        } else {
            star.run_by::<false>(how, own, skipped, by);
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
mod tests;
