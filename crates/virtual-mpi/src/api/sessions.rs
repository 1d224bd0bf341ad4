//! Sessions and process sets (MPI 4.1, section 11.3).

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::rc::Rc;

use crate::abi::{self, Errhandler, Group as GroupHandle, Info as InfoHandle, Session as Handle};
use crate::communicator::Group;
use crate::fault::{Answer, Fault, class};
use crate::info::Info;
use crate::rank::{Phase, Rank};
use crate::session::{PROCESS_SETS, Session};

use super::{at, put, put_text, text};

pub fn session_init(rank: &Rank, info: InfoHandle, errhandler: Errhandler, session: *mut Handle) -> Answer {
    let info = rank.info(info)?;
    super::check(rank, errhandler)?;
    let level = if rank.threads.can_be_beside() { "MPI_THREAD_MULTIPLE" } else { "MPI_THREAD_SERIALIZED" };
    info.set(b"thread_level", level.as_bytes());
    rank.threads.allow_beside();
    let number = rank.sessions_begun.get() + 1;
    rank.sessions_begun.set(number);
    put(
        session,
        rank.sessions.insert(Session { number, errhandler: Cell::new(errhandler), info, buffered: Rc::default() }),
    );
    tell_end(rank);
    Ok(())
}

/// A program that has used sessions alone may end when it has none.
fn tell_end(rank: &Rank) {
    if rank.phase.get() == Phase::Before {
        rank.endpoint.tell_end(rank.sessions.is_empty());
    }
}

pub(super) fn find_session(rank: &Rank, session: Handle) -> Result<Rc<Session>, Fault> {
    rank.sessions.get(session).ok_or_else(|| Fault::new(class::ERR_SESSION, "no such session"))
}

pub fn session_finalize(rank: &Rank, session: *mut Handle) -> Answer {
    find_session(rank, at(session, 0))?;
    rank.sessions.remove(at(session, 0));
    tell_end(rank);
    put(session, abi::SESSION_NULL);
    Ok(())
}

pub fn session_get_info(rank: &Rank, session: Handle, info_used: *mut InfoHandle) -> Answer {
    let info = find_session(rank, session)?.info.clone();
    put(info_used, rank.shared.infos.insert(info));
    Ok(())
}

pub fn session_get_num_psets(rank: &Rank, session: Handle, _info: InfoHandle, npset_names: *mut c_int) -> Answer {
    find_session(rank, session)?;
    put(npset_names, PROCESS_SETS.len() as c_int);
    Ok(())
}

pub fn session_get_nth_pset(
    rank: &Rank,
    session: Handle,
    _info: InfoHandle,
    n: c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
) -> Answer {
    find_session(rank, session)?;
    let missing = || Fault::new(class::ERR_ARG, format!("process set {n} of {}", PROCESS_SETS.len()));
    let name = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n)).ok_or_else(missing)?;
    let space = at(pset_len, 0);
    if space > 0 {
        put_text(pset_name, name.as_bytes(), space as usize);
    }
    put(pset_len, name.len() as c_int + 1);
    Ok(())
}

/// The ranks of a process set.
fn members(rank: &Rank, name: &[u8]) -> Result<Group, Fault> {
    match PROCESS_SETS.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name)) {
        Some(0) => Ok(rank.comm_world.group.clone()),
        Some(_) => Ok(rank.comm_self.group.clone()),
        None => Err(Fault::new(class::ERR_ARG, format!("no process set {}", String::from_utf8_lossy(name)))),
    }
}

pub fn session_get_pset_info(rank: &Rank, session: Handle, pset_name: *const c_char, info: *mut InfoHandle) -> Answer {
    find_session(rank, session)?;
    let known = Info::default();
    known.set(b"mpi_size", members(rank, &text(pset_name))?.len().to_string().as_bytes());
    put(info, rank.shared.infos.insert(known));
    Ok(())
}

pub fn group_from_session_pset(
    rank: &Rank,
    session: Handle,
    pset_name: *const c_char,
    newgroup: *mut GroupHandle,
) -> Answer {
    let session = find_session(rank, session)?.number;
    let group = Group { session, ..members(rank, &text(pset_name))? };
    super::hand_out_group(rank, group, newgroup);
    Ok(())
}
