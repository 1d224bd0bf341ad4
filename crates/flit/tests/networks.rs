//! Laws that hold in every network, latencies that can be told in advance, and what routers refuse.

use weft_base::Interrupt;
use weft_flit::{Algorithm, Measured, Options, Pattern, Plan, Simulation, Traffic, measure};
use weft_machine::Topology;

fn options() -> Options {
    Options {
        channels: 2,
        buffer: 4,
        tail_credit: false,
        credit_delay: 1,
        algorithm: Algorithm::Deterministic,
        packet: 8,
        load: 0.05,
        seed: 1,
    }
}

fn torus() -> Topology {
    Topology::Torus { extents: vec![8, 8] }
}

fn point(topology: &Topology, pattern: Pattern, options: Options, cycles: u64) -> Measured {
    let traffic = Traffic::new(pattern, topology).unwrap();
    let mut network = Simulation::new(topology, traffic, options).unwrap();
    measure(&mut network, Plan { warmup: 2000, cycles }, &Interrupt::NEVER).unwrap()
}

/// What a topology can be routed by.
fn algorithms(topology: &Topology) -> Vec<Algorithm> {
    let traffic = Traffic::new(Pattern::Uniform, topology).unwrap();
    let is_possible = |&algorithm: &Algorithm| {
        Simulation::new(topology, traffic.clone(), Options { channels: 3, algorithm, ..options() }).is_ok()
    };
    let possible: Vec<Algorithm> = Algorithm::ALL.into_iter().filter(is_possible).collect();
    let expected = match topology {
        Topology::Dragonfly { .. } => &[Algorithm::Deterministic][..],
        Topology::FatTree { .. } | Topology::Crossbar { .. } => &Algorithm::ALL,
        _ => &[Algorithm::Deterministic, Algorithm::MinimalAdaptive],
    };
    assert_eq!(possible, expected, "{topology:?}");
    possible
}

/// A network at a load that is next to nothing: five cycles a link, seven through the last router, one for each flit
/// behind the head.
#[test]
fn an_empty_network_takes_the_time_of_its_stages() {
    for (topology, pattern, links) in [
        (torus(), Pattern::Neighbour, 2),
        (torus(), Pattern::Tornado, 6),
        (Topology::Hypercube { dimension: 5 }, Pattern::BitComplement, 5),
        (Topology::Crossbar { nodes: 6 }, Pattern::Neighbour, 0),
        (Topology::FatTree { children: vec![4, 4], parents: vec![1, 2] }, Pattern::BitComplement, 2),
    ] {
        for packet in [1, 8] {
            let options = Options { buffer: 8, packet, load: 1e-4, ..options() };
            let measured = point(&topology, pattern, options, 200_000);
            let expected = f64::from(5 * links + 7 + packet - 1);
            // A packet in a thousand meets another.
            assert!((measured.latency / expected - 1.0).abs() < 0.01, "{topology:?}: {} {expected}", measured.latency);
        }
    }
}

/// A buffer of four flits with six cycles from a grant to its credit's use: a packet of eight stops once for two cycles.
#[test]
fn a_short_buffer_waits_for_credits() {
    let latency = |buffer, credit_delay, links: Pattern| {
        let options = Options { buffer, credit_delay, load: 1e-4, ..options() };
        point(&torus(), links, options, 200_000).latency.round()
    };
    let two_links = 2.0 * 5.0 + 7.0 + 7.0;
    assert_eq!(latency(8, 1, Pattern::Neighbour), two_links);
    assert_eq!(latency(4, 1, Pattern::Neighbour), two_links + 2.0);
    assert_eq!(latency(4, 0, Pattern::Neighbour), two_links + 1.0);
}

/// Below saturation what is made arrives, on every topology and by both ways of routing.
#[test]
fn everything_arrives() {
    let tree = Topology::FatTree { children: vec![4, 4], parents: vec![1, 4] };
    let dragonfly =
        Topology::Dragonfly { groups: 5, routers_per_group: 2, nodes_per_router: 2, global_links_per_router: 2 };
    let mesh = Topology::Mesh { extents: vec![4, 3, 2] };
    let cube = Topology::Hypercube { dimension: 4 };
    for topology in [torus(), Topology::Torus { extents: vec![2, 5, 1] }, tree, dragonfly, mesh, cube] {
        for algorithm in algorithms(&topology) {
            for tail_credit in [false, true] {
                let options = Options { channels: 3, tail_credit, algorithm, ..options() };
                let measured = point(&topology, Pattern::Uniform, options, 20_000);
                assert!(!measured.saturated, "{topology:?} {algorithm:?}");
                assert!((measured.accepted / measured.offered - 1.0).abs() < 0.01, "{topology:?} {algorithm:?}");
                assert!((measured.offered / 0.05 - 1.0).abs() < 0.1, "{topology:?} {algorithm:?}");
            }
        }
    }
}

