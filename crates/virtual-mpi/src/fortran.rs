//! What MPICH's library of Fortran (`libmpifort`, `libmpichfort`) asks for besides the functions of C: attributes whose
//! values are numbers, and functions of Fortran that MPI calls.

use std::ffi::{c_int, c_void};

use crate::abi::{self, Aint};
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

type Get = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_int) -> c_int;

unsafe fn get(get: Get, object: c_int, keyval: c_int, value: *mut Aint, flag: *mut c_int) -> c_int {
    let mut stored: *mut c_void = std::ptr::null_mut();
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

/// Functions of Fortran get addresses where those of C get values: calling them as C's would be wrong.
fn refuse(what: &str) {
    let message = format!("{what} whose functions are Fortran's are not supported in virtual time");
    match current() {
        Some(rank) => rank.abort(1, &message),
        None => eprintln!("weft: {message}"),
    }
}

/// Called after a kind of attributes was made.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that the library of Fortran asks for")]
pub extern "C" fn MPII_Keyval_set_proxy(_keyval: c_int, _copy: *const c_void, _delete: *const c_void) {
    refuse("attributes");
}

/// Called after a generalized request was made.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that the library of Fortran asks for")]
pub extern "C" fn MPII_Grequest_set_lang_f77(_request: c_int) {
    refuse("generalized requests");
}
