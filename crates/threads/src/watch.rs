//! Who sleeps: how a deadlock is seen without a time-out.

use std::sync::{Mutex, PoisonError};

use weft_comm::{Blocked, RunError};

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
/// rank is left that could ring a bell, so if no bell has rung since, none ever will.
pub struct Watch(Mutex<Vec<State>>);

impl Watch {
    pub fn of(ranks: usize) -> Watch {
        Watch(Mutex::new(vec![State::Awake; ranks]))
    }

    /// The rank is about to sleep. Returns the run's end if that leaves no rank that can go on; `rings_of` is the
    /// present count of a rank's bell.
    pub fn asleep(&self, blocked: Blocked, rings: Option<u64>, rings_of: impl Fn(usize) -> u64) -> Option<RunError> {
        let rank = blocked.rank;
        self.set(rank, State::Asleep { blocked, rings }, rings_of)
    }

    pub fn awake(&self, rank: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[rank] = State::Awake;
    }

    /// The rank's program has returned; see [`asleep`](Watch::asleep).
    pub fn finished(&self, rank: usize, rings_of: impl Fn(usize) -> u64) -> Option<RunError> {
        self.set(rank, State::Finished, rings_of)
    }

    fn set(&self, rank: usize, state: State, rings_of: impl Fn(usize) -> u64) -> Option<RunError> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states[rank] = state;
        let mut sleeping = Vec::new();
        for (rank, state) in states.iter().enumerate() {
            match state {
                State::Awake => return None,
                State::Asleep { rings: Some(rings), .. } if rings_of(rank) != *rings => return None,
                State::Asleep { blocked, .. } => sleeping.push(*blocked),
                State::Finished => {}
            }
        }
        (!sleeping.is_empty()).then(|| RunError::of_blocked(states.len(), sleeping))
    }
}
