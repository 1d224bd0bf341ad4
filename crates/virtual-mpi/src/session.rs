//! Sessions: a start of MPI by itself.
//!
//! Objects of different sessions, or of a session and of the World Model, are not to meet in one call (MPI 4.1, section
//! 11.3). Groups know the session that they were derived from, and what is made of groups knows its groups.

use std::cell::Cell;
use std::rc::Rc;

use crate::abi::Errhandler;
use crate::buffered::Buffered;
use crate::communicator::{Communicator, Group};
use crate::fault::{Answer, class, require};
use crate::info::Info;

/// A session.
pub struct Session {
    /// From 1, in the order in which this rank began them.
    pub number: u32,
    pub errhandler: Cell<Errhandler>,
    pub info: Info,
    /// Buffered sends of its communicators that have no memory for them of their own.
    pub buffered: Rc<Buffered>,
}

/// Sets of processes that a session knows.
pub const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// Fails for communicators, or a communicator and a group, of different sessions.
pub fn check_communicators(first: &Communicator, second: &Group) -> Answer {
    check(&first.group, second, class::ERR_COMM)
}

/// Fails for groups of different sessions.
pub fn check_groups(first: &Group, second: &Group) -> Answer {
    check(first, second, class::ERR_GROUP)
}

/// The empty group is of no session: `MPI_GROUP_EMPTY` is predefined.
fn check(first: &Group, second: &Group, class: i32) -> Answer {
    let is_one = first.session == second.session || first.is_empty() || second.is_empty();
    require(is_one, class, mixed)
}

/// What is said of objects that are not to meet.
pub fn mixed() -> String {
    "objects of different sessions, or of a session and of MPI_COMM_WORLD, in one call".to_owned()
}
