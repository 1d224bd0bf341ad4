//! Phases in stages: transfers that have far to go send no more while the last words of those that have not are sent.
//!
//! Where all transfers of a phase flow until their last words are due, each at a constant rate, a resource has nothing to do
//! from when its farthest transfer is through. With latencies as long as transfers, that is most of the phase. Here the
//! first stage ends when the farthest have to be through, and each further one when those that are next have to; near
//! transfers send some of their words later than in the first stage, so that it becomes shorter. This is the order of
//! earliest due dates (Jackson 1955), and the delivery times of shop scheduling (Carlier 1982), with several resources.

use std::collections::BinaryHeap;

use weft_machine::Access;

use super::plan::{Placed, arrival_seconds};
use super::timetable::{self, OrdersByConnection, Times};
use crate::network::Network;
use crate::resources::Resources;
use crate::schedule::Piece;

/// Steps over transfers and their resources after which a timetable is taken as it is.
const MAX_STEPS: usize = 4_000_000;

/// Transfers times stages, beyond which a phase has none.
const MAX_CELLS: usize = 1 << 22;

/// Share of the time of a phase, with switching, that stages may save at least where they are looked for.
const MIN_GAIN: f64 = 1e-3;

/// What a word of a transfer takes of each resource: its number and seconds.
type Takes = Vec<(usize, f64)>;

/// Stages of a phase.
pub struct Staged {
    /// Seconds of each stage.
    lengths: Vec<f64>,
    /// Words of each transfer in each stage.
    words: Vec<Vec<u64>>,
    /// Seconds until the last word has arrived.
    pub arrival: f64,
}

impl Staged {
    /// Stages of a phase that nothing in it waits for, by which all has arrived before `seconds`. `None` where there are
    /// none, or hardly.
    pub fn shorter(phase: &[Placed], seconds: f64, resources: &Resources, network: &Network) -> Option<Staged> {
        let stages = Stages::of(phase, resources)?;
        if phase.len().saturating_mul(stages.farthest.len()) > MAX_CELLS {
            return None;
        }
        let takes = takes(phase, resources, network);
        let gain = seconds - least_seconds(phase, &takes, resources);
        if gain < MIN_GAIN * (resources.switch_seconds() + seconds) {
            return None;
        }
        let staged = Filling::new(phase, takes, &stages).filled(phase, resources);
        (staged.arrival < seconds * (1.0 - 1e-9)).then_some(staged)
    }

    /// Seconds until all of a phase has arrived, by stages or by rates that are always the same.
    pub fn arrival_seconds(phase: &[Placed], resources: &Resources, network: &Network) -> f64 {
        let even = arrival_seconds(phase, resources, network);
        Staged::shorter(phase, even, resources, network).map_or(even, |staged| staged.arrival)
    }

    /// When each transfer flows.
    pub fn times(&self) -> Times {
        let starts = timetable::starts(self.lengths.iter().copied());
        // Whoever executes it sees by pieces that there are stages, though no transfer may be in two.
        let are_listed = |pieces: &[Piece]| pieces.len() > 1 || pieces.first().is_some_and(|piece| piece.start > 0.0);
        timetable::times_of_stages(&starts, &self.lengths, &self.words, are_listed)
    }
}

/// The better of two timetables: [`timetable::even`], and by stages where nothing waits.
pub fn soonest(phase: &[Placed], orders: &OrdersByConnection, resources: &Resources, network: &Network) -> Times {
    let even = timetable::even(phase, orders, resources, network);
    if !orders.is_empty() {
        return even;
    }
    let seconds = timetable::arrival(phase, &even, resources);
    Staged::shorter(phase, seconds, resources, network).map_or(even, |staged| staged.times())
}

