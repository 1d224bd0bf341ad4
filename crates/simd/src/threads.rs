//! Threads for one call.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use super::pool::share;

/// More threads than this do not serve a call, however many are asked for.
pub const MAX_THREADS: usize = 1024;

/// Runs `work` on so many threads, each with its number; the results are in the order of the numbers. Number 0 is this
/// thread, which also does the parts of threads that the system does not give. The others stay for later calls; there are
/// no more of them than processors, so that parts must not wait for each other.
///
/// # Panics
///
/// With the panic of the lowest part that panicked, after all have ended.
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
    let results: Vec<_> = (0..threads.min(MAX_THREADS)).map(|_| Mutex::new(None)).collect();
    share(results.len(), &|number| {
        let result = catch_unwind(AssertUnwindSafe(|| work(number)));
        *results[number].lock().expect("nothing panics under this lock") = Some(result);
    });
    let result = |slot: Mutex<Option<std::thread::Result<R>>>| {
        let result = slot.into_inner().expect("nothing panics under this lock").expect("every part was done");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    };
    results.into_iter().map(result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    #[test]
    fn number_0_is_this_thread() {
        let own = std::thread::current().id();
        assert!((0..100).all(|_| on_threads(3, |_| std::thread::current().id())[0] == own));
    }

    /// Calls from many threads at once, and calls within calls, do every part once.
    #[test]
    fn calls_meet() {
        let parts = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for caller in 0..6 {
                let parts = &parts;
                scope.spawn(move || {
                    for round in 0..500 {
                        let sums = on_threads(2 + (caller + round) % 4, |number| {
                            parts.fetch_add(1, Ordering::Relaxed);
                            if number.is_multiple_of(2) {
                                number
                            } else {
                                on_threads(2, |inner| inner + number).iter().sum()
                            }
                        });
                        let expected = |number: usize| if number.is_multiple_of(2) { number } else { 2 * number + 1 };
                        assert!(sums.iter().enumerate().all(|(number, &sum)| sum == expected(number)));
                    }
                });
            }
        });
        let expected: usize = (0..6).flat_map(|caller| (0..500).map(move |round| 2 + (caller + round) % 4)).sum();
        assert_eq!(parts.into_inner(), expected);
    }

    #[test]
    fn a_panic_is_that_of_the_lowest_part_and_ends_nothing_else() {
        let done = AtomicUsize::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            on_threads(5, |number| {
                done.fetch_add(1, Ordering::Relaxed);
                assert!(number < 3, "part {number}");
            })
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref::<String>().map(String::as_str), Some("part 3"));
        assert_eq!(done.into_inner(), 5);
        assert_eq!(on_threads(5, |number| number), [0, 1, 2, 3, 4]);
    }
}
