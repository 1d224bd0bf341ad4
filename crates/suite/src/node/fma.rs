//! Peak rate of fused multiply-adds by vector width: what one core could do if nothing else mattered.
//!
//! Twelve independent chains `a = a * b + c` in registers, enough to hide a latency of four to five cycles on two
//! units. A variant is a type and a width: `float64_scalar`, `float64_128`, `float64_256`, `float64_512` and the same
//! for float32. A width that the processor (or weft, on this architecture) does not have is missing, and the first
//! row's note says so; where there is no fused multiply-add at all, the scalar rows are a multiply and an add.
//!
//! Kept by: `b`, `c` and the different starts of the chains are behind `black_box`; the scalar chains are declared
//! changed in their registers, so that they are not gathered into vectors. Checked by: with `b = c = 1` every lane
//! counts the repetitions from its start, exactly.

use std::hint::black_box;

use super::error::NodeError;
use super::measure::{Case, expect_equal, timed};
use super::request::NodeRequest;
use super::simd::Keep;

pub(crate) const ROWS: [&str; 8] = [
    "float64_scalar",
    "float64_128",
    "float64_256",
    "float64_512",
    "float32_scalar",
    "float32_128",
    "float32_256",
    "float32_512",
];

const CHAINS: usize = 12;

/// Iterations of one sample; the counts stay exact in single precision up to 2^24.
const COUNT: u64 = 1 << 16;

/// One width: the function that gives every lane of every chain after so many iterations, or `None` where it is
/// missing.
struct Width {
    variant: &'static str,
    lanes: usize,
    single: bool,
    run: Option<fn(u64) -> Vec<f64>>,
    missing: &'static str,
}

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let widths = widths();
    let mut notes: Vec<&str> = widths.iter().filter(|width| width.run.is_none()).map(|width| width.missing).collect();
    notes.dedup();
    if !fused_scalar() {
        notes.insert(
            0,
            "no fused multiply-add that weft could ask this processor for: scalars are multiplied and added",
        );
    }
    let mut cases: Vec<Case> = widths.into_iter().filter_map(case).collect();
    if let (Some(first), false) = (cases.first_mut(), notes.is_empty()) {
        notes.sort_unstable();
        notes.dedup();
        first.note = Some(notes.join("; "));
    }
    Ok(cases)
}

fn case(width: Width) -> Option<Case> {
    let run = width.run?;
    let operations = CHAINS * width.lanes;
    let mut case = Case::new(width.variant, COUNT, "one multiply-add", move || {
        Ok(Box::new(move |count| {
            let (seconds, lanes) = timed(|| run(count));
            let expected: Vec<f64> = (0..operations).map(|at| start(at / width.lanes) + count as f64).collect();
            expect_equal("the lanes of the chains", lanes, expected).map(|()| seconds)
        }))
    });
    case.repetitions_per_unit = 1.0 / operations as f64;
    case.rate = Some((2.0 * operations as f64 * 1e-6, "Mflop/s"));
    debug_assert!(!width.single || COUNT < 1 << 24);
    Some(case)
}

/// Chains start apart, so that they cannot be merged.
fn start(chain: usize) -> f64 {
    chain as f64
}

macro_rules! scalar {
    ($name:ident, $type:ty, $($feature:literal)?, $step:expr) => {
        $(#[target_feature(enable = $feature)])?
        fn $name(iterations: u64) -> Vec<f64> {
            let mut chains: [$type; CHAINS] = black_box(std::array::from_fn(|chain| start(chain) as $type));
            let (b, c): ($type, $type) = black_box((1.0, 1.0));
            for _ in 0..iterations {
                for chain in &mut chains {
                    *chain = $step(*chain, b, c);
                    chain.keep();
                }
            }
            chains.iter().map(|&lane| f64::from(lane)).collect()
        }
    };
}

scalar!(unfused_f64, f64, , |a, b, c| a * b + c);
scalar!(unfused_f32, f32, , |a, b, c| a * b + c);

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use weft_simd::{Level, level};

    use super::*;

    scalar!(scalar_f64, f64, "fma", |a: f64, b, c| a.mul_add(b, c));
    scalar!(scalar_f32, f32, "fma", |a: f32, b, c| a.mul_add(b, c));

    macro_rules! vector {
        ($name:ident, $feature:literal, $type:ty, $lanes:literal, $set:ident, $fma:ident, $store:ident) => {
            #[target_feature(enable = $feature)]
            fn $name(iterations: u64) -> Vec<f64> {
                let starts: [$type; CHAINS] = black_box(std::array::from_fn(|chain| start(chain) as $type));
                let mut chains = starts.map(|start| $set(start));
                let (b, c) = black_box((1.0, 1.0));
                let (b, c) = ($set(b), $set(c));
                for _ in 0..iterations {
                    for chain in &mut chains {
                        *chain = $fma(*chain, b, c);
                    }
                }
                let mut lanes = [[0.0; $lanes]; CHAINS];
                for (lanes, chain) in lanes.iter_mut().zip(chains) {
                    // SAFETY: the array has the vector's number of elements; the store is unaligned.
                    unsafe { $store(lanes.as_mut_ptr(), chain) };
                }
                lanes.iter().flatten().map(|&lane| f64::from(lane)).collect()
            }
        };
    }

    vector!(f64_128, "fma", f64, 2, _mm_set1_pd, _mm_fmadd_pd, _mm_storeu_pd);
    vector!(f64_256, "avx,fma", f64, 4, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd);
    vector!(f64_512, "avx512f", f64, 8, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd);
    vector!(f32_128, "fma", f32, 4, _mm_set1_ps, _mm_fmadd_ps, _mm_storeu_ps);
    vector!(f32_256, "avx,fma", f32, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps);
    vector!(f32_512, "avx512f", f32, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps);

    pub(super) fn fused() -> bool {
        level() >= Level::Avx2
    }

    const NO_FMA: &str = "no 128 and 256 bits: this processor has no AVX2 with FMA, or WEFT_SIMD forbids it";
    const NO_512: &str = "no 512 bits: this processor has no AVX-512, or WEFT_SIMD forbids it";

    pub(super) fn widths() -> Vec<Width> {
        let fma = fused();
        let avx512 = level() >= Level::Avx512;
        /// A function that is compiled for the features whose detection is `$found`; none where the processor lacks them.
        macro_rules! detected {
            ($found:ident, $name:ident) => {{
                // SAFETY: this is handed out only where `$found` says that the processor has the features of `$name`.
                let run: fn(u64) -> Vec<f64> = |iterations| unsafe { $name(iterations) };
                $found.then_some(run)
            }};
        }
        let width = |at: usize, lanes, run, missing| Width { variant: ROWS[at], lanes, single: at >= 4, run, missing };
        vec![
            width(0, 1, detected!(fma, scalar_f64).or(Some(unfused_f64)), NO_FMA),
            width(1, 2, detected!(fma, f64_128), NO_FMA),
            width(2, 4, detected!(fma, f64_256), NO_FMA),
            width(3, 8, detected!(avx512, f64_512), NO_512),
            width(4, 1, detected!(fma, scalar_f32).or(Some(unfused_f32)), NO_FMA),
            width(5, 4, detected!(fma, f32_128), NO_FMA),
            width(6, 8, detected!(fma, f32_256), NO_FMA),
            width(7, 16, detected!(avx512, f32_512), NO_512),
        ]
    }
}

