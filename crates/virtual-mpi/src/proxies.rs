//! Functions of the libraries of Fortran and C++ that call what a program has handed in there for its attributes, as
//! MPICH and those of its interface have them.
//!
//! Their form depends on the version: older ones are told in which language the attribute was set, and later ones are
//! not. Nothing says which is which, so a library of C++ is tried with a function that tells what it is called with.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::abi;

/// A function as the library hands it in.
pub type Proxy = *const c_void;

/// What calls the program's functions.
#[derive(Clone, Copy, Debug)]
pub struct Proxies {
    copy: Proxy,
    delete: Proxy,
    /// The type of values, for libraries that are told it.
    kind: Option<c_int>,
}

/// Types of values: addresses of C and C++, numbers as wide as addresses of Fortran.
const POINTER: c_int = 0;
const ADDRESS: c_int = 1;

/// Called with the program's function, object, kind, extra state, the type of the value, the value, and where the copy and
/// its flag belong.
type Copy = unsafe extern "C" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;

/// Called with the program's function, object, kind, the type of the value, the value, and extra state.
type Delete = unsafe extern "C" fn(*const c_void, c_int, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// As [`Copy`] and [`Delete`], without a type.
type PlainCopy =
    unsafe extern "C" fn(*const c_void, c_int, c_int, *mut c_void, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;
type PlainDelete = unsafe extern "C" fn(*const c_void, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// What a library is tried with.
const VALUE: usize = 0x1000;
const STATE: usize = 0x2000;

thread_local! {
    /// The value with which the function below was called last.
    static CALLED_WITH: Cell<usize> = const { Cell::new(0) };
}

/// A function of C++ that deletes an attribute: of an object by reference, a kind, the value, and extra state.
extern "C" fn delete_of_trial(_: *mut c_void, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    CALLED_WITH.set(value.addr());
    abi::SUCCESS
}

impl Proxies {
    /// Those of a library of Fortran.
    pub fn of_fortran(copy: Proxy, delete: Proxy) -> Proxies {
        Proxies { copy, delete, kind: Some(ADDRESS) }
    }

    /// Those of a library of C++; none where they have a form that is not known.
    pub fn of_cxx(copy: Proxy, delete: Proxy) -> Option<Proxies> {
        let [value, state] = [VALUE, STATE].map(std::ptr::without_provenance_mut);
        CALLED_WITH.set(0);
        // SAFETY: the library calls the function above, which follows no address; with the older form its arguments are
        // the four that the function is called with, with the later one the type stands where the value does.
        unsafe {
            type Trial = unsafe extern "C" fn(*const c_void, c_int, c_int, usize, *mut c_void, *mut c_void) -> c_int;
            let delete = transmute::<Proxy, Trial>(delete);
            delete(delete_of_trial as *const c_void, abi::COMM_SELF, 0, POINTER as usize, value, state);
        }
        let kind = match CALLED_WITH.get() {
            VALUE => Some(POINTER),
            0 => None,
            _ => return None,
        };
        Some(Proxies { copy, delete, kind })
    }

    /// Lets the library call the program's function that deletes an attribute.
    ///
    /// # Safety
    /// The function is one that the program has handed to this library.
    pub unsafe fn delete(
        &self,
        function: *const c_void,
        object: c_int,
        keyval: c_int,
        value: *mut c_void,
        state: *mut c_void,
    ) -> c_int {
        // SAFETY: the library has handed the proxy in, whose form is known.
        unsafe {
            match self.kind {
                Some(kind) => transmute::<Proxy, Delete>(self.delete)(function, object, keyval, kind, value, state),
                None => transmute::<Proxy, PlainDelete>(self.delete)(function, object, keyval, value, state),
            }
        }
    }

    /// Lets the library call the program's function that copies an attribute.
    ///
    /// # Safety
    /// As [`Proxies::delete`]; the copy and its flag belong where the last arguments say.
    pub unsafe fn copy(
        &self,
        function: *const c_void,
        object: c_int,
        keyval: c_int,
        state: *mut c_void,
        value: *mut c_void,
        copied: *mut *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        // SAFETY: the library has handed the proxy in, whose form is known.
        unsafe {
            match self.kind {
                Some(kind) => {
                    transmute::<Proxy, Copy>(self.copy)(function, object, keyval, state, kind, value, copied, flag)
                }
                None => transmute::<Proxy, PlainCopy>(self.copy)(function, object, keyval, state, value, copied, flag),
            }
        }
    }
}
