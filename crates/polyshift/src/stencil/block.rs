//! What one rank reads to compute its part of a stencil's result.

use weft_kernels::stencil::{Region, interior_and_rim};

use crate::exchange::{Corners, Edge, Halo};
use crate::geometry::Geometry;

/// How far a stencil reaches in so many steps.
pub fn deep(reach: &[(usize, usize)], steps: usize) -> Vec<(usize, usize)> {
    reach.iter().map(|&(low, high)| (low * steps, high * steps)).collect()
}

/// Ghosts before and after the block of a rank along the axes of a stencil's grid, which begin with `first` of the
/// geometry's: as far as `reach`, where the array goes on on another rank, and never beyond its end.
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
/// that the stencil reaches along. `diagonal` says of two axes of the grid whether a point is off along both; for several
/// steps between exchanges, whether the points of several steps are.
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
        .map(|edge| [edge.clone(), edge])
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
    /// The sites that need no ghosts in one step.
    pub interior: Region,
    /// The others, in pieces.
    pub rim: Vec<Region>,
    /// What is computed in as many steps as an exchange serves, from one on.
    pub supersteps: Vec<Superstep>,
}

/// What a rank computes after one exchange, when so many steps are to follow: the steps before the last are taken for
/// ghosts too, as far as the later ones need them, so that no other exchange is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superstep {
    /// The sites of the first step that need no ghosts, and the others of it.
    pub interior: Region,
    pub rim: Vec<Region>,
    /// The sites of the other steps.
    pub later: Vec<Region>,
    /// Of the block's own sites, those whose value after all steps needs no ghosts, and the others.
    pub deep_interior: Region,
    pub deep_rim: Vec<Region>,
}

impl Superstep {
    /// Sites computed in all steps, one step after the other.
    pub fn sites(&self) -> usize {
        self.rim.iter().chain(&self.later).chain([&self.interior]).map(Region::sites).sum()
    }
}

/// A block's own sites and its ghosts along one axis.
#[derive(Clone, Copy)]
struct Side {
    before: usize,
    own: usize,
    after: usize,
    reach: (usize, usize),
}

impl Side {
    /// The sites that are needed when so many steps follow.
    fn needed(&self, later: usize) -> (usize, usize) {
        let (low, high) = self.reach;
        (self.before.saturating_sub(later * low), self.before + self.own + self.after.min(later * high))
    }

    /// The own sites that do not need ghosts in so many steps.
    fn interior(&self, steps: usize) -> (usize, usize) {
        let (low, high) = self.reach;
        let first = if self.before > 0 { (steps * low).min(self.own) } else { 0 };
        let end = if self.after > 0 { self.own.saturating_sub(steps * high).max(first) } else { self.own };
        (self.before + first, self.before + end)
    }
}

/// The interior of `whole`, along each axis as far as `within` says, and the rest of it in pieces.
fn split(whole: &[(usize, usize)], within: &[(usize, usize)]) -> (Region, Vec<Region>) {
    let extents: Vec<usize> = whole.iter().map(|&(from, to)| to - from).collect();
    let waiting: Vec<(usize, usize)> =
        whole.iter().zip(within).map(|(&(from, to), &(first, end))| (first - from, to - end)).collect();
    let (interior, rim) = interior_and_rim(&extents, &waiting);
    let placed = |region: Region| Region {
        ranges: region.ranges.iter().zip(whole).map(|(&(from, to), &(start, _))| (from + start, to + start)).collect(),
    };
    (placed(interior), rim.into_iter().map(placed).collect())
}

fn superstep(sides: &[Side], steps: usize) -> Superstep {
    let needed = |later: usize| sides.iter().map(|side| side.needed(later)).collect::<Vec<_>>();
    let inner = |steps: usize| sides.iter().map(|side| side.interior(steps)).collect::<Vec<_>>();
    let (interior, rim) = split(&needed(steps - 1), &inner(1));
    let later = (0..steps - 1).rev().map(|later| Region { ranges: needed(later) }).collect();
    let (deep_interior, deep_rim) = split(&needed(0), &inner(steps));
    Superstep { interior, rim, later, deep_interior, deep_rim }
}

impl Block {
    /// The block of a rank, with ghosts for so many steps between exchanges; see [`ghosts`].
    pub fn new(
        geometry: &Geometry,
        rank: usize,
        first: usize,
        reach: &[(usize, usize)],
        circular: &[bool],
        steps: usize,
    ) -> Block {
        let ghosts = ghosts(geometry, rank, first, &deep(reach, steps), circular);
        let own = &geometry.local_shape(rank)[first..first + reach.len()];
        let sides = own.iter().zip(&ghosts).zip(reach);
        let sides: Vec<Side> =
            sides.map(|((&own, &[before, after]), &reach)| Side { before, own, after, reach }).collect();
        let extents = sides.iter().map(|side| side.before + side.own + side.after).collect();
        let supersteps: Vec<Superstep> = (1..=steps).map(|steps| superstep(&sides, steps)).collect();
        let (interior, rim) = (supersteps[0].interior.clone(), supersteps[0].rim.clone());
        Block { ghosts, extents, interior, rim, supersteps }
    }

    /// Whether the rank has no sites.
    pub fn is_empty(&self) -> bool {
        self.interior.sites() == 0 && self.rim.is_empty()
    }
}
