//! Files in virtual time.
//!
//! A call's blocks are events: a request enters the network, reaches its I/O node, is seen to, waits for cache and disk,
//! and goes back over the network. Requests and replies share links with every other message. An I/O node is one link beyond
//! the compute node it is attached to, also for that node's own requests, and has memory channels of its own. What a file
//! holds changes when a write is called and is read when a read is complete. A write of a part of a block does not read the
//! block first.

mod io_nodes;
mod store;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use slab::Slab;
use weft_base::Picos;
use weft_comm::files::{Access, Cache, FileFuture, FileId, FileSystem, Files};
use weft_comm::{CommError, Failure, Payload};
use weft_machine::{HostFiles, Machine, Switching};

use crate::core::Core;
use io_nodes::{BlockAddress, IoNodes};
use store::Store;

/// Bytes of a request without data and of a reply without data.
const CONTROL_BYTES: u64 = 64;

/// What a request wants of a disk or of an I/O node.
#[derive(Clone, Copy, Debug)]
enum Want {
    Read {
        address: BlockAddress,
        blocks: u64,
    },
    Write {
        address: BlockAddress,
        is_new: bool,
    },
    Allocate,
    Flush,
    /// Only the I/O node's processor: names are looked up.
    Name,
}

/// Where a request is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Leaves,
    AtIoNode,
    Attended,
    Replies,
    /// On its way through the host's link and files.
    AtHost,
}

/// One block's way to its disk and back.
#[derive(Clone, Copy, Debug)]
struct Request {
    call: u32,
    /// The compute node that asked.
    node: usize,
    disk: usize,
    /// Bytes of the block that are moved.
    bytes: u64,
    want: Want,
    stage: Stage,
}

/// A call on a file, until all its requests are answered.
#[derive(Clone, Copy, Debug)]
struct Call {
    rank: u32,
    left: u32,
    replies: u32,
    reply_bytes: u64,
    last: Picos,
}

/// The files of a run.
#[derive(Debug)]
pub(crate) struct Io {
    nodes: Option<IoNodes>,
    host: Option<HostFiles>,
    concurrent: Store,
    on_host: Store,
    open: Slab<(FileSystem, u32, String)>,
    calls: Slab<Call>,
    requests: Slab<Request>,
}

impl Io {
    pub fn new(machine: &Machine) -> Io {
        Io {
            nodes: machine.files.as_ref().map(IoNodes::new),
            host: machine.host.as_ref().and(machine.host_files.clone()),
            concurrent: Store::default(),
            on_host: Store::default(),
            open: Slab::new(),
            calls: Slab::new(),
            requests: Slab::new(),
        }
    }

    /// The file systems of the machine.
    pub fn systems(&self) -> &'static [FileSystem] {
        match (&self.nodes, &self.host) {
            (Some(_), Some(_)) => &[FileSystem::Concurrent, FileSystem::Host],
            (Some(_), None) => &[FileSystem::Concurrent],
            (None, Some(_)) => &[FileSystem::Host],
            (None, None) => &[],
        }
    }

    fn store(&mut self, system: FileSystem) -> &mut Store {
        if system == FileSystem::Host { &mut self.on_host } else { &mut self.concurrent }
    }

    /// A file has so many bytes, whoever wrote them: those that are new cost nothing.
    pub fn declare_length(&mut self, system: FileSystem, file: FileId, bytes: u64) {
        let Some(number) = self.open.get(file.0).map(|open| open.1) else { return };
        let block_bytes = self.nodes.as_ref().map(|nodes| nodes.files.block_bytes);
        let store = self.store(system);
        // What the bytes are is of no interest.
        store.write(number, 0, &Payload::Phantom(0));
        store.lengthen(number, bytes);
        if let (FileSystem::Concurrent, Some(block_bytes)) = (system, block_bytes) {
            store.allocate(number, bytes.div_ceil(block_bytes));
        }
    }

    fn nodes(&mut self) -> &mut IoNodes {
        self.nodes.as_mut().expect("a file was opened on I/O nodes that the machine has")
    }
}

