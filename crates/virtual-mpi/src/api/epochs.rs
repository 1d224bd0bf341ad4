//! Synchronization of windows: fences, exposed and accessed groups, locks (MPI 4.1, section 12.5).

use std::ffi::c_int;
use std::rc::Rc;
use std::task::Poll;

use weft_comm::{Buffer, Communicator as _, Payload, Source, Tag};

use crate::abi::{self, Group, Win};
use crate::access::Access;
use crate::communicator::Purpose;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;
use crate::request::{Receive, Request, State};
use crate::session;
use crate::window::{Epochs, Held, Pending, Window};

use super::{check_target, find_window, put};

/// Assertions, in bits (`mpi.h` of MPICH).
mod assert {
    use std::ffi::c_int;
    pub const NOCHECK: c_int = 1024;
    pub const NOSUCCEED: c_int = 16384;
    pub const ALL: c_int = 1024 | 2048 | 4096 | 8192 | 16384;
}

const LOCK_EXCLUSIVE: c_int = 234;
const LOCK_SHARED: c_int = 235;

/// Messages of a window: the target is ready to be accessed, the origin has accessed it.
const POST: Tag = Tag::User(0);
const COMPLETE: Tag = Tag::User(1);

fn check_assert(assert: c_int) -> Answer {
    require(assert & !assert::ALL == 0, class::ERR_ASSERT, || format!("an assertion of {assert}"))
}

/// Fails with the standard's error for calls out of order.
fn in_order(holds: bool, message: &str) -> Answer {
    require(holds, class::ERR_RMA_SYNC, || message.to_owned())
}

/// Fails where an epoch of fences has been used: only another fence may end it (MPI 4.1, section 12.5). One that was not
/// used is none.
fn not_between_fences(epochs: &Epochs, call: &str) -> Answer {
    let is_used = epochs.fenced.get() && epochs.accessed.get();
    in_order(!is_used, &format!("{call} within an epoch of fences: MPI_Win_fence has to end it"))
}

/// So many operations are waited for at once.
const TOGETHER: usize = 100;

/// Waits for operations, of which each is polled before the rank parks: one answer may be about many.
fn complete_together(rank: &Rank, operations: &[Pending]) {
    rank.block(std::future::poll_fn(|context| {
        let active = operations.iter().filter(|one| one.request.is_active());
        let left = active.filter(|one| !one.request.poll(context)).count();
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    }));
}

/// Waits until operations on a target are complete; those that return nothing only where `everywhere`.
fn complete_target(rank: &Rank, window: &Window, target: usize, everywhere: bool) -> Answer {
    let pending = window.pending.borrow_mut().remove(&target).unwrap_or_default();
    let (waits, stay): (Vec<_>, Vec<_>) = pending.into_iter().partition(|one| everywhere || one.returns_data);
    if !stay.is_empty() {
        window.pending.borrow_mut().insert(target, stay);
    }
    let is_any = !waits.is_empty();
    let (heard, learns) = (rank.heard.get(), window.may_look(target) || waits.iter().any(|one| one.returns_data));
    waits.chunks(TOGETHER).for_each(|together| complete_together(rank, together));
    for one in waits {
        if !one.belongs_to_program {
            rank.wait(&one.request)?;
        } else if one.request.is_active() {
            rank.complete(&one.request);
        }
    }
    if is_any {
        window.complete(target, everywhere);
    }
    if !learns {
        rank.heard.set(heard);
    }
    // The program may look into its own memory next.
    rank.endpoint.catch_up();
    Ok(())
}

fn complete_each(rank: &Rank, window: &Window, everywhere: bool) -> Answer {
    let targets: Vec<usize> = window.pending.borrow().keys().copied().collect();
    targets.into_iter().try_for_each(|target| complete_target(rank, window, target, everywhere))
}

/// Waits until all operations of this rank are complete.
pub(crate) fn complete_all(rank: &Rank, window: &Window) -> Answer {
    complete_each(rank, window, true)
}

pub fn win_fence(rank: &Rank, assert: c_int, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    check_assert(assert)?;
    in_order(window.epochs.are_closed(), "MPI_Win_fence within an epoch of another kind")?;
    complete_all(rank, &window)?;
    super::synchronize(rank, &window.comm, Purpose::Fence)?;
    window.epochs.fenced.set(assert & assert::NOSUCCEED == 0);
    window.epochs.fences.set(window.epochs.fences.get() + 1);
    window.epochs.accessed.set(false);
    Ok(())
}

/// The ranks of the window that are in a group.
fn ranks_of(rank: &Rank, window: &Window, group: Group) -> Result<Vec<usize>, Fault> {
    let group = rank.group(group)?;
    session::check_groups(&window.comm.group, &group)?;
    let outside = || Fault::new(class::ERR_GROUP, "a group with ranks that have no part of the window");
    window.ranks_of(&group).ok_or_else(outside)
}

