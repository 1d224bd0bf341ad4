//! Trees by which data reaches all ranks in as few rounds as there can be, for ranks in an order: what goes from one rank
//! to another in a round is one message, as in an allgather by Bruck and others (1997) or by recursive doubling.
//!
//! Messages over distances along the order that double need the fewest rounds for any number of ranks; pairs of ranks that
//! swap all that they have stay nearer to each other, and need a round more where ranks are no power of two. Which
//! order, which direction and which distance comes first matters where near ranks have shorter routes than far ones.

use weft_comm::collective::{Fold, doublings};

use crate::bound::Edge;
use crate::packing::PackedTree;
use crate::rooted::chain;
use crate::symmetric::{Moved, Paths};

/// Ranks up to which all patterns are looked at: of each there is a tree for every rank.
pub const MAX_RANKS: usize = 96;

/// How ranks at positions of an order send to each other, in which distances.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pattern {
    /// To the position so far behind the sender, round the end.
    Onwards,
    /// To the position so far before the sender.
    Backwards,
    /// To the position whose number differs in one bit, among a power of two of ranks.
    Pairs,
}

const PATTERNS: [Pattern; 3] = [Pattern::Onwards, Pattern::Backwards, Pattern::Pairs];

/// One tree at every rank for each pattern that the paths allow; none on larger networks.
pub fn trees(paths: &Paths, edges: &[Edge], ranks: &[usize]) -> Vec<Moved> {
    if ranks.len() > MAX_RANKS {
        return Vec::new();
    }
    let patterns = PATTERNS.into_iter().flat_map(|pattern| [(pattern, true), (pattern, false)]);
    let patterns: Vec<(Pattern, bool)> = patterns.collect();
    let orders = orders(paths, ranks);
    let all =
        orders.iter().flat_map(|(_, order)| patterns.iter().map(move |&(pattern, is_near)| (order, pattern, is_near)));
    let trees = all.filter_map(|(order, pattern, is_near)| {
        let of_root = |position: usize| {
            let steps = steps(pattern, is_near, ranks.len(), position).into_iter();
            let edge = |(from, to): (usize, usize)| {
                let (from, to) = (order[from], order[to]);
                Some((ranks[from], ranks[to], paths.get(from, to)?.to_vec()))
            };
            Some(PackedTree { root: ranks[order[position]], weight: 1, edges: steps.map(edge).collect::<Option<_>>()? })
        };
        (0..ranks.len()).map(of_root).collect::<Option<Vec<PackedTree>>>()
    });
    trees.map(|trees| Moved::whole(trees, edges)).collect()
}

/// Ranks in their own order, by the numbers of their vertices, and from each to one that is near, with what people call it.
pub fn orders(paths: &Paths, ranks: &[usize]) -> Vec<(&'static str, Vec<usize>)> {
    let own: Vec<usize> = (0..ranks.len()).collect();
    let mut by_vertex = own.clone();
    by_vertex.sort_by_key(|&rank| ranks[rank]);
    let from_near = chain(paths, 0).map(|above| {
        let mut next = own.clone();
        above.iter().enumerate().skip(1).for_each(|(rank, &before)| next[before] = rank);
        let mut order = vec![0];
        while order.len() < ranks.len() {
            order.push(next[order[order.len() - 1]]);
        }
        order
    });
    let mut orders = vec![("in line", own), ("by position", by_vertex)];
    orders.extend(from_near.map(|order| ("from each to one that is near", order)));
    orders.dedup_by(|b, a| a.1 == b.1);
    orders
}

