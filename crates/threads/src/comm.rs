//! The communicator of a rank that is a thread.

mod request;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_comm::collective::divide;
use weft_comm::files::{FileSystem, Files, PosixFiles};
use weft_comm::matching::{Envelope, Pattern};
use weft_comm::{
    Blocked, Buffer, Call, CollectiveKind, CommError, Communicator, Failure, Payload, Received, Source, Status, Tag,
    TagSelector, Work,
};

use crate::backend::Backend;
use crate::fill::{Own, Sender, fill};
use crate::mailbox::{Contents, Mailbox, Message, Parcel, Slot};
use crate::sync::MutexGuard;
pub use request::{Receive, Send};
use request::{ReceiveState, SendState};

/// Messages up to this many bytes are copied under the lock of the receiver's mailbox, which is cheaper than taking it
/// twice.
const COPY_UNDER_LOCK: usize = 4096;

/// What one rank is, on all its communicators.
struct RankState {
    backend: Arc<Backend>,
    rank: usize,
    own: Own,
    files: PosixFiles,
}

/// One rank's end of one communicator.
struct Group {
    state: Rc<RankState>,
    /// The communicator's number in the run.
    context: u32,
    rank: usize,
    /// The ranks of the run that belong to it, in order; `None`: all.
    members: Option<Vec<usize>>,
    /// Collectives begun.
    sequence: Cell<u32>,
    /// Collectives entered and not left, the innermost last.
    within: RefCell<Vec<(CollectiveKind, u32)>>,
}

/// The [`Communicator`] of a rank that is a thread.
#[derive(Clone)]
pub struct ThreadComm(Rc<Group>);

impl ThreadComm {
    /// The communicator of all ranks.
    pub(crate) fn of_backend(backend: Arc<Backend>, rank: usize) -> ThreadComm {
        let state = Rc::new(RankState { backend, rank, own: Own::default(), files: PosixFiles::new(rank) });
        ThreadComm::group(state, 0, rank, None)
    }

    fn group(state: Rc<RankState>, context: u32, rank: usize, members: Option<Vec<usize>>) -> ThreadComm {
        let (sequence, within) = (Cell::new(0), RefCell::default());
        ThreadComm(Rc::new(Group { state, context, rank, members, sequence, within }))
    }

    fn backend(&self) -> &Backend {
        &self.0.state.backend
    }

    fn world_rank_of(&self, rank: usize) -> usize {
        self.0.members.as_ref().map_or(rank, |members| members[rank])
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.backend().mailboxes[self.0.state.rank]
    }

