//! Sums of a star that reaches one column to either side, with coefficients in registers.

use super::super::lanes::Lanes;
use super::super::scalar::Scalar;
use super::super::span::Row;

/// Terms of the columns before and after.
const SIDES: usize = 2;

/// Rows of a star that follow one another in the result and in the row whose neighbours are taken.
pub(super) struct Star<'a, 'b, V: Lanes, const OWN: usize> {
    pub(super) row: &'a Row<'b, V::Scalar>,
    pub(super) factors: [V; OWN],
    pub(super) centre: *const V::Scalar,
    pub(super) sides: [V; SIDES],
}

impl<V: Lanes, const OWN: usize> Star<'_, '_, V, OWN> {
    /// Results of a vector from the terms of its own column, beside the vectors before and after it.
    #[inline(always)]
    pub(super) unsafe fn sum(&self, own: [V; OWN], (before, after): (V, V)) -> V {
        // SAFETY: registers only.
        unsafe {
            let mut sum = V::splat(V::Scalar::ZERO);
            for (value, &factor) in own.into_iter().zip(&self.factors) {
                sum = value.multiply_add(factor, sum);
            }
            sum = before.multiply_add(self.sides[0], sum);
            after.multiply_add(self.sides[1], sum)
        }
    }
}
