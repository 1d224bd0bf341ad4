//! Numbers and layouts of the binary interface that programs were compiled for: MPICH's, which MVAPICH, Intel MPI and
//! Cray MPI share (the MPICH ABI Compatibility Initiative; values from `mpi.h` of MPICH 4 and 5).

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicPtr;

pub type Aint = isize;
pub type Comm = c_int;
pub type Group = c_int;
pub type Datatype = c_int;
pub type Op = c_int;
pub type Request = c_int;
pub type Message = c_int;
pub type Info = c_int;
pub type Errhandler = c_int;
pub type Win = c_int;
pub type Session = c_int;
/// A pointer in C; here a handle, 0 for none.
pub type File = usize;

/// What a call tells of a message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub count_lo: c_int,
    pub count_hi_and_cancelled: c_int,
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}

impl Status {
    /// The address that says that nobody wants to know.
    pub const IGNORE: *mut Status = std::ptr::without_provenance_mut(1);

    pub fn bytes(&self) -> u64 {
        (self.count_lo as u32 as u64) | (((self.count_hi_and_cancelled as u32 as u64) >> 1) << 32)
    }

    pub fn set_bytes(&mut self, bytes: u64) {
        let cancelled = self.count_hi_and_cancelled & 1;
        self.count_lo = bytes as u32 as c_int;
        self.count_hi_and_cancelled = (((bytes >> 32) << 1) as u32 as c_int) | cancelled;
    }

    pub fn is_cancelled(&self) -> bool {
        self.count_hi_and_cancelled & 1 != 0
    }

    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.count_hi_and_cancelled = (self.count_hi_and_cancelled & !1) | c_int::from(cancelled);
    }
}

pub const SUCCESS: c_int = 0;
pub const PROC_NULL: c_int = -1;
pub const ANY_SOURCE: c_int = -2;
pub const ROOT: c_int = -3;
pub const ANY_TAG: c_int = -1;
pub const UNDEFINED: c_int = -32766;
pub const BOTTOM: *mut c_void = std::ptr::null_mut();

/// Whether a buffer stands for the other one of its call.
pub fn is_in_place(buffer: *const c_void) -> bool {
    buffer as isize == -1
}

/// Kinds of handles, in bits 26 to 29; bit 30 says predefined, bit 31 made by the program.
pub mod kind {
    pub const COMM: u32 = 1;
    pub const GROUP: u32 = 2;
    pub const DATATYPE: u32 = 3;
    pub const ERRHANDLER: u32 = 5;
    pub const OP: u32 = 6;
    pub const INFO: u32 = 7;
    pub const WIN: u32 = 8;
    pub const KEYVAL: u32 = 9;
    pub const REQUEST: u32 = 11;
    pub const FILE: u32 = 12;
    pub const SESSION: u32 = 14;
}

pub const fn null(kind: u32) -> c_int {
    (kind << 26) as c_int
}

pub const COMM_NULL: Comm = null(kind::COMM);
pub const COMM_WORLD: Comm = 0x4400_0000;
pub const COMM_SELF: Comm = 0x4400_0001;
pub const GROUP_NULL: Group = null(kind::GROUP);
pub const GROUP_EMPTY: Group = 0x4800_0000;
pub const DATATYPE_NULL: Datatype = null(kind::DATATYPE);
pub const BYTE: Datatype = 0x4c00_010d;
pub const OP_NULL: Op = null(kind::OP);
pub const REQUEST_NULL: Request = null(kind::REQUEST);
pub const MESSAGE_NULL: Message = null(kind::REQUEST);
pub const MESSAGE_NO_PROC: Message = 0x6c00_0000;
pub const INFO_NULL: Info = null(kind::INFO);
pub const INFO_ENV: Info = 0x5c00_0001;
pub const ERRHANDLER_NULL: Errhandler = null(kind::ERRHANDLER);
pub const ERRORS_ARE_FATAL: Errhandler = 0x5400_0000;
pub const ERRORS_RETURN: Errhandler = 0x5400_0001;
pub const ERRORS_ABORT: Errhandler = 0x5400_0003;
pub const WIN_NULL: Win = null(kind::WIN);
pub const SESSION_NULL: Session = null(kind::SESSION);
pub const FILE_NULL: File = 0;
pub const KEYVAL_INVALID: c_int = null(kind::KEYVAL);

pub const TAG_UB: c_int = 0x6440_0001;
pub const HOST: c_int = 0x6440_0003;
pub const IO: c_int = 0x6440_0005;
pub const WTIME_IS_GLOBAL: c_int = 0x6440_0007;
pub const UNIVERSE_SIZE: c_int = 0x6440_0009;
pub const LASTUSEDCODE: c_int = 0x6440_000b;
pub const APPNUM: c_int = 0x6440_000d;
pub const WIN_BASE: c_int = 0x6600_0001;
pub const WIN_SIZE: c_int = 0x6600_0003;
pub const WIN_DISP_UNIT: c_int = 0x6600_0005;
pub const WIN_CREATE_FLAVOR: c_int = 0x6600_0007;
pub const WIN_MODEL: c_int = 0x6600_0009;

