//! Trees of one root: for short data the tree by which all are reached soonest, for long data chains, and trees that put as
//! little as may be on each link of the routes that messages take.

use crate::fabric::Fabric;
use crate::packing::PackedTree;
use crate::spreading::Spreading;
use crate::symmetric::Paths;

/// Trees that are looked for together: so many links may lead out of a root.
const COUNTS: [usize; 4] = [1, 2, 3, 4];

/// Candidates for the data of one root, each with one or several trees that have equal shares of it.
pub fn candidates(fabric: &Fabric, paths: &Paths, capacities: &[i64], root: usize, bytes: u64) -> Vec<Vec<PackedTree>> {
    let ranks = paths.ranks();
    let quickest = soonest(ranks, root, |from, to| paths.get(from, to).map(|links| costs(fabric, links, bytes)));
    // Where links out of a rank are several, the next message need not wait until the last one has left.
    let side_by_side = soonest(ranks, root, |from, to| {
        let there = costs(fabric, paths.get(from, to)?, bytes).0;
        Some((there, fabric.message_seconds / 2.0))
    });
    let mut candidates: Vec<Option<Vec<usize>>> = vec![quickest, side_by_side, chain(paths, root)];
    let numbered: Vec<usize> = (0..ranks).map(|step| (root + step) % ranks).collect();
    candidates.push(Some(above(&numbered, |position| position - 1)));
    // By distances of powers of two, from the root on.
    candidates.push(Some(above(&numbered, |position| position & (position - 1))));
    let alone = candidates.into_iter().flatten().filter_map(|above| packed(fabric, paths, root, &above, bytes));
    let mut trees: Vec<Vec<PackedTree>> = alone.map(|tree| vec![tree]).collect();
    // Shortest paths in graphs are packed exactly; routes are not what those trees are packed of.
    if fabric.routes.is_some() {
        for count in COUNTS {
            let spread = Spreading::of(paths, capacities, vec![root; count]).map(Spreading::trees);
            let all =
                spread.and_then(|trees| trees.iter().map(|above| packed(fabric, paths, root, above, bytes)).collect());
            trees.extend(all);
        }
    }
    trees
}

/// Who is above each rank, the root above itself, where that is known by positions in an order.
fn above(order: &[usize], position: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut above = vec![order[0]; order.len()];
    (1..order.len()).for_each(|index| above[order[index]] = order[position(index)]);
    above
}

/// What a message costs between two ranks: until it is there, and until its sender can send the next one.
pub type Costs = (f64, f64);

/// The costs of so many bytes over some links: half an overhead at each end, and the bytes at the pace of the slowest link.
pub fn costs(fabric: &Fabric, links: &[u32], bytes: u64) -> Costs {
    let end = fabric.message_seconds / 2.0;
    let links = links.iter().map(|&link| &fabric.links[link as usize]);
    let (latency, slowest) =
        links.fold((0.0, f64::INFINITY), |(sum, least), link| (sum + link.latency, link.bandwidth.min(least)));
    let busy = bytes as f64 / slowest;
    (end + latency + busy + end, end.max(busy))
}

/// Who has the data, when it can send it next, and whom it reaches, the nearest last.
type Holder = (usize, f64, Vec<(Costs, usize)>);