impl Core {
    /// A request has come to its next stage.
    pub(crate) fn step_io(&mut self, now: Picos, key: u32) {
        let request = self.io.requests[key as usize];
        let Request { node, disk, bytes, want, .. } = request;
        let (stage, time) = match request.stage {
            Stage::Leaves => {
                let out = if matches!(want, Want::Write { .. }) { bytes } else { CONTROL_BYTES };
                let to = self.io_node_of(disk);
                (Stage::AtIoNode, self.carry(now, node, to, out))
            }
            Stage::AtIoNode => {
                let nodes = self.io.nodes();
                let io_node = nodes.node_of(disk);
                (Stage::Attended, nodes.attend(io_node, now))
            }
            Stage::Attended => (Stage::Replies, self.serve(now, disk, bytes, want)),
            Stage::Replies => {
                let back = if matches!(want, Want::Read { .. }) { bytes } else { CONTROL_BYTES };
                let from = self.io_node_of(disk);
                let arrived = self.carry(now, from, node, back);
                return self.answered(key, arrived);
            }
            Stage::AtHost => {
                let files = self.io.host.as_ref().expect("a file was opened on a host that has files");
                let time = Picos::from_seconds(files.request_time + files.byte_time * bytes as f64);
                let arrived = self.through_host(now, node, bytes, time);
                return self.answered(key, arrived);
            }
        };
        self.io.requests[key as usize].stage = stage;
        self.push_io(time, key);
    }

    /// The I/O node of `disk`, as the network numbers it: after the compute nodes.
    fn io_node_of(&mut self, disk: usize) -> usize {
        self.machine().nodes() + self.io.nodes().node_of(disk)
    }

    fn serve(&mut self, now: Picos, disk: usize, bytes: u64, want: Want) -> Picos {
        let nodes = self.io.nodes();
        match want {
            Want::Read { address, blocks } => nodes.read(disk, address, blocks, now),
            Want::Write { address, is_new } => nodes.write(disk, address, bytes, is_new, now),
            Want::Allocate => nodes.allocate(disk, now),
            Want::Flush => nodes.flushed(disk, now),
            Want::Name => now,
        }
    }

    fn answered(&mut self, key: u32, arrived: Picos) {
        let request = self.io.requests.remove(key as usize);
        let call = &mut self.io.calls[request.call as usize];
        call.left -= 1;
        call.last = call.last.max(arrived);
        if call.left == 0 {
            let rank = call.rank;
            self.make_ready(rank);
        }
    }
}

/// The files of one file system, as one rank reaches them.
#[derive(Clone)]
pub(crate) struct SimFiles {
    core: Rc<RefCell<Core>>,
    world_rank: u32,
    system: FileSystem,
}

impl SimFiles {
    pub fn new(core: Rc<RefCell<Core>>, world_rank: u32, system: FileSystem) -> SimFiles {
        SimFiles { core, world_rank, system }
    }

    fn error(&self, operation: &str, path: &str, message: &str) -> CommError {
        let (rank, message) = (self.world_rank as usize, message.to_owned());
        Failure::File { rank, operation: operation.to_owned(), path: path.to_owned(), message }.into()
    }

    /// The file behind a handle and its name.
    fn file(&self, file: FileId, operation: &str) -> Result<(u32, String), CommError> {
        let core = self.core.borrow();
        let open = core.io.open.get(file.0).filter(|open| open.0 == self.system);
        open.map(|(_, file, path)| (*file, path.clone()))
            .ok_or_else(|| self.error(operation, "(closed)", "the file is not open"))
    }

    /// Sends requests, each for a disk with bytes, and waits until all are answered.
    async fn call(&self, wants: Vec<(usize, u64, Want)>) {
        if wants.is_empty() {
            return;
        }
        let key = self.start(wants);
        Answer { files: self, key }.await;
    }

