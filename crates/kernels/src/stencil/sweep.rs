//! Sweeps over rows: finds each row's neighbours, calls the kernel.

mod joined;

use crate::Stop;

use super::arrays::{Ends, Job, OUTER, View};
use super::description::{Array, Boundary};
use super::direct::Terms;
use super::element::Element;
use super::kernel::{Factor, Kernel, Term};
use super::lanes::Store;
use super::plan::Plan;
use super::span::{End, Row, Span, wrapped};
use super::tiles;
use super::traversal::{Ahead, Bundle};
use super::work::Work;

/// What all rows of a sweep have in common.
struct Rows<T> {
    /// The indices of axes 1 and 2 whose neighbours are all in the array.
    inner: [(isize, isize); OUTER - 1],
    /// Whether what lies beyond the ends of a row differs from row to row.
    ends_vary: bool,
    /// What it is where it does not.
    ends: (End<T>, End<T>),
    /// Whether rows that follow one another are one call of the kernel.
    runs: bool,
    /// Whether those at the ends of their axis are part of it.
    joins_ends: bool,
    /// Whether planes that follow one another are one call too.
    joins_planes: bool,
    /// Whether coefficients differ from row to row.
    factors_vary: bool,
    /// Bytes of a vector.
    lanes_bytes: usize,
    /// How results are written.
    store: RowStore,
    /// How rows of whole vectors are that begin at no multiple of a vector's bytes.
    misplaced: Store,
}

/// The most elements of several rows of axis 0, or of several planes, that are one call: between calls a sweep looks whether it
/// is given up, and the start of one takes as long as some hundred elements.
const MAX_ELEMENTS: usize = 1 << 15;

/// How the rows of a sweep are written.
#[derive(Clone, Copy)]
enum RowStore {
    /// Through the caches.
    Cached,
    /// By non-temporal stores of pieces that fit the address at which a row begins; all rows are whole vectors.
    ByAddress,
    /// By non-temporal stores of cache lines, wherever rows begin and end.
    Lines,
}

impl<T: Element> Rows<T> {
    /// Whether the rows of a range along an axis are one call: at most its first and its last have neighbours of their own,
    /// which are more where a tile of several steps goes on beyond the end of a circular axis.
    #[inline(always)]
    fn joins(&self, axis: usize, (from, to): (isize, isize)) -> bool {
        let (inner_from, inner_to) = self.inner[axis - 1];
        self.joins_ends && from + 1 >= inner_from && to - 1 <= inner_to
    }

    /// How a row of results is written whose first column is at an address.
    #[inline(always)]
    fn store_at(&self, address: usize) -> Store {
        match self.store {
            RowStore::Cached => Store::Cached,
            RowStore::Lines => Store::StreamLines,
            RowStore::ByAddress if address.is_multiple_of(self.lanes_bytes) => Store::StreamVector,
            RowStore::ByAddress => self.misplaced,
        }
    }
}

/// A plane of axis 0 of a bundle, and the rows of it to compute.
#[derive(Clone, Copy)]
struct Plane {
    /// The first plane of the bundle.
    from: isize,
    /// How many there are.
    planes: isize,
    /// Which one it is.
    number: isize,
    /// As many planes, of one row each, follow one another and are one call.
    repeat: isize,
    /// Indices of axis 1.
    seconds: (isize, isize),
    /// How far ahead rows are prefetched.
    ahead: Ahead,
}

/// Where an index along an outer axis is found.
enum Position {
    /// At this index of the view.
    At(isize),
    /// Beyond an end of an end-off axis.
    Beyond,
}

impl<T: Element> Plan<T> {
    /// Resolves an index along an axis but the last.
    #[inline(always)]
    fn position(&self, ends: &Ends, axis: usize, index: isize) -> Position {
        let extent = self.outer[axis] as isize;
        let goes_on = if index < 0 {
            ends.low[axis]
        } else if index >= extent {
            ends.high[axis]
        } else {
            return Position::At(index);
        };
        if goes_on {
            return Position::At(index);
        }
        match self.boundaries[axis] {
            Boundary::Circular => Position::At(wrapped(index, extent)),
            _ => Position::Beyond,
        }
    }

    /// An index of the array itself.
    #[inline(always)]
    fn home(&self, axis: usize, index: isize) -> isize {
        let extent = self.outer[axis] as isize;
        if (0..extent).contains(&index) { index } else { index.rem_euclid(extent) }
    }

