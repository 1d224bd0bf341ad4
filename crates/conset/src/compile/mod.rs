//! Compilers: from a connection set and resources to a schedule.
//!
//! weft's own compiler makes candidates and keeps the one with the least predicted time: packed orbits and perfect phases
//! where the pattern has the symmetry for them, matchings where nodes have ports of a switch, and negotiated congestion
//! for everything else, first for the fewest phases and then, within the effort, for phases and link loads together. Words
//! of connections of different lengths are divided among the phases of the first plan.
//!
//! The paper's compiler (`apr`) is there to be compared with.

mod apr;
mod balance;
mod candidates;
mod circuits;
mod control;
mod ejection;
mod feasibility;
mod finish;
mod graded;
mod improve;
mod negotiate;
mod nested;
mod perfect;
mod placement;
mod plan;
mod shares;
mod staged;
mod strategy;
mod symmetric;
mod timetable;
mod whole;

pub use control::{Control, Progress};
pub use placement::assign_nodes;
pub use plan::{Placed, Plan};

use weft_base::memory::{self, MemoryError};

use crate::bounds::{Demand, least_phases};
use crate::network::Network;
use crate::pattern::{ConnectionSet, PatternError};
use crate::resources::Resources;
use crate::schedule::Schedule;
use candidates::Compilation;
use feasibility::{hops, least_bytes, refuse_infeasible};

/// Which compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// weft's own.
    Weft,
    /// The paper's: APR and AS.
    Apr,
}

impl Compiler {
    pub const ALL: [Compiler; 2] = [Compiler::Weft, Compiler::Apr];

    pub fn name(self) -> &'static str {
        match self {
            Compiler::Weft => "weft",
            Compiler::Apr => "apr",
        }
    }
}

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub compiler: Compiler,
    /// Nominal seconds that weft's compiler may look for something better than its first schedule.
    pub effort: f64,
    pub seed: u64,
    /// At most so many phases.
    pub phases: Option<u32>,
    /// Whether the words of a connection may be divided among phases.
    pub split: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { compiler: Compiler::Weft, effort: 1.0, seed: 0, phases: None, split: true }
    }
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("the connection set has nodes 0 to {last}, the machine only {nodes} nodes")]
    TooManyNodes { last: u32, nodes: usize },
    #[error("the topology is disconnected: there is no path from node {from} to node {to} (connection {connection})")]
    Disconnected { connection: usize, from: u32, to: u32 },
    #[error("{what} must be at least 1: with none nothing could be open")]
    NoChannels { what: &'static str },
    #[error(
        "infeasible in {phases} phase{}: node {node} has {degree} connections that start or end there, its {channels} in {phases} phase{} are {all}; at least {least} phases are needed",
        plural(*.phases), plural(*.phases)
    )]
    Degree { node: u32, degree: u64, channels: String, phases: u32, all: u64, least: u32 },
    #[error("infeasible in {phases} phases: the bound \"{bound}\" says at least {least}")]
    Bound { phases: u32, bound: String, least: u32 },
    #[error(
        "no schedule with at most {phases} phases was found (the bound is {least}); more effort or more phases may help"
    )]
    PhaseLimit { phases: u32, least: u32 },
    #[error("the plan that was kept is none of this connection set on this machine: {0}")]
    Kept(String),
    #[error("interrupted before there was a schedule")]
    Interrupted,
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The best schedule found.
///
/// # Errors
/// For sets and resources that do not go together, and when `interrupted` says so before there is any schedule; after that
/// the best so far is returned.
///
/// # Examples
/// ```
/// use weft_conset::{Options, Resources, compile, named, verify};
///
/// let machine = weft_machine::find("iwarp64").unwrap();
/// let resources = Resources::of(&machine).unwrap();
/// let set = named("transpose", &machine.topology, 100, 1).unwrap();
/// let options = Options { effort: 0.0, ..Options::default() };
/// let schedule = compile(&set, &resources, &machine.name, &options, &|| false, &|_| ()).unwrap();
/// // The verifier shares no code with the compiler, and knows the set.
/// let verified = verify(&schedule, Some(&set)).unwrap();
/// assert_eq!((verified.phases, verified.connections), (schedule.phases.len(), 56));
/// let mut bounds = schedule.lower_bounds.iter().filter(|bound| bound.unit == "phases");
/// assert!(bounds.all(|bound| bound.value <= verified.phases as f64));
/// ```
pub fn compile(
    set: &ConnectionSet,
    resources: &Resources,
    machine: &str,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
    progress: &dyn Fn(&Progress),
) -> Result<Schedule, CompileError> {
    compile_from(set, resources, machine, options, Search { kept: None, interrupted, progress, improved: &|_| () })
}

