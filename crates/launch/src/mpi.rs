//! Requests of the suite on the ranks that an MPI launcher has started.

use weft_mpi::Backend;
use weft_suite::{Request, Row, Suite};

use crate::error::LaunchError;

/// Runs this process's rank of `request` on a backend that has been started; rows on rank 0, nothing elsewhere.
///
/// # Errors
/// [`LaunchError::Usage`] for what cannot be asked for, [`LaunchError::Run`] for a run that fails.
pub fn run_mpi_rank(backend: &Backend, request: &Request) -> Result<Option<Vec<Row>>, LaunchError> {
    request.validate()?;
    let rows = backend.run(&Suite { request: request.clone() })??;
    Ok((backend.rank() == 0).then_some(rows))
}
