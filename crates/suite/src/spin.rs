//! A loop of so many iterations: what a program computes while messages pass (the `Spincom` of Dunigan 1991, table 2).

use std::hint::black_box;
use std::time::{Duration, Instant};

use weft_comm::{Communicator, Work};

/// The shortest run by which the time of an iteration is measured,
const CALIBRATION: Duration = Duration::from_micros(200);
/// and how often it is made: the fastest counts.
const CALIBRATIONS: usize = 5;

/// A loop of a fixed number of iterations.
///
/// Where time is real the iterations are counted and the clock is not asked, so the loop takes longer when something
/// takes the processor away; in virtual time the machine's processor is busy for the time instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinLoop {
    /// What it takes where nothing disturbs it.
    seconds: f64,
    iterations: u64,
}

impl SpinLoop {
    /// A loop that takes about `seconds` where nothing disturbs it.
    pub fn of<C: Communicator>(comm: &C, seconds: f64) -> SpinLoop {
        if comm.virtual_time() {
            return SpinLoop { seconds, iterations: 0 };
        }
        SpinLoop { seconds, iterations: (seconds / seconds_per_iteration()).ceil().max(1.0) as u64 }
    }

    /// Runs it once.
    pub async fn run<C: Communicator>(self, comm: &C) {
        if comm.virtual_time() {
            comm.compute(Work::Spin(self.seconds)).await;
        } else {
            iterate(self.iterations, 1);
        }
    }

    /// Runs it again and again; the time of each run in seconds.
    pub async fn timed<C: Communicator>(self, comm: &C, runs: usize) -> Vec<f64> {
        let mut times = vec![0.0; runs];
        for time in &mut times {
            let start = comm.wtime();
            self.run(comm).await;
            *time = comm.wtime() - start;
        }
        times
    }
}

/// What so many iterations make of `seed`.
///
/// An iteration is a step of the xorshift generator (G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8
/// (2003), issue 14): six operations in registers, each of which waits for the one before, so there is nothing to do at
/// once and no memory whose state would change the time. Compilers do not shorten it, as they do with sums and with
/// linear congruential generators, whose steps they combine; `black_box` keeps them from knowing the start, the number
/// of iterations, or that the result is not needed.
fn iterate(iterations: u64, seed: u64) -> u64 {
    black_box((0..black_box(iterations)).fold(black_box(seed), |state, _| xorshift(state)))
}

fn xorshift(state: u64) -> u64 {
    let state = state ^ (state << 13);
    let state = state ^ (state >> 7);
    state ^ (state << 17)
}

fn seconds_per_iteration() -> f64 {
    let time = |iterations| {
        let start = Instant::now();
        iterate(iterations, 1);
        start.elapsed()
    };
    let mut iterations = 1024;
    while time(iterations) < CALIBRATION {
        iterations *= 2;
    }
    let fastest = (0..CALIBRATIONS).map(|_| time(iterations)).min().unwrap_or(CALIBRATION);
    fastest.as_secs_f64().max(1e-9) / iterations as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Undoes `state ^ (state << bits)`.
    fn without_left(shifted: u64, bits: u32) -> u64 {
        (0..u64::BITS / bits).fold(shifted, |state, _| shifted ^ (state << bits))
    }

    /// Undoes `state ^ (state >> bits)`.
    fn without_right(shifted: u64, bits: u32) -> u64 {
        (0..u64::BITS / bits).fold(shifted, |state, _| shifted ^ (state >> bits))
    }

    proptest::proptest! {
        #[test]
        fn every_iteration_is_run(iterations in 0u64..5000, seed: u64) {
            let back = |state, _| without_left(without_right(without_left(state, 17), 7), 13);
            proptest::prop_assert_eq!((0..iterations).fold(iterate(iterations, seed), back), seed);
        }
    }
}
