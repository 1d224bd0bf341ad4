//! Every topology against plain graph search.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;

use super::*;

/// Small topologies of every kind.
fn topologies() -> impl Strategy<Value = Topology> {
    let extents = || prop::collection::vec(1usize..6, 1..4);
    prop_oneof![
        (0u32..7).prop_map(|dimension| Topology::Hypercube { dimension }),
        extents().prop_map(|extents| Topology::Torus { extents }),
        extents().prop_map(|extents| Topology::Mesh { extents }),
        prop::collection::vec((1usize..5, 1usize..4), 1..4).prop_map(|levels| {
            let (children, parents) = levels.into_iter().unzip();
            Topology::FatTree { children, parents }
        }),
        (1usize..6, 1usize..5, 1usize..4, 0usize..4).prop_map(
            |(groups, routers_per_group, nodes_per_router, extra)| {
                let needed = (groups - 1).div_ceil(routers_per_group);
                Topology::Dragonfly {
                    groups,
                    routers_per_group,
                    nodes_per_router,
                    global_links_per_router: needed + extra,
                }
            }
        ),
        (1usize..20).prop_map(|nodes| Topology::Crossbar { nodes }),
    ]
}

fn topology_and_pair() -> impl Strategy<Value = (Topology, usize, usize)> {
    topologies().prop_flat_map(|topology| {
        let nodes = topology.nodes();
        (Just(topology), 0..nodes, 0..nodes)
    })
}

fn route(topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    let mut links = Vec::new();
    topology.route(from, to, |link| links.push(link));
    links
}

/// Links from `from` to every vertex, over the links that `allowed` lets pass.
fn distances(topology: &Topology, from: usize, allowed: impl Fn(Vertex, Vertex) -> bool) -> HashMap<Vertex, usize> {
    let mut out: HashMap<Vertex, Vec<Vertex>> = HashMap::new();
    for (start, end) in (0..topology.links()).map(|link| topology.link_ends(link)) {
        if allowed(start, end) {
            out.entry(start).or_default().push(end);
        }
    }
    let mut distance = HashMap::from([(Vertex::Node(from), 0)]);
    let mut queue = VecDeque::from([Vertex::Node(from)]);
    while let Some(at) = queue.pop_front() {
        for &next in out.get(&at).into_iter().flatten() {
            if !distance.contains_key(&next) {
                distance.insert(next, distance[&at] + 1);
                queue.push_back(next);
            }
        }
    }
    distance
}

/// Which links a minimal route may use: all, but on a dragonfly only those within and between the two groups.
fn minimal(topology: &Topology, from: usize, to: usize) -> usize {
    let distance = match *topology {
        Topology::Dragonfly { routers_per_group, nodes_per_router, .. } => {
            let group = |vertex| match vertex {
                Vertex::Node(node) => node / nodes_per_router / routers_per_group,
                Vertex::Switch(router) => router / routers_per_group,
            };
            let ends = [group(Vertex::Node(from)), group(Vertex::Node(to))];
            distances(topology, from, |start, end| {
                let (start, end) = (group(start), group(end));
                start == end || [start, end] == ends
            })
        }
        _ => distances(topology, from, |_, _| true),
    };
    distance[&Vertex::Node(to)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_route_is_connected_and_minimal((topology, from, to) in topology_and_pair()) {
        prop_assert_eq!(topology.validate(), Ok(()));
        let links = route(&topology, from, to);
        let mut at = Vertex::Node(from);
        for &link in &links {
            prop_assert!(link < topology.links());
            let (start, end) = topology.link_ends(link);
            prop_assert_eq!(start, at);
            at = end;
        }
        prop_assert_eq!(at, Vertex::Node(to));
        prop_assert_eq!(links.len(), minimal(&topology, from, to));
        prop_assert_eq!(links.len(), topology.hops(from, to));
        prop_assert!(links.len() <= topology.diameter());
    }

    #[test]
    fn a_router_gives_the_same_routes((topology, from, to) in topology_and_pair()) {
        let router = topology.router();
        let mut links = Vec::new();
        router.route(from, to, |link| links.push(link));
        prop_assert_eq!(&links, &route(&topology, from, to));
        prop_assert_eq!(router.hops(from, to), links.len());
        prop_assert_eq!(router.next_hop(from, to), topology.next_hop(from, to));
    }

    #[test]
    fn next_hops_walk_the_route((topology, from, to) in topology_and_pair()) {
        if topology.is_direct() {
            let (mut at, mut links) = (from, Vec::new());
            while let Some((link, next)) = topology.next_hop(at, to) {
                prop_assert_eq!(topology.link_ends(link), (Vertex::Node(at), Vertex::Node(next)));
                links.push(link);
                at = next;
            }
            prop_assert_eq!(at, to);
            prop_assert_eq!(links, route(&topology, from, to));
        } else {
            prop_assert_eq!(topology.next_hop(from, to), None);
        }
    }

    #[test]
    fn links_join_vertices_that_exist(topology in topologies()) {
        for link in 0..topology.links() {
            let (start, end) = topology.link_ends(link);
            prop_assert_ne!(start, end);
            for vertex in [start, end] {
                match vertex {
                    Vertex::Node(node) => prop_assert!(node < topology.nodes()),
                    Vertex::Switch(switch) => prop_assert!(switch < topology.switches()),
                }
            }
        }
        // Every link has its opposite, so a vertex has as many links in as out.
        let mut count: HashMap<(Vertex, Vertex), i64> = HashMap::new();
        for (start, end) in (0..topology.links()).map(|link| topology.link_ends(link)) {
            *count.entry((start, end)).or_default() += 1;
            *count.entry((end, start)).or_default() -= 1;
        }
        prop_assert!(count.values().all(|&balance| balance == 0));
    }

    #[test]
    fn the_diameter_is_the_longest_route(topology in topologies()) {
        let nodes = topology.nodes();
        let longest = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)))
            .map(|(from, to)| topology.hops(from, to)).max();
        prop_assert_eq!(Some(topology.diameter()), longest);
    }

    #[test]
    fn neighbours_are_the_nearest_nodes((topology, node, _) in topology_and_pair()) {
        let mut neighbours = topology.neighbours(node);
        let distance: Vec<_> = (0..topology.nodes()).map(|other| topology.hops(node, other)).collect();
        let nearest = distance.iter().filter(|&&hops| hops > 0).min();
        let expected: Vec<_> = (0..topology.nodes()).filter(|&other| Some(&distance[other]) == nearest).collect();
        neighbours.sort_unstable();
        prop_assert_eq!(neighbours, expected);
    }

    #[test]
    fn at_distance_finds_a_node_where_there_is_one((topology, from, _) in topology_and_pair(), hops in 0usize..12) {
        let exists = (0..topology.nodes()).any(|to| topology.hops(from, to) == hops);
        match topology.at_distance(from, hops) {
            Some(to) => prop_assert_eq!(topology.hops(from, to), hops),
            None => prop_assert!(!exists),
        }
    }

    #[test]
    fn the_ring_order_visits_all_and_steps_to_neighbours(topology in topologies()) {
        let order = topology.ring_order();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..topology.nodes()).collect::<Vec<_>>());
        prop_assert_eq!(order[0], 0);
        if !topology.is_direct() {
            return Ok(());
        }
        for pair in order.windows(2) {
            prop_assert_eq!(topology.hops(pair[0], pair[1]), 1);
        }
        let closes = match &topology {
            Topology::Mesh { extents } => {
                topology.nodes() % 2 == 0 && extents.iter().filter(|&&extent| extent > 1).count() > 1
            }
            _ => topology.nodes() > 1,
        };
        if closes {
            prop_assert_eq!(topology.hops(order[order.len() - 1], order[0]), 1);
        }
    }

    #[test]
    fn gray_neighbours_of_a_grid_are_hypercube_neighbours(bits in prop::collection::vec(0u32..4, 1..4)) {
        let cube = Topology::Hypercube { dimension: bits.iter().sum() };
        let shape: Vec<usize> = bits.iter().map(|bits| 1 << bits).collect();
        let nodes = Embedding::Gray.embed(&cube, &shape).unwrap();
        let grid = Topology::Torus { extents: shape };
        for rank in 0..grid.nodes() {
            for other in grid.neighbours(rank) {
                prop_assert_eq!(cube.hops(nodes[rank], nodes[other]), 1);
            }
        }
    }
}

