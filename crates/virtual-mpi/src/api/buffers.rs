//! Memory for buffered sends (MPI 4.1, section 3.6).

use std::ffi::c_void;
use std::future::poll_fn;
use std::rc::Rc;

use crate::abi::{self, Aint, Comm, Request as Handle};
use crate::buffered::Buffered;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;
use crate::request::{Completed, Completion, State};

use super::point_to_point::hand_out;
use super::put;
use super::sessions::find_session;

/// Attaches memory of the program, which lasts until it is detached.
fn attach(buffered: &Buffered, buffer: *mut c_void, size: Aint) -> Answer {
    require(size >= 0, class::ERR_ARG, || format!("a buffer of {size} bytes"))?;
    // The standard's address for a buffer that the library provides is as large as it needs to be.
    let size = if buffer as usize == abi::BUFFER_AUTOMATIC { usize::MAX >> 1 } else { size as usize };
    require(buffered.attach(buffer as usize, size), class::ERR_BUFFER, || "a buffer is attached already".to_owned())
}

/// Is complete when the messages that are buffered now have left.
fn flushed(buffered: Rc<Buffered>) -> impl Future<Output = Completion> {
    let number = buffered.count();
    async move {
        poll_fn(|context| buffered.poll_left(number, context)).await;
        Ok(Completed::EMPTY)
    }
}

/// Waits until the messages that are buffered now have left.
fn flush(rank: &Rank, buffered: Rc<Buffered>) -> Answer {
    rank.block(flushed(buffered)).map(drop)
}

fn detach(rank: &Rank, buffered: Rc<Buffered>, buffer_addr: *mut c_void, size: super::CountOut) -> Answer {
    flush(rank, buffered.clone())?;
    let (address, bytes) = buffered.detach().unwrap_or_default();
    put(buffer_addr.cast::<usize>(), address);
    size.set(if address == abi::BUFFER_AUTOMATIC { 0 } else { bytes as Aint });
    Ok(())
}

fn iflush(rank: &Rank, buffered: Rc<Buffered>, request: *mut Handle) -> Answer {
    hand_out(rank, State::Work(Box::pin(flushed(buffered))), abi::COMM_NULL, request);
    Ok(())
}

/// Memory of one communicator.
fn of_comm(rank: &Rank, comm: Comm) -> Result<Rc<Buffered>, Fault> {
    Ok(rank.comm(comm)?.buffered.get_or_init(Rc::default).clone())
}

/// Memory of one session.
fn of_session(rank: &Rank, session: abi::Session) -> Result<Rc<Buffered>, Fault> {
    Ok(find_session(rank, session)?.buffered.clone())
}

pub fn buffer_attach(rank: &Rank, buffer: *mut c_void, size: Aint) -> Answer {
    attach(&rank.buffered, buffer, size)
}

pub fn buffer_detach(rank: &Rank, buffer_addr: *mut c_void, size: super::CountOut) -> Answer {
    detach(rank, rank.buffered.clone(), buffer_addr, size)
}

pub fn buffer_flush(rank: &Rank) -> Answer {
    flush(rank, rank.buffered.clone())
}

pub fn buffer_iflush(rank: &Rank, request: *mut Handle) -> Answer {
    iflush(rank, rank.buffered.clone(), request)
}

pub fn comm_attach_buffer(rank: &Rank, comm: Comm, buffer: *mut c_void, size: Aint) -> Answer {
    attach(&*of_comm(rank, comm)?, buffer, size)
}

pub fn comm_detach_buffer(rank: &Rank, comm: Comm, buffer_addr: *mut c_void, size: super::CountOut) -> Answer {
    detach(rank, of_comm(rank, comm)?, buffer_addr, size)
}

pub fn comm_flush_buffer(rank: &Rank, comm: Comm) -> Answer {
    flush(rank, of_comm(rank, comm)?)
}

pub fn comm_iflush_buffer(rank: &Rank, comm: Comm, request: *mut Handle) -> Answer {
    iflush(rank, of_comm(rank, comm)?, request)
}

pub fn session_attach_buffer(rank: &Rank, session: abi::Session, buffer: *mut c_void, size: Aint) -> Answer {
    attach(&*of_session(rank, session)?, buffer, size)
}

pub fn session_detach_buffer(
    rank: &Rank,
    session: abi::Session,
    buffer_addr: *mut c_void,
    size: super::CountOut,
) -> Answer {
    detach(rank, of_session(rank, session)?, buffer_addr, size)
}

pub fn session_flush_buffer(rank: &Rank, session: abi::Session) -> Answer {
    flush(rank, of_session(rank, session)?)
}

pub fn session_iflush_buffer(rank: &Rank, session: abi::Session, request: *mut Handle) -> Answer {
    iflush(rank, of_session(rank, session)?, request)
}
