//! One rank of the program: its objects, its clock, and how it waits.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{c_int, c_void};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::task::{Context, Poll, Waker};

use rustc_hash::FxHashMap;
use weft_base::Picos;
use weft_comm::{Communicator as _, Work as Computation};

use crate::abi::{self, kind};
use crate::apart::{Apart, Work};
use crate::attribute::Keyval;
use crate::buffered::Buffered;
use crate::communicator::{Caller, Communicator, Group};
use crate::datatype::{self, Datatype};
use crate::fault::{Answer, Fault, class};
use crate::file::{File, Joint};
use crate::info::Info;
use crate::joint::{Described, Key};
use crate::link::Link;
use crate::memory::SameProcess;
use crate::meter::{self, Compute, Meter};
use crate::operation::UserFunction;
use crate::outcome::Unfreed;
use crate::pending;
use crate::processes::client::Looks;
use crate::processes::codec::Id;
use crate::remark::{Notes, Subject};
use crate::request::{Completion, Request};
use crate::table::Table;
use crate::target::Target;
use crate::threads::{self, Awaited, Threads, Within, Woken};
use crate::window::Window;

/// What holds the program of a rank while it waits.
pub trait Host {
    /// Lets others go on; returns when `rank` shall look again.
    fn park(&self, rank: usize);

    /// Requests that were looked at and only noted, where another process has them.
    fn awaited(&self) -> Vec<Id> {
        Vec::new()
    }

    /// As [`Host::park`], where other threads of the rank's process may call; if `until_quiet`, it also returns when
    /// nothing can happen any more in the run.
    fn park_beside(&self, rank: usize, _awaited: Awaited, _until_quiet: bool) -> Woken {
        self.park(rank);
        Woken::Changed
    }

    /// Ends [`Host::park_beside`], which another thread is in.
    fn disturb(&self) {}

    /// Keeps an object of the interpreter that holds the programs, if one does.
    fn hold(&self, object: *mut c_void);

    /// The rank communicates no more, and leaves objects.
    fn leave(&self, _unfreed: &Unfreed) {}

    /// A rank makes a collective call that so many ranks make.
    fn note_joint(&self, rank: usize, size: u32, key: Key, call: &'static str, described: Described);

    /// Something is to be said of the program.
    fn remark(&self, subject: Subject, remark: &str);

    /// Ends the whole run.
    fn abort(&self, rank: usize, code: c_int, message: &str) -> !;
}

/// An error handler of the program.
#[derive(Clone, Copy, Debug)]
pub struct Errhandler {
    pub function: *const c_void,
}

/// A message taken out by a matched probe.
pub struct Matched {
    pub receive: RefCell<Option<crate::link::Receive>>,
    pub completed: crate::request::Completed,
    pub comm: c_int,
}

/// The standard's phases of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Before,
    Initialized,
    Finalized,
}

/// A rank.
pub struct Rank {
    /// Messages to all ranks of the run.
    pub endpoint: Link,
    host: Rc<dyn Host>,
    /// The computation of the program between calls.
    pub meter: Meter,
    /// The call of MPI that it is in, for messages to people.
    pub call: Cell<&'static str>,
    pub phase: Cell<Phase>,
    pub thread_level: Cell<c_int>,
    pub comms: Table<Communicator>,
    pub comm_world: Rc<Communicator>,
    pub comm_self: Rc<Communicator>,
    pub groups: Table<Group>,
    pub shared: Rc<Shared>,
    pub requests: Table<Request>,
    /// Those whose memory calls are compared with.
    pub used: pending::Requests,
    /// What the program had not freed when it ended MPI.
    pub unfreed: Cell<Unfreed>,
    pub messages: Table<Matched>,
    pub sessions: Table<crate::session::Session>,
    /// When the program has last learnt of other ranks, as far as calls tell: at the end of what it has waited for.
    pub heard: Cell<Picos>,
    /// How many sessions the program has begun so far.
    pub sessions_begun: Cell<u32>,
    pub windows: Table<Window>,
    pub files: Table<File>,
    /// The error handler that files are opened with.
    pub file_errhandler: Cell<abi::Errhandler>,
    /// Representations of data that the program has registered.
    pub representations: RefCell<BTreeSet<Vec<u8>>>,
    /// Requests that go on while the program waits for something else.
    active: RefCell<Vec<Rc<Request>>>,
    /// What the rank waits for that goes on without it.
    apart: RefCell<Option<Apart>>,
    /// What the last errors said, and the number of the oldest of them.
    pub errors: RefCell<VecDeque<Fault>>,
    pub errors_dropped: Cell<usize>,
    pub user_errors: RefCell<crate::fault::UserErrors>,
    /// Buffered sends of communicators that have no memory for them of their own, nor has their session.
    pub buffered: Rc<Buffered>,
    /// How many times more the interface for tools was initialized than finalized.
    pub tools: Cell<u32>,
    pub node_name: String,
    nodes: Option<Rc<[u32]>>,
    /// How often the clock was read since the last call of another function, and when it was read last without moving.
    readings: Cell<(u32, Picos)>,
    /// The clock at the first of the looks in a row that have found nothing; whether the call at hand looks; when the first
    /// of the requests that were looked at will be complete, if that is known.
    looking_since: Cell<Option<Picos>>,
    looked: Cell<bool>,
    next_known: Cell<Option<Picos>>,
    /// Datatypes that the program has freed, and that requests under way may still need.
    released: RefCell<Vec<c_int>>,
    /// The threads that call.
    pub threads: Threads,
}

