//! Patterns that every translation of a torus maps onto themselves: offsets are scheduled instead of connections.
//!
//! All connections with one offset are an orbit of the group of translations. Opened all at once over translated routes
//! of d hops they take d + 1 channels of every node, whatever the route. Opened only from the nodes of one coset, those
//! with f(v) = c mod m, they take channels of the residues c, c + 1, …, c + d only, where f is a coordinate sum that grows
//! (or shrinks) by one with every hop. Laying such intervals end to end around the m residues fills all nodes evenly, so:
//!
//! * a *bin* for m holds offsets whose (d + 1) add up to at most m times the channels of a node;
//! * it makes m phases, one for each rotation; in them every offset is opened from every coset once.
//!
//! What is left is bin packing of a few hundred small numbers, whatever the number of nodes. m = 1 opens whole orbits;
//! larger m divides longer routes and reaches bounds that m = 1 cannot.

use rand_xoshiro::rand_core::Rng;
use rustc_hash::FxHashMap;
use weft_base::generator;

use super::control::Control;
use super::plan::{Placed, Plan};
use crate::network::{ASKED_EVERY, Grid, Network};
use crate::pattern::ConnectionSet;
use crate::resources::Resources;

/// A translation-invariant pattern: every node has one connection for each offset.
pub struct Symmetric<'a> {
    pub grid: &'a Grid,
    pub nodes: usize,
    pub words: u64,
    /// Steps along each axis, the shorter way; up where both are equally long.
    pub offsets: Vec<Vec<i32>>,
    /// The connection of each offset from each node: `connection[offset * nodes + source]`.
    connection: Vec<u32>,
}

impl<'a> Symmetric<'a> {
    /// The pattern's offsets, if it is invariant, all connections have as many words, none waits for another, and nobody
    /// has had enough.
    pub fn of(set: &ConnectionSet, network: &'a Network, control: &Control) -> Option<Symmetric<'a>> {
        let grid = network.grid.as_ref().filter(|grid| grid.wraps)?;
        let nodes = network.nodes;
        let words = set.uniform_words()?;
        if !set.orders.is_empty() || !set.connections.len().is_multiple_of(nodes) {
            return None;
        }
        let mut number: FxHashMap<u32, usize> = FxHashMap::default();
        let mut offsets = Vec::new();
        let mut connection = vec![u32::MAX; set.connections.len()];
        let axes = grid.extents.len();
        for (index, c) in set.connections.iter().enumerate() {
            if index.is_multiple_of(ASKED_EVERY) && control.is_interrupted() {
                return None;
            }
            let (source, destination) = (c.source as usize, c.destination as usize);
            let mut key = 0;
            for axis in 0..axes {
                let extent = grid.extents[axis];
                let (x, y) = (grid.coordinate(source, axis), grid.coordinate(destination, axis));
                key += (if y >= x { y - x } else { y + extent - x }) * grid.strides[axis];
            }
            let next = number.len();
            let offset = *number.entry(key as u32).or_insert(next);
            if offset == next {
                if (next + 1) * nodes > set.connections.len() {
                    return None;
                }
                offsets.push((0..axes).map(|axis| grid.offset(source, destination, axis)).collect());
            }
            let slot = &mut connection[offset * nodes + source];
            if *slot != u32::MAX {
                return None;
            }
            *slot = index as u32;
        }
        // As many places as connections, none taken twice: all are taken.
        Some(Symmetric { grid, nodes, words, offsets, connection })
    }

    /// The connection of an offset from a node.
    pub fn connection_of(&self, offset: usize, source: usize) -> u32 {
        self.connection[offset * self.nodes + source]
    }

    fn length(&self, offset: usize) -> usize {
        self.offsets[offset].iter().map(|steps| steps.unsigned_abs() as usize).sum::<usize>() + 1
    }

    /// Whether both ways along the axis are equally long.
    pub fn is_antipodal(&self, steps: i32, axis: usize) -> bool {
        2 * steps.unsigned_abs() as usize == self.grid.extents[axis]
    }

    /// The route of an offset from a node: axis after axis, beginning with `first`.
    fn route(&self, source: usize, steps: &[i32], first: usize) -> Vec<u32> {
        let axes = steps.len();
        let hops: usize = steps.iter().map(|steps| steps.unsigned_abs() as usize).sum();
        let mut route = Vec::with_capacity(hops + 1);
        let mut at = source;
        route.push(at as u32);
        for step in 0..axes {
            let axis = (first + step) % axes;
            for _ in 0..steps[axis].unsigned_abs() {
                at = self.grid.step(at, axis, steps[axis] > 0);
                route.push(at as u32);
            }
        }
        route
    }

    fn placed(&self, offset: usize, source: usize, steps: &[i32], first: usize) -> Placed {
        let connection = self.connection_of(offset, source);
        Placed { connection, words: self.words, route: self.route(source, steps, first) }
    }

    fn coordinates(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.grid.extents.len()).map(move |axis| self.grid.coordinate(node, axis))
    }

