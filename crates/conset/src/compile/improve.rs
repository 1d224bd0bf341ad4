//! Phases and the time of their transfers together.
//!
//! The first plan has few phases, whatever their links carry. Here the time of each phase's transfers is limited as well,
//! and negotiation tries to keep the limits; for each number of phases the least limit it can keep is searched for by
//! bisection, until the effort is spent.

use super::balance;
use super::candidates::{Best, Compilation};
use super::negotiate::{Problem, negotiate};
use super::plan::{Placed, Plan, phase_seconds};
use crate::bounds::{Demand, lower_bounds};

/// Sweeps over the numbers of phases, each with more patience than the last.
const SWEEPS: usize = 12;
/// Rounds of negotiation in the first sweep.
const ROUNDS: usize = 40;

/// What is known of the plan that is improved.
#[derive(Clone, Copy)]
pub struct First {
    phases: usize,
    /// Seconds of the transfers of all phases.
    transfers: f64,
}

impl First {
    pub fn of(plan: &Plan, demand: &Demand) -> First {
        First { phases: plan.len(), transfers: transfer_seconds(plan, demand) }
    }
}

/// Replaces the best plan by better ones, until the effort is spent, the lower bound is reached or nothing is left to try.
///
/// `first` is the plan with few phases; the best may be another.
pub fn improve(compilation: &Compilation, first: First, best: &mut Best) {
    let demand = &compilation.demand;
    if compilation.control.is_over() {
        return;
    }
    let First { phases: mut fewest, transfers: longest } = first;
    let bounds = lower_bounds(demand, false);
    let least = bounds.iter().filter(|bound| bound.is_of_transfers()).map(|bound| bound.value).fold(0.0, f64::max);
    let mut stream = 100;
    for sweep in 0..SWEEPS {
        let rounds = ROUNDS << sweep.min(6);
        if sweep > 0 && fewest > compilation.least as usize {
            stream += 1;
            let plan = fewer(compilation, fewest - 1, 3 * rounds, stream, best);
            fewest -= usize::from(plan.is_some());
            compilation.consider(plan, best);
        }
        let mut longest = longest;
        let mut tried = false;
        for phases in fewest..=fewest + fewest / 3 + 2 {
            let switching = phases as f64 * demand.resources.switch_seconds();
            let hopeless = best.as_ref().is_some_and(|(known, _)| switching + least >= *known * (1.0 - 1e-9));
            if compilation.control.is_over() {
                return;
            }
            if hopeless || compilation.options.phases.is_some_and(|limit| phases > limit as usize) {
                break;
            }
            tried = true;
            // What does not beat the best is of no use.
            let most = best.as_ref().map_or(longest, |(known, _)| known - switching).min(longest);
            longest = longest.min(bisect(compilation, phases, (least, most), rounds, &mut stream, best));
        }
        if !tried && fewest <= compilation.least as usize {
            return;
        }
    }
}

/// A plan with fewer phases than were found first, whatever its transfers take.
pub fn fewer(compilation: &Compilation, phases: usize, rounds: usize, stream: u64, best: &Best) -> Option<Plan> {
    compilation.report(&format!("negotiating {phases} phases again"), best);
    compilation.negotiated(phases, None, rounds, stream)
}

/// The least time of transfers that `phases` phases were brought to, and the plan for it among the best.
fn bisect(
    compilation: &Compilation,
    phases: usize,
    (least, longest): (f64, f64),
    rounds: usize,
    stream: &mut u64,
    best: &mut Best,
) -> f64 {
    let demand = &compilation.demand;
    let unit = demand.set.uniform_words().map(|words| words as f64 * unit_seconds(compilation));
    let (mut low, mut high) = (least * (1.0 - 1e-9), longest);
    let tolerance = unit.map_or(0.002 * least, |unit| unit * 0.999);
    // The bound itself first: often it can be reached.
    let mut next = unit.map_or(least * 1.002, |unit| (least / unit - 1e-9).ceil() * unit);
    while high - low > tolerance && !compilation.control.is_over() {
        let doing = format!("{phases} phases with transfers of {:.3} ms", next * 1e3);
        compilation.report(&doing, best);
        let limits = limits(phases, next, unit);
        match attempt(compilation, &limits, rounds, stream) {
            Some(plan) => {
                high = transfer_seconds(&plan, demand).min(next);
                compilation.consider(Some(plan), best);
            }
            None => low = next,
        }
        next = unit.map_or((low + high) / 2.0, |unit| ((low + high) / 2.0 / unit + 1e-9).floor() * unit);
        if unit.is_some() && (next <= low * (1.0 + 1e-12) || next >= high * (1.0 - 1e-12)) {
            break;
        }
    }
    high
}

