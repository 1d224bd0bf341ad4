//! How the rank of this process sleeps where a compiled program calls the C library for it.

use std::ffi::c_double;

use crate::sleep::weft_sleep_alone;

/// The rank sleeps on the machine, if it does so at all.
pub fn sleeps_on_the_machine(seconds: c_double) -> bool {
    weft_sleep_alone(seconds) != 0
}
