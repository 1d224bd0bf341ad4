//! The side of a rank's process: commands are queued, and handed over when one needs an answer.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use weft_base::Picos;
use weft_comm::{Buffer, CommError, Payload, Received};

use super::codec::{Answer, Command, Id, Known, Move, Outcome, Reply, Setup};
use super::shared::{self, AREA_BYTES, Slot};
use crate::outcome::Unfreed;
use crate::threads::{Awaited, Woken};

/// The variables by which a rank's process finds its hub.
pub const HUB_VARIABLE: &str = "WEFT_RUN_HUB";
pub const RANK_VARIABLE: &str = "WEFT_RUN_RANK";

/// A command without the bytes that follow it is no longer than this.
const COMMAND_BYTES: usize = 1024;

/// Memory of a message is kept for the next one up to this length.
const SPARE_BYTES: usize = 4096;

/// One command names so many requests at most.
const PARKED_TOGETHER: usize = 128;

/// What becomes of requests that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// Each is asked for at once.
    AtOnce,
    /// They are noted, and asked for when the rank parks.
    Noted,
    /// As `Noted`; the hub waits by itself for what tells nothing, since the program waits for nothing besides it.
    Alone,
}

/// Where a rank's process hands over what it wants.
pub struct Connection {
    slot: Slot,
    pub rank: usize,
    pub setup: Setup,
    /// Bytes of commands that are queued.
    used: Cell<usize>,
    next: Cell<Id>,
    /// Requests that the program waits for, in the order in which it came upon them.
    awaited: RefCell<Vec<Id>>,
    ready: RefCell<FxHashMap<Id, Arrived>>,
    /// For the next message that comes: a turn that allocates nothing touches less memory, all of which is in no cache and
    /// has its addresses translated anew after other ranks have run.
    spare: Cell<Option<Buffer>>,
    looks: Cell<Looks>,
    clock: Cell<Picos>,
    now: Cell<Picos>,
    /// What is queued may have moved the clock.
    stale: Cell<bool>,
    call: Cell<&'static str>,
    sent_call: Cell<&'static str>,
    left: Cell<bool>,
}

/// What a request came to, with its message.
struct Arrived {
    outcome: Outcome,
    data: Option<Buffer>,
}

