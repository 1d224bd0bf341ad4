//! One rank's mailbox: what it has posted, what has come, and how it waits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use slab::Slab;
use weft_comm::matching::MatchQueues;
use weft_comm::{CommError, Payload, Received, TagSelector};

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

/// Where the messages of one rank come in.
///
/// Whoever changes something its rank may wait for calls [`ring`](Mailbox::ring) afterwards; the bell's count is what
/// a waiting rank looks at.
#[repr(align(128))]
#[derive(Default)]
pub struct Mailbox {
    contents: Mutex<Contents>,
    bell: AtomicU64,
    asleep: AtomicBool,
    wake: Condvar,
}

impl Mailbox {
    pub fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the bell has rung.
    pub fn rings(&self) -> u64 {
        self.bell.load(Ordering::SeqCst)
    }

    /// Tells the rank that something it may wait for has changed.
    pub fn ring(&self) {
        self.bell.fetch_add(1, Ordering::SeqCst);
        // The rank announces its sleep before it looks at the bell for the last time, and holds the lock from then
        // until it sleeps: either it sees this ring, or it is seen asleep here and is woken.
        if self.asleep.load(Ordering::SeqCst) {
            drop(self.lock());
            self.wake.notify_one();
        }
    }

    /// Waits for the bell to ring again, awake, at most for `patience`; whether it did.
    ///
    /// After some looks the processor is offered to others between them: the rank that will ring may be waiting for it.
    pub fn spin(&self, seen: u64, patience: Duration) -> bool {
        const LOOKS: u32 = 256;
        if patience.is_zero() {
            return self.rings() != seen;
        }
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if self.bell.load(Ordering::Acquire) != seen {
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

    /// Sleeps until the bell has rung more than `seen` times.
    pub fn sleep(&self, seen: u64) {
        let mut contents = self.lock();
        self.asleep.store(true, Ordering::SeqCst);
        while self.rings() == seen {
            contents = self.wake.wait(contents).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}
