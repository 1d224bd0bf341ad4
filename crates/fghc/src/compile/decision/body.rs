//! What happens when a clause commits: terms are built, unifications done, goals started.
//!
//! Goals run depth first from left to right: the first is executed at once with its arguments in registers, the others
//! go into the queue so that the second is on top. What is to the left is mostly what produces, so most goals find
//! their inputs there.

use rustc_hash::FxHashMap;

use crate::engine::instruction::{
    Build, Calculation, CallSite, Instruction, MetacallGoal, MetacallSite, Operand, PlacementKind, PriorityKind,
    Register, Role, Start,
};
use crate::heap::Word;
use crate::heap::goal::MAX_ARITY;
use crate::heap::word::Kind;
use crate::ir::{
    BinaryOperation, BodyGoal, Call, Expression, Goal, MetaGoal, Number, Placement, Pragma, Priority, Span, Term,
    VariableId,
};

use super::{Block, State, Tree};
use crate::compile::clause::{Prepared, ValueId};
use crate::compile::constants::Constants;
use crate::compile::literal::{is_literal, literal};
use crate::compile::moves;
use crate::engine::builtin::runs_inline;
use crate::engine::instruction::Boxed;

/// A list with more elements than this is built from its end.
const LONG: usize = 64;

struct Body<'t, 'a, 's, 'b> {
    tree: &'t mut Tree<'a>,
    state: &'s mut State,
    block: &'b mut Block,
    variables: &'b [Option<ValueId>],
    registers: FxHashMap<VariableId, Register>,
    span: Option<Span>,
}

/// Code of a body, to the end of its block.
pub fn generate(tree: &mut Tree<'_>, state: &mut State, prepared: &Prepared, block: &mut Block) {
    let clause = &tree.predicate.clauses[prepared.clause];
    // What was made before commitment for all clauses together must stay as it is when goals are cut off from it.
    let before = block.code.iter().rposition(|instruction| instruction.is_test()).unwrap_or(0);
    let mut body = Body {
        tree,
        state,
        block,
        variables: &prepared.variables,
        registers: FxHashMap::default(),
        span: Some(clause.span),
    };
    let goals: Vec<&BodyGoal> = clause.body.iter().collect();
    body.goals(&goals);
    let arity = body.tree.predicate.arity;
    let code = &body.tree.code;
    moves::shorten(&mut body.block.code, &mut body.block.spans, before, arity, code);
}

/// Code that builds a term of a guard; the register that holds it.
pub fn build_in_guard(
    tree: &mut Tree<'_>,
    state: &mut State,
    _clause: usize,
    term: &Term,
    variables: &[Option<ValueId>],
    block: &mut Block,
) -> Register {
    let mut body = Body { tree, state, block, variables, registers: FxHashMap::default(), span: None };
    if let Term::Variable(_) = term {
        let target = body.fresh();
        body.push(Instruction::Variable { target });
        return target;
    }
    body.register(term)
}

