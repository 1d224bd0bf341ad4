//! Many messages at a time: bandwidth between two ranks, one way and both, of many pairs, and between two halves.

use weft_comm::{CommError, Communicator, Payload, Source, TagSelector};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::echo::{MESSAGES, written};
use crate::in_flight::{Answer, InFlight};
use crate::parameters::BUFFERS;
use crate::row::Row;
use crate::session::{Session, Step, TIMED, rate};
use crate::stopwatch::{Part, repeat, stopwatch};
use crate::window::windowed;

/// A benchmark without anything that its points have in common: its name, summary, group, aliases, those it is nearest
/// to, what it takes, an example, and how a point is measured.
macro_rules! throughput {
    (
        $name:ident, $text:literal, $summary:literal, $group:ident,
        [$($alias:literal),*], [$($near:literal),*], [$($takes:expr),*], $example:literal, $measure:expr
    ) => {
        #[doc = $summary]
        pub struct $name;

        impl Benchmark for $name {
            const NAME: &'static str = $text;
            const SUMMARY: &'static str = $summary;
            const GROUP: Group = Group::$group;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
            const NEAREST_OF: &'static [&'static str] = &[$($near),*];
            const TAKES: &'static [Takes] = &[$($takes),*];
            const EXAMPLE: &'static str = $example;

            async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<$name> {
                Ok(Ok(Some($name)))
            }

            async fn measure<C: Communicator>(
                &self,
                session: &Session<'_, C>,
                point: Point,
            ) -> Result<Option<Row>, CommError> {
                $measure(session, point.bytes()).await
            }
        }
    };
}

throughput! {
    Bandwidth, "bandwidth",
    "a window of messages in flight one way, then an acknowledgement: time of one message", Throughput,
    ["bw", "osu-bw", "imb-uniband", "uniband"], ["osu-bw-persistent", "imb-unibandmt", "imb-unirandom"],
    [takes("bytes").of("message").default(MESSAGES).least(1), takes("window").default(&[64]), takes("buffers").choices(BUFFERS)],
    "weft measure bandwidth --bytes 8:1M --window 64 -o here.csv",
    bandwidth
}

throughput! {
    Bidirectional, "bidirectional",
    "a window of messages in flight both ways between two ranks: time of one message and one back", Throughput,
    ["bibw", "osu-bibw", "imb-biband", "biband"], ["osu-bibw-persistent", "imb-bibandmt", "imb-birandom", "imb-corandom"],
    [takes("bytes").of("message").default(MESSAGES).least(1), takes("window").default(&[64]), takes("buffers").choices(BUFFERS)],
    "weft measure bidirectional --bytes 8:1M --window 64",
    bidirectional
}

throughput! {
    PingPing, "ping-ping", "a message each way at one time between two ranks: time of one", PointToPoint,
    ["pingping", "imb-pingping"], ["imb-pingpingmt", "imb-pingpingspecificsource", "imb-pingpinganysource"],
    [takes("bytes").of("message").default(MESSAGES), takes("buffers").choices(BUFFERS)],
    "weft measure ping-ping --bytes 8:64K",
    ping_ping
}

throughput! {
    MultiPair, "multi-pair",
    "windows from each rank of one half to one of the other, all at once: time of one message of a pair", Throughput,
    ["mbw-mr", "osu-mbw-mr", "message-rate"], [],
    [takes("bytes").of("message").default(MESSAGES).least(1), takes("window").default(&[64]), takes("buffers").choices(BUFFERS)],
    "weft measure multi-pair --ranks 2:16 --bytes 8 --window 64",
    multi_pair
}

throughput! {
    MultiEcho, "multi-echo",
    "a message there and back between each rank of one half and one of the other: half the time of the last",
    PointToPoint,
    ["multi-lat", "osu-multi-lat"], [],
    [takes("bytes").of("message").default(MESSAGES)],
    "weft measure multi-echo --ranks 2:16 --bytes 8,64K",
    multi_echo
}

throughput! {
    Bisection, "bisection",
    "the ranks of one half exchange with those of the other, all at once: time of one exchange", Throughput,
    [], [],
    [takes("bytes").of("message").default(MESSAGES).least(1)],
    "weft measure bisection --ranks 2:64 --bytes 64K --on ipsc860",
    bisection
}

/// Where messages between two ranks go: from rank 0 to rank 1, or there and back at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Both,
}

async fn bandwidth<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    streams(session, Direction::Forward, session.window(), bytes).await
}

async fn bidirectional<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    streams(session, Direction::Both, session.window(), bytes).await
}

async fn ping_ping<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    streams(session, Direction::Both, 1, bytes).await
}

