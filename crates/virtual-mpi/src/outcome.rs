//! What a run leaves besides its times: what the program did not clean up, and its timeline.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use weft_comm::Tag;
use weft_sim::{MismatchedElements, Outcome};

use crate::datatype;
use crate::remark::{Notes, Remarks, Subject};

/// At most so many messages and ranks are listed; the rest are counted.
const LISTED: usize = 32;

/// What a program should have received, completed or freed before it ended MPI.
#[derive(Debug, Default, Serialize)]
pub struct Leftovers {
    /// Messages that were never received: from, to, tag, bytes.
    unreceived: Vec<(usize, usize, u32, u64)>,
    unreceived_count: usize,
    /// Messages of collectives that their receivers have not taken part in: from, to, kind and number of the collective.
    mismatched: Vec<(usize, usize, String, u32)>,
    mismatched_count: usize,
    /// Objects that were not freed, by what they are.
    unfreed: BTreeMap<&'static str, Listed>,
}

/// Objects of one sort: ranks with some, and how many; all of them together.
#[derive(Debug, Default, Serialize)]
pub struct Listed {
    count: usize,
    first: Vec<(usize, u32)>,
}

/// Objects that a rank has not freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfreed {
    /// Requests that are neither complete nor freed, but for persistent ones that are not started.
    pub requests: u32,
    pub persistent: u32,
    pub communicators: u32,
    pub groups: u32,
    pub datatypes: u32,
    pub operations: u32,
    pub windows: u32,
    pub files: u32,
}

impl Unfreed {
    fn sorts(&self) -> [(&'static str, u32); 8] {
        [
            ("request", self.requests),
            ("persistent request", self.persistent),
            ("communicator", self.communicators),
            ("group", self.groups),
            ("datatype", self.datatypes),
            ("operation", self.operations),
            ("window", self.windows),
            ("file", self.files),
        ]
    }
}

/// What was said of the program, with the messages whose elements do not match.
pub fn remarks(outcome: &Outcome<()>, notes: &Notes) -> Remarks {
    let mut remarks = notes.remarks();
    let sentence = |one: &MismatchedElements| {
        let (sent, received) = (datatype::names(one.sent), datatype::names(one.received));
        format!("{sent} of rank {} as {received} on rank {}, tag {}", one.from, one.to, tag_of(one.tag))
    };
    let mismatches = &outcome.mismatches;
    remarks.of(Subject::Datatypes).extend(mismatches.count, mismatches.first.iter().map(sentence));
    remarks
}

fn tag_of(tag: Tag) -> u32 {
    match tag {
        Tag::User(tag) => tag,
        Tag::Collective { sequence, .. } => sequence,
    }
}

impl Leftovers {
    /// What is left after a run, with what each rank has not freed.
    pub fn of(outcome: &Outcome<()>, ranks: impl Iterator<Item = (usize, Unfreed)>) -> Leftovers {
        let mut unfreed: BTreeMap<&'static str, Listed> = BTreeMap::new();
        for (rank, of_rank) in ranks {
            for (sort, count) in of_rank.sorts().into_iter().filter(|(_, count)| *count > 0) {
                let listed = unfreed.entry(sort).or_default();
                listed.count += count as usize;
                if listed.first.len() < LISTED {
                    listed.first.push((rank, count));
                }
            }
        }
        let (mut unreceived, mut mismatched) = (Vec::new(), Vec::new());
        for message in &outcome.unreceived {
            let (from, to) = (message.from, message.to);
            match message.tag {
                Tag::User(tag) => unreceived.push((from, to, tag, message.bytes)),
                Tag::Collective { kind, sequence } => mismatched.push((from, to, kind.to_string(), sequence)),
            }
        }
        let (unreceived_count, mismatched_count) = (unreceived.len(), mismatched.len());
        unreceived.truncate(LISTED);
        mismatched.truncate(LISTED);
        Leftovers { unreceived, unreceived_count, mismatched, mismatched_count, unfreed }
    }
}

/// Whether a timeline was written.
#[derive(Debug, Default, Serialize)]
pub struct Timeline {
    /// Why it was not.
    trace_error: Option<String>,
}

impl Timeline {
    /// Writes the timeline of a run to a file, whose length is announced before.
    pub fn write(path: Option<&Path>, outcome: &Outcome<()>, announce: extern "C" fn(u64)) -> Timeline {
        let (Some(path), Some(trace)) = (path, &outcome.trace) else { return Timeline::default() };
        let title = path.file_stem().unwrap_or_default().to_string_lossy();
        announce(trace.chrome_bytes(&title));
        let written = (|| -> io::Result<()> {
            let mut out = BufWriter::new(File::create(path)?);
            trace.write_chrome(&title, &mut out)?;
            out.flush()
        })();
        Timeline { trace_error: written.err().map(|error| error.to_string()) }
    }
}
