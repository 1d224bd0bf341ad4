//! Reductions along an axis: what each line comes to, at all of its elements.
//!
//! The order of combination is fixed by the indices of the elements, as everywhere here. Along the last axis a line is
//! combined as a whole array is ([`reduce`](super::reduce::reduce)), or, if it is short, one element after another.
//! Along others rows of elements with one index are combined one after another, for all lines at once; where rows are
//! short, several of them are taken as one, and what these come to is combined last. Where lines are so short that each of
//! these costs more to begin than to do, they are combined by [windows](super::windows).

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_simd::{Dispatched, dispatch, level, on_threads};

use crate::{Execution, Stop};

use super::combination::{Add, Combine, Combining, Ior, Multiply, with_combination};
use super::element::{Bool8, Element};
use super::lines;
use super::parallel::threads_for;
use super::reduce::{CHUNK, combined_line, reduced};
use super::view::Selection;
use super::windows::{self, Buffer, GROUP, Rows};
use super::{Axis, Combination, ElementType, PrimitiveError, View, finished};

/// Elements of a line along the last axis below which lines are combined one element after another, several lines at a
/// time: the lanes of a longer one take longer to be put together than this.
const SHORT: usize = 48;

/// Bytes of a line along the last axis up to which it is combined by windows, where the order makes a difference.
const WINDOWS_ROUNDED: usize = 32;

/// Bytes of all lines of a plane, along another axis, up to which they are.
const WINDOWS_ROUNDED_PLANE: usize = 1024;

/// So many short lines at a time, so that none waits for its own last result.
const TOGETHER: usize = 8;

/// Columns that are combined at once; what they come to stays in the first-level cache.
const COLUMNS: usize = 1024;

/// No fewer columns than this are combined at once where threads have too few tasks otherwise: whole lines of the cache,
/// one after another.
const MIN_COLUMNS: usize = 128;

/// Of more tasks for each thread than this none is idle for long at the end.
const TASKS_EACH: usize = 8;

/// Rows of fewer elements are taken several at a time, up to so many elements.
const NARROW: usize = 64;

/// So many times several rows are there at least where they are taken as one.
const TIMES: usize = 4;

/// Elements that a thread is given at a time, about.
const TASK: usize = 1 << 16;

/// Combines the selected elements of each line of `x` along an axis, and gives what they come to to all elements of the
/// line in `out`, whoever is selected. Sums and products of integers have 64 bits and wrap around, as has the number of
/// true booleans that is their sum: `out` is of int64 or uint64 then, and else of the type of `x`. A line of which nothing
/// is selected comes to what changes nothing: 0, 1, all bits, the smallest or largest value of the type (minus or plus
/// infinity). Returns how many lines that are, if the combination is the largest or the smallest; else 0. Lines of no
/// elements are none.
///
/// # Errors
///
/// A type without the combination, arrays of other types or lengths, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
///
/// # Examples
/// ```
/// use weft_kernels::primitives::{Axis, Combination, ElementType, View, reduce_axis};
///
/// let (mut x, mut largest) = ([3_i32, 1, 4, 1, 5, 9], [0_i32; 6]);
/// let view = |pointer: *mut i32| View { kind: ElementType::Int32, pointer: pointer.cast(), length: 6 };
/// let (x, out) = (view(x.as_mut_ptr()), view(largest.as_mut_ptr()));
/// let axis = Axis::of(&[2, 3], 1).unwrap();
/// // SAFETY: the views are of arrays that outlive the call.
/// unsafe { reduce_axis(x, out, Combination::Max, axis, None, Some(1)) }.unwrap();
/// assert_eq!(largest, [4, 4, 4, 9, 9, 9]);
/// ```
pub unsafe fn reduce_axis<'a>(
    x: View,
    out: View,
    combination: Combination,
    axis: Axis,
    selection: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<usize, PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    x.check_length("x", axis.length())?;
    out.check_length("out", axis.length())?;
    x.check_apart("x", &out, "out")?;
    // SAFETY: the selection's memory is what `View` says (this function's condition).
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    out.check_type("out", type_of_total(x.kind, combination))?;
    let bytes = x.bytes() + out.bytes();
    let extreme = matches!(combination, Combination::Max | Combination::Min);
    let work = Work {
        x,
        out,
        axis,
        selection,
        threads: threads_for(threads, bytes),
        streaming: lines::passes_caches(bytes),
        counts_empty: extreme && selection.0.is_some(),
        stop,
    };
    macro_rules! of_numbers {
        ($combination:ident, $type:ident, $total:ident, $convert:expr) => {
            work.lines::<$type, $total, $combination>($convert)
        };
    }
    macro_rules! number {
        ($combination:ident, $of_others:expr) => {
            match x.kind {
                ElementType::Int8 => of_numbers!($combination, i8, i64, i64::from),
                ElementType::Int16 => of_numbers!($combination, i16, i64, i64::from),
                ElementType::Int32 => of_numbers!($combination, i32, i64, i64::from),
                ElementType::Uint8 => of_numbers!($combination, u8, u64, u64::from),
                ElementType::Uint16 => of_numbers!($combination, u16, u64, u64::from),
                ElementType::Uint32 => of_numbers!($combination, u32, u64, u64::from),
                _ => $of_others,
            }
        };
    }
    let alike = || with_combination(x.kind, combination, &work);
    let empty = match (combination, x.kind) {
        (Combination::Add, ElementType::Bool) => of_numbers!(Add, Bool8, i64, |x| x.holds().into()),
        (Combination::Add, _) => number!(Add, alike()?),
        (Combination::Multiply, _) => number!(Multiply, alike()?),
        _ => alike()?,
    };
    finished(stop).map(|()| empty)
}

