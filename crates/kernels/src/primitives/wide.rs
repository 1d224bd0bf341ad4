//! Code compiled for several widths of vector registers, of which the widest that the processor has is taken.

use super::super::shift::{Extension, vector_extension};

/// Something to be done, whose `run` must be `#[inline(always)]` to be compiled for each width.
pub(super) trait Wide {
    type Output;
    fn run(self) -> Self::Output;
}

/// Does it with the widest registers there are.
#[inline(always)]
pub(super) fn widely<W: Wide>(work: W) -> W::Output {
    match vector_extension() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has it.
        Extension::Avx512 => unsafe { with_512(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Extension::Avx2 => unsafe { with_256(work) },
        _ => work.run(),
    }
}

/// Does it with masks, where the processor has registers for those: for code that handles one element after another.
#[inline(always)]
pub(super) fn with_masks<W: Wide>(work: W) -> W::Output {
    match vector_extension() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has it.
        Extension::Avx512 => unsafe { with_512(work) },
        _ => work.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn with_512<W: Wide>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn with_256<W: Wide>(work: W) -> W::Output {
    work.run()
}
