//! A collective with one set of buffers: carried out by what the backend has prepared, or by weft's own algorithms.

use rand::RngExt;
use weft_comm::collective::{
    Choice, allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, broadcast, exscan, gather, gatherv, reduce,
    reduce_scatter, scan, scatter, scatterv,
};
use weft_comm::prepared::{Collective, Operation as ToPrepare, Progress};
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, PreparedOperation, Reduction};

use crate::session::{Session, Step};

/// The rank that sends, receives or combines where one does.
const ROOT: usize = 0;

const SUM: Reduction = Reduction::SUM_FLOAT64;

/// The calls of one collective.
pub(crate) struct Operation {
    kind: CollectiveKind,
    choice: Choice,
    input: Payload,
    output: Payload,
    /// Bytes for each rank, and from each rank, where they differ.
    send_bytes: Vec<usize>,
    recv_bytes: Vec<usize>,
    prepared: Option<Box<dyn PreparedOperation>>,
}

/// What one rank sends to each and receives from each.
struct Lengths {
    send: Vec<usize>,
    receive: Vec<usize>,
}

impl Lengths {
    fn of<C: Communicator>(session: &Session<'_, C>, kind: CollectiveKind, length: usize) -> Lengths {
        use CollectiveKind::*;
        let (rank, size, seed) = (session.comm.rank(), session.comm.size(), session.request.seed);
        let on_root = |lengths: Vec<usize>| if rank == ROOT { lengths } else { Vec::new() };
        let each = |of: &dyn Fn(usize) -> usize| (0..size).map(of).collect::<Vec<usize>>();
        let all = || vec![length; size];
        // The part of a rank, whoever it is for.
        let part = |rank: usize| part_length(seed, rank, 0, size, length);
        let (send, receive) = match kind {
            Barrier | Split => (Vec::new(), Vec::new()),
            Broadcast => (on_root(vec![length]), if rank == ROOT { Vec::new() } else { vec![length] }),
            Reduce => (vec![length], on_root(vec![length])),
            Allreduce | Scan | Exscan => (vec![length], vec![length]),
            ReduceScatter => (all(), vec![length]),
            Gather => (vec![length], on_root(all())),
            Scatter => (on_root(all()), vec![length]),
            Allgather => (vec![length], all()),
            Alltoall => (all(), all()),
            Alltoallv => (
                each(&|to| part_length(seed, rank, to, size, length)),
                each(&|from| part_length(seed, from, rank, size, length)),
            ),
            Gatherv => (vec![part(rank)], on_root(each(&part))),
            Scatterv => (on_root(each(&part)), vec![part(rank)]),
            Allgatherv => (vec![part(rank)], each(&part)),
        };
        Lengths { send, receive }
    }
}

/// The length of the part of rank `from` for rank `to` where parts differ: 0 to twice `length`, all equally likely.
fn part_length(seed: u64, from: usize, to: usize, size: usize, length: usize) -> usize {
    weft_base::generator(seed, (from * size + to) as u64).random_range(0..=2 * length)
}

impl Operation {
    /// The collective of `kind` with vectors or blocks of `length` bytes, on all ranks of the session.
    pub fn new<C: Communicator>(
        session: &Session<'_, C>,
        kind: CollectiveKind,
        choice: Choice,
        progress: Progress,
        length: usize,
    ) -> Result<Operation, CommError> {
        let Lengths { send, receive } = Lengths::of(session, kind, length);
        let operations = session.comm.operations().filter(|_| !matches!(choice, Choice::Fixed(_)));
        let prepare = |operations: &dyn weft_comm::Operations| {
            let (send_bytes, receive_bytes) = (send.clone(), receive.clone());
            let collective = Collective { kind, progress, root: ROOT, reduction: SUM, send_bytes, receive_bytes };
            operations.prepare(&ToPrepare::Collective(collective))
        };
        let prepared = operations.map(prepare).transpose()?;
        let in_place = matches!(
            kind,
            CollectiveKind::Broadcast
                | CollectiveKind::Reduce
                | CollectiveKind::Allreduce
                | CollectiveKind::Scan
                | CollectiveKind::Exscan
        );
        let is_prepared = prepared.is_some();
        let buffer = |bytes: usize| if is_prepared { Payload::EMPTY } else { session.buffer(bytes) };
        let (out, into) = (send.iter().sum(), receive.iter().sum());
        let (input, output) = if in_place { (length, 0) } else { (out, into) };
        let (input, output) = (buffer(input), buffer(output));
        let rank_of = |rank: usize| part_length(session.request.seed, rank, 0, session.comm.size(), length);
        let (send_bytes, recv_bytes) = match kind {
            CollectiveKind::Gatherv | CollectiveKind::Scatterv | CollectiveKind::Allgatherv => {
                let all: Vec<usize> = (0..session.comm.size()).map(rank_of).collect();
                (all.clone(), all)
            }
            _ => (send, receive),
        };
        Ok(Operation { kind, choice, input, output, send_bytes, recv_bytes, prepared })
    }