/// How many columns of so many a task has, of each of so many groups of planes: [`COLUMNS`], or fewer where tasks would not
/// be divided evenly among threads, of which three strips for two threads leave one idle for a third of the time.
fn columns_each(after: usize, groups: usize, threads: usize) -> usize {
    let tasks = groups * after.div_ceil(COLUMNS);
    if tasks >= TASKS_EACH * threads || after < 2 * NARROW {
        return COLUMNS;
    }
    let strips = tasks.next_multiple_of(threads).div_ceil(groups);
    after.div_ceil(strips).next_multiple_of(MIN_COLUMNS).min(COLUMNS)
}

/// The type of what elements come to.
fn type_of_total(kind: ElementType, combination: Combination) -> ElementType {
    use ElementType as Of;
    match (combination, kind) {
        (Combination::Add, Of::Bool) => Of::Int64,
        (Combination::Add | Combination::Multiply, Of::Int8 | Of::Int16 | Of::Int32) => Of::Int64,
        (Combination::Add | Combination::Multiply, Of::Uint8 | Of::Uint16 | Of::Uint32) => Of::Uint64,
        _ => kind,
    }
}

/// A reduction whose arrays have been checked.
struct Work<'a> {
    x: View,
    out: View,
    axis: Axis,
    selection: Selection<'a>,
    threads: usize,
    streaming: bool,
    counts_empty: bool,
    stop: Stop<'a>,
}

impl Combining for &Work<'_> {
    type Output = usize;
    fn run<T: Element, C: Combine<T>>(self) -> usize {
        self.lines::<T, T, C>(|x| x)
    }
}

