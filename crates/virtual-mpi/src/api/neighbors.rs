//! Collectives between neighbours in a topology (MPI 4.1, section 8.6).

use std::ffi::c_void;

use weft_comm::Buffer;

use crate::abi::{Aint, Comm, Counts, Datatype};
use crate::apart::home;
use crate::collective;
use crate::communicator::{Caller, Communicator, Purpose, Topology};
use crate::fault::{Fault, class, require};
use crate::joint::Described;
use crate::rank::Rank;

use super::collectives::{Plan, Slots};
use super::point_to_point::{Memory, rank_for_ever};

/// Neighbours in the communicator's topology: those that messages come from, and those that they go to.
fn neighbors_of(comm: &Communicator) -> Result<super::Both, Fault> {
    let missing = || Fault::new(class::ERR_TOPOLOGY, "the communicator has no topology");
    super::topology_neighbors(comm).ok_or_else(missing)
}

/// Along an axis of one or two ranks that wraps, both neighbours are one rank, whose messages arrive in the order in which
/// they were sent: what goes up must come from below, and leaves first.
fn send_up_first(to: &[Option<usize>], parts: &mut [Buffer]) {
    for (to, parts) in to.chunks_exact(2).zip(parts.chunks_exact_mut(2)) {
        if to[0] == to[1] {
            parts.swap(0, 1);
        }
    }
}

fn neighbor_slots(rank: &Rank, comm: Comm, sends: Slots, receives: Slots) -> Result<Plan, Fault> {
    let of = rank.comm(comm)?;
    let (from, to) = neighbors_of(&of)?;
    let is_cartesian = matches!(&*of.topology.borrow(), Some(Topology::Cartesian { .. }));
    let (lens, rank) = (receives.lens(rank)?, rank_for_ever(rank));
    sends.lens(rank)?;
    Ok(Plan::new(Described::default(), move |links| {
        let (mut parts, receives, lens) = (sends.load(rank)?, receives.clone(), lens.clone());
        if is_cartesian {
            send_up_first(&to, &mut parts);
        }
        let (from, to) = (from.clone(), to.clone());
        // Messages between neighbours are no others' beside those of all ranks.
        let links = match links.caller {
            Caller::Elsewhere => links,
            caller => of.private(Purpose::Neighbors, caller),
        };
        Ok(Box::pin(async move {
            let parts = collective::neighbors(links.link, to, parts, from).await?;
            for ((slot, part), len) in receives.slots.iter().zip(parts).zip(lens) {
                if let Some(part) = part {
                    require(part.len() <= len, class::ERR_TRUNCATE, || {
                        format!("a part of {} bytes for {len} bytes of memory", part.len())
                    })?;
                    home().await;
                    slot.store(rank, &part)?;
                }
            }
            Ok(())
        }))
    }))
}

/// How many neighbours messages come from, and how many they go to.
fn degrees(rank: &Rank, comm: Comm) -> Result<(usize, usize), Fault> {
    let (from, to) = neighbors_of(&*rank.comm(comm)?)?;
    Ok((from.len(), to.len()))
}

pub(crate) fn neighbor_allgather_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (incoming, outgoing) = degrees(rank, comm)?;
    let sends = Slots { slots: vec![Memory::of(sendbuf, sendcount, sendtype); outgoing] };
    neighbor_slots(rank, comm, sends, Slots::equal(rank, recvbuf, recvcount, recvtype, incoming)?)
}

pub(crate) fn neighbor_allgatherv_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (incoming, outgoing) = degrees(rank, comm)?;
    let sends = Slots { slots: vec![Memory::of(sendbuf, sendcount, sendtype); outgoing] };
    neighbor_slots(rank, comm, sends, Slots::varying(rank, recvbuf, recvcounts, Some(displs), recvtype, incoming)?)
}

pub(crate) fn neighbor_alltoall_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (incoming, outgoing) = degrees(rank, comm)?;
    let sends = Slots::equal(rank, sendbuf, sendcount, sendtype, outgoing)?;
    neighbor_slots(rank, comm, sends, Slots::equal(rank, recvbuf, recvcount, recvtype, incoming)?)
}

pub(crate) fn neighbor_alltoallv_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (incoming, outgoing) = degrees(rank, comm)?;
    let sends = Slots::varying(rank, sendbuf, sendcounts, Some(sdispls), sendtype, outgoing)?;
    neighbor_slots(rank, comm, sends, Slots::varying(rank, recvbuf, recvcounts, Some(rdispls), recvtype, incoming)?)
}

pub(crate) fn neighbor_alltoallw_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: *const Aint,
    sendtypes: *const Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: *const Aint,
    recvtypes: *const Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (incoming, outgoing) = degrees(rank, comm)?;
    let sends = Slots::general(sendbuf, sendcounts, |index| super::at(sdispls, index), sendtypes, outgoing);
    let receives = Slots::general(recvbuf, recvcounts, |index| super::at(rdispls, index), recvtypes, incoming);
    neighbor_slots(rank, comm, sends, receives)
}
