//! The echo across nodes that compute.

use weft_comm::{CommError, Communicator};

use weft_machine::Machine;

use super::{ASKING, ECHOING, TRAFFIC, computing};
use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::Nodes;
use crate::description::{Group, Takes, takes};
use crate::echo::{Asks, Echoes};
use crate::placement::across_routing_nodes;
use crate::request::Request;
use crate::row::Row;
use crate::session::{Session, rate};
use crate::signals::{GO, READY, STOP, await_all, await_quietly, signal, signal_all, take_signal};
use crate::spin::SpinLoop;
use crate::stopwatch::{Part, stopwatch};
use crate::usage::UsageError;

/// An echo while the ranks on its way compute.
pub struct RoutingEcho;

impl Benchmark for RoutingEcho {
    const NAME: &'static str = "routing-echo";
    const SUMMARY: &'static str =
        "two-hop echo while the ranks on its way compute, against idle ones: one-way time and what it loses";
    const GROUP: Group = Group::Traffic;
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(TRAFFIC)];
    const EXAMPLE: &'static str = "weft measure routing-echo --on ipsc1 --bytes 8:8K";
    const MIN_RANKS: usize = 3;
    const WHY_RANKS: &'static str = ": two exchange echoes, the others compute";
    const DEFAULT_RANKS: usize = 4;

    fn placement(machine: &Machine, request: &mut Request, _: usize) -> Result<Nodes, UsageError> {
        across_routing_nodes(machine, request)
    }

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<RoutingEcho> {
        Ok(Ok(Some(RoutingEcho)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        routing_echo(session, point.bytes()).await
    }
}

/// How long a computing rank computes before it looks whether it shall stop, where time is real.
const CHUNK: f64 = 100e-6;
/// In virtual time looking costs nothing, and too often only makes the simulation slow.
const VIRTUAL_CHUNK: f64 = 1e-3;

/// Echoes of `bytes` while the computing ranks are idle, and while they compute; rank 0 gets the row.
async fn routing_echo<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    match session.comm.rank() {
        ASKING => ask(session, bytes).await.map(Some),
        ECHOING => {
            let mut echoes = Echoes::new(session, bytes);
            echoes.check(&session.comm).await?;
            stopwatch(session, Part::Follows { leader: ASKING }, &mut echoes).await?;
            stopwatch(session, Part::Follows { leader: ASKING }, &mut echoes).await?;
            Ok(None)
        }
        _ => compute_until_stopped(&session.comm).await.map(|()| None),
    }
}

async fn ask<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Row, CommError> {
    let comm = &session.comm;
    let mut asks = Asks::new(session, ECHOING, bytes);
    asks.check(session).await?;
    let followers = &[ECHOING];
    let idle = stopwatch(session, Part::Leads { followers }, &mut asks).await?;
    let computing: Vec<usize> = computing(comm).collect();
    signal_all(comm, &computing, GO).await?;
    await_all(comm, &computing, READY).await?;
    let busy = stopwatch(session, Part::Leads { followers }, &mut asks).await?;
    signal_all(comm, &computing, STOP).await?;
    let one_way = |times: Option<Vec<f64>>| times.unwrap_or_default().into_iter().map(|time| 0.5 * time).collect();
    let row = session.disturbed_row(one_way(idle), one_way(busy), Some(bytes as u64));
    let hops = comm.hops_to(ECHOING).map(|hops| hops as u32);
    Ok(Row { hops, rate: rate(bytes as u64, row.seconds), ..row })
}

/// The endless loop.
async fn compute_until_stopped<C: Communicator>(comm: &C) -> Result<(), CommError> {
    await_quietly(comm, ASKING, GO).await?;
    let chunk = SpinLoop::of(comm, if comm.virtual_time() { VIRTUAL_CHUNK } else { CHUNK });
    signal(comm, ASKING, READY).await?;
    while !take_signal(comm, ASKING, STOP).await? {
        chunk.run(comm).await;
    }
    Ok(())
}
