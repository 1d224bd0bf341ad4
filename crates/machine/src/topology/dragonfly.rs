//! Dragonfly (Kim, Dally, Scott, Abts 2008): groups of fully connected routers, groups fully connected by global links.
//!
//! Routes are minimal in the dragonfly's sense: at most one global link, and of the global links between the two groups
//! one that needs the fewest local links; ties go by the destination. (A route over two global links and no local one
//! may be a link shorter in the graph; no dragonfly uses it as a minimal route.)
//!
//! Port `p` of a group leads to the group `1 + p mod (groups - 1)` further on; every other group gets the same number
//! of ports, and ports left over stay unused. Links: into routers by node, out of routers by node, local links by
//! router and peer, global links by group and port.

use std::collections::BTreeSet;

use super::Vertex;

/// The parameters of a dragonfly and what follows from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dragonfly {
    groups: usize,
    routers: usize,
    nodes_per_router: usize,
    /// Global links between each ordered pair of groups.
    copies: usize,
    /// Global links a router has at most, in use.
    ports_per_router: usize,
    /// First link of each kind.
    out_of_router: usize,
    local: usize,
    global: usize,
}

impl Dragonfly {
    pub fn new(groups: usize, routers: usize, nodes_per_router: usize, global_links_per_router: usize) -> Dragonfly {
        let nodes = groups * routers * nodes_per_router;
        let copies = if groups > 1 { routers * global_links_per_router / (groups - 1) } else { 0 };
        let local = 2 * nodes;
        Dragonfly {
            groups,
            routers,
            nodes_per_router,
            copies,
            ports_per_router: (copies * groups.saturating_sub(1)).div_ceil(routers).max(1),
            out_of_router: nodes,
            local,
            global: local + groups * routers * (routers - 1),
        }
    }

    pub fn links(&self) -> usize {
        self.global + self.groups * self.ports()
    }

    /// Ports of one group in use.
    fn ports(&self) -> usize {
        self.copies * (self.groups - 1)
    }

    fn local_link(&self, router: usize, peer: usize) -> usize {
        let group = router - router % self.routers;
        let (index, peer) = (router - group, peer - group);
        self.local + router * (self.routers - 1) + if peer < index { peer } else { peer - 1 }
    }

    /// The router of a group's port.
    fn router_of(&self, group: usize, port: usize) -> usize {
        group * self.routers + port / self.ports_per_router
    }

    /// The other end of a port: group and port.
    fn across(&self, group: usize, port: usize) -> (usize, usize) {
        let others = self.groups - 1;
        let (copy, offset) = (port / others, 1 + port % others);
        ((group + offset) % self.groups, copy * others + (others - offset))
    }

    /// The routers at both ends of the global link that a route between two routers of different groups takes, and the
    /// link.
    fn gateway(&self, from: usize, to: usize, salt: usize) -> (usize, usize, usize) {
        let (group, target) = (from / self.routers, to / self.routers);
        let offset = (target + self.groups - group) % self.groups;
        (0..self.copies)
            .map(|number| {
                let port = (number + salt) % self.copies * (self.groups - 1) + offset - 1;
                let exit = self.router_of(group, port);
                let (_, entry_port) = self.across(group, port);
                (exit, self.global + group * self.ports() + port, self.router_of(target, entry_port))
            })
            .min_by_key(|&(exit, _, entry)| usize::from(exit != from) + usize::from(entry != to))
            .expect("every pair of groups is linked")
    }

    #[inline]
    pub fn route(&self, from: usize, to: usize, mut visit: impl FnMut(usize)) {
        if from == to {
            return;
        }
        let (mut at, last) = (from / self.nodes_per_router, to / self.nodes_per_router);
        visit(from);
        if at / self.routers != last / self.routers {
            let (exit, link, entry) = self.gateway(at, last, to);
            if at != exit {
                visit(self.local_link(at, exit));
            }
            visit(link);
            at = entry;
        }
        if at != last {
            visit(self.local_link(at, last));
        }
        visit(self.out_of_router + to);
    }

    pub fn hops(&self, from: usize, to: usize) -> usize {
        let mut count = 0;
        self.route(from, to, |_| count += 1);
        count
    }

    pub fn diameter(&self) -> usize {
        let within = match (self.routers, self.nodes_per_router) {
            (1, 1) => 0,
            (1, _) => 2,
            _ => 3,
        };
        // Every group sees the groups at an offset alike.
        let across = (1..self.groups).map(|offset| 3 + self.most_local_links(offset)).max();
        across.unwrap_or(0).max(within)
    }

    /// Local links of the longest route to the group `offset` further on.
    fn most_local_links(&self, offset: usize) -> usize {
        let ends = |copy| {
            let port = copy * (self.groups - 1) + offset - 1;
            let (group, entry_port) = self.across(0, port);
            (self.router_of(0, port), self.router_of(group, entry_port))
        };
        let pairs: BTreeSet<(usize, usize)> = (0..self.copies).map(ends).collect();
        let exits: BTreeSet<usize> = pairs.iter().map(|(exit, _)| *exit).collect();
        let entries: BTreeSet<usize> = pairs.iter().map(|(_, entry)| *entry).collect();
        if exits.len() < self.routers && entries.len() < self.routers {
            2
        } else {
            usize::from(pairs.len() < self.routers * self.routers)
        }
    }

    pub fn link_ends(&self, link: usize) -> (Vertex, Vertex) {
        if link < self.out_of_router {
            (Vertex::Node(link), Vertex::Switch(link / self.nodes_per_router))
        } else if link < self.local {
            let node = link - self.out_of_router;
            (Vertex::Switch(node / self.nodes_per_router), Vertex::Node(node))
        } else if link < self.global {
            let index = link - self.local;
            let (router, peer) = (index / (self.routers - 1), index % (self.routers - 1));
            let (group, own) = (router / self.routers * self.routers, router % self.routers);
            (Vertex::Switch(router), Vertex::Switch(group + if peer < own { peer } else { peer + 1 }))
        } else {
            let (group, port) = ((link - self.global) / self.ports(), (link - self.global) % self.ports());
            let (target, entry_port) = self.across(group, port);
            (Vertex::Switch(self.router_of(group, port)), Vertex::Switch(self.router_of(target, entry_port)))
        }
    }
}
