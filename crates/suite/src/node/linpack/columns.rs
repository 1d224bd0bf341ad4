//! Gaussian elimination with partial pivoting by columns: what `dgefa` and `dgesl` of LINPACK do.

use super::{Matrix, iamax};
use crate::node::simd::vectorised;

/// Factors and solves in place.
pub(super) fn solve(matrix: &mut Matrix, x: &mut [f64]) -> bool {
    let Some(pivots) = factor(matrix) else { return false };
    substitute(matrix, &pivots, x);
    true
}

/// `y += factor x`, the operation that LINPACK spends its time in.
#[inline(always)]
fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

vectorised! {
    fn factor(matrix: &mut Matrix) -> Option<Vec<usize>> {
        let n = matrix.order;
        let mut pivots = vec![0; n];
        for k in 0..n {
            let (before, behind) = matrix.elements.split_at_mut((k + 1) * n);
            let column = &mut before[k * n..];
            let pivot = k + iamax(&column[k..]);
            pivots[k] = pivot;
            if column[pivot] == 0.0 {
                return None;
            }
            column.swap(k, pivot);
            let scale = -1.0 / column[k];
            column[k + 1..].iter_mut().for_each(|multiplier| *multiplier *= scale);
            for other in behind.chunks_exact_mut(n) {
                other.swap(k, pivot);
                let factor = other[k];
                axpy(factor, &column[k + 1..], &mut other[k + 1..]);
            }
        }
        Some(pivots)
    }
}

vectorised! {
    fn substitute(matrix: &Matrix, pivots: &[usize], x: &mut [f64]) {
        let n = matrix.order;
        for (k, column) in matrix.elements.chunks_exact(n).enumerate() {
            x.swap(k, pivots[k]);
            let factor = x[k];
            axpy(factor, &column[k + 1..], &mut x[k + 1..]);
        }
        for (k, column) in matrix.elements.chunks_exact(n).enumerate().rev() {
            x[k] /= column[k];
            let factor = -x[k];
            axpy(factor, &column[..k], &mut x[..k]);
        }
    }
}
