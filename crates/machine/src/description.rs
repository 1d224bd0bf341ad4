//! What a machine file says, checked and in SI units.

use std::collections::BTreeMap;

use weft_base::Operation;

use crate::data_parallel::{Parallel, Primitives, Shifts};
use crate::degradation::Degradation;
use crate::processors::Processors;
use crate::routers::Routers;
use crate::sources::Sources;
use crate::topology::{Embedding, Topology};

/// A figure of a machine and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    /// `s`, `B`, `Hz`, `B/s`…
    pub unit: String,
    /// Paper and table, a data sheet, or "fitted from FILE on DATE".
    pub source: String,
}

/// One distributed-memory machine.
///
/// The time of a message of `n` bytes over `h` links on an idle machine, with protocol `p` the first whose `up_to` is
/// at least `n`:
///
/// `p.send_overhead + p.send_byte_time n + path + p.receive_overhead + p.receive_byte_time n`, where `path` is
/// `h (p.hop_time + p.byte_time n)` with store-and-forward switching and `h p.hop_time + p.byte_time n` otherwise.
/// A rendezvous takes `2 h p.hop_time` more, for the request and the clearance. [`Machine::message_time`] evaluates it,
/// packets included.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Short name, as on the command line: `ipsc860`.
    pub name: String,
    /// Full name: `Intel iPSC/860`.
    pub title: String,
    /// The year it was measured or shipped.
    pub year: Option<u32>,
    /// What the figures hold for: processor, operating system, message library, what was left out.
    pub description: Option<String>,
    /// Which times the costs of its messages are estimates of, if the file says so: what the machine takes undisturbed, or
    /// what it takes typically.
    pub estimand: Option<Estimand>,
    /// The costs of messages as estimates of the other times, if the file has both.
    pub alternative: Option<Box<Alternative>>,
    pub topology: Topology,
    /// How neighbouring ranks are placed on nodes unless a user says otherwise.
    pub embedding: Embedding,
    pub switching: Switching,
    /// Whether its switches send what comes in to several links at once, for compiled collectives.
    pub multicast: bool,
    /// Whether its switches add what comes in over several links and send the sum on, for compiled collectives.
    pub reduction: bool,
    /// Where `topology` and `switching` come from, and `multicast` and `reduction` where the file has them.
    pub sources: Sources,
    /// How messages of each length are sent, by ascending `up_to`; the last has none. Empty on a data-parallel machine,
    /// which passes no messages.
    pub protocols: Vec<Protocol>,
    /// Messages are cut into packets, if they are.
    pub packets: Option<Packets>,
    /// The cache that messages on their way to a rank lie in, if the file says what leaving it costs.
    pub cache: Option<Cache>,
    pub node: Node,
    /// A message of a node to itself.
    pub self_message: MemoryCopy,
    /// The link to the host, if the machine has one.
    pub host: Option<HostLink>,
    /// The concurrent file system, if the machine has I/O nodes.
    pub files: Option<ConcurrentFiles>,
    /// The files of the host, if nodes can reach them.
    pub host_files: Option<HostFiles>,
    /// Costs of shifts of arrays, if it is a data-parallel machine that has them.
    pub shifts: Option<Shifts>,
    /// What connections take of nodes and links, if the machine can keep connections open.
    pub connections: Option<Connections>,
    /// What the execution system of FGHC costs, if the file says so.
    pub fghc: Option<FghcCosts>,
    /// Costs of the primitives of a data-parallel machine, if it is one that has them.
    pub primitives: Option<Primitives>,
    /// Costs of operations on parallel variables that stream through memory, if the file says so.
    pub parallel: Option<Parallel>,
    /// Its routers, if the file describes them.
    pub routers: Option<Routers>,
    /// How its nodes are grouped in cores, sockets and computers, if each is a processor.
    pub processors: Option<Processors>,
    /// Seconds of one operation of a node's processor.
    pub operations: BTreeMap<Operation, Figure>,
    /// Published facts that no model of weft reads (clock rate, nominal data rate…), by name, for people.
    pub facts: BTreeMap<String, Figure>,
    /// What of it is worse than described in runs in virtual time; nothing where it comes from its file.
    pub degradation: Degradation,
}

/// Which times of a machine the costs of its messages are estimates of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimand {
    /// What the machine takes where no other program disturbs it.
    Undisturbed,
    /// What a launch takes as often as not, disturbances included: medians over all launches.
    Typical,
}

