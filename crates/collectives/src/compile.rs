//! From a network to a schedule.

use rustc_hash::FxHashMap;
use weft_base::{Interrupt, memory};

use crate::bound::{self, Cut, Edge, bottleneck, capacities};
use crate::error::CollectiveError;
use crate::exact;
use crate::fabric::Fabric;
use crate::forms;
use crate::greedy;
use crate::logical::Logical;
use crate::packing::PackedTree;
use crate::predict;
use crate::reduce_broadcast::{self, Overlapped};
use crate::rooted;
use crate::schedule::{Bound, Collective, Exchange, KIND, Operation, Schedule, Stage, Transfer, Tree, shards};
use crate::shallow;
use crate::spreading::Spreading;
use crate::symmetric::{self, Moved, Paths};

/// What a schedule should be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Whatever is predicted to take least for the length.
    Auto,
    /// Bandwidth: trees at the certified optimum, whatever their latency.
    Throughput,
    /// Latency: few messages, each with all that goes from one rank to another.
    Latency,
}

impl Method {
    pub const ALL: [Method; 3] = [Method::Auto, Method::Throughput, Method::Latency];

    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Throughput => "throughput",
            Method::Latency => "latency",
        }
    }
}

/// What is compiled.
#[derive(Clone, Debug)]
pub struct Request {
    pub collective: Collective,
    /// Of the whole buffer.
    pub bytes: u64,
    /// No element is divided.
    pub element_bytes: u64,
    /// Of a broadcast or reduction.
    pub root: usize,
    pub method: Method,
}

/// Compiles a collective for a network.
///
/// # Errors
/// For a group of one, a network whose ranks do not all reach each other, and lengths that are no whole elements.
///
/// # Examples
/// ```
/// use weft_collectives::{Collective, Fabric, Method, Request, compile};
///
/// // Each of four nodes of a ring receives three shards over two links: both are busy all the time.
/// let ring = r#"{"nodes": 4, "links": [
///     {"from": "node 0", "to": "node 1", "bandwidth": 1e9, "duplex": true},
///     {"from": "node 1", "to": "node 2", "bandwidth": 1e9, "duplex": true},
///     {"from": "node 2", "to": "node 3", "bandwidth": 1e9, "duplex": true},
///     {"from": "node 3", "to": "node 0", "bandwidth": 1e9, "duplex": true}]}"#;
/// let ring = Fabric::from_json(ring, "ring.json").unwrap();
/// let method = Method::Throughput;
/// let request = Request { collective: Collective::Allgather, bytes: 4 << 20, element_bytes: 4, root: 0, method };
/// let schedule = compile(&ring, &request).unwrap();
/// assert_eq!(schedule.efficiency(), 1.0);
/// assert!((schedule.stages[0].bound.rate - 2e9 / 3.0).abs() < 1.0);
/// ```
pub fn compile(fabric: &Fabric, request: &Request) -> Result<Schedule, CollectiveError> {
    let mut schedules = alternatives(fabric, request, DEFAULT_EFFORT, &Interrupt::NEVER)?;
    Ok(schedules.swap_remove(0))
}

/// The nominal seconds of search where nobody says otherwise.
pub const DEFAULT_EFFORT: f64 = 1.0;

/// Exchanges that are given beside trees, at most.
const MAX_EXCHANGES: usize = 16;

/// The schedules that the method allows, the fastest by the model first: the best trees of each kind, and exchanges. Who
/// knows more of the network than its links, as a simulator does, chooses among them.
///
/// With an `effort` of 0 trees are packed only where nothing else distributes the data. When `interrupt` is requested, what
/// there is so far is returned.
///
/// # Errors
/// As [`compile`], and where `interrupt` is requested before there is any schedule.
pub fn alternatives(
    fabric: &Fabric,
    request: &Request,
    effort: f64,
    interrupt: &Interrupt,
) -> Result<Vec<Schedule>, CollectiveError> {
    check(fabric, request)?;
    let is_too_large = check_size(fabric, if request.collective.has_root() { 1 } else { fabric.ranks.len() }).err();
    alternatives_of_size(fabric, request, effort, interrupt, is_too_large)
}

