//! Whether a clause takes a goal: head and guard, test by test.

use std::cmp::Ordering;

use weft_fghc::builtins::{GuardBuiltin, Mode};
use weft_fghc::ir::{Clause, Comparison, Expression, Number, Term, Test, VariableId, atoms};

use super::Unfit;
use super::arithmetic::{self, Calculated};
use super::value::{Equal, Store, Value};

/// Values of the variables of a clause.
pub type Environment = Vec<Option<Value>>;

/// What a clause says to a goal.
pub enum Attempt {
    Commits(Environment),
    Fails,
    /// Some test cannot be decided yet. `doomed`: whatever its answer, another test fails, so an engine that looks at that
    /// one first may say that the clause fails.
    Waits {
        doomed: bool,
    },
    Overflows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Yes,
    No,
    Open,
    Doomed,
    Overflow,
}

/// One clause and one goal.
struct Trial<'a, 's, 'p> {
    store: &'s mut Store<'p>,
    clause: &'a Clause,
    environment: Environment,
    open: bool,
    doomed: bool,
    failed: bool,
    overflowed: bool,
    /// Some alternative holds and another is open: an engine that tries each with what follows may wait where that fails.
    several: bool,
}

pub fn attempt(store: &mut Store<'_>, clause: &Clause, arguments: &[Value]) -> Result<Attempt, Unfit> {
    let mut trial = Trial {
        store,
        clause,
        environment: vec![None; clause.variables.len()],
        open: false,
        doomed: false,
        failed: false,
        overflowed: false,
        several: false,
    };
    for (argument, pattern) in arguments.iter().zip(&clause.head) {
        trial.pattern(argument, pattern);
    }
    for goal in &clause.guard {
        if trial.failed || trial.overflowed {
            break;
        }
        trial.test(&goal.test)?;
    }
    Ok(trial.attempt())
}

