//! Accesses to the memory of another rank.

use std::ffi::c_int;
use std::marker::PhantomData;

use weft_comm::prepared::{Access, Feature, OneSided, Synchronization};
use weft_comm::{Buffer, CommError, Communicator, PreparedOperation, Source, TagSelector};

use super::{Failed, abandon, missing, ok};
use crate::activity::Mark;
use crate::comm::MpiComm;
use crate::library::{Abi, Handle, OneSidedFunctions};

/// The rank that accesses, and the one whose memory it is.
const ORIGIN: usize = 0;
const TARGET: c_int = 1;

/// Bytes of the integers that are added, and of one that compares.
const WORD: usize = 8;

/// Distance between the parts of the memory that accesses go to, in bytes.
const GRAIN: usize = 64;

/// One part of the memory, and what accesses of it take.
struct Part {
    operand: *const u8,
    result: *mut u8,
    /// Where the part begins in the window.
    at: isize,
    /// Its bytes and its integers.
    bytes: c_int,
    words: c_int,
    byte: Handle,
    integer: Handle,
    sum: Handle,
    window: Handle,
}

/// A call of MPI that accesses a part. A type for each, as for collectives: an access takes some dozen nanoseconds, of
/// which deciding anew what to call would be a part.
trait Accesses {
    const CALL: &'static str;

    /// # Safety
    /// Buffers and window hold the part, and live until the step has been completed, or for ever.
    unsafe fn access(part: &Part, functions: &OneSidedFunctions) -> c_int;
}

macro_rules! accesses {
    ($p:ident: $($access:ident = $name:literal => $function:ident($($argument:expr),*);)*) => {
        $(
            struct $access;

            impl Accesses for $access {
                const CALL: &'static str = $name;

                #[inline(always)]
                unsafe fn access($p: &Part, functions: &OneSidedFunctions) -> c_int {
                    // SAFETY: of this function's condition.
                    unsafe { (functions.$function)($($argument),*) }
                }
            }
        )*

        /// Accesses of one rank to the memory of the other, with a window and buffers of their own.
        pub(super) fn prepare(comm: &MpiComm, spec: OneSided) -> Result<Box<dyn PreparedOperation>, CommError> {
            Ok(match spec.access {
                $(Access::$access => Box::new(PreparedOneSided::<$access>::new(comm, spec)?),)*
            })
        }
    };
}

accesses! { p:
    Put = "MPI_Put" => put(p.operand, p.bytes, p.byte, TARGET, p.at, p.bytes, p.byte, p.window);
    Get = "MPI_Get" => get(p.result, p.bytes, p.byte, TARGET, p.at, p.bytes, p.byte, p.window);
    Accumulate = "MPI_Accumulate" => accumulate(
        p.operand, p.words, p.integer, TARGET, p.at, p.words, p.integer, p.sum, p.window
    );
    GetAccumulate = "MPI_Get_accumulate" => get_accumulate(
        p.operand, p.words, p.integer, p.result, p.words, p.integer, TARGET, p.at, p.words, p.integer, p.sum, p.window
    );
    FetchAndOp = "MPI_Fetch_and_op" => fetch_and_op(
        p.operand, p.result, p.integer, TARGET, p.at, p.sum, p.window
    );
    CompareAndSwap = "MPI_Compare_and_swap" => compare_and_swap(
        p.operand, p.operand.add(WORD), p.result, p.integer, TARGET, p.at, p.window
    );
}

struct PreparedOneSided<A> {
    access: PhantomData<A>,
    comm: MpiComm,
    spec: OneSided,
    window: Handle,
    /// The other rank, alone.
    group: Handle,
    memory: *mut u8,
    memory_bytes: usize,
    /// What is put or added; where there are two operands, the second compares.
    operand: Buffer,
    result: Buffer,
    /// Where they begin.
    operand_start: *const u8,
    result_start: *mut u8,
    /// From one part of the memory to the next, in bytes.
    stride: usize,
    is_origin: bool,
    is_broken: bool,
    /// As if it waited for a message of the other rank.
    mark: Mark,
}

impl<A: Accesses> PreparedOneSided<A> {
    fn new(comm: &MpiComm, spec: OneSided) -> Result<PreparedOneSided<A>, CommError> {
        if comm.size() != 2 {
            let what = format!("one-sided accesses are prepared by 2 ranks, not by {}", comm.size());
            return Err(CommError::program(comm.context().rank, what));
        }
        let stride = spec.bytes.next_multiple_of(GRAIN);
        let bytes = stride * spec.count;
        let (operand, mut result) = (Buffer::page_aligned(bytes), Buffer::page_aligned(bytes));
        let is_origin = comm.rank() == ORIGIN;
        let mut prepared = PreparedOneSided {
            access: PhantomData,
            comm: comm.clone(),
            spec,
            window: 0,
            group: 0,
            memory: std::ptr::null_mut(),
            memory_bytes: bytes,
            operand_start: operand.as_ptr(),
            result_start: result.as_mut_ptr(),
            operand,
            result,
            stride,
            is_origin,
            is_broken: true,
            mark: Mark::receive(Source::Rank(1 - comm.rank()), TagSelector::AnyUser),
        };
        prepared.open().map_err(|(call, code)| comm.context().failure(call, code))?;
        prepared.is_broken = false;
        Ok(prepared)
    }

