//! What no schedule can do better, by the cut that everybody's data has to leave through.
//!
//! Let S be a set of vertices that does not have all ranks. What the roots in S hold must leave S, so with `exit` the
//! bandwidth out of S and `inside` the roots in S, each root distributes at most `exit / inside` bytes a second. The
//! smallest such ratio is reached by spanning trees (Zhao et al., ForestColl, arXiv 2402.06787, theorem 1; for one root
//! Edmonds 1973), so it is the optimum.

use weft_base::Interrupt;

use crate::error::CollectiveError;
use crate::fabric::Fabric;
use crate::flow::{FlowNetwork, UNLIMITED};

/// A set of vertices and what leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Whether each vertex is in the set.
    pub side: Vec<bool>,
    /// The capacity of the edges out of the set.
    pub exit: i64,
    /// The roots in the set; at least one.
    pub inside: i64,
}

impl Cut {
    /// The capacity out of the set for each root in it.
    pub fn rate(&self) -> f64 {
        self.exit as f64 / self.inside as f64
    }
}

/// An edge with an integer capacity: from, to, capacity.
pub type Edge = (usize, usize, i64);

/// The largest integer that a bandwidth may become; sums and products with ranks stay far below [`UNLIMITED`].
const MAX_CAPACITY: f64 = 1e9;

/// Integers proportional to the bandwidths, and how many bytes a second one of them stands for.
///
/// Exact (to a part in 10^7, less than data sheets know) where the bandwidths are multiples of a common unit that is not
/// too small; else rounded down to thousandths of the smallest one, which loses at most a part in 1024.
pub fn capacities(fabric: &Fabric) -> Result<(Vec<i64>, f64), CollectiveError> {
    let speeds = || fabric.links.iter().map(|link| link.bandwidth);
    let (slowest, fastest) =
        speeds().fold((f64::INFINITY, 0.0f64), |(low, high), speed| (low.min(speed), high.max(speed)));
    if fastest / slowest * 1024.0 > MAX_CAPACITY {
        return Err(CollectiveError::new(format!(
            "the fastest link ({fastest:.3e} B/s) is more than a million times the slowest ({slowest:.3e} B/s); \
             leave out links that carry nothing to speak of"
        )));
    }
    let is_multiple =
        |unit: f64| speeds().all(|speed| (speed / unit - (speed / unit).round()).abs() <= speed / unit * 1e-7);
    let exact = (1..=360).map(|parts| slowest / f64::from(parts)).find(|&unit| is_multiple(unit));
    let unit = exact.unwrap_or(slowest / 1024.0);
    let whole = |speed: f64| if exact.is_some() { (speed / unit).round() } else { (speed / unit).floor() };
    Ok((speeds().map(|speed| whole(speed) as i64).collect(), unit))
}

/// The cut with the smallest `exit / inside`, by Dinkelbach's iteration: each maximum flow that does not reach a rank
/// gives a cut with a smaller ratio, which the next flows are tried with. `None` where a rank cannot be reached at all;
/// then the cut has no exit.
///
/// `roots` are vertices that distribute, `ranks` those that receive. When `interrupt` is requested, the best cut so far.
pub fn bottleneck(vertices: usize, edges: &[Edge], ranks: &[usize], roots: &[usize], interrupt: &Interrupt) -> Cut {
    let mut network = FlowNetwork::new(vertices + 1);
    let source = vertices;
    let numbers: Vec<_> = edges.iter().map(|&(from, to, capacity)| network.add(from, to, capacity)).collect();
    let supplies: Vec<_> = roots.iter().map(|&root| network.add(source, root, 0)).collect();
    let mut best = local(vertices, edges, ranks, roots);
    scale(&mut network, edges, &numbers, &supplies, &best);
    for &rank in ranks {
        while best.exit > 0 && !interrupt.is_requested() {
            let needed = best.exit * roots.len() as i64;
            if network.max_flow(source, rank, needed) >= needed {
                break;
            }
            best = cut(network.source_side(), edges, roots);
            scale(&mut network, edges, &numbers, &supplies, &best);
        }
    }
    best
}

/// Whether every rank is reached by a flow of `supply` from each root.
pub fn is_feasible(vertices: usize, edges: &[Edge], ranks: &[usize], roots: &[usize], supply: i64) -> bool {
    let mut network = FlowNetwork::new(vertices + 1);
    edges.iter().for_each(|&(from, to, capacity)| {
        network.add(from, to, capacity);
    });
    roots.iter().for_each(|&root| {
        network.add(vertices, root, supply);
    });
    let needed = supply * roots.len() as i64;
    ranks.iter().all(|&rank| network.max_flow(vertices, rank, needed) == needed)
}

