//! Trees in which switches take part that copy what comes in to several links (multicast) or add what comes in over several
//! (in-network reduction).
//!
//! A tree that reaches all ranks may branch at ranks and at such switches: it is a Steiner arborescence. Cheap ones join the
//! nearest rank to the tree again and again (Takahashi and Matsuyama 1980), by prices of links. Trees of which several share
//! the links are found one after another, each by prices that grow exponentially with what the links carry already
//! (Plotkin, Shmoys and Tardos 1995; Garg and Könemann 1998). Sums come as copies go, backwards, on the network reversed
//! round, whose switches copy where those of this one add.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use weft_base::Interrupt;

use crate::bound::marked;
use crate::cheapest::Trees;
use crate::fabric::Fabric;
use crate::packing::PackedTree;
use crate::schedule::Transfer;

/// Rounds in which every root gets one more tree, at most.
const MAX_ROUNDS: usize = 64;

/// Links that are looked at in those rounds for each nominal second of effort: some seconds.
const LINKS_PER_EFFORT: f64 = (1u64 << 27) as f64;

/// How often a link is looked at for a tree, about.
const LOOKS: f64 = 8.0;

/// Members from which trees that reduce and copy are tried at the same time, at most.
const MAX_ROOTS: usize = 12;

/// From, to and the path of links, each after the one that reaches its start.
type Branch = (usize, usize, Vec<u32>);

/// The network as Steiner trees see it: every vertex with its links, and whether a tree may branch there.
pub struct Steiner<'a> {
    fabric: Cow<'a, Fabric>,
    out: Vec<Vec<(u32, usize)>>,
    is_rank: Vec<bool>,
    branches: Vec<bool>,
}

/// What is to be small.
#[derive(Clone, Copy)]
enum Objective<'a> {
    /// The cost of all links together, by these prices.
    Cost(&'a [f64]),
    /// The time until so many bytes have come from the root to each rank.
    Time(f64),
}

impl<'a> Steiner<'a> {
    pub fn of(fabric: Cow<'a, Fabric>) -> Steiner<'a> {
        let is_rank = marked(fabric.vertices.len(), &fabric.ranks);
        let mut branches = is_rank.clone();
        let copying = fabric.in_network.iter().filter(|switch| switch.multicast);
        copying.for_each(|switch| branches[switch.vertex] = true);
        Steiner { out: fabric.links_out(), is_rank, branches, fabric }
    }

    /// A tree whose links cost little together. `None` where a rank is not reached, or the root is a switch that copies to
    /// nobody.
    fn of_low_cost(&self, root: usize, prices: &[f64]) -> Option<Vec<Branch>> {
        self.grown(root, Objective::Cost(prices))
    }

    /// The tree whose paths are the quickest for so many bytes.
    fn of_shortest_paths(&self, root: usize, bytes: u64) -> Option<Vec<Branch>> {
        self.grown(root, Objective::Time(bytes as f64))
    }

    fn grown(&self, root: usize, objective: Objective) -> Option<Vec<Branch>> {
        let mut tree = Growing {
            steiner: self,
            is_member: vec![false; self.out.len()],
            reached: vec![(f64::INFINITY, usize::MAX, u32::MAX); self.out.len()],
            waiting: BinaryHeap::new(),
            edges: Vec::new(),
        };
        tree.is_member[root] = true;
        tree.reach(root, (0.0, 0, u32::MAX));
        let mut missing = self.fabric.ranks.iter().filter(|&&rank| rank != root).count();
        while missing > 0 {
            let Reverse((bits, hops, vertex)) = tree.waiting.pop()?;
            let mut cost = f64::from_bits(bits);
            if (cost, hops) != (tree.reached[vertex].0, tree.reached[vertex].1) {
                continue;
            }
            if self.is_rank[vertex] && !tree.is_member[vertex] {
                missing -= 1;
                let joined = tree.join(vertex);
                match objective {
                    Objective::Cost(_) => {
                        joined.into_iter().for_each(|member| tree.reach(member, (0.0, 0, u32::MAX)));
                        continue;
                    }
                    Objective::Time(bytes) => {
                        let by = &self.fabric.links[tree.reached[vertex].2 as usize];
                        cost += self.fabric.message_seconds + bytes / by.bandwidth;
                    }
                }
            }
            for &(link, to) in &self.out[vertex] {
                let price = match objective {
                    Objective::Cost(prices) => prices[link as usize].max(0.0),
                    Objective::Time(_) => self.fabric.links[link as usize].latency,
                };
                if !tree.is_member[to] {
                    tree.reach(to, (cost + price, hops + 1, link));
                }
            }
        }
        let edges = self.without_single(root, tree.edges);
        let is_idle = !self.is_rank[root] && edges.iter().filter(|edge| edge.0 == root).count() < 2;
        (!is_idle).then_some(edges)
    }

    /// The same tree where switches that would copy to one link only pass on what comes.
    fn without_single(&self, root: usize, edges: Vec<Branch>) -> Vec<Branch> {
        let mut children = vec![0u32; self.out.len()];
        edges.iter().for_each(|edge| children[edge.0] += 1);
        let is_single = |vertex: usize| !self.is_rank[vertex] && vertex != root && children[vertex] == 1;
        let mut before: FxHashMap<usize, (usize, Vec<u32>)> = FxHashMap::default();
        let mut kept = Vec::with_capacity(edges.len());
        for (from, to, path) in edges {
            let (from, path) = match before.remove(&from) {
                Some((above, mut links)) => {
                    links.extend(path);
                    (above, links)
                }
                None => (from, path),
            };
            if is_single(to) {
                before.insert(to, (from, path));
            } else {
                kept.push((from, to, path));
            }
        }
        kept
    }
}

/// A tree that is not finished.
struct Growing<'a> {
    steiner: &'a Steiner<'a>,
    is_member: Vec<bool>,
    /// Of each vertex the cost, the links of its path, and the last of them.
    reached: Vec<(f64, usize, u32)>,
    waiting: BinaryHeap<Reverse<(u64, usize, usize)>>,
    edges: Vec<Branch>,
}

