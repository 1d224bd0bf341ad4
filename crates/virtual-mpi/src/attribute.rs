//! What programs attach to communicators, datatypes and windows.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};

use crate::proxies::Proxies;

/// A kind of attribute that the program has made.
#[derive(Clone, Copy, Debug)]
pub struct Keyval {
    /// The kind of object that has such attributes.
    pub of: u32,
    pub copy: *const c_void,
    pub delete: *const c_void,
    pub extra_state: *mut c_void,
    pub proxies: Option<Proxies>,
    /// Values are objects of the interpreter that mpi4py keeps by the number of the communicator. Ranks of one process
    /// have the same number for `MPI_COMM_WORLD`, and one would take the object of another away.
    pub holds_objects: bool,
}

/// Whether a function is mpi4py's own and an attribute with it is not copied: so it keeps its tables of locks.
pub fn holds_objects(copy: *const c_void, delete: *const c_void) -> bool {
    copy.is_null() && is_in_file(delete, b"/mpi4py/MPI.")
}

/// Whether a function is of a library whose path has this part.
pub fn is_in_file(function: *const c_void, part: &[u8]) -> bool {
    if function.is_null() {
        return false;
    }
    // SAFETY: the call fills in what it knows of the address, or fails.
    let file = unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        if libc::dladdr(function, &raw mut info) == 0 || info.dli_fname.is_null() {
            return false;
        }
        CStr::from_ptr(info.dli_fname).to_bytes().to_vec()
    };
    file.windows(part.len()).any(|other| other == part)
}

/// Values by their kinds, in the order in which they were first set.
#[derive(Debug, Default)]
pub struct Attributes(RefCell<Vec<(c_int, *mut c_void)>>);

impl Attributes {
    pub fn get(&self, keyval: c_int) -> Option<*mut c_void> {
        self.0.borrow().iter().find(|(other, _)| *other == keyval).map(|(_, value)| *value)
    }

    pub fn set(&self, keyval: c_int, value: *mut c_void) {
        let mut all = self.0.borrow_mut();
        match all.iter_mut().find(|(other, _)| *other == keyval) {
            Some((_, old)) => *old = value,
            None => all.push((keyval, value)),
        }
    }

    pub fn remove(&self, keyval: c_int) {
        self.0.borrow_mut().retain(|(other, _)| *other != keyval);
    }

    pub fn all(&self) -> Vec<(c_int, *mut c_void)> {
        self.0.borrow().clone()
    }
}

/// `MPI_COMM_DUP_FN` of programs: an attribute is copied as it is.
///
/// # Safety
/// MPI calls it with the addresses of the copy and of what says that there is one.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that programs were compiled with")]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    from: *mut c_void,
    into: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI hands in the addresses of two variables of these types.
    unsafe {
        into.cast::<*mut c_void>().write(from);
        flag.write(1);
    }
    0
}
