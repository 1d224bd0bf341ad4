//! A third meaning of programs, to hold interpreter and native code to: an evaluator straight over the normal form.
//!
//! It is slow and small. Values are trees, goals wait in one row and are asked again whenever something was bound, clauses
//! are tried one after the other. It has no compiler, no registers, no heap and no schedule in common with the engine; only
//! parser, checker and `ir` are shared.
//!
//! Flat GHC may choose among clauses, so answers can depend on the order of goals. The evaluator says so ([`Unfit`]): a
//! commitment is beyond doubt where every other clause fails for good. If all are, every order of goals makes the same
//! commitments, for what a clause has failed on stays, and answers, counts and what waits for ever must be the same.

// Every program that has this module uses a part of it.
#![allow(dead_code)]

mod arithmetic;
mod body;
pub mod campaign;
pub mod compare;
pub mod generate;
mod guard;
#[path = "../common/pes.rs"]
pub mod pes;
pub mod shrink;
pub mod value;

use std::collections::VecDeque;

use weft_fghc::builtins::BodyBuiltin;
use weft_fghc::ir::{AtomId, BinaryOperation, Number, Origin, PredicateId, Program, Separator, UnaryOperation, atoms};

use guard::{Attempt, Environment, attempt};
use value::{Store, Value};

/// Why a program says nothing about an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unfit {
    /// Clauses could be chosen in more than one way.
    SeveralClauses,
    /// Whether a clause fails or waits depends on which of its tests is made first.
    OrderOfTests,
    /// A metacall failed in the middle of its work.
    FailedMidway,
    /// An integer overflows in a guard that need not be tried.
    Overflow,
    /// A term would contain itself.
    Cyclic,
    /// A float is no number.
    NotANumber,
    /// More reductions or larger values than are waited for.
    TooLong,
    /// The front end refuses it.
    Refused,
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Finished,
    /// Predicates of the goals that wait, in alphabetical order.
    Suspended(Vec<String>),
    Failed,
}

/// What a run must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub end: End,
    /// Of the variables of the start goal, as text. Those of a failed run depend on when it failed.
    pub answers: Vec<String>,
    /// What was written, line by line, in alphabetical order.
    pub written: Vec<String>,
    pub reductions: u64,
    /// Commitments by predicate.
    pub counts: Vec<u64>,
}

/// An expression with its variables' values.
enum Formula {
    Value(Value),
    Unary(Number, UnaryOperation, Box<Formula>),
    Binary(Number, BinaryOperation, Box<(Formula, Formula)>),
}

enum Work {
    Call(PredicateId, Vec<Value>),
    Assign(Value, Number, Formula),
    Builtin(BodyBuiltin, Vec<Value>),
    /// A call that waits for what its pragma says: PE and priority.
    Placed(PredicateId, Vec<Value>, Option<Formula>, Option<Formula>),
    /// `call/3` of a term, with the module in which it is looked up.
    Metacall(Value, AtomId, Value, Value),
}

struct Goal {
    node: usize,
    work: Work,
    /// Bindings when it was asked last and had to wait.
    asked: Option<u64>,
}

/// A metacall, or the root.
struct Node {
    parent: usize,
    result: Option<Value>,
    /// Goals and nodes below that have not ended.
    alive: usize,
    ended: bool,
    commitments: u64,
    started: u64,
}

/// What a goal says when it is asked.
enum Step {
    Done,
    Waits,
    Fails,
}

/// A run under way.
pub struct Evaluator<'p> {
    store: Store<'p>,
    goals: VecDeque<Goal>,
    nodes: Vec<Node>,
    counts: Vec<u64>,
    written: Vec<String>,
    pes: i64,
    limit: u64,
    failed: bool,
}

/// Longest answer that is compared, in bytes.
const LONGEST: usize = 1200;

