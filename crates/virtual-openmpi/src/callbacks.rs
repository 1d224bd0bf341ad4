//! Functions of the program that the library calls with MPICH's handles, and that want Open MPI's.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::inner::Inner;
use crate::translation::{Copy, Handle, Status, code_in, code_out, comm_out, datatype_out};

/// So many different functions of a program may combine elements, or handle errors.
pub const SLOTS: usize = 64;

/// Functions of one kind; each has a slot, whose stand-in calls it.
pub struct Slots([AtomicPtr<c_void>; SLOTS]);

impl Slots {
    pub const fn new() -> Slots {
        Slots([const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS])
    }

    pub fn get(&self, slot: usize) -> *mut c_void {
        self.0[slot].load(Ordering::Acquire)
    }

    /// The stand-in of a function: that of the slot which it has, or of the next, if there is one.
    pub fn stand_in(&self, function: *const c_void, all: &[*const c_void; SLOTS]) -> Option<*const c_void> {
        let function = function.cast_mut();
        let slot = self.0.iter().position(|slot| {
            let before = slot.compare_exchange(std::ptr::null_mut(), function, Ordering::AcqRel, Ordering::Acquire);
            before.is_ok() || before == Err(function)
        });
        slot.map(|slot| all[slot])
    }
}

static OPERATIONS: Slots = Slots::new();
static HANDLERS: Slots = Slots::new();

type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);
type Handler = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);

unsafe extern "C" fn combine<const SLOT: usize>(
    from: *mut c_void,
    into: *mut c_void,
    count: *mut c_int,
    datatype: *mut c_int,
) {
    // SAFETY: the slot has a function of this type, and the library hands in what it asks for.
    unsafe {
        let function: Combine = std::mem::transmute(OPERATIONS.get(SLOT));
        let mut handle = datatype_out(*datatype);
        function(from, into, count, &raw mut handle);
    }
}

unsafe extern "C" fn handle_error<const SLOT: usize>(object: *mut c_int, code: *mut c_int) {
    // SAFETY: the slot has a function of this type, and the library hands in what it asks for.
    unsafe {
        let function: Handler = std::mem::transmute(HANDLERS.get(SLOT));
        let (mut handle, mut outer) = (comm_out(*object), code_out(*code));
        function(&raw mut handle, &raw mut outer);
    }
}

macro_rules! slots {
    ($function:ident) => {
        slots!($function: 0 8 16 24 32 40 48 56)
    };
    ($function:ident: $($first:literal)*) => {
        [$(
            $function::<$first> as *const c_void, $function::<{ $first + 1 }> as *const c_void,
            $function::<{ $first + 2 }> as *const c_void, $function::<{ $first + 3 }> as *const c_void,
            $function::<{ $first + 4 }> as *const c_void, $function::<{ $first + 5 }> as *const c_void,
            $function::<{ $first + 6 }> as *const c_void, $function::<{ $first + 7 }> as *const c_void,
        )*]
    };
}

/// What the library calls in place of an operation of the program, if there is a slot for it.
pub fn operation(function: *const c_void) -> Option<*const c_void> {
    OPERATIONS.stand_in(function, &slots!(combine))
}

/// What the library calls in place of an error handler of the program, if there is a slot for it.
pub fn handler(function: *const c_void) -> Option<*const c_void> {
    HANDLERS.stand_in(function, &slots!(handle_error))
}

pub type Delete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// The functions of a kind of attributes, and what they are handed.
pub struct Attribute {
    pub copy: Option<Copy>,
    pub delete: Option<Delete>,
    pub extra_state: *mut c_void,
}

/// # Safety
/// The library calls it with the state of a kind of attributes.
pub unsafe extern "C" fn copy_attribute(
    object: c_int,
    keyval: c_int,
    extra_state: *mut c_void,
    from: *mut c_void,
    into: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the state is an `Attribute`, which lives as long as the process.
    unsafe {
        let attribute = &*extra_state.cast::<Attribute>();
        match attribute.copy {
            Some(copy) => code_in(copy(comm_out(object), keyval, attribute.extra_state, from, into, flag)),
            None => {
                *flag = 0;
                0
            }
        }
    }
}

/// # Safety
/// As of [`copy_attribute`].
pub unsafe extern "C" fn delete_attribute(
    object: c_int,
    keyval: c_int,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: the state is an `Attribute`, which lives as long as the process.
    unsafe {
        let attribute = &*extra_state.cast::<Attribute>();
        attribute.delete.map_or(0, |delete| code_in(delete(comm_out(object), keyval, value, attribute.extra_state)))
    }
}

pub type Query = unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int;
pub type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
pub type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// The functions of a request that the program completes itself.
pub struct Generalized {
    pub query: Query,
    pub free: Free,
    pub cancel: Cancel,
    pub extra_state: *mut c_void,
}

/// # Safety
/// The library calls it with the state of a generalized request, and a status.
pub unsafe extern "C" fn query(state: *mut c_void, status: *mut Inner) -> c_int {
    // SAFETY: the state is a `Generalized` until `free` is called, and the status is the library's.
    unsafe {
        let request = &*state.cast::<Generalized>();
        let mut outer = Status::from(*status);
        let code = (request.query)(request.extra_state, &raw mut outer);
        *status = outer.into();
        code_in(code)
    }
}

/// # Safety
/// The library calls it once, with the state of a generalized request.
pub unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: the state was a box, and the library calls this once.
    unsafe {
        let request = Box::from_raw(state.cast::<Generalized>());
        code_in((request.free)(request.extra_state))
    }
}

/// # Safety
/// The library calls it with the state of a generalized request.
pub unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: the state is a `Generalized` until `free` is called.
    unsafe {
        let request = &*state.cast::<Generalized>();
        code_in((request.cancel)(request.extra_state, complete))
    }
}
