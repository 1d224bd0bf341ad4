//! All-to-alls: verified, executed with data, near what nobody can beat, and refused when they are changed.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{
    Collective, Fabric, Message, Method, Operation, Request, Round, Schedule, alternatives, compile, timeline, verify,
};
use weft_machine::{Machine, Topology};
use weft_sim::{Options, Placement};

fn request(bytes: u64, method: Method) -> Request {
    Request { collective: Collective::AllToAll, bytes, element_bytes: 4, root: 0, method, blocks: None }
}

fn all(fabric: &Fabric, bytes: u64) -> Vec<Schedule> {
    let schedules = alternatives(fabric, &request(bytes, Method::Auto), 1.0, &Interrupt::NEVER).unwrap();
    schedules.iter().for_each(|schedule| {
        verify(schedule).unwrap_or_else(|error| panic!("{} {}: {error}", fabric.name, schedule.form()));
    });
    schedules
}

fn executed(schedule: Schedule) {
    let ranks = schedule.fabric.ranks.len();
    let program = Timed::new(Arc::new(schedule), false, 2).unwrap();
    weft_threads::run(ranks, &program, &weft_threads::Options::default()).unwrap();
}

fn graph(nodes: usize, switches: usize, links: &[(usize, usize, f64)]) -> Fabric {
    let name = |vertex: usize| match vertex.checked_sub(nodes) {
        None => format!("node {vertex}"),
        Some(switch) => format!("switch {switch}"),
    };
    let links: Vec<String> = links
        .iter()
        .map(|&(from, to, bandwidth)| {
            let (from, to) = (name(from), name(to));
            format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": {bandwidth}, "latency": 1e-6}}"#)
        })
        .collect();
    let links = links.join(", ");
    let text = format!(r#"{{"nodes": {nodes}, "switches": {switches}, "message_seconds": 1e-6, "links": [{links}]}}"#);
    Fabric::from_json(&text, "graph.json").unwrap()
}

/// Rings one way and both ways, lines and stars, with every pair of vertices by their links.
fn ring(nodes: usize, is_duplex: bool) -> Fabric {
    let links = (0..nodes).flat_map(|node| {
        let next = (node + 1) % nodes;
        [(node, next, 1e9)].into_iter().chain(is_duplex.then_some((next, node, 1e9)))
    });
    graph(nodes, 0, &links.collect::<Vec<_>>())
}

fn described(name: &str, topology: Topology) -> Machine {
    let mut machine = weft_machine::find(name).unwrap();
    machine.topology = topology;
    machine
}

fn throughput(fabric: &Fabric, bytes: u64) -> Schedule {
    let schedule = compile(fabric, &request(bytes, Method::Throughput)).unwrap();
    verify(&schedule).unwrap();
    schedule
}

#[test]
fn bounds_are_those_that_are_known() {
    // Of a ring one way every byte crosses (n - 1 + ... + 1) / (n - 1) links in the mean, of one both ways about n / 4; of a
    // star n - 1 blocks leave a node.
    let block = 1 << 20;
    for nodes in [2u64, 3, 4, 5, 8, 9] {
        let bytes = nodes * block;
        let seconds = |fabric: &Fabric| throughput(fabric, bytes).bound_seconds() * 1e9 / block as f64;
        let one_way = (nodes * (nodes - 1) / 2) as f64;
        assert!((seconds(&ring(nodes as usize, false)) / one_way - 1.0).abs() < 1e-6, "{nodes}");
        if nodes > 2 {
            let hops: u64 = (1..nodes).map(|distance| distance.min(nodes - distance)).sum();
            assert!((seconds(&ring(nodes as usize, true)) / (hops as f64 / 2.0) - 1.0).abs() < 1e-3, "{nodes}");
        }
        let hub = nodes as usize;
        let links: Vec<_> = (0..hub).flat_map(|node| [(node, hub, 1e9), (hub, node, 1e9)]).collect();
        assert!((seconds(&graph(hub, 1, &links)) / (nodes - 1) as f64 - 1.0).abs() < 1e-6, "{nodes}");
    }
}

/// Of a line of four, two ranks on either side: eight blocks have to cross the middle link, over which the bound is tight.
#[test]
fn a_slow_link_is_what_the_prices_are_of() {
    let links = [(0, 1, 1e9), (1, 0, 1e9), (1, 2, 1e8), (2, 1, 1e8), (2, 3, 1e9), (3, 2, 1e9)];
    let schedule = throughput(&graph(4, 0, &links), 4 << 20);
    assert!((schedule.bound_seconds() - 4.0 * f64::from(1 << 20) / 1e8).abs() < 1e-6);
    assert!(schedule.efficiency() > 1.0 - 1e-5);
    let prices = &schedule.stages[0].bound.prices;
    assert!(prices.iter().all(|&(link, price)| price < 1 << 20 || link == 2 || link == 3), "{prices:?}");
}

#[test]
fn long_blocks_come_near_the_bound() {
    let torus = |extents: &[usize]| Topology::Torus { extents: extents.to_vec() };
    let topologies = [
        torus(&[4, 4, 2]),
        torus(&[5, 4]),
        torus(&[3, 7]),
        Topology::Mesh { extents: vec![4, 5] },
        Topology::Hypercube { dimension: 4 },
    ];
    for topology in topologies {
        let machine = described("tpu-v4", topology);
        let fabric = Fabric::of_machine(&machine).unwrap();
        let bytes = (fabric.ranks.len() as u64) << 20;
        let on_routes = throughput(&fabric, bytes).efficiency();
        let anywhere = throughput(&Fabric { routes: None, ..fabric.clone() }, bytes).efficiency();
        let stored = throughput(&Fabric { routes: None, forwards: false, ..fabric }, bytes).efficiency();
        assert!(on_routes > 0.99 && anywhere > 0.99 && stored > 0.99, "{on_routes} {anywhere} {stored}");
    }
}

/// Vertices in a ring both ways, so that everybody is reached, and more links with speeds of their own.
fn invented(random: &mut Xoshiro256PlusPlus) -> Fabric {
    let nodes = random.random_range(2..=9);
    let switches = random.random_range(0..=4);
    let vertices = nodes + switches;
    let mut links: Vec<(usize, usize, f64)> = Vec::new();
    let speed = |random: &mut Xoshiro256PlusPlus| 1e9 * f64::from(random.random_range(1..=8u32));
    for vertex in 0..vertices {
        let next = (vertex + 1) % vertices;
        links.push((vertex, next, speed(random)));
        if random.random_bool(0.7) {
            links.push((next, vertex, speed(random)));
        }
    }
    for _ in 0..random.random_range(0..2 * vertices) {
        let (from, to) = (random.random_range(0..vertices), random.random_range(0..vertices));
        if from != to {
            links.push((from, to, speed(random)));
        }
    }
    graph(nodes, switches, &links)
}

#[test]
fn invented_networks_are_used_fully_and_data_is_right() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for number in 0..20 {
        let fabric = invented(&mut random);
        let nodes = fabric.ranks.len() as u64;
        let efficiency = throughput(&fabric, nodes << 22).efficiency();
        assert!(efficiency > 0.985, "{number}: {efficiency}, {fabric:?}");
        // Blocks of one element, and such as are not divided evenly.
        for elements in [nodes, nodes + 1, 997] {
            all(&fabric, 4 * elements).into_iter().for_each(executed);
        }
    }
}

