//! The engine: runs the goals of one processing element.
//!
//! An [`Engine`] is a value; a process may have any number of them. It owns its heap, its queues of goals and its part of
//! the AND-tree. [`Engine::run`] reduces goals for a given number of reductions and says why it came back, so that
//! whoever drives several engines, or messages between them, decides what happens in between.
//!
//! ```text
//! instruction  what compiled code is made of          interpret  runs it
//! unify        unification and the order of values    suspend    goals that wait, and waking
//! queue        queues by priority                     schedule   slices, and which queue is next
//! tree         metacalls: nodes with result and control  outgoing  what it has for others
//! collection   roots, and goals that nothing can wake builtin    operations of guards and bodies
//! text         values as text                         report     what went wrong
//! remote       the seam for references to elsewhere   array      large vectors that change
//! thrown       goals for other PEs that native code writes down
//! walk         ends of walks through cyclic values   cycles     where values come back to themselves
//! memory       what an engine holds beside its heap     backend   the seam for translated code
//! ```

pub(crate) mod arithmetic;
pub(crate) mod array;
pub(crate) mod backend;
pub(crate) mod builtin;
mod collection;
mod cycles;
pub mod instruction;
pub(crate) mod interpret;
pub mod literal;
mod memory;
mod outgoing;
mod queue;
pub(crate) mod registers;
mod remote;
mod report;
mod rounds;
mod schedule;
mod suspend;
mod text;
pub(crate) mod thrown;
mod tree;
pub(crate) mod unify;
mod walk;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) use cycles::{Cycles, has_cells};
pub use interpret::Answer;
pub use outgoing::{News, NodeChange, Outgoing, Throw};
use remote::Externals;
pub use remote::Root;
pub use report::{Problem, ProblemKind, Waiting};
pub use rounds::Rounds;
pub use tree::{NodeState, ROOT};

pub use crate::compile::Limits;
use crate::compile::{CompileError, compile};
use crate::heap::{Heap, Word};
use crate::ir::{AtomTable, Program};
use backend::Backend;
pub use backend::Translation;
use instruction::Code;
use queue::{Queue, Runnable};
use registers::{COUNTED, Registers};
use tree::Node;

/// Marks watches of someone outside the engine.
const WATCH_OUTSIDE: u64 = 1 << 48;

/// The priority of goals that have none: the middle of what is possible.
pub const DEFAULT_PRIORITY: i32 = 0;

/// A program ready to run: shared by all engines that run it.
#[derive(Clone)]
pub struct Loaded {
    pub program: Arc<Program>,
    pub code: Arc<Code>,
    /// Names; programs can make new ones while they run.
    pub atoms: Arc<RwLock<AtomTable>>,
    /// The same code for this processor, where it was translated.
    pub(crate) backend: Option<Arc<dyn Backend>>,
}

impl Loaded {
    /// Compiles a program. With `counting`, commitments are also counted by predicate, see [`Engine::counts`].
    pub fn new(program: Program, counting: bool) -> Result<Loaded, CompileError> {
        Loaded::limited(program, counting, Limits::default())
    }

    /// As [`Loaded::new`], where the compiler begins to do with less at other limits than usual.
    pub fn limited(program: Program, counting: bool, limits: Limits) -> Result<Loaded, CompileError> {
        let code = compile(&program, counting, limits)?;
        let atoms = program.atoms.clone();
        Ok(Loaded {
            program: Arc::new(program),
            code: Arc::new(code),
            atoms: Arc::new(RwLock::new(atoms)),
            backend: None,
        })
    }

    /// Whether the code has been translated for this processor.
    pub fn is_translated(&self) -> bool {
        self.backend.is_some()
    }
}

