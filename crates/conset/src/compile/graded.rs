//! Phases of different lengths: the first have the connections that take longest alone, by their words and by their hops, and
//! later ones ever shorter ones. Short connections of few words, which are most, fit everywhere.

use super::candidates::Compilation;
use super::plan::Plan;
use super::shares::Allowed;
use crate::bounds::Demand;

/// Rounds of negotiation for each plan.
const ROUNDS: usize = 150;

/// Number of the first stream of random numbers, of which each try has one.
const STREAM: u64 = 23_000;

/// A plan of so many phases whose connections are where they are allowed, as tightly as negotiation finds routes. `None`
/// where it finds none, where nodes have no limit of channels, and where routes go through switches.
pub fn graded(compilation: &Compilation, phases: usize) -> Option<(Plan, Allowed)> {
    let alone = compilation.demand.alone_seconds();
    for slack in 1..phases {
        if compilation.control.is_over() {
            return None;
        }
        let longest = longest(&compilation.demand, &alone, phases, slack)?;
        let last = |of: &f64| longest.iter().take_while(|&most| of <= most).count().saturating_sub(1) as u32;
        let latest: Vec<u32> = alone.iter().map(last).collect();
        if let Some(plan) = compilation.negotiated(phases, Some(&latest), ROUNDS, STREAM + slack as u64) {
            return Some((plan, Allowed { least: longest }));
        }
    }
    None
}

/// For each phase the seconds that its connections may take alone: those that take longer fill as many phases as are before
/// it, less `slack`.
fn longest(demand: &Demand, alone: &[f64], phases: usize, slack: usize) -> Option<Vec<f64>> {
    let capacity = u64::from(demand.resources.node_channels?) * demand.network.nodes as u64;
    if demand.network.vertices != demand.network.nodes {
        return None;
    }
    let mut sorted: Vec<(f64, u32)> = alone.iter().copied().zip(demand.hops.iter().copied()).collect();
    sorted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let taken = sorted.iter().scan(0u64, |taken, &(_, hops)| {
        *taken += u64::from(hops) + 1;
        Some(*taken)
    });
    let taken: Vec<u64> = taken.collect();
    let of_phase = |phase: usize| {
        let before = phase.saturating_sub(slack) as u64 * capacity;
        sorted.get(taken.partition_point(|&taken| taken <= before)).or(sorted.last()).map(|&(seconds, _)| seconds)
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
        let (plan, allowed) = graded(&compilation, phases).expect("there are channels to spare");
        assert_eq!((plan.len(), plan::fault(&plan, &set, &network)), (phases, None));
        assert!(compilation.candidate_seconds(&plan).is_some(), "a phase cannot be open at once");
        let alone = demand.alone_seconds();
        for (phase, most) in plan.iter().zip(&allowed.least) {
            assert!(phase.iter().all(|placed| alone[placed.connection as usize] <= *most));
        }
        assert!(allowed.least.is_sorted_by(|a, b| a >= b) && allowed.least[0] > allowed.least[phases - 1]);
    }

    #[test]
    fn without_channels_there_is_nothing_to_be_full() {
        let machine = weft_machine::find("iwarp64").unwrap();
        let resources = Resources { node_channels: None, ..Resources::of(&machine).unwrap() };
        let set = named("torus", &resources.topology, 5, 3).unwrap();
        let network = Network::new(&resources.topology);
        let hops = feasibility::hops(&set, &network, &|| false).unwrap();
        let demand = Demand { set: &set, resources: &resources, network: &network, hops: &hops };
        assert_eq!(longest(&demand, &demand.alone_seconds(), 3, 1), None);
    }
}
