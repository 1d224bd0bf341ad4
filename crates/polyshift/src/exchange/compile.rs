//! From a pattern to what one rank does: local copies, and one message per neighbour.

use weft_comm::Ends;

use super::copy::{Address, BoxCopy, Copies};
use super::moves::{self, Common, Continuation, Interval, Side, products, still};
use super::pattern::{Boundary, Corners, Edge, Halo, Pattern, PatternError, Shift, Storage};
use crate::geometry::{Axis, Geometry};

/// What one rank does in an exchange. Several stages follow each other; within one all messages are under way at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlan {
    pub stages: Vec<Stage>,
    /// The number of arrays.
    pub arrays: usize,
    /// What boundaries are filled with.
    pub constants: Vec<u8>,
    /// What of each boundary array goes to the constants: from the whole array in C order (base 0) to them (base 1). In the
    /// order of the pattern: its shifts, or its halos and their axes, those that have an array.
    pub boundaries: Vec<Copies>,
}

/// One stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// The other ranks, each with the bytes that go there and come from there.
    pub ends: Vec<Ends>,
    /// What goes into the message to each of them,
    pub pack: Vec<Copies>,
    /// and where what comes from each goes.
    pub unpack: Vec<Copies>,
    /// What stays on this rank, and boundaries.
    pub local: Copies,
}

impl RankPlan {
    /// The plan of `rank`.
    ///
    /// # Errors
    /// [`PatternError`] where the pattern does not fit the arrays.
    pub fn new(
        geometry: &Geometry,
        rank: usize,
        arrays: &[Storage],
        pattern: &Pattern,
    ) -> Result<RankPlan, PatternError> {
        pattern.check(&geometry.shape(), arrays)?;
        let mut compiler = Compiler { geometry, rank, arrays, constants: Vec::new(), boundaries: Vec::new() };
        let stages = match pattern {
            Pattern::Shifts(shifts) => vec![compiler.shifts(shifts)],
            Pattern::Halos(halos) => compiler.halos(halos),
        };
        let mut plan = RankPlan {
            stages,
            arrays: arrays.len(),
            constants: compiler.constants,
            boundaries: compiler.boundaries.into_iter().map(Copies::new).collect(),
        };
        for (number, bytes) in pattern.boundary_arrays().into_iter().enumerate() {
            // SAFETY: the lengths were checked; the source is only read.
            unsafe { plan.read_boundary(number, bytes.as_ptr()) };
        }
        Ok(plan)
    }

    /// Takes over what a boundary array holds now.
    ///
    /// # Safety
    /// `whole` begins as many elements, one after the other, as the pattern's array had.
    pub unsafe fn read_boundary(&mut self, number: usize, whole: *const u8) {
        let constants = self.constants.as_mut_ptr();
        // SAFETY: `whole` begins all elements of the boundary array (this function's condition), within which `lines`
        // has put every source, and `lines` has made the constants longer by every destination, each its own.
        unsafe { self.boundaries[number].run(&[whole.cast_mut(), constants]) };
    }

    /// Bytes that this rank sends to others.
    pub fn sent_bytes(&self) -> usize {
        self.stages.iter().flat_map(|stage| &stage.ends).map(|end| end.send_bytes).sum()
    }

    /// Bytes that this rank copies for itself, boundaries included.
    pub fn local_bytes(&self) -> usize {
        self.stages.iter().map(|stage| stage.local.bytes()).sum()
    }

    /// Bytes that this rank copies into messages, and those that it copies out of them or within its own arrays.
    pub fn copied_bytes(&self) -> [u64; 2] {
        let packed: usize = self.stages.iter().flat_map(|stage| &stage.pack).map(Copies::bytes).sum();
        let unpacked: usize = self.stages.iter().flat_map(|stage| &stage.unpack).map(Copies::bytes).sum();
        [packed as u64, (unpacked + self.local_bytes()) as u64]
    }

    /// Messages that this rank sends.
    pub fn messages(&self) -> usize {
        self.stages.iter().flat_map(|stage| &stage.ends).filter(|end| end.send_bytes > 0).count()
    }

    /// The base of a message in the bases of copies: after those of the arrays.
    pub(super) fn message_base(&self) -> usize {
        self.arrays
    }
}

/// A box that is common with a rank, of one of the things that an exchange does.
struct Item {
    /// Which of them: the same number on both ranks.
    number: usize,
    common: Common,
    source: usize,
    result: usize,
}

/// What one stage does, before it is made into copies.
#[derive(Default)]
struct Draft {
    receives: Vec<Item>,
    sends: Vec<Item>,
    fills: Vec<BoxCopy>,
}

