//! The rank program of the integration tests: `ranks SCENARIO` under an mpiexec. Every rank checks what it got and
//! prints `rank R of N: ok`; a scenario that is meant to fail ends as a failing run of weft ends.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::ExitCode;
use std::time::Duration;

use weft_comm::collective::{self, Choice, Element, Operator, barrier, broadcast};
use weft_comm::files::{Access, FileSystem};
use weft_comm::{
    CollectiveKind, CommError, Communicator, Ends, Failure, Payload, Persistent, Program, Reduction, Source, Tag,
    TagSelector, Work,
};
use weft_mpi::{Backend, Options, Watch};

/// Counts what this program allocates; the MPI library allocates elsewhere.
struct Counting;

thread_local! {
    /// Of this thread: the MPI library and the standard library have threads of their own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

// SAFETY: everything is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the layout's size is not zero (a condition of `alloc`), which is all that the system's allocator asks
        // for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `alloc` got the block from the system's allocator with this layout (a condition of `dealloc`).
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Done = Result<(), CommError>;

const ANY: TagSelector = TagSelector::AnyUser;

fn tag(tag: u32) -> Tag {
    Tag::User(tag)
}

#[derive(Clone)]
struct Scenario(String);

impl Program for Scenario {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Done {
        match self.0.as_str() {
            "ring" => ring(&comm).await,
            "phantoms" => phantoms(&comm).await,
            "wildcards" => wildcards(&comm).await,
            "probe" => probe(&comm).await,
            "dropped" => dropped(&comm).await,
            "split" => split(&comm).await,
            "native" => native(&comm).await,
            "native-phantoms" => native_phantoms(&comm).await,
            "in-place" => in_place(&comm).await,
            "persistent" => persistent(&comm).await,
            "clock" => clock(&comm).await,
            "files" => files(&comm).await,
            "files-missing" => files_missing(&comm).await,
            "arguments" => arguments(&comm).await,
            "truncation" => truncation(&comm).await,
            "late-truncation" => late_truncation(&comm).await,
            "truncated-exchange" => truncated_exchange(&comm).await,
            "mismatch" => mismatch(&comm).await,
            "deadlock" => deadlock(&comm).await,
            "left-alone" => left_alone(&comm).await,
            "slow" => slow(&comm).await,
            "panic" => panic(&comm).await,
            "fail" => fail(&comm).await,
            "kill" => kill(&comm).await,
            "pending" => std::future::pending().await,
            other => Err(CommError::program(comm.rank(), format!("no scenario '{other}'"))),
        }
    }
}

/// Messages that are sent again and again: each round has its own bytes, of lengths that differ by direction, and after
/// the first rounds nothing is allocated.
async fn persistent<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    let bytes = |from: usize, to: usize| if to % 3 == 2 && size > 2 { 0 } else { 100 + 7000 * from + to };
    let peers = (0..size).filter(|&peer| peer != rank);
    let ends: Vec<Ends> =
        peers.map(|peer| Ends { peer, send_bytes: bytes(rank, peer), receive_bytes: bytes(peer, rank) }).collect();
    let mut messages = Persistent::new(comm, tag(9), &ends, false)?;
    let value = |round: usize, from: usize, to: usize| (31 * round + 7 * from + to) as u8;
    for round in 0..50 {
        let before = allocations();
        messages.start()?;
        for (end, Ends { peer, .. }) in ends.iter().enumerate() {
            messages.send_buffer(end).expect("data").fill(value(round, rank, *peer));
            messages.send(end)?;
        }
        // Ranks come to their messages at different times.
        if round % (rank + 2) == 0 {
            comm.compute(Work::Spin(50e-6)).await;
        }
        for (end, Ends { peer, receive_bytes, .. }) in ends.iter().enumerate() {
            messages.wait(end).await?;
            let got = messages.receive_buffer(end).expect("data");
            assert_eq!(got.len(), *receive_bytes);
            assert!(got.iter().all(|&byte| byte == value(round, *peer, rank)), "round {round} from {peer}");
        }
        messages.finish().await?;
        let allocated = allocations() - before;
        assert!(round < 2 || allocated == 0, "round {round} allocated {allocated} times");
    }
    Ok(())
}

