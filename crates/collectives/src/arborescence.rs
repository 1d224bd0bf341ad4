//! The cheapest tree of directed edges from a root to all vertices (Chu and Liu 1965, Edmonds 1967).

/// What an edge costs: first its price, and where prices are equal its hops.
pub type Cost = (f64, i64);

/// An edge: from, to, cost.
pub type Edge = (usize, usize, Cost);

/// The number of the edge into each vertex but the root, of the tree that costs least. `None` where a vertex is not
/// reached.
///
/// The cheapest edges into every vertex are the tree unless some of them form cycles. A cycle becomes one vertex, and an
/// edge into it costs what it costs more than the edge of the cycle that it replaces.
pub fn cheapest(vertices: usize, root: usize, edges: &[Edge]) -> Option<Vec<Option<usize>>> {
    let mut chosen: Vec<Option<usize>> = vec![None; vertices];
    for (number, &(from, to, cost)) in edges.iter().enumerate() {
        if from != to && to != root && chosen[to].is_none_or(|known| is_less(cost, edges[known].2)) {
            chosen[to] = Some(number);
        }
    }
    if (0..vertices).any(|vertex| vertex != root && chosen[vertex].is_none()) {
        return None;
    }
    let (merged, count, in_cycle) = without_cycles(&chosen, edges);
    if count == vertices {
        return Some(chosen);
    }
    let mut numbers = Vec::new();
    let mut outside = Vec::new();
    for (number, &(from, to, cost)) in edges.iter().enumerate() {
        if merged[from] != merged[to] {
            let replaced = chosen[to].filter(|_| in_cycle[to]).map_or((0.0, 0), |known| edges[known].2);
            numbers.push(number);
            outside.push((merged[from], merged[to], (cost.0 - replaced.0, cost.1 - replaced.1)));
        }
    }
    for number in cheapest(count, merged[root], &outside)?.into_iter().flatten() {
        chosen[edges[numbers[number]].1] = Some(numbers[number]);
    }
    Some(chosen)
}

/// Whether a cost is below another.
pub fn is_less(a: Cost, b: Cost) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}

/// The vertex that each becomes where every cycle of the chosen edges is one, how many there are, and who is in a cycle.
fn without_cycles(chosen: &[Option<usize>], edges: &[Edge]) -> (Vec<usize>, usize, Vec<bool>) {
    let above = |vertex: usize| chosen[vertex].map(|number| edges[number].0);
    let mut walk = vec![usize::MAX; chosen.len()];
    let mut cycle_of: Vec<Option<usize>> = vec![None; chosen.len()];
    for start in 0..chosen.len() {
        let mut at = Some(start);
        while let Some(vertex) = at.filter(|&vertex| walk[vertex] == usize::MAX) {
            walk[vertex] = start;
            at = above(vertex);
        }
        // A walk that meets itself has come round a cycle.
        let Some(first) = at.filter(|&vertex| walk[vertex] == start && cycle_of[vertex].is_none()) else { continue };
        let mut vertex = first;
        while cycle_of[vertex].is_none() {
            cycle_of[vertex] = Some(first);
            vertex = above(vertex).expect("a cycle goes on");
        }
    }
    let mut number = vec![usize::MAX; chosen.len()];
    let mut count = 0;
    let merged = (0..chosen.len())
        .map(|vertex| {
            let number = &mut number[cycle_of[vertex].unwrap_or(vertex)];
            if *number == usize::MAX {
                *number = count;
                count += 1;
            }
            *number
        })
        .collect();
    (merged, count, cycle_of.iter().map(Option::is_some).collect())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Tries every choice of an edge into each vertex.
    fn by_trying_all(vertices: usize, root: usize, edges: &[Edge], chosen: &mut Vec<usize>) -> Option<f64> {
        let vertex = chosen.len();
        if vertex == vertices {
            let reaches = |start: usize| {
                let mut at = start;
                for _ in 0..vertices {
                    if at == root {
                        return true;
                    }
                    at = edges[chosen[at]].0;
                }
                at == root
            };
            let cost = || (0..vertices).filter(|&vertex| vertex != root).map(|vertex| edges[chosen[vertex]].2.0).sum();
            return (0..vertices).all(reaches).then(cost);
        }
        let into: Vec<usize> = if vertex == root {
            vec![usize::MAX]
        } else {
            (0..edges.len()).filter(|&number| edges[number].1 == vertex).collect()
        };
        let tried = into.into_iter().filter_map(|number| {
            chosen.push(number);
            let cost = by_trying_all(vertices, root, edges, chosen);
            chosen.pop();
            cost
        });
        tried.min_by(f64::total_cmp)
    }

    #[test]
    fn no_choice_of_edges_costs_less() {
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(3);
        let (mut reached, mut contracted) = (0, 0);
        for _ in 0..400 {
            let vertices = random.random_range(2..7);
            let mut edge = |_| {
                let ends = (random.random_range(0..vertices), random.random_range(0..vertices));
                (ends.0, ends.1, (f64::from(random.random_range(0..9)), 1))
            };
            let edges: Vec<Edge> = (0..3 * vertices).map(&mut edge).filter(|edge: &Edge| edge.0 != edge.1).collect();
            let root = random.random_range(0..vertices);
            let expected = by_trying_all(vertices, root, &edges, &mut Vec::new());
            let tree = cheapest(vertices, root, &edges);
            let Some(tree) = tree else {
                assert_eq!(expected, None, "{edges:?}");
                continue;
            };
            reached += 1;
            let cost: f64 = tree.iter().flatten().map(|&number| edges[number].2.0).sum();
            assert_eq!(Some(cost), expected, "{edges:?} from {root}");
            assert!(tree.iter().enumerate().all(|(vertex, number)| number.is_none() == (vertex == root)));
            let first = |vertex: usize| {
                let into = edges.iter().filter(|edge| edge.1 == vertex).map(|edge| edge.2.0);
                into.fold(f64::INFINITY, f64::min)
            };
            contracted += u32::from((0..vertices).filter(|&vertex| vertex != root).map(first).sum::<f64>() < cost);
        }
        assert!(reached > 100 && contracted > 20, "{reached}, {contracted}");
    }

    #[test]
    fn of_equal_prices_the_shorter_is_taken() {
        let edges = [(0, 1, (1.0, 3)), (0, 1, (1.0, 1)), (0, 1, (1.0, 2))];
        assert_eq!(cheapest(2, 0, &edges), Some(vec![None, Some(1)]));
    }
}
