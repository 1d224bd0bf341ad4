//! What can go wrong in a run, and what each rank was doing then.

use std::fmt;

use crate::message::Source;
use crate::tag::{CollectiveKind, TagSelector};

/// A call that may block, as errors and traces show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Waiting for a send to complete.
    Send { to: usize, tag: crate::Tag, bytes: usize },
    /// Waiting for a receive to complete.
    Receive { from: Source, tag: TagSelector },
    /// Waiting for a message to arrive, without receiving it.
    Probe { from: Source, tag: TagSelector },
    /// Inside a library's own collective.
    Native { kind: CollectiveKind },
    /// In a planned exchange, in which `there` of `ranks` ranks take part so far.
    Exchange { there: usize, ranks: usize },
    /// Awaiting something no backend knows: a program's own future that nothing can wake.
    Unknown,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Send { to, tag, bytes } => write!(f, "send of {bytes} bytes to rank {to}, {tag}"),
            Call::Receive { from, tag } => write!(f, "receive from {from}, {tag}"),
            Call::Probe { from, tag } => write!(f, "probe of {from}, {tag}"),
            Call::Native { kind } => write!(f, "{kind} of the MPI library"),
            Call::Exchange { there, ranks } => {
                write!(f, "planned exchange, in which {there} of {ranks} ranks take part so far")
            }
            Call::Unknown => f.write_str("a future that no message can wake"),
        }
    }
}

/// One rank that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The rank, in the numbering of the whole run.
    pub rank: usize,
    /// The call it is blocked in; ranks within it are those of the communicator the call was made on.
    pub call: Call,
    /// The collective the call is a part of and its sequence number, if it is.
    pub collective: Option<(CollectiveKind, u32)>,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.collective {
            Some((kind, sequence)) => write!(f, "rank {}: {kind} #{sequence}, in {}", self.rank, self.call),
            None => write!(f, "rank {}: {}", self.rank, self.call),
        }
    }
}

/// A call that failed; the rank that made it gets this as the call's result.
///
/// One word, because every call of a timed loop returns memory for it: results that are large are moved through memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct CommError(Box<Failure>);

impl CommError {
    /// The program of `rank` gives up: [`Failure::Program`].
    #[cold]
    pub fn program(rank: usize, message: impl Into<String>) -> CommError {
        Failure::Program { rank, message: message.into() }.into()
    }

    /// What went wrong.
    pub fn failure(&self) -> &Failure {
        &self.0
    }

    /// What went wrong, for whoever needs its parts.
    pub fn into_failure(self) -> Failure {
        *self.0
    }
}

impl From<Failure> for CommError {
    #[cold]
    fn from(failure: Failure) -> CommError {
        CommError(Box::new(failure))
    }
}

/// What went wrong in a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A message is longer than the buffer of the receive it matched.
    #[error(
        "truncation: rank {rank} posted a receive of {capacity} bytes for {tag} from rank {source_rank}, which sent {sent} bytes"
    )]
    Truncated { rank: usize, source_rank: usize, tag: crate::Tag, sent: usize, capacity: usize },
    /// Two ranks met in different collectives.
    #[error(
        "mismatched collective: rank {rank} is in {here} where rank {other} is in {there} (collective #{sequence} of their communicator)"
    )]
    MismatchedCollective { rank: usize, here: CollectiveKind, other: usize, there: CollectiveKind, sequence: u32 },
    /// Ranks of one collective disagree about an argument.
    #[error("mismatched collective: {kind} on rank {rank}: {what}")]
    MismatchedArguments { rank: usize, kind: CollectiveKind, what: String },
    /// A peer outside the communicator.
    #[error("rank {rank} names rank {peer}, but the communicator has ranks 0 to {last}")]
    NoSuchRank { rank: usize, peer: usize, last: usize },
    /// A tag a program may not choose.
    #[error("rank {rank} uses tag {tag}; the largest tag a program may use is {max}", max = crate::Tag::MAX_USER)]
    TagTooLarge { rank: usize, tag: u32 },
    /// The run was ended by the failure of another rank or by the backend.
    #[error("the run was ended while rank {rank} was in a call: {why}")]
    Aborted { rank: usize, why: String },
    /// The MPI library reported an error.
    #[error("rank {rank}: {call} failed: {message}")]
    Library { rank: usize, call: String, message: String },
    /// A file could not be opened, read, written or removed.
    #[error("rank {rank}: cannot {operation} the file {path}: {message}")]
    File { rank: usize, operation: String, path: String, message: String },
    /// The program itself gives up.
    #[error("rank {rank}: {message}")]
    Program { rank: usize, message: String },
}

