//! Compiled collectives on many kinds of network: right by the verifier, at the certified optimum, and refused otherwise.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{Collective, Fabric, Link, Method, Request, Schedule, Stage, alternatives, compile, verify};
use weft_machine::Topology;

/// A network of `ranks` ranks and `switches` switches with links both ways: ends, bandwidth.
fn network(name: &str, ranks: usize, switches: usize, links: &[(usize, usize, f64)]) -> Fabric {
    let both = |&(from, to, bandwidth): &(usize, usize, f64)| {
        [Link { from, to, bandwidth, latency: 1e-6 }, Link { from: to, to: from, bandwidth, latency: 1e-6 }]
    };
    Fabric {
        name: name.to_owned(),
        vertices: (0..ranks + switches).map(|vertex| format!("v{vertex}")).collect(),
        ranks: (0..ranks).collect(),
        links: links.iter().flat_map(both).collect(),
        message_seconds: 1e-6,
        forwards: false,
        in_network: Vec::new(),
        routes: None,
    }
}

fn of_topology(name: &str, topology: &Topology, missing: Option<usize>) -> Fabric {
    let nodes = topology.nodes();
    let vertex = |end| match end {
        weft_machine::Vertex::Node(node) => node,
        weft_machine::Vertex::Switch(switch) => nodes + switch,
    };
    let mut links: Vec<Link> = (0..topology.links())
        .map(|link| topology.link_ends(link))
        .map(|(from, to)| Link { from: vertex(from), to: vertex(to), bandwidth: 25e9, latency: 1e-6 })
        .filter(|link| link.from != link.to)
        .collect();
    if let Some(missing) = missing {
        let gone = links[missing];
        links.retain(|link| {
            (link.from, link.to) != (gone.from, gone.to) && (link.from, link.to) != (gone.to, gone.from)
        });
    }
    let vertices = (0..nodes + topology.switches()).map(|vertex| format!("v{vertex}")).collect();
    Fabric {
        name: name.to_owned(),
        vertices,
        ranks: (0..nodes).collect(),
        links,
        message_seconds: 1e-6,
        forwards: false,
        in_network: Vec::new(),
        routes: None,
    }
}

/// Systems of eight accelerators with a fast switch inside, and a switch for every rail outside.
fn rails(systems: usize) -> Fabric {
    let ranks = systems * 8;
    let inside = (0..ranks).map(|rank| (rank, ranks + rank / 8, 450e9));
    let outside = (0..ranks).map(|rank| (rank, ranks + systems + rank % 8, 50e9));
    let links: Vec<_> = inside.chain(outside).collect();
    network("rails", ranks, systems + 8, &links)
}

fn random(seed: u64, vertices: usize) -> Fabric {
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
    let ranks = random.random_range(vertices / 2..=vertices);
    let speeds = [10e9, 25e9, 40e9, 100e9];
    let mut links: Vec<(usize, usize, f64)> = (1..vertices)
        .map(|vertex| (random.random_range(0..vertex), vertex, speeds[random.random_range(0..4)]))
        .collect();
    for _ in 0..vertices {
        let (from, to) = (random.random_range(0..vertices), random.random_range(0..vertices));
        if from != to {
            links.push((from, to, speeds[random.random_range(0..4)]));
        }
    }
    network("random", ranks, vertices - ranks, &links)
}

fn compiled(fabric: &Fabric, collective: Collective) -> Schedule {
    let request =
        Request { collective, bytes: 1 << 20, element_bytes: 4, root: 1, method: Method::Throughput, blocks: None };
    let schedule = compile(fabric, &request).unwrap_or_else(|error| panic!("{}: {error}", fabric.name));
    verify(&schedule).unwrap_or_else(|error| panic!("{} {}: {error}", fabric.name, collective.name()));
    schedule
}

fn expect_optimal(fabric: &Fabric) {
    for collective in Collective::ALL {
        let efficiency = compiled(fabric, collective).efficiency();
        assert!(efficiency > 0.99, "{} {}: {efficiency}", fabric.name, collective.name());
    }
}

#[test]
fn direct_networks_are_used_fully() {
    let torus = Topology::Torus { extents: vec![3, 4] };
    expect_optimal(&of_topology("torus", &torus, None));
    expect_optimal(&of_topology("torus with a link missing", &torus, Some(5)));
    expect_optimal(&of_topology("mesh", &Topology::Mesh { extents: vec![2, 5] }, None));
    expect_optimal(&of_topology("hypercube", &Topology::Hypercube { dimension: 3 }, None));
}

#[test]
fn more_ranks_than_are_packed_get_trees_along_axes() {
    // Axes of unequal length need shapes in proportions that one root alone has too few trees for.
    let torus = of_topology("torus", &Topology::Torus { extents: vec![8, 4, 4] }, None);
    let schedule = compiled(&torus, Collective::Allgather);
    assert!(schedule.efficiency() > 0.99, "{}", schedule.efficiency());
    let trees = &schedule.stages[0].trees;
    assert!(trees.iter().all(|tree| tree.transfers.len() == 127) && trees.len() <= 24 * 128);
}