/// What the ranks of one process share.
#[derive(Clone)]
pub struct Setting {
    pub host: Rc<dyn Host>,
    pub compute: Compute,
    pub machine: Rc<str>,
    /// The node of each rank; rank r is on node r where it is missing.
    pub nodes: Option<Rc<[u32]>>,
    pub shared: Rc<Shared>,
}

impl Setting {
    pub fn new(
        host: Rc<dyn Host>,
        notes: &Rc<Notes>,
        compute: Compute,
        machine: &str,
        nodes: Option<&[u32]>,
    ) -> Setting {
        let shared = Rc::new(Shared::new(notes.clone()));
        Setting { host, compute, machine: machine.into(), nodes: nodes.map(Rc::from), shared }
    }

    fn node_of(&self, number: usize) -> usize {
        self.nodes.as_ref().map_or(number, |nodes| nodes[number] as usize)
    }
}

/// Objects that are no rank's alone: a module that all ranks of a process share makes them once, on the rank that
/// loads it first, and all use them.
pub struct Shared {
    pub predefined: FxHashMap<c_int, Rc<Datatype>>,
    pub datatypes: Table<Datatype>,
    pub operations: Table<UserFunction>,
    pub infos: Table<Info>,
    pub errhandlers: Table<Errhandler>,
    pub keyvals: RefCell<BTreeMap<c_int, Keyval>>,
    pub next_keyval: Cell<c_int>,
    /// The thread level that MPI was initialized with on the rank that came first.
    pub initialized: Cell<Option<c_int>>,
    /// Whether each rank initializes MPI by a call of its own: the module that all share did not.
    pub each_initializes: Cell<bool>,
    /// The error handlers of `MPI_COMM_WORLD` and `MPI_COMM_SELF` that the first rank has set.
    pub handlers: [Cell<Option<abi::Errhandler>>; 2],
    /// Of open files, by the contexts of their communicators and their first ranks: `MPI_COMM_SELF` has one context.
    files: RefCell<BTreeMap<(u32, u32), Rc<Joint>>>,
    /// What each rank of a window shows the others, by the context of the window's communicator and its number in the run.
    targets: RefCell<BTreeMap<(u32, u32), Rc<Target>>>,
    /// What is said of accesses to them.
    notes: Rc<Notes>,
}

impl Shared {
    fn new(notes: Rc<Notes>) -> Shared {
        Shared {
            predefined: datatype::predefined().into_iter().collect(),
            datatypes: Table::starting_at(kind::DATATYPE, datatype::PREDEFINED_PAIRS),
            operations: Table::new(kind::OP),
            infos: Table::new(kind::INFO),
            errhandlers: Table::new(kind::ERRHANDLER),
            keyvals: RefCell::default(),
            next_keyval: Cell::new(0),
            initialized: Cell::new(None),
            each_initializes: Cell::new(false),
            handlers: [Cell::new(None), Cell::new(None)],
            files: RefCell::default(),
            targets: RefCell::default(),
            notes,
        }
    }

