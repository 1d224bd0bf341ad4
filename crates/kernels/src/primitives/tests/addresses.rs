//! Numbers by coordinates, beside sums in 128 bits.

use super::super::addresses::{Along, addresses};
use super::super::{ElementType, PrimitiveError, View};
use crate::Execution;

fn view<T>(kind: ElementType, elements: &mut [T]) -> View {
    View { kind, pointer: elements.as_mut_ptr().cast(), length: elements.len() }
}

fn on(threads: usize) -> Execution<'static> {
    Execution::from(Some(threads))
}

#[test]
fn they_are_sums_of_coordinates_of_every_type_and_length() {
    for length in [0, 1, 2, 7, 63, 64, 65, 1023, 1024, 1025, 4099] {
        let mut bytes: Vec<u8> = (0..length).map(|index| (index * 37 % 251) as u8).collect();
        let mut shorts: Vec<i16> = (0..length).map(|index| (index * 91 % 65_521) as i16).collect();
        let mut words: Vec<i32> = (0..length).map(|index| (index as i32).wrapping_mul(2_654_435)).collect();
        let mut longs: Vec<u64> = (0..length).map(|index| (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let strides = [-3i64, 1 << 40, 1009, 7];
        let expected: Vec<i64> = (0..length)
            .map(|index| {
                let all = [bytes[index].into(), shorts[index].into(), words[index].into(), longs[index].into()];
                let sum = |(coordinate, stride): (i128, i64)| coordinate.wrapping_mul(stride.into());
                all.into_iter().zip(strides).map(sum).fold(11i128, i128::wrapping_add) as i64
            })
            .collect();
        let views = [
            view(ElementType::Uint8, &mut bytes),
            view(ElementType::Int16, &mut shorts),
            view(ElementType::Int32, &mut words),
            view(ElementType::Uint64, &mut longs),
        ];
        let axes: Vec<Along> =
            views.into_iter().zip(strides).map(|(coordinates, stride)| Along { coordinates, stride }).collect();
        for threads in [1, 3] {
            let mut out = vec![-1i64; length];
            // SAFETY: all arrays live until then, and are of their types.
            unsafe { addresses(&axes, 11, view(ElementType::Int64, &mut out), on(threads)).unwrap() };
            assert_eq!(out, expected, "{length} elements, {threads} threads");
        }
    }
}

#[test]
fn without_axes_all_are_the_first() {
    let mut out = vec![0i64; 5];
    // SAFETY: the array lives until then, and is of its type.
    unsafe { addresses(&[], 3, view(ElementType::Int64, &mut out), on(1)).unwrap() };
    assert_eq!(out, [3; 5]);
}

#[test]
fn what_has_no_coordinates_is_refused() {
    let (mut floats, mut out) = (vec![0f32; 4], vec![0i64; 4]);
    let (coordinates, target) = (view(ElementType::Float32, &mut floats), view(ElementType::Int64, &mut out));
    // SAFETY: all arrays live until then, and are of their types.
    let tried =
        |coordinates, out| unsafe { addresses(&[Along { coordinates, stride: 1 }], 0, out, on(1)).unwrap_err() };
    assert_eq!(tried(coordinates, target).to_string(), "coordinates has dtype float32, expected integers");
    assert_eq!(tried(target, target), PrimitiveError::Overlap { one: "coordinates", other: "out" });
    let mut short = vec![0i32; 3];
    let short = view(ElementType::Int32, &mut short);
    assert_eq!(tried(short, target).to_string(), "coordinates has 3 elements, expected 4");
    assert_eq!(tried(target, short).to_string(), "out has dtype int32, expected int64");
}
