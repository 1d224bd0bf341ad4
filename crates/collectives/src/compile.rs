//! From a network to a schedule.

use weft_base::Interrupt;

use crate::all_to_all;
use crate::bound::{Cut, marked};
use crate::distribution::{Distribution, candidates, check_size, distribute, go_on, reachable, translated};
use crate::error::CollectiveError;
use crate::fabric::Fabric;
use crate::forms;
use crate::packing::PackedTree;
use crate::predict;
use crate::reduce_broadcast::{self, Overlapped};
use crate::request::{Method, Request};
use crate::schedule::{Bound, Collective, Exchange, KIND, Operation, Schedule, Stage, Transfer, Tree, shards};

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
/// let request = Request { collective: Collective::Allgather, bytes: 4 << 20, element_bytes: 4, root: 0, method, blocks: None };
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

/// Trees of merged messages that are given, at most.
const MAX_MERGED: usize = 24;

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
        blocks: request.blocks.clone(),
        fabric: Fabric { routes: None, ..fabric.clone() },
        stages,
        exchange,
    };
    if request.collective == Collective::AllToAll {
        return all_to_all::alternatives(fabric, request, &schedule(Vec::new(), None), effort, interrupt);
    }
    let mut schedules: Vec<Schedule> = Vec::new();
    if request.method != Method::Throughput {
        reachable(fabric, &roots)?;
        let Request { collective, bytes, element_bytes, root, .. } = *request;
        let exchanges = forms::exchanges(fabric, collective, root, bytes, element_bytes, MAX_EXCHANGES, interrupt);
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
    if !is_one_of_many {
        for &merged in kinds {
            // Of merged messages the prediction knows least, and of some that are as fast it takes any.
            let most = if merged { MAX_MERGED } else { 1 };
            let chosen: Vec<Vec<&Stage>> =
                stages.iter().map(|stages| fastest(stages, merged, request.method, most)).collect();
            let count = chosen.iter().map(Vec::len).min().unwrap_or(0);
            let nth = |index: usize| chosen.iter().map(|stages| stages[index].clone()).collect();
            schedules.extend((0..count).map(|index| schedule(nth(index), None)));
        }
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
    let is_wanted = request.collective == Collective::Allreduce && request.method != Method::Throughput;
    if is_wanted
        && is_too_large.is_none()
        && !interrupt.is_requested()
        && let Some(stage) = reduce_broadcast::single(fabric, request.bytes, request.element_bytes)
    {
        schedules.push(schedule(vec![stage], None));
    }
    if request.collective == Collective::Allreduce && is_too_large.is_none() {
        let Request { bytes, element_bytes, method, .. } = *request;
        let [single, packed] = reduce_broadcast::through_switches(fabric, bytes, element_bytes, effort, interrupt);
        let is_wanted = |_: &Stage| method != Method::Throughput;
        schedules.extend(single.filter(is_wanted).map(|stage| schedule(vec![stage], None)));
        let packed = packed.filter(|_| method != Method::Latency).map(|stage| schedule(vec![stage], None));
        if let Some(packed) = packed {
            if method == Method::Throughput
                && schedules.iter().all(|other| packed.transmission() < other.transmission())
            {
                schedules.clear();
            }
            schedules.push(packed);
        }
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
    if let Some(lengths) = &request.blocks {
        check_blocks(request, lengths, ranks)?;
        return fabric.check();
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

/// Whether blocks are a square table of whole elements that fit in the buffer, some of them for others.
fn check_blocks(request: &Request, lengths: &[Vec<u64>], ranks: usize) -> Result<(), CollectiveError> {
    let wrong = |what: String| Err(CollectiveError::new(format!("blocks: {what}")));
    if request.collective != Collective::AllToAll {
        return wrong(format!("they are of all-to-all, found {}", request.collective.name()));
    }
    if lengths.len() != ranks || lengths.iter().any(|row| row.len() != ranks) {
        let columns = lengths.iter().map(Vec::len).find(|&count| count != ranks).unwrap_or(ranks);
        let rows = lengths.len();
        return wrong(format!("expected {ranks} rows of {ranks} lengths, found {rows} and a row of {columns}"));
    }
    for (rank, row) in lengths.iter().enumerate() {
        if let Some(length) = row.iter().find(|length| !length.is_multiple_of(request.element_bytes)) {
            let element = request.element_bytes;
            return wrong(format!("rank {rank} has one of {length} bytes, which are no whole elements of {element}"));
        }
        let sum = row.iter().try_fold(0u64, |sum, &length| sum.checked_add(length));
        if sum.is_none_or(|sum| sum > request.bytes) {
            return wrong(format!("those of rank {rank} have more than the {} bytes of its buffer", request.bytes));
        }
    }
    let mut between = lengths
        .iter()
        .enumerate()
        .flat_map(|(rank, row)| row.iter().enumerate().filter(move |(to, _)| *to != rank).map(|(_, length)| *length));
    if between.all(|length| length == 0) {
        return wrong("no rank has anything for another".into());
    }
    Ok(())
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

/// The stages of a kind that the method asks for, at most so many, the best first.
fn fastest(stages: &[Stage], merged: bool, method: Method, most: usize) -> Vec<&Stage> {
    // A part in a thousand of throughput is worth nothing; of what is as fast, the quicker is taken.
    let steps = |stage: &Stage| match method {
        Method::Throughput => (stage.rate / stage.bound.rate * 1000.0).round() as i64,
        _ => 0,
    };
    let mut stages: Vec<&Stage> = stages.iter().filter(|stage| stage.merged == merged).collect();
    stages.sort_by(|a, b| steps(b).cmp(&steps(a)).then(a.seconds.total_cmp(&b.seconds)));
    stages.dedup_by(|a, b| a.seconds == b.seconds && a.trees == b.trees);
    stages.truncate(most);
    stages
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
    let is_rank = marked(network.vertices.len(), &network.ranks);
    let packed = distribution.trees.into_iter().map(|tree| along_routes(&network, &is_rank, tree)).collect();
    let trees = trees(&network, operation, packed, parts, roots, request);
    let mut stage =
        Stage { operation, parts, chunks: 1, merged, translated, form: None, trees, bound, rate: 0.0, seconds: 0.0 };
    stage.rate = predict::rate(fabric, &stage);
    if !merged {
        stage.chunks = predict::best_chunks(fabric, &stage, request.element_bytes);
    }
    stage.seconds = predict::seconds(fabric, &stage)?;
    Some(stage)
}

/// The same tree with the paths that messages take between the ranks that its edges join.
fn along_routes(network: &Fabric, is_rank: &[bool], mut tree: PackedTree) -> PackedTree {
    if let Some(routes) = &network.routes {
        for (from, to, path) in tree.edges.iter_mut().filter(|edge| is_rank[edge.0] && is_rank[edge.1]) {
            if let Some(route) = routes.path(*from, *to) {
                *path = route;
            }
        }
    }
    tree
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
    let member_of = fabric.member_of();
    let member = |vertex: usize| member_of[vertex].expect("trees are between members");
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
        Operation::Reduce => Transfer(member(to), member(from), path.into_iter().rev().collect()),
        _ => Transfer(member(from), member(to), path),
    };
    let mut trees: Vec<Tree> = packed
        .into_iter()
        .map(|tree| {
            let root = member(tree.root);
            let first = used[root];
            used[root] += tree.weight;
            let (start, bytes) = range(root, first, used[root]);
            let mut transfers: Vec<Transfer> = tree.edges.into_iter().map(transfer).collect();
            if operation == Operation::Reduce {
                transfers.reverse();
            }
            Tree { root, weight: tree.weight, start, bytes, transfers, reductions: None }
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
    Bound { cut, rate: exit / f64::from(count), seconds: bytes as f64 / exit, ..Bound::default() }
}

#[cfg(test)]
mod tests;
