//! Spreads: the elements at one index of an axis, at every index of it.

use weft_simd::{Dispatched, dispatch, on_threads};

use crate::{Execution, Stop};

use super::density::blend;
use super::element::Bool8;
use super::lines::{self, LINE};
use super::parallel::{part, threads_for};
use super::view::Selection;
use super::{Axis, PrimitiveError, View, finished};

/// Rows of fewer bytes are repeated into a pattern that is stored in one piece.
const SHORT: usize = 2048;

/// Lines of fewer bytes, of one element each, are stored by vectors that reach into the next line.
const SHORT_LINE: usize = 2048;

/// Bytes of such lines between looks at whether to stop, and of those that non-temporal stores write together.
const BLOCK: usize = 32 << 10;

/// Bytes of a vector.
const VECTOR: usize = 64;

/// Bytes of a row that are stored at all indices before those after them: a second-level cache holds them.
const PIECE: usize = 128 << 10;

/// Gives every element of `out` the element of `x` that has `index` along the axis and the same index otherwise.
/// Elements of `out` that are not selected keep what they hold; what is spread need not be selected.
///
/// # Errors
///
/// An index beyond the axis, arrays of other types or lengths, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn spread<'a>(
    x: View,
    out: View,
    axis: Axis,
    index: usize,
    selection: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    x.check_length("x", axis.length())?;
    out.check_length("out", axis.length())?;
    out.check_type("out", x.kind)?;
    x.check_apart("x", &out, "out")?;
    // SAFETY: the selection's memory is what `View` says (this function's condition).
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    if index >= axis.extent {
        return Err(PrimitiveError::Range { what: "index", value: index, last: axis.extent as isize - 1 });
    }
    if out.length == 0 {
        return Ok(());
    }
    let threads = threads_for(threads, out.bytes());
    let streaming = lines::passes_caches(out.bytes());
    let (item, row) = (x.kind.size(), axis.after * x.kind.size());
    let call = Call { x, out, axis, index, selection, streaming, item, row, stop };
    let rows = axis.before * axis.extent;
    on_threads(threads, |number| {
        // SAFETY: the memory of both views is what `View` says (this function's condition), types and lengths were
        // checked, and threads have rows or columns of their own.
        unsafe {
            if call.has_short_lines() {
                call.lines(part(axis.before, 1, number, threads));
            } else if rows >= threads {
                call.rows(part(rows, 1, number, threads), 0..call.row);
            } else {
                let columns = part(axis.after, LINE, number, threads);
                call.rows(0..rows, columns.start * call.item..columns.end * call.item);
            }
        }
        lines::fence();
    });
    finished(stop)
}

struct Call<'a> {
    x: View,
    out: View,
    axis: Axis,
    index: usize,
    selection: Selection<'a>,
    streaming: bool,
    /// Bytes of an element.
    item: usize,
    /// Bytes of the elements that differ in axes after this one only.
    row: usize,
    stop: Stop<'a>,
}