    /// A phase that opens whole orbits. Where both ways round are equally long, nodes take them in turn, so that links
    /// both ways carry the same.
    ///
    /// `None` where the user has had enough for so long that what was found is given up.
    pub fn whole_orbits(&self, members: &[usize], control: &Control) -> Option<Vec<Placed>> {
        let mut phase = Vec::with_capacity(members.len() * self.nodes);
        for &offset in members {
            if control.must_end() {
                return None;
            }
            let mut steps = self.offsets[offset].clone();
            for source in 0..self.nodes {
                for (axis, steps) in steps.iter_mut().enumerate() {
                    if self.is_antipodal(*steps, axis) {
                        let up = self.grid.coordinate(source, axis).is_multiple_of(2);
                        *steps = if up { steps.abs() } else { -steps.abs() };
                    }
                }
                phase.push(self.placed(offset, source, &steps, offset % steps.len().max(1)));
            }
        }
        Some(phase)
    }
}

/// Offsets whose orbits share m phases.
struct Bin {
    rotations: usize,
    members: Vec<usize>,
}

/// The fewest phases that packing finds, within a few of `least`; a single one where nothing limits what is open.
pub fn pack(symmetric: &Symmetric, resources: &Resources, least: u32, control: &Control) -> Option<Plan> {
    if resources.link_channels.is_some() || resources.ports.is_some() || symmetric.offsets.is_empty() {
        return None;
    }
    let Some(channels) = resources.node_channels else {
        let all: Vec<usize> = (0..symmetric.offsets.len()).collect();
        return Some(vec![symmetric.whole_orbits(&all, control)?]);
    };
    let channels = channels as usize;
    let longest = (0..symmetric.offsets.len()).map(|offset| symmetric.length(offset)).max()?;
    let divides = |m: usize| symmetric.grid.extents.iter().all(|extent| extent % m == 0);
    let factors: Vec<usize> = (0..6).map(|power| 1 << power).take_while(|&m| divides(m)).collect();
    let fitting: Vec<usize> = factors.iter().copied().filter(|m| channels * m >= longest).collect();
    for phases in least..=least + least / 50 + 2 {
        for &largest in &fitting {
            control.spend(symmetric.offsets.len() * phases as usize);
            if control.is_interrupted() {
                return None;
            }
            if let Some(bins) = fill(symmetric, channels, phases as usize, largest, control) {
                let phases: Option<Vec<Plan>> = bins.iter().map(|bin| rotations(symmetric, bin, control)).collect();
                return Some(phases?.concat());
            }
        }
    }
    None
}

/// Which coordinate sum every hop of an offset changes by one: signs of its axes with the first positive. `None` where any
/// does: along a single axis, and for m up to 2, where signs do not matter.
fn family(steps: &[i32], m: usize) -> Option<Vec<i32>> {
    let moving = steps.iter().filter(|&&steps| steps != 0).count();
    if m <= 2 || moving <= 1 {
        return None;
    }
    let first = steps.iter().find(|&&steps| steps != 0).map_or(1, |steps| steps.signum());
    Some(steps.iter().map(|steps| steps.signum() * first).collect())
}

/// Whether offsets of these families share a coordinate sum: where both move along an axis, they do so alike.
fn agree(known: &[i32], other: &[i32]) -> bool {
    let pairs = || known.iter().zip(other).filter(|(a, b)| **a != 0 && **b != 0);
    pairs().all(|(a, b)| a == b) || pairs().all(|(a, b)| a == &-b)
}