impl Work<'_> {
    /// All lines, each element widened first; of how many nothing is selected, if that is counted.
    fn lines<T: Element, W: Element, C: Combine<W>>(&self, widen: impl Fn(T) -> W + Copy + Sync) -> usize {
        if self.out.length == 0 {
            return 0;
        }
        if self.is_short::<W, C>() {
            return self.along_short::<T, W, C>(widen);
        }
        if self.axis.after == 1 { self.along_the_last::<T, W, C>(widen) } else { self.along_another::<T, W, C>(widen) }
    }

    /// Whether lines are combined by windows, by what was measured (benchmark `pvar-axes`, an AMD EPYC).
    fn is_short<W: Element, C: Combine<W>>(&self) -> bool {
        let (Axis { extent, after, .. }, item) = (self.axis, size_of::<W>());
        // Of floats the same for all processors too: among zeros of both signs the first is kept only in order.
        let is_float = matches!(W::TYPE, ElementType::Float32 | ElementType::Float64);
        let register = if is_float { lines::LINE } else { level().register_bytes() };
        let plane = extent * after;
        if plane > windows::PLANE {
            return false;
        }
        if !C::ASSOCIATIVE {
            // The same for all processors and selections, since the order of combination depends on it.
            return plane * item <= if after == 1 { WINDOWS_ROUNDED } else { WINDOWS_ROUNDED_PLANE };
        }
        if after > 1 {
            return plane * item <= 16 * register;
        }
        extent < SHORT && 2 * extent * item <= if self.selection.0.is_some() { 6 * register } else { 3 * register }
    }

    fn along_short<T: Element, W: Element, C: Combine<W>>(&self, widen: impl Fn(T) -> W + Copy + Sync) -> usize {
        let Axis { before, extent, after } = self.axis;
        let some = (TASK / (extent * after)).max(1);
        self.tasks(before.div_ceil(some), |task| {
            let planes = task * some..before.min((task + 1) * some);
            dispatch(Planes { work: self, planes, widen, combination: PhantomData::<(T, W, C)> })
        })
    }

    fn along_the_last<T: Element, W: Element, C: Combine<W>>(&self, widen: impl Fn(T) -> W + Copy + Sync) -> usize {
        let extent = self.axis.extent;
        let some = (TASK / extent).max(TOGETHER);
        self.tasks(self.axis.before.div_ceil(some), |task| {
            let rows = task * some..self.axis.before.min((task + 1) * some);
            if extent <= CHUNK {
                return dispatch(LastAxis { work: self, rows, widen, combination: PhantomData::<(T, W, C)> });
            }
            let mut empty = 0;
            for row in rows {
                let selection = self.selection.part(row * extent, (row + 1) * extent);
                // SAFETY: the row is within the array, whose elements are of type `T`.
                let x = unsafe { std::slice::from_raw_parts(self.source::<T>().add(row * extent), extent) };
                empty += usize::from(self.is_empty(selection));
                let total = reduced::<T, W, C>(x, selection, 1, self.stop, widen);
                // SAFETY: the row is within the output, whose elements are of type `W`, and no other task has it.
                unsafe { self.fill(row * extent, extent, total) };
            }
            empty
        })
    }

    fn along_another<T: Element, W: Element, C: Combine<W>>(&self, widen: impl Fn(T) -> W + Copy + Sync) -> usize {
        let Axis { before, extent, after } = self.axis;
        let some = (TASK / (extent * after)).max(1);
        // Long rows of what no cache holds come faster in long strips than threads gain by equal shares.
        let columns = if self.streaming { COLUMNS } else { columns_each(after, before.div_ceil(some), self.threads) };
        let strips = after.div_ceil(columns);
        let several = if after < NARROW { (NARROW / after).min(extent / TIMES).max(1) } else { 1 };
        self.tasks(before.div_ceil(some) * strips, |task| {
            let (group, first) = (task / strips, task % strips * columns);
            let columns = first..after.min(first + columns);
            let planes = group * some..before.min((group + 1) * some);
            dispatch(Columns { work: self, planes, columns, several, widen, combination: PhantomData::<(T, W, C)> })
        })
    }

    /// Runs tasks, whose results are added.
    fn tasks(&self, count: usize, task: impl Fn(usize) -> usize + Sync) -> usize {
        let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
        on_threads(self.threads.min(count), |_| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count || self.stop.is_requested() {
                    break;
                }
                sum.fetch_add(task(number), Ordering::Relaxed);
            }
            lines::fence();
        });
        sum.into_inner()
    }

    /// Whether nothing is selected, where that is counted.
    #[inline(always)]
    fn is_empty(&self, selection: Selection<'_>) -> bool {
        self.counts_empty && selection.0.is_some_and(|mask| !mask.iter().fold(false, |any, one| any | one.holds()))
    }

    fn source<T>(&self) -> *const T {
        self.x.pointer.cast_const().cast()
    }

    /// Gives a value to elements of the output.
    ///
    /// # Safety
    ///
    /// They are within the output, of type `W`, and nobody else uses them.
    #[inline(always)]
    unsafe fn fill<W: Element>(&self, start: usize, length: usize, value: W) {
        // SAFETY: the elements are within the output and ours (this function's condition).
        let out = unsafe { std::slice::from_raw_parts_mut(self.out.pointer.cast::<W>().add(start), length) };
        if !self.streaming {
            out.fill(value);
            return;
        }
        let values = [value; NARROW];
        for piece in out.chunks_mut(NARROW) {
            // SAFETY: a piece has no more elements than there are values, which are apart from it.
            unsafe {
                lines::store_past_caches(values.as_ptr().cast(), piece.as_mut_ptr().cast(), size_of_val(piece));
            }
        }
    }
}