    /// The row that lies beyond an end of `axis`. Shifts are taken along axis 0 first: the boundary of an axis is indexed
    /// as the result along earlier axes and as the neighbour along later ones.
    #[inline(never)]
    fn boundary_row(&self, axis: usize, result: &[isize; OUTER], neighbour: &[isize; OUTER]) -> *const T {
        match &self.boundaries[axis] {
            Boundary::Array(values) => {
                let mut row = 0;
                for other in (0..self.axes - 1).filter(|&other| other != axis) {
                    // A tile of several steps goes on beyond the ends of a circular axis.
                    let index = self.home(other, if other < axis { result[other] } else { neighbour[other] });
                    row = row * self.outer[other] + index as usize;
                }
                // SAFETY: the array has a row for every index of the other axes.
                unsafe { values.as_ptr().add(row * self.row) }
            }
            _ => {
                let before = self.reach[self.axes - 1].0 * self.options.components;
                // SAFETY: the row of a boundary value has that much before it.
                unsafe { self.boundary_rows[axis].as_ptr().add(before) }
            }
        }
    }

    /// Column 0 of the row at `index + offset`, wherever that is.
    #[inline(never)]
    fn find_row(&self, view: &View<T>, index: &[isize; OUTER], offset: &[isize; OUTER], side: usize) -> *const T {
        let mut neighbour = [0; OUTER];
        for axis in (0..OUTER).rev() {
            match self.position(&view.ends, axis, index[axis] + offset[axis]) {
                Position::At(position) => neighbour[axis] = position,
                Position::Beyond => return self.boundary_row(axis, index, &neighbour),
            }
        }
        let distance = view.plane(neighbour[0]) + view.within(neighbour[1], neighbour[2]);
        view.base.wrapping_offset(distance + side as isize * view.between).cast_const()
    }

    /// For each right-hand side and group: where the row of index (first, origin, 0) plus the group's offset would be if
    /// the other axes had no ends; null where the plane itself is a boundary.
    fn find_planes(&self, job: &Job<T>, first: isize, planes: &mut Vec<*const T>) {
        let view = &job.input;
        for side in 0..job.count {
            for offset in &self.groups {
                planes.push(match self.position(&view.ends, 0, first + offset[0]) {
                    Position::At(position) => {
                        let distance = view.plane(position) + view.within(offset[1], offset[2]);
                        view.base.wrapping_offset(distance + side as isize * view.between).cast_const()
                    }
                    Position::Beyond => std::ptr::null(),
                });
            }
        }
    }

    /// For each group, elements from where its plane begins to its line of axis 2 that an index along axis 1 needs. Whether
    /// all of these lines are in the array.
    fn find_lines(&self, job: &Job<T>, second: isize, inner: (isize, isize), lines: &mut [isize]) -> bool {
        // `find_planes` has taken the origin off once already.
        let stride = job.input.strides[1];
        if second >= inner.0 && second < inner.1 {
            lines.fill(second * stride);
            return true;
        }
        lines.iter_mut().zip(&self.groups).all(|(line, offset)| {
            match self.position(&job.input.ends, 1, second + offset[1]) {
                Position::At(at) => {
                    *line = (at - offset[1]) * stride;
                    true
                }
                Position::Beyond => false,
            }
        })
    }

    /// The rows that an index along axis 2 needs, which may wrap, in the lines of all groups. Whether all of them are in
    /// the array.
    fn find_in_lines(
        &self,
        job: &Job<T>,
        third: isize,
        planes: &[*const T],
        lines: &[isize],
        rows: &mut [*const T],
    ) -> bool {
        let stride = job.input.strides[2];
        let groups = planes.iter().zip(lines).zip(&self.groups);
        rows.iter_mut().zip(groups).all(|(row, ((plane, line), offset))| {
            match self.position(&job.input.ends, 2, third + offset[2]) {
                Position::At(at) => {
                    *row = plane.wrapping_offset(line + (at - offset[2]) * stride);
                    true
                }
                Position::Beyond => false,
            }
        })
    }

