//! Collectives that combine vectors (MPI 4.1, sections 6.9 to 6.11).

use std::ffi::{c_int, c_void};

use weft_comm::Buffer;

use crate::abi::{Aint, Comm, Counts, Datatype, Op, is_in_place};
use crate::apart::home;
use crate::collective::{self, Reducer, Root};
use crate::communicator::Communicator;
use crate::fault::{Answer, Fault, class, require};
use crate::joint::{Combined, Described};
use crate::operation::Operation;
use crate::rank::Rank;

use super::collectives::{Plan, is_root, no_in_place, root_of, rooted};
use super::point_to_point::is_somewhere;

/// What combines vectors, if the operation is defined for the datatype.
fn reducer(rank: &Rank, count: Aint, datatype: Datatype, op: Op) -> Result<Reducer, Fault> {
    require(count >= 0, class::ERR_COUNT, || format!("a count of {count}"))?;
    let operation = super::find(rank, op)?;
    let object = rank.datatype(datatype)?;
    operation.check_reduction(&object)?;
    Ok(Reducer { operation, datatype: object, handle: datatype })
}

/// What ranks must agree on in a call that combines vectors of so many elements. Between two groups each has its own.
fn combining(described: Described, comm: &Communicator, reducer: &Reducer, count: usize) -> Described {
    if comm.is_inter() {
        return described;
    }
    let operation = match reducer.operation {
        Operation::Predefined(op) => Combined::Predefined(op),
        Operation::User(_) => Combined::User,
    };
    let datatype = &reducer.datatype;
    described.with_operation(operation).with_elements(datatype.kinds, count * datatype.size)
}

/// Whether results go to memory that a call's data come from.
fn not_the_same(send: *const c_void, receive: *const c_void, count: Aint) -> Answer {
    let wrong = count > 0 && !send.is_null() && send == receive;
    require(!wrong, class::ERR_BUFFER, || "the buffers for sending and receiving are the same".to_owned())
}

/// Where the vector of a reduction comes from.
fn operand(
    comm: &Communicator,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    reducer: &Reducer,
    count: Aint,
) -> Result<*const c_void, Fault> {
    no_in_place(comm, sendbuf)?;
    let from = if is_in_place(sendbuf) { recvbuf } else { sendbuf };
    is_somewhere(from, &reducer.datatype, count as usize)?;
    if !is_in_place(sendbuf) && !comm.is_inter() {
        not_the_same(sendbuf, recvbuf, count)?;
    }
    Ok(from)
}

pub(crate) fn reduce_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    let root = root_of(&object, root)?;
    if root == Root::Elsewhere {
        // Beside the root between two groups nothing is reduced: arguments have no meaning there.
        return Ok(Plan::new(Described::default(), |links| Ok(Box::pin(collective::reduce_elsewhere(links)))));
    }
    let reducer = reducer(rank, count, datatype, op)?;
    let described = combining(rooted(&object, root), &object, &reducer, count as usize);
    let (receives, count) = (is_root(&object, root), count as usize);
    if receives {
        is_somewhere(recvbuf, &reducer.datatype, count)?;
    }
    let from = if root == Root::Here {
        None
    } else if receives {
        Some(operand(&object, sendbuf, recvbuf, &reducer, count as Aint)?)
    } else {
        require(!is_in_place(sendbuf), class::ERR_BUFFER, || "MPI_IN_PLACE on a rank that is not the root".to_owned())?;
        is_somewhere(sendbuf, &reducer.datatype, count)?;
        Some(sendbuf)
    };
    Ok(Plan::new(described, move |links| {
        let data = from.map_or_else(|| Buffer::zeroed(0), |from| reducer.load(from, count));
        let reducer = reducer.clone();
        Ok(Box::pin(async move {
            if let Some(result) = collective::reduce_to(links, root, data, count, reducer.clone()).await? {
                home().await;
                reducer.store(&result, recvbuf, count);
            }
            Ok(())
        }))
    }))
}

pub(crate) fn allreduce_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (object, reducer) = (rank.comm(comm)?, reducer(rank, count, datatype, op)?);
    let (from, count) = (operand(&object, sendbuf, recvbuf, &reducer, count)?, count as usize);
    is_somewhere(recvbuf, &reducer.datatype, count)?;
    let described = combining(Described::default(), &object, &reducer, count);
    Ok(Plan::new(described, move |links| {
        let (data, reducer) = (reducer.load(from, count), reducer.clone());
        Ok(Box::pin(async move {
            let result = collective::allreduce(links, data, count, reducer.clone()).await?;
            home().await;
            reducer.store(collective::bytes_of(&result), recvbuf, count);
            Ok(())
        }))
    }))
}

pub(crate) fn reduce_scatter_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    let counts = recvcounts.list(object.size());
    scatter_reduced(rank, sendbuf, recvbuf, counts, datatype, op, comm)
}

pub(crate) fn reduce_scatter_block_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: Aint,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    scatter_reduced(rank, sendbuf, recvbuf, vec![recvcount; object.size()], datatype, op, comm)
}

fn scatter_reduced(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    counts: Vec<Aint>,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    let wrong = counts.iter().copied().find(|&count| count < 0);
    require(wrong.is_none(), class::ERR_COUNT, || format!("a count of {}", wrong.unwrap_or(0)))?;
    let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
    let count: usize = counts.iter().sum();
    let reducer = reducer(rank, count as Aint, datatype, op)?;
    let from = operand(&object, sendbuf, recvbuf, &reducer, count as Aint)?;
    let own = counts[object.rank()];
    let described = combining(Described::default(), &object, &reducer, count);
    Ok(Plan::new(described, move |links| {
        let (data, reducer, counts) = (reducer.load(from, count), reducer.clone(), counts.clone());
        Ok(Box::pin(async move {
            let part = collective::reduce_scatter(links, data, counts, reducer.clone()).await?;
            home().await;
            reducer.store(&part, recvbuf, own);
            Ok(())
        }))
    }))
}

pub(crate) fn scan_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<Plan, Fault> {
    prefix(rank, sendbuf, recvbuf, count, datatype, op, comm, false)
}

pub(crate) fn exscan_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<Plan, Fault> {
    prefix(rank, sendbuf, recvbuf, count, datatype, op, comm, true)
}

fn prefix(
    rank: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    exclusive: bool,
) -> Result<Plan, Fault> {
    let (object, reducer) = (rank.comm(comm)?, reducer(rank, count, datatype, op)?);
    require(!object.is_inter(), class::ERR_COMM, || "a scan is among one group".to_owned())?;
    let (from, count) = (operand(&object, sendbuf, recvbuf, &reducer, count)?, count as usize);
    let described = combining(Described::default(), &object, &reducer, count);
    Ok(Plan::new(described, move |links| {
        let (data, reducer) = (reducer.load(from, count), reducer.clone());
        Ok(Box::pin(async move {
            if let Some(result) = collective::scan(links.link, data, count, reducer.clone(), exclusive).await? {
                home().await;
                reducer.store(&result, recvbuf, count);
            }
            Ok(())
        }))
    }))
}
