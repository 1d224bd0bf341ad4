//! Snapshots by vector instructions. With AVX-512 an end that fills no vector is read by masks.

use std::arch::asm;
use std::arch::x86_64::*;

use super::super::super::element::Bool8;
use super::super::{Index, IndexRange};
use super::{ELEMENT_BITS, bounded_each, look_at_each};

/// Indices of a register of AVX-512.
pub(in super::super::super) const LANES: usize = 8;

/// All of them.
pub(in super::super::super) const WHOLE: __mmask8 = 0xFF;

/// Calls `work` with every [`LANES`]th of so many elements, and the lanes that there are from it on. There is code for whole
/// vectors and for the last one, as to make masks for each takes longer than what is done with them.
#[inline(always)]
pub(in super::super::super) fn by_lanes(count: usize, mut work: impl FnMut(usize, __mmask8)) {
    let whole = count / LANES * LANES;
    (0..whole).step_by(LANES).for_each(|element| work(element, WHOLE));
    if whole < count {
        work(whole, !(WHOLE << (count - whole)));
    }
}

/// Which of eight elements have true values, of those whose lanes are set.
///
/// # Safety
///
/// The selection of those are readable, and the processor has AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(in super::super::super) unsafe fn selected_lanes(selection: *const Bool8, lanes: __mmask8) -> __mmask8 {
    let eight: __m128i;
    // SAFETY: the selection of the lanes are readable (this function's condition), and the instruction reads no others. It
    // reads them once, as [`load_512`] reads indices: which elements are selected and how many is one answer then.
    unsafe {
        asm!(
            "vmovdqu8 {eight}{{{lanes}}}{{z}}, [{selection}]",
            eight = out(xmm_reg) eight, lanes = in(kreg) lanes, selection = in(reg) selection,
            options(nostack, preserves_flags, readonly),
        );
    }
    _mm_test_epi8_mask(eight, eight) as __mmask8
}

/// [`super::look`], eight at once, two in turn: what comes of one is waited for while the other is compared.
///
/// # Safety
///
/// As there, and the processor has AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn look_512<I: Index, const LOW: bool>(
    from: *const I,
    count: usize,
    selection: Option<&[Bool8]>,
) -> IndexRange {
    let (mut low, mut high) = ([_mm512_set1_epi64(-1); 2], [_mm512_setzero_si512(); 2]);
    let mut look = |element: usize, lanes: __mmask8, accumulator: usize| {
        // SAFETY: the elements of the lanes are readable and have selection where there are such (this function's
        // conditions).
        unsafe {
            let index = load_512(from.add(element), lanes);
            let wanted = selection.map_or(lanes, |selection| selected_lanes(selection.as_ptr().add(element), lanes));
            if LOW {
                low[accumulator] = _mm512_mask_min_epu64(low[accumulator], wanted, low[accumulator], index);
            }
            high[accumulator] = _mm512_mask_max_epu64(high[accumulator], wanted, high[accumulator], index);
        }
    };
    let pairs = count / (2 * LANES) * (2 * LANES);
    for element in (0..pairs).step_by(2 * LANES) {
        look(element, WHOLE, 0);
        look(element + LANES, WHOLE, 1);
    }
    by_lanes(count - pairs, |element, lanes| look(pairs + element, lanes, 0));
    let none = IndexRange::none::<LOW>();
    IndexRange {
        low: if LOW { _mm512_reduce_min_epu64(_mm512_min_epu64(low[0], low[1])) as usize } else { none.low },
        high: _mm512_reduce_max_epu64(_mm512_max_epu64(high[0], high[1])) as usize,
    }
}

/// [`super::bounded`], eight at once.
///
/// # Safety
///
/// As there, and the processor has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn bounded_512<I: Index>(from: *const I, count: usize, origin: usize, last: usize, to: *mut usize) {
    let (origin, bound) = (_mm512_set1_epi64(origin as i64), _mm512_set1_epi64(last as i64));
    by_lanes(count, |element, lanes| {
        // SAFETY: the elements of the lanes are readable, and `to` is a block's, which has room for whole vectors (this
        // function's conditions).
        unsafe {
            let index = _mm512_sub_epi64(load_512(from.add(element), lanes), origin);
            _mm512_storeu_si512(to.add(element).cast(), _mm512_min_epu64(index, bound));
        }
    });
}