/// As [`alternatives`], of a request that is checked; `is_too_large` says why not every rank can have trees of its own.
fn alternatives_of_size(
    fabric: &Fabric,
    request: &Request,
    effort: f64,
    interrupt: &Interrupt,
    is_too_large: Option<CollectiveError>,
) -> Result<Vec<Schedule>, CollectiveError> {
    let roots: Vec<usize> =
        if request.collective.has_root() { vec![request.root] } else { (0..fabric.ranks.len()).collect() };
    let operations = request.collective.operations();
    let schedule = |stages: Vec<Stage>, exchange: Option<Exchange>| Schedule {
        kind: KIND.to_owned(),
        collective: request.collective,
        bytes: request.bytes,
        element_bytes: request.element_bytes,
        root: request.collective.has_root().then_some(request.root),
        fabric: Fabric { routes: None, ..fabric.clone() },
        stages,
        exchange,
    };
    let mut schedules: Vec<Schedule> = Vec::new();
    if request.method != Method::Throughput {
        reachable(fabric, &roots)?;
        let Request { collective, bytes, element_bytes, .. } = *request;
        let exchanges = forms::exchanges(fabric, collective, bytes, element_bytes, MAX_EXCHANGES, interrupt);
        schedules.extend(exchanges.into_iter().map(|exchange| schedule(Vec::new(), Some(exchange))));
    }
    let kinds = match request.method {
        Method::Auto => &[false, true][..],
        Method::Throughput => &[false][..],
        Method::Latency => &[true][..],
    };
    let distributions = |network: &Fabric| match &is_too_large {
        None => distribute(network, &roots, request.bytes, effort, interrupt),
        // What is too much for one tree a root may be the movements of a few trees.
        Some(error) => translated(network, &roots, interrupt)?.map(|moved| vec![moved]).ok_or_else(|| error.clone()),
    };
    let stages = match candidates(fabric, operations, &distributions) {
        // Without trees there are exchanges.
        Err(_) if (interrupt.is_requested() || is_too_large.is_some()) && !schedules.is_empty() => Vec::new(),
        candidates => operations
            .iter()
            .zip(candidates?)
            .map(|(&operation, candidates)| stages(fabric, operation, candidates, &roots, request, interrupt))
            .collect(),
    };
    let is_one_of_many = request.collective.has_root() && request.method != Method::Throughput;
    if is_one_of_many {
        schedules.extend(stages.iter().flatten().map(|stage| schedule(vec![stage.clone()], None)));
    }
    let of_kind = |&merged: &bool| {
        let best = |stages: &Vec<Stage>| choose(stages.iter().filter(|stage| stage.merged == merged), request.method);
        let chosen = stages.iter().map(best).collect::<Option<Vec<Stage>>>().filter(|stages| !stages.is_empty());
        chosen.map(|stages| schedule(stages, None))
    };
    if !is_one_of_many {
        schedules.extend(kinds.iter().filter_map(of_kind));
    }
    let may_overlap = request.collective == Collective::Allreduce && request.method != Method::Latency && effort > 0.0;
    if may_overlap
        && is_too_large.is_none()
        && let Some(overlapped) = Overlapped::of(fabric, request.bytes, request.element_bytes, &stages, interrupt)
    {
        if request.method == Method::Throughput && overlapped.is_worth_latency() {
            schedules.clear();
        }
        schedules.push(schedule(vec![overlapped.stage], None));
    }
    // An exchange may be a tree too, where there are any.
    let is_wanted = request.collective == Collective::Allreduce && request.method != Method::Throughput;
    if is_wanted
        && schedules.iter().all(|known| known.exchange.is_none())
        && let Some(stage) = reduce_broadcast::single(fabric, request.bytes, request.element_bytes)
    {
        schedules.push(schedule(vec![stage], None));
    }
    schedules.sort_by(|a, b| a.seconds().total_cmp(&b.seconds()));
    if schedules.is_empty() {
        go_on(interrupt)?;
        return Err(CollectiveError::new(format!(
            "{}: all that a node sends another cannot be one message, as such messages would wait for each other; leave \
             out the method latency",
            fabric.name
        )));
    }
    Ok(schedules)
}

