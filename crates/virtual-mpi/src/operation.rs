//! Operations of reductions on elements in memory.

use std::ffi::{c_int, c_void};

use weft_comm::Reduction;
use weft_comm::collective::{Element, Operator};

use crate::abi::{Aint, Op};
use crate::datatype::{Basic, Class, Datatype, Run};
use crate::fault::{Answer, Fault, class, require};
use crate::threads::outside;

pub const MAX: Op = 0x5800_0001;
pub const MIN: Op = 0x5800_0002;
pub const SUM: Op = 0x5800_0003;
pub const PROD: Op = 0x5800_0004;
pub const LAND: Op = 0x5800_0005;
pub const BAND: Op = 0x5800_0006;
pub const LOR: Op = 0x5800_0007;
pub const BOR: Op = 0x5800_0008;
pub const LXOR: Op = 0x5800_0009;
pub const BXOR: Op = 0x5800_000a;
pub const MINLOC: Op = 0x5800_000b;
pub const MAXLOC: Op = 0x5800_000c;
pub const REPLACE: Op = 0x5800_000d;
pub const NO_OP: Op = 0x5800_000e;

/// By handle, from `MPI_MAX` on.
const NAMES: [&str; 14] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MINLOC",
    "MPI_MAXLOC",
    "MPI_REPLACE",
    "MPI_NO_OP",
];

/// The name of one of the standard's operations.
pub fn name(op: Op) -> &'static str {
    op.checked_sub(MAX).and_then(|index| NAMES.get(index as usize)).copied().unwrap_or("another operation")
}

/// Whether an operation is one of the standard's.
pub fn is_predefined(op: Op) -> bool {
    (MAX..=NO_OP).contains(&op)
}

/// A function of the program that combines elements.
#[derive(Clone, Copy, Debug)]
pub struct UserFunction {
    pub function: *const c_void,
    pub large: bool,
    pub commutes: bool,
}

/// What combines two vectors.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Predefined(Op),
    User(UserFunction),
}

impl Operation {
    pub fn commutes(&self) -> bool {
        match self {
            Operation::Predefined(op) => *op != REPLACE && *op != NO_OP,
            Operation::User(function) => function.commutes,
        }
    }

    /// Fails where the standard does not define the operation for elements of the datatype.
    pub fn check(&self, datatype: &Datatype) -> Answer {
        let Operation::Predefined(op) = *self else { return Ok(()) };
        let defined = match op {
            REPLACE | NO_OP => true,
            MINLOC | MAXLOC => pair_of(datatype).is_some(),
            _ => datatype.only_basic().is_some_and(|basic| is_defined(op, basic)),
        };
        require(defined, class::ERR_OP, || {
            let name = datatype.name.borrow();
            format!("the operation is not defined for datatype {}", String::from_utf8_lossy(&name))
        })
    }

    /// As [`Operation::check`], of an operation that combines vectors of ranks: two are for one-sided calls alone
    /// (MPI 4.1, section 12.3.4).
    pub fn check_reduction(&self, datatype: &Datatype) -> Answer {
        let is_one_sided = matches!(*self, Operation::Predefined(REPLACE | NO_OP));
        require(!is_one_sided, class::ERR_OP, || "the operation is for one-sided calls alone".to_owned())?;
        self.check(datatype)
    }

    /// The same as weft's own collectives know it, if they do.
    pub fn reduction(&self, datatype: &Datatype) -> Option<Reduction> {
        let Operation::Predefined(op) = *self else { return None };
        let basic = datatype.only_basic().filter(|_| datatype.is_dense())?;
        let element = match (basic.class, basic.size) {
            (Class::Float, 4) => Element::Float32,
            (Class::Float, 8) => Element::Float64,
            (Class::Signed, 4) => Element::Int32,
            (Class::Signed, 8) => Element::Int64,
            (Class::Unsigned | Class::Byte, 1) => Element::Byte,
            _ => return None,
        };
        let operator = match op {
            MAX => Operator::Maximum,
            MIN => Operator::Minimum,
            SUM => Operator::Sum,
            PROD => Operator::Product,
            BAND => Operator::BitAnd,
            BOR => Operator::BitOr,
            BXOR => Operator::BitXor,
            _ => return None,
        };
        Some(Reduction { element, operator })
    }

    /// `inout[i] = input[i] ∘ inout[i]` for `count` elements of the datatype.
    ///
    /// # Safety
    /// There are so many at both addresses, and a function of the program does what it shall.
    pub unsafe fn combine(
        &self,
        input: *const c_void,
        inout: *mut c_void,
        count: usize,
        datatype: &Datatype,
        handle: c_int,
    ) {
        match self {
            // SAFETY: so many elements lie at both addresses, which is what the function asks for.
            Operation::Predefined(op) => unsafe {
                combine_predefined(*op, input.cast(), inout.cast(), count, datatype)
            },
            // SAFETY: the program's function gets the elements that the function asks for.
            Operation::User(function) => outside(|| unsafe { function.call(input, inout, count, handle) }),
        }
    }
}

