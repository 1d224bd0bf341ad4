//! From the tests of all clauses of a predicate to one tree of tests.
//!
//! A state is the clauses that are still possible, each with the tests still to be made, and what is known of values.
//! The first test of the first clause is made next; its answer settles the same question for every other clause. So a
//! predicate that looks at its first argument in every clause looks once, whichever argument that is, and
//! `T =\= P + D` and `T =:= P + D` in two clauses are one comparison. Equal states are made once.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::engine::instruction::{Code, Guard, Instruction, Label, NOWHERE, Register, Table, Type};
use crate::heap::Word;
use crate::heap::word::Kind;
use crate::ir::{Predicate, Separator, Span};

use super::body;
use super::clause::{Item, Prepared, Shape, Value, ValueId, Values};
use super::constants::Constants;

mod calculation;

use calculation::question;

/// A predicate with more blocks than this goes on without what was learnt, so that code stays small.
const MAX_BLOCKS: usize = 400;
/// From so many different constructors on, a table is used.
const TABLE_FROM: usize = 4;

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
    clauses: Vec<(usize, Vec<u16>)>,
    pub facts: BTreeMap<ValueId, Fact>,
    answers: BTreeMap<Question, bool>,
    pub registers: BTreeMap<ValueId, Register>,
    pub next: Register,
    /// A variable may have been noted.
    dirty: bool,
    group: usize,
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
        let mut registers = BTreeMap::new();
        for (number, value) in self.values.list.iter().enumerate() {
            if let Value::Argument(argument) = value {
                registers.insert(number as ValueId, *argument);
            }
        }
        State {
            clauses: self
                .prepared
                .iter()
                .enumerate()
                .map(|(index, prepared)| (index, (0..prepared.items.len() as u16).collect()))
                .collect(),
            facts: BTreeMap::new(),
            answers: BTreeMap::new(),
            registers,
            next: self.predicate.arity as Register,
            dirty: false,
            group: 0,
        }
    }

    /// The block for a state.
    fn block(&mut self, mut state: State) -> Label {
        self.settle(&mut state);
        if self.blocks.len() > MAX_BLOCKS {
            self.forget(&mut state);
        }
        if let Some(&label) = self.known.get(&state) {
            return label;
        }
        let label = self.blocks.len() as Label;
        self.blocks.push(Block::default());
        self.known.insert(state.clone(), label);
        self.waiting.push((state, label));
        label
    }

    /// Keeps nothing but which clauses are possible.
    fn forget(&self, state: &mut State) {
        let fresh = self.start();
        state.facts.clear();
        state.answers.clear();
        state.registers = fresh.registers;
        state.next = fresh.next;
        for (index, pending) in &mut state.clauses {
            *pending = (0..self.prepared[*index].items.len() as u16).collect();
        }
    }

    /// Removes tests that are known to hold and clauses that are known not to be possible.
    fn settle(&self, state: &mut State) {
        let clauses = std::mem::take(&mut state.clauses);
        for (index, mut pending) in clauses {
            let items = &self.prepared[index].items;
            let mut possible = true;
            pending.retain(|&item| match self.status(state, &items[item as usize]) {
                Status::True => false,
                Status::False => {
                    possible = false;
                    true
                }
                Status::Unknown => true,
            });
            if possible {
                state.clauses.push((index, pending));
            }
        }
    }

    fn status(&self, state: &State, item: &Item) -> Status {
        match item {
            Item::Shape(value, shape) => self.shape_status(state, *value, *shape),
            Item::Type(kind, value) => self.type_status(state, *value, *kind),
            Item::Compute(value) => match state.facts.get(value) {
                Some(Fact::Undecided | Fact::Failed) => Status::False,
                _ if state.registers.contains_key(value) => Status::True,
                _ => Status::Unknown,
            },
            Item::Compare(number, comparison, left, right) => {
                let (question, same) = question(*number, *comparison, *left, *right);
                match state.answers.get(&question) {
                    Some(answer) if *answer == same => Status::True,
                    Some(_) => Status::False,
                    None => Status::Unknown,
                }
            }
            Item::Same(left, right) if left == right => Status::True,
            Item::Same(..) | Item::Builtin(..) => Status::Unknown,
        }
    }

    fn shape_status(&self, state: &State, value: ValueId, shape: Shape) -> Status {
        let known = match (&self.values.list[value as usize], shape) {
            (Value::Constant(word), Shape::Constant(bits)) => Some(word.0 == bits),
            (Value::Constant(_) | Value::Boxed(_), _) => Some(false),
            _ => None,
        };
        match (known, state.facts.get(&value)) {
            (Some(true), _) => Status::True,
            (Some(false), _) => Status::False,
            (None, Some(Fact::Shape(known))) if *known == shape => Status::True,
            // Two different boxed constants may still be equal floats; all other shapes exclude each other.
            (None, Some(Fact::Shape(Shape::Boxed(_)))) if matches!(shape, Shape::Boxed(_)) => Status::Unknown,
            (None, Some(Fact::Shape(_))) => Status::False,
            (None, Some(Fact::Not(shapes))) if shapes.contains(&shape) => Status::False,
            (None, Some(Fact::Undecided | Fact::Failed)) => Status::False,
            (None, Some(Fact::Type(kind))) if !may_have(*kind, shape) => Status::False,
            _ => Status::Unknown,
        }
    }

    fn type_status(&self, state: &State, value: ValueId, kind: Type) -> Status {
        if let Value::Constant(word) = &self.values.list[value as usize] {
            return if has_type(Shape::Constant(word.0), kind) == Some(true) { Status::True } else { Status::False };
        }
        match state.facts.get(&value) {
            Some(Fact::Shape(shape)) => match has_type(*shape, kind) {
                Some(true) => Status::True,
                Some(false) => Status::False,
                None => Status::Unknown,
            },
            Some(Fact::Type(known)) if *known == kind || kind == Type::Any => Status::True,
            Some(Fact::Type(Type::Integer | Type::Atom | Type::Float)) if kind == Type::Atomic => Status::True,
            Some(Fact::Not(_)) if kind == Type::Any => Status::True,
            Some(Fact::Undecided | Fact::Failed) => Status::False,
            _ => Status::Unknown,
        }
    }

    /// Follows one line of tests to its end; what branches off becomes other blocks.
    fn generate(&mut self, mut state: State, block: &mut Block) {
        loop {
            self.settle(&mut state);
            let Some((index, pending)) = state.clauses.first().cloned() else {
                block.push(Instruction::Suspend { predicate: self.number }, None);
                return;
            };
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
            let Some(&item) = pending.first() else {
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
                pending.retain(|&other| other != item);
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

    fn make_shape(&mut self, state: &mut State, value: ValueId, first: Shape, block: &mut Block) -> bool {
        let register = self.load(state, value, block);
        let bound = self.is_bound(state, value);
        let mut excluded = match state.facts.get(&value) {
            Some(Fact::Not(shapes)) => shapes.clone(),
            _ => Vec::new(),
        };
        let mut shapes: Vec<Shape> = Vec::new();
        for (index, pending) in &state.clauses {
            for item in pending {
                if let Item::Shape(other, shape) = &self.prepared[*index].items[*item as usize]
                    && *other == value
                    && !shapes.contains(shape)
                    && matches!(self.shape_status(state, value, *shape), Status::Unknown)
                {
                    shapes.push(*shape);
                }
            }
        }
        let unbound = if bound {
            NOWHERE
        } else {
            let mut next = state.clone();
            next.dirty = true;
            next.facts.insert(value, Fact::Undecided);
            self.block(next)
        };
        let known = |next: &mut State, shape: Shape| {
            next.facts.insert(value, Fact::Shape(shape));
        };
        if shapes.len() >= TABLE_FROM && !shapes.iter().any(|shape| matches!(shape, Shape::Boxed(_))) {
            let mut table = Table {
                unbound,
                other: NOWHERE,
                list: NOWHERE,
                constants: FxHashMap::default(),
                headers: FxHashMap::default(),
            };
            for shape in &shapes {
                let mut next = state.clone();
                known(&mut next, *shape);
                let label = self.block(next);
                match shape {
                    Shape::List => table.list = label,
                    Shape::Constant(bits) => {
                        table.constants.insert(Word(*bits), label);
                    }
                    Shape::Header(bits) => {
                        table.headers.insert(Word(*bits), label);
                    }
                    Shape::Boxed(_) => {}
                }
            }
            excluded.extend(&shapes);
            excluded.sort();
            let mut next = state.clone();
            next.facts.insert(value, Fact::Not(excluded));
            table.other = self.block(next);
            if table.list == NOWHERE {
                table.list = table.other;
            }
            self.code.tables.push(table);
            block.push(Instruction::Switch { register, table: self.code.tables.len() as u32 - 1 }, None);
            return false;
        }
        excluded.push(first);
        excluded.sort();
        let mut next = state.clone();
        next.facts.insert(value, Fact::Not(excluded));
        let other = self.block(next);
        block.push(
            match first {
                Shape::List => Instruction::List { register, unbound, other },
                Shape::Constant(bits) => {
                    Instruction::Constant { register, constant: self.constants.index(Word(bits)), unbound, other }
                }
                Shape::Header(bits) => {
                    Instruction::Header { register, header: self.constants.index(Word(bits)), unbound, other }
                }
                Shape::Boxed(constant) => Instruction::Boxed { register, constant, unbound, other },
            },
            None,
        );
        known(state, first);
        true
    }

    fn new_register(&mut self, state: &mut State) -> Register {
        let register = state.next;
        state.next += 1;
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

fn may_have(kind: Type, shape: Shape) -> bool {
    has_type(shape, kind) != Some(false)
}

/// Whether what has this shape is of this type; `None` where the shape does not say.
fn has_type(shape: Shape, kind: Type) -> Option<bool> {
    Some(match (kind, shape) {
        (Type::Any, _) => true,
        (_, Shape::Boxed(_)) => return None,
        (Type::List, shape) => shape == Shape::List,
        (Type::Integer, Shape::Constant(bits)) => Word(bits).is_integer(),
        (Type::Atom, Shape::Constant(bits)) => Word(bits).is_atom(),
        (Type::Atomic, Shape::Constant(_)) => true,
        (Type::Structure, Shape::Header(bits)) => Kind::of(Word(bits)) == Kind::Structure,
        (Type::Vector, Shape::Header(bits)) => Kind::of(Word(bits)) == Kind::Vector,
        _ => false,
    })
}
