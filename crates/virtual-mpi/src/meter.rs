//! What the program computes between its calls of MPI: its processor time here, times a factor.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::datatype::Datatype;

/// How the program's own computation counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compute {
    /// Not at all.
    None,
    /// Processor time that it takes here, times a factor.
    Measured { scale: f64 },
}

/// The computation of one rank.
#[derive(Debug)]
pub struct Meter {
    compute: Compute,
    /// What counts processor time: that of the thread, or of all threads of the process.
    clock: Cell<libc::clockid_t>,
    /// The processor time when the program last left MPI.
    left: Cell<f64>,
    /// Processor time that counts besides what has passed since.
    besides: Cell<f64>,
}

const PAGE: usize = 4096;

impl Meter {
    pub fn new(compute: Compute) -> Meter {
        let meter = Meter {
            compute,
            clock: Cell::new(libc::CLOCK_THREAD_CPUTIME_ID),
            left: Cell::new(0.0),
            besides: Cell::new(0.0),
        };
        meter.start();
        meter
    }

    /// Several threads of the process call MPI: from now on what all of them compute counts, one after another.
    #[cold]
    pub fn count_all_threads(&self) {
        if self.clock.replace(libc::CLOCK_PROCESS_CPUTIME_ID) != libc::CLOCK_PROCESS_CPUTIME_ID {
            self.start();
        }
    }

    /// The program leaves MPI.
    pub fn start(&self) {
        if self.compute != Compute::None {
            self.left.set(processor_time(self.clock.get()));
        }
    }

    /// The program has come back to MPI; the seconds that it has computed, if any count.
    pub fn stop(&self) -> Option<f64> {
        let Compute::Measured { scale } = self.compute else { return None };
        let seconds = (processor_time(self.clock.get()) - self.left.get() + self.besides.take()) * scale;
        (seconds > 0.0).then_some(seconds)
    }

    /// Writes to each page of memory that the program receives to, which is going to be overwritten as a whole. If the
    /// program had not used some of them before, the processor time that this takes counts: on a real machine it is not
    /// in the time of messages, which are measured between pages in use, and the rank's processor spends it all the same.
    ///
    /// # Safety
    /// The program owns so many bytes at the address, and nothing else writes to them meanwhile.
    pub unsafe fn write_pages(&self, address: *mut c_void, bytes: usize) {
        if self.compute == Compute::None || bytes < PAGE {
            return;
        }
        let own = libc::CLOCK_THREAD_CPUTIME_ID;
        let (faults, start) = (page_faults(), processor_time(own));
        let pages = (0..bytes).step_by(PAGE).chain([bytes - 1]);
        pages.for_each(|offset| {
            let byte = address.cast::<u8>().wrapping_add(offset);
            // SAFETY: the byte lies among `bytes` at `address`, which the program owns and nothing else writes to.
            unsafe { byte.write_volatile(byte.read_volatile()) };
        });
        if page_faults() > faults {
            self.besides.set(self.besides.get() + processor_time(own) - start);
        }
    }
}

static CURRENT: AtomicPtr<Meter> = AtomicPtr::new(std::ptr::null_mut());

/// From now on the program that runs is that of the rank with this meter.
pub fn set_current(meter: Option<&'static Meter>) {
    CURRENT.store(meter.map_or(std::ptr::null_mut(), |meter| std::ptr::from_ref(meter).cast_mut()), Ordering::Relaxed);
}

/// As [`Meter::write_pages`], for the rank that runs, where it receives to memory without gaps.
///
/// # Safety
/// The program owns so many bytes at the address, and nothing else writes to them meanwhile.
pub unsafe fn write_pages(datatype: &Datatype, address: *mut c_void, bytes: usize) {
    // SAFETY: meters are set for ever, and calls come from one thread at a time.
    let meter = unsafe { CURRENT.load(Ordering::Relaxed).as_ref() };
    if let Some(meter) = meter.filter(|_| datatype.is_dense()) {
        // SAFETY: the program owns `bytes` at `address`, into which it receives, and nothing else writes to them.
        unsafe { meter.write_pages(address, bytes) };
    }
}

/// Processor time by one of the system's clocks, in seconds.
fn processor_time(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time where it is told.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Pages that this thread was the first to use.
fn page_faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes the usage where it is told, and zeros are a usage as well.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_minflt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of which no page is in use.
    fn unused(bytes: usize) -> *mut c_void {
        let (read_and_write, own) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the call maps new memory, wherever there is some.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read_and_write, own, -1, 0) };
        assert_ne!(address, libc::MAP_FAILED);
        address
    }

    #[test]
    fn pages_count_when_they_are_used_first() {
        let bytes = 512 * PAGE;
        let (meter, address) = (Meter::new(Compute::Measured { scale: 1.0 }), unused(bytes));
        // SAFETY: the memory was mapped above.
        unsafe { meter.write_pages(address, bytes) };
        assert!(meter.besides.take() > 0.0);
        // SAFETY: the memory is still mapped.
        unsafe { meter.write_pages(address, bytes) };
        assert_eq!(meter.besides.get(), 0.0);
    }

    #[test]
    fn writing_to_pages_changes_nothing_in_them() {
        let mut data: Vec<u8> = (0..3 * PAGE + 5).map(|index| index as u8).collect();
        let (meter, before) = (Meter::new(Compute::Measured { scale: 1.0 }), data.clone());
        // SAFETY: the memory is that of the vector.
        unsafe { meter.write_pages(data.as_mut_ptr().cast(), data.len()) };
        assert_eq!(data, before);
    }

    #[test]
    fn computation_that_does_not_count_is_not_measured() {
        let (meter, address) = (Meter::new(Compute::None), unused(PAGE));
        // SAFETY: the memory was mapped above.
        unsafe { meter.write_pages(address, PAGE) };
        assert_eq!((meter.stop(), meter.besides.get()), (None, 0.0));
    }
}
