//! Capacities of which every switch passes on as much as it gets, and that still let through what the cut allows.
//!
//! Switches can be split off without loss only where they are balanced (Bang-Jensen, Frank and Jackson 1995). Which
//! capacities to leave out for that is a linear programme: how much of every link is used, as much into each switch as
//! out of it, and enough over every cut between the roots and a rank. Cuts are added where a maximum flow finds them
//! violated.

use crate::bound::{Cut, Edge, marked};
use crate::flow::FlowNetwork;
use crate::problem::Problem;
use crate::simplex::Program;

/// Edges up to which the programme is solved, whose work grows with their cube: some seconds.
const MAX_EDGES: usize = 700;

/// How much a rate is worth beside all capacities: what is lost of it for fewer of them is less than the inverse.
const WORTH: f64 = 1e5;

/// Largest common denominator that is looked for; without one, capacities are rounded to parts of it.
const PARTS: i64 = 4096;

/// How far from a whole number of parts is whole, and what part of a cut may be missing.
const NEAR: f64 = 1e-6;

/// Parts of the largest capacity, for flows of fractions.
const FLOW_PARTS: f64 = (1u64 << 40) as f64;

/// The most that balanced switches let through: capacities, and how many of them are one of the problem's. `None` where
/// the network is too large, or nobody waits for it.
pub fn balanced(problem: &Problem) -> Option<(Vec<Edge>, i64)> {
    if problem.edges.len() > MAX_EDGES {
        return None;
    }
    let used = [true, false].into_iter().find_map(|is_whole| Circulation::new(problem, is_whole).solve())?;
    let (capacities, parts) = whole(problem, &used)?;
    let edges = problem.edges.iter().zip(capacities).map(|(edge, capacity)| (edge.0, edge.1, capacity)).collect();
    Some((edges, parts))
}

struct Circulation<'a> {
    problem: &'a Problem<'a>,
    /// Of every edge the part of the largest capacity that is used; then the part of the rate that the cut allows.
    program: Program,
    largest: f64,
    /// The rate that the cut allows, in largest capacities.
    rate: f64,
    flows: FlowNetwork,
    numbers: Vec<usize>,
    supplies: Vec<usize>,
}

