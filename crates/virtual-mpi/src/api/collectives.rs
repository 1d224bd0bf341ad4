//! Collectives (MPI 4.1, chapter 6, and section 8.6): each blocking, nonblocking and persistent.
//!
//! What a call does is made by one function from the program's arguments: a [`Plan`], which can be carried out any
//! number of times. The data are taken from the program's memory when it starts.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use weft_comm::{Buffer, ElementKinds};

use crate::abi::{self, Aint, Comm, Counts, Datatype, Request as Handle, is_in_place};
use crate::apart::{Work, home};
use crate::collective::{self, Root};
use crate::communicator::{Communicator, Links};
use crate::fault::{Answer, Fault, class, require};
use crate::joint::{Described, plain};
use crate::rank::Rank;
use crate::remark::Subject;
use crate::request::{Completed, Request, State};

use super::point_to_point::{Memory, rank_for_ever};
use super::put;

/// What a call does when it starts, and what ranks must agree on.
pub(crate) struct Plan {
    start: Box<dyn Fn(Links) -> Result<Work, Fault>>,
    described: Described,
}

impl Plan {
    pub fn new(described: Described, start: impl Fn(Links) -> Result<Work, Fault> + 'static) -> Plan {
        Plan { start: Box::new(start), described }
    }
}

pub(crate) fn now(rank: &Rank, comm: Comm, plan: Plan) -> Answer {
    let comm = rank.comm(comm)?;
    let work = (plan.start)(comm.links(rank.caller()))?;
    rank.note_joint(&comm, plan.described);
    rank.block_apart(work)
}

pub(crate) fn later(rank: &Rank, comm: Comm, plan: Plan, request: *mut Handle) -> Answer {
    let object = rank.comm(comm)?;
    let work = (plan.start)(object.derive())?;
    rank.note_joint(&object, plan.described);
    let work = async move { work.await.map(|()| Completed::EMPTY) };
    let started = Rc::new(Request::new(State::Work(Box::pin(work)), comm));
    rank.launch(&started);
    put(request, rank.requests.insert_shared(started));
    Ok(())
}

pub(crate) fn again(rank: &Rank, comm: Comm, plan: Plan, request: *mut Handle) -> Answer {
    let object = rank.comm(comm)?;
    let links = object.derive();
    rank.note_joint(&object, plan.described);
    let start = Box::new(move || {
        let work = (plan.start)(links.clone())?;
        Ok(State::Work(Box::pin(async move { work.await.map(|()| Completed::EMPTY) })))
    });
    put(request, rank.requests.insert(Request::persistent(start, comm)));
    Ok(())
}

/// Memory of one rank in a call where every rank has its own count, displacement and datatype.
#[derive(Clone)]
pub(crate) struct Slots {
    pub slots: Vec<Memory>,
}

impl Slots {
    /// Equal parts, one after another.
    pub fn equal(
        rank: &Rank,
        address: *const c_void,
        count: Aint,
        datatype: Datatype,
        parts: usize,
    ) -> Result<Slots, Fault> {
        require(count >= 0, class::ERR_COUNT, || format!("a count of {count}"))?;
        let step = rank.datatype(datatype)?.extent * count;
        let slot = |index: usize| Memory::of(address.wrapping_byte_offset(index as isize * step), count, datatype);
        Ok(Slots { slots: (0..parts).map(slot).collect() })
    }

    /// Parts with displacements in elements; without displacements one after another.
    pub fn varying(
        rank: &Rank,
        address: *const c_void,
        counts: Counts,
        displacements: Option<Counts>,
        datatype: Datatype,
        parts: usize,
    ) -> Result<Slots, Fault> {
        let extent = rank.datatype(datatype)?.extent;
        let mut next = 0;
        let mut slots = Vec::with_capacity(parts);
        for index in 0..parts {
            let displacement = displacements.map_or(next, |displacements| displacements.get(index));
            let count = counts.get(index);
            require(count >= 0, class::ERR_COUNT, || format!("a count of {count}"))?;
            slots.push(Memory::of(address.wrapping_byte_offset(displacement * extent), count, datatype));
            next += count;
        }
        Ok(Slots { slots })
    }

