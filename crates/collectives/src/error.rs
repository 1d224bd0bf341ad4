//! What can be wrong with a collective, in one sentence.

/// A collective that cannot be compiled, a graph that is none, a schedule that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CollectiveError(String);

impl CollectiveError {
    /// An error that says `what`.
    pub fn new(what: impl Into<String>) -> CollectiveError {
        CollectiveError(what.into())
    }
}
