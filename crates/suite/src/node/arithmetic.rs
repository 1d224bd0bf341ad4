//! The Caltech arithmetic tests: table 3 of Dunigan 1991, after Kolawa and Otto 1986.
//!
//! Each row is the time of one operation and assignment on scalars. The operations form a chain, as floatmath's do:
//! each needs the result before, so the row is the *latency* of the operation (what a pipelined processor can do beside
//! it is in `fma_peak` and `dot_product`). The last two rows of the paper are the average time of one of the five
//! operations of `x*b + c*d + e*f`, whose products may overlap. The rows `axpy` are not of the paper's table: one of the
//! two operations of an element of `y = y + a x`, on vectors larger than caches, which is LINPACK's inner loop.
//!
//! The paper subtracts the time of the empty loop. Here the chain is unrolled sixteen times, so that the counting of
//! the loop is one sixteenth of an iteration and hidden behind the chain; nothing is subtracted, and the empty loop has
//! a row of its own, `loop_turn`. `copy_byte` is the time of a byte copied within memory, in blocks larger than caches.
//!
//! Kept by: operands behind `black_box` before the clock starts; after every operation its result is declared changed
//! in its register ([`Keep`]), so that no two operations become one; 16-bit and 32-bit integers wrap. Checked by: the
//! operands are chosen so that the result after n operations is known exactly (see each reference).

use std::hint::black_box;

use aligned_vec::{AVec, ConstAlign};
use weft_base::Operation;

use super::error::NodeError;
use super::measure::{Case, Repeat, expect_equal, timed};
use super::request::NodeRequest;
use super::simd::Keep;

pub(crate) const ROWS: [&str; 14] = [
    "int16_add",
    "int32_add",
    "int16_multiply",
    "int32_multiply",
    "float32_add",
    "float64_add",
    "float32_multiply",
    "float64_multiply",
    "float32_sum_of_products",
    "float64_sum_of_products",
    "float32_axpy",
    "float64_axpy",
    "copy_byte",
    "loop_turn",
];

/// Operations written out in one iteration of a loop.
const UNROLLED: u64 = 16;

/// Operations of one sample; an odd multiple of [`UNROLLED`], so that powers of odd integers do not return to one, and
/// at most 2^20 so that eight times as many are still counted exactly in single precision.
const COUNT: u64 = (1 << 18) + UNROLLED;

/// Bytes of one array of `copy_byte`, and of a vector of `axpy`.
const COPIED: usize = 64 << 20;

/// One case for each of [`Operation::ALL`].
pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    Ok(Operation::ALL.into_iter().map(case).collect())
}

fn case(operation: Operation) -> Case {
    let name = operation.name();
    let count = match operation {
        Operation::CopyByte => COPIED as u64,
        Operation::Float32Axpy => axpy_operations::<f32>(),
        Operation::Float64Axpy => axpy_operations::<f64>(),
        _ => COUNT,
    };
    let unit = match operation {
        Operation::CopyByte => "one byte",
        Operation::LoopIteration => "one turn",
        _ => "one operation",
    };
    let mut case = Case::new(name, count, unit, move || Ok(repeat(operation)));
    case.rate = match operation {
        Operation::CopyByte => Some((1e-6, "MB/s")),
        Operation::LoopIteration => None,
        _ => Some((1e-6, "Mop/s")),
    };
    if operation == Operation::CopyByte {
        case.bytes = Some(COPIED as u64);
    }
    case
}

fn repeat(operation: Operation) -> Repeat {
    match operation {
        Operation::Int16Add => chain(|n| add(n, 3i16), |n| (n as i16).wrapping_mul(3)),
        Operation::Int32Add => chain(|n| add(n, 3i32), |n| (n as i32).wrapping_mul(3)),
        Operation::Int16Multiply => chain(|n| multiply(n, 3i16), |n| power_of_three(n) as i16),
        Operation::Int32Multiply => chain(|n| multiply(n, 3i32), |n| power_of_three(n) as i32),
        Operation::Float32Add => chain(|n| add(n, 1f32), |n| n as f32),
        Operation::Float64Add => chain(|n| add(n, 1f64), |n| n as f64),
        Operation::Float32Multiply => chain(|n| multiply(n, 1.0 + f32::EPSILON), |n| 1.0 + n as f32 * f32::EPSILON),
        Operation::Float64Multiply => chain(|n| multiply(n, 1.0 + f64::EPSILON), |n| 1.0 + n as f64 * f64::EPSILON),
        Operation::Float32SumOfProducts => sums(|n| sum_of_products(n, 1f32), |n| n as f32),
        Operation::Float64SumOfProducts => sums(|n| sum_of_products(n, 1f64), |n| n as f64),
        Operation::Float32Axpy => axpy(1f32),
        Operation::Float64Axpy => axpy(1f64),
        Operation::CopyByte => copy(),
        Operation::LoopIteration => Box::new(|count| {
            let (seconds, iterations) = timed(|| empty_loop(black_box(count)));
            expect_equal("the loop counter", iterations, count).map(|()| seconds)
        }),
    }
}