/// How an engine runs.
pub struct Options {
    /// Which PE this is, from 0.
    pub node: usize,
    /// How many PEs there are.
    pub nodes: usize,
    /// Largest number of bytes in use: of the heap, twice that while it is collected, and of what the program makes beside it.
    pub heap: usize,
    /// How many bytes the system still has for this process, where that is known: asked before a large heap is made larger.
    pub available: fn() -> Option<usize>,
    /// How many times larger than what a collection keeps a small heap is made before the next.
    pub growth: usize,
    /// `Some`: goals are taken in random order, for tests.
    pub seed: Option<u64>,
    /// `Some(n)`: a collection every n reductions at the latest, for tests.
    pub collect_every: Option<u64>,
    /// In which order goals run, and whether their arguments are counted.
    pub rounds: Rounds,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Standard output of the program.
    pub output: Box<dyn Write + Send>,
    /// Set from elsewhere: the engine stops as soon as it can.
    pub interrupt: Arc<AtomicBool>,
}

/// The default limit of a heap in bytes.
pub const DEFAULT_HEAP: usize = 1 << 30;

/// Goals that wait, and failures, are shown one by one up to so many; the rest are counted.
pub const MAX_SHOWN: usize = 1000;

/// How many times larger than what a collection keeps a small heap is made by default.
const GROWTH: usize = 16;

impl Default for Options {
    fn default() -> Self {
        Options {
            node: 0,
            nodes: 1,
            heap: DEFAULT_HEAP,
            available: || None,
            growth: GROWTH,
            seed: None,
            collect_every: None,
            rounds: Rounds::default(),
            arguments: Vec::new(),
            output: Box::new(std::io::stdout()),
            interrupt: Arc::new(AtomicBool::new(false)),
        }
    }
}

/// Why [`Engine::run`] came back.
#[derive(Debug)]
pub enum Stop {
    /// The reductions asked for are done; goals are left.
    Budget,
    /// No goal can go on. Whether any is left: [`Engine::finished`], [`Engine::waiting`].
    Idle,
    /// The root of the AND-tree failed, or the engine cannot go on.
    Problem(Box<Problem>),
    /// [`Options::interrupt`] was set. The engine can go on.
    Interrupted,
    /// The program called `exit`.
    Exit(i64),
}

/// Why the interpreter came back to the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The queue is empty.
    Empty,
    /// The slice is over; the goal that was to run is back in the queue.
    Slice,
    /// See [`Engine::problem`].
    Problem,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commitments to clauses of predicates (paper, section 7.2).
    pub reductions: u64,
    /// Times that a goal suspended.
    pub suspensions: u64,
    /// Times that a goal woke.
    pub resumptions: u64,
    /// Collections of garbage.
    pub collections: u64,
    /// Words that collections kept, all together.
    pub words_kept: u64,
    /// Arguments of the goals that were reduced, where [`Options::rounds`] has them counted.
    pub arguments: u64,
}

/// One processing element's engine.
pub struct Engine {
    pub(crate) registers: Box<Registers>,
    /// What `registers.x` points to.
    _x: Box<[Word]>,
    pub(crate) heap: Heap,
    pub(crate) code: Arc<Code>,
    backend: Option<Arc<dyn Backend>>,
    pub(crate) program: Arc<Program>,
    names: Arc<RwLock<AtomTable>>,
    queues: Vec<Queue>,
    nodes: Vec<Node>,
    /// Queues with goals, by priority; without the one that runs.
    runnable: Runnable,
    current: u32,
    rounds: Rounds,
    /// The goal of the present queue that was second when the one that runs began; where goals run breadth first.
    second: *mut Word,
    /// Arguments of the goal whose round it is.
    round_arity: usize,
    /// A round has begun and not ended.
    in_round: bool,
    /// Arguments of the goals that were reduced.
    reduced_arguments: u64,
    slice: i64,
    reductions: i64,
    collections: u64,
    words_kept: u64,
    more_counts: Box<[u64]>,
    generator: Option<Xoshiro256PlusPlus>,
    problem: Option<Box<Problem>>,
    /// Work that is no reduction, since the interrupt was last looked at.
    steps: usize,
    /// Failures under metacalls, which the program has seen as results.
    failures: Vec<Problem>,
    /// The first failures are kept.
    failure_count: u64,
    /// Goals that a collection found nothing can wake: the first of them.
    lost: Vec<Waiting>,
    lost_count: u64,
    /// Bytes by which what is beside the heap has grown since the last collection for it, and what others hold for this
    /// engine.
    grown: usize,
    outside: usize,
    collects_soon: bool,
    free_nodes: Vec<u32>,
    free_queues: Vec<u32>,
    exit: Option<i64>,
    outgoing: Vec<Outgoing>,
    /// Arguments of goals in it.
    outgoing_values: Vec<Word>,
    /// How much there is for others: goals each by itself.
    outgoing_goals: usize,
    /// The node that a unification from outside, or of a node's result, is done for; else it is that of the queue that runs.
    unifying_for: Option<u32>,
    /// What `registers.thrown` points into; empty until it is needed.
    thrown: Box<[Word]>,
    /// Variables whose values are elsewhere, by number, until they are bound or nothing here refers to them.
    externals: Externals,
    /// Numbers of those that a collection found nothing refers to any more.
    unreachable: Vec<u64>,
    fired: Vec<u64>,
    bound: Vec<u64>,
    roots: Vec<Word>,
    free_roots: Vec<usize>,
    answers: Vec<(String, Root)>,
    files: builtin::Files,
    node: usize,
    pes: usize,
    collect_every: Option<u64>,
    arguments: Vec<String>,
    interrupt: Arc<AtomicBool>,
}

