//! The communicator of virtual time and its requests.

use std::cell::{Cell, OnceCell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use weft_base::Picos;
use weft_comm::files::{FileSystem, Files};
use weft_comm::matching::{Envelope, Pattern};
use weft_comm::{
    CollectiveKind, CommError, Communicator, ElementKinds, Exchanges, Failure, Payload, Received, Source, Status, Tag,
    TagSelector, Work,
};
use weft_simd::Binding;

use crate::core::Core;
use crate::core::files::SimFiles;
use crate::request::{ReceiveKey, SendKey, Taken};
use crate::trace::TraceKind;

/// The most packets of one message: each is an event a link, and in memory while it is under way.
pub(crate) const MAX_PACKETS: u64 = 1 << 22;

/// The communicator of a rank in virtual time.
#[derive(Clone)]
pub struct SimComm {
    pub(crate) core: Rc<RefCell<Core>>,
    /// Rank of the whole run.
    pub(crate) world_rank: u32,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) context: u32,
    pub(crate) group: Option<Rc<Group>>,
    /// Made when a program asks for files.
    pub(crate) files: OnceCell<Box<[SimFiles; 2]>>,
}

/// A communicator made by `split`, as one of its ranks sees it.
pub(crate) struct Group {
    /// Ranks of the whole run, by rank of the group.
    pub members: Rc<[u32]>,
    pub sequence: Cell<u32>,
}

impl SimComm {
    pub(crate) fn new(core: Rc<RefCell<Core>>, world_rank: u32) -> SimComm {
        let size = core.borrow().size() as u32;
        SimComm { core, world_rank, rank: world_rank, size, context: 0, group: None, files: OnceCell::new() }
    }

    pub(crate) fn core(&self) -> &RefCell<Core> {
        &self.core
    }

    /// Whether this is the communicator of all ranks.
    pub(crate) fn is_whole_run(&self) -> bool {
        self.group.is_none()
    }

    /// The rank of the whole run that is `rank` here, if there is one.
    #[inline]
    pub(crate) fn member(&self, rank: usize) -> Option<u32> {
        let known = rank < self.size as usize;
        known.then(|| self.group.as_ref().map_or(rank as u32, |group| group.members[rank]))
    }

    #[cold]
    fn no_such_rank(&self, peer: usize) -> CommError {
        Failure::NoSuchRank { rank: self.rank(), peer, last: self.size() - 1 }.into()
    }

    /// The tag of a program that is too large, if it is.
    #[inline]
    fn too_large(tag: Tag) -> Option<u32> {
        match tag {
            Tag::User(tag) if tag > Tag::MAX_USER => Some(tag),
            _ => None,
        }
    }

    #[cold]
    fn tag_too_large(&self, tag: u32) -> CommError {
        Failure::TagTooLarge { rank: self.rank(), tag }.into()
    }

    #[inline]
    pub(crate) fn pattern(&self, from: Source, tag: TagSelector) -> Result<Pattern, CommError> {
        if let Source::Rank(rank) = from
            && rank >= self.size as usize
        {
            return Err(self.no_such_rank(rank));
        }
        if let TagSelector::Only(tag) = tag
            && let Some(tag) = SimComm::too_large(tag)
        {
            return Err(self.tag_too_large(tag));
        }
        Ok(Pattern::new(self.context, from, tag))
    }

    #[cold]
    fn too_many_packets(&self, bytes: usize, packets: u64) -> CommError {
        let message = format!(
            "a message of {bytes} bytes is {packets} packets on this machine, and at most {MAX_PACKETS} are simulated; \
             send shorter messages"
        );
        CommError::program(self.rank(), message)
    }

    /// Whether a message may be sent so: the rank of the whole run that it goes to.
    #[inline]
    pub(crate) fn check_send(&self, to: usize, tag: Tag, bytes: usize) -> Result<u32, CommError> {
        let Some(member) = self.member(to) else {
            return Err(self.no_such_rank(to));
        };
        if let Some(tag) = SimComm::too_large(tag) {
            return Err(self.tag_too_large(tag));
        }
        let packets = self.core.borrow().packets_of(bytes as u64);
        if packets > MAX_PACKETS {
            return Err(self.too_many_packets(bytes, packets));
        }
        Ok(member)
    }

