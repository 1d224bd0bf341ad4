//! What an allreduce takes at least by the parts of its network: no sum is known everywhere before it has been brought
//! together, and spread again.
//!
//! Let the vertices be divided into parts, k of which have ranks. A transfer that leaves a part brings one element, or one
//! sum of it, to one other part. The first part that can tell the sum of an element depends on all k, so k - 1 transfers
//! were made before; every other part gets one more afterwards. An element thus leaves parts at least 2 (k - 1) times
//! (the count of one-way calls in gossiping: Harary and Schwenk 1974), and enters them as often: 2 (k - 1) times the bytes
//! of the buffer, over the bandwidth out of all parts, is a bound of time. With every rank a part of its own it is that of
//! Patarasuk and Yuan 2009. Whoever codes several elements into one is not bound by it. Switches that copy or add have to be
//! in parts that have ranks: outside of them they would bring one sum of several parts to several others.
//!
//! Where every link has one back that is as fast and all vertices are ranks, the best of all divisions is reached, by trees
//! that reduce on the way up and copy on the way down at the same time (Tutte 1961, Nash-Williams 1961).

use rustc_hash::FxHashMap;

use crate::fabric::Fabric;

/// Disjoint sets of vertices that together have all ranks, each at least one.
#[derive(Debug, PartialEq)]
pub struct Partition {
    pub parts: Vec<Vec<usize>>,
    /// Out of all parts, or into them if that is less, bytes a second.
    pub bandwidth: f64,
}

impl Partition {
    /// Seconds of an allreduce of one byte at least.
    pub fn seconds(&self) -> f64 {
        2.0 * (self.parts.len() as f64 - 1.0) / self.bandwidth
    }
}

/// Vertices times links up to which parts are joined one by one.
const MAX_JOINING: usize = 1 << 21;

/// The division with the highest bound among those that are tried: every rank on its own; what links above each speed
/// join; and, unless the network is large, all that come about where the two parts that have most to do with each other
/// are joined, again and again. Any division is a bound; of these one is best on networks that are built of levels.
pub fn best(fabric: &Fabric) -> Option<Partition> {
    let vertices = fabric.vertices.len();
    let each: Vec<usize> = (0..vertices).collect();
    let mut best = partition(fabric, &each);
    let mut consider = |part_of: &[usize]| {
        let other = partition(fabric, part_of);
        if seconds(&other) > seconds(&best) * (1.0 + 1e-9) {
            best = other;
        }
    };
    let mut speeds: Vec<f64> = fabric.links.iter().map(|link| link.bandwidth).collect();
    speeds.sort_by(f64::total_cmp);
    speeds.dedup();
    for speed in speeds {
        consider(&joined(fabric, |link| fabric.links[link].bandwidth > speed));
    }
    if vertices.saturating_mul(fabric.links.len()) <= MAX_JOINING {
        let mut part_of = each;
        while let Some((kept, gone)) = closest(fabric, &part_of) {
            part_of.iter_mut().filter(|part| **part == gone).for_each(|part| *part = kept);
            consider(&part_of);
        }
    }
    best
}

fn seconds(partition: &Option<Partition>) -> f64 {
    partition.as_ref().map_or(0.0, Partition::seconds)
}

/// The parts that have ranks, and the bandwidth around them. `None` where there are fewer than two, or no links, or where a
/// switch that copies or adds is in none.
fn partition(fabric: &Fabric, part_of: &[usize]) -> Option<Partition> {
    let mut number = vec![usize::MAX; part_of.len()];
    let mut count = 0;
    for &vertex in &fabric.ranks {
        let number = &mut number[part_of[vertex]];
        if *number == usize::MAX {
            *number = count;
            count += 1;
        }
    }
    if fabric.in_network.iter().any(|switch| number[part_of[switch.vertex]] == usize::MAX) {
        return None;
    }
    let mut parts = vec![Vec::new(); count];
    for (vertex, &part) in part_of.iter().enumerate().filter(|(_, part)| number[**part] != usize::MAX) {
        parts[number[part]].push(vertex);
    }
    let (mut leaving, mut entering) = (0.0, 0.0);
    for link in fabric.links.iter().filter(|link| part_of[link.from] != part_of[link.to]) {
        leaving += if number[part_of[link.from]] == usize::MAX { 0.0 } else { link.bandwidth };
        entering += if number[part_of[link.to]] == usize::MAX { 0.0 } else { link.bandwidth };
    }
    let bandwidth = f64::min(leaving, entering);
    (count > 1 && bandwidth > 0.0).then_some(Partition { parts, bandwidth })
}

