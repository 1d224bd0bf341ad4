//! Plans that may become the schedule: what each costs, the best so far, and where they come from.

use crate::bounds::Demand;

use super::control::Control;
use super::plan::{Load, Placed, Plan};
use super::staged::Staged;
use super::{CompileError, Options, circuits, negotiate, perfect, symmetric, timetable};

/// The best plan so far, and its seconds.
pub type Best = Option<(f64, Plan)>;

/// One run of a compiler.
pub struct Compilation<'a> {
    pub demand: Demand<'a>,
    /// A lower bound of the number of phases.
    pub least: u32,
    pub options: &'a Options,
    pub control: &'a Control<'a>,
}

impl Compilation<'_> {
    pub fn seconds(&self, plan: &Plan) -> f64 {
        let of_phase = self.phase_seconds();
        let seconds = |phase: &Vec<Placed>| self.demand.resources.switch_seconds() + of_phase(phase);
        self.demand.resources.exchange_seconds(plan.iter().map(seconds))
    }

    /// Seconds until all of a phase has arrived, by weft's own timetables.
    fn phase_seconds(&self) -> impl Fn(&[Placed]) -> f64 {
        let Demand { set, resources, network, .. } = self.demand;
        let orders = timetable::by_connection(&set.orders);
        move |phase| match orders.is_empty() {
            true => Staged::arrival_seconds(phase, resources, network),
            false => timetable::arrival(phase, &timetable::even(phase, &orders, resources, network), resources),
        }
    }

    /// The seconds of a plan that may be a candidate: it has few enough phases, and each can be open at once.
    pub fn candidate_seconds(&self, plan: &Plan) -> Option<f64> {
        self.candidate_seconds_by(plan, &self.phase_seconds())
    }

    fn candidate_seconds_by(&self, plan: &Plan, of_phase: &dyn Fn(&[Placed]) -> f64) -> Option<f64> {
        let Demand { resources, network, .. } = self.demand;
        if self.options.phases.is_some_and(|limit| plan.len() > limit as usize) {
            return None;
        }
        let mut seconds = Vec::with_capacity(plan.len());
        for phase in plan {
            let load = Load::of_until(phase, network, &|| self.control.must_end())?;
            if !load.fits(resources, network) {
                return None;
            }
            seconds.push(resources.switch_seconds() + of_phase(phase));
        }
        Some(resources.exchange_seconds(seconds.into_iter()))
    }

    /// Keeps a plan that is better than the best.
    pub fn consider(&self, plan: Option<Plan>, best: &mut Best) -> bool {
        let seconds = plan.as_ref().and_then(|plan| self.candidate_seconds(plan));
        self.keep(plan, seconds, best)
    }

    /// As [`Compilation::consider`], each phase by the timetable by which it takes less: where transfers wait for each
    /// other those that have far to go may go first.
    pub fn consider_timetables(&self, plan: Option<Plan>, best: &mut Best) -> bool {
        let Demand { set, resources, network, .. } = self.demand;
        let even = self.phase_seconds();
        let of_phase = |phase: &[Placed]| {
            let greedy = timetable::shorter(phase, even(phase), set, resources, network, &|| self.control.must_end());
            greedy.map_or_else(|| even(phase), |times| timetable::arrival(phase, &times, resources))
        };
        let seconds = plan.as_ref().and_then(|plan| self.candidate_seconds_by(plan, &of_phase));
        self.keep(plan, seconds, best)
    }

    fn keep(&self, plan: Option<Plan>, seconds: Option<f64>, best: &mut Best) -> bool {
        let (Some(plan), Some(seconds)) = (plan, seconds) else { return false };
        let better = best.as_ref().is_none_or(|(known, _)| seconds < known * (1.0 - 1e-12));
        if better {
            self.control.tell(seconds, &plan);
            *best = Some((seconds, plan));
        }
        better
    }

    pub fn report(&self, doing: &str, best: &Best) {
        self.control.report(doing, best.as_ref().map(|(seconds, plan)| (plan.len(), *seconds)));
    }

    /// Candidates for patterns that translations map onto themselves.
    pub fn symmetric(&self, best: &mut Best) {
        let Demand { set, resources, network, .. } = self.demand;
        let Some(symmetric) = symmetric::Symmetric::of(set, network, self.control) else { return };
        self.report("packing orbits", best);
        let packed = symmetric::pack(&symmetric, resources, self.least, self.control);
        let fewest = packed.as_ref().map(Vec::len);
        self.consider(packed, best);
        if let (Some(grid), Some(channels)) = (&network.grid, resources.node_channels)
            && let Some(phases) = perfect::perfect(set, grid)
        {
            self.report("perfect phases", best);
            for together in 1..=(channels as usize / 5).max(1) {
                self.consider(Some(perfect::merged(&phases, together)), best);
            }
        }
        let (Some(fewest), true) = (fewest, symmetric.offsets.len() <= 4096) else { return };
        // Few phases with high link loads against more with lower ones, as long as the effort lasts.
        let moves = (self.options.effort * 6_000_000.0 / (1.0 + symmetric.offsets.len() as f64 / 500.0)) as usize;
        let most = fewest + fewest / 4 + 1;
        for phases in fewest..=most {
            let switching = phases as f64 * resources.switch_seconds();
            let transfers = symmetric.words as f64 * symmetric.offsets.len() as f64 * resources.access_seconds;
            let hopeless = best.as_ref().is_some_and(|(known, _)| switching + transfers >= *known);
            if moves < 1000 || hopeless || self.control.is_over() {
                break;
            }
            self.report(&format!("annealing {phases} phases"), best);
            let share = moves / (most - fewest + 1).min(4);
            self.consider(symmetric::anneal(&symmetric, resources, phases, share, self.control), best);
        }
    }

    /// Candidates where nodes have ports of one switch.
    pub fn circuits(&self, best: &mut Best) {
        let Demand { set, resources, network, .. } = self.demand;
        if resources.link_channels == Some(1) && set.orders.is_empty() {
            // Where nodes or ports have limits besides, what does not fit is no candidate.
            self.report("matchings", best);
            self.consider(circuits::clos(set, &resources.topology), best);
        }
        let Some(ports) = resources.ports else { return };
        let single = network.vertices == network.nodes + 1;
        let free = resources.node_channels.is_none() && resources.link_channels.is_none();
        if !single || !free || !set.orders.is_empty() {
            return;
        }
        self.report("matchings", best);
        let route = |from, to| vec![from, network.nodes as u32, to];
        self.consider(Some(circuits::matchings(set, ports as usize, &route)), best);
        self.consider(Some(circuits::longest_first(set, ports, &route)), best);
    }

    /// A plan of so many phases with every connection whole, whatever its transfers take; `latest` is the last phase that
    /// each connection may be in.
    pub fn negotiated(&self, phases: usize, latest: Option<&[u32]>, rounds: usize, stream: u64) -> Option<Plan> {
        let Demand { set, resources, network, .. } = self.demand;
        let parts: Vec<(u32, u64)> = set.connections.iter().enumerate().map(|(c, k)| (c as u32, k.words)).collect();
        let limits = vec![f64::INFINITY; phases];
        let (parts, limits) = (&parts, &limits);
        let problem = negotiate::Problem { set, resources, network, parts, limits, fixed: None, latest, rounds };
        negotiate::negotiate(&problem, self.control, stream)
    }

    /// The fewest phases for which negotiation succeeds.
    pub fn fewest(&self) -> Result<Plan, CompileError> {
        let mut phases = self.least as usize;
        let mut attempts = 0;
        loop {
            if self.options.phases.is_some_and(|limit| phases > limit as usize) {
                let limit = self.options.phases.unwrap_or(0);
                return Err(CompileError::PhaseLimit { phases: limit, least: self.least });
            }
            self.report(&format!("negotiating {phases} phases"), &None);
            // The first attempts at the bound may be hopeless; later ones must succeed.
            let rounds = if attempts < 2 { 40 } else { 120 };
            if let Some(plan) = self.negotiated(phases, None, rounds, attempts) {
                return Ok(plan);
            }
            if self.control.is_interrupted() {
                return Err(CompileError::Interrupted);
            }
            attempts += 1;
            phases += 1 + phases / 100 + attempts as usize / 6;
        }
    }
}
