//! Lower bounds of the number of phases and of the time, each with a certificate that the verifier can check.
//!
//! All are instances of a few arguments (see [`Certificate`]); which weights, nodes and cuts are tried is decided here,
//! and only what comes out best of each kind is kept.

use rustc_hash::FxHashMap;

use crate::network::Network;
use crate::pattern::ConnectionSet;
use crate::resources::Resources;
use crate::schedule::{Certificate, LowerBound, WeightedLink};

/// What bounds are computed from.
#[derive(Clone, Copy)]
pub struct Demand<'a> {
    pub set: &'a ConnectionSet,
    pub resources: &'a Resources,
    pub network: &'a Network,
    /// Hops of a shortest path of each connection.
    pub hops: &'a [u32],
}

impl Demand<'_> {
    /// Seconds of each connection over a shortest path with nothing in its way, until its last word has arrived.
    pub fn alone_seconds(&self) -> Vec<f64> {
        let connections = self.set.connections.iter().zip(self.hops);
        connections.map(|(connection, &hops)| self.resources.alone_seconds(connection.words, hops as usize)).collect()
    }
}

/// Every lower bound that holds for this demand, the best of each kind, and their sum last.
///
/// `unsplit` says that every connection is to be in one phase only.
pub fn lower_bounds(demand: &Demand, unsplit: bool) -> Vec<LowerBound> {
    lower_bounds_until(demand, unsplit, &|| false).expect("nobody interrupts it")
}

/// As [`lower_bounds`]; `None` where `stop` says so before all are found.
pub fn lower_bounds_until(demand: &Demand, unsplit: bool, stop: &dyn Fn() -> bool) -> Option<Vec<LowerBound>> {
    let mut bounds: Vec<LowerBound> = Vec::new();
    if demand.set.connections.is_empty() {
        return Some(bounds);
    }
    bounds.extend(channel_capacity(demand));
    bounds.extend(weighted_channels(demand, bounds.first().map_or(0.0, |bound| bound.value), stop));
    for kind in [link_channels, degree, access, link_bandwidth, cut, chain] {
        if stop() {
            return None;
        }
        bounds.extend(kind(demand));
    }
    if unsplit {
        bounds.extend(phases_and_load(demand));
    }
    bounds.extend(longest(demand, unsplit, &bounds));
    bounds.extend(open_at_once(demand, &bounds));
    bounds.extend(sum(demand, &bounds));
    Some(bounds)
}

/// The best lower bound of the number of phases, at least 1.
pub fn least_phases(demand: &Demand) -> u32 {
    let capacity = channel_capacity(demand);
    let best = capacity
        .iter()
        .chain(&link_channels(demand))
        .chain(&degree(demand))
        .map(|bound| bound.value)
        .fold(1.0, f64::max);
    best as u32
}

fn phases(name: &str, value: f64, certificate: Certificate) -> LowerBound {
    LowerBound { name: name.into(), value: value.max(1.0), unit: "phases".into(), certificate }
}

fn seconds(name: &str, value: f64, certificate: Certificate) -> LowerBound {
    LowerBound { name: name.into(), value, unit: "s".into(), certificate }
}

/// A connection of d hops takes d + 1 channels of all there are (only its ends' where routes go through switches).
fn channel_capacity(demand: &Demand) -> Option<LowerBound> {
    let channels = demand.resources.node_channels?;
    let direct = demand.network.vertices == demand.network.nodes;
    let taken: u64 = demand.hops.iter().map(|&hops| if direct { u64::from(hops) + 1 } else { 2 }).sum();
    let capacity = u64::from(channels) * demand.network.nodes as u64;
    Some(phases("channel capacity", taken.div_ceil(capacity) as f64, Certificate::NodeChannels { weights: Vec::new() }))
}

