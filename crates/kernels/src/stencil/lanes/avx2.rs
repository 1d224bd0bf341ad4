//! Vectors of 256 bits, with fused multiply-add.

use std::arch::x86_64::*;

use super::Lanes;

/// A register of `T`.
#[derive(Clone, Copy)]
pub(in crate::stencil) struct Avx2<T: Register>(T::Held);

/// The register type that holds vectors of an element.
pub(in crate::stencil) trait Register {
    /// As the processor's functions know it.
    type Held: Copy;
}

impl Register for f64 {
    type Held = __m256d;
}

impl Register for f32 {
    type Held = __m256;
}

// SAFETY of both: callers keep the contract of `Lanes`.
impl Lanes for Avx2<f64> {
    type Element = f64;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        unsafe { Avx2(_mm256_set1_pd(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        unsafe { Avx2(_mm256_loadu_pd(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream16(self, to: *mut f64) {
        unsafe {
            _mm_stream_pd(to, _mm256_castpd256_pd128(self.0));
            _mm_stream_pd(to.add(2), _mm256_extractf128_pd::<1>(self.0));
        }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f64) {
        unsafe { _mm256_stream_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream_one(value: f64, to: *mut f64) {
        unsafe { _mm_stream_si64(to.cast(), value.to_bits() as i64) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Avx2(_mm256_add_pd(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        unsafe { Avx2(_mm256_fmadd_pd(self.0, factor.0, sum.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add_one(value: f64, factor: f64, sum: f64) -> f64 {
        unsafe { _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(value), _mm_set_sd(factor), _mm_set_sd(sum))) }
    }

    #[inline(always)]
    unsafe fn after(self, previous: Self) -> Self {
        unsafe {
            // The high half of `previous` and the low half of `self`: what stands one half before `self`.
            let straddling = _mm256_permute2f128_pd::<0x21>(previous.0, self.0);
            Avx2(_mm256_shuffle_pd::<0b0101>(straddling, self.0))
        }
    }

    #[inline(always)]
    unsafe fn before(self, next: Self) -> Self {
        unsafe {
            let straddling = _mm256_permute2f128_pd::<0x21>(self.0, next.0);
            Avx2(_mm256_shuffle_pd::<0b0101>(self.0, straddling))
        }
    }
}

impl Lanes for Avx2<f32> {
    type Element = f32;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Avx2(_mm256_set1_ps(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Avx2(_mm256_loadu_ps(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm256_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream16(self, to: *mut f32) {
        unsafe {
            _mm_stream_ps(to, _mm256_castps256_ps128(self.0));
            _mm_stream_ps(to.add(4), _mm256_extractf128_ps::<1>(self.0));
        }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        unsafe { _mm256_stream_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream_one(value: f32, to: *mut f32) {
        unsafe { _mm_stream_si32(to.cast(), value.to_bits() as i32) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Avx2(_mm256_add_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        unsafe { Avx2(_mm256_fmadd_ps(self.0, factor.0, sum.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add_one(value: f32, factor: f32, sum: f32) -> f32 {
        unsafe { _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(value), _mm_set_ss(factor), _mm_set_ss(sum))) }
    }

    #[inline(always)]
    unsafe fn after(self, previous: Self) -> Self {
        unsafe {
            let (old, new) = (_mm256_castps_si256(previous.0), _mm256_castps_si256(self.0));
            let straddling = _mm256_permute2x128_si256::<0x21>(old, new);
            Avx2(_mm256_castsi256_ps(_mm256_alignr_epi8::<12>(new, straddling)))
        }
    }

    #[inline(always)]
    unsafe fn before(self, next: Self) -> Self {
        unsafe {
            let (old, new) = (_mm256_castps_si256(self.0), _mm256_castps_si256(next.0));
            let straddling = _mm256_permute2x128_si256::<0x21>(old, new);
            Avx2(_mm256_castsi256_ps(_mm256_alignr_epi8::<4>(straddling, old)))
        }
    }
}
