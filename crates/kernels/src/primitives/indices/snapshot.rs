//! Indices that other threads may write: reads and private copies of them.
//!
//! An index is read from a shared array once, by an access that the compiler may neither repeat nor assume anything
//! about: a volatile read of one, or assembly for a vector of them. What has been read lies in a register or in a
//! [`Block`], which nobody else sees, so that a check of it holds when it is used. Where all elements are served a branch
//! for each costs least, where some are selected a copy of only those.

#[cfg(target_arch = "x86_64")]
pub(in super::super) mod vectors;

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use weft_simd::{Level, level, opaque};

use super::super::View;
use super::super::element::{Bool8, Element};
use super::{Index, IndexRange};

/// Indices of a block: a copy of so many stays in the first-level cache beside what is moved.
pub(in super::super) const BLOCK: usize = 1024;

/// Indices behind those of a block that are copied with it, for prefetches.
pub(in super::super) const AHEAD: usize = 128;

/// Room for the indices of a block and those ahead of it, and for the elements that have them.
#[repr(C, align(64))]
pub(in super::super) struct Block {
    indices: [MaybeUninit<usize>; CAPACITY],
    elements: [MaybeUninit<u32>; CAPACITY],
}

const CAPACITY: usize = BLOCK + AHEAD;

/// Vectors are stored whole, also where a copy ends within one.
const _: () = assert!(CAPACITY.is_multiple_of(8));

impl Block {
    #[inline(always)]
    pub(in super::super) fn new() -> Self {
        Self { indices: [MaybeUninit::uninit(); CAPACITY], elements: [MaybeUninit::uninit(); CAPACITY] }
    }
}

/// Private copies of the indices of a stretch of elements, all of them or the selected ones.
#[derive(Clone, Copy)]
pub(in super::super) struct Copied<'b> {
    pub indices: &'b [usize],
    /// Which elements of the stretch have them, in order, where they are not all of it.
    pub elements: Option<&'b [u32]>,
}

impl Copied<'_> {
    /// Calls `work` with each element, counted from the first one of the stretch, and its index.
    #[inline(always)]
    pub(in super::super) fn for_each(self, mut work: impl FnMut(usize, usize)) {
        match self.elements {
            None => self.indices.iter().enumerate().for_each(|(element, &index)| work(element, index)),
            Some(elements) => {
                elements.iter().zip(self.indices).for_each(|(&element, &index)| work(element as usize, index));
            }
        }
    }
}

/// Private copies of those indices of a stretch of elements that are within bounds, each with its element in one number: to
/// move numbers together takes as long as all else, so that there is one for both.
#[derive(Clone, Copy)]
pub(in super::super) struct Within<'b>(&'b [usize]);

/// Bits of the element in such a number.
const ELEMENT_BITS: u32 = BLOCK.ilog2();

const _: () = assert!(BLOCK.is_power_of_two());

impl Within<'_> {
    /// How many they are.
    pub(in super::super) fn len(self) -> usize {
        self.0.len()
    }

    /// Calls `work` with each element, counted from the first one of the stretch, and its index.
    #[inline(always)]
    pub(in super::super) fn for_each(self, mut work: impl FnMut(usize, usize)) {
        self.0.iter().for_each(|&both| work(both % BLOCK, both >> ELEMENT_BITS));
    }
}

/// An array of indices that others may write while it is read. There is no reference to its elements, which would
/// promise that they do not change.
#[derive(Clone, Copy)]
pub(in super::super) struct SharedIndices<'a, I> {
    start: *const I,
    length: usize,
    memory: PhantomData<&'a [I]>,
}

// SAFETY: elements are only read, in ways that allow for other threads.
unsafe impl<I: Sync> Send for SharedIndices<'_, I> {}
// SAFETY: elements are only read, in ways that allow for other threads.
unsafe impl<I: Sync> Sync for SharedIndices<'_, I> {}

