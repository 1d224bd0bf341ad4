//! The files of MPI: MPI 4.1, chapter 14.
//!
//! Every rank opens its files alone (`MPI_COMM_SELF`), so that no call is collective. MPI's default error handler of files
//! returns errors, and so it stays.

use std::ffi::{CString, c_int};
use std::future::ready;
use std::path::Path;

use weft_comm::files::{Access, Cache, FileFuture, FileId, Files};
use weft_comm::{CommError, Failure, Payload};

use crate::comm::MpiComm;
use crate::library::{FileFunctions, Handle, Status};
use crate::open_files::Open;

impl MpiComm {
    /// The functions; a backend that lacks them offers no files of MPI.
    fn file_functions(&self) -> &FileFunctions {
        let functions = self.context().library.files.as_ref();
        functions.expect("files of MPI are offered by libraries that have them only")
    }

    fn file_error(&self, operation: &str, path: &str, message: String) -> CommError {
        let (rank, operation, path) = (self.context().rank, operation.to_owned(), path.to_owned());
        Failure::File { rank, operation, path, message }.into()
    }

    fn check_file(&self, operation: &str, path: &str, code: c_int) -> Result<(), CommError> {
        if code == 0 {
            return Ok(());
        }
        let text = self.context().functions().error_text(code);
        Err(self.file_error(
            operation,
            path,
            format!("{text}; set TMPDIR to another directory if this one will not do"),
        ))
    }

    /// Does something to an open file.
    fn with_file<T>(
        &self,
        file: FileId,
        operation: &str,
        act: impl FnOnce(&FileFunctions, &Open) -> Result<T, CommError>,
    ) -> Result<T, CommError> {
        let open = self.context().files.borrow();
        match open.get(file.0).and_then(Option::as_ref) {
            Some(open) => act(self.file_functions(), open),
            None => Err(self.file_error(operation, "(closed)", "the file is not open".to_owned())),
        }
    }

    /// A path as the library takes it.
    fn c_path(&self, operation: &str, path: &str) -> Result<CString, CommError> {
        CString::new(path).map_err(|_| self.file_error(operation, path, "the path has a zero byte in it".to_owned()))
    }

    fn open_file(&self, path: &str, access: Access) -> Result<FileId, CommError> {
        let (abi, name) = (self.context().abi(), self.c_path("open", path)?);
        let mode = match access {
            Access::Read => abi.files.read_only,
            Access::ReadWrite => abi.files.read_write | abi.files.create,
        };
        let mut handle: Handle = 0;
        // SAFETY: the path ends with a zero byte; the handle is written to a live integer.
        let code = unsafe {
            (self.file_functions().open)(abi.files.comm_self, name.as_ptr(), mode, abi.files.info_null, &mut handle)
        };
        self.check_file("open", path, code).map_err(|error| self.with_reason(error, path, access))?;
        let mut files = self.context().files.borrow_mut();
        files.push(Some(Open { handle, path: path.to_owned() }));
        Ok(FileId(files.len() - 1))
    }

    /// An error of opening a file with the operating system's reason, where it has one: the words of MPI libraries are at
    /// times those of another error.
    fn with_reason(&self, error: CommError, path: &str, access: Access) -> CommError {
        let needed = match access {
            Access::Read => Path::new(path),
            Access::ReadWrite => Path::new(path).parent().unwrap_or(Path::new("/")),
        };
        match (error.into_failure(), std::fs::metadata(needed)) {
            (Failure::File { rank, operation, path, message }, Err(reason)) => {
                let message = format!("{reason}; set TMPDIR to a directory that is there (the MPI library: {message})");
                Failure::File { rank, operation, path, message }.into()
            }
            (failure, _) => failure.into(),
        }
    }

    /// How many bytes a call has moved.
    fn moved(&self, status: &Status) -> usize {
        let mut count = 0;
        // SAFETY: the status was filled by the library; the count is written to a live integer.
        unsafe { (self.context().functions().get_count)(status, self.context().abi().datatypes.byte, &mut count) };
        usize::try_from(count).unwrap_or(0)
    }

    fn read_file(&self, file: FileId, offset: u64, mut into: Payload) -> Result<Payload, CommError> {
        let context = self.context();
        let (wanted, count) = (into.len(), context.count("MPI_File_read_at", into.len())?);
        let bytes = match &mut into {
            Payload::Data(buffer) => buffer.as_mut_ptr(),
            Payload::Phantom(len) => context.incoming.pointer(*len),
        };
        self.with_file(file, "read", |functions, open| {
            let mut status = Status::default();
            let byte = context.abi().datatypes.byte;
            // SAFETY: there is room for `count` bytes that live through the call; the file is open.
            let code = unsafe { (functions.read_at)(open.handle, offset as i64, bytes, count, byte, &mut status) };
            self.check_file("read", &open.path, code)?;
            if self.moved(&status) < wanted {
                let message = "the file ends before the bytes asked for: it is truncated".to_owned();
                return Err(self.file_error("read", &open.path, message));
            }
            Ok(())
        })?;
        Ok(into)
    }

