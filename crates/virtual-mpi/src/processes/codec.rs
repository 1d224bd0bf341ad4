//! What a rank's process and the hub say to each other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weft_base::Operation;
use weft_comm::{CollectiveKind, CommError, Failure, Source, Status, Tag, TagSelector, Work};

use crate::conflicts::Completion;
use crate::joint::{Described, Key};
use crate::outcome::Unfreed;
use crate::remark::Subject;

/// A request of a rank: numbered by its process.
pub type Id = u32;

/// A tag as it travels: of the program, or kind and sequence number of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireTag {
    User(u32),
    Collective(u8, u32),
}

impl From<Tag> for WireTag {
    fn from(tag: Tag) -> WireTag {
        match tag {
            Tag::User(tag) => WireTag::User(tag),
            Tag::Collective { kind, sequence } => WireTag::Collective(kind as u8, sequence),
        }
    }
}

impl From<WireTag> for Tag {
    fn from(tag: WireTag) -> Tag {
        match tag {
            WireTag::User(tag) => Tag::User(tag),
            WireTag::Collective(kind, sequence) => Tag::Collective { kind: kind_of(kind), sequence },
        }
    }
}

/// The collective with this code.
pub fn kind_of(code: u8) -> CollectiveKind {
    CollectiveKind::ALL[usize::from(code).min(CollectiveKind::ALL.len() - 1)]
}

/// What a receive or a probe of a rank accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    pub context: u32,
    /// The rank within its communicator.
    pub rank: u32,
    pub source: Option<u32>,
    pub tag: Option<WireTag>,
}

impl Pattern {
    pub fn new(context: u32, rank: u32, source: Source, tag: TagSelector) -> Pattern {
        let source = match source {
            Source::Rank(source) => Some(source as u32),
            Source::Any => None,
        };
        let tag = match tag {
            TagSelector::Only(tag) => Some(tag.into()),
            TagSelector::AnyUser => None,
        };
        Pattern { context, rank, source, tag }
    }

    pub fn selectors(&self) -> (Source, TagSelector) {
        let source = self.source.map_or(Source::Any, |source| Source::Rank(source as usize));
        (source, self.tag.map_or(TagSelector::AnyUser, |tag| TagSelector::Only(tag.into())))
    }
}

/// Computation as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum WireWork {
    Operations(Operation, u64),
    Overlapped([(Operation, u64); 2]),
    Seconds(f64),
}

impl From<Work> for WireWork {
    fn from(work: Work) -> WireWork {
        match work {
            Work::Operations { operation, count } => WireWork::Operations(operation, count),
            Work::Overlapped(both) => WireWork::Overlapped(both),
            Work::Seconds(seconds) | Work::Spin(seconds) => WireWork::Seconds(seconds),
        }
    }
}

impl From<WireWork> for Work {
    fn from(work: WireWork) -> Work {
        match work {
            WireWork::Operations(operation, count) => Work::Operations { operation, count },
            WireWork::Overlapped(both) => Work::Overlapped(both),
            WireWork::Seconds(seconds) => Work::Seconds(seconds),
        }
    }
}

