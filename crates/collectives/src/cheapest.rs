//! The trees that cost least by prices of links: one over which sums come to a root, and one over which they go back.
//!
//! Where links are alike both ways, these are one minimum spanning tree over cheapest paths there and back (Prim 1957); else
//! the cheapest arborescences of the root for which both together are cheapest.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use crate::arborescence::{self, is_less};
use crate::fabric::Fabric;
use crate::rooted::{downwards, sizes};
use crate::schedule::Transfer;

/// A spanning tree: pairs of ranks, with the path there and the path back.
type Spanning = Vec<(usize, usize, Vec<u32>, Vec<u32>)>;

/// The trees of a piece: over which sums come to the root, and over which they come back, each in an order in which its
/// transfers can happen.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Trees {
    pub root: usize,
    pub reducing: Vec<Transfer>,
    pub copying: Vec<Transfer>,
}

impl Trees {
    /// The numbers of all links that are used.
    pub fn links(&self) -> impl Iterator<Item = usize> {
        self.reducing.iter().chain(&self.copying).flat_map(|transfer| &transfer.2).map(|&link| link as usize)
    }
}

/// A rank that an edge leads to, with the path there and the path back.
type Neighbour<'a> = (usize, &'a [u32], &'a [u32]);

/// Cheapest paths from one rank to all others: cost and links in order; none where there is no path.
pub type FromRank = Vec<Option<(f64, Vec<u32>)>>;

/// A spanning tree as the trees to and from the rank in its middle.
fn rooted(fabric: &Fabric, spanning: &Spanning) -> Trees {
    let mut near: Vec<Vec<Neighbour>> = vec![Vec::new(); fabric.ranks.len()];
    for (a, b, there, back) in spanning {
        near[*a].push((*b, there, back));
        near[*b].push((*a, back, there));
    }
    // The order in which ranks are reached, with who reaches them, and how far the last one is.
    let walk = |root: usize| {
        let mut order = vec![(root, root, 0u32)];
        let mut next = 0;
        while let Some(&(rank, above, depth)) = order.get(next) {
            order.extend(near[rank].iter().filter(|edge| edge.0 != above).map(|edge| (edge.0, rank, depth + 1)));
            next += 1;
        }
        order
    };
    let depth = |root: &usize| walk(*root).last().map_or(0, |last| last.2);
    let root = (0..fabric.ranks.len()).min_by_key(depth).unwrap_or(0);
    let order = walk(root);
    let edge = |from: usize, to: usize| near[from].iter().find(|edge| edge.0 == to).expect("an edge of the tree");
    let below = || order.iter().skip(1);
    let there = below().rev().map(|&(rank, above, _)| Transfer(rank, above, edge(rank, above).1.to_vec()));
    let back = below().map(|&(rank, above, _)| Transfer(above, rank, edge(above, rank).1.to_vec()));
    Trees { root, reducing: there.collect(), copying: back.collect() }
}

/// The trees by who is above each rank, the root above itself, on the way to the root and on the way back.
pub fn trees(root: usize, there: &[usize], back: &[usize], paths: &[FromRank]) -> Trees {
    let links = |from: usize, to: usize| paths[from][to].as_ref().expect("a path of the tree").1.clone();
    let reducing = downwards(root, there, &sizes(root, there)).into_iter().rev();
    let copying = downwards(root, back, &sizes(root, back)).into_iter();
    Trees {
        root,
        reducing: reducing.map(|(above, rank)| Transfer(rank, above, links(rank, above))).collect(),
        copying: copying.map(|(above, rank)| Transfer(above, rank, links(above, rank))).collect(),
    }
}

/// What paths and trees cost.
pub struct Router<'a> {
    fabric: &'a Fabric,
    /// Of every vertex its links, and where they lead.
    out: Vec<Vec<(u32, usize)>>,
    rank_of: Vec<Option<usize>>,
    /// Whether links are alike both ways.
    is_alike: bool,
}

