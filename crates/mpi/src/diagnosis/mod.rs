//! How a run that cannot go on is noticed and explained.
//!
//! Each rank reports on standard error, in lines that begin with `weft-rank ` and go on with a JSON object
//! ([`Report`]): when it has been in one call for long, when it goes on, when it has ended, when it fails. The process
//! that started the ranks feeds every line of their standard error to a [`Diagnosis`] and asks it for a verdict now and
//! then. Nothing here knows MPI, processes or clocks.

mod judge;
mod launcher_output;
mod report;

pub use judge::{Diagnosis, PATIENCE, SLOWEST_RATE, diagnose};
pub use report::{Collective, Event, MARKER, Report};
