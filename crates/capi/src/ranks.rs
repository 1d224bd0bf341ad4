//! The ranks that exchange.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};

use weft_comm::{CommError, Communicator, block_on};
use weft_mpi::{Backend, MpiComm, Options};
use weft_polyshift::exchange::agree;

use crate::status::{Failure, Outcome, code, free, make, object, required};

thread_local! {
    /// MPI can be started once in a process; the thread that uses it keeps it.
    static BACKEND: RefCell<Option<Backend>> = const { RefCell::new(None) };
}

/// This process alone, or the ranks of a communicator.
pub struct Ranks {
    comm: Option<MpiComm>,
    exchanges: Cell<u32>,
}

impl Ranks {
    pub fn communicator(&self) -> Option<&MpiComm> {
        self.comm.as_ref()
    }

    pub fn rank(&self) -> usize {
        self.comm.as_ref().map_or(0, Communicator::rank)
    }

    pub fn size(&self) -> usize {
        self.comm.as_ref().map_or(1, Communicator::size)
    }

    /// A number for the next exchange, the same on all ranks.
    pub fn number(&self) -> u32 {
        self.exchanges.set(self.exchanges.get() + 1);
        self.exchanges.get()
    }

    /// What a rank prepares, once all ranks have come to the same: an error of one is one of all. Collective.
    pub fn agreed<T>(&self, what: &str, prepare: impl FnOnce() -> Outcome<(u64, T)>) -> Outcome<T> {
        let prepared = prepare();
        let Some(comm) = &self.comm else { return prepared.map(|(_, value)| value) };
        let part = match &prepared {
            Ok((digest, _)) => Ok(*digest),
            Err(Failure::Usage(text) | Failure::Run(text)) => Err(text.clone()),
        };
        waited(agree(comm, part, what))?.map_err(Failure::Usage)?;
        prepared.map(|(_, value)| value)
    }
}

/// What a call of the backend comes to, whose requests block.
pub fn waited<T>(future: impl Future<Output = Result<T, CommError>>) -> Outcome<T> {
    match block_on(future) {
        Some(outcome) => outcome.map_err(Failure::run),
        None => Err(Failure::run("an exchange waits for something that no message can wake")),
    }
}

fn with_backend<T>(use_it: impl FnOnce(&Backend) -> Outcome<T>) -> Outcome<T> {
    if BACKEND.with_borrow(Option::is_none) {
        let backend = Options::of_environment(None).and_then(Backend::start).map_err(Failure::run)?;
        BACKEND.set(Some(backend));
    }
    BACKEND.with_borrow(|backend| use_it(backend.as_ref().expect("it was started above")))
}

fn of(comm: Option<MpiComm>) -> Ranks {
    Ranks { comm, exchanges: Cell::new(0) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_ranks_alone(ranks: *mut *mut Ranks) -> c_int {
    // SAFETY: `ranks` may be written (this function's condition).
    unsafe { make(ranks, || Ok(of(None))) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_ranks_launched(ranks: *mut *mut Ranks) -> c_int {
    let all = || with_backend(|backend| Ok(of(Some(backend.communicator().map_err(Failure::run)?))));
    // SAFETY: `ranks` may be written (this function's condition).
    unsafe { make(ranks, all) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says: `comm` is a communicator of the MPI library of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_ranks_of(ranks: *mut *mut Ranks, comm: usize) -> c_int {
    let those = || {
        with_backend(|backend| {
            // SAFETY: the handle is that of a live communicator of the library that this process has loaded, which the
            // backend uses too (this function's condition).
            let comm = unsafe { backend.communicator_of(comm) }.map_err(Failure::run)?;
            Ok(of(Some(comm)))
        })
    };
    // SAFETY: `ranks` may be written (this function's condition).
    unsafe { make(ranks, those) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says: `comm` is a communicator of the MPI library of this process, as Fortran has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_ranks_of_fortran(ranks: *mut *mut Ranks, comm: c_int) -> c_int {
    // SAFETY: the handle is that of a live communicator (this function's condition), turned into C's by the library.
    unsafe { weft_ranks_of(ranks, handle_of_fortran(comm)) }
}

/// A Fortran handle as C's. Libraries of MPICH's interface have one number for both; others turn one into the other.
///
/// # Safety
/// The handle is a live communicator's.
unsafe fn handle_of_fortran(comm: c_int) -> usize {
    // SAFETY: the name is a string of C.
    let function: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"MPI_Comm_f2c".as_ptr()) };
    // SAFETY: the name is a string of C. Open MPI has this object, MPICH has not.
    let is_open_mpi = !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ompi_mpi_comm_world".as_ptr()) }.is_null();
    if function.is_null() || !is_open_mpi {
        return comm as usize;
    }
    // SAFETY: Open MPI's function takes a number and returns a pointer.
    let convert: extern "C" fn(c_int) -> usize = unsafe { std::mem::transmute(function) };
    convert(comm)
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_ranks_numbers(ranks: *const Ranks, rank: *mut usize, size: *mut usize) -> c_int {
    code(|| {
        required(rank, "rank")?;
        required(size, "size")?;
        // SAFETY: the object is one of this library, and both numbers may be written (this function's conditions).
        unsafe {
            let ranks = object(ranks, "ranks")?;
            rank.write(ranks.rank());
            size.write(ranks.size());
        }
        Ok(())
    })
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_ranks_free(ranks: *mut Ranks) {
    // SAFETY: it was made by one of the functions above (this function's condition).
    unsafe { free(ranks) }
}

/// See `weft.h`.
#[unsafe(no_mangle)]
pub extern "C" fn weft_finalize() {
    drop(BACKEND.take());
}
