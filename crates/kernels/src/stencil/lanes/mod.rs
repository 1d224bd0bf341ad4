//! Vectors of elements: one trait, an implementation for every instruction set, chosen when a plan is made.
//!
//! Kernels are generic over [`Lanes`] and are compiled once for each instruction set. Sums are fused (one rounding for a
//! product and a sum) where the processor has the instruction, and not in the portable implementation: a result may differ
//! in its last bits between processors, never between two runs, thread counts or blockings on one.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

use super::scalar::Scalar;

/// How a row of results is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Through the caches, at any address.
    Cached,
    /// By non-temporal stores, in pieces of 16 bytes: the row begins at a multiple of 16 bytes.
    Stream16,
    /// By non-temporal stores, a whole vector at a time: the row begins at a multiple of the vector's bytes.
    StreamVector,
    /// By non-temporal stores of whole vectors at multiples of their bytes, and through the caches before the first and
    /// after the last of these: for kernels that see to it wherever the row begins.
    StreamLines,
}

/// A vector of elements in a register.
///
/// # Safety
/// Every method may only run on a processor that has the instruction set of the implementation; pointers must be valid for
/// [`LANES`](Self::LANES) elements, and aligned as the method says.
pub trait Lanes: Copy {
    /// What a lane holds.
    type Scalar: Scalar;
    /// Elements in a vector.
    const LANES: usize;
    /// The same element in every lane.
    unsafe fn splat(value: Self::Scalar) -> Self;
    /// Loads from any address.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// Stores to any address.
    unsafe fn store(self, to: *mut Self::Scalar);
    /// A non-temporal store to a multiple of 16 bytes.
    unsafe fn stream16(self, to: *mut Self::Scalar);
    /// A non-temporal store to a multiple of the vector's bytes.
    unsafe fn stream(self, to: *mut Self::Scalar);
    /// Lane by lane.
    unsafe fn add(self, other: Self) -> Self;
    /// `self * factor + sum`, lane by lane.
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// What [`multiply_add`](Self::multiply_add) does in one lane, rounded the same way.
    unsafe fn multiply_add_one(value: Self::Scalar, factor: Self::Scalar, sum: Self::Scalar) -> Self::Scalar;
    /// Every element moved up a lane; lane 0 gets the last lane of `previous`.
    unsafe fn after(self, previous: Self) -> Self;
    /// Every element moved down a lane; the last lane gets lane 0 of `next`.
    unsafe fn before(self, next: Self) -> Self;

    /// Whether there are registers enough for the sums of two rows at once.
    const PAIRS: bool = false;

    /// Whether [`join`](Self::join) is one instruction.
    const JOINS: bool = false;

    /// The lanes of this vector from `lane` on, then those of `next`; `lane` is at most [`LANES`](Self::LANES).
    #[inline(always)]
    unsafe fn join(self, next: Self, lane: usize) -> Self {
        let mut lanes = [Self::Scalar::ZERO; 2 * MAX_LANES];
        // SAFETY: no implementation has more lanes than half of `lanes`.
        unsafe {
            self.store(lanes.as_mut_ptr());
            next.store(lanes.as_mut_ptr().add(Self::LANES));
            Self::load(lanes.as_ptr().add(lane))
        }
    }

    /// The same with another element in one lane.
    #[inline(always)]
    unsafe fn with_lane(self, lane: usize, value: Self::Scalar) -> Self {
        let mut lanes = [Self::Scalar::ZERO; MAX_LANES];
        // SAFETY: no implementation has more lanes than `lanes`.
        unsafe {
            self.store(lanes.as_mut_ptr());
            lanes[lane] = value;
            Self::load(lanes.as_ptr())
        }
    }

    /// Loads the first `count` lanes, fewer than all; nothing is read beyond them, and the others hold zeros.
    #[inline(always)]
    unsafe fn load_first(from: *const Self::Scalar, count: usize) -> Self {
        let mut lanes = [Self::Scalar::ZERO; MAX_LANES];
        // SAFETY: `count` elements are readable (this function's condition), which is fewer than `lanes` has, as no
        // implementation has more lanes.
        unsafe {
            std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
            Self::load(lanes.as_ptr())
        }
    }