/// Seconds of the transfers of every phase.
fn transfer_seconds(plan: &Plan, demand: &Demand) -> f64 {
    plan.iter().map(|phase| phase_seconds(phase, demand.resources, demand.network)).sum()
}

/// Seconds of one word where links and accesses take it one after the other.
fn unit_seconds(compilation: &Compilation) -> f64 {
    let resources = compilation.demand.resources;
    if resources.link_seconds > 0.0 { resources.link_seconds } else { resources.access_seconds.max(f64::MIN_POSITIVE) }
}

/// `seconds` over the phases: evenly, or in whole transfers where all connections are alike.
fn limits(phases: usize, seconds: f64, unit: Option<f64>) -> Vec<f64> {
    let Some(unit) = unit else { return vec![seconds / phases as f64; phases] };
    let transfers = (seconds / unit).round() as usize;
    let (each, more) = (transfers / phases, transfers % phases);
    (0..phases).map(|phase| (each + usize::from(phase < more)).max(1) as f64 * unit).collect()
}

/// A plan within the limits: connections whole, and where that fails and splitting is allowed, the long ones of the
/// busiest nodes in halves.
fn attempt(compilation: &Compilation, limits: &[f64], rounds: usize, stream: &mut u64) -> Option<Plan> {
    let demand = &compilation.demand;
    let (set, resources, network) = (demand.set, demand.resources, demand.network);
    let whole: Vec<(u32, u64)> = set.connections.iter().enumerate().map(|(c, k)| (c as u32, k.words)).collect();
    if set.uniform_words().is_none() && set.orders.is_empty() {
        *stream += 1;
        if let Some(plan) = balanced(compilation, &whole, limits, *stream) {
            return Some(plan);
        }
    }
    *stream += 1;
    let problem = Problem { set, resources, network, parts: &whole, limits, fixed: None, latest: None, rounds };
    if let Some(plan) = negotiate(&problem, compilation.control, *stream) {
        return Some(plan);
    }
    if !compilation.options.split || set.uniform_words().is_some() || compilation.control.is_over() {
        return None;
    }
    let longest = limits.iter().copied().fold(0.0, f64::max) / resources.word_seconds() / 8.0;
    let halves: Vec<(u32, u64)> = whole
        .iter()
        .flat_map(|&(connection, words)| {
            let parts =
                if words as f64 > longest && words > 1 { vec![words / 2, words - words / 2] } else { vec![words] };
            parts.into_iter().map(move |words| (connection, words))
        })
        .collect();
    if halves.len() == whole.len() {
        return None;
    }
    *stream += 1;
    let problem =
        Problem { set, resources, network, parts: &halves, limits, fixed: None, latest: None, rounds: rounds * 3 / 2 };
    negotiate(&problem, compilation.control, *stream).map(joined)
}

/// Phases first, so that no access has more than its limit, then routes.
fn balanced(compilation: &Compilation, parts: &[(u32, u64)], limits: &[f64], stream: u64) -> Option<Plan> {
    let demand = &compilation.demand;
    let (set, resources, network) = (demand.set, demand.resources, demand.network);
    // Routes pass through nodes too: the first try leaves them room on average, the second none.
    let through: u32 = demand.hops.iter().map(|hops| hops.saturating_sub(1)).sum();
    let reserve = through.div_ceil((network.nodes * limits.len()) as u32);
    for reserve in [reserve, 0] {
        let phases = balance::balance(demand, parts, limits, reserve, compilation.control, stream)?;
        let problem =
            Problem { set, resources, network, parts, limits, fixed: Some(&phases), latest: None, rounds: 30 };
        if let Some(plan) = negotiate(&problem, compilation.control, stream) {
            return Some(plan);
        }
    }
    None
}

/// Parts of a connection that came into the same phase are one again.
fn joined(plan: Plan) -> Plan {
    let join = |phase: Vec<Placed>| {
        let mut joined: Vec<Placed> = Vec::with_capacity(phase.len());
        let mut index_of = rustc_hash::FxHashMap::default();
        for placed in phase {
            match index_of.get(&placed.connection) {
                Some(&index) => {
                    let known: &mut Placed = &mut joined[index];
                    known.words += placed.words;
                }
                None => {
                    index_of.insert(placed.connection, joined.len());
                    joined.push(placed);
                }
            }
        }
        joined
    };
    plan.into_iter().map(join).collect()
}