/// What a word of each transfer takes of accesses and links; the last is the transfer itself, which can be no faster than
/// alone.
fn takes(phase: &[Placed], resources: &Resources, network: &Network) -> Vec<Takes> {
    let nodes = network.nodes;
    let shared = 2 * nodes + network.links();
    let receiving = match resources.access {
        Access::Separate => nodes,
        Access::Shared => 0,
    };
    let of = |(index, placed): (usize, &Placed)| {
        let links = placed.route.windows(2).map(|pair| {
            let link = network.link(pair[0], pair[1]);
            (2 * nodes + link, resources.link_seconds / f64::from(network.multiplicity[link]))
        });
        let accesses = [placed.source(), receiving + placed.destination()].map(|row| (row, resources.access_seconds));
        let alone = (shared + index, resources.word_seconds());
        accesses.into_iter().chain(links).chain([alone]).filter(|take| take.1 > 0.0).collect()
    };
    let mut takes: Vec<Takes> = phase.iter().enumerate().map(of).collect();
    // Only those that are used, by numbers of their own.
    let mut number = vec![usize::MAX; shared + phase.len()];
    let mut used = 0;
    for (resource, _) in takes.iter_mut().flatten() {
        if number[*resource] == usize::MAX {
            (number[*resource], used) = (used, used + 1);
        }
        *resource = number[*resource];
    }
    takes
}

/// Resources that are used: all numbers below that are.
fn resource_count(takes: &[Takes]) -> usize {
    takes.iter().flatten().map(|&(resource, _)| resource + 1).max().unwrap_or(0)
}

/// No timetable is shorter: each resource has all of its words to transfer, and the last has the way of the nearest to go.
fn least_seconds(phase: &[Placed], takes: &[Takes], resources: &Resources) -> f64 {
    let mut busy = vec![(0.0, f64::INFINITY); resource_count(takes)];
    for (placed, takes) in phase.iter().zip(takes) {
        for &(resource, seconds) in takes {
            let (busy, nearest) = &mut busy[resource];
            *busy += placed.words as f64 * seconds;
            *nearest = f64::min(*nearest, resources.latency_seconds(placed.hops()));
        }
    }
    busy.into_iter().map(|(busy, nearest)| busy + nearest).fold(0.0, f64::max)
}

/// Which stages there are.
struct Stages {
    /// The most hops of a transfer in each stage, descending.
    farthest: Vec<usize>,
    /// Seconds that each stage but the first may take.
    most: Vec<f64>,
}

impl Stages {
    fn of(phase: &[Placed], resources: &Resources) -> Option<Stages> {
        let word = resources.word_seconds();
        if resources.hop_seconds <= 0.0 || word <= 0.0 {
            return None;
        }
        let mut all: Vec<usize> = phase.iter().map(Placed::hops).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup();
        let first = *all.first()?;
        let (mut farthest, mut most) = (vec![first], vec![f64::INFINITY]);
        for hops in all {
            let length = resources.latency_seconds(farthest[farthest.len() - 1] - hops);
            // A stage has time for a word at least.
            if length * (1.0 + 1e-9) >= word {
                farthest.push(hops);
                most.push(length);
            }
        }
        (farthest.len() > 1).then_some(Stages { farthest, most })
    }

    /// The last stage in which a transfer may flow.
    fn last(&self, hops: usize) -> usize {
        self.farthest.partition_point(|&farthest| farthest >= hops) - 1
    }
}

/// Words on their way from the first stage to others.
struct Filling<'a> {
    stages: &'a Stages,
    takes: Vec<Takes>,
    /// The transfers of each resource.
    users: Vec<Vec<u32>>,
    /// The last stage of each transfer.
    last: Vec<usize>,
    words: Vec<Vec<u64>>,
    /// Seconds that each resource is busy in each stage.
    busy: Vec<Vec<f64>>,
    steps: usize,
}