    /// What lies beyond the ends of a row.
    fn row_ends(&self, view: &View<T>, index: &[isize; OUTER]) -> (End<T>, End<T>) {
        let last = self.axes - 1;
        let beyond = match &self.boundaries[last] {
            Boundary::Circular => End::Wrap,
            Boundary::Value(value) => End::Value(*value),
            Boundary::Array(values) => {
                let row = (0..last).fold(0, |row, axis| row * self.outer[axis] + self.home(axis, index[axis]) as usize);
                let components = self.options.components;
                match components {
                    1 => End::Value(values[row]),
                    _ => End::Site { values: values[row * components..].as_ptr(), components },
                }
            }
        };
        let end = |goes_on: bool| if goes_on { End::Memory } else { beyond };
        (end(view.ends.low[OUTER]), end(view.ends.high[OUTER]))
    }

    /// Computes a job's rows in order, until it is given up.
    ///
    /// # Safety
    /// The job's views are valid for what its ranges and the stencil's reach make it read and write.
    pub(super) unsafe fn sweep(&self, job: &Job<T>, work: &mut Work<T>, stop: Stop<'_>) {
        let job = &Job { from_memory: job.from_memory && self.kernel.prefetches(), ..*job };
        let lanes_bytes = self.instructions.register_bytes();
        let inner = |axis: usize| -> (isize, isize) {
            if axis + 1 >= self.axes {
                return (0, 1);
            }
            let (low, high) = self.reach[axis];
            let ends = &job.input.ends;
            let start = if ends.low[axis] { isize::MIN } else { low as isize };
            let extent = self.outer[axis] as isize;
            (start, if ends.high[axis] { isize::MAX } else { extent - high as isize })
        };
        let ends_vary = matches!(self.boundaries[self.axes - 1], Boundary::Array(_));
        let (mut low, mut high) = (End::Wrap, End::Wrap);
        if !ends_vary {
            (low, high) = self.row_ends(&job.input, &[0; OUTER]);
        }
        work.ahead.clear();
        let pitch = self.row as isize;
        let strides = |view: &View<T>| view.strides[self.axes.max(2) - 2];
        let is_whole = job.columns == (0, self.row) || matches!(self.kernel, Kernel::Columns { .. });
        let runs = is_whole
            && self.kernel.follows_rows(self.axes, pitch)
            && self.axes > 1
            && !ends_vary
            && job.count == 1
            && (strides(&job.input), strides(&job.output)) == (pitch, pitch);
        let runs_planes = runs && self.axes == 2 && job.input.ring.is_none() && job.output.ring.is_none();
        // A store is chosen once for all rows of a run: they must lie alike beside the vectors' boundaries.
        let is_alike = !runs || (self.row * size_of::<T>()).is_multiple_of(lanes_bytes);
        let is_even = is_alike && job.has_whole_vectors(lanes_bytes);
        let store = match (job.columns.1 - job.columns.0) * size_of::<T>() {
            _ if !job.streaming => RowStore::Cached,
            _ if is_even => RowStore::ByAddress,
            length if length >= lanes_bytes => RowStore::Lines,
            _ => RowStore::Cached,
        };
        // Results of two rows at once are put together anew by lines: the pieces of a vector take four stores.
        let misplaced = if runs && self.computes_pairs() { Store::StreamLines } else { Store::Stream16 };
        let mut rows = Rows {
            inner: [inner(1), inner(2)],
            ends_vary,
            ends: (low, high),
            runs,
            joins_ends: runs && self.joins_ends(&work.terms, (low, high)),
            joins_planes: false,
            factors_vary: self.kernel.factors_vary(),
            lanes_bytes,
            store,
            misplaced,
        };
        let bundle = self.bundle_of(job);
        rows.joins_planes = self.joins_planes(job, &rows, &work.terms);
        let (start, end) = job.ranges[0];
        let mut next = start;
        while next < end && !stop.is_requested() {
            let from = next;
            if rows.joins_planes {
                // SAFETY: the job's views are valid for its ranges and the stencil's reach (this function's condition).
                next = unsafe { self.joined_planes(job, &rows, (from, end), work) };
                if next > from {
                    continue;
                }
            }
            let planes = (end - from).min(bundle.planes as isize);
            let repeat = self.rows_of_axis_0(job, runs_planes, from);
            next += planes.max(repeat);
            work.planes.clear();
            for first in from..from + planes {
                self.find_planes(job, first, &mut work.planes);
            }
            let at_once = if bundle.planes > 1 { 1 } else { usize::MAX };
            for seconds in tiles::pieces(job.ranges[1], at_once) {
                for number in 0..planes {
                    // SAFETY: the job's views are valid for its ranges and the stencil's reach (this function's
                    // condition), of which this is a plane, and `planes` has just been filled for the whole bundle.
                    unsafe {
                        self.rows_of_plane(
                            job,
                            &rows,
                            Plane { from, planes, number, repeat, seconds, ahead: bundle.ahead },
                            work,
                        )
                    };
                }
            }
        }
        if job.streaming {
            // Results of non-temporal stores are ordered before whatever tells another thread that they are there.
            weft_simd::store_fence();
        }
    }

