//! Timing on all ranks: iterations that start at agreed moments of one clock.
//!
//! A collective that starts from a barrier is measured together with the way its ranks left the barrier. Here the ranks
//! agree before every iteration on a moment of their synchronised clocks, wait for it, and begin; the time of an
//! iteration is from that moment to the one when the last rank is done (the round-time scheme of S. Hunold, A.
//! Carpen-Amarie, "Hierarchical clock synchronization in MPI", IEEE CLUSTER 2018, after their windows in "Reproducible
//! MPI benchmarking is still not as easy as you think", IEEE Transactions on Parallel and Distributed Systems 27 (2016)
//! 3617-3630). An iteration that a rank came late to is counted as late; it stays among the samples.

use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier, reduce};
use weft_comm::{CommError, Communicator, Payload, Reduction, Work};

use crate::budget::{Budget, affordable};
use crate::clock::Clock;
use crate::session::{Session, Step};
use crate::statistics::Statistics;
use crate::stopwatch::{fixed_iterations, warmup};

/// Iterations by which times are estimated, after as many in which much happens for the first time.
pub(crate) const PILOT: usize = 9;
/// The moment agreed on is this many times the slowest rank's median time to agree ahead.
const LEAD: f64 = 2.0;
/// What is added to it where time is real, in seconds.
const SLACK: f64 = 1e-6;
/// After so many iterations the lead is looked at again:
const TERM: usize = 32;
/// where more than this share was late,
const LATE: f64 = 0.1;
/// it grows by this factor,
const GROWTH: f64 = 1.5;
/// at most this often.
const MAX_GROWTHS: u32 = 6;
/// A rank that waits longer than this lets other threads run, in seconds.
const LONG_WAIT: f64 = 50e-6;
/// A rank that waits no longer than this only reads its clock, in seconds: a pause of the processor lasts as long as the
/// reading, and what is left of it at the moment of the start would be part of the time that is measured.
const LAST_WAIT: f64 = 1e-6;

const MAXIMUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Maximum };

/// The time of every iteration, and the share that a rank came late to.
pub(crate) struct Windowed {
    pub times: Vec<f64>,
    pub share_late: f64,
}

/// Times a step on all ranks of the session; rank 0 gets the result.
pub(crate) async fn windowed<C: Communicator>(
    session: &Session<'_, C>,
    step: &mut impl Step<C>,
) -> Result<Option<Windowed>, CommError> {
    let comm = &session.comm;
    let mut pace = Pace::of(session, step).await?;
    let seconds = session.request.seconds_per_point;
    let fixed = fixed_iterations(session);
    let mut budget = match fixed {
        Some(iterations) => Budget::within(seconds, pace.seconds, iterations, iterations),
        None => Budget::new(seconds, pace.seconds),
    };
    let clock = Clock::synchronise(comm).await?;
    for _ in 0..warmup(session, fixed.unwrap_or_else(|| affordable(seconds, pace.seconds))) {
        step.step(comm).await?;
    }
    let mut ends = Vec::new();
    let mut was_late = false;
    let mut previous = None;
    while let Some(chunk) = budget.next_chunk() {
        ends.reserve(chunk);
        let mut starts = Vec::with_capacity(chunk + 1);
        starts.extend(previous);
        for _ in 0..chunk {
            let start = pace.agree(comm, clock, was_late).await?;
            let end;
            (end, was_late) = step_at(comm, clock, start, step).await?;
            ends.push(end - start);
            starts.push(start);
        }
        previous = starts.last().copied();
        // All ranks have agreed on the same starts, so all decide alike, and nobody has to be told how many iterations follow.
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        budget.spend(chunk, if gaps.is_empty() { std::slice::from_ref(&pace.seconds) } else { &gaps });
    }
    pace.agree(comm, clock, was_late).await?;
    let times = last_ends(comm, &ends).await?;
    Ok(times.map(|times| Windowed { share_late: pace.late as f64 / times.len() as f64, times }))
}

/// How far ahead the ranks agree to start, the same on all.
struct Pace {
    /// In seconds.
    lead: f64,
    /// Of one iteration and the agreement before it, about.
    seconds: f64,
    late: usize,
    late_in_term: usize,
    in_term: usize,
    growths: u32,
}

