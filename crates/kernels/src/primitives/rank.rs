//! Ranks: where each element comes among those that are selected, equal ones in the order of their indices.
//!
//! Elements become unsigned numbers in their order, less the least of them and without the low bits that all have alike,
//! and are sorted digit by digit, the lowest digit first, by counting (Knuth, The Art of Computer Programming, volume 3,
//! section 5.2.5). So the time depends on how far the elements are apart, and on their order only where they are in order
//! already. A number is sorted as the upper bits of a word whose lower bits are its index: of 64 bits where both fit, else
//! of 128.

use super::element::{Bool8, Element, for_type};
use super::view::Selection;
use super::{ElementType, PrimitiveError, View, finished};
use crate::{Execution, Stop};

/// Bits of a digit, at most: as many places to write to as a second-level cache has lines for.
const DIGIT: u32 = 11;

/// Bits of a digit, at least: for few elements, counters that take longer to add up than the elements do are spared.
const SHORT_DIGIT: u32 = 4;

/// Elements between two looks at whether to stop.
const CHUNK: usize = 1 << 16;

/// Gives every selected element of `out` the rank of that of `x` among all selected ones, from 0; others get 0. NaNs come
/// last; 0.0 and -0.0 are equal. Returns how often the elements were gone through, which decides how long that takes: 1
/// where they are in order, else 2 and once for each digit, where words of 128 bits count twice.
///
/// # Errors
///
/// An output that is of another length or neither int32 nor int64, one that is int32 where ranks need more, arrays that
/// overlap, and too little memory.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn rank<'a>(
    x: View,
    out: View,
    descending: bool,
    selection: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<u32, PrimitiveError> {
    let Execution { stop, .. } = execution.into();
    out.check_length("out", x.length)?;
    x.check_apart("x", &out, "out")?;
    // SAFETY: the selection's memory is what `View` says (this function's condition).
    let selection = unsafe { Selection::checked(selection, x.length, Some(&out))? };
    // SAFETY: the memory of both arrays is what `View` says (this function's condition), and each arm takes an array as
    // the type that it has.
    let passes = unsafe {
        match out.kind {
            ElementType::Int64 => for_type!(x.kind, ranked(x, out.elements_mut::<i64>(), descending, selection, stop)),
            ElementType::Int32 if i32::try_from(x.length).is_ok() => {
                for_type!(x.kind, ranked(x, out.elements_mut::<i32>(), descending, selection, stop))
            }
            actual => {
                let wanted =
                    if actual == ElementType::Int32 { "int64, for so many elements" } else { "int32 or int64" };
                return Err(PrimitiveError::Type { array: "out", actual, wanted: wanted.to_owned() });
            }
        }
    }?;
    finished(stop).map(|()| passes)
}

/// # Safety
///
/// The memory of `x` is what [`View`] says, and its elements are of this type.
unsafe fn ranked<T: Ordered>(
    x: View,
    out: &mut [impl Position],
    descending: bool,
    selection: Selection<'_>,
    stop: Stop<'_>,
) -> Result<u32, PrimitiveError> {
    // SAFETY: the elements are what this function's condition says.
    Ranking { x: unsafe { x.slice::<T>() }, descending, selection, stop }.write(out)
}

/// What a rank is kept as.
trait Position: Copy {
    fn of(position: usize) -> Self;
}

impl Position for i32 {
    #[inline(always)]
    fn of(position: usize) -> Self {
        position as i32
    }
}

impl Position for i64 {
    #[inline(always)]
    fn of(position: usize) -> Self {
        position as i64
    }
}

/// An element that has a number in its order.
trait Ordered: Element {
    /// The largest number.
    const LAST: u64;
    /// Its number; None for NaN.
    fn number(self) -> Option<u64>;
}

macro_rules! unsigned {
    ($($type:ident)*) => {$(
        impl Ordered for $type {
            const LAST: u64 = $type::MAX as u64;
            #[inline(always)]
            fn number(self) -> Option<u64> { Some(self.into()) }
        }
    )*};
}
unsigned! { u8 u16 u32 u64 }