impl Trial<'_, '_, '_> {
    fn attempt(self) -> Attempt {
        if self.failed && !self.several {
            Attempt::Fails
        } else if self.failed {
            Attempt::Waits { doomed: true }
        } else if self.overflowed {
            Attempt::Overflows
        } else if self.open {
            Attempt::Waits { doomed: self.doomed }
        } else {
            Attempt::Commits(self.environment)
        }
    }

    /// Takes the answer of the next test.
    fn meet(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Yes => {}
            Verdict::No if self.open => self.doomed = true,
            Verdict::No => self.failed = true,
            Verdict::Open => self.open = true,
            Verdict::Doomed => (self.open, self.doomed) = (true, true),
            Verdict::Overflow => self.overflowed |= !self.open,
        }
    }

    fn give(&mut self, variable: VariableId, value: &Value) {
        match self.environment[variable.0 as usize].clone() {
            None => self.environment[variable.0 as usize] = Some(value.clone()),
            Some(known) => {
                let verdict = match self.store.equal(&known, value) {
                    Equal::Yes => Verdict::Yes,
                    Equal::No => Verdict::No,
                    Equal::Open => Verdict::Open,
                };
                self.meet(verdict);
            }
        }
    }

    fn pattern(&mut self, value: &Value, pattern: &Term) {
        if let Term::Variable(variable) = pattern {
            return self.give(*variable, value);
        }
        let value = self.store.look(value);
        let (parts, patterns): (Vec<Value>, Vec<&Term>) = match (pattern, &value) {
            (Term::List(elements, rest), _) => return self.list(value, elements, rest),
            (Term::Structure(name, patterns), Value::Structure(found, parts))
                if name == found && patterns.len() == parts.len() =>
            {
                (parts.to_vec(), patterns.iter().collect())
            }
            (Term::Vector(patterns), Value::Vector(parts)) if patterns.len() == parts.len() => {
                (parts.to_vec(), patterns.iter().collect())
            }
            (_, Value::Variable(_)) => {
                self.meet(Verdict::Open);
                return self.unknown(pattern);
            }
            (Term::Integer(wanted), Value::Integer(found)) if wanted == found => return,
            (Term::Float(wanted), Value::Float(found)) if wanted == found => return,
            (Term::Atom(wanted), Value::Atom(found)) if wanted == found => return,
            (Term::String(wanted), Value::String(found)) if **wanted == **found => return,
            (Term::Predicate(wanted), Value::Predicate(found)) if wanted == found => return,
            _ => {
                self.meet(Verdict::No);
                return self.unknown(pattern);
            }
        };
        for (part, pattern) in parts.iter().zip(patterns) {
            self.pattern(part, pattern);
        }
    }

    fn list(&mut self, value: Value, elements: &[Term], rest: &Term) {
        let mut value = value;
        for (index, element) in elements.iter().enumerate() {
            match self.store.look(&value) {
                Value::List(cell) => {
                    self.pattern(&cell.0, element);
                    value = cell.1.clone();
                }
                other => {
                    self.meet(if matches!(other, Value::Variable(_)) { Verdict::Open } else { Verdict::No });
                    elements[index..].iter().for_each(|element| self.unknown(element));
                    return self.unknown(rest);
                }
            }
        }
        self.pattern(&value, rest);
    }

    /// Variables of a pattern for which there is no value yet: what is asked of them stays open.
    fn unknown(&mut self, pattern: &Term) {
        let mut variables = Vec::new();
        pattern.for_each_variable(&mut |variable| variables.push(variable));
        for variable in variables {
            if self.environment[variable.0 as usize].is_none() {
                self.environment[variable.0 as usize] = Some(self.store.fresh());
            }
        }
    }

    fn test(&mut self, test: &Test) -> Result<(), Unfit> {
        match test {
            Test::Unify(left, right) => self.unify(left, right),
            Test::Compare(number, comparison, left, right) => {
                let verdict = self.compare(*number, *comparison, left, right)?;
                self.meet(verdict);
            }
            Test::Assign(variable, number, expression) => match self.calculate(expression)? {
                Ok(value) => {
                    if matches!(expression, Expression::Variable(_)) {
                        let verdict = kind_of_number(*number, &value);
                        self.meet(verdict);
                    }
                    self.give(*variable, &value);
                }
                Err(verdict) => {
                    self.meet(verdict);
                    self.unknown(&Term::Variable(*variable));
                }
            },
            Test::Builtin(builtin, arguments) => self.builtin(*builtin, arguments),
            Test::Any(alternatives) => {
                let verdict = self.any(alternatives)?;
                self.meet(verdict);
            }
        }
        Ok(())
    }

    fn unify(&mut self, left: &Term, right: &Term) {
        let known = |trial: &Self, term: &Term| match term {
            Term::Variable(variable) => trial.environment[variable.0 as usize].clone(),
            _ => None,
        };
        match (left, right) {
            (Term::Variable(variable), other) | (other, Term::Variable(variable)) => {
                match known(self, &Term::Variable(*variable)) {
                    Some(value) => self.pattern(&value, other),
                    None => {
                        let value = build(self.store, &mut self.environment, other);
                        self.give(*variable, &value);
                    }
                }
            }
            (left, right) => {
                let value = build(self.store, &mut self.environment, left);
                self.pattern(&value, right);
            }
        }
    }

    /// An expression of a guard: its value, or how the test stands without one.
    fn calculate(&mut self, expression: &Expression) -> Result<Result<Value, Verdict>, Unfit> {
        let calculated = match expression {
            Expression::Variable(variable) => {
                let value = build(self.store, &mut self.environment, &Term::Variable(*variable));
                return Ok(Ok(self.store.look(&value)));
            }
            Expression::Integer(value) => return Ok(Ok(Value::Integer(*value))),
            Expression::Float(value) => return Ok(Ok(Value::Float(*value))),
            Expression::Unary(number, operation, operand) => match self.calculate(operand)? {
                Ok(operand) => arithmetic::unary(*number, *operation, &operand),
                Err(verdict) => return Ok(Err(verdict)),
            },
            Expression::Binary(kind, operation, operands) => {
                let left = self.calculate(&operands.0)?;
                let right = self.calculate(&operands.1)?;
                match (left, right) {
                    (Ok(left), Ok(right)) => match arithmetic::binary(*kind, *operation, &left, &right) {
                        Calculated::Open if is_wrong(*kind, &left) || is_wrong(*kind, &right) => {
                            return Ok(Err(Verdict::Doomed));
                        }
                        calculated => calculated,
                    },
                    (Err(Verdict::Open), Err(Verdict::No)) => return Ok(Err(Verdict::Doomed)),
                    (Err(verdict), _) | (_, Err(verdict)) => return Ok(Err(verdict)),
                }
            }
        };
        match calculated {
            Calculated::Value(value) => Ok(Ok(value)),
            Calculated::Open => Ok(Err(Verdict::Open)),
            Calculated::Wrong => Ok(Err(Verdict::No)),
            Calculated::Overflow => Ok(Err(Verdict::Overflow)),
            Calculated::NotANumber => Err(Unfit::NotANumber),
        }
    }

    fn compare(
        &mut self,
        number: Number,
        comparison: Comparison,
        left: &Expression,
        right: &Expression,
    ) -> Result<Verdict, Unfit> {
        let (left, right) = (self.calculate(left)?, self.calculate(right)?);
        Ok(match (left, right) {
            (Ok(left), Ok(right)) => match (&left, &right) {
                (Value::Variable(_), other) | (other, Value::Variable(_)) => {
                    if is_wrong(number, other) {
                        Verdict::Doomed
                    } else {
                        Verdict::Open
                    }
                }
                _ if arithmetic::compare(number, comparison, &left, &right) => Verdict::Yes,
                _ => Verdict::No,
            },
            (Err(Verdict::Open), Err(Verdict::No)) => Verdict::Doomed,
            (Err(verdict), _) | (_, Err(verdict)) => verdict,
        })
    }

    fn any(&mut self, alternatives: &[Box<[weft_fghc::ir::GuardGoal]>]) -> Result<Verdict, Unfit> {
        let (mut holds, mut open, mut doomed) = (false, false, false);
        for alternative in alternatives {
            let mut trial = Trial {
                store: self.store,
                clause: self.clause,
                environment: self.environment.clone(),
                open: false,
                doomed: false,
                failed: false,
                overflowed: false,
                several: false,
            };
            for goal in alternative {
                if trial.failed || trial.overflowed {
                    break;
                }
                trial.test(&goal.test)?;
            }
            match trial.attempt() {
                Attempt::Commits(_) => holds = true,
                Attempt::Fails => {}
                Attempt::Waits { doomed: false } => open = true,
                Attempt::Waits { doomed: true } => doomed = true,
                Attempt::Overflows => return Err(Unfit::Overflow),
            }
        }
        self.several |= holds && (open || doomed);
        Ok(match (holds, open, doomed) {
            (true, ..) => Verdict::Yes,
            (_, true, _) => Verdict::Open,
            (_, _, true) => Verdict::Doomed,
            _ => Verdict::No,
        })
    }

    fn builtin(&mut self, builtin: GuardBuiltin, arguments: &[Term]) {
        let inputs: Vec<Value> = arguments
            .iter()
            .zip(builtin.modes())
            .filter(|(_, mode)| **mode != Mode::Output)
            .map(|(argument, _)| {
                let value = build(self.store, &mut self.environment, argument);
                self.store.look(&value)
            })
            .collect();
        let outputs: Vec<&Term> = arguments
            .iter()
            .zip(builtin.modes())
            .filter(|(_, mode)| **mode == Mode::Output)
            .map(|(argument, _)| argument)
            .collect();
        match self.answer(builtin, &inputs) {
            Ok(results) => {
                for (output, result) in outputs.into_iter().zip(results) {
                    self.pattern(&result, output);
                }
            }
            Err(verdict) => {
                self.meet(verdict);
                outputs.into_iter().for_each(|output| self.unknown(output));
            }
        }
    }

    /// The results of an operation of a guard, or why there are none.
    fn answer(&mut self, builtin: GuardBuiltin, inputs: &[Value]) -> Result<Vec<Value>, Verdict> {
        use GuardBuiltin as G;
        let deep = builtin.modes().contains(&Mode::Deep);
        if !deep && inputs.iter().any(|input| matches!(input, Value::Variable(_))) {
            return Err(Verdict::Open);
        }
        let test = |holds: bool| if holds { Ok(Vec::new()) } else { Err(Verdict::No) };
        let size = |value: &Value| match value {
            Value::Vector(elements) => Some(elements.len()),
            Value::String(bytes) => Some(bytes.len()),
            _ => None,
        };
        match (builtin, inputs) {
            (G::Wait, _) => test(true),
            (G::Fail, _) => test(false),
            (G::Atom, [value]) => test(matches!(value, Value::Atom(_))),
            (G::Integer, [value]) => test(matches!(value, Value::Integer(_))),
            (G::Float, [value]) => test(matches!(value, Value::Float(_))),
            (G::Atomic, [value]) => test(matches!(value, Value::Atom(_) | Value::Integer(_) | Value::Float(_))),
            (G::List, [value]) => test(matches!(value, Value::List(_))),
            (G::Structure, [value]) => test(matches!(value, Value::Structure(..))),
            (G::IsVector, [value]) => test(matches!(value, Value::Vector(_))),
            (G::IsString, [value]) => test(matches!(value, Value::String(_))),
            (G::Predicate, [value]) => test(matches!(value, Value::Predicate(_))),
            (G::Vector, [Value::Vector(elements)]) => Ok(vec![Value::Integer(elements.len() as i64)]),
            (G::String, [Value::String(bytes)]) => Ok(vec![Value::Integer(bytes.len() as i64), Value::Integer(8)]),
            (G::Size, [value]) => Ok(vec![Value::Integer(size(value).ok_or(Verdict::No)? as i64)]),
            (G::Arity, [Value::Predicate(predicate)]) => {
                Ok(vec![Value::Integer(self.store.program.predicate(*predicate).arity as i64)])
            }
            (G::Different, [left, right]) => match self.store.equal(left, right) {
                Equal::Yes => Err(Verdict::No),
                Equal::No => test(true),
                Equal::Open => Err(Verdict::Open),
            },
            (G::Less | G::LessOrEqual | G::Greater | G::GreaterOrEqual, [left, right]) => {
                let order = self.store.order(left, right).ok_or(Verdict::Open)?;
                test(match builtin {
                    G::Less => order.is_lt(),
                    G::LessOrEqual => order.is_le(),
                    G::Greater => order.is_gt(),
                    _ => order.is_ge(),
                })
            }
            (G::Compare, [left, right]) => {
                let order = self.store.order(left, right).ok_or(Verdict::Open)?;
                Ok(vec![sign(order)])
            }
            (G::VectorElement | G::StringElement | G::Element, [value, Value::Integer(index)]) => {
                let fits = match value {
                    Value::Vector(_) => builtin != G::StringElement,
                    Value::String(_) => builtin != G::VectorElement,
                    _ => false,
                };
                match element(value, *index) {
                    Some(element) if fits => Ok(vec![element]),
                    _ => Err(Verdict::No),
                }
            }
            (G::Functor, [value]) => {
                let (name, arity) = functor(value);
                Ok(vec![name, Value::Integer(arity)])
            }
            (G::Argument, [first, second]) => Ok(vec![argument(first, second).ok_or(Verdict::No)?]),
            (G::StringLess, [Value::String(left), Value::String(right)]) => test(left < right),
            (G::StringNotLess, [Value::String(left), Value::String(right)]) => test(left >= right),
            (G::CurrentPriority | G::CurrentNode | G::Hash, _) => panic!("{builtin:?} depends on more than values"),
            _ => Err(Verdict::No),
        }
    }
}

