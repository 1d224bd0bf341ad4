//! Operations of reductions (MPI 4.1, section 6.9).

use std::ffi::{c_int, c_void};

use crate::abi::{self, Aint, Callback, Datatype, Op};
use crate::fault::{Answer, Fault, class, require};
use crate::operation::{self, Operation, UserFunction};
use crate::rank::Rank;

use super::put;

/// An operation by its handle.
pub(crate) fn find(rank: &Rank, op: Op) -> Result<Operation, Fault> {
    operation::find(op, |op| rank.shared.operations.get(op).map(|function| *function))
}

pub fn op_create(rank: &Rank, function: Callback, commute: c_int, op: *mut Op) -> Answer {
    let (commutes, large) = (commute != 0, function.large);
    put(op, rank.shared.operations.insert(UserFunction { function: function.function, large, commutes }));
    Ok(())
}

pub fn op_free(rank: &Rank, op: *mut Op) -> Answer {
    let removed = rank.shared.operations.remove(super::at(op, 0));
    removed.ok_or_else(|| Fault::new(class::ERR_OP, "no operation of the program"))?;
    put(op, abi::OP_NULL);
    Ok(())
}

pub fn op_commutative(rank: &Rank, op: Op, commute: *mut c_int) -> Answer {
    put(commute, c_int::from(find(rank, op)?.commutes()));
    Ok(())
}

pub fn reduce_local(
    rank: &Rank,
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    op: Op,
) -> Answer {
    let in_place = [inbuf, inoutbuf.cast_const()].iter().any(|buffer| abi::is_in_place(*buffer));
    let alike = in_place || (std::ptr::eq(inbuf, inoutbuf) && count > 0);
    require(!alike, class::ERR_BUFFER, || "the buffers are one, or stand for one".to_owned())?;
    let (operation, kind) = (find(rank, op)?, rank.datatype(datatype)?);
    operation.check_reduction(&kind)?;
    require(count >= 0, class::ERR_COUNT, || format!("a count of {count}"))?;
    // SAFETY: the program hands in so many elements at both addresses.
    unsafe { operation.combine(inbuf, inoutbuf, count as usize, &kind, datatype) };
    Ok(())
}
