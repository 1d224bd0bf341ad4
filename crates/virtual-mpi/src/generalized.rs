//! Requests that the program completes itself (MPI 4.1, section 13.2), and the functions that it hands in for them.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::abi::{self, Status};
use crate::threads::outside;

/// A request that the program completes itself.
#[derive(Debug)]
pub struct Generalized {
    pub query: *const c_void,
    pub free: *const c_void,
    pub cancel: *const c_void,
    pub extra_state: *mut c_void,
    /// The functions are Fortran's: they get addresses of numbers, and of the code that they give.
    pub is_fortran: Cell<bool>,
}

impl Generalized {
    /// What the program says that the request came to; the code of its function.
    pub fn query(&self, status: &mut Status) -> c_int {
        type C = unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int;
        type Fortran = unsafe extern "C" fn(*mut c_void, *mut Status, *mut c_int);
        // SAFETY: the program handed the function in as one of the type of its language.
        self.call(|code| unsafe {
            if self.is_fortran.get() {
                transmute::<*const c_void, Fortran>(self.query)(self.extra_state, status, code);
            } else {
                *code = transmute::<*const c_void, C>(self.query)(self.extra_state, status);
            }
        })
    }

    /// The request goes; the code of the program's function.
    pub fn free(&self) -> c_int {
        type C = unsafe extern "C" fn(*mut c_void) -> c_int;
        type Fortran = unsafe extern "C" fn(*mut c_void, *mut c_int);
        // SAFETY: the program handed the function in as one of the type of its language.
        self.call(|code| unsafe {
            if self.is_fortran.get() {
                transmute::<*const c_void, Fortran>(self.free)(self.extra_state, code);
            } else {
                *code = transmute::<*const c_void, C>(self.free)(self.extra_state);
            }
        })
    }

    /// The request is to be cancelled; the code of the program's function.
    pub fn cancel(&self, is_complete: bool) -> c_int {
        type C = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
        type Fortran = unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_int);
        let mut complete = c_int::from(is_complete);
        // SAFETY: the program handed the function in as one of the type of its language.
        self.call(|code| unsafe {
            if self.is_fortran.get() {
                transmute::<*const c_void, Fortran>(self.cancel)(self.extra_state, &raw mut complete, code);
            } else {
                *code = transmute::<*const c_void, C>(self.cancel)(self.extra_state, complete);
            }
        })
    }

    fn call(&self, function: impl FnOnce(&mut c_int)) -> c_int {
        let mut code = abi::SUCCESS;
        outside(|| function(&mut code));
        code
    }
}
