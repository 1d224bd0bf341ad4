//! Whole calls: threads, time steps, and several time steps in one sweep through memory.
//!
//! Temporal blocking: while a sweep moves along axis 0, the planes of the first step that are complete feed the second step,
//! and so on; only the last step's planes are written to memory, the others live in a few planes per step that are
//! overwritten in turn. Threads and tiles overlap: each computes the intermediate rows it needs itself, so that none waits
//! for another. Every row is computed by the same kernel from the same values as in separate steps: results agree to the
//! last bit.

use weft_simd::{CACHE_LINE, MAX_THREADS, on_threads};

use crate::Stop;

use super::arrays::{Ends, Job, OUTER, Source, Target, View};
use super::description::Boundary;
use super::element::Element;
use super::plan::Plan;
use super::scratch::{aligned, alignment};
use super::tiles;
use super::traversal::Depth;
use super::work::Work;

/// Steps that a sweep takes at most where nobody says otherwise: beyond, what tiles share outgrows what memory costs.
const MAX_STEPS: usize = 8;

/// How many steps a sweep takes, and its tiles.
pub(super) fn choose<T: Element>(plan: &Plan<T>) -> Depth {
    let whole = Depth { steps: 1, second: plan.outer[1] };
    let total = plan.options.steps;
    let most = plan.options.steps_at_once.unwrap_or(MAX_STEPS).min(total);
    let fits_anyway = 2 * plan.elements() * size_of::<T>() <= plan.options.step_cache;
    if plan.axes < 2 || most < 2 || plan.has_varying() || (fits_anyway && plan.options.steps_at_once.is_none()) {
        return whole;
    }
    if plan.options.steps_at_once.is_some() {
        // Asked for so many: in tiles that fit if there are such, else whole.
        let fitting = tiles::lengths(plan.outer[1])
            .into_iter()
            .find(|&second| held_bytes(plan, Depth { steps: most, second }) <= plan.options.step_cache);
        return Depth { steps: most, second: fitting.unwrap_or(plan.outer[1]) };
    }
    let mut best = (WORTH_IT * cost(plan, whole), whole);
    // As many sweeps with fewer steps each would be better.
    for steps in (2..=most).filter(|&steps| steps == total.div_ceil(total.div_ceil(steps))) {
        for second in tiles::lengths(plan.outer[1]) {
            let depth = Depth { steps, second };
            if held_bytes(plan, depth) <= plan.options.step_cache && cost(plan, depth) < best.0 {
                best = (cost(plan, depth), depth);
            }
        }
    }
    best.1
}

/// What several steps in a sweep may cost at most, as a share of what they cost one by one: they have costs of their own.
const WORTH_IT: f64 = 0.9;

/// Loads, products and sums of a vector that take as long as its traffic to memory: measured with 5 to 27 points.
const OPERATIONS_PER_TRAFFIC: f64 = 12.0;

/// Time of one step, in units of its traffic to memory if it were taken alone: its share of the sweep's traffic, and
/// arithmetic with what tiles share done again.
fn cost<T: Element>(plan: &Plan<T>, depth: Depth) -> f64 {
    let (low, high) = if plan.axes < 3 || depth.second == plan.outer[1] { (0, 0) } else { plan.reach[1] };
    let read = (widest(plan, depth) + low + high) as f64 / depth.second as f64;
    let arithmetic = plan.operations() as f64 / OPERATIONS_PER_TRAFFIC;
    (1.0 + read) / 2.0 / depth.steps as f64 + arithmetic * repeated(plan, depth)
}

/// Bytes of all planes that a sweep of several steps holds.
fn held_bytes<T: Element>(plan: &Plan<T>, depth: Depth) -> usize {
    let planes = plan.reach[0].0 + plan.reach[0].1 + 1;
    depth.steps * planes * widest(plan, depth) * plan.outer[2] * plan.row * size_of::<T>()
}

/// Rows of axis 1 that the first step of a tile computes.
fn widest<T: Element>(plan: &Plan<T>, depth: Depth) -> usize {
    if depth.second == plan.outer[1] || plan.axes < 3 {
        return plan.outer[1];
    }
    depth.second + (depth.steps - 1) * (plan.reach[1].0 + plan.reach[1].1)
}

/// How often a row is computed, over the steps of a tile.
fn repeated<T: Element>(plan: &Plan<T>, depth: Depth) -> f64 {
    (1.0 + widest(plan, depth) as f64 / depth.second as f64) / 2.0
}

/// What the steps of a call are, in words.
pub(super) fn explain<T: Element>(plan: &Plan<T>) -> String {
    let Depth { steps, second } = plan.depth;
    match (plan.options.steps, steps) {
        (1, _) => String::new(),
        (total, 1) => format!("steps: {total}, each one sweep through memory\n"),
        (total, _) if second == plan.outer[1] => format!("steps: {total}, {steps} in a sweep through memory\n"),
        (total, _) => format!("steps: {total}, {steps} in a sweep through memory, in tiles of {second} along axis 1\n"),
    }
}

