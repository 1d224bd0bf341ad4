//! The standard's numbers, handles and statuses as MPICH's, and back (MPI 5.0, appendix A.1, and `mpi.h` of MPICH 5).

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::inner::{Aint, Inner};

/// A handle of the standard's interface.
pub type Handle = *mut c_void;

/// A predefined handle.
pub struct Known {
    value: usize,
    handle: c_int,
    /// Messages and files have numbers that other handles have too.
    is_apart: bool,
}

include!(concat!(env!("OUT_DIR"), "/handles.rs"));

/// Values of predefined handles, and those that the standard keeps for more of them, lie below this.
const VALUES: usize = 0x1000;

/// MPICH's handles by the standard's values; 0, which is no handle, where there is none.
fn numbers() -> &'static [c_int; VALUES] {
    static NUMBERS: OnceLock<Box<[c_int; VALUES]>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        let mut numbers = Box::new([0; VALUES]);
        KNOWN.iter().for_each(|known| numbers[known.value] = known.handle);
        numbers
    })
}

/// The standard's values by MPICH's handles.
fn values() -> &'static HashMap<(c_int, bool), usize> {
    static VALUES: OnceLock<HashMap<(c_int, bool), usize>> = OnceLock::new();
    VALUES.get_or_init(|| KNOWN.iter().map(|known| ((known.handle, known.is_apart), known.value)).collect())
}

fn handle_in(handle: Handle) -> c_int {
    let value = handle.addr();
    if value < VALUES { numbers()[value] } else { value as u32 as c_int }
}

fn handle_out(handle: c_int, is_apart: bool) -> Handle {
    let value = values().get(&(handle, is_apart)).copied();
    std::ptr::with_exposed_provenance_mut(value.unwrap_or(handle as u32 as usize))
}

macro_rules! handles {
    ($($is_apart:literal $from:ident $to:ident;)*) => {
        $(
            /// # Safety
            /// Nothing is read.
            pub unsafe fn $from(handle: Handle) -> c_int {
                handle_in(handle)
            }

            pub fn $to(handle: c_int) -> Handle {
                handle_out(handle, $is_apart)
            }
        )*
    };
}

handles! {
    false comm_in comm_out;
    false group_in group_out;
    false datatype_in datatype_out;
    false op_in op_out;
    false request_in request_out;
    true message_in message_out;
    false info_in info_out;
    false errhandler_in errhandler_out;
    false win_in win_out;
    false session_in session_out;
}

/// # Safety
/// Nothing is read.
pub unsafe fn file_in(handle: Handle) -> usize {
    handle_in(handle) as u32 as usize
}

pub fn file_out(handle: usize) -> Handle {
    handle_out(handle as c_int, true)
}

/// A status of the standard; what it keeps for the library is MPICH's words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    count_lo: c_int,
    count_hi_and_cancelled: c_int,
    _more: [c_int; 3],
}

impl From<Status> for Inner {
    fn from(status: Status) -> Inner {
        Inner {
            count_lo: status.count_lo,
            count_hi_and_cancelled: status.count_hi_and_cancelled,
            source: rank_in(status.source),
            tag: tag_in(status.tag),
            error: code_in(status.error),
        }
    }
}

impl From<Inner> for Status {
    fn from(status: Inner) -> Status {
        Status {
            source: rank_out(status.source),
            tag: tag_out(status.tag),
            error: code_out(status.error),
            count_lo: status.count_lo,
            count_hi_and_cancelled: status.count_hi_and_cancelled,
            _more: [0; 3],
        }
    }
}

/// MPI_ERR_OTHER.
pub const OTHER: c_int = 16;

/// Addresses that stand for graphs without weights, and for no weights of no neighbours.
pub const UNWEIGHTED: usize = 10;
pub const WEIGHTS_EMPTY: usize = 11;

/// The other number of a pair, where there is a pair with this one.
fn paired(pairs: &[(c_int, c_int)], number: c_int) -> c_int {
    pairs.iter().find(|pair| pair.0 == number).map_or(number, |pair| pair.1)
}

fn paired_back(pairs: &[(c_int, c_int)], number: c_int) -> c_int {
    pairs.iter().find(|pair| pair.1 == number).map_or(number, |pair| pair.0)
}

