//! MPI in virtual time: a library that programs are loaded with in place of their own, and behind it weft's simulator.
//!
//! From outside this is the MPI that programs were compiled for (`abi`): the C functions are written by `build.rs` from
//! one table, `functions.txt`, and call what stands in `api`. A rank (`rank`) has its objects and its clock; a call that
//! cannot be finished gives the processor to other ranks through the [`rank::Host`], which holds the program (`hosting`).
//!
//! Functions that a blocking message passes through are in a section of their own (`weft_message`), next to each other: a
//! rank with a process for itself finds no translation of an address left when it goes on, and pays for each page of code.

// The functions of MPI have as many parameters as the standard says.
#![allow(clippy::too_many_arguments, reason = "the standard's parameters")]
// The program hands in addresses; each function of `api` follows them as far as the standard says that they lead.
#![expect(clippy::not_unsafe_ptr_arg_deref, reason = "functions behind the C functions of MPI get its addresses")]

pub mod abi;
mod access;
mod apart;
pub mod api;
mod attribute;
mod buffered;
pub mod collective;
mod communicator;
mod computation;
mod conflicts;
pub mod datatype;
mod errors;
mod fault;
mod file;
mod fortran;
mod generalized;
mod hosting;
mod info;
mod joint;
pub mod link;
mod memory;
mod meter;
mod operation;
mod outcome;
mod pending;
mod processes;
mod proxies;
mod quiet;
pub mod rank;
mod remark;
mod request;
mod session;
mod shell;
mod sleep;
mod sleep_here;
mod sleeping_calls;
mod table;
mod target;
mod threads;
mod used;
mod window;

/// What the C functions of MPI do.
#[allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::redundant_closure,
    clippy::unnecessary_cast,
    unused_parens,
    unused_variables
)]
mod shells {
    use crate::abi::*;
    use crate::api;
    use crate::errors::Object;
    use crate::shell;
    use std::ffi::{c_char, c_int, c_void};
    include!(concat!(env!("OUT_DIR"), "/shells.rs"));
}

/// The C functions of MPI as programs see them: each under its name, and under that of the profiling interface.
#[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
mod exports {
    use crate::abi::*;
    use crate::shells;
    use std::ffi::{c_char, c_int, c_void};
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}

include!(concat!(env!("OUT_DIR"), "/supported.rs"));

/// The library's own memory. Were it in the heap of the program, that heap would keep or give back pages otherwise than
/// beside another MPI, and computation that is measured would take another time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
