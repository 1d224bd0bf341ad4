//! Which predicate need not be counted: every reduction is a commitment of one, and the sum of all is known.
//!
//! Of counters of which one follows from the others, the one that would be written most is left out (Ball and Larus, 1994, do
//! so for every node of a control flow graph). How often is guessed from the program: a predicate that calls itself does so
//! ten times, and of several clauses each is taken as often.

use crate::engine::instruction::{Code, Instruction};

/// How often a predicate is guessed to call itself.
const ITERATIONS: f64 = 10.0;
/// What it takes to find commitments from the budget where a loop is left, in counts of one: it keeps what the budget was
/// while it runs, in a processor register or in memory.
const LOOP: f64 = 3.0;
/// Calls of calls that are followed. Predicates that call each other would go on for ever.
const ROUNDS: usize = 8;

/// A predicate and the calls in it.
struct Calls {
    /// Predicates, and how many of its clauses call them.
    others: Vec<(usize, f64)>,
    is_recursive: bool,
    /// Its commitments are found from the budget when it ends calling itself.
    is_loop: bool,
}

impl Calls {
    /// Of a predicate that counts its commitments.
    fn of(code: &Code, number: usize) -> Option<Calls> {
        let predicate = &code.predicates[number];
        let instructions = &code.instructions[predicate.entry as usize..predicate.end as usize];
        let is_commitment = |instruction: &&Instruction| matches!(instruction, Instruction::Count { .. });
        let clauses = instructions.iter().filter(is_commitment).count();
        if clauses == 0 {
            return None;
        }
        let mut calls = Calls { others: Vec::new(), is_recursive: false, is_loop: false };
        for instruction in instructions {
            let called = match *instruction {
                Instruction::Execute { predicate, .. } => predicate,
                Instruction::Push { call } => code.calls[call as usize].predicate,
                Instruction::Start { start } => code.starts[start as usize].call.predicate,
                _ => continue,
            } as usize;
            calls.is_loop |= called == number && matches!(instruction, Instruction::Execute { .. });
            if called == number {
                calls.is_recursive = true;
            } else {
                calls.others.push((called, 1.0 / clauses as f64));
            }
        }
        Some(calls)
    }
}

/// The predicate whose count would be written most; `None` where none counts.
pub fn most_counted(code: &Code) -> Option<u32> {
    let calls: Vec<Option<Calls>> = (0..code.predicates.len()).map(|number| Calls::of(code, number)).collect();
    let commitments = |entries: &[f64], number: usize| {
        let iterations = if calls[number].as_ref().is_some_and(|calls| calls.is_recursive) { ITERATIONS } else { 1.0 };
        entries[number] * iterations
    };
    let mut entries = vec![1.0; calls.len()];
    for _ in 0..ROUNDS {
        let mut next = vec![1.0; calls.len()];
        for (number, calls) in calls.iter().enumerate() {
            for &(called, share) in calls.iter().flat_map(|calls| &calls.others) {
                next[called] += share * commitments(&entries, number);
            }
        }
        entries = next;
    }
    let written = |(number, calls): (usize, &Option<Calls>)| {
        let is_loop = calls.as_ref()?.is_loop;
        Some((number, if is_loop { LOOP * entries[number] } else { commitments(&entries, number) }))
    };
    let all = calls.iter().enumerate().filter_map(written);
    all.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(number, _)| number as u32)
}
