//! Many messages in flight, and one wait for all of them.

use std::ffi::c_int;

use weft_comm::prepared::Window;
use weft_comm::{CommError, PreparedOperation, Source, TagSelector};

use super::memory::MessageMemory;
use super::{Failed, Requests, ignored, ok};
use crate::activity::Mark;
use crate::comm::{MpiComm, Route};

/// Distance between messages of a buffer, in bytes: they share no line of the cache.
const GRAIN: usize = 64;

pub(super) struct PreparedWindow {
    comm: MpiComm,
    window: Window,
    bytes: c_int,
    stride: usize,
    out: MessageMemory,
    into: MessageMemory,
    requests: Requests,
    send: Option<Route>,
    receive: Option<Route>,
    answer_from: Option<Route>,
    answer_to: Option<Route>,
    mark: Mark,
}

impl PreparedWindow {
    pub(super) fn new(comm: &MpiComm, window: &Window) -> Result<PreparedWindow, CommError> {
        let Window { to, from, bytes, count, tag, answer, phantom, memory } = *window;
        let stride = if phantom { 0 } else { bytes.next_multiple_of(GRAIN) };
        let allocate = |is_used: bool| {
            let messages = if phantom { 1 } else { count };
            MessageMemory::new(comm, if is_used { bytes.next_multiple_of(GRAIN) * messages } else { 0 }, memory)
        };
        let incoming = |from: Option<usize>, tag| {
            from.map(|from| comm.receive_route(Source::Rank(from), TagSelector::Only(tag))).transpose()
        };
        let outgoing = |to: Option<usize>, tag| to.map(|to| comm.send_route(to, tag)).transpose();
        let (answer_from, answer_to) = if answer.is_some() { window.answers() } else { (None, None) };
        let of_answer = answer.unwrap_or(tag);
        let mark = match (from, to) {
            (Some(from), _) => Mark::receive(Source::Rank(from), TagSelector::Only(tag)),
            (None, Some(to)) => Mark::send(to, tag, bytes.saturating_mul(count)),
            (None, None) => Mark::probe(Source::Any, TagSelector::AnyUser),
        };
        Ok(PreparedWindow {
            bytes: comm.context().count("MPI_Isend", bytes)?,
            stride,
            out: allocate(to.is_some())?,
            into: allocate(from.is_some())?,
            requests: Requests::new(comm.context().abi(), 2 * count),
            send: outgoing(to, tag)?,
            receive: incoming(from, tag)?,
            answer_from: incoming(answer_from, of_answer)?,
            answer_to: outgoing(answer_to, of_answer)?,
            mark,
            window: *window,
            comm: comm.clone(),
        })
    }

    /// Starts all messages.
    #[inline]
    fn start_all(&mut self) -> Result<(), Failed> {
        let context = self.comm.context();
        let (functions, abi) = (context.functions(), context.abi());
        let (byte, count, bytes, stride) = (abi.datatypes.byte, self.window.count, self.bytes, self.stride);
        let size = self.requests.size;
        let mut request = self.requests.start();
        if let Some(route) = &self.receive {
            let mut into = self.into.start_mut();
            for _ in 0..count {
                // SAFETY: `into` is the start of `bytes` bytes of the buffer, which has `count` messages `stride` apart;
                // the array of requests has twice as many handles. Both live until all are waited for, or for ever.
                unsafe {
                    let (peer, tag, comm) = (route.source, route.tag, route.comm);
                    ok("MPI_Irecv", (functions.irecv)(into, bytes, byte, peer, tag, comm, request.cast()))?;
                    into = into.add(stride);
                    request = request.add(size);
                }
            }
        }
        if let Some(route) = &self.send {
            let mut out = self.out.start();
            for _ in 0..count {
                // SAFETY: `out` is the start of `bytes` bytes of the buffer of messages that go out, laid out in the same
                // manner; the handle is one of those that are left.
                unsafe {
                    let (peer, tag, comm) = (route.source, route.tag, route.comm);
                    ok("MPI_Isend", (functions.isend)(out, bytes, byte, peer, tag, comm, request.cast()))?;
                    out = out.add(stride);
                    request = request.add(size);
                }
            }
        }
        Ok(())
    }

    /// Waits for all that was started, and answers.
    #[inline]
    fn wait_all(&mut self) -> Result<(), Failed> {
        let context = self.comm.context();
        let (functions, abi) = (context.functions(), context.abi());
        let (byte, count, first) = (abi.datatypes.byte, self.window.count, self.requests.start());
        let started = (usize::from(self.receive.is_some()) + usize::from(self.send.is_some())) * count;
        // SAFETY: so many requests were started.
        ok("MPI_Waitall", unsafe { (functions.waitall)(started as c_int, first, ignored(abi)) })?;
        if let Some(route) = &self.answer_from {
            let nowhere = std::ptr::null_mut();
            // SAFETY: a message without bytes touches no memory.
            let code = unsafe { (functions.recv)(nowhere, 0, byte, route.source, route.tag, route.comm, ignored(abi)) };
            ok("MPI_Recv", code)?;
        }
        if let Some(route) = &self.answer_to {
            // SAFETY: a message without bytes is read from no memory.
            let code = unsafe { (functions.send)(std::ptr::null(), 0, byte, route.source, route.tag, route.comm) };
            ok("MPI_Send", code)?;
        }
        Ok(())
    }
}

impl PreparedWindow {
    /// A part of a step, which the monitor sees.
    #[inline]
    fn seen(&mut self, part: impl FnOnce(&mut PreparedWindow) -> Result<(), Failed>) -> Result<(), CommError> {
        self.comm.context().activity.enter(self.mark);
        let done = part(self);
        self.comm.context().activity.leave();
        done.map_err(|(call, code)| {
            self.out.abandon();
            self.into.abandon();
            std::mem::forget(std::mem::take(&mut self.requests.memory));
            self.comm.context().failure(call, code)
        })
    }
}

impl PreparedOperation for PreparedWindow {
    between_readings_of_the_clock!();

    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        self.seen(|window| window.start_all().and_then(|()| window.wait_all()))
    }

    #[inline]
    fn start(&mut self) -> Result<(), CommError> {
        self.seen(PreparedWindow::start_all)
    }

    #[inline]
    fn finish(&mut self) -> Result<(), CommError> {
        self.seen(PreparedWindow::wait_all)
    }

    fn write_through(&mut self) -> Result<(), CommError> {
        self.out.write(&self.comm)
    }

    fn read_through(&mut self) -> Result<(), CommError> {
        self.into.read(&self.comm)
    }

    fn input(&mut self) -> &mut [u8] {
        self.out.host()
    }

    fn output(&mut self) -> &mut [u8] {
        self.into.host()
    }
}
