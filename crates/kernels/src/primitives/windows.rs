//! Short lines, many at a time: what windows of a line's length come to, from every element on.
//!
//! A block of whole planes is handled in the first-level cache. Windows of one element are the elements; two windows that
//! follow one another are combined to one of twice the length, for all elements of the block at once, and one of an
//! element more where the length is odd in that binary digit. Most windows belong to no line, but vector registers
//! combine those of 8 to 64 elements by one instruction, and no line costs a loop of its own. A line's own elements are
//! combined in their order.

use weft_simd::{Dispatched, dispatch};

use super::combination::Combine;
use super::element::Element;
use super::lines::{LINE, Scratch};

/// Bytes of the elements of a block.
const BYTES: usize = 4096;

/// Elements that are combined by one iteration.
pub(super) const GROUP: usize = 64;

/// The most elements of a plane whose lines are combined here.
pub(super) const PLANE: usize = 256;

/// Elements of a block of what has so many bytes an element.
pub(super) const fn block(item: usize) -> usize {
    BYTES / item
}

/// A buffer of elements of a block, and of as many behind them as windows, groups and pieces reach.
pub(super) struct Buffer(Scratch<{ BYTES + 8 * (PLANE + GROUP) }>);

impl Buffer {
    /// Filled with a value.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self(Scratch::new())
    }

    /// The elements, all of this value.
    #[inline(always)]
    pub(super) fn filled<W: Element>(&mut self, value: W) -> &mut [W] {
        let length = block(size_of::<W>()) + PLANE + GROUP;
        let pointer = self.0.pointer().cast::<W>();
        for index in 0..length {
            // SAFETY: the buffer has bytes for so many elements of at most 8 bytes, and is aligned to lines.
            unsafe { pointer.add(index).write(value) };
        }
        // SAFETY: these elements were written, and are borrowed with the buffer.
        unsafe { std::slice::from_raw_parts_mut(pointer, length) }
    }
}

/// What the `extent` elements from each one on come to that are `stride` apart, for so many groups of elements: among
/// `elements` itself where each is alone. All have as many elements behind those groups as windows reach.
#[inline(always)]
pub(super) fn windows<'a, W: Element, C: Combine<W>>(
    elements: &'a [W],
    buffers: [&'a mut [W]; 2],
    extent: usize,
    stride: usize,
    groups: usize,
) -> &'a [W] {
    let [mut target, mut source] = buffers;
    let mut length = 1;
    for digit in (0..extent.ilog2()).rev() {
        let from: &[W] = if length == 1 { elements } else { source };
        let reach = length * stride;
        length *= 2;
        if extent >> digit & 1 == 0 {
            doubled::<W, C>(from, reach, target, groups);
        } else {
            doubled_and_one::<W, C>(from, reach, elements, target, groups);
            length += 1;
        }
        std::mem::swap(&mut target, &mut source);
    }
    if extent == 1 { elements } else { source }
}

/// Each with the one that begins where it ends.
#[inline(always)]
fn doubled<W: Element, C: Combine<W>>(from: &[W], reach: usize, target: &mut [W], groups: usize) {
    for start in (0..groups * GROUP).step_by(GROUP) {
        let (one, other) = (group(from, start), group(from, start + reach));
        let target = group_mut(target, start);
        for index in 0..GROUP {
            target[index] = C::combine(one[index], other[index]);
        }
    }
}

/// The same, and with the element behind both.
#[inline(always)]
fn doubled_and_one<W: Element, C: Combine<W>>(
    from: &[W],
    reach: usize,
    elements: &[W],
    target: &mut [W],
    groups: usize,
) {
    for start in (0..groups * GROUP).step_by(GROUP) {
        let (one, other) = (group(from, start), group(from, start + reach));
        let last = group(elements, start + 2 * reach);
        let target = group_mut(target, start);
        for index in 0..GROUP {
            target[index] = C::combine(C::combine(one[index], other[index]), last[index]);
        }
    }
}

#[inline(always)]
fn group<W>(elements: &[W], start: usize) -> &[W; GROUP] {
    elements[start..].first_chunk().expect("buffers have elements behind the last group")
}

#[inline(always)]
fn group_mut<W>(elements: &mut [W], start: usize) -> &mut [W; GROUP] {
    elements[start..].first_chunk_mut().expect("buffers have elements behind the last group")
}

/// The rows of planes: of `row` bytes each, so many a plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub planes: usize,
    pub rows: usize,
    pub row: usize,
}

/// Gives all rows of each plane what its first row has in `totals`.
#[inline(always)]
pub(super) fn spread<W: Element>(totals: &[W], out: &mut [W], shape: Rows) {
    let bytes = shape.planes * shape.rows * shape.row + LINE;
    assert!(bytes <= size_of_val(totals) && bytes <= size_of_val(out), "buffers have a line behind the planes");
    dispatch(Spread { totals: totals.as_ptr().cast(), out: out.as_mut_ptr().cast(), shape });
}

/// Whatever the elements are, rows of so many bytes are the same code. Both arrays have a line of bytes behind the planes.
struct Spread {
    totals: *const u8,
    out: *mut u8,
    shape: Rows,
}

impl Dispatched for Spread {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        match self.shape.row {
            1 if self.shape.rows <= 16 => self.units::<u8, 16>(),
            2 if self.shape.rows <= 16 => self.units::<u16, 16>(),
            1 => self.units::<u8, 64>(),
            2 => self.units::<u16, 32>(),
            4 => self.units::<u32, 16>(),
            8 => self.units::<u64, 8>(),
            16 => self.units::<[u64; 2], 4>(),
            32 => self.units::<[u64; 4], 2>(),
            64 => self.units::<[u64; 8], 1>(),
            _ => self.lines(),
        }
    }
}