impl Connection {
    /// Comes for the rank that the environment names; nothing where this is no process of a run.
    pub fn open() -> Result<Option<Connection>, String> {
        let (Ok(path), Ok(rank)) = (std::env::var(HUB_VARIABLE), std::env::var(RANK_VARIABLE)) else {
            return Ok(None);
        };
        let rank: usize = rank.parse().map_err(|_| format!("{RANK_VARIABLE} is {rank}, which is no number"))?;
        let file = File::options().read(true).write(true).open(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "the run that started this process has ended".to_owned(),
            _ => format!("the run that started this process cannot be reached: {path}: {error}"),
        })?;
        let unreadable = |error: &dyn std::fmt::Display| format!("the memory of the run cannot be used: {error}");
        let header = shared::read_header(&file).map_err(|error| unreadable(&error))?;
        let setup = serde_json::from_slice(&header).map_err(|error| unreadable(&error))?;
        let slot = Slot::open(&file, rank).map_err(|error| unreadable(&error))?;
        if !slot.claim(std::process::id()) {
            return Err(format!("a second process calls MPI as rank {rank}; a rank is one process"));
        }
        // SAFETY: the call changes only what becomes of this process when the one that started it ends.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(Some(Connection::new(slot, rank, setup)))
    }

    fn new(slot: Slot, rank: usize, setup: Setup) -> Connection {
        Connection {
            slot,
            rank,
            setup,
            used: Cell::new(0),
            next: Cell::new(0),
            awaited: RefCell::default(),
            ready: RefCell::default(),
            spare: Cell::new(None),
            looks: Cell::new(Looks::AtOnce),
            clock: Cell::new(Picos::ZERO),
            now: Cell::new(Picos::ZERO),
            stale: Cell::new(true),
            call: Cell::new(""),
            sent_call: Cell::new(""),
            left: Cell::new(false),
        }
    }

    /// The call of MPI that the program is in.
    pub fn set_call(&self, call: &'static str) {
        self.call.set(call);
    }

    /// What becomes of requests that are looked at from now on; what did before.
    pub fn set_looks(&self, looks: Looks) -> Looks {
        self.looks.replace(looks)
    }

    pub fn new_id(&self) -> Id {
        let id = self.next.get();
        self.next.set(id.wrapping_add(1));
        id
    }

    /// Queues a command that may move the clock.
    #[unsafe(link_section = "weft_message")]
    pub fn queue(&self, command: &Command) {
        self.stale.set(true);
        self.write(command, &[]);
    }

    /// Queues a message.
    #[unsafe(link_section = "weft_message")]
    pub fn queue_message(&self, data: &[u8], command: impl FnOnce(u32) -> Command) {
        self.stale.set(true);
        let mut rest = data;
        loop {
            let space = AREA_BYTES - COMMAND_BYTES - self.used.get().min(AREA_BYTES - COMMAND_BYTES);
            if rest.len() <= space {
                break;
            }
            // What begins in the area is not cut where all of it fits the next one.
            let part =
                if rest.len() <= AREA_BYTES - 2 * COMMAND_BYTES { 0 } else { space.saturating_sub(COMMAND_BYTES) };
            if part > 0 {
                self.write(&Command::Data { bytes: part as u32 }, &rest[..part]);
                rest = &rest[part..];
            }
            self.ask(&Command::Sync);
        }
        self.write(&command(rest.len() as u32), rest);
    }

    #[unsafe(link_section = "weft_message")]
    fn write(&self, command: &Command, data: &[u8]) {
        if self.used.get() + COMMAND_BYTES + data.len() > AREA_BYTES {
            self.ask(&Command::Sync);
        }
        self.put(command, data);
        // The hub may carry it out where this rank waits for something outside of MPI.
        self.slot.set_queued(self.used.get());
    }

    /// Puts a command behind those that are queued; there is space for it.
    #[unsafe(link_section = "weft_message")]
    fn put(&self, command: &Command, data: &[u8]) {
        let used = self.used.get();
        let area = &mut self.slot.commands()[used..];
        let written =
            postcard::to_slice(command, area).map_or_else(|_| self.lost("a command is too long"), |part| part.len());
        area[written..written + data.len()].copy_from_slice(data);
        self.used.set(used + written + data.len());
    }

    /// Tells which call of MPI the rank is in, before it may wait there.
    #[unsafe(link_section = "weft_message")]
    pub fn tell_call(&self) {
        let call = self.call.get();
        if !std::ptr::eq(self.sent_call.replace(call), call) {
            self.write(&Command::Call { bytes: call.len() as u32 }, call.as_bytes());
        }
    }

    /// Hands over what is queued and the command, and waits for the answer.
    fn ask(&self, command: &Command) -> Reply {
        self.exchange(command, &[]);
        let (reply, _): (Reply, _) = self.read();
        self.note(&reply);
        reply
    }

    #[unsafe(link_section = "weft_message")]
    fn exchange(&self, command: &Command, data: &[u8]) {
        if self.left.get() {
            self.lost(&format!("{} was called after MPI_Finalize", self.call.get()));
        }
        self.put(command, data);
        self.slot.give_to_hub(self.used.replace(0));
        let hub = self.setup.hub;
        self.slot.await_rank(|| {
            // SAFETY: signal 0 only asks whether there is such a process.
            if unsafe { libc::kill(hub, 0) } != 0 {
                self.lost("the run has ended");
            }
        });
    }

    /// Reads the answer; what follows it.
    #[unsafe(link_section = "weft_message")]
    fn read<T: DeserializeOwned>(&self) -> (T, &[u8]) {
        postcard::take_from_bytes(self.slot.answers())
            .unwrap_or_else(|error| self.lost(&format!("an answer cannot be read: {error}")))
    }

    fn note(&self, reply: &Reply) {
        self.clock.set(Picos(reply.clock));
        self.now.set(Picos(reply.now));
        self.stale.set(false);
    }

    /// The process cannot go on: the hub is gone, or nobody would hear of an error.
    #[cold]
    fn lost(&self, why: &str) -> ! {
        eprintln!("weft: rank {}: {why}", self.rank);
        std::process::exit(1)
    }

    /// This rank's clock, and how far the run is.
    pub fn times(&self) -> (Picos, Picos) {
        if self.stale.get() || self.slot.is_absent() {
            self.ask(&Command::Sync);
        }
        (self.clock.get(), self.now.get())
    }

    /// A time until which this rank knows what others have done: all that it knows has come with answers.
    pub fn known_time(&self) -> Picos {
        self.clock.get().max(self.now.get())
    }

    /// A time that the clock has reached.
    pub fn reached_time(&self) -> Picos {
        self.clock.get()
    }

    pub fn context(&self, command: &Command) -> u32 {
        match self.ask_queued(command).answer {
            Answer::Context(context) => context,
            _ => self.lost("no context was answered"),
        }
    }

    pub fn cancel(&self, id: Id) -> bool {
        self.ask_queued(&Command::Cancel { id }).answer == Answer::Cancelled(true)
    }

    /// Moves a shared file pointer; where it was.
    pub fn move_pointer(&self, file: (u32, u32), to: Move) -> u64 {
        match self.ask_queued(&Command::MovePointer { file, to }).answer {
            Answer::Position(position) => position,
            _ => self.lost("no position was answered"),
        }
    }

    pub fn end_look(&self) -> Option<Picos> {
        match self.ask_queued(&Command::EndLook).answer {
            Answer::Next(next) => next.map(Picos),
            _ => self.lost("no time was answered"),
        }
    }

    /// As [`Connection::ask`], where the area may be full.
    fn ask_queued(&self, command: &Command) -> Reply {
        self.make_space();
        self.ask(command)
    }

    #[unsafe(link_section = "weft_message")]
    fn make_space(&self) {
        if self.used.get() + COMMAND_BYTES > AREA_BYTES {
            self.ask(&Command::Sync);
        }
    }

    /// What the request came to, once it is known that it is complete.
    #[unsafe(link_section = "weft_message")]
    fn look_up(&self, id: Id) -> Option<Arrived> {
        if let Some(arrived) = self.ready.borrow_mut().remove(&id) {
            return Some(arrived);
        }
        if self.looks.get() != Looks::AtOnce {
            self.awaited.borrow_mut().push(id);
            return None;
        }
        self.poll_at_once(id)
    }

    fn poll_at_once(&self, id: Id) -> Option<Arrived> {
        self.tell_call();
        self.make_space();
        self.exchange(&Command::Poll { id }, &[]);
        let (reply, data): (Reply, _) = self.read();
        self.note(&reply);
        let Answer::Polled(outcome) = reply.answer else { self.lost("no request was answered") };
        let mut data = data;
        let arrived = outcome.map(|outcome| self.take(outcome, &mut data));
        arrived.map(|arrived| self.complete(id, arrived))
    }

    /// Waits until one of the requests that were looked at is complete; without any, until the rank is woken.
    #[unsafe(link_section = "weft_message")]
    pub fn park(&self) {
        let mut ids = self.take_awaited();
        if ids.len() > PARKED_TOGETHER && !self.poll_each(&mut ids).is_empty() {
            return;
        }
        self.tell_call();
        self.make_space();
        let command = Command::Park { ids };
        self.exchange(&command, &[]);
        if let Command::Park { mut ids } = command {
            // Its memory is used again, as that of messages is.
            ids.clear();
            self.awaited.replace(ids);
        }
        let (reply, data): (Reply, _) = self.read();
        self.note(&reply);
        self.keep_ready(reply.answer, data);
    }

    /// Keeps what requests came to, by an answer that names them.
    #[unsafe(link_section = "weft_message")]
    fn keep_ready(&self, answer: Answer, mut data: &[u8]) {
        let ready = match answer {
            Answer::Ready(ready) => ready,
            Answer::OneReady(id, outcome) => {
                let arrived = self.take(outcome, &mut data);
                let complete = self.complete(id, arrived);
                self.ready.borrow_mut().insert(id, complete);
                return;
            }
            _ => self.lost("no requests were answered"),
        };
        let arrived: Vec<_> = ready.into_iter().map(|(id, outcome)| (id, self.take(outcome, &mut data))).collect();
        let complete = arrived.into_iter().map(|(id, arrived)| (id, self.complete(id, arrived)));
        self.ready.borrow_mut().extend(complete);
    }

    /// Requests that the program waits for.
    pub fn take_awaited(&self) -> Vec<Id> {
        std::mem::take(&mut *self.awaited.borrow_mut())
    }

    /// More requests than one command names: each is asked for by itself, and if none is complete, whatever happens wakes
    /// the rank. Those that are complete.
    fn poll_each(&self, ids: &mut Vec<Id>) -> Vec<Id> {
        let complete: Vec<_> = ids.drain(..).filter_map(|id| Some((id, self.poll_at_once(id)?))).collect();
        let numbers = complete.iter().map(|(id, _)| *id).collect();
        self.ready.borrow_mut().extend(complete);
        numbers
    }

    /// Waits beside other threads for what is awaited, or, if `until_quiet`, until nothing can happen any more in the run.
    pub fn park_beside(&self, awaited: Awaited, until_quiet: bool) -> Woken {
        let Awaited { requests: mut ids, mut anything } = awaited;
        if ids.len() > PARKED_TOGETHER {
            let complete = self.poll_each(&mut ids);
            if !complete.is_empty() {
                return Woken::Complete(complete);
            }
            anything = true;
        }
        let quiet = until_quiet.then(|| self.new_id());
        if let Some(id) = quiet {
            self.queue(&Command::AwaitQuiet { id });
        }
        self.tell_call();
        self.make_space();
        self.exchange(&Command::ParkBeside { ids, anything, quiet }, &[]);
        let (reply, data): (Reply, _) = self.read();
        self.note(&reply);
        if reply.answer == Answer::Quiet {
            return Woken::Quiet;
        }
        let woken = match &reply.answer {
            Answer::Ready(ready) if ready.is_empty() => Woken::Disturbed,
            Answer::Ready(ready) => Woken::Complete(ready.iter().map(|(id, _)| *id).collect()),
            Answer::OneReady(id, _) => Woken::Complete(vec![*id]),
            _ => Woken::Changed,
        };
        if matches!(woken, Woken::Complete(_)) {
            self.keep_ready(reply.answer, data);
        } else {
            // What another thread does now is done at this time of the run.
            self.queue(&Command::AdvanceTo { time: reply.now });
        }
        if let Some(id) = quiet {
            self.queue(&Command::Drop { id });
        }
        woken
    }

    /// Ends [`Connection::park_beside`], which another thread is in.
    pub fn disturb(&self) {
        self.slot.disturb();
    }

    /// Nothing is waited for any more.
    pub fn forget_awaited(&self) {
        self.awaited.borrow_mut().clear();
    }

    /// Takes the part of a message that came with the answer.
    #[unsafe(link_section = "weft_message")]
    fn take(&self, outcome: Outcome, data: &mut &[u8]) -> Arrived {
        let here = match &outcome {
            Outcome::Message { here, phantom: false, known: Some(_) } => *here as usize,
            _ => return Arrived { outcome, data: None },
        };
        let part = match self.spare.take() {
            Some(mut buffer) => {
                buffer.refill(&data[..here]);
                buffer
            }
            None => Buffer::of(&data[..here]),
        };
        *data = &data[here..];
        Arrived { outcome, data: Some(part) }
    }

    /// Fetches what of a message did not come with the answer.
    #[unsafe(link_section = "weft_message")]
    fn complete(&self, id: Id, arrived: Arrived) -> Arrived {
        let Arrived { outcome, data: Some(part) } = arrived else { return arrived };
        let Outcome::Message { known: Some(Known { bytes, .. }), .. } = outcome else {
            return Arrived { outcome, data: Some(part) };
        };
        if part.len() as u64 == bytes {
            return Arrived { outcome, data: Some(part) };
        }
        let mut whole = Buffer::zeroed(bytes as usize);
        let mut offset = 0;
        while offset < whole.len() {
            self.make_space();
            self.exchange(&Command::Fetch { id, offset: offset as u64 }, &[]);
            let (reply, more): (Reply, _) = self.read();
            let Answer::Chunk(len) = reply.answer else { self.lost("no part of a message was answered") };
            whole[offset..offset + len as usize].copy_from_slice(&more[..len as usize]);
            offset += len as usize;
        }
        Arrived { outcome, data: Some(whole) }
    }

    /// The program communicates no more, and so many of its requests are neither complete nor freed.
    pub fn leave(&self, unfreed: &Unfreed) {
        self.make_space();
        self.put(&Command::Leave { unfreed: *unfreed }, &[]);
        self.left.set(true);
        self.slot.give_to_hub(self.used.replace(0));
    }

    /// Ends the whole run.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        // SAFETY: without a stream, the call writes what all of them hold: the hub ends this process by a signal.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let message = &message.as_bytes()[..message.len().min(AREA_BYTES / 2)];
        if !self.left.get() {
            if self.used.get() > 0 {
                self.ask(&Command::Sync);
            }
            self.exchange(&Command::Abort { code, bytes: message.len() as u32 }, message);
        }
        std::process::exit(code)
    }
}

