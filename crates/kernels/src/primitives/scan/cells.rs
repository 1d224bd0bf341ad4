//! Cells of an array, which rows are scanned in: how long they are, and those that are scanned at once.

use super::super::element::{Bool8, Element};
use super::Accumulate;

/// Elements of a cell: the order of combination depends on it.
pub(super) const CELL: usize = 512;

/// Full cells that are scanned at once where [`super::lanes`] has code for them.
pub(super) const LANES: usize = 8;

/// Elements from one cell of their results to the next. The cells themselves begin at one offset of a page each, and a
/// first-level cache has room for few lines that do.
pub(super) const ROW: usize = CELL + LANES;

/// Cells next to each other, with indices counted from the first of the first.
pub(super) struct Cells<T: Element, A: Accumulate<T>, const N: usize> {
    pub(super) x: *const T,
    pub(super) old: *const T,
    pub(super) target: *mut T,
    pub(super) flags: *const Bool8,
    pub(super) mask: *const Bool8,
    pub(super) states: [A::State; N],
    pub(super) count: usize,
    pub(super) downward: bool,
    pub(super) exclusive: bool,
}