/// Runs a start goal, a predicate of one clause, on a machine of so many PEs, for at most so many reductions.
pub fn evaluate(program: &Program, start: PredicateId, pes: usize, limit: u64) -> Result<Outcome, Unfit> {
    let mut evaluator = Evaluator {
        store: Store::new(program),
        goals: VecDeque::new(),
        nodes: vec![Node { parent: 0, result: None, alive: 0, ended: false, commitments: 0, started: 0 }],
        counts: vec![0; program.predicates.len()],
        written: Vec::new(),
        pes: pes as i64,
        limit,
        failed: false,
    };
    let arguments: Vec<Value> = (0..program.predicate(start).arity).map(|_| evaluator.store.fresh()).collect();
    evaluator.add(0, Work::Call(start, arguments.clone()));
    evaluator.run()?;
    let end = evaluator.end()?;
    let mut met = Vec::new();
    let answers: Vec<String> =
        arguments.iter().map(|argument| evaluator.store.text(argument, true, &mut met)).collect();
    if answers.iter().any(|answer| answer.len() > LONGEST) || evaluator.store.is_spent() {
        return Err(Unfit::TooLong);
    }
    let mut written = evaluator.written;
    written.sort();
    let reductions = evaluator.counts.iter().sum();
    Ok(Outcome { end, answers, written, reductions, counts: evaluator.counts })
}

