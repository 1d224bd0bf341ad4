//! Floatmath: a sequence of dependent double precision operations: table 4 of Dunigan 1991.
//!
//! The row `floatmath` is 256,000 operations: add, subtract, multiply and divide in turn, each on the result before.
//! The paper says 256,000 repetitions "of the double precision floating point arithmetic operations"; by the arithmetic
//! times of its table 3 these are repetitions of a sequence of seven operations
//! (`weft.papers.dunigan1991.inputs.floatmath_bounds`). The row `repetitions` is therefore 256,000 repetitions of the
//! four; it stands nearer to table 4.
//!
//! Kept by: operands behind `black_box`, the value declared changed in its register after every operation. Checked by:
//! each iteration of four adds 1 but for rounding (add 1.1, subtract 0.1, multiply and divide by 1.7), so that the
//! result is the number of iterations within the rounding errors of as many operations.

use std::hint::black_box;

use super::error::NodeError;
use super::measure::{Case, expect_close, timed};
use super::request::NodeRequest;
use super::simd::Keep;

pub(crate) const ROWS: [&str; 2] = ["floatmath", "repetitions"];

const REPETITIONS: u64 = 256_000;
const OPERATIONS_PER_ITERATION: u64 = 4;

/// Twelve digits: each of the 10^6 operations may err by 10^-16, mostly in either direction.
const TOLERANCE: f64 = 1e-10;

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let iterations = REPETITIONS / OPERATIONS_PER_ITERATION;
    Ok(vec![case(ROWS[0], iterations, "256,000 operations"), case(ROWS[1], REPETITIONS, "256,000 repetitions")])
}

fn case(name: &'static str, iterations: u64, unit: &'static str) -> Case {
    let mut case = Case::new(name, iterations, unit, || {
        Ok(Box::new(|count| {
            let (seconds, result) = timed(|| sequence(count));
            expect_close("the result", result, 1.0 + count as f64, TOLERANCE).map(|()| seconds)
        }))
    });
    case.repetitions_per_unit = iterations as f64;
    case.rate = Some((OPERATIONS_PER_ITERATION as f64 * 1e-6, "Mflop/s"));
    case
}

#[inline(never)]
fn sequence(iterations: u64) -> f64 {
    let (add, subtract, factor, divisor) = black_box((1.1, 0.1, 1.7, 1.7));
    let mut x: f64 = black_box(1.0);
    for _ in 0..iterations {
        x += add;
        x.keep();
        x -= subtract;
        x.keep();
        x *= factor;
        x.keep();
        x /= divisor;
        x.keep();
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_counts_the_iterations() {
        for iterations in [1, 10, 1000, 8 * REPETITIONS] {
            assert!(expect_close("", sequence(iterations), 1.0 + iterations as f64, TOLERANCE).is_ok());
            let one_too_few = expect_close("", sequence(iterations - 1), 1.0 + iterations as f64, TOLERANCE);
            assert!(one_too_few.is_err(), "{iterations}");
        }
    }
}
