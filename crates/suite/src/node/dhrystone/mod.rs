//! Dhrystone: table 4 of Dunigan 1991. Version 2.1, after the description of Weicker 1988, and [version 1](first), after
//! that of Weicker 1984, which the paper cites.
//!
//! A synthetic mix of the statements of system programs: assignments, control statements, calls of procedures, on
//! integers, characters, strings of thirty characters, arrays, and two records that point to each other. No floating
//! point. The paper runs 50,000 iterations; `seconds` is the time of as many and the rate is Dhrystones per second.
//!
//! Kept by: version 2's own rules: procedures are not merged (`inline(never)`, as by separate compilation), every
//! result is used, and the globals are declared changed once in an iteration. Checked by: the values that the
//! description gives for every variable at the end; `Arr_2_Glob[8][7]` counts iterations. Records are linked by raw
//! pointers, as the program is about pointers: the second record ends up pointing to itself.

use std::hint::black_box;
use std::ptr;

mod first;

use super::error::NodeError;
use super::measure::{Case, expect_equal, timed};
use super::request::NodeRequest;
use super::row::NodeRow;

pub(crate) const ROWS: [&str; 3] = ["dhrystone", "dhrystone_1", DMIPS];

/// The run of version 2.1, by that of the VAX 11/780.
pub(crate) const DMIPS: &str = "dmips";

/// Dhrystones a second of the VAX 11/780, which is taken to do a million instructions a second: the convention by which
/// DMIPS are published.
const OF_VAX: f64 = 1757.0;

const ITERATIONS: u64 = 50_000;

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    Ok(vec![case(ROWS[0], iterate, &FINAL), case(ROWS[1], first::iterate, &first::FINAL)])
}

/// A run of one version, with the values that its local variables have at the end.
fn case(row: &str, iterate: fn(&mut State, u64) -> Locals, locals: &'static Locals) -> Case {
    let mut case = Case::new(row, ITERATIONS, "50,000 iterations", move || {
        Ok(Box::new(move |count| {
            let mut state = State::new();
            let (seconds, own) = timed(|| iterate(&mut state, count));
            state.check(count)?;
            expect_equal("the local variables", &own, locals).map(|()| seconds)
        }))
    });
    case.repetitions_per_unit = ITERATIONS as f64;
    case.rate = Some((1.0, "Dhrystones/s"));
    case
}

/// Adds the rate as a multiple of the VAX's.
pub(crate) fn add_dmips(rows: &mut Vec<NodeRow>) {
    let Some(row) = rows.iter().find(|row| row.variant == ROWS[0]) else { return };
    let rate = row.rate.map(|rate| rate / OF_VAX);
    rows.push(NodeRow { variant: DMIPS.to_owned(), rate, rate_unit: Some("DMIPS".to_owned()), ..row.clone() });
}

/// Thirty characters and a terminating zero.
type Text = [u8; 31];

const fn text(characters: &[u8; 30]) -> Text {
    let mut text = [0; 31];
    let mut at = 0;
    while at < 30 {
        text[at] = characters[at];
        at += 1;
    }
    text
}

const PROGRAM: Text = text(b"DHRYSTONE PROGRAM, SOME STRING");
const FIRST: Text = text(b"DHRYSTONE PROGRAM, 1'ST STRING");
const SECOND: Text = text(b"DHRYSTONE PROGRAM, 2'ND STRING");
const THIRD: Text = text(b"DHRYSTONE PROGRAM, 3'RD STRING");

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ident {
    One,
    Two,
    Three,
    Four,
    #[expect(dead_code, reason = "a value of the description that the program tests for and never sets")]
    Five,
}

/// The variant that is in use of the description's record of variants.
#[derive(Clone, Copy)]
struct Record {
    next: *mut Record,
    discriminant: Ident,
    choice: Ident,
    number: i32,
    string: Text,
}

impl Record {
    fn empty() -> Record {
        Record { next: ptr::null_mut(), discriminant: Ident::One, choice: Ident::One, number: 0, string: [0; 31] }
    }
}

/// The global variables.
struct State {
    first: Box<Record>,
    second: Box<Record>,
    number: i32,
    boolean: bool,
    letter_1: u8,
    letter_2: u8,
    array_1: [i32; 50],
    array_2: [[i32; 50]; 50],
}

/// The local variables of the main program, which the check reads too.
#[derive(Debug, PartialEq)]
struct Locals {
    number_1: i32,
    number_2: i32,
    number_3: i32,
    choice: Ident,
    string_1: Text,
    string_2: Text,
}

