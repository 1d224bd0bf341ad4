//! Max-min fair shares that are kept while flows begin and end.
//!
//! Every resource has a level: the rate at which it is exhausted, which no flow on it exceeds; a flow has the least level
//! of its resources. A level depends on lower ones alone, so what a change brings is worked off from the lowest level
//! upwards, and only resources whose levels it changes are looked at (the order of dynamic shortest paths: Ramalingam
//! and Reps 1996, An incremental algorithm for a generalization of the shortest-path problem). [`FairShares`] computes
//! all from nothing; it is what tests compare with.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::fair::{FairShares, Use};
use crate::table::Table;

/// Levels that differ by less than this part are the same.
const ROUNDING: f64 = 1e-12;

/// Changes of levels for each flow that a change of flows may bring, before all shares are computed from nothing.
const MAX_CHANGES: usize = 64;

/// The shares of flows that come and go.
#[derive(Debug)]
pub(crate) struct KeptShares<'a> {
    /// What each flow uses, whether it is there or not.
    uses: &'a [Vec<Use>],
    resources: Table<Resource>,
    /// Of each flow, in bytes a second; 0 where it is not there.
    rates: Vec<f64>,
    /// Levels to be changed, as bits, which are in the order of the levels.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Flows that may have another rate.
    touched: Vec<u32>,
    most_changes: usize,
}

#[derive(Clone, Debug)]
struct Resource {
    /// Infinite where it is not exhausted.
    level: f64,
    flows: Vec<u32>,
}

impl Default for Resource {
    fn default() -> Resource {
        Resource { level: f64::INFINITY, flows: Vec::new() }
    }
}

fn is_same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= ROUNDING * a.min(b)
}

