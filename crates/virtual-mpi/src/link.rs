//! Messages of a rank: within the process in which the simulator runs, or to that process from another.
//!
//! A rank's calls wait for futures over a [`Link`]; where the simulator is, they do not know.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use serde::Serialize;
use weft_base::Picos;
use weft_comm::{
    Buffer, CollectiveKind, CommError, Communicator, ElementKinds, Failure, Payload, Received, Source, Status, Tag,
    TagSelector, Work,
};
use weft_sim::{SimComm, SimReceive, SimSend};

use crate::access::{self, Asked, Reached};
use crate::conflicts::Completion;
use crate::processes::client::{Connection, Looks, Remote};
use crate::processes::codec::{Command, FileWork, Move, Pattern};
use crate::target::Target;

/// The messages of a rank of a communicator.
#[derive(Clone)]
pub enum Link {
    Simulated(SimComm),
    Remote(RemoteComm),
}

/// A communicator whose messages the hub carries.
#[derive(Clone)]
pub struct RemoteComm {
    connection: Rc<Connection>,
    rank: u32,
    context: u32,
    /// Ranks of the whole run, and how many collectives there have been.
    members: Rc<[u32]>,
    sequence: Rc<Cell<u32>>,
}

impl RemoteComm {
    /// All ranks of the run.
    pub fn new(connection: Rc<Connection>) -> RemoteComm {
        let (rank, ranks) = (connection.rank as u32, connection.setup.ranks as u32);
        RemoteComm { connection, rank, context: 0, members: (0..ranks).collect(), sequence: Rc::default() }
    }

    fn pattern(&self, from: Source, tag: TagSelector) -> Result<Pattern, CommError> {
        if let Source::Rank(peer) = from
            && peer >= self.members.len()
        {
            return Err(self.no_such_rank(peer));
        }
        Ok(Pattern::new(self.context, self.rank, from, tag))
    }

    #[cold]
    fn no_such_rank(&self, peer: usize) -> CommError {
        let (rank, last) = (self.rank as usize, self.members.len().saturating_sub(1));
        Failure::NoSuchRank { rank, peer, last }.into()
    }

    fn check_send(&self, to: usize, bytes: u64) -> Result<u32, CommError> {
        let member = self.members.get(to).ok_or_else(|| self.no_such_rank(to))?;
        let longest = self.connection.setup.longest;
        if bytes > longest {
            let message = format!("a message of {bytes} bytes, and on this machine at most {longest} are simulated");
            return Err(CommError::program(self.rank as usize, message));
        }
        Ok(*member)
    }

    #[unsafe(link_section = "weft_message")]
    fn send(
        &self,
        to: usize,
        tag: Tag,
        data: &[u8],
        phantom: Option<u64>,
        elements: ElementKinds,
        synchronous: bool,
    ) -> Result<Remote, CommError> {
        let member = self.check_send(to, phantom.unwrap_or(data.len() as u64))?;
        let (id, context, rank, tag) = (self.connection.new_id(), self.context, self.rank, tag.into());
        let elements = elements.bits();
        let command =
            |bytes| Command::Send { id, context, rank, to: member, tag, bytes, phantom, elements, synchronous };
        self.connection.queue_message(data, command);
        Ok(Remote::new(&self.connection, id))
    }

    #[unsafe(link_section = "weft_message")]
    fn start(&self, command: impl FnOnce(u32) -> Command) -> Remote {
        let id = self.connection.new_id();
        self.connection.tell_call();
        self.connection.queue(&command(id));
        Remote::new(&self.connection, id)
    }

    /// Starts what a value says that goes with the command, and data behind it.
    fn start_with(&self, value: &impl Serialize, data: &[u8], command: impl FnOnce(u32, u32) -> Command) -> Remote {
        let id = self.connection.new_id();
        self.connection.tell_call();
        let mut message = postcard::to_allocvec(value).unwrap_or_default();
        message.extend_from_slice(data);
        self.connection.queue_message(&message, |bytes| command(id, bytes));
        Remote::new(&self.connection, id)
    }

    /// A probe that takes the message out; with it comes the receive of that message.
    async fn take(
        &self,
        from: Source,
        tag: TagSelector,
        command: impl FnOnce(u32, u32, Pattern) -> Command,
    ) -> Result<Option<(Status, Receive)>, CommError> {
        let pattern = self.pattern(from, tag)?;
        let message = self.connection.new_id();
        let known = self.start(|id| command(id, message, pattern)).message().await?;
        Ok(known.map(|known| (known.status, Receive::Remote(Remote::new(&self.connection, message)))))
    }
}

