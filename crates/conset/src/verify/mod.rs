//! The verifier: checks any schedule, rule by rule, and computes every lower bound again from its certificate.
//!
//! It shares nothing with the compilers but the types. It reads the topology link by link and knows no routes, no
//! distances and no grids of its own; whatever it says of a schedule it has found by walking it. Here are the rules,
//! `certificates` has the lower bounds.

mod certificates;
mod graph;
mod rates;

use weft_base::Interrupt;
use weft_base::memory::MemoryError;

use crate::pattern::ConnectionSet;
use crate::resources::Resources;
use crate::schedule::{Phase, Schedule, Transfer};
use certificates::{Hops, check_bound};
use graph::Graph;
use rates::check_rates;

/// Transfers, links or searches between two questions whether the check shall end.
const ASKED_EVERY: usize = 4096;

/// Relative rounding that times may have.
const ROUNDING: f64 = 1e-9;

/// Why a schedule is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("resources: {0}")]
    Resources(String),
    #[error("phase {phase}: connection {connection} does not exist; the schedule has {count} connections")]
    UnknownConnection { phase: usize, connection: u32, count: u64 },
    #[error("phase {phase}: {reason}")]
    Orbits { phase: usize, reason: String },
    #[error("connection {connection} is in no phase")]
    Missing { connection: u32 },
    #[error("connection {connection}: {scheduled} words are scheduled, {expected} are to be transferred")]
    Words { connection: u32, scheduled: u64, expected: u64 },
    #[error("phase {phase}: connection {connection} appears twice in it")]
    Twice { phase: usize, connection: u32 },
    #[error("phase {phase}, connection {connection}: {reason}")]
    Ends { phase: usize, connection: u32, reason: String },
    #[error("phase {phase}, connection {connection}: the route {reason}")]
    Route { phase: usize, connection: u32, reason: String },
    #[error("phase {phase}: {resource} holds {load} connections, it can hold {limit}")]
    Capacity { phase: usize, resource: String, load: u32, limit: u64 },
    #[error("phase {phase}, connection {connection}: {reason}")]
    Time { phase: usize, connection: u32, reason: String },
    #[error("phase {phase}: {resource} is asked for {share:.6} times what it can do at {time} s")]
    Rate { phase: usize, resource: String, share: String, time: String },
    #[error(
        "connection {after} starts before connection {before} has finished (phases {after_phase} and {before_phase})"
    )]
    Order { before: u32, after: u32, before_phase: usize, after_phase: usize },
    #[error("an order names connection {connection}, which does not exist")]
    UnknownOrder { connection: u32 },
    #[error("phase {phase}: {what} is given as {stated}, it is {computed}")]
    Figure { phase: usize, what: String, stated: String, computed: String },
    #[error("predicted_seconds is given as {stated}, the phases and leaving the last add up to {computed}")]
    Predicted { stated: String, computed: String },
    #[error("message_seconds is given as {0}, which is no time")]
    Messages(String),
    #[error("lower bound \"{name}\": {reason}")]
    Bound { name: String, reason: String },
    #[error("the schedule is not of this connection set: {0}")]
    OtherSet(String),
    #[error("the file was changed after it was written: its digest {0} is not that of what it says; compile it again")]
    Digest(String),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("interrupted before all was checked")]
    Interrupted,
}

/// What a verified schedule is.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    pub phases: usize,
    pub connections: u64,
    pub predicted_seconds: f64,
    /// Bounds whose certificates hold.
    pub bounds: usize,
}

/// Checks `schedule`, against `set` too where the connection set is known.
///
/// # Errors
/// The first rule that is broken.
pub fn verify(schedule: &Schedule, set: Option<&ConnectionSet>) -> Result<Verified, Fault> {
    verify_until(schedule, set, &Interrupt::NEVER)
}

