//! Accesses of a rank's part of a window that may not be complete, and those that conflict with them.
//!
//! Two accesses of one location conflict if one of them writes and neither is complete before the other begins, except for
//! accumulates by one operation (MPI 4.1, sections 12.7 and 12.2.1). What is certain is reported: an access counts as
//! complete as soon as it may be.
//!
//! Shared locks order nothing: an access under one that is complete is ordered before another only if the other's program
//! can have learnt so. It cannot where it has heard nothing of others since, which virtual time tells: what one rank
//! learns of another takes no negative time.

use serde::{Deserialize, Serialize};
use weft_base::Picos;

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
    /// A time by its rank's clock before it was started.
    pub at: Picos,
    /// Under a lock that others may have at the same time.
    pub is_shared: bool,
    /// When its program has last heard of others.
    pub heard: Picos,
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
    /// Complete since then, under a shared lock.
    complete_since: Option<Picos>,
}

impl Open {
    /// Whether it is certain that this access is not complete before a later one begins.
    fn is_beside(&self, later: Origin) -> bool {
        match self.complete_since {
            None => self.origin.fence == later.fence,
            Some(since) => self.origin.rank != later.rank && later.is_shared && later.heard < since,
        }
    }
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
            other.is_beside(origin) && other.sort.conflicts(sort, is_same_origin) && overlap(&other.ranges, &ranges)
        });
        let remark = conflict.map(|other| {
            let (first, second) = (other.sort.name(), sort.name());
            format!(
                "{first} of rank {} and {second} of rank {} to memory of rank {target}",
                other.origin.rank, origin.rank
            )
        });
        if self.0.len() == COMPARED {
            let complete = self.0.iter().position(|one| one.complete_since.is_some());
            self.0.remove(complete.unwrap_or(0));
        }
        self.0.push(Open { origin, sort, returns_data, ranges, complete_since: None });
        remark
    }

    /// Accesses of a rank are complete.
    pub fn complete(&mut self, rank: u32, completion: Completion) {
        self.0.retain_mut(|one| {
            let is_complete = one.origin.rank == rank
                && one.origin.number < completion.until
                && one.origin.fence.is_none()
                && one.complete_since.is_none()
                && (completion.all || one.returns_data);
            if is_complete {
                one.complete_since = completion.unordered;
            }
            !is_complete || one.complete_since.is_some()
        });
    }

    /// An exclusive lock comes after all that is complete, and before all that begins.
    pub fn order(&mut self) {
        self.0.retain(|one| one.complete_since.is_none());
    }
}

/// What a call completes of a rank's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Accesses before this number.
    pub until: u32,
    /// Those that bring no data back, too.
    pub all: bool,
    /// Under a shared lock, a time by the rank's clock at which they were not known to be complete.
    pub unordered: Option<Picos>,
}

/// The memory of elements, unless it is in many pieces.
fn ranges_of(elements: &Elements) -> Option<Vec<Range>> {
    let Elements { address, count, datatype, .. } = elements;
    let pieces = datatype.pieces.len().saturating_mul(if datatype.is_dense() { 1 } else { *count });
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
        Origin { rank, number, fence: None, is_compared: true, at: Picos(0), is_shared: false, heard: Picos(0) }
    }

    fn by_call(until: u32, all: bool) -> Completion {
        Completion { until, all, unordered: None }
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
        accesses.complete(0, by_call(2, false));
        assert_eq!(accesses.note(1, from(2, 0), PUT, &int(1)), None, "the data of the get have come");
        assert!(accesses.note(1, from(2, 1), PUT, &int(0)).is_some());
        accesses.complete(0, by_call(1, true));
        accesses.complete(2, by_call(2, true));
        assert_eq!(accesses.note(1, from(3, 0), PUT, &int(0)), None);
    }

    #[test]
    fn accesses_between_two_fences_conflict_until_the_second() {
        let between = |rank, number, fence| Origin { fence: Some(fence), ..from(rank, number) };
        let mut accesses = Accesses::default();
        assert_eq!(accesses.note(1, between(0, 0, 1), PUT, &int(0)), None);
        accesses.complete(0, by_call(1, true));
        assert!(accesses.note(1, between(2, 0, 1), PUT, &int(0)).is_some());
        assert_eq!(accesses.note(1, between(3, 0, 2), PUT, &int(0)), None);
    }

    #[test]
    fn shared_locks_order_nothing_where_a_program_has_heard_nothing() {
        let under_lock = |rank, heard| Origin { is_shared: true, heard: Picos(heard), ..from(rank, 0) };
        let put = || {
            let mut accesses = Accesses::default();
            assert_eq!(accesses.note(9, under_lock(0, 5), PUT, &int(0)), None);
            accesses.complete(0, Completion { unordered: Some(Picos(20)), ..by_call(1, true) });
            accesses
        };
        assert!(put().note(9, under_lock(1, 19), PUT, &int(0)).is_some());
        assert_eq!(put().note(9, under_lock(1, 19), PUT, &int(1)), None, "other memory");
        assert_eq!(
            put().note(9, under_lock(1, 20), PUT, &int(0)),
            None,
            "it may have heard that the first is complete"
        );
        assert_eq!(put().note(9, under_lock(0, 0), PUT, &int(0)), None, "a rank knows what it has done itself");
        assert_eq!(put().note(9, from(1, 0), PUT, &int(0)), None, "alone, or in an epoch of another kind");
        let mut accesses = put();
        accesses.order();
        assert_eq!(accesses.note(9, under_lock(1, 0), PUT, &int(0)), None, "an exclusive lock was between them");
    }
}
