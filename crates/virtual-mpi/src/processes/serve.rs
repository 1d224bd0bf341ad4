//! One rank as the simulator sees it: carries out what its process wants.

use std::borrow::Cow;
use std::cell::RefCell;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use weft_base::Picos;
use weft_comm::{Buffer, CommError, Communicator as _, ElementKinds, Payload, Received};
use weft_sim::{Outside, SimComm, SimReceive, SimSend};

use super::absence::{Absent, History, Patience};
use super::children::{self, Child, End};
use super::codec::{
    Answer, Command, FileWork, Id, Known, Move, Outcome, Pattern, Reply, WireFailure, WireTag, WireWork, kind_of,
};
use super::shared::{AREA_BYTES, SHORT_BYTES, Slot};
use crate::access::{self, Asked};
use crate::fault::Fault;
use crate::file::Cost;
use crate::joint::{Described, Key, Ledger};
use crate::link::Link;
use crate::memory::OtherProcess;
use crate::outcome::Unfreed;
use crate::remark::{Notes, Subject};
use crate::target::Target;

/// Of an answer, bytes that are kept for what stands before messages.
const ANSWER_BYTES: usize = 16 << 10;

/// What others may know of a rank.
#[derive(Debug)]
pub struct Process {
    pub slot: Rc<Slot>,
    pub child: Child,
    /// The call of MPI that it is in.
    pub call: String,
    /// It may end as it is.
    pub may_end: bool,
    /// It communicates no more.
    pub left: bool,
    /// What it had not freed then.
    pub unfreed: Unfreed,
}

impl Process {
    /// Whether it has handed over commands, has queued some, or has ended.
    pub fn has_news(&mut self) -> bool {
        self.slot.is_at_hub() || !self.slot.queued().is_empty() || self.child.ended().is_some()
    }
}

/// A rank ended the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Aborted {
    pub code: i32,
}

/// What the ranks of a run share in the hub.
#[derive(Default)]
pub struct Run {
    pub processes: Vec<Rc<RefCell<Process>>>,
    pub aborted: RefCell<Option<Aborted>>,
    /// Of windows, by the contexts of their communicators and the numbers of ranks.
    targets: RefCell<FxHashMap<(u32, u32), Rc<Target>>>,
    /// Shared pointers of files, by the contexts of their communicators and their first ranks.
    pointers: RefCell<FxHashMap<(u32, u32), u64>>,
    /// What is to be said of the program.
    pub notes: Rc<Notes>,
    joint: RefCell<Ledger>,
    /// Ranks of which a thread waits and others may want to call.
    beside: RefCell<Vec<(SimComm, Rc<Slot>)>>,
    absent: Absent,
    patience: Duration,
}

impl Run {
    /// Of these processes; `patience` is how long one runs without a call before the others go on without it.
    pub fn new(processes: Vec<Rc<RefCell<Process>>>, patience: Duration) -> Run {
        Run { processes, patience, ..Run::default() }
    }

    /// Makes ranks go on whose other threads want to call; whether there were any.
    fn wake_disturbed(&self) -> bool {
        let mut any = false;
        for (endpoint, slot) in &*self.beside.borrow() {
            if slot.is_disturbed() {
                endpoint.make_ready();
                any = true;
            }
        }
        any
    }

    /// What others reach of a rank in a window.
    fn target(&self, window: u32, rank: u32) -> Rc<Target> {
        let make = || {
            let process = self.processes[rank as usize].borrow().slot.process().unwrap_or(0);
            Rc::new(Target::new(rank, Rc::new(OtherProcess(process as libc::pid_t)), self.notes.clone()))
        };
        self.targets.borrow_mut().entry((window, rank)).or_insert_with(make).clone()
    }

    /// Compares a collective call with those of the other ranks.
    fn note_joint(&self, from: (u32, u32), key: Key, call: Cow<'static, str>, described: Described) {
        if let Some(remark) = self.joint.borrow_mut().note(from, key, call, described) {
            self.notes.add(Subject::Collectives, remark);
        }
    }

