//! A clause as a list of tests over values, before any code is made.
//!
//! A *value* is an argument, a cell of another value, a constant, or something that a guard calculates. Values are
//! numbered once for a predicate, so that clauses which look at the same place, or calculate the same, share the answer.

use rustc_hash::FxHashMap;

use crate::builtins::{GuardBuiltin, Mode};
use crate::engine::instruction::{Boxed, Type};
use crate::heap::Word;
use crate::heap::word::Kind;
use crate::ir::{BinaryOperation, Clause, Comparison, Expression, Number, Term, Test, UnaryOperation, VariableId};

use super::constants::Constants;
use super::literal::{is_literal, literal};

/// Number of a value within a predicate.
pub type ValueId = u32;

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Argument(u16),
    /// A cell of a list (0, 1) or an object (1 and up), once the other value is known to be one.
    Cell(ValueId, u16),
    Constant(Word),
    /// Index into the code's boxes.
    Boxed(u32),
    Binary(Number, BinaryOperation, ValueId, ValueId),
    Unary(Number, UnaryOperation, ValueId),
    /// One of the results of a guard builtin.
    Output(GuardBuiltin, Box<[ValueId]>, u16),
    /// A term that a guard builds: clause and number within it.
    Built(u32, u32),
}

/// What a head or a passive unification asks of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    List,
    /// The bits of a constant.
    Constant(u64),
    /// The bits of a header.
    Header(u64),
    /// Index into the code's boxes.
    Boxed(u32),
}

/// One test of a clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Shape(ValueId, Shape),
    /// Calculates the value.
    Compute(ValueId),
    Compare(Number, Comparison, ValueId, ValueId),
    Type(Type, ValueId),
    Same(ValueId, ValueId),
    Builtin(GuardBuiltin, Box<[ValueId]>),
}

/// A clause, or one of the clauses that a clause with alternatives in its guard stands for.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Index among the predicate's clauses.
    pub clause: usize,
    /// Index of its group.
    pub group: usize,
    pub items: Vec<Item>,
    /// Values of its variables; none for those that occur in the body only.
    pub variables: Vec<Option<ValueId>>,
}

/// The values of a predicate.
#[derive(Default)]
pub struct Values {
    pub list: Vec<Value>,
    numbers: FxHashMap<Value, ValueId>,
    /// Terms that guards build, with the variables as they were then.
    pub built: Vec<(Term, Vec<Option<ValueId>>)>,
}

impl Values {
    pub fn number(&mut self, value: Value) -> ValueId {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.list.len() as ValueId;
        self.list.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// Prepares one clause after another of a predicate.
pub struct Preparation<'a> {
    pub values: Values,
    pub constants: &'a mut Constants,
    /// A pattern has more cells than instructions have numbers for: so many.
    pub too_many_cells: Option<usize>,
    /// The alternatives of a guard make so many clauses of one, more than there may be.
    pub too_many_alternatives: Option<usize>,
}

/// Most cells of a pattern with variables.
const MAX_CELLS: usize = 60_000;
/// Most clauses that one clause with alternatives in its guard may stand for.
pub const MAX_ALTERNATIVES: usize = 4096;

impl Preparation<'_> {
    /// The clause as one or, where its guard has alternatives, several lists of tests.
    pub fn clause(&mut self, index: usize, group: usize, clause: &Clause) -> Vec<Prepared> {
        let mut prepared =
            Prepared { clause: index, group, items: Vec::new(), variables: vec![None; clause.variables.len()] };
        for (argument, pattern) in clause.head.iter().enumerate() {
            let value = self.values.number(Value::Argument(argument as u16));
            self.pattern(&mut prepared, value, pattern);
        }
        let mut all = vec![prepared];
        for goal in &clause.guard {
            self.test(&mut all, &goal.test);
        }
        all
    }

