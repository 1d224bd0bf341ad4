//! Barrier, broadcast and the others, by ranks, length and algorithm.

use rand::RngExt;
use weft_comm::collective::{
    Choice, allgather, allreduce, alltoall, alltoallv, barrier, broadcast, choose, gather, reduce, scan, scatter,
};
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, Reduction};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::row::Row;
use crate::session::{Session, Step};
use crate::window::windowed;

/// The rank that sends, receives or combines where one does.
const ROOT: usize = 0;

/// Powers of four from 8 bytes to 128 KiB: collectives hold up to `ranks` times as much.
const BLOCKS: &[u64] = &[8, 32, 128, 512, 2048, 8192, 32768, 131_072];

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

/// A benchmark of one collective: its kind, name, summary, aliases, what it takes, and an example.
macro_rules! collective {
    ($kind:ident, $name:literal, $summary:literal, [$($alias:literal),*], [$($takes:expr),*], $example:literal) => {
        #[doc = $summary]
        pub struct $kind(Choice);

        impl Benchmark for $kind {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const GROUP: Group = Group::Collective;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
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
    ["osu-barrier", "imb-barrier", "mpi-barrier"], [algorithm!(Barrier)], "weft measure barrier --ranks 2:16"
}

collective! {
    Broadcast, "broadcast", "one rank's message to all",
    ["bcast", "osu-bcast", "imb-bcast", "mpi-bcast"], [takes("bytes").of("message").default(BLOCKS).least(1), algorithm!(Broadcast)], "weft measure broadcast --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Reduce, "reduce", "the sum of all ranks' vectors on one rank",
    ["osu-reduce", "imb-reduce", "mpi-reduce"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Reduce)], "weft measure reduce --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Allreduce, "allreduce", "the sum of all ranks' vectors on all ranks",
    ["osu-allreduce", "imb-allreduce", "mpi-allreduce"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Allreduce)], "weft measure allreduce --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Gather, "gather", "a block of every rank to one rank",
    ["osu-gather", "imb-gather", "mpi-gather"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1), algorithm!(Gather)], "weft measure gather --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Scatter, "scatter", "a block for every rank from one rank",
    ["osu-scatter", "imb-scatter", "mpi-scatter"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1), algorithm!(Scatter)], "weft measure scatter --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Allgather, "allgather", "a block of every rank to all ranks",
    ["osu-allgather", "imb-allgather", "mpi-allgather"], [takes("bytes").of("block of one rank").default(BLOCKS).least(1), algorithm!(Allgather)], "weft measure allgather --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Alltoall, "alltoall", "a block of every rank for every rank",
    ["osu-alltoall", "imb-alltoall", "mpi-alltoall"], [takes("bytes").of("block for one rank").default(BLOCKS).least(1), algorithm!(Alltoall)], "weft measure alltoall --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Alltoallv, "alltoallv", "as alltoall, with blocks of 0 to 2 times the length (the same at every run of a seed)",
    ["osu-alltoallv", "imb-alltoallv", "mpi-alltoallv"], [takes("bytes").of("block for one rank, on average").default(BLOCKS).least(1), algorithm!(Alltoallv)], "weft measure alltoallv --ranks 2:16 --bytes 8,1K,64K"
}

collective! {
    Scan, "scan", "the sums of the vectors of ranks 0 to r on every rank r",
    ["osu-scan", "imb-scan", "mpi-scan"], [takes("bytes").of("vector").default(BLOCKS).least(1).multiple_of(8), algorithm!(Scan)], "weft measure scan --ranks 2:16 --bytes 8,1K,64K"
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
    let mut operation = Operation::new(session, kind, choice, length);
    let algorithm = name_of(&session.comm, kind, choice, operation.typical_bytes(length));
    let windowed = windowed(session, &mut operation).await?;
    Ok(windowed.map(|windowed| Row {
        algorithm: Some(algorithm.to_owned()),
        share_late: Some(windowed.share_late),
        ..session.row(windowed.times, size, bytes)
    }))
}

