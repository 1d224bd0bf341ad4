//! Whole programs, for what a machine makes of its computation and its communication together.
//!
//! Each gives its right answer wherever its messages carry data, and checks it; with phantoms, in virtual time only, it
//! charges the same operations and sends messages of the same lengths.

pub mod cholesky;
pub mod jacobi;
mod real;
pub(crate) mod timing;

pub use real::{Precision, Real};

use weft_base::Operation;

use crate::request::Request;

/// The operations that a program charges in virtual time: a machine that does not give their times cannot run it there.
/// Empty for benchmarks that only send messages.
pub fn operations_charged(request: &Request) -> Vec<Operation> {
    match (request.benchmark.as_str(), request.precision.unwrap_or_default()) {
        ("cholesky", Precision::Single) => cholesky::operations::<f32>().to_vec(),
        ("cholesky", Precision::Double) => cholesky::operations::<f64>().to_vec(),
        ("jacobi", Precision::Single) => jacobi::operations::<f32>().to_vec(),
        ("jacobi", Precision::Double) => jacobi::operations::<f64>().to_vec(),
        ("stencil" | "stencil-in-turn", _) => vec![crate::stencil::ARITHMETIC],
        _ => Vec::new(),
    }
}
