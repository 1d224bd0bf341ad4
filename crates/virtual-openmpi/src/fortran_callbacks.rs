//! Operations and error handlers of Fortran, which the library calls with MPICH's handles, and that want Fortran's.

use std::ffi::{c_int, c_void};

use crate::callbacks::Slots;
use crate::objects::Kind;
use crate::translation::{Fint, code_out, comm_out, datatype_out, fortran_number};

static OPERATIONS: Slots = Slots::new();
static HANDLERS: Slots = Slots::new();

type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Fint, *mut Fint);
type Handler = unsafe extern "C" fn(*mut Fint, *mut Fint);

unsafe extern "C" fn combine<const SLOT: usize>(
    from: *mut c_void,
    into: *mut c_void,
    count: *mut c_int,
    datatype: *mut c_int,
) {
    // SAFETY: the slot has a function of this type, and the library hands in what it asks for.
    unsafe {
        let function: Combine = std::mem::transmute(OPERATIONS.get(SLOT));
        let mut number = fortran_number(datatype_out(*datatype), Kind::Datatype);
        function(from, into, count, &raw mut number);
    }
}

unsafe extern "C" fn handle_error<const SLOT: usize>(object: *mut c_int, code: *mut c_int) {
    // SAFETY: the slot has a function of this type, and the library hands in what it asks for.
    unsafe {
        let function: Handler = std::mem::transmute(HANDLERS.get(SLOT));
        let (mut number, mut outer) = (fortran_number(comm_out(*object), Kind::Comm), code_out(*code));
        function(&raw mut number, &raw mut outer);
    }
}

/// What the library calls in place of an operation of the program, if there is a slot for it.
pub fn operation(function: *const c_void) -> Option<*const c_void> {
    OPERATIONS.stand_in(function, &slots!(combine))
}

/// What the library calls in place of an error handler of the program, if there is a slot for it.
pub fn handler(function: *const c_void) -> Option<*const c_void> {
    HANDLERS.stand_in(function, &slots!(handle_error))
}
