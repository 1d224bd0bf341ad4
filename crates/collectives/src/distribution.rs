//! Trees that distribute what ranks have, on networks of every kind: moved along axes, grown, spread over routes, packed
//! exactly.

use rustc_hash::FxHashMap;
use weft_base::{Interrupt, memory};

use crate::bound::{self, Cut, Edge, bottleneck, capacities};
use crate::error::CollectiveError;
use crate::exact;
use crate::fabric::Fabric;
use crate::greedy;
use crate::in_network;
use crate::logical::Logical;
use crate::orders;
use crate::packing::PackedTree;
use crate::quickest;
use crate::rooted;
use crate::schedule::Operation;
use crate::shallow;
use crate::spreading::Spreading;
use crate::symmetric::{self, Moved, Paths};

/// Trees that distribute everything, how many each root has, and the cut that limits them.
#[derive(Clone)]
pub struct Distribution {
    pub trees: Vec<PackedTree>,
    pub parts: i64,
    pub cut: Cut,
    pub merged: bool,
    /// Where the trees are those of rank 0, the axes along which they are moved to the others.
    pub translated: Option<Vec<usize>>,
}

/// What distributes for each operation: on the network reversed round for reducing, which where every link has one back is
/// the same network. `distributions` are those of a network.
pub fn candidates(
    fabric: &Fabric,
    operations: &[Operation],
    distributions: &dyn Fn(&Fabric) -> Result<Vec<Distribution>, CollectiveError>,
) -> Result<Vec<Vec<Distribution>>, CollectiveError> {
    // Routes there are not those back, backwards.
    let is_alike = fabric.routes.is_none() && fabric.in_network.iter().all(|each| each.multicast == each.reduction);
    let Some(back) = links_back(fabric).filter(|_| is_alike) else {
        let network = |operation: &Operation| match operation {
            Operation::Reduce => distributions(&fabric.reversed()),
            _ => distributions(fabric),
        };
        return operations.iter().map(network).collect();
    };
    let copying = distributions(fabric)?;
    let of = |operation: &Operation| {
        let mut candidates = copying.clone();
        if *operation == Operation::Reduce {
            let trees = candidates.iter_mut().flat_map(|candidate| &mut candidate.trees);
            let paths = trees.flat_map(|tree| &mut tree.edges).flat_map(|edge| &mut edge.2);
            paths.for_each(|link| *link = back[*link as usize]);
        }
        candidates
    };
    Ok(operations.iter().map(of).collect())
}

/// For every link another one as fast the other way, if all have one.
fn links_back(fabric: &Fabric) -> Option<Vec<u32>> {
    let mut waiting: FxHashMap<(usize, usize, u64), Vec<usize>> = FxHashMap::default();
    let mut back = vec![u32::MAX; fabric.links.len()];
    for (number, link) in fabric.links.iter().enumerate() {
        let speed = link.bandwidth.to_bits();
        match waiting.get_mut(&(link.to, link.from, speed)).and_then(Vec::pop) {
            Some(other) => (back[number], back[other]) = (other as u32, number as u32),
            None => waiting.entry((link.from, link.to, speed)).or_default().push(number),
        }
    }
    waiting.values().all(Vec::is_empty).then_some(back)
}

/// Ranks up to which trees are packed exactly in seconds, and up to which it is done where nothing else comes near.
const EXACT_RANKS: usize = 96;
const MAX_EXACT_RANKS: usize = 256;

/// Ranks above which the trees of one root of a graph are not packed where a tree reaches the bound: of links whose speeds
/// have no common unit hundreds of trees are made, which takes a minute and gains nothing.
const MANY_RANKS: usize = 32;

/// Memory that a transfer of one tree a root takes while candidates are compared: some trees a root, in several forms.
const TRANSFER_BYTES: u64 = 1000;

/// How near the optimum is near enough for what is not exact.
const NEAR: f64 = 0.99;

/// The links as edges with integer capacities, and the vertices of the roots.
///
/// # Errors
/// Where there is no path from a root to a rank, or from one root to another.
pub fn reachable(fabric: &Fabric, roots: &[usize]) -> Result<(Vec<Edge>, Vec<usize>), CollectiveError> {
    let (capacities, _) = capacities(fabric)?;
    let edges: Vec<Edge> =
        fabric.links.iter().zip(&capacities).map(|(link, &capacity)| (link.from, link.to, capacity)).collect();
    let (vertices, ranks) = (fabric.vertices.len(), &fabric.ranks);
    let roots: Vec<usize> = roots.iter().map(|&rank| ranks[rank]).collect();
    match separated(vertices, &edges, ranks, &roots) {
        Some((from, to)) => Err(disconnected(fabric, from, to)),
        None => Ok((edges, roots)),
    }
}

