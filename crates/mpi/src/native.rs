//! The MPI library's own collectives.

use std::ffi::c_int;

use weft_comm::collective::{Element, Operator};
use weft_comm::{CollectiveKind, CommError, Communicator, Failure, NativeCollectives, Payload, Reduction};

use crate::activity::Mark;
use crate::comm::MpiComm;
use crate::layout::Layout;
use crate::library::Handle;

/// Where the bytes of a payload are read: its own, or the scratch area of phantoms.
fn outgoing(comm: &MpiComm, payload: &Payload) -> *const u8 {
    match payload {
        Payload::Data(buffer) => buffer.as_ptr(),
        Payload::Phantom(len) => comm.context().outgoing.pointer(*len),
    }
}

/// Where they are written.
fn incoming(comm: &MpiComm, payload: &mut Payload) -> *mut u8 {
    match payload {
        Payload::Data(buffer) => buffer.as_mut_ptr(),
        Payload::Phantom(len) => comm.context().incoming.pointer(*len),
    }
}

/// Elements of one type for a reduction, as MPI counts them.
pub(crate) struct Elements {
    pub count: c_int,
    pub datatype: Handle,
    pub operator: Handle,
}

impl MpiComm {
    /// Runs a collective of the library between the marks of the watchdog.
    fn collective(&self, kind: CollectiveKind, bytes: usize, call: impl FnOnce() -> c_int) -> Result<(), CommError> {
        let activity = &self.context().activity;
        activity.enter(Mark::native(kind, bytes));
        let code = call();
        activity.leave();
        self.context().check(kind.name(), code)
    }

    pub(crate) fn bad_arguments(&self, kind: CollectiveKind, what: String) -> CommError {
        Failure::MismatchedArguments { rank: self.world_rank(), kind, what }.into()
    }

    pub(crate) fn elements(
        &self,
        kind: CollectiveKind,
        bytes: usize,
        reduction: Reduction,
    ) -> Result<Elements, CommError> {
        let Reduction { element, operator } = reduction;
        let (size, is_float) = match element {
            Element::Float32 => (4, true),
            Element::Float64 => (8, true),
            Element::Int32 => (4, false),
            Element::Int64 => (8, false),
            Element::Byte => (1, false),
        };
        if !bytes.is_multiple_of(size) {
            return Err(self.bad_arguments(kind, format!("{bytes} bytes are no whole number of {element:?} elements")));
        }
        if is_float && matches!(operator, Operator::BitAnd | Operator::BitOr | Operator::BitXor) {
            return Err(self.bad_arguments(kind, format!("{operator:?} is not defined for {element:?} elements")));
        }
        let abi = self.context().abi();
        let count = self.context().count(kind.name(), bytes / size)?;
        Ok(Elements { count, datatype: abi.datatypes.of(element), operator: abi.operators.of(operator) })
    }

    /// The length of each of `size` equal parts.
    fn equal_part(&self, kind: CollectiveKind, bytes: usize) -> Result<usize, CommError> {
        if !bytes.is_multiple_of(self.size()) {
            let what = format!("{bytes} bytes cannot be divided into {} equal parts", self.size());
            return Err(self.bad_arguments(kind, what));
        }
        Ok(bytes / self.size())
    }

    pub(crate) fn count_of(&self, kind: CollectiveKind, bytes: usize) -> Result<c_int, CommError> {
        self.context().count(kind.name(), bytes)
    }

    pub(crate) fn byte(&self) -> Handle {
        self.context().abi().datatypes.byte
    }

    /// Checks the space that a result is written to: MPI writes as much as it is told to.
    fn check_space(&self, kind: CollectiveKind, into: &Payload, bytes: usize) -> Result<(), CommError> {
        if into.len() == bytes {
            return Ok(());
        }
        Err(self.bad_arguments(kind, format!("space of {} bytes for a result of {bytes}", into.len())))
    }

    /// Lays out the parts of a payload of `len` bytes.
    fn lay_out(&self, kind: CollectiveKind, layout: &mut Layout, bytes: &[usize], len: usize) -> Result<(), CommError> {
        if bytes.len() != self.size() {
            let what = format!("sizes of {} parts for {} ranks", bytes.len(), self.size());
            return Err(self.bad_arguments(kind, what));
        }
        match layout.fill(bytes) {
            Ok(sum) if sum == len => Ok(()),
            Ok(sum) => Err(self.bad_arguments(kind, format!("parts of {sum} bytes of a payload of {len}"))),
            Err(bytes) => self.count_of(kind, bytes).map(drop),
        }
    }

