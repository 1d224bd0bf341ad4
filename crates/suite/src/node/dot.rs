//! Dot product by length, in single and double precision: figure 1 of Dunigan 1991.
//!
//! Both operands are read from memory; the sum is kept in several vectors at once, as a hand-written dot product of the
//! paper's assembler curve does, with fused multiply-adds where the processor has them.
//!
//! Kept by: the operands are declared changed before every repetition, and the results of all are added up.
//! Checked by: the elements are small integers, so that every sum is exact in any order; it must be the one found in
//! 64-bit integers.

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
use weft_simd::{Level, level};

use super::error::NodeError;
use super::measure::{Case, Repeat, expect_equal, timed};
use super::request::NodeRequest;

pub(crate) const ROWS: [&str; 2] = ["float32", "float64"];

/// 2^3 to 2^20 elements: from within registers to beyond the second cache.
const LENGTHS: [u64; 18] = {
    let mut lengths = [8; 18];
    let mut at = 1;
    while at < 18 {
        lengths[at] = lengths[at - 1] * 2;
        at += 1;
    }
    lengths
};

/// Beyond it a single precision sum of products up to 4 might not be exact.
const LONGEST: u64 = 1 << 22;

/// Elements that one sample goes through.
const ELEMENTS_OF_A_SAMPLE: u64 = 1 << 20;

pub(crate) fn cases(request: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let lengths = if request.extent.is_empty() { LENGTHS.to_vec() } else { request.extent.clone() };
    if let Some(&length) = lengths.iter().find(|&&length| length == 0 || length > LONGEST) {
        let expected = format!("1 to {LONGEST} elements");
        return Err(NodeError::BadLength { benchmark: "dot_product", length, expected });
    }
    let single = lengths.iter().map(|&length| case::<f32>(ROWS[0], length, dot_f32));
    let double = lengths.iter().map(|&length| case::<f64>(ROWS[1], length, dot_f64));
    Ok(single.chain(double).collect())
}

trait Element: Copy + 'static {
    fn of(integer: i32) -> Self;
    fn double(self) -> f64;
}

impl Element for f32 {
    fn of(integer: i32) -> f32 {
        integer as f32
    }
    fn double(self) -> f64 {
        self.into()
    }
}

impl Element for f64 {
    fn of(integer: i32) -> f64 {
        integer.into()
    }
    fn double(self) -> f64 {
        self
    }
}

fn case<T: Element>(name: &'static str, length: u64, dot: fn(&[T], &[T]) -> T) -> Case {
    let count = (ELEMENTS_OF_A_SAMPLE / length).max(1);
    let mut case = Case::new(name, count, "one dot product", move || Ok(repeat(length as usize, dot)));
    case.extent = Some(length);
    case.rate = Some((2.0 * length as f64 * 1e-6, "Mflop/s"));
    case
}

fn repeat<T: Element>(length: usize, dot: fn(&[T], &[T]) -> T) -> Repeat {
    let (x, y, reference) = operands(length);
    Box::new(move |count| {
        let products = || (0..count).map(|_| dot(black_box(&x), black_box(&y)).double()).sum::<f64>();
        let (seconds, total) = timed(products);
        expect_equal("the sum of the dot products", total, count as f64 * reference as f64).map(|()| seconds)
    })
}

/// Vectors of -2 to 2 with periods 5 and 4, and their dot product in integers, kept off zero by `y` being mostly
/// positive.
fn operands<T: Element>(length: usize) -> (Vec<T>, Vec<T>, i64) {
    let x = |at: usize| [1, -1, 2, 0, 1][at % 5];
    let y = |at: usize| [2, 1, -1, 1][at % 4];
    let reference = (0..length).map(|at| i64::from(x(at) * y(at))).sum();
    ((0..length).map(|at| T::of(x(at))).collect(), (0..length).map(|at| T::of(y(at))).collect(), reference)
}

/// The dot product of any processor: as many partial sums as vectors of 128 bits would have.
macro_rules! portable {
    ($name:ident, $type:ty, $lanes:literal) => {
        fn $name(x: &[$type], y: &[$type]) -> $type {
            let mut sums = [0.0; $lanes];
            let (x_blocks, x_rest) = x.as_chunks::<$lanes>();
            let (y_blocks, y_rest) = y.as_chunks::<$lanes>();
            for (x, y) in x_blocks.iter().zip(y_blocks) {
                for lane in 0..$lanes {
                    // Every 64-bit ARM has fused multiply-adds; elsewhere they might be a call of the library.
                    sums[lane] = if cfg!(target_arch = "aarch64") {
                        x[lane].mul_add(y[lane], sums[lane])
                    } else {
                        sums[lane] + x[lane] * y[lane]
                    };
                }
            }
            let rest: $type = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
            rest + sums.iter().sum::<$type>()
        }
    };
}

