//! Messages there and back of several threads at one time, each with a thread of the other rank and a tag of its own.

use std::ffi::c_int;
use std::sync::Barrier;
use std::time::Instant;

use weft_comm::prepared::ThreadedEcho;
use weft_comm::{Buffer, CommError, PreparedOperation, Source, Tag, TagSelector};

use super::{Failed, abandon, ok};
use crate::activity::Mark;
use crate::comm::{MpiComm, Route};
use crate::library::{Functions, Handle, Status};

/// The tag of the first thread's messages; the others have those after it.
const FIRST_TAG: u32 = 16;

/// Echoes before those that count, in which the threads of both ranks come together.
const LEAD_IN: usize = 2;

/// Distance between messages of different threads, in bytes: they share no line of the cache, nor one that is fetched
/// beside it.
const GRAIN: usize = 128;

pub(super) struct PreparedThreadedEcho {
    comm: MpiComm,
    leads: bool,
    bytes: usize,
    routes: Vec<(Route, Route)>,
    out: Buffer,
    into: Buffer,
    mark: Mark,
}

impl PreparedThreadedEcho {
    pub(super) fn new(comm: &MpiComm, echo: &ThreadedEcho) -> Result<PreparedThreadedEcho, CommError> {
        let ThreadedEcho { peer, leads, threads, bytes } = *echo;
        comm.context().count("MPI_Send", bytes)?;
        let tags = (0..threads).map(|thread| Tag::User(FIRST_TAG + thread as u32));
        let routes = tags.map(|tag| {
            Ok((comm.send_route(peer, tag)?, comm.receive_route(Source::Rank(peer), TagSelector::Only(tag))?))
        });
        let memory = || Buffer::page_aligned(stride(bytes) * threads);
        Ok(PreparedThreadedEcho {
            leads,
            bytes,
            routes: routes.collect::<Result<_, CommError>>()?,
            out: memory(),
            into: memory(),
            mark: Mark::receive(Source::Rank(peer), TagSelector::Only(Tag::User(FIRST_TAG))),
            comm: comm.clone(),
        })
    }

    /// So many echoes of every thread; the seconds of each, of one thread after the other.
    fn all(&mut self, count: usize) -> Result<Vec<f64>, Failed> {
        let context = self.comm.context();
        let (functions, byte, status) =
            (context.functions(), context.abi().datatypes.byte, context.abi().status_ignore);
        let (bytes, leads, stride) = (self.bytes, self.leads, stride(self.bytes));
        let start = Barrier::new(self.routes.len());
        let memory = self.out.chunks_mut(stride).zip(self.into.chunks_mut(stride));
        let times = std::thread::scope(|scope| {
            let threads = self.routes.iter().zip(memory).map(|((send, receive), (out, into))| {
                let (send, receive) = (Ends::of(send), Ends::of(receive));
                let echo = Echo { functions, byte, status, bytes: bytes as c_int, leads, send, receive };
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    echo.times(out, into, count)
                })
            });
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a thread of calls does not panic"))
                .collect::<Vec<_>>()
        });
        let mut all = Vec::with_capacity(count * times.len());
        for of_thread in times {
            all.extend(of_thread?);
        }
        Ok(all)
    }
}

/// The distance of the messages of two threads.
fn stride(bytes: usize) -> usize {
    bytes.next_multiple_of(GRAIN).max(GRAIN)
}

/// Where messages go, or where they come from, as a thread takes it along.
#[derive(Clone, Copy)]
struct Ends {
    comm: Handle,
    peer: c_int,
    tag: c_int,
}

impl Ends {
    fn of(route: &Route) -> Ends {
        Ends { comm: route.comm, peer: route.source, tag: route.tag }
    }
}

/// One thread's echo.
struct Echo<'a> {
    functions: &'a Functions,
    byte: Handle,
    status: usize,
    bytes: c_int,
    leads: bool,
    send: Ends,
    receive: Ends,
}

impl Echo<'_> {
    fn times(&self, out: &mut [u8], into: &mut [u8], count: usize) -> Result<Vec<f64>, Failed> {
        for _ in 0..LEAD_IN {
            self.once(out, into)?;
        }
        let mut seconds = Vec::with_capacity(count);
        let mut before = Instant::now();
        for _ in 0..count {
            self.once(out, into)?;
            let now = Instant::now();
            seconds.push((now - before).as_secs_f64());
            before = now;
        }
        Ok(seconds)
    }

    #[inline]
    fn once(&self, out: &mut [u8], into: &mut [u8]) -> Result<(), Failed> {
        if self.leads {
            self.send(out)?;
            self.receive(into)
        } else {
            self.receive(into)?;
            self.send(into)
        }
    }

    #[inline]
    fn send(&self, memory: &[u8]) -> Result<(), Failed> {
        let Ends { comm, peer, tag } = self.send;
        // SAFETY: the memory has at least `bytes` bytes, and MPI was started for calls of several threads.
        let code = unsafe { (self.functions.send)(memory.as_ptr(), self.bytes, self.byte, peer, tag, comm) };
        ok("MPI_Send", code)
    }

    #[inline]
    fn receive(&self, memory: &mut [u8]) -> Result<(), Failed> {
        let Ends { comm, peer, tag } = self.receive;
        let status: *mut Status = std::ptr::without_provenance_mut(self.status);
        // SAFETY: the memory has at least `bytes` bytes and is this thread's alone; MPI was started for calls of threads.
        let code =
            unsafe { (self.functions.recv)(memory.as_mut_ptr(), self.bytes, self.byte, peer, tag, comm, status) };
        ok("MPI_Recv", code)
    }
}

impl PreparedOperation for PreparedThreadedEcho {
    between_readings_of_the_clock!();

    fn run(&mut self) -> Result<(), CommError> {
        self.times(1).map(drop)
    }

    fn times(&mut self, count: usize) -> Result<Vec<f64>, CommError> {
        self.comm.context().activity.enter(self.mark);
        let done = self.all(count);
        self.comm.context().activity.leave();
        done.map_err(|(call, code)| {
            abandon([&mut self.out, &mut self.into]);
            self.comm.context().failure(call, code)
        })
    }

    fn input(&mut self) -> &mut [u8] {
        &mut self.out
    }

    fn output(&mut self) -> &mut [u8] {
        &mut self.into
    }
}
