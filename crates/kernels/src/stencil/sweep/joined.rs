//! Rows that follow one another as one call of the kernel: those of a plane with the rows at its ends, lines of axis 2, and
//! small planes. A call that is short takes as long to begin as it computes.

use super::super::arrays::{Job, OUTER, View};
use super::super::direct::{ConstantTerm, Terms, star};
use super::super::element::Element;
use super::super::plan::Plan;
use super::super::span::{End, Segment, Span};
use super::super::work::Work;
use super::{MAX_ELEMENTS, Plane, Position, Rows};

/// The most segments of planes that are one call: they stay in the first-level cache beside what the call reads.
const MAX_SEGMENTS: usize = 256;

impl<T: Element> Plan<T> {
    /// Whether rows at the ends of the axis along which rows follow one another are part of a call with the others.
    ///
    /// Segments have other rows for the terms of an element's own column there, but none for those beside it: these have to
    /// be of rows that are not moved along that axis.
    pub(super) fn joins_ends(&self, terms: &Terms<T>, ends: (End<T>, End<T>)) -> bool {
        let axis = self.axes.max(2) - 2;
        let (low, high) = self.reach[axis];
        self.axes > 2
            && low.max(high) < 2
            && star::takes(terms, ends)
            && self.groups[terms.constant[terms.own_constant].group][axis] == 0
    }

    /// Whether small planes of three axes are one call: all of their rows are computed, and follow one another in both arrays.
    pub(super) fn joins_planes(&self, job: &Job<T>, rows: &Rows<T>, terms: &Terms<T>) -> bool {
        let seconds = job.ranges[1];
        let lines = seconds.1 - seconds.0;
        let follows = |view: &View<T>| view.ring.is_none() && view.strides[0] == lines * view.strides[1];
        self.axes == 3
            && rows.joins_ends
            && rows.joins(1, seconds)
            && 2 * lines * self.row as isize <= MAX_ELEMENTS as isize
            && follows(&job.input)
            && follows(&job.output)
            && self.groups[terms.constant[terms.own_constant].group] == [0; OUTER]
    }

    /// Computes planes from one on by one call, as many as there may be of them. Returns the plane behind; the same where a
    /// neighbour of the first is not in the array.
    ///
    /// # Safety
    /// As for [`Plan::sweep`].
    pub(super) unsafe fn joined_planes(
        &self,
        job: &Job<T>,
        rows: &Rows<T>,
        (from, to): (isize, isize),
        work: &mut Work<T>,
    ) -> isize {
        let seconds = job.ranges[1];
        let mut plane = Plane { from, planes: 1, number: 0, repeat: 1, seconds, ahead: self.ahead };
        let mut elements = 0;
        work.segments.clear();
        while plane.from < to && elements < MAX_ELEMENTS {
            let (kept, before) = (work.segments.len(), elements);
            work.planes.clear();
            self.find_planes(job, plane.from, &mut work.planes);
            if work.planes.iter().any(|row| row.is_null())
                || self.add_rows(job, rows, &plane, seconds, &mut elements, work) < seconds.1
                || (kept > 0 && work.segments.len() > MAX_SEGMENTS)
            {
                work.segments.truncate(kept);
                elements = before;
                break;
            }
            plane.from += 1;
        }
        if elements > 0 {
            // SAFETY: rows are those of the neighbours, each whole.
            unsafe { self.run_rows(job, rows, [from, seconds.0, job.ranges[2].0], elements, work) };
        }
        plane.from
    }

    /// Computes rows of a plane by one call: all of them, or in four axes those of the indices of axis 1 from one on whose
    /// lines follow one another. Returns the index of axis 1 behind; the same where its lines are not in the array.
    ///
    /// # Safety
    /// As for [`Plan::sweep`].
    pub(super) unsafe fn joined_rows(
        &self,
        job: &Job<T>,
        rows: &Rows<T>,
        plane: &Plane,
        (from, to): (isize, isize),
        work: &mut Work<T>,
    ) -> isize {
        work.segments.clear();
        let mut elements = 0;
        let next = self.add_rows(job, rows, plane, (from, to), &mut elements, work);
        if elements > 0 {
            let index = [plane.from + plane.number, from, job.ranges[2].0];
            // SAFETY: rows are those of the neighbours, each whole.
            unsafe { self.run_rows(job, rows, index, elements, work) };
        }
        next
    }