impl<'a> Filling<'a> {
    fn new(phase: &[Placed], takes: Vec<Takes>, stages: &'a Stages) -> Filling<'a> {
        let count = stages.farthest.len();
        let mut users = vec![Vec::new(); resource_count(&takes)];
        let mut busy = vec![vec![0.0; users.len()]; count];
        for (index, (placed, takes)) in phase.iter().zip(&takes).enumerate() {
            for &(resource, seconds) in takes {
                users[resource].push(index as u32);
                busy[0][resource] += placed.words as f64 * seconds;
            }
        }
        let words = |placed: &Placed| (0..count).map(|stage| if stage == 0 { placed.words } else { 0 }).collect();
        Filling {
            stages,
            takes,
            users,
            last: phase.iter().map(|placed| stages.last(placed.hops())).collect(),
            words: phase.iter().map(words).collect(),
            busy,
            steps: 0,
        }
    }

    /// Takes words from the first stage of the resource that is the busiest there, until that has none that fit elsewhere.
    fn filled(mut self, phase: &[Placed], resources: &Resources) -> Staged {
        // Of each resource its seconds in the first stage, as bits, which are in the order of the seconds; what has become
        // less since is put back.
        let mut busiest: BinaryHeap<(u64, usize)> =
            self.busy[0].iter().enumerate().map(|(resource, seconds)| (seconds.to_bits(), resource)).collect();
        while let Some((bits, resource)) = busiest.pop() {
            let now = self.busy[0][resource];
            if now.to_bits() == bits && (self.steps > MAX_STEPS || !self.relieve(resource)) {
                break;
            }
            busiest.push((self.busy[0][resource].max(0.0).to_bits(), resource));
        }
        let lengths = self.lengths();
        let (mut end, mut arrival) = (0.0, 0.0f64);
        for (stage, length) in lengths.iter().enumerate() {
            end += length;
            let used = phase.iter().zip(&self.words).filter(|(_, words)| words[stage] > 0);
            let farthest = used.map(|(placed, _)| placed.hops()).max();
            arrival = farthest.map_or(arrival, |hops| arrival.max(end + resources.latency_seconds(hops)));
        }
        Staged { lengths, words: self.words, arrival }
    }

    /// Seconds that the busiest resource of each stage needs; added up once more, as what was taken off has been rounded.
    fn lengths(&mut self) -> Vec<f64> {
        let lengths = self.busy.iter_mut().enumerate().map(|(stage, busy)| {
            busy.fill(0.0);
            for (takes, words) in self.takes.iter().zip(&self.words) {
                takes.iter().for_each(|&(resource, seconds)| busy[resource] += seconds * words[stage] as f64);
            }
            busy.iter().copied().fold(0.0, f64::max)
        });
        lengths.collect()
    }

    /// Some words of one transfer go from the first stage to the latest that has time for them: of those that fit, the
    /// transfer whose other resources are the busiest. Whether there was one.
    fn relieve(&mut self, resource: usize) -> bool {
        for stage in (1..self.stages.farthest.len()).rev() {
            let mut best: Option<(f64, u32, u64)> = None;
            for &user in &self.users[resource] {
                let index = user as usize;
                self.steps += 1;
                if self.last[index] < stage || self.words[index][0] == 0 {
                    continue;
                }
                self.steps += self.takes[index].len();
                let free = self.free(index, stage).min(self.words[index][0]);
                let others: f64 = self.takes[index]
                    .iter()
                    .map(|&(other, _)| self.busy[0][other])
                    .fold(0.0, |sum, one| sum + one * one);
                if free > 0 && best.is_none_or(|(known, ..)| others > known) {
                    best = Some((others, user, free));
                }
            }
            if let Some((_, user, free)) = best {
                self.postpone(user as usize, stage, free);
                return true;
            }
        }
        false
    }

    /// Words of a transfer that a stage has time for.
    fn free(&self, index: usize, stage: usize) -> u64 {
        let most = self.stages.most[stage] * (1.0 + 1e-9);
        let free = |&(resource, seconds): &(usize, f64)| (most - self.busy[stage][resource]) / seconds;
        self.takes[index].iter().map(free).fold(f64::INFINITY, f64::min).max(0.0) as u64
    }

    fn postpone(&mut self, index: usize, stage: usize, words: u64) {
        for &(resource, seconds) in &self.takes[index] {
            self.busy[0][resource] -= seconds * words as f64;
            self.busy[stage][resource] += seconds * words as f64;
        }
        self.words[index][0] -= words;
        self.words[index][stage] += words;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weft_machine::Topology;

    use super::*;

    /// Rings of sixteen cells of the iWarp: a word takes 100 ns of an access, as long as half a hop.
    fn ring() -> (Resources, Network) {
        let machine = weft_machine::find("iwarp64").unwrap();
        let topology = Topology::Torus { extents: vec![16] };
        let resources = Resources { topology, ..Resources::of(&machine).unwrap() };
        let network = Network::new(&resources.topology);
        (resources, network)
    }

    /// From a node over some links upwards, or downwards.
    fn placed(connection: u32, source: u32, steps: i32, words: u64) -> Placed {
        let at = |step: i32| (source as i32 + step * steps.signum()).rem_euclid(16) as u32;
        Placed { connection, words, route: (0..=steps.abs()).map(at).collect() }
    }

    fn staged(phase: &[Placed], resources: &Resources, network: &Network) -> Option<Staged> {
        Staged::shorter(phase, f64::INFINITY, resources, network)
    }

    #[test]
    fn near_words_are_sent_while_far_ones_are_on_their_way() {
        let (resources, network) = ring();
        let phase = [placed(0, 0, 1, 10), placed(1, 0, -4, 10)];
        let staged = staged(&phase, &resources, &network).unwrap();
        // The access is busy with twenty words, and the last has one link to go.
        assert!((staged.arrival - 2.2e-6).abs() < 1e-15, "{}", staged.arrival);
        let even = arrival_seconds(&phase, &resources, &network);
        assert!(even > 2.4e-6 && Staged::arrival_seconds(&phase, &resources, &network) == staged.arrival, "{even}");
        // Three hops are six words.
        assert_eq!(staged.words, [[4, 6], [10, 0]]);
        let times = staged.times();
        let of = |index: usize| times[index].2.iter().map(|piece| piece.words).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec![4, 6], vec![]));
    }

