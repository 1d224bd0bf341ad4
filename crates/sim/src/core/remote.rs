//! Access to the memory of other ranks, in which their programs take no part.
//!
//! A request crosses the network to its target and is served there by an agent of the rank, whatever its program does;
//! a reply comes back. The agent takes what a message takes its receiver and its sender, one request after another, and
//! nothing of the program's own time. Requests between two ranks are served in the order in which they were made.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::{cell::RefCell, fmt, rc::Rc};

use rustc_hash::FxHashMap;
use slab::Slab;
use weft_base::Picos;
use weft_machine::Switching;

use super::{Core, Event};

/// A request that gets its reply, of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub request: RemoteKey,
    pub bytes: u64,
}

/// Number of a request under way.
pub type RemoteKey = u32;

/// What is done when a request has come to its target, and which requests get their reply then: itself, others that
/// have waited, or none by now.
pub type Serve = Box<dyn FnOnce(RemoteKey) -> Vec<Reply>>;

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// It enters the network at this moment.
    Leaves,
    /// It is at its target.
    Arrives,
    /// The agent has received it.
    Served,
    /// The reply is back.
    Returns,
}

struct Request {
    ends: (u32, u32),
    bytes: u64,
    stage: Stage,
    serve: Option<Serve>,
    complete: Option<Picos>,
    awaited: bool,
    dropped: bool,
}

/// Requests under way, and how far each rank's agent is.
#[derive(Default)]
pub(crate) struct Remote {
    requests: Slab<Request>,
    agents: FxHashMap<u32, Picos>,
    /// When the last request between two ranks came.
    last: FxHashMap<(u32, u32), Picos>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("requests", &self.requests.len()).finish_non_exhaustive()
    }
}

impl Core {
    /// A request of one rank to another: what its processor does for it takes its time.
    pub(crate) fn start_remote(&mut self, ends: (u32, u32), bytes: u64, serve: Serve) -> RemoteKey {
        let (send, _) = self.agent_times(ends, bytes);
        self.rank(ends.0).clock += send;
        let leaves = self.clock(ends.0);
        let (serve, complete) = (Some(serve), None);
        let request = Request { ends, bytes, stage: Stage::Leaves, serve, complete, awaited: false, dropped: false };
        let key = self.remote.requests.insert(request) as RemoteKey;
        self.push_remote(leaves, key, Stage::Leaves);
        key
    }

    fn push_remote(&mut self, time: Picos, key: RemoteKey, stage: Stage) {
        self.remote.requests[key as usize].stage = stage;
        self.queue.push(time.max(self.queue.now()), Event::Remote(key));
    }

    /// A request has come to its next stage.
    pub(super) fn step_remote(&mut self, now: Picos, key: RemoteKey) {
        let Request { ends, bytes, stage, .. } = self.remote.requests[key as usize];
        match stage {
            Stage::Leaves => {
                let arrived = self.pass_remotely(now, ends, bytes);
                let last = self.remote.last.entry(ends).or_default();
                *last = arrived.max(*last);
                let arrived = *last;
                self.push_remote(arrived, key, Stage::Arrives);
            }
            Stage::Arrives => {
                let (_, receive) = self.agent_times(ends, bytes);
                let attended = self.attend(ends.1, now, receive);
                self.push_remote(attended, key, Stage::Served);
            }
            Stage::Served => self.serve_remote(now, key),
            Stage::Returns => self.complete_remote(now, key),
        }
    }

    /// When a rank's agent has spent `time` on what comes now.
    fn attend(&mut self, rank: u32, now: Picos, time: Picos) -> Picos {
        let free = self.remote.agents.entry(rank).or_default();
        *free = now.max(*free) + time;
        *free
    }

    fn serve_remote(&mut self, now: Picos, key: RemoteKey) {
        let Request { ends: (_, target), serve, .. } = &mut self.remote.requests[key as usize];
        let (target, Some(serve)) = (*target, serve.take()) else { return };
        // The target may look whether its memory has changed.
        self.notice(target, now);
        for reply in serve(key) {
            let Some(request) = self.remote.requests.get(reply.request as usize) else { continue };
            let (origin, target) = request.ends;
            let (send, receive) = self.agent_times((target, origin), reply.bytes);
            let leaves = self.attend(target, now, send);
            let arrived = self.pass_remotely(leaves, (target, origin), reply.bytes);
            self.push_remote(arrived + receive, reply.request, Stage::Returns);
        }
    }

    fn complete_remote(&mut self, now: Picos, key: RemoteKey) {
        let request = &mut self.remote.requests[key as usize];
        request.complete = Some(now);
        let (rank, awaited, dropped) = (request.ends.0, request.awaited, request.dropped);
        if dropped {
            self.remote.requests.remove(key as usize);
        } else if awaited {
            self.make_ready(rank);
        }
        self.notice(rank, now);
    }

    /// What a message takes its sender and its receiver; within a node, what a copy takes.
    fn agent_times(&mut self, (from, to): (u32, u32), bytes: u64) -> (Picos, Picos) {
        if self.is_local(from, to) {
            return (self.self_copy.time(bytes), Picos::ZERO);
        }
        let cost = self.message_cost(from, to, bytes);
        (cost.send, cost.receive)
    }

    /// When a message that enters the network at `now` is whole at its receiver.
    fn pass_remotely(&mut self, now: Picos, (from, to): (u32, u32), bytes: u64) -> Picos {
        if self.is_local(from, to) {
            return now;
        }
        self.entered += 1;
        let at_host = self.is_host(from) || self.is_host(to);
        let nodes = (self.placement.node(from as usize), self.placement.node(to as usize));
        if at_host {
            let node = if self.is_host(from) { nodes.1 } else { nodes.0 };
            return self.through_host(now, node, bytes, Picos::ZERO);
        }
        if self.network.switching() == Switching::StoreAndForward {
            return now + self.uncontended(nodes, bytes);
        }
        self.carry(now, nodes.0, nodes.1, bytes)
    }

    /// The time in the network of a message that meets no other: packets of these requests are not followed.
    fn uncontended(&mut self, (from, to): (usize, usize), bytes: u64) -> Picos {
        let hops = self.machine.topology.hops(from, to);
        let whole = Picos::from_seconds(self.machine.transfer_time(bytes, hops));
        let (send, receive) = self.overheads(bytes);
        Picos(whole.0.saturating_sub((send + receive).0))
    }
}

/// A request to another rank's memory; it is ready when the reply is there.
pub struct SimRemote {
    core: Rc<RefCell<Core>>,
    key: Option<RemoteKey>,
}

impl SimRemote {
    pub(crate) fn new(core: Rc<RefCell<Core>>, key: RemoteKey) -> SimRemote {
        SimRemote { core, key: Some(key) }
    }
}

impl Future for SimRemote {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Some(key) = self.key else { return Poll::Ready(()) };
        let mut core = self.core.borrow_mut();
        let request = &mut core.remote.requests[key as usize];
        request.awaited = true;
        let (rank, complete) = (request.ends.0, request.complete);
        let Some(time) = complete.filter(|&time| !core.is_beyond_look(rank, time)) else { return Poll::Pending };
        let clock = &mut core.rank(rank).clock;
        *clock = time.max(*clock);
        core.remote.requests.remove(key as usize);
        drop(core);
        self.key = None;
        Poll::Ready(())
    }
}

impl Drop for SimRemote {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let mut core = self.core.borrow_mut();
        let request = &mut core.remote.requests[key as usize];
        request.dropped = true;
        if request.complete.is_some() {
            core.remote.requests.remove(key as usize);
        }
    }
}
