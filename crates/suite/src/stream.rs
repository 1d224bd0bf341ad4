//! Streams of messages from one rank to another, two messages at a time.
//!
//! Two buffers at each end keep a link busy; more in flight would measure how much the system in between stores. Where
//! the stream is acknowledged, a message is not sent before the one before last has been received, so that a sender
//! whose messages are copied cannot run ahead of what the links carry.

use std::collections::VecDeque;

use weft_comm::{CommError, Communicator, Payload, Source, TagSelector};

use crate::session::{ACKNOWLEDGE, Session, TIMED};

/// Messages in flight.
const DEPTH: usize = 2;

/// The sending end.
pub(crate) struct Outgoing<C: Communicator> {
    to: usize,
    is_acknowledged: bool,
    slots: [Slot<C>; DEPTH],
    next: usize,
}

struct Slot<C: Communicator> {
    message: Payload,
    sent: Option<C::Send>,
    acknowledgement: Option<C::Receive>,
}

impl<C: Communicator> Slot<C> {
    async fn free(&mut self) -> Result<(), CommError> {
        if let Some(sent) = self.sent.take() {
            self.message = sent.await?;
        }
        if let Some(acknowledgement) = self.acknowledgement.take() {
            acknowledgement.await?;
        }
        Ok(())
    }
}

impl<C: Communicator> Outgoing<C> {
    /// A stream of messages of `bytes` to rank `to`, whose receiver acknowledges each message or none.
    pub fn new(session: &Session<'_, C>, to: usize, bytes: usize, is_acknowledged: bool) -> Outgoing<C> {
        let slot = |_| Slot { message: session.buffer(bytes), sent: None, acknowledgement: None };
        Outgoing { to, is_acknowledged, slots: std::array::from_fn(slot), next: 0 }
    }

    /// Sends one message, when the one before last is through.
    pub async fn push(&mut self, comm: &C) -> Result<(), CommError> {
        let slot = &mut self.slots[self.next];
        slot.free().await?;
        if self.is_acknowledged {
            let (from, tag) = (Source::Rank(self.to), TagSelector::Only(ACKNOWLEDGE));
            slot.acknowledgement = Some(comm.irecv(from, tag, Payload::EMPTY));
        }
        slot.sent = Some(comm.isend(self.to, TIMED, slot.message.take()));
        self.next = (self.next + 1) % DEPTH;
        Ok(())
    }

    /// Waits until all messages are through.
    pub async fn flush(&mut self) -> Result<(), CommError> {
        for slot in &mut self.slots {
            slot.free().await?;
        }
        Ok(())
    }

    /// Ends the stream by an empty message, after which there is no other.
    pub async fn end(&mut self, comm: &C) -> Result<(), CommError> {
        self.slots[self.next].free().await?;
        self.slots[self.next].message = Payload::EMPTY;
        self.push(comm).await
    }
}

/// The receiving end.
pub(crate) struct Incoming<C: Communicator> {
    from: usize,
    is_acknowledged: bool,
    spare: Vec<Payload>,
    posted: VecDeque<C::Receive>,
}

impl<C: Communicator> Incoming<C> {
    /// A stream of messages of `bytes` from rank `from`, each of which is acknowledged or none.
    pub fn new(session: &Session<'_, C>, from: usize, bytes: usize, is_acknowledged: bool) -> Incoming<C> {
        let spare = (0..DEPTH).map(|_| session.buffer(bytes)).collect();
        Incoming { from, is_acknowledged, spare, posted: VecDeque::with_capacity(DEPTH) }
    }

    /// Posts the receive of one more message, of at most two.
    pub fn post(&mut self, comm: &C) {
        let into = self.spare.pop().expect("at most two receives are posted");
        self.posted.push_back(comm.irecv(Source::Rank(self.from), TagSelector::Only(TIMED), into));
    }

    /// Waits for the message whose receive was posted first; its length in bytes.
    pub async fn take(&mut self, comm: &C) -> Result<usize, CommError> {
        let received = self.posted.pop_front().expect("a receive was posted").await?;
        if self.is_acknowledged {
            comm.send(self.from, ACKNOWLEDGE, Payload::EMPTY).await?;
        }
        self.spare.push(received.payload);
        Ok(received.status.bytes)
    }
}

/// Receives `messages` messages of each stream, in turn, with two receives posted wherever two are left.
pub(crate) async fn drain<C: Communicator>(
    comm: &C,
    streams: &mut [Incoming<C>],
    messages: usize,
) -> Result<(), CommError> {
    for stream in streams.iter_mut() {
        stream.post(comm);
    }
    for message in 1..=messages {
        for stream in streams.iter_mut() {
            if message < messages {
                stream.post(comm);
            }
            stream.take(comm).await?;
        }
    }
    Ok(())
}
