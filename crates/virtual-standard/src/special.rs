//! Functions whose translation is not that of their parameters one by one: attributes whose values are numbers that mean
//! something, and operations on wide counts.
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "as the standard has them")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::creation::create_operation;
use crate::passing::Function;
use crate::translation::{Handle, code_out, comm_in, flavor_out, keyval_in, model_out, rank_out, win_in};

/// Values of attributes are addresses: each number that is translated has one.
struct Number(AtomicI32);

impl Number {
    const fn new() -> Number {
        Number(AtomicI32::new(0))
    }

    /// Makes the attribute's value, an address, that of the number which it translates to.
    unsafe fn replace(&'static self, value: *mut c_void, translate: fn(c_int) -> c_int) {
        // SAFETY: the library has written the address of a number there.
        unsafe {
            let address = value.cast::<*const c_int>();
            self.0.store(translate(address.read().read()), Ordering::Relaxed);
            address.write(self.0.as_ptr());
        }
    }
}

type Ask = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_int) -> c_int;

pub unsafe extern "C" fn MPI_Comm_get_attr(comm: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Comm_get_attr");
    static HOST: Number = Number::new();
    static IO: Number = Number::new();
    // SAFETY: the function has these parameters, and the program keeps to what MPI asks for.
    unsafe {
        let result = FUNCTION.get::<Ask>()(comm_in(comm), keyval_in(keyval), value, flag);
        if result == 0 && *flag != 0 {
            match keyval {
                502 => IO.replace(value, rank_out),
                503 => HOST.replace(value, rank_out),
                _ => {}
            }
        }
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Win_get_attr(win: Handle, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Win_get_attr");
    static FLAVORS: [Number; 4] = [const { Number::new() }; 4];
    static MODEL: Number = Number::new();
    // SAFETY: the function has these parameters, and the program keeps to what MPI asks for.
    unsafe {
        let result = FUNCTION.get::<Ask>()(win_in(win), keyval_in(keyval), value, flag);
        if result == 0 && *flag != 0 {
            match keyval {
                604 => {
                    // Windows of several kinds may be there at one time.
                    let flavor = value.cast::<*const c_int>().read().read();
                    let index = usize::try_from(flavor - 1).unwrap_or(0).min(FLAVORS.len() - 1);
                    FLAVORS[index].replace(value, flavor_out);
                }
                605 => MODEL.replace(value, model_out),
                _ => {}
            }
        }
        code_out(result)
    }
}

pub unsafe extern "C" fn MPI_Op_create_c(function: *const c_void, commute: c_int, op: *mut Handle) -> c_int {
    static FUNCTION: Function = Function::new(c"MPI_Op_create_c");
    // SAFETY: the program hands in where the handle belongs. Its function is handed the address of a count as it is.
    unsafe { create_operation(&FUNCTION, function, commute, op) }
}

/// The version of the interface that the library has (MPI 5.0, section 20.2).
pub unsafe extern "C" fn MPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    // SAFETY: the program hands in where the numbers belong.
    unsafe { (*abi_major, *abi_minor) = (1, 0) };
    0
}