#[test]
fn messages_of_a_machine_arrive_in_virtual_time_about_when_they_are_predicted() {
    let torus = described("tpu-v4", Topology::Torus { extents: vec![4, 4] });
    let cube = described("ipsc860", Topology::Hypercube { dimension: 3 });
    for machine in [torus, cube, weft_machine::find("hgx-h100").unwrap()] {
        let fabric = Fabric::of_machine(&machine).unwrap();
        for bytes in [4 * fabric.ranks.len() as u64, 1 << 18] {
            for schedule in all(&fabric, bytes) {
                let what = format!("{}, {bytes}: {}", machine.name, schedule.form());
                let predicted = timeline::seconds(&fabric, &schedule).unwrap();
                let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
                let placement = Placement::identity(fabric.ranks.len());
                let outcome = weft_sim::run(&machine, &placement, &program, &Options::default()).unwrap();
                let ratio = predicted / outcome.outputs[0][0];
                assert!((0.7..1.4).contains(&ratio), "{what}: predicted and simulated are {ratio} apart");
            }
        }
    }
}

#[test]
fn short_blocks_are_combined_and_long_ones_go_by_themselves() {
    let fabric = Fabric::of_machine(&weft_machine::find("hgx-h100").unwrap()).unwrap();
    let form = |bytes| all(&fabric, bytes)[0].form().to_owned();
    assert!(form(64).starts_with("Bruck"), "{}", form(64));
    assert_eq!(form(64 << 20), "direct messages");
    let cube = Fabric::of_machine(&described("tpu-v4", Topology::Hypercube { dimension: 4 })).unwrap();
    assert_eq!(all(&cube, 64)[0].form(), "axis by axis, 2x2x2x2");
}

/// Lengths of blocks, some of them nothing, and the longest buffer.
fn unlike(random: &mut Xoshiro256PlusPlus, ranks: usize, most: u64) -> (Vec<Vec<u64>>, u64) {
    let mut length = || if random.random_bool(0.4) { 0 } else { 4 * random.random_range(0..most) };
    let mut blocks: Vec<Vec<u64>> = (0..ranks).map(|_| (0..ranks).map(|_| length()).collect()).collect();
    // Somebody has something for another.
    blocks[0][1] += 4;
    let bytes = blocks.iter().map(|row| row.iter().sum()).max().unwrap();
    (blocks, bytes)
}