/// What a rank wants. Those that are answered come last in what is handed over at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// The call of MPI that the rank is in from here on; its name follows.
    Call {
        bytes: u32,
    },
    /// Bytes of the message that is sent next; they follow.
    Data {
        bytes: u32,
    },
    /// Starts to send the bytes before and those that follow.
    Send {
        id: Id,
        context: u32,
        rank: u32,
        to: u32,
        tag: WireTag,
        bytes: u32,
        phantom: Option<u64>,
        /// Bits of the kinds of its elements.
        elements: u32,
        synchronous: bool,
    },
    Receive {
        id: Id,
        pattern: Pattern,
        capacity: u64,
        elements: u32,
    },
    Settle {
        id: Id,
    },
    /// Complete when a look that has found nothing is at its end.
    LookOn {
        id: Id,
        least: u64,
        until: u64,
    },
    /// Complete when nothing can happen in the run any more.
    AwaitQuiet {
        id: Id,
    },
    Compute {
        id: Id,
        work: WireWork,
    },
    Probe {
        id: Id,
        pattern: Pattern,
    },
    Iprobe {
        id: Id,
        pattern: Pattern,
    },
    /// A matched probe, whose message is request `message` from then on.
    TakeNext {
        id: Id,
        message: Id,
        pattern: Pattern,
    },
    TakeArrived {
        id: Id,
        message: Id,
        pattern: Pattern,
    },
    /// What is asked of a window of rank `to` is in the bytes before and those that follow, and then the data that it takes.
    Reach {
        id: Id,
        to: u32,
        bytes: u32,
    },
    /// Something with a file of the machine: a [`FileWork`] follows.
    File {
        id: Id,
        file: Id,
        bytes: u32,
    },
    /// Goes on when the request is complete, which tells nothing.
    Finish {
        id: Id,
    },
    Drop {
        id: Id,
    },
    AdvanceTo {
        time: u64,
    },
    WakeAt {
        time: u64,
    },
    EnterCollective {
        context: u32,
        kind: u8,
        sequence: u32,
    },
    LeaveCollective,
    /// A collective call, to be compared with those of so many ranks.
    Joint {
        key: Key,
        size: u32,
        described: Described,
    },
    /// Something to say of the program; it follows.
    Remark {
        subject: Subject,
        bytes: u32,
    },
    /// What this rank asked of rank `to` in a window is complete.
    Complete {
        window: u32,
        to: u32,
        completion: Completion,
    },
    BeginLook,
    /// Whether the process may end without [`Command::Leave`].
    MayEnd {
        may_end: bool,
    },
    /// The rank communicates no more, and leaves objects.
    Leave {
        unfreed: Unfreed,
    },
    /// Answered by [`Answer::Next`].
    EndLook,
    /// Answered by [`Answer::Polled`]: whether the request is complete now.
    Poll {
        id: Id,
    },
    /// Answered by [`Answer::Ready`] or [`Answer::OneReady`] when one of the requests is complete, or, without requests,
    /// when the rank is woken.
    Park {
        ids: Vec<Id>,
    },
    /// A thread waits beside others. Answered as [`Command::Park`] when one of the requests is complete, with none when
    /// the rank is disturbed; by [`Answer::Done`] when it is woken and that matters, or a request is no longer known; by
    /// [`Answer::Quiet`] when the request for that is complete.
    ParkBeside {
        ids: Vec<Id>,
        anything: bool,
        quiet: Option<Id>,
    },
    /// Answered by [`Answer::Cancelled`].
    Cancel {
        id: Id,
    },
    /// Answered by [`Answer::Context`].
    NewContext,
    ContextOf {
        key: (u32, u32, u32),
    },
    /// Answered by [`Answer::Position`]: where the shared pointer of a file was.
    MovePointer {
        file: (u32, u32),
        to: Move,
    },
    /// Answered by [`Answer::Done`].
    Sync,
    /// Answered by [`Answer::Chunk`]: more of the message of a request.
    Fetch {
        id: Id,
        offset: u64,
    },
    /// Ends the whole run; what to say follows.
    Abort {
        code: i32,
        bytes: u32,
    },
}

/// Consecutive bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    pub offset: u64,
    pub bytes: usize,
}

impl Range {
    pub fn end(&self) -> u64 {
        self.offset + self.bytes as u64
    }
}

/// What is done with a file of the machine, which takes its time; the bytes themselves are in files here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileWork {
    Open { path: PathBuf },
    Close,
    Transfer { ranges: Vec<Range>, length: u64, is_write: bool },
    Preallocate { bytes: u64 },
    Sync,
}

/// How a shared file pointer moves, in elements of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    Set(u64),
    /// 0: it is only looked at.
    By(u64),
    /// Not back.
    AtLeast(u64),
}

impl Move {
    /// Where a pointer is then.
    pub fn apply(self, position: u64) -> u64 {
        match self {
            Move::Set(to) => to,
            Move::By(elements) => position + elements,
            Move::AtLeast(least) => position.max(least),
        }
    }
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Done,
    /// A message of `bytes` bytes, of which `here` follow; nothing of a phantom. Missing: there is none.
    Message {
        known: Option<Known>,
        phantom: bool,
        here: u32,
    },
    Failed(WireFailure),
}

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub source: u32,
    pub tag: WireTag,
    pub bytes: u64,
}

impl From<Status> for Known {
    fn from(status: Status) -> Known {
        Known { source: status.source as u32, tag: status.tag.into(), bytes: status.bytes as u64 }
    }
}

impl From<Known> for Status {
    fn from(known: Known) -> Status {
        Status { source: known.source as usize, tag: known.tag.into(), bytes: known.bytes as usize }
    }
}

/// An error of a call as it travels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WireFailure {
    Truncated { rank: u32, source: u32, tag: WireTag, sent: u64, capacity: u64 },
    Mismatched { rank: u32, here: u8, other: u32, there: u8, sequence: u32 },
    Other { rank: u32, message: String },
}

