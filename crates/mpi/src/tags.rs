//! weft's tags as MPI's.
//!
//! Tags that programs choose go unchanged through one communicator; those of collectives go through a second one, as
//! `16 * (sequence number modulo as many as fit) + kind`. A receive within a collective from one rank accepts any tag of
//! that second communicator: MPI delivers the messages of one rank in order, so what comes is the message of this
//! collective, or else the two ranks are in different collectives, which shows in the tag.

use std::ffi::c_int;

use weft_comm::{CollectiveKind, CommError, Failure, Tag};

/// Room for the kind of a collective within a tag.
const KINDS: u32 = 16;
const _: () = assert!(CollectiveKind::ALL.len() <= KINDS as usize);

/// The tags that an MPI library can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagMap {
    /// The largest tag of the library.
    largest: u32,
    /// Sequence numbers are counted modulo this.
    sequences: u32,
}

impl TagMap {
    /// For a library whose largest tag is `upper_bound` (MPI promises at least 32767).
    pub fn new(upper_bound: c_int) -> TagMap {
        let largest = u32::try_from(upper_bound).unwrap_or(0);
        TagMap { largest, sequences: ((largest - largest % KINDS) / KINDS).max(1) }
    }

    /// A program's tag.
    ///
    /// # Errors
    /// [`Failure::TagTooLarge`] beyond [`Tag::MAX_USER`]; [`Failure::Library`] where only this library is at fault.
    #[inline]
    pub fn user(&self, tag: u32, rank: usize) -> Result<c_int, CommError> {
        if tag > Tag::MAX_USER.min(self.largest) {
            return Err(self.too_large(tag, rank));
        }
        Ok(tag as c_int)
    }

    #[cold]
    fn too_large(&self, tag: u32, rank: usize) -> CommError {
        if tag > Tag::MAX_USER {
            return Failure::TagTooLarge { rank, tag }.into();
        }
        let message = format!("the largest tag of this MPI library is {}", self.largest);
        Failure::Library { rank, call: format!("a message with tag {tag}"), message }.into()
    }

    /// The tag of a message of a collective.
    #[inline]
    pub fn collective(&self, kind: CollectiveKind, sequence: u32) -> c_int {
        (sequence % self.sequences * KINDS + kind as u32) as c_int
    }

    /// The collective of a tag; of the sequence numbers it may stand for, the one nearest to `near`.
    pub fn collective_of(&self, tag: c_int, near: u32) -> Option<(CollectiveKind, u32)> {
        let tag = u32::try_from(tag).ok()?;
        let kind = *CollectiveKind::ALL.get((tag % KINDS) as usize)?;
        let modulus = i64::from(self.sequences);
        let ahead = (i64::from(tag / KINDS) - i64::from(near)).rem_euclid(modulus);
        let distance = if ahead > modulus / 2 { ahead - modulus } else { ahead };
        Some((kind, near.wrapping_add_signed(distance as i32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_collective_of_a_tag_is_found_again(
            bound in 32767..=c_int::MAX, kind in 0..CollectiveKind::ALL.len(), sequence in 0..u32::MAX, off in -1000i32..1000,
        ) {
            let map = TagMap::new(bound);
            let kind = CollectiveKind::ALL[kind];
            let tag = map.collective(kind, sequence);
            prop_assert!(tag >= 0 && tag <= bound);
            let near = sequence.saturating_add_signed(off);
            prop_assert_eq!(map.collective_of(tag, near), Some((kind, sequence)));
        }

        #[test]
        fn any_tag_may_come(tag in any::<c_int>(), near in any::<u32>()) {
            TagMap::new(32767).collective_of(tag, near);
        }
    }

    #[test]
    fn a_tag_that_is_too_large_is_refused_with_its_bound() {
        let map = TagMap::new(32767);
        assert_eq!(map.user(5, 0), Ok(5));
        assert_eq!(map.user(1 << 20, 3), Err(Failure::TagTooLarge { rank: 3, tag: 1 << 20 }.into()));
        let text = map.user(40_000, 3).unwrap_err().to_string();
        assert_eq!(text, "rank 3: a message with tag 40000 failed: the largest tag of this MPI library is 32767");
    }
}
