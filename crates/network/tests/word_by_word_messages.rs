//! Message passing over pools of channels, compared with a model that moves single words.
//!
//! In the model a tick moves at most one word over a link, of its channels in turn, where one is before it and room is
//! behind it; a sender's transmitter and a receiver's processor move one a tick. A channel is free when the last word has
//! left it. What processors and headers do is the same in both.

use std::collections::VecDeque;

use rand::RngExt;
use rand::seq::SliceRandom;
use weft_base::generator;
use weft_machine::Topology;
use weft_network::{PooledCost, PooledMessage, pass_messages};

/// Words that a channel holds.
const CAPACITY: u64 = 8;
const OVERHEAD: u64 = 100;
const HOP: u64 = 2;

/// A word is a byte, a tick a nanosecond.
const COST: PooledCost = PooledCost {
    send_overhead: OVERHEAD as f64 * 1e-9,
    receive_overhead: OVERHEAD as f64 * 1e-9,
    envelope_bytes: 0,
    link_byte_time: 1e-9,
    send_byte_time: 1e-9,
    receive_byte_time: 1e-9,
    copy_byte_time: 0.0,
    hop_time: HOP as f64 * 1e-9,
    channels: 1,
    channel_bytes: CAPACITY,
};

struct Message {
    to: usize,
    words: u64,
    /// Link and pool of every hop.
    route: Vec<usize>,
    /// Words that have come into each channel taken so far, and at the end those received.
    entered: Vec<u64>,
    received: u64,
    /// When the header may ask for its next channel.
    header_at: Option<u64>,
    asked: bool,
    freed: usize,
}

#[derive(Default)]
struct Node {
    busy_until: u64,
    sending: Option<usize>,
    receiving: Option<usize>,
    sends: VecDeque<usize>,
    arrived: VecDeque<usize>,
    buffered: VecDeque<usize>,
    transmits: Option<usize>,
}

/// The links of an 8x8 torus (node = 8 x + y) with their pools: the second from the step over the edge on.
fn route(topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    let (mut axis, mut second, mut at, mut channels) = (2, false, from, Vec::new());
    while let Some((link, next)) = topology.next_hop(at, to) {
        let here = usize::from(at / 8 == next / 8);
        if here != axis {
            (axis, second) = (here, false);
        }
        let (x, y) = if here == 0 { (at / 8, next / 8) } else { (at % 8, next % 8) };
        second |= x.abs_diff(y) > 1;
        channels.push(2 * link + usize::from(second));
        at = next;
    }
    channels
}

