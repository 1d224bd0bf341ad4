//! Version 1: what it does otherwise than version 2, by the description of Weicker 1984 as its C translation has it.
//!
//! Its program computes values that nobody reads, which a compiler may leave out; that is why there is a version 2. They
//! are read here, so that the mix of statements is that of the description.

use std::hint::black_box;

use super::{
    FIRST, Ident, Locals, SECOND, State, Text, procedure_1, procedure_2, procedure_5, procedure_6, procedure_7,
    procedure_8,
};

/// The final values of the local variables.
pub(super) const FINAL: Locals =
    Locals { number_1: 7, number_2: 39, number_3: 9, choice: Ident::Two, string_1: FIRST, string_2: SECOND };

#[inline(never)]
pub(super) fn iterate(state: &mut State, iterations: u64) -> Locals {
    let mut locals =
        Locals { number_1: 0, number_2: 0, number_3: 0, choice: Ident::One, string_1: FIRST, string_2: [0; 31] };
    for _ in 0..iterations {
        let state = black_box(&mut *state);
        procedure_5(state);
        procedure_4(state);
        locals.number_1 = 2;
        locals.number_2 = 3;
        locals.string_2 = SECOND;
        locals.choice = Ident::Two;
        state.boolean = !function_2(&locals.string_1, &locals.string_2);
        while locals.number_1 < locals.number_2 {
            locals.number_3 = 5 * locals.number_1 - locals.number_2;
            procedure_7(locals.number_1, locals.number_2, &mut locals.number_3);
            locals.number_1 += 1;
        }
        procedure_8(state, locals.number_1, locals.number_3);
        let first: *mut super::Record = &raw mut *state.first;
        // SAFETY: both records live in `state`, whose boxes are not touched while the pointers are used.
        unsafe { procedure_1(state, first) };
        let mut index = b'A';
        while index <= state.letter_2 {
            if locals.choice == function_1(index, b'C') {
                procedure_6(state, Ident::One, &mut locals.choice);
            }
            index += 1;
        }
        locals.number_3 = locals.number_2 * locals.number_1;
        locals.number_2 = locals.number_3 / locals.number_1;
        locals.number_2 = 7 * (locals.number_3 - locals.number_2) - locals.number_1;
        procedure_2(state, &mut locals.number_1);
        black_box(&mut locals);
    }
    locals
}

#[inline(never)]
fn procedure_4(state: &mut State) {
    let boolean = state.letter_1 == b'A';
    black_box(boolean | state.boolean);
    state.letter_2 = b'B';
}

#[inline(never)]
fn function_1(first: u8, second: u8) -> Ident {
    let copy = first;
    if copy != second { Ident::One } else { Ident::Two }
}

#[inline(never)]
fn function_2(first: &Text, second: &Text) -> bool {
    let mut at = 1;
    let mut letter = 0;
    while at <= 1 {
        if function_1(first[at], second[at + 1]) == Ident::One {
            letter = b'A';
            at += 1;
        }
    }
    if (b'W'..=b'Z').contains(&letter) {
        at = 7;
    }
    let is_greater = letter == b'X' || first > second;
    black_box(at + 7 * usize::from(is_greater));
    is_greater
}
