//! The 24 Livermore loops (McMahon 1986, UCRL-53745): section 3.2 of Dunigan 1991 reports their harmonic mean.
//!
//! One sample of a kernel starts from the published data and makes the published number of passes over one of the three
//! published lengths; the time is that of one pass, and the rate counts operations as the published programs do. The
//! harmonic mean is that of all 72 rates, in which those of the medium lengths count twice (the weights of the
//! published program's summary).
//!
//! Kept by: every pass is a call that is not merged with the caller, on data declared changed. Checked by: the checksum
//! over the results after those passes against the published one. Ten of the kernels (4, 10, 13, 14, 16 to 19, 21, 23)
//! work on their own results, so that the checksum depends on the number of passes; other counts, as in
//! [`linearity`](super::linearity()), are compared only for the kernels that do not. The published checksum of kernel 4
//! is of data that it does not change; the tests compare its results with the definition.

mod checksum;
mod data;
mod kernels;

use std::hint::black_box;

use super::error::NodeError;
use super::measure::{Case, Repeat, expect_close, timed};
use super::request::NodeRequest;
use super::row::NodeRow;
use data::Data;

pub(crate) const ROWS: [&str; 28] = [
    "kernel_1",
    "kernel_2",
    "kernel_3",
    "kernel_4",
    "kernel_5",
    "kernel_6",
    "kernel_7",
    "kernel_8",
    "kernel_9",
    "kernel_10",
    "kernel_11",
    "kernel_12",
    "kernel_13",
    "kernel_14",
    "kernel_15",
    "kernel_16",
    "kernel_17",
    "kernel_18",
    "kernel_19",
    "kernel_20",
    "kernel_21",
    "kernel_22",
    "kernel_23",
    "kernel_24",
    HARMONIC_MEAN,
    "harmonic_mean_long",
    "harmonic_mean_medium",
    "harmonic_mean_short",
];

/// Of the 72 rates; those after it are of the 24 of one length.
pub(crate) const HARMONIC_MEAN: &str = "harmonic_mean";

/// What the kernels of one span have in common.
struct Span {
    /// The published numbers of passes are multiples of it.
    passes: u64,
    /// The length of kernel 16, and what kernel 14's indices begin with.
    searched: usize,
    seed: u64,
    /// In the mean of all.
    weight: f64,
}

const SPANS: [Span; 3] = [
    Span { passes: 200, searched: 75, seed: 256, weight: 1.0 },
    Span { passes: 400, searched: 40, seed: 12_491_249, weight: 2.0 },
    Span { passes: 1600, searched: 15, seed: 1_499_352_848, weight: 1.0 },
];

impl Span {
    fn data(&self) -> Box<Data> {
        Data::new(self.searched, self.seed)
    }
}

/// The published programs differ in the last digits, by compiler (12 of 24 in the thirteenth digit).
const TOLERANCE: f64 = 1e-11;

struct Kernel {
    pass: fn(&mut Data, usize),
    checksum: fn(&Data, usize) -> f64,
    /// Whether a pass works on the results of the one before.
    evolves: bool,
    /// Operations of one pass, by its length.
    operations: fn(f64) -> f64,
    /// Of each span the length, the factor of the passes from fresh data, and the checksum after them.
    runs: [(usize, u64, f64); 3],
}

macro_rules! kernels {
    ($($pass:ident, $evolves:literal, $operations:expr, $runs:expr);* $(;)?) => {
        /// By number, from 1.
        static KERNELS: [Kernel; 24] = [$(Kernel {
            pass: kernels::$pass,
            checksum: checksum::$pass,
            evolves: $evolves,
            operations: $operations,
            runs: $runs,
        }),*];
    };
}

