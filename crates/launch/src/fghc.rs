//! Programs in FGHC on threads, on the ranks of an MPI job, and in virtual time: one processing element for each rank.

use weft_comm::RunError;
use weft_fghc::distributed::{Outcome, Run};
use weft_machine::{Machine, Topology};
use weft_mpi::World;
use weft_sim::{Options, Placement, run};

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
    /// Packets that crossed the network.
    pub packets: u64,
}

/// Runs a program on so many PEs of `machine` in virtual time, PE p on node p. What the program costs is in its options.
///
/// # Errors
/// [`LaunchError::Usage`] for more PEs than the machine has nodes, [`LaunchError::Run`] for a run that fails.
pub fn simulate_fghc(machine: &Machine, program: &Run, pes: usize) -> Result<SimulatedFghc, LaunchError> {
    if pes > machine.nodes() {
        return Err(LaunchError::Usage(format!(
            "{pes} PEs: {} has {} nodes; --enlarge simulates a larger machine of the same parts",
            machine.name,
            machine.nodes()
        )));
    }
    let outcome = run(machine, &Placement::identity(pes), program, &Options::default())?;
    let packets = outcome.messages;
    let mut found = None;
    for output in outcome.outputs {
        found = found.or(first(output)?);
    }
    Ok(SimulatedFghc { outcome: found.expect("a run has a rank 0"), packets })
}

/// The machine with at least so many nodes, of the same parts: a mesh or torus with its extents doubled, the smallest
/// first, a hypercube of a higher dimension, a larger crossbar. The same machine where it is large enough.
///
/// # Errors
/// [`LaunchError::Usage`] for topologies that do not grow in this way.
pub fn enlarged(machine: &Machine, nodes: usize) -> Result<Machine, LaunchError> {
    let mut topology = machine.topology.clone();
    while topology.nodes() < nodes {
        match &mut topology {
            Topology::Hypercube { dimension } => *dimension += 1,
            Topology::Torus { extents } | Topology::Mesh { extents } => {
                if let Some(smallest) = extents.iter_mut().min() {
                    *smallest *= 2;
                }
            }
            Topology::Crossbar { nodes: all } => *all = nodes,
            other => {
                return Err(LaunchError::Usage(format!(
                    "{nodes} PEs: {} is a {} of {} nodes, which does not grow by itself; describe a larger one in a file",
                    machine.name,
                    other.kind(),
                    machine.nodes()
                )));
            }
        }
        topology.validate().map_err(|error| LaunchError::Usage(format!("{nodes} PEs: expected {}", error.expected)))?;
    }
    Ok(Machine { topology, ..machine.clone() })
}
