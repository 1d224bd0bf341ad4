//! Exchanges and the solver above them: in virtual time, on threads, on the ranks of MPI.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_base::{Interrupt, memory};
use weft_comm::{ElementCost, Program};
use weft_conset::execute::{ConjugateGradients, Execution, Part, Partitioned, Problem, Solution, Timed};
use weft_conset::{ConnectionSet, Schedule, Sealed};
use weft_machine::Machine;
use weft_mpi::Backend;
use weft_sim::{Options, Placement, Trace};

use crate::error::LaunchError;

/// An exchange to be run: the phases of a schedule, or the messages of a connection set. Both are shared with whoever has
/// made them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeRequest {
    /// Executed phase by phase, if it is given, or by messages where it says so.
    #[serde(default)]
    pub schedule: Option<Arc<Sealed>>,
    /// The connection set; without a schedule each of its connections is a message.
    pub set: Arc<ConnectionSet>,
    /// Messages are sent in a random order of this seed; otherwise in that of the set.
    #[serde(default)]
    pub random: Option<u64>,
    /// Bytes of a word. Default: those of the schedule, else of the machine, else 4.
    #[serde(default)]
    pub word_bytes: Option<u64>,
    /// Seconds a byte of gathering and of scattering, where the exchange is done element by element.
    #[serde(default)]
    pub elements: Option<[f64; 2]>,
    /// Timed exchanges.
    #[serde(default = "one")]
    pub iterations: usize,
    /// Exchanges before them.
    #[serde(default)]
    pub warmup: usize,
    /// Whether only lengths are sent.
    #[serde(default)]
    pub phantom: bool,
}

fn one() -> usize {
    1
}

/// A system of equations to be solved with an exchange.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolveRequest {
    /// What is exchanged in every iteration.
    pub exchange: Arc<ExchangeRequest>,
    /// The system and when it counts as solved.
    pub problem: Problem,
}

/// What an exchange took.
#[derive(Clone, Debug, Serialize)]
pub struct ExchangeResult {
    /// Of every timed exchange, s.
    pub seconds: Vec<f64>,
    pub ranks: usize,
    /// Phases; 0 for messages.
    pub phases: usize,
}

impl ExchangeRequest {
    /// What is to be executed on `machine`, if it is a described one.
    fn execution(&self, machine: Option<&Machine>) -> Result<Execution, LaunchError> {
        let usage = |message: String| LaunchError::Usage(message);
        self.set.check().map_err(|error| usage(error.to_string()))?;
        let elements = match self.elements {
            Some([gather_byte_time, scatter_byte_time]) if gather_byte_time >= 0.0 && scatter_byte_time >= 0.0 => {
                Some(ElementCost { gather_byte_time, scatter_byte_time })
            }
            Some(other) => return Err(usage(format!("elements: expected two times of at least 0, found {other:?}"))),
            None => None,
        };
        let Some(schedule) = &self.schedule else {
            let own = machine.and_then(|machine| machine.connections.as_ref()).map(|costs| costs.word_bytes);
            let word_bytes = self.word_bytes.or(own).unwrap_or(4);
            return Ok(Execution::of_messages(&self.set, word_bytes, elements, self.random));
        };
        self.check_schedule(schedule, machine)?;
        let execution = Execution::of_sealed(schedule, elements).map_err(|error| usage(error.to_string()))?;
        self.check_words(&execution)?;
        if schedule.by_messages {
            let word_bytes = self.word_bytes.unwrap_or(schedule.resources.word_bytes);
            let random = self.random.or(schedule.message_seed);
            return Ok(Execution::of_messages(&self.set, word_bytes, elements, random));
        }
        Ok(match self.word_bytes {
            Some(word_bytes) => execution.with_word_bytes(word_bytes),
            None => execution,
        })
    }

    fn check_schedule(&self, schedule: &Schedule, machine: Option<&Machine>) -> Result<(), LaunchError> {
        match machine {
            Some(machine) if machine.topology != schedule.resources.topology => Err(LaunchError::Usage(format!(
                "the schedule was made for {}, a {} of {} nodes; {} is another topology",
                schedule.machine,
                schedule.resources.topology.kind(),
                schedule.resources.topology.nodes(),
                machine.name
            ))),
            _ => Ok(()),
        }
    }