#[test]
fn a_route_on_a_torus_takes_the_shorter_way_round() {
    let torus = Topology::Torus { extents: vec![8, 8] };
    assert_eq!(torus.hops(0, 7 * 8 + 7), 2);
    assert_eq!(torus.hops(0, 4 * 8 + 4), 8);
    // Equally long ways go up: line 0 of axis 0 has the links 0..8.
    assert_eq!(route(&torus, 0, 4 * 8), [0, 1, 2, 3]);
}

#[test]
fn the_echo_partners_of_dunigan_flip_the_lowest_bits() {
    let cube = Topology::Hypercube { dimension: 6 };
    assert_eq!((0..=6).map(|hops| cube.at_distance(0, hops).unwrap()).collect::<Vec<_>>(), [0, 1, 3, 7, 15, 31, 63]);
    assert_eq!(cube.at_distance(0, 7), None);
}

#[test]
fn fat_tree_destinations_spread_over_the_up_links() {
    let tree = Topology::FatTree { children: vec![4, 4], parents: vec![1, 4] };
    let first_links: std::collections::HashSet<usize> = (4..8).map(|to| route(&tree, 0, to)[1]).collect();
    assert_eq!(first_links.len(), 4);
}

#[test]
fn parameters_out_of_range_are_named() {
    let cases = [
        (Topology::Hypercube { dimension: 25 }, "dimension: expected 0 to 24 (at most 16777216 nodes)"),
        (Topology::Torus { extents: vec![] }, "extents: expected 1 to 16 numbers of nodes, one for each axis"),
        (Topology::Mesh { extents: vec![4, 0] }, "extents: expected at least 1 node on every axis"),
        (Topology::Torus { extents: vec![usize::MAX, 2] }, "extents: expected at most 16777216 nodes in all"),
        (
            Topology::FatTree { children: vec![4, 4], parents: vec![1] },
            "parents: expected 2 numbers, as many as children",
        ),
        (
            Topology::Dragonfly { groups: 9, routers_per_group: 2, nodes_per_router: 1, global_links_per_router: 3 },
            "global_links_per_router: expected at least 4, so that each of the 9 groups is linked to every other",
        ),
        (Topology::Crossbar { nodes: 0 }, "nodes: expected at least 1"),
    ];
    for (topology, message) in cases {
        assert_eq!(topology.validate().unwrap_err().to_string(), message);
    }
}

#[test]
fn embeddings_that_do_not_fit_say_so() {
    let cube = Topology::Hypercube { dimension: 3 };
    let message = |embedding: Embedding, shape: &[usize]| embedding.embed(&cube, shape).unwrap_err().to_string();
    assert_eq!(message(Embedding::Identity, &[3, 3]), "9 ranks do not fit on 8 nodes");
    assert_eq!(
        message(Embedding::Gray, &[3, 2]),
        "the Gray embedding needs a power of two of ranks on every axis, not 3"
    );
}
