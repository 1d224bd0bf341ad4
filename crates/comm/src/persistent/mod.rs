//! Messages that are sent again and again between the same ranks: the same lengths, the same buffers.
//!
//! A set of such messages is made once and used many times, as MPI's persistent requests are. A backend may do better
//! than sending and receiving each time ([`Communicator::persistent`]); [`Persistent`] is the one face that programs
//! use.

pub(crate) mod backend;

use crate::communicator::Communicator;
use crate::error::{CommError, Failure};
use crate::message::Source;
use crate::payload::{Buffer, Payload};
use crate::tag::{Tag, TagSelector};

pub use backend::{Ends, PersistentMessages};

/// A set of messages on any backend.
pub struct Persistent<C: Communicator> {
    ends: Vec<Ends>,
    transport: Transport<C>,
}

enum Transport<C: Communicator> {
    Native(Box<dyn PersistentMessages>),
    Each(Vec<Pair<C>>, C, Tag),
}

/// The messages of one end, sent and received one by one.
struct Pair<C: Communicator> {
    out: Payload,
    into: Payload,
    sending: Option<C::Send>,
    receiving: Option<C::Receive>,
}

impl<C: Communicator> Persistent<C> {
    /// Makes a set. Collective: every rank of the communicator calls it, those without messages with no ends. Messages
    /// of two sets that are active at one time need different tags.
    ///
    /// With `phantom`, only lengths travel and there are no buffers.
    ///
    /// # Errors
    /// [`Failure::NoSuchRank`] for a peer outside the communicator, and for this rank itself.
    pub fn new(comm: &C, tag: Tag, ends: &[Ends], phantom: bool) -> Result<Persistent<C>, CommError> {
        if let Some(wrong) = ends.iter().find(|end| end.peer >= comm.size() || end.peer == comm.rank()) {
            return Err(Failure::NoSuchRank { rank: comm.rank(), peer: wrong.peer, last: comm.size() - 1 }.into());
        }
        let native = if phantom { None } else { comm.persistent(tag, ends).transpose()? };
        let transport = native.map_or_else(|| Transport::each(comm, tag, ends, phantom), Transport::Native);
        Ok(Persistent { ends: ends.to_vec(), transport })
    }

    /// As [`new`](Persistent::new), with a send and a receive of each message in each round whatever the backend has.
    pub fn of_requests(comm: &C, tag: Tag, ends: &[Ends], phantom: bool) -> Persistent<C> {
        Persistent { ends: ends.to_vec(), transport: Transport::each(comm, tag, ends, phantom) }
    }

    /// The ends, in order.
    pub fn ends(&self) -> &[Ends] {
        &self.ends
    }

    /// What the messages go by.
    pub fn describe(&self) -> String {
        match &self.transport {
            Transport::Native(native) => native.describe(),
            Transport::Each(..) => "a send and a receive each".to_owned(),
        }
    }

    /// Begins a round.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn start(&mut self) -> Result<(), CommError> {
        match &mut self.transport {
            Transport::Native(native) => native.start(),
            Transport::Each(pairs, comm, tag) => {
                for (pair, end) in pairs.iter_mut().zip(&self.ends) {
                    if end.receive_bytes > 0 {
                        let into = pair.into.take();
                        pair.receiving = Some(comm.irecv(Source::Rank(end.peer), TagSelector::Only(*tag), into));
                    }
                }
                Ok(())
            }
        }
    }

    /// Where the next message to an end is put together; `None` for a phantom.
    pub fn send_buffer(&mut self, end: usize) -> Option<&mut [u8]> {
        match &mut self.transport {
            Transport::Native(native) => Some(native.send_buffer(end)),
            Transport::Each(pairs, ..) => match &mut pairs[end].out {
                Payload::Data(buffer) => Some(buffer),
                Payload::Phantom(_) => None,
            },
        }
    }

    /// Sends what the buffer has; nothing where the end has no message to send.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn send(&mut self, end: usize) -> Result<(), CommError> {
        if self.ends[end].send_bytes == 0 {
            return Ok(());
        }
        match &mut self.transport {
            Transport::Native(native) => native.send(end),
            Transport::Each(pairs, comm, tag) => {
                let out = pairs[end].out.take();
                pairs[end].sending = Some(comm.isend(self.ends[end].peer, *tag, out));
                Ok(())
            }
        }
    }

    /// Waits for the message of an end, where it has one.
    ///
    /// # Errors
    /// Those of the backend.
    pub async fn wait(&mut self, end: usize) -> Result<(), CommError> {
        if self.ends[end].receive_bytes == 0 {
            return Ok(());
        }
        match &mut self.transport {
            Transport::Native(native) => native.wait(end),
            Transport::Each(pairs, ..) => {
                if let Some(receiving) = pairs[end].receiving.take() {
                    pairs[end].into = receiving.await?.payload;
                }
                Ok(())
            }
        }
    }

    /// The message that has been waited for; `None` for a phantom.
    pub fn receive_buffer(&self, end: usize) -> Option<&[u8]> {
        match &self.transport {
            Transport::Native(native) => Some(native.receive_buffer(end)),
            Transport::Each(pairs, ..) => match &pairs[end].into {
                Payload::Data(buffer) => Some(buffer),
                Payload::Phantom(_) => None,
            },
        }
    }

    /// Ends a round.
    ///
    /// # Errors
    /// Those of the backend.
    pub async fn finish(&mut self) -> Result<(), CommError> {
        match &mut self.transport {
            Transport::Native(native) => native.finish(),
            Transport::Each(pairs, ..) => {
                for pair in pairs {
                    if let Some(sending) = pair.sending.take() {
                        pair.out = sending.await?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl<C: Communicator> Transport<C> {
    fn each(comm: &C, tag: Tag, ends: &[Ends], phantom: bool) -> Transport<C> {
        let buffer = |bytes: usize| {
            if phantom { Payload::Phantom(bytes) } else { Payload::Data(Buffer::page_aligned(bytes)) }
        };
        let pair = |end: &Ends| Pair {
            out: buffer(end.send_bytes),
            into: buffer(end.receive_bytes),
            sending: None,
            receiving: None,
        };
        Transport::Each(ends.iter().map(pair).collect(), comm.clone(), tag)
    }
}