/// Pairs of numbers: those of the standard, and MPICH's; what translates them there, and back.
macro_rules! numbers {
    ($($(#[$about:meta])* $pairs:ident ($($in:ident)?) ($($out:ident)?) [$($from:literal $to:expr,)*];)*) => {
        $(
            $(#[$about])*
            const $pairs: &[(c_int, c_int)] = &[$(($from, $to)),*];

            $(pub fn $in(number: c_int) -> c_int {
                paired($pairs, number)
            })?

            $(pub fn $out(number: c_int) -> c_int {
                paired_back($pairs, number)
            })?
        )*
    };
}

/// A number that is neither a rank nor a tag.
const NONE: c_int = -9;

numbers! {
    /// Any source, any tag (which is no rank), no process, the root of the other group.
    RANKS (rank_in) (rank_out) [-1 -2, -2 NONE, -3 -1, -4 -3,];
    TAGS (tag_in) (tag_out) [-2 -1, -1 NONE,];
    THREAD_LEVELS (thread_level_in) (thread_level_out) [1024 1, 2048 2, 4096 3,];
    COMPARISONS () (comparison_out) [201 0, 202 1, 203 2, 204 3,];
    /// Graphs are 1 and Cartesian topologies 2 in MPICH.
    TOPOLOGIES () (topology_out) [211 2, 212 1, 213 3,];
    SPLIT_TYPES (split_type_in) () [221 1, 222 3, 223 2, 224 4,];
    ORDERS (order_in) () [12 56, 15 57,];
    DISTRIBUTIONS (distribution_in) () [16 123, 17 121, 18 122,];
    DISTRIBUTION_ARGUMENTS (distribution_argument_in) () [19 -49767,];
    LOCKS (lock_in) () [301 234, 302 235,];
    POSITIONS (whence_in) () [401 602, 402 604, 403 600,];
    TYPE_CLASSES (type_class_in) () [192 2, 193 1, 194 3,];
    /// Kinds of windows, and models of their memory, as attributes tell them.
    FLAVORS () (flavor_out) [311 1, 312 2, 313 3, 314 4,];
    MODELS () (model_out) [321 2, 322 1,];
    KEYVALS (keyval_in) () [
        0 0x2400_0000,
        501 0x6440_0001,
        502 0x6440_0005,
        503 0x6440_0003,
        504 0x6440_0007,
        505 0x6440_000d,
        506 0x6440_000b,
        507 0x6440_0009,
        601 0x6600_0001,
        602 0x6600_0005,
        603 0x6600_0003,
        604 0x6600_0007,
        605 0x6600_0009,
    ];
    /// Errors of the interface for tools.
    TOOL_CODES (tool_code_in) (tool_code_out) [
        1001 61, 1003 60, 1005 59, 1006 74, 1007 62, 1008 63, 1009 67, 1010 64, 1011 73, 1012 65, 1013 66, 1014 68,
        1015 69, 1016 71, 1017 70, 1018 72,
    ];
}

/// A kind of attributes that has been freed.
pub fn keyval_out(_: c_int) -> c_int {
    0
}

/// MPICH's constructors of datatypes, from 1.
const COMBINERS: [c_int; 20] =
    [101, 102, 103, 104, 105, 105, 106, 107, 107, 108, 110, 110, 111, 112, 113, 114, 115, 116, 109, 117];

pub fn combiner_out(combiner: c_int) -> c_int {
    let known = usize::try_from(combiner - 1).ok().and_then(|index| COMBINERS.get(index));
    known.copied().unwrap_or(combiner)
}

/// Bits of `flags` as the bits that they stand for; a bit that stands for none becomes one that nothing has.
fn flags(pairs: &[(c_int, c_int)], flags: c_int) -> c_int {
    const UNKNOWN: c_int = 1 << 29;
    let bits = (0..31).map(|bit| 1 << bit).filter(|bit| flags & bit != 0);
    bits.map(|bit| pairs.iter().find(|pair| pair.0 == bit).map_or(UNKNOWN, |pair| pair.1)).fold(0, |all, bit| all | bit)
}

/// What windows are told: no check, nothing before, no put, no store, nothing after.
pub fn assertion_in(assertion: c_int) -> c_int {
    flags(&[(1024, 1024), (2048, 8192), (4096, 4096), (8192, 2048), (16384, 16384)], assertion)
}

/// How files are opened: appending, creating, and so on, in the order of the alphabet.
const FILE_MODES: [(c_int, c_int); 9] =
    [(1, 128), (2, 1), (4, 16), (8, 64), (16, 2), (32, 8), (64, 256), (128, 32), (256, 4)];

pub fn file_mode_in(mode: c_int) -> c_int {
    flags(&FILE_MODES, mode)
}

pub fn file_mode_out(mode: c_int) -> c_int {
    flags(&FILE_MODES.map(|(standard, inner)| (inner, standard)), mode)
}

/// The displacement at hand.
pub fn displacement_in(displacement: Aint) -> Aint {
    if displacement == -1 { -54_278_278 } else { displacement }
}

/// The address that stands for memory of the library, and MPICH's.
const AUTOMATIC: (usize, usize) = (2, 2_usize.wrapping_neg());

/// Memory for buffered sends.
pub fn attached_in(buffer: *mut c_void) -> *mut c_void {
    if buffer.addr() == AUTOMATIC.0 { std::ptr::without_provenance_mut(AUTOMATIC.1) } else { buffer }
}

/// # Safety
/// The address is that of an address, or null.
pub unsafe fn attached_out(buffer: *mut c_void) {
    // SAFETY: the program hands in where the address belongs.
    if let Some(address) = unsafe { buffer.cast::<usize>().as_mut() }.filter(|address| **address == AUTOMATIC.1) {
        *address = AUTOMATIC.0;
    }
}

/// A function that copies attributes.
pub type Copy = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;

/// A function that copies attributes: 0 stands for none, and 1 for one that copies them as they are.
///
/// # Safety
/// It is one of the program, or such a number.
pub unsafe fn copy_in(function: *const c_void) -> Option<Copy> {
    match function.addr() {
        0 => None,
        1 => Some(copied_as_it_is),
        // SAFETY: the caller hands in a function of this type.
        _ => unsafe { std::mem::transmute::<*const c_void, Option<Copy>>(function) },
    }
}

unsafe extern "C" fn copied_as_it_is(
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

/// Classes of errors in the standard's order, from 0, by their numbers in MPICH.
const CLASSES: [c_int; 63] = [
    0, 1, 2, 3, 4, 5, 6, 19, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 17, 20, 21, 53, 22, 46, 23, 52, 24, 25, 26, 27,
    29, 31, 30, 28, 32, 48, 47, 33, 34, 35, 36, 37, 38, 39, 40, 56, 49, 55, 57, 50, 41, 51, 42, 43, 44, 45, 58, 76, 77,
    75, 80, 81,
];

/// Bits of a code of MPICH that tell its class; the others tell what was said.
const CLASS_BITS: c_int = 0xff;

/// The first code that a program has added.
const FIRST_ADDED: c_int = 0x4000_0000;

/// MPICH's code of an error.
pub fn code_in(code: c_int) -> c_int {
    if code >= FIRST_ADDED {
        return code;
    }
    let tool = tool_code_in(code);
    if tool != code {
        return tool;
    }
    let class = usize::try_from(code & CLASS_BITS).ok().and_then(|index| CLASSES.get(index));
    class.map_or(13, |class| class | (code & !CLASS_BITS))
}

/// The standard's code of an error: its class, and what MPICH has beside it.
pub fn code_out(code: c_int) -> c_int {
    if code >= FIRST_ADDED {
        return code;
    }
    let class = code & CLASS_BITS;
    match CLASSES.iter().position(|&other| other == class) {
        Some(index) => index as c_int | (code & !CLASS_BITS),
        None => Some(tool_code_out(class)).filter(|&tool| tool != class).unwrap_or(14),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_libraries_have_comes_back_as_it_was() {
        for rank in [-4, -3, -1, 0, 7] {
            assert_eq!(rank_out(rank_in(rank)), rank);
        }
        for tag in [-2, 0, 9] {
            assert_eq!(tag_out(tag_in(tag)), tag);
        }
        for code in (0..63).chain([1001, 1003, 1018, 15 | 7 << 8]) {
            assert_eq!(code_out(code_in(code)), code);
        }
        for mode in 0..512 {
            assert_eq!(file_mode_out(file_mode_in(mode)), mode);
        }
        for known in KNOWN {
            let handle: Handle = std::ptr::without_provenance_mut(known.value);
            assert_eq!(handle_out(handle_in(handle), known.is_apart), handle);
        }
        let status = Status { source: -3, tag: -2, error: 15, count_lo: 7, count_hi_and_cancelled: 3, _more: [0; 3] };
        let back = Status::from(Inner::from(status));
        assert_eq!((back.source, back.tag, back.error), (-3, -2, 15));
        assert_eq!((back.count_lo, back.count_hi_and_cancelled), (7, 3));
        assert_eq!(assertion_in(1024 | 2048), 1024 | 8192);
    }

    #[test]
    fn what_the_standard_has_not_is_nothing_that_mpich_has() {
        assert_eq!(rank_in(-2), NONE);
        assert_eq!(file_mode_in(1 << 12), 1 << 29);
        assert_eq!(handle_in(std::ptr::without_provenance_mut(0xfff)), 0);
    }
}
