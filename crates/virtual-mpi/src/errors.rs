//! Error handlers, and what programs add to the classes of errors.

use std::ffi::{c_int, c_void};

use crate::abi::{self, Comm, ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, Errhandler, File, Session, Win};
use crate::communicator::Communicator;
use crate::fault::{Fault, LAST_CODE, class, describe};
use crate::rank::Rank;
use crate::threads::outside;

/// What a call is made on; its error handler is asked.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    Comm(Comm),
    Win(Win),
    File(File),
    Session(Session),
    /// The interface for tools, whose errors are returned always.
    Tool,
    None,
}

/// The class of a code.
pub fn class_of(rank: &Rank, code: c_int) -> Option<c_int> {
    if code > LAST_CODE {
        return rank.user_errors.borrow().classes.get(&code).copied();
    }
    let class = code & 0xff;
    describe(class).map(|_| class)
}

/// What a code says.
pub fn text_of(rank: &Rank, code: c_int) -> Option<Vec<u8>> {
    if let Some(text) = rank.user_errors.borrow().texts.get(&code) {
        return Some(text.clone());
    }
    if code > LAST_CODE {
        return class_of(rank, code).map(|_| Vec::new());
    }
    let (name, text) = describe(code & 0xff)?;
    let said = if code > 0xff { rank.recall(code) } else { None };
    let text = match said {
        Some(said) => format!("{name}: {text}: {said}"),
        None => format!("{name}: {text}"),
    };
    Some(text.into_bytes())
}

/// What becomes of an error: the handler of the object is asked.
#[cold]
pub fn handle(rank: &Rank, call: &'static str, object: Object, fault: Fault) -> c_int {
    let message = fault.message.clone();
    // Kinds of attributes are looked at before the window, as MPICH has it: the error is one of no object.
    let object = match object {
        Object::Win(_) if fault.class == class::ERR_KEYVAL => Object::None,
        Object::None => fault.comm.filter(|&comm| comm != abi::COMM_NULL).map_or(Object::None, Object::Comm),
        object => object,
    };
    let code = rank.remember(fault);
    call_handler(rank, call, object, code, &message)
}

/// Calls the error handler of `object` with a code, which it may change.
pub fn call_handler(rank: &Rank, call: &'static str, object: Object, code: c_int, message: &str) -> c_int {
    let handler = handler_of(rank, object);
    match handler {
        ERRORS_RETURN => code,
        ERRORS_ARE_FATAL | ERRORS_ABORT => {
            let text = text_of(rank, code).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let text = if message.is_empty() || text.contains(message) {
                text.into_owned()
            } else {
                format!("{text}: {message}")
            };
            rank.abort(class_of(rank, code).unwrap_or(class::ERR_OTHER), &format!("{call}: {text}"))
        }
        _ => {
            let Some(handler) = rank.shared.errhandlers.get(handler) else { return code };
            type Function = unsafe extern "C" fn(*mut c_int, *mut c_int, ...);
            // Handles of files are as wide as pointers, all others as numbers.
            let (mut object, mut code) = (number_of(object), code);
            // SAFETY: the program handed the function in as one of this type.
            outside(|| unsafe {
                let function = std::mem::transmute::<*const c_void, Function>(handler.function);
                function((&raw mut object).cast(), &raw mut code);
            });
            code
        }
    }
}

fn number_of(object: Object) -> File {
    match object {
        Object::Comm(handle) | Object::Win(handle) | Object::Session(handle) => handle as File,
        Object::File(file) => file,
        Object::Tool | Object::None => abi::COMM_SELF as File,
    }
}

/// The error handler of an object; where there is none, of `MPI_COMM_SELF` (MPI 4.1, section 9.3), and where that was
/// left as it is, of `MPI_COMM_WORLD`, which programs of MPI 3 set for that.
pub fn handler_of(rank: &Rank, object: Object) -> Errhandler {
    let known = match object {
        Object::Comm(abi::COMM_WORLD) => Some(own_or_shared(rank, &rank.comm_world, 0)),
        Object::Comm(abi::COMM_SELF) => Some(own_or_shared(rank, &rank.comm_self, 1)),
        Object::Comm(handle) => rank.comm(handle).ok().map(|comm| comm.errhandler.get()),
        Object::Session(handle) => rank.sessions.get(handle).map(|session| session.errhandler.get()),
        Object::Win(handle) => rank.windows.get(handle).map(|window| window.errhandler.get()),
        Object::File(abi::FILE_NULL) => Some(rank.file_errhandler.get()),
        Object::File(handle) => {
            let known = rank.files.get(handle as c_int).map(|file| file.errhandler.get());
            Some(known.unwrap_or_else(|| rank.file_errhandler.get()))
        }
        Object::Tool => Some(ERRORS_RETURN),
        Object::None => None,
    };
    known.unwrap_or_else(|| match own_or_shared(rank, &rank.comm_self, 1) {
        ERRORS_ARE_FATAL => own_or_shared(rank, &rank.comm_world, 0),
        own => own,
    })
}

/// The error handler that a rank has set, or the one that a module which all ranks share has set for all.
fn own_or_shared(rank: &Rank, comm: &Communicator, index: usize) -> Errhandler {
    match comm.errhandler.get() {
        abi::ERRHANDLER_NULL => rank.shared.handlers[index].get().unwrap_or(ERRORS_ARE_FATAL),
        own => own,
    }
}

/// The error handler that a communicator made from `comm` begins with.
pub fn inherited(rank: &Rank, comm: &Communicator) -> Errhandler {
    match (comm.errhandler.get(), comm.context == rank.comm_self.context) {
        (abi::ERRHANDLER_NULL, is_self) => own_or_shared(rank, comm, usize::from(is_self)),
        (own, _) => own,
    }
}
