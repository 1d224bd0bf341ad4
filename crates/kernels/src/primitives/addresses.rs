//! Numbers of a grid's elements by their coordinates along its axes.

use std::ops::Range;

use weft_simd::{Dispatched, dispatch};

use crate::{Execution, Stop};

use super::element::{Bool8, Element, for_type};
use super::parallel::{in_parts, threads_for_passing};
use super::{ElementType, PrimitiveError, View, finished};

/// Elements that are added up for all axes before those after them: the first-level cache holds them.
const BLOCK: usize = 1024;

/// Blocks between looks at whether to stop.
const BLOCKS: usize = 64;

/// Coordinates along an axis, and how many elements its neighbours along the axis are apart.
#[derive(Clone, Copy, Debug)]
pub struct Along {
    pub coordinates: View,
    pub stride: i64,
}

/// Gives every element of `out` the sum of `first` and of its coordinates times their strides, modulo 2^64.
///
/// # Errors
///
/// Coordinates that are no integers, an `out` that is not of int64, arrays of other lengths than `out`, and arrays that
/// overlap it.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn addresses<'a>(
    axes: &[Along],
    first: i64,
    out: View,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    let Execution { threads, stop } = execution.into();
    out.check_type("out", ElementType::Int64)?;
    for Along { coordinates, .. } in axes {
        if matches!(coordinates.kind, ElementType::Bool | ElementType::Float32 | ElementType::Float64) {
            let wanted = "integers".to_owned();
            return Err(PrimitiveError::Type { array: "coordinates", actual: coordinates.kind, wanted });
        }
        coordinates.check_length("coordinates", out.length)?;
        coordinates.check_apart("coordinates", &out, "out")?;
    }
    let bytes = out.bytes() + axes.iter().map(|axis| axis.coordinates.bytes()).sum::<usize>();
    in_parts(out.length, BLOCK, threads_for_passing(threads, bytes), |part| {
        // SAFETY: the memory of all views is what `View` says (this function's condition), types and lengths were checked,
        // and parts of the output are disjoint.
        unsafe { sum(axes, first, &out, part, stop) }
    });
    finished(stop)
}

/// # Safety
///
/// All arrays have the elements of `part`, those of `out` are of int64, and nobody else uses them.
unsafe fn sum(axes: &[Along], first: i64, out: &View, part: Range<usize>, stop: Stop<'_>) {
    let start = part.start;
    // SAFETY: the output has these elements, and nobody else uses them (this function's condition).
    let numbers = unsafe { std::slice::from_raw_parts_mut(out.pointer.cast::<i64>().add(start), part.len()) };
    for (number, block) in numbers.chunks_mut(BLOCK).enumerate() {
        if number % BLOCKS == 0 && stop.is_requested() {
            return;
        }
        block.fill(first);
        for axis in axes {
            let at = start + number * BLOCK;
            // SAFETY: the block's coordinates are readable (this function's condition).
            unsafe { for_type!(axis.coordinates.kind, add(axis, at, block)) };
        }
    }
}

/// # Safety
///
/// Coordinates are of type T and readable from `at` on, as many as `block` has elements.
unsafe fn add<T: Coordinate>(axis: &Along, at: usize, block: &mut [i64]) {
    // SAFETY: so many elements of this type are readable (this function's condition).
    let coordinates = unsafe { std::slice::from_raw_parts(axis.coordinates.pointer.cast::<T>().add(at), block.len()) };
    dispatch(Sum { coordinates, stride: axis.stride, block });
}

struct Sum<'a, T> {
    coordinates: &'a [T],
    stride: i64,
    block: &'a mut [i64],
}

impl<T: Coordinate> Dispatched for Sum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Sum { coordinates, stride, block } = self;
        let length = block.len().min(coordinates.len());
        for index in 0..length {
            block[index] = block[index].wrapping_add(coordinates[index].whole().wrapping_mul(stride));
        }
    }
}

/// An element that may be a coordinate; what is none was refused before.
trait Coordinate: Element {
    fn whole(self) -> i64;
}

macro_rules! coordinate {
    ($($type:ident)*) => {$(
        impl Coordinate for $type {
            #[inline(always)]
            fn whole(self) -> i64 {
                self as i64
            }
        }
    )*};
}

coordinate!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Coordinate for Bool8 {
    #[inline(always)]
    fn whole(self) -> i64 {
        0
    }
}
