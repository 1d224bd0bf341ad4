//! The engine beside the evaluator: many programs in one, because translating costs most of the time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};

use weft_fghc::check::check;
use weft_fghc::distributed::{self, CopyLimits};
use weft_fghc::engine::{Counters, Engine, Loaded, Options, Rounds, Stop};
use weft_fghc::ir::{self, AtomId, Origin, PredicateId, Source};

use super::generate::Program;
use super::pes::{self, PeSchedule};
use super::{End, Outcome, Unfit, evaluate};

/// A program and what it must give.
#[derive(Clone)]
pub struct Case {
    pub program: Program,
    pub outcome: Outcome,
    /// Commitments by predicate, of those that were committed to.
    pub counts: BTreeMap<String, u64>,
}

/// Most reductions of a program that is compared.
const LIMIT: u64 = 1500;
/// Reductions after which the engine has gone on for ever.
const FOR_EVER: u64 = 1_000_000;

fn front_end(text: &str) -> Result<ir::Program, String> {
    let text = format!("module m.\n{text}");
    let checked = check(vec![Source { name: "random.fghc".into(), text }], None);
    let rendered = if checked.program.is_none() { checked.render(false) } else { String::new() };
    checked.program.ok_or(rendered)
}

fn find(program: &ir::Program, name: &str, arity: usize) -> Option<PredicateId> {
    let atom = |name: &str| -> Option<AtomId> { program.atoms.find(name) };
    program.find(atom("m")?, atom(name)?, arity)
}

fn start(program: &ir::Program, written: &Program) -> Option<PredicateId> {
    let last = written.predicates.last()?;
    find(program, &last.name, last.clauses.first()?.head.len())
}

/// What the front end says against a program, if anything.
pub fn refusal(program: &Program) -> Option<String> {
    front_end(&program.text()).err()
}

/// What a program must give on so many PEs.
pub fn expected(program: &Program, pes: usize) -> Result<Case, Unfit> {
    let mut ir = front_end(&program.text()).map_err(|_| Unfit::Refused)?;
    let start = start(&ir, program).ok_or(Unfit::Refused)?;
    ir.predicates[start.0 as usize].origin = Origin::Goal;
    let outcome = evaluate(&ir, start, pes, LIMIT)?;
    let counts = ir
        .iter()
        .map(|(id, _)| (ir.indicator(id), outcome.counts[id.0 as usize]))
        .filter(|(_, count)| *count > 0)
        .collect();
    Ok(Case { program: program.clone(), outcome, counts })
}

/// Programs compiled together, as they are interpreted and as they are translated.
pub struct Batch<'c> {
    cases: &'c [Case],
    starts: Vec<PredicateId>,
    program: ir::Program,
    interpreted: Loaded,
    native: Loaded,
    counting: bool,
}

