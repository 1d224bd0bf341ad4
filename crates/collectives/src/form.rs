//! What forms of exchanges consist of.

use crate::schedule::Operation;

/// From, to, first byte and bytes.
pub type Sent = (usize, usize, u64, u64);

/// What is done in a round, and its messages.
pub type Draft = (Operation, Vec<Sent>);

/// A form before its paths are known: its name, and the rounds of each part of the buffer, which go on at the same time.
pub struct Form {
    pub name: String,
    /// What it has that others of its name may not have.
    pub variant: String,
    pub parts: Vec<Vec<Draft>>,
}
