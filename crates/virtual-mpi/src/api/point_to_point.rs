//! Messages between two ranks (MPI 4.1, chapters 3 and 4).

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::task::{Context, Waker};

use weft_comm::{Buffer, ElementKinds, Source, Tag, TagSelector};

use crate::abi::{self, Aint, Comm, Datatype as DatatypeHandle, Request as Handle, Status};
use crate::buffered::Buffered;
use crate::communicator::Communicator;
use crate::datatype::Datatype;
use crate::fault::{Answer, Fault, class, require};
use crate::link;
use crate::meter;
use crate::rank::Rank;
use crate::request::{Completed, Completion, Receive, Request, State};
use crate::used::Used;

use super::{check_used, put, say_disturbed};

/// How a send is known to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Standard,
    Synchronous,
    Buffered,
    Ready,
}

/// Memory of the program that a message is sent from or received into.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub address: *mut c_void,
    pub count: Aint,
    pub datatype: DatatypeHandle,
}

impl Memory {
    pub fn of(address: *const c_void, count: Aint, datatype: DatatypeHandle) -> Memory {
        Memory { address: address.cast_mut(), count, datatype }
    }

    /// Its datatype and its number of elements, which lie somewhere.
    #[unsafe(link_section = "weft_message")]
    pub fn check(&self, rank: &Rank) -> Result<(Rc<Datatype>, usize), Fault> {
        let (datatype, count) = self.count(rank)?;
        is_somewhere(self.address, &datatype, count)?;
        Ok((datatype, count))
    }

    /// As [`Memory::check`], where nothing is read or written at its address.
    #[unsafe(link_section = "weft_message")]
    pub fn count(&self, rank: &Rank) -> Result<(Rc<Datatype>, usize), Fault> {
        require(self.count >= 0, class::ERR_COUNT, || format!("a count of {}", self.count))?;
        // MPICH lets programs name no datatype for no elements.
        let nothing = self.count == 0 && self.datatype == abi::DATATYPE_NULL;
        let datatype = rank.datatype(if nothing { abi::BYTE } else { self.datatype })?;
        require(datatype.committed.get(), class::ERR_TYPE, || "the datatype is not committed".to_owned())?;
        let bytes = (self.count as usize).checked_mul(datatype.size);
        let fits = bytes.is_some_and(|bytes| bytes < 1 << 46);
        require(fits, class::ERR_COUNT, || format!("{} elements of {} bytes", self.count, datatype.size))?;
        Ok((datatype, self.count as usize))
    }

    /// The kinds of its elements, and their bytes.
    pub fn elements(&self, rank: &Rank) -> Result<(ElementKinds, usize), Fault> {
        self.count(rank).map(|(datatype, count)| (datatype.kinds, count * datatype.size))
    }

    /// What the call at hand reads or writes of it for a message; nothing where that goes to nobody.
    fn used(&self, rank: &Rank, peer: c_int, writes: bool) -> Option<Used> {
        if peer == abi::PROC_NULL {
            return None;
        }
        let used =
            |datatype: &Datatype| Used::of(self.address, datatype, self.count.unsigned_abs(), writes, rank.call.get());
        match rank.shared.predefined.get(&self.datatype) {
            Some(datatype) => used(datatype),
            None => used(&*rank.datatype(self.datatype).ok()?),
        }
    }

    /// A copy of its bytes, one after another.
    pub fn load(&self, rank: &Rank) -> Result<Buffer, Fault> {
        let (datatype, count) = self.check(rank)?;
        Ok(self.load_elements(&datatype, count))
    }

    /// As [`Memory::load`], where the datatype and the number of elements are known.
    #[unsafe(link_section = "weft_message")]
    fn load_elements(&self, datatype: &Datatype, count: usize) -> Buffer {
        let mut data = Buffer::zeroed(count * datatype.size);
        // SAFETY: the program hands in so many elements at the address.
        unsafe { datatype.pack(self.address, count, &mut data) };
        data
    }

    /// Its bytes as they are, where they lie one after another.
    #[unsafe(link_section = "weft_message")]
    fn dense<'a>(&self, datatype: &Datatype, count: usize) -> Option<&'a [u8]> {
        let is_there = datatype.is_dense() && !self.address.is_null();
        // SAFETY: the program hands in so many elements at the address, and they stay during the call.
        is_there.then(|| unsafe { std::slice::from_raw_parts(self.address.cast(), count * datatype.size) })
    }

    /// Writes bytes to it.
    pub fn store(&self, rank: &Rank, data: &[u8]) -> Answer {
        let (datatype, count) = self.check(rank)?;
        // SAFETY: the program hands in memory for so many elements at the address.
        unsafe {
            meter::write_pages(&datatype, self.address, data.len());
            datatype.unpack(data, self.address, count);
        }
        Ok(())
    }
}

