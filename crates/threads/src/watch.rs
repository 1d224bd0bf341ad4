//! Who sleeps: how a deadlock is seen without a time-out.

use std::sync::PoisonError;

use weft_comm::{Blocked, RunError};

use crate::sync::Mutex;

/// What a rank does, as far as the watch knows.
#[derive(Clone, Copy)]
enum State {
    /// Computing, spinning, or about to wake.
    Awake,
    /// Asleep in a call until its bell has rung more than `rings` times; `None`: nothing can wake it.
    Asleep { blocked: Blocked, rings: Option<u64> },
    /// Its program has returned.
    Finished,
}

/// All ranks' states.
///
/// A rank reports that it is about to sleep together with the number of rings it has seen. When the last one does, no
/// rank is left that could ring a bell or give a message away, so if no bell has rung since and nothing has come by a
/// ring, nothing ever will. What a rank did before it reported is seen by whoever reports after it.
pub struct Watch(Mutex<Vec<State>>);

impl Watch {
    pub fn of(ranks: usize) -> Watch {
        Watch(Mutex::new(vec![State::Awake; ranks]))
    }

    /// The rank is about to sleep. Returns the run's end if that leaves no rank that can go on; `has_changed` says of a rank
    /// whether something it may wait for has changed since its bell had rung so often.
    pub fn asleep(
        &self,
        blocked: Blocked,
        rings: Option<u64>,
        has_changed: impl Fn(usize, u64) -> bool,
    ) -> Option<RunError> {
        let rank = blocked.rank;
        self.set(rank, State::Asleep { blocked, rings }, has_changed)
    }

    pub fn awake(&self, rank: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank] = State::Awake;
    }

    /// The rank's program has returned; see [`asleep`](Watch::asleep).
    pub fn finished(&self, rank: usize, has_changed: impl Fn(usize, u64) -> bool) -> Option<RunError> {
        self.set(rank, State::Finished, has_changed)
    }

    fn set(&self, rank: usize, state: State, has_changed: impl Fn(usize, u64) -> bool) -> Option<RunError> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states[rank] = state;
        let mut sleeping = Vec::new();
        for (rank, state) in states.iter().enumerate() {
            match state {
                State::Awake => return None,
                State::Asleep { rings: Some(rings), .. } if has_changed(rank, *rings) => return None,
                State::Asleep { blocked, .. } => sleeping.push(*blocked),
                State::Finished => {}
            }
        }
        (!sleeping.is_empty()).then(|| RunError::of_blocked(states.len(), sleeping))
    }
}
