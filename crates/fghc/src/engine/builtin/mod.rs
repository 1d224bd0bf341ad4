//! Operations of the catalogue: [`guard`] those that test, [`body`] those that do, [`files`] streams of bytes.

mod body;
mod files;
mod guard;

pub use files::Files;

use super::instruction::{Calculation, PlacementKind, PriorityKind, Role};
use super::interpret::Answer;
use super::outgoing::{Outgoing, Throw};
use super::report::ProblemKind;
use super::unify::float_value;
use super::{Engine, arithmetic};
use crate::builtins::{BodyBuiltin, Mode};
use crate::heap::word::{OBJECT, dereference};
use crate::heap::{Kind, Word};
use crate::ir::{BinaryOperation, Number, Placement, UnaryOperation};

/// Largest and smallest priority.
const PRIORITIES: std::ops::RangeInclusive<i64> = -1_000_000_000..=1_000_000_000;

/// What a body builtin answers.
pub(crate) enum Done {
    Yes,
    /// Variables have been noted; it must be asked again.
    Wait,
    /// The engine has a problem to report.
    Problem,
    /// So many words must be free; it must be asked again.
    NeedsWords(usize),
}

/// Whether a builtin needs no more memory than the reserve has, so that it can run where it stands in a body.
pub fn runs_inline(builtin: BodyBuiltin) -> bool {
    matches!(
        builtin,
        BodyBuiltin::Write
            | BodyBuiltin::Print
            | BodyBuiltin::VectorElement
            | BodyBuiltin::StringElement
            | BodyBuiltin::Element
            | BodyBuiltin::VectorSize
            | BodyBuiltin::StringSize
            | BodyBuiltin::Size
            | BodyBuiltin::Argument
            | BodyBuiltin::CurrentPriority
            | BodyBuiltin::CurrentNode
    )
}

/// Whether a bound value is an object of a kind; arrays are vectors.
pub(crate) fn is_object(value: Word, kind: Kind) -> bool {
    if value.tag() != OBJECT {
        return false;
    }
    // SAFETY: a bound value of a live heap.
    let present = unsafe { Kind::of(*value.pointer()) };
    present == kind || kind == Kind::Vector && present == Kind::Array
}

impl Engine {
    /// A builtin within a body: done at once, or left as a goal that waits. False when there is a problem.
    pub(crate) fn builtin_inline(&mut self, call: u32) -> bool {
        let code = self.shared_code();
        let site = &code.calls[call as usize];
        let Role::Builtin(builtin) = code.predicates[site.predicate as usize].role else {
            unreachable!("the compiler calls builtins so")
        };
        let mut arguments = [Word::NIL; 8];
        for (argument, operand) in arguments.iter_mut().zip(site.arguments.iter()) {
            *argument = self.operand(operand);
        }
        let arguments = &arguments[..site.arguments.len()];
        match self.try_builtin(builtin, arguments) {
            Done::Yes => true,
            Done::Problem => false,
            Done::Wait | Done::NeedsWords(_) => {
                self.registers.noted_count = 0;
                self.push_goal(site.predicate, arguments);
                true
            }
        }
    }

    /// A builtin as a goal, arguments in registers 0 and up: done, or suspended. False when there is a problem.
    pub(crate) fn builtin_goal(&mut self, predicate: u32) -> bool {
        let entry = &self.code.predicates[predicate as usize];
        let (arity, role) = (usize::from(entry.arity), entry.role);
        loop {
            let mut arguments = [Word::NIL; 8];
            for (index, argument) in arguments.iter_mut().take(arity).enumerate() {
                // SAFETY: the goal's arguments are in the first registers, of which the engine has one for each
                // argument of any predicate.
                *argument = unsafe { *self.registers.x.add(index) };
            }
            let arguments = &arguments[..arity];
            let done = match role {
                Role::Program => unreachable!("predicates of the program have clauses"),
                Role::Builtin(BodyBuiltin::Collect) => self.collect_goal(),
                Role::Builtin(builtin) => self.try_builtin(builtin, arguments),
                Role::Unary(number, operation) => self.unary_goal(number, operation, arguments),
                Role::Binary(number, operation) => self.binary_goal(number, operation, arguments),
                Role::Start => self.start_waiting(arguments),
                Role::Metacall => {
                    if self.metacall_term(arguments) {
                        Done::Yes
                    } else {
                        Done::Wait
                    }
                }
            };
            match done {
                Done::Yes => return true,
                Done::Problem => return false,
                Done::Wait => {
                    self.suspend(predicate);
                    return true;
                }
                Done::NeedsWords(words) => {
                    if !self.collect(arity, words) {
                        return false;
                    }
                }
            }
        }
    }