impl Link {
    /// A link to other ranks, of which this one is `rank`; messages match within one context.
    pub fn regroup(&self, rank: usize, members: Rc<[u32]>, context: u32) -> Link {
        match self {
            Link::Simulated(comm) => Link::Simulated(comm.regroup(rank, members, context)),
            Link::Remote(comm) => Link::Remote(RemoteComm {
                rank: rank as u32,
                members,
                context,
                sequence: Rc::default(),
                ..comm.clone()
            }),
        }
    }

    /// The simulator's own communicator, where it runs in this process.
    pub fn simulated(&self) -> Option<&SimComm> {
        match self {
            Link::Simulated(comm) => Some(comm),
            Link::Remote(_) => None,
        }
    }

    /// A context that no communicator has.
    pub fn new_context(&self) -> u32 {
        match self {
            Link::Simulated(comm) => comm.new_context(),
            Link::Remote(comm) => comm.connection.context(&Command::NewContext),
        }
    }

    /// The context that all who name `key` get.
    pub fn context_of(&self, key: (u32, u32, u32)) -> u32 {
        match self {
            Link::Simulated(comm) => comm.context_of(key),
            Link::Remote(comm) => comm.connection.context(&Command::ContextOf { key }),
        }
    }

    /// Starts to send what the caller gives away; if `synchronous`, it is complete only when a receive has it.
    pub fn isend_owned(&self, to: usize, tag: Tag, data: Buffer, synchronous: bool) -> Send {
        self.isend_elements(to, tag, data, ElementKinds::UNKNOWN, synchronous)
    }

    /// As [`Link::isend_owned`], of elements of these kinds.
    #[unsafe(link_section = "weft_message")]
    pub fn isend_elements(&self, to: usize, tag: Tag, data: Buffer, elements: ElementKinds, synchronous: bool) -> Send {
        match self {
            Link::Simulated(comm) => Send::Simulated(comm.isend_owned(to, tag, data, elements, synchronous)),
            Link::Remote(_) => self.isend_copy(to, tag, &data, elements, synchronous),
        }
    }

    /// As [`Link::isend_elements`], of a copy of what the caller keeps.
    #[unsafe(link_section = "weft_message")]
    pub fn isend_copy(&self, to: usize, tag: Tag, data: &[u8], elements: ElementKinds, synchronous: bool) -> Send {
        match self {
            Link::Simulated(_) => self.isend_elements(to, tag, Buffer::of(data), elements, synchronous),
            Link::Remote(comm) => Send::of(comm.send(to, tag, data, None, elements, synchronous), Payload::EMPTY),
        }
    }

    /// Starts to receive at most so many bytes of elements of these kinds.
    #[unsafe(link_section = "weft_message")]
    pub fn irecv_elements(&self, from: Source, tag: TagSelector, bytes: usize, elements: ElementKinds) -> Receive {
        let capacity = bytes as u64;
        match self {
            Link::Simulated(comm) => Receive::Simulated(comm.irecv_elements(from, tag, capacity, elements)),
            Link::Remote(comm) => match comm.pattern(from, tag) {
                Ok(pattern) => {
                    let elements = elements.bits();
                    Receive::Remote(comm.start(|id| Command::Receive { id, pattern, capacity, elements }))
                }
                Err(error) => Receive::Failed(Box::new(error)),
            },
        }
    }

    /// Takes a message out that has arrived by now.
    ///
    /// # Errors
    /// For a source that there is not.
    pub async fn take_arrived(&self, from: Source, tag: TagSelector) -> Result<Option<(Status, Receive)>, CommError> {
        match self {
            Link::Simulated(comm) => {
                let taken = comm.take_arrived(from, tag).await?;
                Ok(taken.map(|(status, receive)| (status, Receive::Simulated(receive))))
            }
            Link::Remote(comm) => {
                comm.take(from, tag, |id, message, pattern| Command::TakeArrived { id, message, pattern }).await
            }
        }
    }

    /// As [`Link::take_arrived`], once there is one.
    ///
    /// # Errors
    /// As [`Link::take_arrived`].
    pub async fn take_next(&self, from: Source, tag: TagSelector) -> Result<(Status, Receive), CommError> {
        match self {
            Link::Simulated(comm) => {
                let (status, receive) = comm.take_next(from, tag).await?;
                Ok((status, Receive::Simulated(receive)))
            }
            Link::Remote(comm) => {
                let taken = comm.take(from, tag, |id, message, pattern| Command::TakeNext { id, message, pattern });
                taken.await?.ok_or_else(|| CommError::program(comm.rank as usize, "a probe came to nothing"))
            }
        }
    }

