//! The capacitated directed graph that a collective runs on: accelerators, switches, and links with speed and latency.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use weft_machine::{Completion, Machine, Switching, Vertex};

use crate::error::CollectiveError;
use crate::routes::Routes;

/// A directed link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The vertex where it starts.
    pub from: usize,
    /// The vertex where it ends.
    pub to: usize,
    /// Bytes a second.
    pub bandwidth: f64,
    /// Seconds until the first byte is at the other end.
    pub latency: f64,
}

/// A switch that takes part in collectives instead of only passing messages on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InNetwork {
    /// Its vertex.
    pub vertex: usize,
    /// Whether it sends what comes in to several links at once.
    pub multicast: bool,
    /// Whether it adds what comes in over several links and sends the sum on.
    pub reduction: bool,
}

/// A network. Vertices that are no rank pass data on, as switches do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// What people call it.
    pub name: String,
    /// The name of every vertex.
    pub vertices: Vec<String>,
    /// The vertex of each rank.
    pub ranks: Vec<usize>,
    /// The links; several between the same two vertices add up.
    pub links: Vec<Link>,
    /// Seconds of the sender and the receiver together for one message, whatever its length: half of them of each.
    pub message_seconds: f64,
    /// Whether a message may pass through a rank on its way, by a router beside its processor.
    #[serde(default)]
    pub forwards: bool,
    /// The switches that copy or add. With the ranks they are the members of trees: ranks are numbered first, and these
    /// after them in their order here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_network: Vec<InNetwork>,
    /// The routes that messages take, where they are those of a described machine; a schedule has them in its paths.
    #[serde(skip)]
    pub routes: Option<Routes>,
}

/// The vertices of a kind in a graph file: how many, or what they are called.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Count(usize),
    Names(Vec<String>),
}

impl Names {
    fn listed(self, prefix: &str) -> Vec<String> {
        match self {
            Names::Count(count) => (0..count).map(|index| format!("{prefix}{index}")).collect(),
            Names::Names(names) => names,
        }
    }
}

/// The switches that can do something: all or none of them, or those with these names.
#[derive(Deserialize)]
#[serde(untagged)]
enum Chosen {
    All(bool),
    Names(Vec<String>),
}

impl Default for Chosen {
    fn default() -> Chosen {
        Chosen::All(false)
    }
}

