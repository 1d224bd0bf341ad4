//! What happens at commitment, and goals that are no calls of predicates.

use std::rc::Rc;

use weft_fghc::builtins::{BodyBuiltin, Mode};
use weft_fghc::ir::{
    Clause, Expression, Goal as BodyGoal, MetaGoal, Number, Placement, PredicateId, Priority, Term, atoms,
};

use super::arithmetic::{self, Calculated};
use super::guard::{Environment, argument, build, element, functor, sign};
use super::value::Value;
use super::{Evaluator, Formula, Node, Step, Unfit, Work};

/// Values that a builtin unifies with its outputs, one after the other.
type Bindings = Vec<(Value, Value)>;

/// What a builtin says.
enum Answer {
    Gives(Bindings),
    Waits,
    Wrong,
}

impl Evaluator<'_> {
    /// Starts the goals of a body.
    pub(super) fn body(&mut self, node: usize, clause: &Clause, environment: Environment) -> Result<(), Unfit> {
        let mut environment = environment;
        for goal in &clause.body {
            match &goal.goal {
                BodyGoal::Unify(left, right) => {
                    let left = build(&mut self.store, &mut environment, left);
                    let right = build(&mut self.store, &mut environment, right);
                    if !self.store.unify(&left, &right)? {
                        self.fail(node)?;
                    }
                }
                BodyGoal::Assign(target, number, expression) => {
                    let formula = self.formula(&mut environment, expression);
                    let target = build(&mut self.store, &mut environment, target);
                    self.add(node, Work::Assign(target, *number, formula));
                }
                BodyGoal::Call(call, pragma) => {
                    let arguments = self.all(&mut environment, &call.arguments);
                    let work = if pragma.is_empty() {
                        Work::Call(call.predicate, arguments)
                    } else {
                        let placement = pragma.placement.as_ref().map(|placement| match placement {
                            Placement::Node(number) => self.formula(&mut environment, number),
                            Placement::Alloc(_) => panic!("alloc/1 is not generated"),
                        });
                        let priority = pragma.priority.as_ref().map(|priority| match priority {
                            Priority::Absolute(value) | Priority::Lower(value) => self.formula(&mut environment, value),
                        });
                        Work::Placed(call.predicate, arguments, placement, priority)
                    };
                    self.add(node, work);
                }
                BodyGoal::Builtin(builtin, arguments) => {
                    let arguments = self.all(&mut environment, arguments);
                    self.add(node, Work::Builtin(*builtin, arguments));
                }
                BodyGoal::Metacall(metacall) => {
                    let result = build(&mut self.store, &mut environment, &metacall.result);
                    let control = build(&mut self.store, &mut environment, &metacall.control);
                    match &metacall.goal {
                        MetaGoal::Call(call) => {
                            let arguments = self.all(&mut environment, &call.arguments);
                            self.metacall(node, call.predicate, arguments, result);
                        }
                        MetaGoal::Dynamic { term, module } => {
                            let term = build(&mut self.store, &mut environment, term);
                            self.add(node, Work::Metacall(term, *module, result, control));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn all(&mut self, environment: &mut Environment, terms: &[Term]) -> Vec<Value> {
        terms.iter().map(|term| build(&mut self.store, environment, term)).collect()
    }

    fn formula(&mut self, environment: &mut Environment, expression: &Expression) -> Formula {
        match expression {
            Expression::Variable(variable) => {
                Formula::Value(build(&mut self.store, environment, &Term::Variable(*variable)))
            }
            Expression::Integer(value) => Formula::Value(Value::Integer(*value)),
            Expression::Float(value) => Formula::Value(Value::Float(*value)),
            Expression::Unary(number, operation, operand) => {
                Formula::Unary(*number, *operation, Box::new(self.formula(environment, operand)))
            }
            Expression::Binary(number, operation, operands) => {
                let left = self.formula(environment, &operands.0);
                let right = self.formula(environment, &operands.1);
                Formula::Binary(*number, *operation, Box::new((left, right)))
            }
        }
    }

    fn metacall(&mut self, node: usize, predicate: PredicateId, arguments: Vec<Value>, result: Value) {
        self.nodes[node].alive += 1;
        self.nodes[node].started += 1;
        let below = self.nodes.len();
        let result = Some(result);
        self.nodes.push(Node { parent: node, result, alive: 0, ended: false, commitments: 0, started: 0 });
        self.add(below, Work::Call(predicate, arguments));
    }

    /// Work other than a call of a predicate.
    pub(super) fn other(&mut self, node: usize, work: &Work) -> Result<Step, Unfit> {
        match work {
            Work::Call(..) => unreachable!("calls are asked elsewhere"),
            Work::Assign(target, number, formula) => match self.value(formula) {
                Calculated::Value(value) if is_number(*number, &value) => {
                    Ok(if self.store.unify(target, &value)? { Step::Done } else { Step::Fails })
                }
                Calculated::Value(_) | Calculated::Wrong | Calculated::Overflow => Ok(Step::Fails),
                Calculated::Open => Ok(Step::Waits),
                Calculated::NotANumber => Err(Unfit::NotANumber),
            },
            Work::Placed(predicate, arguments, placement, priority) => {
                for (amount, is_node) in [(placement, true), (priority, false)] {
                    let Some(formula) = amount else { continue };
                    match self.value(formula) {
                        Calculated::Value(Value::Integer(pe)) if !is_node || (0..self.pes).contains(&pe) => {}
                        Calculated::Open => return Ok(Step::Waits),
                        _ => return Ok(Step::Fails),
                    }
                }
                self.add(node, Work::Call(*predicate, arguments.clone()));
                Ok(Step::Done)
            }
            Work::Metacall(term, module, result, _) => {
                let (name, arguments) = match self.store.look(term) {
                    Value::Variable(_) => return Ok(Step::Waits),
                    Value::Atom(name) => (name, Vec::new()),
                    Value::Structure(name, arguments) => (name, arguments.to_vec()),
                    _ => return self.no_goal(result),
                };
                match self.store.program.find(*module, name, arguments.len()) {
                    Some(predicate) => {
                        self.metacall(node, predicate, arguments, result.clone());
                        Ok(Step::Done)
                    }
                    None => self.no_goal(result),
                }
            }
            Work::Builtin(builtin, arguments) => match self.builtin(node, *builtin, arguments)? {
                Answer::Waits => Ok(Step::Waits),
                Answer::Wrong => Ok(Step::Fails),
                Answer::Gives(bindings) => {
                    for (target, value) in bindings {
                        if !self.store.unify(&target, &value)? {
                            return Ok(Step::Fails);
                        }
                    }
                    Ok(Step::Done)
                }
            },
        }
    }

    fn no_goal(&mut self, result: &Value) -> Result<Step, Unfit> {
        Ok(if self.store.unify(result, &Value::Atom(atoms::FAILURE))? { Step::Done } else { Step::Fails })
    }

    /// A formula; an error in one operand is one of the whole, whether the other is there or not.
    fn value(&self, formula: &Formula) -> Calculated {
        match formula {
            Formula::Value(value) => match self.store.look(value) {
                Value::Variable(_) => Calculated::Open,
                value => Calculated::Value(value),
            },
            Formula::Unary(number, operation, operand) => match self.value(operand) {
                Calculated::Value(operand) => arithmetic::unary(*number, *operation, &operand),
                other => other,
            },
            Formula::Binary(number, operation, operands) => match (self.value(&operands.0), self.value(&operands.1)) {
                (Calculated::Value(left), Calculated::Value(right)) => {
                    arithmetic::binary(*number, *operation, &left, &right)
                }
                (Calculated::Open, other) if !matches!(other, Calculated::Value(_)) => other,
                (Calculated::Value(_), other) | (other, _) => other,
            },
        }
    }

    fn builtin(&mut self, node: usize, builtin: BodyBuiltin, arguments: &[Value]) -> Result<Answer, Unfit> {
        use BodyBuiltin as B;
        let values: Vec<Value> = arguments.iter().map(|argument| self.store.look(argument)).collect();
        let needed = values.iter().zip(builtin.modes()).filter(|(_, mode)| matches!(mode, Mode::Input | Mode::Deep));
        if needed.into_iter().any(|(value, _)| matches!(value, Value::Variable(_))) {
            return Ok(Answer::Waits);
        }
        let output = |index: usize| arguments[index].clone();
        let give = |index: usize, value: Value| Answer::Gives(vec![(arguments[index].clone(), value)]);
        Ok(match (builtin, values.as_slice()) {
            (B::Write | B::Print, [value]) => {
                if !self.store.is_ground(value) {
                    return Ok(Answer::Waits);
                }
                let text = self.store.text(value, builtin == B::Print, &mut Vec::new());
                self.written.push(text);
                Answer::Gives(Vec::new())
            }
            (B::NewVector, [_, Value::Integer(size)]) => match usize::try_from(*size) {
                Ok(size) => give(0, Value::Vector(vec![Value::Integer(0); size].into())),
                Err(_) => Answer::Wrong,
            },
            (B::NewVector, [_, list]) => match self.elements(list) {
                Ok(elements) => give(0, Value::Vector(elements.into())),
                Err(answer) => answer,
            },
            (B::NewString, [_, list, Value::Integer(8)]) => match self.bytes(list) {
                Ok(bytes) => give(0, Value::String(bytes.into())),
                Err(answer) => answer,
            },
            (B::VectorElement, [Value::Vector(_), Value::Integer(index), _])
            | (B::StringElement, [Value::String(_), Value::Integer(index), _])
            | (B::Element, [_, Value::Integer(index), _]) => match element(&values[0], *index) {
                Some(element) => give(2, element),
                None => Answer::Wrong,
            },
            (B::SetVectorElement | B::SetElement, [Value::Vector(elements), Value::Integer(index), _, _]) => {
                match replaced(elements, *index, &arguments[2]) {
                    Some(new) => give(3, Value::Vector(new.into())),
                    None => Answer::Wrong,
                }
            }
            (B::ExchangeVectorElement | B::ExchangeElement, [Value::Vector(elements), Value::Integer(index), ..]) => {
                match (element(&values[0], *index), replaced(elements, *index, &arguments[3])) {
                    (Some(old), Some(new)) => {
                        Answer::Gives(vec![(output(2), old), (output(4), Value::Vector(new.into()))])
                    }
                    _ => Answer::Wrong,
                }
            }
            (B::SetStringElement | B::SetElement, [Value::String(bytes), Value::Integer(index), byte, _]) => {
                match (usize::try_from(*index), byte) {
                    (Ok(index), Value::Integer(byte)) if index < bytes.len() && (0..256).contains(byte) => {
                        let mut bytes = bytes.to_vec();
                        bytes[index] = *byte as u8;
                        give(3, Value::String(bytes.into()))
                    }
                    (Ok(index), Value::Variable(_)) if index < bytes.len() => Answer::Waits,
                    _ => Answer::Wrong,
                }
            }
            (B::VectorSize | B::Size, [Value::Vector(elements), _]) => give(1, Value::Integer(elements.len() as i64)),
            (B::Size, [Value::String(bytes), _]) => give(1, Value::Integer(bytes.len() as i64)),
            (B::StringSize, [Value::String(bytes), ..]) => {
                Answer::Gives(vec![(output(1), Value::Integer(bytes.len() as i64)), (output(2), Value::Integer(8))])
            }
            (B::Split, [value, Value::Integer(at), ..]) => match (value, usize::try_from(*at)) {
                (Value::Vector(elements), Ok(at)) if at <= elements.len() => Answer::Gives(vec![
                    (output(2), Value::Vector(elements[..at].into())),
                    (output(3), Value::Vector(elements[at..].into())),
                ]),
                (Value::String(bytes), Ok(at)) if at <= bytes.len() => Answer::Gives(vec![
                    (output(2), Value::String(bytes[..at].into())),
                    (output(3), Value::String(bytes[at..].into())),
                ]),
                _ => Answer::Wrong,
            },
            (B::Join, [Value::Vector(left), Value::Vector(right), _]) => {
                give(2, Value::Vector(left.iter().chain(right.iter()).cloned().collect()))
            }
            (B::Join, [Value::String(left), Value::String(right), _]) => {
                give(2, Value::String(left.iter().chain(right.iter()).copied().collect()))
            }
            (
                B::SearchCharacter,
                [Value::String(bytes), Value::Integer(from), Value::Integer(to), Value::Integer(byte), _],
            ) => match (usize::try_from(*from), usize::try_from(*to)) {
                (Ok(from), Ok(to)) if from <= to && to <= bytes.len() => {
                    let position = (from..to).find(|index| i64::from(bytes[*index]) == *byte);
                    give(4, Value::Integer(position.map_or(-1, |index| index as i64)))
                }
                _ => Answer::Wrong,
            },
            (B::Functor, [value, ..]) => {
                let (name, arity) = functor(value);
                Answer::Gives(vec![(output(1), name), (output(2), Value::Integer(arity))])
            }
            (B::Argument, [first, second, _]) => match argument(first, second) {
                Some(argument) => give(2, argument),
                None => Answer::Wrong,
            },
            (B::NewFunctor, [_, name, Value::Integer(0)]) => give(0, name.clone()),
            (B::NewFunctor, [_, Value::Atom(name), Value::Integer(arity)]) if *arity > 0 => {
                give(0, structure(*name, vec![Value::Integer(0); *arity as usize]))
            }
            (B::SetArgument, [first, second, _, _]) => match self.with_argument(first, second, &arguments[2]) {
                Some((_, new)) => give(3, new),
                None => Answer::Wrong,
            },
            (B::ExchangeArgument, [first, second, ..]) => match self.with_argument(first, second, &arguments[3]) {
                Some((old, new)) => Answer::Gives(vec![(output(2), old), (output(4), new)]),
                None => Answer::Wrong,
            },
            (B::ListToStructure, [_, list]) => match self.elements(list) {
                Err(answer) => answer,
                Ok(elements) => match elements.split_first().map(|(name, rest)| (self.store.look(name), rest)) {
                    None => Answer::Wrong,
                    Some((Value::Variable(_), _)) => Answer::Waits,
                    Some((name, [])) => give(0, name),
                    Some((Value::Atom(name), arguments)) => give(0, structure(name, arguments.to_vec())),
                    Some(_) => Answer::Wrong,
                },
            },
            (B::Compare, [left, right, _]) => match self.store.order(left, right) {
                Some(order) => give(2, sign(order)),
                None => Answer::Waits,
            },
            (B::Apply, [Value::Predicate(predicate), Value::Vector(elements)]) => {
                if self.store.program.predicate(*predicate).arity != elements.len() {
                    return Ok(Answer::Wrong);
                }
                self.add(node, Work::Call(*predicate, elements.to_vec()));
                Answer::Gives(Vec::new())
            }
            (B::MakeAtom, [Value::String(bytes), _]) => {
                let atom = self.store.atoms.intern(&String::from_utf8_lossy(bytes));
                give(1, Value::Atom(atom))
            }
            (B::AtomString, [Value::Atom(atom), _]) => {
                let name: Rc<[u8]> = self.store.atoms.name(*atom).as_bytes().into();
                give(1, Value::String(name))
            }
            (
                B::CurrentPriority
                | B::CurrentNode
                | B::Unbound
                | B::Arguments
                | B::Exit
                | B::Collect
                | B::Hash
                | B::Open
                | B::Put
                | B::PutTerm
                | B::Get
                | B::Unget
                | B::Read
                | B::AtEnd
                | B::Flush
                | B::Close,
                _,
            ) => panic!("{builtin:?} depends on more than values"),
            _ => Answer::Wrong,
        })
    }

    /// The elements of a list.
    fn elements(&self, list: &Value) -> Result<Vec<Value>, Answer> {
        let mut elements = Vec::new();
        let mut rest = self.store.look(list);
        loop {
            match &rest {
                Value::Variable(_) => return Err(Answer::Waits),
                Value::Atom(atoms::NIL) => return Ok(elements),
                Value::List(cell) => {
                    elements.push(cell.0.clone());
                    rest = self.store.look(&cell.1);
                }
                _ => return Err(Answer::Wrong),
            }
        }
    }

    fn bytes(&self, value: &Value) -> Result<Vec<u8>, Answer> {
        if let Value::Integer(size) = value {
            return usize::try_from(*size).map(|size| vec![0; size]).map_err(|_| Answer::Wrong);
        }
        let mut bytes = Vec::new();
        for element in self.elements(value)? {
            match self.store.look(&element) {
                Value::Variable(_) => return Err(Answer::Waits),
                Value::Integer(byte) => bytes.push(u8::try_from(byte).map_err(|_| Answer::Wrong)?),
                _ => return Err(Answer::Wrong),
            }
        }
        Ok(bytes)
    }

    /// The old argument at a position, and the structure or list cell with another.
    fn with_argument(&self, first: &Value, second: &Value, new: &Value) -> Option<(Value, Value)> {
        let old = argument(first, second)?;
        let (position, value) = if matches!(first, Value::Integer(_)) { (first, second) } else { (second, first) };
        let Value::Integer(position) = position else { return None };
        let at = usize::try_from(*position).ok()? - 1;
        Some(match value {
            Value::List(cell) if at == 0 => (old, Value::List(Rc::new((new.clone(), cell.1.clone())))),
            Value::List(cell) => (old, Value::List(Rc::new((cell.0.clone(), new.clone())))),
            Value::Structure(name, arguments) => {
                let mut arguments = arguments.to_vec();
                arguments[at] = new.clone();
                (old, Value::Structure(*name, arguments.into()))
            }
            _ => return None,
        })
    }
}

fn is_number(number: Number, value: &Value) -> bool {
    matches!((number, value), (Number::Integer, Value::Integer(_)) | (Number::Float, Value::Float(_)))
}

fn replaced(elements: &[Value], index: i64, new: &Value) -> Option<Vec<Value>> {
    let mut elements = elements.to_vec();
    *elements.get_mut(usize::try_from(index).ok()?)? = new.clone();
    Some(elements)
}

/// A structure, or a list cell where that is what its name and arguments say.
fn structure(name: weft_fghc::ir::AtomId, arguments: Vec<Value>) -> Value {
    match <[Value; 2]>::try_from(arguments) {
        Ok([head, tail]) if name == atoms::DOT => Value::List(Rc::new((head, tail))),
        Ok(both) => Value::Structure(name, both.into()),
        Err(arguments) => Value::Structure(name, arguments.into()),
    }
}