impl WireFailure {
    pub fn of(error: &CommError, number: usize) -> WireFailure {
        match error.failure() {
            &Failure::Truncated { rank, source_rank, tag, sent, capacity } => WireFailure::Truncated {
                rank: rank as u32,
                source: source_rank as u32,
                tag: tag.into(),
                sent: sent as u64,
                capacity: capacity as u64,
            },
            &Failure::MismatchedCollective { rank, here, other, there, sequence } => WireFailure::Mismatched {
                rank: rank as u32,
                here: here as u8,
                other: other as u32,
                there: there as u8,
                sequence,
            },
            Failure::Program { rank, message } => WireFailure::Other { rank: *rank as u32, message: message.clone() },
            other => WireFailure::Other { rank: number as u32, message: other.to_string() },
        }
    }
}

impl From<WireFailure> for CommError {
    fn from(failure: WireFailure) -> CommError {
        match failure {
            WireFailure::Truncated { rank, source, tag, sent, capacity } => Failure::Truncated {
                rank: rank as usize,
                source_rank: source as usize,
                tag: tag.into(),
                sent: sent as usize,
                capacity: capacity as usize,
            }
            .into(),
            WireFailure::Mismatched { rank, here, other, there, sequence } => Failure::MismatchedCollective {
                rank: rank as usize,
                here: kind_of(here),
                other: other as usize,
                there: kind_of(there),
                sequence,
            }
            .into(),
            WireFailure::Other { rank, message } => CommError::program(rank as usize, message),
        }
    }
}

/// What the hub answers, with the clocks as they are then, in picoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The rank's clock.
    pub clock: u64,
    /// How far the whole run is.
    pub now: u64,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Quiet,
    Polled(Option<Outcome>),
    Ready(Vec<(Id, Outcome)>),
    /// As `Ready`, of one: a list is memory of its own.
    OneReady(Id, Outcome),
    Context(u32),
    Cancelled(bool),
    Next(Option<u64>),
    Position(u64),
    /// So many bytes follow.
    Chunk(u32),
}

/// What all ranks of a run are told at their start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    pub ranks: usize,
    pub machine: String,
    /// The factor on processor time.
    pub compute: Option<f64>,
    /// The node of each rank; rank r is on node r where it is missing.
    pub nodes: Option<Vec<u32>>,
    /// Messages are no longer than this, in bytes.
    pub longest: u64,
    /// Sends of no longer messages are complete without their receives.
    pub longest_eager: u64,
    /// What a look at a request costs that finds nothing, in picoseconds.
    pub look: u64,
    /// The machine has a file system.
    pub has_files: bool,
    /// Process number of the hub.
    pub hub: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_patterns_work_and_failures_arrive_as_they_were_sent() {
        for tag in [Tag::User(Tag::MAX_USER), Tag::Collective { kind: CollectiveKind::Scan, sequence: 7 }] {
            assert_eq!(Tag::from(WireTag::from(tag)), tag);
            let pattern = Pattern::new(3, 1, Source::Rank(4), tag.into());
            assert_eq!(pattern.selectors(), (Source::Rank(4), TagSelector::Only(tag)));
        }
        assert_eq!(Pattern::new(0, 0, Source::Any, TagSelector::AnyUser).selectors().0, Source::Any);
        for &operation in &Operation::ALL {
            let work = Work::Operations { operation, count: 9 };
            assert_eq!(Work::from(WireWork::from(work)), work);
        }
        let kind = CollectiveKind::Gather;
        let failures = [
            Failure::Truncated { rank: 1, source_rank: 2, tag: Tag::User(3), sent: 4, capacity: 5 },
            Failure::MismatchedCollective { rank: 1, here: kind, other: 2, there: CollectiveKind::Scan, sequence: 3 },
            Failure::Program { rank: 4, message: "no pivot".to_owned() },
        ];
        for failure in failures {
            let error = CommError::from(failure);
            assert_eq!(CommError::from(WireFailure::of(&error, 0)), error);
        }
    }

    #[test]
    fn a_command_is_read_back_from_bytes_that_others_follow() {
        let command = Command::Park { ids: vec![1, 200, 70_000] };
        let mut bytes = postcard::to_allocvec(&command).unwrap();
        bytes.extend([1, 2, 3]);
        let (read, rest): (Command, _) = postcard::take_from_bytes(&bytes).unwrap();
        assert_eq!((read, rest), (command, &[1, 2, 3][..]));
    }
}