/// As [`verify`], until `interrupt` says otherwise.
///
/// # Errors
/// The first rule that is broken; [`Fault::Interrupted`].
pub fn verify_until(
    schedule: &Schedule,
    set: Option<&ConnectionSet>,
    interrupt: &Interrupt,
) -> Result<Verified, Fault> {
    let graph = Graph::of(&schedule.resources, interrupt)?;
    for (index, phase) in schedule.phases.iter().enumerate() {
        let reason = phase.orbit_fault(&schedule.resources.topology);
        let reason = reason.or((!phase.orbits.is_empty() && !schedule.orders.is_empty())
            .then(|| "has orbits, whose transfers all flow at once, and the set has orders".to_owned()));
        if let Some(reason) = reason {
            return Err(Fault::Orbits { phase: index, reason });
        }
    }
    let connections = gather(schedule, &graph, interrupt)?;
    let mut walked = Walked::new(&graph, connections.len());
    let mut total = 0.0;
    for (index, phase) in schedule.phases.iter().enumerate() {
        go_on(interrupt)?;
        total += check_phase(index, phase, &schedule.resources, &graph, &mut walked, interrupt)?;
    }
    if let Some(set) = set {
        same_set(schedule, &connections, set)?;
    }
    check_orders(schedule)?;
    total += if schedule.phases.is_empty() { 0.0 } else { schedule.resources.leaving_seconds };
    if !close(schedule.predicted_seconds, total) {
        let stated = schedule.predicted_seconds.to_string();
        return Err(Fault::Predicted { stated, computed: total.to_string() });
    }
    if schedule.message_seconds.is_some_and(|seconds| !(seconds.is_finite() && seconds >= 0.0)) {
        return Err(Fault::Messages(schedule.message_seconds.unwrap_or_default().to_string()));
    }
    let hops = Hops::default();
    for bound in &schedule.lower_bounds {
        check_bound(bound, schedule, &connections, &graph, &hops, interrupt)?;
    }
    let expected = schedule.computed_digest_until(&|| interrupt.is_requested()).ok_or(Fault::Interrupted)?;
    if schedule.digest != expected {
        return Err(Fault::Digest(schedule.digest.clone()));
    }
    Ok(Verified {
        phases: schedule.phases.len(),
        connections: schedule.connections,
        predicted_seconds: schedule.predicted_seconds,
        bounds: schedule.lower_bounds.len(),
    })
}

/// Whether the check may go on.
fn go_on(interrupt: &Interrupt) -> Result<(), Fault> {
    if interrupt.is_requested() { Err(Fault::Interrupted) } else { Ok(()) }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) || a == b
}

/// A connection as the schedule has it.
#[derive(Clone, Copy)]
struct Gathered {
    source: u32,
    destination: u32,
    words: u64,
    parts: u32,
}

/// Every connection of the schedule, each found in at least one phase and with the same ends everywhere.
fn gather(schedule: &Schedule, graph: &Graph, interrupt: &Interrupt) -> Result<Vec<Gathered>, Fault> {
    let topology = &schedule.resources.topology;
    let entries: usize = schedule.phases.iter().map(Phase::transfers).sum();
    if schedule.connections > entries as u64 {
        let mut there = std::collections::HashSet::new();
        for phase in &schedule.phases {
            there.extend(phase.connections.iter().map(|transfer| transfer.connection));
            there.extend(phase.orbits.iter().flat_map(|orbit| &orbit.connections));
        }
        let connection = (0..).find(|connection| !there.contains(connection)).unwrap_or(0);
        return Err(Fault::Missing { connection });
    }
    let none = Gathered { source: 0, destination: 0, words: 0, parts: 0 };
    let mut connections = vec![none; schedule.connections as usize];
    for (phase, content) in schedule.phases.iter().enumerate() {
        content.visit(topology, |number, transfer| {
            if number.is_multiple_of(ASKED_EVERY) {
                go_on(interrupt)?;
            }
            let Transfer { connection, source, destination, words, .. } = *transfer;
            let Some(gathered) = connections.get_mut(connection as usize) else {
                return Err(Fault::UnknownConnection { phase, connection, count: schedule.connections });
            };
            let ends = |reason: String| Err(Fault::Ends { phase, connection, reason });
            if gathered.parts > 0 && (gathered.source, gathered.destination) != (source, destination) {
                let (a, b) = (gathered.source, gathered.destination);
                return ends(format!("goes from {source} to {destination} here and from {a} to {b} in another phase"));
            }
            if source == destination {
                return ends(format!("goes from node {source} to itself"));
            }
            if source as usize >= graph.nodes || destination as usize >= graph.nodes {
                return ends(format!("goes from {source} to {destination}, there are {} nodes", graph.nodes));
            }
            if words == 0 {
                return ends("transfers no words".into());
            }
            let words = gathered.words.checked_add(words).filter(|&words| words <= 1 << 53);
            let Some(words) = words else { return ends("has too many words to be counted".into()) };
            *gathered = Gathered { source, destination, words, parts: gathered.parts + 1 };
            Ok::<(), Fault>(())
        })?;
    }
    match connections.iter().position(|gathered| gathered.parts == 0) {
        Some(connection) => Err(Fault::Missing { connection: connection as u32 }),
        None => Ok(connections),
    }
}