    /// This rank's mailbox, with all that has come.
    pub(crate) fn contents(&self) -> MutexGuard<'_, Contents> {
        self.mailbox().open(self.0.state.rank, &self.0.state.own)
    }

    /// This rank, blocked in `call`.
    pub(crate) fn blocked(&self, call: Call) -> Blocked {
        Blocked { rank: self.0.state.rank, call, collective: self.0.within.borrow().last().copied() }
    }

    pub(crate) fn wait<T>(&self, call: Call, look: impl FnMut(&mut Contents) -> Option<T>) -> Result<T, CommError> {
        self.backend().wait(self.blocked(call), &self.0.state.own, look)
    }

    fn check_peer(&self, peer: usize) -> Result<(), CommError> {
        let last = self.size() - 1;
        if peer <= last { Ok(()) } else { Err(Failure::NoSuchRank { rank: self.0.rank, peer, last }.into()) }
    }

    fn check_tag(&self, tag: Tag) -> Result<(), CommError> {
        match tag {
            Tag::User(tag) if tag > Tag::MAX_USER => Err(Failure::TagTooLarge { rank: self.0.rank, tag }.into()),
            _ => Ok(()),
        }
    }

    fn pattern(&self, source: Source, tag: TagSelector) -> Pattern {
        Pattern::new(self.0.context, source, tag)
    }

    /// Fills the receive that waits for this message, or leaves the message.
    fn deliver(&self, to: usize, tag: Tag, payload: Payload) -> SendState {
        let receiver = self.world_rank_of(to);
        let mailbox = &self.backend().mailboxes[receiver];
        let sender = Sender { rank: self.0.rank, world_rank: self.0.state.rank, tag };
        let envelope = Envelope::new(self.0.context, self.0.rank, tag);
        let own = &self.0.state.own;
        let fill = |into, wanted| fill(into, &payload, sender, receiver, wanted, &own.scratch);

        let mut contents = mailbox.open_for(sender.world_rank, receiver, own);
        let is_awaited = contents.queues.posted().any(|(pattern, _)| pattern.accepts(&envelope));
        if !is_awaited {
            let (message, state) = self.leave(to, tag, payload);
            contents.queues.deliver(envelope, message);
            drop(contents);
            mailbox.ring();
            return state;
        }
        let nothing = Message::Kept { world_rank: sender.world_rank, payload: Payload::EMPTY };
        let (slot, _) = contents.queues.deliver(envelope, nothing).expect("the receive was posted a moment ago");
        let Slot::Posted { into, wanted } = std::mem::replace(&mut contents.slots[slot], Slot::Filling) else {
            unreachable!("a slot in the queue is posted")
        };
        if payload.len() <= COPY_UNDER_LOCK {
            contents.slots[slot] = Slot::Done(fill(into, wanted));
        } else {
            drop(contents);
            let received = fill(into, wanted);
            contents = mailbox.open_for(sender.world_rank, receiver, own);
            match &mut contents.slots[slot] {
                Slot::Dropped => drop(contents.slots.remove(slot)),
                state => *state = Slot::Done(received),
            }
        }
        drop(contents);
        mailbox.ring();
        SendState::Done(Some(Ok(payload)))
    }

    /// Leaves a payload that its sender gives away, or fills the receive that waits for it.
    fn give(&self, to: usize, tag: Tag, payload: Payload) {
        let (world_rank, receiver) = (self.0.state.rank, self.world_rank_of(to));
        let mailbox = &self.backend().mailboxes[receiver];
        let envelope = Envelope::new(self.0.context, self.0.rank, tag);
        let own = &self.0.state.own;
        // SAFETY: a communicator is not `Send` (it holds an `Rc`) and is made by the one thread that runs this rank.
        let payload = match unsafe { mailbox.push(world_rank, envelope, payload) } {
            Ok(copied) => return copied.into_iter().for_each(|payload| own.keep(payload)),
            Err(payload) => payload,
        };
        let mut contents = mailbox.open_for(world_rank, receiver, own);
        if contents.queues.posted().any(|(pattern, _)| pattern.accepts(&envelope)) {
            drop(contents);
            // Only its receiver takes a posted receive away other than by a message, and messages of this sender keep their
            // order: whether it is still there does not matter.
            drop(self.deliver(to, tag, payload));
            return;
        }
        contents.queues.keep(envelope, Message::Kept { world_rank, payload });
        drop(contents);
        mailbox.ring();
    }

    /// The message to leave in a mailbox, and how its send goes on.
    fn leave(&self, to: usize, tag: Tag, payload: Payload) -> (Message, SendState) {
        let world_rank = self.0.state.rank;
        if payload.len() <= self.backend().eager_bytes {
            let copy = Message::Kept { world_rank, payload: payload.clone() };
            return (copy, SendState::Done(Some(Ok(payload))));
        }
        let call = Call::Send { to, tag, bytes: payload.len() };
        let parcel = Arc::new(Parcel::of(payload));
        let message = Message::Waiting { world_rank, parcel: Arc::clone(&parcel) };
        (message, SendState::Waiting { comm: self.clone(), parcel, call })
    }

    /// Takes a message that was there when its receive was posted.
    fn take(&self, envelope: Envelope, message: Message, into: Payload, wanted: TagSelector) -> ReceiveState {
        ReceiveState::Done(Some(self.taken(envelope, message, into, wanted)))
    }

    fn taken(
        &self,
        envelope: Envelope,
        message: Message,
        into: Payload,
        wanted: TagSelector,
    ) -> Result<Received, CommError> {
        let (rank, tag, receiver) = (envelope.source(), envelope.tag(), self.0.state.rank);
        let scratch = &self.0.state.own.scratch;
        match message {
            Message::Kept { world_rank, payload } => {
                fill(into, &payload, Sender { rank, world_rank, tag }, receiver, wanted, scratch)
            }
            Message::Waiting { world_rank, parcel } => {
                let sender = Sender { rank, world_rank, tag };
                let received = parcel.take(|payload| fill(into, payload, sender, receiver, wanted, scratch));
                self.backend().mailboxes[world_rank].ring();
                received
            }
        }
    }

    fn look(&self, from: Source, tag: TagSelector) -> impl Fn(&mut Contents) -> Option<Status> {
        let pattern = self.pattern(from, tag);
        move |contents| {
            let (envelope, message) = contents.queues.probe(&pattern)?;
            Some(Status { source: envelope.source(), tag: envelope.tag(), bytes: message.bytes() })
        }
    }

    fn check_source(&self, from: Source) -> Result<(), CommError> {
        match from {
            Source::Rank(rank) => self.check_peer(rank),
            Source::Any => Ok(()),
        }
    }
}

impl Communicator for ThreadComm {
    type Send = Send;
    type Receive = Receive;

    fn rank(&self) -> usize {
        self.0.rank
    }

    fn size(&self) -> usize {
        self.0.members.as_ref().map_or(self.backend().mailboxes.len(), Vec::len)
    }

    fn wtime(&self) -> f64 {
        self.backend().seconds()
    }

