//! Vectors of any processor: plain loops over short arrays, which compilers turn into what the processor has.

use super::Lanes;
use crate::stencil::scalar::Scalar;

/// `N` elements.
#[derive(Clone, Copy)]
pub(in crate::stencil) struct Portable<T, const N: usize>([T; N]);

impl<T: Scalar, const N: usize> Lanes for Portable<T, N> {
    type Scalar = T;
    const LANES: usize = N;

    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Portable([value; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: `from` is valid for N elements (a condition of `Lanes`), at any address, as the read is unaligned.
        Portable(unsafe { from.cast::<[T; N]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: `to` is valid for N elements (a condition of `Lanes`), at any address, as the write is unaligned.
        unsafe { to.cast::<[T; N]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn stream16(self, to: *mut T) {
        // SAFETY: `to` is valid for N elements (a condition of `Lanes`), which is all that `store` asks.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut T) {
        // SAFETY: `to` is valid for N elements (a condition of `Lanes`), which is all that this store asks, wherever
        // they are.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Portable(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        Portable(std::array::from_fn(|lane| self.0[lane] * factor.0[lane] + sum.0[lane]))
    }

    #[inline(always)]
    unsafe fn multiply_add_one(value: T, factor: T, sum: T) -> T {
        value * factor + sum
    }

    #[inline(always)]
    unsafe fn after(self, previous: Self) -> Self {
        Portable(std::array::from_fn(|lane| if lane == 0 { previous.0[N - 1] } else { self.0[lane - 1] }))
    }

    #[inline(always)]
    unsafe fn before(self, next: Self) -> Self {
        Portable(std::array::from_fn(|lane| if lane == N - 1 { next.0[0] } else { self.0[lane + 1] }))
    }
}