fn same_set(schedule: &Schedule, connections: &[Gathered], set: &ConnectionSet) -> Result<(), Fault> {
    if connections.len() != set.connections.len() {
        let message = format!("it has {} connections, the set {}", connections.len(), set.connections.len());
        return Err(Fault::OtherSet(message));
    }
    for (index, (gathered, connection)) in connections.iter().zip(&set.connections).enumerate() {
        if (gathered.source, gathered.destination) != (connection.source, connection.destination) {
            let message = format!(
                "connection {index} goes from {} to {}, that of the set from {} to {}",
                gathered.source, gathered.destination, connection.source, connection.destination
            );
            return Err(Fault::OtherSet(message));
        }
        if gathered.words != connection.words {
            return Err(Fault::Words {
                connection: index as u32,
                scheduled: gathered.words,
                expected: connection.words,
            });
        }
    }
    let mut kept = schedule.orders.clone();
    kept.sort_unstable();
    if let Some(order) = set.orders.iter().find(|order| kept.binary_search(order).is_err()) {
        let message = format!("it does not know that connection {} comes before {}", order.before, order.after);
        return Err(Fault::OtherSet(message));
    }
    Ok(())
}

/// Where the routes checked so far have been.
struct Walked {
    /// The last phase that each connection was in, counted from 1.
    phases: Vec<u32>,
    /// The last route that each vertex was on, counted from 1.
    routes: Vec<u64>,
    route: u64,
}

impl Walked {
    fn new(graph: &Graph, connections: usize) -> Walked {
        Walked { phases: vec![0; connections], routes: vec![0; graph.vertices], route: 0 }
    }
}

/// Checks one phase; its seconds.
fn check_phase(
    index: usize,
    phase: &Phase,
    resources: &Resources,
    graph: &Graph,
    walked: &mut Walked,
    interrupt: &Interrupt,
) -> Result<f64, Fault> {
    let mut nodes = vec![0u32; graph.nodes];
    let mut links = vec![0u32; graph.link_count()];
    let (mut starts, mut ends) = (vec![0u32; graph.nodes], vec![0u32; graph.nodes]);
    let mut arrival = 0.0f64;
    phase.visit(&resources.topology, |number, transfer| {
        if number.is_multiple_of(ASKED_EVERY) {
            go_on(interrupt)?;
        }
        let phase = index as u32 + 1;
        if std::mem::replace(&mut walked.phases[transfer.connection as usize], phase) == phase {
            return Err(Fault::Twice { phase: index, connection: transfer.connection });
        }
        check_route(index, transfer, graph, walked)?;
        for &vertex in &transfer.route {
            if let Some(count) = nodes.get_mut(vertex as usize) {
                *count += 1;
            }
        }
        for pair in transfer.route.windows(2) {
            if let Some(link) = graph.link(pair[0], pair[1]) {
                links[link.number] += 1;
            }
        }
        starts[transfer.source as usize] += 1;
        ends[transfer.destination as usize] += 1;
        check_times(index, transfer, resources)?;
        let links = transfer.route.len() - 1;
        arrival = arrival.max(transfer.start + transfer.duration + links as f64 * resources.hop_seconds);
        Ok::<(), Fault>(())
    })?;
    let over = |resource: String, load: u32, limit: u64| Err(Fault::Capacity { phase: index, resource, load, limit });
    for node in 0..graph.nodes {
        match (resources.node_channels, resources.ports) {
            (Some(limit), _) if nodes[node] > limit => return over(format!("node {node}"), nodes[node], limit.into()),
            (_, Some(limit)) if starts[node] > limit => {
                return over(format!("the sending side of node {node}"), starts[node], limit.into());
            }
            (_, Some(limit)) if ends[node] > limit => {
                return over(format!("the receiving side of node {node}"), ends[node], limit.into());
            }
            _ => {}
        }
    }
    let mut largest = 0;
    for (number, (from, to, parallel)) in graph.numbered().enumerate() {
        let load = links[number];
        let per_link = load.div_ceil(parallel);
        largest = largest.max(per_link);
        if let Some(limit) = resources.link_channels {
            let limit = u64::from(limit) * u64::from(parallel);
            if u64::from(load) > limit {
                return over(format!("the link from {} to {}", graph.name(from), graph.name(to)), load, limit);
            }
        }
    }
    if largest != phase.largest_link_load {
        let (stated, computed) = (phase.largest_link_load.to_string(), largest.to_string());
        return Err(Fault::Figure { phase: index, what: "largest_link_load".into(), stated, computed });
    }
    check_rates(index, phase, resources, graph, interrupt)?;
    let seconds = resources.synchronisation_seconds + resources.phase_seconds + arrival;
    if !close(phase.predicted_seconds, seconds) {
        let (stated, computed) = (phase.predicted_seconds.to_string(), seconds.to_string());
        return Err(Fault::Figure { phase: index, what: "predicted_seconds".into(), stated, computed });
    }
    Ok(seconds)
}