fn neighbours<C: Communicator>(comm: &C) -> (usize, usize) {
    let (rank, size) = (comm.rank(), comm.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

/// Blocking and non-blocking, small and large, with data.
async fn ring<C: Communicator>(comm: &C) -> Done {
    let (left, right) = neighbours(comm);
    for words in [0usize, 1, 100, 300_000] {
        let mine: Vec<u64> = (0..words).map(|word| (comm.rank() * 1_000_000 + word) as u64).collect();
        let theirs: Vec<u64> = (0..words).map(|word| (left * 1_000_000 + word) as u64).collect();
        let sending = comm.isend(right, tag(7), Payload::of(&mine));
        // A buffer that is longer than the message: what comes is cut to its length.
        let into = Payload::of(&vec![0u64; words + 5]);
        let received = comm.recv(left.into(), tag(7).into(), into).await?;
        assert_eq!(received.payload.values::<u64>(), Some(&theirs[..]));
        assert_eq!((received.status.source, received.status.tag, received.status.bytes), (left, tag(7), 8 * words));
        assert_eq!(sending.await?, Payload::of(&mine));
        let (mut out, mut into) = (Payload::of(&mine), Payload::of(&vec![0u64; words + 5]));
        let status = comm.sendrecv(right, &mut out, left, &mut into, tag(8)).await?;
        assert_eq!((status.source, status.tag, status.bytes), (left, tag(8), 8 * words));
        assert_eq!((out.values::<u64>(), into.values::<u64>()), (Some(&mine[..]), Some(&theirs[..])));
    }
    Ok(())
}

/// Phantoms to phantoms, phantoms to data, several at once, larger and larger.
async fn phantoms<C: Communicator>(comm: &C) -> Done {
    let (left, right) = neighbours(comm);
    let sizes = [0usize, 8, 5000, 1 << 20, 3 << 20];
    let receives: Vec<_> = sizes.iter().map(|size| comm.irecv(left.into(), ANY, Payload::Phantom(*size))).collect();
    let sends: Vec<_> = sizes.iter().map(|size| comm.isend(right, tag(1), Payload::Phantom(*size))).collect();
    for (receive, size) in receives.into_iter().zip(sizes) {
        assert_eq!(receive.await?.payload, Payload::Phantom(size));
    }
    for (send, size) in sends.into_iter().zip(sizes) {
        assert_eq!(send.await?, Payload::Phantom(size));
    }
    let send = comm.isend(right, tag(2), Payload::Phantom(16));
    let received = comm.recv(left.into(), ANY, Payload::of(&[1u8; 16])).await?;
    assert_eq!(received.payload, Payload::of(&[0u8; 16]));
    send.await?;
    let (mut out, mut into) = (Payload::Phantom(24), Payload::Phantom(100));
    comm.sendrecv(right, &mut out, left, &mut into, tag(3)).await?;
    assert_eq!((out, into), (Payload::Phantom(24), Payload::Phantom(24)));
    Ok(())
}

/// All ranks but 0 send to rank 0, which takes them as they come.
async fn wildcards<C: Communicator>(comm: &C) -> Done {
    if comm.rank() > 0 {
        comm.send(0, tag(comm.rank() as u32), Payload::of(&[comm.rank() as u64])).await?;
        return Ok(());
    }
    let mut seen = vec![false; comm.size()];
    for _ in 1..comm.size() {
        let received = comm.recv(Source::Any, ANY, Payload::of(&[0u64])).await?;
        let source = received.status.source;
        assert_eq!(received.status.tag, tag(source as u32));
        assert_eq!(received.payload.values(), Some(&[source as u64][..]));
        assert!(!std::mem::replace(&mut seen[source], true));
    }
    Ok(())
}

async fn probe<C: Communicator>(comm: &C) -> Done {
    let (left, right) = neighbours(comm);
    assert_eq!(comm.iprobe(Source::Any, tag(99).into()).await?, None);
    let sends = [comm.isend(right, tag(3), Payload::of(&[1u8; 3])), comm.isend(right, tag(4), Payload::of(&[1u8; 40]))];
    let status = comm.probe(Source::Any, tag(4).into()).await?;
    assert_eq!((status.source, status.tag, status.bytes), (left, tag(4), 40));
    let status = comm.iprobe(left.into(), ANY).await?.expect("a message that came before one that is here");
    assert_eq!((status.tag, status.bytes), (tag(3), 3));
    for (number, bytes) in [(4, 40), (3, 3)] {
        let received = comm.recv(left.into(), tag(number).into(), Payload::Phantom(bytes)).await?;
        assert_eq!(received.payload.len(), bytes);
    }
    for send in sends {
        send.await?;
    }
    Ok(())
}

/// Requests that are dropped: the sends arrive, the receives take their messages.
async fn dropped<C: Communicator>(comm: &C) -> Done {
    let (left, right) = neighbours(comm);
    drop(comm.irecv(left.into(), tag(1).into(), Payload::of(&vec![0u8; 1 << 20])));
    drop(comm.isend(right, tag(1), Payload::of(&vec![1u8; 1 << 20])));
    drop(comm.isend(right, tag(1), Payload::of(&[2u8])));
    let received = comm.recv(left.into(), tag(1).into(), Payload::of(&vec![0u8; 1 << 20])).await?;
    assert_eq!(received.payload, Payload::of(&[2u8]));
    drop(comm.irecv(left.into(), tag(50).into(), Payload::of(&[0u8; 64])));
    Ok(())
}

/// Halves with the ranks reversed, keys and colors beyond MPI's range, one rank left out.
async fn split<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    let half = comm.split(Some(u32::MAX - (rank % 2) as u32), -(rank as i64) * (1 << 40)).await?.expect("a color");
    let members: Vec<usize> = (0..size).filter(|other| other % 2 == rank % 2).rev().collect();
    assert_eq!((half.size(), members[half.rank()], half.world_rank()), (members.len(), rank, rank));
    let (left, right) = neighbours(&half);
    let send = half.isend(right, tag(1), Payload::of(&[rank as u64]));
    let received = half.recv(left.into(), ANY, Payload::of(&[0u64])).await?;
    assert_eq!(received.payload.values(), Some(&[members[left] as u64][..]));
    send.await?;
    let rest = half.split((half.rank() > 0).then_some(0), 0).await?;
    assert_eq!(rest.map(|rest| rest.size()), (half.rank() > 0).then(|| half.size() - 1));
    Ok(())
}

const SUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Sum };