macro_rules! signed {
    ($($type:ident $bits:ident)*) => {$(
        impl Ordered for $type {
            const LAST: u64 = $bits::MAX as u64;
            #[inline(always)]
            fn number(self) -> Option<u64> { Some((self.wrapping_sub($type::MIN) as $bits).into()) }
        }
    )*};
}
signed! { i8 u8 i16 u16 i32 u32 i64 u64 }

macro_rules! floating {
    ($($type:ident $bits:ident)*) => {$(
        impl Ordered for $type {
            const LAST: u64 = $bits::MAX as u64;
            #[inline(always)]
            fn number(self) -> Option<u64> {
                // Of -0.0 the sum is 0.0.
                let (bits, sign) = ((self + 0.0).to_bits(), 1 << ($bits::BITS - 1));
                (!self.is_nan()).then_some(if bits & sign == 0 { bits | sign } else { !bits }.into())
            }
        }
    )*};
}
floating! { f32 u32 f64 u64 }

impl Ordered for Bool8 {
    const LAST: u64 = 1;
    #[inline(always)]
    fn number(self) -> Option<u64> {
        Some(self.holds().into())
    }
}

struct Ranking<'a, T> {
    x: &'a [T],
    descending: bool,
    selection: Selection<'a>,
    stop: Stop<'a>,
}

/// What a first look at the elements finds.
struct Extent {
    /// How many are selected.
    count: usize,
    least: u64,
    largest: u64,
    /// In which bits some differ.
    differing: u64,
    in_order: bool,
}

impl Extent {
    /// What is sorted of a number.
    #[inline(always)]
    fn of(&self, number: u64) -> u64 {
        number.wrapping_sub(self.least) >> self.differing.trailing_zeros()
    }
}

impl<T: Ordered> Ranking<'_, T> {
    fn write<R: Position>(&self, out: &mut [R]) -> Result<u32, PrimitiveError> {
        let extent = self.extent();
        if self.selection.0.is_some() {
            out.fill(R::of(0));
        }
        if extent.in_order {
            for (rank, index) in self.indices().enumerate() {
                out[index] = R::of(rank);
            }
            return Ok(1);
        }
        // Not in order, so that there are two at least, and they differ.
        let (index_bits, number_bits) = (bits(self.x.len() as u64 - 1), bits(extent.of(extent.largest)));
        if index_bits + number_bits <= u64::BITS {
            self.sort::<u64, R>(&extent, index_bits, number_bits, out)
        } else {
            self.sort::<u128, R>(&extent, index_bits, number_bits, out)
        }
    }

    fn sort<W: Word, R: Position>(
        &self,
        extent: &Extent,
        index_bits: u32,
        number_bits: u32,
        ranks: &mut [R],
    ) -> Result<u32, PrimitiveError> {
        let mut words = Words::<W>::of(extent.count, index_bits)?;
        // Another thread may write the elements meanwhile, and the selection: never more words than were counted.
        for (word, index) in words.words.iter_mut().zip(self.indices()) {
            *word = W::of(extent.of(self.number(index)), index as u64, index_bits);
        }
        let digits = words.rank(number_bits, ranks, self.stop);
        Ok(2 + digits * W::LENGTH)
    }

    #[inline(always)]
    fn number(&self, index: usize) -> u64 {
        match self.x[index].number() {
            None => T::LAST,
            Some(number) if self.descending => T::LAST - number,
            Some(number) => number,
        }
    }

    /// Those of the selected elements.
    #[inline(always)]
    fn indices(&self) -> impl Iterator<Item = usize> {
        (0..self.x.len()).filter(|&index| self.selection.holds(index))
    }

    fn extent(&self) -> Extent {
        let mut extent = Extent { count: 0, least: u64::MAX, largest: 0, differing: 0, in_order: true };
        let mut before = 0;
        for index in self.indices() {
            let number = self.number(index);
            extent.count += 1;
            extent.least = extent.least.min(number);
            extent.largest = extent.largest.max(number);
            extent.differing |= if extent.count > 1 { before ^ number } else { 0 };
            extent.in_order &= before <= number;
            before = number;
        }
        extent
    }
}

