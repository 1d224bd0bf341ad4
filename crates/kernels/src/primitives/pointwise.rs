//! Operations on each element alone, and their loops.

use weft_simd::{Level, level};

use super::element::{Bool8, Element};
use super::{ElementType, PrimitiveError, functions};

/// An operation on the elements with one index of one or two arrays, by the names of the Python array API standard.
///
/// Integers wrap around. Shifts by a negative number or by as many bits as there are, or more, give 0 or, of negative
/// numbers to the right, -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointwise {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Hypot,
    Maximum,
    Minimum,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BitwiseLeftShift,
    BitwiseRightShift,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Copy,
    Negative,
    Abs,
    Square,
    Sign,
    Sqrt,
    Sin,
    Cos,
    Floor,
    Ceil,
    Trunc,
    Round,
    BitwiseInvert,
    LogicalNot,
    Isnan,
    Isinf,
    Isfinite,
}

use Pointwise::*;

impl Pointwise {
    /// Every operation with its name; those before `copy` have two operands.
    pub const NAMES: [(Pointwise, &'static str); 40] = [
        (Add, "add"),
        (Subtract, "subtract"),
        (Multiply, "multiply"),
        (Divide, "divide"),
        (FloorDivide, "floor_divide"),
        (Remainder, "remainder"),
        (Hypot, "hypot"),
        (Maximum, "maximum"),
        (Minimum, "minimum"),
        (BitwiseAnd, "bitwise_and"),
        (BitwiseOr, "bitwise_or"),
        (BitwiseXor, "bitwise_xor"),
        (BitwiseLeftShift, "bitwise_left_shift"),
        (BitwiseRightShift, "bitwise_right_shift"),
        (LogicalAnd, "logical_and"),
        (LogicalOr, "logical_or"),
        (LogicalXor, "logical_xor"),
        (Equal, "equal"),
        (NotEqual, "not_equal"),
        (Less, "less"),
        (LessEqual, "less_equal"),
        (Greater, "greater"),
        (GreaterEqual, "greater_equal"),
        (Copy, "copy"),
        (Negative, "negative"),
        (Abs, "abs"),
        (Square, "square"),
        (Sign, "sign"),
        (Sqrt, "sqrt"),
        (Sin, "sin"),
        (Cos, "cos"),
        (Floor, "floor"),
        (Ceil, "ceil"),
        (Trunc, "trunc"),
        (Round, "round"),
        (BitwiseInvert, "bitwise_invert"),
        (LogicalNot, "logical_not"),
        (Isnan, "isnan"),
        (Isinf, "isinf"),
        (Isfinite, "isfinite"),
    ];

    /// How many arrays it is of: 1 or 2.
    pub fn operands(self) -> usize {
        if (self as usize) < (Copy as usize) { 2 } else { 1 }
    }

    /// Whether there are numbers that its kernel does not compute with; [`functions`] says which.
    pub fn has_domain(self) -> bool {
        matches!(self, FloorDivide | Remainder | Hypot | Sin | Cos)
    }

    /// Its name in the array API; `copy` is weft's own.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The operation of this name.
    pub fn parse(name: &str) -> Result<Self, PrimitiveError> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(operation, _)| *operation).ok_or_else(|| {
            let known: Vec<&str> = Self::NAMES.iter().map(|(_, name)| *name).collect();
            PrimitiveError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }
}

/// The results of so many elements from the first operand and, where there are two, the second, and whether all of these
/// are within the operation's domain: results of others are anything. The output overlaps neither.
pub(super) type Kernel = unsafe fn(*const u8, *const u8, *mut u8, usize) -> bool;

trait Apply<T: Element> {
    type Out: Element;
    fn apply(one: T, other: T) -> Self::Out;
    /// Whether the result of `apply` is one.
    #[inline(always)]
    fn is_within(_one: T, _other: T, _result: Self::Out) -> bool {
        true
    }
}

#[inline(always)]
unsafe fn each<T: Element, O: Apply<T>>(one: *const u8, other: *const u8, out: *mut u8, count: usize) -> bool {
    let (one, other, out) = (one.cast::<T>(), other.cast::<T>(), out.cast::<O::Out>());
    // Counted by a number and an index: compilers make no loop of vectors of a long body with a boolean or iterators.
    let mut beyond = 0u32;
    for index in 0..count {
        // SAFETY: both operands have `count` elements of `T` and the output memory for as many of its type, apart from
        // both (conditions of `Kernel`).
        unsafe {
            let (one, other) = (one.add(index).read(), other.add(index).read());
            let result = O::apply(one, other);
            beyond |= u32::from(!O::is_within(one, other, result));
            out.add(index).write(result);
        }
    }
    beyond == 0
}

unsafe fn each_portable<T: Element, O: Apply<T>>(one: *const u8, other: *const u8, out: *mut u8, count: usize) -> bool {
    // SAFETY: operands and output have `count` elements, and the output is apart (conditions of `Kernel`, which this is
    // one of).
    unsafe { each::<T, O>(one, other, out, count) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn each_256<T: Element, O: Apply<T>>(one: *const u8, other: *const u8, out: *mut u8, count: usize) -> bool {
    // SAFETY: operands and output have `count` elements, and the output is apart (conditions of `Kernel`, which
    // `kernel_of` makes this where the level has AVX2).
    unsafe { each::<T, O>(one, other, out, count) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn each_512<T: Element, O: Apply<T>>(one: *const u8, other: *const u8, out: *mut u8, count: usize) -> bool {
    // SAFETY: operands and output have `count` elements, and the output is apart (conditions of `Kernel`, which
    // `kernel_of` makes this where the level has AVX-512).
    unsafe { each::<T, O>(one, other, out, count) }
}

fn kernel_of<T: Element, O: Apply<T>>() -> (Kernel, ElementType) {
    let kernel: Kernel = match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => each_512::<T, O>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => each_256::<T, O>,
        _ => each_portable::<T, O>,
    };
    (kernel, <O::Out as Element>::TYPE)
}

macro_rules! result {
    (same $type:ident) => {
        $type
    };
    (bool8 $type:ident) => {
        Bool8
    };
}

/// Implements an operation for several types by one expression of the operands.
macro_rules! apply {
    ($name:ident $out:ident $($type:ident)*: |$one:ident, $other:ident| $body:expr) => {$(
        impl Apply<$type> for of::$name {
            type Out = result!($out $type);
            #[inline(always)]
            #[allow(unused_variables)]
            fn apply($one: $type, $other: $type) -> Self::Out {
                $body
            }
        }
    )*};
}

/// Implements an operation for one type, and what is in its domain by an expression of the operands and the result.
macro_rules! apply_within {
    ($name:ident $type:ident: |$one:ident, $other:ident| $body:expr, |$x:ident, $y:ident, $result:ident| $within:expr) => {
        impl Apply<$type> for of::$name {
            type Out = $type;
            #[inline(always)]
            #[allow(unused_variables)]
            fn apply($one: $type, $other: $type) -> $type {
                $body
            }
            #[inline(always)]
            #[allow(unused_variables)]
            fn is_within($x: $type, $y: $type, $result: $type) -> bool {
                $within
            }
        }
    };
}

mod of {
    pub(super) struct Add;
    pub(super) struct Subtract;
    pub(super) struct Multiply;
    pub(super) struct Divide;
    pub(super) struct FloorDivide;
    pub(super) struct Remainder;
    pub(super) struct Hypot;
    pub(super) struct Maximum;
    pub(super) struct Minimum;
    pub(super) struct And;
    pub(super) struct Or;
    pub(super) struct Xor;
    pub(super) struct LeftShift;
    pub(super) struct RightShift;
    pub(super) struct Equal;
    pub(super) struct NotEqual;
    pub(super) struct Less;
    pub(super) struct LessEqual;
    pub(super) struct Greater;
    pub(super) struct GreaterEqual;
    pub(super) struct Copy;
    pub(super) struct Negative;
    pub(super) struct Abs;
    pub(super) struct Square;
    pub(super) struct Sign;
    pub(super) struct Sqrt;
    pub(super) struct Sin;
    pub(super) struct Cos;
    pub(super) struct Floor;
    pub(super) struct Ceil;
    pub(super) struct Trunc;
    pub(super) struct Round;
    pub(super) struct Invert;
    pub(super) struct Isnan;
    pub(super) struct Isinf;
    pub(super) struct Isfinite;
}

apply! { Add same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x.wrapping_add(y) }
apply! { Add same f32 f64: |x, y| x + y }
apply! { Subtract same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x.wrapping_sub(y) }
apply! { Subtract same f32 f64: |x, y| x - y }
apply! { Multiply same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x.wrapping_mul(y) }
apply! { Multiply same f32 f64: |x, y| x * y }
apply! { Divide same f32 f64: |x, y| x / y }
apply_within! { FloorDivide f32: |x, y| functions::float32::floor_divide(x, y),
|x, y, result| functions::float32::divides(x, y, result) }
apply_within! { FloorDivide f64: |x, y| functions::float64::floor_divide(x, y),
|x, y, result| functions::float64::divides(x, y, result) }
apply_within! { Remainder f32: |x, y| functions::float32::remainder(x, y),
|x, y, result| functions::float32::divides(x, y, result) }
apply_within! { Remainder f64: |x, y| functions::float64::remainder(x, y),
|x, y, result| functions::float64::divides(x, y, result) }
apply_within! { Hypot f32: |x, y| functions::hypot32(x, y), |x, y, result| result.is_finite() }
apply_within! { Hypot f64: |x, y| functions::hypot(x, y), |x, y, result| functions::has_squares(x, y) }
apply_within! { Sin f64: |x, y| functions::sin(x), |x, y, result| functions::is_angle(x) }
apply_within! { Cos f64: |x, y| functions::cos(x), |x, y, result| functions::is_angle(x) }
apply! { Maximum same Bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| x.larger(y) }
apply! { Minimum same Bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| x.smaller(y) }
apply! { And same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x & y }
apply! { Or same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x | y }
apply! { Xor same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x ^ y }
apply! { And same Bool8: |x, y| x.smaller(y) }
apply! { Or same Bool8: |x, y| x.larger(y) }
apply! { Xor same Bool8: |x, y| Bool8::new(x.holds() != y.holds()) }
macro_rules! bit_shifts {
    ($($type:ident $unsigned:ident $beyond:expr;)*) => {$(
        apply! { LeftShift same $type: |x, y| {
            if (y as $unsigned) < $type::BITS as $unsigned { x.wrapping_shl(y as u32) } else { 0 }
        } }
        apply! { RightShift same $type: |x, y| {
            if (y as $unsigned) < $type::BITS as $unsigned { x.wrapping_shr(y as u32) } else { $beyond(x) }
        } }
    )*};
}
bit_shifts! {
    i8 u8 |x| x >> 7; i16 u16 |x| x >> 15; i32 u32 |x| x >> 31; i64 u64 |x| x >> 63;
    u8 u8 |_| 0; u16 u16 |_| 0; u32 u32 |_| 0; u64 u64 |_| 0;
}
apply! { Equal bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| Bool8::new(x == y) }
apply! { NotEqual bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| Bool8::new(x != y) }
apply! { Less bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| Bool8::new(x < y) }
apply! { LessEqual bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| Bool8::new(x <= y) }
apply! { Greater bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| Bool8::new(x > y) }
apply! { GreaterEqual bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| Bool8::new(x >= y) }
apply! { Equal bool8 Bool8: |x, y| Bool8::new(x.holds() == y.holds()) }
apply! { NotEqual bool8 Bool8: |x, y| Bool8::new(x.holds() != y.holds()) }
apply! { Less bool8 Bool8: |x, y| Bool8::new(!x.holds() & y.holds()) }
apply! { LessEqual bool8 Bool8: |x, y| Bool8::new(!x.holds() | y.holds()) }
apply! { Greater bool8 Bool8: |x, y| Bool8::new(x.holds() & !y.holds()) }
apply! { GreaterEqual bool8 Bool8: |x, y| Bool8::new(x.holds() | !y.holds()) }
apply! { Copy same Bool8 i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |x, y| x }
apply! { Negative same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x.wrapping_neg() }
apply! { Negative same f32 f64: |x, y| -x }
apply! { Abs same i8 i16 i32 i64: |x, y| x.wrapping_abs() }
apply! { Abs same f32 f64: |x, y| x.abs() }
apply! { Square same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| x.wrapping_mul(x) }
apply! { Square same f32 f64: |x, y| x * x }
apply! { Sign same i8 i16 i32 i64: |x, y| x.signum() }
apply! { Sign same u8 u16 u32 u64: |x, y| (x != 0).into() }
apply! { Sign same f32 f64: |x, y| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else if x == 0.0 { 0.0 } else { x } }
apply! { Sqrt same f32 f64: |x, y| x.sqrt() }
apply! { Floor same f32 f64: |x, y| x.floor() }
apply! { Ceil same f32 f64: |x, y| x.ceil() }
apply! { Trunc same f32 f64: |x, y| x.trunc() }
apply! { Round same f32 f64: |x, y| x.round_ties_even() }
apply! { Invert same i8 i16 i32 i64 u8 u16 u32 u64: |x, y| !x }
apply! { Invert same Bool8: |x, y| Bool8::new(!x.holds()) }
apply! { Isnan bool8 f32 f64: |x, y| Bool8::new(x.is_nan()) }
apply! { Isinf bool8 f32 f64: |x, y| Bool8::new(x.is_infinite()) }
apply! { Isfinite bool8 f32 f64: |x, y| Bool8::new(x.is_finite()) }

/// The loop of an operation on elements of a type, and the type of its results.
pub(super) fn kernel(operation: Pointwise, kind: ElementType) -> Result<(Kernel, ElementType), PrimitiveError> {
    let undefined = |instead| PrimitiveError::Undefined { operation: operation.name(), kind, instead };
    const BOOLEANS: &str = "it is of booleans; compare with 0 first";
    const FLOATS: &str = "it is of floating-point numbers; convert with astype first";
    const BITS: &str = "it is of integers and booleans";
    const DOUBLES: &str = "it is of float64; convert with astype first";
    const NUMBERS: &str = "it is of numbers; convert with astype first, or take a logical operation";
    // `$bits` is the type whose results have the same bits where the sign makes no difference: there is code for one.
    macro_rules! any_number {
        ($type:ident, $bits:ident, $rest:expr) => {
            match operation {
                Add => kernel_of::<$bits, of::Add>(),
                Subtract => kernel_of::<$bits, of::Subtract>(),
                Multiply => kernel_of::<$bits, of::Multiply>(),
                Negative => kernel_of::<$bits, of::Negative>(),
                Square => kernel_of::<$bits, of::Square>(),
                Sign => kernel_of::<$type, of::Sign>(),
                LogicalAnd | LogicalOr | LogicalXor | LogicalNot => return Err(undefined(BOOLEANS)),
                _ => any!($type, $bits, $rest),
            }
        };
    }
    macro_rules! any {
        ($type:ident, $bits:ident, $rest:expr) => {
            match operation {
                Maximum => kernel_of::<$type, of::Maximum>(),
                Minimum => kernel_of::<$type, of::Minimum>(),
                Equal => kernel_of::<$bits, of::Equal>(),
                NotEqual => kernel_of::<$bits, of::NotEqual>(),
                Less => kernel_of::<$type, of::Less>(),
                LessEqual => kernel_of::<$type, of::LessEqual>(),
                Greater => kernel_of::<$type, of::Greater>(),
                GreaterEqual => kernel_of::<$type, of::GreaterEqual>(),
                Copy => kernel_of::<$bits, of::Copy>(),
                _ => $rest,
            }
        };
    }
    macro_rules! integer {
        ($type:ident, $bits:ident, $abs:expr) => {
            any_number!(
                $type,
                $bits,
                match operation {
                    BitwiseAnd => kernel_of::<$bits, of::And>(),
                    BitwiseOr => kernel_of::<$bits, of::Or>(),
                    BitwiseXor => kernel_of::<$bits, of::Xor>(),
                    BitwiseLeftShift => kernel_of::<$bits, of::LeftShift>(),
                    BitwiseRightShift => kernel_of::<$type, of::RightShift>(),
                    BitwiseInvert => kernel_of::<$bits, of::Invert>(),
                    Abs => $abs,
                    _ => return Err(undefined(FLOATS)),
                }
            )
        };
    }
    macro_rules! signed {
        ($type:ident, $bits:ident) => {
            integer!($type, $bits, kernel_of::<$type, of::Abs>())
        };
    }
    macro_rules! unsigned {
        ($type:ident) => {
            integer!($type, $type, kernel_of::<$type, of::Copy>())
        };
    }
    macro_rules! float {
        ($type:ident, $rest:expr) => {
            any_number!(
                $type,
                $type,
                match operation {
                    Divide => kernel_of::<$type, of::Divide>(),
                    FloorDivide => kernel_of::<$type, of::FloorDivide>(),
                    Remainder => kernel_of::<$type, of::Remainder>(),
                    Hypot => kernel_of::<$type, of::Hypot>(),
                    Abs => kernel_of::<$type, of::Abs>(),
                    Sqrt => kernel_of::<$type, of::Sqrt>(),
                    Floor => kernel_of::<$type, of::Floor>(),
                    Ceil => kernel_of::<$type, of::Ceil>(),
                    Trunc => kernel_of::<$type, of::Trunc>(),
                    Round => kernel_of::<$type, of::Round>(),
                    Isnan => kernel_of::<$type, of::Isnan>(),
                    Isinf => kernel_of::<$type, of::Isinf>(),
                    Isfinite => kernel_of::<$type, of::Isfinite>(),
                    BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseLeftShift | BitwiseRightShift | BitwiseInvert => {
                        return Err(undefined(BITS));
                    }
                    _ => $rest,
                }
            )
        };
    }
    let (kernel, result) = match kind {
        ElementType::Bool => any!(
            Bool8,
            Bool8,
            match operation {
                BitwiseAnd | LogicalAnd => kernel_of::<Bool8, of::And>(),
                BitwiseOr | LogicalOr => kernel_of::<Bool8, of::Or>(),
                BitwiseXor | LogicalXor => kernel_of::<Bool8, of::Xor>(),
                BitwiseInvert | LogicalNot => kernel_of::<Bool8, of::Invert>(),
                _ => return Err(undefined(NUMBERS)),
            }
        ),
        ElementType::Int8 => signed!(i8, u8),
        ElementType::Int16 => signed!(i16, u16),
        ElementType::Int32 => signed!(i32, u32),
        ElementType::Int64 => signed!(i64, u64),
        ElementType::Uint8 => unsigned!(u8),
        ElementType::Uint16 => unsigned!(u16),
        ElementType::Uint32 => unsigned!(u32),
        ElementType::Uint64 => unsigned!(u64),
        ElementType::Float32 => float!(f32, return Err(undefined(DOUBLES))),
        ElementType::Float64 => float!(
            f64,
            match operation {
                Sin => kernel_of::<f64, of::Sin>(),
                Cos => kernel_of::<f64, of::Cos>(),
                _ => unreachable!("every operation has an arm"),
            }
        ),
    };
    // Results of operations are of Bool8 or of the operands' type, whichever type stood for it.
    Ok((kernel, if result == ElementType::Bool { result } else { kind }))
}