    /// Parts with displacements in bytes and datatypes of their own.
    pub fn general(
        address: *const c_void,
        counts: Counts,
        displacements: impl Fn(usize) -> Aint,
        datatypes: *const Datatype,
        parts: usize,
    ) -> Slots {
        let slot = |index: usize| {
            Memory::of(
                address.wrapping_byte_offset(displacements(index)),
                counts.get(index),
                super::at(datatypes, index),
            )
        };
        Slots { slots: (0..parts).map(slot).collect() }
    }

    /// As [`Memory::elements`] of the first part, where all are alike.
    pub fn elements_of_each(&self, rank: &Rank) -> Result<(ElementKinds, usize), Fault> {
        self.slots.first().map_or(Ok((ElementKinds::UNKNOWN, 0)), |slot| slot.elements(rank))
    }

    /// As [`Memory::elements`] of all parts, which have one datatype.
    pub fn elements_of_all(&self, rank: &Rank) -> Result<(ElementKinds, usize), Fault> {
        let (kinds, _) = self.elements_of_each(rank)?;
        Ok((kinds, self.lens(rank)?.iter().sum()))
    }

    pub fn load(&self, rank: &Rank) -> Result<Vec<Buffer>, Fault> {
        self.slots.iter().map(|slot| slot.load(rank)).collect()
    }

    pub fn lens(&self, rank: &Rank) -> Result<Vec<usize>, Fault> {
        self.slots.iter().map(|slot| slot.check(rank).map(|(datatype, count)| datatype.size * count)).collect()
    }

    /// Writes what has come from each rank.
    pub fn store(&self, rank: &Rank, parts: &[Buffer]) -> Answer {
        self.slots.iter().zip(parts).enumerate().try_for_each(|(from, (slot, part))| {
            let (datatype, count) = slot.check(rank)?;
            let bytes = datatype.size * count;
            require(part.len() <= bytes, class::ERR_TRUNCATE, || {
                format!("a part of {} bytes, number {from}, for {bytes} bytes of memory", part.len())
            })?;
            slot.store(rank, part)
        })
    }
}

/// The root of a call, of one group or between two.
pub(crate) fn root_of(comm: &Communicator, root: c_int) -> Result<Root, Fault> {
    if comm.is_inter() {
        match root {
            abi::ROOT => return Ok(Root::Here),
            abi::PROC_NULL => return Ok(Root::Elsewhere),
            _ => {}
        }
    }
    let known = root >= 0 && (root as usize) < comm.peers();
    require(known, class::ERR_ROOT, || format!("root {root}, where there are ranks 0 to {}", comm.peers() - 1))?;
    Ok(Root::Rank(root as usize))
}

/// What ranks must agree on in a call with a root. Between two groups each has its own root.
pub(crate) fn rooted(comm: &Communicator, root: Root) -> Described {
    match root {
        Root::Rank(root) if !comm.is_inter() => Described::default().with_root(root),
        _ => Described::default(),
    }
}

/// Whether this rank is the root of a call within one group.
pub(crate) fn is_root(comm: &Communicator, root: Root) -> bool {
    root == Root::Here || (!comm.is_inter() && root == Root::Rank(comm.rank()))
}

/// Fails where a buffer stands for another and may not.
pub(crate) fn no_in_place(comm: &Communicator, address: *const c_void) -> Answer {
    let wrong = is_in_place(address) && comm.is_inter();
    require(!wrong, class::ERR_BUFFER, || "MPI_IN_PLACE between two groups".to_owned())
}

pub(crate) fn barrier_plan(rank: &Rank, comm: Comm) -> Result<Plan, Fault> {
    rank.comm(comm)?;
    Ok(Plan::new(Described::default(), |links| Ok(Box::pin(collective::barrier(links)))))
}