impl Distribution {
    /// What part of what the cut allows the fullest edge lets through.
    fn reached(&self, edges: &[Edge]) -> f64 {
        let mut load = vec![0i64; edges.len()];
        for tree in &self.trees {
            tree.edges.iter().flat_map(|edge| &edge.2).for_each(|&link| load[link as usize] += tree.weight);
        }
        let seconds = load.iter().zip(edges).map(|(&load, edge)| load as f64 / edge.2 as f64).fold(0.0, f64::max);
        self.parts as f64 / seconds / self.cut.rate()
    }
}

/// # Errors
/// For more transfers than a schedule may have, or than fit into memory.
pub fn check_size(fabric: &Fabric, roots: usize) -> Result<(), CollectiveError> {
    let ranks = fabric.ranks.len();
    if roots.saturating_mul(ranks) > symmetric::MAX_TRANSFERS {
        return Err(CollectiveError::new(format!(
            "{}: {roots} trees of {} transfers are more than a schedule may have ({} in all); compile for a group of its \
             nodes",
            fabric.name,
            ranks - 1,
            symmetric::MAX_TRANSFERS
        )));
    }
    let transfers = (roots * ranks) as u64;
    let what = format!("{}: trees of {transfers} transfers", fabric.name);
    memory::require(transfers * TRANSFER_BYTES, what, "compile for a group of its nodes")
        .map_err(|error| CollectiveError::new(error.to_string()))
}

/// Ways to distribute everything from the vertices of `roots`: one near the optimum at least, others with less latency. When
/// `interrupt` is requested, those that there are so far.
pub fn distribute(
    fabric: &Fabric,
    roots: &[usize],
    bytes: u64,
    effort: f64,
    interrupt: &Interrupt,
) -> Result<Vec<Distribution>, CollectiveError> {
    let (edges, roots) = reachable(fabric, roots)?;
    let (vertices, ranks) = (fabric.vertices.len(), &fabric.ranks);
    if roots.len() < ranks.len() {
        let cut = bottleneck(vertices, &edges, ranks, &roots, interrupt);
        let mut forms = flat(fabric, &edges, &roots, bytes, &cut);
        forms.extend(through_switches(fabric, &edges, &roots, bytes, &cut, effort, interrupt));
        let is_slow = fabric.routes.is_none() && ranks.len() > MANY_RANKS;
        let is_enough = is_slow && forms.iter().any(|form| form.reached(&edges) > 1.0 - 1e-9);
        if (effort > 0.0 && !is_enough) || forms.is_empty() {
            or_kept(exact(fabric, &edges, &roots, cut, interrupt), &mut forms, interrupt)?;
        }
        return Ok(forms);
    }
    let share = |cut: &Cut, fullness: f64| cut.inside as f64 / cut.exit as f64 / fullness;
    let is_small = ranks.len() <= EXACT_RANKS;
    let satisfied = if is_small { 1.0 - 1e-9 } else { NEAR };
    let paths = Paths::of(fabric, &edges);
    let mut cut = bound::local(vertices, &edges, ranks, &roots);
    let mut forms: Vec<(Moved, bool)> = Vec::new();
    let mut fullness = f64::INFINITY;
    if let Some(moved) = symmetric::best(&paths, &edges, ranks, cut.inside as f64 / cut.exit as f64, interrupt) {
        fullness = moved.fullness;
        forms.push((moved, false));
    }
    if share(&cut, fullness) < satisfied && vertices == ranks.len() {
        let most = symmetric::MAX_TRANSFERS / (roots.len() * ranks.len());
        let parts = parts(&edges, &cut).min(most.clamp(1, 8) as i64);
        if let Some((trees, grown)) = greedy::grow(&Logical::new(vertices, &edges), &roots, parts as usize, interrupt) {
            fullness = fullness.min(grown);
            forms.push((Moved { trees, parts, fullness: grown }, false));
        }
    }
    // Over routes that are not single links trees meet where they were not meant to.
    if fabric.routes.is_some() && share(&cut, fullness) < satisfied {
        let capacities: Vec<i64> = edges.iter().map(|edge| edge.2).collect();
        let all: Vec<usize> = (0..ranks.len()).collect();
        let spread = Spreading::of(&paths, &capacities, all.clone()).and_then(|spread| {
            let trees = spread.trees();
            let trees =
                all.iter().map(|&root| rooted::packed(fabric, &paths, root, &trees[root], bytes / ranks.len() as u64));
            trees.collect::<Option<Vec<PackedTree>>>()
        });
        forms.extend(spread.map(|trees| (Moved { trees, parts: 1, fullness: f64::INFINITY }, false)));
    }
    // The cuts that need no flow may be above the optimum, but what is near them is near it.
    if share(&cut, fullness) < satisfied {
        cut = bottleneck(vertices, &edges, ranks, &roots, interrupt);
    }
    let reached = share(&cut, fullness);
    let mut is_near = reached >= NEAR || !forms.is_empty() && ranks.len() > MAX_EXACT_RANKS;
    if forms.is_empty() || !interrupt.is_requested() {
        forms.extend(symmetric::binomial(&paths, &edges, ranks).into_iter().map(|moved| (moved, true)));
        forms.extend(orders::trees(&paths, &edges, ranks).into_iter().map(|moved| (moved, true)));
        if let Some(quickest) = quickest::paths(fabric, &edges, bytes / ranks.len() as u64) {
            forms.extend(orders::trees(&quickest, &edges, ranks).into_iter().map(|moved| (moved, true)));
        }
    }
    // Where ranks are in no order along axes, the shortest trees there are, for short data and for who cannot wait.
    let missing: Vec<bool> =
        [false, true].into_iter().filter(|kind| forms.iter().all(|(_, merged)| merged != kind)).collect();
    if !missing.is_empty()
        && let Some(shallow) = shallow::trees(&paths, &edges, ranks, &roots)
    {
        forms.extend(missing.into_iter().map(|merged| (shallow.clone(), merged)));
    }
    is_near |= effort == 0.0 && !forms.is_empty();
    let distribution = |(moved, merged): (Moved, bool)| Distribution {
        trees: moved.trees,
        parts: moved.parts,
        cut: cut.clone(),
        merged,
        translated: None,
    };
    let mut forms: Vec<Distribution> = forms.into_iter().map(distribution).collect();
    forms.extend(through_switches(fabric, &edges, &roots, bytes, &cut, effort, interrupt));
    if reached < 1.0 - 1e-9 && (is_small && effort > 0.0 || !is_near) {
        or_kept(exact(fabric, &edges, &roots, cut, interrupt), &mut forms, interrupt)?;
    }
    Ok(forms)
}