/// The costs of messages once more, as estimates of other times than those of the machine's own tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Which times these costs are estimates of.
    pub estimand: Estimand,
    /// How messages of each length are sent, by ascending `up_to`; the last has none.
    pub protocols: Vec<Protocol>,
    /// A message of a node to itself.
    pub self_message: MemoryCopy,
    /// The link to the host, if it has other costs than the machine's own.
    pub host: Option<HostLink>,
}

/// How a message crosses several links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// Each node or switch on the way receives the whole packet before it sends it on.
    StoreAndForward,
    /// The header reserves all links, then the message is transmitted; a blocked header keeps what it has reserved.
    Circuit,
    /// The message follows its header at once; a blocked message keeps the links it lies on.
    Wormhole,
    /// As wormhole, but a blocked message is taken out of the network by the node it has reached.
    CutThrough,
    /// As wormhole, flit by flit through routers with virtual channels, which the file describes. Models of messages take
    /// it for wormhole switching.
    Flit,
}

impl Switching {
    pub const ALL: [Switching; 5] =
        [Switching::StoreAndForward, Switching::Circuit, Switching::Wormhole, Switching::CutThrough, Switching::Flit];

    /// The word for it in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Switching::StoreAndForward => "store-and-forward",
            Switching::Circuit => "circuit",
            Switching::Wormhole => "wormhole",
            Switching::CutThrough => "cut-through",
            Switching::Flit => "flit",
        }
    }
}

/// When a send is complete for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Once the message is copied or handed to the hardware: the send never waits for anyone.
    Buffered,
    /// Once the last byte has left the sender's memory.
    Injected,
    /// The message leaves only when its receive is posted (request and clearance cross the network first).
    Rendezvous,
}

impl Completion {
    pub const ALL: [Completion; 3] = [Completion::Buffered, Completion::Injected, Completion::Rendezvous];

    /// The word for it in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Completion::Buffered => "buffered",
            Completion::Injected => "injected",
            Completion::Rendezvous => "rendezvous",
        }
    }
}

/// The costs of messages up to a length.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// The longest message it is used for, in bytes; `None` for the last protocol.
    pub up_to: Option<u64>,
    /// Processor time of the sender, s a message.
    pub send_overhead: f64,
    /// Processor time of the receiver, s a message.
    pub receive_overhead: f64,
    /// Processor time of the sender, s/B (copying into a buffer).
    pub send_byte_time: f64,
    /// Processor time of the receiver, s/B (copying out of a buffer).
    pub receive_byte_time: f64,
    /// Time of the header to cross one link and the node or switch behind it, s.
    pub hop_time: f64,
    /// Time of one byte on a link, s/B.
    pub byte_time: f64,
    /// When the sender may go on.
    pub completion: Completion,
    /// Where each of the figures above comes from, by key.
    pub sources: Sources,
}

/// Packetising of long messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets {
    /// Bytes of a full packet.
    pub bytes: u64,
    /// Shorter packets are padded to this many bytes.
    pub minimum: u64,
    /// Whether a packet leaves only after the one before has been received (stop and wait): each packet then costs what
    /// a message costs. Otherwise packets follow each other as links and processors allow, and the overheads are paid
    /// once a message.
    pub acknowledged: bool,
    pub sources: Sources,
}

/// A cache that long messages pass through on their way into the receiver's memory.
///
/// While a rank has receives posted whose buffers are together `w` bytes long, each byte that it receives costs its
/// processor `miss_byte_time` times the share of them that is not found in the cache: none up to `bytes`, all from
/// `all_missed_bytes` on, and in between as many as lie on the straight line. Pages of a large buffer fall on the sets
/// of a cache at random, so that it does not overflow all at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// The most bytes of receives posted at one time all of which are found in it, B.
    pub bytes: u64,
    /// The fewest of which none is, B.
    pub all_missed_bytes: u64,
    /// Processor time of the receiver for a byte that is not found, beside the protocol's, s/B.
    pub miss_byte_time: f64,
    pub sources: Sources,
}

impl Cache {
    /// Seconds that a byte costs its receiver beside the protocol's, while `posted` bytes of receives are.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::{Cache, Sources};
    ///
    /// let (bytes, all_missed_bytes, miss_byte_time) = (1 << 19, 3 << 19, 6e-11);
    /// let cache = Cache { bytes, all_missed_bytes, miss_byte_time, sources: Sources::new() };
    /// assert_eq!(cache.byte_time(1 << 19), 0.0);
    /// assert_eq!(cache.byte_time(1 << 20), 3e-11);
    /// assert_eq!(cache.byte_time(1 << 22), 6e-11);
    /// ```
    pub fn byte_time(&self, posted: u64) -> f64 {
        if posted <= self.bytes {
            return 0.0;
        }
        if posted >= self.all_missed_bytes {
            return self.miss_byte_time;
        }
        self.miss_byte_time * (posted - self.bytes) as f64 / (self.all_missed_bytes - self.bytes) as f64
    }
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// How many channels may move data to or from the node's memory at once; `None`: all of them.
    pub memory_channels: Option<u32>,
    /// Processor time that passing on one packet takes from the program of a node on the way, s a packet; zero where
    /// dedicated hardware routes. The message is not held up by it: its time on the way is the protocol's `hop_time`.
    pub forward_overhead: f64,
    /// The same by the length of the packet, s/B.
    pub forward_byte_time: f64,
    /// Memory of a node, B.
    pub memory_bytes: Option<u64>,
    /// What a program gets of it, B.
    pub memory_available: Option<u64>,
    pub sources: Sources,
}

