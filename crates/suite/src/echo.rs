//! Echo: a message to a partner and back, to its own rank, to the host (Dunigan 1991, section 4.1).

use weft_comm::collective::{Choice, broadcast};
use weft_comm::prepared::{DeviceEcho, Memory, Operation};
use weft_comm::{CommError, Communicator, Payload, PreparedOperation, Source, TagSelector};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::parameters::BUFFERS;
use crate::row::Row;
use crate::session::{Session, Step, TIMED, nodes, rate};
use crate::stopwatch::{Part, stopwatch};
use crate::usage::UsageError;

/// Powers of two from 8 bytes to 1 MiB: what messages are measured with where nobody says.
pub(crate) const MESSAGES: &[u64] =
    &[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072, 262_144, 524_288, 1_048_576];

/// The one-way time of a message by length and distance.
pub struct Echo {
    partners: Vec<Partner>,
}

impl Benchmark for Echo {
    const NAME: &'static str = "echo";
    const SUMMARY: &'static str = "one message to a partner and back: one-way time by length and hops";
    const GROUP: Group = Group::PointToPoint;
    const ALIASES: &'static [&'static str] =
        &["pingpong", "ping-pong", "latency", "osu-latency", "imb-pingpong", "netpipe"];
    const NEAREST_OF: &'static [&'static str] = &[
        "osu-latency-mp",
        "osu-latency-persistent",
        "osu-partitioned-latency",
        "imb-pingpongspecificsource",
        "imb-pingponganysource",
    ];
    const TAKES: &'static [Takes] =
        &[takes("bytes").of("message").default(MESSAGES), takes("hops"), takes("buffers").choices(BUFFERS)];
    const EXAMPLE: &'static str = "weft measure echo --on ipsc860 --hops 1:6 --bytes 8:8192";

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Echo> {
        Ok(partners(session).await?.map(|partners| partners.map(|partners| Echo { partners })))
    }

    fn variants(&self) -> usize {
        self.partners.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        echo(session, self.partners[point.variant], point.bytes()).await
    }
}

/// The same to a machine's host.
pub struct EchoHost(Partner);

impl Benchmark for EchoHost {
    const NAME: &'static str = "echo-host";
    const SUMMARY: &'static str = "one message from rank 0 to the host and back: one-way time by length";
    const GROUP: Group = Group::PointToPoint;
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(MESSAGES)];
    const EXAMPLE: &'static str = "weft measure echo-host --on ipsc1 --bytes 8:8192";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 1;
    const HOST: bool = true;

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<EchoHost> {
        let host = session.comm.host().ok_or_else(|| session.error("the host is gone".to_owned()))?;
        Ok(Ok(Some(EchoHost(Partner { rank: host, hops: hops_to(&session.comm, host) }))))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        echo(session, self.0, point.bytes()).await
    }
}

/// A message of a rank to itself.
pub struct EchoSelf;

impl Benchmark for EchoSelf {
    const NAME: &'static str = "echo-self";
    const SUMMARY: &'static str = "one message of a rank to itself: the software's share of a message";
    const GROUP: Group = Group::PointToPoint;
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(MESSAGES)];
    const EXAMPLE: &'static str = "weft measure echo-self --bytes 8:64K";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 1;

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<EchoSelf> {
        Ok(Ok(Some(EchoSelf)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        echo_self(session, point.bytes()).await
    }
}

/// Whom rank 0 exchanges messages with, and how far away it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partner {
    pub rank: usize,
    pub hops: Option<u32>,
}

/// The partners of the distances asked for: for each the lowest rank at that distance from rank 0, or rank 1 where no
/// distance was asked for. Collective; rank 0 finds out what is impossible, the others then get `None`.
async fn partners<C: Communicator>(
    session: &Session<'_, C>,
) -> Result<Result<Option<Vec<Partner>>, UsageError>, CommError> {
    let (comm, hops) = (&session.comm, &session.request.hops);
    if hops.is_empty() {
        return Ok(Ok(Some(vec![Partner { rank: 1, hops: hops_to(comm, 1) }])));
    }
    let partners = if comm.rank() == 0 { at_distances(comm, hops) } else { Ok(vec![0; hops.len()]) };
    // A rank's own number is no partner's: it says that there is none.
    let ranks = partners.clone().unwrap_or_else(|_| vec![0; hops.len()]);
    let ranks = broadcast(comm, 0, Payload::of(&ranks), Choice::Auto).await?;
    if let Err(error) = partners {
        return Ok(Err(error));
    }
    let ranks = ranks.values::<u64>().expect("data was sent");
    if ranks.contains(&0) {
        return Ok(Ok(None));
    }
    let partner = |(&rank, &hops)| Partner { rank: rank as usize, hops: Some(hops) };
    Ok(Ok(Some(ranks.iter().zip(hops).map(partner).collect())))
}

fn hops_to<C: Communicator>(comm: &C, rank: usize) -> Option<u32> {
    comm.hops_to(rank).map(|hops| hops as u32)
}

