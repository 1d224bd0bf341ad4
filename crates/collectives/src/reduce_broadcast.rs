//! Allreduce by trees over which sums go to a root while others come back from it.
//!
//! Two stages, one of reducing and one of copying, leave links idle in one direction wherever trees have leaves: a rank with
//! one link sends nearly nothing while it receives all. Piece by piece both go on at the same time, and any rank may be the
//! root of any tree: a spanning tree takes of every link that it has the same share, both ways.
//!
//! How much of which tree is a linear programme: as much of all trees as the bandwidths let through. Its dual gives links
//! prices by which every tree costs one or more; the cheapest tree is a minimum spanning tree over cheapest paths there and
//! back (crates/collectives/src/cheapest.rs), and trees are added until none is cheaper than those that there are (column
//! generation, Gilmore and Gomory 1961; Dantzig and Wolfe 1960). Where every link has one back that is as fast and all vertices are ranks, this is
//! the optimum of any allreduce (crates/collectives/src/partition.rs).
//!
//! Where links are not alike both ways, sums take one tree to the root and copies another one from it: the cheapest of each
//! (crates/collectives/src/arborescence.rs), for the root for which both together are cheapest. Elsewhere that gains nothing:
//! turned round, the trees of a piece are those of another one, and the two use what each tree uses there and back.

use std::cmp::Reverse;

use weft_base::Interrupt;

use crate::bound_of_exchange;
use crate::cheapest::{Router, Trees, trees};
use crate::fabric::Fabric;
use crate::in_network::Pairs;
use crate::partition::{self, Partition};
use crate::predict;
use crate::rooted::{costs, soonest};
use crate::schedule::{Bound, Collective, Operation, Stage, Tree};
use crate::simplex::Program;

/// Links up to which the programme is solved, and links times ranks.
const MAX_LINKS: usize = 1000;
const MAX_SIZE: usize = 1 << 16;

/// Coefficients that solving may change: some seconds. Trees that there are by then are a solution, not the best one.
const MAX_WORK: u64 = 1 << 32;

/// The same where routes are those of a machine: many trees that differ little are as good, which the programme tries.
const MAX_WORK_OF_ROUTES: u64 = 1 << 30;

/// Trees that are tried, at most.
const MAX_TREES: usize = 1500;

/// Pivots after each tree, at most.
const MAX_PIVOTS: usize = 2000;

/// What part of the optimum of the programme is enough.
const ENOUGH: f64 = 0.999;

/// What part of the prices of the next trees is of those by which the bound is lowest, at first, and the least of it.
const SMOOTHING: f64 = 0.8;
const MIN_SMOOTHING: f64 = 0.2;

/// Trees that cost less than this by the prices of the programme, by which those that it has cost one, make it better.
const CHEAP: f64 = 1.0 - 1e-6;

/// What is not faster by more than this is no faster.
const NEARLY: f64 = 0.999;

/// What is faster by more than this is worth a longer pipeline.
const WORTH: f64 = 0.99;

/// Largest number of parts of which all trees may be whole multiples; else they are rounded to parts of [`FINE`].
const MAX_PARTS: i64 = 1024;
const FINE: i64 = 1 << 20;

/// The trees of a piece, and how many parts of the buffer it has.
type Weighted = (Trees, i64);

/// Trees that are cheap by prices of links, and what they cost.
type Cheapest<'a> = dyn Fn(&[f64]) -> Option<(f64, Trees)> + 'a;

/// Trees that reduce and copy at the same time, where by bandwidth alone they are faster than the best of two stages.
pub struct Overlapped {
    pub stage: Stage,
    /// Seconds of the whole buffer by bandwidth alone: of these trees, and of two stages.
    transmission: f64,
    two_stages: f64,
}

impl Overlapped {
    /// `stages` are those of reducing and of copying. `None` where two stages are as fast.
    pub fn of(
        fabric: &Fabric,
        bytes: u64,
        element: u64,
        stages: &[Vec<Stage>],
        interrupt: &Interrupt,
    ) -> Option<Overlapped> {
        let [reducing, copying] = stages else { return None };
        let fastest = |stages: &[Stage]| stages.iter().map(|stage| 1.0 / stage.rate).fold(f64::INFINITY, f64::min);
        let of_rank = bytes as f64 / fabric.ranks.len() as f64;
        let two_stages = of_rank * (fastest(reducing) + fastest(copying));
        let stage = stage(fabric, bytes, element, two_stages, interrupt)?;
        let transmission = bytes as f64 / stage.rate;
        (transmission < two_stages * NEARLY).then_some(Overlapped { stage, transmission, two_stages })
    }

