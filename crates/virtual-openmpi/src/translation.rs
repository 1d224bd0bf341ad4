//! Open MPI's numbers, handles and statuses as MPICH's, and back (`mpi.h` of Open MPI 4.1 and 5, and of MPICH 4 and 5).

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::inner::{Aint, Inner};
use crate::objects::{KNOWN, Kind, Known};

/// A handle of Open MPI's interface.
pub type Handle = *mut c_void;

/// INTEGER of Fortran.
pub type Fint = c_int;

/// Addresses of the predefined handles, as the program sees them.
fn addresses() -> &'static HashMap<(c_int, bool), usize> {
    static ADDRESSES: OnceLock<HashMap<(c_int, bool), usize>> = OnceLock::new();
    ADDRESSES.get_or_init(|| {
        let address = |known: &Known| {
            // SAFETY: the name ends with zero. The first object of that name is the one that all use: it may lie in
            // the program.
            let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, known.name.as_ptr()) };
            ((known.handle, is_apart(known.kind)), address.addr())
        };
        KNOWN.iter().map(address).collect()
    })
}

/// Messages and files have numbers that other handles have too.
fn is_apart(kind: Kind) -> bool {
    matches!(kind, Kind::Message | Kind::File)
}

/// MPICH's handle.
///
/// # Safety
/// The handle is one that this library has given, or the address of one of its objects.
unsafe fn handle_in(handle: Handle) -> c_int {
    match handle.addr() {
        // What the program has made, and files; nothing of the program lies at the lowest addresses, nor its objects
        // there where the highest numbers of 32 bits are.
        number @ (0..FIRST_ADDRESS | FIRST_CREATED..=LAST_CREATED) => number as u32 as c_int,
        // SAFETY: addresses are those of objects, which begin with the number.
        _ => unsafe { handle.cast::<c_int>().read() },
    }
}

/// No program has anything below this address: the first page that Linux lets it have.
const FIRST_ADDRESS: usize = 0x1_0000;
/// Numbers of what a program has made in MPICH's interface have their highest bit set.
const FIRST_CREATED: usize = 0x8000_0000;
const LAST_CREATED: usize = 0xffff_ffff;

fn handle_out(handle: c_int, kind: Kind) -> Handle {
    let address = addresses().get(&(handle, is_apart(kind))).copied();
    std::ptr::with_exposed_provenance_mut(address.unwrap_or(handle as u32 as usize))
}

/// The number of a handle in Fortran: Open MPI's own where it is predefined, else MPICH's.
pub fn fortran_number(handle: Handle, kind: Kind) -> c_int {
    // SAFETY: those that call have a handle.
    let number = unsafe { handle_in(handle) };
    let known = KNOWN.iter().find(|known| known.handle == number && is_apart(known.kind) == is_apart(kind));
    known.map_or(number, |known| known.fortran)
}

/// The handle of a number in Fortran.
pub fn fortran_handle(number: c_int, kind: Kind) -> Handle {
    let known = KNOWN.iter().find(|known| known.fortran == number && known.kind == kind);
    handle_out(known.map_or(number, |known| known.handle), kind)
}

macro_rules! handles {
    ($($kind:ident $from:ident $to:ident;)*) => {
        $(
            /// # Safety
            /// As of [`handle_in`].
            pub unsafe fn $from(handle: Handle) -> c_int {
                // SAFETY: the caller hands in a handle.
                unsafe { handle_in(handle) }
            }

            pub fn $to(handle: c_int) -> Handle {
                handle_out(handle, Kind::$kind)
            }
        )*
    };
}

handles! {
    Comm comm_in comm_out;
    Group group_in group_out;
    Datatype datatype_in datatype_out;
    Op op_in op_out;
    Request request_in request_out;
    Message message_in message_out;
    Info info_in info_out;
    Errhandler errhandler_in errhandler_out;
    Win win_in win_out;
}

/// # Safety
/// As of [`handle_in`].
pub unsafe fn session_in(handle: Handle) -> c_int {
    // SAFETY: the caller hands in a handle.
    unsafe { handle_in(handle) }
}

