//! Collectives that are started and waited for, and how much computation fits between; persistent ones.
//!
//! The overlap is that of the OSU micro-benchmarks (7.5, `osu_util_mpi.c`, `calculate_and_print_stats`, and its README):
//! the collective is timed alone, then with as long a computation between its start and the wait for it. With times
//! t_alone, t_computation = t_alone and t_overall, the overlap is max(0, 1 - (t_overall - t_computation)/t_alone).

use std::pin::pin;
use std::task::Poll;

use weft_comm::collective::{Choice, broadcast};
use weft_comm::prepared::{Feature, Progress};
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, Work};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::collectives::{BLOCKS, name_of};
use crate::description::{Group, Takes, takes};
use crate::operation::Operation;
use crate::row::Row;
use crate::session::{Session, Step};
use crate::statistics::Statistics;
use crate::window::windowed;

/// A benchmark of a nonblocking and one of a persistent collective.
macro_rules! overlapping {
    (
        $kind:ident, [$($takes:expr),*],
        $started:ident $name:literal $summary:literal [$($alias:literal),*] $example:literal,
        $persistent:ident $again:literal $said:literal [$($other:literal),*] $shown:literal
    ) => {
        #[doc = $summary]
        pub struct $started;

        impl Benchmark for $started {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const GROUP: Group = Group::Overlap;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
            const TAKES: &'static [Takes] = &[$($takes),*];
            const EXAMPLE: &'static str = $example;
            const NEEDS: Option<Feature> = Some(Feature::Nonblocking);

            async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<$started> {
                Ok(Ok(Some($started)))
            }

            async fn measure<C: Communicator>(
                &self,
                session: &Session<'_, C>,
                point: Point,
            ) -> Result<Option<Row>, CommError> {
                overlapped(session, CollectiveKind::$kind, point.size).await
            }
        }

        #[doc = $said]
        pub struct $persistent;

        impl Benchmark for $persistent {
            const NAME: &'static str = $again;
            const SUMMARY: &'static str = $said;
            const GROUP: Group = Group::Overlap;
            const ALIASES: &'static [&'static str] = &[$($other),*];
            const TAKES: &'static [Takes] = &[$($takes),*];
            const EXAMPLE: &'static str = $shown;
            const NEEDS: Option<Feature> = Some(Feature::Persistent);

            async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<$persistent> {
                Ok(Ok(Some($persistent)))
            }

            async fn measure<C: Communicator>(
                &self,
                session: &Session<'_, C>,
                point: Point,
            ) -> Result<Option<Row>, CommError> {
                persistent(session, CollectiveKind::$kind, point.size).await
            }
        }
    };
}

overlapping! {
    Barrier, [],
    IBarrier "ibarrier" "barrier started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-ibarrier", "imb-ibarrier"] "weft measure ibarrier --ranks 2",
    PersistentBarrier "barrier-persistent" "barrier made once and started again and again"
    ["osu-barrier-persistent"] "weft measure barrier-persistent --ranks 2"
}