    /// What a rank shows the others of the window whose communicator has this context.
    pub fn window_target(&self, context: u32, rank: u32) -> Rc<Target> {
        let mut targets = self.targets.borrow_mut();
        let make = || Rc::new(Target::new(rank, Rc::new(SameProcess), self.notes.clone()));
        targets.entry((context, rank)).or_insert_with(make).clone()
    }

    /// The rank has freed its window.
    pub fn forget_target(&self, context: u32, rank: u32) {
        self.targets.borrow_mut().remove(&(context, rank));
    }

    /// What the ranks that open a file over a communicator share of it.
    pub fn joint_file(&self, comm: &Communicator) -> Rc<Joint> {
        self.files.borrow_mut().entry((comm.context, comm.group.members[0])).or_default().clone()
    }

    /// The file is closed.
    pub fn forget_file(&self, file: &File) {
        self.files.borrow_mut().remove(&(file.comm.context, file.comm.group.members[0]));
    }
}

/// Reading the clock so often in a row takes no time.
const READINGS_AT_ONCE: u32 = 1000;

/// A reading after those takes such a part of what the program has waited by then.
const WAITED_PART: u64 = 128;

/// A look may take such a part of the time for which the program has looked by then, if that is more than a look takes.
const LOOKED_PART: u64 = 32;

/// A program that computes between two looks for longer than this, in seconds, and than a look takes, does not only wait.
const BETWEEN_LOOKS: f64 = 5e-6;

/// At most so many errors are remembered with what they said.
const ERRORS_KEPT: usize = 1024;

impl Rank {
    pub fn new(endpoint: Link, setting: &Setting) -> Rank {
        let (number, size) = (endpoint.rank(), endpoint.size());
        let everyone = Group::of((0..size as u32).collect());
        let comm_world = Communicator::new(&endpoint, number, everyone, endpoint.context_of((0, 0, u32::MAX)));
        let alone = Group::of(vec![number as u32]);
        let comm_self = Communicator::new(&endpoint, 0, alone, endpoint.context_of((0, 1, u32::MAX)));
        for comm in [&comm_world, &comm_self] {
            comm.errhandler.set(abi::ERRHANDLER_NULL);
        }
        comm_world.name.replace(b"MPI_COMM_WORLD".to_vec());
        comm_self.name.replace(b"MPI_COMM_SELF".to_vec());
        let threads = Threads::new(endpoint.simulated().is_none());
        Rank {
            host: setting.host.clone(),
            meter: Meter::new(setting.compute),
            call: Cell::new("the program before MPI_Init"),
            phase: Cell::new(Phase::Before),
            thread_level: Cell::new(abi::THREAD_SINGLE),
            comms: Table::new(kind::COMM),
            comm_world: Rc::new(comm_world),
            comm_self: Rc::new(comm_self),
            groups: Table::new(kind::GROUP),
            shared: setting.shared.clone(),
            requests: Table::new(kind::REQUEST),
            used: pending::Requests::default(),
            unfreed: Cell::default(),
            messages: Table::new(kind::REQUEST),
            sessions: Table::new(kind::SESSION),
            sessions_begun: Cell::new(0),
            heard: Cell::new(Picos::ZERO),
            windows: Table::new(kind::WIN),
            files: Table::new(kind::FILE),
            file_errhandler: Cell::new(abi::ERRORS_RETURN),
            representations: RefCell::default(),
            active: RefCell::default(),
            apart: RefCell::default(),
            errors: RefCell::default(),
            errors_dropped: Cell::new(0),
            user_errors: RefCell::default(),
            buffered: Rc::default(),
            tools: Cell::new(0),
            node_name: format!("{}-node{}", setting.machine, setting.node_of(number)),
            nodes: setting.nodes.clone(),
            endpoint,
            readings: Cell::new((0, Picos::ZERO)),
            looking_since: Cell::new(None),
            looked: Cell::new(false),
            next_known: Cell::new(None),
            released: RefCell::default(),
            threads,
        }
    }

