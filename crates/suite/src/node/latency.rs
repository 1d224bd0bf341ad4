//! Latency of memory by the size of the working set: the staircase of the caches.
//!
//! A chain of pointers leads through all lines of the working set in a random cycle, one pointer in each line of 64
//! bytes, so that each load needs the result of the one before and no prefetcher can guess it. Large sets include the
//! cost of finding the page; huge pages are left to the system.
//!
//! Kept by: every address comes from the load before.
//! Checked by: after any number of steps the chain must be at the line that the shuffled order says; one cycle must
//! return to its start.

use std::hint::black_box;
use std::ptr;

use rand::seq::SliceRandom;

use super::error::NodeError;
use super::measure::{Case, Repeat, expect_equal, timed};
use super::request::NodeRequest;
use super::system;

pub(crate) const ROWS: [&str; 1] = ["load"];

/// Bytes of a line and so between two pointers.
const LINE: u64 = weft_simd::CACHE_LINE as u64;

/// 4 KiB to 128 MiB: from within the first cache to beyond the last of most processors.
const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 128 << 20;

/// Loads of one sample.
const COUNT: u64 = 1 << 16;

#[repr(C, align(64))]
struct Line {
    next: *const Line,
}

pub(crate) fn cases(request: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let doubling = std::iter::successors(Some(SMALLEST), |bytes| Some(bytes * 2)).take_while(|&bytes| bytes <= LARGEST);
    let seed = request.seed;
    let case = |bytes: u64| {
        if bytes < 2 * LINE || bytes / LINE > u64::from(u32::MAX) {
            let expected = format!("at least {} bytes and at most 2^32 lines of {LINE}", 2 * LINE);
            return Err(NodeError::BadLength { benchmark: "memory_latency", length: bytes, expected });
        }
        let mut case = Case::new(ROWS[0], COUNT, "one load", move || {
            let benchmark = "memory_latency";
            system::check_memory(benchmark, bytes + bytes / LINE * 4)?;
            Ok(repeat((bytes / LINE) as usize, seed))
        });
        case.bytes = Some(bytes);
        Ok(case)
    };
    let lengths = if request.bytes.is_empty() { doubling.collect() } else { request.bytes.clone() };
    lengths.into_iter().map(case).collect()
}

fn repeat(lines: usize, seed: u64) -> Repeat {
    let (chain, order) = cycle(lines, seed);
    let mut position = 0;
    let mut at: *const Line = &chain[order[0] as usize];
    let mut cycle_checked = false;
    Box::new(move |count| {
        if !cycle_checked {
            expect_equal("the line after a whole cycle", walk(at, lines as u64), at)?;
            cycle_checked = true;
        }
        let (seconds, end) = timed(|| walk(black_box(at), count));
        position = (position + count as usize) % lines;
        let reference: *const Line = &chain[order[position] as usize];
        expect_equal("the line at the end of the chain", end, reference)?;
        at = end;
        Ok(seconds)
    })
}

/// Lines linked in a random order, and that order.
fn cycle(lines: usize, seed: u64) -> (Vec<Line>, Vec<u32>) {
    let mut order: Vec<u32> = (0..lines as u32).collect();
    order.shuffle(&mut weft_base::generator(seed, 0));
    let mut chain: Vec<Line> = (0..lines).map(|_| Line { next: ptr::null() }).collect();
    for (position, &line) in order.iter().enumerate() {
        let next: *const Line = &chain[order[(position + 1) % lines] as usize];
        chain[line as usize].next = next;
    }
    (chain, order)
}

#[inline(never)]
fn walk(mut at: *const Line, steps: u64) -> *const Line {
    for _ in 0..steps {
        // SAFETY: every line of the chain points to a line of it, and the caller holds the chain.
        at = unsafe { ptr::read(at).next };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_cycle_goes_through_every_line_once() {
        for lines in [2, 3, 64, 1000] {
            let (chain, _) = cycle(lines, 7);
            let mut seen = HashSet::new();
            let mut at: *const Line = &chain[0];
            while seen.insert(at) {
                at = walk(at, 1);
            }
            assert_eq!(seen.len(), lines);
        }
    }

    #[test]
    fn the_end_depends_on_every_step_and_the_seed() {
        let (chain, order) = cycle(100, 7);
        let start: *const Line = &chain[order[0] as usize];
        for steps in [0, 1, 57, 101] {
            assert!(ptr::eq(walk(start, steps), &chain[order[steps as usize % 100] as usize]));
        }
        assert_ne!(cycle(100, 8).1, order);
        let mut repeat = repeat(100, 7);
        for count in [1, 7, 99, 1000] {
            repeat(count).unwrap();
        }
    }

    #[test]
    fn a_set_of_one_line_is_refused() {
        let request = NodeRequest { bytes: vec![64], ..NodeRequest::default() };
        let error = cases(&request).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("expected at least 128 bytes"), "{error}");
    }
}
