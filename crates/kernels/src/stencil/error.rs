//! What cannot be meant.

use thiserror::Error;

/// Why a stencil, a plan or a call of one was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StencilError {
    /// The description of the stencil.
    #[error("{0}")]
    Stencil(String),
    /// The array that a plan is made for.
    #[error("{0}")]
    Plan(String),
    /// The arrays that a plan is given.
    #[error("{0}")]
    Call(String),
}