    /// The length by which the algorithm is chosen.
    pub fn typical_bytes(&self, length: usize) -> usize {
        match self.kind {
            CollectiveKind::Alltoallv
            | CollectiveKind::Gatherv
            | CollectiveKind::Scatterv
            | CollectiveKind::Allgatherv => self.send_bytes.iter().sum::<usize>() / self.send_bytes.len(),
            _ => length,
        }
    }

    /// Carries it out once and looks at the result; all ranks call it together.
    pub async fn check<C: Communicator>(&mut self, session: &Session<'_, C>) -> Result<(), CommError> {
        if session.is_phantom() {
            return Ok(());
        }
        let (rank, size) = (session.comm.rank(), session.comm.size());
        let is_reduction = self.is_reduction();
        let own = (rank + 1) as f64;
        // A broadcast overwrites what the other ranks have.
        let mark = if is_reduction { Mark::Number(own) } else { Mark::Byte(byte_of(rank)) };
        mark.fill(self.input_bytes());
        self.step(&session.comm).await?;
        let ranks = size as f64;
        let expected = match self.kind {
            CollectiveKind::Barrier | CollectiveKind::Split => return Ok(()),
            CollectiveKind::Reduce | CollectiveKind::Gather | CollectiveKind::Gatherv if rank != ROOT => return Ok(()),
            CollectiveKind::Exscan if rank == 0 => return Ok(()),
            CollectiveKind::Reduce | CollectiveKind::Allreduce | CollectiveKind::ReduceScatter => {
                Expected::Number(ranks * (ranks + 1.0) / 2.0)
            }
            CollectiveKind::Scan => Expected::Number(own * (own + 1.0) / 2.0),
            CollectiveKind::Exscan => Expected::Number(own * (own - 1.0) / 2.0),
            CollectiveKind::Broadcast | CollectiveKind::Scatter | CollectiveKind::Scatterv => Expected::Of(ROOT),
            _ => Expected::Parts,
        };
        let is_right = self.has(&expected, size);
        if is_right { Ok(()) } else { Err(session.error(format!("{}: rank {rank} has a wrong result", self.kind))) }
    }

    fn is_reduction(&self) -> bool {
        use CollectiveKind::*;
        matches!(self.kind, Reduce | Allreduce | Scan | Exscan | ReduceScatter)
    }

    fn input_bytes(&mut self) -> &mut [u8] {
        match (&mut self.prepared, &mut self.input) {
            (Some(prepared), _) => prepared.input(),
            (None, Payload::Data(buffer)) => buffer,
            (None, Payload::Phantom(_)) => &mut [],
        }
    }

    /// What was written: in place where the collective does that.
    fn result(&mut self) -> &[u8] {
        let in_place = self.output.is_empty() && self.prepared.is_none();
        if let Some(prepared) = &mut self.prepared {
            // The root of a broadcast writes nothing.
            return if prepared.output().is_empty() { prepared.input() } else { prepared.output() };
        }
        match if in_place { &self.input } else { &self.output } {
            Payload::Data(buffer) => buffer,
            Payload::Phantom(_) => &[],
        }
    }

