//! The operating system's own files.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::future::ready;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::system;
use super::{Access, Cache, FileFuture, FileId, Files};
use crate::error::{CommError, Failure};
use crate::payload::{Buffer, Payload};

/// The files of the node a rank runs on, through the operating system's own calls.
#[derive(Debug)]
pub struct PosixFiles {
    /// For errors.
    world_rank: usize,
    open: RefCell<Vec<Option<Open>>>,
    /// What phantoms write and read into.
    scratch: RefCell<Buffer>,
}

#[derive(Debug)]
struct Open {
    file: File,
    path: String,
}

impl PosixFiles {
    /// The files of the rank `world_rank`.
    pub fn new(world_rank: usize) -> PosixFiles {
        PosixFiles { world_rank, open: RefCell::default(), scratch: RefCell::new(Buffer::zeroed(0)) }
    }

    fn error(&self, what: &str, path: &str, error: &std::io::Error) -> CommError {
        let (rank, operation, path) = (self.world_rank, what.to_owned(), path.to_owned());
        Failure::File { rank, operation, path, message: reason(error) }.into()
    }

    /// Does something to an open file.
    fn with<T>(&self, file: FileId, what: &str, act: impl FnOnce(&File) -> std::io::Result<T>) -> Result<T, CommError> {
        let open = self.open.borrow();
        match open.get(file.0).and_then(Option::as_ref) {
            Some(open) => act(&open.file).map_err(|error| self.error(what, &open.path, &error)),
            None => Err(self.error(what, "(closed)", &std::io::Error::other("the file is not open"))),
        }
    }

    fn with_scratch<T>(&self, bytes: usize, act: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut scratch = self.scratch.borrow_mut();
        if scratch.len() < bytes {
            *scratch = Buffer::page_aligned(bytes);
        }
        act(&mut scratch[..bytes])
    }
}

/// The system's words, with what to do where that is known.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("{error}; ask for fewer bytes or set TMPDIR to a directory with more room")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!("{error}; set TMPDIR to a directory that can be written")
        }
        ErrorKind::NotFound => format!("{error}; set TMPDIR to a directory that is there"),
        ErrorKind::UnexpectedEof => "the file ends before the bytes asked for: it is truncated".to_owned(),
        _ => error.to_string(),
    }
}

fn now<'a, T: 'a>(result: Result<T, CommError>) -> FileFuture<'a, T> {
    Box::pin(ready(result))
}

impl Files for PosixFiles {
    fn open<'a>(&'a self, path: &'a str, access: Access) -> FileFuture<'a, FileId> {
        let mut options = OpenOptions::new();
        options.read(true);
        if access == Access::ReadWrite {
            options.write(true).create(true).truncate(false);
        }
        now(options.open(path).map_err(|error| self.error("open", path, &error)).map(|file| {
            let mut open = self.open.borrow_mut();
            open.push(Some(Open { file, path: path.to_owned() }));
            FileId(open.len() - 1)
        }))
    }

    fn length(&self, file: FileId) -> FileFuture<'_, u64> {
        now(self.with(file, "look at", |file| file.metadata().map(|metadata| metadata.len())))
    }

    fn preallocate(&self, file: FileId, bytes: u64) -> FileFuture<'_, ()> {
        now(self.with(file, "preallocate", |file| system::reserve(file, bytes)))
    }

    fn read_at(&self, file: FileId, offset: u64, into: Payload) -> FileFuture<'_, Payload> {
        now(match into {
            Payload::Data(mut buffer) => {
                let read = self.with(file, "read", |file| file.read_exact_at(&mut buffer, offset));
                read.map(|()| Payload::Data(buffer))
            }
            Payload::Phantom(bytes) => self.with_scratch(bytes, |scratch| {
                self.with(file, "read", |file| file.read_exact_at(scratch, offset)).map(|()| Payload::Phantom(bytes))
            }),
        })
    }

    fn write_at(&self, file: FileId, offset: u64, from: Payload) -> FileFuture<'_, Payload> {
        let written = match &from {
            Payload::Data(buffer) => self.with(file, "write", |file| file.write_all_at(buffer, offset)),
            Payload::Phantom(bytes) => {
                self.with_scratch(*bytes, |scratch| self.with(file, "write", |file| file.write_all_at(scratch, offset)))
            }
        };
        now(written.map(|()| from))
    }

    fn sync(&self, file: FileId) -> FileFuture<'_, ()> {
        now(self.with(file, "sync", File::sync_all))
    }

    fn drop_cached(&self, file: FileId) -> FileFuture<'_, Cache> {
        now(self.with(file, "drop the cached copy of", system::forget))
    }

    fn close(&self, file: FileId) -> FileFuture<'_, ()> {
        let closed = self.open.borrow_mut().get_mut(file.0).and_then(Option::take);
        now(match closed {
            Some(_) => Ok(()),
            None => Err(self.error("close", "(closed)", &std::io::Error::other("the file is not open"))),
        })
    }

    fn unlink<'a>(&'a self, path: &'a str) -> FileFuture<'a, ()> {
        now(std::fs::remove_file(path).map_err(|error| self.error("remove", path, &error)))
    }

    fn scratch_directory(&self) -> String {
        std::env::temp_dir().display().to_string()
    }

    fn kind_of(&self, path: &str) -> String {
        let path = Path::new(path);
        let directory = if path.is_dir() { Some(path) } else { path.parent() };
        directory.and_then(system::kind_of).unwrap_or_else(|| "unknown".to_owned())
    }
}
