//! Arrays of indices.

mod snapshot;

use weft_simd::on_threads;

use crate::{Execution, Stop};

use super::element::Element;
use super::parallel::{part, threads_for};
use super::view::Selection;
use super::{ElementType, PrimitiveError, View, finished};

#[cfg(target_arch = "x86_64")]
pub(super) use snapshot::vectors;
pub(super) use snapshot::{AHEAD, BLOCK, Block, Copied, SharedIndices};

/// A type of indices.
pub(super) trait Index: Element {
    /// As an unsigned number; negative ones become so large that no array has them.
    fn unsigned(self) -> usize;
}

impl Index for i32 {
    #[inline(always)]
    fn unsigned(self) -> usize {
        self as isize as usize
    }
}

impl Index for i64 {
    #[inline(always)]
    fn unsigned(self) -> usize {
        self as usize
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
        actual => Err(PrimitiveError::Type { array: "index", actual, wanted: "int32 or int64".to_owned() }),
    }
}

/// The smallest and the largest index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexRange {
    pub low: usize,
    pub high: usize,
}

impl IndexRange {
    const NONE: Self = Self { low: usize::MAX, high: 0 };

    /// Of no indices; from 0 on without `LOW`.
    const fn none<const LOW: bool>() -> Self {
        if LOW { Self::NONE } else { Self { low: 0, high: 0 } }
    }

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// Indices of a thread are looked at in portions that end at multiples of this.
const GRAIN: usize = 4 * BLOCK;

/// Elements that are served before it is asked whether to go on.
pub(super) const PORTION: usize = 64 * BLOCK;

/// Indices of which all selected ones were below an extent when they were looked at. Another thread may have written them
/// since; so what uses them bounds what it reads again, or takes copies ([`Checked::block`]) that are within the range.
#[derive(Clone, Copy)]
pub(super) struct Checked<'a, I> {
    pub shared: SharedIndices<'a, I>,
    pub range: IndexRange,
}

impl<'a, I: Index> Checked<'a, I> {
    /// Checks the selected indices; None where nothing is selected, or nothing can be. The range begins with the lowest one
    /// where `from_low` says so, and with 0 otherwise, which is found out in half the time.
    ///
    /// # Errors
    ///
    /// The first selected index that is not below `extent`; `array` is what the message calls the array that it should be
    /// of.
    ///
    /// # Safety
    ///
    /// The indices of the moves are of type `I`, aligned, and readable as long as `'a`.
    pub(super) unsafe fn new(
        moves: &Moves<'_>,
        extent: usize,
        array: &'static str,
        from_low: bool,
    ) -> Result<Option<Self>, PrimitiveError> {
        let Moves { index, selection, threads, stop, .. } = *moves;
        // SAFETY: elements are of type `I`, aligned and readable (this function's condition).
        let shared = unsafe { SharedIndices::<I>::new(&index) };
        let range = range_of(shared, selection, from_low, threads, stop);
        finished(stop)?;
        if range == IndexRange::NONE {
            return Ok(None);
        }
        if range.high >= extent {
            (0..shared.len()).step_by(BLOCK).try_for_each(|start| {
                let end = shared.len().min(start + BLOCK);
                let mut block = Block::new();
                first_beyond(shared.copy(start..end, 0, usize::MAX, &mut block), start, selection, extent, array)
            })?;
        }
        // Where none is found, another thread has written the indices or the selection meanwhile.
        let Some(last) = extent.checked_sub(1) else { return Ok(None) };
        let high = range.high.min(last);
        Ok(Some(Self { shared, range: IndexRange { low: range.low.min(high), high } }))
    }

    /// Copies of the indices of some elements, a [`Block`] at most, of the selected ones where not all are. None is above
    /// the range.
    #[inline(always)]
    pub(super) fn block<'b>(
        &self,
        elements: std::ops::Range<usize>,
        selection: Selection<'_>,
        block: &'b mut Block,
    ) -> Copied<'b> {
        let mask = selection.part(elements.start, elements.end).0;
        self.shared.copy_selected(elements, mask, [0, self.range.high], block)
    }
}

/// An error for the first of some selected indices, which begin with element `start`, that is not below `extent`.
fn first_beyond(
    indices: &[usize],
    start: usize,
    selection: Selection<'_>,
    extent: usize,
    array: &'static str,
) -> Result<(), PrimitiveError> {
    let invalid =
        indices.iter().enumerate().find(|&(element, &index)| index >= extent && selection.holds(start + element));
    invalid.map_or(Ok(()), |(element, &index)| {
        Err(PrimitiveError::Index { index: index as isize as i64, element: start + element, array, extent })
    })
}

/// The range of the selected indices as they are now.
fn range_of<I: Index>(
    shared: SharedIndices<'_, I>,
    selection: Selection<'_>,
    from_low: bool,
    threads: usize,
    stop: Stop<'_>,
) -> IndexRange {
    let range_of_part = |number| {
        let own = part(shared.len(), GRAIN, number, threads);
        let mut range = IndexRange::NONE;
        for start in own.clone().step_by(PORTION).take_while(|_| !stop.is_requested()) {
            let end = own.end.min(start + PORTION);
            let mask = selection.part(start, end).0;
            range = range.join(match from_low {
                true => shared.range::<true>(start..end, mask),
                false => shared.range::<false>(start..end, mask),
            });
        }
        range
    };
    if threads <= 1 {
        // Without an allocation for the results, which short calls would notice.
        return range_of_part(0);
    }
    on_threads(threads, range_of_part).into_iter().fold(IndexRange::NONE, IndexRange::join)
}