/// Trees in which switches copy.
fn through_switches(
    fabric: &Fabric,
    edges: &[Edge],
    roots: &[usize],
    bytes: u64,
    cut: &Cut,
    effort: f64,
    interrupt: &Interrupt,
) -> Vec<Distribution> {
    let capacities: Vec<i64> = edges.iter().map(|edge| edge.2).collect();
    let packed = in_network::distributions(fabric, &capacities, roots, bytes, cut.rate(), effort, interrupt);
    let distribution =
        |(trees, parts)| Distribution { trees, parts, cut: cut.clone(), merged: false, translated: None };
    packed.into_iter().map(distribution).collect()
}

/// Trees of rank 0 for all ranks, where the network looks the same from each of them.
pub fn translated(
    fabric: &Fabric,
    roots: &[usize],
    interrupt: &Interrupt,
) -> Result<Option<Distribution>, CollectiveError> {
    if roots.len() < fabric.ranks.len() {
        return Ok(None);
    }
    let (edges, roots) = reachable(fabric, roots)?;
    let cut = bound::local(fabric.vertices.len(), &edges, &fabric.ranks, &roots);
    let enough = cut.inside as f64 / cut.exit as f64;
    let moved = symmetric::translated(fabric, &edges, enough, interrupt);
    Ok(moved.map(|(extents, moved)| {
        let Moved { trees, parts, .. } = moved;
        Distribution { trees, parts, cut, merged: false, translated: Some(extents) }
    }))
}

/// Adds one more to what there is; what was interrupted is missed only where there is nothing else.
fn or_kept(
    added: Result<Distribution, CollectiveError>,
    forms: &mut Vec<Distribution>,
    interrupt: &Interrupt,
) -> Result<(), CollectiveError> {
    match added {
        Err(_) if interrupt.is_requested() && !forms.is_empty() => {}
        added => forms.push(added?),
    }
    Ok(())
}

/// # Errors
/// Once somebody wants the compilation to end.
pub fn go_on(interrupt: &Interrupt) -> Result<(), CollectiveError> {
    if interrupt.is_requested() { Err(CollectiveError::new("interrupted before there was a schedule")) } else { Ok(()) }
}

