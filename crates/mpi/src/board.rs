//! What the ranks of one computer say of themselves where nobody watches them: a file each, which the others read.
//!
//! The files are in a folder named after the launcher's process. They are the same lines that a watching process would
//! get, so that the same judgement is made of them.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::diagnosis::{Event, Report};
use crate::life::{self, Process, State};

/// Where ranks of a node find each other's files, if it is there; else the folder for temporary files.
const SHARED_MEMORY: &str = "/dev/shm";
const PREFIX: &str = "weft-ranks-";
/// The file of whoever ends the run: there is one, so that one says why.
const VERDICT: &str = "verdict";
/// The pipe of a rank that lives.
const ALIVE: &str = "alive-";

/// This rank's file, and the folder of all.
pub struct Board {
    folder: PathBuf,
    own: Mutex<File>,
    rank: usize,
}

/// How far the files of a board have been read.
#[derive(Default)]
pub struct Reader(BTreeMap<PathBuf, (u64, String)>);

impl Board {
    /// The board of the ranks that this process of the launcher has started. `None` where there can be none.
    pub fn open(launcher: Process, rank: usize) -> Option<Board> {
        let shared = Path::new(SHARED_MEMORY);
        let root = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let marked = format!("{PREFIX}{}-", life::namespace());
        sweep(&root, &marked);
        Board::within(root.join(format!("{marked}{}-{}", launcher.pid, launcher.start)), rank)
    }

    fn within(folder: PathBuf, rank: usize) -> Option<Board> {
        // It may be there: another rank was first.
        let _ = DirBuilder::new().mode(0o700).create(&folder);
        // SAFETY: has no arguments.
        let own_user = unsafe { libc::geteuid() };
        let metadata = fs::symlink_metadata(&folder).ok()?;
        if !metadata.is_dir() || metadata.uid() != own_user {
            return None;
        }
        life::sign_of_life(&folder.join(format!("{ALIVE}{rank}")));
        let own = OpenOptions::new().create(true).write(true).truncate(true).open(folder.join(name(rank))).ok()?;
        Some(Board { folder, own: Mutex::new(own), rank })
    }

    /// Adds a line to this rank's file. A full or removed folder is no reason to end a run: the others then know less.
    pub fn say(&self, report: &Report) {
        let mut file = self.own.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = file.write_all(report.line().as_bytes());
    }

    /// The lines that ranks have added since the reader looked last.
    pub fn news(&self, reader: &mut Reader) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut lines = Vec::new();
        let files = entries.flatten().filter(|entry| number(&entry.file_name().to_string_lossy()).is_some());
        for path in files.map(|entry| entry.path()) {
            let (from, rest) = reader.0.entry(path.clone()).or_default();
            let Some(text) = life::tail(&path, *from) else { continue };
            *from += text.len() as u64;
            rest.push_str(&text);
            while let Some(end) = rest.find('\n') {
                lines.push(rest[..end].to_owned());
                rest.drain(..=end);
            }
        }
        lines
    }

    /// Whether a rank has said that it ends in order.
    pub fn has_ended(&self, rank: usize) -> bool {
        let text = life::tail(&self.folder.join(name(rank)), 0).unwrap_or_default();
        text.lines().filter_map(Report::parse).any(|report| report.event == Event::Ended)
    }

    /// The pipe that a rank keeps open while it lives.
    pub fn pipe(&self, rank: usize) -> PathBuf {
        self.folder.join(format!("{ALIVE}{rank}"))
    }

    /// `true` for the first that asks: it says why the run ends, and removes the folder.
    pub fn claim(&self) -> bool {
        OpenOptions::new().create_new(true).write(true).open(self.folder.join(VERDICT)).is_ok()
    }

    /// Whether a rank has said why the run ends, or the run is over.
    pub fn is_claimed(&self) -> bool {
        !self.folder.exists() || self.folder.join(VERDICT).exists()
    }

    /// Removes the folder where all that have a file in it have ended; the last rank finds that.
    pub fn leave(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let ranks: Vec<usize> =
            entries.flatten().filter_map(|entry| number(&entry.file_name().to_string_lossy())).collect();
        if ranks.iter().all(|&rank| rank == self.rank || self.has_ended(rank)) {
            self.remove();
        }
    }

    /// Removes the folder: the run is over.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn name(rank: usize) -> String {
    format!("rank-{rank}")
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix("rank-")?.parse().ok()
}

/// Removes what jobs have left whose launchers are gone, as after a power cut of a session. What belongs to other users
/// stays, for it cannot be removed.
fn sweep(root: &Path, marked: &str) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((pid, start)) = name.strip_prefix(marked).and_then(|rest| rest.split_once('-')) else { continue };
        let (Ok(pid), Ok(start)) = (pid.parse(), start.parse()) else { continue };
        if (Process { pid, start }).state() == State::Gone {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rank: usize, event: Event) -> Report {
        Report { rank, ranks: 2, event }
    }

    #[test]
    fn ranks_read_each_other_and_the_last_removes_the_board() {
        let folder = std::env::temp_dir().join(format!("weft-board-{}", std::process::id()));
        let boards: Vec<Board> = (0..2).map(|rank| Board::within(folder.clone(), rank).expect("a folder")).collect();
        let mut reader = Reader::default();
        boards[0].say(&report(0, Event::Resumed { counter: 1 }));
        assert_eq!(boards[1].news(&mut reader).len(), 1);
        assert!(boards[1].news(&mut reader).is_empty());
        boards[1].say(&report(1, Event::Ended));
        let news = boards[0].news(&mut reader);
        assert_eq!(news.iter().filter_map(|line| Report::parse(line)).collect::<Vec<_>>(), [report(1, Event::Ended)]);
        assert!(boards[0].has_ended(1) && !boards[0].has_ended(0));
        boards[1].leave();
        assert!(folder.exists(), "rank 0 has not ended");
        boards[0].say(&report(0, Event::Ended));
        boards[0].leave();
        assert!(!folder.exists());
    }

    #[test]
    fn one_of_all_says_why_a_run_ends() {
        let folder = std::env::temp_dir().join(format!("weft-verdict-{}", std::process::id()));
        let boards: Vec<Board> = (0..3).map(|rank| Board::within(folder.clone(), rank).expect("a folder")).collect();
        assert!(!boards[0].is_claimed());
        assert_eq!(boards.iter().filter(|board| board.claim()).count(), 1);
        assert!(boards[2].is_claimed());
        boards[0].remove();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_left_of_jobs_that_are_gone_is_swept_and_nothing_else() {
        let root = std::env::temp_dir().join(format!("weft-sweep-{}", std::process::id()));
        let own = Process::of(std::process::id()).expect("this process");
        let names =
            [format!("x-{}-{}", own.pid, own.start), format!("x-{}-{}", own.pid, own.start + 1), "y-1-1".into()];
        names.iter().for_each(|name| fs::create_dir_all(root.join(name)).expect("a folder"));
        sweep(&root, "x-");
        assert_eq!(names.map(|name| root.join(name).exists()), [true, false, true]);
        fs::remove_dir_all(root).expect("it is this test's");
    }
}
