//! What a reduction combines, and how.

use bytemuck::Pod;
use weft_base::Operation;

use crate::payload::Payload;

/// The type of the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Float32,
    Float64,
    Int32,
    Int64,
    /// An unsigned byte.
    Byte,
}

impl Element {
    /// Every element type.
    pub const ALL: [Element; 5] = [Element::Float32, Element::Float64, Element::Int32, Element::Int64, Element::Byte];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Element::Float32 | Element::Int32 => 4,
            Element::Float64 | Element::Int64 => 8,
            Element::Byte => 1,
        }
    }

    /// The name, e.g. `float64`.
    pub const fn name(self) -> &'static str {
        match self {
            Element::Float32 => "float32",
            Element::Float64 => "float64",
            Element::Int32 => "int32",
            Element::Int64 => "int64",
            Element::Byte => "byte",
        }
    }
}

/// The operator of a reduction; all are commutative, and associative but for the rounding of floating point.
///
/// Integers wrap around. Maximum and minimum of a number and a NaN are the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Sum,
    Product,
    Maximum,
    Minimum,
    /// Of integers and bytes only, as the other two bitwise operators.
    BitAnd,
    BitOr,
    BitXor,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 7] = [
        Operator::Sum,
        Operator::Product,
        Operator::Maximum,
        Operator::Minimum,
        Operator::BitAnd,
        Operator::BitOr,
        Operator::BitXor,
    ];

    /// The name, e.g. `sum`.
    pub const fn name(self) -> &'static str {
        match self {
            Operator::Sum => "sum",
            Operator::Product => "product",
            Operator::Maximum => "maximum",
            Operator::Minimum => "minimum",
            Operator::BitAnd => "bit-and",
            Operator::BitOr => "bit-or",
            Operator::BitXor => "bit-xor",
        }
    }

    const fn is_bitwise(self) -> bool {
        matches!(self, Operator::BitAnd | Operator::BitOr | Operator::BitXor)
    }
}

/// An element type and an operator of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    pub element: Element,
    pub operator: Operator,
}

impl Reduction {
    /// The sum of 8-byte floating-point numbers.
    pub const SUM_FLOAT64: Reduction = Reduction { element: Element::Float64, operator: Operator::Sum };

    /// Why `bytes` bytes cannot be reduced so, if they cannot.
    pub fn fault(self, bytes: usize) -> Option<String> {
        let (element, operator) = (self.element, self.operator);
        if operator.is_bitwise() && matches!(element, Element::Float32 | Element::Float64) {
            return Some(format!("{} of {} elements is not defined", operator.name(), element.name()));
        }
        let size = element.size();
        (!bytes.is_multiple_of(size))
            .then(|| format!("{bytes} bytes are no whole number of {} elements ({size} bytes each)", element.name()))
    }

    /// The node operation that combining two elements costs, and how many of it. Comparisons and bitwise operations
    /// count as additions of the type, a byte as 16 bits, and 8-byte integers as two (multiplied: four) 4-byte
    /// operations, since machines are described by the operations of table 3 of Dunigan 1991.
    pub fn cost(self) -> (Operation, u64) {
        let multiplies = self.operator == Operator::Product;
        match (self.element, multiplies) {
            (Element::Float32, false) => (Operation::Float32Add, 1),
            (Element::Float32, true) => (Operation::Float32Multiply, 1),
            (Element::Float64, false) => (Operation::Float64Add, 1),
            (Element::Float64, true) => (Operation::Float64Multiply, 1),
            (Element::Int32, false) => (Operation::Int32Add, 1),
            (Element::Int32, true) => (Operation::Int32Multiply, 1),
            (Element::Int64, false) => (Operation::Int32Add, 2),
            (Element::Int64, true) => (Operation::Int32Multiply, 4),
            (Element::Byte, false) => (Operation::Int16Add, 1),
            (Element::Byte, true) => (Operation::Int16Multiply, 1),
        }
    }

