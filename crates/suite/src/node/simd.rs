//! One source compiled for several vector widths, chosen when it runs.
//!
//! weft is distributed as one build for all processors of an architecture, which would leave most of a processor's
//! vector unit unused. [`vectorised!`] compiles a function again for AVX2 and AVX-512 and calls the widest that the
//! processor has. The arithmetic is the same in each: nothing is reassociated or fused unless the source says so.

/// Defines a function that is compiled for every [`weft_simd::Level`] and runs at the widest.
macro_rules! vectorised {
    ($(#[$meta:meta])* $visibility:vis
     fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$meta])*
        #[inline(never)]
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                fn at_512($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn at_256($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                match ::weft_simd::level() {
                    // SAFETY: `level` has found every feature that `at_512` is compiled for.
                    ::weft_simd::Level::Avx512 => return unsafe { at_512($($argument),*) },
                    // SAFETY: `level` has found every feature that `at_256` is compiled for.
                    ::weft_simd::Level::Avx2 => return unsafe { at_256($($argument),*) },
                    ::weft_simd::Level::Portable => {}
                }
            }
            body($($argument),*)
        }
    };
}

pub(crate) use vectorised;

/// A value in a register that the compiler must take as changed, at no instruction's cost.
pub(crate) trait Keep: Copy {
    fn keep(&mut self);
}

macro_rules! keep {
    ($($type:ty, $x86_class:ident, $x86_text:literal, $arm_class:ident, $arm_text:literal);*) => {$(
        impl Keep for $type {
            #[inline(always)]
            fn keep(&mut self) {
                // SAFETY: the assembly is a comment of the x86 assembler; it reads and writes nothing but the operand's
                // register.
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    std::arch::asm!($x86_text, inout($x86_class) *self, options(nomem, nostack, preserves_flags));
                }
                // SAFETY: the assembly is a comment of ARM's assembler; it reads and writes nothing but the operand's
                // register.
                #[cfg(target_arch = "aarch64")]
                unsafe {
                    std::arch::asm!($arm_text, inout($arm_class) *self, options(nomem, nostack, preserves_flags));
                }
                #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
                {
                    *self = std::hint::black_box(*self);
                }
            }
        }
    )*};
}

keep! {
    i16, reg, "/* {0:x} */", reg, "/* {0:w} */";
    i32, reg, "/* {0:e} */", reg, "/* {0:w} */";
    u64, reg, "/* {0:r} */", reg, "/* {0:x} */";
    f32, xmm_reg, "/* {0} */", vreg, "/* {0:s} */";
    f64, xmm_reg, "/* {0} */", vreg, "/* {0:d} */"
}

#[cfg(test)]
mod tests {
    use super::*;

    vectorised! {
        fn total(values: &[f64]) -> f64 {
            values.iter().sum()
        }
    }

    #[test]
    fn every_level_computes_the_same() {
        let values: Vec<f64> = (0..100).map(|value| f64::from(value) * 0.1).collect();
        assert_eq!(total(&values), values.iter().sum::<f64>());
    }

    #[test]
    fn keeping_changes_no_value() {
        let (mut short, mut word, mut long, mut single, mut double) = (-3i16, 1i32 << 30, u64::MAX, 1.5f32, -2.25f64);
        short.keep();
        word.keep();
        long.keep();
        single.keep();
        double.keep();
        assert_eq!((short, word, long, single, double), (-3, 1 << 30, u64::MAX, 1.5, -2.25));
    }
}
