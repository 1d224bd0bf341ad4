//! What all communicators of a process share.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use weft_comm::files::PosixFiles;
use weft_comm::prepared::Device;
use weft_comm::{CommError, Failure, Payload};

use crate::activity::Activity;
use crate::layout::Layouts;
use crate::library::{Abi, Functions, Handle, Library, Status};
use crate::open_files::Open;
use crate::scratch::{Area, Scratch};
use crate::tags::TagMap;

/// The environment variable that ranks in virtual time have (crates/virtual-mpi). Their simulator knows for certain when
/// none can go on, and how long one waits in a call has nothing to do with how long that takes here.
pub const VIRTUAL_VARIABLE: &str = "WEFT_RUN_RANK";

/// Whether a simulator stands in for the network, as the environment says.
pub fn in_virtual_time() -> bool {
    std::env::var_os(VIRTUAL_VARIABLE).is_some()
}

/// The library and this rank's place in the run.
pub struct Context {
    pub library: Library,
    /// This rank and the number of ranks, in the whole run.
    pub rank: usize,
    pub ranks: usize,
    pub tags: TagMap,
    pub activity: Arc<Activity>,
    /// What phantoms are sent from: always zeros, so that reductions over it meet no odd numbers.
    pub outgoing: Scratch,
    /// What phantoms are received into.
    pub incoming: Scratch,
    /// Whether MPI was to be started for calls of several threads at one time.
    pub wants_threads: bool,
    /// The memory of a device that messages may lie in, if there is one.
    pub device: RefCell<Option<Rc<dyn Device>>>,
    /// The files of this node.
    pub posix: PosixFiles,
    /// The open files of MPI.
    pub files: RefCell<Vec<Option<Open>>>,
    /// Words to go back to when collectives are left, innermost last.
    pub collectives: RefCell<Vec<u64>>,
    /// Of the alltoallv under way.
    pub layouts: RefCell<Layouts>,
    /// Windows of shared memory, to be freed by all ranks at the end: freeing one is collective.
    pub windows: RefCell<Vec<Handle>>,
    /// After `MPI_Finalize` nothing may be called.
    pub finalized: Cell<bool>,
    /// After the backend's end no window may be read or written: their memory has been given back.
    windows_freed: Cell<bool>,
    orphans: RefCell<Vec<Orphan>>,
    /// Persistent requests of messages that are still there, which whoever ends MPI has to free.
    persistent: RefCell<HashSet<Handle>>,
}

/// A request that was dropped before it was complete, with the memory that the library still uses.
pub struct Orphan {
    pub request: Handle,
    pub receives: bool,
    /// Bytes of a send, as they were counted in [`Activity::started`].
    pub bytes: usize,
    /// What the library reads or writes: the payload and, for a phantom, the area behind it.
    pub _memory: (Payload, Option<Rc<Area>>),
}

impl Context {
    pub fn new(library: Library, rank: usize, ranks: usize, tags: TagMap, wants_threads: bool) -> Context {
        Context {
            library,
            rank,
            ranks,
            tags,
            activity: Arc::default(),
            outgoing: Scratch::default(),
            incoming: Scratch::default(),
            wants_threads,
            device: RefCell::default(),
            posix: PosixFiles::new(rank),
            files: RefCell::default(),
            collectives: RefCell::new(Vec::with_capacity(8)),
            layouts: RefCell::default(),
            windows: RefCell::default(),
            finalized: Cell::new(false),
            windows_freed: Cell::new(false),
            orphans: RefCell::default(),
            persistent: RefCell::default(),
        }
    }

    #[inline]
    pub fn functions(&self) -> &Functions {
        &self.library.functions
    }

    #[inline]
    pub fn abi(&self) -> &Abi {
        &self.library.abi
    }

    /// `Ok` when `code` is `MPI_SUCCESS`, otherwise the library's words.
    #[inline]
    pub fn check(&self, call: &str, code: c_int) -> Result<(), CommError> {
        if code == 0 { Ok(()) } else { Err(self.failure(call, code)) }
    }

    #[cold]
    pub fn failure(&self, call: &str, code: c_int) -> CommError {
        Failure::Library { rank: self.rank, call: call.to_owned(), message: self.functions().error_text(code) }.into()
    }

