//! Moves between registers: all arguments of a goal at once, and as few as possible.

use crate::engine::instruction::{Code, Instruction, MetacallGoal, Operand, Register};

use super::constants::Constants;

/// Instructions that put operands into registers 0 and up as if all at once.
pub fn parallel(operands: &[Operand], scratch: Register, constants: &mut Constants) -> Vec<Instruction> {
    let mut moves: Vec<(Register, Register)> = Vec::new();
    let mut loads = Vec::new();
    for (target, operand) in operands.iter().enumerate() {
        let target = target as Register;
        match operand {
            Operand::Register(source) if *source == target => {}
            Operand::Register(source) => moves.push((target, *source)),
            Operand::Constant(word) => loads.push(Instruction::Load { target, constant: constants.index(*word) }),
            Operand::Variable(_) => unreachable!("arguments of goals are no variables in place"),
        }
    }
    let mut code = Vec::new();
    while !moves.is_empty() {
        // A target that nothing still reads can be written.
        match moves.iter().position(|(target, _)| !moves.iter().any(|(_, source)| source == target)) {
            Some(index) => {
                let (target, source) = moves.swap_remove(index);
                code.push(Instruction::Move { target, source });
            }
            None => {
                // Only circles are left: one of their values waits aside.
                let (target, source) = moves[0];
                code.push(Instruction::Move { target: scratch, source: target });
                for (_, other) in moves.iter_mut().filter(|(_, other)| *other == target) {
                    *other = scratch;
                }
                debug_assert!(source != target);
            }
        }
    }
    code.append(&mut loads);
    code
}

impl Instruction {
    /// Whether it can lead elsewhere than to the next instruction.
    pub fn is_test(&self) -> bool {
        use Instruction::*;
        matches!(
            self,
            List { .. }
                | ListParts { .. }
                | Constant { .. }
                | Header { .. }
                | Boxed { .. }
                | Type { .. }
                | Switch { .. }
                | Compare { .. }
                | CompareConstant { .. }
                | Calculate { .. }
                | CalculateConstant { .. }
                | Guard { .. }
                | Same { .. }
                | Jump { .. }
                | Suspend { .. }
                | Otherwise { .. }
        )
    }

    /// Calls `visit` with every register that is read.
    pub fn reads(&self, code: &Code, visit: &mut impl FnMut(Register)) {
        use Instruction::*;
        let operands = |operands: &[Operand], visit: &mut dyn FnMut(Register)| {
            for operand in operands {
                if let Operand::Register(register) = operand {
                    visit(*register);
                }
            }
        };
        match *self {
            List { register, .. }
            | ListParts { register, .. }
            | Constant { register, .. }
            | Header { register, .. }
            | Boxed { register, .. }
            | Type { register, .. }
            | Switch { register, .. } => visit(register),
            Cell { source, .. } | Move { source, .. } => visit(source),
            Compare { left, right, .. }
            | Calculate { left, right, .. }
            | Same { left, right, .. }
            | Unify { left, right }
            | BodyCalculate { left, right, .. } => {
                visit(left);
                visit(right);
            }
            CompareConstant { left, .. } | CalculateConstant { left, .. } | UnifyConstant { left, .. } => visit(left),
            Cons { head, tail, .. } => {
                visit(head);
                visit(tail);
            }
            ConsVariable { head, .. } => visit(head),
            UnifyConsVariable { left, head, .. } => {
                visit(left);
                visit(head);
            }
            Build { build, .. } => operands(&code.builds[build as usize].cells, visit),
            BodyNumber { calculation } => {
                use crate::engine::instruction::Calculation;
                match code.calculations[calculation as usize] {
                    Calculation::Unary(_, _, _, operand) => visit(operand),
                    Calculation::Binary(_, _, _, left, right) => {
                        visit(left);
                        visit(right);
                    }
                }
            }
            Builtin { call } | Push { call } => operands(&code.calls[call as usize].arguments, visit),
            Start { start } => {
                let start = &code.starts[start as usize];
                operands(&start.call.arguments, visit);
                start.place.iter().for_each(|(_, register)| visit(*register));
                start.priority.iter().for_each(|(_, register)| visit(*register));
            }
            Metacall { metacall } => {
                let site = &code.metacalls[metacall as usize];
                match &site.goal {
                    MetacallGoal::Call(call) => operands(&call.arguments, visit),
                    MetacallGoal::Dynamic { term, .. } => visit(*term),
                }
                visit(site.result);
                visit(site.control);
            }
            Execute { predicate, .. } => {
                (0..Register::from(code.predicates[predicate as usize].arity)).for_each(visit);
            }
            _ => {}
        }
    }

