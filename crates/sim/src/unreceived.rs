//! What is left of a program's messages when it has ended.

use weft_comm::Tag;

/// A message that was sent and never received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// Ranks of the run.
    pub from: usize,
    pub to: usize,
    pub tag: Tag,
    pub bytes: u64,
}