/// [`super::selected`], eight at once.
///
/// # Safety
///
/// As there, `indices` and `elements` are a block's, and the processor has AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn selected_512<I: Index>(
    from: *const I,
    selection: &[Bool8],
    [origin, last]: [usize; 2],
    indices: *mut usize,
    elements: *mut u32,
) -> usize {
    let (origin, bound) = (_mm512_set1_epi64(origin as i64), _mm512_set1_epi64(last as i64));
    let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mut kept = 0;
    by_lanes(selection.len(), |element, lanes| {
        // SAFETY: the elements and the selection of the lanes are readable (this function's conditions), and a block has
        // room for whole vectors, which begin no later than the one that is read.
        unsafe {
            let wanted = selected_lanes(selection.as_ptr().add(element), lanes);
            let index = _mm512_min_epu64(_mm512_sub_epi64(load_512(from.add(element), lanes), origin), bound);
            _mm512_storeu_si512(indices.add(kept).cast(), _mm512_maskz_compress_epi64(wanted, index));
            _mm256_storeu_si256(elements.add(kept).cast(), _mm256_maskz_compress_epi32(wanted, numbers));
            kept += wanted.count_ones() as usize;
        }
        numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(LANES as i32));
    });
    kept
}

/// [`super::within`], eight at once.
///
/// # Safety
///
/// As there, and the processor has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn within_512<I: Index>(
    from: *const I,
    count: usize,
    [origin, extent]: [usize; 2],
    to: *mut usize,
) -> usize {
    let (origin, extent) = (_mm512_set1_epi64(origin as i64), _mm512_set1_epi64(extent as i64));
    let mut elements = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let mut kept = 0;
    by_lanes(count, |element, lanes| {
        // SAFETY: the elements of the lanes are readable (this function's conditions), and a block has room for whole
        // vectors, which begin no later than the one that is read.
        unsafe {
            let index = _mm512_sub_epi64(load_512(from.add(element), lanes), origin);
            let wanted = _mm512_mask_cmplt_epu64_mask(lanes, index, extent);
            let both = _mm512_or_si512(_mm512_slli_epi64::<ELEMENT_BITS>(index), elements);
            _mm512_storeu_si512(to.add(kept).cast(), _mm512_maskz_compress_epi64(wanted, both));
            kept += wanted.count_ones() as usize;
        }
        elements = _mm512_add_epi64(elements, _mm512_set1_epi64(LANES as i64));
    });
    kept
}

/// [`super::look`], four at once.
///
/// # Safety
///
/// As there, and the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn look_256<I: Index, const LOW: bool>(
    from: *const I,
    count: usize,
    selection: Option<&[Bool8]>,
) -> IndexRange {
    const LANES: usize = 4;
    // Signed comparisons order unsigned numbers once the highest bit of both is inverted.
    let inverted = _mm256_set1_epi64x(i64::MIN);
    let (mut low, mut high) = (_mm256_set1_epi64x(i64::MAX), inverted);
    let done = count / LANES * LANES;
    for element in (0..done).step_by(LANES) {
        // SAFETY: the lanes from this element on are readable and have selection where there are such (this function's
        // conditions).
        unsafe {
            let index = _mm256_xor_si256(load_256(from.add(element)), inverted);
            let (mut lower, mut higher) = (_mm256_cmpgt_epi64(low, index), _mm256_cmpgt_epi64(index, high));
            if let Some(selection) = selection {
                let four = _mm_loadu_si32(selection.as_ptr().add(element).cast());
                let unwanted = _mm256_cmpeq_epi64(_mm256_cvtepu8_epi64(four), _mm256_setzero_si256());
                (lower, higher) = (_mm256_andnot_si256(unwanted, lower), _mm256_andnot_si256(unwanted, higher));
            }
            if LOW {
                low = _mm256_blendv_epi8(low, index, lower);
            }
            high = _mm256_blendv_epi8(high, index, higher);
        }
    }
    let mut lanes = [[0_usize; LANES]; 2];
    // SAFETY: each array has room for a register.
    unsafe {
        _mm256_storeu_si256(lanes[0].as_mut_ptr().cast(), _mm256_xor_si256(low, inverted));
        _mm256_storeu_si256(lanes[1].as_mut_ptr().cast(), _mm256_xor_si256(high, inverted));
    }
    let [low, high] = lanes;
    let none = IndexRange::none::<LOW>();
    let vectors = IndexRange {
        low: if LOW { low.into_iter().fold(none.low, usize::min) } else { none.low },
        high: high.into_iter().fold(none.high, usize::max),
    };
    let selection = selection.map(|selection| &selection[done..]);
    // SAFETY: the elements after those of the vectors are readable and aligned and have selection (this function's
    // conditions).
    vectors.join(unsafe { look_at_each::<I, LOW>(from.add(done), count - done, selection) })
}

