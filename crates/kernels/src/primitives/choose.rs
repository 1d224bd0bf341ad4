//! Choices between two operands, element by element.

use crate::{Execution, Stop};

use super::density::choose_block;
use super::element::Bool8;
use super::lines::{self, Ahead, Hint, Scratch};
use super::operand::{BLOCK, BLOCK_BYTES, Operand, block_length, by_blocks};
use super::parallel::{in_parts, threads_for_passing};
use super::{ElementType, PrimitiveError, View, finished};

/// Stores the element of `yes` where the condition holds, else that of `no`. An operand of one element stands for as many
/// as there are in `out`. No choice takes a branch, so that the time does not depend on how the condition lies.
///
/// # Errors
///
/// Operands of another type than `out`, lengths that do not agree, a condition that is not of booleans, and an operand or
/// condition that overlaps `out`.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn choose<'a>(
    condition: View,
    yes: View,
    no: View,
    out: View,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    for (name, view) in [("the first operand", &yes), ("the second operand", &no)] {
        view.check_type(name, out.kind)?;
        if view.length != 1 {
            view.check_length(name, out.length)?;
        }
        if view.overlaps(&out) {
            return Err(PrimitiveError::Overlap { one: name, other: "out" });
        }
    }
    condition.check_type("the condition", ElementType::Bool)?;
    condition.check_length("the condition", out.length)?;
    condition.check_apart("the condition", &out, "out")?;
    // SAFETY: the condition's memory is what `View` says (this function's condition), and its type was checked.
    let condition = unsafe { condition.slice() };
    let bytes = yes.bytes() + no.bytes() + out.bytes();
    let streaming = lines::passes_caches(bytes);
    let block = block_length(streaming, out.kind.size());
    let call = Call { condition, yes, no, out, streaming, block, stop };
    in_parts(out.length, BLOCK, threads_for_passing(threads, bytes), |part| {
        // SAFETY: the memory of all views is what `View` says (this function's condition), types and lengths were
        // checked, and parts of the output are disjoint.
        unsafe { call.run(part.start, part.end) }
    });
    finished(stop)
}

struct Call<'a> {
    condition: &'a [Bool8],
    yes: View,
    no: View,
    out: View,
    streaming: bool,
    /// Elements of a block.
    block: usize,
    stop: Stop<'a>,
}

impl Call<'_> {
    unsafe fn run(&self, from: usize, to: usize) {
        let (mut first, mut second) = (Scratch::<BLOCK_BYTES>::new(), Scratch::<BLOCK_BYTES>::new());
        let mut buffer = Scratch::<BLOCK_BYTES>::new();
        // SAFETY: `from..to` is a part of the output, of which no other thread has any, and operands have as many
        // elements or one; blocks of the scratch memory are as long as the longest block.
        unsafe {
            let yes = Operand::new(&self.yes, self.out.length, to - from, &mut first);
            let no = Operand::new(&self.no, self.out.length, to - from, &mut second);
            by_blocks(&self.out, (from, to), self.block, self.stop, |start, end| {
                self.block(&yes, &no, start, end, &mut buffer);
            });
        }
        if self.streaming {
            lines::fence();
        }
    }

    unsafe fn block(&self, yes: &Operand, no: &Operand, start: usize, end: usize, buffer: &mut Scratch<BLOCK_BYTES>) {
        let item = self.out.kind.size();
        let mask = &self.condition[start..end];
        // SAFETY: `start..end` is a block of the part that this thread has, of as many elements as the scratch memory
        // holds at most, and operands and condition have these elements; the output is apart from all of them.
        unsafe {
            let target = self.out.pointer.add(start * item);
            if !self.streaming {
                choose_block(yes.at(start), no.at(start), target, mask, item);
                return;
            }
            choose_block(yes.at(start), no.at(start), buffer.pointer(), mask, item);
            let mut ahead = Ahead::new(&[yes.ahead(end, item), no.ahead(end, item)], Hint::First);
            lines::store_and_fetch(buffer.pointer(), target, (end - start) * item, &mut ahead);
        }
    }
}
