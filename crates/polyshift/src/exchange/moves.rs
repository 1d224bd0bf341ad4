//! Which elements go from which rank to which: the boxes of one rank's exchange, computed from the geometry alone.
//!
//! A box is a product of intervals, one an axis. What a rank receives and what its partners send follow from the same
//! numbers, so no rank has to be told anything, and both ends of a message know the order of the boxes in it.

use crate::geometry::{Axis, Geometry};

/// An interval of one axis that this rank and another have in common in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The other rank's coordinate on the axis.
    pub other: usize,
    /// Where it begins here, counted from this rank's first element: negative before it.
    pub mine: i64,
    /// Where it begins there.
    pub theirs: i64,
    pub length: usize,
}

/// A box that this rank and another have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    pub rank: usize,
    pub mine: Vec<i64>,
    pub theirs: Vec<i64>,
    pub extents: Vec<usize>,
}

/// The boxes that are the products of intervals, one of each axis.
pub fn products(geometry: &Geometry, axes: &[Vec<Interval>]) -> Vec<Common> {
    let mut chosen: Vec<Vec<Interval>> = vec![Vec::new()];
    for intervals in axes {
        chosen = chosen
            .into_iter()
            .flat_map(|before| intervals.iter().map(move |interval| [&before[..], &[*interval]].concat()))
            .collect();
    }
    let common = |intervals: Vec<Interval>| {
        let coordinates: Vec<usize> = intervals.iter().map(|interval| interval.other).collect();
        Common {
            rank: geometry.rank_of(&coordinates),
            mine: intervals.iter().map(|interval| interval.mine).collect(),
            theirs: intervals.iter().map(|interval| interval.theirs).collect(),
            extents: intervals.iter().map(|interval| interval.length).collect(),
        }
    };
    chosen.into_iter().map(common).filter(|common| !common.extents.contains(&0)).collect()
}

/// How an axis goes on beyond one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// Not at all: no element of the array is there.
    Ends,
    /// Around, from the other end.
    Circular,
    /// Back, with the last element as the mirror: it is not there twice.
    Reflect,
    /// Back, with a mirror beyond the last element: it is there twice.
    Symmetric,
}

impl Continuation {
    /// The element of an axis of `extent` that is found at an index, within the axis or beyond this end of it. A mirror
    /// reflects again at the other end, so that any width has an element; `None` where there is none.
    pub fn element(self, index: i64, extent: i64) -> Option<i64> {
        if (0..extent).contains(&index) {
            return Some(index);
        }
        let period = match self {
            _ if extent == 0 => return None,
            Continuation::Ends => return None,
            Continuation::Circular => return Some(index.rem_euclid(extent)),
            Continuation::Reflect if extent == 1 => return Some(0),
            Continuation::Reflect => 2 * extent - 2,
            Continuation::Symmetric => 2 * extent,
        };
        let within = index.rem_euclid(period);
        let back = if self == Continuation::Reflect { period - within } else { period - 1 - within };
        Some(if within < extent { within } else { back })
    }

    fn is_mirror(self) -> bool {
        matches!(self, Continuation::Reflect | Continuation::Symmetric)
    }
}

/// An axis on which nothing moves: the rank's own elements and, where ghosts travel too, those around them.
pub fn still(axis: &Axis, coordinate: usize, ghosts: [usize; 2]) -> Vec<Interval> {
    let [before, after] = ghosts;
    let start = -(before as i64);
    let length = axis.length(coordinate);
    if length == 0 {
        return Vec::new();
    }
    vec![Interval { other: coordinate, mine: start, theirs: start, length: before + length + after }]
}

/// A distance as what it comes to: around the axis where `circular`, never farther than its end otherwise.
fn effective(axis: &Axis, by: i64, circular: bool) -> i64 {
    let extent = axis.extent() as i64;
    if circular { by.rem_euclid(extent) } else { by.clamp(-extent, extent) }
}

/// Where the elements of `coordinate` come from in a shift: element i is given element i + `by`.
pub fn shift_sources(axis: &Axis, coordinate: usize, by: i64, circular: bool) -> Vec<Interval> {
    let range = axis.range(coordinate);
    let from = range.start as i64 + effective(axis, by, circular);
    intervals_of(axis, from, range.len(), circular, 0)
}

/// Where the elements of `coordinate` go to in a shift: element j is given to element j - `by`.
pub fn shift_targets(axis: &Axis, coordinate: usize, by: i64, circular: bool) -> Vec<Interval> {
    let range = axis.range(coordinate);
    let from = range.start as i64 - effective(axis, by, circular);
    intervals_of(axis, from, range.len(), circular, 0)
}

