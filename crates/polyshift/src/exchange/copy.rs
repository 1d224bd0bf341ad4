//! Boxes of elements copied between strided addresses: packing, unpacking, and what stays on its rank.
//!
//! Rows that are contiguous on both sides are copied whole. Where single elements are far apart (faces across the last
//! axis) time is spent on waiting for cache lines, so boxes of equal form are walked together, each line being fetched
//! once, and lines are prefetched some rows ahead.

use weft_simd::prefetch;

/// Where a box begins: so many bytes from the start of a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// An index into the bases that [`Copies::run`] is given.
    pub base: usize,
    pub offset: isize,
}

/// One box to copy, axes outermost first; strides in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxCopy {
    pub from: Address,
    pub to: Address,
    pub extents: Vec<usize>,
    pub from_strides: Vec<isize>,
    pub to_strides: Vec<isize>,
    /// Bytes of an element.
    pub element: usize,
}

/// A loop over one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    count: usize,
    from: isize,
    to: isize,
}

const ONCE: Loop = Loop { count: 1, from: 0, to: 0 };

/// Boxes of one form, copied in one walk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Walk {
    /// All loops but the two innermost, outermost first.
    outer: Vec<Loop>,
    middle: Loop,
    inner: Loop,
    /// Contiguous bytes at each address.
    row: usize,
    parts: Vec<(Address, Address)>,
}

/// Copies that are done together, in any order: no destination may be a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    walks: Vec<Walk>,
    bytes: usize,
}

/// Rows up to this many bytes are worth walking together.
const SHORT_ROW: usize = 64;
/// The most boxes that are walked together: more streams than a processor follows.
const MAX_PARTS: usize = 4;
/// How many steps ahead lines are prefetched.
const AHEAD: usize = 16;

impl Copies {
    /// Prepares copies.
    pub fn new(boxes: impl IntoIterator<Item = BoxCopy>) -> Copies {
        let mut copies = Copies::default();
        for one in boxes {
            let Some(walk) = Walk::of(&one) else { continue };
            copies.bytes += one.extents.iter().product::<usize>() * one.element;
            let twin = copies.walks.iter_mut().find(|other| other.is_twin(&walk));
            match twin {
                Some(twin) => twin.parts.extend(walk.parts),
                None => copies.walks.push(walk),
            }
        }
        copies
    }

    /// Bytes that are written.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Does it.
    ///
    /// # Safety
    /// Every element of every box must lie in memory behind its base that may be read (sources) or written
    /// (destinations) by this thread, and no destination may overlap a source or another destination.
    pub unsafe fn run(&self, bases: &[*mut u8]) {
        for walk in &self.walks {
            // SAFETY: every element of the boxes, of which this walk has some, lies in memory behind its base that may
            // be read or written, and no destination overlaps another element (this function's conditions).
            unsafe { walk.run(bases) };
        }
    }
}

impl Walk {
    /// The loops of a box, joined where they can be; `None` where it is empty.
    fn of(one: &BoxCopy) -> Option<Walk> {
        if one.extents.contains(&0) {
            return None;
        }
        let axes = one.extents.iter().zip(&one.from_strides).zip(&one.to_strides);
        let mut loops: Vec<Loop> = Vec::with_capacity(one.extents.len());
        for ((&count, &from), &to) in axes {
            if count == 1 {
                continue;
            }
            match loops.last_mut() {
                Some(last) if last.from == count as isize * from && last.to == count as isize * to => {
                    *last = Loop { count: last.count * count, from, to };
                }
                _ => loops.push(Loop { count, from, to }),
            }
        }
        let mut row = one.element;
        let is_row = |last: &Loop| last.from == one.element as isize && last.to == one.element as isize;
        if let Some(last) = loops.pop_if(|last| is_row(last)) {
            row *= last.count;
        }
        let inner = loops.pop().unwrap_or(ONCE);
        let middle = loops.pop().unwrap_or(ONCE);
        Some(Walk { outer: loops, middle, inner, row, parts: vec![(one.from, one.to)] })
    }

