//! The cheapest path of a connection through one phase: among the shortest ones of a grid, or among all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Copy;
use crate::network::{Grid, Network};

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
    pub fn walk(&mut self, copy: &Copy, signs: &[i32], links: bool) -> u32 {
        let axes = signs.len();
        let mut strides = [1usize; 32];
        for axis in 1..axes {
            strides[axis] = strides[axis - 1] * (signs[axis - 1].unsigned_abs() as usize + 1);
        }
        self.costs[0] = copy.node_cost[self.nodes[0] as usize];
        for cell in 1..self.nodes.len() {
            let mut least = UNREACHED;
            let mut mask = self.masks[cell];
            while mask != 0 {
                let axis = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let mut cost = self.costs[cell - strides[axis]];
                if links {
                    cost += copy.link_cost[self.links[cell * axes + axis] as usize];
                }
                least = least.min(cost);
            }
            self.costs[cell] = least + copy.node_cost[self.nodes[cell] as usize];
        }
        self.costs[self.nodes.len() - 1]
    }

    /// The path that the last [`Boxes::walk`] found.
    pub fn route(&self, copy: &Copy, signs: &[i32], links: bool) -> Vec<u32> {
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
                let link = if links { copy.link_cost[self.links[cell * axes + axis] as usize] } else { 0 };
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
    fn node(&self, vertex: usize) -> u32;
    fn link(&self, link: usize) -> u32;
}

impl Prices for Copy {
    #[inline]
    fn node(&self, vertex: usize) -> u32 {
        self.node_cost[vertex]
    }

    #[inline]
    fn link(&self, link: usize) -> u32 {
        self.link_cost[link]
    }
}

/// Dijkstra's algorithm, with arrays that are kept between searches.
#[derive(Clone, Default)]
pub struct Finder {
    cost: Vec<u32>,
    from: Vec<u32>,
    stamp: Vec<u32>,
    now: u32,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Finder {
    /// The cheapest path below `limit`, and how many vertices were visited. Paths pass through no node where there are
    /// switches.
    pub fn cheapest(
        &mut self,
        network: &Network,
        prices: &impl Prices,
        links: bool,
        (source, destination): (usize, usize),
        limit: u32,
    ) -> (Option<(u32, Vec<u32>)>, usize) {
        if self.stamp.len() != network.vertices {
            self.cost = vec![0; network.vertices];
            self.from = vec![0; network.vertices];
            self.stamp = vec![0; network.vertices];
            self.now = 0;
        }
        self.now += 1;
        let indirect = network.vertices > network.nodes;
        let mut visited = 0;
        self.queue.clear();
        self.queue.push(Reverse((prices.node(source), source as u32)));
        (self.cost[source], self.stamp[source], self.from[source]) = (prices.node(source), self.now, u32::MAX);
        while let Some(Reverse((cost, at))) = self.queue.pop() {
            let at = at as usize;
            if cost > self.cost[at] {
                continue;
            }
            visited += 1;
            if at == destination {
                return (Some((cost, self.route(destination))), visited);
            }
            if cost >= limit {
                break;
            }
            if indirect && at < network.nodes && at != source {
                continue;
            }
            for link in network.out(at) {
                let to = network.to[link] as usize;
                let next = cost + prices.node(to) + if links { prices.link(link) } else { 0 };
                if next < limit && (self.stamp[to] != self.now || next < self.cost[to]) {
                    (self.cost[to], self.stamp[to], self.from[to]) = (next, self.now, at as u32);
                    self.queue.push(Reverse((next, to as u32)));
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
