//! What is known of registers at every instruction of a predicate, given what is known when it begins.
//!
//! A predicate that calls itself is translated once for what any caller may bring, and again for what its own calls are
//! known to bring: then nobody asks again whether a counter is an integer, or whether the variable at the end of the
//! list that it builds is still unbound (versions by what is known: Chevalier-Boisvert and Feeley, 2015).

use std::collections::BTreeSet;

use crate::engine::instruction::{Code, Instruction, Label, NOWHERE, Register, Type};

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
                let slot = &mut known[(to - entry) as usize];
                *slot = Some(match slot.take() {
                    None => facts.clone(),
                    Some(known) => known.intersection(facts).copied().collect(),
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
    if instruction.ends_block() {
        instruction.labels(code).into_iter().for_each(|to| tell(to, facts));
        return;
    }
    let next = match instruction.is_test() {
        true => behind_test(code, &instruction, facts, tell),
        false => behind_step(code, &instruction, facts),
    };
    tell(at + 1, &next);
}

/// Tells where a test leads when its answer is not yes; what is known where it is.
fn behind_test(code: &Code, instruction: &Instruction, facts: &Facts, tell: &mut impl FnMut(Label, &Facts)) -> Facts {
    let (learnt, target, unbound, other) = match *instruction {
        Instruction::Compare { left, right, unbound, other, .. } => {
            (integers(facts, &[left, right]), None, unbound, other)
        }
        Instruction::CompareConstant { left, unbound, other, .. } => (integers(facts, &[left]), None, unbound, other),
        Instruction::Calculate { left, right, target, unbound, other, .. } => {
            (integers(facts, &[left, right]), Some(target), unbound, other)
        }
        Instruction::CalculateConstant { left, target, unbound, other, .. } => {
            (integers(facts, &[left]), Some(target), unbound, other)
        }
        _ => {
            instruction.labels(code).into_iter().for_each(|to| tell(to, facts));
            return match *instruction {
                Instruction::Type { kind: Type::Integer, register, .. } => integers(facts, &[register]),
                Instruction::Constant { register, constant, .. } if code.constants[constant as usize].is_integer() => {
                    integers(facts, &[register])
                }
                _ => behind_any(code, instruction, facts),
            };
        }
    };
    // Whatever the answer is, it could only be given for integers.
    tell(unbound, facts);
    tell(other, &learnt);
    match target {
        Some(target) => integers(&learnt, &[target]),
        None => learnt,
    }
}

/// What is known behind an instruction that only leads to the next.
fn behind_step(code: &Code, instruction: &Instruction, facts: &Facts) -> Facts {
    let mut next = facts.clone();
    match *instruction {
        Instruction::Load { target, constant } => {
            write(&mut next, target);
            if code.constants[constant as usize].is_integer() {
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
        _ => return behind_any(code, instruction, facts),
    }
    next
}

/// What is known behind an instruction of which nothing is known but its row of the table.
fn behind_any(code: &Code, instruction: &Instruction, facts: &Facts) -> Facts {
    let mut next = facts.clone();
    if instruction.binds_variables() {
        forget_variables(&mut next);
    }
    instruction.writes(code, &mut |register| write(&mut next, register));
    next
}

/// Registers have been seen to hold integers.
fn integers(facts: &Facts, registers: &[Register]) -> Facts {
    let mut learnt = facts.clone();
    for register in registers {
        write(&mut learnt, *register);
        learnt.insert((*register, Fact::Integer));
    }
    learnt
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
