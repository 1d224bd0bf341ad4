//! Access to memory of windows (MPI 4.1, section 12.3).
//!
//! An operation is a request to its target: data go there, are combined with what is there at the moment at which they
//! have come, and a reply comes back, with data or without.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use weft_comm::Buffer;

use crate::abi::{self, Aint, Datatype as Handle, Op, Request as RequestHandle, Win};
use crate::access::Access;
use crate::datatype::{Datatype, Pieces, Run};
use crate::fault::{Answer, Fault, class, require};
use crate::memory::Elements;
use crate::operation::{self, Operation};
use crate::rank::Rank;
use crate::request::{Completed, Request, State, Work};
use crate::window::{Flavor, Pending, Window};

use super::point_to_point::{Memory, rank_for_ever};
use super::{find_window, put};

/// A rank of the window.
pub(crate) fn check_target(window: &Window, target: c_int) -> Result<usize, Fault> {
    let size = window.comm.size();
    let known = usize::try_from(target).ok().filter(|&number| number < size);
    known.ok_or_else(|| Fault::new(class::ERR_RANK, format!("rank {target}, where there are ranks 0 to {}", size - 1)))
}

/// Elements in the window of a target, as the program names them.
#[derive(Clone, Copy)]
struct Span {
    target: c_int,
    displacement: Aint,
    count: Aint,
    datatype: Handle,
}

/// Elements of a target that this rank may access now; none where the target is nobody.
fn resolve(rank: &Rank, window: &Window, span: Span) -> Result<Option<(usize, Elements)>, Fault> {
    let Span { target, displacement, count, datatype } = span;
    if target == abi::PROC_NULL {
        return Ok(None);
    }
    let number = check_target(window, target)?;
    require(window.epochs.allow(number), class::ERR_RMA_SYNC, || {
        format!("no epoch is open in which rank {number} may be accessed")
    })?;
    let (datatype, count) = Memory { address: std::ptr::null_mut(), count, datatype }.count(rank)?;
    let part = window.parts[number];
    let address = if window.flavor == Flavor::Dynamic {
        displacement as usize
    } else {
        require(displacement >= 0, class::ERR_DISP, || format!("a displacement of {displacement}"))?;
        let bytes = (displacement as usize).checked_mul(part.unit);
        part.base.wrapping_add(bytes.ok_or_else(|| outside(number))?)
    };
    let unit = unit_of(&datatype);
    let elements = Elements { address, count, datatype, unit };
    require(is_inside(window, number, &elements), class::ERR_RMA_RANGE, || outside(number).message)?;
    Ok(Some((number, elements)))
}

fn outside(number: usize) -> Fault {
    Fault::new(class::ERR_RMA_RANGE, format!("elements outside of the window's memory on rank {number}"))
}

/// Whether elements lie in the window as a whole.
fn is_inside(window: &Window, number: usize, elements: &Elements) -> bool {
    let Elements { address, count, datatype, .. } = elements;
    if *count == 0 || datatype.size == 0 {
        return true;
    }
    let last = (*count as Aint - 1) * datatype.extent;
    let (low, high) = (datatype.true_lb() + last.min(0), datatype.true_lb() + last.max(0) + datatype.true_extent());
    let (Some(start), Some(end)) = (address.checked_add_signed(low), address.checked_add_signed(high)) else {
        return false;
    };
    if window.flavor == Flavor::Dynamic {
        // What another process has attached only the system knows.
        let is_known = number == window.comm.rank() || window.comm.link.simulated().is_some();
        return !is_known || window.targets[number].has_attached(start, end - start);
    }
    let part = window.parts[number];
    start >= part.base && end <= part.base + part.size
}

/// Starts an operation, and keeps it until it is complete; `bytes` bytes go to the target.
fn start(
    rank: &Rank,
    window: &Window,
    target: usize,
    bytes: usize,
    into: Option<Memory>,
    asked: (Access, Buffer),
    wanted: Wanted,
) -> Result<Rc<Request>, Fault> {
    super::ensure_locked(rank, window, target)?;
    window.epochs.accessed.set(true);
    let reached = window.reach(target, bytes, asked, wanted.is_none(), rank.heard.get())?;
    let rank = rank_for_ever(rank);
    let work: Work = Box::pin(async move {
        let returned = reached.data().await?;
        if let Some(memory) = into {
            memory.store(rank, &returned)?;
        }
        Ok(Completed::EMPTY)
    });
    Ok(Rc::new(Request::of_session(State::Work(work), window.comm.group.session)))
}

