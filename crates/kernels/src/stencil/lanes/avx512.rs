//! Vectors of 512 bits.

use std::arch::x86_64::*;

use super::Lanes;

/// A register of `T`.
#[derive(Clone, Copy)]
pub(in crate::stencil) struct Avx512<T: Register>(T::Held);

/// The register type that holds vectors of an element.
pub(in crate::stencil) trait Register {
    /// As the processor's functions know it.
    type Held: Copy;
}

impl Register for f64 {
    type Held = __m512d;
}

impl Register for f32 {
    type Held = __m512;
}

// SAFETY of both: callers keep the contract of `Lanes`.
impl Lanes for Avx512<f64> {
    type Element = f64;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        unsafe { Avx512(_mm512_set1_pd(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        unsafe { Avx512(_mm512_loadu_pd(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        unsafe { _mm512_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream16(self, to: *mut f64) {
        unsafe {
            _mm_stream_pd(to, _mm512_extractf64x2_pd::<0>(self.0));
            _mm_stream_pd(to.add(2), _mm512_extractf64x2_pd::<1>(self.0));
            _mm_stream_pd(to.add(4), _mm512_extractf64x2_pd::<2>(self.0));
            _mm_stream_pd(to.add(6), _mm512_extractf64x2_pd::<3>(self.0));
        }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f64) {
        unsafe { _mm512_stream_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream_one(value: f64, to: *mut f64) {
        unsafe { _mm_stream_si64(to.cast(), value.to_bits() as i64) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Avx512(_mm512_add_pd(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        unsafe { Avx512(_mm512_fmadd_pd(self.0, factor.0, sum.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add_one(value: f64, factor: f64, sum: f64) -> f64 {
        unsafe { _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(value), _mm_set_sd(factor), _mm_set_sd(sum))) }
    }

    #[inline(always)]
    unsafe fn after(self, previous: Self) -> Self {
        unsafe {
            let (low, high) = (_mm512_castpd_si512(previous.0), _mm512_castpd_si512(self.0));
            Avx512(_mm512_castsi512_pd(_mm512_alignr_epi64::<7>(high, low)))
        }
    }

    #[inline(always)]
    unsafe fn before(self, next: Self) -> Self {
        unsafe {
            let (low, high) = (_mm512_castpd_si512(self.0), _mm512_castpd_si512(next.0));
            Avx512(_mm512_castsi512_pd(_mm512_alignr_epi64::<1>(high, low)))
        }
    }
}

impl Lanes for Avx512<f32> {
    type Element = f32;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Avx512(_mm512_set1_ps(value)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Avx512(_mm512_loadu_ps(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream16(self, to: *mut f32) {
        unsafe {
            _mm_stream_ps(to, _mm512_extractf32x4_ps::<0>(self.0));
            _mm_stream_ps(to.add(4), _mm512_extractf32x4_ps::<1>(self.0));
            _mm_stream_ps(to.add(8), _mm512_extractf32x4_ps::<2>(self.0));
            _mm_stream_ps(to.add(12), _mm512_extractf32x4_ps::<3>(self.0));
        }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        unsafe { _mm512_stream_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn stream_one(value: f32, to: *mut f32) {
        unsafe { _mm_stream_si32(to.cast(), value.to_bits() as i32) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Avx512(_mm512_add_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        unsafe { Avx512(_mm512_fmadd_ps(self.0, factor.0, sum.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add_one(value: f32, factor: f32, sum: f32) -> f32 {
        unsafe { _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(value), _mm_set_ss(factor), _mm_set_ss(sum))) }
    }

    #[inline(always)]
    unsafe fn after(self, previous: Self) -> Self {
        unsafe {
            let (low, high) = (_mm512_castps_si512(previous.0), _mm512_castps_si512(self.0));
            Avx512(_mm512_castsi512_ps(_mm512_alignr_epi32::<15>(high, low)))
        }
    }

    #[inline(always)]
    unsafe fn before(self, next: Self) -> Self {
        unsafe {
            let (low, high) = (_mm512_castps_si512(self.0), _mm512_castps_si512(next.0));
            Avx512(_mm512_castsi512_ps(_mm512_alignr_epi32::<1>(high, low)))
        }
    }
}