enum Started<'g> {
    Plain(u32, &'g [Term]),
    Pragma(&'g Call, &'g Pragma),
    Metacall(&'g crate::ir::Metacall),
}

impl Body<'_, '_, '_, '_> {
    fn push(&mut self, instruction: Instruction) {
        let span = self.span;
        self.block.push(instruction, span);
    }

    fn fresh(&mut self) -> Register {
        let register = self.state.next;
        // Where there are too many, that is an error of the whole predicate.
        self.state.next = self.state.next.saturating_add(1);
        self.tree.registers = self.tree.registers.max(self.state.next as usize);
        register
    }

    /// The register of a variable that has one, or a value to load.
    fn find(&mut self, variable: VariableId) -> Option<Register> {
        if let Some(&register) = self.registers.get(&variable) {
            return Some(register);
        }
        let value = self.variables.get(variable.0 as usize).copied().flatten()?;
        let register = self.tree.load(self.state, value, self.block);
        self.registers.insert(variable, register);
        Some(register)
    }

    /// The register of a variable; a new variable where it occurs first.
    fn variable(&mut self, variable: VariableId) -> Register {
        if let Some(register) = self.find(variable) {
            return register;
        }
        let target = self.fresh();
        self.push(Instruction::Variable { target });
        self.registers.insert(variable, target);
        target
    }

    /// A term in a register.
    fn register(&mut self, term: &Term) -> Register {
        match term {
            Term::Variable(variable) => self.variable(*variable),
            Term::Integer(_) | Term::Atom(_) => {
                let word = Constants::word(term).expect("an integer or atom is one word");
                let target = self.fresh();
                let constant = self.tree.constants.index(word);
                self.push(Instruction::Load { target, constant });
                target
            }
            Term::Float(value) => self.boxed(Boxed::Float(*value)),
            Term::String(bytes) => self.boxed(Boxed::String(bytes.clone())),
            Term::Predicate(predicate) => self.boxed(Boxed::Predicate(predicate.0)),
            Term::List(..) | Term::Structure(..) | Term::Vector(..) if is_literal(term) => {
                self.boxed(Boxed::Literal(literal(term)))
            }
            Term::List(elements, rest) if elements.len() > LONG => self.long_list(elements, rest),
            Term::List(elements, rest) => self.list(elements, rest),
            Term::Structure(name, arguments) => self.object(Word::structure(name.0, arguments.len()), arguments),
            Term::Vector(elements) => self.object(Word::header(Kind::Vector, elements.len() as u64), elements),
        }
    }

    fn boxed(&mut self, value: Boxed) -> Register {
        let constant = self.tree.constants.boxed(value);
        let target = self.fresh();
        self.push(Instruction::LoadBoxed { target, constant });
        target
    }

    fn list(&mut self, elements: &[Term], rest: &Term) -> Register {
        // From the end: each cell refers to the one after it.
        let heads: Vec<Register> = elements.iter().map(|element| self.register(element)).collect();
        let (&last, others) = heads.split_last().expect("a list has at least one element");
        let target = self.fresh();
        match rest {
            Term::Variable(variable) if self.find(*variable).is_none() => {
                let tail = self.fresh();
                self.registers.insert(*variable, tail);
                self.push(Instruction::ConsVariable { target, head: last, tail });
            }
            rest => {
                let tail = self.register(rest);
                self.push(Instruction::Cons { target, head: last, tail });
            }
        }
        let mut list = target;
        for &head in others.iter().rev() {
            let target = self.fresh();
            self.push(Instruction::Cons { target, head, tail: list });
            list = target;
        }
        list
    }

    /// As [`Body::list`], from the end and with few registers: elements leave theirs to those before them.
    fn long_list(&mut self, elements: &[Term], rest: &Term) -> Register {
        let tail = self.register(rest);
        let list = self.fresh();
        self.push(Instruction::Move { target: list, source: tail });
        for element in elements.iter().rev() {
            let (next, known) = (self.state.next, (self.registers.len(), self.state.registers.len()));
            let head = self.register(element);
            self.push(Instruction::Cons { target: list, head, tail: list });
            if known == (self.registers.len(), self.state.registers.len()) {
                self.state.next = next;
            }
        }
        list
    }

    fn object(&mut self, header: Word, terms: &[Term]) -> Register {
        let mut cells: Vec<Operand> = Vec::with_capacity(terms.len());
        // Inner terms first, so that the cells of this one follow each other.
        let inner: Vec<Option<Register>> = terms
            .iter()
            .map(|term| match term {
                Term::Variable(_) | Term::Integer(_) | Term::Atom(_) => None,
                term => Some(self.register(term)),
            })
            .collect();
        for (term, inner) in terms.iter().zip(inner) {
            cells.push(match (term, inner) {
                (_, Some(register)) => Operand::Register(register),
                (Term::Variable(variable), None) => match self.find(*variable) {
                    Some(register) => Operand::Register(register),
                    None => {
                        let register = self.fresh();
                        self.registers.insert(*variable, register);
                        Operand::Variable(register)
                    }
                },
                (term, None) => Operand::Constant(Constants::word(term).expect("an integer or atom is one word")),
            });
        }
        let target = self.fresh();
        self.tree.code.builds.push(Build { header, cells: cells.into() });
        let build = self.tree.code.builds.len() as u32 - 1;
        self.push(Instruction::Build { target, build });
        target
    }

    /// A term as an argument of a goal: never a variable in place.
    fn operand(&mut self, term: &Term) -> Operand {
        match Constants::word(term) {
            Some(word) => Operand::Constant(word),
            None => Operand::Register(self.register(term)),
        }
    }

    fn goals(&mut self, goals: &[&BodyGoal]) {
        let clause_span = self.span;
        let mut started: Vec<(Started<'_>, Option<Span>)> = Vec::new();
        for goal in goals {
            self.span = Some(goal.span);
            match &goal.goal {
                Goal::Unify(left, right) => self.unify(left, right),
                Goal::Assign(target, number, expression) => {
                    let value = self.assigned(*number, expression);
                    match target {
                        Term::Variable(variable) if self.find(*variable).is_none() => {
                            self.registers.insert(*variable, value);
                        }
                        target => {
                            let left = self.register(target);
                            self.push(Instruction::Unify { left, right: value });
                        }
                    }
                }
                Goal::Builtin(builtin, arguments) => {
                    let predicate = self.tree.code.role(Role::Builtin(*builtin));
                    if runs_inline(*builtin) {
                        let call = self.call(predicate, arguments);
                        self.push(Instruction::Builtin { call });
                    } else {
                        started.push((Started::Plain(predicate, arguments), self.span));
                    }
                }
                Goal::Call(call, pragma) if pragma.is_empty() => {
                    started.push((Started::Plain(call.predicate.0, &call.arguments), self.span));
                }
                Goal::Call(call, pragma) => started.push((Started::Pragma(call, pragma), self.span)),
                Goal::Metacall(metacall) => started.push((Started::Metacall(metacall), self.span)),
            }
        }
        let first = started
            .iter()
            .position(|(goal, _)| matches!(goal, Started::Plain(_, arguments) if arguments.len() <= MAX_ARITY));
        let first = first.map(|index| started.remove(index));
        for (goal, span) in started.into_iter().rev() {
            self.span = span;
            self.start(goal);
        }
        match first {
            Some((Started::Plain(predicate, arguments), span)) => {
                self.span = span;
                let operands = arguments.iter().map(|argument| self.operand(argument)).collect::<Vec<_>>();
                self.execute(predicate, &operands);
            }
            _ => {
                self.span = clause_span;
                self.push(Instruction::Proceed);
            }
        }
    }

    fn call(&mut self, predicate: u32, arguments: &[Term]) -> u32 {
        let arguments = arguments.iter().map(|argument| self.operand(argument)).collect();
        self.tree.code.calls.push(CallSite { predicate, arguments });
        self.tree.code.calls.len() as u32 - 1
    }

    fn start(&mut self, goal: Started<'_>) {
        match goal {
            Started::Plain(predicate, arguments) => {
                let call = self.call(predicate, arguments);
                self.push(Instruction::Push { call });
            }
            Started::Pragma(call, pragma) => {
                let arguments = call.arguments.iter().map(|argument| self.operand(argument)).collect();
                let placement = pragma.placement.as_ref().map(|placement| match placement {
                    Placement::Node(number) => (PlacementKind::Node, self.expression(number)),
                    Placement::Alloc(number) => (PlacementKind::Alloc, self.expression(number)),
                });
                let priority = pragma.priority.as_ref().map(|priority| match priority {
                    Priority::Absolute(value) => (PriorityKind::Absolute, self.expression(value)),
                    Priority::Lower(value) => (PriorityKind::Lower, self.expression(value)),
                });
                let call = CallSite { predicate: call.predicate.0, arguments };
                self.tree.code.starts.push(Start { call, placement, priority, span: self.span });
                let start = self.tree.code.starts.len() as u32 - 1;
                self.push(Instruction::Start { start });
            }
            Started::Metacall(metacall) => {
                let goal = match &metacall.goal {
                    MetaGoal::Call(call) => {
                        let arguments = call.arguments.iter().map(|argument| self.operand(argument)).collect();
                        MetacallGoal::Call(CallSite { predicate: call.predicate.0, arguments })
                    }
                    MetaGoal::Dynamic { term, module } => {
                        MetacallGoal::Dynamic { term: self.register(term), module: module.0 }
                    }
                };
                let result = self.register(&metacall.result);
                let control = self.register(&metacall.control);
                self.tree.code.metacalls.push(MetacallSite { goal, result, control });
                let metacall = self.tree.code.metacalls.len() as u32 - 1;
                self.push(Instruction::Metacall { metacall });
            }
        }
    }

    fn unify(&mut self, left: &Term, right: &Term) {
        match (left, right) {
            (Term::Variable(variable), other) | (other, Term::Variable(variable)) => {
                match self.find(*variable) {
                    None => {
                        // A term that contains the variable itself needs it before.
                        let mut inside = false;
                        other.for_each_variable(&mut |inner| inside |= inner == *variable);
                        if inside {
                            if other == &Term::Variable(*variable) {
                                return;
                            }
                            let left = self.variable(*variable);
                            let right = self.register(other);
                            self.push(Instruction::Unify { left, right });
                        } else {
                            let value = self.register(other);
                            self.registers.insert(*variable, value);
                        }
                    }
                    Some(left) => self.unify_register(left, other),
                }
            }
            _ => {
                let left = self.register(left);
                self.unify_register(left, right);
            }
        }
    }

    fn unify_register(&mut self, left: Register, term: &Term) {
        if let Some(word) = Constants::word(term) {
            let constant = self.tree.constants.index(word);
            self.push(Instruction::UnifyConstant { left, constant });
            return;
        }
        if let Term::List(elements, rest) = term
            && let ([element], Term::Variable(variable)) = (&**elements, &**rest)
            && element != &**rest
        {
            let head = self.register(element);
            if self.find(*variable).is_none() {
                let tail = self.fresh();
                self.registers.insert(*variable, tail);
                self.push(Instruction::UnifyConsVariable { left, head, tail });
                return;
            }
        }
        let right = self.register(term);
        self.push(Instruction::Unify { left, right });
    }

    /// The value of the right side of an assignment: a number even where it is a variable alone.
    fn assigned(&mut self, number: Number, expression: &Expression) -> Register {
        let (operation, neutral) = match number {
            Number::Integer => (BinaryOperation::Add, Expression::Integer(0)),
            Number::Float => (BinaryOperation::Multiply, Expression::Float(1.0)),
        };
        match expression {
            Expression::Variable(_) => {
                let operands = Box::new((expression.clone(), neutral));
                self.expression(&Expression::Binary(number, operation, operands))
            }
            expression => self.expression(expression),
        }
    }

    fn expression(&mut self, expression: &Expression) -> Register {
        match expression {
            Expression::Variable(variable) => self.variable(*variable),
            Expression::Integer(value) => self.register(&Term::Integer(*value)),
            Expression::Float(value) => self.register(&Term::Float(*value)),
            Expression::Unary(number, operation, operand) => {
                let operand = self.expression(operand);
                let target = self.fresh();
                self.calculation(Calculation::Unary(*number, *operation, target, operand));
                target
            }
            Expression::Binary(kind, operation, operands) => {
                let left = self.expression(&operands.0);
                let right = self.expression(&operands.1);
                let target = self.fresh();
                if *kind == Number::Integer {
                    self.push(Instruction::BodyCalculate { operation: *operation, target, left, right });
                } else {
                    self.calculation(Calculation::Binary(*kind, *operation, target, left, right));
                }
                target
            }
        }
    }

    fn calculation(&mut self, calculation: Calculation) {
        self.tree.code.calculations.push(calculation);
        let calculation = self.tree.code.calculations.len() as u32 - 1;
        self.push(Instruction::BodyNumber { calculation });
    }

    /// Arguments into registers 0 and up, all at once, then the goal.
    fn execute(&mut self, predicate: u32, operands: &[Operand]) {
        let moves = moves::parallel(operands, self.state.next, self.tree.constants);
        if let Some(scratch) = moves.scratch {
            self.tree.registers = self.tree.registers.max(usize::from(scratch) + 1);
        }
        for instruction in moves.code {
            self.push(instruction);
        }
        self.push(Instruction::Execute { predicate, entry: 0 });
    }
}