    /// Moves a shared pointer; where it was.
    fn move_pointer(&self, file: (u32, u32), to: Move) -> u64 {
        let mut pointers = self.pointers.borrow_mut();
        let position = pointers.entry(file).or_default();
        std::mem::replace(position, to.apply(*position))
    }
}

impl Outside for Run {
    fn is_someone(&self) -> bool {
        !self.absent.is_empty()
    }

    fn bring_back(&self, waits: bool) {
        self.absent.wait(waits, || self.wake_disturbed());
    }
}

/// A request of the rank.
enum Request {
    Send(SimSend),
    Receive(SimReceive),
    Work(Pin<Box<dyn Future<Output = (Outcome, Option<Buffer>)>>>),
}

/// What the rank's process and the hub are about.
enum Phase {
    /// The process runs.
    Running,
    /// Commands from here on are still to be carried out.
    Commands(usize),
    /// As `Commands`, once the request is complete.
    Finishing(Id, usize),
    /// The process waits for one of the requests; it was woken since it began to.
    Parked(Vec<Id>, bool),
    /// A thread of the process waits beside others; the rank was woken since it began to.
    Beside(Beside, bool),
}

/// What [`Command::ParkBeside`] waits for.
struct Beside {
    ids: Vec<Id>,
    anything: bool,
    quiet: Option<Id>,
}

/// A rank's program in the simulator.
pub struct Served {
    endpoint: SimComm,
    run: Rc<Run>,
    process: Rc<RefCell<Process>>,
    slot: Rc<Slot>,
    phase: Phase,
    /// Where the commands end that are carried out.
    end: usize,
    requests: FxHashMap<Id, Request>,
    /// Receives of messages that a matched probe has taken out.
    taken: Rc<RefCell<FxHashMap<Id, SimReceive>>>,
    /// Bytes of the message that is sent next.
    staged: Vec<u8>,
    /// Messages that the process fetches in parts.
    fetched: FxHashMap<Id, Buffer>,
    /// Files of the machine that are open.
    files: Rc<RefCell<FxHashMap<Id, Cost>>>,
    /// The rank's clock when it became absent, while it is, and whether it has been so far.
    absent_since: Option<Picos>,
    was_absent: bool,
    /// What the others took meanwhile: a part of what the program has computed by then.
    absence: Picos,
}

/// What the hub has of a process that it has waited for.
enum Awaited {
    Commands,
    /// Those that it has not handed over: it waits for something else.
    Queued(Range<usize>),
    End(Result<(), CommError>),
    /// Nothing: the rank is absent.
    Nothing,
}

/// Why the hub waits no longer for commands.
enum Why {
    Ended(End),
    Queued(Range<usize>),
    Absent,
}

/// What a command comes to.
enum Done {
    Next,
    Wait(Id),
    Answer(Answer),
    Answered,
    Park(Vec<Id>),
    ParkBeside(Beside),
    Leave,
}

impl Served {
    pub fn new(endpoint: SimComm, run: &Rc<Run>) -> Served {
        let process = run.processes[endpoint.rank()].clone();
        let slot = process.borrow().slot.clone();
        Served {
            endpoint,
            run: run.clone(),
            slot,
            process,
            phase: Phase::Running,
            end: 0,
            requests: FxHashMap::default(),
            taken: Rc::default(),
            staged: Vec::new(),
            fetched: FxHashMap::default(),
            files: Rc::default(),
            absent_since: None,
            was_absent: false,
            absence: Picos::ZERO,
        }
    }

    fn number(&self) -> usize {
        self.endpoint.rank()
    }

