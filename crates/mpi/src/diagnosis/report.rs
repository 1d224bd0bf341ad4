//! The lines that ranks write about themselves.

use serde::{Deserialize, Serialize};
use weft_comm::{Blocked, Call, CollectiveKind, Failure, RunError, Source, Tag, TagSelector};

/// What a report's line begins with; a launcher may have put a prefix of its own before it.
pub const MARKER: &str = "weft-rank ";

/// What one rank says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The rank, in the numbering of the whole run.
    pub rank: usize,
    /// The number of ranks of the run; 0 where the rank could not find out.
    pub ranks: usize,
    #[serde(flatten)]
    pub event: Event,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The rank runs, as this process.
    Started { pid: u32, host: String },
    /// The rank has been in one call for a long time.
    Blocked {
        #[serde(with = "CallRecord")]
        call: Call,
        collective: Option<Collective>,
        /// How long so far.
        seconds: f64,
        /// Changes whenever the rank begins or ends a call.
        counter: u64,
        /// Bytes that the rank may be sending: a reason to be patient.
        moving_bytes: u64,
        /// Where in the program the call is, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// The rank has left its program and has been waiting for the others for a long time.
    Idle { counter: u64 },
    /// The rank, blocked or idle before, goes on.
    Resumed { counter: u64 },
    /// The rank's program has ended in this way; MPI goes on until all have.
    Left { how: String },
    /// The rank is about to end MPI in order: the end of its process, which follows, means nothing.
    Ended,
    /// The program awaits a future that nothing can wake.
    Stuck { collective: Option<Collective> },
    /// The program returned an error.
    Failed {
        #[serde(with = "FailureRecord")]
        error: Failure,
    },
    /// The program panicked.
    Panicked { message: String },
    /// The rank could not start.
    Setup { message: String },
}

/// A collective and its sequence number on its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    #[serde(with = "CollectiveKindRecord")]
    pub kind: CollectiveKind,
    pub sequence: u32,
}

impl Collective {
    pub fn of((kind, sequence): (CollectiveKind, u32)) -> Collective {
        Collective { kind, sequence }
    }

    pub fn pair(self) -> (CollectiveKind, u32) {
        (self.kind, self.sequence)
    }
}

impl Report {
    /// The line, with its end.
    pub fn line(&self) -> String {
        let json = serde_json::to_string(self).expect("a report has only strings, numbers and named fields");
        format!("{MARKER}{json}\n")
    }

    /// The report in a line, if there is one.
    pub fn parse(line: &str) -> Option<Report> {
        let start = line.find(MARKER)? + MARKER.len();
        let mut values = serde_json::Deserializer::from_str(&line[start..]).into_iter();
        values.next()?.ok()
    }

    /// The report of a run that ended with this error on this rank.
    pub fn of_error(rank: usize, ranks: usize, error: &RunError) -> Report {
        let event = match error {
            RunError::Failed(error) => Event::Failed { error: error.failure().clone() },
            RunError::Panicked { message, .. } => Event::Panicked { message: message.clone() },
            RunError::Setup(message) => Event::Setup { message: message.clone() },
            RunError::Interrupted | RunError::Memory(_) => Event::Setup { message: error.to_string() },
            RunError::Deadlock { blocked, .. } | RunError::MismatchedCollective { blocked } => {
                Event::Stuck { collective: blocked.first().and_then(|blocked| blocked.collective).map(Collective::of) }
            }
        };
        Report { rank, ranks, event }
    }

    /// The error that ends the run, if the report is of one.
    pub fn error(&self) -> Option<RunError> {
        match &self.event {
            Event::Failed { error } => Some(RunError::Failed(error.clone().into())),
            Event::Panicked { message } => Some(RunError::Panicked { rank: self.rank, message: message.clone() }),
            Event::Setup { message } => Some(RunError::Setup(message.clone())),
            Event::Stuck { collective } => {
                let collective = collective.map(Collective::pair);
                let blocked = Blocked { rank: self.rank, call: Call::Unknown, collective };
                Some(RunError::of_blocked(self.ranks, vec![blocked]))
            }
            Event::Started { .. }
            | Event::Blocked { .. }
            | Event::Idle { .. }
            | Event::Resumed { .. }
            | Event::Left { .. }
            | Event::Ended => None,
        }
    }
}

// What follows tells serde about the types of weft-comm, which does not know serde; the compiler checks that they agree.

