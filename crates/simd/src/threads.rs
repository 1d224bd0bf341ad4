//! Threads for one call.

use std::thread::{Builder, ScopedJoinHandle};

/// More threads than this are not started for a call, however many are asked for.
pub const MAX_THREADS: usize = 1024;

/// Runs `work` on so many threads, each with its number; the results are in the order of the numbers. Number 0 is this
/// thread, which also does the parts of threads that the system does not give.
///
/// # Examples
/// ```
/// use weft_simd::on_threads;
///
/// // Each thread adds every fourth number up to a hundred.
/// let parts = on_threads(4, |number| (1 + number..=100).step_by(4).sum::<usize>());
/// assert_eq!(parts, [1225, 1250, 1275, 1300]);
/// assert_eq!(parts.iter().sum::<usize>(), 5050);
/// ```
pub fn on_threads<R: Send>(threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    if threads <= 1 {
        return vec![work(0)];
    }
    let threads = threads.min(MAX_THREADS);
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<Option<ScopedJoinHandle<'_, R>>> =
            (1..threads).map(|number| Builder::new().spawn_scoped(scope, move || work(number)).ok()).collect();
        let mut results = vec![work(0)];
        for (other, number) in others.into_iter().zip(1..) {
            results.push(match other {
                Some(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                None => work(number),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_threads() {
        for threads in [0, 1, 2, 7] {
            let expected: Vec<usize> = (0..threads.max(1)).map(|number| number * number).collect();
            assert_eq!(on_threads(threads, |number| number * number), expected);
        }
    }

    #[test]
    fn absurd_numbers_are_cut() {
        assert_eq!(on_threads(usize::MAX, |_| ()).len(), MAX_THREADS);
    }
}