    /// Stores the first `count` lanes, fewer than all, to any address.
    #[inline(always)]
    unsafe fn store_first(self, count: usize, to: *mut Self::Scalar) {
        let mut lanes = [Self::Scalar::ZERO; MAX_LANES];
        // SAFETY: no implementation has more lanes than `lanes`, and `to` is valid for `count` elements (this
        // function's condition), fewer than those.
        unsafe {
            self.store(lanes.as_mut_ptr());
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
        }
    }

    /// Stores the lanes in `mask`, which are the first, to any address; nothing else is written.
    #[inline(always)]
    unsafe fn store_masked(self, to: *mut Self::Scalar, mask: u32) {
        let count = mask.trailing_ones() as usize;
        // SAFETY: `to` is valid for these lanes (this function's condition).
        unsafe { if count == Self::LANES { self.store(to) } else { self.store_first(count, to) } }
    }

    /// Loads the lanes in `mask`; nothing else is read, and the others hold zeros.
    #[inline(always)]
    unsafe fn load_masked(from: *const Self::Scalar, mask: u32) -> Self {
        // SAFETY: registers, and the lanes that can be read (this function's condition).
        unsafe { Self::splat(Self::Scalar::ZERO).load_over(from, mask) }
    }

    /// The same with the lanes in `mask` loaded; nothing else is read.
    #[inline(always)]
    unsafe fn load_over(self, from: *const Self::Scalar, mask: u32) -> Self {
        let mut lanes = [Self::Scalar::ZERO; MAX_LANES];
        // SAFETY: no implementation has more lanes than `lanes`, and those in `mask` can be read (this function's
        // condition).
        unsafe {
            self.store(lanes.as_mut_ptr());
            for lane in (0..Self::LANES).filter(|lane| mask >> lane & 1 == 1) {
                lanes[lane] = *from.add(lane);
            }
            Self::load(lanes.as_ptr())
        }
    }

    /// The same with the lanes in `mask` of another.
    #[inline(always)]
    unsafe fn replace(self, other: Self, mask: u32) -> Self {
        let mut lanes = [Self::Scalar::ZERO; MAX_LANES];
        // SAFETY: no implementation has more lanes than `lanes`, in which both vectors are.
        unsafe {
            other.store(lanes.as_mut_ptr());
            self.load_over(lanes.as_ptr(), mask)
        }
    }

    /// Prefetches the cache line at an address, which need not be valid.
    #[inline(always)]
    unsafe fn prefetch(at: *const Self::Scalar) {
        weft_simd::prefetch(at);
    }

    /// Stores in the given way.
    #[inline(always)]
    unsafe fn put(self, to: *mut Self::Scalar, store: Store) {
        // SAFETY: the caller has chosen `store` by the address.
        unsafe {
            match store {
                Store::Cached | Store::StreamLines => self.store(to),
                Store::Stream16 => self.stream16(to),
                Store::StreamVector => self.stream(to),
            }
        }
    }
}

/// How many elements after a multiple of a vector's bytes an address is.
#[inline(always)]
pub(super) fn misplaced<V: Lanes>(at: *const V::Scalar) -> usize {
    at as usize / size_of::<V::Scalar>() % V::LANES
}

/// The most lanes of any implementation: 512 bits of `f32`.
pub(crate) const MAX_LANES: usize = 16;

#[cfg(test)]
mod tests {
    use weft_simd::Level;

    use super::*;

