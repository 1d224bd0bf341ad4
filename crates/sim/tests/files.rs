//! Files in virtual time: what a call costs on an idle machine, contention, content, failures.

mod common;

use common::machine;
use weft_comm::files::{Access, FileSystem, Files};
use weft_comm::{CommError, Communicator, Payload, Program, RunError, Source, Tag, TagSelector};
use weft_machine::{ConcurrentFiles, HostFiles, Machine, Switching, Topology};
use weft_sim::{Options, Placement, run};

macro_rules! program {
    ($name:ident($comm:ident) -> $output:ty $body:block) => {
        #[derive(Clone)]
        struct $name;
        impl Program for $name {
            type Output = $output;
            async fn run<C: Communicator>(self, $comm: C) -> Result<$output, CommError> $body
        }
    };
}

/// A ring of four whose node 0 has the one I/O node: blocks of 1000 bytes, 10 ms to start a disk, 1 ms a block, four
/// blocks at a time, 2 ms for a call, 3 ms for a block at the I/O node.
fn with_files() -> Machine {
    let mut machine = machine(Topology::Torus { extents: vec![4] }, Switching::Circuit);
    machine.files = Some(ConcurrentFiles {
        attached: vec![0],
        disks_per_io_node: 1,
        block_bytes: 1000,
        disk_startup: 10e-3,
        disk_byte_time: 1e-6,
        cache_bytes: 8000,
        read_ahead_bytes: 4000,
        client_overhead: 2e-3,
        server_overhead: 3e-3,
        allocation_time: 5e-3,
        sources: Default::default(),
    });
    machine.host_files = Some(HostFiles { request_time: 7e-3, byte_time: 2e-6, sources: Default::default() });
    machine
}

fn simulate<P: Program>(machine: &Machine, ranks: usize, program: P) -> Result<Vec<P::Output>, RunError> {
    run(machine, &Placement::identity(ranks), &program, &Options::default()).map(|outcome| outcome.outputs)
}

fn concurrent<C: Communicator>(comm: &C) -> &dyn Files {
    comm.files(FileSystem::Concurrent).expect("the machine has I/O nodes")
}

/// Nanoseconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Of a request to the I/O node of node 0 from so many hops away from node 0 and a reply of `bytes`, control messages
/// having 64: sending and receiving 10 us each, 1 us for a hop, of which the last leads to the I/O node, and 0.1 us a byte.
fn messages(hops: f64, bytes: f64) -> f64 {
    (10e-6 + (hops + 1.0) * 1e-6 + 6.4e-6) + ((hops + 1.0) * 1e-6 + bytes * 0.1e-6 + 10e-6)
}

// The last rank reads.
program!(ReadsTwice(comm) -> Vec<f64> {
    let mut times = Vec::new();
    if comm.rank() + 1 == comm.size() {
        let files = concurrent(&comm);
        let file = files.open("f", Access::ReadWrite).await?;
        files.write_at(file, 0, Payload::Phantom(3000)).await?;
        files.sync(file).await?;
        files.drop_cached(file).await?;
        for _ in 0..2 {
            let start = comm.wtime();
            files.read_at(file, 1000, Payload::Phantom(1000)).await?;
            times.push(comm.wtime() - start);
        }
    }
    Ok(times)
});

#[test]
fn a_read_costs_its_messages_its_overheads_and_once_its_disk() {
    for ranks in 1..=3 {
        let times = simulate(&with_files(), ranks, ReadsTwice).unwrap().swap_remove(ranks - 1);
        let cached = 2e-3 + 3e-3 + messages(ranks as f64 - 1.0, 1000.0);
        assert_eq!(nanos(times[0]), nanos(cached + 10e-3 + 1e-3), "{} hops", ranks - 1);
        assert_eq!(nanos(times[1]), nanos(cached), "{} hops", ranks - 1);
    }
}

program!(ReadsWhileOthersSend(comm) -> f64 {
    let mut time = 0.0;
    match comm.rank() {
        0 => drop(comm.recv(Source::Rank(3), TagSelector::AnyUser, Payload::Phantom(1 << 20)).await?),
        3 => drop(comm.send(0, Tag::User(0), Payload::Phantom(1 << 20)).await?),
        1 => {
            let files = concurrent(&comm);
            let file = files.open("f", Access::ReadWrite).await?;
            files.write_at(file, 0, Payload::Phantom(1000)).await?;
            let start = comm.wtime();
            files.read_at(file, 0, Payload::Phantom(1000)).await?;
            time = comm.wtime() - start;
        }
        _ => {}
    }
    Ok(time)
});

#[test]
fn an_io_node_has_a_memory_of_its_own() {
    let mut machine = with_files();
    machine.node.memory_channels = Some(1);
    // A message of 100 ms into the memory of node 0 holds up nothing that only passes by its router.
    let time = simulate(&machine, 4, ReadsWhileOthersSend).unwrap()[1];
    assert_eq!(nanos(time), nanos(2e-3 + 3e-3 + messages(1.0, 1000.0)));
}