/// How a search goes on from another, and what it is told and tells.
pub struct Search<'a> {
    /// The best plan of a search that was ended: this one ends with nothing worse.
    pub kept: Option<Plan>,
    /// Asked often and cheaply whether the search shall end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Told now and then how far it is.
    pub progress: &'a dyn Fn(&Progress),
    /// Told every plan that is better than all before it, and than `kept`.
    pub improved: &'a dyn Fn(&Plan),
}

/// As [`compile`], from the best plan of another search.
///
/// # Errors
/// As those of [`compile`], and [`CompileError::Kept`] for a plan of another set or machine.
pub fn compile_from(
    set: &ConnectionSet,
    resources: &Resources,
    machine: &str,
    options: &Options,
    search: Search,
) -> Result<Schedule, CompileError> {
    let Search { kept, interrupted, progress, improved } = search;
    set.check()?;
    for (limit, what) in [
        (resources.node_channels, "channels of a node"),
        (resources.link_channels, "channels of a link"),
        (resources.ports, "ports"),
    ] {
        if limit == Some(0) {
            return Err(CompileError::NoChannels { what });
        }
    }
    let nodes = resources.topology.nodes();
    let smaller = "ask for a smaller machine or fewer connections, or compile on a larger one";
    memory::require(Network::bytes(&resources.topology), format!("a schedule for {nodes} nodes"), smaller)?;
    let network = Network::until(&resources.topology, interrupted).ok_or(CompileError::Interrupted)?;
    if set.nodes as usize > network.nodes {
        return Err(CompileError::TooManyNodes { last: set.nodes - 1, nodes: network.nodes });
    }
    let widened =
        (set.nodes as usize != network.nodes).then(|| ConnectionSet { nodes: network.nodes as u32, ..set.clone() });
    let set = widened.as_ref().unwrap_or(set);
    let hops = hops(set, &network, interrupted)?;
    let demand = Demand { set, resources, network: &network, hops: &hops };
    let least = least_phases(&demand);
    let what = format!("a schedule of {} connections on {nodes} nodes", set.connections.len());
    let control = Control::new(options.effort, options.seed, interrupted, progress).telling(improved);
    let compilation = Compilation { demand, least, options, control: &control };
    if kept.is_none() && whole::applies(set, resources, &network, options) {
        memory::require(set.connections.len() as u64 * whole::BYTES, what.clone(), smaller)?;
        if let Some(phase) = compilation.whole()? {
            return compilation.sealed(vec![phase], false, machine);
        }
    }
    memory::require(least_bytes(&demand, least), what, smaller)?;
    refuse_infeasible(&demand, options, least, interrupted)?;
    if let Some(reason) = kept.as_ref().and_then(|kept| plan::fault(kept, set, &network)) {
        return Err(CompileError::Kept(reason));
    }
    let plan = match options.compiler {
        _ if set.connections.is_empty() => Plan::new(),
        Compiler::Apr => compilation.baseline()?,
        Compiler::Weft => compilation.best(kept)?,
    };
    compilation.schedule(plan, machine)
}
