//! Messages in parts that become ready one by one (MPI 4.1, chapter 4).

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use weft_comm::Tag;

use crate::abi::{self, Aint, Comm, Datatype as DatatypeHandle, Info, Request as Handle};
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;
use crate::request::{Completed, Partitions, Request, State};
use crate::threads;

use super::point_to_point::{Memory, check_rank, check_tag, rank_for_ever, receive_over};
use super::put;

/// A message in parts: one message each, with the number of the part before the bytes of none.
fn partitioned(partitions: usize, is_send: bool) -> Rc<Partitions> {
    let ready = if is_send { vec![false; partitions] } else { Vec::new() };
    Rc::new(Partitions { ready: ready.into(), is_send, count: partitions })
}

pub fn psend_init(
    rank: &Rank,
    buf: *const c_void,
    partitions: c_int,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    _info: Info,
    request: *mut Handle,
) -> Answer {
    let partitions = parts_in(partitions)?;
    let memory = Memory::of(buf, count * partitions as Aint, datatype);
    let object = rank.comm(comm)?;
    memory.check(rank)?;
    check_tag(tag, false)?;
    if dest != abi::PROC_NULL {
        check_rank(&object, dest, false)?;
    }
    let link = object.next_partitioned(true, dest, tag);
    let parts = partitioned(partitions, true);
    let shared = parts.clone();
    // The message leaves when its last part is ready.
    let rank = rank_for_ever(rank);
    let start = Box::new(move || {
        shared.ready.borrow_mut().fill(false);
        let (shared, link) = (shared.clone(), link.clone());
        let work = async move {
            std::future::poll_fn(|_| {
                let all = shared.ready.borrow().iter().all(|&ready| ready);
                if all {
                    return std::task::Poll::Ready(());
                }
                threads::wait_for_others();
                std::task::Poll::Pending
            })
            .await;
            if dest != abi::PROC_NULL {
                let (data, (kinds, _)) = (memory.load(rank)?, memory.elements(rank)?);
                link.isend_elements(dest as usize, Tag::User(tag as u32), data, kinds, false).await?;
            }
            Ok(Completed::EMPTY)
        };
        Ok(State::Work(Box::pin(work)))
    });
    let object = Request { partitions: Some(parts), ..Request::persistent(start, comm) };
    put(request, rank.requests.insert(object));
    Ok(())
}

pub fn precv_init(
    rank: &Rank,
    buf: *mut c_void,
    partitions: c_int,
    count: Aint,
    datatype: DatatypeHandle,
    source: c_int,
    tag: c_int,
    comm: Comm,
    _info: Info,
    request: *mut Handle,
) -> Answer {
    let partitions = parts_in(partitions)?;
    let memory = Memory::of(buf, count * partitions as Aint, datatype);
    let object = rank.comm(comm)?;
    memory.check(rank)?;
    // Wildcards are not allowed (MPI 4.1, section 4.2.1).
    check_tag(tag, false)?;
    if source != abi::PROC_NULL {
        check_rank(&object, source, false)?;
    }
    let link = object.next_partitioned(false, source, tag);
    let rank = rank_for_ever(rank);
    let start = Box::new(move || match source {
        abi::PROC_NULL => Ok(State::Done(Ok(Completed::NO_PROC))),
        _ => Ok(State::Receive(Box::new(receive_over(rank, &link, memory, source, tag)?))),
    });
    let parts = partitioned(partitions, false);
    let object = Request { partitions: Some(parts), ..Request::persistent(start, comm) };
    put(request, rank.requests.insert(object));
    Ok(())
}

/// A message has one part at least.
fn parts_in(partitions: c_int) -> Result<usize, Fault> {
    require(partitions > 0, class::ERR_ARG, || format!("the number of partitions is {partitions}"))?;
    Ok(partitions as usize)
}

/// The parts of a partitioned request.
fn parts_of(rank: &Rank, request: Handle) -> Result<(Rc<Request>, Rc<Partitions>), Fault> {
    let request = rank.request(request)?;
    let parts = request.partitions.clone();
    let parts = parts.ok_or_else(|| Fault::new(class::ERR_REQUEST, "the request has no partitions"))?;
    Ok((request, parts))
}

fn set_ready(rank: &Rank, partitions: &[c_int], request: Handle) -> Answer {
    let (request, parts) = parts_of(rank, request)?;
    require(request.is_active(), class::ERR_REQUEST, || "the request is not started".to_owned())?;
    for &partition in partitions {
        let known = parts.is_send && partition >= 0 && (partition as usize) < parts.count;
        require(known, class::ERR_ARG, || format!("partition {partition} of {}", parts.count))?;
        let was_ready = std::mem::replace(&mut parts.ready.borrow_mut()[partition as usize], true);
        require(!was_ready, class::ERR_ARG, || format!("partition {partition} is ready already"))?;
    }
    rank.test(&[request]);
    Ok(())
}

pub fn pready(rank: &Rank, partition: c_int, request: Handle) -> Answer {
    set_ready(rank, &[partition], request)
}

pub fn pready_range(rank: &Rank, partition_low: c_int, partition_high: c_int, request: Handle) -> Answer {
    set_ready(rank, &(partition_low..=partition_high).collect::<Vec<_>>(), request)
}

pub fn pready_list(rank: &Rank, length: c_int, partitions: *const c_int, request: Handle) -> Answer {
    set_ready(rank, &super::list(partitions, super::positive(length, "the number of partitions")?), request)
}

pub fn parrived(rank: &Rank, request: Handle, partition: c_int, flag: *mut c_int) -> Answer {
    let (request, parts) = parts_of(rank, request)?;
    let known = !parts.is_send && partition >= 0 && (partition as usize) < parts.count;
    require(known, class::ERR_ARG, || format!("partition {partition} of {}", parts.count))?;
    let arrived = rank.test(&[request])[0];
    if !arrived {
        rank.looked_in_vain();
    }
    put(flag, c_int::from(arrived));
    Ok(())
}
