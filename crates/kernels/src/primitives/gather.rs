//! Gets: each element from where its index says.

#[cfg(target_arch = "x86_64")]
mod vectors;

#[cfg(target_arch = "x86_64")]
use weft_simd::{Level, level};

use crate::Execution;

use super::density::{Density, density};
use super::element::Element;
use super::indices::{AHEAD, BLOCK, Block, Checked, Index, Indexing, Moves, with_indices};
use super::lines::{self, Scratch};
use super::parallel::in_parts;
use super::{PrimitiveError, View, finished};

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

/// Whether elements of this type are fetched by vectors of indices.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn reads_vectors<T>() -> bool {
    size_of::<T>() >= 4 && level() == Level::Avx512
}

struct Work<'a> {
    moves: Moves<'a>,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index>(self) -> Result<(), PrimitiveError> {
        // SAFETY: the index's memory is what `View` says (a condition of `gather`, which made this), and `with_indices`
        // has chosen its type.
        let checked = unsafe { Checked::<I>::new(&self.moves, self.moves.x.length, "source", None)? };
        let Some(index) = checked else { return Ok(()) };
        // What is fetched need not be understood.
        match self.moves.x.kind.size() {
            1 => self.fetched::<u8, I>(&index),
            2 => self.fetched::<u16, I>(&index),
            4 => self.fetched::<u32, I>(&index),
            _ => self.fetched::<u64, I>(&index),
        }
        finished(self.moves.stop)
    }
}

impl Work<'_> {
    fn fetched<T: Element, I: Index>(&self, index: &Checked<'_, I>) {
        // SAFETY: the array's memory is what `View` says (a condition of `gather`); `T` is as large as its elements,
        // and any bits are an unsigned number.
        let x = unsafe { self.moves.x.elements::<T>() };
        let streaming = lines::passes_caches(self.moves.out.bytes() + self.moves.index.bytes());
        in_parts(self.moves.out.length, BLOCK, self.moves.threads, |part| {
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

    /// What the elements `start..end` of the output, a block at most, are to hold, at `target`.
    ///
    /// # Safety
    ///
    /// They are elements of the output, and `target` is valid for as many; `x` has what indices were checked for.
    unsafe fn block<T: Element, I: Index>(
        &self,
        x: &[T],
        index: &Checked<'_, I>,
        start: usize,
        end: usize,
        target: *mut T,
    ) {
        let far = std::mem::size_of_val(x) > NEAR;
        let truths = self.moves.selection.part(start, end).0.filter(|truths| density(truths) != Density::All);
        #[cfg(target_arch = "x86_64")]
        if !far && reads_vectors::<T>() {
            // SAFETY: the level says that the processor has AVX-512; `x` has an element, as an index was found to be one
            // of its, and the output those from `start` on; `target` is valid for as many (this function's condition).
            return unsafe {
                vectors::gather_512(x, index.shared.part(start..end), truths, self.target(start), target)
            };
        }
        let mut room = Block::new();
        let with_ahead = if far { self.moves.out.length.min(end + AHEAD) } else { end };
        let index = index.block(start..with_ahead, &mut room);
        let all = truths.is_none();
        // SAFETY: `start..end` are elements of the output, and `target` is valid for as many (this function's condition);
        // no index of the copy is beyond the source.
        unsafe {
            match (all, far) {
                (true, true) => self.each::<T, true, true>(x, index, start, end, target),
                (true, false) => self.each::<T, true, false>(x, index, start, end, target),
                (false, true) => self.each::<T, false, true>(x, index, start, end, target),
                (false, false) => self.each::<T, false, false>(x, index, start, end, target),
            }
        }
    }

    /// # Safety
    ///
    /// As of [`Work::block`]; `index` has those of `start..end` first, all below the length of `x`.
    #[inline(always)]
    unsafe fn each<T: Element, const ALL: bool, const FAR: bool>(
        &self,
        x: &[T],
        index: &[usize],
        start: usize,
        end: usize,
        target: *mut T,
    ) {
        let count = end - start;
        let old = self.target::<T>(start);
        for number in 0..count {
            if FAR {
                let ahead = index[(number + AHEAD).min(index.len() - 1)];
                weft_simd::prefetch_to_second(x.as_ptr().wrapping_add(ahead));
            }
            // SAFETY: elements of the output have an index each, of a copy that nobody else can write, which the source
            // has; the target has room for the block.
            unsafe {
                let value = *x.get_unchecked(*index.get_unchecked(number));
                let value = if ALL || self.moves.selection.holds(start + number) { value } else { *old.add(number) };
                target.add(number).write(value);
            }
        }
    }
}