struct Compiler<'a> {
    geometry: &'a Geometry,
    rank: usize,
    arrays: &'a [Storage],
    constants: Vec<u8>,
    boundaries: Vec<Vec<BoxCopy>>,
}

impl Compiler<'_> {
    fn coordinates(&self) -> Vec<usize> {
        self.geometry.coordinates_of(self.rank)
    }

    /// The intervals of every axis, by a function of axis number, axis and this rank's coordinate there.
    fn intervals(&self, of: impl Fn(usize, &Axis, usize) -> Vec<Interval>) -> Vec<Vec<Interval>> {
        let axes = self.geometry.axes().iter().zip(self.coordinates()).enumerate();
        axes.map(|(number, (axis, coordinate))| of(number, axis, coordinate)).collect()
    }

    fn shifts(&mut self, shifts: &[Shift]) -> Stage {
        let mut draft = Draft::default();
        for (number, shift) in shifts.iter().enumerate() {
            if matches!(shift.boundary, Boundary::Array(_)) {
                self.boundaries.push(Vec::new());
            }
            let circular = shift.boundary == Boundary::Circular;
            let along = |make: fn(&Axis, usize, i64, bool) -> Vec<Interval>| {
                let axes = self.intervals(|number, axis, coordinate| {
                    if number == shift.axis {
                        make(axis, coordinate, shift.by, circular)
                    } else {
                        still(axis, coordinate, [0, 0])
                    }
                });
                products(self.geometry, &axes)
            };
            let item = |common| Item { number, common, source: shift.source, result: shift.result };
            draft.receives.extend(along(moves::shift_sources).into_iter().map(item));
            draft.sends.extend(along(moves::shift_targets).into_iter().map(item));
            self.fill_shift(shift, &mut draft.fills);
        }
        self.stage(draft)
    }

    /// The boundary of an end-off shift.
    fn fill_shift(&mut self, shift: &Shift, fills: &mut Vec<BoxCopy>) {
        let coordinates = self.coordinates();
        let axis = &self.geometry.axes()[shift.axis];
        let (from, to) = moves::shift_outside(axis, coordinates[shift.axis], shift.by);
        let storage = &self.arrays[shift.result];
        let mut extents = self.geometry.local_shape(self.rank);
        extents[shift.axis] = to - from;
        if extents.contains(&0) {
            return;
        }
        let mut index = vec![0; extents.len()];
        index[shift.axis] = from as i64;
        let to = Address { base: shift.result, offset: storage.offset(&index) };
        let to_strides = storage.strides.clone();
        let element = storage.element;
        let (from, from_strides) = match &shift.boundary {
            Boundary::Circular => return,
            Boundary::Value(bytes) => (self.constant(bytes), vec![0; extents.len()]),
            Boundary::Array(_) => {
                let ranges: Vec<(i64, i64)> =
                    index.iter().zip(&extents).map(|(&at, &extent)| (at, at + extent as i64)).collect();
                // Its number is that of the last one begun.
                self.lines(
                    self.boundaries.len() - 1,
                    shift.axis,
                    element,
                    &ranges,
                    &vec![[Continuation::Ends; 2]; extents.len()],
                )
            }
        };
        fills.push(BoxCopy { from, to, extents, from_strides, to_strides, element });
    }

    /// An address among the constants for one element.
    fn constant(&mut self, bytes: &[u8]) -> Address {
        let address = Address { base: self.constants_base(), offset: self.constants.len() as isize };
        self.constants.extend(bytes);
        address
    }

    /// An address among the constants for what a boundary array of `axis` has for a box of this rank, and its strides
    /// over the box (0 along the axis). `ranges` are counted from the rank's first element; `beyond` says how each axis goes
    /// on at its ends.
    fn lines(
        &mut self,
        number: usize,
        axis: usize,
        element: usize,
        ranges: &[(i64, i64)],
        beyond: &[[Continuation; 2]],
    ) -> (Address, Vec<isize>) {
        let shape = self.geometry.shape();
        let start = self.geometry.start(self.rank);
        let without = |mut extents: Vec<usize>| {
            extents[axis] = 1;
            let mut strides = Storage::contiguous(element, &extents, &vec![[0, 0]; extents.len()]).strides;
            strides[axis] = 0;
            strides
        };
        let extents: Vec<usize> = ranges.iter().map(|&(from, to)| (to - from) as usize).collect();
        let (whole, own) = (without(shape.clone()), without(extents.clone()));
        let base = self.constants.len() as isize;
        let runs: Vec<Vec<Run>> = (0..shape.len())
            .map(|other| match other == axis {
                true => vec![Run { at: 0, from: 0, length: 1, is_repeated: false }],
                false => runs(start[other] as i64 + ranges[other].0, extents[other], shape[other], beyond[other]),
            })
            .collect();
        let mut chosen: Vec<Vec<Run>> = vec![Vec::new()];
        for of_axis in &runs {
            chosen = chosen
                .into_iter()
                .flat_map(|before| of_axis.iter().map(move |run| [&before[..], &[*run]].concat()))
                .collect();
        }
        let offset = |indices: Vec<usize>, strides: &[isize]| -> isize {
            indices.iter().zip(strides).map(|(&at, stride)| at as isize * stride).sum()
        };
        let copies = chosen.into_iter().map(|runs| BoxCopy {
            from: Address { base: 0, offset: offset(runs.iter().map(|run| run.from).collect(), &whole) },
            to: Address { base: 1, offset: base + offset(runs.iter().map(|run| run.at).collect(), &own) },
            extents: runs.iter().map(|run| run.length).collect(),
            from_strides: runs.iter().zip(&whole).map(|(run, &step)| if run.is_repeated { 0 } else { step }).collect(),
            to_strides: own.clone(),
            element,
        });
        self.boundaries[number].extend(copies);
        let elements: usize = (0..extents.len()).filter(|&other| other != axis).map(|other| extents[other]).product();
        self.constants.resize(self.constants.len() + elements * element, 0);
        (Address { base: self.constants_base(), offset: base }, own)
    }

    fn halos(&mut self, halos: &[Halo]) -> Vec<Stage> {
        let staged = halos.iter().any(|halo| halo.corners == Corners::Staged);
        let stages = if staged { self.geometry.dimensions() } else { 1 };
        let mut drafts: Vec<Draft> = (0..stages).map(|_| Draft::default()).collect();
        let mut number = 0;
        for halo in halos {
            let mut number_of = |edge: &Edge| {
                matches!(edge, Edge::Array(_)).then(|| {
                    self.boundaries.push(Vec::new());
                    self.boundaries.len() - 1
                })
            };
            let numbers: Vec<[Option<usize>; 2]> =
                halo.edges.iter().map(|ends| [number_of(&ends[0]), number_of(&ends[1])]).collect();
            for direction in directions(halo) {
                let stage = match halo.corners {
                    Corners::Staged => direction.iter().position(Option::is_some).unwrap_or(0),
                    _ => 0,
                };
                self.halo(halo, &numbers, &direction, number, &mut drafts[stage]);
                number += 1;
            }
        }
        // Also those in which this rank does nothing: setting up messages is for all ranks.
        drafts.into_iter().map(|draft| self.stage(draft)).collect()
    }

    /// The ghosts of one array in one direction; `arrays` are the numbers of its edges' boundary arrays.
    fn halo(
        &mut self,
        halo: &Halo,
        arrays: &[[Option<usize>; 2]],
        direction: &[Option<Side>],
        number: usize,
        draft: &mut Draft,
    ) {
        let width = |axis: usize, side: Side| halo.widths[axis][usize::from(side == Side::After)];
        // In a stage, the ghosts of the axes before travel along, but for those that are to be kept.
        let stage = direction.iter().position(Option::is_some);
        let is_before = |axis: usize| halo.corners == Corners::Staged && stage.is_some_and(|stage| axis < stage);
        let coordinates = self.coordinates();
        let travelling = |axis: usize| {
            [Side::Before, Side::After].map(|side| match (is_before(axis), edge(halo, axis, side)) {
                (false, _) => 0,
                (true, Edge::Keep) => {
                    let axes = &self.geometry.axes()[axis];
                    let (from, to) = moves::ghost_outside(axes, coordinates[axis], side, width(axis, side));
                    width(axis, side) - (to - from) as usize
                }
                (true, _) => width(axis, side),
            })
        };
        let along = |make: fn(&Axis, usize, Side, usize, Continuation) -> Vec<Interval>| {
            let axes = self.intervals(|number, axis, coordinate| match direction[number] {
                Some(side) => {
                    make(axis, coordinate, side, width(number, side), edge(halo, number, side).continuation())
                }
                None => still(axis, coordinate, travelling(number)),
            });
            products(self.geometry, &axes)
        };
        let item = |common| Item { number, common, source: halo.array, result: halo.array };
        draft.receives.extend(along(moves::ghost_sources).into_iter().map(item));
        draft.sends.extend(along(moves::ghost_targets).into_iter().map(item));
        if !self.geometry.is_idle(self.rank) {
            self.fill_halo(halo, arrays, direction, &travelling, &mut draft.fills);
        }
    }

    /// Ghosts in one direction that lie outside of the array: every part of them is beyond the end of a last axis.
    fn fill_halo(
        &mut self,
        halo: &Halo,
        arrays: &[[Option<usize>; 2]],
        direction: &[Option<Side>],
        travelling: &dyn Fn(usize) -> [usize; 2],
        fills: &mut Vec<BoxCopy>,
    ) {
        let coordinates = self.coordinates();
        let lengths = self.geometry.local_shape(self.rank);
        let axes = self.geometry.axes();
        let width = |axis: usize, side: Side| halo.widths[axis][usize::from(side == Side::After)];
        let all = |axis: usize| -> (i64, i64) {
            let length = lengths[axis] as i64;
            match direction[axis] {
                Some(Side::Before) => (-(width(axis, Side::Before) as i64), 0),
                Some(Side::After) => (length, length + width(axis, Side::After) as i64),
                None => {
                    let [before, after] = travelling(axis);
                    (-(before as i64), length + after as i64)
                }
            }
        };
        let outside = |axis: usize, side: Side| -> (i64, i64) {
            if edge(halo, axis, side).continuation() != Continuation::Ends {
                return (0, 0);
            }
            moves::ghost_outside(&axes[axis], coordinates[axis], side, width(axis, side))
        };
        for last in 0..axes.len() {
            let Some(side) = direction[last] else { continue };
            let beyond = outside(last, side);
            if beyond.0 >= beyond.1 {
                continue;
            }
            if *edge(halo, last, side) == Edge::Keep {
                continue;
            }
            // Beyond the end of `last`, and of no axis after it, nor of one that is kept.
            let ranges: Vec<(i64, i64)> = (0..axes.len())
                .map(|axis| match direction[axis] {
                    _ if axis == last => beyond,
                    Some(side) if axis > last || *edge(halo, axis, side) == Edge::Keep => {
                        within(all(axis), outside(axis, side))
                    }
                    _ => all(axis),
                })
                .collect();
            if ranges.iter().any(|(from, to)| from >= to) {
                continue;
            }
            let storage = &self.arrays[halo.array];
            let (element, to_strides) = (storage.element, storage.strides.clone());
            let index: Vec<i64> = ranges.iter().map(|range| range.0).collect();
            let to = Address { base: halo.array, offset: storage.offset(&index) };
            let extents = ranges.iter().map(|(from, to)| (to - from) as usize).collect();
            let (from, from_strides) = match (edge(halo, last, side), arrays[last][usize::from(side == Side::After)]) {
                (Edge::Value(value), _) => (self.constant(value), vec![0; ranges.len()]),
                (_, Some(number)) => {
                    let beyond: Vec<[Continuation; 2]> =
                        halo.edges.iter().map(|ends| [ends[0].continuation(), ends[1].continuation()]).collect();
                    self.lines(number, last, element, &ranges, &beyond)
                }
                _ => continue,
            };
            fills.push(BoxCopy { from, to, extents, from_strides, to_strides, element });
        }
    }

    fn constants_base(&self) -> usize {
        self.arrays.len() + 1
    }

    /// Sorts boxes by rank and makes them copies. Both ranks of a message have its boxes in the order of what they are
    /// part of and then of their indices at the receiver.
    fn stage(&self, mut draft: Draft) -> Stage {
        draft.receives.sort_by(|a, b| (a.number, &a.common.mine).cmp(&(b.number, &b.common.mine)));
        draft.sends.sort_by(|a, b| (a.number, &a.common.theirs).cmp(&(b.number, &b.common.theirs)));
        let message = self.arrays.len();
        let mut stage = Stage::default();
        let local = draft.receives.iter().filter(|item| item.common.rank == self.rank).map(|item| {
            let (from, to) = (&self.arrays[item.source], &self.arrays[item.result]);
            BoxCopy {
                from: Address { base: item.source, offset: from.offset(&item.common.theirs) },
                to: Address { base: item.result, offset: to.offset(&item.common.mine) },
                extents: item.common.extents.clone(),
                from_strides: from.strides.clone(),
                to_strides: to.strides.clone(),
                element: to.element,
            }
        });
        stage.local = Copies::new(local.chain(draft.fills.iter().cloned()));
        let mut peers: Vec<usize> = draft
            .receives
            .iter()
            .chain(&draft.sends)
            .map(|item| item.common.rank)
            .filter(|&r| r != self.rank)
            .collect();
        peers.sort_unstable();
        peers.dedup();
        for peer in peers {
            let (pack, send_bytes) =
                self.packed(message, draft.sends.iter().filter(|item| item.common.rank == peer), true);
            let (unpack, receive_bytes) =
                self.packed(message, draft.receives.iter().filter(|item| item.common.rank == peer), false);
            stage.ends.push(Ends { peer, send_bytes, receive_bytes });
            stage.pack.push(pack);
            stage.unpack.push(unpack);
        }
        stage
    }

    /// The boxes of a message, one after the other, and its length in bytes.
    fn packed<'i>(&self, message: usize, items: impl Iterator<Item = &'i Item>, out: bool) -> (Copies, usize) {
        let mut bytes = 0;
        let mut boxes = Vec::new();
        for item in items {
            let (array, index) = if out { (item.source, &item.common.mine) } else { (item.result, &item.common.mine) };
            let storage = &self.arrays[array];
            let there = Address { base: array, offset: storage.offset(index) };
            let packed = Address { base: message, offset: bytes as isize };
            let extents = item.common.extents.clone();
            let dense = Storage::contiguous(storage.element, &extents, &vec![[0, 0]; extents.len()]);
            bytes += dense.bytes(&extents);
            boxes.push(if out {
                BoxCopy {
                    from: there,
                    to: packed,
                    extents,
                    from_strides: storage.strides.clone(),
                    to_strides: dense.strides,
                    element: storage.element,
                }
            } else {
                BoxCopy {
                    from: packed,
                    to: there,
                    extents,
                    from_strides: dense.strides,
                    to_strides: storage.strides.clone(),
                    element: storage.element,
                }
            });
        }
        (Copies::new(boxes), bytes)
    }
}

