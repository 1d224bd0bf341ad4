//! One rank's mailbox: what it has posted, what has come, and how it waits.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use slab::Slab;
use weft_comm::matching::{Envelope, MatchQueues};
use weft_comm::{CommError, Payload, Received, TagSelector};

use crate::fence::Fences;
use crate::fill::{Own, Sender, fill};
use crate::spsc::{SpscRing, Taken};
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, OnceLock, between_sequential_accesses};

/// A message that came before its receive.
pub enum Message {
    /// A short one, copied: its sender has gone on.
    Kept { world_rank: usize, payload: Payload },
    /// A long one: its sender waits until it is taken.
    Waiting { world_rank: usize, parcel: Arc<Parcel> },
}

impl Message {
    pub fn bytes(&self) -> usize {
        match self {
            Message::Kept { payload, .. } => payload.len(),
            Message::Waiting { parcel, .. } => parcel.bytes,
        }
    }
}

/// A long message between its sender and its receiver.
pub struct Parcel {
    pub bytes: usize,
    payload: Mutex<Option<Payload>>,
    taken: AtomicBool,
}

impl Parcel {
    pub fn of(payload: Payload) -> Parcel {
        Parcel { bytes: payload.len(), payload: Mutex::new(Some(payload)), taken: AtomicBool::new(false) }
    }

    /// Lets the receiver read the payload, and then gives it back to the sender.
    pub fn take<T>(&self, read: impl FnOnce(&Payload) -> T) -> T {
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
        let result = read(payload.as_ref().expect("a parcel is taken once"));
        drop(payload);
        self.taken.store(true, Ordering::Release);
        result
    }

    /// The payload, once the receiver has read it.
    pub fn give_back(&self) -> Option<Payload> {
        let taken = self.taken.load(Ordering::Acquire);
        taken.then(|| self.payload.lock().unwrap_or_else(PoisonError::into_inner).take()).flatten()
    }
}

/// A receive that was started.
pub enum Slot {
    /// Nothing has come yet.
    Posted { into: Payload, wanted: TagSelector },
    /// A sender copies into its buffer at this moment.
    Filling,
    /// Done, and not yet seen by the rank.
    Done(Result<Received, CommError>),
    /// The rank has dropped the request while it was filled.
    Dropped,
}

/// What the lock of a mailbox guards.
#[derive(Default)]
pub struct Contents {
    pub queues: MatchQueues<usize, Message>,
    pub slots: Slab<Slot>,
}

impl Contents {
    /// Takes in a message that was given away and has come by a ring.
    fn arrived(&mut self, envelope: Envelope, taken: Taken<'_>, world_rank: usize, receiver: usize, own: &Own) {
        let payload = match taken {
            Taken::Short(bytes) => Payload::Data(own.buffer_of(bytes)),
            Taken::Whole(payload) => payload,
        };
        if !self.queues.posted().any(|(pattern, _)| pattern.accepts(&envelope)) {
            return self.queues.keep(envelope, Message::Kept { world_rank, payload });
        }
        let nothing = Message::Kept { world_rank, payload: Payload::EMPTY };
        let (slot, _) = self.queues.deliver(envelope, nothing).expect("the receive was posted a moment ago");
        let Slot::Posted { into, wanted } = std::mem::replace(&mut self.slots[slot], Slot::Filling) else {
            unreachable!("a slot in the queue is posted")
        };
        let sender = Sender { rank: envelope.source(), world_rank, tag: envelope.tag() };
        self.slots[slot] = Slot::Done(fill(into, &payload, sender, receiver, wanted, &own.scratch));
    }
}

/// What a waiting rank looks at, apart from what is written when messages are taken.
#[repr(align(128))]
#[derive(Default)]
struct Bell {
    rings: AtomicU64,
    asleep: AtomicBool,
}

/// More ranks than these have no rings: a waiting rank looks at all of its own.
const MAX_SPSC_RINGS: usize = 16;

/// Where the messages of one rank come in: what has been matched or kept, under a lock, and rings of what was given
/// away.
///
/// Whoever changes something its rank may wait for calls [`ring`](Mailbox::ring) afterwards; the bell's count and the
/// rings are what a waiting rank looks at.
#[repr(align(128))]
pub struct Mailbox {
    contents: Mutex<Contents>,
    wake: Condvar,
    bell: Bell,
    /// By the sender's rank in the run, made when it first gives something away.
    spsc_rings: Box<[OnceLock<SpscRing>]>,
    fences: Fences,
}

