//! The clock of the MPI backend.
//!
//! It is the system's monotonic clock, read through the vDSO in some 20 ns: what `MPI_Wtime` reads in MPICH and Open MPI
//! on Linux, without the call into the library. All processes of one node share its origin, so that moments of
//! different ranks of a node may be compared.

/// Seconds since some moment before the node's start.
#[inline]
pub fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; the monotonic clock exists on every system with MPI.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Keeps the processor busy this many seconds; for none it does not even read the clock, which would take a message's time.
pub fn spin(seconds: f64) {
    if seconds <= 0.0 {
        return;
    }
    let end = now() + seconds;
    while now() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_takes_the_time_it_was_asked_for() {
        let start = now();
        spin(1e-3);
        assert!(now() - start >= 1e-3);
    }
}