impl<'a> Router<'a> {
    pub fn of(fabric: &'a Fabric) -> Router<'a> {
        Router { fabric, out: fabric.links_out(), rank_of: fabric.rank_of(), is_alike: is_alike(fabric) }
    }

    /// The cheapest trees. `None` where ranks are not joined.
    pub fn cheapest(&self, prices: &[f64]) -> Option<(f64, Trees)> {
        // A tree that branches at a rank which its paths pass through costs no more.
        let paths = self.all_paths(prices, false);
        if !self.is_alike {
            return cheapest_pair(&paths);
        }
        let (cost, spanning) = cheapest_spanning(&paths)?;
        Some((cost, rooted(self.fabric, &spanning)))
    }

    /// Cheapest paths between all ranks, of those the shortest; through other ranks where these are said to forward.
    pub fn all_paths(&self, prices: &[f64], ranks_forward: bool) -> Vec<FromRank> {
        (0..self.fabric.ranks.len()).map(|rank| self.paths(rank, prices, ranks_forward)).collect()
    }

    /// Those from one rank (Dijkstra 1959). On a machine there is one path to each, its route.
    fn paths(&self, rank: usize, prices: &[f64], ranks_forward: bool) -> FromRank {
        let start = self.fabric.ranks[rank];
        if let Some(routes) = &self.fabric.routes {
            let priced = |links: Vec<u32>| {
                let cost = links.iter().map(|&link| prices[link as usize].max(0.0)).sum();
                (cost, links)
            };
            return self.fabric.ranks.iter().map(|&end| routes.path(start, end).map(priced)).collect();
        }
        let mut reached: Vec<Option<(f64, usize, u32)>> = vec![None; self.out.len()];
        let mut waiting = BinaryHeap::from([Reverse((Cost(0.0), 0usize, start, u32::MAX))]);
        while let Some(Reverse((Cost(cost), hops, vertex, by))) = waiting.pop() {
            if reached[vertex].is_some() {
                continue;
            }
            reached[vertex] = Some((cost, hops, by));
            if vertex != start && !ranks_forward && self.rank_of[vertex].is_some() {
                continue;
            }
            for &(link, to) in self.out[vertex].iter().filter(|(_, to)| reached[*to].is_none()) {
                waiting.push(Reverse((Cost(cost + prices[link as usize].max(0.0)), hops + 1, to, link)));
            }
        }
        let path = |&vertex: &usize| {
            let (cost, hops, _) = reached[vertex]?;
            let (mut links, mut at) = (Vec::with_capacity(hops), vertex);
            while at != start {
                let by = reached[at]?.2;
                links.push(by);
                at = self.fabric.links[by as usize].from;
            }
            links.reverse();
            Some((cost, links))
        };
        self.fabric.ranks.iter().map(path).collect()
    }
}

/// The cheapest spanning tree, there and back. `None` where ranks are not joined.
fn cheapest_spanning(paths: &[FromRank]) -> Option<(f64, Spanning)> {
    let count = paths.len();
    let cost = |a: usize, b: usize| match (&paths[a][b], &paths[b][a]) {
        (Some(there), Some(back)) => (there.0 + back.0, (there.1.len() + back.1.len()) as i64),
        _ => (f64::INFINITY, i64::MAX),
    };
    let mut nearest: Vec<(usize, arborescence::Cost)> = (0..count).map(|rank| (0, cost(0, rank))).collect();
    let mut left: BTreeSet<usize> = (1..count).collect();
    let (mut spanning, mut sum) = (Vec::with_capacity(count - 1), 0.0);
    while let Some(rank) = left.iter().copied().reduce(|a, b| if is_less(nearest[b].1, nearest[a].1) { b } else { a }) {
        left.remove(&rank);
        let (above, (added, _)) = nearest[rank];
        let (there, back) = (paths[above][rank].as_ref()?, paths[rank][above].as_ref()?);
        sum += added;
        spanning.push((above, rank, there.1.clone(), back.1.clone()));
        for &other in &left {
            let other_cost = cost(rank, other);
            if is_less(other_cost, nearest[other].1) {
                nearest[other] = (rank, other_cost);
            }
        }
    }
    Some((sum, spanning))
}

/// The cheapest trees to a root and from it. `None` where ranks are not joined.
fn cheapest_pair(paths: &[FromRank]) -> Option<(f64, Trees)> {
    let count = paths.len();
    let of_path = |from: usize, to: usize| {
        let (cost, links) = paths[from][to].as_ref().filter(|_| from != to)?;
        Some((from, to, (*cost, links.len() as i64)))
    };
    let out: Vec<arborescence::Edge> =
        (0..count).flat_map(|from| (0..count).filter_map(move |to| of_path(from, to))).collect();
    let into: Vec<arborescence::Edge> = out.iter().map(|&(from, to, cost)| (to, from, cost)).collect();
    // No tree costs less than the cheapest edges into all ranks but its root.
    let least = |edges: &[arborescence::Edge]| {
        let mut least = vec![f64::INFINITY; count];
        edges.iter().for_each(|&(_, to, cost)| least[to] = least[to].min(cost.0));
        let sum: f64 = least.iter().sum();
        least.into_iter().map(move |own| sum - own)
    };
    let mut roots: Vec<(f64, usize)> = least(&out).zip(least(&into)).map(|(a, b)| a + b).zip(0..count).collect();
    roots.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<(f64, usize, Vec<usize>, Vec<usize>)> = None;
    for (least, root) in roots {
        if best.as_ref().is_some_and(|best| best.0 <= least) {
            break;
        }
        let tree = |edges: &[arborescence::Edge]| {
            let chosen = arborescence::cheapest(count, root, edges)?;
            let cost: f64 = chosen.iter().flatten().map(|&number| edges[number].2.0).sum();
            let above = |number: Option<usize>| number.map_or(root, |number| edges[number].0);
            Some((cost, chosen.into_iter().map(above).collect::<Vec<usize>>()))
        };
        let (Some((to_root, there)), Some((from_root, back))) = (tree(&into), tree(&out)) else { continue };
        if best.as_ref().is_none_or(|best| to_root + from_root < best.0) {
            best = Some((to_root + from_root, root, there, back));
        }
    }
    let (cost, root, there, back) = best?;
    Some((cost, trees(root, &there, &back, paths)))
}

/// Whether as much leads from every vertex to each other one as back.
fn is_alike(fabric: &Fabric) -> bool {
    let mut between: FxHashMap<(usize, usize), f64> = FxHashMap::default();
    for link in &fabric.links {
        *between.entry((link.from, link.to)).or_default() += link.bandwidth;
    }
    let back = |ends: &(usize, usize)| between.get(&(ends.1, ends.0)).copied().unwrap_or(0.0);
    between.iter().all(|(ends, bandwidth)| (bandwidth - back(ends)).abs() <= 1e-9 * bandwidth)
}

/// A cost that has an order; none is not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost(f64);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Cost) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Cost) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
