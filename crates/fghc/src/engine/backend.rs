//! The seam between the engine and whatever runs its instructions in place of the interpreter.

use super::{Engine, Exit};

/// A translation of a program's code. The interpreter is the meaning: with a backend every program gives the same answers
/// and the same counts.
pub(crate) trait Backend: Send + Sync {
    /// Runs goals of the present queue until it is empty, the budget is spent or something must be reported, as
    /// [`Engine::interpret`] does.
    fn run(&self, engine: &mut Engine) -> Exit;

    /// Code by predicate, for goals in the heap; the table lives as long as the backend.
    fn entries(&self) -> *const *const u8;

    /// The predicate whose commitments are not counted where those of all others are: they are all other reductions.
    fn uncounted_predicate(&self) -> Option<usize>;
}

/// How a program is translated; other than by default only to measure what something costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Whether suspensions and resumptions are counted. Reductions are in any case, because the memory that they may take is
    /// granted by their number.
    pub counters: bool,
    /// `Some(seed)`: functions lie at random distances.
    pub placement: Option<u64>,
}

impl Default for Translation {
    fn default() -> Self {
        Translation { counters: true, placement: None }
    }
}
