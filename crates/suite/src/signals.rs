//! What ranks tell each other while others measure: begin, ready, stop, done, and the times they took.
//!
//! A rank that waits while another is measured must not be what disturbs it: a library that waits by polling takes a
//! processor's time, which matters where ranks share processors. Such waits look now and then and sleep in between.

use std::time::Duration;

use weft_comm::{CommError, Communicator, Payload, Source, Status, Tag, TagSelector};

/// A rank may begin.
pub(crate) const GO: Tag = Tag::User(5);
/// What a rank does in the background is under way.
pub(crate) const READY: Tag = Tag::User(6);
/// A rank shall end what it does.
pub(crate) const STOP: Tag = Tag::User(7);
/// A rank has ended what it did.
pub(crate) const DONE: Tag = Tag::User(8);
/// The times of iterations, for the rank that has the rows.
const TIMES: Tag = Tag::User(9);

/// How long a quiet wait sleeps before it looks again: at first,
const MIN_NAP: Duration = Duration::from_micros(100);
/// and at most, each time twice as long as before. Waking up every 50 microseconds takes up to a third of the processor
/// from whoever computes on it, on a virtual machine; every 5 milliseconds it does not show.
const MAX_NAP: Duration = Duration::from_millis(5);

/// Sends a signal.
pub(crate) async fn signal<C: Communicator>(comm: &C, to: usize, tag: Tag) -> Result<(), CommError> {
    comm.send(to, tag, Payload::EMPTY).await.map(drop)
}

/// Sends a signal to several ranks.
pub(crate) async fn signal_all<C: Communicator>(comm: &C, ranks: &[usize], tag: Tag) -> Result<(), CommError> {
    for &rank in ranks {
        signal(comm, rank, tag).await?;
    }
    Ok(())
}

/// Waits for a signal, ready to go on at once.
pub(crate) async fn await_signal<C: Communicator>(comm: &C, from: usize, tag: Tag) -> Result<(), CommError> {
    comm.recv(Source::Rank(from), tag.into(), Payload::EMPTY).await.map(drop)
}

/// Waits for a signal of each of several ranks.
pub(crate) async fn await_all<C: Communicator>(comm: &C, ranks: &[usize], tag: Tag) -> Result<(), CommError> {
    for &rank in ranks {
        await_signal(comm, rank, tag).await?;
    }
    Ok(())
}

/// Waits for a signal without taking a processor's time.
pub(crate) async fn await_quietly<C: Communicator>(comm: &C, from: usize, tag: Tag) -> Result<(), CommError> {
    probe_quietly(comm, from, tag).await?;
    await_signal(comm, from, tag).await
}

/// Waits until a message is there, without taking a processor's time.
pub(crate) async fn probe_quietly<C: Communicator>(comm: &C, from: usize, tag: Tag) -> Result<Status, CommError> {
    let (from, tag) = (Source::Rank(from), TagSelector::Only(tag));
    if comm.virtual_time() {
        return comm.probe(from, tag).await;
    }
    let mut nap = MIN_NAP;
    loop {
        if let Some(status) = comm.iprobe(from, tag).await? {
            return Ok(status);
        }
        std::thread::sleep(nap);
        nap = MAX_NAP.min(2 * nap);
    }
}

/// Takes a signal if there is one by now.
pub(crate) async fn take_signal<C: Communicator>(
    comm: &C,
    from: impl Into<Source>,
    tag: Tag,
) -> Result<bool, CommError> {
    match comm.iprobe(from.into(), tag.into()).await? {
        None => Ok(false),
        Some(status) => await_signal(comm, status.source, tag).await.map(|()| true),
    }
}

/// Sends the times of iterations, in seconds.
pub(crate) async fn send_times<C: Communicator>(comm: &C, to: usize, times: &[f64]) -> Result<(), CommError> {
    comm.send(to, TIMES, Payload::of(times)).await.map(drop)
}

/// Receives the times of iterations, waiting quietly.
pub(crate) async fn receive_times<C: Communicator>(comm: &C, from: usize) -> Result<Vec<f64>, CommError> {
    let bytes = probe_quietly(comm, from, TIMES).await?.bytes;
    let into = Payload::of(&vec![0u8; bytes]);
    let received = comm.recv(Source::Rank(from), TIMES.into(), into).await?;
    Ok(received.payload.values::<f64>().expect("times are data").to_vec())
}
