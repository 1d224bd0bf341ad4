//! Accesses of a rank's part of a window that may not be complete, and those that conflict with them.
//!
//! Two accesses of one location conflict if one of them writes and neither is complete before the other begins, except for
//! accumulates by one operation (MPI 4.1, sections 12.7 and 12.2.1). What is certain is reported: an access counts as
//! complete as soon as it may be.

use serde::{Deserialize, Serialize};

use crate::abi::Op;
use crate::memory::Elements;
use crate::operation::{self, NO_OP, REPLACE};

/// Where an access comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Rank of the run.
    pub rank: u32,
    /// How many accesses of the window that rank has started before.
    pub number: u32,
    /// The number of the fence that began the epoch, in one of fences.
    pub fence: Option<u32>,
    /// Its program has no request of the access by itself, which may be complete without another call for the window.
    pub is_compared: bool,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Put,
    Get,
    Accumulate(Op),
    CompareAndSwap,
}

impl Sort {
    fn conflicts(self, other: Sort, is_same_origin: bool) -> bool {
        use Sort::*;
        match (self, other) {
            (Get, Get | Accumulate(NO_OP)) | (Accumulate(NO_OP), Get) => false,
            // Accumulates of one origin are done in their order.
            (Accumulate(_) | CompareAndSwap, Accumulate(_) | CompareAndSwap) if is_same_origin => false,
            // By `accumulate_ops` concurrent accumulates have one operation, beside reads. Programs that exchange values
            // beside others that add or compare are common, and libraries allow them.
            (Accumulate(NO_OP | REPLACE), Accumulate(_)) | (Accumulate(_), Accumulate(NO_OP | REPLACE)) => false,
            (Accumulate(mine), Accumulate(theirs)) => mine != theirs,
            (CompareAndSwap, Accumulate(_) | CompareAndSwap) | (Accumulate(_), CompareAndSwap) => false,
            _ => true,
        }
    }

    fn name(self) -> String {
        match self {
            Sort::Put => "MPI_Put".to_owned(),
            Sort::Get => "MPI_Get".to_owned(),
            Sort::Accumulate(op) => format!("MPI_Accumulate with {}", operation::name(op)),
            Sort::CompareAndSwap => "MPI_Compare_and_swap".to_owned(),
        }
    }
}

/// Bytes of memory, from an address to behind the last.
type Range = (usize, usize);

/// An access that may not be complete.
#[derive(Debug)]
struct Open {
    origin: Origin,
    sort: Sort,
    /// It brings data back, and is complete when they have come.
    returns_data: bool,
    ranges: Vec<Range>,
}

/// So many accesses are compared with a new one; older ones are forgotten.
const COMPARED: usize = 64;

/// An access to more pieces of memory is not compared.
const MAX_RANGES: usize = 16;

/// Accesses of one rank's part of a window.
#[derive(Debug, Default)]
pub struct Accesses(Vec<Open>);

impl Accesses {
    /// An access has come to its target, rank `target` of the run; what is to be said where it conflicts with another.
    pub fn note(
        &mut self,
        target: u32,
        origin: Origin,
        (sort, returns_data): (Sort, bool),
        elements: &Elements,
    ) -> Option<String> {
        let ranges = ranges_of(elements)?;
        self.0.retain(|other| other.origin.fence.is_none() || other.origin.fence == origin.fence);
        let conflict = self.0.iter().find(|other| {
            let is_same_origin = other.origin.rank == origin.rank;
            other.origin.fence == origin.fence
                && other.sort.conflicts(sort, is_same_origin)
                && overlap(&other.ranges, &ranges)
        });
        let remark = conflict.map(|other| {
            let (first, second) = (other.sort.name(), sort.name());
            format!(
                "{first} of rank {} and {second} of rank {} to memory of rank {target}",
                other.origin.rank, origin.rank
            )
        });
        if self.0.len() == COMPARED {
            self.0.remove(0);
        }
        self.0.push(Open { origin, sort, returns_data, ranges });
        remark
    }