/// Short lines of some planes.
struct Planes<'a, F, C> {
    work: &'a Work<'a>,
    planes: std::ops::Range<usize>,
    widen: F,
    combination: PhantomData<C>,
}

impl<T: Element, W: Element, C: Combine<W>, F: Fn(T) -> W + Copy> Dispatched for Planes<'_, F, (T, W, C)> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let Axis { extent, after, .. } = self.work.axis;
        let plane = extent * after;
        let (mut elements, mut one, mut other, mut out) = (Buffer::new(), Buffer::new(), Buffer::new(), Buffer::new());
        let elements = elements.filled(C::IDENTITY);
        let (one, other, out) = (one.filled(C::IDENTITY), other.filled(C::IDENTITY), out.filled(C::IDENTITY));
        let mut marks = self.work.counts_empty.then(|| [Buffer::new(), Buffer::new(), Buffer::new()]);
        let mut marks = marks.as_mut().map(|buffers| buffers.each_mut().map(|one| one.filled(Bool8::SMALLEST)));
        let at_once = windows::block(size_of::<W>()) / plane;
        let mut empty = 0;
        for first in self.planes.clone().step_by(at_once) {
            if self.work.stop.is_requested() {
                break;
            }
            let planes = at_once.min(self.planes.end - first);
            let (start, length) = (first * plane, planes * plane);
            // SAFETY: the planes are within the array, whose elements are of type `T`.
            let x = unsafe { std::slice::from_raw_parts(self.work.source::<T>().add(start), length) };
            let selection = self.work.selection.part(start, start + length);
            self.load(x, selection, &mut elements[..length]);
            let groups = length.div_ceil(GROUP);
            let totals = windows::windows::<W, C>(elements, [one, other], extent, after, groups);
            windows::spread(totals, out, Rows { planes, rows: extent, row: after * size_of::<W>() });
            // SAFETY: the planes are within the output, whose elements are of type `W`, and no other task has them.
            unsafe {
                let target = self.work.out.pointer.cast::<W>().add(start);
                if self.work.streaming {
                    lines::store_past_caches(out.as_ptr().cast(), target.cast(), length * size_of::<W>());
                } else {
                    std::ptr::copy_nonoverlapping(out.as_ptr(), target, length);
                }
            }
            if let (Some(mask), Some([selected, one, other])) = (selection.0, &mut marks) {
                selected[..length].copy_from_slice(mask);
                let any = windows::windows::<Bool8, Ior>(selected, [one, other], extent, after, groups);
                empty += self.empty(&any[..length]);
            }
        }
        empty
    }
}

impl<T: Element, W: Element, C: Combine<W>, F: Fn(T) -> W + Copy> Planes<'_, F, (T, W, C)> {
    /// Elements as they are combined: those that are not selected are what changes nothing.
    #[inline(always)]
    fn load(&self, x: &[T], selection: Selection<'_>, elements: &mut [W]) {
        match selection.0 {
            None => {
                for (element, &x) in elements.iter_mut().zip(x) {
                    *element = C::combine(C::IDENTITY, (self.widen)(x));
                }
            }
            Some(mask) => {
                for ((element, &x), holds) in elements.iter_mut().zip(x).zip(mask) {
                    let x = (self.widen)(x);
                    *element = C::combine(C::IDENTITY, if holds.holds() { x } else { C::IDENTITY });
                }
            }
        }
    }

    /// How many lines nothing is selected of, where planes begin with whether something is.
    #[inline(always)]
    fn empty(&self, any: &[Bool8]) -> usize {
        let Axis { extent, after, .. } = self.work.axis;
        let begins = &any[..any.len() - (extent - 1) * after];
        // Mostly not even a window that belongs to no line is empty.
        if begins.iter().fold(true, |all, one| all & one.holds()) {
            return 0;
        }
        let lines = begins.chunks(extent * after).flat_map(|plane| &plane[..after]);
        lines.filter(|line| !line.holds()).count()
    }
}