    /// How many rows of an array of two axes, from an index along axis 0 on, follow one another in all arrays.
    #[inline(always)]
    fn rows_of_axis_0(&self, job: &Job<T>, runs: bool, from: isize) -> isize {
        let (low, high) = self.reach[0];
        let end = job.ranges[0].1.min(self.outer[0] as isize - high as isize);
        let most = (MAX_ELEMENTS / self.row.max(1)).max(1) as isize;
        if runs && from >= low as isize && from < end { (end - from).min(most) } else { 1 }
    }

    /// What is interleaved in a sweep.
    fn bundle_of(&self, job: &Job<T>) -> Bundle {
        let single = Bundle { planes: 1, ahead: self.ahead };
        let is_plain = job.from_memory && job.count == 1 && job.input.ring.is_none() && job.output.ring.is_none();
        self.bundle.filter(|_| is_plain).unwrap_or(single)
    }

    /// Computes the rows of a plane whose index along axis 1 is in a piece of the range.
    ///
    /// # Safety
    /// As for [`Plan::sweep`].
    #[inline(always)]
    unsafe fn rows_of_plane(&self, job: &Job<T>, rows: &Rows<T>, plane: Plane, work: &mut Work<T>) {
        let (first, groups) = (plane.from + plane.number, self.groups.len());
        let own = plane.number as usize * job.count * groups;
        let all_planes = work.planes[own..own + job.count * groups].iter().all(|row| !row.is_null());
        let [inner_second, inner_third] = rows.inner;
        let (mut low, mut high) = rows.ends;
        if all_planes && self.axes == 3 && rows.joins(1, plane.seconds) {
            // SAFETY: the job's views are valid for the plane (this function's condition).
            unsafe { self.joined_rows(job, rows, &plane, plane.seconds, work) };
            return;
        }
        let joins_lines = all_planes && self.axes > 3 && rows.joins(2, job.ranges[2]);
        let (mut next_second, end_second) = plane.seconds;
        while next_second < end_second {
            let second = next_second;
            if joins_lines {
                // SAFETY: the job's views are valid for the plane (this function's condition).
                next_second = unsafe { self.joined_rows(job, rows, &plane, (second, end_second), work) };
                if next_second > second {
                    continue;
                }
            }
            next_second += 1;
            let second_is_inner = second >= inner_second.0 && second < inner_second.1;
            let has_lines = all_planes && self.find_lines(job, second, inner_second, &mut work.lines);
            let mut next = job.ranges[2].0;
            while next < job.ranges[2].1 {
                let third = next;
                next += 1;
                let index = [first, second, third];
                if rows.ends_vary {
                    (low, high) = self.row_ends(&job.input, &index);
                }
                let third_is_inner = third >= inner_third.0 && third < inner_third.1;
                let is_inner = has_lines && third_is_inner;
                let span = Span { from: job.columns.0, to: job.columns.1, extent: self.row, low, high };
                if let (Kernel::Direct { terms, .. }, true) = (&self.kernel, rows.factors_vary) {
                    self.find_factors(terms, &index, &mut work.terms);
                }
                for side in 0..job.count {
                    let planes = &work.planes[own + side * groups..own + (side + 1) * groups];
                    if is_inner {
                        let distance = third * job.input.strides[2];
                        for ((row, plane), line) in work.rows.iter_mut().zip(planes).zip(&work.lines) {
                            *row = plane.wrapping_offset(line + distance);
                        }
                    } else if !(has_lines && self.find_in_lines(job, third, planes, &work.lines, &mut work.rows)) {
                        for (row, offset) in work.rows.iter_mut().zip(&self.groups) {
                            *row = self.find_row(&job.input, &index, offset, side);
                        }
                    }
                    let distance = job.output.plane(first) + job.output.within(second, third);
                    let out = job.output.base.wrapping_offset(distance + side as isize * job.output.between);
                    let store = rows.store_at(out.wrapping_add(job.columns.0) as usize);
                    // Rows after one another in both arrays are one call: its start costs as much as many a row.
                    let mut repeat = plane.repeat as usize;
                    if is_inner && second_is_inner && rows.runs && self.axes == 3 {
                        next_second = end_second.min(inner_second.1);
                        repeat = (next_second - second) as usize;
                    } else if is_inner && rows.runs && self.axes > 3 {
                        next = job.ranges[2].1.min(inner_third.1);
                        repeat = (next - third) as usize;
                    }
                    if job.from_memory {
                        self.find_ahead(job, &index, &plane, side, work);
                    }
                    work.segments.clear();
                    // SAFETY: rows are those of the neighbours, each whole or going on where the span says so.
                    unsafe { self.run_row(work, span, out, store, repeat) };
                }
            }
        }
    }