pub const THREAD_SINGLE: c_int = 0;
pub const THREAD_SERIALIZED: c_int = 2;
pub const THREAD_MULTIPLE: c_int = 3;

pub const IDENT: c_int = 0;
pub const CONGRUENT: c_int = 1;
pub const SIMILAR: c_int = 2;
pub const UNEQUAL: c_int = 3;

pub const GRAPH: c_int = 1;
pub const CART: c_int = 2;
pub const DIST_GRAPH: c_int = 3;

pub const COMM_TYPE_SHARED: c_int = 1;
pub const COMM_TYPE_HW_GUIDED: c_int = 2;
pub const COMM_TYPE_HW_UNGUIDED: c_int = 3;
pub const COMM_TYPE_RESOURCE_GUIDED: c_int = 4;
pub const COMM_TYPE_NEIGHBORHOOD: c_int = 5;

pub const MAX_PROCESSOR_NAME: usize = 128;
pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub const MAX_ERROR_STRING: usize = 512;
pub const MAX_OBJECT_NAME: usize = 128;
pub const MAX_DATAREP_STRING: usize = 128;
pub const MAX_INFO_KEY: usize = 255;
pub const MAX_INFO_VAL: usize = 1024;
pub const BSEND_OVERHEAD: usize = 96;
/// The address that asks for a buffer of the library's own.
pub const BUFFER_AUTOMATIC: usize = 2_usize.wrapping_neg();

/// The standard that is kept to.
pub const VERSION: (c_int, c_int) = (5, 0);

/// Addresses that programs compare with, or hand in.
#[repr(transparent)]
pub struct Address(pub *mut c_int);
// SAFETY: the pointers are never followed.
unsafe impl Sync for Address {}

static UNWEIGHTED_TARGET: c_int = 0;
static WEIGHTS_EMPTY_TARGET: c_int = 0;
#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Address = Address((&raw const UNWEIGHTED_TARGET).cast_mut());
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Address = Address((&raw const WEIGHTS_EMPTY_TARGET).cast_mut());
/// MPICH's library of Fortran writes these when it starts.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: AtomicPtr<c_int> = AtomicPtr::new(std::ptr::null_mut());
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: AtomicPtr<c_int> = AtomicPtr::new(std::ptr::null_mut());

/// Sizes that are narrow in one function and wide in its twin.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    address: *const c_void,
    is_large: bool,
}

impl Counts {
    pub fn small(address: *const c_int) -> Counts {
        Counts { address: address.cast(), is_large: false }
    }

    pub fn large(address: *const Aint) -> Counts {
        Counts { address: address.cast(), is_large: true }
    }

    pub fn is_null(self) -> bool {
        self.address.is_null()
    }

    pub fn get(self, index: usize) -> Aint {
        // SAFETY: the caller of MPI hands in as many counts as the call has use for.
        unsafe {
            if self.is_large {
                *self.address.cast::<Aint>().add(index)
            } else {
                *self.address.cast::<c_int>().add(index) as Aint
            }
        }
    }

    pub fn list(self, len: usize) -> Vec<Aint> {
        (0..len).map(|index| self.get(index)).collect()
    }
}

/// Where a size is written that is narrow in one function and wide in its twin.
#[derive(Clone, Copy, Debug)]
pub struct CountOut {
    address: *mut c_void,
    is_large: bool,
}

impl CountOut {
    pub fn small(address: *mut c_int) -> CountOut {
        CountOut { address: address.cast(), is_large: false }
    }

    pub fn large(address: *mut Aint) -> CountOut {
        CountOut { address: address.cast(), is_large: true }
    }

    /// Writes `count`; what does not fit is undefined.
    pub fn set(self, count: Aint) {
        // SAFETY: the caller of MPI hands in the address of a count of this width.
        unsafe {
            if self.is_large {
                *self.address.cast::<Aint>() = count;
            } else {
                *self.address.cast::<c_int>() = c_int::try_from(count).unwrap_or(UNDEFINED);
            }
        }
    }

    pub fn get(self) -> Aint {
        // SAFETY: as of `set`, and the count was written before.
        unsafe { if self.is_large { *self.address.cast::<Aint>() } else { *self.address.cast::<c_int>() as Aint } }
    }
}

/// A function of the program, and whether it was handed to the wide twin.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    pub function: *const c_void,
    pub large: bool,
}