    /// Reaches rank `to`, whose part of a window `target` is, for something that is done there whatever its program
    /// does.
    ///
    /// # Errors
    /// For a rank that there is not.
    pub fn reach(&self, to: usize, target: &Rc<Target>, asked: Asked, data: Buffer) -> Result<Reached, CommError> {
        match self {
            Link::Simulated(comm) => {
                let (serve, returned) = access::server(target.clone(), asked.access, asked.origin, data);
                Ok(Reached::Simulated(comm.reach(to, asked.network, serve)?, returned))
            }
            Link::Remote(comm) => {
                let member = comm.check_send(to, asked.network)?;
                let reach = |id, bytes| Command::Reach { id, to: member, bytes };
                Ok(Reached::Remote(comm.start_with(&asked, &data, reach), asked.access.returns_data()))
            }
        }
    }

    /// What this rank has asked of a part of a window is complete.
    pub fn complete_accesses(&self, window: u32, (to, target): (u32, &Target), completion: Completion) {
        match self {
            Link::Simulated(comm) => {
                target.accesses.borrow_mut().complete(comm.world_rank() as u32, completion);
            }
            Link::Remote(comm) => comm.connection.queue(&Command::Complete { window, to, completion }),
        }
    }

    /// Starts something with a file of the machine, where its file systems are in another process.
    pub fn file_work(&self, file: u32, work: &FileWork) -> Option<Remote> {
        let Link::Remote(comm) = self else { return None };
        Some(comm.start_with(work, &[], |id, bytes| Command::File { id, file, bytes }))
    }

    /// Moves a shared file pointer that is kept in another process; where it was.
    pub fn move_pointer(&self, file: (u32, u32), to: Move) -> Option<u64> {
        let Link::Remote(comm) = self else { return None };
        Some(comm.connection.move_pointer(file, to))
    }

    /// Numbers of files are this process's own; none where the machine has no file system, or is in this process.
    pub fn new_file(&self) -> Option<u32> {
        match self {
            Link::Remote(comm) if comm.connection.setup.has_files => Some(comm.connection.new_id()),
            _ => None,
        }
    }

    /// Looks at requests as they are at this rank's time; when the first of the others will be complete, if known.
    pub fn look<T>(&self, poll: impl FnOnce() -> T) -> (T, Option<Picos>) {
        match self {
            Link::Simulated(comm) => comm.look(poll),
            Link::Remote(RemoteComm { connection, .. }) => {
                let looks = connection.set_looks(Looks::AtOnce);
                connection.queue(&Command::BeginLook);
                let result = poll();
                let next = connection.end_look();
                connection.set_looks(looks);
                (result, next)
            }
        }
    }

    /// Waits until all that happens before this rank's time has happened.
    pub async fn settle(&self) {
        match self {
            Link::Simulated(comm) => comm.settle().await,
            Link::Remote(comm) => {
                // What settles cannot fail.
                let _ = comm.start(|id| Command::Settle { id }).await;
            }
        }
    }

    /// Ready when nothing can happen in the run any more.
    pub fn quiet(&self) -> Pin<Box<dyn Future<Output = ()>>> {
        match self {
            Link::Simulated(comm) => Box::pin(comm.quiet()),
            Link::Remote(comm) => {
                let waits = comm.start(|id| Command::AwaitQuiet { id });
                Box::pin(async move {
                    // What waits so cannot fail.
                    let _ = waits.message().await;
                })
            }
        }
    }

    /// A look that has found nothing: takes at least until `least`, and then until something happens to this rank, but no
    /// longer than until `until`.
    pub async fn look_on(&self, least: Picos, until: Picos) {
        match self {
            Link::Simulated(comm) => comm.look_on(least, until).await,
            Link::Remote(comm) => {
                // What looks cannot fail.
                let _ = comm.start(|id| Command::LookOn { id, least: least.0, until: until.0 }).await;
            }
        }
    }

    /// Asks for this rank to be woken at `time`.
    pub fn wake_at(&self, time: Picos) {
        match self {
            Link::Simulated(comm) => comm.wake_at(time),
            Link::Remote(comm) => comm.connection.queue(&Command::WakeAt { time: time.0 }),
        }
    }

    /// Moves this rank's clock to `time`, if it is not there yet.
    pub fn advance_to(&self, time: Picos) {
        match self {
            Link::Simulated(comm) => comm.advance_to(time),
            Link::Remote(comm) => comm.connection.queue(&Command::AdvanceTo { time: time.0 }),
        }
    }

