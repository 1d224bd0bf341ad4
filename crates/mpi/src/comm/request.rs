//! Requests: messages that are started and waited for. Those of `isend` and `irecv` are futures that wait when they are
//! polled.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use weft_comm::{CommError, Payload, Received, Source, Status, Tag, TagSelector};

use crate::activity::Mark;
use crate::comm::MpiComm;
use crate::context::Orphan;
use crate::library::{Handle, Status as RawStatus};
use crate::scratch::Area;

/// A request that the library knows; its payload is elsewhere.
struct Under {
    request: Handle,
    /// Where the bytes of a phantom are.
    area: Option<Rc<Area>>,
}

/// A request with everything it reads or writes.
pub(crate) struct Started {
    comm: MpiComm,
    under: Under,
    payload: Payload,
}

impl MpiComm {
    #[inline]
    pub(crate) fn start_send(&self, to: usize, tag: Tag, payload: Payload) -> Result<Started, CommError> {
        let under = self.begin_send(to, tag, &payload)?;
        Ok(Started { comm: self.clone(), under, payload })
    }

    #[inline]
    pub(crate) fn start_receive(
        &self,
        from: Source,
        tag: TagSelector,
        mut into: Payload,
    ) -> Result<Started, CommError> {
        let under = self.begin_receive(from, tag, &mut into)?;
        Ok(Started { comm: self.clone(), under, payload: into })
    }

    /// The payload must stay until the request has ended.
    #[inline(always)]
    fn begin_send(&self, to: usize, tag: Tag, payload: &Payload) -> Result<Under, CommError> {
        let context = self.context();
        let route = self.send_route(to, tag)?;
        let count = context.count("MPI_Isend", payload.len())?;
        let (bytes, area) = match payload {
            Payload::Data(buffer) => (buffer.as_ptr(), None),
            Payload::Phantom(len) => {
                let area = context.outgoing.area(*len);
                (area.pointer().cast_const(), Some(area))
            }
        };
        let mut request: Handle = 0;
        // SAFETY: `bytes` belongs to the payload or `area`, which are kept until the request has ended.
        let code = unsafe {
            let byte = context.abi().datatypes.byte;
            (context.functions().isend)(bytes, count, byte, route.source, route.tag, route.comm, &mut request)
        };
        context.check("MPI_Isend", code)?;
        context.activity.started(payload.len());
        Ok(Under { request, area })
    }

    /// The payload must stay until the request has ended.
    #[inline(always)]
    fn begin_receive(&self, from: Source, tag: TagSelector, into: &mut Payload) -> Result<Under, CommError> {
        let context = self.context();
        let route = self.receive_route(from, tag)?;
        let count = context.count("MPI_Irecv", into.len())?;
        let (bytes, area) = match into {
            Payload::Data(buffer) => (buffer.as_mut_ptr(), None),
            Payload::Phantom(len) => {
                let area = context.incoming.area(*len);
                (area.pointer(), Some(area))
            }
        };
        let mut request: Handle = 0;
        // SAFETY: `bytes` belongs to the payload or `area`, which are kept until the request has ended.
        let code = unsafe {
            let byte = context.abi().datatypes.byte;
            (context.functions().irecv)(bytes, count, byte, route.source, route.tag, route.comm, &mut request)
        };
        context.check("MPI_Irecv", code)?;
        Ok(Under { request, area })
    }

    /// Waits for a send of so many bytes that this communicator has started.
    #[inline(always)]
    fn wait_send(&self, mut request: Handle, bytes: usize, to: usize, tag: Tag) -> Result<(), CommError> {
        let context = self.context();
        let mut status = RawStatus::default();
        context.activity.enter(Mark::send(to, tag, 0));
        // SAFETY: the request is live and was started by this communicator.
        let code = unsafe { (context.functions().wait)(&mut request, &mut status) };
        context.activity.completed(bytes);
        context.activity.leave();
        context.check("MPI_Wait for a send", code)
    }

    /// Waits for a receive that this communicator has started into `into`.
    #[inline(always)]
    fn wait_receive(
        &self,
        mut request: Handle,
        into: &mut Payload,
        from: Source,
        tag: TagSelector,
    ) -> Result<Status, CommError> {
        let context = self.context();
        let mut status = RawStatus::default();
        context.activity.enter(Mark::receive(from, tag));
        // SAFETY: the request is live and was started by this communicator.
        let code = unsafe { (context.functions().wait)(&mut request, &mut status) };
        context.activity.leave();
        self.received("MPI_Wait for a receive", code, &status, into, tag)
    }

