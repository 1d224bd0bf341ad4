//! Compilers: from a connection set and resources to a schedule.
//!
//! weft's own compiler makes candidates and keeps the one with the least predicted time: packed orbits and perfect phases
//! where the pattern has the symmetry for them, matchings where nodes have ports of a switch, and negotiated congestion
//! for everything else, first for the fewest phases and then, within the effort, for phases and link loads together.
//!
//! The paper's compiler (`apr`) is there to be compared with.

mod apr;
mod balance;
mod circuits;
mod control;
mod improve;
mod negotiate;
mod perfect;
mod place;
mod plan;
mod symmetric;
mod timetable;

pub use control::{Control, Progress};
pub use place::place;
pub use plan::{Placed, Plan};

use weft_base::memory::{self, MemoryError};

use crate::bounds::{Demand, least_phases, lower_bounds_until};
use crate::network::Network;
use crate::pattern::{ConnectionSet, PatternError};
use crate::resources::Resources;
use crate::schedule::{Phase, Schedule};
use plan::{Load, phase_seconds, plan_seconds};

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
    #[error("the topology is disconnected: there is no way from node {from} to node {to} (connection {connection})")]
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
    NotFound { phases: u32, least: u32 },
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
pub fn compile(
    set: &ConnectionSet,
    resources: &Resources,
    machine: &str,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
    progress: &dyn Fn(&Progress),
) -> Result<Schedule, CompileError> {
    compile_from(set, resources, machine, options, Search { kept: None, interrupted, progress, found: &|_| () })
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
    pub found: &'a dyn Fn(&Plan),
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
    let Search { kept, interrupted, progress, found } = search;
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
    let set = &ConnectionSet { nodes: network.nodes as u32, ..set.clone() };
    let hops = hops(set, &network, interrupted)?;
    let demand = Demand { set, resources, network: &network, hops: &hops };
    let least = least_phases(&demand);
    let count = set.connections.len();
    memory::require(
        least_bytes(&demand, least),
        format!("a schedule of {count} connections on {nodes} nodes"),
        smaller,
    )?;
    refuse_infeasible(&demand, options, least, interrupted)?;
    let control = Control::new(options.effort, options.seed, interrupted, progress).telling(found);
    if let Some(reason) = kept.as_ref().and_then(|kept| plan::fault(kept, set, &network)) {
        return Err(CompileError::Kept(reason));
    }
    let compilation = Compilation { demand, least, options, control: &control };
    let plan = match options.compiler {
        _ if set.connections.is_empty() => Plan::new(),
        Compiler::Apr => compilation.baseline()?,
        Compiler::Weft => compilation.best(kept)?,
    };
    compilation.schedule(plan, machine)
}

/// About how many bytes a compilation takes at least: places, routes and transfers of all connections, and what every phase
/// knows of nodes and links. Compilations of all-to-all patterns took three quarters to nine tenths of it.
fn least_bytes(demand: &Demand, phases: u32) -> u64 {
    let hops: u64 = demand.hops.iter().map(|&hops| u64::from(hops)).sum();
    let connections = 256 * demand.hops.len() as u64 + 32 * hops;
    let phase = 44 * demand.network.vertices as u64 + 20 * demand.network.links() as u64;
    connections.saturating_add(phase.saturating_mul(phases.into()))
}

/// Hops of a shortest way of every connection.
fn hops(set: &ConnectionSet, network: &Network, interrupted: &dyn Fn() -> bool) -> Result<Vec<u32>, CompileError> {
    let pairs: Vec<(u32, u32)> = set.connections.iter().map(|c| (c.source, c.destination)).collect();
    let hops = network.shortest_until(&pairs, interrupted).ok_or(CompileError::Interrupted)?;
    let disconnected = |connection: usize| {
        let (from, to) = pairs[connection];
        CompileError::Disconnected { connection, from, to }
    };
    hops.into_iter().enumerate().map(|(connection, hops)| hops.ok_or_else(|| disconnected(connection))).collect()
}

/// A limit of phases that a bound says cannot be kept.
fn refuse_infeasible(
    demand: &Demand,
    options: &Options,
    least: u32,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), CompileError> {
    let Some(phases) = options.phases else { return Ok(()) };
    if demand.set.connections.is_empty() || phases >= least {
        return Ok(());
    }
    let mut degree = vec![0u64; demand.network.nodes];
    for c in &demand.set.connections {
        degree[c.source as usize] += 1;
        degree[c.destination as usize] += 1;
    }
    if let Some(limit) = demand.resources.node_channels {
        let all = u64::from(limit) * u64::from(phases);
        let most = (0..degree.len()).max_by_key(|&node| (degree[node], std::cmp::Reverse(node)));
        if let Some(node) = most.filter(|&node| degree[node] > all) {
            let channels = format!("{limit} channels");
            return Err(CompileError::Degree { node: node as u32, degree: degree[node], channels, phases, all, least });
        }
    }
    let bounds = lower_bounds_until(demand, false, interrupted).ok_or(CompileError::Interrupted)?;
    let of_phases = bounds.iter().filter(|bound| bound.unit == "phases");
    let best = of_phases.max_by(|a, b| a.value.total_cmp(&b.value));
    let bound = best.map_or_else(String::new, |bound| bound.name.clone());
    Err(CompileError::Bound { phases, bound, least })
}

