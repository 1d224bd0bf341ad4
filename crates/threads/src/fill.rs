//! What a received message is made of: the one copy.

use std::cell::RefCell;

use weft_comm::{Buffer, CommError, Failure, Payload, Received, Status, Tag, TagSelector};

/// A message that is copied: who sent it, and as what.
#[derive(Clone, Copy)]
pub struct Sender {
    /// Rank within the communicator.
    pub rank: usize,
    /// Rank within the run.
    pub world_rank: usize,
    pub tag: Tag,
}

/// Copies phantoms: bytes of no meaning, so that their time is real.
#[derive(Default)]
pub struct Scratch(RefCell<Option<Buffer>>);

impl Scratch {
    /// Bytes copied at once; what is longer goes around.
    const HALF: usize = 256 * 1024;

    fn copy(&self, mut bytes: usize) {
        let mut scratch = self.0.borrow_mut();
        let buffer = scratch.get_or_insert_with(|| Buffer::zeroed(2 * Scratch::HALF));
        let (from, to) = buffer.split_at_mut(Scratch::HALF);
        while bytes > 0 {
            let now = bytes.min(Scratch::HALF);
            to[..now].copy_from_slice(&from[..now]);
            std::hint::black_box(&mut *to);
            bytes -= now;
        }
    }
}

/// Memory of a rank's own.
#[derive(Default)]
pub struct Own {
    pub scratch: Scratch,
    /// Buffers of short messages that were given away, for others that come.
    buffers: RefCell<Vec<Buffer>>,
}

impl Own {
    /// Buffers kept at most.
    const KEPT: usize = 32;

    /// A buffer with a copy of these bytes.
    pub fn buffer_of(&self, bytes: &[u8]) -> Buffer {
        let Some(mut buffer) = self.buffers.borrow_mut().pop() else { return Buffer::of(bytes) };
        buffer.refill(bytes);
        buffer
    }

    /// Takes the memory of a payload whose bytes are elsewhere now.
    pub fn keep(&self, payload: Payload) {
        let mut buffers = self.buffers.borrow_mut();
        if let Payload::Data(buffer) = payload
            && buffers.len() < Own::KEPT
        {
            buffers.push(buffer);
        }
    }
}

/// The result of a receive of `receiver` (a rank of the run), which asked for `wanted`, `into` a buffer.
pub fn fill(
    into: Payload,
    sent: &Payload,
    sender: Sender,
    receiver: usize,
    wanted: TagSelector,
    scratch: &Scratch,
) -> Result<Received, CommError> {
    if let Some(mismatch) = mismatch(wanted, sender, receiver) {
        return Err(mismatch);
    }
    if sent.len() > into.len() {
        return Err(Failure::Truncated {
            rank: receiver,
            source_rank: sender.world_rank,
            tag: sender.tag,
            sent: sent.len(),
            capacity: into.len(),
        }
        .into());
    }
    let payload = match (into, sent) {
        (Payload::Data(mut buffer), Payload::Data(sent)) => {
            buffer.truncate(sent.len());
            buffer.copy_from_slice(sent);
            Payload::Data(buffer)
        }
        (Payload::Phantom(_), Payload::Data(sent)) => Payload::Data(sent.clone()),
        (_, Payload::Phantom(bytes)) => {
            scratch.copy(*bytes);
            Payload::Phantom(*bytes)
        }
    };
    Ok(Received { payload, status: Status { source: sender.rank, tag: sender.tag, bytes: sent.len() } })
}

fn mismatch(wanted: TagSelector, sender: Sender, receiver: usize) -> Option<CommError> {
    match (wanted, sender.tag) {
        (TagSelector::Only(Tag::Collective { kind: here, .. }), Tag::Collective { kind: there, sequence })
            if here != there =>
        {
            Some(
                Failure::MismatchedCollective { rank: receiver, here, other: sender.world_rank, there, sequence }
                    .into(),
            )
        }
        _ => None,
    }
}
