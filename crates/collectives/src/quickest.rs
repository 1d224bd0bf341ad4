//! The paths on which a message of some length is soonest there, on graphs whose links are not alike: the shortest path
//! may be a slow link, and the quickest one a few fast ones.

use crate::bound::Edge;
use crate::cheapest::Router;
use crate::fabric::Fabric;
use crate::symmetric::Paths;

/// Links times ranks up to which they are looked for.
const MAX_SIZE: usize = 1 << 18;

/// Of every rank the paths to all others that a message of so many bytes takes least time on, by the latency and the pace
/// of each link. `None` where routes are those of a machine, and where the shortest paths are as quick.
pub fn paths(fabric: &Fabric, edges: &[Edge], bytes: u64) -> Option<Paths> {
    let Fabric { vertices, ranks, links, forwards, routes, .. } = fabric;
    let is_alike =
        links.windows(2).all(|pair| (pair[0].latency, pair[0].bandwidth) == (pair[1].latency, pair[1].bandwidth));
    if routes.is_some() || is_alike || links.len().saturating_mul(ranks.len()) > MAX_SIZE {
        return None;
    }
    let seconds: Vec<f64> = links.iter().map(|link| link.latency + bytes as f64 / link.bandwidth).collect();
    let quickest = Router::of(fabric).all_paths(&seconds, *forwards);
    let mut paths = Paths::new(vertices.len(), edges, ranks, *forwards);
    let is_other = paths.replace(|from, to| quickest[from][to].as_ref().map(|path| path.1.clone()));
    is_other.then_some(paths)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::fabric::Link;

    fn fabric(vertices: usize, ranks: usize, links: Vec<Link>) -> Fabric {
        Fabric {
            name: "test".to_owned(),
            vertices: (0..vertices).map(|vertex| format!("vertex {vertex}")).collect(),
            ranks: (0..ranks).collect(),
            links,
            message_seconds: 0.0,
            forwards: false,
            in_network: Vec::new(),
            routes: None,
        }
    }

    /// The least seconds from `at` to `end` over vertices that were not passed yet, by trying all.
    fn least(fabric: &Fabric, bytes: u64, at: usize, end: usize, passed: &mut Vec<usize>) -> f64 {
        if at == end {
            return 0.0;
        }
        if at < fabric.ranks.len() && !passed.is_empty() {
            return f64::INFINITY;
        }
        passed.push(at);
        let mut least_seconds = f64::INFINITY;
        for link in fabric.links.iter().filter(|link| link.from == at) {
            if !passed.contains(&link.to) {
                let own = link.latency + bytes as f64 / link.bandwidth;
                least_seconds = least_seconds.min(own + least(fabric, bytes, link.to, end, passed));
            }
        }
        passed.pop();
        least_seconds
    }

    #[test]
    fn no_path_is_quicker() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(27);
        let mut others = 0;
        for _ in 0..60 {
            let (ranks, vertices) = (3, 7);
            let mut link = |from: usize, to: usize| Link {
                from,
                to,
                bandwidth: random.random_range(1e9..50e9),
                latency: random.random_range(0.0..1e-5),
            };
            let hub = (0..ranks).flat_map(|rank| [(rank, ranks), (ranks, rank)]);
            let all = (0..vertices).flat_map(|from| (0..vertices).map(move |to| (from, to)));
            let links = hub.chain(all.filter(|(from, to)| (from * 5 + to * 3) % 4 == 1 && from != to));
            let links: Vec<Link> = links.map(|(from, to)| link(from, to)).collect();
            let fabric = fabric(vertices, ranks, links);
            let edges: Vec<Edge> = fabric.links.iter().map(|link| (link.from, link.to, 1)).collect();
            let bytes = 1 << 15;
            let Some(paths) = paths(&fabric, &edges, bytes) else { continue };
            others += 1;
            for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 1)] {
                let path = paths.get(from, to).unwrap().iter().map(|&link| &fabric.links[link as usize]);
                let seconds: f64 = path.map(|link| link.latency + bytes as f64 / link.bandwidth).sum();
                let expected = least(&fabric, bytes, from, to, &mut Vec::new());
                assert!((seconds - expected).abs() < 1e-12, "{seconds} {expected} {fabric:?}");
            }
        }
        assert!(others > 30, "{others}");
    }
}
