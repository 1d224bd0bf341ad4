//! Windows: making them, their memory, attributes and names (MPI 4.1, sections 12.2 and 7.7).

use std::ffi::{c_char, c_int, c_void};
use std::rc::Rc;

use weft_comm::Buffer;

use crate::abi::{self, Aint, Comm, CountOut, Errhandler, Group, Info as InfoHandle, Win};
use crate::collective;
use crate::communicator::{Communicator, Purpose};
use crate::errors::{Object, handler_of};
use crate::fault::{Answer, Fault, class, require};
use crate::info::{self, Info};
use crate::processes::common::Common;
use crate::rank::Rank;
use crate::target::Target;
use crate::window::{Flavor, Part, Window};

use super::{at, put, put_text, text};

/// A window by its handle.
pub(crate) fn find_window(rank: &Rank, win: Win) -> Result<Rc<Window>, Fault> {
    rank.windows.get(win).ok_or_else(|| Fault::new(class::ERR_WIN, "no such window"))
}

/// A communicator that is the window's own.
fn own_comm(rank: &Rank, comm: Comm, purpose: Purpose) -> Result<Communicator, Fault> {
    let from = rank.comm(comm)?;
    require(!from.is_inter(), class::ERR_COMM, || "a communicator between two groups".to_owned())?;
    Ok(Communicator::new(&from.link, from.rank(), from.group.clone(), from.derived_contexts(purpose).0))
}

fn check_part(size: Aint, unit: Aint) -> Result<(usize, usize), Fault> {
    require(size >= 0, class::ERR_SIZE, || format!("a window of {size} bytes"))?;
    require(unit > 0, class::ERR_DISP, || format!("a displacement unit of {unit} bytes"))?;
    Ok((size as usize, unit as usize))
}

/// The parts of all ranks.
fn exchange(rank: &Rank, comm: &Communicator, own: Part) -> Result<Vec<Part>, Fault> {
    let own = [own.base as u64, own.size as u64, own.unit as u64];
    let lens = vec![size_of_val(&own); comm.size()];
    let all = rank.block(collective::allgather(comm.links(rank.caller()), Buffer::of(&own), &lens))?;
    let part = |values: &[u64]| Part { base: values[0] as usize, size: values[1] as usize, unit: values[2] as usize };
    Ok(all.iter().map(|data| part(data.values::<u64>())).collect())
}

/// What this rank reaches of all ranks of a window.
fn targets(rank: &Rank, comm: &Communicator) -> Vec<Rc<Target>> {
    comm.group.members.iter().map(|&member| rank.shared.window_target(comm.context, member)).collect()
}

/// Hands out a window of the parts that all ranks have.
fn create(
    rank: &Rank,
    comm: Communicator,
    flavor: Flavor,
    parts: Vec<Part>,
    info: Info,
    owned: Option<*mut u8>,
    win: *mut Win,
) -> Answer {
    let targets = targets(rank, &comm);
    let window = Window { owned, ..Window::new(comm, flavor, parts, targets, info) };
    put(win, rank.windows.insert(window));
    Ok(())
}

pub fn win_create(
    rank: &Rank,
    base: *mut c_void,
    size: Aint,
    disp_unit: Aint,
    info: InfoHandle,
    comm: Comm,
    win: *mut Win,
) -> Answer {
    let (info, (size, unit)) = (rank.info(info)?, check_part(size, disp_unit)?);
    let comm = own_comm(rank, comm, Purpose::CreateWindow)?;
    let parts = exchange(rank, &comm, Part { base: base.expose_provenance(), size, unit })?;
    create(rank, comm, Flavor::Create, parts, info, None, win)
}

pub fn win_allocate(
    rank: &Rank,
    size: Aint,
    disp_unit: Aint,
    info: InfoHandle,
    comm: Comm,
    baseptr: *mut c_void,
    win: *mut Win,
) -> Answer {
    let (info, (size, unit)) = (rank.info(info)?, check_part(size, disp_unit)?);
    let comm = own_comm(rank, comm, Purpose::AllocateWindow)?;
    let memory = super::allocate(size)?;
    let parts = exchange(rank, &comm, Part { base: memory.expose_provenance(), size, unit })?;
    put(baseptr.cast::<*mut u8>(), memory);
    create(rank, comm, Flavor::Allocate, parts, info, Some(memory), win)
}

/// Parts of shared memory begin at multiples of so many bytes, which all elements are aligned to.
const SHARED_ALIGNMENT: usize = 64;

