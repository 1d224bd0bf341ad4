//! Eight cells at once, each in a lane of a vector register: their elements come from memory cell by cell, so blocks of
//! eight by eight elements are transposed on the way in and on the way out.

use std::arch::x86_64::*;
use std::mem::transmute_copy;

use weft_simd::{Dispatched, Level, level};

use super::super::element::Element;
use super::super::lines::{self, Ahead, LINE};
use super::Accumulate;
use super::cells::{CELL, Cells, LANES, ROW};

/// Elements of a cell whose flags are loaded at once.
const STRIP: usize = LANES * LANES;

/// Whether there is code for such elements, and what it needs.
pub(super) fn fit<T: Element, A: Accumulate<T>>() -> bool {
    size_of::<T>() == 8 && size_of::<A::State>() == 8 && level() == Level::Avx512
}

/// Full cells without a selection, with segments and from high to low.
pub(super) struct InLanes<C, const SEGMENTS: bool, const DOWNWARD: bool>(pub C);

impl<T, A, const SEGMENTS: bool, const DOWNWARD: bool> Dispatched for InLanes<Cells<T, A, LANES>, SEGMENTS, DOWNWARD>
where
    T: Element,
    A: Accumulate<T>,
{
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Cells { x, target, flags, states, exclusive, .. } = self.0;
        let turned = |iteration: usize, count: usize| if DOWNWARD { count - 1 - iteration } else { iteration };
        // SAFETY: there are so many full cells, with a flag for each element, and `fit` has found the processor's
        // registers and the sizes of elements and states to be those.
        unsafe {
            let empty = transmute_copy(&[A::EMPTY; LANES]);
            let mut state: __m512i = transmute_copy(&states);
            let shown = if exclusive { __mmask8::MAX } else { 0 };
            for iteration in 0..CELL / STRIP {
                let strip = turned(iteration, CELL / STRIP) * STRIP;
                // A byte for each element: eight of them are a word.
                let begins = if SEGMENTS {
                    load(flags.add(strip).cast(), CELL / LANES)
                } else {
                    [_mm512_setzero_si512(); LANES]
                };
                for iteration in 0..LANES {
                    let block = turned(iteration, LANES);
                    let first = strip + block * LANES;
                    let mut elements = load(x.add(first).cast(), CELL);
                    for step in 0..LANES {
                        let column = turned(step, LANES);
                        let begin = _mm512_test_epi64_mask(begins[block], _mm512_set1_epi64(0xFF << (8 * column)));
                        if SEGMENTS && !DOWNWARD {
                            state = _mm512_mask_mov_epi64(state, begin, empty);
                        }
                        let with = A::step_512(state, elements[column]);
                        elements[column] = _mm512_mask_mov_epi64(with, shown, state);
                        state = with;
                        if SEGMENTS && DOWNWARD {
                            state = _mm512_mask_mov_epi64(state, begin, empty);
                        }
                    }
                    store(elements, target.add(first).cast(), ROW);
                }
            }
        }
    }
}

/// Stores the results of full cells by non-temporal stores.
///
/// # Safety
///
/// `buffer` has the results, [`ROW`] elements of 8 bytes from cell to cell; the target is writable.
pub(super) unsafe fn store_past_caches(buffer: *mut u8, target: *mut u8, ahead: &mut Ahead) {
    const BYTES: usize = CELL * 8;
    // Lines of the target that two cells share are put together behind the first of them.
    let shared = (LINE - target as usize % LINE) % LINE;
    for cell in 0..LANES {
        // SAFETY: `buffer` has rows of a cell's results and a line more, and the target is writable for all cells (this
        // function's conditions); `shared` is less than a line.
        unsafe {
            let row = buffer.add(cell * ROW * 8);
            let from = if cell == 0 { 0 } else { shared };
            let mut to = BYTES;
            if cell + 1 < LANES {
                std::ptr::copy_nonoverlapping(row.add(ROW * 8), row.add(BYTES), shared);
                to += shared;
            }
            lines::store_and_fetch(row.add(from), target.add(cell * BYTES + from), to - from, ahead);
        }
    }
}

/// Eight words from each of eight addresses, by index within them and then by which of them: eight by eight,
/// transposed.
///
/// # Safety
///
/// The words are readable, and the processor has AVX-512.
#[inline(always)]
unsafe fn load(x: *const u64, stride: usize) -> [__m512i; LANES] {
    let half = |row: usize, column: usize| {
        // SAFETY: eight words of each of eight rows are readable, and the processor has AVX-512 (this function's
        // conditions); these are four words of two of the rows.
        unsafe {
            let low = _mm256_loadu_si256(x.add(row * stride + column).cast());
            let high = _mm256_loadu_si256(x.add((row + 4) * stride + column).cast());
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    };
    // SAFETY: the processor has AVX-512 (this function's condition), which is all that `four_by_four` asks.
    unsafe {
        let low = four_by_four([half(0, 0), half(1, 0), half(2, 0), half(3, 0)]);
        let high = four_by_four([half(0, 4), half(1, 4), half(2, 4), half(3, 4)]);
        [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
    }
}

/// The reverse of [`load`].
///
/// # Safety
///
/// As there; the words are writable.
#[inline(always)]
unsafe fn store(rows: [__m512i; LANES], target: *mut u64, stride: usize) {
    // SAFETY: eight words of each of eight rows are writable, and the processor has AVX-512 (this function's
    // conditions).
    unsafe {
        let low = four_by_four([rows[0], rows[1], rows[2], rows[3]]);
        let high = four_by_four([rows[4], rows[5], rows[6], rows[7]]);
        for row in 0..4 {
            let one = _mm512_inserti64x4::<1>(low[row], _mm512_castsi512_si256(high[row]));
            let other = _mm512_shuffle_i64x2::<0b11_10_11_10>(low[row], high[row]);
            _mm512_storeu_si512(target.add(row * stride).cast(), one);
            _mm512_storeu_si512(target.add((row + 4) * stride).cast(), other);
        }
    }
}

/// Transposes four by four words, in each half of the registers for itself.
///
/// # Safety
///
/// The processor has AVX-512.
#[inline(always)]
unsafe fn four_by_four(rows: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the processor has AVX-512 (this function's condition); only registers are used.
    unsafe {
        let even = _mm512_unpacklo_epi64(rows[0], rows[1]);
        let odd = _mm512_unpackhi_epi64(rows[0], rows[1]);
        let even_after = _mm512_unpacklo_epi64(rows[2], rows[3]);
        let odd_after = _mm512_unpackhi_epi64(rows[2], rows[3]);
        let firsts = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let seconds = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        [
            _mm512_permutex2var_epi64(even, firsts, even_after),
            _mm512_permutex2var_epi64(odd, firsts, odd_after),
            _mm512_permutex2var_epi64(even, seconds, even_after),
            _mm512_permutex2var_epi64(odd, seconds, odd_after),
        ]
    }
}