/// The tree that grows by who can be reached soonest (Karp, Sahay, Santos and Schauser 1993): a rank that has the data sends
/// it again and again, each time after the overhead of the last or when that has left the link, whichever is later. Where all
/// ranks are as far from each other it is optimal. Who is above each rank, the root above itself; `None` where somebody is
/// not reached.
pub fn soonest(ranks: usize, root: usize, costs: impl Fn(usize, usize) -> Option<Costs>) -> Option<Vec<usize>> {
    let mut above = vec![usize::MAX; ranks];
    let mut holders: Vec<Holder> = Vec::with_capacity(ranks);
    let (mut reached, mut from, mut there) = (root, root, 0.0);
    loop {
        above[reached] = from;
        if holders.len() + 1 == ranks {
            return Some(above);
        }
        let waiting = (0..ranks).filter(|&rank| above[rank] == usize::MAX);
        let mut others: Vec<(Costs, usize)> =
            waiting.filter_map(|rank| costs(reached, rank).map(|costs| (costs, rank))).collect();
        others.sort_by(|a, b| b.0.0.total_cmp(&a.0.0).then(b.1.cmp(&a.1)));
        holders.push((reached, there, others));
        for (.., others) in &mut holders {
            while others.last().is_some_and(|(_, rank)| above[*rank] != usize::MAX) {
                others.pop();
            }
        }
        let soonest = |holder: &usize| holders[*holder].2.last().map(|(costs, _)| holders[*holder].1 + costs.0);
        let next = (0..holders.len()).filter_map(|holder| Some((soonest(&holder)?, holder)));
        let (time, holder) = next.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (by, free, others) = &mut holders[holder];
        let (costs, rank) = others.pop()?;
        *free += costs.1;
        (reached, from, there) = (rank, *by, time);
    }
}

/// From each rank to the one whose path has fewest links that others of the chain have, and of those the nearest.
pub fn chain(paths: &Paths, root: usize) -> Option<Vec<usize>> {
    let ranks = paths.ranks();
    let mut above = vec![usize::MAX; ranks];
    above[root] = root;
    let mut used: rustc_hash::FxHashSet<u32> = rustc_hash::FxHashSet::default();
    let mut last = root;
    for _ in 1..ranks {
        let waiting = paths.from(last).iter().filter(|(to, _)| above[*to as usize] == usize::MAX);
        let cost = |links: &[u32]| (links.iter().filter(|link| used.contains(link)).count(), links.len());
        let (next, links) = waiting.min_by_key(|(_, links)| cost(links))?;
        used.extend(links);
        above[*next as usize] = last;
        last = *next as usize;
    }
    Some(above)
}

/// The tree by who is above each rank, from its root on, for so many bytes. `None` where there is no path.
pub fn packed(fabric: &Fabric, paths: &Paths, root: usize, above: &[usize], bytes: u64) -> Option<PackedTree> {
    let levels = levels(root, above);
    let mut costs_of = vec![(0.0, 0.0); above.len()];
    for &rank in levels.iter().skip(1) {
        costs_of[rank] = costs(fabric, paths.get(above[rank], rank)?, bytes);
    }
    let edge = |(from, to): (usize, usize)| Some((fabric.ranks[from], fabric.ranks[to], paths.get(from, to)?.to_vec()));
    let order = downwards(root, above, &durations(&levels, above, &costs_of));
    let edges = order.into_iter().map(edge).collect::<Option<_>>()?;
    Some(PackedTree { root: fabric.ranks[root], weight: 1, edges })
}

/// Of each rank the seconds from when a message is begun to it until all below it have the data, by what a message costs
/// from who is above it.
fn durations(levels: &[usize], above: &[usize], costs_of: &[Costs]) -> Vec<f64> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); above.len()];
    let mut durations = vec![0.0f64; above.len()];
    for &rank in levels.iter().rev() {
        let of_rank = &mut below[rank];
        of_rank.sort_by(|&a, &b| durations[b].total_cmp(&durations[a]));
        let (mut begun, mut last) = (0.0, 0.0f64);
        for &lower in of_rank.iter() {
            last = last.max(begun + durations[lower]);
            begun += costs_of[lower].1;
        }
        durations[rank] = costs_of[rank].0 + last;
        below[above[rank]].push(rank);
    }
    durations
}

/// The ranks of a tree from its root on, level by level.
fn levels(root: usize, above: &[usize]) -> Vec<usize> {
    levels_of(root, &below(root, above))
}

/// Of each rank those right below it, in ascending order.
fn below(root: usize, above: &[usize]) -> Vec<Vec<usize>> {
    let mut below = vec![Vec::new(); above.len()];
    (0..above.len()).filter(|&rank| rank != root).for_each(|rank| below[above[rank]].push(rank));
    below
}

/// The ranks from the root on, level by level, those below a rank in their order there.
fn levels_of(root: usize, below: &[Vec<usize>]) -> Vec<usize> {
    let (mut levels, mut next) = (vec![root], 0);
    while let Some(&rank) = levels.get(next) {
        levels.extend(&below[rank]);
        next += 1;
    }
    levels
}

