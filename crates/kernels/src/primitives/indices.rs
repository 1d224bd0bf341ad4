//! Arrays of indices.

use weft_simd::{Dispatched, dispatch, on_threads};

use crate::{Execution, Stop};

use super::element::Element;
use super::parallel::{part, threads_for};
use super::view::Selection;
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

/// Reads an index once: what is found here is what is bounded and what is used, though another thread may write the
/// array.
///
/// # Safety
///
/// The element is readable and aligned.
#[inline(always)]
pub(super) unsafe fn read_index<I: Index>(index: *const I, element: usize) -> usize {
    // SAFETY: the caller has an array with this element.
    unsafe { index.add(element).read_volatile() }.place()
}

/// The arrays of a get or a send, checked.
#[derive(Clone, Copy)]
pub(super) struct Moves<'a> {
    pub x: View,
    pub index: View,
    pub out: View,
    pub selection: Selection<'a>,
    pub threads: usize,
    pub stop: Stop<'a>,
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
        execution: Execution<'a>,
    ) -> Result<Self, PrimitiveError> {
        index.check_length("index", asking)?;
        out.check_type("out", x.kind)?;
        x.check_apart("x", &out, "out")?;
        index.check_apart("index", &out, "out")?;
        // SAFETY: the selection is readable (this function's condition).
        let selection = unsafe { Selection::checked(selection, asking, Some(&out))? };
        let threads = threads_for(execution.threads, asking * x.kind.size() + index.bytes());
        Ok(Self { x, index, out, selection, threads, stop: execution.stop })
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

/// Indices that are looked at before it is asked whether to go on.
const PORTION: usize = 1 << 20;

/// The range of the selected indices, within `extent`; None where nothing is selected. Another thread may write the
/// array afterwards, so an index must be bounded again where it is used.
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
    stop: Stop<'_>,
) -> Result<Option<Range>, PrimitiveError> {
    let ranges = on_threads(threads, |number| {
        let own = part(index.len(), GRAIN, number, threads);
        let mut range = Range::NONE;
        for start in own.clone().step_by(PORTION) {
            let end = own.end.min(start + PORTION);
            range = range.join(dispatch(RangeOf { index: &index[start..end], selection: selection.part(start, end) }));
            if stop.is_asked() {
                break;
            }
        }
        range
    });
    super::finished(stop)?;
    let range = ranges.into_iter().fold(Range::NONE, Range::join);
    if range == Range::NONE {
        return Ok(None);
    }
    if range.high < extent {
        // The two are of one element at least, but not where it was written between the reads of both.
        return Ok(Some(Range { low: range.low.min(range.high), high: range.high }));
    }
    let beyond = |element: usize| {
        // SAFETY: the element is one of the slice.
        let found = unsafe { index.as_ptr().add(element).read_volatile() };
        (selection.holds(element) && found.place() >= extent).then_some((element, found.wide()))
    };
    match (0..index.len()).find_map(beyond) {
        // Another thread has written it meanwhile; who uses the range bounds each index again.
        None if extent == 0 => Ok(None),
        None => Ok(Some(Range { low: range.low.min(extent - 1), high: extent - 1 })),
        Some((element, index)) => Err(PrimitiveError::Index { index, element, array, extent }),
    }
}

struct RangeOf<'a, I> {
    index: &'a [I],
    selection: Selection<'a>,
}

impl<I: Index> Dispatched for RangeOf<'_, I> {
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