/// A whole call.
///
/// # Safety
/// See [`Plan::apply`].
pub(super) unsafe fn run<T: Element>(
    plan: &Plan<T>,
    source: &Source<'_, T>,
    target: &Target<'_, T>,
    count: usize,
    stop: Stop<'_>,
) {
    let source = plan.view(source.base.cast_mut(), source.layout);
    let target = plan.view(target.base, target.layout);
    let (total, at_once) = (plan.options.steps, plan.depth.steps);
    let sweeps = total.div_ceil(at_once);
    let mut held = if sweeps > 1 { plan.take_temporary(count) } else { Vec::new() };
    let between = plan.view(aligned(held.as_mut_ptr()), &plan.contiguous());
    let mut input = source;
    for sweep in (0..sweeps).take_while(|_| !stop.is_requested()) {
        let steps = at_once.min(total - sweep * at_once);
        let output = if (sweeps - 1 - sweep) % 2 == 0 { target } else { between };
        let ranges = std::array::from_fn(|axis| (0, plan.outer[axis] as isize));
        let columns = (0, plan.row);
        let streams = plan.streams(count);
        let job = Job { input, output, ranges, columns, count, streaming: streams, from_memory: plan.is_far(count) };
        // SAFETY: source and target are valid for the plan's extents (this function's condition), and the array between
        // has the elements of the contiguous layout and of an alignment, which `take_temporary` has allocated.
        unsafe { share(plan, &job, steps, stop) };
        input = output;
    }
    if sweeps > 1 {
        plan.keep_temporary(held);
    }
}

/// One sweep, shared by the plan's threads along axis 0, or along the row where there is no other axis.
unsafe fn share<T: Element>(plan: &Plan<T>, job: &Job<T>, steps: usize, stop: Stop<'_>) {
    let mut jobs = Vec::new();
    let threads = plan.options.threads.min(MAX_THREADS);
    if plan.axes == 1 {
        let length = plan.row.div_ceil(threads).next_multiple_of(MAX_PER_LINE);
        let starts = (0..plan.row).step_by(length);
        jobs.extend(starts.map(|from| Job { columns: (from, (from + length).min(plan.row)), ..*job }));
    } else {
        let length = plan.outer[0].div_ceil(threads);
        for from in (0..plan.outer[0]).step_by(length) {
            let mut part = *job;
            part.ranges[0] = (from as isize, (from + length).min(plan.outer[0]) as isize);
            jobs.push(part);
        }
    }
    if jobs.is_empty() {
        return;
    }
    on_threads(jobs.len(), |number| {
        let mut work = plan.work();
        // SAFETY: the job's views are valid (this function's condition), and its parts write different rows.
        unsafe { run_part(plan, &jobs[number], steps, &mut work, stop) };
        plan.give_back(work);
    });
}

/// Elements of a cache line, at most: rows that threads share are cut between lines.
const MAX_PER_LINE: usize = CACHE_LINE;

impl<T: Element> Plan<T> {
    /// One step from one view to another, whole or in part, on this thread.
    ///
    /// # Safety
    /// The job's views are valid for what its ranges and the stencil's reach make it read and write.
    pub(super) unsafe fn step(&self, job: &Job<T>, work: &mut Work<T>, stop: Stop<'_>) {
        for tile in tiles::cut(self, job) {
            // SAFETY: the job's views are valid for its ranges and the stencil's reach (this function's condition), and
            // tiles are parts of its ranges.
            unsafe { self.sweep(&tile, work, stop) }
        }
    }
}

/// What one thread does of a sweep of so many steps.
///
/// # Safety
/// See [`Plan::apply`].
pub(super) unsafe fn run_part<T: Element>(
    plan: &Plan<T>,
    job: &Job<T>,
    steps: usize,
    work: &mut Work<T>,
    stop: Stop<'_>,
) {
    // Right-hand sides that share coefficients along rows are computed row by row, so that these are read once.
    if steps == 1 && plan.has_varying() {
        // SAFETY: the job's views are valid for its ranges and the stencil's reach (this function's condition), which
        // one step reads and writes.
        return unsafe { plan.step(job, work, stop) };
    }
    for side in 0..job.count {
        let mut one = Job { count: 1, ..*job };
        one.input.base = one.input.base.wrapping_offset(side as isize * one.input.between);
        one.output.base = one.output.base.wrapping_offset(side as isize * one.output.between);
        if steps == 1 {
            // SAFETY: the job's views are valid for its ranges and the stencil's reach (this function's condition), and
            // `one` is the job of one of its right-hand sides.
            unsafe { plan.step(&one, work, stop) };
            continue;
        }
        let second = plan.depth.second as isize;
        let (start, end) = one.ranges[1];
        for from in (start..end).step_by(second as usize) {
            one.ranges[1] = (from, (from + second).min(end));
            // SAFETY: the job's views are valid for its ranges and the reach of all steps (this function's condition),
            // and `one` is a tile of them for one of its right-hand sides.
            unsafe { several(plan, &one, steps, work, stop) };
        }
    }
}

