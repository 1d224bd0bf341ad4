//! What this rank is doing, kept where another thread can see it.
//!
//! Every call that may block writes a few words before it and one after it: plain stores by the one thread that
//! communicates, a nanosecond or two. The watchdog reads them when it wakes. The counter is odd while a call is under
//! way, so that it is also the version of a sequence lock over the other words.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use weft_comm::{Blocked, Call, CollectiveKind, Source, Tag, TagSelector};

/// The place where a rank keeps its current call.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Activity {
    counter: AtomicU64,
    /// Kind of call (high half) and peer (low half).
    call: AtomicU64,
    tag: AtomicU64,
    bytes: AtomicU64,
    collective: AtomicU64,
    /// Bytes of sends that were started and not awaited yet.
    outstanding: AtomicU64,
}

/// A blocking call, small enough to be written before every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    call: u64,
    tag: u64,
    bytes: u64,
}

const SEND: u64 = 1 << 32;
const RECEIVE: u64 = 2 << 32;
const PROBE: u64 = 3 << 32;
const NATIVE: u64 = 4 << 32;
const IDLE: u64 = 5 << 32;
const ANY_SOURCE: u64 = u32::MAX as u64;

const ANY_TAG: u64 = 0;
const USER: u64 = 1 << 40;
const COLLECTIVE: u64 = 2 << 40;

impl Mark {
    /// The rank has left its program and waits for the others to do so.
    pub const IDLE: Mark = Mark { call: IDLE, tag: 0, bytes: 0 };

    #[inline]
    pub fn send(to: usize, tag: Tag, bytes: usize) -> Mark {
        Mark { call: SEND | to as u64, tag: tag_word(tag), bytes: bytes as u64 }
    }

    #[inline]
    pub fn receive(from: Source, tag: TagSelector) -> Mark {
        Mark { call: RECEIVE | source_word(from), tag: selector_word(tag), bytes: 0 }
    }

    #[inline]
    pub fn probe(from: Source, tag: TagSelector) -> Mark {
        Mark { call: PROBE | source_word(from), tag: selector_word(tag), bytes: 0 }
    }

    /// A collective of the library that moves `bytes` bytes out of or into this rank.
    #[inline]
    pub fn native(kind: CollectiveKind, bytes: usize) -> Mark {
        Mark { call: NATIVE | kind as u64, tag: 0, bytes: bytes as u64 }
    }

    /// The call as errors show it; `None` for [`Mark::IDLE`].
    fn call(self) -> Option<Call> {
        let low = self.call & 0xffff_ffff;
        let from = if low == ANY_SOURCE { Source::Any } else { Source::Rank(low as usize) };
        match self.call - low {
            SEND => {
                let TagSelector::Only(tag) = selector_of(self.tag) else { return Some(Call::Unknown) };
                Some(Call::Send { to: low as usize, tag, bytes: self.bytes as usize })
            }
            RECEIVE => Some(Call::Receive { from, tag: selector_of(self.tag) }),
            PROBE => Some(Call::Probe { from, tag: selector_of(self.tag) }),
            NATIVE => Some(Call::Native { kind: kind_of(low) }),
            IDLE => None,
            _ => Some(Call::Unknown),
        }
    }
}

#[inline]
fn source_word(from: Source) -> u64 {
    match from {
        Source::Rank(rank) => rank as u64 & ANY_SOURCE,
        Source::Any => ANY_SOURCE,
    }
}

#[inline]
fn tag_word(tag: Tag) -> u64 {
    match tag {
        Tag::User(tag) => USER | u64::from(tag),
        Tag::Collective { kind, sequence } => collective_word(kind, sequence),
    }
}

#[inline]
fn selector_word(tag: TagSelector) -> u64 {
    match tag {
        TagSelector::Only(tag) => tag_word(tag),
        TagSelector::AnyUser => ANY_TAG,
    }
}

#[inline]
fn collective_word(kind: CollectiveKind, sequence: u32) -> u64 {
    COLLECTIVE | (kind as u64) << 32 | u64::from(sequence)
}

fn kind_of(code: u64) -> CollectiveKind {
    CollectiveKind::ALL[(code & 0xff) as usize % CollectiveKind::ALL.len()]
}

fn collective_of(word: u64) -> Option<(CollectiveKind, u32)> {
    (word & COLLECTIVE != 0).then(|| (kind_of(word >> 32), word as u32))
}

fn selector_of(word: u64) -> TagSelector {
    match collective_of(word) {
        Some((kind, sequence)) => Tag::Collective { kind, sequence }.into(),
        None if word & USER != 0 => Tag::User(word as u32).into(),
        None => TagSelector::AnyUser,
    }
}

/// What a rank was doing when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Changes whenever a call begins or ends.
    pub counter: u64,
    pub doing: Doing,
}

/// The kinds of things a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Computing, or between two calls.
    Running,
    /// Within a call that may block.
    Calling {
        call: Call,
        collective: Option<(CollectiveKind, u32)>,
        /// Bytes that this rank may be sending.
        moving_bytes: u64,
    },
    /// The program has ended; waiting for the other ranks to end theirs.
    Idle,
}

impl Doing {
    /// The blocked rank for errors.
    pub fn blocked(self, rank: usize) -> Option<Blocked> {
        match self {
            Doing::Calling { call, collective, .. } => Some(Blocked { rank, call, collective }),
            Doing::Running | Doing::Idle => None,
        }
    }
}

