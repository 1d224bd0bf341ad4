//! Rows that follow one another in memory, computed as one long row.
//!
//! What is a neighbour within a row is one across its ends too, at the same distance: vectors go through all rows from the
//! first line to the last, whatever the length of a row: of the source where most rows of an element's own column lie alike
//! beside lines, else of the result. Where source and result lie differently, vectors of results are joined of two before
//! they are stored. Terms of an element's own column come first in the order of summation: no end concerns them.

use std::cell::Cell;

use super::super::lanes::{Lanes, Store, misplaced};
use super::super::scalar::Scalar;
use super::super::span::Row;
use super::seams::{Beyond, Seams};
use super::{ConstantTerm, Reach, Terms, VaryingTerm, add_constant, add_varying, prefetch};

/// A run of fewer vectors is not worth a part of a vector at its start so that stores fill lines.
const MIN_VECTORS: usize = 12;

/// Vectors of a block where those of a long one would meet an end.
const HALF: usize = 4;

/// As many terms beside an element's own column cost little more with masks.
const FEW_BESIDE: usize = 2;

/// Vectors of a row, the last of which may be a part of one, from which on most blocks meet no end.
const LONG_ROW: usize = 8;

/// All lanes.
const ALL: u32 = u32::MAX;

/// A run of rows.
pub(super) struct Run<'a, 'b, V: Lanes> {
    terms: &'a Terms<V::Scalar>,
    seams: &'a Seams,
    row: &'a Row<'b, V::Scalar>,
    /// Before the first column, and after the last.
    low: Beyond<V>,
    high: Beyond<V>,
    /// Lanes between vectors of sums and those that are stored, which are joined of two; all of them where they are the same.
    by: usize,
    /// The vector of sums before, if there is one.
    last: Cell<Option<V>>,
}

/// Where a vector is.
#[derive(Clone, Copy)]
struct At {
    /// Elements from the first of the run.
    element: usize,
    /// Column of its row.
    column: usize,
}

impl At {
    #[inline(always)]
    fn later(self, elements: usize, row: usize) -> At {
        let mut column = self.column + elements;
        if column >= row {
            column -= row;
            if column >= row {
                column %= row;
            }
        }
        At { element: self.element + elements, column }
    }
}

impl<'a, 'b, V: Lanes> Run<'a, 'b, V> {
    #[inline(always)]
    unsafe fn of(
        terms: &'a Terms<V::Scalar>,
        seams: &'a Seams,
        row: &'a Row<'b, V::Scalar>,
        by: usize,
    ) -> Run<'a, 'b, V> {
        let extent = row.span.extent as isize;
        // SAFETY: registers only.
        unsafe {
            let (low, high) = (Beyond::of(row.span.low, extent), Beyond::of(row.span.high, -extent));
            Run { terms, seams, row, low, high, by, last: Cell::new(None) }
        }
    }

    /// The neighbours at the distance of a term, of a vector at `at` whose masks are those of an entry.
    #[inline(always)]
    unsafe fn neighbours(
        &self,
        from: *const V::Scalar,
        (offset, distance): (isize, usize),
        entry: usize,
        live: u32,
    ) -> V {
        let beyond = if offset < 0 { self.low } else { self.high };
        // SAFETY: the row of a term is as `Row` says (a condition of this run), and masks say what is beyond its ends.
        unsafe { beyond.load(from, self.seams.mask(distance, entry), live) }
    }

    /// Adds terms beside an element's own column to `U` vectors with masks.
    #[inline(always)]
    unsafe fn add_constant<const U: usize>(
        &self,
        sum: &mut [V; U],
        terms: &[ConstantTerm<V::Scalar>],
        at: usize,
        entries: &[usize; U],
        live: u32,
    ) {
        for term in terms {
            let from = term.row.wrapping_offset(at as isize + term.offset);
            // SAFETY: rows of terms are as `Row` says (this function's condition), and masks say what is beyond their ends.
            unsafe {
                let factor = V::splat(term.factor);
                for (u, (sum, &entry)) in sum.iter_mut().zip(entries).enumerate() {
                    let from = from.wrapping_add(u * V::LANES);
                    let value = self.neighbours(from, (term.offset, term.distance), entry, live);
                    *sum = value.multiply_add(factor, *sum);
                }
            }
        }
    }