    fn collect_goal(&mut self) -> Done {
        let before = self.words_in_use();
        if !self.collect(2, 0) {
            return Done::Problem;
        }
        let after = self.words_in_use();
        // SAFETY: registers hold the arguments, which the collection has moved.
        let (first, second) = unsafe { (*self.registers.x, *self.registers.x.add(1)) };
        self.give_all(&[(first, Word::small(before as i64)), (second, Word::small(after as i64))])
    }

    fn try_builtin(&mut self, builtin: BodyBuiltin, arguments: &[Word]) -> Done {
        let mut values = [Word::NIL; 8];
        for ((value, argument), mode) in values.iter_mut().zip(arguments).zip(builtin.modes()) {
            // SAFETY: the goal's arguments and the values of its node are of this heap, and nothing is collected
            // meanwhile.
            *value = unsafe { dereference(*argument) };
            if matches!(mode, Mode::Input | Mode::Deep) && value.is_variable() {
                self.registers.note(*value);
            }
        }
        if self.registers.noted_count > 0 {
            return Done::Wait;
        }
        self.body_builtin(builtin, &values[..arguments.len()])
    }

    /// Unifies a result.
    pub(crate) fn give(&mut self, target: Word, value: Word) -> Done {
        if self.unify(target, value) {
            return Done::Yes;
        }
        self.unification_failed(target, value);
        Done::Problem
    }

    pub(crate) fn give_all(&mut self, results: &[(Word, Word)]) -> Done {
        for (target, value) in results {
            if let Done::Problem = self.give(*target, *value) {
                return Done::Problem;
            }
        }
        Done::Yes
    }

    /// Whether so many words are free without touching the reserve of the next reduction.
    pub(crate) fn has_space(&mut self, words: usize) -> bool {
        self.spend(words);
        let free = self.registers.free as usize + words * 8;
        free <= self.registers.limit as usize
    }

    /// An integer operation in a body with something else than two integers whose result fits: the value, or a variable
    /// that gets it later.
    pub(crate) fn body_integers(&mut self, operation: BinaryOperation, left: Word, right: Word) -> Option<Word> {
        let role = Role::Binary(Number::Integer, operation);
        self.number_in_body(role, &[left, right])
    }

    /// Any other operation with numbers in a body. False when there is a problem.
    pub(crate) fn body_number(&mut self, calculation: u32) -> bool {
        let code = self.shared_code();
        // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each holds
        // a value of this heap from the start.
        unsafe {
            let x = self.registers.x;
            let (target, value) = match code.calculations[calculation as usize] {
                Calculation::Unary(number, operation, target, operand) => {
                    (target, self.number_in_body(Role::Unary(number, operation), &[*x.add(operand as usize)]))
                }
                Calculation::Binary(number, operation, target, left, right) => {
                    let operands = [*x.add(left as usize), *x.add(right as usize)];
                    (target, self.number_in_body(Role::Binary(number, operation), &operands))
                }
            };
            match value {
                Some(value) => {
                    *x.add(target as usize) = value;
                    true
                }
                None => false,
            }
        }
    }

    fn number_in_body(&mut self, role: Role, operands: &[Word]) -> Option<Word> {
        match self.number(role, operands) {
            Calculated::Value(value) => Some(value),
            Calculated::Unbound => {
                self.registers.noted_count = 0;
                let result = self.new_variable();
                let mut arguments = operands.to_vec();
                arguments.push(result);
                self.push_goal(self.code.role(role), &arguments);
                Some(result)
            }
            Calculated::Problem => None,
            Calculated::Fails(message) => {
                self.raise_operation(message);
                None
            }
        }
    }

    fn unary_goal(&mut self, number: Number, operation: UnaryOperation, arguments: &[Word]) -> Done {
        self.number_goal(Role::Unary(number, operation), arguments)
    }

