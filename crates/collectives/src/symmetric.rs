//! Trees for networks that look the same from every rank: one shape, moved to every root.
//!
//! Ranks are numbered along axes, as on tori, hypercubes, and systems of several accelerators. A tree goes along one axis
//! after another, so that it is as flat as the axes are short. The links' loads of such trees are counted, not assumed: a
//! few shapes together are the answer where they use the bottleneck fully, at any number of ranks that fits in memory.

use weft_base::Interrupt;

use crate::bound::Edge;
use crate::fabric::Fabric;
use crate::packing::PackedTree;
use crate::translation::Translations;

/// Transfers of all trees together that a schedule may have: some hundred bytes each while it is made and written.
pub const MAX_TRANSFERS: usize = 1 << 23;

/// Of each root, at most so many different trees.
const MAX_SHAPES: usize = 24;

/// So many shapes are mixed where they are dealt to classes of roots.
const MAX_DEALT: usize = 96;

/// How a tree goes along one axis, from the coordinate of its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// From the root to everybody.
    Star,
    /// Everybody who has it sends to one who has not, in every round.
    Binomial,
    /// From neighbour to neighbour both ways, the longer half upwards.
    Upwards,
    /// The same with the longer half downwards.
    Downwards,
}

const LINES: [Line; 4] = [Line::Star, Line::Binomial, Line::Upwards, Line::Downwards];

/// Extents of the axes, the order in which a tree goes along them, and how.
#[derive(Clone, Debug)]
struct Shape<'a> {
    extents: &'a [usize],
    order: Vec<usize>,
    line: Line,
}

/// Trees at every rank, how many a root has, and how full the fullest link is by capacity: the less the better.
#[derive(Clone, Debug)]
pub struct Moved {
    pub trees: Vec<PackedTree>,
    pub parts: i64,
    /// The most of a link's `weight / capacity`.
    pub fullness: f64,
}

impl Moved {
    /// One tree at each root, all of weight 1.
    pub fn whole(trees: Vec<PackedTree>, edges: &[Edge]) -> Moved {
        let mut loads = vec![0; edges.len()];
        let used = trees.iter().flat_map(|tree| &tree.edges).flat_map(|edge| &edge.2);
        used.for_each(|&link| loads[link as usize] += 1);
        Moved { trees, parts: 1, fullness: fullest(&loads, edges) }
    }
}

/// The best that a few shapes together do. `None` where no numbering along axes fits the network.
///
/// `enough` is the fullness for one tree a root that nobody can beat; the search ends where it is reached.
pub fn best(paths: &Paths, edges: &[Edge], ranks: &[usize], enough: f64, interrupt: &Interrupt) -> Option<Moved> {
    let most = (MAX_TRANSFERS / (ranks.len() * ranks.len())).min(MAX_SHAPES);
    let mut best: Option<(f64, Deal)> = None;
    let factors = axes(paths, edges);
    for extents in &factors {
        let candidates = candidates(extents, paths, edges, interrupt);
        let few = mix(&candidates, edges, enough, most).map(|(fullness, chosen)| (fullness, vec![chosen]));
        let many = few
            .as_ref()
            .is_none_or(|few| few.0 > enough * (1.0 + 1e-3))
            .then(|| dealt(&candidates, paths, edges, enough, most));
        for (fullness, deal) in few.into_iter().chain(many.flatten()) {
            if best.as_ref().is_none_or(|(known, _)| fullness < known * (1.0 - 1e-9)) {
                best = Some((fullness, deal));
            }
        }
        if best.as_ref().is_some_and(|(fullness, _)| *fullness <= enough * (1.0 + 1e-9)) {
            break;
        }
    }
    let (fullness, deal) = best?;
    let parts = deal[0].iter().map(|(_, weight)| *weight as i64).sum();
    let trees =
        (0..ranks.len()).flat_map(|root| hand(&deal, root).iter().map(move |(shape, weight)| (root, shape, *weight)));
    let trees = trees.map(|(root, shape, weight)| tree(shape, root, weight as i64, paths, ranks)).collect();
    Some(Moved { trees, parts, fullness })
}