    /// A count or a size as MPI takes it.
    #[inline]
    pub fn count(&self, call: &str, len: usize) -> Result<c_int, CommError> {
        c_int::try_from(len).map_err(|_| self.too_long(call, len))
    }

    #[cold]
    fn too_long(&self, call: &str, len: usize) -> CommError {
        let message = format!("{len} bytes at once; weft passes at most {} to an MPI library", c_int::MAX);
        Failure::Library { rank: self.rank, call: call.to_owned(), message }.into()
    }

    /// In virtual time, waits until a request is complete, which it then tells, or no rank can go on and no message is under
    /// way; without a request, for that alone. At once, and complete, elsewhere.
    pub fn await_request(&self, request: Option<&Handle>) -> Result<bool, CommError> {
        let Some(functions) = &self.library.virtual_time else { return Ok(true) };
        let mut is_complete = 0;
        let address = request.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the request is live or null, and the pointer is to a live value.
        let code = unsafe { (functions.await_request)(address, &mut is_complete) };
        self.check("weft_await", code)?;
        Ok(is_complete != 0)
    }

    /// Keeps the memory of a dropped request until the request is complete.
    pub fn adopt(&self, orphan: Orphan) {
        if !std::thread::panicking() {
            self.sweep();
        }
        self.orphans.borrow_mut().push(orphan);
    }

    /// Lets go of the orphans that are complete by now.
    fn sweep(&self) {
        self.orphans.borrow_mut().retain_mut(|orphan| !self.is_complete(orphan));
    }

    fn is_complete(&self, orphan: &mut Orphan) -> bool {
        let mut flag = 0;
        let mut status = Status::default();
        // SAFETY: the request is live; the pointers are to live values.
        let code = unsafe { (self.functions().test)(&mut orphan.request, &mut flag, &mut status) };
        let complete = code != 0 || flag != 0;
        if complete && !orphan.receives {
            self.activity.completed(orphan.bytes);
        }
        complete
    }

    /// At the end of a program: receives that were dropped and have got nothing are cancelled, sends are completed.
    pub fn settle(&self) {
        self.sweep();
        for mut orphan in self.orphans.take() {
            let mut status = Status::default();
            // SAFETY: the request is live; its memory is let go of after it is complete.
            unsafe {
                if orphan.receives {
                    (self.functions().cancel)(&mut orphan.request);
                }
                (self.functions().wait)(&mut orphan.request, &mut status);
            }
            if !orphan.receives {
                self.activity.completed(orphan.bytes);
            }
        }
    }

    /// Whether the memory that ranks of the node share is still there.
    ///
    /// # Errors
    /// [`CommError`] after the end of the backend.
    #[inline]
    pub fn check_windows(&self) -> Result<(), CommError> {
        if !self.windows_freed.get() {
            return Ok(());
        }
        let what = "an exchange was used after weft has ended MPI in this process; \
                    make its last call before the process exits, not in a function registered with atexit";
        Err(CommError::program(self.rank, what))
    }

    /// Keeps a persistent request in mind until [`Context::release`].
    pub fn keep(&self, request: Handle) {
        self.persistent.borrow_mut().insert(request);
    }

    /// Frees a persistent request, which is not under way.
    pub fn release(&self, mut request: Handle) {
        if self.persistent.borrow_mut().remove(&request) {
            // SAFETY: the request is live: it was kept, and is freed here alone.
            unsafe { (self.functions().request_free)(&mut request) };
        }
    }

    /// Before the end of MPI: messages may outlive it, as those of plans that Python still has, but not their requests.
    pub fn release_all(&self) {
        for mut request in self.persistent.take() {
            // SAFETY: every request that is kept is live, and is freed here alone: the list is empty from now on.
            unsafe { (self.functions().request_free)(&mut request) };
        }
    }

    /// Before the end of MPI, on all ranks: what only all together can give back.
    pub fn free_windows(&self) {
        self.windows_freed.set(true);
        let Some(shared) = &self.library.shared else { return };
        for mut window in self.windows.take() {
            // SAFETY: the window is live, and all ranks free theirs in the order in which they were made.
            unsafe { (shared.win_free)(&mut window) };
        }
    }

    /// After a failure: what is under way may never end, so its memory is given up.
    pub fn abandon(&self) {
        std::mem::forget(self.orphans.take());
        self.persistent.take();
        self.windows.take();
    }
}
