//! Switches taken out of a network without taking throughput from it.
//!
//! A switch passes on what comes in, so capacity from u into the switch and out of it to t may be replaced by capacity
//! from u to t. Where in and out capacities of a switch are equal, edges can be split off until none is left, and every
//! rank is still reached by as much as before (Bang-Jensen, Frank and Jackson 1995; Zhao et al., ForestColl, section 5.3).
//! Where they are not, what the demand does not need is taken away first.

use weft_base::Interrupt;

use crate::bound::{Edge, is_feasible};
use crate::flow::{FlowNetwork, UNLIMITED};
use crate::logical::Logical;

/// Who must still be reached, and by how much.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// The vertices that receive.
    pub ranks: &'a [usize],
    /// The vertices that distribute.
    pub roots: &'a [usize],
    /// What each root distributes, in units of capacity.
    pub supply: i64,
}

impl Demand<'_> {
    fn holds(&self, logical: &Logical) -> bool {
        is_feasible(logical.vertices(), &logical.edges(), self.ranks, self.roots, self.supply)
    }

    fn total(&self) -> i64 {
        self.supply * self.roots.len() as i64
    }
}

/// Takes `switch` out: spread evenly over its neighbours where that keeps the demand, else edge by edge, each as far as it
/// keeps it. Even shares give flat trees.
pub fn remove(logical: &mut Logical, switch: usize, demand: &Demand) {
    if pass_through(logical, switch) {
        return;
    }
    let mut even = logical.clone();
    spread(&mut even, switch);
    even.isolate(switch);
    if demand.holds(&even) {
        *logical = even;
        return;
    }
    Splitting::new(logical, switch, demand).split();
    logical.isolate(switch);
}

/// Takes a switch with at most two neighbours out: what comes from one goes to the other, or nowhere. Whether it is one.
pub fn pass_through(logical: &mut Logical, switch: usize) -> bool {
    let (entering, leaving) = (incoming(logical, switch), outgoing(logical, switch));
    let mut neighbours: Vec<usize> =
        entering.iter().map(|edge| edge.0).chain(leaving.iter().map(|edge| edge.1)).collect();
    neighbours.sort_unstable();
    neighbours.dedup();
    if neighbours.len() > 2 {
        return false;
    }
    for entry in &entering {
        for exit in leaving.iter().filter(|exit| exit.1 != entry.0) {
            logical.splice(entry.0, switch, exit.1, entry.2.min(exit.2));
        }
    }
    logical.isolate(switch);
    true
}

/// Takes capacity that the demand does not need from switches into which more comes than goes out, or the other way round:
/// edges are split off in pairs, and what has no partner would be lost with whatever it was needed for.
pub fn balance(logical: &mut Logical, switches: &[usize], demand: &Demand, interrupt: &Interrupt) {
    // What is taken from a switch may be another's, which is then looked at again.
    for _ in 0..=switches.len() {
        let mut is_changed = false;
        for &switch in switches {
            if interrupt.is_requested() {
                return;
            }
            let surplus = surplus(logical, switch);
            is_changed |= surplus != 0 && Splitting::new(logical, switch, demand).balance(surplus);
        }
        if !is_changed {
            return;
        }
    }
}

/// How much more comes into a switch than goes out.
fn surplus(logical: &Logical, switch: usize) -> i64 {
    let sum = |edges: Vec<Edge>| edges.iter().map(|edge| edge.2).sum::<i64>();
    sum(incoming(logical, switch)) - sum(outgoing(logical, switch))
}

fn incoming(logical: &Logical, switch: usize) -> Vec<Edge> {
    (0..logical.vertices())
        .map(|from| (from, switch, logical.capacity(from, switch)))
        .filter(|edge| edge.2 > 0)
        .collect()
}

fn outgoing(logical: &Logical, switch: usize) -> Vec<Edge> {
    (0..logical.vertices()).map(|to| (switch, to, logical.capacity(switch, to))).filter(|edge| edge.2 > 0).collect()
}

/// Splices what comes in to what goes out in rounds, each entry to another exit in every round.
fn spread(logical: &mut Logical, switch: usize) {
    let mut entering = incoming(logical, switch);
    let mut leaving = outgoing(logical, switch);
    let exits = leaving.len();
    let total: i64 = leaving.iter().map(|edge| edge.2).sum();
    let share = |amount: i64, part: i64| (i128::from(amount) * i128::from(part) / i128::from(total.max(1))) as i64;
    let fair: Vec<i64> = leaving.iter().map(|edge| edge.2).collect();
    for least in [0, 1, UNLIMITED] {
        for round in 1..=exits {
            for (position, entry) in entering.iter_mut().enumerate() {
                let chosen = (position + round) % exits;
                let exit = &mut leaving[chosen];
                if entry.0 == exit.1 {
                    continue;
                }
                let amount = entry.2.min(exit.2).min(share(entry.2, fair[chosen]).max(least));
                if amount > 0 {
                    logical.splice(entry.0, switch, exit.1, amount);
                    entry.2 -= amount;
                    exit.2 -= amount;
                }
            }
        }
    }
}

/// The splitting of one switch, edge by edge.
struct Splitting<'a> {
    logical: &'a mut Logical,
    switch: usize,
    demand: &'a Demand<'a>,
    network: FlowNetwork,
    /// From the source to each vertex.
    supplies: Vec<usize>,
    /// From each vertex to the sink.
    drains: Vec<usize>,
    /// The number of the edge between two vertices, by `from * vertices + to`.
    numbers: rustc_hash::FxHashMap<usize, usize>,
    /// Ranks, those that limited most recently first.
    order: Vec<usize>,
}