/// Bins for exactly `phases` phases, if all offsets go into them: as many as possible for m = `largest`, the rest for the
/// next smaller m.
fn fill(symmetric: &Symmetric, channels: usize, phases: usize, largest: usize, control: &Control) -> Option<Vec<Bin>> {
    let mut left: Vec<usize> = (0..symmetric.offsets.len()).collect();
    left.sort_by_key(|&offset| std::cmp::Reverse(symmetric.length(offset)));
    let mut bins = Vec::new();
    let mut budget = phases;
    let mut m = largest;
    while !left.is_empty() {
        while m > 1 && budget < m {
            m /= 2;
        }
        if budget == 0 || control.is_interrupted() {
            return None;
        }
        let members = fill_one(symmetric, &left, channels * m, m);
        if members.is_empty() {
            return None;
        }
        left.retain(|offset| !members.contains(offset));
        budget -= m;
        bins.push(Bin { rotations: m, members });
    }
    Some(bins)
}

/// The longest offset left, and others of its family that fill the bin as far as possible, long ones preferred.
fn fill_one(symmetric: &Symmetric, left: &[usize], capacity: usize, m: usize) -> Vec<usize> {
    let Some(&first) = left.iter().find(|&&offset| symmetric.length(offset) <= capacity) else { return Vec::new() };
    let wanted = family(&symmetric.offsets[first], m);
    let fits = |offset: usize| match (&wanted, family(&symmetric.offsets[offset], m)) {
        (Some(wanted), Some(other)) => agree(wanted, &other),
        // Along a single axis every family fits; a bin that such an offset opens takes only its like.
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => true,
    };
    let mut by_length: Vec<Vec<usize>> = vec![Vec::new(); capacity + 1];
    for &offset in left {
        let length = symmetric.length(offset);
        if offset != first && length <= capacity && fits(offset) {
            by_length[length].push(offset);
        }
    }
    let mut members = vec![first];
    let lengths = exact(&by_length.iter().map(Vec::len).collect::<Vec<_>>(), capacity - symmetric.length(first));
    for length in lengths {
        if let Some(offset) = by_length[length].pop() {
            members.push(offset);
        }
    }
    members
}

/// Lengths, each at most as often as `counts` says, that add up to as much of `capacity` as possible; long ones first.
fn exact(counts: &[usize], capacity: usize) -> Vec<usize> {
    // reach[used] is the length with which `used` was first reached, and how many of it were taken.
    let mut reach: Vec<Option<(usize, usize)>> = vec![None; capacity + 1];
    reach[0] = Some((0, 0));
    for length in (1..counts.len().min(capacity + 1)).rev() {
        if counts[length] == 0 {
            continue;
        }
        for used in length..=capacity {
            if reach[used].is_some() {
                continue;
            }
            if let Some((last, times)) = reach[used - length] {
                let times = if last == length { times + 1 } else { 1 };
                if times <= counts[length] {
                    reach[used] = Some((length, times));
                }
            }
        }
    }
    let mut used = (0..=capacity).rev().find(|&used| reach[used].is_some()).unwrap_or(0);
    let mut lengths = Vec::new();
    while used > 0 {
        let Some((length, _)) = reach[used] else { break };
        lengths.push(length);
        used -= length;
    }
    lengths
}

/// The phases of a bin: offsets laid end to end around the residues, rotated by one from phase to phase.
fn rotations(symmetric: &Symmetric, bin: &Bin, control: &Control) -> Option<Plan> {
    let m = bin.rotations;
    if m == 1 {
        return Some(vec![symmetric.whole_orbits(&bin.members, control)?]);
    }
    let signs = bin.members.iter().find_map(|&offset| family(&symmetric.offsets[offset], m));
    let axes = symmetric.grid.extents.len();
    let signs = complete(signs, bin, symmetric, axes);
    let residue = |node: usize| {
        let sum: i64 = symmetric.coordinates(node).zip(&signs).map(|(x, &sign)| x as i64 * i64::from(sign)).sum();
        sum.rem_euclid(m as i64) as usize
    };
    let mut nodes_of: Vec<Vec<usize>> = vec![Vec::new(); m];
    for node in 0..symmetric.nodes {
        nodes_of[residue(node)].push(node);
    }
    let mut phases = vec![Vec::new(); m];
    for (rotation, phase) in phases.iter_mut().enumerate() {
        if control.must_end() {
            return None;
        }
        let mut position = rotation;
        for &offset in &bin.members {
            let steps = &symmetric.offsets[offset];
            let length = symmetric.length(offset);
            let grows =
                steps.iter().zip(&signs).find(|(steps, _)| **steps != 0).is_none_or(|(s, sign)| s.signum() == *sign);
            let start = if grows { position } else { position + length - 1 } % m;
            // All of an offset's routes turn alike: only translated routes fill nodes evenly.
            for &source in &nodes_of[start] {
                phase.push(symmetric.placed(offset, source, steps, (offset + rotation) % axes));
            }
            position += length;
        }
    }
    Some(phases)
}