/// Tells a rank of the window something.
fn tell(rank: &Rank, window: &Window, to: usize, tag: Tag) -> Answer {
    rank.block(window.comm.link.isend_owned(to, tag, Buffer::zeroed(0), false))?;
    Ok(())
}

/// A receive of an empty message from a rank of the window.
fn hear(rank: &Rank, window: &Window, from: usize, tag: Tag) -> Rc<Request> {
    let receive = window.comm.link.irecv(Source::Rank(from), tag.into(), Payload::Phantom(0));
    let datatype = rank.shared.predefined[&abi::BYTE].clone();
    let receive = Receive { receive, buffer: std::ptr::null_mut(), count: 0, datatype };
    Rc::new(Request::new(State::Receive(Box::new(receive)), abi::COMM_NULL))
}

pub fn win_start(rank: &Rank, group: Group, assert: c_int, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    check_assert(assert)?;
    let epochs = &window.epochs;
    let free = epochs.started.borrow().is_none() && !epochs.is_passive();
    in_order(free, "MPI_Win_start within an epoch of access")?;
    not_between_fences(epochs, "MPI_Win_start")?;
    let targets = ranks_of(rank, &window, group)?;
    if assert & assert::NOCHECK == 0 {
        let posts: Vec<_> = targets.iter().map(|&target| hear(rank, &window, target, POST)).collect();
        posts.iter().try_for_each(|post| rank.wait(post).map(|_| ()))?;
    }
    epochs.fenced.set(false);
    epochs.started.replace(Some(targets));
    Ok(())
}

pub fn win_complete(rank: &Rank, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    let targets = window.epochs.started.take();
    in_order(targets.is_some(), "MPI_Win_complete without MPI_Win_start")?;
    for target in targets.unwrap_or_default() {
        complete_target(rank, &window, target, true)?;
        tell(rank, &window, target, COMPLETE)?;
    }
    Ok(())
}

pub fn win_post(rank: &Rank, group: Group, assert: c_int, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    check_assert(assert)?;
    in_order(window.epochs.posted.borrow().is_none(), "MPI_Win_post within an epoch of exposure")?;
    let origins = ranks_of(rank, &window, group)?;
    let ends = origins.iter().map(|&origin| hear(rank, &window, origin, COMPLETE)).collect();
    if assert & assert::NOCHECK == 0 {
        origins.iter().try_for_each(|&origin| tell(rank, &window, origin, POST))?;
    }
    window.epochs.fenced.set(false);
    window.epochs.posted.replace(Some(ends));
    Ok(())
}

pub fn win_wait(rank: &Rank, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    let ends = window.epochs.posted.take();
    in_order(ends.is_some(), "MPI_Win_wait without MPI_Win_post")?;
    ends.unwrap_or_default().iter().try_for_each(|end| rank.wait(end).map(|_| ()))
}

pub fn win_test(rank: &Rank, win: Win, flag: *mut c_int) -> Answer {
    let window = find_window(rank, win)?;
    let ends = window.epochs.posted.borrow().clone();
    in_order(ends.is_some(), "MPI_Win_test without MPI_Win_post")?;
    let done = rank.test(&ends.unwrap_or_default()).iter().all(|&done| done);
    put(flag, c_int::from(done));
    if done {
        window.epochs.posted.take();
    } else {
        rank.looked_in_vain();
    }
    Ok(())
}

/// Asks a target for its lock, and waits until it is granted.
fn acquire(rank: &Rank, window: &Window, target: usize, exclusive: bool) -> Answer {
    let heard = rank.heard.get();
    let acquired = window.reach(target, 0, (Access::Acquire { exclusive }, Buffer::zeroed(0)), false, heard)?;
    rank.block(acquired.data())?;
    if !exclusive && !window.may_look(target) {
        rank.heard.set(heard);
    }
    rank.endpoint.catch_up();
    Ok(())
}

/// Gives a target's lock back. What was asked before has been served before: one reply says so for all.
fn release(rank: &Rank, window: &Window, target: usize) -> Answer {
    let released = window.reach(target, 0, (Access::Release, Buffer::zeroed(0)), false, rank.heard.get())?;
    complete_target(rank, window, target, true)?;
    let heard = rank.heard.get();
    rank.block(released.data())?;
    rank.heard.set(heard);
    rank.endpoint.catch_up();
    Ok(())
}

/// Locks a target that `MPI_Win_lock_all` has not locked yet.
pub(crate) fn ensure_locked(rank: &Rank, window: &Window, target: usize) -> Answer {
    let epochs = &window.epochs;
    if !epochs.all_locked.get() || epochs.locks.borrow().contains_key(&target) {
        return Ok(());
    }
    let held = if epochs.all_unchecked.get() { Held::Unchecked } else { Held::Shared };
    if held == Held::Shared {
        acquire(rank, window, target, false)?;
    }
    epochs.locks.borrow_mut().insert(target, held);
    Ok(())
}