    fn isend(&self, to: usize, tag: Tag, payload: Payload) -> Send {
        match self.check_peer(to).and_then(|()| self.check_tag(tag)) {
            Ok(()) => Send(self.deliver(to, tag, payload)),
            Err(error) => Send(SendState::Done(Some(Err(error)))),
        }
    }

    fn post(&self, to: usize, tag: Tag, payload: Payload) {
        if self.check_peer(to).and_then(|()| self.check_tag(tag)).is_ok() {
            self.give(to, tag, payload);
        }
    }

    async fn receive_arrived(&self, from: Source, tag: TagSelector) -> Result<Option<Received>, CommError> {
        self.check_source(from)?;
        self.backend().check_going_on(self.0.state.rank)?;
        let pattern = self.pattern(from, tag);
        let mut contents = self.contents();
        let matched = contents.queues.unexpected().position(|(envelope, _)| pattern.accepts(envelope));
        let Some(index) = matched else { return Ok(None) };
        let (envelope, message) = contents.queues.take_unexpected(index);
        drop(contents);
        match message {
            Message::Kept { payload: payload @ Payload::Data(_), .. } if pattern.meets(&envelope) => {
                let status = Status { source: envelope.source(), tag: envelope.tag(), bytes: payload.len() };
                Ok(Some(Received { payload, status }))
            }
            message => {
                let into = Payload::Data(Buffer::zeroed(message.bytes()));
                self.taken(envelope, message, into, tag).map(Some)
            }
        }
    }

    fn irecv(&self, from: Source, tag: TagSelector, into: Payload) -> Receive {
        if let Err(error) = self.check_source(from) {
            return Receive(ReceiveState::Done(Some(Err(error))));
        }
        let mut contents = self.contents();
        let slot = contents.slots.insert(Slot::Posted { into, wanted: tag });
        let Some((envelope, message, slot)) = contents.queues.post(self.pattern(from, tag), slot) else {
            return Receive(ReceiveState::Posted { comm: self.clone(), slot, call: Call::receive(from, tag) });
        };
        let Slot::Posted { into, .. } = contents.slots.remove(slot) else { unreachable!("it was just posted") };
        drop(contents);
        Receive(self.take(envelope, message, into, tag))
    }

    async fn probe(&self, from: Source, tag: TagSelector) -> Result<Status, CommError> {
        self.check_source(from)?;
        self.wait(Call::Probe { from, tag }, self.look(from, tag))
    }

    async fn iprobe(&self, from: Source, tag: TagSelector) -> Result<Option<Status>, CommError> {
        self.check_source(from)?;
        self.backend().check_going_on(self.0.state.rank)?;
        Ok(self.look(from, tag)(&mut self.contents()))
    }

    async fn probe_for(&self, from: Source, tag: TagSelector, seconds: f64) -> Result<Option<Status>, CommError> {
        self.check_source(from)?;
        let look = self.look(from, tag);
        let (start, most) = (Instant::now(), Duration::from_secs_f64(seconds.max(0.0)));
        loop {
            self.backend().check_going_on(self.0.state.rank)?;
            let seen = self.mailbox().rings();
            let matched = look(&mut self.contents());
            if matched.is_some() {
                return Ok(matched);
            }
            let left = most.saturating_sub(start.elapsed());
            if left.is_zero() || !self.mailbox().spin(seen, left) {
                return Ok(None);
            }
        }
    }

    async fn compute(&self, work: Work) {
        if let Work::Spin(seconds) = work {
            let (start, span) = (Instant::now(), Duration::from_secs_f64(seconds.max(0.0)));
            while start.elapsed() < span {
                std::hint::spin_loop();
            }
        }
    }

    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<ThreadComm>, CommError> {
        let Some(division) = divide(self, color, key).await? else { return Ok(None) };
        let context = self.backend().context(self.0.context, division.sequence, division.group);
        let members = division.members.iter().map(|&rank| self.world_rank_of(rank)).collect();
        let state = Rc::clone(&self.0.state);
        Ok(Some(ThreadComm::group(state, context, division.rank, Some(members))))
    }

    fn world_rank(&self) -> usize {
        self.0.state.rank
    }

    /// All ranks are on one node.
    fn hops_to(&self, _: usize) -> Option<usize> {
        Some(0)
    }

    fn file_systems(&self) -> &[FileSystem] {
        &[FileSystem::Posix]
    }

    fn files(&self, system: FileSystem) -> Option<&dyn Files> {
        (system == FileSystem::Posix).then_some(&self.0.state.files as &dyn Files)
    }

    fn enter_collective(&self, kind: CollectiveKind) -> u32 {
        let sequence = self.0.sequence.get();
        self.0.sequence.set(sequence.wrapping_add(1));
        self.0.within.borrow_mut().push((kind, sequence));
        sequence
    }

    fn leave_collective(&self) {
        self.0.within.borrow_mut().pop();
    }
}
