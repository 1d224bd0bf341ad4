//! I/O nodes: their processors, caches and disks ([`ConcurrentFiles`] says how they work).

use std::collections::VecDeque;

use weft_base::Picos;
use weft_machine::ConcurrentFiles;
use weft_network::Table;

/// A block as its disk knows it: its file, and its number among the blocks of the file on this disk.
pub(crate) type BlockAddress = (u32, u64);

/// One disk.
#[derive(Clone, Debug, Default)]
struct Disk {
    busy_until: Picos,
    /// The block after the one it read or wrote last.
    next: Option<BlockAddress>,
}

impl Disk {
    /// Time until the head is where `address` begins.
    fn startup(&self, address: BlockAddress, startup: Picos) -> Picos {
        if self.next == Some(address) { Picos::ZERO } else { startup }
    }
}

/// A block in a cache and when it is there.
#[derive(Clone, Copy, Debug)]
struct Cached {
    disk: usize,
    address: BlockAddress,
    ready: Picos,
}

/// One I/O node.
#[derive(Clone, Debug, Default)]
struct IoNode {
    busy_until: Picos,
    /// The block used least recently first.
    cache: VecDeque<Cached>,
}

/// The I/O nodes of a machine.
#[derive(Debug)]
pub(crate) struct IoNodes {
    pub files: ConcurrentFiles,
    nodes: Vec<IoNode>,
    disks: Table<Disk>,
}

impl IoNodes {
    pub fn new(files: &ConcurrentFiles) -> IoNodes {
        let nodes = vec![IoNode::default(); files.attached.len()];
        IoNodes { files: files.clone(), nodes, disks: Table::new(files.disks()) }
    }

    /// The disk of a file's block and the block's number among the file's blocks there. Files begin on different disks.
    pub fn locate(&self, file: u32, block: u64) -> (usize, BlockAddress) {
        let disks = self.disks.len() as u64;
        (((u64::from(file) + block) % disks) as usize, (file, block / disks))
    }

    /// The I/O node of a disk: consecutive disks are on different ones.
    pub fn node_of(&self, disk: usize) -> usize {
        disk % self.nodes.len()
    }

    /// When the processor of an I/O node has seen to a block that comes `now`.
    pub fn attend(&mut self, node: usize, now: Picos) -> Picos {
        let node = &mut self.nodes[node];
        node.busy_until = node.busy_until.max(now) + Picos::from_seconds(self.files.server_overhead);
        node.busy_until
    }

    /// When a block is in memory; a file has `blocks` blocks on its disk.
    pub fn read(&mut self, disk: usize, address: BlockAddress, blocks: u64, now: Picos) -> Picos {
        let node = self.node_of(disk);
        if let Some(ready) = self.touch(node, disk, address) {
            return ready.max(now);
        }
        let (startup, block) = self.disk_times(self.files.block_bytes);
        let ahead = (self.files.read_ahead_bytes / self.files.block_bytes).max(1);
        let end = (address.1 + ahead).min(blocks).max(address.1 + 1);
        let arm = &self.disks[disk];
        let start = arm.busy_until.max(now) + arm.startup(address, startup);
        for (number, local) in (address.1..end).enumerate() {
            self.keep(node, Cached { disk, address: (address.0, local), ready: start + block * (number as u64 + 1) });
        }
        self.disks[disk] = Disk { busy_until: start + block * (end - address.1), next: Some((address.0, end)) };
        start + block
    }

    /// When `bytes` bytes of a block are taken from their writer: at once as long as what waits for the disk fits the
    /// cache. Parts of a block that is in the cache join what is there and cost the disk no startup of their own.
    pub fn write(&mut self, disk: usize, address: BlockAddress, bytes: u64, is_new: bool, now: Picos) -> Picos {
        let node = self.node_of(disk);
        let (startup, transfer) = self.disk_times(bytes);
        let allocation = if is_new { Picos::from_seconds(self.files.allocation_time) } else { Picos::ZERO };
        let joins = self.touch(node, disk, address).is_some();
        let arm = &mut self.disks[disk];
        let startup = if joins { Picos::ZERO } else { arm.startup(address, startup) };
        arm.busy_until = arm.busy_until.max(now) + startup + transfer + allocation;
        if !joins {
            arm.next = Some((address.0, address.1 + 1));
        }
        let (_, cacheful) = self.disk_times(self.files.cache_bytes);
        let taken = now.max(Picos(self.disks[disk].busy_until.0.saturating_sub(cacheful.0)));
        if !joins {
            self.keep(node, Cached { disk, address, ready: taken });
        }
        taken
    }