    /// The accesses of a rank before number `until` are complete; only those that bring data back unless `all`.
    pub fn complete(&mut self, rank: u32, until: u32, all: bool) {
        self.0.retain(|one| {
            let is_complete = one.origin.rank == rank
                && one.origin.number < until
                && one.origin.fence.is_none()
                && (all || one.returns_data);
            !is_complete
        });
    }
}

/// The memory of elements, unless it is in many pieces.
fn ranges_of(elements: &Elements) -> Option<Vec<Range>> {
    let Elements { address, count, datatype, .. } = elements;
    let pieces = if datatype.is_dense() { datatype.runs.len() } else { datatype.runs.len().saturating_mul(*count) };
    if pieces > MAX_RANGES {
        return None;
    }
    let mut ranges = Vec::with_capacity(pieces);
    datatype.each_run(*count, |offset, run| {
        let start = address.wrapping_add_signed(offset);
        ranges.push((start, start + run.bytes()));
    });
    Some(ranges)
}

fn overlap(first: &[Range], second: &[Range]) -> bool {
    first.iter().any(|one| second.iter().any(|other| one.0 < other.1 && other.0 < one.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::predefined;
    use crate::operation::{MAX, SUM};

    fn int(index: usize) -> Elements {
        let datatype = predefined()[&0x4c00_0405].clone();
        Elements { address: 4096 + 4 * index, count: 1, unit: datatype.clone(), datatype }
    }

    fn from(rank: u32, number: u32) -> Origin {
        Origin { rank, number, fence: None, is_compared: true }
    }

    const PUT: (Sort, bool) = (Sort::Put, false);
    const GET: (Sort, bool) = (Sort::Get, true);

    fn by(op: Op) -> (Sort, bool) {
        (Sort::Accumulate(op), false)
    }

    #[test]
    fn accesses_of_one_location_conflict_unless_none_writes() {
        let mut accesses = Accesses::default();
        assert_eq!(accesses.note(1, from(0, 0), GET, &int(0)), None);
        assert_eq!(accesses.note(1, from(2, 0), GET, &int(0)), None);
        assert_eq!(accesses.note(1, from(2, 1), PUT, &int(1)), None);
        let said = accesses.note(1, from(3, 0), PUT, &int(0));
        assert_eq!(said.as_deref(), Some("MPI_Get of rank 0 and MPI_Put of rank 3 to memory of rank 1"));
    }

    #[test]
    fn accumulates_by_one_operation_do_not_conflict() {
        let mut accesses = Accesses::default();
        for (rank, op) in [SUM, SUM, NO_OP, REPLACE].into_iter().enumerate() {
            assert_eq!(accesses.note(9, from(rank as u32, 0), by(op), &int(0)), None);
        }
        assert_eq!(accesses.note(9, from(0, 1), by(SUM), &int(0)), None);
        let said = accesses.note(9, from(4, 0), by(MAX), &int(0));
        let expected =
            "MPI_Accumulate with MPI_SUM of rank 0 and MPI_Accumulate with MPI_MAX of rank 4 to memory of rank 9";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn what_is_complete_conflicts_with_nothing() {
        let mut accesses = Accesses::default();
        accesses.note(1, from(0, 0), PUT, &int(0));
        accesses.note(1, from(0, 1), GET, &int(1));
        accesses.complete(0, 2, false);
        assert_eq!(accesses.note(1, from(2, 0), PUT, &int(1)), None, "the data of the get have come");
        assert!(accesses.note(1, from(2, 1), PUT, &int(0)).is_some());
        accesses.complete(0, 1, true);
        accesses.complete(2, 2, true);
        assert_eq!(accesses.note(1, from(3, 0), PUT, &int(0)), None);
    }

    #[test]
    fn accesses_between_two_fences_conflict_until_the_second() {
        let between = |rank, number, fence| Origin { rank, number, fence: Some(fence), is_compared: true };
        let mut accesses = Accesses::default();
        assert_eq!(accesses.note(1, between(0, 0, 1), PUT, &int(0)), None);
        accesses.complete(0, 1, true);
        assert!(accesses.note(1, between(2, 0, 1), PUT, &int(0)).is_some());
        assert_eq!(accesses.note(1, between(3, 0, 2), PUT, &int(0)), None);
    }
}
