//! What a run of a program in FGHC gave: one form for one processing element and for many.

use std::collections::BTreeMap;

use serde::Serialize;
use weft_fghc::distributed::{Counts, End, Kind, Outcome, SiteCounts, Stuck};
use weft_fghc::engine::{Counters, Engine, Stop, Waiting};

use crate::fghc_options::FghcOutput;

/// Goals shown of a program that is interrupted.
const SHOWN_GOALS: usize = 10;

/// How a run ended, and what was counted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FghcResult {
    /// `done`, `suspended`, `failed`, `exit` or `interrupted`.
    pub status: &'static str,
    /// What failed.
    pub message: String,
    /// The code that the program ended itself with.
    pub exit_code: Option<i64>,
    /// The variables of the goal and their values.
    pub answers: Vec<(String, String)>,
    /// What the program wrote, where it was kept.
    pub output: Option<String>,
    /// The first of the goals that wait.
    pub waiting: Vec<FghcWaiting>,
    /// How many there are.
    pub waiting_count: u64,
    /// The next goals of a run that was interrupted.
    pub ready: Vec<String>,
    /// The first failures under metacalls, which the program saw as results; of one PE only.
    pub failures: Vec<String>,
    /// How many there were.
    pub failure_count: u64,
    /// Reductions by predicate, where they were asked for.
    pub counts: Option<Vec<(String, u64)>>,
    /// What was counted, by PE.
    pub pes: Vec<FghcPe>,
    /// What each goal with a pragma sent, on all PEs together, by its number in the code.
    pub sites: Vec<FghcSite>,
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// Of a described machine: what was assumed of it, a line each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<Vec<String>>,
    /// Of a described machine: packets that crossed its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Of a described machine: seconds charged for a reduction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction_time: Option<f64>,
}

/// A goal that waits.
#[derive(Clone, Debug, Serialize)]
pub struct FghcWaiting {
    /// The goal with its arguments.
    pub goal: String,
    /// The variables of which any would wake it.
    pub variables: Vec<String>,
}

/// What one PE counted.
#[derive(Clone, Debug, Serialize)]
pub struct FghcPe {
    /// Its number, from 0.
    pub pe: usize,
    /// Commitments to clauses of predicates.
    pub reductions: u64,
    /// Times that a goal suspended.
    pub suspensions: u64,
    /// Times that a goal woke.
    pub resumptions: u64,
    /// Collections of garbage.
    pub collections: u64,
    /// Seconds of work.
    pub work_s: f64,
    /// Seconds without a goal that could go on.
    pub idle_s: f64,
    /// Messages sent, those of the control of the run aside.
    pub messages: u64,
    /// Those of them that carried a goal.
    pub throw_goal: u64,
    /// Seconds of work that messages took, in virtual time.
    pub communication_s: f64,
    /// Messages sent by kind.
    pub sent: BTreeMap<&'static str, u64>,
    /// Messages received by kind.
    pub received: BTreeMap<&'static str, u64>,
}

/// What a goal with a pragma sent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FghcSite {
    /// Goals thrown.
    pub throws: u64,
    /// Constants, cells and references in their arguments.
    pub words: u64,
    /// References in their arguments.
    pub references: u64,
    /// Values that others asked for by these references.
    pub reads: u64,
    /// Values that others sent for these references.
    pub unifications: u64,
    /// Messages that there would not be without it.
    pub messages: u64,
}