/// [`super::bounded`], four at once.
///
/// # Safety
///
/// As there, and the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn bounded_256<I: Index>(from: *const I, count: usize, origin: usize, last: usize, to: *mut usize) {
    const LANES: usize = 4;
    let inverted = _mm256_set1_epi64x(i64::MIN);
    let (first, bound) = (_mm256_set1_epi64x(origin as i64), _mm256_set1_epi64x(last as i64 ^ i64::MIN));
    let done = count / LANES * LANES;
    for element in (0..done).step_by(LANES) {
        // SAFETY: the lanes from this element on are readable, and `to` has room for them (this function's conditions).
        unsafe {
            let index = _mm256_xor_si256(_mm256_sub_epi64(load_256(from.add(element)), first), inverted);
            let index = _mm256_blendv_epi8(index, bound, _mm256_cmpgt_epi64(index, bound));
            _mm256_storeu_si256(to.add(element).cast(), _mm256_xor_si256(index, inverted));
        }
    }
    // SAFETY: the elements after those of the vectors are readable and aligned, and `to` has room for them (this
    // function's conditions).
    unsafe { bounded_each::<I>(from.add(done), count - done, origin, last, to.add(done)) }
}

/// The indices of some lanes as they are now, sign-extended, and 0 in the others.
///
/// # Safety
///
/// Those of the lanes are readable, and the processor has AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in super::super::super) unsafe fn load_512<I: Index>(from: *const I, lanes: __mmask8) -> __m512i {
    let loaded;
    // SAFETY: the elements of the lanes are readable (this function's condition), and the instruction reads no others. It
    // reads them once, into a register of which the compiler assumes nothing: whatever others write meanwhile, the
    // register holds some values that stay.
    unsafe {
        if size_of::<I>() == 4 {
            asm!(
                "vpmovsxdq {loaded}{{{lanes}}}{{z}}, [{from}]",
                loaded = out(zmm_reg) loaded, lanes = in(kreg) lanes, from = in(reg) from,
                options(nostack, preserves_flags, readonly),
            );
        } else {
            asm!(
                "vmovdqu64 {loaded}{{{lanes}}}{{z}}, [{from}]",
                loaded = out(zmm_reg) loaded, lanes = in(kreg) lanes, from = in(reg) from,
                options(nostack, preserves_flags, readonly),
            );
        }
    }
    loaded
}

/// Four indices as they are now, sign-extended.
///
/// # Safety
///
/// They are readable, and the processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_256<I: Index>(from: *const I) -> __m256i {
    let loaded;
    // SAFETY: the elements are readable (this function's condition). One instruction reads them, once, into a register of
    // which the compiler assumes nothing: whatever others write meanwhile, the register holds some values that stay.
    unsafe {
        if size_of::<I>() == 4 {
            asm!("vpmovsxdq {}, [{}]", out(ymm_reg) loaded, in(reg) from, options(nostack, preserves_flags, readonly));
        } else {
            asm!("vmovdqu {}, [{}]", out(ymm_reg) loaded, in(reg) from, options(nostack, preserves_flags, readonly));
        }
    }
    loaded
}
