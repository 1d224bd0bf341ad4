//! Operations that combine two elements into one and may be applied to any number of them.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64;
#[cfg(target_arch = "x86_64")]
use std::mem::transmute_copy;

use super::element::{Bool8, Element};
use super::{ElementType, PrimitiveError};

/// What reductions, scans and sends combine elements by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// The sum; integers wrap around.
    Add,
    /// The product; integers wrap around.
    Multiply,
    /// The largest; NaN where there is one.
    Max,
    /// The smallest; NaN where there is one.
    Min,
    /// Bits set in all.
    LogAnd,
    /// Bits set in any.
    LogIor,
    /// Bits set in an odd number.
    LogXor,
    /// Whether all are true; of booleans.
    And,
    /// Whether any is true; of booleans.
    Or,
}

impl Combination {
    /// Every combination.
    pub const ALL: [Combination; 9] = [
        Combination::Add,
        Combination::Multiply,
        Combination::Max,
        Combination::Min,
        Combination::LogAnd,
        Combination::LogIor,
        Combination::LogXor,
        Combination::And,
        Combination::Or,
    ];

    /// Its name, as in table 3 of Wu and Shu 1989; products are weft's own.
    pub fn name(self) -> &'static str {
        match self {
            Combination::Add => "add",
            Combination::Multiply => "multiply",
            Combination::Max => "max",
            Combination::Min => "min",
            Combination::LogAnd => "logand",
            Combination::LogIor => "logior",
            Combination::LogXor => "logxor",
            Combination::And => "and",
            Combination::Or => "or",
        }
    }

    /// The combination of this name; the error lists the names and those in `besides`.
    pub fn parse(name: &str, besides: &[&str]) -> Result<Self, PrimitiveError> {
        Self::ALL.into_iter().find(|combination| combination.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|one| one.name()).chain(besides.iter().copied()).collect();
            PrimitiveError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }
}

/// Elements of 4 or 8 bytes in a vector register.
#[cfg(target_arch = "x86_64")]
pub(super) type Lanes = x86_64::__m512i;

/// A [`Combination`] of elements of one type.
pub(super) trait Combine<T: Element>: Send + Sync + 'static {
    /// Changes nothing it is combined with.
    const IDENTITY: T;
    /// What `held` comes to when `other` is combined with it so many times, one after another; None where that has to be
    /// done to know it.
    #[inline(always)]
    fn combine_times(_held: T, _other: T, _times: u32) -> Option<T> {
        None
    }
    /// Whether runs of elements may be combined first, and then what they come to, in their order, with the same bits.
    const ASSOCIATIVE: bool = true;
    /// Whether [`Self::combine_512`] is one instruction for elements of 4 and of 8 bytes, whose runs may be combined first.
    const IS_INSTRUCTION: bool = false;
    fn combine(one: T, other: T) -> T;

    /// As [`Self::combine`], where neither is NaN; anything where one is.
    #[inline(always)]
    fn combine_ordered(one: T, other: T) -> T {
        Self::combine(one, other)
    }

    /// As [`Self::combine`], for elements of which each is combined alone: NaN is predicted not to come, where compilers
    /// would ask which element is larger by a branch that no processor foresees.
    #[inline(always)]
    fn combine_alone(one: T, other: T) -> T {
        if Self::is_unordered(one) || Self::is_unordered(other) {
            std::hint::cold_path();
            return Self::combine(one, other);
        }
        Self::combine_ordered(one, other)
    }

    /// Whether [`Self::combine_ordered`] may be wrong about an element.
    #[inline(always)]
    fn is_unordered(_: T) -> bool {
        false
    }

    /// As [`Self::combine`], in each lane. Compilers find the instruction for one combination by themselves; for sums, which
    /// they would rather take apart, it is named.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512; elements have 8 bytes, or, where it is an instruction, 4.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn combine_512(one: Lanes, other: Lanes) -> Lanes {
        // SAFETY: `T` has eight bytes (this function's condition), so that eight of them are as large as the lanes, and
        // any bits are an element of a number type.
        unsafe {
            let (mut one, other): ([T; 8], [T; 8]) = (transmute_copy(&one), transmute_copy(&other));
            for (one, &other) in one.iter_mut().zip(&other) {
                *one = Self::combine(*one, other);
            }
            transmute_copy(&one)
        }
    }
}