/// Lines along the last axis, of at most [`CHUNK`] elements.
struct LastAxis<'a, F, C> {
    work: &'a Work<'a>,
    rows: std::ops::Range<usize>,
    widen: F,
    combination: PhantomData<C>,
}

impl<T: Element, W: Element, C: Combine<W>, F: Fn(T) -> W + Copy> Dispatched for LastAxis<'_, F, (T, W, C)> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let (work, widen) = (self.work, self.widen);
        let extent = work.axis.extent;
        let (mut row, end, mut empty) = (self.rows.start, self.rows.end, 0);
        if extent < SHORT {
            while row + TOGETHER <= end {
                empty += self.together::<TOGETHER>(row);
                row += TOGETHER;
            }
            while row < end {
                empty += self.together::<1>(row);
                row += 1;
            }
            return empty;
        }
        while row < end {
            let selection = work.selection.part(row * extent, (row + 1) * extent);
            // SAFETY: the row is within the array, whose elements are of type `T`.
            let x = unsafe { std::slice::from_raw_parts(work.source::<T>().add(row * extent), extent) };
            empty += usize::from(work.is_empty(selection));
            let total = combined_line::<T, W, C>(x, selection, widen);
            // SAFETY: the row is within the output, whose elements are of type `W`, and no other task has it.
            unsafe { work.fill(row * extent, extent, total) };
            row += 1;
        }
        empty
    }
}

impl<T: Element, W: Element, C: Combine<W>, F: Fn(T) -> W + Copy> LastAxis<'_, F, (T, W, C)> {
    /// Some short rows, from this one on.
    #[inline(always)]
    fn together<const COUNT: usize>(&self, row: usize) -> usize {
        let extent = self.work.axis.extent;
        let first = row * extent;
        let mut totals = [C::IDENTITY; COUNT];
        let mut empty = 0;
        // SAFETY: the rows are within the array, whose elements are of type `T`.
        let x = unsafe { std::slice::from_raw_parts(self.work.source::<T>().add(first), COUNT * extent) };
        match self.work.selection.part(first, first + COUNT * extent).0 {
            None => {
                for index in 0..extent {
                    for (line, total) in totals.iter_mut().enumerate() {
                        *total = C::combine(*total, (self.widen)(x[line * extent + index]));
                    }
                }
            }
            Some(mask) => {
                let mut any = [false; COUNT];
                for index in 0..extent {
                    for line in 0..COUNT {
                        let holds = mask[line * extent + index].holds();
                        let value = (self.widen)(x[line * extent + index]);
                        totals[line] = C::combine(totals[line], if holds { value } else { C::IDENTITY });
                        any[line] |= holds;
                    }
                }
                empty = any.iter().filter(|&&one| self.work.counts_empty && !one).count();
            }
        }
        for (line, &total) in totals.iter().enumerate() {
            // SAFETY: the rows are within the output, whose elements are of type `W`, and no other task has them.
            unsafe { self.work.fill(first + line * extent, extent, total) };
        }
        empty
    }
}

/// Lines along another axis: columns of some planes, of which `several` rows are taken as one.
struct Columns<'a, F, C> {
    work: &'a Work<'a>,
    planes: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    several: usize,
    widen: F,
    combination: PhantomData<C>,
}