    #[inline]
    fn try_send(&self, to: usize, tag: Tag, payload: &Payload) -> Result<Option<SendKey>, CommError> {
        let member = self.check_send(to, tag, payload.len())?;
        let data = match payload {
            Payload::Data(buffer) => Some(Box::new(buffer.clone())),
            Payload::Phantom(_) => None,
        };
        let envelope = Envelope::new(self.context, self.rank(), tag);
        let ends = (self.world_rank, member);
        Ok(self.core.borrow_mut().send(ends, envelope, to as u32, payload.len() as u64, data))
    }

    /// Waits until everything that happens before this rank's clock has happened.
    pub(crate) fn catch_up(&self) -> CatchUp<'_> {
        CatchUp { comm: self, until: self.core.borrow().clock(self.world_rank) }
    }

    fn status_of_first(&self, pattern: &Pattern) -> Option<(Picos, Status)> {
        let core = self.core.borrow();
        let (visible, index) = core.first_visible(self.world_rank, pattern)?;
        let (envelope, bytes) = core.unexpected(self.world_rank, index);
        Some((visible, Status { source: envelope.source(), tag: envelope.tag(), bytes: bytes as usize }))
    }
}

impl Communicator for SimComm {
    type Send = SimSend;
    type Receive = SimReceive;

    fn rank(&self) -> usize {
        self.rank as usize
    }

    fn size(&self) -> usize {
        self.size as usize
    }

    fn wtime(&self) -> f64 {
        self.core.borrow().clock(self.world_rank).seconds()
    }

    fn virtual_time(&self) -> bool {
        true
    }

    #[inline]
    fn isend(&self, to: usize, tag: Tag, payload: Payload) -> SimSend {
        let (state, payload) = match self.try_send(to, tag, &payload) {
            Ok(None) => (SendState::Complete, Some(payload)),
            Ok(Some(key)) => (SendState::Waiting { core: self.core.clone(), key }, Some(payload)),
            Err(error) => (SendState::Failed(Box::new(error)), None),
        };
        SimSend { state, payload }
    }

    #[inline]
    fn irecv(&self, from: Source, tag: TagSelector, into: Payload) -> SimReceive {
        self.irecv_elements(from, tag, into.len() as u64, ElementKinds::UNKNOWN)
    }

    /// As the default, without a request for a send that is complete at once.
    #[inline]
    async fn send(&self, to: usize, tag: Tag, payload: Payload) -> Result<Payload, CommError> {
        if let Some(key) = self.try_send(to, tag, &payload)? {
            let state = SendState::Waiting { core: self.core.clone(), key };
            SimSend { state, payload: Some(Payload::EMPTY) }.await?;
        }
        Ok(payload)
    }

    async fn probe(&self, from: Source, tag: TagSelector) -> Result<Status, CommError> {
        let pattern = self.pattern(from, tag)?;
        self.catch_up().await;
        Ok(Probe { comm: self, pattern }.await)
    }

    async fn probe_until_quiet(&self, from: Source, tag: TagSelector) -> Result<Option<Status>, CommError> {
        let pattern = self.pattern(from, tag)?;
        self.catch_up().await;
        self.core.borrow_mut().await_quiet(self.world_rank, true);
        let status = ProbeUntilQuiet { probe: Probe { comm: self, pattern } }.await;
        self.core.borrow_mut().await_quiet(self.world_rank, false);
        Ok(status)
    }

    async fn iprobe(&self, from: Source, tag: TagSelector) -> Result<Option<Status>, CommError> {
        let pattern = self.pattern(from, tag)?;
        self.catch_up().await;
        let now = self.core.borrow().now();
        Ok(self.status_of_first(&pattern).filter(|&(visible, _)| visible <= now).map(|(_, status)| status))
    }

    async fn compute(&self, work: Work) {
        let time = match work {
            Work::Operations { operation, count } => self.core.borrow().operations(self.world_rank, operation, count),
            Work::Overlapped(both) => {
                let core = self.core.borrow();
                let times = both.map(|(operation, count)| core.operations(self.world_rank, operation, count));
                times[0].max(times[1])
            }
            Work::Seconds(seconds) | Work::Spin(seconds) => Picos::from_seconds(seconds),
        };
        let is_stolen_from = self.core.borrow().stolen(self.world_rank).is_some();
        let start = self.core.borrow().clock(self.world_rank);
        if is_stolen_from {
            self.compute_with_theft(time).await;
        } else {
            self.core.borrow_mut().rank(self.world_rank).clock += time;
        }
        let mut core = self.core.borrow_mut();
        let end = core.clock(self.world_rank);
        core.record(self.world_rank, start, end, TraceKind::Compute);
    }

    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<SimComm>, CommError> {
        let Some(division) = weft_comm::collective::divide(self, color, key).await? else {
            return Ok(None);
        };
        let key = (self.context, division.sequence, division.group as u32);
        let context = self.core.borrow_mut().split_context(key);
        let (rank, size) = (division.rank as u32, division.members.len() as u32);
        let members: Rc<[u32]> = division.members.into_iter().filter_map(|member| self.member(member)).collect();
        let group = Some(Rc::new(Group { members, sequence: Cell::new(0) }));
        Ok(Some(SimComm { rank, size, context, group, ..self.clone() }))
    }