impl Evaluator<'_> {
    fn add(&mut self, node: usize, work: Work) {
        self.nodes[node].alive += 1;
        self.nodes[node].started += 1;
        self.goals.push_back(Goal { node, work, asked: None });
    }

    fn run(&mut self) -> Result<(), Unfit> {
        // Goals in a row that had to wait since the last that had not.
        let mut idle = 0;
        while !self.failed && idle < self.goals.len() {
            if self.store.is_spent() {
                return Err(Unfit::TooLong);
            }
            let Some(mut goal) = self.goals.pop_front() else { break };
            if self.nodes[goal.node].ended {
                continue;
            }
            if goal.asked == Some(self.store.bound) {
                idle += 1;
                self.goals.push_back(goal);
                continue;
            }
            match self.step(&goal)? {
                Step::Done => {
                    idle = 0;
                    self.leave(goal.node)?;
                }
                Step::Waits => {
                    idle += 1;
                    goal.asked = Some(self.store.bound);
                    self.goals.push_back(goal);
                }
                Step::Fails => {
                    idle = 0;
                    self.fail(goal.node)?;
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, goal: &Goal) -> Result<Step, Unfit> {
        match &goal.work {
            Work::Call(predicate, arguments) => self.call(goal.node, *predicate, arguments),
            work => self.other(goal.node, work),
        }
    }

    /// A goal of a predicate: the clause that takes it, if there is one, and only one.
    fn call(&mut self, node: usize, predicate: PredicateId, arguments: &[Value]) -> Result<Step, Unfit> {
        let program = self.store.program;
        let entry = program.predicate(predicate);
        let mut waits = false;
        for (number, group) in entry.groups.iter().enumerate() {
            if waits && group.separator == Some(Separator::Otherwise) {
                return Ok(Step::Waits);
            }
            for index in group.clauses.clone() {
                match attempt(&mut self.store, &entry.clauses[index], arguments)? {
                    Attempt::Fails => {}
                    Attempt::Waits { .. } => waits = true,
                    Attempt::Overflows if waits => return Err(Unfit::Overflow),
                    Attempt::Overflows => return Ok(Step::Fails),
                    Attempt::Commits(environment) => {
                        self.only(predicate, number, index, arguments)?;
                        self.commit(node, predicate, index, environment)?;
                        return Ok(Step::Done);
                    }
                }
            }
        }
        Ok(if waits { Step::Waits } else { Step::Fails })
    }

    /// Whether no clause but `chosen` of the group `number` can ever take the goal before it.
    fn only(&mut self, predicate: PredicateId, number: usize, chosen: usize, arguments: &[Value]) -> Result<(), Unfit> {
        let entry = self.store.program.predicate(predicate);
        for (other, group) in entry.groups.iter().enumerate() {
            // Beyond an `otherwise` after it nobody looks while it can be taken.
            if other > number && group.separator == Some(Separator::Otherwise) {
                break;
            }
            for index in group.clauses.clone().filter(|index| *index != chosen) {
                match attempt(&mut self.store, &entry.clauses[index], arguments)? {
                    Attempt::Fails | Attempt::Waits { doomed: true } => {}
                    Attempt::Overflows => return Err(Unfit::Overflow),
                    Attempt::Waits { doomed: false } | Attempt::Commits(_) => return Err(Unfit::SeveralClauses),
                }
            }
        }
        Ok(())
    }

    fn commit(
        &mut self,
        node: usize,
        predicate: PredicateId,
        clause: usize,
        environment: Environment,
    ) -> Result<(), Unfit> {
        let entry = self.store.program.predicate(predicate);
        if entry.origin != Origin::Goal {
            self.counts[predicate.0 as usize] += 1;
            self.nodes[node].commitments += 1;
            self.limit = self.limit.checked_sub(1).ok_or(Unfit::TooLong)?;
        }
        self.body(node, &entry.clauses[clause], environment)
    }

    /// One goal, or one node below, has ended.
    fn leave(&mut self, node: usize) -> Result<(), Unfit> {
        self.nodes[node].alive -= 1;
        if self.nodes[node].alive > 0 || self.nodes[node].ended {
            return Ok(());
        }
        self.close(node, atoms::SUCCESS)
    }

    /// A node ends, and its parent hears how.
    fn close(&mut self, node: usize, result: AtomId) -> Result<(), Unfit> {
        self.end_below(node);
        let parent = self.nodes[node].parent;
        if node == 0 {
            return Ok(());
        }
        if let Some(wanted) = self.nodes[node].result.clone()
            && !self.store.unify(&wanted, &Value::Atom(result))?
        {
            return self.fail(parent);
        }
        self.leave(parent)
    }

    fn end_below(&mut self, node: usize) {
        self.nodes[node].ended = true;
        for below in node + 1..self.nodes.len() {
            if self.nodes[below].parent == node && !self.nodes[below].ended {
                self.end_below(below);
            }
        }
    }

    fn fail(&mut self, node: usize) -> Result<(), Unfit> {
        if node == 0 {
            self.failed = true;
            return Ok(());
        }
        // What a metacall has done before it failed depends on the order of its goals.
        if self.nodes[node].commitments > 0 || self.nodes[node].started > 1 {
            return Err(Unfit::FailedMidway);
        }
        self.close(node, atoms::FAILURE)
    }

    /// How it ended, and whether it had to end so.
    fn end(&mut self) -> Result<End, Unfit> {
        if self.failed {
            return Ok(End::Failed);
        }
        let goals: Vec<Goal> = self.goals.drain(..).filter(|goal| !self.nodes[goal.node].ended).collect();
        let mut waiting = Vec::new();
        for goal in &goals {
            if let Work::Call(predicate, arguments) = &goal.work {
                self.must_wait(*predicate, arguments)?;
                let entry = self.store.program.predicate(*predicate);
                waiting.push(self.store.program.atoms.name(entry.name).to_string());
            }
        }
        waiting.sort();
        Ok(if self.nodes[0].ended { End::Finished } else { End::Suspended(waiting) })
    }

    /// A goal waits for ever: not if an engine that makes its tests in another order finds that it fails, or that a clause
    /// after `otherwise` takes it.
    fn must_wait(&mut self, predicate: PredicateId, arguments: &[Value]) -> Result<(), Unfit> {
        let entry = self.store.program.predicate(predicate);
        for clause in &entry.clauses {
            match attempt(&mut self.store, clause, arguments)? {
                Attempt::Waits { doomed: false } => return Ok(()),
                Attempt::Commits(_) | Attempt::Overflows => return Err(Unfit::OrderOfTests),
                Attempt::Fails | Attempt::Waits { doomed: true } => {}
            }
        }
        Err(Unfit::OrderOfTests)
    }
}
