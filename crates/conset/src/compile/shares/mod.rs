//! Words divided among phases: local search over the shares of connections.
//!
//! Negotiation keeps connections whole, or halves them. Where few connections of very different lengths meet at a node
//! they do not fill phases evenly then, and a phase takes the time of its busiest access or link. Here every phase gets
//! so much time until all has arrived; what is over its limit gives words to other phases, and routes change, until nothing is
//! over or it does not get better.

mod state;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use weft_base::generator;

use super::candidates::{Best, Compilation};
use super::plan::Plan;
use crate::bounds::{Demand, least_switching, longest_value, lower_bounds};
use state::{Share, State};

/// Keys of a state, beyond which it would take too much memory.
const MAX_KEYS: usize = 8_000_000;

/// Routes that are looked for before the best move known is taken.
const MAX_ROUTES: usize = 6;

/// Routes after which a move that makes it better is taken.
const ENOUGH_ROUTES: usize = 2;

/// Phases up to which the search starts boldly: with more of them it would not come back from there for long.
const MAX_BOLD: usize = 8;

/// What a share more or less is worth, so that equals end with fewer.
const SHARE: f64 = 0.01;

/// Moves without progress before a phase less is given up.
const PACKING_PATIENCE: usize = 200_000;

/// How far above the bound of all phases, without switching, is good enough.
const CLOSE: f64 = 1.01;

/// A move of words.
enum Move {
    /// To another phase: over the share that is there, or a new route.
    Words { share: u32, phase: usize, words: u64, route: Option<Vec<u32>> },
    /// Another route in the same phase.
    Route { share: u32, route: Vec<u32> },
}

/// A share that is to have fewer words, so that a key is over its limit no more, and what that changes.
struct Leaving {
    share: u32,
    connection: u32,
    /// All of its words, and as many as are over the limit.
    all: u64,
    part: u64,
    /// The change where all of them leave, and where the part does.
    changes: [f64; 2],
}

impl Leaving {
    fn of(state: &State, key: usize, share: u32) -> Leaving {
        let own = &state.shares[share as usize];
        let all = own.words;
        // To free a channel all words have to go.
        let is_channel = state.is_channels(state.phase_and_row(key).1);
        let over = state.words_of(own.phase, own.route.len() - 1, state.excess(key)).max(1);
        let part = if is_channel { all } else { all.min(over) };
        let leaving = Leaving { share, connection: own.connection, all, part, changes: [0.0; 2] };
        Leaving { changes: [all, part].map(|words| leaving.change(state, words)), ..leaving }
    }

    /// The change where so many words leave.
    fn change(&self, state: &State, words: u64) -> f64 {
        let own = &state.shares[self.share as usize];
        let less = state.load_change(self.share, -(words as i64));
        let change = state.change_of(own.phase, &own.rows, less);
        match words == self.all {
            true => change + state.change_of(own.phase, &own.channel_rows, -1) - SHARE,
            false => change,
        }
    }
}

/// Whether words of these connections may be divided.
pub fn applies(compilation: &Compilation) -> bool {
    let Demand { set, .. } = compilation.demand;
    compilation.options.split && set.orders.is_empty() && set.uniform_words().is_none()
}

/// How time is divided among phases.
#[derive(Clone)]
pub struct Allowed {
    /// Seconds that each phase has at least, until all has arrived, as long as there are as many.
    pub least: Vec<f64>,
}

impl Allowed {
    /// The same time for every phase.
    pub fn even(phases: usize) -> Allowed {
        Allowed { least: vec![0.0; phases] }
    }

    /// `seconds` over the phases: what each has at least, and then those more that have the least.
    fn divided(&self, seconds: f64) -> Vec<f64> {
        let all: f64 = self.least.iter().sum();
        if all >= seconds {
            return self.least.iter().map(|least| least / all * seconds).collect();
        }
        let mut sorted = self.least.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        // Those that have less than the level have the level.
        let (mut level, mut below) = (0.0, 0.0);
        for (count, least) in sorted.iter().enumerate() {
            let others = all - below;
            if count > 0 && (seconds - others) / count as f64 <= *least {
                break;
            }
            below += least;
            level = (seconds - (all - below)) / (count + 1) as f64;
        }
        self.least.iter().map(|least| least.max(level)).collect()
    }
}

