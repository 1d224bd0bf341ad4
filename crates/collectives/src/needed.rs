//! What a demand needs of a network: of a small group of a large machine that is little.
//!
//! Taking switches out takes the square of their number, and of a group of 23 in a machine of 4,096 chips all others are
//! switches. The flows that reach the ranks one after the other say which links are enough: each takes what those before
//! it have left in use, and further links only where that does not suffice.

use rustc_hash::FxHashMap;

use crate::bound::Edge;
use crate::flow::FlowNetwork;
use crate::packing::PackedTree;
use crate::problem::Problem;

/// A network without what a demand does not need.
pub struct Needed {
    /// The vertices that are left, by their numbers in the whole network.
    pub vertices: Vec<usize>,
    /// All edges between the vertices that are left, by the numbers that these have here; others have no capacity.
    pub edges: Vec<Edge>,
}

impl Needed {
    /// What the most that the cut allows needs to reach every rank, while switches still pass on as much as they get.
    /// `None` where that is not found, or `interrupt` is requested.
    pub fn of(problem: &Problem) -> Option<Needed> {
        let Problem { vertices, edges, ranks, .. } = *problem;
        let is_used = used(problem)?;
        if is_balanced(vertices, edges, ranks, &is_used) {
            return Some(Needed::new(vertices, edges, ranks, &is_used));
        }
        // Where links have none back, all between the vertices that are passed.
        let mut is_passed = vec![false; vertices];
        ranks.iter().for_each(|&rank| is_passed[rank] = true);
        for (edge, _) in edges.iter().zip(&is_used).filter(|(_, is_used)| **is_used) {
            (is_passed[edge.0], is_passed[edge.1]) = (true, true);
        }
        let between: Vec<bool> = edges.iter().map(|edge| is_passed[edge.0] && is_passed[edge.1]).collect();
        is_balanced(vertices, edges, ranks, &between).then(|| Needed::new(vertices, edges, ranks, &between))
    }

    fn new(vertices: usize, edges: &[Edge], ranks: &[usize], is_kept: &[bool]) -> Needed {
        let kept = || edges.iter().zip(is_kept).filter(|(_, is_kept)| **is_kept).map(|(edge, _)| edge);
        let mut left: Vec<usize> = kept().flat_map(|edge| [edge.0, edge.1]).chain(ranks.iter().copied()).collect();
        left.sort_unstable();
        left.dedup();
        let mut number = vec![0; vertices];
        left.iter().enumerate().for_each(|(new, &old)| number[old] = new);
        let edge = |(&(from, to, capacity), &is_kept): (&Edge, &bool)| match is_kept {
            true => (number[from], number[to], capacity),
            false => (0, 0, 0),
        };
        Needed { edges: edges.iter().zip(is_kept).map(edge).collect(), vertices: left }
    }

    /// The numbers that vertices of the whole network have here.
    pub fn within(&self, vertices: &[usize]) -> Vec<usize> {
        let number = |vertex: &usize| self.vertices.binary_search(vertex).expect("a rank is left");
        vertices.iter().map(number).collect()
    }

    /// A tree by the numbers of the whole network.
    pub fn outside(&self, tree: PackedTree) -> PackedTree {
        let edge = |(from, to, path)| (self.vertices[from], self.vertices[to], path);
        PackedTree {
            root: self.vertices[tree.root],
            weight: tree.weight,
            edges: tree.edges.into_iter().map(edge).collect(),
        }
    }
}

