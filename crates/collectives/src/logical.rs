//! The network while its switches are taken out: edges between vertices, each made of paths over links.

use rustc_hash::FxHashMap;

use crate::bound::Edge;

/// Capacity over one path of links.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The links, in order.
    pub path: Vec<u32>,
    /// How much of each of them it has.
    pub amount: i64,
}

/// A directed graph whose edges know which paths they stand for.
#[derive(Clone, Debug)]
pub struct Logical {
    out: Vec<FxHashMap<usize, Vec<Piece>>>,
}

impl Logical {
    /// A vertex for each of `vertices`, and each edge with a path of its own number.
    pub fn new(vertices: usize, edges: &[Edge]) -> Logical {
        let mut logical = Logical { out: vec![FxHashMap::default(); vertices] };
        for (number, &(from, to, amount)) in edges.iter().enumerate().filter(|(_, edge)| edge.2 > 0) {
            logical.add(from, to, Piece { path: vec![number as u32], amount });
        }
        logical
    }

    /// Adds capacity from one vertex to another.
    pub fn add(&mut self, from: usize, to: usize, piece: Piece) {
        let pieces = self.out[from].entry(to).or_default();
        match pieces.iter_mut().find(|known| known.path == piece.path) {
            Some(known) => known.amount += piece.amount,
            None => pieces.push(piece),
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.out.len()
    }

    /// The capacity from one vertex to another.
    pub fn capacity(&self, from: usize, to: usize) -> i64 {
        self.out[from].get(&to).map_or(0, |pieces| pieces.iter().map(|piece| piece.amount).sum())
    }

    /// All edges with a capacity, in an order that depends on nothing but the graph.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges: Vec<Edge> = (0..self.vertices())
            .flat_map(|from| self.out[from].keys().map(move |&to| (from, to)))
            .map(|(from, to)| (from, to, self.capacity(from, to)))
            .filter(|edge| edge.2 > 0)
            .collect();
        edges.sort_unstable();
        edges
    }

    /// Every path with a capacity: from, to, the links and how much, in the order of [`Logical::edges`].
    pub fn pieces(&self) -> Vec<(usize, usize, &Piece)> {
        let edges = self.edges();
        edges
            .into_iter()
            .flat_map(|(from, to, _)| self.out[from][&to].iter().map(move |piece| (from, to, piece)))
            .collect()
    }

    /// Takes up to `amount` from one path of an edge: the path and how much it had.
    pub fn take(&mut self, from: usize, to: usize, amount: i64) -> Option<Piece> {
        let pieces = self.out[from].get_mut(&to)?;
        let last = pieces.last_mut()?;
        let taken = Piece { path: last.path.clone(), amount: last.amount.min(amount) };
        last.amount -= taken.amount;
        if last.amount == 0 {
            pieces.pop();
        }
        Some(taken)
    }

    /// How much the path has that [`Logical::take`] would take from.
    pub fn available(&self, from: usize, to: usize) -> i64 {
        self.out[from].get(&to).and_then(|pieces| pieces.last()).map_or(0, |piece| piece.amount)
    }

    /// Replaces `amount` of the edges `from`, `via` and `via`, `to` by as much from `from` to `to`; back to where it came
    /// from it is dropped.
    pub fn splice(&mut self, from: usize, via: usize, to: usize, mut amount: i64) {
        while amount > 0 {
            let step = amount.min(self.available(from, via)).min(self.available(via, to));
            let first = self.take(from, via, step).expect("as much as is spliced");
            let second = self.take(via, to, step).expect("as much as is spliced");
            if from != to {
                self.add(from, to, Piece { path: [first.path, second.path].concat(), amount: step });
            }
            amount -= step;
        }
    }

    /// Drops every edge at `vertex`.
    pub fn isolate(&mut self, vertex: usize) {
        self.out[vertex].clear();
        self.out.iter_mut().for_each(|to| {
            to.remove(&vertex);
        });
    }

    /// Multiplies every capacity by `numerator / denominator`, rounded down.
    pub fn scale(&mut self, numerator: i64, denominator: i64) {
        for pieces in self.out.iter_mut().flat_map(FxHashMap::values_mut) {
            pieces.iter_mut().for_each(|piece| {
                piece.amount = (i128::from(piece.amount) * i128::from(numerator) / i128::from(denominator)) as i64;
            });
            pieces.retain(|piece| piece.amount > 0);
        }
    }
}