    /// The rows that will be needed a little later, in the order of the sweep.
    #[inline(always)]
    fn find_ahead(&self, job: &Job<T>, index: &[isize; OUTER], plane: &Plane, side: usize, work: &mut Work<T>) {
        work.ahead.clear();
        let strides = &job.input.strides;
        let bundled = plane.planes;
        let distance = match plane.ahead {
            Ahead::Bytes(bytes) => index[1] * strides[1] + index[2] * strides[2] + (bytes / size_of::<T>()) as isize,
            Ahead::Rows(rows) => {
                let [_, second, third] = job.ranges;
                let (mut later, mut planes) = ([index[1], index[2] + rows as isize], 0);
                while later[1] >= third.1 {
                    later = [later[0] + 1, later[1] - (third.1 - third.0)];
                }
                while later[0] >= second.1 {
                    later[0] -= second.1 - second.0;
                    planes += bundled * strides[0];
                }
                planes + later[0] * strides[1] + later[1] * strides[2]
            }
        };
        let planes = &work.planes[(plane.number as usize * job.count + side) * self.groups.len()..];
        // What another plane of the bundle reads as its own is prefetched there.
        let is_prefetched = |group: usize| {
            let offset = self.groups[group][0];
            offset == 0 || !(0..bundled).contains(&(plane.number + offset))
        };
        let prefetched = self.leading.iter().filter(|&&group| is_prefetched(group));
        work.ahead.extend(prefetched.map(|&group| planes[group].wrapping_offset(distance)));
    }

    /// The coefficients of one row.
    fn find_factors(&self, points: &[Term<T>], index: &[isize; OUTER], terms: &mut Terms<T>) {
        let at = |array: &Array<T>| {
            let strides = &array.strides()[..self.axes - 1];
            let distance: isize =
                strides.iter().enumerate().map(|(axis, &stride)| self.home(axis, index[axis]) * stride).sum();
            array.as_ptr().wrapping_offset(distance)
        };
        let (mut constant, mut varying) = (terms.constant.iter_mut(), terms.varying.iter_mut());
        for point in points {
            match &point.factor {
                Factor::Constant(_) => {
                    constant.next();
                }
                Factor::Row(array) => {
                    if let Some(term) = constant.next() {
                        // SAFETY: the array has a value for every index.
                        term.factor = unsafe { *at(array) };
                    }
                }
                Factor::Varying(array) => {
                    if let Some(term) = varying.next() {
                        term.factors = at(array);
                    }
                }
            }
        }
    }

    /// Calls the kernel for the rows of `work`.
    #[inline(always)]
    unsafe fn run_row(&self, work: &mut Work<T>, span: Span<T>, out: *mut T, store: Store, repeat: usize) {
        let row = Row { rows: &work.rows, ahead: &work.ahead, span, out, store, repeat, segments: &work.segments };
        match &self.kernel {
            // SAFETY: the kernel was chosen for this processor's instructions, and the rows are those of the
            // neighbours, valid as `Row` says (this function's condition), one for each of the columns' order.
            Kernel::Columns { columns, run } => unsafe { run(columns, &row, &mut work.scratch) },
            Kernel::Direct { seams, run, .. } => {
                for term in &mut work.terms.constant {
                    term.row = work.rows[term.group];
                }
                for term in &mut work.terms.varying {
                    term.row = work.rows[term.group];
                }
                // SAFETY: the kernel was chosen for this processor's instructions, the rows are valid as `Row` says
                // (this function's condition), and every term has just been given its row and its coefficients.
                unsafe { run(&work.terms, seams, &row, &mut work.scratch) };
            }
        }
    }
}