/// The same with weights: nodes inside a box of a grid count, those outside do not. Finds crowded regions, such as the
/// middle of a mesh.
///
/// `None` too where `stop` says so before all are tried.
fn weighted_channels(demand: &Demand, plain: f64, stop: &dyn Fn() -> bool) -> Option<LowerBound> {
    let channels = u64::from(demand.resources.node_channels?);
    let grid = demand.network.grid.as_ref()?;
    if grid.wraps || demand.set.connections.len() > 200_000 {
        return None;
    }
    let mut best: Option<(u64, Vec<u32>)> = None;
    for (axis, &extent) in grid.extents.iter().enumerate() {
        // A slab x in low..=high: every connection with coordinates a and b on the axis passes through it where [a, b]
        // meets it, in as many nodes as the common part is long.
        for width in 1..extent {
            if stop() {
                return None;
            }
            let low = (extent - width) / 2;
            let high = low + width - 1;
            let mut taken = 0u64;
            for connection in &demand.set.connections {
                let a = grid.coordinate(connection.source as usize, axis);
                let b = grid.coordinate(connection.destination as usize, axis);
                let (from, to) = (a.min(b).max(low), a.max(b).min(high));
                if from > to {
                    continue;
                }
                let mut least = to - from + 1;
                if (low..=high).contains(&a) && (low..=high).contains(&b) {
                    // Inside all the way, or out of the slab at one side and back.
                    let source = connection.source as usize;
                    least += grid.distance(source, connection.destination as usize) - a.abs_diff(b);
                    if low > 0 {
                        least = least.min(a - low + b - low + 2);
                    }
                    if high + 1 < extent {
                        least = least.min(high - a + high - b + 2);
                    }
                }
                taken += least as u64;
            }
            let capacity = channels * (demand.network.nodes / extent * width) as u64;
            let value = taken.div_ceil(capacity);
            if value as f64 > plain && best.as_ref().is_none_or(|(known, _)| value > *known) {
                let weight = |node| u32::from((low..=high).contains(&grid.coordinate(node, axis)));
                best = Some((value, (0..demand.network.nodes).map(weight).collect()));
            }
        }
    }
    let (value, weights) = best?;
    Some(phases("channels of a region", value as f64, Certificate::NodeChannels { weights }))
}

/// A connection of d hops takes d channels of links.
fn link_channels(demand: &Demand) -> Option<LowerBound> {
    let channels = demand.resources.link_channels?;
    let taken: u64 = demand.hops.iter().map(|&hops| u64::from(hops)).sum();
    let capacity = u64::from(channels) * demand.network.wires();
    let certificate = Certificate::LinkChannels { links: Vec::new() };
    Some(phases("link channels", taken.div_ceil(capacity) as f64, certificate))
}

/// Connections out of each node and into it.
fn degrees(demand: &Demand) -> (Vec<u64>, Vec<u64>) {
    let (mut out, mut into) = (vec![0u64; demand.network.nodes], vec![0u64; demand.network.nodes]);
    for connection in &demand.set.connections {
        out[connection.source as usize] += 1;
        into[connection.destination as usize] += 1;
    }
    (out, into)
}

/// Every connection takes something of the nodes at its ends; a node that has any is busy in one phase at least.
fn degree(demand: &Demand) -> Option<LowerBound> {
    let (out, into) = degrees(demand);
    let mut wires_in = vec![0u64; demand.network.vertices];
    for (link, &to) in demand.network.to.iter().enumerate() {
        wires_in[to as usize] += u64::from(demand.network.multiplicity[link]);
    }
    let of = |node: usize| {
        let (out, into) = (out[node], into[node]);
        let mut value = u64::from(out + into > 0);
        if let Some(channels) = demand.resources.node_channels {
            value = value.max((out + into).div_ceil(channels.into()));
        }
        if let Some(ports) = demand.resources.ports {
            value = value.max(out.max(into).div_ceil(ports.into()));
        }
        if let Some(channels) = demand.resources.link_channels {
            let wires: u64 = demand.network.out(node).map(|link| u64::from(demand.network.multiplicity[link])).sum();
            value = value.max(out.div_ceil((wires * u64::from(channels)).max(1)));
            value = value.max(into.div_ceil((wires_in[node] * u64::from(channels)).max(1)));
        }
        value
    };
    let node = (0..demand.network.nodes).max_by_key(|&node| (of(node), std::cmp::Reverse(node)))?;
    let value = of(node);
    (value > 0).then(|| phases("endpoint degree", value as f64, Certificate::Degree { node: node as u32 }))
}

/// Words that each node sends and receives.
pub fn node_words(set: &ConnectionSet) -> (Vec<u64>, Vec<u64>) {
    let (mut out, mut into) = (vec![0u64; set.nodes as usize], vec![0u64; set.nodes as usize]);
    for connection in &set.connections {
        out[connection.source as usize] += connection.words;
        into[connection.destination as usize] += connection.words;
    }
    (out, into)
}