/// When the last message has been received, in ticks.
fn word_by_word(topology: &Topology, messages: &[PooledMessage]) -> u64 {
    let mut nodes: Vec<Node> = (0..topology.nodes()).map(|_| Node::default()).collect();
    let mut all: Vec<Message> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        nodes[message.from].sends.push_back(index);
        all.push(Message {
            to: message.to,
            words: message.bytes,
            route: route(topology, message.from, message.to),
            entered: Vec::new(),
            received: 0,
            header_at: None,
            asked: false,
            freed: 0,
        });
    }
    let mut owner: Vec<Option<usize>> = vec![None; 2 * topology.links()];
    let mut waiting: Vec<VecDeque<usize>> = vec![VecDeque::new(); 2 * topology.links()];
    let mut next = vec![0usize; topology.links()];
    let mut left = messages.len();
    for tick in 0.. {
        if left == 0 {
            return tick;
        }
        for state in &mut nodes {
            if let Some(message) = state.sending
                && tick >= state.busy_until
            {
                state.sending = None;
                state.buffered.push_back(message);
            }
            if let Some(message) = state.receiving
                && all[message].received == all[message].words
            {
                state.receiving = None;
            }
            if state.sending.is_none() && state.receiving.is_none() {
                if let Some(message) = state.arrived.pop_front() {
                    state.receiving = Some(message);
                    state.busy_until = tick + OVERHEAD;
                } else if let Some(message) = state.sends.pop_front() {
                    state.sending = Some(message);
                    state.busy_until = tick + OVERHEAD;
                }
            }
            let is_out = |message: usize| all[message].freed > 0;
            if state.transmits.is_some_and(is_out) {
                state.transmits = None;
            }
            if state.transmits.is_none()
                && let Some(message) = state.buffered.pop_front()
            {
                state.transmits = Some(message);
                all[message].header_at = Some(tick);
            }
        }
        for (index, message) in all.iter_mut().enumerate() {
            if !message.asked && message.header_at.is_some_and(|at| at <= tick) {
                message.asked = true;
                match message.route.get(message.entered.len()) {
                    Some(&channel) => waiting[channel].push_back(index),
                    None => nodes[message.to].arrived.push_back(index),
                }
            }
        }
        for channel in 0..owner.len() {
            if owner[channel].is_none()
                && let Some(index) = waiting[channel].pop_front()
            {
                owner[channel] = Some(index);
                all[index].entered.push(0);
                all[index].header_at = Some(tick + HOP);
                all[index].asked = false;
            }
        }
        let before: Vec<Vec<u64>> = all.iter().map(|message| message.entered.clone()).collect();
        for (link, next) in next.iter_mut().enumerate() {
            let first = *next;
            for step in 0..2 {
                let channel = 2 * link + (first + step) % 2;
                let Some(index) = owner[channel] else { continue };
                let message = &mut all[index];
                let hop = message.route.iter().position(|&other| other == channel).unwrap();
                let there = if hop == 0 { message.words } else { before[index][hop - 1] };
                let gone = before[index].get(hop + 1).copied().unwrap_or(message.received);
                if there > before[index][hop] && before[index][hop] - gone < CAPACITY {
                    message.entered[hop] += 1;
                    *next = (channel + 1) % 2;
                    break;
                }
            }
        }
        for node in &nodes {
            if let Some(index) = node.receiving
                && tick >= node.busy_until
            {
                let message = &mut all[index];
                if before[index].last().is_some_and(|&there| there > message.received) {
                    message.received += 1;
                    left -= usize::from(message.received == message.words);
                }
            }
        }
        for message in &mut all {
            while message.freed < message.entered.len() {
                let gone = message.entered.get(message.freed + 1).copied();
                let whole = message.entered.len() == message.route.len();
                let gone = gone.unwrap_or(if whole { message.received } else { 0 });
                if gone < message.words {
                    break;
                }
                owner[message.route[message.freed]] = None;
                message.freed += 1;
            }
        }
    }
    unreachable!("ticks have no end")
}

/// Relative differences of the ends, of several random patterns of one length.
fn differences(words: u64, degree: usize) -> Vec<f64> {
    let topology = Topology::Torus { extents: vec![8, 8] };
    (0..2)
        .map(|seed| {
            let mut random = generator(seed, words);
            let mut messages: Vec<PooledMessage> = (0..64)
                .flat_map(|from| (0..degree).map(move |_| (from, 0)))
                .map(|(from, _)| {
                    let to = (from + random.random_range(1..64)) % 64;
                    PooledMessage { from, to, bytes: words, round: 0 }
                })
                .collect();
            messages.shuffle(&mut random);
            let fair = pass_messages(&topology, &COST, &messages, &[]).end.0 as f64 / 1000.0;
            word_by_word(&topology, &messages) as f64 / fair - 1.0
        })
        .collect()
}

#[test]
fn alone_a_message_takes_the_same_time() {
    let topology = Topology::Torus { extents: vec![8, 8] };
    for (to, words) in [(1, 5), (20, 5), (36, 40), (36, 500)] {
        let one = [PooledMessage { from: 0, to, bytes: words, round: 0 }];
        let fair = pass_messages(&topology, &COST, &one, &[]).end.0 / 1000;
        let words = word_by_word(&topology, &one);
        assert!(words.abs_diff(fair) <= 12, "{to}: {fair} {words}");
    }
}

#[test]
fn random_traffic_ends_at_about_the_same_time() {
    for (words, degree) in [(4, 6), (32, 5), (300, 2)] {
        let differences = differences(words, degree);
        println!("{words} words: {differences:.3?}");
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        assert!(mean.abs() < 0.1, "{words} words: {differences:.3?}");
    }
}