impl UserFunction {
    unsafe fn call(&self, input: *const c_void, inout: *mut c_void, count: usize, mut handle: c_int) {
        type Narrow = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);
        type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Aint, *mut c_int);
        if self.large {
            let mut count = count as Aint;
            // SAFETY: the program handed the function in as one of this type.
            unsafe {
                let function = std::mem::transmute::<*const c_void, Large>(self.function);
                function(input.cast_mut(), inout, &raw mut count, &raw mut handle);
            }
        } else {
            let mut count = count as c_int;
            // SAFETY: the program handed the function in as one of this type.
            unsafe {
                let function = std::mem::transmute::<*const c_void, Narrow>(self.function);
                function(input.cast_mut(), inout, &raw mut count, &raw mut handle);
            }
        }
    }
}

/// Which elements the standard defines an operation for (MPI 4.1, section 6.9.2).
fn is_defined(op: Op, of: Basic) -> bool {
    match of.class {
        Class::Signed | Class::Unsigned => true,
        Class::Float | Class::LongDouble => matches!(op, MAX | MIN | SUM | PROD | LAND | LOR | LXOR),
        Class::Complex | Class::LongDoubleComplex => matches!(op, SUM | PROD),
        Class::Logical => matches!(op, LAND | LOR | LXOR),
        Class::Byte => matches!(op, BAND | BOR | BXOR),
        // MPICH takes characters for small integers, and so do programs that were written for it.
        Class::Character => of.size == 1,
    }
}

/// The value and the index of a pair, if the datatype is one.
fn pair_of(datatype: &Datatype) -> Option<(Run, Run)> {
    datatype.predefined?;
    match *datatype.pieces.list() {
        [value, index] if value.count == 1 && index.count == 1 => Some((value, index)),
        // Two alike lie in one run.
        [both] if both.count == 2 => {
            let second = Run { offset: both.offset + isize::from(both.basic.size), count: 1, ..both };
            Some((Run { count: 1, ..both }, second))
        }
        _ => None,
    }
}

unsafe fn combine_predefined(op: Op, input: *const u8, inout: *mut u8, count: usize, datatype: &Datatype) {
    if op == NO_OP || count == 0 {
        return;
    }
    for index in 0..if datatype.is_dense() { 1 } else { count } {
        let shift = index as isize * datatype.extent;
        let times = if datatype.is_dense() { count } else { 1 };
        if matches!(op, MINLOC | MAXLOC) {
            if let Some((value, position)) = pair_of(datatype) {
                for index in 0..times as isize {
                    let shift = shift + index * datatype.extent;
                    // SAFETY: both elements lie within the pair.
                    unsafe { combine_pair(op, input.offset(shift), inout.offset(shift), value, position) };
                }
            }
            continue;
        }
        datatype.pieces.each(shift, &mut |offset, run| {
            // SAFETY: the run lies within the element.
            unsafe { combine_run(op, input.offset(offset), inout.offset(offset), run.count * times, run) };
        });
    }
}

unsafe fn combine_run(op: Op, input: *const u8, inout: *mut u8, count: usize, run: &Run) {
    if op == REPLACE {
        // SAFETY: both are so long.
        unsafe { std::ptr::copy(input, inout, count * usize::from(run.basic.size)) };
        return;
    }
    // SAFETY: both are so many elements of this type; they are read and written at any alignment.
    unsafe {
        match (run.basic.class, run.basic.size) {
            (Class::Signed | Class::Character, 1) => integers::<i8>(op, input, inout, count),
            (Class::Signed, 2) => integers::<i16>(op, input, inout, count),
            (Class::Signed | Class::Logical, 4) => integers::<i32>(op, input, inout, count),
            (Class::Signed | Class::Logical, 8) => integers::<i64>(op, input, inout, count),
            (Class::Signed, 16) => integers::<i128>(op, input, inout, count),
            (Class::Unsigned | Class::Logical | Class::Byte, 1) => integers::<u8>(op, input, inout, count),
            (Class::Unsigned | Class::Logical | Class::Byte, 2) => integers::<u16>(op, input, inout, count),
            (Class::Unsigned | Class::Byte, 4) => integers::<u32>(op, input, inout, count),
            (Class::Unsigned | Class::Byte, 8) => integers::<u64>(op, input, inout, count),
            (Class::Byte | Class::Logical, 16) => integers::<u128>(op, input, inout, count),
            (Class::Float, 4) => floats::<f32>(op, input, inout, count),
            (Class::Float, 8) => floats::<f64>(op, input, inout, count),
            (Class::Complex, 8) => complexes::<f32>(op, input, inout, count),
            (Class::Complex, 16) => complexes::<f64>(op, input, inout, count),
            (Class::LongDouble, _) => extended::combine(op, input, inout, count),
            (Class::LongDoubleComplex, _) => extended::combine_complex(op, input, inout, count),
            (Class::Byte, bytes) => integers::<u8>(op, input, inout, count * usize::from(bytes)),
            _ => {}
        }
    }
}

