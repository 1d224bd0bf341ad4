//! Scans of a row by the lanes of one vector register after another: within a register in as many steps as its number of
//! lanes has bits, so that only one combination for each register waits for the one before it. For sums and bits of
//! integers, which come to the same in any grouping.

use std::arch::x86_64::*;
use std::mem::transmute_copy;

use weft_simd::{Dispatched, Level, dispatch_to_masks, level};

use super::super::element::Element;
use super::Accumulate;

/// Bytes of a register.
const REGISTER: usize = 64;

/// Whether there is code for such elements, and what it needs.
pub(super) fn fit<T: Element, A: Accumulate<T>>() -> bool {
    let size = size_of::<T>();
    A::IS_INSTRUCTION && (size == 4 || size == 8) && size_of::<A::State>() == size && level() == Level::Avx512
}

/// Gives each of so many elements of `out` what those of `x` up to it come to after `state`, from low to high indices;
/// returns what all come to.
///
/// # Safety
///
/// [`fit`] says so, `x` is readable and `out` writable for as many elements, and they are the same or do not overlap.
pub(super) unsafe fn scan<T: Element, A: Accumulate<T>>(
    x: *const T,
    out: *mut T,
    length: usize,
    state: A::State,
    exclusive: bool,
) -> A::State {
    dispatch_to_masks(Row::<T, A> { x, out, length, state, exclusive })
}

struct Row<T: Element, A: Accumulate<T>> {
    x: *const T,
    out: *mut T,
    length: usize,
    state: A::State,
    exclusive: bool,
}

impl<T: Element, A: Accumulate<T>> Dispatched for Row<T, A> {
    type Output = A::State;
    #[inline(always)]
    fn run(self) -> A::State {
        let Self { x, out, length, state, exclusive } = self;
        let count = REGISTER / size_of::<T>();
        let whole = length / count * count;
        // SAFETY: `fit` has found the processor's registers and the sizes of elements and states to be those, and there
        // are so many elements (conditions of `scan`).
        unsafe {
            let empty = broadcast(A::EMPTY);
            let mut carried = broadcast(state);
            for start in (0..whole).step_by(count) {
                let mut within = _mm512_loadu_si512(x.add(start).cast());
                if size_of::<T>() == 4 {
                    within = A::step_512(_mm512_alignr_epi32::<15>(within, empty), within);
                }
                within = A::step_512(_mm512_alignr_epi32::<14>(within, empty), within);
                within = A::step_512(_mm512_alignr_epi32::<12>(within, empty), within);
                within = A::step_512(_mm512_alignr_epi32::<8>(within, empty), within);
                let shown = match (exclusive, size_of::<T>()) {
                    (false, _) => within,
                    (true, 4) => _mm512_alignr_epi32::<15>(within, empty),
                    (true, _) => _mm512_alignr_epi32::<14>(within, empty),
                };
                _mm512_storeu_si512(out.add(start).cast(), A::step_512(carried, shown));
                // Of this nothing waits for what was carried before.
                let all = if size_of::<T>() == 4 {
                    _mm512_permutexvar_epi32(_mm512_set1_epi32(15), within)
                } else {
                    _mm512_permutexvar_epi64(_mm512_set1_epi64(7), within)
                };
                carried = A::step_512(carried, all);
            }
            let mut state = transmute_copy(&carried);
            for element in whole..length {
                let with = A::step(state, *x.add(element), true);
                *out.add(element) = A::value(if exclusive { state } else { with });
                state = with;
            }
            state
        }
    }
}

/// A state of 4 or 8 bytes in each lane.
///
/// # Safety
///
/// It has so many bytes, and the processor has AVX-512.
#[inline(always)]
unsafe fn broadcast<S: Copy>(state: S) -> __m512i {
    // SAFETY: the state has as many bytes, and the processor has AVX-512 (this function's conditions).
    unsafe {
        if size_of::<S>() == 4 {
            _mm512_set1_epi32(transmute_copy(&state))
        } else {
            _mm512_set1_epi64(transmute_copy(&state))
        }
    }
}