impl Chosen {
    fn has(&self, name: &str) -> bool {
        match self {
            Chosen::All(all) => *all,
            Chosen::Names(names) => names.iter().any(|known| known == name),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLink {
    from: String,
    to: String,
    bandwidth: f64,
    #[serde(default)]
    latency: f64,
    #[serde(default)]
    duplex: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    nodes: Names,
    switches: Option<Names>,
    links: Vec<FileLink>,
    #[serde(default)]
    message_seconds: f64,
    #[serde(default)]
    forwards: bool,
    #[serde(default)]
    multicast: Chosen,
    #[serde(default)]
    reduction: Chosen,
}

/// More vertices than this are no graph to compile for: tables of pairs of ranks would not fit.
const MAX_VERTICES: usize = 1 << 16;

impl Fabric {
    /// The network of a described machine: a vertex for every node and every switch, the speed that its file gives
    /// links (`link_byte_time` of `[connections]`, else the last protocol's `byte_time`), the last protocol's `hop_time`
    /// as latency (three times where messages are preceded by a request and its answer) and its overheads a message. Where links take no time for a byte, as where ranks of one node copy through
    /// memory, the bytes take that of both ends.
    ///
    /// # Errors
    /// For a machine that passes no messages.
    ///
    /// # Examples
    /// ```
    /// use weft_collectives::Fabric;
    ///
    /// let rails = Fabric::of_machine(&weft_machine::find("rail-h100").unwrap()).unwrap();
    /// assert_eq!((rails.ranks.len(), rails.vertices.len()), (256, 256 + 8 + 32));
    /// assert_eq!(rails.links[0].bandwidth, 50e9);
    /// ```
    pub fn of_machine(machine: &Machine) -> Result<Fabric, CollectiveError> {
        let Some(protocol) = machine.protocols.last() else {
            return Err(CollectiveError::new(format!(
                "{} passes no messages: its file has no [[protocols]], so there is nothing that a collective could send",
                machine.name
            )));
        };
        let topology = &machine.topology;
        let nodes = topology.nodes();
        let of_links = machine.connections.as_ref().map_or(protocol.byte_time, |costs| costs.link_byte_time);
        let of_ends = protocol.send_byte_time + protocol.receive_byte_time;
        let byte_time = if of_links > 0.0 { of_links } else { of_ends };
        if byte_time <= 0.0 {
            return Err(CollectiveError::new(format!(
                "{}: neither its links nor its nodes take time for a byte, so no bandwidth limits a collective",
                machine.name
            )));
        }
        // Who asks first whether the receiver is ready sends a request, waits for the answer and then sends.
        let crossings = if protocol.completion == Completion::Rendezvous { 3.0 } else { 1.0 };
        let latency = crossings * protocol.hop_time;
        let vertex = |end| match end {
            Vertex::Node(node) => node,
            Vertex::Switch(switch) => nodes + switch,
        };
        let link = |index| {
            let (from, to) = topology.link_ends(index);
            let (from, to) = (vertex(from), vertex(to));
            Link { from, to, bandwidth: 1.0 / byte_time, latency }
        };
        let kept: Vec<usize> = (0..topology.links())
            .filter(|&index| {
                let (from, to) = topology.link_ends(index);
                from != to
            })
            .collect();
        let switches = (0..topology.switches()).map(|switch| format!("switch {switch}"));
        let fabric = Fabric {
            name: machine.name.clone(),
            vertices: (0..nodes).map(|node| format!("node {node}")).chain(switches).collect(),
            ranks: (0..nodes).collect(),
            links: kept.iter().map(|&index| link(index)).collect(),
            message_seconds: protocol.send_overhead + protocol.receive_overhead,
            forwards: topology.is_direct() && machine.switching != Switching::StoreAndForward,
            in_network: Vec::new(),
            routes: Routes::of_machine(machine, &kept),
        };
        let fabric = fabric.with_switches(machine.multicast, machine.reduction)?;
        fabric.check().map(|()| fabric)
    }

    /// The same network, all of whose switches copy (`multicast`), add (`reduction`), do both or neither.
    ///
    /// # Errors
    /// Where it has no switches that could.
    ///
    /// # Examples
    /// ```
    /// use weft_collectives::Fabric;
    ///
    /// let nodes = Fabric::of_machine(&weft_machine::find("hgx-h100").unwrap()).unwrap();
    /// assert_eq!(nodes.with_switches(true, true).unwrap().in_network.len(), 1);
    /// ```
    pub fn with_switches(mut self, multicast: bool, reduction: bool) -> Result<Fabric, CollectiveError> {
        self.in_network.clear();
        if !multicast && !reduction {
            return Ok(self);
        }
        let rank_of = self.rank_of();
        let switches = (0..self.vertices.len()).filter(|&vertex| rank_of[vertex].is_none());
        self.in_network = switches.map(|vertex| InNetwork { vertex, multicast, reduction }).collect();
        if self.in_network.is_empty() {
            let name = &self.name;
            return Err(CollectiveError::new(format!("{name}: it has no switches that could copy or add")));
        }
        Ok(self)
    }

    /// A graph that a user has written: JSON with `nodes` and `switches` (how many there are, or their names), `links`
    /// (`from`, `to`, `bandwidth` in bytes a second, `latency` in seconds, `duplex` for one link each way), and
    /// `message_seconds` for the processors' part of a message, and `forwards` where routers beside the nodes pass messages
    /// on; `multicast` and `reduction` say which switches copy and add (true for all, or their names). `path` is what
    /// messages call it.
    ///
    /// # Errors
    /// For text that is no such graph, with what is wrong in it.
    ///
    /// # Examples
    /// ```
    /// use weft_collectives::Fabric;
    ///
    /// let star = r#"{"nodes": 3, "switches": ["hub"], "links": [
    ///     {"from": "node 0", "to": "hub", "bandwidth": 1e9, "duplex": true},
    ///     {"from": "node 1", "to": "hub", "bandwidth": 1e9, "duplex": true},
    ///     {"from": "node 2", "to": "hub", "bandwidth": 5e8, "duplex": true}]}"#;
    /// assert_eq!(Fabric::from_json(star, "star.json").unwrap().links.len(), 6);
    /// ```
    pub fn from_json(text: &str, path: &str) -> Result<Fabric, CollectiveError> {
        let wrong = |what: String| CollectiveError::new(format!("{path}: {what}"));
        let file: File = serde_json::from_str(text).map_err(|error| {
            wrong(format!("not a graph: {error}; a graph has nodes, switches and links with from, to and bandwidth"))
        })?;
        if let Names::Count(count) = file.nodes
            && count > MAX_VERTICES
        {
            return Err(wrong(format!("{count} nodes; a graph may have up to {MAX_VERTICES} vertices")));
        }
        let mut vertices = file.nodes.listed("node ");
        let nodes = vertices.len();
        vertices.extend(file.switches.unwrap_or(Names::Count(0)).listed("switch "));
        let mut index = FxHashMap::default();
        for (number, name) in vertices.iter().enumerate() {
            if index.insert(name.as_str(), number).is_some() {
                return Err(wrong(format!("two vertices are called '{name}'; every name is of one")));
            }
        }
        let find = |name: &str, number: usize| {
            index.get(name).copied().ok_or_else(|| {
                wrong(format!("link {number}: no vertex is called '{name}'; nodes and switches list the names"))
            })
        };
        let mut links = Vec::with_capacity(file.links.len());
        for (number, link) in file.links.iter().enumerate() {
            let (from, to) = (find(&link.from, number)?, find(&link.to, number)?);
            let there = Link { from, to, bandwidth: link.bandwidth, latency: link.latency };
            links.push(there);
            if link.duplex {
                links.push(Link { from: to, to: from, ..there });
            }
        }
        let name = file.name.unwrap_or_else(|| path.to_owned());
        let File { message_seconds, forwards, multicast, reduction, .. } = file;
        let in_network = in_network(&vertices, nodes, &multicast, &reduction).map_err(wrong)?;
        let ranks = (0..nodes).collect();
        let fabric = Fabric { name, vertices, ranks, links, message_seconds, forwards, in_network, routes: None };
        fabric.check().map_err(|error| wrong(error.to_string()))?;
        Ok(fabric)
    }

    /// The same network with the ranks `group` only, in that order. Where routers pass messages on ([`Fabric::forwards`]) the
    /// others do so, as far as they are on shortest paths within the group; else they are left out with their links.
    ///
    /// # Errors
    /// For a rank that there is not, or that is named twice.
    pub fn with_group(&self, group: &[usize]) -> Result<Fabric, CollectiveError> {
        let mut is_member = vec![false; self.ranks.len()];
        for &rank in group {
            match is_member.get_mut(rank) {
                None => {
                    let last = self.ranks.len().saturating_sub(1);
                    return Err(CollectiveError::new(format!(
                        "{}: there is no node {rank}; nodes are 0 to {last}",
                        self.name
                    )));
                }
                Some(member) if *member => {
                    return Err(CollectiveError::new(format!(
                        "node {rank} is in the group twice; name every node once"
                    )));
                }
                Some(member) => *member = true,
            }
        }
        let mut out = self.clone();
        out.ranks = group.iter().map(|&rank| self.ranks[rank]).collect();
        let kept = if self.forwards { self.between(&out.ranks) } else { self.without(&is_member) };
        let is_left = |link: &Link| kept[link.from] && kept[link.to];
        out.routes = self.routes.as_ref().map(|routes| routes.kept(|link| is_left(&self.links[link as usize])));
        out.links.retain(is_left);
        Ok(out)
    }

    /// All vertices but the ranks that are no members.
    fn without(&self, is_member: &[bool]) -> Vec<bool> {
        let mut kept = vec![true; self.vertices.len()];
        self.ranks.iter().zip(is_member).for_each(|(&vertex, &member)| kept[vertex] = member);
        kept
    }

    /// The vertices on shortest paths between members.
    fn between(&self, members: &[usize]) -> Vec<bool> {
        let mut out = vec![Vec::new(); self.vertices.len()];
        self.links.iter().for_each(|link| out[link.from].push(link.to));
        let mut kept = vec![false; self.vertices.len()];
        for &start in members {
            let mut distance = vec![usize::MAX; self.vertices.len()];
            distance[start] = 0;
            let (mut order, mut next) = (vec![start], 0);
            while let Some(&vertex) = order.get(next) {
                next += 1;
                for &to in &out[vertex] {
                    if distance[to] == usize::MAX {
                        distance[to] = distance[vertex] + 1;
                        order.push(to);
                    }
                }
            }
            let mut is_on_path = vec![false; self.vertices.len()];
            members.iter().for_each(|&member| is_on_path[member] = true);
            for &vertex in order.iter().rev() {
                is_on_path[vertex] |=
                    out[vertex].iter().any(|&to| is_on_path[to] && distance[to] == distance[vertex] + 1);
                kept[vertex] |= is_on_path[vertex];
            }
        }
        kept
    }

    /// Every link the other way round: what reduces on this network is what distributes on that one, backwards. Switches
    /// that add copy there, and those that copy add.
    pub fn reversed(&self) -> Fabric {
        let reverse = |link: &Link| Link { from: link.to, to: link.from, ..*link };
        let turned =
            |switch: &InNetwork| InNetwork { multicast: switch.reduction, reduction: switch.multicast, ..*switch };
        let routes = self.routes.as_ref().map(Routes::reversed);
        let in_network = self.in_network.iter().map(turned).collect();
        Fabric { links: self.links.iter().map(reverse).collect(), in_network, routes, ..self.clone() }
    }

    /// How many members trees may have: ranks, and switches that copy or add.
    pub fn members(&self) -> usize {
        self.ranks.len() + self.in_network.len()
    }

    /// The switch that a member is, if it is no rank.
    pub fn switch(&self, member: usize) -> Option<&InNetwork> {
        self.in_network.get(member.checked_sub(self.ranks.len())?)
    }

    /// The vertex of a member of trees, if there is such a member.
    pub fn vertex_of(&self, member: usize) -> Option<usize> {
        self.ranks.get(member).copied().or_else(|| self.switch(member).map(|switch| switch.vertex))
    }

    /// The member of every vertex that is one.
    pub fn member_of(&self) -> Vec<Option<usize>> {
        let mut member_of = self.rank_of();
        let switches = self.in_network.iter().zip(self.ranks.len()..);
        switches.for_each(|(switch, member)| member_of[switch.vertex] = Some(member));
        member_of
    }

    /// What a member's processor does for a message that it sends or receives, s: nothing in a switch.
    pub fn own_seconds(&self, member: usize) -> f64 {
        if member < self.ranks.len() { self.message_seconds / 2.0 } else { 0.0 }
    }

    /// Of every vertex the links that start there, and where they lead.
    pub fn links_out(&self) -> Vec<Vec<(u32, usize)>> {
        let mut out = vec![Vec::new(); self.vertices.len()];
        for (number, link) in self.links.iter().enumerate() {
            out[link.from].push((number as u32, link.to));
        }
        out
    }

    /// The rank of every vertex that is one.
    pub fn rank_of(&self) -> Vec<Option<usize>> {
        let mut rank_of = vec![None; self.vertices.len()];
        self.ranks.iter().enumerate().for_each(|(rank, &vertex)| rank_of[vertex] = Some(rank));
        rank_of
    }

    /// Whether everything that is numbered exists and every figure is possible.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn check(&self) -> Result<(), CollectiveError> {
        if self.vertices.len() > MAX_VERTICES {
            let count = self.vertices.len();
            return Err(CollectiveError::new(format!(
                "{count} nodes and switches; a collective is compiled for up to {MAX_VERTICES}: describe only the part \
                 of the machine that takes part in it"
            )));
        }
        if !(self.message_seconds.is_finite() && self.message_seconds >= 0.0) {
            let seconds = self.message_seconds;
            return Err(CollectiveError::new(format!("message_seconds: expected at least 0, found {seconds}")));
        }
        let mut is_rank = vec![false; self.vertices.len()];
        for (rank, &vertex) in self.ranks.iter().enumerate() {
            match is_rank.get_mut(vertex) {
                None => {
                    return Err(CollectiveError::new(format!("rank {rank} is on vertex {vertex}, which there is not")));
                }
                Some(taken) if *taken => {
                    return Err(CollectiveError::new(format!("two ranks are on '{}'", self.vertices[vertex])));
                }
                Some(taken) => *taken = true,
            }
        }
        for switch in &self.in_network {
            match is_rank.get_mut(switch.vertex) {
                None => {
                    let vertex = switch.vertex;
                    return Err(CollectiveError::new(format!("vertex {vertex} copies or adds, which there is not")));
                }
                Some(known) if *known => {
                    let name = &self.vertices[switch.vertex];
                    return Err(CollectiveError::new(format!("'{name}' copies or adds: it is a rank, or named twice")));
                }
                Some(known) => *known = true,
            }
            if !switch.multicast && !switch.reduction {
                let name = &self.vertices[switch.vertex];
                return Err(CollectiveError::new(format!("'{name}' is listed and neither copies nor adds")));
            }
        }
        self.links.iter().enumerate().try_for_each(|(number, link)| self.check_link(number, link))
    }

    fn check_link(&self, number: usize, link: &Link) -> Result<(), CollectiveError> {
        if link.from >= self.vertices.len() || link.to >= self.vertices.len() {
            return Err(CollectiveError::new(format!("link {number} joins vertices that there are not")));
        }
        let (from, to) = (&self.vertices[link.from], &self.vertices[link.to]);
        let wrong = |what: String| Err(CollectiveError::new(format!("link {number} ('{from}' to '{to}'): {what}")));
        if link.from == link.to {
            return wrong("it leads back to where it starts; leave it out".into());
        }
        if !(link.bandwidth.is_finite() && link.bandwidth > 0.0) {
            return wrong(format!(
                "expected a bandwidth above 0 bytes a second, found {}; leave out a link that carries nothing",
                link.bandwidth
            ));
        }
        if !(link.latency.is_finite() && link.latency >= 0.0) {
            return wrong(format!("expected a latency of at least 0 s, found {}", link.latency));
        }
        Ok(())
    }
}

/// The switches after the nodes that copy or add, by what a graph's file says.
fn in_network(
    vertices: &[String],
    nodes: usize,
    multicast: &Chosen,
    reduction: &Chosen,
) -> Result<Vec<InNetwork>, String> {
    let switches = &vertices[nodes..];
    for (key, chosen) in [("multicast", multicast), ("reduction", reduction)] {
        if let Chosen::Names(names) = chosen
            && let Some(name) = names.iter().find(|name| !switches.contains(name))
        {
            return Err(format!("{key}: no switch is called '{name}'; switches lists the names"));
        }
    }
    let switch = |(name, vertex): (&String, usize)| InNetwork {
        vertex,
        multicast: multicast.has(name),
        reduction: reduction.has(name),
    };
    let all = switches.iter().zip(nodes..).map(switch);
    Ok(all.filter(|switch| switch.multicast || switch.reduction).collect())
}
