//! Files of MPI: real files, seen through views (MPI 4.1, chapter 14).

mod cost;
mod view;

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::abi::{self, Errhandler};
use crate::communicator::Communicator;
use crate::fault::{Fault, class};
use crate::info::Info;
use crate::processes::codec::{Move, Range};
use crate::request::Request;

pub use cost::Cost;
pub use view::{Representation, View};

/// How a file may be accessed, in bits (`mpi.h` of MPICH).
pub mod mode {
    use std::ffi::c_int;
    pub const CREATE: c_int = 1;
    pub const RDONLY: c_int = 2;
    pub const WRONLY: c_int = 4;
    pub const RDWR: c_int = 8;
    pub const DELETE_ON_CLOSE: c_int = 16;
    pub const EXCL: c_int = 64;
    pub const APPEND: c_int = 128;
    pub const SEQUENTIAL: c_int = 256;
    /// All bits, with that of files which nobody else opens.
    pub const ALL: c_int = 511;
}

/// Two calls that are one collective access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    ReadAt,
    WriteAt,
    Read,
    Write,
    ReadOrdered,
    WriteOrdered,
}

/// What all ranks that have opened a file together share.
#[derive(Debug, Default)]
pub struct Joint {
    /// The shared file pointer, in elements of the view; where ranks have processes of their own, the hub has it.
    position: Cell<u64>,
    pub atomic: Cell<bool>,
}

/// A file as one of the ranks that opened it together sees it.
pub struct File {
    /// Its own communicator: calls on files meet no others.
    pub comm: Communicator,
    pub path: PathBuf,
    pub amode: std::ffi::c_int,
    handle: fs::File,
    pub view: RefCell<Rc<View>>,
    /// The individual file pointer, in elements of the view.
    pub position: Cell<u64>,
    pub joint: Rc<Joint>,
    pub info: RefCell<Info>,
    pub errhandler: Cell<Errhandler>,
    /// A split collective that has begun.
    pub split: RefCell<Option<(Split, Rc<Request>)>>,
    pub cost: Cost,
}

impl File {
    pub fn new(
        comm: Communicator,
        (path, amode): (PathBuf, std::ffi::c_int),
        handle: fs::File,
        (view, info): (View, Info),
        joint: Rc<Joint>,
        cost: Cost,
    ) -> File {
        File {
            comm,
            path,
            amode,
            handle,
            view: RefCell::new(Rc::new(view)),
            position: Cell::new(0),
            joint,
            info: RefCell::new(info),
            errhandler: Cell::new(abi::ERRORS_RETURN),
            split: RefCell::default(),
            cost,
        }
    }

    /// Moves the shared file pointer; where it was, in elements of the view.
    pub fn move_shared(&self, to: Move) -> u64 {
        let key = (self.comm.context, self.comm.group.members[0]);
        let here = || {
            let position = &self.joint.position;
            position.replace(to.apply(position.get()))
        };
        self.comm.link.move_pointer(key, to).unwrap_or_else(here)
    }

    /// The shared file pointer, in elements of the view.
    pub fn shared_position(&self) -> u64 {
        self.move_shared(Move::By(0))
    }

    pub fn may(&self, bits: std::ffi::c_int) -> bool {
        self.amode & bits != 0
    }

    pub fn length(&self) -> Result<u64, Fault> {
        Ok(self.handle.metadata().map_err(|error| fault(&error, &self.path))?.len())
    }

    pub fn set_length(&self, bytes: u64) -> Result<(), Fault> {
        self.handle.set_len(bytes).map_err(|error| fault(&error, &self.path))
    }

    /// Reads what there is of the ranges; fewer bytes where the file ends.
    pub fn read(&self, ranges: &[Range], data: &mut [u8]) -> Result<usize, Fault> {
        let _lock = self.lock();
        let mut filled = 0;
        for range in ranges {
            let part = &mut data[filled..filled + range.bytes];
            let read = read_at(&self.handle, part, range.offset).map_err(|error| fault(&error, &self.path))?;
            filled += read;
            if read < range.bytes {
                break;
            }
        }
        Ok(filled)
    }

    /// In atomic mode, one access at a time: ranks that are processes access the file while others do, and an access of
    /// several ranges is several calls.
    fn lock(&self) -> Option<Lock<'_>> {
        self.joint.atomic.get().then(|| Lock::of(&self.handle))
    }

    pub fn write(&self, ranges: &[Range], data: &[u8]) -> Result<(), Fault> {
        let _lock = self.lock();
        let mut written = 0;
        for range in ranges {
            let part = &data[written..written + range.bytes];
            self.handle.write_all_at(part, range.offset).map_err(|error| fault(&error, &self.path))?;
            written += range.bytes;
        }
        Ok(())
    }
}

/// A file that others who lock it wait for. A file system without locks has none here either.
struct Lock<'a>(&'a fs::File);

impl Lock<'_> {
    fn of(file: &fs::File) -> Lock<'_> {
        // SAFETY: the descriptor is that of an open file.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
        Lock(file)
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // SAFETY: the descriptor is that of an open file.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

/// Fills `data` from an offset on; returns fewer bytes only at the end of the file.
fn read_at(file: &fs::File, data: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < data.len() {
        match file.read_at(&mut data[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Opens a file of the operating system; `creates` only on the rank that comes first.
pub fn open(path: &Path, amode: std::ffi::c_int, creates: bool) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(amode & mode::WRONLY == 0).write(amode & mode::RDONLY == 0);
    if creates && amode & mode::CREATE != 0 {
        // Making a file takes the right to write, whatever it is opened for.
        options.create_new(amode & mode::EXCL != 0).create(true);
    }
    options.open(path)
}

/// What the operating system says, as an error of MPI.
pub fn fault(error: &io::Error, path: &Path) -> Fault {
    let class = match error.kind() {
        ErrorKind::NotFound => class::ERR_NO_SUCH_FILE,
        ErrorKind::AlreadyExists => class::ERR_FILE_EXISTS,
        ErrorKind::PermissionDenied => class::ERR_ACCESS,
        ErrorKind::StorageFull => class::ERR_NO_SPACE,
        ErrorKind::QuotaExceeded => class::ERR_QUOTA,
        ErrorKind::ReadOnlyFilesystem => class::ERR_READ_ONLY,
        ErrorKind::InvalidFilename | ErrorKind::NotADirectory | ErrorKind::IsADirectory => class::ERR_BAD_FILE,
        _ => class::ERR_IO,
    };
    Fault::new(class, format!("{}: {error}", path.display()))
}