#[test]
fn blocks_may_be_of_unlike_length() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(29);
    for number in 0..12 {
        let fabric = invented(&mut random);
        let (blocks, bytes) = unlike(&mut random, fabric.ranks.len(), 1 << 20);
        let long = Request { blocks: Some(blocks), ..request(bytes, Method::Throughput) };
        let schedule = compile(&fabric, &long).unwrap();
        verify(&schedule).unwrap();
        assert!(schedule.efficiency() > 0.985, "{number}: {}", schedule.efficiency());
        let (blocks, bytes) = unlike(&mut random, fabric.ranks.len(), 40);
        let short = Request { blocks: Some(blocks), ..request(bytes, Method::Auto) };
        for schedule in alternatives(&fabric, &short, 1.0, &Interrupt::NEVER).unwrap() {
            verify(&schedule).unwrap();
            executed(schedule);
        }
    }
}

#[test]
fn lengths_that_are_none_are_refused() {
    let refused = |collective, blocks: &[&[u64]], bytes| {
        let blocks = Some(blocks.iter().map(|row| row.to_vec()).collect());
        let request = Request { collective, blocks, ..request(bytes, Method::Auto) };
        compile(&ring(3, true), &request).unwrap_err().to_string()
    };
    let all = |blocks: &[&[u64]]| refused(Collective::AllToAll, blocks, 16);
    assert!(all(&[&[0, 4, 4], &[4, 0, 4]]).contains("expected 3 rows of 3 lengths, found 2"));
    assert!(all(&[&[0, 4, 4], &[4, 0], &[0, 0, 0]]).contains("and a row of 2"));
    assert!(all(&[&[0, 4, 4], &[4, 0, 6], &[0, 0, 0]]).contains("rank 1 has one of 6 bytes"));
    assert!(all(&[&[0, 4, 4], &[4, 0, 16], &[0, 0, 0]]).contains("those of rank 1 have more than the 16 bytes"));
    assert!(all(&[&[4, 0, 0], &[0, 4, 0], &[0, 0, 0]]).contains("no rank has anything for another"));
    let empty: &[u64] = &[0, 0, 0];
    assert!(refused(Collective::Allgather, &[empty; 3], 16).contains("they are of all-to-all, found allgather"));
    let schedule = throughput(&ring(3, true), 48);
    let changed = |blocks| refusal(&schedule, |s| s.blocks = Some(blocks));
    assert!(changed(vec![vec![16; 3]; 2]).contains("2 ranks have lengths of blocks"));
    assert!(changed(vec![vec![16; 4]; 3]).contains("beyond its buffer"));
    assert!(changed(vec![vec![4; 2]; 3]).contains("rank 0 has lengths of 2 blocks"));
    assert!(changed(vec![vec![12, 20, 16]; 3]).contains("rank 0"));
}

/// What is wrong with a schedule after a change.
fn refusal(schedule: &Schedule, change: impl FnOnce(&mut Schedule)) -> String {
    let mut changed = schedule.clone();
    change(&mut changed);
    verify(&changed).expect_err("a changed schedule").to_string()
}

#[test]
fn what_is_wrong_is_said() {
    let schedule = throughput(&ring(4, true), 16 << 10);
    let refusal = |change: &dyn Fn(&mut Schedule)| refusal(&schedule, change);
    let longest = schedule.stages[0].trees.iter().position(|tree| tree.transfers.len() > 1).unwrap();
    let expect = |message: String, what: &str| assert!(message.contains(what), "{message}");
    expect(refusal(&|s| drop(s.stages[0].trees.pop())), "no path has the");
    expect(refusal(&|s| s.stages[0].trees[0].start += 4), "a path has the");
    expect(refusal(&|s| s.stages[0].trees[0].weight += 1), "bytes and weight differ");
    expect(refusal(&|s| s.stages[0].trees[longest].transfers.swap(0, 1)), "starts at rank");
    expect(refusal(&|s| drop(s.stages[0].trees[longest].transfers.pop())), "which they are not for");
    expect(refusal(&|s| s.stages[0].trees[longest].transfers.clear()), "which they are not for");
    expect(refusal(&|s| s.stages[0].parts = 1), "its parts are the");
    expect(refusal(&|s| s.stages[0].rate *= 1.01), "is above it");
    expect(refusal(&|s| s.stages[0].rate *= 0.99), "the links allow");
    expect(refusal(&|s| s.stages[0].seconds *= 0.99), "its transfers take");
    expect(refusal(&|s| s.stages[0].bound.seconds *= 1.01), "but its prices give");
    expect(refusal(&|s| s.stages[0].bound.prices[0].1 += 1 << 30), "but its prices give");
    expect(refusal(&|s| s.stages[0].bound.prices.push((99, 1))), "there is no link 99");
    let first = schedule.stages[0].bound.prices[0];
    expect(refusal(&|s| s.stages[0].bound.prices.push(first)), "has two prices");
    expect(refusal(&|s| s.stages[0].bound.cut.push(0)), "found a cut");
    let moved = |s: &mut Schedule| {
        s.stages[0].translated = Some(vec![4]);
        s.stages[0].trees.retain(|tree| tree.root == 0);
    };
    expect(refusal(&moved), "are not moved");
    expect(refusal(&|s| s.stages[0].trees.iter_mut().for_each(|tree| tree.transfers[0].2.clear())), "do not lead to");
    let mut other =
        compile(&ring(4, true), &Request { collective: Collective::Allgather, ..request(1 << 10, Method::Throughput) })
            .unwrap();
    other.stages[0].bound.prices.push((0, 1));
    assert!(verify(&other).unwrap_err().to_string().contains("are of an all-to-all"));
}