    /// When room for new blocks is found: one update of the disk's table.
    pub fn allocate(&mut self, disk: usize, now: Picos) -> Picos {
        let arm = &mut self.disks[disk];
        arm.busy_until = arm.busy_until.max(now) + Picos::from_seconds(self.files.allocation_time);
        arm.next = None;
        arm.busy_until
    }

    /// When a disk has written all it has to.
    pub fn flushed(&self, disk: usize, now: Picos) -> Picos {
        self.disks[disk].busy_until.max(now)
    }

    /// Forgets the blocks of a file.
    pub fn forget(&mut self, file: u32) {
        for node in &mut self.nodes {
            node.cache.retain(|cached| cached.address.0 != file);
        }
        for disk in self.disks.written_mut().filter(|disk| disk.next.is_some_and(|(next, _)| next == file)) {
            disk.next = None;
        }
    }

    fn disk_times(&self, bytes: u64) -> (Picos, Picos) {
        let transfer = Picos::from_seconds(self.files.disk_byte_time * bytes as f64);
        (Picos::from_seconds(self.files.disk_startup), transfer)
    }

    /// When a cached block is there; it is then the one used last.
    fn touch(&mut self, node: usize, disk: usize, address: BlockAddress) -> Option<Picos> {
        let cache = &mut self.nodes[node].cache;
        let at = cache.iter().position(|cached| (cached.disk, cached.address) == (disk, address))?;
        let cached = cache.remove(at).expect("an index in the cache");
        cache.push_back(cached);
        Some(cached.ready)
    }

    fn keep(&mut self, node: usize, block: Cached) {
        let capacity = (self.files.cache_bytes / self.files.block_bytes) as usize;
        let cache = &mut self.nodes[node].cache;
        cache.retain(|cached| (cached.disk, cached.address) != (block.disk, block.address));
        while cache.len() >= capacity {
            cache.pop_front();
        }
        cache.push_back(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 ms to start, 1 ms a block of 1000 bytes, four blocks at a time, room for eight.
    fn nodes() -> IoNodes {
        IoNodes::new(&ConcurrentFiles {
            attached: vec![0],
            disks_per_io_node: 1,
            block_bytes: 1000,
            disk_startup: 10e-3,
            disk_byte_time: 1e-6,
            cache_bytes: 8000,
            read_ahead_bytes: 4000,
            client_overhead: 0.0,
            server_overhead: 0.0,
            allocation_time: 5e-3,
            sources: Default::default(),
        })
    }

    fn millis(time: f64) -> Picos {
        Picos::from_seconds(time * 1e-3)
    }

    #[test]
    fn a_miss_costs_a_startup_and_brings_the_blocks_after_it() {
        let mut nodes = nodes();
        assert_eq!(nodes.read(0, (0, 0), 100, Picos::ZERO), millis(11.0));
        assert_eq!(nodes.read(0, (0, 3), 100, millis(11.0)), millis(14.0), "it is on its way");
        assert_eq!(nodes.read(0, (0, 1), 100, millis(20.0)), millis(20.0), "it is there");
        assert_eq!(nodes.read(0, (0, 4), 100, millis(20.0)), millis(21.0), "the head is where it must be");
        assert_eq!(nodes.read(0, (1, 0), 100, millis(30.0)), millis(41.0), "another file is elsewhere");
    }

    #[test]
    fn blocks_used_least_recently_make_room() {
        let mut nodes = nodes();
        for file in 0..3 {
            nodes.read(0, (file, 0), 100, Picos::ZERO);
        }
        let now = millis(1000.0);
        assert_eq!(nodes.read(0, (2, 1), 100, now), now);
        assert_eq!(nodes.read(0, (0, 1), 100, now), now + millis(11.0), "the third file took its place");
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let mut nodes = nodes();
        nodes.read(0, (0, 0), 2, Picos::ZERO);
        assert_eq!(nodes.flushed(0, Picos::ZERO), millis(12.0));
    }

    #[test]
    fn writes_wait_for_the_disk_once_the_cache_is_full_and_new_blocks_cost_more() {
        let mut nodes = nodes();
        let ends: Vec<Picos> = (0..3).map(|block| nodes.write(0, (0, block), 1000, true, Picos::ZERO)).collect();
        // The disk needs 16, 22 and 28 ms; eight of them may wait in the cache.
        assert_eq!(ends, [millis(8.0), millis(14.0), millis(20.0)]);
        assert_eq!(nodes.write(0, (0, 3), 500, false, Picos::ZERO), millis(20.5));
        assert_eq!(nodes.write(0, (1, 0), 1000, false, Picos::ZERO), millis(31.5), "another file is elsewhere");
        assert_eq!(nodes.write(0, (0, 3), 500, false, Picos::ZERO), millis(32.0), "the rest of a block joins it");
        assert_eq!(nodes.flushed(0, Picos::ZERO), millis(40.0));
    }
}
