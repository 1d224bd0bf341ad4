//! Collectives of the library: blocking, nonblocking and persistent.

use std::ffi::c_int;
use std::marker::PhantomData;

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
///
/// A type for each collective, so that what is prepared calls MPI by one jump that depends on data, as a loop in C does:
/// after a wait the processor predicts none of them well.
trait Calls {
    /// # Safety
    /// The buffers have the lengths that the arguments say.
    unsafe fn call(arguments: &Arguments, functions: &Functions) -> c_int;

    /// # Safety
    /// As for `call`, until the request is complete.
    unsafe fn start(arguments: &Arguments, functions: &NonblockingFunctions, request: *mut Handle) -> c_int;

    /// # Safety
    /// As for `call`, as long as the request is there.
    unsafe fn make(arguments: &Arguments, functions: &PersistentFunctions, info: Handle, request: *mut Handle)
    -> c_int;
}

macro_rules! calls {
    ($a:ident: $($kind:ident => $function:ident($($argument:expr),*);)*) => {
        $(
            struct $kind;

            impl Calls for $kind {
                #[inline]
                unsafe fn call($a: &Arguments, functions: &Functions) -> c_int {
                    // SAFETY: of this function's condition.
                    unsafe { (functions.$function)($($argument,)* $a.comm) }
                }

                #[inline]
                unsafe fn start($a: &Arguments, functions: &NonblockingFunctions, request: *mut Handle) -> c_int {
                    // SAFETY: of this function's condition.
                    unsafe { (functions.$function)($($argument,)* $a.comm, request) }
                }

                unsafe fn make(
                    $a: &Arguments,
                    functions: &PersistentFunctions,
                    info: Handle,
                    request: *mut Handle,
                ) -> c_int {
                    // SAFETY: of this function's condition.
                    unsafe { (functions.$function)($($argument,)* $a.comm, info, request) }
                }
            }
        )*

        /// A collective with its arguments, its buffers and, where it is persistent, its request.
        pub(super) fn prepare(
            comm: &MpiComm,
            collective: &Collective,
        ) -> Result<Box<dyn PreparedOperation>, CommError> {
            Ok(match collective.kind {
                $(CollectiveKind::$kind => Box::new(PreparedCollective::<$kind>::new(comm, collective)?),)*
                CollectiveKind::Split => unreachable!("split moves no messages of programs"),
            })
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

/// What a collective works on.
struct Prepared {
    comm: MpiComm,
    progress: Progress,
    arguments: Arguments,
    input: Buffer,
    output: Buffer,
    request: Handle,
    mark: Mark,
}

impl Prepared {
    fn new(comm: &MpiComm, collective: &Collective) -> Result<Prepared, CommError> {
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
        Ok(Prepared { comm: comm.clone(), progress, arguments, input, output, request: 0, mark })
    }

    #[inline]
    fn checked(&mut self, code: c_int) -> Result<(), CommError> {
        if code == 0 { Ok(()) } else { Err(self.failed(code)) }
    }

    /// What the library may still use after a failure is never given back.
    #[cold]
    fn failed(&mut self, code: c_int) -> CommError {
        abandon([&mut self.input, &mut self.output]);
        self.request = 0;
        self.comm.context().failure(self.arguments.kind.name(), code)
    }
}

struct PreparedCollective<K> {
    inner: Prepared,
    kind: PhantomData<K>,
}

impl<K: Calls> PreparedCollective<K> {
    fn new(comm: &MpiComm, collective: &Collective) -> Result<PreparedCollective<K>, CommError> {
        let mut prepared = PreparedCollective { inner: Prepared::new(comm, collective)?, kind: PhantomData };
        if collective.progress == Progress::Persistent {
            prepared.make()?;
        }
        Ok(prepared)
    }

    /// Makes the persistent request.
    fn make(&mut self) -> Result<(), CommError> {
        let inner = &mut self.inner;
        let context = inner.comm.context();
        let functions = context.library.persistent.as_ref().ok_or_else(|| missing(&inner.comm, Feature::Persistent))?;
        let info = context.abi().files.info_null;
        // SAFETY: the buffers have the lengths that the arguments say, and live as long as the request.
        let code = unsafe { K::make(&inner.arguments, functions, info, &mut inner.request) };
        context.check(inner.arguments.kind.name(), code)
    }
}

impl<K: Calls> PreparedOperation for PreparedCollective<K> {
    between_readings_of_the_clock!();

    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        if self.inner.progress != Progress::Blocking {
            self.start()?;
            return self.finish();
        }
        let inner = &mut self.inner;
        let context = inner.comm.context();
        context.activity.enter(inner.mark);
        // SAFETY: the buffers have the lengths that the arguments say.
        let code = unsafe { K::call(&inner.arguments, context.functions()) };
        context.activity.leave();
        inner.checked(code)
    }

    #[inline]
    fn start(&mut self) -> Result<(), CommError> {
        let inner = &mut self.inner;
        let context = inner.comm.context();
        let code = match (inner.progress, &context.library.nonblocking) {
            (Progress::Blocking, _) => return self.run(),
            // SAFETY: the request was made, and what it started before has been waited for.
            (Progress::Persistent, _) => unsafe { (context.functions().start)(&mut inner.request) },
            (Progress::Nonblocking, Some(functions)) => {
                inner.request = 0;
                // SAFETY: the buffers have the lengths that the arguments say, and live until the request is complete,
                // or for ever.
                unsafe { K::start(&inner.arguments, functions, &mut inner.request) }
            }
            (Progress::Nonblocking, None) => return Err(missing(&inner.comm, Feature::Nonblocking)),
        };
        inner.checked(code)
    }

    #[inline]
    fn test(&mut self) -> Result<bool, CommError> {
        let inner = &mut self.inner;
        let context = inner.comm.context();
        let mut flag = 0;
        // SAFETY: the request is of this operation, started or complete; the flag is live.
        let code = unsafe { (context.functions().test)(&mut inner.request, &mut flag, ignored(context.abi())) };
        inner.checked(code).map(|()| flag != 0)
    }

    #[inline]
    fn finish(&mut self) -> Result<(), CommError> {
        let inner = &mut self.inner;
        let context = inner.comm.context();
        context.activity.enter(inner.mark);
        // SAFETY: the request is of this operation, started or complete.
        let code = unsafe { (context.functions().wait)(&mut inner.request, ignored(context.abi())) };
        context.activity.leave();
        inner.checked(code)
    }

    fn input(&mut self) -> &mut [u8] {
        &mut self.inner.input
    }

    fn output(&mut self) -> &mut [u8] {
        &mut self.inner.output
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let context = self.comm.context();
        let is_over = std::thread::panicking() || context.finalized.get();
        if self.progress == Progress::Persistent && self.request != 0 && !is_over {
            // SAFETY: the request is live and what it started has been waited for.
            unsafe { (context.functions().request_free)(&mut self.request) };
        }
    }
}
