//! Files, as programs read and write them.
//!
//! A backend offers the [`FileSystem`]s it has through [`Communicator::files`](crate::Communicator::files): those of
//! the node it runs on, an MPI library's, or in virtual time those of the described machine. [`PosixFiles`] is for
//! every backend of real time.

mod posix;
mod system;

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;

use crate::error::CommError;
use crate::payload::Payload;

pub use posix::PosixFiles;

/// A route to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileSystem {
    /// The operating system's own calls on the node.
    Posix,
    /// The files of MPI (MPI-IO).
    MpiIo,
    /// The concurrent file system of a described machine: files striped over I/O nodes.
    Concurrent,
    /// Files of a described machine's host, which nodes reach through the host's link.
    Host,
}

impl FileSystem {
    /// Every file system.
    pub const ALL: [FileSystem; 4] = [FileSystem::Posix, FileSystem::MpiIo, FileSystem::Concurrent, FileSystem::Host];

    /// The name in requests and rows.
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Posix => "posix",
            FileSystem::MpiIo => "mpi-io",
            FileSystem::Concurrent => "concurrent",
            FileSystem::Host => "host",
        }
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no [`FileSystem`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no file system '{0}'; there are {names}", names = FileSystem::ALL.map(FileSystem::name).join(", "))]
pub struct UnknownFileSystem(pub String);

impl FromStr for FileSystem {
    type Err = UnknownFileSystem;
    fn from_str(name: &str) -> Result<FileSystem, UnknownFileSystem> {
        let known = FileSystem::ALL.into_iter().find(|system| system.name() == name);
        known.ok_or_else(|| UnknownFileSystem(name.to_owned()))
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read a file that is there.
    Read,
    /// To read and write; it is made where it is not there, and keeps its content where it is.
    ReadWrite,
}

/// An open file of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub usize);

/// What became of the system's cached copy of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// None of the offsets looked at is in memory: the next read comes from the device (or from its own cache).
    Dropped,
    /// Some of it is still in memory, as of every file on a file system that lives there.
    Kept,
    /// The system does not tell.
    Unknown,
}

impl Cache {
    /// The word in rows.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Dropped => "dropped",
            Cache::Kept => "kept",
            Cache::Unknown => "unknown",
        }
    }
}

/// What a call on a file gives, once awaited. On the backends of real time it blocks the thread.
pub type FileFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, CommError>> + 'a>>;

/// The files of one file system, as one rank reaches them.
///
/// All calls are of one rank alone, none is collective. Every error is [`crate::Failure::File`], which says what was
/// done to which file and why it failed.
pub trait Files {
    /// Opens a file.
    fn open<'a>(&'a self, path: &'a str, access: Access) -> FileFuture<'a, FileId>;
    /// The length of a file in bytes.
    fn length(&self, file: FileId) -> FileFuture<'_, u64>;
    /// Reserves space for `bytes` bytes, so that writing up to there need not look for any (CFS: `lsize`, POSIX:
    /// `posix_fallocate`, MPI: `MPI_File_preallocate`); the file is then at least that long.
    fn preallocate(&self, file: FileId, bytes: u64) -> FileFuture<'_, ()>;
    /// Reads exactly `into.len()` bytes from `offset` on. The payload is what was written: data or a phantom; where a
    /// file ends before, that is an error.
    fn read_at(&self, file: FileId, offset: u64, into: Payload) -> FileFuture<'_, Payload>;
    /// Writes all of `from` from `offset` on and gives the payload back. On real backends a phantom writes bytes of no
    /// meaning.
    fn write_at(&self, file: FileId, offset: u64, from: Payload) -> FileFuture<'_, Payload>;
    /// Waits until all that was written is on the device.
    fn sync(&self, file: FileId) -> FileFuture<'_, ()>;
    /// Asks the system to forget its cached copy of a file, and looks whether it has.
    fn drop_cached(&self, file: FileId) -> FileFuture<'_, Cache>;
    /// Closes a file.
    fn close(&self, file: FileId) -> FileFuture<'_, ()>;
    /// Removes a file.
    fn unlink<'a>(&'a self, path: &'a str) -> FileFuture<'a, ()>;
    /// A directory for files that are removed afterwards: TMPDIR where one is set.
    fn scratch_directory(&self) -> String;
    /// What kind of file system `path` is on, for people: `ext4`, `tmpfs`, `4 I/O nodes`.
    fn kind_of(&self, path: &str) -> String;
}
