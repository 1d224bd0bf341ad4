//! Requests of the suite on the ranks that an MPI launcher has started.

use weft_mpi::World;
use weft_suite::{Request, Row, Suite};

use crate::error::LaunchError;

/// Runs this process's rank of `request` in a world that has been started; rows on rank 0, nothing elsewhere.
///
/// # Errors
/// [`LaunchError::Usage`] for what cannot be asked for, [`LaunchError::Run`] for a run that fails.
pub fn run_mpi_rank(world: &World, request: &Request) -> Result<Option<Vec<Row>>, LaunchError> {
    request.validate()?;
    let rows = world.run(&Suite { request: request.clone() })??;
    Ok((world.rank() == 0).then_some(rows))
}
