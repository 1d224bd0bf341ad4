//! What an exchange is of: arrays as they lie in memory, shifts of them, ghosts around them.

use super::moves::Continuation;
use crate::geometry::shape_text;

/// How one array of a geometry lies in the memory of a rank. The same on all ranks but for the strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Bytes of an element.
    pub element: usize,
    /// Bytes from an element to the next of each axis.
    pub strides: Vec<isize>,
    /// Bytes from the start of the memory to the first element that is no ghost.
    pub origin: isize,
    /// Ghosts before and after the elements of each axis, that there is memory for.
    pub ghosts: Vec<[usize; 2]>,
}

impl Storage {
    /// Memory in one piece, in C order, for a full block of `block` and ghosts around it.
    pub fn contiguous(element: usize, block: &[usize], ghosts: &[[usize; 2]]) -> Storage {
        let mut stride = element as isize;
        let mut strides = vec![0; block.len()];
        let mut origin = 0;
        for axis in (0..block.len()).rev() {
            strides[axis] = stride;
            origin += ghosts[axis][0] as isize * stride;
            stride *= (block[axis] + ghosts[axis][0] + ghosts[axis][1]) as isize;
        }
        Storage { element, strides, origin, ghosts: ghosts.to_vec() }
    }

    /// The bytes that [`contiguous`](Storage::contiguous) memory takes.
    pub fn bytes(&self, block: &[usize]) -> usize {
        let extents = block.iter().zip(&self.ghosts).map(|(block, [before, after])| block + before + after);
        extents.product::<usize>() * self.element
    }

    /// Bytes from the start of the memory to an index, counted from the first element that is no ghost.
    pub fn offset(&self, index: &[i64]) -> isize {
        self.origin + index.iter().zip(&self.strides).map(|(&at, stride)| at as isize * stride).sum::<isize>()
    }
}

/// What comes in at the end of an axis where a shift is not circular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The other end of the axis (CSHIFT).
    Circular,
    /// One element, as bytes, everywhere (EOSHIFT with a scalar).
    Value(Vec<u8>),
    /// An element for every line along the axis: the elements of an array of the geometry's shape without the axis, in C
    /// order, as bytes (EOSHIFT with an array).
    Array(Vec<u8>),
}

/// One shift: element i of the result is element i + `by` of the source along `axis`, as Fortran's CSHIFT and EOSHIFT
/// have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Which arrays of the exchange.
    pub source: usize,
    pub result: usize,
    pub axis: usize,
    pub by: i64,
    pub boundary: Boundary,
}

/// What ghosts beyond an end of the array hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The elements of the other end.
    Circular,
    /// The elements of the same end in reverse order, without the last one (`numpy.pad`'s "reflect").
    Reflect,
    /// The elements of the same end in reverse order, the last one first (`numpy.pad`'s "symmetric").
    Symmetric,
    /// One element, as bytes. Where ghosts lie beyond the ends of several axes, the last such axis has its say.
    Value(Vec<u8>),
    /// An element for every line along the axis, as [`Boundary::Array`] has them. A ghost that lies beyond the end of an
    /// earlier axis too has that of the nearest line, one beyond an axis that goes on there (around or back) that of the line that it goes on with.
    Array(Vec<u8>),
    /// What they held before: the exchange leaves alone whatever lies beyond such an end.
    Keep,
}

impl Edge {
    /// How the array goes on there.
    pub fn continuation(&self) -> Continuation {
        match self {
            Edge::Circular => Continuation::Circular,
            Edge::Reflect => Continuation::Reflect,
            Edge::Symmetric => Continuation::Symmetric,
            Edge::Value(_) | Edge::Array(_) | Edge::Keep => Continuation::Ends,
        }
    }
}

/// Which ghosts are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Corners {
    /// Those across faces only.
    #[default]
    None,
    /// Those across edges and corners too, each from the rank that has them: one message per neighbour, all at once.
    AtOnce,
    /// Those across edges and corners too, by way of the neighbours across faces: one axis after the other, with fewer
    /// messages.
    Staged,
}

