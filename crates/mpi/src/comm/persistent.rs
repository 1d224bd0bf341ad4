//! Messages that are sent again and again.
//!
//! Between ranks of different nodes they are MPI's persistent requests. Between ranks of a node they are memory that both
//! see: the sender puts a message together where the receiver reads it, and a number says which round it is of. That
//! spares the library's copies and its bookkeeping, 0.1 microseconds a message instead of more than one.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_comm::{Buffer, CommError, Ends, PersistentMessages, Source, Tag, TagSelector};
use weft_simd::CACHE_LINE as LINE;

use crate::activity::Mark;
use crate::calls::{Calls, Waiting};
use crate::comm::MpiComm;
use crate::comm::node::Window;
use crate::library::{Handle, Status as RawStatus};

const PAGE: usize = 4096;
/// Messages of one end that may be there at one time: while one is read the next is put together.
const SLOTS: usize = 2;
/// Looks at shared memory before a waiting rank lets others run, where there are processors enough and where not.
const PATIENCE: u32 = 20_000;
const IMPATIENCE: u32 = 20;

/// A set of messages.
pub struct Messages {
    comm: MpiComm,
    tag: Tag,
    ends: Vec<Ends>,
    transports: Vec<Transport>,
    round: u64,
    /// The chain of calls (`calls`) with which the round began; every message has it beside it.
    chain: u64,
    /// Whether a round has begun and not ended.
    active: bool,
    patience: u32,
    /// Whether some messages are MPI's: a rank that waits for others must let the library work.
    has_requests: bool,
}

/// What the messages of one end go by.
enum Transport {
    Requests(Requests),
    Shared(Shared),
}

struct Requests {
    out: Buffer,
    into: Buffer,
    send: Handle,
    receive: Handle,
}

/// Both directions of an end in shared memory; null where there is none.
struct Shared {
    out: *mut u8,
    into: *mut u8,
}

/// What stands before the slots of a direction. Each word has a line of its own, for another rank writes it.
#[repr(C, align(64))]
struct Head {
    /// The last round whose message is there; the sender's.
    sent: AtomicU64,
    /// The sender's chain of calls in the last rounds, by slot.
    chains: [AtomicU64; SLOTS],
    _line: [u8; LINE - 8 - 8 * SLOTS],
    /// The last round whose message has been read; the receiver's.
    taken: AtomicU64,
}

/// Bytes of a direction in shared memory.
fn channel_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (size_of::<Head>() + SLOTS * slot_bytes(bytes)).next_multiple_of(PAGE) }
}

fn slot_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE)
}

impl Shared {
    /// The head of the direction out.
    ///
    /// # Panics
    /// When this end sends nothing.
    fn head_out(&self) -> &Head {
        Shared::head(&self.out)
    }

    /// The head of the direction in.
    ///
    /// # Panics
    /// When this end receives nothing.
    fn head_into(&self) -> &Head {
        Shared::head(&self.into)
    }

    fn head(channel: &*mut u8) -> &Head {
        assert!(!channel.is_null(), "an end without bytes in this direction has no messages to send or to wait for");
        // SAFETY: `Messages::share` makes every pointer that is not null that of the start of a direction, at a page
        // boundary, where a head lies; all zeros, as which the segment began, are a valid one. `start` and
        // `wait`, which come before any other use in a round, see to it that the segments have not been freed.
        unsafe { &*channel.cast::<Head>() }
    }

    fn slot(channel: *mut u8, bytes: usize, round: u64) -> *mut u8 {
        let slot = (round % SLOTS as u64) as usize;
        channel.wrapping_add(size_of::<Head>() + slot * slot_bytes(bytes))
    }
}

impl Messages {
    /// Collective over the communicator.
    pub fn new(comm: &MpiComm, tag: Tag, ends: &[Ends]) -> Result<Messages, CommError> {
        let shared = Messages::share(comm, ends)?;
        let transports = ends.iter().zip(shared).map(|(end, shared)| match shared {
            Some(shared) => Ok(Transport::Shared(shared)),
            None => Messages::requests(comm, tag, end).map(Transport::Requests),
        });
        let transports = transports.collect::<Result<Vec<Transport>, CommError>>()?;
        let has_requests = transports.iter().any(|transport| matches!(transport, Transport::Requests(_)));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let neighbours = comm.node()?.map_or(1, |node| node.members.len());
        let patience = if neighbours <= processors { PATIENCE } else { IMPATIENCE };
        Ok(Messages {
            comm: comm.clone(),
            tag,
            ends: ends.to_vec(),
            transports,
            round: 0,
            chain: 0,
            active: false,
            patience,
            has_requests,
        })
    }

