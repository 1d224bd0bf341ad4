//! A rank that sleeps: the clock of its node moves on, and nobody waits here.
//!
//! Programs sleep in loops that look again and again whether others have done something. If they really did, ranks that
//! share a process would sleep one after another, and those that they wait for with them.

use std::ffi::{c_double, c_int};

use weft_comm::{Communicator as _, Work};

use crate::errors::Object;
use crate::rank::{Phase, Rank, current};
use crate::shell;
use crate::threads::threads_of_process;

/// The rank sleeps in virtual time; 1 if it did. It does not where nobody has begun to communicate or has ended to, and
/// on threads that the program has started: 0, and the caller sleeps otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn weft_sleep(seconds: c_double) -> c_int {
    let communicates = |rank: &&Rank| rank.is_initialized() && rank.phase.get() != Phase::Finalized;
    let is_its_own = current().filter(communicates).is_some_and(|rank| rank.threads.is_main());
    if !is_its_own || !(0.0..MAX_SECONDS).contains(&seconds) {
        return 0;
    }
    shell::call("a call of sleep", Object::None, |rank| {
        rank.block(rank.endpoint.compute(Work::Seconds(seconds)));
        Ok(())
    });
    1
}

/// As [`weft_sleep`], for the C library's functions: also not where the process has other threads, which may be what the
/// program waits for. Python's scripts know their threads from those of libraries, and do not come here.
#[unsafe(no_mangle)]
pub extern "C" fn weft_sleep_alone(seconds: c_double) -> c_int {
    if threads_of_process() > 1 { 0 } else { weft_sleep(seconds) }
}

/// Longer than this nobody sleeps in a run: a month. The clock counts some months altogether.
const MAX_SECONDS: f64 = 30.0 * 86400.0;