    fn has(&mut self, expected: &Expected, size: usize) -> bool {
        let parts = self.recv_bytes.clone();
        let differing = parts.len() == size;
        let result = self.result();
        match *expected {
            Expected::Number(number) => result.as_chunks().0.iter().all(|&one| f64::from_ne_bytes(one) == number),
            Expected::Of(rank) => result.iter().all(|&byte| byte == byte_of(rank)),
            Expected::Parts => {
                let equal = result.len() / size;
                let mut rest = result;
                (0..size).all(|rank| {
                    let (part, after) = rest.split_at(if differing { parts[rank] } else { equal });
                    rest = after;
                    part.iter().all(|&byte| byte == byte_of(rank))
                }) && rest.is_empty()
            }
        }
    }
}

/// What a rank puts into its input.
enum Mark {
    Number(f64),
    Byte(u8),
}

impl Mark {
    fn fill(&self, bytes: &mut [u8]) {
        match self {
            Mark::Number(number) => {
                bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|element| *element = number.to_ne_bytes());
            }
            Mark::Byte(byte) => bytes.fill(*byte),
        }
    }
}

/// What a result must be.
enum Expected {
    /// This number everywhere.
    Number(f64),
    /// What this rank has sent.
    Of(usize),
    /// A part of every rank, in order.
    Parts,
}

fn byte_of(rank: usize) -> u8 {
    (rank % 251) as u8 + 1
}

impl<C: Communicator> Step<C> for Operation {
    #[inline]
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        match &mut self.prepared {
            Some(prepared) => prepared.run(),
            None => self.by_messages(comm).await,
        }
    }

    fn prepared(&mut self) -> Option<&mut dyn PreparedOperation> {
        Some(&mut **self.prepared.as_mut()?)
    }
}

impl Operation {
    async fn by_messages<C: Communicator>(&mut self, comm: &C) -> Result<(), CommError> {
        let choice = self.choice;
        let into = self.output.take();
        let (out, back) = (&self.send_bytes, &self.recv_bytes);
        let root_has = |input| (comm.rank() == ROOT).then_some(input);
        match self.kind {
            CollectiveKind::Barrier => barrier(comm, choice).await?,
            CollectiveKind::Broadcast => self.input = broadcast(comm, ROOT, self.input.take(), choice).await?,
            CollectiveKind::Reduce => self.input = reduce(comm, ROOT, self.input.take(), SUM, choice).await?,
            CollectiveKind::Allreduce => self.input = allreduce(comm, self.input.take(), SUM, choice).await?,
            CollectiveKind::Scan => self.input = scan(comm, self.input.take(), SUM, choice).await?,
            CollectiveKind::Exscan => self.input = exscan(comm, self.input.take(), SUM, choice).await?,
            CollectiveKind::ReduceScatter => {
                self.output = reduce_scatter(comm, &self.input, Some(into), SUM, choice).await?;
            }
            CollectiveKind::Gather => {
                self.output = gather(comm, ROOT, &self.input, Some(into), choice).await?.unwrap_or(Payload::EMPTY);
            }
            CollectiveKind::Gatherv => {
                self.output =
                    gatherv(comm, ROOT, &self.input, out, Some(into), choice).await?.unwrap_or(Payload::EMPTY);
            }
            CollectiveKind::Scatter => {
                self.output = scatter(comm, ROOT, root_has(&self.input), into, choice).await?;
            }
            CollectiveKind::Scatterv => {
                self.output = scatterv(comm, ROOT, root_has(&self.input), out, into, choice).await?;
            }
            CollectiveKind::Allgather => self.output = allgather(comm, &self.input, Some(into), choice).await?,
            CollectiveKind::Allgatherv => self.output = allgatherv(comm, &self.input, out, Some(into), choice).await?,
            CollectiveKind::Alltoall => self.output = alltoall(comm, &self.input, Some(into), choice).await?,
            CollectiveKind::Alltoallv => {
                self.output = alltoallv(comm, &self.input, out, back, Some(into), choice).await?;
            }
            CollectiveKind::Split => unreachable!("split is no benchmark"),
        }
        Ok(())
    }
}