#[cfg(target_arch = "aarch64")]
mod vectors {
    use super::*;
    use std::arch::aarch64::*;

    scalar!(scalar_f64, f64, , |a: f64, b, c| a.mul_add(b, c));
    scalar!(scalar_f32, f32, , |a: f32, b, c| a.mul_add(b, c));

    macro_rules! vector {
        ($name:ident, $type:ty, $lanes:literal, $set:ident, $fma:ident, $store:ident) => {
            #[target_feature(enable = "neon")]
            fn $name(iterations: u64) -> Vec<f64> {
                let starts: [$type; CHAINS] = black_box(std::array::from_fn(|chain| start(chain) as $type));
                let mut chains = starts.map(|start| $set(start));
                let (b, c) = black_box((1.0, 1.0));
                let (b, c) = ($set(b), $set(c));
                for _ in 0..iterations {
                    for chain in &mut chains {
                        *chain = $fma(c, *chain, b);
                    }
                }
                let mut lanes = [[0.0; $lanes]; CHAINS];
                for (lanes, chain) in lanes.iter_mut().zip(chains) {
                    // SAFETY: the array has the vector's number of elements, and the store needs no alignment.
                    unsafe { $store(lanes.as_mut_ptr(), chain) };
                }
                lanes.iter().flatten().map(|&lane| f64::from(lane)).collect()
            }
        };
    }

    vector!(f64_128, f64, 2, vdupq_n_f64, vfmaq_f64, vst1q_f64);
    vector!(f32_128, f32, 4, vdupq_n_f32, vfmaq_f32, vst1q_f32);

    pub(super) fn fused() -> bool {
        true
    }

    const NO_SVE: &str = "no 256 and 512 bits: weft knows NEON only, not SVE";

    pub(super) fn widths() -> Vec<Width> {
        let width = |at: usize, lanes, run| Width { variant: ROWS[at], lanes, single: at >= 4, run, missing: NO_SVE };
        vec![
            width(0, 1, Some(scalar_f64 as fn(u64) -> Vec<f64>)),
            // SAFETY: the function is compiled for NEON, which the standard library requires of every aarch64
            // processor.
            width(1, 2, Some(|n| unsafe { f64_128(n) })),
            width(2, 4, None),
            width(3, 8, None),
            width(4, 1, Some(scalar_f32)),
            // SAFETY: the function is compiled for NEON, which the standard library requires of every aarch64
            // processor.
            width(5, 4, Some(|n| unsafe { f32_128(n) })),
            width(6, 8, None),
            width(7, 16, None),
        ]
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod vectors {
    use super::*;

    pub(super) fn fused() -> bool {
        false
    }

    const UNKNOWN: &str = "no vectors: weft knows no vector instructions of this architecture";

    pub(super) fn widths() -> Vec<Width> {
        let width = |at: usize, lanes, run| Width { variant: ROWS[at], lanes, single: at >= 4, run, missing: UNKNOWN };
        let scalar = |run: fn(u64) -> Vec<f64>| Some(run);
        vec![width(0, 1, scalar(unfused_f64)), width(1, 2, None), width(4, 1, scalar(unfused_f32)), width(5, 4, None)]
    }
}

fn widths() -> Vec<Width> {
    vectors::widths()
}

fn fused_scalar() -> bool {
    vectors::fused()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_counts_its_iterations() {
        for width in widths() {
            let Some(run) = width.run else { continue };
            for iterations in [0, 1, 1000] {
                let lanes = run(iterations);
                assert_eq!(lanes.len(), CHAINS * width.lanes, "{}", width.variant);
                let expected = |at: usize| start(at / width.lanes) + iterations as f64;
                assert!(lanes.iter().enumerate().all(|(at, &lane)| lane == expected(at)), "{}", width.variant);
            }
        }
        assert_eq!(unfused_f32(10)[3], 13.0);
        assert_eq!(unfused_f64(10)[11], 21.0);
    }

    #[test]
    fn what_is_missing_is_said() {
        let cases = cases(&NodeRequest::default()).unwrap();
        assert_eq!(cases.len() == ROWS.len(), cases[0].note.is_none());
    }
}
