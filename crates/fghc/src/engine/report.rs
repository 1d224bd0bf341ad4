//! What can go wrong while a program runs, as messages that say what, where and what to do.

use std::fmt;

use super::interpret::Answer;
use super::{Engine, Exit};
use crate::heap::Word;
use crate::ir::{BinaryOperation, ClausePrinter, PredicateId};

/// Clauses that a message shows of the predicate whose goal none takes.
const MAX_CANDIDATES: usize = 20;

/// A goal that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The goal with its arguments.
    pub goal: String,
    /// The variables of which any would wake it.
    pub variables: Vec<String>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variables[..] {
            [] => write!(f, "{}", self.goal),
            variables => write!(f, "{} waits for {}", self.goal, variables.join(", ")),
        }
    }
}

/// What kind of problem.
#[derive(Debug, Clone, PartialEq)]
pub enum ProblemKind {
    /// No clause can commit, and none is undecided.
    Reduction { goal: String, predicate: String, candidates: Vec<String> },
    /// Two values in a body cannot be made equal.
    Unification { left: String, right: String, location: Option<String> },
    /// An integer result needs more than 61 bits.
    Overflow { operation: String, location: Option<String> },
    /// An operation got a value of a wrong type, out of range, or the like.
    Operation { message: String, location: Option<String> },
    /// `call/3` got a goal of which there is no predicate.
    UnknownGoal { goal: String, module: String },
    /// A control stream got something else than suspend, resume or stop.
    Control { message: String },
    /// A pragma names a processing element that does not exist.
    Placement { message: String, location: Option<String> },
    /// The heap, with what else the program made, would need more than the limit; in bytes.
    HeapExhausted {
        needed: usize,
        /// What of it is not in the heap, and what that is.
        others: Vec<(&'static str, usize)>,
        limit: usize,
    },
    /// Something that an operation needs for a moment is larger than the limit of the heap, in bytes.
    MemoryExhausted { what: &'static str, needed: usize, limit: usize },
    /// The system gives no more memory, though the limit would allow it, in bytes.
    NoMemory { needed: usize, available: Option<usize>, limit: usize },
    /// More of something at once than there are numbers for.
    TooMany { message: String },
    /// Ctrl-C came in the middle of an operation.
    Interrupted,
}

/// A problem, and the goals that led to it as far as they are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub kind: ProblemKind,
}

impl Problem {
    pub fn new(kind: ProblemKind) -> Problem {
        Problem { kind }
    }

    /// Whether it ends the engine, not only the metacall in which it happened.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::HeapExhausted { .. }
                | ProblemKind::MemoryExhausted { .. }
                | ProblemKind::NoMemory { .. }
                | ProblemKind::TooMany { .. }
                | ProblemKind::Interrupted
        )
    }
}

struct At<'a>(&'a Option<String>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(location) => write!(f, "{location}: "),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ProblemKind::Reduction { goal, predicate, candidates } => {
                write!(f, "no clause of {predicate} can take the goal\n    {goal}\nits clauses:")?;
                for candidate in candidates {
                    write!(f, "\n    {candidate}")?;
                }
                write!(f, "\nan `otherwise` and a clause after it would take what no other does")
            }
            ProblemKind::Unification { left, right, location } => {
                write!(f, "{}{left} = {right} cannot be made equal", At(location))
            }
            ProblemKind::Overflow { operation, location } => write!(
                f,
                "{}integer overflow: {operation} is not between {} and {}",
                At(location),
                crate::ir::MIN_INTEGER,
                crate::ir::MAX_INTEGER
            ),
            ProblemKind::Operation { message, location } => write!(f, "{}{message}", At(location)),
            ProblemKind::UnknownGoal { goal, module } => write!(
                f,
                "call/3: module {module} has no predicate for the goal {goal}; a goal of another module is written module:goal"
            ),
            ProblemKind::Control { message } => {
                write!(f, "call/3: the control stream has {message}; it takes suspend, resume and stop")
            }
            ProblemKind::Placement { message, location } => write!(f, "{}{message}", At(location)),
            ProblemKind::HeapExhausted { needed, others, limit } => {
                write!(f, "the heap is exhausted: {needed} bytes are needed and the limit is {limit}")?;
                for (index, (what, bytes)) in others.iter().enumerate() {
                    write!(f, "{}{bytes} of them for {what}", if index == 0 { " (" } else { ", " })?;
                }
                if !others.is_empty() {
                    write!(f, ")")?;
                }
                write!(f, "; raise it with --heap, or let the program hold less at once")
            }
            ProblemKind::MemoryExhausted { what, needed, limit } => write!(
                f,
                "the heap is exhausted: {what} needs {needed} bytes and the limit is {limit}; raise it with --heap, or let \
                 the program make smaller values"
            ),
            ProblemKind::NoMemory { needed, available, limit } => {
                write!(f, "the system has no memory for the heap: {needed} bytes are needed")?;
                if let Some(available) = available {
                    write!(f, " and {available} are available")?;
                }
                write!(
                    f,
                    ", below the limit of {limit}; end other programs, use fewer PEs, or let the program hold less at once"
                )
            }
            ProblemKind::TooMany { message } => write!(f, "{message}"),
            ProblemKind::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for Problem {}