/// Shapes with weights for each class of roots; the weights of every class have the same sum.
type Deal<'a> = Vec<Vec<(Shape<'a>, u64)>>;

/// Trees of rank 0 that, moved to every rank, do best together, and the extents of the axes along which they are moved.
/// `None` where no numbering of ranks along axes takes the network to itself.
///
/// Only neighbours are looked at: where there are more ranks than tables of their pairs allow, trees go from one to the
/// next. `enough` is as in [`best`].
pub fn translated(fabric: &Fabric, edges: &[Edge], enough: f64, interrupt: &Interrupt) -> Option<(Vec<usize>, Moved)> {
    let ranks = &fabric.ranks;
    let paths = Paths::of_neighbours(fabric.vertices.len(), edges, ranks);
    if !paths.is_direct {
        return None;
    }
    let mut best: Option<(Vec<usize>, Moved)> = None;
    for extents in axes(&paths, edges) {
        let Some(moves) = Translations::of(fabric, &extents) else { continue };
        let of_kind: Vec<Edge> = moves.links_of_first().iter().map(|&link| edges[link as usize]).collect();
        let loads = |shape: &Shape| {
            let mut loads = vec![0; moves.kinds()];
            walk(shape, 0, &paths, |_, _, path| path.iter().for_each(|&link| loads[moves.kind(link)] += 1))?;
            Some(loads)
        };
        let candidates = distinct(&extents, loads, interrupt);
        let Some((fullness, chosen)) = mix(&candidates, &of_kind, enough, MAX_DEALT) else { continue };
        if best.as_ref().is_none_or(|(_, known)| fullness < known.fullness * (1.0 - 1e-9)) {
            let parts = chosen.iter().map(|(_, weight)| *weight as i64).sum();
            let trees = chosen.iter().map(|(shape, weight)| tree(shape, 0, *weight as i64, &paths, ranks)).collect();
            best = Some((extents.clone(), Moved { trees, parts, fullness }));
        }
        if best.as_ref().is_some_and(|(_, known)| known.fullness <= enough * (1.0 + 1e-9)) {
            break;
        }
    }
    best
}

/// The shapes of a root: neighbours along every axis are of different classes.
fn hand<'a, 'b>(deal: &'b Deal<'a>, root: usize) -> &'b [(Shape<'a>, u64)] {
    let (mut rest, mut sum) = (root, 0);
    for extent in deal[0][0].0.extents.iter().rev() {
        sum += rest % extent;
        rest /= extent;
    }
    &deal[sum % deal.len()]
}

/// Shapes whose loads differ, the flattest first: lines that the network has no links for fall back to neighbours.
fn candidates<'a>(
    extents: &'a [usize],
    paths: &Paths,
    edges: &[Edge],
    interrupt: &Interrupt,
) -> Vec<(Shape<'a>, Vec<u64>)> {
    distinct(extents, |shape| loads(paths, edges.len(), |_| vec![(shape, 1)]), interrupt)
}

/// Shapes whose `loads` differ.
fn distinct<'a>(
    extents: &'a [usize],
    loads: impl Fn(&Shape) -> Option<Vec<u64>>,
    interrupt: &Interrupt,
) -> Vec<(Shape<'a>, Vec<u64>)> {
    let mut candidates: Vec<(Shape, Vec<u64>)> = Vec::new();
    for shape in shapes(extents).take_while(|_| !interrupt.is_requested()) {
        if let Some(loads) = loads(&shape)
            && candidates.iter().all(|known| known.1 != loads)
        {
            candidates.push((shape, loads));
        }
    }
    candidates
}

