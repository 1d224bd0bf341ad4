//! Operations that are prepared once: arguments in MPI's words, functions looked up, buffers and requests in place. What
//! a step does is then what a program in C does, and the marks of the watchdog.

mod collective;
mod one_sided;
mod typed;
mod window;

use std::ffi::c_int;

use weft_comm::prepared::{Feature, Operation};
use weft_comm::{Buffer, CommError, Operations, PreparedOperation};

use crate::comm::MpiComm;
use crate::library::{Abi, Handle, Library, Status};

impl Operations for MpiComm {
    fn lacks(&self, feature: Feature) -> Option<String> {
        let library = &self.context().library;
        let (has, since) = match feature {
            Feature::Nonblocking => (library.nonblocking.is_some(), "MPI 3"),
            Feature::Persistent => (library.persistent.is_some(), "MPI 4"),
            Feature::OneSided => (library.one_sided.is_some(), "MPI 3"),
            Feature::Datatypes => (library.datatypes.is_some(), "MPI 1"),
        };
        (!has).then(|| lacking(library, feature, since))
    }

    fn prepare(&self, operation: &Operation) -> Result<Box<dyn PreparedOperation>, CommError> {
        Ok(match operation {
            Operation::Window(window) => Box::new(window::PreparedWindow::new(self, window)?),
            Operation::Collective(collective) => Box::new(collective::PreparedCollective::new(self, collective)?),
            Operation::OneSided(one_sided) => Box::new(one_sided::PreparedOneSided::new(self, *one_sided)?),
            Operation::Typed(typed) => Box::new(typed::PreparedTyped::new(self, typed)?),
        })
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
