//! The ranks of a communicator that share a node's memory, and windows of it.

use std::ffi::c_int;

use weft_comm::{CollectiveKind, CommError, Communicator};

use crate::activity::Mark;
use crate::comm::MpiComm;
use crate::library::Handle;

/// The environment variable that, as `0`, keeps exchanges from going through shared memory: every message is MPI's then.
pub const SHARED_VARIABLE: &str = "WEFT_SHARED_MEMORY";

/// Where MPI libraries on Linux keep what ranks share.
const SHARED_FILES: &std::ffi::CStr = c"/dev/shm";

/// The ranks of a node.
#[derive(Debug)]
pub struct Node {
    /// The library's communicator of them.
    pub comm: Handle,
    /// This rank among them.
    pub rank: usize,
    /// The ranks of the communicator that they are, in order.
    pub members: Vec<usize>,
}

/// Memory of the ranks of a node. Each has a segment, which all of them can read and write.
pub struct Window {
    /// The start of each segment.
    segments: Vec<*mut u8>,
}

impl Node {
    /// The node's ranks of `comm`; `None` where there is only one, where the library shares no memory, or where the
    /// environment says that none shall be used (on any of the ranks). Collective.
    pub fn of(comm: &MpiComm) -> Result<Option<Node>, CommError> {
        let context = comm.context();
        let Some(shared) = &context.library.shared else { return Ok(None) };
        let mut handle: Handle = 0;
        context.activity.enter(Mark::native(CollectiveKind::Split, 0));
        // SAFETY: the communicator is live; the output handle starts as zero.
        let code = unsafe {
            let (kind, key) = (context.abi().comm_type_shared, comm.rank() as c_int);
            (shared.comm_split_type)(comm.collective_handle(), kind, key, context.abi().files.info_null, &mut handle)
        };
        context.activity.leave();
        context.check("MPI_Comm_split_type", code)?;
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        let functions = context.functions();
        // SAFETY: the communicator was just made.
        let codes = unsafe {
            [
                (functions.comm_set_errhandler)(handle, context.abi().errors_return),
                (functions.comm_rank)(handle, &mut rank),
                (functions.comm_size)(handle, &mut size),
            ]
        };
        codes.into_iter().try_for_each(|code| context.check("MPI_Comm_rank", code))?;
        let mut node = Node { comm: handle, rank: rank as usize, members: vec![0; size as usize] };
        let wanted = std::env::var_os(SHARED_VARIABLE).is_none_or(|value| value != "0");
        let all = node.numbers(comm, [comm.rank() as u64, u64::from(wanted)])?;
        node.members = all.iter().map(|&[rank, _]| rank as usize).collect();
        let usable = size > 1 && all.iter().all(|&[_, wanted]| wanted == 1);
        if !usable {
            // SAFETY: the communicator is this one's own; all of its ranks come to the same.
            unsafe { (functions.comm_free)(&mut node.comm) };
        }
        Ok(usable.then_some(node))
    }

    /// The numbers of all ranks of the node. Collective over it.
    fn numbers<const N: usize>(&self, comm: &MpiComm, own: [u64; N]) -> Result<Vec<[u64; N]>, CommError> {
        let context = comm.context();
        let mut all = vec![[0; N]; self.members.len()];
        let bytes = size_of::<[u64; N]>() as c_int;
        context.activity.enter(Mark::native(CollectiveKind::Allgather, bytes as usize));
        // SAFETY: the communicator is live; the room is for the numbers of each of its ranks.
        let code = unsafe {
            let (byte, into) = (context.abi().datatypes.byte, all.as_mut_ptr().cast());
            (context.functions().allgather)(own.as_ptr().cast(), bytes, byte, into, bytes, byte, self.comm)
        };
        context.activity.leave();
        context.check("MPI_Allgather", code)?;
        Ok(all)
    }

    /// The place of a rank of the communicator among those of the node.
    pub fn index_of(&self, rank: usize) -> Option<usize> {
        self.members.iter().position(|&member| member == rank)
    }

    /// Makes a window with so many bytes of this rank, all zero; `None` where the system has no room for those of all.
    /// Collective over the node. It is freed at the end of MPI.
    pub fn window(&self, comm: &MpiComm, bytes: usize) -> Result<Option<Window>, CommError> {
        let context = comm.context();
        let Some(shared) = &context.library.shared else { return Ok(None) };
        let wanted: u64 = self.numbers(comm, [bytes as u64])?.iter().map(|[bytes]| bytes).sum();
        let fits = self.numbers(comm, [u64::from(fits_memory(wanted))])?.iter().all(|&[fits]| fits == 1);
        if wanted == 0 || !fits {
            return Ok(None);
        }
        let (mut own, mut window): (*mut u8, Handle) = (std::ptr::null_mut(), 0);
        context.activity.enter(Mark::native(CollectiveKind::Barrier, 0));
        // SAFETY: the communicator is live; the output handle starts as zero.
        let code = unsafe {
            let info = context.abi().files.info_null;
            (shared.win_allocate_shared)(bytes as isize, 1, info, self.comm, &mut own, &mut window)
        };
        context.activity.leave();
        let allocated = self.numbers(comm, [u64::from(code == 0)])?;
        if code == 0 {
            context.windows.borrow_mut().push(window);
        }
        if allocated.iter().any(|&[allocated]| allocated == 0) {
            return Ok(None);
        }
        let mut segments = Vec::with_capacity(self.members.len());
        for index in 0..self.members.len() {
            let (mut size, mut unit, mut start): (isize, c_int, *mut u8) = (0, 0, std::ptr::null_mut());
            // SAFETY: the window is live and the place one of its ranks.
            let code = unsafe { (shared.win_shared_query)(window, index as c_int, &mut size, &mut unit, &mut start) };
            context.check("MPI_Win_shared_query", code)?;
            segments.push(start);
        }
        // SAFETY: this rank's segment has so many bytes, which nobody looks at before all have met below.
        unsafe { segments[self.rank].write_bytes(0, bytes) };
        Ok(Some(Window { segments }))
    }

    /// Waits until all ranks of the node have come here.
    pub fn meet(&self, comm: &MpiComm) -> Result<(), CommError> {
        self.numbers(comm, [0]).map(drop)
    }
}

impl Window {
    /// The start of a rank's segment.
    pub fn segment(&self, index: usize) -> *mut u8 {
        self.segments[index]
    }
}

/// Whether so many bytes can be shared, with as many to spare: memory that is promised and not there ends the process
/// when it is touched.
fn fits_memory(bytes: u64) -> bool {
    // SAFETY: statvfs writes what it is given the address of; all zeros are a valid value of it.
    let mut file_system: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string.
    if unsafe { libc::statvfs(SHARED_FILES.as_ptr(), &mut file_system) } != 0 {
        return true;
    }
    bytes.saturating_mul(2) <= (file_system.f_bavail as u64).saturating_mul(file_system.f_frsize as u64)
}
