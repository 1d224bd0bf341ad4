//! Barrier, broadcast and the others, by ranks, length and algorithm.

use weft_comm::collective::{Choice, choose};
use weft_comm::prepared::Progress;
use weft_comm::{CollectiveKind, CommError, Communicator};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::between_barriers::between_barriers;
use crate::description::{Group, Takes, takes};
use crate::operation::Operation;
use crate::row::Row;
use crate::session::Session;
use crate::window::windowed;

/// Powers of four from 8 bytes to 128 KiB: collectives hold up to `ranks` times as much.
pub(crate) const BLOCKS: &[u64] = &[8, 32, 128, 512, 2048, 8192, 32768, 131_072];

/// That a benchmark takes how it is timed.
const TIMING: Takes = takes("timing").choices(&["window", BARRIER]);

const BARRIER: &str = "barrier";

/// That a benchmark takes the algorithms of a collective, besides `auto` and `native`.
macro_rules! algorithm {
    ($kind:ident) => {
        $crate::description::takes("algorithm").choices({
            const ALGORITHMS: &[weft_comm::collective::Algorithm] =
                weft_comm::collective::algorithms(weft_comm::CollectiveKind::$kind);
            const NAMES: [&str; ALGORITHMS.len() + 2] = {
                let mut names = ["auto"; ALGORITHMS.len() + 2];
                names[1] = "native";
                let mut index = 0;
                while index < ALGORITHMS.len() {
                    names[index + 2] = ALGORITHMS[index].name();
                    index += 1;
                }
                names
            };
            &NAMES
        })
    };
}
pub(crate) use algorithm;

/// A benchmark of one collective: its kind, name, summary, aliases, what it takes, an example, and benchmarks of others that
/// it is nearest to.
macro_rules! collective {
    (
        $kind:ident, $name:literal, $summary:literal, [$($alias:literal),*], [$($takes:expr),*], $example:literal
        $(, nearest of [$($near:literal),*])?
    ) => {
        #[doc = $summary]
        pub struct $kind(Choice);

        impl Benchmark for $kind {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const GROUP: Group = Group::Collective;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
            $(const NEAREST_OF: &'static [&'static str] = &[$($near),*];)?
            const TAKES: &'static [Takes] = &[$($takes),*];
            const EXAMPLE: &'static str = $example;

            async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<$kind> {
                Ok(session.request.choice().map(|choice| Some($kind(choice))))
            }

            async fn measure<C: Communicator>(
                &self,
                session: &Session<'_, C>,
                point: Point,
            ) -> Result<Option<Row>, CommError> {
                collective(session, CollectiveKind::$kind, self.0, point.size).await
            }
        }
    };
}

collective! {
    Barrier, "barrier", "no rank goes on before all have come",
    ["osu-barrier", "imb-barrier", "mpi-barrier"], [algorithm!(Barrier), TIMING], "weft measure barrier --ranks 2:16"
}

collective! {
    Broadcast, "broadcast", "one rank's message to all",
    ["bcast", "osu-bcast", "imb-bcast", "mpi-bcast"], [takes("bytes").of("message").default(BLOCKS).least(1), algorithm!(Broadcast), TIMING], "weft measure broadcast --ranks 2:16 --bytes 8,1K,64K",
    nearest of ["imb-bcastmt"]
}

collective! {
    Reduce, "reduce", "the sum of all ranks' vectors on one rank",
    ["osu-reduce", "imb-reduce", "mpi-reduce"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Reduce), TIMING], "weft measure reduce --ranks 2:16 --bytes 8,1K,64K",
    nearest of ["imb-reducemt", "imb-reduce-local"]
}

collective! {
    Allreduce, "allreduce", "the sum of all ranks' vectors on all ranks",
    ["osu-allreduce", "imb-allreduce", "mpi-allreduce"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Allreduce), TIMING], "weft measure allreduce --ranks 2:16 --bytes 8,1K,64K",
    nearest of ["imb-allreducemt"]
}

