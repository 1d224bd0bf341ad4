//! Reductions of an array to one value.
//!
//! The order of combination is fixed by the indices of the elements: an array is a row of chunks of [`CHUNK`] elements;
//! in a chunk element `i` goes to lane `i` modulo [`LANES`], in order; lanes are combined in halves, and chunks in
//! halves too. So the result does not depend on the number of threads, and errors of sums grow with the logarithm of
//! the length.

use std::marker::PhantomData;

use weft_simd::{Dispatched, dispatch, keep_rolled, on_threads};

use crate::{Execution, Stop};

use super::combination::{Add, Combine, Combining, Multiply, with_combination};
use super::density::{Density, density};
use super::element::{Bool8, Element, Scalar};
use super::lines::LINE;
use super::parallel::{part, threads_for_passing};
use super::view::Selection;
use super::{Combination, ElementType, PrimitiveError, View, finished};

pub(super) const CHUNK: usize = 4096;
const LANES: usize = 32;

/// Arrays of more bytes than this come from memory, or from a far cache.
const FAR: usize = 1 << 20;

/// Combines the selected elements of `x`. Sums of integers and booleans have 64 bits and wrap around; sums of float32 are
/// taken in float64. None where nothing is selected and the combination is the largest or the smallest; else what nothing
/// comes to: 0, all bits, true or false.
///
/// # Errors
///
/// A type without the combination, and a selection of another length.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn reduce<'a>(
    x: View,
    combination: Combination,
    selection: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<Option<Scalar>, PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    // SAFETY: the selection's memory is what `View` says (this function's condition).
    let selection = unsafe { Selection::checked(selection, x.length, None)? };
    let threads = threads_for_passing(threads, x.bytes());
    let extreme = matches!(combination, Combination::Max | Combination::Min);
    if extreme
        && selection.0.map_or(x.length == 0, |mask| mask.chunks(CHUNK).all(|part| density(part) == Density::None))
    {
        return Ok(None);
    }
    // SAFETY: the array's memory is what `View` says (this function's condition), and each arm reads it as the type
    // that it has.
    let result = unsafe {
        macro_rules! of_numbers {
            ($combination:ident, $type:ident, $wide:ident, $convert:expr) => {
                reduced::<$type, $wide, $combination>(x.slice(), selection, threads, stop, $convert).scalar()
            };
        }
        macro_rules! number {
            ($combination:ident, $of_booleans:expr) => {
                match x.kind {
                    ElementType::Bool => $of_booleans,
                    ElementType::Int8 => of_numbers!($combination, i8, i64, i64::from),
                    ElementType::Int16 => of_numbers!($combination, i16, i64, i64::from),
                    ElementType::Int32 => of_numbers!($combination, i32, i64, i64::from),
                    ElementType::Int64 => of_numbers!($combination, i64, i64, |x| x),
                    ElementType::Uint8 => of_numbers!($combination, u8, u64, u64::from),
                    ElementType::Uint16 => of_numbers!($combination, u16, u64, u64::from),
                    ElementType::Uint32 => of_numbers!($combination, u32, u64, u64::from),
                    ElementType::Uint64 => of_numbers!($combination, u64, u64, |x| x),
                    ElementType::Float32 => of_numbers!($combination, f32, f64, f64::from),
                    ElementType::Float64 => of_numbers!($combination, f64, f64, |x| x),
                }
            };
        }
        let narrow = || with_combination(x.kind, combination, Reduction { x, selection, threads, stop });
        match combination {
            Combination::Add => number!(Add, of_numbers!(Add, Bool8, i64, |x| x.holds().into())),
            Combination::Multiply => number!(Multiply, narrow()?),
            _ => narrow()?,
        }
    };
    finished(stop).map(|()| Some(result))
}

struct Reduction<'a> {
    x: View,
    selection: Selection<'a>,
    threads: usize,
    stop: Stop<'a>,
}

impl Combining for Reduction<'_> {
    type Output = Scalar;
    fn run<T: Element, C: Combine<T>>(self) -> Scalar {
        // SAFETY: the array's memory is what `View` says (a condition of `reduce`, which made this), and
        // `with_combination` has chosen a `T` of its type or of its size.
        let x = unsafe { self.x.elements::<T>() };
        as_signed(reduced::<T, T, C>(x, self.selection, self.threads, self.stop, |x| x).scalar(), self.x.kind)
    }
}