/// One run of a compiler.
struct Compilation<'a> {
    demand: Demand<'a>,
    least: u32,
    options: &'a Options,
    control: &'a Control<'a>,
}

impl Compilation<'_> {
    fn baseline(&self) -> Result<Plan, CompileError> {
        let Demand { set, resources, network, hops } = self.demand;
        let found = apr::route(set, resources, network, hops, self.least as usize, self.control);
        let plan = found.ok_or(CompileError::Interrupted)?;
        self.within_limit(plan)
    }

    fn within_limit(&self, plan: Plan) -> Result<Plan, CompileError> {
        match self.options.phases {
            Some(phases) if plan.len() > phases as usize => Err(CompileError::NotFound { phases, least: self.least }),
            _ => Ok(plan),
        }
    }

    fn seconds(&self, plan: &Plan) -> f64 {
        plan_seconds(plan, self.demand.resources, self.demand.network)
    }

    /// The seconds of a plan that may be a candidate: it has few enough phases, and each can be open at once.
    fn candidate_seconds(&self, plan: &Plan) -> Option<f64> {
        let Demand { resources, network, .. } = self.demand;
        if self.options.phases.is_some_and(|limit| plan.len() > limit as usize) {
            return None;
        }
        let mut seconds = 0.0;
        for phase in plan {
            let load = Load::of_until(phase, network, &|| self.control.must_end())?;
            if !load.fits(resources, network) {
                return None;
            }
            seconds += resources.switch_seconds() + load.phase_seconds(phase, resources, network);
        }
        Some(seconds)
    }

    /// The best plan, which is no worse than one that was kept from another search.
    fn best(&self, kept: Option<Plan>) -> Result<Plan, CompileError> {
        let mut kept = kept.and_then(|plan| Some((self.candidate_seconds(&plan)?, plan)));
        if let Some((seconds, _)) = kept {
            self.control.knows(seconds);
        }
        let mut best = None;
        self.symmetric(&mut best);
        if !self.control.is_interrupted() {
            self.circuits(&mut best);
        }
        if best.is_none() && !self.control.is_interrupted() {
            best = match kept.take() {
                Some(kept) => Some(kept),
                None => {
                    let plan = self.fewest()?;
                    let seconds = self.seconds(&plan);
                    self.control.tell(seconds, &plan);
                    Some((seconds, plan))
                }
            };
            improve::improve(self, &mut best);
        }
        let plans = best.into_iter().chain(kept);
        match plans.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, plan)) => Ok(plan),
            None => Err(CompileError::Interrupted),
        }
    }

    /// Keeps a plan that is better than the best.
    fn consider(&self, plan: Option<Plan>, best: &mut Option<(f64, Plan)>) -> bool {
        let Some(plan) = plan else { return false };
        let Some(seconds) = self.candidate_seconds(&plan) else { return false };
        let better = best.as_ref().is_none_or(|(known, _)| seconds < known * (1.0 - 1e-12));
        if better {
            self.control.tell(seconds, &plan);
            *best = Some((seconds, plan));
        }
        better
    }

    fn report(&self, doing: &str, best: &Option<(f64, Plan)>) {
        self.control.report(doing, best.as_ref().map(|(seconds, plan)| (plan.len(), *seconds)));
    }

    /// Candidates for patterns that translations map onto themselves.
    fn symmetric(&self, best: &mut Option<(f64, Plan)>) {
        let Demand { set, resources, network, .. } = self.demand;
        let Some(symmetric) = symmetric::Symmetric::of(set, network, self.control) else { return };
        self.report("packing orbits", best);
        let packed = symmetric::pack(&symmetric, resources, self.least, self.control);
        let fewest = packed.as_ref().map(Vec::len);
        self.consider(packed, best);
        if let (Some(grid), Some(channels)) = (&network.grid, resources.node_channels)
            && let Some(phases) = perfect::perfect(set, grid)
        {
            self.report("perfect phases", best);
            for together in 1..=(channels as usize / 5).max(1) {
                self.consider(Some(perfect::merged(&phases, together)), best);
            }
        }
        let (Some(fewest), true) = (fewest, symmetric.offsets.len() <= 4096) else { return };
        // Few phases with high link loads against more with lower ones, as long as the effort lasts.
        let moves = (self.options.effort * 6_000_000.0 / (1.0 + symmetric.offsets.len() as f64 / 500.0)) as usize;
        let most = fewest + fewest / 4 + 1;
        for phases in fewest..=most {
            let switching = phases as f64 * resources.switch_seconds();
            let transfers = symmetric.words as f64 * symmetric.offsets.len() as f64 * resources.access_seconds;
            let hopeless = best.as_ref().is_some_and(|(known, _)| switching + transfers >= *known);
            if moves < 1000 || hopeless || self.control.is_over() {
                break;
            }
            self.report(&format!("annealing {phases} phases"), best);
            let share = moves / (most - fewest + 1).min(4);
            self.consider(symmetric::anneal(&symmetric, resources, phases, share, self.control), best);
        }
    }

    /// Candidates where nodes have ports of one switch.
    fn circuits(&self, best: &mut Option<(f64, Plan)>) {
        let Demand { set, resources, network, .. } = self.demand;
        if resources.link_channels == Some(1) && set.orders.is_empty() {
            // Where nodes or ports have limits besides, what does not fit is no candidate.
            self.report("matchings", best);
            self.consider(circuits::clos(set, &resources.topology), best);
        }
        let Some(ports) = resources.ports else { return };
        let single = network.vertices == network.nodes + 1;
        let free = resources.node_channels.is_none() && resources.link_channels.is_none();
        if !single || !free || !set.orders.is_empty() {
            return;
        }
        self.report("matchings", best);
        let route = |from, to| vec![from, network.nodes as u32, to];
        self.consider(Some(circuits::matchings(set, ports as usize, &route)), best);
        self.consider(Some(circuits::longest_first(set, ports, &route)), best);
    }

    /// The fewest phases for which negotiation succeeds.
    fn fewest(&self) -> Result<Plan, CompileError> {
        let Demand { set, resources, network, .. } = self.demand;
        let parts: Vec<(u32, u64)> = set.connections.iter().enumerate().map(|(c, k)| (c as u32, k.words)).collect();
        let mut phases = self.least as usize;
        let mut attempts = 0;
        loop {
            if self.options.phases.is_some_and(|limit| phases > limit as usize) {
                let limit = self.options.phases.unwrap_or(0);
                return Err(CompileError::NotFound { phases: limit, least: self.least });
            }
            self.report(&format!("negotiating {phases} phases"), &None);
            let limits = vec![f64::INFINITY; phases];
            // The first attempts at the bound may be hopeless; later ones must succeed.
            let rounds = if attempts < 2 { 40 } else { 120 };
            let problem =
                negotiate::Problem { set, resources, network, parts: &parts, limits: &limits, fixed: None, rounds };
            if let Some(plan) = negotiate::negotiate(&problem, self.control, attempts) {
                return Ok(plan);
            }
            if self.control.is_interrupted() {
                return Err(CompileError::Interrupted);
            }
            attempts += 1;
            phases += 1 + phases / 100 + attempts as usize / 6;
        }
    }

    /// The schedule of a plan: its times, its bounds, its digest.
    fn schedule(&self, plan: Plan, machine: &str) -> Result<Schedule, CompileError> {
        let Demand { set, resources, network, .. } = self.demand;
        self.report("timetables", &None);
        let stop: &dyn Fn() -> bool = &|| self.control.must_end();
        let orders = timetable::by_connection(&set.orders);
        let mut split = false;
        let mut seen = vec![false; set.connections.len()];
        let mut phases = Vec::with_capacity(plan.len());
        for placed in plan {
            for part in &placed {
                split |= std::mem::replace(&mut seen[part.connection as usize], true);
            }
            let load = Load::of_until(&placed, network, stop).ok_or(CompileError::Interrupted)?;
            let times = match self.options.compiler {
                Compiler::Apr if set.orders.is_empty() => {
                    timetable::greedy(&placed, resources, network, stop).ok_or(CompileError::Interrupted)?
                }
                _ => timetable::even(&placed, &load, &orders, resources, network),
            };
            let largest_link_load = load.largest_link_load(network);
            let transfers = timetable::transfers(placed, times, set, stop);
            let connections = transfers.ok_or(CompileError::Interrupted)?;
            let last = connections.iter().map(|transfer| transfer.start + transfer.duration).fold(0.0, f64::max);
            let predicted_seconds = resources.synchronisation_seconds + resources.phase_seconds + last;
            phases.push(Phase { connections, largest_link_load, predicted_seconds });
        }
        self.report("lower bounds", &None);
        let Options { compiler, effort, seed, .. } = self.options;
        let bounds = lower_bounds_until(&self.demand, !split, stop);
        let lower_bounds = bounds.ok_or(CompileError::Interrupted)?;
        let predicted_seconds = phases.iter().map(|phase| phase.predicted_seconds).sum();
        let schedule = Schedule {
            machine: machine.to_owned(),
            pattern: set.name.clone(),
            compiler: format!("{}, effort {effort} s, seed {seed}", compiler.name()),
            resources: resources.clone(),
            connections: set.connections.len() as u64,
            orders: set.orders.clone(),
            phases,
            lower_bounds,
            predicted_seconds,
            digest: String::new(),
        };
        schedule.sealed_until(stop).ok_or(CompileError::Interrupted)
    }
}

impl Clone for Demand<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl std::marker::Copy for Demand<'_> {}

/// Seconds of the transfers of every phase.
fn transfer_seconds(plan: &Plan, resources: &Resources, network: &Network) -> f64 {
    plan.iter().map(|phase| phase_seconds(phase, resources, network)).sum()
}
