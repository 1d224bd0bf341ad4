//! In what order a sweep goes through an array, as a plan chooses it: tiles, time steps, planes together, and how far ahead.

use super::arrays::OUTER;

/// Lengths of a tile along axes 1 and 2, and elements of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) second: usize,
    pub(super) third: usize,
    pub(super) columns: usize,
}

/// How several steps are taken in one sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth {
    /// Steps in a sweep.
    pub(super) steps: usize,
    /// Rows of axis 1 in a tile.
    pub(super) second: usize,
}

/// How far ahead rows are prefetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Bytes, across the ends of rows.
    Bytes(usize),
    /// As many rows.
    Rows(usize),
}

impl Ahead {
    /// What hides memory's latency. Less comes too late where an array has just been written by non-temporal stores,
    /// and more is slower wherever a star reads from memory.
    pub(super) const IN_MEMORY: Ahead = Ahead::Bytes(4608);
}

/// The groups whose rows are prefetched: the last in memory, which no other group has read before; where not all
/// planes stay in near caches, the last of each plane of axis 0.
pub(super) fn leading(groups: &[[isize; OUTER]], of_each_plane: bool) -> Vec<usize> {
    let is_last =
        |group: &[isize; OUTER]| groups.iter().all(|other| (of_each_plane && other[0] != group[0]) || other <= group);
    groups.iter().enumerate().filter(|(_, group)| is_last(group)).map(|(number, _)| number).collect()
}

/// Planes of axis 0 that a sweep computes together, the rows of one index of axis 1 of each in turn: where several planes are
/// read for each one that is computed, and come from far in the caches, most of what one of them needs is there for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// How many planes.
    pub planes: usize,
    /// How far ahead rows are prefetched: those of the next index of axis 1.
    pub ahead: Ahead,
}

/// Planes of a bundle: with two the last-level cache is read more often, with eight there are too many streams to read
/// from.
const PLANES: usize = 4;

impl Bundle {
    /// For so many rows of one index of axis 1, of which a result needs `reach` indices more; None where they do not stay in
    /// so many bytes of cache until they have been used.
    pub(super) fn choose(rows: usize, row_bytes: usize, reach: usize, cache: usize) -> Option<Bundle> {
        // What is computed, what is prefetched meanwhile, and what the next index needs again; and a plane on either
        // side.
        let held = (PLANES + 2) * (2 + reach) * rows * row_bytes;
        (held <= cache).then_some(Bundle { planes: PLANES, ahead: Ahead::Rows(rows) })
    }
}