/// Improves a plan without more phases, as long as `steps` last; whether one came within reach of the bound.
pub fn improve(
    compilation: &Compilation,
    plan: &Plan,
    allowed: &Allowed,
    steps: f64,
    stream: u64,
    best: &mut Best,
) -> bool {
    let demand = &compilation.demand;
    if plan.len() < 2 || plan.len() * keys_of_phase(demand) > MAX_KEYS {
        return false;
    }
    let bounds = lower_bounds(demand, false);
    let transfers = bounds.iter().filter(|bound| bound.is_of_transfers()).map(|bound| bound.value).fold(0.0, f64::max);
    let shortest = least_switching(demand) - demand.resources.switch_seconds();
    let least = transfers.max(longest_value(demand, false).unwrap_or(0.0)) + plan.len() as f64 * shortest;
    let end = compilation.control.steps() + steps;
    let state = State::new(demand, plan);
    let mut search = Search {
        state,
        allowed,
        random: generator(compilation.control.seed, stream),
        patience: 3000,
        bold: plan.len() <= MAX_BOLD,
        users: Vec::new(),
    };
    let mut high = search.state.arrivals().iter().sum::<f64>();
    while high > least * CLOSE && !search.is_over(compilation, end) {
        high = search.descend(compilation, (least, high), end, best);
        search.patience *= 2;
        search.bold = !search.bold;
    }
    high <= least * CLOSE
}

/// A plan with a phase less, if one is found while `steps` last: what was in the phase with the fewest words goes where it
/// costs least, and nodes that have too many channels open then are relieved one by one, whatever transfers take.
pub fn fewer(compilation: &Compilation, plan: &Plan, steps: f64, stream: u64) -> Option<Plan> {
    let demand = &compilation.demand;
    if plan.len() < 3 || plan.len() * keys_of_phase(demand) > MAX_KEYS {
        return None;
    }
    let words = |phase: &usize| plan[*phase].iter().map(|placed| placed.words).sum::<u64>();
    let last = (0..plan.len()).min_by_key(words)?;
    compilation.report(&format!("packing {} phases", plan.len() - 1), &None);
    let kept: Plan =
        plan.iter().enumerate().filter(|(phase, _)| *phase != last).map(|(_, phase)| phase.clone()).collect();
    let phases = kept.len();
    let mut state = State::new(demand, &kept);
    state.limit(&vec![f64::INFINITY; phases]);
    for placed in &plan[last] {
        let connection = placed.connection;
        let mut best: Option<(f64, usize, Vec<u32>)> = None;
        for phase in 0..phases {
            if let Some(there) = state.share_in(connection, phase) {
                best = Some((f64::NEG_INFINITY, phase, state.shares[there as usize].route.clone()));
                break;
            }
            let Some(route) = state.route(connection, phase, placed.words) else { continue };
            let change = state.change_of(phase, &state.channel_rows(&route), 1) + route.len() as f64 * SHARE;
            if best.as_ref().is_none_or(|(known, ..)| change < *known) {
                best = Some((change, phase, route));
            }
        }
        let (_, phase, route) = best?;
        match state.share_in(connection, phase) {
            Some(there) => state.resize(there, placed.words as i64),
            None => state.open(connection, phase, placed.words, route),
        }
    }
    let end = compilation.control.steps() + steps;
    let allowed = &Allowed::even(phases);
    let random = generator(compilation.control.seed, stream);
    let mut search = Search { state, allowed, random, patience: PACKING_PATIENCE, bold: false, users: Vec::new() };
    search.within_limits(compilation, end).then(|| search.state.plan())
}

/// Keys that a phase has.
fn keys_of_phase(demand: &Demand) -> usize {
    3 * demand.network.nodes + demand.network.links()
}

struct Search<'a> {
    state: State<'a>,
    allowed: &'a Allowed,
    random: Xoshiro256PlusPlus,
    /// Moves without progress before a limit is given up.
    patience: usize,
    /// Whether it takes long steps first and goes on where it is stuck.
    bold: bool,
    /// The shares of the key of the last step: kept, so that there is memory for those of the next.
    users: Vec<u32>,
}

