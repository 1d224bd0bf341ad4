//! Point-to-point messages between threads.

use proptest::prelude::*;
use weft_comm::{CommError, Communicator, Failure, Payload, Program, Source, Tag, TagSelector, Work};
use weft_threads::{Options, run};

fn tag(number: u32) -> TagSelector {
    Tag::User(number).into()
}

/// Rank 0 sends messages with tags; rank 1 receives them by plan, some of them posted before they are sent.
#[derive(Clone, Debug)]
struct Stream {
    /// Tag and length of each message.
    messages: Vec<(u32, usize)>,
    post_first: bool,
}

impl Stream {
    fn content(index: usize, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (index * 31 + i * 7) as u8).collect()
    }

    /// By tag, in the order of sending: what non-overtaking promises.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.messages.len()).collect();
        order.sort_by_key(|&index| self.messages[index].0);
        order
    }
}

impl Program for Stream {
    type Output = bool;
    async fn run<C: Communicator>(self, comm: C) -> Result<bool, CommError> {
        const GO: u32 = 1000;
        if comm.rank() == 0 {
            if self.post_first {
                comm.recv(Source::Rank(1), tag(GO), Payload::EMPTY).await?;
            }
            let messages = self.messages.iter().enumerate();
            let send = |(index, &(tag, bytes)): (usize, &(u32, usize))| {
                comm.isend(1, Tag::User(tag), Payload::of(&Stream::content(index, bytes)))
            };
            let requests: Vec<_> = messages.map(send).collect();
            for (index, request) in requests.into_iter().enumerate() {
                assert_eq!(request.await?, Payload::of(&Stream::content(index, self.messages[index].1)));
            }
            return Ok(true);
        }
        let order = self.order();
        let post = |&index: &usize| {
            let into = Payload::of(&vec![0u8; 50_000]);
            comm.irecv(Source::Rank(0), tag(self.messages[index].0), into)
        };
        let requests: Vec<_> = order.iter().map(post).collect();
        if self.post_first {
            comm.send(0, Tag::User(GO), Payload::EMPTY).await?;
        }
        let mut right = true;
        for (request, &index) in requests.into_iter().zip(&order) {
            right &= request.await?.payload == Payload::of(&Stream::content(index, self.messages[index].1));
        }
        Ok(right)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn messages_of_a_tag_do_not_overtake(
        messages in prop::collection::vec(
            (0u32..3, prop_oneof![0usize..64, 4000usize..5000, 16_000usize..50_000]),
            0..20,
        ),
        post_first in any::<bool>(),
    ) {
        prop_assert_eq!(run(2, &Stream { messages, post_first }, &Options::default()).unwrap(), vec![true, true]);
    }
}

/// Wildcards, probes, dropped requests, self-messages and phantoms.
#[derive(Clone)]
struct Odds;

impl Program for Odds {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        if comm.rank() != 0 {
            comm.send(0, Tag::User(comm.rank() as u32), Payload::of(&[comm.rank() as u64])).await?;
            comm.send(0, Tag::User(9), Payload::Phantom(100_000)).await?;
            return Ok(());
        }
        assert_eq!(comm.iprobe(Source::Any, tag(77)).await?, None);
        let status = comm.probe(Source::Rank(2), TagSelector::AnyUser).await?;
        assert_eq!((status.source, status.tag, status.bytes), (2, Tag::User(2), 8));
        assert!(comm.iprobe(Source::Rank(2), tag(2)).await?.is_some());
        let mut seen = Vec::new();
        for _ in 1..comm.size() {
            // Phantoms with tag 9 may come between, so the tags are asked for one by one where they must be.
            let received = comm.recv(Source::Any, tag(seen.len() as u32 + 1), Payload::of(&[0u64])).await?;
            assert_eq!(received.payload.values::<u64>(), Some(&[received.status.source as u64][..]));
            seen.push(received.status.source);
        }
        assert_eq!(seen, (1..comm.size()).collect::<Vec<_>>());
        drop(comm.irecv(Source::Rank(1), tag(9), Payload::Phantom(100_000)));
        for rank in 2..comm.size() {
            let received = comm.recv(Source::Rank(rank), tag(9), Payload::of(&vec![0u8; 100_000])).await?;
            assert_eq!(received.payload, Payload::Phantom(100_000));
        }
        let incoming = comm.irecv(Source::Rank(0), tag(5), Payload::of(&vec![0u8; 70_000]));
        comm.send(0, Tag::User(5), Payload::of(&vec![3u8; 70_000])).await?;
        assert_eq!(incoming.await?.payload, Payload::of(&vec![3u8; 70_000]));
        let before = comm.wtime();
        comm.compute(Work::Spin(1e-4)).await;
        assert!(comm.wtime() - before >= 1e-4);
        Ok(())
    }
}

#[test]
fn wildcards_probes_and_dropped_requests() {
    for ranks in [3, 6] {
        run(ranks, &Odds, &Options::default()).unwrap();
    }
}

/// Everyone to everyone with wildcards, several rounds.
#[derive(Clone)]
struct Storm;

