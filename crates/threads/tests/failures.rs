//! Runs that cannot end well: each says which ranks and which calls.

use weft_comm::collective::{Choice, barrier, broadcast};
use weft_comm::{CommError, Communicator, Payload, Program, RunError, Source, Tag, TagSelector};
use weft_threads::{Options, run};

const TAG: Tag = Tag::User(4);

#[derive(Clone, Copy)]
enum Failure {
    AllReceive,
    LongSendsMeet,
    OneLeaves,
    DifferentCollectives,
    DifferentCollectivesMeet,
    TooLong,
    Panics,
    GivesUp,
    AwaitsNothing,
    NoSuchRank,
    TagTooLarge,
}

impl Program for Failure {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let rank = comm.rank();
        let next = (rank + 1) % comm.size();
        let receive = |from: usize| comm.recv(Source::Rank(from), TAG.into(), Payload::Phantom(8));
        match self {
            Failure::AllReceive => drop(receive(next).await?),
            Failure::LongSendsMeet => {
                comm.send(next, TAG, Payload::Phantom(1 << 20)).await?;
                receive(next).await?;
            }
            Failure::OneLeaves if rank == 0 => {}
            Failure::OneLeaves => drop(comm.probe(Source::Any, TagSelector::AnyUser).await?),
            Failure::DifferentCollectives if rank == 0 => barrier(&comm, Choice::Auto).await?,
            Failure::DifferentCollectives => drop(broadcast(&comm, 0, Payload::EMPTY, Choice::Auto).await?),
            Failure::DifferentCollectivesMeet if rank == 0 => {
                drop(broadcast(&comm, 1, Payload::EMPTY, Choice::Auto).await?);
            }
            Failure::DifferentCollectivesMeet => barrier(&comm, Choice::Auto).await?,
            Failure::TooLong if rank == 0 => drop(comm.send(1, TAG, Payload::Phantom(9)).await?),
            Failure::TooLong => drop(receive(0).await?),
            Failure::Panics if rank == 1 => panic!("the matrix is singular"),
            Failure::GivesUp if rank == 1 => {
                return Err(CommError::program(rank, "no more memory"));
            }
            Failure::Panics | Failure::GivesUp => drop(receive(next).await?),
            Failure::AwaitsNothing => std::future::pending::<()>().await,
            Failure::NoSuchRank => drop(comm.send(7, TAG, Payload::EMPTY).await?),
            Failure::TagTooLarge => drop(comm.send(0, Tag::User(1 << 20), Payload::EMPTY).await?),
        }
        Ok(())
    }
}

fn error_of(ranks: usize, fault: Failure) -> RunError {
    run(ranks, &fault, &Options::default()).unwrap_err()
}

#[test]
fn a_deadlock_lists_every_rank_and_its_call() {
    let text = error_of(3, Failure::AllReceive).to_string();
    let expected = "deadlock: 3 of 3 ranks cannot go on\n  rank 0: receive from rank 1, tag 4\n  \
                    rank 1: receive from rank 2, tag 4\n  rank 2: receive from rank 0, tag 4";
    assert_eq!(text, expected);
}

#[test]
fn long_sends_that_meet_are_a_deadlock() {
    let text = error_of(2, Failure::LongSendsMeet).to_string();
    assert!(text.contains("rank 0: send of 1048576 bytes to rank 1, tag 4"), "{text}");
}

#[test]
fn ranks_that_wait_for_one_that_has_finished_are_a_deadlock() {
    let text = error_of(3, Failure::OneLeaves).to_string();
    assert!(text.starts_with("deadlock: 2 of 3 ranks cannot go on\n  rank 1: probe of any rank, any tag"), "{text}");
}

#[test]
fn awaiting_nothing_is_a_deadlock() {
    let text = error_of(2, Failure::AwaitsNothing).to_string();
    assert!(text.contains("rank 1: a future that no message can wake"), "{text}");
}

#[test]
fn different_collectives_are_named() {
    for fault in [Failure::DifferentCollectives, Failure::DifferentCollectivesMeet] {
        let text = error_of(2, fault).to_string();
        assert!(text.starts_with("mismatched collective"), "{text}");
        assert!(text.contains("barrier") && text.contains("broadcast"), "{text}");
    }
}

#[test]
fn truncation_names_both_ranks_and_lengths() {
    let text = error_of(2, Failure::TooLong).to_string();
    let expected = "truncation: rank 1 posted a receive of 8 bytes for tag 4 from rank 0, which sent 9 bytes";
    assert_eq!(text, expected);
}

#[test]
fn a_panic_ends_the_run() {
    let expected = RunError::Panicked { rank: 1, message: "the matrix is singular".to_owned() };
    assert_eq!(error_of(4, Failure::Panics), expected);
}

#[test]
fn an_error_of_one_rank_ends_the_run() {
    assert_eq!(error_of(4, Failure::GivesUp).to_string(), "rank 1: no more memory");
}

#[test]
fn wrong_peers_and_tags_are_refused() {
    let text = error_of(2, Failure::NoSuchRank).to_string();
    assert!(text.ends_with("names rank 7, but the communicator has ranks 0 to 1"), "{text}");
    let text = error_of(1, Failure::TagTooLarge).to_string();
    assert_eq!(text, "rank 0 uses tag 1048576; the largest tag a program may use is 1048575");
    assert!(matches!(error_of(0, Failure::AllReceive), RunError::Setup(_)));
}
