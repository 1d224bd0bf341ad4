//! Private copies of indices that other threads may write.
//!
//! An index is read from a shared array once, by an access that the compiler may neither repeat nor assume anything
//! about: a volatile read of one, or assembly for a vector of them. What has been read lies in a [`Block`] that nobody
//! else sees, so that a check of it holds when it is used. Bounding whole vectors and then using a copy costs less than
//! bounding each index where it is used.

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use weft_simd::{Level, level};

use super::super::View;
use super::{Element, Index, IndexRange};

/// Indices of a block: a copy of so many stays in the first-level cache beside what is moved.
pub(in super::super) const BLOCK: usize = 1024;

/// Indices behind those of a block that are copied with it, for prefetches.
pub(in super::super) const AHEAD: usize = 128;

/// Room for the indices of a block and those ahead of it.
#[repr(C, align(64))]
pub(in super::super) struct Block([MaybeUninit<usize>; BLOCK + AHEAD]);

impl Block {
    #[inline(always)]
    pub(in super::super) fn new() -> Self {
        Self([MaybeUninit::uninit(); BLOCK + AHEAD])
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
    pub(super) unsafe fn new(view: &View) -> Self {
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
    #[inline(always)]
    pub(in super::super) fn read(self, element: usize) -> usize {
        assert!(element < self.length);
        // SAFETY: the element is one of the array, which is readable and aligned (a condition of `new`). Whoever writes it
        // meanwhile makes the value any, and a volatile read is done once.
        unsafe { self.start.add(element).read_volatile() }.place()
    }

    /// Copies elements as they are now, those beyond `last` as `last`.
    #[inline(always)]
    pub(in super::super) fn copy(self, elements: Range<usize>, last: usize, block: &mut Block) -> &mut [usize] {
        self.copy_and_range(elements, last, block).0
    }

    /// Copies elements as they are now, those beyond `last` as `last`, and says between which values they are.
    #[inline(always)]
    pub(in super::super) fn copy_and_range(
        self,
        elements: Range<usize>,
        last: usize,
        block: &mut Block,
    ) -> (&mut [usize], IndexRange) {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        let copy = &mut block.0[..elements.len()];
        // SAFETY: the elements are some of the array, which is readable and aligned (a condition of `new`), the copy is as
        // long, and all of it is initialised by `read`.
        unsafe {
            let range = read::<I, true>(self.start.add(elements.start), elements.len(), last, copy.as_mut_ptr().cast());
            (&mut *(&raw mut *copy as *mut [usize]), range)
        }
    }

    /// Between which values some elements are now.
    pub(super) fn range(self, elements: Range<usize>) -> IndexRange {
        assert!(elements.start <= elements.end && elements.end <= self.length);
        // SAFETY: the elements are some of the array, which is readable and aligned (a condition of `new`); no copy is
        // made.
        unsafe { read::<I, false>(self.start.add(elements.start), elements.len(), usize::MAX, std::ptr::null_mut()) }
    }
}

/// Reads so many indices, takes those beyond `last` as `last`, and copies them to `to` where `COPY` says so.
///
/// # Safety
///
/// As many are readable and aligned, and others may write them; with `COPY`, `to` has room for as many.
#[inline(always)]
unsafe fn read<I: Index, const COPY: bool>(from: *const I, count: usize, last: usize, to: *mut usize) -> IndexRange {
    // SAFETY: the indices are readable and `to` has room (this function's conditions), and the level says that the
    // processor has the instructions.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => read_512::<I, COPY>(from, count, last, to),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => read_256::<I, COPY>(from, count, last, to),
            _ => read_each::<I, COPY>(from, count, last, to),
        }
    }
}

