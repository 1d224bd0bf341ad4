//! Reading and writing files by blocks (Dunigan 1991, section 5, figures 10 and 11): every rank a file of its own, from
//! its beginning to its end.
//!
//! Written data is on the device when the clock stops: a run ends with a sync. Before a file is read the system is asked to
//! forget its copy of it, and the row says whether it did; a device's own cache is not controlled. Files are removed
//! afterwards.

use weft_comm::collective::{Choice, Element, Operator, allreduce};
use weft_comm::files::{Access, Cache, FileId, Files};
use weft_comm::{CommError, Communicator, Payload, Reduction};

use super::Scratch;
use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::programs::timing::{Run, rate_of, timed_runs};
use crate::request::Request;
use crate::row::Row;
use crate::session::Session;

/// Lengths of the blocks that files are read and written by.
const FILE_BLOCKS: &[u64] = &[1024, 4096, 16384, 65536, 262_144];
/// The file systems of nodes.
const OF_NODES: &[&str] = &["posix", "mpi-io", "concurrent"];

/// One node and the host's files.
pub struct FileHost;

impl Benchmark for FileHost {
    const NAME: &'static str = "file-host";
    const SUMMARY: &'static str =
        "a node reads a file of the machine's host by blocks: time of the file, and bytes per second";
    const GROUP: Group = Group::Files;
    const TAKES: &'static [Takes] = &[
        takes("bytes").of("block").default(FILE_BLOCKS).least(1),
        takes("file_system").choices(&["host"]),
        takes("file_bytes"),
    ];
    const EXAMPLE: &'static str = "weft measure file-host --on ipsc860 --bytes 1K:64K";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 1;

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<FileHost> {
        Ok(Ok(Some(FileHost)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        transfer(session, Direction::Read, point.bytes() as u64).await
    }
}

/// Reading, each rank its own file.
pub struct FileRead;

impl Benchmark for FileRead {
    const NAME: &'static str = "file-read";
    const NEAREST_OF: &'static [&'static str] = &[
        "imb-s-read-indv",
        "imb-p-read-indv",
        "imb-p-read-shared",
        "imb-p-read-expl",
        "imb-s-read-expl",
        "imb-c-read-indv",
    ];
    const SUMMARY: &'static str =
        "every rank reads a file of its own by blocks: time of all files, and bytes per second";
    const GROUP: Group = Group::Files;
    const TAKES: &'static [Takes] = &[
        takes("bytes").of("block").default(FILE_BLOCKS).least(1),
        takes("file_system").choices(OF_NODES),
        takes("file_bytes"),
        takes("io_nodes"),
    ];
    const EXAMPLE: &'static str = "weft measure file-read --on ipsc860 --ranks 1:64 --io-nodes 4 --bytes 4K";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 4;

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<FileRead> {
        Ok(Ok(Some(FileRead)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        transfer(session, Direction::Read, point.bytes() as u64).await
    }
}

/// Writing, each rank its own file.
pub struct FileWrite;

impl Benchmark for FileWrite {
    const NAME: &'static str = "file-write";
    const NEAREST_OF: &'static [&'static str] = &[
        "imb-s-write-indv",
        "imb-p-write-indv",
        "imb-p-write-shared",
        "imb-p-write-expl",
        "imb-s-write-expl",
        "imb-c-write-indv",
    ];
    const SUMMARY: &'static str =
        "every rank writes a file of its own by blocks, to the device: time of all files, and bytes per second";
    const GROUP: Group = Group::Files;
    const TAKES: &'static [Takes] = &[
        takes("bytes").of("block").default(FILE_BLOCKS).least(1),
        takes("file_system").choices(OF_NODES),
        takes("file_bytes"),
        takes("io_nodes"),
        takes("preallocate"),
    ];
    const EXAMPLE: &'static str = "weft measure file-write --file-bytes 16M --bytes 64K";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 4;

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<FileWrite> {
        Ok(Ok(Some(FileWrite)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        transfer(session, Direction::Write, point.bytes() as u64).await
    }
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

/// Bytes of all files where a request does not say: in real time,
const REAL_BYTES: u64 = 16 << 20;
/// and of one file in virtual time.
const VIRTUAL_BYTES: u64 = 1 << 20;

/// Bytes of the file of one rank: whole blocks, at least one.
fn file_bytes<C: Communicator>(session: &Session<'_, C>, block: u64) -> u64 {
    let comm = &session.comm;
    let default = if comm.virtual_time() { VIRTUAL_BYTES } else { REAL_BYTES / comm.size() as u64 };
    let wanted = session.request.file_bytes.unwrap_or(default);
    (wanted / block).max(1) * block
}

/// Reads or writes by blocks of `block` bytes; rank 0 gets the row.
async fn transfer<C: Communicator>(
    session: &Session<'_, C>,
    direction: Direction,
    block: u64,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    let scratch = Scratch::agree(session).await?;
    let path = scratch.path(&format!("rank-{}", comm.rank()));
    let bytes = file_bytes(session, block);
    let mut pass = Pass {
        files: scratch.files,
        path: path.clone(),
        direction,
        blocks: bytes / block,
        buffer: session.buffer(block as usize),
        open: None,
        cache: Cache::Dropped,
        preallocate: session.request.preallocate,
        world_rank: comm.world_rank(),
        rank: comm.rank() as u64,
    };
    let times = passes(session, &mut pass).await;
    // Whatever has happened, the file goes.
    if let Some(file) = pass.open.take() {
        let closed = scratch.files.close(file).await;
        let removed = scratch.files.unlink(&path).await;
        if times.is_ok() {
            closed.and(removed)?;
        }
    }
    let times = times?;
    let cache = worst(comm, pass.cache).await?;
    if comm.rank() != 0 {
        return Ok(None);
    }
    let rate = rate_of((bytes * comm.size() as u64) as f64, &times);
    Ok(Some(Row {
        file_system: Some(scratch.system.name().to_owned()),
        file_kind: Some(scratch.kind()),
        file_bytes: Some(bytes),
        cache: (direction == Direction::Read).then(|| cache.name().to_owned()),
        preallocate: (direction == Direction::Write).then_some(session.request.preallocate),
        rate,
        ..session.row(times, comm.size(), Some(block))
    }))
}

async fn passes<C: Communicator>(session: &Session<'_, C>, pass: &mut Pass<'_>) -> Result<Vec<f64>, CommError> {
    if pass.direction == Direction::Read {
        let file = pass.file().await?;
        pass.write_all(file).await?;
    }
    timed_runs(session, pass).await
}

/// The least that is known of all ranks' caches.
async fn worst<C: Communicator>(comm: &C, cache: Cache) -> Result<Cache, CommError> {
    let order = [Cache::Dropped, Cache::Unknown, Cache::Kept];
    let index = order.iter().position(|&known| known == cache).unwrap_or(0) as i64;
    let maximum = Reduction { element: Element::Int64, operator: Operator::Maximum };
    let worst = allreduce(comm, Payload::of(&[index]), maximum, Choice::Auto).await?;
    Ok(order[worst.values::<i64>().expect("a reduction of data is data")[0] as usize])
}

/// One rank's file and the block in hand.
struct Pass<'a> {
    files: &'a dyn Files,
    path: String,
    direction: Direction,
    blocks: u64,
    buffer: Payload,
    open: Option<FileId>,
    cache: Cache,
    preallocate: bool,
    world_rank: usize,
    rank: u64,
}

impl Pass<'_> {
    /// The file, open.
    async fn file(&mut self) -> Result<FileId, CommError> {
        if let Some(file) = self.open {
            return Ok(file);
        }
        let file = self.files.open(&self.path, Access::ReadWrite).await?;
        self.open = Some(file);
        Ok(file)
    }

    async fn write_all(&mut self, file: FileId) -> Result<(), CommError> {
        let length = self.buffer.len() as u64;
        for block in 0..self.blocks {
            let stamp = self.stamp(block);
            stamp_of(&mut self.buffer, |bytes| bytes.copy_from_slice(&stamp[..bytes.len()]));
            self.buffer = self.files.write_at(file, block * length, self.buffer.take()).await?;
        }
        self.files.sync(file).await
    }

    async fn read_all(&mut self, file: FileId) -> Result<(), CommError> {
        let length = self.buffer.len() as u64;
        for block in 0..self.blocks {
            self.buffer = self.files.read_at(file, block * length, self.buffer.take()).await?;
            let stamp = self.stamp(block);
            let mut is_right = true;
            stamp_of(&mut self.buffer, |bytes| is_right = bytes == &stamp[..bytes.len()]);
            if !is_right {
                let message = format!("block {block} of the file {} is not what was written there", self.path);
                return Err(CommError::program(self.world_rank, message));
            }
        }
        Ok(())
    }

    /// What a block begins with, different for each rank and block.
    fn stamp(&self, block: u64) -> [u8; 16] {
        let both = [block.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.rank, self.rank + 1];
        bytemuck::cast(both)
    }
}

