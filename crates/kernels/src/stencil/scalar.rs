//! Numbers that kernels calculate with.

use std::fmt::Debug;
use std::ops::{Add, Mul};

/// A real number of one precision.
pub trait Scalar: Copy + Debug + PartialEq + Add<Output = Self> + Mul<Output = Self> + Send + Sync + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest one to a number.
    fn from_f64(value: f64) -> Self;
}

impl Scalar for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl Scalar for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    fn from_f64(value: f64) -> f64 {
        value
    }
}
