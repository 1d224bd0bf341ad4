//! What programs need whose calls come from outside: a library of MPI over virtual time.

use std::cell::{Cell, OnceCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use weft_base::Picos;
use weft_comm::files::{FileId, FileSystem};
use weft_comm::matching::Envelope;
use weft_comm::{Buffer, CollectiveKind, CommError, ElementKinds, Payload, Source, Status, Tag, TagSelector};

use super::communicator::{Group, MAX_PACKETS, Probe, ReceiveState, SendState, SimComm, SimReceive, SimSend};
use super::core::remote::{Serve, SimRemote};

impl SimComm {
    /// A communicator whose rank `r` is rank `members[r]` of the whole run, and in which this rank is `rank`.
    ///
    /// Messages match within one `context`; all that take part must name the same. Between two groups of ranks, the
    /// members are those of the other group, and `rank` is this rank's within its own.
    pub fn regroup(&self, rank: usize, members: Rc<[u32]>, context: u32) -> SimComm {
        let size = members.len() as u32;
        let group = Some(Rc::new(Group { members, sequence: Cell::new(0) }));
        SimComm { rank: rank as u32, size, context, group, files: OnceCell::new(), ..self.clone() }
    }

    /// As [`SimComm::regroup`], where the caller numbers those that it sends to by the whole run.
    pub fn within(&self, rank: usize, context: u32) -> SimComm {
        SimComm { rank: rank as u32, context, group: None, files: OnceCell::new(), ..self.clone() }
    }

    /// Notes that this rank enters a collective of a communicator with this context, which its caller has numbered.
    pub fn enter_numbered(&self, context: u32, kind: CollectiveKind, sequence: u32) {
        self.core().borrow_mut().enter_collective(self.world_rank, context, kind, sequence);
    }

    /// The length of the longest message that is simulated, in bytes.
    pub fn longest_message(&self) -> u64 {
        self.core().borrow().longest_message(MAX_PACKETS)
    }

    /// The length of the longest message that the machine sends without waiting for its receive, in bytes.
    pub fn longest_eager(&self) -> u64 {
        self.core().borrow().longest_eager()
    }

    /// A context that no communicator has.
    pub fn new_context(&self) -> u32 {
        self.core().borrow_mut().new_context()
    }

    /// The context that all who name `key` get.
    pub fn context_of(&self, key: (u32, u32, u32)) -> u32 {
        self.core().borrow_mut().split_context(key)
    }

    /// As [`weft_comm::Communicator::irecv`], for at most so many bytes of elements of these kinds. A message of others is
    /// received all the same, and listed when the run has ended.
    #[inline]
    pub fn irecv_elements(&self, from: Source, tag: TagSelector, bytes: u64, elements: ElementKinds) -> SimReceive {
        let state = match self.pattern(from, tag) {
            Ok(pattern) => {
                let key = self.core().borrow_mut().post(self.world_rank, pattern.with_elements(elements), bytes);
                ReceiveState::Waiting { core: self.core.clone(), key, rank: self.rank }
            }
            Err(error) => ReceiveState::Failed(Box::new(error)),
        };
        SimReceive { state }
    }

    /// Starts to send what the caller gives away, made of elements of these kinds; if `synchronous`, it is complete only
    /// when a receive has it.
    pub fn isend_owned(&self, to: usize, tag: Tag, data: Buffer, elements: ElementKinds, synchronous: bool) -> SimSend {
        let bytes = data.len();
        let member = match self.check_send(to, tag, bytes) {
            Ok(member) => member,
            Err(error) => return SimSend { state: SendState::Failed(Box::new(error)), payload: None },
        };
        let envelope = Envelope::new(self.context, self.rank as usize, tag).with_elements(elements);
        let ends = (self.world_rank, member);
        let mut core = self.core().borrow_mut();
        let data = Some(Box::new(data));
        let key = if synchronous {
            core.send_synchronously(ends, envelope, to as u32, bytes as u64, data)
        } else {
            core.send(ends, envelope, to as u32, bytes as u64, data)
        };
        drop(core);
        let state = match key {
            None => SendState::Complete,
            Some(key) => SendState::Waiting { core: self.core.clone(), key },
        };
        SimSend { state, payload: Some(Payload::EMPTY) }
    }

    /// Takes a message out that has arrived by now; its receive is the only one that gets it.
    ///
    /// # Errors
    /// As of [`weft_comm::Communicator::iprobe`].
    pub async fn take_arrived(
        &self,
        from: Source,
        tag: TagSelector,
    ) -> Result<Option<(Status, SimReceive)>, CommError> {
        let pattern = self.pattern(from, tag)?;
        self.catch_up().await;
        let taken = self.core().borrow_mut().take_arrived(self.world_rank, pattern);
        Ok(taken.map(|(envelope, bytes, key)| {
            let status = Status { source: envelope.source(), tag: envelope.tag(), bytes: bytes as usize };
            let state = ReceiveState::Waiting { core: self.core.clone(), key, rank: self.rank };
            (status, SimReceive { state })
        }))
    }

    /// As [`SimComm::take_arrived`], once there is one.
    ///
    /// # Errors
    /// As [`SimComm::take_arrived`].
    pub async fn take_next(&self, from: Source, tag: TagSelector) -> Result<(Status, SimReceive), CommError> {
        let pattern = self.pattern(from, tag)?;
        loop {
            self.catch_up().await;
            Probe { comm: self, pattern }.await;
            if let Some(taken) = self.take_arrived(from, tag).await? {
                return Ok(taken);
            }
        }
    }

    /// Reaches rank `to` for something that is done there whatever its program does: a message of `bytes` bytes goes there,
    /// `serve` is called when it has come, and a reply comes back. It must not use this run itself.
    ///
    /// # Errors
    /// Where there is no such rank.
    pub fn reach(&self, to: usize, bytes: u64, serve: Serve) -> Result<SimRemote, CommError> {
        let member = self.check_send(to, Tag::User(0), bytes as usize)?;
        let key = self.core().borrow_mut().start_remote((self.world_rank, member), bytes, serve);
        Ok(SimRemote::new(self.core.clone(), key))
    }

    /// Looks at requests as they are at this rank's time: within `poll` a request is ready only if it is complete by
    /// then. Returns with what `poll` gives when the first of the others will be complete, in seconds, if that is known
    /// already.
    pub fn look<T>(&self, poll: impl FnOnce() -> T) -> (T, Option<Picos>) {
        self.begin_look();
        let result = poll();
        (result, self.end_look())
    }

    /// Begins what [`SimComm::look`] does at once.
    pub fn begin_look(&self) {
        self.core().borrow_mut().begin_look();
    }

    /// Ends it, with the time that it gives.
    pub fn end_look(&self) -> Option<Picos> {
        self.core().borrow_mut().end_look()
    }

    /// The rank that goes on next, after as many events as that takes. None where `may` refuses it or nothing can happen:
    /// then the run itself sees to it. What holds ranks of its own may so go from one to the next by itself.
    pub fn next_rank(&self, may: impl FnOnce(usize) -> bool) -> Option<usize> {
        let mut core = self.core().borrow_mut();
        loop {
            if let Some(rank) = core.first_ready() {
                return may(rank as usize).then(|| core.next_ready()).flatten().map(|rank| rank as usize);
            }
            if !core.step() {
                return None;
            }
        }
    }

    /// Makes this rank go on.
    pub fn make_ready(&self) {
        self.core().borrow_mut().make_ready(self.world_rank);
    }

    /// Waits until all that happens before this rank's time has happened.
    pub async fn settle(&self) {
        self.catch_up().await;
    }

    /// Ready when nothing can happen in the run any more: no rank can go on, and no message is under way. Of several ranks
    /// that wait for it one is told at a time; all are told before one is told again.
    pub fn quiet(&self) -> Quiet {
        Quiet { comm: self.clone(), is_registered: false }
    }

    /// A look that has found nothing: takes at least until `least`, and then until something happens to this rank, but no
    /// longer than until `until`; no longer than `least` where nothing can happen but that ranks look. Moves the clock.
    pub fn look_on(&self, least: Picos, until: Picos) -> LookOn {
        LookOn { comm: self.clone(), least, until, stage: Stage::New }
    }

    /// Whether anything can happen in the run but that ranks look.
    pub fn can_happen(&self) -> bool {
        self.core().borrow().can_happen()
    }

    /// Asks for this rank to be polled at `time`.
    pub fn wake_at(&self, time: Picos) {
        self.core().borrow_mut().wake_at(self.world_rank, time);
    }

    /// Asks for this rank to be polled again, after others whose order with what it does does not matter: it has been
    /// given what it waited for, and goes on elsewhere meanwhile.
    pub fn defer(&self) {
        self.core().borrow_mut().defer(self.world_rank);
    }

    /// Says that an open file has so many bytes, which a program has written without this run.
    pub fn declare_file_length(&self, system: FileSystem, file: FileId, bytes: u64) {
        self.core().borrow_mut().io.declare_length(system, file, bytes);
    }

    /// Moves this rank's clock to `time`, if it is not there yet.
    pub fn advance_to(&self, time: Picos) {
        let mut core = self.core().borrow_mut();
        let clock = &mut core.rank(self.world_rank).clock;
        *clock = (*clock).max(time);
    }

    /// This rank's clock.
    pub fn clock(&self) -> Picos {
        self.core().borrow().clock(self.world_rank)
    }

    /// How far the whole run is.
    pub fn run_time(&self) -> Picos {
        self.core().borrow().now()
    }

    /// Processor time of receiving an empty message: what a look costs that finds nothing.
    pub fn look_time(&self) -> Picos {
        self.core().borrow_mut().overheads(0).1
    }
}

/// What [`SimComm::quiet`] gives.
pub struct Quiet {
    comm: SimComm,
    is_registered: bool,
}

impl Future for Quiet {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let rank = self.comm.world_rank;
        if !std::mem::replace(&mut self.is_registered, true) {
            self.comm.core().borrow_mut().await_quiet(rank, true);
        }
        let mut core = self.comm.core().borrow_mut();
        if !core.take_quiet(rank) {
            return Poll::Pending;
        }
        // What came last came to others; the rank knows of it from now on.
        let now = core.now();
        let clock = &mut core.rank(rank).clock;
        *clock = now.max(*clock);
        Poll::Ready(())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.is_registered {
            self.comm.core().borrow_mut().await_quiet(self.comm.world_rank, false);
        }
    }
}

