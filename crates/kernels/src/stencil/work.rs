//! Buffers that a thread keeps from row to row and from call to call.

use super::direct::{ConstantTerm, Terms, VaryingTerm};
use super::kernel::{Factor, Kernel};
use super::scalar::Scalar;
use super::scratch::Scratch;

/// Buffers of one thread.
pub struct Work<T> {
    pub(super) rows: Vec<*const T>,
    /// For each plane of a bundle, right-hand side and group its row, or null where that plane is a boundary.
    pub(super) planes: Vec<*const T>,
    /// For each group, elements from its plane's row to its line of axis 2.
    pub(super) lines: Vec<isize>,
    /// Rows that will be needed soon.
    pub(super) ahead: Vec<*const T>,
    pub(super) terms: Terms<T>,
    pub(super) scratch: Scratch<T>,
    /// Copies of rows, with what lies beyond their ends.
    pub(super) copies: Scratch<T>,
    /// Planes of intermediate time steps.
    pub(super) levels: Vec<T>,
}

// SAFETY: pointers are written before they are read within each call.
unsafe impl<T: Send> Send for Work<T> {}

impl<T: Scalar> Work<T> {
    /// For rows of a kernel, each with so many neighbours.
    pub(super) fn new(kernel: &Kernel<T>, groups: usize) -> Work<T> {
        let mut terms = Terms { constant: Vec::new(), varying: Vec::new() };
        if let Kernel::Direct { terms: points, .. } = kernel {
            for point in points {
                let (row, offset) = (std::ptr::null(), point.offset);
                match point.factor {
                    Factor::Constant(factor) => terms.constant.push(ConstantTerm { row, offset, factor }),
                    Factor::Row(_) => terms.constant.push(ConstantTerm { row, offset, factor: T::ZERO }),
                    Factor::Varying(_) => terms.varying.push(VaryingTerm { row, offset, factors: std::ptr::null() }),
                }
            }
        }
        let (rows, lines) = (vec![std::ptr::null(); groups], vec![0; groups]);
        let (planes, ahead, levels) = (Vec::new(), Vec::new(), Vec::new());
        Work { rows, planes, lines, ahead, terms, scratch: Scratch::new(), copies: Scratch::new(), levels }
    }
}
