//! Finds out whether two elements are sent to one.

use super::super::PrimitiveError;
use super::super::indices::{Index, Range};
use super::super::view::Selection;

/// Bits for so many destinations are taken without asking how many senders there are.
const FEW: usize = 1 << 19;

/// An error for the lowest destination of several selected elements, with the first two of them.
pub(super) fn refuse<I: Index>(index: &[I], selection: Selection<'_>, range: Range) -> Result<(), PrimitiveError> {
    let destinations = range.high - range.low + 1;
    let selected = || (0..index.len()).filter(|&element| selection.holds(element));
    let several = if destinations <= FEW.max(64 * index.len()) {
        let mut taken = vec![0_u64; destinations.div_ceil(64)];
        let mut lowest = None;
        for element in selected() {
            let place = index[element].place() - range.low;
            let (word, bit) = (place / 64, 1 << (place % 64));
            if taken[word] & bit != 0 {
                lowest = Some(lowest.map_or(place, |lowest: usize| lowest.min(place)));
            }
            taken[word] |= bit;
        }
        lowest.map(|place| place + range.low)
    } else {
        let mut places: Vec<usize> = selected().map(|element| index[element].place()).collect();
        places.sort_unstable();
        places.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    let Some(destination) = several else { return Ok(()) };
    let mut senders = selected().filter(|&element| index[element].place() == destination);
    match (senders.next(), senders.next()) {
        (Some(first), Some(second)) => Err(PrimitiveError::Collision { first, second, destination }),
        _ => Ok(()),
    }
}