pub fn session_out(handle: c_int) -> Handle {
    handle_out(handle, Kind::Comm)
}

/// # Safety
/// As of [`handle_in`].
pub unsafe fn file_in(handle: Handle) -> usize {
    // SAFETY: the caller hands in a handle.
    unsafe { handle_in(handle) as u32 as usize }
}

pub fn file_out(handle: usize) -> Handle {
    handle_out(handle as c_int, Kind::File)
}

/// A status of Open MPI.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    bytes: usize,
}

impl From<Status> for Inner {
    fn from(status: Status) -> Inner {
        Inner {
            count_lo: status.bytes as u32 as c_int,
            count_hi_and_cancelled: (((status.bytes >> 32) << 1) as u32 as c_int) | c_int::from(status.cancelled != 0),
            source: rank_in(status.source),
            tag: status.tag,
            error: code_in(status.error),
        }
    }
}

impl From<Inner> for Status {
    fn from(status: Inner) -> Status {
        let high = ((status.count_hi_and_cancelled as u32 as usize) >> 1) << 32;
        Status {
            source: rank_out(status.source),
            tag: status.tag,
            error: code_out(status.error),
            cancelled: status.count_hi_and_cancelled & 1,
            bytes: status.count_lo as u32 as usize | high,
        }
    }
}

/// Ranks that are none: any source, no process, the root of the other group.
pub fn rank_in(rank: c_int) -> c_int {
    match rank {
        -1 => -2,
        -2 => -1,
        -4 => -3,
        other => other,
    }
}

pub fn rank_out(rank: c_int) -> c_int {
    match rank {
        -2 => -1,
        -1 => -2,
        -3 => -4,
        other => other,
    }
}

/// Only ranks that share memory are a kind that both have.
pub fn split_type_in(kind: c_int) -> c_int {
    if kind == 0 { 1 } else { kind }
}

pub fn order_in(order: c_int) -> c_int {
    if matches!(order, 0 | 1) { order + 56 } else { order }
}

pub fn distribution_in(distribution: c_int) -> c_int {
    if matches!(distribution, 0..=2) { distribution + 121 } else { distribution }
}

pub fn distribution_argument_in(argument: c_int) -> c_int {
    if argument == -1 { -49767 } else { argument }
}

/// MPI_ERR_OTHER.
pub const OTHER: c_int = 16;

/// Addresses that stand for graphs without weights, and for no weights of no neighbours.
pub const UNWEIGHTED: usize = 2;
pub const WEIGHTS_EMPTY: usize = 3;

/// Numbers that both have.
macro_rules! as_they_are {
    ($($name:ident)*) => {
        $(pub fn $name(number: c_int) -> c_int {
            number
        })*
    };
}

as_they_are! {
    tag_in tag_out whence_in file_mode_in file_mode_out thread_level_in thread_level_out comparison_out
}

/// The displacement that stands for the one at hand is the same.
pub fn displacement_in(displacement: Aint) -> Aint {
    displacement
}

/// Memory for buffered sends; Open MPI has no address that stands for the library's own.
pub fn attached_in(buffer: *mut c_void) -> *mut c_void {
    buffer
}

/// # Safety
/// Nothing is read.
pub unsafe fn attached_out(_: *mut c_void) {}

/// A function that copies attributes.
pub type Copy = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;

/// A function that copies attributes, as the program hands it in.
///
/// # Safety
/// It is one of the program, or none.
pub unsafe fn copy_in(function: *const c_void) -> Option<Copy> {
    // SAFETY: the caller hands in a function of this type, or none.
    unsafe { std::mem::transmute(function) }
}

/// Real numbers come before whole ones in MPICH.
pub fn type_class_in(class: c_int) -> c_int {
    match class {
        1 => 2,
        2 => 1,
        other => other,
    }
}

/// A kind of attributes that has been freed.
pub fn keyval_out(_: c_int) -> c_int {
    -1
}

/// Graphs are 1 and Cartesian topologies 2 in MPICH.
pub fn topology_out(topology: c_int) -> c_int {
    match topology {
        1 => 2,
        2 => 1,
        other => other,
    }
}

