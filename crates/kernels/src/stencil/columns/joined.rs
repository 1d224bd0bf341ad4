//! Rows whose neighbours do not begin with a cache line: loaded line by line, and joined when they are summed.
//!
//! Arrays often begin 16 bytes into a page. A vector of 64 bytes from such an address is of two lines and takes two
//! accesses; with nine rows these are most of what the processor does. So the sums of the columns are taken at the
//! lines of the source, and each result is put together from two neighbouring vectors of every sum, by one instruction
//! instead of the one that would move it by a lane. The order of summation is that of [`columns`](super), and so are
//! the bits.
//!
//! Rows that follow one another are one run: a vector may end one row and begin the next.

use super::super::lanes::Lanes;
use super::super::scratch::Scratch;
use super::super::span::Row;
use super::{Columns, sums};

/// With fewer rows, memory and not the loads decides.
const MIN_ROWS: usize = 9;

/// A run of fewer vectors is not worth the copies at its ends.
const MIN_VECTORS: usize = 128;

/// Elements from a cache line's start to the first column.
fn misplaced<V: Lanes>(row: *const V::Scalar, column: usize) -> usize {
    row.wrapping_add(column) as usize % (V::LANES * size_of::<V::Scalar>()) / size_of::<V::Scalar>()
}

/// Whether all rows begin at the same offset of a cache line, which is not its start, and have whole vectors.
#[inline(always)]
pub(super) fn fits<V: Lanes>(row: &Row<'_, V::Scalar>) -> bool {
    let span = &row.span;
    let vectors = row.repeat * (span.to - span.from) / V::LANES;
    if !V::JOINS || row.rows.len() < MIN_ROWS || vectors < MIN_VECTORS || span.to - span.from < 2 * V::LANES {
        return false;
    }
    let line = V::LANES * size_of::<V::Scalar>();
    let offset = row.rows[0] as usize % line;
    let is_whole = |columns: usize| columns.is_multiple_of(V::LANES);
    is_whole(span.to - span.from)
        && (row.repeat == 1 || is_whole(span.extent))
        && !(offset / size_of::<V::Scalar>() + span.from).is_multiple_of(V::LANES)
        && offset.is_multiple_of(size_of::<V::Scalar>())
        && row.rows.iter().all(|&other| other as usize % line == offset)
}

/// The last vector of each sum.
struct Last<V> {
    before: V,
    centre: V,
    after: V,
}

/// What lies beside the rows that end and begin within a vector.
struct Ends<T> {
    /// After the last column of the row that ends.
    high: T,
    /// Before the first column of the row that begins.
    low: T,
}

/// A run of rows.
struct Run<'a, 'b, V: Lanes> {
    columns: &'a Columns<V::Scalar>,
    row: &'a Row<'b, V::Scalar>,
    /// Elements by which the first column is misplaced.
    by: usize,
}

impl<V: Lanes> Run<'_, '_, V> {
    /// `U` vectors from element `at` of the rows on; completes and stores the vector before and all but the last of them,
    /// the first to element `to` of the result. Where a row ends, it does so in the last of them.
    #[inline(always)]
    unsafe fn block<const U: usize, const SYMMETRIC: bool>(
        &self,
        rows: &[*const V::Scalar],
        at: usize,
        to: usize,
        ends: Option<Ends<V::Scalar>>,
        last: &mut Last<V>,
    ) {
        // SAFETY: every row has U vectors from `at`, and `out` those from `to` (this function's conditions); lane `by`,
        // which is not 0, and the one before are lanes of a vector.
        unsafe {
            let (mut before, centre, mut after) = sums::<V, U, SYMMETRIC>(self.columns, rows, at);
            if let Some(ends) = ends {
                before[U - 1] = before[U - 1].with_lane(self.by - 1, ends.low);
                after[U - 1] = after[U - 1].with_lane(self.by, ends.high);
            }
            for u in 0..U {
                let result = last.centre.join(centre[u], self.by).add(last.before.join(before[u], self.by - 1));
                let result = result.add(last.after.join(after[u], self.by + 1));
                result.put(self.row.out.add(to + u * V::LANES), self.row.store);
                *last = Last { before: before[u], centre: centre[u], after: after[u] };
            }
        }
    }