/// More shapes than one root may have trees, dealt to classes of roots so that all together have them in proportion.
fn dealt<'a>(
    candidates: &[(Shape<'a>, Vec<u64>)],
    paths: &Paths,
    edges: &[Edge],
    enough: f64,
    most: usize,
) -> Option<(f64, Deal<'a>)> {
    let (_, chosen) = mix(candidates, edges, enough, MAX_DEALT)?;
    let total: u64 = chosen.iter().map(|(_, weight)| weight).sum();
    let classes = total.div_ceil(most as u64) as usize;
    // Each as often as its weight says: the k-th of a shape stands at (k + 1/2) / weight of the sequence.
    let mut sequence: Vec<(f64, &Shape)> = chosen
        .iter()
        .flat_map(|(shape, weight)| {
            let count = (*weight as f64 * (classes * most) as f64 / total as f64).ceil() as usize;
            (0..count).map(move |time| ((time as f64 + 0.5) / count as f64, shape))
        })
        .collect();
    sequence.sort_by(|a, b| a.0.total_cmp(&b.0));
    let skipped = sequence.len() as f64 / (classes * most) as f64;
    let taken = (0..classes * most).map(|index| sequence[(index as f64 * skipped) as usize].1);
    let mut deal: Deal = vec![Vec::new(); classes];
    for (index, shape) in taken.enumerate() {
        deal[index % classes].push((shape.clone(), 1));
    }
    let loads =
        loads(paths, edges.len(), |root| hand(&deal, root).iter().map(|(shape, weight)| (shape, *weight)).collect())?;
    Some((fullest(&loads, edges) / most as f64, deal))
}

/// One tree a root in which every rank that has the data sends it on in every round, for numberings with few axes and
/// with many: few messages, where all that goes from one rank to another is one.
pub fn binomial(paths: &Paths, edges: &[Edge], ranks: &[usize]) -> Vec<Moved> {
    let mut factors = axes(paths, edges);
    if !factors.iter().any(|extents| extents.len() == 1) {
        factors.push(vec![ranks.len()]);
    }
    let moved = |extents: &Vec<usize>| {
        let shape = Shape { extents, order: (0..extents.len()).collect(), line: Line::Binomial };
        let loads = loads(paths, edges.len(), |_| vec![(&shape, 1)])?;
        let trees = (0..ranks.len()).map(|root| tree(&shape, root, 1, paths, ranks)).collect();
        Some(Moved { trees, parts: 1, fullness: fullest(&loads, edges) })
    };
    // One axis is the least rounds, many are the shortest paths; between them there is little to win.
    let mut trees: Vec<Moved> = factors.iter().rev().filter_map(moved).take(1).collect();
    trees.extend(factors.iter().filter_map(moved).take(2));
    trees
}

/// Weights of the candidates: all equal, one alone, or one after another as links have least, and what adding and removing
/// one at a time from there makes better.
fn mix<'a>(
    candidates: &[(Shape<'a>, Vec<u64>)],
    edges: &[Edge],
    enough: f64,
    most: usize,
) -> Option<(f64, Vec<(Shape<'a>, u64)>)> {
    let count = candidates.len();
    // All lines from neighbour to neighbour, both ways, along every axis first: even where axes are equally long.
    let forwards = |shape: &Shape| shape.order.windows(2).all(|pair| (pair[0] + 1) % shape.order.len() == pair[1]);
    let masks: [&dyn Fn(&Shape) -> bool; 3] = [
        &|shape| forwards(shape) && shape.line != Line::Binomial && shape.line != Line::Star,
        &|shape| forwards(shape) && shape.line != Line::Binomial,
        &|_| true,
    ];
    let masked = masks.map(|mask| candidates.iter().map(|(shape, _)| u64::from(mask(shape))).collect::<Vec<u64>>());
    let single = (0..count).map(|chosen| (0..count).map(|other| u64::from(other == chosen)).collect());
    let starts = single.chain(masked).chain([one_by_one(candidates, edges, enough, most)]);
    let score = |weights: &Vec<u64>| fullness(candidates, weights, edges);
    let fits = |weights: &Vec<u64>| (1..=most as u64).contains(&weights.iter().sum());
    let start = starts.filter(fits).map(|weights| (score(&weights), weights));
    let (mut best, mut weights) = start.min_by(|a, b| a.0.total_cmp(&b.0))?;
    while best > enough * (1.0 + 1e-9) {
        let moves = (0..count).flat_map(|changed| [1i64, -1].map(|step| (changed, step)));
        let changed = moves.filter_map(|(changed, step)| {
            let mut weights = weights.clone();
            weights[changed] = weights[changed].checked_add_signed(step)?;
            Some(weights)
        });
        let next = changed.filter(fits).map(|weights| (score(&weights), weights)).min_by(|a, b| a.0.total_cmp(&b.0));
        match next.filter(|next| next.0 < best * (1.0 - 1e-9)) {
            Some(better) => (best, weights) = better,
            None => break,
        }
    }
    let chosen = candidates.iter().zip(weights).filter(|(_, weight)| *weight > 0);
    Some((best, chosen.map(|((shape, _), weight)| (shape.clone(), weight)).collect()))
}

/// What the load of a link by its capacity is raised to: links that are fuller than others count for more.
const FULL_LINKS: i32 = 16;

/// Weights by adding, as often as there may be shapes, the one after which links are fullest least: the first sum of them
/// that comes within a thousandth of `enough`, or the best of all.
fn one_by_one(candidates: &[(Shape, Vec<u64>)], edges: &[Edge], enough: f64, most: usize) -> Vec<u64> {
    let mut weights = vec![0; candidates.len()];
    let mut loads = vec![0u64; edges.len()];
    let (mut best, mut least) = (weights.clone(), f64::INFINITY);
    for count in 1..=most {
        let even = count as f64 * enough;
        let cost = |(_, added): &(Shape, Vec<u64>)| {
            let of_links = loads.iter().zip(added).zip(edges);
            of_links
                .map(|((&load, &more), edge)| ((load + more) as f64 / edge.2 as f64 / even).powi(FULL_LINKS))
                .sum::<f64>()
        };
        let costs = candidates.iter().map(cost).enumerate();
        let Some((chosen, _)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        weights[chosen] += 1;
        loads.iter_mut().zip(&candidates[chosen].1).for_each(|(load, more)| *load += more);
        let full = loads.iter().zip(edges).map(|(&load, edge)| load as f64 / edge.2 as f64).fold(0.0, f64::max);
        if full / (count as f64) < least * (1.0 - 1e-9) {
            (best, least) = (weights.clone(), full / count as f64);
        }
        if least <= enough * (1.0 + 1e-3) {
            break;
        }
    }
    best
}

/// The most of a link's load by capacity.
fn fullest(loads: &[u64], edges: &[Edge]) -> f64 {
    loads.iter().zip(edges).map(|(&load, edge)| load as f64 / edge.2 as f64).fold(0.0, f64::max)
}

/// The same for one tree a root, of weighted candidates.
fn fullness(candidates: &[(Shape, Vec<u64>)], weights: &[u64], edges: &[Edge]) -> f64 {
    let parts: u64 = weights.iter().sum();
    let used: Vec<(u64, &Vec<u64>)> = weights
        .iter()
        .zip(candidates)
        .filter(|(weight, _)| **weight > 0)
        .map(|(&weight, (_, loads))| (weight, loads))
        .collect();
    let load = |link: usize| used.iter().map(|(weight, loads)| weight * loads[link]).sum::<u64>();
    let full = (0..edges.len()).map(|link| load(link) as f64 / edges[link].2 as f64);
    full.fold(0.0, f64::max) / parts as f64
}

/// All orders of up to three axes, the rotations of more, each with every kind of line.
fn shapes(extents: &[usize]) -> impl Iterator<Item = Shape<'_>> {
    let count = extents.len();
    let rotation = |first: usize, backwards: bool| -> Vec<usize> {
        let axis = |step: usize| if backwards { (first + count - step) % count } else { (first + step) % count };
        (0..count).map(axis).collect()
    };
    let backwards = if count > 2 { &[false, true][..] } else { &[false][..] };
    let orders: Vec<Vec<usize>> =
        (0..count).flat_map(|first| backwards.iter().map(move |&backwards| rotation(first, backwards))).collect();
    LINES.into_iter().flat_map(move |line| orders.clone().into_iter().map(move |order| Shape { extents, order, line }))
}

/// How ranks may be numbered along axes: all products that neighbours allow on direct networks, else one axis, or systems
/// as large as what is at one switch.
fn axes(paths: &Paths, edges: &[Edge]) -> Vec<Vec<usize>> {
    let ranks = paths.count;
    let mut factors = Vec::new();
    if paths.is_direct {
        products(ranks, &mut Vec::new(), &mut factors);
        factors.retain(|extents| has_neighbours(paths, extents));
        factors.sort_by_key(|extents| std::cmp::Reverse(extents.len()));
        return factors;
    }
    let mut at_switch = vec![0usize; paths.rank_of.len()];
    for &(from, to, _) in edges {
        if paths.rank_of[from].is_some() && paths.rank_of[to].is_none() {
            at_switch[to] += 1;
        }
    }
    at_switch.retain(|&count| count > 1 && count < ranks && ranks.is_multiple_of(count));
    at_switch.sort_unstable();
    at_switch.dedup();
    for &count in &at_switch {
        factors.push(vec![ranks / count, count]);
        factors.push(vec![count, ranks / count]);
    }
    factors.push(vec![ranks]);
    factors.dedup();
    factors
}

fn products(rest: usize, begun: &mut Vec<usize>, factors: &mut Vec<Vec<usize>>) {
    if rest == 1 {
        factors.push(begun.clone());
        return;
    }
    for factor in (2..=rest).filter(|factor| rest.is_multiple_of(*factor)) {
        begun.push(factor);
        products(rest / factor, begun, factors);
        begun.pop();
    }
}

/// Whether consecutive ranks of every axis are linked, all of them.
fn has_neighbours(paths: &Paths, extents: &[usize]) -> bool {
    let mut stride = 1;
    let is_link = |from: usize, to: usize| paths.get(from, to).is_some_and(|path| path.len() == 1);

    extents.iter().rev().all(|&extent| {
        let (axis, step) = (extent, stride);
        stride *= extent;
        let has_next = |rank: usize| rank / step % axis + 1 == axis || is_link(rank, rank + step);
        (0..paths.count).all(has_next)
    })
}

/// Whether the last rank of every axis is linked to its first, both ways.
fn has_rings(paths: &Paths, extents: &[usize]) -> bool {
    let is_link = |from: usize, to: usize| paths.get(from, to).is_some_and(|path| path.len() == 1);
    let mut stride = 1;
    extents.iter().rev().all(|&extent| {
        let (step, span) = (stride, stride * (extent - 1));
        stride *= extent;
        let closes = |rank: usize| is_link(rank, rank + span) && is_link(rank + span, rank);
        (0..paths.count).filter(|rank| rank / step % extent == 0).all(closes)
    })
}

/// Paths between ranks, by breadth-first search: through switches, and through other ranks only where routers there pass
/// messages on.
pub struct Paths {
    count: usize,
    is_direct: bool,
    rank_of: Vec<Option<usize>>,
    /// By rank: the ranks it reaches, ascending, with their paths.
    reached: Vec<Vec<(u32, Vec<u32>)>>,
}

impl Paths {
    /// Paths from every rank to all others that it reaches: the routes of its machine, else shortest paths.
    pub fn of(fabric: &Fabric, edges: &[Edge]) -> Paths {
        let Fabric { vertices, ranks, forwards, .. } = fabric;
        let mut paths = Paths::new(vertices.len(), edges, ranks, *forwards);
        let Some(routes) = &fabric.routes else { return paths };
        // Who is cut off from a route keeps the path that there is.
        paths.replace(|from, to| routes.path(ranks[from], ranks[to]));
        paths
    }

    /// Other paths between ranks, where there are any; whether one is another than before.
    pub fn replace(&mut self, mut other: impl FnMut(usize, usize) -> Option<Vec<u32>>) -> bool {
        let mut is_other = false;
        for (from, reached) in self.reached.iter_mut().enumerate() {
            for (to, path) in reached {
                if let Some(other) = other(from, *to as usize) {
                    is_other |= *path != other;
                    *path = other;
                }
            }
        }
        is_other
    }

    /// Shortest paths from every rank to all others that it reaches.
    pub fn new(vertices: usize, edges: &[Edge], ranks: &[usize], forwards: bool) -> Paths {
        let mut rank_of = vec![None; vertices];
        ranks.iter().enumerate().for_each(|(rank, &vertex)| rank_of[vertex] = Some(rank));
        let mut out = vec![Vec::new(); vertices];
        edges.iter().enumerate().for_each(|(number, edge)| out[edge.0].push((edge.1, number as u32)));
        let is_direct = edges.iter().all(|edge| rank_of[edge.0].is_some() && rank_of[edge.1].is_some());
        let reached = ranks.iter().map(|&start| search(start, &out, edges, &rank_of, forwards)).collect();
        Paths { count: ranks.len(), is_direct, rank_of, reached }
    }

    /// Links to neighbours only; of several to the same one those to different ranks take different ones.
    fn of_neighbours(vertices: usize, edges: &[Edge], ranks: &[usize]) -> Paths {
        let mut rank_of = vec![None; vertices];
        ranks.iter().enumerate().for_each(|(rank, &vertex)| rank_of[vertex] = Some(rank));
        let is_direct = edges.iter().all(|edge| rank_of[edge.0].is_some() && rank_of[edge.1].is_some());
        let mut parallel: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); ranks.len()];
        for (number, edge) in edges.iter().enumerate() {
            if let (Some(from), Some(to)) = (rank_of[edge.0], rank_of[edge.1]) {
                parallel[from].push((to as u32, vec![number as u32]));
            }
        }
        let chosen = |mut links: Vec<(u32, Vec<u32>)>| {
            links.sort_unstable();
            let to_one = links.chunk_by(|a, b| a.0 == b.0);
            to_one.map(|links| links[links[0].0 as usize % links.len()].clone()).collect()
        };
        Paths { count: ranks.len(), is_direct, rank_of, reached: parallel.into_iter().map(chosen).collect() }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.count
    }

    /// How ranks may be numbered along axes, as [`axes`] says; and whether every axis is a ring of neighbours, or of two.
    pub fn axes(&self, edges: &[Edge]) -> (Vec<Vec<usize>>, bool) {
        let mut factors = axes(self, edges);
        if !self.is_direct {
            return (factors, false);
        }
        factors.retain(|extents| has_rings(self, extents));
        let is_torus = !factors.is_empty();
        (factors, is_torus)
    }

    /// The ranks that a rank reaches, ascending, with their paths.
    pub fn from(&self, rank: usize) -> &[(u32, Vec<u32>)] {
        &self.reached[rank]
    }

    /// The links of the path from one rank to another, if there is one.
    pub fn get(&self, from: usize, to: usize) -> Option<&[u32]> {
        let reached = &self.reached[from];
        let position = reached.binary_search_by_key(&(to as u32), |entry| entry.0).ok()?;
        Some(&reached[position].1)
    }
}

/// Shortest paths from `start` to other ranks; where there are several, those to different ranks go different ways.
fn search(
    start: usize,
    out: &[Vec<(usize, u32)>],
    edges: &[Edge],
    rank_of: &[Option<usize>],
    forwards: bool,
) -> Vec<(u32, Vec<u32>)> {
    let mut distance = vec![usize::MAX; out.len()];
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); out.len()];
    distance[start] = 0;
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(vertex) = queue.pop_front() {
        if !forwards && rank_of[vertex].is_some() && vertex != start {
            continue;
        }
        for &(to, link) in &out[vertex] {
            if distance[to] == usize::MAX {
                distance[to] = distance[vertex] + 1;
                queue.push_back(to);
            }
            if distance[to] == distance[vertex] + 1 {
                before[to].push(link);
            }
        }
    }
    let path = |rank: usize, end: usize| {
        let (mut at, mut links) = (end, Vec::with_capacity(distance[end]));
        while at != start {
            let link = before[at][rank % before[at].len()];
            links.push(link);
            at = edges[link as usize].0;
        }
        links.reverse();
        (rank as u32, links)
    };
    let ends = rank_of.iter().enumerate().filter_map(|(vertex, rank)| rank.map(|rank| (rank, vertex)));
    let mut reached: Vec<_> = ends
        .filter(|&(_, vertex)| vertex != start && distance[vertex] < usize::MAX)
        .map(|(rank, end)| path(rank, end))
        .collect();
    reached.sort_unstable_by_key(|entry| entry.0);
    reached
}

