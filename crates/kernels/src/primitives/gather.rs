//! Gets: each element from where its index says.

#[cfg(target_arch = "x86_64")]
mod vectors;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_arch = "x86_64")]
use weft_simd::{Level, level};

use crate::Execution;

use super::density::{Density, density};
use super::element::Element;
use super::indices::{
    AHEAD, BLOCK, Block, Checked, Copied, Index, IndexRange, Indexing, Moves, PORTION, SharedIndices, with_indices,
};
use super::lines::{self, Scratch};
use super::parallel::in_parts;
use super::{OnError, PrimitiveError, View, finished};

/// Sources of more bytes than this are in no cache: their lines are fetched ahead. Of nearer ones a processor has enough
/// loads in flight by itself, and hints only take slots of them.
const NEAR: usize = 16 << 20;

/// Gives each selected element of `out` the element of `x` with the flat index in `index`; several may take the same one.
///
/// # Errors
///
/// An index of a selected element that `x` does not have (what `out` holds then, `on_error` says), an `index` of another
/// length than `out` or not of int32 or int64, an `out` of another type than `x`, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn gather<'a>(
    x: View,
    index: View,
    out: View,
    selection: Option<&View>,
    on_error: OnError,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    // SAFETY: the memory of all views is what `View` says (this function's condition).
    let moves = unsafe { Moves::checked(x, index, out, out.length, selection, execution.into())? };
    with_indices(&index, Work { moves, on_error })
}

/// Whether selected elements of this type are fetched by vectors of indices. Where all are, a loop over elements is the
/// faster: an instruction that gathers loads them one by one, and takes more besides.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn reads_vectors<T>() -> bool {
    size_of::<T>() >= 4 && level() == Level::Avx512
}

struct Work<'a> {
    moves: Moves<'a>,
    on_error: OnError,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index>(self) -> Result<(), PrimitiveError> {
        if self.on_error == OnError::Clobber && self.moves.x.length > 0 {
            // SAFETY: the index's memory is what `View` says (a condition of `gather`, which made this), and `with_indices`
            // has chosen its type.
            let shared = unsafe { SharedIndices::<I>::new(&self.moves.index) };
            let unchecked = Checked { shared, range: IndexRange { low: 0, high: self.moves.x.length - 1 } };
            if self.fetched::<I, true>(&unchecked) {
                return finished(self.moves.stop);
            }
            // Which one is out of range is said by the check of all.
        }
        // SAFETY: the index's memory is what `View` says (a condition of `gather`, which made this), and `with_indices`
        // has chosen its type.
        let checked = unsafe { Checked::<I>::new(&self.moves, self.moves.x.length, "source", false)? };
        let Some(index) = checked else { return Ok(()) };
        self.fetched::<I, false>(&index);
        finished(self.moves.stop)
    }
}

