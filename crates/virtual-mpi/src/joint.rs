//! Collective calls as ranks make them, compared with each other.
//!
//! The ranks of a communicator number their collective calls. The first rank that makes the call with some number says
//! what it is; the others are compared with it when they come, whether or not their messages meet.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use weft_comm::ElementKinds;

use crate::datatype;
use crate::operation;

/// A collective call, as far as ranks must agree on it (MPI 4.1, section 6.1). What is missing is not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    root: Option<u32>,
    operation: Option<Combined>,
    /// Bits of the kinds of elements.
    kinds: u32,
    /// What each rank gives or gets, in bytes.
    bytes: Option<u64>,
}

/// What combines the vectors of a reduction: one of the standard's operations, by its handle, or one of the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Combined {
    Predefined(i32),
    User,
}

impl Described {
    pub fn with_root(self, root: usize) -> Described {
        Described { root: Some(root as u32), ..self }
    }

    pub fn with_operation(self, operation: Combined) -> Described {
        Described { operation: Some(operation), ..self }
    }

    /// With elements whose number all ranks agree on.
    pub fn with_elements(self, kinds: ElementKinds, bytes: usize) -> Described {
        let kinds = if bytes > 0 { kinds.bits() } else { 0 };
        Described { kinds, bytes: Some(bytes as u64), ..self }
    }

    /// With elements that may be more or fewer on other ranks: compared where all are of one kind.
    pub fn with_kinds(self, kinds: ElementKinds, bytes: usize) -> Described {
        let is_one = bytes > 0 && kinds.bits().count_ones() == 1;
        Described { kinds: if is_one { kinds.bits() } else { 0 }, ..self }
    }

    fn kinds(&self) -> ElementKinds {
        ElementKinds::of(self.kinds)
    }

    /// How two differ, as both ranks see it.
    pub fn difference(&self, other: &Described) -> Option<(String, String)> {
        if let (Some(mine), Some(theirs)) = (self.root, other.root)
            && mine != theirs
        {
            return Some((format!("root {mine}"), format!("root {theirs}")));
        }
        if let (Some(mine), Some(theirs)) = (self.operation, other.operation)
            && mine != theirs
        {
            return Some((mine.name(), theirs.name()));
        }
        let are_equal = self.bytes.is_some();
        if !self.kinds().agree_with(other.kinds(), are_equal) {
            return Some((datatype::names(self.kinds()), datatype::names(other.kinds())));
        }
        if let (Some(mine), Some(theirs)) = (self.bytes, other.bytes)
            && mine != theirs
        {
            return Some((format!("{mine} bytes"), format!("{theirs} bytes")));
        }
        None
    }
}

impl Combined {
    fn name(self) -> String {
        match self {
            Combined::Predefined(op) => operation::name(op).to_owned(),
            Combined::User => "an operation of the program's own".to_owned(),
        }
    }
}

/// Which call of which ranks: the context of their communicator, its first rank in the run, and its number.
pub type Key = (u32, u32, u32);

/// A call that some ranks have made and others have not.
struct Open {
    rank: u32,
    call: Cow<'static, str>,
    described: Described,
    missing: u32,
    is_reported: bool,
}

/// Collective calls under way.
#[derive(Default)]
pub struct Ledger(FxHashMap<Key, Open>);

impl Ledger {
    /// A rank makes a call that so many ranks make; what is to be said where it is none that another rank has made.
    pub fn note(
        &mut self,
        (rank, size): (u32, u32),
        key: Key,
        call: Cow<'static, str>,
        described: Described,
    ) -> Option<String> {
        let Some(open) = self.0.get_mut(&key) else {
            self.0.insert(key, Open { rank, call, described, missing: size - 1, is_reported: false });
            return None;
        };
        open.missing -= 1;
        let remark = if open.is_reported { None } else { open.compare(rank, &call, &described) };
        open.is_reported |= remark.is_some();
        if open.missing == 0 {
            self.0.remove(&key);
        }
        remark
    }
}

/// Calls with large counts are the same calls.
pub fn plain(call: &str) -> &str {
    call.strip_suffix("_c").unwrap_or(call)
}

impl Open {
    fn compare(&self, rank: u32, call: &str, described: &Described) -> Option<String> {
        let (first, second) = (plain(&self.call), plain(call));
        if first != second {
            return Some(format!("{first} of rank {} and {second} of rank {rank}", self.rank));
        }
        let (theirs, mine) = self.described.difference(described)?;
        Some(format!("{first} with {theirs} on rank {} and with {mine} on rank {rank}", self.rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: ElementKinds = ElementKinds::of(2);
    const FLOAT: ElementKinds = ElementKinds::of(16);

    fn compared(first: (&'static str, Described), second: (&'static str, Described)) -> Option<String> {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.note((3, 2), (0, 0, 0), first.0.into(), first.1), None);
        let remark = ledger.note((5, 2), (0, 0, 0), second.0.into(), second.1);
        assert!(ledger.0.is_empty());
        remark
    }

    #[test]
    fn calls_of_ranks_are_compared() {
        let plain = Described::default();
        assert_eq!(compared(("MPI_Bcast", plain), ("MPI_Bcast_c", plain)), None);
        let calls = compared(("MPI_Barrier", plain), ("MPI_Ibarrier", plain));
        assert_eq!(calls.as_deref(), Some("MPI_Barrier of rank 3 and MPI_Ibarrier of rank 5"));
        let roots = compared(("MPI_Bcast", plain.with_root(0)), ("MPI_Bcast", plain.with_root(1)));
        assert_eq!(roots.as_deref(), Some("MPI_Bcast with root 0 on rank 3 and with root 1 on rank 5"));
        let by = |op| ("MPI_Reduce", Described { operation: Some(op), ..plain });
        let operations = compared(by(Combined::Predefined(operation::SUM)), by(Combined::Predefined(operation::MAX)));
        assert_eq!(operations.as_deref(), Some("MPI_Reduce with MPI_SUM on rank 3 and with MPI_MAX on rank 5"));
    }

    #[test]
    fn elements_of_ranks_are_compared_where_they_are_known() {
        let of = |kinds, bytes| ("MPI_Bcast", Described::default().with_elements(kinds, bytes));
        let kinds = compared(of(INT, 8), of(FLOAT, 8));
        assert_eq!(kinds.as_deref(), Some("MPI_Bcast with MPI_INT on rank 3 and with MPI_FLOAT on rank 5"));
        let lengths = compared(of(INT, 8), of(INT, 4));
        assert_eq!(lengths.as_deref(), Some("MPI_Bcast with 8 bytes on rank 3 and with 4 bytes on rank 5"));
        assert_eq!(compared(of(INT, 8), of(ElementKinds::UNKNOWN, 8)), None, "bytes match all elements");
        assert_eq!(compared(of(INT, 0), of(FLOAT, 0)), None, "no elements match no elements");
        assert_eq!(compared(of(INT, 8), ("MPI_Bcast", Described::default())), None);
    }

    #[test]
    fn one_difference_of_a_call_is_reported() {
        let mut ledger = Ledger::default();
        let mut note = |rank, call: &'static str| ledger.note((rank, 4), (0, 0, 0), call.into(), Described::default());
        let reported = [note(0, "MPI_Barrier"), note(1, "MPI_Bcast"), note(2, "MPI_Bcast")].map(|said| said.is_some());
        assert_eq!(reported, [false, true, false]);
    }
}