    fn binary_goal(&mut self, number: Number, operation: BinaryOperation, arguments: &[Word]) -> Done {
        self.number_goal(Role::Binary(number, operation), arguments)
    }

    fn number_goal(&mut self, role: Role, arguments: &[Word]) -> Done {
        let (result, operands) = arguments.split_last().expect("a result and operands");
        match self.number(role, operands) {
            Calculated::Value(value) => self.give(*result, value),
            Calculated::Unbound => Done::Wait,
            Calculated::Problem => Done::Problem,
            Calculated::Fails(message) => {
                self.raise_operation(message);
                Done::Problem
            }
        }
    }

    /// Calculates; two words are free.
    pub(crate) fn number(&mut self, role: Role, operands: &[Word]) -> Calculated {
        let mut values = [Word::NIL; 2];
        for (value, operand) in values.iter_mut().zip(operands) {
            // SAFETY: the goal's arguments and the values of its node are of this heap, and nothing is collected
            // meanwhile.
            *value = unsafe { dereference(*operand) };
            if value.is_variable() {
                self.registers.note(*value);
            }
        }
        if values.iter().any(|value| value.is_variable()) {
            return Calculated::Unbound;
        }
        let values = &values[..operands.len()];
        let wants_float = match role {
            Role::Unary(_, UnaryOperation::FloatToInteger) => true,
            Role::Unary(_, UnaryOperation::IntegerToFloat) => false,
            Role::Unary(number, _) | Role::Binary(number, _) => number == Number::Float,
            _ => unreachable!("only operations with numbers are asked for"),
        };
        let name = match role {
            Role::Unary(_, operation) => operation.name(),
            Role::Binary(_, operation) => operation.name(),
            _ => "",
        };
        for value in values {
            let right = if wants_float { is_object(*value, Kind::Float) } else { value.is_integer() };
            if !right {
                let wanted = if wants_float { "a float" } else { "an integer" };
                let advice = match (wants_float, value.is_integer(), is_object(*value, Kind::Float)) {
                    (true, true, _) => "; floats are calculated with $:=, integers with :=",
                    (false, _, true) => "; integers are calculated with :=, floats with $:=",
                    _ => "",
                };
                return Calculated::Fails(format!("{name} needs {wanted}, not {}{advice}", self.text(*value, true)));
            }
        }
        // SAFETY: floats where floats are wanted.
        let float = |value: Word| unsafe { float_value(value.pointer()) };
        let integers = |answer: Result<Word, arithmetic::Wrong>, engine: &mut Engine| match answer {
            Ok(value) => Calculated::Value(value),
            Err(arithmetic::Wrong::Division) if matches!(name, "<<" | ">>") => {
                Calculated::Fails(format!("{name} by a negative number of bits"))
            }
            Err(arithmetic::Wrong::Division) => Calculated::Fails(format!("{name} by zero")),
            Err(arithmetic::Wrong::Overflow) => {
                let operation = match values {
                    [operand] => format!("{name} {}", engine.text(*operand, true)),
                    [left, right] => format!("{} {name} {}", engine.text(*left, true), engine.text(*right, true)),
                    _ => name.to_string(),
                };
                let location = engine.location();
                engine.raise(ProblemKind::Overflow { operation, location });
                Calculated::Problem
            }
        };
        match role {
            Role::Unary(_, UnaryOperation::FloatToInteger) => {
                let value = float(values[0]).trunc();
                // Every integer of 61 bits is far inside of what the conversion keeps exactly or saturates.
                let whole = if value.is_finite() { Word::integer(value as i64) } else { None };
                integers(whole.ok_or(arithmetic::Wrong::Overflow), self)
            }
            Role::Unary(_, UnaryOperation::IntegerToFloat) => {
                Calculated::Value(self.new_float(values[0].value() as f64))
            }
            Role::Unary(Number::Integer, operation) => {
                integers(arithmetic::integer(operation, values[0].value()), self)
            }
            Role::Binary(Number::Integer, operation) => {
                integers(arithmetic::integers(operation, values[0], values[1]), self)
            }
            Role::Unary(Number::Float, operation) => match arithmetic::float(operation, float(values[0])) {
                Some(value) => Calculated::Value(self.new_float(value)),
                None => Calculated::Fails(format!("{name} is an operation of integers")),
            },
            Role::Binary(Number::Float, operation) => {
                match arithmetic::floats(operation, float(values[0]), float(values[1])) {
                    Some(value) => Calculated::Value(self.new_float(value)),
                    None => Calculated::Fails(format!("{name} is an operation of integers")),
                }
            }
            _ => unreachable!("only operations with numbers are asked for"),
        }
    }

