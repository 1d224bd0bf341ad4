//! Compiled collectives in virtual time and on threads.

use std::sync::Arc;

use weft_base::{Interrupt, memory};
use weft_collectives::execute::Timed;
use weft_collectives::{Fabric, Schedule, verify};
use weft_machine::Machine;
use weft_sim::{Options, Placement};

use crate::error::LaunchError;

fn usage(error: impl ToString) -> LaunchError {
    LaunchError::Usage(error.to_string())
}

/// Every rank has a buffer, what it is compared with, and as much under way.
fn require_buffers(schedule: &Schedule) -> Result<(), LaunchError> {
    let ranks = schedule.fabric.ranks.len() as u64;
    let what = format!("a collective of {ranks} ranks with buffers of {} bytes", schedule.bytes);
    memory::require(ranks.saturating_mul(schedule.bytes).saturating_mul(3), what, "compile for a shorter buffer")
        .map_err(usage)
}

/// Executes a collective on the described machine that it was compiled for, rank r on the node that the schedule has it on:
/// seconds in virtual time. Messages take the machine's own routes.
///
/// # Errors
/// [`LaunchError::Usage`] for a schedule that breaks a rule or is of another network, [`LaunchError::Run`] for a run that
/// fails or gives other data.
pub fn simulate_collective(
    machine: &Machine,
    schedule: &Arc<Schedule>,
    phantom: bool,
    interrupt: &Interrupt,
) -> Result<f64, LaunchError> {
    verify(schedule).map_err(usage)?;
    let own = Fabric::of_machine(machine).map_err(usage)?;
    if own.vertices != schedule.fabric.vertices {
        return Err(LaunchError::Usage(format!(
            "the schedule was made for {} with {} vertices; {} is another network, of {}",
            schedule.fabric.name,
            schedule.fabric.vertices.len(),
            machine.name,
            own.vertices.len()
        )));
    }
    if !phantom {
        require_buffers(schedule)?;
    }
    let program = Timed::new(schedule.clone(), phantom, 1).map_err(usage)?;
    let options = Options { trace: false, traffic: false, interrupt: interrupt.clone() };
    let outcome = weft_sim::run(machine, &Placement::listed(&schedule.fabric.ranks), &program, &options)?;
    Ok(outcome.outputs[0][0])
}

/// Executes a collective with its ranks as threads of this process, and compares every buffer: seconds of each execution.
///
/// # Errors
/// As [`simulate_collective`].
pub fn collective_threads(schedule: &Arc<Schedule>, iterations: usize) -> Result<Vec<f64>, LaunchError> {
    verify(schedule).map_err(usage)?;
    require_buffers(schedule)?;
    let program = Timed::new(schedule.clone(), false, iterations.max(1)).map_err(usage)?;
    let outputs = weft_threads::run(program.ranks(), &program, &weft_threads::Options::default())?;
    Ok(outputs.into_iter().next().expect("a run has a rank 0"))
}
