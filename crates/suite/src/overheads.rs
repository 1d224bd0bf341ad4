//! What a message takes of the processor at either end, apart from what the network takes.
//!
//! The sender's part is what it takes to start messages while nothing holds them up. The receiver's is what it takes to
//! receive messages that have arrived before they are asked for: a receive that is delayed long enough waits for nothing
//! but its own processor (D. Culler, L. T. Liu, R. P. Martin, C. Yoshikawa, "Assessing fast network interfaces", IEEE
//! Micro 16 (1996) 35-43). These are o_s and o_r of LogGP. A library that moves the bytes of long messages when their
//! receiver asks for them charges them to the receiver, and so does this.

use weft_comm::{CommError, Communicator, Payload, Source, TagSelector, Work};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::echo::MESSAGES;
use crate::in_flight::{Answer, InFlight};
use crate::row::Row;
use crate::session::{ACKNOWLEDGE, Session, Step};
use crate::statistics::Statistics;
use crate::stopwatch::{Part, repeat, stopwatch, timed};

const TAKES: &[Takes] = &[takes("bytes").of("message").default(MESSAGES), takes("window").default(&[16])];

/// What starting messages takes of the sender's processor.
pub struct SendOverhead;

impl Benchmark for SendOverhead {
    const NAME: &'static str = "send-overhead";
    const SUMMARY: &'static str = "messages started while their receiver waits for them: the sender's time of one";
    const GROUP: Group = Group::Throughput;
    const TAKES: &'static [Takes] = TAKES;
    const EXAMPLE: &'static str = "weft measure send-overhead --bytes 8:64K";

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<SendOverhead> {
        Ok(Ok(Some(SendOverhead)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        overhead(session, End::Sender, point.bytes()).await
    }
}

/// What receiving messages that are there already takes of the receiver's processor.
pub struct ReceiveOverhead;

impl Benchmark for ReceiveOverhead {
    const NAME: &'static str = "receive-overhead";
    const SUMMARY: &'static str = "messages received when they have long been there: the receiver's time of one";
    const GROUP: Group = Group::Throughput;
    const TAKES: &'static [Takes] = TAKES;
    const EXAMPLE: &'static str = "weft measure receive-overhead --bytes 8:64K";

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<ReceiveOverhead> {
        Ok(Ok(Some(ReceiveOverhead)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        overhead(session, End::Receiver, point.bytes()).await
    }
}

/// Which end of the messages is timed; it is rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// Windows by which the time of one is estimated, after as many in which much happens for the first time.
const PILOT: usize = 5;
/// How many times that long rank 0 computes before it does its part: the other rank is waiting then, or has sent.
const PATIENCE: f64 = 3.0;
/// What is added to it where time is real, in seconds.
const SLACK: f64 = 2e-6;

/// Times one end of windows between ranks 0 and 1; rank 0 gets the row.
async fn overhead<C: Communicator>(session: &Session<'_, C>, end: End, bytes: usize) -> Result<Option<Row>, CommError> {
    let (comm, window) = (&session.comm, session.window());
    let rank = comm.rank();
    if rank > 1 {
        return Ok(None);
    }
    let peer = 1 - rank;
    let sends = (end == End::Sender) == (rank == 0);
    let partners = if sends { [Some(peer), None] } else { [None, Some(peer)] };
    let mut messages = InFlight::new(session, partners, bytes, window, Answer::LeftOut)?;
    messages.check(session).await?;
    let mut delayed = Delayed { messages, peer, end: (rank == 0).then_some(end), delay: 0.0, times: Vec::new() };
    delayed.delay = patience(comm, &mut delayed).await?;
    delayed.times.clear();
    let part = if rank == 0 { Part::Leads { followers: &[1] } } else { Part::Follows { leader: 0 } };
    let steps = stopwatch(session, part, &mut delayed).await?;
    Ok(steps.map(|steps| {
        // The last of the steps are those that were timed; what comes before led in.
        let skipped = delayed.times.len().saturating_sub(steps.len());
        let each: Vec<f64> = delayed.times[skipped..].iter().map(|all| all / window as f64).collect();
        let row = session.row(each, comm.size(), Some(bytes as u64));
        let hops = comm.hops_to(1).map(|hops| hops as u32);
        Row { hops, ..row }
    }))
}

/// How long to wait for a window that nothing delays, in seconds.
async fn patience<C: Communicator>(comm: &C, step: &mut impl Step<C>) -> Result<f64, CommError> {
    repeat(comm, step, PILOT).await?;
    let alone = Statistics::of(&timed(comm, step, PILOT).await?).median;
    let slack = if comm.virtual_time() { 0.0 } else { SLACK };
    Ok(PATIENCE * alone + slack)
}

/// One window, of which rank 0 does its part after a computation; rank 1 does its own at once.
struct Delayed<C: Communicator> {
    messages: InFlight<C>,
    peer: usize,
    /// What is timed on this rank, if anything is.
    end: Option<End>,
    /// Of the computation, in seconds.
    delay: f64,
    /// Of the part that is timed, in seconds, one for each step.
    times: Vec<f64>,
}

impl<C: Communicator> Step<C> for Delayed<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let Some(end) = self.end else {
            self.messages.step(comm).await?;
            let from = (Source::Rank(self.peer), TagSelector::Only(ACKNOWLEDGE));
            return comm.recv(from.0, from.1, Payload::EMPTY).await.map(drop);
        };
        comm.compute(Work::Spin(self.delay)).await;
        let start = comm.wtime();
        self.messages.start(comm)?;
        let started = comm.wtime();
        self.messages.finish(comm).await?;
        let end = if end == End::Sender { started } else { comm.wtime() };
        self.times.push(end - start);
        comm.send(self.peer, ACKNOWLEDGE, Payload::EMPTY).await.map(drop)
    }
}
