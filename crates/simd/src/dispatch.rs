//! Code compiled for each level, of which that of the level in force is run.

use super::level::{Level, level};

/// A piece of work that is compiled for each level; its `run` must be `#[inline(always)]` for that.
///
/// # Examples
/// ```
/// use weft_simd::{Dispatched, dispatch};
///
/// struct Scaled<'a>(&'a mut [f64], f64);
/// impl Dispatched for Scaled<'_> {
///     type Output = usize;
///     #[inline(always)]
///     fn run(self) -> usize {
///         self.0.iter_mut().for_each(|value| *value *= self.1);
///         self.0.len()
///     }
/// }
/// let mut values = [1.0, 2.0, 3.0];
/// assert_eq!(dispatch(Scaled(&mut values, 0.5)), 3);
/// assert_eq!(values, [0.5, 1.0, 1.5]);
/// ```
pub trait Dispatched {
    /// What it comes to.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

/// Does it with the widest registers of the level.
#[inline(always)]
pub fn dispatch<W: Dispatched>(work: W) -> W::Output {
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` has found all features of this level in the processor.
        Level::Avx512 => unsafe { with_512(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` has found AVX2 and FMA in the processor.
        Level::Avx2 => unsafe { with_256(work) },
        _ => work.run(),
    }
}

/// Does it with masks where the level has registers for those: for code that handles one element after another.
#[inline(always)]
pub fn dispatch_to_masks<W: Dispatched>(work: W) -> W::Output {
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` has found all features of this level in the processor.
        Level::Avx512 => unsafe { with_512(work) },
        _ => work.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_512<W: Dispatched>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_256<W: Dispatched>(work: W) -> W::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f64]);

    impl Dispatched for Sum<'_> {
        type Output = f64;
        #[inline(always)]
        fn run(self) -> f64 {
            self.0.iter().sum()
        }
    }

    #[test]
    fn every_level_computes_the_same_bits() {
        let values: Vec<f64> = (0..100).map(|value| f64::from(value) * 0.1).collect();
        let expected: f64 = values.iter().sum();
        assert_eq!(dispatch(Sum(&values)).to_bits(), expected.to_bits());
        assert_eq!(dispatch_to_masks(Sum(&values)).to_bits(), expected.to_bits());
    }
}