/// Why a run ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Every rank that has not finished waits for another.
    #[error("deadlock: {} of {ranks} ranks cannot go on\n{}", blocked.len(), list(blocked))]
    Deadlock { ranks: usize, blocked: Vec<Blocked> },
    /// As a deadlock, and the blocked ranks are in different collectives.
    #[error("mismatched collective: the ranks wait for each other in different collectives\n{}", list(blocked))]
    MismatchedCollective { blocked: Vec<Blocked> },
    /// A rank's program returned an error.
    #[error("{0}")]
    Failed(CommError),
    /// A rank's program panicked.
    #[error("rank {rank} panicked: {message}")]
    Panicked { rank: usize, message: String },
    /// The run cannot start.
    #[error("{0}")]
    Setup(String),
    /// Somebody wanted it to end (Ctrl-C).
    #[error("the run was interrupted")]
    Interrupted,
    /// It takes more memory than there is.
    #[error(transparent)]
    Memory(#[from] weft_base::memory::MemoryError),
}

impl RunError {
    /// The error for ranks that wait for each other: a mismatched collective where the collectives they are in differ,
    /// a deadlock otherwise.
    pub fn of_blocked(ranks: usize, mut blocked: Vec<Blocked>) -> RunError {
        blocked.sort_by_key(|blocked| blocked.rank);
        let mut collectives: Vec<_> = blocked.iter().map(|blocked| blocked.collective).collect();
        collectives.dedup();
        let all_in_collectives = collectives.iter().all(Option::is_some);
        if all_in_collectives && collectives.len() > 1 {
            RunError::MismatchedCollective { blocked }
        } else {
            RunError::Deadlock { ranks, blocked }
        }
    }
}

impl From<CommError> for RunError {
    fn from(error: CommError) -> RunError {
        RunError::Failed(error)
    }
}

/// At most this many blocked ranks are listed; the rest are counted.
const LISTED: usize = 32;

fn list(blocked: &[Blocked]) -> String {
    let mut lines: Vec<String> = blocked.iter().take(LISTED).map(|blocked| format!("  {blocked}")).collect();
    if blocked.len() > LISTED {
        lines.push(format!("  and {} more", blocked.len() - LISTED));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tag;

    fn receive(rank: usize, from: usize, collective: Option<(CollectiveKind, u32)>) -> Blocked {
        let call = Call::Receive { from: Source::Rank(from), tag: TagSelector::Only(Tag::User(4)) };
        Blocked { rank, call, collective }
    }

    #[test]
    fn a_call_that_failed_is_one_word_and_keeps_all_that_went_wrong() {
        assert_eq!(size_of::<Result<(), CommError>>(), size_of::<usize>());
        let error = CommError::program(3, "no pivot");
        assert_eq!(error.to_string(), "rank 3: no pivot");
        assert_eq!(error.failure(), &Failure::Program { rank: 3, message: "no pivot".to_owned() });
        assert_eq!(CommError::from(error.clone().into_failure()), error);
    }

    #[test]
    fn a_deadlock_lists_each_blocked_rank_and_its_call() {
        let error = RunError::of_blocked(3, vec![receive(1, 0, None), receive(0, 1, None)]);
        assert_eq!(
            error.to_string(),
            "deadlock: 2 of 3 ranks cannot go on\n  rank 0: receive from rank 1, tag 4\n  rank 1: receive from rank 0, tag 4"
        );
    }

    #[test]
    fn different_collectives_are_a_mismatch() {
        let barrier = Some((CollectiveKind::Barrier, 0));
        let reduce = Some((CollectiveKind::Reduce, 0));
        let error = RunError::of_blocked(2, vec![receive(0, 1, barrier), receive(1, 0, reduce)]);
        assert!(matches!(error, RunError::MismatchedCollective { .. }), "{error}");
        let error = RunError::of_blocked(2, vec![receive(0, 1, barrier), receive(1, 0, barrier)]);
        assert!(matches!(error, RunError::Deadlock { .. }), "{error}");
    }

    #[test]
    fn a_long_list_is_cut() {
        let blocked = (0..40).map(|rank| receive(rank, 0, None)).collect();
        assert!(RunError::of_blocked(40, blocked).to_string().ends_with("and 8 more"));
    }
}
