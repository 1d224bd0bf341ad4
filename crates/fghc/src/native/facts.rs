//! What is known of registers at every instruction of a predicate, given what is known when it begins.
//!
//! A predicate that calls itself is translated once for what any caller may bring, and again for what its own calls are
//! known to bring: then nobody asks again whether a counter is an integer, or whether the variable at the end of the
//! list that it builds is still unbound (versions by what is known: Chevalier-Boisvert and Feeley, 2015).

use std::collections::BTreeSet;

use crate::engine::instruction::{Code, Instruction, Label, NOWHERE, Register, Type};
use crate::heap::Word;

/// What may be known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// It holds an integer, not a reference to one.
    Integer,
    /// It refers to an unbound variable for which nothing waits.
    New,
}

/// Everything that is known at one place.
pub type Facts = BTreeSet<(Register, Fact)>;

/// What is known before each instruction from `entry` to `end`, by their distance from `entry`; `None` where nothing
/// leads.
pub fn analyse(code: &Code, entry: Label, end: Label, begin: &Facts) -> Vec<Option<Facts>> {
    let mut known: Vec<Option<Facts>> = vec![None; (end - entry) as usize];
    known[0] = Some(begin.clone());
    loop {
        let before = known.clone();
        for at in entry..end {
            let Some(facts) = known[(at - entry) as usize].clone() else { continue };
            flow(code, at, &facts, &mut |to, facts| {
                if to == NOWHERE || to < entry || to >= end {
                    return;
                }
                let place = &mut known[(to - entry) as usize];
                *place = Some(match place.take() {
                    None => facts.clone(),
                    Some(found) => found.intersection(facts).copied().collect(),
                });
            });
        }
        if known == before {
            return known;
        }
    }
}

/// Tells where an instruction leads, and what is known there.
fn flow(code: &Code, at: Label, facts: &Facts, tell: &mut impl FnMut(Label, &Facts)) {
    let instruction = code.instructions[at as usize];
    let mut next = facts.clone();
    let learn = |registers: &[Register]| {
        let mut learnt = facts.clone();
        for register in registers {
            learnt.remove(&(*register, Fact::New));
            learnt.insert((*register, Fact::Integer));
        }
        learnt
    };
    match instruction {
        Instruction::Execute { .. }
        | Instruction::Proceed
        | Instruction::Suspend { .. }
        | Instruction::BuiltinEntry { .. } => return,
        Instruction::Jump { to } => return tell(to, facts),
        Instruction::Otherwise { to, .. } => return tell(to, facts),
        Instruction::Switch { table, .. } => {
            let table = &code.tables[table as usize];
            for to in [table.unbound, table.other, table.list] {
                tell(to, facts);
            }
            table.constants.values().chain(table.headers.values()).for_each(|to| tell(*to, facts));
            return;
        }
        // Whatever the answer is, it could only be given for integers.
        Instruction::Compare { left, right, unbound, other, .. } => {
            next = learn(&[left, right]);
            tell(unbound, facts);
            tell(other, &next);
        }
        Instruction::CompareConstant { left, unbound, other, .. } => {
            next = learn(&[left]);
            tell(unbound, facts);
            tell(other, &next);
        }
        Instruction::Calculate { left, right, target, unbound, other, .. } => {
            next = learn(&[left, right]);
            tell(unbound, facts);
            tell(other, &next);
            write(&mut next, target);
            next.insert((target, Fact::Integer));
        }
        Instruction::CalculateConstant { left, target, unbound, other, .. } => {
            next = learn(&[left]);
            tell(unbound, facts);
            tell(other, &next);
            write(&mut next, target);
            next.insert((target, Fact::Integer));
        }
        Instruction::Type { kind: Type::Integer, register, unbound, other } => {
            next = learn(&[register]);
            tell(unbound, facts);
            tell(other, facts);
        }
        Instruction::Constant { register, constant, unbound, other } => {
            if code.constants[constant as usize].is_integer() {
                next = learn(&[register]);
            }
            tell(unbound, facts);
            tell(other, facts);
        }
        Instruction::Load { target, constant } => {
            write(&mut next, target);
            if Word::is_integer(code.constants[constant as usize]) {
                next.insert((target, Fact::Integer));
            }
        }
        Instruction::Move { target, source } => {
            let integer = facts.contains(&(source, Fact::Integer));
            // One register for each new variable: binding it through another would go unnoticed.
            let new = next.remove(&(source, Fact::New));
            write(&mut next, target);
            if integer {
                next.insert((target, Fact::Integer));
            }
            if new {
                next.insert((target, Fact::New));
            }
        }
        Instruction::Variable { target } => {
            write(&mut next, target);
            next.insert((target, Fact::New));
        }
        Instruction::ConsVariable { target, tail, .. } => {
            write(&mut next, target);
            write(&mut next, tail);
            next.insert((tail, Fact::New));
        }
        Instruction::UnifyConsVariable { left, tail, .. } => {
            bind(&mut next, left);
            write(&mut next, tail);
            next.insert((tail, Fact::New));
        }
        Instruction::UnifyConstant { left, .. } => bind(&mut next, left),
        _ => {
            let mut copy = instruction;
            copy.for_each_label(|to| tell(*to, facts));
            if !leaves_variables(&instruction) {
                forget_variables(&mut next);
            }
            instruction.writes(code, &mut |register| write(&mut next, register));
        }
    }
    tell(at + 1, &next);
}

fn write(facts: &mut Facts, register: Register) {
    facts.remove(&(register, Fact::Integer));
    facts.remove(&(register, Fact::New));
}

/// The variable in a register is bound. A new one is bound without anything else; another might be any.
fn bind(facts: &mut Facts, register: Register) {
    if !facts.remove(&(register, Fact::New)) {
        forget_variables(facts);
    }
}

fn forget_variables(facts: &mut Facts) {
    facts.retain(|(_, fact)| *fact != Fact::New);
}

/// Whether an instruction binds no variable that exists.
fn leaves_variables(instruction: &Instruction) -> bool {
    use Instruction::*;
    if instruction.is_test() {
        return !matches!(instruction, Guard { .. });
    }
    matches!(
        instruction,
        Cell { .. }
            | LoadBoxed { .. }
            | Cons { .. }
            | Build { .. }
            | Push { .. }
            | Count { .. }
            | Forget
            | Ensure { .. }
            | BodyCalculate { .. }
    )
}
