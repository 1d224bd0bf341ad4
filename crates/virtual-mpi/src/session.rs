//! Sessions: a start of MPI by itself.

use std::cell::Cell;

use crate::abi::Errhandler;
use crate::info::Info;

/// A session.
#[derive(Debug)]
pub struct Session {
    pub errhandler: Cell<Errhandler>,
    pub info: Info,
}

/// Sets of processes that a session knows.
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];