async fn native<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    let native = comm.native().expect("MPI has collectives");
    native.barrier()?;
    for root in 0..size {
        let mut payload = Payload::of(&[if rank == root { 42u64 } else { 0 }; 10]);
        native.broadcast(root, &mut payload)?;
        assert_eq!(payload, Payload::of(&[42u64; 10]));
        let mut payload = Payload::of(&[rank as f64, 1.0]);
        native.reduce(root, &mut payload, SUM)?;
        let total = (size * (size - 1) / 2) as f64;
        assert!(rank != root || payload == Payload::of(&[total, size as f64]));
        let whole = native.gather(root, &Payload::of(&[rank as u32, 7]))?;
        let all: Vec<u32> = (0..size as u32).flat_map(|rank| [rank, 7]).collect();
        assert_eq!(whole, (rank == root).then(|| Payload::of(&all)));
        let whole = (rank == root).then(|| Payload::of(&all));
        assert_eq!(native.scatter(root, whole.as_ref(), 8)?, Payload::of(&[rank as u32, 7]));
    }
    reductions(comm)?;
    let ranks: Vec<u64> = (0..size as u64).collect();
    assert_eq!(native.allgather(&Payload::of(&[rank as u64]))?, Payload::of(&ranks));
    let out: Vec<u64> = ranks.iter().map(|to| 100 * rank as u64 + to).collect();
    let back: Vec<u64> = ranks.iter().map(|from| 100 * from + rank as u64).collect();
    assert_eq!(native.alltoall(&Payload::of(&out))?, Payload::of(&back));
    // Rank r sends r + 1 bytes of value r to everyone.
    let send = vec![rank + 1; size];
    let recv: Vec<usize> = (1..=size).collect();
    let expected: Vec<u8> = (0..size).flat_map(|from| vec![from as u8; from + 1]).collect();
    let out = Payload::of(&vec![rank as u8; (rank + 1) * size]);
    assert_eq!(native.alltoallv(&out, &send, &recv)?, Payload::of(&expected));
    Ok(())
}

