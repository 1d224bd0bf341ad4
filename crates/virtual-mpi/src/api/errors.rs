//! Error codes and error handlers (MPI 4.1, chapter 9).

use std::ffi::{c_char, c_int};

use crate::abi::{self, Callback, Comm, Errhandler, File, Session, Win};
use crate::errors::{Object, call_handler, class_of, handler_of, text_of};
use crate::fault::{Answer, Fault, LAST_CODE, class, require};
use crate::rank::{self, Rank};

use super::{put, put_text, text};

pub fn error_class(rank: &Rank, errorcode: c_int, errorclass: *mut c_int) -> Answer {
    let known = class_of(rank, errorcode);
    put(errorclass, known.ok_or_else(|| Fault::new(class::ERR_ARG, format!("{errorcode} is no error code")))?);
    Ok(())
}

pub fn error_string(rank: &Rank, errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> Answer {
    let text = text_of(rank, errorcode);
    let text = text.ok_or_else(|| Fault::new(class::ERR_ARG, format!("{errorcode} is no error code")))?;
    put(resultlen, put_text(string, &text, abi::MAX_ERROR_STRING) as c_int);
    Ok(())
}

pub fn add_error_class(rank: &Rank, errorclass: *mut c_int) -> Answer {
    put(errorclass, rank.user_errors.borrow_mut().add(None));
    Ok(())
}

pub fn add_error_code(rank: &Rank, errorclass: c_int, errorcode: *mut c_int) -> Answer {
    let known = class_of(rank, errorclass) == Some(errorclass);
    require(known, class::ERR_ARG, || format!("{errorclass} is no class of errors"))?;
    put(errorcode, rank.user_errors.borrow_mut().add(Some(errorclass)));
    Ok(())
}

pub fn add_error_string(rank: &Rank, errorcode: c_int, string: *const c_char) -> Answer {
    is_of_program(rank, errorcode)?;
    rank.user_errors.borrow_mut().texts.insert(errorcode, text(string));
    Ok(())
}

fn is_of_program(rank: &Rank, code: c_int) -> Answer {
    let known = code > LAST_CODE && rank.user_errors.borrow().classes.contains_key(&code);
    require(known, class::ERR_ARG, || format!("{code} is no error code of the program"))
}

pub fn remove_error_class(rank: &Rank, errorclass: c_int) -> Answer {
    is_of_program(rank, errorclass)?;
    let errors = rank.user_errors.borrow();
    let used = errors.classes.iter().any(|(&code, &class)| class == errorclass && code != errorclass);
    let described = errors.texts.contains_key(&errorclass);
    require(!used && !described, class::ERR_ARG, || format!("error class {errorclass} has codes or a string"))?;
    drop(errors);
    rank.user_errors.borrow_mut().classes.remove(&errorclass);
    Ok(())
}

pub fn remove_error_code(rank: &Rank, errorcode: c_int) -> Answer {
    is_of_program(rank, errorcode)?;
    let described = rank.user_errors.borrow().texts.contains_key(&errorcode);
    require(!described, class::ERR_ARG, || format!("error code {errorcode} has a string"))?;
    rank.user_errors.borrow_mut().classes.remove(&errorcode);
    Ok(())
}

pub fn remove_error_string(rank: &Rank, errorcode: c_int) -> Answer {
    is_of_program(rank, errorcode)?;
    rank.user_errors.borrow_mut().texts.remove(&errorcode);
    Ok(())
}

fn create(rank: &Rank, function: Callback, errhandler: *mut Errhandler) -> Answer {
    put(errhandler, rank.shared.errhandlers.insert(rank::Errhandler { function: function.function }));
    Ok(())
}

pub fn comm_create_errhandler(rank: &Rank, function: Callback, errhandler: *mut Errhandler) -> Answer {
    create(rank, function, errhandler)
}

pub fn errhandler_create(rank: &Rank, function: Callback, errhandler: *mut Errhandler) -> Answer {
    create(rank, function, errhandler)
}

pub fn win_create_errhandler(rank: &Rank, function: Callback, errhandler: *mut Errhandler) -> Answer {
    create(rank, function, errhandler)
}

pub fn file_create_errhandler(rank: &Rank, function: Callback, errhandler: *mut Errhandler) -> Answer {
    create(rank, function, errhandler)
}

pub fn session_create_errhandler(rank: &Rank, function: Callback, errhandler: *mut Errhandler) -> Answer {
    create(rank, function, errhandler)
}

/// Whether a handle is that of an error handler.
pub(crate) fn check(rank: &Rank, errhandler: Errhandler) -> Answer {
    let predefined = [abi::ERRORS_ARE_FATAL, abi::ERRORS_RETURN, abi::ERRORS_ABORT].contains(&errhandler);
    let known = predefined || rank.shared.errhandlers.get(errhandler).is_some();
    require(known, class::ERR_ERRHANDLER, || "no such error handler".to_owned())
}

pub fn errhandler_free(rank: &Rank, errhandler: *mut Errhandler) -> Answer {
    let handle = super::at(errhandler, 0);
    check(rank, handle)?;
    // Objects that have it keep it: the table holds it until the end of the run.
    put(errhandler, abi::ERRHANDLER_NULL);
    Ok(())
}

pub fn comm_set_errhandler(rank: &Rank, comm: Comm, errhandler: Errhandler) -> Answer {
    check(rank, errhandler)?;
    rank.comm(comm)?.errhandler.set(errhandler);
    // A module that all ranks of a process share does this once, for all.
    let shared = match comm {
        abi::COMM_WORLD => &rank.shared.handlers[0],
        abi::COMM_SELF => &rank.shared.handlers[1],
        _ => return Ok(()),
    };
    if shared.get().is_none() {
        shared.set(Some(errhandler));
    }
    Ok(())
}

pub fn comm_get_errhandler(rank: &Rank, comm: Comm, errhandler: *mut Errhandler) -> Answer {
    rank.comm(comm)?;
    put(errhandler, handler_of(rank, Object::Comm(comm)));
    Ok(())
}

pub fn errhandler_set(rank: &Rank, comm: Comm, errhandler: Errhandler) -> Answer {
    comm_set_errhandler(rank, comm, errhandler)
}

pub fn errhandler_get(rank: &Rank, comm: Comm, errhandler: *mut Errhandler) -> Answer {
    comm_get_errhandler(rank, comm, errhandler)
}

pub fn session_set_errhandler(rank: &Rank, session: Session, errhandler: Errhandler) -> Answer {
    check(rank, errhandler)?;
    let session = rank.sessions.get(session).ok_or_else(|| Fault::new(class::ERR_SESSION, "no such session"))?;
    session.errhandler.set(errhandler);
    Ok(())
}

pub fn session_get_errhandler(rank: &Rank, session: Session, errhandler: *mut Errhandler) -> Answer {
    let session = rank.sessions.get(session).ok_or_else(|| Fault::new(class::ERR_SESSION, "no such session"))?;
    put(errhandler, session.errhandler.get());
    Ok(())
}

pub fn comm_call_errhandler(rank: &Rank, comm: Comm, errorcode: c_int) -> Answer {
    rank.comm(comm)?;
    call_handler(rank, "MPI_Comm_call_errhandler", Object::Comm(comm), errorcode, "");
    Ok(())
}

pub fn win_call_errhandler(rank: &Rank, win: Win, errorcode: c_int) -> Answer {
    super::find_window(rank, win)?;
    call_handler(rank, "MPI_Win_call_errhandler", Object::Win(win), errorcode, "");
    Ok(())
}

pub fn file_call_errhandler(rank: &Rank, fh: File, errorcode: c_int) -> Answer {
    call_handler(rank, "MPI_File_call_errhandler", Object::File(fh), errorcode, "");
    Ok(())
}

pub fn session_call_errhandler(rank: &Rank, session: Session, errorcode: c_int) -> Answer {
    call_handler(rank, "MPI_Session_call_errhandler", Object::Session(session), errorcode, "");
    Ok(())
}