    /// The operand that MPI reads: data are reduced in place, phantoms from one area to another.
    fn operand(&self, payload: &Payload) -> *const u8 {
        match payload {
            Payload::Data(_) => std::ptr::without_provenance(self.context().abi().in_place),
            Payload::Phantom(len) => self.context().outgoing.pointer(*len),
        }
    }
}

impl NativeCollectives for MpiComm {
    fn barrier(&self) -> Result<(), CommError> {
        let functions = self.context().functions();
        // SAFETY: the communicator is live.
        self.collective(CollectiveKind::Barrier, 0, || unsafe { (functions.barrier)(self.collective_handle()) })
    }

    fn broadcast(&self, root: usize, payload: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Broadcast;
        let root = self.check_peer(root)?;
        let count = self.count_of(KIND, payload.len())?;
        let bytes = incoming(self, payload);
        let functions = self.context().functions();
        // SAFETY: `bytes` has `count` bytes.
        self.collective(KIND, payload.len(), || unsafe {
            (functions.bcast)(bytes, count, self.byte(), root, self.collective_handle())
        })
    }

    fn reduce(&self, root: usize, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Reduce;
        let at_root = root == self.rank();
        let root = self.check_peer(root)?;
        let Elements { count, datatype, operator } = self.elements(KIND, payload.len(), reduction)?;
        let from = if at_root { self.operand(payload) } else { outgoing(self, payload) };
        let to = if at_root { incoming(self, payload) } else { std::ptr::null_mut() };
        let functions = self.context().functions();
        // SAFETY: on the root `to` begins `count` elements, and `from` does or is MPI_IN_PLACE; elsewhere `from` does,
        // and MPI ignores `to`, which is null.
        self.collective(KIND, payload.len(), || unsafe {
            (functions.reduce)(from, to, count, datatype, operator, root, self.collective_handle())
        })
    }

    fn allreduce(&self, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Allreduce;
        let Elements { count, datatype, operator } = self.elements(KIND, payload.len(), reduction)?;
        let (from, to) = (self.operand(payload), incoming(self, payload));
        let functions = self.context().functions();
        // SAFETY: `from` is MPI_IN_PLACE or, as `to` is, the start of `count` elements: `elements` has divided the
        // payload's length.
        self.collective(KIND, payload.len(), || unsafe {
            (functions.allreduce)(from, to, count, datatype, operator, self.collective_handle())
        })
    }

    fn scan(&self, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Scan;
        let Elements { count, datatype, operator } = self.elements(KIND, payload.len(), reduction)?;
        let (from, to) = (self.operand(payload), incoming(self, payload));
        let functions = self.context().functions();
        // SAFETY: `from` is MPI_IN_PLACE or, as `to` is, the start of `count` elements: `elements` has divided the
        // payload's length.
        self.collective(KIND, payload.len(), || unsafe {
            (functions.scan)(from, to, count, datatype, operator, self.collective_handle())
        })
    }