/// What [`SimComm::look_on`] gives.
pub struct LookOn {
    comm: SimComm,
    least: Picos,
    until: Picos,
    stage: Stage,
}

/// How far a look is.
enum Stage {
    New,
    /// Until the time that it takes at least.
    Least,
    /// Until it is woken and has taken that.
    Last,
}

impl Future for LookOn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let (least, until) = (self.least, self.until);
        let LookOn { comm, stage, .. } = &mut *self;
        let rank = comm.world_rank;
        let mut core = comm.core().borrow_mut();
        let now = core.now();
        match stage {
            Stage::New => {
                core.begin_noticing(rank);
                core.end_look_at(rank, least);
                *stage = Stage::Least;
                return Poll::Pending;
            }
            // What wakes the rank before is what it looks for.
            Stage::Least | Stage::Last if now < least => {
                *stage = Stage::Last;
                return Poll::Pending;
            }
            Stage::Least if now < until && core.can_happen() => {
                core.end_look_at(rank, until);
                *stage = Stage::Last;
                return Poll::Pending;
            }
            Stage::Least | Stage::Last => {}
        }
        let clock = &mut core.rank(rank).clock;
        *clock = now.max(*clock);
        Poll::Ready(())
    }
}

impl SimReceive {
    /// Takes the receive back, if it has got no message; it is ready never again then.
    pub fn cancel(&mut self) -> bool {
        let ReceiveState::Waiting { core, key, .. } = &self.state else { return false };
        let cancelled = core.borrow_mut().cancel_receive(*key);
        if cancelled {
            self.state = ReceiveState::Done;
        }
        cancelled
    }
}
