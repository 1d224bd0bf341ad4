//! What a scan carries from element to element.

use std::marker::PhantomData;

use super::super::combination::Combine;
#[cfg(target_arch = "x86_64")]
use super::super::combination::Lanes;
use super::super::element::Element;
use super::super::reduce::folded;
use super::super::view::Selection;

/// What a scan carries from element to element.
pub(super) trait Accumulate<T: Element>: Send + Sync + 'static {
    type State: Copy + Send + Sync;
    /// Whether [`Self::step_512`] is one instruction, and elements may be combined in any grouping.
    const IS_INSTRUCTION: bool;
    /// Before the first element.
    const EMPTY: Self::State;
    /// Before an element at which a segment may begin: nothing of what was carried, if it does.
    #[inline(always)]
    fn begun(state: Self::State, begins: bool) -> Self::State {
        if begins { Self::EMPTY } else { state }
    }
    /// After an element, if it is selected.
    fn step(state: Self::State, x: T, selected: bool) -> Self::State;
    /// As [`Self::step`] of selected elements, in each lane of 4 or 8 bytes.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512; elements and states have 8 bytes, or, where it is an instruction, 4.
    #[cfg(target_arch = "x86_64")]
    unsafe fn step_512(state: Lanes, x: Lanes) -> Lanes;
    /// After the elements of both.
    fn join(before: Self::State, after: Self::State) -> Self::State;
    /// What the elements so far come to.
    fn value(state: Self::State) -> T;
    /// After these elements alone; none of them is the first of a segment but the one that comes first.
    fn fold(x: &[T], selection: Selection<'_>, downward: bool, far: bool) -> Self::State;
}

/// All elements combined.
pub(super) struct By<C>(PhantomData<C>);

impl<T: Element, C: Combine<T>> Accumulate<T> for By<C> {
    type State = T;
    const IS_INSTRUCTION: bool = C::IS_INSTRUCTION && C::ASSOCIATIVE;
    const EMPTY: T = C::IDENTITY;

    #[inline(always)]
    fn step(state: T, x: T, selected: bool) -> T {
        C::combine(state, if selected { x } else { C::IDENTITY })
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn step_512(state: Lanes, x: Lanes) -> Lanes {
        // SAFETY: the processor has AVX-512 and elements have so many bytes (this function's condition, and `combine_512`'s).
        unsafe { C::combine_512(state, x) }
    }

    #[inline(always)]
    fn join(before: T, after: T) -> T {
        C::combine(before, after)
    }

    #[inline(always)]
    fn value(state: T) -> T {
        state
    }

    #[inline(always)]
    fn fold(x: &[T], selection: Selection<'_>, _: bool, far: bool) -> T {
        folded::<T, C>(x, selection, far)
    }
}

/// The first selected element, if there was one.
pub(super) struct First;

impl<T: Element> Accumulate<T> for First {
    type State = (T, bool);
    const IS_INSTRUCTION: bool = false;
    const EMPTY: (T, bool) = (T::SMALLEST, false);

    #[inline(always)]
    fn begun(state: (T, bool), begins: bool) -> (T, bool) {
        (state.0, state.1 & !begins)
    }

    /// No processor foresees where segments of no regular length begin: by a branch, elements took ten times as long.
    #[inline(always)]
    fn step(state: (T, bool), x: T, selected: bool) -> (T, bool) {
        (std::hint::select_unpredictable(state.1, state.0, x), state.1 | selected)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn step_512(_: Lanes, _: Lanes) -> Lanes {
        unreachable!("a value and whether there is one have more than 8 bytes")
    }

    #[inline(always)]
    fn join(before: (T, bool), after: (T, bool)) -> (T, bool) {
        if before.1 { before } else { after }
    }

    #[inline(always)]
    fn value(state: (T, bool)) -> T {
        state.0
    }

    fn fold(x: &[T], selection: Selection<'_>, downward: bool, _: bool) -> (T, bool) {
        let mut indices = 0..x.len();
        let first = if downward {
            indices.rev().find(|&index| selection.holds(index))
        } else {
            indices.find(|&index| selection.holds(index))
        };
        first.map_or(Self::EMPTY, |index| (x[index], true))
    }
}