    /// The same for terms with coefficients along the row.
    #[inline(always)]
    unsafe fn add_varying<const U: usize>(
        &self,
        sum: &mut [V; U],
        terms: &[VaryingTerm<V::Scalar>],
        at: usize,
        entries: &[usize; U],
        live: u32,
    ) {
        for term in terms {
            let (from, factors) = (term.row.wrapping_offset(at as isize + term.offset), term.factors.wrapping_add(at));
            // SAFETY: rows of terms are as `Row` says, masks say what is beyond their ends, and coefficients have the lanes
            // in `live` (this function's conditions).
            unsafe {
                for (u, (sum, &entry)) in sum.iter_mut().zip(entries).enumerate() {
                    let from = from.wrapping_add(u * V::LANES);
                    let value = self.neighbours(from, (term.offset, term.distance), entry, live);
                    *sum = value.multiply_add(V::load_masked(factors.wrapping_add(u * V::LANES), live), *sum);
                }
            }
        }
    }

    /// The numbers of the masks of `U` vectors.
    #[inline(always)]
    fn entries<const U: usize>(&self, at: At) -> [usize; U] {
        let (mut vector, mut entries) = (at, [0; U]);
        for entry in &mut entries {
            *entry = self.seams.entry(vector.column, V::LANES);
            vector = vector.later(V::LANES, self.row.span.extent);
        }
        entries
    }

    /// `U` vectors, with neighbours that are all in their rows.
    #[inline(always)]
    unsafe fn inner<const U: usize>(&self, at: usize) -> [V; U] {
        // SAFETY: every term can be read for U vectors from `at` (this function's condition).
        unsafe {
            let mut sum = [V::splat(V::Scalar::ZERO); U];
            add_constant(&mut sum, &self.terms.constant, at);
            add_varying(&mut sum, &self.terms.varying, at);
            sum
        }
    }

    /// `U` vectors, of which some meet an end.
    #[inline(always)]
    unsafe fn across<const U: usize>(&self, at: At) -> [V; U] {
        let terms = self.terms;
        let (own, beside) = terms.constant.split_at(terms.own_constant);
        let (own_varying, beside_varying) = terms.varying.split_at(terms.own_varying);
        let entries = self.entries::<U>(at);
        // SAFETY: every term can be read for U vectors from there, but for what is beyond the ends of rows (this
        // function's condition).
        unsafe {
            let mut sum = [V::splat(V::Scalar::ZERO); U];
            add_constant(&mut sum, own, at.element);
            self.add_constant::<U>(&mut sum, beside, at.element, &entries, ALL);
            add_varying(&mut sum, own_varying, at.element);
            self.add_varying::<U>(&mut sum, beside_varying, at.element, &entries, ALL);
            sum
        }
    }

    /// Stores `U` vectors.
    #[inline(always)]
    unsafe fn put<const U: usize>(&self, at: usize, sum: [V; U]) {
        if V::JOINS && self.by < V::LANES {
            // SAFETY: this function's condition.
            return unsafe { self.put_joined(at, sum) };
        }
        for (u, sum) in sum.iter().enumerate() {
            // SAFETY: `out` has the vectors, which fill lines where they are streamed (this function's condition).
            unsafe { sum.put(self.row.out.add(at + u * V::LANES), self.row.store) };
        }
    }

    /// Stores `U` vectors joined with those before.
    #[inline(always)]
    unsafe fn put_joined<const U: usize>(&self, at: usize, sum: [V; U]) {
        let out = self.row.out.wrapping_add(at);
        // SAFETY: `out` has the vectors and those before the first, and fill lines where they are streamed (this function's
        // condition).
        unsafe {
            match self.last.get() {
                Some(last) => last.join(sum[0], self.by).put(out.sub(V::LANES - self.by), self.row.store),
                None => sum[0].store_first(self.by, out),
            }
            for u in 1..U {
                let to = out.add(u * V::LANES).sub(V::LANES - self.by);
                sum[u - 1].join(sum[u], self.by).put(to, self.row.store);
            }
        }
        self.last.set(Some(sum[U - 1]));
    }

    /// Stores what is left of the last vector, which ends at an element.
    #[inline(always)]
    unsafe fn finish(&self, at: usize) {
        if let (Some(last), true) = (self.last.get(), V::JOINS && self.by < V::LANES) {
            let left = V::LANES - self.by;
            // SAFETY: `out` has the vector (this function's condition).
            unsafe { last.join(last, self.by).store_first(left, self.row.out.add(at - left)) };
        }
    }

    /// `U` vectors that meet no end. Returns where they end.
    #[inline(always)]
    unsafe fn plain<const U: usize>(&self, at: At) -> At {
        // SAFETY: rows and `out` have U vectors from there (this function's condition).
        unsafe {
            prefetch::<V, U>(self.terms, self.row, at.element);
            self.put::<U>(at.element, self.inner(at.element));
        }
        at.later(U * V::LANES, self.row.span.extent)
    }

