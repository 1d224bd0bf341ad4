//! Open MPI's binary interface: a library of the name that its programs ask for, whose functions translate handles,
//! statuses and numbers and call those of the library that stands in for MPICH.
//!
//! Handles are addresses there: of objects that the library exports where they are predefined, else opaque. Here an
//! opaque handle is MPICH's number as an address, and each exported object begins with the number that it stands for.
//! The functions are written by `build.rs` from the table of `virtual-mpi`; those that want more are
//! in [`special`] and [`creation`].

#[macro_use]
mod callbacks;
mod creation;
mod exchanges;
mod fortran;
mod fortran_attributes;
mod fortran_callbacks;
mod fortran_library;
mod functions;
mod inner;
mod objects;
mod passing;
mod sleep_here;
#[path = "../../virtual-mpi/src/sleeping_calls.rs"]
mod sleeping_calls;
mod special;
mod translation;

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

/// Functions of Fortran, under the names by which its programs call them.
#[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
mod fortran_exports {
    use crate::inner::Aint;
    use crate::translation::Fint;
    use std::ffi::c_void;

    mod by_fortran {
        pub use crate::fortran::*;
        pub use crate::fortran_attributes::*;
    }
    include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
}
