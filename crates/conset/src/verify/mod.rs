//! The verifier: checks any schedule, rule by rule, and computes every lower bound again from its certificate.
//!
//! It shares nothing with the compilers but the types. It reads the topology link by link and knows no routes, no
//! distances and no grids of its own; whatever it says of a schedule it has found by walking it.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use weft_machine::{Access, Vertex};

use crate::pattern::ConnectionSet;
use crate::resources::Resources;
use crate::schedule::{Certificate, LowerBound, Phase, Schedule, Transfer, WeightedLink};

/// Relative rounding that times may have.
const ROUNDING: f64 = 1e-9;

/// Why a schedule is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("resources: {0}")]
    Resources(String),
    #[error("phase {phase}: connection {connection} does not exist; the schedule has {count} connections")]
    UnknownConnection { phase: usize, connection: u32, count: u64 },
    #[error("connection {connection} is in no phase")]
    Missing { connection: u32 },
    #[error("connection {connection}: {found} words are scheduled, {expected} are to be transferred")]
    Words { connection: u32, found: u64, expected: u64 },
    #[error("phase {phase}: connection {connection} appears twice in it")]
    Twice { phase: usize, connection: u32 },
    #[error("phase {phase}, connection {connection}: {reason}")]
    Ends { phase: usize, connection: u32, reason: String },
    #[error("phase {phase}, connection {connection}: the route {reason}")]
    Route { phase: usize, connection: u32, reason: String },
    #[error("phase {phase}: {resource} holds {found} connections, it can hold {limit}")]
    Capacity { phase: usize, resource: String, found: u32, limit: u64 },
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
    #[error("phase {phase}: {what} is given as {given}, it is {found}")]
    Figure { phase: usize, what: String, given: String, found: String },
    #[error("predicted_seconds is given as {given}, the phases add up to {found}")]
    Predicted { given: String, found: String },
    #[error("lower bound \"{name}\": {reason}")]
    Bound { name: String, reason: String },
    #[error("the schedule is not of this connection set: {0}")]
    OtherSet(String),
    #[error("the file was changed after it was written: its digest is {found}, what it says has {expected}")]
    Digest { found: String, expected: String },
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
    let graph = Graph::of(&schedule.resources)?;
    let connections = gather(schedule, &graph)?;
    let mut total = 0.0;
    for (index, phase) in schedule.phases.iter().enumerate() {
        total += check_phase(index, phase, &schedule.resources, &graph)?;
    }
    if let Some(set) = set {
        same_set(schedule, &connections, set)?;
    }
    check_orders(schedule)?;
    if !close(schedule.predicted_seconds, total) {
        let given = schedule.predicted_seconds.to_string();
        return Err(Fault::Predicted { given, found: total.to_string() });
    }
    let hops = Hops::default();
    for bound in &schedule.lower_bounds {
        check_bound(bound, schedule, &connections, &graph, &hops)?;
    }
    let expected = schedule.computed_digest();
    if schedule.digest != expected {
        return Err(Fault::Digest { found: schedule.digest.clone(), expected });
    }
    Ok(Verified {
        phases: schedule.phases.len(),
        connections: schedule.connections,
        predicted_seconds: schedule.predicted_seconds,
        bounds: schedule.lower_bounds.len(),
    })
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) || a == b
}

/// Vertices and how many links lead from each to each other.
struct Graph {
    nodes: usize,
    vertices: usize,
    direct: bool,
    /// From each vertex: the vertex a link leads to and how many do, by number.
    links: Vec<Vec<(u32, u32)>>,
}

impl Graph {
    fn of(resources: &Resources) -> Result<Graph, Fault> {
        let topology = &resources.topology;
        topology.validate().map_err(|error| Fault::Resources(format!("{}: expected {}", error.key, error.expected)))?;
        let limits = [resources.node_channels, resources.link_channels, resources.ports];
        if limits.contains(&Some(0)) {
            return Err(Fault::Resources("no channels at all: nothing could be open".into()));
        }
        let times = [
            resources.access_seconds,
            resources.link_seconds,
            resources.synchronisation_seconds,
            resources.phase_seconds,
        ];
        if times.iter().any(|time| !time.is_finite() || *time < 0.0) {
            return Err(Fault::Resources("times must be finite and not negative".into()));
        }
        let nodes = topology.nodes();
        let vertices = nodes + topology.switches();
        let number = |vertex| match vertex {
            Vertex::Node(node) => node,
            Vertex::Switch(switch) => nodes + switch,
        };
        let mut links: Vec<Vec<(u32, u32)>> = vec![Vec::new(); vertices];
        for link in 0..topology.links() {
            let (from, to) = topology.link_ends(link);
            let (from, to) = (number(from), number(to) as u32);
            match links[from].iter_mut().find(|(there, _)| *there == to) {
                Some((_, count)) => *count += 1,
                None => links[from].push((to, 1)),
            }
        }
        Ok(Graph { nodes, vertices, direct: topology.is_direct(), links })
    }

