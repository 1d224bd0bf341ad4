//! Arrays of indices.

use super::element::Element;
use super::parallel::{on_threads, part, threads_for};
use super::view::Selection;
use super::wide::{Wide, widely};
use super::{ElementType, PrimitiveError, View};

/// A type of indices.
pub(super) trait Index: Element {
    /// As an unsigned number; negative ones become so large that no array has them.
    fn place(self) -> usize;
    fn wide(self) -> i64;
}

impl Index for i32 {
    #[inline(always)]
    fn place(self) -> usize {
        self as isize as usize
    }
    fn wide(self) -> i64 {
        self.into()
    }
}

impl Index for i64 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
    fn wide(self) -> i64 {
        self
    }
}

/// The arrays of a get or a send, checked.
#[derive(Clone, Copy)]
pub(super) struct Moves<'a> {
    pub x: View,
    pub index: View,
    pub out: View,
    pub selection: Selection<'a>,
    pub threads: usize,
}

impl<'a> Moves<'a> {
    /// Checks all but the indices; `asking`: how many elements have an index.
    ///
    /// # Safety
    ///
    /// Elements of the selection are readable and not written meanwhile.
    pub(super) unsafe fn checked(
        x: View,
        index: View,
        out: View,
        asking: usize,
        selection: Option<&View>,
        threads: Option<usize>,
    ) -> Result<Self, PrimitiveError> {
        index.check_length("index", asking)?;
        out.check_type("out", x.kind)?;
        x.check_apart("x", &out, "out")?;
        index.check_apart("index", &out, "out")?;
        // SAFETY: the caller's.
        let selection = unsafe { Selection::checked(selection, asking, Some(&out))? };
        let threads = threads_for(threads, asking * x.kind.size() + index.bytes());
        Ok(Self { x, index, out, selection, threads })
    }
}

/// Something to be done with indices of one type.
pub(super) trait Indexing {
    type Output;
    fn run<I: Index>(self) -> Result<Self::Output, PrimitiveError>;
}

pub(super) fn with_indices<W: Indexing>(index: &View, work: W) -> Result<W::Output, PrimitiveError> {
    match index.kind {
        ElementType::Int32 => work.run::<i32>(),
        ElementType::Int64 => work.run::<i64>(),
        found => Err(PrimitiveError::Type { array: "index", found, wanted: "int32 or int64".to_owned() }),
    }
}

/// The smallest and the largest index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub low: usize,
    pub high: usize,
}

impl Range {
    const NONE: Self = Self { low: usize::MAX, high: 0 };

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// Indices of a thread are looked at in portions that end at multiples of this.
const GRAIN: usize = 4096;

/// The range of the selected indices, None where nothing is selected.
///
/// # Errors
///
/// The first selected index that is not below `extent`; `array` is what the message calls the array that it should be of.
pub(super) fn range_of<I: Index>(
    index: &[I],
    selection: Selection<'_>,
    extent: usize,
    array: &'static str,
    threads: usize,
) -> Result<Option<Range>, PrimitiveError> {
    let ranges = on_threads(threads, |number| {
        let own = part(index.len(), GRAIN, number, threads);
        widely(RangeOf { index: &index[own.clone()], selection: selection.part(own.start, own.end) })
    });
    let range = ranges.into_iter().fold(Range::NONE, Range::join);
    if range == Range::NONE {
        return Ok(None);
    }
    if range.high < extent {
        return Ok(Some(range));
    }
    match (0..index.len()).find(|&element| selection.holds(element) && index[element].place() >= extent) {
        None => Ok(Some(range)),
        Some(element) => Err(PrimitiveError::Index { index: index[element].wide(), element, array, extent }),
    }
}

struct RangeOf<'a, I> {
    index: &'a [I],
    selection: Selection<'a>,
}

impl<I: Index> Wide for RangeOf<'_, I> {
    type Output = Range;
    #[inline(always)]
    fn run(self) -> Range {
        // One after another: compilers find the lanes, and would gather lanes that are written out.
        let (mut low, mut high) = (Range::NONE.low, Range::NONE.high);
        match self.selection.0 {
            None => {
                for index in self.index {
                    low = low.min(index.place());
                    high = high.max(index.place());
                }
            }
            Some(truths) => {
                for (index, truth) in self.index.iter().zip(truths) {
                    low = low.min(if truth.holds() { index.place() } else { Range::NONE.low });
                    high = high.max(if truth.holds() { index.place() } else { Range::NONE.high });
                }
            }
        }
        Range { low, high }
    }
}