kernels! {
    hydro, false, |n| 5.0 * n, [(1001, 7, 5.114652693224671e4), (101, 40, 5.253344778937972e2), (27, 28, 3.855104502494961e1)];
    iccg, false, |n| 4.0 * (n - 4.0), [(101, 67, 1.539721811668385e3), (101, 40, 1.539721811668385e3), (15, 46, 3.953296986903059e1)];
    inner_product, false, |n| 2.0 * n, [(1001, 9, 1.000742883066363e1), (101, 53, 1.009741436578952e0), (27, 37, 2.699309089320672e-1)];
    banded, true, |n| 6.0 * ((n - 5.0) / 5.0).floor() + 6.0, [(1001, 14, 5.999250595473891e-1), (101, 70, 5.999250595473891e-1), (27, 38, 5.999250595473891e-1)];
    tridiagonal, false, |n| 2.0 * (n - 1.0), [(1001, 10, 4.548871642387267e3), (101, 55, 4.589031939600982e1), (27, 40, 3.182615248447483e0)];
    recurrence, false, |n| n * (n - 1.0), [(64, 3, 4.375116344729986e3), (32, 7, 8.63167564533321e1), (8, 21, 1.120309393467088e0)];
    state, false, |n| 16.0 * n, [(995, 4, 6.104251075174761e4), (101, 22, 6.345586315784055e2), (21, 20, 2.845720217644024e1)];
    adi, false, |n| 72.0 * (n - 1.0), [(100, 10, 1.501268005625798e5), (100, 6, 1.501268005625798e5), (14, 9, 2.960543667875003e3)];
    integrate, false, |n| 17.0 * n, [(101, 36, 1.189443609974981e5), (101, 21, 1.189443609974981e5), (15, 26, 2.62396846087425e3)];
    difference_predictors, true, |n| 9.0 * n, [(101, 34, 7.310369784325296e4), (101, 19, 7.310369784325296e4), (15, 25, 1.651291227698265e3)];
    first_sum, false, |n| n - 1.0, [(1001, 11, 3.342910972650109e7), (101, 64, 3.433560407475758e4), (27, 46, 6.55116133584577e2)];
    first_difference, false, |n| n, [(1000, 12, 2.907141294167248e-5), (100, 68, 7.127569130821465e-6), (26, 48, 1.943435981130448e-6)];
    particles_2d, true, |n| 7.0 * n, [(64, 36, 1.202533961842803e11), (32, 41, 9.816387810944345e10), (8, 31, 3.847124199949426e10)];
    particles_1d, true, |n| 11.0 * n, [(1001, 2, 3.165553044000334e9), (101, 10, 3.039983465145393e7), (27, 8, 2.923540598672011e6)];
    casual, false, |n| 165.0 * (n - 1.0), [(101, 1, 3.943816690352042e4), (101, 1, 3.943816690352042e4), (15, 1, 1.108997288134785e3)];
    search, true, |n| search_operations(n), [(75, 25, 565076.0), (40, 27, 648041.0), (15, 14, 515216.0)];
    implicit, true, |n| 9.0 * n, [(101, 35, 1.114641772902486e3), (101, 20, 1.114641772902486e3), (15, 26, 2.94736861858936e1)];
    explicit_hydro, true, |n| 220.0 * (n - 1.0), [(100, 2, 1.0157270375023e5), (100, 1, 1.0157270375023e5), (14, 2, 9.70064621233704e2)];
    two_way_recurrence, true, |n| 6.0 * n, [(101, 39, 5.421816960147207e2), (101, 23, 5.421816960147207e2), (15, 28, 1.268230698051003e1)];
    transport, false, |n| 26.0 * n, [(1000, 1, 3.040644339351239e7), (100, 8, 3.126205178815431e4), (26, 7, 5.987713249475302e2)];
    matrix_product, true, |n| 1250.0 * n, [(101, 1, 1.597308280710199e8), (50, 1, 7.824524877232093e7), (20, 1, 5.009945671204667e7)];
    planck, false, |n| 17.0 * n, [(101, 11, 2.938604376566697e2), (101, 7, 2.938604376566697e2), (15, 8, 6.109968728263972e0)];
    implicit_hydro, true, |n| 55.0 * (n - 1.0), [(100, 8, 3.549900501563623e4), (100, 5, 3.549900501563623e4), (14, 7, 4.85034060274997e2)];
    first_minimum, false, |n| n - 1.0, [(1001, 5, 500.0), (101, 31, 50.0), (27, 23, 13.0)];
}