    fn count(&self, from: u32, to: u32) -> Option<u32> {
        self.links.get(from as usize)?.iter().find(|(there, _)| *there == to).map(|&(_, count)| count)
    }

    fn name(&self, vertex: u32) -> String {
        if (vertex as usize) < self.nodes {
            format!("node {vertex}")
        } else {
            format!("switch {}", vertex as usize - self.nodes)
        }
    }

    /// The fewest links of a way from `from` to every vertex.
    fn breadth_first(&self, from: usize) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.vertices];
        hops[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for &(to, _) in &self.links[at] {
                if hops[to as usize] == u32::MAX {
                    hops[to as usize] = hops[at] + 1;
                    queue.push_back(to as usize);
                }
            }
        }
        hops
    }

    /// The least weight of a way from `from` to every vertex: of the vertices on it, both ends included, and its links.
    fn lightest(&self, from: usize, vertex: &dyn Fn(usize) -> u64, link: &dyn Fn(u32, u32) -> u64) -> Vec<u64> {
        let mut least = vec![u64::MAX; self.vertices];
        least[from] = vertex(from);
        let mut queue = BinaryHeap::from([Reverse((least[from], from))]);
        while let Some(Reverse((weight, at))) = queue.pop() {
            if weight > least[at] {
                continue;
            }
            for &(to, _) in &self.links[at] {
                let there = weight + link(at as u32, to) + vertex(to as usize);
                if there < least[to as usize] {
                    least[to as usize] = there;
                    queue.push(Reverse((there, to as usize)));
                }
            }
        }
        least
    }
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
fn gather(schedule: &Schedule, graph: &Graph) -> Result<Vec<Gathered>, Fault> {
    let entries: usize = schedule.phases.iter().map(|phase| phase.connections.len()).sum();
    if schedule.connections > entries as u64 {
        let mut there = std::collections::HashSet::new();
        there.extend(schedule.phases.iter().flat_map(|phase| phase.connections.iter().map(|t| t.connection)));
        let connection = (0..).find(|connection| !there.contains(connection)).unwrap_or(0);
        return Err(Fault::Missing { connection });
    }
    let none = Gathered { source: 0, destination: 0, words: 0, parts: 0 };
    let mut found = vec![none; schedule.connections as usize];
    for (phase, content) in schedule.phases.iter().enumerate() {
        for transfer in &content.connections {
            let Transfer { connection, source, destination, words, .. } = *transfer;
            let Some(gathered) = found.get_mut(connection as usize) else {
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
        }
    }
    match found.iter().position(|gathered| gathered.parts == 0) {
        Some(connection) => Err(Fault::Missing { connection: connection as u32 }),
        None => Ok(found),
    }
}

fn same_set(schedule: &Schedule, connections: &[Gathered], set: &ConnectionSet) -> Result<(), Fault> {
    if connections.len() != set.connections.len() {
        let message = format!("it has {} connections, the set {}", connections.len(), set.connections.len());
        return Err(Fault::OtherSet(message));
    }
    for (index, (found, asked)) in connections.iter().zip(&set.connections).enumerate() {
        if (found.source, found.destination) != (asked.source, asked.destination) {
            let message = format!(
                "connection {index} goes from {} to {}, that of the set from {} to {}",
                found.source, found.destination, asked.source, asked.destination
            );
            return Err(Fault::OtherSet(message));
        }
        if found.words != asked.words {
            return Err(Fault::Words { connection: index as u32, found: found.words, expected: asked.words });
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

/// Checks one phase; its seconds.
fn check_phase(index: usize, phase: &Phase, resources: &Resources, graph: &Graph) -> Result<f64, Fault> {
    let mut nodes = vec![0u32; graph.nodes];
    let mut links: HashMap<(u32, u32), u32> = HashMap::new();
    let (mut starts, mut ends) = (vec![0u32; graph.nodes], vec![0u32; graph.nodes]);
    let mut seen = std::collections::HashSet::with_capacity(phase.connections.len());
    for transfer in &phase.connections {
        if !seen.insert(transfer.connection) {
            return Err(Fault::Twice { phase: index, connection: transfer.connection });
        }
        check_route(index, transfer, graph)?;
        for &vertex in &transfer.route {
            if let Some(count) = nodes.get_mut(vertex as usize) {
                *count += 1;
            }
        }
        for pair in transfer.route.windows(2) {
            *links.entry((pair[0], pair[1])).or_default() += 1;
        }
        starts[transfer.source as usize] += 1;
        ends[transfer.destination as usize] += 1;
        check_times(index, transfer, resources)?;
    }
    let over = |resource: String, found: u32, limit: u64| Err(Fault::Capacity { phase: index, resource, found, limit });
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
    for (&(from, to), &load) in &links {
        let parallel = graph.count(from, to).unwrap_or(1);
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
        let (given, found) = (phase.largest_link_load.to_string(), largest.to_string());
        return Err(Fault::Figure { phase: index, what: "largest_link_load".into(), given, found });
    }
    check_rates(index, phase, resources, graph)?;
    let last = phase.connections.iter().map(|transfer| transfer.start + transfer.duration).fold(0.0, f64::max);
    let found = resources.synchronisation_seconds + resources.phase_seconds + last;
    if !close(phase.predicted_seconds, found) {
        let (given, found) = (phase.predicted_seconds.to_string(), found.to_string());
        return Err(Fault::Figure { phase: index, what: "predicted_seconds".into(), given, found });
    }
    Ok(found)
}

fn check_route(phase: usize, transfer: &Transfer, graph: &Graph) -> Result<(), Fault> {
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
        if graph.count(pair[0], pair[1]).is_none() {
            let (from, to) = (graph.name(pair[0]), graph.name(pair[1]));
            return fault(format!("goes from {from} to {to}, which are not linked"));
        }
    }
    let mut sorted = transfer.route.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return fault(format!("passes through {} twice", graph.name(pair[0])));
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

/// What an access or a link is asked for, as time goes by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Server {
    Send(u32),
    Receive(u32),
    Both(u32),
    Link(u32, u32),
}

/// At no time are more words a second asked of an access or a link than it can transfer.
fn check_rates(index: usize, phase: &Phase, resources: &Resources, graph: &Graph) -> Result<(), Fault> {
    let mut changes: HashMap<Server, Vec<(f64, f64)>> = HashMap::new();
    for transfer in &phase.connections {
        for piece in transfer.parts().filter(|piece| piece.duration > 0.0) {
            let rate = piece.words as f64 / piece.duration;
            let mut ask = |server: Server, share: f64| {
                let list = changes.entry(server).or_default();
                list.push((piece.start, share));
                list.push((piece.start + piece.duration, -share));
            };
            let access = rate * resources.access_seconds;
            match resources.access {
                Access::Separate => {
                    ask(Server::Send(transfer.source), access);
                    ask(Server::Receive(transfer.destination), access);
                }
                Access::Shared => {
                    ask(Server::Both(transfer.source), access);
                    ask(Server::Both(transfer.destination), access);
                }
            }
            for pair in transfer.route.windows(2) {
                let parallel = f64::from(graph.count(pair[0], pair[1]).unwrap_or(1));
                ask(Server::Link(pair[0], pair[1]), rate * resources.link_seconds / parallel);
            }
        }
    }
    let mut servers: Vec<(Server, Vec<(f64, f64)>)> = changes.into_iter().collect();
    servers.sort_unstable_by_key(|(server, _)| *server);
    for (server, mut list) in servers {
        list.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut share = 0.0;
        let mut at = 0;
        while at < list.len() {
            // What ends within rounding of a time ends at it.
            let time = list[at].0;
            let same = |other: f64| other <= time * (1.0 + ROUNDING);
            while at < list.len() && same(list[at].0) {
                share += list[at].1;
                at += 1;
            }
            if share > 1.0 + 1e3 * ROUNDING {
                let resource = match server {
                    Server::Send(node) => format!("the sending side of node {node}"),
                    Server::Receive(node) => format!("the receiving side of node {node}"),
                    Server::Both(node) => format!("the access of node {node}"),
                    Server::Link(from, to) => format!("the link from {} to {}", graph.name(from), graph.name(to)),
                };
                let (share, time) = (format!("{share:.6}"), time.to_string());
                return Err(Fault::Rate { phase: index, resource, share, time });
            }
        }
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
            last[connection] = (phase, transfer.start + transfer.duration);
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

/// The value of a bound computed from its certificate must be the one given.
fn check_bound(
    bound: &LowerBound,
    schedule: &Schedule,
    connections: &[Gathered],
    graph: &Graph,
    hops: &Hops,
) -> Result<(), Fault> {
    let fail = |reason: &str| Fault::Bound { name: bound.name.clone(), reason: reason.to_owned() };
    let resources = &schedule.resources;
    let check = Check { resources, connections, graph, hops };
    let (value, unit) = match &bound.certificate {
        Certificate::NodeChannels { weights } => (check.node_channels(weights), "phases"),
        Certificate::LinkChannels { links } => (check.link_channels(links), "phases"),
        Certificate::Degree { node } => (check.degree(*node), "phases"),
        Certificate::Access { node } => (check.access(*node), "s"),
        Certificate::LinkBandwidth { links } => (check.link_bandwidth(links), "s"),
        Certificate::Cut { inside } => (check.cut(inside), "s"),
        Certificate::Chain { connections } => (check.chain(connections, schedule), "s"),
        Certificate::PhasesAndLoad { hop, connection } => (check.phases_and_load(*hop, *connection), "s"),
        Certificate::Sum { phases, transfers } => (check.sum(phases, transfers.as_deref(), schedule), "s"),
    };
    let value = value.map_err(fail)?;
    if bound.unit != unit {
        return Err(fail(&format!("its unit is {}, its certificate proves {unit}", bound.unit)));
    }
    let value = if unit == "phases" { value.max(1.0) } else { value };
    if !close(value, bound.value) {
        return Err(fail(&format!("it is given as {}, its certificate proves {value}", bound.value)));
    }
    let reached = if unit == "phases" { schedule.phases.len() as f64 } else { schedule.predicted_seconds };
    if reached < value * (1.0 - ROUNDING) {
        return Err(fail(&format!("the schedule has {reached}, less than what is proved to be least")));
    }
    Ok(())
}

/// What several certificates ask for, counted once: hops of all connections together, and weighted by their words.
#[derive(Default)]
struct Hops(OnceCell<Option<(f64, f64)>>);

/// The weight of each link that has one, by its ends.
type LinkWeights = HashMap<(u32, u32), u64>;

struct Check<'a> {
    resources: &'a Resources,
    connections: &'a [Gathered],
    graph: &'a Graph,
    hops: &'a Hops,
}

impl Check<'_> {
    /// The sum over the connections of `part` and the weight of the lightest way.
    fn total(
        &self,
        vertex: &dyn Fn(usize) -> u64,
        link: &dyn Fn(u32, u32) -> u64,
        part: &dyn Fn(&Gathered) -> f64,
    ) -> Result<f64, &'static str> {
        let mut by_source: Vec<&Gathered> = self.connections.iter().collect();
        by_source.sort_by_key(|connection| connection.source);
        let (mut source, mut least) = (u32::MAX, Vec::new());
        let mut total = 0.0;
        for connection in by_source {
            if connection.source != source {
                source = connection.source;
                least = self.graph.lightest(source as usize, vertex, link);
            }
            match least[connection.destination as usize] {
                u64::MAX => return Err("there is no way between the ends of a connection"),
                weight => total += part(connection) * weight as f64,
            }
        }
        Ok(total)
    }

    /// The fewest hops of all connections together, and weighted by their words.
    fn hops(&self) -> Result<(f64, f64), &'static str> {
        let count = || {
            let mut by_source: Vec<&Gathered> = self.connections.iter().collect();
            by_source.sort_by_key(|connection| connection.source);
            let (mut source, mut hops) = (u32::MAX, Vec::new());
            let (mut all, mut weighted) = (0.0, 0.0);
            for connection in by_source {
                if connection.source != source {
                    source = connection.source;
                    hops = self.graph.breadth_first(source as usize);
                }
                let there = hops[connection.destination as usize];
                if there == u32::MAX {
                    return None;
                }
                all += f64::from(there);
                weighted += f64::from(there) * connection.words as f64;
            }
            Some((all, weighted))
        };
        self.hops.0.get_or_init(count).ok_or("there is no way between the ends of a connection")
    }

    fn node_channels(&self, weights: &[u32]) -> Result<f64, &'static str> {
        let channels = self.resources.node_channels.ok_or("nodes have no limit of channels")?;
        if !weights.is_empty() && weights.len() != self.graph.nodes {
            return Err("it needs a weight for every node");
        }
        let weight = |vertex: usize| match weights.get(vertex) {
            Some(&weight) => u64::from(weight),
            None => u64::from(weights.is_empty() && vertex < self.graph.nodes),
        };
        let capacity = (0..self.graph.nodes).map(weight).sum::<u64>() * u64::from(channels);
        let taken = if weights.is_empty() && self.graph.direct {
            self.hops()?.0 + self.connections.len() as f64
        } else {
            self.total(&weight, &|_, _| 0, &|_| 1.0)?
        };
        if capacity == 0 { Err("its weights are all zero") } else { Ok((taken / capacity as f64).ceil()) }
    }

    /// The weight of every link named, or 1 for all, and the weight of all of them together.
    fn weights(&self, links: &[WeightedLink]) -> Result<(LinkWeights, u64), &'static str> {
        let mut weights = HashMap::new();
        if links.is_empty() {
            for (from, to) in self.graph.links.iter().enumerate() {
                weights.extend(to.iter().map(|&(to, _)| ((from as u32, to), 1)));
            }
        }
        for link in links {
            if weights.insert((link.from, link.to), u64::from(link.weight)).is_some() {
                return Err("it names a link twice");
            }
        }
        let mut all = 0;
        for (&(from, to), weight) in &weights {
            all += weight * u64::from(self.graph.count(from, to).ok_or("it names a link that is not there")?);
        }
        if all == 0 { Err("its weights are all zero") } else { Ok((weights, all)) }
    }

    fn link_channels(&self, links: &[WeightedLink]) -> Result<f64, &'static str> {
        let channels = self.resources.link_channels.ok_or("links have no limit of channels")?;
        let (weights, all) = self.weights(links)?;
        let link = |from, to| weights.get(&(from, to)).copied().unwrap_or(0);
        let taken = self.total(&|_| 0, &link, &|_| 1.0)?;
        Ok((taken / (all * u64::from(channels)) as f64).ceil())
    }

    fn link_bandwidth(&self, links: &[WeightedLink]) -> Result<f64, &'static str> {
        let (weights, all) = self.weights(links)?;
        let link = |from, to| weights.get(&(from, to)).copied().unwrap_or(0);
        let taken = if links.is_empty() {
            self.hops()?.1
        } else {
            self.total(&|_| 0, &link, &|connection| connection.words as f64)?
        };
        Ok(taken / all as f64 * self.resources.link_seconds)
    }

    fn degree(&self, node: u32) -> Result<f64, &'static str> {
        if node as usize >= self.graph.nodes {
            return Err("it names a node that does not exist");
        }
        let out = self.connections.iter().filter(|connection| connection.source == node).count() as u64;
        let into = self.connections.iter().filter(|connection| connection.destination == node).count() as u64;
        let mut value = 0;
        if let Some(channels) = self.resources.node_channels {
            value = (out + into).div_ceil(u64::from(channels));
        }
        if let Some(ports) = self.resources.ports {
            value = value.max(out.div_ceil(u64::from(ports))).max(into.div_ceil(u64::from(ports)));
        }
        if let Some(channels) = self.resources.link_channels {
            let leaving: u32 = self.graph.links[node as usize].iter().map(|&(_, count)| count).sum();
            let entering: u32 =
                self.graph.links.iter().flatten().filter(|&&(to, _)| to == node).map(|link| link.1).sum();
            for (count, wires) in [(out, leaving), (into, entering)] {
                value = value.max(count.div_ceil((u64::from(wires) * u64::from(channels)).max(1)));
            }
        }
        Ok(value as f64)
    }

    fn access(&self, node: u32) -> Result<f64, &'static str> {
        if node as usize >= self.graph.nodes {
            return Err("it names a node that does not exist");
        }
        let sum = |of: &dyn Fn(&Gathered) -> bool| -> u64 {
            self.connections.iter().filter(|connection| of(connection)).map(|connection| connection.words).sum()
        };
        let (out, into) =
            (sum(&|connection| connection.source == node), sum(&|connection| connection.destination == node));
        let words = match self.resources.access {
            Access::Separate => out.max(into),
            Access::Shared => out + into,
        };
        Ok(words as f64 * self.resources.access_seconds)
    }

    fn cut(&self, inside: &[u32]) -> Result<f64, &'static str> {
        let mut within = vec![false; self.graph.vertices];
        for &vertex in inside {
            *within.get_mut(vertex as usize).ok_or("it names a vertex that does not exist")? = true;
        }
        let crossing = |from: usize, to: u32| within[from] && !within[to as usize];
        let wires: u64 = (0..self.graph.vertices)
            .flat_map(|from| self.graph.links[from].iter().filter(move |&&(to, _)| crossing(from, to)))
            .map(|&(_, count)| u64::from(count))
            .sum();
        let leaves = |connection: &&Gathered| crossing(connection.source as usize, connection.destination);
        let words: u64 = self.connections.iter().filter(leaves).map(|connection| connection.words).sum();
        if wires == 0 {
            Err("no link leaves its set")
        } else {
            Ok(words as f64 / wires as f64 * self.resources.link_seconds)
        }
    }

    fn chain(&self, chain: &[u32], schedule: &Schedule) -> Result<f64, &'static str> {
        let orders: std::collections::HashSet<(u32, u32)> =
            schedule.orders.iter().map(|order| (order.before, order.after)).collect();
        if chain.windows(2).any(|pair| !orders.contains(&(pair[0], pair[1]))) {
            return Err("it names connections that are not ordered");
        }
        let mut words = 0u64;
        for &connection in chain {
            words +=
                self.connections.get(connection as usize).ok_or("it names a connection that does not exist")?.words;
        }
        Ok(words as f64 * self.resources.access_seconds.max(self.resources.link_seconds))
    }

    /// No phase may be worth more than it takes, whatever its largest link load and the most sends of a node.
    fn phases_and_load(&self, hop: f64, connection: f64) -> Result<f64, &'static str> {
        let channels = u64::from(self.resources.node_channels.ok_or("nodes have no limit of channels")?);
        let words = self.connections.first().map_or(0, |connection| connection.words);
        if self.connections.iter().any(|connection| connection.words != words) {
            return Err("its argument needs equal connections");
        }
        if self.connections.iter().any(|connection| connection.parts != 1) {
            return Err("its argument needs connections that are not split");
        }
        if !self.graph.direct {
            return Err("its argument needs links between nodes");
        }
        if !(hop >= 0.0 && connection >= 0.0) {
            return Err("its prices are negative");
        }
        let wires: u64 = self.graph.links.iter().flatten().map(|&(_, count)| u64::from(count)).sum();
        let nodes = self.graph.nodes as u64;
        let switching = self.resources.synchronisation_seconds + self.resources.phase_seconds;
        for load in 1..=channels {
            for sends in 1..=channels {
                let transfer =
                    (load as f64 * self.resources.link_seconds).max(sends as f64 * self.resources.access_seconds);
                let cost = switching + words as f64 * transfer;
                // The most of hop h + connection n with h <= wires load, n <= nodes sends, h + n <= channels nodes is at
                // a corner: as many of one as there can be, and of the other what is left.
                let (hops, count, all) = (wires * load, nodes * sends, channels * nodes);
                let (most_hops, most_count) = (hops.min(all), count.min(all));
                let first = hop * most_hops as f64 + connection * count.min(all - most_hops) as f64;
                let second = hop * hops.min(all - most_count) as f64 + connection * most_count as f64;
                if first.max(second) > cost * (1.0 + ROUNDING) {
                    return Err("a phase gets more than it takes");
                }
            }
        }
        let hops = self.hops()?.0;
        Ok(hop * hops + connection * self.connections.len() as f64)
    }

    fn sum(&self, phases: &str, transfers: Option<&str>, schedule: &Schedule) -> Result<f64, &'static str> {
        let find = |name: &str, unit: &str| {
            let fits = |bound: &&LowerBound| bound.name == name && bound.unit == unit;
            let simple = |certificate: &Certificate| {
                !matches!(certificate, Certificate::Sum { .. } | Certificate::PhasesAndLoad { .. })
            };
            let bound = schedule.lower_bounds.iter().find(fits).filter(|bound| simple(&bound.certificate));
            bound.map(|bound| bound.value).ok_or("it adds a bound that is not there")
        };
        let switching = self.resources.synchronisation_seconds + self.resources.phase_seconds;
        let transfers = transfers.map(|name| find(name, "s")).transpose()?.unwrap_or(0.0);
        Ok(find(phases, "phases")? * switching + transfers)
    }
}
