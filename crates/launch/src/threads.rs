//! Requests of the suite on threads of this process.

use weft_suite::{Group, Request, Row, Suite};

use crate::error::LaunchError;

/// Runs `request` with its ranks as threads of this process.
///
/// # Errors
/// [`LaunchError::Usage`] for what cannot be asked for, [`LaunchError::Run`] for a run that fails.
pub fn run_threads(request: &Request) -> Result<Vec<Row>, LaunchError> {
    let benchmark = request.validate()?;
    let ranks = request.ranks.unwrap_or_else(|| match benchmark.group {
        // Programs compute and files are copied: more threads than processors would only take turns.
        Group::Program | Group::Files => std::thread::available_parallelism().map_or(1, usize::from),
        _ => benchmark.default_ranks,
    });
    let outputs = weft_threads::run(ranks, &Suite { request: request.clone() }, &weft_threads::Options::default())?;
    Ok(outputs.into_iter().next().expect("a run has a rank 0")?)
}