    fn is_twin(&self, other: &Walk) -> bool {
        self.row <= SHORT_ROW
            && self.parts.len() < MAX_PARTS
            && (self.row, self.inner, self.middle) == (other.row, other.inner, other.middle)
            && self.outer == other.outer
    }

    /// # Safety
    /// As [`Copies::run`], for the boxes of this walk.
    unsafe fn run(&self, bases: &[*mut u8]) {
        let mut pointers = [(std::ptr::null::<u8>(), std::ptr::null_mut::<u8>()); MAX_PARTS];
        let count = self.parts.len();
        for (pointer, (from, to)) in pointers.iter_mut().zip(&self.parts) {
            *pointer =
                (bases[from.base].cast_const().wrapping_offset(from.offset), bases[to.base].wrapping_offset(to.offset));
        }
        // SAFETY: the pointers are where the boxes of this walk begin (`Copies::new` joins MAX_PARTS parts at most, so that
        // none is left out), and the loops are those of the boxes, whose elements may be read and written (this
        // function's condition).
        unsafe { self.descend(&self.outer, &mut pointers[..count]) };
    }

    /// # Safety
    /// The pointers, MAX_PARTS at most, are where parts of the boxes begin that have the loops `outer` and the two
    /// innermost ones, whose elements may be read and written, and no destination overlaps another element.
    unsafe fn descend(&self, outer: &[Loop], pointers: &mut [(*const u8, *mut u8)]) {
        let Some((first, rest)) = outer.split_first() else {
            // SAFETY: without outer loops the pointers are where planes of the boxes begin (this function's condition).
            return unsafe { self.plane(pointers) };
        };
        let mut here = [(std::ptr::null::<u8>(), std::ptr::null_mut::<u8>()); MAX_PARTS];
        let here = &mut here[..pointers.len()];
        for i in 0..first.count as isize {
            for (here, (from, to)) in here.iter_mut().zip(pointers.iter()) {
                *here = (from.wrapping_offset(i * first.from), to.wrapping_offset(i * first.to));
            }
            // SAFETY: each pointer has gone on by less than `count` steps of the outermost loop, to where a part of its
            // box with the remaining loops begins.
            unsafe { self.descend(rest, here) };
        }
    }

    /// The two innermost loops.
    ///
    /// # Safety
    /// The pointers are where planes of the boxes begin, whose elements may be read and written for a row, and no
    /// destination overlaps another element.
    unsafe fn plane(&self, pointers: &mut [(*const u8, *mut u8)]) {
        // SAFETY: the pointers are where planes of the boxes begin (this function's condition), each element or row of
        // which has the bytes of the type by which it is copied.
        unsafe {
            match (self.row, pointers.len()) {
                (1, _) => self.elements::<u8>(pointers),
                (2, _) => self.elements::<u16>(pointers),
                (4, _) => self.elements::<u32>(pointers),
                (8, 2) => self.pairs::<u64>(pointers),
                (8, _) => self.elements::<u64>(pointers),
                (16, _) => self.elements::<[u64; 2]>(pointers),
                (24, _) => self.elements::<[u64; 3]>(pointers),
                (32, _) => self.elements::<[u64; 4]>(pointers),
                (64, _) => self.elements::<[u64; 8]>(pointers),
                (128, _) => self.elements::<[u64; 16]>(pointers),
                (256, _) => self.elements::<[u64; 32]>(pointers),
                _ => self.rows(pointers),
            }
        }
    }

    /// Two boxes of equal form at a time: both faces across an axis share lines.
    ///
    /// # Safety
    /// As [`plane`](Walk::plane), with rows of `T`'s bytes.
    unsafe fn pairs<T: Copy>(&self, pointers: &[(*const u8, *mut u8)]) {
        let [a, b] = *pointers else { return };
        // What is written next to what the other box reads comes with its lines.
        let is_near = |target: *mut u8, source: *const u8| target.addr().abs_diff(source.addr()) < SHORT_ROW;
        let is_dense = self.inner.to.unsigned_abs() < SHORT_ROW;
        // SAFETY: the pointers are where two planes of the boxes begin, whose rows have the bytes of `T` (this
        // function's conditions).
        unsafe {
            if is_dense || (is_near(a.1, b.0) && is_near(b.1, a.0)) {
                self.pairs_asking_for::<T, false>(a, b);
            } else {
                self.pairs_asking_for::<T, true>(a, b);
            }
        }
    }

