//! Many messages at a time: bandwidth between two ranks, exchange between two halves.

use weft_comm::{CommError, Communicator, Payload, Source, TagSelector};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::echo::MESSAGES;
use crate::row::Row;
use crate::session::{ACKNOWLEDGE, Session, Step, TIMED, rate};
use crate::stopwatch::{Part, stopwatch};
use crate::window::windowed;

/// Many messages one way.
pub struct Bandwidth;

impl Benchmark for Bandwidth {
    const NAME: &'static str = "bandwidth";
    const SUMMARY: &'static str =
        "a window of messages in flight one way, then an acknowledgement: time of one message";
    const GROUP: Group = Group::Throughput;
    const ALIASES: &'static [&'static str] = &["bw", "osu-bw", "imb-uniband", "uniband"];
    const TAKES: &'static [Takes] =
        &[takes("bytes").of("message").default(MESSAGES).least(1), takes("window").default(&[64])];
    const EXAMPLE: &'static str = "weft measure bandwidth --bytes 8:1M --window 64 -o here.csv";

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<Bandwidth> {
        Ok(Ok(Some(Bandwidth)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        bandwidth(session, session.window(), point.bytes()).await
    }
}

/// Many messages both ways, across the middle.
pub struct Bisection;

impl Benchmark for Bisection {
    const NAME: &'static str = "bisection";
    const SUMMARY: &'static str =
        "the ranks of one half exchange with those of the other, all at once: time of one exchange";
    const GROUP: Group = Group::Throughput;
    const NEAREST_OF: &'static [&'static str] =
        &["bibw", "osu-bibw", "mbw-mr", "osu-mbw-mr", "imb-biband", "biband", "message-rate"];
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(MESSAGES).least(1)];
    const EXAMPLE: &'static str = "weft measure bisection --ranks 2:64 --bytes 64K --on ipsc860";

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<Bisection> {
        Ok(Ok(Some(Bisection)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        bisection(session, point.bytes()).await
    }
}

/// A window of messages from rank 0 to rank 1 and an acknowledgement; rank 0 gets the row, whose time is that of one
/// message.
async fn bandwidth<C: Communicator>(
    session: &Session<'_, C>,
    window: usize,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let rank = session.comm.rank();
    if rank > 1 {
        return Ok(None);
    }
    let messages = (0..window).map(|_| session.buffer(bytes)).collect();
    if rank == 1 {
        let mut drain = Drain::<C> { messages, requests: Vec::with_capacity(window) };
        stopwatch(session, Part::Follows { leader: 0 }, &mut drain).await?;
        return Ok(None);
    }
    let mut stream = Stream::<C> { messages, requests: Vec::with_capacity(window) };
    let times = stopwatch(session, Part::Leads { followers: &[1] }, &mut stream).await?.unwrap_or_default();
    let each = times.into_iter().map(|whole| whole / window as f64).collect();
    let row = session.row(each, session.comm.size(), Some(bytes as u64));
    let hops = session.comm.hops_to(1).map(|hops| hops as u32);
    Ok(Some(Row { hops, rate: rate(bytes as u64, row.seconds), ..row }))
}

struct Stream<C: Communicator> {
    messages: Vec<Payload>,
    requests: Vec<C::Send>,
}

impl<C: Communicator> Step<C> for Stream<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        for message in self.messages.drain(..) {
            self.requests.push(comm.isend(1, TIMED, message));
        }
        for request in self.requests.drain(..) {
            self.messages.push(request.await?);
        }
        comm.recv(Source::Rank(1), TagSelector::Only(ACKNOWLEDGE), Payload::EMPTY).await.map(drop)
    }
}

struct Drain<C: Communicator> {
    messages: Vec<Payload>,
    requests: Vec<C::Receive>,
}

impl<C: Communicator> Step<C> for Drain<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        for message in self.messages.drain(..) {
            self.requests.push(comm.irecv(Source::Rank(0), TagSelector::Only(TIMED), message));
        }
        for request in self.requests.drain(..) {
            self.messages.push(request.await?.payload);
        }
        comm.send(0, ACKNOWLEDGE, Payload::EMPTY).await.map(drop)
    }
}

/// Rank r of the lower half and rank r + half exchange messages, all at once and both ways; rank 0 gets the row. With
/// an odd number of ranks the last one only keeps time.
async fn bisection<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    let (rank, size) = (session.comm.rank(), session.comm.size());
    let half = size / 2;
    let partner = if rank < half { Some(rank + half) } else { (rank < 2 * half).then(|| rank - half) };
    let mut exchange = Exchange { partner, out: session.buffer(bytes), into: session.buffer(bytes) };
    let windowed = windowed(session, &mut exchange).await?;
    Ok(windowed.map(|windowed| {
        let row = session.row(windowed.times, size, Some(bytes as u64));
        let crossing = 2 * half as u64 * bytes as u64;
        Row { share_late: Some(windowed.share_late), rate: rate(crossing, row.seconds), ..row }
    }))
}

struct Exchange {
    partner: Option<usize>,
    out: Payload,
    into: Payload,
}

impl<C: Communicator> Step<C> for Exchange {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let Some(partner) = self.partner else { return Ok(()) };
        comm.sendrecv(partner, &mut self.out, partner, &mut self.into, TIMED).await.map(|_| ())
    }
}
