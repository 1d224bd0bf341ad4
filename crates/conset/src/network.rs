//! A topology as the compilers see it: vertices, links between them, distances, shortest paths on grids.

use std::collections::VecDeque;

use weft_machine::{Topology, Vertex};

/// Links, or connections, between two questions whether there is any use in going on.
pub const ASKED_EVERY: usize = 1 << 16;

/// Vertices (nodes first, then switches) and the directed links between them; parallel links are one with a
/// multiplicity.
#[derive(Clone, Debug)]
pub struct Network {
    pub nodes: usize,
    pub vertices: usize,
    /// The links out of vertex v are `first[v]..first[v + 1]`, by ascending destination.
    pub first: Vec<u32>,
    pub to: Vec<u32>,
    pub multiplicity: Vec<u32>,
    pub grid: Option<Grid>,
}

/// Axes of a torus, mesh or hypercube.
#[derive(Clone, Debug)]
pub struct Grid {
    pub extents: Vec<usize>,
    pub strides: Vec<usize>,
    pub wraps: bool,
}

impl Grid {
    fn of(topology: &Topology) -> Option<Grid> {
        let (extents, wraps) = match topology {
            Topology::Torus { extents } => (extents.clone(), true),
            Topology::Mesh { extents } => (extents.clone(), false),
            Topology::Hypercube { dimension } => (vec![2; *dimension as usize], false),
            _ => return None,
        };
        let mut strides = vec![1; extents.len()];
        for axis in (0..extents.len().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * extents[axis + 1];
        }
        Some(Grid { extents, strides, wraps })
    }

    pub fn coordinate(&self, node: usize, axis: usize) -> usize {
        node / self.strides[axis] % self.extents[axis]
    }

    /// Steps along `axis` from `from` to `to` the shorter way, positive towards higher coordinates; positive where both
    /// ways are equally long.
    pub fn offset(&self, from: usize, to: usize, axis: usize) -> i32 {
        let (x, y) = (self.coordinate(from, axis) as i32, self.coordinate(to, axis) as i32);
        let direct = y - x;
        if !self.wraps {
            return direct;
        }
        let extent = self.extents[axis] as i32;
        let forward = direct.rem_euclid(extent);
        if 2 * forward <= extent { forward } else { forward - extent }
    }

    pub fn distance(&self, from: usize, to: usize) -> usize {
        (0..self.extents.len()).map(|axis| self.offset(from, to, axis).unsigned_abs() as usize).sum()
    }

    /// The node one step along `axis`, upwards or downwards.
    #[inline]
    pub fn step(&self, node: usize, axis: usize, up: bool) -> usize {
        let (stride, extent) = (self.strides[axis], self.extents[axis]);
        let x = node / stride % extent;
        if up {
            if x + 1 == extent { node - x * stride } else { node + stride }
        } else if x == 0 {
            node + (extent - 1) * stride
        } else {
            node - stride
        }
    }
}

/// How far it is to one destination on a grid, axis by axis; elsewhere only whether it is there.
#[derive(Clone, Debug, Default)]
pub struct Distances {
    /// Of every vertex, axis by axis.
    coordinates: Vec<u32>,
    /// Steps along each axis by how much further the destination is, from the least to the most that it can be, one axis
    /// after the other.
    steps: Vec<u32>,
    /// Of each axis, where in the steps those from one coordinate to the same are.
    same: Vec<usize>,
    /// Of the destination along each axis, where in the steps those from coordinate 0 are.
    aimed: Vec<usize>,
    destination: usize,
}

impl Distances {
    pub fn new(network: &Network) -> Distances {
        let Some(grid) = &network.grid else { return Distances { destination: usize::MAX, ..Distances::default() } };
        let axes = 0..grid.extents.len();
        let of_vertex = |vertex: usize| axes.clone().map(move |axis| grid.coordinate(vertex, axis) as u32);
        let steps = |axis: usize| {
            let (extent, stride) = (grid.extents[axis], grid.strides[axis]);
            let from_first = |to| grid.offset(0, to * stride, axis).unsigned_abs();
            let to_first = |from| grid.offset(from * stride, 0, axis).unsigned_abs();
            (1..extent).rev().map(to_first).chain((0..extent).map(from_first)).collect::<Vec<u32>>()
        };
        let mut all = Vec::new();
        let mut same = Vec::new();
        for axis in axes.clone() {
            same.push(all.len() + grid.extents[axis] - 1);
            all.extend(steps(axis));
        }
        Distances {
            coordinates: (0..network.nodes).flat_map(of_vertex).collect(),
            steps: all,
            same,
            aimed: vec![0; grid.extents.len()],
            destination: usize::MAX,
        }
    }

    /// Distances are those to this vertex from now on.
    pub fn aim(&mut self, destination: usize) {
        self.destination = destination;
        let axes = self.aimed.len();
        for (axis, (aimed, same)) in self.aimed.iter_mut().zip(&self.same).enumerate() {
            *aimed = self.coordinates[destination * axes + axis] as usize + same;
        }
    }

    /// Vertices of a path from one to the destination, without its own, at least.
    #[inline]
    pub fn of(&self, vertex: usize) -> u32 {
        if self.steps.is_empty() {
            return u32::from(vertex != self.destination);
        }
        let axes = self.aimed.len();
        let coordinates = &self.coordinates[vertex * axes..(vertex + 1) * axes];
        coordinates.iter().zip(&self.aimed).map(|(&coordinate, &aimed)| self.steps[aimed - coordinate as usize]).sum()
    }
}

impl Network {
    pub fn new(topology: &Topology) -> Network {
        Network::until(topology, &|| false).expect("nobody interrupts it")
    }

