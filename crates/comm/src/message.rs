//! What travels between ranks besides payloads: whom a message is from, what is known of it, and the work between messages.

use std::fmt;

use weft_base::Operation;

use crate::payload::Payload;
use crate::tag::Tag;

/// Whom a receive or a probe accepts a message from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only this rank.
    Rank(usize),
    /// Any rank of the communicator (the wildcard).
    Any,
}

impl Source {
    /// Whether a message of `rank` is accepted.
    pub fn accepts(self, rank: usize) -> bool {
        match self {
            Source::Rank(wanted) => wanted == rank,
            Source::Any => true,
        }
    }
}

impl From<usize> for Source {
    fn from(rank: usize) -> Source {
        Source::Rank(rank)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Rank(rank) => write!(f, "rank {rank}"),
            Source::Any => f.write_str("any rank"),
        }
    }
}

/// Who sent a message, with which tag, how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub source: usize,
    pub tag: Tag,
    /// Length in bytes.
    pub bytes: usize,
}

/// A message that was received.
///
/// The payload is what was sent: data where data was sent, a phantom where a phantom was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub payload: Payload,
    pub status: Status,
}

/// Computation that a program does between messages.
///
/// In virtual time it is charged at the machine's operation times. On a real backend the time has been spent by the
/// computation itself, so nothing is added, except for [`Work::Spin`], which exists to spend time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// This many operations of one kind.
    Operations { operation: Operation, count: u64 },
    /// Operations of two kinds that go on at one time, arithmetic and the memory that feeds it: what takes longer
    /// counts.
    Overlapped([(Operation, u64); 2]),
    /// This many seconds of the node's processor.
    Seconds(f64),
    /// A loop that keeps the processor busy this many seconds, on every backend.
    Spin(f64),
}