#[test]
fn the_links_of_io_nodes_are_none_of_the_topology() {
    let options = Options { traffic: true, ..Options::default() };
    let machine = with_files();
    let traffic = run(&machine, &Placement::identity(1), &ReadsTwice, &options).unwrap().traffic.unwrap();
    assert_eq!(traffic.len(), machine.topology.links());
    assert!(traffic.iter().all(|link| link.messages == 0), "node 0 reaches its I/O node over no other link");
}

program!(HostReads(comm) -> f64 {
    let files = comm.files(FileSystem::Host).expect("the host has files");
    let path = format!("f{}", comm.rank());
    let file = files.open(&path, Access::ReadWrite).await?;
    files.write_at(file, 0, Payload::Phantom(500)).await?;
    weft_comm::collective::barrier(&comm, weft_comm::collective::Choice::Auto).await?;
    let start = comm.wtime();
    files.read_at(file, 0, Payload::Phantom(500)).await?;
    Ok(comm.wtime() - start)
});

#[test]
fn the_host_serves_one_after_the_other() {
    // The link: 100 us and 1 us a byte; the files: 7 ms and 2 us a byte.
    let one = 100e-6 + 500e-6 + 7e-3 + 1000e-6;
    assert_eq!(nanos(simulate(&with_files(), 1, HostReads).unwrap()[0]), nanos(one));
    let two = simulate(&with_files(), 2, HostReads).unwrap();
    assert!(two.iter().any(|time| *time > 1.9 * one), "{two:?}");
}

program!(Shares(comm) -> Payload {
    let files = concurrent(&comm);
    let (rank, size) = (comm.rank(), comm.size());
    let file = files.open("shared", Access::ReadWrite).await?;
    let own: Vec<u8> = (0..1500).map(|i| (i + 100 * rank) as u8).collect();
    files.write_at(file, 1500 * rank as u64, Payload::of(&own)).await?;
    weft_comm::collective::barrier(&comm, weft_comm::collective::Choice::Auto).await?;
    assert_eq!(files.length(file).await?, 1500 * size as u64);
    let next = (rank + 1) % size;
    let read = files.read_at(file, 1500 * next as u64 + 10, Payload::of(&[0u8; 3])).await?;
    files.close(file).await?;
    Ok(read)
});

#[test]
fn ranks_read_what_others_have_written() {
    for (rank, read) in simulate(&with_files(), 4, Shares).unwrap().into_iter().enumerate() {
        let first = 10 + 100 * ((rank + 1) % 4);
        assert_eq!(read, Payload::of(&[first as u8, (first + 1) as u8, (first + 2) as u8]));
    }
}

#[test]
fn two_runs_take_the_same_time() {
    let run = || run(&with_files(), &Placement::identity(4), &Shares, &Options::default()).unwrap().finished;
    assert_eq!(run(), run());
}

program!(Truncated(comm) -> () {
    let files = concurrent(&comm);
    let file = files.open("f", Access::ReadWrite).await?;
    files.preallocate(file, 2000).await?;
    assert_eq!(files.read_at(file, 1999, Payload::of(&[1u8])).await?, Payload::of(&[0u8]));
    files.read_at(file, 1999, Payload::Phantom(2)).await.map(drop)
});

program!(Missing(comm) -> () {
    concurrent(&comm).open("nothing", Access::Read).await.map(drop)
});

program!(Closed(comm) -> () {
    let files = concurrent(&comm);
    let file = files.open("f", Access::ReadWrite).await?;
    files.unlink("f").await?;
    files.write_at(file, 0, Payload::Phantom(1)).await?;
    files.close(file).await?;
    files.sync(file).await
});

program!(Removed(comm) -> () {
    concurrent(&comm).unlink("nothing").await
});

#[test]
fn failures_name_the_file_and_the_reason() {
    let message = |outcome: Result<Vec<()>, RunError>| outcome.unwrap_err().to_string();
    let machine = with_files();
    assert_eq!(
        message(simulate(&machine, 1, Truncated)),
        "rank 0: cannot read the file f: the file ends at 2000 before the bytes asked for: it is truncated"
    );
    assert_eq!(message(simulate(&machine, 1, Missing)), "rank 0: cannot open the file nothing: there is no such file");
    assert_eq!(
        message(simulate(&machine, 1, Removed)),
        "rank 0: cannot remove the file nothing: there is no such file"
    );
    assert_eq!(message(simulate(&machine, 1, Closed)), "rank 0: cannot sync the file (closed): the file is not open");
    let stored = Machine { switching: Switching::StoreAndForward, ..machine };
    assert!(
        message(simulate(&stored, 1, Missing)).ends_with("not simulated on machines with store-and-forward switching")
    );
}