pub fn win_allocate_shared(
    rank: &Rank,
    size: Aint,
    disp_unit: Aint,
    info: InfoHandle,
    comm: Comm,
    baseptr: *mut c_void,
    win: *mut Win,
) -> Answer {
    let (info, (size, unit)) = (rank.info(info)?, check_part(size, disp_unit)?);
    let comm = own_comm(rank, comm, Purpose::AllocateSharedWindow)?;
    let node = |member: &u32| rank.node_of(*member as usize);
    let one_node = comm.group.members.iter().all(|member| node(member) == node(&comm.group.members[0]));
    require(one_node, class::ERR_RMA_SHARED, || "the ranks are on nodes that share no memory".to_owned())?;
    let sizes = exchange(rank, &comm, Part { base: 0, size, unit })?;
    let spread = info.get(b"alloc_shared_noncontig").is_some_and(|value| value == b"true");
    let step = |size: usize| if spread { size.next_multiple_of(SHARED_ALIGNMENT) } else { size };
    let whole: usize = sizes.iter().map(|part| step(part.size)).sum();
    let memory = share(rank, &comm, whole)?;
    let begins = sizes.iter().scan(memory.first, |next, part| Some(std::mem::replace(next, *next + step(part.size))));
    let parts: Vec<Part> = sizes.iter().zip(begins).map(|(part, base)| Part { base, ..*part }).collect();
    put(baseptr.cast::<usize>(), parts[comm.rank()].base);
    let targets = targets(rank, &comm);
    let (owned, common) = (memory.owned, memory.common);
    let window = Window { owned, common, ..Window::new(comm, Flavor::Shared, parts, targets, info) };
    put(win, rank.windows.insert(window));
    Ok(())
}

/// Memory that all ranks of a window reach.
struct SharedMemory {
    first: usize,
    owned: Option<*mut u8>,
    common: Option<Common>,
}

/// The first rank allocates for all; where each is a process, all map what it has.
fn share(rank: &Rank, comm: &Communicator, bytes: usize) -> Result<SharedMemory, Fault> {
    let unable = |error: std::io::Error| Fault::new(class::ERR_NO_MEM, format!("no shared memory: {error}"));
    let is_first = comm.rank() == 0;
    if comm.link.simulated().is_some() || comm.size() == 1 {
        let owned = if is_first { Some(super::allocate(bytes)?) } else { None };
        let own = Part { base: owned.map_or(0, <*mut u8>::expose_provenance), size: 0, unit: 1 };
        let first = exchange(rank, comm, own)?[0].base;
        return Ok(SharedMemory { first, owned, common: None });
    }
    let memory = if is_first { Some(Common::create(comm.context, bytes).map_err(unable)?) } else { None };
    let (process, descriptor) = memory.as_ref().map_or((0, 0), Common::announced);
    let own = Part { base: process as usize, size: descriptor as usize, unit: 1 };
    let first = exchange(rank, comm, own)?[0];
    let common = match memory {
        Some(common) => common,
        None => Common::open((first.base as u32, first.size as u32), comm.context, bytes).map_err(unable)?,
    };
    // The first rank keeps its descriptor until all have come.
    rank.block(collective::barrier(comm.links(rank.caller())))?;
    Ok(SharedMemory { first: common.address(), owned: None, common: Some(common) })
}

pub fn win_create_dynamic(rank: &Rank, info: InfoHandle, comm: Comm, win: *mut Win) -> Answer {
    let info = rank.info(info)?;
    let comm = own_comm(rank, comm, Purpose::CreateDynamicWindow)?;
    let parts = exchange(rank, &comm, Part { base: 0, size: 0, unit: 1 })?;
    create(rank, comm, Flavor::Dynamic, parts, info, None, win)
}

/// This rank's part of a dynamic window.
fn dynamic(rank: &Rank, win: Win) -> Result<Rc<Window>, Fault> {
    let window = find_window(rank, win)?;
    require(window.flavor == Flavor::Dynamic, class::ERR_RMA_FLAVOR, || "the window is not dynamic".to_owned())?;
    Ok(window)
}

pub fn win_attach(rank: &Rank, win: Win, base: *mut c_void, size: Aint) -> Answer {
    let window = dynamic(rank, win)?;
    require(size >= 0, class::ERR_SIZE, || format!("memory of {size} bytes"))?;
    let (start, size) = (base.expose_provenance(), size as usize);
    let mut attached = window.targets[window.comm.rank()].attached.borrow_mut();
    let overlaps = attached.iter().any(|(&other, &bytes)| other < start + size && start < other + bytes);
    require(!overlaps, class::ERR_RMA_ATTACH, || "the memory overlaps memory that is attached".to_owned())?;
    attached.insert(start, size);
    Ok(())
}

pub fn win_detach(rank: &Rank, win: Win, base: *const c_void) -> Answer {
    let window = dynamic(rank, win)?;
    let detached = window.targets[window.comm.rank()].attached.borrow_mut().remove(&base.addr());
    require(detached.is_some(), class::ERR_RMA_ATTACH, || "no memory was attached at this address".to_owned())
}

