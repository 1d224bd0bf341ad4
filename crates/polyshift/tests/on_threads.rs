//! Exchanges on threads: every byte of every array is what it must be.

use proptest::prelude::*;
use weft_polyshift::program::Check;
use weft_threads::{Options, run};

fn check(ranks: usize, seeds: Vec<u64>) -> Result<(), TestCaseError> {
    let program = Check { seeds, rounds: 2, plain: false };
    run(ranks, &program, &Options::default()).map(drop).map_err(|error| TestCaseError::fail(error.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn exchanges_give_what_they_must(seed: u64, ranks in 1usize..=8) {
        check(ranks, vec![seed])?;
    }
}

#[test]
fn many_exchanges_follow_each_other() {
    check(6, (0..60).collect()).unwrap();
}

/// More ranks than most arrays have elements along an axis.
#[test]
fn ranks_without_elements_take_part() {
    check(13, (100..130).collect()).unwrap();
}
