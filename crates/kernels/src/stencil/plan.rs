//! A stencil prepared for arrays of one shape: what is known of both, and what was chosen.

use std::sync::Mutex;

use weft_simd::{Level, second_level_cache};

use super::arrays::{Ends, Layout, OUTER, View};
use super::description::Boundary;
use super::element::Element;
use super::kernel::{Factor, Kernel};
use super::scratch;
use super::traversal::{Ahead, Bundle, Depth, Tile};
use super::work::Work;

/// What may be chosen when a plan is made; the default is what is best for most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Elements of a site, contiguous in memory after the last axis: 2 for a complex number, 6 for a (3, 2) spinor.
    pub components: usize,
    /// Threads that share the work of a call.
    pub threads: usize,
    /// Time steps of a call: the stencil is applied to its own result.
    pub steps: usize,
    /// Vector instructions to use; those of [`weft_simd::level`] where None.
    pub instructions: Option<Level>,
    /// Source and result together at which results are written by non-temporal stores (bytes).
    pub streaming_from: usize,
    /// Bytes of planes that a sweep keeps in cache for reuse: a core's share of a last-level cache.
    pub cache: usize,
    /// Bytes of planes that stay near for the rows that need them, or for the next of several steps in a sweep: most of a
    /// second-level cache.
    pub step_cache: usize,
    /// Time steps that a sweep through memory takes at most; 1 is no temporal blocking; None leaves it to the plan.
    pub steps_at_once: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            components: 1,
            threads: 1,
            steps: 1,
            instructions: None,
            streaming_from: 16 << 20,
            cache: 8 << 20,
            step_cache: second_level_cache() / 4 * 3,
            steps_at_once: None,
        }
    }
}

/// A stencil prepared for arrays of one shape. It can be used from several threads at once.
pub struct Plan<T: Element> {
    pub(super) axes: usize,
    pub(super) extents: Vec<usize>,
    pub(super) options: Options,
    pub(super) instructions: Level,
    /// Extents of all axes but the last.
    pub(super) outer: [usize; OUTER],
    /// Elements of a row.
    pub(super) row: usize,
    /// How far the stencil reaches below and above along each axis, in sites.
    pub(super) reach: Vec<(usize, usize)>,
    /// Distinct offsets in all axes but the last, in the order of the kernel.
    pub(super) groups: Vec<[isize; OUTER]>,
    pub(super) kernel: Kernel<T>,
    pub(super) boundaries: Vec<Boundary<T>>,
    /// A row of the boundary value for axes that have one, with as much before and after it as the stencil reaches.
    pub(super) boundary_rows: Vec<Vec<T>>,
    pub(super) tile: Tile,
    pub(super) depth: Depth,
    /// Groups whose rows come from memory or from far in the caches, and are prefetched.
    pub(super) leading: Vec<usize>,
    /// How far ahead.
    pub(super) ahead: Ahead,
    /// Planes that a sweep from memory computes together; None where one after another is better.
    pub(super) bundle: Option<Bundle>,
    /// Of the stencil's points, in the order they were given.
    pub(super) offsets: Vec<Vec<isize>>,
    /// Buffers of threads between calls.
    pub(super) works: Mutex<Vec<Work<T>>>,
    /// An array for results between sweeps, kept for the next call.
    pub(super) temporary: Mutex<Vec<T>>,
}

impl<T: Element> Plan<T> {
    /// Sites along each axis.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// What was chosen when it was made.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How far the stencil reaches below and above along each axis, in sites.
    pub fn reach(&self) -> &[(usize, usize)] {
        &self.reach
    }

    /// Steps that are taken in one sweep through memory.
    pub fn steps_in_a_sweep(&self) -> usize {
        self.depth.steps
    }

    /// The layout of a C-contiguous array, or of several after one another.
    pub fn contiguous(&self) -> Layout {
        let mut strides = vec![0; self.axes - 1];
        let mut step = self.row as isize;
        for axis in (0..self.axes - 1).rev() {
            strides[axis] = step;
            step *= self.extents[axis] as isize;
        }
        Layout { strides, between: step }
    }

    /// Elements of one array.
    pub(super) fn elements(&self) -> usize {
        self.outer.iter().product::<usize>() * self.row
    }

    /// Whether results of this many right-hand sides are written by non-temporal stores.
    pub(super) fn streams(&self, count: usize) -> bool {
        2 * self.elements() * count * size_of::<T>() >= self.options.streaming_from
    }

    /// Whether so many right-hand sides are prefetched: where results are written by non-temporal stores, and those of
    /// stars in two axes that are no longer in near caches. In three axes that made them slower.
    pub(super) fn is_far(&self, count: usize) -> bool {
        let bytes = 2 * self.elements() * count * size_of::<T>();
        self.streams(count) || (bytes >= self.options.step_cache && self.axes == 2 && self.kernel.is_star())
    }

    /// A view of a whole array.
    pub(super) fn view(&self, base: *mut T, layout: &Layout) -> View<T> {
        let mut strides = [0; OUTER];
        strides[..self.axes - 1].copy_from_slice(&layout.strides);
        View { base, strides, between: layout.between, ring: None, origin: 0, ends: Ends::default() }
    }

    /// Buffers of one thread, given back with [`Plan::give_back`].
    pub(super) fn work(&self) -> Work<T> {
        let kept = self.works.lock().map(|mut works| works.pop()).unwrap_or_default();
        kept.unwrap_or_else(|| Work::new(&self.kernel, self.groups.len()))
    }

    pub(super) fn give_back(&self, work: Work<T>) {
        if let Ok(mut works) = self.works.lock() {
            works.push(work);
        }
    }

    /// An array for results between sweeps, and room to align it.
    pub(super) fn take_temporary(&self, count: usize) -> Vec<T> {
        let needed = self.elements() * count + scratch::alignment::<T>();
        let kept = self.temporary.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
        if kept.len() >= needed { kept } else { scratch::array(needed) }
    }

    pub(super) fn keep_temporary(&self, held: Vec<T>) {
        if let Ok(mut kept) = self.temporary.lock() {
            *kept = held;
        }
    }

    /// Whether a point lies off along both axes.
    pub(super) fn has_diagonal(&self, axis: usize, other: usize) -> bool {
        self.offsets.iter().any(|offset| offset[axis] != 0 && offset[other] != 0)
    }

    /// Whether any coefficient varies along a row.
    pub(super) fn has_varying(&self) -> bool {
        match &self.kernel {
            Kernel::Columns { .. } => false,
            Kernel::Direct { terms, .. } => terms.iter().any(|term| matches!(term.factor, Factor::Varying(_))),
        }
    }

    /// Loads, products and sums of a vector of results.
    pub(super) fn operations(&self) -> usize {
        match &self.kernel {
            Kernel::Columns { columns, .. } => self.groups.len() + columns.operations(),
            Kernel::Direct { terms, .. } => 2 * terms.len(),
        }
    }

    /// Bytes that one step must move at least: the source and every coefficient array once, the result once.
    pub fn bytes(&self, count: usize) -> usize {
        let arrays = match &self.kernel {
            Kernel::Columns { .. } => 0,
            Kernel::Direct { terms, .. } => {
                terms.iter().filter(|term| matches!(term.factor, Factor::Varying(_))).count()
            }
        };
        (2 * count + arrays) * self.elements() * size_of::<T>()
    }
}
