//! Logical channels as fair rates, compared with a model that moves single words.
//!
//! In the model every link, every sending and every receiving program moves one word in a tick, of the next channel in
//! turn that has a word before it and room behind it; programs that know lengths take the channel that is furthest behind
//! of those that are ready. Channels hold a few words on every link.

use rand::RngExt;
use rand::seq::SliceRandom;
use weft_base::{Picos, generator};
use weft_machine::Topology;
use weft_network::{Arbitration, ConnectionCost, ConnectionTransfer, LogicalChannels};

/// Words that a channel holds behind every link.
const CAPACITY: u64 = 8;
/// Ticks of a hop, where it has any: latencies of some hundred words.
const HOP: f64 = 80.0;
/// Seconds of a tick, in which a word of one byte moves.
const TICK: f64 = 1e-9;

const COST: ConnectionCost = ConnectionCost {
    link_byte_time: TICK,
    send_byte_time: TICK,
    receive_byte_time: TICK,
    overlapped: true,
    hop_time: 0.0,
    synchronisation: 0.0,
    initialisation: 0.0,
};

/// Something that moves a word in a tick, and the stages of channels that alternate on it.
#[derive(Default)]
struct Mover {
    /// Channel and number of the stage within it.
    stages: Vec<(usize, usize)>,
    next: usize,
}

/// The tick in which each transfer's last word is received. Programs that know lengths serve the transfer of which least has
/// passed, counted in `durations`: how long each shall flow.
fn word_by_word(
    topology: &Topology,
    transfers: &[ConnectionTransfer],
    arbitration: Arbitration,
    durations: &[f64],
) -> Vec<u64> {
    let (links, nodes) = (topology.links(), topology.nodes());
    let mut movers: Vec<Mover> = (0..links + 2 * nodes).map(|_| Mover::default()).collect();
    // Words before each stage: those to be sent, then what each channel holds; the last entry is what was received.
    let mut words: Vec<Vec<u64>> = Vec::new();
    for (channel, transfer) in transfers.iter().enumerate() {
        let path = std::iter::once(links + transfer.from)
            .chain(transfer.route.iter().map(|&link| link as usize))
            .chain([links + nodes + transfer.to]);
        let mut stages = 0;
        for mover in path {
            movers[mover].stages.push((channel, stages));
            stages += 1;
        }
        let mut held = vec![0; stages + 1];
        held[0] = transfer.bytes;
        words.push(held);
    }
    let mut ends = vec![0; transfers.len()];
    let mut tick = 0;
    while words.iter().zip(transfers).any(|(held, transfer)| held.last() != Some(&transfer.bytes)) {
        tick += 1;
        let before = words.clone();
        for (number, mover) in movers.iter_mut().enumerate() {
            let count = mover.stages.len();
            let mut ready = (0..count).map(|step| (mover.next + step) % count).filter(|&index| {
                let (channel, stage) = mover.stages[index];
                let is_last = stage + 2 == before[channel].len();
                before[channel][stage] > 0 && (is_last || before[channel][stage + 1] < CAPACITY)
            });
            let is_program = number >= links;
            let ready = if is_program && matches!(arbitration, Arbitration::Proportional | Arbitration::Punctual) {
                // Words that have passed here, as a share of all, and when they should have.
                let passed = |&index: &usize| {
                    let (channel, stage) = mover.stages[index];
                    let behind: u64 = before[channel][stage + 1..].iter().sum();
                    behind as f64 / transfers[channel].bytes as f64 * durations[channel]
                };
                ready.min_by(|a, b| passed(a).total_cmp(&passed(b)))
            } else {
                ready.next()
            };
            if let Some(index) = ready {
                let (channel, stage) = mover.stages[index];
                words[channel][stage] -= 1;
                words[channel][stage + 1] += 1;
                mover.next = (index + 1) % count;
            }
        }
        for (channel, transfer) in transfers.iter().enumerate() {
            if ends[channel] == 0 && words[channel].last() == Some(&transfer.bytes) {
                ends[channel] = tick;
            }
        }
    }
    ends
}

fn fair(topology: &Topology, transfers: &[ConnectionTransfer], arbitration: Arbitration, hop_time: f64) -> Vec<u64> {
    let cost = ConnectionCost { hop_time, ..COST };
    let mut channels = LogicalChannels::new(topology.nodes(), topology.links(), cost);
    let times = channels.phase(transfers, arbitration, Picos::ZERO);
    times.transfers.iter().map(|span| span.end.0 / 1000).collect()
}

