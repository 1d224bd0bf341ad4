//! Barrier, broadcast and the others, by ranks, length and algorithm.

use rand::RngExt;
use weft_comm::collective::{
    Choice, allgather, allreduce, alltoall, alltoallv, barrier, broadcast, choose, gather, reduce, scan, scatter,
};
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, Reduction};

use crate::row::Row;
use crate::session::{Session, Step};
use crate::window::windowed;

/// The rank that sends, receives or combines where one does.
const ROOT: usize = 0;

/// The collective that a benchmark of this name measures.
pub(crate) fn kind_of(name: &str) -> Option<CollectiveKind> {
    CollectiveKind::ALL.into_iter().find(|kind| kind.name() == name)
}

/// One collective on all ranks of the session; rank 0 gets the row.
pub(crate) async fn collective<C: Communicator>(
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
