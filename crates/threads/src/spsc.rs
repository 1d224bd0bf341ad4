//! Messages that are given away, from one rank to another without a lock: a ring of slots with one writer and one reader.
//!
//! A slot holds a short message itself, in the cache lines that say that it is there: such a message moves between processors
//! once, and neither side waits for the other. The reader looks at the slot that is next, and writes nothing there; how far it
//! has come it says in a line of its own, at which the writer looks only where the ring seems full.
//!
//! The writer is the thread of the sending rank, the reader whoever holds the lock of the receiving rank's mailbox.

use std::sync::atomic::Ordering;

use weft_comm::Payload;
use weft_comm::matching::Envelope;

use crate::sync::{AtomicU64, SharedCell};

/// Slots of a ring; so few for the model checker that it sees them used again.
const SLOTS: usize = if cfg!(all(loom, test)) { 2 } else { 32 };
/// Longest message that a slot holds itself.
pub const SHORT: usize = 56;
/// The memory of larger buffers goes with a message however short it is: it came with a long one, and is wanted where those
/// are sent.
const LARGE: usize = 1024;
/// The length of a message whose payload moves as it is.
const WHOLE: usize = usize::MAX;

/// What a slot holds, in this order: a short message is in the cache line of its number as far as it fits.
#[repr(C)]
struct Content {
    envelope: Envelope,
    length: usize,
    bytes: [u8; SHORT],
    whole: Option<Payload>,
}

#[repr(C, align(128))]
struct Slot {
    /// The number of the message in it, from 1; 0 before the first.
    number: AtomicU64,
    content: SharedCell<Content>,
}

/// A number in cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// What the writer knows: read and written by its thread only.
#[derive(Default)]
struct Writer {
    /// Messages written.
    written: AtomicU64,
    /// Messages that it knows to have been read.
    read: AtomicU64,
}

/// A ring of slots from one rank to another.
pub struct SpscRing {
    writer: Apart<Writer>,
    /// Messages read.
    read: Apart<AtomicU64>,
    slots: Box<[Slot]>,
}

// SAFETY: the content of a slot is written by the writer before its number says so, and read before `read` says that it may be
// written again; writers and readers are one each, see `push` and `pop`.
unsafe impl Sync for SpscRing {}

/// What a slot gave.
pub enum Taken<'a> {
    /// A short message, in the slot.
    Short(&'a [u8]),
    /// A payload as it was given away.
    Whole(Payload),
}

impl SpscRing {
    pub fn new() -> SpscRing {
        let slot = |_| {
            let envelope = Envelope::new(0, 0, weft_comm::Tag::User(0));
            let content = Content { envelope, length: 0, bytes: [0; SHORT], whole: None };
            Slot { number: AtomicU64::new(0), content: SharedCell::new(content) }
        };
        SpscRing { writer: Apart::default(), read: Apart::default(), slots: (0..SLOTS).map(slot).collect() }
    }

    /// Writes a message: its bytes where it is short, and gives the payload back then. `Err` where there is no room.
    ///
    /// # Safety
    /// Only one thread ever calls this.
    pub unsafe fn push(&self, envelope: Envelope, payload: Payload) -> Result<Option<Payload>, Payload> {
        let writer = &self.writer.0;
        let written = writer.written.load(Ordering::Relaxed);
        if written - writer.read.load(Ordering::Relaxed) == SLOTS as u64 {
            // Acquire: what the reader did with the slot is done.
            let read = self.read.0.load(Ordering::Acquire);
            writer.read.store(read, Ordering::Relaxed);
            if written - read == SLOTS as u64 {
                return Err(payload);
            }
        }
        let slot = &self.slots[written as usize % SLOTS];
        let left = slot.content.with_mut(|content| {
            // SAFETY: `read` has said that the slot's message, if it had one, has been read, so that the reader looks at its
            // number only, and this is the one writer (this function's condition).
            let content = unsafe { &mut *content };
            content.envelope = envelope;
            match payload {
                Payload::Data(buffer) if buffer.len() <= SHORT && buffer.capacity() <= LARGE => {
                    content.length = buffer.len();
                    content.bytes[..buffer.len()].copy_from_slice(&buffer);
                    Some(Payload::Data(buffer))
                }
                payload => {
                    content.length = WHOLE;
                    content.whole = Some(payload);
                    None
                }
            }
        });
        writer.written.store(written + 1, Ordering::Relaxed);
        // Release: whoever sees the number sees the content.
        slot.number.store(written + 1, Ordering::Release);
        Ok(left)
    }