pub(super) struct Add;
pub(super) struct Multiply;
pub(super) struct Max;
pub(super) struct Min;
pub(super) struct And;
pub(super) struct Ior;
pub(super) struct Xor;

impl<T: Element> Combine<T> for Max {
    const IDENTITY: T = T::SMALLEST;
    #[inline(always)]
    fn combine(one: T, other: T) -> T {
        one.larger(other)
    }
    #[inline(always)]
    fn combine_ordered(one: T, other: T) -> T {
        one.larger_ordered(other)
    }
    #[inline(always)]
    fn is_unordered(x: T) -> bool {
        x.is_unordered()
    }
}

impl<T: Element> Combine<T> for Min {
    const IDENTITY: T = T::LARGEST;
    #[inline(always)]
    fn combine(one: T, other: T) -> T {
        one.smaller(other)
    }
    #[inline(always)]
    fn combine_ordered(one: T, other: T) -> T {
        one.smaller_ordered(other)
    }
    #[inline(always)]
    fn is_unordered(x: T) -> bool {
        x.is_unordered()
    }
}

/// What combines elements in registers by one instruction.
macro_rules! instruction {
    ($one:ident, $other:ident => $combined:expr) => {
        #[cfg(target_arch = "x86_64")]
        const IS_INSTRUCTION: bool = true;
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        unsafe fn combine_512($one: Lanes, $other: Lanes) -> Lanes {
            // SAFETY: the processor has AVX-512F (this function's condition).
            unsafe { $combined }
        }
    };
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Combine<$type> for Add {
            const IDENTITY: $type = 0;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one.wrapping_add(other) }
            instruction! { one, other => if size_of::<$type>() == 4 { x86_64::_mm512_add_epi32(one, other) } else { x86_64::_mm512_add_epi64(one, other) } }
        }
        impl Combine<$type> for Multiply {
            const IDENTITY: $type = 1;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one.wrapping_mul(other) }
        }
        impl Combine<$type> for And {
            const IDENTITY: $type = !0;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one & other }
            instruction! { one, other => x86_64::_mm512_and_si512(one, other) }
        }
        impl Combine<$type> for Ior {
            const IDENTITY: $type = 0;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one | other }
            instruction! { one, other => x86_64::_mm512_or_si512(one, other) }
        }
        impl Combine<$type> for Xor {
            const IDENTITY: $type = 0;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one ^ other }
            instruction! { one, other => x86_64::_mm512_xor_si512(one, other) }
        }
    )*};
}

integers! { i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Combine<$type> for Add {
            const IDENTITY: $type = 0.0;
            const ASSOCIATIVE: bool = false;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one + other }
            #[inline(always)]
            fn combine_times(held: $type, other: $type, times: u32) -> Option<$type> {
                if times == 0 {
                    return Some(held);
                }
                // Whole numbers below this have no more bits than a significand, so that no sum of them on the way is
                // rounded.
                const EXACT: $type = (1_u64 << <$type>::MANTISSA_DIGITS) as $type;
                let sent = times as $type * other;
                let is_exact = held.fract() == 0.0 && other.fract() == 0.0 && held.abs() + sent.abs() < EXACT;
                is_exact.then_some(held + sent)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn combine_512(one: Lanes, other: Lanes) -> Lanes {
                use std::arch::x86_64::{_mm512_add_pd, _mm512_castpd_si512, _mm512_castsi512_pd};
                debug_assert_eq!(size_of::<$type>(), 8);
                // SAFETY: the processor has AVX-512F (this function's condition); the casts change no bit.
                unsafe { _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(one), _mm512_castsi512_pd(other))) }
            }
        }
        impl Combine<$type> for Multiply {
            const IDENTITY: $type = 1.0;
            const ASSOCIATIVE: bool = false;
            #[inline(always)]
            fn combine(one: $type, other: $type) -> $type { one * other }
        }
    )*};
}

