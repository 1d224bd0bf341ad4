//! Slow nodes, slow links, dead cables and noise in virtual time.

mod common;

use common::machine;
use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag};
use weft_machine::{Machine, Switching, Topology, Vertex};
use weft_sim::{Options, Placement, run};

const TAG: Tag = Tag::User(1);

/// A message of 100 bytes from one rank to another; when it was received.
#[derive(Clone)]
struct Message {
    from: usize,
    to: usize,
}

impl Program for Message {
    type Output = f64;
    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        if comm.rank() == self.from {
            comm.send(self.to, TAG, Payload::Phantom(100)).await?;
        } else if comm.rank() == self.to {
            comm.recv(Source::Rank(self.from), TAG.into(), Payload::Phantom(100)).await?;
        }
        Ok(comm.wtime())
    }
}

fn degraded(topology: Topology, switching: Switching, faults: &[&str]) -> Machine {
    let mut machine = machine(topology, switching);
    for fault in faults {
        machine.degradation.add(fault, &machine.topology).unwrap();
    }
    machine
}

/// Microseconds, rounded to a nanosecond.
fn micros(machine: &Machine, from: usize, to: usize) -> f64 {
    let placement = Placement::identity(machine.nodes());
    let outcome = run(machine, &placement, &Message { from, to }, &Options::default()).unwrap();
    (outcome.outputs[to] * 1e9).round() / 1e3
}

fn ring() -> Topology {
    Topology::Torus { extents: vec![6] }
}

const NETWORKS: [Switching; 3] = [Switching::Circuit, Switching::Wormhole, Switching::CutThrough];

#[test]
fn a_slow_node_is_slow_at_both_ends_and_not_on_the_way() {
    for switching in NETWORKS {
        let slow = degraded(ring(), switching, &["node:1=0.5"]);
        // 10 to send, 1 a hop, 0.1 a byte, 10 to receive; twice the processor's and the transfer's part at node 1.
        assert_eq!(micros(&slow, 1, 2), 20.0 + 1.0 + 20.0 + 10.0, "{switching:?}");
        assert_eq!(micros(&slow, 2, 1), 10.0 + 1.0 + 20.0 + 20.0, "{switching:?}");
        assert_eq!(micros(&slow, 0, 2), 10.0 + 2.0 + 10.0 + 10.0, "{switching:?}");
    }
}

#[test]
fn a_slow_link_slows_what_crosses_it_in_its_direction() {
    for switching in NETWORKS {
        let slow = degraded(ring(), switching, &["link:1>2=0.5"]);
        assert_eq!(micros(&slow, 0, 3), 10.0 + 3.0 + 20.0 + 10.0, "{switching:?}");
        assert_eq!(micros(&slow, 3, 0), 10.0 + 3.0 + 10.0 + 10.0, "{switching:?}");
        let both = degraded(ring(), switching, &["link:1-2=0.5"]);
        assert_eq!(micros(&both, 2, 1), 10.0 + 1.0 + 20.0 + 10.0, "{switching:?}");
    }
    let stored = degraded(ring(), Switching::StoreAndForward, &["link:1>2=0.5"]);
    assert_eq!(micros(&stored, 0, 2), 10.0 + 11.0 + 21.0 + 10.0, "only one of the links");
}

#[test]
fn messages_go_round_a_dead_cable() {
    for switching in NETWORKS {
        let dead = degraded(ring(), switching, &["link:1-2=0"]);
        assert_eq!(micros(&dead, 1, 2), 10.0 + 5.0 + 10.0 + 10.0, "{switching:?}: five links the other way round");
        assert_eq!(micros(&dead, 2, 3), 10.0 + 1.0 + 10.0 + 10.0, "{switching:?}");
    }
    let tree = || Topology::FatTree { children: vec![2, 2], parents: vec![1, 2] };
    let mut usual = Vec::new();
    tree().route(0, 3, |link| usual.push(tree().link_ends(link)));
    let name = |vertex| match vertex {
        Vertex::Node(node) => node.to_string(),
        Vertex::Switch(switch) => format!("s{switch}"),
    };
    let fault = |factor: f64| format!("link:{}>{}={factor}", name(usual[1].0), name(usual[1].1));
    let slow = degraded(tree(), Switching::StoreAndForward, &[fault(0.5).as_str()]);
    assert_eq!(micros(&slow, 0, 3), 10.0 + 3.0 * 11.0 + 21.0 + 10.0, "only one of the links");
    let dead = degraded(tree(), Switching::StoreAndForward, &[fault(0.0).as_str()]);
    assert_eq!(micros(&dead, 0, 3), 10.0 + 4.0 * 11.0 + 10.0, "by the other switch");
    let stored = degraded(ring(), Switching::StoreAndForward, &["link:1-2=0"]);
    assert_eq!(micros(&stored, 1, 2), 10.0 + 5.0 * 11.0 + 10.0);
    assert_eq!(micros(&stored, 0, 2), 10.0 + 4.0 * 11.0 + 10.0, "node 0 sends the other way at once");
}

#[test]
fn noise_multiplies_all_of_a_message() {
    for switching in [Switching::CutThrough, Switching::StoreAndForward] {
        let noisy = degraded(ring(), switching, &["noise=0.2"]);
        let (quiet, factor) = (micros(&machine(ring(), switching), 1, 2), noisy.degradation.noise_of(1, 2));
        assert!((micros(&noisy, 1, 2) / quiet - factor).abs() < 1e-4, "{switching:?}");
        assert!((factor - 1.0).abs() > 1e-3);
    }
}