    fn test(&mut self, all: &mut Vec<Prepared>, test: &Test) {
        if let Test::Any(alternatives) = test {
            let count = all.len().saturating_mul(alternatives.len());
            if count > MAX_ALTERNATIVES {
                self.too_many_alternatives = Some(count);
                return;
            }
            let mut next = Vec::new();
            for prepared in all.drain(..) {
                for alternative in alternatives {
                    let mut copies = vec![prepared.clone()];
                    for goal in alternative {
                        self.test(&mut copies, &goal.test);
                    }
                    next.append(&mut copies);
                }
            }
            *all = next;
            return;
        }
        for prepared in all {
            match test {
                Test::Unify(left, right) => self.unify(prepared, left, right),
                Test::Compare(number, comparison, left, right) => {
                    let left = self.expression(prepared, left);
                    let right = self.expression(prepared, right);
                    prepared.items.push(Item::Compare(*number, *comparison, left, right));
                }
                Test::Assign(variable, number, expression) => {
                    let value = self.expression(prepared, expression);
                    if matches!(expression, Expression::Variable(_)) {
                        let kind = if *number == Number::Integer { Type::Integer } else { Type::Float };
                        prepared.items.push(Item::Type(kind, value));
                    }
                    self.give(prepared, *variable, value);
                }
                Test::Builtin(builtin, arguments) => self.builtin(prepared, *builtin, arguments),
                Test::Any(_) => unreachable!("handled above"),
            }
        }
    }

    fn give(&mut self, prepared: &mut Prepared, variable: VariableId, value: ValueId) {
        match prepared.variables[variable.0 as usize] {
            None => prepared.variables[variable.0 as usize] = Some(value),
            Some(other) if other == value => {}
            Some(other) => prepared.items.push(Item::Same(other, value)),
        }
    }

    /// Tests of a pattern against a value.
    fn pattern(&mut self, prepared: &mut Prepared, value: ValueId, pattern: &Term) {
        match pattern {
            Term::Variable(variable) => self.give(prepared, *variable, value),
            Term::Integer(_) | Term::Atom(_) => {
                let constant = Constants::word(pattern).expect("an integer or atom is one word");
                prepared.items.push(Item::Shape(value, Shape::Constant(constant.0)));
            }
            Term::Float(_) | Term::String(_) | Term::Predicate(_) => {
                let index = self.boxed(pattern);
                prepared.items.push(Item::Shape(value, Shape::Boxed(index)));
            }
            Term::List(..) | Term::Structure(..) | Term::Vector(..) if is_literal(pattern) => {
                if let Term::Vector(elements) = pattern {
                    self.constants.largest_vector = self.constants.largest_vector.max(elements.len());
                }
                let word = self.constants.compared(literal(pattern));
                let literal = self.values.number(Value::Constant(word));
                prepared.items.push(Item::Same(value, literal));
            }
            Term::List(elements, rest) => {
                let mut value = value;
                for element in elements {
                    prepared.items.push(Item::Shape(value, Shape::List));
                    let head = self.values.number(Value::Cell(value, 0));
                    self.pattern(prepared, head, element);
                    value = self.values.number(Value::Cell(value, 1));
                }
                self.pattern(prepared, value, rest);
            }
            Term::Structure(name, arguments) => {
                let header = Word::structure(name.0, arguments.len());
                self.cells(prepared, value, header, arguments);
            }
            Term::Vector(elements) => {
                self.constants.largest_vector = self.constants.largest_vector.max(elements.len());
                let header = Word::header(Kind::Vector, elements.len() as u64);
                self.cells(prepared, value, header, elements);
            }
        }
    }

    fn cells(&mut self, prepared: &mut Prepared, value: ValueId, header: Word, patterns: &[Term]) {
        prepared.items.push(Item::Shape(value, Shape::Header(header.0)));
        if patterns.len() > MAX_CELLS {
            self.too_many_cells = Some(patterns.len());
            return;
        }
        for (index, pattern) in patterns.iter().enumerate() {
            let cell = self.values.number(Value::Cell(value, index as u16 + 1));
            self.pattern(prepared, cell, pattern);
        }
    }

    fn boxed(&mut self, term: &Term) -> u32 {
        self.constants.boxed(match term {
            Term::Float(value) => Boxed::Float(*value),
            Term::String(bytes) => Boxed::String(bytes.clone()),
            Term::Predicate(predicate) => Boxed::Predicate(predicate.0),
            _ => unreachable!("only called for values of more than one word"),
        })
    }

    fn unify(&mut self, prepared: &mut Prepared, left: &Term, right: &Term) {
        match (left, right) {
            (Term::Variable(variable), other) | (other, Term::Variable(variable)) => {
                match prepared.variables[variable.0 as usize] {
                    Some(value) => self.pattern(prepared, value, other),
                    None => {
                        let value = self.term(prepared, other);
                        self.give(prepared, *variable, value);
                    }
                }
            }
            _ => {
                let value = self.term(prepared, left);
                self.pattern(prepared, value, right);
            }
        }
    }

