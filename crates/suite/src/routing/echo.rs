//! The echo across nodes that compute.

use weft_comm::{CommError, Communicator};

use super::{ASKING, ECHOING, computing};
use crate::echo::{Asks, Echoes};
use crate::row::Row;
use crate::session::{Session, Step, rate};
use crate::signals::{GO, READY, STOP, await_all, await_quietly, signal, signal_all, take_signal};
use crate::spin::SpinLoop;
use crate::stopwatch::{Part, stopwatch};

/// How long a computing rank computes before it looks whether it shall stop, where time is real.
const CHUNK: f64 = 100e-6;
/// In virtual time looking costs nothing, and too often only makes the simulation slow.
const VIRTUAL_CHUNK: f64 = 1e-3;

/// Echoes of `bytes` while the computing ranks are idle, and while they compute; rank 0 gets the row.
pub(crate) async fn routing_echo<C: Communicator>(
    session: &Session<'_, C>,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    match session.comm.rank() {
        ASKING => ask(session, bytes).await.map(Some),
        ECHOING => {
            let mut echoes = Echoes { message: session.buffer(bytes) };
            echoes.step(&session.comm).await?;
            stopwatch(session, Part::Follows { leader: ASKING }, &mut echoes).await?;
            stopwatch(session, Part::Follows { leader: ASKING }, &mut echoes).await?;
            Ok(None)
        }
        _ => compute_until_stopped(&session.comm).await.map(|()| None),
    }
}

async fn ask<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Row, CommError> {
    let comm = &session.comm;
    let mut asks = Asks { partner: ECHOING, message: session.buffer(bytes) };
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
