//! The numbers of messages that the documentation of the collectives states.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_comm::collective::*;
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, Program, Reduction, Tag};
use weft_threads::{Options, run};

/// A communicator that counts what is sent.
#[derive(Clone)]
struct Counted<C> {
    inner: C,
    sent: Arc<AtomicUsize>,
}

impl<C: Communicator> Communicator for Counted<C> {
    type Send = C::Send;
    type Receive = C::Receive;

    weft_comm::forward_to_inner!(
        rank,
        size,
        wtime,
        irecv,
        probe,
        iprobe,
        compute,
        world_rank,
        hops_to,
        enter_collective,
        leave_collective
    );

    fn isend(&self, to: usize, tag: Tag, payload: Payload) -> C::Send {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.inner.isend(to, tag, payload)
    }
    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, CommError> {
        let part = self.inner.split(color, key).await?;
        Ok(part.map(|inner| Counted { inner, sent: Arc::clone(&self.sent) }))
    }
}

#[derive(Clone)]
struct Once {
    kind: CollectiveKind,
    algorithm: Algorithm,
    bytes: usize,
    sent: Arc<AtomicUsize>,
}

impl Program for Once {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let comm = Counted { inner: comm, sent: self.sent };
        let (rank, size) = (comm.rank(), comm.size());
        let (block, whole) = (Payload::Phantom(self.bytes), Payload::Phantom(size * self.bytes));
        let (choice, sum) = (Choice::Fixed(self.algorithm), Reduction::SUM_FLOAT64);
        match self.kind {
            CollectiveKind::Barrier => barrier(&comm, choice).await?,
            CollectiveKind::Broadcast => drop(broadcast(&comm, 0, block, choice).await?),
            CollectiveKind::Reduce => drop(reduce(&comm, 0, block, sum, choice).await?),
            CollectiveKind::Allreduce => drop(allreduce(&comm, block, sum, choice).await?),
            CollectiveKind::Gather => drop(gather(&comm, 0, &block, None, choice).await?),
            CollectiveKind::Scatter => drop(scatter(&comm, 0, (rank == 0).then_some(&whole), block, choice).await?),
            CollectiveKind::Allgather => drop(allgather(&comm, &block, None, choice).await?),
            CollectiveKind::Alltoall => drop(alltoall(&comm, &whole, None, choice).await?),
            CollectiveKind::Alltoallv => {
                let parts = vec![self.bytes; size];
                drop(alltoallv(&comm, &whole, &parts, &parts, None, choice).await?);
            }
            CollectiveKind::Scan => drop(scan(&comm, block, sum, choice).await?),
            CollectiveKind::Exscan => drop(exscan(&comm, block, sum, choice).await?),
            CollectiveKind::ReduceScatter => drop(reduce_scatter(&comm, &whole, None, sum, choice).await?),
            CollectiveKind::Gatherv => drop(gatherv(&comm, 0, &block, &vec![self.bytes; size], None, choice).await?),
            CollectiveKind::Scatterv => {
                let parts = vec![self.bytes; size];
                drop(scatterv(&comm, 0, (rank == 0).then_some(&whole), &parts, block, choice).await?);
            }
            CollectiveKind::Allgatherv => {
                drop(allgatherv(&comm, &block, &vec![self.bytes; size], None, choice).await?);
            }
            CollectiveKind::Split => drop(divide(&comm, Some(0), 0).await?),
        }
        Ok(())
    }
}

/// The messages that the documentation states for `p` ranks; `None` where it does so for powers of two only.
fn stated(kind: CollectiveKind, algorithm: Algorithm, p: usize, bytes: usize) -> Option<usize> {
    use Algorithm::*;
    use CollectiveKind::*;
    let rounds = p.next_power_of_two().ilog2() as usize;
    let of_power_of_two = |messages: usize| p.is_power_of_two().then_some(messages);
    match (kind, algorithm) {
        (Barrier, Binomial) => Some(2 * (p - 1)),
        (Broadcast, ScatterAllgather) => Some(p - 1 + p * (p - 1)),
        (Broadcast, Chain) => Some(bytes.div_ceil(CHAIN_SEGMENT) * (p - 1)),
        (Reduce, Rabenseifner) => of_power_of_two(p * rounds + p - 1),
        (Allreduce, Rabenseifner) => of_power_of_two(2 * p * rounds),
        (Allreduce, Ring) => Some(2 * p * (p - 1)),
        (Allreduce | Allgather, RecursiveDoubling) => of_power_of_two(p * rounds),
        (Scan | Exscan, RecursiveDoubling) => Some(p * rounds + 1 - (1 << rounds)),
        (_, Binomial | Linear) => Some(p - 1),
        (_, Dissemination | Bruck) => Some(p * rounds),
        (_, Ring | Spread | Pairwise) => Some(p * (p - 1)),
        other => panic!("nothing is stated of {other:?}"),
    }
}

#[test]
fn as_many_messages_as_the_documentation_states() {
    let bytes = 3 * CHAIN_SEGMENT;
    for kind in CollectiveKind::ALL {
        for &algorithm in algorithms(kind) {
            for p in 1..=8 {
                let sent = Arc::new(AtomicUsize::new(0));
                run(p, &Once { kind, algorithm, bytes, sent: Arc::clone(&sent) }, &Options::default()).unwrap();
                let sent = sent.load(Ordering::Relaxed);
                assert!(
                    stated(kind, algorithm, p, bytes).is_none_or(|n| n == sent),
                    "{kind} by {algorithm} on {p}: {sent}"
                );
            }
        }
    }
}