/// The rows that a step must compute along an axis, when a later one needs `range` after `later` more steps.
fn widened<T: Element>(plan: &Plan<T>, axis: usize, range: (isize, isize), later: usize) -> (isize, isize) {
    let (low, high) = plan.reach[axis];
    let (start, end) = (range.0 - (later * low) as isize, range.1 + (later * high) as isize);
    match plan.boundaries[axis] {
        Boundary::Circular => (start, end),
        _ => (start.max(0), end.min(plan.outer[axis] as isize)),
    }
}

/// The elements of rows, likewise.
fn widened_columns<T: Element>(plan: &Plan<T>, columns: (usize, usize), later: usize) -> (usize, usize) {
    if columns == (0, plan.row) {
        return columns;
    }
    let (low, high) = plan.reach[plan.axes - 1];
    let by = later * plan.options.components;
    (columns.0.saturating_sub(by * low), (columns.1 + by * high).min(plan.row))
}

/// Several steps of one tile in one sweep along axis 0.
unsafe fn several<T: Element>(plan: &Plan<T>, job: &Job<T>, steps: usize, work: &mut Work<T>, stop: Stop<'_>) {
    let (low, high) = plan.reach[0];
    let ring = low + high + 1;
    // Along axis 1 a tile that is the whole axis wraps as the array does; a part of it is widened.
    let second_is_whole = plan.axes < 3 || job.ranges[1] == (0, plan.outer[1] as isize);
    let second = |later: usize| {
        if second_is_whole { job.ranges[1] } else { widened(plan, 1, job.ranges[1], later) }
    };
    // A part of axis 2 or of rows lies far enough within the array; see `check_region`.
    let third_is_whole = job.ranges[2] == (0, plan.outer[2] as isize);
    let third = |later: usize| if third_is_whole { job.ranges[2] } else { widened(plan, 2, job.ranges[2], later) };
    let (origin, end) = second(steps - 1);
    let row = plan.row.next_multiple_of(alignment::<T>());
    let plane = (end - origin) as usize * plan.outer[2] * row;
    // Levels begin at different offsets within a page, so that no load seems to depend on a store to another level.
    let level_elements = ring * plane + LEVEL_SKEW * alignment::<T>();
    let needed = (steps - 1) * level_elements + alignment::<T>();
    if work.levels.len() < needed {
        work.levels = vec![T::ZERO; needed];
    }
    let levels = aligned(work.levels.as_mut_ptr());
    let mut ends = Ends::default();
    let circular = |axis: usize| matches!(plan.boundaries[axis], Boundary::Circular);
    (ends.low[0], ends.high[0]) = (circular(0), circular(0));
    if !second_is_whole {
        (ends.low[1], ends.high[1]) = (circular(1), circular(1));
    }
    let strides: [isize; OUTER] = [plane as isize, (plan.outer[2] * row) as isize, row as isize];
    let level = |number: usize| View {
        base: levels.wrapping_add(number * level_elements),
        strides,
        between: 0,
        ring: Some(ring),
        origin,
        ends,
    };
    let jobs: Vec<Job<T>> = (1..=steps)
        .map(|step| {
            let later = steps - step;
            Job {
                input: if step == 1 { job.input } else { level(step - 2) },
                output: if later == 0 { job.output } else { level(step - 1) },
                ranges: [widened(plan, 0, job.ranges[0], later), second(later), third(later)],
                columns: widened_columns(plan, job.columns, later),
                streaming: job.streaming && later == 0,
                from_memory: job.from_memory && step == 1,
                ..*job
            }
        })
        .collect();
    let first = jobs[0].ranges[0].0;
    let last = job.ranges[0].1 + ((steps - 1) * high) as isize;
    for front in (first..last).take_while(|_| !stop.is_requested()) {
        for (behind, step) in jobs.iter().enumerate() {
            let plane = front - (behind * high) as isize;
            if plane >= step.ranges[0].0 && plane < step.ranges[0].1 {
                let mut one = *step;
                one.ranges[0] = (plane, plane + 1);
                // SAFETY: planes of the level before are complete as far as this one reaches, and not yet overwritten.
                unsafe { plan.sweep(&one, work, stop) };
            }
        }
    }
}

/// Cache lines between the same offset of two levels, beyond whole planes.
const LEVEL_SKEW: usize = 9;