/// The lowest rank at each distance from this one.
fn at_distances<C: Communicator>(comm: &C, wanted: &[u32]) -> Result<Vec<u64>, UsageError> {
    let mut nearest: Vec<(u32, u64)> = Vec::new();
    for rank in 1..comm.size() {
        let hops = hops_to(comm, rank).ok_or_else(|| {
            UsageError(
                "echo by hops: this backend does not know how far its ranks are apart; leave hops out".to_owned(),
            )
        })?;
        if !nearest.iter().any(|&(known, _)| known == hops) {
            nearest.push((hops, rank as u64));
        }
    }
    nearest.sort_unstable();
    let find = |&hops: &u32| nearest.iter().find(|&&(known, _)| known == hops).map(|&(_, rank)| rank);
    wanted.iter().map(|hops| find(hops).ok_or_else(|| no_such_distance(*hops, &nearest))).collect()
}

fn no_such_distance(hops: u32, nearest: &[(u32, u64)]) -> UsageError {
    let count = |hops: u32| if hops == 1 { "1 hop".to_owned() } else { format!("{hops} hops") };
    let farthest = nearest.last().map_or(0, |&(hops, _)| hops);
    if hops > farthest {
        return UsageError(format!("{}: the farthest rank is {} away", count(hops), count(farthest)));
    }
    let known: Vec<String> = nearest.iter().map(|(hops, _)| hops.to_string()).collect();
    UsageError(format!(
        "{}: no rank is that far from rank 0; there are ranks at {} hops",
        count(hops),
        known.join(", ")
    ))
}

/// Messages of `bytes` between rank 0 and a partner; rank 0 gets the row. Ranks that are neither do nothing.
async fn echo<C: Communicator>(
    session: &Session<'_, C>,
    partner: Partner,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let rank = session.comm.rank();
    if rank != 0 && rank != partner.rank {
        return Ok(None);
    }
    let part = if rank == 0 { Part::Leads { followers: &[partner.rank] } } else { Part::Follows { leader: 0 } };
    let times = if session.memory() == Memory::Device {
        let mut step = OnDevice::new(session, partner.rank, bytes)?;
        step.check(session).await?;
        stopwatch(session, part, &mut step).await?
    } else if rank == 0 {
        let mut asks = Asks::new(session, partner.rank, bytes);
        asks.check(session).await?;
        stopwatch(session, part, &mut asks).await?
    } else {
        let mut echoes = Echoes::new(session, bytes);
        echoes.check(&session.comm).await?;
        stopwatch(session, part, &mut echoes).await?
    };
    let Some(times) = times else { return Ok(None) };
    let one_way = times.into_iter().map(|there_and_back| 0.5 * there_and_back).collect();
    let ranks = session.request.ranks.unwrap_or_else(|| nodes(&session.comm));
    let row = session.row(one_way, ranks, Some(bytes as u64));
    Ok(Some(Row { hops: partner.hops, rate: rate(bytes as u64, row.seconds), ..row }))
}

/// The rank that times: sends and waits for the answer.
///
/// Either rank sends from one buffer and receives into another, as `osu_latency` and IMB's PingPong do, and as windows
/// of messages are sent. What is returned from where it was received has just been written by the other processor: on
/// ranks that share memory, 64 KiB took 1.45 times as long.
pub(crate) struct Asks {
    partner: usize,
    message: Payload,
    answer: Payload,
}

impl<C: Communicator> Step<C> for Asks {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        comm.send_from(self.partner, TIMED, &mut self.message).await?;
        comm.recv_into(Source::Rank(self.partner), TagSelector::Only(TIMED), &mut self.answer).await?;
        Ok(())
    }
}

impl Asks {
    /// Messages of `bytes` to a partner.
    pub fn new<C: Communicator>(session: &Session<'_, C>, partner: usize, bytes: usize) -> Asks {
        Asks { partner, message: written(session, bytes), answer: session.buffer(bytes) }
    }

    /// One echo of a pattern, into a buffer that does not have it.
    pub async fn check<C: Communicator>(&mut self, session: &Session<'_, C>) -> Result<(), CommError> {
        self.step(&session.comm).await?;
        check(&self.answer).map_err(|what| session.error(what))
    }
}

/// The rank that answers.
pub(crate) struct Echoes {
    message: Payload,
    answer: Payload,
}

impl<C: Communicator> Step<C> for Echoes {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        comm.recv_into(Source::Rank(0), TagSelector::Only(TIMED), &mut self.message).await?;
        comm.send_from(0, TIMED, &mut self.answer).await
    }
}

impl Echoes {
    /// Messages of `bytes` from rank 0.
    pub fn new<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Echoes {
        Echoes { message: session.buffer(bytes), answer: written(session, bytes) }
    }

    /// Sends back what was received itself, for rank 0 to look at.
    pub async fn check<C: Communicator>(&mut self, comm: &C) -> Result<(), CommError> {
        comm.recv_into(Source::Rank(0), TagSelector::Only(TIMED), &mut self.message).await?;
        comm.send_from(0, TIMED, &mut self.message).await
    }
}