/// Fails where elements of a predefined datatype have no address. Others may lie at addresses of their own, counted from
/// `MPI_BOTTOM`, which is `NULL`.
pub(crate) fn is_somewhere(address: *const c_void, datatype: &Datatype, count: usize) -> Answer {
    let lacks = address.is_null() && datatype.predefined.is_some() && count * datatype.size > 0;
    require(!lacks, class::ERR_BUFFER, || format!("{count} elements have no address (NULL)"))
}

/// Whether messages may go to a rank.
pub(crate) fn check_rank(comm: &Communicator, rank: c_int, wildcard: bool) -> Answer {
    let known = (rank >= 0 && (rank as usize) < comm.peers()) || (wildcard && rank == abi::ANY_SOURCE);
    require(known, class::ERR_RANK, || format!("rank {rank}, where there are ranks 0 to {}", comm.peers() - 1))
}

pub(crate) fn check_tag(tag: c_int, wildcard: bool) -> Answer {
    let fits = (0..=Tag::MAX_USER as c_int).contains(&tag) || (wildcard && tag == abi::ANY_TAG);
    require(fits, class::ERR_TAG, || format!("tag {tag}; the largest is {}", Tag::MAX_USER))
}

/// The source and the tag that a receive asks for.
pub(crate) fn selectors(source: c_int, tag: c_int) -> (Source, TagSelector) {
    let source = if source == abi::ANY_SOURCE { Source::Any } else { Source::Rank(source as usize) };
    let tag = if tag == abi::ANY_TAG { TagSelector::AnyUser } else { TagSelector::Only(Tag::User(tag as u32)) };
    (source, tag)
}

/// Fails where a message does not fit beside those that are still in the attached buffer.
fn require_space(rank: &Rank, buffered: &Buffered, bytes: usize) -> Answer {
    let space = buffered.space();
    let fits = || bytes + abi::BSEND_OVERHEAD <= space.saturating_sub(buffered.occupied());
    if buffered.are_many() || !fits() {
        rank.block(rank.endpoint.settle());
        let mut context = Context::from_waker(Waker::noop());
        let _ = rank.endpoint.look(|| buffered.poll_left(buffered.count(), &mut context));
    }
    require(fits(), class::ERR_BUFFER, || {
        let occupied = buffered.occupied();
        format!("{bytes} bytes for an attached buffer of {space} bytes, of which messages occupy {occupied}")
    })
}

/// Starts to send; nothing where the message goes to nobody or is complete with its start.
#[unsafe(link_section = "weft_message")]
pub(crate) fn start_send(
    rank: &Rank,
    memory: Memory,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    mode: Mode,
) -> Result<Option<link::Send>, Fault> {
    let comm = rank.comm(comm)?;
    check_tag(tag, false)?;
    if dest == abi::PROC_NULL {
        memory.count(rank)?;
        return Ok(None);
    }
    check_rank(&comm, dest, false)?;
    let (datatype, count) = memory.check(rank)?;
    let bytes = count * datatype.size;
    let buffered = (mode == Mode::Buffered).then(|| rank.buffered_for(&comm));
    if let Some(buffered) = &buffered {
        require_space(rank, buffered, bytes)?;
    }
    // Within a node the simulator copies messages of any length at once; one that the machine would send by rendezvous
    // stays in the attached memory until it is received, as real libraries have it.
    let stays = buffered.is_some() && bytes as u64 > rank.endpoint.longest_eager();
    let (tag, synchronous) = (Tag::User(tag as u32), stays || mode == Mode::Synchronous);
    let (dest, kinds) = (dest as usize, datatype.kinds);
    let send = match memory.dense(&datatype, count) {
        Some(bytes) => comm.link.isend_copy(dest, tag, bytes, kinds, synchronous),
        None => comm.link.isend_elements(dest, tag, memory.load_elements(&datatype, count), kinds, synchronous),
    };
    if let Some(buffered) = buffered {
        buffered.add(bytes, send);
        return Ok(None);
    }
    Ok(Some(send))
}

#[unsafe(link_section = "weft_message")]
fn send_now(rank: &Rank, memory: Memory, dest: c_int, tag: c_int, comm: Comm, mode: Mode) -> Answer {
    if !rank.used.is_empty() {
        check_used(rank, memory.used(rank, dest, false));
    }
    if let Some(send) = start_send(rank, memory, dest, tag, comm, mode)? {
        rank.block(send)?;
    }
    Ok(())
}