#[test]
fn switched_networks_are_used_fully() {
    expect_optimal(&rails(2));
    expect_optimal(&of_topology("crossbar", &Topology::Crossbar { nodes: 6 }, None));
    expect_optimal(&of_topology("tree", &Topology::FatTree { children: vec![4, 3], parents: vec![1, 2] }, None));
    let dragonfly =
        Topology::Dragonfly { groups: 3, routers_per_group: 2, nodes_per_router: 2, global_links_per_router: 1 };
    expect_optimal(&of_topology("dragonfly", &dragonfly, None));
}

#[test]
fn random_networks_of_unequal_links_are_used_fully() {
    (0..12).for_each(|seed| expect_optimal(&random(seed, 6 + seed as usize)));
}

#[test]
fn parallel_links_of_unequal_speed_count_as_one() {
    // Two links beside each other, directly and through a switch: no common divisor of their sums divides both.
    let links = [(0, 1, 30e9), (0, 1, 20e9), (1, 2, 50e9), (0, 3, 20e9), (3, 2, 30e9), (3, 2, 10e9)];
    expect_optimal(&network("parallel links", 3, 1, &links));
}

#[test]
fn few_messages_are_there_without_axes_too() {
    let torus = Topology::Torus { extents: vec![3, 4] };
    let networks = [of_topology("torus", &torus, None), of_topology("a link missing", &torus, Some(2)), rails(2)];
    let mut without = 0;
    for fabric in networks.into_iter().chain((0..4).map(|seed| random(seed, 12))) {
        for collective in Collective::ALL {
            let request = Request {
                collective,
                bytes: 1 << 12,
                element_bytes: 4,
                root: 1,
                method: Method::Latency,
                blocks: None,
            };
            match compile(&fabric, &request) {
                Ok(schedule) => {
                    verify(&schedule).unwrap();
                    // Blocks go by themselves where that is as few as can be.
                    let is_direct = |stage: &Stage| stage.form.as_deref() == Some("direct messages");
                    let is_few = |stage: &Stage| stage.merged || stage.trees.len() == 1 || is_direct(stage);
                    assert!(schedule.exchange.is_some() || schedule.stages.iter().all(is_few));
                }
                // Where everybody sends on around a ring, merged messages wait for each other.
                Err(error) => {
                    assert!(matches!(collective, Collective::Allgather | Collective::ReduceScatter));
                    let expected =
                        "cannot be one message, as such messages would wait for each other; leave out the method";
                    assert!(error.to_string().contains(expected), "{error}");
                    without += 1;
                }
            }
        }
    }
    assert!(without <= 6, "{without} of 35");
}

/// Where no message passes a rank there are no exchanges; a short allreduce then takes one reduction and one broadcast.
#[test]
fn a_short_allreduce_is_a_tree_there_and_back() {
    let torus = Topology::Torus { extents: vec![8, 4] };
    let line: Vec<_> = (0..11).map(|rank| (rank, rank + 1, 10e9)).collect();
    // A star around a rank, and systems behind a switch each that only their first rank is joined to others by.
    let star: Vec<_> = (1..9).map(|rank| (0, rank, 25e9)).collect();
    let gates: Vec<_> = (0..12).map(|rank| (rank, 12 + rank / 4, 450e9)).chain([(0, 4, 25e9), (4, 8, 25e9)]).collect();
    for fabric in [
        of_topology("a torus without a link", &torus, Some(2)),
        network("a line", 12, 0, &line),
        network("a star", 9, 0, &star),
        network("gates", 12, 3, &gates),
    ] {
        let of = |collective, root| {
            let method = Method::Auto;
            let bytes = 4 * fabric.ranks.len() as u64;
            let schedule =
                compile(&fabric, &Request { collective, bytes, element_bytes: 4, root, method, blocks: None }).unwrap();
            verify(&schedule).unwrap_or_else(|error| panic!("{} {}: {error}", fabric.name, collective.name()));
            schedule
        };
        let schedule = of(Collective::Allreduce, 0);
        let both = |root| of(Collective::Reduce, root).seconds() + of(Collective::Broadcast, root).seconds();
        let least = (0..fabric.ranks.len()).map(both).fold(f64::INFINITY, f64::min);
        // The overheads of a rank that passes messages both ways are counted together, those of its last two besides.
        let most = least + 2.001 * fabric.message_seconds;
        assert!(schedule.seconds() <= most, "{}: {} {least}", fabric.name, schedule.seconds());
        assert_eq!((schedule.form(), schedule.trees()), ("reduce-broadcast trees", 1), "{}", fabric.name);
        let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
        weft_threads::run(program.ranks(), &program, &weft_threads::Options::default()).unwrap();
    }
}

/// Interrupted at its n-th question, and how many there have been.
fn after(questions: usize) -> (Interrupt, Rc<Cell<usize>>) {
    let asked = Rc::new(Cell::new(0));
    let counted = Rc::clone(&asked);
    let ask = move || counted.replace(counted.get() + 1) >= questions;
    (Interrupt::new(ask), asked)
}