    /// Goes on until the rank waits for others or has come to its end.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<Result<(), CommError>> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Running) {
                Phase::Running => match self.await_process() {
                    Awaited::Commands => {
                        self.run.wake_disturbed();
                        self.phase = Phase::Commands(self.slot.carried());
                        self.slot.set_carried(0);
                        self.end = self.slot.commands_len();
                    }
                    Awaited::Queued(commands) => {
                        self.phase = Phase::Commands(commands.start);
                        self.slot.set_carried(commands.end);
                        self.end = commands.end;
                    }
                    Awaited::End(end) => return Poll::Ready(end),
                    Awaited::Nothing => return Poll::Pending,
                },
                // Only those that were handed over end with one that is answered.
                Phase::Commands(position) if position == self.end => {}
                Phase::Commands(position) => match self.carry_out(position)? {
                    (Done::Next, next) => self.phase = Phase::Commands(next),
                    (Done::Wait(id), next) => self.phase = Phase::Finishing(id, next),
                    (Done::Park(ids), _) => self.phase = Phase::Parked(ids, false),
                    (Done::ParkBeside(beside), _) => {
                        self.run.beside.borrow_mut().push((self.endpoint.clone(), self.slot.clone()));
                        self.phase = Phase::Beside(beside, false);
                    }
                    (Done::Answer(answer), _) => self.answer(answer, &[]),
                    (Done::Answered, _) => {}
                    (Done::Leave, _) => return Poll::Ready(Ok(())),
                },
                Phase::Finishing(id, next) => match self.poll(id, context) {
                    Some((Outcome::Failed(failure), _)) => return Poll::Ready(Err(failure.into())),
                    Some(_) => self.phase = Phase::Commands(next),
                    None => {
                        self.phase = Phase::Finishing(id, next);
                        return Poll::Pending;
                    }
                },
                Phase::Parked(ids, woken) => {
                    let ready: Vec<_> = ids.iter().filter_map(|&id| Some((id, self.poll(id, context)?))).collect();
                    if ready.is_empty() && !(ids.is_empty() && woken) {
                        self.phase = Phase::Parked(ids, true);
                        return Poll::Pending;
                    }
                    self.answer_ready(ready);
                    // Others that receive at this moment run beside it; what all want then comes in the same order.
                    self.endpoint.defer();
                    return Poll::Pending;
                }
                Phase::Beside(beside, woken) => {
                    if !self.answer_beside(&beside, woken, context) {
                        self.phase = Phase::Beside(beside, true);
                        return Poll::Pending;
                    }
                    let own = self.number();
                    self.run.beside.borrow_mut().retain(|(endpoint, _)| endpoint.rank() != own);
                    self.endpoint.defer();
                    return Poll::Pending;
                }
            }
        }
    }

    /// Waits for commands of the process, or until it is absent.
    fn await_process(&mut self) -> Awaited {
        if self.absent_since.is_some() {
            if !self.process.borrow_mut().has_news() {
                return Awaited::Nothing;
            }
            self.come_back();
        }
        let process = self.process.clone();
        let mut process = process.borrow_mut();
        let Process { slot, child, .. } = &mut *process;
        let history = match slot.process() {
            None => History::Starting,
            Some(_) if self.was_absent => History::WasAbsent,
            Some(_) if !self.run.absent.is_empty() => History::BesideAbsent,
            Some(_) => History::Called,
        };
        let mut patience = Patience::new(child.process(), self.run.patience, history);
        let why = slot.await_hub(children::watched(), patience.interval(), |is_late| {
            if children::is_interrupted() {
                return Some(Why::Ended(End::Signalled(libc::SIGINT)));
            }
            if let Some(end) = child.ended() {
                return Some(Why::Ended(end));
            }
            let queued = slot.queued();
            if is_late && patience.is_over(|| !queued.is_empty() || self.endpoint.can_happen()) {
                return Some(if queued.is_empty() { Why::Absent } else { Why::Queued(queued) });
            }
            None
        });
        // Commands that were handed over last count still.
        match why {
            _ if slot.is_at_hub() => Awaited::Commands,
            None => Awaited::Commands,
            Some(Why::Queued(commands)) => {
                self.was_absent = true;
                Awaited::Queued(commands)
            }
            Some(Why::Absent) => {
                (self.absent_since, self.was_absent) = (Some(self.endpoint.clock()), true);
                slot.set_absent(true);
                let process = self.process.clone();
                self.run.absent.add(self.endpoint.clone(), move || process.borrow_mut().has_news());
                Awaited::Nothing
            }
            Some(Why::Ended(end)) => Awaited::End(self.end_of(&mut process, end)),
        }
    }

    /// The rank was absent, and is no more.
    fn come_back(&mut self) {
        let Some(since) = self.absent_since.take() else { return };
        self.slot.set_absent(false);
        let now = self.endpoint.run_time();
        if now > since {
            self.absence = now - since;
            self.endpoint.advance_to(now);
            let call = self.process.borrow().call.clone();
            let remark = format!("rank {} after {} at {:.6} s", self.number(), named(&call), since.seconds());
            self.run.notes.add(Subject::Absences, remark);
        }
    }

    /// How the rank ends whose process has.
    fn end_of(&self, process: &mut Process, end: End) -> Result<(), CommError> {
        let slot = &process.slot;
        let came = slot.process().is_some();
        if (!came || process.may_end) && end == End::Exited(0) {
            process.left = true;
            return Ok(());
        }
        let call = named(&process.call);
        let phase = match (came, call) {
            (false, _) => "before it called MPI".to_owned(),
            (true, "MPI_Finalize") => "in MPI_Finalize".to_owned(),
            (true, call) => format!("before MPI_Finalize, after {call}"),
        };
        let message = format!("the process {end} {phase}");
        let code = end.code();
        *self.run.aborted.borrow_mut() = Some(Aborted { code: if code == 0 { 1 } else { code } });
        Err(CommError::program(self.number(), message))
    }

    /// Carries out the command at `position`; where the next one is.
    fn carry_out(&mut self, position: usize) -> Result<(Done, usize), CommError> {
        let slot = self.slot.clone();
        let commands = &slot.commands()[..self.end];
        let unreadable = |error: postcard::Error| CommError::program(self.number(), format!("a command: {error}"));
        let (command, rest): (Command, _) = postcard::take_from_bytes(&commands[position..]).map_err(unreadable)?;
        let start = commands.len() - rest.len();
        let follow = match command {
            Command::Call { bytes } | Command::Data { bytes } | Command::Send { bytes, .. } => bytes as usize,
            Command::Reach { bytes, .. } | Command::File { bytes, .. } | Command::Abort { bytes, .. } => bytes as usize,
            Command::Remark { bytes, .. } => bytes as usize,
            _ => 0,
        };
        let data = rest.get(..follow).ok_or_else(|| CommError::program(self.number(), "a command is cut"))?;
        Ok((self.execute(command, data)?, start + follow))
    }

    fn execute(&mut self, command: Command, data: &[u8]) -> Result<Done, CommError> {
        let endpoint = self.endpoint.clone();
        match command {
            Command::Call { .. } => self.process.borrow_mut().call = String::from_utf8_lossy(data).into_owned(),
            Command::Data { .. } => self.staged.extend_from_slice(data),
            Command::Send { id, context, rank, to, tag, phantom, elements, synchronous, .. } => {
                let comm = endpoint.within(rank as usize, context);
                let send = match phantom {
                    Some(bytes) => comm.isend(to as usize, tag.into(), Payload::Phantom(bytes as usize)),
                    None => {
                        let elements = ElementKinds::of(elements);
                        comm.isend_owned(to as usize, tag.into(), self.message(data), elements, synchronous)
                    }
                };
                self.requests.insert(id, Request::Send(send));
            }
            Command::Receive { id, pattern, capacity, elements } => {
                let (from, tag) = pattern.selectors();
                let comm = endpoint.within(pattern.rank as usize, pattern.context);
                let receive = comm.irecv_elements(from, tag, capacity, ElementKinds::of(elements));
                self.requests.insert(id, Request::Receive(receive));
            }
            Command::Settle { id } => self.start(id, async move {
                endpoint.settle().await;
                Outcome::Done
            }),
            Command::LookOn { id, least, until } => {
                self.run.absent.delay_look(|| endpoint.can_happen());
                self.start(id, async move {
                    endpoint.look_on(Picos(least), Picos(until)).await;
                    Outcome::Done
                });
            }
            Command::AwaitQuiet { id } => self.start(id, async move {
                endpoint.quiet().await;
                Outcome::Done
            }),
            Command::Compute { id, work } => {
                let work = self.without_absence(work);
                self.start(id, async move {
                    endpoint.compute(work.into()).await;
                    Outcome::Done
                });
            }
            Command::Probe { id, pattern } => self.start(id, probe(endpoint, pattern)),
            Command::Iprobe { id, pattern } => self.start(id, iprobe(endpoint, pattern)),
            Command::TakeNext { id, message, pattern } => {
                let taken = self.taken.clone();
                self.start(id, take(endpoint, pattern, message, taken, true));
            }
            Command::TakeArrived { id, message, pattern } => {
                let taken = self.taken.clone();
                self.start(id, take(endpoint, pattern, message, taken, false));
            }
            Command::Reach { id, to, .. } => {
                let message = self.message(data);
                self.reach(id, to, &message)?;
            }
            Command::File { id, file, .. } => {
                let message = self.message(data);
                self.file(id, file, &message)?;
            }
            Command::Finish { id } => return Ok(Done::Wait(id)),
            Command::Drop { id } => self.drop_request(id),
            Command::AdvanceTo { time } => endpoint.advance_to(Picos(time)),
            Command::WakeAt { time } => endpoint.wake_at(Picos(time)),
            Command::EnterCollective { context, kind, sequence } => {
                endpoint.enter_numbered(context, kind_of(kind), sequence);
            }
            Command::LeaveCollective => endpoint.leave_collective(),
            Command::Joint { key, size, described } => {
                let call = self.process.borrow().call.clone().into();
                self.run.note_joint((self.number() as u32, size), key, call, described);
            }
            Command::Remark { subject, .. } => {
                let remark = self.message(data);
                self.run.notes.add(subject, String::from_utf8_lossy(&remark).into_owned());
            }
            Command::Complete { window, to, completion } => {
                self.run.target(window, to).accesses.borrow_mut().complete(self.number() as u32, completion);
            }
            Command::MayEnd { may_end } => self.process.borrow_mut().may_end = may_end,
            Command::BeginLook => endpoint.begin_look(),
            Command::Leave { unfreed } => {
                let mut process = self.process.borrow_mut();
                (process.left, process.unfreed) = (true, unfreed);
                return Ok(Done::Leave);
            }
            other => return self.reply(other, data),
        }
        Ok(Done::Next)
    }

    /// Carries out a command that is answered.
    fn reply(&mut self, command: Command, data: &[u8]) -> Result<Done, CommError> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        Ok(match command {
            Command::EndLook => Done::Answer(Answer::Next(self.endpoint.end_look().map(|time| time.0))),
            Command::Poll { id } => {
                let polled = self.poll(id, &mut context);
                self.answer_polled(id, polled);
                return Ok(Done::Answered);
            }
            Command::Park { ids } => Done::Park(ids),
            Command::ParkBeside { ids, anything, quiet } => Done::ParkBeside(Beside { ids, anything, quiet }),
            Command::Cancel { id } => Done::Answer(Answer::Cancelled(self.cancel(id))),
            Command::NewContext => Done::Answer(Answer::Context(self.endpoint.new_context())),
            Command::ContextOf { key } => Done::Answer(Answer::Context(self.endpoint.context_of(key))),
            Command::MovePointer { file, to } => Done::Answer(Answer::Position(self.run.move_pointer(file, to))),
            Command::Sync => Done::Answer(Answer::Done),
            Command::Fetch { id, offset } => {
                self.answer_part(id, offset as usize);
                return Ok(Done::Answered);
            }
            Command::Abort { code, .. } => {
                let message = String::from_utf8_lossy(data).into_owned();
                *self.run.aborted.borrow_mut() = Some(Aborted { code });
                return Err(CommError::program(self.number(), message));
            }
            other => return Err(CommError::program(self.number(), format!("a command that has no answer: {other:?}"))),
        })
    }

    /// What of the work is left when the rank has come back: it computed beside the others.
    fn without_absence(&mut self, work: WireWork) -> WireWork {
        let absence = std::mem::replace(&mut self.absence, Picos::ZERO);
        match work {
            WireWork::Seconds(seconds) => WireWork::Seconds((seconds - absence.seconds()).max(0.0)),
            other => other,
        }
    }

    /// The message that is sent: what was handed over before, and `rest`.
    fn message(&mut self, rest: &[u8]) -> Buffer {
        if self.staged.is_empty() {
            return Buffer::of(rest);
        }
        self.staged.extend_from_slice(rest);
        Buffer::of(&std::mem::take(&mut self.staged))
    }

    fn start(&mut self, id: Id, work: impl Future<Output = Outcome> + 'static) {
        self.start_with_data(id, async move { (work.await, None) });
    }

    fn start_with_data(&mut self, id: Id, work: impl Future<Output = (Outcome, Option<Buffer>)> + 'static) {
        self.requests.insert(id, Request::Work(Box::pin(work)));
    }

    /// Reaches a window of another rank for what a message asks.
    fn reach(&mut self, id: Id, to: u32, message: &Buffer) -> Result<(), CommError> {
        let (asked, data): (Asked, _) = self.described(message)?;
        let target = self.run.target(asked.window, to);
        let (serve, returned) = access::server(target, asked.access, asked.origin, Buffer::of(data));
        let reply = self.endpoint.reach(to as usize, asked.network, serve)?;
        let number = self.number();
        self.start_with_data(id, async move {
            reply.await;
            match returned.replace(Ok(Buffer::zeroed(0))) {
                Ok(data) => {
                    let known = Known { source: to, tag: WireTag::User(0), bytes: data.len() as u64 };
                    (Outcome::Message { known: Some(known), phantom: false, here: 0 }, Some(data))
                }
                Err(fault) => (failed(number, &fault), None),
            }
        });
        Ok(())
    }

    /// Something with a file of the machine.
    fn file(&mut self, id: Id, file: Id, message: &Buffer) -> Result<(), CommError> {
        let (work, _): (FileWork, _) = self.described(message)?;
        let (files, link, number) = (self.files.clone(), Link::Simulated(self.endpoint.clone()), self.number());
        self.start(id, async move {
            let cost = files.borrow().get(&file).cloned().unwrap_or_default();
            let done = match work {
                FileWork::Open { path } => {
                    let cost = Cost::open(&link, &path).await;
                    files.borrow_mut().insert(file, cost);
                    Ok(())
                }
                FileWork::Close => {
                    files.borrow_mut().remove(&file);
                    cost.close(&link).await
                }
                FileWork::Transfer { ranges, length, is_write } => {
                    cost.transfer(&link, &ranges, length, is_write).await
                }
                FileWork::Preallocate { bytes } => cost.preallocate(&link, bytes).await,
                FileWork::Sync => cost.sync(&link).await,
            };
            done.map_or_else(|fault| failed(number, &fault), |()| Outcome::Done)
        });
        Ok(())
    }

    /// What a message describes, and what follows it.
    fn described<'a, T: DeserializeOwned>(&self, message: &'a [u8]) -> Result<(T, &'a [u8]), CommError> {
        let unreadable = |error: postcard::Error| CommError::program(self.number(), format!("a command: {error}"));
        postcard::take_from_bytes(message).map_err(unreadable)
    }

    fn drop_request(&mut self, id: Id) {
        self.requests.remove(&id);
        self.fetched.remove(&id);
        self.taken.borrow_mut().remove(&id);
    }

    /// The receive of a message that was taken out is a request like others.
    fn adopt(&mut self, id: Id) {
        if let Some(receive) = self.taken.borrow_mut().remove(&id) {
            self.requests.insert(id, Request::Receive(receive));
        }
    }

    fn cancel(&mut self, id: Id) -> bool {
        self.adopt(id);
        let cancelled = match self.requests.get_mut(&id) {
            Some(Request::Receive(receive)) => receive.cancel(),
            _ => false,
        };
        if cancelled {
            self.requests.remove(&id);
        }
        cancelled
    }

    /// What a request came to, if it is complete; it is forgotten then.
    fn poll(&mut self, id: Id, context: &mut Context<'_>) -> Option<(Outcome, Option<Buffer>)> {
        self.adopt(id);
        let number = self.number();
        let failed = |error: &CommError| (Outcome::Failed(WireFailure::of(error, number)), None);
        let polled = match self.requests.get_mut(&id)? {
            Request::Send(send) => Pin::new(send)
                .poll(context)
                .map(|sent| sent.map_or_else(|error| failed(&error), |_| (Outcome::Done, None))),
            Request::Receive(receive) => {
                Pin::new(receive).poll(context).map(|received| received.map_or_else(|error| failed(&error), outcome_of))
            }
            Request::Work(work) => work.as_mut().poll(context),
        };
        let Poll::Ready(outcome) = polled else { return None };
        self.requests.remove(&id);
        Some(outcome)
    }

    /// Answers a thread that waits beside others, if it is to go on; whether it is.
    fn answer_beside(&mut self, beside: &Beside, woken: bool, context: &mut Context<'_>) -> bool {
        // What another thread has completed meanwhile is no longer known here.
        let is_lost = |id: &Id| !self.requests.contains_key(id) && !self.taken.borrow().contains_key(id);
        let is_any_lost = beside.ids.iter().any(is_lost);
        let ready: Vec<_> = beside.ids.iter().filter_map(|&id| Some((id, self.poll(id, context)?))).collect();
        let is_disturbed = self.slot.take_disturbed();
        if !ready.is_empty() {
            self.answer_ready(ready);
        } else if is_any_lost || beside.anything && woken {
            self.answer(Answer::Done, &[]);
        } else if beside.quiet.is_some_and(|id| self.poll(id, context).is_some()) {
            self.answer(Answer::Quiet, &[]);
        } else if is_disturbed {
            self.answer_ready(Vec::new());
        } else {
            return false;
        }
        true
    }

    fn answer_polled(&mut self, id: Id, polled: Option<(Outcome, Option<Buffer>)>) {
        let Some((outcome, data)) = polled else { return self.answer(Answer::Polled(None), &[]) };
        let (outcome, data) = self.with_part(id, outcome, data, AREA_BYTES - ANSWER_BYTES);
        self.answer(Answer::Polled(Some(outcome)), &[data]);
    }

    fn answer_ready(&mut self, mut ready: Vec<(Id, (Outcome, Option<Buffer>))>) {
        let mut space = AREA_BYTES - ANSWER_BYTES;
        if ready.len() == 1
            && let Some((id, (outcome, data))) = ready.pop()
        {
            let (outcome, data) = self.with_part(id, outcome, data, space);
            return self.answer(Answer::OneReady(id, outcome), &[data]);
        }
        let (mut outcomes, mut messages) = (Vec::with_capacity(ready.len()), Vec::with_capacity(ready.len()));
        for (id, (outcome, data)) in ready {
            let (outcome, data) = self.with_part(id, outcome, data, space);
            space -= data.len();
            outcomes.push((id, outcome));
            messages.push(data);
        }
        self.answer(Answer::Ready(outcomes), &messages);
    }

    /// The outcome with the message that goes with it: all of it, or none, and the process fetches it.
    fn with_part(&mut self, id: Id, outcome: Outcome, data: Option<Buffer>, space: usize) -> (Outcome, Buffer) {
        match (outcome, data) {
            (Outcome::Message { known, .. }, Some(data)) if data.len() <= space => {
                (Outcome::Message { known, phantom: false, here: data.len() as u32 }, data)
            }
            (Outcome::Message { known, .. }, Some(data)) => {
                self.fetched.insert(id, data);
                (Outcome::Message { known, phantom: false, here: 0 }, Buffer::zeroed(0))
            }
            (outcome, _) => (outcome, Buffer::zeroed(0)),
        }
    }

    fn answer_part(&mut self, id: Id, offset: usize) {
        let data = self.fetched.remove(&id).unwrap_or_else(|| Buffer::zeroed(0));
        let end = data.len().min(offset + AREA_BYTES - ANSWER_BYTES);
        let part = Buffer::of(&data[offset.min(end)..end]);
        if end < data.len() {
            self.fetched.insert(id, data);
        }
        self.answer(Answer::Chunk(part.len() as u32), &[part]);
    }

    /// Hands an answer, and the messages after it, to the process.
    fn answer(&self, answer: Answer, messages: &[Buffer]) {
        let reply = Reply { clock: self.endpoint.clock().0, now: self.endpoint.run_time().0, answer };
        let follow = messages.iter().map(|message| message.len()).sum::<usize>();
        let short = self.slot.short_answers();
        let space = SHORT_BYTES.saturating_sub(follow);
        let written = postcard::to_slice(&reply, &mut short[..space]).map(|part| part.len());
        let (area, mut len) = written.map_or_else(
            |_| {
                let area = self.slot.long_answers();
                let len = postcard::to_slice(&reply, area).map_or(0, |part| part.len());
                (area, len)
            },
            |len| (short, len),
        );
        for message in messages {
            area[len..len + message.len()].copy_from_slice(message);
            len += message.len();
        }
        self.slot.give_to_rank(len);
    }
}