/// What the bits of an unsigned result mean in the type of the elements.
fn as_signed(scalar: Scalar, kind: ElementType) -> Scalar {
    match (scalar, kind) {
        (Scalar::Uint(bits), ElementType::Int8) => Scalar::Int((bits as i8).into()),
        (Scalar::Uint(bits), ElementType::Int16) => Scalar::Int((bits as i16).into()),
        (Scalar::Uint(bits), ElementType::Int32) => Scalar::Int((bits as i32).into()),
        (Scalar::Uint(bits), ElementType::Int64) => Scalar::Int(bits as i64),
        _ => scalar,
    }
}

/// The selected elements, each widened first, combined.
pub(super) fn reduced<T: Element, W: Element, C: Combine<W>>(
    x: &[T],
    selection: Selection<'_>,
    threads: usize,
    stop: Stop<'_>,
    widen: impl Fn(T) -> W + Copy + Sync,
) -> W {
    let chunk = |start: usize, end: usize, far: bool| {
        let selection = selection.part(start, end);
        dispatch(Chunk { x: &x[start..end], selection, widen, far, combination: PhantomData::<(C, W)> })
    };
    if x.len() <= CHUNK {
        return chunk(0, x.len(), false);
    }
    let far = std::mem::size_of_val(x) > FAR;
    let parts = on_threads(threads, |number| {
        let own = part(x.len(), CHUNK, number, threads);
        own.clone()
            .step_by(CHUNK)
            .take_while(|_| !stop.is_requested())
            .map(|start| chunk(start, own.end.min(start + CHUNK), far))
            .collect::<Vec<W>>()
    });
    halves::<W, C>(&mut parts.concat())
}

/// Values combined in halves, of which the first is the largest power of two: from the bottom, where pairs of neighbours
/// come to the same, and one that is left waits for the next pairs.
fn halves<W: Element, C: Combine<W>>(values: &mut [W]) -> W {
    let mut count = values.len();
    if count == 0 {
        return C::IDENTITY;
    }
    while count > 1 {
        for pair in 0..count / 2 {
            values[pair] = C::combine(values[2 * pair], values[2 * pair + 1]);
        }
        if !count.is_multiple_of(2) {
            values[count / 2] = values[count - 1];
        }
        count = count.div_ceil(2);
    }
    values[0]
}

/// Chunks of large arrays that are read by halves of rows are fetched so many bytes ahead. Of 1, 1.5, 2, 2.5, 3 and 4
/// KiB the nearest were the best where a load comes by for every other line (an Intel Xeon; 64 Mi float64 on two
/// threads); on an AMD EPYC all were alike.
const HALVES_AHEAD: usize = 1024;

/// Those that are read by whole rows: elements of 4 bytes were read 5 to 11% faster than with 1 KiB on an AMD EPYC, and
/// 2 to 6 KiB were alike.
const ROWS_AHEAD: usize = 3072;

/// Elements of a row that are read at a time where all of them are more bytes than [`STEP`].
const HALF: usize = LANES / 2;

/// The most bytes between two reads of one load where all are from memory. Processors recognise streams by the distance
/// between what a load reads and what it read before: at 256 bytes and more memory gave 28 to 30 GB/s, at 128 and less 33
/// to 35 (an Intel Xeon, loops over 64 Mi float64 on two threads).
const STEP: usize = 128;

/// A chunk of an array, to be combined by C of W; `far`: it comes from memory.
struct Chunk<'a, T, F, C> {
    x: &'a [T],
    selection: Selection<'a>,
    widen: F,
    far: bool,
    combination: PhantomData<C>,
}

impl<T: Element, F, C> Chunk<'_, T, F, C> {
    /// Whether a loop reads half of a row at a time.
    const BY_HALVES: bool = LANES * size_of::<T>() > STEP;

    /// Prefetches what is needed soon, or the row itself where all is near: a loop over rows that fetches is not turned into
    /// one over several rows at once, whose lanes would be parted and joined again in five to eight times the time.
    #[inline(always)]
    fn look_ahead<const COUNT: usize>(&self, row: &[T; COUNT]) {
        let ahead = if Self::BY_HALVES { HALVES_AHEAD } else { ROWS_AHEAD };
        let distance = if self.far { ahead } else { 0 };
        for line in 0..(size_of::<T>() * COUNT).div_ceil(LINE) {
            weft_simd::prefetch(row.as_ptr().cast::<u8>().wrapping_add(distance + line * LINE));
        }
    }
}

