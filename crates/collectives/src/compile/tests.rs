//! Trees that are written for rank 0 and moved to all others: on networks so small that all trees can be written too.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};

use super::*;
use crate::execute::Timed;
use crate::schedule::shards;
use crate::translation::Translations;
use crate::verify::verify;

/// A torus whose links along an axis are as fast as `speeds` say; axes of two have two links each way.
fn torus(extents: &[usize], speeds: &[f64]) -> Fabric {
    let topology = weft_machine::Topology::Torus { extents: extents.to_vec() };
    let nodes = topology.nodes();
    let ends = (0..topology.links()).map(|link| topology.link_ends(link));
    let vertex = |end| match end {
        weft_machine::Vertex::Node(node) => node,
        weft_machine::Vertex::Switch(_) => unreachable!("a torus has no switches"),
    };
    let axis = |from: usize, to: usize| {
        let mut stride = 1;
        let changed = |&(_, &extent): &(usize, &usize)| {
            let differs = from / stride % extent != to / stride % extent;
            stride *= extent;
            differs
        };
        extents.iter().enumerate().rev().find(changed).expect("a link joins two nodes").0
    };
    let link = |(from, to)| {
        let (from, to) = (vertex(from), vertex(to));
        crate::Link { from, to, bandwidth: speeds[axis(from, to)], latency: 1e-6 }
    };
    Fabric {
        name: "a torus".into(),
        vertices: (0..nodes).map(|node| format!("node {node}")).collect(),
        ranks: (0..nodes).collect(),
        links: ends.filter(|(from, to)| from != to).map(link).collect(),
        message_seconds: 1e-6,
        forwards: true,
        in_network: Vec::new(),
        routes: None,
    }
}

fn request(collective: Collective, bytes: u64) -> Request {
    Request { collective, bytes, element_bytes: 4, root: 0, method: Method::Throughput, blocks: None }
}

/// A schedule of trees of rank 0.
fn translated(fabric: &Fabric, collective: Collective, bytes: u64) -> Schedule {
    let too_large = Some(CollectiveError::new("too large"));
    let request = request(collective, bytes);
    let mut schedules = alternatives_of_size(fabric, &request, 1.0, &Interrupt::NEVER, too_large).unwrap();
    assert!(schedules[0].stages.iter().all(|stage| stage.translated.is_some()));
    schedules.swap_remove(0)
}

/// All trees written out, by moving them.
fn written_out(schedule: &Schedule) -> Schedule {
    let mut written = schedule.clone();
    for stage in &mut written.stages {
        let moves = Translations::of(&schedule.fabric, &stage.translated.take().unwrap()).unwrap();
        let shards = shards(schedule.bytes, schedule.element_bytes, schedule.fabric.ranks.len());
        let moved = |(by, &(start, bytes)): (usize, &(u64, u64))| {
            let moves = &moves;
            let tree = move |tree: &Tree| {
                let (first, last) = (tree.start.min(bytes), (tree.start + tree.bytes).min(bytes));
                let of = |transfer: &Transfer| {
                    let links = transfer.2.iter().map(|&link| moves.link(link, by)).collect();
                    Transfer(moves.rank(transfer.0, by), moves.rank(transfer.1, by), links)
                };
                let transfers = tree.transfers.iter().map(of).collect();
                Tree { root: by, start: start + first, bytes: last - first, transfers, ..tree.clone() }
            };
            stage.trees.iter().map(tree).collect::<Vec<Tree>>()
        };
        stage.trees = shards.iter().enumerate().flat_map(moved).collect();
    }
    written
}

const COLLECTIVES: [Collective; 3] = [Collective::Allgather, Collective::ReduceScatter, Collective::Allreduce];