impl Activity {
    /// Before a call that may block. Only the thread that communicates calls this.
    #[inline]
    pub fn enter(&self, mark: Mark) {
        fence(Ordering::Release);
        self.call.store(mark.call, Ordering::Relaxed);
        self.tag.store(mark.tag, Ordering::Relaxed);
        self.bytes.store(mark.bytes, Ordering::Relaxed);
        self.advance();
    }

    /// After it.
    #[inline]
    pub fn leave(&self) {
        self.advance();
    }

    #[inline]
    fn advance(&self) {
        self.counter.store(self.counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Sets the collective that the next calls are a part of and returns the word of the one before, for
    /// [`Activity::restore_collective`].
    pub fn set_collective(&self, kind: CollectiveKind, sequence: u32) -> u64 {
        let before = self.collective.load(Ordering::Relaxed);
        self.collective.store(collective_word(kind, sequence), Ordering::Relaxed);
        before
    }

    /// Goes back to the collective before.
    pub fn restore_collective(&self, word: u64) {
        self.collective.store(word, Ordering::Relaxed);
    }

    /// A send of this many bytes was started.
    pub fn started(&self, bytes: usize) {
        let total = self.outstanding.load(Ordering::Relaxed).wrapping_add(bytes as u64);
        self.outstanding.store(total, Ordering::Relaxed);
    }

    /// It is complete.
    pub fn completed(&self, bytes: usize) {
        let total = self.outstanding.load(Ordering::Relaxed).wrapping_sub(bytes as u64);
        self.outstanding.store(total, Ordering::Relaxed);
    }

    /// What the rank is doing now; any thread may ask.
    pub fn snapshot(&self) -> Snapshot {
        loop {
            let counter = self.counter.load(Ordering::Acquire);
            if counter.is_multiple_of(2) {
                return Snapshot { counter, doing: Doing::Running };
            }
            let mark = Mark {
                call: self.call.load(Ordering::Relaxed),
                tag: self.tag.load(Ordering::Relaxed),
                bytes: self.bytes.load(Ordering::Relaxed),
            };
            let collective = collective_of(self.collective.load(Ordering::Relaxed));
            let outstanding = self.outstanding.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if self.counter.load(Ordering::Relaxed) != counter {
                continue;
            }
            let moving_bytes = mark.bytes.saturating_add(outstanding);
            let doing = mark.call().map_or(Doing::Idle, |call| Doing::Calling { call, collective, moving_bytes });
            return Snapshot { counter, doing };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tags() -> impl Strategy<Value = Tag> {
        prop_oneof![
            (0..=Tag::MAX_USER).prop_map(Tag::User),
            (0..CollectiveKind::ALL.len(), any::<u32>())
                .prop_map(|(kind, sequence)| Tag::Collective { kind: CollectiveKind::ALL[kind], sequence }),
        ]
    }

    fn selectors() -> impl Strategy<Value = TagSelector> {
        prop_oneof![tags().prop_map(TagSelector::Only), Just(TagSelector::AnyUser)]
    }

    fn sources() -> impl Strategy<Value = Source> {
        prop_oneof![(0usize..1 << 31).prop_map(Source::Rank), Just(Source::Any)]
    }

    fn seen(mark: Mark) -> Option<Call> {
        let activity = Activity::default();
        activity.enter(mark);
        activity.snapshot().doing.blocked(3).map(|blocked| blocked.call)
    }

    proptest! {
        #[test]
        fn every_call_is_seen_as_it_was_written(
            to in 0usize..1 << 31, bytes in 0usize..1 << 40, tag in tags(), selector in selectors(), from in sources(),
        ) {
            prop_assert_eq!(seen(Mark::send(to, tag, bytes)), Some(Call::Send { to, tag, bytes }));
            prop_assert_eq!(seen(Mark::receive(from, selector)), Some(Call::Receive { from, tag: selector }));
            prop_assert_eq!(seen(Mark::probe(from, selector)), Some(Call::Probe { from, tag: selector }));
        }
    }

    #[test]
    fn a_rank_between_calls_is_running_and_its_counter_moves() {
        let activity = Activity::default();
        let before = activity.snapshot();
        activity.enter(Mark::native(CollectiveKind::Scan, 8));
        let during = activity.snapshot();
        activity.leave();
        let after = activity.snapshot();
        assert_eq!((before.doing, after.doing), (Doing::Running, Doing::Running));
        assert_eq!(during.doing.blocked(0).unwrap().call, Call::Native { kind: CollectiveKind::Scan });
        assert!(before.counter < during.counter && during.counter < after.counter);
    }

    #[test]
    fn collectives_nest_and_started_sends_count() {
        let activity = Activity::default();
        let outer = activity.set_collective(CollectiveKind::Allreduce, 4);
        let inner = activity.set_collective(CollectiveKind::Broadcast, 5);
        activity.started(100);
        activity.enter(Mark::receive(Source::Rank(1), TagSelector::AnyUser));
        let Doing::Calling { collective, moving_bytes, .. } = activity.snapshot().doing else { panic!() };
        assert_eq!((collective, moving_bytes), (Some((CollectiveKind::Broadcast, 5)), 100));
        activity.completed(100);
        activity.restore_collective(inner);
        let Doing::Calling { collective, moving_bytes, .. } = activity.snapshot().doing else { panic!() };
        assert_eq!((collective, moving_bytes), (Some((CollectiveKind::Allreduce, 4)), 0));
        activity.restore_collective(outer);
        activity.leave();
        activity.enter(Mark::IDLE);
        assert_eq!(activity.snapshot().doing, Doing::Idle);
    }
}
