//! Arrays of indices.

use super::view::Selection;
use super::{ElementType, PrimitiveError, View};

/// A type of indices.
pub(super) trait Index: Copy + Send + Sync + 'static {
    /// As an unsigned number; negative ones become so large that no array has them.
    fn place(self) -> usize;
    fn wide(self) -> i128;
}

impl Index for i32 {
    #[inline(always)]
    fn place(self) -> usize {
        self as isize as usize
    }
    fn wide(self) -> i128 {
        self.into()
    }
}

impl Index for i64 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
    fn wide(self) -> i128 {
        self.into()
    }
}

/// Something to be done with indices of one type.
pub(super) trait Indexing {
    type Output;
    fn run<I: Index + super::element::Element>(self) -> Result<Self::Output, PrimitiveError>;
}

pub(super) fn with_indices<W: Indexing>(index: &View, work: W) -> Result<W::Output, PrimitiveError> {
    match index.kind {
        ElementType::Int32 => work.run::<i32>(),
        ElementType::Int64 => work.run::<i64>(),
        found => Err(PrimitiveError::Type { array: "index", found, wanted: "int32 or int64".to_owned() }),
    }
}

/// The first selected index that is not below `extent`, as an error.
pub(super) fn check_indices<I: Index>(
    index: &[I],
    selection: Selection<'_>,
    extent: usize,
    array: &'static str,
) -> Result<(), PrimitiveError> {
    match (0..index.len()).find(|&element| selection.holds(element) && index[element].place() >= extent) {
        None => Ok(()),
        Some(element) => Err(PrimitiveError::Index {
            index: index[element].wide(),
            element,
            array,
            extent,
            last: extent as isize - 1,
        }),
    }
}
