//! The judgement over the reports of all ranks.

use std::collections::{BTreeMap, BTreeSet};

use weft_comm::{Blocked, Call, CommError, Failure, RunError, Source};

use super::launcher_output::Death;
use super::report::{Collective, Event, Report};

/// Ranks that are all blocked are given this long without any sign before the run is given up, in seconds.
pub const PATIENCE: f64 = 2.0;

/// A transfer under way is presumed to go at least this fast, in bytes a second (Ethernet of 100 Mbit/s); so long a
/// judgement waits for the bytes that ranks may be sending.
pub const SLOWEST_RATE: f64 = 1e7;

/// A rank that fails ends the run no sooner than after 0.1 s, in seconds: who dies within half of that died before.
const PROMPT: f64 = 0.05;

/// At most this many ranks of a deadlock are listed; the rest are counted.
const MAX_LISTED: usize = 32;

/// What is known of one rank. Ranks that have said nothing run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Running,
    Idle,
    Blocked { blocked: Blocked, moving_bytes: u64 },
}

/// Collects the lines of a run's standard error and finds out why it does not go on.
///
/// Times are seconds of any clock of the caller that goes forward.
///
/// # Examples
/// ```
/// use weft_mpi::Diagnosis;
///
/// let mut diagnosis = Diagnosis::default();
/// for rank in 0..2 {
///     let line = format!(
///         r#"weft-rank {{"rank":{rank},"ranks":2,"event":"blocked","call":{{"receive":{{"from":"any","tag":"any_user"}}}},"collective":null,"seconds":5.0,"counter":1,"moving_bytes":0}}"#
///     );
///     assert!(diagnosis.feed(&line, 10.0));
/// }
/// assert!(!diagnosis.feed("a line of the program's own", 10.0));
/// assert!(diagnosis.verdict(11.0).is_none());
/// let error = diagnosis.verdict(13.0).unwrap();
/// assert!(error.to_string().starts_with("deadlock: 2 of 2 ranks cannot go on"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The size of the run, once a rank has told it.
    ranks: Option<usize>,
    states: BTreeMap<usize, State>,
    /// The process of each rank: its number and its host.
    processes: BTreeMap<usize, (u32, String)>,
    /// When the last report came.
    last_sign: f64,
    /// The error that a rank reported, and when.
    failure: Option<(RunError, f64)>,
    /// What the launcher said about a rank that died.
    death: Death,
    /// Ranks whose processes ended, in that order, when, and how where that is known.
    dead: Vec<(usize, f64, Option<String>)>,
    /// Where in their programs blocked ranks are, and how ranks left theirs, where they said so.
    locations: BTreeMap<usize, String>,
    /// Ranks that said that they end or why they fail.
    took_leave: BTreeSet<usize>,
}

/// Whether an error may only tell that another rank is gone: the library's own errors do when they cannot reach it.
fn may_be_symptom(error: &RunError) -> bool {
    match error {
        RunError::Failed(error) => matches!(error.failure(), Failure::Library { .. } | Failure::Aborted { .. }),
        _ => false,
    }
}

/// What a blocked rank waits for, without what only weft knows.
fn waiting(blocked: &Blocked) -> String {
    let call = match blocked.call {
        Call::Send { to, .. } => format!("sends to rank {to}"),
        Call::Receive { from: Source::Rank(rank), .. } | Call::Probe { from: Source::Rank(rank), .. } => {
            format!("waits for rank {rank}")
        }
        Call::Receive { from: Source::Any, .. } | Call::Probe { from: Source::Any, .. } => {
            "waits for any rank".to_owned()
        }
        Call::Native { kind } => format!("waits for all ranks in {kind}"),
        call => call.to_string(),
    };
    match blocked.collective {
        Some((kind, _)) if !matches!(blocked.call, Call::Native { .. }) => format!("{call} in {kind}"),
        _ => call,
    }
}

impl Diagnosis {
    /// Takes one line of standard error (or standard output) that came at `now`. `true`: the line is a rank's report
    /// and not for people.
    pub fn feed(&mut self, line: &str, now: f64) -> bool {
        match Report::parse(line) {
            Some(report) => {
                self.take(report, now);
                true
            }
            None => {
                self.death.read(line);
                line.contains(super::MARKER)
            }
        }
    }