/// Capacities multiplied by `inside` and supplies of `exit`: integers in the proportion of the ratio.
fn scale(network: &mut FlowNetwork, edges: &[Edge], numbers: &[usize], supplies: &[usize], cut: &Cut) {
    debug_assert!(cut.inside > 0 && cut.exit < UNLIMITED / 1024);
    numbers.iter().zip(edges).for_each(|(&number, edge)| network.set(number, edge.2 * cut.inside));
    supplies.iter().for_each(|&number| network.set(number, cut.exit));
}

/// The best of the cuts that leave out one rank, or a switch with the ranks at it: computed without any flow.
pub fn local(vertices: usize, edges: &[Edge], ranks: &[usize], roots: &[usize]) -> Cut {
    let mut entering = vec![0i64; vertices];
    edges.iter().for_each(|&(_, to, capacity)| entering[to] += capacity);
    let mut is_root = vec![false; vertices];
    roots.iter().for_each(|&root| is_root[root] = true);
    let inside = |rank: usize| roots.len() as i64 - i64::from(is_root[rank]);
    let tightest = ranks
        .iter()
        .copied()
        .filter(|&rank| inside(rank) > 0)
        .min_by(|&a, &b| (entering[a] * inside(b)).cmp(&(entering[b] * inside(a))))
        .expect("a group has two ranks or more");
    let side = (0..vertices).map(|vertex| vertex != tightest).collect();
    let single = Cut { side, exit: entering[tightest], inside: inside(tightest) };
    around_switches(vertices, edges, ranks, roots)
        .into_iter()
        .filter(|cut| cut.inside > 0)
        .fold(single, |best, cut| if cut.exit * best.inside < best.exit * cut.inside { cut } else { best })
}

/// Whether each vertex is one of some.
pub fn marked(vertices: usize, some: &[usize]) -> Vec<bool> {
    let mut is_marked = vec![false; vertices];
    some.iter().for_each(|&vertex| is_marked[vertex] = true);
    is_marked
}

fn around_switches(vertices: usize, edges: &[Edge], ranks: &[usize], roots: &[usize]) -> Vec<Cut> {
    let is_rank = marked(vertices, ranks);
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); vertices];
    edges.iter().filter(|edge| !is_rank[edge.0] && is_rank[edge.1]).for_each(|edge| near[edge.0].push(edge.1));
    let switches = (0..vertices).filter(|&vertex| !near[vertex].is_empty());
    switches
        .map(|switch| {
            let mut side = vec![true; vertices + 1];
            side[switch] = false;
            near[switch].iter().for_each(|&rank| side[rank] = false);
            cut(side, edges, roots)
        })
        .collect()
}

/// The cut around `side`, whose last vertex is none of the network's and is left off.
fn cut(mut side: Vec<bool>, edges: &[Edge], roots: &[usize]) -> Cut {
    side.truncate(side.len() - 1);
    let exit = edges.iter().filter(|edge| side[edge.0] && !side[edge.1]).map(|edge| edge.2).sum();
    let inside = roots.iter().filter(|&&root| side[root]).count() as i64;
    Cut { side, exit, inside }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_bottleneck_is_the_smallest_ratio_of_all_sets() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(3);
        for _ in 0..150 {
            let vertices: usize = random.random_range(3..8);
            let ranks: Vec<usize> = (0..random.random_range(2..vertices)).collect();
            let edges: Vec<Edge> = (0..random.random_range(4..24))
                .map(|_| {
                    (random.random_range(0..vertices), random.random_range(0..vertices), random.random_range(1..9))
                })
                .filter(|edge| edge.0 != edge.1)
                .collect();
            let ratio = |set: u32| {
                let inside = ranks.iter().filter(|&&rank| set >> rank & 1 == 1).count();
                let leaves = |edge: &&Edge| set >> edge.0 & 1 == 1 && set >> edge.1 & 1 == 0;
                let exit: i64 = edges.iter().filter(leaves).map(|edge| edge.2).sum();
                (inside > 0 && inside < ranks.len()).then(|| exit as f64 / inside as f64)
            };
            let smallest = (0..1u32 << vertices).filter_map(ratio).fold(f64::INFINITY, f64::min);
            let cut = bottleneck(vertices, &edges, &ranks, &ranks, &Interrupt::NEVER);
            assert!((cut.rate() - smallest).abs() < 1e-12, "{edges:?}");
        }
    }
}
