//! What a run leaves besides its times: what the program did not clean up, and its timeline.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use weft_comm::Tag;
use weft_sim::Outcome;

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
    /// Ranks with requests that are neither complete nor freed, and how many.
    open_requests: Vec<(usize, usize)>,
    open_requests_count: usize,
}

impl Leftovers {
    /// What is left after a run, with the open requests of each rank.
    pub fn of(outcome: &Outcome<()>, open_requests: impl Iterator<Item = (usize, usize)>) -> Leftovers {
        let mut open: Vec<_> = open_requests.filter(|(_, count)| *count > 0).collect();
        let open_requests_count = open.iter().map(|(_, count)| count).sum();
        open.truncate(LISTED);
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
        Leftovers {
            unreceived,
            unreceived_count,
            mismatched,
            mismatched_count,
            open_requests: open,
            open_requests_count,
        }
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
