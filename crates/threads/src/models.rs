//! Lanes, mailboxes and fences under loom, which runs a model in every order that the memory model of C++ allows: no read
//! of a slot while it is written, no message lost, overtaken or read twice, no rank asleep that somebody has called.
//!
//! `scripts/loom.sh` runs them. Under loom a ring has two slots, so that they are used again within few messages.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;
use weft_comm::matching::Envelope;
use weft_comm::{Blocked, Call, Payload, RunError, Source, Tag};

use crate::fence::Fences;
use crate::fill::Own;
use crate::mailbox::{Mailbox, Message};
use crate::spsc::{SHORT, SpscRing, Taken};
use crate::sync::Mutex;
use crate::watch::Watch;

/// The rank that sends and the rank whose mailbox it is.
const SENDER: usize = 1;
const RECEIVER: usize = 0;

fn envelope(number: u32) -> Envelope {
    Envelope::new(0, SENDER, Tag::User(number))
}

/// Messages that a slot holds and messages that move as they are, by turns.
fn payload(number: u32) -> Payload {
    let length = if number.is_multiple_of(2) { 3 } else { SHORT + 1 };
    Payload::of(&vec![number as u8; length])
}

/// What a message is, as its receiver sees it.
fn seen(envelope: &Envelope, payload: &Payload) -> u32 {
    let Tag::User(number) = envelope.tag() else { panic!("a tag of these tests") };
    assert_eq!(payload, &self::payload(number));
    number
}

/// The numbers of the messages that have come, in the order in which they came.
fn arrived(mailbox: &Mailbox, own: &Own) -> Vec<u32> {
    let contents = mailbox.open(RECEIVER, own);
    let messages = contents.queues.unexpected().map(|(envelope, message)| match message {
        Message::Kept { payload, .. } => seen(envelope, payload),
        Message::Waiting { .. } => panic!("these tests send no long messages"),
    });
    messages.collect()
}

/// Waits as `Backend::wait` does, without looking around first, until so many messages have come.
fn wait_for(mailbox: &Mailbox, count: usize) -> Vec<u32> {
    let own = Own::default();
    loop {
        let rings = mailbox.rings();
        let numbers = arrived(mailbox, &own);
        if numbers.len() >= count {
            return numbers;
        }
        mailbox.sleep(rings);
    }
}

/// Gives a message away: by the ring, or into the mailbox where the ring is full.
fn give(mailbox: &Mailbox, own: &Own, number: u32) {
    // SAFETY: only the one thread that sends in a model calls this.
    let Err(payload) = (unsafe { mailbox.push(SENDER, envelope(number), payload(number)) }) else { return };
    keep(mailbox, own, number, payload);
}

/// Leaves a message in the mailbox under its lock.
fn keep(mailbox: &Mailbox, own: &Own, number: u32, payload: Payload) {
    let mut contents = mailbox.open_for(SENDER, RECEIVER, own);
    contents.queues.keep(envelope(number), Message::Kept { world_rank: SENDER, payload });
    drop(contents);
    mailbox.ring();
}

/// A mailbox that one thread waits at, while another does `send`.
fn one_sends(fences: fn() -> Fences, count: usize, send: fn(&Mailbox, &Own)) {
    let mailbox = Arc::new(Mailbox::new(2, fences()));
    let sender = {
        let mailbox = Arc::clone(&mailbox);
        thread::spawn(move || send(&mailbox, &Own::default()))
    };
    let numbers = wait_for(&mailbox, count);
    sender.join().expect("the sender ends");
    assert!(numbers.iter().copied().eq(0..count as u32), "{numbers:?}");
}

#[test]
fn messages_of_a_ring_come_whole_once_and_in_order() {
    const MESSAGES: u32 = 4;
    loom::model(|| {
        let ring = Arc::new(SpscRing::new());
        let writer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for number in 0..MESSAGES {
                    let mut payload = payload(number);
                    // SAFETY: this thread is the only one that writes.
                    while let Err(back) = unsafe { ring.push(envelope(number), payload) } {
                        payload = back;
                        thread::yield_now();
                    }
                }
            })
        };
        let take = |envelope: Envelope, taken: Taken<'_>| match taken {
            Taken::Short(bytes) => seen(&envelope, &Payload::of(bytes)),
            Taken::Whole(payload) => seen(&envelope, &payload),
        };
        for number in 0..MESSAGES {
            let taken = loop {
                // SAFETY: this thread is the only one that reads.
                match unsafe { ring.pop(take) } {
                    Some(taken) => break taken,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(taken, number);
        }
        assert!(!ring.has_message());
        writer.join().expect("the writer ends");
    });
}

#[test]
fn a_message_by_a_lane_wakes_its_rank() {
    loom::model(|| one_sends(Fences::own, 1, |mailbox, own| give(mailbox, own, 0)));
}

