//! Rates of the stencil kernels against a copy of the same array: a quick look while changing them.
//!
//! cargo run --release -p weft-kernels --example stencil_rates -- [CASE]… [--threads N] [--steps N] [--at-once N]
//!     [--rounds N] [--cache BYTES] [--streaming-from BYTES] [--instructions portable|avx2|avx512]
//!     [--divide N] [--aligned 1] [--misplaced BYTES] [--huge 1] [--step-cache BYTES] [--extents 16x16x256 --calls 100]
//!
//! Prints the share of the copy's rate, for the bytes that a step must move at least; medians over rounds, in which copy
//! and cases take turns. `benches/polyshift/stencils.py` is the benchmark with baselines.

use std::time::Instant;

use weft_kernels::stencil::{Array, Boundary, Coefficient, Level, Options, Plan, Point, Source, Stencil, Target};

type Case = (&'static str, &'static [usize], fn() -> Vec<(Vec<isize>, f64)>, bool);

const CASES: &[Case] = &[
    ("5-point", &[4096, 4096], star::<2>, false),
    ("7-point", &[256, 256, 256], star::<3>, false),
    ("27-point", &[256, 256, 256], cube, false),
    ("27-point-symmetric", &[256, 256, 256], symmetric, false),
    ("27-point-arrays", &[192, 192, 192], cube, true),
    ("8-point", &[64, 64, 64, 64], around::<4>, false),
    ("9-point-star", &[4096, 4096], long_star, false),
    ("3-point", &[1 << 24], star::<1>, false),
    ("13-point-star", &[200, 200, 200], far::<2>, false),
    ("25-point-star", &[160, 160, 160], far::<4>, false),
];

fn star<const AXES: usize>() -> Vec<(Vec<isize>, f64)> {
    let mut points = around::<AXES>();
    points.push((vec![0; AXES], 0.5));
    points
}

fn around<const AXES: usize>() -> Vec<(Vec<isize>, f64)> {
    let mut points = Vec::new();
    for axis in 0..AXES {
        for by in [-1, 1] {
            let mut offset = vec![0; AXES];
            offset[axis] = by;
            points.push((offset, 0.1 + 0.01 * axis as f64 + 0.001 * by as f64));
        }
    }
    points
}

fn long_star() -> Vec<(Vec<isize>, f64)> {
    let mut points = star::<2>();
    points.extend([[-2, 0], [2, 0], [0, -2], [0, 2]].map(|offset| (offset.to_vec(), -0.01)));
    points
}

/// A star in three axes.
fn far<const RADIUS: isize>() -> Vec<(Vec<isize>, f64)> {
    let mut points = vec![(vec![0; 3], 0.5)];
    for axis in 0..3 {
        for by in (-RADIUS..=RADIUS).filter(|&by| by != 0) {
            let mut offset = vec![0; 3];
            offset[axis] = by;
            points.push((offset, 0.1 / by as f64 + 0.01 * axis as f64));
        }
    }
    points
}

fn cube() -> Vec<(Vec<isize>, f64)> {
    (0..27).map(|n: isize| (vec![n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1], 0.01 + 0.001 * n as f64)).collect()
}

fn symmetric() -> Vec<(Vec<isize>, f64)> {
    let weight = |offset: &[isize]| [0.5, 0.05, 0.01, 0.002][offset.iter().filter(|&&by| by != 0).count()];
    cube().into_iter().map(|(offset, _)| (offset.clone(), weight(&offset))).collect()
}

struct Chosen {
    cases: Vec<String>,
    options: Options,
    rounds: usize,
    /// Divides the first extent, and repeats calls as often: how fast it is in cache.
    divide: usize,
    /// Instead of the case's, with so many calls.
    extents: Option<Vec<usize>>,
    calls: usize,
    aligned: bool,
    /// Bytes from a cache line to the result.
    misplaced: usize,
    /// Arrays in huge pages, as numpy asks for.
    huge: bool,
}

fn chosen() -> Chosen {
    let mut chosen = Chosen {
        cases: Vec::new(),
        options: Options::default(),
        rounds: 7,
        divide: 1,
        extents: None,
        calls: 1,
        aligned: false,
        misplaced: 0,
        huge: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--extents" {
            let text = words.next().expect("extents");
            chosen.extents = Some(text.split('x').map(|n| n.parse().expect("extents")).collect());
            continue;
        }
        let mut number = || words.next().and_then(|text| text.parse::<usize>().ok()).expect("a number after an option");
        match word.as_str() {
            "--threads" => chosen.options.threads = number(),
            "--steps" => chosen.options.steps = number(),
            "--at-once" => chosen.options.steps_at_once = Some(number()),
            "--aligned" => chosen.aligned = number() > 0,
            "--misplaced" => chosen.misplaced = number(),
            "--huge" => chosen.huge = number() > 0,
            "--step-cache" => chosen.options.step_cache = number(),
            "--calls" => chosen.calls = number(),
            "--divide" => chosen.divide = number(),
            "--rounds" => chosen.rounds = number(),
            "--cache" => chosen.options.cache = number(),
            "--streaming-from" => chosen.options.streaming_from = number(),
            "--instructions" => {
                chosen.options.instructions = Some(match words.next().as_deref() {
                    Some("avx2") => Level::Avx2,
                    Some("avx512") => Level::Avx512,
                    _ => Level::Portable,
                });
            }
            _ => chosen.cases.push(word),
        }
    }
    chosen
}

