//! What a launch says of its iterations: never a mean.

/// The statistics of one point of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistics {
    pub median: f64,
    /// The lower decile.
    pub decile: f64,
    /// The share of iterations above three times the median.
    pub share_above_3x: f64,
}

impl Statistics {
    /// Of at least one time.
    pub fn of(times: &[f64]) -> Statistics {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        let above = sorted.iter().filter(|&&time| time > 3.0 * median).count();
        Statistics { median, decile: quantile(&sorted, 0.1), share_above_3x: above as f64 / sorted.len() as f64 }
    }
}

/// The quantile `q` of sorted values, linear between neighbours (definition 7 of R. J. Hyndman, Y. Fan, "Sample
/// quantiles in statistical packages", The American Statistician 50 (1996) 361-365).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    low + (high - low) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few_times() {
        let statistics = Statistics::of(&[4.0, 1.0, 3.0, 2.0, 100.0]);
        assert_eq!(statistics.median, 3.0);
        assert!((statistics.decile - 1.4).abs() < 1e-12);
        assert_eq!(statistics.share_above_3x, 0.2);
        assert_eq!(Statistics::of(&[5.0]), Statistics { median: 5.0, decile: 5.0, share_above_3x: 0.0 });
        assert_eq!(Statistics::of(&[1.0, 2.0]).median, 1.5);
    }
}