    fn take(&mut self, report: Report, now: f64) {
        self.last_sign = now;
        self.ranks = Some(report.ranks).filter(|ranks| *ranks > 0).or(self.ranks);
        if let Some(error) = report.error() {
            self.keep(error, now);
            self.took_leave.insert(report.rank);
        }
        if let Event::Ended = report.event {
            self.took_leave.insert(report.rank);
        }
        if let Event::Started { pid, host } = &report.event {
            self.processes.insert(report.rank, (*pid, host.clone()));
        }
        if let Event::Left { how } = &report.event {
            self.locations.insert(report.rank, format!("it has left the program: {how}"));
        }
        let state = match report.event {
            Event::Blocked { call, collective, moving_bytes, at, .. } => {
                self.locations.extend(at.map(|at| (report.rank, at)));
                let blocked = Blocked { rank: report.rank, call, collective: collective.map(Collective::pair) };
                State::Blocked { blocked, moving_bytes }
            }
            Event::Idle { .. } => State::Idle,
            _ => State::Running,
        };
        self.states.insert(report.rank, state);
    }

    /// Keeps the first failure, but prefers any to one that may only be a symptom.
    fn keep(&mut self, error: RunError, now: f64) {
        if self.failure.as_ref().is_none_or(|(kept, _)| may_be_symptom(kept) && !may_be_symptom(&error)) {
            self.failure = Some((error, now));
        }
    }

    /// Why the run must be ended, if it must: a rank has failed or died, or no rank can go on.
    ///
    /// An error of the MPI library, which may be a symptom of another rank's death, and a death, whose signal the
    /// launcher may tell, are held back for [`PATIENCE`]: usually the launcher ends before, and
    /// [`ended`](Diagnosis::ended) knows more.
    ///
    /// No rank can go on when every one is blocked in a call or has left its program, at least one is blocked, and for
    /// [`PATIENCE`] and the time that the bytes under way need at [`SLOWEST_RATE`] none has given a sign.
    pub fn verdict(&self, now: f64) -> Option<RunError> {
        match &self.failure {
            Some((error, _)) if !may_be_symptom(error) => Some(error.clone()),
            Some((_, since)) => (now - since >= PATIENCE).then(|| self.cause()).flatten(),
            None if self.first_dead().is_some_and(|(_, since, _)| now - since >= PATIENCE) => self.cause(),
            None => self.blocked(now),
        }
    }

    /// What has ended the run, as far as anyone has said or seen.
    fn cause(&self) -> Option<RunError> {
        let failure = self.failure.as_ref().map(|(error, _)| error.clone());
        if failure.as_ref().is_some_and(|error| !may_be_symptom(error)) {
            return failure;
        }
        match self.first_dead() {
            Some((rank, _, Some(how))) => {
                Some(RunError::Failed(CommError::program(rank, format!("the process {how}"))))
            }
            Some((rank, ..)) => self.death.clone().or_of(Some(rank)).error().or(failure),
            None => self.death.error().or(failure),
        }
    }

    /// The rank that died first without a word. Its own word may come later than the news of its end.
    fn first_dead(&self) -> Option<(usize, f64, Option<&str>)> {
        let failed = self.failure.as_ref().map_or(f64::INFINITY, |(_, when)| *when);
        let counts = |when: f64| when < failed + PROMPT || self.death.has_cause();
        let mut dead = self.dead.iter().filter(|(rank, when, _)| !self.took_leave.contains(rank) && counts(*when));
        dead.next().map(|(rank, when, how)| (*rank, *when, how.as_deref()))
    }

    fn blocked(&self, now: f64) -> Option<RunError> {
        let ranks = self.ranks?;
        let mut blocked_ranks = Vec::new();
        let mut bytes = 0.0;
        for rank in 0..ranks {
            match self.states.get(&rank)? {
                State::Running => return None,
                State::Idle => {}
                State::Blocked { blocked, moving_bytes } => {
                    blocked_ranks.push(*blocked);
                    bytes += *moving_bytes as f64;
                }
            }
        }
        let quiet = now - self.last_sign >= PATIENCE + bytes / SLOWEST_RATE;
        (quiet && !blocked_ranks.is_empty()).then(|| self.explained(RunError::of_blocked(ranks, blocked_ranks)))
    }