    /// This rank's clock.
    pub fn clock(&self) -> Picos {
        match self {
            Link::Simulated(comm) => comm.clock(),
            Link::Remote(comm) => comm.connection.times().0,
        }
    }

    /// A time until which this rank knows what others have done, for which the simulator need not be asked.
    pub fn known_time(&self) -> Picos {
        match self {
            Link::Simulated(comm) => comm.clock().max(comm.run_time()),
            Link::Remote(comm) => comm.connection.known_time(),
        }
    }

    /// A time that this rank's clock has reached, for which the simulator need not be asked.
    pub fn reached_time(&self) -> Picos {
        match self {
            Link::Simulated(comm) => comm.clock(),
            Link::Remote(comm) => comm.connection.reached_time(),
        }
    }

    /// How far the whole run is.
    pub fn run_time(&self) -> Picos {
        match self {
            Link::Simulated(comm) => comm.run_time(),
            Link::Remote(comm) => comm.connection.times().1,
        }
    }

    /// Sends of no longer messages are complete without their receives, in bytes.
    pub fn longest_eager(&self) -> u64 {
        match self {
            Link::Simulated(comm) => comm.longest_eager(),
            Link::Remote(comm) => comm.connection.setup.longest_eager,
        }
    }

    /// Processor time of receiving an empty message: what a look costs that finds nothing.
    pub fn look_time(&self) -> Picos {
        match self {
            Link::Simulated(comm) => comm.look_time(),
            Link::Remote(comm) => Picos(comm.connection.setup.look),
        }
    }

    /// Returns when all that this rank has waited for has happened, where it is another process that waits by itself.
    pub fn catch_up(&self) {
        if let Link::Remote(comm) = self {
            comm.connection.times();
        }
    }

    /// Says whether the program may end as it is, where another process waits for its end.
    pub fn tell_end(&self, may_end: bool) {
        if let Link::Remote(comm) = self {
            comm.connection.queue(&Command::MayEnd { may_end });
            // It may end without another call.
            comm.connection.times();
        }
    }

    /// Says which call the rank is in, where others cannot see it.
    pub fn set_call(&self, call: &'static str) {
        if let Link::Remote(comm) = self {
            comm.connection.set_call(call);
        }
    }

    /// Polls what the program waits for; requests are looked at so.
    pub fn wait_with<T>(&self, looks: Looks, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let Link::Remote(RemoteComm { connection, .. }) = self else { return poll() };
        connection.set_looks(looks);
        let polled = poll();
        connection.set_looks(Looks::AtOnce);
        if polled.is_ready() {
            connection.forget_awaited();
        }
        polled
    }
}

impl Communicator for Link {
    type Send = Send;
    type Receive = Receive;

    fn rank(&self) -> usize {
        match self {
            Link::Simulated(comm) => comm.rank(),
            Link::Remote(comm) => comm.rank as usize,
        }
    }

    fn size(&self) -> usize {
        match self {
            Link::Simulated(comm) => comm.size(),
            Link::Remote(comm) => comm.members.len(),
        }
    }

    fn wtime(&self) -> f64 {
        self.clock().seconds()
    }

    fn virtual_time(&self) -> bool {
        true
    }

    fn isend(&self, to: usize, tag: Tag, payload: Payload) -> Send {
        match self {
            Link::Simulated(comm) => Send::Simulated(comm.isend(to, tag, payload)),
            Link::Remote(comm) => {
                let started = match &payload {
                    Payload::Data(data) => comm.send(to, tag, data, None, ElementKinds::UNKNOWN, false),
                    Payload::Phantom(bytes) => {
                        comm.send(to, tag, &[], Some(*bytes as u64), ElementKinds::UNKNOWN, false)
                    }
                };
                Send::of(started, payload)
            }
        }
    }

    fn irecv(&self, from: Source, tag: TagSelector, into: Payload) -> Receive {
        self.irecv_elements(from, tag, into.len(), ElementKinds::UNKNOWN)
    }

    async fn probe(&self, from: Source, tag: TagSelector) -> Result<Status, CommError> {
        match self {
            Link::Simulated(comm) => comm.probe(from, tag).await,
            Link::Remote(comm) => {
                let pattern = comm.pattern(from, tag)?;
                let known = comm.start(|id| Command::Probe { id, pattern }).message().await?;
                let nothing = || CommError::program(comm.rank as usize, "a probe came to nothing");
                known.map(|known| known.status).ok_or_else(nothing)
            }
        }
    }

