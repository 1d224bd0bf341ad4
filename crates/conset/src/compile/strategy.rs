//! In which order candidates are tried, and when a search is content.

use super::candidates::{Best, Compilation};
use super::improve::First;
use super::plan::Plan;
use super::shares::Allowed;
use super::{CompileError, apr, ejection, graded, improve, nested, shares};
use crate::bounds::{Demand, least_switching, longest_value, lower_bounds};

/// Vertices over which the paper's compiler may search where its plan is one candidate: a second or two.
const BASELINE_STEPS: usize = 60_000_000;

/// Vertices of all phases for each connection, beyond which that is not even tried: it would not end.
const BASELINE_SIZE: usize = 4_000_000_000;

/// The same where symmetry or matchings have given a plan of few phases, which larger sets are hardly routed in.
const BASELINE_SIZE_BESIDE: usize = 20_000_000;

/// Vertices over which it may search beside such a plan, and as many more for each connection: some hundredths of a second,
/// which is about what those plans take. It ends in these where connections are few, and rarely finds better otherwise.
const BASELINE_STEPS_BESIDE: (usize, usize) = (500_000, 16);

/// Share of the effort that goes into dividing words among the phases of one plan.
const DIVIDING: f64 = 0.15;

/// Phases up to which their lengths are first sought with words divided: few connections fill such phases, and where they
/// are long, dividing them saves more.
const MAX_DIVIDED: usize = 8;

/// Share of the effort that goes into phases of different lengths with whole connections, and the share of that in which there
/// has to be a plan with a phase less.
const EJECTING: f64 = 0.75;
const EJECTING_FEWER: f64 = 0.2;

/// Share of the effort that goes into packing connections into a phase less.
const PACKING: f64 = 0.1;

/// Share of the effort that goes into the first plan, where all phases are to take equally long: mostly others come nearer
/// to the bound.
const EVEN: f64 = 0.12;

/// Share of the effort that is left then for the best of these plans.
const LAST: f64 = 0.9;

/// How far above the bound of phases and transfers together a plan is good enough.
const NEAR_BOUND: f64 = 1.02;

/// Rounds of negotiation for a plan with fewer phases.
const FEWER_ROUNDS: usize = 150;