overlapping! {
    Broadcast, [takes("bytes").of("message").default(BLOCKS).least(1)],
    IBroadcast "ibroadcast" "broadcast started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-ibcast", "imb-ibcast", "ibcast"] "weft measure ibroadcast --ranks 2 --bytes 8,64K",
    PersistentBroadcast "broadcast-persistent" "broadcast made once and started again and again"
    ["osu-bcast-persistent", "bcast-persistent"] "weft measure broadcast-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Reduce, [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8)],
    IReduce "ireduce" "reduce started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-ireduce", "imb-ireduce"] "weft measure ireduce --ranks 2 --bytes 8,64K",
    PersistentReduce "reduce-persistent" "reduce made once and started again and again"
    ["osu-reduce-persistent"] "weft measure reduce-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Allreduce, [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8)],
    IAllreduce "iallreduce" "allreduce started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iallreduce", "imb-iallreduce"] "weft measure iallreduce --ranks 2 --bytes 8,64K",
    PersistentAllreduce "allreduce-persistent" "allreduce made once and started again and again"
    ["osu-allreduce-persistent"] "weft measure allreduce-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Gather, [takes("bytes").of("block of one rank").default(BLOCKS).least(1)],
    IGather "igather" "gather started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-igather", "imb-igather"] "weft measure igather --ranks 2 --bytes 8,64K",
    PersistentGather "gather-persistent" "gather made once and started again and again"
    ["osu-gather-persistent"] "weft measure gather-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Scatter, [takes("bytes").of("block of one rank").default(BLOCKS).least(1)],
    IScatter "iscatter" "scatter started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iscatter", "imb-iscatter"] "weft measure iscatter --ranks 2 --bytes 8,64K",
    PersistentScatter "scatter-persistent" "scatter made once and started again and again"
    ["osu-scatter-persistent"] "weft measure scatter-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Allgather, [takes("bytes").of("block of one rank").default(BLOCKS).least(1)],
    IAllgather "iallgather" "allgather started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iallgather", "imb-iallgather"] "weft measure iallgather --ranks 2 --bytes 8,64K",
    PersistentAllgather "allgather-persistent" "allgather made once and started again and again"
    ["osu-allgather-persistent"] "weft measure allgather-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Alltoall, [takes("bytes").of("block for one rank").default(BLOCKS).least(1)],
    IAlltoall "ialltoall" "alltoall started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-ialltoall", "imb-ialltoall"] "weft measure ialltoall --ranks 2 --bytes 8,64K",
    PersistentAlltoall "alltoall-persistent" "alltoall made once and started again and again"
    ["osu-alltoall-persistent"] "weft measure alltoall-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Scan, [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8)],
    IScan "iscan" "scan started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iscan", "imb-iscan"] "weft measure iscan --ranks 2 --bytes 8,64K",
    PersistentScan "scan-persistent" "scan made once and started again and again"
    ["osu-scan-persistent"] "weft measure scan-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Exscan, [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8)],
    IExscan "iexscan" "exscan started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iexscan", "imb-iexscan"] "weft measure iexscan --ranks 2 --bytes 8,64K",
    PersistentExscan "exscan-persistent" "exscan made once and started again and again"
    ["osu-exscan-persistent"] "weft measure exscan-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    ReduceScatter, [takes("bytes").of("block of one rank").default(BLOCKS).least(1).multiple_of(8)],
    IReduceScatter "ireduce-scatter" "reduce-scatter started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-ireduce-scatter", "imb-ireduce-scatter", "imb-ireduce-scatter-block", "osu-ireduce-scatter-block"] "weft measure ireduce-scatter --ranks 2 --bytes 8,64K",
    PersistentReduceScatter "reduce-scatter-persistent" "reduce-scatter made once and started again and again"
    ["osu-reduce-scatter-persistent"] "weft measure reduce-scatter-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Gatherv, [takes("bytes").of("block of one rank, on average").default(BLOCKS).least(1)],
    IGatherv "igatherv" "gatherv started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-igatherv", "imb-igatherv"] "weft measure igatherv --ranks 2 --bytes 8,64K",
    PersistentGatherv "gatherv-persistent" "gatherv made once and started again and again"
    ["osu-gatherv-persistent"] "weft measure gatherv-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Scatterv, [takes("bytes").of("block of one rank, on average").default(BLOCKS).least(1)],
    IScatterv "iscatterv" "scatterv started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iscatterv", "imb-iscatterv"] "weft measure iscatterv --ranks 2 --bytes 8,64K",
    PersistentScatterv "scatterv-persistent" "scatterv made once and started again and again"
    ["osu-scatterv-persistent"] "weft measure scatterv-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Allgatherv, [takes("bytes").of("block of one rank, on average").default(BLOCKS).least(1)],
    IAllgatherv "iallgatherv" "allgatherv started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-iallgatherv", "imb-iallgatherv"] "weft measure iallgatherv --ranks 2 --bytes 8,64K",
    PersistentAllgatherv "allgatherv-persistent" "allgatherv made once and started again and again"
    ["osu-allgatherv-persistent"] "weft measure allgatherv-persistent --ranks 2 --bytes 8,64K"
}

