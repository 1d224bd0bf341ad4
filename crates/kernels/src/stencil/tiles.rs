//! Tiles: pieces of a sweep whose planes stay in cache until they have served every row that needs them.
//!
//! A sweep along axis 0 reads each plane once for every distinct offset along that axis. Where the planes between the first
//! and the last of these uses do not fit into the second-level cache, axes 1 and 2 are cut, and a sweep is made for each
//! piece; what neighbouring pieces share is read again, so cuts are chosen to keep that smallest.

use super::arrays::{Job, OUTER};
use super::element::Element;
use super::plan::Plan;
use super::traversal::Tile;

/// Rows are cut at multiples of this, which every vector length divides.
const COLUMN_UNIT: usize = 512;

/// The tile for an array of these extents.
pub(super) fn choose<T: Element>(plan: &Plan<T>) -> Tile {
    let [_, second, third] = plan.outer;
    let reach = |axis: usize| if axis + 1 < plan.axes { plan.reach[axis].0 + plan.reach[axis].1 } else { 0 };
    let (planes, shared_second, shared_third) = (reach(0) + 1, reach(1), reach(2));
    let row_bytes = plan.row * size_of::<T>();
    let held = |tile_second: usize, tile_third: usize| {
        planes * (tile_second + shared_second) * (tile_third + shared_third) * row_bytes
    };
    let whole = Tile { second, third, columns: plan.row };
    if planes * second * third * row_bytes <= plan.options.cache {
        return whole;
    }
    // Rows that are used once need no cache: without neighbours along outer axes nothing is gained.
    if planes + shared_second + shared_third == 1 {
        return whole;
    }
    let mut best: Option<(f64, Tile)> = None;
    for tile_second in lengths(second) {
        for tile_third in lengths(third) {
            if held(tile_second, tile_third) > plan.options.cache {
                continue;
            }
            let again = |shared: usize, length: usize, extent: usize| {
                if length == extent { 1.0 } else { 1.0 + shared as f64 / length as f64 }
            };
            let cost = again(shared_second, tile_second, second) * again(shared_third, tile_third, third);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, Tile { second: tile_second, third: tile_third, columns: plan.row }));
            }
        }
    }
    best.map_or_else(
        || {
            let rows = planes * (1 + shared_second) * (1 + shared_third);
            let columns = plan.options.cache / (rows * size_of::<T>()) / COLUMN_UNIT * COLUMN_UNIT;
            Tile { second: 1, third: 1, columns: columns.max(COLUMN_UNIT).min(plan.row) }
        },
        |(_, tile)| tile,
    )
}

/// Lengths that cut an extent into nearly equal pieces.
pub(super) fn lengths(extent: usize) -> Vec<usize> {
    let mut lengths: Vec<usize> = (1..=extent.min(256)).map(|pieces| extent.div_ceil(pieces)).collect();
    lengths.push(1);
    lengths.dedup();
    lengths
}

/// The jobs that a job consists of, tile by tile.
pub(super) fn cut<T: Element>(plan: &Plan<T>, job: &Job<T>) -> impl Iterator<Item = Job<T>> + use<T> {
    let (job, tile) = (*job, plan.tile);
    let [range, second, third] = job.ranges;
    let columns = (job.columns.0 as isize, job.columns.1 as isize);
    pieces(second, tile.second).flat_map(move |second| {
        pieces(third, tile.third).flat_map(move |third| {
            let ranges: [_; OUTER] = [range, second, third];
            pieces(columns, tile.columns).map(move |(from, to)| Job {
                ranges,
                columns: (from as usize, to as usize),
                ..job
            })
        })
    })
}

/// A range in pieces of a length.
pub(super) fn pieces((start, end): (isize, isize), length: usize) -> impl Iterator<Item = (isize, isize)> {
    let length = isize::try_from(length).unwrap_or(isize::MAX).clamp(1, (end - start).max(1));
    (0..)
        .map(move |piece| start + piece * length)
        .take_while(move |&from| from < end)
        .map(move |from| (from, (from + length).min(end)))
}

/// What the tiles are, in words.
pub(super) fn explain<T: Element>(plan: &Plan<T>) -> String {
    let Tile { second, third, columns } = plan.tile;
    if [second, third] == plan.outer[1..] && columns == plan.row {
        return "tiles: none needed\n".to_string();
    }
    format!("tiles: {second} x {third} rows of {columns} elements for each index of axis 0\n")
}