    /// Makes the window, and begins the epoch that lasts, where one does.
    fn open(&mut self) -> Result<(), Failed> {
        let comm = self.comm.clone();
        let context = comm.context();
        let Some(functions) = &context.library.one_sided else { return Err(("MPI_Win_allocate", 1)) };
        let abi = context.abi();
        let bytes = isize::try_from(self.memory_bytes).map_err(|_| ("MPI_Win_allocate", 1))?;
        // SAFETY: all pointers are to live values; the handles are of this ABI.
        unsafe {
            let (info, handle) = (abi.files.info_null, comm.user_handle());
            let code = (functions.allocate)(bytes, 1, info, handle, &mut self.memory, &mut self.window);
            ok("MPI_Win_allocate", code)?;
            ok("MPI_Win_set_errhandler", (functions.set_errhandler)(self.window, abi.errors_return))?;
            self.memory.write_bytes(0, self.memory_bytes);
            let mut both = 0;
            ok("MPI_Comm_group", (functions.comm_group)(handle, &mut both))?;
            let other = 1 - comm.rank() as c_int;
            ok("MPI_Group_incl", (functions.group_incl)(both, 1, &other, &mut self.group))?;
            ok("MPI_Group_free", (functions.group_free)(&mut both))?;
            match self.spec.synchronization {
                Synchronization::Flush if self.is_origin => {
                    ok("MPI_Win_lock", (functions.lock)(abi.lock_shared, TARGET, 0, self.window))
                }
                Synchronization::Fence => ok("MPI_Win_fence", (functions.fence)(0, self.window)),
                _ => Ok(()),
            }
        }
    }

    /// Starts the accesses of one step.
    #[inline(always)]
    fn access(&self, functions: &OneSidedFunctions, abi: &Abi) -> Result<(), Failed> {
        let (bytes, words) = (self.spec.bytes as c_int, (self.spec.bytes / WORD) as c_int);
        let (byte, integer, sum) = (abi.datatypes.byte, abi.datatypes.int64, abi.operators.sum);
        let (window, stride) = (self.window, self.stride);
        for index in 0..self.spec.count {
            let at = index * stride;
            // SAFETY: the buffers and the window hold `count` parts, `stride` apart, of `bytes` bytes each.
            let code = unsafe {
                let (operand, result) = (self.operand_start.add(at), self.result_start.add(at));
                let at = at as isize;
                A::access(&Part { operand, result, at, bytes, words, byte, integer, sum, window }, functions)
            };
            if code != 0 {
                return Err((A::CALL, code));
            }
        }
        Ok(())
    }

    /// One step of this rank.
    #[inline]
    fn once(&self, functions: &OneSidedFunctions, abi: &Abi) -> Result<(), Failed> {
        let (window, group) = (self.window, self.group);
        // SAFETY: window and group are live; the target's calls meet the origin's.
        unsafe {
            match (self.spec.synchronization, self.is_origin) {
                (Synchronization::Flush, true) => {
                    self.access(functions, abi)?;
                    ok("MPI_Win_flush", (functions.flush)(TARGET, window))
                }
                (Synchronization::Lock, true) => {
                    ok("MPI_Win_lock", (functions.lock)(abi.lock_shared, TARGET, 0, window))?;
                    self.access(functions, abi)?;
                    ok("MPI_Win_unlock", (functions.unlock)(TARGET, window))
                }
                (Synchronization::Flush | Synchronization::Lock, false) => Ok(()),
                (Synchronization::Fence, is_origin) => {
                    if is_origin {
                        self.access(functions, abi)?;
                    }
                    ok("MPI_Win_fence", (functions.fence)(0, window))
                }
                (Synchronization::PostStart, true) => {
                    ok("MPI_Win_start", (functions.start)(group, 0, window))?;
                    self.access(functions, abi)?;
                    ok("MPI_Win_complete", (functions.complete)(window))
                }
                (Synchronization::PostStart, false) => {
                    ok("MPI_Win_post", (functions.post)(group, 0, window))?;
                    ok("MPI_Win_wait", (functions.wait)(window))
                }
            }
        }
    }

    /// The error of a call that failed; what the library may still use is never given back.
    #[cold]
    fn broken(&mut self, (call, code): Failed) -> CommError {
        self.is_broken = true;
        abandon([&mut self.operand, &mut self.result]);
        self.comm.context().failure(call, code)
    }

    /// The memory that others access.
    fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the window has so many bytes, as long as it is not freed.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.memory_bytes) }
    }
}

impl<A: Accesses> PreparedOperation for PreparedOneSided<A> {
    between_readings_of_the_clock!();

    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        let context = self.comm.context();
        let Some(functions) = &context.library.one_sided else { return Err(missing(&self.comm, Feature::OneSided)) };
        context.activity.enter(self.mark);
        let done = self.once(functions, context.abi());
        context.activity.leave();
        done.map_err(|failed| self.broken(failed))
    }

    /// What is put or added; on the target, its memory.
    fn input(&mut self) -> &mut [u8] {
        if self.is_origin { &mut self.operand } else { self.memory() }
    }

    /// What was got; on the target, its memory.
    fn output(&mut self) -> &mut [u8] {
        if self.is_origin { &mut self.result } else { self.memory() }
    }
}

impl<A> Drop for PreparedOneSided<A> {
    fn drop(&mut self) {
        let context = self.comm.context();
        let Some(functions) = &context.library.one_sided else { return };
        if self.is_broken || std::thread::panicking() || context.finalized.get() {
            return;
        }
        // SAFETY: window and group are live, no access is under way, and both ranks let go of the window.
        unsafe {
            if self.is_origin && self.spec.synchronization == Synchronization::Flush {
                (functions.unlock)(TARGET, self.window);
            }
            (functions.group_free)(&mut self.group);
            (functions.free)(&mut self.window);
        }
    }
}
