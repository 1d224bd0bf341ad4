//! The functions of the C library by which compiled programs sleep, under their own names. A rank's process loads the
//! library that stands in for MPI before all others, so that its program's calls come here.
//!
//! Every library that may be the first has this file. Each says in its `sleep_here` how a rank sleeps in virtual time;
//! where it does not, the C library's function is called.

use std::ffi::{c_double, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libc::{clockid_t, timespec, useconds_t};

use crate::sleep_here::sleeps_on_the_machine;

const NANOSECONDS: i64 = 1_000_000_000;

/// Sleeps for a number of seconds; those that are left where a signal has ended the sleep.
#[unsafe(no_mangle)]
pub extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let wanted = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    let mut left = timespec { tv_sec: 0, tv_nsec: 0 };
    match sleep_for(libc::CLOCK_REALTIME, &wanted, &raw mut left) {
        0 => 0,
        _ => left.tv_sec as c_uint + c_uint::from(left.tv_nsec >= NANOSECONDS / 2),
    }
}

/// Sleeps for a number of microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn usleep(microseconds: useconds_t) -> c_int {
    let (seconds, rest) = (i64::from(microseconds) / 1_000_000, i64::from(microseconds) % 1_000_000);
    let wanted = timespec { tv_sec: seconds, tv_nsec: rest * 1000 };
    with_errno(sleep_for(libc::CLOCK_REALTIME, &wanted, std::ptr::null_mut()))
}

/// Sleeps for a time.
///
/// # Safety
/// The addresses are those of a time, and of another one or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(wanted: *const timespec, left: *mut timespec) -> c_int {
    with_errno(sleep_for(libc::CLOCK_REALTIME, wanted, left))
}

/// Sleeps for a time, or until a moment; the number of an error. No moment of this computer is one of the machine.
///
/// # Safety
/// The addresses are those of a time, and of another one or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    wanted: *const timespec,
    left: *mut timespec,
) -> c_int {
    if flags == 0 { sleep_for(clock, wanted, left) } else { really(clock, flags, wanted, left) }
}

fn sleep_for(clock: clockid_t, wanted: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program hands in the address of a time, as the C library's function wants it.
    let seconds = unsafe { wanted.as_ref() }.and_then(seconds_of);
    match seconds {
        Some(seconds) if sleeps_on_the_machine(seconds) => 0,
        _ => really(clock, 0, wanted, left),
    }
}

/// The length of a sleep; none where it is no time, which the C library then says.
fn seconds_of(time: &timespec) -> Option<c_double> {
    let is_time = time.tv_sec >= 0 && (0..NANOSECONDS).contains(&time.tv_nsec);
    is_time.then(|| time.tv_sec as c_double + time.tv_nsec as c_double / NANOSECONDS as c_double)
}

/// The C library's own function, by which all others can be expressed.
fn really(clock: clockid_t, flags: c_int, wanted: *const timespec, left: *mut timespec) -> c_int {
    type Sleep = unsafe extern "C" fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int;
    static NEXT: OnceLock<usize> = OnceLock::new();
    // SAFETY: the name ends with zero.
    let look_up = || unsafe { libc::dlsym(libc::RTLD_NEXT, c"clock_nanosleep".as_ptr()) }.expose_provenance();
    let address: *mut c_void = std::ptr::with_exposed_provenance_mut(*NEXT.get_or_init(look_up));
    if address.is_null() {
        return libc::ENOSYS;
    }
    // SAFETY: this is the function's type, and the addresses are the program's.
    unsafe { std::mem::transmute::<*mut c_void, Sleep>(address)(clock, flags, wanted, left) }
}

/// What functions answer that tell the number of an error in `errno`.
fn with_errno(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: each thread has an address for it.
    unsafe { *libc::__errno_location() = error };
    -1
}
