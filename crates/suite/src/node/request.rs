//! What a caller asks of a node benchmark.

use serde::{Deserialize, Serialize};

use super::error::NodeError;

/// The parameters of a run. `NodeRequest::default()` is what the paper's tables and figures need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeRequest {
    /// Lengths to measure; empty for the benchmark's own. Elements of a vector for `dot_product`, bytes of one array
    /// for `stream`, bytes of the working set for `memory_latency`; others have no length.
    pub lengths: Vec<u64>,
    /// Thread counts of `stream`; empty for one thread and all processors. The other benchmarks are of one thread.
    pub threads: Vec<usize>,
    /// Only these rows; empty for all.
    pub variants: Vec<String>,
    /// Seconds that repetitions of one row may take. At least [`NodeRequest::MINIMUM_SAMPLES`] are made.
    pub seconds_per_row: f64,
    /// Seed of what is random (the cycle of `memory_latency`).
    pub seed: u64,
    /// The share of the memory that the system calls available which `memory` confirms by touching it.
    pub memory_share: f64,
    /// `memory` never touches more than this many bytes.
    pub memory_limit: Option<u64>,
}

impl Default for NodeRequest {
    fn default() -> NodeRequest {
        NodeRequest {
            lengths: Vec::new(),
            threads: Vec::new(),
            variants: Vec::new(),
            seconds_per_row: 0.25,
            seed: 1991,
            memory_share: 0.5,
            memory_limit: None,
        }
    }
}

impl NodeRequest {
    /// Samples of a row, however short the time.
    pub const MINIMUM_SAMPLES: usize = 5;

    pub(crate) fn check(&self) -> Result<(), NodeError> {
        let bad = |what, value: String, expected| Err(NodeError::BadRequest { what, value, expected });
        if !(self.seconds_per_row > 0.0 && self.seconds_per_row.is_finite()) {
            return bad("seconds_per_row", self.seconds_per_row.to_string(), "a positive number of seconds");
        }
        if !(self.memory_share > 0.0 && self.memory_share <= 0.9) {
            return bad("memory_share", self.memory_share.to_string(), "a share above 0 and at most 0.9");
        }
        if self.threads.contains(&0) {
            return bad("threads", "0".to_owned(), "at least one thread");
        }
        Ok(())
    }

    pub(crate) fn lengths_or(&self, default: impl IntoIterator<Item = u64>) -> Vec<u64> {
        if self.lengths.is_empty() { default.into_iter().collect() } else { self.lengths.clone() }
    }

    pub(crate) fn wants(&self, variant: &str) -> bool {
        self.variants.is_empty() || self.variants.iter().any(|wanted| wanted == variant)
    }
}
