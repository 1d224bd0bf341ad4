//! Tests of what a value is: one after the other, or by a table.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Block, Fact, MANY_SHAPES, Pending, State, Status, TABLE_FROM, Then, Tree};
use crate::compile::clause::{Item, Shape, ValueId};
use crate::engine::instruction::{Instruction, Label, NOWHERE, Table};
use crate::heap::Word;

impl Tree<'_> {
    pub(super) fn make_shape(&mut self, state: &mut State, value: ValueId, first: Shape, block: &mut Block) -> bool {
        let register = self.load(state, value, block);
        let bound = self.is_bound(state, value);
        let mut excluded = match state.facts.get(&value) {
            Some(Fact::Not(shapes)) => shapes.clone(),
            _ => Vec::new(),
        };
        let asked = self.asked(state, value);
        let mut shapes: Vec<Shape> = Vec::new();
        let mut seen = FxHashSet::default();
        shapes.extend(asked.iter().flatten().copied().filter(|shape| seen.insert(*shape)));
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
            let rows = self.rows(state, value, &asked);
            for shape in &shapes {
                let mut next = rows.state(state, shape);
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
            table.other = self.without_shapes(state, value, excluded);
            if table.list == NOWHERE {
                table.list = table.other;
            }
            self.code.tables.push(table);
            block.push(Instruction::Switch { register, table: self.code.tables.len() as u32 - 1 }, None);
            return false;
        }
        excluded.push(first);
        let other = self.without_shapes(state, value, excluded);
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

    /// Branches to where a value has none of these shapes.
    pub(super) fn without_shapes(&mut self, state: &State, value: ValueId, mut excluded: Vec<Shape>) -> Label {
        excluded.sort();
        let is_long = excluded.len() > MANY_SHAPES;
        let mut next = state.clone();
        next.facts.insert(value, Fact::Not(excluded));
        if is_long {
            // The clauses that ask for one of them go now, and nobody else will want to know.
            self.settle(&mut next);
            next.facts.insert(value, Fact::Not(Vec::new()));
        }
        self.block(next)
    }

    /// For each clause the shapes that it asks of a value, as far as that is open.
    fn asked(&self, state: &State, value: ValueId) -> Vec<Vec<Shape>> {
        let of = |(index, pending): &(usize, Pending)| {
            let items = pending.first.iter().map(|&item| &self.prepared[*index].items[item as usize]);
            items
                .filter_map(|item| match item {
                    Item::Shape(other, shape)
                        if *other == value && matches!(self.shape_status(state, value, *shape), Status::Unknown) =>
                    {
                        Some(*shape)
                    }
                    _ => None,
                })
                .collect()
        };
        state.clauses.iter().map(of).collect()
    }

    /// Which clauses are left for each shape of a value. Those that ask nothing of it are left for every shape; where that
    /// would be much, they are tried after those that do instead, which is as good: the first that can commit may.
    fn rows(&mut self, state: &State, value: ValueId, asked: &[Vec<Shape>]) -> Rows {
        let mut rows = Rows { by_shape: FxHashMap::default(), open: Vec::new(), then: state.then };
        for (row, shapes) in asked.iter().enumerate() {
            match shapes.first() {
                Some(shape) => rows.by_shape.entry(*shape).or_default().push(row),
                None => rows.open.push(row),
            }
        }
        if rows.open.len().saturating_mul(rows.by_shape.len()) <= self.pairs {
            return rows;
        }
        // Clauses behind `otherwise` or `alternatively` come after all before it.
        let group = self.prepared[state.clauses[0].0].group;
        let is_first = |&row: &usize| self.prepared[state.clauses[row].0].group == group;
        let after = |tree: &mut Self, row_indices: Vec<usize>, then: Then| {
            let mut next = State { clauses: Vec::new(), then, dirty: true, ..state.clone() };
            next.clauses = row_indices.iter().map(|&row| state.clauses[row].clone()).collect();
            next.facts.insert(value, Fact::Not(Vec::new()));
            Then::Block(tree.block(next))
        };
        let later: Vec<usize> = (0..state.clauses.len()).filter(|row| !is_first(row)).collect();
        let open: Vec<usize> = std::mem::take(&mut rows.open).into_iter().filter(is_first).collect();
        rows.by_shape.values_mut().for_each(|row_indices| row_indices.retain(is_first));
        if !later.is_empty() {
            rows.then = after(self, later, rows.then);
        }
        rows.then = after(self, open, rows.then);
        rows
    }
}

/// Places of clauses of a state by the shape that they ask of a value.
struct Rows {
    by_shape: FxHashMap<Shape, Vec<usize>>,
    /// Those that ask for none.
    open: Vec<usize>,
    then: Then,
}

impl Rows {
    /// The state for one shape.
    fn state(&self, state: &State, shape: &Shape) -> State {
        let asking = self.by_shape.get(shape).map_or(&[][..], Vec::as_slice);
        let mut row_indices: Vec<usize> = asking.iter().chain(&self.open).copied().collect();
        row_indices.sort_unstable();
        State {
            clauses: row_indices.into_iter().map(|row| state.clauses[row].clone()).collect(),
            facts: state.facts.clone(),
            answers: state.answers.clone(),
            registers: state.registers.clone(),
            then: self.then,
            ..*state
        }
    }
}
