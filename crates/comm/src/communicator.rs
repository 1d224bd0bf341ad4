//! The trait that programs are written over and backends implement.

use crate::collective::Reduction;
use crate::error::{Call, CommError};
use crate::exchange::Exchanges;
use crate::files::{FileSystem, Files};
use crate::message::{Received, Source, Status, Work};
use crate::payload::{Buffer, Payload};
use crate::persistent::backend::{Ends, PersistentMessages};
use crate::prepared::Operations;
use crate::tag::{CollectiveKind, Tag, TagSelector};

/// The messages of one rank of a parallel program.
///
/// # What blocks
/// `isend` and `irecv` start at the call and never block; the future they return is the request, and awaiting it is
/// `wait`. All other `async` functions may block. On the backends of real time they block the thread: start requests
/// first and then await them, rather than joining futures that start requests when polled.
///
/// # Order
/// Messages of one rank to another on one communicator are received in the order they were sent among those that a
/// receive accepts, as in MPI.
///
/// # Dropping a request
/// A request dropped before it is complete goes on: a send is delivered, a receive takes its message and throws it
/// away.
pub trait Communicator: Clone + 'static {
    /// The request of `isend`; gives the payload back for reuse.
    type Send: Future<Output = Result<Payload, CommError>> + Unpin;
    /// The request of `irecv`.
    type Receive: Future<Output = Result<Received, CommError>> + Unpin;

    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Seconds since some moment of the past; in virtual time, since the start of the run.
    fn wtime(&self) -> f64;

    /// Whether the time of [`wtime`](Communicator::wtime) is virtual: the same in every run and on every rank.
    /// Programs that measure then need few iterations, no pilot and no synchronisation of clocks.
    fn virtual_time(&self) -> bool {
        false
    }

    /// Starts to send `payload` to rank `to`.
    ///
    /// # Errors
    /// When awaited: [`crate::Failure::NoSuchRank`], [`crate::Failure::TagTooLarge`], [`crate::Failure::Aborted`].
    fn isend(&self, to: usize, tag: Tag, payload: Payload) -> Self::Send;

    /// Starts to receive a message into `into`, whose length is the longest message accepted.
    ///
    /// # Errors
    /// When awaited: [`crate::Failure::Truncated`], [`crate::Failure::MismatchedCollective`],
    /// [`crate::Failure::NoSuchRank`], [`crate::Failure::Aborted`].
    fn irecv(&self, from: Source, tag: TagSelector, into: Payload) -> Self::Receive;

    /// Sends and waits until the payload may be used again.
    fn send(&self, to: usize, tag: Tag, payload: Payload) -> impl Future<Output = Result<Payload, CommError>> {
        self.isend(to, tag, payload)
    }

    /// Receives one message.
    fn recv(&self, from: Source, tag: TagSelector, into: Payload) -> impl Future<Output = Result<Received, CommError>> {
        self.irecv(from, tag, into)
    }

    /// Sends a payload that is given away: the message is delivered without the sender, who has nothing to wait for.
    /// Worlds within one process copy nothing then. A peer or tag that there is not is forgotten, as is a request that
    /// is dropped.
    fn post(&self, to: usize, tag: Tag, payload: Payload) {
        drop(self.isend(to, tag, payload));
    }

    /// Receives a message if one has arrived by now, in memory of its own or that it came in.
    fn receive_arrived(
        &self,
        from: Source,
        tag: TagSelector,
    ) -> impl Future<Output = Result<Option<Received>, CommError>> {
        async move {
            let Some(status) = self.iprobe(from, tag).await? else { return Ok(None) };
            let into = Payload::Data(Buffer::zeroed(status.bytes));
            self.recv(Source::Rank(status.source), status.tag.into(), into).await.map(Some)
        }
    }

    /// As [`send`](Communicator::send), from a payload that stays where it is: the loop of a benchmark then moves
    /// nothing but the message. When it fails, the payload may be lost.
    fn send_from(&self, to: usize, tag: Tag, payload: &mut Payload) -> impl Future<Output = Result<(), CommError>> {
        async move {
            *payload = self.send(to, tag, payload.take()).await?;
            Ok(())
        }
    }

    /// As [`recv`](Communicator::recv), into a payload that stays where it is and takes the length of the message.
    /// When it fails, the payload may be lost.
    fn recv_into(
        &self,
        from: Source,
        tag: TagSelector,
        into: &mut Payload,
    ) -> impl Future<Output = Result<Status, CommError>> {
        async move {
            let received = self.recv(from, tag, into.take()).await?;
            *into = received.payload;
            Ok(received.status)
        }
    }

    /// Sends `out` to rank `to` while it receives from rank `from`, both with `tag`, in payloads that stay where they
    /// are; `into` takes the length of the message. When it fails, the payloads may be lost.
    fn sendrecv(
        &self,
        to: usize,
        out: &mut Payload,
        from: usize,
        into: &mut Payload,
        tag: Tag,
    ) -> impl Future<Output = Result<Status, CommError>> {
        async move {
            let incoming = self.irecv(Source::Rank(from), TagSelector::Only(tag), into.take());
            let outgoing = self.isend(to, tag, out.take());
            let received = incoming.await?;
            *out = outgoing.await?;
            *into = received.payload;
            Ok(received.status)
        }
    }

    /// Waits until a message that would be received is there, and leaves it there.
    fn probe(&self, from: Source, tag: TagSelector) -> impl Future<Output = Result<Status, CommError>>;

    /// As [`probe`](Communicator::probe), for at most about so many seconds, awake; `None` where nothing has come. For
    /// backends of real time.
    fn probe_for(
        &self,
        from: Source,
        tag: TagSelector,
        seconds: f64,
    ) -> impl Future<Output = Result<Option<Status>, CommError>> {
        async move {
            let start = self.wtime();
            loop {
                let status = self.iprobe(from, tag).await?;
                if status.is_some() || self.wtime() - start > seconds {
                    return Ok(status);
                }
                std::thread::yield_now();
            }
        }
    }

    /// As [`probe`](Communicator::probe); `None` once the backend knows that no rank can go on and no message is under
    /// way. Only virtual time knows: backends of real time wait. Programs that look for such a rest then need no
    /// messages for it.
    fn probe_until_quiet(
        &self,
        from: Source,
        tag: TagSelector,
    ) -> impl Future<Output = Result<Option<Status>, CommError>> {
        async move { self.probe(from, tag).await.map(Some) }
    }

    /// Looks whether a message that would be received has arrived by now.
    fn iprobe(&self, from: Source, tag: TagSelector) -> impl Future<Output = Result<Option<Status>, CommError>>;

    /// Accounts for computation; see [`Work`].
    fn compute(&self, work: Work) -> impl Future<Output = ()>;

    /// Divides the ranks: those of one `color` form a new communicator, in the order of `key` and then of rank.
    /// A rank without a color gets none. Collective.
    fn split(&self, color: Option<u32>, key: i64) -> impl Future<Output = Result<Option<Self>, CommError>>;

    /// This rank's number in the whole run, for messages to people.
    fn world_rank(&self) -> usize;

    /// The number of links between this rank's node and that of `rank`, where the backend knows it (0: the same node).
    fn hops_to(&self, rank: usize) -> Option<usize>;

    /// What the node of this rank is called, where the backend knows it: its host name, or its number on a described
    /// machine.
    fn node_name(&self) -> Option<String> {
        None
    }

    /// The processors of its node that this rank may run on, where the backend knows them.
    fn binding(&self) -> Option<weft_simd::Binding> {
        None
    }

    /// The rank that runs on the machine's host, if the run has one; it is the last rank.
    fn host(&self) -> Option<usize> {
        None
    }

    /// Enters the next collective of this communicator and returns its sequence number. Used by the functions of
    /// [`collective`](crate::collective); programs call those.
    fn enter_collective(&self, kind: CollectiveKind) -> u32;

    /// Leaves the collective entered last.
    fn leave_collective(&self);

    /// The routes to files that this backend has; the first is the one to take where nobody says.
    fn file_systems(&self) -> &[FileSystem] {
        &[]
    }

    /// The files of `system`, if this backend has it.
    fn files(&self, system: FileSystem) -> Option<&dyn Files> {
        let _ = system;
        None
    }

    /// A set of messages that are sent again and again, where the backend has a better way than a send and a receive
    /// each. Programs make a [`Persistent`](crate::Persistent), which asks here. Collective where it is not `None`.
    fn persistent(&self, tag: Tag, ends: &[Ends]) -> Option<Result<Box<dyn PersistentMessages>, CommError>> {
        let _ = (tag, ends);
        None
    }

    /// What carries planned exchanges out better than messages would, where the backend has such a thing.
    fn exchanges(&self) -> Option<&dyn Exchanges> {
        None
    }

    /// What prepares operations that are carried out again and again, where the backend has such a thing.
    fn operations(&self) -> Option<&dyn Operations> {
        None
    }

    /// The collectives of the library beneath, where the backend has one.
    fn native(&self) -> Option<&dyn NativeCollectives> {
        None
    }
}