fn check_route(phase: usize, transfer: &Transfer, graph: &Graph, walked: &mut Walked) -> Result<(), Fault> {
    let fault = |reason: String| Err(Fault::Route { phase, connection: transfer.connection, reason });
    let (Some(&first), Some(&last)) = (transfer.route.first(), transfer.route.last()) else {
        return fault("is empty".into());
    };
    if first != transfer.source || last != transfer.destination {
        let (source, destination) = (transfer.source, transfer.destination);
        return fault(format!("goes from {first} to {last}, the connection from {source} to {destination}"));
    }
    if let Some(vertex) = transfer.route.iter().find(|&&vertex| vertex as usize >= graph.vertices) {
        return fault(format!("names vertex {vertex}, there are {}", graph.vertices));
    }
    for pair in transfer.route.windows(2) {
        if graph.link(pair[0], pair[1]).is_none() {
            let (from, to) = (graph.name(pair[0]), graph.name(pair[1]));
            return fault(format!("goes from {from} to {to}, which are not linked"));
        }
    }
    walked.route += 1;
    for &vertex in &transfer.route {
        if std::mem::replace(&mut walked.routes[vertex as usize], walked.route) == walked.route {
            return fault(format!("passes through {} twice", graph.name(vertex)));
        }
    }
    if !graph.direct
        && let Some(node) = transfer.route[1..transfer.route.len() - 1].iter().find(|&&v| (v as usize) < graph.nodes)
    {
        return fault(format!("passes through node {node}, which is no switch"));
    }
    Ok(())
}

/// Pieces follow each other, have all words, and are no faster than the access and the links.
fn check_times(phase: usize, transfer: &Transfer, resources: &Resources) -> Result<(), Fault> {
    let fault = |reason: String| Err(Fault::Time { phase, connection: transfer.connection, reason });
    let word = resources.access_seconds.max(resources.link_seconds);
    let mut until = transfer.start;
    let mut words = 0u64;
    for piece in transfer.parts() {
        let fine = piece.start.is_finite() && piece.duration.is_finite() && piece.start >= 0.0 && piece.duration >= 0.0;
        if !fine {
            return fault(format!("starts at {} s and takes {} s", piece.start, piece.duration));
        }
        if piece.start < until * (1.0 - ROUNDING) {
            return fault(format!("a piece starts at {} s, before {until} s", piece.start));
        }
        let least = piece.words as f64 * word;
        if piece.words == 0 || piece.duration < least * (1.0 - ROUNDING) {
            let (duration, words) = (piece.duration, piece.words);
            return fault(format!("{words} words take at least {least} s, they are given {duration} s"));
        }
        until = piece.start + piece.duration;
        words = words.saturating_add(piece.words);
    }
    if words != transfer.words {
        return fault(format!("its pieces have {words} words of {}", transfer.words));
    }
    if !close(until, transfer.start + transfer.duration) {
        return fault(format!("its pieces end at {until} s, it at {} s", transfer.start + transfer.duration));
    }
    Ok(())
}

/// Every connection that others wait for has transferred its last word before their first.
fn check_orders(schedule: &Schedule) -> Result<(), Fault> {
    if schedule.orders.is_empty() {
        return Ok(());
    }
    let count = schedule.connections as usize;
    let mut first = vec![(usize::MAX, f64::MAX); count];
    let mut last = vec![(0usize, 0.0f64); count];
    for (phase, content) in schedule.phases.iter().enumerate() {
        for transfer in &content.connections {
            let connection = transfer.connection as usize;
            if first[connection].0 == usize::MAX {
                first[connection] = (phase, transfer.start);
            }
            let arriving = transfer.route.len().saturating_sub(1) as f64 * schedule.resources.hop_seconds;
            last[connection] = (phase, transfer.start + transfer.duration + arriving);
        }
    }
    for order in &schedule.orders {
        for connection in [order.before, order.after] {
            if connection as usize >= count {
                return Err(Fault::UnknownOrder { connection });
            }
        }
        let (ends, starts) = (last[order.before as usize], first[order.after as usize]);
        let late = ends.0 > starts.0 || (ends.0 == starts.0 && starts.1 < ends.1 * (1.0 - ROUNDING));
        if late || order.before == order.after {
            let (before, after) = (order.before, order.after);
            return Err(Fault::Order { before, after, before_phase: ends.0, after_phase: starts.0 });
        }
    }
    Ok(())
}