/// From which position to which the data of the rank at `root` goes, in an order in which that can happen.
fn steps(pattern: Pattern, is_near_first: bool, count: usize, root: usize) -> Vec<(usize, usize)> {
    // Where all have been reached, the last distances are left out.
    let mut distances = vec![];
    let mut distance = count;
    while distance > 1 {
        distance = distance.div_ceil(2);
        distances.push(distance);
    }
    if is_near_first || pattern == Pattern::Pairs {
        distances = doublings(count).collect();
    }
    match pattern {
        Pattern::Onwards | Pattern::Backwards => {
            let at = |offset: usize| match pattern {
                Pattern::Onwards => (root + offset) % count,
                _ => (root + count - offset) % count,
            };
            let mut is_reached = vec![false; count];
            is_reached[0] = true;
            let (mut reached, mut steps) = (vec![0], Vec::with_capacity(count - 1));
            for distance in distances {
                for index in 0..reached.len() {
                    let offset = reached[index] + distance;
                    if offset < count && !std::mem::replace(&mut is_reached[offset], true) {
                        steps.push((at(reached[index]), at(offset)));
                        reached.push(offset);
                    }
                }
            }
            steps
        }
        Pattern::Pairs => {
            let fold = Fold::of(count);
            let position = |participant: usize| fold.first_rank(participant);
            let participant = fold.participant(root);
            let mut steps = Vec::with_capacity(count - 1);
            if position(participant) != root {
                steps.push((root, position(participant)));
            }
            distances.retain(|&distance| distance < fold.participants);
            if !is_near_first {
                distances.reverse();
            }
            let mut reached = vec![participant];
            for distance in distances {
                for index in 0..reached.len() {
                    steps.push((position(reached[index]), position(reached[index] ^ distance)));
                    reached.push(reached[index] ^ distance);
                }
            }
            steps.extend(fold.pairs().filter(|pair| pair.1 != root));
            steps
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use weft_base::Interrupt;

    use super::*;
    use crate::compile::alternatives;
    use crate::execute::Timed;
    use crate::fabric::Fabric;
    use crate::request::{Method, Request};
    use crate::schedule::Collective;
    use crate::verify::verify;

    #[test]
    fn all_positions_are_reached_in_the_fewest_rounds() {
        for count in 2usize..70 {
            let least = count.next_power_of_two().ilog2();
            for (pattern, is_near_first) in PATTERNS.into_iter().flat_map(|pattern| [(pattern, true), (pattern, false)])
            {
                let mut partners = BTreeSet::new();
                for root in 0..count {
                    let mut round = vec![None; count];
                    round[root] = Some(0);
                    for (from, to) in steps(pattern, is_near_first, count, root) {
                        let sent = round[from].expect("who sends has the data");
                        assert!(round[to].replace(sent + 1).is_none(), "{count} {pattern:?}: {to} is reached twice");
                        partners.insert((from, to));
                    }
                    assert!(round.iter().all(Option::is_some), "{count} {pattern:?} {is_near_first} from {root}");
                }
                // A message a round, and for pairs of a number that is no power of two one there and one back.
                let folding = if pattern == Pattern::Pairs && !count.is_power_of_two() { 2 } else { 0 };
                let rounds = if pattern == Pattern::Pairs { count.ilog2() } else { least };
                let sent = |rank: usize| partners.iter().filter(|pair| pair.0 == rank).count() as u32;
                assert!((0..count).all(|rank| sent(rank) <= rounds + folding), "{count} {pattern:?} {is_near_first}");
            }
        }
    }

    #[test]
    fn merged_messages_in_all_orders_give_the_sum_by_the_verifier_and_by_the_numbers() {
        let mut machine = weft_machine::find("tpu-v4").unwrap();
        machine.topology = weft_machine::Topology::Mesh { extents: vec![3, 4] };
        let mesh = Fabric::of_machine(&machine).unwrap();
        for nodes in [(0..12).collect::<Vec<usize>>(), vec![7, 0, 10, 3, 5], (0..8).collect()] {
            let fabric = mesh.with_group(&nodes).unwrap();
            for collective in [Collective::Allgather, Collective::ReduceScatter, Collective::Allreduce] {
                let bytes = 4 * 37;
                let request =
                    Request { collective, bytes, element_bytes: 4, root: 0, method: Method::Latency, blocks: None };
                let all = alternatives(&fabric, &request, 1.0, &Interrupt::NEVER).unwrap();
                let merged: Vec<_> = all.into_iter().filter(|schedule| schedule.exchange.is_none()).collect();
                assert!(merged.len() > 3, "{nodes:?} {collective:?}: {}", merged.len());
                for schedule in merged {
                    verify(&schedule).unwrap_or_else(|error| panic!("{nodes:?} {collective:?}: {error}"));
                    let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
                    weft_threads::run(program.ranks(), &program, &weft_threads::Options::default()).unwrap();
                }
            }
        }
    }
}
