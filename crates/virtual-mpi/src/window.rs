//! Windows: memory of ranks that others of a group may reach (MPI 4.1, chapter 12).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use weft_base::Picos;
use weft_comm::{Buffer, Communicator as _};

use crate::abi::{self, Errhandler};
use crate::access::{Access, Asked, Reached};
use crate::attribute::Attributes;
use crate::communicator::{Communicator, Group};
use crate::conflicts::{Completion, Origin};
use crate::fault::Fault;
use crate::info::{self, Info};
use crate::processes::common::Common;
use crate::request::Request;
use crate::target::Target;

/// Where a window's memory comes from (`mpi.h` of MPICH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    Create = 1,
    Allocate = 2,
    Dynamic = 3,
    Shared = 4,
}

/// The memory of one rank in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub base: usize,
    pub size: usize,
    /// Bytes that a displacement of one is.
    pub unit: usize,
}

/// A lock that this rank holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The target knows of it.
    Shared,
    Exclusive,
    /// The program has said that no other lock conflicts: the target was not asked.
    Unchecked,
}

/// What this rank may do, and what others may do to it.
#[derive(Default)]
pub struct Epochs {
    /// A fence has been called, and another may follow.
    pub fenced: Cell<bool>,
    /// How many fences have been called.
    pub fences: Cell<u32>,
    /// Something was accessed since the last fence, by the epoch that it has begun.
    pub accessed: Cell<bool>,
    /// Targets of `MPI_Win_start`, as ranks of the window.
    pub started: RefCell<Option<Vec<usize>>>,
    /// Receives of what ends the accesses that `MPI_Win_post` allowed.
    pub posted: RefCell<Option<Vec<Rc<Request>>>>,
    pub locks: RefCell<BTreeMap<usize, Held>>,
    /// `MPI_Win_lock_all`: targets are locked when they are first accessed.
    pub all_locked: Cell<bool>,
    pub all_unchecked: Cell<bool>,
}

impl Epochs {
    /// Whether no epoch is open but that of a fence.
    pub fn are_closed(&self) -> bool {
        self.started.borrow().is_none() && !self.is_passive() && self.posted.borrow().is_none()
    }

    /// Whether a lock is held.
    pub fn is_passive(&self) -> bool {
        self.all_locked.get() || !self.locks.borrow().is_empty()
    }

    /// Whether a target's lock is held beside others'.
    pub fn is_shared(&self, target: usize) -> bool {
        self.locks.borrow().get(&target) == Some(&Held::Shared)
    }

    /// Whether operations on a target are allowed.
    pub fn allow(&self, target: usize) -> bool {
        self.all_locked.get()
            || self.fenced.get()
            || self.locks.borrow().contains_key(&target)
            || self.started.borrow().as_ref().is_some_and(|targets| targets.contains(&target))
    }
}

/// An operation under way.
pub struct Pending {
    pub request: Rc<Request>,
    /// It brings data to this rank, and is not complete here before it is complete there.
    pub returns_data: bool,
    /// The program has the request too, and takes what it came to.
    pub belongs_to_program: bool,
}

/// A window as one of its ranks sees it.
pub struct Window {
    /// Its own communicator: what synchronizes windows meets no other message.
    pub comm: Communicator,
    pub flavor: Flavor,
    pub parts: Vec<Part>,
    /// Numbers whose addresses programs get: size, displacement unit, flavor, memory model.
    pub numbers: Box<(abi::Aint, c_int, c_int, c_int)>,
    /// Memory that goes with the window.
    pub owned: Option<*mut u8>,
    /// Memory that processes share for it.
    pub common: Option<Common>,
    pub targets: Vec<Rc<Target>>,
    /// How often this rank has reached for others.
    pub asked: Cell<u32>,
    pub epochs: Epochs,
    pub pending: RefCell<BTreeMap<usize, Vec<Pending>>>,
    pub name: RefCell<Vec<u8>>,
    pub info: RefCell<Info>,
    pub attributes: Attributes,
    pub errhandler: Cell<Errhandler>,
}

/// The memory model of all windows: what a rank stores and what others put is the same memory.
const UNIFIED: c_int = 2;

impl Window {
    /// Reaches a rank of the window: `bytes` bytes go there, and what is to be done is done when they have come; compared
    /// with what others do, unless the program has a request of it.
    ///
    /// # Errors
    /// For a rank that there is not.
    pub fn reach(
        &self,
        target: usize,
        bytes: usize,
        (access, data): (Access, Buffer),
        is_compared: bool,
        heard: Picos,
    ) -> Result<Reached, Fault> {
        let network = bytes as u64;
        let number = self.asked.replace(self.asked.get() + 1);
        let fence = self.epochs.fenced.get().then(|| self.epochs.fences.get());
        let at = self.comm.link.reached_time();
        let is_shared = self.epochs.is_shared(target);
        let rank = self.comm.link.world_rank() as u32;
        let origin = Origin { rank, number, fence, is_compared, at, is_shared, heard };
        let asked = Asked { window: self.comm.context, network, access, origin };
        Ok(self.comm.link.reach(target, &self.targets[target], asked, data)?)
    }

    /// All that this rank has asked of a target is complete; what brings no data back only if `all`.
    pub fn complete(&self, target: usize, all: bool) {
        if self.epochs.fenced.get() {
            // The fence at the end of the epoch says so for all ranks.
            return;
        }
        let to = self.comm.group.members[target];
        let unordered = self.epochs.is_shared(target).then(|| self.comm.link.reached_time());
        let completion = Completion { until: self.asked.get(), all, unordered };
        self.comm.link.complete_accesses(self.comm.context, (to, &self.targets[target]), completion);
    }

    /// Whether the program may learn of others by looking into memory while it has a target's lock.
    pub fn may_look(&self, target: usize) -> bool {
        self.flavor == Flavor::Shared || target == self.comm.rank()
    }

    pub fn new(comm: Communicator, flavor: Flavor, parts: Vec<Part>, targets: Vec<Rc<Target>>, info: Info) -> Window {
        let own = parts[comm.rank()];
        Window {
            numbers: Box::new((own.size as abi::Aint, own.unit as c_int, flavor as c_int, UNIFIED)),
            comm,
            flavor,
            parts,
            owned: None,
            common: None,
            targets,
            asked: Cell::new(0),
            epochs: Epochs::default(),
            pending: RefCell::default(),
            name: RefCell::default(),
            info: RefCell::new(info.hints(info::OF_WINDOWS)),
            attributes: Attributes::default(),
            errhandler: Cell::new(abi::ERRORS_ARE_FATAL),
        }
    }

    pub fn own(&self) -> Part {
        self.parts[self.comm.rank()]
    }

    /// The ranks of the window that are in a group.
    pub fn ranks_of(&self, group: &Group) -> Option<Vec<usize>> {
        group.members.iter().map(|&member| self.comm.group.rank_of(member)).collect()
    }
}
