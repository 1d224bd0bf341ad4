//! The binary reflected Gray code: consecutive numbers differ in one bit, so they are neighbours on a hypercube.

/// The Gray code of `rank`.
pub fn encode(rank: usize) -> usize {
    rank ^ (rank >> 1)
}

/// The rank whose Gray code is `code`: the inverse of [`encode`].
pub fn decode(code: usize) -> usize {
    let mut rank = code;
    let mut shift = 1;
    while shift < usize::BITS {
        rank ^= rank >> shift;
        shift <<= 1;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decode_inverts_encode(rank: usize) {
            prop_assert_eq!(decode(encode(rank)), rank);
            prop_assert_eq!(encode(decode(rank)), rank);
        }

        #[test]
        fn consecutive_codes_differ_in_one_bit(rank in 0..usize::MAX) {
            prop_assert_eq!((encode(rank) ^ encode(rank + 1)).count_ones(), 1);
        }

        #[test]
        fn the_code_of_a_power_of_two_is_a_ring(bits in 1u32..60) {
            prop_assert_eq!(encode((1 << bits) - 1).count_ones(), 1);
        }
    }
}