overlapping! {
    Alltoallv, [takes("bytes").of("block for one rank, on average").default(BLOCKS).least(1)],
    IAlltoallv "ialltoallv" "alltoallv started, computation for as long as it takes alone, and the wait: overlap"
    ["osu-ialltoallv", "imb-ialltoallv"] "weft measure ialltoallv --ranks 2 --bytes 8,64K",
    PersistentAlltoallv "alltoallv-persistent" "alltoallv made once and started again and again"
    ["osu-alltoallv-persistent"] "weft measure alltoallv-persistent --ranks 2 --bytes 8,64K"
}

/// A persistent collective, started and waited for.
async fn persistent<C: Communicator>(
    session: &Session<'_, C>,
    kind: CollectiveKind,
    bytes: Option<u64>,
) -> Result<Option<Row>, CommError> {
    let mut operation = Operation::new(session, kind, Choice::Auto, Progress::Persistent, bytes.unwrap_or(0) as usize)?;
    operation.check(session).await?;
    let windowed = windowed(session, &mut operation).await?;
    Ok(windowed.map(|windowed| Row {
        algorithm: Some("native".to_owned()),
        share_late: Some(windowed.share_late),
        ..session.row(windowed.times, session.comm.size(), bytes)
    }))
}

/// A nonblocking collective alone, and then with as long a computation; rank 0 gets the row.
async fn overlapped<C: Communicator>(
    session: &Session<'_, C>,
    kind: CollectiveKind,
    bytes: Option<u64>,
) -> Result<Option<Row>, CommError> {
    let length = bytes.unwrap_or(0) as usize;
    let mut operation = Operation::new(session, kind, Choice::Auto, Progress::Nonblocking, length)?;
    operation.check(session).await?;
    let algorithm = name_of(&session.comm, kind, Choice::Auto, operation.typical_bytes(length));
    let mut step = Overlapped { operation, seconds: 0.0 };
    let alone = windowed(session, &mut step).await?;
    let alone = alone.map(|windowed| Statistics::of(&windowed.times).median);
    step.seconds = agreed(session, alone.unwrap_or(0.0)).await?;
    let overall = windowed(session, &mut step).await?;
    Ok(alone.zip(overall).map(|(alone, windowed)| {
        let row = session.row(windowed.times, session.comm.size(), bytes);
        Row {
            algorithm: Some(algorithm.to_owned()),
            share_late: Some(windowed.share_late),
            quiet_seconds: Some(alone),
            overlap: overlap(alone, row.seconds),
            ..row
        }
    }))
}

/// The share of the collective that went on while the rank computed for as long as the collective takes alone.
fn overlap(alone: f64, overall: f64) -> Option<f64> {
    (alone > 0.0).then(|| (1.0 - (overall - alone) / alone).clamp(0.0, 1.0))
}

/// A number of rank 0's, on all ranks.
async fn agreed<C: Communicator>(session: &Session<'_, C>, number: f64) -> Result<f64, CommError> {
    let all = broadcast(&session.comm, 0, Payload::of(&[number]), Choice::Auto).await?;
    let number = all.values::<f64>().and_then(|values| values.first().copied());
    number.ok_or_else(|| session.error("a broadcast of one number brought none".to_owned()))
}

/// A collective with a computation between its start and the wait for it.
struct Overlapped {
    operation: Operation,
    /// Of the computation.
    seconds: f64,
}

impl<C: Communicator> Step<C> for Overlapped {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let computation = Work::Spin(self.seconds);
        if let Some(prepared) = Step::<C>::prepared(&mut self.operation) {
            prepared.start()?;
            comm.compute(computation).await;
            return prepared.finish();
        }
        // In virtual time the future of the collective is what is under way: polled once, it has sent what it can.
        let mut collective = pin!(self.operation.step(comm));
        let first = std::future::poll_fn(|context| Poll::Ready(collective.as_mut().poll(context))).await;
        comm.compute(computation).await;
        match first {
            Poll::Ready(done) => done,
            Poll::Pending => collective.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_the_share_of_the_collective_that_computation_hides() {
        assert_eq!(overlap(2.0, 2.0), Some(1.0), "all of it");
        assert_eq!(overlap(2.0, 4.0), Some(0.0), "none of it");
        assert_eq!(overlap(2.0, 3.0), Some(0.5));
        assert_eq!(overlap(2.0, 5.0), Some(0.0), "slower together than one after the other");
        assert_eq!(overlap(0.0, 1.0), None);
    }
}
