//! When the last words of transfers that begin together can all have arrived.
//!
//! A transfer of latency l that arrives at the time D flows at a constant rate until D - l. A resource of which transfers
//! take a_i seconds is then busy for the share of the sum of a_i / (D - l_i), which may not be above 1.

/// How much the busiest resource may be asked for beyond what it can do: rounding.
const ROUNDING: f64 = 1e-12;

/// A transfer: what it needs apart from other transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Of its last word, from when it is sent to when it has arrived, s.
    pub latency: f64,
    /// Of all of its words on a network of its own, without the latency, s.
    pub alone: f64,
}

/// A workspace for [`Arrivals::earliest`].
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Of every resource the share that it is busy, and by how much that falls a second.
    busy: Vec<(f64, f64)>,
    used: Vec<u32>,
}

impl Arrivals {
    /// For transfers that use `resources` resources.
    pub fn new(resources: usize) -> Arrivals {
        Arrivals { busy: vec![(0.0, 0.0); resources], used: Vec::new() }
    }

    /// The earliest time at which all of `count` transfers can have arrived, each flowing at a constant rate from time 0 on,
    /// s; `uses` are the resources of a transfer and the seconds that it takes of each.
    ///
    /// # Panics
    /// For a resource that there is not.
    ///
    /// # Examples
    /// ```
    /// use weft_network::{Arrivals, Flow};
    ///
    /// // Two transfers of one resource take 3 s of it; the short one has a long way.
    /// let flows = [Flow { latency: 4.0, alone: 1.0 }, Flow { latency: 1.0, alone: 2.0 }];
    /// let earliest = Arrivals::new(1).earliest(2, |flow| flows[flow], |flow| [(0, flows[flow].alone)]);
    /// // Not 3 + 4: 1 / (6 - 4) + 2 / (6 - 1) is less than 1.
    /// assert!((earliest - (4.0 + 3f64.sqrt())).abs() < 1e-9 && earliest < 6.0, "{earliest}");
    /// ```
    pub fn earliest<U: IntoIterator<Item = (u32, f64)>>(
        &mut self,
        count: usize,
        flow: impl Fn(usize) -> Flow,
        uses: impl Fn(usize) -> U,
    ) -> f64 {
        let mut arrival = 0.0f64;
        for index in 0..count {
            let Flow { latency, alone } = flow(index);
            let longest = uses(index).into_iter().fold(alone, |longest, (_, seconds)| longest.max(seconds));
            arrival = arrival.max(latency + longest);
        }
        loop {
            for index in 0..count {
                let rate = 1.0 / (arrival - flow(index).latency);
                for (resource, seconds) in uses(index).into_iter().filter(|&(_, seconds)| seconds > 0.0) {
                    let (share, slope) = &mut self.busy[resource as usize];
                    if *share == 0.0 {
                        self.used.push(resource);
                    }
                    *share += seconds * rate;
                    *slope += seconds * rate * rate;
                }
            }
            // The reciprocal of the share is a concave function of the time, so Newton's method comes from below; where
            // latencies are equal it is a line. The latest of all resources is no later than the answer.
            let mut later = 0.0f64;
            for resource in self.used.drain(..) {
                let (share, slope) = std::mem::take(&mut self.busy[resource as usize]);
                if share > 1.0 + ROUNDING {
                    later = later.max(share * (share - 1.0) / slope);
                }
            }
            if arrival + later <= arrival {
                return arrival;
            }
            arrival += later;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Latency, and seconds of some of five resources.
    fn transfers() -> impl Strategy<Value = Vec<(f64, Vec<f64>)>> {
        let seconds = proptest::collection::vec(prop_oneof![Just(0.0), 0.01f64..9.0], 5);
        proptest::collection::vec((0.0f64..5.0, seconds), 0..12)
    }

    fn earliest(transfers: &[(f64, Vec<f64>)]) -> f64 {
        let flow = |index: usize| Flow { latency: transfers[index].0, alone: 0.0 };
        let uses = |index: usize| transfers[index].1.iter().copied().enumerate().map(|(of, s)| (of as u32, s));
        Arrivals::new(5).earliest(transfers.len(), flow, uses)
    }

    fn busiest(transfers: &[(f64, Vec<f64>)], arrival: f64) -> f64 {
        let share = |resource: usize| -> f64 {
            let taken = transfers.iter().filter(|(_, seconds)| seconds[resource] > 0.0);
            taken.map(|(latency, seconds)| seconds[resource] / (arrival - latency)).sum()
        };
        (0..5).map(share).fold(0.0, f64::max)
    }

    proptest! {
        /// At the answer nothing is asked for more than it can do, and a little earlier something is, or a transfer that
        /// takes a resource for itself is not through.
        #[test]
        fn nothing_is_earlier(transfers in transfers()) {
            let arrival = earliest(&transfers);
            prop_assert!(busiest(&transfers, arrival) <= 1.0 + 1e-9);
            let sooner = arrival * (1.0 - 1e-6);
            let alone = transfers.iter().any(|(latency, seconds)| {
                seconds.iter().copied().fold(0.0, f64::max) > sooner - latency
            });
            prop_assert!(arrival == 0.0 || alone || busiest(&transfers, sooner) > 1.0);
        }

        /// It is never later than all through together and then the longest latency, and never earlier than the busiest
        /// resource and the shortest one.
        #[test]
        fn latency_is_hidden(transfers in transfers()) {
            let arrival = earliest(&transfers);
            let together = (0..5).map(|of| transfers.iter().map(|t| t.1[of]).sum::<f64>()).fold(0.0, f64::max);
            let longest = transfers.iter().map(|t| t.0).fold(0.0, f64::max);
            let shortest = transfers.iter().map(|t| t.0).fold(f64::INFINITY, f64::min);
            prop_assert!(arrival <= (together + longest) * (1.0 + 1e-9));
            prop_assert!(transfers.is_empty() || arrival >= (together + shortest) * (1.0 - 1e-9));
        }
    }
}
