//! Looking for messages, and taking them out (MPI 4.1, section 3.8).

use std::ffi::{c_int, c_void};

use weft_comm::Communicator as _;

use crate::abi::{self, Aint, Comm, Datatype as DatatypeHandle, Message, Request as Handle, Status};
use crate::fault::{Answer, Fault, class};
use crate::rank::{Matched, Rank};
use crate::request::{Completed, Receive, Request, State, completed};

use super::point_to_point::{Memory, check_rank, check_tag, hand_out, selectors};
use super::{at, put};

pub fn probe(rank: &Rank, source: c_int, tag: c_int, comm: Comm, status: *mut Status) -> Answer {
    let comm = rank.comm(comm)?;
    check_tag(tag, true)?;
    if source == abi::PROC_NULL {
        Completed::NO_PROC.write(status);
        return Ok(());
    }
    check_rank(&comm, source, true)?;
    let (from, selector) = selectors(source, tag);
    completed(&rank.block(comm.link.probe(from, selector))?).write(status);
    Ok(())
}

pub fn iprobe(rank: &Rank, source: c_int, tag: c_int, comm: Comm, flag: *mut c_int, status: *mut Status) -> Answer {
    let comm = rank.comm(comm)?;
    check_tag(tag, true)?;
    if source == abi::PROC_NULL {
        Completed::NO_PROC.write(status);
        put(flag, 1);
        return Ok(());
    }
    check_rank(&comm, source, true)?;
    let (from, selector) = selectors(source, tag);
    let known = rank.block(comm.link.iprobe(from, selector))?;
    match &known {
        Some(known) => completed(known).write(status),
        None => rank.looked_in_vain(),
    }
    put(flag, c_int::from(known.is_some()));
    Ok(())
}

/// Hands a message that was taken out to the program.
fn hand_out_message(
    rank: &Rank,
    comm: Comm,
    taken: (weft_comm::Status, crate::link::Receive),
    message: *mut Message,
    status: *mut Status,
) {
    let completed = completed(&taken.0);
    completed.write(status);
    put(message, rank.messages.insert(Matched { receive: Some(taken.1).into(), completed, comm }));
}

pub fn mprobe(
    rank: &Rank,
    source: c_int,
    tag: c_int,
    comm: Comm,
    message: *mut Message,
    status: *mut Status,
) -> Answer {
    let object = rank.comm(comm)?;
    check_tag(tag, true)?;
    if source == abi::PROC_NULL {
        Completed::NO_PROC.write(status);
        put(message, abi::MESSAGE_NO_PROC);
        return Ok(());
    }
    check_rank(&object, source, true)?;
    let (from, selector) = selectors(source, tag);
    let taken = rank.block(object.link.take_next(from, selector))?;
    hand_out_message(rank, comm, taken, message, status);
    Ok(())
}

pub fn improbe(
    rank: &Rank,
    source: c_int,
    tag: c_int,
    comm: Comm,
    flag: *mut c_int,
    message: *mut Message,
    status: *mut Status,
) -> Answer {
    let object = rank.comm(comm)?;
    check_tag(tag, true)?;
    if source == abi::PROC_NULL {
        Completed::NO_PROC.write(status);
        put(message, abi::MESSAGE_NO_PROC);
        put(flag, 1);
        return Ok(());
    }
    check_rank(&object, source, true)?;
    let (from, selector) = selectors(source, tag);
    let taken = rank.block(object.link.take_arrived(from, selector))?;
    put(flag, c_int::from(taken.is_some()));
    match taken {
        Some(taken) => hand_out_message(rank, comm, taken, message, status),
        None => rank.looked_in_vain(),
    }
    Ok(())
}

/// The receive of a message that was taken out.
fn matched_state(rank: &Rank, memory: Memory, message: *mut Message) -> Result<(State, Comm), Fault> {
    let handle = at(message, 0);
    if handle == abi::MESSAGE_NO_PROC {
        put(message, abi::MESSAGE_NULL);
        return Ok((State::Done(Ok(Completed::NO_PROC)), abi::COMM_NULL));
    }
    let missing = || Fault::new(class::ERR_REQUEST, "no such message");
    let (datatype, count) = memory.check(rank)?;
    let matched = rank.messages.get(handle).ok_or_else(missing)?;
    let receive = matched.receive.borrow_mut().take().ok_or_else(missing)?;
    rank.messages.remove(handle);
    put(message, abi::MESSAGE_NULL);
    let (bytes, space) = (matched.completed.bytes, (count * datatype.size) as u64);
    let receive = Receive { receive, buffer: memory.address, count, datatype };
    let state = if bytes > space {
        let fault = Fault::new(class::ERR_TRUNCATE, format!("a message of {bytes} bytes for {space} bytes of memory"));
        let work = async move {
            let _ = receive.await;
            Err(fault)
        };
        State::Work(Box::pin(work))
    } else {
        State::Receive(Box::new(receive))
    };
    Ok((state, matched.comm))
}

pub fn mrecv(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    message: *mut Message,
    status: *mut Status,
) -> Answer {
    let (state, comm) = matched_state(rank, Memory::of(buf, count, datatype), message)?;
    rank.wait(&Request::new(state, comm))?.write(status);
    Ok(())
}

pub fn imrecv(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    message: *mut Message,
    request: *mut Handle,
) -> Answer {
    let (state, comm) = matched_state(rank, Memory::of(buf, count, datatype), message)?;
    hand_out(rank, state, comm, request);
    Ok(())
}
