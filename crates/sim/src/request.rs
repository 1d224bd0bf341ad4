//! What is known of messages and requests while they are under way.

use weft_base::Picos;
use weft_comm::matching::{Envelope, Pattern};
use weft_comm::{Buffer, Payload, Tag};
use weft_machine::{Completion, Vertex};

use crate::costs::MessageCost;

/// Keys into the core's slabs.
pub(crate) type MessageKey = u32;
pub(crate) type ReceiveKey = u32;
pub(crate) type SendKey = u32;

/// A key that may be missing, in four bytes: millions of messages are kept small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeKey(u32);

impl MaybeKey {
    pub const NONE: MaybeKey = MaybeKey(u32::MAX);

    #[inline]
    pub fn get(self) -> Option<u32> {
        (self.0 != u32::MAX).then_some(self.0)
    }

    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        std::mem::replace(self, MaybeKey::NONE).get()
    }
}

impl From<u32> for MaybeKey {
    #[inline]
    fn from(key: u32) -> MaybeKey {
        MaybeKey(key)
    }
}

impl From<Option<u32>> for MaybeKey {
    #[inline]
    fn from(key: Option<u32>) -> MaybeKey {
        key.map_or(MaybeKey::NONE, MaybeKey)
    }
}

/// A time that may not be known yet, in eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeTime(Picos);

impl MaybeTime {
    pub const NONE: MaybeTime = MaybeTime(Picos::MAX);

    #[inline]
    pub fn get(self) -> Option<Picos> {
        (self.0 != Picos::MAX).then_some(self.0)
    }
}

impl From<Picos> for MaybeTime {
    #[inline]
    fn from(time: Picos) -> MaybeTime {
        MaybeTime(time)
    }
}

/// A message from the moment it is sent until its receive is awaited.
#[derive(Debug)]
pub(crate) struct Message {
    pub envelope: Envelope,
    /// Ranks of the whole run.
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    /// The bytes, unless they are a phantom's; boxed, because most simulated messages are phantoms.
    pub data: Option<Box<Buffer>>,
    /// Processor time of the receiver.
    pub receive_time: Picos,
    pub completion: Completion,
    /// The request of its send, when that is not complete yet.
    pub send: MaybeKey,
    /// The receive it was matched with.
    pub receive: MaybeKey,
    /// When the receiver's node knows of it.
    pub visible: MaybeTime,
    /// When it is whole at the receiver's node.
    pub arrived: MaybeTime,
    /// Packets that are not yet at the receiver's node.
    pub packets_left: u32,
}

/// A receive and the message it got.
#[derive(Debug)]
pub(crate) struct Taken {
    pub pattern: Pattern,
    pub capacity: u64,
    pub envelope: Envelope,
    pub bytes: u64,
    pub data: Option<Box<Buffer>>,
}

impl Taken {
    /// What the receive gives its program.
    pub fn payload(self) -> Payload {
        match self.data {
            Some(data) => Payload::Data(*data),
            None => Payload::Phantom(self.bytes as usize),
        }
    }
}

/// A receive that is posted or whose message is on its way.
#[derive(Debug)]
pub(crate) struct Receive {
    /// Rank of the whole run.
    pub rank: u32,
    pub pattern: Pattern,
    pub capacity: u64,
    pub posted: Picos,
    /// Its message and when it could have it, once both are known.
    pub complete: Option<(MessageKey, Picos)>,
    /// The program waits for it.
    pub awaited: bool,
    /// The program has dropped it.
    pub dropped: bool,
}

/// A send that does not complete at once.
#[derive(Debug)]
pub(crate) struct Send {
    pub rank: u32,
    /// Rank within the communicator, for messages to people.
    pub to: u32,
    pub tag: Tag,
    pub bytes: u64,
    pub complete: Option<Picos>,
    pub awaited: bool,
    pub dropped: bool,
}

/// A packet on its way over a store-and-forward network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub message: MessageKey,
    /// Its number within the message.
    pub index: u32,
    /// The node or switch that has it whole.
    pub at: Vertex,
    pub cost: MessageCost,
    /// Bytes on the wire.
    pub bytes: u64,
}
