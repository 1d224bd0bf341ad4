//! The passage of messages over the links of a machine, by switching technique.

use weft_base::Picos;
use weft_machine::{Machine, Switching, Topology, Vertex};

use crate::channels::MemoryChannels;
use crate::circuits::Circuits;
use crate::cost::LinkCost;
use crate::degraded::{Degraded, Routes};
use crate::links::{Links, Traffic};
use crate::table::Table;

/// When a message has left its sender's memory and when it is whole in its receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub left: Picos,
    pub arrived: Picos,
}

/// The links and memory channels of one machine.
#[derive(Clone, Debug)]
pub struct Network {
    topology: Topology,
    routes: Routes,
    degraded: Option<Box<Degraded>>,
    switching: Switching,
    links: Links,
    memory: Option<MemoryChannels>,
    circuits: Option<Circuits>,
    /// Links of the route in hand and when its header took each.
    route: Vec<(usize, Picos)>,
    /// Of routers with virtual channels: what messages have taken so far, and what each would have taken alone.
    taken: (u128, u128),
}

impl Network {
    /// The idle network of `machine`, its I/O nodes included: number `i` of them is node `machine.nodes() + i`.
    pub fn new(machine: &Machine) -> Network {
        let attached = machine.files.as_ref().map_or(&[][..], |files| &files.attached);
        let network = Network::joining(&machine.topology, machine.switching, machine.node.memory_channels, attached);
        let network = Network { circuits: Circuits::of(machine), ..network };
        if machine.degradation.is_none() {
            return network;
        }
        let every = machine.switching == Switching::StoreAndForward;
        let routes =
            Routes::without(&machine.topology, &machine.degradation.dead_links(), every).with_attached(attached);
        let degraded = Some(Box::new(Degraded::new(&machine.degradation)));
        Network { routes, degraded, ..network }
    }

    /// An idle network; `memory_channels` is how many messages may enter or leave a node's memory at once, `None` for
    /// one on every link.
    pub fn with(topology: &Topology, switching: Switching, memory_channels: Option<u32>) -> Network {
        Network::joining(topology, switching, memory_channels, &[])
    }

    /// The same with something attached to each of some nodes by a link of its own in each direction; it has a memory as a
    /// node has and is numbered after the nodes.
    fn joining(topology: &Topology, switching: Switching, memory_channels: Option<u32>, attached: &[usize]) -> Network {
        Network {
            topology: topology.clone(),
            routes: Routes::new(topology).with_attached(attached),
            degraded: None,
            switching,
            links: Links::new(topology.links() + 2 * attached.len()),
            memory: MemoryChannels::new(topology.nodes() + attached.len(), memory_channels),
            circuits: None,
            route: Vec::new(),
            taken: (0, 0),
        }
    }

    /// Records from now on what every link carries; see [`Network::traffic`].
    ///
    /// # Examples
    /// ```
    /// use weft_base::Picos;
    /// use weft_machine::{Switching, Topology};
    /// use weft_network::{LinkCost, Network};
    ///
    /// let mut network = Network::with(&Topology::Hypercube { dimension: 3 }, Switching::Wormhole, None);
    /// network.record_traffic();
    /// network.pass(Picos(0), 0, 7, LinkCost { hop: Picos(1), transmission: Picos(8), bytes: 64 });
    /// // The message crossed three links, and each of them carried all of it.
    /// let carried: Vec<u64> = network.traffic().unwrap().to_vec().iter().map(|link| link.bytes).collect();
    /// assert_eq!((carried.iter().sum::<u64>(), carried.iter().max()), (3 * 64, Some(&64)));
    /// ```
    pub fn record_traffic(&mut self) {
        self.links.record_traffic();
    }

    /// What every link has carried, if it was recorded: those of the topology, and after them of every I/O node the link
    /// to it and the link from it.
    pub fn traffic(&self) -> Option<&Table<Traffic>> {
        self.links.traffic()
    }

