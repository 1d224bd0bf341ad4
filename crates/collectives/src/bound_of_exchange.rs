//! What no exchange can do better: the cut that limits it most, or of an allreduce the parts between which all has to be
//! brought together and spread.

use crate::bound::{capacities, marked};
use crate::fabric::Fabric;
use crate::flow::FlowNetwork;
use crate::partition::{self, Partition};
use crate::schedule::{Bound, Collective, shards};

/// Links times ranks up to which the narrowest of all cuts is looked for.
const MAX_SIZE: usize = 1 << 16;

/// The bound of an exchange, or of trees that reduce and copy at the same time.
pub fn bound(fabric: &Fabric, collective: Collective, root: usize, bytes: u64, element: u64) -> Bound {
    if collective.has_root() {
        return of_root(fabric, collective, root, bytes);
    }
    let partition = (collective == Collective::Allreduce).then(|| partition::best(fabric)).flatten();
    higher(of_cut(fabric, collective, bytes, element), partition, bytes)
}

/// The higher of the bounds by a cut and by a partition.
pub fn higher(of_cut: Bound, partition: Option<Partition>, bytes: u64) -> Bound {
    match partition.map(|partition| (bytes as f64 * partition.seconds(), partition)) {
        Some((seconds, partition)) if seconds > of_cut.seconds => {
            let mut parts = partition.parts.into_iter();
            let cut = parts.next().unwrap_or_default();
            Bound { cut, others: parts.collect(), rate: partition.bandwidth, seconds, ..Bound::default() }
        }
        _ => of_cut,
    }
}

/// The highest bound by a rank and all others: of an allreduce the whole buffer crosses between them either way, of an
/// allgather what is the others' comes to the rank, of a reduce-scatter what becomes the others' leaves it. Of an allreduce
/// also by any other set of vertices that the buffer has to leave, unless the network is large.
pub fn of_cut(fabric: &Fabric, collective: Collective, bytes: u64, element: u64) -> Bound {
    let of_rank = of_rank(fabric, collective, bytes, element);
    if collective != Collective::Allreduce {
        return of_rank;
    }
    // From one rank to each other one and back.
    let (first, others) = fabric.ranks.split_first().expect("a network has ranks");
    match narrowest(fabric, others.iter().flat_map(|&other| [(*first, other), (other, *first)])) {
        Some((cut, rate)) if bytes as f64 / rate > of_rank.seconds * (1.0 + 1e-9) => {
            Bound { cut, rate, seconds: bytes as f64 / rate, ..Bound::default() }
        }
        _ => of_rank,
    }
}

/// The bound of a collective with a root: by the narrowest cut between the root and another rank, which the whole buffer
/// crosses; on large networks by the links of one rank.
fn of_root(fabric: &Fabric, collective: Collective, root: usize, bytes: u64) -> Bound {
    let others = || (0..fabric.ranks.len()).filter(|&rank| rank != root).map(|rank| fabric.ranks[rank]);
    let root = fabric.ranks[root];
    let is_outwards = collective == Collective::Broadcast;
    let cut = narrowest(fabric, others().map(|other| if is_outwards { (root, other) } else { (other, root) }));
    let (cut, rate) = cut.unwrap_or_else(|| {
        let vertices = || 0..fabric.vertices.len();
        let without = |left_out: usize| vertices().filter(|&vertex| vertex != left_out).collect::<Vec<usize>>();
        let leaving = |cut: &[usize]| leaving(fabric, &marked(fabric.vertices.len(), cut));
        let of_root = if is_outwards { vec![root] } else { without(root) };
        let of_others = others().map(|other| if is_outwards { without(other) } else { vec![other] });
        let cuts = std::iter::once(of_root).chain(of_others).map(|cut| (leaving(&cut), cut));
        let (rate, cut) = cuts.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the root is a rank");
        (cut, rate)
    });
    Bound { cut, rate, seconds: bytes as f64 / rate, ..Bound::default() }
}

/// The bandwidth of all links that leave a set of vertices.
fn leaving(fabric: &Fabric, side: &[bool]) -> f64 {
    fabric.links.iter().filter(|link| side[link.from] && !side[link.to]).map(|link| link.bandwidth).sum()
}