/// Consecutive indices of a box along an axis, and the lines of a boundary array that they take: consecutive ones, or
/// all the same.
#[derive(Clone, Copy)]
struct Run {
    at: usize,
    from: usize,
    length: usize,
    is_repeated: bool,
}

/// What lies beyond an end of an axis.
fn edge(halo: &Halo, axis: usize, side: Side) -> &Edge {
    &halo.edges[axis][usize::from(side == Side::After)]
}

/// The lines that `length` indices from `first` of an axis take: those that it goes on with, or the nearest.
fn runs(first: i64, length: usize, extent: usize, beyond: [Continuation; 2]) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut at, end) = (0, extent as i64);
    while at < length {
        let index = first + at as i64;
        let here = beyond[usize::from(index >= end)];
        let (from, most, is_repeated) = match here {
            _ if (0..end).contains(&index) => (index, end - index, false),
            Continuation::Circular if index < 0 => (index.rem_euclid(end), end - index.rem_euclid(end), false),
            Continuation::Circular => (index.rem_euclid(end), end, false),
            Continuation::Reflect | Continuation::Symmetric => (here.element(index, end).unwrap_or(0), 1, false),
            Continuation::Ends if index < 0 => (0, -index, true),
            Continuation::Ends => (end - 1, i64::MAX, true),
        };
        let length = most.min((length - at) as i64) as usize;
        runs.push(Run { at, from: from as usize, length, is_repeated });
        at += length;
    }
    runs
}