/// Windows between ranks 0 and 1; rank 0 gets the row, whose time is that of one message, or of one each way.
async fn streams<C: Communicator>(
    session: &Session<'_, C>,
    direction: Direction,
    window: usize,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let rank = session.comm.rank();
    if rank > 1 {
        return Ok(None);
    }
    let peer = Some(1 - rank);
    let partners = match direction {
        Direction::Both => [peer, peer],
        Direction::Forward if rank == 0 => [peer, None],
        Direction::Forward => [None, peer],
    };
    let mut messages = InFlight::new(session, partners, bytes, window, Answer::Sent)?;
    messages.check(session).await?;
    let part = if rank == 0 { Part::Leads { followers: &[1] } } else { Part::Follows { leader: 0 } };
    let times = stopwatch(session, part, &mut messages).await?;
    Ok(times.map(|times| {
        let each = times.into_iter().map(|whole| whole / window as f64).collect();
        let row = session.row(each, session.comm.size(), Some(bytes as u64));
        let hops = session.comm.hops_to(1).map(|hops| hops as u32);
        let directions = if direction == Direction::Both { 2 } else { 1 };
        Row { hops, rate: rate(directions * bytes as u64, row.seconds), ..row }
    }))
}

/// The partner of this rank in the other half, and whether this rank is of the lower one. With an odd number of ranks
/// the last one only keeps time.
fn partner<C: Communicator>(comm: &C) -> Option<(usize, bool)> {
    let (rank, half) = (comm.rank(), comm.size() / 2);
    match rank {
        lower if lower < half => Some((rank + half, true)),
        upper if upper < 2 * half => Some((rank - half, false)),
        _ => None,
    }
}

/// Times a step of all ranks; rank 0 gets the row, of a share of each time, with `moved` bytes in that share.
async fn at_once<C: Communicator>(
    session: &Session<'_, C>,
    step: &mut impl Step<C>,
    share: f64,
    bytes: usize,
    moved: usize,
) -> Result<Option<Row>, CommError> {
    let windowed = windowed(session, step).await?;
    Ok(windowed.map(|windowed| {
        let times = windowed.times.into_iter().map(|time| time * share).collect();
        let row = session.row(times, session.comm.size(), Some(bytes as u64));
        Row { share_late: Some(windowed.share_late), rate: rate(moved as u64, row.seconds), ..row }
    }))
}

/// Rank r of the lower half and rank r + half exchange messages, all at once and both ways.
async fn bisection<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    let peer = partner(&session.comm).map(|(peer, _)| peer);
    let mut exchange = InFlight::new(session, [peer, peer], bytes, 1, Answer::Sent)?;
    exchange.check(session).await?;
    let crossing = session.comm.size() / 2 * 2 * bytes;
    at_once(session, &mut exchange, 1.0, bytes, crossing).await
}

/// Rank r of the lower half sends windows to rank r + half, which answers each.
async fn multi_pair<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    let window = session.window();
    let partners = match partner(&session.comm) {
        Some((peer, true)) => [Some(peer), None],
        Some((peer, false)) => [None, Some(peer)],
        None => [None, None],
    };
    let mut messages = InFlight::new(session, partners, bytes, window, Answer::Sent)?;
    messages.check(session).await?;
    let times = MESSAGES_OF_A_START.div_ceil(window);
    let mut windows = Repeated { step: messages, times };
    let share = 1.0 / (window * times) as f64;
    at_once(session, &mut windows, share, bytes, session.comm.size() / 2 * bytes).await
}

/// So many messages of a pair follow one agreed start, in as many windows as that takes: the start takes some time itself.
const MESSAGES_OF_A_START: usize = 64;

/// A step several times.
struct Repeated<S> {
    step: S,
    times: usize,
}

impl<C: Communicator, S: Step<C>> Step<C> for Repeated<S> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        repeat(comm, &mut self.step, self.times).await
    }
}

/// Rank r of the lower half and rank r + half send one message to and fro.
async fn multi_echo<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    let (out, into) = (written(session, bytes), session.buffer(bytes));
    let mut there_and_back = ThereAndBack { partner: partner(&session.comm), out, into };
    at_once(session, &mut there_and_back, 0.5, bytes, session.comm.size() / 2 * bytes).await
}

struct ThereAndBack {
    partner: Option<(usize, bool)>,
    out: Payload,
    into: Payload,
}

impl<C: Communicator> Step<C> for ThereAndBack {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let Some((partner, leads)) = self.partner else { return Ok(()) };
        let (from, tag) = (Source::Rank(partner), TagSelector::Only(TIMED));
        if leads {
            comm.send_from(partner, TIMED, &mut self.out).await?;
            comm.recv_into(from, tag, &mut self.into).await?;
        } else {
            comm.recv_into(from, tag, &mut self.into).await?;
            comm.send_from(partner, TIMED, &mut self.out).await?;
        }
        Ok(())
    }
}
