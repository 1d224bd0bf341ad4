//! Every lower bound computed again from its certificate.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use weft_base::Interrupt;
use weft_machine::Access;

use super::graph::Graph;
use super::{Fault, Gathered, ROUNDING, close, go_on};
use crate::resources::Resources;
use crate::schedule::{Certificate, LowerBound, Schedule, WeightedLink};

/// The value of a bound computed from its certificate must be the one given.
pub fn check_bound(
    bound: &LowerBound,
    schedule: &Schedule,
    connections: &[Gathered],
    graph: &Graph,
    hops: &Hops,
    interrupt: &Interrupt,
) -> Result<(), Fault> {
    let fail = |reason: &str| Fault::Bound { name: bound.name.clone(), reason: reason.to_owned() };
    let resources = &schedule.resources;
    go_on(interrupt)?;
    let check = Check { resources, connections, graph, hops, interrupt };
    let (value, unit) = match &bound.certificate {
        Certificate::NodeChannels { weights } => (check.node_channels(weights), "phases"),
        Certificate::LinkChannels { links } => (check.link_channels(links), "phases"),
        Certificate::Degree { node } => (check.degree(*node), "phases"),
        Certificate::Access { node } => (check.access(*node), "s"),
        Certificate::LinkBandwidth { links } => (check.link_bandwidth(links), "s"),
        Certificate::Cut { inside } => (check.cut(inside), "s"),
        Certificate::Chain { connections } => (check.chain(connections, schedule), "s"),
        Certificate::PhasesAndLoad { hop, connection } => (check.phases_and_load(*hop, *connection), "s"),
        Certificate::OpenAtOnce { transfers } => (check.open_at_once(transfers.as_deref(), schedule), "s"),
        Certificate::Longest { phases, whole } => (check.longest(phases, *whole, schedule), "s"),
        Certificate::Sum { phases, transfers } => (check.sum(phases, transfers.as_deref(), schedule), "s"),
    };
    go_on(interrupt)?;
    let value = value.map_err(fail)?;
    if bound.unit != unit {
        return Err(fail(&format!("its unit is {}, its certificate proves {unit}", bound.unit)));
    }
    let value = if unit == "phases" { value.max(1.0) } else { value };
    if !close(value, bound.value) {
        return Err(fail(&format!("it is given as {}, its certificate proves {value}", bound.value)));
    }
    let reached = if unit == "phases" { schedule.phases.len() as f64 } else { schedule.predicted_seconds };
    if reached < value * (1.0 - ROUNDING) {
        return Err(fail(&format!("the schedule has {reached}, less than what is proved to be least")));
    }
    Ok(())
}

/// What several certificates ask for, counted once.
#[derive(Default)]
pub struct Hops(OnceCell<Option<Counted>>);

/// What is known of the fewest hops of connections.
#[derive(Clone, Copy)]
struct Counted {
    /// Of all together,
    all: f64,
    /// weighted by their words,
    weighted: f64,
    /// and of the nearest.
    fewest: u32,
    /// The longest time until one connection's last word has arrived, if it is alone, s.
    alone: f64,
}

/// The weight of each link that has one, by its ends.
type LinkWeights = HashMap<(u32, u32), u64>;

struct Check<'a> {
    resources: &'a Resources,
    connections: &'a [Gathered],
    graph: &'a Graph,
    hops: &'a Hops,
    interrupt: &'a Interrupt,
}

/// What a certificate is said to be when nobody waits for its check any more; the caller asks for that itself.
const INTERRUPTED: &str = "its check was interrupted";

/// The most channels for which all loads of a phase are gone through.
const MAX_LOADS: u64 = 1024;