portable!(portable_f32, f32, 16);
portable!(portable_f64, f64, 8);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Vectors of partial sums: enough to hide the latency of an addition.
    const SUMS: usize = 8;

    macro_rules! vectors {
        ($name:ident, $feature:literal, $type:ty, $lanes:literal,
         $zero:ident, $load:ident, $fma:ident, $add:ident, $store:ident) => {
            #[target_feature(enable = $feature)]
            pub(super) fn $name(x: &[$type], y: &[$type]) -> $type {
                const BLOCK: usize = SUMS * $lanes;
                let mut sums = [$zero(); SUMS];
                let (x_blocks, x) = x.as_chunks::<BLOCK>();
                let (y_blocks, y) = y.as_chunks::<BLOCK>();
                for (x, y) in x_blocks.iter().zip(y_blocks) {
                    for (at, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: vector `at` lies within the blocks of `SUMS` vectors that `as_chunks` gave, and the
                        // loads need no alignment.
                        *sum = unsafe {
                            $fma($load(x.as_ptr().add($lanes * at)), $load(y.as_ptr().add($lanes * at)), *sum)
                        };
                    }
                }
                let [a, b, c, d, e, f, g, h] = sums;
                let mut sum = $add($add($add(a, b), $add(c, d)), $add($add(e, f), $add(g, h)));
                let (x_vectors, x_rest) = x.as_chunks::<$lanes>();
                let (y_vectors, y_rest) = y.as_chunks::<$lanes>();
                for (x, y) in x_vectors.iter().zip(y_vectors) {
                    // SAFETY: `as_chunks` gave both as arrays of one vector's elements, and the loads need no
                    // alignment.
                    sum = unsafe { $fma($load(x.as_ptr()), $load(y.as_ptr()), sum) };
                }
                let mut lanes = [0.0; $lanes];
                // SAFETY: the array has the vector's number of elements.
                unsafe { $store(lanes.as_mut_ptr(), sum) };
                let rest: $type = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
                rest + lanes.iter().sum::<$type>()
            }
        };
    }

    vectors!(
        f64_256,
        "avx2,fma",
        f64,
        4,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd
    );
    vectors!(
        f32_256,
        "avx2,fma",
        f32,
        8,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        _mm256_storeu_ps
    );
    vectors!(
        f64_512,
        "avx512f",
        f64,
        8,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd
    );
    vectors!(
        f32_512,
        "avx512f",
        f32,
        16,
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        _mm512_storeu_ps
    );
}

macro_rules! dispatched {
    ($name:ident, $type:ty, $at_512:ident, $at_256:ident, $portable:ident) => {
        #[inline(never)]
        fn $name(x: &[$type], y: &[$type]) -> $type {
            #[cfg(target_arch = "x86_64")]
            match level() {
                // SAFETY: this arm is reached only where `level` has found AVX-512F, for which the function is
                // compiled.
                Level::Avx512 => return unsafe { x86::$at_512(x, y) },
                // SAFETY: this arm is reached only where `level` has found AVX2 and FMA, for which the function is
                // compiled.
                Level::Avx2 => return unsafe { x86::$at_256(x, y) },
                Level::Portable => {}
            }
            $portable(x, y)
        }
    };
}

dispatched!(dot_f32, f32, f32_512, f32_256, portable_f32);
dispatched!(dot_f64, f64, f64_512, f64_256, portable_f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_gives_the_integer_sum() {
        for length in (1..200).chain([1 << 20, LONGEST as usize]) {
            repeat::<f32>(length, dot_f32)(3).unwrap();
            repeat::<f64>(length, dot_f64)(3).unwrap();
            repeat::<f32>(length, portable_f32)(3).unwrap();
            repeat::<f64>(length, portable_f64)(3).unwrap();
        }
    }

    #[test]
    fn a_wrong_sum_is_refused() {
        let mut repeat = repeat::<f64>(3, |x, y| dot_f64(&x[1..], &y[1..]));
        assert_eq!(repeat(2).unwrap_err(), "the sum of the dot products is -6.0, expected -2.0");
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        let request = NodeRequest { extent: vec![0], ..NodeRequest::default() };
        let error = cases(&request).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "dot_product: a length of 0 cannot be measured; expected 1 to 4194304 elements");
    }
}
