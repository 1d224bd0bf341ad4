//! Shifts within short slabs: what code for them offers where there is some.

use super::description::{Buffers, SlabShift};
use super::writer::LookAhead;

/// A better way for short slabs than piece by piece, where there is one.
pub(super) trait ShortSlabs<'a>: Sized {
    /// The slabs `from..to` of a shift; None where pieces are better.
    fn new(shift: &'a SlabShift, buffers: Buffers<'_>, from: usize, to: usize) -> Option<Self>;

    /// What will be read next.
    fn look_ahead(&mut self, next: LookAhead);

    /// Goes on with what can be done of the slabs up to `end`.
    ///
    /// # Safety
    ///
    /// As for [`slabs::run`](super::slabs::run).
    unsafe fn advance(&mut self, buffers: Buffers<'_>, end: usize);

    /// Does what is left up to `to`.
    ///
    /// # Safety
    ///
    /// As for [`slabs::run`](super::slabs::run).
    unsafe fn finish(&mut self, buffers: Buffers<'_>, to: usize);
}

/// No better way.
pub(super) enum PieceByPiece {}

impl ShortSlabs<'_> for PieceByPiece {
    fn new(_: &SlabShift, _: Buffers<'_>, _: usize, _: usize) -> Option<Self> {
        None
    }

    fn look_ahead(&mut self, _: LookAhead) {
        match *self {}
    }

    unsafe fn advance(&mut self, _: Buffers<'_>, _: usize) {
        match *self {}
    }

    unsafe fn finish(&mut self, _: Buffers<'_>, _: usize) {
        match *self {}
    }
}