/// The better of `best` and the divisions where all links join that cost no more than one of them does, there and back.
/// Prices by which no spanning tree is cheap say what limits trees, which need both ways.
pub fn best_by_prices(fabric: &Fabric, prices: &[f64], mut best: Option<Partition>) -> Option<Partition> {
    let mut of_pair: FxHashMap<(usize, usize), f64> = FxHashMap::default();
    for (link, price) in fabric.links.iter().zip(prices) {
        let of_pair = of_pair.entry((link.from, link.to)).or_default();
        *of_pair = of_pair.max(*price);
    }
    let one_way = |from: usize, to: usize| of_pair.get(&(from, to)).copied().unwrap_or(0.0);
    let prices: Vec<f64> =
        fabric.links.iter().map(|link| one_way(link.from, link.to) + one_way(link.to, link.from)).collect();
    let mut known = prices.clone();
    known.sort_by(f64::total_cmp);
    known.dedup_by(|b, a| *b - *a <= 1e-9);
    for most in known {
        let other = partition(fabric, &joined(fabric, |link| prices[link] <= most + 1e-9));
        if seconds(&other) > seconds(&best) * (1.0 + 1e-9) {
            best = other;
        }
    }
    best
}

/// The part of every vertex where the links of these numbers join.
fn joined(fabric: &Fabric, joins: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut near = vec![Vec::new(); fabric.vertices.len()];
    for (_, link) in fabric.links.iter().enumerate().filter(|(number, _)| joins(*number)) {
        near[link.from].push(link.to);
        near[link.to].push(link.from);
    }
    let mut part_of = vec![usize::MAX; near.len()];
    for first in 0..near.len() {
        let mut waiting = vec![first];
        while let Some(vertex) = waiting.pop() {
            if part_of[vertex] == usize::MAX {
                part_of[vertex] = first;
                waiting.extend(&near[vertex]);
            }
        }
    }
    part_of
}