impl<'a> Splitting<'a> {
    fn new(logical: &'a mut Logical, switch: usize, demand: &'a Demand<'a>) -> Splitting<'a> {
        let vertices = logical.vertices();
        let mut network = FlowNetwork::new(vertices + 2);
        let numbers = logical
            .edges()
            .into_iter()
            .map(|(from, to, capacity)| (from * vertices + to, network.add(from, to, capacity)))
            .collect();
        let supplies: Vec<_> = (0..vertices).map(|vertex| network.add(vertices, vertex, 0)).collect();
        demand.roots.iter().for_each(|&root| network.set(supplies[root], demand.supply));
        let drains = (0..vertices).map(|vertex| network.add(vertex, vertices + 1, 0)).collect();
        Splitting { logical, switch, demand, network, supplies, drains, numbers, order: demand.ranks.to_vec() }
    }

    /// Takes what can be spared of the side that has more by `surplus`, of every edge its share and then what is left;
    /// whether that was anything.
    fn balance(&mut self, surplus: i64) -> bool {
        let edges = |logical: &Logical, switch: usize| {
            if surplus > 0 { incoming(logical, switch) } else { outgoing(logical, switch) }
        };
        let mut left = surplus.abs();
        let all = edges(self.logical, self.switch);
        let total: i64 = all.iter().map(|edge| edge.2).sum();
        let share = |capacity: i64| (i128::from(capacity) * i128::from(surplus.abs()) / i128::from(total)) as i64;
        for is_last in [false, true] {
            for (from, to, capacity) in edges(self.logical, self.switch) {
                let most = capacity.min(left).min(if is_last { left } else { share(capacity) });
                let spared = self.spared(from, to, most);
                let mut taken = 0;
                while taken < spared {
                    taken += self.logical.take(from, to, spared - taken).map_or(spared, |piece| piece.amount);
                }
                self.update(from, to);
                left -= spared;
            }
        }
        left < surplus.abs()
    }

    /// How much of an edge the demand does not need, up to `most`: what the sets can lose that it leaves.
    fn spared(&mut self, from: usize, to: usize, mut most: i64) -> i64 {
        for position in 0..self.order.len() {
            let rank = self.order[position];
            if most == 0 {
                break;
            }
            if rank != from {
                most = most.min(self.slack(&[from], &[to, rank], most));
            }
        }
        most
    }

    fn split(&mut self) {
        let entering = incoming(self.logical, self.switch);
        let leaving = outgoing(self.logical, self.switch);
        for round in 1..=leaving.len() {
            for (position, entry) in entering.iter().enumerate() {
                let exit = &leaving[(position + round) % leaving.len()];
                if entry.0 != exit.1 {
                    self.split_pair(entry.0, exit.1);
                }
            }
        }
    }

    fn split_pair(&mut self, from: usize, to: usize) {
        let switch = self.switch;
        let most = self.logical.capacity(from, switch).min(self.logical.capacity(switch, to));
        let amount = self.largest(from, to, most);
        if amount > 0 {
            self.logical.splice(from, switch, to, amount);
            [(from, switch), (switch, to), (from, to)].into_iter().for_each(|(from, to)| self.update(from, to));
        }
    }

    fn update(&mut self, from: usize, to: usize) {
        let capacity = self.logical.capacity(from, to);
        let network = &mut self.network;
        match self.numbers.entry(from * self.logical.vertices() + to) {
            std::collections::hash_map::Entry::Occupied(number) => network.set(*number.get(), capacity),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(network.add(from, to, capacity));
            }
        }
    }

    /// How much may be split off: what the sets lose that have both ends and not the switch, or the switch and neither.
    fn largest(&mut self, from: usize, to: usize, mut most: i64) -> i64 {
        let switch = self.switch;
        for position in 0..self.order.len() {
            let rank = self.order[position];
            if most == 0 {
                break;
            }
            let before = most;
            if rank != from && rank != to {
                most = most.min(self.slack(&[from, to], &[switch, rank], most));
            }
            if most > 0 {
                most = most.min(self.slack(&[switch], &[from, to, rank], most));
            }
            if most < before {
                self.order[..=position].rotate_right(1);
            }
        }
        most
    }

    /// How much more than the demand leaves the sets with all of `inside` and none of `outside`, up to `most`.
    fn slack(&mut self, inside: &[usize], outside: &[usize], most: i64) -> i64 {
        let (source, sink) = (self.logical.vertices(), self.logical.vertices() + 1);
        let supplies: Vec<_> = inside.iter().map(|&vertex| self.network.capacity(self.supplies[vertex])).collect();
        inside.iter().for_each(|&vertex| self.network.set(self.supplies[vertex], UNLIMITED));
        outside.iter().for_each(|&vertex| self.network.set(self.drains[vertex], UNLIMITED));
        let needed = self.demand.total();
        let flow = self.network.max_flow(source, sink, needed + most);
        inside.iter().zip(supplies).for_each(|(&vertex, supply)| self.network.set(self.supplies[vertex], supply));
        outside.iter().for_each(|&vertex| self.network.set(self.drains[vertex], 0));
        (flow - needed).max(0)
    }
}
