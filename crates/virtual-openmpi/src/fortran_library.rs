//! What Open MPI's libraries of Fortran and C++ ask its library of C for besides MPI: strings, addresses that mean
//! something, and names without which they are not loaded.
#![allow(non_upper_case_globals, clippy::missing_safety_doc, reason = "the names that the libraries ask for")]

use std::ffi::{c_char, c_int, c_void};

/// Variables whose addresses stand for something in Fortran. Programs may have their own, which come first.
macro_rules! addresses {
    ($($name:ident: $words:literal)*) => {
        $(#[unsafe(no_mangle)]
        pub static mut $name: [u64; $words] = [0; $words];)*
    };
}

addresses! {
    mpi_fortran_argv_null_: 1 mpi_fortran_argvs_null_: 1 mpi_fortran_bottom_: 1 mpi_fortran_errcodes_ignore_: 1
    mpi_fortran_in_place_: 1 mpi_fortran_status_ignore_: 3 mpi_fortran_statuses_ignore_: 3 mpi_fortran_unweighted_: 1
    mpi_fortran_weights_empty_: 1
}

// What the libraries read of Open MPI's where a call fails, and where arguments are checked: nothing is checked.
addresses! {
    ompi_errcode_intern_lastused: 1 ompi_errcodes_intern: 32 ompi_mpi_param_check: 1 ompi_mpi_state: 1
    ompi_registered_datareps: 32 ompi_mpi_errors_throw_exceptions: 128
}

/// A status of nothing: from any source, of any tag.
#[unsafe(no_mangle)]
pub static mut ompi_status_empty: [i32; 6] = [-1, -1, 0, 0, 0, 0];

/// Functions on objects of Open MPI, which those of `fortran` and C's take the place of.
macro_rules! unavailable {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            eprintln!(concat!("weft: ", stringify!($name), " of Open MPI is not supported in virtual time"));
            std::process::exit(1)
        })*
    };
}

unavailable! {
    ompi_attr_create_keyval ompi_attr_create_keyval_aint ompi_attr_create_keyval_fint ompi_attr_get_aint
    ompi_attr_get_fint ompi_attr_set_aint ompi_attr_set_fint ompi_datatype_match_size ompi_errhandler_create
    ompi_mpi_errors_are_fatal_comm_handler ompi_op_set_cxx_callback
}

/// Called where a function of the library of Fortran fails by itself: its code is what the program is told.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_errhandler_invoke(
    _handler: *mut c_void,
    _object: *mut c_void,
    _kind: c_int,
    code: c_int,
    _message: *const c_char,
) -> c_int {
    code
}

/// The text of a string of Fortran, without the blanks around it, that ends with zero; the caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_string_f2c(text: *const c_char, length: c_int, copy: *mut *mut c_char) -> c_int {
    // SAFETY: a string of Fortran has so many bytes; the library of Fortran frees what is allocated, and hands in where
    // its address belongs.
    unsafe {
        let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length.max(0) as usize).trim_ascii();
        let target = libc::malloc(bytes.len() + 1).cast::<u8>();
        if target.is_null() {
            return OUT_OF_MEMORY;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        *target.add(bytes.len()) = 0;
        *copy = target.cast();
    }
    0
}

/// OMPI_ERR_OUT_OF_RESOURCE.
const OUT_OF_MEMORY: c_int = -2;

/// Writes a text to a string of Fortran, with blanks behind it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_string_c2f(text: *const c_char, target: *mut c_char, length: c_int) -> c_int {
    let length = length.max(0) as usize;
    // SAFETY: the text ends with zero, and the string of Fortran has so many bytes.
    unsafe {
        let kept = libc::strnlen(text, length);
        std::ptr::copy_nonoverlapping(text, target, kept);
        target.add(kept).write_bytes(b' ', length - kept);
    }
    0
}

/// Lists of arguments of programs that are to be started, which is not supported.
macro_rules! arguments {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            OUT_OF_MEMORY
        })*
    };
}

arguments! { ompi_fortran_argv_blank_f2c ompi_fortran_argv_count_f2c ompi_fortran_multiple_argvs_f2c }

/// Stands for no conversion of a file's representation.
#[unsafe(no_mangle)]
pub extern "C" fn mpi_conversion_fn_null_() {}
