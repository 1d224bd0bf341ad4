//! Single and double precision.

use std::ops::{Add, Div, Mul, Sub};

use bytemuck::Pod;
use serde::{Deserialize, Serialize};
use weft_base::Operation;

/// The precision a program computes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    #[default]
    Single,
    /// 64 bits.
    Double,
}

/// A floating-point type.
pub trait Real:
    Pod + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    const PRECISION: Precision;
    /// The distance from 1 to the next number.
    const EPSILON: f64;
    /// What one addition is charged as in virtual time,
    const ADD: Operation;
    /// and one multiplication.
    const MULTIPLY: Operation;
    /// What one addition or multiplication of a sum of products is charged as.
    const SUM_OF_PRODUCTS: Operation;
    /// What one of the two operations of an element of `y = y + a x` is charged as, with vectors in memory.
    const AXPY: Operation;

    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn square_root(self) -> Self;
}

impl Real for f32 {
    const PRECISION: Precision = Precision::Single;
    const EPSILON: f64 = f32::EPSILON as f64;
    const ADD: Operation = Operation::Float32Add;
    const MULTIPLY: Operation = Operation::Float32Multiply;
    const SUM_OF_PRODUCTS: Operation = Operation::Float32SumOfProducts;
    const AXPY: Operation = Operation::Float32Axpy;

    fn of(value: f64) -> f32 {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn square_root(self) -> f32 {
        self.sqrt()
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::Double;
    const EPSILON: f64 = f64::EPSILON;
    const ADD: Operation = Operation::Float64Add;
    const MULTIPLY: Operation = Operation::Float64Multiply;
    const SUM_OF_PRODUCTS: Operation = Operation::Float64SumOfProducts;
    const AXPY: Operation = Operation::Float64Axpy;

    fn of(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn square_root(self) -> f64 {
        self.sqrt()
    }
}