/// How many bits a number has.
fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// A number with the index of its element in the bits below.
trait Word: Copy {
    /// How many words of 64 bits it has.
    const LENGTH: u32;
    const ZERO: Self;
    fn of(number: u64, index: u64, index_bits: u32) -> Self;
    /// Its lowest 64 bits without so many below them.
    fn beyond(self, shift: u32) -> u64;
}

macro_rules! words {
    ($($type:ident)*) => {$(
        impl Word for $type {
            const LENGTH: u32 = $type::BITS / u64::BITS;
            const ZERO: Self = 0;
            #[inline(always)]
            fn of(number: u64, index: u64, index_bits: u32) -> Self {
                Self::from(number) << index_bits | Self::from(index)
            }
            #[inline(always)]
            fn beyond(self, shift: u32) -> u64 {
                (self >> shift) as u64
            }
        }
    )*};
}
words! { u64 u128 }

struct Words<W> {
    words: Vec<W>,
    other: Vec<W>,
    index_bits: u32,
}

impl<W: Word> Words<W> {
    fn of(count: usize, index_bits: u32) -> Result<Self, PrimitiveError> {
        Ok(Self { words: zeros(count)?, other: zeros(count)?, index_bits })
    }

    /// Writes the ranks of the words by so many bits of their numbers, and returns the number of digits.
    fn rank<R: Position>(&mut self, number_bits: u32, ranks: &mut [R], stop: Stop<'_>) -> u32 {
        let longest = bits(self.words.len() as u64).clamp(SHORT_DIGIT, DIGIT);
        let digits = number_bits.div_ceil(longest);
        let width = number_bits.div_ceil(digits);
        let mut counters = vec![0_usize; (digits as usize) << width];
        self.count(width, &mut counters, stop);
        let shifts = (self.index_bits..).step_by(width as usize);
        let mut of_digits =
            counters.chunks_exact_mut(1 << width).zip(shifts).map(|(counts, shift)| Digit::of(counts, shift));
        for _ in 1..digits {
            let Some(digit) = of_digits.next() else { break };
            if stop.is_requested() {
                // Perhaps not all were counted.
                return digits;
            }
            self.sort_by(digit);
        }
        let index_mask = (1 << self.index_bits) - 1;
        if let Some(mut digit) = of_digits.next() {
            for &word in &self.words {
                ranks[(word.beyond(0) & index_mask) as usize] = R::of(digit.next(word));
            }
        }
        digits
    }

    fn sort_by(&mut self, mut digit: Digit<'_>) {
        for &word in &self.words {
            self.other[digit.next(word)] = word;
        }
        std::mem::swap(&mut self.words, &mut self.other);
    }

    /// How often each digit has each value.
    fn count(&self, width: u32, counters: &mut [usize], stop: Stop<'_>) {
        let mask = (1 << width) - 1;
        for chunk in self.words.chunks(CHUNK) {
            if stop.is_requested() {
                return;
            }
            for word in chunk {
                let mut number = word.beyond(self.index_bits);
                for of_digit in counters.chunks_exact_mut(1 << width) {
                    of_digit[(number & mask) as usize] += 1;
                    number >>= width;
                }
            }
        }
    }
}

/// One digit: where the next word of each value goes.
struct Digit<'a> {
    starts: &'a mut [usize],
    shift: u32,
}

impl<'a> Digit<'a> {
    /// From how many words have each value.
    fn of(counts: &'a mut [usize], shift: u32) -> Self {
        let mut sum = 0;
        for count in &mut *counts {
            sum += std::mem::replace(count, sum);
        }
        Self { starts: counts, shift }
    }

    #[inline(always)]
    fn next(&mut self, word: impl Word) -> usize {
        let value = word.beyond(self.shift) as usize & (self.starts.len() - 1);
        let start = self.starts[value];
        self.starts[value] = start + 1;
        start
    }
}

fn zeros<W: Word>(count: usize) -> Result<Vec<W>, PrimitiveError> {
    let mut words = Vec::new();
    words.try_reserve_exact(count).map_err(|_| PrimitiveError::Memory { bytes: size_of::<W>() * count })?;
    words.resize(count, W::ZERO);
    Ok(words)
}