    fn write_file(&self, file: FileId, offset: u64, from: Payload) -> Result<Payload, CommError> {
        let context = self.context();
        let (wanted, count) = (from.len(), context.count("MPI_File_write_at", from.len())?);
        let bytes = match &from {
            Payload::Data(buffer) => buffer.as_ptr(),
            Payload::Phantom(len) => context.outgoing.pointer(*len),
        };
        self.with_file(file, "write", |functions, open| {
            let mut status = Status::default();
            let byte = context.abi().datatypes.byte;
            // SAFETY: `bytes` has `count` bytes that live through the call; the file is open.
            let code = unsafe { (functions.write_at)(open.handle, offset as i64, bytes, count, byte, &mut status) };
            self.check_file("write", &open.path, code)?;
            let moved = self.moved(&status);
            if moved < wanted {
                let message = format!("only {moved} of {wanted} bytes were written; is the device full?");
                return Err(self.file_error("write", &open.path, message));
            }
            Ok(())
        })?;
        Ok(from)
    }

    fn file_length(&self, file: FileId) -> Result<u64, CommError> {
        self.with_file(file, "look at", |functions, open| {
            let mut length = 0;
            // SAFETY: the file is open; the length is written to a live integer.
            let code = unsafe { (functions.get_size)(open.handle, &mut length) };
            self.check_file("look at", &open.path, code)?;
            Ok(u64::try_from(length).unwrap_or(0))
        })
    }

    /// MPI has no word for the page cache, so the operating system is asked, by the same path.
    async fn drop_cached_file(&self, file: FileId) -> Result<Cache, CommError> {
        let path = self.with_file(file, "drop the cached copy of", |_, open| Ok(open.path.clone()))?;
        let posix = &self.context().posix;
        let opened = posix.open(&path, Access::Read).await?;
        let cache = posix.drop_cached(opened).await;
        posix.close(opened).await?;
        cache
    }

    fn close_file(&self, file: FileId) -> Result<(), CommError> {
        let closed = self.context().files.borrow_mut().get_mut(file.0).and_then(Option::take);
        let Some(Open { mut handle, path }) = closed else {
            return Err(self.file_error("close", "(closed)", "the file is not open".to_owned()));
        };
        // SAFETY: the file is open and was taken out of the table.
        let code = unsafe { (self.file_functions().close)(&mut handle) };
        self.check_file("close", &path, code)
    }
}

impl Files for MpiComm {
    fn open<'a>(&'a self, path: &'a str, access: Access) -> FileFuture<'a, FileId> {
        Box::pin(ready(self.open_file(path, access)))
    }

    fn length(&self, file: FileId) -> FileFuture<'_, u64> {
        Box::pin(ready(self.file_length(file)))
    }

    fn preallocate(&self, file: FileId, bytes: u64) -> FileFuture<'_, ()> {
        Box::pin(ready(self.with_file(file, "preallocate", |functions, open| {
            // SAFETY: the file is open.
            let code = unsafe { (functions.preallocate)(open.handle, bytes as i64) };
            self.check_file("preallocate", &open.path, code)
        })))
    }

    fn read_at(&self, file: FileId, offset: u64, into: Payload) -> FileFuture<'_, Payload> {
        Box::pin(ready(self.read_file(file, offset, into)))
    }

    fn write_at(&self, file: FileId, offset: u64, from: Payload) -> FileFuture<'_, Payload> {
        Box::pin(ready(self.write_file(file, offset, from)))
    }

    fn sync(&self, file: FileId) -> FileFuture<'_, ()> {
        Box::pin(ready(self.with_file(file, "sync", |functions, open| {
            // SAFETY: the file is open.
            let code = unsafe { (functions.sync)(open.handle) };
            self.check_file("sync", &open.path, code)
        })))
    }

    fn drop_cached(&self, file: FileId) -> FileFuture<'_, Cache> {
        Box::pin(self.drop_cached_file(file))
    }

    fn close(&self, file: FileId) -> FileFuture<'_, ()> {
        Box::pin(ready(self.close_file(file)))
    }

    fn unlink<'a>(&'a self, path: &'a str) -> FileFuture<'a, ()> {
        let removed = self.c_path("remove", path).and_then(|name| {
            // SAFETY: the path ends with a zero byte.
            let code = unsafe { (self.file_functions().delete)(name.as_ptr(), self.context().abi().files.info_null) };
            self.check_file("remove", path, code)
        });
        Box::pin(ready(removed))
    }

    fn scratch_directory(&self) -> String {
        self.context().posix.scratch_directory()
    }

    fn kind_of(&self, path: &str) -> String {
        self.context().posix.kind_of(path)
    }
}
