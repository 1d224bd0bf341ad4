//! Guided ejection search: whole connections in phases of different lengths, none of which has anything over its limits.
//!
//! A connection that is in no phase yet goes where it ejects least: those that are in the way of its channels, or that an
//! access or a link would be through with too late beside it, are taken out and have to be put elsewhere. Each connection
//! counts for as much as it was hard to place, so that what finds its way into some phase only does not lose it to what
//! fits everywhere (Nagata and Bräysy 2009, there for vehicles with time windows).
//!
//! Negotiation has everything in its phase at once and finds out at rising prices who must leave. Here all limits are kept at
//! all times, and phases come to be full to a few per cent though each may have only connections that are short enough.
//!
//! A link or an access is through in time where it transfers what has the farthest to go first: then the last word has
//! arrived when the sum of all that is before it, and its own latency, have passed (Jackson 1955).

mod state;

use weft_base::generator;

use super::candidates::{Best, Compilation};
use crate::bounds::Demand;
use crate::network::Network;
use state::{MAX_HOPS, State};

/// Phases have so much more time at first than the longest connection that each has to have, and this share of the time of
/// the longest of all.
const MORE: f64 = 1.5;
const FLOOR: f64 = 0.55;

/// The share of the phases' channels that is left free where times are first set.
const FREE: f64 = 0.25;

/// By how much phases become longer as long as there is no plan, and how often the longest connection they may be at most.
const LONGER: f64 = 1.1;
const MAX_LONGER: f64 = 1.5;

/// Keys of all phases, beyond which they would take too much memory.
const MAX_KEYS: usize = 2_000_000;

/// By how much phases become shorter at once: at first, and at least.
const CUT: f64 = 0.08;
const MIN_CUT: f64 = 0.008;

/// How long a search may go on, in steps: until it has a first plan, and altogether.
#[derive(Clone, Copy)]
pub struct Steps {
    pub first: f64,
    pub all: f64,
}

/// The best plan of so many phases becomes shorter for as long as the steps last: the times of its phases. `None` where
/// there is none, on networks that are no grids, and where nodes have no limit of channels or anything else has one.
pub fn search(
    compilation: &Compilation,
    phases: usize,
    steps: Steps,
    stream: u64,
    best: &mut Best,
) -> Option<Vec<f64>> {
    let Demand { resources, network, .. } = compilation.demand;
    let (channels, grid) = (resources.node_channels?, network.grid.as_ref()?);
    let is_limited = resources.ports.is_some() || resources.link_channels.is_some();
    let is_far = compilation.demand.hops.iter().any(|&hops| hops > MAX_HOPS);
    if is_limited || is_far || phases * keys_of_phase(network) > MAX_KEYS {
        return None;
    }
    let from = compilation.control.steps();
    let alone = compilation.demand.alone_seconds();
    let longest = alone.iter().copied().fold(0.0, f64::max);
    let limits = profile(&compilation.demand, &alone, channels, phases);
    let random = generator(compilation.control.seed, stream);
    let state = State::new(&compilation.demand, grid, channels, alone, limits, random);
    let mut search = Search { state, longest };
    compilation.report(&format!("{phases} phases of different lengths"), best);
    search.first(compilation, from + steps.first)?;
    search.shorten(compilation, from + steps.all, best);
    Some(search.state.limits)
}

struct Search<'a> {
    state: State<'a>,
    /// Seconds of the longest connection on its own.
    longest: f64,
}

impl Search<'_> {
    /// All that waits comes into phases, which become longer until it does.
    fn first(&mut self, compilation: &Compilation, end: f64) -> Option<()> {
        self.state.wait();
        while !self.state.settle(compilation, end) {
            let is_over = compilation.control.is_over() || compilation.control.steps() >= end;
            if is_over || self.state.limits.iter().all(|&limit| limit > MAX_LONGER * self.longest) {
                return None;
            }
            self.state.limit(self.state.limits.iter().map(|limit| limit * LONGER).collect());
            self.state.wait();
        }
        Some(())
    }

    /// Gives the phases less time: all together, and where that fails one after the other, ever less.
    fn shorten(&mut self, compilation: &Compilation, end: f64, best: &mut Best) {
        let (phases, longest) = (self.state.limits.len(), self.longest);
        let mut kept = self.state.placements.clone();
        compilation.consider(Some(self.state.plan()), best);
        let mut cuts = vec![CUT; phases + 1];
        let mut next = phases;
        while compilation.control.steps() < end && !compilation.control.is_over() {
            let all = (0..=phases).map(|step| (next + step) % (phases + 1));
            let Some(cut) = all.into_iter().find(|&cut| cuts[cut] >= MIN_CUT) else { break };
            let known = self.state.limits.clone();
            let mut limits = known.clone();
            let chosen = if cut == phases { 0..phases } else { cut..cut + 1 };
            limits[chosen].iter_mut().for_each(|limit| *limit *= 1.0 - cuts[cut]);
            // One of them has the longest connections.
            if limits.iter().all(|&limit| limit < longest) {
                let most = (0..phases).max_by(|&a, &b| known[a].total_cmp(&known[b])).unwrap_or(0);
                limits[most] = longest;
            }
            if limits == known {
                cuts[cut] = 0.0;
                continue;
            }
            let total: f64 = limits.iter().sum();
            compilation.report(&format!("{phases} phases of different lengths in {:.3} ms", total * 1e3), best);
            self.state.limit(limits);
            next = if cut == phases { phases } else { cut + 1 };
            if self.state.settle(compilation, end) {
                kept.clone_from(&self.state.placements);
                compilation.consider(Some(self.state.plan()), best);
            } else {
                self.state.limits = known;
                self.state.restore(&kept);
                cuts[cut] /= 2.0;
            }
        }
    }
}

