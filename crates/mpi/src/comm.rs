//! The communicator of real MPI.

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::rc::Rc;

use weft_comm::files::{FileSystem, Files};
use weft_comm::{
    CollectiveKind, CommError, Communicator, Ends, Failure, NativeCollectives, Operations, Payload, PersistentMessages,
    Received, Source, Status, Tag, TagSelector, Work,
};

use crate::activity::Mark;
use crate::calls::{Calls, Describe};
use crate::clock;
use crate::context::Context;
use crate::library::{Handle, Status as RawStatus};
use node::Node;
pub use node::SHARED_VARIABLE;
use persistent::Messages;
pub use request::{ReceiveRequest, SendRequest};

mod files;
mod node;
mod persistent;
mod request;
mod split;

/// The ranks of an MPI run, or some of them.
///
/// - Messages of programs and messages of collectives go through two communicators of the library.
/// - A phantom sends bytes of no meaning. MPI does not tell a receiver of which sort the payload was that a message came
///   from, so a received payload is of the sort of the payload it was received into.
/// - Several receives of phantoms under way may write over each other's bytes, which nobody reads.
/// - Awaiting blocks the thread; so does polling a request.
/// - One message holds at most 2^31 - 1 bytes.
/// - The last clone of a split communicator that is dropped frees it in the library. The ranks of a communicator should
///   drop theirs at about the same place of the program.
#[derive(Clone)]
pub struct MpiComm(Rc<Shared>);

struct Shared {
    context: Rc<Context>,
    /// For the messages of programs.
    user: Handle,
    /// For the messages of collectives and for the library's own collectives.
    collective: Handle,
    rank: usize,
    size: usize,
    /// The ranks of the whole run, by rank of this communicator; `None` where they are the same.
    world_ranks: Option<Box<[u32]>>,
    /// The sequence number of the next collective.
    sequence: Cell<u32>,
    /// The ranks that share this rank's memory, once somebody has asked.
    node: OnceCell<Option<Node>>,
    /// What the ranks call together, once somebody watches that.
    calls: OnceCell<Calls>,
}

/// Where a receive looks for its message, in the library's words.
pub(crate) struct Route {
    pub comm: Handle,
    pub source: c_int,
    pub tag: c_int,
}

impl MpiComm {
    /// All ranks of the run, apart from every other communicator. Collective.
    pub(crate) fn of_comm_world(context: &Rc<Context>) -> Result<MpiComm, CommError> {
        let comm_world = context.abi().comm_world;
        let user = duplicate(context, comm_world)?;
        let collective = duplicate(context, comm_world)?;
        Ok(MpiComm(Rc::new(Shared {
            context: context.clone(),
            user,
            collective,
            rank: context.rank,
            size: context.ranks,
            world_ranks: None,
            sequence: Cell::new(0),
            node: OnceCell::new(),
            calls: OnceCell::new(),
        })))
    }

    /// The ranks of a communicator of the library, apart from it. Collective over them.
    ///
    /// # Safety
    /// The handle must be one of a live communicator.
    pub(crate) unsafe fn of_handle(context: &Rc<Context>, handle: Handle) -> Result<MpiComm, CommError> {
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        let functions = context.functions();
        // SAFETY: the handle is one of a live communicator (this function's condition), and both numbers are written to
        // live integers.
        let codes = unsafe { [(functions.comm_rank)(handle, &mut rank), (functions.comm_size)(handle, &mut size)] };
        codes.into_iter().try_for_each(|code| context.check("MPI_Comm_rank", code))?;
        let user = duplicate(context, handle)?;
        let collective = duplicate(context, handle)?;
        let mut world_ranks = vec![0u32; size as usize];
        let own = context.rank as u32;
        // SAFETY: the communicator was just made; the room is for a number of each of its ranks.
        let code = unsafe {
            let (byte, into) = (context.abi().datatypes.byte, world_ranks.as_mut_ptr().cast());
            (functions.allgather)((&raw const own).cast(), 4, byte, into, 4, byte, collective)
        };
        context.check("MPI_Allgather", code)?;
        Ok(MpiComm(Rc::new(Shared {
            context: context.clone(),
            user,
            collective,
            rank: rank as usize,
            size: size as usize,
            world_ranks: Some(world_ranks.into()),
            sequence: Cell::new(0),
            node: OnceCell::new(),
            calls: OnceCell::new(),
        })))
    }

