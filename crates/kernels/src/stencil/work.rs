//! Buffers that a thread keeps from row to row and from call to call.

use super::direct::{ConstantTerm, Terms, VaryingTerm};
use super::kernel::{Factor, Kernel, Term, distances};
use super::scalar::Scalar;
use super::scratch::Scratch;
use super::span::Segment;

/// Buffers of one thread.
pub struct Work<T> {
    pub(super) rows: Vec<*const T>,
    /// Rows of one call whose neighbours follow one another in the source.
    pub(super) segments: Vec<Segment<T>>,
    /// For each plane of a bundle, right-hand side and group its row, or null where that plane is a boundary.
    pub(super) planes: Vec<*const T>,
    /// For each group, elements from its plane's row to its line of axis 2.
    pub(super) lines: Vec<isize>,
    /// Rows that will be needed soon.
    pub(super) ahead: Vec<*const T>,
    pub(super) terms: Terms<T>,
    pub(super) scratch: Scratch<T>,
    /// Planes of intermediate time steps.
    pub(super) levels: Vec<T>,
}

// SAFETY: pointers are written before they are read within each call.
unsafe impl<T: Send> Send for Work<T> {}

/// Terms without their rows.
fn prepared<T: Scalar>(points: &[Term<T>]) -> Terms<T> {
    let distances = distances(points);
    let mut terms = Terms { constant: Vec::new(), varying: Vec::new(), own_constant: 0, own_varying: 0 };
    for &Term { group, offset, ref factor } in points {
        let (row, distance) = (std::ptr::null(), distances.binary_search(&offset).unwrap_or(0));
        let own = usize::from(offset == 0);
        let factor = match *factor {
            Factor::Constant(factor) => factor,
            Factor::Row(_) => T::ZERO,
            Factor::Varying(_) => {
                terms.varying.push(VaryingTerm { row, group, offset, distance, factors: std::ptr::null() });
                terms.own_varying += own;
                continue;
            }
        };
        terms.constant.push(ConstantTerm { row, group, offset, distance, factor });
        terms.own_constant += own;
    }
    terms
}

impl<T: Scalar> Work<T> {
    /// For rows of a kernel, each with so many neighbours.
    pub(super) fn new(kernel: &Kernel<T>, groups: usize) -> Work<T> {
        let terms = match kernel {
            Kernel::Direct { terms, .. } => prepared(terms),
            Kernel::Columns { .. } => prepared(&[]),
        };
        let (rows, lines) = (vec![std::ptr::null(); groups], vec![0; groups]);
        let (planes, segments, ahead, levels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Work { rows, segments, planes, lines, ahead, terms, scratch: Scratch::new(), levels }
    }
}
