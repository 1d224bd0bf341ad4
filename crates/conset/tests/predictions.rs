//! A predicted schedule takes what execution in virtual time takes.

mod common;

use common::weft;
use proptest::prelude::*;
use weft_conset::execute::{Execution, Timed};
use weft_conset::{Compiler, Connection, ConnectionSet, Options, Order, Resources, Schedule, compile, named, verify};
use weft_machine::{Catalogue, Machine, Topology, find};
use weft_sim::Placement;

/// Predictions are sums of floating-point seconds, virtual time counts whole picoseconds: two times that differ by no
/// more than this part, or by a picosecond for each phase and each of its stages, are the same.
const TOLERANCE: f64 = 1e-9;

fn simulated(machine: &Machine, schedule: &Schedule) -> f64 {
    let execution = Execution::of_schedule(schedule, None).unwrap();
    let ranks = execution.plan.ranks();
    let timed = Timed { execution, iterations: 1, warmup: 0, phantom: true };
    let outcome = weft_sim::run(machine, &Placement::identity(ranks), &timed, &weft_sim::Options::default()).unwrap();
    outcome.outputs[0].seconds[0]
}

/// Compiles, verifies and executes.
fn check(machine: &Machine, set: &ConnectionSet, options: &Options) {
    let resources = Resources::of(machine).unwrap();
    let schedule = compile(set, &resources, &machine.name, options, &|| false, &|_| ()).unwrap();
    verify(&schedule, Some(set)).unwrap();
    let (predicted, simulated) = (schedule.predicted_seconds, simulated(machine, &schedule));
    let stages = Execution::of_schedule(&schedule, None).unwrap().plan.phases().len();
    let rounding = 3e-12 * stages as f64;
    assert!(
        (predicted - simulated).abs() <= TOLERANCE * simulated + rounding,
        "{} on {} with {} orders: predicted {predicted}, simulated {simulated}",
        set.name,
        machine.name,
        set.orders.len(),
    );
}

/// Random connections of different lengths.
fn irregular(nodes: u32, count: usize, seed: u64) -> ConnectionSet {
    use rand::RngExt;
    let mut random = weft_base::generator(seed, 0);
    let mut connections = Vec::new();
    while connections.len() < count {
        let (source, destination) = (random.random_range(0..nodes), random.random_range(0..nodes));
        if source != destination {
            connections.push(Connection { source, destination, words: random.random_range(1..5000) });
        }
    }
    ConnectionSet::new("irregular", nodes, connections).unwrap()
}

#[test]
fn all_machines_of_the_catalogue_take_what_is_predicted() {
    let catalogue = Catalogue::built_in();
    let machines: Vec<&Machine> = catalogue.machines().iter().filter(|machine| machine.connections.is_some()).collect();
    assert!(machines.len() >= 4);
    for machine in machines {
        // Of a pod of thousands of chips a slice.
        let slice = Topology::Torus { extents: vec![4; 3] };
        let topology = if machine.nodes() > 1000 { slice } else { machine.topology.clone() };
        let machine = Machine { topology, ..machine.clone() };
        for (pattern, words) in [("random:3", 1), ("random:1", 1_000_000)] {
            check(&machine, &named(pattern, &machine.topology, words, 1).unwrap(), &weft(0.0));
        }
        check(&machine, &irregular(machine.nodes() as u32, 100, 2), &weft(0.0));
    }
}

#[test]
fn so_do_other_topologies_with_parallel_links_and_switches() {
    let topologies = [
        Topology::Torus { extents: vec![2, 4] },
        Topology::Torus { extents: vec![2, 2, 3] },
        Topology::Mesh { extents: vec![3, 5] },
        Topology::Hypercube { dimension: 4 },
        Topology::FatTree { children: vec![4, 4], parents: vec![1, 2] },
        Topology::Dragonfly { groups: 3, routers_per_group: 2, nodes_per_router: 2, global_links_per_router: 1 },
    ];
    for (name, topology) in ["iwarp64", "tpu-v4"].into_iter().flat_map(|name| topologies.iter().map(move |t| (name, t)))
    {
        let machine = Machine { topology: topology.clone(), ..find(name).unwrap() };
        for seed in 0..2 {
            check(&machine, &irregular(machine.nodes() as u32, 30, seed), &weft(0.0));
        }
    }
}

#[test]
fn so_do_stages_that_orders_make() {
    for name in ["iwarp64", "rail-h100"] {
        let machine = find(name).unwrap();
        let set = irregular(64, 60, 5);
        let orders = (0..50).step_by(3).map(|before| Order { before, after: before + 1 }).collect();
        let set = ConnectionSet { nodes: machine.nodes() as u32, ..set }.with_orders(orders).unwrap();
        check(&machine, &set, &weft(0.0));
    }
}

/// AS fills a timetable that a program keeps to by its order alone: it may be through earlier or a little later.
#[test]
fn the_timetables_of_1993_are_predicted_within_a_tenth() {
    let machine = find("iwarp64").unwrap();
    let set = irregular(64, 200, 3);
    let options = Options { compiler: Compiler::Apr, ..weft(0.0) };
    let schedule = compile(&set, &Resources::of(&machine).unwrap(), "iwarp64", &options, &|| false, &|_| ()).unwrap();
    let (predicted, simulated) = (schedule.predicted_seconds, simulated(&machine, &schedule));
    assert!((predicted / simulated - 1.0).abs() < 0.1, "predicted {predicted}, simulated {simulated}");
}

/// Where weft takes a greedy timetable, because by it all arrives sooner, that is not because links are shared otherwise.
#[test]
fn no_timetable_is_predicted_to_take_less_than_its_order_does() {
    for (name, extents) in [("tpu-v4", vec![4, 4, 4]), ("tpu-v4", vec![3, 5]), ("iwarp64", vec![4, 4])] {
        let machine = Machine { topology: Topology::Torus { extents }, ..find(name).unwrap() };
        for seed in 0..12 {
            let set = irregular(machine.nodes() as u32, 20 + 10 * seed as usize, seed);
            let resources = Resources::of(&machine).unwrap();
            let schedule = compile(&set, &resources, name, &weft(0.0), &|| false, &|_| ()).unwrap();
            let (predicted, simulated) = (schedule.predicted_seconds, simulated(&machine, &schedule));
            assert!(
                simulated <= predicted * (1.0 + TOLERANCE) + 1e-11,
                "{name}, seed {seed}: {simulated}, {predicted}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn small_sets_take_what_is_predicted(seed in 0u64..1000, count in 1usize..30) {
        let machine = Machine { topology: Topology::Torus { extents: vec![4, 3] }, ..find("iwarp64").unwrap() };
        check(&machine, &irregular(12, count, seed), &weft(0.0));
    }
}