fn rounds_of(schedule: &mut Schedule) -> &mut Vec<Round> {
    &mut schedule.exchange.as_mut().unwrap().rounds
}

#[test]
fn rounds_that_are_wrong_are_refused() {
    let fabric = Fabric::of_machine(&weft_machine::find("hgx-h100").unwrap()).unwrap();
    let forms = all(&fabric, 4 * 83);
    let in_rounds: Vec<&Schedule> = forms.iter().filter(|schedule| schedule.exchange.is_some()).collect();
    assert_eq!(in_rounds.len(), 2, "pairs by distance and by digits");
    let schedule = in_rounds[0];
    let message = |s: &mut Schedule, change: &dyn Fn(&mut Message)| {
        change(&mut s.exchange.as_mut().unwrap().rounds[2].messages[1]);
    };
    let expect = |message: String, what: &str| assert!(message.contains(what), "{message}");
    expect(refusal(schedule, |s| rounds_of(s)[2].messages.truncate(7)), "has not the bytes from");
    expect(refusal(schedule, |s| message(s, &|m| m.1 += 4)), "has not the bytes from");
    expect(refusal(schedule, |s| message(s, &|m| m.0 += 1)), "passes on the");
    expect(refusal(schedule, |s| message(s, &|m| m.2 = 1 << 40)), "no whole elements of the buffer");
    expect(refusal(schedule, |s| message(s, &|m| m.2 += 4 * 83)), "of more than one rank");
    expect(refusal(schedule, |s| rounds_of(s)[0].operation = Operation::Reduce), "found a reduction");
    expect(refusal(schedule, |s| s.exchange.as_mut().unwrap().seconds *= 0.9), "its messages take");
    expect(refusal(schedule, |s| s.exchange.as_mut().unwrap().bound.seconds *= 1.1), "its prices give");
}

#[test]
fn changes_at_random_are_refused() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut judged = 0;
    for number in 0..6 {
        let fabric = invented(&mut random);
        for schedule in all(&fabric, 4 * 101).into_iter().filter(|schedule| schedule.exchange.is_none()) {
            for _ in 0..20 {
                let mut changed = schedule.clone();
                let trees = &mut changed.stages[0].trees;
                let chosen = random.random_range(0..trees.len());
                let other = random.random_range(0..trees.len());
                // Parts of one block may change paths.
                let ends = |number: usize| (trees[number].root, trees[number].transfers.last().map(|last| last.1));
                let is_of_one = ends(chosen) == ends(other);
                match random.random_range(0..4) {
                    0 => drop(trees.remove(chosen)),
                    1 => trees[chosen].bytes += 4,
                    2 if !is_of_one => trees[chosen].transfers = trees[other].transfers.clone(),
                    3 if !is_of_one => {
                        let start = trees[other].start;
                        let before = std::mem::replace(&mut trees[chosen].start, start);
                        trees[other].start = before;
                    }
                    _ => continue,
                }
                if changed == schedule {
                    continue;
                }
                judged += 1;
                assert!(verify(&changed).is_err(), "{number}: {}", schedule.form());
            }
        }
    }
    assert!(judged > 100, "{judged}");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |fabric: &Fabric, bytes| compile(fabric, &request(bytes, Method::Auto)).unwrap_err().to_string();
    assert!(error(&ring(3, false).with_group(&[0]).unwrap(), 64).contains("nobody to communicate with"));
    assert!(error(&ring(5, true), 16).contains("fewer than ranks"));
    let split = graph(4, 0, &[(0, 1, 1e9), (1, 0, 1e9), (2, 3, 1e9), (3, 2, 1e9)]);
    assert!(error(&split, 64).contains("node 2"), "{}", error(&split, 64));
}
