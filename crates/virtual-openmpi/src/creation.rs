//! Functions that are handed functions of the program.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as the standard has them")]

use std::ffi::{c_int, c_void};

use crate::callbacks::{self, Attribute, Generalized};
use crate::passing::Function;
use crate::translation::{Handle, OTHER, code_out, copy_in, errhandler_out, op_out, request_out};

#[cold]
fn no_slot(what: &str) -> c_int {
    eprintln!("weft: the program makes more than 64 different {what}; there are places for no more");
    OTHER
}

/// Makes an operation by a function of the library.
///
/// # Safety
/// The program hands in where the handle belongs.
pub unsafe fn create_operation(create: &Function, function: *const c_void, commute: c_int, op: *mut Handle) -> c_int {
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_operation_by(create, callbacks::operation(function), commute, op) }
}

/// Makes an operation of what calls the program's function, if there is a slot for it.
///
/// # Safety
/// The program hands in where the handle belongs.
pub unsafe fn create_operation_by(
    create: &Function,
    stand_in: Option<*const c_void>,
    commute: c_int,
    op: *mut Handle,
) -> c_int {
    let Some(stand_in) = stand_in else { return no_slot("operations") };
    let mut number = 0;
    // SAFETY: functions that make operations have these parameters; the program hands in where the handle belongs.
    unsafe {
        let create: unsafe extern "C" fn(*const c_void, c_int, *mut c_int) -> c_int = create.get();
        let result = create(stand_in, commute, &raw mut number);
        *op = op_out(number);
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Op_create(function: *const c_void, commute: c_int, op: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Op_create");
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_operation(&FUNCTION, function, commute, op) }
}

/// Makes an error handler by a function of the library.
unsafe fn create_handler(create: &Function, function: *const c_void, errhandler: *mut Handle) -> c_int {
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_handler_by(create, callbacks::handler(function), errhandler) }
}

/// Makes an error handler of what calls the program's function, if there is a slot for it.
///
/// # Safety
/// The program hands in where the handle belongs.
pub unsafe fn create_handler_by(create: &Function, stand_in: Option<*const c_void>, errhandler: *mut Handle) -> c_int {
    let Some(stand_in) = stand_in else { return no_slot("error handlers") };
    let mut number = 0;
    // SAFETY: functions that make error handlers have these parameters; the program hands in where the handle belongs.
    unsafe {
        let create: unsafe extern "C" fn(*const c_void, *mut c_int) -> c_int = create.get();
        let result = create(stand_in, &raw mut number);
        *errhandler = errhandler_out(number);
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Comm_create_errhandler(function: *const c_void, errhandler: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Comm_create_errhandler");
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_handler(&FUNCTION, function, errhandler) }
}

pub unsafe extern "C" fn MPI_Errhandler_create(function: *const c_void, errhandler: *mut Handle) -> c_int {
    // SAFETY: as of the function that has taken its place.
    unsafe { MPI_Comm_create_errhandler(function, errhandler) }
}

pub unsafe extern "C" fn MPI_Win_create_errhandler(function: *const c_void, errhandler: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Win_create_errhandler");
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_handler(&FUNCTION, function, errhandler) }
}

pub unsafe extern "C" fn MPI_File_create_errhandler(function: *const c_void, errhandler: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_File_create_errhandler");
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_handler(&FUNCTION, function, errhandler) }
}

pub unsafe extern "C" fn MPI_Session_create_errhandler(function: *const c_void, errhandler: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Session_create_errhandler");
    // SAFETY: the program hands in where the handle belongs.
    unsafe { create_handler(&FUNCTION, function, errhandler) }
}

/// Makes a kind of attributes by a function of the library.
unsafe fn create_keyval(
    create: &Function,
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(*const c_void, *const c_void, *mut c_int, *mut c_void) -> c_int;
    // SAFETY: the program hands in functions of these types, or none; functions that make kinds have these parameters.
    unsafe {
        let attribute = Attribute {
            copy: copy_in(copy),
            delete: std::mem::transmute::<*const c_void, Option<callbacks::Delete>>(delete),
            extra_state,
        };
        let create: Create = create.get();
        // Attributes may outlive their kind.
        let state = Box::leak(Box::new(attribute));
        let (copy, delete) = (callbacks::copy_attribute as *const c_void, callbacks::delete_attribute as *const c_void);
        code_out(create(copy, delete, keyval, (&raw mut *state).cast()))
    }
}

pub unsafe extern "C" fn MPI_Comm_create_keyval(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Comm_create_keyval");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { create_keyval(&FUNCTION, copy, delete, keyval, extra_state) }
}

pub unsafe extern "C" fn MPI_Keyval_create(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: as of the function that has taken its place.
    unsafe { MPI_Comm_create_keyval(copy, delete, keyval, extra_state) }
}

pub unsafe extern "C" fn MPI_Type_create_keyval(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Type_create_keyval");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { create_keyval(&FUNCTION, copy, delete, keyval, extra_state) }
}

pub unsafe extern "C" fn MPI_Win_create_keyval(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Win_create_keyval");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { create_keyval(&FUNCTION, copy, delete, keyval, extra_state) }
}

pub unsafe extern "C" fn MPI_Grequest_start(
    query: *const c_void,
    free: *const c_void,
    cancel: *const c_void,
    extra_state: *mut c_void,
    request: *mut Handle,
) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Grequest_start");
    type Start = unsafe extern "C" fn(*const c_void, *const c_void, *const c_void, *mut c_void, *mut c_int) -> c_int;
    // SAFETY: the program hands in functions of these types; the function of the library has these parameters.
    unsafe {
        let state = Box::into_raw(Box::new(Generalized {
            query: std::mem::transmute::<*const c_void, callbacks::Query>(query),
            free: std::mem::transmute::<*const c_void, callbacks::Free>(free),
            cancel: std::mem::transmute::<*const c_void, callbacks::Cancel>(cancel),
            extra_state,
        }));
        let start: Start = FUNCTION.get();
        let functions =
            [callbacks::query as *const c_void, callbacks::free as *const c_void, callbacks::cancel as *const c_void];
        let mut number = 0;
        let result = start(functions[0], functions[1], functions[2], state.cast(), &raw mut number);
        *request = request_out(number);
        code_out(result)
    }
}
