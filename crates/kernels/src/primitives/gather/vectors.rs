//! Gets of eight elements at once, whose indices are read, bounded and used within registers.

use std::arch::x86_64::*;

use super::super::element::Bool8;
use super::super::indices::{Index, SharedIndices, load_512};

/// Indices of a register.
const LANES: usize = 8;

/// Stores at `target` the elements of `x` that indices say, or those of `old` where `truths` are given and do not hold.
/// Indices beyond the last element of `x` are those of that one, whoever writes them meanwhile.
///
/// # Safety
///
/// The processor has AVX-512, and `T` has 4 or 8 bytes. `x` is not empty, there are as many truths as indices, and as many
/// elements are readable at `old`, where truths are given, and writable at `target`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn gather_512<T: Copy, I: Index>(
    x: &[T],
    index: SharedIndices<'_, I>,
    truths: Option<&[Bool8]>,
    old: *const T,
    target: *mut T,
) {
    let last = x.len() - 1;
    let bound = _mm512_set1_epi64(last as i64);
    let vectors = index.len() / LANES;
    for start in (0..vectors).map(|vector| vector * LANES) {
        // SAFETY: indices, truths and elements of `old` and `target` from `start` on are as many as lanes at least (this
        // function's conditions); those that are gathered are elements of `x`, as their indices are bounded in the
        // register, and each begins as many bytes behind the first one as the scale says.
        unsafe {
            let lanes = _mm512_min_epu64(load_512(index.address(start)), bound);
            let (source, target) = (x.as_ptr().cast(), target.add(start));
            let mask = truths.map(|truths| {
                let eight = _mm_loadl_epi64(truths.as_ptr().add(start).cast());
                _mm_test_epi8_mask(eight, eight) as __mmask8
            });
            if size_of::<T>() == 8 {
                let found = match mask {
                    None => _mm512_i64gather_epi64::<8>(lanes, source),
                    Some(mask) => {
                        let old = _mm512_loadu_si512(old.add(start).cast());
                        _mm512_mask_i64gather_epi64::<8>(old, mask, lanes, source)
                    }
                };
                _mm512_storeu_si512(target.cast(), found);
            } else {
                let found = match mask {
                    None => _mm512_i64gather_epi32::<4>(lanes, source.cast()),
                    Some(mask) => {
                        let old = _mm256_loadu_si256(old.add(start).cast());
                        _mm512_mask_i64gather_epi32::<4>(old, mask, lanes, source.cast())
                    }
                };
                _mm256_storeu_si256(target.cast(), found);
            }
        }
    }
    for element in vectors * LANES..index.len() {
        let place = index.read(element).min(last);
        // SAFETY: `x` has the element, as its index was bounded after it was read; `old` and `target` have one for each
        // index (this function's conditions).
        unsafe {
            let holds = truths.is_none_or(|truths| truths[element].holds());
            target.add(element).write(if holds { *x.get_unchecked(place) } else { *old.add(element) });
        }
    }
}