/// What the program gets of an operation: nothing, or a request.
type Wanted = Option<*mut RequestHandle>;

/// Keeps an operation under way, and hands its request out where the program wants it.
fn keep(rank: &Rank, window: &Window, target: usize, request: Rc<Request>, returns_data: bool, wanted: Wanted) {
    let belongs_to_program = wanted.is_some();
    if let Some(address) = wanted {
        rank.launch(&request);
        put(address, rank.requests.insert_shared(request.clone()));
    }
    let pending = Pending { request, returns_data, belongs_to_program };
    window.pending.borrow_mut().entry(target).or_default().push(pending);
}

/// The request of an operation on nobody.
fn nothing(rank: &Rank, window: &Window, wanted: Wanted) -> Answer {
    if let Some(address) = wanted {
        let done = Request::of_session(State::Done(Ok(Completed::EMPTY)), window.comm.group.session);
        put(address, rank.requests.insert(done));
    }
    Ok(())
}

/// Fails where more bytes come than there is memory for.
fn check_fit(from: usize, into: usize) -> Answer {
    require(from <= into, class::ERR_TRUNCATE, || format!("{from} bytes for {into} bytes of memory"))
}

fn start_put(rank: &Rank, win: Win, origin: Memory, span: Span, wanted: Wanted) -> Answer {
    let window = find_window(rank, win)?;
    let Some((target, there)) = resolve(rank, &window, span)? else { return nothing(rank, &window, wanted) };
    let data = origin.load(rank)?;
    check_fit(data.len(), there.bytes())?;
    let request = start(rank, &window, target, data.len(), None, (Access::Store(there), data), wanted)?;
    keep(rank, &window, target, request, false, wanted);
    Ok(())
}

fn start_get(rank: &Rank, win: Win, origin: Memory, span: Span, wanted: Wanted) -> Answer {
    let window = find_window(rank, win)?;
    let Some((target, there)) = resolve(rank, &window, span)? else { return nothing(rank, &window, wanted) };
    let (datatype, count) = origin.check(rank)?;
    check_fit(there.bytes(), datatype.size * count)?;
    let request = start(rank, &window, target, 0, Some(origin), (Access::Load(there), Buffer::zeroed(0)), wanted)?;
    keep(rank, &window, target, request, true, wanted);
    Ok(())
}

/// What operations combine of elements.
fn unit_of(datatype: &Rc<Datatype>) -> Rc<Datatype> {
    let basic = |datatype: &Rc<Datatype>| {
        let basic = datatype.only_basic()?;
        let (size, one) = (Aint::from(basic.size), Run { offset: 0, basic, count: 1 });
        Some(Rc::new(Datatype::of_elements(Pieces::of(one), (0, size), None)))
    };
    datatype.unit().or_else(|| basic(datatype)).unwrap_or_else(|| datatype.clone())
}

/// Fails where an operation may not be used on windows, or not for elements of a datatype.
fn check_operation(op: Op, datatype: &Rc<Datatype>, elements: Aint) -> Answer {
    require(operation::is_predefined(op), class::ERR_OP, || "an operation of the program's own".to_owned())?;
    let unit = unit_of(datatype);
    let alike = unit.predefined.is_some() || unit.only_basic().is_some() || datatype.size == 0;
    require(alike, class::ERR_TYPE, || "a datatype of different elements".to_owned())?;
    if elements > 0 && datatype.size > 0 { Operation::Predefined(op).check(&unit) } else { Ok(()) }
}

/// Combines data with what is at the target; what was there comes back where the program wants it.
fn start_accumulate(
    rank: &Rank,
    win: Win,
    origin: Memory,
    result: Option<Memory>,
    span: Span,
    op: Op,
    wanted: Wanted,
) -> Answer {
    let window = find_window(rank, win)?;
    check_operation(op, &rank.datatype(span.datatype)?, span.count)?;
    let Some((target, there)) = resolve(rank, &window, span)? else { return nothing(rank, &window, wanted) };
    let data = if op == operation::NO_OP { Buffer::zeroed(0) } else { origin.load(rank)? };
    check_fit(data.len(), there.bytes())?;
    if let Some(result) = result {
        let (datatype, count) = result.check(rank)?;
        check_fit(there.bytes(), datatype.size * count)?;
    }
    let returns_data = result.is_some();
    let access = Access::Combine { elements: there, op, returns_data };
    let request = start(rank, &window, target, data.len(), result, (access, data), wanted)?;
    keep(rank, &window, target, request, returns_data, wanted);
    Ok(())
}