/// A sign for every axis that all members of the bin agree with.
fn complete(signs: Option<Vec<i32>>, bin: &Bin, symmetric: &Symmetric, axes: usize) -> Vec<i32> {
    let mut signs = signs.unwrap_or_else(|| vec![0; axes]);
    for &offset in &bin.members {
        if let Some(other) = family(&symmetric.offsets[offset], bin.rotations) {
            let flip = if signs.iter().zip(&other).any(|(a, b)| *a != 0 && *a == -b) { -1 } else { 1 };
            for (sign, other) in signs.iter_mut().zip(&other) {
                if *sign == 0 {
                    *sign = other * flip;
                }
            }
        }
    }
    signs.iter().map(|&sign| if sign == 0 { 1 } else { sign }).collect()
}

/// Whole orbits in `phases` phases so that the sum over the phases of the time of their transfers is small: simulated
/// annealing over which offset is in which phase.
///
/// The time of a phase is known from its offsets alone: a translated orbit puts as many connections on every link of a
/// direction as the offset has steps in it.
pub fn anneal(
    symmetric: &Symmetric,
    resources: &Resources,
    phases: usize,
    moves: usize,
    control: &Control,
) -> Option<Plan> {
    let channels = resources.node_channels? as usize;
    if resources.link_channels.is_some() || resources.ports.is_some() {
        return None;
    }
    let mut random = generator(control.seed, 1000 + phases as u64);
    let mut packing = Packing::new(symmetric, resources, channels, phases)?;
    let mut best = (packing.times(), packing.bin_of.clone());
    let mut times = best.0;
    let count = symmetric.offsets.len() as u64;
    if phases < 2 || count < 2 {
        return packing.plan(&best.1, control);
    }
    for step in 0..moves {
        if step % 4096 == 0 {
            control.spend(4096 * 8);
            if control.is_interrupted() {
                break;
            }
        }
        let heat = 1.2 * (1.0 - step as f64 / moves as f64).powi(2) + 0.03;
        let a = (random.next_u64() % count) as usize;
        let change = if random.next_u64().is_multiple_of(4) {
            let to = (random.next_u64() % phases as u64) as usize;
            packing.try_move(a, to)
        } else {
            let b = (random.next_u64() % count) as usize;
            packing.try_swap(a, b)
        };
        let Some((change, later)) = change else { continue };
        let draw = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if change <= 0.0 || draw < (-change / heat).exp() {
            times += later;
            if times < best.0 - 1e-6 {
                best = (times, packing.bin_of.clone());
            }
        } else {
            packing.undo();
        }
    }
    packing.plan(&best.1, control)
}

/// Which offset is in which phase, and what each phase then takes.
struct Packing<'a> {
    symmetric: &'a Symmetric<'a>,
    channels: usize,
    bin_of: Vec<usize>,
    used: Vec<usize>,
    /// Half steps up and down each axis.
    steps: Vec<Vec<u32>>,
    count: Vec<u32>,
    /// Price and time of each phase.
    cost: Vec<(f64, f64)>,
    /// Half steps of each offset, up and down each axis.
    half_steps: Vec<Vec<u32>>,
    /// Time of an access in times of a link.
    access: f64,
    undo: Vec<(usize, usize)>,
}

