//! Collectives through switches that copy and add: bounds, trees, data.

use std::sync::Arc;

use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{Collective, Fabric, Method, Request, Schedule, alternatives, compile, verify};

/// Nodes at one switch, with what the switch can do.
fn star(nodes: usize, able: &str) -> Fabric {
    let link =
        |node| format!(r#"{{"from": "node {node}", "to": "hub", "bandwidth": 1e9, "latency": 1e-6, "duplex": true}}"#);
    let links: Vec<String> = (0..nodes).map(link).collect();
    let text = format!(
        r#"{{"nodes": {nodes}, "switches": ["hub"], "message_seconds": 2e-6, "links": [{}] {able}}}"#,
        links.join(", ")
    );
    Fabric::from_json(&text, "star.json").unwrap()
}

const BOTH: &str = r#", "multicast": true, "reduction": ["hub"]"#;

fn request(collective: Collective, bytes: u64, method: Method) -> Request {
    Request { collective, bytes, element_bytes: 4, root: 1, method, blocks: None }
}

/// Verifies a schedule, and carries it out with numbers that are compared.
fn executed(schedule: Schedule) {
    verify(&schedule).unwrap_or_else(|error| panic!("{error}: {}", schedule.to_json()));
    let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
    weft_threads::run(program.ranks(), &program, &weft_threads::Options::default()).unwrap();
}

#[test]
fn a_star_that_adds_and_copies_needs_each_byte_once_each_way() {
    for nodes in [2, 3, 8, 9] {
        let schedule =
            compile(&star(nodes, BOTH), &request(Collective::Allreduce, 1 << 20, Method::Throughput)).unwrap();
        let [stage] = &schedule.stages[..] else { panic!("one stage") };
        if nodes > 2 {
            assert_eq!((schedule.form(), stage.trees[0].root), ("in-network trees", nodes));
        }
        assert!((stage.bound.seconds - (1 << 20) as f64 / 1e9).abs() < 1e-9, "{:?}", stage.bound);
        assert!((schedule.efficiency() - 1.0).abs() < 1e-9);
        executed(schedule);
    }
}

#[test]
fn every_collective_goes_through_switches_that_can_do_it() {
    for able in [BOTH, r#", "multicast": true"#, r#", "reduction": true"#] {
        for collective in Collective::ALL {
            let mut through = 0;
            for method in [Method::Auto, Method::Throughput] {
                let request = request(collective, 4 * 1001, method);
                for schedule in alternatives(&star(5, able), &request, 1.0, &Interrupt::NEVER).unwrap() {
                    through += u32::from(schedule.has_switches());
                    executed(schedule);
                }
            }
            let copies =
                able.contains("multicast") && collective.operations().contains(&weft_collectives::Operation::Copy);
            let adds =
                able.contains("reduction") && collective.operations().contains(&weft_collectives::Operation::Reduce);
            // The blocks of an all-to-all have one receiver each, and nothing is added.
            let is_able = collective != Collective::AllToAll && (copies || adds);
            assert_eq!(through > 0, is_able, "{collective:?}{able}");
        }
    }
}

/// Systems of `gpus` nodes with a fast switch in each, whose nodes are also at a slower switch for each of them.
fn rails(systems: usize, gpus: usize, able: &str) -> Fabric {
    let mut links = Vec::new();
    for node in 0..systems * gpus {
        let (system, rail) = (node / gpus, node % gpus);
        links.push(format!(
            r#"{{"from": "node {node}", "to": "fast {system}", "bandwidth": 450e9, "latency": 1e-6, "duplex": true}}"#
        ));
        links.push(format!(
            r#"{{"from": "node {node}", "to": "rail {rail}", "bandwidth": 50e9, "latency": 2e-6, "duplex": true}}"#
        ));
    }
    let names = |kind: &str, count: usize| (0..count).map(|index| format!("\"{kind} {index}\"")).collect::<Vec<_>>();
    let switches = [names("fast", systems), names("rail", gpus)].concat().join(", ");
    let text = format!(
        r#"{{"nodes": {}, "switches": [{switches}], "message_seconds": 4e-6, "links": [{}] {able}}}"#,
        systems * gpus,
        links.join(", ")
    );
    Fabric::from_json(&text, "rails.json").unwrap()
}

#[test]
fn rails_carry_every_byte_once_where_all_switches_add_and_copy() {
    for (systems, gpus) in [(2, 8), (4, 4), (3, 5)] {
        let able = r#", "multicast": true, "reduction": true"#;
        let fabric = rails(systems, gpus, able);
        let schedule = compile(&fabric, &request(Collective::Allreduce, 1 << 20, Method::Throughput)).unwrap();
        // A system has a rail of 50 GB/s for each of its nodes.
        let bound = (1 << 20) as f64 / (gpus as f64 * 50e9);
        assert!((schedule.bound_seconds() / bound - 1.0).abs() < 1e-9, "{}", schedule.bound_seconds());
        assert!(schedule.efficiency() > 0.99, "{systems} x {gpus}: {}", schedule.efficiency());
        executed(schedule);
    }
}

/// A graph that is joined both ways, some of whose vertices are switches, some of which can do something.
fn invented(random: &mut impl rand::RngExt) -> Fabric {
    let (nodes, switches): (usize, usize) = (random.random_range(2..7), random.random_range(1..5));
    let name = |vertex: usize| match vertex.checked_sub(nodes) {
        None => format!("node {vertex}"),
        Some(switch) => format!("switch {switch}"),
    };
    let mut ends: Vec<(usize, usize)> = (nodes..nodes + switches).map(|vertex| (vertex, nodes)).skip(1).collect();
    ends.extend((0..nodes).map(|node| (node, random.random_range(nodes..nodes + switches))));
    ends.extend(
        (0..random.random_range(0..8))
            .map(|_| (random.random_range(0..nodes + switches), random.random_range(0..nodes + switches))),
    );
    let mut links = Vec::new();
    for (from, to) in ends.into_iter().filter(|(from, to)| from != to) {
        let alike = random.random_bool(0.7);
        for (from, to) in [(from, to), (to, from)] {
            let speed = if alike { 4 } else { random.random_range(1..9) };
            let (from, to, latency) = (name(from), name(to), random.random_range(0..5));
            links.push(format!(
                r#"{{"from": "{from}", "to": "{to}", "bandwidth": {speed}e9, "latency": {latency}e-6}}"#
            ));
        }
    }
    let mut some = || -> String {
        let names = (0..switches).filter(|_| random.random_bool(0.6)).map(|switch| format!("\"switch {switch}\""));
        names.collect::<Vec<_>>().join(", ")
    };
    let (multicast, reduction) = (some(), some());
    let text = format!(
        r#"{{"nodes": {nodes}, "switches": {switches}, "message_seconds": 2e-6, "links": [{}],
            "multicast": [{multicast}], "reduction": [{reduction}]}}"#,
        links.join(", ")
    );
    Fabric::from_json(&text, "invented.json").unwrap()
}

#[test]
fn invented_networks_get_right_schedules() {
    use rand::SeedableRng;
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(41);
    let mut through = 0;
    for _ in 0..24 {
        let fabric = invented(&mut random);
        for collective in Collective::ALL {
            for method in [Method::Auto, Method::Throughput] {
                let request = request(collective, 4 * 997, method);
                for schedule in alternatives(&fabric, &request, 0.2, &Interrupt::NEVER).unwrap() {
                    if schedule.has_switches() {
                        through += 1;
                        executed(schedule);
                    }
                }
            }
        }
    }
    assert!(through > 80, "{through}");
}
