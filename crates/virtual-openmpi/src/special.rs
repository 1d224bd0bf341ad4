//! Functions whose translation is not that of their parameters one by one: those of strings of other lengths, and on
//! attributes.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as the standard has them")]

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::passing::Function;
use crate::translation::{
    Handle, Status, code_in, code_out, comm_in, datatype_in, info_in, keyval_in, value_out, win_in,
};

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

/// An attribute of an object of the library. Values are addresses: each number that is translated has one here.
unsafe fn attribute(function: &Function, object: c_int, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
    static NUMBERS: [AtomicI32; 12] = [const { AtomicI32::new(0) }; 12];
    // SAFETY: functions that tell attributes have these parameters; where there is one of these, its value is the address
    // of a number.
    unsafe {
        let function: unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_int) -> c_int = function.get();
        let result = function(object, keyval_in(keyval), value, flag);
        if let Some(translate) = value_out(keyval)
            && result == 0
            && *flag != 0
        {
            let address = value.cast::<*const c_int>();
            let number = &NUMBERS[keyval as usize];
            number.store(translate(address.read().read()), Ordering::Relaxed);
            address.write(number.as_ptr());
        }
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Comm_get_attr(comm: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Comm_get_attr");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { attribute(&FUNCTION, comm_in(comm), keyval, value, flag) }
}

pub unsafe extern "C" fn MPI_Attr_get(comm: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: the parameters are the same.
    unsafe { MPI_Comm_get_attr(comm, keyval, value, flag) }
}

pub unsafe extern "C" fn MPI_Win_get_attr(win: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Win_get_attr");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { attribute(&FUNCTION, win_in(win), keyval, value, flag) }
}

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

/// Copies a status, which has the same numbers in C and in Fortran; Fortran's lies where integers do.
unsafe fn copy_status(from: *const Status, into: *mut Status) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { into.write_unaligned(from.read_unaligned()) };
    0
}

pub unsafe extern "C" fn MPI_Status_c2f(c_status: *const Status, f_status: *mut c_int) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { copy_status(c_status, f_status.cast()) }
}

pub unsafe extern "C" fn MPI_Status_f2c(f_status: *const c_int, c_status: *mut Status) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { copy_status(f_status.cast(), c_status) }
}

pub unsafe extern "C" fn MPI_Status_c2f08(c_status: *const Status, f08_status: *mut Status) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { copy_status(c_status, f08_status) }
}

pub unsafe extern "C" fn MPI_Status_f082c(f08_status: *const Status, c_status: *mut Status) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { copy_status(f08_status, c_status) }
}

pub unsafe extern "C" fn MPI_Status_f2f08(f_status: *const c_int, f08_status: *mut Status) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { copy_status(f_status.cast(), f08_status) }
}

pub unsafe extern "C" fn MPI_Status_f082f(f08_status: *const Status, f_status: *mut c_int) -> c_int {
    // SAFETY: the program hands in a status, and where the copy belongs.
    unsafe { copy_status(f08_status, f_status.cast()) }
}