/// Collectives of a library (MPI's own). All block; all take the sizes as MPI does.
///
/// Every function replaces or fills payloads in place; phantoms move bytes of no meaning.
pub trait NativeCollectives {
    fn barrier(&self) -> Result<(), CommError>;
    fn broadcast(&self, root: usize, payload: &mut Payload) -> Result<(), CommError>;
    fn reduce(&self, root: usize, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError>;
    fn allreduce(&self, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError>;
    fn scan(&self, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError>;
    /// As [`scan`](NativeCollectives::scan), without this rank's own vector; rank 0 keeps its own.
    fn exscan(&self, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError>;
    /// Combines vectors of `size` equal blocks; block r goes to rank r, into space that is there.
    fn reduce_scatter_into(&self, whole: &Payload, into: &mut Payload, reduction: Reduction) -> Result<(), CommError>;
    /// Parts of `bytes[r]` bytes of each rank r; the whole on the root, into space that is there.
    fn gatherv_into(&self, root: usize, part: &Payload, bytes: &[usize], into: &mut Payload) -> Result<(), CommError>;
    /// `whole` on the root only: parts of `bytes[r]` bytes for each rank r, into space that is there.
    fn scatterv_into(
        &self,
        root: usize,
        whole: Option<&Payload>,
        bytes: &[usize],
        into: &mut Payload,
    ) -> Result<(), CommError>;
    /// Parts of `bytes[r]` bytes of each rank r, on all ranks, into space that is there.
    fn allgatherv_into(&self, part: &Payload, bytes: &[usize], into: &mut Payload) -> Result<(), CommError>;
    /// Equal parts; the whole on `root`, `None` elsewhere.
    fn gather(&self, root: usize, part: &Payload) -> Result<Option<Payload>, CommError>;
    /// `whole` on the root only; every rank gets its part of `bytes` bytes.
    fn scatter(&self, root: usize, whole: Option<&Payload>, bytes: usize) -> Result<Payload, CommError>;
    fn allgather(&self, part: &Payload) -> Result<Payload, CommError>;
    /// `size` equal parts out, `size` equal parts in.
    fn alltoall(&self, whole: &Payload) -> Result<Payload, CommError>;
    /// Parts out in rank order with `send_bytes`, parts in with `recv_bytes`.
    fn alltoallv(&self, whole: &Payload, send_bytes: &[usize], recv_bytes: &[usize]) -> Result<Payload, CommError>;

    /// As [`gather`](NativeCollectives::gather), on the root into space that is there; the five functions of this kind
    /// are what is timed, so a library should write the result in place.
    fn gather_into(&self, root: usize, part: &Payload, into: &mut Payload) -> Result<(), CommError> {
        if let Some(whole) = self.gather(root, part)? {
            *into = whole;
        }
        Ok(())
    }

    /// As [`scatter`](NativeCollectives::scatter), of `into.len()` bytes into space that is there.
    fn scatter_into(&self, root: usize, whole: Option<&Payload>, into: &mut Payload) -> Result<(), CommError> {
        *into = self.scatter(root, whole, into.len())?;
        Ok(())
    }

    /// As [`allgather`](NativeCollectives::allgather), into space that is there.
    fn allgather_into(&self, part: &Payload, into: &mut Payload) -> Result<(), CommError> {
        *into = self.allgather(part)?;
        Ok(())
    }

    /// As [`alltoall`](NativeCollectives::alltoall), into space that is there.
    fn alltoall_into(&self, whole: &Payload, into: &mut Payload) -> Result<(), CommError> {
        *into = self.alltoall(whole)?;
        Ok(())
    }

    /// As [`alltoallv`](NativeCollectives::alltoallv), into space that is there.
    fn alltoallv_into(
        &self,
        whole: &Payload,
        send_bytes: &[usize],
        recv_bytes: &[usize],
        into: &mut Payload,
    ) -> Result<(), CommError> {
        *into = self.alltoallv(whole, send_bytes, recv_bytes)?;
        Ok(())
    }
}

/// An SPMD program: the same source for every backend.
///
/// A value of the type is the program's arguments; every rank runs on a clone of it.
pub trait Program: Clone + Send + Sync + 'static {
    /// What each rank returns.
    type Output: Send + 'static;

    /// The program of one rank.
    fn run<C: Communicator>(self, comm: C) -> impl Future<Output = Result<Self::Output, CommError>>;
}

impl Call {
    /// The call of a receive.
    pub fn receive(from: Source, tag: TagSelector) -> Call {
        Call::Receive { from, tag }
    }
}