impl<'a, I: Index> SharedIndices<'a, I> {
    /// # Safety
    ///
    /// Elements are of type `I`, aligned, and readable as long as `'a`.
    pub(in super::super) unsafe fn new(view: &View) -> Self {
        debug_assert_eq!(view.kind, <I as Element>::TYPE);
        Self { start: view.pointer.cast_const().cast(), length: view.length, memory: PhantomData }
    }

    pub(in super::super) fn len(self) -> usize {
        self.length
    }

    /// Those of some elements.
    #[inline(always)]
    pub(in super::super) fn part(self, elements: Range<usize>) -> Self {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        Self { start: self.start.wrapping_add(elements.start), length: elements.len(), memory: PhantomData }
    }

    /// Where an element lies, which need not be one of the array.
    #[inline(always)]
    pub(in super::super) fn address(self, element: usize) -> *const I {
        self.start.wrapping_add(element)
    }

    /// One index as it is now.
    ///
    /// # Safety
    ///
    /// The element is one of the array.
    #[inline(always)]
    pub(in super::super) unsafe fn read(self, element: usize) -> usize {
        // SAFETY: the element is one of the array (this function's condition), which is readable and aligned (a condition
        // of `new`). Whoever writes it meanwhile makes the value any, and a volatile read is done once.
        unsafe { self.start.add(element).read_volatile() }.unsigned()
    }

    /// Calls `work` with each of some elements and what its index is above `origin` now, where that is below `extent`: a
    /// branch that is always predicted costs less than a copy, where each index is used alone. So many elements are
    /// `UNROLLED`, as compilers do it by two at most.
    #[inline(always)]
    pub(in super::super) fn for_each_below<const UNROLLED: usize>(
        self,
        elements: Range<usize>,
        origin: usize,
        extent: usize,
        mut work: impl FnMut(usize, usize),
    ) {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        let mut one = |element: usize| {
            // SAFETY: the element is one of the array.
            let index = unsafe { self.read(element) }.wrapping_sub(origin);
            if index < extent {
                work(element, index);
            }
        };
        let unrolled = elements.end - elements.len() % UNROLLED;
        for element in (elements.start..unrolled).step_by(UNROLLED) {
            (element..element + UNROLLED).for_each(&mut one);
        }
        (unrolled..elements.end).for_each(&mut one);
    }

    /// Calls `work` with each of some elements and its index as it is now, up to the first that is not below `extent`; whether
    /// there is none. Unrolled as [`SharedIndices::for_each_below`].
    #[inline(always)]
    pub(in super::super) fn all_below<const UNROLLED: usize>(
        self,
        elements: Range<usize>,
        extent: usize,
        mut work: impl FnMut(usize, usize),
    ) -> bool {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        let mut one = |element: usize| {
            // SAFETY: the element is one of the array.
            let index = unsafe { self.read(element) };
            let is_below = index < extent;
            if is_below {
                work(element, index);
            }
            is_below
        };
        let (groups, rest) = (elements.len() / UNROLLED, elements.len() % UNROLLED);
        for group in 0..groups {
            // Opaque, as compilers make of a counter that they know a chain of increments, one for each element.
            let first = opaque(elements.start + group * UNROLLED);
            for number in 0..UNROLLED {
                if !one(first + number) {
                    return false;
                }
            }
        }
        (elements.end - rest..elements.end).all(one)
    }

    /// Between which values some elements are now, those of true values where there are such; from 0 on without `LOW`.
    #[inline(always)]
    pub(in super::super) fn range<const LOW: bool>(self, elements: Range<usize>, mask: Option<&[Bool8]>) -> IndexRange {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        assert!(mask.is_none_or(|mask| mask.len() == elements.len()));
        // SAFETY: the elements are some of the array, which is readable and aligned (a condition of `new`), and have a
        // mask byte each.
        unsafe { look::<I, LOW>(self.address(elements.start), elements.len(), mask) }
    }