/// One tree that doubles the ranks that have the data in every round, where ranks can be numbered along axes: for data so
/// short that the depth of a tree counts.
fn flat(fabric: &Fabric, edges: &[Edge], roots: &[usize], bytes: u64, cut: &Cut) -> Vec<Distribution> {
    let paths = Paths::of(fabric, edges);
    let alone = |moved: Moved| {
        let trees: Vec<PackedTree> = moved.trees.into_iter().filter(|tree| roots.contains(&tree.root)).collect();
        // Of one tree every message is one of its transfers, merged or not.
        let (parts, translated) = (moved.parts, None);
        [true, false].map(|merged| Distribution {
            trees: trees.clone(),
            parts,
            cut: cut.clone(),
            merged,
            translated: translated.clone(),
        })
    };
    let mut flat = symmetric::binomial(&paths, edges, &fabric.ranks);
    if flat.is_empty() {
        flat.extend(shallow::trees(&paths, edges, &fabric.ranks, roots));
    }
    let root = fabric.ranks.iter().position(|rank| *rank == roots[0]).expect("the root is a rank");
    let capacities: Vec<i64> = edges.iter().map(|edge| edge.2).collect();
    let mut rooted = rooted::candidates(fabric, &paths, &capacities, root, bytes);
    if let Some(quickest) = quickest::paths(fabric, edges, bytes) {
        rooted.extend(rooted::candidates(fabric, &quickest, &capacities, root, bytes));
    }
    let rooted = rooted.into_iter();
    flat.extend(rooted.map(|trees| Moved { parts: trees.len() as i64, trees, fullness: 0.0 }));
    flat.into_iter().flat_map(alone).collect()
}

/// How many trees of equal capacity each root has at the optimum.
fn parts(edges: &[Edge], cut: &Cut) -> i64 {
    let exit = cut.exit / exact::gcd(cut.exit, cut.inside);
    exit / edges.iter().map(|edge| edge.2).fold(exit, exact::gcd)
}

/// As much as the cut allows.
fn exact(
    fabric: &Fabric,
    edges: &[Edge],
    roots: &[usize],
    cut: Cut,
    interrupt: &Interrupt,
) -> Result<Distribution, CollectiveError> {
    let packed = exact::packed(fabric.vertices.len(), edges, &fabric.ranks, roots, &cut, interrupt);
    go_on(interrupt)?;
    let (trees, parts) =
        packed.ok_or_else(|| CollectiveError::new("a defect of weft: no spanning trees where flows say there are"))?;
    Ok(Distribution { trees, parts, cut, merged: false, translated: None })
}

/// A root and a rank that it has no path to.
fn separated(vertices: usize, edges: &[Edge], ranks: &[usize], roots: &[usize]) -> Option<(usize, usize)> {
    let reversed: Vec<Edge> = edges.iter().map(|&(from, to, capacity)| (to, from, capacity)).collect();
    // From one root to everybody, and from every root to it.
    let reached = reached_from(vertices, edges, roots[0]);
    let reaching = reached_from(vertices, &reversed, roots[0]);
    let unreached = ranks.iter().find(|&&rank| !reached[rank]).map(|&rank| (roots[0], rank));
    unreached.or_else(|| roots.iter().find(|&&root| !reaching[root]).map(|&root| (root, roots[0])))
}

fn disconnected(fabric: &Fabric, from: usize, to: usize) -> CollectiveError {
    let (from, to) = (&fabric.vertices[from], &fabric.vertices[to]);
    // Nodes outside a group have lost their links, where they do not pass messages on.
    let mut is_used = vec![false; fabric.vertices.len()];
    fabric.links.iter().for_each(|link| (is_used[link.from], is_used[link.to]) = (true, true));
    fabric.ranks.iter().for_each(|&rank| is_used[rank] = true);
    let hint = if !fabric.forwards && is_used.contains(&false) {
        "; nodes outside the group pass nothing on, unless the graph has \"forwards\": true"
    } else {
        ""
    };
    CollectiveError::new(format!(
        "{}: '{from}' and '{to}' are not joined by links both ways; a collective needs a path from every node of the group \
         to every other{hint}",
        fabric.name
    ))
}

fn reached_from(vertices: usize, edges: &[Edge], start: usize) -> Vec<bool> {
    let mut reached = vec![false; vertices];
    reached[start] = true;
    let mut waiting = vec![start];
    let mut out: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    edges.iter().for_each(|edge| out.entry(edge.0).or_default().push(edge.1));
    while let Some(vertex) = waiting.pop() {
        for &to in out.get(&vertex).into_iter().flatten() {
            if !std::mem::replace(&mut reached[to], true) {
                waiting.push(to);
            }
        }
    }
    reached
}
