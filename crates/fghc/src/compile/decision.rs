//! From the tests of all clauses of a predicate to one tree of tests.
//!
//! A state is the clauses that are still possible, each with the tests still to be made, and what is known of values.
//! The first test of the first clause is made next; its answer settles the same question for every other clause. So a
//! predicate that looks at its first argument in every clause looks once, whichever argument that is, and
//! `T =\= P + D` and `T =:= P + D` in two clauses are one comparison. Equal states are made once.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::engine::instruction::{Code, Guard, Instruction, Label, NOWHERE, Register, Type};
use crate::heap::Word;
use crate::ir::{Predicate, Separator, Span};

use super::Limits;
use super::clause::{Item, Prepared, Shape, Value, ValueId, Values};
use super::constants::Constants;

pub(super) mod body;
mod calculation;
mod settle;
mod shapes;

/// A predicate with more blocks than this goes on without what was learnt, so that code stays small.
const MAX_BLOCKS: usize = 400;
/// From so many different constructors on, a table is used.
const TABLE_FROM: usize = 4;
/// Tests of a clause that are looked at together.
const LOOKED_AT: usize = 128;
/// Where a predicate has become too much work, clauses are tried so many at a time.
const CHUNK: usize = 16;
/// Work, in clauses and facts of states, that a predicate may be for each of its tests.
const WORK_OF_A_TEST: usize = 64;
/// What a value is known not to be is forgotten when it is more than this.
const MANY_SHAPES: usize = 64;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fact {
    /// It has this shape.
    Shape(Shape),
    /// It is bound, and has none of these shapes.
    Not(Vec<Shape>),
    /// It is of this type.
    Type(Type),
    /// It is unbound, or what it is calculated from is.
    Undecided,
    /// It cannot be calculated.
    Failed,
}

/// A question about two values: whether floats are meant, whether it is about less (or equal), and the values.
type Question = (bool, bool, ValueId, ValueId);

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Index of a prepared clause and of its tests still to be made.
    clauses: Vec<(usize, Pending)>,
    pub facts: BTreeMap<ValueId, Fact>,
    answers: BTreeMap<Question, bool>,
    pub registers: BTreeMap<ValueId, Register>,
    pub next: Register,
    /// A variable may have been noted.
    dirty: bool,
    group: usize,
    /// Where it goes on when none of its clauses is possible.
    then: Then,
}

/// What comes when no clause of a state is left.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Then {
    /// The goal waits, or fails.
    Suspend,
    /// Other clauses are tried.
    Block(Label),
    /// The clauses of a list are tried, from this one on.
    List(usize, usize),
}

/// Tests of a clause that are still to be made, in their order. Only the first are looked at to see what is settled
/// already: a clause may have as many as there are elements in a list.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Pending {
    first: Vec<u32>,
    /// All from this one on follow.
    rest: u32,
}

impl Pending {
    fn all(count: usize) -> Pending {
        let mut pending = Pending { first: Vec::new(), rest: 0 };
        pending.refill(count);
        pending
    }

    /// Looks at more tests, of `count` in all; false where there are none.
    fn refill(&mut self, count: usize) -> bool {
        let more = (count - self.rest as usize).min(LOOKED_AT.saturating_sub(self.first.len()));
        self.first.extend(self.rest..self.rest + more as u32);
        self.rest += more as u32;
        more > 0
    }
}

enum Status {
    True,
    False,
    Unknown,
}

/// A stretch of instructions; labels are numbers of blocks until all are placed.
#[derive(Default)]
pub struct Block {
    pub code: Vec<Instruction>,
    pub spans: Vec<Option<Span>>,
}

impl Block {
    pub fn push(&mut self, instruction: Instruction, span: Option<Span>) {
        self.code.push(instruction);
        self.spans.push(span);
    }
}