/// Every element with every operator it has, against plain arithmetic.
fn reductions<C: Communicator>(comm: &C) -> Done {
    let native = comm.native().expect("MPI has collectives");
    let (rank, size) = (comm.rank(), comm.size());
    let check = |element, operator, mine: Payload, expected: Payload| -> Done {
        let mut payload = mine;
        native.allreduce(&mut payload, Reduction { element, operator })?;
        assert_eq!(payload, expected, "{element:?} {operator:?}");
        Ok(())
    };
    let mine = rank as i64 + 2;
    let all = || (0..size as i64).map(|rank| rank + 2);
    let operators: [(Operator, i64); 7] = [
        (Operator::Sum, all().sum()),
        (Operator::Product, all().product()),
        (Operator::Maximum, all().max().unwrap_or(0)),
        (Operator::Minimum, 2),
        (Operator::BitAnd, all().fold(-1, |a, b| a & b)),
        (Operator::BitOr, all().fold(0, |a, b| a | b)),
        (Operator::BitXor, all().fold(0, |a, b| a ^ b)),
    ];
    for (operator, value) in operators {
        check(Element::Int64, operator, Payload::of(&[mine]), Payload::of(&[value]))?;
        check(Element::Int32, operator, Payload::of(&[mine as i32]), Payload::of(&[value as i32]))?;
        check(Element::Byte, operator, Payload::of(&[mine as u8]), Payload::of(&[value as u8]))?;
        if !matches!(operator, Operator::BitAnd | Operator::BitOr | Operator::BitXor) {
            check(Element::Float64, operator, Payload::of(&[mine as f64]), Payload::of(&[value as f64]))?;
            check(Element::Float32, operator, Payload::of(&[mine as f32]), Payload::of(&[value as f32]))?;
        }
    }
    let mut prefix = Payload::of(&[rank as f64 + 1.0]);
    native.scan(&mut prefix, SUM)?;
    assert_eq!(prefix, Payload::of(&[((rank + 1) * (rank + 2) / 2) as f64]));
    Ok(())
}

async fn native_phantoms<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    let native = comm.native().expect("MPI has collectives");
    for bytes in [8usize, 80_000] {
        let mut payload = Payload::Phantom(bytes);
        native.broadcast(size - 1, &mut payload)?;
        native.reduce(0, &mut payload, SUM)?;
        native.allreduce(&mut payload, SUM)?;
        native.scan(&mut payload, SUM)?;
        assert_eq!(payload, Payload::Phantom(bytes));
        let whole = native.gather(0, &payload)?;
        assert_eq!(whole, (rank == 0).then(|| Payload::Phantom(bytes * size)));
        assert_eq!(native.scatter(0, whole.as_ref(), bytes)?.len(), bytes);
        assert_eq!(native.allgather(&payload)?, Payload::Phantom(bytes * size));
        assert_eq!(native.alltoall(&Payload::Phantom(bytes * size))?, Payload::Phantom(bytes * size));
        let whole = native.alltoallv(&Payload::Phantom(bytes * size), &vec![bytes; size], &vec![bytes; size])?;
        assert_eq!(whole, Payload::Phantom(bytes * size));
    }
    Ok(())
}

/// What is timed writes to space that is there and allocates nothing.
async fn in_place<C: Communicator>(comm: &C) -> Done {
    for bytes in [8usize, 10_000] {
        for phantom in [false, true] {
            let payload = |len: usize| match phantom {
                true => Payload::Phantom(len),
                false => Payload::of(&vec![comm.rank() as u8; len]),
            };
            let mut space = Space::new(comm, bytes, payload);
            space.all(comm).await?;
            let (addresses, before) = (space.addresses(), allocations());
            space.all(comm).await?;
            assert_eq!(allocations(), before, "{bytes} bytes, phantom: {phantom}");
            assert_eq!(space.addresses(), addresses, "{bytes} bytes, phantom: {phantom}");
            let everyone: Vec<u8> = (0..comm.size()).flat_map(|rank| vec![rank as u8; bytes]).collect();
            let results = space.wholes.iter().skip(usize::from(comm.rank() > 0));
            assert!(phantom || results.clone().all(|whole| *whole == Payload::of(&everyone)), "{bytes} bytes");
        }
    }
    refused_space(comm)
}

