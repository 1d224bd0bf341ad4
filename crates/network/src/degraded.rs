//! Routes to what is attached to nodes and around dead links, and what messages cost on hardware that is slower than
//! described.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use weft_base::Picos;
use weft_machine::{Degradation, Router, Topology, Vertex};

use crate::cost::LinkCost;

/// The routes of a machine, around its dead links where it has some.
///
/// What is attached to a node, as an I/O node is, is numbered after the nodes and has a link of its own in each direction,
/// numbered after those of the topology.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    router: Router,
    detours: Option<Box<Detours>>,
    nodes: usize,
    links: usize,
    /// The node that each is attached to.
    attached: Box<[usize]>,
}

impl Routes {
    /// Those of a topology whose links all work.
    pub fn new(topology: &Topology) -> Routes {
        let (nodes, links) = (topology.nodes(), topology.links());
        Routes { router: topology.router(), detours: None, nodes, links, attached: Box::default() }
    }

    /// Those without some links. `every`: shortest routes for all pairs, so that each node on the way may choose again.
    pub fn without(topology: &Topology, dead: &[usize], every: bool) -> Routes {
        let detours = (!dead.is_empty()).then(|| Box::new(Detours::new(topology, dead, every)));
        Routes { detours, ..Routes::new(topology) }
    }

    /// The same with something attached to each of these nodes.
    pub fn with_attached(self, attached: &[usize]) -> Routes {
        Routes { attached: attached.into(), ..self }
    }

    /// The links of a route, in order.
    #[inline(always)]
    pub fn visit(&mut self, from: usize, to: usize, mut visit: impl FnMut(usize)) {
        if from.max(to) >= self.nodes {
            return self.visit_attached(from, to, &mut visit);
        }
        match self.detour(from, to) {
            None => self.router.route(from, to, visit),
            Some(links) => links.iter().for_each(|&link| visit(link)),
        }
    }

    /// The links of a route with an end that is attached to a node: its own, and those between the nodes.
    #[cold]
    fn visit_attached(&mut self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        let own_link = |end: usize, leaves: usize| self.links + 2 * (end - self.nodes) + leaves;
        let node_of = |end: usize| if end < self.nodes { end } else { self.attached[end - self.nodes] };
        let (first, last) = (node_of(from), node_of(to));
        let leaving = (from >= self.nodes).then(|| own_link(from, 1));
        let entering = (to >= self.nodes).then(|| own_link(to, 0));
        leaving.into_iter().for_each(&mut *visit);
        if first != last {
            match self.detour(first, last) {
                None => self.router.route(first, last, &mut *visit),
                Some(links) => links.iter().for_each(|&link| visit(link)),
            }
        }
        entering.into_iter().for_each(visit);
    }

    /// The links of a route that is not the usual one, where the usual one is dead.
    #[inline(always)]
    pub fn detour(&mut self, from: usize, to: usize) -> Option<&[usize]> {
        self.detours.as_mut()?.find(&self.router, from, to)
    }
}

/// Shortest routes without dead links, found once for each pair of nodes that needs one.
#[derive(Clone, Debug)]
struct Detours {
    dead: FxHashSet<usize>,
    every: bool,
    /// The links that leave each vertex, with where they lead, without the dead ones.
    leaving: FxHashMap<Vertex, Vec<(usize, Vertex)>>,
    chosen: FxHashMap<(usize, usize), Option<Box<[usize]>>>,
}

impl Detours {
    fn new(topology: &Topology, dead: &[usize], every: bool) -> Detours {
        let dead: FxHashSet<usize> = dead.iter().copied().collect();
        let mut leaving: FxHashMap<Vertex, Vec<(usize, Vertex)>> = FxHashMap::default();
        for link in (0..topology.links()).filter(|link| !dead.contains(link)) {
            let (from, to) = topology.link_ends(link);
            leaving.entry(from).or_default().push((link, to));
        }
        Detours { dead, every, leaving, chosen: FxHashMap::default() }
    }

    fn find(&mut self, router: &Router, from: usize, to: usize) -> Option<&[usize]> {
        let Detours { dead, every, leaving, chosen } = self;
        let detour = chosen.entry((from, to)).or_insert_with(|| {
            let mut is_dead = *every;
            router.route(from, to, |link| is_dead |= dead.contains(&link));
            is_dead.then(|| shortest(leaving, from, to)).flatten()
        });
        detour.as_deref()
    }
}

/// The links of a shortest route by breadth-first search; of several, one that differs from pair to pair, as the tables of
/// a subnet manager spread destinations over what is left. `None` where a node is cut off: its messages take the usual
/// route, so a run has an end.
fn shortest(leaving: &FxHashMap<Vertex, Vec<(usize, Vertex)>>, from: usize, to: usize) -> Option<Box<[usize]>> {
    let (start, goal) = (Vertex::Node(from), Vertex::Node(to));
    let mut came_by: FxHashMap<Vertex, (usize, Vertex)> = FxHashMap::default();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front().filter(|_| !came_by.contains_key(&goal)) {
        let links = leaving.get(&at).map_or(&[][..], Vec::as_slice);
        for index in 0..links.len() {
            let (link, next) = links[(index + to) % links.len()];
            if next != start && !came_by.contains_key(&next) {
                came_by.insert(next, (link, at));
                open.push_back(next);
            }
        }
    }
    let mut links = Vec::new();
    let mut at = goal;
    while at != start {
        let &(link, before) = came_by.get(&at)?;
        links.push(link);
        at = before;
    }
    links.reverse();
    Some(links.into_boxed_slice())
}

