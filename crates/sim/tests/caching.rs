//! Receives that a cache does not hold together: what each costs its processor more.

mod common;

use common::machine;
use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag};
use weft_machine::{Cache, Machine, Sources, Switching, Topology};
use weft_sim::{Options, Placement, run};

const TAG: Tag = Tag::User(1);

/// Of a message, in bytes.
const LENGTH: usize = 1000;

/// Windows of messages, whose receives are posted before the first of them is waited for.
#[derive(Clone)]
struct Windows {
    /// Messages of each.
    windows: &'static [usize],
}

impl Program for Windows {
    /// What the receiver's processor took for each window, in seconds, all messages being there when it begins.
    type Output = Vec<f64>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Vec<f64>, CommError> {
        let mut seconds = Vec::new();
        for &count in self.windows {
            if comm.rank() == 0 {
                for _ in 0..count {
                    comm.send(1, TAG, Payload::Phantom(LENGTH)).await?;
                }
                comm.recv(Source::Rank(1), TAG.into(), Payload::EMPTY).await?;
                continue;
            }
            comm.compute(weft_comm::Work::Seconds(1.0)).await;
            let start = comm.wtime();
            let receives: Vec<_> =
                (0..count).map(|_| comm.irecv(Source::Rank(0), TAG.into(), Payload::Phantom(LENGTH))).collect();
            for receive in receives {
                receive.await?;
            }
            seconds.push(comm.wtime() - start);
            comm.send(0, TAG, Payload::EMPTY).await?;
        }
        Ok(seconds)
    }
}

/// Two nodes with a cache that holds two messages and nothing of four.
fn cached() -> Machine {
    let mut machine = machine(Topology::Crossbar { nodes: 2 }, Switching::CutThrough);
    machine.cache = Some(Cache { bytes: 2000, all_missed_bytes: 4000, miss_byte_time: 1e-9, sources: Sources::new() });
    machine
}

/// Microseconds of a message of each window, rounded to a nanosecond.
fn micros(machine: &Machine, windows: &'static [usize]) -> Vec<f64> {
    let outcome = run(machine, &Placement::identity(2), &Windows { windows }, &Options::default()).unwrap();
    let each = outcome.outputs[1].iter().zip(windows).map(|(seconds, &count)| seconds / count as f64);
    each.map(|seconds| (seconds * 1e9).round() / 1e3).collect()
}

#[test]
fn a_byte_costs_more_the_more_receives_are_posted() {
    // 10 for each message, and of each byte 1 ns where it is not found: none of two messages, half of three.
    assert_eq!(micros(&cached(), &[1]), [10.0]);
    assert_eq!(micros(&cached(), &[2]), [10.0]);
    assert_eq!(micros(&cached(), &[3]), [10.5]);
    assert_eq!(micros(&cached(), &[4]), [11.0]);
    assert_eq!(micros(&cached(), &[9]), [11.0]);
}

#[test]
fn the_window_before_is_what_the_cache_holds() {
    // After four messages the buffer of one is not there; after that one it is.
    assert_eq!(micros(&cached(), &[4, 1, 1, 3]), [11.0, 11.0, 10.0, 10.5]);
}

#[test]
fn a_machine_without_a_cache_has_one_cost() {
    let plain = machine(Topology::Crossbar { nodes: 2 }, Switching::CutThrough);
    assert_eq!(micros(&plain, &[1, 9, 1]), [10.0, 10.0, 10.0]);
}

/// A rank that takes a receive back, and one that drops it.
#[derive(Clone)]
struct Withdrawn;

impl Program for Withdrawn {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        if comm.rank() == 0 {
            comm.send(1, TAG, Payload::Phantom(LENGTH)).await?;
            comm.send(1, TAG, Payload::Phantom(LENGTH)).await?;
            return Ok(0.0);
        }
        let dropped = comm.irecv(Source::Rank(0), TAG.into(), Payload::Phantom(4 * LENGTH));
        drop(dropped);
        comm.compute(weft_comm::Work::Seconds(1.0)).await;
        // What was dropped was on its way with four times as many bytes; the receive after it finds the cache full.
        comm.recv(Source::Rank(0), TAG.into(), Payload::Phantom(LENGTH)).await?;
        Ok(comm.wtime())
    }
}

#[test]
fn a_receive_that_was_dropped_is_not_counted_for_ever() {
    let outcome = run(&cached(), &Placement::identity(2), &Withdrawn, &Options::default()).unwrap();
    assert_eq!((outcome.outputs[1] * 1e9).round() / 1e3, 1e6 + 10.0 + 1.0);
}
