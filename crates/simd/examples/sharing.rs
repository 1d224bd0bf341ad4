//! What it costs to share a call: threads started for it, and those that stay. Prints nanoseconds as JSON, the medians of
//! rounds in which both take turns, by threads and by how long each part works. `benches/pvar/sharing.py` records it.

use std::time::{Duration, Instant};

use weft_simd::on_threads;

const ROUNDS: usize = 3000;

fn main() {
    let mut rows = Vec::new();
    for threads in [2, 4] {
        for busy in [0, 5, 50] {
            let part = |_: usize| {
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(busy) {
                    std::hint::spin_loop();
                }
            };
            let (mut started, mut kept) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                started.push(timed(|| start_threads(threads, part)));
                kept.push(timed(|| drop(on_threads(threads, part))));
            }
            let (started, kept) = (median(started), median(kept));
            rows.push(format!(
                "{{\"threads\": {threads}, \"busy_us\": {busy}, \"started_ns\": {started}, \"kept_ns\": {kept}}}"
            ));
        }
    }
    println!("[{}]", rows.join(", "));
}

fn start_threads(threads: usize, part: impl Fn(usize) + Copy + Send) {
    std::thread::scope(|scope| {
        (1..threads).for_each(|number| drop(scope.spawn(move || part(number))));
        part(0);
    });
}

fn timed(call: impl FnOnce()) -> u128 {
    let start = Instant::now();
    call();
    start.elapsed().as_nanos()
}

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times[times.len() / 2]
}