impl Compilation<'_> {
    /// The plan of the paper's compiler.
    pub fn baseline(&self) -> Result<Plan, CompileError> {
        let plan = self.baseline_within(usize::MAX, usize::MAX, None);
        self.within_limit(plan.ok_or(CompileError::Interrupted)?)
    }

    fn baseline_within(&self, phases: usize, steps: usize, seconds: Option<f64>) -> Option<Plan> {
        let Demand { set, resources, network, hops } = self.demand;
        let limits = apr::Limits { phases: (self.least as usize, phases), steps, seconds };
        apr::route(set, resources, network, hops, limits, self.control)
    }

    /// The paper's compiler as one candidate, so that nothing is worse than it, where it ends in reasonable time and can
    /// be better than the best.
    fn consider_baseline(&self, size: usize, steps: usize, best: &mut Best) {
        let Demand { set, network, .. } = self.demand;
        // Each connection is looked for in every phase, and among all orders.
        let paths = (self.least as usize).saturating_mul(network.vertices);
        let one_round = set.connections.len().saturating_mul(paths.saturating_add(set.orders.len()));
        if one_round <= size && !self.control.is_interrupted() {
            let seconds = best.as_ref().map(|(seconds, _)| *seconds);
            let phases = seconds.map_or(usize::MAX, |seconds| self.whole_phases_in(seconds));
            self.consider_timetables(self.baseline_within(phases, steps, seconds), best);
            self.report("the compiler of 1993", best);
        }
    }

    /// Words divided better among the phases of the best plan, then among more or fewer phases; whether nothing is left
    /// to gain.
    fn divided(&self, best: &mut Best) -> bool {
        let Some((_, plan)) = best.clone() else { return false };
        // Every further plan is improved from here on, so it is worth some time that they have no phase too many.
        let plan = self.packed(plan, best);
        let steps = self.control.budget() * DIVIDING;
        let ejected = self.ejected(plan.len(), best);
        let even = Allowed::even(plan.len());
        let close = shares::improve(self, &plan, &even, self.control.budget() * EVEN, 20_000, best);
        let mut kind = even;
        let is_near = close && self.is_near_bound(best);
        let is_graded = is_near || ejected.is_some();
        if let Some((other, allowed)) = (!is_graded).then(|| graded::graded(self, plan.len())).flatten() {
            let known = best.as_ref().map_or(f64::INFINITY, |(seconds, _)| *seconds);
            self.consider(Some(other.clone()), best);
            shares::improve(self, &other, &allowed, steps, 23_000, best);
            if best.as_ref().is_some_and(|(seconds, _)| *seconds < known) {
                kind = allowed;
            }
        }
        let mut more = plan.clone();
        for stream in 20_001.. {
            more.push(Vec::new());
            let known = best.as_ref().map_or(f64::INFINITY, |(seconds, _)| *seconds);
            if more.len() > self.phases_in(known) || self.control.is_over() {
                break;
            }
            shares::improve(self, &more, &Allowed::even(more.len()), steps / 2.0, stream, best);
            if best.as_ref().is_none_or(|(seconds, _)| *seconds >= known) {
                break;
            }
        }
        if close && plan.len() <= self.least as usize {
            // What is left is latency, which shorter routes may save.
            return self.is_near_bound(best);
        }
        let is_near = self.is_near_bound(best);
        let left = if is_near { steps } else { (self.control.budget() - self.control.steps()) * LAST };
        let last = best.as_ref().map(|(_, plan)| plan.clone());
        let improved = |plan: &Plan, best: &mut Best| {
            let kinds = [ejected.as_ref(), Some(&kind)];
            let same = kinds.into_iter().flatten().find(|kind| kind.least.len() == plan.len());
            let allowed = same.cloned().unwrap_or_else(|| Allowed::even(plan.len()));
            shares::improve(self, plan, &allowed, left, 22_000, best)
        };
        let is_close = last.is_some_and(|plan| improved(&plan, best) && plan.len() <= self.least as usize);
        is_close || is_near
    }

    /// Phases of different lengths with whole connections, as many or one less, where there are many: their times, if the
    /// best plan has become one of them.
    fn ejected(&self, phases: usize, best: &mut Best) -> Option<Allowed> {
        if phases <= MAX_DIVIDED || self.is_near_bound(best) {
            return None;
        }
        let all = self.control.budget() * EJECTING;
        let fewer = (phases > self.least as usize).then_some((phases - 1, EJECTING_FEWER));
        for (phases, share) in fewer.into_iter().chain([(phases, 1.0)]) {
            let known = best.as_ref().map_or(f64::INFINITY, |(seconds, _)| *seconds);
            let steps = ejection::Steps { first: all * share, all };
            let limits = ejection::search(self, phases, steps, 25_000 + phases as u64, best);
            if best.as_ref().is_some_and(|(seconds, _)| *seconds < known) {
                return limits.map(|least| Allowed { least });
            }
        }
        None
    }

    /// The plan, or one with as few phases as there can be, or as are found, whatever their transfers take.
    fn packed(&self, mut plan: Plan, best: &mut Best) -> Plan {
        for stream in 21_000.. {
            if plan.len() <= self.least as usize || self.control.is_over() {
                break;
            }
            let fewer = improve::fewer(self, plan.len() - 1, FEWER_ROUNDS, stream, best)
                .or_else(|| shares::fewer(self, &plan, self.control.budget() * PACKING, stream));
            let Some(fewer) = fewer else { break };
            self.consider(Some(fewer.clone()), best);
            plan = fewer;
        }
        plan
    }

    fn is_near_bound(&self, best: &Best) -> bool {
        let bounds = lower_bounds(&self.demand, false);
        let least = bounds.iter().filter(|bound| bound.unit == "s").map(|bound| bound.value).fold(0.0, f64::max);
        best.as_ref().is_some_and(|(seconds, _)| *seconds <= least * NEAR_BOUND)
    }

    /// The most phases for which a plan can take less than `seconds`.
    fn phases_in(&self, seconds: f64) -> usize {
        self.phases_besides(seconds, self.least_transfers())
    }

    /// The same where no connection is divided: the longest of all phases take something besides.
    fn whole_phases_in(&self, seconds: f64) -> usize {
        let longest = longest_value(&self.demand, true).unwrap_or(0.0);
        self.phases_besides(seconds, self.least_transfers().max(longest))
    }

    fn phases_besides(&self, seconds: f64, transfers: f64) -> usize {
        let left = seconds * (1.0 - 1e-12) - transfers - self.demand.resources.leaving_seconds;
        // Where switching costs nothing this is infinite, and as many as there are numbers.
        (left / least_switching(&self.demand)) as usize
    }

    /// Seconds that the transfers of all phases take at least.
    fn least_transfers(&self) -> f64 {
        let bounds = lower_bounds(&self.demand, false);
        bounds.iter().filter(|bound| bound.is_of_transfers()).map(|bound| bound.value).fold(0.0, f64::max)
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
            if let Some(first) = best.as_ref().map(|(_, plan)| First::of(plan, &self.demand)) {
                // First, so that a search that is interrupted is no worse than it either.
                self.consider_baseline(BASELINE_SIZE, BASELINE_STEPS, &mut best);
                let is_through = if shares::applies(self) {
                    self.divided(&mut best)
                } else {
                    nested::nested(self, &mut best);
                    false
                };
                if !is_through {
                    improve::improve(self, first, &mut best);
                }
            }
        } else {
            let (once, each) = BASELINE_STEPS_BESIDE;
            let steps = once + each * self.demand.set.connections.len();
            self.consider_baseline(BASELINE_SIZE_BESIDE, steps, &mut best);
        }
        let plans = best.into_iter().chain(kept);
        match plans.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, plan)) => Ok(plan),
            None => Err(CompileError::Interrupted),
        }
    }
}
