//! The interface for tools (MPI 4.1, chapter 15): there are no variables, categories, events or sources.

use std::ffi::{c_char, c_int, c_void};

use crate::abi;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;

use super::environment::highest_level;
use super::{put, text};

/// Fails unless the interface has been initialized.
fn started(rank: &Rank) -> Answer {
    require(rank.tools.get() > 0, class::T_ERR_NOT_INITIALIZED, || "MPI_T_init_thread was not called".to_owned())
}

/// There are none of what is counted.
fn none(rank: &Rank, number: *mut c_int) -> Answer {
    started(rank)?;
    put(number, 0);
    Ok(())
}

/// Nothing has a name.
fn unknown(rank: &Rank, name: *const c_char) -> Answer {
    started(rank)?;
    Err(Fault::new(class::T_ERR_INVALID_NAME, String::from_utf8_lossy(&text(name))))
}

pub fn t_init_thread(rank: &Rank, required: c_int, provided: *mut c_int) -> Answer {
    rank.tools.set(rank.tools.get() + 1);
    put(provided, required.clamp(abi::THREAD_SINGLE, highest_level(rank)));
    Ok(())
}

pub fn t_finalize(rank: &Rank) -> Answer {
    started(rank)?;
    rank.tools.set(rank.tools.get() - 1);
    Ok(())
}

pub fn t_cvar_get_num(rank: &Rank, num_cvar: *mut c_int) -> Answer {
    none(rank, num_cvar)
}

pub fn t_pvar_get_num(rank: &Rank, num_pvar: *mut c_int) -> Answer {
    none(rank, num_pvar)
}

pub fn t_category_get_num(rank: &Rank, num_cat: *mut c_int) -> Answer {
    none(rank, num_cat)
}

pub fn t_event_get_num(rank: &Rank, num_events: *mut c_int) -> Answer {
    none(rank, num_events)
}

pub fn t_source_get_num(rank: &Rank, num_sources: *mut c_int) -> Answer {
    none(rank, num_sources)
}

/// Categories never change.
pub fn t_category_changed(rank: &Rank, update_number: *mut c_int) -> Answer {
    none(rank, update_number)
}

pub fn t_cvar_get_index(rank: &Rank, name: *const c_char, _cvar_index: *mut c_int) -> Answer {
    unknown(rank, name)
}

pub fn t_pvar_get_index(rank: &Rank, name: *const c_char, _var_class: c_int, _pvar_index: *mut c_int) -> Answer {
    unknown(rank, name)
}

pub fn t_category_get_index(rank: &Rank, name: *const c_char, _cat_index: *mut c_int) -> Answer {
    unknown(rank, name)
}

pub fn t_event_get_index(rank: &Rank, name: *const c_char, _event_index: *mut c_int) -> Answer {
    unknown(rank, name)
}

/// Sessions hold nothing: their handle says only that there is one.
pub fn t_pvar_session_create(rank: &Rank, session: *mut c_void) -> Answer {
    started(rank)?;
    put(session.cast::<usize>(), 1);
    Ok(())
}

pub fn t_pvar_session_free(rank: &Rank, session: *mut c_void) -> Answer {
    started(rank)?;
    let handle = session.cast::<usize>();
    require(super::at(handle, 0) == 1, class::T_ERR_INVALID_SESSION, || "no such session".to_owned())?;
    put(handle, 0);
    Ok(())
}
