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
use super::Terms;

/// Terms of the columns before and after.
const SIDES: usize = 2;

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

/// Rows of a star that follow one another in the result and in the row whose neighbours are taken.
struct Star<'a, 'b, V: Lanes, const OWN: usize> {
    row: &'a Row<'b, V::Scalar>,
    factors: [V; OWN],
    centre: *const V::Scalar,
    sides: [V; SIDES],
}

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

    /// Results of a vector from the terms of its own column, beside the vectors before and after it.
    #[inline(always)]
    unsafe fn sum(&self, own: [V; OWN], (before, after): (V, V)) -> V {
        // SAFETY: registers only.
        unsafe {
            let mut sum = V::splat(V::Scalar::ZERO);
            for (value, &factor) in own.into_iter().zip(&self.factors) {
                sum = value.multiply_add(factor, sum);
            }
            sum = before.multiply_add(self.sides[0], sum);
            after.multiply_add(self.sides[1], sum)
        }
    }

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

    /// The vectors of an element's own column.
    #[inline(always)]
    unsafe fn whole(&self, own: &Own<'_, V::Scalar, OWN>, at: isize) -> [V; OWN] {
        // SAFETY: all rows have a vector there (this function's condition).
        unsafe {
            let mut values = [V::splat(V::Scalar::ZERO); OWN];
            for (value, row) in values.iter_mut().zip(own.rows) {
                *value = V::load(row.offset(at));
            }
            values
        }
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
    /// `by` lanes behind the vector before.
    #[inline(always)]
    unsafe fn run<const STREAM: bool, const JOIN: bool>(
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
                            let sum = self.sum(self.whole(&own, at), beside);
                            self.store::<STREAM, JOIN>(at, results, sum, by);
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
                        let values =
                            if own.end >= at + lanes { self.whole(&own, at) } else { self.changing(&mut own, at) };
                        plain = plain_to(&ends, &own);
                        let sum = self.sum(values, beside);
                        self.store::<STREAM, JOIN>(at, results, sum, by);
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
                if STREAM {
                    self.row.prefetch_ahead::<V, 1>(at.max(0) as usize);
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

    /// Stores a vector of results at `at`, or where they are joined with those before `by` lanes behind these; beside results
    /// that are streamed, prefetches as much of what will be needed soon.
    #[inline(always)]
    unsafe fn store<const STREAM: bool, const JOIN: bool>(&self, at: isize, results: V, sum: V, by: usize) {
        // SAFETY: `out` has the vector, which fills a line where it is streamed (this function's condition).
        unsafe {
            let (to, sum) = if JOIN { (at - Self::LANES + by as isize, results.join(sum, by)) } else { (at, sum) };
            let to = self.row.out.offset(to);
            if STREAM {
                self.row.prefetch_ahead::<V, 1>(at as usize);
                sum.stream(to);
            } else {
                sum.store(to);
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
    // SAFETY: rows and `out` are valid for `repeat` rows, which fit (this function's conditions); the rest is registers.
    unsafe {
        let star = Star::<V, OWN> {
            row,
            factors: std::array::from_fn(|number| V::splat(own[number].factor)),
            centre,
            sides: [V::splat(sides[0].factor), V::splat(sides[1].factor)],
        };
        let mut own = Own { rows: [centre; OWN], end: 0, later: segments };
        own.go_on();
        let skipped = if V::JOINS { misplaced::<V>(centre) } else { begins };
        let by = (V::LANES + skipped - begins - 1) % V::LANES + 1;
        let joins = V::JOINS && by < V::LANES;
        match (row.store == Store::Cached, joins) {
            (true, false) => star.run::<false, false>(own, skipped, by),
            (true, true) => star.run::<false, true>(own, skipped, by),
            (false, false) => star.run::<true, false>(own, skipped, by),
            (false, true) => star.run::<true, true>(own, skipped, by),
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

    /// What lies beyond the ends of an axis: its other end, a number, or a number for every index of the other axes.
    fn boundary(kind: u8, extents: &[usize], axis: usize) -> Boundary<f64> {
        let others: usize = extents.iter().enumerate().filter(|&(other, _)| other != axis).map(|(_, n)| n).product();
        match kind {
            0 => Boundary::Circular,
            1 => Boundary::Value(3.0),
            _ => Boundary::Array((0..others).map(|number| (number % 13) as f64 - 6.0).collect()),
        }
    }

    /// The neighbour of a site, looked up by its indices.
    fn neighbour(
        extents: &[usize],
        boundaries: &[Boundary<f64>],
        values: &[f64],
        site: usize,
        offset: &[isize],
    ) -> f64 {
        let mut index = vec![0; extents.len()];
        let mut rest = site;
        for (axis, &extent) in extents.iter().enumerate().rev() {
            index[axis] = (rest % extent) as isize;
            rest /= extent;
        }
        for (axis, &extent) in extents.iter().enumerate() {
            let moved = index[axis] + offset[axis];
            if (0..extent as isize).contains(&moved) {
                index[axis] = moved;
                continue;
            }
            let others = |other: &usize| *other != axis;
            let row = (0..extents.len()).filter(others).fold(0, |row, at| row * extents[at] + index[at] as usize);
            match &boundaries[axis] {
                Boundary::Circular => index[axis] = moved.rem_euclid(extent as isize),
                Boundary::Value(value) => return *value,
                Boundary::Array(array) => return array[row],
            }
        }
        values[index.iter().zip(extents).fold(0, |at, (&index, &extent)| at * extent + index as usize)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80))]
        #[test]
        fn stars_are_the_sums_over_points_at_every_size_and_alignment(
            outer in [1usize..6, 1usize..6, 1usize..6], columns in 1usize..70, axes in 2usize..5, has_centre: bool,
            kinds in [0u8..3, 0u8..3, 0u8..3, 0u8..3], begins in [0usize..8, 0usize..8], streaming: bool,
            reach in prop_oneof![Just(1isize), 2isize..5],
        ) {
            let mut extents = outer[4 - axes..].to_vec();
            extents.push(columns);
            let boundaries: Vec<_> = (0..axes).map(|axis| boundary(kinds[axis], &extents, axis)).collect();
            let mut offsets = vec![vec![0; axes]];
            for (axis, by) in (0..axes).flat_map(|axis| (1..=reach).flat_map(move |by| [(axis, -by), (axis, by)])) {
                let mut offset = vec![0; axes];
                offset[axis] = by;
                offsets.push(offset);
            }
            let offsets = offsets.into_iter().skip(usize::from(!has_centre));
            let points: Vec<(Vec<isize>, f64)> =
                offsets.zip(1..).map(|(offset, n)| (offset, f64::from(n * n % 7 - 3))).collect();
            let sites: usize = extents.iter().product();
            let values: Vec<f64> = (0..sites).map(|site| (site * 7919 % 1013) as f64).collect();
            let value = |site: usize, offset: &[isize]| neighbour(&extents, &boundaries, &values, site, offset);
            let sum = |site: usize| points.iter().map(|(offset, by)| by * value(site, offset)).sum::<f64>();
            let expected: Vec<f64> = (0..sites).map(sum).collect();
            let described = points.iter().map(|(offset, by)| {
                let coefficient = Coefficient::Constant(*by);
                Point { offset: offset.clone(), coefficient }
            });
            let stencil = Stencil::new(axes, described.collect()).unwrap();
            for level in Level::available() {
                let options = Options { instructions: Some(level), ..options(streaming) };
                let plan = Plan::new(&stencil, &extents, boundaries.clone(), options).unwrap();
                let mut held = [vec![f64::NAN; sites + 64], vec![f64::NAN; sites + 64]];
                let starts = [0, 1].map(|number| held[number].as_ptr().align_offset(64) + begins[number]);
                held[0][starts[0]..starts[0] + sites].copy_from_slice(&values);
                let layout = plan.contiguous();
                // SAFETY: both have all sites from where they start.
                unsafe {
                    let source = Source { base: held[0].as_ptr().add(starts[0]), layout: &layout };
                    plan.apply(&source, &Target { base: held[1].as_mut_ptr().add(starts[1]), layout: &layout }, 1);
                }
                let [before, behind] = [&held[1][..starts[1]], &held[1][starts[1] + sites..]];
                prop_assert!(before.iter().chain(behind).all(|value| value.is_nan()), "written outside, {:?}", level);
                prop_assert_eq!(&held[1][starts[1]..starts[1] + sites], &expected[..], "{:?}", level);
            }
        }

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
