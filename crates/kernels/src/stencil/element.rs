//! What an array may hold, and the kernels that are compiled for it.

use weft_simd::Level;

use super::columns::{self, ColumnsKernel};
use super::direct::{self, DirectKernel};
use super::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::scalar::Scalar;

mod sealed {
    use super::*;

    /// The kernels that are compiled for an element.
    pub trait Sealed: Sized {
        /// For rows whose neighbours are at most one column away.
        fn columns_kernel(level: Level, symmetric: bool) -> ColumnsKernel<Self>;
        /// For everything else.
        fn direct_kernel(level: Level) -> DirectKernel<Self>;
    }
}

macro_rules! kernels {
    ($element:ty, $portable_lanes:literal) => {
        impl sealed::Sealed for $element {
            fn columns_kernel(level: Level, symmetric: bool) -> ColumnsKernel<Self> {
                match (level, symmetric) {
                    #[cfg(target_arch = "x86_64")]
                    (Level::Avx512, true) => columns::columns_avx512::<Avx512<$element>, true>,
                    #[cfg(target_arch = "x86_64")]
                    (Level::Avx512, false) => columns::columns_avx512::<Avx512<$element>, false>,
                    #[cfg(target_arch = "x86_64")]
                    (Level::Avx2, true) => columns::columns_avx2::<Avx2<$element>, true>,
                    #[cfg(target_arch = "x86_64")]
                    (Level::Avx2, false) => columns::columns_avx2::<Avx2<$element>, false>,
                    (_, true) => columns::columns_portable::<Portable<$element, $portable_lanes>, true>,
                    (_, false) => columns::columns_portable::<Portable<$element, $portable_lanes>, false>,
                }
            }

            fn direct_kernel(level: Level) -> DirectKernel<Self> {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => direct::direct_avx512::<Avx512<$element>>,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => direct::direct_avx2::<Avx2<$element>>,
                    _ => direct::direct_portable::<Portable<$element, $portable_lanes>>,
                }
            }
        }
    };
}

kernels!(f32, 8);
kernels!(f64, 4);

/// An element of an array: `f32` or `f64`. A complex element is two of them (see `components` of a plan).
pub trait Element: sealed::Sealed + Scalar {}

impl Element for f32 {}
impl Element for f64 {}