    /// `U` vectors, of which some meet an end. Returns where they end.
    #[inline(always)]
    unsafe fn masked<const U: usize>(&self, at: At) -> At {
        // SAFETY: rows and `out` have U vectors from there (this function's condition).
        unsafe {
            prefetch::<V, U>(self.terms, self.row, at.element);
            self.put::<U>(at.element, self.across(at));
        }
        at.later(U * V::LANES, self.row.span.extent)
    }

    /// Whether vectors that meet an end are few, and cost so much that they are to be computed by themselves.
    #[inline(always)]
    fn has_rare_ends(&self) -> bool {
        let terms = self.terms;
        let beside = terms.constant.len() - terms.own_constant + terms.varying.len() - terms.own_varying;
        beside > FEW_BESIDE && self.row.span.extent.div_ceil(V::LANES) >= LONG_ROW
    }

    /// All whole vectors up to `end`, in blocks as long as meet no end of a row. Returns where the last ends.
    #[inline(always)]
    unsafe fn blocks_between_ends<const U: usize>(&self, mut at: At, end: usize) -> At {
        // SAFETY: rows and `out` are valid for the run (this function's condition), of which each block is a part; where
        // they are streamed they fill lines.
        unsafe {
            while at.element + V::LANES <= end {
                let is_plain = |vectors: usize| {
                    let elements = vectors * V::LANES;
                    at.element + elements <= end && !self.seams.meets(at.column, elements)
                };
                at = if is_plain(U) {
                    self.plain::<U>(at)
                } else if U > HALF && is_plain(HALF) {
                    self.plain::<HALF>(at)
                } else if is_plain(1) {
                    self.plain::<1>(at)
                } else {
                    self.masked::<1>(at)
                };
            }
            at
        }
    }

    /// `U` vectors with constants, of which some meet an end: all are computed as if none did, and these again from the
    /// sums of their own column.
    #[inline(always)]
    unsafe fn mended<const U: usize>(&self, at: At) -> [V; U] {
        let (own, beside) = self.terms.constant.split_at(self.terms.own_constant);
        // SAFETY: every term can be read for U vectors from there (this function's condition).
        unsafe {
            let mut sum = [V::splat(V::Scalar::ZERO); U];
            add_constant(&mut sum, own, at.element);
            let of_own = sum;
            add_constant(&mut sum, beside, at.element);
            // Copies: what a loop over vectors indexes would not stay in registers.
            let (from, mut to) = (of_own, sum);
            self.mend(&from, &mut to, at);
            to
        }
    }

    /// Computes those of some vectors that meet an end from the sums of their own column.
    #[inline(always)]
    unsafe fn mend<const U: usize>(&self, of_own: &[V; U], sums: &mut [V; U], at: At) {
        let beside = &self.terms.constant[self.terms.own_constant..];
        let mut vector = at;
        for (sum, &own) in sums.iter_mut().zip(of_own) {
            if self.seams.meets(vector.column, V::LANES) {
                let entry = self.seams.entry(vector.column, V::LANES);
                let mut mended = [own];
                // SAFETY: every term can be read for the vector (this function's condition).
                unsafe { self.add_constant::<1>(&mut mended, beside, vector.element, &[entry], ALL) };
                *sum = mended[0];
            }
            vector = vector.later(V::LANES, self.row.span.extent);
        }
    }

    /// All blocks of `U` vectors up to `end` that have terms on both sides in the run, whose constants are summed. Returns
    /// where the last ends.
    #[inline(always)]
    unsafe fn mended_blocks<const U: usize>(&self, mut at: At, end: usize) -> At {
        let &Reach { low, high } = self.seams.reach();
        while at.element >= low && at.element + U * V::LANES + high <= end {
            let meets = self.seams.meets(at.column, U * V::LANES);
            // SAFETY: rows and `out` are valid for the run (this function's condition), of which each block is a part and
            // all that its terms reach.
            unsafe {
                prefetch::<V, U>(self.terms, self.row, at.element);
                self.put::<U>(at.element, if meets { self.mended(at) } else { self.inner(at.element) });
            }
            at = at.later(U * V::LANES, self.row.span.extent);
        }
        at
    }

    /// All blocks of `U` vectors that end at `end` or before. Returns where the last ends.
    #[inline(always)]
    unsafe fn blocks<const U: usize>(&self, mut at: At, end: usize) -> At {
        while at.element + U * V::LANES <= end {
            let meets = self.seams.meets(at.column, U * V::LANES);
            // SAFETY: rows and `out` are valid for the run (this function's condition), of which each block is a part.
            at = unsafe { if meets { self.masked::<U>(at) } else { self.plain::<U>(at) } };
        }
        at
    }