pub(crate) fn bcast_plan(
    rank: &Rank,
    buffer: *mut c_void,
    count: Aint,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<Plan, Fault> {
    let (object, memory) = (rank.comm(comm)?, Memory::of(buffer, count, datatype));
    let root = root_of(&object, root)?;
    // Beside the root between two groups arguments have no meaning.
    let (kind, elements) = if root == Root::Elsewhere { memory.count(rank)? } else { memory.check(rank)? };
    let described = described_parts(rooted(&object, root), &object, (kind.kinds, kind.size * elements), true);
    let (sends, rank) = (is_root(&object, root), rank_for_ever(rank));
    Ok(Plan::new(described, move |links| {
        let data = if sends { memory.load(rank)? } else { Buffer::zeroed(kind.size * elements) };
        Ok(Box::pin(async move {
            let data = collective::broadcast(links, root, data).await?;
            if let Some(data) = data.filter(|_| !sends) {
                home().await;
                memory.store(rank, &data)?;
            }
            Ok(())
        }))
    }))
}

/// A call with such a part for each rank, which all ranks agree on if `equal`. Between two groups each has its own.
fn described_parts(
    described: Described,
    comm: &Communicator,
    (kinds, bytes): (ElementKinds, usize),
    equal: bool,
) -> Described {
    match equal {
        _ if comm.is_inter() => described,
        true => described.with_elements(kinds, bytes),
        false => described.with_kinds(kinds, bytes),
    }
}

/// Compares what a rank sends to itself with what it receives from itself in the call at hand: elements and, if `equal`,
/// their number. Fails where both are the same memory (MPI 4.1, section 2.3: arguments may not be aliased).
fn compare_own(rank: &Rank, sent: Memory, received: Memory, equal: bool) -> Answer {
    if is_in_place(sent.address) || is_in_place(received.address) {
        return Ok(());
    }
    // What is as long and of one kind would be copied onto itself, for which there is MPI_IN_PLACE.
    let is_same =
        sent.address == received.address && sent.count == received.count && sent.datatype == received.datatype;
    require(!is_same || sent.count == 0 || sent.address.is_null(), class::ERR_BUFFER, || {
        "a rank sends to itself what lies where it receives it".to_owned()
    })?;
    let (sent, received) = (sent.elements(rank)?, received.elements(rank)?);
    if let Some((sends, receives)) = described_own(sent, equal).difference(&described_own(received, equal)) {
        let call = plain(rank.call.get());
        let remark = format!("{call} of rank {}, which sends {sends} to itself and receives {receives}", rank.number());
        rank.remark(Subject::Collectives, &remark);
    }
    Ok(())
}

fn described_own((kinds, bytes): (ElementKinds, usize), equal: bool) -> Described {
    let described = Described::default();
    if equal { described.with_elements(kinds, bytes) } else { described.with_kinds(kinds, bytes) }
}

/// What a gather takes from this rank: in place, its own part of the result.
fn own_part(rank: &Rank, comm: &Communicator, send: Memory, slots: &Slots, equal: bool) -> Result<Memory, Fault> {
    no_in_place(comm, send.address)?;
    if is_in_place(send.address) {
        slots.slots[comm.rank()].check(rank)?;
        return Ok(slots.slots[comm.rank()]);
    }
    send.check(rank)?;
    if !comm.is_inter() {
        compare_own(rank, send, slots.slots[comm.rank()], equal)?;
    }
    Ok(send)
}

fn gather_slots(
    rank: &Rank,
    comm: Comm,
    root: c_int,
    send: Memory,
    slots: impl FnOnce(usize) -> Result<Slots, Fault>,
    equal: bool,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    let root = root_of(&object, root)?;
    let receives = is_root(&object, root);
    let slots = if receives { slots(object.peers())? } else { Slots { slots: Vec::new() } };
    slots.lens(rank)?;
    let takes_part = root != Root::Here && root != Root::Elsewhere;
    let part = match (takes_part, receives) {
        (true, true) => Some(own_part(rank, &object, send, &slots, equal)?),
        (true, false) => {
            require(!is_in_place(send.address), class::ERR_BUFFER, || {
                "MPI_IN_PLACE on a rank that is not the root".to_owned()
            })?;
            send.check(rank)?;
            Some(send)
        }
        _ => None,
    };
    let elements = match (receives, part) {
        (true, _) if equal => slots.elements_of_each(rank)?,
        (true, _) => slots.elements_of_all(rank)?,
        (false, Some(part)) => part.elements(rank)?,
        (false, None) => (ElementKinds::UNKNOWN, 0),
    };
    let described = described_parts(rooted(&object, root), &object, elements, equal);
    let rank = rank_for_ever(rank);
    Ok(Plan::new(described, move |links| {
        let data = part.map_or_else(|| Ok(Buffer::zeroed(0)), |part| part.load(rank))?;
        let slots = slots.clone();
        Ok(Box::pin(async move {
            if let Some(parts) = collective::gather(links, root, data, equal).await? {
                home().await;
                slots.store(rank, &parts)?;
            }
            Ok(())
        }))
    }))
}

pub(crate) fn gather_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<Plan, Fault> {
    let slots = |parts| Slots::equal(rank, recvbuf, recvcount, recvtype, parts);
    gather_slots(rank, comm, root, Memory::of(sendbuf, sendcount, sendtype), slots, true)
}

pub(crate) fn gatherv_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<Plan, Fault> {
    let slots = |parts| Slots::varying(rank, recvbuf, recvcounts, Some(displs), recvtype, parts);
    gather_slots(rank, comm, root, Memory::of(sendbuf, sendcount, sendtype), slots, false)
}

fn scatter_slots(
    rank: &Rank,
    comm: Comm,
    root: c_int,
    slots: impl FnOnce(usize) -> Result<Slots, Fault>,
    receive: Memory,
    equal: bool,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    let root = root_of(&object, root)?;
    let sends = is_root(&object, root);
    let slots = if sends { Some(slots(object.peers())?) } else { None };
    no_in_place(&object, receive.address)?;
    let receives = root != Root::Here && root != Root::Elsewhere;
    let in_place = is_in_place(receive.address);
    require(!in_place || sends, class::ERR_BUFFER, || "MPI_IN_PLACE on a rank that is not the root".to_owned())?;
    let bytes = match (&slots, receives, in_place) {
        (Some(slots), _, true) => slots.lens(rank)?[object.rank()],
        (_, true, false) => receive.check(rank).map(|(datatype, count)| datatype.size * count)?,
        _ => 0,
    };
    let elements = match &slots {
        Some(slots) if equal => slots.elements_of_each(rank)?,
        Some(slots) => slots.elements_of_all(rank)?,
        None => receive.elements(rank)?,
    };
    let described = described_parts(rooted(&object, root), &object, elements, equal);
    if let Some(slots) = slots.as_ref().filter(|_| receives && !object.is_inter()) {
        compare_own(rank, slots.slots[object.rank()], receive, equal)?;
    }
    let rank = rank_for_ever(rank);
    Ok(Plan::new(described, move |links| {
        let parts = slots.as_ref().map(|slots| slots.load(rank)).transpose()?;
        Ok(Box::pin(async move {
            let part = collective::scatter(links, root, parts, equal.then_some(bytes)).await?;
            if let Some(part) = part.filter(|_| receives && !in_place) {
                require(part.len() <= bytes, class::ERR_TRUNCATE, || {
                    format!("a part of {} bytes for {bytes} bytes of memory", part.len())
                })?;
                home().await;
                receive.store(rank, &part)?;
            }
            Ok(())
        }))
    }))
}

pub(crate) fn scatter_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<Plan, Fault> {
    let slots = |parts| Slots::equal(rank, sendbuf, sendcount, sendtype, parts);
    scatter_slots(rank, comm, root, slots, Memory::of(recvbuf, recvcount, recvtype), true)
}

pub(crate) fn scatterv_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcounts: Counts,
    displs: Counts,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    root: c_int,
    comm: Comm,
) -> Result<Plan, Fault> {
    let slots = |parts| Slots::varying(rank, sendbuf, sendcounts, Some(displs), sendtype, parts);
    scatter_slots(rank, comm, root, slots, Memory::of(recvbuf, recvcount, recvtype), false)
}