    /// The schedule transfers the words of the set's connections, all of them.
    fn check_words(&self, execution: &Execution) -> Result<(), LaunchError> {
        let mut words = vec![0; self.set.connections.len()];
        for (part, (_, transfer)) in execution.parts.iter().zip(execution.plan.transfers()) {
            let connection = self.set.connections.get(part.connection as usize);
            let ends = connection.map(|connection| (connection.source, connection.destination));
            if ends != Some((transfer.from, transfer.to)) {
                return Err(LaunchError::Usage(format!(
                    "the schedule's connection {} goes from node {} to node {}, which the pattern '{}' does not have",
                    part.connection, transfer.from, transfer.to, self.set.name
                )));
            }
            words[part.connection as usize] += part.words;
        }
        let wrong = self.set.connections.iter().zip(&words).position(|(connection, &sent)| connection.words != sent);
        match wrong {
            Some(index) => Err(LaunchError::Usage(format!(
                "the schedule transfers {} words of connection {index}, the pattern '{}' has {}",
                words[index], self.set.name, self.set.connections[index].words
            ))),
            None => Ok(()),
        }
    }

    /// Whether there is memory for what some ranks of an exchange send and receive, with the messages that carry it; an
    /// allocation that fails later would end the process.
    fn check_memory(&self, execution: &Execution, ranks: Range<usize>) -> Result<(), LaunchError> {
        if self.phantom {
            return Ok(());
        }
        let parts = ranks.flat_map(|rank| execution.sends(rank).chain(execution.receives(rank)));
        let of = |part: &Part| part.words.saturating_mul(execution.word_bytes).saturating_mul(2);
        let bytes = parts.map(of).fold(0, u64::saturating_add);
        let advice = "send lengths only, as phantoms, or fewer words";
        memory::require(bytes, "an exchange of that many words", advice)
            .map_err(|error| LaunchError::Usage(error.to_string()))
    }

    fn timed(&self, execution: Execution) -> Timed {
        Timed { execution, iterations: self.iterations.max(1), warmup: self.warmup, phantom: self.phantom }
    }

    fn result(&self, seconds: Vec<f64>, ranks: usize) -> ExchangeResult {
        let phased = self.schedule.as_ref().filter(|schedule| !schedule.by_messages);
        let phases = phased.map_or(0, |schedule| schedule.phases.len());
        ExchangeResult { seconds, ranks, phases }
    }
}

fn simulated<P: Program>(
    machine: &Machine,
    ranks: usize,
    program: &P,
    trace: bool,
    interrupt: &Interrupt,
) -> Result<(P::Output, Option<Trace>), LaunchError> {
    let outcome = weft_sim::run(
        machine,
        &Placement::identity(ranks),
        program,
        &Options { trace, traffic: false, interrupt: interrupt.clone() },
    )?;
    Ok((outcome.outputs.into_iter().next().expect("a run has a rank 0"), outcome.trace))
}

/// Runs an exchange in virtual time, rank r on node r.
///
/// # Errors
/// [`LaunchError::Usage`] for a schedule or set that does not fit the machine, [`LaunchError::Run`] for a run that fails.
pub fn simulate_exchange(
    machine: &Machine,
    request: &ExchangeRequest,
    trace: bool,
    interrupt: &Interrupt,
) -> Result<(ExchangeResult, Option<Trace>), LaunchError> {
    let execution = request.execution(Some(machine))?;
    let ranks = execution.plan.ranks();
    request.check_memory(&execution, 0..ranks)?;
    let (timing, trace) = simulated(machine, ranks, &request.timed(execution), trace, interrupt)?;
    Ok((request.result(timing.seconds, ranks), trace))
}

/// Runs an exchange with its ranks as threads of this process.
///
/// # Errors
/// As [`simulate_exchange`].
pub fn exchange_threads(request: &ExchangeRequest) -> Result<ExchangeResult, LaunchError> {
    let execution = request.execution(None)?;
    let ranks = execution.plan.ranks();
    request.check_memory(&execution, 0..ranks)?;
    let timings = weft_threads::run(ranks, &request.timed(execution), &weft_threads::Options::default())?;
    Ok(request.result(timings[0].seconds.clone(), ranks))
}

