//! The measurement of one row: samples with a time stamp each, until a time is spent.

use std::time::Instant;

use super::error::NodeError;
use super::request::NodeRequest;
use super::row::NodeRow;

/// Does this many repetitions, compares their result with the reference and returns the seconds of the repetitions
/// alone; the error says what is wrong with the result.
pub(crate) type Repeat = Box<dyn FnMut(u64) -> Result<f64, String>>;

/// One row before it is measured.
pub(crate) struct Case {
    pub variant: String,
    pub extent: Option<u64>,
    pub bytes: Option<u64>,
    pub threads: usize,
    /// Repetitions in one sample.
    pub count: u64,
    /// What the seconds are reported of…
    pub unit: &'static str,
    /// …and how many repetitions that is.
    pub repetitions_per_unit: f64,
    /// Work of one repetition in the unit of the rate, and that unit.
    pub rate: Option<(f64, &'static str)>,
    pub note: Option<String>,
    /// Sets up the data; called once, right before the row is measured.
    pub prepare: Box<dyn FnOnce() -> Result<Repeat, NodeError>>,
}

impl Case {
    /// A case of one thread whose unit is one repetition, without length and rate.
    pub fn new(
        variant: impl Into<String>,
        count: u64,
        unit: &'static str,
        prepare: impl FnOnce() -> Result<Repeat, NodeError> + 'static,
    ) -> Case {
        Case {
            variant: variant.into(),
            extent: None,
            bytes: None,
            threads: 1,
            count,
            unit,
            repetitions_per_unit: 1.0,
            rate: None,
            note: None,
            prepare: Box::new(prepare),
        }
    }
}

/// Runs `work` and returns its seconds and its result.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// `Ok` when the result is the reference, exactly.
pub(crate) fn expect_equal<T: PartialEq + std::fmt::Debug>(what: &str, result: T, reference: T) -> Result<(), String> {
    if result == reference { Ok(()) } else { Err(format!("{what} is {result:?}, expected {reference:?}")) }
}

/// `Ok` when the result is within a relative `tolerance` of the reference.
pub(crate) fn expect_close(what: &str, result: f64, reference: f64, tolerance: f64) -> Result<(), String> {
    if (result - reference).abs() <= tolerance * reference.abs() {
        Ok(())
    } else {
        Err(format!("{what} is {result:e}, expected {reference:e} within {tolerance:e}"))
    }
}

/// Measures one case; `progress` gets the share of the time that is spent.
pub(crate) fn measure(
    benchmark: &'static str,
    case: Case,
    request: &NodeRequest,
    progress: &mut dyn FnMut(f64),
) -> Result<NodeRow, NodeError> {
    let variant = case.variant.clone();
    let mut repeat = (case.prepare)()?;
    let mut once = || {
        let wrong = |what| NodeError::WrongResult { benchmark, variant: variant.clone(), what };
        repeat(case.count).map_err(wrong)
    };
    once()?;
    let start = Instant::now();
    let mut samples = Vec::new();
    loop {
        samples.push(once()?);
        let share = start.elapsed().as_secs_f64() / request.seconds_per_point;
        progress(share.min(1.0));
        if share >= 1.0 && samples.len() >= NodeRequest::MINIMUM_SAMPLES {
            break;
        }
    }
    let statistics = Statistics::of(&mut samples);
    let unit_share = case.repetitions_per_unit / case.count as f64;
    Ok(NodeRow {
        benchmark: benchmark.to_owned(),
        variant: case.variant,
        extent: case.extent,
        bytes: case.bytes,
        threads: case.threads,
        seconds: statistics.median * unit_share,
        seconds_p10: statistics.lower_decile * unit_share,
        unit: case.unit.to_owned(),
        iterations: samples.len() as u64,
        share_above_3x: statistics.share_above_3x,
        rate: case.rate.map(|(work, _)| work * case.count as f64 / statistics.median),
        rate_unit: case.rate.map(|(_, unit)| unit.to_owned()),
        checked: true,
        note: case.note,
    })
}

pub(crate) struct Statistics {
    pub median: f64,
    pub lower_decile: f64,
    pub share_above_3x: f64,
}

impl Statistics {
    /// Sorts the samples, of which there is at least one.
    pub fn of(samples: &mut [f64]) -> Statistics {
        samples.sort_by(f64::total_cmp);
        let median = quantile(samples, 0.5);
        let above = samples.iter().filter(|&&sample| sample > 3.0 * median).count();
        Statistics { median, lower_decile: quantile(samples, 0.1), share_above_3x: above as f64 / samples.len() as f64 }
    }
}

/// The quantile by linear interpolation between order statistics.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share * (sorted.len() - 1) as f64;
    let below = rank.floor() as usize;
    let above = rank.ceil() as usize;
    sorted[below] + (rank - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_order_statistics() {
        let mut samples: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        samples.push(100.0);
        let statistics = Statistics::of(&mut samples);
        assert_eq!(statistics.median, 6.0);
        assert_eq!(statistics.lower_decile, 2.0);
        assert_eq!(statistics.share_above_3x, 1.0 / 11.0);
        assert_eq!(Statistics::of(&mut [5.0]).median, 5.0);
    }

    #[test]
    fn seconds_and_rate_are_scaled_from_the_count() {
        let mut case = Case::new("row", 50, "100 iterations", || Ok(Box::new(|count| Ok(count as f64 * 2.0))));
        case.repetitions_per_unit = 100.0;
        case.rate = Some((3.0, "things/s"));
        let request = NodeRequest { seconds_per_point: 1e-9, ..NodeRequest::default() };
        let row = measure("test", case, &request, &mut |_| {}).unwrap();
        assert_eq!(row.seconds, 200.0);
        assert_eq!(row.rate, Some(1.5));
        assert_eq!(row.iterations, NodeRequest::MINIMUM_SAMPLES as u64);
    }

    #[test]
    fn a_wrong_result_is_refused() {
        let case = Case::new("row", 1, "one", || Ok(Box::new(|_| expect_equal("the sum", 1, 2).map(|()| 0.0))));
        let error = measure("sieve", case, &NodeRequest::default(), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "sieve row: wrong result, nothing is reported: the sum is 1, expected 2");
        assert!(expect_close("it", 1.0, 1.1, 1e-3).is_err());
        assert!(expect_close("it", f64::NAN, 1.1, 1e-3).is_err());
    }
}
