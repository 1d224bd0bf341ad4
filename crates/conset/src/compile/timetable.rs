//! Times of the transfers of a phase.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use weft_base::Picos;
use weft_machine::Access;
use weft_network::{Arbitration, ConnectionCost, ConnectionTransfer, LogicalChannels};

use super::plan::{Placed, arrival_seconds, phase_seconds};
use crate::network::{ASKED_EVERY, Network};
use crate::pattern::{Connection, ConnectionSet, Order};
use crate::resources::Resources;
use crate::schedule::{Piece, Transfer};

/// Start and duration of each placed connection of a phase.
pub type Times = Vec<(f64, f64, Vec<Piece>)>;

/// weft's timetable: all transfers of a phase flow at once, each at the rate that lets all arrive together. So those that
/// have far to go are through sooner, and the busiest access or link, which mostly has others, is busy until nearly the end.
///
/// Rates are constant because a program sends and receives element by element (Feldmann, Stricker and Warfel 1993, principle
/// 2.1) and links serve waiting channels in turn (section 4.1.2). Where orders bind connections of the same phase, the
/// phase has stages one after the other; who may wait is divided among stages where that makes them shorter.
pub fn even(phase: &[Placed], orders: &OrdersByConnection, resources: &Resources, network: &Network) -> Times {
    let stages = stages(phase, orders);
    let last = stages.iter().copied().max().unwrap_or(0);
    if last == 0 {
        let arrival = arrival_seconds(phase, resources, network);
        let through = |placed: &Placed| arrival - resources.latency_seconds(placed.hops());
        return phase.iter().map(|placed| (0.0, through(placed), Vec::new())).collect();
    }
    let early = Stages::new(phase, resources, network, last).filled(&stages, &stages);
    let spread = Stages::new(phase, resources, network, last).filled(&stages, &latest(phase, &stages, orders));
    let better = if spread.total() < early.total() * (1.0 - 1e-9) { spread } else { early };
    better.times()
}

/// The last stage in which each connection may flow: before any that waits for it begins.
fn latest(phase: &[Placed], stages: &[u32], orders: &OrdersByConnection) -> Vec<u32> {
    let last = stages.iter().copied().max().unwrap_or(0);
    let index_of: FxHashMap<u32, usize> = phase.iter().enumerate().map(|(index, p)| (p.connection, index)).collect();
    let mut latest = vec![last; phase.len()];
    for (&connection, &index) in &index_of {
        for before in orders.get(&connection).into_iter().flatten() {
            if let Some(&earlier) = index_of.get(before) {
                latest[earlier] = latest[earlier].min(stages[index] - 1);
            }
        }
    }
    latest
}

/// The stages of a phase while words are given to them.
struct Stages<'a> {
    phase: &'a [Placed],
    /// What a word of each connection takes of each resource: its number and seconds.
    takes: Vec<Vec<(usize, f64)>>,
    /// Seconds of each resource in each stage, and of the stage.
    busy: Vec<Vec<f64>>,
    seconds: Vec<f64>,
    /// Words of each connection in each stage.
    words: Vec<Vec<u64>>,
    /// Of a word on its own, s.
    word: f64,
    /// Of a word to pass a link, s.
    hop: f64,
}

