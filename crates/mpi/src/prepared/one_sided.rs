//! Accesses to the memory of another rank.

use std::ffi::c_int;

use weft_comm::prepared::{Access, Feature, OneSided, Synchronization};
use weft_comm::{Buffer, CommError, Communicator, PreparedOperation, Source, TagSelector};

use super::{Failed, abandon, missing, ok};
use crate::activity::Mark;
use crate::comm::MpiComm;
use crate::library::{Handle, OneSidedFunctions};

/// The rank that accesses, and the one whose memory it is.
const ORIGIN: usize = 0;
const TARGET: c_int = 1;

/// Distance between the parts of the memory that accesses go to, in bytes.
const GRAIN: usize = 64;

pub(super) struct PreparedOneSided {
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
    is_origin: bool,
    is_broken: bool,
    /// As if it waited for a message of the other rank.
    mark: Mark,
}

impl PreparedOneSided {
    pub(super) fn new(comm: &MpiComm, spec: OneSided) -> Result<PreparedOneSided, CommError> {
        if comm.size() != 2 {
            let what = format!("one-sided accesses are prepared by 2 ranks, not by {}", comm.size());
            return Err(CommError::program(comm.context().rank, what));
        }
        let bytes = spec.bytes.next_multiple_of(GRAIN) * spec.count;
        let is_origin = comm.rank() == ORIGIN;
        let mut prepared = PreparedOneSided {
            comm: comm.clone(),
            spec,
            window: 0,
            group: 0,
            memory: std::ptr::null_mut(),
            memory_bytes: bytes,
            operand: Buffer::page_aligned(bytes),
            result: Buffer::page_aligned(bytes),
            is_origin,
            is_broken: true,
            mark: Mark::receive(Source::Rank(1 - comm.rank()), TagSelector::AnyUser),
        };
        prepared.open().map_err(|(call, code)| comm.context().failure(call, code))?;
        prepared.is_broken = false;
        Ok(prepared)
    }

    fn functions(&self) -> Result<&OneSidedFunctions, CommError> {
        self.comm.context().library.one_sided.as_ref().ok_or_else(|| missing(&self.comm, Feature::OneSided))
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
    #[inline]
    fn access(&mut self, functions: &OneSidedFunctions) -> Result<(), Failed> {
        let abi = self.comm.context().abi();
        let (sum, byte, integer) = (abi.operators.sum, abi.datatypes.byte, abi.datatypes.int64);
        let (bytes, stride) = (self.spec.bytes, self.spec.bytes.next_multiple_of(GRAIN));
        let (count, elements) = (bytes as c_int, (bytes / 8) as c_int);
        let window = self.window;
        for index in 0..self.spec.count {
            let at = (index * stride) as isize;
            // SAFETY: the buffers and the window hold `count` parts, `stride` apart, of `bytes` bytes each; all live
            // until the step has been completed, or for ever.
            unsafe {
                let operand = self.operand.as_ptr().add(index * stride);
                let result = self.result.as_mut_ptr().add(index * stride);
                match self.spec.access {
                    Access::Put => {
                        let code = (functions.put)(operand, count, byte, TARGET, at, count, byte, window);
                        ok("MPI_Put", code)?;
                    }
                    Access::Get => {
                        let code = (functions.get)(result, count, byte, TARGET, at, count, byte, window);
                        ok("MPI_Get", code)?;
                    }
                    Access::Accumulate => {
                        let (n, of) = (elements, integer);
                        let code = (functions.accumulate)(operand, n, of, TARGET, at, n, of, sum, window);
                        ok("MPI_Accumulate", code)?;
                    }
                    Access::GetAccumulate => {
                        let (n, of) = (elements, integer);
                        let code =
                            (functions.get_accumulate)(operand, n, of, result, n, of, TARGET, at, n, of, sum, window);
                        ok("MPI_Get_accumulate", code)?;
                    }
                    Access::FetchAndOp => {
                        let code = (functions.fetch_and_op)(operand, result, integer, TARGET, at, sum, window);
                        ok("MPI_Fetch_and_op", code)?;
                    }
                    Access::CompareAndSwap => {
                        let compared = operand.add(8);
                        let code = (functions.compare_and_swap)(operand, compared, result, integer, TARGET, at, window);
                        ok("MPI_Compare_and_swap", code)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One step of this rank; `lock` is the kind of lock.
    #[inline]
    fn once(&mut self, functions: &OneSidedFunctions, lock: c_int) -> Result<(), Failed> {
        let (window, group) = (self.window, self.group);
        // SAFETY: window and group are live; the target's calls meet the origin's.
        unsafe {
            match (self.spec.synchronization, self.is_origin) {
                (Synchronization::Flush, true) => {
                    self.access(functions)?;
                    ok("MPI_Win_flush", (functions.flush)(TARGET, window))
                }
                (Synchronization::Lock, true) => {
                    ok("MPI_Win_lock", (functions.lock)(lock, TARGET, 0, window))?;
                    self.access(functions)?;
                    ok("MPI_Win_unlock", (functions.unlock)(TARGET, window))
                }
                (Synchronization::Flush | Synchronization::Lock, false) => Ok(()),
                (Synchronization::Fence, is_origin) => {
                    if is_origin {
                        self.access(functions)?;
                    }
                    ok("MPI_Win_fence", (functions.fence)(0, window))
                }
                (Synchronization::PostStart, true) => {
                    ok("MPI_Win_start", (functions.start)(group, 0, window))?;
                    self.access(functions)?;
                    ok("MPI_Win_complete", (functions.complete)(window))
                }
                (Synchronization::PostStart, false) => {
                    ok("MPI_Win_post", (functions.post)(group, 0, window))?;
                    ok("MPI_Win_wait", (functions.wait)(window))
                }
            }
        }
    }

    /// The memory that others access.
    fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the window has so many bytes, as long as it is not freed.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.memory_bytes) }
    }
}

impl PreparedOperation for PreparedOneSided {
    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        let comm = self.comm.clone();
        let context = comm.context();
        let Some(functions) = &context.library.one_sided else { return self.functions().map(drop) };
        context.activity.enter(self.mark);
        let done = self.once(functions, context.abi().lock_shared);
        context.activity.leave();
        done.map_err(|(call, code)| {
            self.is_broken = true;
            abandon([&mut self.operand, &mut self.result]);
            context.failure(call, code)
        })
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

impl Drop for PreparedOneSided {
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