fn allgather_slots(rank: &Rank, comm: Comm, send: Memory, slots: Slots, equal: bool) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    let part = own_part(rank, &object, send, &slots, equal)?;
    let elements = if equal { slots.elements_of_each(rank)? } else { slots.elements_of_all(rank)? };
    let described = described_parts(Described::default(), &object, elements, equal);
    let (lens, rank) = (slots.lens(rank)?, rank_for_ever(rank));
    Ok(Plan::new(described, move |links| {
        let (data, slots, lens) = (part.load(rank)?, slots.clone(), lens.clone());
        Ok(Box::pin(async move {
            let parts = collective::allgather(links, data, &lens).await?;
            home().await;
            slots.store(rank, &parts)
        }))
    }))
}

pub(crate) fn allgather_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let slots = Slots::equal(rank, recvbuf, recvcount, recvtype, rank.comm(comm)?.peers())?;
    allgather_slots(rank, comm, Memory::of(sendbuf, sendcount, sendtype), slots, true)
}

pub(crate) fn allgatherv_plan(
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
    let slots = Slots::varying(rank, recvbuf, recvcounts, Some(displs), recvtype, rank.comm(comm)?.peers())?;
    allgather_slots(rank, comm, Memory::of(sendbuf, sendcount, sendtype), slots, false)
}