/// The two parts between which there is most bandwidth, as a share of all that one of them has.
fn closest(fabric: &Fabric, part_of: &[usize]) -> Option<(usize, usize)> {
    let mut around = vec![0.0; part_of.len()];
    let mut between: FxHashMap<(usize, usize), f64> = FxHashMap::default();
    for link in &fabric.links {
        let (a, b) = (part_of[link.from], part_of[link.to]);
        if a != b {
            around[a] += link.bandwidth;
            around[b] += link.bandwidth;
            *between.entry((a.min(b), a.max(b))).or_default() += link.bandwidth;
        }
    }
    let share = |(&(a, b), bandwidth): (&(usize, usize), &f64)| (bandwidth / f64::min(around[a], around[b]), (a, b));
    // Of equal ones the first, whatever the order of the table.
    let closest = between.iter().map(share).max_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1)));
    closest.map(|(_, pair)| pair)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::fabric::Link;

    fn fabric(vertices: usize, ranks: usize, links: &[(usize, usize, f64)]) -> Fabric {
        let link = |&(from, to, bandwidth): &(usize, usize, f64)| Link { from, to, bandwidth, latency: 0.0 };
        Fabric {
            name: "test".to_owned(),
            vertices: (0..vertices).map(|vertex| format!("vertex {vertex}")).collect(),
            ranks: (0..ranks).collect(),
            links: links.iter().map(link).collect(),
            message_seconds: 0.0,
            forwards: false,
            in_network: Vec::new(),
            routes: None,
        }
    }

    fn duplex(links: &[(usize, usize, f64)]) -> Vec<(usize, usize, f64)> {
        links.iter().flat_map(|&(a, b, speed)| [(a, b, speed), (b, a, speed)]).collect()
    }

    /// Every division of `count` vertices into parts, each labelled by its first vertex.
    fn divisions(count: usize) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for vertex in 0..count {
            let with = |labels: Vec<usize>| {
                let mut known = labels.clone();
                known.sort_unstable();
                known.dedup();
                known.push(vertex);
                known.into_iter().map(move |label| [&labels[..], &[label]].concat())
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    /// Where links are of two speeds, as inside systems and between them, joining step by step misses nothing.
    #[test]
    fn it_is_the_best_of_all_divisions_on_levels() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(7);
        for _ in 0..40 {
            let fast = f64::from(random.random_range(2..9)) * 4.0;
            let (mut links, mut firsts, mut next) = (Vec::new(), Vec::new(), 0);
            for _ in 0..random.random_range(2..4) {
                let size = random.random_range(1..4);
                firsts.push(next);
                links.extend((next..next + size).flat_map(|a| (next..a).map(move |b| (b, a, fast))));
                next += size;
            }
            links.extend(firsts.windows(2).map(|pair| (pair[0], pair[1], 1.0)));
            let network = fabric(next, next, &duplex(&links));
            let most = divisions(next).iter().map(|part_of| seconds(&partition(&network, part_of))).fold(0.0, f64::max);
            let best = best(&network).unwrap();
            assert!((best.seconds() - most).abs() <= 1e-9 * most, "{best:?}, {most}");
        }
    }

    /// Trees that are packed by trying all, each of them up and down at the same time, never take less than it says.
    #[test]
    fn no_packing_of_spanning_trees_beats_it() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(9);
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let mut tight = 0;
        for _ in 0..60 {
            let mut capacity = [0u32; 6].map(|_| random.random_range(0..3));
            [0, 3, 5].iter().for_each(|&edge| capacity[edge] += 1);
            let named = |(&(a, b), &speed): (&(usize, usize), &u32)| (a, b, f64::from(speed));
            let links: Vec<_> = pairs.iter().zip(&capacity).filter(|(_, speed)| **speed > 0).map(named).collect();
            let bound = best(&fabric(4, 4, &duplex(&links))).unwrap().seconds();
            let trees = f64::from(packed(&pairs, &mut capacity, 0));
            assert!(trees * bound <= 1.0 + 1e-9, "{links:?}: {trees} trees, {bound}");
            // Whole trees fill whole links where a division says so.
            tight += u32::from(trees * bound > 1.0 - 1e-9);
        }
        assert!(tight > 20, "{tight}");
    }

    /// The most spanning trees of four vertices that fit into the capacities, of sets of edges from `first` on.
    fn packed(pairs: &[(usize, usize)], capacity: &mut [u32], first: u32) -> u32 {
        let mut most = 0;
        for set in first..64 {
            let edges: Vec<usize> = (0..6).filter(|edge| set >> edge & 1 == 1).collect();
            let mut label = [0usize, 1, 2, 3];
            let joins = edges.iter().filter(|&&edge| {
                let (a, b) = (label[pairs[edge].0], label[pairs[edge].1]);
                label.iter_mut().filter(|label| **label == b).for_each(|label| *label = a);
                a != b
            });
            if joins.count() == 3 && edges.len() == 3 && edges.iter().all(|&edge| capacity[edge] > 0) {
                edges.iter().for_each(|&edge| capacity[edge] -= 1);
                most = most.max(1 + packed(pairs, capacity, set));
                edges.iter().for_each(|&edge| capacity[edge] += 1);
            }
        }
        most
    }

    #[test]
    fn ranks_alone_limit_a_ring_and_systems_limit_rails() {
        let ring: Vec<_> = (0..8).map(|rank| (rank, (rank + 1) % 8, 1.0)).collect();
        let ring = best(&fabric(8, 8, &duplex(&ring))).unwrap();
        assert_eq!((ring.parts.len(), ring.bandwidth), (8, 16.0));
        // Four systems of two ranks with a switch inside and two rails outside: what leaves a system counts.
        let inside = (0..8).map(|rank| (rank, 8 + rank / 2, 9.0));
        let outside = (0..8).map(|rank| (rank, 12 + rank % 2, 1.0));
        let rails = best(&fabric(14, 8, &duplex(&inside.chain(outside).collect::<Vec<_>>()))).unwrap();
        assert_eq!((rails.parts.len(), rails.bandwidth), (4, 8.0));
        assert_eq!(rails.seconds(), 0.75);
    }

    #[test]
    fn the_smaller_of_what_leaves_and_what_enters_counts() {
        // Behind a switch that is fed slowly: the ranks can send more than they get.
        let links = [(0, 2, 4.0), (2, 0, 1.0), (1, 2, 4.0), (2, 1, 1.0)];
        assert_eq!(best(&fabric(3, 2, &links)).unwrap().bandwidth, 2.0);
    }
}