    /// Copies some elements, a [`Block`] at most, as they are now, by what they are above `origin`, or `last` where that
    /// is less.
    #[inline(always)]
    pub(in super::super) fn copy(
        self,
        elements: Range<usize>,
        origin: usize,
        last: usize,
        block: &mut Block,
    ) -> &mut [usize] {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        let copy = &mut block.indices[..elements.len()];
        // SAFETY: the elements are some of the array, which is readable and aligned (a condition of `new`), the copy is
        // the beginning of a block, and all of it is initialised by `bounded`.
        unsafe {
            bounded::<I>(self.address(elements.start), elements.len(), origin, last, copy.as_mut_ptr().cast());
            &mut *(&raw mut *copy as *mut [usize])
        }
    }

    /// As [`SharedIndices::copy`]; where there is a mask, those of true bytes only.
    #[inline(always)]
    pub(in super::super) fn copy_selected<'b>(
        self,
        elements: Range<usize>,
        mask: Option<&[Bool8]>,
        [origin, last]: [usize; 2],
        block: &'b mut Block,
    ) -> Copied<'b> {
        let Some(mask) = mask else {
            return Copied { indices: self.copy(elements, origin, last, block), elements: None };
        };
        assert!(elements.start <= elements.end && elements.end <= self.length && elements.len() <= CAPACITY);
        let mask = &mask[..elements.len()];
        // SAFETY: the elements are some of the array, which is readable and aligned (a condition of `new`), with a mask
        // byte each, and no more than the block has room for; so many are initialised in it as are said to be kept.
        unsafe {
            let kept = selected::<I>(self.address(elements.start), mask, [origin, last], block);
            Copied {
                indices: &*(&raw const block.indices[..kept] as *const [usize]),
                elements: Some(&*(&raw const block.elements[..kept] as *const [u32])),
            }
        }
    }

    /// Copies of the indices of some elements, [`BLOCK`] at most, that are below `extent` above `origin`, by what they are
    /// above it.
    #[inline(always)]
    pub(in super::super) fn copy_within<'b>(
        self,
        elements: Range<usize>,
        [origin, extent]: [usize; 2],
        block: &'b mut Block,
    ) -> Within<'b> {
        assert!(elements.start <= elements.end && elements.end <= self.length && elements.len() <= BLOCK);
        assert!(extent <= usize::MAX >> ELEMENT_BITS);
        // SAFETY: the elements are some of the array, which is readable and aligned (a condition of `new`), and no more
        // than the block has room for; so many are initialised in it as are said to be kept.
        unsafe {
            let both = block.indices.as_mut_ptr().cast();
            let kept = within::<I>(self.address(elements.start), elements.len(), [origin, extent], both);
            Within(&*(&raw const block.indices[..kept] as *const [usize]))
        }
    }
}

/// Copies those of so many indices that are below `extent` above `origin`, by what they are above it, each with its element
/// below ([`Within`]). Says how many they are.
///
/// # Safety
///
/// As many are readable and aligned, and others may write them; `to` is the beginning of a [`Block`], and has room for as
/// many.
#[inline(always)]
unsafe fn within<I: Index>(from: *const I, count: usize, bounds: [usize; 2], to: *mut usize) -> usize {
    // SAFETY: the indices are readable and `to` has room (this function's conditions), and the level says that the
    // processor has the instructions.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vectors::within_512::<I>(from, count, bounds, to),
            _ => within_each::<I>(from, count, bounds, to),
        }
    }
}

/// [`within`], one after another, without branches.
///
/// # Safety
///
/// As there.
unsafe fn within_each<I: Index>(from: *const I, count: usize, [origin, extent]: [usize; 2], to: *mut usize) -> usize {
    let mut kept = 0;
    for element in 0..count {
        // SAFETY: the element is readable and aligned (this function's conditions), and no more are kept than were looked
        // at. Whoever writes it meanwhile makes the value any, which is compared after this one read.
        unsafe {
            let index = from.add(element).read_volatile().unsigned().wrapping_sub(origin);
            to.add(kept).write(index << ELEMENT_BITS | element);
            kept += usize::from(index < extent);
        }
    }
    kept
}

