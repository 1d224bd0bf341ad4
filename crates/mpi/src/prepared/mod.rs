//! Operations that are prepared once: arguments in MPI's words, functions looked up, buffers and requests in place. What
//! a step does is then what a program in C does, and the marks of the watchdog.

/// The methods of a prepared operation between readings of the clock: its own `run`, in place.
macro_rules! between_readings_of_the_clock {
    () => {
        #[inline]
        fn run_at(&mut self, moment: f64) -> Result<f64, CommError> {
            while crate::clock::now() < moment {}
            self.run()?;
            Ok(crate::clock::now())
        }

        fn run_stamped(&mut self, stamps: &mut [f64]) -> Result<(), CommError> {
            for stamp in stamps {
                self.run()?;
                *stamp = crate::clock::now();
            }
            Ok(())
        }
    };
}

mod collective;
mod device_echo;
mod memory;
mod one_sided;
mod threaded_echo;
mod typed;
mod window;

use std::ffi::c_int;

use weft_comm::prepared::{Feature, Operation};
use weft_comm::{Buffer, CommError, Operations, PreparedOperation};

use crate::comm::MpiComm;
use crate::library::{Abi, CUDA_AWARE_VARIABLE, Handle, Library, Status};

impl Operations for MpiComm {
    fn lacks(&self, feature: Feature) -> Option<String> {
        let library = &self.context().library;
        let (has, since) = match feature {
            Feature::Nonblocking => (library.nonblocking.is_some(), "MPI 3"),
            Feature::Persistent => (library.persistent.is_some(), "MPI 4"),
            Feature::OneSided => (library.one_sided.is_some(), "MPI 3"),
            Feature::Datatypes => (library.datatypes.is_some(), "MPI 1"),
            Feature::Threads => return self.lacks_threads(),
            Feature::Device => return self.lacks_device(),
        };
        (!has).then(|| lacking(library, feature, since))
    }

    fn prepare(&self, operation: &Operation) -> Result<Box<dyn PreparedOperation>, CommError> {
        Ok(match operation {
            Operation::Window(window) => Box::new(window::PreparedWindow::new(self, window)?),
            Operation::Collective(collective) => collective::prepare(self, collective)?,
            Operation::OneSided(one_sided) => one_sided::prepare(self, *one_sided)?,
            Operation::Typed(typed) => Box::new(typed::PreparedTyped::new(self, typed)?),
            Operation::DeviceEcho(echo) => Box::new(device_echo::PreparedDeviceEcho::new(self, echo)?),
            Operation::ThreadedEcho(echo) => Box::new(threaded_echo::PreparedThreadedEcho::new(self, echo)?),
        })
    }
}

impl MpiComm {
    /// Why several threads may not call the library at one time.
    fn lacks_threads(&self) -> Option<String> {
        let library = &self.context().library;
        let mut provided: c_int = 0;
        // SAFETY: MPI is initialised, and the pointer is to a live integer.
        let code = unsafe { (library.functions.query_thread)(&mut provided) };
        if code == 0 && provided >= library.abi.thread_multiple {
            return None;
        }
        let version = library.version();
        Some(if self.context().wants_threads {
            format!("{version} does not offer MPI_THREAD_MULTIPLE; use a build of MPI that has it")
        } else {
            "MPI was started here without MPI_THREAD_MULTIPLE, with which other benchmarks would be slower; measure this \
             one by itself, in a process whose MPI weft starts"
                .to_owned()
        })
    }

    /// Why messages may not lie in the memory of a device.
    fn lacks_device(&self) -> Option<String> {
        let context = self.context();
        if context.device.borrow().is_none() {
            return Some("this process has no memory of a device; weft takes it from CuPy".to_owned());
        }
        let version = context.library.version();
        match context.library.is_cuda_aware() {
            Some(true) => None,
            Some(false) => Some(format!(
                "{version} is not CUDA-aware (MPIX_Query_cuda_support says so) and would take a device's addresses for \
                 the host's; use a build with CUDA, or set {CUDA_AWARE_VARIABLE}=1 if this one takes them nevertheless"
            )),
            None => Some(format!(
                "{version} does not say whether it is CUDA-aware (it has no MPIX_Query_cuda_support); set \
                 {CUDA_AWARE_VARIABLE}=1 if it is"
            )),
        }
    }
}

fn lacking(library: &Library, feature: Feature, since: &str) -> String {
    format!("{} has no {}, which are of {since}", library.version(), feature.words())
}

/// An operation of a feature that [`Operations::lacks`] would have named.
fn missing(comm: &MpiComm, feature: Feature) -> CommError {
    let what = comm.lacks(feature).unwrap_or_else(|| format!("no {}", feature.words()));
    CommError::program(comm.context().rank, what)
}

/// Where statuses go that nobody reads.
fn ignored(abi: &Abi) -> *mut Status {
    std::ptr::without_provenance_mut(abi.status_ignore)
}

/// A call that failed: its name, and the library's code.
type Failed = (&'static str, c_int);

fn ok(call: &'static str, code: c_int) -> Result<(), Failed> {
    if code == 0 { Ok(()) } else { Err((call, code)) }
}

/// Buffers that the library may still use after a failure are never given back.
fn abandon(buffers: [&mut Buffer; 2]) {
    for buffer in buffers {
        std::mem::forget(std::mem::replace(buffer, Buffer::zeroed(0)));
    }
}

/// An array of requests as the library has it: its handles may be narrower than [`Handle`].
struct Requests {
    memory: Vec<Handle>,
    size: usize,
}

impl Requests {
    fn new(abi: &Abi, count: usize) -> Requests {
        Requests { memory: vec![0; count.max(1)], size: abi.handle_size() }
    }

    fn start(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }
}