/// The ghosts around one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halo {
    /// Which array of the exchange.
    pub array: usize,
    /// Ghosts to fill before and after the elements of each axis.
    pub widths: Vec<[usize; 2]>,
    /// What lies beyond the first and the last element of each axis.
    pub edges: Vec<[Edge; 2]>,
    pub corners: Corners,
}

/// What an exchange does to its arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    Shifts(Vec<Shift>),
    Halos(Vec<Halo>),
}

/// Directions in which ghosts across corners may lie, where they come at once: those of eight axes.
pub const MAX_DIRECTIONS: u128 = 6561;

/// A pattern that does not fit its arrays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("an exchange needs at least one {0}")]
    Nothing(&'static str),
    #[error("{what} {index} names array {array}, but the exchange has {arrays}")]
    NoSuchArray { what: &'static str, index: usize, array: usize, arrays: usize },
    #[error("shift {index} is along axis {axis}, but the shape {} has axes 0 to {}", shape_text(shape), shape.len() - 1)]
    NoSuchAxis { index: usize, axis: usize, shape: Vec<usize> },
    #[error("array {array} is described with {actual} axes, but the geometry has {axes}")]
    Axes { array: usize, actual: usize, axes: usize },
    #[error("shift {index} is from an array with elements of {from} bytes to one with elements of {to} bytes")]
    Elements { index: usize, from: usize, to: usize },
    #[error(
        "shift {index} writes the array that shift {other} reads; give it another result, or copy the source first"
    )]
    Overlap { index: usize, other: usize },
    #[error("shifts {index} and {other} write the same array")]
    SameResult { index: usize, other: usize },
    #[error("the boundary of {what} {index} has {actual} bytes; expected {expected}: {why}")]
    BoundaryBytes { what: &'static str, index: usize, actual: usize, expected: usize, why: String },
    #[error("the halo of array {array} has {what} for {actual} axes, but the geometry has {axes}")]
    HaloAxes { array: usize, what: &'static str, actual: usize, axes: usize },
    #[error(
        "the halo of array {array} along axis {axis} is {wanted} wide, but the array has memory for {there} ghosts there"
    )]
    ExceedsGhosts { array: usize, axis: usize, wanted: usize, there: usize },
    #[error(
        "the halo of array {array} has ghosts across corners in {directions} directions, more than {MAX_DIRECTIONS}: have them \
         staged, axis by axis, or leave corners out"
    )]
    TooManyCorners { array: usize, directions: u128 },
    #[error("array {array} has two halos")]
    TwoHalos { array: usize },
}

impl Pattern {
    /// The bytes of its boundary arrays: of shifts in their order, of halos in their order and that of the ends of the axes.
    pub fn boundary_arrays(&self) -> Vec<&[u8]> {
        match self {
            Pattern::Shifts(shifts) => shifts
                .iter()
                .filter_map(|shift| if let Boundary::Array(bytes) = &shift.boundary { Some(&bytes[..]) } else { None })
                .collect(),
            Pattern::Halos(halos) => halos
                .iter()
                .flat_map(|halo| halo.edges.iter().flatten())
                .filter_map(|edge| if let Edge::Array(bytes) = edge { Some(&bytes[..]) } else { None })
                .collect(),
        }
    }

    /// Checks a pattern against the shape and the arrays.
    ///
    /// # Errors
    /// [`PatternError`]: which shift, halo or array is wrong, and how.
    pub fn check(&self, shape: &[usize], arrays: &[Storage]) -> Result<(), PatternError> {
        for (array, storage) in arrays.iter().enumerate() {
            if storage.strides.len() != shape.len() || storage.ghosts.len() != shape.len() {
                return Err(PatternError::Axes { array, actual: storage.strides.len(), axes: shape.len() });
            }
        }
        match self {
            Pattern::Shifts(shifts) if shifts.is_empty() => Err(PatternError::Nothing("shift")),
            Pattern::Halos(halos) if halos.is_empty() => Err(PatternError::Nothing("halo")),
            Pattern::Shifts(shifts) => {
                for (index, shift) in shifts.iter().enumerate() {
                    check_shift(index, shift, shape, arrays)?;
                }
                check_results(shifts)
            }
            Pattern::Halos(halos) => {
                for (index, halo) in halos.iter().enumerate() {
                    check_halo(index, halo, shape, arrays)?;
                    if halos[..index].iter().any(|other| other.array == halo.array) {
                        return Err(PatternError::TwoHalos { array: halo.array });
                    }
                }
                Ok(())
            }
        }
    }
}

