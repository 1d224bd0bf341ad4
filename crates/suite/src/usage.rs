//! What a request is refused with.

use serde::{Deserialize, Serialize};

/// A request that cannot be met, in words for the person who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

pub(crate) fn refuse_if(wrong: bool, text: impl FnOnce() -> String) -> Result<(), UsageError> {
    if wrong { Err(UsageError(text())) } else { Ok(()) }
}