    /// Shared memory for the ends whose ranks are on this node. Collective.
    fn share(comm: &MpiComm, ends: &[Ends]) -> Result<Vec<Option<Shared>>, CommError> {
        let none = || ends.iter().map(|_| None).collect();
        let Some(node) = comm.node()? else { return Ok(none()) };
        // First where the channel to each rank of the node begins, then the channels.
        let directory = (8 * node.members.len()).next_multiple_of(PAGE);
        let indices: Vec<Option<usize>> = ends.iter().map(|end| node.index_of(end.peer)).collect();
        let lengths = ends.iter().zip(&indices);
        let own: usize = lengths.map(|(end, index)| index.map_or(0, |_| channel_bytes(end.send_bytes))).sum();
        let Some(window) = node.window(comm, if ends.is_empty() { 0 } else { directory + own })? else {
            return Ok(none());
        };
        let entry = |window: &Window, from: usize, to: usize| window.segment(from).cast::<u64>().wrapping_add(to);
        let mut offset = directory;
        let mut outs = Vec::with_capacity(ends.len());
        for (end, index) in ends.iter().zip(&indices) {
            let bytes = channel_bytes(end.send_bytes);
            let Some(index) = index.filter(|_| bytes > 0) else {
                outs.push(std::ptr::null_mut());
                continue;
            };
            // SAFETY: the entry is in the directory of this rank's segment, which others read after they have met it.
            unsafe { entry(&window, node.rank, index).write(offset as u64) };
            outs.push(window.segment(node.rank).wrapping_add(offset));
            offset += bytes;
        }
        node.meet(comm)?;
        let shared = ends.iter().zip(indices).zip(outs).map(|((end, index), out)| {
            let index = index?;
            let into = if end.receive_bytes > 0 {
                // SAFETY: the sender has written the entry before the ranks met.
                let offset = unsafe { entry(&window, index, node.rank).read() };
                window.segment(index).wrapping_add(offset as usize)
            } else {
                std::ptr::null_mut()
            };
            Some(Shared { out, into })
        });
        Ok(shared.collect())
    }

    fn requests(comm: &MpiComm, tag: Tag, end: &Ends) -> Result<Requests, CommError> {
        let context = comm.context();
        let null = context.abi().request_null;
        // The chain of calls travels at the end of a message.
        let whole = |bytes: usize| bytes + if bytes > 0 && comm.calls().is_some() { size_of::<u64>() } else { 0 };
        let mut requests = Requests {
            out: Buffer::page_aligned(whole(end.send_bytes)),
            into: Buffer::page_aligned(whole(end.receive_bytes)),
            send: null,
            receive: null,
        };
        let functions = context.functions();
        let byte = context.abi().datatypes.byte;
        if end.send_bytes > 0 {
            let route = comm.send_route(end.peer, tag)?;
            let count = context.count("MPI_Send_init", requests.out.len())?;
            let mut handle: Handle = 0;
            // SAFETY: the buffer has `count` bytes, is not moved (its elements are on the heap), and is kept beside the
            // request until that is freed, or for ever.
            let code = unsafe {
                let out = requests.out.as_ptr();
                (functions.send_init)(out, count, byte, route.source, route.tag, route.comm, &mut handle)
            };
            context.check("MPI_Send_init", code)?;
            context.keep(handle);
            requests.send = handle;
        }
        if end.receive_bytes > 0 {
            let route = comm.receive_route(Source::Rank(end.peer), TagSelector::Only(tag))?;
            let count = context.count("MPI_Recv_init", requests.into.len())?;
            let mut handle: Handle = 0;
            // SAFETY: the buffer has `count` bytes, is not moved (its elements are on the heap), and is kept beside the
            // request until that is freed, or for ever.
            let code = unsafe {
                let into = requests.into.as_mut_ptr();
                (functions.recv_init)(into, count, byte, route.source, route.tag, route.comm, &mut handle)
            };
            context.check("MPI_Recv_init", code)?;
            context.keep(handle);
            requests.receive = handle;
        }
        Ok(requests)
    }