    /// How many times what they would have taken alone the messages so far have taken, over routers with virtual channels:
    /// models of messages know nothing of these, and err where messages wait. `None` for other techniques, and before the
    /// first message.
    ///
    /// # Examples
    /// ```
    /// use weft_base::Picos;
    /// use weft_machine::{Switching, Topology};
    /// use weft_network::{LinkCost, Network};
    ///
    /// let mut network = Network::with(&Topology::Hypercube { dimension: 3 }, Switching::Flit, None);
    /// assert_eq!(network.waiting(), None);
    /// // The second of two messages over one link comes when the first has passed: 100 and 200 instead of 100 and 100.
    /// let cost = LinkCost { hop: Picos(0), transmission: Picos(100), bytes: 64 };
    /// network.pass(Picos(0), 0, 1, cost);
    /// network.pass(Picos(0), 0, 1, cost);
    /// assert_eq!(network.waiting(), Some(1.5));
    /// ```
    pub fn waiting(&self) -> Option<f64> {
        let (taken, alone) = self.taken;
        (alone > 0).then(|| taken as f64 / alone as f64)
    }

    /// How messages cross several links.
    pub fn switching(&self) -> Switching {
        self.switching
    }

    /// The whole way of a message that is ready at `ready`, between two different nodes.
    ///
    /// With circuit switching a blocked header keeps the links it has reserved and every link is released when the
    /// message is through, and where a switch has ports for circuits, one that is not there is set up first; with wormhole switching each link is released when the tail has passed it; with cut-through
    /// switching the node where a message is blocked takes it out of the network, so that no link waits for another.
    /// With store-and-forward switching use [`Network::forward`], link by link.
    ///
    /// # Examples
    /// ```
    /// use weft_base::Picos;
    /// use weft_machine::{Switching, Topology};
    /// use weft_network::{LinkCost, Network};
    ///
    /// let cost = LinkCost { hop: Picos(10), transmission: Picos(100), bytes: 1 };
    /// for (switching, second) in [(Switching::Circuit, 230), (Switching::Wormhole, 220), (Switching::CutThrough, 210)] {
    ///     let mut network = Network::with(&Topology::Hypercube { dimension: 2 }, switching, None);
    ///     // Alone over two links, a message takes two headers and one transmission with each of the techniques.
    ///     assert_eq!(network.pass(Picos(0), 0, 3, cost).arrived, Picos(120));
    ///     // How soon its first link is free for another message is what they differ in.
    ///     assert_eq!(network.pass(Picos(0), 0, 1, cost).arrived, Picos(second));
    /// }
    /// ```
    pub fn pass(&mut self, ready: Picos, from: usize, to: usize, cost: LinkCost) -> Passage {
        debug_assert!(from != to, "a message of node {from} to itself does not cross the network");
        let cost = match &self.degraded {
            None => cost,
            Some(degraded) => degraded.cost(&mut self.routes, from, to, cost),
        };
        let start = self.memory.as_ref().map_or(ready, |memory| ready.max(memory.free(from)));
        let passage = match self.switching {
            Switching::CutThrough => self.cut_through((ready, start), from, to, cost),
            Switching::Circuit => self.hold_all(start, from, to, cost, Picos::ZERO),
            Switching::Wormhole => self.hold_all(start, from, to, cost, cost.hop),
            Switching::Flit => {
                let passage = self.hold_all(start, from, to, cost, cost.hop);
                let alone = cost.transmission.0 + self.route.len() as u64 * cost.hop.0;
                self.taken.0 += u128::from(passage.arrived.0 - ready.0);
                self.taken.1 += u128::from(alone);
                passage
            }
            Switching::StoreAndForward => unreachable!("store-and-forward passes link by link"),
        };
        if let Some(memory) = &mut self.memory {
            memory.hold(from, passage.left);
            memory.hold(to, passage.arrived);
        }
        passage
    }

    /// One pass: every link is held for the transmission from the moment the header takes it.
    fn cut_through(&mut self, (ready, start): (Picos, Picos), from: usize, to: usize, cost: LinkCost) -> Passage {
        let Network { routes, links, memory, .. } = self;
        let mut header = start;
        let mut left = Picos::MAX;
        routes.visit(from, to, |link| {
            let taken = links.take(link, header, cost.transmission, ready, cost.bytes);
            left = left.min(taken + cost.transmission);
            header = taken + cost.hop;
        });
        let header = memory.as_ref().map_or(header, |memory| header.max(memory.free(to)));
        let arrived = header + cost.transmission;
        Passage { left: left.min(arrived), arrived }
    }

