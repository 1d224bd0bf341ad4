//! How many messages a second the simulator passes: the workloads of `benches/simulator`, one line of JSON each.
//!
//!     cargo run --release -p weft-sim --example throughput -- WORKLOAD RANKS COUNT
//!
//! Workloads: `ping-pong` (2 ranks, COUNT round trips), `all-to-all` (RANKS ranks on a square torus, rank r to r + s in
//! step s, COUNT steps), `ring` (RANKS ranks on a square torus, COUNT rounds), `collectives` (RANKS ranks on a cubic
//! torus, COUNT times a barrier and an allreduce of 8 bytes). Messages are phantoms of 1000 bytes; links are contended
//! for.

use weft_comm::collective::{self, Choice, Element, Operator};
use weft_comm::{CommError, Communicator, Payload, Program, Reduction, Source, Tag};
use weft_machine::{Machine, Topology};
use weft_sim::{Options, Placement, run};

const TAG: Tag = Tag::User(0);
const BYTES: usize = 1000;

/// COUNT round trips of two ranks.
#[derive(Clone)]
struct PingPong(usize);

/// In step s of COUNT, rank r sends to rank r + s.
#[derive(Clone)]
struct AllToAll(usize);

/// COUNT times, rank r sends to rank r + 1.
#[derive(Clone)]
struct Ring(usize);

/// COUNT times a barrier and an allreduce of 8 bytes.
#[derive(Clone)]
struct Collectives(usize);

impl Program for PingPong {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        ping_pong(&comm, self.0).await
    }
}

impl Program for AllToAll {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let (me, size) = (comm.rank(), comm.size());
        for step in 1..=self.0 {
            exchange(&comm, (me + step) % size, (me + size - step) % size).await?;
        }
        Ok(())
    }
}

impl Program for Ring {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let (me, size) = (comm.rank(), comm.size());
        for _ in 0..self.0 {
            exchange(&comm, (me + 1) % size, (me + size - 1) % size).await?;
        }
        Ok(())
    }
}

impl Program for Collectives {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        for _ in 0..self.0 {
            collective::barrier(&comm, Choice::Auto).await?;
            let reduction = Reduction { element: Element::Float64, operator: Operator::Sum };
            collective::allreduce(&comm, Payload::Phantom(8), reduction, Choice::Auto).await?;
        }
        Ok(())
    }
}

async fn ping_pong<C: Communicator>(comm: &C, count: usize) -> Result<(), CommError> {
    let other = 1 - comm.rank();
    for _ in 0..count {
        if comm.rank() == 0 {
            comm.send(other, TAG, Payload::Phantom(BYTES)).await?;
            comm.recv(Source::Rank(other), TAG.into(), Payload::Phantom(BYTES)).await?;
        } else {
            comm.recv(Source::Rank(other), TAG.into(), Payload::Phantom(BYTES)).await?;
            comm.send(other, TAG, Payload::Phantom(BYTES)).await?;
        }
    }
    Ok(())
}

async fn exchange<C: Communicator>(comm: &C, to: usize, from: usize) -> Result<(), CommError> {
    let received = comm.irecv(Source::Rank(from), TAG.into(), Payload::Phantom(BYTES));
    comm.send(to, TAG, Payload::Phantom(BYTES)).await?;
    received.await?;
    Ok(())
}

/// A torus of at least `ranks` nodes, as long on each of its axes, with the message costs of the catalogue's cluster of today.
fn torus(ranks: usize, axes: u32) -> Machine {
    let side = (1usize..).find(|side| side.pow(axes) >= ranks).expect("a root");
    let mut machine = weft_machine::find("frontera").expect("the catalogue has a cluster of today");
    machine.topology = Topology::Torus { extents: vec![side; axes as usize] };
    machine
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, ranks, count] = arguments.as_slice() else {
        eprintln!("usage: throughput ping-pong|all-to-all|ring|collectives RANKS COUNT");
        std::process::exit(2);
    };
    let (ranks, count) = (ranks.parse().expect("RANKS is a number"), count.parse().expect("COUNT is a number"));
    match workload.as_str() {
        "ping-pong" => simulate(&torus(ranks, 2), ranks, &PingPong(count)),
        "all-to-all" => simulate(&torus(ranks, 2), ranks, &AllToAll(count)),
        "ring" => simulate(&torus(ranks, 2), ranks, &Ring(count)),
        "collectives" => simulate(&torus(ranks, 3), ranks, &Collectives(count)),
        other => panic!("there is no workload '{other}'"),
    }
}

/// Runs a program and prints its line.
fn simulate<P: Program>(machine: &Machine, ranks: usize, program: &P) {
    let start = cpu_seconds();
    let outcome = run(machine, &Placement::identity(ranks), program, &Options::default());
    let cpu = cpu_seconds() - start;
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let (messages, virtual_seconds, program) = (outcome.messages, outcome.makespan, outcome.program_bytes);
    println!(
        "{{\"messages\": {messages}, \"cpu_seconds\": {cpu:.6}, \"virtual_seconds\": {virtual_seconds:.9}, \
         \"peak_kib\": {peak}, \"program_bytes\": {program}}}",
        peak = peak_kib()
    );
}

/// Processor time of this process so far: what other processes do counts less than on a wall clock.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the system does not tell the processor time");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The largest resident size of this process so far, KiB; 0 where the system does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
