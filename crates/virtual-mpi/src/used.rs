//! Memory of the program that calls use.
//!
//! What a pending request sends may be read, but not written; what it receives into may not be touched before it is
//! complete (MPI 4.1, sections 3.7.2 and 6.12).

use std::ffi::c_void;

use crate::datatype::Datatype;

/// Consecutive bytes of memory that a call reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    start: usize,
    end: usize,
    pub writes: bool,
    pub call: &'static str,
}

impl Used {
    /// The memory of so many elements, where it is in one piece.
    pub fn of(
        address: *const c_void,
        datatype: &Datatype,
        count: usize,
        writes: bool,
        call: &'static str,
    ) -> Option<Used> {
        let bytes = datatype.size.saturating_mul(count);
        if bytes == 0 || !(datatype.is_dense() || count == 1) {
            return None;
        }
        let start = address.addr().wrapping_add_signed(datatype.pieces.only()?.offset);
        Some(Used { start, end: start.saturating_add(bytes), writes, call })
    }

    /// Whether one of the two writes what the other uses.
    pub fn disturbs(&self, other: &Used) -> bool {
        (self.writes || other.writes) && self.start < other.end && other.start < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::predefined;

    fn ints(index: usize, count: usize, writes: bool) -> Option<Used> {
        let address = std::ptr::without_provenance::<c_void>(4096 + 4 * index);
        Used::of(address, &predefined()[&0x4c00_0405], count, writes, "MPI_Isend")
    }

    #[test]
    fn memory_that_overlaps_is_disturbed_if_one_call_writes() {
        let disturbs = |first: Option<Used>, second: Option<Used>| first.unwrap().disturbs(&second.unwrap());
        assert!(disturbs(ints(0, 4, true), ints(3, 1, false)));
        assert!(disturbs(ints(3, 1, false), ints(0, 4, true)));
        assert!(!disturbs(ints(0, 4, false), ints(3, 1, false)), "what is only read may be read twice");
        assert!(!disturbs(ints(0, 3, true), ints(3, 1, true)));
    }

    #[test]
    fn no_elements_and_elements_with_gaps_are_not_compared() {
        assert_eq!(ints(0, 0, true), None);
        let pair = &predefined()[&crate::datatype::DOUBLE_INT];
        assert_eq!(Used::of(std::ptr::null(), pair, 1, true, "MPI_Irecv"), None);
    }
}
