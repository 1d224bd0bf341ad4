//! Finds out whether two elements are sent to one.

use weft_simd::{CACHE_LINE, Dispatched, dispatch};

use crate::Stop;

use super::super::indices::{BLOCK, Block, Checked, Index, IndexRange, PORTION, SharedIndices};
use super::super::view::Selection;
use super::super::{PrimitiveError, finished};

/// Bits for so many destinations are taken without asking how many senders there are.
const FEW: usize = 1 << 19;

/// Bytes for so many destinations are in the first-level cache.
const NEAR: usize = 16 << 10;

/// An error for the lowest destination of several selected elements, with the first two of them.
pub(super) fn refuse<I: Index>(
    index: &Checked<'_, I>,
    selection: Selection<'_>,
    stop: Stop<'_>,
) -> Result<(), PrimitiveError> {
    let low = index.range.low;
    let destinations = index.range.high - low + 1;
    if destinations <= NEAR && are_distinct(index, selection, stop, destinations) {
        return finished(stop);
    }
    let several = if destinations <= FEW.max(64 * index.shared.len()) {
        let mut taken = vec![0_u64; destinations.div_ceil(64)];
        let mut lowest = None;
        each_selected(index, selection, stop, |_, offset| {
            let bit = 1 << (offset % 64);
            // None for what another thread has moved below the range.
            let Some(word) = taken.get_mut(offset / 64) else { return };
            if *word & bit != 0 {
                lowest = Some(lowest.map_or(offset, |lowest: usize| lowest.min(offset)));
            }
            *word |= bit;
        });
        lowest
    } else {
        let mut all = Vec::new();
        each_selected(index, selection, stop, |_, offset| all.push(offset));
        all.sort_unstable();
        all.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    finished(stop)?;
    let Some(several) = several else { return Ok(()) };
    let mut senders = Vec::new();
    each_selected(index, selection, stop, |element, offset| {
        if offset == several && senders.len() < 2 {
            senders.push(element);
        }
    });
    match senders[..] {
        [first, second] => Err(PrimitiveError::Collision { first, second, destination: low + several }),
        // Another thread has written the indices meanwhile.
        _ => Ok(()),
    }
}

/// Whether all indices are below `extent` and no two are the same, where bytes for so many destinations are few beside the
/// indices; false where they are not, or this is not known.
pub(super) fn are_all_distinct<I: Index>(index: SharedIndices<'_, I>, extent: usize, stop: Stop<'_>) -> bool {
    let mut marks = vec![0_u8; extent];
    let are_below = (0..index.len()).step_by(PORTION).take_while(|_| !stop.is_requested()).all(|start| {
        let end = index.len().min(start + PORTION);
        index.all_below::<8>(start..end, extent, |_, index| {
            // SAFETY: there is a mark for each index below the extent.
            unsafe { *marks.get_unchecked_mut(index) = 1 };
        })
    });
    are_below && count_marks(&marks) == index.len()
}

/// How many of some bytes, each 0 or 1, are 1.
pub(super) fn count_marks(marks: &[u8]) -> usize {
    dispatch(Count(marks))
}

struct Count<'a>(&'a [u8]);

impl Dispatched for Count<'_> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let (rows, rest) = self.0.as_chunks::<CACHE_LINE>();
        // As many rows as a byte can count.
        let in_rows = rows.chunks(u8::MAX.into()).map(|some| {
            let mut columns = [0_u8; CACHE_LINE];
            for row in some {
                for (column, mark) in columns.iter_mut().zip(row) {
                    *column += mark;
                }
            }
            columns.into_iter().map(usize::from).sum::<usize>()
        });
        in_rows.sum::<usize>() + rest.iter().copied().map(usize::from).sum::<usize>()
    }
}

/// Whether no destination is that of several selected elements: as many bytes are marked then as elements are sent. To store
/// a byte waits for nothing, where bits of one word would be changed one after another.
fn are_distinct<I: Index>(
    index: &Checked<'_, I>,
    selection: Selection<'_>,
    stop: Stop<'_>,
    destinations: usize,
) -> bool {
    let (mut marks, mut sent) = (vec![0_u8; destinations], 0);
    each_selected(index, selection, stop, |_, offset| {
        // None for what another thread has moved below the range.
        if let Some(mark) = marks.get_mut(offset) {
            *mark = 1;
            sent += 1;
        }
    });
    count_marks(&marks) == sent
}

/// Calls `work` with each selected element and how far above the lowest destination it is sent.
#[inline(always)]
fn each_selected<I: Index>(
    index: &Checked<'_, I>,
    selection: Selection<'_>,
    stop: Stop<'_>,
    mut work: impl FnMut(usize, usize),
) {
    let (length, IndexRange { low, high }) = (index.shared.len(), index.range);
    if selection.0.is_none() {
        for start in (0..length).step_by(PORTION).take_while(|_| !stop.is_requested()) {
            let end = length.min(start + PORTION);
            index.shared.for_each_below::<4>(start..end, low, high - low + 1, &mut work);
        }
        return;
    }
    let mut block = Block::new();
    for start in (0..length).step_by(BLOCK).take_while(|_| !stop.is_requested()) {
        let end = length.min(start + BLOCK);
        let copied = index.block(start..end, selection, &mut block);
        copied.for_each(|element, destination| work(start + element, destination.wrapping_sub(low)));
    }
}