/// The edges that flows to all ranks use, of which each is found first among those of the flows before it, and their links
/// back.
fn used(problem: &Problem) -> Option<Vec<bool>> {
    let Problem { vertices, edges, ranks, roots, cut, interrupt } = *problem;
    let mut network = FlowNetwork::new(vertices + 1);
    let numbers: Vec<usize> = edges.iter().map(|&(from, to, _)| network.add(from, to, 0)).collect();
    roots.iter().for_each(|&root| {
        network.add(vertices, root, cut.exit);
    });
    let all = cut.exit * roots.len() as i64;
    let mut is_used = vec![false; edges.len()];
    for &rank in ranks {
        if interrupt.is_requested() {
            return None;
        }
        for ((&number, &(.., capacity)), &is_used) in numbers.iter().zip(edges).zip(&is_used) {
            network.set(number, if is_used { capacity * cut.inside } else { 0 });
        }
        let among_used = network.max_flow(vertices, rank, all);
        if among_used == all {
            continue;
        }
        numbers.iter().zip(edges).for_each(|(&number, &(.., capacity))| network.raise(number, capacity * cut.inside));
        if among_used + network.more_flow(vertices, rank, all - among_used) < all {
            return None;
        }
        for (&number, is_used) in numbers.iter().zip(&mut is_used) {
            *is_used |= network.carried(number) > 0;
        }
        is_used = with_links_back(edges, is_used);
    }
    Some(is_used)
}

/// With each edge one of the same capacity the other way, where there is one.
fn with_links_back(edges: &[Edge], mut is_used: Vec<bool>) -> Vec<bool> {
    let mut unused: FxHashMap<Edge, Vec<usize>> = FxHashMap::default();
    let mut lacking: FxHashMap<Edge, i64> = FxHashMap::default();
    for (number, &(from, to, capacity)) in edges.iter().enumerate() {
        if is_used[number] {
            *lacking.entry((to, from, capacity)).or_default() += 1;
            *lacking.entry((from, to, capacity)).or_default() -= 1;
        } else {
            unused.entry((from, to, capacity)).or_default().push(number);
        }
    }
    for (edge, lacking) in lacking {
        let numbers = unused.get(&edge).into_iter().flatten();
        numbers.take(lacking.max(0) as usize).for_each(|&number| is_used[number] = true);
    }
    is_used
}

/// Whether every switch can pass on as much as it gets.
fn is_balanced(vertices: usize, edges: &[Edge], ranks: &[usize], is_kept: &[bool]) -> bool {
    let mut surplus = vec![0i64; vertices];
    for (&(from, to, capacity), _) in edges.iter().zip(is_kept).filter(|(_, is_kept)| **is_kept) {
        surplus[from] -= capacity;
        surplus[to] += capacity;
    }
    ranks.iter().for_each(|&rank| surplus[rank] = 0);
    surplus.iter().all(|&surplus| surplus == 0)
}

#[cfg(test)]
mod tests {
    use weft_base::Interrupt;

    use crate::bound::Cut;

    use super::*;

    /// Edges of capacity 1 both ways.
    fn both(ends: &[(usize, usize)]) -> Vec<Edge> {
        ends.iter().flat_map(|&(from, to)| [(from, to, 1), (to, from, 1)]).collect()
    }

    /// What all ranks need to reach each other.
    fn needed(vertices: usize, edges: &[Edge], ranks: &[usize], cut: &Cut) -> Option<Needed> {
        Needed::of(&Problem { vertices, edges, ranks, roots: ranks, cut, interrupt: &Interrupt::NEVER })
    }

    #[test]
    fn what_is_beyond_the_ranks_has_no_capacity() {
        // Three ranks around switch 4, and a ring of switches 3, 5, 6 that leads nowhere else.
        let edges = both(&[(4, 5), (0, 4), (1, 4), (2, 4), (5, 6), (6, 3), (3, 5)]);
        // Two ranks send to the third over its one link.
        let cut = Cut { side: vec![true, true, false, true, true, true, true], exit: 1, inside: 2 };
        let ranks = [0, 1, 2];
        let needed = needed(7, &edges, &ranks, &cut).unwrap();
        assert_eq!(needed.vertices, [0, 1, 2, 4]);
        assert_eq!(needed.within(&[2, 4]), [2, 3]);
        let left: Vec<Edge> = needed.edges.iter().copied().filter(|edge| edge.2 > 0).collect();
        assert_eq!(left, both(&[(0, 3), (1, 3), (2, 3)]));
        assert_eq!(needed.edges.len(), edges.len());
    }

    #[test]
    fn more_than_the_network_lets_through_is_not_found() {
        let cut = Cut { side: vec![true, false], exit: 3, inside: 2 };
        assert!(needed(2, &both(&[(0, 1)]), &[0, 1], &cut).is_none());
    }
}
