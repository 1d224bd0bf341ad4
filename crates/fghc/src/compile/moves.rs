//! Moves between registers: all arguments of a goal at once, and as few as possible.

use crate::engine::instruction::{Code, Instruction, Operand, Register};

use super::constants::Constants;

/// Instructions that put operands into registers 0 and up as if all at once.
pub struct Parallel {
    pub code: Vec<Instruction>,
    /// The register beside operands and targets in which a value waits, where operands go round in a circle.
    pub scratch: Option<Register>,
}

/// Moves of the operands of a goal into its argument registers. No register from `free` on holds anything.
///
/// A called goal may have more arguments than there are registers in use, so what is free is not yet beyond its arguments:
/// the scratch register lies behind both.
pub fn parallel(operands: &[Operand], free: Register, constants: &mut Constants) -> Parallel {
    let behind = free.max(operands.len() as Register);
    let mut scratch = None;
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
                // Only circles are left: one of their values waits aside. It is read before the next circle is begun, because
                // what can be written is written first.
                let (target, source) = moves[0];
                code.push(Instruction::Move { target: behind, source: target });
                scratch = Some(behind);
                for (_, other) in moves.iter_mut().filter(|(_, other)| *other == target) {
                    *other = behind;
                }
                debug_assert!(source != target);
            }
        }
    }
    code.append(&mut loads);
    Parallel { code, scratch }
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
        let mut written = false;
        instructions[index].writes(code, &mut |register| written |= register == source);
        written
    }) else {
        return false;
    };
    let (mut is_target, mut same_twice) = (false, false);
    instructions[maker].for_each_target(|register| {
        is_target |= *register == source;
        same_twice |= *register == target;
    });
    if !is_target {
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
    if used_later || same_twice {
        return false;
    }
    // An instruction reads before it writes, except that a list built in place writes its target first.
    instructions[maker].for_each_target(|register| {
        if *register == source {
            *register = target;
        }
    });
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::engine::instruction::{CallSite, PredicateCode, Role};
    use crate::heap::Word;

    /// A value without a meaning: what made it.
    #[derive(Clone, Debug, PartialEq)]
    enum Symbol {
        /// What a register held at first.
        Initial(Register),
        Constant(u32),
        New(usize),
        List(Box<(Symbol, Symbol)>),
    }

    /// Registers, and what the world has seen of them.
    #[derive(Default)]
    struct Machine {
        registers: FxHashMap<Register, Symbol>,
        new_symbols: usize,
        seen: Vec<Symbol>,
    }

    impl Machine {
        fn get(&self, register: Register) -> Symbol {
            self.registers.get(&register).cloned().unwrap_or(Symbol::Initial(register))
        }

        fn new_variable(&mut self) -> Symbol {
            self.new_symbols += 1;
            Symbol::New(self.new_symbols)
        }

        fn run(&mut self, instructions: &[Instruction], code: &Code) {
            for instruction in instructions {
                match *instruction {
                    Instruction::Move { target, source } => {
                        let value = self.get(source);
                        self.registers.insert(target, value);
                    }
                    Instruction::Load { target, constant } => {
                        self.registers.insert(target, Symbol::Constant(constant));
                    }
                    Instruction::Variable { target } => {
                        let value = self.new_variable();
                        self.registers.insert(target, value);
                    }
                    Instruction::Cons { target, head, tail } => {
                        let value = Symbol::List(Box::new((self.get(head), self.get(tail))));
                        self.registers.insert(target, value);
                    }
                    Instruction::ConsVariable { target, head, tail } => {
                        let (head, rest) = (self.get(head), self.new_variable());
                        self.registers.insert(tail, rest.clone());
                        self.registers.insert(target, Symbol::List(Box::new((head, rest))));
                    }
                    Instruction::Unify { left, right } => {
                        let both = [self.get(left), self.get(right)];
                        self.seen.extend(both);
                    }
                    Instruction::Push { call } => {
                        for argument in &code.calls[call as usize].arguments {
                            let Operand::Register(register) = argument else { panic!("{argument:?}") };
                            self.seen.push(self.get(*register));
                        }
                    }
                    Instruction::Execute { predicate, .. } => {
                        for register in 0..Register::from(code.predicates[predicate as usize].arity) {
                            self.seen.push(self.get(register));
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn operand(registers: Register) -> impl Strategy<Value = Operand> {
        prop_oneof![
            5 => (0..registers).prop_map(Operand::Register),
            1 => (-2i64..3).prop_map(|value| Operand::Constant(Word::small(value))),
        ]
    }

    /// Operands, and from where on registers are free: fewer registers than operands, as many, more.
    fn assignment() -> impl Strategy<Value = (Vec<Operand>, Register)> {
        prop_oneof![1u16..4, 1u16..10, 1u16..40]
            .prop_flat_map(|free| (prop::collection::vec(operand(free), 0..12), Just(free)))
    }

    /// A permutation of registers, as often as it is tried.
    fn permutation() -> impl Strategy<Value = (Vec<Operand>, Register)> {
        (1u16..9, 0u16..4).prop_flat_map(|(count, more)| {
            let all: Vec<Operand> = (0..count).map(Operand::Register).collect();
            (Just(all).prop_shuffle(), Just(count + more))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// One move after the other gives what an assignment of all at once gives.
        #[test]
        fn moves_are_an_assignment_of_all_at_once((operands, free) in prop_oneof![assignment(), permutation()]) {
            let mut constants = Constants::default();
            let moves = parallel(&operands, free, &mut constants);
            let before = Machine::default();
            let mut machine = Machine::default();
            machine.run(&moves.code, &Code::default());
            for (target, operand) in operands.iter().enumerate() {
                let wanted = match operand {
                    Operand::Register(source) => before.get(*source),
                    Operand::Constant(word) => Symbol::Constant(constants.index(*word)),
                    Operand::Variable(_) => unreachable!("none is made"),
                };
                prop_assert_eq!(machine.get(target as Register), wanted, "argument {} of {:?}: {:?}", target, operands, moves.code);
            }
            // Nothing is written but arguments and the scratch register that is told.
            for register in machine.registers.keys() {
                prop_assert!((*register as usize) < operands.len() || Some(*register) == moves.scratch);
            }
            if let Some(scratch) = moves.scratch {
                prop_assert!(scratch >= free && scratch as usize >= operands.len());
            }
            prop_assert!(moves.code.len() <= operands.len() + operands.len() / 2);
        }
    }

    /// The body of a clause with some arguments: values are made in registers of their own, then a goal is called.
    #[derive(Clone, Debug)]
    struct Body {
        arity: usize,
        instructions: Vec<Instruction>,
        code_calls: Vec<Vec<Register>>,
        called: Vec<Operand>,
    }

    fn body() -> impl Strategy<Value = Body> {
        let step = (0u8..6, any::<prop::sample::Index>(), any::<prop::sample::Index>());
        (0usize..5, prop::collection::vec(step, 0..8), prop::collection::vec(any::<prop::sample::Index>(), 0..8))
            .prop_map(|(arity, steps, called)| {
                let mut next = arity as Register;
                let mut body = Body { arity, instructions: Vec::new(), code_calls: Vec::new(), called: Vec::new() };
                let fresh = |next: &mut Register| {
                    *next += 1;
                    *next - 1
                };
                for (step, first, second) in steps {
                    if next == 0 {
                        let target = fresh(&mut next);
                        body.instructions.push(Instruction::Variable { target });
                    }
                    let first = first.index(next as usize) as Register;
                    let second = second.index(next as usize) as Register;
                    body.instructions.push(match step {
                        0 => Instruction::Variable { target: fresh(&mut next) },
                        1 => Instruction::Load { target: fresh(&mut next), constant: u32::from(first) },
                        2 => Instruction::Cons { target: fresh(&mut next), head: first, tail: second },
                        3 => {
                            let target = fresh(&mut next);
                            Instruction::ConsVariable { target, head: first, tail: fresh(&mut next) }
                        }
                        4 => Instruction::Unify { left: first, right: second },
                        _ => {
                            body.code_calls.push(vec![first, second]);
                            Instruction::Push { call: body.code_calls.len() as u32 - 1 }
                        }
                    });
                }
                if next > 0 {
                    let operands = called.iter().map(|index| Operand::Register(index.index(next as usize) as Register));
                    body.called = operands.collect();
                }
                let mut constants = Constants::default();
                body.instructions.extend(parallel(&body.called, next, &mut constants).code);
                body.instructions.push(Instruction::Execute { predicate: 0, entry: 0 });
                body
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// Making values where a later move would put them changes nothing that goals see.
        #[test]
        fn a_shorter_body_does_the_same(body in body()) {
            let mut code = Code::default();
            code.predicates.push(PredicateCode { entry: 0, end: 0, arity: body.called.len() as u8, role: Role::Program });
            for registers in &body.code_calls {
                let arguments = registers.iter().map(|register| Operand::Register(*register)).collect();
                code.calls.push(CallSite { predicate: 0, arguments });
            }
            let mut shorter = body.instructions.clone();
            let mut spans = vec![None; shorter.len()];
            shorten(&mut shorter, &mut spans, 0, body.arity, &code);
            prop_assert_eq!(shorter.len(), spans.len());
            let (mut before, mut after) = (Machine::default(), Machine::default());
            before.run(&body.instructions, &code);
            after.run(&shorter, &code);
            prop_assert_eq!(before.seen, after.seen, "{:?}", shorter);
        }
    }
}
