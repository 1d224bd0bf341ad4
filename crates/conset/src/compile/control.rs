//! How a compilation is steered: effort, seed, interruption, progress.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::plan::Plan;

/// Steps of a router that count as a second of effort.
const STEPS_PER_SECOND: f64 = 6.0e7;

/// What a compilation is told while it runs, and what it tells.
///
/// Effort is counted in steps of the routers, not on a clock, so that the same seed gives the same schedule on every
/// machine; a second is nominal.
pub struct Control<'a> {
    budget: f64,
    spent: Cell<f64>,
    pub seed: u64,
    interrupted: &'a dyn Fn() -> bool,
    progress: &'a dyn Fn(&Progress),
    improved: &'a dyn Fn(&Plan),
    /// Seconds of the best plan that whoever is told knows of.
    known: Cell<f64>,
    stopped: Cell<Option<Instant>>,
}

/// How long the best so far may take to become a schedule after somebody has had enough.
const PATIENCE: Duration = Duration::from_millis(700);

/// How far a compilation is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is being tried.
    pub doing: String,
    /// Share of the effort that is spent, 0 to 1.
    pub spent: f64,
    /// Phases and predicted seconds of the best schedule so far.
    pub best: Option<(usize, f64)>,
}

impl<'a> Control<'a> {
    /// `effort` in nominal seconds; `interrupted` is asked often and cheaply; `progress` is told now and then.
    pub fn new(
        effort: f64,
        seed: u64,
        interrupted: &'a dyn Fn() -> bool,
        progress: &'a dyn Fn(&Progress),
    ) -> Control<'a> {
        let (spent, known, stopped) = (Cell::new(0.0), Cell::new(f64::INFINITY), Cell::new(None));
        Control {
            budget: effort * STEPS_PER_SECOND,
            spent,
            seed,
            interrupted,
            progress,
            improved: &|_| (),
            known,
            stopped,
        }
    }

    /// The same, with `improved` told every plan that is better than all before it.
    pub fn telling(self, improved: &'a dyn Fn(&Plan)) -> Control<'a> {
        Control { improved, ..self }
    }

    /// Whoever is told knows of a plan with so many seconds.
    pub fn knows(&self, seconds: f64) {
        self.known.set(seconds);
    }

    /// Tells a plan, if it is better than all that are known.
    pub fn tell(&self, seconds: f64, plan: &Plan) {
        if seconds < self.known.replace(seconds.min(self.known.get())) {
            (self.improved)(plan);
        }
    }

    /// Counts steps.
    pub fn spend(&self, steps: usize) {
        self.spent.set(self.spent.get() + steps as f64);
    }

    /// Whether the effort is spent or the user has had enough.
    pub fn is_over(&self) -> bool {
        self.spent.get() >= self.budget || self.is_interrupted()
    }

    /// Whether the user has had enough; what is found then is kept.
    pub fn is_interrupted(&self) -> bool {
        if self.stopped.get().is_none() && (self.interrupted)() {
            self.stopped.set(Some(Instant::now()));
        }
        self.stopped.get().is_some()
    }

    /// Whether the user has had enough for so long that what was found is given up too.
    pub fn must_end(&self) -> bool {
        self.is_interrupted() && self.stopped.get().is_some_and(|since| since.elapsed() > PATIENCE)
    }

    /// Steps spent so far.
    pub fn steps(&self) -> f64 {
        self.spent.get()
    }

    /// Steps of the whole effort.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    pub fn report(&self, doing: &str, best: Option<(usize, f64)>) {
        let spent = if self.budget > 0.0 { (self.spent.get() / self.budget).min(1.0) } else { 1.0 };
        (self.progress)(&Progress { doing: doing.to_owned(), spent, best });
    }
}