/// [`read`], one after another.
///
/// # Safety
///
/// As there.
#[inline(always)]
unsafe fn read_each<I: Index, const COPY: bool>(
    from: *const I,
    count: usize,
    last: usize,
    to: *mut usize,
) -> IndexRange {
    let mut range = IndexRange::NONE;
    for element in 0..count {
        // SAFETY: the element is readable and aligned, and `to` has room for it where it is copied (this function's
        // conditions). Whoever writes it meanwhile makes the value any, which is bounded after this one read.
        unsafe {
            let index = from.add(element).read_volatile().place().min(last);
            range = range.join(IndexRange { low: index, high: index });
            if COPY {
                to.add(element).write(index);
            }
        }
    }
    range
}

/// [`read`], eight at once.
///
/// # Safety
///
/// As there, and the processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn read_512<I: Index, const COPY: bool>(
    from: *const I,
    count: usize,
    last: usize,
    to: *mut usize,
) -> IndexRange {
    use std::arch::x86_64::*;
    const LANES: usize = 8;
    let bound = _mm512_set1_epi64(last as i64);
    let (mut low, mut high) = (_mm512_set1_epi64(-1), _mm512_setzero_si512());
    let done = count / LANES * LANES;
    for element in (0..done).step_by(LANES) {
        // SAFETY: the lanes from this element on are readable, and `to` has room for them where they are copied (this
        // function's conditions).
        unsafe {
            let found = load_512(from.add(element));
            let index = _mm512_min_epu64(found, bound);
            low = _mm512_min_epu64(low, index);
            high = _mm512_max_epu64(high, index);
            if COPY {
                _mm512_storeu_si512(to.add(element).cast(), index);
            }
        }
    }
    let vectors =
        IndexRange { low: _mm512_reduce_min_epu64(low) as usize, high: _mm512_reduce_max_epu64(high) as usize };
    // SAFETY: the elements after those of the vectors are readable and aligned, and `to` has room for them (this
    // function's conditions).
    vectors.join(unsafe { read_each::<I, COPY>(from.add(done), count - done, last, to.wrapping_add(done)) })
}

/// [`read`], four at once.
///
/// # Safety
///
/// As there, and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn read_256<I: Index, const COPY: bool>(
    from: *const I,
    count: usize,
    last: usize,
    to: *mut usize,
) -> IndexRange {
    use std::arch::x86_64::*;
    const LANES: usize = 4;
    // Signed comparisons order unsigned numbers once the highest bit of both is inverted.
    let inverted = _mm256_set1_epi64x(i64::MIN);
    let bound = _mm256_set1_epi64x(last as i64 ^ i64::MIN);
    let (mut low, mut high) = (_mm256_set1_epi64x(i64::MAX), inverted);
    let done = count / LANES * LANES;
    for element in (0..done).step_by(LANES) {
        // SAFETY: the lanes from this element on are readable, and `to` has room for them where they are copied (this
        // function's conditions).
        unsafe {
            let found = load_256(from.add(element));
            let found = _mm256_xor_si256(found, inverted);
            let index = _mm256_blendv_epi8(found, bound, _mm256_cmpgt_epi64(found, bound));
            low = _mm256_blendv_epi8(low, index, _mm256_cmpgt_epi64(low, index));
            high = _mm256_blendv_epi8(high, index, _mm256_cmpgt_epi64(index, high));
            if COPY {
                _mm256_storeu_si256(to.add(element).cast(), _mm256_xor_si256(index, inverted));
            }
        }
    }
    let mut lanes = [[0_usize; LANES]; 2];
    // SAFETY: each array has room for a register.
    unsafe {
        _mm256_storeu_si256(lanes[0].as_mut_ptr().cast(), _mm256_xor_si256(low, inverted));
        _mm256_storeu_si256(lanes[1].as_mut_ptr().cast(), _mm256_xor_si256(high, inverted));
    }
    let [low, high] = lanes;
    let vectors =
        low.into_iter().zip(high).map(|(low, high)| IndexRange { low, high }).fold(IndexRange::NONE, IndexRange::join);
    // SAFETY: the elements after those of the vectors are readable and aligned, and `to` has room for them (this
    // function's conditions).
    vectors.join(unsafe { read_each::<I, COPY>(from.add(done), count - done, last, to.wrapping_add(done)) })
}