impl Work<'_> {
    /// Fetches all selected elements; with `CHECK` false where an index was seen to be out of range, with some fetched.
    fn fetched<I: Index, const CHECK: bool>(&self, index: &Checked<'_, I>) -> bool {
        // What is fetched need not be understood.
        match self.moves.x.kind.size() {
            1 => self.fetched_as::<u8, I, CHECK>(index),
            2 => self.fetched_as::<u16, I, CHECK>(index),
            4 => self.fetched_as::<u32, I, CHECK>(index),
            _ => self.fetched_as::<u64, I, CHECK>(index),
        }
    }

    fn fetched_as<T: Element, I: Index, const CHECK: bool>(&self, index: &Checked<'_, I>) -> bool {
        // SAFETY: the array's memory is what `View` says (a condition of `gather`); `T` is as large as its elements,
        // and any bits are an unsigned number.
        let x = unsafe { self.moves.x.elements::<T>() };
        let streaming = lines::passes_caches(self.moves.out.bytes() + self.moves.index.bytes());
        let is_beyond = AtomicBool::new(false);
        let is_near = std::mem::size_of_val(x) <= NEAR;
        if CHECK && is_near && !streaming && self.moves.selection.0.is_none() {
            in_parts(self.moves.out.length, BLOCK, self.moves.threads, |part| {
                // SAFETY: the output has the elements of the part, as the index has, and parts are disjoint.
                if !unsafe { self.fetched_below(x, index.shared, part) } {
                    is_beyond.store(true, Ordering::Relaxed);
                }
            });
            return !is_beyond.into_inner();
        }
        in_parts(self.moves.out.length, BLOCK, self.moves.threads, |part| {
            let mut buffer = Scratch::<{ BLOCK * 8 }>::new();
            // Streaming stores are of whole lines.
            let target = self.target::<T>(part.start).cast();
            let head = if streaming { lines::before_line(target, size_of::<T>()) } else { 0 };
            let mut start = part.start;
            while start < part.end && !self.moves.stop.is_requested() {
                let end = part.end.min(start + if start == part.start && head > 0 { head } else { BLOCK });
                if CHECK && (is_beyond.load(Ordering::Relaxed) || !self.are_of(x, index, start..end)) {
                    is_beyond.store(true, Ordering::Relaxed);
                    break;
                }
                // SAFETY: the output's memory is what `View` says (a condition of `gather`), it has the elements of the
                // part, and parts are disjoint.
                unsafe {
                    if streaming {
                        self.block::<T, I>(x, index, start, end, buffer.pointer().cast());
                        lines::store_past_caches(
                            buffer.pointer(),
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
        !is_beyond.into_inner()
    }

    /// Fetches some elements up to the first whose index is out of range; whether there is none. A branch for each that is
    /// always predicted leaves more loads in flight than a look at a block first and a bound for each.
    ///
    /// # Safety
    ///
    /// The output and the index have the elements, and nobody else writes them.
    #[inline(never)]
    unsafe fn fetched_below<T: Element, I: Index>(
        &self,
        x: &[T],
        index: SharedIndices<'_, I>,
        elements: Range<usize>,
    ) -> bool {
        let target = self.target::<T>(0);
        elements.clone().step_by(PORTION).take_while(|_| !self.moves.stop.is_requested()).all(|start| {
            let end = elements.end.min(start + PORTION);
            index.all_below::<4>(start..end, x.len(), |element, index| {
                // SAFETY: the output has the element (this function's condition), and `x` the index.
                unsafe { target.add(element).write(*x.get_unchecked(index)) };
            })
        })
    }

    /// Whether the selected indices of some elements are of elements of `x`, as they are now: a look at a block that its
    /// fetches find in the first-level cache.
    fn are_of<T, I: Index>(&self, x: &[T], index: &Checked<'_, I>, elements: Range<usize>) -> bool {
        let mask = self.moves.selection.part(elements.start, elements.end).0;
        index.shared.range::<false>(elements, mask).high < x.len()
    }

    fn target<T: Element>(&self, element: usize) -> *mut T {
        self.moves.out.pointer.cast::<T>().wrapping_add(element)
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
        let mask = self.moves.selection.part(start, end).0.filter(|mask| density(mask) != Density::All);
        #[cfg(target_arch = "x86_64")]
        if !far && mask.is_some() && reads_vectors::<T>() {
            // SAFETY: the level says that the processor has AVX-512; `x` has an element, as an index was found to be one
            // of its, and the output those from `start` on; `target` is valid for as many (this function's condition).
            return unsafe { vectors::gather_512(x, index.shared.part(start..end), mask, self.target(start), target) };
        }
        // SAFETY: `start..end` are elements of the output, which have an index each, and `target` is valid for as many,
        // or the output's index of the first of them (this function's condition); no index of the copy is beyond the
        // source, which has an element.
        unsafe {
            if mask.is_none() {
                return if far {
                    fetch_all::<T, I, true>(x, index.shared, start..end, target)
                } else {
                    fetch_all::<T, I, false>(x, index.shared, start..end, target)
                };
            }
            if !std::ptr::eq(target, self.target(start)) {
                std::ptr::copy_nonoverlapping(self.target(start), target, end - start);
            }
            let mut block = Block::new();
            let with_ahead = if far { self.moves.out.length.min(end + AHEAD) } else { end };
            let copied = index.block(start..with_ahead, self.moves.selection, &mut block);
            if far {
                fetch_each::<T, true>(x, copied, end - start, target);
            } else {
                fetch_each::<T, false>(x, copied, end - start, target);
            }
        }
    }
}

/// Stores at `target` what some elements get.
///
/// # Safety
///
/// There are such elements of the index, and as many are writable at `target`; `x` is not empty.
#[inline(never)]
unsafe fn fetch_all<T: Element, I: Index, const FAR: bool>(
    x: &[T],
    index: SharedIndices<'_, I>,
    elements: Range<usize>,
    target: *mut T,
) {
    let last = x.len() - 1;
    let start = elements.start;
    let fetch = |element: usize| {
        // SAFETY: the element is one of the index, and `target` has room for it (this function's condition); the index is
        // bounded after it was read.
        unsafe {
            let bounded = index.read(element).min(last);
            target.add(element - start).write(*x.get_unchecked(bounded));
        }
    };
    let with_ahead = if FAR { elements.end.min(index.len().saturating_sub(AHEAD)).max(start) } else { start };
    for element in start..with_ahead {
        // SAFETY: the element is so far before the end that the other one is of the index too.
        let ahead = unsafe { index.read(element + AHEAD) };
        // Nothing is read at that address, which may be any where the index has been written since it was checked.
        weft_simd::prefetch_to_second(x.as_ptr().wrapping_add(ahead));
        fetch(element);
    }
    (with_ahead..elements.end).for_each(fetch);
}

/// Stores those of the first `count` elements at `target` that have an index in the copy.
///
/// # Safety
///
/// `target` is valid for as many, and all indices are below the length of `x`.
#[inline(never)]
unsafe fn fetch_each<T: Element, const FAR: bool>(x: &[T], copied: Copied<'_>, count: usize, target: *mut T) {
    let indices = copied.indices;
    let own = copied.elements.map_or(count, |elements| elements.partition_point(|&element| (element as usize) < count));
    let mut number = 0;
    Copied { indices: &indices[..own], ..copied }.for_each(|element, index| {
        if FAR {
            let ahead = indices[(number + AHEAD).min(indices.len() - 1)];
            weft_simd::prefetch_to_second(x.as_ptr().wrapping_add(ahead));
            number += 1;
        }
        // SAFETY: the source has the index, and the target the element, as only the first ones are below the count (this
        // function's conditions).
        unsafe { target.add(element).write(*x.get_unchecked(index)) };
    });
}
