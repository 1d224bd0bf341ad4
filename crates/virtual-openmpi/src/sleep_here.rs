//! How the rank of this process sleeps where a compiled program calls the C library for it.

use std::ffi::{c_double, c_int};

use crate::passing::{Function, is_loaded};

/// The rank sleeps on the machine, if it does so at all: not before it has called MPI.
pub fn sleeps_on_the_machine(seconds: c_double) -> bool {
    static SLEEP: Function = Function::new(c"weft_sleep_alone");
    // SAFETY: this is the function's type.
    is_loaded() && unsafe { SLEEP.get::<unsafe extern "C" fn(c_double) -> c_int>()(seconds) } != 0
}