/// A request at the hub: of a send, a receive, or another call that may wait.
pub struct Remote {
    connection: Rc<Connection>,
    id: Id,
    done: bool,
}

impl Remote {
    pub fn new(connection: &Rc<Connection>, id: Id) -> Remote {
        Remote { connection: connection.clone(), id, done: false }
    }

    /// Takes a receive back; whether it had no message.
    pub fn cancel(&mut self) -> bool {
        if self.done {
            return false;
        }
        self.done = self.connection.cancel(self.id);
        self.done
    }

    /// Memory for messages that come later.
    #[unsafe(link_section = "weft_message")]
    pub fn give_back(&self, buffer: Buffer) {
        if buffer.capacity() <= SPARE_BYTES {
            self.connection.spare.set(Some(buffer));
        }
    }

    fn poll_outcome(&mut self) -> Poll<Arrived> {
        match self.connection.look_up(self.id) {
            Some(arrived) => {
                self.done = true;
                Poll::Ready(arrived)
            }
            None => Poll::Pending,
        }
    }

    /// Ready when the request is complete, which tells nothing: the hub waits by itself where that is all.
    #[unsafe(link_section = "weft_message")]
    pub fn poll_done(&mut self) -> Poll<Result<(), CommError>> {
        let connection = &self.connection;
        // It may have come to its end while the program waited for something besides it.
        let is_ready = connection.ready.borrow().contains_key(&self.id);
        if connection.looks.get() == Looks::Alone && !is_ready {
            connection.tell_call();
            connection.queue(&Command::Finish { id: self.id });
            self.done = true;
            return Poll::Ready(Ok(()));
        }
        self.poll_outcome().map(|arrived| match arrived.outcome {
            Outcome::Failed(failure) => Err(failure.into()),
            _ => Ok(()),
        })
    }

    /// The message of a receive; of other calls what is known of one, if there is one.
    #[unsafe(link_section = "weft_message")]
    pub fn poll_message(&mut self) -> Poll<Result<Option<Received>, CommError>> {
        self.poll_outcome().map(|arrived| match arrived.outcome {
            Outcome::Failed(failure) => Err(failure.into()),
            Outcome::Done | Outcome::Message { known: None, .. } => Ok(None),
            Outcome::Message { known: Some(known), .. } => {
                let payload = arrived.data.map_or(Payload::Phantom(known.bytes as usize), Payload::Data);
                Ok(Some(Received { payload, status: known.into() }))
            }
        })
    }

    /// Waits for the message, or what is known of one.
    pub async fn message(mut self) -> Result<Option<Received>, CommError> {
        std::future::poll_fn(|_| self.poll_message()).await
    }
}

impl Future for Remote {
    type Output = Result<(), CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_done()
    }
}

impl Drop for Remote {
    #[unsafe(link_section = "weft_message")]
    fn drop(&mut self) {
        if !self.done && !self.connection.left.get() {
            self.connection.ready.borrow_mut().remove(&self.id);
            self.connection.queue(&Command::Drop { id: self.id });
        }
    }
}