impl Spread {
    /// Rows of one unit, of which a line has `COUNT`: what is too much of a line is written again, by the next plane.
    #[inline(always)]
    fn units<U: Copy, const COUNT: usize>(&self) {
        let Rows { planes, rows, .. } = self.shape;
        let lines = rows.div_ceil(COUNT);
        let (mut from, mut to) = (self.totals.cast::<U>(), self.out.cast::<U>());
        for _ in 0..planes {
            // SAFETY: the planes are within both arrays, with a line behind them (`spread` has checked that).
            unsafe {
                let values = [from.read_unaligned(); COUNT];
                for line in 0..lines {
                    to.add(line * COUNT).cast::<[U; COUNT]>().write_unaligned(values);
                }
                (from, to) = (from.add(rows), to.add(rows));
            }
        }
    }

    /// Rows of any length: what is too much of a row's last line is written again, by the next row.
    #[inline(always)]
    fn lines(&self) {
        let Rows { planes, rows, row } = self.shape;
        for plane in 0..planes {
            let start = plane * rows * row;
            for index in 0..rows {
                for byte in (0..row).step_by(LINE) {
                    // SAFETY: the planes are within both arrays, with a line behind them (`spread` has checked that).
                    unsafe {
                        let from = self.totals.add(start + byte).cast::<[u8; LINE]>();
                        self.out.add(start + index * row + byte).cast::<[u8; LINE]>().write(from.read());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::primitives::{Axis, Combination, ElementType, View, reduce_axis};

    /// Numbers of which some are equal and not the same.
    const VALUES: [f64; 6] = [-0.0, 0.0, -0.0, f64::NAN, -1.0, f64::NEG_INFINITY];

    /// Lines that end before, at, and behind powers of two, alone and beside others.
    fn shapes() -> impl Iterator<Item = Axis> {
        let extents = (1..=9).chain([15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65]);
        extents.flat_map(|extent| {
            let befores = [1, 2, 63, 4096 / 8 / extent, 4096 / 8 / extent + 1, 700];
            [1, 2, 3, 8, 20].into_iter().flat_map(move |after| befores.map(|before| Axis { before, extent, after }))
        })
    }

    fn largest(axis: Axis, kept: impl Fn(usize) -> bool, x: &[f64]) -> (Vec<f64>, usize) {
        let (mut out, mut empty) = (vec![0.0; x.len()], 0);
        for line in 0..axis.before * axis.after {
            let first = line / axis.after * axis.extent * axis.after + line % axis.after;
            let elements = || (0..axis.extent).map(|index| first + index * axis.after);
            let mut total: Option<f64> = None;
            for x in elements().filter(|&i| kept(i)).map(|i| x[i]) {
                total = Some(total.map_or(x, |so_far| if so_far.is_nan() || so_far >= x { so_far } else { x }));
            }
            empty += usize::from(total.is_none());
            elements().for_each(|i| out[i] = total.unwrap_or(f64::NEG_INFINITY));
        }
        (out, empty)
    }

    fn reduced(axis: Axis, combination: Combination, x: &[f64], mask: Option<&[u8]>) -> (Vec<f64>, usize) {
        let mut out = vec![0.0_f64; x.len()];
        let view = |kind, pointer| View { kind, pointer, length: x.len() };
        let selection = mask.map(|mask| view(ElementType::Bool, mask.as_ptr().cast_mut()));
        let (x, target) = (x.as_ptr().cast_mut().cast(), out.as_mut_ptr().cast());
        let (x, target) = (view(ElementType::Float64, x), view(ElementType::Float64, target));
        // SAFETY: the views are of arrays that outlive the call.
        let empty = unsafe { reduce_axis(x, target, combination, axis, selection.as_ref(), Some(1)) };
        (out, empty.expect("the arguments are right"))
    }

    #[test]
    fn the_first_of_equals_and_nan_are_kept_as_in_order() {
        for axis in shapes() {
            let length = axis.before * axis.extent * axis.after;
            let noise = |i: usize, of: usize| (i.wrapping_mul(0x9E37_79B9) >> 7) % of;
            let x: Vec<f64> = (0..length).map(|i| VALUES[noise(i, VALUES.len())]).collect();
            for kept in [None, Some(0), Some(1), Some(4)] {
                let mask: Option<Vec<u8>> = kept.map(|kept| (0..length).map(|i| (noise(i, 4) < kept).into()).collect());
                let (expected, empty) = largest(axis, |i| mask.as_ref().is_none_or(|mask| mask[i] != 0), &x);
                let (actual, count) = reduced(axis, Combination::Max, &x, mask.as_deref());
                let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
                assert!(bits(&actual) == bits(&expected), "{axis:?}, {kept:?} of 4 selected");
                assert_eq!(count, if kept.is_some() { empty } else { 0 }, "{axis:?}, {kept:?} of 4 selected");
            }
        }
    }

    #[test]
    fn sums_of_negative_zeros_are_positive() {
        for axis in shapes() {
            let x = vec![-0.0; axis.before * axis.extent * axis.after];
            let (sums, _) = reduced(axis, Combination::Add, &x, None);
            assert!(sums.iter().all(|sum| sum.to_bits() == 0), "{axis:?}");
        }
    }
}
