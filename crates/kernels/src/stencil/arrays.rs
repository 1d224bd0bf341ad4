//! Where arrays lie in memory, and which of their rows to compute.

use super::MAX_AXES;

/// Axes other than the last; unused ones have one index.
pub(super) const OUTER: usize = MAX_AXES - 1;

/// Where an array lies: elements from one index to the next for every axis but the last, whose sites are contiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// For each axis but the last.
    pub strides: Vec<isize>,
    /// From one right-hand side to the next.
    pub between: isize,
}

/// An array to read.
#[derive(Clone, Debug)]
pub struct Source<'a, T> {
    /// Site (0, 0, …) of the first right-hand side.
    pub base: *const T,
    /// Where the others are.
    pub layout: &'a Layout,
}

/// An array to write.
#[derive(Clone, Debug)]
pub struct Target<'a, T> {
    /// Site (0, 0, …) of the first right-hand side.
    pub base: *mut T,
    /// Where the others are.
    pub layout: &'a Layout,
}

/// Which sides of an array go on in memory: there nothing is wrapped or put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Below each axis but the last, then below the last.
    pub low: [bool; OUTER + 1],
    /// Above.
    pub high: [bool; OUTER + 1],
}

/// An array, a block of one, or a few planes that are overwritten in turn.
#[derive(Clone, Copy, Debug)]
pub struct View<T> {
    /// Index (0, origin, 0), column 0, of the first right-hand side.
    pub base: *mut T,
    /// Elements from one index to the next, for each axis but the last.
    pub strides: [isize; OUTER],
    /// Elements from one right-hand side to the next.
    pub between: isize,
    /// Planes of axis 0 that are held: an index lies in the plane of its remainder.
    pub ring: Option<usize>,
    /// The first index of axis 1 that is held.
    pub origin: isize,
    /// Which sides go on.
    pub ends: Ends,
}

impl<T> View<T> {
    /// Elements from `base` to the plane of axis 0.
    #[inline(always)]
    pub(super) fn plane(&self, index: isize) -> isize {
        let plane = self.ring.map_or(index, |ring| index.rem_euclid(ring as isize));
        plane * self.strides[0]
    }

    /// Elements from a plane of axis 0 to a row of it.
    #[inline(always)]
    pub(super) fn within(&self, second: isize, third: isize) -> isize {
        (second - self.origin) * self.strides[1] + third * self.strides[2]
    }
}

/// Rows to compute: indices may run beyond an axis that is circular, they mean what they are congruent to.
#[derive(Clone, Copy, Debug)]
pub struct Job<T> {
    /// What is read.
    pub input: View<T>,
    /// What is written.
    pub output: View<T>,
    /// Indices along every axis but the last.
    pub ranges: [(isize, isize); OUTER],
    /// Elements of each row.
    pub columns: (usize, usize),
    /// Right-hand sides.
    pub count: usize,
    /// Whether to write by non-temporal stores.
    pub streaming: bool,
    /// Whether the input comes from memory or a far cache, so that what will be read is prefetched.
    pub from_memory: bool,
}

impl<T> Job<T> {
    /// Whether all rows of results are whole vectors of so many bytes, each at a multiple of 16 bytes.
    pub(super) fn has_whole_vectors(&self, bytes: usize) -> bool {
        let size = size_of::<T>();
        let begins = (self.output.base.wrapping_add(self.columns.0) as usize).is_multiple_of(16);
        let even = |stride: isize| (stride * size as isize) % 16 == 0;
        let strides = self.output.strides.iter().all(|&stride| even(stride));
        begins
            && strides
            && (self.count == 1 || even(self.output.between))
            && ((self.columns.1 - self.columns.0) * size).is_multiple_of(bytes)
    }
}

// SAFETY: a job only says where arrays are; whoever runs jobs on threads sees that they write different rows.
unsafe impl<T: Send + Sync> Send for Job<T> {}
// SAFETY: a job only says where arrays are, and a shared one is only read; whoever runs jobs on threads sees that they
// write different rows.
unsafe impl<T: Send + Sync> Sync for Job<T> {}