// SAFETY: every pointer in an engine points into what it owns.
unsafe impl Send for Engine {}

impl Engine {
    /// An engine without goals. `None` when there is no memory for its first, small heap.
    pub fn new(loaded: &Loaded, options: Options) -> Option<Engine> {
        let heap = Heap::new(options.heap, options.growth, options.available)?;
        let mut x = vec![Word::NIL; loaded.code.registers].into_boxed_slice();
        let mut more_counts = vec![0u64; loaded.code.predicates.len().saturating_sub(COUNTED)].into_boxed_slice();
        let registers = Box::new(Registers {
            free: heap.start(),
            limit: heap.limit(0, 0),
            budget: 0,
            rest: 0,
            words: loaded.code.words as u64,
            ready: std::ptr::null_mut(),
            suspended: std::ptr::null_mut(),
            x: x.as_mut_ptr(),
            queue_bits: 0,
            waiting: 0,
            suspensions: 0,
            resumptions: 0,
            noted_count: 0,
            noted: [Word::NIL; registers::MAX_NOTED],
            counts: [0; COUNTED],
            more_counts: more_counts.as_mut_ptr(),
            thrown: std::ptr::null_mut(),
            thrown_end: std::ptr::null_mut(),
            node: Word::small(options.node as i64),
            nodes: Word::small(options.nodes as i64),
            at: 0,
            engine: std::ptr::null_mut(),
            answer: 0,
            entries: loaded.backend.as_ref().map_or(std::ptr::null(), |backend| backend.entries()),
        });
        Some(Engine {
            registers,
            _x: x,
            heap,
            code: loaded.code.clone(),
            backend: loaded.backend.clone(),
            program: loaded.program.clone(),
            names: loaded.atoms.clone(),
            queues: vec![Queue::new(tree::ROOT, DEFAULT_PRIORITY)],
            nodes: vec![Node::root()],
            runnable: Runnable::default(),
            current: 0,
            rounds: options.rounds,
            second: std::ptr::null_mut(),
            round_arity: 0,
            in_round: false,
            reduced_arguments: 0,
            slice: 0,
            reductions: 0,
            collections: 0,
            words_kept: 0,
            more_counts,
            generator: options.seed.map(|seed| weft_base::generator(seed, options.node as u64)),
            problem: None,
            steps: 0,
            failures: Vec::new(),
            failure_count: 0,
            lost: Vec::new(),
            lost_count: 0,
            grown: 0,
            outside: 0,
            collects_soon: false,
            free_nodes: Vec::new(),
            free_queues: Vec::new(),
            exit: None,
            outgoing: Vec::new(),
            outgoing_values: Vec::new(),
            outgoing_goals: 0,
            unifying_for: None,
            thrown: Box::default(),
            externals: Externals::default(),
            unreachable: Vec::new(),
            fired: Vec::new(),
            bound: Vec::new(),
            roots: Vec::new(),
            free_roots: Vec::new(),
            answers: Vec::new(),
            files: builtin::Files::new(options.output),
            node: options.node,
            pes: options.nodes,
            collect_every: options.collect_every,
            arguments: options.arguments,
            interrupt: options.interrupt,
        })
    }

