//! What MPICH's libraries of Fortran (`libmpifort`, `libmpichfort`) and C++ ask for besides the functions of C: attributes
//! whose values are numbers, and functions of these languages that MPI calls.

use std::ffi::{c_int, c_void};

use crate::abi::{self, Aint};
use crate::attribute::is_in_file;
use crate::proxies::{Proxies, Proxy};
use crate::rank::current;
use crate::shells::{
    MPI_Comm_get_attr, MPI_Comm_set_attr, MPI_Type_get_attr, MPI_Type_set_attr, MPI_Win_get_attr, MPI_Win_set_attr,
};

/// The attributes that the standard has: in C the address of a number, in Fortran the number.
fn is_number(keyval: c_int) -> bool {
    let communicators =
        [abi::TAG_UB, abi::HOST, abi::IO, abi::WTIME_IS_GLOBAL, abi::UNIVERSE_SIZE, abi::LASTUSEDCODE, abi::APPNUM];
    communicators.contains(&keyval) || [abi::WIN_CREATE_FLAVOR, abi::WIN_MODEL, abi::WIN_DISP_UNIT].contains(&keyval)
}

/// The standard's attributes have two numbers each: Fortran's is the one after C's.
fn number_in_c(keyval: c_int) -> c_int {
    let is_fortran = |first: c_int| keyval > first && keyval <= first + 15 && (keyval - first) % 2 == 1;
    if is_fortran(abi::TAG_UB) || is_fortran(abi::WIN_BASE) { keyval - 1 } else { keyval }
}

type Get = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_int) -> c_int;

unsafe fn get(get: Get, object: c_int, keyval: c_int, value: *mut Aint, flag: *mut c_int) -> c_int {
    let mut stored: *mut c_void = std::ptr::null_mut();
    let keyval = number_in_c(keyval);
    // SAFETY: the library hands in where value and flag belong; the values of these attributes are addresses.
    unsafe {
        let code = get(object, keyval, (&raw mut stored).cast(), flag);
        if code == abi::SUCCESS && *flag != 0 {
            *value = match keyval {
                abi::WIN_SIZE => stored.cast::<Aint>().read(),
                _ if is_number(keyval) => stored.cast::<c_int>().read() as Aint,
                _ => stored.expose_provenance() as Aint,
            };
        }
        code
    }
}

macro_rules! attributes {
    ($($get:ident $getter:ident $set:ident $setter:ident;)*) => {
        $(
            /// # Safety
            /// The library of Fortran hands in where value and flag belong.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the name that the library of Fortran asks for")]
            pub unsafe extern "C" fn $get(
                object: c_int,
                keyval: c_int,
                value: *mut Aint,
                flag: *mut c_int,
                _kind: c_int,
            ) -> c_int {
                // SAFETY: value and flag are addresses of variables of the program, which the library of Fortran hands in.
                unsafe { get($getter, object, keyval, value, flag) }
            }

            /// # Safety
            /// None: values are kept, and not followed.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the name that the library of Fortran asks for")]
            pub unsafe extern "C" fn $set(object: c_int, keyval: c_int, value: *mut c_void, _kind: c_int) -> c_int {
                // SAFETY: values are kept, and not followed.
                unsafe { $setter(object, keyval, value) }
            }
        )*
    };
}

attributes! {
    MPII_Comm_get_attr MPI_Comm_get_attr MPII_Comm_set_attr MPI_Comm_set_attr;
    MPII_Type_get_attr MPI_Type_get_attr MPII_Type_set_attr MPI_Type_set_attr;
    MPII_Win_get_attr MPI_Win_get_attr MPII_Win_set_attr MPI_Win_set_attr;
}

/// Called after a kind of attributes was made whose functions are not C's, with what calls them.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that the libraries of Fortran and C++ ask for")]
pub extern "C" fn MPII_Keyval_set_proxy(keyval: c_int, copy: Proxy, delete: Proxy) {
    let Some(rank) = current() else { return };
    let proxies = if is_in_file(copy, b"cxx") {
        let unknown = || rank.abort(1, "this library of C++ calls functions of attributes in a form that is not known");
        Proxies::of_cxx(copy, delete).unwrap_or_else(unknown)
    } else {
        Proxies::of_fortran(copy, delete)
    };
    if let Some(kind) = rank.shared.keyvals.borrow_mut().get_mut(&keyval) {
        kind.proxies = Some(proxies);
    }
}

/// Called after a generalized request was made whose functions are Fortran's.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that the library of Fortran asks for")]
pub extern "C" fn MPII_Grequest_set_lang_f77(request: c_int) {
    let request = current().and_then(|rank| rank.request(request).ok());
    if let Some(generalized) = request.as_ref().and_then(|request| request.generalized.as_ref()) {
        generalized.is_fortran.set(true);
    }
}
