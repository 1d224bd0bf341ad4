//! The one-pass model of cut-through switching against one that moves every header hop by hop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use weft_base::Picos;
use weft_machine::{Switching, Topology};
use weft_network::{LinkCost, Network};

/// One message: when it is ready, from where, to where, how long it takes on a link.
type Message = (u64, usize, usize, u64);

const HOP: u64 = 100;

/// Every header is an event at every link, and links serve in order of arrival: the simple model, without any promise.
fn hop_by_hop(topology: &Topology, messages: &[Message]) -> Vec<u64> {
    let routes: Vec<Vec<usize>> = messages
        .iter()
        .map(|&(_, from, to, _)| {
            let mut route = Vec::new();
            topology.route(from, to, |link| route.push(link));
            route
        })
        .collect();
    let mut free = vec![0; topology.links()];
    let mut arrived = vec![0; messages.len()];
    let mut events: BinaryHeap<_> =
        messages.iter().enumerate().map(|(index, message)| Reverse((message.0, index, 0))).collect();
    while let Some(Reverse((time, index, hop))) = events.pop() {
        let transmission = messages[index].3;
        let Some(&link) = routes[index].get(hop) else {
            arrived[index] = time + transmission;
            continue;
        };
        let taken = time.max(free[link]);
        free[link] = taken + transmission;
        events.push(Reverse((taken + HOP, index, hop + 1)));
    }
    arrived
}

fn one_pass(topology: &Topology, messages: &[Message]) -> Vec<u64> {
    let mut network = Network::with(topology, Switching::CutThrough, None);
    let pass = |&(ready, from, to, transmission): &Message| {
        let cost = LinkCost { hop: Picos(HOP), transmission: Picos(transmission), bytes: 1 };
        network.pass(Picos(ready), from, to, cost).arrived.0
    };
    messages.iter().map(pass).collect()
}

/// Random traffic on an 8x8 torus at a mean distance in time between messages.
fn traffic(spacing: u64, longest: u64) -> impl Strategy<Value = Vec<Message>> {
    let message = (0..2 * spacing, 0..64usize, 1..64usize, 1..longest);
    proptest::collection::vec(message, 400).prop_map(|steps| {
        let mut ready = 0;
        let place = |(wait, from, turn, transmission): (u64, usize, usize, u64)| {
            ready += wait;
            (ready, from, (from + turn) % 64, transmission)
        };
        steps.into_iter().map(place).collect()
    })
}

fn mean_delay(messages: &[Message], arrived: &[u64]) -> f64 {
    messages.iter().zip(arrived).map(|(message, &arrived)| (arrived - message.0) as f64).sum::<f64>()
        / messages.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_mean_delay_agrees_within_ten_percent(messages in prop_oneof![traffic(50, 100), traffic(10, 100), traffic(40, 1000), traffic(5, 60)]) {
        let torus = Topology::Torus { extents: vec![8, 8] };
        let exact = mean_delay(&messages, &hop_by_hop(&torus, &messages));
        let model = mean_delay(&messages, &one_pass(&torus, &messages));
        prop_assert!((model / exact - 1.0).abs() < 0.10, "one pass {model:.0}, hop by hop {exact:.0}");
    }

    #[test]
    fn alone_a_message_takes_the_same_time(from in 0..64usize, turn in 1..64usize, transmission in 1..10_000u64) {
        let torus = Topology::Torus { extents: vec![8, 8] };
        let messages = [(5, from, (from + turn) % 64, transmission)];
        prop_assert_eq!(one_pass(&torus, &messages), hop_by_hop(&torus, &messages));
    }
}