impl Search<'_> {
    fn is_over(&self, compilation: &Compilation, end: f64) -> bool {
        compilation.control.is_over() || compilation.control.steps() >= end
    }

    /// The least seconds of all phases that the search comes to, in steps towards the bound that become shorter where one
    /// fails: from a plan that keeps the last limit the next is reached in few moves, and from one far above it in many.
    fn descend(&mut self, compilation: &Compilation, (least, mut high): (f64, f64), end: f64, best: &mut Best) -> f64 {
        let phases = self.state.phases;
        let mut step = if self.bold { 0.75 } else { 0.2 };
        let mut kept = self.state.clone();
        while high > least * CLOSE && step * (high - least) > 0.002 * high {
            let next = (high - step * (high - least)).max(least * CLOSE.sqrt());
            compilation.report(&format!("{phases} phases, words divided for {:.3} ms", next * 1e3), best);
            self.state.limit(&self.allowed.divided(next));
            let within = self.within_limits(compilation, end);
            let seconds = self.state.arrivals().iter().sum::<f64>();
            if seconds < high && self.state.is_plan() {
                high = seconds;
                compilation.consider(Some(self.state.plan()), best);
                kept = self.state.clone();
            }
            if self.is_over(compilation, end) {
                break;
            }
            if !within {
                step /= 2.0;
                if !self.bold && !self.state.is_plan() {
                    self.state.clone_from(&kept);
                }
            }
        }
        high
    }

    fn below(&mut self, count: usize) -> usize {
        (self.random.next_u64() % count as u64) as usize
    }

    /// Moves words until nothing is over its limit, or it has not become better for long.
    fn within_limits(&mut self, compilation: &Compilation, end: f64) -> bool {
        let control = compilation.control;
        let (mut least, mut since) = (f64::INFINITY, 0);
        let patience = self.patience + 4 * self.state.over.len();
        for round in 0.. {
            if self.state.over.is_empty() {
                return true;
            }
            if round % 64 == 0 {
                control.spend(std::mem::take(&mut self.state.steps));
                if self.is_over(compilation, end) {
                    return false;
                }
                let overuse = self.state.overuse();
                if overuse < least * (1.0 - 1e-3) {
                    (least, since) = (overuse, 0);
                } else {
                    since += 64;
                }
                if since > patience {
                    return false;
                }
            }
            let heat = 0.02 * (1.0 - since as f64 / patience as f64).max(0.0);
            self.step(heat);
        }
        false
    }

    /// One move for one key that is over its limit.
    fn step(&mut self, heat: f64) {
        self.state.steps += 32;
        let index = self.below(self.state.over.len());
        let key = self.state.over[index] as usize;
        let Some((change, chosen)) = self.best_move(key) else { return self.state.weigh(key) };
        let draw = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if change >= 0.0 {
            self.state.weigh(key);
        }
        if change < 0.0 || draw < (-change / heat.max(1e-12)).exp() {
            self.make(chosen);
        }
    }

    fn best_move(&mut self, key: usize) -> Option<(f64, Move)> {
        let (phase, row) = self.state.phase_and_row(key);
        let mut best: Option<(f64, Move)> = None;
        let mut routes = 0;
        let mut users = std::mem::take(&mut self.users);
        users.clone_from(&self.state.of_key[key]);
        let (first, shift) = (self.below(users.len().max(1)), self.below(self.state.phases));
        for index in 0..users.len() {
            let share = users[(first + index) % users.len()];
            if !self.state.is_access(row) && routes < MAX_ROUTES {
                routes += 1;
                self.consider_route(share, &mut best);
            }
            if routes >= ENOUGH_ROUTES && best.as_ref().is_some_and(|(change, _)| *change < 0.0) {
                break;
            }
            let leaving = Leaving::of(&self.state, key, share);
            for step in 0..self.state.phases {
                let target = (step + shift) % self.state.phases;
                if target != phase {
                    self.consider_phase(&leaving, target, &mut routes, &mut best);
                }
            }
        }
        self.users = users;
        best
    }

    /// Words of a share to another phase: all, what is over here, or what fits there.
    fn consider_phase(&mut self, leaving: &Leaving, phase: usize, routes: &mut usize, best: &mut Option<(f64, Move)>) {
        let state = &mut self.state;
        // Where nothing arrives in time anywhere else there is nothing else to count.
        state.steps += 2;
        let &Leaving { share, connection, all, part, .. } = leaving;
        let there = state.share_in(connection, phase);
        let (already, hops_there) = match there {
            Some(there) => (state.shares[there as usize].words, state.shares[there as usize].route.len() - 1),
            None => (0, state.hops(connection)),
        };
        if !state.is_in_time(phase, hops_there, already + 1) {
            return;
        }
        let ends = state.end_rows(connection);
        let slack = ends.iter().map(|&row| state.slack(state.key(phase, row))).min().unwrap_or(0);
        let slack = state.words_of(phase, hops_there, slack);
        let amounts = [all, part, slack.min(part)];
        for (index, &words) in amounts.iter().enumerate() {
            let is_new = words > 0 && !amounts[..index].contains(&words);
            if !is_new || !state.is_in_time(phase, hops_there, already + words) {
                continue;
            }
            state.steps += 16;
            let mut change = leaving.changes.get(index).copied().unwrap_or_else(|| leaving.change(state, words));
            let known = best.as_ref().map_or(f64::INFINITY, |(change, _)| *change);
            let route = match there {
                Some(there) => {
                    let more = state.load_change(there, words as i64);
                    change += state.change_of(phase, &state.shares[there as usize].rows, more);
                    None
                }
                None => {
                    let least = state.load(phase, hops_there, words) as i64;
                    if change + state.change_of(phase, &ends, least) >= known || *routes >= MAX_ROUTES {
                        continue;
                    }
                    *routes += 1;
                    let Some(route) = state.route(connection, phase, words) else { break };
                    let more = state.load(phase, route.len() - 1, words) as i64;
                    change += state.change_of(phase, &state.rows_of(connection, &route), more)
                        + state.change_of(phase, &state.channel_rows(&route), 1)
                        + SHARE;
                    Some(route)
                }
            };
            if change < known {
                *best = Some((change, Move::Words { share, phase, words, route }));
            }
        }
    }

    /// Another route for a share.
    fn consider_route(&mut self, share: u32, best: &mut Option<(f64, Move)>) {
        let state = &mut self.state;
        let Share { connection, phase, words, load: before, .. } = state.shares[share as usize];
        let Some(route) = state.route(connection, phase, words) else { return };
        let own = &state.shares[share as usize];
        if route == own.route {
            return;
        }
        let load = state.load(phase, route.len() - 1, words) as i64;
        let before = before as i64;
        let mut change = 0.0;
        let channels = (state.channel_rows(&route), &own.channel_rows, [1, 1]);
        for (rows, known, [more, less]) in [(state.rows_of(connection, &route), &own.rows, [load, before]), channels] {
            for &row in &rows {
                let less = if known.contains(&row) { less } else { 0 };
                change += state.change(state.key(phase, row), more - less);
            }
            for row in known.iter().filter(|row| !rows.contains(row)) {
                change += state.change(state.key(phase, *row), -less);
            }
        }
        if best.as_ref().is_none_or(|(known, _)| change < *known) {
            *best = Some((change, Move::Route { share, route }));
        }
    }

    fn make(&mut self, chosen: Move) {
        let state = &mut self.state;
        match chosen {
            Move::Route { share, route } => {
                let own = state.close(share);
                state.open(own.connection, own.phase, own.words, route);
            }
            Move::Words { share, phase, words, route } => {
                let connection = state.shares[share as usize].connection;
                state.resize(share, -(words as i64));
                match (route, state.share_in(connection, phase)) {
                    (Some(route), _) => state.open(connection, phase, words, route),
                    (None, Some(there)) => state.resize(there, words as i64),
                    (None, None) => unreachable!("words go to a share that is there, or over a route"),
                }
                if state.shares[share as usize].words == 0 {
                    state.close(share);
                }
            }
        }
    }
}
