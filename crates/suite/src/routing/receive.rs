//! Computing while messages arrive: what is left of the routing overhead where there is no rank between two others.

use weft_comm::{CommError, Communicator, Payload, Source, TagSelector};

use super::runs::{Runs, Settling};
use crate::row::Row;
use crate::session::{Session, TIMED};
use crate::signals::{GO, STOP, await_quietly, receive_times, send_times, signal};
use crate::spin::SpinLoop;
use crate::statistics::Statistics;

/// The rank that sends and gets the row,
const SENDING: usize = 0;
/// and the one that computes with receives posted.
const COMPUTING: usize = 1;
/// Messages that arrive during one run of the loop.
const BURST: usize = 16;
/// Bursts by which the length of the loop is chosen where time is real,
const PILOT: usize = 16;
/// looked at again at most this often until two looks agree.
const MAX_PILOTS: usize = 16;
/// The shortest run of the loop where time is real.
const SHORTEST: f64 = 20e-6;

/// The time of a loop without messages, and while messages of `bytes` arrive whose receives are posted; rank 0 gets the
/// row. The loop lasts as long as the messages take.
pub(super) async fn routing_compute_on_receiver<C: Communicator>(
    session: &Session<'_, C>,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    if comm.rank() == SENDING {
        send_until_stopped(session, bytes).await?;
        await_quietly(comm, COMPUTING, GO).await?;
        send_until_stopped(session, bytes).await?;
        let quiet = receive_times(comm, COMPUTING).await?;
        let disturbed = receive_times(comm, COMPUTING).await?;
        let hops = comm.hops_to(COMPUTING).map(|hops| hops as u32);
        return Ok(Some(Row { hops, ..session.disturbed_row(quiet, disturbed, Some(bytes as u64)) }));
    }
    compute(session, bytes).await.map(|()| None)
}

/// A burst at every signal.
async fn send_until_stopped<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<(), CommError> {
    let comm = &session.comm;
    let mut messages: Vec<Payload> = (0..BURST).map(|_| session.buffer(bytes)).collect();
    let mut requests = Vec::with_capacity(BURST);
    loop {
        let signal = comm.recv(Source::Rank(COMPUTING), TagSelector::AnyUser, Payload::EMPTY).await?;
        if signal.status.tag == STOP {
            return Ok(());
        }
        requests.extend(messages.drain(..).map(|message| comm.isend(COMPUTING, TIMED, message)));
        for request in requests.drain(..) {
            messages.push(request.await?);
        }
    }
}

async fn compute<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<(), CommError> {
    let comm = &session.comm;
    let mut bursts = Bursts::<C> {
        messages: (0..BURST).map(|_| session.buffer(bytes)).collect(),
        requests: Vec::with_capacity(BURST),
    };
    let (pilot, most, shortest) = if comm.virtual_time() { (1, 1, 0.0) } else { (PILOT, MAX_PILOTS, SHORTEST) };
    let mut settling = Settling::default();
    for _ in 0..most {
        let mut burst_times = Vec::with_capacity(pilot);
        for _ in 0..pilot {
            burst_times.push(bursts.during(comm, None).await?);
        }
        if settling.is_settled_by(Statistics::of(&burst_times).decile) {
            break;
        }
    }
    signal(comm, SENDING, STOP).await?;
    let runs = Runs::of(session, shortest.max(settling.least));

    let spin = SpinLoop::of(comm, runs.seconds);
    spin.timed(comm, runs.warmup).await;
    let quiet = spin.timed(comm, runs.timed).await;

    signal(comm, SENDING, GO).await?;
    let mut disturbed = Vec::with_capacity(runs.timed);
    for run in 0..runs.warmup + runs.timed {
        let time = bursts.during(comm, Some(spin)).await?;
        if run >= runs.warmup {
            disturbed.push(time);
        }
    }
    signal(comm, SENDING, STOP).await?;
    send_times(comm, SENDING, &quiet).await?;
    send_times(comm, SENDING, &disturbed).await
}

/// The receives of a burst.
struct Bursts<C: Communicator> {
    messages: Vec<Payload>,
    requests: Vec<C::Receive>,
}

impl<C: Communicator> Bursts<C> {
    /// One burst, and a run of the loop while it arrives: the time of the run, or of the burst where there is none.
    async fn during(&mut self, comm: &C, spin: Option<SpinLoop>) -> Result<f64, CommError> {
        let post = |message| comm.irecv(Source::Rank(SENDING), TagSelector::Only(TIMED), message);
        self.requests.extend(self.messages.drain(..).map(post));
        let start = comm.wtime();
        signal(comm, SENDING, GO).await?;
        let mut time = 0.0;
        if let Some(spin) = spin {
            let start = comm.wtime();
            spin.run(comm).await;
            time = comm.wtime() - start;
        }
        for request in self.requests.drain(..) {
            self.messages.push(request.await?.payload);
        }
        Ok(if spin.is_some() { time } else { comm.wtime() - start })
    }
}
