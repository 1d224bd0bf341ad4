//! Ranks against a sort of the standard library's that compares.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::super::element::{Bool8, Element};
use super::super::*;
use super::{view, view_mut};

/// By elements, NaNs last, and by nothing else: a stable sort keeps the order of indices.
fn reference<T: PartialOrd + Copy>(x: &[T], descending: bool, selected: &[bool]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..x.len()).filter(|&index| selected[index]).collect();
    order.sort_by(|&one, &other| match x[one].partial_cmp(&x[other]) {
        Some(order) if descending => order.reverse(),
        Some(order) => order,
        #[allow(clippy::eq_op)] // NaN is what differs from itself
        None => (x[one] != x[one]).cmp(&(x[other] != x[other])),
    });
    let mut ranks = vec![0; x.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank as i64;
    }
    ranks
}

fn check<T: Element + PartialOrd>(x: &[T], descending: bool, selected: &[bool]) {
    let wanted = reference(x, descending, selected);
    let mask: Vec<Bool8> = selected.iter().map(|&one| Bool8::new(one)).collect();
    let (mut short, mut long) = (vec![-1_i32; x.len()], vec![-1_i64; x.len()]);
    let mask = view(&mask);
    let selection = selected.contains(&false).then_some(&mask);
    let x = view(x);
    // SAFETY: the views are of vectors that live on and are apart.
    unsafe {
        rank(x, view_mut(&mut short), descending, selection, None).unwrap();
        rank(x, view_mut(&mut long), descending, selection, None).unwrap();
    }
    assert_eq!(long, wanted);
    assert!(short.iter().copied().map(i64::from).eq(wanted));
}

/// Lengths beside powers of two, around the widths of digits.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0..20_usize, (0..14_u32, -1..2_i64).prop_map(|(power, beside)| ((1 << power) + beside) as usize)]
}

fn numbers<T: std::fmt::Debug>(one: impl Strategy<Value = T> + 'static) -> impl Strategy<Value = Vec<T>> {
    let one = one.boxed();
    length().prop_flat_map(move |length| prop::collection::vec(one.clone(), length))
}

macro_rules! whole {
    ($($name:ident $type:ident)*) => {$(
        proptest! {
            #[test]
            fn $name(
                x in numbers(prop_oneof![any::<$type>(), 0..3 as $type]),
                shift in 0..$type::BITS,
                seed in any::<u64>(),
                share in 0..5_u64,
                descending in any::<bool>(),
            ) {
                let near: Vec<$type> = x.iter().map(|x| x >> shift).collect();
                check(&near, descending, &chosen(x.len(), seed, share));
                let far: Vec<$type> = x.iter().map(|x| x << shift).collect();
                check(&far, descending, &chosen(x.len(), seed, share));
            }
        }
    )*};
}
whole! { of_i8 i8 of_i16 i16 of_i32 i32 of_i64 i64 of_u8 u8 of_u16 u16 of_u32 u32 of_u64 u64 }

/// Whom to select: all, or so many of four.
fn chosen(length: usize, seed: u64, share: u64) -> Vec<bool> {
    let mut state = seed | 1;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        share == 4 || (state >> 33) % 4 < share
    };
    (0..length).map(next).collect()
}

macro_rules! fractions {
    ($($name:ident $type:ident)*) => {$(
        proptest! {
            #[test]
            fn $name(
                x in numbers(prop_oneof![
                    any::<$type>(), Just(0.0), Just(-0.0), Just($type::NAN), Just(-$type::NAN), Just($type::INFINITY),
                    Just($type::NEG_INFINITY), (-3..4).prop_map(|x| x as $type)
                ]),
                seed in any::<u64>(),
                share in 0..5_u64,
                descending in any::<bool>(),
            ) {
                check(&x, descending, &chosen(x.len(), seed, share));
            }
        }
    )*};
}
fractions! { of_f32 f32 of_f64 f64 }

#[test]
fn what_is_in_order_is_gone_through_once_and_what_is_not_by_its_digits() {
    let passes = |x: &[i64]| {
        let mut out = vec![0_i32; x.len()];
        // SAFETY: the views are of vectors that live on and are apart.
        unsafe { rank(view(x), view_mut(&mut out), false, None, None).unwrap() }
    };
    let many = 1 << 12;
    assert_eq!(passes(&[]), 1);
    assert_eq!(passes(&[5]), 1);
    assert_eq!(passes(&vec![-7; many]), 1);
    assert_eq!(passes(&(0..many as i64).collect::<Vec<_>>()), 1);
    // Least and low bits count for nothing.
    assert_eq!(passes(&(0..many as i64).map(|x| ((x % 7) << 40) - (1 << 50)).collect::<Vec<_>>()), 3);
    assert_eq!(passes(&(0..many as i64).rev().collect::<Vec<_>>()), 4);
    // 64 bits in six digits, which with 12 of the index have words of 128 bits.
    assert_eq!(passes(&(0..many as i64).map(|x| x.wrapping_mul(-7_046_029_254_386_353_131)).collect::<Vec<_>>()), 14);
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    let (mut x, mut out, mut few) = ([3_i64, 1, 2], [0.0_f64; 3], [0_i32; 2]);
    let source = view_mut(&mut x);
    // SAFETY: the views are of arrays that live on; those that overlap are refused.
    unsafe {
        let wrong = rank(source, view_mut(&mut out), false, None, None);
        assert_eq!(wrong.unwrap_err().to_string(), "out has dtype float64, expected int32 or int64");
        let short = rank(source, view_mut(&mut few), false, None, None);
        assert_eq!(short.unwrap_err().to_string(), "out has 2 elements, expected 3");
        let same = rank(source, source, false, None, None).unwrap_err();
        assert_eq!(same, PrimitiveError::Overlap { one: "x", other: "out" });
    }
}

#[test]
fn a_call_that_is_given_up_says_so() {
    let flag = std::sync::atomic::AtomicBool::new(true);
    let stop = crate::Stop::when(&flag);
    let (x, mut out) = ([3_i64, 1, 2], [0_i64; 3]);
    // SAFETY: the views are of arrays that live on and are apart.
    let result = unsafe { rank(view(&x), view_mut(&mut out), false, None, crate::Execution { threads: None, stop }) };
    assert_eq!(result, Err(PrimitiveError::Interrupted));
}

#[test]
fn orders_of_the_reference_are_what_they_are_meant_to_be() {
    let x = [f64::NAN, 2.0, -0.0, 0.0, f64::NAN];
    assert_eq!(reference(&x, false, &[true; 5]), [3, 2, 0, 1, 4]);
    assert_eq!(reference(&x, true, &[true; 5]), [3, 0, 1, 2, 4]);
    assert_eq!(Some(Ordering::Equal), (-0.0_f64).partial_cmp(&0.0));
}