    /// As [`Network::new`]; `None` where `interrupted` says so before it is made.
    pub fn until(topology: &Topology, interrupted: &dyn Fn() -> bool) -> Option<Network> {
        let nodes = topology.nodes();
        let vertices = nodes + topology.switches();
        let number = |vertex: Vertex| match vertex {
            Vertex::Node(node) => node as u32,
            Vertex::Switch(switch) => (nodes + switch) as u32,
        };
        // By vertex: counted, then filled in, so that links are in no list but the last.
        let mut ends = vec![0u32; vertices + 1];
        for link in 0..topology.links() {
            if link.is_multiple_of(ASKED_EVERY) && interrupted() {
                return None;
            }
            ends[number(topology.link_ends(link).0) as usize + 1] += 1;
        }
        for vertex in 1..=vertices {
            ends[vertex] += ends[vertex - 1];
        }
        let begins = ends;
        let mut filled = begins.clone();
        let mut to = vec![0u32; topology.links()];
        for link in 0..topology.links() {
            if link.is_multiple_of(ASKED_EVERY) && interrupted() {
                return None;
            }
            let (from, destination) = topology.link_ends(link);
            let next = &mut filled[number(from) as usize];
            to[*next as usize] = number(destination);
            *next += 1;
        }
        let mut first = vec![0u32; vertices + 1];
        let mut multiplicity = Vec::with_capacity(to.len());
        let mut kept = 0;
        for vertex in 0..vertices {
            let own = begins[vertex] as usize..begins[vertex + 1] as usize;
            to[own.clone()].sort_unstable();
            for index in own {
                if kept > first[vertex] as usize && to[kept - 1] == to[index] {
                    multiplicity[kept - 1] += 1;
                } else {
                    to[kept] = to[index];
                    multiplicity.push(1);
                    kept += 1;
                }
            }
            first[vertex + 1] = kept as u32;
        }
        to.truncate(kept);
        Some(Network { nodes, vertices, first, to, multiplicity, grid: Grid::of(topology) })
    }

    /// Bytes that the network of a topology takes while it is made.
    pub fn bytes(topology: &Topology) -> u64 {
        12 * (topology.nodes() + topology.switches()) as u64 + 8 * topology.links() as u64
    }

    /// Links, parallel ones counted once.
    pub fn links(&self) -> usize {
        self.to.len()
    }

    /// Links, parallel ones counted each.
    pub fn wires(&self) -> u64 {
        self.multiplicity.iter().map(|&count| u64::from(count)).sum()
    }

    pub fn out(&self, vertex: usize) -> std::ops::Range<usize> {
        self.first[vertex] as usize..self.first[vertex + 1] as usize
    }

    /// The link from one vertex to another that is its neighbour.
    #[inline]
    pub fn link(&self, from: u32, to: u32) -> usize {
        let range = self.out(from as usize);
        let start = range.start;
        match self.to[range].iter().position(|&there| there == to) {
            Some(index) => start + index,
            None => unreachable!("routes go over links"),
        }
    }

    /// Hops from `from` to every vertex; `u32::MAX` where there is no path.
    pub fn hops_from(&self, from: usize) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.vertices];
        hops[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for link in self.out(at) {
                let next = self.to[link] as usize;
                if hops[next] == u32::MAX {
                    hops[next] = hops[at] + 1;
                    queue.push_back(next);
                }
            }
        }
        hops
    }

    /// The hops of a shortest path for each pair, and for each pair how many nodes are on it at least (switches take no
    /// logical channels); `None` where there is no path.
    pub fn shortest(&self, pairs: &[(u32, u32)]) -> Vec<Option<u32>> {
        self.shortest_until(pairs, &|| false).expect("nobody interrupts it")
    }

    /// As [`Network::shortest`]; `None` where `interrupted` says so before all are found.
    pub fn shortest_until(&self, pairs: &[(u32, u32)], interrupted: &dyn Fn() -> bool) -> Option<Vec<Option<u32>>> {
        if let Some(grid) = &self.grid {
            let hops = |(index, &(a, b)): (usize, &(u32, u32))| {
                let goes_on = !index.is_multiple_of(ASKED_EVERY) || !interrupted();
                goes_on.then(|| Some(grid.distance(a as usize, b as usize) as u32))
            };
            return pairs.iter().enumerate().map(hops).collect();
        }
        let mut by_source: Vec<usize> = (0..pairs.len()).collect();
        by_source.sort_unstable_by_key(|&index| pairs[index].0);
        let mut links = vec![None; pairs.len()];
        let (mut source, mut hops) = (u32::MAX, Vec::new());
        for index in by_source {
            if pairs[index].0 != source {
                if interrupted() {
                    return None;
                }
                source = pairs[index].0;
                hops = self.hops_from(source as usize);
            }
            let there = hops[pairs[index].1 as usize];
            links[index] = (there != u32::MAX).then_some(there);
        }
        Some(links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_grid() {
        let torus = |extents: &[usize]| Topology::Torus { extents: extents.to_vec() };
        let mesh = Topology::Mesh { extents: vec![3, 5] };
        for topology in [torus(&[4, 5]), torus(&[2, 3, 4]), torus(&[7, 1]), mesh, Topology::Hypercube { dimension: 3 }]
        {
            let network = Network::new(&topology);
            let mut distances = Distances::new(&network);
            for destination in 0..network.nodes {
                distances.aim(destination);
                for node in 0..network.nodes {
                    assert_eq!(distances.of(node), network.hops_from(node)[destination], "{topology:?}");
                }
            }
        }
    }
}