    /// Whether bandwidth decides between them and two stages, however long their pipeline is: by more than a part in a
    /// hundred, or because they come as near to the bound and two stages do not.
    pub fn is_worth_latency(&self) -> bool {
        let bound = self.stage.bound.seconds;
        self.transmission < self.two_stages * WORTH
            || (self.transmission * WORTH <= bound && self.two_stages * WORTH > bound)
    }
}

/// An allreduce of `bytes` as one stage. `None` where two stages take no longer than the bound says that anything has to,
/// or no more than it: `two_stages` are their seconds by bandwidth alone. Also for networks that are too large for the
/// programme, and where `interrupt` is requested.
fn stage(fabric: &Fabric, bytes: u64, element: u64, two_stages: f64, interrupt: &Interrupt) -> Option<Stage> {
    let partition = partition::best(fabric);
    let least = partition.as_ref().map_or(0.0, Partition::seconds) * bytes as f64;
    if !is_small(fabric) {
        return None;
    }
    let of_cut = bound_of_exchange::of_cut(fabric, Collective::Allreduce, bytes, element);
    if two_stages * ENOUGH <= least.max(of_cut.seconds) {
        return None;
    }
    let router = Router::of(fabric);
    let (mut packed, prices) = packed(fabric, &|prices| router.cheapest(prices), interrupt)?;
    // The widest first: then the widest ranges are next to each other in the file.
    packed.sort_by_key(|tree| Reverse(tree.1));
    let partition = partition::best_by_prices(fabric, &prices, partition);
    stage_of(fabric, packed, bound_of_exchange::higher(of_cut, partition, bytes), bytes, element)
}