    /// The library's communicator for the messages of programs.
    pub(crate) fn user_handle(&self) -> Handle {
        self.0.user
    }

    /// The ranks that share this rank's memory, and `None` where there are no others. Collective the first time.
    pub(crate) fn node(&self) -> Result<Option<&Node>, CommError> {
        if self.0.node.get().is_none() {
            let node = Node::of(self)?;
            let _ = self.0.node.set(node);
        }
        Ok(self.0.node.get().and_then(Option::as_ref))
    }

    /// From here on the ranks' calls are compared; `describe` says what calls are. All ranks do so, before they make
    /// messages to be sent again and again.
    pub fn compare_calls(&self, describe: Box<Describe>) {
        let calls = Calls::new(self.context(), self.0.user, self.0.rank, self.0.size, describe);
        let _ = self.0.calls.set(calls);
    }

    /// The calls that ranks compare, where they do.
    #[inline]
    pub fn calls(&self) -> Option<&Calls> {
        self.0.calls.get()
    }

    #[inline]
    pub(crate) fn context(&self) -> &Rc<Context> {
        &self.0.context
    }

    /// The library's communicator for collectives.
    pub(crate) fn collective_handle(&self) -> Handle {
        self.0.collective
    }

    /// The rank of the whole run.
    fn world_rank_of(&self, rank: usize) -> usize {
        self.0.world_ranks.as_ref().map_or(rank, |ranks| ranks.get(rank).map_or(rank, |rank| *rank as usize))
    }

    #[inline]
    pub(crate) fn check_peer(&self, peer: usize) -> Result<c_int, CommError> {
        if peer < self.0.size { Ok(peer as c_int) } else { Err(self.no_such_rank(peer)) }
    }

    #[cold]
    fn no_such_rank(&self, peer: usize) -> CommError {
        Failure::NoSuchRank { rank: self.world_rank(), peer, last: self.0.size - 1 }.into()
    }

    #[inline]
    pub(crate) fn send_route(&self, to: usize, tag: Tag) -> Result<Route, CommError> {
        let peer = self.check_peer(to)?;
        let tags = &self.context().tags;
        Ok(match tag {
            Tag::User(tag) => Route { comm: self.0.user, source: peer, tag: tags.user(tag, self.context().rank)? },
            Tag::Collective { kind, sequence } => {
                Route { comm: self.0.collective, source: peer, tag: tags.collective(kind, sequence) }
            }
        })
    }

    /// A receive from one rank within a collective accepts every tag, to see where that rank is (see
    /// [`crate::tags`]). A receive from any rank cannot: ranks may be further on by now.
    #[inline]
    pub(crate) fn receive_route(&self, from: Source, tag: TagSelector) -> Result<Route, CommError> {
        let abi = self.context().abi();
        let tags = &self.context().tags;
        let source = match from {
            Source::Rank(rank) => self.check_peer(rank)?,
            Source::Any => abi.any_source,
        };
        Ok(match (tag, from) {
            (TagSelector::Only(Tag::User(tag)), _) => {
                Route { comm: self.0.user, source, tag: tags.user(tag, self.context().rank)? }
            }
            (TagSelector::AnyUser, _) => Route { comm: self.0.user, source, tag: abi.any_tag },
            (TagSelector::Only(Tag::Collective { .. }), Source::Rank(_)) => {
                Route { comm: self.0.collective, source, tag: abi.any_tag }
            }
            (TagSelector::Only(Tag::Collective { kind, sequence }), Source::Any) => {
                Route { comm: self.0.collective, source, tag: tags.collective(kind, sequence) }
            }
        })
    }

    #[inline(always)]
    fn send_now(&self, to: usize, tag: Tag, payload: &Payload) -> Result<(), CommError> {
        let context = self.context();
        let route = self.send_route(to, tag)?;
        let count = context.count("MPI_Send", payload.len())?;
        let bytes = match payload {
            Payload::Data(buffer) => buffer.as_ptr(),
            Payload::Phantom(len) => context.outgoing.pointer(*len),
        };
        context.activity.enter(Mark::send(to, tag, payload.len()));
        // SAFETY: `bytes` has `count` bytes that live through the call.
        let code = unsafe {
            (context.functions().send)(bytes, count, context.abi().datatypes.byte, route.source, route.tag, route.comm)
        };
        context.activity.leave();
        context.check("MPI_Send", code)
    }