/// A range without the part of it that lies outside at one of its ends.
fn within(all: (i64, i64), outside: (i64, i64)) -> (i64, i64) {
    if outside.0 >= outside.1 {
        all
    } else if outside.0 == all.0 {
        (outside.1, all.1)
    } else {
        (all.0, outside.0)
    }
}

/// The directions that a halo's ghosts lie in: of each axis before, after or neither, not neither on all.
fn directions(halo: &Halo) -> Vec<Vec<Option<Side>>> {
    let axes = halo.widths.len();
    let sides = |axis: usize| {
        [(Side::Before, 0), (Side::After, 1)].into_iter().filter(move |&(_, side)| halo.widths[axis][side] > 0)
    };
    if halo.corners != Corners::AtOnce {
        let of_axis = |axis: usize| {
            sides(axis).map(move |(side, _)| (0..axes).map(|other| (other == axis).then_some(side)).collect())
        };
        return (0..axes).flat_map(of_axis).collect();
    }
    let mut all: Vec<Vec<Option<Side>>> = vec![Vec::new()];
    for axis in 0..axes {
        let choices: Vec<Option<Side>> = std::iter::once(None).chain(sides(axis).map(|(side, _)| Some(side))).collect();
        all = all
            .into_iter()
            .flat_map(|before| choices.iter().map(move |&choice| [&before[..], &[choice]].concat()))
            .collect();
    }
    all.retain(|direction| direction.iter().any(Option::is_some));
    all
}
