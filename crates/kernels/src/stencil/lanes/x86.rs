//! Vectors of x86-64: 256 bits by AVX2 with fused multiply-add, 512 bits by AVX-512.

use std::arch::x86_64::*;

use super::Lanes;
use crate::stencil::scalar::Scalar;

/// A register of 256 bits of `T`.
#[derive(Clone, Copy)]
pub(in crate::stencil) struct Avx2<T: Registers>(T::Held256);

/// A register of 512 bits of `T`.
#[derive(Clone, Copy)]
pub(in crate::stencil) struct Avx512<T: Registers>(T::Held512);

/// What the processor's functions give, within a method of [`Registers`] or [`Lanes`].
macro_rules! vouched {
    ($call:expr) => {
        // SAFETY: the processor has the instruction set that the implementation is named after, and pointers are valid for
        // the elements of a vector, or for as many as are masked in, and aligned as the method says: these are the
        // conditions of the methods of both traits. Every call below is one of that instruction set.
        unsafe { $call }
    };
}

/// What an element needs of the processor: the types that hold vectors of it, and operations on one.
///
/// # Safety
/// `multiply_add` asks for FMA.
pub(in crate::stencil) trait Registers: Scalar {
    /// 256 bits, as the processor's functions know them.
    type Held256: Copy;
    /// 512 bits.
    type Held512: Copy;
    /// `self * factor + sum`, rounded once. Needs FMA.
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self;
}

impl Registers for f64 {
    type Held256 = __m256d;
    type Held512 = __m512d;

    #[inline(always)]
    unsafe fn multiply_add(self, factor: f64, sum: f64) -> f64 {
        vouched!(_mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(self), _mm_set_sd(factor), _mm_set_sd(sum))))
    }
}

impl Registers for f32 {
    type Held256 = __m256;
    type Held512 = __m512;

    #[inline(always)]
    unsafe fn multiply_add(self, factor: f32, sum: f32) -> f32 {
        vouched!(_mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(self), _mm_set_ss(factor), _mm_set_ss(sum))))
    }
}

/// All bits of the lanes of 64 bits that are in a mask. Needs AVX2.
#[inline(always)]
unsafe fn lanes_of_64(mask: u32) -> __m256i {
    let bits = vouched!(_mm256_set_epi64x(8, 4, 2, 1));
    vouched!(_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(mask)), bits), bits))
}

/// The same of lanes of 32 bits. Needs AVX2.
#[inline(always)]
unsafe fn lanes_of_32(mask: u32) -> __m256i {
    let bits = vouched!(_mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1));
    vouched!(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask as i32), bits), bits))
}

/// [`Lanes`] for one vector type and element: the processor's functions for it, how a register is cut into pieces of 16
/// bytes (how many elements apart, and the stores), and how elements move by one lane into the register from another;
/// where there are masks and twice as many registers, what these do.
macro_rules! lanes {
    (
        $vector:ident<$element:ty>: $lanes:literal, $splat:ident, $load:ident, $store:ident, $stream:ident, $add:ident,
        $multiply_add:ident;
        pieces |$cut:ident| $stream16:ident: $($place:literal => $piece:expr),+;
        after |$low:ident, $high:ident| $after:expr;
        before |$first:ident, $second:ident| $before:expr
        $(; some |$old:ident, $other:ident, $mask:ident| $replace:expr; at |$at:ident| $load_over:expr)?
        $(; join |$one:ident, $two:ident, $from:ident| $join:expr; with |$held:ident, $lane:ident, $value:ident| $with:expr;
          first $load_first:ident, $store_first:ident)?
    ) => {
        impl Lanes for $vector<$element> {
            type Scalar = $element;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $element) -> Self {
                vouched!($vector($splat(value)))
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                vouched!($vector($load(from)))
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                vouched!($store(to, self.0))
            }

            #[inline(always)]
            unsafe fn stream16(self, to: *mut $element) {
                let $cut = self.0;
                vouched!({ $($stream16(to.add($place), $piece);)+ })
            }

            #[inline(always)]
            unsafe fn stream(self, to: *mut $element) {
                vouched!($stream(to, self.0))
            }


            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                vouched!($vector($add(self.0, other.0)))
            }

            #[inline(always)]
            unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
                vouched!($vector($multiply_add(self.0, factor.0, sum.0)))
            }

            #[inline(always)]
            unsafe fn multiply_add_one(value: $element, factor: $element, sum: $element) -> $element {
                vouched!(value.multiply_add(factor, sum))
            }

            #[inline(always)]
            unsafe fn after(self, previous: Self) -> Self {
                let ($low, $high) = (previous.0, self.0);
                vouched!($vector($after))
            }

            #[inline(always)]
            unsafe fn before(self, next: Self) -> Self {
                let ($first, $second) = (self.0, next.0);
                vouched!($vector($before))
            }

            $(
                #[inline(always)]
                unsafe fn load_over(self, $at: *const $element, $mask: u32) -> Self {
                    let $old = self.0;
                    vouched!($vector($load_over))
                }

                #[inline(always)]
                unsafe fn replace(self, other: Self, $mask: u32) -> Self {
                    let ($old, $other) = (self.0, other.0);
                    vouched!($vector($replace))
                }
            )?

            $(
                const PAIRS: bool = true;
                const JOINS: bool = true;

                #[inline(always)]
                unsafe fn load_first(from: *const $element, count: usize) -> Self {
                    vouched!($vector($load_first(((1u32 << count) - 1) as _, from)))
                }

                #[inline(always)]
                unsafe fn store_first(self, count: usize, to: *mut $element) {
                    vouched!($store_first(to, ((1u32 << count) - 1) as _, self.0))
                }

                #[inline(always)]
                unsafe fn store_masked(self, to: *mut $element, mask: u32) {
                    vouched!($store_first(to, mask as _, self.0))
                }

                #[inline(always)]
                unsafe fn join(self, next: Self, $from: usize) -> Self {
                    let ($one, $two) = (self.0, next.0);
                    vouched!($vector($join))
                }

                #[inline(always)]
                unsafe fn with_lane(self, $lane: usize, $value: $element) -> Self {
                    let $held = self.0;
                    vouched!($vector($with))
                }
            )?
        }
    };
}