fn is_wrong(number: Number, value: &Value) -> bool {
    !matches!(
        (number, value),
        (_, Value::Variable(_)) | (Number::Integer, Value::Integer(_)) | (Number::Float, Value::Float(_))
    )
}

fn kind_of_number(number: Number, value: &Value) -> Verdict {
    match value {
        Value::Variable(_) => Verdict::Open,
        value if is_wrong(number, value) => Verdict::No,
        _ => Verdict::Yes,
    }
}

pub fn sign(order: Ordering) -> Value {
    Value::Integer(match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
}

/// Name and number of arguments.
pub fn functor(value: &Value) -> (Value, i64) {
    match value {
        Value::List(_) => (Value::Atom(atoms::DOT), 2),
        Value::Structure(name, arguments) => (Value::Atom(*name), arguments.len() as i64),
        value => (value.clone(), 0),
    }
}

/// The argument of a structure or list cell at a position from 1; both orders are written.
pub fn argument(first: &Value, second: &Value) -> Option<Value> {
    let (position, value) = if matches!(first, Value::Integer(_)) { (first, second) } else { (second, first) };
    let Value::Integer(position) = position else { return None };
    match (value, position) {
        (Value::List(cell), 1) => Some(cell.0.clone()),
        (Value::List(cell), 2) => Some(cell.1.clone()),
        (Value::Structure(_, arguments), position) if *position >= 1 => {
            arguments.get(usize::try_from(*position).ok()? - 1).cloned()
        }
        _ => None,
    }
}

/// The element of a vector or the byte of a string at an index from 0.
pub fn element(value: &Value, index: i64) -> Option<Value> {
    let index = usize::try_from(index).ok()?;
    match value {
        Value::Vector(elements) => elements.get(index).cloned(),
        Value::String(bytes) => bytes.get(index).map(|byte| Value::Integer(i64::from(*byte))),
        _ => None,
    }
}

/// A term as a value; variables that have none yet become new ones.
pub fn build(store: &mut Store<'_>, environment: &mut Environment, term: &Term) -> Value {
    let mut all = |store: &mut Store<'_>, terms: &[Term]| -> std::rc::Rc<[Value]> {
        terms.iter().map(|term| build(store, environment, term)).collect()
    };
    match term {
        Term::Variable(variable) => environment[variable.0 as usize].get_or_insert_with(|| store.fresh()).clone(),
        Term::Integer(value) => Value::Integer(*value),
        Term::Float(value) => Value::Float(*value),
        Term::Atom(atom) => Value::Atom(*atom),
        Term::String(bytes) => Value::String(bytes.iter().copied().collect()),
        Term::Predicate(predicate) => Value::Predicate(*predicate),
        Term::Structure(name, arguments) => Value::Structure(*name, all(store, arguments)),
        Term::Vector(elements) => Value::Vector(all(store, elements)),
        Term::List(elements, rest) => {
            let elements = all(store, elements);
            let rest = build(store, environment, rest);
            elements.iter().rev().fold(rest, |rest, element| Value::List(std::rc::Rc::new((element.clone(), rest))))
        }
    }
}