impl<'a> Stages<'a> {
    fn new(phase: &'a [Placed], resources: &Resources, network: &Network, last: u32) -> Stages<'a> {
        let (nodes, count) = (network.nodes, last as usize + 1);
        let takes = |placed: &Placed| {
            let receiving = match resources.access {
                Access::Separate => nodes + placed.destination(),
                Access::Shared => placed.destination(),
            };
            let links = placed.route.windows(2).map(|pair| {
                let link = network.link(pair[0], pair[1]);
                (2 * nodes + link, resources.link_seconds / f64::from(network.multiplicity[link]))
            });
            let accesses = [placed.source(), receiving].map(|row| (row, resources.access_seconds));
            accesses.into_iter().chain(links).filter(|take| take.1 > 0.0).collect()
        };
        Stages {
            phase,
            takes: phase.iter().map(takes).collect(),
            busy: vec![vec![0.0; 2 * nodes + network.links()]; count],
            seconds: vec![0.0; count],
            words: vec![vec![0; count]; phase.len()],
            word: resources.word_seconds(),
            hop: resources.hop_seconds,
        }
    }

    /// All words given to stages from the first to the last of each connection: those that have only one first, then the
    /// longest, into what others leave free and what is left where it costs least.
    fn filled(mut self, first: &[u32], last: &[u32]) -> Stages<'a> {
        let mut order: Vec<usize> = (0..self.phase.len()).collect();
        order.sort_by_key(|&index| (last[index] > first[index], std::cmp::Reverse(self.phase[index].words), index));
        for index in order {
            let stages = first[index] as usize..=last[index] as usize;
            let mut left = self.phase[index].words;
            for stage in stages.clone() {
                let free = self.free(index, stage).min(left);
                self.give(index, stage, free);
                left -= free;
            }
            let cost = |stage: usize| self.with(index, stage, left) - self.seconds[stage];
            if let Some(stage) = stages.min_by(|&a, &b| cost(a).total_cmp(&cost(b))).filter(|_| left > 0) {
                self.give(index, stage, left);
            }
        }
        self
    }

    /// Words of a connection that a stage can have without taking longer.
    fn free(&self, index: usize, stage: usize) -> u64 {
        let own = self.words[index][stage] as f64;
        let alone = if self.word > 0.0 { self.seconds[stage] / self.word - own } else { f64::INFINITY };
        let free = self.takes[index]
            .iter()
            .map(|&(resource, seconds)| (self.seconds[stage] - self.busy[stage][resource]) / seconds)
            .fold(alone, f64::min);
        // Rounding must not lose a word that fits.
        (free + 1e-6).max(0.0) as u64
    }

    /// Seconds of a stage with more words of a connection.
    fn with(&self, index: usize, stage: usize, words: u64) -> f64 {
        let alone = (self.words[index][stage] + words) as f64 * self.word;
        self.takes[index]
            .iter()
            .map(|&(resource, seconds)| self.busy[stage][resource] + seconds * words as f64)
            .fold(self.seconds[stage].max(alone), f64::max)
    }

    fn give(&mut self, index: usize, stage: usize, words: u64) {
        self.seconds[stage] = self.with(index, stage, words);
        for &(resource, seconds) in &self.takes[index] {
            self.busy[stage][resource] += seconds * words as f64;
        }
        self.words[index][stage] += words;
    }

    fn total(&self) -> f64 {
        self.seconds.iter().sum::<f64>() + self.latencies().iter().sum::<f64>()
    }

    /// Of each stage, seconds of latency of its last word.
    fn latencies(&self) -> Vec<f64> {
        let longest = |stage: usize| {
            let used = self.phase.iter().zip(&self.words).filter(|(_, words)| words[stage] > 0);
            used.map(|(placed, _)| placed.hops()).max().unwrap_or(0)
        };
        (0..self.seconds.len()).map(|stage| self.hop * longest(stage) as f64).collect()
    }

    fn times(&self) -> Times {
        let starts = starts(self.seconds.iter().zip(self.latencies()).map(|(seconds, latency)| seconds + latency));
        times_of_stages(&starts, &self.seconds, &self.words, |pieces| pieces.len() > 1)
    }
}

/// When each of several stages begins that follow one another.
pub fn starts(durations: impl Iterator<Item = f64>) -> Vec<f64> {
    let start_and_end = |at: &mut f64, duration: f64| {
        let start = *at;
        *at += duration;
        Some(start)
    };
    durations.scan(0.0, start_and_end).collect()
}