impl Growing<'_> {
    /// Notes a path to a vertex if it is better than the known one: costs are not negative, so their bits are in order.
    fn reach(&mut self, vertex: usize, path: (f64, usize, u32)) {
        let known = self.reached[vertex];
        if path.0 < known.0 || (path.0 == known.0 && path.1 < known.1) {
            self.reached[vertex] = path;
            self.waiting.push(Reverse((path.0.to_bits(), path.1, vertex)));
        }
    }

    /// Adds the path to a vertex, which has members wherever a tree may branch: these.
    fn join(&mut self, vertex: usize) -> Vec<usize> {
        let (mut members, mut at, mut end) = (Vec::new(), vertex, vertex);
        let mut path = Vec::new();
        let mut added = Vec::new();
        loop {
            let link = self.reached[at].2;
            path.push(link);
            at = self.steiner.fabric.links[link as usize].from;
            if self.is_member[at] || self.steiner.branches[at] {
                path.reverse();
                added.push((at, end, std::mem::take(&mut path)));
                members.push(end);
                end = at;
            }
            if self.is_member[at] {
                break;
            }
        }
        members.iter().for_each(|&member| self.is_member[member] = true);
        self.edges.extend(added.into_iter().rev());
        members
    }
}

/// Trees of roots, with how many parts the data of each root has.
pub type Packed = (Vec<PackedTree>, i64);

/// Trees of every root in which switches copy: one each over shortest paths, and as many as share the links well. `rate` is what
/// the cut lets each root distribute, in units of `capacities`. None where no switch copies.
pub fn distributions(
    fabric: &Fabric,
    capacities: &[i64],
    roots: &[usize],
    bytes: u64,
    rate: f64,
    effort: f64,
    interrupt: &Interrupt,
) -> Vec<Packed> {
    if !fabric.in_network.iter().any(|switch| switch.multicast) {
        return Vec::new();
    }
    let steiner = Steiner::of(Cow::Borrowed(fabric));
    let of_root = bytes / roots.len() as u64;
    let tree = |root: usize, edges: Vec<Branch>| PackedTree { root, weight: 1, edges };
    let shortest: Option<Vec<PackedTree>> =
        roots.iter().map(|&root| Some(tree(root, steiner.of_shortest_paths(root, of_root)?))).collect();
    let of_links = roots.len() as f64 * fabric.links.len() as f64 * LOOKS;
    let rounds = ((effort * LINKS_PER_EFFORT / of_links) as usize).min(MAX_ROUNDS);
    let capacities: Vec<f64> = capacities.iter().map(|&capacity| capacity as f64).collect();
    let next = |prices: &[f64], number: usize| {
        let root = roots[number % roots.len()];
        let edges = steiner.of_low_cost(root, prices)?;
        let links = edges.iter().flat_map(|edge| &edge.2).map(|&link| link as usize).collect();
        Some(((root, edges), links))
    };
    let packed = packed(&capacities, rate, roots.len(), rounds, interrupt, next);
    let packed = packed.map(|(trees, parts)| {
        let tree = |((root, edges), weight)| PackedTree { root, weight, edges };
        (trees.into_iter().map(tree).collect(), parts)
    });
    shortest.map(|trees| (trees, 1)).into_iter().chain(packed).collect()
}

