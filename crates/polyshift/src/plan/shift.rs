//! What a shift is.

use thiserror::Error;

/// One shift: element `i` of the output along the axis is element `i + by` of the source, as Fortran's CSHIFT and
/// EOSHIFT have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shift {
    pub axis: usize,
    /// Towards lower indices if positive; any distance.
    pub by: i64,
    pub edge: Edge,
    /// Which of the source arrays.
    pub source: usize,
}

/// What comes in where nothing of the array does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// What went out at the other end: a circular shift.
    Circular,
    /// One element's bytes: an end-off shift.
    Constant(Vec<u8>),
    /// The boundary array of this number: an end-off shift, with an element for each index of the face.
    Array(usize),
}

/// Shifts that cannot be planned.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    #[error("shift {shift}: there is no axis {axis} in an array of rank {rank}")]
    Axis { shift: usize, axis: usize, rank: usize },
    #[error("shift {shift}: a boundary of {actual} bytes for elements of {expected}")]
    Constant { shift: usize, actual: usize, expected: usize },
    #[error("no shift uses source {missing}, but there are sources up to {last}")]
    Source { missing: usize, last: usize },
    #[error("boundary arrays must be numbered from 0, each used by one shift; number {number} is not")]
    Boundary { number: usize },
    #[error("an array of {extents:?} elements of {item} bytes is larger than can be addressed")]
    TooLarge { extents: Vec<usize>, item: usize },
    #[error("there are no shifts")]
    Nothing,
}

/// Bytes of an array; zero where an extent is.
pub(super) fn bytes_of(shape: &[usize], item: usize) -> Result<usize, PlanError> {
    let too_large = || PlanError::TooLarge { extents: shape.to_vec(), item };
    // Extents of zero do not excuse the others: strides are made of them.
    let bytes = shape.iter().filter(|&&extent| extent > 0).try_fold(item, |bytes, &extent| bytes.checked_mul(extent));
    let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(too_large)?;
    Ok(if shape.contains(&0) { 0 } else { bytes })
}

/// The shifts with distances made equivalent ones within the extent.
pub(super) fn checked(shape: &[usize], item: usize, shifts: &[Shift]) -> Result<Vec<Shift>, PlanError> {
    if shifts.is_empty() {
        return Err(PlanError::Nothing);
    }
    let last = shifts.iter().map(|shift| shift.source).max().unwrap_or(0);
    if let Some(missing) = (0..last).find(|&source| shifts.iter().all(|shift| shift.source != source)) {
        return Err(PlanError::Source { missing, last });
    }
    let mut checked = Vec::with_capacity(shifts.len());
    for (number, shift) in shifts.iter().enumerate() {
        let Some(&extent) = shape.get(shift.axis) else {
            return Err(PlanError::Axis { shift: number, axis: shift.axis, rank: shape.len() });
        };
        if let Edge::Constant(element) = &shift.edge
            && element.len() != item
        {
            return Err(PlanError::Constant { shift: number, actual: element.len(), expected: item });
        }
        // An extent is at most isize::MAX, by `bytes_of`.
        let extent = extent as i64;
        let by = match shift.edge {
            Edge::Circular => shift.by.checked_rem_euclid(extent).unwrap_or(0),
            _ => shift.by.clamp(-extent, extent),
        };
        checked.push(Shift { by, ..shift.clone() });
    }
    Ok(checked)
}

/// The axis of each boundary array.
pub(super) fn boundary_axes(shifts: &[Shift]) -> Result<Vec<usize>, PlanError> {
    let mut axes: Vec<(usize, usize)> = shifts
        .iter()
        .filter_map(|shift| match shift.edge {
            Edge::Array(number) => Some((number, shift.axis)),
            _ => None,
        })
        .collect();
    axes.sort_unstable();
    match axes.iter().enumerate().find(|(position, (number, _))| position != number) {
        Some((position, _)) => Err(PlanError::Boundary { number: position }),
        None => Ok(axes.into_iter().map(|(_, axis)| axis).collect()),
    }
}
