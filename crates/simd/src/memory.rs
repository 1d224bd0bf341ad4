//! Hints to the processor and the operating system about memory. None of them reads or writes anything that a program
//! could see, so any address may be given.

/// Begins to fetch the cache line of an address, which need not be readable, into the first-level cache.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed, and every x86-64 has it.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// As [`prefetch`], into the second-level cache and not the first: that one waits for more lines at once.
#[inline(always)]
pub fn prefetch_to_second<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed, and every x86-64 has it.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// In the body of a loop: the compiler does not unroll it, so that one load reads all of a stream.
#[inline(always)]
pub fn keep_rolled() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: there is no instruction.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// The same number, of which the compiler knows nothing: what is computed from it begins there, and not with a counter of the
/// loop that it is in. It stays in a register, as with `std::hint::black_box` it does not.
#[inline(always)]
#[must_use]
pub fn opaque(number: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut number = number;
        // SAFETY: there is no instruction.
        unsafe {
            std::arch::asm!("/* {} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags));
        }
        number
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(number)
}

/// Makes non-temporal stores visible to other threads before whatever this one stores next.
#[inline(always)]
pub fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction, which touches no memory.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Asks the operating system to back memory by huge pages, which are translated faster; it need not. Memory at the ends
/// that fills no whole page is left out.
pub fn advise_huge_pages(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        /// Bytes of an ordinary page, of which the system wants whole ones.
        const PAGE: usize = 4096;
        let skipped = start.align_offset(PAGE);
        let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
        if whole > 0 {
            // SAFETY: the advice changes nothing of what memory holds, and is refused for what is not this process's.
            unsafe { libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_take_any_address_and_change_nothing() {
        prefetch(std::ptr::null::<u8>());
        prefetch_to_second(std::ptr::without_provenance::<u64>(usize::MAX));
        store_fence();
        let mut values = vec![7_u8; 3 << 12];
        advise_huge_pages(values[5..].as_mut_ptr(), 2 << 12);
        advise_huge_pages(values.as_mut_ptr(), 1);
        advise_huge_pages(std::ptr::null_mut(), 0);
        assert!(values.iter().all(|&value| value == 7));
    }
}
