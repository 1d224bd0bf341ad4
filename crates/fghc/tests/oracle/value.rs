//! Values as trees, and a store of variables: no words, no heap, no registers.

use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

use weft_fghc::ir::{AtomId, AtomTable, PredicateId, Program, atoms, quote_atom, quote_string, write_float};

use super::Unfit;

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    Variable(usize),
    Integer(i64),
    Float(f64),
    Atom(AtomId),
    String(Rc<[u8]>),
    List(Rc<(Value, Value)>),
    Structure(AtomId, Rc<[Value]>),
    Vector(Rc<[Value]>),
    Predicate(PredicateId),
}

/// What a comparison of values that may have variables gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equal {
    Yes,
    No,
    /// Further bindings decide it.
    Open,
}

/// Values that are looked at for one program: shared parts are gone through as often as they are reached, so that a small
/// program can have a value without end.
const MAX_LOOKS: u64 = 200_000;

/// Variables and names.
pub struct Store<'p> {
    bindings: Vec<Option<Value>>,
    /// Bindings so far.
    pub bound: u64,
    looks: Cell<u64>,
    pub atoms: AtomTable,
    pub program: &'p Program,
}

impl<'p> Store<'p> {
    pub fn new(program: &'p Program) -> Store<'p> {
        Store { bindings: Vec::new(), bound: 0, looks: Cell::new(0), atoms: program.atoms.clone(), program }
    }

    pub fn fresh(&mut self) -> Value {
        self.bindings.push(None);
        Value::Variable(self.bindings.len() - 1)
    }

    /// Whether so much has been looked at that what was found since says nothing: every search has been cut short.
    pub fn is_spent(&self) -> bool {
        self.looks.get() > MAX_LOOKS
    }

    /// What a value is now: a variable only where it is unbound.
    pub fn look(&self, value: &Value) -> Value {
        self.looks.set(self.looks.get() + 1);
        let mut value = value;
        while let Value::Variable(number) = value {
            match &self.bindings[*number] {
                Some(next) => value = next,
                None => break,
            }
        }
        value.clone()
    }

    /// The parts of a value, empty for what has none.
    fn parts(value: &Value) -> Vec<Value> {
        match value {
            Value::List(cell) => vec![cell.0.clone(), cell.1.clone()],
            Value::Structure(_, parts) | Value::Vector(parts) => parts.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether two bound values agree as far as their parts need not be looked at.
    fn alike(left: &Value, right: &Value) -> bool {
        match (left, right) {
            (Value::Integer(left), Value::Integer(right)) => left == right,
            (Value::Float(left), Value::Float(right)) => left == right,
            (Value::Atom(left), Value::Atom(right)) => left == right,
            (Value::String(left), Value::String(right)) => left == right,
            (Value::Predicate(left), Value::Predicate(right)) => left == right,
            (Value::List(_), Value::List(_)) => true,
            (Value::Structure(left, first), Value::Structure(right, second)) => {
                left == right && first.len() == second.len()
            }
            (Value::Vector(first), Value::Vector(second)) => first.len() == second.len(),
            _ => false,
        }
    }

    fn occurs(&self, variable: usize, value: &Value) -> bool {
        if self.is_spent() {
            return false;
        }
        match self.look(value) {
            Value::Variable(other) => other == variable,
            value => Self::parts(&value).iter().any(|part| self.occurs(variable, part)),
        }
    }

    /// Makes two values equal; false where they cannot be.
    pub fn unify(&mut self, left: &Value, right: &Value) -> Result<bool, Unfit> {
        if self.is_spent() {
            return Err(Unfit::TooLong);
        }
        match (self.look(left), self.look(right)) {
            (Value::Variable(left), Value::Variable(right)) if left == right => Ok(true),
            (Value::Variable(variable), value) | (value, Value::Variable(variable)) => {
                if !matches!(value, Value::Variable(_)) && self.occurs(variable, &value) {
                    return Err(Unfit::Cyclic);
                }
                self.bindings[variable] = Some(value);
                self.bound += 1;
                Ok(true)
            }
            (left, right) => {
                if !Self::alike(&left, &right) {
                    return Ok(false);
                }
                for (left, right) in Self::parts(&left).iter().zip(&Self::parts(&right)) {
                    if !self.unify(left, right)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether two values are equal as they are.
    pub fn equal(&self, left: &Value, right: &Value) -> Equal {
        if self.is_spent() {
            return Equal::Open;
        }
        match (self.look(left), self.look(right)) {
            (Value::Variable(left), Value::Variable(right)) if left == right => Equal::Yes,
            (Value::Variable(_), _) | (_, Value::Variable(_)) => Equal::Open,
            (left, right) => {
                if !Self::alike(&left, &right) {
                    return Equal::No;
                }
                let mut all = Equal::Yes;
                for (left, right) in Self::parts(&left).iter().zip(&Self::parts(&right)) {
                    match self.equal(left, right) {
                        Equal::Yes => {}
                        Equal::No => return Equal::No,
                        Equal::Open => all = Equal::Open,
                    }
                }
                all
            }
        }
    }

    fn rank(value: &Value) -> u8 {
        match value {
            Value::Integer(_) => 0,
            Value::Float(_) => 1,
            Value::Atom(_) => 2,
            Value::String(_) => 3,
            Value::List(_) => 4,
            Value::Structure(..) => 5,
            Value::Vector(_) => 6,
            Value::Predicate(_) | Value::Variable(_) => 7,
        }
    }

    /// The standard order; `None` where a variable stands before what would decide it.
    pub fn order(&self, left: &Value, right: &Value) -> Option<Ordering> {
        if self.is_spent() {
            return None;
        }
        let (left, right) = (self.look(left), self.look(right));
        if let (Value::Variable(left), Value::Variable(right)) = (&left, &right)
            && left == right
        {
            return Some(Ordering::Equal);
        }
        if matches!(left, Value::Variable(_)) || matches!(right, Value::Variable(_)) {
            return None;
        }
        let own = match (&left, &right) {
            (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
            (Value::Float(left), Value::Float(right)) => left.total_cmp(right),
            (Value::Atom(left), Value::Atom(right)) => self.atoms.name(*left).cmp(self.atoms.name(*right)),
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Structure(left, first), Value::Structure(right, second)) => {
                first.len().cmp(&second.len()).then_with(|| self.atoms.name(*left).cmp(self.atoms.name(*right)))
            }
            (Value::Vector(first), Value::Vector(second)) => first.len().cmp(&second.len()),
            (Value::Predicate(left), Value::Predicate(right)) => left.cmp(right),
            _ => Self::rank(&left).cmp(&Self::rank(&right)),
        };
        if own != Ordering::Equal {
            return Some(own);
        }
        for (left, right) in Self::parts(&left).iter().zip(&Self::parts(&right)) {
            match self.order(left, right)? {
                Ordering::Equal => {}
                other => return Some(other),
            }
        }
        Some(Ordering::Equal)
    }

    pub fn is_ground(&self, value: &Value) -> bool {
        if self.is_spent() {
            return false;
        }
        match self.look(value) {
            Value::Variable(_) => false,
            value => Self::parts(&value).iter().all(|part| self.is_ground(part)),
        }
    }

    /// A value as text; variables are numbered in the order in which they are met.
    pub fn text(&self, value: &Value, quoted: bool, met: &mut Vec<usize>) -> String {
        if self.is_spent() {
            return String::new();
        }
        let atom = |atom: AtomId| {
            let name = self.atoms.name(atom);
            if quoted { quote_atom(name) } else { name.to_string() }
        };
        match self.look(value) {
            Value::Variable(variable) => {
                let known = met.iter().position(|other| *other == variable).unwrap_or_else(|| {
                    met.push(variable);
                    met.len() - 1
                });
                format!("_{known}")
            }
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => write_float(value),
            Value::Atom(name) => atom(name),
            Value::String(bytes) if quoted => quote_string(&bytes),
            Value::String(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::Predicate(predicate) => format!("predicate#({})", self.program.indicator(predicate)),
            Value::List(cell) => {
                let mut text = format!("[{}", self.text(&cell.0, quoted, met));
                let mut rest = self.look(&cell.1);
                while let Value::List(cell) = &rest {
                    text.push(',');
                    text.push_str(&self.text(&cell.0, quoted, met));
                    rest = self.look(&cell.1);
                }
                if !matches!(rest, Value::Atom(atoms::NIL)) {
                    text.push('|');
                    text.push_str(&self.text(&rest, quoted, met));
                }
                text.push(']');
                text
            }
            Value::Structure(name, arguments) => {
                format!("{}({})", atom(name), self.texts(&arguments, quoted, met))
            }
            Value::Vector(elements) => format!("{{{}}}", self.texts(&elements, quoted, met)),
        }
    }

    fn texts(&self, values: &[Value], quoted: bool, met: &mut Vec<usize>) -> String {
        values.iter().map(|value| self.text(value, quoted, met)).collect::<Vec<_>>().join(",")
    }
}
