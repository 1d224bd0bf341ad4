//! What is compiled for a described machine goes over the machine's own routes, and takes as long as predicted.

use std::sync::Arc;

use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{Collective, Fabric, Method, Request, Schedule, Transfer, alternatives, verify};
use weft_comm::collective::{Algorithm, Choice, broadcast};
use weft_comm::{CommError, Communicator, Payload, Program};
use weft_machine::{Machine, Topology, Vertex};
use weft_sim::{Options, Placement};

/// A machine of the catalogue with another topology.
fn machine(name: &str, topology: Option<Topology>) -> Machine {
    let mut machine = weft_machine::find(name).unwrap();
    machine.topology = topology.unwrap_or(machine.topology);
    machine
}

fn compiled(machine: &Machine, nodes: &[usize], collective: Collective, bytes: u64) -> Vec<Schedule> {
    let fabric = Fabric::of_machine(machine).unwrap().with_group(nodes).unwrap();
    let request = Request { collective, bytes, element_bytes: 4, root: 0, method: Method::Auto, blocks: None };
    let schedules = alternatives(&fabric, &request, 1.0, &Interrupt::NEVER).unwrap();
    schedules.iter().for_each(|schedule| verify(schedule).unwrap());
    schedules
}

fn simulated(machine: &Machine, schedule: &Schedule) -> f64 {
    let program = Timed::new(Arc::new(schedule.clone()), true, 1).unwrap();
    let placement = Placement::listed(&schedule.fabric.ranks);
    weft_sim::run(machine, &placement, &program, &Options::default()).unwrap().outputs[0][0]
}

/// The schedule that is fastest in virtual time, and its seconds there.
fn fastest<'a>(machine: &Machine, schedules: &'a [Schedule]) -> (&'a Schedule, f64) {
    let all = schedules.iter().take(6).map(|schedule| (schedule, simulated(machine, schedule)));
    all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

fn grids() -> [Machine; 4] {
    [
        machine("iwarp64", None),
        machine("tpu-v4", Some(Topology::Torus { extents: vec![4, 4, 4] })),
        machine("tpu-v4", Some(Topology::Mesh { extents: vec![6, 8] })),
        machine("rail-h100", Some(Topology::FatTree { children: vec![8, 8], parents: vec![1, 4] })),
    ]
}

const GROUP: [usize; 12] = [41, 3, 17, 30, 8, 22, 44, 35, 12, 27, 1, 38];

#[test]
fn transfers_take_the_routes_of_the_machine() {
    for machine in grids() {
        let nodes = machine.nodes();
        let vertex = |end| match end {
            Vertex::Node(node) => node,
            Vertex::Switch(switch) => nodes + switch,
        };
        for collective in Collective::ALL {
            for schedule in compiled(&machine, &GROUP, collective, 1 << 20) {
                let fabric = &schedule.fabric;
                let of_trees = schedule.stages.iter().flat_map(|stage| &stage.trees).flat_map(|tree| &tree.transfers);
                let exchanged = schedule.exchange.iter().flat_map(|exchange| &exchange.routes);
                for Transfer(from, to, path) in of_trees.chain(exchanged) {
                    let mut expected = Vec::new();
                    machine.topology.route(GROUP[*from], GROUP[*to], |link| {
                        let (start, end) = machine.topology.link_ends(link);
                        expected.push((vertex(start), vertex(end)));
                    });
                    let links = path.iter().map(|&link| &fabric.links[link as usize]);
                    let ends: Vec<_> = links.map(|link| (link.from, link.to)).collect();
                    assert_eq!(ends, expected, "{} {}: {from} to {to}", machine.name, schedule.form());
                }
            }
        }
    }
}

/// Trees that were packed link by link met on the machine's routes: 54 ms were predicted, 430 or more simulated.
#[test]
fn predictions_for_groups_come_near_what_is_simulated() {
    for machine in grids() {
        for collective in [Collective::Broadcast, Collective::Reduce] {
            for bytes in [1 << 10, 1 << 16, 1 << 23] {
                let schedules = compiled(&machine, &GROUP, collective, bytes);
                let (schedule, seconds) = fastest(&machine, &schedules);
                let ratio = schedule.seconds() / seconds;
                let what = format!("{} {} of {bytes}", machine.name, collective.name());
                assert!((0.75..1.34).contains(&ratio), "{what}: {} s, {seconds} s simulated", schedule.seconds());
            }
        }
    }
}

/// A broadcast of weft-comm.
#[derive(Clone)]
struct Baseline(usize, Algorithm);

impl Program for Baseline {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        broadcast(&comm, 0, Payload::Phantom(self.0), Choice::Fixed(self.1)).await?;
        Ok(comm.wtime())
    }
}

#[test]
fn broadcasts_to_groups_are_no_slower_than_those_of_libraries() {
    for machine in grids() {
        for bytes in [1 << 10, 1 << 16, 1 << 23] {
            let schedules = compiled(&machine, &GROUP, Collective::Broadcast, bytes);
            let (schedule, seconds) = fastest(&machine, &schedules);
            for algorithm in [Algorithm::Binomial, Algorithm::ScatterAllgather, Algorithm::Chain] {
                let program = Baseline(bytes as usize, algorithm);
                let outcome =
                    weft_sim::run(&machine, &Placement::listed(&GROUP), &program, &Options::default()).unwrap();
                let baseline = outcome.outputs.into_iter().fold(0.0, f64::max);
                let what = format!("{} of {bytes}: {} {seconds} s", machine.name, schedule.form());
                assert!(seconds <= baseline, "{what}, {algorithm} {baseline} s");
            }
        }
    }
}

/// A network whose messages avoid a dead link has no routes that are known beforehand: links decide, as of a graph.
#[test]
fn of_damaged_machines_no_routes_are_known() {
    let mut damaged = machine("tpu-v4", Some(Topology::Torus { extents: vec![4, 4] }));
    assert!(Fabric::of_machine(&damaged).unwrap().routes.is_some());
    damaged.degradation.add("link:0-1=0", &damaged.topology.clone()).unwrap();
    assert!(Fabric::of_machine(&damaged).unwrap().routes.is_none());
    let stored = machine("ncube3200", None);
    assert!(Fabric::of_machine(&stored).unwrap().routes.is_none());
}
