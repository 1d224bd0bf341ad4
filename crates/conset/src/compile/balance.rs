//! A phase for every connection so that no access and no end has more than its share: simulated annealing on what is over.

use rand_xoshiro::rand_core::Rng;
use weft_base::generator;
use weft_machine::Access;

use super::control::Control;
use crate::bounds::Demand;

/// Moves for each part.
const MOVES: usize = 1500;

/// Phases within the limits of words for each access and of connections for each node, `room` channels of each node left to
/// routes that pass through.
pub fn balance(
    demand: &Demand,
    parts: &[(u32, u64)],
    limits: &[f64],
    reserve: u32,
    control: &Control,
    stream: u64,
) -> Option<Vec<u32>> {
    let mut balance = Balance::new(demand, parts, limits, reserve);
    let mut random = generator(control.seed, 10_000 + stream);
    let phases = limits.len() as u64;
    for longest in balance.by_length() {
        // Longest first, each where it adds least.
        let phase = (0..phases as usize)
            .min_by(|&a, &b| balance.change(longest, None, a).total_cmp(&balance.change(longest, None, b)))?;
        balance.put(longest, phase);
    }
    let mut over = balance.total();
    let moves = MOVES * parts.len();
    for step in 0..moves {
        if over < 1e-9 {
            return Some(balance.phase.iter().map(|&phase| phase as u32).collect());
        }
        if step % 1024 == 0 {
            control.spend(1024 * 3);
            if control.is_over() {
                return None;
            }
        }
        let heat = 0.3 * (1.0 - step as f64 / moves as f64).powi(3) + 1e-4;
        let part = (random.next_u64() % parts.len() as u64) as usize;
        let from = balance.phase[part];
        let draw = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if random.next_u64().is_multiple_of(2) {
            let to = (random.next_u64() % phases) as usize;
            if to == from {
                continue;
            }
            let change = balance.change(part, Some(from), to);
            if change <= 0.0 || draw < (-change / heat).exp() {
                balance.take(part);
                balance.put(part, to);
                over += change;
            }
        } else {
            let other = (random.next_u64() % parts.len() as u64) as usize;
            let to = balance.phase[other];
            if to == from {
                continue;
            }
            let change = balance.change(part, Some(from), to);
            balance.take(part);
            balance.put(part, to);
            let change = change + balance.change(other, Some(to), from);
            if change <= 0.0 || draw < (-change / heat).exp() {
                balance.take(other);
                balance.put(other, from);
                over += change;
            } else {
                balance.take(part);
                balance.put(part, from);
            }
        }
        if step % 4096 == 0 {
            // What was added up from changes drifts.
            over = balance.total();
        }
    }
    None
}

struct Balance<'a> {
    demand: &'a Demand<'a>,
    parts: &'a [(u32, u64)],
    phase: Vec<usize>,
    /// Words of each access in each phase, and how many there may be.
    words: Vec<Vec<f64>>,
    most_words: Vec<f64>,
    /// Connections that start or end at each node in each phase, and how many may.
    ends: Vec<Vec<u32>>,
    most_ends: u32,
    /// Words that count as one too many.
    unit: f64,
}

impl<'a> Balance<'a> {
    fn new(demand: &'a Demand<'a>, parts: &'a [(u32, u64)], limits: &[f64], reserve: u32) -> Balance<'a> {
        let nodes = demand.network.nodes;
        let all: f64 = parts.iter().map(|part| part.1 as f64).sum();
        let seconds = demand.resources.access_seconds;
        let words = |&limit: &f64| if seconds > 0.0 { limit / seconds * (1.0 + 1e-9) } else { f64::INFINITY };
        Balance {
            demand,
            parts,
            phase: vec![usize::MAX; parts.len()],
            words: vec![vec![0.0; 2 * nodes]; limits.len()],
            most_words: limits.iter().map(words).collect(),
            ends: vec![vec![0; nodes]; limits.len()],
            most_ends: demand.resources.node_channels.map_or(u32::MAX, |most| most.saturating_sub(reserve).max(1)),
            unit: all / parts.len().max(1) as f64,
        }
    }

    fn by_length(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.parts.len()).collect();
        order.sort_by_key(|&part| std::cmp::Reverse(self.parts[part].1));
        order
    }

    /// The accesses and the nodes of a part.
    fn rows(&self, part: usize) -> ([usize; 2], [usize; 2]) {
        let c = self.demand.set.connections[self.parts[part].0 as usize];
        let (source, destination) = (c.source as usize, c.destination as usize);
        let receiving = match self.demand.resources.access {
            Access::Separate => self.demand.network.nodes + destination,
            Access::Shared => destination,
        };
        ([source, receiving], [source, destination])
    }

    fn over(&self, phase: usize, access: usize, more: f64) -> f64 {
        ((self.words[phase][access] + more - self.most_words[phase]) / self.unit).max(0.0)
    }

    fn over_ends(&self, phase: usize, node: usize, more: i64) -> f64 {
        (i64::from(self.ends[phase][node]) + more - i64::from(self.most_ends)).max(0) as f64
    }

    /// How much more is over when a part goes from one phase to another.
    fn change(&self, part: usize, from: Option<usize>, to: usize) -> f64 {
        let words = self.parts[part].1 as f64;
        let (accesses, nodes) = self.rows(part);
        let mut change = 0.0;
        for access in accesses {
            change += self.over(to, access, words) - self.over(to, access, 0.0);
            if let Some(from) = from {
                change += self.over(from, access, -words) - self.over(from, access, 0.0);
            }
        }
        for node in nodes {
            change += self.over_ends(to, node, 1) - self.over_ends(to, node, 0);
            if let Some(from) = from {
                change += self.over_ends(from, node, -1) - self.over_ends(from, node, 0);
            }
        }
        change
    }

    fn put(&mut self, part: usize, phase: usize) {
        let (accesses, nodes) = self.rows(part);
        self.phase[part] = phase;
        for access in accesses {
            self.words[phase][access] += self.parts[part].1 as f64;
        }
        for node in nodes {
            self.ends[phase][node] += 1;
        }
    }

    fn take(&mut self, part: usize) {
        let (accesses, nodes) = self.rows(part);
        let phase = self.phase[part];
        for access in accesses {
            self.words[phase][access] -= self.parts[part].1 as f64;
        }
        for node in nodes {
            self.ends[phase][node] -= 1;
        }
    }

    fn total(&self) -> f64 {
        let mut total = 0.0;
        for phase in 0..self.words.len() {
            total += (0..self.words[phase].len()).map(|access| self.over(phase, access, 0.0)).sum::<f64>();
            total += (0..self.ends[phase].len()).map(|node| self.over_ends(phase, node, 0)).sum::<f64>();
        }
        total
    }
}