/// Shows the first bytes of a block of data, as many as a stamp has or the block.
fn stamp_of(buffer: &mut Payload, look: impl FnOnce(&mut [u8])) {
    if let Payload::Data(bytes) = buffer {
        let length = bytes.len().min(16);
        look(&mut bytes[..length]);
    }
}

impl<C: Communicator> Run<C> for Pass<'_> {
    async fn prepare(&mut self, _: &C) -> Result<(), CommError> {
        match self.direction {
            Direction::Read => {
                let file = self.file().await?;
                self.cache = self.files.drop_cached(file).await?;
            }
            Direction::Write => {
                // Every run writes a new file.
                if let Some(file) = self.open.take() {
                    self.files.close(file).await?;
                    self.files.unlink(&self.path).await?;
                }
                let file = self.file().await?;
                if self.preallocate {
                    self.files.preallocate(file, self.blocks * self.buffer.len() as u64).await?;
                    self.files.sync(file).await?;
                }
            }
        }
        Ok(())
    }

    async fn run(&mut self, _: &C) -> Result<(), CommError> {
        let file = self.file().await?;
        match self.direction {
            Direction::Read => self.read_all(file).await,
            Direction::Write => self.write_all(file).await,
        }
    }
}

/// The most bytes of all files that a request may ask for where they are real.
pub(crate) const MAX_REAL_BYTES: u64 = 16 << 30;

impl Request {
    /// Whether all files together are larger than a benchmark may make real files.
    pub(crate) fn files_too_large(&self, ranks: usize) -> bool {
        self.file_bytes.is_some_and(|bytes| bytes.saturating_mul(ranks as u64) > MAX_REAL_BYTES)
    }
}
