//! The objects of Open MPI whose addresses are predefined handles: `build.rs` writes them from `handles.txt`.
#![allow(non_upper_case_globals, reason = "the names that programs ask for")]

use std::ffi::{CStr, c_int};

/// The content of an object whose address is a handle. Programs that were linked to copy it have the number with it.
pub const fn object<const WORDS: usize>(number: u32) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    words[0] = number;
    words
}

/// What handles are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Comm,
    Group,
    Datatype,
    Op,
    Request,
    Message,
    Info,
    Errhandler,
    Win,
    File,
}

/// A predefined handle.
pub struct Known {
    pub name: &'static CStr,
    pub handle: c_int,
    pub kind: Kind,
    /// The number that stands for it in Fortran.
    pub fortran: c_int,
}

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