    /// Puts the program's start goal ([`Program::start`]) into the root of the AND-tree; false where it has none. The
    /// values of its variables: [`Engine::answers`].
    pub fn start(&mut self) -> bool {
        let program = self.program.clone();
        let Some(start) = program.start else { return false };
        let predicate = program.predicate(start);
        let names = predicate.clauses.first().map(|clause| clause.variables.clone()).unwrap_or_default();
        let mut arguments = Vec::with_capacity(predicate.arity);
        for index in 0..predicate.arity {
            let variable = self.new_variable();
            arguments.push(variable);
            let name = names.get(index).map_or_else(|| format!("_{index}"), |variable| variable.name.to_string());
            let root = self.hold(variable);
            self.answers.push((name, root));
        }
        // The goal that a run starts with is no reduction.
        self.reductions -= 1;
        self.start_goal(start.0, &arguments, tree::ROOT, DEFAULT_PRIORITY);
        true
    }

    /// The variables of the start goal and their values as text.
    pub fn answers(&self) -> Vec<(String, String)> {
        self.answers.iter().map(|(name, root)| (name.clone(), self.text(self.held(*root), true))).collect()
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let running = self.slice - self.registers.left();
        Counters {
            reductions: (self.reductions + running).max(0) as u64,
            suspensions: self.registers.suspensions,
            resumptions: self.registers.resumptions,
            collections: self.collections,
            words_kept: self.words_kept,
            arguments: self.reduced_arguments,
        }
    }

    /// Commitments by predicate, where the program was loaded to count them: name, commitments.
    pub fn counts(&self) -> Vec<(String, u64)> {
        let all = self.registers.counts.iter().chain(&self.more_counts);
        // In the order of their numbers, as predicates are.
        let mut counts: Vec<(String, u64)> =
            self.program.iter().zip(all).map(|((id, _), count)| (self.program.indicator(id), *count)).collect();
        if let Some(uncounted) = self.backend.as_ref().and_then(|backend| backend.uncounted_predicate()) {
            // Where it is interpreted, as what is too large to translate is, its own commitments have been counted too.
            let others: u64 =
                counts.iter().enumerate().filter(|(number, _)| *number != uncounted).map(|(_, (_, count))| count).sum();
            if let Some((_, count)) = counts.get_mut(uncounted) {
                *count = self.counters().reductions.saturating_sub(others);
            }
        }
        counts
    }

    /// Whether all goals have ended.
    pub fn finished(&self) -> bool {
        self.nodes[tree::ROOT as usize].state == NodeState::Done
    }

    /// Failures under metacalls, which the program has seen as results: the first [`MAX_SHOWN`].
    pub fn failures(&self) -> &[Problem] {
        &self.failures
    }

    /// How many failures under metacalls there were.
    pub fn failure_count(&self) -> u64 {
        self.failure_count
    }

    pub(super) fn note_failure(&mut self, problem: Problem) {
        self.failure_count += 1;
        if self.failures.len() < MAX_SHOWN {
            self.failures.push(problem);
        }
    }

    /// Which PE this is.
    pub fn node(&self) -> usize {
        self.node
    }

    /// Writes out what the program has written so far.
    pub fn flush(&mut self) {
        self.files.flush();
    }

    /// The code, for as long as the caller says. Engines on other processors share it: counting who refers to it would
    /// have them wait for each other.
    fn shared_code<'c>(&self) -> &'c Code {
        // SAFETY: held by the engine, which never exchanges it and outlives whatever it runs.
        unsafe { &*Arc::as_ptr(&self.code) }
    }

    fn atoms(&self) -> RwLockReadGuard<'_, AtomTable> {
        self.names.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}