    #[inline(always)]
    fn receive_now(&self, from: Source, tag: TagSelector, into: &mut Payload) -> Result<Status, CommError> {
        let context = self.context();
        let route = self.receive_route(from, tag)?;
        let count = context.count("MPI_Recv", into.len())?;
        let bytes = match into {
            Payload::Data(buffer) => buffer.as_mut_ptr(),
            Payload::Phantom(len) => context.incoming.pointer(*len),
        };
        let mut status = RawStatus::default();
        context.activity.enter(Mark::receive(from, tag));
        // SAFETY: `bytes` has room for `count` bytes that live through the call.
        let code = unsafe {
            let byte = context.abi().datatypes.byte;
            (context.functions().recv)(bytes, count, byte, route.source, route.tag, route.comm, &mut status)
        };
        context.activity.leave();
        self.received("MPI_Recv", code, &status, into, tag)
    }

    /// What a completed receive gives.
    #[inline]
    pub(crate) fn received(
        &self,
        call: &str,
        code: c_int,
        raw: &RawStatus,
        into: &mut Payload,
        tag: TagSelector,
    ) -> Result<Status, CommError> {
        if code != 0 {
            return Err(self.receive_failure(call, code, raw, into.len(), tag));
        }
        let status = self.status(raw, tag);
        self.check_meeting(&status, tag)?;
        if status.bytes < into.len() {
            shorten(into, status.bytes);
        }
        Ok(status)
    }

    /// The library's status in weft's words; `tag` is what was asked for.
    #[inline]
    fn status(&self, raw: &RawStatus, tag: TagSelector) -> Status {
        let context = self.context();
        let layout = &context.abi().status;
        Status {
            source: raw.source(layout) as usize,
            tag: self.tag_of(raw.tag(layout), tag),
            bytes: raw.bytes(layout).unwrap_or_else(|| self.count_bytes(raw)),
        }
    }

    #[inline(never)]
    fn count_bytes(&self, raw: &RawStatus) -> usize {
        let context = self.context();
        let mut count: c_int = 0;
        // SAFETY: the status was filled by the library.
        unsafe { (context.functions().get_count)(raw, context.abi().datatypes.byte, &mut count) };
        usize::try_from(count).unwrap_or(0)
    }

    #[inline]
    fn tag_of(&self, raw: c_int, asked: TagSelector) -> Tag {
        match asked {
            TagSelector::Only(Tag::Collective { kind, sequence }) => {
                let (kind, sequence) = self.context().tags.collective_of(raw, sequence).unwrap_or((kind, sequence));
                Tag::Collective { kind, sequence }
            }
            TagSelector::Only(Tag::User(_)) | TagSelector::AnyUser => Tag::User(u32::try_from(raw).unwrap_or(0)),
        }
    }