/// Of the sets with the first of two vertices and without the second the one that the least bandwidth leaves, by flows, and
/// that bandwidth. `None` for large networks, and where ranks are not joined.
fn narrowest(fabric: &Fabric, ends: impl Iterator<Item = (usize, usize)>) -> Option<(Vec<usize>, f64)> {
    if fabric.links.len().saturating_mul(fabric.ranks.len()) > MAX_SIZE {
        return None;
    }
    let (capacities, _) = capacities(fabric).ok()?;
    let mut network = FlowNetwork::new(fabric.vertices.len());
    for (link, capacity) in fabric.links.iter().zip(capacities) {
        network.add(link.from, link.to, capacity);
    }
    let mut best: Option<(i64, Vec<bool>)> = None;
    for (source, sink) in ends {
        let limit = best.as_ref().map_or(i64::MAX, |best| best.0);
        let flow = network.max_flow(source, sink, limit);
        if flow < limit {
            best = Some((flow, network.source_side()));
        }
    }
    let (_, side) = best?;
    let rate = leaving(fabric, &side);
    (rate > 0.0).then(|| ((0..side.len()).filter(|&vertex| side[vertex]).collect(), rate))
}

fn of_rank(fabric: &Fabric, collective: Collective, bytes: u64, element: u64) -> Bound {
    let (mut out, mut into) = (vec![0.0; fabric.vertices.len()], vec![0.0; fabric.vertices.len()]);
    for link in &fabric.links {
        out[link.from] += link.bandwidth;
        into[link.to] += link.bandwidth;
    }
    let shards = shards(bytes, element, fabric.ranks.len());
    let crossing = |rank: usize| match collective {
        Collective::Allreduce => bytes as f64,
        _ => (bytes - shards[rank].1) as f64,
    };
    // The longest, and of equal ones the first.
    let longest = |rates: &[f64]| {
        let slower = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
        let times = fabric.ranks.iter().enumerate().map(|(rank, &vertex)| (vertex, crossing(rank) / rates[vertex]));
        times.fold((0, 0.0), slower)
    };
    let ((leaving, exit), (entering, entry)) = (longest(&out), longest(&into));
    let leaves = match collective {
        Collective::Allreduce => exit >= entry,
        _ => collective == Collective::ReduceScatter,
    };
    if leaves {
        return Bound { cut: vec![leaving], rate: out[leaving], seconds: exit, ..Bound::default() };
    }
    let cut = (0..fabric.vertices.len()).filter(|&vertex| vertex != entering).collect();
    Bound { cut, rate: into[entering], seconds: entry, ..Bound::default() }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::fabric::Link;

    #[test]
    fn the_narrowest_cut_is_that_of_all_sets() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(15);
        let mut of_several = 0;
        for _ in 0..150 {
            let vertices: usize = random.random_range(3..8);
            let ranks: usize = random.random_range(2..=vertices);
            // A ring one way, so that all are joined, and further links.
            let mut ends: Vec<(usize, usize)> = (0..vertices).map(|vertex| (vertex, (vertex + 1) % vertices)).collect();
            ends.extend(
                (0..random.random_range(0..3 * vertices))
                    .map(|_| (random.random_range(0..vertices), random.random_range(0..vertices)))
                    .filter(|(from, to)| from != to),
            );
            let mut link = |(from, to)| {
                let bandwidth = f64::from(random.random_range(1..9)) * 1e9;
                Link { from, to, bandwidth, latency: 0.0 }
            };
            let fabric = Fabric {
                name: "test".to_owned(),
                vertices: (0..vertices).map(|vertex| format!("vertex {vertex}")).collect(),
                ranks: (0..ranks).collect(),
                links: ends.into_iter().map(&mut link).collect(),
                message_seconds: 0.0,
                forwards: false,
                in_network: Vec::new(),
                routes: None,
            };
            let leaving = |set: u32| -> f64 {
                let leaves = |link: &&Link| set >> link.from & 1 == 1 && set >> link.to & 1 == 0;
                fabric.links.iter().filter(leaves).map(|link| link.bandwidth).sum()
            };
            let inside = |set: u32| (set & ((1 << ranks) - 1)).count_ones() as usize;
            let between = (0..1u32 << vertices).filter(|&set| inside(set) > 0 && inside(set) < ranks);
            let least = between.map(leaving).fold(f64::INFINITY, f64::min);
            let bound = of_cut(&fabric, Collective::Allreduce, 1 << 30, 4);
            assert!((bound.rate - least).abs() < 1.0, "{bound:?}, {least}: {fabric:?}");
            of_several += u32::from(bound.cut.len() > 1 && bound.cut.len() + 1 < vertices);
        }
        assert!(of_several > 10, "{of_several}");
    }
}
