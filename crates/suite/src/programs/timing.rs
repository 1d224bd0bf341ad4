//! Timing of whole programs: from a barrier to the end of the last rank.
//!
//! A program runs for so long that the way its ranks leave a barrier (microseconds) does not matter, and begins from
//! data that must be put back before each run, so the windows of a synchronised clock are not needed here.

use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier};
use weft_comm::{CommError, Communicator, Payload, Reduction};

use crate::budget::Budget;
use crate::session::Session;
use crate::statistics::Statistics;

const MAXIMUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Maximum };
/// The fewest timed runs where time is real and the budget decides,
const MIN_RUNS: usize = 3;
/// and the most.
const MAX_RUNS: usize = 10_000;
/// Runs by which the number of runs is chosen.
const PILOT: usize = 2;

/// A program that can be run again and again.
pub(crate) trait Run<C: Communicator> {
    /// Puts everything back as it was before the first run; not timed.
    async fn prepare(&mut self, comm: &C) -> Result<(), CommError>;
    /// Runs once.
    async fn run(&mut self, comm: &C) -> Result<(), CommError>;
}

/// The times of the runs, the same on all ranks. In virtual time one run is made: there is no state to settle.
pub(crate) async fn timed_runs<C: Communicator>(
    session: &Session<'_, C>,
    program: &mut impl Run<C>,
) -> Result<Vec<f64>, CommError> {
    let comm = &session.comm;
    let is_virtual = comm.virtual_time();
    let fixed = match session.request.iterations {
        Some(iterations) => Some(iterations as usize),
        None => is_virtual.then_some(1),
    };
    let seconds = session.request.seconds_per_point;
    let mut budget = match fixed {
        Some(runs) => Budget::within(seconds, 0.0, runs, runs),
        None => {
            let pilot = repeat(comm, program, PILOT).await?;
            Budget::within(seconds, pilot.into_iter().fold(f64::INFINITY, f64::min), MIN_RUNS, MAX_RUNS)
        }
    };
    let warmup = session.request.warmup.map_or(usize::from(!is_virtual), |warmup| warmup as usize);
    repeat(comm, program, warmup).await?;
    let mut times = Vec::new();
    // All ranks have the same times, so all decide alike.
    while let Some(runs) = budget.next_chunk() {
        let new = repeat(comm, program, runs).await?;
        budget.spend(runs, &new);
        times.extend(new);
    }
    Ok(times)
}

/// The times of some runs, the same on all ranks.
pub(super) async fn repeat<C: Communicator>(
    comm: &C,
    program: &mut impl Run<C>,
    runs: usize,
) -> Result<Vec<f64>, CommError> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        program.prepare(comm).await?;
        barrier(comm, Choice::Auto).await?;
        let start = comm.wtime();
        program.run(comm).await?;
        times.push(slowest(comm, comm.wtime() - start).await?);
    }
    Ok(times)
}

/// The largest of a number over all ranks.
pub(crate) async fn slowest<C: Communicator>(comm: &C, seconds: f64) -> Result<f64, CommError> {
    let all = allreduce(comm, Payload::of(&[seconds]), MAXIMUM, Choice::Auto).await?;
    Ok(all.values::<f64>().expect("a reduction of data is data")[0])
}

/// Work per second at the median.
pub(crate) fn rate_of(work: f64, times: &[f64]) -> Option<f64> {
    let median = Statistics::of(times).median;
    (work > 0.0 && median > 0.0).then(|| work / median)
}