    /// `into[i] = into[i] ∘ other[i]` for all elements; nothing where either is a phantom.
    ///
    /// # Panics
    /// When the lengths differ, are no whole number of elements, or the operator is not defined for the element.
    ///
    /// # Examples
    /// ```
    /// use weft_comm::collective::{Element, Operator};
    /// use weft_comm::{Payload, Reduction};
    ///
    /// let maximum = Reduction { element: Element::Int32, operator: Operator::Maximum };
    /// let mut into = Payload::of(&[1_i32, 5, -3]);
    /// maximum.combine(&mut into, &Payload::of(&[4_i32, 2, -7]));
    /// assert_eq!(into.values::<i32>(), Some(&[4, 5, -3][..]));
    /// ```
    pub fn combine(self, into: &mut Payload, other: &Payload) {
        assert_eq!(into.len(), other.len(), "a reduction combines payloads of one length");
        let (Payload::Data(into), Payload::Data(other)) = (into, other) else { return };
        match self.element {
            Element::Float32 => combine_floats(into.values_mut::<f32>(), other.values(), self.operator),
            Element::Float64 => combine_floats(into.values_mut::<f64>(), other.values(), self.operator),
            Element::Int32 => combine_integers(into.values_mut::<i32>(), other.values(), self.operator),
            Element::Int64 => combine_integers(into.values_mut::<i64>(), other.values(), self.operator),
            Element::Byte => combine_integers(into.values_mut::<u8>(), other.values(), self.operator),
        }
    }
}

fn each<T: Pod>(into: &mut [T], other: &[T], operator: impl Fn(T, T) -> T) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = operator(*a, *b);
    }
}

trait Float: Pod {
    fn sum(a: Self, b: Self) -> Self;
    fn product(a: Self, b: Self) -> Self;
    fn maximum(a: Self, b: Self) -> Self;
    fn minimum(a: Self, b: Self) -> Self;
}

trait Integer: Float {
    fn and(a: Self, b: Self) -> Self;
    fn or(a: Self, b: Self) -> Self;
    fn xor(a: Self, b: Self) -> Self;
}

macro_rules! float {
    ($($type:ty),*) => {$(
        impl Float for $type {
            fn sum(a: Self, b: Self) -> Self { a + b }
            fn product(a: Self, b: Self) -> Self { a * b }
            fn maximum(a: Self, b: Self) -> Self { a.max(b) }
            fn minimum(a: Self, b: Self) -> Self { a.min(b) }
        }
    )*};
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Float for $type {
            fn sum(a: Self, b: Self) -> Self { a.wrapping_add(b) }
            fn product(a: Self, b: Self) -> Self { a.wrapping_mul(b) }
            fn maximum(a: Self, b: Self) -> Self { a.max(b) }
            fn minimum(a: Self, b: Self) -> Self { a.min(b) }
        }
        impl Integer for $type {
            fn and(a: Self, b: Self) -> Self { a & b }
            fn or(a: Self, b: Self) -> Self { a | b }
            fn xor(a: Self, b: Self) -> Self { a ^ b }
        }
    )*};
}

float!(f32, f64);
integer!(i32, i64, u8);

fn combine_floats<T: Float>(into: &mut [T], other: &[T], operator: Operator) {
    match operator {
        Operator::Sum => each(into, other, T::sum),
        Operator::Product => each(into, other, T::product),
        Operator::Maximum => each(into, other, T::maximum),
        Operator::Minimum => each(into, other, T::minimum),
        Operator::BitAnd | Operator::BitOr | Operator::BitXor => unreachable!("refused when the collective began"),
    }
}

fn combine_integers<T: Integer>(into: &mut [T], other: &[T], operator: Operator) {
    match operator {
        Operator::BitAnd => each(into, other, T::and),
        Operator::BitOr => each(into, other, T::or),
        Operator::BitXor => each(into, other, T::xor),
        _ => combine_floats(into, other, operator),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_of_every_element() {
        let combined = |operator| {
            let mut into = Payload::of(&[6i32, -1]);
            Reduction { element: Element::Int32, operator }.combine(&mut into, &Payload::of(&[3i32, i32::MAX]));
            into.values::<i32>().unwrap().to_vec()
        };
        assert_eq!(combined(Operator::Sum), [9, i32::MAX - 1]);
        assert_eq!(combined(Operator::Product), [18, -i32::MAX]);
        assert_eq!(combined(Operator::Maximum), [6, i32::MAX]);
        assert_eq!(combined(Operator::Minimum), [3, -1]);
        assert_eq!(combined(Operator::BitAnd), [2, i32::MAX]);
        assert_eq!(combined(Operator::BitOr), [7, -1]);
        assert_eq!(combined(Operator::BitXor), [5, i32::MIN]);
    }

    #[test]
    fn faults_are_named() {
        let bits = Reduction { element: Element::Float64, operator: Operator::BitXor };
        assert_eq!(bits.fault(8).as_deref(), Some("bit-xor of float64 elements is not defined"));
        let odd = Reduction::SUM_FLOAT64.fault(12);
        assert_eq!(odd.as_deref(), Some("12 bytes are no whole number of float64 elements (8 bytes each)"));
        assert_eq!(Reduction::SUM_FLOAT64.fault(16), None);
    }
}