/// Space of the wrong length is refused before MPI writes to it.
fn refused_space<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    let native = comm.native().expect("MPI has collectives");
    let (part, whole, mut small) = (Payload::of(&[1u64]), Payload::Phantom(8 * size), Payload::Phantom(8 * size - 1));
    let sizes = vec![8; size];
    let outcomes = [
        native.gather_into(rank, &part, &mut small),
        native.scatter_into(rank, Some(&whole), &mut Payload::Phantom(9)),
        native.allgather_into(&part, &mut small),
        native.alltoall_into(&whole, &mut small),
        native.alltoallv_into(&whole, &sizes, &sizes, &mut small),
        native.alltoallv_into(&whole, &sizes[1..], &sizes, &mut small),
    ];
    for outcome in outcomes {
        let is_mismatch = |error: &CommError| matches!(error.failure(), Failure::MismatchedArguments { .. });
        assert!(outcome.as_ref().is_err_and(is_mismatch), "{outcome:?}");
    }
    native.barrier()
}

/// The payloads of a timed loop.
struct Space {
    part: Payload,
    received: Payload,
    sent: Payload,
    /// Results of gather (on rank 0), allgather, alltoall and alltoallv.
    wholes: [Payload; 4],
    sizes: Vec<usize>,
}

impl Space {
    fn new<C: Communicator>(comm: &C, bytes: usize, payload: impl Fn(usize) -> Payload) -> Space {
        let whole = || payload(bytes * comm.size());
        let on_root = if comm.rank() == 0 { whole() } else { Payload::EMPTY };
        Space {
            part: payload(bytes),
            received: payload(bytes),
            sent: whole(),
            wholes: [on_root, whole(), whole(), whole()],
            sizes: vec![bytes; comm.size()],
        }
    }

    async fn all<C: Communicator>(&mut self, comm: &C) -> Done {
        let (native, (left, right)) = (Choice::Native, neighbours(comm));
        let [gathered, of_all, exchanged, parts] = &mut self.wholes;
        let whole = collective::gather(comm, 0, &self.part, Some(gathered.take()), native).await?;
        *gathered = whole.unwrap_or(Payload::EMPTY);
        *of_all = collective::allgather(comm, &self.part, Some(of_all.take()), native).await?;
        *exchanged = collective::alltoall(comm, &self.sent, Some(exchanged.take()), native).await?;
        let sizes = &self.sizes;
        *parts = collective::alltoallv(comm, &self.sent, sizes, sizes, Some(parts.take()), native).await?;
        let root = (comm.rank() == 0).then_some(&self.sent);
        self.received = collective::scatter(comm, 0, root, self.received.take(), native).await?;
        // Around the ring, one after the other.
        if comm.rank() > 0 {
            comm.recv_into(Source::Rank(left), tag(2).into(), &mut self.received).await?;
        }
        comm.send_from(right, tag(2), &mut self.part).await?;
        if comm.rank() == 0 {
            comm.recv_into(Source::Rank(left), tag(2).into(), &mut self.received).await?;
        }
        // And all at one time.
        comm.sendrecv(right, &mut self.part, left, &mut self.received, tag(3)).await?;
        Ok(())
    }

    /// Where the bytes of each payload are.
    fn addresses(&self) -> [usize; 6] {
        let [_, of_all, exchanged, parts] = &self.wholes;
        [&self.part, &self.received, &self.sent, of_all, exchanged, parts].map(|payload| match payload {
            Payload::Data(buffer) => buffer.as_ptr() as usize,
            Payload::Phantom(_) => 0,
        })
    }
}

async fn clock<C: Communicator>(comm: &C) -> Done {
    let start = comm.wtime();
    comm.compute(Work::Spin(1e-3)).await;
    assert!(comm.wtime() - start >= 1e-3);
    assert_eq!(comm.hops_to(comm.rank()), Some(0));
    assert_eq!(comm.hops_to(comm.size()), None);
    Ok(())
}