    /// Every operation of `V` against plain arithmetic on small whole numbers, which every rounding keeps exact.
    unsafe fn operations_are_lane_by_lane<V: Lanes>() {
        let number = |value: usize| V::Scalar::from_f64(value as f64);
        let first: Vec<V::Scalar> = (0..V::LANES).map(|lane| number(3 * lane + 1)).collect();
        let second: Vec<V::Scalar> = (0..V::LANES).map(|lane| number(lane * lane)).collect();
        let mut aligned = [[V::Scalar::ZERO; MAX_LANES]; 3];
        let at = (aligned.as_mut_ptr() as usize).next_multiple_of(64) as *mut V::Scalar;
        let lanes = |write: &dyn Fn(*mut V::Scalar)| -> Vec<V::Scalar> {
            write(at);
            // SAFETY: `at` is the first multiple of 64 bytes in an array with memory for MAX_LANES elements behind it.
            unsafe { std::slice::from_raw_parts(at, V::LANES) }.to_vec()
        };
        // SAFETY: the processor has the instructions of `V` (this function's condition); what is loaded and stored has
        // LANES elements, or as many as are counted, and `at` is aligned for every vector.
        unsafe {
            let (a, b) = (V::load(first.as_ptr()), V::load(second.as_ptr()));
            assert_eq!(lanes(&|to| a.store(to)), first);
            assert_eq!(lanes(&|to| b.stream(to)), second);
            assert_eq!(lanes(&|to| a.stream16(to)), first);
            let sums: Vec<_> = (0..V::LANES).map(|lane| number(3 * lane + 1 + lane * lane)).collect();
            assert_eq!(lanes(&|to| a.add(b).store(to)), sums);
            let fused: Vec<_> = (0..V::LANES).map(|lane| number((3 * lane + 1) * 5 + lane * lane)).collect();
            assert_eq!(lanes(&|to| a.multiply_add(V::splat(number(5)), b).store(to)), fused);
            let mut up = vec![second[V::LANES - 1]];
            up.extend(&first[..V::LANES - 1]);
            assert_eq!(lanes(&|to| a.after(b).store(to)), up);
            let mut down = first[1..].to_vec();
            down.push(second[0]);
            assert_eq!(lanes(&|to| a.before(b).store(to)), down);
            for lane in 0..=V::LANES {
                let joined: Vec<_> = first[lane..].iter().chain(&second[..lane]).copied().collect();
                assert_eq!(lanes(&|to| a.join(b, lane).store(to)), joined);
            }
            for count in 0..V::LANES {
                let mut some = first[..count].to_vec();
                some.resize(V::LANES, V::Scalar::ZERO);
                assert_eq!(lanes(&|to| V::load_first(some.as_ptr(), count).store(to)), some);
                let mut some = second.clone();
                a.store_first(count, some.as_mut_ptr());
                assert_eq!((&some[..count], &some[count..]), (&first[..count], &second[count..]));
            }
            for count in 0..=V::LANES {
                let mut some = second.clone();
                a.store_masked(some.as_mut_ptr(), (1 << count) - 1);
                assert_eq!((&some[..count], &some[count..]), (&first[..count], &second[count..]));
            }
            for lane in 0..V::LANES {
                let mut other = first.clone();
                other[lane] = number(99);
                assert_eq!(lanes(&|to| a.with_lane(lane, number(99)).store(to)), other);
            }
            for mask in [0, 1, 2, 5, 10, (1 << V::LANES) - 1, 1 << (V::LANES - 1)] {
                let chosen = |one: &[V::Scalar], other: &[V::Scalar]| -> Vec<V::Scalar> {
                    (0..V::LANES).map(|lane| if mask >> lane & 1 == 1 { one[lane] } else { other[lane] }).collect()
                };
                let zeros = vec![V::Scalar::ZERO; V::LANES];
                assert_eq!(lanes(&|to| V::load_masked(first.as_ptr(), mask).store(to)), chosen(&first, &zeros));
                assert_eq!(lanes(&|to| b.load_over(first.as_ptr(), mask).store(to)), chosen(&first, &second));
                assert_eq!(lanes(&|to| b.replace(a, mask).store(to)), chosen(&first, &second));
            }
            assert_eq!(V::multiply_add_one(number(7), number(6), number(5)), number(47));
        }
    }

    #[test]
    fn vectors_of_every_instruction_set_do_what_their_lanes_would() {
        // SAFETY: each only where the processor has it.
        unsafe {
            operations_are_lane_by_lane::<Portable<f32, 4>>();
            operations_are_lane_by_lane::<Portable<f64, 2>>();
            #[cfg(target_arch = "x86_64")]
            for instructions in Level::available() {
                match instructions {
                    Level::Portable => {}
                    Level::Avx2 => {
                        operations_are_lane_by_lane::<Avx2<f32>>();
                        operations_are_lane_by_lane::<Avx2<f64>>();
                    }
                    Level::Avx512 => {
                        operations_are_lane_by_lane::<Avx512<f32>>();
                        operations_are_lane_by_lane::<Avx512<f64>>();
                    }
                }
            }
        }
    }
}