/// Messages that go by another protocol than longer ones, without the request for a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortMessages {
    /// Bytes of the longest.
    pub up_to: u64,
    /// s a message, in place of that of longer ones.
    pub startup: f64,
}

/// Seconds of a message of `bytes` bytes, which are `startup + byte_time n`, short ones with a startup of their own.
pub fn line_time(startup: f64, byte_time: f64, short: Option<ShortMessages>, bytes: u64) -> f64 {
    short.filter(|short| bytes <= short.up_to).map_or(startup, |short| short.startup) + byte_time * bytes as f64
}

/// Copying within a node: `startup + byte_time n` seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCopy {
    /// s a message.
    pub startup: f64,
    /// s/B.
    pub byte_time: f64,
    pub short: Option<ShortMessages>,
    pub sources: Sources,
}

/// Messages between node 0 and the host: `startup + byte_time n` seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLink {
    /// s a message.
    pub startup: f64,
    /// s/B.
    pub byte_time: f64,
    pub short: Option<ShortMessages>,
    pub sources: Sources,
}

/// A concurrent file system: I/O nodes with disks, each attached to a compute node, and files striped over all disks.
///
/// A compute node's request is divided into its blocks. Each block's message crosses the network to the router of the
/// compute node that the I/O node is attached to, and from there one more link, at the costs of every link, to the I/O
/// node's own memory. This holds for the requests of that compute node too. The I/O node takes `server_overhead` for it,
/// one block at a time. A block that is not in its cache comes from the disk, with those after it up to
/// `read_ahead_bytes`; blocks used least recently make room. The disk takes `disk_byte_time` a byte, and `disk_startup`
/// where it does not go on with the file and the place where it was. Writes are taken into the cache as long as it has
/// room, and take `allocation_time` of the disk for each block that the file did not have.
#[derive(Clone, Debug, PartialEq)]
pub struct ConcurrentFiles {
    /// The compute node that each I/O node is attached to.
    pub attached: Vec<usize>,
    pub disks_per_io_node: u32,
    /// Bytes of a block; consecutive blocks of a file lie on consecutive disks.
    pub block_bytes: u64,
    /// Seek and rotation, s.
    pub disk_startup: f64,
    /// s/B.
    pub disk_byte_time: f64,
    /// Blocks that an I/O node keeps, in bytes.
    pub cache_bytes: u64,
    /// What a disk reads at once when a block is missing, in bytes.
    pub read_ahead_bytes: u64,
    /// Processor time of the compute node for a request, s, besides that of its messages.
    pub client_overhead: f64,
    /// Processor time of the I/O node for a block, s.
    pub server_overhead: f64,
    /// Disk time for giving a file one more block, s; saved by allocating beforehand.
    pub allocation_time: f64,
    pub sources: Sources,
}

/// Files of the host, as a node reads them: `request_time + byte_time n` seconds on the host, besides the message over
/// the host's link.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFiles {
    /// Of the host's processor and its disk, s a request.
    pub request_time: f64,
    /// s/B.
    pub byte_time: f64,
    pub sources: Sources,
}

/// Connections: pathways that are kept open for a phase of communication, and what they take of nodes and links.
///
/// The model is that of Feldmann, Stricker and Warfel 1993 (section 2): a phase is a set of connections that are open at
/// once; going over to the next phase costs `synchronisation_time + phase_time`, and a word `access_byte_time` a byte at
/// its source and at its destination. What is open at once is limited by logical channels, by channels of a link, or
/// by the ports of a switch of circuits; a limit that is not given does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Connections {
    /// Bytes of the word that lengths are counted in.
    pub word_bytes: u64,
    /// Logical channels of a node: a connection takes one at every node of its route, both ends included.
    pub node_channels: Option<u32>,
    /// Channels of one direction of a link: a connection takes one at every link of its route.
    pub link_channels: Option<u32>,
    /// Circuits that a node may start, and as many that it may end, at once.
    pub ports: Option<u32>,
    /// Whether a node sends and receives at once.
    pub access: Access,
    /// Time of a byte between a node and the network, s/B: one connection at a time in each direction, or in all.
    pub access_byte_time: f64,
    /// Time of a byte on one direction of a link, shared by the connections that cross it, s/B.
    pub link_byte_time: f64,
    /// Until all nodes know that all have finished a phase, s.
    pub synchronisation_time: f64,
    /// Until the connections of the next phase are open, s; with circuits between ports also until one is set up for a
    /// message.
    pub phase_time: f64,
    pub sources: Sources,
}

