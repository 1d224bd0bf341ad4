//! What is done at a rank for others: access to the memory of its windows, and to their locks.
//!
//! A request says what; it is served where the simulator runs, in the memory of the target, at the moment at which it
//! has come there.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use weft_comm::{Buffer, Payload};
use weft_sim::{RemoteKey, Reply, Serve, SimRemote};

use crate::abi::Op;
use crate::conflicts::{Completion, Origin, Sort};
use crate::fault::{Answer, Fault};
use crate::memory::Elements;
use crate::operation::{NO_OP, Operation, REPLACE};
use crate::processes::client::Remote;
use crate::remark::Subject;
use crate::target::Target;

/// One thing that is done at a target; the data that it takes go with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Access {
    Store(Elements),
    Load(Elements),
    /// Combines the elements by an operation of the standard; what they were before comes back.
    Combine {
        elements: Elements,
        op: Op,
        returns_data: bool,
    },
    /// The data are the new value and the expected one.
    CompareAndSwap(Elements),
    Acquire {
        exclusive: bool,
    },
    Release,
}

impl Access {
    /// Whether data come back.
    pub fn returns_data(&self) -> bool {
        match self {
            Access::Load(_) | Access::CompareAndSwap(_) => true,
            Access::Combine { returns_data, .. } => *returns_data,
            Access::Store(_) | Access::Acquire { .. } | Access::Release => false,
        }
    }
}

/// What is asked of a rank of a window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The context of the window's communicator.
    pub window: u32,
    /// Bytes that cross the network.
    pub network: u64,
    pub access: Access,
    pub origin: Origin,
}

/// What comes back.
pub type Returned = Rc<RefCell<Result<Buffer, Fault>>>;

/// Serves the request at its target; what comes back is put into the second.
pub fn server(target: Rc<Target>, access: Access, origin: Origin, data: Buffer) -> (Serve, Returned) {
    let returned: Returned = Rc::new(RefCell::new(Ok(Buffer::zeroed(0))));
    let filled = returned.clone();
    let serve: Serve = Box::new(move |request| {
        let (replies, back) = target.serve(&access, origin, &data, request);
        *filled.borrow_mut() = back;
        replies
    });
    (serve, returned)
}

impl Target {
    /// Does what a request asks for; which requests get their replies then, and what comes back.
    fn serve(
        &self,
        access: &Access,
        origin: Origin,
        data: &[u8],
        request: RemoteKey,
    ) -> (Vec<Reply>, Result<Buffer, Fault>) {
        match access {
            Access::Acquire { exclusive } => {
                if *exclusive {
                    self.notes.locks_exclude.set(true);
                }
                (self.lock.borrow_mut().acquire(request, *exclusive), Ok(Buffer::zeroed(0)))
            }
            Access::Release => {
                // Whoever gets an exclusive lock next, or the lock after one, comes after what was done under it.
                let unordered = origin.is_shared.then_some(origin.at);
                let completion = Completion { until: u32::MAX, all: true, unordered };
                self.accesses.borrow_mut().complete(origin.rank, completion);
                let mut lock = self.lock.borrow_mut();
                if lock.is_exclusive() {
                    self.accesses.borrow_mut().order();
                }
                let mut replies = lock.release();
                replies.push(Reply { request, bytes: 0 });
                (replies, Ok(Buffer::zeroed(0)))
            }
            _ => {
                self.note(origin, access);
                let back = self.access(access, data);
                let bytes = back.as_ref().map_or(0, |data| data.len() as u64);
                (vec![Reply { request, bytes }], back)
            }
        }
    }

    /// Compares an access with those that may not be complete.
    fn note(&self, origin: Origin, access: &Access) {
        if !origin.is_compared {
            return;
        }
        let (sort, elements) = match access {
            Access::Store(elements) => (Sort::Put, elements),
            Access::Load(elements) => (Sort::Get, elements),
            Access::Combine { elements, op, .. } => (Sort::Accumulate(*op), elements),
            Access::CompareAndSwap(elements) => (Sort::CompareAndSwap, elements),
            Access::Acquire { .. } | Access::Release => return,
        };
        let does = (sort, access.returns_data());
        // Locks that exclude each other order what is done elsewhere, too.
        let is_shared = origin.is_shared && !self.notes.locks_exclude.get();
        let origin = Origin { is_shared, ..origin };
        if let Some(remark) = self.accesses.borrow_mut().note(self.rank, origin, does, elements) {
            self.notes.add(Subject::Windows, remark);
        }
    }

    /// Does what is done in memory.
    fn access(&self, access: &Access, data: &[u8]) -> Result<Buffer, Fault> {
        let memory = &*self.memory;
        // SAFETY: elements lie in the window, whose memory stays until it is freed.
        unsafe {
            match access {
                Access::Load(elements) => elements.load(memory),
                Access::Store(elements) => elements.store(memory, data).map(|()| Buffer::zeroed(0)),
                Access::Combine { elements, op, returns_data } => {
                    let before = if *returns_data { elements.load(memory)? } else { Buffer::zeroed(0) };
                    self.combine(elements, *op, data)?;
                    Ok(before)
                }
                Access::CompareAndSwap(elements) => {
                    let (new, expected) = data.split_at(data.len() / 2);
                    let before = elements.load(memory)?;
                    if *before == *expected {
                        elements.store(memory, new)?;
                    }
                    Ok(before)
                }
                Access::Acquire { .. } | Access::Release => Ok(Buffer::zeroed(0)),
            }
        }
    }

    /// # Safety
    /// As of [`Elements::load`].
    unsafe fn combine(&self, elements: &Elements, op: Op, data: &[u8]) -> Answer {
        // SAFETY: the rank has the elements, which is what the function asks for.
        unsafe {
            match op {
                NO_OP => Ok(()),
                REPLACE => elements.store(&*self.memory, data),
                _ => elements.combine(&*self.memory, data, &Operation::Predefined(op)),
            }
        }
    }
}

/// A request under way to a rank of a window.
pub enum Reached {
    Simulated(SimRemote, Returned),
    /// With data that come back, or without.
    Remote(Remote, bool),
}

impl Reached {
    /// Waits for the reply; the data that it brings.
    ///
    /// # Errors
    /// Where the target's memory cannot be reached.
    pub async fn data(self) -> Result<Buffer, Fault> {
        match self {
            Reached::Simulated(asked, returned) => {
                asked.await;
                returned.replace(Ok(Buffer::zeroed(0)))
            }
            // Without data, the hub waits by itself.
            Reached::Remote(asked, false) => {
                asked.await?;
                Ok(Buffer::zeroed(0))
            }
            Reached::Remote(asked, true) => {
                let payload = asked.message().await?.map(|received| received.payload);
                Ok(if let Some(Payload::Data(data)) = payload { data } else { Buffer::zeroed(0) })
            }
        }
    }
}