impl<'a> Circulation<'a> {
    /// With all that the cut allows where it `is_whole`, or with as much as can be.
    fn new(problem: &'a Problem, is_whole: bool) -> Circulation<'a> {
        let Problem { vertices, edges, ranks, roots, cut, .. } = *problem;
        let largest = edges.iter().map(|edge| edge.2).max().unwrap_or(1).max(1) as f64;
        let count = edges.len() as f64;
        // Paths through fewer links come first, and of equal ones one, so that the programme has one solution.
        let unequal = |number: usize| 1.0 + (number * 37 % 101) as f64 / 1010.0;
        let mut costs: Vec<f64> = (0..edges.len()).map(|number| unequal(number) / count).collect();
        let mut bounds: Vec<(f64, f64)> = edges.iter().map(|edge| (0.0, edge.2 as f64 / largest)).collect();
        costs.push(-WORTH);
        bounds.push((if is_whole { 1.0 } else { 0.0 }, 1.0));
        let mut program = Program::new(costs, bounds);
        let is_rank = marked(vertices, ranks);
        for switch in (0..vertices).filter(|&vertex| !is_rank[vertex]) {
            let sign = |edge: &Edge| f64::from(i32::from(edge.1 == switch) - i32::from(edge.0 == switch));
            let terms: Vec<(usize, f64)> =
                edges.iter().map(sign).enumerate().filter(|(_, sign)| *sign != 0.0).collect();
            if !terms.is_empty() {
                program.add(&terms, 0.0, 0.0);
            }
        }
        let mut flows = FlowNetwork::new(vertices + 1);
        let numbers = edges.iter().map(|edge| flows.add(edge.0, edge.1, 0)).collect();
        let supplies = roots.iter().map(|&root| flows.add(vertices, root, 0)).collect();
        let rate = cut.rate() / largest;
        let mut new = Circulation { problem, program, largest, rate, flows, numbers, supplies };
        new.add(cut);
        new
    }

    /// What is used of every edge.
    fn solve(&mut self) -> Option<Vec<f64>> {
        let edges = self.problem.edges.len();
        let vertices = self.problem.vertices;
        loop {
            if self.problem.interrupt.is_requested() {
                return None;
            }
            let mut used = self.program.solve(40 * (edges + vertices))?;
            let part = used.pop().expect("the rate");
            let violated = self.violated(&used, part);
            if violated.is_empty() {
                used.iter_mut().for_each(|used| *used = (*used * self.largest).max(0.0));
                return Some(used);
            }
            violated.iter().for_each(|cut| self.add(cut));
        }
    }

    fn add(&mut self, cut: &Cut) {
        let edges = self.problem.edges;
        let leaving = (0..edges.len()).filter(|&number| cut.side[edges[number].0] && !cut.side[edges[number].1]);
        let mut terms: Vec<(usize, f64)> = leaving.map(|number| (number, 1.0)).collect();
        terms.push((edges.len(), -self.rate * cut.inside as f64));
        self.program.add(&terms, 0.0, f64::INFINITY);
    }

    /// Cuts between the roots and a rank over which not enough is used.
    fn violated(&mut self, used: &[f64], part: f64) -> Vec<Cut> {
        let Problem { vertices, ranks, roots, .. } = *self.problem;
        let parts = |value: f64| (value * FLOW_PARTS) as i64;
        self.numbers.iter().zip(used).for_each(|(&number, &used)| self.flows.set(number, parts(used)));
        let supply = parts(self.rate * part);
        self.supplies.iter().for_each(|&number| self.flows.set(number, supply));
        let needed = supply * roots.len() as i64;
        let enough = needed - parts(NEAR * self.rate * roots.len() as f64);
        let mut violated: Vec<Cut> = Vec::new();
        for &rank in ranks {
            if self.flows.max_flow(vertices, rank, needed) < enough {
                let mut side = self.flows.source_side();
                side.truncate(vertices);
                let inside = roots.iter().filter(|&&root| side[root]).count() as i64;
                // Its exit is what the programme looks for.
                if violated.iter().all(|known| known.side != side) {
                    violated.push(Cut { side, exit: 0, inside });
                }
            }
        }
        violated
    }
}

/// Whole numbers of parts near `used` that balance as it does, and how many parts are 1.
fn whole(problem: &Problem, used: &[f64]) -> Option<(Vec<i64>, i64)> {
    let is_common = |&parts: &i64| {
        used.iter().all(|used| {
            let value = used * parts as f64;
            (value - value.round()).abs() < NEAR * parts as f64
        })
    };
    // More than a hundredth of a part would be anything.
    let parts = (1..=PARTS).take_while(|&parts| NEAR * (parts as f64) < 0.01).find(is_common).unwrap_or(PARTS);
    let value = |number: usize| used[number] * parts as f64;
    let floors: Vec<i64> = (0..used.len()).map(|number| (value(number) + NEAR * parts as f64).floor() as i64).collect();
    let rises = |number: usize| value(number) - floors[number] as f64 > NEAR * parts as f64;
    let Problem { vertices, edges, ranks, .. } = *problem;
    let is_rank = marked(vertices, ranks);
    // All ranks are one vertex, which makes up for the others. What is rounded up passes on what was too much.
    let (hub, source, sink) = (vertices, vertices + 1, vertices + 2);
    let end = |vertex: usize| if is_rank[vertex] { hub } else { vertex };
    let mut surplus = vec![0i64; vertices + 1];
    let mut flows = FlowNetwork::new(vertices + 3);
    let mut numbers = vec![None; edges.len()];
    for (number, &(from, to, _)) in edges.iter().enumerate() {
        surplus[end(from)] -= floors[number];
        surplus[end(to)] += floors[number];
        if rises(number) && end(from) != end(to) {
            numbers[number] = Some(flows.add(end(from), end(to), 1));
        }
    }
    for (vertex, &surplus) in surplus.iter().enumerate().filter(|(_, surplus)| **surplus != 0) {
        match surplus > 0 {
            true => flows.add(source, vertex, surplus),
            false => flows.add(vertex, sink, -surplus),
        };
    }
    let all: i64 = surplus.iter().map(|&surplus| surplus.max(0)).sum();
    (flows.max_flow(source, sink, all) == all).then_some(())?;
    let up = |number: usize| numbers[number].map_or(0, |number| flows.carried(number));
    Some(((0..edges.len()).map(|number| floors[number] + up(number)).collect(), parts))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use weft_base::Interrupt;

    use super::*;
    use crate::bound::bottleneck;

    /// What the sets of vertices with a root inside and a rank outside let out, for each root inside, at least.
    fn smallest_ratio(vertices: usize, edges: &[Edge], ranks: usize) -> f64 {
        let ratio = |set: u32| {
            let inside = (0..ranks).filter(|rank| set >> rank & 1 == 1).count();
            let leaves = |edge: &&Edge| set >> edge.0 & 1 == 1 && set >> edge.1 & 1 == 0;
            let exit: i64 = edges.iter().filter(leaves).map(|edge| edge.2).sum();
            (inside > 0 && inside < ranks).then(|| exit as f64 / inside as f64)
        };
        (0..1u32 << vertices).filter_map(ratio).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn switches_pass_on_what_they_get_and_every_set_lets_enough_out() {
        let mut random = weft_base::generator(11, 0);
        let (mut unbalanced, mut whole) = (0, 0);
        for _ in 0..60 {
            let (ranks, vertices) = (3, 8);
            let mut edges: Vec<Edge> = Vec::new();
            for vertex in 1..vertices {
                let other = random.random_range(0..vertex);
                let capacity = [2, 5, 8, 10, 20][random.random_range(0..5)];
                edges.extend([(other, vertex, capacity), (vertex, other, capacity)]);
            }
            for _ in 0..10 {
                let (from, to) = (random.random_range(0..vertices), random.random_range(0..vertices));
                if from != to {
                    edges.push((from, to, random.random_range(1..20)));
                }
            }
            let group: Vec<usize> = (0..ranks).collect();
            let cut = bottleneck(vertices, &edges, &group, &group, &Interrupt::NEVER);
            let interrupt = &Interrupt::NEVER;
            let problem = Problem { vertices, edges: &edges, ranks: &group, roots: &group, cut: &cut, interrupt };
            let (used, parts) = balanced(&problem).expect("a small network");
            let surplus = |edges: &[Edge], vertex: usize| -> i64 {
                edges.iter().map(|edge| (i64::from(edge.1 == vertex) - i64::from(edge.0 == vertex)) * edge.2).sum()
            };
            assert!((ranks..vertices).all(|switch| surplus(&used, switch) == 0), "{edges:?}");
            assert!(used.iter().zip(&edges).all(|(used, edge)| used.2 >= 0 && used.2 <= edge.2 * parts), "{edges:?}");
            unbalanced += usize::from((ranks..vertices).any(|switch| surplus(&edges, switch) != 0));
            let part = smallest_ratio(vertices, &used, ranks) / parts as f64 / smallest_ratio(vertices, &edges, ranks);
            assert!(part <= 1.0 + 1e-9, "{edges:?}");
            whole += usize::from(part > 1.0 - 1e-9);
        }
        // Of most of these networks all that the cut allows can be used.
        assert!(unbalanced > 50 && whole > 40, "{unbalanced} {whole}");
    }
}