/// The algorithm that will run.
fn name_of<C: Communicator>(comm: &C, kind: CollectiveKind, choice: Choice, bytes: usize) -> &'static str {
    match choice {
        Choice::Fixed(algorithm) => algorithm.name(),
        Choice::Native => "native",
        Choice::Auto if comm.native().is_some() => "native",
        Choice::Auto => choose(kind, comm.size(), bytes).name(),
    }
}

/// The calls of one collective with one set of buffers.
struct Operation {
    kind: CollectiveKind,
    choice: Choice,
    input: Payload,
    output: Payload,
    send_bytes: Vec<usize>,
    recv_bytes: Vec<usize>,
}

impl Operation {
    fn new<C: Communicator>(
        session: &Session<'_, C>,
        kind: CollectiveKind,
        choice: Choice,
        length: usize,
    ) -> Operation {
        let (rank, size) = (session.comm.rank(), session.comm.size());
        let whole_on_root = if rank == ROOT { size * length } else { 0 };
        let (mut send_bytes, mut recv_bytes) = (Vec::new(), Vec::new());
        let (input, output) = match kind {
            CollectiveKind::Barrier | CollectiveKind::Split => (0, 0),
            CollectiveKind::Broadcast | CollectiveKind::Reduce | CollectiveKind::Allreduce | CollectiveKind::Scan => {
                (length, 0)
            }
            CollectiveKind::Gather => (length, whole_on_root),
            CollectiveKind::Scatter => (whole_on_root, length),
            CollectiveKind::Allgather => (length, size * length),
            CollectiveKind::Alltoall => (size * length, size * length),
            CollectiveKind::Alltoallv => {
                let seed = session.request.seed;
                send_bytes = (0..size).map(|to| part_length(seed, rank, to, size, length)).collect();
                recv_bytes = (0..size).map(|from| part_length(seed, from, rank, size, length)).collect();
                (send_bytes.iter().sum(), recv_bytes.iter().sum())
            }
        };
        let (input, output) = (session.buffer(input), session.buffer(output));
        Operation { kind, choice, input, output, send_bytes, recv_bytes }
    }

    /// The length by which the algorithm is chosen.
    fn typical_bytes(&self, length: usize) -> usize {
        match self.kind {
            CollectiveKind::Alltoallv => self.input.len() / self.send_bytes.len(),
            _ => length,
        }
    }
}

/// The length of the part of rank `from` for rank `to` in an alltoallv: 0 to twice `length`, all equally likely.
fn part_length(seed: u64, from: usize, to: usize, size: usize, length: usize) -> usize {
    weft_base::generator(seed, (from * size + to) as u64).random_range(0..=2 * length)
}

impl<C: Communicator> Step<C> for Operation {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let choice = self.choice;
        let sum = Reduction::SUM_FLOAT64;
        match self.kind {
            CollectiveKind::Barrier => barrier(comm, choice).await?,
            CollectiveKind::Broadcast => self.input = broadcast(comm, ROOT, self.input.take(), choice).await?,
            CollectiveKind::Reduce => self.input = reduce(comm, ROOT, self.input.take(), sum, choice).await?,
            CollectiveKind::Allreduce => self.input = allreduce(comm, self.input.take(), sum, choice).await?,
            CollectiveKind::Scan => self.input = scan(comm, self.input.take(), sum, choice).await?,
            CollectiveKind::Gather => {
                let whole = gather(comm, ROOT, &self.input, Some(self.output.take()), choice).await?;
                self.output = whole.unwrap_or(Payload::EMPTY);
            }
            CollectiveKind::Scatter => {
                let whole = (comm.rank() == ROOT).then_some(&self.input);
                self.output = scatter(comm, ROOT, whole, self.output.take(), choice).await?;
            }
            CollectiveKind::Allgather => {
                self.output = allgather(comm, &self.input, Some(self.output.take()), choice).await?;
            }
            CollectiveKind::Alltoall => {
                self.output = alltoall(comm, &self.input, Some(self.output.take()), choice).await?;
            }
            CollectiveKind::Alltoallv => {
                let (out, into) = (&self.send_bytes, &self.recv_bytes);
                self.output = alltoallv(comm, &self.input, out, into, Some(self.output.take()), choice).await?;
            }
            CollectiveKind::Split => unreachable!("split is no benchmark"),
        }
        Ok(())
    }
}
