//! The end of a whole run by one of its ranks.

use std::ffi::c_int;
use std::io::Write as _;
use std::time::Duration;

use crate::context::Context;

/// One write, so that lines of several ranks do not mix. Where standard error is closed there is nobody to tell.
pub fn write_error(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// `MPI_Abort`, from any thread.
#[derive(Clone)]
pub struct Abort {
    function: unsafe extern "C" fn(usize, c_int) -> c_int,
    comm_world: usize,
}

impl Abort {
    /// The exit code of a run that failed.
    pub const CODE: c_int = 1;
    /// Launchers forward what ranks have written before they end them, given a moment.
    const FORWARDING: Duration = Duration::from_millis(100);
    /// A library that is stuck may not even abort.
    const LAST_RESORT: Duration = Duration::from_secs(3);

    pub fn of(context: &Context) -> Abort {
        Abort { function: context.functions().abort, comm_world: context.abi().comm_world }
    }

    /// Ends the whole run; the process does not go on.
    pub fn now(&self) -> ! {
        std::thread::sleep(Abort::FORWARDING);
        std::thread::spawn(|| {
            std::thread::sleep(Abort::LAST_RESORT);
            // SAFETY: ends the process; launchers end the run when a rank ends without MPI_Finalize.
            unsafe { libc::_exit(Abort::CODE) }
        });
        // SAFETY: the handle is the library's own constant. From the threads that watch it is called while the other
        // thread is within MPI, which MPI_THREAD_FUNNELED does not promise; the last resort above is for that.
        unsafe { (self.function)(self.comm_world, Abort::CODE) };
        std::process::exit(Abort::CODE)
    }
}
