//! Computing while messages pass.

use weft_comm::{CommError, Communicator, Source, TagSelector};

use weft_machine::Machine;

use super::receive::routing_compute_on_receiver;
use super::runs::{Runs, Settling};
use super::{ASKING, ECHOING, TRAFFIC, computing};
use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::Nodes;
use crate::description::{Group, Takes, takes};
use crate::echo::Asks;
use crate::placement::across_routing_nodes;
use crate::request::Request;
use crate::row::Row;
use crate::session::{CONTROL, Session, Step, TIMED};
use crate::signals::{
    DONE, GO, STOP, await_quietly, probe_quietly, receive_times, send_times, signal, signal_all, take_signal,
};
use crate::spin::SpinLoop;
use crate::statistics::Statistics;
use crate::stopwatch::{repeat, timed};
use crate::usage::UsageError;

/// Computing while echoes pass.
pub struct RoutingCompute;

impl Benchmark for RoutingCompute {
    const NAME: &'static str = "routing-compute";
    const SUMMARY: &'static str = "a spin loop on the ranks between while a two-hop echo passes (2 ranks: on the one that receives): its time and what it loses";
    const GROUP: Group = Group::Traffic;
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(TRAFFIC)];
    const EXAMPLE: &'static str = "weft measure routing-compute --on ipsc1 --bytes 8:8K";
    const DEFAULT_RANKS: usize = 4;

    fn placement(machine: &Machine, request: &mut Request, _: usize) -> Result<Nodes, UsageError> {
        across_routing_nodes(machine, request)
    }

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<RoutingCompute> {
        Ok(Ok(Some(RoutingCompute)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        routing_compute(session, point.bytes()).await
    }
}

/// A run of the loop is to last this many round trips, so that one message more or less does not show,
const ROUND_TRIPS: f64 = 100.0;
/// and at least this long where time is real.
const SHORTEST: f64 = 1e-3;
/// Echoes by which a round trip is timed where time is real, after as many that are not.
const PILOT: usize = 32;
/// at most this often: what has taken the processor away does so for some milliseconds.
const MAX_PILOTS: usize = 16;

/// The time of a loop without messages, and while echoes of `bytes` pass; rank 0 gets the row. The time of an iteration
/// is that of the slowest computing rank. With two ranks there is none between them, and the one that receives
/// computes.
async fn routing_compute<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    match session.comm.rank() {
        _ if session.comm.size() == 2 => routing_compute_on_receiver(session, bytes).await,
        ASKING => pass_messages(session, bytes).await.map(Some),
        ECHOING => {
            echo_until_stopped(session, bytes).await?;
            await_quietly(&session.comm, ASKING, GO).await?;
            echo_until_stopped(session, bytes).await.map(|()| None)
        }
        _ => compute(session).await.map(|()| None),
    }
}

/// Rank 0: no message in the first half, echoes in the second.
async fn pass_messages<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Row, CommError> {
    let comm = &session.comm;
    let mut asks = Asks::new(session, ECHOING, bytes);
    asks.check(session).await?;
    let round_trip = round_trip(comm, &mut asks).await?;
    signal(comm, ECHOING, STOP).await?;

    let shortest = if comm.virtual_time() { 0.0 } else { SHORTEST };
    let runs = Runs::of(session, shortest.max(ROUND_TRIPS * round_trip));
    let computing: Vec<usize> = computing(comm).collect();
    for &rank in &computing {
        session.tell(rank, &[runs.seconds, runs.warmup as f64, runs.timed as f64]).await?;
    }
    for &rank in &computing {
        await_quietly(comm, rank, DONE).await?;
    }
    signal(comm, ECHOING, GO).await?;
    signal_all(comm, &computing, GO).await?;
    let mut left = computing.len();
    while left > 0 {
        asks.step(comm).await?;
        while left > 0 && take_signal(comm, Source::Any, DONE).await? {
            left -= 1;
        }
    }
    signal(comm, ECHOING, STOP).await?;

    let (mut quiet, mut disturbed) = (vec![0.0; runs.timed], vec![0.0; runs.timed]);
    for &rank in &computing {
        slowest(&mut quiet, &receive_times(comm, rank).await?);
        slowest(&mut disturbed, &receive_times(comm, rank).await?);
    }
    let hops = comm.hops_to(ECHOING).map(|hops| hops as u32);
    Ok(Row { hops, ..session.disturbed_row(quiet, disturbed, Some(bytes as u64)) })
}

/// An undisturbed one: the lower decile, for a processor that was taken away would make every run of the loop long.
async fn round_trip<C: Communicator>(comm: &C, asks: &mut Asks) -> Result<f64, CommError> {
    let (echoes, most) = if comm.virtual_time() { (1, 1) } else { (PILOT, MAX_PILOTS) };
    repeat(comm, asks, echoes).await?;
    let mut settling = Settling::default();
    for _ in 0..most {
        if settling.is_settled_by(Statistics::of(&timed(comm, asks, echoes).await?).decile) {
            break;
        }
    }
    Ok(settling.least)
}

fn slowest(so_far: &mut [f64], times: &[f64]) {
    for (slowest, &time) in so_far.iter_mut().zip(times) {
        *slowest = slowest.max(time);
    }
}

/// Rank 1: sends back what comes until told to stop.
async fn echo_until_stopped<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<(), CommError> {
    let comm = &session.comm;
    let mut message = session.buffer(bytes);
    loop {
        let received = comm.recv(Source::Rank(ASKING), TagSelector::AnyUser, message.take()).await?;
        if received.status.tag == STOP {
            return Ok(());
        }
        message = comm.send(ASKING, TIMED, received.payload).await?;
    }
}

/// A computing rank: both halves, then its times.
async fn compute<C: Communicator>(session: &Session<'_, C>) -> Result<(), CommError> {
    let comm = &session.comm;
    probe_quietly(comm, ASKING, CONTROL).await?;
    let [seconds, warmup, timed] = session.hear::<f64, 3>(ASKING).await?;
    let (warmup, timed) = (warmup as usize, timed as usize);
    let spin = SpinLoop::of(comm, seconds);
    spin.timed(comm, warmup).await;
    let quiet = spin.timed(comm, timed).await;
    signal(comm, ASKING, DONE).await?;
    await_quietly(comm, ASKING, GO).await?;
    spin.timed(comm, warmup.max(1)).await;
    let disturbed = spin.timed(comm, timed).await;
    signal(comm, ASKING, DONE).await?;
    send_times(comm, ASKING, &quiet).await?;
    send_times(comm, ASKING, &disturbed).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_settled_when_two_looks_agree() {
        let looks = |times: &[f64]| {
            let mut settling = Settling::default();
            let looks = times.iter().position(|&time| settling.is_settled_by(time));
            (looks, settling.least)
        };
        assert_eq!(looks(&[1.0, 1.1]), (Some(1), 1.0));
        assert_eq!(looks(&[1000.0, 1.0, 1.1]), (Some(2), 1.0), "the first was disturbed");
        assert_eq!(looks(&[1.0, 1000.0, 1.0]), (Some(2), 1.0), "the second was");
        assert_eq!(looks(&[1.0]), (None, 1.0));
    }
}