/// Between which values so many indices are, those of true values where there are such; from 0 on without `LOW`.
///
/// # Safety
///
/// As many are readable and aligned, and others may write them; there are as many mask bytes, if any.
#[inline(always)]
unsafe fn look<I: Index, const LOW: bool>(from: *const I, count: usize, mask: Option<&[Bool8]>) -> IndexRange {
    // SAFETY: the indices are readable and there are as many mask bytes (this function's conditions), and the level
    // says that the processor has the instructions.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vectors::look_512::<I, LOW>(from, count, mask),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => vectors::look_256::<I, LOW>(from, count, mask),
            _ => look_at_each::<I, LOW>(from, count, mask),
        }
    }
}

/// Copies so many indices to `to`, by what they are above `origin`, or `last` where that is less.
///
/// # Safety
///
/// As many are readable and aligned, and others may write them; `to` is the beginning of a [`Block`], and has room for as
/// many.
#[inline(always)]
unsafe fn bounded<I: Index>(from: *const I, count: usize, origin: usize, last: usize, to: *mut usize) {
    // SAFETY: the indices are readable and `to` has room (this function's conditions), and the level says that the
    // processor has the instructions.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vectors::bounded_512::<I>(from, count, origin, last, to),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => vectors::bounded_256::<I>(from, count, origin, last, to),
            _ => bounded_each::<I>(from, count, origin, last, to),
        }
    }
}

/// [`bounded`] for as many indices as there are mask bytes, but only those of true bytes: they and which elements of
/// the array they are of are copied to the beginning of the block. Says how many they are. Without branches: where the
/// selection is scattered, every other one would be predicted wrongly.
///
/// # Safety
///
/// As many are readable and aligned as there are mask bytes, and others may write them; the block has room for as many.
#[inline(always)]
unsafe fn selected<I: Index>(from: *const I, mask: &[Bool8], bounds: [usize; 2], block: &mut Block) -> usize {
    let (indices, elements) = (block.indices.as_mut_ptr().cast(), block.elements.as_mut_ptr().cast());
    // SAFETY: the indices are readable and the block has room (this function's conditions), and the level says that the
    // processor has the instructions.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vectors::selected_512::<I>(from, mask, bounds, indices, elements),
            _ => {
                bounded::<I>(from, mask.len(), bounds[0], bounds[1], indices);
                keep_each(mask, indices, elements)
            }
        }
    }
}

/// [`look`], one after another.
///
/// # Safety
///
/// As there.
#[inline(always)]
unsafe fn look_at_each<I: Index, const LOW: bool>(from: *const I, count: usize, mask: Option<&[Bool8]>) -> IndexRange {
    let mut range = IndexRange::none::<LOW>();
    for element in 0..count {
        // SAFETY: the element is readable and aligned, and has a mask byte where there are such (this function's
        // conditions). Whoever writes it meanwhile makes the value any; it is read once.
        let (index, holds) = unsafe {
            let index = from.add(element).read_volatile().unsigned();
            (index, mask.is_none_or(|mask| mask.get_unchecked(element).holds()))
        };
        if LOW {
            range.low = range.low.min(if holds { index } else { usize::MAX });
        }
        range.high = range.high.max(if holds { index } else { 0 });
    }
    range
}

/// [`bounded`], one after another.
///
/// # Safety
///
/// As there.
#[inline(always)]
unsafe fn bounded_each<I: Index>(from: *const I, count: usize, origin: usize, last: usize, to: *mut usize) {
    for element in 0..count {
        // SAFETY: the element is readable and aligned, and `to` has room for it (this function's conditions). Whoever
        // writes it meanwhile makes the value any, which is bounded after this one read.
        unsafe {
            let index = from.add(element).read_volatile().unsigned();
            to.add(element).write(index.wrapping_sub(origin).min(last));
        }
    }
}