#[test]
fn moved_trees_are_what_they_are_written_out() {
    for extents in [&[4, 4][..], &[3, 5], &[2, 2, 3], &[4, 2], &[7]] {
        let fabric = torus(extents, &[25e9; 3]);
        let ranks = fabric.ranks.len() as u64;
        for collective in COLLECTIVES {
            // All ranks with as many elements, and not.
            for elements in [120 * ranks, 120 * ranks + 1, ranks + 1] {
                let schedule = translated(&fabric, collective, 4 * elements);
                verify(&schedule).unwrap_or_else(|error| panic!("{extents:?}, {collective:?}: {error}"));
                let written = written_out(&schedule);
                assert_eq!(schedule.trees(), written.trees());
                if elements.is_multiple_of(ranks) {
                    assert_eq!(schedule.messages(), written.messages());
                    verify(&written).unwrap_or_else(|error| panic!("{extents:?}, {collective:?}: {error}"));
                }
                let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
                weft_threads::run(program.ranks(), &program, &weft_threads::Options::default())
                    .unwrap_or_else(|error| panic!("{extents:?}, {collective:?}, {elements} elements: {error}"));
            }
        }
    }
}

#[test]
fn moved_trees_reach_the_cut_of_a_torus() {
    for (extents, speeds) in [
        (&[8, 8, 8][..], [50e9, 50e9, 50e9]),
        (&[16, 8, 4], [50e9, 50e9, 50e9]),
        (&[16, 16], [25e9, 25e9, 0.0]),
        (&[6, 6], [25e9, 50e9, 0.0]),
    ] {
        let fabric = torus(extents, &speeds);
        let schedule = translated(&fabric, Collective::Allgather, 4096 * fabric.ranks.len() as u64);
        assert!(schedule.efficiency() > 0.99, "{extents:?}: {}", schedule.efficiency());
    }
}

#[test]
fn networks_that_differ_from_rank_to_rank_are_refused_with_the_size() {
    let mut fabric = torus(&[4, 4], &[25e9; 2]);
    fabric.links.truncate(fabric.links.len() - 2);
    let too_large = Some(CollectiveError::new("too large"));
    let request = request(Collective::Allgather, 4096);
    let refused = alternatives_of_size(&fabric, &request, 1.0, &Interrupt::NEVER, too_large).unwrap_err();
    assert_eq!(refused.to_string(), "too large");
}

#[test]
fn the_verifier_refuses_movements_that_there_are_not() {
    type Change = fn(&mut Schedule);
    let changes: [(&str, Change); 8] = [
        ("axes of [4, 5] do not number 16 ranks", |s| s.stages[0].translated = Some(vec![4, 5])),
        ("but rank", |s| s.stages[0].translated = Some(vec![2, 8])),
        ("but rank", |s| s.fabric.links[0].bandwidth *= 2.0),
        ("cannot be merged", |s| s.stages[0].merged = true),
        ("one has root 1", |s| s.stages[0].trees[0].root = 1),
        ("root 0", |s| drop(s.stages[0].trees.pop())),
        ("never receives it", |s| drop(s.stages[0].trees[0].transfers.pop())),
        ("times its bandwidth", |s| s.stages[0].rate *= 1.01),
    ];
    let fabric = torus(&[4, 4], &[25e9; 2]);
    for (expected, change) in changes {
        let mut schedule = translated(&fabric, Collective::Allgather, 4096);
        change(&mut schedule);
        let error = verify(&schedule).unwrap_err().to_string();
        assert!(error.contains(expected), "expected {expected:?}, error {error:?}");
    }
}