floats! { f32 f64 }

impl Combine<Bool8> for And {
    const IDENTITY: Bool8 = Bool8::LARGEST;
    #[inline(always)]
    fn combine(one: Bool8, other: Bool8) -> Bool8 {
        one.smaller(other)
    }
}

impl Combine<Bool8> for Ior {
    const IDENTITY: Bool8 = Bool8::SMALLEST;
    #[inline(always)]
    fn combine(one: Bool8, other: Bool8) -> Bool8 {
        one.larger(other)
    }
}

impl Combine<Bool8> for Xor {
    const IDENTITY: Bool8 = Bool8::SMALLEST;
    #[inline(always)]
    fn combine(one: Bool8, other: Bool8) -> Bool8 {
        Bool8::new(one.holds() != other.holds())
    }
}

/// Something to be done with elements of one type and one combination of them. The type may be the unsigned one of the
/// same size where that makes no difference to bits.
pub(super) trait Combining {
    type Output;
    fn run<T: Element, C: Combine<T>>(self) -> Self::Output;
}

/// Nothing.
struct Nothing;

impl Combining for Nothing {
    type Output = ();
    fn run<T: Element, C: Combine<T>>(self) {}
}

/// Whether the type has the combination, whatever is combined then.
pub(super) fn check_combination(kind: ElementType, combination: Combination) -> Result<(), PrimitiveError> {
    with_combination(kind, combination, Nothing)
}

/// Does it, or says why the type does not have the combination.
pub(super) fn with_combination<W: Combining>(
    kind: ElementType,
    combination: Combination,
    work: W,
) -> Result<W::Output, PrimitiveError> {
    use Combination as By;
    use ElementType as Of;
    let undefined = |instead| PrimitiveError::Undefined { operation: combination.name(), kind, instead };
    // Sums, products and bits are the same ones for both, so there is code for one of them only.
    macro_rules! integer {
        ($type:ident, $unsigned:ident) => {
            match combination {
                By::Add => work.run::<$unsigned, Add>(),
                By::Multiply => work.run::<$unsigned, Multiply>(),
                By::Max => work.run::<$type, Max>(),
                By::Min => work.run::<$type, Min>(),
                By::LogAnd => work.run::<$unsigned, And>(),
                By::LogIor => work.run::<$unsigned, Ior>(),
                By::LogXor => work.run::<$unsigned, Xor>(),
                By::And | By::Or => {
                    return Err(undefined("it combines booleans; compare with 0 first, or take logand or logior"));
                }
            }
        };
    }
    macro_rules! float {
        ($type:ident) => {
            match combination {
                By::Add => work.run::<$type, Add>(),
                By::Multiply => work.run::<$type, Multiply>(),
                By::Max => work.run::<$type, Max>(),
                By::Min => work.run::<$type, Min>(),
                By::LogAnd | By::LogIor | By::LogXor => {
                    return Err(undefined("it combines bits of integers and booleans"));
                }
                By::And | By::Or => return Err(undefined("it combines booleans; compare with 0 first")),
            }
        };
    }
    Ok(match kind {
        Of::Int8 => integer!(i8, u8),
        Of::Int16 => integer!(i16, u16),
        Of::Int32 => integer!(i32, u32),
        Of::Int64 => integer!(i64, u64),
        Of::Uint8 => integer!(u8, u8),
        Of::Uint16 => integer!(u16, u16),
        Of::Uint32 => integer!(u32, u32),
        Of::Uint64 => integer!(u64, u64),
        Of::Float32 => float!(f32),
        Of::Float64 => float!(f64),
        Of::Bool => match combination {
            By::Add => return Err(undefined("convert to an integer type to count, or take or")),
            By::Multiply => return Err(undefined("take and, which is what their product would be")),
            By::Max | By::Or | By::LogIor => work.run::<Bool8, Ior>(),
            By::Min | By::And | By::LogAnd => work.run::<Bool8, And>(),
            By::LogXor => work.run::<Bool8, Xor>(),
        },
    })
}
