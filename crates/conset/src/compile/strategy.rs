//! In which order candidates are tried, and when a search is content.

use super::candidates::{Best, Compilation};
use super::plan::Plan;
use super::{CompileError, apr, improve};
use crate::bounds::Demand;

/// Vertices over which the paper's compiler may search where its plan is one candidate: about a second.
const BASELINE_STEPS: usize = 20_000_000;

impl Compilation<'_> {
    /// The plan of the paper's compiler.
    pub fn baseline(&self) -> Result<Plan, CompileError> {
        self.within_limit(self.baseline_within(usize::MAX).ok_or(CompileError::Interrupted)?)
    }

    fn baseline_within(&self, steps: usize) -> Option<Plan> {
        let Demand { set, resources, network, hops } = self.demand;
        apr::route(set, resources, network, hops, self.least as usize, steps, self.control)
    }

    /// The paper's compiler as one candidate, where it takes no longer than what else is tried without effort.
    fn consider_baseline(&self, best: &mut Best) {
        let Demand { set, network, .. } = self.demand;
        // Each connection is looked for in every phase, and among all orders.
        let paths = (self.least as usize).saturating_mul(network.vertices);
        let one_round = set.connections.len().saturating_mul(paths.saturating_add(set.orders.len()));
        if one_round <= BASELINE_STEPS && !self.control.is_interrupted() {
            self.consider(self.baseline_within(BASELINE_STEPS), best);
            self.report("the compiler of 1993", best);
        }
    }

    fn within_limit(&self, plan: Plan) -> Result<Plan, CompileError> {
        match self.options.phases {
            Some(phases) if plan.len() > phases as usize => Err(CompileError::PhaseLimit { phases, least: self.least }),
            _ => Ok(plan),
        }
    }

    /// The best plan, which is no worse than one that was kept from another search.
    pub fn best(&self, kept: Option<Plan>) -> Result<Plan, CompileError> {
        let mut kept = kept.and_then(|plan| Some((self.candidate_seconds(&plan)?, plan)));
        if let Some((seconds, _)) = kept {
            self.control.knows(seconds);
        }
        let mut best: Best = None;
        self.symmetric(&mut best);
        if !self.control.is_interrupted() {
            self.circuits(&mut best);
        }
        if best.is_none() && !self.control.is_interrupted() {
            best = match kept.take() {
                Some(kept) => Some(kept),
                None => {
                    let plan = self.fewest()?;
                    let seconds = self.seconds(&plan);
                    self.control.tell(seconds, &plan);
                    Some((seconds, plan))
                }
            };
            improve::improve(self, &mut best);
            self.consider_baseline(&mut best);
        }
        let plans = best.into_iter().chain(kept);
        match plans.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, plan)) => Ok(plan),
            None => Err(CompileError::Interrupted),
        }
    }
}