/// A message that has been written: memory that never was may be one page of zeros in place of many.
pub(crate) fn written<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Payload {
    let mut message = session.buffer(bytes);
    fill(&mut message);
    message
}

/// An echo in the memory of a device, of either rank.
struct OnDevice(Box<dyn PreparedOperation>);

impl OnDevice {
    fn new<C: Communicator>(session: &Session<'_, C>, partner: usize, bytes: usize) -> Result<OnDevice, CommError> {
        let leads = session.comm.rank() == 0;
        let echo = DeviceEcho { peer: if leads { partner } else { 0 }, leads, tag: TIMED, bytes };
        let operations = session.comm.operations().ok_or_else(|| session.error("the device is gone".to_owned()))?;
        operations.prepare(&Operation::DeviceEcho(echo)).map(OnDevice)
    }

    /// One echo of a pattern that is written to the device and read from it.
    async fn check<C: Communicator>(&mut self, session: &Session<'_, C>) -> Result<(), CommError> {
        let leads = session.comm.rank() == 0;
        if leads {
            self.0.input().iter_mut().enumerate().for_each(|(index, byte)| *byte = pattern(index));
            self.0.write_through()?;
        }
        self.step(&session.comm).await?;
        if !leads {
            return Ok(());
        }
        self.0.read_through()?;
        check_bytes(self.0.output()).map_err(|what| session.error(what))
    }
}

impl<C: Communicator> Step<C> for OnDevice {
    async fn step(&mut self, _: &C) -> Result<(), CommError> {
        self.0.run()
    }

    fn prepared(&mut self) -> Option<&mut dyn PreparedOperation> {
        Some(&mut *self.0)
    }
}

/// Messages of rank 0 to itself; it gets the row.
async fn echo_self<C: Communicator>(session: &Session<'_, C>, bytes: usize) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    if comm.rank() != 0 {
        return Ok(None);
    }
    let iterations = if comm.virtual_time() { 1 } else { SELF_MESSAGES };
    let mut messages = SelfMessages { out: session.buffer(bytes), into: session.buffer(bytes), iterations };
    fill(&mut messages.out);
    messages.step(comm).await?;
    check(&messages.into).map_err(|what| session.error(what))?;
    let times = stopwatch(session, Part::Leads { followers: &[] }, &mut messages).await?.unwrap_or_default();
    let times = times.into_iter().map(|time| time / iterations as f64).collect();
    let row = session.row(times, comm.size(), Some(bytes as u64));
    Ok(Some(Row { hops: Some(0), rate: rate(bytes as u64, row.seconds), ..row }))
}

/// Messages of one timed iteration to its own rank, in real time: one takes a tenth of a microsecond, which is ten
/// steps of the clock of some processors, and reading that clock takes a fifth of it.
const SELF_MESSAGES: usize = 16;

struct SelfMessages {
    out: Payload,
    into: Payload,
    iterations: usize,
}

impl<C: Communicator> Step<C> for SelfMessages {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let own = comm.rank();
        for _ in 0..self.iterations {
            comm.sendrecv(own, &mut self.out, own, &mut self.into, TIMED).await?;
        }
        Ok(())
    }
}

fn pattern(index: usize) -> u8 {
    (index % 251) as u8 + 1
}

fn fill(message: &mut Payload) {
    if let Payload::Data(buffer) = message {
        buffer.iter_mut().enumerate().for_each(|(index, byte)| *byte = pattern(index));
    }
}

/// What is wrong with an echo, if anything is.
fn check(message: &Payload) -> Result<(), String> {
    let Payload::Data(buffer) = message else { return Ok(()) };
    check_bytes(buffer)
}

fn check_bytes(buffer: &[u8]) -> Result<(), String> {
    match buffer.iter().enumerate().find(|&(index, &byte)| byte != pattern(index)) {
        None => Ok(()),
        Some((index, byte)) => Err(format!(
            "echo of {} bytes: byte {index} came back as {byte:#04x}, {:#04x} was sent",
            buffer.len(),
            pattern(index)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_named() {
        let mut message = Payload::of(&[0u8; 600]);
        fill(&mut message);
        assert_eq!(check(&message), Ok(()));
        message.put(300, &Payload::of(&[0u8]));
        assert_eq!(check(&message).unwrap_err(), "echo of 600 bytes: byte 300 came back as 0x00, 0x32 was sent");
    }

    #[test]
    fn distances_that_do_not_exist_are_explained() {
        let nearest = [(2, 1), (4, 5), (6, 20)];
        assert_eq!(no_such_distance(7, &nearest).to_string(), "7 hops: the farthest rank is 6 hops away");
        let between = "3 hops: no rank is that far from rank 0; there are ranks at 2, 4, 6 hops";
        assert_eq!(no_such_distance(3, &nearest).to_string(), between);
    }
}