    /// The value of a term; what is neither variable nor atomic must be built.
    fn term(&mut self, prepared: &mut Prepared, term: &Term) -> ValueId {
        match term {
            Term::Variable(variable) => match prepared.variables[variable.0 as usize] {
                Some(value) => value,
                None => self.build(prepared, term),
            },
            Term::Integer(_) | Term::Atom(_) => {
                let constant = Constants::word(term).expect("an integer or atom is one word");
                self.values.number(Value::Constant(constant))
            }
            Term::Float(_) | Term::String(_) | Term::Predicate(_) => {
                let index = self.boxed(term);
                self.values.number(Value::Boxed(index))
            }
            Term::List(..) | Term::Structure(..) | Term::Vector(..) => self.build(prepared, term),
        }
    }

    fn build(&mut self, prepared: &mut Prepared, term: &Term) -> ValueId {
        // Variables that occur here first are made with the term, each on its own, so that they have values.
        if let Term::Variable(variable) = term {
            let number = self.values.built.len() as u32;
            self.values.built.push((Term::Variable(*variable), Vec::new()));
            let value = self.values.number(Value::Built(prepared.clause as u32, number));
            prepared.variables[variable.0 as usize] = Some(value);
            prepared.items.push(Item::Compute(value));
            return value;
        }
        let mut fresh = Vec::new();
        term.for_each_variable(&mut |variable| {
            if prepared.variables[variable.0 as usize].is_none() && !fresh.contains(&variable) {
                fresh.push(variable);
            }
        });
        for variable in fresh {
            self.build(prepared, &Term::Variable(variable));
        }
        let number = self.values.built.len() as u32;
        self.values.built.push((term.clone(), prepared.variables.clone()));
        let value = self.values.number(Value::Built(prepared.clause as u32, number));
        prepared.items.push(Item::Compute(value));
        value
    }

    fn expression(&mut self, prepared: &mut Prepared, expression: &Expression) -> ValueId {
        match expression {
            Expression::Variable(variable) => self.term(prepared, &Term::Variable(*variable)),
            Expression::Integer(value) => self.term(prepared, &Term::Integer(*value)),
            Expression::Float(value) => self.term(prepared, &Term::Float(*value)),
            Expression::Unary(number, operation, operand) => {
                let operand = self.expression(prepared, operand);
                let value = self.values.number(Value::Unary(*number, *operation, operand));
                prepared.items.push(Item::Compute(value));
                value
            }
            Expression::Binary(number, operation, operands) => {
                let left = self.expression(prepared, &operands.0);
                let right = self.expression(prepared, &operands.1);
                let value = self.values.number(Value::Binary(*number, *operation, left, right));
                prepared.items.push(Item::Compute(value));
                value
            }
        }
    }

    fn builtin(&mut self, prepared: &mut Prepared, builtin: GuardBuiltin, arguments: &[Term]) {
        let kind = match builtin {
            GuardBuiltin::Wait => Some(Type::Any),
            GuardBuiltin::Atom => Some(Type::Atom),
            GuardBuiltin::Integer => Some(Type::Integer),
            GuardBuiltin::Float => Some(Type::Float),
            GuardBuiltin::Atomic => Some(Type::Atomic),
            GuardBuiltin::List => Some(Type::List),
            GuardBuiltin::Structure => Some(Type::Structure),
            GuardBuiltin::IsVector => Some(Type::Vector),
            GuardBuiltin::IsString => Some(Type::String),
            GuardBuiltin::Predicate => Some(Type::Predicate),
            _ => None,
        };
        if let Some(kind) = kind {
            let value = self.term(prepared, &arguments[0]);
            prepared.items.push(Item::Type(kind, value));
            return;
        }
        let inputs: Box<[ValueId]> = arguments
            .iter()
            .zip(builtin.modes())
            .filter(|(_, mode)| **mode != Mode::Output)
            .map(|(argument, _)| self.term(prepared, argument))
            .collect();
        let outputs: Vec<&Term> = arguments
            .iter()
            .zip(builtin.modes())
            .filter(|(_, mode)| **mode == Mode::Output)
            .map(|(argument, _)| argument)
            .collect();
        if outputs.is_empty() {
            prepared.items.push(Item::Builtin(builtin, inputs));
            return;
        }
        let values: Vec<ValueId> = (0..outputs.len())
            .map(|index| self.values.number(Value::Output(builtin, inputs.clone(), index as u16)))
            .collect();
        prepared.items.push(Item::Compute(values[0]));
        for (value, term) in values.into_iter().zip(outputs) {
            self.pattern(prepared, value, term);
        }
    }
}