#[test]
fn what_there_is_at_an_interruption_is_right_whenever_it_comes() {
    let torus = of_topology("torus", &Topology::Torus { extents: vec![3, 4] }, Some(2));
    let mut one_way = random(5, 14);
    one_way.links.pop();
    for fabric in [rails(2), torus, random(3, 12), one_way] {
        for collective in [Collective::Allgather, Collective::Allreduce, Collective::Reduce] {
            for method in [Method::Auto, Method::Throughput] {
                let request = Request { collective, bytes: 1 << 20, element_bytes: 4, root: 1, method, blocks: None };
                let (never, asked) = after(usize::MAX);
                let full = alternatives(&fabric, &request, 1.0, &never).unwrap();
                let most = asked.get();
                let (mut without, mut kept) = (0, 0);
                for questions in (0..20.min(most)).chain((20..most).step_by(1 + most / 40)) {
                    match alternatives(&fabric, &request, 1.0, &after(questions).0) {
                        Ok(schedules) => {
                            kept += 1;
                            for schedule in &schedules {
                                verify(schedule).unwrap_or_else(|error| panic!("{}: {error}", fabric.name));
                            }
                            let (early, late) = (schedules[0].efficiency(), full[0].efficiency());
                            assert!(method == Method::Auto || early <= late * 1.002, "{}", fabric.name);
                        }
                        Err(error) => {
                            without += 1;
                            assert_eq!(error.to_string(), "interrupted before there was a schedule");
                        }
                    }
                }
                assert_eq!((without, kept > 0), (0, true), "{} {}", fabric.name, collective.name());
            }
        }
    }
}

#[test]
fn without_effort_there_is_a_schedule_all_the_same() {
    for fabric in [rails(2), random(3, 12), of_topology("mesh", &Topology::Mesh { extents: vec![2, 5] }, None)] {
        for collective in Collective::ALL {
            let request =
                Request { collective, bytes: 1 << 20, element_bytes: 4, root: 1, method: Method::Auto, blocks: None };
            let schedules = alternatives(&fabric, &request, 0.0, &Interrupt::NEVER).unwrap();
            schedules.iter().for_each(|schedule| verify(schedule).unwrap());
        }
    }
}

#[test]
fn a_small_group_of_a_large_network_is_reached_through_what_is_near() {
    // Most of these nodes are on no short path between the ranks; with and without a link missing.
    for missing in [None, Some(7)] {
        let torus = of_topology("a torus", &Topology::Torus { extents: vec![8, 8, 6] }, missing);
        let torus = Fabric { forwards: true, ..torus };
        let group = torus.with_group(&[0, 1, 9, 50, 81, 130, 383]).unwrap();
        for collective in [Collective::Broadcast, Collective::Reduce, Collective::Allgather] {
            let efficiency = compiled(&group, collective).efficiency();
            assert!(efficiency > 0.99, "{missing:?} {}: {efficiency}", collective.name());
        }
    }
}

#[test]
fn a_group_that_is_spread_over_a_pod_reaches_its_cut() {
    let pod = Fabric { forwards: true, ..of_topology("a pod", &Topology::Torus { extents: vec![16, 16, 16] }, None) };
    // 23 chips, none near another: all links of the pod could be of use to them.
    let group: Vec<usize> = (0..23).map(|rank| (rank * 997 + 5) % 4096).collect();
    let group = pod.with_group(&group).unwrap();
    let efficiency = compiled(&group, Collective::Allgather).efficiency();
    assert!(efficiency > 0.99, "{efficiency}");
}

#[test]
fn more_ranks_than_trees_may_have_are_movements_of_the_first() {
    let pod = of_topology("a pod", &Topology::Torus { extents: vec![16, 16, 16] }, None);
    for collective in [Collective::Allgather, Collective::ReduceScatter, Collective::Allreduce] {
        let request =
            Request { collective, bytes: 4 << 20, element_bytes: 4, root: 0, method: Method::Throughput, blocks: None };
        let schedule = compile(&pod, &request).unwrap();
        verify(&schedule).unwrap();
        assert!(schedule.efficiency() >= 0.99, "{}: {}", collective.name(), schedule.efficiency());
        let written: usize = schedule.stages.iter().map(|stage| stage.trees.len()).sum();
        assert_eq!(schedule.trees(), 4096 * written as u64);
        assert!(schedule.stages.iter().all(|stage| stage.translated == Some(vec![16, 16, 16])));
    }
    // A pod without a link does not look the same from every chip.
    let broken = of_topology("a broken pod", &Topology::Torus { extents: vec![16, 16, 16] }, Some(5));
    let method = Method::Throughput;
    let request =
        Request { collective: Collective::Allgather, bytes: 4 << 20, element_bytes: 4, root: 0, method, blocks: None };
    let error = compile(&broken, &request).unwrap_err().to_string();
    assert!(error.contains("4096 trees of 4095 transfers are more than a schedule may have"), "{error}");
}