impl Pace {
    async fn of<C: Communicator>(session: &Session<'_, C>, step: &mut impl Step<C>) -> Result<Pace, CommError> {
        let comm = &session.comm;
        let (runs, slack) = if comm.virtual_time() { (1, 0.0) } else { (PILOT, SLACK) };
        if !comm.virtual_time() {
            slowest(comm, step, runs).await?;
        }
        let step = slowest(comm, step, runs).await?;
        let agreement = slowest(comm, &mut Agreement, runs).await?;
        let lead = LEAD * agreement + slack;
        Ok(Pace { lead, seconds: step + lead + agreement, late: 0, late_in_term: 0, in_term: 0, growths: 0 })
    }

    /// The moment at which the next iteration starts, and the tale of the last: whether this rank was late.
    async fn agree<C: Communicator>(&mut self, comm: &C, clock: Clock, was_late: bool) -> Result<f64, CommError> {
        let [latest, late] = maximum(comm, [clock.now(comm), f64::from(u8::from(was_late))]).await?;
        self.late += usize::from(late > 0.0);
        self.late_in_term += usize::from(late > 0.0);
        self.in_term += 1;
        if self.in_term == TERM {
            if self.late_in_term as f64 > LATE * TERM as f64 && self.growths < MAX_GROWTHS {
                self.lead *= GROWTH;
                self.growths += 1;
            }
            (self.in_term, self.late_in_term) = (0, 0);
        }
        Ok(latest + self.lead)
    }
}

/// What an agreement takes, as a step.
struct Agreement;

impl<C: Communicator> Step<C> for Agreement {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        maximum(comm, [0.0, 0.0]).await.map(drop)
    }
}

/// The median time of a step after a barrier, on the rank where it is longest; the same on all ranks.
pub(crate) async fn slowest<C: Communicator>(comm: &C, step: &mut impl Step<C>, runs: usize) -> Result<f64, CommError> {
    let mut times = vec![0.0; runs];
    for time in &mut times {
        barrier(comm, Choice::Auto).await?;
        let start = comm.wtime();
        step.step(comm).await?;
        *time = comm.wtime() - start;
    }
    let [slowest] = maximum(comm, [Statistics::of(&times).median]).await?;
    Ok(slowest)
}

/// The largest of each number over all ranks.
pub(crate) async fn maximum<C: Communicator, const N: usize>(
    comm: &C,
    values: [f64; N],
) -> Result<[f64; N], CommError> {
    let all = allreduce(comm, Payload::of(&values), MAXIMUM, Choice::Auto).await?;
    let all = all.values::<f64>().and_then(|values| values.try_into().ok());
    Ok(all.expect("a reduction of data is data of the same length"))
}

/// The last rank's end of every iteration, on rank 0.
async fn last_ends<C: Communicator>(comm: &C, ends: &[f64]) -> Result<Option<Vec<f64>>, CommError> {
    let last = reduce(comm, 0, Payload::of(ends), MAXIMUM, Choice::Auto).await?;
    Ok(last.values::<f64>().filter(|_| comm.rank() == 0).map(<[f64]>::to_vec))
}

/// Does a step once at a moment of the common clock: the moment when it is done, and whether the first had already passed.
async fn step_at<C: Communicator>(
    comm: &C,
    clock: Clock,
    moment: f64,
    step: &mut impl Step<C>,
) -> Result<(f64, bool), CommError> {
    let is_late =
        if comm.virtual_time() { sleep_until(comm, clock, moment).await } else { approach(comm, clock, moment) };
    if let Some(prepared) = step.prepared() {
        let end = prepared.run_at(clock.here(moment))?;
        return Ok((clock.common(end), is_late));
    }
    if !comm.virtual_time() {
        while clock.now(comm) < moment {}
    }
    step.step(comm).await?;
    Ok((clock.now(comm), is_late))
}

/// Waits in virtual time; whether the moment had already passed.
async fn sleep_until<C: Communicator>(comm: &C, clock: Clock, moment: f64) -> bool {
    /// Half the grain of virtual time.
    const GRAIN: f64 = 0.5e-12;
    let is_late = clock.now(comm) > moment + GRAIN;
    loop {
        let rest = moment - clock.now(comm);
        if rest <= GRAIN {
            return is_late;
        }
        comm.compute(Work::Seconds(rest)).await;
    }
}

/// Waits in real time until shortly before a moment; whether it had already passed.
fn approach<C: Communicator>(comm: &C, clock: Clock, moment: f64) -> bool {
    let mut rest = moment - clock.now(comm);
    let is_late = rest < 0.0;
    while rest > LAST_WAIT {
        if rest > LONG_WAIT {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        rest = moment - clock.now(comm);
    }
    is_late
}
