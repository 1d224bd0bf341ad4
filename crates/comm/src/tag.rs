//! What messages are matched by, besides their source.

use std::fmt;

/// The collective a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CollectiveKind {
    Barrier,
    Broadcast,
    Reduce,
    Allreduce,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Alltoallv,
    Scan,
    Split,
    Exscan,
    ReduceScatter,
    Gatherv,
    Scatterv,
    Allgatherv,
}

impl CollectiveKind {
    /// Every collective, in the order of their codes.
    pub const ALL: [CollectiveKind; 16] = [
        CollectiveKind::Barrier,
        CollectiveKind::Broadcast,
        CollectiveKind::Reduce,
        CollectiveKind::Allreduce,
        CollectiveKind::Gather,
        CollectiveKind::Scatter,
        CollectiveKind::Allgather,
        CollectiveKind::Alltoall,
        CollectiveKind::Alltoallv,
        CollectiveKind::Scan,
        CollectiveKind::Split,
        CollectiveKind::Exscan,
        CollectiveKind::ReduceScatter,
        CollectiveKind::Gatherv,
        CollectiveKind::Scatterv,
        CollectiveKind::Allgatherv,
    ];

    /// The name used in benchmarks, samples and errors.
    pub fn name(self) -> &'static str {
        match self {
            CollectiveKind::Barrier => "barrier",
            CollectiveKind::Broadcast => "broadcast",
            CollectiveKind::Reduce => "reduce",
            CollectiveKind::Allreduce => "allreduce",
            CollectiveKind::Gather => "gather",
            CollectiveKind::Scatter => "scatter",
            CollectiveKind::Allgather => "allgather",
            CollectiveKind::Alltoall => "alltoall",
            CollectiveKind::Alltoallv => "alltoallv",
            CollectiveKind::Scan => "scan",
            CollectiveKind::Split => "split",
            CollectiveKind::Exscan => "exscan",
            CollectiveKind::ReduceScatter => "reduce-scatter",
            CollectiveKind::Gatherv => "gatherv",
            CollectiveKind::Scatterv => "scatterv",
            CollectiveKind::Allgatherv => "allgatherv",
        }
    }
}

impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A message's tag: one chosen by the program, or the index of a message within the collectives of a communicator.
///
/// The two never match each other. Collective messages match by their *sequence number* alone, so that a backend can
/// see that two ranks meet in different collectives (the kinds differ) instead of losing the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tag {
    /// Chosen by the program, up to [`Tag::MAX_USER`].
    User(u32),
    /// Message of the `sequence`-th collective of the communicator.
    Collective { kind: CollectiveKind, sequence: u32 },
}

impl Tag {
    /// The largest tag a program may choose: every MPI library in use accepts it.
    pub const MAX_USER: u32 = (1 << 20) - 1;

    /// Whether a message with tag `other` may be received where this tag was asked for.
    pub fn matches(self, other: Tag) -> bool {
        match (self, other) {
            (Tag::User(a), Tag::User(b)) => a == b,
            (Tag::Collective { sequence: a, .. }, Tag::Collective { sequence: b, .. }) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::User(tag) => write!(f, "tag {tag}"),
            Tag::Collective { kind, sequence } => write!(f, "{kind} #{sequence}"),
        }
    }
}

/// Which tags a receive or a probe accepts.
///
/// # Examples
/// ```
/// use weft_comm::{CollectiveKind, Tag, TagSelector};
///
/// assert!(TagSelector::from(Tag::User(7)).accepts(Tag::User(7)));
/// assert!(!TagSelector::from(Tag::User(7)).accepts(Tag::User(8)));
/// // A wildcard never takes a message of a collective.
/// let barrier = Tag::Collective { kind: CollectiveKind::Barrier, sequence: 3 };
/// assert!(TagSelector::AnyUser.accepts(Tag::User(8)) && !TagSelector::AnyUser.accepts(barrier));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagSelector {
    /// Only this one.
    Only(Tag),
    /// Any tag chosen by a program; never a collective's.
    AnyUser,
}

impl TagSelector {
    /// Whether a message with `tag` is accepted.
    pub fn accepts(self, tag: Tag) -> bool {
        match self {
            TagSelector::Only(wanted) => wanted.matches(tag),
            TagSelector::AnyUser => matches!(tag, Tag::User(_)),
        }
    }
}

impl From<Tag> for TagSelector {
    fn from(tag: Tag) -> TagSelector {
        TagSelector::Only(tag)
    }
}

impl fmt::Display for TagSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TagSelector::Only(tag) => tag.fmt(f),
            TagSelector::AnyUser => f.write_str("any tag"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_match_by_sequence_and_never_with_programs_tags() {
        let barrier = Tag::Collective { kind: CollectiveKind::Barrier, sequence: 3 };
        let scan = Tag::Collective { kind: CollectiveKind::Scan, sequence: 3 };
        assert!(barrier.matches(scan));
        assert!(!barrier.matches(Tag::User(3)));
        assert!(!TagSelector::AnyUser.accepts(barrier));
        assert!(TagSelector::AnyUser.accepts(Tag::User(9)));
    }
}
