//! Timing on all ranks: iterations that follow a barrier.
//!
//! This is how the OSU micro-benchmarks time collectives (7.5, `osu_allreduce.c` and its like): every rank times its own
//! part of an iteration, a barrier follows, and the mean over ranks is what is printed. Ranks leave a barrier at different
//! moments, and many are done before the last one: where that matters, [windows](crate::window) tell what a program waits
//! for. These times are for comparison with others' figures.

use weft_comm::collective::{Choice, Element, Operator, barrier, reduce};
use weft_comm::{CommError, Communicator, Payload, Reduction};

use crate::budget::{Budget, affordable};
use crate::session::{Session, Step};
use crate::stopwatch::{fixed_iterations, warmup};
use crate::window::{PILOT, maximum, slowest};

const SUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Sum };

/// The mean over ranks of the time of every iteration, on rank 0.
pub(crate) async fn between_barriers<C: Communicator>(
    session: &Session<'_, C>,
    step: &mut impl Step<C>,
) -> Result<Option<Vec<f64>>, CommError> {
    let comm = &session.comm;
    let pilot = if comm.virtual_time() { 1 } else { PILOT };
    let pace = slowest(comm, step, pilot).await?;
    let (seconds, fixed) = (session.request.seconds_per_point, fixed_iterations(session));
    let mut budget = match fixed {
        Some(iterations) => Budget::within(seconds, pace, iterations, iterations),
        None => Budget::new(seconds, pace),
    };
    after_barriers(comm, step, warmup(session, fixed.unwrap_or_else(|| affordable(seconds, pace)))).await?;
    let mut times = Vec::new();
    while let Some(chunk) = budget.next_chunk() {
        let own = after_barriers(comm, step, chunk).await?;
        // All ranks record the same figure, so that all decide alike.
        let [slowest] = maximum(comm, [own.iter().sum::<f64>() / chunk as f64]).await?;
        budget.spend(chunk, &vec![slowest; chunk]);
        times.extend(own);
    }
    let sums = reduce(comm, 0, Payload::of(&times), SUM, Choice::Auto).await?;
    let ranks = comm.size() as f64;
    let is_here = comm.rank() == 0;
    Ok(sums.values::<f64>().filter(|_| is_here).map(|sums| sums.iter().map(|sum| sum / ranks).collect()))
}

/// This rank's time of each iteration, in seconds.
async fn after_barriers<C: Communicator>(
    comm: &C,
    step: &mut impl Step<C>,
    iterations: usize,
) -> Result<Vec<f64>, CommError> {
    let mut times = vec![0.0; iterations];
    for time in &mut times {
        barrier(comm, Choice::Auto).await?;
        let start = comm.wtime();
        step.step(comm).await?;
        *time = comm.wtime() - start;
    }
    Ok(times)
}