fn check(fabric: &Fabric, request: &Request) -> Result<(), CollectiveError> {
    let (ranks, name) = (fabric.ranks.len(), request.collective.name());
    if ranks < 2 {
        return Err(CollectiveError::new(format!(
            "{name} of a group of {ranks}: there is nobody to communicate with; a group has two nodes or more"
        )));
    }
    if request.collective.has_root() && request.root >= ranks {
        let last = ranks - 1;
        return Err(CollectiveError::new(format!("{name} with root {}: ranks are 0 to {last}", request.root)));
    }
    if request.element_bytes == 0 || request.bytes == 0 || !request.bytes.is_multiple_of(request.element_bytes) {
        return Err(CollectiveError::new(format!(
            "{name} of {} bytes in elements of {}: expected one element or more, and whole ones",
            request.bytes, request.element_bytes
        )));
    }
    let elements = request.bytes / request.element_bytes;
    if !request.collective.has_root() && elements < ranks as u64 {
        return Err(CollectiveError::new(format!(
            "{name} of {} bytes between {ranks} ranks: {elements} elements of {} bytes are fewer than ranks, so some \
             would have nothing; expected {} bytes or more",
            request.bytes,
            request.element_bytes,
            ranks as u64 * request.element_bytes
        )));
    }
    fabric.check()
}

/// Trees that distribute everything, how many each root has, and the cut that limits them.
#[derive(Clone)]
struct Distribution {
    trees: Vec<PackedTree>,
    parts: i64,
    cut: Cut,
    merged: bool,
    /// Where the trees are those of rank 0, the axes along which they are moved to the others.
    translated: Option<Vec<usize>>,
}

/// The candidates as stages, with figures.
fn stages(
    fabric: &Fabric,
    operation: Operation,
    candidates: Vec<Distribution>,
    roots: &[usize],
    request: &Request,
    interrupt: &Interrupt,
) -> Vec<Stage> {
    let wanted = |candidate: &Distribution| match request.method {
        Method::Auto => true,
        Method::Throughput => !candidate.merged,
        Method::Latency => candidate.merged,
    };
    let mut stages: Vec<Stage> = Vec::new();
    for candidate in candidates.into_iter().filter(wanted) {
        // Once there is one, the others are no reason to wait.
        if !stages.is_empty() && interrupt.is_requested() {
            break;
        }
        stages.extend(stage(fabric, operation, candidate, roots, request));
    }
    stages
}

/// The stage that the method asks for.
fn choose<'a>(stages: impl Iterator<Item = &'a Stage>, method: Method) -> Option<Stage> {
    // A part in a thousand of throughput is worth nothing; of what is as fast, the quicker is taken.
    let steps = |stage: &Stage| (stage.rate / stage.bound.rate * 1000.0).round() as i64;
    let best = stages.reduce(|best, other| {
        let is_better = match method {
            Method::Throughput if steps(best) != steps(other) => steps(other) > steps(best),
            _ => other.seconds < best.seconds,
        };
        if is_better { other } else { best }
    });
    best.cloned()
}

fn stage(
    fabric: &Fabric,
    operation: Operation,
    distribution: Distribution,
    roots: &[usize],
    request: &Request,
) -> Option<Stage> {
    let network = match operation {
        Operation::Reduce => fabric.reversed(),
        _ => fabric.clone(),
    };
    let bound = bound(&network, &distribution.cut, roots, request);
    let Distribution { parts, merged, translated, .. } = distribution;
    let packed = distribution.trees.into_iter().map(|tree| along_routes(&network, tree)).collect();
    let trees = trees(&network, operation, packed, parts, roots, request);
    let mut stage = Stage { operation, parts, chunks: 1, merged, translated, trees, bound, rate: 0.0, seconds: 0.0 };
    stage.rate = predict::rate(fabric, &stage);
    if !merged {
        stage.chunks = predict::best_chunks(fabric, &stage, request.element_bytes);
    }
    stage.seconds = predict::seconds(fabric, &stage)?;
    Some(stage)
}

/// The same tree with the paths that messages take between the ranks that its edges join.
fn along_routes(network: &Fabric, mut tree: PackedTree) -> PackedTree {
    if let Some(routes) = &network.routes {
        for (from, to, path) in &mut tree.edges {
            if let Some(route) = routes.path(*from, *to) {
                *path = route;
            }
        }
    }
    tree
}