/// Moves indices with true values together, writes at `elements` which those are, and says how many.
///
/// # Safety
///
/// Both are beginnings of a [`Block`], with an initialised index and an element for each mask byte.
unsafe fn keep_each(mask: &[Bool8], indices: *mut usize, elements: *mut u32) -> usize {
    let mut kept = 0;
    for (element, byte) in mask.iter().enumerate() {
        // SAFETY: the element has an index and a slot (this function's conditions), and no more are kept than were
        // looked at.
        unsafe {
            indices.add(kept).write(indices.add(element).read());
            elements.add(kept).write(element as u32);
        }
        kept += usize::from(byte.holds());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of either sign, among them the extreme ones.
    fn indices<I: Copy>(count: usize, of: impl Fn(i64) -> I, extremes: [I; 2]) -> Vec<I> {
        let value = |element: usize| match element % 7 {
            5 => extremes[element % 2],
            _ => of((element as i64).wrapping_mul(0x9E37_79B9) % 1000 - 100),
        };
        (0..count).map(value).collect()
    }

    /// What one level's instructions find: the ranges with and without the lowest, and a bounded copy of all, or of those
    /// with true values and which they are.
    type Reads = ([IndexRange; 2], Vec<usize>, Vec<u32>);

    /// Reads by one level's instructions.
    unsafe fn read_at<I: Index>(at: Level, values: &[I], mask: Option<&[Bool8]>, bounds: [usize; 2]) -> Reads {
        let (from, count, [origin, last]) = (values.as_ptr(), values.len(), bounds);
        let mut block = Block::new();
        let (indices, elements) = (block.indices.as_mut_ptr().cast(), block.elements.as_mut_ptr().cast());
        // SAFETY: the caller has a processor of this level; the values are there with a mask byte each, a block has
        // room for them, and what is said to be copied is initialised.
        unsafe {
            let (ranges, kept) = match at {
                Level::Portable => {
                    bounded_each(from, count, origin, last, indices);
                    (
                        [look_at_each::<I, true>(from, count, mask), look_at_each::<I, false>(from, count, mask)],
                        mask.map(|mask| keep_each(mask, indices, elements)),
                    )
                }
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => {
                    vectors::bounded_256(from, count, origin, last, indices);
                    (
                        [
                            vectors::look_256::<I, true>(from, count, mask),
                            vectors::look_256::<I, false>(from, count, mask),
                        ],
                        mask.map(|mask| keep_each(mask, indices, elements)),
                    )
                }
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => (
                    [vectors::look_512::<I, true>(from, count, mask), vectors::look_512::<I, false>(from, count, mask)],
                    match mask {
                        None => {
                            vectors::bounded_512(from, count, origin, last, indices);
                            None
                        }
                        Some(mask) => Some(vectors::selected_512(from, mask, bounds, indices, elements)),
                    },
                ),
                #[cfg(not(target_arch = "x86_64"))]
                _ => unreachable!("no processor of another architecture has it"),
            };
            let copied = block.indices[..kept.unwrap_or(count)].iter().map(|index| index.assume_init()).collect();
            let elements = block.elements[..kept.unwrap_or(0)].iter().map(|element| element.assume_init()).collect();
            (ranges, copied, elements)
        }
    }

    fn check<I: Index>(all: &[I]) {
        let scattered: Vec<Bool8> = (0..all.len()).map(|element| Bool8::new(element * 7 % 5 < 2)).collect();
        let nothing = vec![Bool8::new(false); all.len()];
        for last in [0, 1, 500, i32::MAX as usize, i64::MAX as usize, usize::MAX] {
            for (origin, start) in [(0, 0), (0, 1), (3, 0)] {
                // From an element that begins no vector too.
                let Some(values) = all.get(start..) else { continue };
                for mask in [None, Some(&scattered[start..]), Some(&nothing[start..])] {
                    let holds = |element: usize| mask.is_none_or(|mask| mask[element].holds());
                    let wanted = || values.iter().enumerate().filter(|&(element, _)| holds(element));
                    let one = |index: usize| IndexRange { low: index, high: index };
                    let range = wanted().fold(IndexRange::NONE, |range, (_, index)| range.join(one(index.unsigned())));
                    let copy = wanted().map(|(_, index)| index.unsigned().wrapping_sub(origin).min(last)).collect();
                    let elements = mask.map_or(Vec::new(), |_| wanted().map(|(element, _)| element as u32).collect());
                    let expected = ([range, IndexRange { low: 0, ..range }], copy, elements);
                    for level in Level::available() {
                        // SAFETY: the processor has the level, and there are as many mask bytes as values, a block at
                        // most.
                        let result = unsafe { read_at(level, values, mask, [origin, last]) };
                        assert_eq!(result, expected, "{level}, {} indices", values.len());
                    }
                }
            }
        }
    }

    #[test]
    fn every_level_reads_the_same() {
        let around = |size: usize| size - 1..=size + 1;
        for count in (0..=35).chain(around(AHEAD)).chain(around(BLOCK)).chain([CAPACITY - 1, CAPACITY]) {
            check(&indices(count, |value| value, [i64::MIN, i64::MAX]));
            check(&indices(count, |value| value as i32, [i32::MIN, i32::MAX]));
        }
    }

    #[test]
    fn every_level_finds_those_within() {
        const LARGEST: usize = usize::MAX >> ELEMENT_BITS;
        for count in (0..=35).chain([BLOCK - 1, BLOCK]) {
            let values = indices(count, |value| value, [i64::MIN, i64::MAX]);
            for [origin, extent] in
                [[0, 0], [0, 300], [100, 250], [0, LARGEST], [LARGEST, LARGEST], [usize::MAX - 50, 40]]
            {
                let above = |index: i64| (index as usize).wrapping_sub(origin);
                let wanted = || values.iter().enumerate().filter(|&(_, &index)| above(index) < extent);
                let expected: (Vec<usize>, Vec<u32>) = wanted().map(|(i, &index)| (above(index), i as u32)).unzip();
                for level in Level::available() {
                    let mut block = Block::new();
                    let to = block.indices.as_mut_ptr().cast();
                    // SAFETY: the processor has the level, and a block has room for as many as it holds.
                    let kept = unsafe {
                        match level {
                            #[cfg(target_arch = "x86_64")]
                            Level::Avx512 => vectors::within_512(values.as_ptr(), count, [origin, extent], to),
                            _ => within_each(values.as_ptr(), count, [origin, extent], to),
                        }
                    };
                    // SAFETY: as many were written.
                    let kept: Vec<usize> =
                        block.indices[..kept].iter().map(|both| unsafe { both.assume_init() }).collect();
                    let mut result = (Vec::new(), Vec::new());
                    Within(&kept).for_each(|element, index| {
                        result.0.push(index);
                        result.1.push(element as u32);
                    });
                    assert_eq!(result, expected, "{level}, {count} indices");
                }
            }
        }
    }

    /// Whatever another thread writes meanwhile, no copy has an index beyond the bound.
    #[test]
    fn copies_are_bounded_while_indices_are_written() {
        use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
        let indices: Vec<AtomicI64> = (0..BLOCK as i64).map(AtomicI64::new).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut value = 1_i64;
                while !done.load(Ordering::Relaxed) {
                    for index in &indices {
                        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        index.store(value, Ordering::Relaxed);
                    }
                }
            });
            let view = View { kind: i64::TYPE, pointer: indices.as_ptr().cast_mut().cast(), length: indices.len() };
            // SAFETY: the view is of as many numbers, which are there until the threads have ended.
            let shared = unsafe { SharedIndices::<i64>::new(&view) };
            let mut block = Block::new();
            let mask: Vec<Bool8> = (0..indices.len()).map(|element| Bool8::new(element % 3 > 0)).collect();
            let elements: Vec<u32> = (0..indices.len() as u32).filter(|element| element % 3 > 0).collect();
            for _ in 0..2000 {
                assert!(shared.copy(0..indices.len(), 0, 99, &mut block).iter().all(|&index| index <= 99));
                let copied = shared.copy_selected(0..indices.len(), Some(&mask), [0, 99], &mut block);
                assert_eq!(copied.elements, Some(&elements[..]));
                assert!(copied.indices.len() == elements.len() && copied.indices.iter().all(|&index| index <= 99));
                shared.for_each_below::<8>(0..indices.len(), 0, 99, |_, index| assert!(index < 99));
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