// Within 256 bits, elements move by one lane through the vector that stands one half before or behind.
lanes! {
    Avx2<f64>: 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_stream_pd, _mm256_add_pd, _mm256_fmadd_pd;
    pieces |held| _mm_stream_pd: 0 => _mm256_castpd256_pd128(held), 2 => _mm256_extractf128_pd::<1>(held);
    after |low, high| _mm256_shuffle_pd::<0b0101>(_mm256_permute2f128_pd::<0x21>(low, high), high);
    before |low, high| _mm256_shuffle_pd::<0b0101>(low, _mm256_permute2f128_pd::<0x21>(low, high));
    some |old, other, mask| _mm256_blendv_pd(old, other, _mm256_castsi256_pd(lanes_of_64(mask)));
    at |from| {
        let lanes = lanes_of_64(mask);
        _mm256_blendv_pd(old, _mm256_maskload_pd(from, lanes), _mm256_castsi256_pd(lanes))
    }
}

lanes! {
    Avx2<f32>: 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_stream_ps, _mm256_add_ps, _mm256_fmadd_ps;
    pieces |held| _mm_stream_ps: 0 => _mm256_castps256_ps128(held), 4 => _mm256_extractf128_ps::<1>(held);
    after |low, high| {
        let (low, high) = (_mm256_castps_si256(low), _mm256_castps_si256(high));
        _mm256_castsi256_ps(_mm256_alignr_epi8::<12>(high, _mm256_permute2x128_si256::<0x21>(low, high)))
    };
    before |low, high| {
        let (low, high) = (_mm256_castps_si256(low), _mm256_castps_si256(high));
        _mm256_castsi256_ps(_mm256_alignr_epi8::<4>(_mm256_permute2x128_si256::<0x21>(low, high), low))
    };
    some |old, other, mask| _mm256_blendv_ps(old, other, _mm256_castsi256_ps(lanes_of_32(mask)));
    at |from| {
        let lanes = lanes_of_32(mask);
        _mm256_blendv_ps(old, _mm256_maskload_ps(from, lanes), _mm256_castsi256_ps(lanes))
    }
}

lanes! {
    Avx512<f64>: 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_stream_pd, _mm512_add_pd, _mm512_fmadd_pd;
    pieces |held| _mm_stream_pd:
        0 => _mm512_extractf64x2_pd::<0>(held),
        2 => _mm512_extractf64x2_pd::<1>(held),
        4 => _mm512_extractf64x2_pd::<2>(held),
        6 => _mm512_extractf64x2_pd::<3>(held);
    after |low, high| {
        _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(_mm512_castpd_si512(high), _mm512_castpd_si512(low)))
    };
    before |low, high| {
        _mm512_castsi512_pd(_mm512_alignr_epi64::<1>(_mm512_castpd_si512(high), _mm512_castpd_si512(low)))
    };
    some |old, other, mask| _mm512_mask_mov_pd(old, mask as _, other);
    at |from| _mm512_mask_loadu_pd(old, mask as _, from);
    join |one, two, from| {
        let indices = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(from as i64));
        _mm512_permutex2var_pd(one, indices, two)
    };
    with |held, lane, value| _mm512_mask_mov_pd(held, 1 << lane, _mm512_set1_pd(value));
    first _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd
}

lanes! {
    Avx512<f32>: 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_stream_ps, _mm512_add_ps,
    _mm512_fmadd_ps;
    pieces |held| _mm_stream_ps:
        0 => _mm512_extractf32x4_ps::<0>(held),
        4 => _mm512_extractf32x4_ps::<1>(held),
        8 => _mm512_extractf32x4_ps::<2>(held),
        12 => _mm512_extractf32x4_ps::<3>(held);
    after |low, high| {
        _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(_mm512_castps_si512(high), _mm512_castps_si512(low)))
    };
    before |low, high| {
        _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(_mm512_castps_si512(high), _mm512_castps_si512(low)))
    };
    some |old, other, mask| _mm512_mask_mov_ps(old, mask as _, other);
    at |from| _mm512_mask_loadu_ps(old, mask as _, from);
    join |one, two, from| {
        let first = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        _mm512_permutex2var_ps(one, _mm512_add_epi32(first, _mm512_set1_epi32(from as i32)), two)
    };
    with |held, lane, value| _mm512_mask_mov_ps(held, 1 << lane, _mm512_set1_ps(value));
    first _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps
}
