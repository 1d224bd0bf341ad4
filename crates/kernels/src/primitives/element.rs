//! The types that elements may have.

use std::fmt;

/// The type of an array's elements, by numpy's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float32,
    Float64,
}

impl ElementType {
    /// Every type.
    pub const ALL: [ElementType; 11] = [
        ElementType::Bool,
        ElementType::Int8,
        ElementType::Int16,
        ElementType::Int32,
        ElementType::Int64,
        ElementType::Uint8,
        ElementType::Uint16,
        ElementType::Uint32,
        ElementType::Uint64,
        ElementType::Float32,
        ElementType::Float64,
    ];

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            ElementType::Bool | ElementType::Int8 | ElementType::Uint8 => 1,
            ElementType::Int16 | ElementType::Uint16 => 2,
            ElementType::Int32 | ElementType::Uint32 | ElementType::Float32 => 4,
            ElementType::Int64 | ElementType::Uint64 | ElementType::Float64 => 8,
        }
    }

    /// numpy's name of it.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Bool => "bool",
            ElementType::Int8 => "int8",
            ElementType::Int16 => "int16",
            ElementType::Int32 => "int32",
            ElementType::Int64 => "int64",
            ElementType::Uint8 => "uint8",
            ElementType::Uint16 => "uint16",
            ElementType::Uint32 => "uint32",
            ElementType::Uint64 => "uint64",
            ElementType::Float32 => "float32",
            ElementType::Float64 => "float64",
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, ElementType::Float32 | ElementType::Float64)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Calls a generic function with the type of elements.
macro_rules! for_type {
    ($kind:expr, $function:ident($($argument:expr),*)) => {
        match $kind {
            $crate::primitives::ElementType::Bool => $function::<$crate::primitives::element::Bool8>($($argument),*),
            $crate::primitives::ElementType::Int8 => $function::<i8>($($argument),*),
            $crate::primitives::ElementType::Int16 => $function::<i16>($($argument),*),
            $crate::primitives::ElementType::Int32 => $function::<i32>($($argument),*),
            $crate::primitives::ElementType::Int64 => $function::<i64>($($argument),*),
            $crate::primitives::ElementType::Uint8 => $function::<u8>($($argument),*),
            $crate::primitives::ElementType::Uint16 => $function::<u16>($($argument),*),
            $crate::primitives::ElementType::Uint32 => $function::<u32>($($argument),*),
            $crate::primitives::ElementType::Uint64 => $function::<u64>($($argument),*),
            $crate::primitives::ElementType::Float32 => $function::<f32>($($argument),*),
            $crate::primitives::ElementType::Float64 => $function::<f64>($($argument),*),
        }
    };
}
pub(super) use for_type;

/// A boolean as numpy keeps it: a byte, true unless it is 0. Not Rust's `bool`, of which other bytes than 0 and 1 are
/// undefined behaviour while views of numpy's arrays can hold any.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    #[inline(always)]
    pub(super) fn new(value: bool) -> Self {
        Self(u8::from(value))
    }

    #[inline(always)]
    pub(super) fn holds(self) -> bool {
        self.0 != 0
    }
}

/// What one element comes to, widened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
}

/// An element of one of the types.
pub(super) trait Element: Copy + Send + Sync + fmt::Debug + 'static {
    const TYPE: ElementType;
    /// The larger one; NaN where one of them is.
    fn larger(self, other: Self) -> Self;
    /// The smaller one; NaN where one of them is.
    fn smaller(self, other: Self) -> Self;
    /// The larger one, the first of two that are equal; anything where one is NaN. One instruction of most processors.
    fn larger_ordered(self, other: Self) -> Self;
    /// The smaller one in the same way.
    fn smaller_ordered(self, other: Self) -> Self;
    /// Whether it is NaN.
    fn is_unordered(self) -> bool;
    /// Nothing is larger.
    const LARGEST: Self;
    /// Nothing is smaller.
    const SMALLEST: Self;
    fn scalar(self) -> Scalar;
}

macro_rules! number {
    ($($type:ident $kind:ident $scalar:ident $wide:ident $largest:expr, $smallest:expr;)*) => {$(
        impl Element for $type {
            const TYPE: ElementType = ElementType::$kind;
            const LARGEST: Self = $largest;
            const SMALLEST: Self = $smallest;
            #[inline(always)]
            #[allow(clippy::eq_op)] // NaN is what differs from itself
            fn larger(self, other: Self) -> Self {
                if (self >= other) | (self != self) { self } else { other }
            }
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn smaller(self, other: Self) -> Self {
                if (self <= other) | (self != self) { self } else { other }
            }
            #[inline(always)]
            fn larger_ordered(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
            #[inline(always)]
            fn smaller_ordered(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn is_unordered(self) -> bool {
                self != self
            }
            fn scalar(self) -> Scalar {
                Scalar::$scalar($wide::from(self))
            }
        }
    )*};
}

number! {
    i8 Int8 Int i64 i8::MAX, i8::MIN;
    i16 Int16 Int i64 i16::MAX, i16::MIN;
    i32 Int32 Int i64 i32::MAX, i32::MIN;
    i64 Int64 Int i64 i64::MAX, i64::MIN;
    u8 Uint8 Uint u64 u8::MAX, u8::MIN;
    u16 Uint16 Uint u64 u16::MAX, u16::MIN;
    u32 Uint32 Uint u64 u32::MAX, u32::MIN;
    u64 Uint64 Uint u64 u64::MAX, u64::MIN;
    f32 Float32 Float f64 f32::INFINITY, f32::NEG_INFINITY;
    f64 Float64 Float f64 f64::INFINITY, f64::NEG_INFINITY;
}

impl Element for Bool8 {
    const TYPE: ElementType = ElementType::Bool;
    const LARGEST: Self = Bool8(1);
    const SMALLEST: Self = Bool8(0);
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Bool8::new((self.0 | other.0) != 0)
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        Bool8::new((self.0 != 0) & (other.0 != 0))
    }
    #[inline(always)]
    fn larger_ordered(self, other: Self) -> Self {
        self.larger(other)
    }
    #[inline(always)]
    fn smaller_ordered(self, other: Self) -> Self {
        self.smaller(other)
    }
    #[inline(always)]
    fn is_unordered(self) -> bool {
        false
    }
    fn scalar(self) -> Scalar {
        Scalar::Bool(self.holds())
    }
}
