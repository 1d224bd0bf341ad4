//! Which virtual channels of which output ports a packet may take.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_machine::{Topology, Vertex};

use crate::allocation::Bits;
use crate::graph::{End, Graph, GraphError};

/// How routes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The route of the topology: dimension order, e-cube, or up by the destination and down. Where ways round are equally
    /// long, chance decides.
    Deterministic,
    /// Any output on a shortest route; where those could wait for each other in a circle, one channel a class is kept for
    /// the deterministic route (Duato, A new theory of deadlock-free adaptive routing in wormhole networks, 1993), which a
    /// packet does not leave again.
    MinimalAdaptive,
    /// On trees: at every switch one of the outputs on shortest routes, by chance, so that packets climb to a random one of
    /// the nearest common ancestors.
    Random,
}

impl Algorithm {
    pub const ALL: [Algorithm; 3] = [Algorithm::Deterministic, Algorithm::MinimalAdaptive, Algorithm::Random];

    /// As people ask for it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Deterministic => "deterministic",
            Algorithm::MinimalAdaptive => "adaptive",
            Algorithm::Random => "random",
        }
    }
}

/// What a packet on a torus remembers of the axis that it moves along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heading {
    /// The axis, from 1; 0 before the first.
    axis: u8,
    up: bool,
    class: u8,
}

/// The most entries of a table of routes: 64 Mi, for 8192 routers and nodes.
const MAX_ENTRIES: usize = 1 << 26;
/// Set in an entry of the second class.
const SECOND: u8 = 0x80;

/// Routes on one network.
#[derive(Clone, Debug)]
pub struct Routing {
    nodes: usize,
    channels: usize,
    /// Router and first output channel of each node.
    ejection: Vec<(usize, usize)>,
    routes: Routes,
    /// Channels of a port that each class of deterministic routes may take.
    classes: Vec<u64>,
    /// Of adaptive and random routing: outputs on shortest routes, and the channels of a port that all packets may take.
    shortest: Option<(Vec<u64>, u64)>,
    /// Whether chance chooses among those outputs, rather than the allocator.
    random: bool,
    /// Channels of a port that are kept for deterministic routes.
    pub escapes: usize,
}