impl<T: Element, W: Element, F: Fn(T) -> W + Copy, C: Combine<W>> Chunk<'_, T, F, (C, W)> {
    /// The lanes of whole rows. `ordered`: as if no element were NaN, and whether one is; false for those where that makes
    /// no difference.
    ///
    /// Rows are arrays and lanes a value, which stays in vector registers from row to row; as slices they were written to
    /// memory after each, which took five times as long.
    #[inline(always)]
    fn lanes(&self, ordered: bool) -> ([W; LANES], bool) {
        let mut unordered = false;
        let lanes = if Self::BY_HALVES {
            self.by_halves(ordered, &mut unordered)
        } else {
            self.by_rows(ordered, &mut unordered)
        };
        // Written to memory here: what comes after would have the compiler sort the lanes anew in every row.
        (std::hint::black_box(lanes), unordered)
    }

    #[inline(always)]
    fn by_rows(&self, ordered: bool, unordered: &mut bool) -> [W; LANES] {
        let (rows, _) = self.x.as_chunks::<LANES>();
        let mut lanes = [C::IDENTITY; LANES];
        match self.selection.0 {
            None => {
                for row in rows {
                    lanes = self.next(lanes, row, None, ordered, unordered);
                }
            }
            Some(mask) => {
                for (row, mask) in rows.iter().zip(mask.as_chunks::<LANES>().0) {
                    lanes = self.next(lanes, row, Some(mask), ordered, unordered);
                }
            }
        }
        lanes
    }

    /// One loop reads both halves of a row: those of the lanes change places after each.
    #[inline(always)]
    fn by_halves(&self, ordered: bool, unordered: &mut bool) -> [W; LANES] {
        let whole = self.x.len() / LANES * LANES;
        let (halves, _) = self.x[..whole].as_chunks::<HALF>();
        let (mut next, mut other) = ([C::IDENTITY; HALF], [C::IDENTITY; HALF]);
        match self.selection.0 {
            None => {
                for half in halves {
                    (next, other) = (other, self.next(next, half, None, ordered, unordered));
                    keep_rolled();
                }
            }
            Some(mask) => {
                for (half, mask) in halves.iter().zip(mask[..whole].as_chunks::<HALF>().0) {
                    (next, other) = (other, self.next(next, half, Some(mask), ordered, unordered));
                    keep_rolled();
                }
            }
        }
        let mut lanes = [C::IDENTITY; LANES];
        lanes[..HALF].copy_from_slice(&next);
        lanes[HALF..].copy_from_slice(&other);
        lanes
    }

    /// The lanes after another row, or a part of one.
    #[inline(always)]
    fn next<const COUNT: usize>(
        &self,
        mut lanes: [W; COUNT],
        row: &[T; COUNT],
        mask: Option<&[Bool8; COUNT]>,
        ordered: bool,
        unordered: &mut bool,
    ) -> [W; COUNT] {
        self.look_ahead(row);
        let mut apart = [false; COUNT];
        for lane in 0..COUNT {
            let x = (self.widen)(row[lane]);
            let x = if mask.is_none_or(|mask| mask[lane].holds()) { x } else { C::IDENTITY };
            lanes[lane] = if ordered { C::combine_ordered(lanes[lane], x) } else { C::combine(lanes[lane], x) };
            apart[lane] = ordered && C::is_unordered(x);
        }
        for one in apart {
            *unordered |= one;
        }
        lanes
    }
}

impl<T: Element, W: Element, F: Fn(T) -> W + Copy, C: Combine<W>> Dispatched for Chunk<'_, T, F, (C, W)> {
    type Output = W;
    #[inline(always)]
    fn run(self) -> W {
        let (mut lanes, unordered) = self.lanes(true);
        if unordered {
            (lanes, _) = self.lanes(false);
        }
        let whole = self.x.len() / LANES * LANES;
        for (index, (lane, &x)) in lanes.iter_mut().zip(&self.x[whole..]).enumerate() {
            if self.selection.holds(whole + index) {
                *lane = C::combine(*lane, (self.widen)(x));
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] = C::combine(lanes[lane], lanes[lane + width]);
            }
            width /= 2;
        }
        lanes[0]
    }
}

/// The selected elements of a chunk, combined by lanes and halves.
#[inline(always)]
pub(super) fn folded<T: Element, C: Combine<T>>(x: &[T], selection: Selection<'_>, far: bool) -> T {
    dispatch(Chunk { x, selection, widen: |x| x, far, combination: PhantomData::<(C, T)> })
}

/// As [`reduced`], of at most [`CHUNK`] elements, within a loop over lines that was dispatched.
#[inline(always)]
pub(super) fn combined_line<T: Element, W: Element, C: Combine<W>>(
    x: &[T],
    selection: Selection<'_>,
    widen: impl Fn(T) -> W + Copy,
) -> W {
    Chunk { x, selection, widen, far: false, combination: PhantomData::<(C, W)> }.run()
}
