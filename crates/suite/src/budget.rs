//! How many iterations the time to be spent allows, looked at again and again.
//!
//! A pilot alone can be poisoned: where something else has the processor for a few milliseconds, its iterations take a
//! thousand times as long as those after it, and a count chosen by them is a thousandth of what fits. So iterations are
//! made in chunks, and each chunk's own pace decides about the next.

use crate::statistics::Statistics;

/// The fewest timed iterations where time is real and the budget decides.
const MIN_ITERATIONS: usize = 10;
/// The most timed iterations that the budget may choose.
const MAX_CHOSEN: usize = 100_000;
/// The share of the time to be spent that one chunk may take: a chunk during which everything slows down is as much too
/// long as that, not as the whole.
const CHUNK: f64 = 0.25;
/// The share of the time to be spent that is enough: a rest would be a chunk of a few iterations.
const ENOUGH: f64 = 0.95;
/// A single stop (a processor taken away for a time slice) may take as long as all iterations and shall not end the
/// measurement, so iterations count with a median; but no chunk is begun after so many times the time to be spent, at
/// least `MIN_PATIENCE`.
const PATIENCE: f64 = 4.0;
/// In seconds: time slices take some milliseconds, and a point may be given less.
const MIN_PATIENCE: f64 = 0.1;
/// A chunk whose median is so many times its lower decile was disturbed for half of its iterations.
const MIXED: f64 = 2.0;

/// The number of iterations that takes the time to be spent, if one takes `pace` seconds.
pub(crate) fn affordable(seconds: f64, pace: f64) -> usize {
    (seconds / pace.max(1e-9)).clamp(MIN_ITERATIONS as f64, MAX_CHOSEN as f64) as usize
}

/// What is left of the time to be spent on a point.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    seconds: f64,
    fewest: usize,
    most: usize,
    /// Seconds of an iteration of the last chunk.
    pace: f64,
    done: usize,
    /// The least of any chunk: by it iterations count, for those that were disturbed have not shown what was asked.
    least: f64,
    /// Seconds that all iterations took.
    real: f64,
}

impl Budget {
    /// A budget of `seconds` for iterations that take about `pace` seconds each.
    pub fn new(seconds: f64, pace: f64) -> Budget {
        Budget::within(seconds, pace, MIN_ITERATIONS, MAX_CHOSEN)
    }

    /// The same with at least `fewest` iterations, and at most `most`.
    pub fn within(seconds: f64, pace: f64, fewest: usize, most: usize) -> Budget {
        Budget { seconds, fewest, most, pace: pace.max(1e-9), done: 0, least: f64::INFINITY, real: 0.0 }
    }

    /// How many iterations to make next; none when the time is spent.
    pub fn next_chunk(&self) -> Option<usize> {
        let undisturbed = if self.done == 0 { 0.0 } else { self.done as f64 * self.least };
        let is_spent = undisturbed >= ENOUGH * self.seconds || self.real >= (PATIENCE * self.seconds).max(MIN_PATIENCE);
        if self.done >= self.most || (self.done >= self.fewest && is_spent) {
            return None;
        }
        let left = (self.seconds - undisturbed).clamp(0.0, CHUNK * self.seconds);
        let fitting = (left / self.pace).round().min(self.most as f64) as usize;
        Some(fitting.max(self.fewest.saturating_sub(self.done)).max(1).min(self.most - self.done))
    }

    /// Records a chunk: how many iterations it had, and what some of them took, in seconds.
    pub fn spend(&mut self, iterations: usize, times: &[f64]) {
        let Statistics { median, decile, .. } = Statistics::of(times);
        // Where half of a chunk was disturbed its median is that of the disturbance.
        self.pace = if median > MIXED * decile { decile } else { median }.max(1e-9);
        self.done += iterations;
        self.least = self.least.min(self.pace);
        self.real += times.iter().sum::<f64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a budget against a machine whose iteration number `i` takes `seconds(i)`; iterations and seconds spent.
    fn run(budget: f64, pilot: f64, mut seconds: impl FnMut(usize) -> f64) -> (usize, f64) {
        let (mut budget, mut done, mut spent) = (Budget::new(budget, pilot), 0, 0.0);
        while let Some(chunk) = budget.next_chunk() {
            let times: Vec<f64> = (done..done + chunk).map(&mut seconds).collect();
            budget.spend(chunk, &times);
            (done, spent) = (done + chunk, spent + times.iter().sum::<f64>());
        }
        (done, spent)
    }

    #[test]
    fn a_steady_pace_takes_the_time_to_be_spent() {
        for pace in [1e-6, 2.3e-6, 40e-6, 0.9e-3] {
            let (done, spent) = run(0.02, pace, |_| pace);
            assert!((0.95..=1.0 + pace / 0.02).contains(&(spent / 0.02)), "{pace}: {done} in {spent}");
        }
        assert_eq!(run(0.02, 1.0, |_| 1.0).0, 10, "the fewest, however long they take");
        assert_eq!(run(1.0, 1e-9, |_| 1e-9).0, 100_000, "the most, however short they are");
    }

    #[test]
    fn a_poisoned_pilot_costs_a_chunk() {
        // The pilot was a thousand times too slow, and so are the first iterations.
        let (done, spent) = run(0.02, 1e-3, |i| if i < 7 { 1e-3 } else { 1e-6 });
        assert!(done >= 18_500, "{done} iterations where 20,000 fit");
        assert!(spent < 0.02 * 1.5);
        let (done, _) = run(0.02, 1e-3, |_| 1e-6);
        assert!(done >= 18_500, "{done} iterations where 20,000 fit");
    }

    #[test]
    fn a_pilot_that_was_too_quick_costs_a_chunk() {
        let (_, spent) = run(0.02, 1e-6, |_| 10e-6);
        assert!(spent < 0.02 * (10.0 * CHUNK + 0.1), "{spent}");
    }

    #[test]
    fn a_stop_now_and_then_ends_nothing_but_all_has_an_end() {
        let (done, _) = run(0.02, 1e-6, |i| if i % 4000 == 2000 { 5e-3 } else { 1e-6 });
        assert!(done >= 18_500, "{done}");
        let (done, spent) = run(0.02, 1e-6, |i| if i % 100 == 50 { 5e-3 } else { 1e-6 });
        assert!(done >= 10 && spent < 0.02 * (PATIENCE + 60.0 * CHUNK * 10.0), "{done} in {spent}");
    }

    proptest::proptest! {
        #[test]
        fn it_always_ends_within_its_limits(
            seconds in 1e-9f64..1.0,
            pilot in 0.0f64..1.0,
            paces in proptest::collection::vec(1e-9f64..1e-2, 1..9),
            fewest in 1usize..20,
            more in 0usize..3000,
        ) {
            let most = fewest + more;
            let mut budget = Budget::within(seconds, pilot, fewest, most);
            let (mut done, mut chunks) = (0, 0);
            while let Some(chunk) = budget.next_chunk() {
                proptest::prop_assert!(chunk >= 1);
                let pace = paces[chunks % paces.len()];
                budget.spend(chunk, &vec![pace; chunk]);
                done += chunk;
                chunks += 1;
            }
            proptest::prop_assert!((fewest..=most).contains(&done));
            proptest::prop_assert!(chunks <= most);
        }
    }
}
