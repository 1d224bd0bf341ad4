//! Requests: what was started and is not known to be complete.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use weft_comm::{CommError, Payload, Received};

use crate::abi::{self, Status};
use crate::datatype::Datatype;
use crate::fault::{Fault, class};
use crate::generalized::Generalized;
use crate::link;
use crate::meter;
use crate::threads;
use crate::used::Used;

/// What a complete operation tells.
#[derive(Clone, Copy, Debug)]
pub struct Completed {
    pub source: c_int,
    pub tag: c_int,
    pub bytes: u64,
    pub cancelled: bool,
}

impl Completed {
    /// Of what receives no message.
    pub const EMPTY: Completed = Completed { source: abi::ANY_SOURCE, tag: abi::ANY_TAG, bytes: 0, cancelled: false };
    /// Of a message from nobody.
    pub const NO_PROC: Completed = Completed { source: abi::PROC_NULL, tag: abi::ANY_TAG, bytes: 0, cancelled: false };

    /// Writes it where the program wants to know it; the error there stays.
    pub fn write(&self, status: *mut Status) {
        if status == Status::IGNORE || status.is_null() {
            return;
        }
        // SAFETY: the program hands in the address of a status.
        let status = unsafe { &mut *status };
        status.source = self.source;
        status.tag = self.tag;
        status.set_bytes(self.bytes);
        status.set_cancelled(self.cancelled);
    }
}

/// What an operation comes to.
pub type Completion = Result<Completed, Fault>;

/// An operation as a future.
pub type Work = Pin<Box<dyn Future<Output = Completion>>>;

/// A receive whose message goes to the program's memory.
pub struct Receive {
    pub receive: link::Receive,
    pub buffer: *mut c_void,
    pub count: usize,
    pub datatype: Rc<Datatype>,
}

impl Receive {
    /// Puts the message where it belongs.
    #[unsafe(link_section = "weft_message")]
    pub fn finish(&self, received: Result<Received, CommError>) -> Completion {
        let received = received?;
        if let Payload::Data(data) = received.payload {
            // SAFETY: the program has handed in memory for so many elements, and the message is no longer.
            unsafe {
                meter::write_pages(&self.datatype, self.buffer, data.len());
                self.datatype.unpack(&data, self.buffer, self.count);
            }
            self.receive.give_back(data);
        }
        let completed = completed(&received.status);
        if self.ends_within(completed.bytes as usize) {
            let message = format!("a message of {} bytes ends within an element of the datatype", completed.bytes);
            let of = Some((completed.source, completed.tag));
            return Err(Fault { of, ..Fault::new(class::ERR_TYPE, message) });
        }
        Ok(completed)
    }

    /// Whether a message of so many bytes ends within an element whose neighbours lie apart from it. MPICH fails there as
    /// well, and not where elements are dense: programs receive bytes as elements of any length.
    fn ends_within(&self, bytes: usize) -> bool {
        !self.datatype.is_dense()
            && !bytes.is_multiple_of(self.datatype.size.max(1))
            && self.datatype.elements_of(bytes).is_none()
    }
}

/// What a status of weft says, as a status of MPI.
pub fn completed(status: &weft_comm::Status) -> Completed {
    let tag = match status.tag {
        weft_comm::Tag::User(tag) => tag as c_int,
        weft_comm::Tag::Collective { .. } => abi::ANY_TAG,
    };
    Completed { source: status.source as c_int, tag, bytes: status.bytes as u64, cancelled: false }
}

impl Future for Receive {
    type Output = Completion;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Completion> {
        match Pin::new(&mut self.receive).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(received) => Poll::Ready(self.finish(received)),
        }
    }
}

/// Where an operation stands.
pub enum State {
    Send(link::Send),
    Receive(Box<Receive>),
    Work(Work),
    Generalized,
    Done(Completion),
    /// Persistent and not started.
    Inactive,
}

/// What starts a persistent request.
pub type Start = Box<dyn Fn() -> Result<State, Fault>>;

/// Parts of a message of which each is sent or received by itself.
#[derive(Debug, Default)]
pub struct Partitions {
    /// Those that are ready to be sent; of a receive, none.
    pub ready: RefCell<Vec<bool>>,
    pub is_send: bool,
    pub count: usize,
}

/// A request.
pub struct Request {
    pub state: RefCell<State>,
    /// Of a persistent request.
    pub start: Option<Start>,
    pub generalized: Option<Generalized>,
    pub partitions: Option<Rc<Partitions>>,
    /// The program has freed it while it went on.
    pub freed: Cell<bool>,
    pub is_cancelled: Cell<bool>,
    /// The communicator whose error handler is called; `MPI_COMM_NULL` where it is of none that the program has.
    pub comm: c_int,
    /// The session of the file or window that it is of: the communicators of those are weft's own.
    pub session: Option<u32>,
    /// The memory that it uses while it is pending, where that is known.
    pub used: Cell<Option<Used>>,
}

impl Request {
    pub fn new(state: State, comm: c_int) -> Request {
        Request {
            state: RefCell::new(state),
            start: None,
            generalized: None,
            partitions: None,
            freed: Cell::new(false),
            is_cancelled: Cell::new(false),
            comm,
            session: None,
            used: Cell::new(None),
        }
    }

    pub fn persistent(start: Start, comm: c_int) -> Request {
        Request { start: Some(start), ..Request::new(State::Inactive, comm) }
    }

    /// Of a file or a window whose communicator is of a session.
    pub fn of_session(state: State, session: u32) -> Request {
        Request { session: Some(session), ..Request::new(state, abi::COMM_NULL) }
    }

    pub fn is_active(&self) -> bool {
        !matches!(*self.state.borrow(), State::Inactive)
    }

    /// Whether the operation is complete; what it came to is kept.
    pub fn poll(&self, context: &mut Context<'_>) -> bool {
        let mut state = self.state.borrow_mut();
        let polled = match &mut *state {
            State::Send(send) => Pin::new(send).poll(context).map(|sent| Ok(sent.map(|_| Completed::EMPTY)?)),
            State::Receive(receive) => Pin::new(receive).poll(context),
            State::Work(work) => work.as_mut().poll(context),
            State::Generalized => {
                threads::wait_for_others();
                return false;
            }
            State::Done(_) | State::Inactive => return true,
        };
        match polled {
            Poll::Pending => false,
            Poll::Ready(completion) => {
                *state = State::Done(completion);
                true
            }
        }
    }

    /// What the operation came to, once; a persistent request can be started again.
    pub fn take(&self) -> Completion {
        let state = std::mem::replace(&mut *self.state.borrow_mut(), State::Inactive);
        match state {
            State::Done(completion) => {
                let cancelled = self.is_cancelled.replace(false);
                completion.map(|completed| Completed { cancelled: completed.cancelled || cancelled, ..completed })
            }
            other => {
                *self.state.borrow_mut() = other;
                Ok(Completed::EMPTY)
            }
        }
    }
}