impl<'a> KeptShares<'a> {
    /// Of `resources` resources; none of the flows is there yet.
    pub fn new(resources: usize, uses: &'a [Vec<Use>]) -> KeptShares<'a> {
        KeptShares {
            uses,
            resources: Table::new(resources),
            rates: vec![0.0; uses.len()],
            queue: BinaryHeap::new(),
            touched: Vec::new(),
            most_changes: MAX_CHANGES,
        }
    }

    /// Flows end and others begin; `changed` gets each that has another rate than before, with both rates. A flow that
    /// begins had none.
    pub fn change(&mut self, ended: &[usize], begun: &[usize], mut changed: impl FnMut(usize, f64, f64)) {
        let mut dirty = Vec::new();
        for &flow in ended {
            self.rates[flow] = 0.0;
            for resource in used(&self.uses[flow]) {
                self.resources[resource].flows.retain(|&other| other as usize != flow);
                dirty.push(resource as u32);
            }
        }
        for &flow in begun {
            self.touched.push(flow as u32);
            for resource in used(&self.uses[flow]) {
                self.resources[resource].flows.push(flow as u32);
                dirty.push(resource as u32);
            }
        }
        self.settle(dirty);
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for flow in touched {
            let flow = flow as usize;
            let rate = self.least_level(flow, None).min(f64::MAX);
            let before = std::mem::replace(&mut self.rates[flow], rate);
            if before != rate {
                changed(flow, before, rate);
            }
        }
    }

    /// Works off levels that have become wrong, the lowest first.
    fn settle(&mut self, mut dirty: Vec<u32>) {
        dirty.sort_unstable();
        dirty.dedup();
        let mut left = self.most_changes * (dirty.len() + self.uses.len());
        dirty.into_iter().for_each(|resource| self.mark(resource));
        while let Some(Reverse((key, resource))) = self.queue.pop() {
            let (old, new) = (self.resources[resource as usize].level, self.exhausted(resource));
            if is_same(old, new) {
                continue;
            }
            if old.min(new).to_bits() > key {
                self.queue.push(Reverse((old.min(new).to_bits(), resource)));
                continue;
            }
            if left == 0 {
                return self.compute_all();
            }
            left -= 1;
            // One that rises holds nobody up until it is known how far: what is lower than that is settled first.
            self.resources[resource as usize].level = if new < old { new } else { f64::INFINITY };
            self.touch(resource, old.min(new));
            if new >= old {
                self.mark(resource);
            }
        }
    }

    /// Queues a resource whose level is wrong.
    fn mark(&mut self, resource: u32) {
        let (old, new) = (self.resources[resource as usize].level, self.exhausted(resource));
        if !is_same(old, new) {
            self.queue.push(Reverse((old.min(new).to_bits(), resource)));
        }
    }

    /// The level of a resource has changed, from or to `lowest`: its flows may have other rates, and resources of theirs
    /// other levels where these are higher.
    fn touch(&mut self, resource: u32, lowest: f64) {
        let flows = &self.resources[resource as usize].flows;
        self.touched.extend(flows);
        let others = flows.iter().flat_map(|&flow| used(&self.uses[flow as usize]));
        let is_above = |&other: &usize| other != resource as usize && self.resources[other].level > lowest;
        let mut others: Vec<usize> = others.filter(is_above).collect();
        others.sort_unstable();
        others.dedup();
        others.into_iter().for_each(|other| self.mark(other as u32));
    }

    /// The level at which a resource is exhausted, its flows being held up by their others as it is now.
    fn exhausted(&self, resource: u32) -> f64 {
        let flows = self.resources[resource as usize].flows.iter().map(|&flow| {
            let uses = &self.uses[flow as usize];
            let own = uses.iter().find(|each| each.resource == resource).map_or(0.0, |own| own.byte_time);
            (self.least_level(flow as usize, Some(resource)), own)
        });
        let mut flows: Vec<(f64, f64)> = flows.collect();
        flows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // From the last to the first: the seconds of a byte of all flows that are held up no earlier.
        let mut wanted: Vec<f64> = flows
            .iter()
            .rev()
            .scan(0.0, |sum, (_, time)| {
                *sum += time;
                Some(*sum)
            })
            .collect();
        wanted.reverse();
        let mut left = 1.0;
        for (&(elsewhere, time), wanted) in flows.iter().zip(wanted) {
            let level = left / wanted;
            if level <= elsewhere {
                return level;
            }
            left -= elsewhere * time;
        }
        f64::INFINITY
    }

    /// The least level of a flow's resources, except one.
    fn least_level(&self, flow: usize, except: Option<u32>) -> f64 {
        let others = used(&self.uses[flow]).filter(|&resource| Some(resource as u32) != except);
        others.map(|resource| self.resources[resource].level).fold(f64::INFINITY, f64::min)
    }

    /// All shares from nothing.
    fn compute_all(&mut self) {
        self.queue.clear();
        let mut flows: Vec<u32> = self.resources.written_mut().flat_map(|resource| resource.flows.clone()).collect();
        flows.sort_unstable();
        flows.dedup();
        let uses: Vec<&[Use]> = flows.iter().map(|&flow| &self.uses[flow as usize][..]).collect();
        let mut rates = Vec::new();
        FairShares::new(self.resources.len()).rates(&uses, &mut rates);
        self.resources.written_mut().for_each(|resource| resource.level = f64::INFINITY);
        // A flow's rate is the level of the resource that holds it up; one that does not hold it up has none below.
        let mut busy: Table<(f64, f64)> = Table::new(self.resources.len());
        for (uses, &rate) in uses.iter().zip(&rates) {
            for each in uses.iter().filter(|each| each.byte_time > 0.0) {
                let (share, fastest) = busy[each.resource as usize];
                busy[each.resource as usize] = (share + rate * each.byte_time, fastest.max(rate));
            }
        }
        for resource in uses.iter().flat_map(|uses| used(uses)) {
            let (share, fastest) = busy[resource];
            if share >= 1.0 - 1e-9 {
                self.resources[resource].level = fastest;
            }
        }
        self.touched = flows;
    }
}

/// The resources that a flow needs time of.
fn used(uses: &[Use]) -> impl Iterator<Item = usize> {
    uses.iter().filter(|each| each.byte_time > 0.0).map(|each| each.resource as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RESOURCES: usize = 14;

    /// The shares of those flows that are there, computed from nothing.
    fn simple(uses: &[Vec<Use>], there: &[bool]) -> Vec<f64> {
        let flows: Vec<&[Use]> =
            uses.iter().zip(there).filter(|(_, there)| **there).map(|(uses, _)| &uses[..]).collect();
        let mut rates = Vec::new();
        FairShares::new(RESOURCES).rates(&flows, &mut rates);
        rates
    }

    /// Flows come and go in rounds; after each the rates are those of [`FairShares`].
    fn follow(uses: &[Vec<Use>], rounds: &[Vec<bool>], most_changes: usize) -> Result<(), TestCaseError> {
        let mut kept = KeptShares { most_changes, ..KeptShares::new(RESOURCES, uses) };
        let mut there = vec![false; uses.len()];
        for round in rounds {
            let toggled = |wanted: bool| {
                let flows = (0..uses.len()).filter(|&flow| round[flow] && there[flow] == wanted);
                flows.collect::<Vec<_>>()
            };
            let (ended, begun) = (toggled(true), toggled(false));
            let before = kept.rates.clone();
            let mut changed = Vec::new();
            kept.change(&ended, &begun, |flow, _, rate| changed.push((flow, rate)));
            for &flow in ended.iter().chain(&begun) {
                there[flow] = !there[flow];
            }
            let flows = (0..uses.len()).filter(|&flow| there[flow]);
            for (flow, rate) in flows.zip(simple(uses, &there)) {
                let own = kept.rates[flow];
                prop_assert!((own - rate).abs() <= 1e-9 * rate, "flow {flow}: {own} for {rate}");
                let reported = changed.iter().find(|(other, _)| *other == flow);
                prop_assert!(reported.is_some() || own == before[flow], "flow {flow} has changed and nobody is told");
            }
        }
        Ok(())
    }

    /// Flows over some resources, with times that are often equal.
    fn flows() -> impl Strategy<Value = Vec<Vec<Use>>> {
        let one =
            proptest::collection::btree_map(0u32..RESOURCES as u32, prop::sample::select(vec![1.0, 2.0, 3.5]), 1..6);
        let uses = |one: std::collections::BTreeMap<u32, f64>| {
            one.into_iter().map(|(resource, byte_time)| Use { resource, byte_time }).collect()
        };
        proptest::collection::vec(one.prop_map(uses), 1..40)
    }

    fn cases() -> impl Strategy<Value = (Vec<Vec<Use>>, Vec<Vec<bool>>)> {
        flows().prop_flat_map(|uses| {
            let round = proptest::collection::vec(prop::bool::weighted(0.3), uses.len());
            (Just(uses), proptest::collection::vec(round, 1..12))
        })
    }

    proptest! {
        #[test]
        fn kept_shares_are_those_computed_from_nothing((uses, rounds) in cases()) {
            follow(&uses, &rounds, MAX_CHANGES)?;
        }

        /// So are those after which all had to be computed from nothing.
        #[test]
        fn shares_computed_from_nothing_are_kept((uses, rounds) in cases()) {
            follow(&uses, &rounds, 0)?;
        }
    }
}
