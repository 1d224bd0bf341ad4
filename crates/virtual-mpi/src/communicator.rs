//! Communicators as MPI knows them: groups, contexts, attributes and topologies.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use weft_comm::Communicator as _;

use crate::abi::{self, Errhandler};
use crate::attribute::Attributes;
use crate::buffered::Buffered;
use crate::info::Info;
use crate::joint::Key;
use crate::link::Link;

/// An ordered set of ranks of the whole run.
#[derive(Clone, Debug)]
pub struct Group {
    pub members: Rc<[u32]>,
    /// The session that it was derived from; [`NO_SESSION`] without one.
    pub session: u32,
}

/// The number in place of a session's for what was derived from `MPI_COMM_WORLD` or `MPI_COMM_SELF`.
pub const NO_SESSION: u32 = 0;

impl Group {
    /// Of the World Model.
    pub fn of(members: Vec<u32>) -> Group {
        Group { members: members.into(), session: NO_SESSION }
    }

    /// Other members, derived from the same session.
    pub fn derive(&self, members: Vec<u32>) -> Group {
        Group { members: members.into(), session: self.session }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The number in the run of its first rank.
    fn first(&self) -> u32 {
        self.members.first().copied().unwrap_or(0)
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
    /// Buffered sends in memory that is attached to it alone, if some ever was.
    pub buffered: OnceCell<Rc<Buffered>>,
    /// Collective calls that have a context of their own, so far.
    derived: Cell<u32>,
    /// Collective calls of the program so far, and the first rank in the run of those that make them, here because
    /// groups are long: a look at them for each call costs more than the rest of it.
    joint: Cell<u32>,
    first: u32,
    /// Links for what calls say to each other beside the program's collectives.
    private: RefCell<BTreeMap<Purpose, Links>>,
    /// Partitioned messages that were initialized so far: those sent or received, by peer and tag.
    partitioned: RefCell<BTreeMap<(bool, c_int, c_int), u32>>,
}

/// Calls that have messages of the library's own among all ranks of a communicator. Those of one kind of call meet no
/// others, nor the program's collectives: where a rank skips a call, the others wait in that call and in no later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Purpose {
    /// A collective of the program that others may overlap.
    Overlapped,
    Finalize,
    Duplicate,
    Create,
    Split,
    CommonFolder,
    Connect,
    Merge,
    Disconnect,
    Cartesian,
    Graph,
    DistributedGraph,
    AdjacentGraph,
    Neighbors,
    CreateWindow,
    AllocateWindow,
    AllocateSharedWindow,
    CreateDynamicWindow,
    Fence,
    FreeWindow,
    OpenFile,
    CloseFile,
    ResizeFile,
    PreallocateFile,
    SetView,
    SeekShared,
    SetAtomicity,
    SyncFile,
    Partitioned,
}

impl Communicator {
    /// Of a group, in which this rank is `rank`.
    pub fn new(endpoint: &Link, rank: usize, group: Group, context: u32) -> Communicator {
        let link = endpoint.regroup(rank, group.members.clone(), context);
        let first = group.first();
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
            buffered: OnceCell::new(),
            derived: Cell::new(0),
            joint: Cell::new(0),
            first,
            private: RefCell::default(),
            partitioned: RefCell::default(),
        }
    }

    /// Between two groups.
    pub fn between(endpoint: &Link, rank: usize, group: Group, remote: Group, contexts: (u32, u32)) -> Communicator {
        let own = Communicator::new(endpoint, rank, group, contexts.0);
        let link = endpoint.regroup(rank, remote.members.clone(), contexts.0);
        let local = endpoint.regroup(rank, own.group.members.clone(), contexts.1);
        let first = own.first.min(remote.first());
        Communicator { link, local: Some(local), remote: Some(remote), first, ..own }
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

    /// The next collective call of the program. Groups that one call has made share a context: the first rank tells them
    /// apart.
    pub fn next_joint(&self) -> Key {
        (self.context, self.first, self.joint.replace(self.joint.get() + 1))
    }

    /// Contexts of a communicator that one call makes of the same groups: that of all, and that of the own group.
    pub fn derived_contexts(&self, purpose: Purpose) -> (u32, u32) {
        let call = self.next_call();
        let context = |part| self.link.context_of((self.context, call, DERIVED | (purpose as u32) << PARTS | part));
        (context(0), self.own_part().map_or(0, context))
    }

    /// Links for one collective call that others may overlap.
    pub fn derive(&self) -> Links {
        self.links_in(self.derived_contexts(Purpose::Overlapped))
    }

    /// Links for what calls of one kind say to each other.
    pub fn private(&self, purpose: Purpose, caller: Caller) -> Links {
        let mut known = self.private.borrow_mut();
        let links = known.entry(purpose).or_insert_with(|| {
            let key = PRIVATE | purpose as u32;
            let context = |part| self.link.context_of((self.context, key, part));
            self.links_in((context(0), self.own_part().map_or(0, context)))
        });
        Links { caller, ..links.clone() }
    }

    /// A link for a partitioned message that this call initializes. Such messages meet in the order in which both sides
    /// have initialized them, whichever is started first, and meet no others (MPI 4.1, section 4.2).
    pub fn next_partitioned(&self, is_send: bool, peer: c_int, tag: c_int) -> Link {
        let mut partitioned = self.partitioned.borrow_mut();
        let order = partitioned.entry((is_send, peer, tag)).or_insert(0);
        let context = self.link.context_of((self.context, PRIVATE | Purpose::Partitioned as u32, *order));
        *order += 1;
        let partners = self.remote.as_ref().unwrap_or(&self.group);
        self.link.regroup(self.rank(), partners.members.clone(), context)
    }

    /// Which context is that of the own group, where there are two: the smaller first rank of the whole run tells.
    fn own_part(&self) -> Option<u32> {
        let remote = self.remote.as_ref()?;
        Some(if self.group.members.first() < remote.members.first() { 1 } else { 2 })
    }

    /// Links to peers, and among the own group.
    fn links_in(&self, contexts: (u32, u32)) -> Links {
        let peers = self.remote.as_ref().unwrap_or(&self.group);
        let link = self.link.regroup(self.rank(), peers.members.clone(), contexts.0);
        let regroup = |_: &Group| self.link.regroup(self.rank(), self.group.members.clone(), contexts.1);
        let own = self.remote.as_ref().map(regroup);
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

/// Marks contexts that are made of a context and the number of a call.
const DERIVED: u32 = 1 << 31;

/// Marks contexts that are made of a context and what it is for. Numbers of calls and tags of programs are smaller.
const PRIVATE: u32 = 1 << 31;

/// Bits for the parts of a call's contexts.
const PARTS: u32 = 2;
