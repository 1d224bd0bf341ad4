//! The requests of `isend` and `irecv`: futures that wait when they are polled.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use weft_comm::{CommError, Payload, Received, Source, Tag, TagSelector};

use crate::comm::MpiComm;
use crate::context::Orphan;
use crate::library::Handle;
use crate::scratch::Area;

/// A request that the library knows, with everything it reads or writes.
pub struct Started {
    pub comm: MpiComm,
    pub request: Handle,
    pub payload: Payload,
    /// Where the bytes of a phantom are.
    pub area: Option<Rc<Area>>,
}

impl Started {
    fn orphan(self, receives: bool) {
        let Started { comm, request, payload, area } = self;
        let bytes = payload.len();
        comm.context().adopt(Orphan { request, receives, bytes, _memory: (payload, area) });
    }
}

enum State<A> {
    Failed(CommError),
    Started(Started, A),
    Done,
}

impl<A> State<A> {
    fn take(&mut self) -> State<A> {
        std::mem::replace(self, State::Done)
    }
}

const POLLED_AGAIN: &str = "a request was polled after it had given its result";

/// The request of an `isend`.
pub struct SendRequest(State<(usize, Tag)>);

impl SendRequest {
    pub(crate) fn new(started: Result<Started, CommError>, to: usize, tag: Tag) -> SendRequest {
        SendRequest(match started {
            Ok(started) => State::Started(started, (to, tag)),
            Err(error) => State::Failed(error),
        })
    }
}

impl Future for SendRequest {
    type Output = Result<Payload, CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.0.take() {
            State::Failed(error) => Err(error),
            State::Started(started, (to, tag)) => {
                let Started { comm, request, payload, .. } = started;
                comm.wait_send(request, payload, to, tag)
            }
            State::Done => panic!("{POLLED_AGAIN}"),
        })
    }
}

impl Drop for SendRequest {
    fn drop(&mut self) {
        if let State::Started(started, _) = self.0.take() {
            started.orphan(false);
        }
    }
}

/// The request of an `irecv`.
pub struct ReceiveRequest(State<(Source, TagSelector)>);

impl ReceiveRequest {
    pub(crate) fn new(started: Result<Started, CommError>, from: Source, tag: TagSelector) -> ReceiveRequest {
        ReceiveRequest(match started {
            Ok(started) => State::Started(started, (from, tag)),
            Err(error) => State::Failed(error),
        })
    }
}

impl Future for ReceiveRequest {
    type Output = Result<Received, CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Poll::Ready(match self.0.take() {
            State::Failed(error) => Err(error),
            State::Started(started, (from, tag)) => {
                let Started { comm, request, payload, .. } = started;
                comm.wait_receive(request, payload, from, tag)
            }
            State::Done => panic!("{POLLED_AGAIN}"),
        })
    }
}

impl Drop for ReceiveRequest {
    fn drop(&mut self) {
        if let State::Started(started, _) = self.0.take() {
            started.orphan(true);
        }
    }
}