    /// The same with the ranks' places in their programs, where those are known: tags and numbers of the library's calls
    /// say nothing to whoever wrote the program.
    fn explained(&self, error: RunError) -> RunError {
        let (title, blocked) = match &error {
            _ if self.locations.is_empty() => return error,
            RunError::Deadlock { ranks, blocked } => {
                (format!("deadlock: {} of {ranks} ranks cannot go on", blocked.len()), blocked)
            }
            RunError::MismatchedCollective { blocked } => {
                ("mismatched collective: the ranks wait for each other in different calls".to_owned(), blocked)
            }
            _ => return error,
        };
        let of_blocked = |blocked: &Blocked| {
            let call = waiting(blocked);
            let location = self.locations.get(&blocked.rank);
            (blocked.rank, location.map_or_else(|| call.clone(), |location| format!("{location}  ({call})")))
        };
        let mut lines: BTreeMap<usize, String> = blocked.iter().map(of_blocked).collect();
        for (rank, location) in &self.locations {
            lines.entry(*rank).or_insert_with(|| location.clone());
        }
        let more = lines.len().saturating_sub(MAX_LISTED);
        let mut text = title;
        for (rank, line) in lines.iter().take(MAX_LISTED) {
            text += &format!("\n  rank {rank}: {line}");
        }
        if more > 0 {
            text += &format!("\n  and {more} more");
        }
        RunError::Setup(text + "\nall ranks must make the same collective calls in the same order")
    }

    /// The processes of the ranks that have started: rank, process number, host.
    pub fn processes(&self) -> impl Iterator<Item = (usize, u32, &str)> {
        self.processes.iter().map(|(rank, (pid, host))| (*rank, *pid, host.as_str()))
    }

    /// The caller, who watches the [`processes`](Diagnosis::processes), saw the one of this rank end at `now`. Hydra does
    /// not tell which it was. Ends that follow another rank's failure are its consequence, unless the launcher speaks of a
    /// signal: then that rank was only the first to be heard.
    ///
    /// `how` is what the system told of the end: `ended with exit code 3`, `was killed by signal 9 (Killed)`.
    pub fn died(&mut self, rank: usize, now: f64, how: Option<String>) {
        let how = how.map(|how| if how.starts_with("ended") { format!("{how} before the run was over") } else { how });
        self.dead.push((rank, now, how));
    }

    /// Why a run failed whose launcher ended with a code other than 0: a rank's own report where there is one, unless it
    /// may only be a symptom of the death of a rank that the launcher tells of or the caller saw; else the code alone.
    pub fn ended(&self, exit_code: i32) -> RunError {
        let unknown = || {
            let what = if self.processes.is_empty() {
                "before MPI had started on any rank: the launcher and the MPI library may belong to different MPIs"
            } else {
                "and no rank said why"
            };
            RunError::Setup(format!("the launcher ended with code {exit_code} {what}; see its output"))
        };
        self.cause().unwrap_or_else(unknown)
    }
}

