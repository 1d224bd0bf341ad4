//! Spanning out-trees that share the capacities of a graph: as many at every root as are asked for.
//!
//! Trees grow an edge at a time, and an edge is taken as often as leaves all unfinished trees possible, which a maximum
//! flow says (Bérczi and Frank 2010; Schrijver 2003, section 53.4; Zhao et al., ForestColl, section 5.4). Equal trees are
//! grown together, with a weight.

use std::collections::VecDeque;

use weft_base::Interrupt;

use crate::flow::{FlowNetwork, UNLIMITED};
use crate::logical::Logical;

/// Equal trees.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedTree {
    /// The vertex that distributes.
    pub root: usize,
    /// How many trees it stands for.
    pub weight: i64,
    /// From, to and the path of links, each after the one that reaches its start.
    pub edges: Vec<(usize, usize, Vec<u32>)>,
}

/// Trees that are still growing together.
struct Growing {
    tree: PackedTree,
    /// Vertices reached, in the order in which they were.
    reached: Vec<usize>,
    is_reached: Vec<bool>,
}

impl Growing {
    fn new(root: usize, weight: i64, vertices: usize) -> Growing {
        let mut is_reached = vec![false; vertices];
        is_reached[root] = true;
        Growing { tree: PackedTree { root, weight, edges: Vec::new() }, reached: vec![root], is_reached }
    }

    fn split(&mut self, weight: i64) -> Growing {
        let rest = PackedTree { weight: self.tree.weight - weight, ..self.tree.clone() };
        self.tree.weight = weight;
        Growing { tree: rest, reached: self.reached.clone(), is_reached: self.is_reached.clone() }
    }
}

/// Packs `supply` trees at each of `roots` that reach all of `ranks`, which are all vertices that have edges. `None` where
/// the capacities do not hold them.
pub fn pack(
    logical: &mut Logical,
    ranks: &[usize],
    roots: &[usize],
    supply: i64,
    interrupt: &Interrupt,
) -> Option<Vec<PackedTree>> {
    let vertices = logical.vertices();
    let mut waiting: VecDeque<_> = roots.iter().map(|&root| Growing::new(root, supply, vertices)).collect();
    let mut finished = Vec::new();
    while let Some(mut growing) = waiting.pop_front() {
        let mut oracle = Oracle::new(logical, &waiting);
        while growing.reached.len() < ranks.len() {
            if interrupt.is_requested() {
                return None;
            }
            let rest = grow(&mut growing, logical, &mut oracle)?;
            if let Some(rest) = rest {
                oracle.add_class(&rest);
                waiting.push_front(rest);
            }
        }
        finished.push(growing.tree);
    }
    Some(finished)
}

/// Adds one edge; what of the weight the edge has no capacity for grows on by itself.
fn grow(growing: &mut Growing, logical: &mut Logical, oracle: &mut Oracle) -> Option<Option<Growing>> {
    for position in 0..growing.reached.len() {
        let from = growing.reached[position];
        for to in oracle.targets(from) {
            let most = logical.available(from, to).min(growing.tree.weight);
            if growing.is_reached[to] || most == 0 {
                continue;
            }
            let amount = oracle.largest(from, to, most);
            if amount == 0 {
                continue;
            }
            let rest = (amount < growing.tree.weight).then(|| growing.split(amount));
            let piece = logical.take(from, to, amount).expect("the capacity that was asked for");
            oracle.update(from, to, logical.capacity(from, to));
            growing.tree.edges.push((from, to, piece.path));
            growing.reached.push(to);
            growing.is_reached[to] = true;
            return Some(rest);
        }
    }
    None
}

/// Says how often an edge may be taken.
struct Oracle {
    network: FlowNetwork,
    /// The vertex that flows start at: it stands for the start of the edge in question.
    source: usize,
    /// Edges from the source to each vertex, and the weight of the trees that have only their root there.
    starts: Vec<(usize, i64)>,
    /// The edges of each vertex: end and number.
    edges: Vec<Vec<(usize, usize)>>,
    /// The weight of all unfinished trees but the one that grows.
    others: i64,
}

impl Oracle {
    fn new(logical: &Logical, waiting: &VecDeque<Growing>) -> Oracle {
        let vertices = logical.vertices();
        let mut network = FlowNetwork::new(vertices + 1);
        let mut edges = vec![Vec::new(); vertices];
        for (from, to, capacity) in logical.edges() {
            edges[from].push((to, network.add(from, to, capacity)));
        }
        // The fullest edges first, so that trees of large weight stay whole.
        edges.iter_mut().for_each(|of_vertex| {
            of_vertex.sort_by_key(|&(to, number)| (std::cmp::Reverse(network.capacity(number)), to));
        });
        let starts = (0..vertices).map(|vertex| (network.add(vertices, vertex, 0), 0)).collect();
        let mut oracle = Oracle { network, source: vertices, starts, edges, others: 0 };
        waiting.iter().for_each(|class| oracle.add_class(class));
        oracle
    }

    /// Takes trees into account that will still have to grow.
    fn add_class(&mut self, class: &Growing) {
        let weight = class.tree.weight;
        self.others += weight;
        if let [root] = class.reached[..] {
            let (number, known) = &mut self.starts[root];
            *known += weight;
            self.network.set(*number, *known);
            return;
        }
        let vertex = self.network.add_vertex();
        self.network.add(self.source, vertex, weight);
        class.reached.iter().for_each(|&reached| {
            self.network.add(vertex, reached, UNLIMITED);
        });
    }

    fn targets(&self, from: usize) -> Vec<usize> {
        self.edges[from].iter().map(|edge| edge.0).collect()
    }

    fn update(&mut self, from: usize, to: usize, capacity: i64) {
        let (_, number) = self.edges[from].iter().find(|edge| edge.0 == to).expect("an edge of the graph");
        self.network.set(*number, capacity);
    }

    /// The largest number, up to `most`, of which every vertex set that `to` is in and `from` is not can spare so much.
    fn largest(&mut self, from: usize, to: usize, most: i64) -> i64 {
        let (number, weight) = self.starts[from];
        self.network.set(number, UNLIMITED);
        let flow = self.network.max_flow(self.source, to, self.others + most);
        self.network.set(number, weight);
        (flow - self.others).clamp(0, most)
    }
}
