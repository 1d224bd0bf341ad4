//! Background traffic: every pair of the pattern a stream, until told to stop.

use weft_comm::{CommError, Communicator};

use super::pattern::Pair;
use crate::session::Session;
use crate::signals::{DONE, READY, STOP, signal, take_signal};
use crate::stream::{Incoming, Outgoing};

/// Rounds after which the traffic is under way.
const RUNNING: usize = 2;

/// Sends and receives messages of `bytes`, one of each of this rank's pairs a round, until rank `conductor` says stop.
///
/// A rank that stops ends its streams; it goes on to receive those of others until they end. No rank waits for one that
/// is further ahead than itself, so rounds do not deadlock.
pub(super) async fn run<C: Communicator>(
    session: &Session<'_, C>,
    pairs: &[Pair],
    bytes: usize,
    conductor: usize,
) -> Result<(), CommError> {
    let comm = &session.comm;
    let rank = comm.rank();
    let to = pairs.iter().filter(|pair| pair.0 == rank).map(|pair| pair.1);
    let from = pairs.iter().filter(|pair| pair.1 == rank).map(|pair| pair.0);
    let mut outgoing: Vec<Outgoing<C>> = to.map(|to| Outgoing::new(session, to, bytes, true)).collect();
    let mut incoming: Vec<Incoming<C>> = from.map(|from| Incoming::new(session, from, bytes, true)).collect();
    for stream in &mut incoming {
        stream.post(comm);
    }
    let mut is_sending = !outgoing.is_empty();
    let mut rounds = 0;
    while is_sending || !incoming.is_empty() {
        if is_sending {
            for stream in &mut outgoing {
                stream.push(comm).await?;
            }
        }
        receive(comm, &mut incoming).await?;
        rounds += 1;
        if rounds == RUNNING {
            signal(comm, conductor, READY).await?;
        }
        if is_sending && take_signal(comm, conductor, STOP).await? {
            is_sending = false;
            for stream in &mut outgoing {
                stream.end(comm).await?;
            }
        }
    }
    for stream in &mut outgoing {
        stream.flush().await?;
    }
    signal(comm, conductor, DONE).await
}

/// One message of every stream; those that end are taken out.
async fn receive<C: Communicator>(comm: &C, incoming: &mut Vec<Incoming<C>>) -> Result<(), CommError> {
    let mut index = 0;
    while index < incoming.len() {
        if incoming[index].take(comm).await? == 0 {
            incoming.swap_remove(index);
        } else {
            incoming[index].post(comm);
            index += 1;
        }
    }
    Ok(())
}