    /// Adds rows of a plane to a call that has so many elements: all of them, or in four axes those of the indices of axis 1
    /// from one on whose lines follow one another, and the rows before. Returns the index of axis 1 behind.
    #[inline(always)]
    fn add_rows(
        &self,
        job: &Job<T>,
        rows: &Rows<T>,
        plane: &Plane,
        (from, to): (isize, isize),
        elements: &mut usize,
        work: &mut Work<T>,
    ) -> isize {
        let first = plane.from + plane.number;
        let length = if self.axes > 3 { job.ranges[2].1 - job.ranges[2].0 } else { to - from };
        let follows = |view: &View<T>| view.strides[1] == length * view.strides[2];
        let lines = if self.axes > 3 && !(follows(&job.input) && follows(&job.output)) { from + 1 } else { to };
        let end = if self.axes > 3 { lines } else { from + 1 };
        // In three axes the rows of axis 1 are those that follow one another, and segments say where they end.
        let inner = if self.axes > 3 { rows.inner[0] } else { (from, end) };
        let centre = work.terms.constant[work.terms.own_constant].group;
        let own = work.planes[plane.number as usize * self.groups.len() + centre];
        let mut second = from;
        while second < end && self.find_lines(job, second, inner, &mut work.lines) {
            // A tile of several steps goes on beyond the end of a circular axis, where lines begin again.
            let begins = job.ranges[2].0 * job.input.strides[2] - *elements as isize;
            let begin = own.wrapping_offset(work.lines[centre] + begins);
            if *elements > 0 && begin != work.rows[centre] {
                break;
            }
            let index = [first, second, job.ranges[2].0];
            if *elements == 0 && job.from_memory {
                self.find_ahead(job, &index, plane, 0, work);
            }
            self.find_segments(job, rows, plane, index, (length, *elements), work);
            *elements += length as usize * self.row;
            second += 1;
        }
        if self.axes > 3 || second == from { second } else { to }
    }

    /// Computes the rows whose segments have been found, the first of which has this index.
    ///
    /// # Safety
    /// As for [`Plan::sweep`].
    unsafe fn run_rows(
        &self,
        job: &Job<T>,
        rows: &Rows<T>,
        [first, second, third]: [isize; OUTER],
        elements: usize,
        work: &mut Work<T>,
    ) {
        let out = job.output.base.wrapping_offset(job.output.plane(first) + job.output.within(second, third));
        let span =
            Span { from: job.columns.0, to: job.columns.1, extent: self.row, low: rows.ends.0, high: rows.ends.1 };
        let store = rows.store_at(out as usize);
        // SAFETY: rows are those of the neighbours, each whole (this function's condition).
        unsafe { self.run_row(work, span, out, store, elements / self.row) };
    }

    /// Adds the segments of so many rows from an index on, before which the call has so many elements. Where the lines of
    /// axis 2 are, `work.lines` says for each group.
    fn find_segments(
        &self,
        job: &Job<T>,
        rows: &Rows<T>,
        plane: &Plane,
        mut index: [isize; OUTER],
        (length, elements): (isize, usize),
        work: &mut Work<T>,
    ) {
        let axis = self.axes - 2;
        let from = index[axis];
        let own = plane.number as usize * self.groups.len();
        let planes = &work.planes[own..own + self.groups.len()];
        let begins = index[2] * job.input.strides[2] - elements as isize;
        if elements == 0 {
            for ((row, plane), line) in work.rows.iter_mut().zip(planes).zip(&work.lines) {
                *row = plane.wrapping_offset(line + begins);
            }
        }
        let terms = &work.terms.constant[..work.terms.own_constant];
        let mut inner = Segment { end: elements + length as usize * self.row, ..Segment::default() };
        for (to, term) in inner.rows.iter_mut().zip(terms) {
            *to = planes[term.group].wrapping_offset(work.lines[term.group] + begins);
        }
        let (inner_from, inner_to) = rows.inner[axis - 1];
        let has_low = from < inner_from || from >= inner_to;
        let has_high = length > 1 && from + length > inner_to;
        if has_low {
            let mut segment = Segment { end: elements + self.row, ..inner };
            self.find_edge(job, &index, elements as isize, terms, &mut segment.rows);
            work.segments.push(segment);
        }
        let end = inner.end;
        inner.end -= if has_high { self.row } else { 0 };
        if work.segments.last().is_none_or(|segment| segment.end < inner.end) {
            work.segments.push(inner);
        }
        if has_high {
            let mut segment = Segment { end, ..inner };
            index[axis] += length - 1;
            self.find_edge(job, &index, inner.end as isize, terms, &mut segment.rows);
            work.segments.push(segment);
        }
    }

    /// The rows at an end of the axis before the last, of those of all rows of a call: there are so many elements before.
    fn find_edge(
        &self,
        job: &Job<T>,
        index: &[isize; OUTER],
        elements: isize,
        terms: &[ConstantTerm<T>],
        rows: &mut [*const T],
    ) {
        let axis = self.axes - 2;
        for (row, term) in rows.iter_mut().zip(terms) {
            let offset = &self.groups[term.group];
            if offset[axis] == 0 {
                continue;
            }
            let neighbour = index[axis] + offset[axis];
            *row = match self.position(&job.input.ends, axis, neighbour) {
                Position::At(position) => row.wrapping_offset((position - neighbour) * job.input.strides[axis]),
                Position::Beyond => self.find_row(&job.input, index, offset, 0).wrapping_offset(-elements),
            };
        }
    }
}
