//! What every interface over the library that stands in for MPICH does alike: looking functions up, and passing arrays,
//! statuses and buffers.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::inner::Inner;
use crate::translation::{Handle, Status, UNWEIGHTED, WEIGHTS_EMPTY};

/// A function of the library that stands in for MPICH, once it has been looked up.
pub struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    pub const fn new(name: &'static CStr) -> Function {
        Function { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The function, as one of type `F`.
    ///
    /// # Safety
    /// `F` is the type of a pointer to a function with this one's parameters.
    pub unsafe fn get<F: Copy>(&self) -> F {
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = look_up(self.name);
            self.address.store(address, Ordering::Relaxed);
        }
        // SAFETY: the caller names the function's type, which has the size of an address.
        unsafe { std::mem::transmute_copy(&address) }
    }
}

/// The variable that names the library which stands in for MPICH.
const LIBRARY: &str = "WEFT_RUN_LIBRARY";

/// The library that stands in for MPICH, once it is loaded.
static LOADED: OnceLock<usize> = OnceLock::new();

/// Whether the program has called MPI.
pub fn is_loaded() -> bool {
    LOADED.get().is_some()
}

/// The library that stands in for MPICH; other symbols of the program do not get between its own.
fn library() -> *mut c_void {
    let load = || {
        let path = std::env::var(LIBRARY).unwrap_or_default();
        let path = std::ffi::CString::new(path).unwrap_or_default();
        // SAFETY: the path ends with zero.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND) };
        if path.is_empty() || library.is_null() {
            eprintln!("weft: MPI was called outside of a run in virtual time; start the program with `weft run`");
            std::process::exit(1);
        }
        library.addr()
    };
    std::ptr::with_exposed_provenance_mut(*LOADED.get_or_init(load))
}

#[cold]
fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: the library is loaded, and the name ends with zero.
    let address = unsafe { libc::dlsym(library(), name.as_ptr()) };
    if address.is_null() {
        eprintln!("weft: {} is not supported in virtual time", name.to_string_lossy());
        std::process::exit(1);
    }
    address
}

/// MPICH's handles of an array; zeros where the array is only written.
///
/// # Safety
/// The array has so many handles, if it is read.
pub unsafe fn handles_in(
    array: *const Handle,
    count: c_int,
    reads: bool,
    translate: unsafe fn(Handle) -> c_int,
) -> Vec<c_int> {
    let count = if array.is_null() { 0 } else { count.max(0) as usize };
    // SAFETY: an array that is read has so many handles.
    let read = |index| if reads { unsafe { translate(array.add(index).read()) } } else { 0 };
    (0..count).map(read).collect()
}

/// Writes handles to an array of the program.
///
/// # Safety
/// The array has so many.
pub unsafe fn handles_out(array: *mut Handle, handles: &[c_int], translate: fn(c_int) -> Handle) {
    for (index, &handle) in handles.iter().enumerate() {
        // SAFETY: the array of the program has an element for each handle.
        unsafe { array.add(index).write(translate(handle)) };
    }
}

/// Statuses of a call; nobody may want to know them.
pub struct Statuses(Option<Vec<Inner>>);

impl Statuses {
    /// Where the library finds them.
    pub fn address(&mut self) -> *mut Inner {
        // MPICH says with 1 that nobody wants to know.
        self.0.as_mut().map_or(std::ptr::without_provenance_mut(1), Vec::as_mut_ptr)
    }
}

/// # Safety
/// The array has so many statuses, or is the address that says that nobody wants to know.
pub unsafe fn statuses_in(array: *const Status, count: c_int) -> Statuses {
    if array.is_null() {
        return Statuses(None);
    }
    // SAFETY: the array of the program has so many statuses.
    // Fortran's lie where integers do.
    let read = |index| unsafe { Inner::from(array.add(index).read_unaligned()) };
    Statuses(Some((0..count.max(0) as usize).map(read).collect()))
}

/// # Safety
/// As of [`statuses_in`].
pub unsafe fn statuses_out(array: *mut Status, statuses: &Statuses) {
    for (index, &status) in statuses.0.iter().flatten().enumerate() {
        // SAFETY: the array of the program has an element for each status.
        unsafe { array.add(index).write_unaligned(status.into()) };
    }
}

/// The buffer that says that the other one of its call is meant too.
pub fn buffer_in<T: Address>(buffer: T) -> T {
    buffer.in_place()
}

/// An address of the program's, to be changed or not.
pub trait Address {
    fn in_place(self) -> Self;
}

impl Address for *const c_void {
    fn in_place(self) -> *const c_void {
        if self.addr() == 1 { std::ptr::without_provenance(usize::MAX) } else { self }
    }
}

impl Address for *mut c_void {
    fn in_place(self) -> *mut c_void {
        if self.addr() == 1 { std::ptr::without_provenance_mut(usize::MAX) } else { self }
    }
}

/// # Safety
/// The array has so many numbers.
pub unsafe fn numbers_in(array: *const c_int, count: c_int, translate: fn(c_int) -> c_int) -> Vec<c_int> {
    // SAFETY: the array of the program has so many numbers.
    (0..count.max(0) as usize).map(|index| translate(unsafe { array.add(index).read() })).collect()
}

/// Translates the numbers of an array of the program.
///
/// # Safety
/// The array has so many numbers.
pub unsafe fn numbers_out(array: *mut c_int, count: c_int, translate: fn(c_int) -> c_int) {
    for index in 0..count.max(0) as usize {
        // SAFETY: the array of the program has so many numbers.
        unsafe { array.add(index).write(translate(array.add(index).read())) };
    }
}

/// Weights of the edges of a graph, or one of the addresses that stand for none: the library has objects for them.
///
/// # Safety
/// Nothing is read; the library has the objects.
pub unsafe fn weights_in(weights: *mut c_int) -> *mut c_int {
    let name = match weights.addr() {
        UNWEIGHTED => c"MPI_UNWEIGHTED",
        WEIGHTS_EMPTY => c"MPI_WEIGHTS_EMPTY",
        _ => return weights,
    };
    // SAFETY: the objects are addresses.
    unsafe { look_up(name).cast::<*mut c_int>().read() }
}
