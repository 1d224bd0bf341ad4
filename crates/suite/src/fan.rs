//! Fan-in and fan-out: one node and several of its neighbours at once (Dunigan 1991, section 4.4, figure 9).
//!
//! What bounds the rate in virtual time is in the machine file. Where the node has one memory channel, messages enter or
//! leave its memory one after the other, so long ones gain only the time that a single sender spends between two
//! messages: a few per cent on the iPSC/860, whose channel carries 2.7 MB/s; those of a few hundred bytes gain more, for
//! a single sender's overhead is as long as their transfer. Where all channels work at once, rates add up until the
//! processor of the node in common has no time left: it spends its overhead and copying on each message, which bounds
//! short messages at any number of neighbours on both machines.

use weft_comm::{CommError, Communicator};

use weft_machine::Machine;

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::Nodes;
use crate::description::{Description, Group, Takes, takes};
use crate::placement::among_neighbours;
use crate::request::Request;
use crate::routing::TRAFFIC;
use crate::row::Row;
use crate::session::{ACKNOWLEDGE, Session, Step, rate};
use crate::signals::{GO, await_all, await_quietly, signal_all};
use crate::stopwatch::{Part, stopwatch};
use crate::stream::{Incoming, Outgoing, drain};
use crate::usage::{UsageError, refuse_if};

/// The node that all messages have in common; its neighbours are the ranks after it.
const CENTRE: usize = 0;

/// Numbers of neighbours where nobody says (figure 9: '1, 2, 4, and 6 nearest neighbors').
const NEIGHBOURS: &[u64] = &[1, 2, 4, 6];

const FAN: &[Takes] = &[
    takes("bytes").of("message").default(TRAFFIC).least(1),
    takes("window").default(&[64]),
    takes("neighbours").default(NEIGHBOURS),
];

/// To one node, its neighbours at once.
pub struct FanIn(Fan);

impl Benchmark for FanIn {
    const NAME: &'static str = "fan-in";
    const NEAREST_OF: &'static [&'static str] = &["osu-bw-fan-in"];
    const SUMMARY: &'static str =
        "1, 2, 4 and 6 neighbours send to one rank at once: time of one message there and the rate of all";
    const GROUP: Group = Group::Traffic;
    const TAKES: &'static [Takes] = FAN;
    const EXAMPLE: &'static str = "weft measure fan-in --neighbours 1,2,4,6 --bytes 1K --on ipsc860";
    const DEFAULT_RANKS: usize = 7;

    fn check_ranks(request: &Request, ranks: usize) -> Result<(), UsageError> {
        neighbours(request, ranks).map(drop)
    }

    fn placement(machine: &Machine, request: &mut Request, _: usize) -> Result<Nodes, UsageError> {
        among_neighbours(machine, request, &const { Description::new::<FanIn>() })
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<FanIn> {
        Ok(Fan::new(session, Direction::In).map(|fan| Some(FanIn(fan))))
    }

    fn variants(&self) -> usize {
        self.0.neighbours.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        self.0.measure(session, point).await
    }
}

/// From one node, its neighbours at once.
pub struct FanOut(Fan);

impl Benchmark for FanOut {
    const NAME: &'static str = "fan-out";
    const NEAREST_OF: &'static [&'static str] = &["osu-bw-fan-out"];
    const SUMMARY: &'static str =
        "one rank sends to 1, 2, 4 and 6 neighbours at once: time of one message there and the rate of all";
    const GROUP: Group = Group::Traffic;
    const TAKES: &'static [Takes] = FAN;
    const EXAMPLE: &'static str = "weft measure fan-out --neighbours 1,2,4,6 --bytes 1K --on ipsc860";
    const DEFAULT_RANKS: usize = 7;

    fn check_ranks(request: &Request, ranks: usize) -> Result<(), UsageError> {
        neighbours(request, ranks).map(drop)
    }

    fn placement(machine: &Machine, request: &mut Request, _: usize) -> Result<Nodes, UsageError> {
        among_neighbours(machine, request, &const { Description::new::<FanOut>() })
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<FanOut> {
        Ok(Fan::new(session, Direction::Out).map(|fan| Some(FanOut(fan))))
    }

    fn variants(&self) -> usize {
        self.0.neighbours.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        self.0.measure(session, point).await
    }
}

