//! How long ranks compute while messages pass, and times that are looked at until they have settled.

use weft_comm::Communicator;

use crate::budget::affordable;
use crate::session::Session;
use crate::stopwatch::{fixed_iterations, warmup};

/// It is timed again while it comes out shorter than before by more than this share,
const SHORTER: f64 = 0.2;

/// How the computing ranks compute.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    /// The time of one run of the loop, undisturbed.
    pub seconds: f64,
    pub warmup: usize,
    pub timed: usize,
}

impl Runs {
    /// Runs of `seconds` each, as many as the request says or its time allows for both halves of the measurement.
    pub fn of<C: Communicator>(session: &Session<'_, C>, seconds: f64) -> Runs {
        let timed =
            fixed_iterations(session).unwrap_or_else(|| affordable(0.5 * session.request.seconds_per_point, seconds));
        Runs { seconds, warmup: warmup(session, timed), timed }
    }
}

/// A time that is looked at again until it is no longer found to be much shorter: a first look may be one at a machine
/// that does something else.
pub(super) struct Settling {
    /// The least so far, in seconds.
    pub least: f64,
    looks: usize,
}

impl Default for Settling {
    fn default() -> Settling {
        Settling { least: f64::INFINITY, looks: 0 }
    }
}

impl Settling {
    /// Looks at a time; whether two looks at least have agreed.
    pub fn is_settled_by(&mut self, seconds: f64) -> bool {
        let is_settled =
            self.looks > 0 && seconds >= (1.0 - SHORTER) * self.least && seconds <= self.least / (1.0 - SHORTER);
        self.least = self.least.min(seconds);
        self.looks += 1;
        is_settled
    }
}
