//! Collectives of the library: blocking, nonblocking and persistent.

use std::ffi::c_int;

use weft_comm::prepared::{Collective, Feature, Progress};
use weft_comm::{Buffer, CollectiveKind, CommError, Communicator, PreparedOperation};

use super::{abandon, ignored, missing};
use crate::activity::Mark;
use crate::comm::MpiComm;
use crate::layout::Layout;
use crate::library::{Functions, Handle, NonblockingFunctions, PersistentFunctions};
use crate::native::Elements;

/// The arguments of a collective, as MPI takes them.
struct Arguments {
    kind: CollectiveKind,
    from: *const u8,
    to: *mut u8,
    /// Bytes of a part, where all are equal.
    send: c_int,
    receive: c_int,
    out: Layout,
    back: Layout,
    /// Of a reduction; of bytes elsewhere.
    elements: Elements,
    byte: Handle,
    root: c_int,
    comm: Handle,
}

/// The three functions that a collective has, with the same arguments before the communicator.
macro_rules! calls {
    ($a:ident: $($kind:ident => $function:ident($($argument:expr),*);)*) => {
        impl Arguments {
            #[inline]
            unsafe fn call(&self, functions: &Functions) -> c_int {
                let $a = self;
                match self.kind {
                    // SAFETY: of this function's condition.
                    $(CollectiveKind::$kind => unsafe { (functions.$function)($($argument,)* $a.comm) },)*
                    CollectiveKind::Split => unreachable!("split moves no messages of programs"),
                }
            }

            unsafe fn start(&self, functions: &NonblockingFunctions, request: *mut Handle) -> c_int {
                let $a = self;
                match self.kind {
                    // SAFETY: of this function's condition.
                    $(CollectiveKind::$kind => unsafe { (functions.$function)($($argument,)* $a.comm, request) },)*
                    CollectiveKind::Split => unreachable!("split moves no messages of programs"),
                }
            }

            unsafe fn make(&self, functions: &PersistentFunctions, info: Handle, request: *mut Handle) -> c_int {
                let $a = self;
                match self.kind {
                    // SAFETY: of this function's condition.
                    $(CollectiveKind::$kind => unsafe { (functions.$function)($($argument,)* $a.comm, info, request) },)*
                    CollectiveKind::Split => unreachable!("split moves no messages of programs"),
                }
            }
        }
    };
}

calls! { a:
    Barrier => barrier();
    Broadcast => bcast(a.to, a.send, a.byte, a.root);
    Reduce => reduce(a.from, a.to, a.elements.count, a.elements.datatype, a.elements.operator, a.root);
    Allreduce => allreduce(a.from, a.to, a.elements.count, a.elements.datatype, a.elements.operator);
    Scan => scan(a.from, a.to, a.elements.count, a.elements.datatype, a.elements.operator);
    Exscan => exscan(a.from, a.to, a.elements.count, a.elements.datatype, a.elements.operator);
    ReduceScatter => reduce_scatter_block(a.from, a.to, a.elements.count, a.elements.datatype, a.elements.operator);
    Gather => gather(a.from, a.send, a.byte, a.to, a.receive, a.byte, a.root);
    Scatter => scatter(a.from, a.send, a.byte, a.to, a.receive, a.byte, a.root);
    Allgather => allgather(a.from, a.send, a.byte, a.to, a.receive, a.byte);
    Alltoall => alltoall(a.from, a.send, a.byte, a.to, a.receive, a.byte);
    Alltoallv => alltoallv(
        a.from, a.out.counts(), a.out.starts(), a.byte, a.to, a.back.counts(), a.back.starts(), a.byte
    );
    Gatherv => gatherv(a.from, a.send, a.byte, a.to, a.back.counts(), a.back.starts(), a.byte, a.root);
    Scatterv => scatterv(a.from, a.out.counts(), a.out.starts(), a.byte, a.to, a.receive, a.byte, a.root);
    Allgatherv => allgatherv(a.from, a.send, a.byte, a.to, a.back.counts(), a.back.starts(), a.byte);
}

pub(super) struct PreparedCollective {
    comm: MpiComm,
    progress: Progress,
    arguments: Arguments,
    input: Buffer,
    output: Buffer,
    request: Handle,
    mark: Mark,
}

