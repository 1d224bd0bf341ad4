//! The 24 Livermore loops (McMahon 1986, UCRL-53745): section 3.2 of Dunigan 1991 reports their harmonic mean.
//!
//! One sample of a kernel starts from the published data and makes the published number of passes over the longest of
//! the three published lengths; the time is that of one pass, and the rate counts operations as the published programs
//! do.
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

pub(crate) const ROWS: [&str; 25] = [
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
];

pub(crate) const HARMONIC_MEAN: &str = "harmonic_mean";

/// The published programs differ in the last digits, by compiler (12 of 24 in the thirteenth digit).
const TOLERANCE: f64 = 1e-11;

struct Kernel {
    pass: fn(&mut Data),
    checksum: fn(&Data) -> f64,
    /// Published number of passes from fresh data, and the checksum after them.
    passes: u64,
    published: f64,
    /// Whether a pass works on the results of the one before.
    evolves: bool,
    /// Operations of one pass.
    operations: f64,
    length: u64,
}

macro_rules! kernels {
    ($($pass:ident, $length:literal, $factor:literal, $published:literal, $evolves:literal,
       $operations:expr);* $(;)?) => {
        /// By number, from 1. The passes are 200 times the published factor of the longest length.
        static KERNELS: [Kernel; 24] = [$(Kernel {
            pass: kernels::$pass,
            checksum: checksum::$pass,
            passes: 200 * $factor,
            published: $published,
            evolves: $evolves,
            operations: $operations,
            length: $length,
        }),*];
    };
}

kernels! {
    hydro, 1001, 7, 5.114652693224671e+04, false, 5.0 * 1001.0;
    iccg, 101, 67, 1.539721811668385e+03, false, 4.0 * 97.0;
    inner_product, 1001, 9, 1.000742883066363e+01, false, 2.0 * 1001.0;
    banded, 1001, 14, 5.999250595473891e-01, true, 2.0 * 600.0;
    tridiagonal, 1001, 10, 4.548871642387267e+03, false, 2.0 * 1000.0;
    recurrence, 64, 3, 4.375116344729986e+03, false, 2.0 * 2016.0;
    state, 995, 4, 6.104251075174761e+04, false, 16.0 * 995.0;
    adi, 100, 10, 1.501268005625798e+05, false, 36.0 * 198.0;
    integrate, 101, 36, 1.189443609974981e+05, false, 17.0 * 101.0;
    difference_predictors, 101, 34, 7.310369784325296e+04, true, 9.0 * 101.0;
    first_sum, 1001, 11, 3.342910972650109e+07, false, 1000.0;
    first_difference, 1000, 12, 2.907141294167248e-05, false, 1000.0;
    particles_2d, 64, 36, 1.202533961842803e+11, true, 7.0 * 64.0;
    particles_1d, 1001, 2, 3.165553044000334e+09, true, 11.0 * 1001.0;
    casual, 101, 1, 3.943816690352042e+04, false, 33.0 * 500.0;
    search, 75, 25, 565076.0, true, SEARCH_OPERATIONS;
    implicit, 101, 35, 1.114641772902486e+03, true, 9.0 * 101.0;
    explicit_hydro, 100, 2, 1.0157270375023e+05, true, 44.0 * 495.0;
    two_way_recurrence, 101, 39, 5.421816960147207e+02, true, 6.0 * 101.0;
    transport, 1000, 1, 3.040644339351239e+07, false, 26.0 * 1000.0;
    matrix_product, 101, 1, 1.597308280710199e+08, true, 2.0 * 101.0 * 625.0;
    planck, 101, 11, 2.938604376566697e+02, false, 17.0 * 101.0;
    implicit_hydro, 100, 8, 3.549900501563623e+04, true, 11.0 * 495.0;
    first_minimum, 1001, 5, 500.0, false, 1000.0;
}

/// Kernel 16 counts its own: two for each zone it looks at and ten more for each far one.
const SEARCH_OPERATIONS: f64 = 530.0;

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let case = |(kernel, name): (&'static Kernel, &&'static str)| {
        let mut case = Case::new(*name, kernel.passes, "one pass", move || Ok(repeat(kernel)));
        case.extent = Some(kernel.length);
        case.rate = Some((kernel.operations * 1e-6, "Mflop/s"));
        case
    };
    Ok(KERNELS.iter().zip(&ROWS).map(case).collect())
}

fn repeat(kernel: &'static Kernel) -> Repeat {
    let fresh = Data::new();
    let mut data = fresh.clone();
    Box::new(move |count| {
        data.clone_from(&fresh);
        let passes = || (0..count).for_each(|_| (kernel.pass)(black_box(&mut data)));
        let (seconds, ()) = timed(passes);
        let checksum = (kernel.checksum)(&data);
        if kernel.evolves && count != kernel.passes {
            if !checksum.is_finite() {
                return Err(format!("the checksum after {count} passes is {checksum}"));
            }
        } else {
            expect_close("the checksum", checksum, kernel.published, TOLERANCE)?;
        }
        Ok(seconds)
    })
}

/// Adds the harmonic mean of the rates, if all 24 are there.
pub(crate) fn add_harmonic_mean(rows: &mut Vec<NodeRow>) {
    let rates: Vec<f64> = rows.iter().filter_map(|row| row.rate).collect();
    if rates.len() != KERNELS.len() {
        return;
    }
    let mut mean = rows[0].clone();
    mean.variant = HARMONIC_MEAN.to_owned();
    mean.extent = None;
    mean.unit = "one pass over all kernels".to_owned();
    mean.seconds = rows.iter().map(|row| row.seconds).sum();
    mean.seconds_p10 = rows.iter().map(|row| row.seconds_p10).sum();
    mean.iterations = rows.iter().map(|row| row.iterations).min().unwrap_or(0);
    mean.share_above_3x = rows.iter().map(|row| row.share_above_3x).fold(0.0, f64::max);
    mean.rate = Some(rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>());
    rows.push(mean);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_published_checksum() {
        let wrong: Vec<String> = KERNELS
            .iter()
            .zip(ROWS)
            .filter_map(|(kernel, name)| Some(format!("{name}: {}", repeat(kernel)(kernel.passes).err()?)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn kernels_that_evolve_depend_on_every_pass_and_the_others_do_not() {
        // The published checksum of kernel 4 does not see its results.
        for (kernel, name) in KERNELS.iter().zip(ROWS).filter(|(_, name)| *name != "kernel_4") {
            let after = |passes| {
                let mut data = Data::new();
                (0..passes).for_each(|_| (kernel.pass)(&mut data));
                (kernel.checksum)(&data)
            };
            assert_eq!(after(2) != after(3), kernel.evolves, "{name}");
        }
    }

    #[test]
    fn kernel_4_is_that_of_the_definition() {
        let mut data = Data::new();
        let mut joined: Vec<f64> = data.x.iter().chain(&data.y).copied().collect();
        for _ in 0..3 {
            kernels::banded(&mut data);
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
        let mut data = Data::new();
        (0..100).for_each(|_| kernels::search(&mut data));
        let counted = (2 * data.search.k2 + 10 * data.search.k3) as f64 / 100.0;
        assert_eq!(counted, SEARCH_OPERATIONS);
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
        let mut rows: Vec<NodeRow> = (0..24).map(|kernel| row(if kernel < 12 { 1.0 } else { 3.0 })).collect();
        add_harmonic_mean(&mut rows);
        assert!((rows[24].rate.unwrap() - 1.5).abs() < 1e-12);
        let mut few = vec![row(1.0)];
        add_harmonic_mean(&mut few);
        assert_eq!(few.len(), 1);
    }
}
