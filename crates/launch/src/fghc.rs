//! Programs in FGHC on threads, on the ranks of an MPI job, and in virtual time: one processing element for each rank.

use weft_comm::RunError;
use weft_fghc::distributed::{Outcome, Run};
use weft_machine::Machine;
use weft_mpi::World;
use weft_sim::{Options, Placement, Trace, run};

use crate::error::LaunchError;

fn first(output: Result<Option<Outcome>, String>) -> Result<Option<Outcome>, LaunchError> {
    output.map_err(|message| LaunchError::Run(RunError::Setup(message)))
}

/// Runs a program on so many PEs, each a thread of this process.
///
/// # Errors
/// [`LaunchError::Usage`] for no PE at all, [`LaunchError::Run`] where the system gives no threads or no memory.
pub fn run_fghc_threads(program: &Run, pes: usize) -> Result<Outcome, LaunchError> {
    let outputs = weft_threads::run(pes, program, &weft_threads::Options::default())?;
    let mut outcome = None;
    for output in outputs {
        outcome = outcome.or(first(output)?);
    }
    Ok(outcome.expect("a run has a rank 0"))
}

/// Runs this process's PE of an MPI job; the outcome on rank 0, nothing elsewhere.
///
/// # Errors
/// [`LaunchError::Run`] for a run that fails.
pub fn run_fghc_mpi(world: &World, program: &Run) -> Result<Option<Outcome>, LaunchError> {
    first(world.run(program)?)
}

/// A program in virtual time.
#[derive(Debug)]
pub struct SimulatedFghc {
    /// What the run gave; times are virtual.
    pub outcome: Outcome,
    /// Every event, where asked for.
    pub trace: Option<Trace>,
}

/// Runs a program on so many PEs of `machine` in virtual time, rank r on node r.
///
/// # Errors
/// [`LaunchError::Usage`] for more PEs than the machine has nodes, [`LaunchError::Run`] for a run that fails.
pub fn simulate_fghc(machine: &Machine, program: &Run, pes: usize, trace: bool) -> Result<SimulatedFghc, LaunchError> {
    let outcome = run(machine, &Placement::identity(pes), program, &Options { trace, traffic: false })?;
    let trace = outcome.trace;
    let mut found = None;
    for output in outcome.outputs {
        found = found.or(first(output)?);
    }
    Ok(SimulatedFghc { outcome: found.expect("a run has a rank 0"), trace })
}
