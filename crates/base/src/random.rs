//! Seeded random numbers: one generator for the whole of weft, so that a seed means the same everywhere.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// A generator for one stream of one seed.
///
/// Streams (a rank, say) of the same seed are independent: the pair is mixed by SplitMix64 inside `seed_from_u64`
/// after a multiplication that separates neighbouring streams.
///
/// # Examples
/// ```
/// use rand_xoshiro::rand_core::Rng;
/// use weft_base::generator;
///
/// // A seed and a stream, such as a rank, always give the same numbers; another stream gives others.
/// assert_eq!(generator(1, 0).next_u64(), generator(1, 0).next_u64());
/// assert_ne!(generator(1, 0).next_u64(), generator(1, 1).next_u64());
/// ```
pub fn generator(seed: u64, stream: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::Rng;

    #[test]
    fn streams_differ_and_repeat() {
        assert_eq!(generator(1, 0).next_u64(), generator(1, 0).next_u64());
        assert_ne!(generator(1, 0).next_u64(), generator(1, 1).next_u64());
        assert_ne!(generator(1, 0).next_u64(), generator(2, 0).next_u64());
    }
}