fn intervals_of(axis: &Axis, from: i64, length: usize, circular: bool, mine: i64) -> Vec<Interval> {
    let pieces = axis.pieces(from, length, circular).into_iter();
    pieces
        .map(|piece| Interval {
            other: piece.coordinate,
            mine: mine + piece.at as i64,
            theirs: piece.local as i64,
            length: piece.length,
        })
        .collect()
}

/// The elements of `coordinate`, as `start..end` from its first, that a shift takes from beyond the ends of the axis.
pub fn shift_outside(axis: &Axis, coordinate: usize, by: i64) -> (usize, usize) {
    let range = axis.range(coordinate);
    let by = effective(axis, by, false);
    let (extent, start) = (axis.extent() as i64, range.start as i64);
    let within = |element: i64| (element - start).clamp(0, range.len() as i64) as usize;
    if by >= 0 { (within(extent - by), range.len()) } else { (0, within(-by)) }
}

/// The side of a block that ghosts lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// Where the ghosts of `coordinate` on one side begin: in the axis, and counted from its first element.
fn ghosts(axis: &Axis, coordinate: usize, side: Side, width: usize) -> (i64, i64) {
    let range = axis.range(coordinate);
    match side {
        Side::Before => (range.start as i64 - width as i64, -(width as i64)),
        Side::After => (range.end as i64, range.len() as i64),
    }
}

/// Where the ghosts of `coordinate` on one side come from, where the axis goes on beyond the end on that side as `beyond`
/// says.
pub fn ghost_sources(axis: &Axis, coordinate: usize, side: Side, width: usize, beyond: Continuation) -> Vec<Interval> {
    if axis.length(coordinate) == 0 {
        return Vec::new();
    }
    let (from, mine) = ghosts(axis, coordinate, side, width);
    let mut intervals = intervals_of(axis, from, width, beyond == Continuation::Circular, mine);
    if beyond.is_mirror() {
        let (start, end) = ghost_outside(axis, coordinate, side, width);
        intervals.extend((start..end).filter_map(|index| mirrored(axis, from - mine, index, beyond)));
    }
    intervals
}

/// The ghost at an index counted from a block's first element, `start`, that lies beyond a mirror: an interval of its own,
/// as elements follow one another in the other direction there.
fn mirrored(axis: &Axis, start: i64, index: i64, beyond: Continuation) -> Option<Interval> {
    let element = beyond.element(start + index, axis.extent() as i64)?;
    let (other, local) = axis.owner(element as usize);
    Some(Interval { other, mine: index, theirs: local as i64, length: 1 })
}

/// Whose ghosts the elements of `coordinate` are, where those ghosts lie on `side` of their owners.
pub fn ghost_targets(axis: &Axis, coordinate: usize, side: Side, width: usize, beyond: Continuation) -> Vec<Interval> {
    let mut targets = Vec::new();
    if axis.length(coordinate) == 0 || width == 0 {
        return targets;
    }
    for other in near(axis, coordinate, width, beyond == Continuation::Circular) {
        for source in ghost_sources(axis, other, side, width, beyond) {
            if source.other == coordinate {
                targets.push(Interval { other, mine: source.theirs, theirs: source.mine, length: source.length });
            }
        }
    }
    targets
}

/// The coordinates with elements whose ghosts may reach `coordinate`, by themselves or in a mirror at an end.
fn near(axis: &Axis, coordinate: usize, width: usize, circular: bool) -> Vec<usize> {
    let filled = axis.filled();
    // One more than full blocks would need, for the last block may be short.
    let reach = width.div_ceil(axis.block()) + 2;
    if 2 * reach + 1 >= filled {
        return (0..filled).collect();
    }
    let around = (0..=2 * reach).map(|step| coordinate as i64 + step as i64 - reach as i64);
    let filled = filled as i64;
    let inside = around.filter(|other| circular || (0..filled).contains(other));
    inside.map(|other| other.rem_euclid(filled) as usize).collect()
}

