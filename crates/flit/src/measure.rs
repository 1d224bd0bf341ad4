//! A point of the curve of latency against load.

use std::ops::Range;

use weft_base::Interrupt;

use crate::simulation::Simulation;

/// Parts of the measured cycles whose means give the interval.
pub const BATCHES: usize = 20;
/// Student's t at 97.5% with [`BATCHES`] - 1 degrees of freedom.
const STUDENT: f64 = 2.093;
/// A network of whose packets this share does not arrive, and twice the root of their number for chance, is saturated.
const UNSTABLE: f64 = 0.01;
/// Cycles between two looks at what has arrived.
const CYCLES_AT_ONCE: u64 = 256;

/// How long a network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Cycles before those that count.
    pub warmup: u64,
    /// Cycles that count, as many after the first multiple of [`BATCHES`] as are left over not.
    pub cycles: u64,
}

/// A network at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Mean cycles of the packets that were created in the cycles that count, from then until the tail has arrived: time in
    /// the queue of the source included. Of a saturated network it grows with the cycles.
    pub latency: f64,
    /// Half of the 95% interval of the latency, of the means of [`BATCHES`] batches of cycles.
    pub half_width: f64,
    /// Packets that the latency is of.
    pub packets: u64,
    /// Flits that arrived in the cycles that count, a node and cycle.
    pub accepted: f64,
    /// Flits that were created in them, a node and cycle; less in a saturated network, whose queues are not seen through.
    pub offered: f64,
    /// Whether the queues grew without end: not all packets arrived in as many cycles more, or fewer arrived than were created.
    pub saturated: bool,
    /// Links that flits crossed, over all cycles.
    pub link_hops: u64,
    /// All cycles.
    pub cycles: u64,
}

/// Runs the network, from its first cycle on: warm-up, the cycles that count, and then, with traffic going on, until
/// all of their packets have arrived or as many cycles have passed again. `None` when interrupted.
///
/// # Examples
/// ```
/// use weft_base::Interrupt;
/// use weft_flit::{Algorithm, Options, Pattern, Plan, Simulation, Traffic, measure};
/// use weft_machine::Topology;
///
/// let torus = Topology::Torus { extents: vec![8, 8] };
/// let traffic = Traffic::new(Pattern::Uniform, &torus).unwrap();
/// let options = Options {
///     channels: 4, buffer: 8, tail_credit: false, credit_delay: 0, algorithm: Algorithm::Deterministic, packet: 8,
///     load: 0.05, seed: 1,
/// };
/// let mut network = Simulation::new(&torus, traffic, options).unwrap();
/// let point = measure(&mut network, Plan { warmup: 1000, cycles: 10_000 }, &Interrupt::NEVER).unwrap();
/// // An empty network takes 34 cycles: 5 for each of 4 links, 7 through the last router, 7 for the flits behind the head.
/// assert!((34.0..36.0).contains(&point.latency) && !point.saturated);
/// ```
pub fn measure(network: &mut Simulation, plan: Plan, interrupt: &Interrupt) -> Option<Measured> {
    let mut batches = Batches::new(plan);
    let window = batches.window();
    run(network, window.start, interrupt, |_, _| {})?;
    let ejected = network.ejected();
    run(network, window.end, interrupt, |created, latency| batches.add(created, latency))?;
    let length = window.end - window.start;
    let accepted = (network.ejected() - ejected) as f64 / network.nodes() as f64 / length as f64;
    let is_done =
        |network: &Simulation| network.sources_are_past(window.end) && network.created_before(window.end) == 0;
    while network.cycle() < window.end + length && !is_done(network) {
        let next = network.cycle() + CYCLES_AT_ONCE;
        run(network, next, interrupt, |created, latency| batches.add(created, latency))?;
    }
    let work = (network.link_hops(), network.cycle());
    Some(batches.measured(accepted, network.packet(), network.nodes(), !is_done(network), work))
}

/// Latencies of the packets that were created in the cycles that count, in [`BATCHES`] of cycles.
#[derive(Clone, Debug)]
pub struct Batches {
    plan: Plan,
    /// Cycles of one.
    cycles: u64,
    /// Sum of latencies and number of packets.
    batches: [(u64, u64); BATCHES],
}

impl Batches {
    /// None yet.
    pub fn new(plan: Plan) -> Batches {
        Batches { plan, cycles: (plan.cycles / BATCHES as u64).max(1), batches: [(0, 0); BATCHES] }
    }

    /// The cycles that count.
    pub fn window(&self) -> Range<u64> {
        self.plan.warmup..self.plan.warmup + self.cycles * BATCHES as u64
    }

    /// A packet that has arrived.
    pub fn add(&mut self, created: u64, latency: u64) {
        if self.window().contains(&created) {
            let (sum, count) = &mut self.batches[((created - self.plan.warmup) / self.cycles) as usize];
            (*sum, *count) = (*sum + latency, *count + 1);
        }
    }

    /// The point of the curve, of flits accepted by a node in a cycle, flits of a packet, nodes, whether packets are left
    /// that have not arrived, and the links crossed with all cycles.
    pub fn measured(
        &self,
        accepted: f64,
        packet: u32,
        nodes: usize,
        is_left: bool,
        (link_hops, cycles): (u64, u64),
    ) -> Measured {
        let packets: u64 = self.batches.iter().map(|&(_, count)| count).sum();
        let counted = self.cycles * BATCHES as u64;
        let offered = packets as f64 * f64::from(packet) / nodes as f64 / counted as f64;
        let (latency, half_width) = summary(&self.batches);
        // How many are on their way differs from the first cycle to the last by chance.
        let missing = (1.0 - accepted / offered) * packets as f64;
        let saturated = is_left || missing > UNSTABLE * packets as f64 + 2.0 * (packets as f64).sqrt();
        Measured { latency, half_width, packets, accepted, offered, saturated, link_hops, cycles }
    }
}

fn run(network: &mut Simulation, until: u64, interrupt: &Interrupt, mut take: impl FnMut(u64, u64)) -> Option<()> {
    while network.cycle() < until {
        for _ in 0..CYCLES_AT_ONCE.min(until - network.cycle()) {
            network.step();
        }
        network.deliveries().iter().for_each(|delivery| take(delivery.created, delivery.latency));
        network.clear_deliveries();
        if interrupt.is_requested() {
            return None;
        }
    }
    Some(())
}

/// Mean over all packets, and the half-width of its interval from the means of batches that have packets.
fn summary(batches: &[(u64, u64)]) -> (f64, f64) {
    let (sum, count) = batches.iter().fold((0, 0), |(sum, count), batch| (sum + batch.0, count + batch.1));
    let means: Vec<f64> =
        batches.iter().filter(|batch| batch.1 > 0).map(|batch| batch.0 as f64 / batch.1 as f64).collect();
    if means.len() < BATCHES {
        return (sum as f64 / count as f64, f64::NAN);
    }
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
    (sum as f64 / count as f64, STUDENT * (variance / BATCHES as f64).sqrt())
}
