//! Times of the transfers of a phase.

use rustc_hash::FxHashMap;
use weft_machine::Access;

use super::plan::{Load, Placed, phase_seconds};
use crate::network::Network;
use crate::pattern::{ConnectionSet, Order};
use crate::resources::Resources;
use crate::schedule::{Piece, Transfer};

/// Start and duration of each placed connection of a phase.
pub type Times = Vec<(f64, f64, Vec<Piece>)>;

/// weft's timetable: all transfers of a phase flow at once, each at the rate that lets all end together, so that the
/// busiest access or link, which no timetable can go below, is busy all the time.
///
/// Rates are even because a program sends and receives element by element (Feldmann, Stricker and Warfel 1993, principle
/// 2.1) and links serve waiting channels in turn (section 4.1.2). Where orders bind connections of the same phase, the
/// phase has stages one after the other.
pub fn even(phase: &[Placed], stages: &[u32], resources: &Resources, network: &Network) -> Times {
    let last = stages.iter().copied().max().unwrap_or(0);
    if last == 0 {
        let seconds = phase_seconds(phase, resources, network);
        return phase.iter().map(|_| (0.0, seconds, Vec::new())).collect();
    }
    let mut times: Times = vec![(0.0, 0.0, Vec::new()); phase.len()];
    let mut start = 0.0;
    for stage in 0..=last {
        let members: Vec<usize> = (0..phase.len()).filter(|&index| stages[index] == stage).collect();
        let placed: Vec<Placed> = members.iter().map(|&index| phase[index].clone()).collect();
        let seconds = phase_seconds(&placed, resources, network);
        for index in members {
            times[index] = (start, seconds, Vec::new());
        }
        start += seconds;
    }
    times
}

/// For each placed connection how many of the same phase must come before it, one after the other.
pub fn stages(phase: &[Placed], orders: &OrdersByConnection) -> Vec<u32> {
    let mut stages = vec![0; phase.len()];
    if orders.is_empty() {
        return stages;
    }
    let place: FxHashMap<u32, usize> = phase.iter().enumerate().map(|(index, p)| (p.connection, index)).collect();
    // Orders are without cycles, so this ends after as many rounds as the longest chain has connections.
    loop {
        let mut changed = false;
        for (&connection, &index) in &place {
            for before in orders.get(&connection).into_iter().flatten() {
                if let Some(&earlier) = place.get(before)
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
    let mut found = OrdersByConnection::default();
    for order in orders {
        found.entry(order.after).or_default().push(order.before);
    }
    found
}

/// The paper's scheduler AS (Feldmann, Stricker and Warfel 1993, section 4.4.2): a global timetable filled greedily.
///
/// Until every connection is scheduled: take the processor with the largest lower bound (`MIN TIME`: what is scheduled on
/// it and what is left for it), of its connections the longest, and put it into the first free time of both processors.
/// The paper does not say whether a processor's table has one row or two; with `Access::Separate` it has one for sending
/// and one for receiving. Congestion is not looked at; where links are asked for more than they can do, the
/// phase takes the longer of the timetable and its busiest link, which flatters AS.
pub fn greedy(phase: &[Placed], resources: &Resources, network: &Network) -> Times {
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
    for _ in 0..phase.len() {
        let bound = |row: usize| busy[row].last().map_or(0.0, |span| span.1) + left[row];
        let candidates = (0..rows).filter(|&row| waiting[row].iter().any(|&index| !scheduled[index]));
        let Some(row) = candidates.max_by(|&a, &b| bound(a).total_cmp(&bound(b)).then(b.cmp(&a))) else { break };
        let Some(&index) = waiting[row].iter().find(|&&index| !scheduled[index]) else { break };
        let [a, b] = row_of(&phase[index]);
        let length = duration(&phase[index]);
        let start = first_common(&busy[a], &busy[b], length);
        for row in [a, b] {
            let place = busy[row].partition_point(|span| span.0 < start);
            busy[row].insert(place, (start, start + length));
            left[row] -= length;
        }
        scheduled[index] = true;
        times[index] = (start, length, Vec::new());
    }
    slow_down(phase, times, resources, network)
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

/// The transfers of a phase with their times.
pub fn transfers(phase: Vec<Placed>, times: Times, set: &ConnectionSet) -> Vec<Transfer> {
    let whole = |(placed, (start, duration, pieces)): (Placed, (f64, f64, Vec<Piece>))| {
        let connection = set.connections[placed.connection as usize];
        Transfer {
            connection: placed.connection,
            source: connection.source,
            destination: connection.destination,
            words: placed.words,
            route: placed.route,
            start,
            duration,
            pieces,
        }
    };
    phase.into_iter().zip(times).map(whole).collect()
}

/// Most connections on one link of a phase.
pub fn largest_link_load(phase: &[Placed], network: &Network) -> u32 {
    Load::of(phase, network).largest_link_load(network)
}