    #[test]
    fn where_all_go_equally_far_there_is_one_stage() {
        let (resources, network) = ring();
        assert!(staged(&[placed(0, 0, 2, 5), placed(1, 3, -2, 9)], &resources, &network).is_none());
        let free = Resources { hop_seconds: 0.0, ..resources };
        assert!(staged(&[placed(0, 0, 2, 5), placed(1, 3, -1, 9)], &free, &network).is_none());
    }

    proptest! {
        /// Nothing is lost, nobody waits for a stage that is too late for it, and no resource is through sooner than it can.
        #[test]
        fn stages_have_all_words_and_no_resource_is_asked_for_more_than_it_can(
            transfers in proptest::collection::vec((0u32..16, prop_oneof![-7i32..0, 1i32..8], 1u64..60), 1..30),
        ) {
            let (resources, network) = ring();
            let phase: Vec<Placed> = transfers.iter().enumerate()
                .map(|(index, &(source, steps, words))| placed(index as u32, source, steps, words)).collect();
            let Some(staged) = staged(&phase, &resources, &network) else { return Ok(()) };
            for (placed, words) in phase.iter().zip(&staged.words) {
                prop_assert_eq!(words.iter().sum::<u64>(), placed.words);
            }
            // Words of what leaves each node, comes into it, or crosses a link upwards or downwards, stage by stage.
            for stage in 0..staged.lengths.len() {
                let mut taken = std::collections::HashMap::new();
                for (placed, words) in phase.iter().zip(&staged.words) {
                    let (first, last) = (placed.route[0], placed.route[placed.route.len() - 1]);
                    let ends = [("out", first, 0), ("in", last, 0)];
                    let links = placed.route.windows(2).map(|pair| ("link", pair[0], pair[1]));
                    ends.into_iter().chain(links).for_each(|key| *taken.entry(key).or_insert(0u64) += words[stage]);
                }
                let most = taken.values().copied().max().unwrap_or(0) as f64 * 1e-7;
                prop_assert!((most - staged.lengths[stage]).abs() < 1e-13, "{most} {}", staged.lengths[stage]);
            }
            let end = |stage: usize| staged.lengths[..=stage].iter().sum::<f64>();
            let of = |(placed, words): (&Placed, &Vec<u64>)| {
                let last = words.iter().rposition(|&words| words > 0).unwrap();
                end(last) + placed.hops() as f64 * 2e-7
            };
            let latest = phase.iter().zip(&staged.words).map(of).fold(0.0, f64::max);
            prop_assert!((latest - staged.arrival).abs() < 1e-13);
            // No worse than all through together, and then the longest latency.
            let (all, far) = (staged.words.iter().flatten().sum::<u64>(), phase.iter().map(Placed::hops).max().unwrap());
            prop_assert!(staged.arrival <= all as f64 * 1e-7 + far as f64 * 2e-7 + 1e-13);
        }
    }
}
