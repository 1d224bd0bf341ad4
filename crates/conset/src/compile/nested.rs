//! Long connections together: where what a phase takes is its longest connection, phases of long ones and of short ones
//! take less than phases of all kinds.

use super::candidates::{Best, Compilation};
use crate::bounds::{Demand, longest_value, lower_bounds};

/// Thresholds that are tried for each phase: as many halvings of what is open.
const HALVINGS: usize = 4;

/// Rounds of negotiation for each.
const ROUNDS: usize = 30;

/// Number of the first stream of random numbers, of which each try has one.
const STREAM: u64 = 30_000;

/// Tries plans with as many phases as the best, in which the last phase has short connections only, the one before longer
/// ones, and so on, as far as negotiation finds routes; where the longest connections of phases decide about the time.
pub fn nested(compilation: &Compilation, best: &mut Best) {
    let Demand { set, .. } = compilation.demand;
    let Some(phases) = best.as_ref().map(|(_, plan)| plan.len()) else { return };
    if !set.orders.is_empty() || phases < 2 || !is_decided_by_longest(&compilation.demand) {
        return;
    }
    let alone = compilation.demand.alone_seconds();
    let mut sorted = alone.clone();
    sorted.sort_by(f64::total_cmp);
    // How many of the shortest connections each phase may have; the first may have all.
    let mut shortest = vec![sorted.len(); phases];
    let mut stream = STREAM;
    for phase in (1..phases).rev() {
        let (mut low, mut high) = (0, sorted.len());
        for _ in 0..HALVINGS {
            if compilation.control.is_over() {
                return;
            }
            let middle = (low + high) / 2;
            let mut tried = shortest.clone();
            tried[phase] = middle;
            let longest = |count: &usize| count.checked_sub(1).map_or(f64::NEG_INFINITY, |last| sorted[last]);
            let longest: Vec<f64> = tried.iter().map(longest).collect();
            compilation.report(&format!("long connections together in {phases} phases"), best);
            if attempt(compilation, &alone, &longest, stream, best) {
                (shortest, high) = (tried, middle);
            } else {
                low = middle;
            }
            stream += 1;
        }
        // Phases before may be no shorter than this one.
        if high == sorted.len() {
            return;
        }
    }
}

/// Whether connections find routes where each phase has none that take longer alone than it says; the last phase says
/// least.
fn attempt(compilation: &Compilation, alone: &[f64], longest: &[f64], stream: u64, best: &mut Best) -> bool {
    let last = |seconds: &f64| longest.iter().take_while(|&most| seconds <= most).count().saturating_sub(1) as u32;
    let latest: Vec<u32> = alone.iter().map(last).collect();
    let plan = compilation.negotiated(longest.len(), Some(&latest), ROUNDS, stream);
    let is_routed = plan.is_some();
    compilation.consider(plan, best);
    is_routed
}

/// Whether the longest connections of phases bound the time more than the words of any node or link do.
fn is_decided_by_longest(demand: &Demand) -> bool {
    let bounds = lower_bounds(demand, false);
    let words = bounds.iter().filter(|bound| bound.is_of_transfers()).map(|bound| bound.value).fold(0.0, f64::max);
    longest_value(demand, true).is_some_and(|longest| longest > words)
}