/// What distributes for each operation: on the network reversed round for reducing, which where every link has one back is
/// the same network. `distributions` are those of a network.
fn candidates(
    fabric: &Fabric,
    operations: &[Operation],
    distributions: &dyn Fn(&Fabric) -> Result<Vec<Distribution>, CollectiveError>,
) -> Result<Vec<Vec<Distribution>>, CollectiveError> {
    // Routes there are not those back, backwards.
    let Some(back) = links_back(fabric).filter(|_| fabric.routes.is_none()) else {
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

/// Memory that a transfer of one tree a root takes while candidates are compared: some trees a root, in several forms.
const TRANSFER_BYTES: u64 = 1000;

/// How near the optimum is near enough for what is not exact.
const NEAR: f64 = 0.99;

/// The links as edges with integer capacities, and the vertices of the roots.
///
/// # Errors
/// Where there is no path from a root to a rank, or from one root to another.
fn reachable(fabric: &Fabric, roots: &[usize]) -> Result<(Vec<Edge>, Vec<usize>), CollectiveError> {
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

/// # Errors
/// For more transfers than a schedule may have, or than fit into memory.
fn check_size(fabric: &Fabric, roots: usize) -> Result<(), CollectiveError> {
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
fn distribute(
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
        if effort > 0.0 || forms.is_empty() {
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
            let trees = all.iter().map(|&root| rooted::packed(fabric, &paths, root, &trees[root]));
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
    if reached < 1.0 - 1e-9 && (is_small && effort > 0.0 || !is_near) {
        or_kept(exact(fabric, &edges, &roots, cut, interrupt), &mut forms, interrupt)?;
    }
    Ok(forms)
}

/// Trees of rank 0 for all ranks, where the network looks the same from each of them.
fn translated(
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
fn go_on(interrupt: &Interrupt) -> Result<(), CollectiveError> {
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
    let rooted = rooted::candidates(fabric, &paths, &capacities, root, bytes).into_iter();
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

/// The packed trees with the bytes that each has, reversed round for reducing.
fn trees(
    fabric: &Fabric,
    operation: Operation,
    packed: Vec<PackedTree>,
    parts: i64,
    roots: &[usize],
    request: &Request,
) -> Vec<Tree> {
    let rank_of = fabric.rank_of();
    let rank = |vertex: usize| rank_of[vertex].expect("trees are between ranks");
    let mut shard_of = vec![(0, 0); fabric.ranks.len()];
    roots
        .iter()
        .zip(shards(request.bytes, request.element_bytes, roots.len()))
        .for_each(|(&root, shard)| shard_of[root] = shard);
    let mut used = vec![0i64; fabric.ranks.len()];
    let range = |root: usize, first: i64, last: i64| {
        let (start, bytes) = shard_of[root];
        let elements = i128::from(bytes / request.element_bytes);
        let at = |part: i64| start + (elements * i128::from(part) / i128::from(parts)) as u64 * request.element_bytes;
        (at(first), at(last) - at(first))
    };
    let transfer = |(from, to, path): (usize, usize, Vec<u32>)| match operation {
        Operation::Reduce => Transfer(rank(to), rank(from), path.into_iter().rev().collect()),
        _ => Transfer(rank(from), rank(to), path),
    };
    let mut trees: Vec<Tree> = packed
        .into_iter()
        .map(|tree| {
            let root = rank(tree.root);
            let first = used[root];
            used[root] += tree.weight;
            let (start, bytes) = range(root, first, used[root]);
            let mut transfers: Vec<Transfer> = tree.edges.into_iter().map(transfer).collect();
            if operation == Operation::Reduce {
                transfers.reverse();
            }
            Tree { root, weight: tree.weight, start, bytes, transfers }
        })
        .collect();
    trees.sort_by_key(|tree| (tree.root, tree.start, tree.weight));
    trees
}

/// The bound of a cut in bytes and seconds; `network` is reversed round for reducing.
fn bound(network: &Fabric, cut: &Cut, roots: &[usize], request: &Request) -> Bound {
    let leaving = network.links.iter().filter(|link| cut.side[link.from] && !cut.side[link.to]);
    let exit: f64 = leaving.map(|link| link.bandwidth).sum();
    let shards = shards(request.bytes, request.element_bytes, roots.len());
    let inside = roots.iter().zip(shards).filter(|(root, _)| cut.side[network.ranks[**root]]);
    let (count, bytes) = inside.fold((0u32, 0), |(count, bytes), (_, shard)| (count + 1, bytes + shard.1));
    let cut = (0..network.vertices.len()).filter(|&vertex| cut.side[vertex]).collect();
    Bound { cut, others: Vec::new(), rate: exit / f64::from(count), seconds: bytes as f64 / exit }
}

#[cfg(test)]
mod tests;
