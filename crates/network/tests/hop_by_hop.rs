//! The one-pass model of cut-through switching against one that moves every header hop by hop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use rand::RngExt;
use weft_base::{Picos, generator};
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

/// Random traffic on an 8x8 torus, by the mean time between messages and the longest transmission.
fn traffic(seed: u64, spacing: u64, longest: u64) -> Vec<Message> {
    let mut random = generator(seed, 0);
    let mut ready = 0;
    let mut message = || {
        ready += random.random_range(0..2 * spacing);
        let from = random.random_range(0..64);
        let offset = random.random_range(1..64);
        (ready, from, (from + offset) % 64, random.random_range(1..longest))
    };
    (0..400).map(|_| message()).collect()
}

fn mean_delay(messages: &[Message], arrived: &[u64]) -> f64 {
    messages.iter().zip(arrived).map(|(message, &arrived)| (arrived - message.0) as f64).sum::<f64>()
        / messages.len() as f64
}

/// One pass against hop by hop in the mean delay of each of 200 random traffics.
fn ratios(spacing: u64, longest: u64) -> Vec<f64> {
    let torus = Topology::Torus { extents: vec![8, 8] };
    let ratio = |seed| {
        let messages = traffic(seed, spacing, longest);
        mean_delay(&messages, &one_pass(&torus, &messages)) / mean_delay(&messages, &hop_by_hop(&torus, &messages))
    };
    (0..200).map(ratio).collect()
}

// The agreement is one of random traffic, not of every traffic: one pass lets a message wait where another has reserved
// a link but not yet reached it, and a traffic made of such meetings is off by more. So it is asked of fixed seeds.
#[test]
fn the_mean_delay_of_random_traffic_agrees() {
    for (spacing, longest) in [(50, 100), (10, 100), (40, 1000), (5, 60)] {
        let ratios = ratios(spacing, longest);
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let worst = ratios.iter().map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max);
        println!("a message every {spacing}, up to {longest} long: mean ratio {mean:.3}, worst {worst:.3} from 1");
        assert!((mean - 1.0).abs() < 0.05, "mean ratio {mean:.3} at spacing {spacing}, longest {longest}");
        assert!(worst < 0.10, "worst ratio {worst:.3} from 1 at spacing {spacing}, longest {longest}");
    }
}

/// Every node sends to all others at once, as an all-to-all does, the nearest by number first: links are promised to many
/// messages before these reach them.
#[test]
fn a_burst_ends_when_it_does_hop_by_hop() {
    let dragonfly =
        Topology::Dragonfly { groups: 5, routers_per_group: 4, nodes_per_router: 2, global_links_per_router: 1 };
    for topology in [
        Topology::Torus { extents: vec![8, 8] },
        Topology::Torus { extents: vec![4, 4, 4] },
        Topology::Mesh { extents: vec![6, 8] },
        dragonfly,
    ] {
        let nodes = topology.nodes();
        let to_all = (1..nodes).flat_map(|distance| (0..nodes).map(move |from| (from, (from + distance) % nodes)));
        for transmission in [200, 5000] {
            let messages: Vec<Message> = to_all.clone().map(|(from, to)| (0, from, to, transmission)).collect();
            let last = |arrived: Vec<u64>| arrived.into_iter().max().unwrap() as f64;
            let ratio = last(one_pass(&topology, &messages)) / last(hop_by_hop(&topology, &messages));
            assert!((0.9..1.15).contains(&ratio), "{topology:?}, {transmission}: {ratio}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn alone_a_message_takes_the_same_time(from in 0..64usize, offset in 1..64usize, transmission in 1..10_000u64) {
        let torus = Topology::Torus { extents: vec![8, 8] };
        let messages = [(5, from, (from + offset) % 64, transmission)];
        prop_assert_eq!(one_pass(&torus, &messages), hop_by_hop(&torus, &messages));
    }

    #[test]
    fn no_traffic_makes_a_message_faster_than_alone(
        messages in proptest::collection::vec((0..2_000u64, 0..64usize, 1..64usize, 1..500u64), 1..100)
    ) {
        let torus = Topology::Torus { extents: vec![8, 8] };
        let mut messages: Vec<Message> =
            messages.into_iter().map(|(ready, from, offset, transmission)| (ready, from, (from + offset) % 64, transmission)).collect();
        messages.sort_unstable();
        for (message, arrived) in messages.iter().zip(one_pass(&torus, &messages)) {
            prop_assert!(arrived >= one_pass(&torus, std::slice::from_ref(message))[0]);
        }
    }
}