impl PreparedCollective {
    pub(super) fn new(comm: &MpiComm, collective: &Collective) -> Result<PreparedCollective, CommError> {
        let Collective { kind, progress, root, reduction, ref send_bytes, ref receive_bytes } = *collective;
        let (mut out, mut back) = (Layout::default(), Layout::default());
        let lay_out = |layout: &mut Layout, bytes: &[usize]| {
            layout.fill(bytes).map_err(|bytes| comm.context().count(kind.name(), bytes).err())
        };
        let too_long = |error: Option<CommError>| {
            error.unwrap_or_else(|| comm.bad_arguments(kind, "lengths beyond what MPI counts".to_owned()))
        };
        let sent = lay_out(&mut out, send_bytes).map_err(too_long)?;
        let received = lay_out(&mut back, receive_bytes).map_err(too_long)?;
        let (mut input, mut output) = (Buffer::page_aligned(sent), Buffer::page_aligned(received));
        let is_reduction = matches!(
            kind,
            CollectiveKind::Reduce
                | CollectiveKind::Allreduce
                | CollectiveKind::Scan
                | CollectiveKind::Exscan
                | CollectiveKind::ReduceScatter
        );
        let combined = if is_reduction { send_bytes.first().copied().unwrap_or(0) } else { 0 };
        // A broadcast has one buffer on each rank: what the root sends, what the others receive.
        let is_source = kind == CollectiveKind::Broadcast && comm.rank() == root;
        let broadcast = [send_bytes, receive_bytes][usize::from(!is_source)];
        let part = |bytes: &[usize]| comm.count_of(kind, bytes.first().copied().unwrap_or(0));
        let arguments = Arguments {
            kind,
            from: input.as_ptr(),
            to: if is_source { input.as_mut_ptr() } else { output.as_mut_ptr() },
            send: part(if kind == CollectiveKind::Broadcast { broadcast } else { send_bytes })?,
            receive: part(receive_bytes)?,
            out,
            back,
            elements: comm.elements(kind, combined, reduction)?,
            byte: comm.byte(),
            root: comm.check_peer(root)?,
            comm: comm.collective_handle(),
        };
        let mark = Mark::native(kind, sent.max(received));
        let comm = comm.clone();
        let mut prepared = PreparedCollective { comm, progress, arguments, input, output, request: 0, mark };
        if progress == Progress::Persistent {
            prepared.make()?;
        }
        Ok(prepared)
    }

    /// Makes the persistent request.
    fn make(&mut self) -> Result<(), CommError> {
        let context = self.comm.context();
        let functions = context.library.persistent.as_ref().ok_or_else(|| missing(&self.comm, Feature::Persistent))?;
        let info = context.abi().files.info_null;
        // SAFETY: the buffers have the lengths that the arguments say, and live as long as the request.
        let code = unsafe { self.arguments.make(functions, info, &mut self.request) };
        context.check(self.arguments.kind.name(), code)
    }

    fn checked(&mut self, code: c_int) -> Result<(), CommError> {
        if code == 0 {
            return Ok(());
        }
        abandon([&mut self.input, &mut self.output]);
        self.request = 0;
        Err(self.comm.context().failure(self.arguments.kind.name(), code))
    }
}

impl PreparedOperation for PreparedCollective {
    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        if self.progress != Progress::Blocking {
            self.start()?;
            return self.finish();
        }
        let context = self.comm.context();
        context.activity.enter(self.mark);
        // SAFETY: the buffers have the lengths that the arguments say.
        let code = unsafe { self.arguments.call(context.functions()) };
        context.activity.leave();
        self.checked(code)
    }

    #[inline]
    fn start(&mut self) -> Result<(), CommError> {
        let context = self.comm.context();
        let code = match (self.progress, &context.library.nonblocking) {
            (Progress::Blocking, _) => return self.run(),
            // SAFETY: the request was made, and what it started before has been waited for.
            (Progress::Persistent, _) => unsafe { (context.functions().start)(&mut self.request) },
            (Progress::Nonblocking, Some(functions)) => {
                self.request = 0;
                // SAFETY: the buffers have the lengths that the arguments say, and live until the request is complete,
                // or for ever.
                unsafe { self.arguments.start(functions, &mut self.request) }
            }
            (Progress::Nonblocking, None) => return Err(missing(&self.comm, Feature::Nonblocking)),
        };
        self.checked(code)
    }

    #[inline]
    fn test(&mut self) -> Result<bool, CommError> {
        let context = self.comm.context();
        let mut flag = 0;
        // SAFETY: the request is of this operation, started or complete; the flag is live.
        let code = unsafe { (context.functions().test)(&mut self.request, &mut flag, ignored(context.abi())) };
        self.checked(code).map(|()| flag != 0)
    }

    #[inline]
    fn finish(&mut self) -> Result<(), CommError> {
        let context = self.comm.context();
        context.activity.enter(self.mark);
        // SAFETY: the request is of this operation, started or complete.
        let code = unsafe { (context.functions().wait)(&mut self.request, ignored(context.abi())) };
        context.activity.leave();
        self.checked(code)
    }

    fn input(&mut self) -> &mut [u8] {
        &mut self.input
    }

    fn output(&mut self) -> &mut [u8] {
        &mut self.output
    }
}

impl Drop for PreparedCollective {
    fn drop(&mut self) {
        let context = self.comm.context();
        let is_over = std::thread::panicking() || context.finalized.get();
        if self.progress == Progress::Persistent && self.request != 0 && !is_over {
            // SAFETY: the request is live and what it started has been waited for.
            unsafe { (context.functions().request_free)(&mut self.request) };
        }
    }
}