/// The arithmetic of a row: wrapping for integers, rounded to nearest for floating point.
trait Scalar: Keep + PartialEq + std::fmt::Debug {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! scalar {
    ($($type:ty, $zero:literal, $one:literal, $plus:expr, $times:expr);*) => {$(
        impl Scalar for $type {
            const ZERO: $type = $zero;
            const ONE: $type = $one;
            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                $plus(self, other)
            }
            #[inline(always)]
            fn times(self, other: $type) -> $type {
                $times(self, other)
            }
        }
    )*};
}

scalar! {
    i16, 0, 1, i16::wrapping_add, i16::wrapping_mul;
    i32, 0, 1, i32::wrapping_add, i32::wrapping_mul;
    f32, 0.0, 1.0, |a, b| a + b, |a, b| a * b;
    f64, 0.0, 1.0, |a, b| a + b, |a, b| a * b
}

/// A row whose sample is `n` operations in whole iterations; `reference` gives the exact result.
fn chain<T: Scalar + 'static>(run: impl Fn(u64) -> T + 'static, reference: impl Fn(u64) -> T + 'static) -> Repeat {
    Box::new(move |count| {
        let iterations = count / UNROLLED;
        let (seconds, result) = timed(|| run(iterations));
        expect_equal("the result of the chain", result, reference(iterations * UNROLLED))?;
        Ok(seconds * count as f64 / (iterations * UNROLLED) as f64)
    })
}

/// As [`chain`], where `run` does `n` expressions of five operations.
fn sums<T: Scalar + 'static>(run: impl Fn(u64) -> T + 'static, reference: impl Fn(u64) -> T + 'static) -> Repeat {
    Box::new(move |count| {
        let expressions = count / 5 / UNROLLED * UNROLLED;
        let (seconds, result) = timed(|| run(expressions / UNROLLED));
        expect_equal("the sum of products", result, reference(expressions))?;
        Ok(seconds * count as f64 / (expressions * 5) as f64)
    })
}

/// `x = x + y` from 0. With `y = 1` a floating-point sum is exact up to 2^24 in single precision.
#[inline(never)]
fn add<T: Scalar>(iterations: u64, step: T) -> T {
    let step = black_box(step);
    let mut x = black_box(T::ZERO);
    for _ in 0..iterations {
        for _ in 0..UNROLLED {
            x = x.plus(step);
            x.keep();
        }
    }
    x
}

/// `x = x * y` from 1. With `y = 1 + eps` each product is rounded to the next number above while x is below 1.5, so
/// that the result after n is `1 + n eps` exactly.
#[inline(never)]
fn multiply<T: Scalar>(iterations: u64, factor: T) -> T {
    let factor = black_box(factor);
    let mut x = black_box(T::ONE);
    for _ in 0..iterations {
        for _ in 0..UNROLLED {
            x = x.times(factor);
            x.keep();
        }
    }
    x
}

/// `x = x*b + c*d + e*f` from 0, with `b = 1`, `c*d = 2`, `e*f = -1`: x counts the expressions, exactly.
#[inline(never)]
fn sum_of_products<T: Scalar + std::ops::Neg<Output = T>>(iterations: u64, one: T) -> T {
    let two = one.plus(one);
    let (b, mut c, d, mut e, f) = black_box((one, two, one, -one, one));
    let mut x = black_box(T::ZERO);
    for _ in 0..iterations {
        for _ in 0..UNROLLED {
            c.keep();
            e.keep();
            x = x.times(b).plus(c.times(d)).plus(e.times(f));
            x.keep();
        }
    }
    x
}

