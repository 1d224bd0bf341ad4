//! Elementwise operations under a selection.
//!
//! An array is worked through in blocks that fit the first-level cache. A block of which nothing is selected is not
//! touched; of one that is selected in part, the results are computed for all and stored for the selected.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Execution, Stop};

use super::density::{Density, blend, density};
use super::lines::{self, Ahead, Hint, Scratch};
use super::operand::{BLOCK, BLOCK_BYTES, Operand, block_length, by_blocks};
use super::parallel::{in_parts, threads_for_passing};
use super::pointwise::{Kernel, kernel};
use super::view::Selection;
use super::{Pointwise, PrimitiveError, View, finished};

/// Applies `operation` to the elements of one or two operands. An operand of one element stands for as many as there are
/// in `out`. Elements of `out` that are not selected keep what they hold.
///
/// Whether all operands were within the operation's domain ([`Pointwise::has_domain`]). If not, the selected elements of
/// `out` hold anything, and somebody else has to compute them.
///
/// # Errors
///
/// Operands of different types, a type without the operation, an `out` of another type than the results, lengths that do
/// not agree, and an operand that overlaps `out` without being the same elements or where the operation has a domain.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn elementwise<'a>(
    operation: Pointwise,
    operands: &[View],
    out: View,
    selection: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<bool, PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    let (one, other) = match (operands, operation.operands()) {
        ([one], 1) => (*one, *one),
        ([one, other], 2) => (*one, *other),
        (_, 1) => return Err(PrimitiveError::Meaningless("this operation has one operand")),
        _ => return Err(PrimitiveError::Meaningless("this operation has two operands")),
    };
    other.check_type("the second operand", one.kind)?;
    let (kernel, result) = kernel(operation, one.kind)?;
    out.check_type("out", result)?;
    let mut apart = true;
    for (name, view) in [("the first operand", &one), ("the second operand", &other)] {
        if view.length != 1 {
            view.check_length(name, out.length)?;
        }
        if view.overlaps(&out) {
            apart = false;
            if !view.is_same(&out) || operation.has_domain() {
                return Err(PrimitiveError::Overlap { one: name, other: "out" });
            }
        }
    }
    // SAFETY: the selection's memory is what `View` says (this function's condition).
    let selection = unsafe { Selection::checked(selection, out.length, Some(&out))? };
    let bytes = one.bytes() + other.bytes() * (operation.operands() - 1) + out.bytes();
    let streaming = lines::passes_caches(bytes);
    let largest = one.kind.size().max(out.kind.size());
    let block = block_length(streaming, largest);
    let (two, copies) = (operation.operands() == 2, operation == Pointwise::Copy);
    let within = AtomicBool::new(true);
    let call = Call { kernel, one, other, two, copies, out, selection, apart, streaming, block, stop, within: &within };
    in_parts(out.length, BLOCK, threads_for_passing(threads, bytes), |part| {
        // SAFETY: the memory of all views is what `View` says (this function's condition), types and lengths were
        // checked, and parts of the output are disjoint.
        unsafe { call.run(part.start, part.end) }
    });
    finished(stop)?;
    Ok(within.into_inner())
}

struct Call<'a> {
    kernel: Kernel,
    one: View,
    other: View,
    /// `other` is an operand of its own.
    two: bool,
    /// The results are the elements of `one`.
    copies: bool,
    out: View,
    selection: Selection<'a>,
    /// No operand is the output.
    apart: bool,
    streaming: bool,
    /// Elements of a block.
    block: usize,
    stop: Stop<'a>,
    /// No operand was beyond the operation's domain so far.
    within: &'a AtomicBool,
}

impl Call<'_> {
    unsafe fn compute(&self, one: *const u8, other: *const u8, out: *mut u8, count: usize) {
        // SAFETY: operands and output have `count` elements and are apart (condition of this function).
        if !unsafe { (self.kernel)(one, other, out, count) } {
            self.within.store(false, Ordering::Relaxed);
        }
    }

    unsafe fn run(&self, from: usize, to: usize) {
        let (mut first, mut second) = (Scratch::<BLOCK_BYTES>::new(), Scratch::<BLOCK_BYTES>::new());
        // SAFETY: `from..to` is a part of the output, of which no other thread has any, and operands have as many
        // elements or one; blocks of the scratch memory are as long as the longest block.
        unsafe {
            let one = Operand::new(&self.one, self.out.length, to - from, &mut first);
            let other = Operand::new(&self.other, self.out.length, to - from, &mut second);
            if self.selection.0.is_none() && self.apart && !self.streaming && !one.repeated && !other.repeated {
                self.compute(one.at(from), other.at(from), self.target(from), to - from);
                return;
            }
            let mut buffer = Scratch::<BLOCK_BYTES>::new();
            by_blocks(&self.out, (from, to), self.block, self.stop, |start, end| {
                self.block(&one, &other, start, end, &mut buffer);
            });
        }
        if self.streaming {
            lines::fence();
        }
    }

    #[inline(always)]
    unsafe fn target(&self, index: usize) -> *mut u8 {
        // SAFETY: within the output.
        unsafe { self.out.pointer.add(index * self.out.kind.size()) }
    }

    unsafe fn block(
        &self,
        one: &Operand,
        other: &Operand,
        start: usize,
        end: usize,
        buffer: &mut Scratch<BLOCK_BYTES>,
    ) {
        let count = end - start;
        let item = self.out.kind.size();
        // SAFETY: `start..end` is a block of the part that this thread has, of as many elements as the scratch memory
        // holds at most, and operands and selection have these elements.
        unsafe {
            let target = self.target(start);
            let density = self.selection.0.map_or(Density::All, |mask| density(&mask[start..end]));
            if density == Density::None {
                return;
            }
            if self.apart && !self.streaming && density == Density::All {
                self.compute(one.at(start), other.at(start), target, count);
                return;
            }
            let selected = self.selection.0.filter(|_| density == Density::Some);
            if let (Some(mask), true) = (selected, self.copies && self.apart) {
                blend(one.at(start), target, &mask[start..end], item);
                return;
            }
            self.compute(one.at(start), other.at(start), buffer.pointer(), count);
            if let Some(mask) = selected {
                // The line is fetched for what is kept in it, so it need not be stored so.
                blend(buffer.pointer(), target, &mask[start..end], item);
            } else if self.streaming {
                let operands = [one.ahead(end, item), other.ahead(end, item)];
                let mut ahead = Ahead::new(&operands[..if self.two { 2 } else { 1 }], Hint::First);
                lines::store_and_fetch(buffer.pointer(), target, count * item, &mut ahead);
            } else {
                std::ptr::copy_nonoverlapping(buffer.pointer(), target, count * item);
            }
        }
    }
}