/// Every word passes through the accesses of the nodes at its ends.
fn access(demand: &Demand) -> Option<LowerBound> {
    let (out, into) = node_words(demand.set);
    let words = |node: usize| match demand.resources.access {
        weft_machine::Access::Separate => out[node].max(into[node]),
        weft_machine::Access::Shared => out[node] + into[node],
    };
    let node = (0..demand.network.nodes).max_by_key(|&node| (words(node), std::cmp::Reverse(node)))?;
    let value = words(node) as f64 * demand.resources.access_seconds;
    (value > 0.0).then(|| seconds("access", value, Certificate::Access { node: node as u32 }))
}

/// Every word takes time of each link of its route: all links together, or those of one axis in one direction pair.
fn link_bandwidth(demand: &Demand) -> Option<LowerBound> {
    let network = demand.network;
    let words = demand.set.connections.iter().zip(demand.hops);
    let taken: f64 = words.map(|(connection, &hops)| connection.words as f64 * f64::from(hops)).sum();
    let mut best = (taken / network.wires() as f64, Vec::new());
    if let Some(grid) = &network.grid {
        for axis in 0..grid.extents.len() {
            let of_axis = |from: usize, link: usize| {
                let to = network.to[link] as usize;
                grid.coordinate(from, axis) != grid.coordinate(to, axis)
            };
            let links: Vec<(usize, usize)> = (0..network.vertices)
                .flat_map(|from| network.out(from).map(move |link| (from, link)))
                .filter(|&(from, link)| of_axis(from, link))
                .collect();
            let wires: u64 = links.iter().map(|&(_, link)| u64::from(network.multiplicity[link])).sum();
            let steps = |c: &crate::pattern::Connection| {
                f64::from(grid.offset(c.source as usize, c.destination as usize, axis).abs())
            };
            let taken: f64 = demand.set.connections.iter().map(|c| c.words as f64 * steps(c)).sum();
            if wires > 0 && taken / wires as f64 > best.0 * (1.0 + 1e-12) {
                let weighted = |&(from, link): &(usize, usize)| WeightedLink {
                    from: from as u32,
                    to: network.to[link],
                    weight: 1,
                };
                best = (taken / wires as f64, links.iter().map(weighted).collect());
            }
        }
    }
    let value = best.0 * demand.resources.link_seconds;
    (value > 0.0).then(|| seconds("link bandwidth", value, Certificate::LinkBandwidth { links: best.1 }))
}

