//! Routers, their ports, and what the ports lead to.

use std::fmt;

use weft_machine::{Topology, Vertex};

/// Where a port leads, or what it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A port of another router.
    Router { router: usize, port: usize },
    /// The node that injects or ejects here.
    Node(usize),
    /// Nothing: a router with fewer ports than others.
    Nothing,
}

/// A network whose router has no model here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError(pub String);

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GraphError {}

/// The routers of a topology: its nodes where links join nodes, with a port more for the node itself; else its switches.
#[derive(Clone, Debug)]
pub struct Graph {
    pub routers: usize,
    pub nodes: usize,
    /// Ports of every router, as many as the largest has.
    pub ports: usize,
    /// What each output port leads to, router by router.
    pub outputs: Vec<End>,
    /// What each input port comes from.
    pub inputs: Vec<End>,
    /// Router and output port to each node.
    pub ejection: Vec<(usize, usize)>,
    /// The output port that a link starts at; meaningless for links that start at nodes with a switch.
    port_of_link: Vec<usize>,
}

impl Graph {
    /// The routers of `topology`.
    ///
    /// # Errors
    /// [`GraphError`] where a node has several links into a network of switches.
    ///
    /// # Examples
    /// ```
    /// use weft_flit::Graph;
    /// use weft_machine::Topology;
    ///
    /// // Four links and the node itself.
    /// let graph = Graph::new(&Topology::Torus { extents: vec![8, 8] }).unwrap();
    /// assert_eq!((graph.routers, graph.ports), (64, 5));
    /// // Switches with four links down and two up.
    /// let graph = Graph::new(&Topology::FatTree { children: vec![4, 4], parents: vec![1, 2] }).unwrap();
    /// assert_eq!((graph.routers, graph.nodes, graph.ports), (6, 16, 6));
    /// ```
    pub fn new(topology: &Topology) -> Result<Graph, GraphError> {
        let (nodes, direct) = (topology.nodes(), topology.is_direct());
        let routers = if direct { nodes } else { topology.switches() };
        let router = |vertex| match vertex {
            Vertex::Node(node) => direct.then_some(node),
            Vertex::Switch(switch) => Some(switch),
        };
        let (mut outputs, mut inputs) = (vec![Vec::new(); routers], vec![Vec::new(); routers]);
        let mut port_of_link = vec![usize::MAX; topology.links()];
        let mut links_of_node = vec![0; nodes];
        for (link, port) in port_of_link.iter_mut().enumerate() {
            let (from, to) = topology.link_ends(link);
            let (from, to) = (router(from).ok_or(from), router(to).ok_or(to));
            if let Ok(router) = from {
                *port = outputs[router].len();
            }
            match (from, to) {
                (Ok(a), Ok(b)) => {
                    let (output, input) = (outputs[a].len(), inputs[b].len());
                    outputs[a].push(End::Router { router: b, port: input });
                    inputs[b].push(End::Router { router: a, port: output });
                }
                (Ok(a), Err(Vertex::Node(node))) => outputs[a].push(End::Node(node)),
                (Err(Vertex::Node(node)), Ok(b)) => {
                    links_of_node[node] += 1;
                    inputs[b].push(End::Node(node));
                }
                _ => unreachable!("links join nodes and switches"),
            }
        }
        if links_of_node.iter().any(|&links| links > 1) {
            return Err(GraphError(
                "nodes with several links into a network of switches have no router here: a node has one, as in a fat tree \
                 whose parents begin with 1"
                    .to_owned(),
            ));
        }
        if direct {
            for node in 0..nodes {
                outputs[node].push(End::Node(node));
                inputs[node].push(End::Node(node));
            }
        }
        let ports = outputs.iter().chain(&inputs).map(Vec::len).max().unwrap_or(0);
        let mut ejection = vec![(0, 0); nodes];
        for (router, ends) in outputs.iter().enumerate() {
            for (port, end) in ends.iter().enumerate() {
                if let End::Node(node) = *end {
                    ejection[node] = (router, port);
                }
            }
        }
        let flat = |ends: Vec<Vec<End>>| {
            let padded = ends.into_iter().map(|ends| (0..ports).map(move |port| ends.get(port).copied()));
            padded.flatten().map(|end| end.unwrap_or(End::Nothing)).collect()
        };
        Ok(Graph { routers, nodes, ports, outputs: flat(outputs), inputs: flat(inputs), ejection, port_of_link })
    }

    /// The output port that a link starts at.
    pub fn port_of_link(&self, link: usize) -> usize {
        self.port_of_link[link]
    }

    /// For every router and node, the output ports on shortest routes from one to the other, as bits.
    pub fn productive(&self) -> Vec<u64> {
        let mut ports = vec![0; self.routers * self.nodes];
        for node in 0..self.nodes {
            let distances = self.distances(node);
            for router in 0..self.routers {
                ports[router * self.nodes + node] = self.nearer(router, &distances);
            }
        }
        ports
    }

    /// The links from every router to the router of `node`.
    fn distances(&self, node: usize) -> Vec<usize> {
        let mut distances = vec![usize::MAX; self.routers];
        let mut reached = vec![self.ejection[node].0];
        distances[reached[0]] = 0;
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            for end in &self.inputs[at * self.ports..(at + 1) * self.ports] {
                if let End::Router { router, .. } = *end
                    && distances[router] == usize::MAX
                {
                    distances[router] = distances[at] + 1;
                    reached.push(router);
                }
            }
        }
        distances
    }

    fn nearer(&self, router: usize, distances: &[usize]) -> u64 {
        let leads_nearer = |port: &usize| match self.outputs[router * self.ports + port] {
            End::Router { router: next, .. } => distances[next] < distances[router],
            _ => false,
        };
        (0..self.ports).filter(leads_nearer).map(|port| 1 << port).sum()
    }
}
