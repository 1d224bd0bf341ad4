//! Copies of boxes of arrays with any strides.

use super::pieces::copy_piece;

/// One axis of a box: how many elements, and how many bytes apart they are on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub extent: usize,
    pub source: isize,
    pub target: isize,
}

/// A copy of a box, with its axes in the order in which they are best walked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxCopy {
    axes: Vec<Axis>,
    /// Bytes that lie together on both sides.
    run: usize,
    empty: bool,
}

/// Elements a side of a tile where the two sides run along different axes.
const TILE: usize = 32;

impl BoxCopy {
    /// Elements of `item` bytes over `axes`. A source stride of zero repeats an element; targets must not overlap.
    pub fn new(item: usize, axes: &[Axis]) -> Self {
        let empty = item == 0 || axes.iter().any(|axis| axis.extent == 0);
        let mut sorted: Vec<Axis> = axes.iter().copied().filter(|axis| axis.extent > 1).collect();
        sorted.sort_by_key(|axis| std::cmp::Reverse(axis.target.unsigned_abs()));
        let mut merged: Vec<Axis> = Vec::with_capacity(sorted.len());
        for axis in sorted {
            let count = axis.extent as isize;
            match merged.last_mut() {
                Some(outer) if outer.source == count * axis.source && outer.target == count * axis.target => {
                    *outer = Axis { extent: outer.extent * axis.extent, ..axis };
                }
                _ => merged.push(axis),
            }
        }
        let mut run = item;
        if let Some(&last) = merged.last()
            && last.source == item as isize
            && last.target == item as isize
        {
            run *= last.extent;
            merged.pop();
        }
        Self { axes: merged, run, empty }
    }

    /// Runs of bytes that it consists of.
    pub fn runs(&self) -> usize {
        if self.empty { 0 } else { self.axes.iter().map(|axis| axis.extent).product() }
    }

    /// Does the copy.
    ///
    /// # Safety
    ///
    /// Every element of the box is readable from `source` and writable from `target` on, and the two do not overlap.
    pub unsafe fn run(&self, source: *const u8, target: *mut u8) {
        if self.empty {
            return;
        }
        // SAFETY: every element of the box is readable and writable and the two sides do not overlap (this function's
        // condition), and `M` copies the bytes of a run, at any address.
        unsafe {
            match self.run {
                1 => self.walk::<Fixed<u8>>(source, target),
                2 => self.walk::<Fixed<u16>>(source, target),
                4 => self.walk::<Fixed<u32>>(source, target),
                8 => self.walk::<Fixed<u64>>(source, target),
                16 => self.walk::<Fixed<[u64; 2]>>(source, target),
                _ => self.walk::<Any>(source, target),
            }
        }
    }

    unsafe fn walk<M: Move>(&self, source: *const u8, target: *mut u8) {
        let Some((&last, outer)) = self.axes.split_last() else {
            // SAFETY: the one run.
            return unsafe { M::copy(source, target, self.run) };
        };
        // The axis along which the source lies closest, if that is another one: then tiles use lines of both sides.
        let nearest = outer
            .iter()
            .enumerate()
            .filter(|(_, axis)| axis.source != 0 && axis.source.unsigned_abs() < last.source.unsigned_abs())
            .min_by_key(|(_, axis)| axis.source.unsigned_abs())
            .map(|(position, _)| position);
        let (crossing, rest): (Option<Axis>, Vec<Axis>) = match nearest {
            Some(position) => {
                let mut rest = outer.to_vec();
                (Some(rest.remove(position)), rest)
            }
            None => (None, outer.to_vec()),
        };
        let mut index = vec![0_usize; rest.len()];
        let (mut from, mut to) = (source, target);
        loop {
            // SAFETY: within the box.
            unsafe {
                match crossing {
                    Some(crossing) => tiles::<M>(crossing, last, from, to, self.run),
                    None => row::<M>(last, from, to, self.run),
                }
            }
            let mut position = rest.len();
            loop {
                if position == 0 {
                    return;
                }
                position -= 1;
                let axis = rest[position];
                index[position] += 1;
                from = from.wrapping_offset(axis.source);
                to = to.wrapping_offset(axis.target);
                if index[position] < axis.extent {
                    break;
                }
                from = from.wrapping_offset(-axis.source * axis.extent as isize);
                to = to.wrapping_offset(-axis.target * axis.extent as isize);
                index[position] = 0;
            }
        }
    }
}