collective! {
    Gather, "gather", "a block of every rank to one rank",
    ["osu-gather", "imb-gather", "mpi-gather"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1), algorithm!(Gather), TIMING], "weft measure gather --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Scatter, "scatter", "a block for every rank from one rank",
    ["osu-scatter", "imb-scatter", "mpi-scatter"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1), algorithm!(Scatter), TIMING], "weft measure scatter --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Allgather, "allgather", "a block of every rank to all ranks",
    ["osu-allgather", "imb-allgather", "mpi-allgather"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1), algorithm!(Allgather), TIMING], "weft measure allgather --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Alltoall, "alltoall", "a block of every rank for every rank",
    ["osu-alltoall", "imb-alltoall", "mpi-alltoall"], [takes("bytes").of("block for one rank").default(BLOCKS).least(1), algorithm!(Alltoall), TIMING], "weft measure alltoall --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Alltoallv, "alltoallv", "as alltoall, with blocks of 0 to 2 times the length (the same at every run of a seed)",
    ["osu-alltoallv", "imb-alltoallv", "mpi-alltoallv"], [takes("bytes").of("block for one rank, on average").default(BLOCKS).least(1), algorithm!(Alltoallv), TIMING], "weft measure alltoallv --ranks 2:16 --bytes 8,1K,64K",
    nearest of ["osu-alltoallw", "osu-ialltoallw", "osu-alltoallw-persistent"]
}

collective! {
    Scan, "scan", "the sums of the vectors of ranks 0 to r on every rank r",
    ["osu-scan", "imb-scan", "mpi-scan"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Scan), TIMING], "weft measure scan --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Exscan, "exscan", "the sums of the vectors of the ranks before r on every rank r",
    ["osu-exscan", "imb-exscan", "mpi-exscan"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Exscan), TIMING], "weft measure exscan --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    ReduceScatter, "reduce-scatter", "the sum of all ranks' vectors, a block of it on every rank",
    ["osu-reduce-scatter", "osu-reduce-scatter-block", "imb-reduce-scatter", "imb-reduce-scatter-block", "mpi-reduce-scatter"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1).multiple_of(8), algorithm!(ReduceScatter), TIMING], "weft measure reduce-scatter --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Gatherv, "gatherv", "as gather, with blocks of 0 to 2 times the length (the same at every run of a seed)",
    ["osu-gatherv", "imb-gatherv", "mpi-gatherv"], [takes("bytes").of("block of one rank, on average").default(BLOCKS).least(1), algorithm!(Gatherv), TIMING], "weft measure gatherv --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Scatterv, "scatterv", "as scatter, with blocks of 0 to 2 times the length (the same at every run of a seed)",
    ["osu-scatterv", "imb-scatterv", "mpi-scatterv"], [takes("bytes").of("block of one rank, on average").default(BLOCKS).least(1), algorithm!(Scatterv), TIMING], "weft measure scatterv --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Allgatherv, "allgatherv", "as allgather, with blocks of 0 to 2 times the length (the same at every run of a seed)",
    ["osu-allgatherv", "imb-allgatherv", "mpi-allgatherv"], [takes("bytes").of("block of one rank, on average").default(BLOCKS).least(1), algorithm!(Allgatherv), TIMING], "weft measure allgatherv --ranks 2:16 --bytes 8,1K,64K"
}

/// One collective on all ranks of the session; rank 0 gets the row.
async fn collective<C: Communicator>(
    session: &Session<'_, C>,
    kind: CollectiveKind,
    choice: Choice,
    bytes: Option<u64>,
) -> Result<Option<Row>, CommError> {
    let size = session.comm.size();
    let length = bytes.unwrap_or(0) as usize;
    let mut operation = Operation::new(session, kind, choice, Progress::Blocking, length)?;
    operation.check(session).await?;
    let algorithm = name_of(&session.comm, kind, choice, operation.typical_bytes(length));
    if session.request.timing.as_deref() == Some(BARRIER) {
        let times = between_barriers(session, &mut operation).await?;
        return Ok(times.map(|times| Row {
            algorithm: Some(algorithm.to_owned()),
            timing: Some(BARRIER.to_owned()),
            ..session.row(times, size, bytes)
        }));
    }
    let windowed = windowed(session, &mut operation).await?;
    Ok(windowed.map(|windowed| Row {
        algorithm: Some(algorithm.to_owned()),
        share_late: Some(windowed.share_late),
        ..session.row(windowed.times, size, bytes)
    }))
}

/// The algorithm that will run.
pub(crate) fn name_of<C: Communicator>(comm: &C, kind: CollectiveKind, choice: Choice, bytes: usize) -> &'static str {
    match choice {
        Choice::Fixed(algorithm) => algorithm.name(),
        Choice::Native => "native",
        Choice::Auto if comm.native().is_some() => "native",
        Choice::Auto => choose(kind, comm.size(), bytes).name(),
    }
}
