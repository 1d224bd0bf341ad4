//! Reductions along an axis that is not the last, whose columns are divided among threads.

use super::*;

/// Rows that end before, at, and behind what a task has, for threads that tasks can be divided among evenly or not.
#[test]
fn columns_for_any_number_of_threads() {
    let around = |size: usize| size - 1..=size + 1;
    let widths = [128, 256, 384, 1024, 2048, 3072].into_iter().flat_map(around);
    for (number, after) in widths.enumerate() {
        for (kind, combination, selected) in [
            (ElementType::Float64, Combination::Add, None),
            (ElementType::Int32, Combination::Add, Some(8)),
            (ElementType::Int8, Combination::Max, Some(1)),
            (ElementType::Bool, Combination::Or, Some(8)),
        ] {
            for (threads, before) in [(1, 1), (2, 1), (3, 1), (3, 2), (7, 1), (7, 3)] {
                let case = Case {
                    kind,
                    combination,
                    shape: vec![before, 3, after],
                    axis: 1,
                    selected,
                    segments: None,
                    order: Order { downward: false, exclusive: false },
                    threads,
                    streaming: number % 2 == 1,
                    in_place: false,
                    seed: 37 * number as u64 + threads as u64,
                };
                for_type!(kind, check_reduce_axis(&case));
            }
        }
    }
}