#[test]
fn a_message_left_in_the_mailbox_wakes_its_rank() {
    loom::model(|| one_sends(Fences::own, 1, |mailbox, own| keep(mailbox, own, 0, payload(0))));
}

/// The sender takes its own ring in before it leaves a message in the mailbox, while the receiver may do so too.
#[test]
fn no_message_overtakes_another() {
    loom::model(|| {
        one_sends(Fences::own, 3, |mailbox, own| {
            give(mailbox, own, 0);
            keep(mailbox, own, 1, payload(1));
            give(mailbox, own, 2);
        });
    });
}

#[test]
fn a_full_ring_loses_nothing() {
    loom::model(|| one_sends(Fences::own, 3, |mailbox, own| (0..3).for_each(|number| give(mailbox, own, number))));
}

/// What a rank waits in.
fn blocked(rank: usize) -> Blocked {
    Blocked { rank, call: Call::receive(Source::Any, Tag::User(0).into()), collective: None }
}

/// Two ranks as `Backend` has them: the mailbox of the first, who sleeps, and why the run ended early, if it did.
struct Run {
    mailbox: Mailbox,
    watch: Watch,
    reason: Mutex<Option<RunError>>,
}

impl Run {
    fn end(&self, reason: Option<RunError>) {
        if let Some(reason) = reason {
            *self.reason.lock().expect("nobody panics") = Some(reason);
            self.mailbox.ring();
        }
    }

    fn has_changed(&self) -> impl Fn(usize, u64) -> bool {
        |_, seen| self.mailbox.has_changed(seen)
    }
}

/// A run of two ranks, of which the second ends after it has sent some messages and the first waits for as many as are
/// awaited: the reason for which the run ended early, if it did.
fn watched(sent: u32, awaited: usize) -> Option<RunError> {
    let run = Arc::new(Run { mailbox: Mailbox::new(2, Fences::own()), watch: Watch::of(2), reason: Mutex::new(None) });
    let sender = {
        let run = Arc::clone(&run);
        thread::spawn(move || {
            (0..sent).for_each(|number| give(&run.mailbox, &Own::default(), number));
            run.end(run.watch.finished(SENDER, run.has_changed()));
        })
    };
    let own = Own::default();
    loop {
        let rings = run.mailbox.rings();
        let is_over = run.reason.lock().expect("nobody panics").is_some();
        if is_over || arrived(&run.mailbox, &own).len() >= awaited {
            break;
        }
        run.end(run.watch.asleep(blocked(RECEIVER), Some(rings), run.has_changed()));
        run.mailbox.sleep(rings);
        run.watch.awake(RECEIVER);
    }
    sender.join().expect("the sender ends");
    run.reason.lock().expect("nobody panics").take()
}

#[test]
fn a_run_that_goes_on_is_no_deadlock() {
    loom::model(|| assert_eq!(watched(1, 1), None));
}

#[test]
fn a_rank_that_waits_for_more_than_comes_is_a_deadlock() {
    loom::model(|| {
        let reason = watched(1, 2);
        assert!(matches!(reason, Some(RunError::Deadlock { .. })), "{reason:?}");
    });
}

#[test]
fn a_bell_that_rings_while_a_rank_falls_asleep_is_heard() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new(2, Fences::own()));
        let ringer = {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || mailbox.ring())
        };
        while mailbox.rings() == 0 {
            mailbox.sleep(0);
        }
        ringer.join().expect("the ringer ends");
    });
}

/// Whether both sides may miss what the other wrote.
fn both_may_miss(fences: Fences) -> bool {
    let has_missed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let missed = std::sync::Arc::clone(&has_missed);
    loom::model(move || {
        let flags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let other = {
            let flags = Arc::clone(&flags);
            thread::spawn(move || {
                flags[0].store(1, Ordering::Relaxed);
                fences.light();
                flags[1].load(Ordering::Relaxed)
            })
        };
        flags[1].store(1, Ordering::Relaxed);
        fences.heavy();
        let seen = flags[0].load(Ordering::Relaxed);
        if seen + other.join().expect("the other side ends") == 0 {
            missed.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    has_missed.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn one_of_two_sides_sees_the_other() {
    assert!(!both_may_miss(Fences::own()));
}

/// The system's call that fences for both sides is nothing to loom: without it there is a fence on one side only, and the
/// checker must find that this does not do.
#[test]
fn a_fence_on_one_side_is_found_missing() {
    assert!(both_may_miss(Fences::on_one_side()));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_rank_that_sleeps_on_because_of_it_is_found() {
    loom::model(|| one_sends(Fences::on_one_side, 1, |mailbox, own| give(mailbox, own, 0)));
}