/// Eight indices as they are now, sign-extended.
///
/// # Safety
///
/// They are readable, and the processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(in super::super) unsafe fn load_512<I: Index>(from: *const I) -> std::arch::x86_64::__m512i {
    let found;
    // SAFETY: the elements are readable (this function's condition). One instruction reads them, once, into a register of
    // which the compiler assumes nothing: whatever others write meanwhile, the register holds some values that stay.
    unsafe {
        if size_of::<I>() == 4 {
            asm!("vpmovsxdq {}, [{}]", out(zmm_reg) found, in(reg) from, options(nostack, preserves_flags, readonly));
        } else {
            asm!("vmovdqu64 {}, [{}]", out(zmm_reg) found, in(reg) from, options(nostack, preserves_flags, readonly));
        }
    }
    found
}

/// Four indices as they are now, sign-extended.
///
/// # Safety
///
/// They are readable, and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_256<I: Index>(from: *const I) -> std::arch::x86_64::__m256i {
    let found;
    // SAFETY: the elements are readable (this function's condition). One instruction reads them, once, into a register of
    // which the compiler assumes nothing: whatever others write meanwhile, the register holds some values that stay.
    unsafe {
        if size_of::<I>() == 4 {
            asm!("vpmovsxdq {}, [{}]", out(ymm_reg) found, in(reg) from, options(nostack, preserves_flags, readonly));
        } else {
            asm!("vmovdqu {}, [{}]", out(ymm_reg) found, in(reg) from, options(nostack, preserves_flags, readonly));
        }
    }
    found
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

    /// Reads by one level's instructions.
    unsafe fn read_at<I: Index>(
        at: Level,
        from: *const I,
        count: usize,
        last: usize,
        to: *mut usize,
    ) -> [IndexRange; 2] {
        // SAFETY: the caller has memory for these, and a processor of this level.
        unsafe {
            match at {
                Level::Portable => {
                    [read_each::<I, true>(from, count, last, to), read_each::<I, false>(from, count, last, to)]
                }
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => {
                    [read_256::<I, true>(from, count, last, to), read_256::<I, false>(from, count, last, to)]
                }
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => {
                    [read_512::<I, true>(from, count, last, to), read_512::<I, false>(from, count, last, to)]
                }
                #[cfg(not(target_arch = "x86_64"))]
                _ => unreachable!("no processor of another architecture has it"),
            }
        }
    }

    fn check<I: Index>(all: &[I]) {
        for last in [0, 1, 500, i32::MAX as usize, i64::MAX as usize, usize::MAX] {
            // From an element that begins no vector too.
            for values in [all, all.get(1..).unwrap_or_default()] {
                let expected: Vec<usize> = values.iter().map(|index| index.place().min(last)).collect();
                let range = expected
                    .iter()
                    .fold(IndexRange::NONE, |range, &index| range.join(IndexRange { low: index, high: index }));
                for level in Level::available() {
                    let mut copy = vec![7; values.len()];
                    // SAFETY: the copy is as long as the values, and the processor has the level.
                    let found = unsafe { read_at(level, values.as_ptr(), values.len(), last, copy.as_mut_ptr()) };
                    assert_eq!((found, &copy), ([range; 2], &expected), "{level}, {} indices", values.len());
                }
            }
        }
    }

    #[test]
    fn every_level_reads_the_same() {
        let around = |size: usize| size - 1..=size + 1;
        for count in (0..=35).chain(around(AHEAD)).chain(around(BLOCK)).chain(around(BLOCK + AHEAD)) {
            check(&indices(count, |value| value, [i64::MIN, i64::MAX]));
            check(&indices(count, |value| value as i32, [i32::MIN, i32::MAX]));
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
            for _ in 0..2000 {
                let (copy, range) = shared.copy_and_range(0..indices.len(), 99, &mut block);
                assert!(copy.iter().all(|index| (range.low..=range.high).contains(index)) && range.high <= 99);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
