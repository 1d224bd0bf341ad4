//! LINPACK: a dense system of linear equations in double precision; section 3.2 of Dunigan 1991, after Dongarra.
//!
//! The row `n100` is the benchmark proper: order 100, Gaussian elimination with partial pivoting by columns (`dgefa`
//! and `dgesl` on `daxpy`), the matrix of the published generator. The row `n1000` may use any method: a recursive
//! factorisation on a blocked matrix product ([`blocked`]), on a seeded random matrix (the published generator repeats
//! itself after 16,384 numbers). Rates count `2/3 n^3 + 2 n^2` operations, whatever the method does.
//!
//! Kept by: the matrix is declared changed before each solution, and every solution is compared. Checked by: the
//! right-hand side is `r` times the sum of the rows, with another `r` for each repetition, so the solution is `r`
//! everywhere; and the residual, `max |b - A x| / (n max |A| max |x| eps)`, must be of the order of one.

mod blocked;
mod columns;

use std::hint::black_box;

use rand::RngExt;

use super::error::NodeError;
use super::measure::{Case, Repeat, timed};
use super::request::NodeRequest;

pub(crate) const ROWS: [&str; 2] = ["n100", "n1000"];

/// A residual above this is wrong. LINPACK reports about 1.7 for order 100.
const MAX_RESIDUAL: f64 = 20.0;

/// Solves in place: the matrix becomes its factors and the right-hand side the solution. `false`: the matrix is
/// singular.
type Solve = fn(&mut Matrix, &mut [f64]) -> bool;

pub(crate) fn cases(request: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let seed = request.seed;
    Ok(vec![
        case(ROWS[0], 100, 4, columns::solve, || Matrix::published(100)),
        case(ROWS[1], 1000, 1, blocked::solve, move || Matrix::random(1000, seed)),
    ])
}

fn case(name: &'static str, order: usize, count: u64, solve: Solve, make: impl Fn() -> Matrix + 'static) -> Case {
    let mut case = Case::new(name, count, "one solution", move || Ok(repeat(make(), solve)));
    let n = order as f64;
    case.extent = Some(order as u64);
    case.rate = Some(((2.0 / 3.0 * n.powi(3) + 2.0 * n * n) * 1e-6, "Mflop/s"));
    case
}

fn repeat(original: Matrix, solve: Solve) -> Repeat {
    let sums = original.row_sums();
    let mut matrix = original.clone();
    let mut repetition = 0u32;
    Box::new(move |count| {
        let mut seconds = 0.0;
        for _ in 0..count {
            repetition = repetition % 1000 + 1;
            let scale = f64::from(repetition);
            matrix.elements.copy_from_slice(&original.elements);
            let mut x: Vec<f64> = sums.iter().map(|sum| scale * sum).collect();
            let (time, regular) = timed(|| solve(black_box(&mut matrix), black_box(&mut x)));
            seconds += time;
            if !regular {
                return Err("the matrix was found to be singular".to_owned());
            }
            check(&original, &sums, scale, &x)?;
        }
        Ok(seconds)
    })
}

fn check(matrix: &Matrix, sums: &[f64], scale: f64, x: &[f64]) -> Result<(), String> {
    let n = matrix.order as f64;
    let largest = |values: &[f64]| values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let mut residual: Vec<f64> = sums.iter().map(|sum| -scale * sum).collect();
    for (column, &x) in matrix.elements.chunks_exact(matrix.order).zip(x) {
        residual.iter_mut().zip(column).for_each(|(residual, element)| *residual += element * x);
    }
    let normalised = largest(&residual) / (n * largest(&matrix.elements) * largest(x) * f64::EPSILON);
    // Written so that a result that is not a number is wrong.
    if normalised <= MAX_RESIDUAL && x.iter().all(|x| (x / scale - 1.0).abs() < 1e-6) {
        return Ok(());
    }
    Err(format!(
        "the normalised residual is {normalised:.3}, expected at most {MAX_RESIDUAL}; x[0] is {}, expected {scale}",
        x[0]
    ))
}

/// A square matrix by columns.
#[derive(Clone)]
struct Matrix {
    order: usize,
    elements: Vec<f64>,
}

impl Matrix {
    /// The published generator, `matgen`: multiplicative congruential, 3125 modulo 65536 from 1325, scaled to -2 to 2.
    fn published(order: usize) -> Matrix {
        let mut state = 1325i32;
        let mut next = || {
            state = 3125 * state % 65536;
            (f64::from(state) - 32768.0) / 16384.0
        };
        Matrix { order, elements: (0..order * order).map(|_| next()).collect() }
    }

    /// Uniform between -1/2 and 1/2.
    fn random(order: usize, seed: u64) -> Matrix {
        let mut generator = weft_base::generator(seed, 1);
        Matrix { order, elements: (0..order * order).map(|_| generator.random::<f64>() - 0.5).collect() }
    }

    fn row_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.order];
        for column in self.elements.chunks_exact(self.order) {
            sums.iter_mut().zip(column).for_each(|(sum, element)| *sum += element);
        }
        sums
    }
}

/// The index of the element of largest absolute value, as BLAS's `idamax`.
fn iamax(values: &[f64]) -> usize {
    let larger =
        |best: (usize, f64), (at, value): (usize, &f64)| if value.abs() > best.1 { (at, value.abs()) } else { best };
    values.iter().enumerate().fold((0, -1.0), larger).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_methods_solve_every_order() {
        for order in [1, 2, 3, 7, 8, 9, 31, 64, 100, 130, 257] {
            for solve in [columns::solve as Solve, blocked::solve] {
                repeat(Matrix::random(order, 5), solve)(2).unwrap_or_else(|error| panic!("order {order}: {error}"));
            }
        }
        repeat(Matrix::published(100), columns::solve)(3).unwrap();
    }

    #[test]
    fn a_matrix_that_needs_pivoting_is_solved() {
        let matrix = Matrix { order: 2, elements: vec![0.0, 1.0, 1.0, 0.0] };
        for solve in [columns::solve as Solve, blocked::solve] {
            let mut x = [3.0, 4.0];
            assert!(solve(&mut matrix.clone(), &mut x));
            assert_eq!(x, [4.0, 3.0]);
        }
    }

    #[test]
    fn a_singular_matrix_is_found_and_a_wrong_solution_refused() {
        for solve in [columns::solve as Solve, blocked::solve] {
            let zero = Matrix { order: 20, elements: vec![0.0; 400] };
            assert_eq!(repeat(zero, solve)(1).unwrap_err(), "the matrix was found to be singular");
        }
        let nothing: Solve = |_, _| true;
        let error = repeat(Matrix::published(100), nothing)(1).unwrap_err();
        assert!(error.starts_with("the normalised residual is"), "{error}");
    }
}
