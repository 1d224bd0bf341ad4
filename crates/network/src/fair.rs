//! Max-min fair shares of links and of accesses to the network.
//!
//! A link whose logical channels alternate word by word (demand-driven round-robin, section 4.1.2 of Feldmann, Stricker
//! and Warfel 1993), with flow control on every channel, gives each channel its max-min fair share: what another channel
//! cannot use because it is held up elsewhere is divided among those that can (Hahne 1991, Round-robin scheduling for
//! max-min fairness in data networks). `tests/word_by_word.rs` holds that against a model that moves single words.

use crate::table::Table;

/// A resource that a flow uses, and for how long it needs it for each byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Use {
    /// Number of the resource.
    pub resource: u32,
    /// Seconds of the resource's time that one byte takes.
    pub byte_time: f64,
}

/// Divides the time of resources among flows.
#[derive(Clone, Debug)]
pub(crate) struct FairShares {
    resources: Table<Resource>,
    /// Resources that some flow uses.
    used: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Resource {
    /// The share of its time that is left.
    left: f64,
    /// The seconds that a byte of all flows without a rate takes together.
    wanted: f64,
    /// Its flows.
    flows: Vec<u32>,
}

impl Default for Resource {
    fn default() -> Resource {
        Resource { left: 1.0, wanted: 0.0, flows: Vec::new() }
    }
}

/// Resources whose shares differ by less than this part are exhausted together.
const TIE: f64 = 1e-12;

impl FairShares {
    /// Shares of `resources` resources, each of which has one second a second.
    pub fn new(resources: usize) -> FairShares {
        FairShares { resources: Table::new(resources), used: Vec::new() }
    }

    /// The rate of every flow in bytes a second: progressive filling, all rates grow alike until a resource is exhausted,
    /// whose flows then keep theirs. A flow that needs no resource's time has an infinite rate.
    pub fn rates(&mut self, flows: &[&[Use]], rates: &mut Vec<f64>) {
        rates.clear();
        rates.resize(flows.len(), f64::INFINITY);
        for (flow, uses) in flows.iter().enumerate() {
            for &Use { resource, byte_time } in uses.iter().filter(|each| each.byte_time > 0.0) {
                let used = &mut self.resources[resource as usize];
                if used.flows.is_empty() {
                    self.used.push(resource);
                }
                used.wanted += byte_time;
                used.flows.push(flow as u32);
            }
        }
        let mut open = self.used.clone();
        while let Some(level) = open.iter().map(|&resource| self.level(resource)).reduce(f64::min) {
            let limit = level * (1.0 + TIE);
            for &resource in &open {
                if self.level(resource) <= limit {
                    self.exhaust(resource as usize, level, flows, rates);
                }
            }
            open.retain(|&resource| self.has_open_flows(resource, rates));
        }
        for &resource in &self.used {
            let used = &mut self.resources[resource as usize];
            used.left = 1.0;
            used.wanted = 0.0;
            used.flows.clear();
        }
        self.used.clear();
    }

    /// The rate at which a resource is exhausted.
    fn level(&self, resource: u32) -> f64 {
        let &Resource { left, wanted, .. } = &self.resources[resource as usize];
        if wanted > 0.0 { left.max(0.0) / wanted } else { f64::INFINITY }
    }

    fn has_open_flows(&self, resource: u32, rates: &[f64]) -> bool {
        self.resources[resource as usize].flows.iter().any(|&flow| rates[flow as usize].is_infinite())
    }

    fn exhaust(&mut self, resource: usize, level: f64, flows: &[&[Use]], rates: &mut [f64]) {
        for index in 0..self.resources[resource].flows.len() {
            let flow = self.resources[resource].flows[index] as usize;
            if rates[flow].is_finite() {
                continue;
            }
            rates[flow] = level.min(f64::MAX);
            for &Use { resource, byte_time } in flows[flow].iter().filter(|each| each.byte_time > 0.0) {
                let used = &mut self.resources[resource as usize];
                used.left -= rates[flow] * byte_time;
                used.wanted -= byte_time;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates(resources: usize, flows: &[Vec<Use>]) -> Vec<f64> {
        let flows: Vec<&[Use]> = flows.iter().map(Vec::as_slice).collect();
        let mut rates = Vec::new();
        FairShares::new(resources).rates(&flows, &mut rates);
        rates
    }

    fn uses(resources: &[u32]) -> Vec<Use> {
        resources.iter().map(|&resource| Use { resource, byte_time: 1.0 }).collect()
    }

    #[test]
    fn what_one_flow_cannot_use_another_gets() {
        // Two flows on link 0, one of which shares link 1 with two others.
        let shares = rates(2, &[uses(&[0]), uses(&[0, 1]), uses(&[1]), uses(&[1])]);
        let third = 1.0 / 3.0;
        for (shares, wanted) in shares.iter().zip([2.0 * third, third, third, third]) {
            assert!((shares - wanted).abs() < 1e-9, "{shares} {wanted}");
        }
    }

    #[test]
    fn a_slow_access_leaves_the_link_to_others() {
        let slow = vec![Use { resource: 0, byte_time: 1.0 }, Use { resource: 1, byte_time: 10.0 }];
        let shares = rates(2, &[slow, uses(&[0])]);
        assert!((shares[0] - 0.1).abs() < 1e-9 && (shares[1] - 0.9).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_flow_that_needs_nothing_is_not_held_up() {
        assert_eq!(rates(1, &[vec![], uses(&[0])]), [f64::INFINITY, 1.0]);
    }

    proptest! {
        /// The definition: no resource is overused, and every flow crosses an exhausted resource on which no other flow is
        /// faster.
        #[test]
        fn shares_are_max_min_fair(chosen in proptest::collection::vec(proptest::collection::btree_set(0u32..12, 1..6), 1..20)) {
            let flows: Vec<Vec<Use>> = chosen.iter().map(|set| uses(&set.iter().copied().collect::<Vec<_>>())).collect();
            let rates = rates(12, &flows);
            let load = |resource: u32| -> f64 {
                chosen.iter().zip(&rates).filter(|(set, _)| set.contains(&resource)).map(|(_, rate)| rate).sum()
            };
            for resource in 0..12 {
                prop_assert!(load(resource) <= 1.0 + 1e-9);
            }
            for (set, rate) in chosen.iter().zip(&rates) {
                let is_bottleneck = |&resource: &u32| {
                    let fastest = chosen.iter().zip(&rates).filter(|(other, _)| other.contains(&resource));
                    load(resource) >= 1.0 - 1e-9 && fastest.map(|(_, rate)| *rate).fold(0.0, f64::max) <= rate + 1e-9
                };
                prop_assert!(set.iter().any(is_bottleneck));
            }
        }
    }
}
