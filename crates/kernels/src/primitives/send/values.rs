//! What is sent: an element for each sender, or one that all of them send.

use std::ops::Range;

use super::super::View;
use super::super::element::Element;
use super::super::indices::{BLOCK, PORTION};

/// How many send, of an array with so many elements to so many addresses.
pub(super) fn senders(x: &View, addresses: usize) -> usize {
    if x.length == 1 { addresses } else { x.length }
}

/// The elements of senders, which can be had by portions.
#[derive(Clone, Copy)]
pub(super) struct Values<'a, T> {
    /// One for each sender, or a block of copies of the one that all send.
    elements: &'a [T],
    senders: usize,
}

impl<'a, T: Element> Values<'a, T> {
    /// Calls `work` with the elements of so many senders.
    ///
    /// # Safety
    ///
    /// The view's memory is what [`View`] says, and `T` is as large as its elements; it has one, or one for each sender.
    #[inline(always)]
    pub(super) unsafe fn with<R>(x: &View, senders: usize, work: impl FnOnce(Values<'_, T>) -> R) -> R {
        // SAFETY: the memory is what `View` says, and `T` is as large as its elements (this function's conditions): types
        // of one size have the same alignment, and any bits are an element.
        let stored = unsafe { x.elements::<T>() };
        let block;
        let elements = if stored.len() == senders {
            stored
        } else {
            block = [stored[0]; BLOCK];
            &block[..BLOCK.min(senders)]
        };
        work(Values { elements, senders })
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.senders
    }

    /// The one that all send, where they are more than a block.
    #[inline(always)]
    pub(super) fn one(self) -> Option<T> {
        (self.elements.len() != self.senders).then(|| self.elements[0])
    }

    /// The most that can be had at once, where it is not asked in between whether to go on.
    #[inline(always)]
    pub(super) fn portion(self) -> usize {
        if self.elements.len() == self.senders { PORTION } else { BLOCK }
    }

    /// Those of some senders, a portion at most.
    #[inline(always)]
    pub(super) fn part(self, senders: Range<usize>) -> &'a [T] {
        if self.elements.len() == self.senders { &self.elements[senders] } else { &self.elements[..senders.len()] }
    }

    /// Those of a run of the senders.
    pub(super) fn run(self, senders: Range<usize>) -> Self {
        if self.elements.len() == self.senders {
            let elements = &self.elements[senders];
            return Self { elements, senders: elements.len() };
        }
        Self { elements: &self.elements[..self.elements.len().min(senders.len())], senders: senders.len() }
    }

    /// One for each sender, for what wants them in any order.
    pub(super) fn each(self, buffer: &'a mut Vec<T>) -> &'a [T] {
        if self.elements.len() == self.senders {
            return self.elements;
        }
        buffer.resize(self.senders, self.elements[0]);
        buffer
    }
}
