//! Trees that use the bottleneck fully: switches are taken out, and trees are packed into what is left.

use weft_base::Interrupt;

use crate::bound::{Cut, Edge, bottleneck, marked};
use crate::circulation;
use crate::logical::Logical;
use crate::needed::Needed;
use crate::packing::{PackedTree, pack};
use crate::problem::Problem;
use crate::switches::{self, Demand};

/// Where switches cannot pass on all that the cut allows, how much they can is found to a part in so many.
const FINE: i64 = 64;

/// The largest capacity that may be divided so finely: products with ranks stay far below the largest number.
const MAX_FINE: i64 = 1 << 20;

/// The most ranks with which it is worth the time.
const MAX_RANKS: usize = 96;

/// Switches up to which none is left out before they are taken out one by one, which takes the square of their number.
const MANY_SWITCHES: usize = 256;

/// A network without switches, and what limits it.
struct Direct {
    logical: Logical,
    cut: Cut,
    /// What part of the demand the cut lets through, at most 1.
    reached: f64,
}

/// Trees at every root that reach all ranks, and how many each root has. `None` where there are none, or `interrupt` is
/// requested.
pub fn packed(
    vertices: usize,
    edges: &[Edge],
    ranks: &[usize],
    roots: &[usize],
    cut: &Cut,
    interrupt: &Interrupt,
) -> Option<(Vec<PackedTree>, i64)> {
    let problem = Problem { vertices, edges, ranks, roots, cut, interrupt };
    if vertices - ranks.len() > MANY_SWITCHES {
        return problem.packed_as_needed();
    }
    problem.packed(problem.direct()?)
}

impl Problem<'_> {
    /// The network without switches, that loses as little as is known how.
    fn direct(&self) -> Option<Direct> {
        let mut direct = self.without_switches(1, 1)?;
        if direct.reached < 1.0 && self.ranks.len() <= MAX_RANKS && self.edges.iter().all(|edge| edge.2 <= MAX_FINE) {
            match self.circulated() {
                Some(balanced) if balanced.reached > direct.reached => direct = balanced,
                Some(_) => {}
                None => self.refine(&mut direct)?,
            }
        }
        Some(direct)
    }

    /// The network without switches, of capacities that a linear programme balances: nothing more can be kept. `None`
    /// where the network is too large for it.
    fn circulated(&self) -> Option<Direct> {
        let (edges, parts) = circulation::balanced(self)?;
        let cut = bottleneck(self.vertices, &edges, self.ranks, self.roots, self.interrupt);
        if cut.exit == 0 {
            return None;
        }
        let direct = Problem { edges: &edges, cut: &cut, ..*self }.without_switches(1, 1)?;
        let reached = direct.reached * cut.rate() / parts as f64 / self.cut.rate();
        Some(Direct { reached, ..direct })
    }

    /// As [`Problem::packed`], without what the demand does not need where that loses no more.
    fn packed_as_needed(&self) -> Option<(Vec<PackedTree>, i64)> {
        let Some(needed) = Needed::of(self) else { return self.packed(self.direct()?) };
        let (ranks, roots) = (needed.within(self.ranks), needed.within(self.roots));
        let (vertices, edges) = (needed.vertices.len(), &needed.edges[..]);
        let left = Problem { vertices, edges, ranks: &ranks, roots: &roots, ..*self };
        let direct = left.direct()?;
        let is_less = direct.reached < 1.0 - 1e-9;
        let (trees, supply) = left.packed(direct)?;
        let fewer = (trees.into_iter().map(|tree| needed.outside(tree)).collect(), supply);
        // Where links have none back, switches may pass on more along what one flow after the other did not use.
        let whole = if is_less { self.direct().and_then(|direct| self.packed(direct)) } else { None };
        Some(match whole.filter(|whole| rate(self.edges, whole) > rate(self.edges, &fewer)) {
            Some(whole) => whole,
            None => fewer,
        })
    }

    fn packed(&self, mut direct: Direct) -> Option<(Vec<PackedTree>, i64)> {
        let supply = scale(&mut direct.logical, &direct.cut);
        let trees = pack(&mut direct.logical, self.ranks, self.roots, supply, self.interrupt)?;
        Some((trees, supply))
    }

    /// Takes all switches out while `share` of `fine` parts of what the cut allows is distributed, as far as that can be.
    fn without_switches(&self, share: i64, fine: i64) -> Option<Direct> {
        let mut logical = Logical::new(self.vertices, self.edges);
        let whole = scale(&mut logical, self.cut);
        logical.scale(fine, 1);
        let is_rank = marked(self.vertices, self.ranks);
        let ends = self.edges.iter().filter(|edge| edge.2 > 0).flat_map(|edge| [edge.0, edge.1]);
        let mut switches: Vec<usize> = ends.filter(|&vertex| !is_rank[vertex]).collect();
        switches.sort_unstable();
        switches.dedup();
        let demand = Demand { ranks: self.ranks, roots: self.roots, supply: whole * share };
        switches::balance(&mut logical, &switches, &demand, self.interrupt);
        // Those first that need no flows: so these are looked for in a smaller network.
        switches.retain(|&switch| !switches::pass_through(&mut logical, switch));
        for switch in switches {
            if self.interrupt.is_requested() {
                return None;
            }
            switches::remove(&mut logical, switch, &demand);
        }
        let cut = bottleneck(self.vertices, &logical.edges(), self.ranks, self.roots, self.interrupt);
        let reached = cut.rate() / (whole * fine) as f64;
        (!self.interrupt.is_requested()).then_some(Direct { logical, cut, reached })
    }

    /// Where more comes into a switch than goes out, or the other way round, it may be that no trees reach what the cut
    /// allows: switches copy nothing. A demand that can be met as a whole loses less than one that cannot.
    fn refine(&self, direct: &mut Direct) -> Option<()> {
        let parts = |reached: f64| (reached * FINE as f64) as i64;
        let (mut low, mut high) = (parts(direct.reached), FINE);
        while high - low > 1 {
            let share = (low + high) / 2;
            let other = self.without_switches(share, FINE)?;
            if parts(other.reached + 1e-9) >= share {
                low = parts(other.reached + 1e-9);
            } else {
                high = share;
            }
            if other.reached > direct.reached {
                *direct = other;
            }
        }
        Some(())
    }
}