    /// Waits until a number in shared memory has come to `round`.
    #[inline]
    fn until(&self, number: &AtomicU64, round: u64, mark: Mark) -> Result<(), CommError> {
        if number.load(Ordering::Acquire) >= round {
            return Ok(());
        }
        self.until_later(number, round, mark)
    }

    fn until_later(&self, number: &AtomicU64, round: u64, mark: Mark) -> Result<(), CommError> {
        let context = self.comm.context();
        context.activity.enter(mark);
        let (mut looks, mut waiting) = (0u32, Waiting::default());
        let outcome = loop {
            if number.load(Ordering::Acquire) >= round {
                break Ok(());
            }
            looks = looks.wrapping_add(1);
            if looks < self.patience {
                std::hint::spin_loop();
                continue;
            }
            if self.has_requests
                && let Err(error) = self.progress()
            {
                break Err(error);
            }
            if let Some(calls) = self.comm.calls()
                && let Err(error) = calls.look(&mut waiting)
            {
                break Err(error);
            }
            std::thread::yield_now();
        };
        context.activity.leave();
        outcome
    }

    /// Lets the library work for messages of other ends.
    fn progress(&self) -> Result<(), CommError> {
        let context = self.comm.context();
        let (mut flag, mut status): (c_int, RawStatus) = (0, RawStatus::default());
        // SAFETY: the communicator is live; the pointers are to live values.
        let code = unsafe {
            let (source, tag) = (context.abi().any_source, context.abi().any_tag);
            (context.functions().iprobe)(source, tag, self.comm.user_handle(), &mut flag, &mut status)
        };
        context.check("MPI_Iprobe", code)
    }

    fn begin(&self, handle: &mut Handle) -> Result<(), CommError> {
        let context = self.comm.context();
        // SAFETY: the request is persistent and not active: its last round has been waited for.
        let code = unsafe { (context.functions().start)(handle) };
        context.check("MPI_Start", code)
    }

    fn complete(comm: &MpiComm, handle: &mut Handle, mark: Mark) -> Result<(), CommError> {
        let context = comm.context();
        context.activity.enter(mark);
        let outcome = match comm.calls() {
            Some(calls) => calls.completed(handle, &mut Waiting::default()),
            None => {
                let mut status = RawStatus::default();
                // SAFETY: the request is live; a persistent request stays so.
                let code = unsafe { (context.functions().wait)(handle, &mut status) };
                context.check("MPI_Wait", code)
            }
        };
        context.activity.leave();
        outcome
    }

    /// Compares the chain of calls that came with a message with this rank's.
    #[inline]
    fn compare(&self, theirs: u64) -> Result<(), CommError> {
        match self.comm.calls() {
            Some(calls) if theirs != self.chain => Err(calls.alarm()),
            _ => Ok(()),
        }
    }

    fn mark_of_receive(&self, end: usize) -> Mark {
        Mark::receive(Source::Rank(self.ends[end].peer), TagSelector::Only(self.tag))
    }
}

impl PersistentMessages for Messages {
    fn describe(&self) -> String {
        let shared = self.transports.iter().filter(|transport| matches!(transport, Transport::Shared(_))).count();
        match (shared, self.transports.len() - shared) {
            (0, 0) => "no messages".to_owned(),
            (0, _) => "persistent requests of MPI".to_owned(),
            (_, 0) => "shared memory of the node".to_owned(),
            (shared, others) => {
                format!("shared memory of the node ({shared}) and persistent requests of MPI ({others})")
            }
        }
    }