pub fn win_lock(rank: &Rank, lock_type: c_int, target: c_int, assert: c_int, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    let known = lock_type == LOCK_EXCLUSIVE || lock_type == LOCK_SHARED;
    require(known, class::ERR_LOCKTYPE, || format!("a lock of type {lock_type}"))?;
    check_assert(assert)?;
    let epochs = &window.epochs;
    let free = epochs.started.borrow().is_none() && !epochs.all_locked.get();
    in_order(free, "MPI_Win_lock within an epoch of another kind")?;
    not_between_fences(epochs, "MPI_Win_lock")?;
    if target == abi::PROC_NULL {
        return Ok(());
    }
    let number = check_target(&window, target)?;
    in_order(!epochs.locks.borrow().contains_key(&number), "the target is locked already")?;
    let held = match (assert & assert::NOCHECK != 0, lock_type) {
        (true, _) => Held::Unchecked,
        (false, LOCK_EXCLUSIVE) => Held::Exclusive,
        (false, _) => Held::Shared,
    };
    if held != Held::Unchecked {
        acquire(rank, &window, number, held == Held::Exclusive)?;
    }
    epochs.fenced.set(false);
    epochs.locks.borrow_mut().insert(number, held);
    Ok(())
}

/// Ends the epoch of one target.
fn unlock(rank: &Rank, window: &Window, target: usize, held: Held) -> Answer {
    match held {
        Held::Shared | Held::Exclusive => release(rank, window, target),
        Held::Unchecked => complete_target(rank, window, target, true),
    }
}

pub fn win_unlock(rank: &Rank, target: c_int, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    if target == abi::PROC_NULL {
        return Ok(());
    }
    let number = check_target(&window, target)?;
    let epochs = &window.epochs;
    let held = if epochs.all_locked.get() { None } else { epochs.locks.borrow().get(&number).copied() };
    in_order(held.is_some(), "MPI_Win_unlock of a target that is not locked")?;
    let answer = unlock(rank, &window, number, held.unwrap_or(Held::Unchecked));
    epochs.locks.borrow_mut().remove(&number);
    answer
}

pub fn win_lock_all(rank: &Rank, assert: c_int, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    check_assert(assert)?;
    let epochs = &window.epochs;
    let free = epochs.started.borrow().is_none() && !epochs.is_passive();
    in_order(free, "MPI_Win_lock_all within an epoch of access")?;
    not_between_fences(epochs, "MPI_Win_lock_all")?;
    epochs.fenced.set(false);
    epochs.all_locked.set(true);
    epochs.all_unchecked.set(assert & assert::NOCHECK != 0);
    Ok(())
}

pub fn win_unlock_all(rank: &Rank, win: Win) -> Answer {
    let window = find_window(rank, win)?;
    in_order(window.epochs.all_locked.replace(false), "MPI_Win_unlock_all without MPI_Win_lock_all")?;
    let locks = window.epochs.locks.borrow().clone();
    let answer = locks.into_iter().try_for_each(|(target, held)| unlock(rank, &window, target, held));
    window.epochs.locks.take();
    answer
}

/// A window in an epoch of locks.
fn passive(rank: &Rank, win: Win) -> Result<Rc<Window>, Fault> {
    let window = find_window(rank, win)?;
    in_order(window.epochs.is_passive(), "the window is not locked")?;
    Ok(window)
}

fn flush(rank: &Rank, target: c_int, win: Win, everywhere: bool) -> Answer {
    let window = passive(rank, win)?;
    if target == abi::PROC_NULL {
        return Ok(());
    }
    let number = check_target(&window, target)?;
    in_order(
        window.epochs.all_locked.get() || window.epochs.locks.borrow().contains_key(&number),
        "the target is not locked",
    )?;
    complete_target(rank, &window, number, everywhere)
}

pub fn win_flush(rank: &Rank, target: c_int, win: Win) -> Answer {
    flush(rank, target, win, true)
}

pub fn win_flush_local(rank: &Rank, target: c_int, win: Win) -> Answer {
    flush(rank, target, win, false)
}

pub fn win_flush_all(rank: &Rank, win: Win) -> Answer {
    complete_each(rank, &*passive(rank, win)?, true)
}

pub fn win_flush_local_all(rank: &Rank, win: Win) -> Answer {
    complete_each(rank, &*passive(rank, win)?, false)
}

/// What others have done to the memory by this rank's time has been done. Programs that look again and again whether
/// memory has changed come to an end, because a look takes its time.
pub fn win_sync(rank: &Rank, win: Win) -> Answer {
    find_window(rank, win)?;
    rank.looked_in_vain();
    Ok(())
}
