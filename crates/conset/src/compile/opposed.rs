//! Phases for connections of many hops, and phases for connections of many words: a phase takes the latency of its longest
//! route, and one with much time has long connections whole.
//!
//! The first phases have the connections of many hops, and little time for words; later ones have ever more time, and
//! connections of ever fewer hops. Short connections of few words, which are most, fit everywhere.

use super::candidates::Compilation;
use super::plan::Plan;
use super::shares::Allowed;
use crate::bounds::Demand;

/// What part of the time of a phase the one before has. With less, phases of few words have connections divided that they
/// could have whole, and with more those of many.
const SHRINKING: f64 = 0.85;

/// Rounds of negotiation for each plan.
const ROUNDS: usize = 60;

/// Number of the first stream of random numbers, of which each try has one.
const STREAM: u64 = 23_000;

/// A plan of so many phases whose connections are where they are allowed, as tightly as negotiation finds routes. `None`
/// where it finds none, where nodes have no limit of channels, and where routes go through switches.
pub fn opposed(compilation: &Compilation, phases: usize) -> Option<(Plan, Allowed)> {
    for slack in 1..phases {
        if compilation.control.is_over() {
            return None;
        }
        let hops = most_hops(&compilation.demand, phases, slack)?;
        let last = |&of: &u32| hops.iter().take_while(|&&most| of <= most).count().saturating_sub(1) as u32;
        let latest: Vec<u32> = compilation.demand.hops.iter().map(last).collect();
        if let Some(plan) = compilation.negotiated(phases, Some(&latest), ROUNDS, STREAM + slack as u64) {
            return Some((plan, Allowed { parts: parts(phases), hops }));
        }
    }
    None
}

/// What part of the time of all transfers each phase has.
fn parts(phases: usize) -> Vec<f64> {
    let parts: Vec<f64> = (0..phases).rev().map(|later| SHRINKING.powi(later as i32)).collect();
    let all: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / all).collect()
}

/// For each phase the hops that its connections may have: those of more fill as many phases as are before it, less `slack`.
fn most_hops(demand: &Demand, phases: usize, slack: usize) -> Option<Vec<u32>> {
    let capacity = u64::from(demand.resources.node_channels?) * demand.network.nodes as u64;
    if demand.network.vertices != demand.network.nodes {
        return None;
    }
    let mut sorted = demand.hops.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let taken = sorted.iter().scan(0u64, |taken, &hops| {
        *taken += u64::from(hops) + 1;
        Some(*taken)
    });
    let taken: Vec<u64> = taken.collect();
    let of_phase = |phase: usize| {
        let before = phase.saturating_sub(slack) as u64 * capacity;
        sorted.get(taken.partition_point(|&taken| taken <= before)).or(sorted.last()).copied()
    };
    (0..phases).map(of_phase).collect()
}

#[cfg(test)]
mod tests {
    use weft_machine::Topology;

    use super::*;
    use crate::bounds::least_phases;
    use crate::compile::{Control, Options, feasibility, plan};
    use crate::named::named;
    use crate::network::Network;
    use crate::resources::Resources;

    #[test]
    fn phases_have_what_they_may_have() {
        let machine = weft_machine::find("iwarp64").unwrap();
        let topology = Topology::Torus { extents: vec![8, 8] };
        let resources = Resources { topology, ..Resources::of(&machine).unwrap() };
        let set = named("random:12", &resources.topology, 5, 3).unwrap();
        let network = Network::new(&resources.topology);
        let hops = feasibility::hops(&set, &network, &|| false).unwrap();
        let demand = Demand { set: &set, resources: &resources, network: &network, hops: &hops };
        let (options, control) = (Options::default(), Control::new(10.0, 0, &|| false, &|_| ()));
        let least = least_phases(&demand);
        let compilation = Compilation { demand, least, options: &options, control: &control };
        let phases = least as usize + 2;
        let (plan, allowed) = opposed(&compilation, phases).expect("there are channels to spare");
        assert_eq!((plan.len(), plan::fault(&plan, &set, &network)), (phases, None));
        assert!(compilation.candidate_seconds(&plan).is_some(), "a phase cannot be open at once");
        for (phase, most) in plan.iter().zip(&allowed.hops) {
            assert!(phase.iter().all(|placed| hops[placed.connection as usize] <= *most));
        }
        assert!(allowed.hops.is_sorted_by(|a, b| a >= b) && allowed.hops[0] > allowed.hops[phases - 1]);
        assert!(allowed.parts.is_sorted() && (allowed.parts.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn without_channels_there_is_nothing_to_be_full() {
        let machine = weft_machine::find("iwarp64").unwrap();
        let resources = Resources { node_channels: None, ..Resources::of(&machine).unwrap() };
        let set = named("torus", &resources.topology, 5, 3).unwrap();
        let network = Network::new(&resources.topology);
        let hops = feasibility::hops(&set, &network, &|| false).unwrap();
        let demand = Demand { set: &set, resources: &resources, network: &network, hops: &hops };
        assert_eq!(most_hops(&demand, 3, 1), None);
    }
}
