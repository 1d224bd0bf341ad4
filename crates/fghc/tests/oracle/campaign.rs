//! Chunks of random programs: found, compared, and what differs made small.

use std::collections::BTreeMap;

use super::compare::{Batch, Case, Schedule, expected, pe_schedule};
use super::generate::{Program, Random, program};
use super::shrink::shrunk;
use super::{End, Unfit};

/// Something that differs.
pub struct Failure {
    /// The seed of the program, and which of its goals, for [`program`].
    pub seed: u64,
    pub goal: u64,
    pub pes: usize,
    pub differences: Vec<String>,
    /// The program, with as little as shows it.
    pub text: String,
}

/// What a chunk of programs gave.
#[derive(Default)]
pub struct Chunk {
    pub compared: usize,
    /// Sets of predicates: some programs share theirs, and differ in their goal.
    pub sets: usize,
    pub unfit: BTreeMap<Unfit, usize>,
    pub finished: usize,
    pub suspended: usize,
    pub failed: usize,
    pub reductions: u64,
    /// Whether there was native code to compare.
    pub native: bool,
    pub failures: Vec<Failure>,
}

/// Programs that have the same predicates, at most: each starts with another goal.
const GOALS: u64 = 5;

/// Runs the programs of chunk `number` on so many PEs: `size` of those that the evaluator finds fit. With one PE,
/// interpreter and native code each run a program in order and in a random one with collections; with more, each runs it
/// with random schedules, copy limits and collections.
pub fn chunk(number: u64, size: usize, pes: usize) -> Chunk {
    let mut random = Random::new(number.wrapping_mul(64).wrapping_add(pes as u64));
    let mut chunk = Chunk::default();
    let (mut seeds, mut cases) = (Vec::new(), Vec::new());
    let mut sets = 0;
    while cases.len() < size {
        let seed = random.next();
        sets += 1;
        for goal in 0..GOALS.min((size - cases.len()) as u64) {
            match expected(&program(seed, goal, &sets.to_string(), pes), pes) {
                Ok(case) => {
                    match case.outcome.end {
                        End::Finished => chunk.finished += 1,
                        End::Suspended(_) => chunk.suspended += 1,
                        End::Failed => chunk.failed += 1,
                    }
                    chunk.reductions += case.outcome.reductions;
                    cases.push(case);
                    seeds.push((seed, goal));
                }
                Err(unfit) => *chunk.unfit.entry(unfit).or_insert(0) += 1,
            }
        }
    }
    chunk.sets = sets;
    let counting = number % 2 == 1;
    let batch = Batch::new(&cases, counting).unwrap_or_else(|error| panic!("chunk {number}, {pes} PEs: {error}"));
    chunk.native = batch.is_native();
    for (index, &(seed, goal)) in seeds.iter().enumerate() {
        let differences = differences(&batch, index, seed ^ goal, pes);
        if !differences.is_empty() {
            let text = smallest(&cases[index].program, seed ^ goal, counting, pes).text();
            chunk.failures.push(Failure { seed, goal, pes, differences, text });
        }
        chunk.compared += 1;
    }
    chunk
}

/// What differs for one program of a batch; how it is run depends on its seed alone.
fn differences(batch: &Batch<'_>, index: usize, seed: u64, pes: usize) -> Vec<String> {
    let mut random = Random::new(seed ^ 0x5EED);
    if pes == 1 {
        let collect_every = if random.chance(70) { Some(1 + random.below(30) as u64) } else { None };
        let seed = random.next();
        let rounds = (if random.chance(30) { Some(seed) } else { None }, collect_every, true);
        let schedules: [Schedule; 3] = [(None, None, false), (Some(seed), collect_every, false), rounds];
        return batch.differences(index, &schedules);
    }
    [false, true]
        .into_iter()
        .filter_map(|native| {
            let pe_schedule = pe_schedule(&mut random, pes);
            batch.difference_on_pes(index, native, pe_schedule)
        })
        .collect()
}

fn smallest(program: &Program, seed: u64, counting: bool, pes: usize) -> Program {
    let mut shows = |candidate: &Program| {
        let Ok(case) = expected(candidate, pes) else { return false };
        let cases: [Case; 1] = [case];
        Batch::new(&cases, counting).is_ok_and(|batch| !differences(&batch, 0, seed, pes).is_empty())
    };
    if shows(program) { shrunk(program, &mut shows) } else { program.clone() }
}