    /// As `pairs`; lines are prefetched where they are read and, if `TARGETS`, where they are written.
    ///
    /// # Safety
    /// As [`plane`](Walk::plane), with rows of `T`'s bytes.
    unsafe fn pairs_asking_for<T: Copy, const TARGETS: bool>(
        &self,
        (from_a, to_a): (*const u8, *mut u8),
        (from_b, to_b): (*const u8, *mut u8),
    ) {
        let Loop { count, from, to } = self.inner;
        let far = count.min(AHEAD) as isize;
        // So far ahead in this line, and for its last steps in the next line.
        let here = (far * from, far * to);
        let rest = far - count as isize;
        let next = (self.middle.from + rest * from, self.middle.to + rest * to);
        for i in 0..self.middle.count as isize {
            let source = |pointer: *const u8| pointer.wrapping_offset(i * self.middle.from);
            let target = |pointer: *mut u8| pointer.wrapping_offset(i * self.middle.to);
            let (mut fa, mut fb, mut ta, mut tb) = (source(from_a), source(from_b), target(to_a), target(to_b));
            for (steps, (ahead_from, ahead_to)) in [(count - far as usize, here), (far as usize, next)] {
                for _ in 0..steps {
                    prefetch(fa.wrapping_offset(ahead_from));
                    prefetch(fb.wrapping_offset(ahead_from));
                    if TARGETS {
                        prefetch(ta.wrapping_offset(ahead_to));
                        prefetch(tb.wrapping_offset(ahead_to));
                    }
                    // SAFETY: source and target are elements of the boxes, `i` and the number of steps being below the
                    // counts of the loops, and may be read and written for a row of `T`'s bytes (this function's
                    // condition), at any address.
                    unsafe {
                        let (a, b) = (fa.cast::<T>().read_unaligned(), fb.cast::<T>().read_unaligned());
                        ta.cast::<T>().write_unaligned(a);
                        tb.cast::<T>().write_unaligned(b);
                    }
                    (fa, fb) = (fa.wrapping_offset(from), fb.wrapping_offset(from));
                    (ta, tb) = (ta.wrapping_offset(to), tb.wrapping_offset(to));
                }
            }
        }
    }

    /// Elements, or rows of a length known here.
    ///
    /// # Safety
    /// As [`plane`](Walk::plane), with rows of `T`'s bytes.
    unsafe fn elements<T: Copy>(&self, pointers: &[(*const u8, *mut u8)]) {
        let Loop { count, from, to } = self.inner;
        for i in 0..self.middle.count as isize {
            for j in 0..count {
                let ahead = j + AHEAD;
                let (line, ahead) = if ahead < count { (0, ahead as isize) } else { (1, (ahead - count) as isize) };
                let lines = i + line;
                let (source, target) = (lines * self.middle.from + ahead * from, lines * self.middle.to + ahead * to);
                let at = j as isize;
                for &(source_start, target_start) in pointers {
                    if from.unsigned_abs() >= SHORT_ROW {
                        prefetch(source_start.wrapping_offset(source));
                    }
                    if to.unsigned_abs() >= SHORT_ROW {
                        prefetch(target_start.wrapping_offset(target));
                    }
                    let source = source_start.wrapping_offset(i * self.middle.from + at * from);
                    let target = target_start.wrapping_offset(i * self.middle.to + at * to);
                    // SAFETY: source and target are elements of the boxes, `i` and `j` being below the counts of
                    // the loops, and may be read and written for a row of `T`'s bytes (this function's condition), at
                    // any address.
                    unsafe { target.cast::<T>().write_unaligned(source.cast::<T>().read_unaligned()) };
                }
            }
        }
    }