    async fn iprobe(&self, from: Source, tag: TagSelector) -> Result<Option<Status>, CommError> {
        match self {
            Link::Simulated(comm) => comm.iprobe(from, tag).await,
            Link::Remote(comm) => {
                let pattern = comm.pattern(from, tag)?;
                let known = comm.start(|id| Command::Iprobe { id, pattern }).message().await?;
                Ok(known.map(|known| known.status))
            }
        }
    }

    async fn compute(&self, work: Work) {
        match self {
            Link::Simulated(comm) => comm.compute(work).await,
            Link::Remote(comm) => {
                // What computes cannot fail.
                let _ = comm.start(|id| Command::Compute { id, work: work.into() }).await;
            }
        }
    }

    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Link>, CommError> {
        let comm = match self {
            Link::Simulated(comm) => return Ok(comm.split(color, key).await?.map(Link::Simulated)),
            Link::Remote(comm) => comm,
        };
        let Some(division) = weft_comm::collective::divide(self, color, key).await? else { return Ok(None) };
        let context = self.context_of((comm.context, division.sequence, division.group as u32));
        let members = division.members.into_iter().map(|member| comm.members[member]).collect();
        Ok(Some(self.regroup(division.rank, members, context)))
    }

    fn world_rank(&self) -> usize {
        match self {
            Link::Simulated(comm) => comm.world_rank(),
            Link::Remote(comm) => comm.connection.rank,
        }
    }

    fn hops_to(&self, rank: usize) -> Option<usize> {
        match self {
            Link::Simulated(comm) => comm.hops_to(rank),
            Link::Remote(_) => None,
        }
    }

    fn host(&self) -> Option<usize> {
        match self {
            Link::Simulated(comm) => comm.host(),
            Link::Remote(_) => None,
        }
    }

    fn enter_collective(&self, kind: CollectiveKind) -> u32 {
        match self {
            Link::Simulated(comm) => comm.enter_collective(kind),
            Link::Remote(comm) => {
                let sequence = comm.sequence.replace(comm.sequence.get() + 1);
                let context = comm.context;
                comm.connection.queue(&Command::EnterCollective { context, kind: kind as u8, sequence });
                sequence
            }
        }
    }

    fn leave_collective(&self) {
        match self {
            Link::Simulated(comm) => comm.leave_collective(),
            Link::Remote(comm) => comm.connection.queue(&Command::LeaveCollective),
        }
    }
}

/// The request of a send.
pub enum Send {
    Simulated(SimSend),
    Remote(Remote, Option<Payload>),
    Failed(Box<CommError>),
}

impl Send {
    #[unsafe(link_section = "weft_message")]
    fn of(started: Result<Remote, CommError>, payload: Payload) -> Send {
        match started {
            Ok(request) => Send::Remote(request, Some(payload)),
            Err(error) => Send::Failed(Box::new(error)),
        }
    }
}

impl Future for Send {
    type Output = Result<Payload, CommError>;

    #[unsafe(link_section = "weft_message")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Send::Simulated(send) => Pin::new(send).poll(context),
            Send::Remote(request, payload) => {
                request.poll_done().map(|done| done.map(|()| payload.take().unwrap_or(Payload::EMPTY)))
            }
            Send::Failed(error) => Poll::Ready(Err((**error).clone())),
        }
    }
}

/// The request of a receive.
pub enum Receive {
    Simulated(SimReceive),
    Remote(Remote),
    Failed(Box<CommError>),
}

impl Receive {
    /// Takes the receive back, if it has got no message; it is ready never again then.
    pub fn cancel(&mut self) -> bool {
        match self {
            Receive::Simulated(receive) => receive.cancel(),
            Receive::Remote(request) => request.cancel(),
            Receive::Failed(_) => false,
        }
    }

    /// The program has what was in the buffer of the message.
    #[unsafe(link_section = "weft_message")]
    pub fn give_back(&self, buffer: Buffer) {
        if let Receive::Remote(request) = self {
            request.give_back(buffer);
        }
    }
}

impl Future for Receive {
    type Output = Result<Received, CommError>;

    #[unsafe(link_section = "weft_message")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Receive::Simulated(receive) => Pin::new(receive).poll(context),
            Receive::Remote(request) => request.poll_message().map(|received| {
                let nothing =
                    Received { payload: Payload::EMPTY, status: Status { source: 0, tag: Tag::User(0), bytes: 0 } };
                received.map(|received| received.unwrap_or(nothing))
            }),
            Receive::Failed(error) => Poll::Ready(Err((**error).clone())),
        }
    }
}