    /// Whether the message is one of the collective that was asked for.
    #[inline]
    fn check_meeting(&self, status: &Status, asked: TagSelector) -> Result<(), CommError> {
        match asked {
            TagSelector::Only(asked @ Tag::Collective { .. }) if asked != status.tag => {
                Err(self.mismatch(asked, status))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn mismatch(&self, asked: Tag, status: &Status) -> CommError {
        let rank = self.world_rank();
        let other = self.world_rank_of(status.source);
        match (asked, status.tag) {
            (Tag::Collective { kind: here, sequence }, Tag::Collective { kind: there, sequence: found })
                if sequence == found =>
            {
                Failure::MismatchedCollective { rank, here, other, there, sequence }.into()
            }
            (Tag::Collective { kind, .. }, found) => {
                let what = format!("it is in {asked} where rank {other} is in {found}");
                Failure::MismatchedArguments { rank, kind, what }.into()
            }
            (Tag::User(_), _) => unreachable!("only receives of collectives are checked"),
        }
    }

    #[cold]
    fn receive_failure(
        &self,
        call: &str,
        code: c_int,
        raw: &RawStatus,
        capacity: usize,
        asked: TagSelector,
    ) -> CommError {
        let context = self.context();
        let failure = context.failure(call, code);
        if context.functions().error_class_of(code) != context.abi().err_truncate {
            return failure;
        }
        let status = self.status(raw, asked);
        if let Err(mismatch) = self.check_meeting(&status, asked) {
            return mismatch;
        }
        let source_rank = self.world_rank_of(status.source);
        let rank = self.world_rank();
        let words = context.functions().error_text(code);
        // MPICH does not count what it throws away, and tells the size in words only where it has come with the message.
        let sent = bytes_received(&words).unwrap_or(status.bytes);
        if sent > capacity {
            return Failure::Truncated { rank, source_rank, tag: status.tag, sent, capacity }.into();
        }
        let call = format!("a receive of at most {capacity} bytes of {} from rank {source_rank}", status.tag);
        let message = "truncation: the message is longer, and this MPI library does not say how long".to_owned();
        Failure::Library { rank, call, message }.into()
    }
}

/// Cuts a payload to the length of what came.
#[cold]
fn shorten(payload: &mut Payload, bytes: usize) {
    match payload {
        Payload::Data(buffer) => buffer.truncate(bytes),
        Payload::Phantom(len) => *len = bytes,
    }
}

/// The size of a message that was too long, from MPICH's words: `N bytes received but buffer size is M`. In 5.0.2 some
/// places give the two numbers the wrong way round; the message is the larger one.
fn bytes_received(message: &str) -> Option<usize> {
    let (before, after) = message.split_once(" bytes received but buffer size is ")?;
    let received: usize = before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let size: usize = after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    Some(received.max(size))
}

fn duplicate(context: &Context, comm: Handle) -> Result<Handle, CommError> {
    let mut copy: Handle = 0;
    // SAFETY: the communicator is live; the output handle starts as zero.
    let code = unsafe { (context.functions().comm_dup)(comm, &mut copy) };
    context.check("MPI_Comm_dup", code)?;
    // SAFETY: the communicator was just made.
    let code = unsafe { (context.functions().comm_set_errhandler)(copy, context.abi().errors_return) };
    context.check("MPI_Comm_set_errhandler", code)?;
    Ok(copy)
}

impl Drop for Shared {
    fn drop(&mut self) {
        let is_broken = self.calls.get().is_some_and(Calls::is_broken);
        if std::thread::panicking() || self.context.finalized.get() || is_broken {
            return;
        }
        let node = self.node.get_mut().and_then(Option::as_mut).map(|node| &mut node.comm);
        for comm in [&mut self.user, &mut self.collective].into_iter().chain(node) {
            // SAFETY: the communicator is live; requests under way keep it alive within the library.
            unsafe { (self.context.functions().comm_free)(comm) };
        }
    }
}

impl Communicator for MpiComm {
    type Send = SendRequest;
    type Receive = ReceiveRequest;

    #[inline]
    fn rank(&self) -> usize {
        self.0.rank
    }

    #[inline]
    fn size(&self) -> usize {
        self.0.size
    }

    #[inline]
    fn wtime(&self) -> f64 {
        clock::now()
    }

    #[inline]
    fn isend(&self, to: usize, tag: Tag, payload: Payload) -> SendRequest {
        SendRequest::new(self.start_send(to, tag, payload), to, tag)
    }

    #[inline]
    fn irecv(&self, from: Source, tag: TagSelector, into: Payload) -> ReceiveRequest {
        ReceiveRequest::new(self.start_receive(from, tag, into), from, tag)
    }

    #[inline]
    async fn send(&self, to: usize, tag: Tag, payload: Payload) -> Result<Payload, CommError> {
        self.send_now(to, tag, &payload)?;
        Ok(payload)
    }

    #[inline]
    async fn recv(&self, from: Source, tag: TagSelector, mut into: Payload) -> Result<Received, CommError> {
        let status = self.receive_now(from, tag, &mut into)?;
        Ok(Received { payload: into, status })
    }

    // The calls of timed loops are made at once, not when awaited, so that nothing is kept in between.
    #[inline(always)]
    fn send_from(&self, to: usize, tag: Tag, payload: &mut Payload) -> impl Future<Output = Result<(), CommError>> {
        std::future::ready(self.send_now(to, tag, payload))
    }

    #[inline(always)]
    fn recv_into(
        &self,
        from: Source,
        tag: TagSelector,
        into: &mut Payload,
    ) -> impl Future<Output = Result<Status, CommError>> {
        std::future::ready(self.receive_now(from, tag, into))
    }

    #[inline(always)]
    fn sendrecv(
        &self,
        to: usize,
        out: &mut Payload,
        from: usize,
        into: &mut Payload,
        tag: Tag,
    ) -> impl Future<Output = Result<Status, CommError>> {
        std::future::ready(self.sendrecv_now(to, out, from, into, tag))
    }

    async fn probe(&self, from: Source, tag: TagSelector) -> Result<Status, CommError> {
        let context = self.context();
        let route = self.receive_route(from, tag)?;
        let mut status = RawStatus::default();
        context.activity.enter(Mark::probe(from, tag));
        // SAFETY: the communicator is live and the status has room for any ABI's.
        let code = unsafe { (context.functions().probe)(route.source, route.tag, route.comm, &mut status) };
        context.activity.leave();
        context.check("MPI_Probe", code)?;
        let status = self.status(&status, tag);
        self.check_meeting(&status, tag)?;
        Ok(status)
    }

    async fn iprobe(&self, from: Source, tag: TagSelector) -> Result<Option<Status>, CommError> {
        let context = self.context();
        let route = self.receive_route(from, tag)?;
        let mut status = RawStatus::default();
        let mut flag = 0;
        // SAFETY: the route's communicator is live as long as this one; flag and status are live, and the status is
        // large enough for any ABI's.
        let code = unsafe { (context.functions().iprobe)(route.source, route.tag, route.comm, &mut flag, &mut status) };
        context.check("MPI_Iprobe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        let status = self.status(&status, tag);
        self.check_meeting(&status, tag)?;
        Ok(Some(status))
    }

    async fn compute(&self, work: Work) {
        if let Work::Spin(seconds) = work {
            clock::spin(seconds);
        }
    }

    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<MpiComm>, CommError> {
        self.enter_collective(CollectiveKind::Split);
        let part = self.split_now(color, key);
        self.leave_collective();
        part
    }

    fn world_rank(&self) -> usize {
        self.context().rank
    }

    fn hops_to(&self, rank: usize) -> Option<usize> {
        (rank < self.0.size).then(|| usize::from(rank != self.0.rank))
    }

    fn node_name(&self) -> Option<String> {
        host_name()
    }

    fn binding(&self) -> Option<weft_simd::Binding> {
        weft_simd::binding()
    }

    fn file_systems(&self) -> &[FileSystem] {
        if self.context().library.files.is_some() {
            &[FileSystem::Posix, FileSystem::MpiIo]
        } else {
            &[FileSystem::Posix]
        }
    }

    fn files(&self, system: FileSystem) -> Option<&dyn Files> {
        match system {
            FileSystem::Posix => Some(&self.context().posix),
            FileSystem::MpiIo if self.context().library.files.is_some() => Some(self),
            _ => None,
        }
    }

    fn enter_collective(&self, kind: CollectiveKind) -> u32 {
        let sequence = self.0.sequence.get();
        self.0.sequence.set(sequence.wrapping_add(1));
        let before = self.context().activity.set_collective(kind, sequence);
        self.context().collectives.borrow_mut().push(before);
        sequence
    }

    fn leave_collective(&self) {
        let before = self.context().collectives.borrow_mut().pop().unwrap_or(0);
        self.context().activity.restore_collective(before);
    }

    fn persistent(&self, tag: Tag, ends: &[Ends]) -> Option<Result<Box<dyn PersistentMessages>, CommError>> {
        Some(Messages::new(self, tag, ends).map(|messages| Box::new(messages) as Box<dyn PersistentMessages>))
    }

    fn operations(&self) -> Option<&dyn Operations> {
        Some(self)
    }

    fn native(&self) -> Option<&dyn NativeCollectives> {
        Some(self)
    }
}

/// The name of this computer.
fn host_name() -> Option<String> {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is as long as is said; its last byte stays zero.
    let code = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let name = std::ffi::CStr::from_bytes_until_nul(&buffer).ok()?;
    (code == 0).then(|| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_truncated_message_is_read_from_mpichs_words() {
        let text = "Message truncated, error stack:\nMPIR_Recv(1): Message from rank 0 and tag 7 truncated; 64 bytes \
                    received but buffer size is 8";
        assert_eq!(bytes_received(text), Some(64));
        assert_eq!(bytes_received("8 bytes received but buffer size is 64\n"), Some(64));
        assert_eq!(bytes_received("MPI_ERR_TRUNCATE: message truncated"), None);
        assert_eq!(bytes_received(" bytes received but buffer size is "), None);
    }
}