/// Trees that `next` gives by prices, `each` of them in a round, with how often each came up, and the number of rounds after
/// which they were fastest. `rate` is what they reach at best. `None` without any round.
fn packed<T: Eq + std::hash::Hash + Clone>(
    capacities: &[f64],
    rate: f64,
    each: usize,
    rounds: usize,
    interrupt: &Interrupt,
    next: impl Fn(&[f64], usize) -> Option<(T, Vec<usize>)>,
) -> Option<(Vec<(T, i64)>, i64)> {
    let mut load = vec![0.0f64; capacities.len()];
    let mut trees: Vec<T> = Vec::new();
    let mut best = (0.0, 0);
    for round in 1..=rounds {
        for number in 0..each {
            if interrupt.is_requested() {
                return None;
            }
            // What carries as much as the best trees would put on every link by now costs as much as an idle one.
            let filled = |(load, capacity): (&f64, &f64)| load / capacity * rate;
            let fullest = load.iter().zip(capacities).map(filled).fold(0.0, f64::max);
            let prices = load.iter().zip(capacities).map(|pair| (filled(pair) - fullest).exp() / pair.1);
            let (tree, links) = next(&prices.collect::<Vec<_>>(), number)?;
            links.into_iter().for_each(|link| load[link] += 1.0);
            trees.push(tree);
        }
        let seconds = load.iter().zip(capacities).map(|(load, capacity)| load / capacity).fold(0.0, f64::max);
        let reached = round as f64 / seconds;
        if reached > best.0 * (1.0 + 1e-9) {
            best = (reached, round);
        }
        if reached >= rate * (1.0 - 1e-9) {
            break;
        }
    }
    trees.truncate(best.1 * each);
    let mut weights: FxHashMap<T, i64> = FxHashMap::default();
    trees.iter().for_each(|tree| *weights.entry(tree.clone()).or_default() += 1);
    // Each once, in the order in which they came up.
    let weighted = trees.into_iter().filter_map(|tree| weights.remove(&tree).map(|weight| (tree, weight)));
    (best.1 > 0).then(|| (weighted.collect(), best.1 as i64))
}

/// Trees over which sums go to a root while others come back from it, through switches that add and copy.
pub struct Pairs<'a> {
    /// On the network reversed round, for the way to the root, and on the network itself for the way back.
    there: Steiner<'a>,
    back: Steiner<'a>,
    member_of: Vec<Option<usize>>,
    roots: Vec<usize>,
}

impl<'a> Pairs<'a> {
    /// `None` where no switch copies or adds.
    pub fn of(fabric: &'a Fabric) -> Option<Pairs<'a>> {
        if fabric.in_network.is_empty() {
            return None;
        }
        // The switches with most links are in the middle.
        let mut links = vec![0; fabric.vertices.len()];
        fabric.links.iter().for_each(|link| links[link.from] += 1);
        let does_both = fabric.in_network.iter().filter(|switch| switch.multicast && switch.reduction);
        let mut roots: Vec<usize> = does_both.map(|switch| switch.vertex).collect();
        roots.sort_by_key(|&vertex| Reverse(links[vertex]));
        roots.truncate(MAX_ROOTS - 2);
        roots.extend(fabric.ranks.iter().take(MAX_ROOTS - roots.len()));
        let (there, back) = (Steiner::of(Cow::Owned(fabric.reversed())), Steiner::of(Cow::Borrowed(fabric)));
        Some(Pairs { there, back, member_of: fabric.member_of(), roots })
    }

    fn trees(&self, root: usize, grown: impl Fn(&Steiner) -> Option<Vec<Branch>>) -> Option<Trees> {
        let member = |vertex: usize| self.member_of[vertex];
        let there = grown(&self.there)?.into_iter().rev();
        let reducing = there.map(|(near, far, mut links)| {
            links.reverse();
            Some(Transfer(member(far)?, member(near)?, links))
        });
        let back = grown(&self.back)?.into_iter();
        let copying = back.map(|(near, far, links)| Some(Transfer(member(near)?, member(far)?, links)));
        Some(Trees {
            root: member(root)?,
            reducing: reducing.collect::<Option<_>>()?,
            copying: copying.collect::<Option<_>>()?,
        })
    }

    /// The cheapest of the trees of some roots, and what it costs.
    pub fn cheapest(&self, prices: &[f64]) -> Option<(f64, Trees)> {
        let of_root = |&root: &usize| {
            let trees = self.trees(root, |steiner| steiner.of_low_cost(root, prices))?;
            Some((trees.links().map(|link| prices[link].max(0.0)).sum(), trees))
        };
        self.roots.iter().filter_map(of_root).min_by(|a: &(f64, Trees), b| a.0.total_cmp(&b.0))
    }

    /// The trees of each root whose paths are the quickest.
    pub fn of_shortest_paths(&self, bytes: u64) -> Vec<Trees> {
        self.roots
            .iter()
            .filter_map(|&root| self.trees(root, |steiner| steiner.of_shortest_paths(root, bytes)))
            .collect()
    }

    /// Trees that share the links well, each with its weight. `rate` is what the narrowest cut lets through, bytes a second.
    pub fn packed(&self, rate: f64, effort: f64, interrupt: &Interrupt) -> Option<Vec<(Trees, i64)>> {
        let capacities: Vec<f64> = self.back.fabric.links.iter().map(|link| link.bandwidth).collect();
        let of_links = 2.0 * self.roots.len() as f64 * capacities.len() as f64 * LOOKS;
        let rounds = ((effort * LINKS_PER_EFFORT / of_links) as usize).clamp(1, MAX_ROUNDS);
        let next = |prices: &[f64], _| {
            let trees = self.cheapest(prices)?.1;
            let links = trees.links().collect();
            Some((trees, links))
        };
        packed(&capacities, rate, 1, rounds, interrupt, next).map(|(trees, _)| trees)
    }
}
