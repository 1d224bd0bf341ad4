//! Around every function of MPI: whose call it is, and what becomes of an error.

use std::ffi::c_int;

use crate::abi;
use crate::errors::{self, Object};
use crate::fault::{Answer, Fault, class};
use crate::processes::rank::begin;
use crate::rank::{Rank, current};

/// A call of the program.
#[inline]
pub fn call(name: &'static str, object: Object, act: impl FnOnce(&Rank) -> Answer) -> c_int {
    let Some(rank) = current().or_else(begin) else {
        return outside(name);
    };
    if !rank.threads.may_call() {
        return from_other_thread(rank, name, act);
    }
    let _within = rank.within();
    rank.enter(name);
    rank.forget_readings();
    let code = match act(rank) {
        Ok(()) => abi::SUCCESS,
        Err(fault) => errors::handle(rank, name, object, fault),
    };
    rank.end_looks();
    rank.leave();
    code
}

/// The error of a call without an address for what it tells, if one is missing. It is an error of no object, as MPICH has
/// it: arguments are looked at before the object.
#[inline]
pub fn missing(name: &'static str, addresses: &[(&str, bool)]) -> Option<c_int> {
    let (address, _) = addresses.iter().find(|(_, is_missing)| *is_missing)?;
    Some(call(name, Object::None, |_| {
        Err(Fault::new(class::ERR_ARG, format!("the address of {address} is missing (NULL)")))
    }))
}

/// What may be asked from any thread at any time: it changes nothing and does not wait.
const OF_ALL_THREADS: [&str; 4] = ["MPI_Is_thread_main", "MPI_Query_thread", "MPI_Initialized", "MPI_Finalized"];

/// A call from a thread that the program has started, where ranks share a process.
#[cold]
fn from_other_thread(rank: &Rank, name: &'static str, act: impl FnOnce(&Rank) -> Answer) -> c_int {
    if !OF_ALL_THREADS.contains(&name) {
        let message = "was called from a thread that the program has started; ranks that share a process have one thread \
                       each, and those of a run with --isolate have any number";
        rank.abort(1, &format!("{name} {message}"));
    }
    act(rank).map_or_else(|fault| fault.class, |()| abi::SUCCESS)
}

/// A function of the standard that this library has not.
#[cold]
pub fn unsupported(name: &'static str, object: Object) -> c_int {
    call(name, object, |_| {
        Err(Fault::new(class::ERR_UNSUPPORTED_OPERATION, format!("{name} is not supported in virtual time")))
    })
}

/// Without a run there is no machine and no rank.
#[cold]
fn outside(name: &str) -> c_int {
    eprintln!("weft: {name} was called outside of a run in virtual time; start the program with `weft run`");
    class::ERR_OTHER
}