pub fn fetch_and_op(
    rank: &Rank,
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    op: Op,
    win: Win,
) -> Answer {
    let kind = rank.datatype(datatype)?;
    require(kind.predefined.is_some(), class::ERR_TYPE, || "a datatype that is not predefined".to_owned())?;
    let (origin, result) = (Memory::of(origin_addr, 1, datatype), Memory::of(result_addr, 1, datatype));
    let span = Span { target: target_rank, displacement: target_disp, count: 1, datatype };
    start_accumulate(rank, win, origin, Some(result), span, op, None)
}

pub fn compare_and_swap(
    rank: &Rank,
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    win: Win,
) -> Answer {
    let window = find_window(rank, win)?;
    let kind = rank.datatype(datatype)?;
    let exact = kind.predefined.is_some() && kind.only_basic().is_some_and(|basic| basic.is_exact());
    require(exact, class::ERR_TYPE, || "a datatype that is no integer, logical or byte".to_owned())?;
    let span = Span { target: target_rank, displacement: target_disp, count: 1, datatype };
    let Some((target, there)) = resolve(rank, &window, span)? else { return Ok(()) };
    let load = |address: *const c_void| Memory::of(address, 1, datatype).load(rank);
    let (data, expected) = (load(origin_addr)?, load(compare_addr)?);
    let result = Memory::of(result_addr, 1, datatype);
    let bytes = 2 * data.len();
    let both = Buffer::of(&[&*data, &*expected].concat());
    let request = start(rank, &window, target, bytes, Some(result), (Access::CompareAndSwap(there), both), None)?;
    keep(rank, &window, target, request, true, None);
    Ok(())
}

pub fn put_data(
    rank: &Rank,
    origin_addr: *const c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    win: Win,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    start_put(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), span, None)
}

pub fn get(
    rank: &Rank,
    origin_addr: *mut c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    win: Win,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    start_get(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), span, None)
}

pub fn accumulate(
    rank: &Rank,
    origin_addr: *const c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    op: Op,
    win: Win,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    start_accumulate(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), None, span, op, None)
}

pub fn get_accumulate(
    rank: &Rank,
    origin_addr: *const c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    result_addr: *mut c_void,
    result_count: Aint,
    result_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    op: Op,
    win: Win,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    let result = Memory::of(result_addr, result_count, result_datatype);
    start_accumulate(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), Some(result), span, op, None)
}

pub fn rput(
    rank: &Rank,
    origin_addr: *const c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    win: Win,
    request: *mut RequestHandle,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    start_put(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), span, Some(request))
}

pub fn rget(
    rank: &Rank,
    origin_addr: *mut c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    win: Win,
    request: *mut RequestHandle,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    start_get(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), span, Some(request))
}

pub fn raccumulate(
    rank: &Rank,
    origin_addr: *const c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    op: Op,
    win: Win,
    request: *mut RequestHandle,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    start_accumulate(rank, win, Memory::of(origin_addr, origin_count, origin_datatype), None, span, op, Some(request))
}

pub fn rget_accumulate(
    rank: &Rank,
    origin_addr: *const c_void,
    origin_count: Aint,
    origin_datatype: Handle,
    result_addr: *mut c_void,
    result_count: Aint,
    result_datatype: Handle,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Aint,
    target_datatype: Handle,
    op: Op,
    win: Win,
    request: *mut RequestHandle,
) -> Answer {
    let span = Span { target: target_rank, displacement: target_disp, count: target_count, datatype: target_datatype };
    let result = Memory::of(result_addr, result_count, result_datatype);
    start_accumulate(
        rank,
        win,
        Memory::of(origin_addr, origin_count, origin_datatype),
        Some(result),
        span,
        op,
        Some(request),
    )
}