    /// A call begins, once no other thread of the program is in one.
    #[inline]
    #[unsafe(link_section = "weft_message")]
    pub fn within(&self) -> Within<'_> {
        let within = self.threads.enter(|| self.host.disturb());
        if !self.threads.is_main() {
            self.meter.count_all_threads();
        }
        within
    }

    /// The number of this rank in the whole run.
    pub fn number(&self) -> usize {
        self.endpoint.rank()
    }

    /// The node that a rank runs on.
    pub fn node_of(&self, number: usize) -> usize {
        self.nodes.as_ref().map_or(number, |nodes| nodes[number] as usize)
    }

    /// The program has come back to MPI: what it computed takes its time.
    #[unsafe(link_section = "weft_message")]
    pub fn enter(&self, call: &'static str) {
        self.call.set(call);
        self.endpoint.set_call(call);
        if let Some(seconds) = self.meter.stop() {
            if seconds > self.endpoint.look_time().seconds().max(BETWEEN_LOOKS) {
                self.looking_since.set(None);
            }
            self.block(self.endpoint.compute(Computation::Seconds(seconds)));
        }
    }

    /// The program does something else than read the clock.
    #[inline]
    pub fn forget_readings(&self) {
        self.readings.set((0, Picos::ZERO));
    }

    /// The program goes on by itself.
    pub fn leave(&self) {
        self.meter.start();
    }

    /// Waits for `future` while other ranks, and what this one has started, go on.
    #[unsafe(link_section = "weft_message")]
    pub fn block<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let looks = match (self.active.borrow().is_empty(), self.threads.are_several()) {
                (true, false) => Looks::Alone,
                (true, true) => Looks::Noted,
                (false, _) => Looks::AtOnce,
            };
            let polled = self.endpoint.wait_with(looks, || future.as_mut().poll(&mut context));
            if let Poll::Ready(result) = polled {
                self.hear();
                return result;
            }
            self.progress();
            self.park();
        }
    }

    /// What the program has waited for may tell it of others.
    fn hear(&self) {
        self.heard.set(self.endpoint.known_time());
    }

    /// Waits until something has happened.
    #[unsafe(link_section = "weft_message")]
    fn park(&self) {
        if !self.threads.are_several() {
            return self.host.park(self.number());
        }
        let call = self.call.get();
        let (requests, is_idle, waits_for_others) = (self.host.awaited(), self.is_idle(), threads::waits_for_others());
        let awaited = Awaited { anything: requests.is_empty() || !is_idle || waits_for_others, requests };
        self.threads.park(awaited, |all, until_quiet| self.host.park_beside(self.number(), all, until_quiet));
        // Other threads have called meanwhile.
        self.call.set(call);
        self.endpoint.set_call(call);
    }

    /// As [`Rank::block`], of a future that goes on without this rank where others of the process can poll it.
    pub fn block_apart(&self, mut work: Work) -> Answer {
        if self.endpoint.simulated().is_none() || !self.active.borrow().is_empty() {
            return self.block(work);
        }
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(answer) = work.as_mut().poll(&mut context) {
                self.hear();
                return answer;
            }
            self.apart.replace(Some(Apart::Waiting(work)));
            self.host.park(self.number());
            work = match self.apart.take() {
                Some(Apart::Waiting(work)) => work,
                Some(Apart::Done(answer)) => {
                    self.hear();
                    return answer;
                }
                None => unreachable!("nobody but this rank takes what it waits for"),
            };
        }
    }

    /// What this rank waits for goes on as far as it can; whether the rank is to be switched to.
    pub fn goes_on(&self) -> bool {
        self.apart.borrow_mut().as_mut().is_none_or(Apart::go_on)
    }

    /// Collectives that were started go on as far as they can by now.
    #[unsafe(link_section = "weft_message")]
    fn progress(&self) {
        if self.active.borrow().is_empty() {
            return;
        }
        let (endpoint, mut context) = (&self.endpoint, Context::from_waker(Waker::noop()));
        endpoint.advance_to(endpoint.run_time());
        // What is polled may start requests itself: the list is taken out meanwhile.
        let mut active = std::mem::take(&mut *self.active.borrow_mut());
        let ((), next) = endpoint.look(|| active.retain(|request| !request.poll(&mut context)));
        self.active.borrow_mut().append(&mut active);
        if let Some(time) = next {
            endpoint.wake_at(time);
        }
    }

    /// Starts what goes on by itself; it is asked once at this moment.
    pub fn launch(&self, request: &Rc<Request>) {
        let mut context = Context::from_waker(Waker::noop());
        let (done, _) = self.endpoint.look(|| request.poll(&mut context));
        if !done {
            self.active.borrow_mut().push(request.clone());
        }
    }

    /// Waits until a request is complete, and takes what it came to.
    pub fn wait(&self, request: &Request) -> Completion {
        self.complete(request);
        request.take()
    }

    /// The memory that messages of a communicator are buffered in: its own, else that of its session, else the process's
    /// (MPI 4.1, section 3.6).
    pub fn buffered_for(&self, comm: &Communicator) -> Rc<Buffered> {
        let is_attached = |buffered: &&Rc<Buffered>| buffered.is_attached();
        if let Some(own) = comm.buffered.get().filter(is_attached) {
            return own.clone();
        }
        let of_session = self.sessions.find(|session| session.number == comm.group.session);
        let buffered = of_session.as_ref().map(|session| &session.buffered).filter(is_attached);
        buffered.unwrap_or(&self.buffered).clone()
    }

    /// Waits until a request is complete.
    pub fn complete(&self, request: &Request) {
        // What is alone under way needs nobody who drives it beside the wait: it goes on as in a blocking call. Where
        // others are under way too, each look at it is a question to the simulator: for a rank with a process of its own
        // a switch to the hub and back.
        if self.active.borrow().len() == 1 && !self.threads.are_several() {
            self.forget(request);
        }
        self.block(std::future::poll_fn(|context| if request.poll(context) { Poll::Ready(()) } else { Poll::Pending }));
        self.forget(request);
    }

    /// Waits until a request is complete, or until nothing can happen in the run any more; whether it is complete.
    pub fn complete_until_quiet(&self, request: Option<&Request>) -> bool {
        let mut quiet = self.endpoint.quiet();
        let is_complete = self.block(std::future::poll_fn(|context| {
            if request.is_some_and(|request| request.poll(context)) {
                return Poll::Ready(true);
            }
            quiet.as_mut().poll(context).map(|()| false)
        }));
        if let Some(request) = request.filter(|_| is_complete) {
            self.forget(request);
        }
        is_complete
    }

    /// Which of the requests are complete at this rank's time.
    pub fn test(&self, requests: &[Rc<Request>]) -> Vec<bool> {
        self.block(self.endpoint.settle());
        let mut context = Context::from_waker(Waker::noop());
        let (done, next): (Vec<bool>, _) = self.endpoint.look(|| {
            for request in self.active.borrow().iter() {
                request.poll(&mut context);
            }
            requests.iter().map(|request| request.poll(&mut context)).collect()
        });
        self.next_known.set(next);
        self.forget_done(requests, &done);
        done
    }

    /// The program reads the clock. One that reads it again and again and does nothing else waits for a time: the clock
    /// moves then, by steps that grow with what it has waited.
    pub fn read_clock(&self) {
        let (readings, since) = self.readings.get();
        let now = self.endpoint.clock();
        if readings < READINGS_AT_ONCE {
            self.readings.set((readings + 1, now));
            return;
        }
        let step = Picos((now.0 - since.0) / WAITED_PART).max(Picos::from_seconds(LOOK_SECONDS));
        self.endpoint.advance_to(now + step);
    }

    /// A look that found nothing has taken its time: programs that look again and again come to an end. One that does
    /// nothing else waits: its looks grow with what it has waited, and end when something happens to the rank.
    pub fn looked_in_vain(&self) {
        let clock = self.endpoint.clock();
        let since = self.looking_since.get().unwrap_or(clock);
        self.looking_since.set(Some(since));
        self.keep_looks();
        let least = clock + self.endpoint.look_time().max(Picos::from_seconds(LOOK_SECONDS));
        let next = self.next_known.take();
        let longest = clock + Picos((clock.0 - since.0) / LOOKED_PART);
        let until = next.map_or(longest, |next| longest.min(next)).max(least);
        self.block(self.endpoint.look_on(least, until));
    }

    /// What is called is part of a look, or says what has been known before.
    pub fn keep_looks(&self) {
        self.looked.set(true);
    }

    /// A call of the program is at its end: one that does not look ends a row of looks.
    #[inline]
    pub fn end_looks(&self) {
        if !self.looked.replace(false) {
            self.looking_since.set(None);
        }
    }

    /// Waits until at least one of the requests is complete; which are.
    pub fn wait_some(&self, requests: &[Rc<Request>]) -> Vec<bool> {
        let mut until: Option<Picos> = None;
        self.block(std::future::poll_fn(|context| {
            let endpoint = &self.endpoint;
            if let Some(time) = until.filter(|&time| time <= endpoint.run_time()) {
                endpoint.advance_to(time);
                until = None;
            }
            if endpoint.run_time() < endpoint.clock() {
                endpoint.wake_at(endpoint.clock());
                return Poll::Pending;
            }
            let (done, next): (Vec<bool>, _) =
                endpoint.look(|| requests.iter().map(|request| request.poll(context)).collect());
            if done.contains(&true) {
                self.forget_done(requests, &done);
                return Poll::Ready(done);
            }
            if let Some(time) = next {
                until = Some(time);
                endpoint.wake_at(time);
            }
            Poll::Pending
        }))
    }

    fn forget_done(&self, requests: &[Rc<Request>], done: &[bool]) {
        let complete = requests.iter().zip(done).filter(|(_, done)| **done);
        complete.for_each(|(request, _)| self.forget(request));
    }

    /// A request that is done needs to be asked no more.
    fn forget(&self, request: &Request) {
        self.active.borrow_mut().retain(|other| !std::ptr::eq(&raw const **other, request));
    }

    /// Whether collectives are still under way.
    pub fn is_idle(&self) -> bool {
        self.active.borrow().is_empty()
    }

    /// What the program does in a collective that it waits for.
    pub fn caller(&self) -> Caller {
        if self.is_idle() { Caller::Waits } else { Caller::WaitsBesideOthers }
    }

    /// Keeps an object of the interpreter that holds the programs.
    pub fn hold(&self, object: *mut c_void) {
        self.host.hold(object);
    }

    /// The program communicates no more.
    pub fn finish(&self) {
        self.phase.set(Phase::Finalized);
        self.unfreed.set(self.count_unfreed());
        self.host.leave(&self.unfreed.get());
    }

    /// Objects of the program. Those that all ranks of a process share belong to none of them.
    fn count_unfreed(&self) -> Unfreed {
        let is_inactive = |request: &Request| request.start.is_some() && !request.is_active();
        let persistent = self.requests.count(is_inactive);
        let is_alone = self.endpoint.simulated().is_none();
        let own = |count: usize| if is_alone { count as u32 } else { 0 };
        let released = self.released.borrow().len();
        Unfreed {
            requests: (self.requests.len() - persistent) as u32,
            persistent: persistent as u32,
            communicators: self.comms.len() as u32,
            groups: self.groups.len() as u32,
            datatypes: own(self.shared.datatypes.count(|one| !one.is_of_kind()).saturating_sub(released)),
            operations: own(self.shared.operations.len()),
            windows: self.windows.len() as u32,
            files: self.files.len() as u32,
        }
    }

    /// This rank makes a collective call.
    pub fn note_joint(&self, comm: &Communicator, described: Described) {
        let size = (comm.size() + comm.remote.as_ref().map_or(0, Group::len)) as u32;
        if size > 1 {
            self.host.note_joint(self.number(), size, comm.next_joint(), self.call.get(), described);
        }
    }

    /// Says something of the program.
    #[cold]
    pub fn remark(&self, subject: Subject, remark: &str) {
        self.host.remark(subject, remark);
    }

    pub fn abort(&self, code: c_int, message: &str) -> ! {
        self.host.abort(self.number(), code, message)
    }

    /// Whether the program has initialized MPI, on this rank or, in a module that all share, on another.
    pub fn is_initialized(&self) -> bool {
        self.phase.get() != Phase::Before || self.level_of_all().is_some()
    }

    /// The thread level that a module which all ranks share has initialized MPI with, for all of them.
    fn level_of_all(&self) -> Option<c_int> {
        if self.shared.each_initializes.get() { None } else { self.shared.initialized.get() }
    }

    /// The program goes on as initialized by a module that all ranks share.
    pub fn adopt(&self) {
        if let (Phase::Before, Some(level)) = (self.phase.get(), self.level_of_all()) {
            self.phase.set(Phase::Initialized);
            self.thread_level.set(level);
        }
    }

    #[unsafe(link_section = "weft_message")]
    pub fn comm(&self, handle: abi::Comm) -> Result<Rc<Communicator>, Fault> {
        match handle {
            abi::COMM_WORLD => Ok(self.comm_world.clone()),
            abi::COMM_SELF => Ok(self.comm_self.clone()),
            _ => self.comms.get(handle).ok_or_else(|| Fault::new(class::ERR_COMM, "no such communicator")),
        }
    }

    #[unsafe(link_section = "weft_message")]
    pub fn datatype(&self, handle: abi::Datatype) -> Result<Rc<Datatype>, Fault> {
        if let Some(datatype) = self.shared.predefined.get(&handle) {
            return Ok(datatype.clone());
        }
        self.shared.datatypes.get(handle).ok_or_else(|| Fault::new(class::ERR_TYPE, "no such datatype"))
    }

    /// The program has freed a datatype. Its handle stays as long as requests are under way that may need it.
    pub fn release_datatype(&self, handle: abi::Datatype) {
        let mut released = self.released.borrow_mut();
        released.push(handle);
        let is_quiet = self.requests.is_empty()
            && self.windows.all(|window| window.pending.borrow().is_empty())
            && self.files.all(|file| file.split.borrow().is_none());
        if is_quiet {
            released.drain(..).for_each(|handle| drop(self.shared.datatypes.remove(handle)));
        }
    }

    pub fn group(&self, handle: abi::Group) -> Result<Rc<Group>, Fault> {
        if handle == abi::GROUP_EMPTY {
            return Ok(Rc::new(Group::of(Vec::new())));
        }
        self.groups.get(handle).ok_or_else(|| Fault::new(class::ERR_GROUP, "no such group"))
    }

    pub fn request(&self, handle: abi::Request) -> Result<Rc<Request>, Fault> {
        self.requests.get(handle).ok_or_else(|| Fault::new(class::ERR_REQUEST, "no such request"))
    }

    /// The info, or an empty one for none.
    pub fn info(&self, handle: abi::Info) -> Result<Info, Fault> {
        if handle == abi::INFO_NULL || handle == abi::INFO_ENV {
            return Ok(Info::default());
        }
        let info = self.shared.infos.get(handle).ok_or_else(|| Fault::new(class::ERR_INFO, "no such info"))?;
        Ok((*info).clone())
    }

    /// Remembers an error; the code that the program gets.
    pub fn remember(&self, fault: Fault) -> c_int {
        if fault.class > 0xff || fault.message.is_empty() {
            return fault.class;
        }
        let mut errors = self.errors.borrow_mut();
        if errors.len() == ERRORS_KEPT {
            errors.pop_front();
            self.errors_dropped.set(self.errors_dropped.get() + 1);
        }
        let number = self.errors_dropped.get() + errors.len();
        let code = fault.class | (((number % 0x2f_ffff) as c_int + 1) << 8);
        errors.push_back(fault);
        code
    }

    /// What was said with an error's code.
    pub fn recall(&self, code: c_int) -> Option<String> {
        let number = ((code >> 8) - 1) as usize;
        let index = number.checked_sub(self.errors_dropped.get())?;
        self.errors.borrow().get(index).map(|fault| fault.message.clone())
    }
}

/// What a look at requests takes at least, in seconds: about a hundred instructions of today's processors. A look must
/// take some time, or a program that waits by looking would never let the clock move.
const LOOK_SECONDS: f64 = 1e-7;

static CURRENT: AtomicPtr<Rank> = AtomicPtr::new(std::ptr::null_mut());

/// From now on calls are those of `rank`.
pub fn set_current(rank: *const Rank) {
    CURRENT.store(rank.cast_mut(), Ordering::Relaxed);
    // SAFETY: a rank lives until the process that hosts it ends.
    let rank: Option<&'static Rank> = unsafe { rank.as_ref() };
    meter::set_current(rank.map(|rank| &rank.meter));
    threads::set_current(rank.map(|rank| &rank.threads));
}

/// The rank that calls.
pub fn current() -> Option<&'static Rank> {
    // SAFETY: a rank lives until the process that hosts it ends, and one thread at a time is within it.
    unsafe { CURRENT.load(Ordering::Relaxed).as_ref() }
}