/// Either of them.
struct Fan {
    direction: Direction,
    neighbours: Vec<u32>,
    window: usize,
}

impl Fan {
    fn new<C: Communicator>(session: &Session<'_, C>, direction: Direction) -> Result<Fan, UsageError> {
        let neighbours = neighbours(session.request, session.comm.size())?;
        Ok(Fan { direction, neighbours, window: session.window() })
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        fan(session, self.direction, self.neighbours[point.variant], self.window, point.bytes()).await
    }
}

/// Which way the messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// To the centre.
    In,
    /// From the centre.
    Out,
}

/// The numbers of neighbours to measure: as asked for, or those of the defaults that `size` ranks have.
///
/// # Errors
/// [`UsageError`] for more neighbours than there are ranks besides the centre.
fn neighbours(request: &Request, size: usize) -> Result<Vec<u32>, UsageError> {
    let most = size - 1;
    for &wanted in &request.neighbours {
        refuse_if(wanted as usize > most, || {
            format!("{} with {wanted} neighbours needs {} ranks, not {size}", request.benchmark, wanted + 1)
        })?;
    }
    if request.neighbours.is_empty() {
        return Ok(NEIGHBOURS.iter().filter(|&&count| count <= most as u64).map(|&count| count as u32).collect());
    }
    Ok(request.neighbours.clone())
}

/// A window of messages of each neighbour at once, to or from rank 0, which gets the row. The time is that of one
/// message at rank 0, so the rate is that of all neighbours together.
async fn fan<C: Communicator>(
    session: &Session<'_, C>,
    direction: Direction,
    neighbours: u32,
    window: usize,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    let rank = comm.rank();
    if rank > neighbours as usize {
        return Ok(None);
    }
    let partners: Vec<usize> = if rank == CENTRE { (1..=neighbours as usize).collect() } else { vec![CENTRE] };
    let part = if rank == CENTRE {
        signal_all(comm, &partners, GO).await?;
        Part::Leads { followers: &partners }
    } else {
        // A rank that has nothing to do in one point must not load the centre with the messages of the next.
        await_quietly(comm, CENTRE, GO).await?;
        Part::Follows { leader: CENTRE }
    };
    let times = if (direction == Direction::Out) == (rank == CENTRE) {
        let streams = partners.iter().map(|&to| Outgoing::new(session, to, bytes, false)).collect();
        stopwatch(session, part, &mut Sends::<C> { streams, partners: partners.clone(), window }).await?
    } else {
        let streams = partners.iter().map(|&from| Incoming::new(session, from, bytes, false)).collect();
        stopwatch(session, part, &mut Receives::<C> { streams, partners: partners.clone(), window }).await?
    };
    Ok(times.map(|times| {
        let messages = window as f64 * f64::from(neighbours);
        let each = times.into_iter().map(|all| all / messages).collect();
        let row = session.row(each, comm.size(), Some(bytes as u64));
        let hops = comm.hops_to(1).map(|hops| hops as u32);
        Row { neighbours: Some(neighbours), hops, rate: rate(bytes as u64, row.seconds), ..row }
    }))
}

/// The sending side: a window of messages to every partner in turn, then their acknowledgements.
struct Sends<C: Communicator> {
    streams: Vec<Outgoing<C>>,
    partners: Vec<usize>,
    window: usize,
}

impl<C: Communicator> Step<C> for Sends<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        for _ in 0..self.window {
            for stream in &mut self.streams {
                stream.push(comm).await?;
            }
        }
        for stream in &mut self.streams {
            stream.flush().await?;
        }
        await_all(comm, &self.partners, ACKNOWLEDGE).await
    }
}

/// The receiving side: a window of messages of every partner, then an acknowledgement to each.
struct Receives<C: Communicator> {
    streams: Vec<Incoming<C>>,
    partners: Vec<usize>,
    window: usize,
}

impl<C: Communicator> Step<C> for Receives<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        drain(comm, &mut self.streams, self.window).await?;
        signal_all(comm, &self.partners, ACKNOWLEDGE).await
    }
}