/// What is slower than described.
#[derive(Clone, Debug)]
pub(crate) struct Degraded(Degradation);

impl Degraded {
    pub fn new(degradation: &Degradation) -> Degraded {
        Degraded(degradation.clone())
    }

    /// The cost of a message over its whole route, which is as fast as the slowest link and the slower end.
    pub fn cost(&self, routes: &mut Routes, from: usize, to: usize, cost: LinkCost) -> LinkCost {
        let mut slowest: f64 = self.0.of_node(from).min(self.0.of_node(to));
        routes.visit(from, to, |link| slowest = slowest.min(self.speed_of(link)));
        let noise = self.0.noise_of(from, to);
        LinkCost { hop: scaled(cost.hop, noise), transmission: scaled(cost.transmission, noise / slowest), ..cost }
    }

    /// The cost of a packet on one link between two nodes or switches. A message that passes through switches has the
    /// noise of its two ends.
    pub fn of_link(
        &self,
        link: usize,
        (at, next): (Vertex, Vertex),
        (from, to): (usize, usize),
        cost: LinkCost,
    ) -> LinkCost {
        let speed = |end: Vertex| match end {
            Vertex::Node(node) => self.0.of_node(node),
            Vertex::Switch(_) => 1.0,
        };
        let slowest = self.speed_of(link).min(speed(at)).min(speed(next));
        let noise = match (at, next) {
            (Vertex::Node(at), Vertex::Node(next)) => self.0.noise_of(at, next),
            _ => self.0.noise_of(from, to),
        };
        LinkCost { hop: scaled(cost.hop, noise), transmission: scaled(cost.transmission, noise / slowest), ..cost }
    }

    /// A message that has to take a dead link, for there is no other, is as slow as one on the slowest link that works.
    fn speed_of(&self, link: usize) -> f64 {
        match self.0.of_link(link) {
            0.0 => DEAD,
            speed => speed,
        }
    }
}

/// The share of its rate that a link has that nobody can do without though it is dead.
const DEAD: f64 = 1e-3;

fn scaled(time: Picos, factor: f64) -> Picos {
    Picos::from_seconds(time.seconds() * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(routes: &mut Routes, from: usize, to: usize) -> Vec<usize> {
        let mut links = Vec::new();
        routes.visit(from, to, |link| links.push(link));
        links
    }

    #[test]
    fn detours_join_the_same_nodes_without_dead_links() {
        let tree = Topology::FatTree { children: vec![4, 4], parents: vec![1, 4] };
        let torus = Topology::Torus { extents: vec![4, 4] };
        for topology in [tree, torus, Topology::Hypercube { dimension: 4 }] {
            // Some link of the route from 1 to 14 that has another beside it: not the node's only one.
            let mut usual = Vec::new();
            topology.route(1, 14, |link| usual.push(link));
            let dead = usual[1];
            let mut routes = Routes::without(&topology, &[dead], false);
            for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))).filter(|(a, b)| a != b) {
                let route = links(&mut routes, from, to);
                assert!(!route.contains(&dead));
                let mut at = Vertex::Node(from);
                for link in &route {
                    let (start, end) = topology.link_ends(*link);
                    assert_eq!(start, at);
                    at = end;
                }
                assert_eq!(at, Vertex::Node(to));
                let mut whole = Vec::new();
                topology.route(from, to, |link| whole.push(link));
                assert!(whole.contains(&dead) || route == whole, "only what must goes round");
            }
        }
    }

    #[test]
    fn what_is_attached_is_a_link_beyond_its_node() {
        let topology = Topology::Hypercube { dimension: 3 };
        let dead = {
            let mut usual = Vec::new();
            topology.route(0, 7, |link| usual.push(link));
            usual[1]
        };
        for dead in [Vec::new(), vec![dead]] {
            let mut routes = Routes::without(&topology, &dead, false).with_attached(&[7, 0, 7]);
            let own = topology.links();
            for (end, node) in [(8, 7), (9, 0), (10, 7)] {
                for other in 0..8 {
                    let (there, back) = (links(&mut routes, other, end), links(&mut routes, end, other));
                    let mut between = if other == node { Vec::new() } else { links(&mut routes, other, node) };
                    between.push(own + 2 * (end - 8));
                    assert_eq!(there, between);
                    let mut between = vec![own + 2 * (end - 8) + 1];
                    between.extend(if other == node { Vec::new() } else { links(&mut routes, node, other) });
                    assert_eq!(back, between);
                }
            }
            assert_eq!(links(&mut routes, 8, 10), [own + 1, own + 4], "both are attached to one node");
        }
    }

    #[test]
    fn who_is_cut_off_is_very_slow() {
        let crossbar = Topology::Crossbar { nodes: 4 };
        let mut degradation = Degradation::default();
        degradation.add("link:2-s0=0", &crossbar).unwrap();
        let mut routes = Routes::without(&crossbar, &degradation.dead_links(), false);
        let cost = LinkCost { hop: Picos(10), transmission: Picos(1000), bytes: 1 };
        let degraded = Degraded::new(&degradation);
        assert_eq!(degraded.cost(&mut routes, 2, 1, cost).transmission, Picos(1_000_000));
        assert_eq!(degraded.cost(&mut routes, 3, 1, cost), cost);
    }
}
