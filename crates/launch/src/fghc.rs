//! Programs in FGHC: on one processing element, on threads, on the ranks of an MPI job, and in virtual time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use weft_comm::RunError;
use weft_fghc::check::check;
use weft_fghc::distributed::{Outcome, Recorder, Run};
use weft_fghc::engine::{Engine, Loaded};
use weft_fghc::ir::Source;
use weft_machine::{Machine, Topology};
use weft_mpi::Backend;
use weft_sim::{Options, Placement, run};

use crate::error::LaunchError;
use crate::fghc_costs::{CostOptions, pe_costs};
use crate::fghc_options::{FghcBackend, FghcOptions, FghcOutput};
use crate::fghc_result::FghcResult;

/// A program with the goal that it is run for, and how.
#[derive(Clone, Debug)]
pub struct FghcRequest {
    /// The files of the program.
    pub sources: Vec<Source>,
    /// What it is run for.
    pub goal: String,
    /// How it is run.
    pub options: FghcOptions,
    /// Whether what the program writes is kept and becomes part of the result.
    pub keeps_output: bool,
    /// Set from elsewhere: the run ends as soon as it can.
    pub interrupt: Arc<AtomicBool>,
}

/// What a run in this process gave.
pub struct FghcRan {
    /// How it ended, and what was counted.
    pub result: FghcResult,
    /// The timeline, where one was asked for.
    pub timeline: Option<Arc<Recorder>>,
}

/// Checks a program and compiles it for a goal.
///
/// # Errors
/// [`LaunchError::Run`] for a program with errors, [`LaunchError::Usage`] for one that is too large.
pub fn load_fghc(sources: Vec<Source>, goal: &str, options: &FghcOptions) -> Result<Loaded, LaunchError> {
    let mut checked = check(sources, Some(goal));
    let Some(program) = checked.program.take() else {
        let message = format!("the program has errors\n{}", checked.render(false));
        return Err(LaunchError::Run(RunError::Setup(message)));
    };
    // What was only needed to show findings need not be held while it runs.
    drop(checked);
    let loaded = Loaded::new(program, options.counts).map_err(|error| LaunchError::Usage(error.to_string()))?;
    Ok(if options.interpret { loaded } else { loaded.translate() })
}

impl FghcRequest {
    fn kept(&self) -> Option<FghcOutput> {
        self.keeps_output.then(|| self.options.output())
    }

    fn run(self, backend: FghcBackend, kept: Option<&FghcOutput>) -> Result<Run, LaunchError> {
        self.options.check(backend)?;
        let loaded = load_fghc(self.sources, &self.goal, &self.options)?;
        Ok(self.options.run(loaded, self.interrupt, kept))
    }

    /// Runs it on one PE.
    ///
    /// # Errors
    /// Those of [`load_fghc`]; [`LaunchError::Usage`] for options that have no meaning here; [`LaunchError::Run`] where there
    /// is no memory for a heap.
    pub fn alone(self) -> Result<FghcRan, LaunchError> {
        self.options.check(FghcBackend::Alone)?;
        let kept = self.kept();
        let loaded = load_fghc(self.sources, &self.goal, &self.options)?;
        let options = self.options.engine(self.interrupt, kept.as_ref());
        let limit = options.heap;
        let Some(mut engine) = Engine::new(&loaded, options) else {
            let message = format!("there is no memory for a heap (limit {limit} bytes)");
            return Err(LaunchError::Run(RunError::Setup(message)));
        };
        engine.start();
        let begin = Instant::now();
        let stop = engine.run(u64::MAX);
        let seconds = begin.elapsed().as_secs_f64();
        engine.flush();
        let result = FghcResult::of_engine(&engine, &stop, seconds, self.options.counts);
        Ok(FghcRan { result: result.with_output(kept.as_ref()), timeline: None })
    }

    /// Runs it on PEs that are threads of this process.
    ///
    /// # Errors
    /// As for [`FghcRequest::alone`]; [`LaunchError::Usage`] for no PE at all, [`LaunchError::Run`] where the system gives
    /// no threads or no memory.
    pub fn on_threads(self, pes: usize) -> Result<FghcRan, LaunchError> {
        let kept = self.kept();
        let run = self.run(FghcBackend::Threads, kept.as_ref())?;
        let outcome = run_fghc_threads(&run, pes)?;
        let result = FghcResult::of_outcome(&outcome).with_output(kept.as_ref());
        Ok(FghcRan { result, timeline: run.options.recorder })
    }

    /// Runs it on PEs of a described machine in virtual time.
    ///
    /// # Errors
    /// As for [`FghcRequest::alone`], [`pe_costs`], [`enlarged`] and [`simulate_fghc`].
    pub fn simulated(self, machine: &Machine, pes: usize) -> Result<FghcRan, LaunchError> {
        let kept = self.kept();
        let options = self.options.clone();
        let mut run = self.run(FghcBackend::Simulated, kept.as_ref())?;
        let costs = CostOptions { reduction: options.reduction_time, step: options.step_time };
        let charged = pe_costs(machine, costs)?;
        let machine = if options.enlarge { enlarged(machine, pes)? } else { machine.clone() };
        (run.options.costs, run.options.copy) = (Some(charged.costs.clone()), charged.copy);
        run.options.rounds = charged.rounds;
        run.options.slice = options.slice.unwrap_or(1);
        let simulated = simulate_fghc(&machine, &run, pes)?;
        let mut result = FghcResult::of_outcome(&simulated.outcome).with_output(kept.as_ref());
        result.assumed = Some(charged.assumed);
        result.packets = Some(simulated.packets);
        result.reduction_time = Some(charged.costs.reduction);
        Ok(FghcRan { result, timeline: run.options.recorder })
    }

    /// Runs it as this process's PE of an MPI job; the result on rank 0, nothing elsewhere.
    ///
    /// # Errors
    /// As for [`FghcRequest::alone`], and [`LaunchError::Run`] for a run that fails.
    pub fn as_rank(self, backend: &Backend) -> Result<Option<FghcResult>, LaunchError> {
        let run = self.run(FghcBackend::Ranks, None)?;
        Ok(run_fghc_mpi(backend, &run)?.map(|outcome| FghcResult::of_outcome(&outcome)))
    }
}

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
pub fn run_fghc_mpi(backend: &Backend, program: &Run) -> Result<Option<Outcome>, LaunchError> {
    first(backend.run(program)?)
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
    let mut first_output = None;
    for output in outcome.outputs {
        first_output = first_output.or(first(output)?);
    }
    Ok(SimulatedFghc { outcome: first_output.expect("a run has a rank 0"), packets })
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