/// 3^n modulo 2^64 by repeated squaring: the reference of the integer products.
fn power_of_three(mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1u64, 3u64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    result
}

#[inline(never)]
fn empty_loop(iterations: u64) -> u64 {
    let mut counter = 0u64;
    while counter < iterations {
        counter += 1;
        counter.keep();
    }
    counter
}

/// Whole arrays are copied until `count` bytes are; a mark that changes from copy to copy must arrive.
fn copy() -> Repeat {
    let mut source: AVec<u8, ConstAlign<4096>> = AVec::from_iter(4096, (0..COPIED).map(|at| at as u8));
    let mut target: AVec<u8, ConstAlign<4096>> = AVec::from_iter(4096, (0..COPIED).map(|_| 0));
    let mut mark = 0u8;
    Box::new(move |count| {
        let copies = count.div_ceil(COPIED as u64);
        let mut seconds = 0.0;
        for _ in 0..copies {
            mark = mark.wrapping_add(1);
            source.iter_mut().step_by(COPIED / 64).for_each(|byte| *byte = mark);
            seconds += timed(|| black_box(&mut target[..]).copy_from_slice(black_box(&source[..]))).0;
            expect_equal("a copied byte", target.iter().step_by(COPIED / 64).all(|&byte| byte == mark), true)?;
        }
        expect_equal("the copy's equality with its source", target == source, true)?;
        Ok(seconds * count as f64 / (copies * COPIED as u64) as f64)
    })
}

/// Operations of one update of a whole vector of `COPIED` bytes.
const fn axpy_operations<T>() -> u64 {
    2 * (COPIED / size_of::<T>()) as u64
}

/// Whole vectors are updated, `y = y + 1 x` with all of `x` one, until `count` operations are: y counts the updates.
fn axpy<T: Scalar + Copy + 'static>(one: T) -> Repeat {
    let length = COPIED / size_of::<T>();
    let x = vec![one; length];
    Box::new(move |count| {
        let updates = count.div_ceil(axpy_operations::<T>());
        let mut y = vec![T::ZERO; length];
        let mut expected = T::ZERO;
        let mut seconds = 0.0;
        for _ in 0..updates {
            let factor = black_box(one);
            let (y, x) = (black_box(&mut y[..]), black_box(&x[..]));
            seconds += timed(|| y.iter_mut().zip(x).for_each(|(y, &x)| *y = y.plus(factor.times(x)))).0;
            expected = expected.plus(one);
        }
        expect_equal("the updated vector", y.iter().all(|&element| element == expected), true)?;
        Ok(seconds * count as f64 / (updates * axpy_operations::<T>()) as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_operations() {
        assert_eq!(ROWS, Operation::ALL.map(Operation::name));
    }

    #[test]
    fn every_row_is_right_at_every_count() {
        let of_memory = [Operation::CopyByte, Operation::Float32Axpy, Operation::Float64Axpy];
        for operation in Operation::ALL.into_iter().filter(|operation| !of_memory.contains(operation)) {
            let mut repeat = repeat(operation);
            for count in [80, 160, 1600, COUNT, 8 * COUNT] {
                assert!(repeat(count).unwrap() >= 0.0, "{operation}");
            }
        }
    }

    #[test]
    fn vectors_in_memory_are_updated() {
        assert!(axpy(1f64)(3 * axpy_operations::<f64>()).unwrap() > 0.0);
        assert!(axpy(1f32)(1).unwrap() > 0.0);
    }

    #[test]
    fn results_depend_on_every_repetition() {
        assert_ne!(add(5, 3i16), add(6, 3i16));
        assert_ne!(multiply(5, 3i32), multiply(6, 3i32));
        assert_ne!(multiply(5, 1.0 + f32::EPSILON), multiply(6, 1.0 + f32::EPSILON));
        assert_eq!(sum_of_products(5, 1f64), 80.0);
    }

    #[test]
    fn a_left_out_repetition_is_noticed() {
        let mut lazy = chain(|iterations| add(iterations - 1, 1f64), |n| n as f64);
        assert_eq!(lazy(160).unwrap_err(), "the result of the chain is 144.0, expected 160.0");
    }

    #[test]
    fn the_power_of_three_is_that_of_the_library() {
        assert_eq!(power_of_three(40), 3u64.pow(40));
        assert_eq!(power_of_three(1000), 3u64.wrapping_pow(1000));
    }
}