    /// Two passes: the header takes the links one by one, then each is released `tail` before the next one, the last
    /// when the message has arrived.
    fn hold_all(&mut self, start: Picos, from: usize, to: usize, cost: LinkCost, tail: Picos) -> Passage {
        let Network { routes, links, memory, circuits, route, .. } = self;
        let mut header = start;
        route.clear();
        routes.visit(from, to, |link| {
            let taken = header.max(links.free(link));
            route.push((link, taken));
            header = taken + cost.hop;
        });
        if let Some(circuits) = circuits {
            header += circuits.use_over(route.iter().map(|&(link, _)| link), from, to);
        }
        if let Some(memory) = memory {
            header = header.max(memory.free(to));
        }
        let arrived = header + cost.transmission;
        let mut released = arrived;
        for &(link, taken) in route.iter().rev() {
            links.hold(link, taken, released.max(taken), cost.bytes);
            released = released.saturating_sub(tail);
        }
        let left = route.first().map_or(arrived, |&(link, _)| links.free(link));
        Passage { left, arrived }
    }

    /// One link of a packet that is whole at node or switch `at` at `ready`, on its way from one node to another: where it
    /// comes next and when it is whole there. The work for the hop comes first; the link is held for the transmission
    /// alone.
    ///
    /// # Examples
    /// ```
    /// use weft_base::Picos;
    /// use weft_machine::{Switching, Topology, Vertex};
    /// use weft_network::{LinkCost, Network};
    ///
    /// let cost = LinkCost { hop: Picos(10), transmission: Picos(100), bytes: 1 };
    /// let mut network = Network::with(&Topology::Hypercube { dimension: 2 }, Switching::StoreAndForward, None);
    /// let (next, passage) = network.forward(Picos(0), Vertex::Node(0), (0, 3), cost);
    /// assert_eq!((next, passage.arrived), (Vertex::Node(1), Picos(110)));
    /// // The second link costs a whole transmission again.
    /// assert_eq!(network.forward(passage.arrived, next, (0, 3), cost).1.arrived, Picos(220));
    /// ```
    pub fn forward(
        &mut self,
        ready: Picos,
        at: Vertex,
        (from, to): (usize, usize),
        cost: LinkCost,
    ) -> (Vertex, Passage) {
        let (link, next) = self.next_hop(at, (from, to));
        let cost = match &self.degraded {
            None => cost,
            Some(degraded) => degraded.of_link(link, (at, next), (from, to), cost),
        };
        let mut taken = (ready + cost.hop).max(self.links.free(link));
        if let Some(memory) = &self.memory {
            taken = nodes_of(at, next).fold(taken, |taken, node| taken.max(memory.free(node)));
        }
        let arrived = taken + cost.transmission;
        self.links.hold(link, taken, arrived, cost.bytes);
        if let Some(memory) = &mut self.memory {
            nodes_of(at, next).for_each(|node| memory.hold(node, arrived));
        }
        (next, Passage { left: arrived, arrived })
    }

    fn next_hop(&mut self, at: Vertex, (from, to): (usize, usize)) -> (usize, Vertex) {
        // Each node on the way may choose again; what passes through switches keeps to the route of its two ends.
        let start = match at {
            Vertex::Node(node) => node,
            Vertex::Switch(_) => from,
        };
        let Network { topology, routes, .. } = self;
        if routes.detour(start, to).is_none()
            && let Some((link, next)) = topology.next_hop(start, to)
        {
            return (link, Vertex::Node(next));
        }
        let mut leaving = None;
        routes.visit(start, to, |link| {
            let (tail, head) = topology.link_ends(link);
            if tail == at {
                leaving = Some((link, head));
            }
        });
        leaving.expect("a packet is on the route of its message")
    }
}

/// The ends of a link that are nodes, which have memories.
fn nodes_of(from: Vertex, to: Vertex) -> impl Iterator<Item = usize> {
    [from, to].into_iter().filter_map(|end| match end {
        Vertex::Node(node) => Some(node),
        Vertex::Switch(_) => None,
    })
}