impl Future for Served {
    type Output = Result<(), CommError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.advance(context)
    }
}

fn outcome_of(received: Received) -> (Outcome, Option<Buffer>) {
    let known = Some(Known::from(received.status));
    match received.payload {
        Payload::Data(data) => (Outcome::Message { known, phantom: false, here: 0 }, Some(data)),
        Payload::Phantom(_) => (Outcome::Message { known, phantom: true, here: 0 }, None),
    }
}

/// The last call of a process, for messages to people.
fn named(call: &str) -> &str {
    if call.is_empty() { "its first call of MPI" } else { call }
}

/// A call that failed.
fn failed(number: usize, fault: &Fault) -> Outcome {
    Outcome::Failed(WireFailure::Other { rank: number as u32, message: fault.message.clone() })
}

/// What a probe came to.
fn probed(known: Result<Option<weft_comm::Status>, CommError>, number: usize) -> Outcome {
    match known {
        Ok(known) => Outcome::Message { known: known.map(Known::from), phantom: true, here: 0 },
        Err(error) => Outcome::Failed(WireFailure::of(&error, number)),
    }
}

async fn probe(endpoint: SimComm, pattern: Pattern) -> Outcome {
    let (from, tag) = pattern.selectors();
    let known = endpoint.within(pattern.rank as usize, pattern.context).probe(from, tag).await;
    probed(known.map(Some), endpoint.rank())
}

async fn iprobe(endpoint: SimComm, pattern: Pattern) -> Outcome {
    let (from, tag) = pattern.selectors();
    let known = endpoint.within(pattern.rank as usize, pattern.context).iprobe(from, tag).await;
    probed(known, endpoint.rank())
}

/// A matched probe, that waits or not; the receive of the message it has taken is kept under `message`.
async fn take(
    endpoint: SimComm,
    pattern: Pattern,
    message: Id,
    taken: Rc<RefCell<FxHashMap<Id, SimReceive>>>,
    waits: bool,
) -> Outcome {
    let (from, tag) = pattern.selectors();
    let comm = endpoint.within(pattern.rank as usize, pattern.context);
    let matched = if waits { comm.take_next(from, tag).await.map(Some) } else { comm.take_arrived(from, tag).await };
    let known = matched.map(|matched| {
        matched.map(|(status, receive)| {
            taken.borrow_mut().insert(message, receive);
            status
        })
    });
    probed(known, endpoint.rank())
}
