//! What a caller asks of a node benchmark.

use serde::{Deserialize, Serialize};

use super::error::NodeError;

/// The parameters of a run. `NodeRequest::default()` is what the paper's tables and figures need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeRequest {
    /// Extents of vectors to measure (`dot_product`); empty for the benchmark's own.
    pub extent: Vec<u64>,
    /// Bytes of one array (`stream`) or of the working set (`memory_latency`); empty for the benchmark's own.
    pub bytes: Vec<u64>,
    /// Thread counts of `stream`; empty for one thread and all processors. The other benchmarks are of one thread.
    pub threads: Vec<usize>,
    /// Only these rows; empty for all.
    pub variant: Vec<String>,
    /// Seconds that repetitions of one row may take. At least [`NodeRequest::MINIMUM_SAMPLES`] are made.
    pub seconds_per_point: f64,
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
            extent: Vec::new(),
            bytes: Vec::new(),
            threads: Vec::new(),
            variant: Vec::new(),
            seconds_per_point: 0.25,
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
        if !(self.seconds_per_point > 0.0 && self.seconds_per_point.is_finite()) {
            return bad("seconds_per_point", self.seconds_per_point.to_string(), "a positive number of seconds");
        }
        if !(self.memory_share > 0.0 && self.memory_share <= 0.9) {
            return bad("memory_share", self.memory_share.to_string(), "a share above 0 and at most 0.9");
        }
        if self.threads.contains(&0) {
            return bad("threads", "0".to_owned(), "at least one thread");
        }
        Ok(())
    }

    /// What is asked for of the one parameter of sizes that a benchmark takes, by its name.
    pub(crate) fn sizes(&self, name: &str) -> &[u64] {
        if name == "extent" { &self.extent } else { &self.bytes }
    }

    pub(crate) fn wants(&self, variant: &str) -> bool {
        self.variant.is_empty() || self.variant.iter().any(|wanted| wanted == variant)
    }
}