fn connection(topology: &Topology, from: usize, to: usize, bytes: u64) -> ConnectionTransfer<'static> {
    let mut route = Vec::new();
    topology.route(from, to, |link| route.push(link as u32));
    ConnectionTransfer { from, to, bytes, route: route.into() }
}

#[test]
fn symmetric_patterns_agree_to_the_filling_of_the_channels() {
    let topology = Topology::Torus { extents: vec![8, 8] };
    for step in [1, 3, 9, 20] {
        for more in [0, 5] {
            let mut transfers: Vec<ConnectionTransfer> =
                (0..64).map(|from| connection(&topology, from, (from + step) % 64, 500)).collect();
            if more > 0 {
                transfers.extend((0..64).map(|from| connection(&topology, from, (from + more) % 64, 500)));
            }
            let filling = topology.diameter() as u64 + 2;
            let arbitration = Arbitration::Interleaved;
            let durations = vec![1.0; transfers.len()];
            let fair = fair(&topology, &transfers, arbitration, 0.0);
            let words = word_by_word(&topology, &transfers, arbitration, &durations);
            for (fair, words) in fair.iter().zip(&words) {
                // Ticks of a round, and the ticks until the first word is there.
                assert!(fair <= words && *words <= fair + fair / 8 + filling, "{step} {more}: {fair} {words}");
            }
        }
    }
}

/// Mean and worst relative differences of transfers, and of whole phases, over random patterns.
fn differences(arbitration: Arbitration) -> [f64; 4] {
    let topology = Topology::Torus { extents: vec![4, 4] };
    let (mut relative, mut spans) = (Vec::new(), Vec::new());
    for seed in 0..12 {
        let mut random = generator(seed, 0);
        let mut pairs: Vec<(usize, usize)> =
            (0..16).flat_map(|from| (0..16).map(move |to| (from, to))).filter(|(from, to)| from != to).collect();
        pairs.shuffle(&mut random);
        let transfers: Vec<ConnectionTransfer> = pairs[..40]
            .iter()
            .map(|&(from, to)| connection(&topology, from, to, random.random_range(100..1000)))
            .collect();
        let hop_time = if arbitration == Arbitration::Punctual { HOP * TICK } else { 0.0 };
        let fair = fair(&topology, &transfers, arbitration, hop_time);
        let latency = |transfer: &ConnectionTransfer| (HOP - 1.0) * transfer.route.len() as f64;
        let flows = |(transfer, &end): (&ConnectionTransfer, &u64)| end as f64 - HOP * transfer.route.len() as f64;
        let durations: Vec<f64> = transfers.iter().zip(&fair).map(flows).collect();
        let mut words = word_by_word(&topology, &transfers, arbitration, &durations);
        if arbitration == Arbitration::Punctual {
            // A mover passes a word on in a tick, so a hop takes one here; the others come on top of it.
            let arrivals = words.iter().zip(&transfers).map(|(&words, transfer)| words + latency(transfer) as u64);
            words = arrivals.collect();
        }
        relative.extend(fair.iter().zip(&words).map(|(fair, words)| *words as f64 / *fair as f64 - 1.0));
        spans.push(*words.iter().max().unwrap() as f64 / *fair.iter().max().unwrap() as f64 - 1.0);
    }
    let mean = |of: &[f64]| of.iter().map(|each| each.abs()).sum::<f64>() / of.len() as f64;
    let worst = |of: &[f64]| of.iter().fold(0.0_f64, |most, each| most.max(each.abs()));
    let differences = [mean(&relative), worst(&relative), mean(&spans), worst(&spans)];
    println!("{arbitration:?}: transfers and phases, mean and worst: {differences:.4?}");
    differences
}

#[test]
fn random_patterns_agree() {
    // A transfer that has few words to move is at the mercy of whose turn it is; what decides, the phase, is not.
    let [mean, worst, mean_of_phases, worst_of_phases] = differences(Arbitration::Interleaved);
    assert!(mean < 0.03 && worst < 0.5);
    assert!(mean_of_phases < 0.002 && worst_of_phases < 0.005);
}

#[test]
fn programs_that_know_lengths_agree() {
    let [.., mean_of_phases, worst_of_phases] = differences(Arbitration::Proportional);
    assert!(mean_of_phases < 0.01 && worst_of_phases < 0.03);
}

#[test]
fn programs_that_know_routes_too_agree() {
    let [.., mean_of_phases, worst_of_phases] = differences(Arbitration::Punctual);
    assert!(mean_of_phases < 0.01 && worst_of_phases < 0.03);
}