    /// The registers that are written, where that can be changed: those of the instruction itself.
    fn targets(&mut self) -> [Option<&mut Register>; 2] {
        use Instruction::*;
        match self {
            ListParts { head, tail, .. } => [Some(head), Some(tail)],
            ConsVariable { target, tail, .. } => [Some(target), Some(tail)],
            UnifyConsVariable { tail, .. } => [Some(tail), None],
            Cell { target, .. }
            | Calculate { target, .. }
            | CalculateConstant { target, .. }
            | Move { target, .. }
            | Load { target, .. }
            | LoadBoxed { target, .. }
            | Variable { target }
            | Cons { target, .. }
            | Build { target, .. }
            | BodyCalculate { target, .. } => [Some(target), None],
            _ => [None, None],
        }
    }

    /// Calls `visit` with every register that is written.
    pub fn writes(&self, code: &Code, visit: &mut impl FnMut(Register)) {
        let mut copy = *self;
        for target in copy.targets().into_iter().flatten() {
            visit(*target);
        }
        match *self {
            Instruction::Build { build, .. } => {
                for operand in &code.builds[build as usize].cells {
                    if let Operand::Variable(register) = operand {
                        visit(*register);
                    }
                }
            }
            Instruction::BodyNumber { calculation } => {
                use crate::engine::instruction::Calculation;
                match code.calculations[calculation as usize] {
                    Calculation::Unary(_, _, target, _) | Calculation::Binary(_, _, target, _, _) => visit(target),
                }
            }
            Instruction::Guard { guard, .. } => {
                use crate::engine::instruction::Guard;
                match &code.guards[guard as usize] {
                    Guard::Unary(_, _, target, _) | Guard::Binary(_, _, target, _, _) => visit(*target),
                    Guard::Builtin(_, _, targets) => targets.iter().for_each(|target| visit(*target)),
                    Guard::Compare(..) => {}
                }
            }
            _ => {}
        }
    }
}

/// Joins loads of both parts of a list with its test, and lets values be made where a later move would put them.
/// `from` is where the last test stands; from there on nothing leads elsewhere.
pub fn shorten(
    instructions: &mut Vec<Instruction>,
    spans: &mut Vec<Option<crate::ir::Span>>,
    mut from: usize,
    arity: usize,
    code: &Code,
) {
    if let [
        Instruction::List { register, unbound, other },
        Instruction::Cell { target: first, source: a, index: i },
        Instruction::Cell { target: second, source: b, index: j },
        ..,
    ] = instructions[from..]
        && a == register
        && b == register
        && i != j
        && i < 2
        && j < 2
    {
        let (head, tail) = if i == 0 { (first, second) } else { (second, first) };
        instructions[from] = Instruction::ListParts { register, head, tail, unbound, other };
        instructions.drain(from + 1..from + 3);
        spans.drain(from + 1..from + 3);
    }
    // Loads that no test needs may stand after it; the test itself is the first that may be changed.
    if !instructions.get(from).is_some_and(|instruction| instruction.is_test()) {
        from = 0;
    }
    let mut index = from + 1;
    while index < instructions.len() {
        let Instruction::Move { target, source } = instructions[index] else {
            index += 1;
            continue;
        };
        if try_retarget(instructions, from, index, target, source, arity, code) {
            instructions.remove(index);
            spans.remove(index);
        } else {
            index += 1;
        }
    }
}

/// Lets the instruction that makes `source` make `target` instead, if nothing in between needs either as it was.
fn try_retarget(
    instructions: &mut [Instruction],
    from: usize,
    at: usize,
    target: Register,
    source: Register,
    arity: usize,
    code: &Code,
) -> bool {
    if (source as usize) < arity {
        // An argument: it is also what a goal that suspends is made of.
        return false;
    }
    let Some(maker) = (from..at).rev().find(|&index| {
        let mut found = false;
        instructions[index].writes(code, &mut |register| found |= register == source);
        found
    }) else {
        return false;
    };
    let mut copy = instructions[maker];
    if !copy.targets().into_iter().flatten().any(|register| *register == source) {
        return false;
    }
    for instruction in &instructions[maker + 1..at] {
        let mut clash = false;
        instruction.reads(code, &mut |register| clash |= register == target || register == source);
        instruction.writes(code, &mut |register| clash |= register == target);
        if clash {
            return false;
        }
    }
    let mut used_later = false;
    for instruction in &instructions[at + 1..] {
        instruction.reads(code, &mut |register| used_later |= register == source);
    }
    let mut same_twice = false;
    for other in copy.targets().into_iter().flatten() {
        same_twice |= *other == target;
    }
    if used_later || same_twice {
        return false;
    }
    // An instruction reads before it writes, except that a list built in place writes its target first.
    for register in instructions[maker].targets().into_iter().flatten() {
        if *register == source {
            *register = target;
        }
    }
    true
}