/// Makes the code of one predicate.
pub struct Tree<'a> {
    pub predicate: &'a Predicate,
    pub number: u32,
    pub prepared: &'a [Prepared],
    pub values: &'a Values,
    pub constants: &'a mut Constants,
    pub code: &'a mut Code,
    /// Whether commitments are counted by predicate.
    pub counting: bool,
    pub blocks: Vec<Block>,
    known: FxHashMap<State, Label>,
    waiting: Vec<(State, Label)>,
    /// Clauses and facts of all states so far, and how many there may be before less is remembered.
    work: usize,
    allowed: usize,
    /// See [`Limits::pairs`].
    pairs: usize,
    /// Clauses that are tried one after the other, and what comes then.
    lists: Vec<(Rc<[usize]>, Then)>,
    list_numbers: FxHashMap<(Rc<[usize]>, Then), usize>,
    /// The block in which the goal waits or fails.
    end: Option<Label>,
    /// Registers used so far.
    pub registers: usize,
}

impl<'a> Tree<'a> {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        predicate: &'a Predicate,
        number: u32,
        prepared: &'a [Prepared],
        values: &'a Values,
        constants: &'a mut Constants,
        code: &'a mut Code,
        counting: bool,
        limits: Limits,
    ) -> Self {
        Tree {
            predicate,
            number,
            prepared,
            values,
            constants,
            code,
            counting,
            blocks: Vec::new(),
            known: FxHashMap::default(),
            waiting: Vec::new(),
            work: 0,
            allowed: match limits.work {
                0 => 0,
                work => work + WORK_OF_A_TEST * prepared.iter().map(|prepared| 1 + prepared.items.len()).sum::<usize>(),
            },
            pairs: limits.pairs,
            lists: Vec::new(),
            list_numbers: FxHashMap::default(),
            end: None,
            registers: predicate.arity,
        }
    }

    /// Makes all blocks; the first is where the predicate begins.
    pub fn make(&mut self) {
        let start = self.start();
        self.block(start);
        while let Some((state, label)) = self.waiting.pop() {
            let mut block = Block::default();
            self.generate(state, &mut block);
            self.blocks[label as usize] = block;
        }
    }

    fn start(&self) -> State {
        let all: Vec<usize> = (0..self.prepared.len()).collect();
        self.fresh_state(&all, false, 0, Then::Suspend)
    }

    /// A state in which nothing is known but which clauses are possible.
    fn fresh_state(&self, clauses: &[usize], dirty: bool, group: usize, then: Then) -> State {
        let all = |&index: &usize| (index, Pending::all(self.prepared[index].items.len()));
        State {
            clauses: clauses.iter().map(all).collect(),
            facts: BTreeMap::new(),
            answers: BTreeMap::new(),
            registers: self.arguments(),
            next: self.predicate.arity as Register,
            dirty,
            group,
            then,
        }
    }

    /// The registers that arguments are in.
    fn arguments(&self) -> BTreeMap<ValueId, Register> {
        // They were numbered first.
        let arguments = self.values.list.iter().take(self.predicate.arity).enumerate();
        arguments
            .filter_map(|(number, value)| match value {
                Value::Argument(argument) => Some((number as ValueId, *argument)),
                _ => None,
            })
            .collect()
    }

    /// Whether the predicate has become so much work that less is remembered.
    fn is_too_much(&self) -> bool {
        self.work > self.allowed
    }

    /// The block for a state.
    fn block(&mut self, mut state: State) -> Label {
        loop {
            self.work += state.clauses.len() + state.facts.len();
            self.settle(&mut state);
            if !state.clauses.is_empty() {
                break;
            }
            match state.then {
                Then::Suspend => return self.end(),
                Then::Block(label) => return label,
                Then::List(list, from) => state = self.chunk(list, from, state.dirty, state.group),
            }
        }
        if self.is_too_much() && state.clauses.len() > CHUNK {
            state = self.in_chunks(&state);
        }
        if self.blocks.len() > MAX_BLOCKS {
            self.forget(&mut state);
        }
        if let Some(&label) = self.known.get(&state) {
            return label;
        }
        let label = self.new_block();
        self.known.insert(state.clone(), label);
        self.waiting.push((state, label));
        label
    }

    fn new_block(&mut self) -> Label {
        self.blocks.push(Block::default());
        self.blocks.len() as Label - 1
    }

    /// The block in which the goal waits, or fails.
    fn end(&mut self) -> Label {
        if let Some(label) = self.end {
            return label;
        }
        let label = self.new_block();
        self.blocks[label as usize].push(Instruction::Suspend { predicate: self.number }, None);
        self.end = Some(label);
        label
    }

    /// The same clauses, a few at a time, of which nothing is known.
    fn in_chunks(&mut self, state: &State) -> State {
        let clauses: Rc<[usize]> = state.clauses.iter().map(|(index, _)| *index).collect();
        let key = (clauses, state.then);
        let list = match self.list_numbers.get(&key) {
            Some(&list) => list,
            None => {
                self.lists.push(key.clone());
                self.list_numbers.insert(key, self.lists.len() - 1);
                self.lists.len() - 1
            }
        };
        self.chunk(list, 0, state.dirty, state.group)
    }

    /// The clauses of a list from one on, as many as are tried together.
    fn chunk(&self, list: usize, from: usize, dirty: bool, group: usize) -> State {
        let (clauses, after) = &self.lists[list];
        let end = (from + CHUNK).min(clauses.len());
        let then = if end < clauses.len() { Then::List(list, end) } else { *after };
        self.fresh_state(&clauses[from..end], dirty, group, then)
    }

    /// Keeps nothing but which clauses are possible.
    fn forget(&self, state: &mut State) {
        state.facts.clear();
        state.answers.clear();
        state.registers = self.arguments();
        state.next = self.predicate.arity as Register;
        for (index, pending) in &mut state.clauses {
            *pending = Pending::all(self.prepared[*index].items.len());
        }
    }

    /// Follows one line of tests to its end; what branches off becomes other blocks.
    fn generate(&mut self, mut state: State, block: &mut Block) {
        loop {
            self.settle(&mut state);
            let Some((index, pending)) = state.clauses.first().cloned() else {
                block.push(
                    match state.then {
                        Then::Suspend => Instruction::Suspend { predicate: self.number },
                        Then::Block(_) | Then::List(..) => Instruction::Jump { to: self.block(state) },
                    },
                    None,
                );
                return;
            };
            self.work += state.clauses.len();
            if self.is_too_much() && state.clauses.len() > CHUNK {
                let to = self.block(state);
                block.push(Instruction::Jump { to }, None);
                return;
            }
            let prepared = &self.prepared[index];
            if self.enters_otherwise(&state, prepared.group) && state.dirty {
                // Whoever gets beyond this has failed every clause before.
                let mut next = state.clone();
                next.dirty = false;
                next.group = prepared.group;
                let label = self.block(next);
                block.push(Instruction::Otherwise { predicate: self.number, to: label }, None);
                return;
            }
            state.group = prepared.group;
            let Some(&item) = pending.first.first() else {
                if state.dirty {
                    block.push(Instruction::Forget, None);
                }
                if self.counting {
                    block.push(Instruction::Count { predicate: self.number }, None);
                }
                body::generate(self, &mut state, prepared, block);
                return;
            };
            if !self.make_test(&mut state, &prepared.items[item as usize].clone(), block) {
                return;
            }
            // The test that was made is settled for this clause, whatever the facts say.
            if let Some((first, pending)) = state.clauses.first_mut()
                && *first == index
            {
                pending.first.retain(|&other| other != item);
            }
        }
    }

    fn enters_otherwise(&self, state: &State, group: usize) -> bool {
        self.predicate.groups[state.group + 1..=group.max(state.group)]
            .iter()
            .any(|group| group.separator == Some(Separator::Otherwise))
    }

    /// Branches away from `state` without its first clause.
    fn without_first(&mut self, state: &State, dirty: bool, learn: impl FnOnce(&mut State)) -> Label {
        if state.clauses.len() == 1 || self.is_too_much() {
            let others: Vec<usize> = state.clauses[1..].iter().map(|(index, _)| *index).collect();
            let next = self.fresh_state(&others, state.dirty | dirty, state.group, state.then);
            return self.block(next);
        }
        let mut next = state.clone();
        next.clauses.remove(0);
        next.dirty |= dirty;
        learn(&mut next);
        self.block(next)
    }

    /// Makes one test; false when the line ends with it.
    fn make_test(&mut self, state: &mut State, item: &Item, block: &mut Block) -> bool {
        match item {
            Item::Shape(value, shape) => return self.make_shape(state, *value, *shape, block),
            Item::Type(kind, value) => {
                let register = self.load(state, *value, block);
                let bound = self.is_bound(state, *value);
                let unbound = if bound {
                    NOWHERE
                } else {
                    self.without_first(state, true, |next| {
                        next.facts.insert(*value, Fact::Undecided);
                    })
                };
                let other = if *kind == Type::Any {
                    NOWHERE
                } else {
                    self.without_first(state, false, |next| {
                        next.facts.entry(*value).or_insert(Fact::Not(Vec::new()));
                    })
                };
                block.push(Instruction::Type { kind: *kind, register, unbound, other }, None);
                let fact = if *kind == Type::Any { Fact::Not(Vec::new()) } else { Fact::Type(*kind) };
                if !(*kind == Type::Any && bound) {
                    state.facts.insert(*value, fact);
                }
            }
            Item::Compute(value) => self.make_compute(state, *value, block),
            Item::Compare(number, comparison, left, right) => {
                self.make_compare(state, (*number, *comparison, *left, *right), block);
            }
            Item::Same(left, right) => {
                let left = self.load(state, *left, block);
                let right = self.load(state, *right, block);
                let unbound = self.without_first(state, true, |_| {});
                let other = self.without_first(state, false, |_| {});
                block.push(Instruction::Same { left, right, unbound, other }, None);
            }
            Item::Builtin(builtin, inputs) => {
                let inputs = inputs.iter().map(|input| self.load(state, *input, block)).collect();
                let guard = self.guard(Guard::Builtin(*builtin, inputs, Box::default()));
                let unbound = self.without_first(state, true, |_| {});
                let other = self.without_first(state, false, |_| {});
                block.push(Instruction::Guard { guard, unbound, other }, None);
            }
        }
        true
    }

    fn guard(&mut self, guard: Guard) -> u32 {
        self.code.guards.push(guard);
        self.code.guards.len() as u32 - 1
    }

    fn is_bound(&self, state: &State, value: ValueId) -> bool {
        matches!(self.values.list[value as usize], Value::Constant(_) | Value::Boxed(_))
            || matches!(state.facts.get(&value), Some(Fact::Shape(_) | Fact::Not(_) | Fact::Type(_)))
    }

    fn is_integer(&self, state: &State, value: ValueId) -> bool {
        match &self.values.list[value as usize] {
            Value::Constant(word) => word.is_integer(),
            _ => match state.facts.get(&value) {
                Some(Fact::Type(Type::Integer)) => true,
                Some(Fact::Shape(Shape::Constant(bits))) => Word(*bits).is_integer(),
                _ => false,
            },
        }
    }

    fn new_register(&mut self, state: &mut State) -> Register {
        let register = state.next;
        // Where there are too many, that is an error of the whole predicate.
        state.next = state.next.saturating_add(1);
        self.registers = self.registers.max(state.next as usize);
        register
    }

    /// The register that holds a value, loaded if need be.
    pub fn load(&mut self, state: &mut State, value: ValueId, block: &mut Block) -> Register {
        if let Some(&register) = state.registers.get(&value) {
            return register;
        }
        let instruction = match self.values.list[value as usize] {
            Value::Cell(parent, index) => {
                let source = self.load(state, parent, block);
                let target = self.new_register(state);
                Instruction::Cell { target, source, index }
            }
            Value::Constant(word) => {
                let target = self.new_register(state);
                Instruction::Load { target, constant: self.constants.index(word) }
            }
            Value::Boxed(constant) => {
                let target = self.new_register(state);
                Instruction::LoadBoxed { target, constant }
            }
            // Only asked for again where what was learnt is forgotten.
            _ => {
                self.make_compute(state, value, block);
                return state.registers[&value];
            }
        };
        block.push(instruction, None);
        let register = state.next - 1;
        state.registers.insert(value, register);
        register
    }
}