/// Kernel 16 counts its own: two for each zone it looks at and ten more for each far one.
fn search_operations(length: f64) -> f64 {
    match length {
        75.0 => 530.0,
        40.0 => 280.0,
        _ => 110.0,
    }
}

/// A kernel at one of its lengths.
#[derive(Clone, Copy)]
struct Run {
    kernel: &'static Kernel,
    span: &'static Span,
    length: usize,
    passes: u64,
    published: f64,
}

/// All runs of a kernel, the longest first.
fn runs(kernel: &'static Kernel) -> impl Iterator<Item = Run> {
    SPANS.iter().zip(&kernel.runs).map(move |(span, &(length, factor, published))| Run {
        kernel,
        span,
        length,
        passes: span.passes * factor,
        published,
    })
}

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let case = |name: &'static str, run: Run| {
        let mut case = Case::new(name, run.passes, "one pass", move || Ok(repeat(run)));
        case.extent = Some(run.length as u64);
        case.rate = Some(((run.kernel.operations)(run.length as f64) * 1e-6, "Mflop/s"));
        case
    };
    Ok(KERNELS.iter().zip(&ROWS).flat_map(|(kernel, name)| runs(kernel).map(move |run| case(name, run))).collect())
}

fn repeat(run: Run) -> Repeat {
    let fresh = run.span.data();
    let mut data = fresh.clone();
    Box::new(move |count| {
        data.clone_from(&fresh);
        let passes = || (0..count).for_each(|_| (run.kernel.pass)(black_box(&mut data), black_box(run.length)));
        let (seconds, ()) = timed(passes);
        let checksum = (run.kernel.checksum)(&data, run.length);
        if run.kernel.evolves && count != run.passes {
            if !checksum.is_finite() {
                return Err(format!("the checksum after {count} passes is {checksum}"));
            }
        } else {
            expect_close("the checksum", checksum, run.published, TOLERANCE)?;
        }
        Ok(seconds)
    })
}

/// Adds the harmonic means of the rates, if all 72 are there: of all, and of the kernels of each span.
pub(crate) fn add_harmonic_mean(rows: &mut Vec<NodeRow>) {
    let all: Vec<NodeRow> = rows.iter().filter(|row| row.rate.is_some()).cloned().collect();
    if all.len() != SPANS.len() * KERNELS.len() {
        return;
    }
    // The lengths of a kernel are beside each other.
    let weight = |at: usize| SPANS[at % SPANS.len()].weight;
    rows.push(mean(ROWS[KERNELS.len()], all.iter().enumerate().map(|(at, row)| (row, weight(at)))));
    for (span, name) in ROWS[KERNELS.len() + 1..].iter().enumerate() {
        rows.push(mean(name, all.iter().skip(span).step_by(SPANS.len()).map(|row| (row, 1.0))));
    }
}