impl State {
    fn new() -> State {
        let mut state = State {
            first: Box::new(Record::empty()),
            second: Box::new(Record::empty()),
            number: 0,
            boolean: false,
            letter_1: 0,
            letter_2: 0,
            array_1: [0; 50],
            array_2: [[0; 50]; 50],
        };
        state.first.next = &raw mut *state.second;
        state.first.choice = Ident::Three;
        state.first.number = 40;
        state.first.string = PROGRAM;
        state.array_2[8][7] = 10;
        state
    }

    /// The final values of the description, which both versions have.
    fn check(&self, iterations: u64) -> Result<(), String> {
        expect_equal("Int_Glob", self.number, 5)?;
        expect_equal("Bool_Glob", self.boolean, true)?;
        expect_equal("Ch_1_Glob", self.letter_1, b'A')?;
        expect_equal("Ch_2_Glob", self.letter_2, b'B')?;
        expect_equal("Arr_1_Glob[8]", self.array_1[8], 7)?;
        expect_equal("Arr_2_Glob[8][7]", self.array_2[8][7], (iterations as i32).wrapping_add(10))?;
        expect_equal("Ptr_Glob->Discr", self.first.discriminant, Ident::One)?;
        expect_equal("Ptr_Glob->Enum_Comp", self.first.choice, Ident::Three)?;
        expect_equal("Ptr_Glob->Int_Comp", self.first.number, 17)?;
        expect_equal("Ptr_Glob->Str_Comp", self.first.string, PROGRAM)?;
        expect_equal("Next_Ptr_Glob->Discr", self.second.discriminant, Ident::One)?;
        expect_equal("Next_Ptr_Glob->Enum_Comp", self.second.choice, Ident::Two)?;
        expect_equal("Next_Ptr_Glob->Int_Comp", self.second.number, 18)?;
        expect_equal("Next_Ptr_Glob->Str_Comp", self.second.string, PROGRAM)?;
        expect_equal("Next_Ptr_Glob->Ptr_Comp", ptr::eq(self.second.next, &*self.second), true)
    }
}

/// The final values of the local variables.
const FINAL: Locals =
    Locals { number_1: 5, number_2: 13, number_3: 7, choice: Ident::Two, string_1: FIRST, string_2: SECOND };

#[inline(never)]
fn iterate(state: &mut State, iterations: u64) -> Locals {
    let mut locals =
        Locals { number_1: 0, number_2: 0, number_3: 0, choice: Ident::One, string_1: FIRST, string_2: [0; 31] };
    for iteration in 1..=iterations {
        let state = black_box(&mut *state);
        procedure_5(state);
        procedure_4(state);
        locals.number_1 = 2;
        locals.number_2 = 3;
        locals.string_2 = SECOND;
        locals.choice = Ident::Two;
        state.boolean = !function_2(state, &locals.string_1, &locals.string_2);
        while locals.number_1 < locals.number_2 {
            locals.number_3 = 5 * locals.number_1 - locals.number_2;
            procedure_7(locals.number_1, locals.number_2, &mut locals.number_3);
            locals.number_1 += 1;
        }
        procedure_8(state, locals.number_1, locals.number_3);
        let first: *mut Record = &raw mut *state.first;
        // SAFETY: both records live in `state`, whose boxes are not touched while the pointers are used.
        unsafe { procedure_1(state, first) };
        let mut index = b'A';
        while index <= state.letter_2 {
            if locals.choice == function_1(state, index, b'C') {
                procedure_6(state, Ident::One, &mut locals.choice);
                locals.string_2 = THIRD;
                locals.number_2 = iteration as i32;
                state.number = iteration as i32;
            }
            index += 1;
        }
        locals.number_2 *= locals.number_1;
        locals.number_1 = locals.number_2 / locals.number_3;
        locals.number_2 = 7 * (locals.number_2 - locals.number_3) - locals.number_1;
        procedure_2(state, &mut locals.number_1);
    }
    locals
}

/// # Safety
/// `record` and its `next` are valid and not otherwise borrowed.
#[inline(never)]
unsafe fn procedure_1(state: &mut State, record: *mut Record) {
    // SAFETY: `record` and its `next` are valid and not otherwise borrowed (this function's condition), and `next`
    // stays the second record throughout, as `State::new` made it.
    unsafe {
        let next = (*record).next;
        *next = *record;
        (*record).number = 5;
        (*next).number = (*record).number;
        (*next).next = (*record).next;
        procedure_3(state.number, record, &raw mut (*next).next);
        if (*next).discriminant == Ident::One {
            (*next).number = 6;
            procedure_6(state, (*record).choice, &mut (*next).choice);
            (*next).next = (*record).next;
            procedure_7((*next).number, 10, &mut (*next).number);
        } else {
            *record = *(*record).next;
        }
    }
}

