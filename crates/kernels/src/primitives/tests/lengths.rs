//! Gets and sends at the lengths where vectors and blocks of indices end.

use super::*;

/// Gets and sends of as many elements as vectors and blocks of indices have, and one fewer or more.
#[test]
fn lengths_around_vectors_and_blocks() {
    let around = |size: usize| size - 1..=size + 1;
    let lengths = (0..=17).chain([64, 128, 1024, 2048, 1024 + 128].into_iter().flat_map(around));
    for (number, length) in lengths.enumerate() {
        for (kind, selected) in [
            (ElementType::Float64, Some(8)),
            (ElementType::Float64, None),
            (ElementType::Int32, None),
            (ElementType::Uint8, Some(8)),
        ] {
            let case = Case {
                kind,
                combination: Combination::Add,
                shape: vec![length],
                axis: 0,
                selected,
                segments: None,
                order: Order { downward: false, exclusive: false },
                threads: 1,
                streaming: number % 2 == 1,
                in_place: false,
                seed: 31 * number as u64 + 1,
            };
            for narrow in [false, true] {
                for extent in [1, 100, 70_000] {
                    for_type!(kind, check_gather(&case, extent, false, narrow));
                    let sum = Collisions::Combine(Combination::Add);
                    for_type!(kind, check_send(&case, extent, sum, false, narrow));
                    for_type!(kind, check_send(&case, extent, Collisions::Refuse, false, narrow));
                }
            }
        }
    }
}
