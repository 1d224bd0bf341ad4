//! What one launch found out about one point.

use serde::{Deserialize, Serialize};

use crate::parameters::BufferSort;
use crate::programs::Precision;

/// One point of one launch: one benchmark at one length, distance and algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub benchmark: String,
    /// Ranks that took part.
    pub ranks: usize,
    /// Links between the partners (echo), where the backend knows it.
    #[serde(default)]
    pub hops: Option<u32>,
    /// Length in bytes; of all that one rank sends in an exchange (halo, stencil).
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Shape of the block of one rank (halo, stencil), as `16x16x16`.
    #[serde(default)]
    pub shape: Option<String>,
    /// Elements along each axis of a matrix or grid (programs).
    #[serde(default)]
    pub extent: Option<u64>,
    /// What a program computes in.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// How files were reached, where there were any: a name of [`FileSystem`](weft_comm::files::FileSystem).
    #[serde(default)]
    pub file_system: Option<String>,
    /// The kind of file system they were on: `ext4`, `tmpfs`, `4 I/O nodes`.
    #[serde(default)]
    pub file_kind: Option<String>,
    /// Length of the file of one rank in bytes (file benchmarks).
    #[serde(default)]
    pub file_bytes: Option<u64>,
    /// What became of the system's copy of a file before it was read: `dropped`, `kept` or `unknown` (file benchmarks).
    #[serde(default)]
    pub cache: Option<String>,
    /// Whether a file had its space before it was written (file benchmarks).
    #[serde(default)]
    pub preallocate: Option<bool>,
    /// I/O nodes of a described machine (file benchmarks in virtual time).
    #[serde(default)]
    pub io_nodes: Option<u32>,
    /// Messages in flight, where they are not as many as the benchmark has where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// The algorithm that ran: `native` or its name.
    #[serde(default)]
    pub algorithm: Option<String>,
    /// How the matrix of a program lay on the ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The median over the iterations of this launch, in seconds: of one one-way transfer (echo, bandwidth), of one
    /// step (ring), exchange (bisection, halo), of one step (stencil), operation (collectives) or run of the loop (routing-compute), of one message
    /// at the node that all have in common (fan-in, fan-out) or at the one end that is timed (send-overhead,
    /// receive-overhead) or of one message of the probe (contention), while the
    /// disturbance lasts, where there is one; of one run (programs), of one pass over the files of all ranks (file
    /// benchmarks).
    pub seconds: f64,
    /// The lower decile over the iterations, in seconds.
    pub seconds_p10: f64,
    /// Timed iterations.
    pub iterations: u32,
    /// The share of iterations that took more than three times the median.
    pub share_above_3x: f64,
    /// The share of iterations that a rank came late to, after the moment agreed on (collectives, bisection).
    #[serde(default)]
    pub share_late: Option<f64>,
    /// Work per second at the median, in `rate_unit`, where a rate means something: bytes of one message (echo), of all
    /// that crosses (bandwidth, bisection), of all ghosts of one rank (halo), of all neighbours together (fan-in, fan-out), of the probe (contention) or of
    /// all that is read or written (file benchmarks); operations (programs, stencil).
    #[serde(default)]
    pub rate: Option<f64>,
    /// `B/s` where it is left out, else the unit of `rate`: `flop/s`.
    #[serde(default)]
    pub rate_unit: Option<String>,
    /// Ranks that exchange messages with rank 0 at once (fan-in, fan-out).
    #[serde(default)]
    pub neighbours: Option<u32>,
    /// Threads of a rank that exchange messages at one time (echo-threads).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Where messages lay, where it was not in the host's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<BufferSort>,
    /// The pattern of background traffic (contention), as it can be asked for.
    #[serde(default)]
    pub background: Option<String>,
    /// Length of the messages in the background, in bytes; nothing where there is no background.
    #[serde(default)]
    pub background_bytes: Option<u64>,
    /// From which rank to which the probe sends (contention), as `1-3`.
    #[serde(default)]
    pub probe: Option<String>,
    /// What `seconds` is without the disturbance, in the same launch: with idle routing nodes (routing-echo), without
    /// messages (routing-compute), without background (contention), without computation (nonblocking collectives).
    #[serde(default)]
    pub quiet_seconds: Option<f64>,
    /// The share of speed that the disturbance takes: 1 - quiet_seconds / seconds. Negative where it was faster.
    #[serde(default)]
    pub slowdown: Option<f64>,
    /// The share of a collective that went on beside a computation as long as itself (nonblocking collectives).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<f64>,
    /// How a collective was timed, where it was not by windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<String>,
    /// How accesses were completed (one-sided communication): a name of
    /// [`Synchronization`](weft_comm::prepared::Synchronization).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronization: Option<String>,
    /// From which rank to which the messages go, and what their nodes are called, where it is known (pairs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_node: Option<String>,
    /// The processors that they may run on, where that is known (pairs): a [`Binding`](weft_simd::Binding) as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_binding: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_binding: Option<String>,
    /// The time of every iteration in seconds, in order, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Vec<f64>>,
}