/// How a node's program gets at its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It sends on one connection and receives on another at the same time.
    Separate,
    /// It sends on one connection or receives on one.
    Shared,
}

impl Access {
    pub const ALL: [Access; 2] = [Access::Separate, Access::Shared];

    /// The word for it in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Access::Separate => "separate",
            Access::Shared => "shared",
        }
    }
}

/// In which order the execution system of FGHC takes goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoalOrder {
    /// A goal's first body goal goes on, the others wait on top of the queue.
    DepthFirst,
    /// Body goals and goals that wake go to the end of the queue.
    BreadthFirst,
}

impl GoalOrder {
    pub const ALL: [GoalOrder; 2] = [GoalOrder::DepthFirst, GoalOrder::BreadthFirst];

    /// The word for it in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            GoalOrder::DepthFirst => "depth-first",
            GoalOrder::BreadthFirst => "breadth-first",
        }
    }
}

/// What the execution system of FGHC takes of a PE's processor: software, besides what the protocols charge a message.
///
/// A message costs each end `message_time`, `word_time` for every word of it (its own fields, and constants, cells and
/// references of values), `reference_time` for every reference (the one it is about and those in values), and `tree_time`
/// where it concerns the AND-tree: the three kinds of processing of Taki 1988, section 3.4.
#[derive(Clone, Debug, PartialEq)]
pub struct FghcCosts {
    /// One reduction, s.
    pub reduction_time: f64,
    /// Every argument of the goal that is reduced, besides, s.
    pub argument_time: f64,
    /// `None`: depth first, as weft runs goals.
    pub goal_order: Option<GoalOrder>,
    /// Composing or decomposing a message, s.
    pub message_time: f64,
    /// Converting a word of a message between its forms in a PE and on the network, s.
    pub word_time: f64,
    /// Translating a reference between a local address and its global identifier, s.
    pub reference_time: f64,
    /// Maintaining the AND-tree for a goal or the end of one, s.
    pub tree_time: f64,
    /// How many levels of a structure are copied into a message; `None`: all.
    pub copy_levels: Option<u64>,
    /// After how many parts of one value (constants, cells, references) no further cell is copied into a message; `None`: as
    /// weft does.
    pub copy_parts: Option<u64>,
    pub sources: Sources,
}

impl ConcurrentFiles {
    /// The same with another number of I/O nodes, attached to compute nodes at even distances.
    pub fn with_io_nodes(&self, io_nodes: usize, nodes: usize) -> ConcurrentFiles {
        let attached = (0..io_nodes).map(|index| index * nodes / io_nodes).collect();
        ConcurrentFiles { attached, ..self.clone() }
    }

    /// The number of disks.
    pub fn disks(&self) -> usize {
        self.attached.len() * self.disks_per_io_node as usize
    }
}

impl Machine {
    /// The protocol for messages of `bytes` bytes.
    ///
    /// # Panics
    /// On a machine that passes no messages ([`Machine::passes_messages`]); else never, if it was read from a file: the
    /// last protocol has no limit.
    pub fn protocol(&self, bytes: u64) -> &Protocol {
        self.protocols
            .iter()
            .find(|protocol| protocol.up_to.is_none_or(|limit| bytes <= limit))
            .expect("the last protocol has no limit")
    }

    /// Whether programs on its nodes can send messages: data-parallel machines have no protocols.
    pub fn passes_messages(&self) -> bool {
        !self.protocols.is_empty()
    }

    /// Seconds of one `operation`, if the machine file gives it.
    pub fn operation_time(&self, operation: Operation) -> Option<f64> {
        self.operations.get(&operation).map(|figure| figure.value)
    }

    /// Seconds that a program is charged for one `operation`: its time, or that of its substitute
    /// ([`Operation::substitute`]) if the machine file gives only that.
    pub fn charged_time(&self, operation: Operation) -> Option<f64> {
        self.operation_time(operation).or_else(|| self.operation_time(operation.substitute()?))
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.topology.nodes()
    }
}