/// A request of a send.
fn send_state(rank: &Rank, memory: Memory, dest: c_int, tag: c_int, comm: Comm, mode: Mode) -> Result<State, Fault> {
    let send = start_send(rank, memory, dest, tag, comm, mode)?;
    Ok(send.map_or(State::Done(Ok(Completed::EMPTY)), State::Send))
}

/// A request of a receive.
pub(crate) fn receive_state(
    rank: &Rank,
    memory: Memory,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<State, Fault> {
    let comm = rank.comm(comm)?;
    check_tag(tag, true)?;
    if source == abi::PROC_NULL {
        return Ok(State::Done(Ok(Completed::NO_PROC)));
    }
    Ok(State::Receive(Box::new(start_receive(rank, &comm, memory, source, tag)?)))
}

fn start_receive(
    rank: &Rank,
    comm: &Communicator,
    memory: Memory,
    source: c_int,
    tag: c_int,
) -> Result<Receive, Fault> {
    check_rank(comm, source, true)?;
    receive_over(rank, &comm.link, memory, source, tag)
}

/// Starts a receive over a link that knows the source.
#[unsafe(link_section = "weft_message")]
pub(crate) fn receive_over(
    rank: &Rank,
    link: &link::Link,
    memory: Memory,
    source: c_int,
    tag: c_int,
) -> Result<Receive, Fault> {
    let (datatype, count) = memory.check(rank)?;
    let (from, selector) = selectors(source, tag);
    let receive = link.irecv_elements(from, selector, count * datatype.size, datatype.kinds);
    Ok(Receive { receive, buffer: memory.address, count, datatype })
}

#[unsafe(link_section = "weft_message")]
pub fn send(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Answer {
    send_now(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Standard)
}

pub fn ssend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Answer {
    send_now(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Synchronous)
}

pub fn bsend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Answer {
    send_now(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Buffered)
}

pub fn rsend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Answer {
    send_now(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Ready)
}

#[unsafe(link_section = "weft_message")]
pub fn recv(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Answer {
    let comm = rank.comm(comm)?;
    check_tag(tag, true)?;
    if source == abi::PROC_NULL {
        Completed::NO_PROC.write(status);
        return Ok(());
    }
    let memory = Memory::of(buf, count, datatype);
    let receive = start_receive(rank, &comm, memory, source, tag)?;
    if !rank.used.is_empty() {
        check_used(rank, memory.used(rank, source, true));
    }
    rank.block(receive)?.write(status);
    Ok(())
}

/// Hands out a request with the memory that it uses.
fn hand_out_used(rank: &Rank, object: Request, used: Option<Used>, request: *mut Handle) {
    object.used.set(used);
    let object = Rc::new(object);
    if used.is_some() {
        rank.used.add(&object);
    }
    put(request, rank.requests.insert_shared(object));
}

/// As [`hand_out`], of a message to or from `peer`; its memory is compared with that of other requests.
fn hand_out_message(
    rank: &Rank,
    state: State,
    comm: Comm,
    (memory, peer, writes): (Memory, c_int, bool),
    request: *mut Handle,
) {
    let used = memory.used(rank, peer, writes);
    check_used(rank, used);
    let started = Request::new(state, comm);
    hand_out_used(rank, started, used, request);
}

/// Starts a send and hands it to the program.
fn hand_out_send(
    rank: &Rank,
    memory: Memory,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    mode: Mode,
    request: *mut Handle,
) -> Answer {
    let state = send_state(rank, memory, dest, tag, comm, mode)?;
    hand_out_message(rank, state, comm, (memory, dest, false), request);
    Ok(())
}

/// Starts a request and hands it to the program.
pub(crate) fn hand_out(rank: &Rank, state: State, comm: Comm, request: *mut Handle) {
    put(request, rank.requests.insert(Request::new(state, comm)));
}

pub fn isend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    hand_out_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Standard, request)
}

pub fn issend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    hand_out_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Synchronous, request)
}

pub fn ibsend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    hand_out_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Buffered, request)
}

pub fn irsend(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    hand_out_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Ready, request)
}

pub fn irecv(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    source: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    let memory = Memory::of(buf, count, datatype);
    let state = receive_state(rank, memory, source, tag, comm)?;
    hand_out_message(rank, state, comm, (memory, source, true), request);
    Ok(())
}

fn persistent_send(
    rank: &Rank,
    memory: Memory,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    mode: Mode,
    request: *mut Handle,
) -> Answer {
    let object = rank.comm(comm)?;
    check_tag(tag, false)?;
    if dest != abi::PROC_NULL {
        check_rank(&object, dest, false)?;
    }
    memory.check(rank)?;
    let rank = rank_for_ever(rank);
    let start = Box::new(move || send_state(rank, memory, dest, tag, comm, mode));
    hand_out_used(rank, Request::persistent(start, comm), memory.used(rank, dest, false), request);
    Ok(())
}