/// Runs this process's rank of an exchange on a backend that has been started; the result on rank 0.
///
/// # Errors
/// As [`simulate_exchange`].
pub fn exchange_mpi_rank(backend: &Backend, request: &ExchangeRequest) -> Result<Option<ExchangeResult>, LaunchError> {
    let execution = request.execution(None)?;
    let ranks = execution.plan.ranks();
    check_size(backend, ranks)?;
    request.check_memory(&execution, backend.rank()..backend.rank() + 1)?;
    let timing = backend.run(&request.timed(execution))?;
    Ok((backend.rank() == 0).then(|| request.result(timing.seconds, ranks)))
}

fn check_size(backend: &Backend, ranks: usize) -> Result<(), LaunchError> {
    if backend.size() == ranks {
        return Ok(());
    }
    Err(LaunchError::Usage(format!("an exchange of {ranks} ranks on a launch of {}", backend.size())))
}

impl SolveRequest {
    fn program(&self, machine: Option<&Machine>) -> Result<(ConjugateGradients, usize), LaunchError> {
        let execution = self.exchange.execution(machine)?;
        let ranks = execution.plan.ranks();
        let usage = |error: weft_conset::execute::ProblemError| LaunchError::Usage(error.to_string());
        let partitioned = Partitioned::new(self.problem.clone(), &self.exchange.set, execution).map_err(usage)?;
        Ok((ConjugateGradients(partitioned), ranks))
    }
}

/// Solves in virtual time, rank r on node r.
///
/// # Errors
/// As [`simulate_exchange`]; also where the machine's file gives no time for what the solver computes.
pub fn solve_simulated(
    machine: &Machine,
    request: &SolveRequest,
    interrupt: &Interrupt,
) -> Result<Solution, LaunchError> {
    let operation = request.problem.precision.operation();
    if machine.operation_time(operation).is_none() {
        return Err(LaunchError::Usage(format!(
            "the solver on {}: the machine's file gives no time of {}, which it is charged by; add it under \
             [operations], or ask for the other precision",
            machine.name,
            operation.name()
        )));
    }
    let (program, ranks) = request.program(Some(machine))?;
    simulated(machine, ranks, &program, false, interrupt).map(|(solution, _)| solution)
}

/// Solves with ranks as threads of this process.
///
/// # Errors
/// As [`simulate_exchange`].
pub fn solve_threads(request: &SolveRequest) -> Result<Solution, LaunchError> {
    let (program, ranks) = request.program(None)?;
    let solutions = weft_threads::run(ranks, &program, &weft_threads::Options::default())?;
    Ok(solutions.into_iter().next().expect("a run has a rank 0"))
}

/// Solves as this process's rank of a backend that has been started; the solution on rank 0.
///
/// # Errors
/// As [`simulate_exchange`].
pub fn solve_mpi_rank(backend: &Backend, request: &SolveRequest) -> Result<Option<Solution>, LaunchError> {
    let (program, ranks) = request.program(None)?;
    check_size(backend, ranks)?;
    let solution = backend.run(&program)?;
    Ok((backend.rank() == 0).then_some(solution))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: u64, phantom: bool) -> ExchangeRequest {
        let connection = serde_json::json!({"source": 0, "destination": 1, "words": words});
        let set = serde_json::json!({"name": "large", "nodes": 64, "connections": [connection]});
        serde_json::from_value(serde_json::json!({"set": set, "phantom": phantom})).expect("a request")
    }

    #[test]
    fn data_for_which_there_is_no_memory_is_refused() {
        let machine = weft_machine::find("iwarp64").expect("a machine of the catalogue");
        // More than machines have, and the most words that a set may have.
        for words in [1 << 45, 1 << 52] {
            let data = request(words, false);
            for error in [
                exchange_threads(&data).expect_err("no memory"),
                simulate_exchange(&machine, &data, false, &Interrupt::default()).expect_err("no memory"),
            ] {
                assert!(matches!(error, LaunchError::Usage(_)), "{error}");
                assert!(error.to_string().starts_with("an exchange of that many words takes"), "{error}");
            }
        }
        simulate_exchange(&machine, &request(1 << 45, true), false, &Interrupt::default()).expect("only lengths");
        simulate_exchange(&machine, &request(10, false), false, &Interrupt::default()).expect("a few words");
    }
}
