//! What a launch is asked for.

use weft_comm::collective::Choice;
use weft_comm::prepared::Synchronization;

use crate::usage::UsageError;

pub use crate::parameters::Request;

impl Request {
    /// Timed iterations per point where time is virtual: the first is in a state of its own, the others repeat.
    pub const VIRTUAL_ITERATIONS: u32 = 3;
    /// The fewest iterations before the timed ones where time is real.
    pub const MIN_WARMUP: u32 = 4;

    /// The algorithm asked for.
    ///
    /// # Errors
    /// [`UsageError`] for a name that is none.
    pub fn choice(&self) -> Result<Choice, UsageError> {
        let name = self.algorithm.as_deref().unwrap_or("auto");
        name.parse().map_err(|error: weft_comm::collective::UnknownAlgorithm| UsageError(error.to_string()))
    }

    /// The synchronization asked for, of the names that [`validate`](Request::validate) lets pass; a flush where none is.
    pub(crate) fn synchronization(&self) -> Synchronization {
        let named = |kind: &Synchronization| Some(kind.name()) == self.synchronization.as_deref();
        Synchronization::ALL.into_iter().find(named).unwrap_or(Synchronization::Flush)
    }
}