/// One change of a number, a transfer or a path of a stage.
fn change(stage: &mut Stage, ranks: usize, links: usize, random: &mut rand_xoshiro::Xoshiro256PlusPlus) {
    let (tree, other) = (random.random_range(0..stage.trees.len()), random.random_range(0..stage.trees.len()));
    let transfer = random.random_range(0..stage.trees[tree].transfers.len());
    let chosen = &mut stage.trees[tree];
    match random.random_range(0..15) {
        0 => drop(chosen.transfers.remove(transfer)),
        1 => chosen.transfers.push(chosen.transfers[transfer].clone()),
        2 => chosen.transfers.reverse(),
        3 => chosen.transfers[transfer].0 = random.random_range(0..ranks),
        4 => chosen.transfers[transfer].1 = random.random_range(0..ranks),
        5 => chosen.transfers[transfer].2[0] = random.random_range(0..links as u32),
        6 => drop(chosen.transfers[transfer].2.pop()),
        7 => chosen.root = random.random_range(0..ranks),
        8 => chosen.start += 4,
        9 => chosen.bytes += 4,
        10 => chosen.weight += 1,
        11 => drop(stage.trees.remove(tree)),
        12 => stage.translated.as_mut().unwrap().reverse(),
        13 => stage.rate *= if random.random_range(0..2) == 0 { 1.001 } else { 0.999 },
        _ => {
            let transfers = stage.trees[other].transfers.clone();
            stage.trees[tree].transfers = transfers;
        }
    }
}

/// What is accepted of a changed schedule is right where all its trees are written out, and is executed rightly.
#[test]
fn what_is_accepted_of_movements_is_right_when_written_out() {
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(23);
    let (mut refused, mut accepted) = (0, 0);
    for extents in [&[4, 3][..], &[2, 3], &[2, 2, 2]] {
        let fabric = torus(extents, &[25e9; 3]);
        let (ranks, links) = (fabric.ranks.len(), fabric.links.len());
        for collective in COLLECTIVES {
            let original = translated(&fabric, collective, 4 * 60 * ranks as u64);
            for _ in 0..150 {
                let mut changed = original.clone();
                let stage = random.random_range(0..changed.stages.len());
                change(&mut changed.stages[stage], ranks, links, &mut random);
                if verify(&changed).is_err() {
                    refused += 1;
                    continue;
                }
                accepted += 1;
                verify(&written_out(&changed)).unwrap_or_else(|error| panic!("{extents:?}, {collective:?}: {error}"));
                let program = Timed::new(Arc::new(changed), false, 1).unwrap();
                weft_threads::run(program.ranks(), &program, &weft_threads::Options::default())
                    .unwrap_or_else(|error| panic!("{extents:?}, {collective:?}: {error}"));
            }
        }
    }
    assert!(refused > 1000 && accepted > 0, "{refused} refused, {accepted} accepted");
}

/// Trees packed of such links would be hundreds.
#[test]
fn a_tree_that_reaches_the_bound_is_enough_for_one_root() {
    let (ranks, switches) = (40, 5);
    let port = (0..ranks).map(|rank| (rank, ranks + rank / 8, 53_643_099_746.9));
    let between =
        (0..switches).flat_map(|one| (0..one).map(move |other| (ranks + one, ranks + other, 124_158_010_581.3)));
    let both = |(from, to, bandwidth): (usize, usize, f64)| {
        [crate::Link { from, to, bandwidth, latency: 0.0 }, crate::Link { from: to, to: from, bandwidth, latency: 0.0 }]
    };
    let fabric = Fabric {
        name: "ports".into(),
        vertices: (0..ranks + switches).map(|vertex| format!("vertex {vertex}")).collect(),
        ranks: (0..ranks).collect(),
        links: port.chain(between).flat_map(both).collect(),
        message_seconds: 0.0,
        forwards: false,
        in_network: Vec::new(),
        routes: None,
    };
    for collective in [Collective::Broadcast, Collective::Reduce] {
        let schedule = compile(&fabric, &request(collective, 1 << 24)).unwrap();
        verify(&schedule).unwrap();
        assert_eq!((schedule.stages[0].trees.len(), schedule.efficiency()), (1, 1.0));
        let auto = Request { method: Method::Auto, ..request(collective, 1 << 24) };
        let all = alternatives(&fabric, &auto, 1.0, &Interrupt::NEVER).unwrap();
        assert!(all.iter().flat_map(|schedule| &schedule.stages).all(|stage| stage.trees.len() == 1));
    }
}