fn check_shift(index: usize, shift: &Shift, shape: &[usize], arrays: &[Storage]) -> Result<(), PatternError> {
    for array in [shift.source, shift.result] {
        if array >= arrays.len() {
            return Err(PatternError::NoSuchArray { what: "shift", index, array, arrays: arrays.len() });
        }
    }
    if shift.axis >= shape.len() {
        return Err(PatternError::NoSuchAxis { index, axis: shift.axis, shape: shape.to_vec() });
    }
    let (from, to) = (arrays[shift.source].element, arrays[shift.result].element);
    if from != to {
        return Err(PatternError::Elements { index, from, to });
    }
    let (actual, expected, why) = match &shift.boundary {
        Boundary::Circular => return Ok(()),
        Boundary::Value(bytes) => (bytes.len(), to, "one element".to_owned()),
        Boundary::Array(bytes) => {
            let lines = lines_of(shape, shift.axis);
            (bytes.len(), lines.iter().product::<usize>() * to, format!("the shape {}", shape_text(&lines)))
        }
    };
    if actual != expected {
        return Err(PatternError::BoundaryBytes { what: "shift", index, actual, expected, why });
    }
    Ok(())
}

/// The shape without an axis.
fn lines_of(shape: &[usize], axis: usize) -> Vec<usize> {
    (0..shape.len()).filter(|&other| other != axis).map(|other| shape[other]).collect()
}

fn check_results(shifts: &[Shift]) -> Result<(), PatternError> {
    for (index, shift) in shifts.iter().enumerate() {
        if let Some(other) = shifts.iter().position(|other| other.source == shift.result) {
            return Err(PatternError::Overlap { index, other });
        }
        if let Some(other) = shifts[..index].iter().position(|other| other.result == shift.result) {
            return Err(PatternError::SameResult { index, other });
        }
    }
    Ok(())
}

fn check_halo(index: usize, halo: &Halo, shape: &[usize], arrays: &[Storage]) -> Result<(), PatternError> {
    let (array, axes) = (halo.array, shape.len());
    let Some(storage) = arrays.get(array) else {
        return Err(PatternError::NoSuchArray { what: "halo", index, array, arrays: arrays.len() });
    };
    for (what, actual) in [("widths", halo.widths.len()), ("edges", halo.edges.len())] {
        if actual != axes {
            return Err(PatternError::HaloAxes { array, what, actual, axes });
        }
    }
    for (axis, (wanted, there)) in halo.widths.iter().zip(&storage.ghosts).enumerate() {
        for side in 0..2 {
            if wanted[side] > there[side] {
                return Err(PatternError::ExceedsGhosts { array, axis, wanted: wanted[side], there: there[side] });
            }
        }
    }
    let directions = halo.widths.iter().fold(1u128, |directions, [before, after]| {
        directions.saturating_mul(1 + u128::from(*before > 0) + u128::from(*after > 0))
    });
    if halo.corners == Corners::AtOnce && directions > MAX_DIRECTIONS {
        return Err(PatternError::TooManyCorners { array, directions });
    }
    for (axis, edge) in halo.edges.iter().enumerate().flat_map(|(axis, ends)| ends.iter().map(move |end| (axis, end))) {
        let (actual, expected, why) = match edge {
            Edge::Circular | Edge::Reflect | Edge::Symmetric | Edge::Keep => continue,
            Edge::Value(bytes) => (bytes.len(), storage.element, "one element".to_owned()),
            Edge::Array(bytes) => {
                let lines = lines_of(shape, axis);
                let why = format!("the shape {}", shape_text(&lines));
                (bytes.len(), lines.iter().product::<usize>() * storage.element, why)
            }
        };
        if actual != expected {
            return Err(PatternError::BoundaryBytes { what: "halo", index, actual, expected, why });
        }
    }
    Ok(())
}
