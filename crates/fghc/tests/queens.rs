//! The two programs of the paper's appendix: exact counts, whatever the order and however often is collected.

mod common;

use common::{load, run_loaded};
use weft_fghc::engine::{Options, Translation};

const PROGRAM_1: &str = include_str!("../../../programs/fghc/program1.fghc");
const PROGRAM_2: &str = include_str!("../../../programs/fghc/program2.fghc");

fn goal(depth: usize) -> String {
    format!("t([1,2,3,4,5,6,7,8],6,{depth})")
}

#[test]
fn program_1_takes_the_same_reductions_at_every_depth() {
    for (depth, is_native) in [(1, false), (2, false), (3, false), (8, false), (2, true), (3, true)] {
        let loaded = load(PROGRAM_1, &goal(depth), true);
        let loaded = if is_native { loaded.translate() } else { loaded };
        let done = run_loaded(&loaded, Options::default()).done();
        assert_eq!(done.counters().reductions, 38_879, "depth {depth}");
        assert_eq!(done.output.lines().count(), 92, "depth {depth}");
        let counts = done.engine.counts();
        let of = |names: &[&str]| -> u64 {
            let named = |full: &str| names.iter().any(|name| full.starts_with(&format!("queenx:{name}/")));
            counts.iter().filter(|(full, _)| named(full)).map(|(_, count)| count).sum()
        };
        assert_eq!(
            [of(&["append"]), of(&["queen_n", "queen_1"]), of(&["c1_n", "c1"]), of(&["t", "queen"])],
            [12_052, 7_565, 19_260, 2],
            "depth {depth}"
        );
    }
}

#[test]
fn program_1_does_not_depend_on_order_or_collections() {
    let loaded = load(PROGRAM_1, &goal(2), false);
    let mut expected: Option<Vec<String>> = None;
    for (seed, collect_every) in [(None, None), (None, Some(50)), (Some(1), None), (Some(2), Some(997))] {
        let done = run_loaded(&loaded, Options { seed, collect_every, ..Options::default() }).done();
        assert_eq!(done.counters().reductions, 38_879, "seed {seed:?}, collections {collect_every:?}");
        let mut solutions: Vec<String> = done.output.lines().map(str::to_string).collect();
        solutions.sort();
        match &expected {
            None => expected = Some(solutions),
            Some(expected) => assert_eq!(&solutions, expected, "seed {seed:?}, collections {collect_every:?}"),
        }
    }
}

#[test]
fn program_2_takes_the_reductions_of_its_grain() {
    let expected = [38_880, 38_883, 38_895, 38_889, 38_925, 38_916, 38_916, 38_901];
    for (k, reductions) in (1..).zip(expected) {
        let done = run_loaded(&load(PROGRAM_2, &format!("go8(1,{k})"), false), Options::default()).done();
        assert_eq!(done.counters().reductions, reductions, "K = {k}");
    }
}

/// Every reduction is one of a predicate, however reductions are cut into slices and wherever goals wait: the counts of
/// native code, which come from the budget in loops, are those of the interpreter.
#[test]
fn counts_by_predicate_are_the_same_in_native_code() {
    const PROGRAMS: [(&str, &str); 7] = [
        (include_str!("../../../programs/fghc/quicksort.fghc"), "main"),
        (include_str!("../../../programs/fghc/primes.fghc"), "count(150, Number)"),
        (include_str!("../../../programs/fghc/reverse.fghc"), "main"),
        (include_str!("../../../programs/fghc/demand.fghc"), "demand(200, Sum)"),
        (include_str!("../../../programs/fghc/buffer.fghc"), "run(200, 4, 0, Sum)"),
        (include_str!("../../../programs/fghc/metacalls.fghc"), "run(0, Result), failing(Failed)"),
        (include_str!("../../../programs/fghc/several.fghc"), "distributed(1, Which)"),
    ];
    for (program, goal) in PROGRAMS {
        let loaded = load(program, goal, true);
        let native = loaded.clone().translate();
        for (seed, collect_every) in
            [(None, None), (None, Some(1)), (None, Some(13)), (Some(1), Some(200)), (Some(2), None)]
        {
            let [interpreted, natively] = [&loaded, &native]
                .map(|loaded| run_loaded(loaded, Options { seed, collect_every, ..Options::default() }).done());
            let description = format!("{goal}, seed {seed:?}, a collection every {collect_every:?}");
            assert_eq!(natively.engine.counts(), interpreted.engine.counts(), "{description}");
            assert_eq!(natively.counters(), interpreted.counters(), "{description}");
            let sum: u64 = natively.engine.counts().iter().map(|(_, count)| count).sum();
            assert_eq!(sum, natively.counters().reductions, "{description}");
        }
    }
}

/// Ways to translate that are for measuring are the same program: wherever functions lie, all is as the interpreter has it, and
/// without counters only those are missing.
#[test]
fn placements_and_missing_counters_change_nothing_else() {
    for (program, goal) in [
        (include_str!("../../../programs/fghc/quicksort.fghc"), "main"),
        (include_str!("../../../programs/fghc/demand.fghc"), "demand(200, Sum)"),
    ] {
        let loaded = load(program, goal, true);
        let wanted = run_loaded(&loaded, Options::default()).done();
        for counters in [true, false] {
            for placement in [None, Some(1), Some(2), Some(3), Some(4)] {
                let translation = Translation { counters, placement };
                let outcome = run_loaded(&loaded.clone().translate_as(&translation), Options::default()).done();
                assert_eq!(outcome.engine.answers(), wanted.engine.answers(), "{goal}, {translation:?}");
                assert_eq!(outcome.output, wanted.output, "{goal}, {translation:?}");
                assert_eq!(outcome.engine.counts(), wanted.engine.counts(), "{goal}, {translation:?}");
                assert_eq!(outcome.counters().reductions, wanted.counters().reductions, "{goal}, {translation:?}");
                if counters {
                    assert_eq!(outcome.counters(), wanted.counters(), "{goal}, {translation:?}");
                }
            }
        }
    }
}