    fn start(&mut self) -> Result<(), CommError> {
        self.comm.context().check_windows()?;
        self.round += 1;
        self.active = true;
        self.chain = self.comm.calls().map_or(0, Calls::chain);
        for end in 0..self.transports.len() {
            let Ends { peer, send_bytes, receive_bytes } = self.ends[end];
            match &self.transports[end] {
                Transport::Shared(shared) => {
                    if send_bytes > 0 {
                        let head = shared.head_out();
                        let free = self.round.saturating_sub(SLOTS as u64);
                        self.until(&head.taken, free, Mark::send(peer, self.tag, send_bytes))?;
                    }
                }
                Transport::Requests(requests) => {
                    if receive_bytes > 0 {
                        let mut handle = requests.receive;
                        self.begin(&mut handle)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn send_buffer(&mut self, end: usize) -> &mut [u8] {
        let bytes = self.ends[end].send_bytes;
        match &mut self.transports[end] {
            Transport::Requests(requests) => &mut requests.out[..bytes],
            Transport::Shared(_) if bytes == 0 => &mut [],
            // SAFETY: the slot has so many bytes, and since `start` the receiver is done with them.
            Transport::Shared(shared) => unsafe {
                std::slice::from_raw_parts_mut(Shared::slot(shared.out, bytes, self.round), bytes)
            },
        }
    }

    fn send(&mut self, end: usize) -> Result<(), CommError> {
        match &mut self.transports[end] {
            Transport::Shared(shared) => {
                let head = shared.head_out();
                head.chains[(self.round % SLOTS as u64) as usize].store(self.chain, Ordering::Relaxed);
                head.sent.store(self.round, Ordering::Release);
                Ok(())
            }
            Transport::Requests(requests) => {
                if let Some(word) = requests.out.get_mut(self.ends[end].send_bytes..).filter(|word| !word.is_empty()) {
                    word.copy_from_slice(&self.chain.to_ne_bytes());
                }
                let mut handle = requests.send;
                self.begin(&mut handle)?;
                self.comm.context().activity.started(self.ends[end].send_bytes);
                Ok(())
            }
        }
    }

    fn wait(&mut self, end: usize) -> Result<(), CommError> {
        let mark = self.mark_of_receive(end);
        match &self.transports[end] {
            Transport::Shared(shared) => {
                self.comm.context().check_windows()?;
                let head = shared.head_into();
                self.until(&head.sent, self.round, mark)?;
                self.compare(head.chains[(self.round % SLOTS as u64) as usize].load(Ordering::Relaxed))
            }
            Transport::Requests(requests) => {
                let mut handle = requests.receive;
                Messages::complete(&self.comm, &mut handle, mark)?;
                let word = requests.into.last_chunk::<8>().map_or(0, |word| u64::from_ne_bytes(*word));
                self.compare(word)
            }
        }
    }

    fn receive_buffer(&self, end: usize) -> &[u8] {
        let bytes = self.ends[end].receive_bytes;
        match &self.transports[end] {
            Transport::Requests(requests) => &requests.into[..bytes],
            Transport::Shared(_) if bytes == 0 => &[],
            // SAFETY: the slot has so many bytes, which the sender leaves alone until `finish`.
            Transport::Shared(shared) => unsafe {
                std::slice::from_raw_parts(Shared::slot(shared.into, bytes, self.round), bytes)
            },
        }
    }

    fn finish(&mut self) -> Result<(), CommError> {
        for (transport, end) in self.transports.iter().zip(&self.ends) {
            match transport {
                Transport::Shared(shared) => {
                    if end.receive_bytes > 0 {
                        shared.head_into().taken.store(self.round, Ordering::Release);
                    }
                }
                Transport::Requests(requests) => {
                    if end.send_bytes > 0 {
                        let mut handle = requests.send;
                        Messages::complete(&self.comm, &mut handle, Mark::send(end.peer, self.tag, 0))?;
                        self.comm.context().activity.completed(end.send_bytes);
                    }
                }
            }
        }
        self.active = false;
        Ok(())
    }
}

impl Drop for Messages {
    /// Requests that are under way, after a failure, keep their buffers for ever.
    fn drop(&mut self) {
        let context = self.comm.context();
        let is_over = self.active || context.finalized.get() || std::thread::panicking();
        for transport in &mut self.transports {
            let Transport::Requests(requests) = transport else { continue };
            if is_over {
                std::mem::forget(std::mem::replace(&mut requests.out, Buffer::zeroed(0)));
                std::mem::forget(std::mem::replace(&mut requests.into, Buffer::zeroed(0)));
                continue;
            }
            context.release(requests.send);
            context.release(requests.receive);
        }
    }
}