/// Calls `visit` with each transfer of the tree of `root`, in order: from, to. `None` where it would need a path that there
/// is not.
fn walk(shape: &Shape, root: usize, paths: &Paths, mut visit: impl FnMut(usize, usize, &[u32])) -> Option<()> {
    let mut reached = Vec::with_capacity(paths.count);
    reached.push(root);
    let mut steps = Vec::new();
    for &axis in &shape.order {
        let extent = shape.extents[axis];
        let stride: usize = shape.extents[axis + 1..].iter().product();
        let coordinate = root / stride % extent;
        let base = |rank: usize| rank - coordinate * stride;
        let has = |rank: usize, from: usize, to: usize| paths.get(base(rank) + from * stride, base(rank) + to * stride);
        line(shape.line, coordinate, extent, |from, to| has(root, from, to).is_some(), &mut steps);
        for index in 0..reached.len() {
            let rank = reached[index];
            for &(from, to) in &steps {
                let links = has(rank, from, to)?;
                visit(base(rank) + from * stride, base(rank) + to * stride, links);
                reached.push(base(rank) + to * stride);
            }
        }
    }
    Some(())
}

/// The steps along an axis from `start`; from neighbour to neighbour where the kind of line needs links that are not there.
fn line(kind: Line, start: usize, extent: usize, has: impl Fn(usize, usize) -> bool, steps: &mut Vec<(usize, usize)>) {
    steps.clear();
    let at = |offset: usize| (start + offset) % extent;
    match kind {
        Line::Star => steps.extend((1..extent).map(|offset| (start, at(offset)))),
        Line::Binomial => {
            steps.extend((1..extent).map(|offset| (at(offset - (1 << offset.ilog2())), at(offset))));
        }
        Line::Upwards | Line::Downwards => {}
    }
    if !steps.is_empty() && steps.iter().all(|&(from, to)| has(from, to)) {
        return;
    }
    steps.clear();
    let is_ring = extent > 2 && has(extent - 1, 0) && has(0, extent - 1);
    let longer = extent / 2;
    let (up, down) = match kind {
        _ if !is_ring => (extent - 1 - start, start),
        Line::Downwards => (extent - 1 - longer, longer),
        _ => (longer, extent - 1 - longer),
    };
    steps.extend((0..up).map(|offset| (at(offset), at(offset + 1))));
    steps.extend((0..down).map(|offset| (at(extent - offset), at(extent - offset - 1))));
}

/// How many transfers of all roots' trees together cross each link; `of` says which shapes a root has, and how often.
fn loads<'a, 'b: 'a>(paths: &Paths, links: usize, of: impl Fn(usize) -> Vec<(&'a Shape<'b>, u64)>) -> Option<Vec<u64>> {
    let mut loads = vec![0; links];
    for root in 0..paths.count {
        for (shape, weight) in of(root) {
            walk(shape, root, paths, |_, _, path| path.iter().for_each(|&link| loads[link as usize] += weight))?;
        }
    }
    Some(loads)
}

fn tree(shape: &Shape, root: usize, weight: i64, paths: &Paths, ranks: &[usize]) -> PackedTree {
    let mut edges = Vec::with_capacity(paths.count - 1);
    walk(shape, root, paths, |from, to, path| edges.push((ranks[from], ranks[to], path.to_vec())))
        .expect("loads were counted on the same paths");
    PackedTree { root: ranks[root], weight, edges }
}