/// `sends` is None in place: what is received is sent before.
fn alltoall_slots(
    rank: &Rank,
    (comm, described): (&Communicator, Described),
    sends: Option<Slots>,
    receives: Slots,
    equal: bool,
) -> Result<Plan, Fault> {
    if let Some(sends) = sends.as_ref().filter(|_| !comm.is_inter()) {
        compare_own(rank, sends.slots[comm.rank()], receives.slots[comm.rank()], equal)?;
    }
    let sends = sends.unwrap_or_else(|| receives.clone());
    let (lens, rank) = (receives.lens(rank)?, rank_for_ever(rank));
    sends.lens(rank)?;
    Ok(Plan::new(described, move |links| {
        let (parts, receives, lens) = (sends.load(rank)?, receives.clone(), lens.clone());
        Ok(Box::pin(async move {
            let parts = if equal && lens.iter().all(|&len| len == lens[0]) {
                collective::alltoall_equal(links, parts).await?
            } else {
                collective::alltoall(links, parts, &lens).await?
            };
            home().await;
            receives.store(rank, &parts)
        }))
    }))
}

pub(crate) fn alltoall_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: Datatype,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    no_in_place(&object, sendbuf)?;
    let receives = Slots::equal(rank, recvbuf, recvcount, recvtype, object.peers())?;
    let sends = if is_in_place(sendbuf) {
        None
    } else {
        Some(Slots::equal(rank, sendbuf, sendcount, sendtype, object.peers())?)
    };
    let elements = receives.elements_of_each(rank)?;
    let described = described_parts(Described::default(), &object, elements, true);
    alltoall_slots(rank, (&object, described), sends, receives, true)
}

pub(crate) fn alltoallv_plan(
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
    let object = rank.comm(comm)?;
    no_in_place(&object, sendbuf)?;
    let receives = Slots::varying(rank, recvbuf, recvcounts, Some(rdispls), recvtype, object.peers())?;
    let sends = if is_in_place(sendbuf) {
        None
    } else {
        Some(Slots::varying(rank, sendbuf, sendcounts, Some(sdispls), sendtype, object.peers())?)
    };
    // A rank that gets something from all gets it from itself, too: all send what all receive.
    let (kinds, _) = receives.elements_of_each(rank)?;
    let least = receives.lens(rank)?.into_iter().min().unwrap_or(0);
    let described = described_parts(Described::default(), &object, (kinds, least), false);
    alltoall_slots(rank, (&object, described), sends, receives, false)
}

pub(crate) fn alltoallw_plan(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: *const Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: *const Datatype,
    comm: Comm,
) -> Result<Plan, Fault> {
    let object = rank.comm(comm)?;
    no_in_place(&object, sendbuf)?;
    let receives = Slots::general(recvbuf, recvcounts, |index| rdispls.get(index), recvtypes, object.peers());
    let sends = if is_in_place(sendbuf) {
        None
    } else {
        Some(Slots::general(sendbuf, sendcounts, |index| sdispls.get(index), sendtypes, object.peers()))
    };
    alltoall_slots(rank, (&object, Described::default()), sends, receives, false)
}
