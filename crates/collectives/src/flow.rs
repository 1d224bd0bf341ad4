//! Maximum flows with integer capacities, by Dinic's algorithm (Dinic 1970), and the cuts that prove them maximal.

/// A capacity that no cut contains.
pub const UNLIMITED: i64 = i64::MAX / 4;

/// A network of directed edges. Edge `2 i` is the i-th that was added, edge `2 i + 1` its residual.
#[derive(Clone, Debug, Default)]
pub struct FlowNetwork {
    edges_of: Vec<Vec<u32>>,
    to: Vec<u32>,
    capacity: Vec<i64>,
    residual: Vec<i64>,
    level: Vec<u32>,
    next: Vec<u32>,
    queue: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl FlowNetwork {
    /// `vertices` vertices and no edges.
    pub fn new(vertices: usize) -> FlowNetwork {
        FlowNetwork { edges_of: vec![Vec::new(); vertices], ..FlowNetwork::default() }
    }

    /// Adds a vertex and returns its number.
    pub fn add_vertex(&mut self) -> usize {
        self.edges_of.push(Vec::new());
        self.edges_of.len() - 1
    }

    /// Adds an edge and returns its number, by which [`FlowNetwork::set`] changes its capacity.
    pub fn add(&mut self, from: usize, to: usize, capacity: i64) -> usize {
        let edge = self.to.len();
        self.edges_of[from].push(edge as u32);
        self.edges_of[to].push(edge as u32 + 1);
        self.to.extend([to as u32, from as u32]);
        self.capacity.extend([capacity, 0]);
        edge
    }

    /// Changes the capacity of an edge.
    pub fn set(&mut self, edge: usize, capacity: i64) {
        self.capacity[edge] = capacity;
    }

    /// The capacity of an edge.
    pub fn capacity(&self, edge: usize) -> i64 {
        self.capacity[edge]
    }

    /// The largest flow from `source` to `sink`, but no more than `limit`. Flows of calls before are forgotten.
    pub fn max_flow(&mut self, source: usize, sink: usize, limit: i64) -> i64 {
        self.residual.clone_from(&self.capacity);
        self.more_flow(source, sink, limit)
    }

    /// Gives an edge more capacity, while the flow before stays.
    pub fn raise(&mut self, edge: usize, capacity: i64) {
        self.residual[edge] += capacity - self.capacity[edge];
        self.capacity[edge] = capacity;
    }

    /// How much the flow before can have besides, but no more than `limit`; it has that then.
    pub fn more_flow(&mut self, source: usize, sink: usize, limit: i64) -> i64 {
        let mut flow = 0;
        while flow < limit && self.find_levels(source, sink) {
            self.next.clear();
            self.next.resize(self.edges_of.len(), 0);
            flow += self.blocking_flow(source, sink, limit - flow);
        }
        flow
    }

    /// What the flow before has on an edge.
    pub fn carried(&self, edge: usize) -> i64 {
        self.capacity[edge] - self.residual[edge]
    }

    /// The vertices on the source's side of a minimum cut, after a [`FlowNetwork::max_flow`] below its limit.
    pub fn source_side(&self) -> Vec<bool> {
        self.level.iter().map(|&level| level != UNREACHED).collect()
    }

    fn find_levels(&mut self, source: usize, sink: usize) -> bool {
        self.level.clear();
        self.level.resize(self.edges_of.len(), UNREACHED);
        self.queue.clear();
        self.queue.push(source as u32);
        self.level[source] = 0;
        let mut first = 0;
        while first < self.queue.len() {
            let vertex = self.queue[first] as usize;
            first += 1;
            for &edge in &self.edges_of[vertex] {
                let to = self.to[edge as usize] as usize;
                if self.residual[edge as usize] > 0 && self.level[to] == UNREACHED {
                    self.level[to] = self.level[vertex] + 1;
                    if to == sink {
                        return true;
                    }
                    self.queue.push(to as u32);
                }
            }
        }
        false
    }

    /// Augments along shortest paths until none is left; a path is walked forwards, a dead end steps back.
    fn blocking_flow(&mut self, source: usize, sink: usize, limit: i64) -> i64 {
        let (mut flow, mut path) = (0, Vec::<u32>::new());
        let mut at = source;
        while flow < limit {
            if at == sink {
                let amount = path.iter().map(|&edge| self.residual[edge as usize]).fold(limit - flow, i64::min);
                let first_full = self.augment(&path, amount);
                flow += amount;
                path.truncate(first_full);
                at = path.last().map_or(source, |&edge| self.to[edge as usize] as usize);
            } else if let Some(edge) = self.advance(at) {
                path.push(edge);
                at = self.to[edge as usize] as usize;
            } else {
                self.level[at] = UNREACHED;
                let Some(edge) = path.pop() else { break };
                at = self.to[edge as usize ^ 1] as usize;
            }
        }
        flow
    }

    fn advance(&mut self, at: usize) -> Option<u32> {
        while let Some(&edge) = self.edges_of[at].get(self.next[at] as usize) {
            let to = self.to[edge as usize] as usize;
            if self.residual[edge as usize] > 0 && self.level[to] == self.level[at] + 1 {
                return Some(edge);
            }
            self.next[at] += 1;
        }
        None
    }

    /// Sends `amount` along `path`; the position of its first edge that is full then.
    fn augment(&mut self, path: &[u32], amount: i64) -> usize {
        let mut first_full = path.len();
        for (position, &edge) in path.iter().enumerate() {
            let edge = edge as usize;
            self.residual[edge] -= amount;
            self.residual[edge ^ 1] += amount;
            if self.residual[edge] == 0 {
                first_full = first_full.min(position);
            }
        }
        first_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// The smallest cut by trying every set of vertices.
    fn smallest_cut(vertices: usize, edges: &[(usize, usize, i64)], source: usize, sink: usize) -> i64 {
        (0..1u32 << vertices)
            .filter(|set| set >> source & 1 == 1 && set >> sink & 1 == 0)
            .map(|set| {
                let leaves = |&&(from, to, _): &&(usize, usize, i64)| set >> from & 1 == 1 && set >> to & 1 == 0;
                edges.iter().filter(leaves).map(|edge| edge.2).sum()
            })
            .min()
            .unwrap()
    }

    #[test]
    fn flows_are_the_smallest_cuts_of_random_graphs() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(7);
        for _ in 0..200 {
            let vertices = random.random_range(2..8);
            let edges: Vec<_> = (0..random.random_range(1..20))
                .map(|_| {
                    (random.random_range(0..vertices), random.random_range(0..vertices), random.random_range(0..9))
                })
                .filter(|edge| edge.0 != edge.1)
                .collect();
            let mut network = FlowNetwork::new(vertices);
            for &(from, to, capacity) in &edges {
                network.add(from, to, capacity);
            }
            let expected = smallest_cut(vertices, &edges, 0, vertices - 1);
            assert_eq!(network.max_flow(0, vertices - 1, UNLIMITED), expected);
            let side = network.source_side();
            let cut: i64 = edges.iter().filter(|edge| side[edge.0] && !side[edge.1]).map(|edge| edge.2).sum();
            assert_eq!(cut, expected, "the cut that is returned proves the flow");
            assert_eq!(network.max_flow(0, vertices - 1, 3), expected.min(3), "a limit is kept");
        }
    }
}