unsafe fn each<T: Copy>(input: *const u8, inout: *mut u8, count: usize, combine: impl Fn(T, T) -> T) {
    let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
    for index in 0..count {
        // SAFETY: the caller has so many of them at both addresses.
        unsafe {
            let value = combine(input.add(index).read_unaligned(), inout.add(index).read_unaligned());
            inout.add(index).write_unaligned(value);
        }
    }
}

trait Integer: Copy + Ord + Default {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn of(is_true: bool) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Integer for $type {
            fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
            fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
            fn of(is_true: bool) -> Self { is_true as $type }
        }
    )*};
}

integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

unsafe fn integers<T: Integer>(op: Op, input: *const u8, inout: *mut u8, count: usize) {
    let is_true = |a: T| a != T::default();
    // SAFETY: `count` elements of the type lie at both addresses: the run that is combined has so many.
    unsafe {
        match op {
            MAX => each(input, inout, count, T::max),
            MIN => each(input, inout, count, T::min),
            SUM => each(input, inout, count, T::sum),
            PROD => each(input, inout, count, T::product),
            LAND => each(input, inout, count, |a, b| T::of(is_true(a) && is_true(b))),
            LOR => each(input, inout, count, |a, b| T::of(is_true(a) || is_true(b))),
            LXOR => each(input, inout, count, |a, b| T::of(is_true(a) != is_true(b))),
            BAND => each(input, inout, count, T::and),
            BOR => each(input, inout, count, T::or),
            BXOR => each(input, inout, count, T::xor),
            _ => {}
        }
    }
}

trait Float: Copy + PartialOrd + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> {
    const ZERO: Self;
    const ONE: Self;
    fn product(self, other: Self) -> Self;
}

impl Float for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    fn product(self, other: f32) -> f32 {
        self * other
    }
}

impl Float for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    fn product(self, other: f64) -> f64 {
        self * other
    }
}

unsafe fn floats<T: Float>(op: Op, input: *const u8, inout: *mut u8, count: usize) {
    let is_true = |a: T| a != T::ZERO;
    let of = |is_true| if is_true { T::ONE } else { T::ZERO };
    // SAFETY: `count` elements of the type lie at both addresses: the run that is combined has so many.
    unsafe {
        match op {
            MAX => each(input, inout, count, |a: T, b| if a > b { a } else { b }),
            MIN => each(input, inout, count, |a: T, b| if a < b { a } else { b }),
            SUM => each(input, inout, count, |a: T, b| a + b),
            PROD => each(input, inout, count, T::product),
            LAND => each(input, inout, count, |a, b| of(is_true(a) && is_true(b))),
            LOR => each(input, inout, count, |a, b| of(is_true(a) || is_true(b))),
            LXOR => each(input, inout, count, |a, b| of(is_true(a) != is_true(b))),
            _ => {}
        }
    }
}

unsafe fn complexes<T: Float>(op: Op, input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: `count` complex numbers lie at both addresses, each of them two numbers.
    unsafe {
        match op {
            SUM => floats::<T>(SUM, input, inout, 2 * count),
            PROD => each(input, inout, count, |[a, b]: [T; 2], [c, d]: [T; 2]| {
                [a.product(c) - b.product(d), a.product(d) + b.product(c)]
            }),
            _ => {}
        }
    }
}

unsafe fn combine_pair(op: Op, input: *const u8, inout: *mut u8, value: Run, index: Run) {
    let at = |base: *const u8, run: Run| base.wrapping_offset(run.offset);
    // SAFETY: value and index lie within the pair, at these offsets.
    unsafe {
        let (first, second) = (at(input, value), at(inout, value));
        let order = match (value.basic.class, value.basic.size) {
            (Class::Float, 4) => compare::<f32>(first, second),
            (Class::Float, 8) => compare::<f64>(first, second),
            (Class::LongDouble, _) => extended::compare(first, second),
            (_, 2) => compare::<i16>(first, second),
            (_, 4) => compare::<i32>(first, second),
            _ => compare::<i64>(first, second),
        };
        let (first_index, second_index) = (at(input, index), at(inout, index));
        let index_order = match (index.basic.class, index.basic.size) {
            (Class::Float, 4) => compare::<f32>(first_index, second_index),
            (Class::Float, _) => compare::<f64>(first_index, second_index),
            _ => compare::<i32>(first_index, second_index),
        };
        let better = if op == MINLOC { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater };
        let takes = order == better || (order == std::cmp::Ordering::Equal && index_order == std::cmp::Ordering::Less);
        if takes {
            let inout_value = inout.wrapping_offset(value.offset);
            std::ptr::copy_nonoverlapping(first, inout_value, usize::from(value.basic.size));
            let inout_index = inout.wrapping_offset(index.offset);
            std::ptr::copy_nonoverlapping(first_index, inout_index, usize::from(index.basic.size));
        }
    }
}