    /// Some elements of every row from `column` on, put into lanes from `lane` on of copies that fill a vector.
    unsafe fn copied<'s>(
        &self,
        column: usize,
        count: usize,
        lane: usize,
        scratch: &'s mut Scratch<V::Scalar>,
    ) -> &'s [*const V::Scalar] {
        let copies = scratch.vectors(self.row.rows.len(), V::LANES);
        for (&row, &copy) in self.row.rows.iter().zip(copies) {
            // SAFETY: every row has `count` elements from `column` on (this function's condition), and a copy has a
            // vector's, of which these take the lanes from `lane` on.
            unsafe { std::ptr::copy_nonoverlapping(row.add(column), copy.cast_mut().add(lane), count) };
        }
        copies
    }

    /// `count` rows, the first from element `start` on.
    #[inline(always)]
    unsafe fn run<const U: usize, const SYMMETRIC: bool>(
        &self,
        start: usize,
        count: usize,
        scratch: &mut Scratch<V::Scalar>,
    ) {
        let (row, by) = (self.row, self.by);
        let length = row.span.to - row.span.from;
        let vectors = length / V::LANES;
        let first = start + row.span.from;
        // SAFETY: rows and `out` are valid for the run (this function's condition), as rows fit that follow one another
        // without a gap; what is read line by line lies between the first and the last column of the run, the ends come
        // from copies.
        unsafe {
            let (mut low, mut high) = self.columns.beside::<V>(row, start);
            let copies = self.copied(first, V::LANES - by, by, scratch);
            let (before, centre, after) = sums::<V, 1, SYMMETRIC>(self.columns, copies, 0);
            let mut last = Last { before: before[0].with_lane(by - 1, low), centre: centre[0], after: after[0] };
            for number in 0..count {
                let to = first + number * length;
                let is_last = number + 1 == count;
                let ended = high;
                if !is_last {
                    (low, high) = self.columns.beside::<V>(row, start + (number + 1) * length);
                }
                // The vectors of a row after its first; the last of them begins the next row.
                let whole = if is_last { vectors - 1 } else { vectors };
                let mut vector = 1;
                while vector <= whole {
                    let at = to + vector * V::LANES - by;
                    let into = to + (vector - 1) * V::LANES;
                    if vector + U - 1 <= whole {
                        row.prefetch_ahead::<V, U>(at);
                        vector += U;
                        let ends = (vector > vectors).then_some(Ends { high: ended, low });
                        self.block::<U, SYMMETRIC>(row.rows, at, into, ends, &mut last);
                    } else {
                        row.prefetch_ahead::<V, 1>(at);
                        vector += 1;
                        let ends = (vector > vectors).then_some(Ends { high: ended, low });
                        self.block::<1, SYMMETRIC>(row.rows, at, into, ends, &mut last);
                    }
                }
                if is_last {
                    let end = to + length;
                    let copies = self.copied(end - by, by, 0, scratch);
                    let ends = Some(Ends { high: ended, low });
                    self.block::<1, SYMMETRIC>(copies, 0, end - V::LANES, ends, &mut last);
                }
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
    scratch: &mut Scratch<V::Scalar>,
) {
    let span = &row.span;
    let run = Run::<V> { columns, row, by: misplaced::<V>(row.rows[0], span.from) };
    if (span.from, span.to) == (0, span.extent) {
        // SAFETY: the row is as `Row` says and fits (this function's conditions), and all of its `repeat` rows are
        // whole, one after the other.
        return unsafe { run.run::<U, SYMMETRIC>(0, row.repeat, scratch) };
    }
    for number in 0..row.repeat {
        // SAFETY: the row is as `Row` says and fits (this function's conditions), and this is one of its `repeat` rows.
        unsafe { run.run::<U, SYMMETRIC>(number * span.extent, 1, scratch) };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::stencil::{Boundary, Coefficient, Element, Options, Plan, Point, Source, Stencil, Target};

    /// A cube or a star of three axes, whose outer columns have the same coefficients or not.
    fn plan<T: Element>(extents: &[usize], boundary: Boundary<T>, star: bool, symmetric: bool) -> Plan<T> {
        let points = (0..27).map(|n: isize| vec![n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1]);
        let points = points.filter(|offset| !star || offset.iter().filter(|&&by| by != 0).count() < 2).map(|offset| {
            let column = if symmetric { offset[2].abs() } else { offset[2] };
            let weight = 0.3 + 0.17 * offset[0] as f64 - 0.011 * offset[1] as f64 + 0.07 * column as f64;
            Point { offset, coefficient: Coefficient::Constant(T::from_f64(weight)) }
        });
        let stencil = Stencil::new(3, points.collect()).unwrap();
        Plan::new(&stencil, extents, vec![boundary; 3], Options::default()).unwrap()
    }

    /// The result for a source that begins so many elements after a cache line.
    fn result<T: Element>(plan: &Plan<T>, begin: usize) -> Vec<T> {
        let sites: usize = plan.extents().iter().product();
        let mut source = vec![T::from_f64(f64::NAN); sites + 64];
        let start = source.as_ptr().align_offset(64) + begin;
        for (site, value) in source[start..start + sites].iter_mut().enumerate() {
            *value = T::from_f64(((site * 7919) % 1013) as f64 * 0.37 - 100.0);
        }
        let mut target = vec![T::ZERO; sites];
        let layout = plan.contiguous();
        // SAFETY: both have as many sites.
        unsafe {
            let source = Source { base: source.as_ptr().add(start), layout: &layout };
            plan.apply(&source, &Target { base: target.as_mut_ptr(), layout: &layout }, 1);
        }
        target
    }

    fn is_the_same_everywhere<T: Element>(plan: &Plan<T>) -> Result<(), TestCaseError> {
        let aligned = result(plan, 0);
        for begin in 1..16 {
            prop_assert_eq!(&result(plan, begin), &aligned, "from element {}", begin);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn where_a_source_begins_changes_no_bit(
            outer in [1usize..4, 1usize..30], columns in 1usize..90, whole: bool, circular: bool, star: bool,
            symmetric: bool,
        ) {
            let columns = if whole { columns.next_multiple_of(16) } else { columns };
            let extents = [outer[0], outer[1], columns];
            let boundary = if circular { Boundary::Circular } else { Boundary::Value(2.5) };
            is_the_same_everywhere(&plan::<f64>(&extents, boundary, star, symmetric))?;
            let boundary = if circular { Boundary::Circular } else { Boundary::Value(2.5f32) };
            is_the_same_everywhere(&plan::<f32>(&extents, boundary, star, symmetric))?;
        }
    }
}
