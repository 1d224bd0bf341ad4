//! How a run is done.

use weft_base::Interrupt;

/// What a run records besides its answer, and what ends it early.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Every send, receive, wait, computation and message.
    pub trace: bool,
    /// What every link carries.
    pub traffic: bool,
    /// Whether somebody wants the run to end.
    pub interrupt: Interrupt,
}