#[inline(never)]
fn procedure_2(state: &State, number: &mut i32) {
    let mut value = *number + 10;
    loop {
        let mut choice = Ident::Two;
        if state.letter_1 == b'A' {
            value -= 1;
            *number = value - state.number;
            choice = Ident::One;
        }
        if choice == Ident::One {
            break;
        }
    }
}

/// # Safety
/// `first` (the global pointer) and `target` are valid.
#[inline(never)]
unsafe fn procedure_3(global_number: i32, first: *mut Record, target: *mut *mut Record) {
    // SAFETY: `first` is a valid record and `target` a valid address for a pointer (this function's condition).
    unsafe {
        if !first.is_null() {
            *target = (*first).next;
        }
        let number = &mut (*first).number;
        procedure_7(10, global_number, number);
    }
}

#[inline(never)]
fn procedure_4(state: &mut State) {
    let boolean = state.letter_1 == b'A';
    state.boolean |= boolean;
    state.letter_2 = b'B';
}

#[inline(never)]
fn procedure_5(state: &mut State) {
    state.letter_1 = b'A';
    state.boolean = false;
}

#[inline(never)]
fn procedure_6(state: &State, value: Ident, reference: &mut Ident) {
    *reference = value;
    if !function_3(value) {
        *reference = Ident::Four;
    }
    match value {
        Ident::One => *reference = Ident::One,
        Ident::Two => *reference = if state.number > 100 { Ident::One } else { Ident::Four },
        Ident::Three => *reference = Ident::Two,
        Ident::Four => {}
        Ident::Five => *reference = Ident::Three,
    }
}

#[inline(never)]
fn procedure_7(first: i32, second: i32, sum: &mut i32) {
    let value = first + 2;
    *sum = second + value;
}

#[inline(never)]
fn procedure_8(state: &mut State, first: i32, second: i32) {
    let at = (first + 5) as usize;
    state.array_1[at] = second;
    state.array_1[at + 1] = state.array_1[at];
    state.array_1[at + 30] = at as i32;
    for index in at..=at + 1 {
        state.array_2[at][index] = at as i32;
    }
    state.array_2[at][at - 1] += 1;
    state.array_2[at + 20][at] = state.array_1[at];
    state.number = 5;
}

#[inline(never)]
fn function_1(state: &mut State, first: u8, second: u8) -> Ident {
    let copy = first;
    if copy != second {
        Ident::One
    } else {
        state.letter_1 = copy;
        Ident::Two
    }
}

#[inline(never)]
fn function_2(state: &mut State, first: &Text, second: &Text) -> bool {
    let mut at = 2;
    let mut letter = 0;
    while at <= 2 {
        if function_1(state, first[at], second[at + 1]) == Ident::One {
            letter = b'A';
            at += 1;
        }
    }
    if (b'W'..b'Z').contains(&letter) {
        at = 7;
    }
    if letter == b'R' {
        true
    } else if first > second {
        state.number = at as i32 + 7;
        true
    } else {
        false
    }
}

#[inline(never)]
fn function_3(value: Ident) -> bool {
    let copy = value;
    copy == Ident::Three
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_final_values_are_those_of_the_description() {
        type Iterate = fn(&mut State, u64) -> Locals;
        for (iterate, reference) in [(iterate as Iterate, FINAL), (first::iterate as Iterate, first::FINAL)] {
            for iterations in [1, 2, 1000] {
                let mut state = State::new();
                assert_eq!(iterate(&mut state, iterations), reference);
                state.check(iterations).unwrap();
                assert!(state.check(iterations + 1).unwrap_err().starts_with("Arr_2_Glob[8][7]"));
            }
        }
    }

    #[test]
    fn dmips_are_those_of_version_2() {
        let row = |variant: &str, rate: f64| {
            let case = case("a test", iterate, &FINAL);
            let request = NodeRequest { seconds_per_point: 1e-6, ..NodeRequest::default() };
            let measured = super::super::measure::measure("dhrystone", case, &request, &mut |_| {}).unwrap();
            NodeRow { variant: variant.to_owned(), rate: Some(rate), ..measured }
        };
        let mut rows = vec![row("dhrystone_1", 1.0), row("dhrystone", 3514.0)];
        add_dmips(&mut rows);
        assert_eq!(rows.last().map(|row| (row.variant.as_str(), row.rate)), Some((DMIPS, Some(2.0))));
        rows.truncate(1);
        add_dmips(&mut rows);
        assert_eq!(rows.len(), 1, "without a run of version 2 there are none");
    }
}
