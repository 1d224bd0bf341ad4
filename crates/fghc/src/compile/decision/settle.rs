//! Tests whose answers are known already: what a state knows settles them.

use super::calculation::question;
use super::{Fact, Pending, State, Status, Tree};
use crate::compile::clause::{Item, Shape, Value, ValueId};
use crate::engine::instruction::Type;
use crate::heap::Word;
use crate::heap::word::Kind;

impl Tree<'_> {
    /// Removes tests that are known to hold and clauses that are known not to be possible.
    pub(super) fn settle(&self, state: &mut State) {
        let clauses = std::mem::take(&mut state.clauses);
        for (index, mut pending) in clauses {
            if self.settle_clause(state, index, &mut pending) {
                state.clauses.push((index, pending));
            }
        }
    }

    /// As [`Tree::settle`], for one clause; false when it is not possible.
    pub(super) fn settle_clause(&self, state: &State, index: usize, pending: &mut Pending) -> bool {
        let items = &self.prepared[index].items;
        let mut from = 0;
        loop {
            let mut possible = true;
            let mut number = 0;
            pending.first.retain(|&item| {
                number += 1;
                if number <= from {
                    return true;
                }
                match self.status(state, &items[item as usize]) {
                    Status::True => false,
                    Status::False => {
                        possible = false;
                        true
                    }
                    Status::Unknown => true,
                }
            });
            if !possible {
                return false;
            }
            from = pending.first.len();
            if !pending.refill(items.len()) {
                return true;
            }
        }
    }

    pub(super) fn status(&self, state: &State, item: &Item) -> Status {
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

    pub(super) fn shape_status(&self, state: &State, value: ValueId, shape: Shape) -> Status {
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

    pub(super) fn type_status(&self, state: &State, value: ValueId, kind: Type) -> Status {
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