    /// Rows of any length.
    ///
    /// # Safety
    /// As [`plane`](Walk::plane).
    unsafe fn rows(&self, pointers: &[(*const u8, *mut u8)]) {
        for &(source, target) in pointers {
            for i in 0..self.middle.count as isize {
                for j in 0..self.inner.count as isize {
                    let source = source.wrapping_offset(i * self.middle.from + j * self.inner.from);
                    let target = target.wrapping_offset(i * self.middle.to + j * self.inner.to);
                    // SAFETY: the row is one of the boxes, `i` and `j` being below the counts of the loops, may
                    // be read and written, and overlaps no destination (this function's condition).
                    unsafe { std::ptr::copy_nonoverlapping(source, target, self.row) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A box in two buffers with space around it, and the same copy element by element.
    fn boxes() -> impl Strategy<Value = (Vec<BoxCopy>, usize, usize)> {
        let axis = (1usize..6, 1usize..4, 1usize..4);
        let element = proptest::sample::select(vec![1usize, 2, 3, 4, 8, 12, 16]);
        (proptest::collection::vec(axis, 1..5), element, 1usize..6).prop_map(|(axes, element, copies)| {
            let strides = |spread: fn(&(usize, usize, usize)) -> usize| {
                let mut stride = element;
                let mut all: Vec<isize> = Vec::new();
                for axis in axes.iter().rev() {
                    all.push(stride as isize);
                    stride *= axis.0 * spread(axis);
                }
                all.reverse();
                (all, stride)
            };
            let (from_strides, from_bytes) = strides(|axis| axis.1);
            let (to_strides, to_bytes) = strides(|axis| axis.2);
            let extents: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
            let boxes = (0..copies).map(|copy| BoxCopy {
                from: Address { base: 0, offset: (copy * from_bytes) as isize },
                to: Address { base: 1, offset: (copy * to_bytes) as isize },
                extents: extents.clone(),
                from_strides: from_strides.clone(),
                to_strides: to_strides.clone(),
                element,
            });
            (boxes.collect(), copies * from_bytes, copies * to_bytes)
        })
    }

    fn one_by_one(one: &BoxCopy, from: &[u8], to: &mut [u8]) {
        let mut index = vec![0usize; one.extents.len()];
        loop {
            let at = |start: isize, strides: &[isize]| {
                (start + index.iter().zip(strides).map(|(&i, stride)| i as isize * stride).sum::<isize>()) as usize
            };
            let (source, target) = (at(one.from.offset, &one.from_strides), at(one.to.offset, &one.to_strides));
            to[target..target + one.element].copy_from_slice(&from[source..source + one.element]);
            let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] + 1 < one.extents[axis]) else { return };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }

    proptest! {
        #[test]
        fn boxes_are_copied_as_element_by_element((boxes, from_bytes, to_bytes) in boxes()) {
            let mut from: Vec<u8> = (0..from_bytes).map(|i| (i % 251) as u8).collect();
            let mut to = vec![255u8; to_bytes];
            let mut expected = to.clone();
            boxes.iter().for_each(|one| one_by_one(one, &from, &mut expected));
            let copies = Copies::new(boxes);
            // SAFETY: the boxes lie within the two buffers and do not overlap.
            unsafe { copies.run(&[from.as_mut_ptr(), to.as_mut_ptr()]) };
            prop_assert_eq!(to, expected);
        }
    }

    #[test]
    fn axes_that_lie_in_one_piece_are_one_row() {
        let whole = BoxCopy {
            from: Address { base: 0, offset: 0 },
            to: Address { base: 1, offset: 0 },
            extents: vec![4, 1, 5, 6],
            from_strides: vec![240, 7, 48, 8],
            to_strides: vec![240, 9, 48, 8],
            element: 8,
        };
        let copies = Copies::new([whole.clone()]);
        assert_eq!((copies.walks[0].row, copies.walks[0].inner, copies.bytes()), (960, ONCE, 960));
        let empty = BoxCopy { extents: vec![4, 0, 5, 6], ..whole };
        assert_eq!(Copies::new([empty]), Copies::default());
    }
}