    /// A goal with a pragma: started, or left to wait for what the pragma says. False when there is a problem.
    pub(crate) fn start_site(&mut self, start: u32) -> bool {
        let code = self.shared_code();
        let site = &code.starts[start as usize];
        if let (Some((PlacementKind::Node, register)), None) = (site.placement, site.priority) {
            // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each
            // holds a value of this heap from the start.
            let number = unsafe { dereference(*self.registers.x.add(register as usize)) };
            let pe = usize::try_from(number.value()).ok().filter(|pe| *pe < self.pes && *pe != self.node);
            if number.is_integer()
                && let Some(pe) = pe
            {
                let entry = &self.queues[self.current as usize];
                let (node, priority) = (entry.node, entry.priority);
                let operands = &site.call.arguments;
                self.take_thrown();
                let first = self.outgoing_values.len();
                self.outgoing_values.reserve(operands.len());
                for operand in operands {
                    let argument = self.operand(operand);
                    self.outgoing_values.push(argument);
                }
                self.throw(pe, site.call.predicate, first, node, priority, start);
                return true;
            }
        }
        // Goals of few arguments need no memory of their own, and no time to clear more than they use.
        let operands = &site.call.arguments;
        let (mut few, mut many) = ([Word::NIL; 16], Vec::new());
        let arguments = match few.get_mut(..operands.len()) {
            Some(few) => few,
            None => {
                many.resize(operands.len(), Word::NIL);
                &mut many[..]
            }
        };
        for (argument, operand) in arguments.iter_mut().zip(operands.iter()) {
            *argument = self.operand(operand);
        }
        let arguments = &*arguments;
        // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each holds
        // a value of this heap from the start.
        let register = |register: u16| unsafe { dereference(*self.registers.x.add(register as usize)) };
        let placement = site.placement.map(|(kind, number)| (kind, register(number)));
        let priority = site.priority.map(|(kind, number)| (kind, register(number)));
        let unbound = |value: Option<Word>| value.is_some_and(Word::is_variable);
        if unbound(placement.map(|placement| placement.1)) || unbound(priority.map(|priority| priority.1)) {
            let vector = self.allocate(1 + arguments.len());
            // SAFETY: just allocated.
            unsafe {
                *vector = Word::header(Kind::Vector, arguments.len() as u64);
                for (index, argument) in arguments.iter().enumerate() {
                    *vector.add(1 + index) = *argument;
                }
            }
            let placement_kind = match placement {
                None => 0,
                Some((PlacementKind::Node, _)) => 1,
                Some((PlacementKind::Alloc, _)) => 2,
            };
            let priority_kind = match priority {
                None => 0,
                Some((PriorityKind::Absolute, _)) => 1,
                Some((PriorityKind::Lower, _)) => 2,
            };
            let waiting = [
                Word::small(i64::from(site.call.predicate)),
                Word::object(vector),
                Word::small(placement_kind),
                placement.map_or(Word::small(0), |placement| placement.1),
                Word::small(priority_kind),
                priority.map_or(Word::small(0), |priority| priority.1),
                Word::small(i64::from(start)),
            ];
            self.push_goal(code.role(Role::Start), &waiting);
            return true;
        }
        self.start_placed(site.call.predicate, arguments, placement, priority, start)
    }

