//! The cheapest path of a connection through one phase: among the shortest ones of a grid, or among all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Copy;
use crate::network::{Distances, Grid, Network};

/// More than any path costs.
pub const UNREACHED: u32 = u32::MAX / 4;

/// The steps of the shortest paths along each axis; several where half way round is half way round.
pub fn shortest_signs(grid: &Grid, source: usize, destination: usize) -> Vec<Vec<i32>> {
    let mut directions = vec![Vec::with_capacity(grid.extents.len())];
    for axis in 0..grid.extents.len() {
        let steps = grid.offset(source, destination, axis);
        let both = grid.wraps && grid.extents[axis] > 2 && 2 * steps.unsigned_abs() as usize == grid.extents[axis];
        let before = directions.len();
        if both {
            directions.extend_from_within(..);
        }
        for (index, signs) in directions.iter_mut().enumerate() {
            signs.push(if index < before { steps } else { -steps });
        }
    }
    directions
}

/// All shortest paths between two nodes of a grid, which make a box; kept between searches.
#[derive(Default)]
pub struct Boxes {
    pub nodes: Vec<u32>,
    masks: Vec<u32>,
    links: Vec<u32>,
    costs: Vec<u32>,
}

impl Boxes {
    /// The nodes of the box of all shortest paths, for each from which axes it is entered, and over which links.
    pub fn prepare(&mut self, grid: &Grid, network: &Network, source: usize, signs: &[i32], links: bool) {
        self.nodes.clear();
        self.masks.clear();
        self.links.clear();
        self.nodes.push(source as u32);
        self.masks.push(0);
        for (axis, &steps) in signs.iter().enumerate() {
            let size = self.nodes.len();
            for step in 0..steps.unsigned_abs() as usize {
                for cell in step * size..(step + 1) * size {
                    let node = grid.step(self.nodes[cell] as usize, axis, steps > 0);
                    self.nodes.push(node as u32);
                    self.masks.push(self.masks[cell] | (1 << axis));
                }
            }
        }
        if links {
            let mut strides = Vec::with_capacity(signs.len());
            let mut size = 1;
            for &steps in signs {
                strides.push(size);
                size *= steps.unsigned_abs() as usize + 1;
            }
            for cell in 0..self.nodes.len() {
                for (axis, &stride) in strides.iter().enumerate() {
                    let entered = self.masks[cell] & (1 << axis) != 0;
                    let link = |from: usize| network.link(self.nodes[from], self.nodes[cell]) as u32;
                    self.links.push(if entered { link(cell - stride) } else { u32::MAX });
                }
            }
        }
        self.costs.clear();
        self.costs.resize(self.nodes.len(), 0);
    }

    /// The cost of the cheapest path through the box.
    #[inline]
    pub fn walk<P: Prices>(&mut self, prices: &P, signs: &[i32], links: bool) -> u32 {
        let axes = signs.len();
        let mut strides = [1usize; 32];
        for axis in 1..axes {
            strides[axis] = strides[axis - 1] * (signs[axis - 1].unsigned_abs() as usize + 1);
        }
        self.costs[0] = prices.node(self.nodes[0] as usize);
        for cell in 1..self.nodes.len() {
            let mut least = UNREACHED;
            let mut mask = self.masks[cell];
            while mask != 0 {
                let axis = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let mut cost = self.costs[cell - strides[axis]];
                if links {
                    cost += prices.link(self.links[cell * axes + axis] as usize);
                }
                least = least.min(cost);
            }
            self.costs[cell] = least + prices.node(self.nodes[cell] as usize);
        }
        self.costs[self.nodes.len() - 1]
    }

    /// The path that the last [`Boxes::walk`] found.
    pub fn route<P: Prices>(&self, prices: &P, signs: &[i32], links: bool) -> Vec<u32> {
        let axes = signs.len();
        let mut strides = vec![1usize; axes];
        for axis in 1..axes {
            strides[axis] = strides[axis - 1] * (signs[axis - 1].unsigned_abs() as usize + 1);
        }
        let mut cell = self.nodes.len() - 1;
        let mut route = vec![self.nodes[cell]];
        while cell != 0 {
            let entered = (0..axes).filter(|axis| self.masks[cell] & (1 << axis) != 0);
            let cost = |axis: usize| {
                let link = if links { prices.link(self.links[cell * axes + axis] as usize) } else { 0 };
                self.costs[cell - strides[axis]] + link
            };
            // Equals in turn, so that routes spread over the box.
            let rotation = cell % axes.max(1);
            let axis = entered
                .min_by_key(|&axis| (cost(axis), (axis + rotation) % axes))
                .expect("a cell but the first is entered");
            cell -= strides[axis];
            route.push(self.nodes[cell]);
        }
        route.reverse();
        route
    }
}

/// What one more connection costs.
pub trait Prices {
    /// What a node costs at least.
    const MIN_NODE: u32;
    fn node(&self, vertex: usize) -> u32;
    fn link(&self, link: usize) -> u32;
}

impl Prices for Copy {
    const MIN_NODE: u32 = super::PLAIN;

    #[inline]
    fn node(&self, vertex: usize) -> u32 {
        self.node_cost[vertex]
    }

    #[inline]
    fn link(&self, link: usize) -> u32 {
        self.link_cost[link]
    }
}