/// Arguments that are refused before MPI sees them.
async fn arguments<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    let error = comm.send(size, tag(1), Payload::EMPTY).await.unwrap_err();
    assert_eq!(error, Failure::NoSuchRank { rank, peer: size, last: size - 1 }.into());
    let error = comm.irecv(Source::Rank(size), ANY, Payload::EMPTY).await.unwrap_err();
    assert_eq!(error, Failure::NoSuchRank { rank, peer: size, last: size - 1 }.into());
    let error = comm.isend(0, tag(1 << 20), Payload::EMPTY).await.unwrap_err();
    assert_eq!(error, Failure::TagTooLarge { rank, tag: 1 << 20 }.into());
    // What was posted before the send was refused does not take the next message.
    let (mut out, mut into) = (Payload::of(&[7u8; 8]), Payload::of(&[0u8; 8]));
    let error = comm.sendrecv(size, &mut out, rank, &mut into, tag(6)).await.unwrap_err();
    assert_eq!(error, Failure::NoSuchRank { rank, peer: size, last: size - 1 }.into());
    let (mut out, mut into) = (Payload::of(&[7u8; 8]), Payload::of(&[0u8; 8]));
    comm.sendrecv(rank, &mut out, rank, &mut into, tag(7)).await?;
    assert_eq!(into, out);
    let error = comm.send(0, tag(1), Payload::Phantom(1 << 31)).await.unwrap_err().to_string();
    assert!(error.contains("2147483648 bytes at once; weft passes at most 2147483647"), "{error}");
    let native = comm.native().expect("MPI has collectives");
    let odd = native.allreduce(&mut Payload::Phantom(9), SUM).unwrap_err().to_string();
    assert!(odd.contains("9 bytes are no whole number of Float64 elements"), "{odd}");
    let bits = Reduction { element: Element::Float64, operator: Operator::BitAnd };
    let bits = native.allreduce(&mut Payload::Phantom(8), bits).unwrap_err().to_string();
    assert!(bits.contains("BitAnd is not defined for Float64"), "{bits}");
    native.barrier()
}

async fn truncation<C: Communicator>(comm: &C) -> Done {
    if comm.rank() == 0 {
        comm.send(1, tag(5), Payload::of(&[0u8; 64])).await?;
    } else if comm.rank() == 1 {
        comm.recv(Source::Rank(0), tag(5).into(), Payload::of(&[0u8; 8])).await?;
    }
    comm.native().expect("MPI has collectives").barrier()
}

/// The same while rank 1 sends what nobody receives.
async fn truncated_exchange<C: Communicator>(comm: &C) -> Done {
    let (mut out, mut into) = (Payload::of(&vec![0u8; 1 << 20]), Payload::of(&[0u8; 8]));
    if comm.rank() == 0 {
        comm.send(1, tag(5), Payload::of(&[0u8; 64])).await?;
    } else if comm.rank() == 1 {
        comm.sendrecv(0, &mut out, 0, &mut into, tag(5)).await?;
    }
    comm.native().expect("MPI has collectives").barrier()
}

/// The same through a request, with a message that goes by rendezvous.
async fn late_truncation<C: Communicator>(comm: &C) -> Done {
    if comm.rank() == 0 {
        comm.send(1, tag(5), Payload::Phantom(1 << 20)).await?;
    } else if comm.rank() == 1 {
        comm.irecv(Source::Any, ANY, Payload::Phantom(1000)).await?;
    }
    comm.native().expect("MPI has collectives").barrier()
}

/// Rank 0 is in a barrier where rank 1 is in a scan.
async fn mismatch<C: Communicator>(comm: &C) -> Done {
    let kind = if comm.rank() == 0 { CollectiveKind::Barrier } else { CollectiveKind::Scan };
    let sequence = comm.enter_collective(kind);
    let tag = Tag::Collective { kind, sequence };
    let (left, right) = neighbours(comm);
    let send = comm.isend(right, tag, Payload::EMPTY);
    comm.recv(left.into(), tag.into(), Payload::EMPTY).await?;
    send.await?;
    comm.leave_collective();
    Ok(())
}

async fn deadlock<C: Communicator>(comm: &C) -> Done {
    let (left, _) = neighbours(comm);
    comm.recv(left.into(), tag(4).into(), Payload::EMPTY).await?;
    Ok(())
}

/// Rank 1 waits for a message after all others have gone.
async fn left_alone<C: Communicator>(comm: &C) -> Done {
    if comm.rank() == 1 {
        comm.recv(Source::Any, tag(9).into(), Payload::EMPTY).await?;
    }
    Ok(())
}

/// One rank is late, by more than the others report.
async fn slow<C: Communicator>(comm: &C) -> Done {
    if comm.rank() == 0 {
        std::thread::sleep(Duration::from_secs(2));
    }
    comm.native().expect("MPI has collectives").barrier()
}