/// The ghosts of `coordinate` on one side that lie outside of the axis, as `start..end` from its first element.
pub fn ghost_outside(axis: &Axis, coordinate: usize, side: Side, width: usize) -> (i64, i64) {
    let (from, mine) = ghosts(axis, coordinate, side, width);
    let extent = axis.extent() as i64;
    match side {
        Side::Before => (mine, mine + (-from).clamp(0, width as i64)),
        Side::After => (mine + (extent - from).clamp(0, width as i64), mine + width as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Layout;
    use proptest::prelude::*;

    fn axes() -> impl Strategy<Value = Axis> {
        (1usize..30, 1usize..9).prop_map(|(extent, ranks)| {
            let layout = Layout { grid: Some(vec![ranks]), ..Layout::default() };
            Geometry::new(&[extent], ranks, &layout).unwrap().axes()[0]
        })
    }

    fn continuations() -> impl Strategy<Value = Continuation> {
        use Continuation::{Circular, Ends, Reflect, Symmetric};
        prop::sample::select(vec![Ends, Circular, Reflect, Symmetric])
    }

    #[test]
    fn mirrors_are_those_of_numpy_pad() {
        let beyond = |how: Continuation, extent: i64| -> Vec<i64> {
            (-5..extent + 5).map(|index| how.element(index, extent).unwrap()).collect()
        };
        // numpy.pad(numpy.arange(3), 5, mode) with "reflect" and "symmetric".
        assert_eq!(beyond(Continuation::Reflect, 3), [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]);
        assert_eq!(beyond(Continuation::Symmetric, 3), [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert_eq!(beyond(Continuation::Reflect, 1), [0; 11]);
        assert_eq!(Continuation::Reflect.element(-1, 0), None);
    }

    /// Every pair of indices that a list of intervals joins, from the point of view of the receiver:
    /// (receiver, index, sender, index).
    type Pairs = Vec<(usize, i64, usize, i64)>;

    fn received(axis: &Axis, intervals: impl Fn(usize) -> Vec<Interval>) -> Pairs {
        pairs(axis, intervals, |own, interval, step| {
            (own, interval.mine + step, interval.other, interval.theirs + step)
        })
    }

    fn sent(axis: &Axis, intervals: impl Fn(usize) -> Vec<Interval>) -> Pairs {
        pairs(axis, intervals, |own, interval, step| {
            (interval.other, interval.theirs + step, own, interval.mine + step)
        })
    }

    fn pairs(
        axis: &Axis,
        intervals: impl Fn(usize) -> Vec<Interval>,
        pair: impl Fn(usize, Interval, i64) -> (usize, i64, usize, i64),
    ) -> Pairs {
        let mut all: Pairs = Vec::new();
        for own in 0..axis.ranks() {
            for interval in intervals(own) {
                all.extend((0..interval.length as i64).map(|step| pair(own, interval, step)));
            }
        }
        all.sort_unstable();
        all
    }

    proptest! {
        #[test]
        fn what_is_received_is_what_is_sent(
            axis in axes(), by in -70i64..70, width in 0usize..40, circular: bool, beyond in continuations(),
        ) {
            let into = received(&axis, |own| shift_sources(&axis, own, by, circular));
            let out = sent(&axis, |own| shift_targets(&axis, own, by, circular));
            prop_assert_eq!(into, out);
            for side in [Side::Before, Side::After] {
                let into = received(&axis, |own| ghost_sources(&axis, own, side, width, beyond));
                let out = sent(&axis, |own| ghost_targets(&axis, own, side, width, beyond));
                prop_assert_eq!(into, out);
            }
        }

        #[test]
        fn every_element_comes_from_its_source_or_from_outside(
            axis in axes(), by in proptest::num::i64::ANY, small in -70i64..70, huge: bool,
        ) {
            let by = if huge { by } else { small };
            let extent = axis.extent() as i128;
            for own in 0..axis.ranks() {
                let range = axis.range(own);
                let (from, to) = shift_outside(&axis, own, by);
                let sources = shift_sources(&axis, own, by, false);
                for index in 0..range.len() {
                    let element = (range.start + index) as i128 + i128::from(by);
                    let hits: Vec<&Interval> = sources
                        .iter()
                        .filter(|s| (s.mine..s.mine + s.length as i64).contains(&(index as i64)))
                        .collect();
                    let is_outside = !(0..extent).contains(&element);
                    prop_assert_eq!((from..to).contains(&index), is_outside);
                    prop_assert_eq!(hits.len(), usize::from(!is_outside));
                    if let [hit] = hits[..] {
                        let theirs = hit.theirs + index as i64 - hit.mine;
                        prop_assert_eq!(axis.owner(element as usize), (hit.other, theirs as usize));
                    }
                }
            }
        }

        #[test]
        fn ghosts_come_from_their_elements_or_from_outside(axis in axes(), width in 0usize..40) {
            for own in (0..axis.ranks()).filter(|&own| axis.length(own) > 0) {
                for (side, first) in [(Side::Before, -(width as i64)), (Side::After, axis.length(own) as i64)] {
                    let (from, to) = ghost_outside(&axis, own, side, width);
                    let sources = ghost_sources(&axis, own, side, width, Continuation::Ends);
                    for index in first..first + width as i64 {
                        let element = axis.range(own).start as i64 + index;
                        let inside = (0..axis.extent() as i64).contains(&element);
                        let hits =
                            sources.iter().filter(|s| (s.mine..s.mine + s.length as i64).contains(&index)).count();
                        prop_assert_eq!(hits, usize::from(inside));
                        prop_assert_eq!((from..to).contains(&index), !inside);
                    }
                }
            }
        }
    }
}