/// The harmonic mean of rates, each with its weight.
fn mean<'a>(name: &str, rows: impl Iterator<Item = (&'a NodeRow, f64)>) -> NodeRow {
    let weighted: Vec<(&NodeRow, f64)> = rows.collect();
    let of_all = |value: fn(&NodeRow) -> f64| weighted.iter().map(move |(row, _)| value(row));
    let (weights, times) = weighted.iter().fold((0.0, 0.0), |(weights, times), (row, weight)| {
        (weights + weight, times + weight / row.rate.unwrap_or(f64::NAN))
    });
    NodeRow {
        variant: name.to_owned(),
        extent: None,
        unit: "one pass over all kernels".to_owned(),
        seconds: of_all(|row| row.seconds).sum(),
        seconds_p10: of_all(|row| row.seconds_p10).sum(),
        iterations: weighted.iter().map(|(row, _)| row.iterations).min().unwrap_or(0),
        share_above_3x: of_all(|row| row.share_above_3x).fold(0.0, f64::max),
        rate: Some(weights / times),
        ..weighted[0].0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_published_checksum() {
        let all = KERNELS.iter().zip(ROWS).flat_map(|(kernel, name)| runs(kernel).map(move |run| (run, name)));
        let wrong: Vec<String> = all
            .filter_map(|(run, name)| Some(format!("{name} of {}: {}", run.length, repeat(run)(run.passes).err()?)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn kernels_that_evolve_depend_on_every_pass_and_the_others_do_not() {
        // The published checksum of kernel 4 does not see its results.
        for (kernel, name) in KERNELS.iter().zip(ROWS).filter(|(_, name)| *name != "kernel_4") {
            let length = kernel.runs[0].0;
            let after = |passes| {
                let mut data = SPANS[0].data();
                (0..passes).for_each(|_| (kernel.pass)(&mut data, length));
                (kernel.checksum)(&data, length)
            };
            assert_eq!(after(2) != after(3), kernel.evolves, "{name}");
        }
    }

    #[test]
    fn kernel_4_is_that_of_the_definition() {
        let mut data = SPANS[0].data();
        let mut joined: Vec<f64> = data.x.iter().chain(&data.y).copied().collect();
        for _ in 0..3 {
            kernels::banded(&mut data, 1001);
            for k in [7usize, 504, 1001] {
                let products: f64 =
                    (5..=1001).step_by(5).enumerate().map(|(at, j)| joined[k - 7 + at] * data.y[j - 1]).sum();
                joined[k - 2] = data.y[4] * (joined[k - 2] - products);
            }
        }
        for at in [5, 502, 999] {
            assert!((data.x[at] - joined[at]).abs() < 1e-12, "{at}: {} and {}", data.x[at], joined[at]);
        }
    }

    #[test]
    fn the_operations_of_kernel_16_are_those_it_counts() {
        for run in runs(&KERNELS[15]) {
            let mut data = run.span.data();
            (0..100).for_each(|_| kernels::search(&mut data, run.length));
            let counted = (2 * data.search.k2 + 10 * data.search.k3) as f64 / 100.0;
            assert_eq!(counted, (run.kernel.operations)(run.length as f64), "{}", run.length);
        }
    }

    #[test]
    fn the_harmonic_mean_needs_all_kernels() {
        let row = |rate| NodeRow {
            benchmark: "livermore".into(),
            variant: "kernel".into(),
            extent: Some(1),
            bytes: None,
            threads: 1,
            seconds: 1.0,
            seconds_p10: 0.5,
            unit: "one pass".into(),
            iterations: 5,
            share_above_3x: 0.0,
            rate: Some(rate),
            rate_unit: Some("Mflop/s".into()),
            checked: true,
            note: None,
        };
        let rate = |at: usize| [1.0, 2.0, 4.0][at % 3] * if at < 36 { 1.0 } else { 3.0 };
        let mut rows: Vec<NodeRow> = (0..72).map(|at| row(rate(at))).collect();
        add_harmonic_mean(&mut rows);
        let means: Vec<f64> = rows[72..].iter().map(|row| row.rate.unwrap()).collect();
        // 4 / (1/1.5 + 2/3 + 1/6), 1.5, 3 and 6.
        for (mean, expected) in means.iter().zip([8.0 / 3.0, 1.5, 3.0, 6.0]) {
            assert!((mean - expected).abs() < 1e-12, "{means:?}");
        }
        assert_eq!(rows[72..].iter().map(|row| &*row.variant).collect::<Vec<_>>(), ROWS[24..]);
        let mut few = vec![row(1.0)];
        add_harmonic_mean(&mut few);
        assert_eq!(few.len(), 1);
    }
}
