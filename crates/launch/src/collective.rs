//! Compiled collectives in virtual time and on threads.

use std::sync::Arc;

use weft_base::{Interrupt, memory};
use weft_collectives::execute::Timed;
use weft_collectives::{Fabric, Request, Schedule, alternatives, timeline, verify};
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
    executed(machine, schedule, phantom, interrupt)
}

/// Messages that are simulated to choose among schedules for each nominal second of effort, at most: a few seconds.
const MESSAGES_PER_EFFORT: f64 = (1 << 21) as f64;

/// What is predicted to take so many times as long as the fastest that was simulated is not simulated.
const MAX_SLOWER: f64 = 2.5;

/// A schedule that was considered: its form, its prediction, and its time in virtual time if that was looked at, s.
#[derive(Clone, Debug)]
pub struct Considered {
    pub form: String,
    pub predicted: f64,
    pub simulated: Option<f64>,
}

/// A compiled collective.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub schedule: Schedule,
    /// Seconds that are predicted for it: message by message where that is possible, else by the formulas.
    pub predicted: f64,
    /// All that it was chosen from, the soonest by prediction first.
    pub considered: Vec<Considered>,
}

/// Compiles a collective for a network of the machine. The model of the links knows nothing of the machine's own routes, of
/// what waits for what in them, nor of how its messages are completed: the schedules that are predicted to be fastest are
/// executed in virtual time, as many as the nominal seconds of `effort` allow, and the fastest is taken. When `interrupt` is requested, that is the best so far.
///
/// # Errors
/// As [`weft_collectives::alternatives`].
pub fn compile_collective(
    machine: &Machine,
    fabric: &Fabric,
    request: &Request,
    effort: f64,
    interrupt: &Interrupt,
) -> Result<Compiled, LaunchError> {
    let schedules = alternatives(fabric, request, effort, interrupt).map_err(usage)?;
    let schedules = timeline::ranked(fabric, schedules, effort, interrupt);
    let mut considered = Vec::with_capacity(schedules.len());
    let mut best: Option<(f64, f64, Arc<Schedule>)> = None;
    let (mut first, mut left) = (None, (effort * MESSAGES_PER_EFFORT) as u64);
    for (predicted, schedule) in schedules {
        let schedule = Arc::new(schedule);
        let (form, messages) = (schedule.form().to_owned(), schedule.messages());
        let is_slow = best.as_ref().is_some_and(|(seconds, ..)| predicted > seconds * MAX_SLOWER);
        let mut simulated = None;
        if messages <= left && !is_slow && !interrupt.is_requested() {
            left -= messages;
            // What virtual time does not take, elements of two bytes say, the model decides; and what was interrupted.
            simulated = executed(machine, &schedule, true, interrupt).ok();
            if let Some(seconds) = simulated
                && best.as_ref().is_none_or(|(known, ..)| seconds < *known)
            {
                best = Some((seconds, predicted, schedule.clone()));
            }
        }
        considered.push(Considered { form, predicted, simulated });
        first.get_or_insert((predicted, schedule));
    }
    // What is predicted to be fastest and too large to be tried is taken on trust.
    let is_tried = considered.first().is_some_and(|first| first.simulated.is_some());
    let chosen = if is_tried { best.map(|(_, predicted, schedule)| (predicted, schedule)) } else { first };
    let (predicted, schedule) = chosen.expect("there is a schedule where none is an error");
    Ok(Compiled { schedule: Arc::unwrap_or_clone(schedule), predicted, considered })
}

/// Compiles a collective for a graph, of which the model of its links is all that is known.
///
/// # Errors
/// As [`weft_collectives::alternatives`].
pub fn compile_collective_of_graph(
    fabric: &Fabric,
    request: &Request,
    effort: f64,
    interrupt: &Interrupt,
) -> Result<Compiled, LaunchError> {
    let schedules = alternatives(fabric, request, effort, interrupt).map_err(usage)?;
    let schedules = timeline::ranked(fabric, schedules, effort, interrupt);
    let considered = |(predicted, schedule): &(f64, Schedule)| Considered {
        form: schedule.form().to_owned(),
        predicted: *predicted,
        simulated: None,
    };
    let considered = schedules.iter().map(considered).collect();
    let (predicted, schedule) = schedules.into_iter().next().expect("there is a schedule where none is an error");
    Ok(Compiled { schedule, predicted, considered })
}

/// Seconds in virtual time of a schedule for this machine.
fn executed(
    machine: &Machine,
    schedule: &Arc<Schedule>,
    phantom: bool,
    interrupt: &Interrupt,
) -> Result<f64, LaunchError> {
    if schedule.has_switches() {
        return Err(LaunchError::Usage(format!(
            "switches copy or add in this {}, which virtual time does not know; what is predicted is all there is",
            schedule.collective.name()
        )));
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
