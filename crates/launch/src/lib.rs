//! The one place that joins programs to worlds: requests of the suite run in virtual time, on threads or on MPI.

mod error;
mod mpi;
mod place;
mod simulate;
mod threads;

pub use error::LaunchError;
pub use mpi::run_mpi_rank;
pub use simulate::{SimulateOptions, Simulated, simulate};
pub use threads::run_threads;
