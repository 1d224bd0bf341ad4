//! Running a program on a machine in virtual time.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use weft_base::{Interrupt, Picos, memory};
use weft_comm::{CommError, Program, RunError};
use weft_machine::Machine;
use weft_network::Traffic;

use crate::communicator::SimComm;
use crate::core::{Core, RANK_BYTES};
use crate::mismatched::Mismatches;
use crate::options::Options;
use crate::placement::Placement;
use crate::trace::Trace;
use crate::unreceived::Unreceived;

/// Between two checks whether the run shall end: polls of programs and events, a few milliseconds of them.
const CHECKED_EVERY: u32 = 1 << 14;

/// How many of those checks there are between two looks at the memory that is left.
const MEMORY_EVERY: u32 = 16;

/// A run ends when less than this is left, in bytes: what it takes until the next look.
const RESERVE: u64 = 256 << 20;

/// Counts steps of a run, and looks at times whether it may go on.
struct Watch<'a> {
    interrupt: &'a Interrupt,
    steps: Cell<u32>,
    checks: Cell<u32>,
}

impl Watch<'_> {
    #[inline(always)]
    fn step(&self) -> Result<(), RunError> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(CHECKED_EVERY) { self.check() } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check(&self) -> Result<(), RunError> {
        if self.interrupt.is_requested() {
            return Err(RunError::Interrupted);
        }
        self.checks.set(self.checks.get().wrapping_add(1));
        if self.checks.get().is_multiple_of(MEMORY_EVERY) {
            memory::require(
                RESERVE,
                "to go on, a run in virtual time",
                "ask for fewer ranks, or for fewer messages at once",
            )?;
        }
        Ok(())
    }
}

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// What each rank returned.
    pub outputs: Vec<T>,
    /// When each rank finished, s.
    pub finished: Vec<f64>,
    /// When the last rank finished, s.
    pub makespan: f64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes of one rank's program: what its `async fn` keeps while it waits.
    pub program_bytes: usize,
    pub trace: Option<Trace>,
    /// Messages that nobody received, by their receivers; those of collectives where ranks made different calls.
    pub unreceived: Vec<Unreceived>,
    /// Messages that were received as other elements than they were sent as.
    pub mismatches: Mismatches,
    pub traffic: Option<Vec<Traffic>>,
    /// Over routers with virtual channels, how many times what they would have taken alone messages took in the network.
    pub waiting: Option<f64>,
}

/// Runs `program` on every rank of `placement` on `machine`.
///
/// # Errors
/// [`RunError::Setup`] when the machine cannot hold the placement or passes no messages; [`RunError::Deadlock`] and
/// [`RunError::MismatchedCollective`] when no rank can go on, with each blocked rank and its call;
/// [`RunError::Failed`] and [`RunError::Panicked`] for the first rank that fails; [`RunError::Interrupted`];
/// [`RunError::Memory`] where ranks, or messages under way, take more than there is.
///
/// # Examples
/// ```
/// use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag};
/// use weft_sim::{Options, Placement, run};
///
/// /// The seconds of a message to rank 1 and back.
/// #[derive(Clone)]
/// struct Echo;
/// impl Program for Echo {
///     type Output = f64;
///     async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
///         let (tag, other) = (Tag::User(0), 1 - comm.rank());
///         if comm.rank() == 0 {
///             comm.send(other, tag, Payload::Phantom(1024)).await?;
///         }
///         comm.recv(Source::Rank(other), tag.into(), Payload::Phantom(1024)).await?;
///         if comm.rank() == 1 {
///             comm.send(other, tag, Payload::Phantom(1024)).await?;
///         }
///         Ok(comm.wtime())
///     }
/// }
/// let machine = weft_machine::find("ipsc860").unwrap();
/// let outcome = run(&machine, &Placement::identity(2), &Echo, &Options::default()).unwrap();
/// assert!((outcome.outputs[0] / 2.0 - machine.message_time(1024, 1)).abs() < 1e-9);
/// ```
pub fn run<P: Program>(
    machine: &Machine,
    placement: &Placement,
    program: &P,
    options: &Options,
) -> Result<Outcome<P::Output>, RunError> {
    run_beside(machine, placement, |comm| program.clone().run(comm), options, &Nobody)
}

/// As [`run`], of what `start` makes for each rank of its communicator: for programs that are hosted, whose calls come
/// from outside and which need not be written over every backend.
///
/// # Errors
/// As [`run`].
pub fn run_with<T, F: Future<Output = Result<T, CommError>>>(
    machine: &Machine,
    placement: &Placement,
    start: impl Fn(SimComm) -> F,
    options: &Options,
) -> Result<Outcome<T>, RunError> {
    run_beside(machine, placement, start, options, &Nobody)
}

/// Ranks whose programs run by themselves for long, while the others go on.
///
/// A rank's future that is pending although its program neither waits for the run nor has come to its end is outside.
pub trait Outside {
    /// Whether there are any.
    fn is_someone(&self) -> bool;

    /// Makes those ready that have come back; if `waits`, returns when there is one, or when the run shall end.
    fn bring_back(&self, waits: bool);
}

/// No program runs by itself.
struct Nobody;

impl Outside for Nobody {
    fn is_someone(&self) -> bool {
        false
    }

    fn bring_back(&self, _: bool) {}
}

