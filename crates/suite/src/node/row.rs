//! What a node benchmark reports.

use serde::{Deserialize, Serialize};

/// One measured row.
///
/// `seconds` and `seconds_p10` are the median and the lower decile over the samples, of what `unit` names: one
/// operation for the arithmetic tests, the whole test for sieve, Dhrystone and their like, as in tables 3 and 4 of
/// Dunigan 1991.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Name in the catalogue, e.g. `arithmetic`.
    pub benchmark: String,
    /// The row of the benchmark, e.g. `float64_multiply`.
    pub variant: String,
    /// Elements along each axis of a vector or matrix, where there is one.
    pub extent: Option<u64>,
    /// Bytes of an array, a working set or of memory, where that is what varies or is found.
    pub bytes: Option<u64>,
    pub threads: usize,
    /// Median seconds of one `unit`.
    pub seconds: f64,
    /// Lower decile of the same.
    pub seconds_p10: f64,
    /// What the seconds are of: `one operation`, `100 iterations`…
    pub unit: String,
    /// Samples, each of which has its own time stamps.
    pub iterations: u64,
    /// Share of the samples above three times the median; none is thrown away.
    pub share_above_3x: f64,
    /// Work for each second at the median, in `rate_unit`.
    pub rate: Option<f64>,
    pub rate_unit: Option<String>,
    /// Whether the result was compared with its reference and found right.
    pub checked: bool,
    /// What a reader should know: what this machine lacks, which limit applied.
    pub note: Option<String>,
}
