//! Virtual time as an integer count of picoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A point or a span of virtual time, in picoseconds.
///
/// `u64` reaches 213 days, far beyond any sensible run; sums and products stay at [`Picos::MAX`] where they would leave the
/// range, so that whoever reads a result can tell.
///
/// # Examples
/// ```
/// use weft_base::Picos;
///
/// // A message of 1000 bytes at 10 MB/s after a startup of 75 microseconds.
/// let time = Picos::from_seconds(75e-6) + Picos::from_seconds(0.1e-6) * 1000;
/// assert_eq!(time, Picos(175_000_000));
/// assert_eq!(time.seconds(), 175e-6);
/// // What would leave the range stays at its end.
/// assert_eq!(Picos::MAX + Picos(1), Picos::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Picos(pub u64);

impl Picos {
    /// The start of every run.
    pub const ZERO: Picos = Picos(0);
    /// Later than any event.
    pub const MAX: Picos = Picos(u64::MAX);

    /// The nearest picosecond to a non-negative number of seconds; larger values than the range saturate.
    ///
    /// # Panics
    /// When `seconds` is negative or not a number: a cost of that kind is a bug in the caller.
    pub fn from_seconds(seconds: f64) -> Picos {
        assert!(seconds >= 0.0, "a time must not be negative: {seconds} s");
        Picos((seconds * 1e12).round() as u64)
    }

    /// The same span in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// `self - other`, or zero where that would be negative.
    pub fn saturating_sub(self, other: Picos) -> Picos {
        Picos(self.0.saturating_sub(other.0))
    }
}

impl Add for Picos {
    type Output = Picos;
    fn add(self, other: Picos) -> Picos {
        Picos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, other: Picos) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sub for Picos {
    type Output = Picos;
    fn sub(self, other: Picos) -> Picos {
        Picos(self.0 - other.0)
    }
}

impl SubAssign for Picos {
    fn sub_assign(&mut self, other: Picos) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Picos {
    type Output = Picos;
    fn mul(self, count: u64) -> Picos {
        Picos(self.0.saturating_mul(count))
    }
}

impl Sum for Picos {
    fn sum<I: Iterator<Item = Picos>>(times: I) -> Picos {
        times.fold(Picos::ZERO, Add::add)
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.12} s", self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_picosecond() {
        assert_eq!(Picos::from_seconds(1.5e-12), Picos(2));
        assert_eq!(Picos::from_seconds(75e-6), Picos(75_000_000));
        assert_eq!(Picos(75_000_000).seconds(), 75e-6);
    }

    #[test]
    fn what_leaves_the_range_stays_at_its_end() {
        let mut late = Picos::from_seconds(1e300) + Picos(1);
        late += Picos(1);
        assert_eq!((late, Picos(1 << 40) * (1 << 40)), (Picos::MAX, Picos::MAX));
    }

    #[test]
    #[should_panic(expected = "must not be negative")]
    fn a_negative_time_is_refused() {
        Picos::from_seconds(-1e-6);
    }
}
