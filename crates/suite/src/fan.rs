//! Fan-in and fan-out: one node and several of its neighbours at once (Dunigan 1991, section 4.4, figure 9).
//!
//! What bounds the rate in virtual time is in the machine file. Where the node has one memory channel, messages enter or
//! leave its memory one after the other, so long ones gain only the time that a single sender spends between two
//! messages: a few per cent on the iPSC/860, whose channel carries 2.7 MB/s; those of a few hundred bytes gain more, for
//! a single sender's overhead is as long as their transfer. Where all channels work at once, rates add up until the
//! processor of the node in common has no time left: it spends its overhead and copying on each message, which bounds
//! short messages at any number of neighbours on both machines.

use weft_comm::{CommError, Communicator};

use crate::request::{Request, UsageError, refuse_if};
use crate::row::Row;
use crate::session::{ACKNOWLEDGE, Session, Step, rate};
use crate::signals::{GO, await_all, await_quietly, signal_all};
use crate::stopwatch::{Part, stopwatch};
use crate::stream::{Incoming, Outgoing, drain};

/// The node that all messages have in common; its neighbours are the ranks after it.
const CENTRE: usize = 0;

/// Which way the messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the centre.
    In,
    /// From the centre.
    Out,
}

/// The numbers of neighbours to measure: as asked for, or those of the defaults that `size` ranks have.
///
/// # Errors
/// [`UsageError`] for more neighbours than there are ranks besides the centre.
pub(crate) fn neighbours(request: &Request, defaults: &[u32], size: usize) -> Result<Vec<u32>, UsageError> {
    let most = size - 1;
    for &wanted in &request.neighbours {
        refuse_if(wanted as usize > most, || {
            format!("{} with {wanted} neighbours needs {} ranks, not {size}", request.benchmark, wanted + 1)
        })?;
    }
    if request.neighbours.is_empty() {
        return Ok(defaults.iter().copied().filter(|&count| count as usize <= most).collect());
    }
    Ok(request.neighbours.clone())
}

/// A window of messages of each neighbour at once, to or from rank 0, which gets the row. The time is that of one
/// message at rank 0, so the rate is that of all neighbours together.
pub(crate) async fn fan<C: Communicator>(
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
