//! What launchers print when a rank dies without a word of its own.
//!
//! Hydra (MPICH, Intel MPI) prints `YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)` or
//! `=   KILLED BY SIGNAL: 9 (Killed)`. It also names a process, but the first of those that did not end well, which
//! after its own clean-up is the first of all: no use. Open MPI's prterun prints `prterun noticed that process rank 1
//! with PID 17350 on node node7 exited on` / `signal 9 (Killed).`; srun prints `srun: error: node7: task 1: Killed`.

use weft_comm::{CommError, RunError};

/// What is known about a rank that died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Death {
    rank: Option<usize>,
    cause: Option<String>,
}

impl Death {
    /// Takes a line of a launcher; lines of other things change nothing.
    pub fn read(&mut self, line: &str) {
        if line.contains("noticed that process rank") {
            self.rank = self.rank.or(number_after(line, "rank "));
        }
        if self.cause.is_none() {
            self.cause = signal(line).map(|signal| format!("was killed by {signal}"));
        }
        if let Some((task, how)) = srun(line) {
            self.rank.get_or_insert(task);
            self.cause.get_or_insert_with(|| format!("ended early: {how}"));
        }
    }

    /// Whether the launcher spoke of a death.
    pub fn has_cause(&self) -> bool {
        self.cause.is_some()
    }

    /// The same death where the rank, if the launcher does not name it, is known from elsewhere.
    pub fn or_of(mut self, rank: Option<usize>) -> Death {
        self.rank = self.rank.or(rank);
        self
    }

    /// The error, where something is known.
    pub fn error(&self) -> Option<RunError> {
        match (self.rank, &self.cause) {
            (Some(rank), cause) => {
                let cause = cause.as_deref().unwrap_or("ended before the run was over");
                Some(RunError::Failed(CommError::program(rank, format!("the process {cause}"))))
            }
            (None, Some(cause)) => {
                Some(RunError::Setup(format!("the process of a rank {cause}; the launcher does not say which")))
            }
            (None, None) => None,
        }
    }
}

/// `signal 9 (Killed)` from any of the launchers' ways to say it.
fn signal(line: &str) -> Option<String> {
    let number: u32 = if let Some(rest) = line.strip_prefix("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ") {
        let name = rest.split(" (").next().unwrap_or(rest);
        return number_after::<u32>(rest, "(signal ").map(|number| format!("signal {number} ({name})"));
    } else if line.starts_with("signal ") {
        number_after(line, "signal ")?
    } else if line.starts_with('=') && line.contains("KILLED BY SIGNAL: ") {
        number_after(line, "SIGNAL: ")?
    } else {
        return None;
    };
    let name = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(name, _)| name);
    Some(name.map_or_else(|| format!("signal {number}"), |name| format!("signal {number} ({name})")))
}

/// The task and its end in `srun: error: NODE: task N: HOW`.
fn srun(line: &str) -> Option<(usize, &str)> {
    let (_, rest) = line.strip_prefix("srun: error: ")?.split_once(": task ")?;
    let (task, how) = rest.split_once(": ")?;
    Some((task.parse().ok()?, how.trim()))
}

fn number_after<N: std::str::FromStr>(line: &str, word: &str) -> Option<N> {
    let (_, rest) = line.split_once(word)?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<String> {
        let mut death = Death::default();
        text.lines().for_each(|line| death.read(line));
        death.error().map(|error| error.to_string())
    }

    #[test]
    fn hydra_names_the_signal() {
        let text = "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 17330 RUNNING AT vm\n\
                    =   EXIT CODE: 9\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n";
        let expected = "the process of a rank was killed by signal 9 (Killed); the launcher does not say which";
        assert_eq!(read(text).as_deref(), Some(expected));
        let intel = "=   RANK 2 PID 40 RUNNING AT vm\n=   KILLED BY SIGNAL: 11 (Segmentation fault)\n";
        assert!(read(intel).is_some_and(|text| text.contains("was killed by signal 11 (Segmentation fault)")));
    }

    #[test]
    fn prterun_names_the_rank() {
        let text = "prterun noticed that process rank 1 with PID 17350 on node vm exited on\nsignal 9 (Killed).\n";
        assert_eq!(read(text).as_deref(), Some("rank 1: the process was killed by signal 9 (Killed)"));
    }

    #[test]
    fn srun_names_the_task() {
        let error = read("srun: error: node7: task 3: Out Of Memory\n");
        assert_eq!(error.as_deref(), Some("rank 3: the process ended early: Out Of Memory"));
    }

    #[test]
    fn other_lines_say_nothing() {
        assert_eq!(read("a signal was seen\n= 5\nPID 4\n"), None);
    }

    proptest! {
        #[test]
        fn any_line_may_come(line in "(=|srun: error: |signal |YOUR APPLICATION TERMINATED WITH THE EXIT STRING: )?.*") {
            read(&line);
        }
    }
}
