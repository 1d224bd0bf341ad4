//! All-to-all on a square torus in phases that keep every link busy all the time.
//!
//! On a ring of n nodes four messages of lengths k, n/2 - k, k, n/2 - k, each starting where the last one ended, cover
//! every link of one direction once. The product of such a ring phase along x with one along y is a set of messages that
//! cover whole rows and whole columns once; products with disjoint rows and columns, in opposite directions, add up to a
//! phase in which every directed link of the torus carries exactly one message and no node sends or receives more than one.
//! n^3 / 8 such phases make the all-to-all, which is the bound that the links' bandwidth sets (Hinrichs, Kosak, O'Hallaron,
//! Stricker and Take 1994 found phases of this kind for the iWarp).
//!
//! A perfect phase takes at most five channels of a node, so several fit into one phase of a schedule where there are
//! more: then every link carries as many connections, and no time is lost.

use rustc_hash::FxHashMap;

use super::plan::{Placed, Plan};
use crate::network::Grid;
use crate::pattern::ConnectionSet;

/// Messages along one ring: from and to.
type RingPhase = Vec<(usize, usize)>;

/// Perfect phases of link load 1, if the set is a uniform all-to-all between the nodes of a square torus whose extent is
/// a power of two of at least 8.
pub fn perfect(set: &ConnectionSet, grid: &Grid) -> Option<Plan> {
    let [n, m] = grid.extents[..] else { return None };
    let nodes = n * m;
    let all = nodes * (nodes - 1) == set.connections.len() && set.nodes as usize == nodes;
    if !grid.wraps || n != m || n < 8 || !n.is_power_of_two() || n > 32 || !all || !set.orders.is_empty() {
        return None;
    }
    set.uniform_words()?;
    let mut connection: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for (index, c) in set.connections.iter().enumerate() {
        if connection.insert((c.source, c.destination), index as u32).is_some() {
            return None;
        }
    }
    let up = classes(n, true);
    let down = classes(n, false);
    let quarter = n / 4;
    let mut plan = Plan::new();
    for i in 0..up.len() {
        for j in 0..up.len() {
            for rotation in 0..quarter {
                for y_first_up in [true, false] {
                    let mut phase = Vec::new();
                    for (x_up, rotation) in [(true, rotation), (false, rotation + 1)] {
                        let x_class = if x_up { &up[i] } else { &down[i] };
                        let y_class = if x_up == y_first_up { &up[j] } else { &down[j] };
                        for a in 0..quarter {
                            product(&x_class[a], &y_class[(a + rotation) % quarter], |from, to| {
                                let words = set.connections[0].words;
                                let ids = (number(n, from), number(n, to));
                                if let Some(&connection) = connection.get(&ids) {
                                    let route = route(n, from, to, x_up, x_up == y_first_up);
                                    phase.push(Placed { connection, words, route });
                                }
                            });
                        }
                    }
                    plan.push(phase);
                }
            }
        }
    }
    Some(plan)
}

/// The perfect phases, `together` in each phase.
pub fn merged(plan: &Plan, together: usize) -> Plan {
    plan.chunks(together).map(|phases| phases.concat()).collect()
}

fn number(n: usize, (x, y): (usize, usize)) -> u32 {
    (x * n + y) as u32
}

fn product(x: &RingPhase, y: &RingPhase, mut visit: impl FnMut((usize, usize), (usize, usize))) {
    for &(x_from, x_to) in x {
        for &(y_from, y_to) in y {
            if (x_from, y_from) != (x_to, y_to) {
                visit((x_from, y_from), (x_to, y_to));
            }
        }
    }
}

/// Along x first, then along y.
fn route(n: usize, from: (usize, usize), to: (usize, usize), x_up: bool, y_up: bool) -> Vec<u32> {
    let next = |at: usize, up: bool| if up { (at + 1) % n } else { (at + n - 1) % n };
    let mut at = from;
    let mut route = vec![number(n, at)];
    while at.0 != to.0 {
        at.0 = next(at.0, x_up);
        route.push(number(n, at));
    }
    while at.1 != to.1 {
        at.1 = next(at.1, y_up);
        route.push(number(n, at));
    }
    route
}

/// Ring phases of one direction in classes of n/4 whose nodes are disjoint; together every node sends once to each node
/// that is nearer in this direction. The nodes of a class's phases are the same for both directions.
fn classes(n: usize, up: bool) -> Vec<Vec<RingPhase>> {
    let (half, quarter) = (n / 2, n / 4);
    let mut classes = Vec::new();
    for k in 1..quarter {
        // Pairs {s, s + k} of residues mod n/2 form cycles; every other pair of a cycle is one class, the rest another.
        let mut sets = [Vec::new(), Vec::new()];
        let mut seen = vec![false; half];
        for first in 0..half {
            let (mut s, mut which) = (first, 0);
            while !seen[s] {
                seen[s] = true;
                sets[which].push(s);
                which = 1 - which;
                s = (s + k) % half;
            }
        }
        for set in sets {
            classes.push(set.into_iter().map(|s| ring_phase(n, s, k, up)).collect());
        }
    }
    classes.push((0..quarter).map(|s| ring_phase(n, s, quarter, up)).collect());
    // Half way round, upwards from one half of the nodes and downwards from the other; who stays where it is fills up.
    let around = |s: usize| {
        let (moves, stays) = if up { (s, s + quarter) } else { (s + quarter, s) };
        vec![(moves, moves + half), (moves + half, moves), (stays, stays), (stays + half, stays + half)]
    };
    classes.push((0..quarter).map(around).map(|phase| wrap(phase, n)).collect());
    classes
}

fn wrap(phase: RingPhase, n: usize) -> RingPhase {
    phase.into_iter().map(|(from, to)| (from % n, to % n)).collect()
}

/// The four messages between s, s + k, s + n/2 and s + n/2 + k.
fn ring_phase(n: usize, s: usize, k: usize, up: bool) -> RingPhase {
    let stops = [s, s + k, s + n / 2, s + n / 2 + k];
    let message = |index: usize| {
        let (this, next) = (stops[index], stops[(index + 1) % 4]);
        if up { (this, next) } else { (next, this) }
    };
    wrap((0..4).map(message).collect(), n)
}