    fn start_waiting(&mut self, arguments: &[Word]) -> Done {
        // SAFETY: values of this heap; the second is a vector made by `start_site`.
        unsafe {
            let values: Vec<Word> = arguments.iter().map(|argument| dereference(*argument)).collect();
            for number in [values[3], values[5]] {
                if number.is_variable() {
                    self.registers.note(number);
                }
            }
            if self.registers.noted_count > 0 {
                return Done::Wait;
            }
            let vector = values[1].pointer();
            let goal_arguments: Vec<Word> = (1..crate::heap::collect::words_of(*vector))
                .map(|index| dereference(Word::reference(vector.add(index))))
                .collect();
            let placement = match values[2].value() {
                1 => Some((PlacementKind::Node, values[3])),
                2 => Some((PlacementKind::Alloc, values[3])),
                _ => None,
            };
            let priority = match values[4].value() {
                1 => Some((PriorityKind::Absolute, values[5])),
                2 => Some((PriorityKind::Lower, values[5])),
                _ => None,
            };
            let start = values[6].value() as u32;
            if self.start_placed(values[0].value() as u32, &goal_arguments, placement, priority, start) {
                Done::Yes
            } else {
                Done::Problem
            }
        }
    }

    fn start_placed(
        &mut self,
        predicate: u32,
        arguments: &[Word],
        placement: Option<(PlacementKind, Word)>,
        priority: Option<(PriorityKind, Word)>,
        site: u32,
    ) -> bool {
        let entry = &self.queues[self.current as usize];
        let (node, present) = (entry.node, entry.priority);
        let priority = match priority {
            None => present,
            Some((kind, value)) => {
                if !value.is_integer() {
                    let message = format!("a priority is an integer, not {}", self.text(value, true));
                    self.raise_operation(message);
                    return false;
                }
                let wanted = match kind {
                    PriorityKind::Absolute => value.value(),
                    PriorityKind::Lower => i64::from(present).saturating_sub(value.value()),
                };
                wanted.clamp(*PRIORITIES.start(), *PRIORITIES.end()) as i32
            }
        };
        let Some((kind, number)) = placement else {
            self.start_goal(predicate, arguments, node, priority);
            return true;
        };
        if !number.is_integer() {
            let message = format!("a processing element is named by an integer, not {}", self.text(number, true));
            self.raise_operation(message);
            return false;
        }
        let pe = match kind {
            PlacementKind::Node => usize::try_from(number.value()).ok().filter(|pe| *pe < self.pes),
            PlacementKind::Alloc => Placement::alloc_node(number.value(), self.pes),
        };
        let Some(pe) = pe else {
            let name = self.goal_text(predicate, arguments);
            let message = match kind {
                PlacementKind::Node => format!(
                    "{name}@node({}): there is no such processing element; there are {}, 0 to {}",
                    number.value(),
                    self.pes,
                    self.pes - 1
                ),
                PlacementKind::Alloc => format!(
                    "alloc({})@@{name}: there is no such processing element; with {} they are {} to 6, or 1 to {}",
                    number.value(),
                    self.pes,
                    7 - self.pes as i64,
                    self.pes
                ),
            };
            let location = self.location();
            self.raise(ProblemKind::Placement { message, location });
            return false;
        };
        if pe == self.node {
            self.start_goal(predicate, arguments, node, priority);
        } else {
            self.take_thrown();
            let first = self.outgoing_values.len();
            self.outgoing_values.extend_from_slice(arguments);
            self.throw(pe, predicate, first, node, priority, site);
        }
        true
    }

    /// A goal for another PE, whose arguments are the outgoing values from `first` on.
    fn throw(&mut self, pe: usize, predicate: u32, first: usize, node: u32, priority: i32, site: u32) {
        // Until whoever takes it has counted it, the node must not end.
        self.add_elsewhere(node, 1);
        let arguments = first..self.outgoing_values.len();
        self.outgoing_goals += 1;
        let throw = Throw { node: pe, predicate, goals: 1, arguments, priority, parent: node, site };
        self.outgoing.push(Outgoing::Throw(throw));
        self.hurry();
        self.open_thrown();
    }

    /// A guard goal that is no instruction of its own.
    pub(crate) fn guard(&mut self, guard: u32) -> Answer {
        let code = self.shared_code();
        self.guard_goal(&code.guards[guard as usize])
    }
}

/// What an operation with numbers gives.
pub(crate) enum Calculated {
    Value(Word),
    /// Variables have been noted.
    Unbound,
    /// A wrong type or a division by zero: in guards a failure, in bodies an error.
    Fails(String),
    /// The engine has a problem to report.
    Problem,
}
