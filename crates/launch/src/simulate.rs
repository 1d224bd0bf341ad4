//! Requests of the suite in virtual time.

use std::borrow::Cow;

use weft_base::Interrupt;
use weft_machine::Machine;
use weft_sim::{Options, Placement, Trace, run};
use weft_suite::{Description, Group, Nodes, Request, Row, Suite};

use crate::error::LaunchError;

/// What a simulated launch records besides its rows, and what ends it early.
#[derive(Clone, Debug, Default)]
pub struct SimulateOptions {
    /// Every event, for a timeline.
    pub trace: bool,
    /// Whether somebody wants it to end.
    pub interrupt: Interrupt,
}

/// A simulated launch.
#[derive(Clone, Debug)]
pub struct Simulated {
    pub rows: Vec<Row>,
    /// Messages sent, warm-up included.
    pub messages: u64,
    /// Virtual seconds.
    pub makespan: f64,
    pub trace: Option<Trace>,
    /// Over routers with virtual channels, how many times what they would have taken alone messages took in the network.
    pub waiting: Option<f64>,
}

/// Runs `request` on `machine` in virtual time.
///
/// Ranks are placed so that the benchmark means what it says: an echo over given hops gets a partner at each distance,
/// a ring follows the machine's embedding (Gray code on a hypercube), so that its neighbours are linked; where routing
/// is measured, ranks are on the nodes that route; the neighbours of a fan are linked to its centre.
///
/// # Errors
/// [`LaunchError::Usage`] for what the machine cannot do (distances beyond its diameter, more ranks than nodes, a host it
/// does not have), [`LaunchError::Run`] for a run that fails.
pub fn simulate(machine: &Machine, request: &Request, options: &SimulateOptions) -> Result<Simulated, LaunchError> {
    let benchmark = request.validate()?;
    if !machine.passes_messages() {
        return Err(LaunchError::Usage(format!(
            "{} on {}: it is a data-parallel machine, whose nodes pass no messages between programs, since its file has no \
             [[protocols]]; `weft estimate` prices programs with parallel variables on it, and `weft measure --help` lists \
             the benchmarks of data-parallel machines",
            request.benchmark, machine.name
        )));
    }
    let mut machine = with_io_nodes(machine, request)?;
    if !machine.degradation.is_none() {
        machine.to_mut().degradation.seed = request.seed;
    }
    let machine = &machine;
    let (placement, placed) = placement(machine, request, benchmark)?;
    check_operations(machine, request, benchmark)?;
    let program = Suite { request: placed };
    let outcome = run(
        machine,
        &placement,
        &program,
        &Options { trace: options.trace, traffic: false, interrupt: options.interrupt.clone() },
    )?;
    let rows = outcome.outputs.into_iter().next().expect("a run has a rank 0");
    let mut rows = rows?;
    let io_nodes = machine.files.as_ref().map(|files| files.attached.len() as u32);
    for row in rows.iter_mut().filter(|row| row.file_system.as_deref() == Some("concurrent")) {
        row.io_nodes = io_nodes;
    }
    Ok(Simulated {
        rows,
        messages: outcome.messages,
        makespan: outcome.makespan,
        trace: outcome.trace,
        waiting: outcome.waiting,
    })
}

/// The nodes of the ranks, and the request with what the machine decides where it says nothing.
fn placement(
    machine: &Machine,
    request: &Request,
    benchmark: &Description,
) -> Result<(Placement, Request), LaunchError> {
    let mut request = request.clone();
    let ranks = request.ranks.unwrap_or_else(|| default_ranks(machine, benchmark));
    let placement = match benchmark.placement(machine, &mut request, ranks)? {
        Nodes::ByNumber(ranks) => Placement::identity(ranks),
        Nodes::Listed(nodes) => Placement::listed(&nodes),
    };
    Ok((if benchmark.host { placement.with_host() } else { placement }, request))
}

fn default_ranks(machine: &Machine, benchmark: &Description) -> usize {
    match benchmark.group {
        // A smaller machine runs a program on all of its nodes.
        Group::Program | Group::Files => benchmark.default_ranks.min(machine.nodes()),
        _ => benchmark.default_ranks,
    }
}

/// The machine with as many I/O nodes as are asked for.
fn with_io_nodes<'a>(machine: &'a Machine, request: &Request) -> Result<Cow<'a, Machine>, LaunchError> {
    let Some(io_nodes) = request.io_nodes else { return Ok(Cow::Borrowed(machine)) };
    let (name, nodes, io_nodes) = (&machine.name, machine.nodes(), io_nodes as usize);
    let Some(files) = &machine.files else {
        return Err(LaunchError::Usage(format!(
            "{io_nodes} I/O nodes: {name} has none; its file has no table [files]"
        )));
    };
    if io_nodes > nodes {
        let message = format!("{io_nodes} I/O nodes: {name} has {nodes} compute nodes to attach them to");
        return Err(LaunchError::Usage(message));
    }
    Ok(Cow::Owned(Machine { files: Some(files.with_io_nodes(io_nodes, nodes)), ..machine.clone() }))
}

/// A program is charged by operations; one that the machine's file gives no time for would be free.
fn check_operations(machine: &Machine, request: &Request, benchmark: &Description) -> Result<(), LaunchError> {
    let charged = benchmark.operations(request);
    let missing: Vec<&str> = charged
        .iter()
        .filter(|&&operation| machine.charged_time(operation).is_none())
        .map(|operation| operation.name())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (name, missing) = (&machine.name, missing.join(" and "));
    Err(LaunchError::Usage(format!(
        "{} on {name}: the machine's file gives no time of {missing}, which the program is charged by; \
         add it under [operations]{}",
        benchmark.name,
        if benchmark.takes("precision").is_some() { ", or ask for the other precision" } else { "" }
    )))
}