impl<'a> Packing<'a> {
    /// The offsets packed longest first into the fullest phase with room.
    fn new(symmetric: &'a Symmetric<'a>, resources: &Resources, channels: usize, phases: usize) -> Option<Packing<'a>> {
        let axes = symmetric.grid.extents.len();
        let half = |offset: &Vec<i32>| {
            let mut halves = vec![0u32; 2 * axes];
            for (axis, &steps) in offset.iter().enumerate() {
                let size = steps.unsigned_abs();
                if symmetric.is_antipodal(steps, axis) {
                    halves[2 * axis] = size;
                    halves[2 * axis + 1] = size;
                } else {
                    halves[2 * axis + usize::from(steps < 0)] = 2 * size;
                }
            }
            halves
        };
        let mut packing = Packing {
            symmetric,
            channels,
            bin_of: vec![usize::MAX; symmetric.offsets.len()],
            used: vec![0; phases],
            steps: vec![vec![0; 2 * axes]; phases],
            count: vec![0; phases],
            cost: vec![(0.0, 0.0); phases],
            half_steps: symmetric.offsets.iter().map(half).collect(),
            access: if resources.link_seconds > 0.0 { resources.access_seconds / resources.link_seconds } else { 1.0 },
            undo: Vec::new(),
        };
        let mut order: Vec<usize> = (0..symmetric.offsets.len()).collect();
        order.sort_by_key(|&offset| std::cmp::Reverse(symmetric.length(offset)));
        for offset in order {
            let length = symmetric.length(offset);
            let bins = (0..phases).filter(|&bin| packing.used[bin] + length <= channels);
            let bin = bins.max_by_key(|&bin| (packing.used[bin], std::cmp::Reverse(bin)))?;
            packing.put(offset, bin);
        }
        for bin in 0..phases {
            packing.cost[bin] = (packing.price(bin), packing.time(bin));
        }
        Some(packing)
    }

    /// Transfers one after the other in a phase, in times of a link.
    fn time(&self, bin: usize) -> f64 {
        let largest = self.steps[bin].iter().copied().max().unwrap_or(0).div_ceil(2);
        f64::from(largest).max(f64::from(self.count[bin]) * self.access)
    }

    /// The same, and a little for uneven directions, so that moves that even them out are seen before the largest changes.
    fn price(&self, bin: usize) -> f64 {
        let squares: u32 = self.steps[bin].iter().map(|steps| steps * steps).sum();
        self.time(bin) + f64::from(squares) * 0.004
    }

    fn times(&self) -> f64 {
        (0..self.used.len()).map(|bin| self.time(bin)).sum()
    }

    fn put(&mut self, offset: usize, bin: usize) {
        let old = std::mem::replace(&mut self.bin_of[offset], bin);
        let length = self.symmetric.length(offset);
        for (bin, adds) in [(old, false), (bin, true)] {
            if bin == usize::MAX {
                continue;
            }
            for (total, steps) in self.steps[bin].iter_mut().zip(&self.half_steps[offset]) {
                *total = if adds { *total + steps } else { *total - steps };
            }
            self.used[bin] = if adds { self.used[bin] + length } else { self.used[bin] - length };
            self.count[bin] = if adds { self.count[bin] + 1 } else { self.count[bin] - 1 };
        }
    }

    /// How price and time of the phases changed.
    fn reprice(&mut self, bins: [usize; 2]) -> (f64, f64) {
        let (mut change, mut later) = (0.0, 0.0);
        for bin in bins {
            let (price, time) = (self.price(bin), self.time(bin));
            change += price - self.cost[bin].0;
            later += time - self.cost[bin].1;
            self.cost[bin] = (price, time);
        }
        (change, later)
    }

    fn try_move(&mut self, offset: usize, to: usize) -> Option<(f64, f64)> {
        let from = self.bin_of[offset];
        if from == to || self.used[to] + self.symmetric.length(offset) > self.channels {
            return None;
        }
        self.undo = vec![(offset, from)];
        self.put(offset, to);
        Some(self.reprice([from, to]))
    }

    fn try_swap(&mut self, a: usize, b: usize) -> Option<(f64, f64)> {
        let (x, y) = (self.bin_of[a], self.bin_of[b]);
        let (long, short) = (self.symmetric.length(a), self.symmetric.length(b));
        if x == y || self.used[x] + short > self.channels + long || self.used[y] + long > self.channels + short {
            return None;
        }
        self.undo = vec![(a, x), (b, y)];
        self.put(a, y);
        self.put(b, x);
        Some(self.reprice([x, y]))
    }

    fn undo(&mut self) {
        let mut bins = [usize::MAX; 2];
        for (offset, bin) in std::mem::take(&mut self.undo) {
            bins = [bin, self.bin_of[offset]];
            self.put(offset, bin);
        }
        self.reprice(bins);
    }

    fn plan(&self, bin_of: &[usize], control: &Control) -> Option<Plan> {
        let mut members = vec![Vec::new(); self.used.len()];
        for (offset, &bin) in bin_of.iter().enumerate() {
            members[bin].push(offset);
        }
        members
            .iter()
            .filter(|members| !members.is_empty())
            .map(|members| self.symmetric.whole_orbits(members, control))
            .collect()
    }
}