    fn world_rank(&self) -> usize {
        self.world_rank as usize
    }

    fn hops_to(&self, rank: usize) -> Option<usize> {
        let core = self.core.borrow();
        let member = self.member(rank)? as usize;
        let host = core.placement().host_rank();
        if host == Some(member) || host == Some(self.world_rank()) {
            return None;
        }
        let node = |rank| core.placement().node(rank);
        Some(core.machine().topology.hops(node(self.world_rank()), node(member)))
    }

    fn node_name(&self) -> Option<String> {
        let core = self.core.borrow();
        let node = core.placement().node(self.world_rank());
        let computer = core.machine().processors.as_ref().map(|processors| processors.location(node).computer as usize);
        Some(computer.unwrap_or(node).to_string())
    }

    fn binding(&self) -> Option<Binding> {
        let core = self.core.borrow();
        let node = core.placement().node(self.world_rank());
        let processors = core.machine().processors.as_ref()?;
        let location = processors.location(node);
        Some(Binding {
            processors: vec![location.processor],
            cores: vec![location.core],
            caches: vec![location.cache],
            numa_nodes: vec![location.numa_node],
            sockets: vec![location.socket],
            cores_of_node: processors.cores_of_computer(),
        })
    }

    fn host(&self) -> Option<usize> {
        let host = self.core.borrow().placement().host_rank()?;
        match &self.group {
            None => Some(host),
            Some(group) => group.members.iter().position(|&member| member as usize == host),
        }
    }

    fn file_systems(&self) -> &[FileSystem] {
        self.core.borrow().io.systems()
    }

    fn files(&self, system: FileSystem) -> Option<&dyn Files> {
        let index = self.file_systems().contains(&system).then_some(usize::from(system == FileSystem::Host))?;
        let make = |system| SimFiles::new(self.core.clone(), self.world_rank, system);
        let files = self.files.get_or_init(|| Box::new([make(FileSystem::Concurrent), make(FileSystem::Host)]));
        Some(&files[index])
    }

    fn exchanges(&self) -> Option<&dyn Exchanges> {
        Some(self)
    }

    fn enter_collective(&self, kind: CollectiveKind) -> u32 {
        let mut core = self.core.borrow_mut();
        let sequence = match &self.group {
            Some(group) => group.sequence.replace(group.sequence.get() + 1),
            None => {
                let rank = core.rank(self.world_rank);
                rank.sequence += 1;
                rank.sequence - 1
            }
        };
        core.enter_collective(self.world_rank, self.context, kind, sequence);
        sequence
    }

    fn leave_collective(&self) {
        self.core.borrow_mut().leave_collective(self.world_rank);
    }
}

impl SimComm {
    /// Computation on a node whose processor also routes: what routing takes while it lasts makes it last longer.
    async fn compute_with_theft(&self, time: Picos) {
        self.catch_up().await;
        let stolen = || self.core.borrow().stolen(self.world_rank).unwrap_or(Picos::ZERO);
        let mut left = time;
        while left > Picos::ZERO {
            let before = stolen();
            self.core.borrow_mut().rank(self.world_rank).clock += left;
            self.catch_up().await;
            left = stolen() - before;
        }
    }
}

/// What a complete receive gives the program of `rank`.
#[inline]
fn received(taken: Taken, rank: u32) -> Result<Received, CommError> {
    if taken.bytes > taken.capacity || !taken.pattern.meets(&taken.envelope) {
        return Err(refused(&taken, rank as usize));
    }
    let status = Status { source: taken.envelope.source(), tag: taken.envelope.tag(), bytes: taken.bytes as usize };
    Ok(Received { payload: taken.payload(), status })
}

#[cold]
fn refused(taken: &Taken, rank: usize) -> CommError {
    let (tag, source) = (taken.envelope.tag(), taken.envelope.source());
    match (taken.pattern.tag(), tag) {
        (TagSelector::Only(Tag::Collective { kind: here, sequence }), Tag::Collective { kind: there, .. })
            if here != there =>
        {
            Failure::MismatchedCollective { rank, here, other: source, there, sequence }.into()
        }
        _ => {
            let (sent, capacity) = (taken.bytes as usize, taken.capacity as usize);
            Failure::Truncated { rank, source_rank: source, tag, sent, capacity }.into()
        }
    }
}