/// An array, and what a multiple of a huge page needs more.
fn values(value: f64, sites: usize, huge: bool) -> Vec<f64> {
    let mut held = Vec::with_capacity(sites + 1024);
    #[cfg(target_os = "linux")]
    if huge {
        // SAFETY: this is madvise as POSIX systems with huge pages have it, of the C library that the standard library
        // links.
        unsafe extern "C" {
            fn madvise(address: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
        }
        const MADV_HUGEPAGE: i32 = 14;
        let start = held.as_mut_ptr() as usize / 4096 * 4096;
        // SAFETY: advice about memory that is ours.
        unsafe { madvise(start as *mut _, sites * 8, MADV_HUGEPAGE) };
    }
    held.resize(sites + 1024, value);
    held
}

fn arrays(extents: &[usize], points: Vec<(Vec<isize>, f64)>, huge: bool) -> Vec<Point<f64>> {
    let sites: usize = extents.iter().product();
    let mut strides = vec![1; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis] * extents[axis] as isize;
    }
    let array = |value: f64| Array::new(values(value, sites, huge), extents, &strides).expect("strides of the extents");
    let point = |(offset, value)| Point { offset, coefficient: Coefficient::Array(array(value)) };
    points.into_iter().map(point).collect()
}

fn constants(points: Vec<(Vec<isize>, f64)>) -> Vec<Point<f64>> {
    points.into_iter().map(|(offset, value)| Point { offset, coefficient: Coefficient::Constant(value) }).collect()
}

/// The processor's time of this thread where it does all the work: others may use the processor too. Else the wall's.
fn seconds(threads: usize) -> f64 {
    #[cfg(target_os = "linux")]
    if threads == 1 {
        // SAFETY: this is clock_gettime of the C library that the standard library links, on systems of 64 bits.
        unsafe extern "C" {
            fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
        }
        const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
        let mut time = [0; 2];
        // SAFETY: `time` has seconds and nanoseconds.
        unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        return time[0] as f64 + time[1] as f64 * 1e-9;
    }
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let chosen = chosen();
    let threads = chosen.options.threads;
    for (name, extents, points, with_arrays) in CASES {
        if !chosen.cases.is_empty() && !chosen.cases.iter().any(|wanted| wanted == name) {
            continue;
        }
        let mut extents = extents.to_vec();
        extents[0] = (extents[0] / chosen.divide).max(1);
        if let Some(wanted) = &chosen.extents {
            extents.clone_from(wanted);
        }
        let calls = chosen.divide * chosen.calls;
        let extents = &extents[..];
        let points = if *with_arrays { arrays(extents, points(), chosen.huge) } else { constants(points()) };
        let stencil = Stencil::new(extents.len(), points).expect("a stencil");
        let boundaries = vec![Boundary::Circular; extents.len()];
        let plan = Plan::new(&stencil, extents, boundaries, chosen.options).expect("a plan");
        let sites: usize = extents.iter().product();
        // Aligned as numpy's large arrays are: 16 bytes into a page; the result begins with a cache line
        // unless it is misplaced.
        let mut x = values(0.0, sites, chosen.huge);
        let mut y = values(0.0, sites, chosen.huge);
        for (i, value) in x.iter_mut().enumerate() {
            *value = (i % 1000) as f64 * 1e-3;
        }
        y.fill(1.0);
        let (source, target) = (
            x.as_ptr().wrapping_add(if chosen.aligned { x.as_ptr().align_offset(64) } else { 0 }),
            y.as_mut_ptr().wrapping_add(y.as_ptr().align_offset(64) + chosen.misplaced / 8),
        );
        let layout = plan.contiguous();
        let (mut copies, mut times) = (Vec::new(), Vec::new());
        for _ in 0..chosen.rounds {
            let start = seconds(threads);
            for _ in 0..calls {
                copy(source, target, sites, threads);
            }
            copies.push((seconds(threads) - start) / calls as f64);
            let start = seconds(threads);
            for _ in 0..calls {
                let (source, target) =
                    (Source { base: source, layout: &layout }, Target { base: target, layout: &layout });
                // SAFETY: both arrays have that many sites.
                unsafe { plan.apply(&source, &target, 1) };
            }
            times.push((seconds(threads) - start) / (chosen.options.steps * calls) as f64);
        }
        let (copied, time) = (median(&mut copies), median(&mut times));
        let rate = 16.0 * sites as f64 / copied;
        println!(
            "{name:<20} copy {:6.2} GB/s  {:8.3} ms  {:6.3} ns a site (least {:.3})  share {:.3}, of the least times {:.3}",
            rate / 1e9,
            time * 1e3,
            time / sites as f64 * 1e9,
            times.iter().copied().fold(f64::INFINITY, f64::min) / sites as f64 * 1e9,
            plan.bytes(1) as f64 / time / rate,
            plan.bytes(1) as f64 / times[0] / (16.0 * sites as f64 / copies[0])
        );
    }
}

/// A copy by as many threads.
fn copy(source: *const f64, target: *mut f64, sites: usize, threads: usize) {
    let (source, target) = (source as usize, target as usize);
    let length = sites.div_ceil(threads);
    std::thread::scope(|scope| {
        for from in (length..sites).step_by(length) {
            scope.spawn(move || part(source, target, from, length.min(sites - from)));
        }
        part(source, target, 0, length);
    });
}

fn part(source: usize, target: usize, from: usize, length: usize) {
    let (source, target) = (source as *const f64, target as *mut f64);
    // SAFETY: parts of the two arrays of `main`, which do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(source.add(from), target.add(from), length) };
}
