//! Computation that a program declares, instead of having it measured.
//!
//! `weft.compute` of Python calls `weft_compute`; so may compiled programs. Those that link nothing of weft call
//! `MPI_Pcontrol`, which every MPI has and does nothing with numbers that it does not know (MPI 4.1, section 15.2.3).

use std::ffi::{c_double, c_int};

use weft_base::Operation;
use weft_comm::{Communicator as _, Work};

use crate::errors::Object;
use crate::fault::{Answer, class, require};
use crate::rank::Rank;
use crate::shell;

/// The level of `MPI_Pcontrol` that says that two numbers follow: "weft" in ASCII.
pub const DECLARED: c_int = 0x7765_6674;

/// The rank computes: operations on 64-bit numbers, and bytes that it reads or writes in memory. Both go on at one time.
pub fn declare(rank: &Rank, flops: f64, bytes: f64) -> Answer {
    let is_amount = |amount: f64| (0.0..1e18).contains(&amount);
    let wrong = || format!("a computation of {flops} operations and {bytes} bytes");
    require(is_amount(flops) && is_amount(bytes), class::ERR_ARG, wrong)?;
    // A copied byte is read and written.
    let both = [(Operation::Float64SumOfProducts, flops), (Operation::CopyByte, bytes / 2.0)];
    let counted = both.map(|(operation, count)| (operation, count.round() as u64));
    rank.block(rank.endpoint.compute(Work::Overlapped(counted)));
    Ok(())
}

/// What a program declares; what is wrong with it ends the program as errors of MPI do.
#[unsafe(no_mangle)]
pub extern "C" fn weft_compute(flops: c_double, bytes: c_double) -> c_int {
    shell::call("weft_compute", Object::None, |rank| declare(rank, flops, bytes))
}

/// As [`weft_compute`], for Fortran.
///
/// # Safety
/// Both addresses are those of numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_compute_(flops: *const c_double, bytes: *const c_double) {
    // SAFETY: Fortran hands in the addresses of two variables of double precision.
    let (flops, bytes) = unsafe { (*flops, *bytes) };
    weft_compute(flops, bytes);
}