/// The request of a send in virtual time.
pub struct SimSend {
    pub(crate) state: SendState,
    pub(crate) payload: Option<Payload>,
}

pub(crate) enum SendState {
    Complete,
    Waiting { core: Rc<RefCell<Core>>, key: SendKey },
    Failed(Box<CommError>),
}

impl Future for SimSend {
    type Output = Result<Payload, CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let complete = match &self.state {
            SendState::Complete => true,
            SendState::Failed(error) => return Poll::Ready(Err((**error).clone())),
            SendState::Waiting { core, key } => core.borrow_mut().take_send(*key),
        };
        if !complete {
            return Poll::Pending;
        }
        self.state = SendState::Complete;
        Poll::Ready(Ok(self.payload.take().expect("a send is awaited once")))
    }
}

impl Drop for SimSend {
    fn drop(&mut self) {
        if let SendState::Waiting { core, key } = &self.state {
            core.borrow_mut().drop_send(*key);
        }
    }
}

/// The request of a receive in virtual time.
pub struct SimReceive {
    pub(crate) state: ReceiveState,
}

pub(crate) enum ReceiveState {
    /// Of `rank`, as its communicator numbers it.
    Waiting {
        core: Rc<RefCell<Core>>,
        key: ReceiveKey,
        rank: u32,
    },
    Failed(Box<CommError>),
    Done,
}

impl Future for SimReceive {
    type Output = Result<Received, CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let (taken, rank) = match &self.state {
            ReceiveState::Waiting { core, key, rank } => (core.borrow_mut().take_receive(*key), *rank),
            ReceiveState::Failed(error) => return Poll::Ready(Err((**error).clone())),
            ReceiveState::Done => panic!("a receive is awaited once"),
        };
        let Some(taken) = taken else {
            return Poll::Pending;
        };
        self.state = ReceiveState::Done;
        Poll::Ready(received(taken, rank))
    }
}

impl Drop for SimReceive {
    fn drop(&mut self) {
        if let ReceiveState::Waiting { core, key, .. } = &self.state {
            core.borrow_mut().drop_receive(*key);
        }
    }
}

/// Waits until the events of the whole run have come as far as `until`.
pub(crate) struct CatchUp<'a> {
    comm: &'a SimComm,
    until: Picos,
}

impl Future for CatchUp<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let mut core = self.comm.core.borrow_mut();
        if core.now() >= self.until {
            return Poll::Ready(());
        }
        core.wake_at(self.comm.world_rank, self.until);
        Poll::Pending
    }
}

/// Waits until a message is visible.
pub(crate) struct Probe<'a> {
    pub comm: &'a SimComm,
    pub pattern: Pattern,
}

impl Future for Probe<'_> {
    type Output = Status;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Status> {
        let first = self.comm.status_of_first(&self.pattern);
        let mut core = self.comm.core.borrow_mut();
        let now = core.now();
        match first {
            Some((visible, status)) if visible <= now => {
                core.set_probing(self.comm.world_rank, None);
                let rank = core.rank(self.comm.world_rank);
                rank.clock = rank.clock.max(visible);
                Poll::Ready(status)
            }
            first => {
                core.set_probing(self.comm.world_rank, Some(self.pattern));
                if let Some((visible, _)) = first {
                    core.wake_at(self.comm.world_rank, visible);
                }
                Poll::Pending
            }
        }
    }
}

/// Waits until a message is visible, or until nothing can happen any more.
struct ProbeUntilQuiet<'a> {
    probe: Probe<'a>,
}

impl Future for ProbeUntilQuiet<'_> {
    type Output = Option<Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Status>> {
        if let Poll::Ready(status) = Pin::new(&mut self.probe).poll(context) {
            return Poll::Ready(Some(status));
        }
        let (comm, rank) = (self.probe.comm, self.probe.comm.world_rank);
        let mut core = comm.core.borrow_mut();
        if !core.take_quiet(rank) {
            return Poll::Pending;
        }
        core.set_probing(rank, None);
        // What came last came to others; the rank knows of it from now on.
        let now = core.now();
        let clock = &mut core.rank(rank).clock;
        *clock = (*clock).max(now);
        Poll::Ready(None)
    }
}