/// Half of a grid against the other half, at the worst cut; the lower half of the nodes elsewhere.
fn cut(demand: &Demand) -> Option<LowerBound> {
    let network = demand.network;
    let mut best: Option<(f64, Vec<u32>)> = None;
    if let Some(grid) = &network.grid {
        for (axis, &extent) in grid.extents.iter().enumerate() {
            best = halves(demand, grid, axis, extent).into_iter().chain(best).max_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
    let mut consider = |inside: &dyn Fn(usize) -> bool, members: &dyn Fn() -> Vec<u32>| {
        let mut wires = 0u64;
        for from in (0..network.vertices).filter(|&from| inside(from)) {
            for link in network.out(from) {
                if !inside(network.to[link] as usize) {
                    wires += u64::from(network.multiplicity[link]);
                }
            }
        }
        let leaves = |c: &&crate::pattern::Connection| inside(c.source as usize) && !inside(c.destination as usize);
        let words: u64 = demand.set.connections.iter().filter(leaves).map(|c| c.words).sum();
        if wires > 0 && words > 0 {
            let value = words as f64 / wires as f64;
            if best.as_ref().is_none_or(|(known, _)| value > *known) {
                best = Some((value, members()));
            }
        }
    };
    // The links out of the node that sends the most, and into the one that receives the most.
    let (out, into) = node_words(demand.set);
    if let Some(node) = (0..network.nodes).max_by_key(|&node| out[node]) {
        consider(&|vertex| vertex == node, &|| vec![node as u32]);
    }
    if let Some(node) = (0..network.nodes).max_by_key(|&node| into[node]) {
        consider(&|vertex| vertex != node, &|| (0..network.vertices as u32).filter(|&v| v as usize != node).collect());
    }
    let (value, inside) = best?;
    let value = value * demand.resources.link_seconds;
    (value > 0.0).then(|| seconds("bisection", value, Certificate::Cut { inside }))
}

/// The half of an axis, wherever it starts, that most words must leave for each link out of it.
fn halves(demand: &Demand, grid: &crate::network::Grid, axis: usize, extent: usize) -> Option<(f64, Vec<u32>)> {
    let network = demand.network;
    let half = extent / 2;
    let (mut words, mut wires) = (Leaving::new(extent, half), Leaving::new(extent, half));
    for c in &demand.set.connections {
        words.add(grid.coordinate(c.source as usize, axis), grid.coordinate(c.destination as usize, axis), c.words);
    }
    for from in 0..network.vertices {
        for link in network.out(from) {
            let (x, y) = (grid.coordinate(from, axis), grid.coordinate(network.to[link] as usize, axis));
            wires.add(x, y, network.multiplicity[link].into());
        }
    }
    let (words, wires) = (words.sums(), wires.sums());
    let mut best: Option<(f64, usize, bool)> = None;
    for start in 0..if grid.wraps { half } else { 1 } {
        for lower in [true, false] {
            let side = usize::from(!lower);
            let (words, wires) = (words[side][start], wires[side][start]);
            if wires > 0 && words > 0 {
                let value = words as f64 / wires as f64;
                if best.is_none_or(|(known, ..)| value > known) {
                    best = Some((value, start, lower));
                }
            }
        }
    }
    let (value, start, lower) = best?;
    let inside = |&node: &usize| ((grid.coordinate(node, axis) + extent - start) % extent < half) == lower;
    Some((value, (0..network.nodes).filter(inside).map(|node| node as u32).collect()))
}

/// What leaves each half of an axis: for every coordinate that a half may start at, as differences from one to the next.
struct Leaving {
    half: usize,
    /// What leaves the half that starts there, and what leaves the other half.
    changes: [Vec<i64>; 2],
}

impl Leaving {
    fn new(extent: usize, half: usize) -> Leaving {
        Leaving { half, changes: [vec![0; extent + 1], vec![0; extent + 1]] }
    }

    /// `count` from coordinate `x` to coordinate `y`.
    fn add(&mut self, x: usize, y: usize, count: u64) {
        self.add_to(0, x, y, count as i64);
        self.add_to(1, y, x, count as i64);
    }

    /// To the halves that have `inside` and not `outside`: those that start at most a half below the one, less those that
    /// start at most a half below the other.
    fn add_to(&mut self, side: usize, inside: usize, outside: usize, count: i64) {
        let extent = self.changes[side].len() - 1;
        let apart = (outside + extent - inside) % extent;
        if self.half == 0 || apart == 0 {
            return;
        }
        let below = |steps: usize| (inside + extent - steps) % extent;
        let (first, starts) = if apart < self.half {
            (below(self.half - 1), apart)
        } else if apart <= extent - self.half {
            (below(self.half - 1), self.half)
        } else {
            (below(extent - apart - 1), extent - apart)
        };
        let changes = &mut self.changes[side];
        changes[first] += count;
        if first + starts <= extent {
            changes[first + starts] -= count;
        } else {
            changes[extent] -= count;
            changes[0] += count;
            changes[first + starts - extent] -= count;
        }
    }

    /// What leaves the half that starts at each coordinate, and what leaves the other half.
    fn sums(&self) -> [Vec<u64>; 2] {
        self.changes.each_ref().map(|changes| {
            let sum = |total: &mut i64, change: &i64| {
                *total += change;
                Some(*total as u64)
            };
            changes[..changes.len() - 1].iter().scan(0, sum).collect()
        })
    }
}

/// Connections that must come one after the other.
fn chain(demand: &Demand) -> Option<LowerBound> {
    if demand.set.orders.is_empty() {
        return None;
    }
    let ranks = demand.set.ranks().ok()?;
    let mut by_rank: Vec<u32> = (0..ranks.len() as u32).collect();
    by_rank.sort_by_key(|&connection| ranks[connection as usize]);
    let mut before: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for order in &demand.set.orders {
        before.entry(order.after).or_default().push(order.before);
    }
    let words = |connection: u32| demand.set.connections[connection as usize].words;
    let mut until = vec![(0u64, u32::MAX); ranks.len()];
    for &connection in &by_rank {
        let earlier = before.get(&connection).into_iter().flatten().map(|&b| (until[b as usize].0, b)).max();
        let (time, from) = earlier.unwrap_or((0, u32::MAX));
        until[connection as usize] = (time + words(connection), from);
    }
    let last = (0..ranks.len() as u32).max_by_key(|&connection| until[connection as usize].0)?;
    let mut connections = vec![last];
    while until[*connections.last()? as usize].1 != u32::MAX {
        connections.push(until[*connections.last()? as usize].1);
    }
    connections.reverse();
    let value = until[last as usize].0 as f64 * demand.resources.word_seconds();
    Some(seconds("chain of orders", value, Certificate::Chain { connections }))
}

/// Phases and the time of links together, where no connection is split and all have as many words.
///
/// A phase with largest link load l in which a node sends at most a connections takes the time of max(l, a) transfers. It
/// has at most `wires l` hops, at most as many hops and connections together as there are channels, and at most
/// `nodes a` connections. Prices of a hop and of a connection for which no such phase gets more than it costs are found
/// by a linear programme in two variables.
fn phases_and_load(demand: &Demand) -> Option<LowerBound> {
    let words = demand.set.uniform_words()? as f64;
    demand.resources.node_channels.filter(|&channels| channels <= MAX_CORNER_CHANNELS)?;
    if demand.network.vertices != demand.network.nodes {
        return None;
    }
    let hops: f64 = demand.hops.iter().map(|&hops| f64::from(hops)).sum();
    let count = demand.hops.len() as f64;
    let (wires, nodes) = (demand.network.wires(), demand.network.nodes as u64);
    let limits = phase_corners(demand.resources, least_switching(demand), wires, nodes, words);
    let feasible =
        |hop: f64, connection: f64| limits.iter().all(|&(h, n, cost)| hop * h + connection * n <= cost * (1.0 + 1e-12));
    let mut best = (0.0, 0.0, 0.0);
    let mut consider = |hop: f64, connection: f64| {
        let value = hop * hops + connection * count;
        if hop >= 0.0 && connection >= 0.0 && value > best.0 && feasible(hop, connection) {
            best = (value, hop, connection);
        }
    };
    for (index, &(h, n, cost)) in limits.iter().enumerate() {
        if h > 0.0 {
            consider(cost / h, 0.0);
        }
        if n > 0.0 {
            consider(0.0, cost / n);
        }
        for &(h2, n2, cost2) in &limits[..index] {
            let determinant = h * n2 - h2 * n;
            if determinant.abs() > 1e-9 {
                consider((cost * n2 - cost2 * n) / determinant, (h * cost2 - h2 * cost) / determinant);
            }
        }
    }
    let (value, hop, connection) = best;
    let all = value + demand.resources.leaving_seconds;
    (value > 0.0).then(|| seconds("phases and load", all, Certificate::PhasesAndLoad { hop, connection }))
}

/// With more channels a node has too many corners to try pairs of: the bound is then left out.
const MAX_CORNER_CHANNELS: u32 = 128;

/// What a phase can have at most, hops and connections, and what it then costs: the corners for each largest link load.
fn phase_corners(resources: &Resources, switching: f64, wires: u64, nodes: u64, words: f64) -> Vec<(f64, f64, f64)> {
    let channels = u64::from(resources.node_channels.unwrap_or(u32::MAX));
    let mut corners = Vec::new();
    for load in 1..=channels {
        for sends in 1..=channels {
            let time = words * (load as f64 * resources.link_seconds).max(sends as f64 * resources.access_seconds);
            // More sends in the same time leave more room; fewer are dominated.
            let more = words * ((sends + 1) as f64) * resources.access_seconds;
            if more <= time && sends < channels {
                continue;
            }
            if words * (load + 1) as f64 * resources.link_seconds <= time && load < channels {
                continue;
            }
            let cost = switching + time;
            let all = channels * nodes;
            let hops = (wires * load).min(all);
            let count = (nodes * sends).min(all);
            corners.push((hops as f64, count.min(all - hops) as f64, cost));
            corners.push((hops.min(all - count) as f64, count as f64, cost));
        }
    }
    corners
}

/// The best bound of the transfers alone.
fn of_transfers(bounds: &[LowerBound]) -> Option<&LowerBound> {
    bounds.iter().filter(|bound| bound.is_of_transfers()).max_by(|a, b| a.value.total_cmp(&b.value))
}

/// Phases and the time of transfers together, where all connections have as many words and may be divided among phases.
///
/// Count a connection of d hops as d + 1 shares, one of each link it crosses and one of its sender; together they are D.
/// In a phase that takes the time of t whole transfers, a link or a sender on which c connections are open (whole or in
/// part) transfers at most min(c, t) shares: none can do more than the whole of what is open. The sum of c over the R links
/// and senders is at most the number C of channels, and min(c, t) over whole numbers c is concave in c, so a phase gets at
/// most G(t) shares: with all c next to C / R. G is concave in t, so P phases that take S transfers together get at most
/// P G(S / P). It has to be D.
fn open_at_once(demand: &Demand, bounds: &[LowerBound]) -> Option<LowerBound> {
    let Demand { set, resources, network, hops } = *demand;
    let words = set.uniform_words()? as f64;
    let channels = f64::from(resources.node_channels?) * network.nodes as f64;
    // Links and accesses of different speeds: as if all had the faster one.
    let transfer = words * resources.link_seconds.min(resources.access_seconds);
    let switching = least_switching(demand);
    let alone = network.multiplicity.iter().all(|&wires| wires == 1);
    if network.vertices != network.nodes || !alone || transfer <= 0.0 || switching <= 0.0 {
        return None;
    }
    let shares: f64 = hops.iter().map(|&hops| f64::from(hops) + 1.0).sum();
    let holders = (network.links() + network.nodes) as f64;
    let each = (channels / holders).floor();
    let transfers = of_transfers(bounds);
    let floor = (shares / holders * transfer).max(transfers.map_or(0.0, |bound| bound.value));
    let mut best = f64::INFINITY;
    let mut phases = (shares / channels).ceil();
    while phases * switching + floor < best {
        let wanted = shares / phases;
        let even = wanted / holders;
        // Up to `each` all are busy all the time, above it only those on which one more connection is open.
        let time = if even <= each { even } else { each + (wanted - each * holders) / (channels - each * holders) };
        best = best.min(phases * switching + floor.max(phases * time * transfer));
        if even <= each || each == 0.0 {
            // More phases take no less time for transfers.
            break;
        }
        phases += 1.0;
    }
    let certificate = Certificate::OpenAtOnce { transfers: transfers.map(|bound| bound.name.clone()) };
    best.is_finite().then(|| seconds("open at once", best + resources.leaving_seconds, certificate))
}

/// What every phase costs besides its transfers: switching, and the latency of a last word over the fewest links.
pub fn least_switching(demand: &Demand) -> f64 {
    let fewest = demand.hops.iter().copied().min().unwrap_or(0);
    demand.resources.switch_seconds() + demand.resources.latency_seconds(fewest as usize)
}

/// What some phase takes in any case: one connection alone until its last word has arrived, less the latency over
/// the fewest links, which every phase has. Where hops take no time the bounds of transfers say more.
fn farthest(demand: &Demand) -> f64 {
    let Demand { set, resources, hops, .. } = *demand;
    if resources.hop_seconds <= 0.0 {
        return 0.0;
    }
    let fewest = hops.iter().copied().min().unwrap_or(0);
    let alone = |(connection, &links): (&crate::pattern::Connection, &u32)| {
        resources.alone_seconds(connection.words, (links - fewest) as usize)
    };
    set.connections.iter().zip(hops).map(alone).fold(0.0, f64::max)
}

/// Phases and the longest connection of each.
///
/// Connections are taken from the longest on, alone until its last word has arrived. As soon as those so far take more
/// channels than k phases have, one of them is in a further phase, at least with a word: of the phases by their time, number
/// k + 1 takes as long as the last of them. Where connections may be divided, they count with one word.
fn longest(demand: &Demand, unsplit: bool, bounds: &[LowerBound]) -> Option<LowerBound> {
    let together = longest_value(demand, unsplit)?;
    let of_phases = bounds.iter().filter(|bound| bound.unit == "phases");
    let count = of_phases.max_by(|a, b| a.value.total_cmp(&b.value))?;
    let value = count.value * least_switching(demand) + together + demand.resources.leaving_seconds;
    let certificate = Certificate::Longest { phases: count.name.clone(), whole: unsplit };
    Some(seconds("phases and the longest of each", value, certificate))
}

/// Seconds that the longest connections of all phases take together, besides what every phase costs.
pub fn longest_value(demand: &Demand, unsplit: bool) -> Option<f64> {
    let Demand { set, resources, network, hops } = *demand;
    let capacity = u64::from(resources.node_channels?) * network.nodes as u64;
    if network.vertices != network.nodes {
        return None;
    }
    // There are many connections, and few kinds of them.
    let mut alike: FxHashMap<(u64, u32), u64> = FxHashMap::default();
    for (connection, &links) in set.connections.iter().zip(hops) {
        *alike.entry((if unsplit { connection.words } else { 1 }, links)).or_default() += 1;
    }
    let fewest = hops.iter().copied().min().unwrap_or(0);
    let kind = |((words, links), count): ((u64, u32), u64)| {
        (resources.alone_seconds(words, (links - fewest) as usize), (u64::from(links) + 1) * count)
    };
    Some(longest_of_phases(alike.into_iter().map(kind).collect(), capacity))
}

/// The least sum over phases of the longest connection of each; of connections that are alike their seconds and the channels
/// of all of them, and channels of a phase.
fn longest_of_phases(mut alike: Vec<(f64, u64)>, capacity: u64) -> f64 {
    alike.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (mut taken, mut full, mut together) = (0u64, 0, 0.0);
    for (seconds, channels) in alike {
        taken += channels;
        let phases = taken.div_ceil(capacity);
        together += (phases - full) as f64 * seconds;
        full = phases;
    }
    together
}

/// What phases cost and what transfers take are paid one after the other.
fn sum(demand: &Demand, bounds: &[LowerBound]) -> Option<LowerBound> {
    let of_phases = bounds.iter().filter(|bound| bound.unit == "phases");
    let count = of_phases.max_by(|a, b| a.value.total_cmp(&b.value))?;
    let transfers = of_transfers(bounds);
    let within = transfers.map_or(0.0, |bound| bound.value).max(farthest(demand));
    let value = count.value * least_switching(demand) + within + demand.resources.leaving_seconds;
    let certificate =
        Certificate::Sum { phases: count.name.clone(), transfers: transfers.map(|bound| bound.name.clone()) };
    Some(seconds("phases and transfers", value, certificate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least sum of the longest of each phase, by trying every phase for every connection.
    fn by_trying(connections: &[(u32, u64)], phases: &mut Vec<(u32, u64)>, capacity: u64) -> u32 {
        let Some((&(seconds, channels), rest)) = connections.split_first() else {
            return phases.iter().map(|phase| phase.0).sum();
        };
        let mut best = u32::MAX;
        for phase in 0..=phases.len() {
            if phase == phases.len() {
                phases.push((0, 0));
            }
            let before = phases[phase];
            if before.1 + channels <= capacity {
                phases[phase] = (before.0.max(seconds), before.1 + channels);
                best = best.min(by_trying(rest, phases, capacity));
            }
            phases[phase] = before;
            if before == (0, 0) {
                phases.pop();
            }
        }
        best
    }

    proptest! {
        /// No division into phases takes less, and one with connections of one channel takes as much.
        #[test]
        fn the_longest_of_phases_is_a_bound(
            connections in proptest::collection::vec((1u32..20, 1u64..4), 0..7), capacity in 3u64..8,
        ) {
            let bound = |connections: &[(u32, u64)]| {
                longest_of_phases(connections.iter().map(|&(seconds, taken)| (seconds.into(), taken)).collect(), capacity)
            };
            prop_assert!(bound(&connections) <= f64::from(by_trying(&connections, &mut Vec::new(), capacity)));
            let narrow: Vec<(u32, u64)> = connections.iter().map(|&(seconds, _)| (seconds, 1)).collect();
            prop_assert_eq!(bound(&narrow), f64::from(by_trying(&narrow, &mut Vec::new(), capacity)));
        }

        /// What leaves a half is counted pair by pair.
        #[test]
        fn what_leaves_each_half_is_counted(
            extent in 1usize..12, pairs in proptest::collection::vec((0usize..12, 0usize..12, 1u64..9), 0..30),
        ) {
            let half = extent / 2;
            let pairs: Vec<_> = pairs.into_iter().map(|(x, y, count)| (x % extent, y % extent, count)).collect();
            let mut leaving = Leaving::new(extent, half);
            pairs.iter().for_each(|&(x, y, count)| leaving.add(x, y, count));
            let sums = leaving.sums();
            for (lower, sums) in [true, false].into_iter().zip(sums) {
                for (start, &sum) in sums.iter().enumerate().take(extent) {
                    let inside = |x: usize| ((x + extent - start) % extent < half) == lower;
                    let expected: u64 =
                        pairs.iter().filter(|&&(x, y, _)| inside(x) && !inside(y)).map(|&(.., count)| count).sum();
                    prop_assert_eq!(sum, expected, "start {}, lower {}", start, lower);
                }
            }
        }
    }
}