/// Trees a root in the time in which the busiest edge passes on as much as its capacity.
fn rate(edges: &[Edge], (trees, supply): &(Vec<PackedTree>, i64)) -> f64 {
    let mut load = vec![0; edges.len()];
    for tree in trees {
        tree.edges.iter().flat_map(|(.., path)| path).for_each(|&edge| load[edge as usize] += tree.weight);
    }
    let busiest = load.iter().zip(edges).filter(|(load, _)| **load > 0);
    *supply as f64 / busiest.map(|(&load, edge)| load as f64 / edge.2 as f64).fold(0.0, f64::max)
}

/// Scales capacities so that every root distributes a whole number of trees of capacity 1, as few as can be; the number.
fn scale(logical: &mut Logical, cut: &Cut) -> i64 {
    let common = gcd(cut.exit, cut.inside);
    let (exit, inside) = (cut.exit / common, cut.inside / common);
    // Of every path: an edge of several is as much as they are.
    let divisor = logical.pieces().iter().map(|(_, _, piece)| piece.amount).fold(exit, gcd);
    logical.scale(inside, divisor);
    exit / divisor
}

/// The greatest common divisor.
pub fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    /// Four ranks among switches, joined by a tree of links both ways and links of which half have none back.
    fn one_way(seed: u64) -> (usize, Vec<Edge>) {
        let (vertices, mut random) = (4 + 8, weft_base::generator(seed, 0));
        let mut edges = Vec::new();
        let capacity = |random: &mut _| [2, 5, 8, 10, 20][RngExt::random_range(random, 0..5)];
        for vertex in 1..vertices {
            let (other, capacity) = (random.random_range(0..vertex), capacity(&mut random));
            edges.extend([(other, vertex, capacity), (vertex, other, capacity)]);
        }
        for _ in 0..random.random_range(vertices / 2..2 * vertices) {
            let (from, to) = (random.random_range(0..vertices), random.random_range(0..vertices));
            let capacity = capacity(&mut random);
            if from != to {
                edges.push((from, to, capacity));
                if random.random_range(0..2) == 0 {
                    edges.push((to, from, capacity));
                }
            }
        }
        (vertices, edges)
    }

    /// Does something with the problem of each of some such networks.
    fn directed_networks(seeds: std::ops::Range<u64>, mut test: impl FnMut(u64, &Problem)) {
        let ranks = [0, 1, 2, 3];
        for seed in seeds {
            let (vertices, edges) = one_way(seed);
            let cut = bottleneck(vertices, &edges, &ranks, &ranks, &Interrupt::NEVER);
            let (edges, interrupt) = (&edges[..], &Interrupt::NEVER);
            test(seed, &Problem { vertices, edges, ranks: &ranks, roots: &ranks, cut: &cut, interrupt });
        }
    }

    #[test]
    fn what_is_left_out_costs_nothing() {
        directed_networks(0..8, |seed, problem| {
            let whole = problem.packed(problem.direct().unwrap()).unwrap();
            let packed = problem.packed_as_needed().unwrap();
            let [known, chosen] = [&whole, &packed].map(|trees| rate(problem.edges, trees));
            assert!(chosen >= known * (1.0 - 1e-9), "seed {seed}: {chosen}, with all switches {known}");
        });
    }

    #[test]
    fn balanced_switches_are_taken_out_without_loss() {
        directed_networks(0..24, |seed, problem| {
            let (balanced, parts) = circulation::balanced(problem).unwrap();
            let left = bottleneck(problem.vertices, &balanced, problem.ranks, problem.roots, &Interrupt::NEVER);
            let [all, kept] = [problem.cut, &left].map(Cut::rate);
            let direct = problem.circulated().unwrap();
            assert!((direct.reached * all * parts as f64 - kept).abs() < 1e-9 * kept, "seed {seed}");
            let trees = problem.packed(problem.direct().unwrap()).unwrap();
            // Trees a root in the time in which the busiest edge passes on as much as its capacity.
            assert!(rate(problem.edges, &trees) > kept / parts as f64 * (1.0 - 1e-9), "seed {seed}");
        });
    }
}
