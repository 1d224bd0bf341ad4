//! What one rank reads to compute its part of a stencil's result.

use weft_kernels::stencil::{Region, interior_and_rim};

use crate::exchange::{Corners, Edge, Halo};
use crate::geometry::Geometry;

/// Ghosts before and after the block of a rank along the axes of a stencil's grid, which begin with `first` of the
/// geometry's: as far as the stencil reaches, where the array goes on on another rank, and never beyond its end.
pub fn ghosts(
    geometry: &Geometry,
    rank: usize,
    first: usize,
    reach: &[(usize, usize)],
    circular: &[bool],
) -> Vec<[usize; 2]> {
    let coordinates = geometry.coordinates_of(rank);
    let axes = geometry.axes()[first..].iter().zip(&coordinates[first..]).zip(reach.iter().zip(circular));
    axes.map(|((axis, &coordinate), (&(low, high), &circular))| {
        if axis.ranks() == 1 {
            return [0, 0];
        }
        if circular {
            return [low, high];
        }
        let range = axis.range(coordinate);
        [low.min(range.start), high.min(axis.extent() - range.end)]
    })
    .collect()
}

/// The ghosts that the blocks of array `array` need for a stencil, on all ranks; `None` where no axis is divided, or none
/// that the stencil reaches along. `diagonal` says of two axes of the grid whether a point is off along both.
pub fn halo(
    geometry: &Geometry,
    array: usize,
    first: usize,
    reach: &[(usize, usize)],
    circular: &[bool],
    diagonal: impl Fn(usize, usize) -> bool,
) -> Option<Halo> {
    let grid = first..first + reach.len();
    let is_divided = |axis: usize| grid.contains(&axis) && geometry.axes()[axis].ranks() > 1;
    let widths: Vec<[usize; 2]> = (0..geometry.dimensions())
        .map(|axis| if is_divided(axis) { [reach[axis - first].0, reach[axis - first].1] } else { [0, 0] })
        .collect();
    if widths.iter().flatten().all(|&width| width == 0) {
        return None;
    }
    let edges = (0..geometry.dimensions())
        .map(|axis| if grid.contains(&axis) && circular[axis - first] { Edge::Circular } else { Edge::Keep })
        .collect();
    let has_corners = (0..reach.len()).any(|axis| {
        (0..axis).any(|other| is_divided(first + axis) && is_divided(first + other) && diagonal(other, axis))
    });
    let corners = if has_corners { Corners::AtOnce } else { Corners::None };
    Some(Halo { array, widths, edges, corners })
}

/// A rank's block and its ghosts as one array, and the regions of it that are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Ghosts before and after, by axis of the grid.
    pub ghosts: Vec<[usize; 2]>,
    /// Sites along each axis, ghosts counted.
    pub extents: Vec<usize>,
    /// The sites that need no ghosts.
    pub interior: Region,
    /// The others, in pieces.
    pub rim: Vec<Region>,
}

impl Block {
    /// The block of a rank; see [`ghosts`].
    pub fn new(geometry: &Geometry, rank: usize, first: usize, reach: &[(usize, usize)], circular: &[bool]) -> Block {
        let ghosts = ghosts(geometry, rank, first, reach, circular);
        let own = &geometry.local_shape(rank)[first..first + reach.len()];
        let waiting: Vec<(usize, usize)> = ghosts
            .iter()
            .zip(reach)
            .map(|(&[before, after], &(low, high))| {
                (if before > 0 { low } else { 0 }, if after > 0 { high } else { 0 })
            })
            .collect();
        let (interior, rim) = interior_and_rim(own, &waiting);
        let placed = |region: Region| Region {
            ranges: region
                .ranges
                .iter()
                .zip(&ghosts)
                .map(|(&(from, to), &[before, _])| (from + before, to + before))
                .collect(),
        };
        let extents = own.iter().zip(&ghosts).map(|(own, [before, after])| before + own + after).collect();
        let (interior, rim) = (placed(interior), rim.into_iter().map(placed).collect());
        Block { ghosts, extents, interior, rim }
    }

    /// Whether the rank has no sites.
    pub fn is_empty(&self) -> bool {
        self.interior.sites() == 0 && self.rim.is_empty()
    }
}
