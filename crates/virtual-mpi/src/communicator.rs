//! Communicators as MPI knows them: groups, contexts, attributes and topologies.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use weft_comm::Communicator as _;

use crate::abi::{self, Errhandler};
use crate::attribute::Attributes;
use crate::info::Info;
use crate::link::Link;

/// An ordered set of ranks of the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub members: Rc<[u32]>,
}

impl Group {
    pub fn of(members: Vec<u32>) -> Group {
        Group { members: members.into() }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The rank within the group of a rank of the whole run.
    pub fn rank_of(&self, number: u32) -> Option<usize> {
        // Most groups are the first ranks in their order.
        if self.members.get(number as usize) == Some(&number) {
            return Some(number as usize);
        }
        self.members.iter().position(|&member| member == number)
    }
}

/// How the ranks of a communicator are arranged.
#[derive(Clone, Debug)]
pub enum Topology {
    Cartesian { extents: Vec<usize>, periodic: Vec<bool> },
    Graph { index: Vec<c_int>, edges: Vec<c_int> },
    Distributed(Neighbors),
}

/// Neighbours of this rank in a distributed graph.
#[derive(Clone, Debug, Default)]
pub struct Neighbors {
    pub sources: Vec<c_int>,
    pub source_weights: Vec<c_int>,
    pub destinations: Vec<c_int>,
    pub destination_weights: Vec<c_int>,
    pub weighted: bool,
}

/// A communicator as one of its ranks sees it.
pub struct Communicator {
    /// Messages: among the group, or to the other group and from it.
    pub link: Link,
    /// Messages among the own group, where the communicator is between two.
    pub local: Option<Link>,
    pub context: u32,
    pub group: Group,
    /// The other group.
    pub remote: Option<Group>,
    pub name: RefCell<Vec<u8>>,
    pub attributes: Attributes,
    pub errhandler: Cell<Errhandler>,
    pub topology: RefCell<Option<Topology>>,
    pub info: RefCell<Info>,
    /// Collective calls that have a context of their own, so far.
    derived: Cell<u32>,
}

impl Communicator {
    /// Of a group, in which this rank is `rank`.
    pub fn new(endpoint: &Link, rank: usize, group: Group, context: u32) -> Communicator {
        let link = endpoint.regroup(rank, group.members.clone(), context);
        Communicator {
            link,
            local: None,
            context,
            group,
            remote: None,
            name: RefCell::default(),
            attributes: Attributes::default(),
            errhandler: Cell::new(abi::ERRORS_ARE_FATAL),
            topology: RefCell::default(),
            info: RefCell::default(),
            derived: Cell::new(0),
        }
    }

    /// Between two groups.
    pub fn between(endpoint: &Link, rank: usize, group: Group, remote: Group, contexts: (u32, u32)) -> Communicator {
        let own = Communicator::new(endpoint, rank, group, contexts.0);
        let link = endpoint.regroup(rank, remote.members.clone(), contexts.0);
        let local = endpoint.regroup(rank, own.group.members.clone(), contexts.1);
        Communicator { link, local: Some(local), remote: Some(remote), ..own }
    }

    pub fn rank(&self) -> usize {
        self.link.rank()
    }

    pub fn size(&self) -> usize {
        self.group.len()
    }

    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Ranks that messages may be sent to.
    pub fn peers(&self) -> usize {
        self.remote.as_ref().map_or(self.size(), Group::len)
    }

    /// The number of the next call that is collective over the group; all its ranks get the same.
    pub fn next_call(&self) -> u32 {
        self.derived.replace(self.derived.get() + 1)
    }

    /// A context for one call that is collective over both groups, the same on all ranks that take part.
    pub fn derived_context(&self, part: u32) -> u32 {
        let call = self.next_call();
        self.link.context_of((self.context, call, DERIVED | part))
    }

    /// Links for one collective call that others may overlap: to peers, and among the own group.
    pub fn derive(&self) -> Links {
        let call = self.next_call();
        let context = |part| self.link.context_of((self.context, call, DERIVED | part));
        let peers = self.remote.as_ref().unwrap_or(&self.group);
        let link = self.link.regroup(self.rank(), peers.members.clone(), context(0));
        // Both groups have a context of their own: the smaller first rank of the whole run tells which.
        let own = self.remote.as_ref().map(|remote| {
            let part = if self.group.members.first() < remote.members.first() { 1 } else { 2 };
            self.link.regroup(self.rank(), self.group.members.clone(), context(part))
        });
        Links { link, own, caller: Caller::Elsewhere }
    }

    /// The links of the communicator itself, for calls that nothing overlaps.
    pub fn links(&self, caller: Caller) -> Links {
        Links { link: self.link.clone(), own: self.local.clone(), caller }
    }
}

/// What a collective sends its messages over.
#[derive(Clone)]
pub struct Links {
    /// To the ranks of the group, or of the other group.
    pub link: Link,
    /// Among the own group, where there are two.
    pub own: Option<Link>,
    pub caller: Caller,
}

/// What the program does while a collective goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It waits for the collective alone.
    Waits,
    /// It waits for it, and others that it has started go on whenever it is looked at.
    WaitsBesideOthers,
    /// It does something else, or may.
    Elsewhere,
}

/// Marks contexts that are made of a context and a number.
const DERIVED: u32 = 1 << 31;