impl Check<'_> {
    /// The sum over the connections of `part` and the weight of the lightest path.
    fn total(
        &self,
        vertex: &dyn Fn(usize) -> u64,
        link: &dyn Fn(u32, u32) -> u64,
        part: &dyn Fn(&Gathered) -> f64,
    ) -> Result<f64, &'static str> {
        let mut by_source: Vec<&Gathered> = self.connections.iter().collect();
        by_source.sort_by_key(|connection| connection.source);
        let (mut source, mut least) = (u32::MAX, Vec::new());
        let mut total = 0.0;
        for connection in by_source {
            if connection.source != source {
                if self.interrupt.is_requested() {
                    return Err(INTERRUPTED);
                }
                source = connection.source;
                least = self.graph.lightest(source as usize, vertex, link);
            }
            match least[connection.destination as usize] {
                u64::MAX => return Err("there is no path between the ends of a connection"),
                weight => total += part(connection) * weight as f64,
            }
        }
        Ok(total)
    }

    /// The fewest hops of connections.
    fn hops(&self) -> Result<Counted, &'static str> {
        let count = || {
            let mut by_source: Vec<&Gathered> = self.connections.iter().collect();
            by_source.sort_by_key(|connection| connection.source);
            let (mut source, mut hops) = (u32::MAX, Vec::new());
            let Resources { access_seconds, link_seconds, hop_seconds, .. } = *self.resources;
            let mut counted = Counted { all: 0.0, weighted: 0.0, fewest: u32::MAX, alone: 0.0 };
            for connection in by_source {
                if connection.source != source {
                    if self.interrupt.is_requested() {
                        return None;
                    }
                    source = connection.source;
                    hops = self.graph.breadth_first(source as usize);
                }
                let there = hops[connection.destination as usize];
                if there == u32::MAX {
                    return None;
                }
                let words = connection.words as f64;
                counted.all += f64::from(there);
                counted.weighted += f64::from(there) * words;
                counted.fewest = counted.fewest.min(there);
                let alone = words * access_seconds.max(link_seconds) + f64::from(there) * hop_seconds;
                counted.alone = counted.alone.max(alone);
            }
            Some(counted)
        };
        self.hops.0.get_or_init(count).ok_or("there is no path between the ends of a connection")
    }

    /// Seconds of every phase besides its transfers: switching, and the latency of its last word over the fewest links.
    fn switching(&self) -> Result<f64, &'static str> {
        let Resources { synchronisation_seconds, phase_seconds, hop_seconds, .. } = *self.resources;
        let latency = if hop_seconds > 0.0 { hop_seconds * f64::from(self.hops()?.fewest) } else { 0.0 };
        Ok(synchronisation_seconds + phase_seconds + latency)
    }

    fn node_channels(&self, weights: &[u32]) -> Result<f64, &'static str> {
        let channels = self.resources.node_channels.ok_or("nodes have no limit of channels")?;
        if !weights.is_empty() && weights.len() != self.graph.nodes {
            return Err("it needs a weight for every node");
        }
        let weight = |vertex: usize| match weights.get(vertex) {
            Some(&weight) => u64::from(weight),
            None => u64::from(weights.is_empty() && vertex < self.graph.nodes),
        };
        let capacity = (0..self.graph.nodes).map(|node| u128::from(weight(node))).sum::<u128>() * u128::from(channels);
        let taken = if weights.is_empty() && self.graph.direct {
            self.hops()?.all + self.connections.len() as f64
        } else {
            self.total(&weight, &|_, _| 0, &|_| 1.0)?
        };
        if capacity == 0 { Err("its weights are all zero") } else { Ok((taken / capacity as f64).ceil()) }
    }

    /// The weight of every link named, or 1 for all, and the weight of all of them together.
    fn weights(&self, links: &[WeightedLink]) -> Result<(LinkWeights, u64), &'static str> {
        let mut weights = HashMap::new();
        if links.is_empty() {
            for (from, to) in self.graph.links.iter().enumerate() {
                weights.extend(to.iter().map(|&(to, _)| ((from as u32, to), 1)));
            }
        }
        for link in links {
            if weights.insert((link.from, link.to), u64::from(link.weight)).is_some() {
                return Err("it names a link twice");
            }
        }
        let mut all = 0;
        for (&(from, to), weight) in &weights {
            all += weight * u64::from(self.graph.link(from, to).ok_or("it names a link that is not there")?.parallel);
        }
        if all == 0 { Err("its weights are all zero") } else { Ok((weights, all)) }
    }

    fn link_channels(&self, links: &[WeightedLink]) -> Result<f64, &'static str> {
        let channels = self.resources.link_channels.ok_or("links have no limit of channels")?;
        let (weights, all) = self.weights(links)?;
        let link = |from, to| weights.get(&(from, to)).copied().unwrap_or(0);
        let taken = self.total(&|_| 0, &link, &|_| 1.0)?;
        Ok((taken / (u128::from(all) * u128::from(channels)) as f64).ceil())
    }

    fn link_bandwidth(&self, links: &[WeightedLink]) -> Result<f64, &'static str> {
        let (weights, all) = self.weights(links)?;
        let link = |from, to| weights.get(&(from, to)).copied().unwrap_or(0);
        let taken = if links.is_empty() {
            self.hops()?.weighted
        } else {
            self.total(&|_| 0, &link, &|connection| connection.words as f64)?
        };
        Ok(taken / all as f64 * self.resources.link_seconds)
    }

    fn degree(&self, node: u32) -> Result<f64, &'static str> {
        if node as usize >= self.graph.nodes {
            return Err("it names a node that does not exist");
        }
        let out = self.connections.iter().filter(|connection| connection.source == node).count() as u64;
        let into = self.connections.iter().filter(|connection| connection.destination == node).count() as u64;
        let mut value = if out + into > 0 { 1 } else { 0 };
        if let Some(channels) = self.resources.node_channels {
            value = value.max((out + into).div_ceil(u64::from(channels)));
        }
        if let Some(ports) = self.resources.ports {
            value = value.max(out.div_ceil(u64::from(ports))).max(into.div_ceil(u64::from(ports)));
        }
        if let Some(channels) = self.resources.link_channels {
            let leaving: u32 = self.graph.links[node as usize].iter().map(|&(_, count)| count).sum();
            let entering: u32 =
                self.graph.links.iter().flatten().filter(|&&(to, _)| to == node).map(|link| link.1).sum();
            for (count, wires) in [(out, leaving), (into, entering)] {
                value = value.max(count.div_ceil((u64::from(wires) * u64::from(channels)).max(1)));
            }
        }
        Ok(value as f64)
    }

    fn access(&self, node: u32) -> Result<f64, &'static str> {
        if node as usize >= self.graph.nodes {
            return Err("it names a node that does not exist");
        }
        let sum = |of: &dyn Fn(&Gathered) -> bool| -> u64 {
            self.connections.iter().filter(|connection| of(connection)).map(|connection| connection.words).sum()
        };
        let (out, into) =
            (sum(&|connection| connection.source == node), sum(&|connection| connection.destination == node));
        let words = match self.resources.access {
            Access::Separate => out.max(into),
            Access::Shared => out + into,
        };
        Ok(words as f64 * self.resources.access_seconds)
    }

    fn cut(&self, inside: &[u32]) -> Result<f64, &'static str> {
        let mut within = vec![false; self.graph.vertices];
        for &vertex in inside {
            *within.get_mut(vertex as usize).ok_or("it names a vertex that does not exist")? = true;
        }
        let crossing = |from: usize, to: u32| within[from] && !within[to as usize];
        let wires: u64 = (0..self.graph.vertices)
            .flat_map(|from| self.graph.links[from].iter().filter(move |&&(to, _)| crossing(from, to)))
            .map(|&(_, count)| u64::from(count))
            .sum();
        let leaves = |connection: &&Gathered| crossing(connection.source as usize, connection.destination);
        let words: u64 = self.connections.iter().filter(leaves).map(|connection| connection.words).sum();
        if wires == 0 {
            Err("no link leaves its set")
        } else {
            Ok(words as f64 / wires as f64 * self.resources.link_seconds)
        }
    }

    fn chain(&self, chain: &[u32], schedule: &Schedule) -> Result<f64, &'static str> {
        let orders: std::collections::HashSet<(u32, u32)> =
            schedule.orders.iter().map(|order| (order.before, order.after)).collect();
        if chain.windows(2).any(|pair| !orders.contains(&(pair[0], pair[1]))) {
            return Err("it names connections that are not ordered");
        }
        let mut words = 0u64;
        for &connection in chain {
            words +=
                self.connections.get(connection as usize).ok_or("it names a connection that does not exist")?.words;
        }
        Ok(words as f64 * self.resources.access_seconds.max(self.resources.link_seconds))
    }

    /// No phase may be worth more than it takes, whatever its largest link load and the most sends of a node.
    fn phases_and_load(&self, hop: f64, connection: f64) -> Result<f64, &'static str> {
        let channels = u64::from(self.resources.node_channels.ok_or("nodes have no limit of channels")?);
        let words = self.connections.first().map_or(0, |connection| connection.words);
        if self.connections.iter().any(|connection| connection.words != words) {
            return Err("its argument needs equal connections");
        }
        if self.connections.iter().any(|connection| connection.parts != 1) {
            return Err("its argument needs connections that are not split");
        }
        if !self.graph.direct {
            return Err("its argument needs links between nodes");
        }
        if !(hop >= 0.0 && connection >= 0.0) {
            return Err("its prices are negative");
        }
        if channels > MAX_LOADS {
            return Err("its argument is only checked for at most 1024 channels of a node");
        }
        let wires: u64 = self.graph.links.iter().flatten().map(|&(_, count)| u64::from(count)).sum();
        let nodes = self.graph.nodes as u64;
        let switching = self.switching()?;
        for load in 1..=channels {
            for sends in 1..=channels {
                let transfer =
                    (load as f64 * self.resources.link_seconds).max(sends as f64 * self.resources.access_seconds);
                let cost = switching + words as f64 * transfer;
                // The most of hop h + connection n with h <= wires load, n <= nodes sends, h + n <= channels nodes is at
                // a corner: as many of one as there can be, and of the other what is left.
                let (hops, count, all) = (wires * load, nodes * sends, channels * nodes);
                let (most_hops, most_count) = (hops.min(all), count.min(all));
                let first = hop * most_hops as f64 + connection * count.min(all - most_hops) as f64;
                let second = hop * hops.min(all - most_count) as f64 + connection * most_count as f64;
                if first.max(second) > cost * (1.0 + ROUNDING) {
                    return Err("a phase gets more than it takes");
                }
            }
        }
        let hops = self.hops()?.all;
        Ok(hop * hops + connection * self.connections.len() as f64 + self.resources.leaving_seconds)
    }

    /// The least time of any number of phases in which no link and no sender transfers more than is open on it.
    fn open_at_once(&self, transfers: Option<&str>, schedule: &Schedule) -> Result<f64, &'static str> {
        let channels = u64::from(self.resources.node_channels.ok_or("nodes have no limit of channels")?);
        let words = self.connections.first().map_or(0, |connection| connection.words);
        if self.connections.iter().any(|connection| connection.words != words) {
            return Err("its argument needs equal connections");
        }
        if !self.graph.direct || self.graph.links.iter().flatten().any(|&(_, count)| count != 1) {
            return Err("its argument needs single links between nodes");
        }
        let transfer = words as f64 * self.resources.link_seconds.min(self.resources.access_seconds);
        let switching = self.switching()?;
        if !(transfer > 0.0 && switching > 0.0) {
            return Err("its argument needs times that are not zero");
        }
        let least = transfers.map(|name| self.of_transfers(name, schedule)).transpose()?.unwrap_or(0.0);
        let holders = self.graph.links.iter().map(Vec::len).sum::<usize>() as u64 + self.graph.nodes as u64;
        let open = channels * self.graph.nodes as u64;
        // On so many links and senders one connection more is open than on the others.
        let (each, more) = (open / holders, open % holders);
        let wanted = self.hops()?.all + self.connections.len() as f64;
        let mut best = f64::INFINITY;
        let mut phases = (wanted / open as f64).ceil();
        loop {
            // The shares that a phase gets grow by `places` with each transfer's time up to `each`, then by `more`.
            let full = phases * (holders * each) as f64;
            let time = if wanted <= full {
                wanted / holders as f64
            } else {
                phases * each as f64 + (wanted - full) / more as f64
            };
            best = best.min(phases * switching + least.max(time * transfer));
            // With more phases links and senders are at most busy all the time.
            let busy = wanted / holders as f64 * transfer;
            phases += 1.0;
            if self.interrupt.is_requested() {
                return Err(INTERRUPTED);
            }
            if wanted <= full || each == 0 || phases * switching + least.max(busy) >= best {
                return Ok(best + self.resources.leaving_seconds);
            }
        }
    }

    /// A bound of the transfers alone.
    fn of_transfers(&self, name: &str, schedule: &Schedule) -> Result<f64, &'static str> {
        let bound = schedule.lower_bounds.iter().find(|bound| bound.name == name && bound.is_of_transfers());
        bound.map(|bound| bound.value).ok_or("it names a bound of the transfers that is not there")
    }

    /// What the best bound of phases is, and what a phase costs besides its transfers, together.
    fn switching_of(&self, phases: &str, schedule: &Schedule) -> Result<f64, &'static str> {
        let count = schedule.lower_bounds.iter().find(|bound| bound.name == phases && bound.unit == "phases");
        Ok(count.ok_or("it adds a bound that is not there")?.value * self.switching()?)
    }

    /// Phases, and for each the longest connection that the channels of those before have no room for.
    fn longest(&self, phases: &str, whole: bool, schedule: &Schedule) -> Result<f64, &'static str> {
        let channels = u64::from(self.resources.node_channels.ok_or("nodes have no limit of channels")?);
        if whole && self.connections.iter().any(|connection| connection.parts != 1) {
            return Err("its argument needs connections that are not split");
        }
        if !self.graph.direct {
            return Err("its argument needs links between nodes");
        }
        let switching = self.switching_of(phases, schedule)?;
        let Resources { access_seconds, link_seconds, hop_seconds, .. } = *self.resources;
        let fewest = self.hops()?.fewest;
        let mut by_source: Vec<&Gathered> = self.connections.iter().collect();
        by_source.sort_by_key(|connection| connection.source);
        let (mut source, mut hops) = (u32::MAX, Vec::new());
        let mut kinds: BTreeMap<(u64, u32), u128> = BTreeMap::new();
        for connection in by_source {
            if connection.source != source {
                if self.interrupt.is_requested() {
                    return Err(INTERRUPTED);
                }
                source = connection.source;
                hops = self.graph.breadth_first(source as usize);
            }
            let there = hops[connection.destination as usize];
            *kinds.entry((if whole { connection.words } else { 1 }, there)).or_default() += u128::from(there) + 1;
        }
        let mut durations: Vec<(f64, u128)> = Vec::with_capacity(kinds.len());
        for ((words, there), taken) in kinds {
            let latency = f64::from(there - fewest) * hop_seconds;
            durations.push((words as f64 * access_seconds.max(link_seconds) + latency, taken));
        }
        durations.sort_by(|a, b| b.0.total_cmp(&a.0));
        let capacity = u128::from(channels) * self.graph.nodes as u128;
        if capacity == 0 {
            return Err("nodes have no channels");
        }
        // Phase number k + 1 has one of the connections up to the first with which more than k phases are full.
        let (mut total, mut taken, mut begun) = (0.0, 0, 0);
        for (seconds, channels) in durations {
            taken += channels;
            while begun * capacity < taken {
                total += seconds;
                begun += 1;
            }
        }
        Ok(switching + total + self.resources.leaving_seconds)
    }

    fn sum(&self, phases: &str, transfers: Option<&str>, schedule: &Schedule) -> Result<f64, &'static str> {
        let transfers = transfers.map(|name| self.of_transfers(name, schedule)).transpose()?.unwrap_or(0.0);
        let phases = self.switching_of(phases, schedule)?;
        let hop = self.resources.hop_seconds;
        // Some phase has the connection that takes longest alone, of whose latency a part is in the switching of every phase.
        let alone = if hop > 0.0 { self.hops()?.alone - f64::from(self.hops()?.fewest) * hop } else { 0.0 };
        Ok(phases + transfers.max(alone) + self.resources.leaving_seconds)
    }
}