/// The constructors of datatypes are counted from 1 in MPICH, and have the same order.
pub fn combiner_out(combiner: c_int) -> c_int {
    combiner - 1
}

/// Models of memory of windows: one copy or two.
fn model_out(model: c_int) -> c_int {
    if model == 2 { 0 } else { model }
}

/// What becomes of the value of an attribute by its key, where the value is a number with a name.
pub fn value_out(keyval: c_int) -> Option<fn(c_int) -> c_int> {
    match KEYVALS.get(usize::try_from(keyval).ok()?)? {
        0x6440_0003 | 0x6440_0005 => Some(rank_out),
        0x6600_0009 => Some(model_out),
        _ => None,
    }
}

/// Keys of the attributes that the standard has, in Open MPI's order.
const KEYVALS: [c_int; 12] = [
    0x6440_0001, // tag_ub
    0x6440_0003, // host
    0x6440_0005, // io
    0x6440_0007, // wtime_is_global
    0x6440_000d, // appnum
    0x6440_000b, // lastusedcode
    0x6440_0009, // universe_size
    0x6600_0001, // win_base
    0x6600_0003, // win_size
    0x6600_0005, // win_disp_unit
    0x6600_0007, // win_create_flavor
    0x6600_0009, // win_model
];

pub fn keyval_in(keyval: c_int) -> c_int {
    let known = usize::try_from(keyval).ok().and_then(|index| KEYVALS.get(index));
    known.copied().unwrap_or(keyval)
}

/// What windows are told: no check, nothing before, no put, no store, nothing after.
pub fn assertion_in(assertion: c_int) -> c_int {
    let bits = [(1, 1024), (2, 8192), (4, 4096), (8, 2048), (16, 16384)];
    bits.iter().filter(|(bit, _)| assertion & bit != 0).map(|(_, bit)| bit).sum()
}

/// Exclusive locks are 1 and shared ones 2.
pub fn lock_in(lock: c_int) -> c_int {
    if matches!(lock, 1 | 2) { lock + 233 } else { lock }
}

/// Classes of errors in Open MPI's order, from 0, by their numbers in MPICH; -1 where it has none.
const CLASSES: [c_int; 76] = [
    0, 1, 2, 3, 4, 5, 6, 19, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 53, 22, 46, 23, 52, 24, 25, 26, 27,
    29, 31, 30, 28, 32, 48, 47, 33, 34, 35, 36, 37, 38, 39, 40, 49, 50, 41, 51, 42, 43, 44, 45, -1, -1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1, -1, -1, 55, 56, 58, 57, -1, -1, -1, -1,
];

/// The first code that a program has added.
const FIRST_ADDED: c_int = 0x4000_0000;

/// MPICH's code of an error.
pub fn code_in(code: c_int) -> c_int {
    let known = usize::try_from(code).ok().and_then(|index| CLASSES.get(index));
    match known {
        Some(&class) if class >= 0 => class,
        _ if code >= FIRST_ADDED => code,
        _ => 13,
    }
}

/// Open MPI's code of an error: its class.
pub fn code_out(code: c_int) -> c_int {
    if code >= FIRST_ADDED {
        return code;
    }
    let class = code & 0xff;
    CLASSES.iter().position(|&other| other == class).map_or(14, |index| index as c_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_libraries_have_comes_back_as_it_was() {
        for rank in [-4, -2, -1, 0, 7] {
            assert_eq!(rank_out(rank_in(rank)), rank);
        }
        for code in (0..54).chain(68..72) {
            assert_eq!(code_out(code_in(code)), code);
        }
        let status = Status { source: 3, tag: 5, error: 15, cancelled: 1, bytes: 5 << 32 | 7 };
        let back = Status::from(Inner::from(status));
        assert_eq!((back.source, back.tag, back.error, back.cancelled, back.bytes), (3, 5, 15, 1, 5 << 32 | 7));
        assert_eq!(assertion_in(1 | 4), 1024 | 4096);
    }
}