pub fn win_free(rank: &Rank, win: *mut Win) -> Answer {
    let handle = at(win, 0);
    let window = find_window(rank, handle)?;
    require(window.epochs.are_closed(), class::ERR_RMA_SYNC, || "an epoch of the window is open".to_owned())?;
    super::complete_all(rank, &window)?;
    super::delete_all(rank, handle, &window.attributes)?;
    super::synchronize(rank, &window.comm, Purpose::FreeWindow)?;
    rank.windows.remove(handle);
    rank.shared.forget_target(window.comm.context, rank.number() as u32);
    if let Some(memory) = window.owned {
        super::free(memory);
    }
    put(win, abi::WIN_NULL);
    Ok(())
}

pub fn win_shared_query(
    rank: &Rank,
    win: Win,
    target: c_int,
    size: *mut Aint,
    disp_unit: CountOut,
    baseptr: *mut c_void,
) -> Answer {
    let window = find_window(rank, win)?;
    require(window.flavor != Flavor::Dynamic, class::ERR_RMA_FLAVOR, || "the window is dynamic".to_owned())?;
    let shares = |number: usize| window.flavor == Flavor::Shared || number == window.comm.rank();
    let number = match target {
        abi::PROC_NULL => window.parts.iter().position(|part| part.size > 0),
        _ => Some(super::check_target(&window, target)?),
    };
    let nothing = Part { base: 0, size: 0, unit: 1 };
    let part = number.filter(|&number| shares(number)).map_or(nothing, |number| window.parts[number]);
    put(size, part.size as Aint);
    disp_unit.set(part.unit as Aint);
    put(baseptr.cast::<usize>(), part.base);
    Ok(())
}

pub fn win_get_group(rank: &Rank, win: Win, group: *mut Group) -> Answer {
    super::hand_out_group(rank, find_window(rank, win)?.comm.group.clone(), group);
    Ok(())
}

pub fn win_get_attr(rank: &Rank, win: Win, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Answer {
    let window = find_window(rank, win)?;
    let numbers = &*window.numbers;
    let address: *const c_void = match keyval {
        abi::WIN_BASE => std::ptr::with_exposed_provenance(window.own().base),
        abi::WIN_SIZE => (&raw const numbers.0).cast(),
        abi::WIN_DISP_UNIT => (&raw const numbers.1).cast(),
        abi::WIN_CREATE_FLAVOR => (&raw const numbers.2).cast(),
        abi::WIN_MODEL => (&raw const numbers.3).cast(),
        _ => {
            super::known(rank, abi::kind::WIN, keyval)?;
            super::get_attribute(&window.attributes, keyval, value, flag);
            return Ok(());
        }
    };
    put(value.cast::<*const c_void>(), address);
    put(flag, 1);
    Ok(())
}

pub fn win_set_attr(rank: &Rank, win: Win, keyval: c_int, value: *mut c_void) -> Answer {
    super::set_attribute(rank, win, &find_window(rank, win)?.attributes, keyval, value)
}

pub fn win_delete_attr(rank: &Rank, win: Win, keyval: c_int) -> Answer {
    super::delete_attribute(rank, win, &find_window(rank, win)?.attributes, keyval)
}

pub fn win_set_info(rank: &Rank, win: Win, info: InfoHandle) -> Answer {
    let (window, info) = (find_window(rank, win)?, rank.info(info)?.hints(info::OF_WINDOWS));
    let known = window.info.borrow();
    for (key, value) in info.pairs.borrow().iter() {
        known.set(key, value);
    }
    Ok(())
}

pub fn win_get_info(rank: &Rank, win: Win, info_used: *mut InfoHandle) -> Answer {
    let info = find_window(rank, win)?.info.borrow().clone();
    put(info_used, rank.shared.infos.insert(info));
    Ok(())
}

pub fn win_set_name(rank: &Rank, win: Win, win_name: *const c_char) -> Answer {
    super::is_named(win_name)?;
    find_window(rank, win)?.name.replace(text(win_name));
    Ok(())
}

pub fn win_get_name(rank: &Rank, win: Win, win_name: *mut c_char, resultlen: *mut c_int) -> Answer {
    let name =
        if win == abi::WIN_NULL { b"MPI_WIN_NULL".to_vec() } else { find_window(rank, win)?.name.borrow().clone() };
    put(resultlen, put_text(win_name, &name, abi::MAX_OBJECT_NAME) as c_int);
    Ok(())
}

pub fn win_set_errhandler(rank: &Rank, win: Win, errhandler: Errhandler) -> Answer {
    super::check(rank, errhandler)?;
    find_window(rank, win)?.errhandler.set(errhandler);
    Ok(())
}

pub fn win_get_errhandler(rank: &Rank, win: Win, errhandler: *mut Errhandler) -> Answer {
    find_window(rank, win)?;
    put(errhandler, handler_of(rank, Object::Win(win)));
    Ok(())
}