/// As [`run_with`], where programs may be outside.
///
/// # Errors
/// As [`run`].
pub fn run_beside<T, F: Future<Output = Result<T, CommError>>>(
    machine: &Machine,
    placement: &Placement,
    start: impl Fn(SimComm) -> F,
    options: &Options,
    outside: &impl Outside,
) -> Result<Outcome<T>, RunError> {
    if !machine.passes_messages() {
        let message =
            format!("{} is a data-parallel machine: its nodes pass no messages between programs", machine.name);
        return Err(RunError::Setup(message));
    }
    placement.check(machine).map_err(|error| RunError::Setup(error.to_string()))?;
    let ranks = placement.ranks();
    let start = |core: &Rc<RefCell<Core>>, rank| Box::pin(start(SimComm::new(core.clone(), rank as u32)));
    let network_bytes = Core::network_bytes(machine, options);
    let run = format!("a run of {ranks} ranks");
    memory::require(network_bytes as u64, &run, "ask for a smaller machine")?;
    let nobody = Rc::new(RefCell::new(Core::new(machine, placement, 0, &Options::default())));
    let program_bytes = size_of_val(&*start(&nobody, 0));
    drop(nobody);
    let each = program_bytes + RANK_BYTES + size_of::<Option<T>>() + 4 * size_of::<usize>();
    memory::require(network_bytes as u64 + ranks as u64 * each as u64, &run, "ask for fewer ranks")?;
    let core = Rc::new(RefCell::new(Core::new(machine, placement, ranks, options)));
    let mut programs: Vec<_> = (0..ranks).map(|rank| Some(start(&core, rank))).collect();
    let addresses = programs.iter().map(|program| program.as_ref().map_or(0, |program| (&raw const **program).addr()));
    core.borrow_mut().set_programs(addresses, program_bytes);
    let mut outputs: Vec<Option<T>> = (0..ranks).map(|_| None).collect();
    for rank in 0..ranks {
        core.borrow_mut().make_ready(rank as u32);
    }
    let running = Cell::new(0);
    let watch = Watch { interrupt: &options.interrupt, steps: Cell::new(0), checks: Cell::new(0) };
    // One for the whole run: around every poll it would cost as much as the poll.
    let driven =
        catch_unwind(AssertUnwindSafe(|| drive(&core, &mut programs, &mut outputs, &running, (&watch, outside))));
    let unfinished = driven
        .unwrap_or_else(|panic| Err(RunError::Panicked { rank: running.get(), message: panic_message(&*panic) }))?;
    if unfinished > 0 {
        let core = core.borrow();
        let blocked = core.blocked(|rank| programs[rank].is_none());
        // Collectives of different communicators are numbered each by itself: they say nothing of each other.
        let differ = core.collectives_differ();
        return Err(if differ { RunError::of_blocked(ranks, blocked) } else { RunError::Deadlock { ranks, blocked } });
    }
    drop(programs);
    let beyond = (0..ranks).any(|rank| core.borrow().clock(rank as u32) == Picos::MAX);
    if beyond {
        let message = format!(
            "a run of more than {:.0} days of virtual time on {}",
            Picos::MAX.seconds() / 86_400.0,
            machine.name
        );
        return Err(RunError::Setup(format!("{message}: ask for shorter messages, or look at the times in its file")));
    }
    Ok(outcome(&core, outputs, program_bytes))
}

/// Runs ranks and events in turn until no rank can go on; how many have not finished.
fn drive<T, F>(
    core: &RefCell<Core>,
    programs: &mut [Option<Pin<Box<F>>>],
    outputs: &mut [Option<T>],
    running: &Cell<usize>,
    (watch, outside): (&Watch<'_>, &impl Outside),
) -> Result<usize, RunError>
where
    F: Future<Output = Result<T, CommError>>,
{
    let mut context = Context::from_waker(Waker::noop());
    let mut unfinished = programs.len();
    while let Some(rank) = next_ready(core, watch, outside)? {
        let rank = rank as usize;
        watch.step()?;
        let Some(program) = &mut programs[rank] else { continue };
        running.set(rank);
        if let Poll::Ready(output) = program.as_mut().poll(&mut context) {
            outputs[rank] = Some(output?);
            programs[rank] = None;
            unfinished -= 1;
        }
    }
    Ok(unfinished)
}

/// The next rank that can go on, after as many events as that takes; none when no event is left and nobody is outside.
fn next_ready(core: &RefCell<Core>, watch: &Watch<'_>, outside: &impl Outside) -> Result<Option<u32>, RunError> {
    let mut state = core.borrow_mut();
    loop {
        if outside.is_someone() {
            drop(state);
            outside.bring_back(false);
            state = core.borrow_mut();
        }
        if let Some(rank) = state.next_ready() {
            return Ok(Some(rank));
        }
        watch.step()?;
        if state.release_deferred() || state.step() {
            continue;
        }
        if outside.is_someone() {
            drop(state);
            outside.bring_back(true);
            watch.check()?;
            state = core.borrow_mut();
        } else if !state.tell_quiet() && !state.fail_mismatched_rounds() {
            return Ok(None);
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn outcome<T>(core: &RefCell<Core>, outputs: Vec<Option<T>>, program_bytes: usize) -> Outcome<T> {
    let mut core = core.borrow_mut();
    let finished: Vec<f64> = (0..core.size()).map(|rank| core.clock(rank as u32).seconds()).collect();
    Outcome {
        outputs: outputs.into_iter().map(|output| output.expect("every rank has finished")).collect(),
        makespan: finished.iter().copied().fold(0.0, f64::max),
        finished,
        messages: core.entered(),
        program_bytes,
        trace: core.trace.take(),
        unreceived: core.unreceived(),
        mismatches: std::mem::take(&mut core.mismatches),
        traffic: core.traffic(),
        waiting: core.waiting(),
    }
}