#[inline(always)]
unsafe fn row<M: Move>(axis: Axis, source: *const u8, target: *mut u8, run: usize) {
    for number in 0..axis.extent as isize {
        // SAFETY: an element of the box.
        unsafe { M::copy(source.offset(number * axis.source), target.offset(number * axis.target), run) };
    }
}

#[inline(always)]
unsafe fn tiles<M: Move>(outer: Axis, inner: Axis, source: *const u8, target: *mut u8, run: usize) {
    for first in (0..outer.extent).step_by(TILE) {
        for second in (0..inner.extent).step_by(TILE) {
            let part = Axis { extent: TILE.min(inner.extent - second), ..inner };
            for number in first..outer.extent.min(first + TILE) {
                let from = number as isize * outer.source + second as isize * inner.source;
                let to = number as isize * outer.target + second as isize * inner.target;
                // SAFETY: a part of a row of the box.
                unsafe { row::<M>(part, source.offset(from), target.offset(to), run) };
            }
        }
    }
}

trait Move {
    unsafe fn copy(source: *const u8, target: *mut u8, run: usize);
}

struct Fixed<T>(T);

impl<T: Copy> Move for Fixed<T> {
    #[inline(always)]
    unsafe fn copy(source: *const u8, target: *mut u8, _run: usize) {
        // SAFETY: a run is as long as T.
        unsafe { target.cast::<T>().write_unaligned(source.cast::<T>().read_unaligned()) };
    }
}

struct Any;

impl Move for Any {
    #[inline(always)]
    unsafe fn copy(source: *const u8, target: *mut u8, run: usize) {
        // SAFETY: `run` bytes are readable at `source`, writable at `target`, and do not overlap (a condition of
        // `Move::copy`), which is what `copy_piece` asks.
        unsafe { copy_piece(source, target, run) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbouring_axes_become_one_run() {
        let axes = [
            Axis { extent: 3, source: 80, target: 40 },
            Axis { extent: 5, source: 8, target: 8 },
            Axis { extent: 1, source: 7, target: 9 },
        ];
        let copy = BoxCopy::new(8, &axes);
        assert_eq!(copy, BoxCopy { axes: vec![axes[0]], run: 40, empty: false });
        assert_eq!(copy.runs(), 3);
        assert_eq!(BoxCopy::new(8, &[Axis { extent: 0, source: 8, target: 8 }]).runs(), 0);
    }

    proptest! {
        /// A dense target in any order of axes, from a source with gaps, reversed axes and repeats.
        #[test]
        fn elements_land_where_they_belong(
            extents in prop::collection::vec(0_usize..40, 1..4),
            order in prop::sample::select(vec![[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]),
            item in prop::sample::select(vec![1_usize, 2, 3, 4, 8, 12, 16, 32]),
            kinds in prop::array::uniform3(0_usize..4),
        ) {
            let rank = extents.len();
            let mut axes = vec![Axis { extent: 0, source: 0, target: 0 }; rank];
            let (mut target_bytes, mut source_bytes) = (item, item);
            for position in order.into_iter().filter(|&position| position < rank) {
                axes[position].target = target_bytes as isize;
                target_bytes *= extents[position];
            }
            let mut first = 0_isize;
            for position in 0..rank {
                axes[position].extent = extents[position];
                let stride = (source_bytes * [1, 2, 1, 0][kinds[position]]) as isize;
                axes[position].source = if kinds[position] == 2 { -stride } else { stride };
                if kinds[position] == 2 {
                    first += stride * extents[position].saturating_sub(1) as isize;
                }
                source_bytes = source_bytes.max(stride as usize * extents[position] + item);
            }
            let source: Vec<u8> = (0..source_bytes + first as usize + 64).map(|i| (i * 7 + i / 256) as u8).collect();
            let mut target = vec![0_u8; target_bytes];
            // SAFETY: both sides are as long as the strides reach.
            unsafe { BoxCopy::new(item, &axes).run(source.as_ptr().offset(first), target.as_mut_ptr()) };
            let mut index = vec![0; rank];
            if extents.iter().all(|&extent| extent > 0) {
                'all: loop {
                    let from = first + axes.iter().zip(&index).map(|(a, &i)| a.source * i as isize).sum::<isize>();
                    let to: isize = axes.iter().zip(&index).map(|(a, &i)| a.target * i as isize).sum();
                    let (from, to) = (from as usize, to as usize);
                    prop_assert_eq!(&target[to..to + item], &source[from..from + item]);
                    let mut position = rank;
                    loop {
                        if position == 0 { break 'all; }
                        position -= 1;
                        index[position] += 1;
                        if index[position] < extents[position] { break; }
                        index[position] = 0;
                    }
                }
            }
        }
    }
}