impl Call<'_> {
    /// Whether the lines along the axis are short, contiguous and all of one element.
    fn has_short_lines(&self) -> bool {
        self.axis.after == 1 && self.axis.extent * self.item < SHORT_LINE && self.selection.0.is_none()
    }

    /// Such lines of the output.
    unsafe fn lines(&self, lines: std::ops::Range<usize>) {
        // SAFETY: the lines are within both arrays, whose memory is what `View` says (a condition of `spread`, which made
        // this), and their elements are moved as bits, of their size.
        unsafe {
            match self.item {
                1 => self.lines_of::<u8>(lines),
                2 => self.lines_of::<u16>(lines),
                4 => self.lines_of::<u32>(lines),
                _ => self.lines_of::<u64>(lines),
            }
        }
    }

    unsafe fn lines_of<T: Copy>(&self, lines: std::ops::Range<usize>) {
        let extent = self.axis.extent;
        let at_once = (BLOCK / (extent * self.item)).max(1);
        let mut block = Vec::<T>::with_capacity(if self.streaming { at_once * extent } else { 0 });
        let mut first = lines.start;
        while first < lines.end && !self.stop.is_requested() {
            let count = at_once.min(lines.end - first);
            // SAFETY: the lines are within both arrays, and the block has memory for as many.
            unsafe {
                let source = self.x.pointer.cast::<T>().add(first * extent + self.index);
                let target = self.out.pointer.cast::<T>().add(first * extent);
                if self.streaming {
                    dispatch(Lines { source, target: block.as_mut_ptr(), extent, count });
                    lines::store_past_caches(block.as_ptr().cast(), target.cast(), count * extent * self.item);
                } else {
                    dispatch(Lines { source, target, extent, count });
                }
            }
            first += count;
        }
    }

    /// Rows of the output, of all before-axes and indices, and of each these bytes.
    unsafe fn rows(&self, rows: std::ops::Range<usize>, bytes: std::ops::Range<usize>) {
        let mut pattern = Vec::new();
        let mut start = rows.start;
        while start < rows.end && !bytes.is_empty() && !self.stop.is_requested() {
            // Rows that have the same source.
            let before = start / self.axis.extent;
            let end = rows.end.min((before + 1) * self.axis.extent);
            // SAFETY: rows are within both arrays.
            unsafe {
                let source = self.x.pointer.add((before * self.axis.extent + self.index) * self.row);
                match self.selection.0 {
                    Some(mask) => self.selected(source, start..end, bytes.clone(), mask),
                    None if self.row < SHORT => self.short(source, start..end, bytes.clone(), &mut pattern),
                    None => self.long(source, start..end, bytes.clone()),
                }
            }
            start = end;
        }
    }

    unsafe fn selected(
        &self,
        source: *const u8,
        rows: std::ops::Range<usize>,
        bytes: std::ops::Range<usize>,
        mask: &[Bool8],
    ) {
        let mut from = bytes.start;
        while from < bytes.end {
            let to = bytes.end.min(from + PIECE);
            for row in rows.clone().take_while(|_| !self.stop.is_requested()) {
                let first = row * self.axis.after;
                let mask = &mask[first + from / self.item..first + to / self.item];
                // SAFETY: `source` is a row of the input and `row` one of the output, of `self.row` bytes, within which
                // `from..to` lies; both are apart, and the mask bytes are those of these elements.
                unsafe { blend(source.add(from), self.out.pointer.add(row * self.row + from), mask, self.item) };
            }
            from = to;
        }
    }

    unsafe fn long(&self, source: *const u8, rows: std::ops::Range<usize>, bytes: std::ops::Range<usize>) {
        let mut from = bytes.start;
        while from < bytes.end {
            let to = bytes.end.min(from + PIECE);
            for row in rows.clone().take_while(|_| !self.stop.is_requested()) {
                // SAFETY: `source` is a row of the input and `row` one of the output, of `self.row` bytes, within which
                // `from..to` lies; both are apart.
                unsafe { self.store(source.add(from), self.out.pointer.add(row * self.row + from), to - from) };
            }
            from = to;
        }
    }

    unsafe fn short(
        &self,
        source: *const u8,
        rows: std::ops::Range<usize>,
        bytes: std::ops::Range<usize>,
        pattern: &mut Vec<u8>,
    ) {
        let width = bytes.len();
        if width < self.row {
            // SAFETY: `rows` has given a row of the input, rows of the output and bytes within them, which is what
            // `long` asks.
            return unsafe { self.long(source, rows, bytes) };
        }
        // A whole number of lines, so that pieces of the output begin alike.
        let length = width * LINE.min(rows.len());
        pattern.resize(length, 0);
        // SAFETY: `source` is a row of the input, of `width` bytes here, and the pattern was made longer than one.
        unsafe { std::ptr::copy_nonoverlapping(source, pattern.as_mut_ptr(), width) };
        let mut filled = width;
        while filled < length {
            let more = filled.min(length - filled);
            pattern.copy_within(..more, filled);
            filled += more;
        }
        let mut target = rows.start * self.row;
        let end = rows.end * self.row;
        while target < end && !self.stop.is_requested() {
            let count = length.min(end - target);
            // SAFETY: the pattern has `length` bytes, and `target` to `end` are those of rows of the output.
            unsafe { self.store(pattern.as_ptr(), self.out.pointer.add(target), count) };
            target += count;
        }
    }

    #[inline(always)]
    unsafe fn store(&self, source: *const u8, target: *mut u8, length: usize) {
        // SAFETY: `length` bytes are readable and writable, and apart: pieces of a row or of a pattern, and of the
        // output.
        unsafe {
            if self.streaming {
                lines::store_past_caches(source, target, length);
            } else {
                std::ptr::copy_nonoverlapping(source, target, length);
            }
        }
    }
}

/// Lines of which each is filled with one element.
struct Lines<T> {
    /// The element of the first line; those of the others are an extent apart.
    source: *const T,
    target: *mut T,
    extent: usize,
    count: usize,
}

impl<T: Copy> Dispatched for Lines<T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match VECTOR / size_of::<T>() {
            64 => self.by_vectors::<64>(),
            32 => self.by_vectors::<32>(),
            16 => self.by_vectors::<16>(),
            _ => self.by_vectors::<8>(),
        }
    }
}

impl<T: Copy> Lines<T> {
    #[inline(always)]
    fn by_vectors<const COUNT: usize>(self) {
        let Self { source, target, extent, count } = self;
        // What is stored beyond the end of a line is stored once more with the lines after it; the last have none.
        let apart = COUNT.div_ceil(extent);
        for line in 0..count.saturating_sub(apart) {
            // SAFETY: the line and as many after it as a vector is long are within the target, and so is the line's
            // element within the source (both are conditions of `Call::lines_of`, which made this).
            unsafe {
                let vector = [source.add(line * extent).read(); COUNT];
                let start = target.add(line * extent);
                let mut stored = 0;
                while stored < extent {
                    start.add(stored).cast::<[T; COUNT]>().write_unaligned(vector);
                    stored += COUNT;
                }
            }
        }
        for line in count.saturating_sub(apart)..count {
            // SAFETY: the line is within the target, and its element within the source (conditions of `Call::lines_of`,
            // which made this).
            unsafe {
                let element = source.add(line * extent).read();
                for index in 0..extent {
                    target.add(line * extent + index).write(element);
                }
            }
        }
    }
}
