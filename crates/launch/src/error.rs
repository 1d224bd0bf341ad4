//! Why a launch gave no rows.

use weft_comm::RunError;
use weft_suite::UsageError;

/// A launch without an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// What was asked for is impossible; nothing has run.
    #[error("{0}")]
    Usage(String),
    /// The run ended without an answer.
    #[error("{0}")]
    Run(RunError),
}

impl From<UsageError> for LaunchError {
    fn from(error: UsageError) -> LaunchError {
        LaunchError::Usage(error.to_string())
    }
}

impl From<RunError> for LaunchError {
    fn from(error: RunError) -> LaunchError {
        match error {
            RunError::Setup(message) => LaunchError::Usage(message),
            error => LaunchError::Run(error),
        }
    }
}