/// Dijkstra's algorithm, with arrays that are kept between searches; on a grid, whose distances are known, towards the
/// destination (A*: Hart, Nilsson and Raphael 1968).
#[derive(Clone, Default)]
pub struct Finder {
    cost: Vec<u32>,
    from: Vec<u32>,
    stamp: Vec<u32>,
    /// Of a vertex that was reached, what the rest of its path costs at least.
    rest: Vec<u32>,
    now: u32,
    distances: Distances,
    /// By the cost of the whole path at least; of equal ones first the one that is nearer to the destination. Both are one
    /// number, which is compared at once.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Finder {
    /// The cheapest path below `limit`, and how many vertices were visited. Paths pass through no node where there are
    /// switches.
    pub fn cheapest<P: Prices>(
        &mut self,
        network: &Network,
        prices: &P,
        links: bool,
        (source, destination): (usize, usize),
        limit: u32,
    ) -> (Option<(u32, Vec<u32>)>, usize) {
        if self.stamp.len() != network.vertices {
            self.cost = vec![0; network.vertices];
            self.from = vec![0; network.vertices];
            self.stamp = vec![0; network.vertices];
            self.rest = vec![0; network.vertices];
            self.distances = Distances::new(network);
            self.now = 0;
        }
        self.now += 1;
        let indirect = network.vertices > network.nodes;
        self.distances.aim(destination);
        let distances = &self.distances;
        let rest = |vertex: usize| P::MIN_NODE * distances.of(vertex);
        let mut visited = 0;
        self.queue.clear();
        (self.cost[source], self.stamp[source], self.from[source]) = (prices.node(source), self.now, u32::MAX);
        self.rest[source] = rest(source);
        let key = |least: u32, rest: u32| u64::from(least) << 32 | u64::from(rest);
        self.queue.push(Reverse((key(self.cost[source] + self.rest[source], self.rest[source]), source as u32)));
        while let Some(Reverse((queued, at))) = self.queue.pop() {
            let (least, left, at) = ((queued >> 32) as u32, queued as u32, at as usize);
            let cost = least - left;
            if cost > self.cost[at] {
                continue;
            }
            visited += 1;
            if at == destination {
                return (Some((cost, self.route(destination))), visited);
            }
            if least >= limit {
                break;
            }
            if indirect && at < network.nodes && at != source {
                continue;
            }
            for link in network.out(at) {
                let to = network.to[link] as usize;
                let next = cost + prices.node(to) + if links { prices.link(link) } else { 0 };
                let is_new = self.stamp[to] != self.now;
                if next >= limit || !is_new && next >= self.cost[to] {
                    continue;
                }
                if is_new {
                    self.rest[to] = rest(to);
                }
                (self.cost[to], self.stamp[to], self.from[to]) = (next, self.now, at as u32);
                if next + self.rest[to] < limit {
                    self.queue.push(Reverse((key(next + self.rest[to], self.rest[to]), to as u32)));
                }
            }
        }
        (None, visited)
    }

    fn route(&self, destination: usize) -> Vec<u32> {
        let mut route = vec![destination as u32];
        let mut at = destination;
        while self.from[at] != u32::MAX {
            at = self.from[at] as usize;
            route.push(at as u32);
        }
        route.reverse();
        route
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weft_machine::Topology;

    use super::*;

    /// Prices of nodes and links.
    struct Fixed(Vec<u32>, Vec<u32>);

    impl Prices for Fixed {
        const MIN_NODE: u32 = 3;

        fn node(&self, vertex: usize) -> u32 {
            self.0[vertex]
        }

        fn link(&self, link: usize) -> u32 {
            self.1[link]
        }
    }

    /// The cheapest cost by relaxing all links until nothing changes.
    fn by_relaxing(network: &Network, prices: &Fixed, source: usize, destination: usize) -> u32 {
        let mut cost = vec![UNREACHED; network.vertices];
        cost[source] = prices.0[source];
        for _ in 0..network.vertices {
            for at in 0..network.vertices {
                for link in network.out(at) {
                    let to = network.to[link] as usize;
                    cost[to] = cost[to].min(cost[at] + prices.0[to] + prices.1[link]);
                }
            }
        }
        cost[destination]
    }

    proptest! {
        /// The path is one, costs what is said, and no path costs less.
        #[test]
        fn no_path_is_cheaper(
            prices in proptest::collection::vec(3u32..40, 20), links in proptest::collection::vec(0u32..30, 80),
            (source, apart) in (0usize..20, 1usize..20), is_torus: bool,
        ) {
            let ends = (source, (source + apart) % 20);
            let extents = vec![4, 5];
            let network = Network::new(&if is_torus { Topology::Torus { extents } } else { Topology::Mesh { extents } });
            let prices = Fixed(prices, links);
            let least = by_relaxing(&network, &prices, ends.0, ends.1);
            let (path, _) = Finder::default().cheapest(&network, &prices, true, ends, least + 1);
            let (cost, route) = path.expect("there is one");
            let nodes: u32 = route.iter().map(|&node| prices.0[node as usize]).sum();
            let links: u32 = route.windows(2).map(|pair| prices.1[network.link(pair[0], pair[1])]).sum();
            prop_assert_eq!((cost, nodes + links), (least, least));
            prop_assert_eq!((route[0] as usize, route[route.len() - 1] as usize), ends);
            prop_assert!(Finder::default().cheapest(&network, &prices, true, ends, least).0.is_none());
        }
    }
}