#[derive(Serialize, Deserialize)]
#[serde(remote = "CollectiveKind", rename_all = "snake_case")]
enum CollectiveKindRecord {
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

#[derive(Serialize, Deserialize)]
#[serde(remote = "Tag", rename_all = "snake_case")]
enum TagRecord {
    User(u32),
    Collective {
        #[serde(with = "CollectiveKindRecord")]
        kind: CollectiveKind,
        sequence: u32,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TagSelector", rename_all = "snake_case")]
enum TagSelectorRecord {
    Only(#[serde(with = "TagRecord")] Tag),
    AnyUser,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Source", rename_all = "snake_case")]
enum SourceRecord {
    Rank(usize),
    Any,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Call", rename_all = "snake_case")]
enum CallRecord {
    Send {
        to: usize,
        #[serde(with = "TagRecord")]
        tag: Tag,
        bytes: usize,
    },
    Receive {
        #[serde(with = "SourceRecord")]
        from: Source,
        #[serde(with = "TagSelectorRecord")]
        tag: TagSelector,
    },
    Probe {
        #[serde(with = "SourceRecord")]
        from: Source,
        #[serde(with = "TagSelectorRecord")]
        tag: TagSelector,
    },
    Native {
        #[serde(with = "CollectiveKindRecord")]
        kind: CollectiveKind,
    },
    Exchange {
        there: usize,
        ranks: usize,
    },
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Failure", rename_all = "snake_case")]
enum FailureRecord {
    Truncated {
        rank: usize,
        source_rank: usize,
        #[serde(with = "TagRecord")]
        tag: Tag,
        sent: usize,
        capacity: usize,
    },
    MismatchedCollective {
        rank: usize,
        #[serde(with = "CollectiveKindRecord")]
        here: CollectiveKind,
        other: usize,
        #[serde(with = "CollectiveKindRecord")]
        there: CollectiveKind,
        sequence: u32,
    },
    MismatchedArguments {
        rank: usize,
        #[serde(with = "CollectiveKindRecord")]
        kind: CollectiveKind,
        what: String,
    },
    NoSuchRank {
        rank: usize,
        peer: usize,
        last: usize,
    },
    TagTooLarge {
        rank: usize,
        tag: u32,
    },
    Aborted {
        rank: usize,
        why: String,
    },
    Library {
        rank: usize,
        call: String,
        message: String,
    },
    File {
        rank: usize,
        operation: String,
        path: String,
        message: String,
    },
    Program {
        rank: usize,
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocked() -> Report {
        let call = Call::Receive { from: Source::Rank(1), tag: TagSelector::Only(Tag::User(4)) };
        let collective = Some(Collective { kind: CollectiveKind::Barrier, sequence: 2 });
        Report {
            rank: 0,
            ranks: 2,
            event: Event::Blocked { call, collective, seconds: 5.25, counter: 7, moving_bytes: 0, at: None },
        }
    }

    #[test]
    fn the_line_is_what_is_documented() {
        assert_eq!(
            blocked().line(),
            "weft-rank {\"rank\":0,\"ranks\":2,\"event\":\"blocked\",\"call\":{\"receive\":{\"from\":{\"rank\":1},\
             \"tag\":{\"only\":{\"user\":4}}}},\"collective\":{\"kind\":\"barrier\",\"sequence\":2},\"seconds\":5.25,\
             \"counter\":7,\"moving_bytes\":0}\n"
        );
    }

    #[test]
    fn every_error_round_trips() {
        let tag = Tag::Collective { kind: CollectiveKind::Scan, sequence: 9 };
        let (here, there) = (CollectiveKind::Barrier, CollectiveKind::Split);
        let text = String::from("what \"was\" wrong\n");
        let errors = [
            Failure::Truncated { rank: 1, source_rank: 0, tag, sent: 9, capacity: 8 },
            Failure::MismatchedCollective { rank: 1, here, other: 2, there, sequence: 3 },
            Failure::MismatchedArguments { rank: 1, kind: here, what: text.clone() },
            Failure::NoSuchRank { rank: 1, peer: 7, last: 3 },
            Failure::TagTooLarge { rank: 1, tag: u32::MAX },
            Failure::Aborted { rank: 1, why: text.clone() },
            Failure::Library { rank: 1, call: "MPI_Send".into(), message: text.clone() },
            Failure::File { rank: 1, operation: "read".into(), path: "a file".into(), message: text.clone() },
            Failure::Program { rank: 1, message: text.clone() },
        ];
        let mut errors: Vec<RunError> = errors.into_iter().map(|failure| RunError::Failed(failure.into())).collect();
        errors.push(RunError::Panicked { rank: 1, message: text.clone() });
        errors.push(RunError::Setup(text));
        errors.push(RunError::of_blocked(4, vec![Blocked { rank: 1, call: Call::Unknown, collective: None }]));
        for error in errors {
            let line = Report::of_error(1, 4, &error).line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(Report::parse(&line).and_then(|report| report.error()), Some(error), "{line}");
        }
    }

    #[test]
    fn a_prefix_of_the_launcher_does_no_harm() {
        let line = format!("[1,0]<stderr>: {}", blocked().line());
        assert_eq!(Report::parse(&line), Some(blocked()));
        assert_eq!(Report::parse("weft-rank {\"rank\":0"), None);
        assert_eq!(Report::parse("a program's own line"), None);
    }

    proptest! {
        #[test]
        fn any_line_may_come(line in ".*") {
            Report::parse(&line);
            Report::parse(&format!("{MARKER}{line}"));
            Report::parse(&format!("{MARKER}{{\"rank\":0,\"ranks\":2,\"event\":\"blocked\",{line}}}"));
        }
    }
}