impl<T: Element, W: Element, C: Combine<W>, F: Fn(T) -> W + Copy> Dispatched for Columns<'_, F, (T, W, C)> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let Axis { extent, after, .. } = self.work.axis;
        let (width, several) = (self.columns.len(), self.several);
        let (mut totals, mut any) = ([C::IDENTITY; COLUMNS], [0_u8; COLUMNS]);
        let (totals, any) = (&mut totals[..width * several], &mut any[..width * several]);
        let mut empty = 0;
        for plane in self.planes.clone() {
            totals.fill(C::IDENTITY);
            any.fill(0);
            let start = plane * extent * after + self.columns.start;
            let whole = extent - extent % several;
            for index in (0..whole).step_by(several) {
                if self.work.stop.is_requested() {
                    return empty;
                }
                self.add(start + index * after, totals, any);
            }
            if whole < extent {
                let rest = (extent - whole) * width;
                self.add(start + whole * after, &mut totals[..rest], &mut any[..rest]);
            }
            for other in 1..several {
                for column in 0..width {
                    totals[column] = C::combine(totals[column], totals[other * width + column]);
                    any[column] |= any[other * width + column];
                }
            }
            if self.work.counts_empty {
                empty += any[..width].iter().filter(|&&one| one == 0).count();
            }
            // SAFETY: no other task has these columns of the plane.
            unsafe { self.store(start, &totals[..width]) };
        }
        empty
    }
}

impl<T: Element, W: Element, C: Combine<W>, F: Fn(T) -> W + Copy> Columns<'_, F, (T, W, C)> {
    /// Combines the totals with as many elements, from this one on.
    #[inline(always)]
    fn add(&self, start: usize, totals: &mut [W], any: &mut [u8]) {
        let length = totals.len();
        // SAFETY: the elements are within the array, whose elements are of type `T`: those of a row, or of several whole
        // ones.
        let x = unsafe { std::slice::from_raw_parts(self.work.source::<T>().add(start), length) };
        match self.work.selection.part(start, start + length).0 {
            None => {
                for index in 0..length {
                    totals[index] = C::combine(totals[index], (self.widen)(x[index]));
                }
            }
            Some(mask) => {
                for index in 0..length {
                    let holds = mask[index].holds();
                    let value = (self.widen)(x[index]);
                    totals[index] = C::combine(totals[index], if holds { value } else { C::IDENTITY });
                }
                if self.work.counts_empty {
                    for index in 0..length {
                        any[index] |= u8::from(mask[index].holds());
                    }
                }
            }
        }
    }

    /// Gives the totals to the rows of all indices.
    ///
    /// # Safety
    ///
    /// Nobody else uses these elements.
    #[inline(always)]
    unsafe fn store(&self, start: usize, totals: &[W]) {
        let Axis { extent, after, .. } = self.work.axis;
        let (width, item) = (totals.len(), size_of::<W>());
        // SAFETY: rows are within the output, whose elements are of type `W`; what is copied within it does not overlap.
        unsafe {
            let out = self.work.out.pointer.cast::<W>().add(start);
            if self.work.streaming {
                for index in 0..extent {
                    lines::store_past_caches(totals.as_ptr().cast(), out.add(index * after).cast(), width * item);
                }
                return;
            }
            if width < after || width * item >= NARROW * 8 {
                for index in 0..extent {
                    std::ptr::copy_nonoverlapping(totals.as_ptr(), out.add(index * after), width);
                }
                return;
            }
            // Short rows, of all columns: what is there is copied behind itself.
            std::ptr::copy_nonoverlapping(totals.as_ptr(), out, width);
            let mut stored = 1;
            while stored < extent {
                let more = stored.min(extent - stored);
                std::ptr::copy_nonoverlapping(out.cast_const(), out.add(stored * width), more * width);
                stored += more;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_has_a_task_more_than_others_where_there_are_few() {
        for (after, groups, threads) in [(1000, 1, 2), (2999, 1, 2), (4096, 1, 3), (1000, 3, 2), (1025, 1, 1)] {
            let columns = columns_each(after, groups, threads);
            let tasks = groups * after.div_ceil(columns);
            assert!(tasks.is_multiple_of(threads), "{tasks} tasks of {columns} columns for {threads} threads");
        }
        // Short rows are for one task, and so are those that have not enough for each thread.
        assert_eq!(columns_each(2 * NARROW - 1, 1, 2), COLUMNS);
        assert_eq!(columns_each(1000, 1, 64), MIN_COLUMNS);
        assert_eq!(columns_each(1000, 100, 2), COLUMNS);
    }
}