pub fn send_init(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    persistent_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Standard, request)
}

pub fn ssend_init(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    persistent_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Synchronous, request)
}

pub fn bsend_init(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    persistent_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Buffered, request)
}

pub fn rsend_init(
    rank: &Rank,
    buf: *const c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    persistent_send(rank, Memory::of(buf, count, datatype), dest, tag, comm, Mode::Ready, request)
}

pub fn recv_init(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    source: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    let (object, memory) = (rank.comm(comm)?, Memory::of(buf, count, datatype));
    check_tag(tag, true)?;
    if source != abi::PROC_NULL {
        check_rank(&object, source, true)?;
    }
    memory.check(rank)?;
    let rank = rank_for_ever(rank);
    let start = Box::new(move || receive_state(rank, memory, source, tag, comm));
    hand_out_used(rank, Request::persistent(start, comm), memory.used(rank, source, true), request);
    Ok(())
}

/// Compares the memory of a send and a receive of one call with each other, and with that of pending requests.
fn check_disjoint(rank: &Rank, (sent, dest): (Memory, c_int), (received, source): (Memory, c_int)) {
    let (sent, received) = (sent.used(rank, dest, false), received.used(rank, source, true));
    if let (Some(sent), Some(received)) = (sent, received)
        && sent.disturbs(&received)
    {
        say_disturbed(rank, sent, received);
    }
    check_used(rank, sent);
    check_used(rank, received);
}

pub fn sendrecv(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: DatatypeHandle,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: DatatypeHandle,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Answer {
    let (sent, received) = (Memory::of(sendbuf, sendcount, sendtype), Memory::of(recvbuf, recvcount, recvtype));
    let receive = Request::new(receive_state(rank, received, source, recvtag, comm)?, comm);
    let send = start_send(rank, sent, dest, sendtag, comm, Mode::Standard)?;
    check_disjoint(rank, (sent, dest), (received, source));
    let received = rank.wait(&receive);
    if let Some(send) = send {
        rank.block(send)?;
    }
    received?.write(status);
    Ok(())
}

pub fn sendrecv_replace(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Answer {
    // What is sent is copied before anything can be received.
    let memory = Memory::of(buf, count, datatype);
    let send = start_send(rank, memory, dest, sendtag, comm, Mode::Standard)?;
    let receive = Request::new(receive_state(rank, memory, source, recvtag, comm)?, comm);
    let received = rank.wait(&receive);
    if let Some(send) = send {
        rank.block(send)?;
    }
    received?.write(status);
    Ok(())
}

pub fn isendrecv(
    rank: &Rank,
    sendbuf: *const c_void,
    sendcount: Aint,
    sendtype: DatatypeHandle,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: Aint,
    recvtype: DatatypeHandle,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    let receive = receive_state(rank, Memory::of(recvbuf, recvcount, recvtype), source, recvtag, comm)?;
    let send = start_send(rank, Memory::of(sendbuf, sendcount, sendtype), dest, sendtag, comm, Mode::Standard)?;
    hand_out_both(rank, receive, send, comm, request);
    Ok(())
}

/// One request for a receive and a send.
fn hand_out_both(rank: &Rank, receive: State, send: Option<link::Send>, comm: Comm, request: *mut Handle) {
    let work = async move {
        let received: Completion = match receive {
            State::Receive(receive) => receive.await,
            State::Done(completion) => completion,
            _ => Ok(Completed::NO_PROC),
        };
        if let Some(send) = send {
            send.await?;
        }
        received
    };
    let started = Rc::new(Request::new(State::Work(Box::pin(work)), comm));
    rank.launch(&started);
    put(request, rank.requests.insert_shared(started));
}

pub fn isendrecv_replace(
    rank: &Rank,
    buf: *mut c_void,
    count: Aint,
    datatype: DatatypeHandle,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    request: *mut Handle,
) -> Answer {
    let memory = Memory::of(buf, count, datatype);
    let send = start_send(rank, memory, dest, sendtag, comm, Mode::Standard)?;
    let receive = receive_state(rank, memory, source, recvtag, comm)?;
    hand_out_both(rank, receive, send, comm, request);
    Ok(())
}

/// The rank that a request belongs to lives as long as the process.
pub(crate) fn rank_for_ever(rank: &Rank) -> &'static Rank {
    // SAFETY: ranks are made by the host of the process and never dropped.
    unsafe { std::mem::transmute::<&Rank, &'static Rank>(rank) }
}
