//! What native code calls: everything that is not worth being native. Each gets the engine and numbers.
//!
//! Registers that a helper reads or writes are in memory by then, and so are the free pointer and the budget.

use crate::engine::instruction::{Instruction, Type};
use crate::engine::interpret::{Answer, has_type};
use crate::engine::{Engine, Exit, arithmetic};
use crate::heap::Word;
use crate::heap::word::REF;

/// Native code goes on.
pub const GO_ON: i64 = -1;
/// A calculation's result is too large.
pub const OVERFLOW: i64 = 1;
/// A calculation has no result.
pub const NONE: i64 = 2;

/// An [`Exit`] as native code returns it.
pub fn number(exit: Exit) -> i64 {
    match exit {
        Exit::Empty => 0,
        Exit::Slice => 1,
        Exit::Problem => 2,
    }
}

/// The [`Exit`] that native code returned.
pub fn exit(number: i64) -> Exit {
    match number {
        0 => Exit::Empty,
        1 => Exit::Slice,
        _ => Exit::Problem,
    }
}

fn answer(answer: Answer) -> i64 {
    match answer {
        Answer::True => 1,
        Answer::False => 0,
        Answer::Unbound => 2,
        Answer::Problem => 3,
    }
}

/// How native code goes on after something that may have taken memory.
fn went(engine: &mut Engine, well: bool) -> i64 {
    engine.registers.tighten();
    if well { GO_ON } else { number(Exit::Problem) }
}

macro_rules! helpers {
    ($($(#[$meta:meta])* fn $name:ident($engine:ident $(, $argument:ident)*) $body:block)*) => {
        $(
            $(#[$meta])*
            extern "C" fn $name(engine: *mut Engine $(, $argument: i64)*) -> i64 {
                // SAFETY: native code runs within `Native::run`, which has the engine to itself.
                let $engine: &mut Engine = unsafe { &mut *engine };
                $body
            }
        )*

        /// Name, address and number of arguments beside the engine of every helper.
        pub fn all() -> Vec<(&'static str, *const u8, usize)> {
            vec![$((stringify!($name), $name as *const u8, [$(stringify!($argument)),*].len() as usize)),*]
        }
    };
}

helpers! {
    fn pause(engine, predicate) {
        engine.pause(predicate as u32).map_or(GO_ON, number)
    }
    fn suspend(engine, predicate) {
        let waits = engine.suspend(predicate as u32);
        engine.registers.tighten();
        if waits { GO_ON } else { number(engine.reduction_failed(predicate as u32)) }
    }
    fn unify(engine, left, right) {
        let (left, right) = (Word(left as u64), Word(right as u64));
        // SAFETY: native code calls this with values of the engine's heap.
        unsafe {
            // What a stream does all the time: a variable that one goal waits for is bound.
            let target = crate::heap::word::dereference(left);
            if target.is_variable() && !right.is_variable() {
                engine.bind(target.pointer(), right);
                return GO_ON;
            }
        }
        let equal = engine.unify(left, right);
        engine.registers.tighten();
        if equal { GO_ON } else { number(engine.unification_failed(left, right)) }
    }
    fn same(engine, left, right) {
        let holds = engine.same(Word(left as u64), Word(right as u64));
        engine.registers.tighten();
        answer(holds)
    }
    fn guard(engine, guard) {
        let holds = engine.guard(guard as u32);
        engine.registers.tighten();
        answer(holds)
    }
    fn overflow(engine, at) {
        let x = engine.registers.x;
        // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each holds
        // a value of this heap from the start.
        let register = |register: u16| unsafe { crate::heap::word::dereference(*x.add(register as usize)) };
        number(match engine.code.instructions[at as usize] {
            Instruction::Calculate { operation, left, right, .. } => {
                engine.overflow(operation, register(left), register(right))
            }
            Instruction::CalculateConstant { operation, left, right, .. } => {
                engine.overflow(operation, register(left), Word::small(i64::from(right)))
            }
            _ => Exit::Problem,
        })
    }
    /// An operation of two integers: its result, or a word that is no integer: [`OVERFLOW`], [`NONE`].
    fn integers(engine, at, left, right) {
        let (Instruction::Calculate { operation, .. }
        | Instruction::CalculateConstant { operation, .. }
        | Instruction::BodyCalculate { operation, .. }) = engine.code.instructions[at as usize]
        else {
            return NONE;
        };
        match arithmetic::integers(operation, Word(left as u64), Word(right as u64)) {
            Ok(word) => word.0 as i64,
            Err(arithmetic::Wrong::Overflow) => OVERFLOW,
            Err(arithmetic::Wrong::Division) => NONE,
        }
    }
    /// The value of a calculation in a body, or a variable for it; a reference to nothing when there is a problem.
    fn body_integers(engine, at, left, right) {
        let Instruction::BodyCalculate { operation, .. } = engine.code.instructions[at as usize] else { return REF as i64 };
        let value = engine.body_integers(operation, Word(left as u64), Word(right as u64));
        engine.registers.tighten();
        // A reference to nothing is no value.
        value.map_or(REF as i64, |word| word.0 as i64)
    }
    fn body_number(engine, calculation) {
        let well = engine.body_number(calculation as u32);
        went(engine, well)
    }
    fn builtin_inline(engine, call) {
        let well = engine.builtin_inline(call as u32);
        went(engine, well)
    }
    fn interpret_goal(engine, predicate) {
        let exit = engine.interpret_goal(predicate as u32);
        engine.registers.tighten();
        match exit {
            Exit::Empty => GO_ON,
            exit => number(exit),
        }
    }
    fn builtin_goal(engine, predicate) {
        let well = engine.builtin_goal(predicate as u32);
        went(engine, well)
    }
    fn start_site(engine, start) {
        let well = engine.start_site(start as u32);
        went(engine, well)
    }
    fn metacall_site(engine, metacall) {
        engine.metacall_site(metacall as u32);
        went(engine, true)
    }
    fn load_boxed(engine, constant) {
        let value = engine.load_boxed(constant as u32);
        engine.registers.tighten();
        value.0 as i64
    }
    fn equals_boxed(engine, value, constant) {
        // SAFETY: native code calls this with a value of the engine's heap that it has dereferenced and found bound.
        i64::from(unsafe { engine.equals_boxed(Word(value as u64), constant as u32) })
    }
    fn is_of_type(_engine, value, kind) {
        const TYPES: [Type; 10] = [
            Type::Any, Type::Integer, Type::Atom, Type::Float, Type::Atomic, Type::List, Type::Structure, Type::Vector,
            Type::String, Type::Predicate,
        ];
        // SAFETY: native code calls this with a value of the engine's heap that it has dereferenced and found bound.
        i64::from(unsafe { has_type(Word(value as u64), TYPES[kind as usize]) })
    }
    fn note(engine, variable) {
        engine.registers.note(Word(variable as u64));
        GO_ON
    }
    fn reserve_words(engine, predicate, words) {
        if engine.ensure(predicate as u32, words as usize) { GO_ON } else { number(Exit::Problem) }
    }
}