impl FghcPe {
    fn alone(pe: usize, counters: &Counters, seconds: f64) -> FghcPe {
        FghcPe {
            pe,
            reductions: counters.reductions,
            suspensions: counters.suspensions,
            resumptions: counters.resumptions,
            collections: counters.collections,
            work_s: seconds,
            idle_s: 0.0,
            messages: 0,
            throw_goal: 0,
            communication_s: 0.0,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    fn of(counts: &Counts) -> FghcPe {
        let by_kind = |counts: &[u64]| Kind::ALL.iter().map(|kind| kind.name()).zip(counts.iter().copied()).collect();
        FghcPe {
            pe: counts.pe,
            reductions: counts.reductions,
            suspensions: counts.suspensions,
            resumptions: counts.resumptions,
            collections: counts.collections,
            work_s: counts.work,
            idle_s: counts.idle,
            messages: counts.messages(),
            throw_goal: counts.sent[Kind::ThrowGoal as usize],
            communication_s: counts.communication,
            sent: by_kind(&counts.sent),
            received: by_kind(&counts.received),
        }
    }
}

fn waiting_here(goals: &[Waiting]) -> Vec<FghcWaiting> {
    goals.iter().map(|goal| FghcWaiting { goal: goal.goal.clone(), variables: goal.variables.clone() }).collect()
}

fn waiting_anywhere(stuck: &Stuck) -> Vec<FghcWaiting> {
    let text = |pe: usize, goal: &str| format!("PE {pe}: {goal}");
    stuck
        .goals
        .iter()
        .map(|goal| FghcWaiting { goal: text(goal.pe, &goal.goal), variables: goal.variables.clone() })
        .collect()
}

/// What each goal with a pragma sent, on all PEs together.
fn sites(outcome: &Outcome) -> Vec<FghcSite> {
    let count = outcome.pes.iter().map(|pe| pe.sites.len()).max().unwrap_or(0);
    (0..count)
        .map(|site| {
            let of = |look: fn(&SiteCounts) -> u64| -> u64 {
                outcome.pes.iter().filter_map(|pe| pe.sites.get(site)).map(look).sum()
            };
            FghcSite {
                throws: of(|counts| counts.throws),
                words: of(|counts| counts.words),
                references: of(|counts| counts.references),
                reads: of(|counts| counts.reads),
                unifications: of(|counts| counts.unifications),
                messages: of(SiteCounts::messages),
            }
        })
        .collect()
}

impl FghcResult {
    /// Of one engine that stopped.
    pub(crate) fn of_engine(engine: &Engine, stop: &Stop, seconds: f64, counts: bool) -> FghcResult {
        let mut result = FghcResult {
            answers: engine.answers(),
            failures: engine.failures().iter().map(ToString::to_string).collect(),
            failure_count: engine.failure_count(),
            counts: counts.then(|| engine.counts()),
            pes: vec![FghcPe::alone(engine.node(), &engine.counters(), seconds)],
            seconds,
            ..FghcResult::default()
        };
        match stop {
            Stop::Idle if engine.finished() => result.status = "done",
            Stop::Idle | Stop::Budget => result.status = "suspended",
            Stop::Problem(problem) => (result.status, result.message) = ("failed", problem.to_string()),
            Stop::Interrupted => (result.status, result.ready) = ("interrupted", engine.ready_goals(SHOWN_GOALS)),
            Stop::Exit(code) => (result.status, result.exit_code) = ("exit", Some(*code)),
        }
        (result.waiting, result.waiting_count) = if matches!(result.status, "suspended" | "interrupted") {
            (waiting_here(&engine.waiting()), engine.waiting_count())
        } else {
            (waiting_here(engine.lost()), engine.lost_count())
        };
        result
    }

    /// Of many processing elements.
    pub(crate) fn of_outcome(outcome: &Outcome) -> FghcResult {
        let mut result = FghcResult {
            answers: outcome.answers.clone(),
            pes: outcome.pes.iter().map(FghcPe::of).collect(),
            sites: sites(outcome),
            seconds: outcome.elapsed,
            ..FghcResult::default()
        };
        match &outcome.end {
            End::Finished => result.status = "done",
            End::Suspended(stuck) => {
                result.status = "suspended";
                (result.waiting, result.waiting_count) = (waiting_anywhere(stuck), stuck.count);
            }
            End::Problem { pe, message } => {
                (result.status, result.message) = ("failed", format!("PE {pe}: {message}"));
            }
            End::Exit(code) => (result.status, result.exit_code) = ("exit", Some(*code)),
            End::Interrupted(left) => {
                (result.status, result.ready) = ("interrupted", left.ready.clone());
                (result.waiting, result.waiting_count) = (waiting_anywhere(&left.waiting), left.waiting.count);
            }
        }
        result
    }

    /// With what the program wrote, where it was kept; a run whose output is not whole has failed.
    pub(crate) fn with_output(mut self, kept: Option<&FghcOutput>) -> FghcResult {
        self.output = kept.map(FghcOutput::text);
        if let Some(problem) = kept.and_then(FghcOutput::problem)
            && self.status == "done"
        {
            (self.status, self.message) = ("failed", problem);
        }
        self
    }
}
