//! One call of a collective: its messages, its checks, and leaving it whatever happens.

use crate::collective::Reduction;
use crate::communicator::{Communicator, NativeCollectives};
use crate::error::{CommError, Failure};
use crate::message::{Source, Work};
use crate::payload::Payload;
use crate::tag::{CollectiveKind, Tag, TagSelector};

use super::algorithm::{Algorithm, Choice, algorithms};
use super::choose::choose;

/// One rank's part in one collective; leaves it when dropped.
pub(super) struct Scope<'a, C: Communicator> {
    pub comm: &'a C,
    pub rank: usize,
    pub size: usize,
    /// Which collective of the communicator this is, from 0.
    pub sequence: u32,
    kind: CollectiveKind,
    tag: Tag,
}

/// What does the work of a collective.
pub(super) enum Engine<'a> {
    Native(&'a dyn NativeCollectives),
    Own(Algorithm),
}

/// A receive that was started.
pub(super) struct Posted<R> {
    request: R,
    from: usize,
    bytes: usize,
}

impl<'a, C: Communicator> Scope<'a, C> {
    pub fn enter(comm: &'a C, kind: CollectiveKind) -> Scope<'a, C> {
        let sequence = comm.enter_collective(kind);
        Scope { comm, rank: comm.rank(), size: comm.size(), sequence, kind, tag: Tag::Collective { kind, sequence } }
    }

    /// Who does the work; `bytes` as in [`choose`].
    pub fn engine(&self, choice: Choice, bytes: usize) -> Result<Engine<'a>, CommError> {
        match choice {
            Choice::Auto => Ok(match self.comm.native() {
                Some(native) => Engine::Native(native),
                None => Engine::Own(choose(self.kind, self.size, bytes)),
            }),
            Choice::Native => self.comm.native().map(Engine::Native).ok_or_else(|| self.no_native()),
            Choice::Fixed(algorithm) if algorithms(self.kind).contains(&algorithm) => Ok(Engine::Own(algorithm)),
            Choice::Fixed(algorithm) => Err(self.not_of_this_kind(algorithm)),
        }
    }

    fn no_native(&self) -> CommError {
        self.program_error(format!("{}: this backend has no native collectives; choose another algorithm", self.kind))
    }

    fn not_of_this_kind(&self, algorithm: Algorithm) -> CommError {
        let names: Vec<&str> = algorithms(self.kind).iter().map(|algorithm| algorithm.name()).collect();
        self.program_error(format!("{} has no algorithm {algorithm}; it has {}", self.kind, names.join(", ")))
    }

    fn program_error(&self, message: String) -> CommError {
        CommError::program(self.comm.world_rank(), message)
    }

    /// The error for an algorithm that [`engine`](Scope::engine) cannot have returned.
    pub fn impossible(&self, algorithm: Algorithm) -> ! {
        unreachable!("{} by {algorithm}", self.kind)
    }

    pub fn mismatch(&self, what: String) -> CommError {
        Failure::MismatchedArguments { rank: self.comm.world_rank(), kind: self.kind, what }.into()
    }

    pub fn check_root(&self, root: usize) -> Result<(), CommError> {
        if root < self.size {
            Ok(())
        } else {
            Err(Failure::NoSuchRank { rank: self.rank, peer: root, last: self.size - 1 }.into())
        }
    }

    /// The space for a result: `into`, which must have `bytes` bytes, or new space of the sort of `model`.
    pub fn space(&self, into: Option<Payload>, model: &Payload, bytes: usize) -> Result<Payload, CommError> {
        match into {
            None => Ok(model.same_sort(bytes)),
            Some(into) if into.len() == bytes => Ok(into),
            Some(into) => Err(self.mismatch(format!("space of {} bytes for a result of {bytes}", into.len()))),
        }
    }

    pub fn check_reduction(&self, reduction: Reduction, bytes: usize) -> Result<(), CommError> {
        reduction.fault(bytes).map_or(Ok(()), |what| Err(self.mismatch(what)))
    }

    /// This rank, counted from `root`.
    pub fn relative(&self, root: usize) -> usize {
        (self.rank + self.size - root) % self.size
    }

    /// The rank that is `distance` ranks after this one, around the ring.
    pub fn after(&self, distance: usize) -> usize {
        (self.rank + distance) % self.size
    }

    /// The rank that is `distance` ranks before this one, around the ring.
    pub fn before(&self, distance: usize) -> usize {
        (self.rank + self.size - distance % self.size) % self.size
    }

    pub fn isend(&self, to: usize, payload: Payload) -> C::Send {
        self.comm.isend(to, self.tag, payload)
    }

    pub async fn send(&self, to: usize, payload: Payload) -> Result<Payload, CommError> {
        self.isend(to, payload).await
    }

    /// Starts to receive exactly `into.len()` bytes.
    pub fn post(&self, from: usize, into: Payload) -> Posted<C::Receive> {
        let bytes = into.len();
        Posted { request: self.comm.irecv(Source::Rank(from), TagSelector::Only(self.tag), into), from, bytes }
    }

    /// Waits for a started receive.
    pub async fn take(&self, posted: Posted<C::Receive>) -> Result<Payload, CommError> {
        let Posted { request, from, bytes } = posted;
        match request.await {
            Ok(received) if received.status.bytes == bytes => Ok(received.payload),
            Ok(received) => Err(self.wrong_length(from, received.status.bytes, bytes)),
            Err(error) => match *error.failure() {
                Failure::Truncated { sent, .. } => Err(self.wrong_length(from, sent, bytes)),
                _ => Err(error),
            },
        }
    }

    fn wrong_length(&self, from: usize, sent: usize, expected: usize) -> CommError {
        self.mismatch(format!(
            "rank {from} of the communicator sent {sent} bytes where this rank, its rank {}, expects {expected}",
            self.rank
        ))
    }

    pub async fn receive(&self, from: usize, into: Payload) -> Result<Payload, CommError> {
        self.take(self.post(from, into)).await
    }

    /// Sends `out` and receives `into.len()` bytes at the same time.
    pub async fn exchange(&self, to: usize, out: Payload, from: usize, into: Payload) -> Result<Payload, CommError> {
        let posted = self.post(from, into);
        let sent = self.isend(to, out);
        let received = self.take(posted).await?;
        sent.await?;
        Ok(received)
    }

    /// `into = into ∘ other`, charged to the node's processor.
    pub async fn combine(&self, into: &mut Payload, other: &Payload, reduction: Reduction) {
        reduction.combine(into, other);
        let elements = (into.len() / reduction.element.size()) as u64;
        if elements > 0 {
            let (operation, per_element) = reduction.cost();
            self.comm.compute(Work::Operations { operation, count: elements * per_element }).await;
        }
    }
}

impl<C: Communicator> Drop for Scope<'_, C> {
    fn drop(&mut self) {
        self.comm.leave_collective();
    }
}