impl Engine {
    /// Where the instruction stands that the interpreter left at.
    pub(crate) fn location(&self) -> Option<String> {
        let span = (*self.code.spans.get(self.registers.at as usize)?)?;
        let source = self.program.sources.get(span.source as usize)?;
        let (line, column) = source.line_and_column(span.start);
        Some(format!("{}:{line}:{column}", source.name))
    }

    pub(crate) fn raise(&mut self, kind: ProblemKind) -> Exit {
        self.registers.noted_count = 0;
        // What ended an operation before it had an answer stays the reason.
        if !self.has_problem() {
            self.problem = Some(Box::new(Problem::new(kind)));
        }
        Exit::Problem
    }

    /// A wrong type, a value out of range and the like.
    pub(crate) fn raise_operation(&mut self, message: String) -> Answer {
        let location = self.location();
        self.raise(ProblemKind::Operation { message, location });
        Answer::Problem
    }

    pub(crate) fn overflow(&mut self, operation: BinaryOperation, left: Word, right: Word) -> Exit {
        let kind = ProblemKind::Overflow {
            operation: format!("{} {} {}", self.text(left, true), operation.name(), self.text(right, true)),
            location: self.location(),
        };
        self.raise(kind)
    }

    /// Whether there is something to report that ends the slice.
    pub fn has_problem(&self) -> bool {
        self.problem.is_some()
    }

    pub(crate) fn unification_failed(&mut self, left: Word, right: Word) -> Exit {
        if self.has_problem() {
            return Exit::Problem;
        }
        let kind = ProblemKind::Unification {
            left: self.text(left, true),
            right: self.text(right, true),
            location: self.location(),
        };
        self.raise(kind)
    }

    /// No clause takes the goal in registers 0 and up.
    pub(crate) fn reduction_failed(&mut self, predicate: u32) -> Exit {
        let id = PredicateId(predicate);
        let program = self.program.clone();
        let entry = program.predicate(id);
        // SAFETY: guards write to registers behind the arguments only, which are still in the first ones.
        let arguments: Vec<Word> = (0..entry.arity).map(|index| unsafe { *self.registers.x.add(index) }).collect();
        let mut candidates: Vec<String> = entry
            .clauses
            .iter()
            .take(MAX_CANDIDATES)
            .map(|clause| {
                let printer = ClausePrinter::new(&program, clause);
                let source = program.sources.get(clause.span.source as usize);
                let location = source.map_or_else(String::new, |source| {
                    format!("{}:{}: ", source.name, source.line_and_column(clause.span.start).0)
                });
                let head: Vec<String> = clause.head.iter().map(|term| printer.term(term).to_string()).collect();
                let guard: Vec<String> = clause.guard.iter().map(|goal| printer.guard(goal).to_string()).collect();
                let name = crate::ir::quote_atom(program.atoms.name(entry.name));
                let head = if head.is_empty() { name } else { format!("{name}({})", head.join(", ")) };
                let guard = if guard.is_empty() { "true".to_string() } else { guard.join(", ") };
                format!("{location}{head} :- {guard} | ...")
            })
            .collect();
        if entry.clauses.len() > MAX_CANDIDATES {
            candidates.push(format!("and {} more", entry.clauses.len() - MAX_CANDIDATES));
        }
        let kind = ProblemKind::Reduction {
            goal: self.goal_text(predicate, &arguments),
            predicate: program.indicator(id),
            candidates,
        };
        self.raise(kind)
    }
}