/// What an engine gave.
struct Seen {
    end: String,
    answers: Vec<String>,
    written: Vec<String>,
    counters: Counters,
    counts: BTreeMap<String, u64>,
    problem: String,
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic while it is written").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// How an engine goes about it: the seed of a random order, how often it collects, and whether goals run breadth first.
pub type Schedule = (Option<u64>, Option<u64>, bool);

impl<'c> Batch<'c> {
    /// Compiles and translates programs. With `counting`, commitments are counted by predicate.
    pub fn new(cases: &'c [Case], counting: bool) -> Result<Batch<'c>, String> {
        // Some programs differ in their goal only.
        let mut together = Program { predicates: Vec::new() };
        let mut names = BTreeSet::new();
        for predicate in cases.iter().flat_map(|case| &case.program.predicates) {
            if names.insert(&predicate.name) {
                together.predicates.push(predicate.clone());
            }
        }
        let text = together.text();
        let mut program = front_end(&text)?;
        let mut starts = Vec::new();
        for case in cases {
            let start = start(&program, &case.program).ok_or("a program without a start")?;
            program.predicates[start.0 as usize].origin = Origin::Goal;
            starts.push(start);
        }
        let interpreted = Loaded::new(program.clone(), counting).map_err(|error| error.to_string())?;
        let native = interpreted.clone().translate();
        Ok(Batch { cases, starts, program, interpreted, native, counting })
    }

    /// Whether there is native code to compare.
    pub fn is_native(&self) -> bool {
        self.native.is_translated()
    }

    fn started(&self, loaded: &Loaded, index: usize) -> Loaded {
        let mut program = self.program.clone();
        program.start = Some(self.starts[index]);
        let mut other = loaded.clone();
        other.program = Arc::new(program);
        other
    }

    /// Runs one program by interpreter and native code; what differs.
    pub fn differences(&self, index: usize, schedules: &[Schedule]) -> Vec<String> {
        let case = &self.cases[index];
        let mut differences = Vec::new();
        let [interpreted, native] = [&self.interpreted, &self.native].map(|loaded| self.started(loaded, index));
        for &schedule in schedules {
            let one = self.run(&interpreted, schedule);
            let other = self.run(&native, schedule);
            for (name, seen) in [("interpreter", &one), ("native code", &other)] {
                differences.extend(self.difference(case, seen).map(|what| format!("{name}, {schedule:?}: {what}")));
            }
            // How much lives is a matter of the heap: native code may have gone along a reference where the interpreter has not.
            let without_heap = |counters: Counters| Counters { words_kept: 0, ..counters };
            if without_heap(one.counters) != without_heap(other.counters) {
                differences.push(format!(
                    "{schedule:?}: interpreter counts {:?}, native code {:?}",
                    one.counters, other.counters
                ));
            }
            if numbered(std::slice::from_ref(&one.problem)) != numbered(std::slice::from_ref(&other.problem))
                || one.end != other.end
            {
                differences
                    .push(format!("{schedule:?}: interpreter says {:?}, native code {:?}", one.problem, other.problem));
            }
        }
        differences
    }

    fn run(&self, loaded: &Loaded, (seed, collect_every, breadth_first): Schedule) -> Seen {
        let kept = Kept::default();
        let rounds = Rounds { breadth_first, counts_arguments: false };
        let output = Box::new(kept.clone());
        let options = Options { seed, collect_every, rounds, heap: 16 << 20, output, ..Options::default() };
        let mut engine = Engine::new(loaded, options).expect("memory for a small heap");
        assert!(engine.start(), "the program has a start");
        let stop = engine.run(FOR_EVER);
        engine.flush();
        let mut problem = String::new();
        let end = match stop {
            Stop::Idle if engine.finished() => "finished".to_string(),
            Stop::Idle => suspended(engine.waiting().into_iter().map(|waiting| waiting.goal)),
            Stop::Problem(description) => {
                problem = description.to_string();
                "failed".to_string()
            }
            other => format!("{other:?}"),
        };
        let counts = if self.counting {
            engine.counts().into_iter().filter(|(_, count)| *count > 0).collect()
        } else {
            BTreeMap::new()
        };
        let written = String::from_utf8_lossy(&kept.0.lock().expect("no panic while it is written")).into_owned();
        let answers = engine.answers().into_iter().map(|(_, answer)| answer).collect();
        Seen { end, answers, written: lines(&written), counters: engine.counters(), counts, problem }
    }

    fn difference(&self, case: &Case, seen: &Seen) -> Option<String> {
        let wanted = description(&case.outcome.end);
        if seen.end != wanted {
            return Some(format!("{} {}, not {wanted}", seen.end, seen.problem));
        }
        if case.outcome.end == End::Failed {
            return None;
        }
        let answers = numbered(&seen.answers);
        if answers != case.outcome.answers {
            return Some(format!("answers {answers:?}, not {:?}", case.outcome.answers));
        }
        if seen.written != case.outcome.written {
            return Some(format!("{:?} is written, not {:?}", seen.written, case.outcome.written));
        }
        if seen.counters.reductions != case.outcome.reductions {
            return Some(format!("{} reductions, not {}", seen.counters.reductions, case.outcome.reductions));
        }
        (self.counting && seen.counts != case.counts)
            .then(|| format!("counts {:?}, not {:?}", seen.counts, case.counts))
    }

    /// Runs one program on several PEs; what differs.
    pub fn difference_on_pes(&self, index: usize, native: bool, pe_schedule: PeSchedule) -> Option<String> {
        let case = &self.cases[index];
        let loaded = self.started(if native { &self.native } else { &self.interpreted }, index);
        let ran = pes::run(&loaded, pe_schedule);
        let end = match &ran.end {
            distributed::End::Finished => "finished".to_string(),
            distributed::End::Suspended(stuck) => suspended(stuck.goals.iter().map(|goal| goal.goal.clone())),
            distributed::End::Problem { .. } => "failed".to_string(),
            other => format!("{other:?}"),
        };
        let seen = Seen {
            end,
            answers: ran.answers.iter().map(|(_, answer)| answer.clone()).collect(),
            written: ran.lines.clone(),
            counters: Counters { reductions: ran.reductions(), ..Counters::default() },
            counts: case.counts.clone(),
            problem: if let distributed::End::Problem { message, .. } = &ran.end {
                message.clone()
            } else {
                String::new()
            },
        };
        // Which unbound variables of other PEs are one and the same is not known on PE 0.
        let mut case = case.clone();
        case.outcome.answers = case.outcome.answers.iter().map(|answer| without_names(answer)).collect();
        let seen = Seen { answers: seen.answers.iter().map(|answer| without_names(answer)).collect(), ..seen };
        self.difference(&case, &seen)
            .map(|what| format!("{}, {pe_schedule:?}: {what}", if native { "native" } else { "interpreted" }))
    }
}

/// A random way to run a program on PEs.
pub fn pe_schedule(random: &mut super::generate::Random, pes: usize) -> PeSchedule {
    let levels = *random.pick(&[1, 2, 3, usize::MAX]);
    let parts = 1 + random.below(40);
    PeSchedule {
        pes,
        seed: random.next(),
        random_goals: random.chance(50),
        breadth_first: random.chance(30),
        collect_every: if random.chance(60) { Some(1 + random.below(40) as u64) } else { None },
        copy: CopyLimits { levels, parts },
        slice: 1 + random.below(60) as u64,
    }
}

fn description(end: &End) -> String {
    match end {
        End::Finished => "finished".to_string(),
        End::Failed => "failed".to_string(),
        End::Suspended(goals) => format!("suspended {}", goals.join(" ")),
    }
}

/// Predicates of the goals that wait; the engine's own goals aside, into which calculations are divided.
fn suspended(goals: impl Iterator<Item = String>) -> String {
    let own = |name: &str| name.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut names: Vec<String> = goals
        .map(|goal| goal.split('(').next().unwrap_or_default().trim_matches('\'').to_string())
        .filter(|name| own(name))
        .collect();
    names.sort();
    format!("suspended {}", names.join(" "))
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

/// A text in which every variable is `_`.
fn without_names(text: &str) -> String {
    let mut parts = text.split('_');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + "_" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Answers in which variables are numbered in the order of their occurrence, and not by their place in a heap.
fn numbered(answers: &[String]) -> Vec<String> {
    let mut met: Vec<String> = Vec::new();
    answers
        .iter()
        .map(|answer| {
            let mut parts = answer.split('_');
            let mut text = parts.next().unwrap_or_default().to_string();
            for part in parts {
                if !part.starts_with(|c: char| c.is_ascii_digit()) {
                    text.push('_');
                    text.push_str(part);
                    continue;
                }
                let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let (name, rest) = part.split_at(digits);
                let known = met.iter().position(|other| other == name).unwrap_or_else(|| {
                    met.push(name.to_string());
                    met.len() - 1
                });
                text.push_str(&format!("_{known}{rest}"));
            }
            text
        })
        .collect()
}
