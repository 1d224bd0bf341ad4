//! The functions of MPI that weft calls, as a table of addresses.

use std::ffi::{c_char, c_int};

use super::Handle;
use super::abi::Status;
use super::locate::LoadError;
use super::symbols::{Symbols, text_of};

/// `MPI_MAX_ERROR_STRING` of MPICH and the standard ABI; Open MPI's is smaller.
const ERROR_SIZE: usize = 512;

macro_rules! functions {
    ($name:ident; $($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions of an MPI library, with handles as [`Handle`]; each is MPI's function of the same name.
        pub struct $name {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl $name {
            /// Every name that a library must have.
            #[cfg(test)]
            const NAMES: &[&str] = &[$($symbol),*];

            /// Looks all of them up.
            pub fn load(symbols: &Symbols) -> Result<$name, LoadError> {
                Ok($name {
                    $($field: {
                        let address =
                            symbols.address($symbol).ok_or_else(|| LoadError::missing(symbols.path(), "MPI", $symbol))?;
                        // SAFETY: the signature is that of the MPI standard, handles and pointers being one register.
                        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) -> c_int>(address) }
                    },)*
                })
            }
        }
    };
}

functions! {
    Functions;
    initialized = "MPI_Initialized" (*mut c_int);
    finalized = "MPI_Finalized" (*mut c_int);
    init_thread = "MPI_Init_thread" (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    query_thread = "MPI_Query_thread" (*mut c_int);
    finalize = "MPI_Finalize" ();
    abort = "MPI_Abort" (Handle, c_int);
    error_string = "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    error_class = "MPI_Error_class" (c_int, *mut c_int);
    comm_rank = "MPI_Comm_rank" (Handle, *mut c_int);
    comm_size = "MPI_Comm_size" (Handle, *mut c_int);
    comm_dup = "MPI_Comm_dup" (Handle, *mut Handle);
    comm_split = "MPI_Comm_split" (Handle, c_int, c_int, *mut Handle);
    comm_free = "MPI_Comm_free" (*mut Handle);
    comm_set_errhandler = "MPI_Comm_set_errhandler" (Handle, Handle);
    comm_get_attr = "MPI_Comm_get_attr" (Handle, c_int, *mut *mut c_int, *mut c_int);
    send = "MPI_Send" (*const u8, c_int, Handle, c_int, c_int, Handle);
    recv = "MPI_Recv" (*mut u8, c_int, Handle, c_int, c_int, Handle, *mut Status);
    isend = "MPI_Isend" (*const u8, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    irecv = "MPI_Irecv" (*mut u8, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    wait = "MPI_Wait" (*mut Handle, *mut Status);
    test = "MPI_Test" (*mut Handle, *mut c_int, *mut Status);
    cancel = "MPI_Cancel" (*mut Handle);
    send_init = "MPI_Send_init" (*const u8, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    recv_init = "MPI_Recv_init" (*mut u8, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    start = "MPI_Start" (*mut Handle);
    waitall = "MPI_Waitall" (c_int, *mut u8, *mut Status);
    request_free = "MPI_Request_free" (*mut Handle);
    probe = "MPI_Probe" (c_int, c_int, Handle, *mut Status);
    iprobe = "MPI_Iprobe" (c_int, c_int, Handle, *mut c_int, *mut Status);
    get_count = "MPI_Get_count" (*const Status, Handle, *mut c_int);
    barrier = "MPI_Barrier" (Handle);
    bcast = "MPI_Bcast" (*mut u8, c_int, Handle, c_int, Handle);
    reduce = "MPI_Reduce" (*const u8, *mut u8, c_int, Handle, Handle, c_int, Handle);
    allreduce = "MPI_Allreduce" (*const u8, *mut u8, c_int, Handle, Handle, Handle);
    scan = "MPI_Scan" (*const u8, *mut u8, c_int, Handle, Handle, Handle);
    exscan = "MPI_Exscan" (*const u8, *mut u8, c_int, Handle, Handle, Handle);
    reduce_scatter_block = "MPI_Reduce_scatter_block" (*const u8, *mut u8, c_int, Handle, Handle, Handle);
    gather = "MPI_Gather" (*const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, Handle);
    scatter = "MPI_Scatter" (*const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, Handle);
    allgather = "MPI_Allgather" (*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle);
    alltoall = "MPI_Alltoall" (*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle);
    alltoallv = "MPI_Alltoallv" (
        *const u8, *const c_int, *const c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, Handle
    );
    gatherv = "MPI_Gatherv" (
        *const u8, c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, c_int, Handle
    );
    scatterv = "MPI_Scatterv" (
        *const u8, *const c_int, *const c_int, Handle, *mut u8, c_int, Handle, c_int, Handle
    );
    allgatherv = "MPI_Allgatherv" (
        *const u8, c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, Handle
    );
}

functions! {
    NonblockingFunctions;
    barrier = "MPI_Ibarrier" (Handle, *mut Handle);
    bcast = "MPI_Ibcast" (*mut u8, c_int, Handle, c_int, Handle, *mut Handle);
    reduce = "MPI_Ireduce" (*const u8, *mut u8, c_int, Handle, Handle, c_int, Handle, *mut Handle);
    allreduce = "MPI_Iallreduce" (*const u8, *mut u8, c_int, Handle, Handle, Handle, *mut Handle);
    scan = "MPI_Iscan" (*const u8, *mut u8, c_int, Handle, Handle, Handle, *mut Handle);
    exscan = "MPI_Iexscan" (*const u8, *mut u8, c_int, Handle, Handle, Handle, *mut Handle);
    reduce_scatter_block = "MPI_Ireduce_scatter_block" (*const u8, *mut u8, c_int, Handle, Handle, Handle, *mut Handle);
    gather = "MPI_Igather" (*const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, Handle, *mut Handle);
    scatter = "MPI_Iscatter" (*const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, Handle, *mut Handle);
    allgather = "MPI_Iallgather" (*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle, *mut Handle);
    alltoall = "MPI_Ialltoall" (*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle, *mut Handle);
    alltoallv = "MPI_Ialltoallv" (
        *const u8, *const c_int, *const c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, Handle, *mut Handle
    );
    gatherv = "MPI_Igatherv" (
        *const u8, c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, c_int, Handle, *mut Handle
    );
    scatterv = "MPI_Iscatterv" (
        *const u8, *const c_int, *const c_int, Handle, *mut u8, c_int, Handle, c_int, Handle, *mut Handle
    );
    allgatherv = "MPI_Iallgatherv" (
        *const u8, c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, Handle, *mut Handle
    );
}

functions! {
    PersistentFunctions;
    barrier = "MPI_Barrier_init" (Handle, Handle, *mut Handle);
    bcast = "MPI_Bcast_init" (*mut u8, c_int, Handle, c_int, Handle, Handle, *mut Handle);
    reduce = "MPI_Reduce_init" (*const u8, *mut u8, c_int, Handle, Handle, c_int, Handle, Handle, *mut Handle);
    allreduce = "MPI_Allreduce_init" (*const u8, *mut u8, c_int, Handle, Handle, Handle, Handle, *mut Handle);
    scan = "MPI_Scan_init" (*const u8, *mut u8, c_int, Handle, Handle, Handle, Handle, *mut Handle);
    exscan = "MPI_Exscan_init" (*const u8, *mut u8, c_int, Handle, Handle, Handle, Handle, *mut Handle);
    reduce_scatter_block = "MPI_Reduce_scatter_block_init" (
        *const u8, *mut u8, c_int, Handle, Handle, Handle, Handle, *mut Handle
    );
    gather = "MPI_Gather_init" (*const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, Handle, Handle, *mut Handle);
    scatter = "MPI_Scatter_init" (*const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, Handle, Handle, *mut Handle);
    allgather = "MPI_Allgather_init" (*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle, Handle, *mut Handle);
    alltoall = "MPI_Alltoall_init" (*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle, Handle, *mut Handle);
    alltoallv = "MPI_Alltoallv_init" (
        *const u8, *const c_int, *const c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, Handle, Handle, *mut Handle
    );
    gatherv = "MPI_Gatherv_init" (
        *const u8, c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, c_int, Handle, Handle, *mut Handle
    );
    scatterv = "MPI_Scatterv_init" (
        *const u8, *const c_int, *const c_int, Handle, *mut u8, c_int, Handle, c_int, Handle, Handle, *mut Handle
    );
    allgatherv = "MPI_Allgatherv_init" (
        *const u8, c_int, Handle, *mut u8, *const c_int, *const c_int, Handle, Handle, Handle, *mut Handle
    );
}

functions! {
    OneSidedFunctions;
    allocate = "MPI_Win_allocate" (isize, c_int, Handle, Handle, *mut *mut u8, *mut Handle);
    free = "MPI_Win_free" (*mut Handle);
    set_errhandler = "MPI_Win_set_errhandler" (Handle, Handle);
    lock = "MPI_Win_lock" (c_int, c_int, c_int, Handle);
    unlock = "MPI_Win_unlock" (c_int, Handle);
    flush = "MPI_Win_flush" (c_int, Handle);
    fence = "MPI_Win_fence" (c_int, Handle);
    post = "MPI_Win_post" (Handle, c_int, Handle);
    start = "MPI_Win_start" (Handle, c_int, Handle);
    complete = "MPI_Win_complete" (Handle);
    wait = "MPI_Win_wait" (Handle);
    comm_group = "MPI_Comm_group" (Handle, *mut Handle);
    group_incl = "MPI_Group_incl" (Handle, c_int, *const c_int, *mut Handle);
    group_free = "MPI_Group_free" (*mut Handle);
    put = "MPI_Put" (*const u8, c_int, Handle, c_int, isize, c_int, Handle, Handle);
    get = "MPI_Get" (*mut u8, c_int, Handle, c_int, isize, c_int, Handle, Handle);
    accumulate = "MPI_Accumulate" (*const u8, c_int, Handle, c_int, isize, c_int, Handle, Handle, Handle);
    get_accumulate = "MPI_Get_accumulate" (
        *const u8, c_int, Handle, *mut u8, c_int, Handle, c_int, isize, c_int, Handle, Handle, Handle
    );
    fetch_and_op = "MPI_Fetch_and_op" (*const u8, *mut u8, Handle, c_int, isize, Handle, Handle);
    compare_and_swap = "MPI_Compare_and_swap" (*const u8, *const u8, *mut u8, Handle, c_int, isize, Handle);
}

functions! {
    VirtualFunctions;
    await_request = "weft_await" (*const Handle, *mut c_int);
}

functions! {
    DatatypeFunctions;
    vector = "MPI_Type_vector" (c_int, c_int, c_int, Handle, *mut Handle);
    indexed = "MPI_Type_indexed" (c_int, *const c_int, *const c_int, Handle, *mut Handle);
    commit = "MPI_Type_commit" (*mut Handle);
    free = "MPI_Type_free" (*mut Handle);
}

functions! {
    SharedFunctions;
    comm_split_type = "MPI_Comm_split_type" (Handle, c_int, c_int, Handle, *mut Handle);
    win_allocate_shared = "MPI_Win_allocate_shared" (isize, c_int, Handle, Handle, *mut *mut u8, *mut Handle);
    win_shared_query = "MPI_Win_shared_query" (Handle, c_int, *mut isize, *mut c_int, *mut *mut u8);
    win_free = "MPI_Win_free" (*mut Handle);
}

functions! {
    FileFunctions;
    open = "MPI_File_open" (Handle, *const c_char, c_int, Handle, *mut Handle);
    close = "MPI_File_close" (*mut Handle);
    delete = "MPI_File_delete" (*const c_char, Handle);
    get_size = "MPI_File_get_size" (Handle, *mut i64);
    preallocate = "MPI_File_preallocate" (Handle, i64);
    read_at = "MPI_File_read_at" (Handle, i64, *mut u8, c_int, Handle, *mut Status);
    write_at = "MPI_File_write_at" (Handle, i64, *const u8, c_int, Handle, *mut Status);
    sync = "MPI_File_sync" (Handle);
}

impl Functions {
    /// The library's words for an error code.
    pub fn error_text(&self, code: c_int) -> String {
        // SAFETY: the buffer has the room the standard asks for.
        text_of::<ERROR_SIZE>(|buffer, len| unsafe { (self.error_string)(code, buffer, len) })
            .unwrap_or_else(|| format!("error code {code}"))
    }

    /// The class of an error code.
    pub fn error_class_of(&self, code: c_int) -> c_int {
        let mut class = code;
        // SAFETY: the pointer is to a live integer.
        unsafe { (self.error_class)(code, &mut class) };
        class
    }

    /// Asks a question of the form `MPI_X(int *flag)`; `false` where the library fails to answer.
    pub fn flag(&self, question: unsafe extern "C" fn(*mut c_int) -> c_int) -> bool {
        let mut flag = 0;
        // SAFETY: the pointer is to a live integer.
        let code = unsafe { question(&mut flag) };
        code == 0 && flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_one_of_mpi_and_named_once() {
        let mut names =
            [Functions::NAMES, NonblockingFunctions::NAMES, PersistentFunctions::NAMES, DatatypeFunctions::NAMES]
                .concat();
        names.extend([OneSidedFunctions::NAMES, FileFunctions::NAMES].concat());
        // A window of shared memory is freed as any window is.
        names.extend(SharedFunctions::NAMES.iter().filter(|name| **name != "MPI_Win_free"));
        let count = names.len();
        assert!(names.iter().all(|name| name.starts_with("MPI_")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        // What the stand-ins have besides no library of MPI may have by chance.
        assert!(VirtualFunctions::NAMES.iter().all(|name| name.starts_with("weft_")));
    }

    #[test]
    fn text_is_cut_at_the_length_the_library_gives() {
        let text = text_of::<16>(|buffer, len| {
            // SAFETY: the buffer has 16 bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(b"hello".as_ptr().cast(), buffer, 5);
                *len = 5;
            }
            0
        });
        assert_eq!(text.as_deref(), Some("hello"));
        assert_eq!(text_of::<16>(|_, _| 1), None);
        assert_eq!(
            // SAFETY: `text_of` gives a pointer to a live integer.
            text_of::<4>(|_, len| unsafe {
                *len = 99;
                0
            })
            .as_deref(),
            Some("")
        );
    }
}
