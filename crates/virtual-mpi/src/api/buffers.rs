//! Memory for buffered sends (MPI 4.1, section 3.6).

use std::ffi::c_void;
use std::future::poll_fn;

use crate::abi::{self, Aint, Comm, Request as Handle};
use crate::fault::{Answer, class, require};
use crate::rank::Rank;
use crate::request::{Completed, Completion, State};

use super::point_to_point::hand_out;
use super::put;

pub fn buffer_attach(rank: &Rank, buffer: *mut c_void, size: Aint) -> Answer {
    require(size >= 0, class::ERR_ARG, || format!("a buffer of {size} bytes"))?;
    let free = rank.attached.get() == (0, 0);
    require(free, class::ERR_BUFFER, || "a buffer is attached already".to_owned())?;
    // The standard's address for a buffer that the library provides is as large as it needs to be.
    let size = if buffer as isize == -2 { usize::MAX >> 1 } else { size as usize };
    rank.attached.set((buffer as usize, size));
    Ok(())
}

/// Waits until the messages that are buffered now have left.
fn flush(rank: &Rank) -> impl Future<Output = Completion> + use<> {
    let (buffered, number) = (rank.buffered.clone(), rank.buffered.count());
    async move {
        poll_fn(|context| buffered.poll_left(number, context)).await;
        Ok(Completed::EMPTY)
    }
}

pub fn buffer_detach(rank: &Rank, buffer_addr: *mut c_void, size: super::CountOut) -> Answer {
    rank.block(flush(rank))?;
    let (address, bytes) = rank.attached.replace((0, 0));
    put(buffer_addr.cast::<usize>(), address);
    size.set(if address as isize == -2 { 0 } else { bytes as Aint });
    Ok(())
}

pub fn buffer_flush(rank: &Rank) -> Answer {
    rank.block(flush(rank))?;
    Ok(())
}

pub fn buffer_iflush(rank: &Rank, request: *mut Handle) -> Answer {
    hand_out(rank, State::Work(Box::pin(flush(rank))), abi::COMM_NULL, request);
    Ok(())
}

/// Whether a handle is that of a communicator.
fn comm_exists(rank: &Rank, comm: Comm) -> Answer {
    rank.comm(comm).map(|_| ())
}

pub fn comm_attach_buffer(rank: &Rank, comm: Comm, buffer: *mut c_void, size: Aint) -> Answer {
    comm_exists(rank, comm)?;
    buffer_attach(rank, buffer, size)
}

pub fn comm_detach_buffer(rank: &Rank, comm: Comm, buffer_addr: *mut c_void, size: super::CountOut) -> Answer {
    comm_exists(rank, comm)?;
    buffer_detach(rank, buffer_addr, size)
}

pub fn comm_flush_buffer(rank: &Rank, comm: Comm) -> Answer {
    comm_exists(rank, comm)?;
    buffer_flush(rank)
}

pub fn comm_iflush_buffer(rank: &Rank, comm: Comm, request: *mut Handle) -> Answer {
    comm_exists(rank, comm)?;
    buffer_iflush(rank, request)
}

pub fn session_attach_buffer(rank: &Rank, _session: abi::Session, buffer: *mut c_void, size: Aint) -> Answer {
    buffer_attach(rank, buffer, size)
}

pub fn session_detach_buffer(
    rank: &Rank,
    _session: abi::Session,
    buffer_addr: *mut c_void,
    size: super::CountOut,
) -> Answer {
    buffer_detach(rank, buffer_addr, size)
}

pub fn session_flush_buffer(rank: &Rank, _session: abi::Session) -> Answer {
    buffer_flush(rank)
}

pub fn session_iflush_buffer(rank: &Rank, _session: abi::Session, request: *mut Handle) -> Answer {
    buffer_iflush(rank, request)
}