impl Mailbox {
    pub fn new(ranks: usize, fences: Fences) -> Mailbox {
        let spsc_rings = if ranks <= MAX_SPSC_RINGS { ranks } else { 0 };
        Mailbox {
            contents: Mutex::default(),
            wake: Condvar::new(),
            bell: Bell::default(),
            spsc_rings: (0..spsc_rings).map(|_| OnceLock::new()).collect(),
            fences,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contents for `receiver`, whose mailbox this is: all that has come by rings is among them.
    pub fn open(&self, receiver: usize, own: &Own) -> MutexGuard<'_, Contents> {
        let mut contents = self.lock();
        for (sender, ring) in self.spsc_rings.iter().enumerate() {
            if let Some(ring) = ring.get() {
                empty(ring, &mut contents, sender, receiver, own);
            }
        }
        contents
    }

    /// The contents for `sender`: what it gave away before is among them, so that nothing overtakes it.
    pub fn open_for(&self, sender: usize, receiver: usize, own: &Own) -> MutexGuard<'_, Contents> {
        let mut contents = self.lock();
        if let Some(ring) = self.spsc_rings.get(sender).and_then(OnceLock::get) {
            empty(ring, &mut contents, sender, receiver, own);
        }
        contents
    }

    /// Leaves a message in the ring of `sender`, and gives its payload back where the ring has copied it. `Err` where
    /// there is no ring, or no room in it.
    ///
    /// # Safety
    /// Called by the thread of rank `sender` of the run only.
    pub unsafe fn push(&self, sender: usize, envelope: Envelope, payload: Payload) -> Result<Option<Payload>, Payload> {
        let Some(ring) = self.spsc_rings.get(sender) else { return Err(payload) };
        // SAFETY: only the thread of rank `sender` calls this (this function's condition), and no other rank's messages
        // go by this ring, so that it has one writer.
        let left = unsafe { ring.get_or_init(SpscRing::new).push(envelope, payload)? };
        // As for `Mailbox::ring`; what it waits for is the message.
        self.fences.light();
        if self.bell.asleep.load(Ordering::SeqCst) {
            self.rouse();
        }
        Ok(left)
    }

    /// Whether something has come by a ring that nobody has taken in yet.
    #[inline]
    pub fn has_arrivals(&self) -> bool {
        self.spsc_rings.iter().any(|ring| ring.get().is_some_and(SpscRing::has_message))
    }

    /// Whether something has changed since the bell had rung so often.
    pub fn has_changed(&self, seen: u64) -> bool {
        self.rings() != seen || self.has_arrivals()
    }

    #[cold]
    fn rouse(&self) {
        drop(self.lock());
        self.wake.notify_one();
    }

    /// How often the bell has rung.
    pub fn rings(&self) -> u64 {
        self.bell.rings.load(Ordering::SeqCst)
    }

    /// Tells the rank that something it may wait for has changed.
    pub fn ring(&self) {
        self.bell.rings.fetch_add(1, Ordering::SeqCst);
        between_sequential_accesses();
        // The rank announces its sleep before it looks at the bell for the last time, and holds the lock from then
        // until it sleeps: either it sees this ring, or it is seen asleep here and is woken.
        if self.bell.asleep.load(Ordering::SeqCst) {
            self.rouse();
        }
    }

    /// Waits for the bell to ring again or for something to come by a ring, awake, at most for `patience`; whether it
    /// did.
    ///
    /// After some looks the processor is offered to others between them: the rank that will ring may be waiting for it.
    pub fn spin(&self, seen: u64, patience: Duration) -> bool {
        const LOOKS: u32 = 256;
        if patience.is_zero() {
            return self.has_changed(seen);
        }
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.has_changed(seen) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() > patience {
                return false;
            }
            std::thread::yield_now();
        }
    }

    /// Sleeps until the bell has rung more than `seen` times, or something has come by a ring.
    pub fn sleep(&self, seen: u64) {
        let mut contents = self.lock();
        self.bell.asleep.store(true, Ordering::SeqCst);
        self.fences.heavy();
        while !self.has_changed(seen) {
            contents = self.wake.wait(contents).unwrap_or_else(PoisonError::into_inner);
        }
        self.bell.asleep.store(false, Ordering::SeqCst);
    }
}

/// Takes in what has come by a ring.
fn empty(ring: &SpscRing, contents: &mut Contents, sender: usize, receiver: usize, own: &Own) {
    // SAFETY: whoever does this holds the lock that guards the contents.
    while let Some(()) = unsafe { ring.pop(|envelope, taken| contents.arrived(envelope, taken, sender, receiver, own)) }
    {
    }
}
