//! Spreads along short lines, whose vectors reach into the lines after them.

use super::*;

/// Every element of every line is the line's, and nothing is stored beyond the last line.
fn check_lines<T: Number>(kind: ElementType, streaming: bool) {
    let extents = (1..=70).chain([127, 128, 129, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049]);
    for (number, extent) in extents.enumerate() {
        for before in [1, 2, 3, 17, 64, 65] {
            for threads in [1, 3] {
                let (length, index) = (before * extent, number % extent);
                let x = numbers::<T>(&values(number as u64, length, false));
                let mut out = numbers::<T>(&values(!(number as u64), length + 64, false));
                let mut expected = out.clone();
                for (at, expected) in expected[..length].iter_mut().enumerate() {
                    *expected = x[at / extent * extent + index];
                }
                let axis = Axis::of(&[before, extent], 1).expect("the axis is there");
                // SAFETY: the views are of arrays that are there.
                let done = with_streaming(streaming, || unsafe {
                    spread(view(&x), view_mut(&mut out[..length]), axis, index, None, Some(threads))
                });
                assert_eq!(done, Ok(()), "{kind:?} {before}x{extent}");
                assert_same(&out, &expected);
            }
        }
    }
}

#[test]
fn short_lines_of_one_element_each() {
    for kind in [ElementType::Uint8, ElementType::Int16, ElementType::Float32, ElementType::Float64] {
        for streaming in [false, true] {
            for_type!(kind, check_lines(kind, streaming));
        }
    }
}
