//! How much of a block is selected, and stores of what is.

use std::mem::MaybeUninit;

use weft_simd::{Dispatched, dispatch};

use super::element::Bool8;

/// Elements that are looked at before it is asked whether more need be.
const PORTION: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Density {
    None,
    Some,
    All,
}

/// How much of a block is selected.
#[inline]
pub(super) fn density(mask: &[Bool8]) -> Density {
    let (mut any, mut all) = (false, true);
    for portion in mask.chunks(PORTION) {
        let (some, every) = dispatch(Portion(portion));
        any |= some;
        all &= every;
        if any && !all {
            return Density::Some;
        }
    }
    match (any, all) {
        (_, true) => Density::All,
        (false, _) => Density::None,
        _ => Density::Some,
    }
}

struct Portion<'a>(&'a [Bool8]);

impl Dispatched for Portion<'_> {
    /// Whether any and whether all hold.
    type Output = (bool, bool);
    #[inline(always)]
    fn run(self) -> (bool, bool) {
        let count: u32 = self.0.iter().map(|byte| u32::from(byte.holds())).sum();
        (count > 0, count as usize == self.0.len())
    }
}

/// Stores the selected elements of a block.
///
/// # Safety
///
/// As many elements of `item` bytes, a power of two up to 8, as mask bytes are readable and writable, and the two are
/// apart.
pub(super) unsafe fn blend(from: *const u8, to: *mut u8, mask: &[Bool8], item: usize) {
    // SAFETY: as many elements of `item` bytes as mask bytes are readable and writable, and apart (this function's
    // condition).
    unsafe {
        match item {
            1 => blend_of::<u8>(from, to, mask),
            2 => blend_of::<u16>(from, to, mask),
            4 => blend_of::<u32>(from, to, mask),
            _ => blend_of::<u64>(from, to, mask),
        }
    }
}

/// Stores the elements of a block of one of two operands, as the mask says.
///
/// # Safety
///
/// As many elements of `item` bytes, a power of two up to 8, as mask bytes are readable in both and writable, and the
/// output is apart from the operands.
pub(super) unsafe fn choose_block(yes: *const u8, no: *const u8, to: *mut u8, mask: &[Bool8], item: usize) {
    // SAFETY: as many elements of `item` bytes as mask bytes are readable and writable, and apart (this function's
    // condition).
    unsafe {
        match item {
            1 => choose_of::<u8>(yes, no, to, mask),
            2 => choose_of::<u16>(yes, no, to, mask),
            4 => choose_of::<u32>(yes, no, to, mask),
            _ => choose_of::<u64>(yes, no, to, mask),
        }
    }
}

unsafe fn choose_of<T: Bits>(yes: *const u8, no: *const u8, to: *mut u8, mask: &[Bool8]) {
    // SAFETY: as many `T` as mask bytes are readable and writable, and apart (conditions of `choose_block`, which has
    // chosen a `T` of the element's size; arrays are aligned to their elements); what is written may be uninitialised.
    let (yes, no, to) = unsafe {
        (
            std::slice::from_raw_parts(yes.cast::<T>(), mask.len()),
            std::slice::from_raw_parts(no.cast::<T>(), mask.len()),
            std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<T>>(), mask.len()),
        )
    };
    dispatch(Choose { yes, no, to, mask });
}

/// Stores one element so many times.
///
/// # Safety
///
/// An element of `item` bytes, a power of two up to 8, is readable; so many are writable, and apart from it.
pub(super) unsafe fn repeat(from: *const u8, to: *mut u8, count: usize, item: usize) {
    // A loop of copies of `item` bytes would be one of calls, each longer than a line of the cache takes.
    // SAFETY: an element of `item` bytes is readable and `count` are writable, apart from it (this function's
    // condition).
    unsafe {
        match item {
            1 => to.write_bytes(*from, count),
            2 => repeat_of::<u16>(from, to, count),
            4 => repeat_of::<u32>(from, to, count),
            _ => repeat_of::<u64>(from, to, count),
        }
    }
}

unsafe fn repeat_of<T: Copy>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: a `T` is readable and `count` of them are writable, apart from it (conditions of `repeat`, which has
    // chosen a `T` of the element's size); what is written may be uninitialised.
    let (value, to) = unsafe {
        let value = from.cast::<T>().read_unaligned();
        (value, std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<T>>(), count))
    };
    to.fill(MaybeUninit::new(value));
}

unsafe fn blend_of<T: Bits>(from: *const u8, to: *mut u8, mask: &[Bool8]) {
    // SAFETY: as many `T` as mask bytes are readable and writable, and apart (conditions of `blend`, which has chosen a
    // `T` of the element's size; arrays are aligned to their elements).
    let (from, to) = unsafe {
        (
            std::slice::from_raw_parts(from.cast::<T>(), mask.len()),
            std::slice::from_raw_parts_mut(to.cast::<T>(), mask.len()),
        )
    };
    dispatch(Blend { from, to, mask });
}

/// An element whose bits are taken from one of two without a branch: where the selection is scattered, a branch is
/// predicted wrongly for every other element.
trait Bits: Copy {
    fn chosen(byte: Bool8, yes: Self, no: Self) -> Self;
}

macro_rules! bits {
    ($($type:ident)*) => {$(
        impl Bits for $type {
            #[inline(always)]
            fn chosen(byte: Bool8, yes: Self, no: Self) -> Self {
                no ^ ((no ^ yes) & $type::from(byte.holds()).wrapping_neg())
            }
        }
    )*};
}

bits! { u8 u16 u32 u64 }

struct Blend<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
    mask: &'a [Bool8],
}

impl<T: Bits> Dispatched for Blend<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for ((&from, to), &byte) in self.from.iter().zip(self.to).zip(self.mask) {
            *to = T::chosen(byte, from, *to);
        }
    }
}

struct Choose<'a, T> {
    yes: &'a [T],
    no: &'a [T],
    to: &'a mut [MaybeUninit<T>],
    mask: &'a [Bool8],
}

impl<T: Bits> Dispatched for Choose<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (((&yes, &no), to), &byte) in self.yes.iter().zip(self.no).zip(self.to).zip(self.mask) {
            to.write(T::chosen(byte, yes, no));
        }
    }
}