async fn panic<C: Communicator>(comm: &C) -> Done {
    assert!(comm.rank() != 1, "rank one has had enough");
    deadlock(comm).await
}

async fn fail<C: Communicator>(comm: &C) -> Done {
    if comm.rank() == 1 {
        return Err(CommError::program(1, "no pivot"));
    }
    deadlock(comm).await
}

async fn kill<C: Communicator>(comm: &C) -> Done {
    if comm.rank() == 1 {
        // SAFETY: sends a signal to this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    deadlock(comm).await
}

/// Each rank writes its part of one file and reads the next rank's, by every way to files there is.
async fn files<C: Communicator>(comm: &C) -> Done {
    let (rank, size) = (comm.rank(), comm.size());
    assert!(comm.file_systems().contains(&FileSystem::Posix));
    for &system in comm.file_systems() {
        let files = comm.files(system).expect("what is listed is there");
        let name = format!("weft-ranks-{system}-{}", std::process::id());
        let name = broadcast(comm, 0, Payload::of(&padded(&name)), Choice::Auto).await?;
        let name = String::from_utf8_lossy(name.values::<u8>().expect("data was sent")).trim().to_owned();
        let path = format!("{}/{name}", files.scratch_directory());
        let own: Vec<u8> = (0..5000).map(|i| (i * 7 + rank) as u8).collect();
        let file = files.open(&path, Access::ReadWrite).await?;
        files.write_at(file, 5000 * rank as u64, Payload::of(&own)).await?;
        files.write_at(file, 5000 * size as u64, Payload::Phantom(100)).await?;
        files.sync(file).await?;
        files.close(file).await?;
        barrier(comm, Choice::Auto).await?;
        let file = files.open(&path, Access::Read).await?;
        files.drop_cached(file).await?;
        assert_eq!(files.length(file).await?, 5000 * size as u64 + 100, "{system}");
        let next = (rank + 1) % size;
        let read = files.read_at(file, 5000 * next as u64 + 10, Payload::of(&[0u8; 2])).await?;
        assert_eq!(read, Payload::of(&[(70 + next) as u8, (77 + next) as u8]), "{system}");
        files.read_at(file, 0, Payload::Phantom(5000)).await?;
        let beyond = files.read_at(file, 5000 * size as u64, Payload::Phantom(200)).await.unwrap_err().to_string();
        assert!(beyond.ends_with("the file ends before the bytes asked for: it is truncated"), "{system}: {beyond}");
        files.close(file).await?;
        let closed = files.sync(file).await.unwrap_err().to_string();
        assert!(closed.ends_with("the file is not open"), "{system}: {closed}");
        barrier(comm, Choice::Auto).await?;
        if rank == 0 {
            let file = files.open(&path, Access::ReadWrite).await?;
            files.preallocate(file, 100_000).await?;
            assert_eq!(files.length(file).await?, 100_000, "{system}");
            files.close(file).await?;
            files.unlink(&path).await?;
            assert!(!std::path::Path::new(&path).exists(), "{system}");
        }
    }
    Ok(())
}

/// A text of a length that all ranks know.
fn padded(text: &str) -> [u8; 64] {
    let mut bytes = [b' '; 64];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// The last way to files is MPI's where the library has it.
async fn files_missing<C: Communicator>(comm: &C) -> Done {
    let system = *comm.file_systems().last().expect("there is a way to files");
    let files = comm.files(system).expect("what is listed is there");
    files.open("/nowhere/at/all", Access::Read).await.map(drop)
}

fn play(scenario: &str) -> Result<(), weft_comm::RunError> {
    let mut options = Options::of_environment(None)?;
    if let Watch::Reporting { after } = &mut options.watch {
        *after = Duration::from_millis(500);
    }
    let backend = Backend::start(options)?;
    // Twice, so that what one run leaves behind is seen by the next.
    backend.run(&Scenario(scenario.to_owned()))?;
    backend.run(&Scenario(scenario.to_owned()))?;
    let library = backend.library();
    println!("rank {} of {}: ok ({}: {})", backend.rank(), backend.size(), library.abi, library.version);
    Ok(())
}

fn main() -> ExitCode {
    let scenario = std::env::args().nth(1).unwrap_or_default();
    match play(&scenario) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ranks: {error}");
            ExitCode::FAILURE
        }
    }
}