/// The times of so many phases at first: each has those that take long alone, and longer phases have more of them than
/// would fill them.
fn profile(demand: &Demand, alone: &[f64], channels: u32, phases: usize) -> Vec<f64> {
    let mut sorted: Vec<(f64, u32)> = alone.iter().copied().zip(demand.hops.iter().copied()).collect();
    sorted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let capacity = f64::from(channels) * demand.network.nodes as f64;
    let (mut taken, mut next) = (0.0, 0);
    let mut limits = Vec::with_capacity(phases);
    let longest = sorted.first().map_or(0.0, |first| first.0);
    for phase in 0..phases {
        let before = (phase as f64 - FREE * (phase + 1) as f64).max(0.0) * capacity;
        while next + 1 < sorted.len() && taken + f64::from(sorted[next].1 + 1) <= before {
            taken += f64::from(sorted[next].1 + 1);
            next += 1;
        }
        let least = sorted.get(next).map_or(0.0, |of| of.0);
        limits.push((least * MORE).min(longest).max(longest * FLOOR));
    }
    limits
}

/// Nodes, accesses and links of a phase.
fn keys_of_phase(network: &Network) -> usize {
    3 * network.nodes + network.links()
}

#[cfg(test)]
mod tests {
    use weft_machine::Topology;

    use super::*;
    use crate::bounds::least_phases;
    use crate::compile::{Control, Options, feasibility, plan};
    use crate::named::named;
    use crate::pattern::ConnectionSet;
    use crate::resources::Resources;

    fn resources(extents: &[usize]) -> Resources {
        let machine = weft_machine::find("iwarp64").unwrap();
        Resources { topology: Topology::Torus { extents: extents.to_vec() }, ..Resources::of(&machine).unwrap() }
    }

    /// A pattern whose connections have 1 to 10 words.
    fn of_many_lengths(resources: &Resources, pattern: &str) -> ConnectionSet {
        let mut set = named(pattern, &resources.topology, 1, 3).unwrap();
        for (index, connection) in set.connections.iter_mut().enumerate() {
            connection.words = 1 + (index as u64 * 7919) % 10;
        }
        set
    }

    /// The best plan after a search with so many phases, with its seconds, and the times of its phases.
    fn searched(resources: &Resources, set: &ConnectionSet, phases: usize, effort: f64) -> (Best, Option<Vec<f64>>) {
        let network = Network::new(&resources.topology);
        let hops = feasibility::hops(set, &network, &|| false).unwrap();
        let demand = Demand { set, resources, network: &network, hops: &hops };
        let (options, control) = (Options::default(), Control::new(effort, 0, &|| false, &|_| ()));
        let compilation = Compilation { demand, least: least_phases(&demand), options: &options, control: &control };
        let mut best = None;
        let steps = Steps { first: control.budget(), all: control.budget() };
        let limits = search(&compilation, phases, steps, 1, &mut best);
        (best, limits)
    }

    #[test]
    fn phases_have_what_they_have_time_for() {
        let resources = resources(&[16, 16]);
        let (set, network) = (of_many_lengths(&resources, "random:12"), Network::new(&resources.topology));
        let (best, limits) = searched(&resources, &set, 12, 2.5);
        let ((seconds, plan), limits) = (best.expect("there are channels to spare"), limits.unwrap());
        assert_eq!((plan.len(), plan::fault(&plan, &set, &network)), (12, None));
        let word = resources.word_seconds();
        assert!(plan.iter().all(|phase| plan::Load::of(phase, &network).fits(&resources, &network)));
        // The longest connection alone, in every phase.
        let hops = feasibility::hops(&set, &network, &|| false).unwrap();
        let all = set.connections.iter().zip(&hops);
        let alone = all.map(|(c, &hops)| c.words as f64 * word + resources.latency_seconds(hops as usize));
        let longest = alone.fold(0.0, f64::max);
        let even = resources.exchange_seconds((0..12).map(|_| resources.switch_seconds() + longest));
        assert!(seconds < even, "{seconds} of {even}");
        // Some phase has time for it, and others have less.
        assert!(limits.len() == 12 && limits.iter().any(|&limit| limit >= longest * (1.0 - 1e-9)));
        assert!(limits.iter().sum::<f64>() < 12.0 * longest);
        // The same seed makes the same plan.
        assert_eq!(searched(&resources, &set, 12, 2.5).0, Some((seconds, plan)));
    }

    #[test]
    fn without_channels_to_be_full_there_is_no_search() {
        let free = Resources { node_channels: None, ..resources(&[4, 4]) };
        let set = of_many_lengths(&free, "random:6");
        assert_eq!(searched(&free, &set, 3, 1.0), (None, None));
        let ports = Resources { ports: Some(2), ..resources(&[4, 4]) };
        assert_eq!(searched(&ports, &set, 3, 1.0), (None, None));
        // One phase is too few: it ends when its first steps do.
        assert_eq!(searched(&resources(&[4, 4]), &set, 1, 0.05), (None, None));
    }
}