    fn exscan(&self, payload: &mut Payload, reduction: Reduction) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Exscan;
        let Elements { count, datatype, operator } = self.elements(KIND, payload.len(), reduction)?;
        let (from, to) = (self.operand(payload), incoming(self, payload));
        let functions = self.context().functions();
        // SAFETY: `from` is MPI_IN_PLACE or, as `to` is, the start of `count` elements: `elements` has divided the
        // payload's length.
        self.collective(KIND, payload.len(), || unsafe {
            (functions.exscan)(from, to, count, datatype, operator, self.collective_handle())
        })
    }

    fn reduce_scatter_into(&self, whole: &Payload, into: &mut Payload, reduction: Reduction) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::ReduceScatter;
        let block = self.equal_part(KIND, whole.len())?;
        let Elements { count, datatype, operator } = self.elements(KIND, block, reduction)?;
        self.check_space(KIND, into, block)?;
        let (from, to) = (outgoing(self, whole), incoming(self, into));
        let functions = self.context().functions();
        // SAFETY: `to` has room for `count` elements, and `from` has `size` times as many.
        self.collective(KIND, whole.len(), || unsafe {
            (functions.reduce_scatter_block)(from, to, count, datatype, operator, self.collective_handle())
        })
    }

    fn gatherv_into(&self, root: usize, part: &Payload, bytes: &[usize], into: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Gatherv;
        let at_root = root == self.rank();
        let root = self.check_peer(root)?;
        let count = self.count_of(KIND, part.len())?;
        let layout = &mut self.context().layouts.borrow_mut().back;
        self.lay_out(KIND, layout, bytes, if at_root { into.len() } else { bytes.iter().sum() })?;
        let (from, to) = (outgoing(self, part), if at_root { incoming(self, into) } else { std::ptr::null_mut() });
        let (counts, starts, functions) = (layout.counts(), layout.starts(), self.context().functions());
        let (byte, comm) = (self.byte(), self.collective_handle());
        // SAFETY: `from` has `count` bytes and, on the root, `to` has room for all counts, whose sum is its length.
        self.collective(KIND, part.len(), || unsafe {
            (functions.gatherv)(from, count, byte, to, counts, starts, byte, root, comm)
        })
    }

    fn scatterv_into(
        &self,
        root: usize,
        whole: Option<&Payload>,
        bytes: &[usize],
        into: &mut Payload,
    ) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Scatterv;
        let whole = whole.filter(|_| root == self.rank());
        let root = self.check_peer(root)?;
        let count = self.count_of(KIND, into.len())?;
        let layout = &mut self.context().layouts.borrow_mut().out;
        self.lay_out(KIND, layout, bytes, whole.map_or_else(|| bytes.iter().sum(), Payload::len))?;
        let (from, to) = (whole.map_or(std::ptr::null(), |whole| outgoing(self, whole)), incoming(self, into));
        let (counts, starts, functions) = (layout.counts(), layout.starts(), self.context().functions());
        let (byte, comm) = (self.byte(), self.collective_handle());
        // SAFETY: `to` has room for `count` bytes and, on the root, `from` has all counts, whose sum is its length.
        self.collective(KIND, into.len(), || unsafe {
            (functions.scatterv)(from, counts, starts, byte, to, count, byte, root, comm)
        })
    }

    fn allgatherv_into(&self, part: &Payload, bytes: &[usize], into: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Allgatherv;
        let count = self.count_of(KIND, part.len())?;
        let layout = &mut self.context().layouts.borrow_mut().back;
        self.lay_out(KIND, layout, bytes, into.len())?;
        let (from, to) = (outgoing(self, part), incoming(self, into));
        let (counts, starts, functions) = (layout.counts(), layout.starts(), self.context().functions());
        let (byte, comm) = (self.byte(), self.collective_handle());
        // SAFETY: `from` has `count` bytes, and `to` has room for all counts, whose sum is its length.
        self.collective(KIND, into.len(), || unsafe {
            (functions.allgatherv)(from, count, byte, to, counts, starts, byte, comm)
        })
    }

    fn gather(&self, root: usize, part: &Payload) -> Result<Option<Payload>, CommError> {
        let at_root = root == self.rank();
        let mut whole = part.same_sort(if at_root { part.len() * self.size() } else { 0 });
        self.gather_into(root, part, &mut whole)?;
        Ok(at_root.then_some(whole))
    }

    fn gather_into(&self, root: usize, part: &Payload, into: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Gather;
        let at_root = root == self.rank();
        let root = self.check_peer(root)?;
        let count = self.count_of(KIND, part.len())?;
        let to = if at_root {
            self.check_space(KIND, into, part.len() * self.size())?;
            incoming(self, into)
        } else {
            std::ptr::null_mut()
        };
        let from = outgoing(self, part);
        let functions = self.context().functions();
        // SAFETY: `from` has `count` bytes and, on the root, `to` has room for `size` times as many.
        self.collective(KIND, part.len(), || unsafe {
            (functions.gather)(from, count, self.byte(), to, count, self.byte(), root, self.collective_handle())
        })
    }

    fn scatter(&self, root: usize, whole: Option<&Payload>, bytes: usize) -> Result<Payload, CommError> {
        // Only the root sees of which sort the whole is: the others receive data, which serve as either.
        let mut part = match whole.filter(|_| root == self.rank()) {
            Some(whole) => whole.same_sort(bytes),
            None => Payload::Data(weft_comm::Buffer::zeroed(bytes)),
        };
        self.scatter_into(root, whole, &mut part)?;
        Ok(part)
    }

    fn scatter_into(&self, root: usize, whole: Option<&Payload>, into: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Scatter;
        let at_root = root == self.rank();
        let mpi_root = self.check_peer(root)?;
        let whole = whole.filter(|_| at_root);
        let bytes = into.len();
        if at_root && whole.map(Payload::len) != Some(bytes * self.size()) {
            let len = whole.map_or(0, Payload::len);
            let what = format!("the root has {len} bytes for {} parts of {bytes}", self.size());
            return Err(self.bad_arguments(KIND, what));
        }
        let count = self.count_of(KIND, bytes)?;
        let from = whole.map_or(std::ptr::null(), |whole| outgoing(self, whole));
        let to = incoming(self, into);
        let functions = self.context().functions();
        // SAFETY: `to` has room for `count` bytes and, on the root, `from` has `size` times as many.
        self.collective(KIND, bytes, || unsafe {
            (functions.scatter)(from, count, self.byte(), to, count, self.byte(), mpi_root, self.collective_handle())
        })
    }

    fn allgather(&self, part: &Payload) -> Result<Payload, CommError> {
        let mut whole = part.same_sort(part.len() * self.size());
        self.allgather_into(part, &mut whole)?;
        Ok(whole)
    }

    fn allgather_into(&self, part: &Payload, into: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Allgather;
        let count = self.count_of(KIND, part.len())?;
        self.check_space(KIND, into, part.len() * self.size())?;
        let (from, to) = (outgoing(self, part), incoming(self, into));
        let functions = self.context().functions();
        // SAFETY: `from` has `count` bytes, `to` has room for `size` times as many.
        self.collective(KIND, into.len(), || unsafe {
            (functions.allgather)(from, count, self.byte(), to, count, self.byte(), self.collective_handle())
        })
    }

    fn alltoall(&self, whole: &Payload) -> Result<Payload, CommError> {
        let mut received = whole.same_sort(whole.len());
        self.alltoall_into(whole, &mut received)?;
        Ok(received)
    }

    fn alltoall_into(&self, whole: &Payload, into: &mut Payload) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Alltoall;
        let count = self.count_of(KIND, self.equal_part(KIND, whole.len())?)?;
        self.check_space(KIND, into, whole.len())?;
        let (from, to) = (outgoing(self, whole), incoming(self, into));
        let functions = self.context().functions();
        // SAFETY: both have `size` times `count` bytes.
        self.collective(KIND, whole.len(), || unsafe {
            (functions.alltoall)(from, count, self.byte(), to, count, self.byte(), self.collective_handle())
        })
    }

    fn alltoallv(&self, whole: &Payload, send_bytes: &[usize], recv_bytes: &[usize]) -> Result<Payload, CommError> {
        let mut received = whole.same_sort(recv_bytes.iter().sum());
        self.alltoallv_into(whole, send_bytes, recv_bytes, &mut received)?;
        Ok(received)
    }

    fn alltoallv_into(
        &self,
        whole: &Payload,
        send_bytes: &[usize],
        recv_bytes: &[usize],
        into: &mut Payload,
    ) -> Result<(), CommError> {
        const KIND: CollectiveKind = CollectiveKind::Alltoallv;
        let layouts = &mut *self.context().layouts.borrow_mut();
        self.lay_out(KIND, &mut layouts.out, send_bytes, whole.len())?;
        self.lay_out(KIND, &mut layouts.back, recv_bytes, into.len())?;
        let (from, to) = (outgoing(self, whole), incoming(self, into));
        let functions = self.context().functions();
        // SAFETY: the counts and starts stay within both payloads, whose lengths are the sums of the counts.
        self.collective(KIND, whole.len(), || unsafe {
            (functions.alltoallv)(
                from,
                layouts.out.counts(),
                layouts.out.starts(),
                self.byte(),
                to,
                layouts.back.counts(),
                layouts.back.starts(),
                self.byte(),
                self.collective_handle(),
            )
        })
    }
}
