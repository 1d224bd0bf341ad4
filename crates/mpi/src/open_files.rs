//! Files of MPI that are open.

use crate::library::Handle;

/// An open file of MPI.
#[derive(Debug)]
pub struct Open {
    pub handle: Handle,
    pub path: String,
}