    fn start(&self, wants: Vec<(usize, u64, Want)>) -> u32 {
        let mut core = self.core.borrow_mut();
        let rank = self.world_rank;
        let node = core.placement().node(rank as usize);
        let is_read = matches!(wants[0].2, Want::Read { .. });
        let reply_bytes = if is_read { wants[0].1 } else { CONTROL_BYTES };
        let count = wants.len() as u32;
        let call = Call { rank, left: count, replies: count, reply_bytes, last: Picos::ZERO };
        let call = core.io.calls.insert(call) as u32;
        let on_host = self.system == FileSystem::Host;
        if !on_host {
            let overhead = Picos::from_seconds(core.io.nodes().files.client_overhead);
            core.rank(rank).clock += overhead;
        }
        for (disk, bytes, want) in wants {
            if !on_host {
                let out = if matches!(want, Want::Write { .. }) { bytes } else { CONTROL_BYTES };
                let (send, _) = core.overheads(out);
                core.rank(rank).clock += send;
            }
            let stage = if on_host { Stage::AtHost } else { Stage::Leaves };
            let request = core.io.requests.insert(Request { call, node, disk, bytes, want, stage }) as u32;
            let time = core.clock(rank);
            core.push_io(time, request);
        }
        call
    }

    /// The requests of `bytes` bytes from `offset` on, one for each block.
    fn blocks(&self, file: u32, offset: u64, bytes: u64, is_write: bool) -> Vec<(usize, u64, Want)> {
        let mut core = self.core.borrow_mut();
        if self.system == FileSystem::Host {
            return vec![(0, bytes, Want::Name)];
        }
        let block_bytes = core.io.nodes().files.block_bytes;
        let disks = core.io.nodes().files.disks() as u64;
        let end = offset + bytes;
        let blocks = end.div_ceil(block_bytes);
        let of_file = core.io.concurrent.length(file).div_ceil(block_bytes);
        let new_from = if is_write { core.io.concurrent.allocate(file, blocks) } else { u64::MAX };
        let nodes = core.io.nodes();
        (offset / block_bytes..blocks)
            .map(|block| {
                let part = end.min((block + 1) * block_bytes) - offset.max(block * block_bytes);
                let (disk, address) = nodes.locate(file, block);
                let want = if is_write {
                    Want::Write { address, is_new: block >= new_from }
                } else {
                    Want::Read { address, blocks: of_file.div_ceil(disks) }
                };
                (disk, part, want)
            })
            .collect()
    }

    /// One request to every disk, or to the host.
    fn every_disk(&self, want: Want) -> Vec<(usize, u64, Want)> {
        match (self.system, &self.core.borrow().io.nodes) {
            (FileSystem::Concurrent, Some(nodes)) => (0..nodes.files.disks()).map(|disk| (disk, 0, want)).collect(),
            _ => vec![(0, 0, want)],
        }
    }

    /// Looks a name up; the I/O node that does it is the first.
    async fn name(&self) {
        self.call(vec![(0, 0, Want::Name)]).await;
    }

    fn check_machine(&self, path: &str) -> Result<(), CommError> {
        let is_stored = self.core.borrow().machine().switching == Switching::StoreAndForward;
        if is_stored && self.system == FileSystem::Concurrent {
            let message = "I/O nodes are not simulated on machines with store-and-forward switching";
            return Err(self.error("open", path, message));
        }
        Ok(())
    }
}

impl Files for SimFiles {
    fn open<'a>(&'a self, path: &'a str, access: Access) -> FileFuture<'a, FileId> {
        Box::pin(async move {
            self.check_machine(path)?;
            self.name().await;
            let mut core = self.core.borrow_mut();
            let store = core.io.store(self.system);
            let file = match access {
                Access::ReadWrite => Some(store.find_or_make(path)),
                Access::Read => store.find(path),
            };
            let file = file.ok_or_else(|| self.error("open", path, "there is no such file"))?;
            Ok(FileId(core.io.open.insert((self.system, file, path.to_owned()))))
        })
    }

