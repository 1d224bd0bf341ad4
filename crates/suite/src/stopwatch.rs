//! Timing on one rank: a time stamp after every iteration.
//!
//! For benchmarks whose iterations are paced by the messages themselves (echo, ring, bandwidth): what one rank sees
//! between two stamps is the time of an iteration.

use weft_comm::{CommError, Communicator};

use crate::budget::{Budget, affordable};
use crate::request::Request;
use crate::session::{Session, Step};
use crate::statistics::Statistics;

/// Iterations of the first pilot, in which much happens for the first time.
const PILOT: usize = 8;
/// The share of the time to be spent that the second pilot may take.
const PILOT_SHARE: f64 = 0.05;
/// Untimed iterations before a further chunk, of chunks with eight times as many: ranks have told each other something.
const LEAD_IN: usize = 2;

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
    let comm = &session.comm;
    match (fixed_iterations(session), part) {
        (Some(iterations), Part::Leads { .. }) => {
            repeat(comm, step, warmup(session, iterations)).await?;
            timed(comm, step, iterations).await.map(Some)
        }
        (Some(iterations), Part::Follows { .. }) => {
            repeat(comm, step, warmup(session, iterations) + iterations).await.map(|()| None)
        }
        (None, Part::Leads { followers }) => by_time(session, followers, step).await.map(Some),
        (None, Part::Follows { leader }) => follow(session, leader, step).await.map(|()| None),
    }
}

/// The number of timed iterations where no clock decides it: as requested, or few in virtual time.
pub(crate) fn fixed_iterations<C: Communicator>(session: &Session<'_, C>) -> Option<usize> {
    let is_virtual = session.comm.virtual_time();
    let fewest = is_virtual.then_some(Request::VIRTUAL_ITERATIONS);
    session.request.iterations.or(fewest).map(|iterations| iterations as usize)
}

/// Times chunks of iterations until the time to be spent is spent. Between chunks, outside of what is timed, the
/// followers are told how many iterations come next.
async fn by_time<C: Communicator>(
    session: &Session<'_, C>,
    followers: &[usize],
    step: &mut impl Step<C>,
) -> Result<Vec<f64>, CommError> {
    let comm = &session.comm;
    let seconds = session.request.seconds_per_point;
    let first = Statistics::of(&timed(comm, step, PILOT).await?).median;
    let longer = affordable(PILOT_SHARE * seconds, first);
    tell_all(session, followers, longer).await?;
    let pace = Statistics::of(&timed(comm, step, longer).await?).median;

    let mut budget = Budget::new(seconds, pace);
    let mut untimed = warmup(session, affordable(seconds, pace));
    let mut times = Vec::new();
    while let Some(chunk) = budget.next_chunk() {
        tell_all(session, followers, untimed + chunk).await?;
        repeat(comm, step, untimed).await?;
        let new = timed(comm, step, chunk).await?;
        budget.spend(chunk, &new);
        times.extend(new);
        untimed = budget.next_chunk().map_or(0, |next| LEAD_IN.min(next / 8));
    }
    tell_all(session, followers, 0).await?;
    Ok(times)
}

/// As many iterations as the leader tells, again and again, until it tells that there are none.
async fn follow<C: Communicator>(
    session: &Session<'_, C>,
    leader: usize,
    step: &mut impl Step<C>,
) -> Result<(), CommError> {
    repeat(&session.comm, step, PILOT).await?;
    loop {
        let [iterations] = session.hear::<u64, 1>(leader).await?;
        if iterations == 0 {
            return Ok(());
        }
        repeat(&session.comm, step, iterations as usize).await?;
    }
}

async fn tell_all<C: Communicator>(
    session: &Session<'_, C>,
    followers: &[usize],
    iterations: usize,
) -> Result<(), CommError> {
    for &follower in followers {
        session.tell(follower, &[iterations as u64]).await?;
    }
    Ok(())
}

/// Iterations before the timed ones.
pub(crate) fn warmup<C: Communicator>(session: &Session<'_, C>, iterations: usize) -> usize {
    match session.request.warmup {
        Some(warmup) => warmup as usize,
        None if session.comm.virtual_time() => 1,
        None => (iterations / 10).max(Request::MIN_WARMUP as usize),
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
    match step.prepared() {
        Some(prepared) => prepared.run_stamped(&mut stamps[1..])?,
        None => {
            for stamp in &mut stamps[1..] {
                step.step(comm).await?;
                *stamp = comm.wtime();
            }
        }
    }
    Ok(stamps.windows(2).map(|pair| pair[1] - pair[0]).collect())
}
