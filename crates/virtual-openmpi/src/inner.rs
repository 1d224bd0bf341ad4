//! What the library that stands in for MPICH has of its own.

use std::ffi::c_int;

pub type Aint = isize;

/// A status of MPICH.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Inner {
    pub count_lo: c_int,
    pub count_hi_and_cancelled: c_int,
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}