/// Offered more than it can take, a network goes on at a steady rate: no deadlock, whatever the pattern and the routing.
#[test]
fn overload_does_not_stop_the_network() {
    for (topology, patterns) in [
        (torus(), &[Pattern::Uniform, Pattern::Tornado, Pattern::Transpose, Pattern::HotSpot][..]),
        (Topology::Mesh { extents: vec![8, 8] }, &[Pattern::Uniform, Pattern::BitReverse, Pattern::Transpose]),
        (Topology::Hypercube { dimension: 6 }, &[Pattern::Transpose, Pattern::BitReverse]),
        (Topology::FatTree { children: vec![4, 4], parents: vec![1, 2] }, &[Pattern::Uniform]),
    ] {
        for algorithm in algorithms(&topology) {
            for &pattern in patterns {
                let options = Options { channels: 4, algorithm, load: 1.0, ..options() };
                let measured = point(&topology, pattern, options, 4000);
                assert!(measured.saturated && measured.accepted > 0.02, "{topology:?} {algorithm:?} {pattern:?}");
            }
        }
    }
}

/// Tornado traffic on a ring: everybody sends three links up, so that a link carries three times a node's load.
#[test]
fn a_ring_takes_at_most_a_third_of_a_flit_of_tornado_traffic() {
    let ring = Topology::Torus { extents: vec![8] };
    let options = Options { channels: 8, buffer: 16, load: 0.9, ..options() };
    let accepted = point(&ring, Pattern::Tornado, options, 20_000).accepted;
    // Three of eight nodes cross the dateline, so that a class has less than the whole link.
    assert!((0.2..0.334).contains(&accepted), "{accepted}");
}

/// Transposing a mesh goes through few links in dimension order, and through many where packets may choose.
#[test]
fn adaptive_routing_takes_more_of_a_transposition() {
    let mesh = Topology::Mesh { extents: vec![8, 8] };
    let accepted = |algorithm| {
        let options = Options { channels: 4, buffer: 8, load: 0.6, algorithm, ..options() };
        point(&mesh, Pattern::Transpose, options, 6000).accepted
    };
    let (fixed, adaptive) = (accepted(Algorithm::Deterministic), accepted(Algorithm::MinimalAdaptive));
    assert!(adaptive > 1.1 * fixed, "{fixed} {adaptive}");
}

/// Holding a channel until its tail's credit is back costs throughput where channels are few.
#[test]
fn waiting_for_the_tail_costs_throughput() {
    let accepted =
        |tail_credit| point(&torus(), Pattern::Uniform, Options { tail_credit, load: 0.5, ..options() }, 6000);
    let (early, late) = (accepted(false).accepted, accepted(true).accepted);
    assert!(late < 0.9 * early, "{early} {late}");
}

#[test]
fn one_seed_gives_one_result() {
    let at = |seed| point(&torus(), Pattern::Uniform, Options { seed, ..options() }, 4000);
    assert_eq!(at(3), at(3));
    assert_ne!(at(3).latency, at(4).latency);
}

#[test]
fn what_no_router_has_is_refused() {
    let refused = |topology: Topology, options: Options| {
        let traffic = Traffic::new(Pattern::Uniform, &topology).unwrap();
        Simulation::new(&topology, traffic, options).unwrap_err().to_string()
    };
    let text = refused(torus(), Options { channels: 1, ..options() });
    assert!(text.contains("2 virtual channels or more"), "{text}");
    let text = refused(torus(), Options { channels: 2, algorithm: Algorithm::MinimalAdaptive, ..options() });
    assert!(text.contains("adaptive") && text.contains('3'), "{text}");
    let text = refused(torus(), Options { channels: 13, ..options() });
    assert!(text.contains("5 ports") && text.contains("1 to 12"), "{text}");
    let text = refused(torus(), Options { buffer: 129, ..options() });
    assert!(text.contains("1 to 128"), "{text}");
    let text = refused(torus(), Options { load: 9.0, ..options() });
    assert!(text.contains("at most 8"), "{text}");
    let tree = Topology::FatTree { children: vec![4], parents: vec![2] };
    assert!(refused(tree, options()).contains("several links"));
    let text = refused(torus(), Options { algorithm: Algorithm::Random, ..options() });
    assert!(text.contains("parents of a fat tree") && text.contains("deterministic or adaptive"), "{text}");
    let odd = Topology::Torus { extents: vec![8] };
    let text = Traffic::new(Pattern::Transpose, &odd).unwrap_err();
    assert!(text.contains("power of four"), "{text}");
}

#[test]
fn an_interrupt_ends_it() {
    let traffic = Traffic::new(Pattern::Uniform, &torus()).unwrap();
    let mut network = Simulation::new(&torus(), traffic, options()).unwrap();
    let plan = Plan { warmup: 1 << 40, cycles: 1 << 40 };
    assert_eq!(measure(&mut network, plan, &Interrupt::new(|| true)), None);
}
