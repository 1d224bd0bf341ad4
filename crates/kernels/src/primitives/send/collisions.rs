//! Finds out whether two elements are sent to one.

use crate::Stop;

use super::super::indices::{Index, Range, read_index};
use super::super::view::Selection;
use super::super::{PrimitiveError, finished};

/// Bits for so many destinations are taken without asking how many senders there are.
const FEW: usize = 1 << 19;

/// Elements that are looked at before it is asked whether to go on.
const PORTION: usize = 1 << 16;

/// An error for the lowest destination of several selected elements, with the first two of them.
pub(super) fn refuse<I: Index>(
    index: &[I],
    selection: Selection<'_>,
    range: Range,
    stop: Stop<'_>,
) -> Result<(), PrimitiveError> {
    let destinations = range.high - range.low + 1;
    // SAFETY: elements are those of the slice.
    let place_of = |element: usize| unsafe { read_index(index.as_ptr(), element) };
    let goes_on = |element: &usize| !element.is_multiple_of(PORTION) || !stop.is_asked();
    let selected = || (0..index.len()).take_while(goes_on).filter(|&element| selection.holds(element));
    let several = if destinations <= FEW.max(64 * index.len()) {
        let mut taken = vec![0_u64; destinations.div_ceil(64)];
        let mut lowest = None;
        for element in selected() {
            let place = place_of(element).wrapping_sub(range.low);
            let bit = 1 << (place % 64);
            // None for what another thread has moved out of the range.
            let Some(word) = taken.get_mut(place / 64) else { continue };
            if *word & bit != 0 {
                lowest = Some(lowest.map_or(place, |lowest: usize| lowest.min(place)));
            }
            *word |= bit;
        }
        lowest.map(|place| place + range.low)
    } else {
        let mut places: Vec<usize> = selected().map(place_of).collect();
        places.sort_unstable();
        places.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    finished(stop)?;
    let Some(destination) = several else { return Ok(()) };
    let mut senders = selected().filter(|&element| place_of(element) == destination);
    match (senders.next(), senders.next()) {
        (Some(first), Some(second)) => Err(PrimitiveError::Collision { first, second, destination }),
        _ => Ok(()),
    }
}