impl Program for Storm {
    type Output = u64;
    async fn run<C: Communicator>(self, comm: C) -> Result<u64, CommError> {
        let mut total = 0;
        for round in 0..50u32 {
            let others = || (0..comm.size()).filter(|&rank| rank != comm.rank());
            let value = (u64::from(round) << 8) + comm.rank() as u64;
            let length = if round % 5 == 0 { 3000 } else { 1 };
            let sent: Vec<_> =
                others().map(|rank| comm.isend(rank, Tag::User(round), Payload::of(&vec![value; length]))).collect();
            for _ in others() {
                let into = Payload::of(&vec![0u64; length]);
                total += comm.recv(Source::Any, tag(round), into).await?.payload.values::<u64>().unwrap()[length - 1];
            }
            for request in sent {
                request.await?;
            }
        }
        Ok(total)
    }
}

#[test]
fn many_messages_between_many_threads_all_arrive() {
    for spin_seconds in [None, Some(0.0), Some(1e-4)] {
        let options = Options { spin_seconds, ..Options::default() };
        let totals = run(9, &Storm, &options).unwrap();
        let rounds: u64 = (0..50).map(|round| 8 * (round << 8)).sum();
        let expected: Vec<u64> = (0..9).map(|rank| rounds + 50 * (36 - rank)).collect();
        assert_eq!(totals, expected);
    }
}

/// Rank 0 gives messages away; rank 1 takes them as they arrive, or posts some before they are sent.
#[derive(Clone, Debug)]
struct Gifts {
    messages: Vec<(u32, usize)>,
    posted: usize,
    /// Whether rank 1 waits awake.
    probes: bool,
}

impl Program for Gifts {
    type Output = bool;
    async fn run<C: Communicator>(self, comm: C) -> Result<bool, CommError> {
        const GO: u32 = 1000;
        let content = |index: usize| Payload::of(&Stream::content(index, self.messages[index].1));
        if comm.rank() == 0 {
            comm.recv(Source::Rank(1), tag(GO), Payload::EMPTY).await?;
            for (index, &(tag, _)) in self.messages.iter().enumerate() {
                comm.post(1, Tag::User(tag), content(index));
            }
            // Forgotten, as a request that is dropped is.
            comm.post(2, Tag::User(0), Payload::EMPTY);
            return Ok(true);
        }
        let order = Stream { messages: self.messages.clone(), post_first: true }.order();
        let (early, late) = order.split_at(self.posted.min(order.len()));
        let post =
            |&index: &usize| comm.irecv(Source::Any, tag(self.messages[index].0), Payload::of(&vec![0u8; 50_000]));
        let requests: Vec<_> = early.iter().map(post).collect();
        assert_eq!(comm.receive_arrived(Source::Any, TagSelector::AnyUser).await?, None);
        assert_eq!(comm.probe_for(Source::Any, TagSelector::AnyUser, 1e-4).await?, None);
        comm.send(0, Tag::User(GO), Payload::EMPTY).await?;
        let mut right = true;
        for (request, &index) in requests.into_iter().zip(early) {
            right &= request.await?.payload == content(index);
        }
        for &index in late {
            let wanted = tag(self.messages[index].0);
            let received = loop {
                if self.probes {
                    let status = comm.probe_for(Source::Rank(0), wanted, 10.0).await?;
                    right &= status.is_some_and(|status| status.bytes == self.messages[index].1);
                }
                if let Some(received) = comm.receive_arrived(Source::Rank(0), wanted).await? {
                    break received;
                }
                std::thread::yield_now();
            };
            right &= received.payload == content(index) && received.status.source == 0;
            right &= received.status.bytes == self.messages[index].1;
        }
        Ok(right && comm.receive_arrived(Source::Any, TagSelector::AnyUser).await?.is_none())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn messages_that_are_given_away_do_not_overtake(
        messages in prop::collection::vec(
            (0u32..3, prop_oneof![0usize..64, 4000usize..5000, 16_000usize..50_000]),
            0..20,
        ),
        posted in 0usize..20,
        probes in any::<bool>(),
    ) {
        prop_assert_eq!(run(2, &Gifts { messages, posted, probes }, &Options::default()).unwrap(), vec![true, true]);
    }
}

/// A long message waits for its receive; so does one that is taken because it has arrived.
#[derive(Clone)]
struct Waits;

impl Program for Waits {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let long = Payload::of(&Stream::content(3, 100_000));
        if comm.rank() == 0 {
            assert_eq!(comm.send(1, Tag::User(1), long.clone()).await?, long);
            comm.send(1, Tag::User(2), Payload::Phantom(100)).await?;
            let peer = comm.receive_arrived(Source::Rank(7), tag(1)).await;
            assert!(
                peer.as_ref().is_err_and(|error| matches!(error.failure(), Failure::NoSuchRank { peer: 7, .. })),
                "{peer:?}"
            );
            return Ok(());
        }
        comm.probe(Source::Rank(0), tag(1)).await?;
        assert_eq!(comm.receive_arrived(Source::Rank(0), tag(1)).await?.map(|received| received.payload), Some(long));
        comm.probe(Source::Rank(0), tag(2)).await?;
        let phantom = comm.receive_arrived(Source::Rank(0), tag(2)).await?.map(|received| received.payload);
        assert_eq!(phantom, Some(Payload::Phantom(100)));
        Ok(())
    }
}

#[test]
fn long_messages_and_phantoms_are_taken_when_they_have_arrived() {
    run(2, &Waits, &Options::default()).unwrap();
}
