//! Blocks of elementwise operations, and their operands: as many elements as the output has, or one for all of them.

use crate::Stop;

use super::View;
use super::density::repeat;
use super::lines::{self, LINE, Scratch};

/// Elements of a block; with those of three arrays it fits the first-level cache.
pub(super) const BLOCK: usize = 1024;

/// Bytes of a block of the largest elements.
pub(super) const BLOCK_BYTES: usize = BLOCK * 8;

/// Bytes of a block of an operand, or of the output if that has larger elements, where the output is written by
/// non-temporal stores: those of the next block are fetched meanwhile, and wait in the first-level cache.
const PASSING_BYTES: usize = 2048;

/// Elements of a block where the largest of operands and output have so many bytes.
pub(super) fn block_length(streaming: bool, largest: usize) -> usize {
    if streaming { BLOCK.min(PASSING_BYTES / largest) } else { BLOCK }
}

/// Works through the elements `from..to` of an output by blocks of at most `block` elements, until it is asked to stop.
/// After the first, blocks begin at lines.
#[inline(always)]
pub(super) fn by_blocks(
    out: &View,
    (from, to): (usize, usize),
    block: usize,
    stop: Stop<'_>,
    mut work: impl FnMut(usize, usize),
) {
    let head = lines::before_line(out.pointer.wrapping_add(from * out.kind.size()), out.kind.size());
    let mut start = from;
    while start < to && !stop.is_requested() {
        let end = if start == from && head > 0 { to.min(from + head) } else { to.min(start + block) };
        work(start, end);
        start = end;
    }
}

/// Where blocks of an operand are.
pub(super) struct Operand {
    pointer: *const u8,
    item: usize,
    /// `pointer` has a block of one value.
    pub(super) repeated: bool,
}

impl Operand {
    /// Where so many elements (`used`) of a part of `length` are; one element is repeated in the buffer.
    ///
    /// # Safety
    ///
    /// The view's memory is readable while the operand is used, as is the buffer.
    pub(super) unsafe fn new(view: &View, length: usize, used: usize, buffer: &mut Scratch<BLOCK_BYTES>) -> Self {
        let item = view.kind.size();
        if view.length == length {
            return Self { pointer: view.pointer, item, repeated: false };
        }
        let block = buffer.pointer();
        // SAFETY: the buffer holds a block of the largest elements; the operand has one.
        unsafe { repeat(view.pointer, block, BLOCK.min(used), item) };
        Self { pointer: block, item, repeated: true }
    }

    #[inline(always)]
    pub(super) unsafe fn at(&self, index: usize) -> *const u8 {
        // SAFETY: the index is within the operand.
        if self.repeated { self.pointer } else { unsafe { self.pointer.add(index * self.item) } }
    }

    /// From where, and how many bytes of it, to fetch for each line of results of so many bytes each.
    #[inline(always)]
    pub(super) fn ahead(&self, index: usize, result: usize) -> (*const u8, usize) {
        if self.repeated {
            return (self.pointer, 0);
        }
        (self.pointer.wrapping_add(index * self.item), LINE / result * self.item)
    }
}