    /// The first `count` lanes of a vector, through the caches.
    #[inline(always)]
    unsafe fn part(&self, at: At, count: usize) {
        let terms = self.terms;
        let (own, beside) = terms.constant.split_at(terms.own_constant);
        let (own_varying, beside_varying) = terms.varying.split_at(terms.own_varying);
        let entries = self.entries::<1>(at);
        let live = (1 << count) - 1;
        // SAFETY: rows and `out` have so many elements from there (this function's condition), and no more are read and
        // written.
        unsafe {
            prefetch::<V, 1>(terms, self.row, at.element);
            let mut sum = [V::splat(V::Scalar::ZERO)];
            let load = |row: *const V::Scalar| V::load_masked(row.wrapping_add(at.element), live);
            for term in own {
                sum[0] = load(term.row).multiply_add(V::splat(term.factor), sum[0]);
            }
            self.add_constant::<1>(&mut sum, beside, at.element, &entries, live);
            for term in own_varying {
                sum[0] = load(term.row).multiply_add(load(term.factors), sum[0]);
            }
            self.add_varying::<1>(&mut sum, beside_varying, at.element, &entries, live);
            sum[0].store_first(count, self.row.out.add(at.element));
        }
    }

    /// All vectors, and a part of one at the end.
    #[inline(always)]
    unsafe fn compute<const U: usize>(&self, mut at: At, end: usize) {
        // SAFETY: rows and `out` are valid for the run (this function's condition); what is left is less than a vector.
        unsafe {
            if self.has_rare_ends() && self.terms.varying.is_empty() {
                while at.element < self.seams.reach().low && at.element + V::LANES <= end {
                    at = self.masked::<1>(at);
                }
                at = self.mended_blocks::<U>(at, end);
                at = self.mended_blocks::<HALF>(at, end);
                at = self.blocks::<1>(at, end);
            } else if self.has_rare_ends() {
                at = self.blocks_between_ends::<U>(at, end);
            } else {
                at = self.blocks::<U>(at, end);
                at = self.blocks::<HALF>(at, end);
                at = self.blocks::<1>(at, end);
            }
            self.finish(at.element);
            if at.element < end {
                self.part(at, end - at.element);
            }
        }
    }
}

/// How many elements after a multiple of a vector's bytes most rows of an element's own column begin; None where they begin
/// differently, or where most of what is read is coefficients.
#[inline(always)]
fn common_begin<V: Lanes>(terms: &Terms<V::Scalar>, at: usize) -> Option<usize> {
    let own = &terms.constant[..terms.own_constant];
    let begin = |term: &ConstantTerm<V::Scalar>| misplaced::<V>(term.row.wrapping_add(at));
    let first = own.first().map(begin)?;
    let alike = own.iter().filter(|term| begin(term) == first).count();
    (V::JOINS && terms.varying.is_empty() && 2 * alike > own.len()).then_some(first)
}

/// Computes `repeat` rows, or a span of one.
///
/// # Safety
/// As for [`direct_row`](super::direct_row); the masks [fit](Seams::fit), and rows that are repeated are whole.
#[inline(always)]
pub(super) unsafe fn rows<V: Lanes, const U: usize>(terms: &Terms<V::Scalar>, seams: &Seams, row: &Row<'_, V::Scalar>) {
    let span = &row.span;
    let end = if row.repeat > 1 { row.repeat * span.extent } else { span.to };
    let mut at = At { element: span.from, column: span.from };
    let streams = row.store != Store::Cached;
    let of_out = misplaced::<V>(row.out.wrapping_add(span.from));
    let begin = common_begin::<V>(terms, span.from).unwrap_or(of_out);
    let is_long = streams || end - at.element >= MIN_VECTORS * V::LANES;
    let by = if is_long { (V::LANES + begin - of_out - 1) % V::LANES + 1 } else { V::LANES };
    // SAFETY: rows and `out` are valid for the span of all repeated rows (this function's condition); behind `begin` the
    // output is at a multiple of a vector.
    unsafe {
        let store = if streams { Store::StreamVector } else { Store::Cached };
        let row = Row { store, ..*row };
        let run = Run::<V>::of(terms, seams, &row, by);
        if begin > 0 && is_long {
            let count = (V::LANES - begin).min(end - at.element);
            run.part(at, count);
            at = at.later(count, span.extent);
        }
        run.compute::<U>(at, end);
    }
}