/// Of each rank how many ranks have the data by it, itself included.
pub fn sizes(root: usize, above: &[usize]) -> Vec<f64> {
    let mut sizes = vec![1.0; above.len()];
    levels(root, above).iter().skip(1).rev().for_each(|&rank| sizes[above[rank]] += sizes[rank]);
    sizes
}

/// The edges of a tree from its root on, level by level; of those below a rank, the one with the largest `rest` comes first.
pub fn downwards(root: usize, above: &[usize], rest: &[f64]) -> Vec<(usize, usize)> {
    let mut below = below(root, above);
    below.iter_mut().for_each(|below| below.sort_by(|&a, &b| rest[b].total_cmp(&rest[a])));
    levels_of(root, &below).into_iter().skip(1).map(|rank| (above[rank], rank)).collect()
}

#[cfg(test)]
mod tests {
    use weft_base::Interrupt;

    use crate::compile::alternatives;
    use crate::request::{Method, Request};
    use crate::schedule::{Collective, Schedule};

    use super::*;

    /// Ranks around a switch: a message of 4 bytes takes `2 overhead + gap + latency`, and keeps a link for `gap`.
    fn star(ranks: usize, (overhead, gap, latency): (f64, f64, f64)) -> Fabric {
        let spokes = (0..ranks).map(|rank| {
            let half = latency / 2.0;
            let bandwidth = 4.0 / gap;
            format!(r#"{{"from": "node {rank}", "to": "switch 0", "bandwidth": {bandwidth}, "latency": {half}, "duplex": true}}"#)
        });
        let links = spokes.collect::<Vec<_>>().join(",");
        let both = 2.0 * overhead;
        let text = format!(r#"{{"nodes": {ranks}, "switches": 1, "message_seconds": {both}, "links": [{links}]}}"#);
        Fabric::from_json(&text, "star.json").unwrap()
    }

    /// How many ranks an optimal broadcast reaches within so many ticks: who has the data sends it every `gap`, and after each
    /// sending there is one who has it as much later as a message takes (Karp and others 1993, theorem 2.1).
    fn reached(ticks: i64, gap: i64, message: i64) -> usize {
        if ticks < message { 1 } else { reached(ticks - gap, gap, message) + reached(ticks - message, gap, message) }
    }

    #[test]
    fn short_data_reaches_all_as_soon_as_may_be() {
        // Ticks of a tenth of a microsecond; overheads that are small and large against latency and the time of a link.
        for (overhead, gap, latency) in [(1, 2, 30), (1, 1, 10), (5, 1, 20), (10, 4, 6), (3, 7, 0), (0, 2, 8)] {
            let seconds = |ticks: i64| ticks as f64 * 1e-7;
            for ranks in [2, 3, 5, 6, 7, 11, 13, 23, 33, 40] {
                let fabric = star(ranks, (seconds(overhead), seconds(gap), seconds(latency)));
                let message = 2 * overhead + gap + latency;
                let optimum = (0..).find(|&ticks| reached(ticks, overhead.max(gap), message) >= ranks).unwrap();
                for collective in [Collective::Broadcast, Collective::Reduce] {
                    for root in [0, ranks - 1] {
                        let request = Request {
                            collective,
                            bytes: 4,
                            element_bytes: 4,
                            root,
                            method: Method::Auto,
                            blocks: None,
                        };
                        let all = alternatives(&fabric, &request, 1.0, &Interrupt::NEVER).unwrap();
                        // In merged rounds the model looks at the overheads of each round alone.
                        let in_order = all.iter().filter(|schedule| schedule.stages.iter().any(|stage| !stage.merged));
                        let least = in_order.map(Schedule::seconds).fold(f64::INFINITY, f64::min);
                        let what = format!("{ranks} ranks, {overhead}, {gap}, {latency}: {}", collective.name());
                        let reaches = (least / seconds(optimum) - 1.0).abs() < 1e-9;
                        assert!(reaches, "{what} from {root}: {least} s, {} s", seconds(optimum));
                    }
                }
            }
        }
    }
}
