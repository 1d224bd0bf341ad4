//! Gets: each element from where its index says.

use crate::Execution;

use super::density::{Density, density};
use super::element::Element;
use super::indices::{Index, Indexing, Moves, range_of, read_index, with_indices};
use super::lines::{self, Scratch};
use super::parallel::in_parts;
use super::{PrimitiveError, View, finished};

/// Elements of a block.
const BLOCK: usize = 1024;

/// So many elements ahead their lines are fetched: into the second-level cache, which waits for more lines at once than
/// the first-level one does.
const AHEAD: usize = 128;

/// Sources of more bytes than this are not in a near cache: their lines are fetched ahead.
const NEAR: usize = 512 << 10;

/// Gives each selected element of `out` the element of `x` with the flat index in `index`; several may take the same one.
///
/// # Errors
///
/// An index of a selected element that `x` does not have (nothing is written then), an `index` of another length than
/// `out` or not of int32 or int64, an `out` of another type than `x`, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn gather<'a>(
    x: View,
    index: View,
    out: View,
    selection: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    // SAFETY: the memory of all views is what `View` says (this function's condition).
    let moves = unsafe { Moves::checked(x, index, out, out.length, selection, execution.into())? };
    with_indices(&index, Work { moves })
}

struct Work<'a> {
    moves: Moves<'a>,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index>(self) -> Result<(), PrimitiveError> {
        // SAFETY: the index's memory is what `View` says (a condition of `gather`, which made this), and `with_indices`
        // has chosen its type.
        let index = unsafe { self.moves.index.slice::<I>() };
        if range_of(index, self.moves.selection, self.moves.x.length, "source", self.moves.threads, self.moves.stop)?
            .is_none()
        {
            return Ok(());
        }
        // What is fetched need not be understood.
        match self.moves.x.kind.size() {
            1 => self.fetched::<u8, I>(index),
            2 => self.fetched::<u16, I>(index),
            4 => self.fetched::<u32, I>(index),
            _ => self.fetched::<u64, I>(index),
        }
        finished(self.moves.stop)
    }
}

impl Work<'_> {
    fn fetched<T: Element, I: Index>(&self, index: &[I]) {
        // SAFETY: the array's memory is what `View` says (a condition of `gather`); `T` is as large as its elements,
        // and any bits are an unsigned number.
        let x = unsafe { self.moves.x.elements::<T>() };
        let streaming = lines::passes_caches(self.moves.out.bytes() + self.moves.index.bytes());
        in_parts(index.len(), BLOCK, self.moves.threads, |part| {
            let mut room = Scratch::<{ BLOCK * 8 }>::new();
            let head = lines::before_line(self.target::<T>(part.start).cast(), size_of::<T>());
            let mut start = part.start;
            while start < part.end && !self.moves.stop.is_asked() {
                let end = part.end.min(start + if start == part.start && head > 0 { head } else { BLOCK });
                // SAFETY: the output's memory is what `View` says (a condition of `gather`), it has the elements of the
                // part, and parts are disjoint.
                unsafe {
                    if streaming {
                        self.block::<T, I>(x, index, start, end, room.pointer().cast());
                        lines::store_past_caches(
                            room.pointer(),
                            self.target::<T>(start).cast(),
                            (end - start) * size_of::<T>(),
                        );
                    } else {
                        self.block::<T, I>(x, index, start, end, self.target(start));
                    }
                }
                start = end;
            }
            lines::fence();
        });
    }

    fn target<T: Element>(&self, place: usize) -> *mut T {
        self.moves.out.pointer.cast::<T>().wrapping_add(place)
    }

    /// What the elements `start..end` of the output are to hold, at `target`.
    unsafe fn block<T: Element, I: Index>(&self, x: &[T], index: &[I], start: usize, end: usize, target: *mut T) {
        let far = std::mem::size_of_val(x) > NEAR;
        let all = self.moves.selection.0.is_none_or(|truths| density(&truths[start..end]) == Density::All);
        // SAFETY: `start..end` are elements of the index and of the selection, and `target` is valid for as many (this
        // function's condition).
        unsafe {
            match (all, far) {
                (true, true) => self.each::<T, I, true, true>(x, index, start, end, target),
                (true, false) => self.each::<T, I, true, false>(x, index, start, end, target),
                (false, true) => self.each::<T, I, false, true>(x, index, start, end, target),
                (false, false) => self.each::<T, I, false, false>(x, index, start, end, target),
            }
        }
    }

    #[inline(always)]
    unsafe fn each<T: Element, I: Index, const ALL: bool, const FAR: bool>(
        &self,
        x: &[T],
        index: &[I],
        start: usize,
        end: usize,
        target: *mut T,
    ) {
        let old = self.target::<T>(start);
        // There is one: `range_of` has found a selected index within the source.
        let last = x.len() - 1;
        for number in 0..end - start {
            let element = start + number;
            // SAFETY: elements of the output have an index each, and what is read of those is bounded by the source, as
            // they may have been written since they were checked; the target has room for the block.
            unsafe {
                if FAR {
                    let ahead = read_index(index.as_ptr(), (element + AHEAD).min(index.len() - 1));
                    weft_simd::prefetch_to_second(x.as_ptr().wrapping_add(ahead));
                }
                let value = *x.get_unchecked(read_index(index.as_ptr(), element).min(last));
                let value = if ALL || self.moves.selection.holds(element) { value } else { *old.add(number) };
                target.add(number).write(value);
            }
        }
    }
}