    /// Whether there is a message. Any thread may ask; what it sees may be over when it acts.
    #[inline]
    pub fn has_message(&self) -> bool {
        let read = self.read.0.load(Ordering::Acquire);
        self.slots[read as usize % SLOTS].number.load(Ordering::Acquire) == read + 1
    }

    /// Takes the next message, if there is one.
    ///
    /// # Safety
    /// Never called by two threads at once, and a thread that calls this after another one has synchronised with it.
    pub unsafe fn pop<T>(&self, take: impl FnOnce(Envelope, Taken<'_>) -> T) -> Option<T> {
        let read = self.read.0.load(Ordering::Relaxed);
        let slot = &self.slots[read as usize % SLOTS];
        if slot.number.load(Ordering::Acquire) != read + 1 {
            return None;
        }
        let result = slot.content.with_mut(|content| {
            // SAFETY: the number says that the writer has written the slot, which it does again only after `read` has gone
            // on; there is no other reader meanwhile (this function's condition).
            let content = unsafe { &mut *content };
            let taken = match content.length {
                WHOLE => Taken::Whole(content.whole.take().expect("written before its length")),
                length => Taken::Short(&content.bytes[..length]),
            };
            take(content.envelope, taken)
        });
        // Release: the slot may be written again.
        self.read.0.store(read + 1, Ordering::Release);
        Some(result)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use weft_comm::Tag;

    fn content(number: usize) -> Vec<u8> {
        let length = [0, 1, 7, SHORT - 1, SHORT, SHORT + 1, 500][number % 7];
        (0..length).map(|index| (number * 31 + index * 7) as u8).collect()
    }

    fn popped(ring: &SpscRing) -> Option<(Tag, Vec<u8>)> {
        let taken = |envelope: Envelope, taken: Taken<'_>| {
            let bytes = match taken {
                Taken::Short(bytes) => bytes.to_vec(),
                Taken::Whole(payload) => payload.values::<u8>().expect("data").to_vec(),
            };
            (envelope.tag(), bytes)
        };
        // SAFETY: one thread reads.
        unsafe { ring.pop(taken) }
    }

    #[test]
    fn a_full_lane_says_so_and_keeps_what_it_has() {
        let ring = SpscRing::new();
        let push = |number: usize| {
            let envelope = Envelope::new(0, 0, Tag::User(number as u32));
            // SAFETY: one thread writes.
            unsafe { ring.push(envelope, Payload::of(&content(number))) }
        };
        for round in 0..3 {
            let first = round * SLOTS;
            for number in first..first + SLOTS {
                let back = push(number).expect("there is room");
                assert_eq!(back.is_some(), content(number).len() <= SHORT);
            }
            assert_eq!(push(1_000_000).unwrap_err(), Payload::of(&content(1_000_000)));
            for number in first..first + SLOTS {
                assert!(ring.has_message());
                assert_eq!(popped(&ring), Some((Tag::User(number as u32), content(number))));
            }
            assert!(!ring.has_message());
            assert_eq!(popped(&ring), None);
        }
        assert_eq!(push(5).map(|_| ()), Ok(()));
    }

    /// What is left in a ring is dropped with it, what was taken is not: a checker of memory would say so.
    #[test]
    fn one_thread_writes_and_another_reads_every_message_once_and_in_order() {
        const MESSAGES: usize = 50_000;
        let ring = SpscRing::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..MESSAGES {
                    let envelope = Envelope::new(3, number % 5, Tag::User(number as u32 % 1000));
                    let mut payload = Payload::of(&content(number));
                    // SAFETY: only this thread writes.
                    while let Err(back) = unsafe { ring.push(envelope, payload) } {
                        payload = back;
                        std::thread::yield_now();
                    }
                }
            });
            for number in 0..MESSAGES {
                let message = loop {
                    match popped(&ring) {
                        Some(message) => break message,
                        None => std::thread::yield_now(),
                    }
                };
                assert_eq!(message, (Tag::User(number as u32 % 1000), content(number)));
            }
            assert_eq!(popped(&ring), None);
        });
    }
}
