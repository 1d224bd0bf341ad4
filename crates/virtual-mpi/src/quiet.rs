//! A wait that ends where nothing can happen any more: for programs that then say themselves why they cannot go on.

use std::ffi::c_int;

use crate::abi::{self, Request as Handle};
use crate::errors::Object;
use crate::shell;

/// Waits until a request is complete, which `is_complete` then tells; it stays a request that the program waits for or
/// tests. `is_complete` is 0 where no rank of the run can go on and no message is under way: every rank that waits so is
/// told once before one of them is told again. Without a request (NULL) only that is waited for.
///
/// # Safety
/// The addresses are those of a handle, or null, and of an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_await(request: *const Handle, is_complete: *mut c_int) -> c_int {
    // SAFETY: the caller hands in the addresses of a handle, unless it is null, and of an integer.
    let (handle, is_complete) = unsafe { (request.as_ref().copied(), &mut *is_complete) };
    shell::call("a wait of weft", Object::None, |rank| {
        *is_complete = 1;
        let request = match handle {
            Some(abi::REQUEST_NULL) => return Ok(()),
            Some(handle) => Some(rank.request(handle)?),
            None => None,
        };
        if request.as_ref().is_none_or(|request| request.is_active()) {
            *is_complete = c_int::from(rank.complete_until_quiet(request.as_deref()));
        }
        Ok(())
    })
}
