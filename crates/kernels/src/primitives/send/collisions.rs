//! Finds out whether two elements are sent to one.

use crate::Stop;

use super::super::indices::{BLOCK, Block, Checked, Index};
use super::super::view::Selection;
use super::super::{PrimitiveError, finished};

/// Bits for so many destinations are taken without asking how many senders there are.
const FEW: usize = 1 << 19;

/// An error for the lowest destination of several selected elements, with the first two of them.
pub(super) fn refuse<I: Index>(
    index: &Checked<'_, I>,
    selection: Selection<'_>,
    stop: Stop<'_>,
) -> Result<(), PrimitiveError> {
    let low = index.range.low;
    let destinations = index.range.high - low + 1;
    let several = if destinations <= FEW.max(64 * index.shared.len()) {
        let mut taken = vec![0_u64; destinations.div_ceil(64)];
        let mut lowest = None;
        each_selected(index, selection, stop, |_, destination| {
            let place = destination.wrapping_sub(low);
            let bit = 1 << (place % 64);
            // None for what another thread has moved below the range.
            let Some(word) = taken.get_mut(place / 64) else { return };
            if *word & bit != 0 {
                lowest = Some(lowest.map_or(destination, |lowest: usize| lowest.min(destination)));
            }
            *word |= bit;
        });
        lowest
    } else {
        let mut all = Vec::new();
        each_selected(index, selection, stop, |_, destination| all.push(destination));
        all.sort_unstable();
        all.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    finished(stop)?;
    let Some(several) = several else { return Ok(()) };
    let mut senders = Vec::new();
    each_selected(index, selection, stop, |element, destination| {
        if destination == several && senders.len() < 2 {
            senders.push(element);
        }
    });
    match senders[..] {
        [first, second] => Err(PrimitiveError::Collision { first, second, destination: several }),
        // Another thread has written the indices meanwhile.
        _ => Ok(()),
    }
}

/// Calls `work` with each selected element and where it is sent to.
fn each_selected<I: Index>(
    index: &Checked<'_, I>,
    selection: Selection<'_>,
    stop: Stop<'_>,
    mut work: impl FnMut(usize, usize),
) {
    let length = index.shared.len();
    let mut block = Block::new();
    for start in (0..length).step_by(BLOCK).take_while(|_| !stop.is_asked()) {
        let end = length.min(start + BLOCK);
        let copied = index.block(start..end, selection, &mut block);
        copied.for_each(|element, destination| work(start + element, destination));
    }
}