/// An allreduce of `bytes` over trees of one root that are as shallow as may be: for data so short that its latency counts,
/// where no messages go past ranks. `None` for networks that are too large.
pub fn single(fabric: &Fabric, bytes: u64, element: u64) -> Option<Stage> {
    if !is_small(fabric) {
        return None;
    }
    let latencies: Vec<f64> = fabric.links.iter().map(|link| link.latency).collect();
    let paths = Router::of(fabric).all_paths(&latencies, false);
    let of_cut = bound_of_exchange::of_cut(fabric, Collective::Allreduce, bytes, element);
    let bound = bound_of_exchange::higher(of_cut, partition::best(fabric), bytes);
    let ranks = fabric.ranks.len();
    let of_root = |root: usize| {
        let there = soonest(ranks, root, |above, rank| Some(costs(fabric, &paths[rank][above].as_ref()?.1, bytes)))?;
        let back = soonest(ranks, root, |above, rank| Some(costs(fabric, &paths[above][rank].as_ref()?.1, bytes)))?;
        stage_of(fabric, vec![(trees(root, &there, &back, &paths), 1)], bound.clone(), bytes, element)
    };
    (0..fabric.ranks.len()).filter_map(of_root).min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// Allreduces of `bytes` over trees through switches that add and copy: a single tree whose paths are the quickest, and trees
/// that share the links well. None where no switch does so.
pub fn through_switches(
    fabric: &Fabric,
    bytes: u64,
    element: u64,
    effort: f64,
    interrupt: &Interrupt,
) -> [Option<Stage>; 2] {
    let Some(pairs) = Pairs::of(fabric) else { return [None, None] };
    let bound = bound_of_exchange::bound(fabric, Collective::Allreduce, 0, bytes, element);
    let stage = |packed: Vec<Weighted>| stage_of(fabric, packed, bound.clone(), bytes, element);
    let shortest = pairs.of_shortest_paths(bytes).into_iter().filter_map(|trees| stage(vec![(trees, 1)]));
    let shortest = shortest.min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let rate = bytes as f64 / bound.seconds;
    // Where one tree after another comes to the bound, no programme is needed.
    let rounds = pairs.packed(rate, effort, interrupt).and_then(stage);
    let is_enough = rounds.as_ref().is_some_and(|stage| stage.rate >= rate * ENOUGH) || !is_small(fabric);
    let solved = if is_enough { None } else { packed(fabric, &|prices| pairs.cheapest(prices), interrupt) };
    let solved = solved.and_then(|(trees, prices)| {
        let partition = partition::best_by_prices(fabric, &prices, None);
        let bound = bound_of_exchange::higher(bound.clone(), partition, bytes);
        stage_of(fabric, trees, bound, bytes, element)
    });
    [shortest, rounds.into_iter().chain(solved).max_by(|a, b| a.rate.total_cmp(&b.rate))]
}

/// Whether trees are looked for within seconds.
fn is_small(fabric: &Fabric) -> bool {
    fabric.links.len() <= MAX_LINKS && fabric.links.len() * fabric.ranks.len() <= MAX_SIZE
}

/// The stage of these trees, each with its weight in parts of the buffer.
fn stage_of(fabric: &Fabric, packed: Vec<Weighted>, bound: Bound, bytes: u64, element: u64) -> Option<Stage> {
    let parts = packed.iter().map(|(_, weight)| weight).sum();
    let elements = i128::from(bytes / element);
    let mut first = 0;
    let mut range = |weight: i64| {
        let at = |part: i64| (elements * i128::from(part) / i128::from(parts)) as u64 * element;
        let start = at(first);
        first += weight;
        (start, at(first) - start)
    };
    let trees: Vec<Tree> = packed
        .into_iter()
        .map(|(trees, weight)| {
            let (start, bytes) = range(weight);
            let Trees { root, reducing, copying } = trees;
            let reductions = (reducing.len() != copying.len()).then_some(reducing.len());
            Tree { root, weight, start, bytes, transfers: [reducing, copying].concat(), reductions }
        })
        .collect();
    let operation = Operation::ReduceBroadcast;
    let (merged, translated) = (false, None);
    let mut stage =
        Stage { operation, parts, chunks: 1, merged, translated, form: None, trees, bound, rate: 0.0, seconds: 0.0 };
    stage.rate = predict::rate(fabric, &stage);
    stage.chunks = predict::best_chunks(fabric, &stage, element);
    stage.seconds = predict::seconds(fabric, &stage)?;
    Some(stage)
}

/// Trees with whole weights, and the prices of links by which the bound of all trees is lowest.
fn packed(fabric: &Fabric, cheapest: &Cheapest, interrupt: &Interrupt) -> Option<(Vec<Weighted>, Vec<f64>)> {
    let largest = fabric.links.iter().map(|link| link.bandwidth).fold(0.0, f64::max);
    let capacities: Vec<f64> = fabric.links.iter().map(|link| link.bandwidth / largest).collect();
    let mut program = Program::new(capacities.clone(), vec![(0.0, f64::INFINITY); capacities.len()]);
    let mut packed: Vec<Trees> = Vec::new();
    let mut prices: Vec<f64> = capacities.iter().map(|capacity| 1.0 / capacity).collect();
    let mut lowest = Lowest { most: f64::INFINITY, prices: prices.clone() };
    let max_work = if fabric.routes.is_some() { MAX_WORK_OF_ROUTES } else { MAX_WORK };
    while packed.len() < MAX_TREES {
        if interrupt.is_requested() {
            return None;
        }
        let trees = lowest.next(cheapest, &capacities, &prices)?;
        if !packed.is_empty() && (worth(&prices, &capacities) >= lowest.most * ENOUGH || program.work() > max_work) {
            break;
        }
        let mut uses = vec![0.0; capacities.len()];
        trees.links().for_each(|link| uses[link] += 1.0);
        let terms: Vec<(usize, f64)> = uses.into_iter().enumerate().filter(|(_, uses)| *uses > 0.0).collect();
        packed.push(trees);
        program.add(&terms, 1.0, f64::INFINITY);
        prices = program.solve(MAX_PIVOTS)?;
        prices.iter_mut().for_each(|price| *price = price.max(0.0));
    }
    let amounts = program.duals();
    let weights = whole(&amounts);
    let kept = packed.into_iter().zip(weights).filter(|(_, weight)| *weight > 0).collect();
    Some((kept, lowest.prices))
}

/// What all links are worth by these prices.
fn worth(prices: &[f64], capacities: &[f64]) -> f64 {
    prices.iter().zip(capacities).map(|(price, capacity)| price * capacity).sum()
}

/// The lowest bound so far of what all trees together let through, and the prices that prove it: by them no tree costs less
/// than one, and all links are worth the bound.
struct Lowest {
    most: f64,
    prices: Vec<f64>,
}

impl Lowest {
    /// Trees that are cheap by `prices`. They are the cheapest by a mixture of these and of the prices of the bound: the
    /// prices of a few trees alone change much with each tree that is added (smoothing, Wentges 1997). Where those trees are
    /// not cheap by `prices`, the mixture has lowered the bound, and less of it is tried.
    fn next(&mut self, cheapest: &Cheapest, capacities: &[f64], prices: &[f64]) -> Option<Trees> {
        let mut share = if self.most.is_finite() { SMOOTHING } else { 0.0 };
        loop {
            let mixed = |(price, lowest): (&f64, &f64)| lowest * share + price * (1.0 - share);
            let mixed: Vec<f64> = prices.iter().zip(&self.prices).map(mixed).collect();
            let (cost, trees) = cheapest(&mixed)?;
            let most = worth(&mixed, capacities) / cost;
            if most < self.most {
                *self = Lowest { most, prices: mixed.iter().map(|price| price / cost).collect() };
            }
            let by_prices: f64 = trees.links().map(|link| prices[link]).sum();
            if share == 0.0 || by_prices < CHEAP {
                return Some(trees);
            }
            share = if share > MIN_SMOOTHING { share / 2.0 } else { 0.0 };
        }
    }
}

/// Whole numbers in the proportion of amounts: exact where few parts are enough for it.
fn whole(amounts: &[f64]) -> Vec<i64> {
    let sum: f64 = amounts.iter().sum();
    let of_parts = |parts: i64| amounts.iter().map(move |amount| amount / sum * parts as f64);
    let is_whole = |parts: &i64| of_parts(*parts).all(|amount| (amount - amount.round()).abs() < 1e-6);
    let parts = (1..=MAX_PARTS).find(is_whole).unwrap_or(FINE);
    of_parts(parts).map(|amount| amount.round() as i64).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::execute::Timed;
    use crate::fabric::Link;
    use crate::schedule::{KIND, Schedule};
    use crate::verify;

    fn network(ranks: usize, vertices: usize, links: &[(usize, usize, f64)]) -> Fabric {
        let both = |&(from, to, bandwidth): &(usize, usize, f64)| {
            [Link { from, to, bandwidth, latency: 1e-6 }, Link { from: to, to: from, bandwidth, latency: 1e-6 }]
        };
        Fabric {
            name: "test".to_owned(),
            vertices: (0..vertices).map(|vertex| format!("vertex {vertex}")).collect(),
            ranks: (0..ranks).collect(),
            links: links.iter().flat_map(both).collect(),
            message_seconds: 1e-6,
            forwards: false,
            in_network: Vec::new(),
            routes: None,
        }
    }

    /// The stage, verified and executed with numbers.
    fn tried(fabric: &Fabric, bytes: u64) -> Schedule {
        let stage = stage(fabric, bytes, 4, f64::INFINITY, &Interrupt::NEVER).expect("a stage");
        let schedule = Schedule {
            kind: KIND.to_owned(),
            collective: Collective::Allreduce,
            bytes,
            element_bytes: 4,
            root: None,
            blocks: None,
            fabric: fabric.clone(),
            stages: vec![stage],
            exchange: None,
        };
        verify(&schedule).unwrap_or_else(|error| panic!("{error}: {}", schedule.to_json()));
        let program = Timed::new(Arc::new(schedule.clone()), false, 1).unwrap();
        weft_threads::run(program.ranks(), &program, &weft_threads::Options::default()).unwrap();
        schedule
    }

    #[test]
    fn a_star_is_busy_both_ways() {
        let links: Vec<_> = (1..17).map(|leaf| (0, leaf, 25e9)).collect();
        let schedule = tried(&network(17, 17, &links), 4 << 20);
        let [stage] = &schedule.stages[..] else { panic!("one stage") };
        // One tree: every link carries the whole buffer, there and back at the same time.
        assert_eq!((stage.trees.len(), stage.trees[0].root), (1, 0));
        assert!((stage.rate - 25e9).abs() < 1.0 && (schedule.efficiency() - 1.0).abs() < 1e-9);
    }

    /// Where all vertices are ranks and links are alike both ways, trees reach the bound of some division (Tutte,
    /// Nash-Williams).
    #[test]
    fn networks_of_ranks_are_used_as_the_theorem_says() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(5);
        for _ in 0..40 {
            let ranks = random.random_range(3..12);
            let mut links: Vec<(usize, usize, f64)> =
                (1..ranks).map(|rank| (random.random_range(0..rank), rank, 1e9)).collect();
            for _ in 0..random.random_range(0..2 * ranks) {
                let (a, b) = (random.random_range(0..ranks), random.random_range(0..ranks));
                if a != b {
                    links.push((a, b, f64::from(random.random_range(1..5)) * 1e9));
                }
            }
            // Fewer elements than trees have parts, too.
            for bytes in [4 * 1009, 4 * ranks as u64] {
                let efficiency = tried(&network(ranks, ranks, &links), bytes).efficiency();
                assert!(efficiency > 0.998 && efficiency <= 1.0 + 1e-9, "{efficiency}: {links:?}");
            }
        }
    }

    #[test]
    fn a_longer_pipeline_is_for_what_two_stages_do_not_reach() {
        let links = (0..4).map(|rank| (rank, (rank + 1) % 4, 1e9)).collect::<Vec<_>>();
        let stage = tried(&network(4, 4, &links), 4096).stages.remove(0);
        let bound = stage.bound.seconds;
        // In units of the bound: what these trees take by bandwidth alone, and two stages.
        let is_worth = |transmission: f64, two_stages: f64| {
            let (transmission, two_stages) = (transmission * bound, two_stages * bound);
            Overlapped { stage: stage.clone(), transmission, two_stages }.is_worth_latency()
        };
        assert!(is_worth(1.5, 1.52) && is_worth(1.0, 1.9));
        assert!(!is_worth(1.5, 1.51) && !is_worth(1.0, 1.009));
        assert!(is_worth(1.005, 1.0145), "within a hundredth of the bound, where two stages are not");
    }

    /// Sums come over other trees than copies go out where links are not alike both ways.
    #[test]
    fn links_without_one_back_are_used_fully() {
        let one_way = |ranks: usize, links: &[(usize, usize, f64)]| {
            let mut fabric = network(ranks, ranks, links);
            fabric.links = fabric.links.into_iter().step_by(2).collect();
            fabric
        };
        // A ring one way with a slow link: with the root behind it, sums cross it, or with the root before it, copies do.
        let ring: Vec<_> = (0..6).map(|rank| (rank, (rank + 1) % 6, if rank == 2 { 1e9 } else { 25e9 })).collect();
        assert!((tried(&one_way(6, &ring), 4 << 20).stages[0].rate - 1e9).abs() < 1e6);
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(17);
        let mut full = 0;
        for _ in 0..30 {
            let ranks = random.random_range(3..12);
            let mut links: Vec<_> = (0..ranks).map(|rank| (rank, (rank + 1) % ranks)).collect();
            for _ in 0..random.random_range(0..3 * ranks) {
                links.push((random.random_range(0..ranks), random.random_range(0..ranks)));
            }
            links.retain(|(from, to)| from != to);
            let links: Vec<_> =
                links.into_iter().map(|(from, to)| (from, to, f64::from(random.random_range(1..9)) * 1e9)).collect();
            let efficiency = tried(&one_way(ranks, &links), 1 << 16).efficiency();
            assert!(efficiency <= 1.0 + 1e-9, "{efficiency}: {links:?}");
            full += u32::from(efficiency > 0.998);
        }
        // Neither a cut nor a division always says all that limits them.
        assert!(full >= 25, "{full}");
    }

    #[test]
    fn switches_pass_on_and_do_not_copy() {
        // Six ranks at two switches that are joined by a slower link.
        let links = (0..6).map(|rank| (rank, 6 + rank / 3, 4e9)).chain([(6, 7, 1e9)]).collect::<Vec<_>>();
        let schedule = tried(&network(6, 8, &links), 4096);
        // Each element crosses the slow link once there and once back.
        assert!((schedule.stages[0].rate - 1e9).abs() < 1e3, "{}", schedule.stages[0].rate);
    }

    /// Links of unequal speed, some of which have none back, and switches among ranks.
    #[test]
    fn whatever_the_network_sums_are_right() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(11);
        for _ in 0..30 {
            let vertices = random.random_range(4..14);
            let ranks = random.random_range(2..=vertices);
            let speed = |random: &mut rand_xoshiro::Xoshiro256PlusPlus| f64::from(random.random_range(1..9)) * 1e9;
            let joined: Vec<_> =
                (1..vertices).map(|vertex| (random.random_range(0..vertex), vertex, speed(&mut random))).collect();
            let mut fabric = network(ranks, vertices, &joined);
            for _ in 0..random.random_range(0..3 * vertices) {
                let (from, to) = (random.random_range(0..vertices), random.random_range(0..vertices));
                if from != to {
                    fabric.links.push(Link { from, to, bandwidth: speed(&mut random), latency: 2e-6 });
                }
            }
            // Paths may pass through the ranks of a tree only where routers are there.
            let is_joined = stage(&fabric, 4096, 4, f64::INFINITY, &Interrupt::NEVER).is_some();
            if is_joined {
                let bytes = 4 * random.random_range(ranks as u64..3000);
                assert!(tried(&fabric, bytes).efficiency() <= 1.0 + 1e-9, "{fabric:?}");
            }
        }
    }

    /// A torus of ranks with a link missing has many trees that are as good; random speeds leave few that are.
    #[test]
    fn trees_reach_the_bound_of_prices_on_networks_of_some_hundred_links() {
        let torus = |extents: [usize; 3]| {
            let count: usize = extents.iter().product();
            let stride = [extents[1] * extents[2], extents[2], 1];
            let steps = (0..count).flat_map(|rank| (0..3).map(move |axis| (rank, axis)));
            let next = |(rank, axis): (usize, usize)| {
                let coordinate = rank / stride[axis] % extents[axis];
                (rank, rank - coordinate * stride[axis] + (coordinate + 1) % extents[axis] * stride[axis], 25e9)
            };
            let links: Vec<_> = steps.map(next).skip(2).collect();
            network(count, count, &links)
        };
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(23);
        let mut ends: Vec<(usize, usize)> = (1..48).map(|vertex| (random.random_range(0..vertex), vertex)).collect();
        ends.extend((0..140).map(|_| (random.random_range(0..48), random.random_range(0..48))));
        ends.retain(|(from, to)| from != to);
        let joined: Vec<_> = ends.into_iter().map(|(from, to)| (from, to, random.random_range(5e9..400e9))).collect();
        for fabric in [torus([3, 5, 3]), network(26, 48, &joined)] {
            let router = Router::of(&fabric);
            let (packed, prices) = packed(&fabric, &|prices| router.cheapest(prices), &Interrupt::NEVER).unwrap();
            let bound = bound_of_exchange::bound(&fabric, Collective::Allreduce, 0, 4096, 4);
            let stage = stage_of(&fabric, packed, bound, 4096, 4);
            // No tree costs less than one by these prices, so that all of them let through what links are worth.
            let (cost, _) = router.cheapest(&prices).unwrap();
            let most: f64 = prices.iter().zip(&fabric.links).map(|(price, link)| price * link.bandwidth).sum();
            assert!(cost > 1.0 - 1e-9, "{cost}");
            let rate = stage.unwrap().rate;
            assert!(rate <= most * (1.0 + 1e-9) && rate > most * 0.998, "{rate} of {most}");
        }
    }

    #[test]
    fn whole_weights_keep_proportions() {
        assert_eq!(whole(&[0.5, 0.0, 0.25]), [2, 0, 1]);
        assert_eq!(whole(&[1.0 / 3.0, 1.0]), [1, 3]);
        let sum: i64 = whole(&[2f64.sqrt(), 1.0]).iter().sum();
        assert!((sum - FINE).abs() <= 1);
    }
}
