//! Messages that are given away: by rings without a lock, among others that are sent, to ranks that sleep.

use proptest::prelude::*;
use weft_comm::{CommError, Communicator, Payload, Program, RunError, Source, Tag, TagSelector};
use weft_threads::{Options, run};

fn content(index: usize, length: usize) -> Payload {
    Payload::of(&(0..length).map(|byte| (index * 29 + byte * 3) as u8).collect::<Vec<u8>>())
}

/// Rank 0 gives and sends messages of one tag to itself or to rank 1, in this order, of which some receives wait beforehand.
#[derive(Clone, Debug)]
struct Mixed {
    /// Whether it is given away, and its length.
    messages: Vec<(bool, usize)>,
    awaited: usize,
    is_loopback: bool,
}

impl Program for Mixed {
    type Output = bool;
    async fn run<C: Communicator>(self, comm: C) -> Result<bool, CommError> {
        const TAG: Tag = Tag::User(7);
        const GO: Tag = Tag::User(8);
        let receiver = usize::from(!self.is_loopback);
        let buffer = || Payload::of(&vec![0u8; 30_000]);
        let awaited = self.awaited.min(self.messages.len());
        let mut requests = Vec::new();
        if comm.rank() == receiver {
            requests.extend((0..awaited).map(|_| comm.irecv(Source::Any, TAG.into(), buffer())));
            comm.post(0, GO, Payload::EMPTY);
        }
        let mut sends = Vec::new();
        if comm.rank() == 0 {
            comm.recv(Source::Rank(receiver), GO.into(), Payload::EMPTY).await?;
            for (index, &(is_gift, length)) in self.messages.iter().enumerate() {
                if is_gift {
                    comm.post(receiver, TAG, content(index, length));
                } else {
                    sends.push(comm.isend(receiver, TAG, content(index, length)));
                }
            }
        }
        let mut right = true;
        if comm.rank() == receiver {
            for (index, request) in requests.into_iter().enumerate() {
                right &= request.await?.payload == content(index, self.messages[index].1);
            }
            for (index, &(_, length)) in self.messages.iter().enumerate().skip(awaited) {
                let status = comm.probe(Source::Any, TagSelector::AnyUser).await?;
                right &= (status.source, status.tag, status.bytes) == (0, TAG, length);
                let received = comm.receive_arrived(Source::Any, TAG.into()).await?;
                right &= received.is_some_and(|received| received.payload == content(index, length));
            }
            right &= comm.iprobe(Source::Any, TagSelector::AnyUser).await?.is_none();
        }
        for send in sends {
            send.await?;
        }
        Ok(right)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_given_and_what_is_sent_do_not_overtake_each_other(
        messages in prop::collection::vec((any::<bool>(), prop_oneof![0usize..130, 1000usize..1100, 15_000usize..20_000]), 0..90),
        awaited in 0usize..90,
        is_loopback in any::<bool>(),
    ) {
        let program = Mixed { messages, awaited, is_loopback };
        prop_assert_eq!(run(2, &program, &Options::default()).unwrap(), vec![true, true]);
    }
}

/// A token goes round; who waits for it sleeps at once, and is never forgotten.
#[derive(Clone)]
struct Ring(usize);

impl Program for Ring {
    type Output = u64;
    async fn run<C: Communicator>(self, comm: C) -> Result<u64, CommError> {
        let (rank, next) = (comm.rank(), (comm.rank() + 1) % comm.size());
        if rank == 0 {
            comm.post(next, Tag::User(0), Payload::of(&[0u64]));
        }
        let mut last = 0;
        for _ in 0..self.0 {
            comm.probe(Source::Any, Tag::User(0).into()).await?;
            let received = comm.receive_arrived(Source::Any, Tag::User(0).into()).await?.expect("it was there");
            last = received.payload.values::<u64>().expect("data")[0] + 1;
            comm.post(next, Tag::User(0), Payload::of(&[last]));
        }
        Ok(last)
    }
}

#[test]
fn ranks_that_sleep_are_woken_by_every_message() {
    for (ranks, rounds) in [(2, 4000), (5, 800), (20, 100)] {
        let options = Options { spin_seconds: Some(0.0), ..Options::default() };
        let last = run(ranks, &Ring(rounds), &options).unwrap();
        // Rank 0 sees the token after everybody else has.
        let wanted: Vec<u64> =
            (0..ranks).map(|rank| ((rounds - 1) * ranks + if rank == 0 { ranks } else { rank }) as u64).collect();
        assert_eq!(last, wanted);
    }
}

/// All ranks give to rank 0 as fast as they can; with more ranks than have rings, too.
#[derive(Clone)]
struct Crowd(usize);

impl Program for Crowd {
    type Output = bool;
    async fn run<C: Communicator>(self, comm: C) -> Result<bool, CommError> {
        if comm.rank() > 0 {
            (0..self.0).for_each(|index| comm.post(0, Tag::User(1), content(index, 10 + index % 90)));
            return Ok(true);
        }
        let mut next = vec![0; comm.size()];
        for _ in 0..self.0 * (comm.size() - 1) {
            let status = comm.probe(Source::Any, Tag::User(1).into()).await?;
            let received = comm.receive_arrived(Source::Any, Tag::User(1).into()).await?.expect("it was there");
            assert_eq!(received.status, status);
            let index = &mut next[status.source];
            assert_eq!(received.payload, content(*index, 10 + *index % 90));
            *index += 1;
        }
        Ok(next[1..].iter().all(|&count| count == self.0))
    }
}

#[test]
fn many_may_give_to_one_each_in_its_order() {
    for ranks in [3, 9, 19] {
        assert_eq!(run(ranks, &Crowd(700), &Options::default()).unwrap(), vec![true; ranks]);
    }
}

/// A message that nobody wants keeps nobody going.
#[derive(Clone)]
struct Unwanted;

impl Program for Unwanted {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let other = 1 - comm.rank();
        comm.post(other, Tag::User(1), content(1, 20));
        comm.probe(Source::Rank(other), Tag::User(2).into()).await.map(drop)
    }
}

#[test]
fn a_deadlock_is_seen_among_messages_that_were_given_away() {
    for spin_seconds in [None, Some(0.0)] {
        let options = Options { spin_seconds, ..Options::default() };
        let error = run(2, &Unwanted, &options).unwrap_err();
        assert!(matches!(error, RunError::Deadlock { .. }), "{error}");
        assert!(error.to_string().contains("tag 2"), "{error}");
    }
}