    /// A send and a receive at one time, of payloads that stay where they are.
    #[inline(always)]
    pub(crate) fn sendrecv_now(
        &self,
        to: usize,
        out: &mut Payload,
        from: usize,
        into: &mut Payload,
        tag: Tag,
    ) -> Result<Status, CommError> {
        let (from, selector) = (Source::Rank(from), TagSelector::Only(tag));
        let incoming = self.begin_receive(from, selector, into)?;
        let outgoing = match self.begin_send(to, tag, out) {
            Ok(outgoing) => outgoing,
            Err(error) => {
                self.give_up(incoming, into, true);
                return Err(error);
            }
        };
        let received = self.wait_receive(incoming.request, into, from, selector);
        if received.is_err() {
            self.give_up(outgoing, out, false);
            return received;
        }
        self.wait_send(outgoing.request, out.len(), to, tag)?;
        received
    }

    /// Takes a payload away that a request still uses and nobody waits for any more.
    #[cold]
    fn give_up(&self, under: Under, payload: &mut Payload, receives: bool) {
        Started { comm: self.clone(), under, payload: payload.take() }.orphan(receives);
    }
}

impl Started {
    #[cold]
    fn orphan(self, receives: bool) {
        let Started { comm, under: Under { request, area }, payload } = self;
        let bytes = payload.len();
        comm.context().adopt(Orphan { request, receives, bytes, _memory: (payload, area) });
    }
}

/// A request stays where it is until it has ended: moved before, it would be read in vectors where it has just been
/// written in words, which a processor waits for.
enum State<A> {
    Failed(CommError),
    Started(Started, A),
    Done,
}

impl<A> State<A> {
    #[inline]
    fn take(&mut self) -> State<A> {
        std::mem::replace(self, State::Done)
    }

    /// Why the request was not started.
    #[cold]
    fn failure(self) -> CommError {
        match self {
            State::Failed(error) => error,
            State::Started(..) | State::Done => panic!("a request was polled after it had given its result"),
        }
    }

    /// What was sent or received, of a request that has ended.
    #[inline]
    fn payload(self) -> Payload {
        match self {
            State::Started(started, _) => started.payload,
            State::Failed(_) | State::Done => unreachable!("only what was started is waited for"),
        }
    }
}

/// The request of an `isend`.
pub struct SendRequest(State<(usize, Tag)>);

impl SendRequest {
    #[inline]
    pub(crate) fn new(started: Result<Started, CommError>, to: usize, tag: Tag) -> SendRequest {
        SendRequest(match started {
            Ok(started) => State::Started(started, (to, tag)),
            Err(error) => State::Failed(error),
        })
    }
}

impl Future for SendRequest {
    type Output = Result<Payload, CommError>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let state = &mut self.get_mut().0;
        let State::Started(started, (to, tag)) = state else { return Poll::Ready(Err(state.take().failure())) };
        let sent = started.comm.wait_send(started.under.request, started.payload.len(), *to, *tag);
        let ended = state.take();
        Poll::Ready(sent.map(|()| ended.payload()))
    }
}

impl Drop for SendRequest {
    #[inline]
    fn drop(&mut self) {
        if let State::Started(started, _) = self.0.take() {
            started.orphan(false);
        }
    }
}

/// The request of an `irecv`.
pub struct ReceiveRequest(State<(Source, TagSelector)>);

impl ReceiveRequest {
    #[inline]
    pub(crate) fn new(started: Result<Started, CommError>, from: Source, tag: TagSelector) -> ReceiveRequest {
        ReceiveRequest(match started {
            Ok(started) => State::Started(started, (from, tag)),
            Err(error) => State::Failed(error),
        })
    }
}

impl Future for ReceiveRequest {
    type Output = Result<Received, CommError>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let state = &mut self.get_mut().0;
        let State::Started(started, (from, tag)) = state else { return Poll::Ready(Err(state.take().failure())) };
        let received = started.comm.wait_receive(started.under.request, &mut started.payload, *from, *tag);
        let ended = state.take();
        Poll::Ready(received.map(|status| Received { payload: ended.payload(), status }))
    }
}

impl Drop for ReceiveRequest {
    #[inline]
    fn drop(&mut self) {
        if let State::Started(started, _) = self.0.take() {
            started.orphan(true);
        }
    }
}