    fn length(&self, file: FileId) -> FileFuture<'_, u64> {
        Box::pin(async move {
            let (file, _) = self.file(file, "look at")?;
            Ok(self.core.borrow_mut().io.store(self.system).length(file))
        })
    }

    fn preallocate(&self, file: FileId, bytes: u64) -> FileFuture<'_, ()> {
        Box::pin(async move {
            let (file, _) = self.file(file, "preallocate")?;
            if self.system == FileSystem::Concurrent {
                let mut core = self.core.borrow_mut();
                let blocks = bytes.div_ceil(core.io.nodes().files.block_bytes);
                core.io.concurrent.allocate(file, blocks);
            }
            self.core.borrow_mut().io.store(self.system).lengthen(file, bytes);
            self.call(self.every_disk(Want::Allocate)).await;
            Ok(())
        })
    }

    fn read_at(&self, file: FileId, offset: u64, into: Payload) -> FileFuture<'_, Payload> {
        Box::pin(async move {
            let (file, path) = self.file(file, "read")?;
            let bytes = into.len() as u64;
            let length = self.core.borrow_mut().io.store(self.system).length(file);
            if offset + bytes > length {
                let message = format!("the file ends at {length} before the bytes asked for: it is truncated");
                return Err(self.error("read", &path, &message));
            }
            self.call(self.blocks(file, offset, bytes, false)).await;
            Ok(self.core.borrow_mut().io.store(self.system).read(file, offset, into))
        })
    }

    fn write_at(&self, file: FileId, offset: u64, from: Payload) -> FileFuture<'_, Payload> {
        Box::pin(async move {
            let (file, _) = self.file(file, "write")?;
            let wants = self.blocks(file, offset, from.len() as u64, true);
            self.core.borrow_mut().io.store(self.system).write(file, offset, &from);
            self.call(wants).await;
            Ok(from)
        })
    }

    fn sync(&self, file: FileId) -> FileFuture<'_, ()> {
        Box::pin(async move {
            self.file(file, "sync")?;
            self.call(self.every_disk(Want::Flush)).await;
            Ok(())
        })
    }

    /// Takes no time: it stands for a machine that has done something else in between.
    fn drop_cached(&self, file: FileId) -> FileFuture<'_, Cache> {
        Box::pin(async move {
            let (file, _) = self.file(file, "drop the cached copy of")?;
            if self.system == FileSystem::Concurrent {
                self.core.borrow_mut().io.nodes().forget(file);
            }
            Ok(Cache::Dropped)
        })
    }

    fn close(&self, file: FileId) -> FileFuture<'_, ()> {
        Box::pin(async move {
            self.file(file, "close")?;
            self.core.borrow_mut().io.open.remove(file.0);
            Ok(())
        })
    }

    fn unlink<'a>(&'a self, path: &'a str) -> FileFuture<'a, ()> {
        Box::pin(async move {
            self.name().await;
            let was_there = self.core.borrow_mut().io.store(self.system).unlink(path);
            if was_there { Ok(()) } else { Err(self.error("remove", path, "there is no such file")) }
        })
    }

    fn scratch_directory(&self) -> String {
        String::new()
    }

    fn kind_of(&self, _: &str) -> String {
        match (self.system, &self.core.borrow().io.nodes) {
            (FileSystem::Concurrent, Some(nodes)) => {
                let (io_nodes, disks) = (nodes.files.attached.len(), nodes.files.disks());
                let plural = |count: usize| if count == 1 { "" } else { "s" };
                format!("{io_nodes} I/O node{}, {disks} disk{}", plural(io_nodes), plural(disks))
            }
            _ => "the host's".to_owned(),
        }
    }
}

/// Waits until a call is answered; the rank's clock then moves on to when it has all of it.
struct Answer<'a> {
    files: &'a SimFiles,
    key: u32,
}

impl Future for Answer<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let mut core = self.files.core.borrow_mut();
        let Call { left, rank, last, .. } = core.io.calls[self.key as usize];
        if left > 0 || core.is_beyond_look(rank, last) {
            return Poll::Pending;
        }
        let call = core.io.calls.remove(self.key as usize);
        let receive =
            if self.files.system == FileSystem::Host { Picos::ZERO } else { core.overheads(call.reply_bytes).1 };
        let rank = core.rank(call.rank);
        // Replies are received as they come, the last one after it has come.
        rank.clock = (rank.clock + receive * u64::from(call.replies)).max(call.last + receive);
        Poll::Ready(())
    }
}
