//! Start and end, clocks, memory, and what the library says of itself (MPI 4.1, chapters 9 and 11).

use std::alloc::{Layout, dealloc};
use std::ffi::{c_char, c_int, c_void};

use weft_comm::Communicator as _;

use crate::abi::{self, Aint, Comm, Info};
use crate::collective;
use crate::communicator::Purpose;
use crate::computation;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::{Phase, Rank, current};

use super::{put, put_text};

pub fn init(rank: &Rank, _argc: *mut c_int, _argv: *mut c_void) -> Answer {
    begin(rank, abi::THREAD_SINGLE)
}

pub fn init_thread(
    rank: &Rank,
    _argc: *mut c_int,
    _argv: *mut c_void,
    required: c_int,
    provided: *mut c_int,
) -> Answer {
    begin(rank, required.clamp(abi::THREAD_SINGLE, highest_level(rank)))?;
    put(provided, rank.thread_level.get());
    Ok(())
}

/// The highest thread level that a rank can have.
pub(super) fn highest_level(rank: &Rank) -> c_int {
    if rank.threads.can_be_beside() { abi::THREAD_MULTIPLE } else { abi::THREAD_SERIALIZED }
}

fn begin(rank: &Rank, level: c_int) -> Answer {
    let again = || "MPI was initialized before".to_owned();
    require(rank.phase.get() == Phase::Before, class::ERR_OTHER, again)?;
    rank.phase.set(Phase::Initialized);
    // Until now it may have asked for a version, and ended.
    rank.endpoint.tell_end(false);
    rank.thread_level.set(level);
    rank.threads.set_main();
    if level == abi::THREAD_MULTIPLE {
        rank.threads.allow_beside();
    }
    if rank.shared.initialized.get().is_none() {
        rank.shared.initialized.set(Some(level));
    }
    Ok(())
}

pub fn initialized(rank: &Rank, flag: *mut c_int) -> Answer {
    put(flag, c_int::from(rank.is_initialized()));
    Ok(())
}

pub fn finalized(rank: &Rank, flag: *mut c_int) -> Answer {
    put(flag, c_int::from(rank.phase.get() == Phase::Finalized));
    Ok(())
}

pub fn finalize(rank: &Rank) -> Answer {
    rank.adopt();
    let wrong = || "MPI is not initialized".to_owned();
    require(rank.phase.get() == Phase::Initialized, class::ERR_OTHER, wrong)?;
    super::delete_all(rank, abi::COMM_SELF, &rank.comm_self.attributes)?;
    let links = rank.comm_world.private(Purpose::Finalize, rank.caller());
    rank.block(collective::barrier(links))?;
    rank.finish();
    Ok(())
}

pub fn query_thread(rank: &Rank, provided: *mut c_int) -> Answer {
    rank.adopt();
    put(provided, rank.thread_level.get());
    Ok(())
}

pub fn is_thread_main(rank: &Rank, flag: *mut c_int) -> Answer {
    put(flag, c_int::from(rank.threads.is_main()));
    Ok(())
}

pub fn abort(rank: &Rank, _comm: Comm, errorcode: c_int) -> Answer {
    rank.abort(errorcode, &format!("MPI_Abort with code {errorcode}"))
}

pub fn get_processor_name(rank: &Rank, name: *mut c_char, resultlen: *mut c_int) -> Answer {
    let len = put_text(name, rank.node_name.as_bytes(), abi::MAX_PROCESSOR_NAME);
    put(resultlen, len as c_int);
    Ok(())
}

pub fn get_version(_rank: &Rank, version: *mut c_int, subversion: *mut c_int) -> Answer {
    put(version, abi::VERSION.0);
    put(subversion, abi::VERSION.1);
    Ok(())
}

pub fn get_library_version(_rank: &Rank, version: *mut c_char, resultlen: *mut c_int) -> Answer {
    let text = concat!("weft ", env!("CARGO_PKG_VERSION"), ", MPI in virtual time (MPICH ABI)");
    put(resultlen, put_text(version, text.as_bytes(), abi::MAX_LIBRARY_VERSION_STRING) as c_int);
    Ok(())
}

pub fn wtime() -> f64 {
    let Some(rank) = current() else { return 0.0 };
    let _within = rank.within();
    rank.enter(rank.call.get());
    rank.read_clock();
    let time = rank.endpoint.wtime();
    rank.leave();
    time
}

pub fn wtick() -> f64 {
    1e-12
}

/// The two numbers are there only with the level that says so: the function has as many arguments as the caller likes.
pub fn pcontrol(rank: &Rank, level: c_int, flops: f64, bytes: f64) -> Answer {
    if level == computation::DECLARED { computation::declare(rank, flops, bytes) } else { Ok(()) }
}

pub fn aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

pub fn aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}

pub fn get_address(_rank: &Rank, location: *const c_void, address: *mut Aint) -> Answer {
    put(address, location as Aint);
    Ok(())
}

pub fn address(rank: &Rank, location: *mut c_void, address: *mut Aint) -> Answer {
    get_address(rank, location, address)
}

/// Bytes before an allocation that keep its size; memory is aligned to as much.
const HEADER: usize = 64;

/// `size` zero bytes that [`free`] takes back.
pub(crate) fn allocate(size: usize) -> Result<*mut u8, Fault> {
    let full = || Fault::new(class::ERR_NO_MEM, format!("no memory for {size} bytes"));
    let layout = Layout::from_size_align(size.max(1) + HEADER, HEADER).map_err(|_| full())?;
    // SAFETY: the layout has a size; the first bytes keep it.
    unsafe {
        let address = std::alloc::alloc_zeroed(layout);
        if address.is_null() {
            return Err(full());
        }
        address.cast::<usize>().write(layout.size());
        Ok(address.add(HEADER))
    }
}

/// Frees what [`allocate`] gave.
pub(crate) fn free(address: *mut u8) {
    // SAFETY: the memory came from `allocate`, which kept its size before it.
    unsafe {
        let start = address.sub(HEADER);
        let size = start.cast::<usize>().read();
        dealloc(start, Layout::from_size_align_unchecked(size, HEADER));
    }
}

pub fn alloc_mem(_rank: &Rank, size: Aint, _info: Info, baseptr: *mut c_void) -> Answer {
    require(size >= 0, class::ERR_ARG, || format!("a size of {size} bytes"))?;
    put(baseptr.cast::<*mut u8>(), allocate(size as usize)?);
    Ok(())
}

pub fn free_mem(_rank: &Rank, base: *mut c_void) -> Answer {
    if !base.is_null() {
        free(base.cast());
    }
    Ok(())
}

pub fn get_hw_resource_info(rank: &Rank, hw_info: *mut Info) -> Answer {
    put(hw_info, rank.shared.infos.insert(crate::info::Info::default()));
    Ok(())
}

pub fn abi_get_version(_rank: &Rank, abi_major: *mut c_int, abi_minor: *mut c_int) -> Answer {
    // The interface is MPICH's, not the standard's.
    put(abi_major, -1);
    put(abi_minor, -1);
    Ok(())
}

pub fn abi_get_info(rank: &Rank, info: *mut Info) -> Answer {
    let sizes = crate::info::Info::default();
    for name in ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"] {
        sizes.set(name.as_bytes(), size_of::<Aint>().to_string().as_bytes());
    }
    put(info, rank.shared.infos.insert(sizes));
    Ok(())
}

pub fn abi_get_fortran_info(_rank: &Rank, info: *mut Info) -> Answer {
    put(info, abi::INFO_NULL);
    Ok(())
}