/// When transfers flow that send so many words in each stage, given when stages begin and how many seconds they last.
/// Pieces are listed where `are_listed` says so of them; elsewhere a transfer flows from its start to its end.
pub fn times_of_stages(
    starts: &[f64],
    seconds: &[f64],
    words: &[Vec<u64>],
    are_listed: impl Fn(&[Piece]) -> bool,
) -> Times {
    let of = |words: &Vec<u64>| {
        let used = words.iter().enumerate().filter(|(_, words)| **words > 0);
        let pieces: Vec<Piece> =
            used.map(|(stage, &words)| Piece { start: starts[stage], duration: seconds[stage], words }).collect();
        let start = pieces.first().map_or(0.0, |piece| piece.start);
        let end = pieces.last().map_or(0.0, |piece| piece.start + piece.duration);
        let pieces = if are_listed(&pieces) { pieces } else { Vec::new() };
        (start, end - start, pieces)
    };
    words.iter().map(of).collect()
}

/// For each placed connection how many of the same phase must come before it, one after the other.
fn stages(phase: &[Placed], orders: &OrdersByConnection) -> Vec<u32> {
    let mut stages = vec![0; phase.len()];
    if orders.is_empty() {
        return stages;
    }
    let index_of: FxHashMap<u32, usize> = phase.iter().enumerate().map(|(index, p)| (p.connection, index)).collect();
    // Orders are without cycles, so this ends after as many rounds as the longest chain has connections.
    loop {
        let mut changed = false;
        for (&connection, &index) in &index_of {
            for before in orders.get(&connection).into_iter().flatten() {
                if let Some(&earlier) = index_of.get(before)
                    && stages[index] <= stages[earlier]
                {
                    stages[index] = stages[earlier] + 1;
                    changed = true;
                }
            }
        }
        if !changed {
            return stages;
        }
    }
}

/// For each connection those it waits for.
pub type OrdersByConnection = FxHashMap<u32, Vec<u32>>;

/// The orders of a set by the connection that waits.
pub fn by_connection(orders: &[Order]) -> OrdersByConnection {
    let mut earlier = OrdersByConnection::default();
    for order in orders {
        earlier.entry(order.after).or_default().push(order.before);
    }
    earlier
}

/// The paper's scheduler AS (Feldmann, Stricker and Warfel 1993, section 4.4.2): a global timetable filled greedily.
///
/// Until every connection is scheduled: take the processor with the largest lower bound (`MIN TIME`: what is left to be
/// scheduled on it), of its connections the longest, and put it into the first free time of both processors. The paper
/// does not say whether `MIN TIME` has what is scheduled already. With it the torus takes six transfers one after
/// another; the paper's own took four, as it does without.
///
/// `None` where `stop` says so before it is full. The paper does not say whether a processor's table has one row or two;
/// with `Access::Separate` it has one for sending and one for receiving. Congestion is not looked at; where links are
/// asked for more than they can do, the phase takes the longer of the timetable and its busiest link, which flatters AS.
pub fn greedy(phase: &[Placed], resources: &Resources, network: &Network, stop: &dyn Fn() -> bool) -> Option<Times> {
    let nodes = network.nodes;
    let shared = resources.access == Access::Shared;
    let rows = if shared { nodes } else { 2 * nodes };
    let row_of = |placed: &Placed| {
        let receiving = if shared { placed.destination() } else { nodes + placed.destination() };
        [placed.source(), receiving]
    };
    let duration = |placed: &Placed| placed.words as f64 * resources.word_seconds();
    let mut left = vec![0.0; rows];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); rows];
    for (index, placed) in phase.iter().enumerate() {
        for row in row_of(placed) {
            left[row] += duration(placed);
            waiting[row].push(index);
        }
    }
    for list in &mut waiting {
        list.sort_by(|&a, &b| phase[b].words.cmp(&phase[a].words).then(a.cmp(&b)));
    }
    let mut busy: Vec<Vec<(f64, f64)>> = vec![Vec::new(); rows];
    let mut times: Times = vec![(0.0, 0.0, Vec::new()); phase.len()];
    let mut scheduled = vec![false; phase.len()];
    // Of each row how many of its transfers are known to be scheduled: those that come first.
    let mut through = vec![0; rows];
    let mut next_rows: BinaryHeap<Left> = (0..rows).map(|row| Left(left[row], row)).collect();
    while let Some(Left(seconds, row)) = next_rows.pop() {
        if stop() {
            return None;
        }
        // A row is queued again whenever it has less left.
        if seconds.total_cmp(&left[row]).is_ne() {
            continue;
        }
        let first = &mut through[row];
        *first += waiting[row][*first..].iter().take_while(|&&index| scheduled[index]).count();
        let Some(&index) = waiting[row].get(*first) else { continue };
        let [a, b] = row_of(&phase[index]);
        let length = duration(&phase[index]);
        let start = first_common(&busy[a], &busy[b], length);
        for row in [a, b] {
            let slot = busy[row].partition_point(|span| span.0 < start);
            busy[row].insert(slot, (start, start + length));
            left[row] -= length;
            next_rows.push(Left(left[row], row));
        }
        scheduled[index] = true;
        times[index] = (start, length, Vec::new());
    }
    Some(slow_down(phase, times, resources, network))
}