/// The verdict on a list of lines that all came at once and were followed by silence: for tests and for logs.
pub fn diagnose<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<RunError> {
    let mut diagnosis = Diagnosis::default();
    for line in lines {
        diagnosis.feed(line, 0.0);
    }
    diagnosis.verdict(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weft_comm::{CollectiveKind, Tag, TagSelector};

    fn blocked(
        rank: usize,
        ranks: usize,
        from: usize,
        collective: Option<(CollectiveKind, u32)>,
        bytes: u64,
    ) -> String {
        let call = Call::Receive { from: Source::Rank(from), tag: TagSelector::Only(Tag::User(4)) };
        let collective = collective.map(Collective::of);
        let event = Event::Blocked { call, collective, seconds: 5.0, counter: 3, moving_bytes: bytes, at: None };
        Report { rank, ranks, event }.line()
    }

    fn line(rank: usize, ranks: usize, event: Event) -> String {
        Report { rank, ranks, event }.line()
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_a_deadlock() {
        let error = diagnose([&*blocked(0, 2, 1, None, 0), &*blocked(1, 2, 0, None, 0)]).unwrap();
        assert_eq!(
            error.to_string(),
            "deadlock: 2 of 2 ranks cannot go on\n  rank 0: receive from rank 1, tag 4\n  rank 1: receive from rank 0, tag 4"
        );
    }

    #[test]
    fn ranks_in_different_collectives_are_a_mismatch() {
        let barrier = Some((CollectiveKind::Barrier, 0));
        let scan = Some((CollectiveKind::Scan, 0));
        let error = diagnose([&*blocked(0, 2, 1, barrier, 0), &*blocked(1, 2, 0, scan, 0)]).unwrap();
        assert!(matches!(error, RunError::MismatchedCollective { .. }), "{error}");
    }

    #[test]
    fn a_rank_that_runs_or_goes_on_saves_the_run() {
        assert_eq!(diagnose([&*blocked(0, 2, 1, None, 0)]), None);
        let lines = [blocked(0, 2, 1, None, 0), blocked(1, 2, 0, None, 0), line(0, 2, Event::Resumed { counter: 4 })];
        assert_eq!(diagnose(lines.iter().map(String::as_str)), None);
    }

    #[test]
    fn ranks_that_have_ended_do_not_save_it() {
        let lines = [blocked(0, 2, 1, None, 0), line(1, 2, Event::Idle { counter: 9 })];
        let error = diagnose(lines.iter().map(String::as_str)).unwrap();
        assert!(error.to_string().starts_with("deadlock: 1 of 2 ranks cannot go on\n  rank 0:"), "{error}");
        let idle = [line(0, 2, Event::Idle { counter: 9 }), line(1, 2, Event::Idle { counter: 9 })];
        assert_eq!(diagnose(idle.iter().map(String::as_str)), None);
    }

    #[test]
    fn a_deadlock_shows_where_in_the_program_ranks_are() {
        let call = Call::Receive { from: Source::Rank(1), tag: TagSelector::Only(Tag::User(16385)) };
        let at = Some("p.py:8: x.gather()".to_owned());
        let event = Event::Blocked { call, collective: None, seconds: 2.0, counter: 1, moving_bytes: 0, at };
        let left = Event::Left { how: "sys.exit(3), p.py:6".into() };
        let lines =
            [line(0, 2, event), line(1, 2, left), line(1, 2, Event::Ended), line(1, 2, Event::Idle { counter: 1 })];
        let text = diagnose(lines.iter().map(String::as_str)).unwrap().to_string();
        let expected = "deadlock: 1 of 2 ranks cannot go on\n  rank 0: p.py:8: x.gather()  (waits for rank 1)\n  rank 1: it has \
                        left the program: sys.exit(3), p.py:6\nall ranks must make the same collective calls in the same order";
        assert_eq!(text, expected);
    }

    #[test]
    fn how_a_process_ended_is_told() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.feed(&line(0, 2, Event::Started { pid: 40, host: "vm".into() }), 0.0);
        diagnosis.died(1, 0.5, Some("ended with exit code 3".into()));
        diagnosis.died(0, 0.6, Some("was killed by signal 9 (Killed)".into()));
        diagnosis.feed("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", 1.0);
        let text = "rank 1: the process ended with exit code 3 before the run was over";
        assert_eq!(diagnosis.verdict(2.6).unwrap().to_string(), text);
        assert_eq!(diagnosis.ended(9).to_string(), text);
    }

    #[test]
    fn bytes_under_way_are_waited_for() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.feed(&blocked(0, 2, 1, None, 100_000_000), 0.0);
        diagnosis.feed(&blocked(1, 2, 0, None, 0), 1.0);
        assert_eq!(diagnosis.verdict(12.5), None);
        assert!(diagnosis.verdict(13.5).is_some());
    }

    #[test]
    fn a_failure_is_a_verdict_at_once_and_the_cause_is_preferred_to_its_echo() {
        let mut diagnosis = Diagnosis::default();
        let aborted = Failure::Aborted { rank: 0, why: "rank 1 failed".into() };
        diagnosis.feed(&line(0, 2, Event::Failed { error: aborted }), 0.0);
        diagnosis.feed(&line(1, 2, Event::Panicked { message: "index out of bounds".into() }), 0.0);
        let error = diagnosis.verdict(0.0).unwrap();
        assert_eq!(error.to_string(), "rank 1 panicked: index out of bounds");
        assert_eq!(diagnosis.ended(1), error);
    }

    #[test]
    fn a_process_that_the_caller_saw_die_is_named() {
        let mut diagnosis = Diagnosis::default();
        for (rank, pid) in [(0, 40), (1, 41)] {
            diagnosis.feed(&line(rank, 2, Event::Started { pid, host: "vm".into() }), 0.0);
        }
        assert_eq!(diagnosis.processes().collect::<Vec<_>>(), [(0, 40, "vm"), (1, 41, "vm")]);
        diagnosis.died(1, 0.5, None);
        diagnosis.died(0, 0.5, None);
        diagnosis.feed("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", 1.0);
        assert_eq!(diagnosis.ended(9).to_string(), "rank 1: the process was killed by signal 9 (Killed)");
    }

    fn library_failure(rank: usize) -> Event {
        let message = "process_vm_readv failed".to_owned();
        Event::Failed { error: Failure::Library { rank, call: "MPI_Recv".into(), message } }
    }

    #[test]
    fn a_death_is_told_instead_of_the_errors_that_it_causes() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.feed(&line(0, 3, Event::Started { pid: 40, host: "vm".into() }), 0.0);
        diagnosis.died(1, 1.0, None);
        diagnosis.feed(&line(0, 3, library_failure(0)), 1.1);
        diagnosis.died(0, 1.2, None);
        assert_eq!(diagnosis.verdict(1.5), None);
        let unsigned = "rank 1: the process ended before the run was over";
        assert_eq!(diagnosis.verdict(3.5).unwrap().to_string(), unsigned);
        assert_eq!(diagnosis.ended(1).to_string(), unsigned);
        diagnosis.feed("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", 1.3);
        assert_eq!(diagnosis.ended(9).to_string(), "rank 1: the process was killed by signal 9 (Killed)");
    }

    #[test]
    fn an_error_of_the_library_is_told_where_nobody_died_before_it() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.feed(&line(0, 2, library_failure(0)), 1.0);
        diagnosis.died(1, 1.1, None);
        let text = "rank 0: MPI_Recv failed: process_vm_readv failed";
        assert_eq!(diagnosis.verdict(1.3), None);
        assert_eq!(diagnosis.verdict(3.0).unwrap().to_string(), text);
        assert_eq!(diagnosis.ended(1).to_string(), text);
    }

    #[test]
    fn a_death_may_be_heard_of_after_the_error_that_it_causes() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.feed(&line(0, 2, library_failure(0)), 1.0);
        diagnosis.died(1, 1.01, None);
        assert_eq!(diagnosis.ended(1).to_string(), "rank 1: the process ended before the run was over");
        let mut diagnosis = Diagnosis::default();
        diagnosis.feed(&line(0, 2, library_failure(0)), 1.0);
        diagnosis.died(1, 1.3, None);
        diagnosis.feed("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", 1.4);
        assert_eq!(diagnosis.ended(9).to_string(), "rank 1: the process was killed by signal 9 (Killed)");
    }

    #[test]
    fn ranks_that_end_in_order_have_not_died() {
        let mut diagnosis = Diagnosis::default();
        diagnosis.died(0, 1.0, None);
        diagnosis.feed(&line(0, 2, Event::Ended), 1.1);
        assert_eq!(diagnosis.verdict(9.0), None);
        diagnosis.died(1, 2.0, None);
        assert_eq!(diagnosis.verdict(3.0), None);
        assert!(diagnosis.verdict(4.0).unwrap().to_string().starts_with("rank 1: the process ended"));
    }

    #[test]
    fn an_end_without_words_is_reported_with_its_code() {
        let mut diagnosis = Diagnosis::default();
        let text = diagnosis.ended(77).to_string();
        assert!(text.starts_with("the launcher ended with code 77 before MPI had started on any rank: "), "{text}");
        diagnosis.feed(&line(0, 2, Event::Started { pid: 40, host: "vm".into() }), 0.0);
        let text = diagnosis.ended(77).to_string();
        assert_eq!(text, "the launcher ended with code 77 and no rank said why; see its output");
    }

    proptest! {
        #[test]
        fn any_lines_may_come_in_any_order(
            lines in proptest::collection::vec((0usize..4, 0usize..5, 0u8..4, ".{0,20}"), 0..40), now in 0.0..1e6f64,
        ) {
            let mut diagnosis = Diagnosis::default();
            for (time, (rank, ranks, sort, text)) in lines.into_iter().enumerate() {
                let text = match sort {
                    0 => blocked(rank, ranks, 0, None, 1),
                    1 => line(rank, ranks, Event::Resumed { counter: 1 }),
                    2 => line(rank, ranks, Event::Idle { counter: 1 }),
                    _ => text,
                };
                diagnosis.feed(&text, time as f64);
            }
            diagnosis.verdict(now);
        }
    }
}
