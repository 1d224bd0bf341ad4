//! What goes wrong in a call of MPI: a class of the standard, and a sentence.

use std::collections::BTreeMap;
use std::ffi::c_int;

use weft_comm::{CommError, Failure, Tag};

use crate::abi::Comm;

macro_rules! classes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        /// Classes of errors: the standard's whole table.
        #[allow(dead_code, reason = "a table is whole whoever reads it")]
        pub mod class {
            $(pub const $name: std::ffi::c_int = $value;)*
        }

        /// What a class is called, and what it says.
        pub fn describe(class: c_int) -> Option<(&'static str, &'static str)> {
            match class {
                $($value => Some((concat!("MPI_", stringify!($name)), $text)),)*
                _ => None,
            }
        }
    };
}

classes! {
    SUCCESS = 0, "no error";
    ERR_BUFFER = 1, "invalid buffer pointer";
    ERR_COUNT = 2, "invalid count";
    ERR_TYPE = 3, "invalid datatype";
    ERR_TAG = 4, "invalid tag";
    ERR_COMM = 5, "invalid communicator";
    ERR_RANK = 6, "invalid rank";
    ERR_ROOT = 7, "invalid root";
    ERR_GROUP = 8, "invalid group";
    ERR_OP = 9, "invalid reduction operation";
    ERR_TOPOLOGY = 10, "invalid communicator topology";
    ERR_DIMS = 11, "invalid number of dimensions";
    ERR_ARG = 12, "invalid argument";
    ERR_UNKNOWN = 13, "unknown error";
    ERR_TRUNCATE = 14, "message truncated";
    ERR_OTHER = 15, "other error";
    ERR_INTERN = 16, "internal error";
    ERR_IN_STATUS = 17, "see the error in the status";
    ERR_PENDING = 18, "pending request";
    ERR_REQUEST = 19, "invalid request";
    ERR_ACCESS = 20, "access denied to file";
    ERR_AMODE = 21, "invalid access mode";
    ERR_BAD_FILE = 22, "invalid file name";
    ERR_CONVERSION = 23, "an error occurred in a user data conversion function";
    ERR_DUP_DATAREP = 24, "the data representation is already defined";
    ERR_FILE_EXISTS = 25, "file exists";
    ERR_FILE_IN_USE = 26, "file in use by some process";
    ERR_FILE = 27, "invalid file";
    ERR_INFO = 28, "invalid info";
    ERR_INFO_KEY = 29, "invalid key of an info";
    ERR_INFO_VALUE = 30, "invalid value of an info";
    ERR_INFO_NOKEY = 31, "the info has no such key";
    ERR_IO = 32, "other input or output error";
    ERR_NAME = 33, "invalid service name";
    ERR_NO_MEM = 34, "out of memory";
    ERR_NOT_SAME = 35, "collective arguments differ between processes";
    ERR_NO_SPACE = 36, "not enough space for file";
    ERR_NO_SUCH_FILE = 37, "file does not exist";
    ERR_PORT = 38, "invalid port";
    ERR_QUOTA = 39, "quota exceeded";
    ERR_READ_ONLY = 40, "read-only file or file system";
    ERR_SERVICE = 41, "invalid service name";
    ERR_SPAWN = 42, "error in spawn";
    ERR_UNSUPPORTED_DATAREP = 43, "unsupported data representation";
    ERR_UNSUPPORTED_OPERATION = 44, "unsupported operation";
    ERR_WIN = 45, "invalid window";
    ERR_BASE = 46, "invalid base address";
    ERR_LOCKTYPE = 47, "invalid lock type";
    ERR_KEYVAL = 48, "invalid keyval";
    ERR_RMA_CONFLICT = 49, "conflicting accesses to window";
    ERR_RMA_SYNC = 50, "wrong synchronization of one-sided calls";
    ERR_SIZE = 51, "invalid size";
    ERR_DISP = 52, "invalid displacement";
    ERR_ASSERT = 53, "invalid assertion";
    ERR_RMA_RANGE = 55, "target memory is not part of the window";
    ERR_RMA_ATTACH = 56, "memory cannot be attached";
    ERR_RMA_SHARED = 57, "memory cannot be shared";
    ERR_RMA_FLAVOR = 58, "wrong flavor of window";
    T_ERR_NOT_INITIALIZED = 60, "interface for tools not initialized";
    T_ERR_INVALID_SESSION = 67, "invalid session of the interface for tools";
    T_ERR_INVALID_NAME = 73, "the interface for tools knows no such name";
    ERR_SESSION = 75, "invalid session";
    ERR_PROC_ABORTED = 76, "a process has aborted";
    ERR_VALUE_TOO_LARGE = 77, "value is too large to store";
    ERR_ERRHANDLER = 80, "invalid error handler";
    ERR_ABI = 81, "binary interface already set";
}

/// The last code of the standard; those of programs come after it.
pub const LAST_CODE: c_int = 0x3fff_ffff;

/// A call that failed.
#[derive(Clone, Debug)]
pub struct Fault {
    pub class: c_int,
    pub message: String,
    /// Source and tag of the message that it is about.
    pub of: Option<(c_int, c_int)>,
    /// The communicator of the request that it is about, whose error handler is called.
    pub comm: Option<Comm>,
}

impl Fault {
    pub fn new(class: c_int, message: impl Into<String>) -> Fault {
        Fault { class, message: message.into(), of: None, comm: None }
    }

    /// Of a request that is a communicator's.
    pub fn of_request(self, comm: Comm) -> Fault {
        Fault { comm: Some(comm), ..self }
    }
}

/// What a call comes to.
pub type Answer = Result<(), Fault>;

impl From<CommError> for Fault {
    fn from(error: CommError) -> Fault {
        let class = match error.failure() {
            Failure::Truncated { .. } => class::ERR_TRUNCATE,
            Failure::NoSuchRank { .. } => class::ERR_RANK,
            Failure::TagTooLarge { .. } => class::ERR_TAG,
            Failure::MismatchedArguments { .. } => class::ERR_ARG,
            _ => class::ERR_OTHER,
        };
        let of = match *error.failure() {
            Failure::Truncated { source_rank, tag: Tag::User(tag), .. } => Some((source_rank as c_int, tag as c_int)),
            _ => None,
        };
        Fault { of, ..Fault::new(class, error.to_string()) }
    }
}

/// Fails unless `holds`.
pub fn require(holds: bool, class: c_int, message: impl FnOnce() -> String) -> Answer {
    if holds { Ok(()) } else { Err(Fault::new(class, message())) }
}

/// Classes and codes of the program.
#[derive(Debug, Default)]
pub struct UserErrors {
    /// The class of each code; classes are codes of themselves.
    pub classes: BTreeMap<c_int, c_int>,
    pub texts: BTreeMap<c_int, Vec<u8>>,
    next: c_int,
}

impl UserErrors {
    /// A new code of `class`; a new class where there is none.
    pub fn add(&mut self, class: Option<c_int>) -> c_int {
        self.next += 1;
        let code = LAST_CODE + self.next;
        self.classes.insert(code, class.unwrap_or(code));
        code
    }

    /// The last code that is in use.
    pub fn last(&self) -> c_int {
        LAST_CODE + self.next
    }
}
