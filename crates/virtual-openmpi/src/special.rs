//! Functions whose translation is not that of their parameters one by one: those that are handed functions of the
//! program, and strings of other lengths.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as the standard has them")]

use std::ffi::{c_char, c_int, c_void};

use crate::callbacks::{self, Attribute, Generalized};
use crate::translation::{
    Function, Handle, code_in, code_out, comm_in, datatype_in, errhandler_out, info_in, op_out, request_out, win_in,
};

/// MPI_ERR_OTHER.
const NO_SLOT: c_int = 16;

#[cold]
fn no_slot(what: &str) -> c_int {
    eprintln!("weft: the program makes more than 64 different {what}; there are places for no more");
    NO_SLOT
}

pub unsafe extern "C" fn MPI_Op_create(function: *const c_void, commute: c_int, op: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Op_create");
    let Some(slot) = callbacks::OPERATIONS.slot(function) else { return no_slot("operations") };
    let mut number = 0;
    // SAFETY: the function has these parameters; the program hands in where the handle belongs.
    unsafe {
        let create: unsafe extern "C" fn(*const c_void, c_int, *mut c_int) -> c_int = FUNCTION.get();
        let result = create(callbacks::operation(slot), commute, &raw mut number);
        *op = op_out(number);
        code_out(result)
    }
}

/// Makes an error handler by a function of the library.
unsafe fn create_handler(create: &Function, function: *const c_void, errhandler: *mut Handle) -> c_int {
    let Some(slot) = callbacks::HANDLERS.slot(function) else { return no_slot("error handlers") };
    let mut number = 0;
    // SAFETY: functions that make error handlers have these parameters; the program hands in where the handle belongs.
    unsafe {
        let create: unsafe extern "C" fn(*const c_void, *mut c_int) -> c_int = create.get();
        let result = create(callbacks::handler(slot), &raw mut number);
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
            copy: std::mem::transmute::<*const c_void, Option<callbacks::Copy>>(copy),
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

/// An attribute is not copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OMPI_C_MPI_NULL_COPY_FN(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller hands in where it is told whether there is a copy.
    unsafe { *flag = 0 };
    0
}

/// An attribute is copied as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OMPI_C_MPI_DUP_FN(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    from: *mut c_void,
    into: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller hands in where the copy belongs, and where it is told that there is one.
    unsafe {
        *into.cast::<*mut c_void>() = from;
        *flag = 1;
    }
    0
}

/// Nothing is to be done when an attribute goes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OMPI_C_MPI_NULL_DELETE_FN(_: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    0
}

macro_rules! attribute_functions {
    ($($null_copy:ident $dup:ident $null_delete:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $null_copy(
                object: Handle, keyval: c_int, extra: *mut c_void, from: *mut c_void, into: *mut c_void, flag: *mut c_int,
            ) -> c_int {
                // SAFETY: the parameters are the same.
                unsafe { OMPI_C_MPI_NULL_COPY_FN(object, keyval, extra, from, into, flag) }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $dup(
                object: Handle, keyval: c_int, extra: *mut c_void, from: *mut c_void, into: *mut c_void, flag: *mut c_int,
            ) -> c_int {
                // SAFETY: the parameters are the same.
                unsafe { OMPI_C_MPI_DUP_FN(object, keyval, extra, from, into, flag) }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $null_delete(_: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
                0
            }
        )*
    };
}

attribute_functions! {
    OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_DELETE_FN;
    OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN;
    OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_DELETE_FN;
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

/// Calls a function that writes a string of at most `INNER` bytes, of which the program has space for `outer`.
unsafe fn text<const INNER: usize>(
    target: *mut c_char,
    outer: usize,
    len: *mut c_int,
    call: impl FnOnce(*mut c_char, *mut c_int) -> c_int,
) -> c_int {
    let (mut text, mut whole) = ([0; INNER], 0);
    let result = call(text.as_mut_ptr(), &raw mut whole);
    let kept = text.iter().position(|&byte| byte == 0).unwrap_or(0).min(outer - 1);
    // SAFETY: the program has space for so many bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), target, kept);
        *target.add(kept) = 0;
        if !len.is_null() {
            *len = kept as c_int;
        }
    }
    code_out(result)
}

/// Lengths of strings in the library, and in Open MPI.
const ERROR: (usize, usize) = (512, 256);
const NAME: (usize, usize) = (128, 64);
const KEY: (usize, usize) = (256, 36);

pub unsafe extern "C" fn MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Error_string");
    // SAFETY: the function has these parameters, and the program space for the string.
    unsafe {
        let function: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int = FUNCTION.get();
        text::<{ ERROR.0 }>(string, ERROR.1, resultlen, |text, len| function(code_in(errorcode), text, len))
    }
}

/// The name of an object of the library.
unsafe fn name_of(function: &Function, object: c_int, name: *mut c_char, resultlen: *mut c_int) -> c_int {
    // SAFETY: functions that tell names have these parameters, and the program space for the string.
    unsafe {
        let function: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int = function.get();
        text::<{ NAME.0 }>(name, NAME.1, resultlen, |text, len| function(object, text, len))
    }
}

pub unsafe extern "C" fn MPI_Comm_get_name(comm: Handle, name: *mut c_char, resultlen: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Comm_get_name");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { name_of(&FUNCTION, comm_in(comm), name, resultlen) }
}

pub unsafe extern "C" fn MPI_Type_get_name(datatype: Handle, name: *mut c_char, resultlen: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Type_get_name");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { name_of(&FUNCTION, datatype_in(datatype), name, resultlen) }
}

pub unsafe extern "C" fn MPI_Win_get_name(win: Handle, name: *mut c_char, resultlen: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Win_get_name");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { name_of(&FUNCTION, win_in(win), name, resultlen) }
}

pub unsafe extern "C" fn MPI_Info_get_nthkey(info: Handle, n: c_int, key: *mut c_char) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Info_get_nthkey");
    // SAFETY: the function has these parameters, and the program space for the key.
    unsafe {
        let function: unsafe extern "C" fn(c_int, c_int, *mut c_char) -> c_int = FUNCTION.get();
        text::<{ KEY.0 }>(key, KEY.1, std::ptr::null_mut(), |text, _| function(info_in(info), n, text))
    }
}
