//! How the time of a benchmark grows with the number of repetitions: 1 when no work is removed.

use serde::{Deserialize, Serialize};

use super::catalogue::cases;
use super::error::NodeError;
use super::measure::Case;
use super::request::NodeRequest;

/// The growth of one row's time with its count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linearity {
    pub variant: String,
    pub extent: Option<u64>,
    pub bytes: Option<u64>,
    /// Repetitions in each measurement: 1, 2, 4 and 8 times the benchmark's own.
    pub counts: Vec<u64>,
    /// Least seconds of each over five samples: what else runs on the machine only adds.
    pub seconds: Vec<f64>,
    /// Least-squares slope of the logarithm of the seconds against that of the count.
    pub slope: f64,
}

/// Measures every row of a benchmark at 1, 2, 4 and 8 times its count.
///
/// A slope near 1 says that every repetition costs the same; near 0, that the compiler has removed them. A diagnostic:
/// on a busy machine single slopes stray.
///
/// # Errors
/// As [`run`](super::run); `memory` has no count and gives [`NodeError::Unavailable`].
pub fn linearity(name: &str, request: &NodeRequest) -> Result<Vec<Linearity>, NodeError> {
    let (benchmark, cases) = cases(name, request)?;
    cases.into_iter().map(|case| of_case(benchmark, case)).collect()
}

const SAMPLES: usize = 5;

fn of_case(benchmark: &'static str, case: Case) -> Result<Linearity, NodeError> {
    let mut repeat = (case.prepare)()?;
    let counts: Vec<u64> = [1, 2, 4, 8].map(|factor| factor * case.count).to_vec();
    let wrong = |what| NodeError::WrongResult { benchmark, variant: case.variant.clone(), what };
    repeat(case.count).map_err(wrong)?;
    let mut seconds = Vec::with_capacity(counts.len());
    for &count in &counts {
        let samples: Result<Vec<f64>, String> = (0..SAMPLES).map(|_| repeat(count)).collect();
        seconds.push(samples.map_err(wrong)?.into_iter().fold(f64::INFINITY, f64::min));
    }
    let slope = log_slope(&counts, &seconds);
    Ok(Linearity { variant: case.variant, extent: case.extent, bytes: case.bytes, counts, seconds, slope })
}

fn log_slope(counts: &[u64], seconds: &[f64]) -> f64 {
    let x: Vec<f64> = counts.iter().map(|&count| (count as f64).ln()).collect();
    let y: Vec<f64> = seconds.iter().map(|seconds| seconds.ln()).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let covariance: f64 = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    covariance / x.iter().map(|x| (x - mean_x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::log_slope;

    #[test]
    fn the_slope_is_the_exponent() {
        let counts = [1, 2, 4, 8];
        assert!((log_slope(&counts, &[3.0, 6.0, 12.0, 24.0]) - 1.0).abs() < 1e-12);
        assert!(log_slope(&counts, &[3.0, 3.0, 3.0, 3.0]).abs() < 1e-12);
    }
}