unsafe fn compare<T: PartialOrd>(a: *const u8, b: *const u8) -> std::cmp::Ordering {
    // SAFETY: the caller has an element of this type at both addresses.
    let (a, b) = unsafe { (a.cast::<T>().read_unaligned(), b.cast::<T>().read_unaligned()) };
    a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
}

/// The 80 bits of x87, which Rust has no type for.
mod extended {
    use super::*;
    use std::arch::asm;

    type Bytes = [u8; 16];

    macro_rules! arithmetic {
        ($name:ident, $instruction:literal) => {
            fn $name(a: Bytes, b: Bytes) -> Bytes {
                let mut result = b;
                // SAFETY: reads and writes the three numbers only, and leaves the stack of x87 as it was.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        $instruction,
                        "fstp tbyte ptr [{result}]",
                        a = in(reg) &raw const a,
                        b = in(reg) &raw const b,
                        result = in(reg) &raw mut result,
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    );
                }
                result
            }
        };
    }

    arithmetic!(sum, "faddp st(1), st");
    arithmetic!(difference, "fsubp st(1), st");
    arithmetic!(product, "fmulp st(1), st");

    fn to_f64(a: Bytes) -> f64 {
        let mut result = 0.0_f64;
        // SAFETY: reads one number and writes the other, and leaves the stack of x87 as it was.
        unsafe {
            asm!(
                "fld tbyte ptr [{a}]",
                "fstp qword ptr [{result}]",
                a = in(reg) &raw const a,
                result = in(reg) &raw mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            );
        }
        result
    }

    fn of(is_true: bool) -> Bytes {
        let mut bytes = [0; 16];
        if is_true {
            bytes[..10].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        }
        bytes
    }

    fn sign(a: Bytes) -> f64 {
        let value = to_f64(a);
        // What is too small for the shorter number has its sign all the same.
        if value == 0.0 && a[..8] != [0; 8] { if a[9] & 0x80 != 0 { -1.0 } else { 1.0 } } else { value }
    }

    fn is_less(a: Bytes, b: Bytes) -> bool {
        sign(difference(a, b)) < 0.0
    }

    fn is_true(a: Bytes) -> bool {
        sign(a) != 0.0
    }

    pub unsafe fn compare(a: *const u8, b: *const u8) -> std::cmp::Ordering {
        // SAFETY: the caller has a number at both addresses.
        let (a, b) = unsafe { (a.cast::<Bytes>().read_unaligned(), b.cast::<Bytes>().read_unaligned()) };
        sign(difference(a, b)).partial_cmp(&0.0).unwrap_or(std::cmp::Ordering::Equal)
    }

    pub unsafe fn combine(op: Op, input: *const u8, inout: *mut u8, count: usize) {
        // SAFETY: the caller has so many numbers at both addresses.
        unsafe {
            match op {
                MAX => each(input, inout, count, |a, b| if is_less(b, a) { a } else { b }),
                MIN => each(input, inout, count, |a, b| if is_less(a, b) { a } else { b }),
                SUM => each(input, inout, count, sum),
                PROD => each(input, inout, count, product),
                LAND => each(input, inout, count, |a, b| of(is_true(a) && is_true(b))),
                LOR => each(input, inout, count, |a, b| of(is_true(a) || is_true(b))),
                LXOR => each(input, inout, count, |a, b| of(is_true(a) != is_true(b))),
                _ => {}
            }
        }
    }

    pub unsafe fn combine_complex(op: Op, input: *const u8, inout: *mut u8, count: usize) {
        // SAFETY: the caller has so many pairs of numbers at both addresses.
        unsafe {
            match op {
                SUM => each(input, inout, 2 * count, sum),
                PROD => each(input, inout, count, |[a, b]: [Bytes; 2], [c, d]: [Bytes; 2]| {
                    [difference(product(a, c), product(b, d)), sum(product(a, d), product(b, c))]
                }),
                _ => {}
            }
        }
    }
}

/// An operation by its handle.
pub fn find(op: Op, user: impl Fn(Op) -> Option<UserFunction>) -> Result<Operation, Fault> {
    if is_predefined(op) {
        return Ok(Operation::Predefined(op));
    }
    let function = user(op).ok_or_else(|| Fault::new(class::ERR_OP, "no such operation"))?;
    Ok(Operation::User(function))
}
