//! The binary interface of the MPI standard (MPI 5.0, chapter 20): a library of the name that programs ask for which were
//! built for it, whose functions translate handles, statuses and numbers and call those of the library that stands in for
//! MPICH.
//!
//! Handles are addresses there: of small fixed values where they are predefined, else opaque. Here an opaque handle is
//! MPICH's number as an address. The functions are written by `build.rs` from the table of `virtual-mpi`; those that want
//! more are in [`special`], and what is alike for Open MPI's interface in that crate.

#[path = "../../virtual-openmpi/src/callbacks.rs"]
mod callbacks;
#[path = "../../virtual-openmpi/src/creation.rs"]
mod creation;
#[path = "../../virtual-openmpi/src/exchanges.rs"]
mod exchanges;
#[path = "../../virtual-openmpi/src/inner.rs"]
mod inner;
#[path = "../../virtual-openmpi/src/passing.rs"]
mod passing;
#[path = "../../virtual-openmpi/src/sleep_here.rs"]
mod sleep_here;
#[path = "../../virtual-mpi/src/sleeping_calls.rs"]
mod sleeping_calls;
mod special;
mod translation;

/// The functions of MPI whose parameters are translated one by one.
#[allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::not_unsafe_ptr_arg_deref,
    clippy::let_and_return,
    clippy::missing_transmute_annotations
)]
mod functions {
    use crate::exchanges::peer_types;
    use crate::inner::{Aint, Inner};
    use crate::passing::*;
    use crate::translation::*;
    use std::ffi::{c_char, c_int, c_void};
    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}

/// The functions of MPI whose translation is not that of their parameters one by one.
mod by_hand {
    pub use crate::creation::*;
    pub use crate::special::*;
}

/// The functions of MPI as programs see them: each under its name, and under that of the profiling interface.
#[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
mod exports {
    use crate::inner::Aint;
    use crate::translation::*;
    use crate::{by_hand, functions};
    use std::ffi::{c_char, c_int, c_void};
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
