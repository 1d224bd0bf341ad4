//! Gets of eight elements at once, whose indices are read, bounded and used within registers.

use std::arch::x86_64::*;

use super::super::element::Bool8;
use super::super::indices::vectors::{by_lanes, load_512, selected_lanes};
use super::super::indices::{Index, SharedIndices};

/// Stores at `target` the elements of `x` that indices say, or those of `old` where `mask` are given and do not hold.
/// Indices beyond the last element of `x` are those of that one, whoever writes them meanwhile.
///
/// # Safety
///
/// The processor has AVX-512, and `T` has 4 or 8 bytes. `x` is not empty, there are as many mask bytes as indices, and
/// as many elements are readable at `old`, where a mask is given, and writable at `target`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn gather_512<T: Copy, I: Index>(
    x: &[T],
    index: SharedIndices<'_, I>,
    mask: Option<&[Bool8]>,
    old: *const T,
    target: *mut T,
) {
    let bound = _mm512_set1_epi64(x.len() as i64 - 1);
    by_lanes(index.len(), |start, lanes| {
        // SAFETY: the lanes are those of elements that there are (this function's conditions).
        unsafe {
            let mask = mask.map(|mask| mask.as_ptr().add(start));
            eight(x, index.address(start), lanes, bound, mask, old.wrapping_add(start), target.add(start));
        }
    });
}

/// The elements of some lanes.
///
/// # Safety
///
/// As of [`gather_512`], for the lanes; the bound is an element of `x` in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn eight<T: Copy, I: Index>(
    x: &[T],
    index: *const I,
    lanes: __mmask8,
    bound: __m512i,
    mask: Option<*const Bool8>,
    old: *const T,
    target: *mut T,
) {
    // SAFETY: indices, mask bytes and elements of `old` and `target` are there for the lanes, and no others are touched
    // (this function's conditions); those that are gathered are elements of `x`, as their indices are bounded in the
    // register, and each begins as many bytes behind the first one as the scale says.
    unsafe {
        let positions = _mm512_min_epu64(load_512(index, lanes), bound);
        let wanted = mask.map_or(lanes, |mask| selected_lanes(mask, lanes));
        let source = x.as_ptr();
        if size_of::<T>() == 8 {
            let old = if mask.is_some() { _mm512_maskz_loadu_epi64(lanes, old.cast()) } else { _mm512_setzero_si512() };
            let gathered = _mm512_mask_i64gather_epi64::<8>(old, wanted, positions, source.cast());
            _mm512_mask_storeu_epi64(target.cast(), lanes, gathered);
        } else {
            let old = if mask.is_some() { _mm256_maskz_loadu_epi32(lanes, old.cast()) } else { _mm256_setzero_si256() };
            let gathered = _mm512_mask_i64gather_epi32::<4>(old, wanted, positions, source.cast());
            _mm256_mask_storeu_epi32(target.cast(), lanes, gathered);
        }
    }
}
