//! Timing on one rank: a time stamp after every iteration.
//!
//! For benchmarks whose iterations are paced by the messages themselves (echo, ring, bandwidth): what one rank sees
//! between two stamps is the time of an iteration.

use weft_comm::{CommError, Communicator};

use crate::request::Request;
use crate::session::{Session, Step};
use crate::statistics::Statistics;

/// Iterations of the first pilot, in which much happens for the first time.
const PILOT: usize = 8;
/// The share of the time to be spent that the second pilot may take.
const PILOT_SHARE: f64 = 0.05;
/// The fewest timed iterations where time is real and the budget decides.
pub(crate) const MIN_ITERATIONS: f64 = 10.0;
/// The most timed iterations that the budget may choose.
pub(crate) const MAX_CHOSEN: f64 = 100_000.0;

/// Whose stamps count, and who goes along.
pub(crate) enum Part<'a> {
    /// This rank times; these ranks do as many iterations as it.
    Leads { followers: &'a [usize] },
    /// This rank does as many iterations as `leader`.
    Follows { leader: usize },
}

/// Times a step; the leader gets the time of each iteration in seconds.
pub(crate) async fn stopwatch<C: Communicator>(
    session: &Session<'_, C>,
    part: Part<'_>,
    step: &mut impl Step<C>,
) -> Result<Option<Vec<f64>>, CommError> {
    let iterations = match session.request.iterations {
        Some(iterations) => iterations as usize,
        None if session.comm.virtual_time() => Request::VIRTUAL_ITERATIONS as usize,
        None => choose_iterations(session, &part, step).await?,
    };
    let comm = &session.comm;
    repeat(comm, step, warmup(session, iterations)).await?;
    match part {
        Part::Leads { .. } => timed(comm, step, iterations).await.map(Some),
        Part::Follows { .. } => repeat(comm, step, iterations).await.map(|()| None),
    }
}

/// Iterations before the timed ones.
pub(crate) fn warmup<C: Communicator>(session: &Session<'_, C>, iterations: usize) -> usize {
    match session.request.warmup {
        Some(warmup) => warmup as usize,
        None if session.comm.virtual_time() => 1,
        None => (iterations / 10).max(Request::MIN_WARMUP as usize),
    }
}

/// The number of iterations that takes the time to be spent, if one takes `seconds`.
pub(crate) fn affordable(budget: f64, seconds: f64) -> usize {
    (budget / seconds.max(1e-9)).clamp(MIN_ITERATIONS, MAX_CHOSEN) as usize
}

/// Asks the clock how long an iteration takes: shortly, and then for a share of the time to be spent.
async fn choose_iterations<C: Communicator>(
    session: &Session<'_, C>,
    part: &Part<'_>,
    step: &mut impl Step<C>,
) -> Result<usize, CommError> {
    let budget = session.request.seconds_per_point;
    let longer = pilot(session, part, step, PILOT, PILOT_SHARE * budget).await?;
    pilot(session, part, step, longer, budget).await
}

/// The number of iterations that `seconds` allow, by `iterations` of them; all ranks get the leader's answer.
async fn pilot<C: Communicator>(
    session: &Session<'_, C>,
    part: &Part<'_>,
    step: &mut impl Step<C>,
    iterations: usize,
    seconds: f64,
) -> Result<usize, CommError> {
    match part {
        Part::Leads { followers } => {
            let times = timed(&session.comm, step, iterations).await?;
            let allowed = affordable(seconds, Statistics::of(&times).median);
            for &follower in *followers {
                session.tell(follower, &[allowed as u64]).await?;
            }
            Ok(allowed)
        }
        Part::Follows { leader } => {
            repeat(&session.comm, step, iterations).await?;
            let [allowed] = session.hear::<u64, 1>(*leader).await?;
            Ok(allowed as usize)
        }
    }
}

/// So many iterations, untimed.
pub(crate) async fn repeat<C: Communicator>(
    comm: &C,
    step: &mut impl Step<C>,
    iterations: usize,
) -> Result<(), CommError> {
    for _ in 0..iterations {
        step.step(comm).await?;
    }
    Ok(())
}

/// The time of each of so many iterations in seconds.
pub(crate) async fn timed<C: Communicator>(
    comm: &C,
    step: &mut impl Step<C>,
    iterations: usize,
) -> Result<Vec<f64>, CommError> {
    let mut stamps = vec![0.0; iterations + 1];
    stamps[0] = comm.wtime();
    for stamp in &mut stamps[1..] {
        step.step(comm).await?;
        *stamp = comm.wtime();
    }
    Ok(stamps.windows(2).map(|pair| pair[1] - pair[0]).collect())
}
