//! A pilot that falls into a moment at which something else has the processor: the number of iterations recovers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_comm::{CommError, Communicator, Program};
use weft_suite::{Request, Row, Suite, UsageError};
use weft_threads::{Options, run};

/// What one look at the clock takes, in nanoseconds: in the beginning, while something else has the processor,
const DISTURBED: u64 = 5_000_000;
/// and then.
const QUIET: u64 = 1_000;

/// A communicator whose clock goes on when it is looked at, by much at the first looks and by little at the others.
#[derive(Clone)]
struct Disturbed<C> {
    inner: C,
    looks: Arc<AtomicU64>,
    disturbed: u64,
}

impl<C: Communicator> Communicator for Disturbed<C> {
    type Send = C::Send;
    type Receive = C::Receive;

    weft_comm::forward_to_inner!(
        rank,
        size,
        isend,
        irecv,
        probe,
        iprobe,
        compute,
        world_rank,
        hops_to,
        host,
        enter_collective,
        leave_collective,
        native
    );

    fn wtime(&self) -> f64 {
        let looks = 1 + self.looks.fetch_add(1, Ordering::Relaxed);
        let slow = looks.min(self.disturbed);
        1e-9 * (slow * DISTURBED + (looks - slow) * QUIET) as f64
    }
    fn virtual_time(&self) -> bool {
        false
    }
    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, CommError> {
        let part = self.inner.split(color, key).await?;
        Ok(part.map(|inner| Disturbed { inner, looks: Arc::clone(&self.looks), disturbed: self.disturbed }))
    }
}

#[derive(Clone)]
struct OnDisturbed {
    suite: Suite,
    disturbed: u64,
}

impl Program for OnDisturbed {
    type Output = Result<Vec<Row>, UsageError>;
    async fn run<C: Communicator>(self, inner: C) -> Result<Self::Output, CommError> {
        let looks = Arc::new(AtomicU64::new(0));
        self.suite.run(Disturbed { inner, looks, disturbed: self.disturbed }).await
    }
}

/// The iterations of a point of 0.2 ms, if the first looks at the clock are disturbed.
fn iterations(benchmark: &str, ranks: usize, disturbed: u64) -> u32 {
    let mut request = Request { benchmark: benchmark.to_owned(), seconds_per_point: 2e-4, ..Request::default() };
    match benchmark {
        "barrier" => {}
        "halo" => request.shape = vec![vec![4, 4]],
        _ => request.bytes = vec![8],
    }
    if benchmark.starts_with("fan") {
        request.neighbours = vec![1];
    }
    let program = OnDisturbed { suite: Suite { request }, disturbed };
    let mut outputs = run(ranks, &program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let rows = outputs.swap_remove(0).unwrap_or_else(|error| panic!("{benchmark}: {error}"));
    rows[0].iterations
}

#[test]
fn every_benchmark_recovers_from_a_disturbed_pilot() {
    // Looks at the clock: 9 + 11 of the pilots, and some of the first chunk of 10. Benchmarks of more ranks are timed by
    // the same stopwatch.
    for name in ["echo", "echo-self", "ring", "bandwidth", "fan-in", "fan-out", "bisection", "barrier", "halo"] {
        let ranks = if name == "echo-self" { 1 } else { 2 };
        let quiet = iterations(name, ranks, 0);
        assert!(quiet > 30, "{name}: {quiet} iterations");
        for disturbed in [9, 20, 26] {
            let count = iterations(name, ranks, disturbed);
            assert!(count >= quiet / 2, "{name}, {disturbed} looks disturbed: {count} iterations where {quiet} fit");
        }
    }
}