#[derive(Clone, Debug)]
enum Routes {
    Torus(Torus),
    /// The port and class from each router to each node.
    Table(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Torus {
    extents: Vec<u16>,
    /// Of each router, along each axis.
    coordinates: Vec<u16>,
    /// Output ports of each router, along each axis towards higher coordinates and towards lower.
    ports: Vec<[u8; 2]>,
}

impl Routing {
    /// Routes with `channels` virtual channels a port.
    ///
    /// # Errors
    /// [`GraphError`] for too few channels, networks too large for a table, a dragonfly with adaptive routing, and random
    /// routing where a packet that turns at random could wait in a circle.
    pub fn new(
        topology: &Topology,
        graph: &Graph,
        channels: usize,
        algorithm: Algorithm,
    ) -> Result<Routing, GraphError> {
        let (adaptive, random) = (algorithm == Algorithm::MinimalAdaptive, algorithm == Algorithm::Random);
        if random && !matches!(topology, Topology::FatTree { .. } | Topology::Crossbar { .. }) {
            return Err(GraphError(format!(
                "random routing chooses among the parents of a fat tree; a {} has none: use deterministic{}",
                topology.kind(),
                if topology.is_direct() { " or adaptive" } else { "" }
            )));
        }
        let classes = match topology {
            Topology::Torus { .. } | Topology::Dragonfly { .. } => 2,
            _ => 1,
        };
        let escapes = if adaptive && topology.is_direct() { classes } else { 0 };
        let needed = if adaptive { escapes + 1 } else { classes };
        if channels < needed {
            let how = algorithm.name();
            return Err(GraphError(format!(
                "{how} routing on a {} needs {needed} virtual channels or more to be free of deadlocks, not {channels}",
                topology.kind()
            )));
        }
        if adaptive && matches!(topology, Topology::Dragonfly { .. }) {
            return Err(GraphError(
                "a dragonfly has one shortest route between routers, nothing to adapt: use deterministic".to_owned(),
            ));
        }
        let is_torus = matches!(topology, Topology::Torus { .. });
        if (adaptive || !is_torus) && graph.routers.saturating_mul(graph.nodes) > MAX_ENTRIES {
            return Err(GraphError(format!(
                "{} routers and {} nodes are too many for a table of routes; the most is 8192 of both",
                graph.routers, graph.nodes
            )));
        }
        let routes = match topology {
            Topology::Torus { extents } => Routes::Torus(Torus::new(extents, graph)),
            _ => Routes::Table(table(topology, graph)),
        };
        let range = |from: usize, to: usize| (u64::MAX >> (64 - (to - from))) << from;
        let first_of_class = |class| if adaptive { class } else { channels * class / classes };
        Ok(Routing {
            nodes: graph.nodes,
            channels,
            ejection: graph.ejection.iter().map(|&(router, port)| (router, port * channels)).collect(),
            routes,
            classes: (0..classes).map(|class| range(first_of_class(class), first_of_class(class + 1))).collect(),
            shortest: (adaptive || random).then(|| (graph.productive(), range(escapes, channels))),
            random,
            escapes,
        })
    }

    /// The output channels at `router` that a packet to `destination` may take, as bits; `escaped` says whether it came by a
    /// channel that is kept for deterministic routes.
    pub fn wanted(
        &self,
        router: usize,
        destination: usize,
        escaped: bool,
        heading: &mut Heading,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        let (home, first) = self.ejection[destination];
        if home == router {
            return (u64::MAX >> (64 - self.channels)) << first;
        }
        let Some((productive, channels)) = &self.shortest else {
            return self.deterministic(router, destination, heading, random);
        };
        let productive = productive[router * self.nodes + destination];
        if self.random {
            let chosen = random.random_range(0..productive.count_ones() as usize);
            let port = Bits(productive).nth(chosen).expect("a packet that has not arrived has a next link");
            return channels << (port * self.channels);
        }
        if !escaped {
            *heading = Heading::default();
        }
        let mut wanted = if self.escapes > 0 { self.deterministic(router, destination, heading, random) } else { 0 };
        if !escaped {
            for port in Bits(productive) {
                wanted |= channels << (port * self.channels);
            }
        }
        wanted
    }

    fn deterministic(
        &self,
        router: usize,
        destination: usize,
        heading: &mut Heading,
        random: &mut Xoshiro256PlusPlus,
    ) -> u64 {
        let (port, class) = match &self.routes {
            Routes::Torus(torus) => torus.next(router, destination, heading, random),
            Routes::Table(table) => {
                let entry = table[router * self.nodes + destination];
                (entry & !SECOND, usize::from(entry & SECOND != 0))
            }
        };
        self.classes[class] << (usize::from(port) * self.channels)
    }
}

impl Torus {
    fn new(extents: &[usize], graph: &Graph) -> Torus {
        let (nodes, axes) = (graph.nodes, extents.len());
        let (mut coordinates, mut ports) = (vec![0; nodes * axes], vec![[0; 2]; nodes * axes]);
        for node in 0..nodes {
            let mut rest = node;
            for axis in (0..axes).rev() {
                coordinates[node * axes + axis] = (rest % extents[axis]) as u16;
                rest /= extents[axis];
            }
            // A router's links are numbered axis by axis, up before down, and so are its ports.
            let mut port = 0;
            for axis in (0..axes).filter(|&axis| extents[axis] > 1) {
                ports[node * axes + axis] = [port, port + 1];
                port += 2;
            }
        }
        Torus { extents: extents.iter().map(|&extent| extent as u16).collect(), coordinates, ports }
    }

    /// Port and class of the next link: dimension order, the shorter way round. The class is chosen where a packet turns
    /// into an axis, by whether it will cross the dateline between the last coordinate and the first, so that no class has
    /// a circle of channels (Dally and Seitz 1987; the classes of one direction are those of the other exchanged).
    fn next(
        &self,
        router: usize,
        destination: usize,
        heading: &mut Heading,
        random: &mut Xoshiro256PlusPlus,
    ) -> (u8, usize) {
        let axes = self.extents.len();
        let (from, to) = (&self.coordinates[router * axes..], &self.coordinates[destination * axes..]);
        let axis = (0..axes).find(|&axis| from[axis] != to[axis]).expect("the packet is not there yet");
        if usize::from(heading.axis) != axis + 1 {
            let (extent, a, b) = (self.extents[axis], from[axis], to[axis]);
            let ahead = (b + extent - a) % extent;
            let up = 2 * ahead < extent || (2 * ahead == extent && random.random());
            *heading = Heading { axis: axis as u8 + 1, up, class: u8::from(b < a) };
        }
        (self.ports[router * axes + axis][usize::from(!heading.up)], heading.class.into())
    }
}

/// Ports and classes from every router to every node.
fn table(topology: &Topology, graph: &Graph) -> Vec<u8> {
    let nodes = graph.nodes;
    let mut table = vec![0; graph.routers * nodes];
    if topology.is_direct() {
        for router in 0..graph.routers {
            for node in 0..nodes {
                if let Some((link, _)) = topology.next_hop(router, node) {
                    table[router * nodes + node] = graph.port_of_link(link) as u8;
                }
            }
        }
        return table;
    }
    let mut links = Vec::new();
    for from in 0..nodes {
        for to in 0..nodes {
            links.clear();
            topology.route(from, to, |link| links.push(link));
            let mut class = 1;
            for &link in links.iter().skip(1).rev() {
                let (Vertex::Switch(switch), next) = topology.link_ends(link) else { continue };
                if is_global(topology, switch, next) {
                    class = 0;
                }
                let second = if matches!(topology, Topology::Dragonfly { .. }) && class == 1 { SECOND } else { 0 };
                table[switch * nodes + to] = graph.port_of_link(link) as u8 | second;
            }
        }
    }
    table
}

/// Whether a link joins two groups of a dragonfly: on and before it packets have the first class, behind it the second.
fn is_global(topology: &Topology, from: usize, to: Vertex) -> bool {
    match (topology, to) {
        (Topology::Dragonfly { routers_per_group, .. }, Vertex::Switch(to)) => {
            from / routers_per_group != to / routers_per_group
        }
        _ => false,
    }
}

/// Whether an input port comes from a node.
pub fn is_injection(end: End) -> bool {
    matches!(end, End::Node(_))
}