/// Seconds that are left to be scheduled on a row, and the row: most comes first, of equals the first row.
#[derive(PartialEq)]
struct Left(f64, usize);

impl Eq for Left {}

impl Ord for Left {
    fn cmp(&self, other: &Left) -> Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Left {
    fn partial_cmp(&self, other: &Left) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Transfers times rows of a timetable, up to which a greedy one is tried beside weft's own.
const MAX_TRIED: usize = 1 << 22;

/// The greedy timetable of a phase, if by it all has arrived before `seconds`. `None` too where orders bind connections, where
/// no timetable could be shorter, where there are too many transfers, and where `stop` says so.
pub fn shorter(
    phase: &[Placed],
    seconds: f64,
    set: &ConnectionSet,
    resources: &Resources,
    network: &Network,
    stop: &dyn Fn() -> bool,
) -> Option<Times> {
    let alone = |placed: &Placed| resources.alone_seconds(placed.words, placed.hops());
    let longest = phase.iter().map(alone).fold(0.0, f64::max);
    let is_least = seconds <= longest * (1.0 + 1e-9);
    if is_least || !set.orders.is_empty() || phase.len().saturating_mul(2 * network.nodes) > MAX_TRIED {
        return None;
    }
    let is_shorter = |times: &Times| arrival(phase, times, resources) < seconds * (1.0 - 1e-9);
    let times = greedy(phase, resources, network, stop).filter(is_shorter)?;
    Some(kept(phase, times, resources, network)).filter(is_shorter)
}

/// A timetable that is kept: where nodes, which know no more of it than their order, take longer, it is drawn out to what
/// they take. A transfer that may begin early shares links with others that are to be through by then.
fn kept(phase: &[Placed], mut times: Times, resources: &Resources, network: &Network) -> Times {
    let last = times.iter().map(|(start, duration, _)| start + duration).fold(0.0, f64::max);
    let is_whole = |(start, duration, _): &(f64, f64, Vec<Piece>)| *start == 0.0 && *duration >= last * (1.0 - 1e-9);
    if times.iter().all(is_whole) {
        return times;
    }
    let seconds = seconds_in_order(phase, &times, resources, network);
    let factor = |(placed, (start, duration, _)): (&Placed, &(f64, f64, Vec<Piece>))| {
        (seconds - resources.latency_seconds(placed.hops())) / (start + duration)
    };
    let factor = phase.iter().zip(&times).map(factor).fold(f64::INFINITY, f64::min);
    if factor > 1.0 && factor.is_finite() {
        for (start, duration, _) in &mut times {
            (*start, *duration) = (*start * factor, *duration * factor);
        }
    }
    times
}

/// Seconds until the last word of a phase has arrived whose nodes begin transfers in the order of a timetable, each as
/// soon as both of its ends are through with those before it.
fn seconds_in_order(phase: &[Placed], times: &Times, resources: &Resources, network: &Network) -> f64 {
    let cost = ConnectionCost {
        link_byte_time: resources.link_seconds,
        send_byte_time: resources.access_seconds,
        receive_byte_time: resources.access_seconds,
        overlapped: resources.access == Access::Separate,
        hop_time: resources.hop_seconds,
        synchronisation: 0.0,
        initialisation: 0.0,
    };
    let mut order: Vec<usize> = (0..phase.len()).collect();
    order.sort_by(|&a, &b| times[a].0.total_cmp(&times[b].0));
    let transfer = |index: usize| {
        let placed = &phase[index];
        let links = placed.route.windows(2).map(|pair| network.link(pair[0], pair[1]) as u32);
        ConnectionTransfer {
            from: placed.source(),
            to: placed.destination(),
            bytes: placed.words,
            route: links.collect::<Vec<u32>>().into(),
        }
    };
    let transfers: Vec<ConnectionTransfer> = order.into_iter().map(transfer).collect();
    let mut channels = LogicalChannels::of_counts(network.nodes, &network.multiplicity, cost);
    channels.phase(&transfers, Arbitration::InOrder, Picos::ZERO).end.seconds()
}

/// Seconds until the last word of a phase has arrived.
pub fn arrival(phase: &[Placed], times: &Times, resources: &Resources) -> f64 {
    let of = |(placed, (start, duration, _)): (&Placed, &(f64, f64, Vec<Piece>))| {
        start + duration + resources.latency_seconds(placed.hops())
    };
    phase.iter().zip(times).map(of).fold(0.0, f64::max)
}

/// The first time from which two rows are free for `length`.
fn first_common(a: &[(f64, f64)], b: &[(f64, f64)], length: f64) -> f64 {
    let mut start = 0.0f64;
    loop {
        let blocking = a.iter().chain(b).filter(|span| span.0 < start + length - 1e-15 && span.1 > start + 1e-15);
        match blocking.map(|span| span.1).max_by(f64::total_cmp) {
            Some(end) if end > start => {
                // The earliest end among those that block at this start keeps gaps in sight.
                let next = a.iter().chain(b).filter(|span| span.1 > start + 1e-15).map(|span| span.1);
                start = next.min_by(f64::total_cmp).unwrap_or(end);
            }
            _ => return start,
        }
    }
}

/// Where a link is asked for more than it can do, the timetable cannot be kept: the phase then takes as long as the timetable
/// or, if that is longer, the busiest link, with all transfers slowed down alike.
fn slow_down(phase: &[Placed], mut times: Times, resources: &Resources, network: &Network) -> Times {
    let mut changes: FxHashMap<usize, Vec<(f64, f64)>> = FxHashMap::default();
    for (placed, &(start, duration, _)) in phase.iter().zip(&times) {
        let rate = placed.words as f64 / duration.max(f64::MIN_POSITIVE) * resources.link_seconds;
        for pair in placed.route.windows(2) {
            let link = network.link(pair[0], pair[1]);
            let share = rate / f64::from(network.multiplicity[link]);
            let list = changes.entry(link).or_default();
            list.push((start, share));
            list.push((start + duration, -share));
        }
    }
    let mut factor = 1.0f64;
    for list in changes.values_mut() {
        list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut share = 0.0;
        let mut at = 0;
        while at < list.len() {
            let time = list[at].0;
            while at < list.len() && list[at].0 <= time * (1.0 + 1e-9) {
                share += list[at].1;
                at += 1;
            }
            factor = factor.max(share);
        }
    }
    if factor > 1.0 + 1e-9 {
        let makespan = times.iter().map(|time| time.0 + time.1).fold(0.0, f64::max);
        let seconds = phase_seconds(phase, resources, network).max(makespan);
        for time in &mut times {
            (time.0, time.1) = (0.0, seconds);
        }
    }
    times
}

/// The transfers of a phase with their times; `None` where `stop` says so before all are made.
pub fn transfers(
    phase: Vec<Placed>,
    times: Times,
    set: &ConnectionSet,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<Transfer>> {
    let mut transfers = Vec::with_capacity(phase.len());
    for (placed, (start, duration, pieces)) in phase.into_iter().zip(times) {
        if transfers.len().is_multiple_of(ASKED_EVERY) && stop() {
            return None;
        }
        let Connection { source, destination, .. } = set.connections[placed.connection as usize];
        let Placed { connection, words, route } = placed;
        transfers.push(Transfer { connection, source, destination, words, route, start, duration, pieces });
    }
    Some(transfers)
}
